/*
 * Sessions whose processes are killed, or stopped, at any moment: who starts, who executes, the keeper, the session's init. After each
 * either nothing is there, or a session that `list` shows and `stop` removes; what a killed process left besides is removed by
 * `doctor --clean`. By the tool, as a user would.
 */
#include <sys/mman.h>
#include <sys/sendfile.h>

#include "base/array.h"
#include "tests/fault/stage.h"

#define NAME      "faulty"
#define WORDS_MAX 40

/* ---- the tool ---- */

static const char *tool(void)
{
	return getenv("WARDER");
}

/* A copy of the tool in a memory file: a keeper of the tool lets a caller with another program file supervise its executions itself. */
static const char *copied_tool(void)
{
	static char path[40];
	struct stat file;
	int from, to;

	if (path[0])
		return path;
	from = open(tool(), O_RDONLY | O_CLOEXEC);
	to = memfd_create("warder", MFD_CLOEXEC);
	cr_assert(from >= 0 && to >= 0 && fstat(from, &file) == 0);
	for (off_t at = 0; at < file.st_size;)
		cr_assert(sendfile(to, from, &at, (size_t)(file.st_size - at)) > 0);
	close(from);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", to);
	return path;
}

static char sessions[64]; /* the directory that they are below */

/* An ordinary user's are below a directory of his. */
static struct stage *begin(void)
{
	static char place[] = "/tmp/warder-fault-XXXXXX";
	struct stage *stage;
	size_t i = 0;

	if (!tool())
		cr_skip_test("WARDER does not name the tool");
	if (!stage_may_kill_forks())
		cr_skip_test("User-mode Linux panics when forking processes are killed");
	if (geteuid() != 0)
		cr_assert(mkdtemp(place) && setenv("XDG_RUNTIME_DIR", place, 1) == 0);
	copied_tool(); /* before the inventory */
	stage = stage_new();
	/* It stays when the last session ends. */
	snprintf(sessions, sizeof(sessions), "%s/warder", geteuid() == 0 ? "/run" : place);
	cr_assert(mkdir(sessions, 0700) == 0);
	inventory_done(&stage->start);
	while (stage->scope.directories[i])
		i++;
	stage->scope.directories[i] = sessions;
	inventory_take(&stage->scope, &stage->start);
	return stage;
}

static void finish(struct stage *stage)
{
	stage_done(stage);
	cr_expect_eq(rmdir(sessions), 0, "something is left in %s", sessions);
	if (geteuid() != 0)
		cr_expect_eq(rmdir(getenv("XDG_RUNTIME_DIR")), 0,
			     "something is left in the place of sessions");
}

/* Runs `file` with `words`, then what a policy needs where there are no limits, then a program for sh. */
static pid_t call_file(const char *file, const char *const *words, bool policy, const char *script,
		       int output_fd)
{
	static const char *const prefer[] = { "limits.cpuTime", "limits.memory", "limits.swap", "limits.cpus",
					      "limits.pids" };
	const char *argv[WORDS_MAX] = { file };
	size_t count = 1;
	pid_t pid;

	for (; *words; words++)
		argv[count++] = *words;
	for (size_t i = 0; policy && i < ARRAY_LENGTH(prefer); i++) {
		argv[count++] = "--prefer";
		argv[count++] = prefer[i];
	}
	if (script) {
		argv[count++] = "--";
		argv[count++] = "sh";
		argv[count++] = "-c";
		argv[count++] = script;
	}
	argv[count] = NULL;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		int null_fd = open("/dev/null", O_RDWR);

		dup2(null_fd, 0);
		dup2(output_fd >= 0 ? output_fd : null_fd, 1);
		dup2(null_fd, 2);
		execv(argv[0], (char **)(uintptr_t)argv);
		_exit(99);
	}
	return pid;
}

static pid_t call(const struct stage *stage, const char *const *words, bool policy, const char *script,
		  int output_fd)
{
	return call_file(tool(), words, policy, script, output_fd);
}

