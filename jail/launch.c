/*
 * A launch, from top to bottom.
 *
 *   host                                          inside
 *   ------------------------------------------    ---------------------------------------------------
 *   namespace   a network namespace, made meanwhile
 *   identity    id range, user namespace
 *   edge        warder-edge, for an allow-list of the network: starts meanwhile
 *   mounts      trees owned by the run
 *   cgroup      leaf of v2, or all of them
 *   processors  an affinity mask, claims
 *   streams     pipes and sockets
 *   plan        the block in a memfd
 *   spawn       clone3 + exec of init       --->  init: join-cgroup (waits for the leaves of v1)
 *               meanwhile, leaves of v1               time-namespace oom-score root (waits for build-root)
 *   build-root  the prepared mount namespace,     scratch overlays proc shm attach-mounts pts
 *               made meanwhile                    network hostname cgroup-namespace user-namespace
 *                                                 no-nesting fork
 *   setup       network of a container;           payload: BORN, rlimits identity privileges
 *               /proc/<payload>: what it was
 *               born into; cgroup files     <---  terminal (its master comes here) landlock
 *                                                 seccomp; READY, then waits
 *   read-back   /proc/<payload>: the rest,
 *               against the plan: the receipt
 *   stage       files into the jail's /tmp
 *   go          deadline starts             --->  ENTERING, execve of the program
 *               waits for end of file       <---  (close-on-exec: the exec succeeded) or NO_EXEC
 *
 * Every step can fail; what was made by then is undone in reverse order. A failure inside arrives as a
 * message that names the step; silence and end of file mean that the jail died, never that it is well.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/text.h"
#include "jail/cgroup/ends.h"
#include "jail/environment.h"
#include "jail/joined.h"
#include "jail/overlay.h"
#include "jail/parts.h"
#include "jail/run.h"
#include "jail/spawn.h"

#define SETTLE_LOOK_US 300

_Static_assert(WIRE_FD_FIRST + JAIL_TREES_MAX + CGROUP_HIERARCHIES_MAX + 2 <= SPAWN_FDS_MAX,
	       "init gets a descriptor for each mount, each hierarchy, the root's builder and the edge");

/* ---- network, identity, mounts, cgroup ---- */

/* Only started here: the spawn waits for it. */
static int step_network(struct jail_run *run, struct warder_error *err)
{
	if (!network_has_helper(&run->tmpl->plan))
		return 0;
	run->network = template_take_network(run->tmpl, &run->part, err);
	return run->network ? 0 : -1;
}

static int step_identity(struct jail_run *run, struct warder_error *err)
{
	if (!run->tmpl->plan.privileged || run_is_bare(run))
		return 0;
	if (run_is_joined(run)) { /* the session's, which its keeper has leased */
		run->identity.base = run->tmpl->plan.joint->id_base;
		return 0;
	}
	return template_take_identity(run->tmpl, &run->identity, err);
}

/* It starts meanwhile: nothing before the program waits for it. Its user is the last of the jail's range, which nobody inside can become. An
 * execution in a session has the session's. */
static int step_edge(struct jail_run *run, struct warder_error *err)
{
	const struct jail_plan *plan = &run->tmpl->plan;

	if (!plan->edge)
		return 0;
	if (run_is_joined(run))
		return run_edge_join(&run->edge, edge_field(&plan->policy),
				     &plan->joint->fds[JAIL_JOINT_EDGE], plan->rules, err);
	return run_edge_start(&run->edge, plan, run->identity.base + IDENTITY_IDS - 1, err);
}

static int undo_edge(struct jail_run *run, struct warder_error *err)
{
	if (run_edge_end(&run->edge))
		return run_wait_for(run, run->edge.pid_fd, run->edge.give_up_us);
	/* The edge is dead, so a call that waits for its answer ends. */
	pthread_mutex_lock(&run->edge_lock);
	run_edge_done(&run->edge);
	pthread_mutex_unlock(&run->edge_lock);
	return 0;
}

/* Takes the descriptor. */
static int add_tree(struct jail_run *run, int tree_fd, struct warder_error *err)
{
	if (!run->trees)
		run->trees = calloc(JAIL_TREES_MAX, sizeof(*run->trees));
	if (!run->trees) {
		close(tree_fd);
		return error_no_memory(err, NULL);
	}
	run->trees[run->tree_count++] = tree_fd;
	return 0;
}

