/*
 * sockets: the way out of a network namespace that has none. Every address is routed to the loopback interface, whose listening sockets are
 * handed to the edge, a process outside; it connects for the jail. Whatever has no listener is reset by the kernel.
 *
 *   198.18.0.1/32                on lo: without an address libraries ask for no IPv4 addresses; the jail's resolver is there
 *   local default dev lo         any address is the namespace's own; the source is 198.18.0.1
 *   a listener for each row      at the address of a name, or at every address, of one port; one of IPv6 if a block of it is listed
 *   sockets for published ports  are only created here; the edge connects them to servers in the jail
 *   raw sockets of TCP and UDP   see the first packet of every connection, so that what is reset is counted
 *
 * Done before init gives up its privilege, which ports below 1024 and raw sockets need. In a container init has none: there a helper of the
 * host does it.
 */
#include <linux/fcntl.h>
#include <linux/filter.h>

#include <stdbool.h>

#include "base/array.h"
#include "edge/edge.h"
#include "jail/inside/message.h"
#include "jail/inside/sockets.h"
#include "jail/inside/sys.h"

#define UNIX                1
#define INET                2
#define INET6               10
#define NETLINK             16
#define STREAM              1
#define DATAGRAM            2
#define RAW                 3
#define TCP                 6
#define UDP                 17
#define SOCKET_LEVEL        1
#define REUSE               2  /* SO_REUSEADDR */
#define FILTER              26 /* SO_ATTACH_FILTER */
#define INET6_LEVEL         41
#define RECEIVE_PACKET_INFO 49 /* IPV6_RECVPKTINFO */
#define ONLY_V6             26 /* IPV6_V6ONLY */
#define NO_FAMILY           97 /* EAFNOSUPPORT */
#define BACKLOG             512
#define LO                  1 /* its index in every namespace */
#define DNS_PORT            53

static uint16_t swap16(uint16_t value)
{
	return (uint16_t)(value << 8 | value >> 8);
}

static uint32_t swap32(uint32_t value)
{
	return __builtin_bswap32(value);
}

/* A request of rtnetlink(7), as far as it is used. */
struct netlink_message {
	uint32_t len;
	uint16_t type, flags;
	uint32_t sequence, port;
	uint8_t body[64];
};

static void put(struct netlink_message *netlink, const void *bytes, size_t len)
{
	uint8_t *at = netlink->body + netlink->len - 16;

	for (size_t i = 0; i < len; i++)
		at[i] = ((const uint8_t *)bytes)[i];
	netlink->len += (uint32_t)len;
}

static void put_attribute(struct netlink_message *netlink, uint16_t type, uint32_t value)
{
	const uint16_t header[2] = { 8, type };

	put(netlink, header, sizeof(header));
	put(netlink, &value, sizeof(value));
}

/* Sends it; the kernel's answer is 0 or a negative errno. */
static long ask(int fd, struct netlink_message *netlink)
{
	struct {
		uint8_t header[16];
		int32_t error;
		uint8_t rest[108];
	} answer;
	long ret;

	netlink->flags = 1 | 4 | 0x200 | 0x400; /* request, acknowledge, exclusive, create */
	ret = sys(write, fd, netlink, netlink->len);
	if (ret < 0)
		return ret;
	ret = sys(read, fd, &answer, sizeof(answer));
	if (ret < 0)
		return ret;
	return ret >= 20 ? answer.error : -22;
}

static long add_address(int fd)
{
	struct netlink_message netlink = { .len = 16, .type = 20 /* RTM_NEWADDR */ };
	const uint8_t message[4] = { INET, 32, 0, 0 };
	const uint32_t index = LO;

	put(&netlink, message, sizeof(message));
	put(&netlink, &index, sizeof(index));
	put_attribute(&netlink, 2 /* IFA_LOCAL */, swap32(EDGE_SELF));
	put_attribute(&netlink, 1 /* IFA_ADDRESS */, swap32(EDGE_SELF));
	return ask(fd, &netlink);
}

static long add_route(int fd, uint8_t family)
{
	struct netlink_message netlink = { .len = 16, .type = 24 /* RTM_NEWROUTE */ };
	/* prefix 0; table local, protocol static, scope host, type local */
	const uint8_t message[12] = { family, 0, 0, 0, 255, 4, 254, 2 };

	put(&netlink, message, sizeof(message));
	put_attribute(&netlink, 4 /* RTA_OIF */, LO);
	if (family == INET)
		put_attribute(&netlink, 7 /* RTA_PREFSRC */, swap32(EDGE_SELF));
	return ask(fd, &netlink);
}

static long add_routes(bool needs_v6, const char **ret_what)
{
	long fd = sys(socket, NETLINK, RAW | O_CLOEXEC, 0);
	long ret;

	if (fd < 0)
		return fd;
	*ret_what = "198.18.0.1 on lo";
	ret = add_address((int)fd);
	if (ret == 0) {
		*ret_what = "local route of IPv4";
		ret = add_route((int)fd, INET);
	}
	/* Without it there is no route at all, and nothing to count. */
	if (ret == 0) {
		long v6 = add_route((int)fd, INET6);

		if (needs_v6) {
			*ret_what = "local route of IPv6";
			ret = v6;
		}
	}
	sys(close, fd);
	return ret;
}

