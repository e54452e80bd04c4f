/*
 * programs: the other programs that are installed with Warder.
 */
#ifndef WARDER_BASE_PROGRAMS_H
#define WARDER_BASE_PROGRAMS_H

#include <limits.h>

#include "base/error.h"

/* Where the program of that name is: beside the one that this process executes (as it is built), in ../libexec/warder there (as it is
 * installed), or in libexec/warder below /usr/local or /usr. buf has PATH_MAX bytes. -1 with *err (UNAVAILABLE, that field): it is not
 * there. */
int programs_find(const char *name, const char *field, char *buf, struct warder_error *err);

#endif
