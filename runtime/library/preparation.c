/*
 * preparation: the order in which a policy is judged.
 *
 * The ceiling is asked twice. First about the paths as they were written, because that is the answer a user
 * understands; then about the paths that will be mounted: a granted directory may hold a symbolic link that its
 * owner points wherever he likes, and the plan has followed it. The second question takes the paths out of the
 * finished plan, which is opened without following links again, so there is nothing to win by being quick.
 * The ceiling's own paths are never resolved: somebody who owns a component of one could swap it for a link to
 * the whole host. What is mounted is compared with the text, so a ceiling has to name canonical paths. Where one
 * is not, that is only looked at for the sake of the message and of what the operator keeps read-only.
 *
 * An execution in a session has the paths that the session mounted at its start: its plan has them from there, and they are what a
 * ceiling is held against.
 */
#include "runtime/library/preparation.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/path.h"

#define SHOWN 96
#define KEYS  ".keys"

/* Replace *path by what it resolves to; a path that does not exist stays as it is. */
static void resolve(char **path)
{
	char *real = *path ? realpath(*path, NULL) : NULL;

	if (!real)
		return;
	free(*path);
	*path = real;
}

static void empty(struct policy_strings *paths)
{
	while (paths->count)
		free(paths->items[--paths->count]);
}

static int replace(char **path, const char *source, struct warder_error *err)
{
	free(*path);
	*path = strdup(source);
	return *path ? 0 : error_no_memory(err, NULL);
}

/* The directory view's own canonical path: the source of an entry without the end that it has in common with the target. */
static int replace_view(struct policy *policy, const struct rootfs_entry *entry, struct warder_error *err)
{
	if (replace(&policy->filesystem.view_source, entry->source, err) != 0)
		return -1;
	policy->filesystem.view_source[strlen(entry->source) - strlen(entry->target)] = '\0';
	return 0;
}

/* As a row of the policy: the source alone where it is seen under its own path. */
static int add_row(struct policy *policy, const struct rootfs_entry *entry, struct warder_error *err)
{
	char row[2 * PATH_MAX];

	snprintf(row, sizeof(row), "%s:%s", entry->source, entry->target);
	if (strcmp(entry->source, entry->target) == 0)
		row[strlen(entry->source)] = '\0';
	return policy_set(
	    policy, entry->read_only ? "filesystem.paths.readOnly" : "filesystem.paths.readWrite", row, err);
}

/* What an entry of the plan mounts, as the policy would have had to ask for it. */
static int add_source(struct policy *policy, const struct rootfs_entry *entry, struct warder_error *err)
{
	if (entry->held || !entry->source)
		return 0;
	if (entry->field == POLICY_FIELD_WORKSPACE)
		return replace(&policy->filesystem.workspace_root, entry->source, err);
	if (entry->field == POLICY_FIELD_VIEW && policy->filesystem.view == POLICY_VIEW_DIRECTORY)
		return replace_view(policy, entry, err);
	return entry->field == POLICY_FIELD_PATHS ? add_row(policy, entry, err) : 0;
}

/* Where a path of the ceiling leads, if that is elsewhere. Heap; NULL: it is canonical, or not there. */
static char *leads_to(const char *granted)
{
	char *real = granted ? realpath(granted, NULL) : NULL;

	if (real && strcmp(real, granted) != 0)
		return real;
	free(real);
	return NULL;
}

static int name_other(const char *granted, const char *real, struct warder_error *err)
{
	char shown[SHOWN], target[SHOWN];

	json_quote(granted, shown, sizeof(shown));
	json_quote(real, target, sizeof(target));
	return error_context(err, "the ceiling's path %s leads to %s: name %s in the ceiling", shown, target,
			     target);
}

/* Say so if a path of the ceiling leads to where the wanted one lies. */
static bool explain(const char *granted, const char *wanted, struct warder_error *err)
{
	char *real = wanted ? leads_to(granted) : NULL;
	bool is_why = real && path_within(real, wanted);

	if (is_why)
		name_other(granted, real, err);
	free(real);
	return is_why;
}

static bool explain_lists(const struct policy_strings *granted, const struct policy_strings *wanted,
			  struct warder_error *err)
{
	char source[PATH_MAX];