/* After the mounts to attach. */
static int clone_layers(struct jail_run *run, struct warder_error *err)
{
	const struct jail_plan *plan = &run->tmpl->plan;

	for (size_t i = 0; i < plan->rootfs.overlay_count; i++) {
		const struct rootfs_overlay *overlay = &plan->rootfs.overlays[i];

		for (size_t j = 0; j < overlay->layer_count; j++) {
			bool mapped = true;
			int tree_fd = overlay_clone_layer(overlay, &overlay->layers[j], &run->identity,
							  plan->uid, plan->gid, &mapped, err);

			if (tree_fd < 0)
				return -1;
			run->unmapped |= !mapped;
			if (add_tree(run, tree_fd, err) < 0)
				return -1;
			run->layer_count++;
		}
	}
	return 0;
}

static int step_mounts(struct jail_run *run, struct warder_error *err)
{
	const struct jail_plan *plan = &run->tmpl->plan;
	const struct wire_entry *entries = WIRE_AT(
	    run->tmpl->block.bytes, block_header(&run->tmpl->block)->entries, const struct wire_entry);

	if (plan->starter)
		return 0; /* it asks for them */
	for (size_t i = 0; i < plan->rootfs.count; i++) {
		int tree_fd;

		if (!plan->privileged || entries[i].kind != WIRE_BIND ||
		    !(entries[i].flags & WIRE_ENTRY_LATE))
			continue;
		if (run->tree_count == JAIL_OWNED_MOUNTS_MAX)
			return error_set(err, WARDER_ERROR_INTERNAL, "filesystem.paths",
					 "the plan has more than %d mounts of its owner",
					 JAIL_OWNED_MOUNTS_MAX);
		tree_fd =
		    template_clone_tree(&plan->rootfs.entries[i], &run->identity, plan->uid, plan->gid, err);
		if (tree_fd < 0)
			return -1;
		if (add_tree(run, tree_fd, err) < 0)
			return -1;
	}
	return plan->privileged ? clone_layers(run, err) : 0;
}

static int step_cgroup(struct jail_run *run, struct warder_error *err)
{
	/* Of an init that is ours from its birth on, the spawn completes it while init is executed. */
	const bool later = !run->tmpl->plan.starter && !run_is_joined(run) && !run->zygote;

	if (run->parked && run->tmpl->parts && parts_take_leaf(run->tmpl->parts, &run->cgroup))
		return 0;
	if ((later ? cgroup_begin : cgroup_create)(&run->tmpl->host->cgroup, &run->tmpl->plan.cgroup,
						   &run->cgroup, err) < 0)
		return -1;
	if (run_is_joined(run))
		joined_begin_cgroup(run);
	return 0;
}

/* A session's payload executes nothing, and what restricts nothing gets no mask either. */
static int step_processors(struct jail_run *run, struct warder_error *err)
{
	if (!run->tmpl->plan.holds && !run_is_bare(run))
		affinity_choose(run->tmpl->plan.processors, &run->affinity);
	return 0;
}

/* ---- plan ---- */

/* So that the clocks inside start near zero: uptime is the host's business. */
static int64_t clock_offset(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > 1 ? -(int64_t)(now.tv_sec - 1) : 0;
}

/* As the kernel computes them: the time of the boot is that of the time namespace. */
static int add_moment(struct jail_run *run, struct block *block, struct warder_error *err)
{
	struct proc_moment moment;
	struct timespec since_boot;
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &since_boot);
	clock_gettime(CLOCK_REALTIME, &now);
	moment.boot_time_s = now.tv_sec - since_boot.tv_sec - (now.tv_nsec < since_boot.tv_nsec);
	if (run->tmpl->plan.namespaces & CLONE_NEWTIME || run->zygote)
		moment.boot_time_s -= run->clock_offset;
	if (getrandom(moment.boot_id, sizeof(moment.boot_id), 0) != sizeof(moment.boot_id))
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
				       "no random number for the jail's boot_id");
	block_add_moment(block, &run->tmpl->plan, &moment);
	block_add_trust(block, &run->edge.trust);
	return 0;
}

/* Among the jails of this process, until the end. One without a filter, or whose init is not the first of its pid namespace, can neither
 * be told nor do anything about it. */
static void count_in(struct jail_run *run)
{
	if (run->tmpl->plan.starter)
		return;
	run->counted = true;
	run->crowded = ends_begin();
	/* The end of its init is that of all its forks. */
	run->crowded |= run->tmpl->plan.zygote;
}

