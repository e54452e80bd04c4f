/*
 * A launch, from top to bottom.
 *
 *   host                                          inside
 *   ------------------------------------------    ---------------------------------------------------
 *   namespace   a network namespace, made meanwhile
 *   identity    id range, user namespace
 *   edge        warder-edge, for an allow-list of the network: starts meanwhile
 *   mounts      trees owned by the run
 *   cgroup      leaf with limits
 *   processors  an affinity mask, claims
 *   streams     pipes and sockets
 *   plan        the block in a memfd
 *   spawn       clone3 + exec of init       --->  init: join-cgroup time-namespace oom-score root
 *   build-root  the prepared mount namespace,     (which it waits for) scratch overlays proc
 *               made meanwhile                    shm attach-mounts pts network hostname
 *                                                 cgroup-namespace user-namespace no-nesting fork
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
#include "base/array.h"
#include "base/text.h"
#include "jail/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/hang.h"
#include "base/namespaces.h"
#include "jail/cgroup/ends.h"
#include "jail/environment.h"
#include "jail/inside/sys.h"
#include "jail/joined.h"
#include "jail/overlay.h"
#include "jail/parts.h"
#include "jail/spawn.h"

#define SETUP_TIMEOUT_MS 30000
#define SETUP_LOOK_MS    100
#define KILL_AGAIN_US    100000
#define EMPTY_LOOK_US    2000
#define SETTLE_LOOK_US   300
#define QUICK_BYTES      (UINT64_C(4) << 20)
#define QUICK_FILES      256

_Static_assert(WIRE_FD_FIRST + JAIL_TREES_MAX + CGROUP_HIERARCHIES_MAX + 2 <= SPAWN_FDS_MAX,
	       "init gets a descriptor for each mount, each hierarchy, the root's builder and the edge");

static int wait_for(struct jail_run *run, int fd, uint64_t at_us)
{
	run->wait.fd = fd;
	run->wait.at_us = at_us;
	return RUN_WAITS;
}

/* ---- network, identity, mounts, cgroup ---- */

/* Only started here: the spawn waits for it. */
static int step_network(struct jail_run *run, struct warder_error *err)
{
	if (!network_has_helper(&run->tmpl->plan))
		return 0;
	run->network = template_take_network(run->tmpl, err);
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
		return wait_for(run, run->edge.pid_fd, run->edge.give_up_us);
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
	if (cgroup_create(&run->tmpl->host->cgroup, &run->tmpl->plan.cgroup, &run->cgroup, err) < 0)
		return -1;
	if (run_is_joined(run))
		cgroup_above_begin(&run->cgroup);
	return 0;
}

/* A session's payload executes nothing, and what restricts nothing gets no mask either. */
static int step_processors(struct jail_run *run, struct warder_error *err)
{
	if (!run->tmpl->plan.holds && !run_is_bare(run))
		affinity_choose(run->tmpl->plan.processors, &run->affinity);
	return 0;
}

/* ---- streams ---- */

/* The jail's user must be able to open /dev/stdout, which is the pipe's inode. */
static int own_pipe(const struct jail_run *run, int fd)
{
	const struct jail_plan *plan = &run->tmpl->plan;

	if (!plan->privileged || run_is_bare(run))
		return 0;
	return fchown(fd, run->identity.base + plan->uid, run->identity.base + plan->gid);
}

static bool has_input(const struct jail_command *command)
{
	return command->stdin_data || command->on_input || command->stdin_fd >= 0;
}

int run_open_input(struct jail_run *run)
{
	const struct jail_command *command = &run->command;
	const struct input_source source = { .data = command->stdin_data,
					     .len = command->stdin_len,
					     .call = command->on_input,
					     .context = command->context,
					     .fd = command->stdin_fd };

	return has_input(command) ? input_open(&run->input, &source, run->stdin_pipe) : 1;
}

static int make_input(struct jail_run *run)
{
	const struct jail_command *command = &run->command;

	if (command->stdin_file_fd > 0) {
		run->stdin_pipe[RUN_READ] = fcntl(command->stdin_file_fd, F_DUPFD_CLOEXEC, 3);
		return run->stdin_pipe[RUN_READ] < 0 ? -1 : 0;
	}
	if (command->terminal_fd > 0 || !has_input(command)) {
		run->stdin_pipe[RUN_READ] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		return run->stdin_pipe[RUN_READ] < 0 ? -1 : 0;
	}
	if (pipe2(run->stdin_pipe, O_CLOEXEC) < 0 || own_pipe(run, run->stdin_pipe[RUN_READ]) < 0)
		return -1;
	if (fcntl(run->stdin_pipe[RUN_WRITE], F_SETFL, O_NONBLOCK) < 0)
		return -1;
	return run_open_input(run);
}