	for (size_t i = 0; i < granted->count; i++) {
		for (size_t j = 0; j < wanted->count; j++) {
			if (policy_path_source(wanted->items[j], source) &&
			    explain(granted->items[i], source, err))
				return true;
		}
	}
	return false;
}

static int refuse_sources(const struct policy *ceiling, const struct policy *wanted, struct warder_error *err)
{
	const struct policy_strings *read_only = &ceiling->filesystem.read_only;
	const struct policy_strings *read_write = &ceiling->filesystem.read_write;

	if ((ceiling->filesystem.view == POLICY_VIEW_DIRECTORY &&
	     explain(ceiling->filesystem.view_source, wanted->filesystem.view_source, err)) ||
	    explain(ceiling->filesystem.workspace_root, wanted->filesystem.workspace_root, err) ||
	    explain_lists(read_only, &wanted->filesystem.read_only, err) ||
	    explain_lists(read_write, &wanted->filesystem.read_only, err) ||
	    explain_lists(read_write, &wanted->filesystem.read_write, err))
		return -1;
	return error_context(err, POLICY_BEHIND_LINK);
}

/* A path that the operator keeps read-only by the name of a link stays so: what is asked to be writable may neither
 * hold nor lie in the place that it leads to. */
static int check_kept(const struct policy *ceiling, const struct policy *wanted, struct warder_error *err)
{
	const struct policy_strings *kept = &ceiling->filesystem.read_only,
				    *writable = &wanted->filesystem.read_write;

	for (size_t i = 0; i < kept->count && writable->count; i++) {
		char *real = leads_to(kept->items[i]);
		char source[PATH_MAX];
		bool touched = false;

		for (size_t j = 0; real && j < writable->count; j++)
			touched |= !policy_path_source(writable->items[j], source) ||
				   path_within(real, source) || path_within(source, real);
		if (touched) {
			error_set(err, WARDER_ERROR_REJECTED, "filesystem.paths.readWrite",
				  "the operator grants it for reading only");
			name_other(kept->items[i], real, err);
		}
		free(real);
		if (touched)
			return -1;
	}
	return 0;
}

static int check_sources(const struct policy *ceiling, const struct policy *asked,
			 const struct jail_plan *plan, struct warder_error *err)
{
	owned_policy struct policy wanted = { 0 };

	if (policy_copy(asked, &wanted, err) != 0)
		return -1;
	if (!plan->joint && wanted.filesystem.view == POLICY_VIEW_DIRECTORY)
		resolve(&wanted.filesystem.view_source); /* for a view without anything to mount */
	empty(&wanted.filesystem.read_only);
	empty(&wanted.filesystem.read_write);
	for (size_t i = 0; i < plan->rootfs.count; i++) {
		const struct rootfs_entry *entry = &plan->rootfs.entries[i];

		if (entry->kind != ROOTFS_OVERLAY && add_source(&wanted, entry, err) != 0)
			return -1;
		if (entry->kind == ROOTFS_OVERLAY && entry->field == POLICY_FIELD_WORKSPACE &&
		    replace(&wanted.filesystem.workspace_root,
			    plan->rootfs.overlays[entry->overlay].layers[0].source, err) != 0)
			return -1;
	}
	if (policy_check_ceiling(ceiling, &wanted, err) != 0)
		return refuse_sources(ceiling, &wanted, err);
	return check_kept(ceiling, &wanted, err);
}

static int follow_rows(struct policy_strings *rows, struct warder_error *err)
{
	for (size_t i = 0; i < rows->count; i++) {
		const char *place = policy_path_explicit_target(rows->items[i]);
		char source[PATH_MAX], row[2 * PATH_MAX];
		char *real;

		if (!policy_path_source(rows->items[i], source) || !(real = realpath(source, NULL)))
			continue;
		snprintf(row, sizeof(row), "%s%s%s", real, place ? ":" : "", place ? place : "");
		free(real);
		if (replace(&rows->items[i], row, err) != 0)
			return -1;
	}
	return 0;
}

int preparation_follow(const struct policy *policy, struct policy *ret, struct warder_error *err)
{
	if (policy_copy(policy, ret, err) != 0)
		return -1;
	if (ret->filesystem.view == POLICY_VIEW_DIRECTORY)
		resolve(&ret->filesystem.view_source);
	resolve(&ret->filesystem.workspace_root);
	if (follow_rows(&ret->filesystem.read_only, err) == 0 &&
	    follow_rows(&ret->filesystem.read_write, err) == 0)
		return 0;
	policy_done(ret);
	return -1;
}

