/* jail/contained: the mount table of somebody else's container against a plan. */
#include "base/array.h"
#include "jail/contained.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mountinfo.h"
#include "base/path.h"
#include "jail/jail.h"
#include "jail/overlay.h"

#define DIRECTORIES "lowerdir=/dev/shm/l0.0,upperdir=/dev/shm/o0/upper,workdir=/dev/shm/o0/work"

/* Of a container by crun. */
static const char table[] =
    "41 40 0:50 /root / ro,nosuid,nodev,relatime - tmpfs warder rw,size=4096k\n"
    "42 41 0:51 / /proc ro,nosuid,nodev,noexec,relatime - proc proc rw,hidepid=invisible\n"
    "43 41 0:52 / /dev rw,nosuid,noexec - tmpfs tmpfs rw,size=64k\n"
    "44 43 0:53 / /dev/pts rw,nosuid,noexec,relatime - devpts devpts rw,mode=620,max=4\n"
    "45 43 0:54 /shm /dev/shm rw,nosuid,nodev,noexec,relatime - tmpfs scratch rw,size=65536k\n"
    "46 41 0:54 /tmp /tmp rw,nosuid,nodev,noexec,relatime - tmpfs scratch rw,size=65536k\n"
    "47 41 254:0 /usr /usr ro,nosuid,nodev,relatime - ext4 /dev/vda rw\n"
    "48 47 254:1 / /usr/src ro,nosuid,nodev,relatime - ext4 /dev/vdb rw\n"
    "49 41 254:0 /srv/no /srv/no rw,nosuid,nodev,noexec,relatime - ext4 /dev/vda rw\n"
    "50 41 0:60 / /workspace rw,nosuid,nodev,relatime - overlay overlay rw," DIRECTORIES ",index=off\n"
    "51 43 0:5 /null /dev/null ro,nosuid,noexec,relatime - devtmpfs devtmpfs rw\n"
    "52 42 0:5 /null /proc/keys ro,nosuid,noexec,relatime - devtmpfs devtmpfs rw\n"
    "53 42 0:55 / /proc/acpi ro,nosuid,noexec,relatime - tmpfs tmpfs rw\n"
    "54 42 0:51 /sys /proc/sys ro,nosuid,noexec,relatime - proc proc rw\n";
#define TABLE_LINES 14

static const char own[] = "20 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
			  "21 20 254:1 / /usr/src rw,relatime - ext4 /dev/vdb rw\n"
			  "22 20 0:99 / /usr/local rw,relatime - tmpfs other rw\n";

static struct rootfs_entry entries[] = {
	{ .kind = ROOTFS_DIRECTORY, .target = (char *)"/proc" },
	{ .kind = ROOTFS_BIND, .target = (char *)"/srv/no", .source = (char *)"/srv/no", .no_exec = true },
	{ .kind = ROOTFS_BIND, .target = (char *)"/usr", .source = (char *)"/usr", .read_only = true },
	{ .kind = ROOTFS_OVERLAY, .target = (char *)"/workspace", .source = (char *)"/" },
};
static struct rootfs_layer layer = { .source = (char *)"/srv/job" };
static const struct rootfs rootfs = {
	.entries = entries,
	.count = ARRAY_LENGTH(entries),
	.terminals = 4,
	.overlays = { { .layers = &layer, .layer_count = 1 } },
	.overlay_count = 1,
};

/* `from` in the table becomes `to`; an empty `from` puts `to` at the end. Heap. */
static char *changed(const char *from, const char *to)
{
	const char *at = *from ? strstr(table, from) : table + strlen(table);
	char *text = NULL;

	cr_assert(at, "%s", from);
	cr_assert_geq(asprintf(&text, "%.*s%s%s", (int)(at - table), table, to, at + strlen(from)), 0);
	return text;
}

Test(contained, as_planned, .timeout = 20)
{
	struct warder_error err = { 0 };

	cr_expect_eq(contained_check_mounts(table, own, &rootfs, NULL, &err), TABLE_LINES, "%s", err.text);
}

Test(contained, without_terminals, .timeout = 20)
{
	struct rootfs none = rootfs;
	char *text = changed(
	    "44 43 0:53 / /dev/pts rw,nosuid,noexec,relatime - devpts devpts rw,mode=620,max=4\n", "");
	struct warder_error err = { 0 };

	none.terminals = 0;
	cr_expect_eq(contained_check_mounts(text, own, &none, NULL, &err), TABLE_LINES - 1, "%s", err.text);
	cr_expect_eq(contained_check_mounts(table, own, &none, NULL, &err), -1);
	cr_expect_str_eq(err.field, "devices.terminals");
	free(text);
}

