/* The launch: what it refuses, what it inherits, many at once. What fails on its way is in tests/fault. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <mqueue.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/wait.h>

#include "base/array.h"
#include "base/fd.h"
#include "tests/lib/jailed.h"

Test(launch, programs_that_cannot_be_executed, .timeout = 60)
{
	static const struct row {
		const char *program;
		uint32_t code;
	} rows[] = {
		{ "no-such-program", WARDER_ERROR_NOT_FOUND },
		{ "/no/such/program", WARDER_ERROR_NOT_FOUND },
		{ "/etc/passwd", WARDER_ERROR_EXECUTION_FAILED },
		{ "/usr", WARDER_ERROR_EXECUTION_FAILED },
		{ "/etc/passwd/x", WARDER_ERROR_NOT_FOUND },
		{ "", WARDER_ERROR_INVALID_REQUEST },
	};
	struct jailed *j = jailed_new();
	struct ledger before;

	cr_assert_eq(jailed_prepare(j, true), 0, "%s", j->err.text);
	jailed_run(j, "/bin/true", NULL, NULL);
	before = ledger_take(&j->host);
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		cr_expect_eq(jailed_run(j, rows[i].program, NULL, NULL), 4, "%s", rows[i].program);
		cr_expect_eq(j->err.code, rows[i].code, "%s: %s", rows[i].program, j->err.text);
		ledger_check(&before, &j->host, rows[i].program);
	}
	jailed_free(j);
}

/* Waited for late: the end is when it was, and it is the program's own. */
Test(launch, a_late_wait, .timeout = 60)
{
	struct jailed *j = jailed_new();
	char *argv[] = { "/bin/sh", "-c", "echo x; exit 3", NULL };

	j->policy.limits.wall_time_us = 3000000;
	cr_assert_eq(jailed_prepare(j, false), 0, "%s", j->err.text);
	j->command.argv = argv;
	cr_assert_eq(jail_launch(j->tmpl, &j->command, &j->run, &j->err), 0, "%s", j->err.text);
	usleep(3500000);
	cr_expect_eq(jail_supervise(j->run, &j->outcome, &j->err), 0, "%s", j->err.text);
	cr_expect_eq(j->outcome.cause, JAIL_CAUSE_EXIT, "%s", j->outcome.detail);
	cr_expect_eq(j->outcome.exit_code, 3);
	cr_expect_lt(j->outcome.wall_us, 3000000u);
	jailed_free(j);
}

/* A template for one launch is one jail's alone: a second would share its mounts. */
Test(launch, a_single_launch_is_single, .timeout = 60)
{
	struct jailed *j = jailed_new();

	cr_assert_eq(jailed_run(j, "/bin/true", NULL, NULL), 0, "%s", j->err.text);
	cr_expect_eq(jailed_run(j, "/bin/true", NULL, NULL), 4);
	cr_expect_eq(j->err.code, (uint32_t)WARDER_ERROR_CONFLICT, "%s", j->err.text);
	jailed_free(j);
}

/* Jails are tied to the process that prepared them: its fork has to prepare anew. */
Test(launch, a_template_does_not_survive_a_fork, .timeout = 60)
{
	struct jailed *j = jailed_new();
	int status = 0;
	pid_t pid;

	cr_assert_eq(jailed_prepare(j, true), 0, "%s", j->err.text);
	pid = fork();
	if (pid == 0)
		_exit(jailed_run(j, "/bin/true", NULL, NULL) == 4 &&
			      j->err.code == WARDER_ERROR_INVALID_REQUEST
			  ? 0
			  : 1);
	waitpid(pid, &status, 0);
	cr_expect_eq(status, 0);
	cr_expect_eq(jailed_run(j, "/bin/true", NULL, NULL), 0, "%s", j->err.text);
	jailed_free(j);
}

