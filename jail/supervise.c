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
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "jail/joined.h"
#include "jail/overlay.h"
#include "jail/run.h"

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8 /* linux/fs.h; not in every libc */
#endif
#define CHUNK          16384
#define OOM_SETTLE_US  1000000
#define KILL_WAIT_US   10000000
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
	bool killed;       /* we ended it, for `reason` */
	enum jail_cause reason;
	const char *failure; /* what went wrong on our side, with JAIL_CAUSE_SUPERVISOR */
	uint64_t kill_us;
	const char *input; /* what is on its way to the pipe: the caller's data, or a chunk from stdin_fd */
	size_t input_len, input_at;
	bool input_eof;
	size_t capacity[JAIL_STREAMS];
	size_t pending_len[2]; /* read, and still to be passed on to the caller's descriptor */
	size_t pending_at[2];
	bool watching;         /* for OOM events */
	uint64_t oom_until_us; /* an OOM event came: its kill may still have to be counted */
	char chunk[CHUNK];
	char input_chunk[CHUNK];
	char pending[2][CHUNK];
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
	loop->kill_us = clock_us();
	run_signal(loop->run);
}

static void fail_run(struct loop *loop, const char *failure)
{
	if (!loop->killed)
		loop->failure = failure;
	end_run(loop, JAIL_CAUSE_SUPERVISOR);
}

/* ---- output ---- */

static uint64_t stream_limit(const struct loop *loop, int stream)
{
	const struct jail_plan *plan = &loop->run->tmpl->plan;

	if (stream == JAIL_RESULT)
		return loop->run->command.result_bytes;
	return stream == JAIL_STDOUT ? plan->stdout_bytes : plan->stderr_bytes;
}

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

static void deliver(struct loop *loop, int stream, const char *bytes, size_t len)
{
	const struct jail_command *command = &loop->run->command;
	struct jail_output *output = &loop->outcome->output[stream];
	uint64_t limit = stream_limit(loop, stream);
	uint64_t room = output->total < limit ? limit - output->total : 0;
	size_t wanted = len < room ? len : (size_t)room;

	output->total += len;
	spill(loop, stream, bytes, len);
	if (wanted && loop->reason != JAIL_CAUSE_SUPERVISOR) {
		if (stream == JAIL_RESULT) {
			if (keep(loop, stream, bytes, wanted) < 0)
				fail_run(loop, "no memory for the program's result");
		} else if (command->output_fds) {
			memcpy(loop->pending[stream], bytes, wanted);
			loop->pending_len[stream] = wanted;
			loop->pending_at[stream] = 0;
		} else if (command->on_output) {
			if (command->on_output(command->context, (enum jail_stream)stream, bytes, wanted))
				fail_run(loop, "the receiver of the program's output failed");
		} else if (keep(loop, stream, bytes, wanted) < 0) {
			fail_run(loop, "no memory for the program's output");
		}
	}
	if (output->total > limit) {
		output->truncated = true;
		if (stream != JAIL_RESULT && loop->run->tmpl->plan.kill_on_output && !loop->ended)
			end_run(loop, JAIL_CAUSE_OUTPUT);
	}
}

/* ---- passing on ---- */

static ssize_t write_quietly(int fd, const char *bytes, size_t len);

/* A descriptor that is ready takes PIPE_BUF bytes without blocking; more could block the supervision. */
static void pass_on(struct loop *loop, int stream)
{
	size_t left = loop->pending_len[stream] - loop->pending_at[stream];
	ssize_t n = write_quietly(loop->run->command.output_fds[stream],
				  loop->pending[stream] + loop->pending_at[stream],
				  left < PIPE_BUF ? left : PIPE_BUF);

	if (n >= 0) {
		loop->pending_at[stream] += (size_t)n;
		loop->outcome->passed[stream] += (size_t)n;
	} else if (errno != EAGAIN && errno != EINTR) {
		loop->pending_at[stream] = loop->pending_len[stream];
		loop->outcome->receiver_errno = errno;
		fail_run(loop, "the receiver of the program's output is gone");
	}
}

