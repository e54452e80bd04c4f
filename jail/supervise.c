/*
 * Supervision: one poll list over init's socket and pidfd, both outputs, the input, the cancel event and the cgroup's
 * OOM event, with the nearest deadline as its timeout. (poll and not epoll: seven descriptors, one run; epoll would
 * add eight calls to every launch and save none.)
 *
 * A supervision goes through the phases of a table, in their order. A step polls the list of the present phase, for as long as the caller
 * lets it, does what is ready, and goes on through the phases until one has to wait. jail_supervise() is a loop of steps that may
 * wait; an event loop of the caller's makes steps that may not, when the descriptor of the poller says that one is worth it.
 * Everything that takes time to happen is therefore waited for in the list, the turn of a kill and the removal of a cgroup
 * among it.
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
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "jail/backstop.h"
#include "jail/joined.h"
#include "jail/overlay.h"
#include "jail/progress.h"
#include "jail/run.h"

#define CHUNK          16384
#define OOM_SETTLE_US  1000000
#define OOM_LOOK_US    10000
#define LOOK_US        100000  /* at a jail that is to be gone */
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

enum {
	POLL_CONTROL,
	POLL_INIT,
	POLL_STDOUT,
	POLL_STDERR,
	POLL_RESULT,
	POLL_PROGRESS,
	POLL_STDIN,
	POLL_SOURCE,
	POLL_CANCEL,
	POLL_OOM,
	POLL_WATCH,
	POLL_COUNT,
	POLL_WAIT = POLL_INIT, /* in the phases of the end */
};

_Static_assert(POLL_COUNT <= POLLER_MAX, "a poller takes the whole list");

/* At once, or by a later step, when it is the jail's turn. */
static void kill_in_turn(struct supervision *sup)
{
	sup->is_to_die = true;
	if (sup->signalled || !run_has_turn(sup->run))
		return;
	sup->signalled = true;
	run_begin_end(sup->run, RUN_PATIENCE_US);
	run_signal(sup->run);
}

/* The first reason stands: what comes later is its consequence. */
static void end_run(struct supervision *sup, enum jail_cause reason)
{
	if (sup->killed)
		return;
	sup->killed = true;
	sup->reason = reason;
	kill_in_turn(sup);
}

static void fail_run(struct supervision *sup, const char *failure)
{
	if (!sup->killed)
		sup->failure = failure;
	end_run(sup, JAIL_CAUSE_SUPERVISOR);
}

/* ---- output ---- */

static bool is_passed(const struct supervision *sup, int stream)
{
	return stream < JAIL_RESULT && sup->run->command.output_fds;
}

static uint64_t stream_limit(const struct supervision *sup, int stream)
{
	const struct jail_given *given = &sup->run->given;

	if (stream == JAIL_RESULT)
		return sup->run->command.result_bytes;
	if (is_passed(sup, stream))
		return sup->run->command.output_max ? sup->run->command.output_max : UINT64_MAX;
	return stream == JAIL_STDOUT ? given->stdout_bytes : given->stderr_bytes;
}

/* ---- passing on ---- */

static bool has_pending(const struct supervision *sup, int stream)
{
	return is_passed(sup, stream) && pass_waiting(&sup->run->pass[stream]) > 0;
}

/* From now on nothing of the stream is passed on; it is only counted. */
static void drop_rest(struct supervision *sup, int stream)
{
	sup->outcome->dropped[stream] += pass_waiting(&sup->run->pass[stream]);
	pass_done(&sup->run->pass[stream]);
}

static void pass_on(struct supervision *sup, int stream)
{
	const int error = pass_step(&sup->run->pass[stream]);

	if (!error)
		return;
	drop_rest(sup, stream);
	sup->outcome->receiver_errno = error;
	fail_run(sup, error == EPIPE ? "the reader of the program's output is gone"
				     : "the program's output cannot be written");
}

/* ---- keeping ---- */

static int keep(struct supervision *sup, int stream, const char *bytes, size_t len)
{
	struct jail_output *output = &sup->outcome->output[stream];

	if (output->len + len + 1 > sup->capacity[stream]) {
		size_t capacity = sup->capacity[stream] ? sup->capacity[stream] : 4096;
		char *grown;

		while (capacity < output->len + len + 1)
			capacity *= 2;
		grown = realloc(output->bytes, capacity);
		if (!grown)
			return -1;
		output->bytes = grown;
		sup->capacity[stream] = capacity;
	}
	memcpy(output->bytes + output->len, bytes, len);
	output->len += len;
	output->bytes[output->len] = 0;
	return 0;
}

/* Both streams may have one file. Then nothing more of either goes there, so that no bytes are missing between others. */
static void end_spill(struct supervision *sup, int stream, int error)
{
	const int *fds = sup->run->command.spill_fds;

	for (int other = JAIL_STDOUT; other <= JAIL_STDERR; other++)
		if (fds[other] == fds[stream])
			sup->outcome->spill_errno[other] = error;
}

/* What does not fit into the file is left out, and the run goes on: how much the file has is told. */
static void spill(struct supervision *sup, int stream, const char *bytes, size_t len)
{
	const struct jail_command *command = &sup->run->command;
	struct jail_outcome *outcome = sup->outcome;
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
			end_spill(sup, stream, n < 0 ? errno : ENOSPC);
			return;
		}
		outcome->spilled[stream] += (uint64_t)n;
		bytes += n;
		len -= (size_t)n;
	}
}