/* A supervisor that is stopped cannot enforce its deadline: init's backstop does. */
Test(launch, deadline_without_a_supervisor, .timeout = 120)
{
	struct jailed *j = jailed_new();
	char *argv[] = { "/bin/sleep", "1000", NULL };

	j->policy.limits.wall_time_us = 100000;
	cr_assert_eq(jailed_prepare(j, false), 0, "%s", j->err.text);
	j->command.argv = argv;
	cr_assert_eq(jail_launch(j->tmpl, &j->command, &j->run, &j->err), 0, "%s", j->err.text);
	/* Nobody supervises: the program is a zombie of init or gone within the backstop of 2.1 s. */
	cr_expect(process_gone(jail_run_program_pid(j->run), 200));
	cr_expect_eq(jail_supervise(j->run, &j->outcome, &j->err), 0, "%s", j->err.text);
	cr_expect_eq(j->outcome.cause, JAIL_CAUSE_WALL_TIME, "%s", j->outcome.detail);
	jailed_free(j);
}

/* The same of a parked jail, whose time begins at the hand-out: before, it waits as long as it must. */
Test(launch, deadline_of_a_parked_jail_without_a_supervisor, .timeout = 120)
{
	struct jailed *j = jailed_new();
	char *argv[] = { "/bin/sleep", "1000", NULL };

	j->policy.limits.wall_time_us = 100000;
	cr_assert_eq(jailed_prepare(j, true), 0, "%s", j->err.text);
	cr_assert_eq(jail_park(j->tmpl, &j->run, &j->err), 0, "%s", j->err.text);
	cr_expect(!process_gone(jail_run_program_pid(j->run), 30));
	j->command.argv = argv;
	cr_assert_eq(jail_recheck(j->run, &j->err), 0, "%s", j->err.text);
	cr_assert_eq(jail_hand_out(j->run, &j->command, &j->err), 0, "%s", j->err.text);
	cr_expect(process_gone(jail_run_program_pid(j->run), 200));
	cr_expect_eq(jail_supervise(j->run, &j->outcome, &j->err), 0, "%s", j->err.text);
	cr_expect_eq(j->outcome.cause, JAIL_CAUSE_WALL_TIME, "%s", j->outcome.detail);
	jailed_free(j);
}

#define THREADS 4
#define ROUNDS  12

static void *many(void *arg)
{
	struct jailed *shared = arg;
	long bad = 0;

	for (int i = 0; i < ROUNDS; i++) {
		char text[32];
		char *argv[] = { "/bin/sh", "-c", "cat; exit 7", NULL };
		struct jail_command command = { .argv = argv, .stdin_fd = -1, .stdin_data = text };
		struct jail_outcome outcome;
		struct jail_run *run;
		struct warder_error err;

		snprintf(text, sizeof(text), "%p %d", (void *)&outcome, i);
		command.stdin_len = strlen(text);
		if (jail_launch(shared->tmpl, &command, &run, &err) < 0) {
			bad++;
			continue;
		}
		if (jail_supervise(run, &outcome, &err) < 0 || outcome.exit_code != 7 ||
		    !outcome.output[0].bytes || strcmp(outcome.output[0].bytes, text) != 0)
			bad++;
		jail_outcome_done(&outcome);
		jail_run_free(run);
	}
	return (void *)bad;
}

Test(launch, threads_share_a_template, .timeout = 180)
{
	struct jailed *j = jailed_new();
	pthread_t threads[THREADS];
	struct ledger before;
	long bad = 0;

	cr_assert_eq(jailed_prepare(j, true), 0, "%s", j->err.text);
	before = ledger_take(&j->host);
	for (int i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, many, j), 0);
	for (int i = 0; i < THREADS; i++) {
		void *ret = NULL;

		pthread_join(threads[i], &ret);
		bad += (long)ret;
	}
	cr_expect_eq(bad, 0, "%ld of %d runs went wrong", bad, THREADS * ROUNDS);
	before.descriptors = ledger_take(&j->host).descriptors; /* the pool keeps identities */
	ledger_check(&before, &j->host, "threads");
	jailed_free(j);
}

