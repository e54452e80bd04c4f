/*
 * delegate: start again in a cgroup that the user's service manager delegates. Private to cli/.
 */
#ifndef WARDER_RUNTIME_CLI_DELEGATE_H
#define WARDER_RUNTIME_CLI_DELEGATE_H

#include "runtime/cli/flags.h"

/* Execute this program again, with the words `command` and argv, in a new scope of the user's systemd. Nothing may have
 * changed yet that a program inherits. Returns 0 in the process that runs in the scope; the exit status if it was refused,
 * which has been reported. */
int delegate_begin(const struct args *args, const char *command, char **argv);
/* An error that advises --delegate gets other advice where that is given. */
void delegate_amend(const struct args *args, struct warder_error *err);

#endif