/* Of a stream whose bytes are in the room of its pass, unless that is closed. */
static void hand_on(struct supervision *sup, int stream, size_t len)
{
	if (!pass_is_open(&sup->run->pass[stream])) {
		sup->outcome->dropped[stream] += len;
		return;
	}
	pass_give(&sup->run->pass[stream], len);
	pass_on(sup, stream);
}

static void deliver(struct supervision *sup, int stream, const char *bytes, size_t len)
{
	const struct jail_command *command = &sup->run->command;
	const struct jail_plan *plan = &sup->run->tmpl->plan;
	struct jail_output *output = &sup->outcome->output[stream];
	uint64_t limit = stream_limit(sup, stream);
	uint64_t room = output->total < limit ? limit - output->total : 0;
	size_t wanted = len < room ? len : (size_t)room;

	if (stream == JAIL_PROGRESS) {
		jail_progress_take(sup->outcome->progress, bytes, len, clock_us());
		return;
	}
	output->total += len;
	spill(sup, stream, bytes, len);
	if (sup->run->on_copy && stream < JAIL_RESULT)
		sup->run->on_copy(sup->run->copy_context, (enum jail_stream)stream, bytes, len);
	if (wanted && is_passed(sup, stream)) {
		hand_on(sup, stream, wanted);
	} else if (wanted && sup->reason != JAIL_CAUSE_SUPERVISOR) {
		if (stream != JAIL_RESULT && command->on_output) {
			if (command->on_output(command->context, (enum jail_stream)stream, bytes, wanted))
				fail_run(sup, "the receiver of the program's output failed");
		} else if (keep(sup, stream, bytes, wanted) < 0) {
			fail_run(sup, "no memory for the program's output");
		}
	}
	if (output->total > limit) {
		output->truncated = true;
		if (is_passed(sup, stream) ||
		    (stream != JAIL_RESULT && plan->kill_on_output && (plan->kill_late || !sup->ended)))
			end_run(sup, JAIL_CAUSE_OUTPUT);
	}
}

/* The jail is gone. A reader that takes something has JAIL_GRACE_US more each time, but no longer than the wall time. */
static void extend_grace(struct supervision *sup)
{
	const uint64_t wanted = clock_us() + JAIL_GRACE_US;

	sup->grace_until_us = wanted < sup->grace_most_us ? wanted : sup->grace_most_us;
}

/* A wake for another reason is no wish to end. */
static bool is_given_up(const struct supervision *sup)
{
	uint64_t count;

	if (atomic_load(&sup->run->cancelled) || atomic_load(&sup->run->stop_signal))
		return true;
	if (read(sup->run->cancel_fd, &count, sizeof(count)) < 0)
		return errno != EAGAIN && errno != EINTR;
	return false;
}

/* What is left waits for a slow reader, until the grace is over or the caller cancels. Then it is dropped. Whether nothing is left. */
static bool pass_rest(struct supervision *sup, int stream, struct pollfd fds[POLL_COUNT])
{
	if (!has_pending(sup, stream))
		return true;
	if (clock_us() >= sup->grace_until_us || (fds[POLL_CANCEL].revents && is_given_up(sup))) {
		drop_rest(sup, stream);
	} else if (fds[POLL_STDOUT + stream].revents) {
		const struct pass *pass = &sup->run->pass[stream];
		const uint64_t passed = pass->passed;

		pass_on(sup, stream);
		if (pass->passed > passed)
			extend_grace(sup);
	}
	fds[POLL_STDOUT + stream].revents = fds[POLL_CANCEL].revents = 0;
	return !has_pending(sup, stream);
}

/* One chunk. Closes our end at end of file. Returns whether there may be more. */
static bool read_output(struct supervision *sup, int stream)
{
	int *fd = &sup->run->output_pipe[stream][RUN_READ];
	char chunk[CHUNK];
	char *bytes = chunk;
	size_t size = sizeof(chunk);
	ssize_t n;

	if (*fd < 0)
		return false;
	if (is_passed(sup, stream) && pass_is_open(&sup->run->pass[stream])) {
		bytes = pass_room(&sup->run->pass[stream]);
		size = PASS_CHUNK;
	}
	n = read(*fd, bytes, size);
	if (n > 0) {
		deliver(sup, stream, bytes, (size_t)n);
		return true;
	}
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return errno == EINTR;
	/* Nobody has the program's terminal open any more: nobody will read from it, either. */
	if (n < 0 && errno == EIO && sup->run->terminal.master_fd >= 0)
		poller_close(&sup->poller, &sup->run->stdin_pipe[RUN_WRITE]);
	else if (n < 0) /* what is lost is not passed off as the end */
		fail_run(sup, "the program's output cannot be read");
	poller_close(&sup->poller, fd);
	return false;
}

/* ---- events ---- */

static uint64_t paused_us(const struct jail_run *run, uint64_t now)
{
	const uint64_t since_us = atomic_load(&run->paused_at_us);

	return atomic_load(&run->paused_us) + (since_us && now > since_us ? now - since_us : 0);
}

/* Init's word, and its clock's: within what we know ourselves. */
static uint64_t end_of(const struct supervision *sup, uint64_t told_us)
{
	const uint64_t now = clock_us();

	return told_us > now ? now : told_us < sup->run->go_us ? sup->run->go_us : told_us;
}

