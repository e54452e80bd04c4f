/*
 * stage: where a test of faults plays. For one test program each, with the plain runner of tests/lib/plain: every test is
 * a single-threaded process of its own.
 *
 * As root the stage has its own mount namespace with an empty /run (id leases) and, unless the tests themselves lie there, an
 * empty /tmp, and a cgroup parent of its own in every hierarchy. The process is the reaper of all orphans below it.
 * Life: stage_new() -> any number of supervisors (forked processes that prepare, launch, wait and free, and report
 * in shared memory) -> stage_check() after each: the inventory is as it was -> stage_done().
 *
 * How much is tried: stage_amount(): less on a slow machine (WARDER_SHORT), all of it with WARDER_SOAK.
 */
#ifndef WARDER_TESTS_STAGE_H
#define WARDER_TESTS_STAGE_H

#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "tests/fault/inject.h"
#include "tests/fault/inventory.h"
#include "tests/lib/jailed.h"

#define STAGE_SETTLE_S 20

struct stage {
	char parent_name[64];
	const char *parent; /* of the cgroups; NULL: the default, where an ordinary user has any */
	bool root;
	struct jail_host host;
	struct inventory_scope scope;
	struct inventory start;
	struct act *act;                                    /* shared with supervisors */
	void (*body)(struct stage *stage, struct act *act); /* of an undisturbed run */
};

/* What a supervisor did. */
struct act {
	volatile bool done; /* everything is freed */
	int step;           /* as in struct jailed: 0 ok, 1 match, 2 plan, 3 prepare, 4 launch, 5 supervise */
	struct warder_error err;
	enum jail_cause cause;
	int exit_code;
	char detail[200];
	char output[20000];
	struct policy_receipt receipt;
	int descriptors_before, descriptors_after;
	long figure; /* whatever the test counts */
};

static inline long stage_amount(long short_, long check, long soak)
{
	return getenv("WARDER_SOAK") ? soak : getenv("WARDER_SHORT") ? short_ : check;
}

/* User-mode Linux panics when a process is killed while it forks. */
static inline bool stage_may_kill_forks(void)
{
	const char *guest = getenv("WARDER_TEST_GUEST");

	return !guest || strcmp(guest, "uml") != 0;
}

/* A figure for people: tests/lib/criterion.sh passes it on. */
__attribute__((format(printf, 1, 2))) static inline void stage_note(const char *format, ...)
{
	char text[600];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fprintf(stderr, "note: %s\n", text);
}

static inline void stage_own_mounts(struct stage *stage)
{
	char here[400] = "/tmp/";

	if (!getcwd(here, sizeof(here)))
		abort();
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("fault", "/run", "tmpfs", 0, "size=64k,mode=755") < 0)
		cr_assert_fail("mounts of its own: %s", strerror(errno));
	stage->scope.own_mounts = true;
	stage->scope.directories[0] = "/run";
	if (strncmp(here, "/tmp/", 5) == 0)
		return;
	if (mount("fault", "/tmp", "tmpfs", 0, "size=64m,mode=1777") < 0)
		cr_assert_fail("a /tmp of its own: %s", strerror(errno));
	stage->scope.directories[1] = "/tmp";
}

/* Parents of stages whose test ended in the middle. */
static inline void stage_remove_stale(const struct jail_host *host)
{
	for (size_t h = 0; h < host->cgroup.hierarchy_count; h++) {
		char base[CGROUP_BASE_MAX];
		char path[CGROUP_BASE_MAX + 300];
		const struct dirent *entry;
		DIR *dir;
		int pid;

		snprintf(base, sizeof(base), "%s", host->cgroup.hierarchies[h].base);
		*strrchr(base, '/') = '\0';
		dir = opendir(base);
		while (dir && (entry = readdir(dir)))
			if (sscanf(entry->d_name, "warder-fault-%d", &pid) == 1 && kill(pid, 0) < 0 &&
			    errno == ESRCH) {
				snprintf(path, sizeof(path), "%s/%s", base, entry->d_name);
				rmdir(path);
			}
		if (dir)
			closedir(dir);
	}
}

static inline void stage_supervise(struct stage *stage, struct act *act);

