/*
 * warder-edge: connects for one jail, whose network namespace has no way out, to what the policy allows. Started by a supervisor, never by
 * hand; edge.h says what it is given.
 *
 *   supervisor                warder-edge                                jail's init
 *   starts it  ------------>  reads rules, resolv.conf, hosts
 *                             leaves files, user, capabilities, calls
 *                             receives the sockets  <------------------  makes them in the namespace
 *   awaits one byte  <------  serves: names, connections, first packets
 *   closes the socket ----->  ends
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "edge/confine.h"
#include "edge/connection.h"
#include "edge/dns.h"
#include "edge/report.h"
#include "edge/tls.h"

#define OWN_MAX         64
#define DNS_CLIENTS_MAX 16
#define EVENTS_MAX      256

/* A resolver's client by TCP. */
struct dns_client {
	struct source source;
	uint8_t bytes[2 + 512];
	size_t len;
};

static struct edge edge = { .epoll_fd = -1, .spare_fd = -1 };
static struct source control = { SOURCE_CONTROL, EDGE_FD_CONTROL, NULL };
static struct source counter = { SOURCE_COUNTER, EDGE_FD_COUNTER, NULL };
static struct source sockets[EDGE_SOCKET_COUNT + EDGE_LISTENERS_MAX];
static struct source resolver_sockets[64];
static struct dns_client dns_clients[DNS_CLIENTS_MAX];

static _Noreturn void fail(const char *what)
{
	char text[160];
	const int len = snprintf(text, sizeof(text), "%s: %s", what, strerror(errno));

	if (send(EDGE_FD_CONTROL, text, (size_t)len, MSG_NOSIGNAL) < 0)
		_exit(124);
	_exit(125);
}

static int add(struct source *source, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = source };

	return epoll_ctl(edge.epoll_fd, EPOLL_CTL_ADD, source->fd, &event);
}

/* ---- what it is given ---- */

static void *map_file(int fd, size_t least, int protection, size_t *ret_size)
{
	struct stat st;
	void *at;

	if (fstat(fd, &st) < 0 || st.st_size < (off_t)least) {
		close(fd);
		errno = EINVAL;
		return NULL;
	}
	*ret_size = (size_t)st.st_size;
	at = mmap(NULL, *ret_size, protection, MAP_SHARED, fd, 0);
	close(fd);
	return at == MAP_FAILED ? NULL : at;
}

/* So many sockets, in messages of one byte. */
static void receive_sockets(int *ret_fds, size_t wanted)
{
	size_t count = 0;

	while (count < wanted) {
		int fds[EDGE_FDS_AT_ONCE];
		char byte;
		const ssize_t n = fd_receive(EDGE_FD_SETUP, &byte, 1, fds, EDGE_FDS_AT_ONCE, 0);

		if (n == 0)
			_exit(0); /* the launch was given up */
		if (n < 0 || fds[0] < 0)
			fail("the jail's sockets");
		for (size_t i = 0; i < EDGE_FDS_AT_ONCE && fds[i] >= 0 && count < wanted; i++) {
			fcntl(fds[i], F_SETFL, O_NONBLOCK | O_RDWR);
			ret_fds[count++] = fds[i];
		}
	}
	close(EDGE_FD_SETUP);
}

/* ---- credentials ---- */

static _Noreturn void fail_secret(const struct edge_inject *rule, const char *why)
{
	char text[160];
	const int len =
	    snprintf(text, sizeof(text), "network.allow[%u].inject.secretFile: %s", rule->row, why);

	send(EDGE_FD_CONTROL, text, (size_t)len, MSG_NOSIGNAL);
	_exit(125);
}

/* Memory that no dump has, and that is not swapped out where that is allowed. */
static void *keep_secrets(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		fail("memory for secrets");
	madvise(at, size, MADV_DONTDUMP);
	mlock(at, size);
	return at;
}