/* Descriptors and environment of the host do not reach the program, not even those that are not close-on-exec. */
Test(launch, nothing_is_inherited, .timeout = 60)
{
	struct jailed *j = jailed_new();

	cr_assert_geq(dup2(open("/etc", O_RDONLY), 251), 0);
	setenv("PROBE_SECRET", "1", 1);
	jailed_python(
	    j,
	    "import os\n"
	    "print(sorted(int(f) for f in os.listdir('/proc/self/fd'))[:3], "
	    "len(os.listdir('/proc/self/fd')))\n"
	    "print('PROBE_SECRET' in os.environ, os.getsid(0) == os.getpid(), os.getpgrp() == os.getpid())\n"
	    "try: os.open('/dev/tty', os.O_RDWR); print('tty')\n"
	    "except OSError as e: print(e.errno)\n");
	/* 0, 1, 2 and the directory being listed. */
	cr_expect_str_eq(jailed_text(j, JAIL_STDOUT), "[0, 1, 2] 4\nFalse True True\n6\n", "%s%s",
			 jailed_text(j, JAIL_STDOUT), jailed_text(j, JAIL_STDERR));
	close(251);
	jailed_free(j);
}

/* Signals that the host ignores or blocks are as usual for the program. */
Test(launch, signals_are_reset, .timeout = 60)
{
	struct jailed *j = jailed_new();
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGUSR1, SIG_IGN);
	sigfillset(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	jailed_sh(j, "grep -E '^Sig(Blk|Ign)' /proc/self/status | cut -f2");
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	cr_expect_str_eq(jailed_text(j, JAIL_STDOUT), "0000000000000000\n0000000000000000\n", "%s",
			 jailed_text(j, JAIL_STDOUT));
	jailed_free(j);
}

/* A host that reaps every child, by ignoring SIGCHLD or by waiting for any. */
Test(launch, a_host_that_reaps_everything, .timeout = 120)
{
	int status = 0;
	pid_t host = fork();

	if (host == 0) {
		struct jailed *j = jailed_new();
		char *argv[] = { "/bin/sh", "-c", "exit 5", NULL };

		signal(SIGCHLD, SIG_IGN);
		if (jailed_prepare(j, true) != 0)
			_exit(1);
		for (int i = 0; i < 5; i++)
			if (jailed_go(j, argv) != 0 || j->outcome.exit_code != 5)
				_exit(2);
		j->command.argv = (char *[]){ "/bin/sleep", "100", NULL };
		if (jail_launch(j->tmpl, &j->command, &j->run, &j->err) < 0)
			_exit(3);
		jail_run_free(j->run);
		_exit(0);
	}
	waitpid(host, &status, 0);
	cr_expect_eq(status, 0, "wait status %x", (unsigned int)status);
}

static bool lock_shared_memory(size_t bytes)
{
	const int id = shmget(IPC_PRIVATE, bytes, IPC_CREAT | 0600);
	const bool locked = id >= 0 && shmctl(id, SHM_LOCK, NULL) == 0;

	shmctl(id, IPC_RMID, NULL);
	return locked;
}

static bool has_queues_and_timers(void)
{
	struct mq_attr about = { .mq_maxmsg = 10, .mq_msgsize = 8192 };
	char name[40];
	mqd_t queue;
	timer_t timer;

	snprintf(name, sizeof(name), "/warder-test-%d", (int)getpid());
	queue = mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, &about);
	mq_unlink(name);
	return queue != (mqd_t)-1 && timer_create(CLOCK_MONOTONIC, NULL, &timer) == 0;
}

/* What is counted per user is limited for each jail: a program that uses up all that it gets leaves its user, who is an ordinary user's
 * own outside, with something. */
