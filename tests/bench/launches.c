#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "tests/bench/floor.h"

static int complain(const struct launch *launch)
{
	const struct child *child = &launch->child;

	fprintf(stderr, "floor: %s: %s\n", child->what, strerror(child->error ? (int)-child->error : errno));
	return -1;
}

static void shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* ---- begin ---- */

static uint64_t namespaces(const struct floor *floor)
{
	if (floor->session)
		return floor->own ? CLONE_NEWPID | CLONE_NEWCGROUP : 0;
	return CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP | CLONE_NEWTIME |
	       (floor->prepared ? 0 : CLONE_NEWNS) | (floor->net_ns_fd >= 0 ? 0 : CLONE_NEWNET);
}

/* The leaves that are kept are there already, from the second launch on. */
static bool open_leaves(struct floor *floor, struct launch *launch)
{
	struct leaves *leaves = floor->same_leaves ? &floor->kept : &launch->own_leaves;

	launch->child.leaves = leaves;
	return leaves->count || leaves_make(&floor->groups, leaves);
}

/* The number of the program's process comes with its first byte, as we see it. */
static bool open_word(struct launch *launch)
{
	const int on = 1;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return false;
	launch->word_fd = pair[0];
	launch->child.word_fd = pair[1];
	return setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) == 0;
}

static bool open_outputs(struct launch *launch)
{
	for (int i = 0; i < 2; i++) {
		int ends[2];

		if (pipe2(ends, O_CLOEXEC) < 0)
			return false;
		launch->output_fds[i] = ends[0];
		launch->child.output_fds[i] = ends[1];
	}
	return true;
}

/* The child may not have come so far as to read the number. */
static void close_childs(int fd)
{
	if (fd >= 0)
		close(fd);
}

int launch_begin(struct floor *floor, struct launch *ret)
{
	const bool waits = floor->read_back || floor->parked;
	struct clone_args args = { .flags = CLONE_VM | namespaces(floor), .exit_signal = SIGCHLD };
	struct child *child = &ret->child;

	ret->floor = floor;
	ret->pid = ret->word_fd = ret->proc_fd = ret->snmp_fd = ret->output_fds[0] = ret->output_fds[1] = -1;
	ret->own_leaves.count = ret->again_count = 0;
	*child = (struct child){ .floor = floor,
				 .what = "clone3",
				 .word_fd = -1,
				 .output_fds = { -1, -1 },
				 .program_stack = ret->stacks[1] };
	if (!open_leaves(floor, ret) || (waits && !open_word(ret)) || (floor->pipes && !open_outputs(ret))) {
		child->what = "control groups, a socket or pipes";
		return complain(ret);
	}
	if (leaves_v2_fd(&floor->groups, child->leaves) >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)leaves_v2_fd(&floor->groups, child->leaves);
	}
	if (!waits && !floor->with_init)
		args.flags |= CLONE_VFORK;
	ret->pid = clone_call(&args, ret->stacks[0], inside_main, child);
	if (ret->pid < 0)
		child->error = ret->pid;
	close_childs(child->word_fd);
	close_childs(child->output_fds[0]);
	close_childs(child->output_fds[1]);
	return child->error < 0 ? -1 : 0; /* launch_end() complains */
}

int launch_await(struct launch *launch)
{
	char byte;
	char control[CMSG_SPACE(sizeof(struct ucred))] __attribute__((aligned(8)));
	struct iovec part = { &byte, 1 };
	struct msghdr header = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
	};
	struct ucred sender;
	ssize_t len;

	do
		len = recvmsg(launch->word_fd, &header, 0);
	while (len < 0 && errno == EINTR);
	if (len != 1 || !CMSG_FIRSTHDR(&header))
		return complain(launch);
	memcpy(&sender, CMSG_DATA(CMSG_FIRSTHDR(&header)), sizeof(sender));
	launch->program_pid = sender.pid;
	return 0;
}

/* ---- reading ---- */

static int open_proc(struct launch *launch)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", launch->program_pid);
	launch->proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return launch->proc_fd < 0 ? complain(launch) : 0;
}

/* To the end where that is a page away, as seq_file(9) gives it. */
static bool read_file(int dir_fd, const char *name)
{
	char text[16384];
	const int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	if (fd < 0)
		return errno == ENOENT;
	do
		n = read(fd, text, sizeof(text));
	while (n >= 2048);
	close(fd);
	return n >= 0;
}

