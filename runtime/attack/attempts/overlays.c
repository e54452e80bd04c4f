/*
 * overlays: what an image, a workspace or a set of changes lies on, turned against the host: layers that are not to be
 * seen, overlays of one's own, and the marks by which an overlay hides files, or takes them from elsewhere.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/array.h"
#include "runtime/attack/attempts/attempts.h"

#define NR_FSOPEN 430
/* Not in every libc's headers. */
#ifndef RENAME_WHITEOUT
#define RENAME_WHITEOUT 4
#endif

#define AT "/tmp/warder-attempt-overlay"

static const char *const parts[] = { AT, AT "/lower", AT "/upper", AT "/spare", AT "/merged" };

static int make_parts(void)
{
	for (size_t i = 0; i < ARRAY_LENGTH(parts); i++)
		if (mkdir(parts[i], 0755) != 0)
			return -1;
	return 0;
}

/* What the kernel has made in the working directory goes too. */
static void remove_parts(void)
{
	umount2(AT "/merged", MNT_DETACH);
	rmdir(AT "/spare/work");
	rmdir(AT "/spare/index");
	for (size_t i = ARRAY_LENGTH(parts); i-- > 0;)
		rmdir(parts[i]);
}

static int mount_parts(const char *more)
{
	char options[512];

	snprintf(options, sizeof(options),
		 "lowerdir=" AT "/lower,upperdir=" AT "/upper,workdir=" AT "/spare%s", more);
	return mount("overlay", AT "/merged", "overlay", 0, options);
}

static int mount_overlay(const struct attempt *self, const struct marks *marks)
{
	int answer;

	if (make_parts() != 0)
		return UNTRIED;
	answer = answer_of(mount_parts(self->path));
	remove_parts();
	return answer;
}

/* The value of an option in a line of the mount table; `at` moves behind it. */
static bool next_layer(const char **at, char path[PATH_MAX])
{
	static const char *const names[] = { "lowerdir=", "lowerdir+=", "upperdir=", "workdir=" };

	for (; **at; ++*at)
		for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
			size_t length = strlen(names[i]);

			if (strncmp(*at, names[i], length) != 0)
				continue;
			*at += length;
			length = strcspn(*at, ",:\n");
			snprintf(path, PATH_MAX, "%.*s", (int)length, *at);
			return true;
		}
	return false;
}

/* What lies below an overlay is to be seen through it only: the upper layer itself could be changed behind its back. */
static int look_for_layers(const char *line)
{
	const char *at = strstr(line, " - overlay ");
	char path[PATH_MAX];
	int answer = CLEAN;

	while (at && next_layer(&at, path)) {
		if (access(path, F_OK) != 0)
			continue;
		note("%s can be reached", path);
		answer = REACHED;
	}
	return answer;
}

static int find_layers(const struct attempt *self, const struct marks *marks)
{
	char *line = NULL;
	size_t size = 0;
	int answer = CLEAN;
	FILE *file;

	if (marks->outside && (make_parts() != 0 || mount_parts("") != 0))
		return UNTRIED;
	file = fopen("/proc/self/mountinfo", "r");
	while (file && getline(&line, &size, file) > 0)
		if (look_for_layers(line) == REACHED)
			answer = REACHED;
	free(line);
	if (file)
		fclose(file);
	if (marks->outside)
		remove_parts();
	return file ? answer : UNTRIED;
}

/* ---- marks ---- */

static int forge_attribute(const struct attempt *self, const struct marks *marks)
{
	int answer;

	if (mkdir(AT, 0755) != 0)
		return UNTRIED;
	answer = answer_of(setxattr(AT, self->path, "y", 1, 0));
	rmdir(AT);
	return answer;
}

static int give_capability(const struct attempt *self, const struct marks *marks)
{
	struct vfs_cap_data all = { .magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE,
				    .data = { { .permitted = ~0u } } };
	int fd = open(AT, MAKE_FILE, 0755);
	int answer;

	if (fd < 0)
		return UNTRIED;
	answer = answer_of(fsetxattr(fd, "security.capability", &all, sizeof(all), 0));
	close(fd);
	unlink(AT);
	return answer;
}

static int make_whiteout(const struct attempt *self, const struct marks *marks)
{
	int answer = answer_of(mknod(AT, S_IFCHR, makedev(0, 0)));

	unlink(AT);
	return answer;
}

static int leave_whiteout(const struct attempt *self, const struct marks *marks)
{
	int fd = open(AT, MAKE_FILE, 0600);
	int answer;

	if (fd < 0)
		return UNTRIED;
	close(fd);
	answer = answer_of(syscall(SYS_renameat2, AT_FDCWD, AT, AT_FDCWD, AT "-moved", RENAME_WHITEOUT));
	unlink(AT);
	unlink(AT "-moved");
	return answer;
}

/* ---- the rows ---- */

#define FILTER   "seccomp filter"
#define MOUNTING .by = FILTER ", no capabilities"
#define MARKING  .by = "no capabilities"

static const struct attempt rows[] = {
	{ "mount-overlay", "mount an overlay of directories of its own", "EPERM", MOUNTING,
	  .seen = "CVE-2021-3493, CVE-2023-0386 class", .run = mount_overlay, .path = "" },
	{ "mount-overlay-redirected", "the same, where directories may be taken from elsewhere", "EPERM",
	  MOUNTING, .run = mount_overlay, .path = ",redirect_dir=on,metacopy=on" },
	{ "mount-overlay-indexed", "the same, with an index and handles of files", "EPERM", MOUNTING,
	  .run = mount_overlay, .path = ",index=on" },
	{ "mount-overlay-by-user", "the same, with marks that every owner may set", "EPERM", MOUNTING,
	  .seen = "CVE-2023-2640, CVE-2023-32629 class", .run = mount_overlay, .path = ",userxattr" },
	{ "fsopen-overlay", "fsopen of an overlay", "EPERM", MOUNTING,
	  .call = { NR_FSOPEN, { (long)"overlay", 1 } } },
	{ "find-layers", "reach a layer, or the working directory, of an overlay that is mounted", "clean",
	  "layers are outside of the root", .run = find_layers },
	{ "forge-opaque", "mark a directory as hiding what lies below it", "EPERM", MARKING,
	  .run = forge_attribute, .path = "trusted.overlay.opaque" },
	{ "forge-redirect", "mark a directory as taken from elsewhere", "EPERM", MARKING,
	  .run = forge_attribute, .path = "trusted.overlay.redirect" },
	{ "forge-metacopy", "mark a file as having its content elsewhere", "EPERM", MARKING,
	  .run = forge_attribute, .path = "trusted.overlay.metacopy" },
	{ "forge-origin", "mark a directory as the copy of another inode", "EPERM", MARKING,
	  .run = forge_attribute, .path = "trusted.overlay.origin" },
	{ "give-capabilities", "give a file capabilities", "EPERM", MARKING, .seen = "CVE-2021-3493",
	  .run = give_capability },
	{ "make-whiteout", "mknod of what hides a file of a lower layer", "EPERM", FILTER,
	  .run = make_whiteout },
	{ "leave-whiteout", "rename a file and leave such a node behind", "EPERM", FILTER,
	  .run = leave_whiteout },
};

const struct attempt_group overlays_group = GROUP("overlays", rows);
