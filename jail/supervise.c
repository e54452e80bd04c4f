/*
 * Supervision: one poll loop over init's socket and pidfd, both outputs, the input, the cancel event and the cgroup's
 * OOM event, with the nearest deadline as its timeout. (poll and not epoll: seven descriptors, one run; epoll would
 * add eight calls to every launch and save none.)
 *
 * Nothing here can block on the jail: our pipe ends do not block, outputs are read and dropped beyond their
 * limits, and a jail that ignores every signal, stops itself or daemonises dies with its pid namespace and cgroup.
 * The program's end is what init reports; the run's end is init's death, after which no process of the jail is left
 * and whatever the pipes still hold is all there will be.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "jail/joined.h"
#include "jail/overlay.h"
#include "jail/run.h"

#ifndef PIDFD_SIGNAL_PROCESS_GROUP
#define PIDFD_SIGNAL_PROCESS_GROUP 4 /* linux/pidfd.h; not in every libc */
#endif
#define CHUNK          16384
#define OOM_SETTLE_US  1000000
#define KILL_AGAIN_US  2000000 /* before a jail is given up: the time in which it is killed again and again */
#define PIPE_MOST      (1 << 20) /* fs.pipe-max-size, which a jail cannot exceed */
#define PAGE_LEAST     4096
#define WATCH_AFTER_US 20000 /* what ends sooner is judged by its counters alone */

static const char *const cause_names[] = {
	[JAIL_CAUSE_EXIT] = "exit",           [JAIL_CAUSE_SIGNAL] = "signal",
	[JAIL_CAUSE_WALL_TIME] = "wallTime",  [JAIL_CAUSE_CPU_TIME] = "cpuTime",
	[JAIL_CAUSE_MEMORY] = "memory",       [JAIL_CAUSE_PIDS] = "pids",
	[JAIL_CAUSE_OUTPUT] = "output",       [JAIL_CAUSE_DISK] = "disk",
	[JAIL_CAUSE_SYSCALL] = "syscall",     [JAIL_CAUSE_NETWORK] = "network",
	[JAIL_CAUSE_CANCELLED] = "cancelled", [JAIL_CAUSE_SUPERVISOR] = "supervisor",
	[JAIL_CAUSE_HOST] = "host",
};

const char *jail_cause_name(enum jail_cause cause)
{
	return cause_names[cause];
}

struct loop {
	struct jail_run *run;
	struct jail_outcome *outcome;
	bool ended; /* init reported the program's end */
	int wait_status;
	uint64_t ended_us;
	bool left_running; /* init says that something is left */
	bool backstop;     /* init ended it, at its own deadline */
	bool emptied;      /* init of a bare jail says that nothing is left */
	bool killed;       /* we ended it, for `reason` */
	enum jail_cause reason;
	const char *failure; /* what went wrong on our side, with JAIL_CAUSE_SUPERVISOR */
	size_t capacity[JAIL_STREAMS];
	uint64_t stop_at_us;     /* the end of the grace after a signal; UINT64_MAX: none */
	uint64_t deadline_us;    /* of the wall time; UINT64_MAX: none */
	uint64_t grace_until_us; /* of a slow reader, when the jail is gone */
	uint64_t grace_most_us;
	bool watching;         /* for OOM events */
	uint64_t oom_until_us; /* an OOM event came: its kill may still have to be counted */
	char chunk[CHUNK];
};

enum {
	POLL_CONTROL,
	POLL_INIT,
	POLL_STDOUT,
	POLL_STDERR,
	POLL_RESULT,
	POLL_STDIN,
	POLL_SOURCE,
	POLL_CANCEL,
	POLL_OOM,
	POLL_COUNT
};

/* The first reason stands: what comes later is its consequence. */
static void end_run(struct loop *loop, enum jail_cause reason)
{
	if (loop->killed)
		return;
	loop->killed = true;
	loop->reason = reason;
	run_take_turn(loop->run);
	run_begin_end(loop->run, RUN_PATIENCE_US);
	run_signal(loop->run);
}

static void fail_run(struct loop *loop, const char *failure)
{
	if (!loop->killed)
		loop->failure = failure;
	end_run(loop, JAIL_CAUSE_SUPERVISOR);
}

/* ---- output ---- */

static bool is_passed(const struct loop *loop, int stream)
{
	return stream != JAIL_RESULT && loop->run->command.output_fds;
}

static uint64_t stream_limit(const struct loop *loop, int stream)
{
	const struct jail_plan *plan = &loop->run->tmpl->plan;

	if (stream == JAIL_RESULT)
		return loop->run->command.result_bytes;
	if (is_passed(loop, stream))
		return loop->run->command.output_max ? loop->run->command.output_max : UINT64_MAX;
	return stream == JAIL_STDOUT ? plan->stdout_bytes : plan->stderr_bytes;
}

/* ---- passing on ---- */