int launch_read_back(struct launch *launch)
{
	static const char *const texts[] = { "net/route",         "net/ipv6_route", "mountinfo",
					     "root/proc/meminfo", "cgroup",         "uid_map",
					     "gid_map",           "limits",         "status" };
	static const char *const links[] = { "ns/mnt", "ns/user", "ns/net",    "ns/pid",
					     "ns/ipc", "ns/uts",  "ns/cgroup", "ns/time" };
	static const char *const objects[] = { "net/protocols", "root/usr", "root/etc/alternatives",
					       "root/etc/ld.so.cache" };
	struct statfs scratch;
	struct stat st;
	char text[64];
	bool ok;

	launch->child.what = "read-back";
	ok = open_proc(launch) == 0;
	for (size_t i = 0; i < ARRAY_LENGTH(texts) && ok; i++)
		ok = read_file(launch->proc_fd, texts[i]);
	for (size_t i = 0; i < ARRAY_LENGTH(links) && ok; i++)
		ok = readlinkat(launch->proc_fd, links[i], text, sizeof(text)) > 0;
	for (size_t i = 0; i < ARRAY_LENGTH(objects) && ok; i++)
		ok = fstatat(launch->proc_fd, objects[i], &st, 0) == 0 || errno == ENOENT;
	if (ok) {
		int tmp_fd = openat(launch->proc_fd, "root/tmp", O_PATH | O_CLOEXEC);

		ok = tmp_fd >= 0 && fstatfs(tmp_fd, &scratch) == 0;
		shut(&tmp_fd);
	}
	launch->snmp_fd = openat(launch->proc_fd, "net/snmp", O_RDONLY | O_CLOEXEC);
	return ok ? 0 : complain(launch);
}

int launch_open_again(struct launch *launch)
{
	static const char *const texts[] = { "status", "cgroup", "limits", "uid_map", "gid_map" };

	if (open_proc(launch) < 0)
		return -1;
	launch->again_count = leaves_open_limits(&launch->floor->groups, launch->child.leaves,
						 launch->again_fds, AGAIN_MAX - ARRAY_LENGTH(texts));
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		const int fd = openat(launch->proc_fd, texts[i], O_RDONLY | O_CLOEXEC);

		launch->again_fds[launch->again_count] = fd;
		launch->again_count += fd >= 0;
	}
	return 0;
}

int launch_again(struct launch *launch)
{
	char text[4096];

	launch->child.what = "second reading";
	for (size_t i = 0; i < launch->again_count; i++)
		if (pread(launch->again_fds[i], text, sizeof(text), 0) <= 0)
			return complain(launch);
	return 0;
}

/* ---- end ---- */

size_t launch_words(char *const *argv, char ret[WORDS_SIZE])
{
	size_t len = 0;

	for (; *argv && len + strlen(*argv) + 1 <= WORDS_SIZE; argv++) {
		memcpy(ret + len, *argv, strlen(*argv) + 1);
		len += strlen(*argv) + 1;
	}
	return len;
}

int launch_go(struct launch *launch, const char *words, size_t len, const int *streams)
{
	char control[CMSG_SPACE(3 * sizeof(int))] __attribute__((aligned(8))) = { 0 };
	struct iovec part = { (void *)words, len };
	struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1 };

	launch->child.what = "the word to go";
	if (streams) {
		header.msg_control = control;
		header.msg_controllen = sizeof(control);
		*CMSG_FIRSTHDR(&header) = (struct cmsghdr){ .cmsg_len = CMSG_LEN(3 * sizeof(int)),
							    .cmsg_level = SOL_SOCKET,
							    .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&header)), streams, 3 * sizeof(int));
	}
	return sendmsg(launch->word_fd, &header, MSG_NOSIGNAL) == (ssize_t)len ? 0 : complain(launch);
}

static bool drain(int fd)
{
	char bytes[4096];
	ssize_t n;

	do
		n = read(fd, bytes, sizeof(bytes));
	while (n > 0 || (n < 0 && errno == EINTR));
	return n == 0;
}

static bool read_counters(const struct launch *launch)
{
	char text[4096];

	return launch->snmp_fd < 0 || pread(launch->snmp_fd, text, sizeof(text), 0) > 0;
}

int launch_wait(struct launch *launch)
{
	int status = 0;
	bool ok = launch->pid > 0;

	shut(&launch->word_fd);
	for (int i = 0; i < 2 && launch->output_fds[i] >= 0; i++)
		ok &= drain(launch->output_fds[i]);
	if (launch->pid > 0)
		while (waitpid((pid_t)launch->pid, &status, 0) < 0 && errno == EINTR)
			;
	launch->pid = -1;
	if (launch->child.error < 0)
		return complain(launch);
	if (!ok)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int launch_end(struct launch *launch)
{
	const struct floor *floor = launch->floor;
	bool ok = read_counters(launch);

	for (size_t i = 0; i < launch->again_count; i++)
		shut(&launch->again_fds[i]);
	shut(&launch->output_fds[0]);
	shut(&launch->output_fds[1]);
	shut(&launch->snmp_fd);
	shut(&launch->proc_fd);
	if (launch->child.leaves)
		ok &= leaves_end(&floor->groups, (struct leaves *)launch->child.leaves, floor->same_leaves);
	return ok ? 0 : -1;
}
