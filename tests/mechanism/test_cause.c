/* Every cause of death, produced by a real program, and what stays of its output. */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/array.h"
#include "jail/run.h"
#include "tests/lib/jailed.h"

#define EXPECT_CAUSE(j, wanted)                                                                              \
	cr_expect((j)->step == 0 && (j)->outcome.cause == (wanted), "step %d, cause %s, wanted %s: %s %s",   \
		  (j)->step, jail_cause_name((j)->outcome.cause), jail_cause_name(wanted),                   \
		  (j)->outcome.detail, (j)->err.text)

Test(cause, exit_with_zero, .timeout = 60)
{
	struct jailed *j = jailed_new();

	jailed_sh(j, "echo hello; echo to stderr >&2");
	EXPECT_CAUSE(j, JAIL_CAUSE_EXIT);
	cr_expect_eq(j->outcome.exit_code, 0);
	cr_expect_str_eq(jailed_text(j, JAIL_STDOUT), "hello\n");
	cr_expect_str_eq(jailed_text(j, JAIL_STDERR), "to stderr\n");
	jailed_free(j);
}

Test(cause, exit_with_a_code, .timeout = 60)
{
	struct jailed *j = jailed_new();

	jailed_sh(j, "exit 42");
	EXPECT_CAUSE(j, JAIL_CAUSE_EXIT);
	cr_expect_eq(j->outcome.exit_code, 42);
	cr_expect_eq(j->outcome.signal, 0);
	jailed_free(j);
}

Test(cause, signal, .timeout = 60)
{
	struct jailed *j = jailed_new();

	jailed_sh(j, "kill -TERM $$");
	EXPECT_CAUSE(j, JAIL_CAUSE_SIGNAL);
	cr_expect_eq(j->outcome.signal, SIGTERM);
	cr_expect_eq(j->outcome.exit_code, -1);
	jailed_free(j);
}

/* The deadline holds for what ignores signals, leaves its session, stops itself or was forked twice; output stays. */
Test(cause, wall_time, .timeout = 120)
{
	static const char *const scripts[] = {
		"echo before; sleep 300",
		"echo before; trap '' TERM INT HUP; while :; do :; done",
		"echo before; setsid sh -c 'sleep 300' & setsid sh -c 'sleep 300; touch /tmp/f'; wait",
		"echo before; (sh -c 'sleep 300' &) ; kill -STOP $$",
	};

	const uint64_t limit_us = 500000 * jailed_slow();

	for (size_t i = 0; i < ARRAY_LENGTH(scripts); i++) {
		struct jailed *j = jailed_new();

		j->policy.limits.wall_time_us = limit_us;
		jailed_sh(j, scripts[i]);
		EXPECT_CAUSE(j, JAIL_CAUSE_WALL_TIME);
		cr_expect_str_eq(jailed_text(j, JAIL_STDOUT), "before\n", "%s", scripts[i]);
		/* Generous for a slow machine, and far below what the program wanted. */
		cr_expect(j->outcome.wall_us >= limit_us && j->outcome.wall_us < 20 * limit_us, "%s: %llu us",
			  scripts[i], (unsigned long long)j->outcome.wall_us);
		cr_expect_eq(j->outcome.exit_code, -1);
		jailed_free(j);
	}
}

/* What was daemonised does not outlive the program. */
Test(cause, nothing_outlives_the_program, .timeout = 60)
{
	struct jailed *j = jailed_new();

	jailed_sh(j, "setsid sh -c 'exec >/dev/null 2>&1; sleep 1000' & echo done");
	EXPECT_CAUSE(j, JAIL_CAUSE_EXIT);
	cr_expect_str_eq(jailed_text(j, JAIL_STDOUT), "done\n");
	cr_expect_lt(j->outcome.wall_us, 20000000u);
	jailed_free(j);
}

Test(cause, cpu_time, .timeout = 120)
{
	struct jailed *j = jailed_new();

	jailed_need(j, CGROUP_ACCOUNT);
	j->policy.limits.cpu_time_us = 500000;
	j->policy.limits.wall_time_us = 60000000;
	/* Two processes share one budget; the second ignores what RLIMIT_CPU would send. */
	jailed_sh(j, "(trap '' XCPU; while :; do :; done) & while :; do :; done");
	EXPECT_CAUSE(j, JAIL_CAUSE_CPU_TIME);
	cr_expect(j->outcome.cpu_us >= 500000 && j->outcome.cpu_us < 5000000, "%llu us of CPU",
		  (unsigned long long)j->outcome.cpu_us);
	jailed_free(j);
}