/* Address in the host's byte order. */
static long open_socket(int type, uint32_t address, uint16_t port)
{
	const struct {
		uint16_t family, port;
		uint32_t address;
		uint8_t rest[8];
	} name = { .family = INET, .port = swap16(port), .address = swap32(address) };
	const int on = 1;
	long fd = sys(socket, INET, type | O_CLOEXEC, 0);
	long ret;

	if (fd < 0)
		return fd;
	ret = type == STREAM ? sys(setsockopt, fd, SOCKET_LEVEL, REUSE, &on, sizeof(on)) : 0;
	if (ret == 0)
		ret = sys(bind, fd, &name, sizeof(name));
	if (ret == 0 && type == STREAM)
		ret = sys(listen, fd, BACKLOG);
	if (ret < 0)
		sys(close, fd);
	return ret < 0 ? ret : fd;
}

/* At every address of both kinds. */
static long open_listener_v6(uint16_t port)
{
	const struct {
		uint16_t family, port;
		uint32_t flow;
		uint8_t address[16];
		uint32_t scope;
	} name = { .family = INET6, .port = swap16(port) };
	const int on = 1;
	const int off = 0;
	long fd = sys(socket, INET6, STREAM | O_CLOEXEC, 0);
	long ret;

	if (fd < 0)
		return fd;
	ret = sys(setsockopt, fd, SOCKET_LEVEL, REUSE, &on, sizeof(on));
	if (ret == 0)
		ret = sys(setsockopt, fd, INET6_LEVEL, ONLY_V6, &off, sizeof(off));
	if (ret == 0)
		ret = sys(bind, fd, &name, sizeof(name));
	if (ret == 0)
		ret = sys(listen, fd, BACKLOG);
	if (ret < 0)
		sys(close, fd);
	return ret < 0 ? ret : fd;
}

static bool needs_v6(const struct wire_block *block)
{
	const struct edge_listener *rows = WIRE_AT(block, block->listeners, const struct edge_listener);

	for (uint32_t i = 0; i < block->listener_count; i++)
		if (rows[i].is_v6)
			return true;
	return false;
}

#define LOAD(size, at)                                                                                       \
	{                                                                                                    \
		BPF_LD | BPF_##size | BPF_ABS, 0, 0, (uint32_t)(at)                                          \
	}
#define IF(value, then, other)                                                                               \
	{                                                                                                    \
		BPF_JMP | BPF_JEQ | BPF_K, then, other, value                                                \
	}
#define AND(value)                                                                                           \
	{                                                                                                    \
		BPF_ALU | BPF_AND | BPF_K, 0, 0, value                                                       \
	}
#define TAKE(bytes)                                                                                          \
	{                                                                                                    \
		BPF_RET | BPF_K, 0, 0, bytes                                                                 \
	}

/* What a raw socket takes: first packets of connections, and datagrams. Not to 127.0.0.0/8 or the resolver, whose answers go there too. */
static struct sock_filter filter_v4[] = {
	[0] = LOAD(W, 16),
	[1] = IF(EDGE_SELF, 9, 0),
	[2] = AND(0xff000000),
	[3] = IF(0x7f000000, 7, 0),
	[4] = LOAD(B, 9),
	[5] = IF(17, 4, 0),
	[6] = { BPF_LDX | BPF_B | BPF_MSH, 0, 0, 0 },
	[7] = { BPF_LD | BPF_B | BPF_IND, 0, 0, 13 },
	[8] = AND(0x12),
	[9] = IF(0x02 /* SYN without ACK */, 0, 1),
	[10] = TAKE(96),
	[11] = TAKE(0),
};

/* The same; not to ::1. The packet begins behind the header of IPv6. */
static struct sock_filter filter_v6[] = {
	[0] = LOAD(W, SKF_NET_OFF + 24),
	[1] = IF(0, 0, 6),
	[2] = LOAD(W, SKF_NET_OFF + 28),
	[3] = IF(0, 0, 4),
	[4] = LOAD(W, SKF_NET_OFF + 32),
	[5] = IF(0, 0, 2),
	[6] = LOAD(W, SKF_NET_OFF + 36),
	[7] = IF(1, 6, 0),
	[8] = LOAD(B, SKF_NET_OFF + 6),
	[9] = IF(17, 3, 0),
	[10] = LOAD(B, 13),
	[11] = AND(0x12),
	[12] = IF(0x02, 0, 1),
	[13] = TAKE(64),
	[14] = TAKE(0),
};

#define LEFT_OUT_MAX 64

/* filter_v4 without connections that a listener takes: the edge sees those anyway, and should not wake up twice. Returns the number of
 * instructions. */
static uint16_t leave_out_listeners(const struct edge_listener *rows, size_t row_count,
				    struct sock_filter *code)
{
	uint16_t count = 0;

