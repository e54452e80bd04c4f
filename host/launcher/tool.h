/*
 * tool: the command line tool, executed for a job. Private to host/launcher/.
 *
 * The libraries of the store are not part of this program, and a copy of a sandbox's files needs a process with one thread.
 */
#ifndef WARDER_HOST_LAUNCHER_TOOL_H
#define WARDER_HOST_LAUNCHER_TOOL_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/error.h"

#define TOOL_FD 9 /* of the tool: the descriptor that it holds */

struct tool {
	const char *program;          /* its path */
	int hold_fd;                  /* the tool has it open as long as it runs */
	int input_fd;                 /* its standard input; 0: empty */
	int output_fd;                /* an empty file, its standard output; 0: a text in memory */
	const atomic_bool *cancelled; /* becomes true: the tool is to end soon; or NULL */
};

/* Execute the tool, and wait for its end. argv: its arguments after the program's name, NULL-terminated. *ret_text: its standard output as a text,
 * which the caller frees; ret_text may be NULL, and is with an output_fd. -1 with *err, which has the tool's own message. Any thread. */
int tool_run(const struct tool *tool, const char *const *argv, char **ret_text, struct warder_error *err);
/* This process is about to end: kill the tools that run, and start none any more. */
void tool_end_all(void);
/* Whether it is. Any thread. */
bool tool_ends(void);

#endif
