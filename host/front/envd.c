/*
 * envd: E2B's calls to a sandbox: the small ones, those that this host refuses, and the table of all.
 */
#include "host/front/envd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the small calls ---- */

static void health_begin(struct visit *visit)
{
	visit->over = true;
	if (exchange_port(visit->x) == PORT_INTERPRETER)
		exchange_bytes(visit->x, 200, "text/plain", strdup("OK"), 2);
	else
		exchange_empty(visit->x, 204);
}

/* A call that only needs to reach the sandbox. */
static void reach(struct exchange *x, bool needs_policy, void (*begin)(struct visit *visit))
{
	static const struct channel_events no_events = { .lost = visit_lost };
	struct visit *visit = visit_new(x, sizeof(*visit));

	if (!visit)
		return;
	visit->events = &no_events;
	visit->begin = begin;
	visit->needs_policy = needs_policy;
	visit_open(visit);
}

void envd_health(struct exchange *x)
{
	reach(x, false, health_begin);
}

static void envs_begin(struct visit *visit)
{
	struct json_value *policy = NULL;
	struct warder_error err;
	struct json_writer w = { 0 };
	const struct json_value *set = NULL;

	if (json_parse(visit->policy, strlen(visit->policy), "policy", NULL, &policy, &err) == 0 &&
	    json_member(policy, "environment"))
		set = json_member(json_member(policy, "environment"), "set");
	if (set) {
		json_copy(&w, set);
	} else {
		json_begin_object(&w);
		json_end_object(&w);
	}
	json_free(policy);
	visit_reply(visit, &w);
}

/* The variables that each program gets. */
static void envs(struct exchange *x)
{
	reach(x, true, envs_begin);
}

/* ---- what is not there ---- */

#define NOT_HERE "this call is not there on a Warder host; see warder-e2b(7)"

static void refuse(struct exchange *x)
{
	exchange_fail(x, 501, NOT_HERE);
}

static void refuse_call(struct exchange *x)
{
	struct visit *visit = visit_new(x, sizeof(*visit));

	if (!visit)
		return;
	visit->frames = true;
	visit_fail(visit, CONNECT_UNIMPLEMENTED, NOT_HERE);
}

/* ---- the table ---- */

#define PROCESS    "/process.Process/"
#define FILESYSTEM "/filesystem.Filesystem/"

const struct route routes_envd[] = {
	{ "POST", PROCESS "Start", NULL, ROUTE_SANDBOX, envd_process, "E2B: start a program" },
	{ "POST", PROCESS "Connect", NULL, ROUTE_SANDBOX, envd_process, "E2B: read a program's output" },
	{ "POST", PROCESS "List", NULL, ROUTE_SANDBOX, envd_process, "E2B: list programs" },
	{ "POST", PROCESS "SendInput", NULL, ROUTE_SANDBOX, envd_process, "E2B: write to a program" },
	{ "POST", PROCESS "CloseStdin", NULL, ROUTE_SANDBOX, envd_process, "E2B: end a program's input" },
	{ "POST", PROCESS "SendSignal", NULL, ROUTE_SANDBOX, envd_process, "E2B: signal a program" },
	{ "POST", PROCESS "Update", NULL, ROUTE_SANDBOX, envd_process, "E2B: resize a terminal" },
	{ "POST", PROCESS "StreamInput", NULL, ROUTE_SANDBOX, refuse_call, "E2B: refused" },
	{ "GET", "/files", NULL, ROUTE_SANDBOX | ROUTE_SIGNED, envd_read_file, "E2B: read a file" },
	{ "POST", "/files", NULL, ROUTE_SANDBOX | ROUTE_SIGNED | ROUTE_PARTS, envd_write_files,
	  "E2B: write files" },
	{ "POST", FILESYSTEM "Stat", NULL, ROUTE_SANDBOX, envd_filesystem, "E2B: describe a file" },
	{ "POST", FILESYSTEM "MakeDir", NULL, ROUTE_SANDBOX, envd_filesystem, "E2B: make a directory" },
	{ "POST", FILESYSTEM "Move", NULL, ROUTE_SANDBOX, envd_filesystem, "E2B: move a file" },
	{ "POST", FILESYSTEM "ListDir", NULL, ROUTE_SANDBOX, envd_filesystem, "E2B: list a directory" },
	{ "POST", FILESYSTEM "Remove", NULL, ROUTE_SANDBOX, envd_filesystem, "E2B: remove a file" },
	{ "POST", FILESYSTEM "WatchDir", NULL, ROUTE_SANDBOX, envd_watch, "E2B: watch a directory" },
	{ "POST", FILESYSTEM "CreateWatcher", NULL, ROUTE_SANDBOX, envd_watch, "E2B: create a watcher" },
	{ "POST", FILESYSTEM "GetWatcherEvents", NULL, ROUTE_SANDBOX, envd_watch,
	  "E2B: read a watcher's events" },
	{ "POST", FILESYSTEM "RemoveWatcher", NULL, ROUTE_SANDBOX, envd_watch, "E2B: end a watcher" },
	{ "GET", "/envs", NULL, ROUTE_SANDBOX, envs, "E2B: the variables of each program" },
	{ "GET", "/metrics", NULL, ROUTE_SANDBOX, envd_metrics, "E2B: the resources that a sandbox uses" },
	{ "POST", "/execute", NULL, ROUTE_SANDBOX | ROUTE_TRAFFIC, envd_execute, "E2B: run a piece of code" },
	{ "GET", "/contexts", NULL, ROUTE_SANDBOX | ROUTE_TRAFFIC, envd_list_contexts, "E2B: list contexts" },
	{ "POST", "/contexts", NULL, ROUTE_SANDBOX | ROUTE_TRAFFIC, envd_create_context,
	  "E2B: create a context" },
	{ "POST", "/contexts/{context}/restart", NULL, ROUTE_SANDBOX | ROUTE_TRAFFIC, envd_restart_context,
	  "E2B: begin a context anew" },
	{ "DELETE", "/contexts/{context}", NULL, ROUTE_SANDBOX | ROUTE_TRAFFIC, envd_delete_context,
	  "E2B: end a context" },
	{ "POST", "/sandboxes/{id}/fork", "sandboxes", 0, refuse, "E2B: refused" },
	{ "GET", "/sandboxes/{id}/metrics", "sandboxes", 0, envd_metrics,
	  "E2B: the resources that a sandbox uses" },
	{ "GET", "/sandboxes/{id}/logs", "sandboxes", 0, envd_logs, "E2B: the log of a sandbox" },
	{ "GET", "/v2/sandboxes/{id}/logs", "sandboxes", 0, envd_logs, "E2B: the log of a sandbox" },
	{ "GET", "/templates", "read", 0, refuse, "E2B: refused" },
	{ "POST", "/v2/templates", "sandboxes", 0, refuse, "E2B: refused" },
	{ "POST", "/v3/templates", "sandboxes", 0, refuse, "E2B: refused" },
	{ "GET", "/volumes", "read", 0, refuse, "E2B: refused" },
	{ "POST", "/volumes", "sandboxes", 0, refuse, "E2B: refused" },
	{ "GET", "/secrets", "read", 0, refuse, "E2B: refused" },
	{ 0 },
};
