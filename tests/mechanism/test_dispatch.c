/*
 * dispatch: runs that are supervised by a descriptor and by steps that do not wait.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "jail/cgroup/ends.h"
#include "jail/run.h"
#include "tests/lib/jailed.h"

struct seen {
	unsigned int steps;
	uint64_t in_steps_us; /* the time that the steps took; they do not wait */
	uint64_t total_us;
};

static void start(struct jailed *j, const char *script)
{
	j->command.argv = (char *[]){ "/bin/sh", "-c", (char *)script, NULL };
	if (!j->tmpl)
		cr_assert_eq(jailed_prepare(j, true), 0, "%s", j->err.text);
	cr_assert_eq(jail_launch(j->tmpl, &j->command, &j->run, &j->err), 0, "%s", j->err.text);
	cr_assert_eq(jail_supervise_begin(j->run, &j->outcome, &j->err), 0, "%s", j->err.text);
}

static void end(struct jailed *j)
{
	cr_expect_eq(jail_supervise_end(j->run, &j->err), 0, "%s", j->err.text);
	jail_run_free(j->run);
	j->run = NULL;
}

/* To the end of one run. */
static struct seen follow(struct jailed *j)
{
	struct seen seen = { 0 };
	const uint64_t began_us = clock_us();
	const int fd = jail_supervise_fd(j->run, &j->err);
	bool ended = false;

	cr_assert(fd >= 0, "%s", j->err.text);
	while (!ended) {
		struct pollfd ready = { .fd = fd, .events = POLLIN };
		uint64_t step_us;

		cr_assert_eq(poll(&ready, 1, 40000 * (int)jailed_slow()), 1, "nothing to do after %u steps",
			     seen.steps);
		step_us = clock_us();
		ended = jail_supervise_step(j->run, 0);
		seen.in_steps_us += clock_us() - step_us;
		seen.steps++;
	}
	seen.total_us = clock_us() - began_us;
	return seen;
}

/* A jail of a crowd, whose program waits for a line. */
struct one {
	struct jail_run *run;
	struct jail_outcome outcome;
	int line[2]; /* a pipe */
};

#define CROWD_MAX 1000

/* How many live at the same time; more than a few only in a guest, where WARDER_CROWD says it. */
static int crowd(void)
{
	const char *wanted = getenv("WARDER_TEST_GUEST") ? getenv("WARDER_CROWD") : NULL;
	const int count = wanted ? atoi(wanted) : 0;

	return count > 20 && count <= CROWD_MAX ? count : 20;
}

static void begin_one(struct jailed *j, struct one *one, int number, int loop_fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = one };
	char script[64];
	int fd;

	snprintf(script, sizeof(script), "read line; echo $line %d; exit %d", number, number % 256);
	j->command.argv = (char *[]){ "/bin/sh", "-c", script, NULL };
	cr_assert_eq(pipe2(one->line, O_CLOEXEC), 0);
	j->command.stdin_fd = one->line[0];
	cr_assert_eq(jail_launch(j->tmpl, &j->command, &one->run, &j->err), 0, "%d: %s", number, j->err.text);
	cr_assert_eq(jail_supervise_begin(one->run, &one->outcome, &j->err), 0, "%s", j->err.text);
	fd = jail_supervise_fd(one->run, &j->err);
	cr_assert(fd >= 0 && fd == jail_supervise_fd(one->run, &j->err));
	cr_assert_eq(epoll_ctl(loop_fd, EPOLL_CTL_ADD, fd, &event), 0);
}

static void end_one(struct jailed *j, struct one *one, int number)
{
	char expected[32];

	snprintf(expected, sizeof(expected), "hello %d\n", number);
	cr_expect_eq(one->outcome.exit_code, number % 256, "%d: %s", number, one->outcome.detail);
	cr_expect(one->outcome.output[JAIL_STDOUT].bytes &&
		      strcmp(one->outcome.output[JAIL_STDOUT].bytes, expected) == 0,
		  "%d", number);
	jail_outcome_done(&one->outcome);
	close(one->line[0]);
	close(one->line[1]);
}

