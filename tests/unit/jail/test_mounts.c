#include "base/array.h"
#include "jail/mounts.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of a launch by root. Binds come first, as the kernel lists them. */
static const char table[] =
    "41 69 254:0 /usr /usr ro,nosuid,nodev,relatime - ext4 /dev/vda rw\n"
    "42 41 254:1 / /usr/src ro,nosuid,nodev,relatime - ext4 /dev/vdb rw\n"
    "45 41 254:0 /usr/share /usr/share ro,nosuid,nodev,noexec - ext4 /dev/vda rw\n"
    "43 69 254:0 /srv/a\\040b /srv/a\\040b rw,nosuid,nodev,relatime - ext4 /dev/vda rw\n"
    "44 69 254:0 /srv/no /srv/no rw,nosuid,nodev,noexec,relatime - ext4 /dev/vda rw\n"
    "69 47 0:39 / / ro,nosuid,nodev,relatime - tmpfs root rw,size=4096k,mode=755\n"
    "70 69 0:40 / /dev ro,nosuid,noexec,relatime - tmpfs dev rw,size=64k,mode=755\n"
    "49 69 0:42 / /proc ro,nosuid,nodev,noexec,relatime - proc proc ro,hidepid=invisible\n"
    "100 49 0:40 /proc/meminfo /proc/meminfo ro,nosuid,noexec,relatime - tmpfs dev rw,size=64k,mode=755\n"
    "101 49 0:40 /proc/cpuinfo /proc/cpuinfo ro,nosuid,noexec,relatime - tmpfs dev rw,size=64k,mode=755\n"
    "102 49 0:40 /proc/loadavg /proc/loadavg ro,nosuid,noexec,relatime - tmpfs dev rw,size=64k,mode=755\n"
    "103 49 0:40 /proc/vmstat /proc/vmstat ro,nosuid,noexec,relatime - tmpfs dev rw,size=64k,mode=755\n"
    "107 49 0:40 /proc/fs /proc/sys/fs ro,nosuid,noexec,relatime - tmpfs dev rw,size=64k,mode=755\n"
    "108 49 0:43 /proc/stat /proc/stat ro,nosuid,nodev,noexec,relatime - tmpfs scratch rw,size=65536k\n"
    "109 49 0:43 /proc/boot_id /proc/sys/kernel/random/boot_id ro,nosuid,nodev,noexec,relatime - tmpfs "
    "scratch rw,size=65536k\n"
    "50 49 0:40 /null /proc/keys ro,nosuid,noexec,relatime - tmpfs dev rw,size=64k,mode=755\n"
    "65 49 0:40 /empty /proc/acpi ro,nosuid,noexec,relatime - tmpfs dev rw,size=64k,mode=755\n"
    "71 70 0:43 / /dev/shm rw,nosuid,nodev,noexec,relatime - tmpfs scratch rw,size=65536k\n"
    "72 69 0:43 /tmp /tmp rw,nosuid,nodev,noexec,relatime - tmpfs scratch rw,size=65536k\n"
    "73 71 0:43 /shm /dev/shm rw,nosuid,nodev,noexec,relatime - tmpfs scratch rw,size=65536k\n"
    "74 70 0:44 / /dev/pts rw,nosuid,noexec,relatime - devpts devpts rw,mode=620,max=4\n";
#define TABLE_LINES 21

static struct rootfs_entry entries[] = {
	{ .kind = ROOTFS_DIRECTORY, .target = (char *)"/proc" },
	{ .kind = ROOTFS_BIND, .target = (char *)"/srv/a b", .source = (char *)"/srv/a b" },
	{ .kind = ROOTFS_BIND, .target = (char *)"/srv/no", .source = (char *)"/srv/no", .no_exec = true },
	{ .kind = ROOTFS_SYMLINK, .target = (char *)"/bin", .text = (char *)"usr/bin" },
	{ .kind = ROOTFS_BIND, .target = (char *)"/usr", .source = (char *)"/usr", .read_only = true },
	{ .kind = ROOTFS_BIND, .target = (char *)"/usr/share", .read_only = true, .no_exec = true },
};
static const struct rootfs rootfs = { .entries = entries, .count = ARRAY_LENGTH(entries), .terminals = 4 };

