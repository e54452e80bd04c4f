/*
 * The properties that a jail inherits from the process that launches it. A service may launch for a client only if all of them are equal.
 * Otherwise the program could see, or be allowed to do, something else than in a jail that the client starts.
 *
 * The kernel shows the secure bits of a process only to the process itself, so the client says its own. This finds a difference, but does not
 * protect from a client that lies. The kernel does not show Landlock domains at all. So a client in a Landlock domain gets programs that are
 * outside of it. Landlock does not restrict connect(2) to a socket that has a path: whoever confines a client by Landlock must keep the
 * socket from it, for example by a mount namespace, which is compared.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "runtime/service/service.h"

#define TEXT_BYTES 8192

static bool differs(char why[SERVICE_WHY], const char *what)
{
	snprintf(why, SERVICE_WHY, "the service has another %s than the caller", what);
	return true;
}

/* 0; -1: it cannot be read, or not whole. */
static int read_file(int pid, const char *name, char text[TEXT_BYTES])
{
	char path[64];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	{
		owned_fd int fd = open(path, O_RDONLY | O_CLOEXEC);

		len = fd < 0 ? -1 : read(fd, text, TEXT_BYTES);
	}
	if (len < 0 || len == TEXT_BYTES)
		return -1;
	text[len] = '\0';
	return 0;
}

/* The same object behind a name in /proc/<pid>, or on both sides none. */
static bool is_one_object(int pid, const char *name)
{
	struct stat theirs, ours;
	char path[64];
	int found;

	snprintf(path, sizeof(path), "/proc/self/%s", name);
	found = stat(path, &ours);
	if (found < 0 && errno != ENOENT)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	if (stat(path, &theirs) < 0)
		return found < 0 && errno == ENOENT;
	return found == 0 && theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
}

static bool is_one_text(int pid, const char *name)
{
	char theirs[TEXT_BYTES], ours[TEXT_BYTES];

	return read_file(pid, name, theirs) == 0 && read_file(getpid(), name, ours) == 0 &&
	       strcmp(theirs, ours) == 0;
}

/* The value of "NAME:" at the begin of a line, up to its end. */
static const char *line_of(const char *text, const char *name, size_t *ret_len)
{
	const char *at = strstr(text, name);

	*ret_len = at ? strcspn(at, "\n") : 0;
	return at;
}

static bool status_differs(int pid, char why[SERVICE_WHY])
{
	static const struct row {
		const char *line, *what;
	} rows[] = {
		{ "\nUid:", "user" },
		{ "\nGid:", "group" },
		{ "\nGroups:", "list of groups" },
		{ "\nCapEff:", "set of capabilities" },
		{ "\nCapBnd:", "bounding set" },
		{ "\nNoNewPrivs:", "no_new_privs" },
		{ "\nSeccomp_filters:", "system call filter" },
		{ "\nCpus_allowed:", "set of processors" },
		{ "\nMems_allowed:", "set of memory nodes" },
	};
	char theirs[TEXT_BYTES], ours[TEXT_BYTES];

	if (read_file(pid, "status", theirs) < 0 || read_file(getpid(), "status", ours) < 0)
		return differs(why, "readable /proc");
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		size_t their_len, our_len;
		const char *their = line_of(theirs, rows[i].line, &their_len);
		const char *our = line_of(ours, rows[i].line, &our_len);

		/* Each line begins with the newline before it. */
		if (!their != !our)
			return differs(why, rows[i].what);
		if (!their)
			continue;
		their_len = strcspn(their + 1, "\n");
		our_len = strcspn(our + 1, "\n");
		if (their_len != our_len || memcmp(their + 1, our + 1, our_len) != 0)
			return differs(why, rows[i].what);
	}
	return false;
}

/* A number of /proc/<pid>/stat. `at` is behind the name of the process, which may hold anything; or NULL. */
static int number_at(const char *at, int number)
{
	for (int field = 2; at && field < number; field++)
		at = strchr(at + 1, ' ');
	return at ? atoi(at) : INT32_MIN;
}

static bool stat_differs(int pid, char why[SERVICE_WHY])
{
	static const struct row {
		int number;
		const char *what;
	} rows[] = {
		{ 19, "nice value" },
		{ 40, "scheduling policy" }, /* the priority of a real-time policy */
		{ 41, "scheduling policy" },
	};
	char theirs[TEXT_BYTES], ours[TEXT_BYTES];
	const char *their = read_file(pid, "stat", theirs) == 0 ? strrchr(theirs, ')') : NULL;
	const char *our = read_file(getpid(), "stat", ours) == 0 ? strrchr(ours, ')') : NULL;

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		if (number_at(their, rows[i].number) != number_at(our, rows[i].number))
			return differs(why, rows[i].what);
	return false;
}

/* ioprio_get(2); -1: unknown. */
static long disk_priority_of(int pid)
{
	const int process = 1; /* IOPRIO_WHO_PROCESS */

	return syscall(SYS_ioprio_get, process, pid);
}

uint64_t service_secure_bits(void)
{
	const int bits = prctl(PR_GET_SECUREBITS, 0, 0, 0, 0);

	return bits < 0 ? UINT64_MAX : (uint64_t)bits;
}

bool service_differs_as_said(uint64_t secure_bits, char why[SERVICE_WHY])
{
	return secure_bits != service_secure_bits() && differs(why, "set of secure bits");
}

bool service_differs(int pid, char why[SERVICE_WHY])
{
	static const struct row {
		const char *name, *what;
	} objects[] = {
		{ "exe", "version" },
		{ "ns/mnt", "mount namespace" },
		{ "ns/pid", "pid namespace" },
		{ "ns/user", "user namespace" },
		{ "ns/net", "network namespace" },
		{ "ns/ipc", "IPC namespace" },
		{ "ns/uts", "UTS namespace" },
		{ "ns/cgroup", "cgroup namespace" },
		{ "ns/time", "time namespace" },
		{ "root", "root directory" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(objects); i++)
		if (!is_one_object(pid, objects[i].name))
			return differs(why, objects[i].what);
	if (!is_one_text(pid, "cgroup"))
		return differs(why, "cgroup");
	if (!is_one_text(pid, "limits"))
		return differs(why, "resource limit (ulimit)");
	if (!is_one_text(pid, "oom_score_adj"))
		return differs(why, "oom_score_adj");
	if (stat_differs(pid, why))
		return true;
	if (disk_priority_of(pid) != disk_priority_of(getpid()))
		return differs(why, "I/O priority");
	return status_differs(pid, why);
}
