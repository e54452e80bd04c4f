/*
 * The floor of what a jail's /proc costs: the files that describe the jail, and the mounts that put them and empty places over what
 * describes the host. Nothing else is done: no policy, no read-back, no other mount of a jail. And the floor of a thing that jails do not
 * have: a read-only overlay over /usr, which would give each jail inodes of its own, so that inotify and locks do not reach others.
 *
 *   covers [RUNS]      as root; prints medians of processor time in microseconds
 *
 * Each run forks a process into a mount namespace and a pid namespace of its own, with a /proc and a tmpfs, and makes in it nothing, then
 * the files, then the files and the mounts, then these and the overlay. The four take turns. The time is the process's whole life, so that the end of its
 * mounts is in it. Of /proc/sys/fs, one directory of seven files is mounted, as in a jail.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"

#define FILES_DIR "/tmp/files/"
#define PROC_DIR  "/tmp/proc/"
#include "tests/bench/covers.h"

enum variant { NOTHING, FILES, MOUNTS, OVERLAY, VARIANTS };

#define RUNS_MAX 10000

static void need(long ret, const char *what)
{
	if (ret < 0) {
		fprintf(stderr, "covers: %s: %s\n", what, strerror(errno));
		_exit(1);
	}
}

static void write_files(void)
{
	static const char text[2000];

	need(mkdir(FILES_DIR "fs", 0755), "fs");
	need(mkdir(FILES_DIR "empty", 0555), "empty");
	for (size_t i = 0; i < ARRAY_LENGTH(cover_files); i++) {
		int fd = open(cover_files[i].path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

		need(fd, cover_files[i].path);
		need(write(fd, text, cover_files[i].bytes), cover_files[i].path);
		close(fd);
	}
}

static void mount_covers(void)
{
	for (size_t i = 0; i < ARRAY_LENGTH(covers); i++)
		if (mount(covers[i].source, covers[i].target, NULL, MS_BIND, NULL) < 0 && errno != ENOENT)
			need(-1, covers[i].target);
}

/* The kernel wants two layers where none can be written. */
static void mount_overlay(void)
{
	need(mkdir("/tmp/usr", 0755), "/tmp/usr");
	need(mount("overlay", "/tmp/usr", "overlay", MS_RDONLY | MS_NOSUID | MS_NODEV,
		   "lowerdir=/usr:" FILES_DIR "empty"),
	     "an overlay over /usr");
}

static void live(enum variant variant)
{
	need(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "/");
	need(mount("stage", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, NULL), "/tmp");
	need(mkdir("/tmp/proc", 0755), "/tmp/proc");
	need(mkdir("/tmp/files", 0755), "/tmp/files");
	need(mount("proc", "/tmp/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL), "/tmp/proc");
	if (variant >= FILES)
		write_files();
	if (variant >= MOUNTS)
		mount_covers();
	if (variant >= OVERLAY)
		mount_overlay();
	_exit(0);
}

/* Microseconds of processor time. */
static double run(enum variant variant)
{
	struct rusage usage;
	int status;
	long pid = syscall(SYS_clone, SIGCHLD | CLONE_NEWNS | CLONE_NEWPID, NULL, NULL, NULL, NULL);

	need(pid, "clone (needs root)");
	if (pid == 0)
		live(variant);
	need(wait4((pid_t)pid, &status, 0, &usage), "wait4");
	if (status != 0)
		exit(1);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static int compare(const void *a, const void *b)
{
	const double *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

int main(int argc, char **argv)
{
	static double times[VARIANTS][RUNS_MAX];
	static const char *const names[] = { "a /proc alone", "and the files", "and the mounts",
					     "and an overlay" };
	const int runs = argc > 1 ? atoi(argv[1]) : 300;

	if (runs < 1 || runs > RUNS_MAX) {
		fprintf(stderr, "covers: runs: 1 to %d\n", RUNS_MAX);
		return 2;
	}
	for (int i = 0; i < runs; i++)
		for (int v = 0; v < VARIANTS; v++)
			times[v][i] = run((enum variant)v);
	for (int v = 0; v < VARIANTS; v++) {
		qsort(times[v], (size_t)runs, sizeof(times[v][0]), compare);
		printf("%-16s %7.0f us", names[v], times[v][runs / 2]);
		if (v)
			printf(" %+7.0f us", times[v][runs / 2] - times[v - 1][runs / 2]);
		printf("\n");
	}
	return 0;
}
