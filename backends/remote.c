/*
 * remote: the entries of the operator's document, and what a policy may ask of another machine.
 *
 * A document that is wrong anywhere is refused whole: a host that one believes to be named must not be missing in silence.
 */
#include "backends/remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"

#define EXECUTE_US UINT64_C(60000000) /* of a service, if its entry names none */
#define IDLE_S     3600
#define YEAR_S     (365 * 24 * 3600)

static const struct backend rows[BACKEND_REMOTES_MAX] = {
	[0 ... BACKEND_REMOTES_MAX - 1] = { .name = "remote",
					    .summary = "an execution host on another machine" },
};

const struct backend *backend_remote_row(size_t i)
{
	return &rows[i];
}

const struct backend_remote *backend_remote_of(const struct backend_settings *settings,
					       const struct backend *candidate)
{
	for (size_t i = 0; i < settings->remote_count; i++)
		if (candidate == &rows[i])
			return &settings->remotes[i];
	return NULL;
}

char *backend_remote_label(const struct backend_remote *remote, char *buf)
{
	snprintf(buf, BACKEND_REMOTE_LABEL, BACKEND_REMOTE_PREFIX "%.20s", remote->name);
	return buf;
}

static bool is_name(const char *name)
{
	const size_t len = strlen(name);

	return len >= 1 && len <= BACKEND_REMOTE_NAME_MAX &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == len;
}

bool backend_is_remote(const char *name)
{
	const size_t len = sizeof(BACKEND_REMOTE_PREFIX) - 1;

	return strncmp(name, BACKEND_REMOTE_PREFIX, len) == 0 && is_name(name + len);
}

const struct backend_remote *backend_remote_find(const struct backend_settings *settings, const char *name,
						 struct warder_error *err)
{
	const char *names[BACKEND_REMOTES_MAX + 1] = { NULL };
	char labels[BACKEND_REMOTES_MAX][BACKEND_REMOTE_LABEL];
	char hint[300];

	if (!settings->remote_enabled) {
		error_set(
		    err, WARDER_ERROR_REJECTED, "backend",
		    "%.40s runs programs on another machine and is disabled; the operator enables it with "
		    "{\"enable\": [\"remote\"], \"remote\": {...}} in /etc/warder/backends.json",
		    name);
		return NULL;
	}
	for (size_t i = 0; i < settings->remote_count; i++) {
		names[i] = backend_remote_label(&settings->remotes[i], labels[i]);
		if (strcmp(names[i], name) == 0)
			return &settings->remotes[i];
	}
	error_set(err, WARDER_ERROR_INVALID_REQUEST, "backend", "there is no host \"%.40s\"; %s", name,
		  names[0] ? policy_suggest(names, name, hint, sizeof(hint))
			   : "the document of backends names none in \"remote\"");
	return NULL;
}

/* ---- an entry ---- */

static int wrong(const struct json_value *entry, const char *origin, const char *what,
		 struct warder_error *err)
{
	char name[60];

	return error_set(err, WARDER_ERROR_INVALID_REQUEST, "backend", "%s:%d: remote %s: %s", origin,
			 entry->line, json_quote(entry->key ? entry->key : "", name, sizeof(name)), what);
}

static int take_path(const struct json_value *entry, const char *key, const char *text, char *to, size_t size,
		     const char *origin, struct warder_error *err)
{
	char what[120];

	if (text[0] == '/' && strlen(text) < size) {
		memcpy(to, text, strlen(text) + 1);
		return 0;
	}
	snprintf(what, sizeof(what), "\"%s\" must be an absolute path of less than %zu bytes", key, size);
	return wrong(entry, origin, what, err);
}

static int take_url(const struct json_value *entry, const char *text, struct backend_remote *to,
		    const char *origin, struct warder_error *err)
{
	struct warder_error why = { 0 };

	if (strlen(text) >= sizeof(to->url))
		return wrong(entry, origin, "\"url\" is too long", err);
	if (remote_check_url(text, to->insecure, &why) < 0)
		return wrong(entry, origin, why.text, err);
	memcpy(to->url, text, strlen(text) + 1);
	return 0;
}

/* The times of the kind "e2b": a number of seconds, at least 0.001, and a whole one. */
static int take_times(const struct json_value *entry, struct backend_remote *to, const char *origin,
		      struct warder_error *err)
{
	const struct json_value *execute = json_member(entry, "executeTimeout");
	const struct json_value *idle = json_member(entry, "idleTimeout");
	char what[120];

