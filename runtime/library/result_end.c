#include "runtime/library/result_end.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"

static const struct {
	int number;
	const char *name;
} signals[] = {
	{ SIGHUP, "SIGHUP" },       { SIGINT, "SIGINT" },       { SIGQUIT, "SIGQUIT" },
	{ SIGILL, "SIGILL" },       { SIGTRAP, "SIGTRAP" },     { SIGABRT, "SIGABRT" },
	{ SIGBUS, "SIGBUS" },       { SIGFPE, "SIGFPE" },       { SIGKILL, "SIGKILL" },
	{ SIGUSR1, "SIGUSR1" },     { SIGSEGV, "SIGSEGV" },     { SIGUSR2, "SIGUSR2" },
	{ SIGPIPE, "SIGPIPE" },     { SIGALRM, "SIGALRM" },     { SIGTERM, "SIGTERM" },
	{ SIGSTKFLT, "SIGSTKFLT" }, { SIGCHLD, "SIGCHLD" },     { SIGCONT, "SIGCONT" },
	{ SIGSTOP, "SIGSTOP" },     { SIGTSTP, "SIGTSTP" },     { SIGTTIN, "SIGTTIN" },
	{ SIGTTOU, "SIGTTOU" },     { SIGURG, "SIGURG" },       { SIGXCPU, "SIGXCPU" },
	{ SIGXFSZ, "SIGXFSZ" },     { SIGVTALRM, "SIGVTALRM" }, { SIGPROF, "SIGPROF" },
	{ SIGWINCH, "SIGWINCH" },   { SIGIO, "SIGIO" },         { SIGPWR, "SIGPWR" },
	{ SIGSYS, "SIGSYS" },
};

char *result_signal_name(int signal, char *buf, size_t len)
{
	for (size_t i = 0; i < ARRAY_LENGTH(signals); i++) {
		if (signals[i].number == signal) {
			snprintf(buf, len, "%s", signals[i].name);
			return buf;
		}
	}
	buf[0] = '\0';
	if (signal) /* real-time signals have no name that two C libraries agree on */
		snprintf(buf, len, "SIG%d", signal);
	return buf;
}

int result_signal_number(const char *name)
{
	int number = -1, end = 0;

	for (size_t i = 0; i < ARRAY_LENGTH(signals); i++)
		if (strcmp(signals[i].name, name) == 0)
			return signals[i].number;
	return sscanf(name, "SIG%2d%n", &number, &end) == 1 && !name[end] && number > 0 && number < 65
		   ? number
		   : -1;
}

void result_write_end(const struct jail_outcome *outcome, struct json_writer *w)
{
	char name[16];

	json_key(w, "exitCode");
	if (outcome->exit_code < 0)
		json_null(w);
	else
		json_int(w, outcome->exit_code);
	json_key(w, "signal");
	json_string(w, outcome->signal ? result_signal_name(outcome->signal, name, sizeof(name)) : NULL);
}