Test(dispatch, one_thread_drives_many_runs, .timeout = 240)
{
	static struct one all[CROWD_MAX];
	const struct rlimit descriptors = { CROWD_MAX * 30, CROWD_MAX * 30 };
	const int count = crowd();
	const int loop_fd = epoll_create1(EPOLL_CLOEXEC);
	struct jailed *j = jailed_new();
	int left = count;

	if (count > 20)
		cr_assert_eq(setrlimit(RLIMIT_NOFILE, &descriptors), 0);
	j->policy.limits.wall_time_us = 3600ull * 1000000;
	cr_assert_eq(jailed_prepare(j, true), 0, "%s", j->err.text);
	for (int i = 0; i < count; i++)
		begin_one(j, &all[i], i, loop_fd);
	for (int i = 0; i < count; i++)
		cr_expect_eq(kill(all[i].run->init_pid, 0), 0, "jail %d has ended before its line", i);
	for (int i = 0; i < count; i++)
		cr_assert_eq(write(all[i].line[1], "hello\n", 6), 6);
	while (left) {
		struct epoll_event event;
		struct one *one;

		cr_assert_eq(epoll_wait(loop_fd, &event, 1, 60000 * (int)jailed_slow()), 1);
		one = event.data.ptr;
		if (!jail_supervise_step(one->run, 0))
			continue;
		cr_expect_eq(jail_supervise_end(one->run, &j->err), 0, "%s", j->err.text);
		jail_run_free(one->run);
		left--;
	}
	for (int i = 0; i < count; i++)
		end_one(j, &all[i], i);
	close(loop_fd);
	jailed_free(j);
}

/* Each cause of an end, with the time that it waits for something: no step waits in its place. */
Test(dispatch, no_step_waits, .timeout = 240)
{
	enum way { BY_ITSELF, WALL_TIME, STOP, CANCEL, TURN };
	static const struct {
		const char *label, *script;
		enum way way;
		enum jail_cause cause;
		unsigned int least_ms;
	} rows[] = {
		{ "an exit", "sleep 0.6; exit 3", BY_ITSELF, JAIL_CAUSE_EXIT, 500 },
		{ "background processes", "sleep 50 & sleep 0.6", BY_ITSELF, JAIL_CAUSE_EXIT, 500 },
		{ "the wall time", "trap '' TERM; sleep 50", WALL_TIME, JAIL_CAUSE_WALL_TIME, 900 },
		{ "the grace after a signal", "trap '' TERM; echo; sleep 50; sleep 50", STOP,
		  JAIL_CAUSE_CANCELLED, 700 },
		{ "a cancellation", "sleep 50", CANCEL, JAIL_CAUSE_CANCELLED, 0 },
		{ "the turn of a kill", "sleep 50", TURN, JAIL_CAUSE_CANCELLED, ENDS_PAUSE_MS - 5 },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct jailed *j = jailed_new();
		struct seen seen;

		if (rows[i].way == WALL_TIME)
			j->policy.limits.wall_time_us = 1000000;
		start(j, rows[i].script);
		for (int kill = 0; rows[i].way == TURN && kill < ENDS_AT_ONCE; kill++)
			ends_turn_us();
		while (rows[i].way == STOP &&
		       !j->outcome.output[JAIL_STDOUT].total) /* until it ignores the signal */
			cr_assert(!jail_supervise_step(j->run, 1000000));
		if (rows[i].way == STOP)
			jail_stop(j->run, SIGTERM, 700000);
		if (rows[i].way == CANCEL || rows[i].way == TURN)
			jail_cancel(j->run);
		seen = follow(j);
		end(j);
		cr_expect_eq(j->outcome.cause, rows[i].cause, "%s: %s", rows[i].label, j->outcome.detail);
		cr_expect(seen.total_us >= rows[i].least_ms * 1000, "%s: after %lu us", rows[i].label,
			  (unsigned long)seen.total_us);
		if (rows[i].least_ms) /* a step that waited would have most of the time */
			cr_expect(seen.in_steps_us < rows[i].least_ms * 1000 / 2 * jailed_slow(),
				  "%s: %lu of %lu us in %u steps", rows[i].label,
				  (unsigned long)seen.in_steps_us, (unsigned long)seen.total_us, seen.steps);
		jailed_free(j);
	}
}

