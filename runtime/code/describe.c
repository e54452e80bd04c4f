/*
 * describe: each fact comes from where a run takes it: the table, the operator's settings, capabilities() and check() of the backend,
 * the languages of the policy's view. So the description is true of a run.
 */
#include "runtime/code/describe.h"
#include "runtime/code/steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "runtime/code/code.h"
#include "runtime/library/library.h"
#include "runtime/library/preparation.h"

int describe_open(const struct policy *policy, const char *backends, const char *cgroup_parent,
		  struct describe *ret, struct warder_error *err)
{
	const struct jail_probe_options probe = { true, cgroup_parent, true };

	*ret = (struct describe){ .policy = policy };
	if (policy_validate(policy, err) != 0 || preparation_settings(backends, &ret->settings, err) != 0 ||
	    languages_load(code_languages_path(NULL), &ret->languages, err) != 0)
		return -1;
	jail_probe(&probe, &ret->host);
	return 0;
}

void describe_close(struct describe *describe)
{
	languages_free(describe->languages);
	jail_host_done(&describe->host);
}

/* ---- one of them ---- */

static void add_language(const struct describe *describe, const char *name, struct description *ret)
{
	for (size_t i = 0; i < ret->language_count; i++)
		if (strcmp(ret->languages[i], name) == 0)
			return;
	if (describe->in_session && !code_steps_can(describe->policy, describe->languages, name))
		return;
	if (ret->language_count < DESCRIBE_LANGUAGES_MAX && policy_allows_language(describe->policy, name))
		ret->languages[ret->language_count++] = name;
}

/* Those whose programs the view has; a backend that runs but certain ones has said so. */
static void find_languages(const struct describe *describe, struct description *ret)
{
	const char *const *own = ret->capabilities.languages;
	const struct language *row;

	for (; ret->backend->runs != BACKEND_RUNS_ANYTHING && own && *own; own++)
		add_language(describe, *own, ret);
	for (size_t i = 0;
	     ret->backend->runs == BACKEND_RUNS_ANYTHING && (row = languages_at(describe->languages, i));
	     i++) {
		char *programs[LANGUAGE_STAGES] = { NULL };
		const struct language *found;
		struct warder_error ignored;

		if (language_resolve(describe->languages, row->name, describe->policy, &found, programs,
				     &ignored) == 0)
			add_language(describe, row->name, ret);
		for (int stage = 0; stage < LANGUAGE_STAGES; stage++)
			free(programs[stage]);
	}
}

static void find_state(const struct describe *describe, struct description *ret)
{
	const struct backend *backend = ret->backend;
	struct warder_error err = { 0 };

	if (backend_check_enabled(backend, &describe->settings, &err) != 0)
		ret->state = DESCRIBE_OFF;
	else if (backend->runs != BACKEND_RUNS_NOTHING &&
		 backend->check(backend, &describe->host, describe->policy, &err) != 0)
		ret->state = DESCRIBE_UNAVAILABLE;
	snprintf(ret->why, sizeof(ret->why), "%s", err.text);
}

void describe_backend(const struct describe *describe, const struct backend *backend, struct description *ret)
{
	const struct backend *candidate;

	memset(ret, 0, sizeof(*ret));
	ret->backend = backend;
	backend->capabilities(backend, &describe->host, describe->policy, &ret->capabilities);
	find_state(describe, ret);
	find_languages(describe, ret);
	for (size_t i = 0; (candidate = backend_candidate(&describe->settings, i)); i++)
		if (candidate == backend)
			ret->place = i + 1;
}

/* ---- in words ---- */

const char *describe_state_name(enum describe_state state)
{
	static const char *const names[] = {
		[DESCRIBE_AVAILABLE] = "available",
		[DESCRIBE_OFF] = "off",
		[DESCRIBE_UNAVAILABLE] = "unavailable",
	};

	return names[state];
}

const char *describe_runs(const struct backend *backend)
{
	static const char *const texts[] = {
		[BACKEND_RUNS_ANYTHING] = "programs, and code in a language",
		[BACKEND_RUNS_MODULES] = "modules of WebAssembly",
		[BACKEND_RUNS_NOTHING] = "nothing on this host",
	};

	return texts[backend->runs];
}

