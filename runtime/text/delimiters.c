#include "runtime/text/delimiters.h"

#include <string.h>

#include "base/json.h"

static int check_one(const char *text, const char *which, struct warder_error *err)
{
	char quoted[40];

	if (!text || !*text)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "delimiters",
				 "the %s is empty; give the text that stands there", which);
	if (strlen(text) > DELIMITERS_MAX_BYTES)
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, "delimiters", "the %s %s has %zu bytes; at most %d",
		    which, json_quote(text, quoted, sizeof(quoted)), strlen(text), DELIMITERS_MAX_BYTES);
	return 0;
}

int delimiters_check(const struct delimiters *delimiters, struct warder_error *err)
{
	if (check_one(delimiters->start, "start", err) != 0)
		return -1;
	return check_one(delimiters->end, "end", err);
}

int delimiters_check_text(size_t len, struct warder_error *err)
{
	if (len <= AGENT_MAX_TEXT_BYTES)
		return 0;
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, "text",
			 "%zu bytes are too many; give at most %zu at a time", len, AGENT_MAX_TEXT_BYTES);
}

int delimiters_check_room(size_t count, struct warder_error *err)
{
	if (count < AGENT_MAX_BLOCKS)
		return 0;
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, "text",
			 "there are more than %d blocks; give the text in parts", AGENT_MAX_BLOCKS);
}
