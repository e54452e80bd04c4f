/*
 * run_remote: `warder run` on another machine. Private to cli/.
 */
#ifndef WARDER_RUNTIME_CLI_RUN_REMOTE_H
#define WARDER_RUNTIME_CLI_RUN_REMOTE_H

#include "runtime/cli/report.h"

/* Choose the backend if the choice may lead to a host on another machine, and run the program if it does. True: it ran or was refused, and
 * *ret_status is the exit status. False: it runs on this machine; *ret_backend is the backend that `auto` chose, or NULL where nothing was
 * chosen. */
bool run_remote(struct report *report, const char **ret_backend, int *ret_status);

#endif
