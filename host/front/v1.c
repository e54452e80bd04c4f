/*
 * v1: Warder's own API. Bodies and answers are JSON; a result is that of `warder run --json`.
 */
#include <string.h>

#include "host/front/envd.h"
#include "host/front/exchange.h"
#include "host/front/openapi.h"
#include "host/front/v1.h"

/* ---- questions to the launcher whose answer goes to the client as it is ---- */

static void pass_on(struct exchange *x, const struct link_answer *answer, const char *text, int *fd)
{
	if (text)
		exchange_json(x, answer->status, strdup(text));
	else
		exchange_empty(x, answer->status);
}

static void health_answer(struct exchange *x, const struct link_answer *answer, const char *text, int *fd)
{
	exchange_empty(x, 204);
}

/* A request that names a sandbox, or shows its key, asks about it. */
static void health(struct exchange *x)
{
	if (*x->sandbox || x->key_kind == LINK_KEY_SANDBOX) {
		envd_health(x);
		return;
	}
	exchange_ask(x, LINK_HEALTH, 0, NULL, health_answer);
}

static void show_capabilities(struct exchange *x)
{
	const char *nonce = exchange_query(x, "nonce");

	exchange_ask(x, LINK_CONTROLS, 0, nonce && *nonce ? strdup(nonce) : NULL, pass_on);
}

static void metrics_answer(struct exchange *x, const struct link_answer *answer, const char *text, int *fd)
{
	char *copy = strdup(text ? text : "");

	if (copy)
		exchange_bytes(x, answer->status, "text/plain; version=0.0.4", copy, strlen(copy));
	else
		exchange_fail(x, 503, "no memory is left; try again");
}

static void show_metrics(struct exchange *x)
{
	exchange_ask(x, LINK_METRICS, 0, NULL, metrics_answer);
}

/* Forward the launcher's call that the route names, without a body. */
static void ask_launcher(struct exchange *x)
{
	exchange_ask(x, x->route->call, x->route->value, NULL, pass_on);
}

/* The same with the body. It is checked here and passed on unchanged; the launcher parses it again. */
static void hand_on(struct exchange *x)
{
	struct json_value *document;

	if (exchange_object(x, &document) < 0)
		return;
	json_free(document);
	exchange_ask(x, x->route->call, x->route->value, exchange_take_body(x), pass_on);
}

/* The object of a batch, or its events. */
static void judge(struct exchange *x)
{
	const char *accepts = exchange_header(x, "Accept");

	if (accepts && strstr(accepts, "text/event-stream"))
		v1_judge_events(x);
	else
		hand_on(x);
}

/* Rounded up. */
static uint64_t seconds_of(uint64_t ms)
{
	return ms / 1000 + (ms % 1000 != 0);
}

static void set_timeout(struct exchange *x)
{
	struct json_value *document;
	const struct json_value *value;

	if (exchange_object(x, &document) < 0)
		return;
	value = json_member(document, "timeoutMs");
	exchange_ask(x, LINK_TIMEOUT, seconds_of(value->uint), NULL, pass_on);
	json_free(document);
}

static void resume_sandbox(struct exchange *x)
{
	struct json_value *document;
	const struct json_value *value;

	if (exchange_object(x, &document) < 0)
		return;
	value = json_member(document, "timeoutMs");
	exchange_ask(x, LINK_RESUME, value && value->is_uint ? seconds_of(value->uint) : 0, NULL, pass_on);
	json_free(document);
}

static void describe_api(struct exchange *x)
{
	exchange_json(x, 200, openapi_json(x->front->routes));
}

/* ---- the bodies ---- */

#define POLICY_MEMBER                                                                                        \
	{                                                                                                    \
		"policy", MEMBER_OBJECT, false, "a policy of its own, within the tenant's ceiling"           \
	}
#define POLICY_MEMBERS                                                                                       \
	{ "template", MEMBER_TEXT, false, "name of a template of the host; without it: base" }, POLICY_MEMBER
#define ENV_MEMBER                                                                                           \
	{                                                                                                    \
		"env", MEMBER_VARIABLES, false, "variables of the program"                                   \
	}
#define KEY_MEMBER                                                                                           \
	{                                                                                                    \
		"idempotencyKey", MEMBER_TEXT, false, "the same request with the same key is done once"      \
	}
#define STDIN_MEMBERS                                                                                        \
	{ "stdin", MEMBER_TEXT, false, "standard input" },                                                   \
	{                                                                                                    \
		"stdinBase64", MEMBER_TEXT, false, "standard input that is no text"                          \
	}
#define ARTIFACTS_MEMBER                                                                                     \
	{                                                                                                    \
		"artifacts", MEMBER_FLAG, false,                                                             \
		    "store what is too large for the result, for the client to fetch"                        \
	}