static void read_control(struct supervision *sup)
{
	struct wire_message message;
	ssize_t n = recv(sup->run->control[0], &message, sizeof(message), MSG_DONTWAIT);

	if (n == sizeof(message) && message.type == WIRE_BACKSTOP) {
		sup->backstop = true;
		sup->ended_us = end_of(sup, message.end_us);
	} else if (n == sizeof(message) && message.type == WIRE_ENDED &&
		   (WIFEXITED(message.wait_status) || WIFSIGNALED(message.wait_status))) {
		sup->ended = true;
		sup->wait_status = message.wait_status;
		sup->left_running = message.applied != 0;
		sup->ended_us = end_of(sup, message.end_us);
		/* Nobody looked in time to kill it. */
		sup->late = sup->deadline_us != UINT64_MAX &&
			    sup->ended_us >= sup->deadline_us + paused_us(sup->run, sup->ended_us);
		sup->outcome->user_us = message.user_us;
		sup->outcome->system_us = message.system_us;
	} else if (n == sizeof(message) && message.type == WIRE_EMPTIED) {
		sup->emptied = true;
	} else if (n == 0) {
		poller_close(&sup->poller, &sup->run->control[0]);
	}
}

/* A kill that the limit of this leaf does not explain: the session's, which holds over all its executions together? */
static bool is_sessions(const struct supervision *sup)
{
	return run_is_joined(sup->run) && cgroup_above_oom(&sup->run->cgroup);
}

/* v1 kills one process only; the jail ends as a whole, as with memory.oom.group. The kernel tells of the event before it
 * has chosen and counted a victim. */
static void check_oom(struct supervision *sup)
{
	uint64_t kills = 0;
	bool own_limit = false;

	if (cgroup_oom(&sup->run->cgroup, &kills, &own_limit) == 0 && kills)
		end_run(sup, own_limit || is_sessions(sup) ? JAIL_CAUSE_MEMORY : JAIL_CAUSE_HOST);
}

static void watch_oom(struct supervision *sup)
{
	struct warder_error err;

	sup->watching = true;
	if (cgroup_watch_oom(&sup->run->cgroup, &err) < 0)
		fail_run(sup, "cannot watch OOM events");
	else if (sup->run->cgroup.event_fd >= 0)
		sup->oom_until_us = clock_us() + OOM_SETTLE_US; /* what happened before is not an event */
}

/* The time until the CPU limit can be reached at the earliest, given how many CPUs the jail may use at once. */
static uint64_t cpu_check(struct supervision *sup, uint64_t now)
{
	const struct jail_plan *plan = &sup->run->tmpl->plan;
	uint64_t used = 0;
	uint64_t left;
	uint64_t cpus = plan->cgroup.cpu_milli;

	if (plan->cpu_time_us == POLICY_UNLIMITED)
		return UINT64_MAX;
	if (cgroup_cpu_usage(&sup->run->cgroup, &used) < 0) {
		fail_run(sup, "the CPU time cannot be read");
		return UINT64_MAX;
	}
	if (used >= plan->cpu_time_us) {
		end_run(sup, JAIL_CAUSE_CPU_TIME);
		return UINT64_MAX;
	}
	if (cpus > 1000) { /* sysconf() reads a file; with one processor the answer does not matter */
		const uint64_t online = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN) * 1000;

		cpus = online < cpus ? online : cpus;
	}
	left = (plan->cpu_time_us - used) * 1000 / (cpus ? cpus : 1);
	return now + (left < 5000 ? 5000 : left);
}

/* A kill is counted soon after its event, or not at all: the looks become rarer. */
static uint64_t oom_look_us(const struct supervision *sup, uint64_t now)
{
	const uint64_t since_us = now + OOM_SETTLE_US - sup->oom_until_us;

	return now + (since_us / 2 > OOM_LOOK_US ? since_us / 2 : OOM_LOOK_US);
}

/* The wall time stands still while the run is paused. So does init's: see jail_pause_clock(). */
static uint64_t deadline(const struct supervision *sup)
{
	const struct jail_run *run = sup->run;

	return sup->deadline_us == UINT64_MAX || atomic_load(&run->paused_at_us)
		   ? UINT64_MAX
		   : sup->deadline_us + atomic_load(&run->paused_us);
}

/* When something is to be done that no descriptor tells of; UINT64_MAX: never. */
static uint64_t next_us(const struct supervision *sup, uint64_t now)
{
	const struct jail_run *run = sup->run;
	const uint64_t watch_at = run->go_us + WATCH_AFTER_US;
	const int input_ms = input_timeout_ms(&run->input);
	uint64_t at = deadline(sup) < sup->cpu_at_us ? deadline(sup) : sup->cpu_at_us;

	if (run->give_up_us)
		return now + LOOK_US;
	if (sup->is_to_die && !sup->signalled)
		return run->turn_us;
	if (sup->stop_at_us < at)
		at = sup->stop_at_us;
	if (input_ms >= 0 && now + (uint64_t)input_ms * 1000 < at)
		at = now + (uint64_t)input_ms * 1000;
	if (!sup->watching && watch_at < at)
		at = watch_at;
	if (now < sup->oom_until_us && oom_look_us(sup, now) < at)
		at = oom_look_us(sup, now);
	return at;
}