/* ---- the backend ---- */

const char *preparation_keys(const char *path, char ret[PATH_MAX])
{
	snprintf(ret, PATH_MAX, "%s" KEYS, path ? path : PREPARATION_BACKENDS);
	return ret;
}

/* The keys that were trusted stand beside the document, which names the hosts. */
static int take_keys(const char *from, struct backend_settings *settings, struct warder_error *err)
{
	char path[PATH_MAX];
	char *text = NULL;
	size_t len;
	int taken;

	if (access(preparation_keys(from, path), F_OK) < 0 && errno == ENOENT)
		return 0;
	if (file_read_regular(path, 65536, &text, &len, err) != 0)
		return error_context(err, "backends");
	taken = backend_remote_take_keys(text, len, path, settings, err);
	free(text);
	return taken;
}

int preparation_settings(const char *path, struct backend_settings *ret, struct warder_error *err)
{
	const char *from = path ? path : PREPARATION_BACKENDS;
	char *text = NULL;
	size_t len;
	int parsed;

	if (file_read(from, &text, &len, err) != 0)
		return !path && err->sys_errno == ENOENT ? 0 : error_context(err, "backends");
	parsed = backend_settings_parse(text, len, from, ret, err);
	free(text);
	return parsed == 0 && ret->remote_count ? take_keys(from, ret, err) : parsed;
}

static int match(const struct policy *policy, const struct preparation_options *options,
		 const struct backend *backend, struct preparation *ret, struct warder_error *err)
{
	static const struct policy_subject program = { "command", POLICY_PAYLOAD_PROGRAM };
	static const struct policy_subject module = { "wasm", POLICY_PAYLOAD_GUEST_MODULE };
	static const struct policy_subject code = { "python", POLICY_PAYLOAD_SOURCE };
	const struct policy_subject *subject = options->subject ? options->subject : &program;
	struct warder_error why = { 0 };
	int matched;

	ret->backend = backend;
	backend->capabilities(backend, ret->host, policy, &ret->capabilities);
	if (options->subject &&
	    backend->runs == BACKEND_RUNS_ANYTHING) { /* whoever names one has found its programs */
		ret->languages[0] = options->subject->language;
		ret->capabilities.languages = ret->languages;
	}
	if (options->any_subject && strcmp(options->backend ? options->backend : "", backend->name) == 0)
		subject = backend->runs == BACKEND_RUNS_MODULES   ? &module
			  : backend->runs == BACKEND_RUNS_NOTHING ? &code
								  : subject;
	matched = policy_match(policy, &ret->capabilities, subject, &ret->match, err);
	ret->matched = true;
	if (matched == 0)
		return backend->check(backend, ret->host, policy, err);
	/* Of a program that is not there, or not for this user, a list of every field is no answer. */
	if (backend->program && backend->check(backend, ret->host, policy, &why) < 0)
		*err = why;
	return matched;
}

/* What a host on another machine reports, against the policy. Without `remotes` its name is refused elsewhere. */
static int match_remote(const struct policy *policy, const struct preparation_options *options,
			const struct backend_remote *remote, struct preparation *ret, uint64_t *ret_load,
			struct warder_error *err)
{
	static const struct policy_subject program = { "command", POLICY_PAYLOAD_PROGRAM };
	const struct policy_subject *subject = options->subject ? options->subject : &program;

	ret->remote = *remote;
	ret->is_remote = true;
	ret->matched = false;
	ret->remote_row = *backend_remote_row(0);
	ret->remote_row.name = backend_remote_label(remote, ret->remote_label);
	ret->backend = &ret->remote_row;
	if (backend_remote_complete(&ret->remote, err) < 0 ||
	    backend_remote_check_policy(remote, policy, err) < 0 ||
	    backend_remote_capabilities(remote, &ret->capabilities, ret_load, err) < 0)
		return -1;
	ret->remote_row.isolation = ret->capabilities.isolation;
	ret->matched = true;
	if (options->subject &&
	    !remote->e2b) { /* whether the language is there, that host says when it gets the code */
		ret->languages[0] = subject->language;
		ret->capabilities.languages = ret->languages;
	}
	return policy_match(policy, &ret->capabilities, subject, &ret->match, err);
}