/* Init writes the files of authorities into the tmpfs of /tmp, where other files of the launch lie, too. A container has it elsewhere. */
static int check_room(const struct jail_run *run, struct warder_error *err)
{
	const struct jail_plan *plan = &run->tmpl->plan;
	const uint64_t page = 4096, others = 4 * page;
	uint64_t least = others;
	const bool by_disk = plan->policy.limits.disk_bytes <= plan->policy.filesystem.tmp_bytes;
	const char *field = by_disk ? "limits.disk" : "filesystem.tmp";
	char is[32], needed[32];

	for (int i = 0; i < TRUST_COUNT; i++)
		least += (run->edge.trust.files[i].len + page - 1) / page * page;
	if (least == others || plan->starter || plan->rootfs.scratch_bytes >= least)
		return 0;
	return error_set(
	    err, WARDER_ERROR_INVALID_REQUEST, field,
	    "%s: %s is too little: with inject, the files of the authorities that the program trusts "
	    "lie there, too; give at least %s",
	    field,
	    policy_format_size(by_disk ? plan->policy.limits.disk_bytes : plan->policy.filesystem.tmp_bytes,
			       is, sizeof(is)),
	    policy_format_size(least, needed, sizeof(needed)));
}

/* An init that was not cloned into its leaf of cgroup v2 joins it through a file, as it joins those of v1. */
static bool joins_by_file(const struct jail_run *run)
{
	return ((run_is_contained(run) && !run_is_joined(run)) || run->zygote) && run->cgroup.join_v2_fd >= 0;
}

static int fill_block(struct jail_run *run, struct block *block, char *const *environment,
		      struct warder_error *err)
{
	const char *path = environment_get(environment, "PATH");
	struct wire_block header;

	if (policy_injects(&run->tmpl->plan.policy) && !run_is_joined(run) &&
	    (run_edge_await_authority(&run->edge, err) < 0 || check_room(run, err) < 0))
		return -1;
	run->clock_offset = run_is_joined(run) ? run->tmpl->plan.joint->clock_offset
			    : run->zygote      ? zygote_clock_offset(run->zygote)
					       : clock_offset();
	if (!run_is_joined(run) && block_header(block)->cover_count && add_moment(run, block, err) < 0)
		return -1;
	header = *block_header(block);
	if (!run->parked) {
		header.argv = block_strings(block, run->command.argv, text_count(run->command.argv));
		header.envp = block_strings(block, environment, text_count(environment));
	}
	if (run->affinity.mask) {
		header.affinity_len = run->affinity.mask->bytes;
		header.affinity = block_append(block, run->affinity.mask->words, header.affinity_len);
	}
	header.search_path = path ? block_string(block, path) : 0;
	if (run->command.working_directory)
		header.working_directory = block_string(block, run->command.working_directory);
	if (run->command.scratch)
		header.scratch = block_string(block, run->command.scratch);
	header.attach_count = (uint32_t)(run->tree_count - run->layer_count);
	header.layer_count = (uint32_t)run->layer_count;
	for (int i = 0; i < CGROUP_HIERARCHIES_MAX; i++)
		header.join_count += run->cgroup.join_v1_fd[i] >= 0;
	header.join_count += joins_by_file(run);
	header.clock_offset = run->clock_offset;
	if (run->command.result_bytes)
		header.flags |= WIRE_RESULT;
	if (run->command.input_fd > 0)
		header.flags |= WIRE_INPUT;
	if (run->command.progress || run->command.calls_fd > 0)
		header.flags |= WIRE_PROGRESS;
	if (run->command.terminal_fd > 0)
		header.flags |= WIRE_ON_TERMINAL;
	if (run->tmpl->root.built_fd >= 0)
		header.flags |= WIRE_BUILDING;
	if (run->parked)
		header.flags |= WIRE_PARKED;
	if (run->zygote) /* whose time namespace init is born into */
		header.namespaces |= CLONE_NEWTIME;
	if (run_is_joined(run) && run->cgroup.join_v2_fd >= 0)
		header.flags |= WIRE_LEAF;
	if (cgroup_is_partial(&run->cgroup))
		header.flags |= WIRE_JOINS_FOLLOW;
	count_in(run);
	if (run->crowded)
		header.flags |= WIRE_CROWDED;
	header.fail_step = run->tmpl->fail_step;
	if (!block->failed)
		*block_header(block) = header;
	run->block_fd = block_memfd(block, err);
	return run->block_fd < 0 ? -1 : 0;
}

