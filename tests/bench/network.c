/*
 * The two ends that tests/bench/network.py measures between: a server, and a client that takes commands. One program of few system calls, so that
 * neither end takes more time than the way between them.
 *
 *   network serve ADDRESS   answers HTTP requests on port 80, and moves bytes on port 5201; prints "ready"
 *   network relay ADDRESS   takes connections to port 80 of 127.0.0.1, and passes on a request and its answer: what a program in the middle costs
 *   network client HOST     reads commands, a line each, and prints the nanoseconds that each took, a line each:
 *     connect N               N times: connect, send a request, and wait for the first byte of the answer
 *     slow N                  the same, of an answer that the server takes 2 ms for
 *     lookup N                the same, and each time the name is looked up as well
 *     hold N                  make so many connections, and keep them open until its input ends
 *     up BYTES, down BYTES    one connection that carries so many bytes
 *     post BYTES              the same as "up" in the body of an HTTP request that announces its length
 *     chunks BYTES            the same in chunks
 */
#include <arpa/inet.h>
#include <endian.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PORT_HTTP  80
#define PORT_BULK  5201
#define BULK_BYTES (128 << 10)
#define SLOW_NS    2000000
#define BULK_MAGIC 0xff /* neither TLS nor HTTP, nor a byte that servers skip before a request */
#define POST_BYTES 256  /* the head of a request with a body */
#define POST_CHUNK (64 << 10)

/* What a client of PORT_BULK sends first; or a head of POST_BYTES, which says in its first line how many bytes follow it. */
struct order {
	uint8_t magic;
	uint8_t up; /* the client sends the bytes, and gets one byte when all have come */
	uint8_t pad[6];
	uint64_t size; /* big endian */
};

static char bulk[BULK_BYTES];

static _Noreturn void fail(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool receive_all(int fd, void *bytes, size_t len)
{
	return recv(fd, bytes, len, MSG_WAITALL) == (ssize_t)len;
}

/* Bytes of any value. */
static bool move(int fd, uint64_t size, bool out)
{
	while (size) {
		const size_t most = size < sizeof(bulk) ? (size_t)size : sizeof(bulk);
		const ssize_t n = out ? send(fd, bulk, most, MSG_NOSIGNAL) : recv(fd, bulk, most, 0);

		if (n <= 0)
			return false;
		size -= (uint64_t)n;
	}
	return true;
}

/* ---- server ---- */

static int listen_at(const char *address, uint16_t port)
{
	const int on = 1;
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port) };
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (inet_pton(AF_INET, address, &at.sin_addr) != 1 || fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, (struct sockaddr *)(void *)&at, sizeof(at)) < 0 || listen(fd, 1024) < 0)
		fail(address);
	return fd;
}

/* The rest of a head. */
static bool receive_post(int fd, struct order *order)
{
	char head[POST_BYTES + 1] = { 0 };
	unsigned long long size;

	memcpy(head, order, sizeof(*order));
	if (!receive_all(fd, head + sizeof(*order), POST_BYTES - sizeof(*order)) ||
	    sscanf(head, "POST /%llu", &size) != 1)
		return false;
	*order = (struct order){ .magic = BULK_MAGIC, .up = 1, .size = htobe64(size) };
	return true;
}

static void serve_bulk(int fd)
{
	struct order order;

	if (!receive_all(fd, &order, sizeof(order)) || (order.magic == 'P' && !receive_post(fd, &order)) ||
	    order.magic != BULK_MAGIC)
		exit(1);
	if (!move(fd, be64toh(order.size), !order.up) || (order.up && send(fd, "", 1, MSG_NOSIGNAL) != 1))
		exit(1);
	/* The client closes first. */
	while (recv(fd, bulk, sizeof(bulk), 0) > 0)
		;
	exit(0);
}

