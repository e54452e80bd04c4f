/*
 * detach_keys: the keys that leave a program whose terminal is ours. Private to cli/.
 */
#ifndef WARDER_RUNTIME_CLI_DETACH_KEYS_H
#define WARDER_RUNTIME_CLI_DETACH_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define DETACH_KEYS_MAX 8

struct detach_keys {
	char keys[DETACH_KEYS_MAX];
	size_t count, matched;
	bool detached; /* they were typed */
};

/* "ctrl-p,ctrl-q,x"; NULL: the usual ones. -1 with *err, which names --detach-keys. */
int detach_keys_take(const char *text, struct detach_keys *ret, struct warder_error *err);
/* What of the input goes to the program: a part of the keys is held back until it is known whether the rest of them follows. Returns how many
 * bytes are in `to`, which has room for len + DETACH_KEYS_MAX. */
size_t detach_keys_filter(struct detach_keys *keys, const char *bytes, size_t len, char *to);
/* Say that the keys were typed, and how to come back. */
void detach_keys_tell(const char *execution);

#endif