	for (; count < 10; count++)
		code[count] = filter_v4[count];
	/* The jumps of these ten lead here, to take a packet, or to the next instruction. X is the length of the header. */
	code[count++] = (struct sock_filter){ BPF_JMP | BPF_JA, 0, 0, 1 };
	code[count++] = (struct sock_filter)TAKE(0);
	for (size_t i = 0; i < row_count; i++) {
		code[count++] = (struct sock_filter){ BPF_LD | BPF_H | BPF_IND, 0, 0, 2 };
		code[count++] = (struct sock_filter)IF(rows[i].port, 0, rows[i].address ? 3 : 1);
		if (rows[i].address) {
			code[count++] = (struct sock_filter)LOAD(W, 16);
			code[count++] = (struct sock_filter)IF(rows[i].address, 0, 1);
		}
		code[count++] = (struct sock_filter)TAKE(0);
	}
	code[count++] = (struct sock_filter)TAKE(96);
	return count;
}

/* A packet socket would see the same, but the kernel takes 5 to 20 ms to close one: it waits until no processor can be using it. */
static long open_raw(int family, int protocol, const struct edge_listener *rows, size_t row_count)
{
	struct sock_filter code[ARRAY_LENGTH(filter_v4) + 1 + 5 * LEFT_OUT_MAX];
	struct sock_fprog program = family == INET
					? (struct sock_fprog){ ARRAY_LENGTH(filter_v4), filter_v4 }
					: (struct sock_fprog){ ARRAY_LENGTH(filter_v6), filter_v6 };
	const int on = 1;
	long fd = sys(socket, family, RAW | O_CLOEXEC, protocol);
	long ret;

	if (fd == -NO_FAMILY && family == INET6)
		return sys(socket, UNIX, DATAGRAM | O_CLOEXEC, 0);
	if (fd < 0)
		return fd;
	if (protocol == TCP && family == INET && row_count <= LEFT_OUT_MAX)
		program = (struct sock_fprog){ leave_out_listeners(rows, row_count, code), code };
	ret = sys(setsockopt, fd, SOCKET_LEVEL, FILTER, &program, sizeof(program));
	if (ret == 0 && family == INET6)
		ret = sys(setsockopt, fd, INET6_LEVEL, RECEIVE_PACKET_INFO, &on, sizeof(on));
	if (ret < 0)
		sys(close, fd);
	return ret < 0 ? ret : fd;
}

/* In a message of one byte; they are closed here. */
static long send_sockets(int to, const int *fds, size_t count)
{
	long ret = message_send(to, "", 1, fds, count);

	for (size_t i = 0; i < count; i++)
		sys(close, fds[i]);
	return ret;
}

static long open_next(const struct wire_block *block, size_t i, const char **ret_what)
{
	const struct edge_listener *rows = WIRE_AT(block, block->listeners, const struct edge_listener);

	if (i >= EDGE_SOCKET_COUNT + block->listener_count) {
		*ret_what = "a socket for network.publish";
		return sys(socket, INET, STREAM | O_CLOEXEC, 0);
	}
	switch (i) {
	case EDGE_SOCKET_DNS:
		*ret_what = "the resolver's socket";
		return open_socket(DATAGRAM, EDGE_SELF, DNS_PORT);
	case EDGE_SOCKET_DNS_TCP:
		return open_socket(STREAM, EDGE_SELF, DNS_PORT);
	case EDGE_SOCKET_RAW_TCP:
	case EDGE_SOCKET_RAW_UDP:
		*ret_what = "a raw socket";
		return open_raw(INET, i == EDGE_SOCKET_RAW_TCP ? TCP : UDP, rows, block->listener_count);
	case EDGE_SOCKET_RAW_TCP6:
	case EDGE_SOCKET_RAW_UDP6:
		return open_raw(INET6, i == EDGE_SOCKET_RAW_TCP6 ? TCP : UDP, NULL, 0);
	default:
		*ret_what = "a listener for network.allow";
		if (rows[i - EDGE_SOCKET_COUNT].is_v6)
			return open_listener_v6(rows[i - EDGE_SOCKET_COUNT].port);
		return open_socket(STREAM, rows[i - EDGE_SOCKET_COUNT].address,
				   rows[i - EDGE_SOCKET_COUNT].port);
	}
}

long sockets_make(const struct wire_block *block, int edge_fd, const char **ret_what)
{
	const size_t leaving = EDGE_SOCKET_COUNT + block->listener_count;
	const size_t total = leaving + block->inward_count;
	int fds[EDGE_FDS_AT_ONCE];
	size_t count = 0;
	long ret = block->named ? add_routes(needs_v6(block), ret_what) : 0;

	for (size_t i = block->named ? 0 : leaving; i < total && ret == 0; i++) {
		long fd = open_next(block, i, ret_what);

		if (fd < 0) {
			ret = fd;
			break;
		}
		fds[count++] = (int)fd;
		if (count == EDGE_FDS_AT_ONCE || i + 1 == total) {
			*ret_what = "the edge";
			ret = send_sockets(edge_fd, fds, count);
			count = 0;
		}
	}
	sys(close, edge_fd);
	return ret;
}
