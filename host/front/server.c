/*
 * server: HTTP/1.1 by libmicrohttpd without a thread of its own: its epoll descriptor is one of the loop's.
 *
 * Every request passes the same checks before its route is found: the Host header must be one that is served (else a page of another site
 * could speak to us by a name of its own), and a page of another origin is refused.
 */
#include "host/front/server.h"

#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "host/front/http.h"

#define IDLE_S     120 /* of a connection */
#define SWEEP_US   UINT64_C(1000000)
#define TARGET_MAX 4096 /* of a request to a server in a sandbox; it is kept beside the request */

/* ---- who asks ---- */

static bool check_header(struct exchange *x)
{
	const uint64_t most = x->front->welcome.limits.header_bytes;
	const union MHD_ConnectionInfo *info =
	    MHD_get_connection_info(x->http->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	char text[80];

	if (!info || info->header_size <= most)
		return true;
	snprintf(text, sizeof(text), "the headers are longer than %llu bytes", (unsigned long long)most);
	exchange_fail(x, 431, text);
	return false;
}

static enum MHD_Result count_host(void *of, enum MHD_ValueKind kind, const char *name, const char *value)
{
	*(size_t *)of += strcasecmp(name, "Host") == 0;
	return MHD_YES;
}

static bool check_host(struct exchange *x)
{
	size_t hosts = 0;
	const char *host = exchange_header(x, "Host");
	const char *origin = exchange_header(x, "Origin");
	const char *origin_host = origin ? strstr(origin, "://") : NULL;

	MHD_get_connection_values(x->http->connection, MHD_HEADER_KIND, count_host, &hosts);
	if (hosts != 1 || !host ||
	    (!name_is_among(x->front->welcome.hosts, host) &&
	     !name_parse(x->front->welcome.domains, host, &x->port, x->http->host_sandbox))) {
		exchange_fail(
		    x, 421,
		    "the Host header names no host that is served here; the settings' \"hosts\" add names");
		return false;
	}
	/* Where another server encrypts for this one, a page of ours has the scheme of that one. */
	if (origin && (!origin_host || strcasecmp(origin_host + 3, host) != 0 ||
		       (exchange_is_encrypted(x) && strncasecmp(origin, "https://", 8) != 0))) {
		exchange_fail(x, 403, "pages of other origins may not use this host");
		return false;
	}
	return true;
}

/* False: the exchange was answered. */
static bool find_sandbox(struct exchange *x)
{
	const char *header = exchange_header(x, "E2b-Sandbox-Id");
	const char *named = x->http->host_sandbox;

	if (*named && header && strcasecmp(header, named) != 0) {
		exchange_fail(x, 400, "E2b-Sandbox-Id names another sandbox than the Host header");
		return false;
	}
	x->sandbox = *named                                                   ? named
		     : x->args[0] && strstr(x->route->pattern, "sandboxes/{") ? x->args[0]
		     : header                                                 ? header
									      : "";
	return true;
}

/* ---- connections ---- */

static void on_connection(void *of, struct MHD_Connection *connection, void **context,
			  enum MHD_ConnectionNotificationCode what)
{
	struct server *server = of;
	const union MHD_ConnectionInfo *info =
	    MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct peer *peer = *context;

	if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (!peer)
			return;
		*(peer->previous ? &peer->previous->next : &server->peers) = peer->next;
		if (peer->next)
			peer->next->previous = peer->previous;
		server->peer_count--;
		free(peer->target);
		free(peer);
		*context = NULL;
		return;
	}
	peer = calloc(1, sizeof(*peer));
	*context = peer;
	if (!peer)
		return;
	*peer = (struct peer){ .next = server->peers,
			       .fd = info ? (int)info->connect_fd : -1,
			       .deadline_us = clock_us() + stranger_header_us(server, NULL) };
	if (peer->next)
		peer->next->previous = peer;
	server->peers = peer;
	server->peer_count++;
	strangers_make_way(server);
}

/* The library counts the connections of one certificate, and lets further ones wait. Those of an earlier certificate count, too: beside them, further
 * ones are closed. */
static enum MHD_Result has_room(void *of, const struct sockaddr *address, socklen_t len)
{
	const struct server *server = of;

	return server->peer_count < server->front->welcome.limits.connections ? MHD_YES : MHD_NO;
}

/* The client has closed its side, and everything that it sent has been read. The library does not notice that if the end came with the last
 * bytes. */
