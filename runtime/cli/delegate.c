/*
 * delegate: `warder run --delegate`.
 *
 * systemd-run --scope asks the user's service manager for a scope, moves itself into it and executes the command: the same
 * process, with the same parent, streams, terminal and signals, so that its exit status needs nobody to pass it on. That
 * is how the second start knows itself: WARDER_DELEGATED has its process id. Another id means that systemd-run started a process
 * of its own, which would go on for ever; the variable is taken out of the environment, so no child of ours has it.
 * A digest of the words is beside it, because systemd-run may replace variables in them.
 *
 * What systemd-run needs is tried before, at last by a scope for a command that does nothing: once it is executed, its failure would
 * pass for one of the program. If it fails then all the same, a receipt says so, which the second start replaces.
 */
#include "runtime/cli/delegate.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/child.h"
#include "base/fd.h"
#include "base/sha256.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/report.h"

#define FLAG     "--delegate"
#define VARIABLE "WARDER_DELEGATED"
#define HELPER   "systemd-run"
#define INSTEAD  "leave --delegate out and run with --prefer limits"
#define WITHOUT  "or " INSTEAD

/* The mark of this process: its id, and a digest of its words. */
#define MARK_BYTES (24 + SHA256_HEX)

static void write_mark(const char *command, char *const *argv, char buf[MARK_BYTES])
{
	struct sha256 digest;
	char hex[SHA256_HEX];

	sha256_init(&digest);
	sha256_add_text(&digest, command);
	for (; *argv; argv++)
		sha256_add_text(&digest, *argv);
	sha256_hex(&digest, hex);
	snprintf(buf, MARK_BYTES, "%ld.%s", (long)getpid(), hex);
}

/* ---- what it takes ---- */

/* An absolute directory of PATH that has it; the caller's working directory does not count. */
static int find_helper(char buf[PATH_MAX], struct warder_error *err)
{
	const char *path = getenv("PATH");

	while (path && *path) {
		const size_t length = strcspn(path, ":");

		if (*path == '/' && snprintf(buf, PATH_MAX, "%.*s/" HELPER, (int)length, path) < PATH_MAX &&
		    access(buf, X_OK) == 0)
			return 0;
		path += length + (path[length] == ':');
	}
	return error_set(err, WARDER_ERROR_UNAVAILABLE, FLAG,
			 FLAG " needs " HELPER
			      ", which is in no directory of PATH; install systemd, " WITHOUT);
}

static int try_socket(const char *path, const char *what, const char *remedy, struct warder_error *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	owned_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, FLAG, errno, "a socket");
	if (strlen(path) < sizeof(address.sun_path)) {
		memcpy(address.sun_path, path, strlen(path) + 1);
		if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
			return 0;
	} else {
		errno = ENAMETOOLONG;
	}
	return error_set(err, WARDER_ERROR_UNAVAILABLE, FLAG, FLAG " needs %s: %.120s: %s; %s, " WITHOUT,
			 what, path, strerror(errno), remedy);
}

/* The path of an address such as "unix:path=/run/user/1000/bus"; false: it has none, and only a client can try it. */
static bool find_bus(const char *runtime, char buf[PATH_MAX])
{
	static const char prefix[] = "unix:path=";
	const char *address = getenv("DBUS_SESSION_BUS_ADDRESS");

	if (!address || !*address)
		return snprintf(buf, PATH_MAX, "%s/bus", runtime) < PATH_MAX;
	if (strncmp(address, prefix, sizeof(prefix) - 1) != 0)
		return false;
	address += sizeof(prefix) - 1;
	return snprintf(buf, PATH_MAX, "%.*s", (int)strcspn(address, ",;"), address) < PATH_MAX;
}

static int check_manager(struct warder_error *err)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char path[PATH_MAX];

	if (!runtime || *runtime != '/')
		return error_set(err, WARDER_ERROR_UNAVAILABLE, FLAG,
				 FLAG " needs your own service manager of systemd, which is found by "
				      "XDG_RUNTIME_DIR, and that is not set; log in as this user, " WITHOUT);
	if (snprintf(path, sizeof(path), "%s/systemd/private", runtime) >= (int)sizeof(path) ||
	    try_socket(path, "your own service manager of systemd",
		       "log in as this user, or have \"loginctl enable-linger\" start it", err) != 0)
		return -1;
	return find_bus(runtime, path)
		   ? try_socket(path, "a session bus", "start dbus.socket of your service manager", err)
		   : 0;
}

/* ---- the start ---- */

static const char *const first[] = { HELPER,      "--user", "--scope",      "--quiet",
				     "--collect", "-p",     "Delegate=yes", "--" };

#define FIRST_COUNT ARRAY_LENGTH(first)
#define TRIAL_MS    30000 /* systemd-run itself waits 25 s for an answer */

