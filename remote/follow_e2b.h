/*
 * follow_e2b: a program that runs in a sandbox of a service, by E2B's process.Process/Connect. Private to remote/.
 */
#ifndef WARDER_REMOTE_FOLLOW_E2B_H
#define WARDER_REMOTE_FOLLOW_E2B_H

#include "remote/call.h"

/* Connect to the program of the call. If it runs, write an answer with the status 101 to `fd`, a packet socket, and pass output and input on, as remote.h
 * says, until it ends or the caller does; call->ret->status is then 101. Otherwise the call has its answer, and nothing was written. */
void follow_e2b_run(struct call *call, int fd);

#endif
