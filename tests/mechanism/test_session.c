/* Sessions: what stays, what an execution has of its own, and what one that runs can do to the next. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "jail/session.h"
#include "runtime/library/preparation.h"
#include "tests/lib/jailed.h"

#define EXECUTIONS 20

struct stage {
	struct jailed *j; /* its host, policy and matches; the plan goes to the session */
	struct jail_session *session;
	struct jail_host host; /* what executions see */
	pthread_t waiter;
	enum jail_cause cause;
};

static void *wait_for_end(void *arg)
{
	struct stage *stage = arg;
	struct warder_error err = { 0 };

	stage->cause = JAIL_CAUSE_COUNT;
	jail_session_wait(stage->session, &stage->cause, &err);
	return NULL;
}

static int plan(struct jailed *j, const struct jail_host *host, struct jail_plan *ret)
{
	static const struct policy_subject subject = { "command", POLICY_PAYLOAD_PROGRAM };

	jail_capabilities(host, &j->policy, &j->capabilities);
	if (policy_match(&j->policy, &j->capabilities, &subject, &j->match, &j->err) < 0)
		return -1;
	return jail_plan_build(&j->policy, host, &j->capabilities, &j->match, NULL, NULL, ret, &j->err);
}

static void begin(struct stage *stage, struct jailed *j, uint64_t lifetime_us)
{
	memset(stage, 0, sizeof(*stage));
	stage->j = j;
	cr_assert_eq(plan(j, &j->host, &j->plan), 0, "%s", j->err.text);
	cr_assert_eq(jail_session_open(&j->plan, &j->host, lifetime_us, &stage->session, &j->err), 0,
		     "%s: %s", j->err.step, j->err.text);
	cr_assert_eq(pthread_create(&stage->waiter, NULL, wait_for_end, stage), 0);
	jail_probe(NULL, &stage->host);
	jail_session_adopt(jail_session_joint(stage->session), false, &stage->host);
}

static void finish(struct stage *stage)
{
	jail_session_end(stage->session);
	pthread_join(stage->waiter, NULL);
	jail_session_free(stage->session);
	jailed_free(stage->j);
}

struct execution {
	struct stage *stage;
	const char *script;
	bool background;
	uint64_t wall_us; /* 0: the policy's */
	uint64_t late_us; /* as if its supervisor were stopped for so long */
	struct jail_outcome outcome;
	struct policy_receipt receipt;
	struct warder_error err;
	int step;
	char name[32];
};

static void execute(struct execution *e)
{
	struct stage *stage = e->stage;
	char *argv[] = { "/bin/sh", "-c", (char *)e->script, NULL };
	const struct jail_command command = { .argv = argv, .stdin_fd = -1 };
	struct jail_host host = stage->host;
	struct jail_plan own = { 0 };
	struct jail_template *tmpl = NULL;
	struct jail_run *run = NULL;

	host.cgroup.lent = e->background;
	e->step = 1;
	if (jail_plan_build(&stage->j->policy, &host, &stage->j->capabilities, &stage->j->match, NULL,
			    jail_session_root(stage->session), &own, &e->err) < 0)
		return;
	if (e->wall_us)
		own.wall_time_us = e->wall_us;
	e->step = 2;
	if (jail_session_join(jail_session_joint(stage->session), e->background, &own, &e->err) == 0 &&
	    jail_prepare(&own, &host, false, &tmpl, &e->err) == 0) {
		e->step = 3;
		if (jail_launch(tmpl, &command, &run, &e->err) == 0) {
			e->receipt = *jail_run_receipt(run);
			usleep(e->late_us);
			e->step = jail_supervise(run, &e->outcome, &e->err) < 0 ? 4 : 0;
		}
	}
	jail_run_free(run);
	jail_template_free(tmpl);
	jail_plan_done(&own);
}

static void *execute_beside(void *arg)
{
	execute(arg);
	return NULL;
}

