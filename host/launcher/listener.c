/*
 * Numeric addresses, a Unix socket, or the socket of a service manager.
 */
#include "host/launcher/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "host/launcher/activation.h"

#define BACKLOG     512
#define PATIENCE_US UINT64_C(3000000)
#define PAUSE_MS    50

/* ---- an address ---- */

static int bad_listen(const char *text, const char *why, struct warder_error *err)
{
	return error_set(
	    err, WARDER_ERROR_INVALID_REQUEST, "--listen",
	    "%s, not \"%.80s\"; write an address and a port, such as 127.0.0.1:3000 or [::1]:3000, or the "
	    "path of a socket, such as unix:/run/warder/host.sock",
	    why, text);
}

/* Nobody else on the network reads what passes there. */
static bool is_local(const struct sockaddr *address)
{
	if (address->sa_family == AF_UNIX)
		return true;
	if (address->sa_family == AF_INET)
		return (ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24) ==
		       127;
	return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

static const char *path_of(const struct launcher_options *options)
{
	return strncmp(options->listen, LISTENER_UNIX, strlen(LISTENER_UNIX)) == 0
		   ? options->listen + strlen(LISTENER_UNIX)
		   : NULL;
}

static bool is_inherited(const struct launcher_options *options)
{
	return strcmp(options->listen, ACTIVATION_LISTEN) == 0;
}

/* Numeric addresses only: no name is looked up. */
static int read_address(const char *text, struct sockaddr_storage *ret, socklen_t *ret_len,
			struct warder_error *err)
{
	const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
					.ai_socktype = SOCK_STREAM };
	const char *colon = strrchr(text, ':');
	struct addrinfo *found = NULL;
	char host[100];
	size_t len;

	if (!colon || strspn(colon + 1, "0123456789") != strlen(colon + 1) || !colon[1] ||
	    strlen(colon + 1) > 5 || atoi(colon + 1) > 65535)
		return bad_listen(text, "--listen needs a port", err);
	len = (size_t)(colon - text);
	if (len >= 2 && text[0] == '[' && text[len - 1] == ']')
		snprintf(host, sizeof(host), "%.*s", (int)(len - 2), text + 1);
	else if (len < sizeof(host) && !memchr(text, ':', len))
		snprintf(host, sizeof(host), "%.*s", (int)len, text);
	else
		return bad_listen(text, "--listen needs an IPv6 address in brackets", err);
	if (!host[0] || getaddrinfo(host, colon + 1, &hints, &found) != 0)
		return bad_listen(text, "--listen needs a numeric address", err);
	memcpy(ret, found->ai_addr, found->ai_addrlen);
	*ret_len = found->ai_addrlen;
	freeaddrinfo(found);
	return 0;
}

/* The front of a launcher that was killed holds the address until its jail has ended, too. */
static int bind_patiently(int fd, const struct sockaddr *address, socklen_t len)
{
	const uint64_t until_us = clock_us() + PATIENCE_US;

	while (bind(fd, address, len) < 0) {
		if (errno != EADDRINUSE || clock_us() >= until_us)
			return -1;
		poll(NULL, 0, PAUSE_MS);
	}
	return 0;
}

static int check_address(const struct launcher_options *options, const struct sockaddr *address,
			 struct warder_error *err)
{
	if (options->insecure_http || options->certificate || is_local(address))
		return 0;
	return error_set(err, WARDER_ERROR_REJECTED, "--listen",
			 "plain HTTP on %s would show tokens to the network: add --tls-cert and "
			 "--tls-key, or listen on "
			 "127.0.0.1 with a TLS server in front, or add --insecure-http",
			 is_inherited(options) ? "the address of the socket that was passed"
					       : options->listen);
}

/* ---- a Unix socket ---- */

static int read_path(const struct launcher_options *options, struct sockaddr_un *ret,
		     struct warder_error *err)
{
	const char *path = path_of(options);

	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (path[0] != '/')
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--listen",
				 "--listen needs an absolute path, not \"%.80s\"; write " LISTENER_UNIX
				 "/DIRECTORY/NAME",
				 options->listen);
	if (strlen(path) >= sizeof(ret->sun_path))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--listen",
				 "the path in --listen has %zu bytes, and that of a socket has at most %zu; "
				 "choose a shorter one than \"%.80s\"",
				 strlen(path), sizeof(ret->sun_path) - 1, path);
	if (options->certificate)
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, "--tls-cert",
		    "--tls-cert encrypts TCP connections, and --listen %.80s has none; leave out "
		    "--tls-cert and --tls-key",
		    options->listen);
	snprintf(ret->sun_path, sizeof(ret->sun_path), "%s", path);
	return 0;
}

static int read_mode(const struct launcher_options *options, mode_t *ret, struct warder_error *err)
{
	const char *text = options->socket_mode;
	const unsigned long mode = text ? strtoul(text, NULL, 8) : 0600;

	if (text && !path_of(options))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--socket-mode",
				 "--socket-mode is for --listen " LISTENER_UNIX
				 "PATH, not for --listen %.80s; "
				 "leave it out",
				 options->listen);
	if (text && (!*text || strlen(text) > 4 || strspn(text, "01234567") != strlen(text) ||
		     (mode & 0600) != 0600 || mode > 0777))
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, "--socket-mode",
		    "--socket-mode must be an octal number from 0600 to 0777 that lets the owner "
		    "read and write, such as 0660, not \"%.20s\"",
		    text);
	*ret = (mode_t)mode;
	return 0;
}

