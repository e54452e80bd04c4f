/* What a jail shows of /proc and of its processors, against its limits and against what goes on on the host. */
#include <math.h>
#include <sched.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <time.h>

#include "base/array.h"
#include "jail/affinity.h"
#include "jail/proc.h"
#include "tests/lib/jailed.h"

#define EXPECT_OUTPUT(j, wanted)                                                                             \
	cr_expect_str_eq(jailed_text((j), JAIL_STDOUT), (wanted), "got \"%s\", stderr \"%s\", %s",           \
			 jailed_text((j), JAIL_STDOUT), jailed_text((j), JAIL_STDERR), (j)->err.text)

Test(proc, limits, .timeout = 60)
{
	struct jailed *j = jailed_new();

	j->policy.limits.memory_bytes = 200u << 20;
	j->policy.limits.cpu_milli = 250;
	jailed_python(
	    j,
	    "import os\n"
	    "kib = {l.split(':')[0]: int(l.split()[1]) for l in open('/proc/meminfo')}\n"
	    "print(kib['MemTotal'], kib['MemFree'], kib['MemAvailable'], kib['SwapTotal'], kib['Cached'])\n"
	    "print(sum(l.startswith('processor\\t') for l in open('/proc/cpuinfo')))\n"
	    "print([l.split()[0] for l in open('/proc/stat') if l.startswith('cpu')])\n"
	    "print(os.cpu_count(), len(os.sched_getaffinity(0)), open('/proc/loadavg').read(), end='')\n");
	EXPECT_OUTPUT(j, "204800 204800 204800 0 0\n1\n['cpu', 'cpu0']\n1 1 0.00 0.00 0.00 1/1 1\n");
	cr_expect(strstr(jailed_row(j, "proc").value, "204800 KiB, 1 processor(s)"), "%s",
		  jailed_row(j, "proc").value);
	jailed_free(j);
}

/* More than the host has: what it has. */
Test(proc, no_limits, .timeout = 60)
{
	struct jailed *j = jailed_new();
	struct affinity_mask callers;
	const uint32_t processors = affinity_available(&callers);
	struct sysinfo host;
	char wanted[96];

	sysinfo(&host);
	j->policy.limits.memory_bytes = POLICY_UNLIMITED;
	j->policy.limits.cpu_milli = POLICY_UNLIMITED;
	jailed_sh(j, "grep -c ^processor /proc/cpuinfo; grep -c '^cpu[0-9]' /proc/stat; nproc; head -n1 "
		     "/proc/meminfo");
	snprintf(wanted, sizeof(wanted), "%u\n%u\n%u\nMemTotal:       %8llu kB\n", processors, processors,
		 processors, (unsigned long long)host.totalram * host.mem_unit >> 10);
	EXPECT_OUTPUT(j, wanted);
	cr_expect_str_eq(jailed_row(j, "processors").control, "");
	jailed_free(j);
}

/* Read everything that is covered, in two jails of a template, while the host is busy in between. */
Test(proc, nothing_changes_with_the_host, .timeout = 120)
{
	struct jailed *j = jailed_new();
	const struct proc_row *row;
	char script[8192] = "exec 2>&1; for f in";
	char *first;
	int fds[300];

	for (size_t i = 0; (row = proc_row(i)); i++)
		if (row->cover != PROC_LAUNCH && row->cover != PROC_PART)
			sprintf(script + strlen(script), " %s", row->path);
	strcat(script, "; do echo == $f; if [ -d $f ]; then grep -r . $f | sort; else cat $f; fi; done");
	strcat(script, "; grep -v btime /proc/stat; true");
	cr_assert_eq(jailed_prepare(j, true), 0, "%s", j->err.text);
	cr_assert_eq(jailed_sh(j, script), 0, "%s", j->err.text);
	first = strdup(jailed_text(j, JAIL_STDOUT));
	cr_assert_gt(strlen(first), 2000);
	for (size_t i = 0; i < ARRAY_LENGTH(fds); i++)
		fds[i] = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	for (time_t until = time(NULL) + 6; time(NULL) < until;)
		getppid();
	cr_assert_eq(jailed_sh(j, script), 0, "%s", j->err.text);
	cr_expect_str_eq(jailed_text(j, JAIL_STDOUT), first);
	for (size_t i = 0; i < ARRAY_LENGTH(fds); i++)
		close(fds[i]);
	free(first);
	jailed_free(j);
}

static void read_line(const char *path, char *buf, size_t size)
{
	FILE *file = fopen(path, "re");

	buf[0] = '\0';
	if (file && !fgets(buf, (int)size, file))
		buf[0] = '\0';
	if (file)
		fclose(file);
}