/* One after the other; the output without its last newline is what is expected, and the exit status 0. */
static void expect(struct stage *stage, bool background, const char *script, const char *output)
{
	struct execution e = { .stage = stage, .script = script, .background = background };
	const char *text;

	execute(&e);
	cr_assert_eq(e.step, 0, "%s: %s", script, e.err.text);
	text = e.outcome.output[JAIL_STDOUT].bytes ? e.outcome.output[JAIL_STDOUT].bytes : "";
	cr_expect_eq(e.outcome.exit_code, 0, "%s: %s; %s", script, e.outcome.detail,
		     e.outcome.output[JAIL_STDERR].bytes ? e.outcome.output[JAIL_STDERR].bytes : "");
	cr_expect(strncmp(text, output, strlen(output)) == 0 && strlen(text) <= strlen(output) + 1,
		  "%s: \"%s\", not \"%s\"", script, text, output);
	jail_outcome_done(&e.outcome);
}

#define HOUR UINT64_C(3600000000)

Test(session, files_and_background_stay_and_nothing_is_left, .timeout = 120)
{
	struct jailed *j = jailed_new();
	struct jail_host host = j->host;
	const struct ledger before = ledger_take(&j->host);
	struct stage stage;

	begin(&stage, j, HOUR);
	expect(&stage, false, "echo kept > /tmp/a; sleep 60 > /dev/null 2>&1 & echo", "");
	expect(&stage, true, "(while :; do date > /tmp/b; sleep 0.1; done) > /dev/null 2>&1 & echo", "");
	expect(&stage, false, "cat /tmp/a; rm -f /tmp/b; while [ ! -s /tmp/b ]; do sleep 0.1; done", "kept");
	/* What goes on writing is not seen. */
	expect(&stage, false, "cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c 'tmp/[b]'; true", "0");
	finish(&stage);
	ledger_check(&before, &host, "session");
}

/* Whatever a program of the session may do that knows what is coming, the next execution's end, output and time are its own. */
Test(session, no_execution_reaches_another, .timeout = 120)
{
	static const char hostile[] =
	    "cat > /tmp/hostile.py <<'END'\n"
	    "import ctypes, os, signal, time\n"
	    "libc = ctypes.CDLL(None, use_errno=True)\n"
	    "me, end = os.getpid(), time.monotonic() + 60\n"
	    "for number in range(1, 32):\n"
	    "    if number not in (9, 17, 19): signal.signal(number, signal.SIG_IGN)\n"
	    "while os.getppid() != 1: time.sleep(0.05)\n"
	    "open('/tmp/begun', 'w').close()\n"
	    "while time.monotonic() < end:\n"
	    "    for pid in [-1] + [p for p in range(1, 200) if p != me]:\n"
	    "        for f in (lambda: os.kill(pid, 19), lambda: os.kill(pid, 9), lambda: libc.ptrace(16, "
	    "pid, 0, 0)):\n"
	    "            try: f()\n"
	    "            except OSError: pass\n"
	    "    for name in os.listdir('/proc'):\n"
	    "        if name.isdigit() and int(name) not in (1, me):\n"
	    "            for fd in (1, 2):\n"
	    "                try: open(f'/proc/{name}/fd/{fd}', 'w').write('forged')\n"
	    "                except OSError: pass\n"
	    "            open('/tmp/seen', 'a').write(open(f'/proc/{name}/cmdline').read() + '\\n')\n"
	    "    for p in os.listdir('/dev/pts'):\n"
	    "        try: open('/dev/pts/' + p, 'w').write('forged')\n"
	    "        except OSError: pass\n"
	    "END\n"
	    "setsid python3 /tmp/hostile.py > /dev/null 2>&1 < /dev/null & echo ready";
	struct stage stage;

	begin(&stage, jailed_new(), HOUR);
	expect(&stage, true, hostile, "ready");
	expect(&stage, false, "while [ ! -e /tmp/begun ]; do sleep 0.05; done; echo it is at work",
	       "it is at work");
	for (int i = 0; i < 5; i++)
		expect(&stage, false, "python3 -c 'import time; time.sleep(0.3)'; kill -0 1; echo mine",
		       "mine");
	expect(&stage, false, "cat /tmp/seen 2> /dev/null | grep -v hostile | grep -c .; true", "0");
	finish(&stage);
}