static int ended(pid_t pid)
{
	int status = stage_wait(pid, 60);

	return status < 0 ? -1 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static pid_t starts(const struct stage *stage, const char *setup)
{
	const char *words[] = { "session", "start", NAME, setup ? "--setup" : NULL, setup, NULL };
	const char *with_parent[] = { "session",     "start",
				      NAME,          "--cgroup-parent",
				      stage->parent, setup ? "--setup" : NULL,
				      setup,         NULL };

	return call(stage, stage->parent ? with_parent : words, true, NULL, -1);
}

static pid_t executes(const struct stage *stage, bool background, const char *script, int output_fd)
{
	const char *words[] = { "session", "exec", NAME, background ? "--background" : NULL, NULL };

	return call(stage, words, false, script, output_fd);
}

/* Supervised by its caller, so that it ends with that. */
static pid_t executes_here(const struct stage *stage, const char *script)
{
	static const char *const words[] = { "session", "exec", NAME, NULL };

	return call_file(copied_tool(), words, false, script, -1);
}

static int stops(const struct stage *stage)
{
	static const char *const words[] = { "session", "stop", NAME, NULL };

	return ended(call(stage, words, false, NULL, -1));
}

static void cleans(const struct stage *stage)
{
	const char *words[] = { "doctor", "--clean", "--cgroup-parent", stage->parent, NULL };

	if (!stage->parent)
		words[2] = NULL;
	ended(call(stage, words, false, NULL, -1));
}

/* What a command prints, as far as there is room. */
static void prints(const struct stage *stage, const char *const *words, char *ret, size_t size)
{
	size_t len = 0;
	int pipes[2];
	ssize_t n;
	pid_t pid;

	cr_assert(pipe2(pipes, O_CLOEXEC) == 0);
	pid = call(stage, words, false, NULL, pipes[1]);
	close(pipes[1]);
	while (len < size - 1 && (n = read(pipes[0], ret + len, size - 1 - len)) > 0)
		len += (size_t)n;
	ret[len] = '\0';
	close(pipes[0]);
	cr_expect_eq(ended(pid), 0, "%s", words[0]);
}

/* Whether `session list` shows it. */
static bool is_listed(const struct stage *stage)
{
	static const char *const words[] = { "session", "list", NULL };
	char text[400];

	prints(stage, words, text, sizeof(text));
	return strstr(text, NAME);
}

static bool is_running(const struct stage *stage, const char *name)
{
	const char *words[] = { "session", "status", name, NULL };

	return ended(call(stage, words, false, NULL, -1)) == 0;
}

/* ---- after a kill ---- */

struct tally {
	long stopped, nothing, cleaned, worst_ms;
};

/* Processes are gone by themselves, or by a stop; then the rest is, if need be by --clean. */
static void settle(struct stage *stage, const char *label, struct tally *tally)
{
	const uint64_t begin_us = clock_us();
	char text[1200];
	long took;

	if (is_listed(stage)) {
		int status = stops(stage);

		/* It may have ended by itself, between the two. */
		cr_expect(status == 0 || (status == 125 && !is_listed(stage)), "%s: stop: %d", label, status);
		tally->stopped++;
	} else {
		tally->nothing++;
	}
	took = inventory_settle(&stage->scope, &stage->start, true, 1, text, sizeof(text));
	if (took < 0) {
		/* One that was being started when it was looked for gives up by itself, or is there now. */
		stops(stage);
		cleans(stage);
		tally->cleaned++;
		took = stage_check(stage, label);
	}
	if ((long)((clock_us() - begin_us) / 1000) > tally->worst_ms)
		tally->worst_ms = (long)((clock_us() - begin_us) / 1000);
}

static void tell(const char *what, long kills, const struct tally *tally)
{
	stage_note("%s killed %ld times: %ld times there was a session, which stop removed, %ld times none; "
		   "--clean was "
		   "needed %ld times; %ld ms at most until nothing was left",
		   what, kills, tally->stopped, tally->nothing, tally->cleaned, tally->worst_ms);
}

/* A process of ours other than `but`, by its arguments: the keeper and init are orphans, who are this process's then. 0: there is none. */
static pid_t find_other(const char *wanted, pid_t but)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;
	pid_t found = 0;

	while (dir && !found && (entry = readdir(dir))) {
		char path[300];
		char text[300] = "";
		pid_t parent = 0;
		FILE *file;
		size_t n;

		snprintf(path, sizeof(path), "/proc/%.20s/stat", entry->d_name);
		file = atoi(entry->d_name) > 0 ? fopen(path, "re") : NULL;
		if (file && fgets(text, sizeof(text), file) && strrchr(text, ')'))
			parent = atoi(strrchr(text, ')') + 4);
		if (file)
			fclose(file);
		snprintf(path, sizeof(path), "/proc/%.20s/cmdline", entry->d_name);
		file = parent == getpid() ? fopen(path, "re") : NULL;
		n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
		for (size_t i = 0; i < n; i++)
			if (!text[i])
				text[i] = ' ';
		text[n] = '\0';
		if (file)
			fclose(file);
		if (n && strstr(text, wanted) && atoi(entry->d_name) != but)
			found = atoi(entry->d_name);
	}
	if (dir)
		closedir(dir);
	return found;
}

