/*
 * result_end: how a program ended, by its exit code or by the name of a signal. Private to runtime/.
 *
 * result.c and learned.c both write such an end.
 */
#ifndef WARDER_RUNTIME_LIBRARY_RESULT_END_H
#define WARDER_RUNTIME_LIBRARY_RESULT_END_H

#include <stddef.h>

#include "base/json.h"
#include "jail/jail.h"

/* "SIGKILL", "SIG35"; "" for 0. Returns buf, of at least 16 bytes. */
char *result_signal_name(int signal, char *buf, size_t len);

/* The number of such a name; -1: there is none. */
int result_signal_number(const char *name);

/* The members "exitCode" and "signal" into the object that is open. */
void result_write_end(const struct jail_outcome *outcome, struct json_writer *w);

#endif