static int step_plan(struct jail_run *run, struct warder_error *err)
{
	struct block block = { 0 };
	char **environment = environment_merge(run->given.environment, run->command.set_env);
	int ret;

	if (!environment)
		return error_no_memory(err, NULL);
	block_append(&block, run->tmpl->block.bytes, run->tmpl->block.len);
	ret = block.failed ? error_no_memory(err, NULL) : fill_block(run, &block, environment, err);
	block_done(&block);
	environment_free(environment);
	return ret;
}

/* ---- root, spawn ---- */

/* The preparation began it. */
static int step_build_root(struct jail_run *run, struct warder_error *err)
{
	if (template_finish_root(run->tmpl, err) < 0)
		return -1;
	if (!run->tmpl->reusable)
		run->mount_ns_fd = fd_take(&run->tmpl->mount_ns_fd);
	return 0;
}

static uint64_t spawn_namespaces(const struct jail_plan *plan)
{
	/* Entered later by init: cgroup (after joining), time (by a fork), and with privilege user, mount and network. */
	uint64_t later = CLONE_NEWCGROUP | CLONE_NEWTIME;

	if (plan->privileged)
		later |= CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET;
	return plan->namespaces & ~later;
}

static int undo_namespaces(struct jail_run *run, struct warder_error *err)
{
	int left = clone_end_step(&run->leaver);

	/* Where the jail hangs, most likely so does this: it was watched for long enough. */
	if (left == CLONE_LIVES && run->stuck)
		left = clone_forget(&run->leaver);
	if (left == CLONE_LIVES)
		return run_wait_for(run, run->leaver.pid_fd, clock_us() + CLONE_LOOK_MS * 1000);
	run->leaver_hangs |= left == CLONE_HANGS;
	fd_done(&run->mount_ns_fd); /* unless that has closed it */
	network_free(run->network);
	run->network = NULL;
	fd_done(&run->network_fd);
	/* All processes of the jail are gone with its init. */
	if (run->part.ns_fd >= 0 && run->reaped && !run->stuck)
		parts_give(run->tmpl->parts, &run->part);
	part_done(&run->part);
	return template_settle_network(run->tmpl, false) ? 0
							 : run_wait_for(run, -1, clock_us() + SETTLE_LOOK_US);
}