#define NO_ARTIFACTS_MEMBER                                                                                  \
	{                                                                                                    \
		"artifacts", MEMBER_ELSEWHERE, false,                                                        \
		    "store the output with POST /v1/sandboxes/ID/artifacts and \"execution\"; leave it out"  \
	}
#define TIMEOUT_MEMBER(required, summary)                                                                    \
	{                                                                                                    \
		"timeoutMs", MEMBER_NUMBER, required, summary                                                \
	}

static const struct member of_run[] = {
	{ "argv", MEMBER_TEXTS, true, "the program, and its arguments" },
	STDIN_MEMBERS,
	ENV_MEMBER,
	POLICY_MEMBERS,
	ARTIFACTS_MEMBER,
	KEY_MEMBER,
	{ 0 },
};
static const struct member of_code[] = {
	{ "code", MEMBER_TEXT, true, "the text of the program" },
	{ "language", MEMBER_TEXT, false, "without it: as the code shows, if that is certain" },
	{ "args", MEMBER_TEXTS, false, "arguments of the program" },
	{ "fileName", MEMBER_TEXT, false, "name of the code, which helps to find its language" },
	{ "files", MEMBER_OBJECTS, false, "{path, text} or {path, base64}, in its working directory" },
	{ "input", MEMBER_ANY, false, "a JSON value, at the path in $WARDER_INPUT" },
	{ "check", MEMBER_FLAG, false, "check and build the code, and do not run it" },
	STDIN_MEMBERS,
	ENV_MEMBER,
	POLICY_MEMBERS,
	ARTIFACTS_MEMBER,
	KEY_MEMBER,
	{ 0 },
};
static const struct member of_judge[] = {
	{ "code", MEMBER_TEXT, true, "the text of the program" },
	{ "cases", MEMBER_OBJECTS, true,
	  "at most 1000 of {name, stdin, args, expected, compare, timeout, cpuTime, memory}" },
	{ "language", MEMBER_TEXT, false, "without it: as the code shows, if that is certain" },
	{ "encoding", MEMBER_TEXT, false, "of the code: base64, or without it utf-8" },
	{ "files", MEMBER_OBJECTS, false, "{name, content, encoding}, in its working directory" },
	{ "environment", MEMBER_VARIABLES, false, "variables of the program, but not of its build" },
	{ "workingDirectory", MEMBER_TEXT, false, "without it: where the files are" },
	{ "limits", MEMBER_OBJECT, false, "{timeout, cpuTime, memory} of cases without limits of their own" },
	{ "compare", MEMBER_TEXT, false, "exact, lines, tokens, float:E or none; without it: lines" },
	{ "stopOnFirstFailure", MEMBER_FLAG, false, "do not run the cases after the first failure" },
	{ "parallel", MEMBER_NUMBER, false, "1: the cases run one after another" },
	POLICY_MEMBERS,
	{ "artifacts", MEMBER_FLAG, false, "store what each case prints, for the client to fetch" },
	KEY_MEMBER,
	{ 0 },
};
static const struct member of_create[] = {
	TIMEOUT_MEMBER(false, "after which the sandbox ends; without it: 5 minutes"),
	{ "metadata", MEMBER_VARIABLES, false, "texts by their names, for the client" },
	ENV_MEMBER,
	{ "template", MEMBER_TEXT, false,
	  "name of a template of the host, or id or name of a snapshot; without it: base" },
	POLICY_MEMBER,
	KEY_MEMBER,
	{ 0 },
};
static const struct member of_store[] = {
	{ "name", MEMBER_TEXT, false, "for the snapshot; the newest one of a name is found by it" },
	KEY_MEMBER,
	{ 0 },
};
static const struct member of_keep[] = {
	{ "paths", MEMBER_TEXTS, false, "1 to 64 paths of files in the sandbox; or else:" },
	{ "execution", MEMBER_TEXT, false, "id of an execution or a context, whose output is stored" },
	KEY_MEMBER,
	{ 0 },
};
static const struct member of_timeout[] = {
	TIMEOUT_MEMBER(true, "from now, after which the sandbox ends"),
	{ 0 },
};
static const struct member of_resume[] = {
	TIMEOUT_MEMBER(false, "from now, after which the sandbox ends; without it: 5 minutes"),
	{ 0 },
};
static const struct member of_start[] = {
	{ "argv", MEMBER_TEXTS, true, "the program, and its arguments" },
	STDIN_MEMBERS,
	{ "input", MEMBER_FLAG, false, "standard input stays open" },
	ENV_MEMBER,
	{ "cwd", MEMBER_TEXT, false, "the directory in which it begins" },
	TIMEOUT_MEMBER(false, "after which the program is ended; without it: as the policy grants"),
	{ "background", MEMBER_FLAG, false, "processes that it leaves stay" },
	{ "rows", MEMBER_NUMBER, false, "of a terminal, on which the program runs" },
	{ "columns", MEMBER_NUMBER, false, "of the terminal" },
	NO_ARTIFACTS_MEMBER,
	KEY_MEMBER,
	{ 0 },
};
static const struct member of_signal[] = {
	{ "signal", MEMBER_NUMBER, false, "its number; without it: 15" },
	{ 0 },
};
static const struct member of_input[] = {
	{ "text", MEMBER_TEXT, false, "at most 32 KiB" },
	{ "base64", MEMBER_TEXT, false, "the same as bytes of any kind, in base64" },
	{ "close", MEMBER_FLAG, false, "and nothing follows" },
	{ 0 },
};
static const struct member of_resize[] = {
	{ "rows", MEMBER_NUMBER, true, "of the terminal" },
	{ "columns", MEMBER_NUMBER, true, "of the terminal" },
	{ 0 },
};
static const struct member of_context[] = {
	{ "context", MEMBER_TEXT, false, "its name; without it, one is drawn" },
	{ "language", MEMBER_TEXT, false, "without it: python" },
	KEY_MEMBER,
	{ 0 },
};
static const struct member of_piece[] = {
	{ "code", MEMBER_TEXT, true, "the piece" },
	{ "context", MEMBER_TEXT, false, "name of the context; without it: default-LANGUAGE, which is made" },
	{ "language", MEMBER_TEXT, false, "of the context that is made; without it: python" },
	TIMEOUT_MEMBER(false, "after which the piece is interrupted; without it: as the policy grants"),
	NO_ARTIFACTS_MEMBER,
	KEY_MEMBER,
	{ 0 },
};
static const struct member of_policy[] = { POLICY_MEMBERS, { 0 } };