	if (execute && (execute->number < 0.001 || execute->number > YEAR_S)) {
		snprintf(what, sizeof(what),
			 "\"executeTimeout\" must be from 0.001 to 31536000 seconds, not %.40s",
			 execute->string);
		return wrong(entry, origin, what, err);
	}
	if (idle && (!idle->is_uint || idle->uint < 1 || idle->uint > YEAR_S)) {
		snprintf(what, sizeof(what),
			 "\"idleTimeout\" must be a whole number from 1 to 31536000 seconds, not %.40s",
			 idle->string);
		return wrong(entry, origin, what, err);
	}
	to->execute_us = execute ? (uint64_t)(execute->number * 1000000) : EXECUTE_US;
	to->idle_us = (idle ? idle->uint : IDLE_S) * UINT64_C(1000000);
	return 0;
}

static bool has_times(const struct json_value *entry)
{
	return json_member(entry, "executeTimeout") || json_member(entry, "idleTimeout");
}

/* What only the kind "e2b" has. */
static int take_service(const struct json_value *entry, struct backend_remote *to, const char *origin,
			struct warder_error *err)
{
	const char *template = json_member_text(entry, "template", NULL);
	const char *url = json_member_text(entry, "sandboxUrl", NULL);
	struct warder_error why = { 0 };
	char what[200];

	if (!to->e2b && (template || url || has_times(entry)))
		return wrong(entry, origin,
			     "\"template\", \"sandboxUrl\", \"executeTimeout\" and \"idleTimeout\" belong to "
			     "the kind \"e2b\"",
			     err);
	if (!to->e2b)
		return 0;
	if (to->key_given)
		return wrong(entry, origin, "\"hostKey\" belongs to the kind \"warder\"", err);
	if (template && (!template[0] || strlen(template) >= sizeof(to->template))) {
		snprintf(what, sizeof(what), "\"template\" must be an id of 1 to 99 bytes, not %zu",
			 strlen(template));
		return wrong(entry, origin, what, err);
	}
	if (take_times(entry, to, origin, err) < 0)
		return -1;
	snprintf(to->template, sizeof(to->template), "%s", template ? template : "");
	if (!url)
		return 0;
	if (strlen(url) >= sizeof(to->sandbox_url))
		return wrong(entry, origin, "\"sandboxUrl\" is too long", err);
	if (remote_check_url(url, to->insecure && strncmp(url, "http://", 7) == 0, &why) < 0) {
		snprintf(what, sizeof(what), "\"sandboxUrl\": %.150s", why.text);
		return wrong(entry, origin, what, err);
	}
	memcpy(to->sandbox_url, url, strlen(url) + 1);
	return 0;
}

static int take_key(const struct json_value *entry, const char *key, struct backend_remote *to,
		    const char *origin, struct warder_error *err)
{
	if (!key)
		return 0;
	if (!remote_is_key(key))
		return wrong(entry, origin,
			     "\"hostKey\" must be \"ed25519:\" and 32 bytes in base64, as \"warder backend "
			     "trust\" shows it",
			     err);
	memcpy(to->host_key, key, sizeof(to->host_key));
	to->key_given = true;
	return 0;
}

static int take_kind(const struct json_value *entry, const char *kind, struct backend_remote *to,
		     const char *origin, struct warder_error *err)
{
	char what[200], shown[60];

	to->e2b = strcmp(kind, "e2b") == 0;
	if (to->e2b || strcmp(kind, "warder") == 0)
		return 0;
	snprintf(what, sizeof(what), "unknown \"kind\" %s; known: \"warder\", \"e2b\"",
		 json_quote(kind, shown, sizeof(shown)));
	return wrong(entry, origin, what, err);
}

/* Known members, each of its type. */
static int check_members(const struct json_value *entry, const char *origin, struct warder_error *err)
{
	static const struct {
		const char *key;
		enum json_type type;
	} known[] = {
		{ "url", JSON_STRING },
		{ "tokenFile", JSON_STRING },
		{ "kind", JSON_STRING },
		{ "caFile", JSON_STRING },
		{ "insecure", JSON_BOOL },
		{ "hostKey", JSON_STRING },
		{ "template", JSON_STRING },
		{ "sandboxUrl", JSON_STRING },
		{ "executeTimeout", JSON_NUMBER },
		{ "idleTimeout", JSON_NUMBER },
	};
	char what[240], shown[60];

	if (entry->type != JSON_OBJECT)
		return wrong(entry, origin, "is not an object", err);
	for (const struct json_value *member = entry->child; member; member = member->next) {
		size_t i = 0;

		while (i < ARRAY_LENGTH(known) && strcmp(known[i].key, member->key) != 0)
			i++;
		if (i < ARRAY_LENGTH(known) && member->type == known[i].type)
			continue;
		json_quote(member->key, shown, sizeof(shown));
		if (i < ARRAY_LENGTH(known))
			snprintf(what, sizeof(what), "%s must be %s", shown,
				 known[i].type == JSON_BOOL     ? "true or false"
				 : known[i].type == JSON_NUMBER ? "a number of seconds"
								: "a text");
		else
			snprintf(what, sizeof(what),
				 "unknown member %s; known: \"url\", \"tokenFile\", \"kind\", \"caFile\", "
				 "\"insecure\", \"hostKey\", \"template\", \"sandboxUrl\", "
				 "\"executeTimeout\", \"idleTimeout\"",
				 shown);
		return wrong(entry, origin, what, err);
	}
	return 0;
}