static int open_join(struct jail_run *run, struct warder_error *err)
{
	if (!joins_by_file(run))
		return 0;
	run->join_fd = openat(run->cgroup.join_v2_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
	if (run->join_fd < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "limits", errno,
				       "cannot open the cgroup's cgroup.procs");
	return 0;
}

static int start_init(struct jail_run *run, struct spawn *spawn, struct warder_error *err)
{
	const struct jail_starter *starter = run->tmpl->plan.starter;
	const struct wire_block *header = block_header(&run->tmpl->block);
	const struct jail_start start = {
		.run = run,
		.plan = &run->tmpl->plan,
		.name = run->cgroup.name,
		.fds = spawn->fds,
		.fd_count = (size_t)spawn->fd_count,
		.first_join = WIRE_FD_FIRST,
		.image_number = WIRE_FD_IMAGE,
		.door = WIRE_DOOR,
		.first_id = run->identity.base,
		.id_count = IDENTITY_IDS,
		.clock_offset = run->clock_offset,
		.network_fd = run->network_fd,
		.scratch_options = WIRE_AT(header, header->scratch_options, const char),
		.trust = run->edge.trust,
	};

	/* A runtime hands on a row without a gap: in the place of what init does not get, something that it gets anyway. */
	spawn_set_fd(spawn, WIRE_FD_IMAGE, run->tmpl->image_fd);
	spawn_set_fd(spawn, WIRE_FD_USER_NS, run->tmpl->supervisor_fd);
	spawn_set_fd(spawn, WIRE_FD_NET_NS, run->tmpl->supervisor_fd);
	return starter->start(starter, &start, &run->started, &run->init_pid, &run->init_fd, err);
}

/* The descriptors of init, in the order of enum wire_fd and of jail/inside. */
static void set_fds(struct jail_run *run, struct spawn *spawn)
{
	int next = WIRE_FD_FIRST;

	spawn_set_fd(spawn, WIRE_FD_STDIN, run->stdin_pipe[RUN_READ]);
	spawn_set_fd(spawn, WIRE_FD_STDOUT,
		     run->parked ? run->stdin_pipe[RUN_READ] : run->output_pipe[JAIL_STDOUT][RUN_WRITE]);
	spawn_set_fd(spawn, WIRE_FD_STDERR,
		     run->parked ? run->stdin_pipe[RUN_READ]
				 : run->output_pipe[run->merged ? JAIL_STDOUT : JAIL_STDERR][RUN_WRITE]);
	/* In the place of what the program does not get: something that it gets anyway. */
	spawn_set_fd(spawn, WIRE_FD_RESULT,
		     run->command.result_bytes ? run->output_pipe[JAIL_RESULT][RUN_WRITE]
					       : run->stdin_pipe[RUN_READ]);
	spawn_set_fd(spawn, WIRE_FD_INPUT,
		     run->command.input_fd > 0 ? run->command.input_fd : run->stdin_pipe[RUN_READ]);
	spawn_set_fd(spawn, WIRE_FD_PROGRESS,
		     run->command.progress       ? run->output_pipe[JAIL_PROGRESS][RUN_WRITE]
		     : run->command.calls_fd > 0 ? run->command.calls_fd
						 : run->stdin_pipe[RUN_READ]);
	spawn_set_fd(spawn, WIRE_FD_CONTROL, run->control[1]);
	spawn_set_fd(spawn, WIRE_FD_EXEC, run->exec[1]);
	spawn_set_fd(spawn, WIRE_FD_BLOCK, run->block_fd);
	spawn_set_fd(spawn, WIRE_FD_SUPERVISOR, run->tmpl->supervisor_fd);
	spawn_set_fd(spawn, WIRE_FD_BACKSTOP, run->backstop_fd);
	spawn_set_fd(spawn, WIRE_FD_MOUNT_NS, run->tmpl->mount_ns_fd);
	spawn_set_fd(spawn, WIRE_FD_USER_NS, run->identity.user_ns_fd);
	spawn_set_fd(spawn, WIRE_FD_NET_NS, run->network_fd);
	for (int i = 0; i < run->tree_count; i++)
		spawn_set_fd(spawn, next++, run->trees[i]);
	for (int i = 0; i < CGROUP_HIERARCHIES_MAX; i++)
		if (run->cgroup.join_v1_fd[i] >= 0)
			spawn_set_fd(spawn, next++, run->cgroup.join_v1_fd[i]);
	if (run->join_fd >= 0)
		spawn_set_fd(spawn, next++, run->join_fd);
	if (run->tmpl->root.built_fd >= 0)
		spawn_set_fd(spawn, next++, run->tmpl->root.built_fd);
	if (run->edge.setup_fd >= 0 && !run_is_contained(run))
		spawn_set_fd(spawn, next++, run->edge.setup_fd);
}

/* While init is executed, which then waits for it: the rest of the cgroup. */
static int complete_cgroup(void *context, struct warder_error *err)
{
	struct jail_run *run = context;
	int fds[CGROUP_HIERARCHIES_MAX];
	size_t count = 0;

	if (!cgroup_is_partial(&run->cgroup))
		return 0;
	if (cgroup_complete(&run->cgroup, err) < 0)
		return -1;
	for (int i = 0; i < CGROUP_HIERARCHIES_MAX; i++)
		if (run->cgroup.join_v1_fd[i] >= 0)
			fds[count++] = run->cgroup.join_v1_fd[i];
	/* An init that has failed by then says why. */
	if (fd_send(run->control[0], "", 1, fds, count, 0) < 0 && errno != EPIPE && errno != ECONNRESET)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "limits", errno,
				       "cannot hand the cgroup's files to the jail's init");
	return 0;
}