static void fill_poll(const struct supervision *sup, struct pollfd fds[POLL_COUNT])
{
	const struct jail_run *run = sup->run;
	const bool held = atomic_load(&run->output_held);

	/* After the program's end only an init that restricts nothing has more to say; of another one, only its death counts. */
	fds[POLL_CONTROL] =
	    (struct pollfd){ .fd = sup->ended && !run_is_bare(run) ? -1 : run->control[0], .events = POLLIN };
	fds[POLL_INIT] = (struct pollfd){ .fd = run->init_fd, .events = POLLIN };
	/* What is not passed on yet keeps its stream from being read: the program waits, as it would for the reader itself. */
	for (int stream = 0; stream < JAIL_STREAMS; stream++) {
		fds[POLL_STDOUT + stream] =
		    (struct pollfd){ .fd = held ? -1 : run->output_pipe[stream][RUN_READ], .events = POLLIN };
		if (has_pending(sup, stream))
			fds[POLL_STDOUT + stream] =
			    (struct pollfd){ .fd = pass_poll_fd(&run->pass[stream]), .events = POLLOUT };
	}
	input_poll(&run->input, &fds[POLL_STDIN], &fds[POLL_SOURCE]);
	fds[POLL_CANCEL] = (struct pollfd){ .fd = sup->killed || (sup->ended && atomic_load(&run->cancelled))
						      ? -1
						      : run->cancel_fd,
					    .events = POLLIN };
	fds[POLL_OOM] = (struct pollfd){ .fd = sup->killed ? -1 : run->cgroup.event_fd, .events = POLLIN };
	fds[POLL_WATCH] =
	    (struct pollfd){ .fd = run->command.on_watch && !sup->unwatched ? run->command.watch_fd : -1,
			     .events = POLLIN };
}

/* What lies in the pipes now comes first. It is counted, because a program may write faster than it is read. */
static void heed_watch(struct supervision *sup)
{
	const struct jail_run *run = sup->run;

	for (int stream = JAIL_STDOUT; stream <= JAIL_STDERR; stream++) {
		const uint64_t before = sup->outcome->output[stream].total;
		int lies = 0;

		if (has_pending(sup, stream) || run->output_pipe[stream][RUN_READ] < 0 ||
		    ioctl(run->output_pipe[stream][RUN_READ], FIONREAD, &lies) < 0)
			continue;
		while (sup->outcome->output[stream].total < before + (uint64_t)lies)
			if (!read_output(sup, stream))
				break;
	}
	sup->unwatched = !run->command.on_watch(run->command.watch_context);
}

/* The program has the grace to end by itself. */
static void send_signal(struct supervision *sup, int number)
{
	const uint64_t grace_us = atomic_load(&sup->run->stop_grace_us);
	const uint64_t now = clock_us();

	sup->stop_at_us = grace_us > UINT64_MAX - now ? UINT64_MAX : now + grace_us;
	jail_signal(sup->run,
		    number); /* the grace is for what it does then, or for its end that is on its way */
}

/* Init has a deadline of its own. If that is over, it is about to end. */
static void extend(struct supervision *sup, uint64_t us)
{
	const uint64_t now = clock_us();
	uint64_t until_us;

	if (sup->deadline_us == UINT64_MAX)
		return;
	until_us = sup->deadline_us + us;
	if (backstop_begin_anew(sup->run->backstop_fd, until_us > now ? until_us - now : 0))
		sup->deadline_us = until_us;
}

static void heed_caller(struct supervision *sup)
{
	const uint64_t more_us = atomic_exchange(&sup->run->extend_us, 0);
	const int number = atomic_load(&sup->run->stop_signal);
	uint64_t count;

	if (atomic_load(&sup->run->cancelled)) {
		if (!sup->ended)
			end_run(sup, JAIL_CAUSE_CANCELLED);
		return; /* it stays readable: a wait for a slow reader ends, too */
	}
	if (read(sup->run->cancel_fd, &count, sizeof(count)) == sizeof(count) && number && !sup->ended &&
	    sup->stop_at_us == UINT64_MAX)
		send_signal(sup, number);
	if (more_us)
		extend(sup, more_us);
	if (atomic_exchange(&sup->run->input_ready, false))
		input_ready(&sup->run->input);
	if (atomic_exchange(&sup->run->resized, false))
		terminal_copy_size(&sup->run->terminal, sup->run->command.terminal_fd);
}

static void handle(struct supervision *sup, const struct pollfd fds[POLL_COUNT])
{
	struct jail_run *run = sup->run;
	const char *failure;

	if (fds[POLL_CONTROL].revents)
		read_control(sup);
	for (int stream = 0; stream < JAIL_STREAMS; stream++) {
		if (!fds[POLL_STDOUT + stream].revents)
			continue;
		if (has_pending(sup, stream))
			pass_on(sup, stream);
		else
			read_output(sup, stream);
	}
	failure = input_step(&run->input, &fds[POLL_STDIN], &fds[POLL_SOURCE]);
	if (failure)
		fail_run(sup, failure);
	if (fds[POLL_OOM].revents) {
		cgroup_clear_event(&run->cgroup);
		sup->oom_until_us = clock_us() + OOM_SETTLE_US;
	}
	if (fds[POLL_CANCEL].revents)
		heed_caller(sup);
	if (fds[POLL_WATCH].revents)
		heed_watch(sup);
}

/* The program has ended, and left something running that is to stay. */
static bool stays(const struct supervision *sup)
{
	const struct jail_command *command = &sup->run->command;

	return sup->ended && !sup->killed && !sup->late && sup->left_running &&
	       sup->run->tmpl->plan.background &&
	       (!command->on_left || command->on_left(command->watch_context));
}

