/*
 * A parked jail whose program was started in advance, and waits for its work.
 *
 *   host                                          the program
 *   ------------------------------------------    ---------------------------------------------------
 *   warm        as a hand-out, but init's time
 *               does not begin             --->   loads what it will need
 *               the list of files          <---   on descriptor 3: a path a line, then an empty line
 *   recheck     as in park.c; a byte        --->   prepares itself, if it reported "prepares"
 *   feed        streams, time; the work    --->   reads descriptor 4 until its end, and runs what it read
 *
 * Before the feed no untrusted code has run: the caller chooses the program, and only its work is untrusted. The program's list of files is
 * used in addition to the kernel's (/proc/<pid>/maps). A program that has slept is slow at first: its code and data have left the
 * processor's caches. So it can run some of its code beside the recheck, as soon as the host has seen that it waits. If a file of either list was replaced or changed, the jail is stale. The files are
 * looked up inside the jail's root, whose mounts show the present content of the host's directories.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/file.h"
#include "jail/quiet.h"
#include "jail/run.h"

#define READY_US   UINT64_C(30000000)
#define LIST_BYTES ((size_t)512 << 10)
#define MAPS_BYTES ((size_t)1 << 20)

/* "START-END PERM OFFSET DEV INODE   PATH" */
static int add_maps(struct jail_run *run, int root_fd, struct warder_error *err)
{
	owned_fd int fd = openat(run->proc_fd, "maps", O_RDONLY | O_CLOEXEC);
	char *text = NULL;
	int ret = 0;
	size_t len;

	if (fd < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "program", errno,
				       "the maps of the parked program cannot be read");
	if (file_read_open(fd, "maps", MAPS_BYTES, &text, &len, err) < 0)
		return -1;
	for (char *line = text; line && *line && ret == 0;) {
		char *end = strchr(line, '\n');
		char *path = memchr(line, '/', end ? (size_t)(end - line) : strlen(line));

		if (end && path)
			ret = loaded_add_mapped(&run->warm.loaded, root_fd, path, (size_t)(end - path), err);
		line = end ? end + 1 : NULL;
	}
	free(text);
	return ret;
}

/* ---- starting ---- */

static int not_ready(const struct jail_run *run, const char *why, struct warder_error *err)
{
	char said[200] = "";
	ssize_t len = read(run->output_pipe[JAIL_STDERR][RUN_READ], said, sizeof(said) - 1);

	for (ssize_t i = 0; i < len; i++)
		if (said[i] == '\n')
			said[i] = ' ';
	return error_set(err, WARDER_ERROR_EXECUTION_FAILED, "program", "%s: the program %s%s%.200s",
			 run->command.argv[0], why, len > 0 ? "; it wrote: " : "", len > 0 ? said : "");
}

/* Up to the empty line: a text whose lines all have their ends. */
static int read_list(struct jail_run *run, char *text, struct warder_error *err)
{
	struct pollfd fd = { .fd = run->output_pipe[JAIL_RESULT][RUN_READ], .events = POLLIN };
	const uint64_t until = clock_us() + READY_US;
	size_t len = 0;

	for (;;) {
		const uint64_t now = clock_us();
		ssize_t n;

		if (now >= until)
			return not_ready(run, "was not ready within 30 s", err);
		if (poll(&fd, 1, (int)((until - now) / 1000) + 1) <= 0)
			continue;
		n = read(fd.fd, text + len, LIST_BYTES - len);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n <= 0)
			return not_ready(run, "ended before it was ready", err);
		if (memchr(text + len, '\0', (size_t)n))
			return not_ready(run, "wrote a NUL byte before it was ready", err);
		len += (size_t)n;
		text[len] = '\0';
		if (text[0] == '\n' || (len > 1 && memcmp(text + len - 2, "\n\n", 2) == 0))
			return 0;
		if (len == LIST_BYTES)
			return not_ready(run, "wrote more than 512 KiB before it was ready", err);
	}
}

static int await_ready(struct jail_run *run, struct warder_error *err)
{
	owned_fd int root_fd = -1;
	char *text = malloc(LIST_BYTES + 1);
	struct watch *watch;
	int ret;

	if (!text)
		return error_no_memory(err, NULL);
	ret = read_list(run, text, err);
	if (ret == 0) {
		root_fd = openat(run->proc_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (root_fd < 0)
			ret = error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "program", errno,
					      "the root of the parked program cannot be opened");
	}
	for (char *line = text; ret == 0 && *line && *line != '\n';) {
		char *end = strchr(line, '\n');

		if (*line == '/')
			ret = loaded_add(&run->warm.loaded, root_fd, line, (size_t)(end - line), err);
		else if (strncmp(line, "prepares\n", (size_t)(end - line) + 1) == 0)
			run->warm.prepares = true;
		line = end + 1;
	}
	free(text);
	if (ret < 0 || add_maps(run, root_fd, err) < 0)
		return -1;
	watch = template_watch(run->tmpl);
	if (watch)
		loaded_watch(&run->warm.loaded, root_fd, watch);
	return 0;
}

bool jail_warm_is_stale(struct jail_run *run)
{
	owned_fd int root_fd = -1;

	if (loaded_are_unchanged(&run->warm.loaded))
		return false;
	root_fd = openat(run->proc_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return loaded_have_changed(&run->warm.loaded, root_fd);
}

/* The number behind a name of smaps_rollup, in bytes. */
static uint64_t amount_of(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, 10) * 1024 : 0;
}