static int make_output(struct jail_run *run, enum jail_stream stream)
{
	int *ends = run->output_pipe[stream];

	/* The terminal comes in its place. */
	if (run->command.terminal_fd > 0 && stream < JAIL_RESULT) {
		ends[RUN_WRITE] = open("/dev/null", O_WRONLY | O_CLOEXEC);
		return ends[RUN_WRITE] < 0 ? -1 : 0;
	}
	if (pipe2(ends, O_CLOEXEC) < 0 || own_pipe(run, ends[RUN_WRITE]) < 0)
		return -1;
	return fcntl(ends[RUN_READ], F_SETFL, O_NONBLOCK);
}

bool jail_is_one_file(const int fds[2])
{
	struct stat first, second;

	return fstat(fds[0], &first) == 0 && fstat(fds[1], &second) == 0 && first.st_dev == second.st_dev &&
	       first.st_ino == second.st_ino;
}

int run_open_passes(struct jail_run *run, struct warder_error *err)
{
	const int *fds = run->command.output_fds;

	for (int stream = 0; fds && stream < 2; stream++) {
		const int error = pass_open(fds[stream], &run->pass[stream]);
		char field[32];

		snprintf(field, sizeof(field), "output_fds[%d]", stream);
		if (error == EBADF)
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
					 "%s: descriptor %d (output_fds[%d]) is not open for writing",
					 stream == JAIL_STDOUT ? "standard output" : "standard error",
					 fds[stream], stream);
		if (error)
			return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, error,
					       "output_fds[%d]: descriptor %d", stream, fds[stream]);
	}
	run->merged = run->command.terminal_fd > 0 || run->command.merged || (fds && jail_is_one_file(fds));
	return 0;
}

static int check_terminal(const struct jail_run *run, struct warder_error *err)
{
	if (run_is_bare(run))
		return error_set(err, WARDER_ERROR_UNSUPPORTED_POLICY, "terminal_fd",
				 "a terminal for the program (-t, terminal_fd) needs a /dev/pts of its own, "
				 "which this backend does not make; use --backend local");
	if (run->tmpl->plan.rootfs.terminals == 0)
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, "devices.terminals",
		    "devices.terminals is 0, and the program is to have a terminal; set it to 1");
	if (run->tmpl->plan.background)
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, "terminal_fd",
		    "terminal_fd does not go with background processes: the terminal ends with the program");
	return terminal_check(run->command.terminal_fd, err);
}

int run_open_streams(struct jail_run *run, struct warder_error *err)
{
	if (run_open_passes(run, err) < 0)
		return -1;
	if (make_input(run) < 0 || make_output(run, JAIL_STDOUT) < 0 ||
	    (!run->merged && make_output(run, JAIL_STDERR) < 0) ||
	    (run->command.result_bytes && make_output(run, JAIL_RESULT) < 0) ||
	    (run->command.progress && make_output(run, JAIL_PROGRESS) < 0))
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
				       "cannot make the program's pipes");
	return 0;
}

/* Until a parked jail gets its program, it has in the place of the program's streams what leads nowhere. */
static int open_nothing(struct jail_run *run, struct warder_error *err)
{
	run->stdin_pipe[RUN_READ] = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (run->stdin_pipe[RUN_READ] >= 0)
		return 0;
	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "/dev/null");
}