Test(cause, memory, .timeout = 120)
{
	struct jailed *j = jailed_new();

	jailed_need(j, CGROUP_MEMORY);
	j->policy.limits.memory_bytes = 64 << 20;
	jailed_python(j, "print('before', flush=True); a = bytearray(1 << 30); print('after')");
	EXPECT_CAUSE(j, JAIL_CAUSE_MEMORY);
	cr_expect_str_eq(jailed_text(j, JAIL_STDOUT), "before\n");
	if (j->outcome.memory_peak_bytes != UINT64_MAX)
		cr_expect_leq(j->outcome.memory_peak_bytes, 64u << 20);
	jailed_free(j);
}

/* The kernel kills one process; the whole jail ends, and a shell's exit 137 does not hide the cause. */
Test(cause, memory_of_a_child, .timeout = 120)
{
	struct jailed *j = jailed_new();

	jailed_need(j, CGROUP_MEMORY);
	j->policy.limits.memory_bytes = 64 << 20;
	jailed_sh(j, "/usr/bin/python3 -c 'a = bytearray(1 << 30)'; sleep 20; echo survived");
	EXPECT_CAUSE(j, JAIL_CAUSE_MEMORY);
	cr_expect_str_eq(jailed_text(j, JAIL_STDOUT), "");
	jailed_free(j);
}

Test(cause, pids, .timeout = 120)
{
	struct jailed *j = jailed_new();

	jailed_need(j, CGROUP_PIDS);
	j->policy.limits.pids_max = 8;
	jailed_python(j, "import os, time\n"
			 "n = 1\n"
			 "try:\n"
			 "  while True:\n"
			 "    if os.fork() == 0: time.sleep(30)\n"
			 "    n += 1\n"
			 "except BlockingIOError:\n"
			 "  print(n, flush=True)\n"
			 "  os._exit(3)\n");
	EXPECT_CAUSE(j, JAIL_CAUSE_EXIT);
	cr_expect(j->outcome.hit[JAIL_CAUSE_PIDS]);
	cr_expect_str_eq(jailed_text(j, JAIL_STDOUT), "8\n");
	cr_expect_eq(j->outcome.exit_code, 3);
	jailed_free(j);
}

Test(cause, fork_bomb, .timeout = 120)
{
	const char *guest = getenv("WARDER_TEST_GUEST");
	struct jailed *j = jailed_new();

	if (guest && strcmp(guest, "uml") == 0)
		cr_skip_test("User-mode Linux panics when forking processes are killed");
	jailed_need(j, CGROUP_PIDS);
	j->policy.limits.wall_time_us = 2000000 * jailed_slow();
	jailed_run(j, "/bin/bash", "-c", ":(){ :|:& };:; sleep 10; exit 1");
	cr_expect_eq(j->step, 0, "%s", j->err.text);
	cr_expect(j->outcome.hit[JAIL_CAUSE_PIDS], "%s", j->outcome.detail);
	if (j->outcome.pids_peak != UINT64_MAX)
		cr_expect_leq(j->outcome.pids_peak, 65u);
	jailed_free(j);
}

Test(cause, output, .timeout = 60)
{
	struct jailed *j = jailed_new();

	j->policy.output.stdout_bytes = 1000;
	j->policy.output.on_limit = POLICY_OUTPUT_KILL;
	jailed_sh(j, "yes; echo never");
	EXPECT_CAUSE(j, JAIL_CAUSE_OUTPUT);
	cr_expect_eq(j->outcome.output[JAIL_STDOUT].len, 1000u);
	cr_expect(j->outcome.output[JAIL_STDOUT].truncated);
	jailed_free(j);
}

Test(cause, disk_full, .timeout = 60)
{
	struct jailed *j = jailed_new();

	j->policy.filesystem.tmp_bytes = 1 << 20;
	j->policy.limits.disk_bytes = 1 << 20;
	jailed_sh(j, "head -c 700000 /dev/zero > /tmp/a; head -c 700000 /dev/zero > /dev/shm/b");
	EXPECT_CAUSE(j, JAIL_CAUSE_EXIT);
	cr_expect(j->outcome.hit[JAIL_CAUSE_DISK] && !j->outcome.file_size_hit);
	jailed_free(j);
}

Test(cause, file_size, .timeout = 60)
{
	struct jailed *j = jailed_new();

	j->policy.limits.file_size_bytes = 100000;
	jailed_sh(j, "exec head -c 200000 /dev/zero > /tmp/a");
	EXPECT_CAUSE(j, JAIL_CAUSE_DISK);
	cr_expect_eq(j->outcome.signal, SIGXFSZ);
	cr_expect(j->outcome.file_size_hit);
	jailed_free(j);
}