/* A request comes in one piece. False: the client has closed. */
static bool serve_request(int fd)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes";
	char request[4096];
	const struct timespec pause = { .tv_nsec = SLOW_NS };
	const ssize_t n = recv(fd, request, sizeof(request), 0);

	/* There is one client at a time. */
	if (n > 5 && memcmp(request, "GET /s", 6) == 0)
		nanosleep(&pause, NULL);
	return n > 0 && send(fd, answer, sizeof(answer) - 1, MSG_NOSIGNAL) > 0;
}

static _Noreturn void serve(const char *address)
{
	const int http_fd = listen_at(address, PORT_HTTP);
	const int bulk_fd = listen_at(address, PORT_BULK);
	const int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	const int listeners[] = { http_fd, bulk_fd };
	struct epoll_event event;

	signal(SIGCHLD, SIG_IGN);
	for (int i = 0; i < 2; i++) {
		event = (struct epoll_event){ .events = EPOLLIN, .data.fd = listeners[i] };
		if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listeners[i], &event) < 0)
			fail("epoll");
	}
	puts("ready");
	fflush(stdout);
	for (;;) {
		int fd;

		if (epoll_wait(epoll_fd, &event, 1, -1) < 1)
			continue;
		fd = event.data.fd;
		if (fd != http_fd && fd != bulk_fd) {
			if (!serve_request(fd))
				close(fd);
			continue;
		}
		fd = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			continue;
		if (event.data.fd == http_fd) {
			event = (struct epoll_event){ .events = EPOLLIN, .data.fd = fd };
			epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
			continue;
		}
		if (fork() == 0)
			serve_bulk(fd);
		close(fd);
	}
}

/* ---- connecting ---- */

static void look_up(const char *host, struct sockaddr_in *ret)
{
	const struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
	struct addrinfo *found;

	if (getaddrinfo(host, NULL, &hints, &found) != 0) {
		fprintf(stderr, "%s: no address\n", host);
		exit(1);
	}
	memcpy(ret, found->ai_addr, sizeof(*ret));
	freeaddrinfo(found);
}

static int connect_to(const struct sockaddr_in *server, uint16_t port)
{
	struct sockaddr_in to = *server;
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	to.sin_port = htons(port);
	if (fd < 0 || connect(fd, (struct sockaddr *)(void *)&to, sizeof(to)) < 0)
		fail("connect");
	return fd;
}

/* ---- relay ---- */

/* One message. */
static bool pass(int from, int to)
{
	char bytes[4096];
	const ssize_t n = recv(from, bytes, sizeof(bytes), 0);

	return n > 0 && send(to, bytes, (size_t)n, MSG_NOSIGNAL) == n;
}

static _Noreturn void relay(const char *address)
{
	const int listener = listen_at("127.0.0.1", PORT_HTTP);
	struct sockaddr_in server;

	look_up(address, &server);
	for (;;) {
		const int client = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		int fd;
		char byte;

		if (client < 0)
			continue;
		fd = connect_to(&server, PORT_HTTP);
		if (pass(client, fd) && pass(fd, client))
			recv(client, &byte, 1, 0);
		close(fd);
		close(client);
	}
}

/* ---- measurements ---- */

struct target {
	const char *host;
	struct sockaddr_in server;
	char request[512];
};

static uint64_t first_byte(struct target *target, bool looks_up, bool keeps)
{
	const uint64_t start = now_ns();
	uint64_t end;
	char answer[256]; /* the whole of it, so that the connection ends in order */
	int fd;

	if (looks_up)
		look_up(target->host, &target->server);
	fd = connect_to(&target->server, PORT_HTTP);
	if (send(fd, target->request, strlen(target->request), MSG_NOSIGNAL) < 0 ||
	    recv(fd, answer, sizeof(answer), 0) < 1)
		fail("first byte");
	end = now_ns();
	if (!keeps)
		close(fd);
	return end - start;
}

static uint64_t move_bulk(const struct target *target, bool up, uint64_t size)
{
	const struct order order = { .magic = BULK_MAGIC, .up = up, .size = htobe64(size) };
	const int fd = connect_to(&target->server, PORT_BULK);
	const uint64_t start = now_ns();
	uint64_t end;
	char byte;

	if (send(fd, &order, sizeof(order), MSG_NOSIGNAL) != sizeof(order) || !move(fd, size, up) ||
	    (up && recv(fd, &byte, 1, 0) != 1))
		fail("bytes");
	end = now_ns();
	close(fd);
	return end - start;
}

