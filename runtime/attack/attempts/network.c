/*
 * network: to the host and beyond it. Nothing is sent outside: routes are asked for by connecting a datagram
 * socket, and what would send a packet runs in the jail alone. With an allow-list every address is routed to the jail's
 * own loopback, so there a route is nothing; what counts is whether anybody answers.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "runtime/attack/attempts/attempts.h"

static int connect_tcp(int port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int answer;

	if (fd < 0)
		return errno;
	inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
	answer = answer_of(connect(fd, (struct sockaddr *)&to, sizeof(to)));
	close(fd);
	return answer;
}

static int connect_loopback(const struct attempt *self, const struct marks *marks)
{
	return marks->port ? connect_tcp(marks->port) : UNTRIED;
}

static int route_to(const struct attempt *self, const struct marks *marks)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(53) };
	struct sockaddr_in6 to6 = { .sin6_family = AF_INET6, .sin6_port = htons(53) };
	bool is6 = strchr(self->path, ':') != NULL;
	int fd = socket(is6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int answer;

	if (fd < 0)
		return errno;
	inet_pton(is6 ? AF_INET6 : AF_INET, self->path, is6 ? (void *)&to6.sin6_addr : &to.sin_addr);
	answer = answer_of(is6 ? connect(fd, (struct sockaddr *)&to6, sizeof(to6))
			       : connect(fd, (struct sockaddr *)&to, sizeof(to)));
	close(fd);
	return answer;
}

#define ANSWER_MS 3000

/* Connect, say something and wait for whoever answers: a connection that is reset has reached nobody. */
static int talk(const struct attempt *self, int type, int port, const void *bytes, size_t len)
{
	struct sockaddr_in6 to = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };
	struct sockaddr_in to4 = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	const bool is6 = strchr(self->path, ':') != NULL;
	const int fd = socket(is6 ? AF_INET6 : AF_INET, type | SOCK_CLOEXEC, 0);
	struct pollfd answer = { .fd = fd, .events = POLLIN };
	char reply[512];
	int ret = REACHED;
	ssize_t n;

	if (fd < 0)
		return errno;
	inet_pton(is6 ? AF_INET6 : AF_INET, self->path, is6 ? (void *)&to.sin6_addr : &to4.sin_addr);
	if (connect(fd, is6 ? (void *)&to : (void *)&to4, is6 ? sizeof(to) : sizeof(to4)) != 0 ||
	    send(fd, bytes, len, MSG_NOSIGNAL) < 0) {
		ret = errno;
	} else if (poll(&answer, 1, ANSWER_MS) == 1) {
		n = recv(fd, reply, sizeof(reply), 0);
		/* An answer of the resolver that knows no such name carries nothing out. */
		ret = n < 0                                                               ? errno
		      : type == SOCK_DGRAM && port == 53 && n > 3 && (reply[3] & 15) == 3 ? CLEAN
											  : REACHED;
	} else if (type == SOCK_DGRAM) {
		ret = NO_EFFECT;
	}
	close(fd);
	return ret;
}

static int talk_web(const struct attempt *self, const struct marks *marks)
{
	static const char request[] = "GET / HTTP/1.1\r\nHost: attempt.invalid\r\n\r\n";

	return talk(self, SOCK_STREAM, 80, request, sizeof(request) - 1);
}

/* The first bytes of a QUIC packet. */
static int talk_quic(const struct attempt *self, const struct marks *marks)
{
	static const char packet[1200] = { '\xc0', 0, 0, 0, 1, 8 };

	return talk(self, SOCK_DGRAM, 443, packet, sizeof(packet));
}

/* A question whose name carries data: "c2VjcmV0.attempt.invalid". */
static int talk_names(const struct attempt *self, const struct marks *marks)
{
	static const char question[] = "\x12\x34\1\0\0\1\0\0\0\0\0\0\x08"
				       "c2VjcmV0\x07"
				       "attempt\x07invalid\0\0\1\0\1";

	return talk(self, SOCK_DGRAM, 53, question, sizeof(question) - 1);
}