static void write_capabilities(const struct policy_capabilities *capabilities, struct json_writer *w)
{
	json_key(w, "controls");
	json_begin_object(w);
	for (int control = 0; control < POLICY_CONTROL_COUNT; control++) {
		const struct policy_capability *row = &capabilities->controls[control];

		json_key(w, policy_control_name((enum policy_control)control));
		json_begin_object(w);
		json_key_bool(w, "enforced", row->enforced);
		json_key_string(w, row->enforced ? "mechanism" : "reason",
				row->enforced ? row->mechanism : row->reason);
		json_end_object(w);
	}
	json_end_object(w);
}

/* ---- what an agent framework asks of an executor ---- */

const char *describe_ability_name(enum describe_ability ability)
{
	static const char *const names[] = {
		[DESCRIBE_STRUCTURED_OUTPUT] = "structuredOutput",
		[DESCRIBE_PROCESS_EXECUTION] = "processExecution",
		[DESCRIBE_PERSISTENT_WORKSPACE] = "persistentWorkspace",
		[DESCRIBE_INTERACTIVE_SESSIONS] = "interactiveSessions",
		[DESCRIBE_STATEFUL] = "stateful",
		[DESCRIBE_LONG_RUNNING] = "longRunning",
		[DESCRIBE_STREAMING] = "streaming",
		[DESCRIBE_READ_ONLY_MOUNT] = "readOnlyMount",
		[DESCRIBE_MAX_DISK_BYTES] = "maxDiskBytes",
	};

	return names[ability];
}

bool describe_has_ability(const struct backend *backend, const struct policy_capabilities *capabilities,
			  enum describe_ability ability)
{
	const struct policy_capability *controls = capabilities->controls;

	switch (ability) {
	case DESCRIBE_PROCESS_EXECUTION:
		return backend->runs == BACKEND_RUNS_ANYTHING;
	case DESCRIBE_PERSISTENT_WORKSPACE:
	case DESCRIBE_STATEFUL:     /* contexts are executions of sessions */
	case DESCRIBE_LONG_RUNNING: /* so are detached runs */
		return backend->sessions != NULL;
	case DESCRIBE_INTERACTIVE_SESSIONS:
		return backend->sessions && controls[POLICY_CONTROL_TERMINALS].enforced;
	case DESCRIBE_READ_ONLY_MOUNT:
		return controls[POLICY_CONTROL_WORKSPACE_READ_ONLY].enforced;
	case DESCRIBE_MAX_DISK_BYTES:
		return controls[POLICY_CONTROL_DISK_TMP].enforced;
	case DESCRIBE_STRUCTURED_OUTPUT: /* descriptor 3 */
	case DESCRIBE_STREAMING:         /* of output, as it is written */
	case DESCRIBE_ABILITY_COUNT:
		break;
	}
	return backend->runs != BACKEND_RUNS_NOTHING;
}

void describe_write_abilities(const struct backend *backend, const struct policy_capabilities *capabilities,
			      bool starts, struct json_writer *w)
{
	json_key(w, "abilities");
	json_begin_object(w);
	for (int i = 0; i < DESCRIBE_ABILITY_COUNT; i++)
		json_key_bool(w, describe_ability_name((enum describe_ability)i),
			      starts &&
				  describe_has_ability(backend, capabilities, (enum describe_ability)i));
	json_end_object(w);
}

/* ---- as JSON ---- */

