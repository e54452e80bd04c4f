/*
 * blocks_run: execute the code blocks of a text. Private to cli/.
 */
#ifndef WARDER_RUNTIME_CLI_BLOCKS_RUN_H
#define WARDER_RUNTIME_CLI_BLOCKS_RUN_H

#include "runtime/cli/flags.h"
#include "runtime/code/code.h"

#define BLOCKS_RUN_MAX 100 /* blocks of one text */

/* Execute each block that is not empty, in order, under the policy that the flags make; a block that fails does not stop those
 * behind it. It reports output, failures and, with --json, one object of all results.
 * Returns 0 with the exit status: 0, 1 a block failed, 124 a block's time was over, 128 plus a signal. -1 with *err
 * (INVALID_REQUEST: too many blocks, a bad policy; INTERNAL: no memory). */
int blocks_run(struct args *args, char **argv, const struct languages *languages, const struct blocks *blocks,
	       int *ret_status, struct warder_error *err);

#endif
