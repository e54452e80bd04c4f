/*
 * Parked jails that die, or are frozen or stopped, between their check at the hand-out and the start of their program: the launch takes another jail,
 * and the program runs once. And those that were frozen before. At most four jails at once.
 *
 * The moment is hit by pages that cannot be read: the launching thread reads the path of the command's file, and the words of the command,
 * after the check and before the word to go. The fault of its read is handled in that thread.
 */
#include "base/clock.h"
#include "tests/lib/library.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct warder_error err;
static struct warder_policy *policy;
static struct warder_pool *pool;
static struct warder_pool_key key;

/* ---- the moment ---- */

/* A text that cannot be read until it has been tried once; then the function is called, in a thread of its own: User-mode Linux does not give
 * all vector registers back to code that a signal has interrupted. */
struct trap {
	char *page;
	void (*sprung)(void);
};

static struct trap path_trap, script_trap;
/* The init to be killed; 0: that of oldest_init(). */
static int target;
static int killed[8];
static size_t killed_count;
static pthread_t killer;
static char freezer[300];
static pthread_t tracer;
static sem_t is_traced;
static bool frozen, stopped, traced;

static void (*sprung)(void);
static sem_t has_sprung, is_done;

static void *spring(void *unused)
{
	for (;;) {
		if (sem_wait(&has_sprung) != 0)
			continue;
		sprung();
		sem_post(&is_done);
	}
	return unused;
}

static void set_trap(struct trap *trap)
{
	mprotect(trap->page, (size_t)getpagesize(), PROT_NONE);
}

static bool springs(const struct trap *trap, const void *at)
{
	return trap->page && (const char *)at >= trap->page && (const char *)at < trap->page + getpagesize();
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	const struct trap *trap = springs(&path_trap, info->si_addr)     ? &path_trap
				  : springs(&script_trap, info->si_addr) ? &script_trap
									 : NULL;

	if (!trap) {
		signal(SIGSEGV, SIG_DFL);
		return;
	}
	mprotect(trap->page, (size_t)getpagesize(), PROT_READ | PROT_WRITE);
	sprung = trap->sprung;
	sem_post(&has_sprung);
	while (sem_wait(&is_done) != 0)
		;
}

