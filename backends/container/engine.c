/*
 * engine: podman and Docker, by their command lines. They make the container's namespaces, ids, network, /proc, /dev and the coarse filter,
 * and start the jail's init in there; what a command line cannot say (the root with its owners, the policy's own filter, limits,
 * descriptors) is done by the same hands as for every other container, and all of it is read back from the kernel.
 *
 * No registry, nothing pulled: the root is the plan's, also where that is an image. No cgroup of the engine's: init joins the run's. Neither
 * settings nor storage of the host's engine are looked at, so that its containers are not ours and ours not its.
 */
#include "backends/container/engine.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/container/bundle.h"
#include "backends/rows.h"
#include "base/array.h"

/* ---- the table ---- */

struct row {
	struct jail_starter starter; /* first: what start() is given leads here */
	const struct engine *engine;
};

static int start(const struct jail_starter *starter, const struct jail_start *start, void **ret_started,
		 int *ret_init_pid, int *ret_init_fd, struct warder_error *err);

/* Docker gives a capability to nobody but uid 0. */
static const struct row rows[] = {
	{ { POLICY_ISOLATION_CONTAINER_EPHEMERAL, false, 1, true, start, container_stop }, &engine_podman },
	{ { POLICY_ISOLATION_CONTAINER_EPHEMERAL, false, 1, false, start, container_stop }, &engine_docker },
};

static const struct row *find_row(const struct backend *backend)
{
	size_t i = 0;

	while (i + 1 < ARRAY_LENGTH(rows) && strcmp(rows[i].engine->name, backend->program) != 0)
		i++;
	return &rows[i];
}

/* The first of its programs that is not there; NULL: all are. */
static const char *missing(const struct engine *engine)
{
	char path[128];

	for (size_t i = 0; i < ENGINE_PROGRAMS_MAX && engine->programs[i]; i++)
		if (!container_program(engine->programs[i], path, sizeof(path)))
			return engine->programs[i];
	return NULL;
}

/* ---- start ---- */

static int fill_task(const struct engine *engine, const struct jail_start *start, struct engine_task *task,
		     struct warder_error *err)
{
	const struct jail_plan *plan = start->plan;

	for (size_t i = 0; i < ENGINE_PROGRAMS_MAX && engine->programs[i]; i++)
		if (!container_program(engine->programs[i], task->paths[i], sizeof(task->paths[i])))
			return error_set(err, WARDER_ERROR_UNAVAILABLE, "backend", "%s is gone",
					 engine->programs[i]);
	snprintf(task->name, sizeof(task->name), "%s", start->name);
	snprintf(task->hostname, sizeof(task->hostname), "%s", plan->hostname);
	snprintf(task->map, sizeof(task->map), "0:%u:%u", start->first_id, start->id_count);
	snprintf(task->user, sizeof(task->user), "%u:%u", plan->uid, plan->gid);
	engine->compose(start, task);
	if (task->daemon.full || task->prepare.full || task->run.full)
		return error_set(err, WARDER_ERROR_INTERNAL, "backend",
				 "the command line of %s has more than %d words", engine->name,
				 ENGINE_WORDS_MAX - 1);
	return 0;
}

static int start(const struct jail_starter *starter, const struct jail_start *start, void **ret_started,
		 int *ret_init_pid, int *ret_init_fd, struct warder_error *err)
{
	const struct row *row = (const struct row *)(const void *)starter;
	char *profile = bundle_profile(&start->plan->policy);
	struct engine_task *engine = calloc(1, sizeof(*engine));
	struct container_monitor_task task = {
		.layout = { .start = start, .config = "", .one_version = true },
		.up = engine_up,
		.engine = engine
	};
	int ret = -1;

	if (!profile || !engine)
		error_no_memory(err, NULL);
	else if (fill_task(row->engine, start, engine, err) == 0) {
		engine->profile = profile;
		ret = container_start(&task, ret_started, ret_init_pid, ret_init_fd, err);
	}
	free(engine);
	free(profile);
	return ret;
}

/* ---- the rows of the backends' table ---- */

/* Debian's package of a program; most are called as it is. */
static const char *package_of(const char *program)
{
	static const char *const packages[][2] = {
		{ "docker", "docker.io" },
		{ "dockerd", "docker.io" },
		{ "containerd-shim-runc-v2", "containerd" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(packages); i++) {
		if (strcmp(packages[i][0], program) == 0)
			return packages[i][1];
	}
	return program;
}

void engine_capabilities(const struct backend *backend, const struct jail_host *host,
			 const struct policy *policy, struct policy_capabilities *ret)
{
	const char *program = host->privileged ? missing(find_row(backend)->engine) : NULL;

	container_capabilities(backend, host, policy, ret);
	for (int i = 0; program && i < POLICY_CONTROL_COUNT; i++)
		policy_capability_refused(
		    ret, (enum policy_control)i,
		    "%s is driven with %s, and there is none in /usr/bin, /usr/sbin, ...; "
		    "install Debian's package %s, or use local",
		    backend->name, program, package_of(program));
}

int engine_check(const struct backend *backend, const struct jail_host *host, const struct policy *policy,
		 struct warder_error *err)
{
	const char *program = host->privileged ? missing(find_row(backend)->engine) : NULL;

	if (program)
		return error_set(
		    err, WARDER_ERROR_UNAVAILABLE, "backend",
		    "%s is driven with %s, and there is none in /usr/bin, /usr/sbin, ...; install "
		    "Debian's package %s, or use local",
		    backend->name, program, package_of(program));
	return container_check(backend, host, policy, err);
}

int engine_shape(const struct backend *backend, const struct jail_host *host, struct jail_plan *plan,
		 struct warder_error *err)
{
	const struct row *row = find_row(backend);

	if (row->engine->lacks_host_network && !(plan->namespaces & CLONE_NEWNET))
		return error_set(err, WARDER_ERROR_UNSUPPORTED_POLICY, "network",
				 "%s gives no container with ids of its own the host's network; use another "
				 "backend, or none or loopback",
				 backend->name);
	if (container_shape(backend, host, plan, err) < 0)
		return -1;
	plan->starter = &row->starter;
	return 0;
}
