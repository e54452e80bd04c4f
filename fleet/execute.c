#include "fleet/execute.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/child.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/text.h"
#include "host/input.h"

#define LOOK_MS    100
#define END_MS     12000 /* after SIGTERM, until SIGKILL */
#define RESULT_MAX ((size_t)64 << 20)
#define POLICY_FD  3

/* A memory file with these bytes, read from its beginning. Its number is above POLICY_FD, so no dup2() of the child replaces it. */
static int make_file(const char *bytes, size_t len)
{
	owned_fd int made = memfd_create("warder-fleet", MFD_CLOEXEC);
	owned_fd int fd = made < 0 ? -1 : fcntl(made, F_DUPFD_CLOEXEC, POLICY_FD + 1);

	if (fd < 0 || file_write_all(fd, bytes, len) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return -1;
	return fd_take(&fd);
}

/* ---- the child ---- */

struct child {
	const char *program;
	char **argv;
	int input_fd, output_fd, policy_fd, null_fd;
	pid_t parent;
};

/* Between fork and exec, in a copy of a process with threads. */
static _Noreturn void become(const struct child *child)
{
	const struct sigaction standard = { .sa_handler = SIG_DFL };
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	sigaction(SIGPIPE, &standard, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* A ctrl-c of the terminal is for the worker, which then ends it. */
	setpgid(0, 0);
	if (getppid() == child->parent && dup2(child->input_fd, STDIN_FILENO) >= 0 &&
	    dup2(child->output_fd, STDOUT_FILENO) >= 0 && dup2(child->null_fd, STDERR_FILENO) >= 0 &&
	    dup2(child->policy_fd, POLICY_FD) >= 0) {
		syscall(SYS_close_range, POLICY_FD + 1, ~0U, 0);
		execve(child->program, child->argv, environ);
	}
	_exit(125);
}

/* The words of `warder run`, and behind them those of the request. Heap; the texts are not. */
static char **make_argv(char **program)
{
	static const char *const words[] = { "warder",       "run",      "--json",          "--no-config",
					     "--no-service", "--policy", "/proc/self/fd/3", "--" };
	const size_t count = text_count(program);
	char **argv = calloc(ARRAY_LENGTH(words) + count + 1, sizeof(*argv));

	for (size_t i = 0; argv && i < ARRAY_LENGTH(words); i++)
		argv[i] = (char *)(uintptr_t)words[i];
	for (size_t i = 0; argv && i < count; i++)
		argv[ARRAY_LENGTH(words) + i] = program[i];
	return argv;
}

/* As execute(). */
static int open_files(const struct execution *execution, struct child *ret, struct warder_error *err)
{
	const char *input = NULL;
	char *bytes = NULL;
	size_t len = 0;

	if (input_take(execution->request, &input, &len, &bytes, err) < 0)
		return -1;
	ret->input_fd = make_file(input ? input : "", len);
	ret->output_fd = make_file("", 0);
	ret->policy_fd = make_file(execution->policy, strlen(execution->policy));
	ret->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	free(bytes);
	if (ret->input_fd >= 0 && ret->output_fd >= 0 && ret->policy_fd >= 0 && ret->null_fd >= 0)
		return 0;
	error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "cannot make the files of a request");
	return 1;
}

static void close_files(struct child *child)
{
	fd_done(&child->input_fd);
	fd_done(&child->output_fd);
	fd_done(&child->policy_fd);
	fd_done(&child->null_fd);
}

/* ---- its end ---- */

static enum child_end await(const struct execution *execution, pid_t pid, int *ret_status)
{
	unsigned int since_ms = 0, ending_ms = 0;
	enum child_end end;

	while ((end = child_wait(pid, LOOK_MS, ret_status)) == CHILD_LIVES) {
		since_ms += LOOK_MS;
		if (since_ms >= execution->beat_ms) {
			execution->beat(execution->context);
			since_ms = 0;
		}
		if (!ending_ms && !execution->ends())
			continue;
		if (!ending_ms)
			kill(pid, SIGTERM);
		ending_ms += LOOK_MS;
		if (ending_ms > END_MS) {
			kill(pid, SIGKILL);
			return child_wait(pid, CHILD_PATIENCE_MS, ret_status);
		}
	}
	return end;
}

/* Whether the result says that this host cannot run the program, which another host may be able to. Then *err has the reason. */
static bool is_unavailable(const struct json_value *result, struct warder_error *err)
{
	const struct json_value *error = json_member(result, "error");

	if (strcmp(json_member_text(result, "status", ""), "rejected") != 0 || !error ||
	    strcmp(json_member_text(error, "kind", ""), error_kind_name(WARDER_ERROR_UNAVAILABLE)) != 0)
		return false;
	error_set(err, WARDER_ERROR_UNAVAILABLE, NULL, "%s", json_member_text(error, "message", "no reason"));
	return true;
}

/* What it printed. Returns 0; 1 with *err: this host cannot run the program; -1: it is not one JSON object. */
static int take_result(int fd, char **ret_json, struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = RESULT_MAX, .max_depth = 64 };
	struct json_value *document = NULL;
	char *text = NULL;
	size_t len = 0;
	int got =
	    lseek(fd, 0, SEEK_SET) < 0 ? -1 : file_read_open(fd, "result", RESULT_MAX, &text, &len, err);

	if (got == 0)
		got = json_parse(text, len, "result", &limits, &document, err);
	if (got == 0 && document->type != JSON_OBJECT)
		got = -1;
	if (got == 0 && is_unavailable(document, err))
		got = 1;
	json_free(document);
	if (got != 0) {
		free(text);
		return got;
	}
	text[strcspn(text, "\n")] = '\0';
	*ret_json = text;
	return 0;
}

static int run(const struct execution *execution, struct child *child, char **ret_json,
	       struct warder_error *err)
{
	enum child_end end;
	int status = 0, taken;
	pid_t pid;

	child->parent = getpid();
	pid = fork();
	if (pid < 0) {
		error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "cannot start \"warder run\"");
		return 1;
	}
	if (pid == 0)
		become(child);
	end = await(execution, pid, &status);
	if (execution->ends()) { /* its result may say that the program was cancelled */
		error_set(err, WARDER_ERROR_UNAVAILABLE, NULL, "the worker ended");
		return 1;
	}
	taken = end == CHILD_ENDED && WIFEXITED(status) ? take_result(child->output_fd, ret_json, err) : -1;
	if (taken >= 0)
		return taken;
	if (end == CHILD_ENDED && WIFSIGNALED(status))
		error_set(err, WARDER_ERROR_UNAVAILABLE, NULL, "\"warder run\" was killed by signal %d",
			  WTERMSIG(status));
	else
		error_set(err, WARDER_ERROR_UNAVAILABLE, NULL, "\"warder run\" ended without a result");
	return 1;
}

int execute(const struct execution *execution, char **ret_json, struct warder_error *err)
{
	struct child child = {
		.program = execution->program, .input_fd = -1, .output_fd = -1, .policy_fd = -1, .null_fd = -1
	};
	char **program = NULL;
	int status = input_take_argv(execution->request, &program, err);

	if (status == 0)
		child.argv = make_argv(program);
	if (status == 0 && !child.argv) {
		error_no_memory(err, NULL);
		status = 1;
	}
	if (status == 0)
		status = open_files(execution, &child, err);
	if (status == 0)
		status = run(execution, &child, ret_json, err);
	close_files(&child);
	free(child.argv);
	free(program);
	return status;
}
