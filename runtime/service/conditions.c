/*
 * The properties that a jail inherits from the process that launches it. A service may launch for a client only if all of them are equal.
 * Otherwise the program could see, or be allowed to do, something else than in a jail that the client starts.
 *
 * Jails inherit from the threads of the pool, and at the moment when they are parked. These threads have what the main thread had when it
 * started them. renice(1) by process id changes only the main thread, and prlimit(1) does not reach jails that are parked already. So clients
 * are compared with what this process had when it started. If it has something else when a client comes, it refuses all clients from
 * then on, and ends: it cannot tell which of its jails have what. It does not notice a change of one of its other threads alone, nor one
 * that is undone before a client comes.
 *
 * The kernel shows the secure bits of a process only to the process itself, so the client says its own. This finds a difference, but does not
 * protect from a client that lies. The kernel does not show Landlock domains at all. So a client in a Landlock domain gets programs that are
 * outside of it. Landlock does not restrict connect(2) to a socket that has a path: whoever confines a client by Landlock must keep the
 * socket from it, for example by a mount namespace, which is compared.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/namespaces.h"
#include "runtime/service/records.h"

static bool differs(char why[SERVICE_WHY], const char *what)
{
	snprintf(why, SERVICE_WHY, "the service has another %s than the caller", what);
	return true;
}

static bool cannot_be_read(char why[SERVICE_WHY], const char *whose)
{
	snprintf(why, SERVICE_WHY, "the service cannot read %s properties in /proc", whose);
	return true;
}

/* A file by its number. A directory that is mounted twice is one file, but other mounts may lie below: a root directory counts with its mount,
 * whose number is no other mount's, because this process holds its own. */
static const struct object {
	const char *name, *what;
	unsigned int mask;
} objects[SERVICE_OBJECTS] = {
	{ "exe", "version", STATX_INO },
	{ "root", "root directory", STATX_INO | STATX_MNT_ID },
};

/* The peer check has compared those of processes and users already. */
static const struct namespace
{
	const char *name, *what;
}
namespaces[SERVICE_NAMESPACES] = {
	{ "ns/mnt", "mount namespace" }, { "ns/net", "network namespace" },   { "ns/ipc", "IPC namespace" },
	{ "ns/uts", "UTS namespace" },   { "ns/cgroup", "cgroup namespace" }, { "ns/time", "time namespace" },
};

static const char *const texts[SERVICE_TEXTS] = {
	[SERVICE_STATUS] = "status",     [SERVICE_CGROUP] = "cgroup",      [SERVICE_LIMITS] = "limits",
	[SERVICE_OOM] = "oom_score_adj", [SERVICE_LABEL] = "attr/current",
};

/* 0; -1: it cannot be read, or not whole. */
static int read_text(int fd, char text[SERVICE_TEXT_BYTES])
{
	const ssize_t len = fd < 0 ? -1 : pread(fd, text, SERVICE_TEXT_BYTES, 0);

	if (len == SERVICE_TEXT_BYTES)
		errno = EFBIG;
	if (len < 0 || len == SERVICE_TEXT_BYTES)
		return -1;
	text[len] = '\0';
	return 0;
}

/* 0 where the kernel has no such namespaces. */
static int read_namespace(int proc_fd, const char *name, uint64_t *ret)
{
	*ret = 0;
	return namespace_number(proc_fd, name, ret) == 0 || errno == ENOENT ? 0 : -1;
}

static int read_object(int proc_fd, const struct object *object, struct service_object *ret)
{
	struct statx st;

	if (syscall(SYS_statx, proc_fd, object->name, 0, object->mask, &st) != 0)
		return -1;
	if (~st.stx_mask & object->mask) {
		errno = ENOTSUP;
		return -1;
	}
	*ret = (struct service_object){ .device = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor,
					.inode = st.stx_ino,
					.mount = object->mask & STATX_MNT_ID ? st.stx_mnt_id : 0 };
	return 0;
}