static void read_secret(const struct edge_inject *rule, struct inject_secret *secret, int fd)
{
	static char text[INJECT_SECRET_MAX + 3]; /* with a line's end, and a byte too many */
	const char *fault;
	size_t len = 0;
	ssize_t n;

	do {
		n = read(fd, text + len, sizeof(text) - len);
		if (n < 0 && errno != EINTR)
			fail_secret(rule, strerror(errno));
		len += n > 0 ? (size_t)n : 0;
	} while (n != 0 && len < sizeof(text));
	close(fd);
	fault = inject_take_secret(secret, text, len);
	explicit_bzero(text, sizeof(text));
	if (fault)
		fail_secret(rule, fault);
}

/* The supervisor waits for the authority, which it shows in the jail; it does not wait for the rest. */
static void prepare_injects(void)
{
	const size_t count = edge.config->inject_count;
	char message[EDGE_AUTHORITY_MAX];
	const char *what = "";
	const char *pem;
	size_t len = 0;

	edge.secrets = keep_secrets(count * sizeof(*edge.secrets));
	for (size_t i = 0; i < count; i++)
		read_secret(&edge.config->injects[i], &edge.secrets[i], EDGE_FD_COUNT + (int)i);
	if (tls_init(&what) < 0)
		fail(what);
	pem = tls_authority(&len);
	if (!pem || len + 1 > sizeof(message))
		fail("the authority of this run");
	message[0] = EDGE_AUTHORITY;
	memcpy(message + 1, pem, len);
	if (send(EDGE_FD_CONTROL, message, len + 1, MSG_NOSIGNAL) < 0)
		_exit(124);
	if (tls_trust(EDGE_TRUST, &what) < 0)
		fail(what);
	for (size_t i = 0; i < count; i++)
		if (tls_add_name(edge.config->injects[i].host) < 0)
			fail("a certificate");
}

static enum source_kind kind_of(size_t socket)
{
	return socket == EDGE_SOCKET_DNS       ? SOURCE_DNS
	       : socket == EDGE_SOCKET_DNS_TCP ? SOURCE_DNS_LISTENER
	       : socket < EDGE_SOCKET_COUNT    ? SOURCE_PACKETS
					       : SOURCE_LISTENER;
}