static pid_t find(const char *wanted)
{
	return find_other(wanted, 0);
}

static long time_of_start(struct stage *stage, const char *setup)
{
	const uint64_t begin_us = clock_us();
	struct tally ignored = { 0 };

	cr_assert_eq(ended(starts(stage, setup)), 0, "a session cannot be started");

	{
		const long took = (long)(clock_us() - begin_us);

		settle(stage, "undisturbed", &ignored);
		cr_assert_eq(ignored.stopped, 1, "what was started is not listed");
		return took;
	}
}

static long moment(long usual_us)
{
	return random() % (usual_us + usual_us / 4 + 1);
}

Test(sessions, start_killed_at_random_moments, .timeout = 6000)
{
	struct stage *stage = begin();
	const long kills = stage_amount(4, 24, 300);
	const long usual_us = time_of_start(stage, "sleep 0.01");
	struct tally tally = { 0 };

	for (long i = 0; i < kills; i++) {
		const long after_us = moment(usual_us);
		pid_t pid = starts(stage, i % 2 ? "sleep 0.01" : NULL);
		char label[80];

		usleep((useconds_t)after_us);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		snprintf(label, sizeof(label), "start killed after %ld us", after_us);
		settle(stage, label, &tally);
	}
	tell("a start", kills, &tally);
	finish(stage);
}

/* ---- */

static const char *const scripts[] = {
	"true",
	"sleep 1000",
	"setsid sleep 1000 & while :; do :; done",
	"for i in 1 2 3 4 5 6 7 8; do setsid sleep 1000 & done; kill -STOP -1; kill -STOP $$",
};

/* The session goes on, with nothing of the execution in it. */
Test(sessions, exec_killed_at_random_moments, .timeout = 6000)
{
	struct stage *stage = begin();
	const long kills = stage_amount(4, 24, 300);
	struct inventory with_session;
	struct tally tally = { 0 };
	long usual_us = 0;
	long swept = 0;

	cr_assert_eq(ended(starts(stage, NULL)), 0);
	for (int i = 0; i < 2; i++) {
		const uint64_t begin_us = clock_us();

		cr_assert_eq(ended(executes_here(stage, "true")), 0);
		usual_us = (long)(clock_us() - begin_us);
	}
	stage_take_quiet(stage, &with_session);
	for (long i = 0; i < kills; i++) {
		const long after_us = moment(usual_us);
		pid_t pid = executes_here(stage, scripts[(size_t)i % 4]);
		char label[120];
		char text[1200];

		usleep((useconds_t)after_us);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		snprintf(label, sizeof(label), "exec of \"%.30s\" killed after %ld us",
			 scripts[(size_t)i % 4], after_us);
		if (inventory_settle(&stage->scope, &with_session, true, 3, text, sizeof(text)) < 0) {
			cleans(stage);
			swept++;
			cr_assert(inventory_settle(&stage->scope, &with_session, true, STAGE_SETTLE_S, text,
						   sizeof(text)) >= 0,
				  "%s: %s", label, text);
		}
		cr_expect_eq(ended(executes(stage, false, "true", -1)), 0, "%s: the next one", label);
	}
	inventory_done(&with_session);
	settle(stage, "executions killed", &tally);
	cr_expect_eq(tally.stopped, 1, "the session did not outlive them");
	stage_note("an exec killed %ld times: --clean was needed %ld times", kills, swept);
	finish(stage);
}