/* Nothing is left for init to do but to die; in a crowd, and if it waits for what may not stay, it has to be killed. */
static void leave_to_die(struct supervision *sup)
{
	struct jail_run *run = sup->run;

	if (run->crowded || sup->is_to_die || (sup->left_running && run->tmpl->plan.background))
		kill_in_turn(sup);
	else
		run_begin_end(run, RUN_PATIENCE_US);
}

/* Until init is dead, or does not die although it was killed. */
static bool drive(struct supervision *sup, struct pollfd fds[POLL_COUNT])
{
	struct jail_run *run = sup->run;
	uint64_t now;

	handle(sup, fds);
	if (stays(sup))
		return true;
	/* Init's socket is closed when it begins to die, whoever killed it. */
	if (sup->ended || sup->backstop || sup->is_to_die || run->control[0] < 0)
		leave_to_die(sup);
	now = clock_us();
	if (fds[POLL_INIT].revents) {
		if (!sup->ended && !sup->backstop)
			sup->ended_us = now;
		run->init_died = true;
		return true;
	}
	if (now >= sup->stop_at_us && !sup->ended)
		end_run(sup, JAIL_CAUSE_CANCELLED);
	if (now >= deadline(sup) && !sup->ended)
		end_run(sup, JAIL_CAUSE_WALL_TIME);
	if (now >= run->go_us + WATCH_AFTER_US && !sup->watching && !sup->killed && !sup->ended)
		watch_oom(sup);
	if (now < sup->oom_until_us && !sup->killed && !sup->ended)
		check_oom(sup);
	if (now >= sup->cpu_at_us && !sup->ended)
		sup->cpu_at_us = cpu_check(sup, now);
	return run->give_up_us && now + KILL_AGAIN_US >= run->give_up_us;
}

static void begin_drain(struct supervision *sup)
{
	sup->run->kept = stays(sup);
	if (sup->run->kept && sup->run->command.on_left)
		cgroup_kill_each(&sup->run->cgroup, sup->run->init_pid);
	while (sup->run->control[0] >= 0 && !(sup->ended && (sup->emptied || !run_is_bare(sup->run)))) {
		struct pollfd fd = { .fd = sup->run->control[0], .events = POLLIN };

		if (poll(&fd, 1, 0) <= 0)
			break;
		read_control(sup);
	}
	sup->grace_until_us = clock_us() + JAIL_GRACE_US;
	sup->grace_most_us = deadline(sup) > sup->grace_until_us ? deadline(sup) : sup->grace_until_us;
}

/* A pipe holds no more: a page for each read, if the program made it one of packets. Who got hold of an end outside could go on for
 * ever; what is then left is not passed off as the end. Whether the stream is at its end. */
static bool drain_stream(struct supervision *sup, int stream, struct pollfd fds[POLL_COUNT])
{
	for (;; sup->reads++) {
		if (!pass_rest(sup, stream, fds))
			return false;
		if (sup->reads > PIPE_MOST / PAGE_LEAST)
			sup->outcome->output[stream].truncated = true;
		if (sup->reads > PIPE_MOST / PAGE_LEAST || !read_output(sup, stream))
			return true;
	}
}