Test(launch, per_user_accounts_are_limited, .timeout = 60)
{
	static const struct account {
		const char *label, *program, *said;
	} accounts[] = {
		{ "inotify",
		  "import ctypes, time\n"
		  "l = ctypes.CDLL(None)\n"
		  "n = 0\n"
		  "while l.inotify_init() >= 0: n += 1\n"
		  "print(n, flush=True)\ntime.sleep(20)\n",
		  "16\n" },
		{ "locked memory",
		  "import ctypes, time\n"
		  "l = ctypes.CDLL(None)\n"
		  "n = 0\n"
		  "while l.shmctl(l.shmget(0, 1 << 20, 0o1600), 11, None) == 0: n += 1\n"
		  "print(n, flush=True)\ntime.sleep(20)\n",
		  "2\n" },
		/* Of 100 queues of 4 KiB, which the user's own limit allows. Landlock may refuse to open a queue that was made. */
		{ "message queues",
		  "import ctypes, time\n"
		  "l = ctypes.CDLL(None, use_errno=True)\n"
		  "about = (ctypes.c_long * 8)(0, 4, 1024)\n"
		  "def make(i):\n"
		  "  ctypes.set_errno(0)\n"
		  "  l.mq_open(b'/q%d' % i, 0o102, 0o600, about)\n"
		  "  return ctypes.get_errno() in (0, 13)\n"
		  "n = [make(i) for i in range(100)].index(False)\n"
		  "print(ctypes.get_errno(), 0 < n < 30, flush=True)\ntime.sleep(20)\n",
		  "24 True\n" },
		{ "queued signals",
		  "import ctypes, time\n"
		  "l = ctypes.CDLL(None)\n"
		  "timer = ctypes.c_void_p()\n"
		  "n = 0\n"
		  "while n < 5000 and l.timer_create(1, None, ctypes.byref(timer)) == 0: n += 1\n"
		  "print(0 < n <= 1024, flush=True)\ntime.sleep(20)\n",
		  "True\n" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(accounts); i++) {
		struct jailed *j = jailed_new();
		int status = 0;
		pid_t pid;

		j->policy.syscalls.profile = POLICY_SYSCALLS_COMPAT;
		cr_assert_eq(jailed_prepare(j, true), 0, "%s", j->err.text);
		j->command.argv = (char *[]){ "/usr/bin/python3", "-c", (char *)accounts[i].program, NULL };
		cr_assert_eq(jail_launch(j->tmpl, &j->command, &j->run, &j->err), 0, "%s", j->err.text);
		sleep(jailed_slow());
		pid = fork();
		if (pid == 0)
			_exit(inotify_init1(IN_CLOEXEC) < 0 || !lock_shared_memory(4 << 20) ||
			      !has_queues_and_timers());
		waitpid(pid, &status, 0);
		cr_expect_eq(status, 0, "%s: nothing is left for the user outside", accounts[i].label);
		jail_cancel(j->run);
		cr_expect_eq(jail_supervise(j->run, &j->outcome, &j->err), 0);
		cr_expect_str_eq(jailed_text(j, JAIL_STDOUT), accounts[i].said, "%s: %s", accounts[i].label,
				 jailed_text(j, JAIL_STDERR));
		jailed_free(j);
	}
}

#define CACHED_PAGES 64

/* How many pages of a file of CACHED_PAGES are in memory. */
static int count_cached(const char *path)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char pages[CACHED_PAGES] = { 0 };
	owned_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *at = mmap(NULL, CACHED_PAGES * page, PROT_READ, MAP_SHARED, fd, 0);
	int count = 0;

	cr_assert(at != MAP_FAILED && mincore(at, CACHED_PAGES * page, pages) == 0, "%s: %s", path,
		  strerror(errno));
	munmap(at, CACHED_PAGES * page);
	for (size_t i = 0; i < CACHED_PAGES; i++)
		count += pages[i] & 1;
	return count;
}

/* Written out, so that the kernel may drop what is in memory, and read again, so that all of it is. */
static void make_cached(const char *path)
{
	const size_t size = CACHED_PAGES * (size_t)sysconf(_SC_PAGESIZE);
	owned_fd int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	char *bytes = calloc(1, size);

	cr_assert(pwrite(fd, bytes, size, 0) == (ssize_t)size && fsync(fd) == 0 &&
		      pread(fd, bytes, size, 0) == (ssize_t)size,
		  "%s: %s", path, strerror(errno));
	free(bytes);
}

/* The host and other jails read the same pages: a jail that has them dropped makes everybody wait for the disk. Its own file in a
 * workspace, so that no owner or mode keeps the kernel from it; the same program drops them outside. */
