#include "runtime/service/records.h"

#include <stdlib.h>
#include <string.h>

#define WORDS_MAX (UINT64_C(4) << 20)
#define ARGC_MAX  32768u

bool service_request_valid(const struct service_request *request, size_t len)
{
	return len == sizeof(*request) && request->magic == SERVICE_MAGIC &&
	       request->size == sizeof(*request) && !(request->flags & ~(uint32_t)SERVICE_FLAGS) &&
	       request->argc > 0 && request->argc <= ARGC_MAX && request->bytes <= WORDS_MAX;
}

size_t service_request_fds(const struct service_request *request)
{
	return 1 + (request->flags & SERVICE_INPUT ? 1 : 0) + (request->flags & SERVICE_OUTPUT ? 2 : 0);
}

/* The next text, which ends before `end`; NULL: there is none. */
static char *next_text(char **at, const char *end)
{
	char *text = *at;
	const char *nul = text < end ? memchr(text, 0, (size_t)(end - text)) : NULL;

	if (!nul)
		return NULL;
	*at = text + (nul - text) + 1;
	return text;
}

static bool split(const struct service_request *request, struct service_words *words)
{
	char *at = words->bytes;
	const char *end = words->bytes + request->bytes;

	words->policy = next_text(&at, end);
	if (request->flags & SERVICE_CEILING)
		words->ceiling = next_text(&at, end);
	if (request->flags & SERVICE_PARENT)
		words->parent = next_text(&at, end);
	if (!words->policy || !words->ceiling != !(request->flags & SERVICE_CEILING) ||
	    !words->parent != !(request->flags & SERVICE_PARENT))
		return false;
	for (uint32_t i = 0; i < request->argc; i++) {
		words->argv[i] = next_text(&at, end);
		if (!words->argv[i])
			return false;
	}
	return at == end && words->argv[0][0];
}

int service_take_words(const struct service_request *request, char *bytes, struct service_words *ret,
		       struct warder_error *err)
{
	struct service_words words = { .bytes = bytes };

	words.argv = calloc((size_t)request->argc + 1, sizeof(*words.argv));
	if (words.argv && split(request, &words)) {
		*ret = words;
		return 0;
	}
	if (!words.argv)
		error_no_memory(err, NULL);
	else
		error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL,
			  "the words of a request to the service are not as it says");
	service_words_done(&words);
	return -1;
}

void service_words_done(struct service_words *words)
{
	free(words->argv);
	free(words->bytes);
	*words = (struct service_words){ 0 };
}