/* What the pipes still hold. A descriptor that left the jail over a workspace's socket could keep one open: no waiting. */
static bool drain(struct supervision *sup, struct pollfd fds[POLL_COUNT])
{
	if (!sup->grace_until_us)
		begin_drain(sup);
	for (; sup->drained < JAIL_STREAMS; sup->drained++, sup->reads = 0)
		if (!drain_stream(sup, sup->drained, fds))
			return false;
	if (sup->outcome->progress)
		jail_progress_end(sup->outcome->progress, clock_us());
	input_settle(&sup->run->input);
	return true;
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
static void collect(struct supervision *sup)
{
	const struct jail_run *run = sup->run;
	const struct jail_command *command = &run->command;

	if (command->collect && run->scratch_fd >= 0)
		rootfs_collect(run->scratch_fd, command->collect, &sup->outcome->collected);
	for (size_t i = 0; command->on_upper && i < run->upper_count; i++)
		show_upper(run, i);
}

/* ---- the verdict ---- */

/* Packets that the kernel refused for want of a route: IpOutNoRoutes of the jail's own namespace. (IPv6 fails earlier, for want
 * of an address to send from, and is not counted.) */
static uint64_t refused_packets(const struct jail_run *run)
{
	static const char wanted[] = "OutNoRoutes";
	char text[4096];
	ssize_t n = run->snmp_fd < 0 ? -1 : pread(run->snmp_fd, text, sizeof(text) - 1, 0);
	const char *names;
	const char *values;
	int column = 0;
	size_t len;

	if (n <= 0)
		return 0;
	text[n] = 0;
	names = strstr(text, "Ip: ");
	values = names ? strstr(names + 1, "\nIp: ") : NULL;
	if (!values)
		return 0;
	/* Not by sscanf(), which looks for the end of the whole text each time. */
	for (names += 4;
	     len = strcspn(names, " \n"), len != sizeof(wanted) - 1 || memcmp(names, wanted, len) != 0;
	     names += len + 1, column++)
		if (names[len] != ' ')
			return 0;
	for (values += 5; column > 0 && values; column--)
		values = strchr(values + 1, ' ');
	return values ? strtoull(values, NULL, 10) : 0;
}

/* Nobody else is in there any more. The kernel counts no refused write, so that a file of just that size is what shows it; the
 * walk is worth its time only if the program failed and has written that much. */
static bool file_size_reached(const struct supervision *sup)
{
	const struct jail_run *run = sup->run;
	const uint64_t limit = run->tmpl->plan.policy.limits.file_size_bytes;
	const bool failed = !sup->ended || sup->wait_status != 0;
	struct statfs fs;

	if (limit == POLICY_UNLIMITED || !failed || run->scratch_fd < 0 || run_is_joined(run) ||
	    run_is_bare(run))
		return false;
	if (sup->ended && WIFSIGNALED(sup->wait_status) && WTERMSIG(sup->wait_status) == SIGXFSZ)
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
static void find_limits_hit(struct supervision *sup, const struct cgroup_final *final)
{
	struct jail_outcome *outcome = sup->outcome;
	const struct jail_output *output = outcome->output;
	bool *hit = outcome->hit;

	hit[JAIL_CAUSE_OUTPUT] = output[JAIL_STDOUT].truncated || output[JAIL_STDERR].truncated;
	hit[JAIL_CAUSE_PIDS] = final->pids_limit_hits > 0;
	outcome->sessions_limit = final->oom_kills > 0 && !final->memory_limit_hit && is_sessions(sup);
	hit[JAIL_CAUSE_MEMORY] = final->oom_kills > 0 && (final->memory_limit_hit || outcome->sessions_limit);
	outcome->file_size_hit = file_size_reached(sup);
	hit[JAIL_CAUSE_DISK] = !sup->run->scratch_was_full && run_scratch_is_full(sup->run);
	outcome->network = run_edge_report(&sup->run->edge);
	outcome->edge_died = !outcome->session_ended && run_edge_is_dead(&sup->run->edge);
	tell_published(sup->run, outcome);
	hit[JAIL_CAUSE_NETWORK] = refused_packets(sup->run) > 0 || outcome->edge_died ||
				  (outcome->network && outcome->network->refused > 0);
	if (sup->killed && !outcome->session_ended && is_limit(sup->reason))
		hit[sup->reason] = true;
}

static enum jail_cause cause_of_signal(const struct supervision *sup, int number)
{
	const struct jail_plan *plan = &sup->run->tmpl->plan;
	const uint64_t limit = plan->policy.limits.cpu_time_us;

	/* Where only RLIMIT_CPU could be set, the kernel kills with its hard limit, which is the soft one. */
	if (plan->not_enforced[POLICY_CONTROL_CPU_TIME] && (number == SIGKILL || number == SIGXCPU) &&
	    sup->outcome->user_us + sup->outcome->system_us + 100000 >= limit)
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

/* Without a pid namespace, the program may kill its init, and what it started goes on. */
static bool lost_init(const struct supervision *sup)
{
	return run_is_bare(sup->run) && !sup->emptied;
}

/*
 * One cause: a limit only where the kernel counted a kill, we killed for it, or the signal proves it. A process that the kernel
 * killed for memory comes first, whatever the others did before they were killed, too. A limit that merely refuses (a fork, a write,
 * a packet) may have been handled long before the end, so that it stands in the limits that were hit alone.
 */
static enum jail_cause find_cause(const struct supervision *sup, const struct cgroup_final *final)
{
	if (sup->run->stuck || lost_init(sup))
		return JAIL_CAUSE_HOST;
	if (sup->outcome->session_ended)
		return JAIL_CAUSE_SUPERVISOR;
	if (final->oom_kills)
		return sup->outcome->hit[JAIL_CAUSE_MEMORY] ? JAIL_CAUSE_MEMORY : JAIL_CAUSE_HOST;
	if (sup->killed)
		return sup->reason;
	if (!sup->ended)
		return sup->backstop ? JAIL_CAUSE_WALL_TIME
				     : JAIL_CAUSE_HOST; /* nobody inside can kill init */
	if (sup->late && !sup->killed)
		return JAIL_CAUSE_WALL_TIME;
	return WIFSIGNALED(sup->wait_status) ? cause_of_signal(sup, WTERMSIG(sup->wait_status))
					     : JAIL_CAUSE_EXIT;
}

static void describe_memory(const struct supervision *sup, const struct cgroup_final *final)
{
	struct jail_outcome *outcome = sup->outcome;
	char limit[32];

	if (outcome->sessions_limit)
		snprintf(outcome->detail, sizeof(outcome->detail),
			 "killed at the memory limit of the session, which all that runs in it has together");
	else
		snprintf(
		    outcome->detail, sizeof(outcome->detail),
		    "killed at the memory limit of %s (%llu OOM kill(s))",
		    policy_format_size(sup->run->tmpl->plan.policy.limits.memory_bytes, limit, sizeof(limit)),
		    (unsigned long long) final->oom_kills);
}

static const char *describe_host(const struct supervision *sup, const struct cgroup_final *final)
{
	if (sup->outcome->left_behind)
		return sup->run->left;
	if (lost_init(sup))
		return "the program's init was killed, by the program or from outside; "
		       "processes that the program started may still run";
	return final->oom_kills ? "killed by the host's OOM killer"
				: "the jail's init was killed from outside";
}

static void describe(const struct supervision *sup, const struct cgroup_final *final)
{
	struct jail_outcome *outcome = sup->outcome;
	const struct jail_run *run = sup->run;
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
		snprintf(text, size, "%s after the wall time of %s",
			 sup->late && !sup->killed ? "ended by itself" : "killed",
			 policy_format_time(run->given.wall_time_us, limit, sizeof(limit)));
		break;
	case JAIL_CAUSE_CPU_TIME:
		snprintf(text, size, "killed after the CPU time of %s",
			 policy_format_time(plan->policy.limits.cpu_time_us, limit, sizeof(limit)));
		break;
	case JAIL_CAUSE_MEMORY:
		describe_memory(sup, final);
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
			 sup->failure ? sup->failure : "internal failure");
		break;
	case JAIL_CAUSE_HOST:
		snprintf(text, size, "%s", describe_host(sup, final));
		break;
	case JAIL_CAUSE_PIDS: /* these two end nothing */
	case JAIL_CAUSE_NETWORK:
	case JAIL_CAUSE_COUNT:
		break;
	}
}

static void judge(struct supervision *sup)
{
	struct jail_outcome *outcome = sup->outcome;
	const struct cgroup_final *final = &sup->final;
	const struct jail_run *run = sup->run;
	/* What the program did between the kernel's kill and ours is not its end. */
	const bool by_itself =
	    sup->ended && !sup->killed && final->oom_kills == 0 && !run->stuck && !lost_init(sup);
	const bool late = sup->late;
	const uint64_t end_us = sup->ended_us ? sup->ended_us : clock_us();

	outcome->left_behind = run->stuck;
	find_limits_hit(sup, final);
	outcome->exit_code = -1;
	outcome->signal = 0;
	if (by_itself && !late && WIFEXITED(sup->wait_status))
		outcome->exit_code = WEXITSTATUS(sup->wait_status);
	if (by_itself && !late && WIFSIGNALED(sup->wait_status))
		outcome->signal = WTERMSIG(sup->wait_status);
	outcome->cause = find_cause(sup, final);
	if (!by_itself)
		outcome->signal = SIGKILL;
	if (is_limit(outcome->cause))
		outcome->hit[outcome->cause] = true;
	outcome->wall_us = end_us - run->go_us;
	if (outcome->wall_us > paused_us(run, end_us))
		outcome->wall_us -= paused_us(run, end_us);
	outcome->hit[JAIL_CAUSE_WALL_TIME] |= outcome->wall_us > run->given.wall_time_us;
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
	describe(sup, final);
}

/* ---- phases ---- */

static void ask(struct supervision *sup, int fd, uint64_t at_us)
{
	sup->asked = true;
	sup->run->wait.fd = fd;
	sup->run->wait.at_us = at_us;
}

/* Whether the wait for what was asked is over, and `there`, with an answer. */
static bool is_answered(struct supervision *sup, const struct pollfd fds[POLL_COUNT], bool *ret_there)
{
	*ret_there = fds[POLL_WAIT].revents != 0;
	if (!*ret_there && clock_us() < sup->run->wait.at_us)
		return false;
	sup->asked = false;
	return true;
}

/* The release tells if it does not die; nothing is taken out of a jail that lives. */
static bool end_jail(struct supervision *sup, struct pollfd fds[POLL_COUNT])
{
	const int left = run_kill(sup->run);

	if (left == RUN_WAITS)
		return false;
	if (left == 0) {
		collect(sup);
		run_leave_root(sup->run);
	}
	return true;
}

static bool end_starter(struct supervision *sup, struct pollfd fds[POLL_COUNT])
{
	struct jail_run *run = sup->run;

	if (!run->stuck && run_stop_starter(run) == RUN_WAITS)
		return false;
	for (int stream = 0; stream < 2; stream++)
		sup->outcome->passed[stream] = run->pass[stream].passed;
	sup->outcome->merged = run->merged;
	cgroup_final(&run->cgroup, &sup->final);
	if (lost_init(sup))
		readback_lost_init(run);
	return true;
}

/* The kernel kills what is in a session before its init is dead; of an execution it may take the program first, so that its init can tell
 * of a signal. What fails on our side meanwhile is the end's consequence. Nobody else kills an init, so that there is time to wait. */
static bool may_have_ended_with_session(const struct supervision *sup)
{
	const bool is_killed =
	    sup->ended && WIFSIGNALED(sup->wait_status) && WTERMSIG(sup->wait_status) == SIGKILL;

	return run_is_joined(sup->run) && sup->final.oom_kills == 0 && !sup->run->stuck &&
	       (!sup->ended || is_killed) && (!sup->killed || sup->failure);
}

static bool look_at_session(struct supervision *sup, struct pollfd fds[POLL_COUNT])
{
	if (sup->asked)
		return is_answered(sup, fds, &sup->outcome->session_ended);
	if (!may_have_ended_with_session(sup))
		return true;
	ask(sup, joined_session_fd(sup->run), clock_us() + (sup->ended ? 500000 : 5000000));
	return false;
}

static bool look_at_edge(struct supervision *sup, struct pollfd fds[POLL_COUNT])
{
	const struct run_edge *edge = &sup->run->edge;
	bool there;

	if (sup->asked && !is_answered(sup, fds, &there))
		return false;
	if (!sup->counted && run_edge_ask(edge)) {
		sup->counted = true;
		ask(sup, edge->counter_fd, clock_us() + RUN_EDGE_COUNT_MS * UINT64_C(1000));
		return false;
	}
	judge(sup);
	return true;
}

static bool release(struct supervision *sup, struct pollfd fds[POLL_COUNT])
{
	/* One that was parked is removed later: jail_run_remove(). */
	const int left = sup->run->parked ? 0 : run_release_step(sup->run, &sup->err);

	if (left == RUN_WAITS)
		return false;
	sup->released = left;
	return true;
}

/* In their order. Each one is called again and again with the answers to its list, the first time without one; it does what it can
 * without waiting, and tells whether it is over. */
static bool (*const phases[])(struct supervision *sup, struct pollfd fds[POLL_COUNT]) = {
	drive, drain, end_jail, end_starter, look_at_session, look_at_edge, release,
};
enum { PHASE_DRIVE, PHASE_DRAIN, PHASE_COUNT = ARRAY_LENGTH(phases) };

/* What the present phase waits for: the list, and a time. */
static uint64_t fill(const struct supervision *sup, uint64_t now, struct pollfd fds[POLL_COUNT])
{
	const struct jail_run *run = sup->run;

	for (int i = 0; i < POLL_COUNT; i++)
		fds[i] = (struct pollfd){ .fd = -1 };
	if (sup->phase == PHASE_DRIVE) {
		fill_poll(sup, fds);
		return next_us(sup, now);
	}
	if (sup->phase == PHASE_DRAIN) {
		fds[POLL_STDOUT + sup->drained] =
		    (struct pollfd){ .fd = pass_poll_fd(&run->pass[sup->drained]), .events = POLLOUT };
		fds[POLL_CANCEL] = (struct pollfd){ .fd = run->cancel_fd, .events = POLLIN };
		return sup->grace_until_us;
	}
	fds[POLL_WAIT] = (struct pollfd){ .fd = run->wait.fd, .events = POLLIN };
	return run->wait.at_us;
}

static void go_on(struct supervision *sup, struct pollfd fds[POLL_COUNT])
{
	while (sup->phase < PHASE_COUNT && phases[sup->phase](sup, fds)) {
		sup->phase++;
		/* The next phase may close what is in the list of this one. */
		if (sup->poller.open)
			poller_set(&sup->poller, NULL, 0, UINT64_MAX);
		for (int i = 0; i < POLL_COUNT; i++)
			fds[i].revents = 0;
	}
}

static void set_poller(struct supervision *sup)
{
	struct pollfd fds[POLL_COUNT];
	const uint64_t at_us = fill(sup, clock_us(), fds);

	poller_set(&sup->poller, fds, POLL_COUNT, at_us);
}

int jail_supervise_begin(struct jail_run *run, struct jail_outcome *outcome, struct warder_error *err)
{
	struct supervision *sup = &run->supervision;
	const uint64_t wall = run->given.wall_time_us;
	struct jail_progress *progress = NULL;

	if (run->supervised)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL,
				 "this run has been waited for already");
	if (run->command.progress && !(progress = jail_progress_new(&run->command)))
		return error_no_memory(err, NULL);
	run->supervised = true;
	run->input.poller = &sup->poller;
	sup->run = run;
	sup->outcome = outcome;
	sup->reason = JAIL_CAUSE_COUNT;
	sup->stop_at_us = UINT64_MAX;
	sup->deadline_us = wall == POLICY_UNLIMITED ? UINT64_MAX : run->go_us + wall;
	memset(outcome, 0, sizeof(*outcome));
	outcome->progress = progress;
	sup->cpu_at_us = cpu_check(sup, clock_us());
	return 0;
}