static char *make_trap(struct trap *trap, const char *text, void (*function)(void))
{
	const struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	static pthread_t thread;

	if (!thread)
		cr_assert(sem_init(&has_sprung, 0, 0) == 0 && sem_init(&is_done, 0, 0) == 0 &&
			  pthread_create(&thread, NULL, spring, NULL) == 0);
	cr_assert(sigaction(SIGSEGV, &action, NULL) == 0);
	trap->page =
	    mmap(NULL, (size_t)getpagesize(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert(trap->page != MAP_FAILED);
	snprintf(trap->page, (size_t)getpagesize(), "%s", text);
	trap->sprung = function;
	set_trap(trap);
	return trap->page;
}

/* Of the jails that live, the one that was made first: it has been handed out. */
static int oldest_init(void)
{
	int pids[8], oldest = 0;
	const int count = library_inits(pids, 8);

	for (int i = 0; i < count; i++) {
		bool lives = true;

		for (size_t j = 0; j < killed_count; j++)
			lives = lives && killed[j] != pids[i];
		if (lives && (!oldest || pids[i] < oldest))
			oldest = pids[i];
	}
	return oldest;
}

static void kill_init(void)
{
	const int init = target ? target : oldest_init();
	struct pollfd dead = { .fd = (int)syscall(SYS_pidfd_open, init, 0), .events = POLLIN };

	if (init > 0 && kill(init, SIGKILL) == 0 && poll(&dead, 1, 10000) == 1 && killed_count < 8)
		killed[killed_count++] = init;
	close(dead.fd);
}

static void *kill_soon(void *unused)
{
	usleep(50000);
	kill_init();
	return NULL;
}

static int find_payload(void)
{
	char path[64];
	FILE *children;
	int payload = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", target, target);
	children = fopen(path, "re");
	if (!children || fscanf(children, "%d", &payload) != 1)
		payload = 0;
	if (children)
		fclose(children);
	return payload;
}

/* The word to go is sent, and the process that waits for it does not read it. */
static void stop_payload(void)
{
	const int payload = find_payload();

	stopped = payload > 0 && kill(payload, SIGSTOP) == 0;
}

/* A tracer holds the payload for a second. */
static void *trace(void *unused)
{
	const int payload = find_payload();

	traced = payload > 0 && ptrace(PTRACE_SEIZE, payload, 0, 0) == 0 &&
		 ptrace(PTRACE_INTERRUPT, payload, 0, 0) == 0 && waitpid(payload, NULL, __WALL) == payload;
	sem_post(&is_traced);
	if (traced) {
		usleep(1000000);
		ptrace(PTRACE_DETACH, payload, 0, 0);
	}
	return unused;
}

static void trace_payload(void)
{
	if (sem_init(&is_traced, 0, 0) != 0 || pthread_create(&tracer, NULL, trace, NULL) != 0)
		return;
	while (sem_wait(&is_traced) != 0)
		;
}

/* And dies before it reads it. */
static void stop_and_kill_init(void)
{
	stop_payload();
	if (stopped)
		pthread_create(&killer, NULL, kill_soon, NULL);
}

/* The only jail's file that freezes its cgroup. False: there is none. */
static bool find_freezer(void)
{
	glob_t found;
	const bool is_one = library_cgroups("/cgroup.freeze", &found) == 1;

	if (is_one)
		snprintf(freezer, sizeof(freezer), "%s", found.gl_pathv[0]);
	globfree(&found);
	return is_one;
}

static void nothing(void)
{
}

static bool write_freezer(const char *text)
{
	const int fd = open(freezer, O_WRONLY | O_CLOEXEC);
	const bool wrote = fd >= 0 && write(fd, text, 1) == 1;

	close(fd);
	return wrote;
}

static void freeze(void)
{
	frozen = write_freezer("1");
}

/* The kernel stops each process when it next runs, and then says so. */
static void freeze_all(void)
{
	char path[320], text[64] = "";

	freeze();
	snprintf(path, sizeof(path), "%.*sevents", (int)(strlen(freezer) - strlen("freeze")), freezer);
	for (int i = 0; i < 10000 && !strstr(text, "frozen 1"); i++) {
		const int fd = open(path, O_RDONLY | O_CLOEXEC);
		const ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

		text[len > 0 ? len : 0] = '\0';
		close(fd);
		usleep(1000);
	}
	cr_assert(strstr(text, "frozen 1"), "%s: %s", path, text);
}

/* The exec of the file waits until nobody has a lease of it: the payload has said ENTERING by then. */
static void *freeze_in_exec(void *lease)
{
	const int fd = *(int *)lease;

	while (fcntl(fd, F_GETLEASE) == F_WRLCK)
		usleep(1000);
	freeze();
	usleep(1000000);
	fcntl(fd, F_SETLEASE, F_UNLCK);
	write_freezer("0");
	return NULL;
}

/* And the next jail, too: the path is read before the script. */
static void kill_init_again(void)
{
	kill_init();
	set_trap(&path_trap);
}

static void set_script_trap(void)
{
	set_trap(&script_trap);
}

/* ---- the pool ---- */

static int begin(struct warder_pool_options options)
{
	const int descriptors = library_descriptors();

	options.size = sizeof(options);
	policy = library_policy();
	key = (struct warder_pool_key){ .size = sizeof(key), .policy = policy };
	cr_assert(warder_pool_new(&options, &pool, &err) == 0, "%s", err.text);
	return descriptors;
}

static void fill(unsigned int count)
{
	if (warder_pool_fill(pool, &key, count, &err) == 0)
		return;
	cr_assert(err.code == WARDER_ERROR_UNSUPPORTED_POLICY || err.code == WARDER_ERROR_NOT_FOUND, "%s: %s",
		  err.step, err.text);
	cr_skip_test("%s", err.text);
}

static void end(int descriptors)
{
	int pids[8];

	cr_expect(warder_pool_drain(pool, &err) == 0, "%s", err.text);
	cr_expect_eq(library_inits(pids, 8), 0);
	warder_pool_free(pool);
	warder_policy_free(policy);
	cr_expect_eq(library_descriptors(), descriptors, "%d, before %d", library_descriptors(), descriptors);
}

/* Launch a script of sh, or, with `code`, code in the key's program. What it wrote; NULL with err. */
static const char *says(char *script, const char *code, struct warder_command command)
{
	char *argv[] = { (char *)"sh", (char *)"-c", script, NULL };
	struct warder_result *result = NULL;
	struct warder_run *run = NULL;
	static char text[100];
	int launched;

	command.size = sizeof(command);
	command.argv = argv;
	launched = code ? warder_pool_code(pool, &key, code, strlen(code), &command, &run, &err)
			: warder_pool_launch(pool, &key, &command, &run, &err);
	if (launched == 0 && warder_wait(run, &result, &err) == 0)
		snprintf(text, sizeof(text), "%s", warder_result_output(result, WARDER_STDOUT, NULL, NULL));
	warder_run_free(run);
	if (!result)
		return NULL;
	warder_result_free(result);
	return text;
}

/* Of a launch whose only jail was of no use: it failed with this text. But on a busy machine, the pool may have parked another jail meanwhile: then
 * the launch took that one. */
static void expect_other_or_failure(const char *said, const char *text)
{
	const bool ran = said != NULL;

	if (ran)
		cr_expect(library_pool_stat(pool, "parked") > 1 && strcmp(said, "ran\n") == 0, "%s", said);
	else
		cr_expect(err.code == WARDER_ERROR_UNAVAILABLE && strstr(err.text, text), "%s", err.text);
	cr_expect_eq(library_pool_stat(pool, "handedOut"), ran);
	cr_expect_eq(library_pool_stat(pool, "broken"), 1);
}

/* ---- deaths ---- */

/* The input comes from a pipe: nothing of it may be lost with the first jail. */
Test(pool_window, a_launch_takes_another_jail, .timeout = 60)
{
	static const struct {
		enum warder_pool_empty empty;
		void (*ends)(void);
	} rows[] = {
		{ WARDER_POOL_LAUNCH, kill_init },
		{ WARDER_POOL_WAIT, kill_init },
		{ WARDER_POOL_LAUNCH, stop_and_kill_init },
	};
	int input[2];

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const int descriptors =
		    begin((struct warder_pool_options){ .empty = rows[i].empty, .jails_a_key = 1 });
		const char *said;

		fill(1);
		target = library_only_init();
		cr_assert(pipe(input) == 0 && write(input[1], "in\n", 3) == 3);
		close(input[1]);
		killed_count = 0;
		said = says(make_trap(&script_trap, "read x; echo $x", rows[i].ends), NULL,
			    (struct warder_command){ .input_fd = input[0] });
		close(input[0]);
		if (killer)
			pthread_join(killer, NULL);
		killer = 0;
		cr_assert_eq(killed_count, 1);
		cr_assert(said, "%zu: %s", i, err.text);
		cr_expect_str_eq(said, "in\n");
		cr_expect_eq(library_pool_stat(pool, "broken"), 1);
		/* The pool may have parked another one meanwhile. */
		cr_expect_eq(library_pool_stat(pool, "launched") + library_pool_stat(pool, "handedOut"), 1);
		cr_expect(rows[i].empty == WARDER_POOL_LAUNCH || library_pool_stat(pool, "launched") == 0);
		end(descriptors);
	}
}

/* Without a new one: the launch takes the other jail, or fails if there is none. */
Test(pool_window, a_launch_takes_another_parked_jail, .timeout = 60)
{
	for (unsigned int jails = 1; jails <= 2; jails++) {
		const int descriptors = begin((struct warder_pool_options){ .empty = WARDER_POOL_FAIL });
		const char *said;
		int pids[8];

		fill(1);
		target = library_only_init();
		if (jails == 2) { /* the one that was parked last is handed out first */
			fill(2);
			cr_assert_eq(library_inits(pids, 8), 2);
			target = pids[0] == target ? pids[1] : pids[0];
		}
		killed_count = 0;
		said =
		    says(make_trap(&script_trap, "echo ran", kill_init), NULL, (struct warder_command){ 0 });
		cr_assert_eq(killed_count, 1);
		cr_expect(jails == 1 || said, "%s", err.text);
		expect_other_or_failure(said, "the jail died");
		end(descriptors);
	}
}

/* If no other jail comes in time, the caller hears why the first one was not used. */
Test(pool_window, a_wait_without_another_jail_tells_the_reason, .timeout = 60)
{
	const int descriptors =
	    begin((struct warder_pool_options){ .empty = WARDER_POOL_WAIT, .jails_a_key = 1, .wait_us = 1 });
	const char *said;

	fill(1);
	target = library_only_init();
	killed_count = 0;
	said = says(make_trap(&script_trap, "echo ran", kill_init), NULL, (struct warder_command){ 0 });
	cr_assert_eq(killed_count, 1);
	expect_other_or_failure(said, "the jail died");
	end(descriptors);
}

/* Nor does a program that was started in advance get its code twice. */
Test(pool_window, code_goes_to_another_program, .timeout = 60)
{
	static const struct {
		const char *code, *said;
	} rows[] = { { "cat /tmp/data", "text\n" }, { "", "" } };
	char *program[] = { (char *)"sh", (char *)"-c", (char *)"echo >&3; code=$(cat <&4); eval \"$code\"",
			    NULL };

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const int descriptors =
		    begin((struct warder_pool_options){ .empty = WARDER_POOL_LAUNCH, .jails_a_key = 1 });
		const struct warder_file file = { .path = make_trap(&path_trap, "data", kill_init),
						  .bytes = "text\n",
						  .len = 5 };
		const char *said;

		key.program = program;
		fill(1);
		target = library_only_init();
		killed_count = 0;
		said = says(NULL, rows[i].code, (struct warder_command){ .files = &file, .file_count = 1 });
		cr_assert_eq(killed_count, 1);
		cr_assert(said, "%zu: %s", i, err.text);
		cr_expect_str_eq(said, rows[i].said);
		cr_expect_eq(library_pool_stat(pool, "broken"), 1, "%zu", i);
		cr_expect_eq(library_pool_stat(pool, "handedOut"), 1);
		end(descriptors);
	}
}