static _Noreturn void execute_trial(const char *helper, const char *self, int said_fd)
{
	const char *words[FIRST_COUNT + 3] = { NULL };
	const int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	memcpy(words, first, sizeof(first));
	words[FIRST_COUNT] = self;
	words[FIRST_COUNT + 1] = "--version";
	if (dup2(null_fd, STDIN_FILENO) >= 0 && dup2(null_fd, STDOUT_FILENO) >= 0 &&
	    dup2(said_fd, STDERR_FILENO) >= 0)
		execv(helper, (char *const *)(uintptr_t)words);
	_exit(125);
}

/* The first line of what it said, if anything. */
static void read_said(int fd, char *ret, size_t size)
{
	const ssize_t n = pread(fd, ret, size - 1, 0);

	ret[n > 0 ? n : 0] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
}

/* Whether systemd-run can make a scope at all. */
static int try_scope(const char *helper, const char *self, struct warder_error *err)
{
	owned_fd int said_fd = memfd_create("systemd-run", MFD_CLOEXEC);
	char said[200] = "";
	enum child_end end;
	int status = 0;
	pid_t pid;

	if (said_fd < 0 || (pid = fork()) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, FLAG, errno, FLAG);
	if (pid == 0)
		execute_trial(helper, self, said_fd);
	end = child_wait(pid, TRIAL_MS, &status);
	if (end == CHILD_ENDED && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (end == CHILD_LIVES) {
		kill(pid, SIGKILL);
		child_wait(pid, CHILD_PATIENCE_MS, NULL);
		return error_set(err, WARDER_ERROR_UNAVAILABLE, FLAG,
				 FLAG ": " HELPER " does not answer; " INSTEAD);
	}
	read_said(said_fd, said, sizeof(said));
	return error_set(err, WARDER_ERROR_UNAVAILABLE, FLAG, FLAG ": " HELPER " failed%s%s; " INSTEAD,
			 *said ? ": " : "", said);
}

static int find_self(char buf[PATH_MAX], struct warder_error *err)
{
	const ssize_t length = readlink("/proc/self/exe", buf, PATH_MAX - 1);

	if (length <= 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, FLAG, errno, "/proc/self/exe");
	buf[length] = '\0';
	return access(buf, X_OK) == 0
		   ? 0
		   : error_set_errno(err, WARDER_ERROR_UNAVAILABLE, FLAG, errno, "%.200s", buf);
}

/* In the place of an older receipt, until the second start has its own. */
static int note_start(const struct args *args, struct warder_error *err)
{
	struct warder_error note = { 0 };
	struct report report;

	if (report_open(args, &report, err) != 0)
		return -1;
	error_set(&note, WARDER_ERROR_UNAVAILABLE, FLAG, FLAG ": " HELPER " did not start the command");
	report_refusal(&report, &note);
	report_done(&report);
	return 0;
}

static int become(const struct args *args, const char *helper, const char *command, char **argv,
		  struct warder_error *err)
{
	char self[PATH_MAX], mark[MARK_BYTES];
	size_t count = 0;
	const char **words;

	if (find_self(self, err) != 0 || try_scope(helper, self, err) != 0 || note_start(args, err) != 0)
		return -1;
	while (argv[count])
		count++;
	words = calloc(FIRST_COUNT + count + 3, sizeof(*words));
	write_mark(command, argv, mark);
	if (!words || setenv(VARIABLE, mark, 1) != 0) {
		free(words);
		return error_no_memory(err, FLAG);
	}
	memcpy(words, first, sizeof(first));
	words[FIRST_COUNT] = self;
	words[FIRST_COUNT + 1] = command;
	for (size_t i = 0; i < count; i++)
		words[FIRST_COUNT + 2 + i] = argv[i];
	execv(helper, (char *const *)(uintptr_t)words);
	free(words);
	unsetenv(VARIABLE);
	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, FLAG, errno, "cannot execute %.200s", helper);
}

static int begin(const struct args *args, const char *command, char **argv, struct warder_error *err)
{
	const char *found = getenv(VARIABLE);
	char helper[PATH_MAX], mark[MARK_BYTES];

	if (geteuid() == 0)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, FLAG,
				 FLAG " is for ordinary users; root needs no delegation, so leave it out");
	if (!found)
		return find_helper(helper, err) == 0 && check_manager(err) == 0
			   ? become(args, helper, command, argv, err)
			   : -1;
	write_mark(command, argv, mark);
	if (strcmp(found, mark) == 0)
		return unsetenv(VARIABLE);
	return error_set(err, WARDER_ERROR_UNAVAILABLE, FLAG,
			 strncmp(found, mark, strcspn(mark, ".") + 1) == 0
			     ? FLAG ": " HELPER " changed the words of the command; " INSTEAD
			     : FLAG ": " VARIABLE " is set by another process; " HELPER
				    " has to execute the command itself. Unset it, " WITHOUT);
}

int delegate_begin(const struct args *args, const char *command, char **argv)
{
	struct warder_error err = { 0 }, ignored;
	struct report report;
	int status;

	if (!args->delegate || begin(args, command, argv, &err) == 0)
		return 0;
	if (report_open(args, &report, &ignored) != 0)
		return command_refuse(args, &err, EXIT_REFUSED);
	status = report_refuse(&report, &err, EXIT_REFUSED);
	report_done(&report);
	return status;
}
