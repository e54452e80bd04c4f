/*
 * ceiling: does a policy that is asked for stay within what the operator grants?
 *
 * One check per field, in the order of the table, which names it; each asks whether the value of the asked policy allows the
 * program nothing that the ceiling's value does not. A ceiling is always within itself. What has no order
 * (the kind of view, the identity) has to be the same.
 *
 * A check reports every violation and goes on, so that a caller can list all of them; the first one is the
 * error. A value that no grant covers is refused; where the ceiling has a narrower value of the same field,
 * the violation lowers the field to it.
 *
 * Extra paths: an asked path must lie inside a granted one, the most specific grant decides about the
 * access, and an asked read-write path must not swallow a read-only grant that lies below it: the asked policy has to
 * repeat that as read-only. The workspace is compared with the workspace only, because what the program sees
 * below /workspace is one mount.
 */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "policy/members.h"
#include "policy/names.h"
#include "policy/values.h"

#define PATH_SIZE 72

struct check {
	const struct policy *ceiling, *asked;
	void (*found)(void *context, const struct policy_violation *violation);
	void *context;
	size_t count;
	enum policy_field field; /* that is being checked */
	bool real;               /* `asked` has its paths as links lead */
	bool
	    has_rows; /* a row of paths that the ceiling has itself is granted, with its target: it is a session's policy */
};