/* For a run of its own, one is begun while the run is prepared. */
Test(session, an_execution_makes_no_network_namespace, .timeout = 60)
{
	struct preparation own = { 0 }, joined = { 0 };
	struct preparation_options how = { .launches = true };
	struct stage stage;

	begin(&stage, jailed_new(), HOUR);
	cr_assert_eq(preparation_build(&stage.j->policy, &how, &own, &stage.j->err), 0, "%s",
		     stage.j->err.text);
	how.joint = jail_session_joint(stage.session);
	how.root = jail_session_root(stage.session);
	cr_assert_eq(preparation_build(&stage.j->policy, &how, &joined, &stage.j->err), 0, "%s",
		     stage.j->err.text);
	cr_expect_eq(own.host->network != NULL, geteuid() == 0);
	cr_expect_null(joined.host->network);
	preparation_done(&joined);
	preparation_done(&own);
	finish(&stage);
}

/* A pid namespace and a mount namespace of its own; all others the session's, and none the host's. */
Test(session, namespaces_and_receipt, .timeout = 60)
{
	struct stage stage;
	struct execution e = { .stage = &stage,
			       .script =
				   "for n in user mnt pid net ipc uts; do readlink /proc/self/ns/$n; done" };
	struct execution other = e;
	bool found = false;

	begin(&stage, jailed_new(), HOUR);
	e.stage = other.stage = &stage;
	execute(&e);
	execute(&other);
	cr_assert_eq(e.step + other.step, 0, "%s%s", e.err.text, other.err.text);
	cr_expect_eq(e.receipt.isolation, POLICY_ISOLATION_NAMESPACE_JAIL_PERSISTENT);
	for (size_t i = 0; i < e.receipt.count; i++)
		if (strcmp(e.receipt.rows[i].control, "namespaces") == 0)
			found = strstr(e.receipt.rows[i].value, "the session's: user net ipc uts") &&
				strstr(e.receipt.rows[i].value, "pid: below it");
	cr_expect(found, "the receipt tells the namespaces");
	expect(&stage, false, "grep -v ':/$' /proc/self/cgroup; true", "");
	{
		const char *a = e.outcome.output[JAIL_STDOUT].bytes;
		const char *b = other.outcome.output[JAIL_STDOUT].bytes;
		char one[6][40];
		char two[6][40];

		cr_assert_eq(sscanf(a, "%39s %39s %39s %39s %39s %39s", one[0], one[1], one[2], one[3],
				    one[4], one[5]),
			     6);
		cr_assert_eq(sscanf(b, "%39s %39s %39s %39s %39s %39s", two[0], two[1], two[2], two[3],
				    two[4], two[5]),
			     6);
		/* Of the two that are an execution's own, the kernel may give the number again. */
		for (int i = 0; i < 6; i++)
			cr_expect(i == 1 || i == 2 || strcmp(one[i], two[i]) == 0, "%s and %s", one[i],
				  two[i]);
	}
	jail_outcome_done(&e.outcome);
	jail_outcome_done(&other.outcome);
	finish(&stage);
}

static const char *accounts_of(const struct policy_receipt *receipt)
{
	for (size_t i = 0; i < receipt->count; i++)
		if (strcmp(receipt->rows[i].control, "perUserAccounts") == 0)
			return receipt->rows[i].value;
	return "";
}

/* The limits of accounts are the session's. Its kernel may not count all of them. */
Test(session, the_receipt_says_what_the_session_counts, .timeout = 60)
{
	struct execution e = { .script = "true" };
	struct jail_joint *joint;
	struct stage stage;

	begin(&stage, jailed_new(), HOUR);
	e.stage = &stage;
	joint = (struct jail_joint *)(uintptr_t)jail_session_joint(stage.session);
	for (int i = 0; i < 2; i++) {
		execute(&e);
		cr_assert_eq(e.step, 0, "%s", e.err.text);
		jail_outcome_done(&e.outcome);
		if (i == 0)
			cr_expect_str_eq(accounts_of(&e.receipt),
					 accounts_of(jail_session_receipt(stage.session)));
		joint->counts_all = false;
	}
	cr_expect(strstr(accounts_of(&e.receipt), "but not of what this kernel"), "%s",
		  accounts_of(&e.receipt));
	finish(&stage);
}