static int take_entry(const struct json_value *entry, const char *origin, struct backend_remote *to,
		      struct warder_error *err)
{
	const struct json_value *insecure = json_member(entry, "insecure");
	const char *url = json_member_text(entry, "url", NULL);
	const char *token = json_member_text(entry, "tokenFile", NULL);
	const char *kind = json_member_text(entry, "kind", NULL);
	const char *authorities = json_member_text(entry, "caFile", NULL);
	char what[120];

	if (!is_name(entry->key))
		return wrong(entry, origin, "a name has 1 to 20 small letters, digits and dashes", err);
	if (check_members(entry, origin, err) < 0)
		return -1;
	if (!kind)
		return wrong(entry, origin, "\"kind\" is missing; give \"warder\" or \"e2b\"", err);
	if (strcmp(kind, "warder") == 0 && (!url || !token)) {
		snprintf(what, sizeof(what),
			 "\"%s\" is missing; the kind \"warder\" needs \"url\" and \"tokenFile\"",
			 url ? "tokenFile" : "url");
		return wrong(entry, origin, what, err);
	}
	memcpy(to->name, entry->key, strlen(entry->key) + 1);
	to->insecure = insecure && insecure->boolean;
	if (take_key(entry, json_member_text(entry, "hostKey", NULL), to, origin, err) < 0 ||
	    take_kind(entry, kind, to, origin, err) < 0 ||
	    (url && take_url(entry, url, to, origin, err) < 0) || take_service(entry, to, origin, err) < 0 ||
	    (token &&
	     take_path(entry, "tokenFile", token, to->token_file, sizeof(to->token_file), origin, err) < 0))
		return -1;
	return authorities
		   ? take_path(entry, "caFile", authorities, to->ca_file, sizeof(to->ca_file), origin, err)
		   : 0;
}

int backend_remote_take(const struct json_value *entries, const char *origin, struct backend_settings *ret,
			struct warder_error *err)
{
	for (const struct json_value *entry = entries->child; entry; entry = entry->next) {
		if (ret->remote_count == BACKEND_REMOTES_MAX)
			return wrong(entry, origin, "is one host too many; at most 8 can be named", err);
		if (take_entry(entry, origin, &ret->remotes[ret->remote_count], err) < 0)
			return -1;
		ret->remote_count++;
	}
	return 0;
}

/* ---- keys ---- */

static struct backend_remote *entry_of(struct backend_settings *settings, const char *name)
{
	for (size_t i = 0; i < settings->remote_count; i++)
		if (strcmp(settings->remotes[i].name, name) == 0)
			return &settings->remotes[i];
	return NULL;
}

int backend_remote_take_keys(const char *json, size_t len, const char *origin, struct backend_settings *ret,
			     struct warder_error *err)
{
	struct json_value *root = NULL;
	int status = 0;

	if (json_parse(json, len, origin, NULL, &root, err) < 0)
		return -1;
	if (root->type != JSON_OBJECT)
		status = error_set(err, WARDER_ERROR_INVALID_REQUEST, "backend",
				   "%s: is not an object of keys", origin);
	for (const struct json_value *one = root->child; status == 0 && one; one = one->next) {
		struct backend_remote *to = entry_of(ret, one->key);

		if (one->type != JSON_STRING || !remote_is_key(one->string))
			status = wrong(one, origin, "is not followed by a key", err);
		else if (to && !to->key_given)
			memcpy(to->host_key, one->string, sizeof(to->host_key));
	}
	json_free(root);
	return status;
}

/* ---- a policy ---- */

static int refuse(const struct backend_remote *remote, const char *field, const char *why,
		  struct warder_error *err)
{
	char label[BACKEND_REMOTE_LABEL];

	return error_set(err, WARDER_ERROR_UNSUPPORTED_POLICY, field, "%s: %s: %s", field,
			 backend_remote_label(remote, label), why);
}

