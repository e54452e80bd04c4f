/*
 * files: out of the root, or into what is shown read-only.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/array.h"
#include "runtime/attack/attempts/attempts.h"

/* Numbers of the calls that libc's headers may not know; the same on every architecture from 424 on. */
#define NR_OPEN_TREE      428
#define NR_MOVE_MOUNT     429
#define NR_FSOPEN         430
#define NR_FSCONFIG       431
#define NR_FSMOUNT        432
#define NR_FSPICK         433
#define NR_MOUNT_SETATTR  442
#define NR_OPEN_TREE_ATTR 467

/* What attempts make; for rows that run outside as the host has it see own_place(). */
#define AT "/tmp/warder-attempt"

static int open_secret(const char *prefix, const struct marks *marks)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s%s/secret", prefix, marks->dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		note("%s was opened", path);
	return answer_hidden(fd);
}

static int read_secret(const struct attempt *self, const struct marks *marks)
{
	char path[128];

	return open_secret(self->path ? process_path(self, marks, path, sizeof(path)) : "", marks);
}

static int climb(const struct attempt *self, const struct marks *marks)
{
	return open_secret("../../../../../../../../../../../../../../..", marks);
}

static int follow_link(const struct attempt *self, const struct marks *marks)
{
	char path[PATH_MAX], link[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/secret", marks->dir);
	snprintf(link, sizeof(link), "%s/warder-attempt-link", own_place(self, marks));
	if (symlink(path, link) != 0)
		return UNTRIED;
	fd = open(link, O_RDONLY | O_CLOEXEC);
	unlink(link);
	return answer_hidden(fd);
}

/* A directory is moved away from below the one that is walked out of: ".." must end at the jail's root. */
static int move_and_climb(const struct attempt *self, const struct marks *marks)
{
	char path[PATH_MAX];
	int dir_fd, fd;

	if (chdir(own_place(self, marks)) != 0 || mkdir("warder-attempt-a", 0700) != 0)
		return UNTRIED;
	mkdir("warder-attempt-a/b", 0700);
	mkdir("warder-attempt-a/b/c", 0700);
	dir_fd = open("warder-attempt-a/b/c", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0 || rename("warder-attempt-a/b/c", "warder-attempt-c") != 0)
		return UNTRIED;
	snprintf(path, sizeof(path), "../../../../../../../..%s/secret", marks->dir);
	fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
	rmdir("warder-attempt-c");
	rmdir("warder-attempt-a/b");
	rmdir("warder-attempt-a");
	return answer_hidden(fd);
}

static int read_home(const struct attempt *self, const struct marks *marks)
{
	const struct attempt there = { .path = marks->home };

	return marks->home[0] ? list_directory(&there, marks) : UNTRIED;
}

static int use_descriptors(const struct attempt *self, const struct marks *marks)
{
	int found = -1;

	for (int fd = 3; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			found = fd;
	if (found >= 0)
		note("descriptor %d is open", found);
	return found >= 0 ? REACHED : EBADF;
}

static int walk_descriptors(const struct attempt *self, const struct marks *marks)
{
	char path[PATH_MAX];
	int answer = EBADF;

	snprintf(path, sizeof(path), "../../../../../../../../..%s/secret", marks->dir);
	for (int fd = 3; fd < 1024; fd++) {
		if (openat(fd, path, O_RDONLY | O_CLOEXEC) >= 0)
			answer = REACHED;
	}
	return answer;
}

/* Every link of /proc of another process than ourselves leads somewhere. */
static int follow_process_links(const struct attempt *self, const struct marks *marks)
{
	static const char *const links[] = { "root", "cwd", "exe", "fd/0", "fd/1", "ns/mnt" };
	DIR *dir = opendir("/proc");
	const struct dirent *item;
	char path[PATH_MAX], target[PATH_MAX];
	int answer = CLEAN;

	while (dir && (item = readdir(dir)) != NULL) {
		if (atoi(item->d_name) <= 0 || atoi(item->d_name) == getpid())
			continue;
		for (size_t i = 0; i < ARRAY_LENGTH(links); i++) {
			snprintf(path, sizeof(path), "/proc/%s/%s", item->d_name, links[i]);
			if (readlink(path, target, sizeof(target)) < 0)
				continue;
			note("%s can be followed", path);
			answer = REACHED;
		}
	}
	if (dir)
		closedir(dir);
	return dir ? answer : UNTRIED;
}

static bool is_foreign_stream(const char *target)
{
	return strncmp(target, "pipe:", 5) != 0 && strcmp(target, "/dev/null") != 0;
}

/* Its own, whatever their number; and where it stands. One of them is what the directory is read by. */
static int follow_own_links(const struct attempt *self, const struct marks *marks)
{
	char path[NAME_MAX + 32], target[PATH_MAX] = "";
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *item;
	int answer = CLEAN;
	ssize_t len;

	while (dir && (item = readdir(dir)) != NULL) {
		if (item->d_name[0] == '.' || atoi(item->d_name) == dirfd(dir))
			continue;
		snprintf(path, sizeof(path), "/proc/self/fd/%s", item->d_name);
		len = readlink(path, target, sizeof(target) - 1);
		target[len > 0 ? len : 0] = '\0';
		if (is_foreign_stream(target)) {
			note("%s leads to %s", path, target);
			answer = REACHED;
		}
	}
	if (dir)
		closedir(dir);
	len = readlink("/proc/self/cwd", target, sizeof(target) - 1);
	if (len <= 0 || target[0] != '/')
		answer = REACHED;
	return dir ? answer : UNTRIED;
}

/* The root is ours, and none of the kernel's own file systems but /proc and /dev/pts is mounted. Of the
 * host's /dev single nodes may be. */
static bool is_foreign_mount(const char *line)
{
	static const char *const foreign[] = { "sysfs",       "cgroup",     "cgroup2", "debugfs",
					       "tracefs",     "securityfs", "bpf",     "configfs",
					       "binfmt_misc", "efivarfs",   "mqueue" };
	char root[PATH_MAX], place[PATH_MAX], type[64];
	const char *dash = strstr(line, " - ");

	if (!dash || sscanf(dash, " - %63s", type) != 1 ||
	    sscanf(line, "%*s %*s %*s %4095s %4095s", root, place) != 2)
		return true;
	for (size_t i = 0; i < ARRAY_LENGTH(foreign); i++)
		if (strcmp(type, foreign[i]) == 0)
			return true;
	return (strcmp(type, "devtmpfs") == 0 && strcmp(root, "/") == 0) ||
	       (strcmp(place, "/") == 0 && strcmp(type, "tmpfs") != 0);
}

static int read_mounts(const struct attempt *self, const struct marks *marks)
{
	char *line = NULL;
	size_t size = 0;
	int answer = CLEAN;
	FILE *file = fopen("/proc/self/mountinfo", "r");

	while (file && getline(&line, &size, file) > 0) {
		if (!is_foreign_mount(line))
			continue;
		line[strcspn(line, "\n")] = '\0';
		note("%s", line);
		answer = REACHED;
	}
	free(line);
	if (file)
		fclose(file);
	return file ? answer : UNTRIED;
}

/* Every mount has the option: field 6 of mountinfo. */
static int mounts_lack(const char *option, bool (*is_excepted)(const char *place))
{
	char *line = NULL;
	size_t size = 0;
	int answer = CLEAN;
	FILE *file = fopen("/proc/self/mountinfo", "r");

	while (file && getline(&line, &size, file) > 0) {
		char place[PATH_MAX], options[256];

		if (sscanf(line, "%*s %*s %*s %*s %4095s %255s", place, options) != 2)
			continue;
		if (!strstr(options, option) && !(is_excepted && is_excepted(place))) {
			note("%s is mounted without %s", place, option);
			answer = REACHED;
		}
	}
	free(line);
	if (file)
		fclose(file);
	return file ? answer : UNTRIED;
}

static int find_suid_mount(const struct attempt *self, const struct marks *marks)
{
	return mounts_lack("nosuid", NULL);
}

/* What a jail's /dev has: links and directories have no numbers. */
static const struct node {
	const char *name;
	unsigned major, minor;
} nodes[] = {
	{ "null", 1, 3 },   { "zero", 1, 5 },   { "full", 1, 7 }, { "random", 1, 8 }, { "urandom", 1, 9 },
	{ "tty", 5, 0 },    { ".", 0, 0 },      { "..", 0, 0 },   { "fd", 0, 0 },     { "stdin", 0, 0 },
	{ "stdout", 0, 0 }, { "stderr", 0, 0 }, { "ptmx", 0, 0 }, { "pts", 0, 0 },    { "shm", 0, 0 },
	{ "empty", 0, 0 },  { "proc", 0, 0 },
};

static const struct node *find_node(const char *name)
{
	for (size_t i = 0; i < ARRAY_LENGTH(nodes); i++)
		if (strcmp(nodes[i].name, name) == 0)
			return &nodes[i];
	return NULL;
}

/* /dev, its terminals and its nodes, which may be mounts of their own; the masks of /proc, which are such nodes or an empty
 * directory of /dev. */
static bool has_nodes(const char *place)
{
	static const char dev[] = "/dev/";
	const struct node *node;

	if (strcmp(place, "/dev") == 0 || strcmp(place, "/dev/pts") == 0 || strncmp(place, "/proc/", 6) == 0)
		return true;
	if (strncmp(place, dev, sizeof(dev) - 1) != 0)
		return false;
	node = find_node(place + sizeof(dev) - 1);
	return node && node->major;
}

static int find_dev_mount(const struct attempt *self, const struct marks *marks)
{
	return mounts_lack("nodev", has_nodes);
}

/* ---- mounts ---- */

static int in_made_directory(int (*use)(const char *dir))
{
	int answer;

	if (mkdir(AT, 0755) != 0)
		return UNTRIED;
	answer = use(AT);
	umount2(AT, MNT_DETACH);
	rmdir(AT);
	return answer;
}

static int use_mount(const char *dir)
{
	return answer_of(mount("tmpfs", dir, "tmpfs", 0, NULL));
}

static int use_bind(const char *dir)
{
	return answer_of(mount("/", dir, NULL, MS_BIND | MS_REC, NULL));
}

static int use_proc(const char *dir)
{
	return answer_of(mount("proc", dir, "proc", 0, NULL));
}

static int use_sysfs(const char *dir)
{
	return answer_of(mount("sysfs", dir, "sysfs", 0, NULL));
}

static int use_cgroup(const char *dir)
{
	return answer_of(mount("cgroup2", dir, "cgroup2", 0, NULL));
}

static int use_move(const char *dir)
{
	return answer_past(mount("/proc", dir, NULL, MS_MOVE, NULL), EINVAL);
}

/* Outside in a child: who has changed its root finds the directory no more, to remove it. */
static int change_root(const struct attempt *self, const struct marks *marks)
{
	return answer_of(chroot(AT));
}

static int mount_tmpfs(const struct attempt *self, const struct marks *marks)
{
	return in_made_directory(use_mount);
}

static int mount_bind(const struct attempt *self, const struct marks *marks)
{
	return in_made_directory(use_bind);
}

static int mount_proc(const struct attempt *self, const struct marks *marks)
{
	return in_made_directory(use_proc);
}

static int mount_sysfs(const struct attempt *self, const struct marks *marks)
{
	return in_made_directory(use_sysfs);
}

static int mount_cgroup(const struct attempt *self, const struct marks *marks)
{
	return in_made_directory(use_cgroup);
}

static int mount_move(const struct attempt *self, const struct marks *marks)
{
	return in_made_directory(use_move);
}

static int try_chroot(const struct attempt *self, const struct marks *marks)
{
	int answer;

	if (mkdir(AT, 0755) != 0)
		return UNTRIED;
	answer = marks->outside ? in_child(change_root, self, marks) : change_root(self, marks);
	rmdir(AT);
	return answer;
}

static int remount(const struct attempt *self, const struct marks *marks)
{
	return answer_past(mount(NULL, "/usr", NULL, MS_REMOUNT | MS_BIND, NULL), EINVAL);
}

static int share_mounts(const struct attempt *self, const struct marks *marks)
{
	return answer_of(mount(NULL, "/", NULL, MS_REC | MS_SHARED, NULL));
}

static int unmount_mask(const struct attempt *self, const struct marks *marks)
{
	static const char *const masked[] = { "/proc/kcore", "/proc/keys", "/proc/timer_list",
					      "/proc/interrupts" };
	size_t i = 0;

	/* A kernel may have none of the first; what is no mount, outside, is EINVAL after the check of
	 * privilege. */
	while (i + 1 < ARRAY_LENGTH(masked) && access(masked[i], F_OK) != 0)
		i++;
	return answer_past(umount2(masked[i], MNT_DETACH), EINVAL);
}

static int unmount_root(const struct attempt *self, const struct marks *marks)
{
	return answer_of(umount2("/", MNT_DETACH));
}

/* The handle of inode 2, the root of most file systems of disks. */
static int open_handle(const struct attempt *self, const struct marks *marks)
{
	struct {
		unsigned int bytes;
		int type;
		unsigned char handle[8];
	} shocker = { 8, 1, { 2 } };
	int dir_fd = open("/usr", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return answer_past(syscall(SYS_open_by_handle_at, dir_fd, &shocker, O_RDONLY), ESTALE);
}

static int name_handle(const struct attempt *self, const struct marks *marks)
{
	struct {
		unsigned int bytes;
		int type;
		unsigned char handle[128];
	} handle = { .bytes = 128 };
	int id;

	return answer_past(syscall(SYS_name_to_handle_at, AT_FDCWD, "/usr", &handle, &id, 0), EOPNOTSUPP);
}

/* ---- writing where nothing is to be written ---- */

/* A file without a name, which is gone with its descriptor. */
static int make_unnamed(const struct attempt *self, const struct marks *marks)
{
	int fd = open(self->path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	return answer_hidden(fd);
}

static int write_workspace(const struct attempt *self, const struct marks *marks)
{
	int fd = open("/workspace/.warder-attempt", O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);

	if (fd >= 0) {
		close(fd);
		unlink("/workspace/.warder-attempt");
	}
	return answer_hidden(fd);
}

/* A descriptor for reading, opened anew for writing through its own link. */
static int reopen_for_writing(const struct attempt *self, const struct marks *marks)
{
	int read_fd = open(host_file(), O_RDONLY | O_CLOEXEC);
	char path[64];

	if (read_fd < 0)
		return UNTRIED;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", read_fd);
	return answer_busy(open(path, O_WRONLY | O_CLOEXEC), path);
}

static int overwrite_self(const struct attempt *self, const struct marks *marks)
{
	return answer_busy(open("/proc/self/exe", O_WRONLY | O_CLOEXEC), "/proc/self/exe");
}

static int overwrite_supervisor(const struct attempt *self, const struct marks *marks)
{
	char path[64];
	const struct attempt there = { .path = path };

	snprintf(path, sizeof(path), "/proc/%d/exe", marks->supervisor);
	return marks->supervisor ? open_for_writing(&there, marks) : UNTRIED;
}

static int set_mtime(const struct attempt *self, const struct marks *marks)
{
	struct stat st;
	struct timespec times[2];

	if (stat(host_file(), &st) != 0)
		return UNTRIED;
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	return answer_of(utimensat(AT_FDCWD, host_file(), times, 0));
}

static int change_owner(const struct attempt *self, const struct marks *marks)
{
	return answer_of(chown(host_file(), 0, 0));
}

static int set_suid(const struct attempt *self, const struct marks *marks)
{
	int fd = open(AT "-suid", MAKE_FILE, 0700);
	int answer;

	if (fd < 0)
		return UNTRIED;
	answer = answer_of(fchmod(fd, 04755));
	close(fd);
	unlink(AT "-suid");
	return answer;
}

static int make_suid(const struct attempt *self, const struct marks *marks)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, AT "-suid", MAKE_FILE, 06755);
	int answer = answer_of(fd);

	if (fd >= 0)
		unlink(AT "-suid");
	return answer;
}

static int make_node(mode_t type, dev_t device)
{
	int answer = answer_of(mknod(AT "-node", type | 0600, device));

	if (answer == REACHED)
		unlink(AT "-node");
	return answer;
}

static int make_null(const struct attempt *self, const struct marks *marks)
{
	return make_node(S_IFCHR, makedev(1, 3));
}

static int make_disk(const struct attempt *self, const struct marks *marks)
{
	return make_node(S_IFBLK, makedev(8, 0));
}

static int link_out(const struct attempt *self, const struct marks *marks)
{
	int answer = answer_hidden(link(host_file(), "/usr/bin/.warder-attempt"));

	unlink("/usr/bin/.warder-attempt");
	return answer;
}

static int link_into_tmp(const struct attempt *self, const struct marks *marks)
{
	char path[PATH_MAX];
	int answer;

	snprintf(path, sizeof(path), "%s/warder-attempt-env", own_place(self, marks));
	answer = answer_of(link(host_file(), path));
	if (answer == REACHED)
		unlink(path);
	return answer;
}

/* Where the root can be written to, a mount point is busy, which is another answer. */
static int move_mount_point(const struct attempt *self, const struct marks *marks)
{
	int answer = answer_of(rename("/proc", "/warder-attempt"));

	rename("/warder-attempt", "/proc");
	return answer;
}

/* What covers a directory of /proc. */
static int write_mask(const struct attempt *self, const struct marks *marks)
{
	static const char *const masks[] = { "/proc/acpi", "/proc/bus", "/proc/irq", "/proc/driver",
					     "/proc/scsi" };
	int answer = UNTRIED;

	for (size_t i = 0; i < ARRAY_LENGTH(masks); i++) {
		const struct attempt one = { .path = masks[i] };
		int fd = access(masks[i], F_OK) == 0 ? make_unnamed(&one, marks) : HIDDEN;

		if (fd == HIDDEN)
			continue;
		note("%s", masks[i]);
		answer = fd;
		if (answer != EROFS)
			break;
	}
	return answer;
}

/* ---- programs where none is to be executed ---- */

static int copy_self(const char *to)
{
	char buf[65536];
	int from_fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int fd = open(to, MAKE_FILE, 0755);
	ssize_t n;

	while (from_fd >= 0 && fd >= 0 && (n = read(from_fd, buf, sizeof(buf))) > 0)
		if (write(fd, buf, (size_t)n) != n)
			break;
	close(from_fd);
	close(fd);
	return fd;
}

/* The program without an argument exits with 2, at once; the mark of a child that did so is enough. */
static int run_copy(const struct attempt *self, const struct marks *marks)
{
	char *argv[] = { (char *)self->path, NULL };

	execv(self->path, argv);
	return errno;
}

static int execute_copy(const struct attempt *self, const struct marks *marks)
{
	int answer;

	if (copy_self(self->path) < 0) {
		note("%s cannot be made", self->path);
		return UNTRIED;
	}
	answer = in_child(run_copy, self, marks);
	unlink(self->path);
	return answer == UNTRIED ? REACHED : answer; /* the child became the copy, which answers nothing */
}

/* ---- what is there ---- */

/* What is there has its own numbers; anything else is a way to a device or somebody's. */
static bool is_ours(const char *name)
{
	const struct node *node = find_node(name);
	char path[NAME_MAX + 8];
	struct stat st;

	snprintf(path, sizeof(path), "/dev/%s", name);
	if (!node || lstat(path, &st) != 0)
		return false;
	if (!node->major)
		return S_ISDIR(st.st_mode) || S_ISLNK(st.st_mode);
	return S_ISCHR(st.st_mode) && st.st_rdev == makedev(node->major, node->minor);
}

static int list_dev(const struct attempt *self, const struct marks *marks)
{
	DIR *dir = opendir("/dev");
	const struct dirent *item;
	int answer = CLEAN;

	while (dir && (item = readdir(dir)) != NULL) {
		if (!is_ours(item->d_name)) {
			note("/dev/%s", item->d_name);
			answer = REACHED;
		}
	}
	if (dir)
		closedir(dir);
	return dir ? answer : UNTRIED;
}

static int open_device(const struct attempt *self, const struct marks *marks)
{
	int fd = open(self->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd >= 0)
		close(fd);
	return answer_hidden(fd);
}

/* Any disk of the host that has a node. */
static int open_disk(const struct attempt *self, const struct marks *marks)
{
	DIR *dir = opendir("/dev");
	const struct dirent *item;
	char path[NAME_MAX + 8];
	int answer = HIDDEN;
	struct stat st;

	while (dir && (item = readdir(dir)) != NULL) {
		snprintf(path, sizeof(path), "/dev/%s", item->d_name);
		if (stat(path, &st) == 0 && S_ISBLK(st.st_mode) && access(path, R_OK) == 0) {
			note("%s can be read", path);
			answer = REACHED;
		}
	}
	if (dir)
		closedir(dir);
	return answer;
}

/* Users with a home that the jail should not know. */
static int read_users(const struct attempt *self, const struct marks *marks)
{
	char text[8192];
	long len = read_text("/etc/passwd", text, sizeof(text));
	int users = 0;

	for (long i = 0; i < len; i++)
		users += text[i] == '\n';
	if (users > 3)
		note("%d users", users);
	return len < 0 ? answer_hidden(-1) : users > 3 ? REACHED : CLEAN;
}

/* An attribute of a file of its own. */
static int set_attribute(const char *name, const void *value, size_t size)
{
	int fd = open(AT "-attribute", MAKE_FILE, 0700);
	int answer = fd < 0 ? UNTRIED : answer_of(fsetxattr(fd, name, value, size, 0));

	if (fd >= 0)
		close(fd);
	unlink(AT "-attribute");
	return answer;
}

static int give_capabilities(const struct attempt *self, const struct marks *marks)
{
	const struct vfs_cap_data all = { VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE,
					  { { 1u << CAP_SYS_ADMIN, 0 } } };

	return set_attribute("security.capability", &all, sizeof(all));
}

static int set_trusted(const struct attempt *self, const struct marks *marks)
{
	return set_attribute("trusted.overlay.opaque", "y", 1);
}

/* Whether a page of the file is not in memory: the kernel says that all are to who may not know. */
static bool lacks_page(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	unsigned char pages[256];
	struct stat st;
	void *at = MAP_FAILED;
	size_t size = 0;
	bool lacks = false;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
		size = st.st_size < 256 * 4096 ? (size_t)st.st_size : 256 * 4096;
		at = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	}
	if (at != MAP_FAILED && mincore(at, size, pages) == 0)
		for (size_t i = 0; i < (size + 4095) / 4096; i++)
			lacks = lacks || !(pages[i] & 1);
	if (at != MAP_FAILED)
		munmap(at, size);
	if (fd >= 0)
		close(fd);
	return lacks;
}

static int see_cached_pages(const struct attempt *self, const struct marks *marks)
{
	DIR *dir = opendir("/usr/bin");
	const struct dirent *item;
	char path[NAME_MAX + 16];
	int answer = CLEAN;

	while (dir && answer == CLEAN && (item = readdir(dir)) != NULL) {
		snprintf(path, sizeof(path), "/usr/bin/%s", item->d_name);
		if (!lacks_page(path))
			continue;
		note("%s is not all in memory", path);
		answer = REACHED;
	}
	if (dir)
		closedir(dir);
	return dir ? answer : HIDDEN;
}

#define ROOT     "root of its own (mount namespace)"
#define READONLY "read-only mounts"
#define FILTER   "seccomp filter"
#define DEVICES  "/dev of its own"

#define MOUNTING .by = FILTER ", no capabilities"

static const struct attempt rows[] = {
	{ "read-file-by-path", "open a file of the host by its path", "hidden", ROOT, .allowed = "shown",
	  .run = read_secret, .outside = OUTSIDE_PLAIN },
	{ "read-file-by-proc-root", "the same through /proc/1/root", "hidden", "pid namespace, hidepid",
	  .seen = "CVE-2019-5736 class; container toolkits", .allowed = "shown", .run = read_secret,
	  .path = "/proc/1/root/", .outside = OUTSIDE_PLAIN },
	{ "read-file-by-own-root", "the same through /proc/self/root and ..", "hidden", ROOT,
	  .allowed = "shown", .run = read_secret, .path = "/proc/self/root/../../..",
	  .outside = OUTSIDE_PLAIN },
	{ "read-file-by-climbing", "the same through .. from the working directory", "hidden", ROOT,
	  .seen = "CVE-2024-21626", .allowed = "shown", .run = climb, .outside = OUTSIDE_PLAIN },
	{ "read-file-by-link", "the same through a symbolic link of its own", "hidden", ROOT,
	  .allowed = "shown", .run = follow_link, .outside = OUTSIDE_PLAIN },
	{ "read-file-by-moved-directory", "the same from a directory that was moved meanwhile", "hidden",
	  ROOT, .allowed = "shown", .run = move_and_climb, .outside = OUTSIDE_PLAIN },
	{ "read-home", "list the caller's home directory", "hidden", ROOT, .allowed = "home-shown",
	  .run = read_home, .outside = OUTSIDE_PLAIN },
	{ "read-shadow", "read /etc/shadow", "hidden", "/etc of its own", .allowed = "view|shows:/etc/shadow",
	  .run = read_path, .path = "/etc/shadow", .outside = OUTSIDE_PLAIN },
	{ "read-users", "read the host's users in /etc/passwd", "clean", "/etc of its own",
	  .allowed = "view|shows:/etc/passwd", .run = read_users, .outside = OUTSIDE_PLAIN },
	{ "read-machine-id", "read /etc/machine-id", "hidden", "/etc of its own",
	  .allowed = "view|shows:/etc/machine-id", .run = read_path, .path = "/etc/machine-id",
	  .outside = OUTSIDE_PLAIN },
	{ "read-logs", "list /var/log", "hidden", ROOT, .allowed = "view|shows:/var/log",
	  .run = list_directory, .path = "/var/log", .outside = OUTSIDE_PLAIN },
	{ "find-sockets-in-run", "list /run, where services have their sockets", "hidden", ROOT,
	  .allowed = "view|shows:/run", .run = list_directory, .path = "/run", .outside = OUTSIDE_PLAIN },
	{ "read-sysfs", "list /sys", "hidden", "no sysfs mounted", .allowed = "shows:/sys",
	  .run = list_directory, .path = "/sys", .outside = OUTSIDE_PLAIN },
	{ "read-boot", "list /boot", "hidden", ROOT, .allowed = "view|shows:/boot", .run = list_directory,
	  .path = "/boot", .outside = OUTSIDE_PLAIN },
	{ "use-leaked-descriptors", "use descriptors 3 to 1023 that the caller left open", "EBADF",
	  "close_range before the program", .seen = "bubblewrap, minijail", .run = use_descriptors,
	  .outside = OUTSIDE_PLAIN },
	{ "walk-leaked-directories", "open a file of the host relative to such a descriptor", "EBADF",
	  "close_range before the program", .seen = "CVE-2024-21626", .run = walk_descriptors,
	  .outside = OUTSIDE_PLAIN },
	{ "follow-process-links", "follow root, cwd, exe and fd of every other process in /proc", "clean",
	  "pid namespace, hidepid", .run = follow_process_links, .outside = OUTSIDE_PLAIN },
	{ "follow-own-links", "find a stream of its own, or a working directory, that leads to the host",
	  "clean", "streams are pipes; close_range before the program", .seen = "CVE-2024-21626",
	  .run = follow_own_links, .outside = OUTSIDE_PLAIN },
	{ "read-mount-table", "find the host's root or a kernel file system among the mounts", "clean", ROOT,
	  .seen = "boxsh", .run = read_mounts, .outside = OUTSIDE_PLAIN },
	{ "find-suid-mount", "find a mount on which set-user-ID programs work", "clean", "nosuid mounts",
	  .run = find_suid_mount, .outside = OUTSIDE_PLAIN },
	{ "find-device-mount", "find a mount on which device nodes work", "clean", "nodev mounts",
	  .run = find_dev_mount, .outside = OUTSIDE_PLAIN },

	{ "mount-tmpfs", "mount a tmpfs", "EPERM", MOUNTING, .run = mount_tmpfs },
	{ "mount-bind", "bind the root elsewhere", "EPERM", MOUNTING, .run = mount_bind },
	{ "mount-proc", "mount a second /proc without masks", "EPERM", MOUNTING,
	  .seen = "CVE-2025-52881 class", .run = mount_proc },
	{ "mount-sysfs", "mount /sys", "EPERM", MOUNTING, .run = mount_sysfs },
	{ "mount-cgroup", "mount the control groups, for release_agent", "EPERM", MOUNTING,
	  .seen = "CVE-2022-0492", .run = mount_cgroup },
	{ "mount-move", "move /proc to another place", "EPERM", MOUNTING, .run = mount_move },
	{ "remount-writable", "remount /usr read-write", "EPERM", MOUNTING, .run = remount },
	{ "share-mounts", "make mounts propagate to the host", "EPERM", MOUNTING, .run = share_mounts },
	{ "unmount-mask", "unmount what covers /proc/kcore or its like", "EPERM", MOUNTING,
	  .seen = "CVE-2025-31133 class", .run = unmount_mask },
	{ "unmount-root", "unmount the root", "EPERM", MOUNTING, .run = unmount_root },
	{ "pivot-root", "pivot_root", "EPERM", MOUNTING, .call = { SYS_pivot_root, { 0, 0 }, EFAULT } },
	{ "chroot", "chroot, the first half of the classic way out", "EPERM", MOUNTING, .run = try_chroot },
	{ "open-tree", "clone a mount with open_tree", "EPERM", MOUNTING, .seen = "CVE-2021-41133",
	  .call = { NR_OPEN_TREE, { AT_FDCWD, (long)"/", 1 /* OPEN_TREE_CLONE */ } } },
	{ "open-tree-attr", "the same with open_tree_attr", "EPERM", MOUNTING,
	  .call = { NR_OPEN_TREE_ATTR, { AT_FDCWD, (long)"/", 1, 0, 0 } } },
	{ "move-mount", "move_mount", "EPERM", MOUNTING, .seen = "CVE-2021-41133",
	  .call = { NR_MOVE_MOUNT, { -1, (long)"", -1, (long)"", 0x44 }, EBADF } },
	{ "fsopen", "fsopen", "EPERM", MOUNTING, .seen = "CVE-2021-41133, CVE-2022-0185",
	  .call = { NR_FSOPEN, { (long)"tmpfs", 1 } } },
	{ "fsconfig", "fsconfig", "EPERM", MOUNTING, .seen = "CVE-2022-0185",
	  .call = { NR_FSCONFIG, { -1, 6, 0, 0, 0 }, EINVAL } },
	{ "fsmount", "fsmount", "EPERM", MOUNTING, .call = { NR_FSMOUNT, { -1, 0, 0 }, EBADF } },
	{ "fspick", "fspick", "EPERM", MOUNTING, .call = { NR_FSPICK, { AT_FDCWD, (long)"/", 0 } } },
	{ "mount-setattr", "mount_setattr", "EPERM", MOUNTING,
	  .call = { NR_MOUNT_SETATTR, { AT_FDCWD, (long)"/", 0, 0, 0 }, EINVAL } },
	{ "open-by-handle", "open inode 2 of the disk by its handle", "EPERM", FILTER,
	  .seen = "shocker (Docker before 1.0)", .run = open_handle },
	{ "name-to-handle", "get a file's handle, for a later open", "EPERM", FILTER,
	  .seen = "every sandbox measured but firejail", .allowed = "profile=compat|call=name_to_handle_at",
	  .run = name_handle },

	{ "write-usr", "make a file in /usr", "EROFS|hidden", READONLY, .allowed = "writable:/usr",
	  .run = make_unnamed, .path = "/usr" },
	{ "write-etc", "make a file in /etc", "EROFS|EACCES", READONLY ", files of others",
	  .allowed = "writable:/etc", .run = make_unnamed, .path = "/etc" },
	{ "write-root", "make a file in /", "EROFS", READONLY, .run = make_unnamed, .path = "/" },
	{ "write-dev", "make a file in /dev", "EROFS", READONLY, .run = make_unnamed, .path = "/dev" },
	{ "write-workspace", "make a file in the workspace", "EROFS|hidden", READONLY,
	  .allowed = "workspace=rw", .run = write_workspace,
	  .not_outside = "outside there is no /workspace" },
	{ "reopen-for-writing", "open a read-only file anew through /proc/self/fd", "EROFS|EACCES",
	  READONLY ", files of others", .allowed = "writable:/usr", .run = reopen_for_writing },
	{ "overwrite-own-program", "open /proc/self/exe for writing", "EROFS|EACCES",
	  READONLY ", files of others", .seen = "CVE-2019-5736", .run = overwrite_self },
	{ "overwrite-init", "open /proc/1/exe for writing", "hidden", "pid namespace, hidepid",
	  .seen = "CVE-2019-5736", .run = open_for_writing, .path = "/proc/1/exe", .outside = OUTSIDE_PLAIN },
	{ "overwrite-supervisor", "open the supervisor's program in /proc for writing", "hidden",
	  "pid namespace, hidepid", .seen = "CVE-2019-5736", .run = overwrite_supervisor,
	  .outside = OUTSIDE_PLAIN },
	{ "set-times", "set the times of a read-only file to what they are", "EROFS", READONLY,
	  .allowed = "writable:/usr", .run = set_mtime },
	{ "change-owner", "give a read-only file to root", "EROFS", READONLY, .allowed = "writable:/usr",
	  .run = change_owner },
	{ "set-suid-bit", "make a set-user-ID file by chmod", "EPERM", FILTER, .run = set_suid },
	{ "create-suid-file", "make a set-user-ID file by open", "EPERM", FILTER, .run = make_suid },
	{ "make-character-device", "mknod of a character device", "EPERM", FILTER, .run = make_null },
	{ "make-disk-device", "mknod of a disk", "EPERM", FILTER ", no capabilities", .run = make_disk },
	{ "link-in-usr", "make a hard link in /usr", "EROFS|hidden", READONLY, .allowed = "writable:/usr",
	  .run = link_out, .not_outside = "it would write to the host's /usr" },
	{ "link-into-tmp", "make a hard link of the host's file in /tmp", "EXDEV", "mounts of their own",
	  .run = link_into_tmp, .outside = OUTSIDE_PLAIN },
	{ "move-mount-point", "give /proc another name, to put something in its place", "EROFS", READONLY,
	  .seen = "CVE-2021-30465, CVE-2019-19921 class", .run = move_mount_point,
	  .not_outside = "it would move the host's /proc" },
	{ "write-mask", "make a file in what covers a directory of /proc", "EROFS", READONLY,
	  .seen = "runc before 1.5", .run = write_mask, .not_outside = "outside nothing covers them" },
	{ "execute-from-tmp", "execute a program it wrote to /tmp", "EACCES", "noexec mount",
	  .allowed = "tmp-exec", .needs = "spawn", .run = execute_copy, .path = "/tmp/warder-attempt-copy" },
	{ "execute-from-shm", "execute a program it wrote to /dev/shm", "EACCES", "noexec mount",
	  .needs = "spawn", .run = execute_copy, .path = "/dev/shm/warder-attempt-copy" },

	{ "give-file-capabilities", "give a file of its own capabilities", "EPERM", "no capabilities",
	  .run = give_capabilities },
	{ "set-trusted-attribute", "hide files where its directory becomes a layer of an overlay", "EPERM",
	  "no capabilities", .run = set_trusted },
	{ "see-cached-pages", "see by mincore which pages of shared files are in memory", "clean|hidden",
	  "files of others", .allowed = "writable:/usr", .run = see_cached_pages },

	{ "list-devices", "find a device in /dev that is not for it", "clean", DEVICES, .run = list_dev,
	  .outside = OUTSIDE_PLAIN },
	{ "open-disk", "open a disk", "hidden", DEVICES, .run = open_disk, .outside = OUTSIDE_PLAIN },
	{ "open-memory-device", "open /dev/mem", "hidden", DEVICES, .run = open_device, .path = "/dev/mem",
	  .outside = OUTSIDE_PLAIN },
	{ "open-kernel-log-device", "open /dev/kmsg", "hidden", DEVICES, .run = open_device,
	  .path = "/dev/kmsg", .outside = OUTSIDE_PLAIN },
	{ "open-fuse", "open /dev/fuse", "hidden", DEVICES, .run = open_device, .path = "/dev/fuse",
	  .outside = OUTSIDE_PLAIN },
	{ "open-kvm", "open /dev/kvm", "hidden", DEVICES, .run = open_device, .path = "/dev/kvm",
	  .outside = OUTSIDE_PLAIN },
	{ "open-tun", "open /dev/net/tun", "hidden", DEVICES, .run = open_device, .path = "/dev/net/tun",
	  .outside = OUTSIDE_PLAIN },
	{ "open-vsock", "open /dev/vsock", "hidden", DEVICES, .run = open_device, .path = "/dev/vsock",
	  .outside = OUTSIDE_PLAIN },
	{ "open-loop-control", "open /dev/loop-control", "hidden", DEVICES, .run = open_device,
	  .path = "/dev/loop-control", .outside = OUTSIDE_PLAIN },
};

const struct attempt_group files_group = GROUP("files", rows);
