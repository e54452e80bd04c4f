/*
 * terminal: raw mode, and the way back from it.
 *
 * The signals that a run passes on to its program (runtime/cli/ending.h) end this process by way of terminal_end(). Any other signal that
 * would end it gets a handler here, which restores the terminal and lets the signal do its work.
 */
#include "runtime/cli/terminal.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"

static const int fatal[] = { SIGSEGV, SIGBUS,  SIGILL,    SIGFPE,  SIGABRT, SIGTRAP, SIGSYS, SIGALRM,
			     SIGUSR1, SIGUSR2, SIGVTALRM, SIGPROF, SIGXCPU, SIGIO,   SIGPWR, SIGSTKFLT };

static struct termios before;
static volatile sig_atomic_t is_raw;
static struct warder_run *volatile resized;
static volatile sig_atomic_t size_changed;

int terminal_open_input(void)
{
	owned_fd int fd = open("/proc/self/fd/0", O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat wanted, got;

	if (fd >= 0 && fstat(STDIN_FILENO, &wanted) == 0 && fstat(fd, &got) == 0 &&
	    wanted.st_rdev == got.st_rdev)
		return fd_take(&fd);
	/* Another user's, after su(1). */
	return fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
}

/* In the background it would stop us: the settings that are put back are nobody else's. */
static void restore(void)
{
	sigset_t block, old;

	if (!is_raw)
		return;
	is_raw = 0;
	sigemptyset(&block);
	sigaddset(&block, SIGTTOU);
	sigprocmask(SIG_BLOCK, &block, &old);
	tcsetattr(STDIN_FILENO, TCSANOW, &before);
	sigprocmask(SIG_SETMASK, &old, NULL);
}

static void on_fatal(int signal)
{
	restore();
	raise(signal); /* its handler is gone: SA_RESETHAND */
}

static void on_resize(int signal)
{
	size_changed = 1;
	warder_resize(resized);
}

static void catch_signals(void)
{
	const struct sigaction end = { .sa_handler = on_fatal, .sa_flags = (int)SA_RESETHAND };
	const struct sigaction resize = { .sa_handler = on_resize, .sa_flags = SA_RESTART };
	struct sigaction was;

	for (size_t i = 0; i < ARRAY_LENGTH(fatal); i++) {
		if (sigaction(fatal[i], NULL, &was) == 0 && was.sa_handler == SIG_DFL)
			sigaction(fatal[i], &end, NULL);
	}
	sigaction(SIGWINCH, &resize, NULL);
}

void terminal_begin(struct warder_run *run)
{
	struct termios raw;

	if (tcgetattr(STDIN_FILENO, &before) != 0)
		return;
	raw = before;
	cfmakeraw(&raw);
	resized = run;
	atexit(restore);
	catch_signals();
	warder_resize(run); /* it may have changed since the launch */
	is_raw = 1;
	if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) != 0)
		is_raw = 0;
}

bool terminal_size_changed(void)
{
	const bool changed = size_changed;

	size_changed = 0;
	return changed;
}

void terminal_end(void)
{
	resized = NULL;
	restore();
}
