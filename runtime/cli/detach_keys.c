#include "runtime/cli/detach_keys.h"

#include <stdio.h>
#include <string.h>

#include "runtime/cli/term.h"

#define USUAL "ctrl-p,ctrl-q"

int detach_keys_take(const char *text, struct detach_keys *ret, struct warder_error *err)
{
	const char *at = text ? text : USUAL;

	while (*at) {
		const size_t len = strcspn(at, ",");
		const bool control = len == 6 && strncmp(at, "ctrl-", 5) == 0;
		const char key = control ? at[5] : at[0];

		if (ret->count == DETACH_KEYS_MAX || (!control && len != 1) ||
		    (control && !((key >= 'a' && key <= 'z') || (key >= '@' && key <= '_'))) ||
		    (at[len] == ',' && !at[len + 1]))
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--detach-keys",
					 "--detach-keys %.60s: write up to %d keys with commas between them, "
					 "each a character or ctrl-a to ctrl-z",
					 text, DETACH_KEYS_MAX);
		ret->keys[ret->count++] = control ? (char)(key & 0x1f) : key;
		at += len + (at[len] == ',');
	}
	return 0;
}

size_t detach_keys_filter(struct detach_keys *keys, const char *bytes, size_t len, char *to)
{
	size_t used = 0;

	for (size_t i = 0; i < len && !keys->detached; i++) {
		if (keys->count && bytes[i] == keys->keys[keys->matched]) {
			keys->detached = ++keys->matched == keys->count;
			continue;
		}
		memcpy(to + used, keys->keys, keys->matched);
		used += keys->matched;
		keys->matched = keys->count && bytes[i] == keys->keys[0];
		if (!keys->matched)
			to[used++] = bytes[i];
		else
			keys->detached = keys->count == 1;
	}
	return used;
}

void detach_keys_tell(const char *execution)
{
	fputc('\n', stderr); /* the cursor is where the program left it */
	term_complain("detached; \"warder attach %s\" comes back", execution);
}