/* The launch ends, though each jail dies. */
Test(pool_window, a_launch_gives_up_after_three_jails, .timeout = 60)
{
	const int descriptors =
	    begin((struct warder_pool_options){ .empty = WARDER_POOL_WAIT, .jails_a_key = 1 });
	const struct warder_file file = { .path = make_trap(&path_trap, "data", set_script_trap),
					  .bytes = "text\n",
					  .len = 5 };
	const char *said;

	fill(1);
	said = says(make_trap(&script_trap, "cat /tmp/data", kill_init_again), NULL,
		    (struct warder_command){ .files = &file, .file_count = 1 });
	cr_expect(!said && err.code == WARDER_ERROR_UNAVAILABLE && strstr(err.text, "the jail died"), "%s",
		  err.text);
	cr_expect_eq(killed_count, 3, "%zu", killed_count);
	cr_expect_eq(library_pool_stat(pool, "broken"), 3);
	cr_expect_eq(library_pool_stat(pool, "handedOut"), 0);
	end(descriptors);
}

/* ---- frozen ---- */

/* Before the check, and after it. The first jail would not answer for 30 s. */
Test(pool_window, a_frozen_jail_is_replaced, .timeout = 120)
{
	for (int later = 0; later < 2; later++) {
		const int descriptors =
		    begin((struct warder_pool_options){ .empty = WARDER_POOL_LAUNCH, .jails_a_key = 1 });
		uint64_t before_us;
		const char *said;

		fill(1);
		if (library_only_init() == 0 || !find_freezer())
			cr_skip_test("the jail's cgroup has no freezer of v2");
		make_trap(&script_trap, "echo ran", freeze);
		if (!later) {
			freeze_all();
			script_trap.sprung = nothing;
		}
		before_us = clock_us();
		said = says(script_trap.page, NULL, (struct warder_command){ 0 });
		cr_assert(frozen);
		cr_assert(said, "%d: %s", later, err.text);
		cr_expect_str_eq(said, "ran\n");
		cr_expect(clock_us() - before_us < 10000000, "%d: %d ms", later,
			  (int)((clock_us() - before_us) / 1000));
		cr_expect_eq(library_pool_stat(pool, "broken"), 1);
		cr_expect_eq(library_pool_stat(pool, "launched") + library_pool_stat(pool, "handedOut"), 1);
		frozen = false;
		end(descriptors);
	}
}