static int step_streams(struct jail_run *run, struct warder_error *err)
{
	int on = 1;

	if (run->command.terminal_fd > 0 && check_terminal(run, err) < 0)
		return -1;
	if ((run->parked ? open_nothing(run, err) : run_open_streams(run, err)) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, run->control) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, run->exec) < 0 ||
	    setsockopt(run->exec[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
				       "cannot make the jail's sockets");
	run->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (run->cancel_fd < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "eventfd");
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

static const char *inside_step_name(uint32_t step)
{
	static const char *const names[] = {
#define X(id, name) [WIRE_STEP_##id] = name,
		WIRE_STEPS(X)
#undef X
	};

	return step < WIRE_STEP_COUNT ? names[step] : "?";
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
	if (run->tmpl->plan.namespaces & CLONE_NEWTIME)
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
	return run_is_contained(run) && !run_is_joined(run) && run->cgroup.join_v2_fd >= 0;
}

static int fill_block(struct jail_run *run, struct block *block, char *const *environment,
		      struct warder_error *err)
{
	const char *path = environment_get(environment, "PATH");
	struct wire_block header;

	if (policy_injects(&run->tmpl->plan.policy) && !run_is_joined(run) &&
	    (run_edge_await_authority(&run->edge, err) < 0 || check_room(run, err) < 0))
		return -1;
	run->clock_offset = run_is_joined(run) ? run->tmpl->plan.joint->clock_offset : clock_offset();
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
	header.backstop_ms = block_backstop_ms(run->given.wall_time_us);
	if (run->identity.fresh)
		header.flags |= WIRE_FRESH_USER_NS;
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
	if (run_is_joined(run) && run->cgroup.join_v2_fd >= 0)
		header.flags |= WIRE_LEAF;
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

static CLONE_BESIDE void leave_root(void *arg)
{
	int *mount_ns_fd = arg;
	const int fd = *mount_ns_fd;

	*mount_ns_fd = -1;
	sys(close, fd);
	sys(exit_group, 0);
}

/* Nobody but this process has the jail's mounts any more. Whether to end them here takes no longer than to have a process do it meanwhile:
 * all of them together take 0.2 ms, and files in /tmp their time. An overlay may have to look into its layers. */
static bool is_quickly_left(const struct jail_run *run)
{
	struct statfs fs;

	if (run->scratch_fd < 0 || run->tmpl->plan.rootfs.overlay_count || fstatfs(run->scratch_fd, &fs) < 0)
		return false;
	return (uint64_t)(fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize <= QUICK_BYTES &&
	       fs.f_files - fs.f_ffree <= QUICK_FILES;
}

void run_leave_root(struct jail_run *run)
{
	/* Else the release closes the descriptor. For that of one that was parked, nobody waits. */
	if (run->mount_ns_fd >= 0 && !run->parked && !is_quickly_left(run))
		clone_begin(&run->leaver, CLONE_FILES, leave_root, &run->mount_ns_fd);
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
		return wait_for(run, run->leaver.pid_fd, clock_us() + CLONE_LOOK_MS * 1000);
	run->leaver_hangs |= left == CLONE_HANGS;
	fd_done(&run->mount_ns_fd); /* unless that has closed it */
	network_free(run->network);
	run->network = NULL;
	fd_done(&run->network_fd);
	/* All processes of the jail are gone with its init. */
	if (run->part_fd >= 0 && run->reaped && !run->stuck)
		parts_give(run->tmpl->parts, &run->part_fd);
	fd_done(&run->part_fd);
	return template_settle_network(run->tmpl, false) ? 0 : wait_for(run, -1, clock_us() + SETTLE_LOOK_US);
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

void run_close_programs_ends(struct jail_run *run)
{
	fd_done(&run->stdin_pipe[RUN_READ]);
	for (int stream = 0; stream < JAIL_STREAMS; stream++)
		fd_done(&run->output_pipe[stream][RUN_WRITE]);
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

static int step_spawn(struct jail_run *run, struct warder_error *err)
{
	const struct jail_plan *plan = &run->tmpl->plan;
	struct spawn spawn = {
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
	ret = run_is_joined(run)
		  ? joined_start(run, spawn.fds, (size_t)spawn.fd_count, &run->init_pid, &run->init_fd, err)
	      : run_is_contained(run) ? start_init(run, &spawn, err)
				      : spawn_init(&spawn, &run->init_pid, &run->init_fd, err);
	/* Only the jail holds its ends now: end of file on ours means that it is gone. */
	fd_done(&run->control[1]);
	fd_done(&run->exec[1]);
	run_close_programs_ends(run);
	fd_done(&run->block_fd);
	if (run->parked && run->tmpl->parts && ret == 0)
		run->part_fd = fd_take(&run->network_fd);
	fd_done(&run->network_fd);
	fd_done(&run->join_fd);
	if (!run_is_contained(run))
		fd_done(&run->edge.setup_fd);
	return ret;
}

/* ---- setup, go ---- */

static int inside_failed(struct jail_run *run, const struct wire_message *message, struct warder_error *err)
{
	const char *name = inside_step_name(message->step);
	char detail[sizeof(message->detail) + 1] = "";

	memcpy(detail, message->detail, sizeof(message->detail));
	error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, message->error,
			"the jail could not be set up (%s%s%s)", name, *detail ? ": " : "", detail);
	snprintf(err->step, sizeof(err->step), "%s", name);
	if (message->step == WIRE_STEP_CWD) {
		err->code = WARDER_ERROR_INVALID_REQUEST;
		snprintf(err->field, sizeof(err->field), "workingDirectory");
	}
	/* An edge that has ended says why. */
	if (message->step == WIRE_STEP_NETWORK && (message->error == EPIPE || message->error == ECONNRESET))
		run_edge_await(&run->edge, err);
	return -1;
}

int run_died(const char *when, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
			 "the jail died %s (killed from outside, or too little memory for its start)", when);
}

/* One message from init or the payload. The sender's pid, as the kernel translates it, is the payload's; a descriptor comes with
 * WIRE_UPPER and WIRE_TERMINAL. */
static int receive(int socket_fd, struct wire_message *message, int *ret_pid, int *ret_fd)
{
	char space[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int))] __attribute__((aligned(8)));
	struct iovec iov = { .iov_base = message, .iov_len = sizeof(*message) };
	struct msghdr header = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof(space)
	};
	struct cmsghdr *cmsg;
	owned_fd int fd = -1;
	ssize_t n;

	do
		n = recvmsg(socket_fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return (int)n;
	for (cmsg = CMSG_FIRSTHDR(&header); cmsg; cmsg = CMSG_NXTHDR(&header, cmsg)) {
		if (ret_pid && cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SCM_CREDENTIALS)
			*ret_pid = ((struct ucred *)(void *)CMSG_DATA(cmsg))->pid;
		if (cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SCM_RIGHTS)
			memcpy(&fd, CMSG_DATA(cmsg), sizeof(fd));
	}
	if (ret_fd && fd >= 0) {
		fd_done(ret_fd);
		*ret_fd = fd_take(&fd);
	}
	return n == sizeof(*message) ? 1 : 0;
}

/* A message of init. What it says of the overlays is taken here, and only other messages are returned. */
static int receive_init(struct jail_run *run, struct wire_message *message, bool *ret_took)
{
	for (;;) {
		owned_fd int fd = -1;
		int got = receive(run->control[0], message, NULL, &fd);

		if (got <= 0 || message->type != WIRE_UPPER)
			return got;
		if (run->upper_count == ROOTFS_OVERLAYS_MAX || fd < 0)
			return 0;
		run->upper_fds[run->upper_count++] = fd_take(&fd);
		*ret_took = true;
	}
}

/* Once a second or so in the time that a set-up needs, which is a few milliseconds. -1 with *err: it is not waited for any longer. */
static int look_at_setup(struct jail_run *run, struct hang hangs[2], uint64_t deadline, const char *when,
			 struct warder_error *err)
{
	const int pids[2] = { run->init_pid, run->program_pid };
	char where[80];

	if (run->command.should_stop && run->command.should_stop(run->command.stop_context))
		return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL, "the launch was cancelled %s", when);
	for (int i = 0; i < 2; i++) {
		if (!hang_look(&hangs[i], pids[i]))
			continue;
		run_begin_end(run, RUN_PATIENCE_HUNG_US);
		return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
				 "the host's kernel does not go on: process %d of the jail hangs%s %s",
				 pids[i], hang_where(pids[i], where, sizeof(where)), when);
	}
	if (clock_us() >= deadline)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
				 "the jail did not answer within %d s %s", SETUP_TIMEOUT_MS / 1000, when);
	return 0;
}