static int step_spawn(struct jail_run *run, struct warder_error *err)
{
	const struct jail_plan *plan = &run->tmpl->plan;
	struct spawn spawn = {
		.meanwhile = complete_cgroup,
		.context = run,
		.namespaces = spawn_namespaces(plan),
		.cgroup_fd = run->cgroup.join_v2_fd,
		.image_fd = run->tmpl->image_fd,
		.map_ids = !plan->privileged && !run_is_bare(run),
		.inside_uid = plan->uid,
		.inside_gid = plan->gid,
		.host_uid = geteuid(),
		.host_gid = getegid(),
	};
	int ret;

	if (open_join(run, err) < 0 || template_enter_root(run->tmpl, err) < 0)
		return -1;
	if (run->network) {
		if (network_finish(run->network, err) < 0)
			return -1;
		run->network_fd = fd_take(&run->network->ns_fd);
		run->network_again = run->network->again;
	}
	set_fds(run, &spawn);
	ret = run->zygote ? zygote_start(run, &spawn, &run->init_pid, &run->init_fd, err)
	      : run_is_joined(run)
		  ? joined_start(run, spawn.fds, (size_t)spawn.fd_count, &run->init_pid, &run->init_fd, err)
	      : run_is_contained(run) ? start_init(run, &spawn, err)
				      : spawn_init(&spawn, &run->init_pid, &run->init_fd, err);
	/* Only the jail holds its ends now: end of file on ours means that it is gone. */
	fd_done(&run->control[1]);
	fd_done(&run->exec[1]);
	run_close_programs_ends(run);
	fd_done(&run->block_fd);
	if (run->parked && run->tmpl->parts && ret == 0)
		run->part.ns_fd = fd_take(&run->network_fd);
	fd_done(&run->network_fd);
	fd_done(&run->join_fd);
	if (!run_is_contained(run))
		fd_done(&run->edge.setup_fd);
	if (run->parked && ret == 0) /* they are read again at the hand-out */
		cgroup_keep_files(&run->cgroup);
	return ret;
}

/* ---- undo ---- */

static int undo_spawn(struct jail_run *run, struct warder_error *err)
{
	run_begin_end(run, RUN_PATIENCE_UNDO_US);
	if (run_kill(run) == RUN_WAITS)
		return RUN_WAITS;
	fd_done(&run->join_fd);
	if (run_stop_starter(run) == RUN_WAITS)
		return RUN_WAITS;
	return run->stuck ? error_set(err, WARDER_ERROR_INTERNAL, NULL, "%s", run->left) : 0;
}

static int undo_mounts(struct jail_run *run, struct warder_error *err)
{
	while (run->tree_count > 0)
		fd_done(&run->trees[--run->tree_count]);
	run->layer_count = 0;
	free(run->trees);
	run->trees = NULL;
	return 0;
}

/* An init that does not die keeps its id range: nobody else may get it. */
static int undo_identity(struct jail_run *run, struct warder_error *err)
{
	if (run->tmpl->plan.privileged && (run->init_fd < 0 || run->reaped))
		template_give_identity(run->tmpl, &run->identity);
	fd_done(&run->init_fd);
	return 0;
}

static int undo_cgroup(struct jail_run *run, struct warder_error *err)
{
	int left;

	if (run->kept && cgroup_leave(&run->cgroup))
		return 0;
	/* All processes of the jail are gone with its init. Once its removal has begun, nothing of it is kept. */
	if (run->parked && run->tmpl->parts && run->reaped && !run->stuck && !run->cgroup.remove_pause_us &&
	    parts_give_leaf(run->tmpl->parts, &run->cgroup))
		return 0;
	run->cgroup.stuck = run->stuck;
	left = cgroup_remove_step(&run->cgroup, err);
	return left == CGROUP_BUSY ? run_wait_for(run, -1, clock_us() + run->cgroup.remove_pause_us) : left;
}

static int undo_processors(struct jail_run *run, struct warder_error *err)
{
	affinity_done(&run->affinity);
	return 0;
}

static int undo_plan(struct jail_run *run, struct warder_error *err)
{
	if (run->counted)
		ends_end();
	run->counted = false;
	fd_done(&run->block_fd);
	return 0;
}

static int undo_read_back(struct jail_run *run, struct warder_error *err)
{
	fd_done(&run->proc_fd);
	fd_done(&run->scratch_fd);
	fd_done(&run->snmp_fd);
	return 0;
}

static const struct step {
	const char *name;
	int (*run)(struct jail_run *run, struct warder_error *err);
	int (*undo)(struct jail_run *run,
		    struct warder_error *err); /* or RUN_WAITS; safe also if `run` did nothing, and twice */
} steps[] = {
	{ "namespace", step_network, undo_namespaces }, /* first: it is made meanwhile */
	{ "identity", step_identity, undo_identity },
	{ "edge", step_edge, undo_edge },       /* after identity: its user is of the jail's range */
	{ "mounts", step_mounts, undo_mounts }, /* after identity: owners are mapped onto its ids */
	{ "cgroup", step_cgroup, undo_cgroup },
	{ "processors", step_processors, undo_processors },
	{ "streams", run_step_streams, run_undo_streams }, /* after identity: the jail's user owns pipes */
	{ "plan", step_plan, undo_plan },
	{ "spawn", step_spawn, undo_spawn },
	{ "build-root", step_build_root, NULL }, /* init waits for it as well, where it enters it */
	{ "setup", run_step_setup, run_undo_setup },
	{ "read-back", readback_check, undo_read_back }, /* the payload waits: nothing untrusted has run */
	{ "stage", run_put_files, NULL },
	{ "go", run_step_go, NULL },
};
#define STEPS      (ARRAY_LENGTH(steps))
#define FIRST_LATE (STEPS - 2) /* a parked jail does these when it gets its program */