/* A jail whose payload is stopped after the check is replaced, too. */
Test(pool_window, a_stopped_jail_is_replaced, .timeout = 120)
{
	const int descriptors =
	    begin((struct warder_pool_options){ .empty = WARDER_POOL_LAUNCH, .jails_a_key = 1 });
	uint64_t before_us;
	const char *said;

	fill(1);
	target = library_only_init();
	before_us = clock_us();
	said = says(make_trap(&script_trap, "echo ran", stop_payload), NULL, (struct warder_command){ 0 });
	cr_assert(stopped);
	cr_assert(said, "%s", err.text);
	cr_expect_str_eq(said, "ran\n");
	cr_expect(clock_us() - before_us < 20000000, "%d ms", (int)((clock_us() - before_us) / 1000));
	cr_expect_eq(library_pool_stat(pool, "broken"), 1);
	end(descriptors);
}

/* A tracer lets it go on. */
Test(pool_window, a_traced_jail_lives, .timeout = 60)
{
	const int descriptors =
	    begin((struct warder_pool_options){ .empty = WARDER_POOL_FAIL, .jails_a_key = 1 });
	const char *said;

	fill(1);
	target = library_only_init();
	said = says(make_trap(&script_trap, "echo ran", trace_payload), NULL, (struct warder_command){ 0 });
	if (tracer)
		pthread_join(tracer, NULL);
	if (!traced)
		cr_skip_test("the payload cannot be traced");
	cr_assert(said, "%s", err.text);
	cr_expect_str_eq(said, "ran\n");
	cr_expect_eq(library_pool_stat(pool, "broken"), 0);
	end(descriptors);
}