/* Wait for a message on either socket. 1 with *message; 0: the jail is gone; -1 with *err. */
static int wait_message(struct jail_run *run, const char *when, struct wire_message *message, int *ret_pid,
			struct warder_error *err)
{
	struct pollfd fds[2] = { { .fd = run->exec[0], .events = POLLIN },
				 { .fd = run->control[0], .events = POLLIN } };
	const uint64_t deadline = clock_us() + SETUP_TIMEOUT_MS * 1000ull;
	struct hang hangs[2] = { 0 };

	for (;;) {
		int n = poll(fds, 2, SETUP_LOOK_MS);
		bool took = false;
		int got;

		if (n <= 0 && look_at_setup(run, hangs, deadline, when, err) < 0)
			return -1;
		if (n <= 0)
			continue;
		/* The payload's own word first: init may report its end meanwhile. */
		got = receive(run->exec[0], message, ret_pid, &run->terminal.master_fd);
		if (got <= 0) {
			struct wire_message payload;

			got = receive_init(run, message, &took);
			/* The payload may have spoken between the two looks, also more than once. Only its failure explains more than init's
			 * message does. */
			while (got >= 0 &&
			       receive(run->exec[0], &payload, ret_pid, &run->terminal.master_fd) > 0) {
				if (got > 0 && payload.type != WIRE_FAILED)
					continue;
				*message = payload;
				got = 1;
				break;
			}
		}
		if (got < 0 && took)
			continue;
		return got > 0 ? 1 : 0;
	}
}

/* The jail's own word on why it is not as it should be: the payload's before init's, of which *of_init is one if got >= 0. False:
 * it lives, and says nothing. */
static bool told_why(struct jail_run *run, int got, struct wire_message *of_init, struct warder_error *err)
{
	struct wire_message message;
	int payload = receive(run->exec[0], &message, NULL, NULL);
	bool took;

	if (payload > 0 && message.type == WIRE_FAILED) {
		inside_failed(run, &message, err);
		return true;
	}
	if (got < 0)
		got = receive_init(run, of_init, &took);
	if (got >= 0 && payload < 0 && receive(run->exec[0], &message, NULL, NULL) > 0 &&
	    message.type == WIRE_FAILED)
		return inside_failed(run, &message, err) != 0;
	if (got > 0 && of_init->type == WIRE_FAILED)
		inside_failed(run, of_init, err);
	else if (got >= 0 || payload == 0)
		run_died("during its set-up", err);
	else
		return false;
	return true;
}

/* What init had sent before the payload was born. */
static int take_uppers(struct jail_run *run, struct warder_error *err)
{
	/* Those of a session were made when it started. */
	const size_t wanted = run_is_joined(run) ? 0 : run->tmpl->plan.rootfs.overlay_count;
	struct wire_message message;
	bool took;
	int got;

	if (!wanted)
		return 0;
	got = receive_init(run, &message, &took);
	if (got < 0 && run->upper_count == wanted)
		return 0;
	return told_why(run, got, &message, err) ? -1 : run_died("during its set-up", err);
}

