/*
 * exchange: libcurl with everything off that a host could use.
 *
 * The other end may be slow, lie, die or send us elsewhere. So: no redirect is followed, no proxy of the environment asked, no
 * compression accepted (it would get round the limits), no other protocol spoken. What it sends is counted while it comes. A connection
 * on which nothing can be heard is given up by TCP's keepalive, also while a program runs for hours.
 */
#include "remote/exchange.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEEPALIVE_S 15L

struct exchange {
	CURL *curl;
	struct curl_slist *headers;
	char *bytes;
	size_t len, most, header_bytes;
	bool (*take)(void *context, const char *bytes, size_t len);
	bool (*holds)(void *context);
	void *context;
	const char *fault; /* why we stopped; or NULL */
};

static size_t take_header(char *bytes, size_t size, size_t count, void *context)
{
	struct exchange *to = context;

	to->header_bytes += size * count;
	if (to->header_bytes <= REMOTE_HEADERS_MAX)
		return size * count;
	to->fault = "sent more than 64 KiB of headers";
	return 0;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *context)
{
	struct exchange *to = context;
	const size_t len = size * count;
	long status = 0;
	char *grown;

	curl_easy_getinfo(to->curl, CURLINFO_RESPONSE_CODE, &status);
	if (to->take && status == 200 && to->holds && to->holds(to->context))
		return CURL_WRITEFUNC_PAUSE;
	if (to->take && status == 200)
		return to->take(to->context, bytes, len) ? len : 0;
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

/* False: no memory. */
static bool add_header(struct curl_slist **list, const char *line)
{
	struct curl_slist *longer = curl_slist_append(*list, line);

	if (longer)
		*list = longer;
	return longer != NULL;
}

static const char *type_of(const struct exchange_order *order)
{
	if (order->type)
		return order->type;
	if (strcmp(order->method, "POST") == 0)
		return "application/json";
	return strcmp(order->method, "PUT") == 0 ? "application/octet-stream" : NULL;
}

static bool make_headers(const struct exchange_order *order, struct curl_slist **ret)
{
	const char *type = type_of(order);
	char line[REMOTE_TOKEN_MAX + 16];
	bool good = add_header(ret, "Expect:");

	if (type) {
		snprintf(line, sizeof(line), "Content-Type: %s", type);
		good = good && add_header(ret, line);
	}
	if (order->accept) {
		snprintf(line, sizeof(line), "Accept: %.60s", order->accept);
		good = good && add_header(ret, line);
	}
	for (size_t i = 0; order->headers && order->headers[i]; i++)
		good = good && add_header(ret, order->headers[i]);
	if (order->token) {
		snprintf(line, sizeof(line), "X-API-Key: %s", order->token);
		good = good && add_header(ret, line);
		explicit_bzero(line, sizeof(line));
	}
	return good;
}

/* The bytes of the order go out as they are. Whether libcurl took every option. */
static bool set_options(CURL *curl, const struct exchange_order *order, const char *url, struct exchange *to)
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
	good &= curl_easy_setopt(curl, CURLOPT_HTTPHEADER, to->headers) == CURLE_OK;
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

/* As a number of errno, if another connection may bring an answer; or 0. A certificate that is refused (CURLE_PEER_FAILED_VERIFICATION) stays so. */
static int errno_of(CURLcode done)
{
	switch (done) {
	case CURLE_OPERATION_TIMEDOUT:
		return ETIMEDOUT;
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_CONNECT:
	case CURLE_SSL_CONNECT_ERROR:
		return ECONNREFUSED;
	case CURLE_GOT_NOTHING:
	case CURLE_PARTIAL_FILE:
	case CURLE_RECV_ERROR:
	case CURLE_SEND_ERROR:
		return ECONNRESET;
	default:
		return 0;
	}
}

static void say_fault(CURLcode done, struct warder_error *ret)
{
	error_set(ret, WARDER_ERROR_UNAVAILABLE, "backend", "%s", curl_easy_strerror(done));
	ret->sys_errno = errno_of(done);
}

bool exchange_was_sent(const struct exchange *exchange)
{
	long sent = 0;

	curl_easy_getinfo(exchange->curl, CURLINFO_REQUEST_SIZE, &sent);
	return sent > 0;
}

/* Redirects are among the answers that are none. */
static void judge(const struct exchange *to, CURLcode done, struct remote_answer *ret)
{
	long status = 0;
	curl_off_t retry_s = 0;

	curl_easy_getinfo(to->curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(to->curl, CURLINFO_RETRY_AFTER, &retry_s);
	ret->sent = exchange_was_sent(to);
	ret->retry_s = retry_s < 0 || retry_s > UINT32_MAX ? UINT32_MAX : (uint32_t)retry_s;
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

static void exchange_free(struct exchange *exchange)
{
	curl_easy_cleanup(exchange->curl);
	curl_slist_free_all(exchange->headers);
	free(exchange->bytes);
	free(exchange);
}

struct exchange *exchange_new(const struct exchange_order *order)
{
	struct exchange *exchange = calloc(1, sizeof(*exchange));
	const size_t len = strlen(order->url);
	char url[8192];

	if (!exchange)
		return NULL;
	exchange->most = order->most;
	exchange->take = order->take;
	exchange->holds = order->holds;
	exchange->context = order->context;
	exchange->curl = curl_easy_init();
	snprintf(url, sizeof(url), "%.*s%s", (int)(len - (order->url[len - 1] == '/')), order->url,
		 order->path);
	if (exchange->curl && make_headers(order, &exchange->headers) &&
	    set_options(exchange->curl, order, url, exchange))
		return exchange;
	exchange_free(exchange);
	return NULL;
}

CURL *exchange_handle(const struct exchange *exchange)
{
	return exchange->curl;
}

void exchange_finish(struct exchange *exchange, CURLcode done, struct remote_answer *ret, char **ret_body)
{
	*ret = (struct remote_answer){ .magic = REMOTE_MAGIC, .size = sizeof(*ret) };
	*ret_body = NULL;
	judge(exchange, done, ret);
	if (ret->status) {
		ret->bytes = exchange->len;
		ret->own = ret->status >= 400 && remote_is_refusal(exchange->bytes, exchange->len);
		*ret_body = exchange->bytes;
		exchange->bytes = NULL;
	}
	exchange_free(exchange);
}

void exchange_perform(const struct exchange_order *order, struct remote_answer *ret, char **ret_body)
{
	struct exchange *exchange = exchange_new(order);

	if (exchange) {
		exchange_finish(exchange, curl_easy_perform(exchange->curl), ret, ret_body);
		return;
	}
	*ret = (struct remote_answer){ .magic = REMOTE_MAGIC, .size = sizeof(*ret) };
	*ret_body = NULL;
	error_set(&ret->error, WARDER_ERROR_UNAVAILABLE, "backend",
		  "libcurl does not start, or lacks an option");
}
