/*
 * Processes are started with vfork, so that what is timed is the contestant's exec and not the harness's size, and are
 * timed from before the vfork until they are reaped. Their streams are a file of nobody else.
 */

#include "tests/bench/contestant.h"
#include "tests/bench/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHILDREN_MAX 256

uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int lost(struct contestant *contestant, const char *why)
{
	contestant->failure = why;
	return -1;
}

/* ---- the list ---- */

static const char *field(char **left)
{
	const char *text = strsep(left, "\t");

	return text && strcmp(text, "-") == 0 ? NULL : text;
}

static int parse_kind(const char *text, enum contestant_kind *ret, bool *ret_once)
{
	static const char *const kinds[] = { "process", "server", "absent" };

	for (int i = 0; text && i < 3; i++) {
		const size_t len = strlen(kinds[i]);

		if (strncmp(text, kinds[i], len) != 0 || (text[len] && strcmp(text + len, " once") != 0))
			continue;
		*ret = (enum contestant_kind)i;
		*ret_once = text[len];
		return 0;
	}
	return -1;
}

int contestant_parse(char *line, struct contestant *ret)
{
	char *left = line;
	char *target;
	const char *space;
	int count = 0;

	memset(ret, 0, sizeof(*ret));
	ret->name = field(&left);
	if (parse_kind(field(&left), &ret->kind, &ret->once) < 0)
		return -1;
	ret->floor = field(&left);
	target = (char *)field(&left);
	if (target) {
		ret->target_name = strsep(&target, " ");
		ret->target = target ? atof(target) : 0;
	}
	space = field(&left);
	ret->space_fd = space ? open(space, O_RDONLY | O_CLOEXEC) : -1;
	ret->note = field(&left);
	while (left && count < WORDS_MAX - 1)
		ret->words[count++] = strsep(&left, "\t");
	if (ret->kind == CONTESTANT_ABSENT)
		ret->failure = "not installed";
	else if (space && ret->space_fd < 0)
		ret->failure = "its mount namespace cannot be opened";
	return ret->name && (count || ret->kind == CONTESTANT_ABSENT) ? 0 : -1;
}

/* ---- processes ---- */

/* The three programs that a contestant is asked to launch; the names are what "{purpose}" becomes. */
static const char *const check_program[] = { "/usr/bin/sh", "-c", "exit 7", NULL };
static const char *const hold_program[] = { "/usr/bin/sleep", "0.3", NULL };

static const char *purpose_of(char *const *program)
{
	const char *const *which = (const char *const *)program;

	return which == check_program ? "check" : which == hold_program ? "hold" : "run";
}

#define TEXTS     4
#define TEXT_SIZE 512

struct command {
	char *argv[2 * WORDS_MAX];
	char text[TEXTS][TEXT_SIZE]; /* words that were made for this launch */
	int texts;
};

/* A word with one placeholder replaced. */
static char *filled(struct command *command, const char *word, const char *placeholder, const char *by)
{
	const char *at = strstr(word, placeholder);
	char *text = command->text[command->texts];

	if (!at || command->texts == TEXTS)
		return NULL;
	command->texts++;
	snprintf(text, TEXT_SIZE, "%.*s%s%s", (int)(at - word), word, by, at + strlen(placeholder));
	return text;
}

static char *expand_word(struct command *command, char *word, char *const *program)
{
	static unsigned int launches;
	char number[16];
	char *text = filled(command, word, "{purpose}", purpose_of(program));

	if (!text && strstr(word, "{id}")) {
		snprintf(number, sizeof(number), "%u", launches++);
		text = filled(command, word, "{id}", number);
	}
	return text ? text : word;
}

static void expand(const struct contestant *contestant, char *const *program, struct command *ret)
{
	int count = 0;

	ret->texts = 0;
	for (int i = 0; contestant->words[i]; i++) {
		if (strcmp(contestant->words[i], "{}") != 0) {
			ret->argv[count++] = expand_word(ret, contestant->words[i], program);
			continue;
		}
		for (int j = 0; program[j] && j < WORDS_MAX; j++)
			ret->argv[count++] = program[j];
	}
	ret->argv[count] = NULL;
}

