/*
 * The death of a supervisor that has many jails: each of them stops at once, and ends within a second. One jail is enough to see it where
 * the others are only counted.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "jail/cgroup/ends.h"
#include "jail/inside/wire.h"
#include "jail/run.h"
#include "jail/zygote.h"
#include "runtime/library/interpreters.h"
#include "runtime/library/library.h"
#include "runtime/library/nursery.h"
#include "runtime/library/preparation.h"
#include "tests/fault/stage.h"

#define ROUNDS 5

static void claim_crowd(void)
{
	for (int i = 0; i < ENDS_AT_ONCE; i++)
		ends_begin();
}

static int launch(struct jailed *jailed, char *script)
{
	char shell[] = "/bin/sh";
	char option[] = "-c";
	char *argv[] = { shell, option, script, NULL };

	jailed->command.argv = argv;
	return jailed_prepare(jailed, false) == 0 &&
		       jail_launch(jailed->tmpl, &jailed->command, &jailed->run, &jailed->err) == 0
		   ? 0
		   : -1;
}

/* A supervisor, which tells init's number. */
static void supervise(struct stage *stage, int pid_fd, char *script, bool crowd)
{
	struct jailed *jailed = jailed_new_below(stage->parent);
	int pid = 0;

	if (crowd)
		claim_crowd();
	if (launch(jailed, script) == 0)
		pid = jailed->run->init_pid;
	if (write(pid_fd, &pid, sizeof(pid)) != sizeof(pid) || !pid)
		_exit(1);
	jail_supervise(jailed->run, &jailed->outcome, &jailed->err);
	_exit(1);
}

/* The state of a process in /proc, 'Z' also where it is gone, and its time in user mode, in ticks. */
static char state_of(int pid, unsigned long *ret_ticks)
{
	char path[64];
	char state = 'Z';
	FILE *file;

	*ret_ticks = 0;
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (file && fscanf(file, "%*d (%*[^)]) %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu", &state,
			   ret_ticks) != 2)
		state = 'Z';
	if (file)
		fclose(file);
	return state;
}

struct seen {
	int stopped;         /* how many inits say by their exit status that a child was stopped */
	unsigned long ticks; /* that all of them used from the first look to the last */
	uint64_t longest_us, shortest_us;
};

static unsigned long look(int init)
{
	char path[64];
	unsigned long ticks, sum = 0;
	int child;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", init, init);
	file = fopen(path, "re");
	while (file && fscanf(file, "%d", &child) == 1) {
		state_of(child, &ticks);
		sum += ticks;
	}
	if (file)
		fclose(file);
	return sum;
}

/*
 * Kill a supervisor, which may have been stopped for a while, and watch its jail. It has a cgroup parent of its own: any other run of
 * Warder ends what a dead supervisor left in the usual place, and so would end the jail before its time.
 */
static void watch_death(struct stage *stage, char *script, bool crowd, bool stop, struct seen *seen)
{
	int numbers[2], init = 0;
	unsigned long first = 0, now, ignored;
	uint64_t began, took_us;
	pid_t supervisor;
	int status = 0;

	cr_assert(pipe2(numbers, O_CLOEXEC) == 0);
	supervisor = fork();
	if (supervisor == 0)
		supervise(stage, numbers[1], script, crowd);
	close(numbers[1]);
	cr_assert(read(numbers[0], &init, sizeof(init)) == sizeof(init) && init > 0, "no jail");
	close(numbers[0]);
	if (stop)
		kill(supervisor, SIGSTOP);
	usleep((stop ? 500000 : 100000) * jailed_slow());
	kill(supervisor, SIGKILL);
	began = clock_us();
	waitpid(supervisor, NULL, 0);
	usleep(50000 * jailed_slow());
	while (state_of(init, &ignored) != 'Z' && clock_us() - began < 10000000) {
		now = look(init);
		first = first ? first : now;
		seen->ticks += now > first ? now - first : 0;
		first = now > first ? now : first;
		usleep(10000);
	}
	took_us = clock_us() - began;
	if (waitpid(init, &status, WNOHANG) == init && WIFEXITED(status))
		seen->stopped += WEXITSTATUS(status) >= WIRE_EXIT_APART + WIRE_EXIT_STOPPED;
	stage_clean(stage, script, false);
	if (took_us > seen->longest_us)
		seen->longest_us = took_us;
	if (took_us < seen->shortest_us || !seen->shortest_us)
		seen->shortest_us = took_us;
}

