/*
 * The front gets a jail like any untrusted program: no network of its own (it accepts connections from a socket that it is given), no files
 * but the host's programs and libraries, 64 MiB unless the settings say otherwise, and as root a user of its own.
 */
#include "host/launcher/front.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/programs.h"
#include "runtime/library/library.h"
#include "runtime/library/preparation.h"

#define PROGRAM "warder-front"
#define INSIDE  "/opt/" PROGRAM

/* What the strict preset does not already say. */
static const char *const fields[][2] = {
	{ "limits.wallTime", "unlimited" },
	{ "limits.cpuTime", "unlimited" },
	{ "limits.pids", "8" },
	{ "limits.openFiles", "4096" },
	{ "filesystem.tmp", "1MiB" },
	{ "syscalls.profile", "default" },
};

static int make_policy(uint64_t memory_bytes, struct warder_policy **ret, struct warder_error *err)
{
	char path[PATH_MAX];
	char row[PATH_MAX + 32];
	char memory[32];
	struct warder_policy *policy = NULL;
	int set = 0;

	if (programs_find(PROGRAM, "--listen", path, err) != 0)
		return -1;
	if (warder_policy_preset("strict", &policy, err) != 0)
		return -1;
	snprintf(row, sizeof(row), "%s:" INSIDE, path);
	snprintf(memory, sizeof(memory), "%" PRIu64 "B", memory_bytes);
	for (size_t i = 0; set == 0 && i < ARRAY_LENGTH(fields); i++)
		set = warder_policy_set(policy, fields[i][0], fields[i][1], err);
	if (set == 0)
		set = warder_policy_set(policy, "limits.memory", memory, err);
	if (set == 0)
		set = warder_policy_set(policy, "filesystem.paths.readOnly", row, err);
	/* An ordinary user may have no cgroup of their own. */
	if (set == 0 && geteuid() != 0)
		set = warder_policy_require(policy, "limits", 0, err);
	if (set != 0) {
		warder_policy_free(policy);
		return -1;
	}
	*ret = policy;
	return 0;
}

static int prepare(struct front *front, struct warder_error *err)
{
	struct warder_policy *policy = NULL;
	int prepared;

	if (front->tmpl)
		return 0;
	if (make_policy(front->memory_bytes, &policy, err) < 0)
		return -1;
	prepared = warder_prepare(policy, NULL, &front->tmpl, err);
	warder_policy_free(policy);
	return prepared;
}

static int launch(struct front *front, int theirs, struct warder_error *err)
{
	static char program[] = INSIDE;
	static char *const argv[] = { program, NULL };
	static const int outputs[] = { STDERR_FILENO, STDERR_FILENO };
	const struct library_launch how = {
		.command = { .argv = argv, .stdin_fd = -1, .input_fd = theirs, .output_fds = outputs },
	};

	return library_launch(front->tmpl, &how, &front->run, err);
}

int front_start(struct front *front, struct warder_error *err)
{
	int pair[2];
	owned_fd int ours = -1;
	owned_fd int theirs = -1;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "cannot make a socket");
	ours = pair[0];
	theirs = pair[1];
	fcntl(ours, F_SETFL, O_NONBLOCK);
	if (prepare(front, err) < 0 ||
	    (fd_send(ours, &front->welcome, sizeof(front->welcome),
		     (const int[]){ front->listen_fd, front->certificate_fd },
		     front->certificate_fd >= 0 ? 2 : 1, 0) < 0 &&
	     error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "cannot write to the front")) ||
	    launch(front, theirs, err) < 0)
		return error_context(err, "cannot start the front");
	front->run_fd = warder_run_fd(front->run, err);
	if (front->run_fd < 0) {
		warder_run_free(front->run);
		front->run = NULL;
		return -1;
	}
	front->fd = fd_take(&ours);
	front->ready = false;
	front->generation++;
	return 0;
}

bool front_look(struct front *front, char **ret_end)
{
	struct warder_result *result = NULL;
	struct warder_error err = { 0 };
	const int over = warder_run_dispatch(front->run, &result, &err);

	*ret_end = NULL;
	if (over == 0)
		return false;
	if (over < 0)
		*ret_end = strdup(err.text);
	else if (asprintf(ret_end, "the front ended: %s, exit code %d, signal %d",
			  warder_result_cause(result), warder_result_exit_code(result),
			  warder_result_signal(result)) < 0)
		*ret_end = NULL;
	warder_result_free(result);
	warder_run_free(front->run);
	front->run = NULL;
	front->run_fd = -1;
	front->ended_us = clock_us();
	fd_done(&front->fd);
	return true;
}

void front_stop(struct front *front)
{
	warder_run_free(front->run);
	warder_template_free(front->tmpl);
	front->run = NULL;
	front->tmpl = NULL;
	fd_done(&front->fd);
	fd_done(&front->listen_fd);
	fd_done(&front->certificate_fd);
}