/* `from` in the table becomes `to`; an empty `from` puts `to` at the end. Heap. */
static char *changed(const char *from, const char *to)
{
	const char *at = *from ? strstr(table, from) : table + strlen(table);
	char *text = NULL;

	cr_assert(at, "%s", from);
	cr_assert_geq(asprintf(&text, "%.*s%s%s", (int)(at - table), table, to, at + strlen(from)), 0);
	return text;
}

Test(mounts, as_planned, .timeout = 20)
{
	struct warder_error err = { 0 };

	cr_expect_eq(mounts_check(table, &rootfs, &err), TABLE_LINES, "%s", err.text);
}

Test(mounts, what_may_differ, .timeout = 20)
{
	static const struct {
		const char *label, *from, *to;
		int more; /* mounts */
	} rows[] = {
		{ "more flags than planned", "/usr ro,nosuid,nodev", "/usr ro,nosuid,nodev,noexec", 0 },
		{ "a mask before what it is made of", "41 69",
		  "51 49 0:40 /null /proc/kmsg ro,nosuid,noexec - tmpfs dev rw\n41 69", 1 },
		{ "optional fields", "noexec,relatime - proc", "noexec,relatime unbindable new:2 - proc", 0 },
		{ "what came with a bind", "",
		  "77 43 0:50 /x /srv/a\\040b/deep/er rw,nosuid,nodev - tmpfs t rw\n", 1 },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		char *text = changed(rows[i].from, rows[i].to);
		struct warder_error err = { 0 };

		cr_expect_eq(mounts_check(text, &rootfs, &err), TABLE_LINES + rows[i].more, "%s: %s",
			     rows[i].label, err.text);
		free(text);
	}
}

Test(mounts, without_terminals, .timeout = 20)
{
	const struct rootfs none = { .entries = entries, .count = ARRAY_LENGTH(entries) };
	char *text = changed(
	    "74 70 0:44 / /dev/pts rw,nosuid,noexec,relatime - devpts devpts rw,mode=620,max=4\n", "");
	struct warder_error err = { 0 };

	cr_expect_eq(mounts_check(text, &none, &err), TABLE_LINES - 1, "%s", err.text);
	cr_expect_eq(mounts_check(table, &none, &err), -1);
	cr_expect(strstr(err.text, "/dev/pts"), "%s", err.text);
	free(text);
}

/* Its nodes are the host's, and so is what masks are made of. */
Test(mounts, an_ordinary_users_nodes, .timeout = 20)
{
	char *text = changed("50 49 0:40 /null /proc/keys ro",
			     "72 71 0:6 /null /dev/null rw,nosuid,noexec - devtmpfs d rw\n"
			     "73 71 0:6 /tty /dev/tty rw,nosuid,noexec - devtmpfs d rw\n"
			     "50 49 0:6 /null /proc/keys rw");
	struct warder_error err = { 0 };

	cr_expect_eq(mounts_check(text, &rootfs, &err), TABLE_LINES + 2, "%s", err.text);
	memcpy(strstr(text, "0:6 /null /proc"), "0:6 /full", 9);
	cr_expect_eq(mounts_check(text, &rootfs, &err), -1);
	free(text);
}

