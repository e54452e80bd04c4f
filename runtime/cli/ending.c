#include "runtime/cli/ending.h"
#include "base/array.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>

static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

#define ENDING (ARRAY_LENGTH(ending))

static volatile sig_atomic_t caught;
static void (*volatile cancel_what)(void);

static void on_signal(int signal)
{
	int saved = errno;

	if (!caught)
		caught = signal;
	if (cancel_what)
		cancel_what();
	errno = saved;
}

void ending_catch(void (*cancel)(void))
{
	const struct sigaction action = { .sa_handler = on_signal };
	struct sigaction before;

	cancel_what = cancel;
	for (size_t i = 0; i < ENDING; i++) {
		sigaction(ending[i], NULL, &before);
		if (before.sa_handler != SIG_IGN)
			sigaction(ending[i], &action, NULL);
	}
}

int ending_signal(void)
{
	return caught;
}

void ending_forget(void)
{
	caught = 0;
}

/* Blocked until the wait, so that none slips in between the look and the wait. */
int ending_came(void *context)
{
	return ending_signal();
}

void ending_sleep(uint64_t us)
{
	const struct timespec time = { (time_t)(us / 1000000), (long)(us % 1000000 * 1000) };
	sigset_t block, before;

	sigemptyset(&block);
	for (size_t i = 0; i < ENDING; i++)
		sigaddset(&block, ending[i]);
	sigprocmask(SIG_BLOCK, &block, &before);
	if (!caught)
		ppoll(NULL, 0, &time, &before);
	sigprocmask(SIG_SETMASK, &before, NULL);
}
