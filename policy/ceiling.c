/*
 * ceiling: does a request stay within what the operator grants?
 *
 * One check per field, in the order of POLICY_FIELDS; each asks whether the request's value allows the
 * program nothing that the ceiling's value does not. A ceiling is always within itself. What has no order
 * (the kind of view, the identity) has to be the same.
 *
 * Extra paths: a requested path must lie inside a granted one, the most specific grant decides about the
 * access, and a read-write request must not swallow a read-only grant that lies below it: the request has to
 * repeat that as read-only. The workspace is compared with the workspace only, because what the program sees
 * below /workspace is one mount.
 */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "policy/amounts.h"
#include "policy/names.h"
#include "policy/values.h"

#define PATH_SIZE 72

static int exceed(struct warder_error *err, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static int exceed(struct warder_error *err, const char *path, const char *format, ...)
{
	char text[sizeof(err->text)];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	error_set(err, WARDER_ERROR_REJECTED, NULL, "%s", text);
	return policy_locate(err, path);
}

/* A word of a table is not granted; the operator's word is the most that is. */
static int exceed_word(struct warder_error *err, const char *path, const char *asked, const char *granted)
{
	return exceed(err, path, "\"%s\" is more than the operator grants; at most \"%s\"", asked, granted);
}

/* ---- languages ---- */

static int check_languages(const struct policy *ceiling, const struct policy *request,
			   struct warder_error *err)
{
	char path[PATH_SIZE];

	if (ceiling->languages.any)
		return 0;
	if (request->languages.any)
		return exceed(err, "languages",
			      "\"any\" is more than the operator grants; name the languages");
	for (size_t i = 0; i < request->languages.names.count; i++) {
		if (policy_strings_have(&ceiling->languages.names, request->languages.names.items[i]))
			continue;
		snprintf(path, sizeof(path), "languages[%zu]", i);
		return exceed(err, path, "\"%.40s\" is not granted by the operator",
			      request->languages.names.items[i]);
	}
	return 0;
}

/* ---- network ---- */

static bool where_covers(const struct policy_endpoint *granted, const struct policy_endpoint *asked)
{
	struct policy_cidr outer, inner;
	struct warder_error ignored;

	if (granted->host && asked->host)
		return policy_host_covers(granted->host, asked->host);
	if (!granted->cidr || !asked->cidr)
		return false;
	return policy_parse_cidr(granted->cidr, &outer, &ignored) == 0 &&
	       policy_parse_cidr(asked->cidr, &inner, &ignored) == 0 && policy_cidr_contains(&outer, &inner);
}

static bool has_port(const struct policy_endpoint *row, uint16_t port)
{
	for (size_t i = 0; i < row->port_count; i++) {
		if (row->ports[i] == port)
			return true;
	}
	return row->port_count == 0;
}

/* Whether some row grants the place with this port; port 0 stands for all of them. */
static bool grants(const struct policy *ceiling, const struct policy_endpoint *asked, uint16_t port)
{
	for (size_t i = 0; i < ceiling->network.allow_count; i++) {
		const struct policy_endpoint *row = &ceiling->network.allow[i];

		if ((port == 0 ? row->port_count == 0 : has_port(row, port)) && where_covers(row, asked))
			return true;
	}
	return false;
}

static int check_endpoint(const struct policy *ceiling, const struct policy_endpoint *asked, size_t index,
			  struct warder_error *err)
{
	const char *where = asked->host ? asked->host : asked->cidr;
	char path[PATH_SIZE];

	snprintf(path, sizeof(path), "network.allow[%zu]", index);
	if (asked->port_count == 0 && !grants(ceiling, asked, 0))
		return exceed(err, path, "\"%.100s\" with every port is not granted by the operator", where);
	for (size_t i = 0; i < asked->port_count; i++) {
		if (!grants(ceiling, asked, asked->ports[i]))
			return exceed(err, path, "\"%.100s\" with port %u is not granted by the operator",
				      where, asked->ports[i]);
	}
	return 0;
}

static int check_network(const struct policy *ceiling, const struct policy *request, struct warder_error *err)
{
	if (request->network.mode > ceiling->network.mode)
		return exceed_word(err, "network.mode", policy_network_mode_name(request->network.mode),
				   policy_network_mode_name(ceiling->network.mode));
	if (request->network.mode != POLICY_NETWORK_ALLOW || ceiling->network.mode == POLICY_NETWORK_HOST)
		return 0;
	for (size_t i = 0; i < request->network.allow_count; i++) {
		if (check_endpoint(ceiling, &request->network.allow[i], i, err) != 0)
			return -1;
	}
	return 0;
}

/* ---- filesystem ---- */

static int check_view(const struct policy *ceiling, const struct policy *request, struct warder_error *err)
{
	const char *granted = ceiling->filesystem.view_source, *asked = request->filesystem.view_source;
	char quoted[96];

	if (request->filesystem.view != ceiling->filesystem.view)
		return exceed(err, "filesystem.view", "\"%s\" is not what the operator grants: \"%s\"",
			      policy_views[request->filesystem.view], policy_views[ceiling->filesystem.view]);
	switch (request->filesystem.view) {
	case POLICY_VIEW_HOST:
		return 0;
	case POLICY_VIEW_DIRECTORY:
		if (granted && asked && policy_path_within(granted, asked))
			return 0;
		break;
	case POLICY_VIEW_IMAGE:
		if (granted && asked && strcmp(granted, asked) == 0)
			return 0;
		break;
	}
	return exceed(err, "filesystem.view", "%s is not what the operator grants: \"%.100s\"",
		      json_quote(asked ? asked : "", quoted, sizeof(quoted)), granted ? granted : "");
}

static int check_workspace(const struct policy *ceiling, const struct policy *request,
			   struct warder_error *err)
{
	const char *granted = ceiling->filesystem.workspace_root, *asked = request->filesystem.workspace_root;
	char quoted[96];

	if (request->filesystem.workspace > ceiling->filesystem.workspace)
		return exceed_word(err, "filesystem.workspace",
				   policy_workspaces[request->filesystem.workspace],
				   policy_workspaces[ceiling->filesystem.workspace]);
	if (request->filesystem.workspace == POLICY_WORKSPACE_NONE)
		return 0;
	if (granted && asked && policy_path_within(granted, asked))
		return 0;
	return exceed(err, "filesystem.workspace", "%s is not inside \"%.100s\", which the operator grants",
		      json_quote(asked ? asked : "", quoted, sizeof(quoted)), granted ? granted : "");
}

enum access {
	ACCESS_NONE,
	ACCESS_READ_ONLY,
	ACCESS_READ_WRITE,
};

/* The longest path of the list that holds `path`, or NULL. */
static const char *most_specific(const struct policy_strings *list, const char *path)
{
	const char *best = NULL;

	for (size_t i = 0; i < list->count; i++) {
		if (policy_path_within(list->items[i], path) &&
		    (!best || strlen(list->items[i]) > strlen(best)))
			best = list->items[i];
	}
	return best;
}

/* What a policy's paths allow at `path`. No path is in both lists, so the longer grant is another path. */
static enum access access_at(const struct policy *policy, const char *path)
{
	const char *read_only = most_specific(&policy->filesystem.read_only, path);
	const char *read_write = most_specific(&policy->filesystem.read_write, path);

	if (!read_only && !read_write)
		return ACCESS_NONE;
	if (!read_only || !read_write)
		return read_write ? ACCESS_READ_WRITE : ACCESS_READ_ONLY;
	return strlen(read_write) > strlen(read_only) ? ACCESS_READ_WRITE : ACCESS_READ_ONLY;
}

/* What is granted at a path that is asked for, wherever it is to be seen. */
static enum access granted_at(const struct policy *ceiling, const char *item)
{
	const char *place = policy_path_place(item);
	char source[PATH_MAX];

	if (!place)
		return access_at(ceiling, item);
	if (policy_placed_fault(item) || (size_t)(place - item) > sizeof(source))
		return ACCESS_NONE;
	memcpy(source, item, (size_t)(place - item) - 1);
	source[place - item - 1] = '\0';
	return access_at(ceiling, source);
}

static int check_list(const struct policy *ceiling, const struct policy_strings *list, const char *name,
		      enum access wanted, struct warder_error *err)
{
	char path[PATH_SIZE], quoted[96];

	for (size_t i = 0; i < list->count; i++) {
		enum access granted = granted_at(ceiling, list->items[i]);

		if (wanted <= granted)
			continue;
		snprintf(path, sizeof(path), "filesystem.paths.%s[%zu]", name, i);
		json_quote(list->items[i], quoted, sizeof(quoted));
		return exceed(err, path,
			      granted == ACCESS_NONE ? "%s is not inside a path that the operator grants"
						     : "%s is granted by the operator for reading only",
			      quoted);
	}
	return 0;
}

static int check_paths(const struct policy *ceiling, const struct policy *request, struct warder_error *err)
{
	const struct policy_strings *kept = &ceiling->filesystem.read_only;
	char quoted[96];

	for (size_t i = 0; i < kept->count; i++) {
		if (policy_path_place(kept->items[i]))
			return exceed(
			    err, "filesystem.paths.readOnly",
			    "the operator's %s names a place inside; a ceiling names paths of the host only",
			    json_quote(kept->items[i], quoted, sizeof(quoted)));
	}
	if (check_list(ceiling, &request->filesystem.read_only, "readOnly", ACCESS_READ_ONLY, err) != 0 ||
	    check_list(ceiling, &request->filesystem.read_write, "readWrite", ACCESS_READ_WRITE, err) != 0)
		return -1;
	for (size_t i = 0; i < kept->count; i++) {
		if (access_at(request, kept->items[i]) == ACCESS_READ_WRITE)
			return exceed(
			    err, "filesystem.paths.readWrite",
			    "%s lies below a requested path and is granted by the operator for reading "
			    "only; add it to filesystem.paths.readOnly",
			    json_quote(kept->items[i], quoted, sizeof(quoted)));
	}
	return 0;
}

static int check_tmp_exec(const struct policy *ceiling, const struct policy *request,
			  struct warder_error *err)
{
	if (request->filesystem.tmp_exec && !ceiling->filesystem.tmp_exec)
		return exceed(err, "filesystem.tmpExec",
			      "true is more than the operator grants; at most false");
	return 0;
}

/* ---- environment ---- */

/* A variable may be set if its name is granted, or if the operator sets it to the same value. */
static bool may_set(const struct policy *ceiling, const struct policy_variable *asked)
{
	const struct policy_variable *granted = policy_variable_of(ceiling, asked->name);

	switch (ceiling->environment.mode) {
	case POLICY_ENVIRONMENT_NONE:
		return granted && strcmp(granted->value, asked->value) == 0;
	case POLICY_ENVIRONMENT_ALLOW_LIST:
		return granted || policy_strings_have(&ceiling->environment.names, asked->name);
	case POLICY_ENVIRONMENT_HOST:
		return true;
	}
	return false;
}

static int check_environment(const struct policy *ceiling, const struct policy *request,
			     struct warder_error *err)
{
	const struct policy_strings *names = &request->environment.names;
	char path[PATH_SIZE];

	if (request->environment.mode > ceiling->environment.mode)
		return exceed_word(err, "environment.mode",
				   policy_environment_modes[request->environment.mode],
				   policy_environment_modes[ceiling->environment.mode]);
	for (size_t i = 0; i < names->count && ceiling->environment.mode != POLICY_ENVIRONMENT_HOST; i++) {
		if (policy_strings_have(&ceiling->environment.names, names->items[i]))
			continue;
		snprintf(path, sizeof(path), "environment.names[%zu]", i);
		return exceed(err, path, "\"%.60s\" is not granted by the operator", names->items[i]);
	}
	for (size_t i = 0; i < request->environment.set_count; i++) {
		if (may_set(ceiling, &request->environment.set[i]))
			continue;
		snprintf(path, sizeof(path), "environment.set.%.50s", request->environment.set[i].name);
		return exceed(err, path, "the operator does not grant this variable or value");
	}
	return 0;
}

/* ---- amounts ---- */

static int check_amount(const struct policy *ceiling, const struct policy *request, enum policy_field field,
			struct warder_error *err)
{
	const struct policy_amount *amount = policy_amount_of(field);
	uint64_t granted = policy_amount_get(ceiling, amount), asked = policy_amount_get(request, amount);
	char asked_text[32], granted_text[32];

	if (asked <= granted) /* POLICY_UNLIMITED is the largest number */
		return 0;
	return exceed(err, policy_field_path(field), "%s is more than the operator grants; at most %s",
		      policy_amount_format(amount, asked, asked_text, sizeof(asked_text)),
		      policy_amount_format(amount, granted, granted_text, sizeof(granted_text)));
}

static int check_tmp(const struct policy *ceiling, const struct policy *request, struct warder_error *err)
{
	if (check_amount(ceiling, request, POLICY_FIELD_TMP, err) != 0)
		return -1;
	return check_tmp_exec(ceiling, request, err);
}

static int check_limits(const struct policy *ceiling, const struct policy *request, struct warder_error *err)
{
	for (enum policy_field field = POLICY_FIELD_WALL_TIME; field <= POLICY_FIELD_STDERR; field++) {
		if (check_amount(ceiling, request, field, err) != 0)
			return -1;
	}
	if (ceiling->output.on_limit == POLICY_OUTPUT_KILL && request->output.on_limit != POLICY_OUTPUT_KILL)
		return exceed_word(err, "output.onLimit", "drain", "kill");
	return 0;
}

/* ---- processes ---- */

static int check_processes(const struct policy *ceiling, const struct policy *request,
			   struct warder_error *err)
{
	if (request->processes.spawn && !ceiling->processes.spawn)
		return exceed(err, "processes.spawn", "true is more than the operator grants; at most false");
	if (request->processes.uid != ceiling->processes.uid ||
	    request->processes.gid != ceiling->processes.gid)
		return exceed(err, "processes.identity", "%u:%u is not what the operator grants: %u:%u",
			      request->processes.uid, request->processes.gid, ceiling->processes.uid,
			      ceiling->processes.gid);
	return 0;
}

/* ---- system calls ---- */

static int check_syscalls(const struct policy *ceiling, const struct policy *request,
			  struct warder_error *err)
{
	const struct policy_strings *allow = &request->syscalls.allow, *deny = &ceiling->syscalls.deny;
	char path[PATH_SIZE];

	if (request->syscalls.profile > ceiling->syscalls.profile)
		return exceed_word(err, "syscalls.profile", policy_profile_name(request->syscalls.profile),
				   policy_profile_name(ceiling->syscalls.profile));
	for (size_t i = 0; i < allow->count; i++) {
		if (policy_strings_have(&ceiling->syscalls.allow, allow->items[i]))
			continue;
		snprintf(path, sizeof(path), "syscalls.allow[%zu]", i);
		return exceed(err, path, "\"%.60s\" is not granted by the operator", allow->items[i]);
	}
	for (size_t i = 0; i < deny->count; i++) {
		if (!policy_strings_have(&request->syscalls.deny, deny->items[i]))
			return exceed(err, "syscalls.deny",
				      "the operator denies \"%.60s\"; add it to the list", deny->items[i]);
	}
	if (ceiling->syscalls.on_violation == POLICY_VIOLATION_KILL &&
	    request->syscalls.on_violation != POLICY_VIOLATION_KILL)
		return exceed_word(err, "syscalls.onViolation", "errno", "kill");
	return 0;
}

/* ---- enforcement ---- */

static int check_enforcement(const struct policy *ceiling, const struct policy *request,
			     struct warder_error *err)
{
	char path[PATH_SIZE];

	for (enum policy_field field = 0; field < POLICY_FIELD_COUNT; field++) {
		if (!request->preferred[field] || ceiling->preferred[field])
			continue;
		snprintf(path, sizeof(path), "enforcement.%s", policy_field_path(field));
		return exceed(err, path, "\"preferred\" is not granted; the operator requires this field");
	}
	return 0;
}

int policy_check_ceiling(const struct policy *ceiling, const struct policy *request, struct warder_error *err)
{
	static int (*const checks[])(const struct policy *, const struct policy *, struct warder_error *) = {
		check_languages, check_network,  check_view,        check_workspace,
		check_paths,     check_tmp,      check_environment, check_limits,
		check_processes, check_syscalls, check_enforcement,
	};

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		if (checks[i](ceiling, request, err) != 0)
			return -1;
	}
	return 0;
}

/* The last one: in the texts above nothing of a value that could read the same comes after it. */
static char *find_last(char *text, const char *words)
{
	char *last = NULL;

	for (char *at = strstr(text, words); at; at = strstr(at + 1, words))
		last = at;
	return last;
}

int policy_check_granted(const struct policy *granted, const struct policy *request, const char *who,
			 struct warder_error *err)
{
	static const char operator[] = "the operator";
	char text[sizeof(err->text)];
	char *at;

	if (policy_check_ceiling(granted, request, err) == 0)
		return 0;
	memcpy(text, err->text, sizeof(text));
	at = find_last(text, operator);
	if (at)
		snprintf(err->text, sizeof(err->text), "%.*s%s%s", (int)(at - text), text, who,
			 at + sizeof(operator) - 1);
	return -1;
}