/* ---- callers of programs that the keeper supervises ---- */

#define WHOLE "echo >> /tmp/begun; sleep 0.03; echo >> /tmp/ended"

/* Those that `ps` shows, ended by `kill`. How many. */
static long kill_executions(const struct stage *stage)
{
	static const char *const words[] = { "ps", NULL };
	char text[4000];
	char *rest = NULL;
	long count = 0;

	prints(stage, words, text, sizeof(text));
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char id[17];
		const char *const ends[] = { "kill", "-s", "KILL", id, NULL };

		if (!strstr(line, " running ") || sscanf(line, "%16s", id) != 1)
			continue;
		/* It may have ended by itself, between the two. */
		ended(call(stage, ends, false, NULL, -1));
		count++;
	}
	return count;
}

/* Until only the session is left. A program that does not end by itself is found and ended. How many were. */
static long settle_executions(const struct stage *stage, const struct inventory *with_session, bool kills,
			      const char *label)
{
	char text[1200] = "";
	long count = 0;

	for (int i = 0; i < STAGE_SETTLE_S; i++) {
		count += kills ? kill_executions(stage) : 0;
		if (inventory_settle(&stage->scope, with_session, true, 1, text, sizeof(text)) >= 0)
			return count;
	}
	cr_assert(false, "%s: %s", label, text);
	return count;
}

