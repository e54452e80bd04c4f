/*
 * A launch that ends half-way: each step made to fail in turn, and the supervisor killed at each of its system calls and
 * at random moments. The jail dies with its supervisor; what only files and directories remember is removed by the next run,
 * or by jail_clean(), which is `warder doctor --clean`.
 */
#include <sys/socket.h>
#include <sys/syscall.h>

#include "jail/template.h"
#include "tests/fault/stage.h"

/* A workspace of its own, over which an overlay is mounted, where that can be. */
static void use_overlay(struct jailed *j, char directory[32])
{
	strcpy(directory, "/srv/warder-steps.XXXXXX");
	if (!mkdtemp(directory)) {
		strcpy(directory, "/var/tmp/warder-steps.XXXXXX");
		cr_assert(mkdtemp(directory));
	}
	if (!j->host.features[JAIL_FEATURE_OVERLAY].there)
		return;
	j->policy.filesystem.workspace = POLICY_WORKSPACE_OVERLAY;
	j->policy.filesystem.workspace_root = strdup(directory);
}

/* Replaces the function of the C library in this program. With the switch, a look at an empty socket takes longer, so that messages arrive
 * between the looks at the two sockets of a jail. */
static bool looks_late;

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	ssize_t n = syscall(SYS_recvmsg, fd, message, flags);

	if (looks_late && n < 0 && errno == EAGAIN) {
		usleep(3000);
		errno = EAGAIN;
	}
	return n;
}

/* Init fails while the payload starts. The payload may have sent WIRE_BORN by then. */
Test(steps, init_fails_beside_the_payload, .timeout = 300)
{
	struct stage *stage = stage_new();
	struct jailed *j = jailed_new_below(stage->parent);
	char *argv[] = { "/bin/true", NULL };
	char directory[32];

	use_overlay(j, directory);
	cr_assert_eq(jailed_prepare(j, true), 0, "%s", j->err.text);
	j->tmpl->fail_step = WIRE_STEP_INIT_DROP;
	looks_late = true;
	for (long i = stage_amount(50, 200, 2000); i > 0; i--) {
		cr_assert_eq(jailed_go(j, argv), 4, "the launch went on");
		cr_expect_str_eq(j->err.step, "init-drop", "%s: %s", j->err.step, j->err.text);
	}
	looks_late = false;
	jailed_free(j);
	rmdir(directory);
	stage_done(stage);
}

/* The hook of the launch: the step runs, and then counts as failed. Steps that only the other mode has do nothing, and fail. */
Test(steps, each_step_fails, .timeout = 600)
{
	struct stage *stage = stage_new();
	struct jailed *j = jailed_new_below(stage->parent);
	char *argv[] = { "/bin/true", NULL };
	struct inventory before;
	static const char *const inside[] = {
#define X(id, name) [WIRE_STEP_##id] = name,
		WIRE_STEPS(X)
#undef X
	};
	char last[sizeof(j->err.step)] = "";
	char text[1200];
	char directory[32];
	uint32_t step;

	j->policy.network.mode = POLICY_NETWORK_LOOPBACK;
	use_overlay(j, directory);
	cr_assert_eq(jailed_prepare(j, true), 0, "%s", j->err.text);
	/* The first run makes what the template keeps: its identity, and a network namespace for the next. */
	cr_assert_eq(jailed_go(j, argv), 0, "%s", j->err.text);
	usleep(100000);
	inventory_take(&stage->scope, &before);
	/* First the steps inside, up to the last before READY, then the rows of the launch, until a number has no row. */
	for (step = WIRE_STEP_BLOCK + 1;; step = step + 1 == WIRE_STEP_READY ? WIRE_STEP_COUNT : step + 1) {
		int ret;

		/* Init is killed while it sets itself up. */
		if (strcmp(last, "plan") == 0 && !stage_may_kill_forks()) {
			fprintf(stderr,
				"skipped: User-mode Linux panics when forking processes are killed\n");
			strcpy(last, "spawn");
			continue;
		}
		j->tmpl->fail_step = step;
		ret = jailed_go(j, argv);
		if (ret == 0 && step > WIRE_STEP_COUNT)
			break;
		cr_assert_eq(ret, 4, "step %u, after %s: the launch went on", step, last);
		cr_expect(step < WIRE_STEP_COUNT ? strcmp(j->err.step, inside[step]) == 0
						 : *j->err.step && strcmp(j->err.step, last) != 0,
			  "step %u, after %s: reported as %s: %s", step, last, j->err.step, j->err.text);
		snprintf(last, sizeof(last), "%s", j->err.step);
		cr_expect(j->err.code != WARDER_ERROR_NONE && *j->err.text, "%s: no reason", last);
		/* The template may have lost the namespace that it had ready. */
		cr_expect(
		    inventory_settle(&stage->scope, &before, false, STAGE_SETTLE_S, text, sizeof(text)) >= 0,
		    "%s: %s", last, text);
	}
	cr_expect_str_eq(last, "go", "the last row of the launch is not reached");
	j->tmpl->fail_step = WIRE_STEP_NONE;
	cr_expect_eq(jailed_go(j, argv), 0, "after the failures: %s", j->err.text);
	inventory_done(&before);
	jailed_free(j);
	cr_expect_eq(rmdir(directory), 0, "something is left in the workspace");
	stage_note("%u steps of a launch failed in turn",
		   step - WIRE_STEP_COUNT + WIRE_STEP_READY - WIRE_STEP_BLOCK - 1);
	stage_done(stage);
}