void describe_write(const struct description *description, struct json_writer *w)
{
	const struct backend *backend = description->backend;

	json_begin_object(w);
	json_key_string(w, "name", backend->name);
	json_key_string(w, "summary", backend->summary);
	json_key_string(w, "description", backend->describe);
	json_key_string(w, "isolation", policy_isolation_name(backend->isolation));
	json_key_string(w, "runs", describe_runs(backend));
	json_key(w, "languages");
	json_begin_array(w);
	for (size_t i = 0; i < description->language_count; i++)
		json_string(w, description->languages[i]);
	json_end_array(w);
	json_key_string(w, "state", describe_state_name(description->state));
	json_key_string(w, "why", description->why[0] ? description->why : NULL);
	json_key(w, "autoPlace");
	if (description->place)
		json_uint(w, description->place);
	else
		json_null(w);
	json_key_bool(w, "declares", backend->declare != NULL);
	describe_write_abilities(backend, &description->capabilities,
				 description->state == DESCRIBE_AVAILABLE, w);
	write_capabilities(&description->capabilities, w);
	json_end_object(w);
}

/* ---- for a model ---- */

/* What is worth a model's attention, where the backend enforces it. */
static const struct {
	enum policy_control control;
	const char *text; /* with the value */
	const char *one;  /* if the value is 1; NULL: the same */
} limits[] = {
	{ POLICY_CONTROL_WALL_TIME, "%s of time", NULL },
	{ POLICY_CONTROL_CPU_TIME, "%s of CPU time", NULL },
	{ POLICY_CONTROL_MEMORY, "%s of memory", NULL },
	{ POLICY_CONTROL_CPUS, "%s CPUs", "%s CPU" },
	{ POLICY_CONTROL_PIDS, "%s processes and threads", "%s process or thread" },
	{ POLICY_CONTROL_TMP, "%s in /tmp", NULL },
	{ POLICY_CONTROL_FILE_SIZE, "%s for one file", NULL },
	{ POLICY_CONTROL_CODE, "%s of code", NULL },
	{ POLICY_CONTROL_STDOUT, "%s of standard output", NULL },
	{ POLICY_CONTROL_NETWORK_NONE, "no network", NULL },
	{ POLICY_CONTROL_NETWORK_LOOPBACK, "no network but a loopback interface", NULL },
	{ POLICY_CONTROL_WORKSPACE_NONE, "no workspace", NULL },
	{ POLICY_CONTROL_WORKSPACE_READ_ONLY, "/workspace for reading only", NULL },
	{ POLICY_CONTROL_WORKSPACE_OVERLAY, "/workspace, where changes are private to the run", NULL },
	{ POLICY_CONTROL_WORKSPACE_READ_WRITE, "/workspace for reading and writing", NULL },
	{ POLICY_CONTROL_NO_SPAWN, "no new processes", NULL },
};

static void add_limits(const struct describe *describe, const struct description *description, FILE *to)
{
	bool needed[POLICY_CONTROL_COUNT];
	const char *before = " Limits: ";

	policy_needed_controls(describe->policy, needed);
	for (size_t i = 0; i < ARRAY_LENGTH(limits); i++) {
		const char *text = limits[i].text;
		char value[96];
		const char *gap;

		if (limits[i].control == POLICY_CONTROL_PIDS &&
		    description->backend->runs == BACKEND_RUNS_MODULES)
			continue; /* the engine's */
		if (!needed[limits[i].control] ||
		    !description->capabilities.controls[limits[i].control].enforced)
			continue;
		policy_control_value(describe->policy, limits[i].control, value, sizeof(value));
		if (limits[i].one && strcmp(value, "1") == 0)
			text = limits[i].one;
		gap = strstr(text, "%s");
		fprintf(to, "%s%s%s", before, gap ? value : "", gap ? gap + 2 : text);
		before = ", ";
	}
	if (*before == ',')
		fputc('.', to);
}

/* Where the paths are seen; where they lie on the host is nobody's business. */
static void add_paths(const char *before, const struct policy_strings *paths, FILE *to)
{
	for (size_t i = 0; i < paths->count; i++)
		fprintf(to, "%s%s", i ? ", " : before, policy_path_target(paths->items[i]));
	if (paths->count)
		fputc('.', to);
}

