#include "base/array.h"
#include "runtime/session/session.h"

#include <stdlib.h>
#include <string.h>

/* ---- writing ---- */

void session_spec_write(const struct session_spec *spec, struct json_writer *w)
{
	json_key_string(w, "name", spec->name);
	json_key(w, "policy");
	policy_write(&spec->policy, w);
	if (spec->has_ceiling) {
		json_key(w, "ceiling");
		policy_write(&spec->ceiling, w);
	}
	json_key(w, "setup");
	json_begin_array(w);
	for (size_t i = 0; i < spec->setup_count; i++)
		json_string(w, spec->setup[i]);
	json_end_array(w);
	json_key_uint(w, "lifetimeUs", spec->lifetime_us ? spec->lifetime_us : SESSION_LIFETIME_US);
	json_key_uint(w, "idleTimeoutUs", spec->idle_us ? spec->idle_us : SESSION_IDLE_US);
	if (spec->cgroup_parent)
		json_key_string(w, "cgroupParent", spec->cgroup_parent);
	if (spec->backend)
		json_key_string(w, "backend", spec->backend);
	if (spec->backends)
		json_key_string(w, "backends", spec->backends);
	if (spec->copy_of) {
		json_key_string(w, "copyOf", spec->copy_of);
		json_key_string(w, "copyOfId", spec->copy_of_id);
	}
}

/* ---- reading ---- */

static int wrong(const char *key, const char *what, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, key, "the session's member \"%.40s\" %s", key,
			 what);
}

static int take_text(const struct json_value *value, void *to, struct warder_error *err)
{
	char **text = to;

	if (value->type != JSON_STRING)
		return wrong(value->key, "is not a string", err);
	*text = strdup(value->string);
	return *text ? 0 : error_no_memory(err, NULL);
}

static int take_time(const struct json_value *value, void *to, struct warder_error *err)
{
	if (value->type != JSON_NUMBER || !value->is_uint || value->uint == 0 ||
	    value->uint > SESSION_TIME_MAX_US)
		return wrong(value->key, "is not a number of microseconds from 1 to 2592000000000 (30 days)",
			     err);
	*(uint64_t *)to = value->uint;
	return 0;
}

static int take_policy(const struct json_value *value, void *to, struct warder_error *err)
{
	struct json_writer w = { 0 };
	char *text;
	int ret;

	json_copy(&w, value);
	text = json_take(&w);
	if (!text)
		return error_no_memory(err, NULL);
	ret = policy_decode(text, strlen(text), value->key, to, err);
	free(text);
	return ret;
}

static int take_setup(const struct json_value *value, struct session_spec *spec, struct warder_error *err)
{
	size_t count = 0;

	if (value->type != JSON_ARRAY)
		return wrong(value->key, "is not an array", err);
	for (const struct json_value *item = value->child; item; item = item->next)
		if (item->type != JSON_STRING || ++count > SESSION_SETUP_MAX)
			return wrong(value->key, "is not a list of up to 64 commands", err);
	spec->setup = calloc(count + 1, sizeof(*spec->setup));
	if (!spec->setup)
		return error_no_memory(err, NULL);
	for (const struct json_value *item = value->child; item; item = item->next) {
		spec->setup[spec->setup_count] = strdup(item->string);
		if (!spec->setup[spec->setup_count])
			return error_no_memory(err, NULL);
		spec->setup_count++;
	}
	return 0;
}

static const struct member {
	const char *key;
	int (*take)(const struct json_value *value, void *to, struct warder_error *err);
	size_t at;
} members[] = {
	{ "name", take_text, offsetof(struct session_spec, name) },
	{ "policy", take_policy, offsetof(struct session_spec, policy) },
	{ "ceiling", take_policy, offsetof(struct session_spec, ceiling) },
	{ "lifetimeUs", take_time, offsetof(struct session_spec, lifetime_us) },
	{ "idleTimeoutUs", take_time, offsetof(struct session_spec, idle_us) },
	{ "cgroupParent", take_text, offsetof(struct session_spec, cgroup_parent) },
	{ "backend", take_text, offsetof(struct session_spec, backend) },
	{ "backends", take_text, offsetof(struct session_spec, backends) },
	{ "copyOf", take_text, offsetof(struct session_spec, copy_of) },
	{ "copyOfId", take_text, offsetof(struct session_spec, copy_of_id) },
};

static int take_member(const struct json_value *value, bool more, struct session_spec *spec,
		       struct warder_error *err)
{
	if (strcmp(value->key, "setup") == 0)
		return take_setup(value, spec, err);
	if (more && strcmp(value->key, "id") == 0)
		return take_text(value, &spec->id, err);
	spec->has_ceiling |= strcmp(value->key, "ceiling") == 0;
	for (size_t i = 0; i < ARRAY_LENGTH(members); i++)
		if (strcmp(value->key, members[i].key) == 0)
			return members[i].take(value, (char *)spec + members[i].at, err);
	return more ? 0 : wrong(value->key, "is not known", err);
}

