/*
 * log: the line of a call for a log that programs read. Private to host/launcher/.
 *
 * A line names the tenant and the sandbox. It has nothing else that a client chose: no token, code, command, path or host of the network.
 */
#ifndef WARDER_HOST_LAUNCHER_LOG_H
#define WARDER_HOST_LAUNCHER_LOG_H

#include "host/launcher/call.h"

/* Its line; heap. NULL: no memory. */
char *log_line(const struct call *call);
/* The call has its answer. */
void log_call(const struct launcher *launcher, const struct call *call);

#endif
