/*
 * Hosts and callers in a bad state: signals ignored, blocked or in a storm, standard streams closed, few descriptors,
 * a /run that cannot be written, cgroups that others meddle with, readers that do not read, deadlines that race
 * the program's end.
 */
#include <pthread.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "base/array.h"
#include "jail/run.h"
#include "tests/fault/stage.h"

/* ---- the caller ---- */

static void ignore_signals(void)
{
	signal(SIGCHLD, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
}

static void block_signals(void)
{
	sigset_t all;

	signal(SIGPIPE, SIG_DFL);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
}

static void close_streams(void)
{
	close(0);
	close(1);
	close(2);
}

static void close_input(void)
{
	close(0);
}

static void forget_umask(void)
{
	umask(0777);
}

static void (*prepare_caller)(void);

static void supervise_prepared(struct stage *stage, struct act *act)
{
	prepare_caller();
	act->descriptors_before = stage_descriptors();
	stage_supervise(stage, act);
}

Test(surroundings, callers_in_a_bad_state, .timeout = 300)
{
	static const struct {
		const char *what;
		void (*prepare)(void);
	} rows[] = {
		{ "SIGCHLD, SIGPIPE and SIGTERM ignored", ignore_signals },
		{ "every signal blocked", block_signals },
		{ "no standard streams", close_streams },
		{ "no standard input", close_input },
		{ "umask 777", forget_umask },
	};
	struct stage *stage = stage_new();

	stage_take_reference(stage);
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		int status;

		prepare_caller = rows[i].prepare;
		status = stage_wait(stage_fork(stage, supervise_prepared, false), 60);
		cr_expect(status == 0 && stage->act->step == 0, "%s: status %x, step %d: %s", rows[i].what,
			  (unsigned int)status, stage->act->step, stage->act->err.text);
		cr_expect(stage->act->descriptors_after == stage->act->descriptors_before,
			  "%s: %d descriptors, before %d", rows[i].what, stage->act->descriptors_after,
			  stage->act->descriptors_before);
		if (status == 0 && stage->act->step == 0)
			stage_check_success(stage->act, rows[i].what);
		stage_check(stage, rows[i].what);
	}
	stage_done(stage);
}

static rlim_t descriptors_most;

static void limit_descriptors(void)
{
	const struct rlimit limit = { descriptors_most, descriptors_most + 4096 };

	setrlimit(RLIMIT_NOFILE, &limit);
}

/* Refused with a word why while there are too few; under the whole policy as soon as there are enough. */
Test(surroundings, few_descriptors, .timeout = 600)
{
	if (!stage_may_kill_forks())
		cr_skip_test("User-mode Linux panics when forking processes are killed");
	struct stage *stage = stage_new();
	const long stride = stage_amount(12, 3, 1);
	long refused = 0;
	long successes = 0;

	stage_take_reference(stage);
	prepare_caller = limit_descriptors;
	for (descriptors_most = 3; successes < 3 && descriptors_most < 300;
	     descriptors_most += (rlim_t)stride) {
		char label[64];
		int status = stage_wait(stage_fork(stage, supervise_prepared, false), 60);

		snprintf(label, sizeof(label), "%lu descriptors", (unsigned long)descriptors_most);
		cr_expect(status == 0, "%s: status %x", label, (unsigned int)status);
		if (status == 0 && stage->act->step == 0 && ++successes)
			stage_check_success(stage->act, label);
		else if (++refused)
			cr_expect(*stage->act->err.text, "%s: no word why", label);
		stage_check(stage, label);
	}
	cr_expect(refused > 0 && successes == 3, "%ld refused, %ld went on", refused, successes);
	stage_note("with fewer than %lu descriptors a run is refused, in %ld of %ld tries",
		   (unsigned long)descriptors_most - 2 * (unsigned long)stride, refused, refused + successes);
	stage_done(stage);
}

/* ---- a storm of signals ---- */

#define STORM_BYTES 300000

static long storm_us;
static volatile sig_atomic_t storm_count;

static void count_signal(int number)
{
	storm_count = storm_count + 1;
}