Test(mounts, what_may_not, .timeout = 20)
{
	static const struct {
		const char *label, *from, *to, *said;
	} rows[] = {
		{ "an extra mount", "", "90 69 254:0 /x /x rw,nosuid,nodev - ext4 /dev/vda rw\n",
		  "mount at /x" },
		{ "with a planned name as its beginning", "",
		  "90 69 254:0 /x /usrx ro,nosuid,nodev - ext4 /dev/vda rw\n", "mount at /usrx" },
		{ "beneath an empty directory", "",
		  "90 69 254:0 /x /srv/x rw,nosuid,nodev - ext4 /dev/vda rw\n", "mount at /srv/x" },
		{ "below /dev", "", "90 70 0:6 /mem /dev/mem rw,nosuid,noexec - devtmpfs d rw\n",
		  "mount at /dev/mem" },
		{ "a bind is missing", "/srv/no /srv/no rw", "/srv/no /usr/no ro",
		  "plan's mount at /srv/no" },
		{ "an own mount is missing", "/ /dev/pts rw,nosuid", "/ /usr/pts ro,nosuid,nodev",
		  "plan's mount at /dev/pts" },
		{ "half of /dev/shm is missing", "/shm /dev/shm rw", "/shm /usr/shm ro",
		  "plan's mount at /dev/shm" },
		{ "writable", "/usr ro", "/usr rw", "/usr mounted with \"nosuid,nodev\"" },
		{ "writable, came with a bind", "/usr/src ro", "/usr/src rw", "/usr/src mounted with" },
		{ "set-user-ID", "/srv/a\\040b rw,nosuid", "/srv/a\\040b rw",
		  "/srv/a b mounted with \"nodev\"" },
		{ "devices", "/srv/no rw,nosuid,nodev", "/srv/no rw,nosuid", "/srv/no mounted with" },
		{ "exec", "nodev,noexec,relatime - ext4", "nodev,relatime - ext4", "/srv/no mounted with" },
		{ "exec in /tmp", "/tmp rw,nosuid,nodev,noexec", "/tmp rw,nosuid,nodev",
		  "/tmp mounted with" },
		{ "writable root", "/ / ro", "/ / rw", "/ mounted with" },
		{ "writable /proc", "/ /proc ro", "/ /proc rw", "/proc mounted with" },
		{ "another file system as /proc", "- proc proc", "- tmpfs proc", "/proc that the plan" },
		{ "another file system as the root", "- tmpfs root", "- ext4 root", "/ that the plan" },
		{ "a piece of the file system as /proc", "/ /proc ro", "/sys /proc ro",
		  "/proc that the plan" },
		{ "/tmp of another tmpfs", "0:43 /tmp", "0:45 /tmp", "another tmpfs" },
		{ "/dev/shm of another tmpfs", "0:43 /shm", "0:45 /shm", "another tmpfs" },
		{ "a mask of something else", "0:40 /null /proc/keys", "0:40 /zero /proc/keys",
		  "/proc/keys" },
		{ "a mask of another file system", "0:40 /null /proc/keys", "0:41 /null /proc/keys",
		  "/proc/keys" },
		{ "a mask of a full directory", "0:40 /empty /proc/acpi", "0:40 / /proc/acpi", "/proc/acpi" },
		{ "a mask of what lies deeper", "0:40 /empty /proc/acpi", "0:40 /empty/x /proc/acpi",
		  "/proc/acpi" },
		{ "procfs again, without its flags", "",
		  "90 49 0:42 /sys /proc/sys rw,nosuid - proc proc rw\n", "/proc/sys" },
		{ "the host's memory", "/proc/meminfo /proc/meminfo ro", "/proc/meminfo /proc/mdstat ro",
		  "/proc/mdstat that the plan does not have: something else covers it" },
		{ "a name that every kernel has, not covered", "/proc/vmstat /proc/vmstat ro",
		  "/null /proc/kmsg ro", "does not show that /proc/vmstat is covered" },
		{ "a file of another name", "/proc/cpuinfo /proc/cpuinfo ro",
		  "/proc/meminfo /proc/cpuinfo ro",
		  "/proc/cpuinfo that the plan does not have: something else covers it" },
		{ "a writable file", "/proc/meminfo /proc/meminfo ro", "/proc/meminfo /proc/meminfo rw",
		  "/proc/meminfo mounted with" },
		{ "a launch's file that may be written", "/proc/stat /proc/stat ro",
		  "/proc/stat /proc/stat rw", "/proc/stat mounted with" },
		{ "a launch's file of another tmpfs", "0:43 /proc/stat", "0:40 /proc/stat",
		  "/proc/stat that" },
		{ "a launch's file from elsewhere in it", "0:43 /proc/stat", "0:43 /tmp/stat",
		  "/proc/stat that" },
		{ "a template's file out of what may be written", "0:40 /proc/meminfo", "0:43 /proc/meminfo",
		  "/proc/meminfo that" },
		{ "a directory of files for a name of nothing", "/null /proc/keys", "/proc/keys /proc/keys",
		  "/proc/keys that" },
		{ "a mask over all of /proc", "", "90 49 0:40 /empty /proc ro,nosuid - tmpfs dev rw\n",
		  "/proc that the plan" },
		{ "the flags of the bind around it", "/usr/share ro,nosuid,nodev,noexec",
		  "/usr/share ro,nosuid,nodev", "/usr/share mounted with" },
		{ "a mask with set-user-ID", "/null /proc/keys ro,nosuid", "/null /proc/keys ro",
		  "/proc/keys" },
		{ "a removed mount point", "/usr /usr ro", "/usr /usr//deleted ro", "mount at /usr" },
		{ "a broken escape", "/srv/a\\040b rw", "/srv/a\\04 rw", "cannot be read" },
		{ "shared with the host", "/usr ro,nosuid,nodev,relatime -",
		  "/usr ro,nosuid,nodev,relatime shared:1 -", "/usr that is not private" },
		{ "a slave of the host's", "/usr/src ro,nosuid,nodev,relatime -",
		  "/usr/src ro,nosuid,nodev,relatime x master:7 -", "/usr/src that is not private" },
		{ "no mount table", "41 69 254:0", "garbage\n41 69 254:0", "cannot be read: garbage" },
		{ "more terminals than planned", "max=4", "max=40", "policy's number of terminals" },
		{ "terminals without a limit", ",max=4", "", "policy's number of terminals" },
		{ "a cut line", "- devpts devpts rw,mode=620,max=4\n", "", "cannot be read" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		char *text = changed(rows[i].from, rows[i].to);
		struct warder_error err = { 0 };

		cr_expect_eq(mounts_check(text, &rootfs, &err), -1, "%s", rows[i].label);
		cr_expect(strstr(err.text, rows[i].said), "%s: \"%s\"", rows[i].label, err.text);
		free(text);
	}
}

Test(mounts, exec_in_tmp_where_the_plan_has_it, .timeout = 20)
{
	struct rootfs with_exec = rootfs;
	char *text = changed("/tmp rw,nosuid,nodev,noexec", "/tmp rw,nosuid,nodev");
	struct warder_error err = { 0 };

	with_exec.tmp_exec = true;
	cr_expect_eq(mounts_check(text, &with_exec, &err), TABLE_LINES, "%s", err.text);
	free(text);
}

/* Empty, one byte, cut anywhere before the last line's type: refused, and nothing is read beyond the end. */
Test(mounts, a_table_that_ends_early, .timeout = 60)
{
	const size_t end = (size_t)(strstr(table, "- devpts ") - table) + strlen("- devpts");

	for (size_t len = 0; len <= end; len++) {
		char *text = strndup(table, len);
		struct warder_error err = { 0 };

		cr_expect(mounts_check(text, &rootfs, &err) == -1 && err.code != WARDER_ERROR_NONE, "%zu",
			  len);
		free(text);
	}
}

/* ---- the objects ---- */

static struct stat look_at(int dir_fd, const char *name)
{
	struct stat st;

	cr_assert_eq(fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW), 0, "%s", name);
	return st;
}

