/*
 * pools: a jail that was parked before its program was known, and one that still is. The program aims at a jail that waits for another
 * caller's program, looks for what the launch before has left, or is to be started in a jail that the host has changed meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/attack/attempts/attempts.h"

#define LAST_FILE  "warder-last-launch"
#define LAST_QUEUE "/" LAST_FILE

/* ---- the launch before ---- */

/* A filter may have no such thing. Not to write to: Landlock takes it for a file that is not in the plan. */
static int leave_queue(void)
{
	struct mq_attr about = { .mq_maxmsg = 1, .mq_msgsize = 16 };

	return mq_open(LAST_QUEUE, O_CREAT | O_EXCL | O_RDONLY, 0666, &about) != (mqd_t)-1 || errno == ENOSYS
		   ? 0
		   : -1;
}

int last_main(void)
{
	return make_secret("/tmp", LAST_FILE) != 0 || make_secret("/dev/shm", LAST_FILE) != 0 ||
	       leave_queue() != 0;
}

/* Outside nothing separates the two launches. */
static int find_last_file(const struct attempt *self, const struct marks *marks)
{
	char path[256], text[16];

	if (marks->outside && make_secret(self->path, LAST_FILE) != 0)
		return UNTRIED;
	snprintf(path, sizeof(path), "%s/%s", self->path, LAST_FILE);
	return answer_hidden(read_text(path, text, sizeof(text)));
}

static int find_last_queue(const struct attempt *self, const struct marks *marks)
{
	if (marks->outside && leave_queue() != 0)
		return UNTRIED;
	return answer_hidden(mq_open(LAST_QUEUE, O_RDONLY | O_NONBLOCK));
}

/* The process that has the pool holds the descriptors of all its jails. */
static int inherit_descriptors(const struct attempt *self, const struct marks *marks)
{
	for (int fd = 3; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0) {
			note("descriptor %d", fd);
			return REACHED;
		}
	return CLEAN;
}

/* ---- a parked jail ---- */

static int signal_parked(const struct attempt *self, const struct marks *marks)
{
	const int pid = self->path ? marks->parked_init : marks->parked_pid;

	return pid > 0 ? answer_of(kill(pid, 0)) : UNTRIED;
}

static int see_parked(const struct attempt *self, const struct marks *marks)
{
	char path[256], text[16];

	if (marks->parked_pid <= 0)
		return UNTRIED;
	snprintf(path, sizeof(path), "/proc/%d/%s", marks->parked_pid, self->path);
	return answer_hidden(read_text(path, text, sizeof(text)));
}

static int write_parked_memory(const struct attempt *self, const struct marks *marks)
{
	char byte = 0;
	struct iovec local = { &byte, 1 };
	struct iovec remote = { (void *)(uintptr_t)16, 1 };

	if (marks->parked_pid <= 0)
		return UNTRIED;
	/* Nothing is mapped there. */
	return answer_past(process_vm_writev(marks->parked_pid, &local, 1, &remote, 1, 0), EFAULT);
}

/* Of its socket, on which it waits for a program: whoever has it chooses the program. */
static int take_parked_socket(const struct attempt *self, const struct marks *marks)
{
	int answer = UNTRIED;
	int pid_fd;

	if (marks->parked_pid <= 0)
		return UNTRIED;
	pid_fd = (int)syscall(SYS_pidfd_open, marks->parked_pid, 0);
	if (pid_fd < 0)
		return errno;
	for (int number = 3; number < 64 && answer != REACHED; number++) {
		const int fd = (int)syscall(SYS_pidfd_getfd, pid_fd, number, 0);

		if (fd >= 0 || errno != EBADF)
			answer = answer_of(fd);
		if (fd >= 0)
			close(fd);
	}
	close(pid_fd);
	return answer;
}

