/*
 * terminal: the caller's terminal, while a program in the jail has one of its own (-t). Private to cli/.
 *
 * Life: terminal_open_input() -> launch -> terminal_begin() -> wait -> terminal_end(). One at a time. Between the last two the terminal
 * is in raw mode: it neither echoes nor makes signals of keys, which the terminal in the jail does.
 */
#ifndef WARDER_RUNTIME_CLI_TERMINAL_H
#define WARDER_RUNTIME_CLI_TERMINAL_H

#include <stdbool.h>

#include "runtime/warder.h"

/* The terminal on standard input, for warder_command.terminal_fd: opened once more, so that a read of it never waits. The caller's to
 * close; -1 if that cannot be had. */
int terminal_open_input(void);
/* Put the terminal on standard input into raw mode, and tell the run (or NULL) when its size changes. The terminal gets its settings back by
 * terminal_end(), by exit(3) and by every signal that ends this process, except SIGKILL. */
void terminal_begin(struct warder_run *run);
/* Whether its size has changed since the last call; a poll() is interrupted when it does. */
bool terminal_size_changed(void);
/* Nothing happens if it has not begun, or was ended. */
void terminal_end(void);

#endif
