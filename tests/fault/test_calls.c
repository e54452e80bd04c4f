/*
 * Every system call of a run that can fail is made to fail in turn: in the supervisor, its helpers, the jail's init and the
 * payload. Then the run is refused or fails with an error that says why, or it goes on, and then the program
 * is confined exactly as in an undisturbed run: by its own account and by the receipt. Nothing is left in either case.
 */
#include <ctype.h>
#include <sys/mman.h>

#include "tests/fault/stage.h"

static void check_act(const struct act *act, const struct inject_report *report, const char *label)
{
	cr_expect(!report->hung, "%s: it hung", label);
	cr_expect(report->wait_status == 0, "%s: the supervisor ended with %x", label,
		  (unsigned int)report->wait_status);
	if (report->hung || report->wait_status)
		return;
	cr_expect(act->descriptors_after == act->descriptors_before, "%s: %d descriptors, before %d", label,
		  act->descriptors_after, act->descriptors_before);
	if (act->step == 0) {
		stage_check_success(act, label);
		return;
	}
	cr_expect(act->err.code != WARDER_ERROR_NONE && *act->err.text, "%s: no word why", label);
	cr_expect(act->step != 4 || *act->err.step, "%s: no step: %s", label, act->err.text);
}

struct count {
	unsigned int made, refused, went_on, by_who[INJECT_WHO_COUNT];
};

/* The `nth` call of that kind: where it comes among all the calls differs a little from run to run. */
static void inject_one(struct stage *stage, int kind, unsigned int nth, unsigned int choice,
		       struct count *count)
{
	const struct inject what = { .at = nth,
				     .kind = kind,
				     .choice = choice,
				     .follow = true,
				     .stop = &stage->act->done,
				     .seconds = 25 };
	static struct inject_report report;
	char label[200];

	inject_trace(stage_fork(stage, stage->body, true), &what, &report);
	if (!report.injected)
		return;
	snprintf(label, sizeof(label), "%s %u of the %s: %s (-> %d %s)", report.call, nth,
		 inject_who_name(report.who), report.error, stage->act->step, stage->act->err.step);
	if (getenv("WARDER_VERBOSE"))
		fprintf(stderr, "%llu %s %s%s\n", (unsigned long long)clock_us() / 1000, label,
			stage->act->err.text, stage->act->detail);
	count->made++;
	count->by_who[report.who]++;
	if (stage->act->step == 0)
		count->went_on++;
	else
		count->refused++;
	check_act(stage->act, &report, label);
	if (report.hung || report.wait_status)
		stage_clean(stage, label, false);
	stage_check(stage, label);
}

/* Of each kind of call in each kind of process the first, the last and, with `most` of 3, one in the middle. */
static bool is_sample(const struct inject_report *log, unsigned int at, unsigned int most)
{
	const unsigned short kind = log->log[at - 1];
	unsigned int before = 0;
	unsigned int after = 0;

	for (unsigned int i = 0; i < log->calls && i < INJECT_LOG_MAX; i++)
		if (log->log[i] == kind) {
			before += i < at - 1;
			after += i > at - 1;
		}
	/* A supervisor that gives up kills the jail, and whatever forks in it. */
	if (!stage_may_kill_forks() && at > log->spawned && kind % INJECT_WHO_COUNT == INJECT_SUPERVISOR)
		return false;
	return before == 0 || (most > 1 && after == 0) ||
	       (most > 2 && (before == after || before == after + 1));
}

static unsigned int nth_of_kind(const struct inject_report *log, unsigned int at)
{
	unsigned int nth = 0;

	for (unsigned int i = 0; i < at; i++)
		nth += log->log[i] == log->log[at - 1];
	return nth;
}

static void inject_all(struct stage *stage, const char *what)
{
	static struct inject_report log;
	const struct inject only_count = {
		.kind = -1, .follow = true, .stop = &stage->act->done, .seconds = 60
	};
	const unsigned int most = (unsigned int)stage_amount(1, 3, 0);
	struct count count = { 0 };

	stage_take_reference(stage);
	stage_check(stage, "undisturbed runs");
	inject_trace(stage_fork(stage, stage->body, true), &only_count, &log);
	cr_assert(log.wait_status == 0 && stage->act->step == 0, "traced, but undisturbed: %x, step %d: %s",
		  (unsigned int)log.wait_status, stage->act->step, stage->act->err.text);
	stage_check(stage, "a traced run");
	for (unsigned int at = 1; at <= log.calls && at <= INJECT_LOG_MAX; at++)
		if (!most || is_sample(&log, at, most))
			inject_one(stage, log.log[at - 1], nth_of_kind(&log, at), at, &count);
	stage_note(
	    "%u errors injected into the %u calls of %s (supervisor %u, helpers %u, init %u, payload %u): "
	    "%u refused, %u went on under the whole policy",
	    count.made, log.calls, what, count.by_who[INJECT_SUPERVISOR], count.by_who[INJECT_HELPER],
	    count.by_who[INJECT_INIT], count.by_who[INJECT_PAYLOAD], count.refused, count.went_on);
}

Test(calls, every_call_that_can_fail, .timeout = 6000)
{
#if !defined(__x86_64__)
	cr_skip_test("the injector knows x86-64 only");
#endif
	struct stage *stage = stage_new();

	inject_all(stage, "a run");
	stage_done(stage);
}