static bool has_left(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* The library keeps the end of an upgraded connection that it encrypts to itself. A client that has closed its side, and of which nothing has come
 * for a second, sends no more: then reading ends for us, too. */
static void end_left(struct exchange_http *http)
{
	struct pollfd client = { .fd = exchange_connection(&http->x), .events = POLLRDHUP };
	char byte;
	const bool left = poll(&client, 1, 0) > 0 &&
			  recv(http->plain_fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;

	if (left && http->left)
		shutdown(http->plain_fd, SHUT_RD);
	http->left = left;
}

/* A request that is not whole when its client leaves never will be. The library sees the end of a connection that is shut down, and closes
 * it. */
static void drop_slow(struct server *server)
{
	const uint64_t now_us = clock_us();

	if (now_us - server->swept_us < SWEEP_US)
		return;
	server->swept_us = now_us;
	for (struct peer *peer = server->peers; peer; peer = peer->next)
		if (peer->deadline_us <= now_us ||
		    (peer->deadline_us != UINT64_MAX && !peer->is_answered && has_left(peer->fd)))
			shutdown(peer->fd, SHUT_RDWR);
	for (struct exchange_http *http = server->exchanges; http; http = http->next)
		if (http->plain_fd >= 0)
			end_left(http);
}

/* A text with a NUL ends there for whoever reads it later, and would name something else than the client wrote. */
static size_t unescape(void *of, struct MHD_Connection *connection, char *text)
{
	struct peer *peer = peer_of(connection);
	const size_t len = MHD_http_unescape(text);

	if (peer && strlen(text) != len)
		peer->has_nul = true;
	return len;
}

/* Before a request is read. */
static void *on_target(void *of, const char *target, struct MHD_Connection *connection)
{
	const struct server *server = of;
	struct peer *peer = peer_of(connection);

	if (!peer)
		return NULL;
	peer->has_nul = false;
	free(peer->target);
	peer->target = *server->front->welcome.domains && strnlen(target, TARGET_MAX + 1) <= TARGET_MAX
			   ? strdup(target)
			   : NULL;
	return NULL;
}

/* Only requests to servers in sandboxes need it. */
static void forget_target(struct MHD_Connection *connection)
{
	struct peer *peer = peer_of(connection);

	if (peer)
		free(peer->target);
	if (peer)
		peer->target = NULL;
}

/* A server in a sandbox gets the target as the client wrote it. False: the exchange was answered. */
static bool check_path(struct exchange *x)
{
	const struct peer *peer = peer_of(x->http->connection);
	bool good = peer && !peer->has_nul;

	if (x->route == &port_route)
		return true;
	for (const char *at = x->path; *at; at++)
		good = good && (unsigned char)*at >= ' ' && *at != 0x7f;
	if (!good)
		exchange_fail(x, 400, "the path has a control character, or the path or the query has a NUL");
	return good;
}

/* ---- bodies ---- */

static void release_body(struct exchange_http *http)
{
	http->x.front->server->bodies -= http->x.body_len;
	free(http->x.body);
	http->x.body = NULL;
	http->x.body_len = 0;
}

static void refuse_body(struct exchange_http *http)
{
	release_body(http);
	exchange_set(&http->x, "Retry-After", "1");
	exchange_fail(&http->x, 503, "too many long bodies are being sent at this time; try again");
}

/* Of the bodies that still come and are not short, one with at least the average, which began first. */
static struct exchange_http *find_oldest_body(const struct server *server, size_t is_short)
{
	struct exchange_http *oldest = NULL;
	size_t count = 0, bytes = 0;

	for (const struct exchange_http *one = server->exchanges; one; one = one->next)
		if (!one->whole && one->x.body_len > is_short) {
			count++;
			bytes += one->x.body_len;
		}
	for (struct exchange_http *one = server->exchanges; one; one = one->next)
		if (!one->whole && one->x.body_len > is_short && one->x.body_len >= bytes / count &&
		    (!oldest || one->body_us < oldest->body_us))
			oldest = one;
	return oldest;
}

/* All bodies share a part of the memory, also those of clients that nobody knows yet. Short ones always fit: with the connections themselves,
 * which take 32 KiB each where they are encrypted, all of that is less than the front has. */
static void make_way_for_body(struct server *server)
{
	const struct link_limits *limits = &server->front->welcome.limits;
	const size_t most = limits->waiting_bytes / 2;
	struct exchange_http *oldest;

	while (server->bodies > most && (oldest = find_oldest_body(server, most / limits->connections / 2)))
		refuse_body(oldest);
}

/* ---- the life of an exchange ---- */

/* False: the exchange was answered. */
static bool need_room(struct exchange *x)
{
	if (exchange_has_room(x))
		return true;
	exchange_set(x, "Retry-After", "1");
	exchange_fail(x, 429, EXCHANGE_NO_ROOM);
	return false;
}

static void find_route(struct exchange_http *http)
{
	struct exchange *x = &http->x;
	bool allowed;

	if (!check_header(x) || !check_host(x))
		return;
	if (!x->port)
		forget_target(http->connection);
	x->route = x->port ? name_route(x, x->args, &allowed)
			   : route_find(x->front->routes, x->method, x->path, x->args, &allowed);
	if (!check_path(x))
		return;
	if (!x->route) {
		exchange_fail(x, allowed ? 405 : 404,
			      allowed ? "this path has no such method" : "there is no such path");
		return;
	}
	/* Nobody guesses a key without one. */
	if (!(x->route->flags & ROUTE_OPEN) && !key_may_be_missing(x) && !exchange_may_show_key(x))
		return;
	if (!key_find(x))
		return;
	if (x->key_kind == LINK_KEY_PEER)
		x->tenant = peer_of(http->connection)->tenant;
	if (find_sandbox(x))
		need_room(x);
}

static struct exchange_http *exchange_begin(struct server *server, struct MHD_Connection *connection,
					    const char *path, const char *method)
{
	struct exchange_http *http = calloc(1, sizeof(*http));

	if (!http)
		return NULL;
	http->connection = connection;
	http->hangup.fd = http->plain_fd = -1;
	http->x = (struct exchange){
		.front = server->front, .method = method, .path = path, .sandbox = "", .http = http
	};
	http->next = server->exchanges;
	if (http->next)
		http->next->previous = http;
	server->exchanges = http;
	find_route(http);
	return http;
}

static void on_completed(void *of, struct MHD_Connection *connection, void **con_cls,
			 enum MHD_RequestTerminationCode why)
{
	struct server *server = of;
	struct exchange_http *http = *con_cls;

	*con_cls = NULL;
	if (peer_of(connection))
		peer_of(connection)->shows_key = false;
	peer_set_deadline(connection, stranger_header_us(server, peer_of(connection)));
	if (!http)
		return;
	/* A key was shown, and this host refused it: a server in a sandbox may have keys of its own. */
	if (http->status == 401 && !http->relays && http->x.key[0])
		lockout_count(http);
	if (http->x.gone)
		http->x.gone(&http->x);
	asking_forget(server->front, &http->x);
	if (http->previous)
		http->previous->next = http->next;
	else
		server->exchanges = http->next;
	if (http->next)
		http->next->previous = http->previous;
	source_remove(server->front, &http->hangup);
	if (http->response)
		MHD_destroy_response(http->response);
	for (size_t i = 0; i < FRONT_ARGS_MAX; i++)
		free(http->x.args[i]);
	for (size_t i = 0; i < 2 * http->name_count; i++)
		free(http->names[i]);
	free(http->names);
	release_body(http);
	exchange_keep(&http->x, NULL, 0);
	exchange_release(http);
	front_bury(server->front, http);
}

/* Whether its handler still wants the body: the request was not refused. */
static bool takes_parts(const struct exchange_http *http)
{
	return !http->response || http->streams;
}

static void add_body(struct exchange_http *http, const char *bytes, size_t len)
{
	struct exchange *x = &http->x;
	const size_t most = x->front->welcome.limits.body_bytes;
	char text[80];
	char *grown;

	if (x->part && takes_parts(http)) {
		x->part(x, bytes, len);
		return;
	}
	if (http->response)
		return;
	if (len > most - x->body_len) {
		snprintf(text, sizeof(text), "the body is longer than %zu bytes", most);
		exchange_fail(x, 413, text);
		return;
	}
	grown = realloc(x->body, x->body_len + len + 1);
	if (!grown) {
		exchange_fail(x, 503, "no memory is left; try again");
		return;
	}
	memcpy(grown + x->body_len, bytes, len);
	if (!x->body_len)
		http->body_us = clock_us();
	x->body = grown;
	x->body_len += len;
	grown[x->body_len] = '\0';
	x->front->server->bodies += len;
	make_way_for_body(x->front->server);
}

static enum MHD_Result queue(struct exchange_http *http)
{
	struct MHD_Response *response = http->response;
	struct peer *peer = peer_of(http->connection);
	enum MHD_Result queued;

	http->response = NULL;
	http->queued = true;
	if (peer && stranger_is_asking(http, peer)) {
		peer_set_deadline(http->connection, STRANGER_US);
		peer->is_answered = true;
		peer->shows_key = false;
	}
	queued = MHD_queue_response(http->connection, http->status, response);
	MHD_destroy_response(response);
	return queued;
}

/* Requests are counted by their tenants. The first one of a connection without a key has none yet, and asks for it while its body comes. An
 * upload needs not: it opens a sandbox, and is counted again then. */
static bool is_unknown(const struct exchange_http *http)
{
	return http->x.key_kind == LINK_KEY_PEER && !http->x.tenant && !exchange_is_upload(http);
}

static void call_handler(struct exchange_http *http)
{
	/* Of one that is unknown, known() calls it. */
	if (http->called || http->response || http->queued || is_unknown(http))
		return;
	http->called = true;
	http->x.route->handle(&http->x);
	if (!http->x.keeps_body)
		release_body(http);
}

/* The launcher has said whose the connection is. */
static void known(struct exchange *x, const struct link_answer *answer, const char *text, int *fd)
{
	struct peer *peer = peer_of(x->http->connection);

	if (peer)
		peer->tenant = answer->tenant;
	if (need_room(x) && x->http->whole)
		call_handler(x->http);
}

/* The headers are there, and the request was not refused. */
static void begin_handling(struct exchange_http *http)
{
	if (exchange_is_upload(http))
		call_handler(http);
	else if (is_unknown(http))
		exchange_ask(&http->x, LINK_KNOWN, 0, NULL, known);
}

static enum MHD_Result on_request(void *of, struct MHD_Connection *connection, const char *path,
				  const char *method, const char *version, const char *bytes, size_t *len,
				  void **con_cls)
{
	struct exchange_http *http = *con_cls;

	if (!http) {
		/* The body is read first, also of a request that was refused: a client that still sends it would not read the answer. */
		*con_cls = exchange_begin(of, connection, path, method);
		http = *con_cls;
		peer_set_deadline(connection, http ? peer_body_us(http) : 0);
		if (http && peer_of(connection))
			peer_of(connection)->shows_key = stranger_shows_key(http);
		if (http && !http->response)
			begin_handling(http);
		return http ? MHD_YES : MHD_NO;
	}
	if (*len && http->held && takes_parts(http) && !http->over) {
		/* The library calls again for each chunk that it has read, even after a suspension, until bytes are left. A connection that is
		   suspended twice breaks the library's lists. */
		peer_set_deadline(connection, UINT64_MAX); /* the client waits for us */
		exchange_sleep(http);
		return MHD_YES;
	}
	if (*len) {
		/* A stranger gets no more time for each piece, nor does a client that was refused; but one that waited for us has to go on. */
		if (exchange_is_upload(http) &&
		    (peer_waits_for_us(connection) ||
		     (takes_parts(http) && !stranger_is_asking(http, peer_of(connection)))))
			peer_set_deadline(connection, peer_body_us(http));
		add_body(http, bytes, *len);
		*len = 0;
		return MHD_YES;
	}
	peer_set_deadline(connection, UINT64_MAX);
	http->whole = true;
	if (http->called && http->x.part && takes_parts(http) && !http->queued) {
		void (*part)(struct exchange * x, const char *bytes, size_t len) = http->x.part;

		http->x.part = NULL;
		part(&http->x, NULL, 0);
	}
	call_handler(http);
	if (http->response)
		return queue(http);
	exchange_sleep(http);
	return MHD_YES;
}

/* ---- the daemon ---- */

static void server_ready(struct source *source, uint32_t events)
{
}

static struct MHD_Daemon *start_daemon(struct server *server, int listen_fd)
{
	const struct front *front = server->front;
	const struct link_limits *limits = &front->welcome.limits;
	struct MHD_OptionItem tls[] = {
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, front->certificate },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, front->private_key },
		{ MHD_OPTION_HTTPS_PRIORITIES, 0,
		  (void *)(uintptr_t) "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2" },
		{ MHD_OPTION_END, 0, NULL },
	};
	struct MHD_OptionItem none[] = { { MHD_OPTION_END, 0, NULL } };

	return MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_ALLOW_UPGRADE |
				    (front->certificate ? MHD_USE_TLS : 0u),
				0, has_room, server, on_request, server, MHD_OPTION_LISTEN_SOCKET, listen_fd,
				MHD_OPTION_CONNECTION_LIMIT, (unsigned int)limits->connections,
				MHD_OPTION_CONNECTION_MEMORY_LIMIT,
				(size_t)limits->header_bytes + HTTP_OWN_BYTES, MHD_OPTION_CONNECTION_TIMEOUT,
				(unsigned int)IDLE_S, MHD_OPTION_URI_LOG_CALLBACK, on_target, server,
				MHD_OPTION_UNESCAPE_CALLBACK, unescape, NULL, MHD_OPTION_NOTIFY_CONNECTION,
				on_connection, server, MHD_OPTION_NOTIFY_COMPLETED, on_completed, server,
				MHD_OPTION_ARRAY, front->certificate ? tls : none, MHD_OPTION_END);
}