/* Python ignores the signal, and gets EFBIG. */
Test(cause, file_size_as_an_error, .timeout = 60)
{
	struct jailed *j = jailed_new();

	j->policy.limits.file_size_bytes = 100000;
	jailed_python(j, "import os; os.makedirs('/tmp/a/b'); open('/tmp/a/b/c', 'wb').write(bytes(200000))");
	EXPECT_CAUSE(j, JAIL_CAUSE_EXIT);
	cr_expect_eq(j->outcome.exit_code, 1);
	cr_expect(j->outcome.file_size_hit && !j->outcome.hit[JAIL_CAUSE_DISK]);
	jailed_free(j);
}

/* Without such a limit it cannot be the cause. */
Test(cause, file_size_unlimited, .timeout = 60)
{
	struct jailed *j = jailed_new();

	j->policy.limits.file_size_bytes = POLICY_UNLIMITED;
	jailed_sh(j, "kill -XFSZ $$");
	EXPECT_CAUSE(j, JAIL_CAUSE_SIGNAL);
	cr_expect_eq(j->outcome.signal, SIGXFSZ);
	cr_expect(!j->outcome.file_size_hit && !j->outcome.hit[JAIL_CAUSE_DISK]);
	jailed_free(j);
}

/* What the program handled, and what then ended it, have nothing to do with each other. */
Test(cause, a_refusal_that_was_handled, .timeout = 120)
{
	static const struct row {
		const char *script;
		enum jail_cause hit, cause;
		int exit_code, signal;
	} rows[] = {
		{ "import os, socket\n"
		  "try: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 9))\n"
		  "except OSError: os.abort()\n",
		  JAIL_CAUSE_NETWORK, JAIL_CAUSE_SIGNAL, -1, SIGABRT },
		{ "import os, time\n"
		  "try:\n"
		  "  while True:\n"
		  "    if os.fork() == 0: time.sleep(30)\n"
		  "except BlockingIOError: os._exit(7)\n",
		  JAIL_CAUSE_PIDS, JAIL_CAUSE_EXIT, 7, 0 },
		{ "import os\n"
		  "f = os.open('/tmp/f', os.O_CREAT | os.O_WRONLY)\n"
		  "try:\n"
		  "  while os.write(f, bytes(4096)): pass\n"
		  "except OSError: os._exit(7)\n",
		  JAIL_CAUSE_DISK, JAIL_CAUSE_EXIT, 7, 0 },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct jailed *j = jailed_new();

		if (rows[i].hit == JAIL_CAUSE_PIDS)
			jailed_need(j, CGROUP_PIDS);
		j->policy.limits.pids_max = 8;
		j->policy.filesystem.tmp_bytes = j->policy.limits.disk_bytes = 1 << 20;
		jailed_python(j, rows[i].script);
		EXPECT_CAUSE(j, rows[i].cause);
		cr_expect(j->outcome.hit[rows[i].hit], "row %zu", i);
		cr_expect_eq(j->outcome.exit_code, rows[i].exit_code, "row %zu", i);
		cr_expect_eq(j->outcome.signal, rows[i].signal, "row %zu", i);
		jailed_free(j);
	}
}

/* All is over before the supervisor looks: the kernel's count is what tells. */
Test(cause, memory_while_nobody_watches, .timeout = 120)
{
	static const char *const ends[] = { "exit 5", "exit 0", "kill -TERM $$" };

	for (size_t i = 0; i < ARRAY_LENGTH(ends); i++) {
		char script[120];
		char *argv[] = { "/bin/sh", "-c", script, NULL };
		struct jailed *j = jailed_new();

		jailed_need(j, CGROUP_MEMORY);
		snprintf(script, sizeof(script), "/usr/bin/python3 -c 'b = bytearray(100 << 20)'; %s",
			 ends[i]);
		j->policy.limits.memory_bytes = 30 << 20;
		cr_assert_eq(jailed_prepare(j, false), 0, "%s", j->err.text);
		j->command.argv = argv;
		cr_assert_eq(jail_launch(j->tmpl, &j->command, &j->run, &j->err), 0, "%s", j->err.text);
		usleep(700000 * jailed_slow());
		cr_assert_eq(jail_supervise(j->run, &j->outcome, &j->err), 0, "%s", j->err.text);
		EXPECT_CAUSE(j, JAIL_CAUSE_MEMORY);
		cr_expect_eq(j->outcome.exit_code, -1, "%s: exit %d", ends[i], j->outcome.exit_code);
		cr_expect_eq(j->outcome.signal, SIGKILL, "%s: signal %d", ends[i], j->outcome.signal);
		jailed_free(j);
	}
}