/* ---- the end ---- */

int run_release_step(struct jail_run *run, struct warder_error *err)
{
	int ret;

	/* Downwards. What cannot be undone is told (the first of it), and the rest is undone all the same. */
	for (; run->undone < STEPS; run->undone++) {
		const struct step *step = &steps[STEPS - 1 - run->undone];
		struct warder_error one;
		const int left = step->undo ? step->undo(run, &one) : 0;

		if (left == RUN_WAITS)
			return RUN_WAITS;
		if (left < 0 && !run->lingers) {
			*err = one;
			run->lingers = true;
		}
	}
	ret = run->lingers ? -1 : 0;
	run->undone = 0;
	run->lingers = false;
	return ret;
}

static int release(struct jail_run *run, struct warder_error *err)
{
	int left;

	while ((left = run_release_step(run, err)) == RUN_WAITS) {
		struct pollfd fd = { .fd = run->wait.fd, .events = POLLIN };
		const uint64_t now = clock_us();
		const uint64_t us = run->wait.at_us > now ? run->wait.at_us - now : 0;
		const struct timespec most = { .tv_sec = (time_t)(us / 1000000),
					       .tv_nsec = (long)(us % 1000000) * 1000 };

		ppoll(&fd, 1, &most, NULL);
	}
	return left;
}

static struct jail_given given_by_plan(const struct jail_plan *plan)
{
	return (struct jail_given){ .policy = &plan->policy,
				    .environment = plan->environment,
				    .wall_time_us = plan->wall_time_us,
				    .stdout_bytes = plan->stdout_bytes,
				    .stderr_bytes = plan->stderr_bytes,
				    .code_bytes = plan->code_bytes };
}

void run_let_go_of_given(struct jail_run *run)
{
	run->given.policy = &run->tmpl->plan.policy;
	run->given.environment = run->tmpl->plan.environment;
	run->command.given = NULL;
}

static void run_init(struct jail_run *run, struct jail_template *tmpl, const struct jail_command *command)
{
	run->tmpl = tmpl;
	run->command = *command;
	run->given = command->given ? *command->given : given_by_plan(&tmpl->plan);
	run->receipt->unwanted = command->no_receipt;
	run->zygote = zygote_hold(command->zygote);
	run->identity = (struct identity)IDENTITY_NONE;
	cgroup_init(&run->cgroup);
	for (int i = 0; i < 2; i++) {
		run->stdin_pipe[i] = -1;
		for (int stream = 0; stream < JAIL_STREAMS; stream++)
			run->output_pipe[stream][i] = -1;
		run->control[i] = -1;
		run->exec[i] = -1;
	}
	run->warm.work_fd = -1;
	run->terminal = (struct terminal)TERMINAL_NONE;
	run->network_fd = -1;
	part_init(&run->part);
	run->edge = (struct run_edge)RUN_EDGE_NONE;
	pthread_mutex_init(&run->edge_lock, NULL);
	run->join_fd = -1;
	run->block_fd = -1;
	run->backstop_fd = -1;
	run->cancel_fd = -1;
	run->init_fd = -1;
	run->mount_ns_fd = -1;
	run->proc_fd = -1;
	run->scratch_fd = -1;
	run->snmp_fd = -1;
	run->start_us = clock_us();
}

static int run_steps(struct jail_run *run, size_t first, size_t end, struct warder_error *err)
{
	for (size_t i = first; i < end; i++) {
		int ret = steps[i].run(run, err);

		if (ret == 0 && run->tmpl->fail_step == WIRE_STEP_COUNT + i)
			ret = error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, EIO, "made to fail");
		if (ret < 0) {
			if (!*err->step)
				snprintf(err->step, sizeof(err->step), "%s", steps[i].name);
			return -1;
		}
	}
	return 0;
}