static void pass_over(struct preparation *ret, const char *why)
{
	size_t used = strlen(ret->passed_over);

	snprintf(ret->passed_over + used, sizeof(ret->passed_over) - used, "%s%s: %s", used ? "; " : "",
		 ret->backend->name, why);
}

/*
 * Hosts that stand side by side in the order are alike to the operator: the one that can enforce all of the policy and has the least load, the
 * first of several. *at is the place of the first of them, and then that of the last. 1: none can.
 */
static int choose_host(const struct policy *policy, const struct preparation_options *options,
		       const struct backend_settings *settings, size_t *at, struct preparation *ret,
		       struct warder_error *err)
{
	const struct backend_remote *best = NULL, *last = NULL;
	uint64_t best_load = 0;
	const struct backend *candidate;

	for (; (candidate = backend_candidate(settings, *at)) && backend_remote_of(settings, candidate);
	     (*at)++) {
		uint64_t load = 0;

		last = backend_remote_of(settings, candidate);
		if (match_remote(policy, options, last, ret, &load, err) < 0) {
			pass_over(ret, err->text);
		} else if (!best || load < best_load) {
			best = last;
			best_load = load;
		}
	}
	(*at)--;
	if (!best || best == last)
		return best ? 0 : 1;
	if (match_remote(policy, options, best, ret, &best_load, err) == 0)
		return 0;
	pass_over(ret, err->text);
	return 1;
}

/* The first in the operator's order that can enforce all of it: what is preferred is no reason to pass one over. */
static int choose_any(const struct policy *policy, const struct preparation_options *options,
		      const struct backend_settings *settings, struct preparation *ret,
		      struct warder_error *err)
{
	const struct backend *backend;

	for (size_t i = 0; (backend = backend_candidate(settings, i)); i++) {
		if (backend_remote_of(settings, backend)) {
			/* Without `remotes`, the order holds it for other commands. */
			if (options->remotes && choose_host(policy, options, settings, &i, ret, err) == 0)
				return 0;
			continue;
		}
		ret->is_remote = false;
		if (match(policy, options, backend, ret, err) == 0)
			return 0;
		pass_over(ret, err->text);
	}
	return error_set(err, WARDER_ERROR_UNSUPPORTED_POLICY, err->field,
			 "no backend can enforce all of the policy: %s", ret->passed_over);
}

static int choose_by_settings(const struct policy *policy, const struct preparation_options *options,
			      struct preparation *ret, struct warder_error *err)
{
	struct backend_settings settings = { 0 };
	const struct backend *backend;
	uint64_t load = 0;

	if (preparation_settings(options->backends, &settings, err) != 0)
		return -1;
	if (strcmp(options->backend, BACKEND_AUTO) == 0)
		return choose_any(policy, options, &settings, ret, err);
	if (options->remotes && backend_is_remote(options->backend)) {
		const struct backend_remote *remote = backend_remote_find(&settings, options->backend, err);

		return remote ? match_remote(policy, options, remote, ret, &load, err) : -1;
	}
	backend = backend_find(options->backend, err);
	if (!backend || backend_check_enabled(backend, &settings, err) != 0)
		return -1;
	return match(policy, options, backend, ret, err);
}

/* The local jail needs no settings, which take three pages to clear. */
static int choose(const struct policy *policy, const struct preparation_options *options,
		  struct preparation *ret, struct warder_error *err)
{
	const struct backend *local = backend_at(0);

	if (!options->backend || strcmp(options->backend, local->name) == 0)
		return match(policy, options, local, ret, err);
	return choose_by_settings(policy, options, ret, err);
}

static int order_has_remote(const char *backends, bool *ret, struct warder_error *err)
{
	struct backend_settings settings = { 0 };
	const struct backend *candidate;

	if (preparation_settings(backends, &settings, err) != 0)
		return -1;
	*ret = false;
	for (size_t i = 0; (candidate = backend_candidate(&settings, i)); i++)
		*ret |= backend_remote_of(&settings, candidate) != NULL;
	return 0;
}

int preparation_may_be_remote(const char *backend, const char *backends, bool *ret, struct warder_error *err)
{
	if (backend && strcmp(backend, BACKEND_AUTO) == 0)
		return order_has_remote(backends, ret, err);
	*ret = backend && backend_is_remote(backend);
	return 0;
}