/* Whatever the program does when the kernel has killed its child; races of its end with the supervisor's kill are many. */
Test(cause, memory_whatever_the_program_does_then, .timeout = 600)
{
	static const char *const scripts[] = {
		"/usr/bin/python3 -c 'b = bytearray(100 << 20)'; exit 5",
		"/usr/bin/python3 -c 'b = bytearray(100 << 20)'; exit 0",
		"/usr/bin/python3 -c 'b = bytearray(100 << 20)'; kill -TERM $$",
		"/usr/bin/python3 -c 'b = bytearray(100 << 20)' & wait; exit 5",
	};
	const char *rounds = getenv("WARDER_TEST_OOM_ROUNDS");

	for (int i = 0; i < (rounds ? atoi(rounds) : 12); i++) {
		const char *script = scripts[(size_t)i % (ARRAY_LENGTH(scripts))];
		struct jailed *j = jailed_new();

		jailed_need(j, CGROUP_MEMORY);
		j->policy.limits.memory_bytes = 30 << 20;
		jailed_sh(j, script);
		EXPECT_CAUSE(j, JAIL_CAUSE_MEMORY);
		cr_expect_eq(j->outcome.exit_code, -1, "round %d, %s: exit %d", i, script,
			     j->outcome.exit_code);
		cr_expect_eq(j->outcome.signal, SIGKILL, "round %d, %s: signal %d", i, script,
			     j->outcome.signal);
		jailed_free(j);
	}
}

Test(cause, syscall, .timeout = 60)
{
	struct jailed *j = jailed_new();

	j->policy.syscalls.on_violation = POLICY_VIOLATION_KILL;
	jailed_python(j, "import ctypes\n"
			 "ctypes.CDLL(None, use_errno=True).mount(b'a', b'/tmp', b'tmpfs', 0, None)\n");
	EXPECT_CAUSE(j, JAIL_CAUSE_SYSCALL);
	cr_expect_eq(j->outcome.signal, SIGSYS);
	jailed_free(j);
}

Test(cause, network, .timeout = 60)
{
	struct jailed *j = jailed_new();

	jailed_python(j, "import socket\n"
			 "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 9))\n");
	EXPECT_CAUSE(j, JAIL_CAUSE_EXIT);
	cr_expect(j->outcome.hit[JAIL_CAUSE_NETWORK]);
	cr_expect_eq(j->outcome.exit_code, 1);
	jailed_free(j);
}

static void *cancel_soon(void *run)
{
	usleep(200000);
	jail_cancel(run);
	return NULL;
}

Test(cause, cancelled_from_another_thread, .timeout = 60)
{
	struct jailed *j = jailed_new();
	char *argv[] = { "/bin/sleep", "30", NULL };
	pthread_t thread;

	cr_assert_eq(jailed_prepare(j, false), 0, "%s", j->err.text);
	j->command.argv = argv;
	cr_assert_eq(jail_launch(j->tmpl, &j->command, &j->run, &j->err), 0, "%s", j->err.text);
	pthread_create(&thread, NULL, cancel_soon, j->run);
	cr_assert_eq(jail_supervise(j->run, &j->outcome, &j->err), 0, "%s", j->err.text);
	pthread_join(thread, NULL);
	EXPECT_CAUSE(j, JAIL_CAUSE_CANCELLED);
	jailed_free(j);
}

static int refuse_output(void *context, enum jail_stream stream, const char *bytes, size_t len)
{
	(void)context, (void)stream, (void)bytes, (void)len;
	return -1;
}

Test(cause, supervisor, .timeout = 60)
{
	struct jailed *j = jailed_new();

	j->command.on_output = refuse_output;
	jailed_sh(j, "echo x; sleep 30");
	EXPECT_CAUSE(j, JAIL_CAUSE_SUPERVISOR);
	jailed_free(j);
}

Test(cause, host_killed_the_jail, .timeout = 60)
{
	struct jailed *j = jailed_new();
	char *argv[] = { "/bin/sleep", "30", NULL };

	cr_assert_eq(jailed_prepare(j, false), 0, "%s", j->err.text);
	j->command.argv = argv;
	cr_assert_eq(jail_launch(j->tmpl, &j->command, &j->run, &j->err), 0, "%s", j->err.text);
	kill(j->run->init_pid, SIGKILL);
	cr_assert_eq(jail_supervise(j->run, &j->outcome, &j->err), 0, "%s", j->err.text);
	EXPECT_CAUSE(j, JAIL_CAUSE_HOST);
	jailed_free(j);
}

/* A program that succeeds after a refused packet is a success. */
Test(cause, a_refusal_that_did_not_matter, .timeout = 60)
{
	struct jailed *j = jailed_new();

	jailed_python(j,
		      "import socket\n"
		      "try: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 9))\n"
		      "except OSError: pass\n");
	EXPECT_CAUSE(j, JAIL_CAUSE_EXIT);
	cr_expect_eq(j->outcome.exit_code, 0);
	cr_expect(j->outcome.hit[JAIL_CAUSE_NETWORK]);
	jailed_free(j);
}