static bool has_pending(const struct loop *loop, int stream)
{
	return is_passed(loop, stream) && pass_waiting(&loop->run->pass[stream]) > 0;
}

/* From now on nothing of the stream is passed on; it is only counted. */
static void drop_rest(struct loop *loop, int stream)
{
	loop->outcome->dropped[stream] += pass_waiting(&loop->run->pass[stream]);
	pass_done(&loop->run->pass[stream]);
}

static void pass_on(struct loop *loop, int stream)
{
	const int error = pass_step(&loop->run->pass[stream]);

	if (!error)
		return;
	drop_rest(loop, stream);
	loop->outcome->receiver_errno = error;
	fail_run(loop, error == EPIPE ? "the reader of the program's output is gone"
				      : "the program's output cannot be written");
}

/* ---- keeping ---- */

static int keep(struct loop *loop, int stream, const char *bytes, size_t len)
{
	struct jail_output *output = &loop->outcome->output[stream];

	if (output->len + len + 1 > loop->capacity[stream]) {
		size_t capacity = loop->capacity[stream] ? loop->capacity[stream] : 4096;
		char *grown;

		while (capacity < output->len + len + 1)
			capacity *= 2;
		grown = realloc(output->bytes, capacity);
		if (!grown)
			return -1;
		output->bytes = grown;
		loop->capacity[stream] = capacity;
	}
	memcpy(output->bytes + output->len, bytes, len);
	output->len += len;
	output->bytes[output->len] = 0;
	return 0;
}

/* What does not fit into the file is left out, and the run goes on: how much the file has is told. */
static void spill(struct loop *loop, int stream, const char *bytes, size_t len)
{
	const struct jail_command *command = &loop->run->command;
	struct jail_outcome *outcome = loop->outcome;
	uint64_t room;

	if (stream == JAIL_RESULT || !command->spill_fds || command->spill_fds[stream] < 0)
		return;
	room = command->spill_bytes - outcome->spilled[stream];
	len = len < room ? len : (size_t)room;
	while (len && !outcome->spill_errno[stream]) {
		ssize_t n = write(command->spill_fds[stream], bytes, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			outcome->spill_errno[stream] = n < 0 ? errno : ENOSPC;
			return;
		}
		outcome->spilled[stream] += (uint64_t)n;
		bytes += n;
		len -= (size_t)n;
	}
}

/* Of a stream whose bytes are in the room of its pass, unless that is closed. */
static void hand_on(struct loop *loop, int stream, size_t len)
{
	if (!pass_is_open(&loop->run->pass[stream])) {
		loop->outcome->dropped[stream] += len;
		return;
	}
	pass_give(&loop->run->pass[stream], len);
	pass_on(loop, stream);
}

static void deliver(struct loop *loop, int stream, const char *bytes, size_t len)
{
	const struct jail_command *command = &loop->run->command;
	struct jail_output *output = &loop->outcome->output[stream];
	uint64_t limit = stream_limit(loop, stream);
	uint64_t room = output->total < limit ? limit - output->total : 0;
	size_t wanted = len < room ? len : (size_t)room;

	output->total += len;
	spill(loop, stream, bytes, len);
	if (wanted && is_passed(loop, stream)) {
		hand_on(loop, stream, wanted);
	} else if (wanted && loop->reason != JAIL_CAUSE_SUPERVISOR) {
		if (stream != JAIL_RESULT && command->on_output) {
			if (command->on_output(command->context, (enum jail_stream)stream, bytes, wanted))
				fail_run(loop, "the receiver of the program's output failed");
		} else if (keep(loop, stream, bytes, wanted) < 0) {
			fail_run(loop, "no memory for the program's output");
		}
	}
	if (output->total > limit) {
		output->truncated = true;
		if (is_passed(loop, stream) ||
		    (stream != JAIL_RESULT && loop->run->tmpl->plan.kill_on_output && !loop->ended))
			end_run(loop, JAIL_CAUSE_OUTPUT);
	}
}

/* The jail is gone. A reader that takes something has JAIL_GRACE_US more each time, but no longer than the wall time. */
static void extend_grace(struct loop *loop)
{
	const uint64_t wanted = clock_us() + JAIL_GRACE_US;

	loop->grace_until_us = wanted < loop->grace_most_us ? wanted : loop->grace_most_us;
}

/* What is left waits for a slow reader, until the grace is over or the caller cancels. Then it is dropped. */
static void pass_rest(struct loop *loop, int stream)
{
	while (has_pending(loop, stream)) {
		struct pass *pass = &loop->run->pass[stream];
		struct pollfd fds[2] = { { .fd = pass_poll_fd(pass), .events = POLLOUT },
					 { .fd = loop->run->cancel_fd, .events = POLLIN } };
		const uint64_t now = clock_us();
		const uint64_t left = now < loop->grace_until_us ? loop->grace_until_us - now : 0;
		const uint64_t passed = pass->passed;

		if (poll(fds, 2, (int)((left + 999) / 1000)) < 0)
			continue;
		if (left == 0 || fds[1].revents)
			drop_rest(loop, stream);
		else if (fds[0].revents)
			pass_on(loop, stream);
		if (pass->passed > passed)
			extend_grace(loop);
	}
}

