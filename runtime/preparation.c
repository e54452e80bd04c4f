/*
 * preparation: the order in which a policy is judged.
 *
 * The ceiling is asked twice. First about the paths as they were written, because that is the answer a user
 * understands; then about the paths that will be mounted: a granted directory may hold a symbolic link that its
 * owner points wherever he likes, and the plan has followed it. The second question takes the paths out of the
 * finished plan, which is opened without following links again, so there is nothing to win by being quick.
 * The ceiling's own paths are the operator's and are resolved for it.
 */
#include "runtime/preparation.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int no_memory(struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_INTERNAL, NULL, "out of memory");
}

/* Replace *path by what it resolves to; a path that does not exist stays as it is. */
static void resolve(char **path)
{
	char *real = *path ? realpath(*path, NULL) : NULL;

	if (!real)
		return;
	free(*path);
	*path = real;
}

static void resolve_all(const struct policy_strings *paths)
{
	for (size_t i = 0; i < paths->count; i++)
		resolve(&paths->items[i]);
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
	return *path ? 0 : no_memory(err);
}

/* What an entry of the plan mounts, as the policy would have had to ask for it. The entries of a directory view are
 * what lies in that directory, so any of them stands for it. */
static int add_source(struct policy *policy, const struct rootfs_entry *entry, struct warder_error *err)
{
	if (entry->field == POLICY_FIELD_WORKSPACE)
		return replace(&policy->filesystem.workspace_root, entry->source, err);
	if (entry->field == POLICY_FIELD_VIEW && policy->filesystem.view == POLICY_VIEW_DIRECTORY)
		return replace(&policy->filesystem.view_source, entry->source, err);
	if (entry->field == POLICY_FIELD_PATHS && entry->read_only)
		return policy_set(policy, "filesystem.paths.readOnly", entry->source, err);
	if (entry->field == POLICY_FIELD_PATHS)
		return policy_set(policy, "filesystem.paths.readWrite", entry->source, err);
	return 0;
}

static int check_sources(const struct policy *ceiling, const struct jail_plan *plan, struct warder_error *err)
{
	owned_policy struct policy granted = { 0 };
	owned_policy struct policy wanted = { 0 };

	if (policy_copy(ceiling, &granted, err) != 0 || policy_copy(&plan->policy, &wanted, err) != 0)
		return -1;
	resolve(&granted.filesystem.view_source);
	resolve(&granted.filesystem.workspace_root);
	resolve_all(&granted.filesystem.read_only);
	resolve_all(&granted.filesystem.read_write);
	resolve(&wanted.filesystem.view_source);
	empty(&wanted.filesystem.read_only);
	empty(&wanted.filesystem.read_write);
	for (size_t i = 0; i < plan->rootfs.count; i++) {
		const struct rootfs_entry *entry = &plan->rootfs.entries[i];

		if (entry->kind == ROOTFS_BIND && add_source(&wanted, entry, err) != 0)
			return -1;
	}
	if (policy_check_ceiling(&granted, &wanted, err) != 0)
		return error_context(err, "behind a symbolic link");
	return 0;
}

int preparation_build(const struct policy *policy, const struct preparation_options *options,
		      struct preparation *ret, struct warder_error *err)
{
	static const struct policy_subject program = { "command", POLICY_PAYLOAD_PROGRAM };
	const struct jail_probe_options probe = { options->thorough, options->cgroup_parent };
	struct warder_error unmet;
	int matched;

	if (policy_validate(policy, err) != 0)
		return -1;
	jail_probe(&probe, &ret->host);
	jail_capabilities(&ret->host, policy, &ret->capabilities);
	matched = policy_match(policy, &ret->capabilities, &program, &ret->match, &unmet);
	ret->matched = true;
	if (options->ceiling && policy_check_ceiling(options->ceiling, policy, err) != 0)
		return -1;
	if (matched != 0) {
		*err = unmet;
		return -1;
	}
	if (jail_check(&ret->host, policy, err) != 0)
		return -1;
	if (jail_plan_build(policy, &ret->host, &ret->capabilities, &ret->match, environ, &ret->plan, err) !=
	    0)
		return -1;
	ret->planned = true;
	return options->ceiling ? check_sources(options->ceiling, &ret->plan, err) : 0;
}

void preparation_done(struct preparation *preparation)
{
	if (preparation->planned)
		jail_plan_done(&preparation->plan);
	if (preparation->matched)
		jail_host_done(&preparation->host);
	preparation->planned = preparation->matched = false;
}
