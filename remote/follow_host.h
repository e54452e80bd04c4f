/*
 * follow_host: the output of an execution on a host of Warder's own, by its server-sent events. Private to remote/.
 */
#ifndef WARDER_REMOTE_FOLLOW_HOST_H
#define WARDER_REMOTE_FOLLOW_HOST_H

#include "remote/exchange.h"

/* The path of the order ends in "/output?stdout=N&stderr=N". Write the answer to `fd`, a packet socket, and if its status is 101, pass output from these
 * offsets and input on, as remote.h says, until the program ends or the caller does. */
void follow_host_run(const struct exchange_order *order, int fd);

#endif