/* One chunk. Closes our end at end of file. Returns whether there may be more. */
static bool read_output(struct loop *loop, int stream)
{
	int *fd = &loop->run->output_pipe[stream][RUN_READ];
	char *bytes = loop->chunk;
	size_t size = sizeof(loop->chunk);
	ssize_t n;

	if (*fd < 0)
		return false;
	if (is_passed(loop, stream) && pass_is_open(&loop->run->pass[stream])) {
		bytes = pass_room(&loop->run->pass[stream]);
		size = PASS_CHUNK;
	}
	n = read(*fd, bytes, size);
	if (n > 0) {
		deliver(loop, stream, bytes, (size_t)n);
		return true;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return errno == EINTR;
	/* Nobody has the program's terminal open any more: nobody will read from it, either. */
	if (n < 0 && errno == EIO && loop->run->terminal.master_fd >= 0)
		fd_done(&loop->run->stdin_pipe[RUN_WRITE]);
	else if (n < 0) /* what is lost is not passed off as the end */
		fail_run(loop, "the program's output cannot be read");
	fd_done(fd);
	return false;
}

/* ---- events ---- */

static void read_control(struct loop *loop)
{
	struct wire_message message;
	ssize_t n = recv(loop->run->control[0], &message, sizeof(message), MSG_DONTWAIT);

	if (n == sizeof(message) && message.type == WIRE_BACKSTOP) {
		loop->backstop = true;
		loop->ended_us = message.end_us;
	} else if (n == sizeof(message) && message.type == WIRE_ENDED &&
		   (WIFEXITED(message.wait_status) || WIFSIGNALED(message.wait_status))) {
		loop->ended = true;
		loop->wait_status = message.wait_status;
		loop->left_running = message.applied != 0;
		loop->ended_us = message.end_us;
		loop->outcome->user_us = message.user_us;
		loop->outcome->system_us = message.system_us;
	} else if (n == sizeof(message) && message.type == WIRE_EMPTIED) {
		loop->emptied = true;
	} else if (n == 0) {
		fd_done(&loop->run->control[0]);
	}
}

/* A kill that the limit of this leaf does not explain: the session's, which holds over all its executions together? */
static bool is_sessions(const struct loop *loop)
{
	return run_is_joined(loop->run) && cgroup_above_oom(&loop->run->cgroup);
}

/* v1 kills one process only; the jail ends as a whole, as with memory.oom.group. The kernel tells of the event before it
 * has chosen and counted a victim. */
static void check_oom(struct loop *loop)
{
	uint64_t kills = 0;
	bool own_limit = false;

	if (cgroup_oom(&loop->run->cgroup, &kills, &own_limit) == 0 && kills)
		end_run(loop, own_limit || is_sessions(loop) ? JAIL_CAUSE_MEMORY : JAIL_CAUSE_HOST);
}

static void watch_oom(struct loop *loop)
{
	struct warder_error err;

	loop->watching = true;
	if (cgroup_watch_oom(&loop->run->cgroup, &err) < 0)
		fail_run(loop, "cannot watch OOM events");
	else if (loop->run->cgroup.event_fd >= 0)
		loop->oom_until_us = clock_us() + OOM_SETTLE_US; /* what happened before is not an event */
}

/* The time until the CPU limit can be reached at the earliest, given how many CPUs the jail may use at once. */
static uint64_t cpu_check(struct loop *loop, uint64_t now)
{
	const struct jail_plan *plan = &loop->run->tmpl->plan;
	uint64_t used = 0;
	uint64_t left;
	uint64_t cpus = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN) * 1000;

	if (plan->cpu_time_us == POLICY_UNLIMITED)
		return UINT64_MAX;
	if (cgroup_cpu_usage(&loop->run->cgroup, &used) < 0) {
		fail_run(loop, "the CPU time cannot be read");
		return UINT64_MAX;
	}
	if (used >= plan->cpu_time_us) {
		end_run(loop, JAIL_CAUSE_CPU_TIME);
		return UINT64_MAX;
	}
	if (plan->cgroup.cpu_milli < cpus)
		cpus = plan->cgroup.cpu_milli;
	left = (plan->cpu_time_us - used) * 1000 / (cpus ? cpus : 1);
	return now + (left < 5000 ? 5000 : left);
}