/* What a message means that came in the place of another one. */
static int told_otherwise(struct jail_run *run, const struct wire_message *message, struct warder_error *err)
{
	static const char *const meanings[] = {
		[WIRE_BORN] = "its program's process was born a second time",
		[WIRE_TERMINAL] = "its program's process made a terminal that nobody asked for",
		[WIRE_READY] = "its program's process was ready before it had been looked at",
		[WIRE_ENTERING] = "its program was about to start before it was allowed to",
		[WIRE_NO_EXEC] = "its program could not be started before it was allowed to start",
		[WIRE_ENDED] =
		    "its program's process ended before its program started (killed from outside?)",
		[WIRE_BACKSTOP] =
		    "the whole wall time was over before the program started; the host is too slow, "
		    "or its kernel hangs",
	};
	const char *meaning = message->type < ARRAY_LENGTH(meanings) ? meanings[message->type] : NULL;

	if (message->type == WIRE_BACKSTOP)
		run_begin_end(run, RUN_PATIENCE_HUNG_US);
	return error_set(err,
			 message->type == WIRE_BACKSTOP || message->type == WIRE_ENDED
			     ? WARDER_ERROR_UNAVAILABLE
			     : WARDER_ERROR_INTERNAL,
			 NULL, "the jail was given up during its set-up: %s",
			 meaning ? meaning : "its init said something that is not part of a launch");
}

/* The payload's next word, which says of what type it is to be. */
static int expect(struct jail_run *run, enum wire_type type, struct wire_message *message,
		  struct warder_error *err)
{
	int got = wait_message(run, "during its set-up", message, &run->program_pid, err);

	if (got < 0)
		return -1;
	if (got == 0)
		return run_died("during its set-up", err);
	if (message->type == WIRE_FAILED)
		return inside_failed(run, message, err);
	if (message->type != type || run->program_pid <= 0)
		return told_otherwise(run, message, err);
	return 0;
}

/* What the payload was born into. If it has failed meanwhile, that is why it cannot be looked at. */
static int read_setup(struct jail_run *run, struct warder_error *err)
{
	struct wire_message message;

	if (readback_setup(run, err) == 0)
		return 0;
	if (!told_why(run, -1, &message, err))
		snprintf(err->step, sizeof(err->step), "read-back");
	return -1;
}

/* The payload's terminal, in the place of its pipes. Nothing untrusted has run: the master is as our own program made it. */
static int take_terminal(struct jail_run *run, struct warder_error *err)
{
	const struct input_source source = { .fd = run->command.terminal_fd };
	struct wire_message message;

	if (run->command.terminal_fd <= 0)
		return 0;
	if (expect(run, WIRE_TERMINAL, &message, err) < 0 ||
	    terminal_open(&run->terminal, run->command.terminal_fd, err) < 0)
		return -1;
	run->output_pipe[JAIL_STDOUT][RUN_READ] = fcntl(run->terminal.master_fd, F_DUPFD_CLOEXEC, 3);
	run->stdin_pipe[RUN_WRITE] = fcntl(run->terminal.master_fd, F_DUPFD_CLOEXEC, 3);
	if (run->output_pipe[JAIL_STDOUT][RUN_READ] < 0 || run->stdin_pipe[RUN_WRITE] < 0 ||
	    input_open(&run->input, &source, run->stdin_pipe) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
				       "cannot read the program's terminal");
	return 0;
}

/* Before the payload is looked at. An init that has ended has told why. */
static int furnish_network(struct jail_run *run, struct warder_error *err)
{
	struct wire_message message;

	if (!run_is_contained(run) || run->edge.setup_fd < 0)
		return 0;
	if (network_furnish(run->init_pid, block_header(&run->tmpl->block), run->edge.setup_fd, err) < 0) {
		told_why(run, -1, &message, err);
		return -1;
	}
	fd_done(&run->edge.setup_fd);
	return 0;
}

static int step_setup(struct jail_run *run, struct warder_error *err)
{
	struct wire_message message;

	/* What will not change any more is read back while the jail goes on: its cgroups, then what its payload was born into. */
	if (readback_limits(run, err) < 0) {
		snprintf(err->step, sizeof(err->step), "read-back");
		return -1;
	}
	if (furnish_network(run, err) < 0 || expect(run, WIRE_BORN, &message, err) < 0 ||
	    take_uppers(run, err) < 0 || read_setup(run, err) < 0 || take_terminal(run, err) < 0 ||
	    expect(run, WIRE_READY, &message, err) < 0)
		return -1;
	run->applied = message.applied;
	run->identity.fresh = false;
	identity_reap(&run->identity);
	return run_edge_await(&run->edge, err);
}

static int step_read_back(struct jail_run *run, struct warder_error *err)
{
	return readback_check(run, err);
}