static void supervise_in_storm(struct stage *stage, struct act *act)
{
	const struct itimerval often = { .it_interval = { .tv_usec = storm_us },
					 .it_value = { .tv_usec = storm_us } };
	const struct sigaction action = { .sa_handler = count_signal }; /* no SA_RESTART */
	char *argv[] = { "cat", NULL };
	char *input = malloc(STORM_BYTES);
	struct jailed *j = jailed_new_below(stage->parent);

	if (!input)
		abort();
	for (size_t i = 0; i < STORM_BYTES; i++)
		input[i] = (char)('a' + i * 7 % 26);
	j->command.stdin_data = input;
	j->command.stdin_len = STORM_BYTES;
	j->policy.output.stdout_bytes = 2 * STORM_BYTES;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	act->step = jailed_prepare(j, true);
	for (int i = 0; i < 3 && act->step == 0; i++) {
		act->step = jailed_go(j, argv);
		if (act->step == 0 &&
		    (j->outcome.exit_code != 0 || j->outcome.output[JAIL_STDOUT].len != STORM_BYTES ||
		     memcmp(j->outcome.output[JAIL_STDOUT].bytes, input, STORM_BYTES) != 0))
			act->step = 6;
	}
	setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
	act->figure = storm_count;
	act->err = j->err;
	memcpy(act->detail, j->outcome.detail, sizeof(act->detail));
	jailed_free(j);
	free(input);
}

Test(surroundings, a_storm_of_signals, .timeout = 900)
{
	struct stage *stage = stage_new();
	const long rounds = stage_amount(2, 8, 100);
	long signals = 0;

	storm_us = getenv("WARDER_SHORT") ? 5000 : 100;
	for (long i = 0; i < rounds; i++) {
		int status = stage_wait(stage_fork(stage, supervise_in_storm, false), 120);

		cr_expect(status == 0 && stage->act->step == 0, "status %x, step %d: %s %s",
			  (unsigned int)status, stage->act->step, stage->act->err.text, stage->act->detail);
		signals += stage->act->figure;
		stage_check(stage, "a storm");
	}
	cr_expect(signals > rounds, "there was no storm");
	stage_note("%ld signals, one each %ld us, during %ld runs: no byte lost, none failed", signals,
		   storm_us, rounds * 3);
	stage_done(stage);
}

/* ---- the host ---- */

static void expect_refused(struct stage *stage, const char *label)
{
	int status = stage_wait(stage_fork(stage, stage_supervise, false), 60);

	cr_expect(status == 0 && stage->act->step >= 3 && strstr(stage->act->err.text, "/run/warder.ids"),
		  "%s: status %x, step %d: %s", label, (unsigned int)status, stage->act->step,
		  stage->act->err.text);
	stage_check(stage, label);
}

Test(surroundings, no_place_for_state, .timeout = 300)
{
	struct stage *stage = stage_new();
	int fd;

	if (!stage->root)
		cr_skip_test("an ordinary user's jail keeps no state");
	stage_plain_run(stage, "as usual");
	cr_assert_eq(mount(NULL, "/run", NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
	expect_refused(stage, "/run read-only");
	cr_assert_eq(mount(NULL, "/run", NULL, MS_REMOUNT, "nr_inodes=2,size=4k"), 0);
	fd = open("/run/full", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	cr_assert_geq(fd, 0);
	close(fd);
	inventory_done(&stage->start);
	inventory_take(&stage->scope, &stage->start);
	expect_refused(stage, "/run full");
	cr_assert_eq(unlink("/run/full"), 0);
	inventory_done(&stage->start);
	inventory_take(&stage->scope, &stage->start);
	stage_plain_run(stage, "with room again");
	stage_done(stage);
}

/* ---- cgroups that others meddle with ---- */

static void leaf_file(const struct jailed *j, size_t h, const char *file, char path[700])
{
	snprintf(path, 700, "%s/%s/%s", j->host.cgroup.hierarchies[h].base, j->run->cgroup.name, file);
}

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));

	if (fd >= 0)
		close(fd);
	return n < 0 ? -1 : 0;
}

/* Everybody in the leaf goes to the base of v1, or to the root of v2, and the leaf is removed. */
static int remove_leaf(const struct jailed *j, size_t h)
{
	char path[700];
	char to[700];
	FILE *file;
	int pid;
	char text[16];

	leaf_file(j, h, "cgroup.procs", path);
	snprintf(to, sizeof(to), j->host.cgroup.hierarchies[h].v2 ? "%s/../cgroup.procs" : "%s/cgroup.procs",
		 j->host.cgroup.hierarchies[h].base);
	file = fopen(path, "re");
	while (file && fscanf(file, "%d", &pid) == 1) {
		snprintf(text, sizeof(text), "%d", pid);
		write_text(to, text);
	}
	if (file)
		fclose(file);
	leaf_file(j, h, "", path);
	for (int tries = 0; tries < 100; tries++) {
		if (rmdir(path) == 0)
			return 0;
		usleep(10000);
	}
	return -1;
}

enum meddling { FOREIGN_PROCESS, FREEZE, REMOVE_LEAVES, STOP_INIT, CHILD_GROUP };

static enum meddling meddling;