static int timeout_ms(const struct loop *loop, uint64_t now, uint64_t deadline, uint64_t cpu_at)
{
	const uint64_t watch_at = loop->run->go_us + WATCH_AFTER_US;
	const int input_ms = input_timeout_ms(&loop->run->input);
	uint64_t at = deadline < cpu_at ? deadline : cpu_at;

	if (loop->run->give_up_us)
		return 100;
	if (loop->stop_at_us < at)
		at = loop->stop_at_us;
	if (input_ms >= 0 && now + (uint64_t)input_ms * 1000 < at)
		at = now + (uint64_t)input_ms * 1000;
	if (!loop->watching && watch_at < at)
		at = watch_at;
	if (now < loop->oom_until_us && now + 10000 < at)
		at = now + 10000;
	return at <= now ? 0 : (int)((at - now) / 1000 > 3600000 ? 3600000 : (at - now + 999) / 1000);
}

static void fill_poll(const struct loop *loop, struct pollfd fds[POLL_COUNT])
{
	const struct jail_run *run = loop->run;

	fds[POLL_CONTROL] = (struct pollfd){ .fd = run->control[0], .events = POLLIN };
	fds[POLL_INIT] = (struct pollfd){ .fd = run->init_fd, .events = POLLIN };
	/* What is not passed on yet keeps its stream from being read: the program waits, as it would for the reader itself. */
	for (int stream = 0; stream < JAIL_STREAMS; stream++) {
		fds[POLL_STDOUT + stream] =
		    (struct pollfd){ .fd = run->output_pipe[stream][RUN_READ], .events = POLLIN };
		if (has_pending(loop, stream))
			fds[POLL_STDOUT + stream] =
			    (struct pollfd){ .fd = pass_poll_fd(&run->pass[stream]), .events = POLLOUT };
	}
	input_poll(&run->input, &fds[POLL_STDIN], &fds[POLL_SOURCE]);
	fds[POLL_CANCEL] = (struct pollfd){
		.fd = loop->killed || (loop->ended && atomic_load(&run->cancelled)) ? -1 : run->cancel_fd,
		.events = POLLIN
	};
	fds[POLL_OOM] = (struct pollfd){ .fd = loop->killed ? -1 : run->cgroup.event_fd, .events = POLLIN };
}

/* Whether a directory of /proc is that of a child of the jail's init. */
static bool is_inits_child(const struct jail_run *run, int proc_fd)
{
	owned_fd int fd = openat(proc_fd, "status", O_RDONLY | O_CLOEXEC);
	char text[1024];
	const ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	const char *parent;

	if (n <= 0)
		return false;
	text[n] = 0;
	parent = strstr(text, "\nPPid:\t");
	return parent && atoi(parent + 7) == run->init_pid;
}

/* To the process group that the program leads; init has no right to do that. A process that has got the program's number meanwhile is
 * one of the jail's, or is left alone. Before Linux 6.9 a group is known by its number only. False: the program has not got it. */
static bool signal_program(const struct jail_run *run, int number)
{
	owned_fd int fd = -1;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", run->program_pid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* serves as its pidfd */
	if (fd < 0 || !is_inits_child(run, fd))
		return false;
	if (syscall(SYS_pidfd_send_signal, fd, number, NULL, PIDFD_SIGNAL_PROCESS_GROUP) == 0)
		return true;
	return errno == EINVAL && kill(-run->program_pid, number) == 0;
}

/* The program has the grace to end by itself. */
static void send_signal(struct loop *loop, int number)
{
	const uint64_t grace_us = atomic_load(&loop->run->stop_grace_us);
	const uint64_t now = clock_us();

	loop->stop_at_us = grace_us > UINT64_MAX - now ? UINT64_MAX : now + grace_us;
	signal_program(loop->run,
		       number); /* the grace is for what it does then, or for its end that is on its way */
}

static void heed_caller(struct loop *loop)
{
	const int number = atomic_load(&loop->run->stop_signal);
	uint64_t count;

	if (atomic_load(&loop->run->cancelled)) {
		if (!loop->ended)
			end_run(loop, JAIL_CAUSE_CANCELLED);
		return; /* it stays readable: a wait for a slow reader ends, too */
	}
	if (read(loop->run->cancel_fd, &count, sizeof(count)) == sizeof(count) && number && !loop->ended &&
	    loop->stop_at_us == UINT64_MAX)
		send_signal(loop, number);
	if (atomic_exchange(&loop->run->resized, false))
		terminal_copy_size(&loop->run->terminal, loop->run->command.terminal_fd);
}

static void handle(struct loop *loop, const struct pollfd fds[POLL_COUNT])
{
	struct jail_run *run = loop->run;
	const char *failure;

	if (fds[POLL_CONTROL].revents)
		read_control(loop);
	for (int stream = 0; stream < JAIL_STREAMS; stream++) {
		if (!fds[POLL_STDOUT + stream].revents)
			continue;
		if (has_pending(loop, stream))
			pass_on(loop, stream);
		else
			read_output(loop, stream);
	}
	failure = input_step(&run->input, &fds[POLL_STDIN], &fds[POLL_SOURCE]);
	if (failure)
		fail_run(loop, failure);
	if (fds[POLL_OOM].revents) {
		cgroup_clear_event(&run->cgroup);
		loop->oom_until_us = clock_us() + OOM_SETTLE_US;
	}
	if (fds[POLL_CANCEL].revents)
		heed_caller(loop);
}