int backend_remote_check_policy(const struct backend_remote *remote, const struct policy *policy,
				struct warder_error *err)
{
	const struct {
		bool asked;
		const char *field, *why;
	} sources[] = {
		{ policy->filesystem.view != POLICY_VIEW_HOST, "filesystem.view",
		  "an image or a directory of this machine is not there; leave it \"host\", which shows the "
		  "programs of that machine" },
		{ policy->filesystem.workspace != POLICY_WORKSPACE_NONE, "filesystem.workspace",
		  "a directory of this machine is not there; send the data by standard input" },
		{ policy->filesystem.read_only.count > 0, "filesystem.paths.readOnly",
		  "a path of this machine is not there; send the data by standard input" },
		{ policy->filesystem.read_write.count > 0, "filesystem.paths.readWrite",
		  "a path of this machine is not there; send the data by standard input" },
		{ policy_injects(policy), "network.allow.inject",
		  "a secret of this machine is not sent away; leave the credential out" },
		{ policy->network.publish.count > 0, "network.publish",
		  "ports would be opened on that machine, not on this one; leave them out" },
		{ policy->network.mode == POLICY_NETWORK_LEARN, "network.mode",
		  "what \"learn\" finds is not sent back; learn the list on this machine" },
		{ policy->environment.mode == POLICY_ENVIRONMENT_HOST, "environment.mode",
		  "variables of this machine are sent only by name; name them in environment.names" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(sources); i++)
		if (sources[i].asked)
			return refuse(remote, sources[i].field, sources[i].why, err);
	if (remote->e2b && policy->limits.wall_time_us == POLICY_UNLIMITED)
		return refuse(remote, "limits.wallTime",
			      "a sandbox of the kind e2b needs an end; set a time limit", err);
	return 0;
}

/* ---- the kind e2b ---- */

/* The value of a variable in place of a member. NULL with *err. */
static const char *variable(const struct backend_remote *remote, const char *member, const char *name,
			    size_t most, struct warder_error *err)
{
	const char *value = getenv(name);
	char label[BACKEND_REMOTE_LABEL];

	backend_remote_label(remote, label);
	if (!value || !value[0]) {
		error_set(err, WARDER_ERROR_INVALID_REQUEST, "backend",
			  "%s: its entry has no \"%s\", and the variable %s is not set; give one of them",
			  label, member, name);
		return NULL;
	}
	if (strlen(value) <= most)
		return value;
	error_set(err, WARDER_ERROR_INVALID_REQUEST, "backend", "%s: the variable %s has more than %zu bytes",
		  label, name, most);
	return NULL;
}

static int complete_url(struct backend_remote *remote, struct warder_error *err)
{
	const char *value = variable(remote, "url", BACKEND_REMOTE_URL, sizeof(remote->url) - 1, err);

	if (!value)
		return -1;
	if (remote_check_url(value, remote->insecure && strncmp(value, "http://", 7) == 0, err) < 0)
		return error_context(err, "the variable " BACKEND_REMOTE_URL);
	memcpy(remote->url, value, strlen(value) + 1);
	return 0;
}

int backend_remote_complete(struct backend_remote *remote, struct warder_error *err)
{
	const char *value;

	if (!remote->e2b)
		return 0;
	if (!remote->url[0] && complete_url(remote, err) < 0)
		return -1;
	if (!remote->template[0]) {
		value =
		    variable(remote, "template", BACKEND_REMOTE_TEMPLATE, sizeof(remote->template) - 1, err);
		if (!value)
			return -1;
		memcpy(remote->template, value, strlen(value) + 1);
	}
	return remote->token_file[0] ||
		       variable(remote, "tokenFile", BACKEND_REMOTE_KEY, REMOTE_TOKEN_MAX - 1, err)
		   ? 0
		   : -1;
}

int backend_remote_check_kind(const struct backend_remote *remote, const char *what, struct warder_error *err)
{
	char label[BACKEND_REMOTE_LABEL];

	if (!remote->e2b)
		return 0;
	return error_set(
	    err, WARDER_ERROR_UNSUPPORTED_POLICY, "backend",
	    "%s is a service of the kind e2b, on which Warder runs programs and sessions; %s needs a host "
	    "of the kind warder",
	    backend_remote_label(remote, label), what);
}

void backend_remote_promised(const struct backend_remote *remote, struct policy_capabilities *ret)
{
	static const char *const programs[] = { "command", NULL };
	char label[BACKEND_REMOTE_LABEL];

	*ret = (struct policy_capabilities){ .isolation = POLICY_ISOLATION_PROVIDER_HOSTED,
					     .languages = programs };
	snprintf(ret->backend, sizeof(ret->backend), "%s", backend_remote_label(remote, label));
	for (enum policy_control control = 0; control < POLICY_CONTROL_COUNT; control++)
		policy_capability_refused(ret, control,
					  "%s: the protocol of the kind e2b does not promise it", label);
	policy_capability_enforced(ret, POLICY_CONTROL_WALL_TIME,
				   "the service's time limit, and the end of the sandbox");
}
