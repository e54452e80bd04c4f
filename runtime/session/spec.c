#include "base/array.h"
#include "runtime/session/session.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	enum warder_session_capability bit;
	const char *what; /* is refused without it */
} capabilities[] = {
	{ "shell", WARDER_SESSION_SHELL, "programs, code and contexts" },
	{ "filesystem", WARDER_SESSION_FILESYSTEM, "its files" },
};

/* ---- writing ---- */

static void write_texts(const char *key, char *const *texts, size_t count, struct json_writer *w)
{
	json_key(w, key);
	json_begin_array(w);
	for (size_t i = 0; i < count; i++)
		json_string(w, texts[i]);
	json_end_array(w);
}

void session_spec_write_origin(const struct session_spec *spec, struct json_writer *w)
{
	json_key_string(w, "store", spec->store);
	write_texts("workspaces", spec->workspaces, spec->workspace_count, w);
	json_key_bool(w, "snapshotOnStop", spec->snapshot_on_stop);
}

void session_spec_write(const struct session_spec *spec, struct json_writer *w)
{
	json_key_string(w, "name", spec->name);
	json_key(w, "policy");
	policy_write(&spec->policy, w);
	if (spec->has_ceiling) {
		json_key(w, "ceiling");
		policy_write(&spec->ceiling, w);
	}
	write_texts("setup", spec->setup, spec->setup_count, w);
	json_key_uint(w, "lifetimeUs", spec->lifetime_us ? spec->lifetime_us : SESSION_LIFETIME_US);
	json_key_uint(w, "idleTimeoutUs", spec->idle_us ? spec->idle_us : SESSION_IDLE_US);
	if (spec->cgroup_parent)
		json_key_string(w, "cgroupParent", spec->cgroup_parent);
	if (spec->backend)
		json_key_string(w, "backend", spec->backend);
	if (spec->backends)
		json_key_string(w, "backends", spec->backends);
	json_key(w, "capabilities");
	json_begin_array(w);
	for (size_t i = 0; i < ARRAY_LENGTH(capabilities); i++)
		if (!spec->capabilities || spec->capabilities & capabilities[i].bit)
			json_string(w, capabilities[i].name);
	json_end_array(w);
	if (spec->store)
		session_spec_write_origin(spec, w);
	if (spec->copy_of) {
		json_key_string(w, "copyOf", spec->copy_of);
		json_key_string(w, "copyOfId", spec->copy_of_id);
	}
	if (spec->files_from)
		json_key_string(w, "filesFrom", spec->files_from);
	if (spec->parks)
		json_key_bool(w, "parks", true);
	if (spec->parks_agent)
		json_key_bool(w, "parksAgent", true);
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
	char *text;
	int ret;

	text = json_text(value);
	if (!text)
		return error_no_memory(err, NULL);
	ret = policy_decode(text, strlen(text), value->key, to, err);
	free(text);
	return ret;
}

static int take_texts(const struct json_value *value, char ***ret, size_t *ret_count,
		      struct warder_error *err)
{
	size_t count = 0;

	if (value->type != JSON_ARRAY || *ret)
		return wrong(value->key, "is not an array", err);
	for (const struct json_value *item = value->child; item; item = item->next)
		if (item->type != JSON_STRING || ++count > SESSION_SETUP_MAX)
			return wrong(value->key, "is not a list of up to 64 texts", err);
	*ret = calloc(count + 1, sizeof(**ret));
	if (!*ret)
		return error_no_memory(err, NULL);
	for (const struct json_value *item = value->child; item; item = item->next) {
		(*ret)[*ret_count] = strdup(item->string);
		if (!(*ret)[*ret_count])
			return error_no_memory(err, NULL);
		++*ret_count;
	}
	return 0;
}

static const char no_capabilities[] = "is not a list of shell, filesystem or both";

static unsigned int capability_of(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_LENGTH(capabilities); i++)
		if (strlen(capabilities[i].name) == len && strncmp(capabilities[i].name, name, len) == 0)
			return capabilities[i].bit;
	return 0;
}

static int take_capabilities(const struct json_value *value, void *to, struct warder_error *err)
{
	unsigned int *bits = to;

	for (const struct json_value *item = value->child; item; item = item->next) {
		const unsigned int bit =
		    item->type == JSON_STRING ? capability_of(item->string, strlen(item->string)) : 0;

		if (!bit)
			return wrong(value->key, no_capabilities, err);
		*bits |= bit;
	}
	return value->type == JSON_ARRAY && *bits ? 0 : wrong(value->key, no_capabilities, err);
}

