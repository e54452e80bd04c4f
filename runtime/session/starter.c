/*
 * starter: starts the keeper of a session, and waits until it reports that the session is there, or why not. A keeper whose session is
 * parked reports once more, when it has got its name.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/hang.h"
#include "runtime/session/session.h"

#define REPORT_LOOK_MS 100
#define GIVE_UP_US     UINT64_C(9000000) /* for a keeper that is to end what it has started */
#define HAND_OUT_US    UINT64_C(3000000) /* for one whose jail is there; a new session takes less */

/* A program that others could have put there is not executed. */
const char *starter_program(const char *program, struct warder_error *err)
{
	static const char *const installed[] = { "/usr/local/bin/warder", "/usr/bin/warder" };

	for (size_t i = 0; !program && i < ARRAY_LENGTH(installed); i++)
		if (access(installed[i], X_OK) == 0)
			return installed[i];
	if (!program)
		error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
			  "a session is kept by the tool warder, which is neither in /usr/local/bin nor in "
			  "/usr/bin: name it in `program`");
	return program;
}

static int spec_file(const struct session_spec *spec, struct warder_error *err)
{
	owned_fd int made = memfd_create("warder-session", MFD_CLOEXEC);
	owned_fd int fd = made < 0 ? -1 : fcntl(made, F_DUPFD_CLOEXEC, KEEPER_FD_SPEC + 1);
	struct json_writer w = { 0 };
	char *text;
	int ret = -1;

	json_begin_object(&w);
	session_spec_write(spec, &w);
	json_end_object(&w);
	text = json_take(&w);
	if (text && fd >= 0 && file_write_all(fd, text, strlen(text)) == 0 && lseek(fd, 0, SEEK_SET) == 0)
		ret = fd_take(&fd);
	free(text);
	return ret >= 0 ? ret
			: error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
					  "cannot write the session's specification");
}

static int spawn(const char *program, int report_fd, int spec_fd, struct warder_error *err)
{
	char name[] = "warder";
	char command[] = "session";
	char word[] = "keeper";
	char *argv[] = { name, command, word, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	sigset_t all;
	pid_t pid;
	int error;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, report_fd, KEEPER_FD_REPORT);
	posix_spawn_file_actions_adddup2(&actions, spec_fd, KEEPER_FD_SPEC);
	error = posix_spawn(&pid, program, &actions, &attributes, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	if (error)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, error, "cannot execute %.200s",
				       program);
	/* It forks at once; somebody who waits for any child may have been quicker. */
	if (child_wait(pid, CHILD_PATIENCE_MS, NULL) == CHILD_LIVES)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
				 "the session's keeper does not start: the kernel holds process %d",
				 (int)pid);
	return 0;
}

/* The keeper's last word, or 0 bytes, and the number of its process. If the caller does not want the session any more, or it is not there at most_us (clock_us()), the keeper gets
 * to know that by the end of what it reads here, ends the session and says what stays of it. -1 with *err: it hangs, or takes too long for that. */
static ssize_t receive_report(int fd, struct keeper_report *ret, int *ret_pid, int (*came)(void *context),
			      uint64_t most_us, struct warder_error *err)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	struct hang hang = { 0 };
	uint64_t until_us = UINT64_MAX;
	ssize_t n;

	*ret_pid = 0;

	do {
		while (poll(&ready, 1, REPORT_LOOK_MS) <= 0) {
			if (until_us == UINT64_MAX && ((came && came(NULL)) || clock_us() >= most_us)) {
				shutdown(fd, SHUT_WR);
				until_us = clock_us() + GIVE_UP_US;
			}
			if (clock_us() >= until_us)
				return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
						 "the start %s, and the session has not ended "
						 "yet: its keeper, "
						 "process %d, goes on removing it",
						 clock_us() >= most_us ? "took too long" : "was interrupted",
						 *ret_pid);
			if (hang_look(&hang, *ret_pid))
				return error_set(
				    err, WARDER_ERROR_UNAVAILABLE, NULL,
				    "host: the session's keeper, process %d, does not go on: the kernel "
				    "holds it. It is left behind",
				    *ret_pid);
		}
		n = recv(fd, ret, sizeof(*ret), 0);
		if (n == sizeof(*ret) && ret->word == KEEPER_BEGUN)
			*ret_pid = ret->pid;
	} while (n == sizeof(*ret) && ret->word == KEEPER_BEGUN);
	return n < 0 ? 0 : n;
}

/* A keeper of this specification, and the socket on which it reports. */
static int launch_keeper(const struct session_spec *spec, const char *program, int *ret_fd,
			 struct warder_error *err)
{
	int pair[2];
	owned_fd int ours = -1;
	owned_fd int made = -1;
	owned_fd int theirs = -1;
	owned_fd int spec_fd = spec_file(spec, err);