/* struct sched_attr of the kernel, as far as each Linux has it. */
struct schedule {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

/* 0; -1: it cannot be read. */
static int read_priority(int pid, struct service_priority *ret)
{
	const long process = 0;      /* PRIO_PROCESS */
	const long disk_process = 1; /* IOPRIO_WHO_PROCESS */
	struct schedule schedule;

	*ret = (struct service_priority){ .nice = syscall(SYS_getpriority, process, pid), /* 1 to 40 */
					  .disk = syscall(SYS_ioprio_get, disk_process, pid) };
	if (ret->nice <= 0 || syscall(SYS_sched_getattr, pid, &schedule, sizeof(schedule), 0) < 0)
		return -1;
	ret->policy = schedule.policy;
	ret->priority = schedule.priority;
	return 0;
}

int service_self_open(struct service_self *ret)
{
	owned_fd int proc_fd = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int opened = proc_fd < 0 ? -1 : 0;

	for (size_t i = 0; i < SERVICE_TEXTS; i++) {
		ret->text_fd[i] = openat(proc_fd, texts[i], O_RDONLY | O_CLOEXEC);
		if (read_text(ret->text_fd[i], ret->text[i]) == 0)
			continue;
		/* Without a security module that has labels, the kernel shows them for no process. */
		if (i == SERVICE_LABEL && (errno == ENOENT || errno == EINVAL))
			fd_done(&ret->text_fd[i]);
		else
			opened = -1;
	}
	opened |= read_priority(getpid(), &ret->priority);
	atomic_init(&ret->changed, NULL);
	for (size_t i = 0; i < SERVICE_OBJECTS; i++)
		opened |= read_object(proc_fd, &objects[i], &ret->object[i]);
	for (size_t i = 0; i < SERVICE_NAMESPACES; i++)
		opened |= read_namespace(proc_fd, namespaces[i].name, &ret->namespace[i]);
	if (opened < 0)
		service_self_close(ret);
	return opened;
}

void service_self_close(struct service_self *self)
{
	for (size_t i = 0; i < SERVICE_TEXTS; i++)
		fd_done(&self->text_fd[i]);
}

/* The line of a text that begins with `name`, up to its end. NULL: none. *at is behind the line before, where the search begins. */
static const char *find_line(const char *text, const char **at, const char *name, size_t *ret_len)
{
	const char *found = strstr(*at, name);

	if (!found)
		found = strstr(text, name);
	if (!found)
		return NULL;
	found++;
	*ret_len = strcspn(found, "\n");
	*at = found + *ret_len;
	return found;
}

/* What differs between two texts of status, or NULL. */
static const char *status_difference(const char *theirs, const char *ours)
{
	/* In the order of the file, so that the search is short. Each name begins with the newline before it. */
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
	const char *their_at = theirs, *our_at = ours;

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		size_t their_len = 0, our_len = 0;
		const char *their = find_line(theirs, &their_at, rows[i].line, &their_len);
		const char *our = find_line(ours, &our_at, rows[i].line, &our_len);

		if (!their != !our || their_len != our_len || (our && memcmp(their, our, our_len) != 0))
			return rows[i].what;
	}
	return NULL;
}

static const char *priority_difference(const struct service_priority *theirs,
				       const struct service_priority *ours)
{
	if (theirs->nice != ours->nice)
		return "nice value";
	if (theirs->policy != ours->policy || theirs->priority != ours->priority)
		return "scheduling policy";
	return theirs->disk == ours->disk ? NULL : "I/O priority";
}

const char *service_text_difference(enum service_text which, const char *theirs, const char *ours)
{
	static const char *const whats[SERVICE_TEXTS] = {
		[SERVICE_CGROUP] = "cgroup",
		[SERVICE_LIMITS] = "resource limit (ulimit)",
		[SERVICE_OOM] = "oom_score_adj",
		[SERVICE_LABEL] = "security label",
	};

	if (which == SERVICE_STATUS)
		return status_difference(theirs, ours);
	return strcmp(theirs, ours) == 0 ? NULL : whats[which];
}