static int take_truth(const struct json_value *value, void *to, struct warder_error *err)
{
	if (value->type != JSON_BOOL)
		return wrong(value->key, "is not true or false", err);
	*(bool *)to = value->boolean;
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
	{ "capabilities", take_capabilities, offsetof(struct session_spec, capabilities) },
	{ "store", take_text, offsetof(struct session_spec, store) },
	{ "snapshotOnStop", take_truth, offsetof(struct session_spec, snapshot_on_stop) },
	{ "copyOf", take_text, offsetof(struct session_spec, copy_of) },
	{ "copyOfId", take_text, offsetof(struct session_spec, copy_of_id) },
	{ "filesFrom", take_text, offsetof(struct session_spec, files_from) },
	{ "parks", take_truth, offsetof(struct session_spec, parks) },
	{ "parksAgent", take_truth, offsetof(struct session_spec, parks_agent) },
};

static int take_member(const struct json_value *value, bool more, struct session_spec *spec,
		       struct warder_error *err)
{
	if (strcmp(value->key, "setup") == 0)
		return take_texts(value, &spec->setup, &spec->setup_count, err);
	if (strcmp(value->key, "workspaces") == 0)
		return take_texts(value, &spec->workspaces, &spec->workspace_count, err);
	if (more && strcmp(value->key, "id") == 0)
		return take_text(value, &spec->id, err);
	if (more && strcmp(value->key, "rulesReplaced") == 0 && value->is_uint)
		spec->rules = value->uint;
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

static void free_texts(char **texts, size_t count)
{
	while (count)
		free(texts[--count]);
	free(texts);
}

void session_spec_done(struct session_spec *spec)
{
	free_texts(spec->setup, spec->setup_count);
	free_texts(spec->workspaces, spec->workspace_count);
	policy_done(&spec->policy);
	policy_done(&spec->ceiling);
	free(spec->name);
	free(spec->cgroup_parent);
	free(spec->backend);
	free(spec->backends);
	free(spec->store);
	free(spec->copy_of);
	free(spec->copy_of_id);
	free(spec->files_from);
	free(spec->id);
	memset(spec, 0, sizeof(*spec));
}

/* ---- capabilities ---- */

int session_check_capability(const struct session_spec *spec, enum warder_session_capability asked,
			     struct warder_error *err)
{
	for (size_t i = 0; i < ARRAY_LENGTH(capabilities); i++)
		if (spec->capabilities && asked == capabilities[i].bit &&
		    !(spec->capabilities & capabilities[i].bit))
			return error_set(err, WARDER_ERROR_REJECTED, "capabilities",
					 "session %.64s was started without the capability \"%s\", and so "
					 "refuses %s; start another session with it (--capabilities)",
					 spec->name, capabilities[i].name, capabilities[i].what);
	return 0;
}

int session_parse_capabilities(const char *text, unsigned int *ret, struct warder_error *err)
{
	*ret = 0;
	for (const char *at = text;; at += strcspn(at, ",") + 1) {
		const unsigned int bit = capability_of(at, strcspn(at, ","));

		if (!bit)
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--capabilities",
					 "the capabilities are \"shell\" and \"filesystem\", with a comma "
					 "between them for both");
		*ret |= bit;
		if (!at[strcspn(at, ",")])
			return 0;
	}
}

/* ---- comparing ---- */

int session_with_rules(const struct policy *session, const struct policy *other, struct policy *ret,
		       struct warder_error *err)
{
	struct policy flat = *session; /* nothing of it is freed */

	flat.network.mode = other->network.mode;
	flat.network.allow = other->network.allow;
	flat.network.deny = other->network.deny;
	return policy_copy(&flat, ret, err);
}

bool session_same_rules(const struct policy *a, const struct policy *b)
{
	struct policy flat = *a; /* the same */

	flat.network.mode = b->network.mode;
	flat.network.allow = b->network.allow;
	flat.network.deny = b->network.deny;
	return policy_equal(a, &flat);
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
	if (wanted->capabilities &&
	    wanted->capabilities != (found->capabilities ? found->capabilities : SESSION_CAPABILITIES))
		return "capabilities";
	if (wanted->snapshot_on_stop != found->snapshot_on_stop)
		return "snapshot-on-stop";
	if (!session_is_backend(wanted->backend))
		return "backend";
	return same_text(wanted->backends, found->backends) ? NULL : "backends";
}

const char *session_spec_difference(const struct session_spec *wanted, const struct session_spec *found)
{
	if (strcmp(wanted->name, found->name) != 0)
		return "name";
	if (!same_setup(wanted, found) || !policy_equal(&wanted->policy, &found->policy))
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
	flat.functions = session->functions;
	memcpy(flat.preferred, session->preferred, sizeof(flat.preferred));
	return policy_equal(session, &flat);
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
