/*
 * remote: what both programs, and the host, have to see alike.
 *
 * A URL is read here with few rules of our own instead of a library's many: whatever is not needed to name a host is refused, so that
 * nothing is left that two readers could understand differently.
 */
#include "remote/remote.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/sha256.h"
#include "base/text.h"

bool remote_answer_valid(const struct remote_answer *answer, size_t len)
{
	return len == sizeof(*answer) && answer->magic == REMOTE_MAGIC && answer->size == sizeof(*answer) &&
	       answer->sent <= 1 && answer->own <= 1 && answer->bytes <= REMOTE_RESULT_MAX &&
	       (answer->status ? answer->status >= 100 && answer->status < 600 : answer->bytes == 0) &&
	       memchr(answer->error.text, '\0', sizeof(answer->error.text)) &&
	       memchr(answer->error.field, '\0', sizeof(answer->error.field)) &&
	       memchr(answer->error.step, '\0', sizeof(answer->error.step));
}

bool remote_answer_is_busy(const struct remote_answer *answer)
{
	return answer->retry_s <= REMOTE_BUSY_S &&
	       (answer->status == 429 || (answer->status == 503 && answer->retry_s));
}

bool remote_is_refusal(const char *body, size_t len)
{
	struct json_value *document = NULL;
	struct warder_error ignored;
	bool is_own;

	if (!len || json_parse(body, len, "answer", NULL, &document, &ignored) < 0)
		return false;
	is_own = document->type == JSON_OBJECT && strcmp(json_member_text(document, "kind", ""),
							 error_kind_name(WARDER_ERROR_UNAVAILABLE)) == 0;
	json_free(document);
	return is_own;
}

bool remote_answer_did_nothing(const struct remote_answer *answer)
{
	return remote_answer_is_busy(answer) && (answer->status == 429 || answer->own);
}

static int bad(const char *what, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, "url", "\"url\" %s", what);
}

/* An address as it is written, not a name that something resolves. */
static bool is_loopback(const char *host, size_t len)
{
	struct in_addr address;
	char text[64];

	if (len >= sizeof(text))
		return false;
	memcpy(text, host, len);
	text[len] = '\0';
	if (strcmp(text, "[::1]") == 0)
		return true;
	return inet_pton(AF_INET, text, &address) == 1 && (ntohl(address.s_addr) >> 24) == 127;
}

/* Letters, digits, dots and dashes; or an IPv6 address in brackets. */
static bool is_host(const char *host, size_t len)
{
	struct in6_addr address;
	char text[64];

	if (len > 2 && len < sizeof(text) && host[0] == '[' && host[len - 1] == ']') {
		memcpy(text, host + 1, len - 2);
		text[len - 2] = '\0';
		return inet_pton(AF_INET6, text, &address) == 1;
	}
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)host[i]) && !(i > 0 && strchr(".-", host[i])))
			return false;
	return len > 0 && len <= 253;
}

/* ":PORT", or nothing; and perhaps one slash. */
static bool is_rest(const char *rest)
{
	size_t digits;

	if (*rest == ':') {
		digits = strspn(++rest, "0123456789");
		if (digits < 1 || digits > 5 || *rest == '0' || atoi(rest) > 65535)
			return false;
		rest += digits;
	}
	return !*rest || strcmp(rest, "/") == 0;
}

bool remote_is_address(const char *address, bool *ret_loopback)
{
	const size_t len = *address == '[' ? strcspn(address, "]") + 1 : strcspn(address, ":/");

	if (len > strlen(address) || !is_host(address, len) || !is_rest(address + len))
		return false;
	*ret_loopback = is_loopback(address, len);
	return true;
}

int remote_check_url(const char *url, bool insecure, struct warder_error *err)
{
	const bool plain = strncmp(url, "http://", 7) == 0;
	const char *host = url + (plain ? 7 : 8);
	bool loopback = false;

	if (!plain && strncmp(url, "https://", 8) != 0)
		return bad("must begin with https:// or http://", err);
	if (strchr(url, '@'))
		return bad("holds credentials; the token stands in the file that \"tokenFile\" names", err);
	if (!remote_is_address(host, &loopback))
		return bad("must be a scheme, a host and a port, as in https://sandbox.example.org:8443",
			   err);
	if (!plain && insecure)
		return bad("is https, for which certificates are always checked; leave \"insecure\" out",
			   err);
	if (plain && !insecure && !loopback)
		return bad(
		    "is http, which is for 127.0.0.1 and [::1]; use https, or say \"insecure\": true if the "
		    "network in between is yours",
		    err);
	return 0;
}

size_t remote_statement(const char *call, const char *request, size_t request_len, const char *answer,
			size_t len, char ret[REMOTE_STATEMENT_MAX])
{
	char digests[2][SHA256_HEX];
	struct sha256 sha;
	int n;

	sha256_init(&sha);
	sha256_add(&sha, request, request_len);
	sha256_hex(&sha, digests[0]);
	sha256_init(&sha);
	sha256_add(&sha, answer, len);
	sha256_add(&sha, "}", 1);
	sha256_hex(&sha, digests[1]);
	n = snprintf(ret, REMOTE_STATEMENT_MAX, "warder-signature 1\ncall %.20s\nrequest %s\nanswer %s\n",
		     call, digests[0], digests[1]);
	return (size_t)n;
}

bool remote_is_key(const char *text)
{
	size_t len = 0;
	char *bytes = NULL;

	if (strncmp(text, "ed25519:", 8) == 0 && strlen(text) == REMOTE_KEY_TEXT - 1)
		bytes = text_unbase64(text + 8, strlen(text + 8), &len);
	if (!bytes)
		return false;
	free(bytes);
	return len == REMOTE_KEY_BYTES;
}

char *remote_input_body(const char *bytes, size_t len, bool close)
{
	struct json_writer w = { 0 };
	char *encoded = text_base64(bytes, len), *body;

	json_begin_object(&w);
	json_key_string(&w, "base64", encoded);
	json_key_bool(&w, "close", close);
	json_end_object(&w);
	body = json_take(&w);
	if (!encoded) {
		free(body);
		body = NULL;
	}
	free(encoded);
	return body;
}