/* The payload, or its program, still waits: nobody else is in there. */
int run_put_files(struct jail_run *run, struct warder_error *err)
{
	const struct jail_command *command = &run->command;
	const struct jail_plan *plan = &run->tmpl->plan;
	const uid_t uid = plan->privileged ? run->identity.base + plan->uid : (uid_t)-1;
	const gid_t gid = plan->privileged ? run->identity.base + plan->gid : (gid_t)-1;

	if (command->scratch) {
		run->scratch_fd = open(command->scratch, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (run->scratch_fd < 0)
			return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "files", errno,
					       "cannot open %.200s", command->scratch);
	}
	if (command->file_count &&
	    rootfs_put_files(run->scratch_fd, command->files, command->file_count, uid, gid, err) != 0)
		return -1;
	run->scratch_was_full = run_scratch_is_full(run);
	return 0;
}

static int no_exec(const struct jail_run *run, int error, struct warder_error *err)
{
	const char *name = run->command.argv[0];

	if (error == ENOENT || error == ENOTDIR)
		return error_set_errno(
		    err, WARDER_ERROR_NOT_FOUND, "argv[0]", error,
		    "%s: no such program inside the jail (a host path must be in the policy's view: "
		    "workspace, filesystem.paths), or its interpreter is missing",
		    name);
	return error_set_errno(
	    err, WARDER_ERROR_EXECUTION_FAILED, "argv[0]", error, "%s: cannot be executed inside the jail%s",
	    name, error == EACCES ? " (mode bits, or a mount without exec: filesystem.tmpExec)" : "");
}

static int send_go(struct jail_run *run, struct warder_error *err)
{
	const struct wire_message message = { .type = WIRE_GO };

	if (run->parked)
		return run_send_program(run, err);
	if (send(run->exec[0], &message, sizeof(message), MSG_NOSIGNAL) != sizeof(message))
		return run_died("before its exec", err);
	return 0;
}

/* The exec has three ends: an error; end of file after ENTERING, which is success; anything else is a death. */
static int step_go(struct jail_run *run, struct warder_error *err)
{
	struct wire_message message;
	const bool holds = run->tmpl->plan.holds; /* no exec follows */
	struct pollfd fd = { .fd = run->exec[0], .events = holds ? POLLIN : 0 };
	struct hang hangs[2] = { 0 };
	bool entering = false;

	run->go_us = clock_us();
	if (send_go(run, err) < 0)
		return -1;
	readback_rest(run);
	/* Woken once, by the hang-up: the exec closed the payload's end, or its exit did. */
	while (poll(&fd, 1, SETUP_LOOK_MS) <= 0)
		if (look_at_setup(run, hangs, run->go_us + SETUP_TIMEOUT_MS * 1000ull, "at its exec", err) <
		    0)
			return -1;
	while (receive(run->exec[0], &message, NULL, NULL) > 0) {
		if (message.type == WIRE_NO_EXEC)
			return no_exec(run, message.error, err);
		entering = message.type == WIRE_ENTERING;
	}
	return entering && (holds || (fd.revents & POLLHUP)) ? 0 : run_died("at its exec", err);
}

/* ---- undo ---- */

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
	run->cgroup.stuck = run->stuck;
	left = cgroup_remove_step(&run->cgroup, err);
	return left == CGROUP_BUSY ? wait_for(run, -1, clock_us() + run->cgroup.remove_pause_us) : left;
}

static int undo_processors(struct jail_run *run, struct warder_error *err)
{
	affinity_done(&run->affinity);
	return 0;
}