/* The address that the jail's resolver has for "localhost". */
static int find_localhost(struct in_addr *ret_address)
{
	static const char question[] = "\x12\x34\1\0\0\1\0\0\0\0\0\0\x09localhost\0\0\1\0\1";
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(53) };
	const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct pollfd answer = { .fd = fd, .events = POLLIN };
	uint8_t reply[512];
	int ret = UNTRIED;
	ssize_t n = 0;

	inet_pton(AF_INET, "198.18.0.1", &to.sin_addr);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0 ||
	    send(fd, question, sizeof(question) - 1, MSG_NOSIGNAL) < 0) {
		ret = errno;
	} else if (poll(&answer, 1, ANSWER_MS) == 1) {
		n = recv(fd, reply, sizeof(reply), 0);
		ret = n < 0 ? errno : CLEAN;
	}
	/* The address is the end of an answer of one record. */
	if (n > (ssize_t)sizeof(question) + 10 && (reply[3] & 15) == 0 && reply[7] == 1) {
		memcpy(ret_address, reply + n - 4, 4);
		ret = REACHED;
	}
	if (fd >= 0)
		close(fd);
	return ret;
}

/* A name that the policy lists, and that the host resolves to its own loopback. */
static int talk_to_rebound(const struct attempt *self, const struct marks *marks)
{
	struct in_addr address;
	char text[INET_ADDRSTRLEN];
	struct attempt at = *self;
	int found;

	if (!marks->port)
		return UNTRIED;
	if (marks->outside)
		return connect_tcp(marks->port);
	found = find_localhost(&address);
	if (found != REACHED)
		return found;
	inet_ntop(AF_INET, &address, text, sizeof(text));
	note("localhost has the address %s", text);
	at.path = text;
	return talk(&at, SOCK_STREAM, marks->port, "hello\n", 6);
}

static int connect_abstract(const struct attempt *self, const struct marks *marks)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t length = strlen(marks->abstract);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int answer;

	if (fd < 0 || !length || length + 1 > sizeof(to.sun_path))
		return UNTRIED;
	memcpy(to.sun_path + 1, marks->abstract, length);
	answer =
	    answer_of(connect(fd, (struct sockaddr *)&to, (socklen_t)(sizeof(sa_family_t) + 1 + length)));
	close(fd);
	return answer;
}

/* Sockets of others: the line after the heading. */
static int read_sockets(const struct attempt *self, const struct marks *marks)
{
	char text[4096];
	long len = read_text(self->path, text, sizeof(text));
	const char *line = len > 0 ? strchr(text, '\n') : NULL;

	if (len < 0)
		return answer_hidden(-1);
	if (!line || !line[1])
		return CLEAN;
	note("%.80s", line + 1);
	return REACHED;
}

/* Any interface but lo that is up, among those of /proc/net/dev: a line each, behind two of headings. */
static int find_interface(const struct attempt *self, const struct marks *marks)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int answer = CLEAN;
	char text[16384], *rest = text;

	if (fd < 0 || read_text("/proc/net/dev", text, sizeof(text)) < 0)
		answer = UNTRIED;
	else
		for (char *line; (line = strsep(&rest, "\n"));) {
			struct ifreq request = { 0 };
			char *colon = strchr(line, ':');

			if (!colon)
				continue;
			*colon = '\0';
			line += strspn(line, " ");
			snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", line);
			if (strcmp(line, "lo") == 0 || ioctl(fd, SIOCGIFFLAGS, &request) != 0 ||
			    !(request.ifr_flags & IFF_UP))
				continue;
			note("interface %s is up", line);
			answer = REACHED;
		}
	if (fd >= 0)
		close(fd);
	return answer;
}

static int set_interface_flags(short flags)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = flags };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return answer_of(ioctl(fd, SIOCSIFFLAGS, &request));
}

static int raise_loopback(const struct attempt *self, const struct marks *marks)
{
	return set_interface_flags(IFF_UP);
}

static int set_address(const struct attempt *self, const struct marks *marks)
{
	struct ifreq request = { .ifr_name = "lo" };
	struct sockaddr_in *address = (struct sockaddr_in *)(void *)&request.ifr_addr;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	address->sin_family = AF_INET;
	inet_pton(AF_INET, "127.0.0.2", &address->sin_addr);
	return answer_of(ioctl(fd, SIOCSIFADDR, &request));
}

