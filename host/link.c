#include "host/link.h"

#include <string.h>

static bool ends(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

static bool is_digest(const char key[SHA256_HEX])
{
	return ends(key, SHA256_HEX) && (key[0] == '\0' || strspn(key, "0123456789abcdef") == SHA256_HEX - 1);
}

bool link_request_valid(const struct link_request *request, size_t len)
{
	return len == sizeof(*request) && request->magic == LINK_MAGIC && request->size == sizeof(*request) &&
	       request->call >= LINK_READY && request->call < LINK_CALLS && request->key_kind < LINK_KEYS &&
	       request->bytes <= LINK_BYTES_MAX && is_digest(request->key) &&
	       (request->key_kind == LINK_KEY_NONE || request->key_kind == LINK_KEY_NAME ||
		request->key_kind == LINK_KEY_PEER) == (request->key[0] == '\0') &&
	       ends(request->sandbox, sizeof(request->sandbox)) &&
	       strspn(request->sandbox, "abcdefghijklmnopqrstuvwxyz0123456789") == strlen(request->sandbox);
}

bool link_answer_valid(const struct link_answer *answer, size_t len)
{
	return len == sizeof(*answer) && answer->magic == LINK_MAGIC && answer->size == sizeof(*answer) &&
	       answer->status >= 200 && answer->status < 600 && answer->has_fd <= 1 && answer->more <= 1 &&
	       ends(answer->error.text, sizeof(answer->error.text)) &&
	       ends(answer->error.field, sizeof(answer->error.field)) &&
	       ends(answer->error.step, sizeof(answer->error.step));
}

bool link_welcome_valid(const struct link_welcome *welcome, size_t len)
{
	return len == sizeof(*welcome) && welcome->magic == LINK_MAGIC && welcome->size == sizeof(*welcome) &&
	       welcome->certificate_bytes <= LINK_CERTIFICATE_MAX &&
	       ends(welcome->hosts, sizeof(welcome->hosts)) &&
	       ends(welcome->domains, sizeof(welcome->domains));
}

void link_digest(const char *key, char ret[SHA256_HEX])
{
	struct sha256 sha;

	sha256_init(&sha);
	sha256_add(&sha, key, strlen(key));
	sha256_hex(&sha, ret);
}

unsigned int link_status(uint32_t error_code)
{
	static const unsigned int statuses[] = {
		[WARDER_ERROR_UNSUPPORTED_POLICY] = 422,
		[WARDER_ERROR_UNSUPPORTED_LANGUAGE] = 422,
		[WARDER_ERROR_INVALID_REQUEST] = 400,
		[WARDER_ERROR_COMPILE_FAILED] = 422,
		[WARDER_ERROR_TIMEOUT] = 504,
		[WARDER_ERROR_EXECUTION_FAILED] = 422,
		[WARDER_ERROR_REJECTED] = 403,
		[WARDER_ERROR_NOT_FOUND] = 404,
		[WARDER_ERROR_CONFLICT] = 409,
		[WARDER_ERROR_UNAVAILABLE] = 503,
		[WARDER_ERROR_INTERNAL] = 500,
	};

	return error_code && error_code < sizeof(statuses) / sizeof(statuses[0]) ? statuses[error_code] : 500;
}
