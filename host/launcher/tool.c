#include "host/launcher/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/fd.h"
#include "base/file.h"

#define WORDS_MAX 12
#define LOOK_MS   100
#define CANCEL_MS 12000 /* after SIGTERM, until SIGKILL: `warder mcp` takes up to 9 s to end its program */
#define TEXT_MAX  ((size_t)16 << 20)
#define PREFIX    "warder: "

static atomic_bool ending;

void tool_end_all(void)
{
	atomic_store(&ending, true);
}

bool tool_ends(void)
{
	return atomic_load(&ending);
}

/* Descriptors above the ones that the tool gets, so that none of them is closed by the others' places. */
static int make_file(const char *name)
{
	owned_fd int made = memfd_create(name, MFD_CLOEXEC);

	return made < 0 ? -1 : fcntl(made, F_DUPFD_CLOEXEC, TOOL_FD + 1);
}

static int spawn(const struct tool *tool, const char *const *argv, int out_fd, int complaint_fd, pid_t *ret)
{
	const char *words[WORDS_MAX + 2] = { "warder" };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int error;

	for (size_t i = 0; i < WORDS_MAX && argv[i]; i++)
		words[i + 1] = argv[i];
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setpgroup(&attributes, 0); /* a ctrl-c of the terminal is for the launcher */
	posix_spawnattr_setflags(&attributes,
				 POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
	posix_spawn_file_actions_init(&actions);
	if (tool->input_fd > 0)
		posix_spawn_file_actions_adddup2(&actions, tool->input_fd, STDIN_FILENO);
	else
		posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, out_fd, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, complaint_fd, STDERR_FILENO);
	posix_spawn_file_actions_adddup2(&actions, tool->hold_fd, TOOL_FD);
	error =
	    posix_spawn(ret, tool->program, &actions, &attributes, (char *const *)(uintptr_t)words, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return error;
}

static char *read_text(int fd, size_t *ret_len, struct warder_error *err)
{
	char *text = NULL;

	return lseek(fd, 0, SEEK_SET) == 0 &&
		       file_read_open(fd, "the tool's output", TEXT_MAX, &text, ret_len, err) == 0
		   ? text
		   : NULL;
}

/* Some commands write an error as it is; the others have a last line for people. */
static int take_failure(const char *text, size_t len, char *complaint, const char *word,
			struct warder_error *err)
{
	char *line;

	if (text && len == sizeof(*err)) {
		memcpy(err, text, sizeof(*err));
		err->text[sizeof(err->text) - 1] = err->field[sizeof(err->field) - 1] =
		    err->step[sizeof(err->step) - 1] = '\0';
		return -1;
	}
	for (size_t end = complaint ? strlen(complaint) : 0; end && complaint[end - 1] == '\n';)
		complaint[--end] = '\0';
	line = complaint ? strrchr(complaint, '\n') : NULL;
	line = line ? line + 1 : complaint;
	if (line && strncmp(line, PREFIX, strlen(PREFIX)) == 0)
		line += strlen(PREFIX);
	return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL, "\"warder %s\" failed: %.300s", word,
			 line && *line ? line : "it was killed");
}

/* Wait for its end. One that is cancelled gets a signal, and time to end what it has begun. */
static enum child_end await_end(const struct tool *tool, pid_t pid, int *ret_status)
{
	unsigned int asked_ms = 0;
	enum child_end end;

	while ((end = child_wait(pid, LOOK_MS, ret_status)) == CHILD_LIVES) {
		if (tool_ends() || asked_ms > CANCEL_MS) {
			kill(-pid, SIGKILL); /* the process group that it leads */
			return child_wait(pid, CHILD_PATIENCE_MS, ret_status);
		}
		if (!tool->cancelled || !atomic_load(tool->cancelled))
			continue;
		if (!asked_ms)
			kill(pid, SIGTERM);
		asked_ms += LOOK_MS;
	}
	return end;
}

int tool_run(const struct tool *tool, const char *const *argv, char **ret_text, struct warder_error *err)
{
	owned_fd int memory_fd = tool->output_fd > 0 ? -1 : make_file("warder-out");
	const int out_fd = tool->output_fd > 0 ? tool->output_fd : memory_fd;
	owned_fd int complaint_fd = make_file("warder-complaint");
	char *text = NULL, *complaint = NULL;
	struct warder_error ignored;
	size_t len = 0, complaint_len;
	int status = 0, error;
	enum child_end end;
	bool failed;
	pid_t pid;

	if (tool_ends())
		return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL, "the host is being stopped");
	if (out_fd < 0 || complaint_fd < 0)
		return error_no_memory(err, NULL);
	error = spawn(tool, argv, out_fd, complaint_fd, &pid);
	if (error)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, error, "cannot execute %.200s",
				       tool->program);
	end = await_end(tool, pid, &status);
	failed = end != CHILD_ENDED || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
	if (!failed && tool->output_fd > 0)
		return 0;
	text = read_text(out_fd, &len, err);
	if (failed) {
		complaint = read_text(complaint_fd, &complaint_len, &ignored);
		take_failure(text, len, complaint, argv[0], err);
		free(complaint);
		free(text);
		return -1;
	}
	if (!text)
		return -1;
	if (ret_text)
		*ret_text = text;
	else
		free(text);
	return 0;
}
