/*
 * execution_name: the parts go into paths, so each is checked.
 */
#include "runtime/cli/execution_name.h"

#include <stdio.h>
#include <string.h>

bool execution_name_is(const char *word)
{
	return strchr(word, ':') != NULL;
}

int execution_name_take(const char *word, struct execution_name *ret, struct warder_error *err)
{
	const char *colon = strchr(word, ':');
	const size_t len = colon ? (size_t)(colon - word) : 0;

	if (!len || len >= sizeof(ret->session) || !elsewhere_is_id(colon + 1) ||
	    strlen(colon + 1) >= sizeof(ret->id))
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, "id",
		    "%.80s is no execution of a session on another machine: write SESSION:ID, as "
		    "\"warder ps SESSION\" lists them",
		    word);
	snprintf(ret->session, sizeof(ret->session), "%.*s", (int)len, word);
	snprintf(ret->id, sizeof(ret->id), "%s", colon + 1);
	snprintf(ret->text, sizeof(ret->text), "%s:%s", ret->session, ret->id);
	return 0;
}