static void violate(struct check *c, enum policy_grant grant, const char *path, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void violate(struct check *c, enum policy_grant grant, const char *path, const char *format, ...)
{
	struct policy_violation violation = { .field = c->field, .grant = grant };
	char text[sizeof(violation.error.text)];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	error_set(&violation.error, WARDER_ERROR_REJECTED, NULL, "%s", text);
	policy_locate(&violation.error, path);
	if (c->real)
		error_context(&violation.error, POLICY_BEHIND_LINK);
	c->count++;
	c->found(c->context, &violation);
}

/* A word of a table is not granted; the operator's word is the most that is. */
static void exceed_word(struct check *c, const char *path, const char *asked, const char *granted)
{
	violate(c, POLICY_LOWERED, path, "\"%s\" is more than the operator grants; at most \"%s\"", asked,
		granted);
}

/* What is granted, for a person who is refused something else: "a, b and 3 more", or "none". */
static const char *list_grants(const struct policy_strings *one, const struct policy_strings *other,
			       char *ret, size_t size)
{
	const size_t count = one->count + other->count;
	size_t used = 0, i;

	snprintf(ret, size, "none");
	for (i = 0; i < count; i++) {
		const char *item = i < one->count ? one->items[i] : other->items[i - one->count];

		if (used + strlen(item) + sizeof(", and 12345 more") > size)
			break;
		used += (size_t)snprintf(ret + used, size - used, "%s%s", i ? ", " : "", item);
	}
	if (i < count)
		snprintf(ret + used, size - used, "%s%zu more", i ? " and " : "", count - i);
	return ret;
}

/* ---- languages ---- */

static void check_languages(struct check *c)
{
	const struct policy_strings *names = &c->asked->languages.names;
	const struct policy_strings *granted = &c->ceiling->languages.names, none = { 0 };
	char path[PATH_SIZE], all[120];

	if (c->ceiling->languages.any)
		return;
	list_grants(granted, &none, all, sizeof(all));
	if (c->asked->languages.any)
		violate(c, POLICY_LOWERED, "languages",
			"\"any\" is more than the languages (%s) that the operator grants; name languages",
			all);
	for (size_t i = 0; i < names->count; i++) {
		if (policy_strings_have(granted, names->items[i]))
			continue;
		snprintf(path, sizeof(path), "languages[%zu]", i);
		violate(c, POLICY_REFUSED, path,
			"\"%.40s\" is not one of the languages (%s) that the operator grants",
			names->items[i], all);
	}
}

/* ---- functions ---- */

static void check_functions(struct check *c)
{
	const struct policy_strings *names = &c->asked->functions;
	const struct policy_strings *granted = &c->ceiling->functions, none = { 0 };
	char path[PATH_SIZE], all[120];

	list_grants(granted, &none, all, sizeof(all));
	for (size_t i = 0; i < names->count; i++) {
		if (policy_strings_have(granted, names->items[i]))
			continue;
		snprintf(path, sizeof(path), "functions[%zu]", i);
		violate(c, POLICY_REFUSED, path,
			"\"%.64s\" is not one of the functions (%s) that the operator grants",
			names->items[i], all);
	}
}

/* ---- network ---- */

static void check_endpoint(struct check *c, const struct policy_endpoint *asked, size_t index)
{
	size_t count = policy_rule_count(asked);
	char path[PATH_SIZE];

	snprintf(path, sizeof(path), "network.allow[%zu]", index);
	for (size_t i = 0; i < count; i++) {
		struct policy_rule rule = policy_rule_at(asked, i);

		for (size_t j = 0; j < rule.port_count; j++)
			if (!policy_network_grants(c->ceiling, &rule, rule.ports[j]))
				violate(c, POLICY_REFUSED, path,
					"\"%.100s\" with port %u is not granted by the operator",
					rule.host ? rule.host : rule.cidr, rule.ports[j]);
	}
	snprintf(path, sizeof(path), "network.allow[%zu].inject", index);
	if (asked->inject && !policy_inject_granted(c->ceiling, asked))
		violate(
		    c, POLICY_REFUSED, path,
		    "no row of the ceiling has this header, secretFile and format for \"%.80s\" with these "
		    "ports, methods and paths",
		    asked->host);
}

static void check_denied(struct check *c)
{
	const struct policy_endpoints *deny = &c->ceiling->network.deny;
	char row[160];

	for (size_t i = 0; i < deny->count; i++) {
		if (!policy_network_avoids(c->asked, &deny->items[i]))
			violate(c, POLICY_LOWERED, "network.deny",
				"the operator denies \"%s\"; add it to the list",
				policy_format_endpoint(&deny->items[i], row, sizeof(row)));
	}
}

static void check_network(struct check *c)
{
	const enum policy_network_mode asked = c->asked->network.mode, granted = c->ceiling->network.mode;

	if (asked > granted) {
		exceed_word(c, "network.mode", policy_network_mode_name(asked),
			    policy_network_mode_name(granted));
		return;
	}
	if (asked == POLICY_NETWORK_LEARN && granted != POLICY_NETWORK_LEARN)
		violate(c, POLICY_REFUSED, "network.mode",
			"\"learn\" is granted only by the operator's own \"learn\", not by \"%s\"",
			policy_network_mode_name(granted));
	for (size_t i = 0; i < c->asked->network.allow.count; i++)
		check_endpoint(c, &c->asked->network.allow.items[i], i);
	check_denied(c);
}

static void check_publish(struct check *c)
{
	const struct policy_published *list = &c->asked->network.publish;
	char path[PATH_SIZE], row[48];

	for (size_t i = 0; i < list->count; i++) {
		if (policy_network_publishes_within(c->ceiling, &list->items[i]))
			continue;
		snprintf(path, sizeof(path), "network.publish[%zu]", i);
		violate(c, POLICY_REFUSED, path, "\"%s\" is not granted by the operator",
			policy_format_publish(&list->items[i], row, sizeof(row)));
	}
}

/* ---- filesystem ---- */

static void check_view(struct check *c)
{
	const enum policy_view view = c->asked->filesystem.view;
	const char *granted = c->ceiling->filesystem.view_source, *asked = c->asked->filesystem.view_source;
	char quoted[96];

	if (view != c->ceiling->filesystem.view) {
		violate(c, POLICY_REFUSED, "filesystem.view",
			"\"%s\" differs from the operator's grant: \"%s\"", policy_views[view],
			policy_views[c->ceiling->filesystem.view]);
		return;
	}
	switch (view) {
	case POLICY_VIEW_HOST:
		return;
	case POLICY_VIEW_DIRECTORY:
		if (granted && asked && policy_path_within(granted, asked))
			return;
		break;
	case POLICY_VIEW_IMAGE:
		if (granted && asked && strcmp(granted, asked) == 0)
			return;
		break;
	}
	violate(c, POLICY_REFUSED, "filesystem.view", "%s differs from the operator's grant: \"%.100s\"",
		json_quote(asked ? asked : "", quoted, sizeof(quoted)), granted ? granted : "");
}

static void check_workspace(struct check *c)
{
	const enum policy_workspace mode = c->asked->filesystem.workspace;
	const char *granted = c->ceiling->filesystem.workspace_root,
		   *asked = c->asked->filesystem.workspace_root;
	char quoted[96];

	if (mode > c->ceiling->filesystem.workspace) {
		exceed_word(c, "filesystem.workspace", policy_workspaces[mode],
			    policy_workspaces[c->ceiling->filesystem.workspace]);
		return;
	}
	if (mode == POLICY_WORKSPACE_NONE || (granted && asked && policy_path_within(granted, asked)))
		return;
	if (!granted && !asked)
		return; /* no run has one without a directory */
	violate(c, POLICY_REFUSED, "filesystem.workspace",
		"%s is not inside \"%.100s\", which the operator grants",
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

/* What is granted at the source of a row that is asked for, wherever it is to be seen. */
static enum access granted_at(const struct policy *ceiling, const char *item)
{
	char source[PATH_MAX];

	if (policy_placed_fault(item) || !policy_path_source(item, source))
		return ACCESS_NONE;
	return access_at(ceiling, source);
}

/* Only where it has the row in the same list: the whole row is compared. */
static bool has_row(const struct check *c, const char *item, enum access access)
{
	const struct policy *ceiling = c->ceiling;

	return c->has_rows &&
	       policy_strings_have(access == ACCESS_READ_WRITE ? &ceiling->filesystem.read_write
							       : &ceiling->filesystem.read_only,
				   item);
}

static void check_list(struct check *c, const struct policy_strings *list, const char *name,
		       enum access wanted)
{
	char path[PATH_SIZE], quoted[96], all[200];

	for (size_t i = 0; i < list->count; i++) {
		enum access granted = granted_at(c->ceiling, list->items[i]);

		if (wanted <= granted || has_row(c, list->items[i], wanted))
			continue;
		snprintf(path, sizeof(path), "filesystem.paths.%s[%zu]", name, i);
		json_quote(list->items[i], quoted, sizeof(quoted));
		if (granted == ACCESS_NONE)
			violate(c, POLICY_REFUSED, path,
				"%s is not inside a path (%s) that the operator grants", quoted,
				list_grants(&c->ceiling->filesystem.read_only,
					    &c->ceiling->filesystem.read_write, all, sizeof(all)));
		else
			violate(c, POLICY_LOWERED, path, "%s is granted by the operator for reading only",
				quoted);
	}
}

/* Where an asked row shows a path of the host, in a buffer of PATH_MAX bytes. False: nowhere. */
static bool shows_at(const char *item, const char *path, char *ret)
{
	const char *target = policy_path_target(item);
	char source[PATH_MAX];
	size_t above;

	if (!policy_path_source(item, source) || !policy_path_within(source, path))
		return false;
	above = source[1] ? strlen(source) : 0;
	return snprintf(ret, PATH_MAX, "%s%s", target[1] ? target : "", path + above) < PATH_MAX;
}

/* The longest target of the list that holds a path inside; 0: none does. */
static size_t nearest(const struct policy_strings *list, const char *inside)
{
	size_t best = 0;

	for (size_t i = 0; i < list->count; i++) {
		const char *target = policy_path_target(list->items[i]);

		if (policy_path_within(target, inside) && strlen(target) > best)
			best = strlen(target);
	}
	return best;
}

/* Whether an asked row lets a path of the host be written to, as the other asked rows leave it. */
static bool lets_write(const struct policy *asked, const char *item, const char *path)
{
	char inside[PATH_MAX];

	return shows_at(item, path, inside) &&
	       nearest(&asked->filesystem.read_write, inside) > nearest(&asked->filesystem.read_only, inside);
}

static void check_paths(struct check *c)
{
	const struct policy_strings *kept = &c->ceiling->filesystem.read_only;
	const struct policy_strings *granted[] = { kept, &c->ceiling->filesystem.read_write };
	const struct policy_strings *writable = &c->asked->filesystem.read_write;
	char quoted[96];

	for (size_t list = 0; list < 2; list++)
		for (size_t i = 0; i < granted[list]->count; i++)
			if (!c->has_rows && policy_path_explicit_target(granted[list]->items[i]))
				violate(c, POLICY_REFUSED,
					list ? "filesystem.paths.readWrite" : "filesystem.paths.readOnly",
					"the operator's %s names a target inside; a ceiling names sources "
					"only, and every target is free",
					json_quote(granted[list]->items[i], quoted, sizeof(quoted)));
	check_list(c, &c->asked->filesystem.read_only, "readOnly", ACCESS_READ_ONLY);
	check_list(c, writable, "readWrite", ACCESS_READ_WRITE);
	for (size_t i = 0; i < kept->count; i++)
		for (size_t j = 0; j < writable->count; j++)
			if (!has_row(c, writable->items[j], ACCESS_READ_WRITE) &&
			    lets_write(c->asked, writable->items[j], kept->items[i]))
				violate(
				    c, POLICY_LOWERED, "filesystem.paths.readWrite",
				    "%s lies below a requested path and is granted by the operator for "
				    "reading only; add it to filesystem.paths.readOnly, with its target if "
				    "the path has one",
				    json_quote(kept->items[i], quoted, sizeof(quoted)));
}

/* ---- environment ---- */

bool policy_grants_variable(const struct policy *ceiling, const char *name, const char *value)
{
	const struct policy_variable *granted = policy_variable_of(ceiling, name);

	switch (ceiling->environment.mode) {
	case POLICY_ENVIRONMENT_NONE:
		return granted && strcmp(granted->value, value) == 0;
	case POLICY_ENVIRONMENT_ALLOW_LIST:
		return granted || policy_strings_have(&ceiling->environment.names, name);
	case POLICY_ENVIRONMENT_HOST:
		return true;
	}
	return false;
}

static void check_environment(struct check *c)
{
	const enum policy_environment_mode asked = c->asked->environment.mode,
					   granted = c->ceiling->environment.mode;
	const struct policy_strings *names = &c->asked->environment.names;
	char path[PATH_SIZE];

	if (asked > granted)
		exceed_word(c, "environment.mode", policy_environment_modes[asked],
			    policy_environment_modes[granted]);
	for (size_t i = 0; i < names->count && granted != POLICY_ENVIRONMENT_HOST; i++) {
		if (policy_strings_have(&c->ceiling->environment.names, names->items[i]))
			continue;
		snprintf(path, sizeof(path), "environment.names[%zu]", i);
		violate(c, POLICY_REFUSED, path, "\"%.60s\" is not granted by the operator", names->items[i]);
	}
	for (size_t i = 0; i < c->asked->environment.set_count; i++) {
		const struct policy_variable *set = &c->asked->environment.set[i];

		if (policy_grants_variable(c->ceiling, set->name, set->value))
			continue;
		snprintf(path, sizeof(path), "environment.set.%.50s", set->name);
		violate(c, POLICY_REFUSED, path, "the operator does not grant this variable or value");
	}
}

/* ---- amounts ---- */

static void check_amount(struct check *c)
{
	const struct policy_amount *amount = policy_amount_of(c->field);
	uint64_t granted = policy_amount_get(c->ceiling, amount), asked = policy_amount_get(c->asked, amount);
	char asked_text[32], granted_text[32];

	if (asked <= granted) /* POLICY_UNLIMITED is the largest number */
		return;
	violate(c, POLICY_LOWERED, policy_field_path(c->field),
		"%s is more than the operator grants; at most %s",
		policy_amount_format(amount, asked, asked_text, sizeof(asked_text)),
		policy_amount_format(amount, granted, granted_text, sizeof(granted_text)));
}

/* Limits of connections: nothing is counted where there are none, or where the operator counts none. */
static void check_traffic(struct check *c)
{
	if (policy_network_connects(c->asked) && c->ceiling->network.mode != POLICY_NETWORK_HOST)
		check_amount(c);
}

static void check_tmp(struct check *c)
{
	check_amount(c);
	/* limits.disk of the operator's holds for directories of the host as well. */
	if (c->asked->filesystem.growth_unlimited && policy_writes_host(c->asked) &&
	    !c->ceiling->filesystem.growth_unlimited && c->ceiling->limits.disk_bytes != POLICY_UNLIMITED)
		violate(c, POLICY_LOWERED, "filesystem.growth",
			"unlimited is more than the operator grants, who limits disk (limits.disk); leave "
			"--rw and :rw out, or use an overlay");
	if (c->asked->filesystem.tmp_exec && !c->ceiling->filesystem.tmp_exec)
		violate(c, POLICY_LOWERED, "filesystem.tmpExec",
			"true is more than the operator grants; at most false");
}

static void check_errors(struct check *c)
{
	check_amount(c);
	if (c->ceiling->output.on_limit == POLICY_OUTPUT_KILL &&
	    c->asked->output.on_limit != POLICY_OUTPUT_KILL)
		exceed_word(c, "output.onLimit", "drain", "kill");
}

/* ---- processes ---- */

static void check_spawn(struct check *c)
{
	if (c->asked->processes.spawn && !c->ceiling->processes.spawn)
		violate(c, POLICY_LOWERED, "processes.spawn",
			"true is more than the operator grants; at most false");
}

static void check_identity(struct check *c)
{
	const struct policy *asked = c->asked, *granted = c->ceiling;

	if (asked->processes.uid != granted->processes.uid || asked->processes.gid != granted->processes.gid)
		violate(c, POLICY_REFUSED, "processes.identity",
			"%u:%u differs from the operator's grant: %u:%u", asked->processes.uid,
			asked->processes.gid, granted->processes.uid, granted->processes.gid);
}

/* ---- system calls ---- */

static void check_syscalls(struct check *c)
{
	const struct policy *asked = c->asked, *granted = c->ceiling;
	const struct policy_strings *allow = &asked->syscalls.allow, *deny = &granted->syscalls.deny;
	char path[PATH_SIZE];

	if (asked->syscalls.profile > granted->syscalls.profile)
		exceed_word(c, "syscalls.profile", policy_profile_name(asked->syscalls.profile),
			    policy_profile_name(granted->syscalls.profile));
	for (size_t i = 0; i < allow->count; i++) {
		if (policy_strings_have(&granted->syscalls.allow, allow->items[i]))
			continue;
		snprintf(path, sizeof(path), "syscalls.allow[%zu]", i);
		violate(c, POLICY_REFUSED, path, "\"%.60s\" is not granted by the operator", allow->items[i]);
	}
	for (size_t i = 0; i < deny->count; i++) {
		if (!policy_strings_have(&asked->syscalls.deny, deny->items[i]))
			violate(c, POLICY_LOWERED, "syscalls.deny",
				"the operator denies \"%.60s\"; add it to the list", deny->items[i]);
	}
	if (granted->syscalls.on_violation == POLICY_VIOLATION_KILL &&
	    asked->syscalls.on_violation != POLICY_VIOLATION_KILL)
		exceed_word(c, "syscalls.onViolation", "errno", "kill");
}

static void check_speculation(struct check *c)
{
	if (c->ceiling->syscalls.speculation && !c->asked->syscalls.speculation)
		violate(c, POLICY_LOWERED, "syscalls.speculation",
			"false is more than the operator grants; set it to true");
}

/* ---- enforcement ---- */

static void check_enforcement(struct check *c)
{
	char path[PATH_SIZE];

	if (!c->asked->preferred[c->field] || c->ceiling->preferred[c->field])
		return;
	snprintf(path, sizeof(path), "enforcement.%s", policy_field_path(c->field));
	violate(c, POLICY_LOWERED, path, "\"preferred\" is not granted; the operator requires this field");
}

#define RULE(id, path, group, rule) [POLICY_FIELD_##id] = (rule),
#define RULE_OF_NUMBER(id, path, group, unit, slot, least, most, bound, strict, reason, rule, ...)           \
	RULE(id, path, group, rule)

/* NULL: no value of the field gives the program more than another. */
static void (*const checks[])(struct check *c) = {
	POLICY_TABLE(RULE, POLICY_NOTHING, POLICY_NOTHING, RULE_OF_NUMBER, RULE_OF_NUMBER, POLICY_NOTHING)
};

struct search {
	const char *field;
	bool found;
};

static void compare_field(void *context, const struct policy_violation *violation)
{
	struct search *search = context;

	search->found |= strcmp(violation->error.field, search->field) == 0;
}

/* What the asked paths lead to; what they have beyond the ceiling as they are written has been found already. */
struct behind {
	const struct check *written;
	struct check *c;
};

static void find_behind(void *context, const struct policy_violation *violation)
{
	const struct behind *behind = context;
	struct search search = { .field = violation->error.field };
	struct check written = *behind->written;

	written.found = compare_field;
	written.context = &search;
	checks[written.field](&written);
	if (search.found)
		return;
	behind->c->count++;
	behind->c->found(behind->c->context, violation);
}

static void check_real(struct check *c, const struct policy *real)
{
	const struct check written = *c;
	struct behind behind = { &written, c };
	struct check check = *c;

	check.asked = real;
	check.real = true;
	check.found = find_behind;
	check.context = &behind;
	checks[c->field](&check);
}

static size_t check_all(struct check *c, const struct policy *real)
{
	for (c->field = 0; c->field < POLICY_FIELD_COUNT; c->field++) {
		if (checks[c->field])
			checks[c->field](c);
		if (real && (c->field == POLICY_FIELD_VIEW || c->field == POLICY_FIELD_WORKSPACE ||
			     c->field == POLICY_FIELD_PATHS))
			check_real(c, real);
	}
	for (c->field = 0; c->field < POLICY_FIELD_COUNT; c->field++)
		check_enforcement(c);
	return c->count;
}

int policy_check_no_ceiling(const struct policy *policy, struct warder_error *err)
{
	if (policy->network.mode != POLICY_NETWORK_LEARN)
		return policy_inject_without_ceiling(policy, err);
	error_set(err, WARDER_ERROR_REJECTED, NULL,
		  "only a ceiling grants \"learn\" (--net learn), and there is none; write network.mode "
		  "\"learn\" into "
		  "/etc/warder/ceiling.json, or name a file that has it with --ceiling");
	return policy_locate(err, "network.mode");
}

static size_t check_without(const struct policy *asked,
			    void (*found)(void *context, const struct policy_violation *violation),
			    void *context)
{
	struct policy_violation violation = { .field = POLICY_FIELD_NETWORK, .grant = POLICY_REFUSED };

	if (policy_check_no_ceiling(asked, &violation.error) == 0)
		return 0;
	found(context, &violation);
	return 1;
}

size_t policy_violations(const struct policy *ceiling, const struct policy *asked, const struct policy *real,
			 void (*found)(void *context, const struct policy_violation *violation),
			 void *context)
{
	struct check c = { .ceiling = ceiling, .asked = asked, .found = found, .context = context };

	return ceiling ? check_all(&c, real) : check_without(asked, found, context);
}

static void keep_first(void *context, const struct policy_violation *violation)
{
	struct warder_error *err = context;

	if (err->code == WARDER_ERROR_NONE)
		*err = violation->error;
}

int policy_check_ceiling(const struct policy *ceiling, const struct policy *asked, struct warder_error *err)
{
	struct warder_error first = { 0 };

	if (policy_violations(ceiling, asked, NULL, keep_first, &first) == 0)
		return 0;
	*err = first;
	return -1;
}

/* The last one: in the texts above nothing of a value that could read the same comes after it. */
static char *find_last(char *text, const char *words)
{
	char *last = NULL;

	for (char *at = strstr(text, words); at; at = strstr(at + 1, words))
		last = at;
	return last;
}

int policy_check_granted(const struct policy *granted, const struct policy *asked, const char *who,
			 struct warder_error *err)
{
	static const char operator[] = "the operator";
	struct warder_error first = { 0 };
	struct check c = {
		.ceiling = granted, .asked = asked, .found = keep_first, .context = &first, .has_rows = true
	};
	char text[sizeof(err->text)];
	char *at;

	if (check_all(&c, NULL) == 0)
		return 0;
	*err = first;
	memcpy(text, err->text, sizeof(text));
	at = find_last(text, operator);
	if (at)
		snprintf(err->text, sizeof(err->text), "%.*s%s%s", (int)(at - text), text, who,
			 at + sizeof(operator) - 1);
	return -1;
}
