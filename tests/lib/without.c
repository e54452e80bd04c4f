/*
 * without CALL[=ERROR][,CALL...] [--] PROGRAM [ARGUMENT...]: runs a program on a kernel that seems to lack these system
 * calls, as an older one does, or the filter of a container. Everything that the program starts lacks them too.
 *
 * ERROR is ENOSYS (the default), EPERM or EACCES; KILL ends the process that makes the call. "mounts" stands for all of
 * the mount interface of Linux 5.2 to 5.12.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct call {
	const char *name;
	unsigned int number;
	const char *group;
} calls[] = {
	{ "chroot", SYS_chroot, NULL },
	{ "clone3", SYS_clone3, NULL },
	{ "close_range", SYS_close_range, NULL },
	{ "landlock_create_ruleset", SYS_landlock_create_ruleset, NULL },
	{ "mount", SYS_mount, NULL },
	{ "openat2", SYS_openat2, NULL },
	{ "pidfd_open", SYS_pidfd_open, NULL },
	{ "pivot_root", SYS_pivot_root, NULL },
	{ "umount2", SYS_umount2, NULL },
	{ "fsconfig", SYS_fsconfig, "mounts" },
	{ "fsmount", SYS_fsmount, "mounts" },
	{ "fsopen", SYS_fsopen, "mounts" },
	{ "fspick", SYS_fspick, "mounts" },
	{ "mount_setattr", SYS_mount_setattr, "mounts" },
	{ "move_mount", SYS_move_mount, "mounts" },
	{ "open_tree", SYS_open_tree, "mounts" },
};

static const struct error {
	const char *name;
	unsigned int action;
} errors[] = {
	{ "ENOSYS", SECCOMP_RET_ERRNO | ENOSYS },
	{ "EPERM", SECCOMP_RET_ERRNO | EPERM },
	{ "EACCES", SECCOMP_RET_ERRNO | EACCES },
	{ "KILL", SECCOMP_RET_KILL_PROCESS },
};

static struct sock_filter code[2 + 2 * COUNT(calls)];
static size_t count;

static void put(struct sock_filter row)
{
	if (count == COUNT(code)) {
		fputs("without: too many calls\n", stderr);
		exit(2);
	}
	code[count++] = row;
}

static void refuse(const char *name)
{
	char *equals = strchr(name, '=');
	const char *wanted = equals ? equals + 1 : "ENOSYS";
	unsigned int action = 0;
	int found = 0;

	if (equals)
		*equals = '\0';
	for (size_t i = 0; i < COUNT(errors); i++)
		if (strcmp(wanted, errors[i].name) == 0)
			action = errors[i].action;
	for (size_t i = 0; i < COUNT(calls) && action; i++) {
		if (strcmp(name, calls[i].name) != 0 &&
		    (!calls[i].group || strcmp(name, calls[i].group) != 0))
			continue;
		put((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i].number, 0, 1));
		put((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
		found = 1;
	}
	if (!found) {
		fprintf(stderr, "without: no such call or error: %s %s\n", name, wanted);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	struct sock_fprog program = { .filter = code };
	int first = argc > 2 && strcmp(argv[2], "--") == 0 ? 3 : 2;

	if (argc <= first) {
		fputs("usage: without CALL[=ERROR][,CALL...] [--] PROGRAM [ARGUMENT...]\n", stderr);
		return 2;
	}
	put((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
	for (char *name = strtok(argv[1], ","); name; name = strtok(NULL, ","))
		refuse(name);
	put((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
	program.len = (unsigned short)count;
	/* As root without it, as container engines do. */
	if ((geteuid() != 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
		perror("without: seccomp");
		return 2;
	}
	execvp(argv[first], &argv[first]);
	perror(argv[first]);
	return 127;
}