	if (spec_fd < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "cannot make a socket");
	ours = pair[0];
	made = pair[1];
	theirs = fcntl(made, F_DUPFD_CLOEXEC, KEEPER_FD_SPEC + 1);
	if (theirs < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "no descriptor left");
	if (spawn(program, theirs, spec_fd, err) < 0)
		return -1;
	*ret_fd = fd_take(&ours);
	return 0;
}

/* 0: it has reported `wanted`; 1: another one has the name; -1 with *err. */
static int await_word(int fd, enum keeper_word wanted, int *ret_pid, int (*came)(void *context),
		      uint64_t most_us, struct warder_error *err)
{
	struct keeper_report report;
	const ssize_t n = receive_report(fd, &report, ret_pid, came, most_us, err);

	if (n < 0)
		return -1;
	if (n != sizeof(report))
		return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
				 "the session's keeper died while it started");
	if (report.word == KEEPER_FAILED)
		*err = report.error;
	if (report.word == KEEPER_FAILED && clock_us() >= most_us)
		error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
			  "the session did not start within %d s, and was ended: %s",
			  (int)(SESSION_START_US / 1000000), report.error.text);
	return report.word == wanted ? 0 : report.word == KEEPER_BUSY ? 1 : -1;
}

int starter_begin(const struct session_spec *spec, const char *program, int (*came)(void *context),
		  struct warder_error *err)
{
	owned_fd int fd = -1;
	int pid;

	return launch_keeper(spec, program, &fd, err) < 0
		   ? -1
		   : await_word(fd, KEEPER_READY, &pid, came, UINT64_MAX, err);
}

/* ---- parked sessions ---- */

struct session_parked {
	int fd;  /* on which its keeper reports, and waits for the name */
	int pid; /* its keeper's */
};

int starter_park(const struct session_spec *spec, const char *program, struct session_parked **ret,
		 struct warder_error *err)
{
	struct session_parked *parked = calloc(1, sizeof(*parked));

	if (!parked)
		return error_no_memory(err, NULL);
	parked->fd = -1;
	if (launch_keeper(spec, program, &parked->fd, err) < 0 ||
	    await_word(parked->fd, KEEPER_PARKED, &parked->pid, NULL, clock_us() + SESSION_START_US, err) !=
		0) {
		session_parked_free(parked);
		return -1;
	}
	*ret = parked;
	return 0;
}

/* Its keeper says nothing while it waits. */
bool session_parked_lives(const struct session_parked *parked)
{
	struct pollfd fd = { .fd = parked->fd, .events = POLLIN };

	return poll(&fd, 1, 0) == 0;
}

/* Wait until its keeper answers. If it does not, it never has the name: what it says after this fails, and then it ends. -1 with *err.
 * 1: it answered so late that its socket is shut down: the answer can be read, but no longer the end of the keeper. */
static int await_answer(const struct session_parked *parked, struct warder_error *err)
{
	struct pollfd fd = { .fd = parked->fd, .events = POLLIN };
	const uint64_t until_us = clock_us() + HAND_OUT_US;

	for (uint64_t now_us = clock_us(); now_us < until_us; now_us = clock_us())
		if (poll(&fd, 1, (int)((until_us - now_us) / 1000) + 1) > 0)
			return 0;
	shutdown(parked->fd, SHUT_RDWR);
	/* It may have said something since the last look. */
	if (recv(parked->fd, &(char){ 0 }, 1, MSG_PEEK | MSG_DONTWAIT) > 0)
		return 1;
	return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
			 "the keeper of the parked session, process %d, did not answer within %d s",
			 parked->pid, (int)(HAND_OUT_US / 1000000));
}

int session_hand_out(struct session_parked *parked, const char *name, int *ret_fd, struct warder_error *err)
{
	struct keeper_name message = { .magic = KEEPER_NAME_MAGIC };
	int answered = 0;
	int handed, pid;

	snprintf(message.name, sizeof(message.name), "%s", name);
	if (send(parked->fd, &message, sizeof(message), MSG_NOSIGNAL) != sizeof(message))
		handed = error_set(err, WARDER_ERROR_UNAVAILABLE, NULL, "the parked session has ended");
	else
		handed = (answered = await_answer(parked, err)) < 0
			     ? -1
			     : await_word(parked->fd, KEEPER_READY, &pid, NULL, UINT64_MAX, err);
	if (handed == 0)
		*ret_fd = answered == 1 ? -1 : fd_take(&parked->fd);
	session_parked_free(parked);
	return handed;
}

void session_parked_end(struct session_parked *parked)
{
	shutdown(parked->fd, SHUT_WR);
}

bool session_parked_is_gone(const struct session_parked *parked, int wait_ms)
{
	struct pollfd fd = { .fd = parked->fd, .events = POLLIN };

	return poll(&fd, 1, wait_ms) > 0;
}

void session_parked_free(struct session_parked *parked)
{
	if (!parked)
		return;
	fd_done(&parked->fd);
	free(parked);
}