/* proc_fd is -1 for this process, whose texts are open. */
static int read_text_of(const struct service_self *self, int proc_fd, size_t which,
			char text[SERVICE_TEXT_BYTES])
{
	owned_fd int fd = proc_fd < 0 ? -1 : openat(proc_fd, texts[which], O_RDONLY | O_CLOEXEC);

	return read_text(proc_fd < 0 ? self->text_fd[which] : fd, text);
}

/* What a process has otherwise than this one had it at its start, of what others can change; or NULL. -1: it cannot be read. */
static int find_difference(const struct service_self *self, int pid, int proc_fd, const char **ret)
{
	struct service_priority priority;

	if (read_priority(pid, &priority) < 0)
		return -1;
	*ret = priority_difference(&priority, &self->priority);
	for (size_t i = 0; i < SERVICE_TEXTS && !*ret; i++) {
		char text[SERVICE_TEXT_BYTES];

		if (self->text_fd[i] < 0)
			continue;
		if (read_text_of(self, proc_fd, i, text) < 0)
			return -1;
		*ret = service_text_difference((enum service_text)i, text, self->text[i]);
	}
	return 0;
}

/* The same of the rest. The namespaces come first: in another one, the root directory always has another mount. */
static int find_other_object(const struct service_self *self, int proc_fd, const char **ret)
{
	*ret = NULL;
	for (size_t i = 0; i < SERVICE_NAMESPACES && !*ret; i++) {
		uint64_t theirs;

		if (read_namespace(proc_fd, namespaces[i].name, &theirs) < 0)
			return -1;
		if (theirs != self->namespace[i])
			*ret = namespaces[i].what;
	}
	for (size_t i = 0; i < SERVICE_OBJECTS && !*ret; i++) {
		const struct service_object *ours = &self->object[i];
		struct service_object theirs;

		if (read_object(proc_fd, &objects[i], &theirs) < 0)
			return -1;
		if (theirs.device != ours->device || theirs.inode != ours->inode ||
		    theirs.mount != ours->mount)
			*ret = objects[i].what;
	}
	return 0;
}

/* A failed read is no change: the next one may succeed. */
static bool has_changed(struct service_self *self, char why[SERVICE_WHY])
{
	const char *what = atomic_load(&self->changed);

	if (!what && find_difference(self, getpid(), -1, &what) < 0)
		return cannot_be_read(why, "its own");
	if (!what)
		return false;
	atomic_store(&self->changed, what);
	snprintf(why, SERVICE_WHY, SERVICE_CHANGED, what);
	return true;
}

bool service_is_another(int pid, char why[SERVICE_WHY])
{
	struct service_self self;
	owned_fd int proc_fd = -1;
	const char *what = NULL;
	char path[32];

	if (service_self_open(&self) < 0) {
		snprintf(why, SERVICE_WHY, "this command cannot read its own properties in /proc");
		return true;
	}
	snprintf(path, sizeof(path), "/proc/%d", pid);
	proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc_fd < 0 || find_other_object(&self, proc_fd, &what) < 0)
		what = NULL; /* the service sees it, too */
	service_self_close(&self);
	return what && differs(why, what);
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

bool service_differs(struct service_self *self, int pid, char why[SERVICE_WHY])
{
	owned_fd int proc_fd = -1;
	const char *what;
	char path[32];

	if (has_changed(self, why))
		return true;
	snprintf(path, sizeof(path), "/proc/%d", pid);
	proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc_fd < 0 || find_other_object(self, proc_fd, &what) < 0 ||
	    (!what && find_difference(self, pid, proc_fd, &what) < 0))
		return cannot_be_read(why, "the caller's");
	return what && differs(why, what);
}