static void expect_stop(char *script, bool stop)
{
	struct stage *stage = stage_new();
	struct seen seen = { 0 };

	for (int round = 0; round < ROUNDS; round++)
		watch_death(stage, script, true, stop, &seen);
	stage_done(stage);
	cr_expect(seen.stopped > 0, "\"%s\": no program was seen to be stopped: all ended at once", script);
	cr_expect(seen.ticks < ROUNDS * 2, "\"%s\": went on for %lu ticks", script, seen.ticks);
	cr_expect(seen.longest_us > 100000, "all ended at the same time");
	cr_expect(seen.longest_us < 2000000 * jailed_slow(), "a jail lived for %lu us after its supervisor",
		  (unsigned long)seen.longest_us);
}

Test(crowd, stops_at_once_and_ends_within_a_second, .timeout = 120)
{
	char script[] = "while :; do :; done";

	expect_stop(script, false);
}

/* As by a pipe that breaks before init can see that the supervisor is dead. */
Test(crowd, a_program_that_ends_first_does_not_end_its_jail, .timeout = 120)
{
	char script[] = "while :; do :; done & exec sleep 0.2";

	expect_stop(script, true);
}

Test(crowd, a_jail_alone_ends_at_once, .timeout = 120)
{
	char script[] = "sleep 50";
	struct stage *stage = stage_new();
	struct seen seen = { 0 };

	for (int round = 0; round < ROUNDS; round++)
		watch_death(stage, script, false, false, &seen);
	stage_done(stage);
	cr_expect(seen.stopped == 0, "it was stopped");
	cr_expect(seen.shortest_us < 300000 * jailed_slow(), "it lived for %lu us after its supervisor",
		  (unsigned long)seen.shortest_us);
}

Test(crowd, the_end_of_a_program_is_told_as_ever, .timeout = 120)
{
	char script[] = "sleep 50 & echo said; exit 3";
	struct jailed *jailed = jailed_new();
	uint64_t began;

	claim_crowd();
	cr_assert(launch(jailed, script) == 0, "%s", jailed->err.text);
	began = clock_us();
	cr_assert(jail_supervise(jailed->run, &jailed->outcome, &jailed->err) == 0, "%s", jailed->err.text);
	cr_expect(clock_us() - began < 500000 * jailed_slow(), "it took %lu us",
		  (unsigned long)(clock_us() - began));
	cr_expect(jailed->outcome.cause == JAIL_CAUSE_EXIT && jailed->outcome.exit_code == 3, "%s",
		  jailed->outcome.detail);
	cr_expect(jailed->outcome.output[JAIL_STDOUT].len == 5);
	jail_outcome_done(&jailed->outcome);
	jail_run_free(jailed->run);
	for (int i = 0; i < ENDS_AT_ONCE; i++)
		ends_end();
	cr_expect(!ends_begin(), "the jail that has ended is still counted");
}

/* A run that is cancelled after a full batch of kills has to wait for the next one. */
Test(crowd, a_kill_waits_for_its_turn, .timeout = 120)
{
	char script[] = "sleep 50";
	struct jailed *jailed = jailed_new();
	uint64_t began;

	cr_assert(launch(jailed, script) == 0, "%s", jailed->err.text);
	for (int i = 0; i < ENDS_AT_ONCE; i++)
		ends_turn_us();
	began = clock_us();
	jail_cancel(jailed->run);
	cr_assert(jail_supervise(jailed->run, &jailed->outcome, &jailed->err) == 0, "%s", jailed->err.text);
	cr_expect(clock_us() - began >= ENDS_PAUSE_MS * 1000 - 5000, "it took %lu us only",
		  (unsigned long)(clock_us() - began));
	cr_expect(jailed->outcome.cause == JAIL_CAUSE_CANCELLED, "%s", jailed->outcome.detail);
	jail_outcome_done(&jailed->outcome);
	jail_run_free(jailed->run);
}

/* ---- a zygote and its forks ---- */

#define FORKS 4

struct told {
	int inits[FORKS + 1]; /* the last is the zygote's; 0: there is none */
	uint64_t ended_us[FORKS + 1];
	struct warder_error err;
};

