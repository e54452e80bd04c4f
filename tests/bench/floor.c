/*
 * The kernel's floor: what the system calls of a jail cost when nothing is done besides.
 *
 * Same namespaces, mounts and masks, id change, empty capabilities, Landlock rules and filter instructions
 * as a jail of the default policy, for a program that is pid 1 itself. Left out is what a sandbox has to do around it: policy,
 * deadlines, the bytes of a receipt; and, without the options for it, cgroup, init, pipes, read-back. Static, and no libc between clone and exec,
 * so that no start-up cost of its own is in the figure.
 *
 *   floor [OPTION]... [--ro PATH]... -- PROGRAM ARG...               one launch; exits with the program's status
 *   floor --serve [OPTION]... [--ro PATH]... -- PROGRAM ARG...       launches for the harness
 *   floor --listen SOCKET [OPTION]... [--ro PATH]... -- PROGRAM      launches for tests/bench/client.c, from a parked jail
 *
 * --serve: the user namespace is made once and entered. What a launch does besides:
 *
 *   --prepared     its mount namespace is a copy of one that was made once, as with a template
 *   --cgroup C:DIR a leaf in DIR for each launch: made, limited, read back, joined, read, removed. C lists the controllers, the first of which is "v2"
 *                  for a hierarchy of cgroup v2
 *   --init         pid 1 is not the program, but waits for it
 *   --users        a user namespace for each launch, with limits of its own, read back
 *   --covers       files that describe the jail, and mounts that put them over names of /proc
 *   --pipes        the program writes to two pipes, which are read to their ends
 *   --read-back    what the kernel shows of the jail is read before the program starts
 *   --park         the jail is finished, and waits, before the launch begins; the launch gives it the arguments. Implies --init
 *   --again        such a jail's limits and identity are read again, from files that are open
 *   --same-leaves  the leaves are made once, and used by each launch; not by several at a time. No check that they are like new ones
 *   --same-network the same of the network namespace
 *   --session      nothing but a leaf is made: all namespaces are a running session's, which the launch joins
 *   --own          in a session, a pid and a cgroup namespace, a copy of the mounts and a /proc for each launch
 *
 * A single launch maps the one id that a process may map for itself after it has become it: the kernel's cheapest way
 * to be nobody. So does --users.
 */
#include "tests/bench/floor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "jail/inside/sys.h"
#include "tests/bench/serve.h"

/* ---- launches ---- */

/* The thread's parked jail, and one that has ended: what is left of it is removed when nobody waits. */
static _Thread_local struct launch *parked, *ended_jail;

static int remove_ended(void)
{
	const int ret = ended_jail ? launch_end(ended_jail) : 0;

	free(ended_jail);
	ended_jail = NULL;
	return ret;
}

static int end_parked(void)
{
	int status = -1;

	if (parked) {
		status = launch_wait(parked);
		ended_jail = parked;
		parked = NULL;
	}
	return status;
}

static int park(void *context)
{
	if (remove_ended() < 0)
		return -1;
	if (parked)
		return 0;
	parked = malloc(sizeof(*parked));
	if (!parked)
		return -1;
	if (launch_begin(context, parked) == 0 && launch_await(parked) == 0 &&
	    (!parked->floor->again || launch_open_again(parked) == 0))
		return 0;
	end_parked();
	return -1;
}

static int hand_out(struct floor *floor, const char *words, size_t len, const int *streams)
{
	const bool gone = (parked || park(floor) == 0) && launch_again(parked) == 0 &&
			  launch_go(parked, words, len, streams) == 0;
	const int status = end_parked();

	return gone ? status : -1;
}

static void drop_parked(void)
{
	remove_ended();
	end_parked();
	remove_ended();
}

static int launch_parked(void *context)
{
	struct floor *floor = context;
	char words[WORDS_SIZE];

	return hand_out(floor, words, launch_words(floor->argv, words), NULL);
}

static int launch(void *context)
{
	struct floor *floor = context;
	struct launch now;
	char words[WORDS_SIZE];
	int begun = launch_begin(floor, &now);
	int status;

	if (begun == 0 && floor->read_back)
		begun = launch_await(&now) == 0 && launch_read_back(&now) == 0 &&
				launch_go(&now, words, launch_words(floor->argv, words), NULL) == 0
			    ? 0
			    : -1;
	status = launch_wait(&now);
	if (launch_end(&now) < 0)
		status = -1;
	return begun == 0 ? status : -1;
}

