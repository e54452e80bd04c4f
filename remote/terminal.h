/*
 * terminal: the terminal of an execution, over a WebSocket of the host. Private to remote/.
 */
#ifndef WARDER_REMOTE_TERMINAL_H
#define WARDER_REMOTE_TERMINAL_H

#include "remote/exchange.h"

/* Make the request, a GET, and write its answer to `fd`, a packet socket, with the body behind it. If its status is 101, pass messages of the
 * WebSocket on, as remote.h says, until either end closes. */
void terminal_run(const struct exchange_order *order, int fd);

#endif
