/*
 * backends: one policy before several backends. Private to cli/.
 */
#ifndef WARDER_RUNTIME_CLI_BACKENDS_H
#define WARDER_RUNTIME_CLI_BACKENDS_H

#include "runtime/cli/flags.h"

/* `warder explain --backend A,B`: what each would do with the policy, and where they differ. `prepare` has what they share. Returns the
 * exit status: 0 if all would run it. */
int backends_compare(const struct args *args, struct warder_error *err);
/* `warder doctor --matrix`: each control and each ability, and what every backend makes of it on this host. 0; -1 with *err. */
int backends_matrix(const struct args *args, struct warder_error *err);

#endif