Test(contained, what_may_differ, .timeout = 20)
{
	static const struct {
		const char *row, *from, *to;
	} rows[] = {
		{ "stricter flags of a bind", "/srv/no rw,nosuid,nodev,noexec",
		  "/srv/no ro,nosuid,nodev,noexec" },
		{ "another node", "", "60 43 0:5 /zero /dev/zero ro,nosuid,noexec - devtmpfs devtmpfs rw\n" },
		{ "another mask", "", "60 42 0:55 / /proc/scsi ro,nosuid,noexec - tmpfs tmpfs rw\n" },
	};
	struct warder_error err;

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		char *text = changed(rows[i].from, rows[i].to);

		cr_expect_gt(contained_check_mounts(text, own, &rootfs, NULL, &err), 0, "%s: %s", rows[i].row,
			     err.text);
		free(text);
	}
}

/* Files with the authority of a run, which only a run that has them may show, and not to write. */
Test(contained, authorities, .timeout = 20)
{
	static char bytes[] = "authority";
	static const struct trust none, pem = { .files = { [TRUST_PEM] = { bytes, 9 } } },
					java = { .files = { [TRUST_JAVA] = { bytes, 9 } } };
	static const char *const flags[] = { "ro,nosuid,nodev", "rw,nosuid,nodev", "ro,nodev", "ro,nosuid" };
	static const struct {
		const char *path;
		const struct trust *good, *bad;
	} rows[] = {
		{ "/etc/ssl/certs/ca-certificates.crt", &pem, &java },
		{ "/etc/ssl/certs/java/cacerts", &java, &pem },
	};
	struct warder_error err;

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		for (size_t j = 0; j < ARRAY_LENGTH(flags); j++) {
			char line[200];
			char *text;

			snprintf(line, sizeof(line), "60 42 0:55 /file %s %s - tmpfs tmpfs rw\n",
				 rows[i].path, flags[j]);
			text = changed("", line);
			cr_expect_eq(contained_check_mounts(text, own, &rootfs, rows[i].good, &err) > 0,
				     j == 0, "%s %s", rows[i].path, flags[j]);
			cr_expect_eq(contained_check_mounts(text, own, &rootfs, rows[i].bad, &err), -1);
			cr_expect_eq(contained_check_mounts(text, own, &rootfs, &none, &err), -1);
			cr_expect_eq(contained_check_mounts(text, own, &rootfs, NULL, &err), -1);
			free(text);
		}
	}
}

Test(contained, differences, .timeout = 20)
{
	static const struct {
		const char *row, *from, *to, *says;
	} rows[] = {
		{ "root writable", "/ ro,nosuid,nodev,relatime - tmpfs warder",
		  "/ rw,nosuid,nodev,relatime - tmpfs warder", "\"ro\"" },
		{ "bind writable", "/usr ro,", "/usr rw,", "\"ro\"" },
		{ "/proc writable", "/proc ro,", "/proc rw,", "\"ro\"" },
		{ "bind with setuid", "/usr ro,nosuid,", "/usr ro,", "\"nosuid\"" },
		{ "bind with devices", "/srv/no rw,nosuid,nodev", "/srv/no rw,nosuid", "\"nodev\"" },
		{ "bind to execute", "/srv/no rw,nosuid,nodev,noexec", "/srv/no rw,nosuid,nodev",
		  "\"noexec\"" },
		{ "what came with it writable", "/usr/src ro", "/usr/src rw", "\"ro\"" },
		{ "a mount beneath a bind that the host does not have", "",
		  "60 47 0:98 / /usr/local ro,nosuid,nodev - tmpfs other rw\n", "/usr/local" },
		{ "another object of that file system beneath a bind", "",
		  "60 47 0:99 /etc /usr/local ro,nosuid,nodev - tmpfs other rw\n", "/usr/local" },
		{ "/tmp to execute", "/tmp rw,nosuid,nodev,noexec", "/tmp rw,nosuid,nodev", "\"noexec\"" },
		{ "/tmp of another file system", "46 41 0:54", "46 41 0:59", "two file systems" },
		{ "no tmpfs at /dev", "/dev rw,nosuid,noexec - tmpfs", "/dev rw,nosuid,noexec - ext4",
		  "not of type tmpfs" },
		{ "linked to the host", "/usr ro,nosuid,nodev,relatime -",
		  "/usr ro,nosuid,nodev,relatime master:1 -", "not private" },
		{ "a mount of nobody's", "",
		  "60 41 254:0 /etc /etc ro,nosuid,nodev,noexec - ext4 /dev/vda rw\n", "/etc" },
		{ "a writable part of /proc", "/proc/sys ro", "/proc/sys rw", "/proc/sys" },
		{ "another file system's overlay", "- overlay overlay", "- ext4 overlay", "overlay's part" },
		{ "an overlay of other directories", "l0.0,", "l0.1,", "overlay's part" },
		{ "another part of the overlay", "0:60 / /workspace", "0:60 /x /workspace",
		  "overlay's part" },
		{ "an overlay with devices", "/workspace rw,nosuid,nodev", "/workspace rw,nosuid",
		  "\"nodev\"" },
		{ "a bind twice, and no overlay",
		  "0:60 / /workspace rw,nosuid,nodev,relatime - overlay overlay rw,",
		  "254:0 /srv/no /srv/no rw,nosuid,nodev,noexec,relatime - ext4 /dev/vda rw,",
		  "at /workspace" },
		{ "more terminals than planned", "max=4", "max=64", "max=4" },
		{ "terminals without a limit", ",max=4", "", "max=4" },
		{ "no terminals", "44 43 0:53 / /dev/pts", "44 43 0:53 / /dev/console", "at /dev/pts" },
		{ "a line that is none", "", "something else\n", "cannot be read" },
	};
	struct warder_error err;

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		char *text = changed(rows[i].from, rows[i].to);

		err.text[0] = '\0';
		cr_expect_eq(contained_check_mounts(text, own, &rootfs, NULL, &err), -1, "%s", rows[i].row);
		cr_expect(strstr(err.text, rows[i].says), "%s: %s", rows[i].row, err.text);
		free(text);
	}
}