Test(mounts, objects, .timeout = 20)
{
	char root[] = "/tmp/mounts.XXXXXX";
	struct rootfs_entry binds[] = {
		{ .kind = ROOTFS_DIRECTORY, .target = (char *)"/nothing" },
		{ .kind = ROOTFS_BIND,
		  .target = (char *)"/a",
		  .source = (char *)"/a",
		  .field = POLICY_FIELD_NONE },
		{ .kind = ROOTFS_BIND,
		  .target = (char *)"/a/b",
		  .source = (char *)"/a/b",
		  .field = POLICY_FIELD_PATHS },
	};
	const struct rootfs planned = { .entries = binds, .count = ARRAY_LENGTH(binds) };
	struct warder_error err = { 0 };
	int fd;

	cr_assert_not_null(mkdtemp(root));
	fd = open(root, O_PATH | O_DIRECTORY);
	cr_assert(mkdirat(fd, "a", 0700) == 0 && mkdirat(fd, "a/b", 0700) == 0 &&
		  mkdirat(fd, "a/c", 0700) == 0);
	for (size_t i = 1; i < ARRAY_LENGTH(binds); i++) {
		struct stat st = look_at(fd, binds[i].target + 1);

		binds[i].source_dev = st.st_dev;
		binds[i].source_ino = st.st_ino;
	}
	cr_expect_eq(mounts_compare(fd, &planned, &err), 2, "%s", err.text);

	cr_assert_eq(renameat2(fd, "a/b", fd, "a/c", 2 /* RENAME_EXCHANGE */), 0);
	cr_expect_eq(mounts_compare(fd, &planned, &err), -1, "another directory");
	cr_expect(strstr(err.text, "at /a/b than /a/b"), "%s", err.text);
	cr_expect_str_eq(err.field, "filesystem.paths");

	cr_assert(unlinkat(fd, "a/b", AT_REMOVEDIR) == 0 && symlinkat("c", fd, "a/b") == 0);
	cr_expect_eq(mounts_compare(fd, &planned, &err), -1, "a link to the right one");

	cr_assert_eq(unlinkat(fd, "a/b", 0), 0);
	cr_expect_eq(mounts_compare(fd, &planned, &err), -1, "nothing");
	cr_expect(err.sys_errno == ENOENT && strstr(err.text, "/a/b"), "%s", err.text);

	binds[1].source_dev++;
	cr_expect_eq(mounts_compare(fd, &planned, &err), -1, "another file system");
	cr_expect_str_eq(err.field, "filesystem.view");
	unlinkat(fd, "a/c", AT_REMOVEDIR);
	unlinkat(fd, "a", AT_REMOVEDIR);
	close(fd);
	rmdir(root);
}