/* ---- preparation ---- */

/* Shares our descriptors: those of the namespaces stay with us. */
static void prepare_namespaces(void *arg)
{
	static const char *const files[] = { "/proc/self/ns/mnt", "/proc/self/ns/net", "/proc/self/ns/ipc",
					     "/proc/self/ns/uts" };
	struct child *child = arg;

	for (size_t i = 0; i < ARRAY_LENGTH(files); i++)
		child->ns_fds[i] = (int)inside_check(
		    child, files[i], sys(openat, AT_FDCWD, files[i], O_RDONLY | O_CLOEXEC, 0));
	inside_build_root(child);
	if (child->floor->session) {
		inside_mount_own(child);
		inside_check(child, "hostname", sys(sethostname, "warder", 6));
	}
	sys(exit_group, 0);
}

static void sleep_in_ns(void *arg)
{
	for (;;)
		sys(ppoll, arg, 0, 0, 0, 0);
}

static int prepare_user_ns(void)
{
	char stack[CLONE_STACK_BYTES] __attribute__((aligned(16)));
	struct clone_args args = { .flags = CLONE_VM | CLONE_NEWUSER, .exit_signal = SIGCHLD };
	struct child child = { .what = "user namespace" };
	long pid = clone_call(&args, stack, sleep_in_ns, NULL);
	char path[64];
	char map[64];
	int fd;

	if (pid < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/%ld", pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	snprintf(map, sizeof(map), "0 %u 65536\n", HOST_ID);
	inside_write(&child, fd, "uid_map", map);
	inside_write(&child, fd, "gid_map", map);
	close(fd);
	snprintf(path, sizeof(path), "/proc/%ld/ns/user", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	kill((pid_t)pid, SIGKILL);
	waitpid((pid_t)pid, NULL, 0);
	return fd;
}

/* A session's own pid and time namespace: this process becomes its first one. Without one, returns 0; else only the child returns. */
static int enter_session(const struct floor *floor)
{
	struct child child = { .what = "timens_offsets" };
	int status = 0;
	int self_fd;
	pid_t pid;

	if (!floor->session)
		return 0;
	self_fd = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (unshare(CLONE_NEWPID | CLONE_NEWTIME) < 0)
		return -1;
	inside_write(&child, self_fd, "timens_offsets", floor->clocks);
	close(self_fd);
	pid = fork();
	if (pid == 0)
		return 0;
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	_exit(pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 125);
}

static bool prepare(struct floor *floor)
{
	struct child child = { .floor = floor, .what = "clone3", .ns_fds = { -1, -1, -1, -1 } };
	int ret;

	if (!floor->users)
		floor->user_ns_fd = prepare_user_ns();
	if (enter_session(floor) < 0 || (!floor->users && floor->user_ns_fd < 0))
		return false;
	if (!floor->prepared && !floor->same_network && !floor->session)
		return true;
	ret = clone_run(CLONE_FILES | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS,
			prepare_namespaces, &child, sizeof(child));
	if (ret != 0 || child.error < 0) {
		fprintf(stderr, "floor: %s: %s\n", child.what,
			strerror(child.error ? (int)-child.error : -ret));
		return false;
	}
	floor->mount_ns_fd = child.ns_fds[0];
	floor->ipc_ns_fd = child.ns_fds[2];
	floor->uts_ns_fd = child.ns_fds[3];
	if (floor->same_network || floor->session)
		floor->net_ns_fd = child.ns_fds[1];
	return true;
}

/* ---- services ---- */

static int serve_harness(struct floor *floor)
{
	int status;

	if (!prepare(floor))
		return 125;
	status = floor->parked ? serve(launch_parked, park, floor) : serve(launch, NULL, floor);
	drop_parked();
	if (floor->same_leaves)
		leaves_end(&floor->groups, &floor->kept, false);
	return status;
}

static int listen_at(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	unlink(path);
	return bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 && listen(fd, 16) == 0 ? fd : -1;
}

/* The client's words and streams go to the parked jail as they came. */
static void answer(struct floor *floor, int client_fd)
{
	char control[CMSG_SPACE(3 * sizeof(int))] __attribute__((aligned(8)));
	char words[WORDS_SIZE];
	struct iovec part = { words, sizeof(words) };
	struct msghdr header = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)
	};
	const ssize_t len = recvmsg(client_fd, &header, MSG_CMSG_CLOEXEC);
	int streams[3];
	int status;

	if (len <= 0 || !CMSG_FIRSTHDR(&header) ||
	    CMSG_FIRSTHDR(&header)->cmsg_len != CMSG_LEN(sizeof(streams)))
		return;
	memcpy(streams, CMSG_DATA(CMSG_FIRSTHDR(&header)), sizeof(streams));
	status = hand_out(floor, words, (size_t)len, streams);
	send(client_fd, &status, sizeof(status), MSG_NOSIGNAL);
	for (int i = 0; i < 3; i++)
		close(streams[i]);
}