/* ---- killed ---- */

static long worst_ms;

/* The jail of a killed supervisor dies by itself; then a later process cleans. */
static void after_kill(struct stage *stage, const char *label, long number)
{
	long took_ms = stage_clean(stage, label, number % 8 == 7);

	if (getenv("WARDER_VERBOSE"))
		fprintf(stderr, "%s: %ld ms\n", label, took_ms);
	worst_ms = took_ms > worst_ms ? took_ms : worst_ms;
	stage_check(stage, label);
}

Test(steps, killed_at_each_call, .timeout = 6000)
{
#if !defined(__x86_64__)
	cr_skip_test("the tracer knows x86-64 only");
#endif
	if (!stage_may_kill_forks())
		cr_skip_test("User-mode Linux panics when forking processes are killed");
	struct stage *stage = stage_new();
	const volatile bool never = false;
	static struct inject_report report;
	struct inject what = { .kill = true, .stop = &never, .seconds = 60 };
	long kills = 0;
	long stride;
	unsigned int calls;

	inject_trace(stage_fork(stage, stage_supervise, true), &what, &report);
	cr_assert(report.wait_status == 0 && stage->act->step == 0, "undisturbed: %x, step %d: %s",
		  (unsigned int)report.wait_status, stage->act->step, stage->act->err.text);
	calls = report.calls;
	stage_check(stage, "undisturbed");
	stride = (long)calls / stage_amount(6, 60, calls);
	if (stride < 1)
		stride = 1;
	for (what.at = 1; what.at <= calls; what.at += (unsigned int)stride, kills++) {
		char label[80];

		inject_trace(stage_fork(stage, stage_supervise, true), &what, &report);
		snprintf(label, sizeof(label), "killed at its call %u (%s)", what.at, report.call);
		cr_expect(!report.injected || WIFSIGNALED(report.wait_status), "%s: status %x", label,
			  (unsigned int)report.wait_status);
		after_kill(stage, label, kills);
	}
	stage_note("a supervisor killed at %ld of its %u calls: the jail was dead after %ld ms at most",
		   kills, calls, worst_ms);
	stage_done(stage);
}

static void supervise_for_long(struct stage *stage, struct act *act)
{
	char *argv[] = { "/bin/sh", "-c", "trap '' TERM HUP; setsid sleep 1000 & sleep 1000", NULL };
	struct jailed *j = jailed_new_below(stage->parent);

	act->step = jailed_prepare(j, false);
	if (act->step == 0)
		act->step = jailed_go(j, argv);
}

Test(steps, killed_at_random_moments, .timeout = 6000)
{
	if (!stage_may_kill_forks())
		cr_skip_test("User-mode Linux panics when forking processes are killed");
	struct stage *stage = stage_new();
	const long kills = stage_amount(6, 60, 500);
	uint64_t start_us = clock_us();
	uint64_t run_us;

	stage_plain_run(stage, "undisturbed");
	run_us = clock_us() - start_us;
	for (long i = 0; i < kills; i++) {
		pid_t pid = stage_fork(stage, i % 2 ? supervise_for_long : stage_supervise, false);
		const long after_us = random() % (long)(run_us + run_us / 4);
		char label[80];
		int status = 0;

		usleep((useconds_t)after_us);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		snprintf(label, sizeof(label), "killed after %ld us", after_us);
		after_kill(stage, label, i);
	}
	stage_note(
	    "a supervisor killed at %ld random moments of %lu ms: the jail was dead after %ld ms at most",
	    kills, (unsigned long)(run_us / 1000), worst_ms);
	stage_done(stage);
}