static int fork_jails(const struct stage *stage, struct told *told)
{
	static const struct policy_subject subject = { "python", POLICY_PAYLOAD_SOURCE };
	struct preparation_options how = { .subject = &subject,
					   .cgroup_parent = stage->parent,
					   .zygote = true };
	struct policy *policy = &jailed_new_below(stage->parent)->policy;
	char **words = interpreters_words("python", NULL, &told->err);
	char **zygote_words = words ? interpreters_zygote_words(words, &told->err) : NULL;
	static struct nursery_counts counts;
	struct warder_template *zygote, *forked;
	struct nursery *nursery;
	struct jail_run *run;

	if (!zygote_words || library_prepare(policy, &how, false, &zygote, &told->err) != 0)
		return -1;
	how.zygote = false;
	how.forked = true;
	nursery = nursery_new(zygote, zygote_words, &counts, &told->err);
	if (!nursery || library_prepare(policy, &how, false, &forked, &told->err) != 0)
		return -1;
	for (int i = 0; i < FORKS; i++) {
		if (nursery_park(nursery, library_jail_template(forked), words, false, &run, &told->err) != 0)
			return -1;
		told->inits[i] = run->init_pid;
		told->inits[FORKS] = run->zygote->run->init_pid;
	}
	return 0;
}

static void watch_ends(struct told *told, uint64_t began)
{
	unsigned long ignored;
	int left = FORKS + 1;

	while (left && clock_us() - began < 10000000ull * jailed_slow()) {
		for (int i = 0; i <= FORKS; i++)
			if (!told->ended_us[i] && state_of(told->inits[i], &ignored) == 'Z') {
				told->ended_us[i] = clock_us() - began;
				left--;
			}
		usleep(1000);
	}
}

/* Parked forks, each with a time of its own: they do not end with their zygote. */
Test(crowd, a_zygote_ends_after_its_forks, .timeout = 120)
{
	struct told *told =
	    mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct stage *stage = stage_new();
	uint64_t first = UINT64_MAX, last = 0, began;
	char said = 0;
	int pair[2];
	pid_t supervisor;

	cr_assert(told != MAP_FAILED && pipe2(pair, O_CLOEXEC) == 0);
	supervisor = fork();
	if (supervisor == 0) {
		claim_crowd();
		said = fork_jails(stage, told) == 0 ? 'y' : 'n';
		if (write(pair[1], &said, 1) == 1)
			pause();
		_exit(1);
	}
	cr_assert(read(pair[0], &said, 1) == 1);
	close(pair[0]);
	close(pair[1]);
	kill(supervisor, SIGKILL);
	began = clock_us();
	waitpid(supervisor, NULL, 0);
	if (said == 'y')
		watch_ends(told, began);
	stage_clean(stage, "forks", false);
	stage_done(stage);
	if (said != 'y')
		cr_skip_test("%s", told->err.text);
	for (int i = 0; i <= FORKS; i++) {
		cr_expect(told->ended_us[i] > 0, "jail %d outlives its supervisor", i);
		cr_expect(told->ended_us[i] <= told->ended_us[FORKS], "fork %d ends after its zygote", i);
		if (i == FORKS)
			break;
		first = told->ended_us[i] < first ? told->ended_us[i] : first;
		last = told->ended_us[i] > last ? told->ended_us[i] : last;
	}
	cr_expect(last - first > 50000, "all forks end within %lu us", (unsigned long)(last - first));
}

/* ---- with all of them ---- */

#define MANY 1000 /* at most; WARDER_CROWD says how many */

static int many(void)
{
	const char *wanted = getenv("WARDER_CROWD");
	const int count = wanted ? atoi(wanted) : 200;

	return count > ENDS_AT_ONCE && count <= MANY ? count : 200;
}

/* Jails that sleep, by a process that does nothing more; it tells their inits and how many they are. */
static void supervise_many(int told_fd, int *inits)
{
	char program[] = "/bin/sleep";
	char time[] = "100000";
	char *argv[] = { program, time, NULL };
	const struct rlimit descriptors = { MANY * 30, MANY * 30 };
	struct jailed *jailed = jailed_new();
	int made = 0;

	setrlimit(RLIMIT_NOFILE, &descriptors);
	jailed->command.argv = argv;
	jailed->policy.limits.wall_time_us = 3600ull * 1000000;
	for (; made < many(); made++) {
		struct jail_run *run = NULL;

		if ((made == 0 && jailed_prepare(jailed, true) != 0) ||
		    jail_launch(jailed->tmpl, &jailed->command, &run, &jailed->err) != 0) {
			fprintf(stderr, "jail %d: %s\n", made, jailed->err.text);
			break;
		}
		inits[made] = run->init_pid;
	}
	if (write(told_fd, &made, sizeof(made)) != sizeof(made))
		_exit(1);
	for (;;)
		pause();
}

/* How many programs for the kernel's BPF machine there are; 0 where the kernel does not list them. */
static int count_programs(void)
{
	char line[256];
	int count = 0;
	FILE *file = fopen("/proc/vmallocinfo", "re");

	while (file && fgets(line, sizeof(line), file))
		count += strstr(line, " bpf_prog_alloc") || strstr(line, " bpf_prog_realloc");
	if (file)
		fclose(file);
	return count;
}