Test(proc, boot_id_is_the_jails, .timeout = 60)
{
	struct jailed *j = jailed_new();
	char host[64];
	char first[64];

	read_line("/proc/sys/kernel/random/boot_id", host, sizeof(host));
	cr_assert_eq(jailed_prepare(j, true), 0, "%s", j->err.text);
	jailed_sh(j, "cat /proc/sys/kernel/random/boot_id");
	snprintf(first, sizeof(first), "%s", jailed_text(j, JAIL_STDOUT));
	cr_expect(strlen(first) == 37 && first[8] == '-' && first[14] == '4' &&
		      strspn(first, "0123456789abcdef-") == 36,
		  "%s", first);
	jailed_sh(j, "cat /proc/sys/kernel/random/boot_id");
	cr_expect_str_neq(jailed_text(j, JAIL_STDOUT), first);
	cr_expect_str_neq(host, first);
	jailed_free(j);
}

/* The time of the boot and the time since then make now, and the latter goes on. */
Test(proc, clocks_agree, .timeout = 60)
{
	struct jailed *j = jailed_new();
	double now, boot, up, later;

	jailed_python(j, "import time\n"
			 "up = lambda: float(open('/proc/uptime').read().split()[0])\n"
			 "boot = [l.split()[1] for l in open('/proc/stat') if l.startswith('btime')][0]\n"
			 "a = up(); now = time.time(); time.sleep(0.2)\n"
			 "print(now, boot, a, up())\n");
	cr_assert_eq(sscanf(jailed_text(j, JAIL_STDOUT), "%lf %lf %lf %lf", &now, &boot, &up, &later), 4,
		     "%s%s", jailed_text(j, JAIL_STDOUT), j->err.text);
	cr_expect(fabs(now - boot - up) < 1.1, "%f = %f + %f", now, boot, up);
	cr_expect_geq(later - up, 0.19);
	jailed_free(j);
}

/* Nobody in a jail may write what describes it, nor what is below the files of a launch. */
Test(proc, files_cannot_be_written, .timeout = 60)
{
	struct jailed *j = jailed_new();

	jailed_sh(
	    j, "for f in /proc/stat /proc/meminfo /proc/sys/kernel/random/boot_id /proc/sys/fs/file-nr "
	       "/dev/proc/meminfo;"
	       "do { chmod 666 $f; echo x > $f; } 2>/dev/null && echo written $f; done; ls /dev/shm; true");
	EXPECT_OUTPUT(j, "");
	jailed_free(j);
}

/* Counters that are in each network namespace and tell of the host: root's maker of the namespace takes them away. */
Test(proc, counters_of_sockets, .timeout = 60)
{
	struct jailed *j = jailed_new();

	if (!j->host.privileged)
		cr_skip_test("only root can take them away");
	jailed_sh(j, "for f in protocols sockstat softnet_stat; do cat /proc/net/$f; done 2>&1 | grep -c "
		     "'Permission denied';"
		     "cat /proc/net/dev >/dev/null && echo dev");
	EXPECT_OUTPUT(j, "3\ndev\n");
	cr_expect_null(strstr(jailed_row(j, "proc").value, "counters"), "%s", jailed_row(j, "proc").value);
	jailed_free(j);
}

/* In a network namespace without other users of the names. Its exit status names what is wrong. */
static int choose_in_turn(void)
{
	struct affinity some[4];
	struct affinity_mask callers, freed;
	const uint32_t processors = affinity_available(&callers);
	uint32_t taken = 0;

	if (unshare(CLONE_NEWNET) < 0)
		return 77;
	if (processors < 2)
		return 78;
	affinity_choose(1, &some[0]);
	affinity_choose(1, &some[1]);
	if (memcmp(some[0].mask, some[1].mask, sizeof(*some[0].mask)) == 0)
		return 1;
	for (size_t i = 0; i < AFFINITY_WORDS; i++)
		taken += (uint32_t)__builtin_popcountll(some[0].mask->words[i]);
	if (taken != 1)
		return 2;
	if (processors == 2) {
		/* The processor that is left is the next one's, however the levels stand. */
		affinity_choose(1, &some[2]);
		affinity_choose(1, &some[3]);
		if (memcmp(some[2].mask, some[3].mask, sizeof(*some[2].mask)) == 0)
			return 3;
		freed = *some[1].mask;
		affinity_done(&some[1]);
		affinity_choose(1, &some[3]);
		if (memcmp(some[3].mask, &freed, sizeof(freed)) != 0)
			return 4;
	}
	affinity_choose(processors, &some[3]);
	return !some[3].mask && some[3].claim_count == 0 ? 0 : 5;
}

Test(proc, jails_are_spread, .timeout = 60)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(choose_in_turn());
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		cr_skip_test("needs root: a network namespace of its own");
	if (WEXITSTATUS(status) == 78)
		cr_skip_test("one processor");
	cr_expect_eq(WEXITSTATUS(status), 0, "%d", WEXITSTATUS(status));
}

/* A hint: the limit holds, and a program may use what its caller may. */
Test(proc, the_mask_may_be_widened, .timeout = 60)
{
	struct jailed *j = jailed_new();
	struct affinity_mask callers;
	char wanted[32];

	snprintf(wanted, sizeof(wanted), "%u\n", affinity_available(&callers));
	jailed_python(j,
		      "import os; os.sched_setaffinity(0, range(1024)); print(len(os.sched_getaffinity(0)))");
	EXPECT_OUTPUT(j, wanted);
	jailed_free(j);
}