/* On failure the library may have closed its descriptor or not, so it gets one of its own. */
static int begin_serving(struct server *server)
{
	struct serving *serving = calloc(1, sizeof(*serving));
	const int listen_fd = fcntl(server->listen_fd, F_DUPFD_CLOEXEC, 0);
	const union MHD_DaemonInfo *info;

	if (serving && listen_fd >= 0)
		serving->daemon = start_daemon(server, listen_fd);
	if (!serving || !serving->daemon) {
		if (fcntl(listen_fd, F_GETFD) >= 0)
			close(listen_fd);
		free(serving);
		return -1;
	}
	info = MHD_get_daemon_info(serving->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	serving->source = (struct source){ .fd = info ? info->epoll_fd : -1, .ready = server_ready };
	if (source_add(server->front, &serving->source, EPOLLIN) < 0) {
		MHD_stop_daemon(serving->daemon);
		free(serving);
		return -1;
	}
	serving->next = server->serving;
	server->serving = serving;
	return 0;
}

int server_new(struct front *front, int listen_fd)
{
	struct server *server = calloc(1, sizeof(*server));
	socklen_t len = sizeof(int);
	int domain = 0;

	if (!server)
		return -1;
	server->front = front;
	server->listen_fd = listen_fd;
	server->is_unix =
	    getsockopt(listen_fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 && domain == AF_UNIX;
	front->server = server;
	return begin_serving(server);
}

int server_change(struct front *front, char *certificate, char *private_key)
{
	struct serving *before = front->server->serving;
	char *old[] = { front->certificate, front->private_key };
	int listen_fd;

	front->certificate = certificate;
	front->private_key = private_key;
	if (!old[0] || begin_serving(front->server) < 0) {
		front->certificate = old[0];
		front->private_key = old[1];
		return -1;
	}
	explicit_bzero(old[1], strlen(old[1]));
	free(old[0]);
	listen_fd = MHD_quiesce_daemon(before->daemon);
	fd_done(&listen_fd);
	return 0;
}

int server_wait_ms(const struct front *front, int most)
{
	MHD_UNSIGNED_LONG_LONG wait_ms;

	for (const struct serving *serving = front->server->serving; serving; serving = serving->next)
		if (MHD_get_timeout(serving->daemon, &wait_ms) == MHD_YES && wait_ms < (unsigned int)most)
			most = (int)wait_ms;
	return most;
}

/* False: it has a connection. */
static bool is_over(const struct serving *serving)
{
	const union MHD_DaemonInfo *info =
	    MHD_get_daemon_info(serving->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);

	return info && info->num_connections == 0;
}

static void end_serving(struct front *front, struct serving *serving)
{
	source_remove(front, &serving->source);
	MHD_stop_daemon(serving->daemon);
	front_bury(front, serving);
}

void server_turn(struct front *front)
{
	for (struct serving *serving = front->server->serving; serving; serving = serving->next)
		MHD_run(serving->daemon);
	for (struct serving **at = &front->server->serving->next; *at;) {
		struct serving *serving = *at;

		if (!is_over(serving)) {
			at = &serving->next;
			continue;
		}
		*at = serving->next;
		end_serving(front, serving);
	}
	drop_slow(front->server);
}
