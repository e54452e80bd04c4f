/*
 * programs: become another program that is installed with this one.
 */
#ifndef WARDER_RUNTIME_CLI_PROGRAMS_H
#define WARDER_RUNTIME_CLI_PROGRAMS_H

#include "base/error.h"

/* Become warder-store, with the arguments of this process; argv is what follows "warder". Returns only with an error. */
int programs_become_store(char **argv, struct warder_error *err);

#endif
