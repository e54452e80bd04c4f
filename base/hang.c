#include "base/hang.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

/* As a text. Its length; -1: there is none. */
static ssize_t read_file(const char *path, char *ret, size_t size)
{
	owned_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t len = fd < 0 ? -1 : read(fd, ret, size - 1);

	if (len >= 0)
		ret[len] = '\0';
	return len;
}

/* The state of the process, and how often it was switched away from. False: there is no such process any more. */
static bool read_state(int pid, char *ret_state, uint64_t *ret_switches)
{
	static const char state_key[] = "\nState:\t";
	static const char switches_key[] = "\nvoluntary_ctxt_switches:\t";
	char path[40];
	char text[4096];
	const char *state;
	const char *switches;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (read_file(path, text, sizeof(text)) < 0)
		return false;
	state = strstr(text, state_key);
	switches = strstr(text, switches_key);
	if (!state || !switches)
		return false;
	*ret_state = state[sizeof(state_key) - 1];
	*ret_switches = strtoull(switches + sizeof(switches_key) - 1, NULL, 10);
	return true;
}

bool hang_look(struct hang *hang, int pid)
{
	uint64_t switches = 0;
	char state = 0;

	if (pid <= 0 || !read_state(pid, &state, &switches) || state != 'D') {
		hang->since_us = 0;
		return false;
	}
	if (!hang->since_us || hang->switches != switches) {
		*hang = (struct hang){ .since_us = clock_us(), .switches = switches };
		return false;
	}
	return clock_us() - hang->since_us >= HANG_US;
}

/* 0: there is no such process. */
static char state_of(int pid)
{
	uint64_t ignored;
	char state;

	return pid > 0 && read_state(pid, &state, &ignored) ? state : 0;
}

bool hang_is_stopped(int pid)
{
	const char state = state_of(pid);

	return state == 'T' || state == 't';
}

bool hang_is_stopped_by_signal(int pid)
{
	return state_of(pid) == 'T';
}

const char *hang_where(int pid, char *ret, size_t size)
{
	char path[40];
	char text[64];
	ssize_t len;

	*ret = 0;
	snprintf(path, sizeof(path), "/proc/%d/wchan", pid);
	len = read_file(path, text, sizeof(text));
	if (len > 1) /* "0": not told */
		snprintf(ret, size, " in %s", text);
	return ret;
}