Test(pool_window, the_check_finds_a_frozen_jail, .timeout = 60)
{
	const int descriptors = begin((struct warder_pool_options){ .empty = WARDER_POOL_FAIL });

	fill(1);
	if (library_only_init() == 0 || !find_freezer())
		cr_skip_test("the jail's cgroup has no freezer of v2");
	freeze_all();
	expect_other_or_failure(says((char *)"echo ran", NULL, (struct warder_command){ 0 }),
				"cgroup is frozen");
	end(descriptors);
}

/* A jail whose payload has said ENTERING goes on after the freeze: its program may have begun. */
Test(pool_window, a_jail_frozen_in_its_exec_lives, .timeout = 60)
{
	const int descriptors = begin((struct warder_pool_options){ .empty = WARDER_POOL_FAIL });
	char dir[] = "/var/tmp/warder-pool-window.XXXXXX";
	struct warder_command command = { .size = sizeof(command) };
	struct warder_result *result = NULL;
	struct warder_run *run = NULL;
	char path[80], *argv[] = { path, NULL };
	pthread_t thread;
	int lease;

	cr_assert(mkdtemp(dir) != NULL && chmod(dir, 0755) == 0);
	snprintf(path, sizeof(path), "%s/program", dir);
	lease = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	cr_assert(lease >= 0 && write(lease, "#!/bin/sh\necho ran\n", 19) == 19 && fchmod(lease, 0755) == 0);
	close(lease);
	cr_assert(warder_policy_set(policy, "filesystem.paths.readOnly", dir, &err) == 0, "%s", err.text);
	fill(1);
	if (library_only_init() == 0 || !find_freezer()) {
		unlink(path);
		rmdir(dir);
		cr_skip_test("the jail's cgroup has no freezer of v2");
	}
	signal(SIGIO, SIG_IGN);
	lease = open(path, O_RDONLY | O_CLOEXEC);
	cr_assert(lease >= 0 && fcntl(lease, F_SETLEASE, F_WRLCK) == 0);
	cr_assert(pthread_create(&thread, NULL, freeze_in_exec, &lease) == 0);
	command.argv = argv;
	cr_expect(warder_pool_launch(pool, &key, &command, &run, &err) == 0, "%s", err.text);
	pthread_join(thread, NULL);
	close(lease);
	cr_expect(frozen);
	cr_assert(run && warder_wait(run, &result, &err) == 0, "%s", err.text);
	cr_expect_str_eq(warder_result_cause(result), "exit");
	cr_expect_str_eq(warder_result_output(result, WARDER_STDOUT, NULL, NULL), "ran\n");
	cr_expect_eq(library_pool_stat(pool, "broken"), 0);
	warder_run_free(run);
	warder_result_free(result);
	end(descriptors);
	unlink(path);
	rmdir(dir);
}

/* Without another jail, the launch fails, and names the freezer. */
Test(pool_window, a_jail_that_stays_frozen_is_killed, .timeout = 60)
{
	const int descriptors = begin((struct warder_pool_options){ .empty = WARDER_POOL_FAIL });
	const char *said;

	fill(1);
	if (library_only_init() == 0 || !find_freezer())
		cr_skip_test("the jail's cgroup has no freezer of v2");
	said = says(make_trap(&script_trap, "echo ran", freeze), NULL, (struct warder_command){ 0 });
	cr_assert(frozen);
	expect_other_or_failure(said, "cgroup was frozen");
	end(descriptors);
}
