/* group: all groups, NULL at the end. */
#ifndef WARDER_TESTS_ESCAPE_GROUP_H
#define WARDER_TESTS_ESCAPE_GROUP_H

#include "tests/escape/attempts.h"

extern const struct attempt_group *const attempt_groups[];

#endif