/* ---- the table ---- */

#define SANDBOX   "/v1/sandboxes/{id}"
#define EXECUTION SANDBOX "/executions/{execution}"
#define CONTEXT   SANDBOX "/contexts/{context}"
#define ARTIFACT  "/v1/artifacts/{artifact}"
#define OWN       ROUTE_OWN

const struct route routes_v1[] = {
	{ "GET", "/v1/openapi.json", NULL, OWN | ROUTE_OPEN, describe_api, "this description", NULL, NULL },
	{ "GET", "/health", NULL, ROUTE_OPEN | ROUTE_SANDBOX | ROUTE_TRAFFIC, health,
	  "whether this host can launch programs", NULL, NULL },
	{ "GET", "/v1/host", "read", OWN, ask_launcher, "this host, and what the tenant may use of it", NULL,
	  NULL, LINK_HOST },
	{ "GET", "/v1/capabilities", "read", OWN, show_capabilities,
	  "what a jail of this host can enforce, control by control", "nonce", NULL },
	{ "GET", "/v1/policies", "read", OWN, ask_launcher, "the templates, and the ceiling", NULL, NULL,
	  LINK_POLICIES },
	{ "POST", "/v1/policies/show", "read", OWN, hand_on, "a policy with all of its fields", NULL,
	  of_policy, LINK_POLICY, LINK_POLICY_SHOW },
	{ "POST", "/v1/policies/check", "read", OWN, hand_on, "whether a policy may be used here", NULL,
	  of_policy, LINK_POLICY, LINK_POLICY_CHECK },
	{ "POST", "/v1/policies/explain", "read", OWN, hand_on,
	  "field by field, how this host would enforce a policy", NULL, of_policy, LINK_POLICY,
	  LINK_POLICY_EXPLAIN },
	{ "GET", "/v1/metrics", "metrics", OWN, show_metrics, "numbers of this host for Prometheus", NULL,
	  NULL },
	{ "GET", "/v1/sandboxes", "read", OWN, ask_launcher, "the tenant's sandboxes", NULL, NULL,
	  LINK_LIST },
	{ "POST", "/v1/sandboxes", "sandboxes", OWN, hand_on, "create a sandbox", NULL, of_create,
	  LINK_CREATE },
	{ "GET", SANDBOX, "sandboxes", OWN, ask_launcher, "a sandbox, with its tokens and its policy", NULL,
	  NULL, LINK_SHOW },
	{ "DELETE", SANDBOX, "sandboxes", OWN, ask_launcher, "end a sandbox", NULL, NULL, LINK_REMOVE },
	{ "POST", SANDBOX "/timeout", "sandboxes", OWN, set_timeout, "set when a sandbox ends", NULL,
	  of_timeout },
	{ "POST", SANDBOX "/pause", "sandboxes", OWN, ask_launcher, "stop all programs of a sandbox", NULL,
	  NULL, LINK_PAUSE },
	{ "POST", SANDBOX "/resume", "sandboxes", OWN, resume_sandbox, "let the programs of a sandbox go on",
	  NULL, of_resume },
	{ "POST", SANDBOX "/snapshots", "sandboxes", OWN, hand_on,
	  "store the files of a sandbox, for new sandboxes that begin with them", NULL, of_store,
	  LINK_STORE },
	{ "POST", SANDBOX "/artifacts", "sandboxes", OWN, hand_on,
	  "store files of a sandbox, or the output of an execution, as artifacts", NULL, of_keep, LINK_KEEP },
	{ "GET", "/v1/snapshots", "read", OWN, ask_launcher, "the tenant's snapshots, the newest first", NULL,
	  NULL, LINK_SNAPSHOTS },
	{ "DELETE", "/v1/snapshots/{snapshot}", "sandboxes", OWN, e2b_forget_snapshot, "remove a snapshot",
	  NULL, NULL },
	{ "GET", SANDBOX "/executions", "sandboxes", OWN, v1_list_executions, "the executions of a sandbox",
	  NULL, NULL },
	{ "POST", SANDBOX "/executions", "sandboxes", OWN, v1_start_execution, "start a program in a sandbox",
	  NULL, of_start },
	{ "GET", EXECUTION, "sandboxes", OWN, v1_show_execution,
	  "an execution, or its result with receipt and cause", "wait nonce", NULL },
	{ "GET", EXECUTION "/output", "sandboxes", OWN, v1_show_output,
	  "the output from an offset on, as server-sent events", "stdout stderr", NULL },
	{ "POST", EXECUTION "/signal", "sandboxes", OWN, v1_send_signal, "send a signal to an execution",
	  NULL, of_signal },
	{ "POST", EXECUTION "/input", "sandboxes", OWN, v1_send_input, "write to the input of an execution",
	  NULL, of_input },
	{ "POST", EXECUTION "/resize", "sandboxes", OWN, v1_resize, "set the size of its terminal", NULL,
	  of_resize },
	{ "GET", EXECUTION "/terminal", "sandboxes", OWN, v1_terminal,
	  "its terminal, over a WebSocket: binary messages are input and output", "stdout", NULL },
	{ "POST", SANDBOX "/code", "sandboxes", OWN, v1_run_piece,
	  "run a piece of code in a context, with events if the client accepts text/event-stream", NULL,
	  of_piece },
	{ "GET", SANDBOX "/contexts", "sandboxes", OWN, v1_list_contexts, "the contexts of a sandbox", NULL,
	  NULL },
	{ "POST", SANDBOX "/contexts", "sandboxes", OWN, v1_create_context, "start an interpreter", NULL,
	  of_context },
	{ "DELETE", CONTEXT, "sandboxes", OWN, v1_delete_context, "end a context", NULL, NULL },
	{ "POST", CONTEXT "/restart", "sandboxes", OWN, v1_restart_context, "begin a context anew", NULL,
	  NULL },
	{ "POST", CONTEXT "/interrupt", "sandboxes", OWN, v1_interrupt_context,
	  "interrupt the piece that runs", NULL, NULL },
	{ "GET", SANDBOX "/files", "sandboxes", OWN, envd_read_file, "read a file", "path!", NULL },
	{ "PUT", SANDBOX "/files", "sandboxes", OWN | ROUTE_PARTS, envd_write_files,
	  "write a file: the body is its bytes", "path!", NULL },
	{ "DELETE", SANDBOX "/files", "sandboxes", OWN, envd_remove_path, "remove a file or a directory",
	  "path!", NULL },
	{ "GET", SANDBOX "/directories", "sandboxes", OWN, envd_list_directory, "list a directory",
	  "path! depth", NULL },
	{ "POST", SANDBOX "/directories", "sandboxes", OWN, envd_make_directory, "make a directory", "path!",
	  NULL },
	{ "POST", "/v1/run", "run", OWN, hand_on, "run a program in a jail of its own", NULL, of_run,
	  LINK_RUN },
	{ "POST", "/v1/code", "run", OWN, hand_on, "run a piece of code in a jail of its own", NULL, of_code,
	  LINK_CODE },
	{ "POST", "/v1/judge", "run", OWN, judge,
	  "judge a program by cases, with events if the client accepts text/event-stream", NULL, of_judge,
	  LINK_JUDGE },
	{ "GET", "/v1/events", "read", OWN, v1_follow_events,
	  "what this host does for the tenant, as server-sent events", "after", NULL },
	{ "GET", "/v1/artifacts", "run sandboxes", OWN, ask_launcher,
	  "what the tenant's programs have left, the newest first", NULL, NULL, LINK_ARTIFACTS },
	{ "GET", ARTIFACT, "run sandboxes", OWN, v1_read_artifact, "the bytes of an artifact", NULL, NULL },
	{ "DELETE", ARTIFACT, "run sandboxes", OWN, v1_drop_artifact, "remove an artifact", NULL, NULL },
	{ 0 },
};