/* ---- overlays ---- */

#define MADE "rw,lowerdir=/dev/shm/l0.1:/dev/shm/l0.0,upperdir=/dev/shm/o0/upper,workdir=/dev/shm/o0/work"

static struct rootfs_layer two_layers[2];
static struct rootfs_entry parts[] = {
	{ .kind = ROOTFS_OVERLAY, .target = (char *)"/etc", .source = (char *)"/etc" },
	{ .kind = ROOTFS_BIND, .target = (char *)"/srv/a b", .source = (char *)"/srv/a b" },
	{ .kind = ROOTFS_BIND, .target = (char *)"/srv/no", .source = (char *)"/srv/no", .no_exec = true },
	{ .kind = ROOTFS_OVERLAY, .target = (char *)"/usr", .source = (char *)"/usr" },
	{ .kind = ROOTFS_BIND, .target = (char *)"/usr/share", .read_only = true, .no_exec = true },
};
static const struct rootfs with_overlay = { .entries = parts,
					    .count = ARRAY_LENGTH(parts),
					    .overlays = { { .layers = two_layers, .layer_count = 2 } },
					    .terminals = 4,
					    .overlay_count = 1 };

/* The table with these two lines in the place of /usr and what came with it. Heap. */
static char *with_parts(const char *etc, const char *usr)
{
	char *text = NULL;

	cr_assert_geq(asprintf(&text, "%s%s%s", etc, usr, strchr(strchr(table, '\n') + 1, '\n') + 1), 0);
	return text;
}

