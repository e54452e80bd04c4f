#include "runtime/service/records.h"

#include <stdlib.h>
#include <string.h>

#define ARGC_MAX 32768u
#define LIST_MAX 32768u

static bool is_valid_code(const struct service_request *request)
{
	const struct service_code *code = &request->code;

	if (!(request->flags & SERVICE_CODE))
		return !(request->flags & (SERVICE_COLLECT | SERVICE_VALUE)) && !code->environment_count &&
		       !code->pattern_count && !code->file_count;
	return code->language[0] && memchr(code->language, 0, sizeof(code->language)) &&
	       code->payload <= POLICY_PAYLOAD_GUEST_MODULE && code->script < request->argc &&
	       code->environment_count <= LIST_MAX && code->pattern_count <= LIST_MAX &&
	       code->file_count <= LIST_MAX && (request->flags & SERVICE_COLLECT || !code->pattern_count);
}

bool service_request_valid(const struct service_request *request, size_t len)
{
	return len == sizeof(*request) && request->magic == SERVICE_MAGIC &&
	       request->size == sizeof(*request) && !(request->flags & ~(uint32_t)SERVICE_FLAGS) &&
	       request->argc > 0 && request->argc <= ARGC_MAX && request->bytes <= SERVICE_WORDS_MAX &&
	       is_valid_code(request);
}

size_t service_request_fds(const struct service_request *request)
{
	return 1 + (request->flags & SERVICE_INPUT ? 1 : 0) + (request->flags & SERVICE_OUTPUT ? 2 : 0) +
	       (request->flags & SERVICE_VALUE ? 1 : 0);
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

static bool split_list(char **at, const char *end, char **list, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		list[i] = next_text(at, end);
		if (!list[i])
			return false;
	}
	return true;
}

static bool split_file(char **at, const char *end, struct rootfs_file *ret)
{
	struct service_file file;

	ret->path = next_text(at, end);
	if (!ret->path || (size_t)(end - *at) < sizeof(file))
		return false;
	memcpy(&file, *at, sizeof(file));
	*at += sizeof(file);
	if (file.len >= (size_t)(end - *at) || (*at)[file.len])
		return false;
	ret->bytes = file.is_directory ? NULL : *at;
	ret->len = file.len;
	ret->mode = file.mode;
	*at += file.len + 1;
	return true;
}

static bool split_code(const struct service_request *request, char **at, const char *end,
		       struct service_words *words)
{
	if (!split_list(at, end, words->environment, request->code.environment_count))
		return false;
	if (request->flags & SERVICE_COLLECT) {
		words->directory = next_text(at, end);
		if (!words->directory || !split_list(at, end, words->patterns, request->code.pattern_count))
			return false;
	}
	for (uint32_t i = 0; i < request->code.file_count; i++)
		if (!split_file(at, end, &words->files[i]))
			return false;
	return true;
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
	return split_list(&at, end, words->argv, request->argc) && split_code(request, &at, end, words) &&
	       at == end && words->argv[0][0];
}

int service_take_words(const struct service_request *request, char *bytes, struct service_words *ret,
		       struct warder_error *err)
{
	struct service_words words = { .bytes = bytes };
	bool has_lists;

	words.argv = calloc((size_t)request->argc + 1, sizeof(*words.argv));
	words.environment = calloc((size_t)request->code.environment_count + 1, sizeof(*words.environment));
	words.patterns = calloc((size_t)request->code.pattern_count + 1, sizeof(*words.patterns));
	words.files = calloc((size_t)request->code.file_count + 1, sizeof(*words.files));
	has_lists = words.argv && words.environment && words.patterns && words.files;
	if (has_lists && split(request, &words)) {
		*ret = words;
		return 0;
	}
	if (!has_lists)
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
	free(words->environment);
	free(words->patterns);
	free(words->files);
	free(words->bytes);
	*words = (struct service_words){ 0 };
}
