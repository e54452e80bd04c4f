/*
 * main: the program warder-attempts. See attempts.h for its forms.
 *
 * A line of --list: name, group, answer, allowed, needs, outside ("yes", or "no: why not"), by, seen, what;
 * "-" for none.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/keyctl.h>

#include "base/array.h"
#include "runtime/attack/attempts/group.h"

/* ---- marks ---- */

#define TEXT(key, member)                                                                                    \
	{                                                                                                    \
		key, offsetof(struct marks, member), 't'                                                     \
	}
#define NUMBER(key, member)                                                                                  \
	{                                                                                                    \
		key, offsetof(struct marks, member), 'n'                                                     \
	}
#define AMOUNT(key, member)                                                                                  \
	{                                                                                                    \
		key, offsetof(struct marks, member), 'a'                                                     \
	}

static const struct mark {
	const char *key;
	size_t offset;
	char kind;
} keys[] = {
	TEXT("dir", dir),
	TEXT("home", home),
	TEXT("hostname", hostname),
	TEXT("abstract", abstract),
	TEXT("neighbour", neighbour),
	NUMBER("port", port),
	NUMBER("pid", pid),
	NUMBER("supervisor", supervisor),
	NUMBER("shm", shm),
	NUMBER("neighbour-pid", neighbour_pid),
	NUMBER("neighbour-edge", neighbour_edge),
	NUMBER("neighbour-port", neighbour_port),
	NUMBER("neighbour-shm", neighbour_shm),
	NUMBER("neighbour-uid", neighbour_uid),
	TEXT("parked-cgroup", parked_cgroup),
	NUMBER("parked-pid", parked_pid),
	NUMBER("parked-init", parked_init),
	NUMBER("parked-uid", parked_uid),
	NUMBER("outside", outside),
	NUMBER("user-mode-linux", user_mode_linux),
	AMOUNT("pids", pids),
	AMOUNT("memory", memory),
	AMOUNT("tmp", tmp),
	AMOUNT("open-files", open_files),
	AMOUNT("file-size", file_size),
	AMOUNT("available", available),
};

static void take_mark(struct marks *marks, const char *text)
{
	size_t length = strcspn(text, "=");

	for (size_t i = 0; i < ARRAY_LENGTH(keys); i++) {
		char *member = (char *)marks + keys[i].offset;
		const char *value = text + length + 1;

		if (!text[length] || strlen(keys[i].key) != length || strncmp(keys[i].key, text, length) != 0)
			continue;
		if (keys[i].kind == 't')
			*(const char **)(void *)member = value;
		else if (keys[i].kind == 'n')
			*(int *)(void *)member = (int)strtol(value, NULL, 10);
		else
			*(uint64_t *)(void *)member = strtoull(value, NULL, 10);
	}
}

static struct marks take_marks(char **arguments)
{
	struct marks marks = { .dir = "",
			       .home = "",
			       .hostname = "",
			       .abstract = "",
			       .neighbour = "",
			       .parked_cgroup = "",
			       .shm = -1,
			       .neighbour_shm = -1 };

	for (; *arguments; arguments++)
		take_mark(&marks, *arguments);
	return marks;
}

/* ---- the table ---- */

static const struct attempt *find(const char *name)
{
	for (const struct attempt_group *const *group = attempt_groups; *group; group++)
		for (size_t i = 0; i < (*group)->count; i++)
			if (strcmp((*group)->rows[i].name, name) == 0)
				return &(*group)->rows[i];
	return NULL;
}

static const char *or_none(const char *text)
{
	return text && *text ? text : "-";
}

static int list(void)
{
	for (const struct attempt_group *const *group = attempt_groups; *group; group++)
		for (size_t i = 0; i < (*group)->count; i++) {
			const struct attempt *row = &(*group)->rows[i];

			printf("%s\t%s\t%s\t%s\t%s\t%s%s\t%s\t%s\t%s\n", row->name, (*group)->name,
			       row->answer, or_none(row->allowed), or_none(row->needs),
			       row->not_outside ? "no: " : "yes", row->not_outside ? row->not_outside : "",
			       row->by, or_none(row->seen), row->what);
		}
	return fflush(stdout) != 0;
}

static int list_tables(void)
{
	for (const struct attempt_group *const *group = attempt_groups; *group; group++)
		for (size_t i = 0; i < (*group)->count; i++)
			if (product_table(&(*group)->rows[i]))
				printf("%s\t%s\n", (*group)->rows[i].name, product_table(&(*group)->rows[i]));
	return fflush(stdout) != 0;
}

/* ---- one attempt ---- */

static const struct {
	int number;
	const char *name;
} errnos[] = {
#define E(name)                                                                                              \
	{                                                                                                    \
		name, #name                                                                                  \
	}
	E(EPERM),        E(ENOENT),          E(ESRCH),           E(EINTR),         E(EIO),
	E(ENXIO),        E(E2BIG),           E(ENOEXEC),         E(EBADF),         E(ECHILD),
	E(EAGAIN),       E(ENOMEM),          E(EACCES),          E(EFAULT),        E(EBUSY),
	E(EEXIST),       E(EXDEV),           E(ENODEV),          E(ENOTDIR),       E(EISDIR),
	E(EINVAL),       E(ENFILE),          E(EMFILE),          E(ENOTTY),        E(ETXTBSY),
	E(EFBIG),        E(ENOSPC),          E(EROFS),           E(EMLINK),        E(ELOOP),
	E(ENOSYS),       E(EOPNOTSUPP),      E(ENOPROTOOPT),     E(EAFNOSUPPORT),  E(EADDRINUSE),
	E(ENETDOWN),     E(ETIMEDOUT),       E(ENETUNREACH),     E(ECONNREFUSED),  E(ECONNRESET),
	E(EHOSTUNREACH), E(EPROTONOSUPPORT), E(ESOCKTNOSUPPORT), E(EADDRNOTAVAIL), E(EIDRM),
	E(ENOKEY),       E(EDQUOT),          E(ENOTEMPTY),       E(EOVERFLOW),     E(EPROTOTYPE),
	E(ETOOMANYREFS),
#undef E
};