Test(session, twenty_at_once, .timeout = 120)
{
	static struct execution executions[EXECUTIONS];
	pthread_t threads[EXECUTIONS];
	char scripts[EXECUTIONS][64];
	struct jailed *j = jailed_new();
	struct stage stage;

	j->policy.limits.wall_time_us = 60000000u * jailed_slow();
	/* Without control groups the limit counts the processes of all executions together: three each, and those that start them. */
	j->policy.limits.pids_max = EXECUTIONS * 16u;
	begin(&stage, j, HOUR);
	for (int i = 0; i < EXECUTIONS; i++) {
		snprintf(scripts[i], sizeof(scripts[i]), "echo %d; sleep 0.2; exit %d", i, i);
		executions[i] = (struct execution){ .stage = &stage, .script = scripts[i] };
		pthread_create(&threads[i], NULL, execute_beside, &executions[i]);
	}
	for (int i = 0; i < EXECUTIONS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < EXECUTIONS; i++) {
		const struct jail_outcome *outcome = &executions[i].outcome;

		cr_expect_eq(executions[i].step, 0, "%d: %s", i, executions[i].err.text);
		if (executions[i].step == 0) {
			cr_expect_eq(outcome->exit_code, i, "%d: %s", i, outcome->detail);
			cr_expect_eq(atoi(outcome->output[JAIL_STDOUT].bytes), i, "%d", i);
		}
		jail_outcome_done(&executions[i].outcome);
	}
	finish(&stage);
}

/* Limits of an execution end that execution; the session goes on. */
Test(session, limits_end_the_execution_alone, .timeout = 60)
{
	struct stage stage;
	struct execution slow = { .script = "sleep 60", .wall_us = 300000 };

	begin(&stage, jailed_new(), HOUR);
	slow.stage = &stage;
	execute(&slow);
	cr_assert_eq(slow.step, 0, "%s", slow.err.text);
	cr_expect_eq(slow.outcome.cause, JAIL_CAUSE_WALL_TIME, "%s", slow.outcome.detail);
	jail_outcome_done(&slow.outcome);
	expect(&stage, false, "echo still", "still");
	finish(&stage);
}

/* Nobody looked at the wall time, and the program ended after it. It is a timeout as any other, so nothing that it left stays. */
Test(session, one_that_ended_late_leaves_nothing, .timeout = 60)
{
	struct stage stage;
	struct execution late = {
		.script = "(while :; do date > /tmp/b; sleep 0.1; done) > /dev/null 2>&1 & sleep 0.6",
		.background = true,
		.wall_us = 300000,
		.late_us = 1300000 * jailed_slow(),
	};

	begin(&stage, jailed_new(), HOUR);
	late.stage = &stage;
	execute(&late);
	cr_assert_eq(late.step, 0, "%s", late.err.text);
	cr_expect(late.outcome.cause == JAIL_CAUSE_WALL_TIME && late.outcome.exit_code == -1 &&
		      strncmp(late.outcome.detail, "ended by itself after", 21) == 0,
		  "%d: %s", late.outcome.exit_code, late.outcome.detail);
	jail_outcome_done(&late.outcome);
	expect(&stage, false, "rm -f /tmp/b; sleep 0.5; cat /tmp/b 2> /dev/null; true", "");
	finish(&stage);
}

/* When it ends, what runs in it ends and says so; nothing can be started any more. */
Test(session, ends_with_its_init_and_lifetime, .timeout = 60)
{
	struct stage stage;
	struct execution long_one = { .script = "sleep 60" };
	struct execution late = { .script = "true" };

	begin(&stage, jailed_new(), UINT64_C(2000000) * jailed_slow());
	long_one.stage = late.stage = &stage;
	execute(&long_one);
	cr_assert_eq(long_one.step, 0, "%s", long_one.err.text);
	cr_expect_eq(long_one.outcome.cause, JAIL_CAUSE_SUPERVISOR, "%s", long_one.outcome.detail);
	cr_expect_not(long_one.outcome.hit[JAIL_CAUSE_SUPERVISOR] || long_one.outcome.hit[JAIL_CAUSE_HOST]);
	cr_expect_str_eq(long_one.outcome.detail, "killed: the session has ended");
	jail_outcome_done(&long_one.outcome);
	pthread_join(stage.waiter, NULL);
	cr_expect_eq(stage.cause, JAIL_CAUSE_WALL_TIME);
	execute(&late);
	cr_expect_neq(late.step, 0);
	cr_expect_eq(late.err.code, WARDER_ERROR_UNAVAILABLE, "%s",
		     late.err.text); /* no program is missing */
	pthread_create(&stage.waiter, NULL, wait_for_end, &stage);
	finish(&stage);
}

