/* A parked session is handed out. Its keeper and the clock are played here. */
#include <criterion/criterion.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "runtime/session/session.h"

static enum { NEVER, IN_TIME, LATE } answers; /* LATE: between the last look at its socket and the shutdown */
static int keeper_fd;
static uint64_t time_us;

static void answer(void)
{
	const struct keeper_report report = { .word = KEEPER_READY };

	answers = NEVER;
	cr_assert(send(keeper_fd, &report, sizeof(report), 0) == sizeof(report));
}

static int poll_of_test(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	int found;

	if (answers == IN_TIME)
		answer();
	found = poll(fds, count, 0);
	if (found)
		return found;
	time_us += (uint64_t)timeout_ms * 1000;
	if (answers == LATE)
		answer();
	return 0;
}

static uint64_t clock_of_test(void)
{
	return time_us;
}

#define poll     poll_of_test
#define clock_us clock_of_test
#include "runtime/session/starter.c"
#undef poll
#undef clock_us

/* *ret_fd: -2 if session_hand_out() sets none. */
static int hand_out(int *ret_fd, struct warder_error *err)
{
	struct session_parked *parked = calloc(1, sizeof(*parked));
	int pair[2];

	cr_assert(parked != NULL && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	*parked = (struct session_parked){ .fd = pair[0] };
	keeper_fd = pair[1];
	*ret_fd = -2;
	return session_hand_out(parked, "name", ret_fd, err);
}

Test(starter, a_hand_out_in_time_has_a_socket_that_tells_the_end, .timeout = 60)
{
	struct warder_error err = { 0 };
	struct pollfd ready = { .events = POLLIN };

	answers = IN_TIME;
	cr_assert(hand_out(&ready.fd, &err) == 0 && ready.fd >= 0, "%s", err.text);
	cr_expect(poll(&ready, 1, 0) == 0, "the keeper is there");
	close(keeper_fd);
	cr_expect(poll(&ready, 1, 0) == 1, "the keeper is gone");
	close(ready.fd);
}

Test(starter, a_late_hand_out_has_no_socket, .timeout = 60)
{
	struct warder_error err = { 0 };
	int fd;

	answers = LATE;
	cr_expect(hand_out(&fd, &err) == 0, "%s", err.text);
	cr_expect(fd == -1, "%d", fd);
	close(keeper_fd);
}

Test(starter, a_keeper_that_says_nothing_gets_no_name_later, .timeout = 60)
{
	struct warder_error err = { 0 };
	int fd;

	answers = NEVER;
	cr_expect(hand_out(&fd, &err) == -1 && fd == -2 && strstr(err.text, "did not answer"), "%s",
		  err.text);
	cr_expect(send(keeper_fd, "x", 1, MSG_NOSIGNAL) < 0, "the keeper can still report");
	close(keeper_fd);
}
