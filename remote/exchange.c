/*
 * exchange: libcurl with everything off that a host could use.
 *
 * The other end may be slow, lie, die or send us elsewhere. So: no redirect is followed, no proxy of the environment asked, no
 * compression accepted (it would get round the limits), no other protocol spoken. What it sends is counted while it comes. A connection
 * on which nothing can be heard is given up by TCP's keepalive, also while a program runs for hours.
 */
#include "remote/exchange.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEEPALIVE_S 15L

struct receiving {
	char *bytes;
	size_t len, most, header_bytes;
	const char *fault; /* why we stopped; or NULL */
};

static size_t take_header(char *bytes, size_t size, size_t count, void *context)
{
	struct receiving *to = context;

	to->header_bytes += size * count;
	if (to->header_bytes <= REMOTE_HEADERS_MAX)
		return size * count;
	to->fault = "sent more than 64 KiB of headers";
	return 0;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *context)
{
	struct receiving *to = context;
	const size_t len = size * count;
	char *grown;

	if (len > to->most - to->len) {
		to->fault = to->most <= REMOTE_JSON_MAX ? "sent an answer of more than 1 MiB"
							: "sent a result of more than 16 MiB";
		return 0;
	}
	grown = realloc(to->bytes, to->len + len + 1);
	if (!grown)
		return 0;
	memcpy(grown + to->len, bytes, len);
	to->bytes = grown;
	to->len += len;
	return len;
}

static struct curl_slist *make_headers(const struct exchange_order *order)
{
	char line[REMOTE_TOKEN_MAX + 16], accept[80];
	struct curl_slist *list = NULL, *longer;
	const char *const more[] = { line,
				     strcmp(order->method, "POST") == 0 ? "Content-Type: application/json"
				     : strcmp(order->method, "PUT") == 0
					 ? "Content-Type: application/octet-stream"
					 : NULL,
				     order->accept ? accept : NULL, "Expect:" };

	snprintf(line, sizeof(line), "X-API-Key: %s", order->token);
	snprintf(accept, sizeof(accept), "Accept: %.60s", order->accept ? order->accept : "*/*");
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
		if (!more[i])
			continue;
		longer = curl_slist_append(list, more[i]);
		if (!longer) {
			curl_slist_free_all(list);
			list = NULL;
			break;
		}
		list = longer;
	}
	explicit_bzero(line, sizeof(line));
	return list;
}

/* The bytes of the order go out as they are. Whether libcurl took every option. */
static bool set_options(CURL *curl, const struct exchange_order *order, const char *url,
			struct curl_slist *headers, struct receiving *to)
{
	bool good = curl_easy_setopt(curl, CURLOPT_URL, url) == CURLE_OK;

	good &= curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK;
	good &= curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK;
	good &= curl_easy_setopt(curl, CURLOPT_PROXY, "") == CURLE_OK;
	good &= curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) == CURLE_OK;
	good &= curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 1L) == CURLE_OK;
	good &= curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 2L) == CURLE_OK;
	good &= curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2) == CURLE_OK;
	good &= curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK;
	good &= curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)REMOTE_CONNECT_MS) == CURLE_OK;
	good &= curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)order->timeout_ms) == CURLE_OK;
	good &= curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L) == CURLE_OK;
	good &= curl_easy_setopt(curl, CURLOPT_TCP_KEEPIDLE, KEEPALIVE_S) == CURLE_OK;
	good &= curl_easy_setopt(curl, CURLOPT_TCP_KEEPINTVL, KEEPALIVE_S) == CURLE_OK;
	good &= curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers) == CURLE_OK;
	good &= curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header) == CURLE_OK;
	good &= curl_easy_setopt(curl, CURLOPT_HEADERDATA, to) == CURLE_OK;
	good &= curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body) == CURLE_OK;
	good &= curl_easy_setopt(curl, CURLOPT_WRITEDATA, to) == CURLE_OK;
	if (order->ca_file) {
		good &= curl_easy_setopt(curl, CURLOPT_CAINFO, order->ca_file) == CURLE_OK;
		good &= curl_easy_setopt(curl, CURLOPT_CAPATH, NULL) == CURLE_OK;
	}
	if (strcmp(order->method, "GET") != 0)
		good &= curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, order->method) == CURLE_OK;
	if (order->body) {
		good &= curl_easy_setopt(curl, CURLOPT_POST, 1L) == CURLE_OK;
		good &= curl_easy_setopt(curl, CURLOPT_POSTFIELDS, order->body) == CURLE_OK;
		good &= curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)order->body_len) ==
			CURLE_OK;
	}
	return good;
}

static void say_fault(CURLcode done, struct warder_error *ret)
{
	error_set(ret, WARDER_ERROR_UNAVAILABLE, "backend", "%s", curl_easy_strerror(done));
	ret->sys_errno = done == CURLE_OPERATION_TIMEDOUT ? ETIMEDOUT : 0;
}

/* Redirects are among the answers that are none. */
static void judge(CURL *curl, CURLcode done, const struct receiving *to, struct remote_answer *ret)
{
	long status = 0, sent = 0;

	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(curl, CURLINFO_REQUEST_SIZE, &sent);
	ret->sent = sent > 0;
	if (to->fault)
		error_set(&ret->error, WARDER_ERROR_UNAVAILABLE, "backend", "the host %s", to->fault);
	else if (done != CURLE_OK)
		say_fault(done, &ret->error);
	else if (status >= 300 && status < 400)
		error_set(&ret->error, WARDER_ERROR_UNAVAILABLE, "backend",
			  "the host answers with a redirect (%ld), and redirects are not followed", status);
	else if (status < 100 || status > 599)
		error_set(&ret->error, WARDER_ERROR_UNAVAILABLE, "backend",
			  "the host answers with status %ld", status);
	else
		ret->status = (uint32_t)status;
}

static void perform(CURL *curl, const struct exchange_order *order, struct remote_answer *ret,
		    char **ret_body)
{
	struct receiving to = { .most = order->most };
	struct curl_slist *headers = make_headers(order);
	const size_t len = strlen(order->url);
	char url[8192];

	snprintf(url, sizeof(url), "%.*s%s", (int)(len - (order->url[len - 1] == '/')), order->url,
		 order->path);
	if (!headers || !set_options(curl, order, url, headers, &to))
		error_set(&ret->error, WARDER_ERROR_UNAVAILABLE, "backend", "libcurl lacks an option");
	else
		judge(curl, curl_easy_perform(curl), &to, ret);
	curl_slist_free_all(headers);
	if (ret->status) {
		ret->bytes = to.len;
		*ret_body = to.bytes;
	} else {
		free(to.bytes);
	}
}

void exchange_perform(const struct exchange_order *order, struct remote_answer *ret, char **ret_body)
{
	CURL *curl;

	*ret = (struct remote_answer){ .magic = REMOTE_MAGIC, .size = sizeof(*ret) };
	*ret_body = NULL;
	curl = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? curl_easy_init() : NULL;
	if (!curl) {
		error_set(&ret->error, WARDER_ERROR_UNAVAILABLE, "backend", "libcurl does not start");
		return;
	}
	perform(curl, order, ret, ret_body);
	curl_easy_cleanup(curl);
	curl_global_cleanup();
}
