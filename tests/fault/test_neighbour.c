/*
 * A session's start that fails, at any of its calls, is nobody else's end: a jail that runs below the same cgroup parent lives on, and
 * of the session nothing is left.
 */
#include "jail/session.h"
#include "tests/fault/stage.h"

#define HOUR UINT64_C(3600000000)

static int build(struct jailed *j)
{
	static const struct policy_subject subject = { "command", POLICY_PAYLOAD_PROGRAM };

	jail_capabilities(&j->host, &j->policy, &j->capabilities);
	if (policy_match(&j->policy, &j->capabilities, &subject, &j->match, &j->err) < 0)
		return 1;
	return jail_plan_build(&j->policy, &j->host, &j->capabilities, &j->match, NULL, NULL, &j->plan,
			       &j->err) < 0
		   ? 2
		   : 0;
}

/* What a session's keeper does. */
static void open_session(struct jailed *j, struct act *act)
{
	struct jail_session *session = NULL;

	if (jail_session_open(&j->plan, &j->host, HOUR, &session, &j->err) < 0)
		act->step = 4;
	jail_session_free(session);
	act->done = true;
	act->err = j->err;
	jailed_free(j);
}

static struct jailed *planned(struct stage *stage, struct act *act)
{
	struct jailed *j = jailed_new_below(stage->parent);

	act->step = build(j);
	cr_assert_eq(act->step, 0, "%s", j->err.text);
	return j;
}

static void open_plainly(struct stage *stage, struct act *act)
{
	open_session(planned(stage, act), act);
}

/* Traced from where the host is known. */
static void open_traced(struct stage *stage, struct act *act)
{
	struct jailed *j = planned(stage, act);

	inject_begin();
	open_session(j, act);
}

/* The same directory by a longer name: the session's cgroup fits, and what is to come below it does not. */
static void open_below_long_path(struct stage *stage, struct act *act)
{
	struct jailed *j = planned(stage, act);

	for (size_t h = 0; h < j->host.cgroup.hierarchy_count; h++) {
		char *base = j->host.cgroup.hierarchies[h].base;

		while (strlen(base) < CGROUP_BASE_MAX - 8)
			strcat(base, "/.");
	}
	open_session(j, act);
}

struct neighbour {
	pid_t pid;
	int said_fd;
};

/* A jail that says a word and stays. */
static void sleep_in_jail(struct stage *stage, int said_fd)
{
	char *argv[] = { "/bin/sh", "-c", "echo up; while :; do sleep 1000; done", NULL };
	const int output_fds[JAIL_STREAMS] = { said_fd, said_fd };
	struct jailed *j = jailed_new_below(stage->parent);

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	j->policy.limits.wall_time_us = HOUR;
	j->policy.limits.cpu_time_us = HOUR;
	j->command.output_fds = output_fds;
	if (jailed_prepare(j, false) == 0)
		jailed_go(j, argv);
	fprintf(stderr, "the neighbour ended: step %d, %s%s\n", j->step, j->err.text, j->outcome.detail);
	jailed_free(j);
	_exit(1);
}

static struct neighbour neighbour_new(struct stage *stage)
{
	struct neighbour neighbour;
	int said[2];
	char word[4];

	cr_assert_eq(pipe2(said, O_CLOEXEC), 0);
	neighbour.pid = fork();
	if (neighbour.pid == 0)
		sleep_in_jail(stage, said[1]);
	close(said[1]);
	cr_assert_eq(read(said[0], word, 3), 3, "the neighbour does not run");
	neighbour.said_fd = said[0];
	return neighbour;
}

static bool lives(const struct neighbour *neighbour)
{
	return waitpid(neighbour->pid, NULL, WNOHANG) == 0;
}

/* Its supervisor is killed, and with it the jail; what is left of it, anybody cleans. */
static void neighbour_done(struct stage *stage, struct neighbour *neighbour)
{
	kill(neighbour->pid, SIGKILL);
	waitpid(neighbour->pid, NULL, 0);
	close(neighbour->said_fd);
	stage_clean(stage, "the neighbour", false);
}

Test(neighbour, a_path_that_is_too_long_for_a_session, .timeout = 300)
{
	struct stage *stage = stage_new();
	struct neighbour neighbour;

	if (!stage->parent)
		cr_skip_test("needs root: a cgroup parent of its own");
	neighbour = neighbour_new(stage);
	cr_expect_eq(stage_wait(stage_fork(stage, open_below_long_path, false), 60), 0);
	cr_expect(stage->act->step == 4 && strstr(stage->act->err.text, "too long"), "step %d: %s",
		  stage->act->step, stage->act->err.text);
	usleep(200000);
	cr_expect(lives(&neighbour), "a session that could not start ended another's jail");
	neighbour_done(stage, &neighbour);
	stage_done(stage);
}

Test(neighbour, every_failed_call_of_a_start, .timeout = 6000)
{
#if !defined(__x86_64__)
	cr_skip_test("the injector knows x86-64 only");
#endif
	if (!stage_may_kill_forks())
		cr_skip_test("User-mode Linux panics when forking processes are killed");
	static struct inject_report report;
	struct stage *stage = stage_new();
	struct inject what = { .kind = -1, .stop = &stage->act->done, .seconds = 60 };
	struct neighbour neighbour = neighbour_new(stage);
	struct inventory before;
	unsigned int failed = 0;
	unsigned int calls;
	char label[200];
	char text[1200];

	cr_expect_eq(stage_wait(stage_fork(stage, open_plainly, false), 60), 0);
	cr_assert_eq(stage->act->step, 0, "undisturbed: %s", stage->act->err.text);
	usleep(300000); /* the neighbour sleeps: its state is part of the inventory */
	stage_take_quiet(stage, &before);
	inject_trace(stage_fork(stage, open_traced, false), &what, &report);
	cr_assert(report.wait_status == 0 && stage->act->step == 0, "traced, but undisturbed: %x, %s",
		  (unsigned int)report.wait_status, stage->act->err.text);
	calls = report.calls;
	for (what.at = 1; what.at <= calls; what.at++) {
		what.choice = what.at;
		inject_trace(stage_fork(stage, open_traced, false), &what, &report);
		snprintf(label, sizeof(label), "%s %u: %s (-> %d %s)", report.call, what.at, report.error,
			 stage->act->step, stage->act->err.text);
		cr_expect(!report.hung && report.wait_status == 0, "%s: status %x", label,
			  (unsigned int)report.wait_status);
		cr_expect(stage->act->step == 0 || *stage->act->err.text, "%s: no word why", label);
		failed += stage->act->step != 0;
		cr_assert(
		    inventory_settle(&stage->scope, &before, true, STAGE_SETTLE_S, text, sizeof(text)) >= 0,
		    "%s: %s", label, text);
		cr_assert(lives(&neighbour), "%s: it ended another's jail", label);
	}
	inventory_done(&before);
	stage_note("a session's start with each of its %u calls failed in turn: %u refused, and the jail "
		   "beside it lived on",
		   calls, failed);
	neighbour_done(stage, &neighbour);
	stage_done(stage);
}
