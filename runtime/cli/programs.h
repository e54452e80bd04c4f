/*
 * programs: the other programs that are installed with this one. Private to cli/.
 */
#ifndef WARDER_RUNTIME_CLI_PROGRAMS_H
#define WARDER_RUNTIME_CLI_PROGRAMS_H

#include <limits.h>

#include "base/error.h"

/* Where the program of that name is: beside this one (as it is built), or in ../libexec/warder (as it is installed). buf has
 * PATH_MAX bytes. -1 with *err (UNAVAILABLE, that field): it is not there. */
int programs_find(const char *name, const char *field, char *buf, struct warder_error *err);
/* Become warder-store, with the arguments of this process; argv is what follows "warder". Returns only with an error. */
int programs_become_store(char **argv, struct warder_error *err);

#endif
