/*
 * neighbours: two jails of the same policy. The other one makes what a program has, says what, and waits.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "runtime/attack/attempts/attempts.h"

/* ---- the neighbour ---- */

static void remove_file(const char *directory, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	unlink(path);
}

static int listen_abstract(const char *name)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	size_t length = strlen(name);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(at.sun_path + 1, name, length < 100 ? length : 100);
	if (bind(fd, (struct sockaddr *)&at, (socklen_t)(sizeof(sa_family_t) + 1 + length)) != 0)
		return -1;
	return listen(fd, 4);
}

/* A filter may have no such thing, for both. Not to write to: Landlock takes it for a file that is not in the plan. */
static int make_queue(const char *name)
{
	char path[256];
	struct mq_attr about = { .mq_maxmsg = 1, .mq_msgsize = 16 };
	mqd_t queue;

	snprintf(path, sizeof(path), "/%s", name);
	queue = mq_open(path, O_CREAT | O_EXCL | O_RDONLY, 0666, &about);
	return queue != (mqd_t)-1 || errno == ENOSYS ? 0 : -1;
}

static void remove_queue(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "/%s", name);
	mq_unlink(path);
}

/* The policy may grant none, to both. */
static int open_terminal(void)
{
	int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

	return fd >= 0 || errno == ENOENT ? 0 : -1;
}

/* What others are not to find; an attempt that does not find what is not there proves nothing. */
static int have_everything(const char *name, const char *const *places, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (make_secret(places[i], name) != 0)
			return -1;
	if (listen_abstract(name) != 0 || open_terminal() != 0)
		return -1;
	return make_queue(name);
}

/* Without a loopback interface that is up nobody listens; then there is a port all the same, to be refused
 * at. */
static int listen_loopback(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0 || listen(fd, 4) != 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &length) != 0)
		return 1;
	return ntohs(at.sin_port);
}

/* The first page of a file that every jail shows, read-only; NULL: there is none. */
static uint32_t *map_shared_page(void)
{
	int fd = open(host_file(), O_RDONLY | O_CLOEXEC);
	void *page = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	if (fd >= 0)
		close(fd);
	return page == MAP_FAILED ? NULL : page;
}

/* Until the neighbour ends. */
static void *wait_on_shared_page(void *page)
{
	const uint32_t *word = page;

	while (syscall(SYS_futex, word, FUTEX_WAIT, *word, NULL, NULL, 0) == 0 || errno == EINTR)
		;
	return NULL;
}

static void wait_to_be_woken(void)
{
	uint32_t *page = map_shared_page();
	pthread_t thread;

	if (page)
		pthread_create(&thread, NULL, wait_on_shared_page, page);
}

int neighbour_main(const struct marks *marks)
{
	int shm = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0666);
	int lock_fd = open(host_file(), O_RDONLY | O_CLOEXEC);
	/* Outside the driver's directory stands for both: the host's own are everybody's. */
	const char *shared[] = { marks->outside ? marks->dir : "/tmp", "/dev/shm" };
	const size_t places = marks->outside ? 1 : 2;
	char byte;

	if (shm >= 0 && shmat(shm, NULL, 0) != (void *)-1)
		shmctl(shm, IPC_RMID, NULL); /* stays as long as it is attached, under its id */
	if (have_everything(marks->neighbour, shared, places) != 0)
		return 1;
	/* Only inside: outside a program of the host would wait for it. */
	if (!marks->outside && lock_fd >= 0)
		syscall(SYS_flock, lock_fd, 1 /* LOCK_SH */);
	if (!marks->outside)
		wait_to_be_woken();
	printf("neighbour-port=%d neighbour-shm=%d\n", listen_loopback(), shm);
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	for (size_t i = 0; i < places; i++)
		remove_file(shared[i], marks->neighbour);
	remove_queue(marks->neighbour);
	return 0;
}

/* ---- against it ---- */

static int read_neighbours_file(const struct attempt *self, const struct marks *marks)
{
	char path[256], text[16];

	if (!marks->neighbour[0])
		return UNTRIED;
	snprintf(path, sizeof(path), "%s/%s", marks->outside ? marks->dir : self->path, marks->neighbour);
	return answer_hidden(read_text(path, text, sizeof(text)));
}

/* Its file in /tmp, or outside the driver's. */
static int open_neighbours_root(const struct attempt *self, const struct marks *marks)
{
	char path[512], text[16];

	if (!marks->neighbour_pid)
		return UNTRIED;
	snprintf(path, sizeof(path), "/proc/%d/root%s/%s", marks->neighbour_pid,
		 marks->outside ? marks->dir : "/tmp", marks->neighbour);
	return answer_hidden(read_text(path, text, sizeof(text)));
}

/* All of an instance of /dev/pts have each other's. */
static int find_neighbours_terminal(const struct attempt *self, const struct marks *marks)
{
	return answer_terminals();
}