static volatile sig_atomic_t ended;

static void end(int signal)
{
	ended = 1;
}

static int serve_clients(struct floor *floor, const char *path)
{
	const struct sigaction on_end = { .sa_handler = end };
	const int listener_fd = listen_at(path);

	sigaction(SIGTERM, &on_end, NULL);
	if (listener_fd < 0 || !prepare(floor) || park(floor) < 0)
		return 125;
	puts("ready");
	fflush(stdout);
	while (!ended) {
		const int client_fd = accept4(listener_fd, NULL, NULL, SOCK_CLOEXEC);

		if (client_fd < 0)
			continue;
		answer(floor, client_fd);
		close(client_fd);
		park(floor);
	}
	drop_parked();
	return 0;
}

/* ---- options ---- */

static void add_source(struct floor *floor, const char *path)
{
	struct stat st;

	floor->extra[floor->extra_count++] =
	    (struct source){ path, stat(path, &st) == 0 && !S_ISDIR(st.st_mode) };
}

static bool set_flag(struct floor *floor, const char *word)
{
	const struct flag {
		const char *word;
		bool *value;
	} flags[] = {
		{ "--prepared", &floor->prepared },
		{ "--init", &floor->with_init },
		{ "--users", &floor->users },
		{ "--covers", &floor->covers },
		{ "--pipes", &floor->pipes },
		{ "--read-back", &floor->read_back },
		{ "--park", &floor->parked },
		{ "--again", &floor->again },
		{ "--same-leaves", &floor->same_leaves },
		{ "--same-network", &floor->same_network },
		{ "--session", &floor->session },
		{ "--own", &floor->own },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(flags); i++)
		if (strcmp(word, flags[i].word) == 0)
			return *flags[i].value = true;
	return false;
}

int main(int argc, char **argv)
{
	static struct floor floor = {
		.mount_ns_fd = -1, .user_ns_fd = -1, .net_ns_fd = -1, .ipc_ns_fd = -1, .uts_ns_fd = -1
	};
	const char *socket_path = NULL;
	struct timespec now;
	bool serving = false;
	int at = 1;

	for (; at < argc && strcmp(argv[at], "--") != 0; at++) {
		if (strcmp(argv[at], "--serve") == 0)
			serving = true;
		else if (strcmp(argv[at], "--listen") == 0 && at + 1 < argc)
			socket_path = argv[++at];
		else if (strcmp(argv[at], "--cgroup") == 0 && at + 1 < argc &&
			 leaves_add(&floor.groups, argv[at + 1]))
			at++;
		else if (strcmp(argv[at], "--ro") == 0 && at + 1 < argc && floor.extra_count < EXTRA_MAX)
			add_source(&floor, argv[++at]);
		else if (!set_flag(&floor, argv[at]))
			break;
	}
	if (at + 1 >= argc || strcmp(argv[at], "--") != 0) {
		fprintf(
		    stderr,
		    "usage: floor [--serve|--listen SOCKET] [OPTION]... [--ro PATH]... -- PROGRAM ARG...\n");
		return 125;
	}
	floor.argv = argv + at + 1;
	floor.with_init |= floor.parked;
	clock_gettime(CLOCK_MONOTONIC, &now);
	snprintf(floor.clocks, sizeof(floor.clocks), "monotonic %ld 0\nboottime %ld 0\n",
		 -(long)now.tv_sec + 1, -(long)now.tv_sec + 1);
	snprintf(floor.id_map, sizeof(floor.id_map), "%u %u 1\n", INSIDE_ID, HOST_ID);
	if (socket_path)
		return serve_clients(&floor, socket_path);
	if (serving)
		return serve_harness(&floor);
	at = launch(&floor);
	return at < 0 ? 125 : at;
}