Test(launch, cached_pages_stay, .timeout = 120)
{
	static const struct {
		const char *label, *program;
	} rows[] = {
		{ "posix_fadvise(POSIX_FADV_DONTNEED)", "import os\n"
							"fd = os.open('file', os.O_RDWR)\n"
							"os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)\n"
							"print('done')\n" },
		{ "madvise(MADV_PAGEOUT)",
		  "import ctypes, os\n"
		  "libc = ctypes.CDLL(None, use_errno=True)\n"
		  "libc.mmap.restype = ctypes.c_void_p\n"
		  "libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + "
		  "[ctypes.c_long]\n"
		  "libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]\n"
		  "fd = os.open('file', os.O_RDWR)\n"
		  "size = os.fstat(fd).st_size\n"
		  "at = libc.mmap(None, size, 1, 1, fd, 0)\n"
		  "ctypes.string_at(at, size)\n"
		  "assert libc.madvise(at, size, 21) == 0, ctypes.get_errno()\n"
		  "print('done')\n" },
	};
	char directory[] =
	    "/var/tmp/cached-pages-XXXXXX"; /* on a disk: what is in a tmpfs is never dropped */
	char path[64], root[PATH_MAX], command[PATH_MAX + 1000], why[PATH_MAX + 64] = "";

	cr_assert(mkdtemp(directory) && realpath(directory, root));
	chmod(directory, 0755);
	snprintf(path, sizeof(path), "%s/file", directory);
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct jailed *j = jailed_new();
		int outside;

		make_cached(path);
		snprintf(command, sizeof(command), "cd '%s' && python3 -c \"%s\" >/dev/null", root,
			 rows[i].program);
		cr_expect_eq(system(command), 0, "%s: outside", rows[i].label);
		outside = count_cached(path);
		if (outside > CACHED_PAGES / 2) {
			fprintf(stderr, "note: %s drops no pages of a file in %s here\n", rows[i].label,
				root);
			jailed_free(j);
			continue;
		}
		make_cached(path);
		if (count_cached(path) != CACHED_PAGES) {
			snprintf(why, sizeof(why), "the file system of %s does not keep what was read", root);
			jailed_free(j);
			break;
		}
		j->policy.filesystem.workspace = POLICY_WORKSPACE_READ_WRITE;
		j->policy.filesystem.workspace_root = strdup(root);
		j->policy.limits.disk_bytes = POLICY_UNLIMITED;
		jailed_python(j, rows[i].program);
		if (j->step == 4 && strstr(j->err.text, "idmapped")) {
			snprintf(why, sizeof(why), "%.300s", j->err.text);
			jailed_free(j);
			break;
		}
		cr_expect_eq(j->step, 0, "%s: %s", rows[i].label, j->err.text);
		cr_expect_str_eq(jailed_text(j, JAIL_STDOUT), "done\n", "%s: %s", rows[i].label,
				 jailed_text(j, JAIL_STDERR));
		cr_expect_eq(count_cached(path), CACHED_PAGES,
			     "%s dropped pages: %d of %d are left, %d outside", rows[i].label,
			     count_cached(path), CACHED_PAGES, outside);
		jailed_free(j);
	}
	snprintf(command, sizeof(command), "rm -r '%s'", root);
	cr_expect_eq(system(command), 0);
	if (*why)
		cr_skip_test("%s", why);
}

/* A second wait for the same run is an error, not a hang. */
Test(launch, waiting_twice, .timeout = 60)
{
	struct jailed *j = jailed_new();
	char *argv[] = { "/bin/true", NULL };

	cr_assert_eq(jailed_prepare(j, false), 0, "%s", j->err.text);
	j->command.argv = argv;
	cr_assert_eq(jail_launch(j->tmpl, &j->command, &j->run, &j->err), 0, "%s", j->err.text);
	cr_assert_eq(jail_supervise(j->run, &j->outcome, &j->err), 0);
	{
		struct jail_outcome again;

		cr_expect_eq(jail_supervise(j->run, &again, &j->err), -1);
		cr_expect_eq(j->err.code, (uint32_t)WARDER_ERROR_INVALID_REQUEST);
	}
	jail_cancel(j->run); /* late, and harmless */
	jailed_free(j);
}