static int undo_streams(struct jail_run *run, struct warder_error *err)
{
	run_warm_done(run);
	input_done(&run->input);
	terminal_done(&run->terminal);
	for (int i = 0; i < 2; i++) {
		fd_done(&run->stdin_pipe[i]);
		for (int stream = 0; stream < JAIL_STREAMS; stream++)
			fd_done(&run->output_pipe[stream][i]);
		fd_done(&run->control[i]);
		fd_done(&run->exec[i]);
		pass_done(&run->pass[i]);
	}
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

static int undo_read_back(struct jail_run *run, struct warder_error *err)
{
	fd_done(&run->proc_fd);
	fd_done(&run->scratch_fd);
	fd_done(&run->snmp_fd);
	return 0;
}

static int undo_setup(struct jail_run *run, struct warder_error *err)
{
	while (run->upper_count > 0)
		fd_done(&run->upper_fds[--run->upper_count]);
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
	{ "streams", step_streams, undo_streams }, /* after identity: the pipes belong to the jail's user */
	{ "plan", step_plan, undo_plan },
	{ "spawn", step_spawn, undo_spawn },
	{ "build-root", step_build_root, NULL }, /* init waits for it as well, where it enters it */
	{ "setup", step_setup, undo_setup },
	{ "read-back", step_read_back, undo_read_back }, /* the payload waits: nothing untrusted has run */
	{ "stage", run_put_files, NULL },
	{ "go", step_go, NULL },
};
#define STEPS      (ARRAY_LENGTH(steps))
#define FIRST_LATE (STEPS - 2) /* a parked jail does these when it gets its program */

/* ---- the end ---- */

bool run_has_turn(struct jail_run *run)
{
	if (run->counted && !run->had_turn)
		run->turn_us = ends_turn_us();
	run->had_turn = true;
	return clock_us() >= run->turn_us;
}

void run_begin_end(struct jail_run *run, uint64_t patience_us)
{
	if (!run->give_up_us)
		run->give_up_us = clock_us() + patience_us;
}

/* An init that restricts nothing has no pid namespace that dies with it: it kills what it has started, wherever that has gone, and
 * then ends. The program may have stopped it. */
void run_signal(const struct jail_run *run)
{
	if (run_is_bare(run)) {
		syscall(SYS_pidfd_send_signal, run->init_fd, SIGTERM, NULL, 0);
		syscall(SYS_pidfd_send_signal, run->init_fd, SIGCONT, NULL, 0);
		return;
	}
	cgroup_kill(&run->cgroup);
	syscall(SYS_pidfd_send_signal, run->init_fd, SIGKILL, NULL, 0);
}

/* The processes in a list of the kernel's, at most a few of them by number; how many there are. */
static int list_processes(int dir_fd, const char *file, char *ret, size_t size)
{
	owned_fd int fd = openat(dir_fd, file, O_RDONLY | O_CLOEXEC);
	FILE *list = fd < 0 ? NULL : fdopen(fd, "r");
	size_t used = 0;
	int count = 0;
	int pid;

	*ret = 0;
	if (!list)
		return 0;
	fd_take(&fd);
	for (; fscanf(list, "%d", &pid) == 1; count++)
		if (count < 4 && used < size)
			used += (size_t)snprintf(ret + used, size - used, count ? " %d" : "%d", pid);
	if (count > 4 && used < size)
		snprintf(ret + used, size - used, " and %d more", count - 4);
	fclose(list);
	return count;
}

/* The jail's processes: of its cgroup; of an init that restricts nothing, its children; at least init. */
static void list_jail(const struct jail_run *run, char *ret, size_t size)
{
	char path[64];

	for (int h = 0; h < CGROUP_HIERARCHIES_MAX; h++)
		if (run->cgroup.used[h] && list_processes(run->cgroup.dir_fd[h], "cgroup.procs", ret, size))
			return;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", run->init_pid, run->init_pid);
	if (!run_is_bare(run) || !list_processes(AT_FDCWD, path, ret, size))
		snprintf(ret, size, "%d", run->init_pid);
}

/* Says what stays behind of a jail that does not die. While its cgroup is open, and its init there. */
static void name_rest(struct jail_run *run)
{
	const struct cgroup_host *host = run->cgroup.host;
	char pids[80];
	char group[200] = "";
	char mounts[64] = "";

	list_jail(run, pids, sizeof(pids));
	for (size_t h = 0; host && h < host->hierarchy_count && !*group; h++)
		if (run->cgroup.used[h])
			snprintf(group, sizeof(group), ", cgroup %.90s/%.95s", host->hierarchies[h].base,
				 run->cgroup.name);
	if (!run_is_bare(run))
		snprintf(mounts, sizeof(mounts), ", mounts (/proc/%d/mountinfo)", run->init_pid);
	snprintf(run->left, sizeof(run->left),
		 "the jail does not die: the kernel holds it. Left behind: processes %s%s%s. If they end, "
		 "\"warder doctor "
		 "--clean\" removes the rest",
		 pids, group, mounts);
}

/* Without a pid namespace that ends with init: an init that was killed has not killed what it started, as its cgroup tells. */
static bool is_populated(const struct jail_run *run)
{
	const int h = run->cgroup.host ? run->cgroup.host->v2 : -1;
	char ignored[80];

	return run_is_bare(run) && h >= 0 && run->cgroup.used[h] &&
	       list_processes(run->cgroup.dir_fd[h], "cgroup.procs", ignored, sizeof(ignored));
}

static int give_up(struct jail_run *run)
{
	run->stuck = true;
	name_rest(run);
	/* One that restricts nothing does not hang itself; a child of its does. */
	cgroup_kill(&run->cgroup);
	syscall(SYS_pidfd_send_signal, run->init_fd, SIGKILL, NULL, 0);
	return -1;
}

int run_kill(struct jail_run *run)
{
	struct pollfd init = { .fd = run->init_fd, .events = POLLIN };
	siginfo_t info;

	if (run->stuck)
		return -1;
	if (run->init_fd < 0 || run->reaped || run->kept)
		return 0;
	run->init_died = run->init_died || poll(&init, 1, 0) == 1;
	if (!run->init_died && !run_has_turn(run))
		return wait_for(run, run->init_fd, run->turn_us);
	run_begin_end(run, RUN_PATIENCE_US);
	if (!run->init_died)
		run_signal(run);
	if (!run->init_died || is_populated(run)) {
		if (clock_us() >= run->give_up_us)
			return give_up(run);
		if (!run->init_died)
			return wait_for(run, run->init_fd, clock_us() + KILL_AGAIN_US);
		cgroup_kill(&run->cgroup);
		return wait_for(run, -1, clock_us() + EMPTY_LOOK_US);
	}
	/* A host that waits for any child, or ignores SIGCHLD, may have reaped it. */
	waitid(P_PIDFD, (id_t)run->init_fd, &info, WEXITED | __WALL);
	run->reaped = true;
	return 0;
}

int run_stop_starter(struct jail_run *run)
{
	struct warder_error err;
	int stopped = 0;
	int fd = -1;

	if (run->started)
		stopped = run->tmpl->plan.starter->stop(run->started, run->stuck, &fd, &err);
	if (stopped == JAIL_STOPPING)
		return wait_for(run, fd, clock_us() + JAIL_STOPPING_LOOK_US);
	run->started = NULL;
	if (stopped == 0 || run->stuck)
		return 0;
	run->stuck = true;
	snprintf(run->left, sizeof(run->left), "%s", err.text);
	return 0;
}

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

int run_release(struct jail_run *run, struct warder_error *err)
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
	run->part_fd = -1;
	run->edge = (struct run_edge)RUN_EDGE_NONE;
	pthread_mutex_init(&run->edge_lock, NULL);
	run->join_fd = -1;
	run->block_fd = -1;
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

static void add_rest(const struct jail_run *run, struct warder_error *err)
{
	const size_t used = strlen(err->text);

	snprintf(err->text + used, sizeof(err->text) - used, "; %s", run->left);
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
		run->receipt = calloc(1, sizeof(*run->receipt));
	if (!run || !run->receipt) {
		free(run);
		return error_no_memory(err, NULL);
	}
	run_init(run, tmpl, command);
	run->parked = parked;
	if (run_steps(run, 0, parked ? FIRST_LATE : STEPS, err) < 0) {
		run_release(run, &left);
		if (run->stuck)
			add_rest(run, err);
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

static void wake(const struct jail_run *run)
{
	const uint64_t one = 1;
	int saved = errno;

	if (write(run->cancel_fd, &one, sizeof(one)) < 0)
		errno = saved; /* a full counter wakes as well */
}

void jail_cancel(struct jail_run *run)
{
	atomic_store(&run->cancelled, true);
	wake(run);
}

void jail_stop(struct jail_run *run, int signal, uint64_t grace_us)
{
	int none = 0;

	atomic_store(&run->stop_grace_us, grace_us);
	if (!atomic_compare_exchange_strong(&run->stop_signal, &none, signal))
		atomic_store(&run->cancelled, true);
	wake(run);
}

void jail_input_ready(struct jail_run *run)
{
	atomic_store(&run->input_ready, true);
	wake(run);
}

void jail_hold_output(struct jail_run *run, bool held)
{
	atomic_store(&run->output_held, held);
	wake(run);
}

void jail_resize(struct jail_run *run)
{
	atomic_store(&run->resized, true);
	wake(run);
}

void jail_pause_clock(struct jail_run *run, bool paused)
{
	const uint64_t since_us = atomic_load(&run->paused_at_us);

	/* In this order: the supervision must not see a clock that goes on and has not stood still. */
	if (since_us)
		atomic_fetch_add(&run->paused_us, clock_us() - since_us);
	atomic_store(&run->paused_at_us, paused ? clock_us() : 0);
	wake(run);
}

void jail_extend(struct jail_run *run, uint64_t us)
{
	atomic_fetch_add(&run->extend_us, us);
	wake(run);
}

uint16_t jail_run_published(const struct jail_run *run, size_t row)
{
	return row < run->edge.published_count ? run->edge.published[row] : 0;
}

int jail_run_replace_rules(struct jail_run *run, const struct policy *policy, uint64_t *ret_since_us,
			   struct warder_error *err)
{
	int ret;

	pthread_mutex_lock(&run->edge_lock);
	ret = run_edge_replace(&run->edge, &run->tmpl->plan.policy, policy, ret_since_us, err);
	pthread_mutex_unlock(&run->edge_lock);
	return ret;
}

void jail_run_end_network(struct jail_run *run)
{
	pthread_mutex_lock(&run->edge_lock);
	if (run->edge.pid)
		syscall(SYS_pidfd_send_signal, run->edge.pid_fd, SIGKILL, NULL, 0);
	pthread_mutex_unlock(&run->edge_lock);
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
	ret = run_release(run, err);
	/* The result has been delivered. What supervisors that were killed left, nobody else may ever look for. */
	if (run->supervised && !run_is_joined(run) && !atomic_exchange(&run->tmpl->cleaned, true))
		cgroup_clean_briefly(&run->tmpl->host->cgroup);
	if (!run->leaver_hangs)
		pthread_mutex_destroy(&run->edge_lock);
	fd_done(
	    &run->cancel_fd); /* kept until here: a cancel may come from another thread at any time before */
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