static int join_parked_cgroup(const struct attempt *self, const struct marks *marks)
{
	int fd;

	if (!marks->parked_cgroup[0]) {
		note("the parked jail has no cgroup that this user may change");
		return UNTRIED;
	}
	fd = open(marks->parked_cgroup, O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return answer_hidden(fd);
}

static int share_parked_id(const struct attempt *self, const struct marks *marks)
{
	unsigned inside, outer;
	char text[512];

	if (!marks->parked_uid || read_text("/proc/self/uid_map", text, sizeof(text)) <= 0 ||
	    sscanf(text, "%u %u", &inside, &outer) != 2)
		return UNTRIED;
	outer += getuid() - inside;
	note("%u outside, the other is %u", outer, marks->parked_uid);
	return outer == marks->parked_uid ? REACHED : CLEAN;
}

/* The jail should not have been handed out. */
static int run_at_all(const struct attempt *self, const struct marks *marks)
{
	return REACHED;
}

#define PID "pid namespace, hidepid"

#define PARKED(name, about, expected, mechanism, function, where)                                            \
	{                                                                                                    \
		name, about, expected, mechanism, .needs = "pool|parked", .run = function, .path = where,    \
						  .outside = OUTSIDE_PLAIN                                   \
	}

static const struct attempt rows[] = {
	PARKED("signal-parked-jail", "signal the process of a parked jail", "ESRCH", "pid namespace",
	       signal_parked, NULL),
	PARKED("signal-parked-init", "signal the init of a parked jail", "ESRCH", "pid namespace",
	       signal_parked, "init"),
	PARKED("read-parked-memory-map", "read where the memory of a parked jail lies", "hidden", PID,
	       see_parked, "maps"),
	PARKED("read-parked-status", "read the state of a parked jail's process", "hidden", PID, see_parked,
	       "status"),
	PARKED("read-parked-files", "read a file of a parked jail through its root in /proc", "hidden", PID,
	       see_parked, "root/proc/version"),
	PARKED("write-parked-memory", "write to the memory of a parked jail", "EPERM|ESRCH",
	       "seccomp filter, pid namespace", write_parked_memory, NULL),
	PARKED("take-parked-socket", "take the socket on which a parked jail waits for its program",
	       "ESRCH|EPERM|ENOSYS", "pid namespace, seccomp filter", take_parked_socket, NULL),
	{ "join-parked-cgroup", "open the list of processes of a parked jail's cgroup for writing", "hidden",
	  "no sysfs mounted", .allowed = "shows:/sys", .needs = "pool|parked", .run = join_parked_cgroup,
	  .outside = OUTSIDE_PLAIN },
	{ "share-parked-id", "have the same user id outside as a parked jail", "clean",
	  "a range of ids for each jail", .allowed = "unprivileged", .needs = "pool|parked",
	  .run = share_parked_id, .not_outside = "it compares two jails" },
	{ "find-last-tmp", "find a file in /tmp of the launch before", "hidden", "/tmp of its own",
	  .needs = "pool|last", .run = find_last_file, .path = "/tmp" },
	{ "find-last-shm", "find a file in /dev/shm of the launch before", "hidden", "/dev/shm of its own",
	  .needs = "pool|last", .run = find_last_file, .path = "/dev/shm" },
	{ "find-last-queue", "open a message queue of the launch before", "hidden|ENOSYS", "IPC namespace",
	  .needs = "pool|last", .run = find_last_queue },
	{ "inherit-pool-descriptors", "find a descriptor of the process that has the pool", "clean",
	  "close-on-exec, and close_range() in the jail", .needs = "pool", .run = inherit_descriptors,
	  .outside = OUTSIDE_PLAIN },
	{ "run-under-raised-limit", "be handed out after root has raised limits.pids", "refused",
	  "the check at the hand-out", .needs = "pool|raised", .run = run_at_all,
	  .not_outside = "there is no hand-out" },
	{ "run-without-init", "be handed out after the jail's init was killed", "refused",
	  "the check at the hand-out", .needs = "pool|killed", .run = run_at_all,
	  .not_outside = "there is no hand-out" },
};

const struct attempt_group pools_group = GROUP("pools", rows);