/* Connections have what their listener has. */
static void send_at_once(int listener_fd)
{
	const int on = 1;

	setsockopt(listener_fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

/* The host's listening sockets, then the jail's sockets, those that leave it first. */
static void take_sockets(void)
{
	static int fds[EDGE_PUBLISHED_MAX + ARRAY_LENGTH(sockets) + EDGE_INWARD_MAX];
	const struct edge_config *config = edge.config;
	const size_t leaving = config->named ? EDGE_SOCKET_COUNT + config->listener_count : 0;
	const int *fd = fds;

	receive_sockets(fds, config->published_count + leaving + config->inward_count);
	for (size_t i = 0; i < config->published_count; i++) {
		edge.published[i] = (struct source){ SOURCE_PUBLISHED, *fd++, NULL };
		send_at_once(edge.published[i].fd);
		if (add(&edge.published[i], EPOLLIN) < 0)
			fail("the published ports");
	}
	for (size_t i = 0; i < leaving; i++) {
		sockets[i] = (struct source){ kind_of(i), *fd++, NULL };
		if (sockets[i].kind == SOURCE_LISTENER)
			send_at_once(sockets[i].fd);
		if (add(&sockets[i], EPOLLIN) < 0)
			fail("the jail's sockets");
	}
	memcpy(edge.inward, fd, config->inward_count * sizeof(*fd));
	edge.inward_count = config->inward_count;
}

static uint8_t prefix_of(const uint8_t *mask, size_t len)
{
	uint8_t bits = 0;

	while (bits < 8 * len && mask[bits / 8] & (0x80 >> bits % 8))
		bits++;
	return bits;
}

/* The addresses of the host's interfaces, and what is reached over them without a router. */
static void find_own_addresses(void)
{
	static struct edge_rule own[OWN_MAX];
	struct ifaddrs *all = NULL;
	size_t count = 0;

	if (getifaddrs(&all) < 0)
		fail("the host's own addresses");
	for (const struct ifaddrs *at = all; at; at = at->ifa_next) {
		struct edge_rule row = { 0 };
		const void *address;
		const void *mask;
		size_t len;

		if (!at->ifa_addr || !at->ifa_netmask)
			continue;
		if (at->ifa_addr->sa_family == AF_INET) {
			address = &((const struct sockaddr_in *)(const void *)at->ifa_addr)->sin_addr;
			mask = &((const struct sockaddr_in *)(const void *)at->ifa_netmask)->sin_addr;
			len = 4;
		} else if (at->ifa_addr->sa_family == AF_INET6) {
			address = &((const struct sockaddr_in6 *)(const void *)at->ifa_addr)->sin6_addr;
			mask = &((const struct sockaddr_in6 *)(const void *)at->ifa_netmask)->sin6_addr;
			len = 16;
		} else {
			continue;
		}
		row.is_v6 = len == 16;
		memcpy(row.address, address, len);
		row.prefix = prefix_of(mask, len);
		if (row.prefix == 0)
			row.prefix = (uint8_t)(8 * len);
		if (count == OWN_MAX) {
			errno = E2BIG;
			fail("the host's own addresses");
		}
		own[count++] = row;
	}
	freeifaddrs(all);
	edge.rules.own = own;
	edge.rules.own_count = count;
}

static void watch_resolver(int fd, bool reads, bool writes)
{
	struct epoll_event event = { .events = (reads ? EPOLLIN : 0u) | (writes ? EPOLLOUT : 0u) };
	struct source *free_one = NULL;

	for (size_t i = 0; i < ARRAY_LENGTH(resolver_sockets); i++) {
		struct source *source = &resolver_sockets[i];

		if (source->kind == SOURCE_RESOLVER && source->fd == fd) {
			event.data.ptr = source;
			epoll_ctl(edge.epoll_fd, event.events ? EPOLL_CTL_MOD : EPOLL_CTL_DEL, fd, &event);
			if (!event.events)
				source->kind = SOURCE_CONTROL;
			return;
		}
		if (source->kind != SOURCE_RESOLVER && !free_one)
			free_one = source;
	}
	/* Without room the question ends by its time limit. */
	if (!event.events || !free_one)
		return;
	*free_one = (struct source){ SOURCE_RESOLVER, fd, NULL };
	add(free_one, event.events);
}

/* ---- names ---- */

static size_t answer(const uint8_t *query, size_t len, uint8_t *reply)
{
	char refused[256];
	const size_t n = dns_answer(&edge.rules, query, len, reply, refused);

	if (*refused)
		report_refused(edge.report, refused, 0, IPPROTO_UDP, EDGE_REASON_NAME, NULL);
	return n;
}

static void serve_datagrams(int fd)
{
	for (int i = 0; i < 64; i++) {
		uint8_t query[1024];
		uint8_t reply[DNS_ANSWER_MAX];
		struct sockaddr_in from;
		socklen_t from_len = sizeof(from);
		const ssize_t len = recvfrom(fd, query, sizeof(query), MSG_DONTWAIT,
					     (struct sockaddr *)(void *)&from, &from_len);
		size_t n;

		if (len < 0)
			return;
		n = answer(query, (size_t)len, reply);
		if (n)
			sendto(fd, reply, n, MSG_DONTWAIT | MSG_NOSIGNAL, (struct sockaddr *)(void *)&from,
			       from_len);
	}
}

static void close_dns_client(struct dns_client *client)
{
	close(client->source.fd);
	client->source.fd = 0;
}

static void accept_dns_client(int listener_fd)
{
	const int fd = accept_one(&edge, listener_fd);

	if (fd < 0)
		return;
	for (size_t i = 0; i < DNS_CLIENTS_MAX; i++) {
		struct dns_client *client = &dns_clients[i];

		if (client->source.fd)
			continue;
		client->source = (struct source){ SOURCE_DNS_CLIENT, fd, client };
		client->len = 0;
		add(&client->source, EPOLLIN);
		return;
	}
	close(fd);
}

/* A question and its answer at a time, each behind its length. */
static void serve_dns_client(struct dns_client *client)
{
	uint8_t reply[2 + DNS_ANSWER_MAX];
	size_t wanted;
	size_t n;
	const ssize_t got = recv(client->source.fd, client->bytes + client->len,
				 sizeof(client->bytes) - client->len, MSG_DONTWAIT);

	if (got <= 0) {
		if (got == 0 || (errno != EAGAIN && errno != EINTR))
			close_dns_client(client);
		return;
	}
	client->len += (size_t)got;
	while (client->len >= 2) {
		wanted = (size_t)client->bytes[0] << 8 | client->bytes[1];
		if (wanted > sizeof(client->bytes) - 2) {
			close_dns_client(client);
			return;
		}
		if (client->len < 2 + wanted)
			return;
		n = answer(client->bytes + 2, wanted, reply + 2);
		reply[0] = (uint8_t)(n >> 8);
		reply[1] = (uint8_t)n;
		if (!n ||
		    send(client->source.fd, reply, n + 2, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)n + 2) {
			close_dns_client(client);
			return;
		}
		client->len -= 2 + wanted;
		memmove(client->bytes, client->bytes + 2 + wanted, client->len);
	}
}

/* ---- first packets ---- */

/* A packet of IPv4, with its header. What a listener takes is counted there, if it is refused. */
static void count_packet(const uint8_t *packet, size_t len)
{
	const size_t header = len > 0 ? (size_t)(packet[0] & 15) * 4 : 0;
	char text[INET_ADDRSTRLEN];
	uint32_t address;
	const char *name;
	uint16_t port;

	if (header < 20 || len < header + 4)
		return;
	memcpy(&address, packet + 16, sizeof(address));
	inet_ntop(AF_INET, &address, text, sizeof(text));
	address = ntohl(address);
	port = (uint16_t)(packet[header + 2] << 8 | packet[header + 3]);
	if (packet[9] == IPPROTO_TCP && rules_listened(&edge.rules, address, port))
		return;
	name = rules_of(&edge.rules, address);
	report_refused(edge.report, name ? name : text, port, packet[9],
		       packet[9] != IPPROTO_TCP ? EDGE_REASON_PROTOCOL
		       : name                   ? EDGE_REASON_PORT
						: EDGE_REASON_ADDRESS,
		       NULL);
}

/* A packet of IPv6, without its header: the destination comes beside it. */
static void count_packet6(struct msghdr *message, const uint8_t *packet, size_t len, uint8_t protocol)
{
	const struct cmsghdr *cmsg = CMSG_FIRSTHDR(message);
	char text[INET6_ADDRSTRLEN];
	struct in6_pktinfo to;

	if (len < 4 || !cmsg || cmsg->cmsg_level != IPPROTO_IPV6 || cmsg->cmsg_type != IPV6_PKTINFO ||
	    cmsg->cmsg_len < CMSG_LEN(sizeof(to)))
		return;
	memcpy(&to, CMSG_DATA(cmsg), sizeof(to));
	if (protocol == IPPROTO_TCP && rules_listened_v6(&edge.rules, (uint16_t)(packet[2] << 8 | packet[3])))
		return;
	inet_ntop(AF_INET6, &to.ipi6_addr, text, sizeof(text));
	report_refused(edge.report, text, (uint16_t)(packet[2] << 8 | packet[3]), protocol,
		       protocol == IPPROTO_TCP ? EDGE_REASON_ADDRESS : EDGE_REASON_PROTOCOL, NULL);
}

/* Returns how many there were, at most 64. */
static int serve_packets(const struct source *source)
{
	const int which = (int)(source - sockets);

	for (int i = 0; i < 64; i++) {
		char space[CMSG_SPACE(sizeof(struct in6_pktinfo))] __attribute__((aligned(8)));
		uint8_t packet[128];
		struct iovec iov = { .iov_base = packet, .iov_len = sizeof(packet) };
		struct msghdr message = { .msg_iov = &iov,
					  .msg_iovlen = 1,
					  .msg_control = space,
					  .msg_controllen = sizeof(space) };
		const ssize_t len = recvmsg(source->fd, &message, MSG_DONTWAIT);

		if (len < 0)
			return i;
		if (which < EDGE_SOCKET_RAW_TCP6)
			count_packet(packet, (size_t)len);
		else
			count_packet6(&message, packet, (size_t)len,
				      which == EDGE_SOCKET_RAW_TCP6 ? IPPROTO_TCP : IPPROTO_UDP);
	}
	return 64;
}

/* ---- the loop ---- */

static int nearer(int a, int b)
{
	return a < 0 ? b : b < 0 ? a : a < b ? a : b;
}

/* At the end of a program its supervisor asks that all that has been sent is counted. Executions of a session may ask when the supervisor
 * has gone: the end of this socket is nothing. */
static void serve_counter(void)
{
	int found = edge.config->named ? 1 : 0;
	char byte;

	if (recv(EDGE_FD_COUNTER, &byte, 1, MSG_DONTWAIT) != 1) {
		epoll_ctl(edge.epoll_fd, EPOLL_CTL_DEL, EDGE_FD_COUNTER, NULL);
		return;
	}
	for (int i = 0; i < 16 && found; i++) {
		found = 0;
		for (int j = EDGE_SOCKET_RAW_TCP; j <= EDGE_SOCKET_RAW_UDP6; j++)
			found += serve_packets(&sockets[j]);
	}
	if (edge.config->named)
		serve_datagrams(sockets[EDGE_SOCKET_DNS].fd);
	send(EDGE_FD_COUNTER, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* A message of the supervisor's, with a memory file or without. Returns what it says, -1: it has gone. */
static int receive_message(int *ret_fd)
{
	char byte = 0;

	return fd_receive(EDGE_FD_CONTROL, &byte, 1, ret_fd, 1, MSG_DONTWAIT) > 0 ? byte : -1;
}

static const char *replace_rules(int fd)
{
	static const struct edge_config *last;
	static size_t last_size;
	const struct edge_config *config;
	const char *fault;
	size_t size;

	config = map_file(fd, edge_config_size(0), PROT_READ, &size);
	fault = config ? rules_replace(&edge.rules, config, size) : "a message without rules";
	if (fault) {
		if (config)
			munmap((void *)(uintptr_t)config, size);
		return fault;
	}
	if (last)
		munmap((void *)(uintptr_t)last, last_size);
	last = config;
	last_size = size;
	report_replaced(edge.report);
	connections_withdraw(&edge);
	return NULL;
}

static void serve_control(void)
{
	int fd;
	const int message = receive_message(&fd);
	const char *fault = "a message that it does not know";

	if (message < 0)
		_exit(0);
	if (message == EDGE_RULES)
		fault = replace_rules(fd);
	else if (fd >= 0)
		close(fd);
	send(EDGE_FD_CONTROL, fault ? fault : "", fault ? strlen(fault) : 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void dispatch(const struct epoll_event *event)
{
	struct source *source = event->data.ptr;

	switch (source->kind) {
	case SOURCE_CONTROL:
		/* Else one that the resolver has closed in this round. */
		if (source == &control)
			serve_control();
		break;
	case SOURCE_COUNTER:
		serve_counter();
		break;
	case SOURCE_DNS:
		serve_datagrams(source->fd);
		break;
	case SOURCE_DNS_LISTENER:
		accept_dns_client(source->fd);
		break;
	case SOURCE_DNS_CLIENT:
		if (source->fd)
			serve_dns_client(source->owner);
		break;
	case SOURCE_PACKETS:
		serve_packets(source);
		break;
	case SOURCE_LISTENER:
		connections_accept(&edge, source->fd,
				   &edge.config->listeners[source - sockets - EDGE_SOCKET_COUNT]);
		break;
	case SOURCE_PUBLISHED:
		connections_accept_published(&edge, source);
		break;
	case SOURCE_CLIENT:
	case SOURCE_SERVER:
		connections_event(&edge, source, event->events);
		break;
	case SOURCE_RESOLVER:
		resolve_step(edge.resolver, source->fd, event->events & (EPOLLIN | EPOLLERR | EPOLLHUP),
			     event->events & EPOLLOUT);
		break;
	}
}

static bool is_listener(const struct epoll_event *event)
{
	return ((const struct source *)event->data.ptr)->kind == SOURCE_LISTENER;
}

static _Noreturn void serve(void)
{
	struct epoll_event events[EVENTS_MAX];

	for (;;) {
		const int timeout = nearer(connections_tick(&edge), resolve_timeout(edge.resolver));
		const int n = epoll_wait(edge.epoll_fd, events, EVENTS_MAX, timeout);

		/* New connections come first, for whose servers a program waits, before others are taken down. But if there are as many as may be,
		 * a closed one has to make room. */
		const bool is_full = edge.open_count >= edge.config->max_connections;

		for (int pass = 0; pass < 2; pass++)
			for (int i = 0; i < n; i++)
				if (is_listener(&events[i]) == (pass == (is_full ? 1 : 0)))
					dispatch(&events[i]);
		resolve_step(edge.resolver, -1, false, false);
		connections_sweep(&edge);
	}
}

int main(void)
{
	const char *what = "";
	size_t config_size, report_size;

	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_NAME, "warder-edge", 0, 0, 0);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	for (int fd = EDGE_FD_CONTROL; fd < EDGE_FD_COUNT; fd++)
		if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
			return 2;
	edge.config = map_file(EDGE_FD_CONFIG, edge_config_size(0), PROT_READ, &config_size);
	edge.report =
	    map_file(EDGE_FD_REPORT, sizeof(struct edge_report), PROT_READ | PROT_WRITE, &report_size);
	if (!edge.config || !edge.report || edge.config->magic != EDGE_MAGIC ||
	    edge.config->rule_count > EDGE_RULES_MAX ||
	    config_size < edge_config_size(edge.config->rule_count) ||
	    edge.config->listener_count > EDGE_LISTENERS_MAX ||
	    edge.config->inject_count > EDGE_INJECTS_MAX ||
	    edge.config->published_count > EDGE_PUBLISHED_MAX || edge.config->inward_count > EDGE_INWARD_MAX)
		fail("its rules");
	/* Nothing else that the supervisor had. */
	close_range(EDGE_FD_COUNT + edge.config->inject_count, ~0u, 0);
	if (edge.config->inject_count)
		prepare_injects();
	edge.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	edge.spare_fd = fcntl(edge.epoll_fd, F_DUPFD_CLOEXEC, 0);
	edge.resolver = resolve_init(watch_resolver);
	if (edge.epoll_fd < 0 || edge.spare_fd < 0 || !edge.resolver ||
	    rules_init(&edge.rules, edge.config) < 0)
		fail("its tables");
	find_own_addresses();
	if (add(&control, EPOLLIN | EPOLLRDHUP) < 0 || add(&counter, EPOLLIN) < 0)
		fail("the supervisor's sockets");
	/* While the jail's init makes its sockets: then they are there sooner, and the program waits less. */
	if (confine(edge.config->uid, edge.config->gid, &what) < 0)
		fail(what);
	take_sockets();
	if (send(EDGE_FD_CONTROL, "", 1, MSG_NOSIGNAL) != 1)
		_exit(124);
	serve();
}
