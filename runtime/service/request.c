#include "runtime/service/records.h"

#include <stdlib.h>
#include <string.h>

#define ARGC_MAX 32768u

static bool is_valid_code(const struct service_request *request)
{
	const struct order_code *code = &request->code;

	if (!(request->flags & SERVICE_CODE))
		return !(request->flags & (SERVICE_COLLECT | SERVICE_VALUE)) && !code->environment_count &&
		       !code->pattern_count && !code->file_count;
	return order_code_valid(code, request->flags & SERVICE_COLLECT) && code->script < request->argc;
}

bool service_request_valid(const struct service_request *request, size_t len)
{
	if (len != sizeof(*request) || request->magic != SERVICE_MAGIC || request->size != sizeof(*request) ||
	    request->flags & ~(uint32_t)SERVICE_FLAGS)
		return false;
	if (request->flags & SERVICE_QUESTION)
		return request->flags == SERVICE_QUESTION && !request->argc && !request->bytes;
	return request->argc > 0 && request->argc <= ARGC_MAX && request->bytes <= SERVICE_WORDS_MAX &&
	       is_valid_code(request);
}

size_t service_request_fds(const struct service_request *request)
{
	if (request->flags & SERVICE_QUESTION)
		return 0;
	return 1 + (request->flags & SERVICE_INPUT ? 1 : 0) + (request->flags & SERVICE_OUTPUT ? 2 : 0) +
	       (request->flags & SERVICE_VALUE ? 1 : 0);
}

static int malformed(struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL,
			 "the words of a request to the service are not as it says");
}

/* The texts before those of the code. */
static bool split(const struct service_request *request, char **at, const char *end,
		  struct service_words *words)
{
	words->policy = order_next_text(at, end);
	if (request->flags & SERVICE_CEILING)
		words->ceiling = order_next_text(at, end);
	if (request->flags & SERVICE_PARENT)
		words->parent = order_next_text(at, end);
	if (!words->policy || !words->ceiling != !(request->flags & SERVICE_CEILING) ||
	    !words->parent != !(request->flags & SERVICE_PARENT))
		return false;
	for (uint32_t i = 0; i < request->argc; i++) {
		words->argv[i] = order_next_text(at, end);
		if (!words->argv[i])
			return false;
	}
	return words->argv[0][0];
}

int service_take_words(const struct service_request *request, char *bytes, struct service_words *ret,
		       struct warder_error *err)
{
	struct service_words words = { .bytes = bytes };
	const char *end = bytes + request->bytes;
	char *at = bytes;
	int taken = -1;

	words.argv = calloc((size_t)request->argc + 1, sizeof(*words.argv));
	if (!words.argv)
		error_no_memory(err, NULL);
	else if (!split(request, &at, end, &words))
		malformed(err);
	else
		taken =
		    order_take(&request->code, request->flags & SERVICE_COLLECT, &at, end, &words.code, err);
	if (taken == 0 && at != end)
		taken = malformed(err);
	if (taken == 0)
		*ret = words;
	else
		service_words_done(&words);
	return taken;
}

void service_words_done(struct service_words *words)
{
	order_words_done(&words->code);
	free(words->argv);
	free(words->bytes);
	*words = (struct service_words){ 0 };
}