static int open_neighbours_queue(const struct attempt *self, const struct marks *marks)
{
	char path[256];
	mqd_t queue;

	snprintf(path, sizeof(path), "/%s", marks->neighbour);
	queue = mq_open(path, O_RDONLY | O_NONBLOCK);
	return queue == (mqd_t)-1 ? answer_hidden(-1) : REACHED;
}

static int read_neighbours_root(const struct attempt *self, const struct marks *marks)
{
	char path[256], text[16];

	if (!marks->neighbour_pid)
		return UNTRIED;
	snprintf(path, sizeof(path), "/proc/%d/%s", marks->neighbour_pid, self->path);
	return answer_hidden(read_text(path, text, sizeof(text)));
}

static int connect_neighbours_socket(const struct attempt *self, const struct marks *marks)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t length = strlen(marks->neighbour);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (!length || length > 100)
		return UNTRIED;
	memcpy(to.sun_path + 1, marks->neighbour, length);
	return answer_of(connect(fd, (struct sockaddr *)&to, (socklen_t)(sizeof(sa_family_t) + 1 + length)));
}

static int connect_neighbours_port(const struct attempt *self, const struct marks *marks)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)marks->neighbour_port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (!marks->neighbour_port)
		return UNTRIED;
	return answer_of(connect(fd, (struct sockaddr *)&to, sizeof(to)));
}

/* In a namespace of its own the number may be that of a segment of ours: there is none. */
static int attach_neighbours_segment(const struct attempt *self, const struct marks *marks)
{
	void *at = marks->neighbour_shm < 0 ? NULL : shmat(marks->neighbour_shm, NULL, SHM_RDONLY);

	/* The other one was not allowed to make any; then neither are we. */
	if (!at)
		return answer_of(shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600));
	if (at == (void *)-1)
		return errno;
	shmdt(at);
	return REACHED;
}

static int signal_neighbour(const struct attempt *self, const struct marks *marks)
{
	return marks->neighbour_pid ? answer_of(kill(marks->neighbour_pid, 0)) : UNTRIED;
}

static int read_neighbours_memory(const struct attempt *self, const struct marks *marks)
{
	char byte;
	struct iovec local = { &byte, 1 };
	struct iovec remote = { (void *)(uintptr_t)0x400000, 1 };

	if (!marks->neighbour_pid)
		return UNTRIED;
	return answer_past(process_vm_readv(marks->neighbour_pid, &local, 1, &remote, 1, 0), EFAULT);
}

/* The process that connects for it, outside of both jails; or what supervises it. */
static int signal_neighbours_edge(const struct attempt *self, const struct marks *marks)
{
	return marks->neighbour_edge ? answer_of(kill(marks->neighbour_edge, 0)) : UNTRIED;
}

/* What a descriptor of it is taken by. */
static int open_neighbours_edge(const struct attempt *self, const struct marks *marks)
{
	int answer;
	int fd;

	if (!marks->neighbour_edge)
		return UNTRIED;
	fd = (int)syscall(SYS_pidfd_open, marks->neighbour_edge, 0);
	answer = answer_of(fd);
	if (fd >= 0)
		close(fd);
	return answer;
}

static int see_neighbours_edge(const struct attempt *self, const struct marks *marks)
{
	char path[256], text[16];

	if (!marks->neighbour_edge)
		return UNTRIED;
	snprintf(path, sizeof(path), "/proc/%d/%s", marks->neighbour_edge, self->path);
	return answer_hidden(read_text(path, text, sizeof(text)));
}

static int find_neighbours_lock(const struct attempt *self, const struct marks *marks)
{
	int fd = open(host_file(), O_RDONLY | O_CLOEXEC);
	int answer;

	if (fd < 0)
		return UNTRIED;
	answer = answer_of(syscall(SYS_flock, fd, 2 | 4 /* LOCK_EX, LOCK_NB */));
	return answer == EAGAIN ? REACHED : answer;
}

static int wake_neighbour(const struct attempt *self, const struct marks *marks)
{
	const uint32_t *page = map_shared_page();
	long woken;

	if (!page)
		return UNTRIED;
	woken = syscall(SYS_futex, page, FUTEX_WAKE, 1, NULL, NULL, 0);
	if (woken < 0)
		return errno;
	return woken > 0 ? REACHED : NO_EFFECT;
}

/* The page of this function: the neighbour executes the same file. */
static int see_neighbours_pages(const struct attempt *self, const struct marks *marks)
{
	const uint64_t present = UINT64_C(1) << 63, exclusive = UINT64_C(1) << 56;
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t entry = 0;
	ssize_t length;

	if (fd < 0)
		return answer_hidden(-1);
	length =
	    pread(fd, &entry, sizeof(entry), (off_t)((uintptr_t)see_neighbours_pages / 4096 * sizeof(entry)));
	close(fd);
	if (length != sizeof(entry) || !(entry & present))
		return NO_EFFECT;
	return entry & exclusive ? CLEAN : REACHED;
}

/* Two jails of root's have different users outside, so that a file that both can reach is still not the
 * other's. */