/* One request by route netlink, with a link or route of nothing; the kernel's answer to it. */
static int ask_netlink(int type, size_t size)
{
	struct {
		struct nlmsghdr header;
		char body[64];
	} request = { 0 };
	struct {
		struct nlmsghdr header;
		struct nlmsgerr error;
		char rest[512];
	} reply = { 0 };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	if (fd < 0)
		return errno;
	request.header.nlmsg_len = (uint32_t)NLMSG_LENGTH(size);
	request.header.nlmsg_type = (uint16_t)type;
	request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
	if (send(fd, &request, request.header.nlmsg_len, 0) < 0 || recv(fd, &reply, sizeof(reply), 0) <= 0)
		return errno;
	close(fd);
	/* A request that says so little is invalid, but only for who may ask. */
	return reply.error.error == -EPERM ? EPERM : REACHED;
}

static int add_interface(const struct attempt *self, const struct marks *marks)
{
	return ask_netlink(RTM_NEWLINK, sizeof(struct ifinfomsg));
}

static int add_route(const struct attempt *self, const struct marks *marks)
{
	return ask_netlink(RTM_NEWROUTE, sizeof(struct rtmsg));
}

static int attach_segment(const struct attempt *self, const struct marks *marks)
{
	void *at;

	if (marks->shm < 0)
		return UNTRIED;
	at = shmat(marks->shm, NULL, SHM_RDONLY);
	if (at == (void *)-1)
		return errno;
	shmdt(at);
	return REACHED;
}

static int mark_packets(const struct attempt *self, const struct marks *marks)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int mark = 1;

	return answer_of(setsockopt(fd, SOL_SOCKET, SO_MARK, &mark, sizeof(mark)));
}

/* Options that only an administrator of the network may set. */
static int set_option(const struct attempt *self, const struct marks *marks)
{
	const bool repair = strcmp(self->path, "repair") == 0;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int value = repair ? 1 : 1 << 26;
	int answer = fd < 0 ? UNTRIED
			    : answer_of(setsockopt(fd, repair ? IPPROTO_TCP : SOL_SOCKET,
						   repair ? 19 /* TCP_REPAIR */ : 33 /* SO_RCVBUFFORCE */,
						   &value, sizeof(value)));

	if (fd >= 0)
		close(fd);
	return answer;
}

#define NET   "network namespace"
#define EDGE  "network namespace, warder-edge"
#define SENDS "it would send packets to a network"
/* Without a route; nobody listens; a listener of the edge that has no rule for it. */
#define UNREACHED "ENETUNREACH|ECONNREFUSED|ECONNRESET"
#define NOBODY    "no capabilities over the network namespace"

