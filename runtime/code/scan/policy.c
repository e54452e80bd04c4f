/*
 * scan_policy: the operator's lists, and their JSON.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "policy/policy.h"
#include "runtime/code/scan/scan.h"

#define MAX_ENTRY 256 /* bytes of an entry of a list */

static const char *const default_commands[] = { "cat", "echo", "grep", "head", "ls", "pwd", "tail", "wc" };

static const char *const default_paths[] = {
	"/etc/passwd",
	"/etc/shadow",
	"/etc/gshadow",
	"/etc/sudoers",
	"/etc/sudoers.d",
	"/etc/ssh",
	"/root",
	"/proc/self/environ",
	"/proc/1",
	"/proc/kcore",
	"/dev/mem",
	"/run/docker.sock",
	"/var/run/docker.sock",
	"~/.ssh",
	"~/.aws",
	"~/.gnupg",
	"~/.kube",
	"~/.docker",
	"~/.netrc",
	"~/.npmrc",
	"~/.pypirc",
	"~/.config/gcloud",
	"~/.bash_history",
	".env",
	"*.pem",
	"*.key",
	"id_rsa",
	"id_ed25519",
	".git-credentials",
};

#define DEFAULT_TIMEOUT_MS   ((uint64_t)300 * 1000)
#define DEFAULT_OUTPUT_BYTES ((uint64_t)1 << 20)

static void list_done(struct scan_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->items[i]);
	free(list->items);
	*list = (struct scan_list){ 0 };
}

void scan_policy_done(struct scan_policy *policy)
{
	list_done(&policy->allowed_domains);
	list_done(&policy->allowed_commands);
	list_done(&policy->denied_paths);
}

static int list_add(struct scan_list *list, const char *text, struct warder_error *err)
{
	char **items = reallocarray(list->items, list->count + 1, sizeof(*items));

	if (!items)
		return error_no_memory(err, NULL);
	list->items = items;
	items[list->count] = strdup(text);
	if (!items[list->count])
		return error_no_memory(err, NULL);
	list->count++;
	return 0;
}

static int fill(struct scan_list *list, const char *const *items, size_t count, struct warder_error *err)
{
	for (size_t i = 0; i < count; i++) {
		if (list_add(list, items[i], err) != 0)
			return -1;
	}
	return 0;
}

int scan_policy_default(struct scan_policy *ret, struct warder_error *err)
{
	struct scan_policy policy = { .max_timeout_ms = DEFAULT_TIMEOUT_MS,
				      .max_output_bytes = DEFAULT_OUTPUT_BYTES };

	if (fill(&policy.allowed_commands, default_commands, ARRAY_LENGTH(default_commands), err) != 0 ||
	    fill(&policy.denied_paths, default_paths, ARRAY_LENGTH(default_paths), err) != 0) {
		scan_policy_done(&policy);
		return -1;
	}
	*ret = policy;
	return 0;
}

/* ---- JSON ---- */

struct decoder {
	const char *origin;
	struct scan_policy *policy;
	struct warder_error *err;
};

static int refuse(struct decoder *d, const struct json_value *value, const char *member, const char *what)
{
	return error_set(d->err, WARDER_ERROR_INVALID_REQUEST, member, "%.120s:%d: %s: %s", d->origin,
			 value->line, member, what);
}

static int read_list(struct decoder *d, const struct json_value *value, const char *member,
		     struct scan_list *list)
{
	if (value->type != JSON_ARRAY)
		return refuse(d, value, member, "a list of texts is expected");
	list_done(list);
	for (const struct json_value *entry = value->child; entry; entry = entry->next) {
		if (entry->type != JSON_STRING || !entry->string[0])
			return refuse(d, entry, member, "an entry has to be a text, and not empty");
		if (strlen(entry->string) > MAX_ENTRY)
			return refuse(d, entry, member, "an entry has at most 256 bytes");
		if (list->count >= SCAN_MAX_LIST)
			return refuse(d, entry, member, "at most 256 entries");
		if (list_add(list, entry->string, d->err) != 0)
			return -1;
	}
	return 0;
}

static int read_domains(struct decoder *d, const struct json_value *value, const char *member)
{
	return read_list(d, value, member, &d->policy->allowed_domains);
}

static int read_commands(struct decoder *d, const struct json_value *value, const char *member)
{
	return read_list(d, value, member, &d->policy->allowed_commands);
}

static int read_paths(struct decoder *d, const struct json_value *value, const char *member)
{
	return read_list(d, value, member, &d->policy->denied_paths);
}

static int read_timeout(struct decoder *d, const struct json_value *value, const char *member)
{
	uint64_t time_us = 0;

	if ((value->type != JSON_STRING && value->type != JSON_NUMBER) ||
	    policy_parse_time(value->string, &time_us, d->err) != 0 || time_us == 0)
		return refuse(d, value, member, "a time is expected, like \"300s\" or 300");
	d->policy->max_timeout_ms = time_us / 1000;
	return 0;
}

static int read_output(struct decoder *d, const struct json_value *value, const char *member)
{
	uint64_t size = 0;

	if ((value->type != JSON_STRING && value->type != JSON_NUMBER) ||
	    policy_parse_size(value->string, &size, d->err) != 0)
		return refuse(d, value, member, "a size is expected, like \"1MiB\" or 1048576");
	d->policy->max_output_bytes = size;
	return 0;
}

static const struct row {
	const char *member;
	int (*read)(struct decoder *d, const struct json_value *value, const char *member);
} rows[] = {
	{ "allowedDomains", read_domains }, { "allowedCommands", read_commands },
	{ "deniedPaths", read_paths },      { "maxTimeout", read_timeout },
	{ "maxOutput", read_output },
};

static int read_member(struct decoder *d, const struct json_value *value)
{
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		if (strcmp(rows[i].member, value->key) == 0)
			return rows[i].read(d, value, rows[i].member);
	}
	return error_set(d->err, WARDER_ERROR_INVALID_REQUEST, value->key,
			 "%.120s:%d: unknown key %.60s; known are allowedDomains, allowedCommands, "
			 "deniedPaths, maxTimeout, "
			 "maxOutput",
			 d->origin, value->key_line, value->key);
}

int scan_policy_parse(const char *text, size_t len, const char *origin, struct scan_policy *ret,
		      struct warder_error *err)
{
	struct scan_policy policy = { 0 };
	struct decoder d = { origin, &policy, err };
	struct json_value *root = NULL;
	int status = 0;

	if (json_parse(text, len, origin, NULL, &root, err) != 0)
		return -1;
	if (root->type != JSON_OBJECT)
		status = error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL,
				   "%.120s:%d: an object is expected, not %s", origin, root->line,
				   json_type_name(root->type));
	if (status == 0)
		status = scan_policy_default(&policy, err);
	for (const struct json_value *member = root->child; member && status == 0; member = member->next)
		status = read_member(&d, member);
	json_free(root);
	if (status == 0)
		*ret = policy;
	else
		scan_policy_done(&policy);
	return status;
}