/* A reader of output_fds that reads nothing is waited for by the descriptor, too. */
Test(dispatch, a_slow_reader_is_waited_for_outside, .timeout = 60)
{
	struct jailed *j = jailed_new();
	struct seen seen;
	int ends[2];

	cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
	j->command.output_fds = (int[]){ ends[1], ends[1] };
	j->policy.limits.wall_time_us = 1000000;
	start(j, "head -c 100000 /dev/zero");
	seen = follow(j);
	end(j);
	cr_expect(j->outcome.dropped[JAIL_STDOUT] > 0, "%s", j->outcome.detail);
	cr_expect(seen.total_us > 1900000 && seen.in_steps_us < 900000 * jailed_slow(), "%lu of %lu us",
		  (unsigned long)seen.in_steps_us, (unsigned long)seen.total_us);
	close(ends[0]);
	close(ends[1]);
	jailed_free(j);
}

/* What epoll does not take (files, /dev/zero) is always ready; what is closed is not reported again. */
Test(dispatch, the_descriptor_is_readable_only_if_there_is_something_to_do, .timeout = 120)
{
	static const struct {
		const char *label, *script, *input;
		bool forked; /* a child of ours keeps every descriptor */
		unsigned int most;
	} rows[] = {
		{ "an idle program", "sleep 1", NULL, false, 20 },
		{ "closed outputs", "exec >&- 2>&-; sleep 1", NULL, false, 20 },
		{ "closed outputs, and a fork", "sleep 0.2; exec >&- 2>&-; sleep 1", NULL, true, 25 },
		{ "closed input, and a fork", "sleep 0.2; exec <&-; sleep 1", "/dev/zero", true, 60 },
		{ "an endless device", "head -c 300000 | wc -c; sleep 1", "/dev/zero", false, 90 },
		{ "a file", "cat >/dev/null; sleep 1", "/etc/passwd", false, 40 },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct jailed *j = jailed_new();
		struct seen seen;
		int status;
		pid_t child = -1;

		if (rows[i].input)
			j->command.stdin_fd = open(rows[i].input, O_RDONLY | O_CLOEXEC);
		start(j, rows[i].script);
		cr_assert(jail_supervise_fd(j->run, &j->err) >= 0);
		if (rows[i].forked) {
			child = fork();
			if (child == 0) {
				sleep(60);
				_exit(0);
			}
		}
		seen = follow(j);
		end(j);
		cr_expect_eq(j->outcome.exit_code, 0, "%s: %s", rows[i].label, j->outcome.detail);
		cr_expect(seen.steps <= rows[i].most, "%s: %u steps", rows[i].label, seen.steps);
		if (child > 0) {
			kill(child, SIGKILL);
			waitpid(child, &status, 0);
		}
		if (j->command.stdin_fd >= 0)
			close(j->command.stdin_fd);
		jailed_free(j);
	}
}

/* Half by steps, the rest by a wait; and freed in the middle of it. */
Test(dispatch, a_run_may_be_waited_for_or_freed_at_any_step, .timeout = 60)
{
	for (int steps = 0; steps < 4; steps++) {
		for (int freed = 0; freed < 2; freed++) {
			struct jailed *j = jailed_new();
			int init;

			start(j, "echo a; sleep 0.1; echo b; sleep 0.1; exit 4");
			init = j->run->init_pid;
			if (steps)
				cr_assert(jail_supervise_fd(j->run, &j->err) >= 0);
			for (int i = 0; i < steps; i++)
				cr_assert(!jail_supervise_step(j->run, 50000));
			if (!freed) {
				while (!jail_supervise_step(j->run, UINT64_MAX))
					continue;
				end(j);
				cr_expect_eq(j->outcome.exit_code, 4, "%s", j->outcome.detail);
				cr_expect_str_eq(jailed_text(j, JAIL_STDOUT), "a\nb\n");
			}
			jailed_free(j);
			cr_expect(kill(init, 0) < 0, "init %d is there", init);
		}
	}
}