static int take_members(const struct json_value *document, bool more, struct session_spec *spec,
			struct warder_error *err)
{
	if (document->type != JSON_OBJECT || !json_member(document, "policy"))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "policy",
				 "a session is an object with a policy");
	for (const struct json_value *value = document->child; value; value = value->next)
		if (take_member(value, more, spec, err) < 0)
			return -1;
	if (!spec->lifetime_us || !spec->idle_us)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "lifetimeUs",
				 "a session has a lifetime and an idle time");
	if (!spec->copy_of != !spec->copy_of_id)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "copyOf",
				 "a copy names its source and the id of its source");
	return session_check_name(spec->name, err);
}

int session_spec_parse(const char *json, size_t len, bool more, struct session_spec *ret,
		       struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = SESSION_BYTES_MAX, .max_values = 20000 };
	struct json_value *document = NULL;
	int taken;

	memset(ret, 0, sizeof(*ret));
	if (json_parse(json, len, "session", &limits, &document, err) < 0)
		return -1;
	taken = take_members(document, more, ret, err);
	json_free(document);
	if (taken < 0)
		session_spec_done(ret);
	return taken;
}

void session_spec_done(struct session_spec *spec)
{
	while (spec->setup_count)
		free(spec->setup[--spec->setup_count]);
	free(spec->setup);
	policy_done(&spec->policy);
	policy_done(&spec->ceiling);
	free(spec->name);
	free(spec->cgroup_parent);
	free(spec->backend);
	free(spec->backends);
	free(spec->copy_of);
	free(spec->copy_of_id);
	free(spec->id);
	memset(spec, 0, sizeof(*spec));
}

/* ---- comparing ---- */

static bool same_policy(const struct policy *a, const struct policy *b)
{
	char *one = policy_encode(a);
	char *other = policy_encode(b);
	const bool same = one && other && strcmp(one, other) == 0;

	free(one);
	free(other);
	return same;
}

static bool same_setup(const struct session_spec *a, const struct session_spec *b)
{
	if (a->setup_count != b->setup_count)
		return false;
	for (size_t i = 0; i < a->setup_count; i++)
		if (strcmp(a->setup[i], b->setup[i]) != 0)
			return false;
	return true;
}

static bool same_text(const char *wanted, const char *found)
{
	return !wanted || (found && strcmp(wanted, found) == 0);
}

bool session_is_backend(const char *wanted)
{
	return !wanted || strcmp(wanted, SESSION_BACKEND) == 0 || strcmp(wanted, "auto") == 0;
}

static const char *differing_option(const struct session_spec *wanted, const struct session_spec *found)
{
	if (wanted->lifetime_us && wanted->lifetime_us != found->lifetime_us)
		return "lifetime";
	if (wanted->idle_us && wanted->idle_us != found->idle_us)
		return "idle-timeout";
	if (!same_text(wanted->cgroup_parent, found->cgroup_parent))
		return "cgroup-parent";
	if (!session_is_backend(wanted->backend))
		return "backend";
	return same_text(wanted->backends, found->backends) ? NULL : "backends";
}

const char *session_spec_difference(const struct session_spec *wanted, const struct session_spec *found)
{
	if (strcmp(wanted->name, found->name) != 0)
		return "name";
	if (!same_setup(wanted, found) || !same_policy(&wanted->policy, &found->policy))
		return "policy or set-up";
	return differing_option(wanted, found);
}

/* What is made once for all executions has to be the same: compared is the rest, as text, after the moving parts were made equal. The
 * copies are flat, and nothing of them is freed. */
static bool same_place(const struct policy *session, const struct policy *asked)
{
	struct policy flat = *asked;
	const uint64_t disk = asked->limits.disk_bytes;

	flat.limits = session->limits;
	flat.limits.disk_bytes = disk;
	flat.environment = session->environment;
	flat.output = session->output;
	flat.processes.spawn = session->processes.spawn;
	flat.syscalls = session->syscalls;
	flat.devices = session->devices;
	flat.working_directory = session->working_directory;
	flat.languages = session->languages;
	memcpy(flat.preferred, session->preferred, sizeof(flat.preferred));
	return same_policy(session, &flat);
}

int session_check_narrower(const struct policy *session, const struct policy *asked, struct warder_error *err)
{
	struct policy flat = *asked;

	if (!same_place(session, asked))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "policy",
				 "file system, network, identity and disk are the session's: an execution "
				 "cannot have others; start another session for it");
	/* Variables that are set are the caller's own words, as in any run. */
	flat.environment.set_count = 0;
	if (policy_check_granted(session, &flat, "the session", err) < 0)
		return error_context(err, "more than the session has");
	for (int i = 0; i < POLICY_FIELD_COUNT; i++)
		if (asked->preferred[i] && !session->preferred[i])
			return error_set(err, WARDER_ERROR_REJECTED, policy_field_path((enum policy_field)i),
					 "the session requires it");
	return 0;
}