Test(contained, missing_mounts, .timeout = 20)
{
	struct mountinfo_text rest = { table, strlen(table) };
	struct mountinfo_text line;
	struct warder_error err;
	int missed = 0;

	while (mountinfo_cut(&rest, &line)) {
		const char *end = line.at + line.len + 1;
		char *text = NULL;

		cr_assert_geq(asprintf(&text, "%.*s%s", (int)(line.at - table), table, end), 0);
		missed += contained_check_mounts(text, own, &rootfs, NULL, &err) < 0;
		free(text);
	}
	/* All but what came along, the node and the masks, which contained_check_masks() looks for. */
	cr_expect_eq(missed, TABLE_LINES - 5, "%d", missed);
}

/* ---- masks ---- */

static char place[64];

static void make(const char *path, bool directory)
{
	char full[160];

	snprintf(full, sizeof(full), "%s%s", place, path);
	if (directory) {
		cr_assert_eq(mkdir(full, 0755), 0);
	} else {
		int fd = open(full, O_WRONLY | O_CREAT | O_EXCL, 0644);

		cr_assert_geq(fd, 0);
		close(fd);
	}
}

Test(contained, masks, .timeout = 20)
{
	static const struct {
		const char *row, *text;
		bool fine;
	} rows[] = {
		{ "covered",
		  "53 42 0:55 / /proc/acpi ro - tmpfs tmpfs rw\n54 42 0:51 /sys /proc/sys ro - proc proc "
		  "rw\n",
		  true },
		{ "one is not", "54 42 0:51 /sys /proc/sys ro - proc proc rw\n", false },
		{ "the other is not", "53 42 0:55 / /proc/acpi ro - tmpfs tmpfs rw\n", false },
		{ "one is writable",
		  "53 42 0:55 / /proc/acpi ro - tmpfs tmpfs rw\n54 42 0:51 /sys /proc/sys rw - proc proc "
		  "rw\n",
		  false },
		{ "covered, and once more without",
		  "53 42 0:55 / /proc/acpi ro - tmpfs tmpfs rw\n54 42 0:51 /sys /proc/sys ro - proc proc rw\n"
		  "55 42 0:51 /sys /proc/sys rw - proc proc rw\n",
		  false },
	};
	struct warder_error err;
	int fd;

	snprintf(place, sizeof(place), "/tmp/warder-test-masks-%d", getpid());
	make("", true);
	make("/proc", true);
	make("/proc/acpi", true);
	make("/proc/sys", true);
	fd = open(place, O_PATH | O_DIRECTORY);
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		cr_expect_eq(contained_check_masks(rows[i].text, fd, &err) == 0, rows[i].fine, "%s: %s",
			     rows[i].row, err.text);
	/* Something is in it: it is no mask, whatever lies there. */
	make("/proc/acpi/x", false);
	cr_expect_eq(contained_check_masks(rows[0].text, fd, &err), -1);
	make("/proc/kcore", false);
	cr_expect_eq(contained_check_masks("", fd, &err), -1);
	unlinkat(fd, "proc/kcore", 0);
	unlinkat(fd, "proc/acpi/x", 0);
	unlinkat(fd, "proc/acpi", AT_REMOVEDIR);
	unlinkat(fd, "proc/sys", AT_REMOVEDIR);
	unlinkat(fd, "proc", AT_REMOVEDIR);
	close(fd);
	cr_expect_eq(rmdir(place), 0);
}

Test(contained, list_of_masks, .timeout = 20)
{
	const char *path;
	bool whole;
	size_t count = 0;

	for (; (path = jail_start_masked(count, &whole)); count++)
		cr_expect(path_within("/proc", path) && path[5] == '/', "%s", path);
	cr_expect_gt(count, 20);
}