static bool send_head(int fd, const char *host, bool chunked, uint64_t size)
{
	const uint64_t chunks = size / POST_CHUNK;
	char head[POST_BYTES + 1];
	char length[64];
	int len;

	snprintf(length, sizeof(length), chunked ? "Transfer-Encoding: chunked" : "Content-Length: %llu",
		 (unsigned long long)size);
	/* A chunk of 64 KiB has 9 more bytes, and the last, empty one has 5. */
	len = snprintf(head, sizeof(head), "POST /%llu HTTP/1.1\r\nHost: %s:%d\r\n%s\r\nPad: ",
		       (unsigned long long)(chunked ? size + chunks * 9 + 5 : size), host, PORT_BULK, length);
	memset(head + len, 'x', sizeof(head) - (size_t)len);
	memcpy(head + POST_BYTES - 4, "\r\n\r\n", 4);
	return send(fd, head, POST_BYTES, MSG_NOSIGNAL) == POST_BYTES;
}

/* As clients do: each chunk in one piece. */
static bool send_chunks(int fd, uint64_t size)
{
	static char chunk[POST_CHUNK + 9] = "10000\r\n";

	memcpy(chunk + sizeof(chunk) - 2, "\r\n", 2);
	for (uint64_t sent = 0; sent < size; sent += POST_CHUNK)
		if (send(fd, chunk, sizeof(chunk), MSG_NOSIGNAL) != sizeof(chunk))
			return false;
	return send(fd, "0\r\n\r\n", 5, MSG_NOSIGNAL) == 5;
}

/* `size` is a multiple of a chunk's. */
static uint64_t post_bulk(const struct target *target, bool chunked, uint64_t size)
{
	const int fd = connect_to(&target->server, PORT_BULK);
	const uint64_t start = now_ns();
	uint64_t end;
	char byte;

	if (!send_head(fd, target->host, chunked, size) ||
	    !(chunked ? send_chunks(fd, size) : move(fd, size, true)) || recv(fd, &byte, 1, 0) != 1)
		fail("request");
	end = now_ns();
	close(fd);
	return end - start;
}

static uint64_t run_once(struct target *target, const char *word, unsigned long long count)
{
	if (strcmp(word, "up") == 0 || strcmp(word, "down") == 0)
		return move_bulk(target, *word == 'u', count);
	if (strcmp(word, "post") == 0 || strcmp(word, "chunks") == 0)
		return post_bulk(target, *word == 'c', count);
	return first_byte(target, *word == 'l', *word == 'h');
}

static void take_command(struct target *target, const char *word, unsigned long long count)
{
	static const char *const single[] = { "up", "down", "post", "chunks" };
	bool moves = false;

	for (size_t i = 0; i < sizeof(single) / sizeof(*single); i++)
		moves |= strcmp(word, single[i]) == 0;

	snprintf(target->request, sizeof(target->request), "GET /%s HTTP/1.1\r\nHost: %s\r\n\r\n",
		 *word == 's' ? "slow" : "", target->host);
	for (unsigned long long left = moves ? 1 : count; left; left--)
		printf("%llu\n", (unsigned long long)run_once(target, word, count));
	fflush(stdout);
}

static int take_commands(const char *host)
{
	struct target target = { .host = host };
	unsigned long long count;
	char line[64];
	char word[16];

	look_up(host, &target.server);
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "%15s %llu", word, &count) != 2)
			return 2;
		take_command(&target, word, count);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "serve") == 0)
		serve(argv[2]);
	if (argc == 3 && strcmp(argv[1], "relay") == 0)
		relay(argv[2]);
	if (argc == 3 && strcmp(argv[1], "client") == 0)
		return take_commands(argv[2]);
	fprintf(stderr, "usage: network serve ADDRESS | network relay ADDRESS | network client HOST\n");
	return 2;
}