/* The program has begun, and its caller is gone: it goes on to its end. */
static void kill_caller_of_begun(const struct stage *stage)
{
	int pipes[2];
	char c;
	pid_t pid;

	cr_assert(pipe2(pipes, O_CLOEXEC) == 0);
	pid = executes(stage, false, "echo; " WHOLE, pipes[1]);
	close(pipes[1]);
	cr_expect_eq(read(pipes[0], &c, 1), 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(pipes[0]);
}

/* Output to a pipe without a reader ends a program, as everywhere. */
static pid_t executes_to_nobody(const struct stage *stage)
{
	int pipes[2];
	pid_t pid;

	cr_assert(pipe2(pipes, O_CLOEXEC) == 0);
	pid = executes(stage, false, "yes", pipes[1]);
	close(pipes[0]);
	close(pipes[1]);
	return pid;
}

/* A program that has begun runs to its end, or until it is ended; nothing of it stays. */
Test(sessions, callers_killed_at_random_moments, .timeout = 6000)
{
	struct stage *stage = begin();
	const long kills = stage_amount(6, 24, 300);
	struct inventory with_session;
	struct tally tally = { 0 };
	long usual_us = 0;
	long found = 0;

	cr_assert_eq(ended(starts(stage, NULL)), 0);
	for (int i = 0; i < 2; i++) {
		const uint64_t begin_us = clock_us();

		cr_assert_eq(ended(executes(stage, false, WHOLE, -1)), 0);
		usual_us = (long)(clock_us() - begin_us);
	}
	stage_take_quiet(stage, &with_session);
	kill_caller_of_begun(stage);
	settle_executions(stage, &with_session, false, "a program that has begun");
	cr_expect_eq(ended(executes(stage, false, "[ $(wc -l < /tmp/begun) = 3 ]", -1)), 0);
	for (long i = 0; i < kills; i++) {
		const long after_us = moment(usual_us);
		const long kind = i % 3;
		pid_t pid = kind == 1 ? executes_to_nobody(stage)
				      : executes(stage, false, kind ? "sleep 1000" : WHOLE, -1);
		char label[120];

		usleep((useconds_t)after_us);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		snprintf(label, sizeof(label), "caller %ld killed after %ld us", i, after_us);
		found += settle_executions(stage, &with_session, kind == 2, label);
		/* The keeper may have read the request of a dead caller only now, and its program may still run. */
		cr_expect_eq(ended(executes(stage, false,
					    "for i in $(seq 200); do cmp -s /tmp/begun /tmp/ended && [ -s "
					    "/tmp/ended ] && exit 0; "
					    "sleep 0.05; done; exit 1",
					    -1)),
			     0, "%s: a program did not run to its end", label);
	}
	inventory_done(&with_session);
	settle(stage, "callers killed", &tally);
	cr_expect_eq(tally.stopped, 1, "the session did not outlive them");
	stage_note("callers killed %ld times; kill was called %ld times for programs that went on", kills,
		   found);
	finish(stage);
}

/* While it starts, and while somebody executes, whose process is told and ends. */
Test(sessions, keeper_killed_at_random_moments, .timeout = 6000)
{
	struct stage *stage = begin();
	const long kills = stage_amount(4, 24, 300);
	const long usual_us = time_of_start(stage, NULL);
	struct tally tally = { 0 };
	long found = 0;

	for (long i = 0; i < kills; i++) {
		const bool runs = i % 2;
		const long after_us = moment(runs ? 30000 : usual_us);
		pid_t pid = starts(stage, NULL);
		pid_t keeper;
		char label[80];

		if (runs) {
			cr_expect_eq(ended(pid), 0);
			cr_expect_eq(
			    ended(executes(stage, true, "setsid sleep 1000 > /dev/null 2>&1 & :", -1)), 0);
			pid = executes(stage, false, scripts[1 + (size_t)i / 2 % 3], -1);
		}
		usleep((useconds_t)after_us);
		keeper = find("session keeper");
		if (keeper)
			kill(keeper, SIGKILL);
		found += keeper > 0;
		snprintf(label, sizeof(label), "keeper killed %s after %ld us",
			 runs ? "at work" : "at its start", after_us);
		if (!keeper && runs)
			cr_expect(false, "%s: there is none", label);
		cr_expect(ended(pid) >= 0, "%s: who waits for it does not end", label);
		settle(stage, label, &tally);
	}
	cr_expect(found >= kills / 2, "it was there %ld times", found);
	tell("a keeper", kills, &tally);
	finish(stage);
}

/* ---- a copy ---- */

#define SOURCE "faulty-source"
#define FILES  "i=0; while [ $i -lt 400 ]; do head -c 20000 /dev/zero > /tmp/$i; i=$((i + 1)); done"

static pid_t copies(const struct stage *stage)
{
	static const char *const words[] = { "session", "copy", SOURCE, NAME, NULL };

	return call(stage, words, false, NULL, -1);
}

/* 0: the session has the files of the source. */
static int count_files(const struct stage *stage, const char *name)
{
	const char *words[] = { "session", "exec", name, NULL };

	return ended(call(stage, words, false, "[ $(ls /tmp | wc -l) = 400 ]", -1));
}

/* The source stays as it is, and a copy that lives is whole. */
Test(sessions, keeper_killed_during_a_copy, .timeout = 6000)
{
	struct stage *stage = begin();
	const long kills = stage_amount(4, 24, 200);
	const char *start[] = { "session", "start", SOURCE, "--cgroup-parent", stage->parent, NULL };
	const char *run[] = { "session", "exec", SOURCE, NULL };
	const char *stop[] = { "session", "stop", SOURCE, NULL };
	struct inventory with_source;
	struct tally tally = { 0 };
	char text[1200];
	long usual_us;
	long killed = 0;
	pid_t source;

	start[3] = stage->parent ? start[3] : NULL;
	cr_assert_eq(ended(call(stage, start, true, NULL, -1)), 0);
	source = find("session keeper");
	cr_assert_eq(ended(call(stage, run, false, FILES, -1)), 0);
	stage_take_quiet(stage, &with_source);
	usual_us = (long)clock_us();
	cr_assert_eq(ended(copies(stage)), 0);
	usual_us = (long)clock_us() - usual_us;
	cr_expect_eq(count_files(stage, NAME), 0);
	cr_expect_eq(stops(stage), 0);
	for (long i = 0; i < kills; i++) {
		const long after_us = moment(usual_us);
		const pid_t pid = copies(stage);
		pid_t keeper;
		int status;

		usleep((useconds_t)after_us);
		keeper = find_other("session keeper", source);
		if (keeper)
			kill(keeper, SIGKILL);
		killed += keeper > 0;
		status = ended(pid);
		cr_expect(status == 0 || status == 125, "a copy whose keeper is killed: %d", status);
		if (is_running(stage, NAME)) {
			cr_expect_eq(count_files(stage, NAME), 0, "killed after %ld us: part of a copy",
				     after_us);
			cr_expect_eq(stops(stage), 0);
		}
		if (inventory_settle(&stage->scope, &with_source, true, 1, text, sizeof(text)) < 0) {
			cleans(stage);
			cr_assert(inventory_settle(&stage->scope, &with_source, true, STAGE_SETTLE_S, text,
						   sizeof(text)) >= 0,
				  "killed after %ld us: %s", after_us, text);
		}
		cr_expect_eq(count_files(stage, SOURCE), 0, "killed after %ld us: the source", after_us);
	}
	cr_expect(killed >= kills / 3, "a keeper was there %ld times", killed);
	stage_note("a copy whose keeper was killed %ld times of %ld", killed, kills);
	inventory_done(&with_source);
	cr_expect_eq(ended(call(stage, stop, false, NULL, -1)), 0);
	settle(stage, "copies killed", &tally);
	finish(stage);
}

/* ---- its init ---- */

static pid_t init_of(pid_t keeper)
{
	char path[64];
	char text[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", keeper, keeper);
	file = fopen(path, "re");
	if (file && !fgets(text, sizeof(text), file))
		text[0] = '\0';
	if (file)
		fclose(file);
	return atoi(text);
}

Test(sessions, init_is_stopped_and_killed, .timeout = 300)
{
	struct stage *stage = begin();
	struct tally tally = { 0 };
	pid_t init;
	pid_t pid;
	int status;

	for (int killed = 0; killed < 2; killed++) {
		cr_assert_eq(ended(starts(stage, NULL)), 0);
		init = init_of(find("session keeper"));
		cr_assert_gt(init, 1, "the keeper has no child");
		kill(init, SIGSTOP);
		status = ended(executes(stage, false, "exit 7", -1));
		cr_expect(status == 7, "an execution where init is stopped: %d", status);
		if (killed) {
			pid = executes(stage, false, "sleep 1000", -1);
			usleep(200000);
			kill(init, SIGKILL);
			status = ended(pid);
			cr_expect(status == 137 || status == 125, "an execution whose session dies: %d",
				  status);
			status = ended(executes(stage, false, "true", -1));
			cr_expect_eq(status, 125, "an execution where init is dead: %d", status);
		}
		settle(stage, killed ? "init killed" : "init stopped", &tally);
	}
	cr_expect_eq(tally.stopped, 1, "a session whose init is stopped can be stopped");
	finish(stage);
}

/* ---- what an execution says of it ---- */

static void end_by_stop(const struct stage *stage)
{
	stops(stage);
}

static void end_by_signal(const struct stage *stage)
{
	kill(find("session keeper"), SIGTERM);
}

static void end_by_keeper(const struct stage *stage)
{
	kill(find("session keeper"), SIGKILL);
}

static void end_by_init(const struct stage *stage)
{
	const pid_t init = init_of(find("session keeper"));

	cr_assert_gt(init, 1);
	kill(init, SIGKILL);
}

static const struct way {
	const char *label, *text;
	void (*end)(const struct stage *stage);
} ways[] = {
	{ "stop", "the session was stopped", end_by_stop },
	{ "keeper ended", "the session's keeper was ended by a signal", end_by_signal },
	{ "keeper killed", "the session's keeper died", end_by_keeper },
	{ "init killed", "the session's init was killed from outside", end_by_init },
};

/* While it is found, joined, being launched, or runs. */
Test(sessions, an_execution_says_how_its_session_ended, .timeout = 6000)
{
	static const char *const words[] = { "session", "exec", NAME, "--json", NULL };
	struct stage *stage = begin();
	const long ends = stage_amount(8, 48, 400);
	struct tally tally = { 0 };
	long refused = 0, killed = 0;

	for (long i = 0; i < ends; i++) {
		const struct way *way = &ways[(size_t)i % 4];
		char text[65536] = "";
		size_t len = 0;
		char label[80];
		int pipes[2];
		ssize_t n;
		pid_t pid;
		int status;

		cr_assert_eq(ended(starts(stage, NULL)), 0);
		cr_assert(pipe2(pipes, O_CLOEXEC) == 0);
		pid = call(stage, words, false, "sleep 1000", pipes[1]);
		close(pipes[1]);
		usleep((useconds_t)moment(i % 3 ? 30000 : 200000));
		way->end(stage);
		while ((n = read(pipes[0], text + len, sizeof(text) - 1 - len)) > 0)
			len += (size_t)n;
		close(pipes[0]);
		text[len] = '\0';
		status = ended(pid);
		snprintf(label, sizeof(label), "%s, end %ld", way->label, i);
		refused += status == 125;
		killed += status == 137;
		cr_expect(strstr(text, way->text) || (status == 125 && strstr(text, "does not run")),
			  "%s: %d, %.300s ... %s", label, status, text, strstr(text, "\"detail\""));
		settle(stage, label, &tally);
	}
	cr_expect(refused + killed == ends, "%ld were refused and %ld killed, of %ld", refused, killed, ends);
	stage_note("%ld ends: %ld executions were refused, %ld killed", ends, refused, killed);
	finish(stage);
}

/* ---- the operator's ceiling ---- */

static void put(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0, "%s: %s", path, strerror(errno));
}

/* What /etc/warder/ceiling.json says when an execution is asked for holds for it, whatever it was when the session was started. */
Test(sessions, ceiling_of_the_host_at_each_execution, .timeout = 300)
{
	static const char ceiling[] = "/etc/warder/ceiling.json";
	static const char *const restart[] = { "session", "restart", NAME, NULL };
	struct stage *stage;

	if (geteuid() != 0)
		cr_skip_test("an ordinary user has no /etc of their own");
	stage = begin();
	cr_assert(mkdir("/tmp/upper", 0755) == 0 && mkdir("/tmp/work", 0755) == 0);
	if (mount("overlay", "/etc", "overlay", 0, "lowerdir=/etc,upperdir=/tmp/upper,workdir=/tmp/work") < 0)
		cr_skip_test("no overlay can be mounted on /etc: %s", strerror(errno));
	mkdir("/etc/warder", 0755);
	unlink(ceiling);
	cr_expect_eq(ended(starts(stage, NULL)), 0, "without a ceiling");
	cr_expect_eq(ended(executes(stage, false, "exit 3", -1)), 3, "without a ceiling");
	put(ceiling, "{\"version\": 1, \"limits\": {\"wallTime\": \"1s\"}}");
	cr_expect_eq(ended(executes(stage, false, "exit 3", -1)), 125, "under one that grants less");
	cr_expect_eq(ended(call(stage, restart, false, NULL, -1)), 125,
		     "restarted under one that grants less");
	cr_expect_eq(ended(starts(stage, NULL)), 125, "found under one that grants less");
	put(ceiling, "{");
	cr_expect_eq(ended(executes(stage, false, "exit 3", -1)), 125, "under one that cannot be read");
	unlink(ceiling);
	cr_expect_eq(ended(executes(stage, false, "exit 3", -1)), 3, "it did not go on");
	cr_expect_eq(stops(stage), 0);
	cr_expect_eq(umount2("/etc", MNT_DETACH), 0);
	cr_expect_eq(system("rm -rf /tmp/upper /tmp/work"), 0);
	finish(stage);
}