static int share_neighbours_id(const struct attempt *self, const struct marks *marks)
{
	unsigned inside, outer;
	char text[512];

	if (read_text("/proc/self/uid_map", text, sizeof(text)) <= 0 ||
	    sscanf(text, "%u %u", &inside, &outer) != 2)
		return UNTRIED;
	outer += getuid() - inside;
	note("%u outside, the other is %u", outer, marks->neighbour_uid);
	return outer == marks->neighbour_uid ? REACHED : CLEAN;
}

#define NEIGHBOUR(name, about, expected, mechanism, function, where)                                         \
	{                                                                                                    \
		name, about, expected, mechanism, .needs = "neighbour", .run = function, .path = where,      \
						  .outside = OUTSIDE_PLAIN                                   \
	}

static const struct attempt rows[] = {
	NEIGHBOUR("read-neighbours-tmp", "read a file in /tmp of another jail", "hidden", "/tmp of its own",
		  read_neighbours_file, "/tmp"),
	{ "read-neighbours-shm", "read a file in /dev/shm of another jail", "hidden", "/dev/shm of its own",
	  .seen = "isolate before 2.6", .needs = "neighbour", .run = read_neighbours_file, .path = "/dev/shm",
	  .outside = OUTSIDE_PLAIN },
	NEIGHBOUR("read-neighbours-environment", "read the environment of another jail's program", "hidden",
		  "pid namespace, hidepid", read_neighbours_root, "environ"),
	NEIGHBOUR("read-neighbours-arguments", "read the arguments of another jail's program", "hidden",
		  "pid namespace, hidepid", read_neighbours_root, "cmdline"),
	{ "connect-neighbours-socket", "connect to an abstract socket of another jail", "ECONNREFUSED|EPERM",
	  "network namespace, Landlock", .allowed = "net=host-unscoped", .needs = "neighbour",
	  .run = connect_neighbours_socket, .outside = OUTSIDE_PLAIN },
	{ "connect-neighbours-port", "connect to another jail on 127.0.0.1", "ENETUNREACH|ECONNREFUSED",
	  "network namespace", .allowed = "net=host", .needs = "neighbour", .run = connect_neighbours_port,
	  .outside = OUTSIDE_PLAIN },
	NEIGHBOUR("attach-neighbours-segment", "attach a System V segment of another jail", "EINVAL|ENOSYS",
		  "IPC namespace", attach_neighbours_segment, NULL),
	NEIGHBOUR("open-neighbours-queue", "open a message queue of another jail", "hidden|ENOSYS",
		  "IPC namespace", open_neighbours_queue, NULL),
	NEIGHBOUR("find-neighbours-terminal", "find a terminal of another jail", "hidden",
		  "/dev/pts of its own", find_neighbours_terminal, NULL),
	NEIGHBOUR("open-neighbours-root", "read a file of another jail through its root in /proc", "hidden",
		  "pid namespace, hidepid", open_neighbours_root, NULL),
	NEIGHBOUR("signal-neighbour", "signal another jail's program", "ESRCH", "pid namespace",
		  signal_neighbour, NULL),
	NEIGHBOUR("read-neighbours-memory", "read the memory of another jail's program", "EPERM|ESRCH",
		  "seccomp filter, pid namespace", read_neighbours_memory, NULL),
	NEIGHBOUR("signal-neighbours-edge",
		  "signal the process that connects for another jail, or supervises it", "ESRCH",
		  "pid namespace", signal_neighbours_edge, NULL),
	NEIGHBOUR("open-neighbours-edge", "get hold of that process, to take its descriptors",
		  "ESRCH|EPERM|ENOSYS", "pid namespace, seccomp filter", open_neighbours_edge, NULL),
	NEIGHBOUR("see-neighbours-edge", "read about that process in /proc", "hidden",
		  "pid namespace, hidepid", see_neighbours_edge, "comm"),
	{ "share-neighbours-id", "have the same user id outside as another jail", "clean",
	  "a range of ids for each jail", .allowed = "unprivileged", .needs = "neighbour",
	  .run = share_neighbours_id, .outside = OUTSIDE_PLAIN },
	{ "find-neighbours-lock", "see a lock that another jail holds on a shared file", "ENOSYS",
	  "seccomp filter", .allowed = "profile=compat|call=flock", .needs = "neighbour",
	  .run = find_neighbours_lock, .not_outside = "a program of the host would wait" },
	/* Nothing stops these two: see docs/threat-model.md. */
	{ "wake-neighbour", "wake another jail by a futex in a page of a shared file", "no-effect", "nothing",
	  .allowed = "same-kernel", .needs = "neighbour", .run = wake_neighbour },
	{ "see-neighbours-pages", "see in pagemap that another jail executes the same file", "clean",
	  "nothing", .allowed = "same-kernel", .needs = "neighbour", .run = see_neighbours_pages },
};

const struct attempt_group neighbours_group = GROUP("neighbours", rows);