static const char *answer_name(int answer, char *buf, size_t size)
{
	switch (answer) {
	case REACHED:
		return "reached";
	case HIDDEN:
		return "hidden";
	case NO_EFFECT:
		return "no-effect";
	case CLEAN:
		return "clean";
	case UNTRIED:
		return "untried";
	}
	for (size_t i = 0; i < ARRAY_LENGTH(errnos); i++)
		if (errnos[i].number == answer)
			return errnos[i].name;
	snprintf(buf, size, "errno%d", answer);
	return buf;
}

static int perform(const struct attempt *row, const struct marks *marks)
{
	const long *a = row->call.arguments;

	if (row->run)
		return row->run(row, marks);
	if (row->call.number < 0) {
		note("this architecture does not have the call");
		return UNTRIED;
	}
	return answer_past(syscall(row->call.number, a[0], a[1], a[2], a[3], a[4], a[5]), row->call.past);
}

static int report(const struct attempt *row, const struct marks *marks)
{
	char name[16];
	int answer = perform(row, marks);

	printf("%s\t%s\t%s\n", row->name, answer_name(answer, name, sizeof(name)), noted());
	return fflush(stdout) != 0;
}

/* ---- outside ---- */

static int write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	if (!file)
		return -1;
	fputs(text, file);
	return fclose(file);
}

/* Without privilege, namespaces come with a user namespace, in which the caller is root as far as they go. */
static int unshare_as_user(int flags)
{
	char users[64], groups[64];

	snprintf(users, sizeof(users), "0 %u 1", (unsigned)getuid());
	snprintf(groups, sizeof(groups), "0 %u 1", (unsigned)getgid());
	if (unshare(flags | CLONE_NEWUSER) != 0 || write_file("/proc/self/uid_map", users) != 0 ||
	    write_file("/proc/self/setgroups", "deny") != 0)
		return -1;
	return write_file("/proc/self/gid_map", groups);
}

/* In /tmp and /dev/shm anybody may have put a link, or a file of his own, under the names that attempts
 * use. */
static int cover_shared(void)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("tmpfs", "/tmp", "tmpfs", 0, "mode=1777") != 0)
		return -1;
	return mount("tmpfs", "/dev/shm", "tmpfs", 0, "mode=1777") == 0 || errno == ENOENT ? 0 : -1;
}

static int make_private(unsigned kind)
{
	int flags = kind & OUTSIDE_PLAIN ? 0 : CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC;

	if (kind & OUTSIDE_NETWORK)
		flags |= CLONE_NEWNET;
	syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, 0, 0, 0, 0);
	if (!flags)
		return 0;
	if (unshare(flags) != 0 && unshare_as_user(flags) != 0)
		return -1;
	return flags & CLONE_NEWNS ? cover_shared() : 0;
}

/* In a child, so that what dies or unshares does not take the report with it. */
static int outside(const struct attempt *row, struct marks *marks)
{
	int status = 0;
	pid_t pid;

	marks->outside = 1;
	pid = fork();
	if (pid < 0)
		return 1;
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (make_private(row->outside) != 0) {
			printf("%s\tuntried\tno private namespaces can be made here\n", row->name);
			exit(0);
		}
		exit(report(row, marks));
	}
	waitpid(pid, &status, 0);
	if (WIFSIGNALED(status))
		printf("%s\t%s\tended by signal %d\n", row->name,
		       WTERMSIG(status) == SIGSYS ? "SIGSYS" : "signal", WTERMSIG(status));
	return fflush(stdout) != 0;
}

int main(int argc, char **argv)
{
	bool is_outside = argc > 2 && strcmp(argv[1], "--outside") == 0;
	const struct attempt *row;
	struct marks marks;

	if (argc < 2)
		return 2;
	marks = take_marks(argv + (is_outside ? 3 : 2));
	if (strcmp(argv[1], "--list") == 0)
		return list();
	if (strcmp(argv[1], "--tables") == 0)
		return list_tables();
	if (strcmp(argv[1], "--neighbour") == 0)
		return neighbour_main(&marks);
	if (strcmp(argv[1], "--joiner") == 0)
		return joiner_main(&marks);
	if (strcmp(argv[1], "--last") == 0)
		return last_main();
	if (argc > 2 && strcmp(argv[1], "--companion") == 0)
		return companion_main(argv[2], &marks);
	row = find(argv[is_outside ? 2 : 1]);
	if (!row) {
		fprintf(stderr, "no such attempt: %s\n", argv[is_outside ? 2 : 1]);
		return 2;
	}
	return is_outside ? outside(row, &marks) : report(row, &marks);
}