static bool has_pending(const struct loop *loop, int stream)
{
	return stream != JAIL_RESULT && loop->pending_at[stream] < loop->pending_len[stream];
}

/* The jail is gone: now there is time to wait for a slow reader, until the caller cancels. */
static void pass_rest(struct loop *loop, int stream)
{
	while (has_pending(loop, stream)) {
		struct pollfd fds[2] = { { .fd = loop->run->command.output_fds[stream], .events = POLLOUT },
					 { .fd = loop->run->cancel_fd, .events = POLLIN } };

		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[1].revents)
			return;
		pass_on(loop, stream);
	}
}

/* One chunk. Closes our end at end of file. Returns whether there may be more. */
static bool read_output(struct loop *loop, int stream)
{
	int *fd = &loop->run->output_pipe[stream][RUN_READ];
	ssize_t n;

	if (*fd < 0)
		return false;
	n = read(*fd, loop->chunk, sizeof(loop->chunk));
	if (n > 0) {
		deliver(loop, stream, loop->chunk, (size_t)n);
		return true;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return errno == EINTR;
	if (n < 0) /* what is lost is not passed off as the end */
		fail_run(loop, "the program's output cannot be read");
	fd_done(fd);
	return false;
}

/* ---- input ---- */

/* A write into a pipe that nobody reads raises SIGPIPE in this thread: it must not reach the host application. */
static ssize_t write_quietly(int fd, const char *bytes, size_t len)
{
	const struct timespec now = { 0 };
	sigset_t pipe_set;
	sigset_t before;
	sigset_t pending;
	bool was_pending;
	ssize_t n;
	int saved;

	sigemptyset(&pipe_set);
	sigaddset(&pipe_set, SIGPIPE);
	sigpending(&pending);
	was_pending = sigismember(&pending, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe_set, &before);
	n = write(fd, bytes, len);
	saved = errno;
	if (n < 0 && saved == EPIPE && !was_pending)
		while (sigtimedwait(&pipe_set, NULL, &now) < 0 && errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = saved;
	return n;
}

static void write_input(struct loop *loop)
{
	int *fd = &loop->run->stdin_pipe[RUN_WRITE];
	size_t left = loop->input_len - loop->input_at;

	if (left) {
		ssize_t n = write_quietly(*fd, loop->input + loop->input_at, left);

		if (n > 0) {
			loop->input_at += (size_t)n;
		} else if (errno != EAGAIN && errno != EINTR) {
			if (errno != EPIPE) /* the program closed its input */
				fail_run(loop, "the program's input cannot be written");
			fd_done(fd);
		}
	}
	if (loop->input_at == loop->input_len && loop->input_eof)
		fd_done(fd);
}

/* Another reader of the same pipe may be faster than us: a read that would wait is not done. Files have no readers that take
 * something away, and may have to be read from a disk. */
static ssize_t read_without_waiting(int fd, char *bytes, size_t size)
{
	struct iovec iov = { .iov_base = bytes, .iov_len = size };
	ssize_t n = syscall(SYS_preadv2, fd, &iov, 1, -1L, -1L, RWF_NOWAIT);
	struct stat st;

	if (n >= 0 || (errno != EOPNOTSUPP && errno != EAGAIN && errno != ENOSYS))
		return n;
	if (errno == EAGAIN && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
		errno = EAGAIN;
		return -1;
	}
	return read(fd, bytes, size);
}

static void read_source(struct loop *loop)
{
	ssize_t n =
	    read_without_waiting(loop->run->command.stdin_fd, loop->input_chunk, sizeof(loop->input_chunk));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	loop->input_at = 0;
	loop->input_len = n > 0 ? (size_t)n : 0;
	if (n <= 0) {
		loop->input_eof = true;
		fd_done(&loop->run->stdin_pipe[RUN_WRITE]);
	}
}

static void start_input(struct loop *loop)
{
	const struct jail_command *command = &loop->run->command;

	loop->input = loop->input_chunk;
	if (command->stdin_data) {
		loop->input = command->stdin_data;
		loop->input_len = command->stdin_len;
		loop->input_eof = true;
	}
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
		fail_run(loop, "cannot be told of OOM events");
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
	uint64_t at = deadline < cpu_at ? deadline : cpu_at;

	if (loop->killed)
		return 1000;
	if (!loop->watching && watch_at < at)
		at = watch_at;
	if (now < loop->oom_until_us && now + 10000 < at)
		at = now + 10000;
	return at <= now ? 0 : (int)((at - now) / 1000 > 3600000 ? 3600000 : (at - now + 999) / 1000);
}

static void fill_poll(const struct loop *loop, struct pollfd fds[POLL_COUNT])
{
	const struct jail_run *run = loop->run;
	const bool has_input = loop->input_at < loop->input_len;
	const bool open = run->stdin_pipe[RUN_WRITE] >= 0;

	fds[POLL_CONTROL] = (struct pollfd){ .fd = run->control[0], .events = POLLIN };
	fds[POLL_INIT] = (struct pollfd){ .fd = run->init_fd, .events = POLLIN };
	/* What is not passed on yet keeps its stream from being read: the program waits, as it would for the reader itself. */
	for (int stream = 0; stream < JAIL_STREAMS; stream++) {
		fds[POLL_STDOUT + stream] =
		    (struct pollfd){ .fd = run->output_pipe[stream][RUN_READ], .events = POLLIN };
		if (has_pending(loop, stream))
			fds[POLL_STDOUT + stream] =
			    (struct pollfd){ .fd = run->command.output_fds[stream], .events = POLLOUT };
	}
	/* Without data only the hang-up is of interest: the program closed its input. */
	fds[POLL_STDIN] = (struct pollfd){ .fd = run->stdin_pipe[RUN_WRITE],
					   .events = has_input || loop->input_eof ? POLLOUT : 0 };
	fds[POLL_SOURCE] =
	    (struct pollfd){ .fd = open && !has_input && !loop->input_eof ? run->command.stdin_fd : -1,
			     .events = POLLIN };
	fds[POLL_CANCEL] = (struct pollfd){ .fd = loop->killed ? -1 : run->cancel_fd, .events = POLLIN };
	fds[POLL_OOM] = (struct pollfd){ .fd = loop->killed ? -1 : run->cgroup.event_fd, .events = POLLIN };
}

static void handle(struct loop *loop, const struct pollfd fds[POLL_COUNT])
{
	struct jail_run *run = loop->run;

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
	if (fds[POLL_STDIN].revents & POLLERR)
		fd_done(&run->stdin_pipe[RUN_WRITE]);
	else if (fds[POLL_STDIN].revents)
		write_input(loop);
	if (fds[POLL_SOURCE].revents && run->stdin_pipe[RUN_WRITE] >= 0)
		read_source(loop);
	if (fds[POLL_OOM].revents) {
		cgroup_clear_event(&run->cgroup);
		loop->oom_until_us = clock_us() + OOM_SETTLE_US;
	}
	if (fds[POLL_CANCEL].revents && !loop->ended)
		end_run(loop, JAIL_CAUSE_CANCELLED);
}

/* The program has ended, and left something running that is to stay. */
static bool stays(const struct loop *loop)
{
	return loop->ended && !loop->killed && loop->left_running && loop->run->tmpl->plan.background;
}

/* Until init is dead, or does not die although it was killed. */
static void drive(struct loop *loop)
{
	const struct jail_run *run = loop->run;
	const uint64_t wall = run->tmpl->plan.wall_time_us;
	const uint64_t deadline = run->go_us + wall < wall ? UINT64_MAX : run->go_us + wall;
	uint64_t cpu_at = cpu_check(loop, clock_us());

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
		if (fds[POLL_INIT].revents) {
			if (!loop->ended && !loop->backstop)
				loop->ended_us = clock_us();
			return;
		}
		now = clock_us();
		if (now >= deadline && !loop->ended)
			end_run(loop, JAIL_CAUSE_WALL_TIME);
		if (now >= run->go_us + WATCH_AFTER_US && !loop->watching && !loop->killed && !loop->ended)
			watch_oom(loop);
		if (now < loop->oom_until_us && !loop->killed && !loop->ended)
			check_oom(loop);
		if (now >= cpu_at && !loop->ended)
			cpu_at = cpu_check(loop, now);
		if (loop->killed && now > loop->kill_us + KILL_WAIT_US)
			return;
	}
}

/* What the pipes still hold. A descriptor that left the jail over a workspace's socket could keep one open: no waiting. */
static void drain(struct loop *loop)
{
	size_t reads;

	while (loop->run->control[0] >= 0 && !loop->ended) {
		struct pollfd fd = { .fd = loop->run->control[0], .events = POLLIN };

		if (poll(&fd, 1, 0) <= 0)
			break;
		read_control(loop);
	}
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

	return run->scratch_fd >= 0 && fstatfs(run->scratch_fd, &fs) == 0 &&
	       (fs.f_bavail == 0 || fs.f_ffree == 0);
}

static void find_limits_hit(struct loop *loop, const struct cgroup_final *final)
{
	bool *hit = loop->outcome->hit;
	const struct jail_output *output = loop->outcome->output;
	const bool failed = !loop->ended || loop->wait_status != 0;

	hit[JAIL_CAUSE_OUTPUT] = output[JAIL_STDOUT].truncated || output[JAIL_STDERR].truncated;
	hit[JAIL_CAUSE_PIDS] = final->pids_limit_hits > 0;
	loop->outcome->sessions_limit = final->oom_kills > 0 && !final->memory_limit_hit && is_sessions(loop);
	hit[JAIL_CAUSE_MEMORY] =
	    final->oom_kills > 0 && (final->memory_limit_hit || loop->outcome->sessions_limit);
	hit[JAIL_CAUSE_DISK] = scratch_full(loop->run) || (loop->ended && WIFSIGNALED(loop->wait_status) &&
							   WTERMSIG(loop->wait_status) == SIGXFSZ);
	hit[JAIL_CAUSE_NETWORK] = failed && refused_packets(loop->run) > 0;
	if (loop->killed && !loop->outcome->session_ended)
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
		return JAIL_CAUSE_DISK;
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

/*
 * One cause. What we did comes first; then what the kernel counted (an OOM kill may show itself as a shell's exit 137);
 * then how the program ended. A failed program that met a limit that only refuses (a fork, a write, a packet) is
 * attributed to it; one that succeeded all the same is not.
 */
static enum jail_cause find_cause(const struct loop *loop, const struct cgroup_final *final)
{
	const bool *hit = loop->outcome->hit;
	enum jail_cause cause;

	if (loop->outcome->session_ended)
		return JAIL_CAUSE_SUPERVISOR;
	if (loop->killed)
		return loop->reason;
	if (loop->ended && WIFEXITED(loop->wait_status) && WEXITSTATUS(loop->wait_status) == 0)
		return JAIL_CAUSE_EXIT;
	if (final->oom_kills)
		return hit[JAIL_CAUSE_MEMORY] ? JAIL_CAUSE_MEMORY : JAIL_CAUSE_HOST;
	if (!loop->ended && loop->backstop) /* nobody inside can kill init */
		return JAIL_CAUSE_WALL_TIME;
	if (!loop->ended)
		return JAIL_CAUSE_HOST;
	cause = WIFSIGNALED(loop->wait_status) ? cause_of_signal(loop, WTERMSIG(loop->wait_status))
					       : JAIL_CAUSE_EXIT;
	if (cause == JAIL_CAUSE_SYSCALL || cause == JAIL_CAUSE_CPU_TIME)
		return cause;
	if (hit[JAIL_CAUSE_PIDS])
		return JAIL_CAUSE_PIDS;
	/* In a session somebody else may have filled it. */
	if (hit[JAIL_CAUSE_DISK] && !run_is_joined(loop->run))
		return JAIL_CAUSE_DISK;
	if (hit[JAIL_CAUSE_NETWORK])
		return JAIL_CAUSE_NETWORK;
	return cause;
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
	case JAIL_CAUSE_PIDS:
		snprintf(text, size, "failed after %llu refused new processes or threads (limit %llu)",
			 (unsigned long long) final->pids_limit_hits,
			 (unsigned long long)plan->policy.limits.pids_max);
		break;
	case JAIL_CAUSE_OUTPUT:
		snprintf(text, size, "killed for more output than the limit");
		break;
	case JAIL_CAUSE_DISK:
		snprintf(text, size,
			 outcome->signal == SIGXFSZ
			     ? "ended by SIGXFSZ: a file at limits.fileSize (or that signal by itself)"
			     : "failed with /tmp full");
		break;
	case JAIL_CAUSE_SYSCALL:
		snprintf(text, size, "ended by SIGSYS: a denied system call (or that signal by itself)");
		break;
	case JAIL_CAUSE_NETWORK:
		snprintf(text, size, "failed after %llu packet(s) that had no route out of the jail",
			 (unsigned long long)refused_packets(loop->run));
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
		snprintf(text, size,
			 final->oom_kills ? "killed by the host's OOM killer"
					  : "the jail's init was killed from outside");
		break;
	case JAIL_CAUSE_COUNT:
		break;
	}
}

static void judge(struct loop *loop, const struct cgroup_final *final)
{
	struct jail_outcome *outcome = loop->outcome;
	const struct jail_run *run = loop->run;
	const uint64_t now = clock_us();
	uint64_t end_us = loop->ended_us ? loop->ended_us : now;

	/* Init's word, and its clock's: within what we know ourselves. */
	if (end_us > now)
		end_us = now;
	if (end_us < run->go_us)
		end_us = run->go_us;
	outcome->session_ended = final->oom_kills == 0 && has_session_ended(loop);
	find_limits_hit(loop, final);
	outcome->exit_code = -1;
	outcome->signal = 0;
	if (loop->ended && !loop->killed && WIFEXITED(loop->wait_status))
		outcome->exit_code = WEXITSTATUS(loop->wait_status);
	if (loop->ended && !loop->killed && WIFSIGNALED(loop->wait_status))
		outcome->signal = WTERMSIG(loop->wait_status);
	outcome->cause = find_cause(loop, final);
	if (!loop->ended || loop->killed)
		outcome->signal = SIGKILL;
	/* The session's end is nobody's limit. */
	if (outcome->cause != JAIL_CAUSE_EXIT && outcome->cause != JAIL_CAUSE_SIGNAL &&
	    !outcome->session_ended)
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

	if (run->supervised)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL,
				 "this run has been waited for already");
	run->supervised = true;
	memset(&loop, 0, offsetof(struct loop, chunk));
	loop.run = run;
	loop.outcome = ret;
	loop.reason = JAIL_CAUSE_COUNT;
	memset(ret, 0, sizeof(*ret));
	start_input(&loop);
	drive(&loop);
	run->kept = stays(&loop);
	drain(&loop);
	/* The release tells if it does not die; nothing is taken out of a jail that lives. */
	if (run_kill(run) == 0)
		collect(&loop);
	run_leave_root(run);
	cgroup_final(&run->cgroup, &final);
	judge(&loop, &final);
	return run_release(run, err);
}

void jail_outcome_done(struct jail_outcome *outcome)
{
	for (int stream = 0; stream < JAIL_STREAMS; stream++)
		free(outcome->output[stream].bytes);
	rootfs_collection_done(&outcome->collected);
	memset(outcome, 0, sizeof(*outcome));
}