/* Also in the second reading, and in the payload of a parked jail that takes its descriptors. */
Test(calls, every_call_of_a_parked_jail, .timeout = 6000)
{
#if !defined(__x86_64__)
	cr_skip_test("the injector knows x86-64 only");
#endif
	struct stage *stage = stage_new();

	stage->body = stage_hand_out;
	inject_all(stage, "a jail that is parked and handed out");
	stage_done(stage);
}

static const char *accounts_of(const struct act *act)
{
	for (size_t i = 0; i < act->receipt.count; i++)
		if (strcmp(act->receipt.rows[i].control, "perUserAccounts") == 0)
			return act->receipt.rows[i].value;
	return "";
}

/* Whether a jail does without the account, on a kernel that does not have it. */
static bool may_be_absent(const char *file)
{
	return strstr(file, "max_time") || strstr(file, "notify");
}

/* One limit of /proc/sys/user is not set as it should be. */
static void spoil_account(struct stage *stage, enum inject_fault fault, unsigned int at, unsigned int choice)
{
	const struct inject what = { .at = at,
				     .kind = -1,
				     .choice = choice,
				     .follow = true,
				     .stop = &stage->act->done,
				     .seconds = 25,
				     .file = "max_",
				     .fault = fault };
	static struct inject_report report;
	const struct act *act = stage->act;
	char label[300];
	const char *name;

	inject_trace(stage_fork(stage, stage_supervise, true), &what, &report);
	name = strstr(report.file, "max_");
	snprintf(label, sizeof(label), "%s of %s: %s", report.call, report.file, report.error);
	cr_assert(report.injected && name, "nothing to spoil: fault %d, call %u", (int)fault, at);
	cr_expect(!report.hung && report.wait_status == 0, "%s: %x", label, (unsigned int)report.wait_status);
	if (fault == INJECT_ABSENT && may_be_absent(name)) {
		cr_expect(act->step == 0 && act->exit_code == 0, "%s: refused: %s", label, act->err.text);
		cr_expect(!strstr(name, "notify") || strstr(accounts_of(act), "but not of what"),
			  "%s: receipt: %s", label, accounts_of(act));
	} else {
		cr_expect(act->step == 4 && strstr(act->err.text, name), "%s: step %d: %s", label, act->step,
			  act->err.text);
		cr_expect(act->output[0] == '\0', "%s: the program ran", label);
	}
	stage_check(stage, label);
}

/* The limits of the jail's user namespace: whichever write fails, is short or has no effect, and whichever number is read back
 * otherwise, no program runs. */
Test(calls, limits_of_accounts, .timeout = 1200)
{
#if !defined(__x86_64__)
	cr_skip_test("the injector knows x86-64 only");
#endif
	static struct inject_report log;
	struct stage *stage = stage_new();
	const unsigned int step = (unsigned int)stage_amount(5, 1, 1);
	unsigned int spoilt = 0;

	stage_take_reference(stage);
	cr_expect(strstr(accounts_of(stage->act), "each of inotify"), "%s", accounts_of(stage->act));
	for (int fault = 0; fault < INJECT_FAULT_COUNT; fault++) {
		const struct inject only_count = { .kind = -1,
						   .follow = true,
						   .stop = &stage->act->done,
						   .seconds = 60,
						   .file = "max_",
						   .fault = (enum inject_fault)fault };

		inject_trace(stage_fork(stage, stage_supervise, true), &only_count, &log);
		cr_assert(log.wait_status == 0 && stage->act->step == 0, "traced, but undisturbed: %s",
			  stage->act->err.text);
		/* Of a process that an ordinary user may not look into, the names of open files are not known. */
		cr_expect(log.calls >= 9 || (geteuid() != 0 && fault >= INJECT_SHORT),
			  "fault %d: only %u calls", fault, log.calls);
		for (unsigned int at = 1; at <= log.calls; at += step, spoilt++)
			spoil_account(stage, (enum inject_fault)fault, at, at / 3);
	}
	stage_note("%u limits of accounts spoilt", spoilt);
	stage_done(stage);
}

static void supervise_twice(struct stage *stage, struct act *act)
{
	struct jailed *j = stage_jailed(stage);

	act->step = jailed_prepare(j, true);
	if (act->step == 0) {
		act->figure = jailed_go(j, j->command.argv);
		act->step = jailed_go(j, j->command.argv);
	}
	stage_fill(act, j);
	jailed_free(j);
	act->done = true;
}

/* A limit that cannot be set fails its own launch alone, not the later ones of the template. */
Test(calls, the_launch_after_a_limit_failed, .timeout = 300)
{
#if !defined(__x86_64__)
	cr_skip_test("the injector knows x86-64 only");
#endif
	static struct inject_report report;
	struct stage *stage = stage_new();
	const struct act *act = stage->act;
	const struct inject what = {
		.at = 1, .kind = -1, .follow = true, .stop = &act->done, .seconds = 60, .file = "max_"
	};

	stage_take_reference(stage);
	inject_trace(stage_fork(stage, supervise_twice, true), &what, &report);
	cr_assert(report.injected && report.wait_status == 0, "%x", (unsigned int)report.wait_status);
	cr_expect(act->figure == 4, "the first launch: step %ld", act->figure);
	cr_assert(act->step == 0, "the second launch: step %d: %s", act->step, act->err.text);
	stage_check_success(act, "the second launch");
	stage_done(stage);
}
