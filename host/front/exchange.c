/*
 * A request and its answer. One that cannot be answered at once is suspended. The library does not look at the socket of a suspended
 * connection, so the loop does: when the client hangs up, the exchange ends.
 */
#include "host/front/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/clock.h"

#define STREAM_BLOCK 8192
#define SHORT_BYTES  8192   /* of an answer; longer ones are counted */
#define VALUES_MAX   131072 /* of a body, some 20 MiB */
#define HEAD_BYTES   320    /* of the head of an answer, at most, besides its own headers */
#define VALUE_BYTES  64     /* of what the library keeps for a header of a request, besides its text */

/* ---- what a request says ---- */

const char *exchange_header(const struct exchange *x, const char *name)
{
	return MHD_lookup_connection_value(x->http->connection, MHD_HEADER_KIND, name);
}

const char *exchange_query(const struct exchange *x, const char *name)
{
	return MHD_lookup_connection_value(x->http->connection, MHD_GET_ARGUMENT_KIND, name);
}

const char *exchange_target(const struct exchange *x)
{
	const union MHD_ConnectionInfo *info =
	    MHD_get_connection_info(x->http->connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	const struct peer *peer = info ? info->socket_context : NULL;

	return peer ? peer->target : NULL;
}

struct headers {
	void *context;
	bool (*each)(void *context, const char *name, const char *value);
};

static enum MHD_Result take_header(void *of, enum MHD_ValueKind kind, const char *name, const char *value)
{
	const struct headers *headers = of;

	return headers->each(headers->context, name, value ? value : "") ? MHD_YES : MHD_NO;
}

void exchange_headers(const struct exchange *x, void *context,
		      bool (*each)(void *context, const char *name, const char *value))
{
	struct headers headers = { context, each };

	MHD_get_connection_values(x->http->connection, MHD_HEADER_KIND, take_header, &headers);
}

unsigned int exchange_port(const struct exchange *x)
{
	const char *header = exchange_header(x, "E2b-Sandbox-Port");

	return x->port ? x->port : header ? (unsigned int)strtoul(header, NULL, 10) : 0;
}

int exchange_object(struct exchange *x, struct json_value **ret)
{
	static const struct json_limits limits = { .max_values = VALUES_MAX };
	struct warder_error err = { 0 };
	const bool empty = x->body_len == 0;

	if (json_parse(empty ? "{}" : x->body, empty ? 2 : x->body_len, "request", &limits, ret, &err) < 0) {
		exchange_error(x, 400, &err);
		return -1;
	}
	if (x->route->body ? body_check(x->route->body, *ret, &err) == 0 : (*ret)->type == JSON_OBJECT)
		return 0;
	json_free(*ret);
	*ret = NULL;
	if (err.code)
		exchange_error(x, 400, &err);
	else
		exchange_fail(x, 400, "the body must be a JSON object");
	return -1;
}

/* With what the allocator adds. */
static size_t bytes_of(const struct json_value *value)
{
	size_t bytes = 0;

	for (; value; value = value->next)
		bytes += sizeof(*value) + 3 * sizeof(size_t) +
			 (value->string ? strlen(value->string) + 24 : 0) +
			 (value->key ? strlen(value->key) + 24 : 0) + bytes_of(value->child);
	return bytes;
}

/* Without a key, only the launcher knows whose a request is. */
static bool has_same_key(const struct exchange *a, const struct exchange *b)
{
	return a->key[0] && strcmp(a->key, b->key) == 0;
}

static bool has_same_owner(const struct exchange *a, const struct exchange *b)
{
	return has_same_key(a, b) || (a->tenant && a->tenant == b->tenant);
}

/* Bytes of documents that all handlers together may keep. */
static size_t most_kept(const struct exchange *x)
{
	return x->front->welcome.limits.waiting_bytes / 4;
}

/* Of its tenant, as far as that is known. */
static size_t kept_by_owner(const struct exchange *x)
{
	size_t bytes = 0;

	for (const struct exchange_http *one = x->front->server->exchanges; one; one = one->next)
		bytes += has_same_owner(&one->x, x) ? one->kept : 0;
	return bytes;
}

bool exchange_keeps_too_much(const struct exchange *x)
{
	return x->http->kept > SHORT_BYTES && kept_by_owner(x) > most_kept(x) / 2;
}

/* Short documents always fit: a tenant has a limited number of requests at a time. Of the memory for long ones, a tenant has at most half. */
bool exchange_keep(struct exchange *x, const struct json_value *document, size_t more)
{
	struct server *server = x->front->server;
	const size_t most = most_kept(x);
	const size_t bytes = (document ? bytes_of(document) : 0) + more;

	server->kept -= x->http->kept;
	x->http->kept = 0;
	if (bytes > most / 2) {
		exchange_fail(x, 413, "the body has too many values, or too long ones");
		return false;
	}
	if (bytes > SHORT_BYTES && (server->kept + bytes > most || kept_by_owner(x) + bytes > most / 2)) {
		exchange_set(x, "Retry-After", "1");
		exchange_fail(x, 503, EXCHANGE_KEEPS_TOO_MUCH);
		return false;
	}
	x->http->kept = bytes;
	server->kept += bytes;
	return true;
}

void exchange_keep_less(struct exchange *x, size_t bytes)
{
	if (bytes >= x->http->kept)
		return;
	x->front->server->kept -= x->http->kept - bytes;
	x->http->kept = bytes;
}

/* ---- answers ---- */

static void wake(struct exchange_http *http)
{
	if (!http->suspended)
		return;
	http->suspended = false;
	source_remove(http->x.front, &http->hangup);
	MHD_resume_connection(http->connection);
}

static void put_header(struct exchange_http *http, const char *name, const char *value)
{
	if (MHD_add_response_header(http->response, name, value) != MHD_YES)
		http->lacks_header = true;
}

static void put_headers(struct exchange_http *http, const char *media_type)
{
	if (media_type)
		put_header(http, "Content-Type", media_type);
	for (size_t i = 0; i < http->name_count; i++)
		put_header(http, http->names[2 * i], http->names[2 * i + 1]);
	/* A server in a sandbox has an origin of its own, for which it speaks alone. */
	if (http->relays)
		return;
	put_header(http, "X-Content-Type-Options", "nosniff");
	put_header(http, "Cache-Control", "no-store");
	put_header(http, "Content-Security-Policy",
		   http->x.route && (http->x.route->flags & ROUTE_PAGE)
		       ? page_policy()
		       : "default-src 'none'; frame-ancestors 'none'");
	put_header(http, "Referrer-Policy", "no-referrer");
	put_header(http, "Cross-Origin-Resource-Policy", "same-origin");
}

/* The library writes the head of an answer into what the request has left of the connection's memory. If it does not fit, the library closes the
 * connection without an answer. */
static bool head_fits(const struct exchange_http *http)
{
	const union MHD_ConnectionInfo *info =
	    MHD_get_connection_info(http->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	const char *cookies = exchange_header(&http->x, "Cookie"); /* copied */
	const int values = MHD_get_connection_values(
	    http->connection, MHD_HEADER_KIND | MHD_COOKIE_KIND | MHD_GET_ARGUMENT_KIND, NULL, NULL);
	size_t bytes = HEAD_BYTES + (info ? info->header_size : 0) + (cookies ? strlen(cookies) : 0) +
		       (size_t)values * VALUE_BYTES;

	for (size_t i = 0; i < 2 * http->name_count; i++)
		bytes += strlen(http->names[i]) + 2;
	return bytes <= http->x.front->welcome.limits.header_bytes + HTTP_OWN_BYTES;
}

/* A header may be what protects a browser. Without one of them, only this is said, and what would have been streamed is thrown away, as is the rest
 * of the request. */
static void replace_by_error(struct exchange_http *http, const char *message)
{
	char text[160];
	const int len = snprintf(text, sizeof(text), "{\"code\":502,\"message\":\"%s\"}", message);

	MHD_destroy_response(http->response);
	http->response = MHD_create_response_from_buffer((size_t)len, text, MHD_RESPMEM_MUST_COPY);
	http->status = 502;
	http->streams = false;
	http->over = true;
	exchange_release(http);
}

static void respond(struct exchange_http *http, unsigned int status, const char *media_type,
		    struct MHD_Response *response)
{
	if (http->response || http->queued || !response) {
		if (response)
			MHD_destroy_response(response);
		return;
	}
	http->response = response;
	http->status = status;
	put_headers(http, media_type);
	if (http->lacks_header)
		replace_by_error(http, "a header of the answer cannot be passed on");
	else if (http->relays && !head_fits(http))
		replace_by_error(http, "the headers of the answer are too long beside those of the request");
	wake(http);
}

void exchange_set(struct exchange *x, const char *name, const char *value)
{
	struct exchange_http *http = x->http;
	char **grown = realloc(http->names, 2 * (http->name_count + 1) * sizeof(*grown));
	char *pair[2];

	http->lacks_header = http->lacks_header || !grown;
	if (!grown)
		return;
	http->names = grown;
	pair[0] = strdup(name);
	pair[1] = strdup(value);
	if (!pair[0] || !pair[1]) {
		http->lacks_header = true;
		free(pair[0]);
		free(pair[1]);
		return;
	}
	memcpy(&grown[2 * http->name_count++], pair, sizeof(pair));
}

void exchange_json(struct exchange *x, unsigned int status, char *json)
{
	if (json)
		exchange_bytes(x, status, "application/json", json, strlen(json));
	else
		exchange_fail(x, 500, "no memory is left");
}

void exchange_empty(struct exchange *x, unsigned int status)
{
	static char nothing[1];

	respond(x->http, status, NULL, MHD_create_response_from_buffer(0, nothing, MHD_RESPMEM_PERSISTENT));
}

void exchange_error(struct exchange *x, unsigned int status, const struct warder_error *err)
{
	struct json_writer w = { 0 };
	static char none[] = "{\"code\":500,\"message\":\"no memory is left\"}";
	char *text;

	json_begin_object(&w);
	json_key_uint(&w, "code", status);
	json_key_string(&w, "message", err->text[0] ? err->text : "the request failed");
	if (err->code)
		json_key_string(&w, "kind", warder_error_kind_name(err->code));
	if (err->field[0])
		json_key_string(&w, "field", err->field);
	json_end_object(&w);
	text = json_take(&w);
	if (text)
		exchange_bytes(x, status, "application/json", text, strlen(text));
	else
		respond(x->http, 500, "application/json",
			MHD_create_response_from_buffer(sizeof(none) - 1, none, MHD_RESPMEM_PERSISTENT));
}

void exchange_fail(struct exchange *x, unsigned int status, const char *message)
{
	struct warder_error err = { .code = status == 503 ? WARDER_ERROR_UNAVAILABLE : WARDER_ERROR_NONE };

	snprintf(err.text, sizeof(err.text), "%s", message);
	exchange_error(x, status, &err);
}

/* ---- streams ---- */

static void hangup_ready(struct source *source, uint32_t events)
{
	struct exchange_http *http =
	    (struct exchange_http *)(void *)((char *)source - offsetof(struct exchange_http, hangup));

	http->over = true;
	http->ended = true;
	if (!http->streams)
		exchange_empty(&http->x, 499);
	wake(http);
}

void exchange_sleep(struct exchange_http *http)
{
	const union MHD_ConnectionInfo *info =
	    MHD_get_connection_info(http->connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	MHD_suspend_connection(http->connection);
	http->suspended = true;
	http->hangup = (struct source){ .fd = info ? (int)info->connect_fd : -1, .ready = hangup_ready };
	source_add(http->x.front, &http->hangup, EPOLLRDHUP);
}

void exchange_release(struct exchange_http *http)
{
	http->x.front->server->waiting -= http->out_size;
	free(http->out);
	http->out = NULL;
	http->out_at = http->out_len = http->out_size = 0;
}

/* Break off a stream: its client loses the connection, and may begin another one where it has stopped. */
static void cut_off(struct exchange_http *http)
{
	const union MHD_ConnectionInfo *info =
	    MHD_get_connection_info(http->connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	exchange_release(http);
	http->over = true;
	http->ended = true;
	if (info)
		shutdown((int)info->connect_fd, SHUT_RDWR);
	if (http->queued)
		wake(http);
}

/* Of the streams with at least the average, the one whose client has read nothing for the longest time. */
static struct exchange_http *find_slowest(const struct server *server, const struct exchange_http *spared)
{
	struct exchange_http *slowest = NULL;
	size_t count = 0;

	for (const struct exchange_http *one = server->exchanges; one; one = one->next)
		count += one->out_size > 0;
	for (struct exchange_http *one = server->exchanges; one; one = one->next)
		if (one != spared && one->out_size && one->out_size >= server->waiting / count &&
		    (!slowest || one->since_us < slowest->since_us))
			slowest = one;
	return slowest;
}

/* All streams share a part of the memory. Where they fill it, the slowest client has to give way. spared: an answer that has just begun; or
 * NULL. */
static void make_way(struct server *server, const struct exchange_http *spared)
{
	struct exchange_http *slowest;

	while (server->waiting > server->front->welcome.limits.waiting_bytes &&
	       (slowest = find_slowest(server, spared)))
		cut_off(slowest);
}

void exchange_waits(struct exchange *x, size_t bytes, bool moves)
{
	struct exchange_http *http = x->http;
	struct server *server = x->front->server;

	if (http->over) /* cut off already */
		bytes = 0;
	if (moves || !http->out_size)
		http->since_us = clock_us();
	server->waiting = server->waiting - http->out_size + bytes;
	http->out_size = bytes;
	make_way(server, NULL);
}

static ssize_t read_stream(void *of, uint64_t at, char *to, size_t most)
{
	struct exchange_http *http = of;
	const size_t left = http->out_len - http->out_at;
	const size_t len = left < most ? left : most;

	if (http->over)
		return MHD_CONTENT_READER_END_WITH_ERROR;
	if (len) {
		memcpy(to, http->out + http->out_at, len);
		http->out_at += len;
		http->since_us = clock_us();
		if (http->out_at == http->out_len) {
			exchange_release(http);
			if (!http->ended && http->x.room)
				http->x.room(&http->x);
		}
		return (ssize_t)len;
	}
	if (http->ended)
		return MHD_CONTENT_READER_END_OF_STREAM;
	exchange_sleep(http);
	return 0;
}

void exchange_stream_of(struct exchange *x, unsigned int status, const char *media_type, uint64_t length)
{
	x->http->streams = true;
	respond(x->http, status, media_type,
		MHD_create_response_from_callback(length == UINT64_MAX ? MHD_SIZE_UNKNOWN : length,
						  STREAM_BLOCK, read_stream, x->http, NULL));
}

void exchange_stream(struct exchange *x, unsigned int status, const char *media_type)
{
	exchange_stream_of(x, status, media_type, UINT64_MAX);
}

void exchange_relay(struct exchange *x)
{
	x->http->relays = true;
}

static bool make_room(struct exchange_http *http, size_t len)
{
	size_t size = http->out_size ? http->out_size : 4096;
	char *grown;

	if (http->out_at) {
		memmove(http->out, http->out + http->out_at, http->out_len - http->out_at);
		http->out_len -= http->out_at;
		http->out_at = 0;
	}
	while (size < http->out_len + len)
		size *= 2;
	if (size <= http->out_size)
		return true;
	grown = realloc(http->out, size);
	if (!grown)
		return false;
	http->x.front->server->waiting += size - http->out_size;
	http->out = grown;
	http->out_size = size;
	return true;
}

bool exchange_write(struct exchange *x, const void *bytes, size_t len)
{
	struct exchange_http *http = x->http;

	if (http->over || http->ended || !len)
		return true;
	if (!make_room(http, len)) {
		http->over = true; /* half a stream would look like a whole one */
	} else {
		if (http->out_at == http->out_len)
			http->since_us = clock_us();
		memcpy(http->out + http->out_len, bytes, len);
		http->out_len += len;
		make_way(x->front->server, NULL);
	}
	if (http->queued)
		wake(http);
	return http->out_len - http->out_at < FRONT_OUT_MAX;
}

void exchange_end(struct exchange *x)
{
	x->http->ended = true;
	if (x->http->queued)
		wake(x->http);
}

void exchange_abort(struct exchange *x)
{
	x->http->over = true;
	exchange_end(x);
}

void exchange_hold(struct exchange *x, bool hold)
{
	x->http->held = hold;
	if (!hold)
		wake(x->http);
}

/* A long answer counts as a stream does: its client may read it slowly. */
static struct MHD_Response *counted_response(struct exchange_http *http, char *bytes, size_t len)
{
	struct MHD_Response *response;

	exchange_release(http);
	response = MHD_create_response_from_callback(len, STREAM_BLOCK, read_stream, http, NULL);
	if (!response)
		return NULL;
	http->out = bytes;
	http->out_len = http->out_size = len;
	http->since_us = clock_us();
	http->ended = true;
	http->x.front->server->waiting += len;
	make_way(http->x.front->server, http);
	return response;
}

void exchange_bytes(struct exchange *x, unsigned int status, const char *media_type, char *bytes, size_t len)
{
	struct exchange_http *http = x->http;
	struct MHD_Response *response = NULL;

	if (len <= SHORT_BYTES)
		response = MHD_create_response_from_buffer(len, bytes, MHD_RESPMEM_MUST_FREE);
	else if (!http->response && !http->queued && !http->over)
		response = counted_response(http, bytes, len);
	if (!response)
		free(bytes);
	respond(http, status, media_type, response);
}

/* ---- another protocol ---- */

static void on_upgrade(void *of, struct MHD_Connection *connection, void *request, const char *bytes,
		       size_t len, MHD_socket fd, struct MHD_UpgradeResponseHandle *handle)
{
	struct exchange_http *http = of;

	http->upgraded = handle;
	http->plain_fd = exchange_is_encrypted(&http->x) ? (int)fd : -1;
	http->began(&http->x, (int)fd, bytes, len);
}

void exchange_upgrade(struct exchange *x, const char *protocol,
		      void (*began)(struct exchange *x, int fd, const char *bytes, size_t len))
{
	struct MHD_Response *response = MHD_create_response_for_upgrade(on_upgrade, x->http);

	x->http->began = began;
	if (response)
		MHD_add_response_header(response, "Upgrade", protocol);
	respond(x->http, 101, NULL, response);
}

void exchange_close(struct exchange *x)
{
	struct MHD_UpgradeResponseHandle *handle = x->http->upgraded;

	x->http->upgraded = NULL;
	x->http->plain_fd = -1;
	if (handle)
		MHD_upgrade_action(handle, MHD_UPGRADE_ACTION_CLOSE);
}

bool exchange_is_encrypted(const struct exchange *x)
{
	return x->front->certificate != NULL;
}

int exchange_connection(const struct exchange *x)
{
	const union MHD_ConnectionInfo *info =
	    MHD_get_connection_info(x->http->connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	return info ? (int)info->connect_fd : -1;
}

bool exchange_has_room(struct exchange *x)
{
	const struct exchange_http *all = x->front->server->exchanges;
	size_t count = 0;

	if (x->key_kind == LINK_KEY_NONE)
		return true;
	for (const struct exchange_http *one = all; one && !x->tenant; one = one->next)
		if (has_same_key(&one->x, x))
			exchange_belongs(x, one->x.tenant);
	for (const struct exchange_http *one = all; one; one = one->next)
		count += has_same_owner(&one->x, x);
	return count <= x->front->welcome.limits.connections_a_tenant;
}

char *exchange_take_body(struct exchange *x)
{
	char *body = x->body;

	x->body = NULL;
	x->front->server->bodies -= x->body_len;
	x->body_len = 0;
	return body;
}
