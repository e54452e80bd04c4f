/*
 * group: the groups of attempts, one for each file.
 */
#ifndef WARDER_RUNTIME_ATTACK_ATTEMPTS_GROUP_H
#define WARDER_RUNTIME_ATTACK_ATTEMPTS_GROUP_H

#include "runtime/attack/attempts/attempts.h"

extern const struct attempt_group *const attempt_groups[];

#endif