/* The program has ended, and left something running that is to stay. */
static bool stays(const struct loop *loop)
{
	return loop->ended && !loop->killed && loop->left_running && loop->run->tmpl->plan.background;
}

/* Nothing is left for init to do but to die; in a crowd it waits to be killed. */
static void leave_to_die(struct loop *loop)
{
	struct jail_run *run = loop->run;
	const bool kill = run->crowded && !run->had_turn;

	if (kill)
		run_take_turn(run);
	run_begin_end(run, RUN_PATIENCE_US);
	if (kill)
		run_signal(run);
}

/* Until init is dead, or does not die although it was killed. */
static void drive(struct loop *loop)
{
	const struct jail_run *run = loop->run;
	const uint64_t wall = run->tmpl->plan.wall_time_us;
	const uint64_t deadline = wall == POLICY_UNLIMITED ? UINT64_MAX : run->go_us + wall;
	uint64_t cpu_at = cpu_check(loop, clock_us());

	loop->deadline_us = deadline;
	for (;;) {
		struct pollfd fds[POLL_COUNT];
		uint64_t now = clock_us();

		fill_poll(loop, fds);
		if (poll(fds, POLL_COUNT, timeout_ms(loop, now, deadline, cpu_at)) < 0) {
			if (errno != EINTR)
				fail_run(loop, "poll failed");
			continue;
		}
		handle(loop, fds);
		if (stays(loop))
			return;
		/* Init's socket is closed when it begins to die, whoever killed it. */
		if (loop->ended || loop->backstop || run->control[0] < 0)
			leave_to_die(loop);
		if (fds[POLL_INIT].revents) {
			if (!loop->ended && !loop->backstop)
				loop->ended_us = clock_us();
			return;
		}
		now = clock_us();
		if (now >= loop->stop_at_us && !loop->ended)
			end_run(loop, JAIL_CAUSE_CANCELLED);
		if (now >= deadline && !loop->ended)
			end_run(loop, JAIL_CAUSE_WALL_TIME);
		if (now >= run->go_us + WATCH_AFTER_US && !loop->watching && !loop->killed && !loop->ended)
			watch_oom(loop);
		if (now < loop->oom_until_us && !loop->killed && !loop->ended)
			check_oom(loop);
		if (now >= cpu_at && !loop->ended)
			cpu_at = cpu_check(loop, now);
		if (run->give_up_us && now + KILL_AGAIN_US >= run->give_up_us)
			return;
	}
}

/* What the pipes still hold. A descriptor that left the jail over a workspace's socket could keep one open: no waiting. */
static void drain(struct loop *loop)
{
	size_t reads;

	while (loop->run->control[0] >= 0 && !(loop->ended && (loop->emptied || !run_is_bare(loop->run)))) {
		struct pollfd fd = { .fd = loop->run->control[0], .events = POLLIN };

		if (poll(&fd, 1, 0) <= 0)
			break;
		read_control(loop);
	}
	loop->grace_until_us = clock_us() + JAIL_GRACE_US;
	loop->grace_most_us =
	    loop->deadline_us > loop->grace_until_us ? loop->deadline_us : loop->grace_until_us;
	for (int stream = 0; stream < JAIL_STREAMS; stream++) {
		pass_rest(loop, stream);
		/* A pipe holds no more: a page for each read, if the program made it one of packets. Who got hold of an end
		 * outside could go on for ever; what is then left is not passed off as the end. */
		for (reads = 0; reads <= PIPE_MOST / PAGE_LEAST && read_output(loop, stream); reads++)
			pass_rest(loop, stream);
		if (reads > PIPE_MOST / PAGE_LEAST)
			loop->outcome->output[stream].truncated = true;
	}
}

