#include "runtime/cli/ending.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>

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
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	const struct sigaction action = { .sa_handler = on_signal };
	struct sigaction before;

	cancel_what = cancel;
	for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++) {
		sigaction(ending[i], NULL, &before);
		if (before.sa_handler != SIG_IGN)
			sigaction(ending[i], &action, NULL);
	}
}

int ending_signal(void)
{
	return caught;
}