static const struct attempt rows[] = {
	{ "connect-host-loopback", "connect to a service of the host on 127.0.0.1",
	  "ENETUNREACH|ECONNREFUSED", NET, .allowed = "net=host", .run = connect_loopback,
	  .outside = OUTSIDE_PLAIN },
	{ "connect-host-abstract", "connect to an abstract socket of the host", "ECONNREFUSED|EPERM",
	  NET ", Landlock", .seen = "CVE-2020-15257", .allowed = "net=host-unscoped", .run = connect_abstract,
	  .outside = OUTSIDE_PLAIN },
	{ "route-to-metadata", "have a route to the cloud's metadata service", "ENETUNREACH", NET,
	  .seen = "container toolkits", .allowed = "net=host|net=allow", .run = route_to,
	  .path = "169.254.169.254", .outside = OUTSIDE_PLAIN },
	{ "route-to-lan", "have a route to a private network", "ENETUNREACH", NET,
	  .allowed = "net=host|net=allow", .run = route_to, .path = "192.168.0.1", .outside = OUTSIDE_PLAIN },
	{ "route-to-internet", "have a route to the rest of the world", "ENETUNREACH", NET,
	  .allowed = "net=host|net=allow", .run = route_to, .path = "192.0.2.1", .outside = OUTSIDE_PLAIN },
	{ "route-to-internet6", "the same with IPv6", "ENETUNREACH|EADDRNOTAVAIL", NET,
	  .allowed = "net=host|net=allow", .run = route_to, .path = "2001:db8::1", .outside = OUTSIDE_PLAIN },
	{ "route-to-loopback", "have a route to itself", "ENETUNREACH", NET,
	  .allowed = "net=host|net=loopback|net=allow", .run = route_to, .path = "127.0.0.1",
	  .outside = OUTSIDE_PLAIN },
	{ "talk-to-metadata", "ask the cloud's metadata service", UNREACHED, EDGE, .allowed = "net=host|cidr",
	  .run = talk_web, .path = "169.254.169.254", .not_outside = SENDS },
	{ "talk-to-lan", "talk to a private network", UNREACHED, EDGE, .allowed = "net=host|cidr",
	  .run = talk_web, .path = "192.168.0.1", .not_outside = SENDS },
	{ "talk-to-internet", "talk to an address that nobody listed", UNREACHED, EDGE,
	  .allowed = "net=host|cidr", .run = talk_web, .path = "192.0.2.1", .not_outside = SENDS },
	{ "talk-to-internet6", "the same with IPv6", UNREACHED "|EADDRNOTAVAIL", EDGE, .allowed = "net=host",
	  .run = talk_web, .path = "2001:db8::1", .not_outside = SENDS },
	{ "talk-to-mapped", "the same with an IPv4 address inside an IPv6 one", UNREACHED "|EADDRNOTAVAIL",
	  EDGE, .allowed = "net=host|cidr", .run = talk_web, .path = "::ffff:192.0.2.1",
	  .not_outside = SENDS },
	{ "talk-to-guessed-name", "guess the address of a name of somebody else's list", UNREACHED, EDGE,
	  .allowed = "net=host", .run = talk_web, .path = "198.19.255.254", .not_outside = SENDS },
	{ "talk-to-rebound-name", "talk to the host's loopback by a listed name that leads there", UNREACHED,
	  EDGE, .seen = "DNS rebinding", .allowed = "net=host|cidr", .run = talk_to_rebound,
	  .outside = OUTSIDE_PLAIN },
	{ "talk-by-quic", "talk to an address that nobody listed by QUIC", "ENETUNREACH|ECONNREFUSED", EDGE,
	  .allowed = "net=host", .run = talk_quic, .path = "192.0.2.1", .not_outside = SENDS },
	{ "ask-hosts-resolver", "ask another name server than the jail's", "ENETUNREACH|ECONNREFUSED", EDGE,
	  .allowed = "net=host", .run = talk_names, .path = "192.0.2.53", .not_outside = SENDS },
	{ "tunnel-by-names", "carry data out in the name of a question", "ENETUNREACH|clean", EDGE,
	  .allowed = "net=host", .run = talk_names, .path = "198.18.0.1", .not_outside = SENDS },
	{ "find-interface", "find an interface that is up", "clean", NET, .allowed = "net=host",
	  .run = find_interface, .outside = OUTSIDE_PLAIN },
	{ "list-unix-sockets", "list the host's local sockets", "clean", NET, .allowed = "net=host",
	  .run = read_sockets, .path = "/proc/net/unix", .outside = OUTSIDE_PLAIN },
	{ "list-tcp-sockets", "list the host's TCP sockets", "clean", NET, .allowed = "net=host|net=allow",
	  .run = read_sockets, .path = "/proc/net/tcp", .outside = OUTSIDE_PLAIN },
	{ "raise-loopback", "bring an interface up", "ENOTTY", "seccomp filter, " NOBODY,
	  .run = raise_loopback, .outside = OUTSIDE_NETWORK },
	{ "set-address", "give an interface an address", "ENOTTY", "seccomp filter, " NOBODY,
	  .run = set_address, .outside = OUTSIDE_NETWORK },
	{ "add-interface", "add an interface", "EAFNOSUPPORT|EPERM", "seccomp filter, " NOBODY,
	  .run = add_interface, .outside = OUTSIDE_NETWORK },
	{ "add-route", "add a route", "EAFNOSUPPORT|EPERM", "seccomp filter, " NOBODY, .run = add_route,
	  .outside = OUTSIDE_NETWORK },
	{ "mark-packets", "mark packets, to pass the host's rules", "ENOPROTOOPT", "seccomp filter, " NOBODY,
	  .run = mark_packets, .outside = OUTSIDE_NETWORK },
	{ "repair-connections", "set the numbers of a connection, to take over another's", "ENOPROTOOPT",
	  "seccomp filter, " NOBODY, .run = set_option, .path = "repair", .outside = OUTSIDE_NETWORK },
	{ "force-buffer", "have a receive buffer beyond the host's limit", "ENOPROTOOPT",
	  "seccomp filter, " NOBODY, .run = set_option, .path = "buffer", .outside = OUTSIDE_NETWORK },
	{ "attach-host-segment", "attach a System V segment of the host", "EINVAL|ENOSYS", "IPC namespace",
	  .run = attach_segment, .outside = OUTSIDE_PLAIN },
};

const struct attempt_group network_group = GROUP("network", rows);
