/*
 * service: a request as a client sends it, followed by the bytes of its memory file. It is refused, or has as many words as it says, each
 * with an end; and a result that a service sends: it is refused, or can be freed.
 */
#include "tests/fuzz/input.h"

#include <sys/mman.h>
#include <unistd.h>

#include "runtime/service/records.h"

static void check_text(const struct service_words *words, const char *text, size_t bytes)
{
	must(text >= words->bytes && text + strlen(text) < words->bytes + bytes);
}

static void check_words(struct service_request request, const uint8_t *bytes, size_t len)
{
	struct service_words words = { 0 };
	struct warder_error err = { 0 };
	char *copy = malloc(len + 1);

	must(copy != NULL);
	memcpy(copy, bytes, len);
	copy[len] = '\0';
	request.bytes = len;
	if (service_take_words(&request, copy, &words, &err) != 0) {
		must(err.code != WARDER_ERROR_NONE);
		return;
	}
	check_text(&words, words.policy, len);
	must(!words.ceiling == !(request.flags & SERVICE_CEILING));
	must(!words.parent == !(request.flags & SERVICE_PARENT));
	for (uint32_t i = 0; i < request.argc; i++)
		check_text(&words, words.argv[i], len);
	must(!words.argv[request.argc]);
	for (uint32_t i = 0; i < request.code.environment_count; i++)
		check_text(&words, words.code.environment[i], len);
	for (uint32_t i = 0; i < request.code.pattern_count; i++)
		check_text(&words, words.code.patterns[i], len);
	for (uint32_t i = 0; i < request.code.file_count; i++) {
		check_text(&words, words.code.files[i].path, len);
		must(!words.code.files[i].bytes ||
		     words.code.files[i].bytes + words.code.files[i].len < words.bytes + len);
	}
	service_words_done(&words);
}

static void check_result(const uint8_t *data, size_t size)
{
	struct warder_result *result = calloc(1, sizeof(*result));
	const int fd = memfd_create("result", MFD_CLOEXEC);

	must(result && fd >= 0 && write(fd, data, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0);
	if (result_read_file(fd, result) == 0)
		must(result->backend && result->receipt.count <= 128);
	close(fd);
	warder_result_free(result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct service_request request;

	check_result(data, size);
	if (size < sizeof(request))
		return 0;
	memcpy(&request, data, sizeof(request));
	if (!service_request_valid(&request, sizeof(request)))
		return 0;
	if (request.flags & SERVICE_QUESTION) {
		must(!request.argc && service_request_fds(&request) == 0);
		return 0;
	}
	must(service_request_fds(&request) >= 1 && service_request_fds(&request) <= SERVICE_FDS_MAX);
	check_words(request, data + sizeof(request), size - sizeof(request));
	return 0;
}
