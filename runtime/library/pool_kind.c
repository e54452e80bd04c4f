/*
 * pool_kind: what the jails of a key have in common, and how two keys are compared. All of it is compared: nothing that is equal only by
 * a digest shares a jail. The policies are compared as values, and the rest as one text, because it is short.
 */
#include "runtime/library/pool.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "runtime/library/preparation.h"

/* With its length: no two rows of texts become one text. Its bytes are as they are, whatever their encoding. */
static void add(FILE *out, const char *text)
{
	fprintf(out, "%zu:%s ", strlen(text), text);
}

static void add_rows(FILE *out, char *const *rows, size_t count)
{
	fprintf(out, "%zu ", count);
	for (size_t i = 0; i < count; i++)
		add(out, rows[i]);
}

static void add_file(FILE *out, const char *path)
{
	struct stat st = { 0 };

	if (stat(path, &st) != 0)
		st = (struct stat){ 0 };
	add(out, path);
	fprintf(out, "%ju %ju %jd.%09ld ", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino,
		(intmax_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

static bool has_sources(const struct policy *policy)
{
	return policy->filesystem.view == POLICY_VIEW_DIRECTORY || policy->filesystem.workspace_root ||
	       policy->filesystem.read_only.count || policy->filesystem.read_write.count;
}

/* Where the links in the policy's paths lead now. -1 with *err. */
static int add_followed(FILE *out, const struct policy *policy, struct warder_error *err)
{
	const struct policy paths = { .filesystem = policy->filesystem }; /* borrowed */
	owned_policy struct policy followed = { 0 };

	if (!has_sources(policy))
		return 0;
	if (preparation_follow(&paths, &followed, err) < 0)
		return -1;
	add(out, followed.filesystem.view_source ? followed.filesystem.view_source : "");
	add(out, followed.filesystem.workspace_root ? followed.filesystem.workspace_root : "");
	add_rows(out, followed.filesystem.read_only.items, followed.filesystem.read_only.count);
	add_rows(out, followed.filesystem.read_write.items, followed.filesystem.read_write.count);
	return 0;
}

/* A program that has started has its variables. */
static void add_program(FILE *out, const struct policy *policy, char *const *program, bool merged)
{
	fprintf(out, "%d ", merged);
	add_rows(out, program, text_count(program));
	fprintf(out, "%zu ", policy->environment.set_count);
	for (size_t i = 0; i < policy->environment.set_count; i++) {
		add(out, policy->environment.set[i].name);
		add(out, policy->environment.set[i].value);
	}
	if (policy->environment.mode != POLICY_ENVIRONMENT_NONE)
		add_rows(out, environ, text_count(environ));
}

int pool_kind_of(const struct pool_asked *asked, const struct warder_pool_key *key,
		 const struct warder_options *options, char *const *program, uint64_t mount_changes,
		 struct pool_kind *ret, struct warder_error *err)
{
	const struct policy *policy = &key->policy->policy;
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	int followed;

	*ret = (struct pool_kind){ 0 };
	if (!out)
		return error_no_memory(err, NULL);
	fprintf(out, "%s %u %u %u %u %d %" PRIu64 " ", WARDER_VERSION, getuid(), geteuid(), getgid(),
		getegid(), options->builds_image, mount_changes);
	add(out, key->tenant ? key->tenant : "");
	add(out, asked->subject ? asked->subject->language : "");
	fprintf(out, "%d ", asked->subject ? (int)asked->subject->payload : -1);
	add(out, options->cgroup_parent ? options->cgroup_parent : "");
	add(out, options->backend ? options->backend : "");
	if (options->backend)
		add_file(out, options->backends ? options->backends : PREPARATION_BACKENDS);
	followed = add_followed(out, policy, err);
	if (program)
		add_program(out, policy, program, asked->merged);
	if (fclose(out) != 0 || followed != 0) {
		free(text);
		return followed == 0 ? error_no_memory(err, NULL) : -1;
	}
	*ret = (struct pool_kind){ .text = text,
				   .policy = jail_given_without(policy),
				   .has_ceiling = options->ceiling != NULL };
	if (options->ceiling)
		ret->ceiling = options->ceiling->policy;
	return 0;
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