int preparation_check_choice(const char *asked, const char *given, const char *backends,
			     struct warder_error *err)
{
	struct backend_settings settings = { 0 };
	const struct backend *backend;

	if (given && strcmp(given, asked) != 0 && strcmp(given, BACKEND_AUTO) != 0)
		return error_set(
		    err, WARDER_ERROR_REJECTED, "backend",
		    "the operator has chosen the backend %.40s; a request may not choose another", given);
	if (strcmp(asked, BACKEND_AUTO) == 0)
		return 0;
	backend = backend_find(asked, err);
	if (!backend || preparation_settings(backends, &settings, err) != 0 ||
	    backend_check_enabled(backend, &settings, err) != 0)
		return -1;
	return backend_check_listed(backend, &settings, err);
}

static void pass_output(struct jail_plan *plan, uint64_t most)
{
	plan->stdout_bytes = plan->stderr_bytes = most ? most : UINT64_MAX;
	plan->kill_on_output = most != 0;
	plan->kill_late = most != 0;
}

int preparation_check(const struct policy *policy, const struct policy *ceiling, struct warder_error *err)
{
	if (policy_validate(policy, err) != 0)
		return -1;
	return ceiling ? policy_check_ceiling(ceiling, policy, err) : policy_check_no_ceiling(policy, err);
}

int preparation_build(const struct policy *policy, const struct preparation_options *options,
		      struct preparation *ret, struct warder_error *err)
{
	const struct jail_probe_options probe = {
		.thorough = options->thorough,
		.cgroup_parent = options->cgroup_parent,
		.overlay = jail_needs_overlay(policy),
		/* What joins a session enters the session's. */
		.network = options->launches && !options->backend && !options->joint &&
			   policy->network.mode != POLICY_NETWORK_HOST,
	};
	const struct policy *asked = options->asked ? options->asked : policy;
	struct warder_error unmet;
	int chosen;

	if (policy_validate(policy, err) != 0)
		return -1;
	ret->host = malloc(sizeof(*ret->host));
	if (!ret->host)
		return error_no_memory(err, NULL);
	jail_probe(&probe, ret->host);
	if (options->forked) /* it is made as an ordinary user's */
		ret->host->privileged = false;
	if (options->joint && !options->beside)
		jail_session_adopt(options->joint, options->background, ret->host);
	chosen = choose(policy, options, ret, &unmet);
	if (chosen != 0 && !ret->matched) {
		*err = unmet;
		return -1;
	}
	if (options->ceiling && policy_check_ceiling(options->ceiling, asked, err) != 0)
		return -1;
	/* What joins a session has nothing of its own. */
	if (!options->ceiling && !options->joint && policy_check_no_ceiling(asked, err) != 0)
		return -1;
	if (chosen != 0) {
		*err = unmet;
		return -1;
	}
	if (ret->is_remote)
		return 0;
	if (jail_plan_build(policy, ret->host, &ret->capabilities, &ret->match,
			    options->environment ? options->environment : environ, options->root, &ret->plan,
			    err) != 0)
		return -1;
	ret->planned = true;
	if (options->passes_output)
		pass_output(&ret->plan, options->output_max);
	ret->plan.code_bytes = options->code_bytes;
	if (options->builds_image && jail_plan_build_image(&ret->plan, err) != 0)
		return -1;
	if ((options->zygote && jail_plan_zygote(&ret->plan, err) != 0) ||
	    (options->forked && jail_plan_forked(&ret->plan, err) != 0))
		return -1;
	if (ret->backend->shape(ret->backend, ret->host, &ret->plan, err) != 0)
		return -1;
	ret->plan.rules = options->rules;
	if (options->joint && jail_session_join(options->joint, options->background, &ret->plan, err) != 0)
		return -1;
	if (options->ceiling && check_sources(options->ceiling, asked, &ret->plan, err) != 0)
		return -1;
	return options->program ? rootfs_add(&ret->plan.rootfs, options->program, PREPARATION_PROGRAM, err)
				: 0;
}

void preparation_done(struct preparation *preparation)
{
	if (preparation->planned)
		jail_plan_done(&preparation->plan);
	if (preparation->host)
		jail_host_done(preparation->host);
	free(preparation->host);
	preparation->host = NULL;
	preparation->planned = preparation->matched = false;
}