/* in_fd, out_fd: the new standard streams; standard error stays ours unless quiet. */
static pid_t start(const struct contestant *contestant, char *const *argv, int in_fd, int out_fd, bool quiet)
{
	pid_t pid = vfork();

	if (pid != 0)
		return pid;
	if (contestant->space_fd >= 0 && setns(contestant->space_fd, CLONE_NEWNS) < 0)
		_exit(124);
	dup2(in_fd, 0);
	dup2(out_fd, 1);
	if (quiet)
		dup2(out_fd, 2);
	execv(argv[0], argv);
	_exit(127);
}

static int null_fd(void)
{
	static int fd = -1;

	if (fd < 0)
		fd =
		    memfd_create("streams", MFD_CLOEXEC); /* some launchers change the owner of their input */
	return fd;
}

static pid_t start_quiet(const struct contestant *contestant, char *const *program)
{
	struct command command;

	expand(contestant, program, &command);
	return start(contestant, command.argv, null_fd(), null_fd(), true);
}

/* Servers, holders of namespaces, and orphans. */
static int list_children(pid_t ret[CHILDREN_MAX])
{
	FILE *file = fopen("/proc/thread-self/children", "re");
	int count = 0;

	while (file && count < CHILDREN_MAX && fscanf(file, "%d", &ret[count]) == 1)
		count++;
	if (file)
		fclose(file);
	return count;
}