/* The session's limit holds over executions together. */
Test(session, memory_of_all_together, .timeout = 120)
{
	static const char hog[] =
	    "python3 -c 'x = bytearray(20 << 20); import time; open(\"/tmp/on\", \"w\"); "
	    "time.sleep(60)' > /dev/null 2>&1 & while [ ! -e /tmp/on ]; do sleep 0.1; done";
	struct jailed *j = jailed_new();
	struct stage stage;
	struct execution e = { .script = "python3 -c 'x = bytearray(48 << 20)'" };

	jailed_need(j, CGROUP_MEMORY);
	j->policy.limits.memory_bytes = 64 << 20;
	begin(&stage, j, HOUR);
	e.stage = &stage;
	expect(&stage, false, e.script, "");
	expect(&stage, true, hog, "");
	/* The larger of the two is killed, which has less than its own limit. */
	execute(&e);
	cr_assert_eq(e.step, 0, "%s", e.err.text);
	cr_expect_eq(e.outcome.cause, JAIL_CAUSE_MEMORY, "%s", e.outcome.detail);
	cr_expect(strstr(e.outcome.detail, "limit of the session"), "%s", e.outcome.detail);
	jail_outcome_done(&e.outcome);
	finish(&stage);
}

static void set_limit(const char *base, bool v2, const char *text)
{
	char path[CGROUP_BASE_MAX + 40];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", base, v2 ? "memory.max" : "memory.limit_in_bytes");
	fd = open(path, O_WRONLY | O_CLOEXEC);
	cr_assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), "%s", path);
	close(fd);
}

/* A file of 96 MiB that is in no cache, in a directory of its own. */
static void make_large_file(char directory[40], char path[50])
{
	static char block[1 << 20];
	int fd;

	strcpy(directory, "/var/tmp/warder-session.XXXXXX");
	cr_assert(mkdtemp(directory) && chmod(directory, 0755) == 0);
	snprintf(path, 50, "%s/large", directory);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	for (int i = 0; i < 96; i++)
		cr_assert_eq(write(fd, block, sizeof(block)), (ssize_t)sizeof(block));
	cr_assert_eq(fsync(fd), 0);
	cr_assert_eq(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
	close(fd);
}

/* The session was at its limit once, by what could be given back; then somebody above it runs out of memory. */
Test(session, a_kill_that_the_host_wants_is_not_the_sessions, .timeout = 120)
{
	struct execution e = { .script = "python3 -c 'x = bytearray(40 << 20)'" };
	struct stage stage;
	struct jailed *j;
	const struct cgroup_hierarchy *memory;
	char parent[40];
	char directory[40];
	char path[50];

	if (geteuid() != 0)
		cr_skip_test("needs root: a cgroup parent of its own");
	snprintf(parent, sizeof(parent), "warder-above-%d", getpid());
	j = jailed_new_below(parent);
	jailed_need(j, CGROUP_MEMORY);
	memory = &j->host.cgroup.hierarchies[j->host.cgroup.hierarchy_of[CGROUP_MEMORY]];
	make_large_file(directory, path);
	j->policy.limits.memory_bytes = 64 << 20;
	j->policy.filesystem.workspace = POLICY_WORKSPACE_READ_ONLY;
	j->policy.filesystem.workspace_root = strdup(directory);
	begin(&stage, j, HOUR);
	e.stage = &stage;
	expect(&stage, false, "cat /workspace/large | wc -c", "100663296");
	cr_expect_eq(truncate(path, 0), 0); /* and with it, what the session has of it in its cache */
	set_limit(memory->base, memory->v2, "33554432");
	execute(&e);
	set_limit(memory->base, memory->v2, memory->v2 ? "max" : "-1");
	cr_assert_eq(e.step, 0, "%s", e.err.text);
	cr_expect_eq(e.outcome.cause, JAIL_CAUSE_HOST, "cause %d: %s", e.outcome.cause, e.outcome.detail);
	jail_outcome_done(&e.outcome);
	unlink(path);
	rmdir(directory);
	finish(&stage);
}