uint64_t jail_warm_bytes(const struct jail_run *run)
{
	owned_fd int fd = openat(run->proc_fd, "smaps_rollup", O_RDONLY | O_CLOEXEC);
	char text[2048];
	const ssize_t len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (len <= 0)
		return 0;
	text[len] = '\0';
	return amount_of(text, "Private_Dirty:") + amount_of(text, "Private_Clean:");
}

int run_warm(struct jail_run *run, const struct jail_command *command, struct warder_error *err)
{
	if (run_check_command(command, err) < 0)
		return -1;
	run->warm.is = true;
	run->command = *command;
	if (run_open_streams(run, err) < 0)
		return -1;
	if (run_start_program(run, err) < 0)
		return -1;
	run->command.input_fd = 0;
	run->command.calls_fd = 0;
	if (await_ready(run, err) < 0)
		return -1;
	run->parked_us = clock_us();
	return 0;
}

int jail_warm(struct jail_run *run, char *const *argv, bool merged, struct warder_error *err)
{
	struct jail_command command = { .argv = argv,
					.stdin_data = "",
					.stdin_fd = -1,
					.merged = merged,
					.result_bytes = RUN_WARM_RESULT };
	owned_fd int work_fd = -1;
	int work[2];

	if (pipe2(work, O_CLOEXEC) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "no pipe for the work");
	work_fd = work[RUN_READ];
	run->warm.work_fd = work[RUN_WRITE];
	command.input_fd = work_fd;
	return run_warm(run, &command, err);
}

/* ---- feeding ---- */

static int check_command(const struct jail_command *command, struct warder_error *err)
{
	const char *what = command->terminal_fd > 0 ? "terminal_fd"
			   : command->progress      ? "progress"
			   : command->calls_fd > 0  ? "functions"
						    : NULL;

	return !what ? 0
		     : error_set(err, WARDER_ERROR_INVALID_REQUEST, what,
				 "%s cannot be given to a program that has started already; use "
				 "warder_pool_launch() or warder_launch()",
				 what);
}

static int open_input(struct jail_run *run, struct warder_error *err)
{
	int opened;

	input_done(&run->input);
	opened = run_open_input(run);
	if (opened > 0)
		fd_done(&run->stdin_pipe[RUN_WRITE]);
	return opened >= 0 ? 0
			   : error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
					     "cannot make the program's input");
}

/* A write of no bytes succeeds on a pipe that nobody reads. */
static bool has_no_reader(int pipe_fd)
{
	struct pollfd fd = { .fd = pipe_fd };

	return poll(&fd, 1, 0) == 1 && (fd.revents & POLLERR);
}

/* All of it at once: nobody would write the rest. The byte before it may still be there, in a page of its own. If nobody has the other end
 * when the first byte is written, or when the end of an empty work is about to be shown, the program has read nothing. */
static int send_work(struct jail_run *run, const char *work, size_t len, struct warder_error *err)
{
	const size_t page = run->warm.prepared ? (size_t)sysconf(_SC_PAGESIZE) : 0;
	const size_t need = len > PIPE_BUF ? len + page : len;
	const int room = len > PIPE_BUF ? fcntl(run->warm.work_fd, F_GETPIPE_SZ) : PIPE_BUF;
	struct quiet quiet;
	bool wrote, unread;
	ssize_t first;
	size_t at;

	if (need > (size_t)room && fcntl(run->warm.work_fd, F_SETPIPE_SZ, (int)need) < (int)need)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "code",
				 "the code has %zu bytes, and the kernel gives its pipe no more than %d "
				 "(/proc/sys/fs/pipe-max-size); use warder_build()",
				 len, room);
	if (run_begin_backstop(run, err) < 0)
		return -1;
	if (!len && has_no_reader(run->warm.work_fd))
		return run_died_unused(run, "before it got its work", err);
	quiet_begin(&quiet);
	first = write(run->warm.work_fd, work, len);
	unread = first < 0 && errno == EPIPE;
	at = first > 0 ? (size_t)first : 0;
	wrote = !unread && file_write_all(run->warm.work_fd, work + at, len - at) == 0;
	quiet_end(&quiet, !wrote && errno == EPIPE);
	if (!wrote)
		return unread ? run_died_unused(run, "before it got its work", err)
			      : run_died("before it got its work", err);
	fd_done(&run->warm.work_fd);
	return 0;
}

int jail_feed(struct jail_run *run, const struct jail_command *command, const char *work, size_t len,
	      struct warder_error *err)
{
	char *const *argv = run->command.argv;
	const bool merged = run->merged; /* the program has the pipes that it was started with */

	if (len > INT32_MAX)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "code", "the code has more than 2 GiB");
	if (check_command(command, err) < 0)
		return -1;
	run->start_us = clock_us();
	run->command = *command;
	run->command.argv = argv;
	run->command.result_bytes = command->result_bytes ? command->result_bytes : RUN_WARM_RESULT;
	if (command->given)
		run->given = *command->given;
	if (command->no_receipt)
		policy_receipt_drop(run->receipt);
	if (run_open_passes(run, err) < 0 || open_input(run, err) < 0 || run_put_files(run, err) < 0)
		return -1;
	run->merged = merged;
	readback_rest(run);
	run->go_us = clock_us();
	if (send_work(run, work, len, err) < 0)
		return -1;
	run_let_go_of_given(run);
	run->launch_us = clock_us() - run->start_us;
	return 0;
}