static inline struct stage *stage_new(void)
{
	static struct stage stage;
	struct jail_probe_options options = { 0 };

	stage.root = geteuid() == 0;
	stage.body = stage_supervise;
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	signal(SIGCHLD, SIG_DFL);
	stage.act = mmap(NULL, sizeof(*stage.act), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert(stage.act != MAP_FAILED);
	if (stage.root) {
		stage_own_mounts(&stage);
		snprintf(stage.parent_name, sizeof(stage.parent_name), "warder-fault-%d", getpid());
		stage.parent = stage.parent_name;
	}
	options.cgroup_parent = stage.parent;
	jail_probe(&options, &stage.host);
	if (stage.parent)
		stage_remove_stale(&stage.host);
	stage.scope.host = &stage.host;
	inventory_take(&stage.scope, &stage.start);
	return &stage;
}

/* Everything is as it was when the stage was made. Returns the milliseconds that it took to become so, or -1. What is left for
 * good is left at every check, and each waits for it: the third ends the test. */
static inline long stage_check(struct stage *stage, const char *label)
{
	static unsigned int failures;
	char text[1200];
	long took = inventory_settle(&stage->scope, &stage->start, true, STAGE_SETTLE_S, text, sizeof(text));

	cr_expect(took >= 0, "%s: %s", label, text);
	failures += took < 0;
	cr_assert(failures < 3, "given up");
	return took;
}

/* Our processes wait, and nobody of what has ended is still to be reaped. */
static inline void stage_take_quiet(const struct stage *stage, struct inventory *ret)
{
	for (int i = 0; i < 100; i++) {
		bool quiet = true;

		inventory_take(&stage->scope, ret);
		for (size_t l = 0; l < ret->count; l++)
			quiet = quiet && (strncmp(ret->lines[l], "process", 7) != 0 ||
					  strstr(ret->lines[l], ", state S"));
		if (quiet)
			return;
		inventory_done(ret);
		usleep(50000);
	}
	cr_assert_fail("the processes do not become quiet");
}

/* The same after a supervisor was killed: its jail is gone by itself; the rest is for the clean-up of a later process.
 * Returns the milliseconds until no process was left. */
static inline long stage_clean(struct stage *stage, const char *label, bool by_next_run);

static inline void stage_done(struct stage *stage)
{
	char bases[CGROUP_HIERARCHIES_MAX][CGROUP_BASE_MAX];
	const size_t count = stage->parent ? stage->host.cgroup.hierarchy_count : 0;

	stage_check(stage, "the end");
	inventory_done(&stage->start);
	for (size_t h = 0; h < count; h++)
		memcpy(bases[h], stage->host.cgroup.hierarchies[h].base, CGROUP_BASE_MAX);
	jail_host_done(&stage->host);
	for (size_t h = 0; h < count; h++)
		cr_expect(access(bases[h], F_OK) < 0, "%s is left", bases[h]);
}

/* ---- supervisors ---- */

/* What the program sees of its confinement: the same in every run that was started at all. */
static const char stage_script[] =
    "grep -E '^(Uid|Gid|Groups|Cap|NoNewPrivs|Seccomp|Sig(Blk|Ign)|Speculation)' /proc/self/status\n"
    "cut -d' ' -f4-6 /proc/self/mountinfo\n"
    "cat /proc/self/limits /proc/self/oom_score_adj /proc/self/uid_map | sed 's/ [0-9]* *65536$//'\n"
    "grep . /proc/sys/user/max_*\n"
    "umask; env | sort; hostname; grep -c : /proc/net/dev; set -- /proc/[0-9]*; echo $#; ls -la "
    "/proc/self/fd | "
    "wc -l\n"
    "touch /x /usr/x /dev/x 2>&1; touch /tmp/x && ls /tmp; cat\n";
static const char stage_input[] = "the last byte";

static inline void stage_fill(struct act *act, struct jailed *j)
{
	act->err = j->err;
	act->cause = j->outcome.cause;
	act->exit_code = j->outcome.exit_code;
	memcpy(act->detail, j->outcome.detail, sizeof(act->detail));
	snprintf(act->output, sizeof(act->output), "%s%s", jailed_text(j, JAIL_STDOUT),
		 jailed_text(j, JAIL_STDERR));
	act->receipt = j->receipt;
}

/* Of the program that a supervisor starts. */
static inline struct jailed *stage_jailed(const struct stage *stage)
{
	static char *argv[] = { "sh", "-c", (char *)stage_script, NULL };
	struct jailed *j = jailed_new_below(stage->parent);

	j->policy.network.mode = POLICY_NETWORK_LOOPBACK;
	j->command.argv = argv;
	j->command.stdin_data = stage_input;
	j->command.stdin_len = sizeof(stage_input) - 1;
	return j;
}

/* Prepare, launch, supervise and free. */
static inline void stage_supervise(struct stage *stage, struct act *act)
{
	struct jailed *j = stage_jailed(stage);

	act->step = jailed_prepare(j, true);
	if (act->step == 0)
		act->step = jailed_go(j, j->command.argv);
	stage_fill(act, j);
	jailed_free(j);
	act->done = true;
}

/* The tracer stops the payload for a moment on its way to where it waits. A stopped payload is refused, before anything else is read. */
static inline int stage_recheck(struct jailed *j)
{
	int ret;

	for (int i = 0; (ret = jail_recheck(j->run, &j->err)) < 0 && i < 5000; i++) {
		if (!strstr(j->err.text, "payload is in state t"))
			break;
		usleep(1000);
	}
	return ret;
}

/* The same by a parked jail. 6: it could not be parked, 7: it did not take the program, 8: it was not removed. */
static inline void stage_hand_out(struct stage *stage, struct act *act)
{
	struct jailed *j = stage_jailed(stage);
	struct warder_error left;
	char **environment = NULL;
	struct jail_given given;

	act->step = jailed_prepare(j, true);
	if (act->step == 0 && jail_park(j->tmpl, &j->run, &j->err) < 0)
		act->step = 6;
	if (j->run) {
		if (jail_given_of(j->tmpl, &j->policy, NULL, &environment, &given, &j->err) < 0 ||
		    stage_recheck(j) < 0)
			act->step = 7;
		j->command.given = &given;
		if (act->step == 0 && jail_hand_out(j->run, &j->command, &j->err) < 0)
			act->step = 7;
		if (act->step == 0) {
			j->receipt = *jail_run_receipt(j->run);
			act->step = jail_supervise(j->run, &j->outcome, &j->err) < 0 ? 5 : 0;
		}
		if (jail_run_remove(j->run, &left) < 0 && act->step == 0) {
			j->err = left;
			act->step = 8;
		}
		j->run = NULL;
		if (environment)
			jail_given_free(environment);
	}
	stage_fill(act, j);
	jailed_free(j);
	act->done = true;
}

static inline int stage_descriptors(void)
{
	return ledger_entries("/proc/self/fd", "");
}

/* Fork a process that dies with us and runs `body`, after inject_begin() if it is to be traced. */
static inline pid_t stage_fork(struct stage *stage, void (*body)(struct stage *stage, struct act *act),
			       bool traced)
{
	pid_t pid;

	memset(stage->act, 0, sizeof(*stage->act));
	fflush(NULL);
	pid = fork();
	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	stage->act->descriptors_before = stage_descriptors();
	if (traced)
		inject_begin();
	body(stage, stage->act);
	stage->act->descriptors_after = stage_descriptors();
	_exit(0);
}

/* Wait status of a process, or -1 when it does not end within `seconds` (it is killed). */
static inline int stage_wait(pid_t pid, int seconds)
{
	int status = 0;

	for (long waited_us = 0; waited_us < seconds * 1000000l; waited_us += 1000) {
		pid_t ended = waitpid(pid, &status, WNOHANG);

		if (ended == pid)
			return status;
		usleep(1000);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return -1;
}

/* One undisturbed run in a process of its own. */
static inline void stage_plain_run(struct stage *stage, const char *label)
{
	int status = stage_wait(stage_fork(stage, stage->body, false), 60);

	cr_expect(status == 0 && stage->act->step == 0, "%s: status %x, step %d: %s", label,
		  (unsigned int)status, stage->act->step, stage->act->err.text);
}

static inline void stage_clean_body(struct stage *stage, struct act *act)
{
	const struct jail_probe_options options = { .cgroup_parent = stage->parent };
	struct jail_host host;

	jail_probe(&options, &host);
	jail_clean(&host, false);
	jail_host_done(&host);
	act->done = true;
}

static inline long stage_clean(struct stage *stage, const char *label, bool by_next_run)
{
	const uint64_t start = clock_us();
	size_t left = 1;
	long took;

	while (left && clock_us() - start < STAGE_SETTLE_S * 1000000ull) {
		struct inventory now;

		while (waitpid(-1, NULL, WNOHANG | __WALL) > 0)
			;
		inventory_take(&stage->scope, &now);
		left = inventory_count(&now, "process");
		inventory_done(&now);
		if (left)
			usleep(500);
	}
	took = (long)((clock_us() - start) / 1000);
	cr_expect(left == 0, "%s: %zu processes of the jail live on", label, left);
	if (by_next_run)
		stage_plain_run(stage, label);
	else
		cr_expect(stage_wait(stage_fork(stage, stage_clean_body, false), 60) == 0);
	return took;
}

/* ---- the program is confined as it is without a fault ---- */

/* Two undisturbed runs: what differs between them may differ. */
struct stage_reference {
	char output[sizeof(((struct act *)0)->output)];
	struct policy_receipt receipt;
	bool varies[64]; /* rows whose value differs from run to run */
};

static struct stage_reference stage_reference;

/* The first line that is not as in the reference, for the message. */
static inline const char *stage_difference(const char *output)
{
	static char text[300];
	const char *wanted = stage_reference.output;
	const char *line = output;

	for (const char *at = output; *at && *at == *wanted; at++, wanted++)
		if (*at == '\n')
			line = at + 1;
	while (wanted > stage_reference.output && wanted[-1] != '\n')
		wanted--;
	snprintf(text, sizeof(text), "\"%.*s\" instead of \"%.*s\"", (int)strcspn(line, "\n") % 130, line,
		 (int)strcspn(wanted, "\n") % 130, wanted);
	return text;
}

static inline void stage_take_reference(struct stage *stage)
{
	stage_plain_run(stage, "the first run");
	memcpy(stage_reference.output, stage->act->output, sizeof(stage_reference.output));
	stage_reference.receipt = stage->act->receipt;
	stage_plain_run(stage, "the second run");
	cr_assert(strcmp(stage->act->output, stage_reference.output) == 0, "two runs differ: %s",
		  stage_difference(stage->act->output));
	/* A figure used so far may by chance be the same twice, and so may the processor on which other jails let this one begin. */
	for (size_t i = 0; i < stage_reference.receipt.count; i++)
		stage_reference.varies[i] =
		    strcmp(stage_reference.receipt.rows[i].value, stage->act->receipt.rows[i].value) != 0 ||
		    strstr(stage_reference.receipt.rows[i].value, "used so far") ||
		    strcmp(stage_reference.receipt.rows[i].control, "processors") == 0;
}

/* A limit may be had in another way (from the other version of cgroups) if it is the same limit. */
static inline bool stage_same_row(size_t i, const struct policy_receipt_row *row)
{
	const struct policy_receipt_row *wanted = &stage_reference.receipt.rows[i];
	const bool is_limit = strncmp(row->control, "limits.", 7) == 0;

	return strcmp(row->control, wanted->control) == 0 && row->status == wanted->status &&
	       strcmp(row->requested, wanted->requested) == 0 &&
	       (is_limit || strcmp(row->mechanism, wanted->mechanism) == 0) &&
	       (stage_reference.varies[i] || row->status == POLICY_RECEIPT_NOT_ENFORCED /* why: in words */ ||
		/* A limit of none, and a host that has none, are the same. */
		(strcmp(row->control, "limits.swap") == 0 && strncmp(row->value, "0: ", 3) == 0) ||
		strcmp(row->value, wanted->value) == 0);
}

/* Under its whole policy, or not at all. */
static inline void stage_check_success(const struct act *act, const char *label)
{
	/* The supervisor may have to end a run that it cannot watch; it says so. */
	if (act->cause == JAIL_CAUSE_SUPERVISOR || act->cause == JAIL_CAUSE_HOST) {
		cr_expect(*act->detail != '\0', "%s: ended, and no word why", label);
	} else {
		cr_expect(act->cause == JAIL_CAUSE_EXIT && act->exit_code == 0, "%s: %s", label, act->detail);
		cr_expect(strcmp(act->output, stage_reference.output) == 0, "%s: the program saw %s", label,
			  stage_difference(act->output));
	}
	cr_expect(act->receipt.count == stage_reference.receipt.count, "%s: %zu rows", label,
		  act->receipt.count);
	for (size_t i = 0; i < act->receipt.count && i < stage_reference.receipt.count; i++)
		cr_expect(stage_same_row(i, &act->receipt.rows[i]), "%s: receipt: %s %s", label,
			  act->receipt.rows[i].control, act->receipt.rows[i].value);
}

#endif
