/*
 * programs: become another program that is installed with this one.
 */
#ifndef WARDER_RUNTIME_CLI_PROGRAMS_H
#define WARDER_RUNTIME_CLI_PROGRAMS_H

#include "base/error.h"

/* Become warder-store, with the arguments of this process; argv is what follows "warder". Returns only with an error. */
int programs_become_store(char **argv, struct warder_error *err);

/* Execute warder-store, and wait for its end. 0: it has exited with 0; -1 with *err: it has not, and has said why itself. */
int programs_run_store(char **argv, struct warder_error *err);

#endif
