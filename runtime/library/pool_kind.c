/*
 * pool_kind: what the jails of a key have in common, and how two keys are compared. All of it is compared: nothing that is equal only by
 * a digest shares a jail. The policies are compared as values, and the rest as one text, because it is short.
 */
#include "runtime/library/pool.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "runtime/library/preparation.h"

__attribute__((format(printf, 2, 3))) static void add_part(struct json_writer *w, const char *format, ...)
{
	char text[4352];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	json_string(w, text);
}

static void add_file(struct json_writer *w, const char *path)
{
	struct stat st = { 0 };

	if (stat(path, &st) != 0)
		st = (struct stat){ 0 };
	add_part(w, "%s %ju %ju %jd.%09ld", path, (uintmax_t)st.st_dev, (uintmax_t)st.st_ino,
		 (intmax_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

static bool has_sources(const struct policy *policy)
{
	return policy->filesystem.view == POLICY_VIEW_DIRECTORY || policy->filesystem.workspace_root ||
	       policy->filesystem.read_only.count || policy->filesystem.read_write.count;
}

static void add_rows(struct json_writer *w, const struct policy_strings *rows)
{
	json_begin_array(w);
	for (size_t i = 0; i < rows->count; i++)
		json_string(w, rows->items[i]);
	json_end_array(w);
}

/* Where the links in the policy's paths lead now. -1 with *err. */
static int add_followed(struct json_writer *w, const struct policy *policy, struct warder_error *err)
{
	const struct policy paths = { .filesystem = policy->filesystem }; /* borrowed */
	owned_policy struct policy followed = { 0 };

	if (!has_sources(policy))
		return 0;
	if (preparation_follow(&paths, &followed, err) < 0)
		return -1;
	json_string(w, followed.filesystem.view_source ? followed.filesystem.view_source : "");
	json_string(w, followed.filesystem.workspace_root ? followed.filesystem.workspace_root : "");
	add_rows(w, &followed.filesystem.read_only);
	add_rows(w, &followed.filesystem.read_write);
	return 0;
}

/* A program that has started has its variables. */
static void add_program(struct json_writer *w, const struct policy *policy, char *const *program, bool merged)
{
	json_bool(w, merged);
	for (char *const *word = program; *word; word++)
		json_string(w, *word);
	for (size_t i = 0; i < policy->environment.set_count; i++)
		add_part(w, "%s=%s", policy->environment.set[i].name, policy->environment.set[i].value);
	for (char *const *variable = environ;
	     policy->environment.mode != POLICY_ENVIRONMENT_NONE && *variable; variable++)
		json_string(w, *variable);
}

int pool_kind_of(const struct pool_asked *asked, const struct warder_pool_key *key,
		 const struct warder_options *options, char *const *program, uint64_t mount_changes,
		 struct pool_kind *ret, struct warder_error *err)
{
	const struct policy *policy = &key->policy->policy;
	struct json_writer w = { 0 };
	int followed;

	json_begin_array(&w);
	add_part(&w, "%s %u %u %u %u %d %" PRIu64, WARDER_VERSION, getuid(), geteuid(), getgid(), getegid(),
		 options->builds_image, mount_changes);
	json_string(&w, key->tenant ? key->tenant : "");
	json_string(&w, asked->subject ? asked->subject->language : "");
	json_string(&w, options->cgroup_parent ? options->cgroup_parent : "");
	json_string(&w, options->backend ? options->backend : "");
	if (options->backend)
		add_file(&w, options->backends ? options->backends : PREPARATION_BACKENDS);
	followed = add_followed(&w, policy, err);
	if (program)
		add_program(&w, policy, program, asked->merged);
	json_end_array(&w);
	*ret = (struct pool_kind){ .text = json_take(&w),
				   .policy = jail_given_without(policy),
				   .has_ceiling = options->ceiling != NULL };
	if (options->ceiling)
		ret->ceiling = options->ceiling->policy;
	if (followed == 0 && ret->text)
		return 0;
	free(ret->text);
	ret->text = NULL;
	return followed == 0 ? error_no_memory(err, NULL) : -1;
}

bool pool_kind_equal(const struct pool_kind *a, const struct pool_kind *b)
{
	return strcmp(a->text, b->text) == 0 && a->has_ceiling == b->has_ceiling &&
	       policy_equal(&a->policy, &b->policy) &&
	       (!a->has_ceiling || policy_equal(&a->ceiling, &b->ceiling));
}

int pool_kind_copy(const struct pool_kind *from, struct pool_kind *ret, struct warder_error *err)
{
	struct pool_kind to = { .text = strdup(from->text), .has_ceiling = from->has_ceiling };

	if (!to.text)
		return error_no_memory(err, NULL);
	if (policy_copy(&from->policy, &to.policy, err) < 0 ||
	    (from->has_ceiling && policy_copy(&from->ceiling, &to.ceiling, err) < 0)) {
		pool_kind_done(&to);
		return -1;
	}
	*ret = to;
	return 0;
}

void pool_kind_done(struct pool_kind *kind)
{
	free(kind->text);
	policy_done(&kind->policy);
	policy_done(&kind->ceiling);
	*kind = (struct pool_kind){ 0 };
}