static int exit_status(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static uint64_t cpu_ns(const struct rusage *usage)
{
	return ((uint64_t)usage->ru_utime.tv_sec + (uint64_t)usage->ru_stime.tv_sec) * 1000000000u +
	       ((uint64_t)usage->ru_utime.tv_usec + (uint64_t)usage->ru_stime.tv_usec) * 1000u;
}

static uint64_t reap(pid_t pid, int *ret_status)
{
	struct rusage usage = { 0 };
	pid_t ended;

	do
		ended = wait4(pid, ret_status, __WALL, &usage);
	while (ended < 0 && errno == EINTR);
	return ended > 0 ? cpu_ns(&usage) : 0;
}

/* Children of ours that were not there before: a launcher that has ended left them, as bubblewrap does with its init. */
static uint64_t reap_orphans(const pid_t *before, int count)
{
	pid_t now[CHILDREN_MAX];
	uint64_t ns = 0;
	int status;

	for (int n = list_children(now); n > 0; n--) {
		bool old = false;

		for (int i = 0; i < count; i++)
			old |= before[i] == now[n - 1];
		if (!old)
			ns += reap(now[n - 1], &status);
	}
	return ns;
}

static int run_process(const struct contestant *contestant, char *const *program, uint64_t *ret_ns,
		       uint64_t *ret_cpu_ns)
{
	pid_t before[CHILDREN_MAX];
	const int count = list_children(before);
	uint64_t begin;
	int status = 0;
	pid_t pid;

	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	begin = now_ns();
	pid = start_quiet(contestant, program);
	if (pid < 0)
		return -1;
	*ret_cpu_ns = reap(pid, &status);
	*ret_ns = now_ns() - begin;
	*ret_cpu_ns += reap_orphans(before, count);
	prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
	return exit_status(status);
}

/* ---- servers ---- */

static int start_server(struct contestant *contestant, char *const *program)
{
	struct command command;
	int request[2];
	int answer[2];

	if (pipe2(request, O_CLOEXEC) < 0 || pipe2(answer, O_CLOEXEC) < 0)
		return lost(contestant, "no pipe");
	expand(contestant, program, &command);
	contestant->server_pid = start(contestant, command.argv, request[0], answer[1], false);
	close(request[0]);
	close(answer[1]);
	contestant->request = fdopen(request[1], "w");
	contestant->answer = fdopen(answer[0], "r");
	return contestant->server_pid > 0 && contestant->request && contestant->answer
		   ? 0
		   : lost(contestant, "no server");
}

int contestant_start(struct contestant *contestant, char *const *program)
{
	if (contestant->failure)
		return -1;
	return contestant->kind == CONTESTANT_SERVER ? start_server(contestant, program) : 0;
}

void contestant_stop(struct contestant *contestant)
{
	if (!contestant->server_pid)
		return;
	fclose(contestant->request);
	fclose(contestant->answer);
	while (waitpid(contestant->server_pid, NULL, 0) < 0 && errno == EINTR)
		;
	contestant->server_pid = 0;
}

static int ask(struct contestant *contestant, const char *question, long *ret_first, uint64_t *ret_ns,
	       uint64_t *ret_cpu_ns)
{
	char line[96];
	unsigned long long ns = 0, cpu_ns = 0;

	if (fputs(question, contestant->request) < 0 || fflush(contestant->request) != 0 ||
	    !fgets(line, sizeof(line), contestant->answer) ||
	    sscanf(line, "%ld %llu %llu", ret_first, &ns, &cpu_ns) < 2)
		return -1;
	*ret_ns = ns;
	*ret_cpu_ns = cpu_ns;
	return 0;
}

/* ---- measuring ---- */

int contestant_run(struct contestant *contestant, char *const *program, uint64_t *ret_ns,
		   uint64_t *ret_cpu_ns)
{
	long status = -1;

	*ret_cpu_ns = 0;
	if (contestant->kind == CONTESTANT_PROCESS)
		status = run_process(contestant, program, ret_ns, ret_cpu_ns);
	else if (ask(contestant, "run\n", &status, ret_ns, ret_cpu_ns) < 0)
		return lost(contestant, "the server does not answer");
	return status == 0 ? 0 : lost(contestant, "the program's exit status was not 0");
}

int contestant_check(struct contestant *contestant)
{
	struct contestant copy = *contestant;
	uint64_t ns, cpu;
	long status = -1;

	if (contestant->kind == CONTESTANT_PROCESS) {
		status = run_process(contestant, (char *const *)check_program, &ns, &cpu);
	} else {
		if (start_server(&copy, (char *const *)check_program) < 0 ||
		    ask(&copy, "run\n", &status, &ns, &cpu) < 0)
			status = -1;
		contestant_stop(&copy);
	}
	return status == 7 ? 0
			   : lost(contestant, "it did not run the check program, or lost its exit status");
}

static int rate_processes(struct contestant *contestant, char *const *program, int width, int ms, double *ret)
{
	uint64_t begin = now_ns();
	uint64_t until = begin + (uint64_t)ms * 1000000u;
	uint64_t looked = begin;
	unsigned long count = 0;
	bool behind = false;
	int running = 0;
	int status;

	for (;;) {
		if (now_ns() - looked >= KERNEL_LOOK_MS * UINT64_C(1000000)) {
			behind = behind || kernel_is_behind();
			until = behind ? begin : until;
			looked = now_ns();
		}
		while (running < width && now_ns() < until && start_quiet(contestant, program) > 0)
			running++;
		if (!running)
			break;
		if (waitpid(-1, &status, 0) < 0)
			break;
		running--;
		count++;
		if (exit_status(status) != 0)
			until = 0;
	}
	*ret = behind ? 0 : (double)count * 1e9 / (double)(now_ns() - begin);
	return until ? 0 : lost(contestant, "it failed with several at a time");
}

int contestant_rate(struct contestant *contestant, char *const *program, int width, int ms, double *ret)
{
	char question[48];
	uint64_t ns = 1, cpu_ns;
	long count = 0;

	if (contestant->kind == CONTESTANT_PROCESS)
		return rate_processes(contestant, program, width, ms, ret);
	snprintf(question, sizeof(question), "rate %d %d\n", width, ms);
	if (ask(contestant, question, &count, &ns, &cpu_ns) < 0 || count == 0)
		return lost(contestant, "it failed with several at a time");
	*ret = count < 0 ? 0 : (double)count * 1e9 / (double)ns;
	return 0;
}

static long peak_kib(pid_t pid)
{
	char path[64];
	char line[256];
	long peak = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "VmHWM: %ld", &peak) == 1)
			break;
	if (file)
		fclose(file);
	return peak;
}

/* VmHWM and not wait4's ru_maxrss: that one also counts what the launcher's own children used. */
long contestant_memory_kib(struct contestant *contestant)
{
	const struct timespec settle = { .tv_nsec = 200000000 };
	long peak;
	pid_t pid;

	if (contestant->kind == CONTESTANT_SERVER)
		return peak_kib(contestant->server_pid);
	pid = start_quiet(contestant, (char *const *)hold_program);
	if (pid <= 0)
		return -1;
	nanosleep(&settle, NULL);
	peak = peak_kib(pid);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return peak;
}