/* Whether a process listens at the socket that is there. */
static bool is_alive(const struct sockaddr_un *address)
{
	owned_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	/* EAGAIN: it listens, and has no room. */
	return fd >= 0 && (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 ||
			   errno != ECONNREFUSED);
}

/* A socket that a host has left behind without removing it. The front of one that was killed listens until its jail has ended. */
static int remove_stale(const struct sockaddr_un *address, struct warder_error *err)
{
	const uint64_t until_us = clock_us() + PATIENCE_US;
	const char *path = address->sun_path;
	struct stat st;

	if (lstat(path, &st) < 0)
		return 0;
	if (!S_ISSOCK(st.st_mode))
		return error_set(err, WARDER_ERROR_CONFLICT, "--listen",
				 "%s is there already, and not a socket; remove it, or choose another path",
				 path);
	while (is_alive(address)) {
		if (clock_us() >= until_us)
			return error_set(err, WARDER_ERROR_CONFLICT, "--listen",
					 "another process listens at %s; end it, or choose another path",
					 path);
		poll(NULL, 0, PAUSE_MS);
	}
	if (unlink(path) < 0 && errno != ENOENT)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "--listen", errno,
				       "cannot remove the socket %s that an earlier host has left", path);
	return 0;
}

static int open_unix(const struct launcher_options *options, mode_t mode, int *ret_fd,
		     struct warder_error *err)
{
	struct sockaddr_un address;
	owned_fd int fd = -1;
	mode_t mask;
	int bound;

	if (read_path(options, &address, err) < 0 || remove_stale(&address, err) < 0)
		return -1;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* This process has no other thread yet. */
	mask = umask(0777 & ~mode);
	bound = fd < 0 ? -1 : bind(fd, (const struct sockaddr *)&address, sizeof(address));
	umask(mask);
	if (bound < 0 || listen(fd, BACKLOG) < 0)
		return error_set_errno(
		    err, WARDER_ERROR_UNAVAILABLE, "--listen", errno,
		    "--listen %s: cannot listen there; its directory must exist, and you must be able to "
		    "write to it",
		    options->listen);
	*ret_fd = fd_take(&fd);
	return 0;
}

static int name_unix(const struct launcher_options *options, int fd, char *url, size_t size,
		     struct warder_error *err)
{
	struct sockaddr_un address = { 0 };
	socklen_t len = sizeof(address);

	if (getsockname(fd, (struct sockaddr *)&address, &len) < 0 || !address.sun_path[0])
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--listen",
				 "the Unix socket of --listen %s has no path", options->listen);
	/* A path of the full length has no NUL. */
	snprintf(url, size, LISTENER_UNIX "%.*s", (int)sizeof(address.sun_path), address.sun_path);
	return 0;
}

void listener_remove(const struct launcher_options *options)
{
	const char *path = path_of(options);
	struct sockaddr_un address;
	struct warder_error ignored;

	if (path && read_path(options, &address, &ignored) == 0 && !is_alive(&address))
		unlink(path);
}

/* ---- both ---- */

static int open_listener(const struct launcher_options *options, int *ret_fd, struct warder_error *err)
{
	struct sockaddr_storage address = { 0 };
	socklen_t len;
	const int one = 1;
	owned_fd int fd = -1;
	mode_t mode;

	if (read_mode(options, &mode, err) < 0)
		return -1;
	if (is_inherited(options))
		return activation_take(ret_fd, err);
	if (path_of(options))
		return open_unix(options, mode, ret_fd, err);
	if (read_address(options->listen, &address, &len, err) < 0 ||
	    check_address(options, (struct sockaddr *)&address, err) < 0)
		return -1;
	fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0 ||
	    bind_patiently(fd, (struct sockaddr *)&address, len) < 0 || listen(fd, BACKLOG) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "--listen", errno,
				       "cannot listen on %s", options->listen);
	*ret_fd = fd_take(&fd);
	return 0;
}

int listener_open(const struct launcher_options *options, int *ret_fd, char *url, size_t size,
		  struct warder_error *err)
{
	struct sockaddr_storage address = { 0 };
	socklen_t len = sizeof(address);
	owned_fd int fd = -1;
	char host[INET6_ADDRSTRLEN];
	char port[8];

	if (open_listener(options, &fd, err) < 0)
		return -1;
	if (getsockname(fd, (struct sockaddr *)&address, &len) == 0 && address.ss_family == AF_UNIX) {
		if (name_unix(options, fd, url, size, err) < 0)
			return -1;
		*ret_fd = fd_take(&fd);
		return 0;
	}
	if (getsockname(fd, (struct sockaddr *)&address, &len) < 0 ||
	    getnameinfo((struct sockaddr *)&address, len, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return error_set(err, WARDER_ERROR_INTERNAL, "--listen",
				 "cannot find the address of the socket");
	if (check_address(options, (struct sockaddr *)&address, err) < 0)
		return -1;
	snprintf(url, size, address.ss_family == AF_INET6 ? "%s://[%s]:%s" : "%s://%s:%s",
		 options->certificate ? "https" : "http", host, port);
	*ret_fd = fd_take(&fd);
	return 0;
}

int listener_check(const struct launcher_options *options, struct warder_error *err)
{
	struct sockaddr_storage address = { 0 };
	struct sockaddr_un name;
	socklen_t len;

	mode_t mode;

	if (read_mode(options, &mode, err) < 0)
		return -1;
	if (is_inherited(options))
		return 0;
	return path_of(options) ? read_path(options, &name, err)
				: read_address(options->listen, &address, &len, err);
}