/* Launch something long, meddle, cancel and wait. The shared record tells how that ended. */
static void supervise_meddled(struct stage *stage, struct act *act)
{
	char *several[] = { "/bin/sh", "-c", "sleep 1000 & sleep 1000", NULL };
	char *one[] = { "sleep", "1000", NULL };
	struct jailed *j = jailed_new_below(stage->parent);
	pid_t foreign = 0;
	char path[700];
	char text[16];
	int meddled = 0;

	act->step = jailed_prepare(j, true);
	j->command.argv = stage_may_kill_forks() ? several : one;
	if (act->step || jail_launch(j->tmpl, &j->command, &j->run, &j->err) < 0) {
		act->err = j->err;
		_exit(1);
	}
	if (meddling == FOREIGN_PROCESS) {
		foreign = fork();
		if (foreign == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
			sleep(1000);
			_exit(0);
		}
		snprintf(text, sizeof(text), "%d", foreign);
	}
	for (size_t h = 0; h < j->host.cgroup.hierarchy_count; h++) {
		const bool v2 = j->host.cgroup.hierarchies[h].v2;

		leaf_file(j, h, meddling == FREEZE ? "cgroup.freeze" : "cgroup.procs", path);
		if (meddling == FOREIGN_PROCESS && !v2)
			meddled += write_text(path, text) == 0;
		else if (meddling == FREEZE && v2)
			meddled += write_text(path, "1") == 0;
		else if (meddling == REMOVE_LEAVES)
			meddled += remove_leaf(j, h) == 0;
		leaf_file(j, h, "child", path);
		if (meddling == CHILD_GROUP && !v2)
			meddled += mkdir(path, 0755) == 0;
	}
	if (meddling == STOP_INIT)
		meddled += kill(j->run->init_pid, SIGSTOP) == 0;
	if (meddling == STOP_INIT || meddling == FREEZE)
		usleep(50000);
	jail_cancel(j->run);
	act->step = jail_supervise(j->run, &j->outcome, &j->err) < 0 ? 5 : 0;
	act->figure = meddled;
	stage_fill(act, j);
	if (foreign) {
		kill(foreign, SIGKILL);
		waitpid(foreign, NULL, 0);
	}
	for (size_t h = 0; h < j->host.cgroup.hierarchy_count; h++) {
		leaf_file(j, h, "child", path);
		rmdir(path);
	}
	jail_run_free(j->run);
	j->run = NULL;
	jailed_free(j);
}

static void meddle(enum meddling what, const char *label, bool may_fail)
{
	struct stage *stage = stage_new();
	int status;

	if (!stage->root && what != STOP_INIT)
		cr_skip_test("an ordinary user has no cgroups of their own");
	meddling = what;
	status = stage_wait(stage_fork(stage, supervise_meddled, false), 120);
	cr_expect(status == 0, "%s: status %x, step %d: %s", label, (unsigned int)status, stage->act->step,
		  stage->act->err.text);
	if (what == FREEZE && status == 0 && !stage->act->figure) {
		stage_clean(stage, label, false);
		stage_done(stage);
		cr_skip_test("there is no freezer of v2");
	}
	if (may_fail && stage->act->figure) {
		cr_expect(stage->act->step == 5 && strstr(stage->act->err.text, "cgroup"), "%s: step %d: %s",
			  label, stage->act->step, stage->act->err.text);
	} else {
		cr_expect(may_fail || stage->act->figure > 0, "%s: could not be arranged", label);
		cr_expect(stage->act->step == 0, "%s: %s", label, stage->act->err.text);
		cr_expect(stage->act->cause == JAIL_CAUSE_CANCELLED || what == REMOVE_LEAVES, "%s: %s", label,
			  stage->act->detail);
	}
	stage_clean(stage, label, false);
	stage_done(stage);
}

/* On v2 such a process dies with the jail; on v1 nobody but itself can end it, and the leaf stays busy: that is told, after
 * a bounded time. */
Test(surroundings, a_foreign_process_in_the_cgroup, .timeout = 180)
{
	meddle(FOREIGN_PROCESS, "a foreign process in the cgroup", true);
}

/* v2 leaves have no children; on v1 root may make one. */
Test(surroundings, a_group_in_the_cgroup, .timeout = 180)
{
	meddle(CHILD_GROUP, "a group in the cgroup", true);
}

Test(surroundings, a_frozen_cgroup, .timeout = 180)
{
	meddle(FREEZE, "a frozen cgroup", false);
}

Test(surroundings, a_stopped_init, .timeout = 180)
{
	meddle(STOP_INIT, "a stopped init", false);
}