static void add_rest(const struct warder_error *left, struct warder_error *err)
{
	const size_t used = strlen(err->text);

	snprintf(err->text + used, sizeof(err->text) - used, "; %s", left->text);
}

int run_start_program(struct jail_run *run, struct warder_error *err)
{
	return run_steps(run, FIRST_LATE, STEPS, err);
}

int run_begin(struct jail_template *tmpl, const struct jail_command *command, bool parked,
	      struct jail_run **ret, struct warder_error *err)
{
	struct warder_error left;
	struct jail_run *run;

	if (tmpl->owner_pid != getpid())
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL,
				 "the template was prepared by process %d: prepare anew after a fork",
				 tmpl->owner_pid);
	if (!tmpl->reusable && atomic_exchange(&tmpl->used, true))
		return error_set(err, WARDER_ERROR_CONFLICT, NULL,
				 "a template for a single launch has been used; prepare another one");
	run = calloc(1, sizeof(*run));
	if (run)
		run->receipt = malloc(sizeof(*run->receipt));
	if (!run || !run->receipt) {
		free(run);
		return error_no_memory(err, NULL);
	}
	policy_receipt_init(run->receipt);
	run_init(run, tmpl, command);
	run->parked = parked;
	if (run_steps(run, 0, parked ? FIRST_LATE : STEPS, err) < 0) {
		if (release(run, &left) < 0)
			add_rest(&left, err);
		jail_run_free(run);
		return -1;
	}
	run_let_go_of_given(run);
	undo_mounts(run, err); /* attached; init holds them */
	/* The next namespace, while the program runs. */
	if (tmpl->reusable)
		template_begin_network(tmpl);
	run->launch_us = clock_us() - run->start_us;
	*ret = run;
	return 0;
}

int run_check_command(const struct jail_command *command, struct warder_error *err)
{
	if (!command->argv || !command->argv[0] || !command->argv[0][0])
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "argv", "there is no program to run");
	return 0;
}

int jail_launch(struct jail_template *tmpl, const struct jail_command *command, struct jail_run **ret,
		struct warder_error *err)
{
	return run_check_command(command, err) < 0 ? -1 : run_begin(tmpl, command, false, ret, err);
}

const struct policy_receipt *jail_run_receipt(const struct jail_run *run)
{
	return run->receipt;
}

void jail_run_copy_receipt(const struct jail_run *run, struct policy_receipt *ret)
{
	if (run->receipt)
		policy_receipt_copy(ret, run->receipt);
	else
		policy_receipt_unpack(run->packed, ret);
}

void jail_run_trim(struct jail_run *run, const struct jail_run *like)
{
	run->packed = policy_receipt_pack(run->receipt, like ? like->packed : NULL);
	if (run->packed) {
		free(run->receipt);
		run->receipt = NULL;
	}
	affinity_drop_mask(&run->affinity);
	run->given.environment = NULL;
	template_trim(run->tmpl);
}

void jail_run_trim_host(struct jail_run *run)
{
	run->cgroup.host = &run->tmpl->plan.joint->cgroup;
	run->tmpl->host = NULL;
}

int jail_run_open_scratch(const struct jail_run *run)
{
	return fcntl(run->scratch_fd, F_DUPFD_CLOEXEC, 3);
}

int jail_run_program_pid(const struct jail_run *run)
{
	return run->program_pid;
}

int jail_run_remove(struct jail_run *run, struct warder_error *err)
{
	int ret;

	if (!run)
		return 0;
	poller_done(&run->supervision.poller);
	ret = release(run, err);
	/* The result has been delivered. What supervisors that were killed left, nobody else may ever look for. */
	if (run->supervised && !run_is_joined(run) && !atomic_exchange(&run->tmpl->cleaned, true))
		cgroup_clean_briefly(&run->tmpl->host->cgroup);
	if (!run->leaver_hangs)
		pthread_mutex_destroy(&run->edge_lock);
	fd_done(
	    &run->cancel_fd); /* kept until here: a cancel may come from another thread at any time before */
	jail_zygote_drop(run->zygote);
	run->zygote = NULL;
	if (!run->leaver_hangs) {
		free(run->receipt);
		policy_receipt_packed_free(run->packed);
		free(run);
	}
	return ret;
}

void jail_run_free(struct jail_run *run)
{
	struct warder_error ignored;

	jail_run_remove(run, &ignored);
}