/* The names and blocks with their ports, each name of a list by itself. */
static void add_reachable(const struct policy *policy, FILE *to)
{
	const struct policy_endpoints *allow = &policy->network.allow;
	const char *before = " Reachable: ";

	for (size_t row = 0; row < allow->count; row++)
		for (size_t i = 0; i < policy_rule_count(&allow->items[row]); i++, before = ", ") {
			struct policy_rule rule = policy_rule_at(&allow->items[row], i);

			fprintf(to, "%s%s", before, rule.host ? rule.host : rule.cidr);
			for (size_t port = 0; port < rule.port_count; port++)
				fprintf(to, "%s%u",
					port                  ? ", "
					: rule.port_count > 1 ? " (ports "
							      : " (port ",
					(unsigned)rule.ports[port]);
			fputs(rule.port_count ? ")" : "", to);
		}
	if (allow->count)
		fputc('.', to);
}

/* What was granted: a backend that runs something here has all of it, or refuses the policy. */
static void add_grants(const struct describe *describe, const struct description *description, FILE *to)
{
	const struct policy *policy = describe->policy;
	const char *before = " Variables: ";

	if (description->backend->runs == BACKEND_RUNS_NOTHING)
		return;
	if (policy->filesystem.view == POLICY_VIEW_IMAGE)
		fprintf(to, " The root is the image %s.", policy->filesystem.view_source);
	add_paths(" For reading: ", &policy->filesystem.read_only, to);
	add_paths(" For reading and writing: ", &policy->filesystem.read_write, to);
	for (size_t i = 0; i < policy->environment.names.count; i++, before = ", ")
		fprintf(to, "%s%s", before, policy->environment.names.items[i]);
	for (size_t i = 0; i < policy->environment.set_count; i++, before = ", ")
		fprintf(to, "%s%s", before, policy->environment.set[i].name);
	if (*before == ',')
		fputc('.', to);
	add_reachable(policy, to);
	if (description->backend->runs == BACKEND_RUNS_ANYTHING && !describe->in_session)
		fputs(" Code reads its JSON input from the file that $WARDER_INPUT names (descriptor 4), and "
		      "writes a JSON result to the one that $WARDER_RESULT names (descriptor 3).",
		      to);
}

char *describe_for_model(const struct describe *describe, const struct description *description)
{
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);
	bool failed;

	if (!to)
		return NULL;
	fputs(description->backend->describe, to);
	for (size_t i = 0; i < description->language_count; i++)
		fprintf(to, "%s%s", i ? ", " : " Languages: ", description->languages[i]);
	if (description->language_count)
		fputc('.', to);
	add_limits(describe, description, to);
	add_grants(describe, description, to);
	failed = ferror(to) != 0;
	if (fclose(to) == 0 && !failed)
		return text;
	free(text);
	return NULL;
}

/* ---- the public functions ---- */

const char *warder_backend_name(size_t i)
{
	const struct backend *backend = backend_at(i);

	return backend ? backend->name : NULL;
}

/* Either form of one backend. */
static int describe_one(const char *name, const struct warder_policy *policy,
			const struct warder_options *options, bool for_model, char **ret,
			struct warder_error *err)
{
	const struct backend *backend = NULL;
	struct warder_options known = { 0 };
	struct description description;
	struct describe describe;
	struct json_writer w = { 0 };

	if (!name || !policy || !ret)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "the argument `%s` is NULL",
				 !name     ? "name"
				 : !policy ? "policy"
					   : "ret");
	if ((options &&
	     library_take(&known, sizeof(known), options, options->size, "warder_options", err) != 0) ||
	    !(backend = backend_find(name, err)) ||
	    describe_open(&policy->policy, known.backends, known.cgroup_parent, &describe, err) != 0)
		return -1;
	describe_backend(&describe, backend, &description);
	if (!for_model)
		describe_write(&description, &w);
	*ret = for_model ? describe_for_model(&describe, &description) : json_take(&w);
	describe_close(&describe);
	return *ret ? 0 : error_no_memory(err, NULL);
}

int warder_backend_json(const char *name, const struct warder_policy *policy,
			const struct warder_options *options, char **ret, struct warder_error *err)
{
	return describe_one(name, policy, options, false, ret, err);
}

int warder_backend_for_model(const char *name, const struct warder_policy *policy,
			     const struct warder_options *options, char **ret, struct warder_error *err)
{
	return describe_one(name, policy, options, true, ret, err);
}