Test(surroundings, removed_cgroups, .timeout = 180)
{
	meddle(REMOVE_LEAVES, "cgroups removed under the run", false);
}

/* ---- readers and deadlines ---- */

struct watcher {
	pid_t init;
	struct jail_run *run;
	bool gone;
};

static void *cancel_when_gone(void *context)
{
	struct watcher *watcher = context;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", watcher->init);
	for (int tries = 0; tries < 6000; tries++) {
		char stat[64] = "";
		char file[48];
		char state = 'Z';
		FILE *f;

		snprintf(file, sizeof(file), "%s/stat", path);
		f = fopen(file, "re");
		if (f) {
			if (fscanf(f, "%*d (%63[^)]) %c", stat, &state) != 2)
				state = 'Z';
			fclose(f);
		}
		if (!f || state == 'Z') {
			watcher->gone = true;
			break;
		}
		usleep(10000);
	}
	usleep(100000);
	jail_cancel(watcher->run);
	return NULL;
}

/* The jail ends at its deadline all the same; the rest of its output waits for the reader, or for a cancel. */
Test(surroundings, a_reader_that_never_reads, .timeout = 180)
{
	struct stage *stage = stage_new();
	struct jailed *j = jailed_new_below(stage->parent);
	char *argv[] = { "yes", NULL };
	struct watcher watcher = { 0 };
	pthread_t thread;
	int out[2];

	cr_assert_eq(pipe2(out, O_CLOEXEC), 0);
	j->policy.limits.wall_time_us = 300000;
	j->policy.output.stdout_bytes = 1 << 30;
	cr_assert_eq(jailed_prepare(j, false), 0, "%s", j->err.text);
	j->command.argv = argv;
	j->command.output_fds = (const int[]){ out[1], out[1] };
	cr_assert_eq(jail_launch(j->tmpl, &j->command, &j->run, &j->err), 0, "%s", j->err.text);
	watcher = (struct watcher){ .init = j->run->init_pid, .run = j->run };
	cr_assert_eq(pthread_create(&thread, NULL, cancel_when_gone, &watcher), 0);
	cr_expect_eq(jail_supervise(j->run, &j->outcome, &j->err), 0, "%s", j->err.text);
	pthread_join(thread, NULL);
	cr_expect(watcher.gone, "the jail lived on");
	cr_expect_eq(j->outcome.cause, JAIL_CAUSE_WALL_TIME, "%s", j->outcome.detail);
	close(out[0]);
	close(out[1]);
	jailed_free(j);
	stage_done(stage);
}

/* Either it ended by itself or it was killed: one verdict, and everything in it agrees. */
Test(surroundings, a_deadline_that_races_the_end, .timeout = 3000)
{
	struct stage *stage = stage_new();
	const long rounds = stage_amount(4, 25, 1000);
	long by_deadline = 0;
	uint64_t usual_us;

	for (long i = -1; i < rounds; i++) {
		struct jailed *j = jailed_new_below(stage->parent);
		char *argv[] = { "sleep", "0.02", NULL };

		/* The first shows how long it takes here. */
		if (i >= 0)
			j->policy.limits.wall_time_us = usual_us - 3000 + (uint64_t)(random() % 6000);
		cr_assert_eq(jailed_prepare(j, false), 0, "%s", j->err.text);
		cr_expect_eq(jailed_go(j, argv), 0, "%s", j->err.text);
		if (i < 0)
			usual_us = j->outcome.wall_us > 20000 ? j->outcome.wall_us : 20000;
		if (j->outcome.cause == JAIL_CAUSE_WALL_TIME) {
			by_deadline++;
			cr_expect(j->outcome.exit_code == -1 &&
				      (j->outcome.signal == SIGKILL) !=
					  !strncmp(j->outcome.detail, "ended by itself", 15) &&
				      j->outcome.hit[JAIL_CAUSE_WALL_TIME],
				  "%d %d %s", j->outcome.exit_code, j->outcome.signal, j->outcome.detail);
		} else {
			cr_expect(j->outcome.cause == JAIL_CAUSE_EXIT && j->outcome.exit_code == 0 &&
				      j->outcome.signal == 0 &&
				      j->outcome.hit[JAIL_CAUSE_WALL_TIME] ==
					  (j->outcome.wall_us > j->policy.limits.wall_time_us),
				  "%d %d %s", j->outcome.exit_code, j->outcome.signal, j->outcome.detail);
		}
		jailed_free(j);
	}
	stage_note("a deadline within 3 ms of the program's end, %ld times: %ld ended by the deadline, the "
		   "others by "
		   "themselves",
		   rounds, by_deadline);
	stage_done(stage);
}