Test(mounts, the_parts_of_an_overlay, .timeout = 20)
{
	static const char etc[] =
	    "41 69 0:60 /etc /etc rw,nosuid,nodev,relatime - overlay overlay " MADE ",index=off\n";
	static const char usr[] =
	    "42 69 0:60 /usr /usr rw,nosuid,nodev,relatime - overlay overlay " MADE "\n";
	static const struct {
		const char *label, *etc, *usr, *said;
	} rows[] = {
		{ "as planned", etc, usr, NULL },
		{ "a part is missing", etc, "", "plan's mount at /usr" },
		{ "another place of it", etc,
		  "42 69 0:60 /etc /usr rw,nosuid,nodev - overlay overlay " MADE "\n",
		  "/usr that the plan does not have: not the overlay's part" },
		{ "another overlay", etc, "42 69 0:61 /usr /usr rw,nosuid,nodev - overlay overlay " MADE "\n",
		  "not the overlay's part" },
		{ "no overlay", etc, "42 69 0:60 /usr /usr rw,nosuid,nodev - tmpfs overlay " MADE "\n",
		  "not the overlay's part" },
		{ "set-user-ID", etc, "42 69 0:60 /usr /usr rw,nodev - overlay overlay " MADE "\n",
		  "/usr mounted with" },
		{ "more layers", etc,
		  "42 69 0:60 /usr /usr rw,nosuid,nodev - overlay overlay "
		  "rw,lowerdir=/dev/shm/l0.2:/dev/shm/l0.1:"
		  "/dev/shm/l0.0,upperdir=/dev/shm/o0/upper,workdir=/dev/shm/o0/work\n",
		  "not the overlay's part" },
		{ "another work directory", etc,
		  "42 69 0:60 /usr /usr rw,nosuid,nodev - overlay overlay " MADE "2\n",
		  "not the overlay's part" },
		{ "half copied files", etc,
		  "42 69 0:60 /usr /usr rw,nosuid,nodev - overlay overlay " MADE ",metacopy=on\n",
		  "not the overlay's part" },
		{ "a bind in its place", etc, "42 69 254:0 /usr /usr ro,nosuid,nodev - ext4 /dev/vda rw\n",
		  "not the overlay's part" },
		{ "a mount beneath a part", etc,
		  "42 69 0:60 /usr /usr rw,nosuid,nodev - overlay overlay " MADE "\n"
		  "43 42 254:0 /x /usr/lib ro,nosuid,nodev - ext4 /dev/vda rw\n",
		  "mount at /usr/lib" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		char *text = with_parts(rows[i].etc, rows[i].usr);
		struct warder_error err = { 0 };
		int count = mounts_check(text, &with_overlay, &err);

		cr_expect(rows[i].said ? count == -1 && strstr(err.text, rows[i].said) : count == TABLE_LINES,
			  "%s: %d \"%s\"", rows[i].label, count, err.text);
		free(text);
	}
}

/* What the kernel says of a mount, not what was asked of it. */
Test(mounts, owners, .timeout = 20)
{
	static struct rootfs_entry paths[] = {
		{ .kind = ROOTFS_BIND,
		  .target = (char *)"/srv/a b",
		  .read_only = true,
		  .field = POLICY_FIELD_PATHS },
		{ .kind = ROOTFS_BIND,
		  .target = (char *)"/srv/no",
		  .read_only = true,
		  .field = POLICY_FIELD_PATHS },
		{ .kind = ROOTFS_BIND,
		  .target = (char *)"/usr",
		  .read_only = true,
		  .field = POLICY_FIELD_NONE },
	};
	const struct rootfs shown = { .entries = paths, .count = ARRAY_LENGTH(paths) };
	char *text = changed("/srv/no rw,nosuid,nodev,noexec,relatime -",
			     "/srv/no ro,nosuid,nodev,relatime,idmapped -");
	struct mounts_owners found;

	mounts_count_owners(table, &shown, POLICY_FIELD_PATHS, true, &found);
	cr_expect(found.mapped == 0 && found.unmapped == 2);
	mounts_count_owners(text, &shown, POLICY_FIELD_PATHS, true, &found);
	cr_expect(found.mapped == 1 && found.unmapped == 1);
	mounts_count_owners(text, &shown, POLICY_FIELD_PATHS, false, &found);
	cr_expect(found.mapped == 0 && found.unmapped == 0);
	free(text);
}