struct ended {
	int all, at_once, apart, stopped, killed;
	int tenths[10];
	int early; /* before the pause that they tell of can have been over */
	int unfreed;
};

static void count_end(struct ended *ended, int wait_status, uint64_t after_us)
{
	const int status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
	const int pause = status - WIRE_EXIT_APART;

	ended->all++;
	ended->killed += status < 0;
	ended->at_once += status == 0;
	if (status < WIRE_EXIT_APART || pause >= 2 * WIRE_EXIT_STOPPED)
		return;
	ended->apart++;
	ended->stopped += pause >= WIRE_EXIT_STOPPED;
	ended->tenths[pause % 10]++;
	ended->early += after_us < (uint64_t)(pause % 10) * 100000;
}

static bool is_among(int pid, const int *inits, int count)
{
	for (int i = 0; i < count; i++)
		if (inits[i] == pid)
			return true;
	return false;
}

/* Reap every init; this process is the nearest reaper of orphans. The supervisor was killed at `began`. `programs` there were before the
 * first jail, `most` with all. */
static void reap_all(struct ended *ended, const int *inits, int count, uint64_t began, int programs, int most)
{
	while (ended->all < count && clock_us() - began < 60000000ull * jailed_slow()) {
		const int freed = most > programs
				      ? (int)((int64_t)(most - count_programs()) * count / (most - programs))
				      : count;
		int status, pid;

		while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
			if (is_among(pid, inits, count))
				count_end(ended, status, clock_us() - began);
		if (ended->all - freed > ended->unfreed)
			ended->unfreed = ended->all - freed;
		usleep(5000);
	}
}

/*
 * How each init ended is in its exit status, which this process gets in the supervisor's place: nothing is observed by its time but that
 * no init ended sooner than it says. Of the jails above the first ENDS_AT_ONCE each paused, and the pauses have all lengths: of 100 with
 * a pause of random length, the most frequent tenth of a second has more than 50 once in a great many times.
 */
Test(crowd, hundreds_end_apart, .timeout = 3600)
{
	const int programs = count_programs();
	int *inits =
	    mmap(NULL, MANY * sizeof(*inits), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct ended ended = { 0 };
	int numbers[2], made = 0, most, apart;
	uint64_t began;
	pid_t supervisor;

	if (!getenv("WARDER_TEST_GUEST")) {
		fprintf(stderr, "skipped: more than 200 live jails only in a guest\n");
		return;
	}
	cr_assert(inits != MAP_FAILED && prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
	cr_assert(pipe2(numbers, O_CLOEXEC) == 0);
	supervisor = fork();
	if (supervisor == 0)
		supervise_many(numbers[1], inits);
	close(numbers[1]);
	cr_assert(read(numbers[0], &made, sizeof(made)) == sizeof(made) && made == many(), "%d jails", made);
	close(numbers[0]);
	most = count_programs();
	/* Its death takes a while, in which inits may see it and end. */
	began = clock_us();
	kill(supervisor, SIGKILL);
	waitpid(supervisor, NULL, 0);
	reap_all(&ended, inits, made, began, programs, most);
	apart = made - ENDS_AT_ONCE;
	fprintf(
	    stderr,
	    "note: of %d jails whose supervisor was killed %d ended at once, %d after a pause, with their "
	    "program stopped in %d; tenths of a second:",
	    made, ended.at_once, ended.apart, ended.stopped);
	for (int i = 0; i < 10; i++)
		fprintf(stderr, " %d", ended.tenths[i]);
	fprintf(stderr, "; at most %d had ended and their filters were not freed%s\n", ended.unfreed,
		most > programs ? "" : " (this kernel does not list them)");
	cr_expect(ended.all == made, "%d jails live", made - ended.all);
	cr_expect(ended.at_once <= ENDS_AT_ONCE, "%d ended at once", ended.at_once);
	cr_expect(ended.apart == apart, "%d ended after a pause", ended.apart);
	cr_expect(ended.stopped >= apart / 2, "only %d programs were stopped", ended.stopped);
	cr_expect(ended.killed == 0, "%d were killed", ended.killed);
	cr_expect(ended.early == 0, "%d ended before their pause was over", ended.early);
	for (int i = 0; i < 10; i++)
		cr_expect(ended.tenths[i] <= apart / 2, "%d paused for %d tenths of a second",
			  ended.tenths[i], i);
}