int jail_supervise_fd(struct jail_run *run, struct warder_error *err)
{
	struct supervision *sup = &run->supervision;

	if (!sup->poller.open && poller_open(&sup->poller) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
				       "cannot make a descriptor for the run");
	set_poller(sup);
	return sup->poller.fd;
}

bool jail_supervise_step(struct jail_run *run, uint64_t most_us)
{
	struct supervision *sup = &run->supervision;
	struct pollfd fds[POLL_COUNT];
	const uint64_t now = clock_us();
	const uint64_t at_us = fill(sup, now, fds);
	const uint64_t left_us = at_us == UINT64_MAX ? UINT64_MAX : at_us > now ? at_us - now : 0;
	const uint64_t us = left_us < most_us ? left_us : most_us;
	const struct timespec most = { .tv_sec = (time_t)(us / 1000000),
				       .tv_nsec = (long)(us % 1000000) * 1000 };

	if (sup->phase < PHASE_COUNT && ppoll(fds, POLL_COUNT, us == UINT64_MAX ? NULL : &most, NULL) >= 0)
		go_on(sup, fds);
	else if (sup->phase == PHASE_DRIVE && errno != EINTR)
		fail_run(sup, "poll failed");
	if (sup->phase == PHASE_COUNT)
		return true;
	if (sup->poller.open)
		set_poller(sup);
	return false;
}

int jail_supervise_end(struct jail_run *run, struct warder_error *err)
{
	struct supervision *sup = &run->supervision;

	poller_stop(&sup->poller);
	if (!run->stuck && sup->released < 0)
		*err = sup->err;
	return run->stuck ? 0 : sup->released;
}

int jail_supervise(struct jail_run *run, struct jail_outcome *ret, struct warder_error *err)
{
	if (jail_supervise_begin(run, ret, err) < 0)
		return -1;
	while (!jail_supervise_step(run, UINT64_MAX))
		continue;
	return jail_supervise_end(run, err);
}

void jail_outcome_done(struct jail_outcome *outcome)
{
	for (int stream = 0; stream < JAIL_STREAMS; stream++)
		free(outcome->output[stream].bytes);
	rootfs_collection_done(&outcome->collected);
	free(outcome->network);
	free(outcome->progress);
	memset(outcome, 0, sizeof(*outcome));
}