static void show_upper(const struct jail_run *run, size_t index)
{
	const struct jail_plan *plan = &run->tmpl->plan;
	owned_fd int fd =
	    openat(run->upper_fds[index], "upper", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	const struct jail_upper upper = { .fd = fd,
					  .overlay = &plan->rootfs.overlays[index],
					  .id_base = plan->privileged ? run->identity.base : 0,
					  .own_ids = plan->privileged,
					  .user_xattrs = overlay_user_xattrs(plan, index) };

	run->command.on_upper(run->command.upper_context, &upper);
}

/* Every process of the jail is gone, and nobody else can change what is in there. */
static void collect(struct loop *loop)
{
	const struct jail_run *run = loop->run;
	const struct jail_command *command = &run->command;

	if (command->collect && run->scratch_fd >= 0)
		rootfs_collect(run->scratch_fd, command->collect, &loop->outcome->collected);
	for (size_t i = 0; command->on_upper && i < run->upper_count; i++)
		show_upper(run, i);
}

/* ---- the verdict ---- */

/* Packets that the kernel refused for want of a route: IpOutNoRoutes of the jail's own namespace. (IPv6 fails earlier, for want
 * of an address to send from, and is not counted.) */
static uint64_t refused_packets(const struct jail_run *run)
{
	char text[4096];
	ssize_t n = run->snmp_fd < 0 ? -1 : pread(run->snmp_fd, text, sizeof(text) - 1, 0);
	const char *names;
	const char *values;
	int column = 0;
	char name[32];
	int used;

	if (n <= 0)
		return 0;
	text[n] = 0;
	names = strstr(text, "Ip: ");
	values = names ? strstr(names + 1, "\nIp: ") : NULL;
	if (!values)
		return 0;
	for (names += 4; sscanf(names, "%31s%n", name, &used) == 1 && strcmp(name, "OutNoRoutes") != 0;
	     names += used)
		if (++column > 40)
			return 0;
	for (values += 5; column > 0 && values; column--)
		values = strchr(values + 1, ' ');
	return values ? strtoull(values, NULL, 10) : 0;
}

static bool scratch_full(const struct jail_run *run)
{
	struct statfs fs;

	/* A bare jail's is a directory of the host, which has no size. */
	return run->scratch_fd >= 0 && !run_is_bare(run) && fstatfs(run->scratch_fd, &fs) == 0 &&
	       (fs.f_bavail == 0 || fs.f_ffree == 0);
}

/* Nobody else is in there any more. The kernel counts no refused write, so that a file of just that size is what shows it; the
 * walk is worth its time only if the program failed and has written that much. */
static bool file_size_reached(const struct loop *loop)
{
	const struct jail_run *run = loop->run;
	const uint64_t limit = run->tmpl->plan.policy.limits.file_size_bytes;
	const bool failed = !loop->ended || loop->wait_status != 0;
	struct statfs fs;

	if (limit == POLICY_UNLIMITED || !failed || run->scratch_fd < 0 || run_is_joined(run) ||
	    run_is_bare(run))
		return false;
	if (loop->ended && WIFSIGNALED(loop->wait_status) && WTERMSIG(loop->wait_status) == SIGXFSZ)
		return true;
	return fstatfs(run->scratch_fd, &fs) == 0 &&
	       (uint64_t)(fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize >= limit &&
	       rootfs_has_file_of(run->scratch_fd, limit);
}

/* These ends have nothing to do with a limit. */
static bool is_limit(enum jail_cause cause)
{
	return cause != JAIL_CAUSE_EXIT && cause != JAIL_CAUSE_SIGNAL && cause != JAIL_CAUSE_CANCELLED &&
	       cause != JAIL_CAUSE_SUPERVISOR && cause != JAIL_CAUSE_HOST;
}

static void tell_published(const struct jail_run *run, struct jail_outcome *outcome)
{
	const struct policy_publish *rows = run->tmpl->plan.policy.network.publish.items;

	for (size_t i = 0; i < run->edge.published_count; i++) {
		struct jail_published *row = &outcome->published[outcome->published_count++];

		snprintf(row->address, sizeof(row->address), "%s", rows[i].address);
		row->host_port = run->edge.published[i];
		row->jail_port = rows[i].jail_port;
	}
}

/* What was observed, whether or not it has to do with the end. */
static void find_limits_hit(struct loop *loop, const struct cgroup_final *final)
{
	struct jail_outcome *outcome = loop->outcome;
	const struct jail_output *output = outcome->output;
	bool *hit = outcome->hit;

	hit[JAIL_CAUSE_OUTPUT] = output[JAIL_STDOUT].truncated || output[JAIL_STDERR].truncated;
	hit[JAIL_CAUSE_PIDS] = final->pids_limit_hits > 0;
	outcome->sessions_limit = final->oom_kills > 0 && !final->memory_limit_hit && is_sessions(loop);
	hit[JAIL_CAUSE_MEMORY] = final->oom_kills > 0 && (final->memory_limit_hit || outcome->sessions_limit);
	outcome->file_size_hit = file_size_reached(loop);
	hit[JAIL_CAUSE_DISK] = scratch_full(loop->run);
	outcome->network = run_edge_report(&loop->run->edge);
	outcome->edge_died = !outcome->session_ended && run_edge_is_dead(&loop->run->edge);
	tell_published(loop->run, outcome);
	hit[JAIL_CAUSE_NETWORK] = refused_packets(loop->run) > 0 || outcome->edge_died ||
				  (outcome->network && outcome->network->refused > 0);
	if (loop->killed && !outcome->session_ended && is_limit(loop->reason))
		hit[loop->reason] = true;
}

static enum jail_cause cause_of_signal(const struct loop *loop, int number)
{
	const struct jail_plan *plan = &loop->run->tmpl->plan;
	const uint64_t limit = plan->policy.limits.cpu_time_us;

	/* Where only RLIMIT_CPU could be set, the kernel kills with its hard limit, which is the soft one. */
	if (plan->not_enforced[POLICY_CONTROL_CPU_TIME] && (number == SIGKILL || number == SIGXCPU) &&
	    loop->outcome->user_us + loop->outcome->system_us + 100000 >= limit)
		return JAIL_CAUSE_CPU_TIME;
	switch (number) {
	case SIGSYS:
		return JAIL_CAUSE_SYSCALL;
	case SIGXFSZ:
		return plan->policy.limits.file_size_bytes == POLICY_UNLIMITED ? JAIL_CAUSE_SIGNAL
									       : JAIL_CAUSE_DISK;
	default:
		return JAIL_CAUSE_SIGNAL;
	}
}

/* The kernel kills what is in a session before its init is dead; of an execution it may take the program first, so that its init can tell
 * of a signal. What fails on our side meanwhile is the end's consequence. Nobody else kills an init, so that there is time to wait. */
static bool has_session_ended(const struct loop *loop)
{
	const bool is_killed =
	    loop->ended && WIFSIGNALED(loop->wait_status) && WTERMSIG(loop->wait_status) == SIGKILL;

	if (!run_is_joined(loop->run) || (loop->ended && !is_killed) || (loop->killed && !loop->failure))
		return false;
	return joined_has_ended(loop->run, loop->ended ? 500 : 5000);
}

/* Without a pid namespace, the program may kill its init, and what it started goes on. */
static bool lost_init(const struct loop *loop)
{
	return run_is_bare(loop->run) && !loop->emptied;
}

/*
 * One cause: a limit only where the kernel counted a kill, we killed for it, or the signal proves it. A process that the kernel
 * killed for memory comes first, whatever the others did before they were killed, too. A limit that merely refuses (a fork, a write,
 * a packet) may have been handled long before the end, so that it stands in the limits that were hit alone.
 */
static enum jail_cause find_cause(const struct loop *loop, const struct cgroup_final *final)
{
	if (loop->run->stuck || lost_init(loop))
		return JAIL_CAUSE_HOST;
	if (loop->outcome->session_ended)
		return JAIL_CAUSE_SUPERVISOR;
	if (final->oom_kills)
		return loop->outcome->hit[JAIL_CAUSE_MEMORY] ? JAIL_CAUSE_MEMORY : JAIL_CAUSE_HOST;
	if (loop->killed)
		return loop->reason;
	if (!loop->ended)
		return loop->backstop ? JAIL_CAUSE_WALL_TIME
				      : JAIL_CAUSE_HOST; /* nobody inside can kill init */
	return WIFSIGNALED(loop->wait_status) ? cause_of_signal(loop, WTERMSIG(loop->wait_status))
					      : JAIL_CAUSE_EXIT;
}

static void describe(const struct loop *loop, const struct cgroup_final *final)
{
	struct jail_outcome *outcome = loop->outcome;
	const struct jail_run *run = loop->run;
	const struct jail_plan *plan = &run->tmpl->plan;
	char *text = outcome->detail;
	const size_t size = sizeof(outcome->detail);
	char limit[32];

	switch (outcome->cause) {
	case JAIL_CAUSE_EXIT:
		snprintf(text, size, "exited with %d", outcome->exit_code);
		break;
	case JAIL_CAUSE_SIGNAL:
		snprintf(text, size, "ended by signal %d", outcome->signal);
		break;
	case JAIL_CAUSE_WALL_TIME:
		snprintf(text, size, "killed after the wall time of %s",
			 policy_format_time(plan->wall_time_us, limit, sizeof(limit)));
		break;
	case JAIL_CAUSE_CPU_TIME:
		snprintf(text, size, "killed after the CPU time of %s",
			 policy_format_time(plan->policy.limits.cpu_time_us, limit, sizeof(limit)));
		break;
	case JAIL_CAUSE_MEMORY:
		if (outcome->sessions_limit) {
			snprintf(text, size,
				 "killed at the memory limit of the session, which all that runs in it has "
				 "together");
			break;
		}
		snprintf(text, size, "killed at the memory limit of %s (%llu OOM kill(s))",
			 policy_format_size(plan->policy.limits.memory_bytes, limit, sizeof(limit)),
			 (unsigned long long) final->oom_kills);
		break;
	case JAIL_CAUSE_OUTPUT:
		snprintf(text, size, "killed for more output than the limit");
		break;
	case JAIL_CAUSE_DISK:
		snprintf(text, size,
			 "ended by SIGXFSZ: a file at limits.fileSize, %s (or that signal by itself)",
			 policy_format_size(plan->policy.limits.file_size_bytes, limit, sizeof(limit)));
		break;
	case JAIL_CAUSE_SYSCALL:
		snprintf(text, size, "ended by SIGSYS: a denied system call (or that signal by itself)");
		break;
	case JAIL_CAUSE_CANCELLED:
		snprintf(text, size, "cancelled by the caller");
		break;
	case JAIL_CAUSE_SUPERVISOR:
		if (outcome->session_ended) {
			snprintf(text, size, "killed: the session has ended");
			break;
		}
		snprintf(text, size, "ended by the supervisor: %s",
			 loop->failure ? loop->failure : "internal failure");
		break;
	case JAIL_CAUSE_HOST:
		snprintf(text, size, "%s",
			 outcome->left_behind ? run->left
			 : lost_init(loop) ? "the program's init was killed, by the program or from outside; "
					     "processes that the program started may still run"
			 : final->oom_kills ? "killed by the host's OOM killer"
					    : "the jail's init was killed from outside");
		break;
	case JAIL_CAUSE_PIDS: /* these two end nothing */
	case JAIL_CAUSE_NETWORK:
	case JAIL_CAUSE_COUNT:
		break;
	}
}

static void judge(struct loop *loop, const struct cgroup_final *final)
{
	struct jail_outcome *outcome = loop->outcome;
	const struct jail_run *run = loop->run;
	/* What the program did between the kernel's kill and ours is not its end. */
	const bool by_itself =
	    loop->ended && !loop->killed && final->oom_kills == 0 && !run->stuck && !lost_init(loop);
	const uint64_t now = clock_us();
	uint64_t end_us = loop->ended_us ? loop->ended_us : now;

	/* Init's word, and its clock's: within what we know ourselves. */
	if (end_us > now)
		end_us = now;
	if (end_us < run->go_us)
		end_us = run->go_us;
	outcome->left_behind = run->stuck;
	outcome->session_ended = final->oom_kills == 0 && !run->stuck && has_session_ended(loop);
	find_limits_hit(loop, final);
	outcome->exit_code = -1;
	outcome->signal = 0;
	if (by_itself && WIFEXITED(loop->wait_status))
		outcome->exit_code = WEXITSTATUS(loop->wait_status);
	if (by_itself && WIFSIGNALED(loop->wait_status))
		outcome->signal = WTERMSIG(loop->wait_status);
	outcome->cause = find_cause(loop, final);
	if (!by_itself)
		outcome->signal = SIGKILL;
	if (is_limit(outcome->cause))
		outcome->hit[outcome->cause] = true;
	outcome->wall_us = end_us - run->go_us;
	/* It may have ended by itself before the timer was heard. */
	outcome->hit[JAIL_CAUSE_WALL_TIME] |= outcome->wall_us > run->tmpl->plan.wall_time_us;
	outcome->prepare_us = run->tmpl->prepare_us;
	outcome->launch_us = run->launch_us;
	outcome->memory_peak_bytes = final->memory_peak_bytes;
	outcome->pids_peak = final->pids_peak;
	outcome->cpu_us = outcome->user_us + outcome->system_us;
	if (run->cgroup.usage_fd >= 0) {
		outcome->cpu_us = final->cpu_us;
		outcome->user_us = final->cpu_user_us;
		outcome->system_us = final->cpu_system_us;
	}
	describe(loop, final);
}

int jail_supervise(struct jail_run *run, struct jail_outcome *ret, struct warder_error *err)
{
	struct loop loop;
	struct cgroup_final final;
	int released;

	if (run->supervised)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL,
				 "this run has been waited for already");
	run->supervised = true;
	memset(&loop, 0, offsetof(struct loop, chunk));
	loop.run = run;
	loop.outcome = ret;
	loop.reason = JAIL_CAUSE_COUNT;
	loop.stop_at_us = UINT64_MAX;
	memset(ret, 0, sizeof(*ret));
	drive(&loop);
	run->kept = stays(&loop);
	drain(&loop);
	input_settle(&run->input);
	/* The release tells if it does not die; nothing is taken out of a jail that lives. */
	if (run_kill(run) == 0) {
		collect(&loop);
		run_leave_root(run);
		run_stop_starter(run);
	}
	for (int stream = 0; stream < 2; stream++)
		ret->passed[stream] = run->pass[stream].passed;
	ret->merged = run->merged;
	cgroup_final(&run->cgroup, &final);
	if (lost_init(&loop))
		readback_lost_init(run);
	judge(&loop, &final);
	released = run_release(run, err);
	return run->stuck ? 0 : released;
}

void jail_outcome_done(struct jail_outcome *outcome)
{
	for (int stream = 0; stream < JAIL_STREAMS; stream++)
		free(outcome->output[stream].bytes);
	rootfs_collection_done(&outcome->collected);
	free(outcome->network);
	memset(outcome, 0, sizeof(*outcome));
}
