/* Directories of Warder's own, and files in them (rootfs/private_dir.c, store/store.c). */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "rootfs/rootfs.h"
#include "store/store.h"

struct place {
	char path[ROOTFS_PRIVATE_DIR_MAX];
	int fd;
};

static void place_init(struct place *place)
{
	struct warder_error err;
	char name[] = "/tmp/warder-store-XXXXXX";

	cr_assert(mkdtemp(name));
	place->fd = store_open(name, "things", place->path, &err);
	cr_assert_geq(place->fd, 0, "%s", err.text);
}

static void place_done(struct place *place)
{
	char *slash = strrchr(place->path, '/');
	int tmp = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);

	close(place->fd);
	*slash = '\0';
	cr_assert_eq(rootfs_remove_tree(tmp, strrchr(place->path, '/') + 1), 0, "%s", strerror(errno));
	close(tmp);
}

Test(store, is_found_by_name_and_by_environment, .timeout = 30)
{
	static const struct {
		const char *named, *variable, *data, *home, *part, *wanted;
	} rows[] = {
		{ "/a/b", "/v", "/d", "/h", "images", "/a/b/images" },
		{ NULL, "/v", "/d", "/h", "images", "/v/images" },
		{ NULL, "/v", "/d", "/h", "", "/v" },
		{ "a", "/v", "/d", "/h", "images", NULL },
		{ NULL, "v", "/d", "/h", "images", NULL },
	};
	char path[ROOTFS_PRIVATE_DIR_MAX];
	struct warder_error err;

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		setenv("WARDER_STORE", rows[i].variable, 1);
		if (!rows[i].wanted) {
			cr_expect_eq(rootfs_store_path(rows[i].named, rows[i].part, path, &err), -1,
				     "row %zu", i);
			cr_expect(strstr(err.text, "not an absolute path"), "row %zu: %s", i, err.text);
			continue;
		}
		cr_expect_eq(rootfs_store_path(rows[i].named, rows[i].part, path, &err), 0, "row %zu", i);
		cr_expect_str_eq(path, rows[i].wanted, "row %zu: %s", i, path);
	}
}

Test(store, is_below_the_users_own_data, .timeout = 30)
{
	char path[ROOTFS_PRIVATE_DIR_MAX];
	struct warder_error err;

	unsetenv("WARDER_STORE");
	setenv("HOME", "/h", 1);
	setenv("XDG_DATA_HOME", "relative", 1);
	cr_assert_eq(rootfs_store_path(NULL, "images", path, &err), 0);
	cr_expect_str_eq(path, geteuid() == 0 ? "/var/lib/warder/images" : "/h/.local/share/warder/images");
	setenv("XDG_DATA_HOME", "/d", 1);
	cr_assert_eq(rootfs_store_path(NULL, "images", path, &err), 0);
	cr_expect_str_eq(path, geteuid() == 0 ? "/var/lib/warder/images" : "/d/warder/images");
}

Test(store, is_the_callers_alone, .timeout = 30)
{
	struct place place;
	struct stat st;

	place_init(&place);
	cr_assert_eq(fstat(place.fd, &st), 0);
	cr_expect_eq(st.st_mode & 07777, 0700);
	cr_expect_eq(st.st_uid, geteuid());
	place_done(&place);
}

/* Whoever could rename a directory on the way could show Warder another store. */
Test(store, is_refused_where_others_write, .timeout = 30)
{
	char name[] = "/tmp/warder-store-XXXXXX", path[ROOTFS_PRIVATE_DIR_MAX];
	struct warder_error err;
	int fd;

	cr_assert(mkdtemp(name));
	cr_assert_eq(chmod(name, 0777), 0);
	fd = store_open(name, "things", path, &err);
	rmdir(name);
	cr_assert_eq(fd, -1);
	cr_expect(strstr(err.text, "another user may replace it"), "%s", err.text);
}

Test(store, a_tree_goes_whatever_its_modes_are, .timeout = 30)
{
	struct place place;
	struct stat st;
	int outside;

	place_init(&place);
	outside = openat(place.fd, "outside", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	cr_assert_eq(write(outside, "kept", 4), 4);
	close(outside);
	cr_assert_eq(mkdirat(place.fd, "tree", 0700), 0);
	cr_assert_eq(mkdirat(place.fd, "tree/closed", 0700), 0);
	cr_assert_eq(mkdirat(place.fd, "tree/closed/inner", 0700), 0);
	cr_assert_eq(symlinkat("../../outside", place.fd, "tree/closed/link"), 0);
	cr_assert_eq(symlinkat("..", place.fd, "tree/closed/up"), 0);
	cr_assert_eq(fchmodat(place.fd, "tree/closed/inner", 0, 0), 0);
	cr_assert_eq(fchmodat(place.fd, "tree/closed", 0500, 0), 0);
	cr_expect_eq(rootfs_remove_tree(place.fd, "tree"), 0, "%s", strerror(errno));
	cr_expect_neq(fstatat(place.fd, "tree", &st, AT_SYMLINK_NOFOLLOW), 0);
	cr_expect_eq(fstatat(place.fd, "outside", &st, AT_SYMLINK_NOFOLLOW), 0);
	cr_expect_eq(st.st_size, 4);
	cr_expect_eq(rootfs_remove_tree(place.fd, "missing"), -1);
	cr_expect_eq(errno, ENOENT);
	place_done(&place);
}

Test(store, a_file_is_replaced_as_a_whole, .timeout = 30)
{
	struct place place;
	struct warder_error err;
	char text[16] = "";
	struct stat st;
	int before, after;

	place_init(&place);
	cr_assert_eq(store_replace(place.fd, "file", "first", 5, 0600, &err), 0, "%s", err.text);
	before = openat(place.fd, "file", O_RDONLY | O_CLOEXEC);
	cr_assert_eq(store_replace(place.fd, "file", "second", 6, 0644, &err), 0, "%s", err.text);
	after = openat(place.fd, "file", O_RDONLY | O_CLOEXEC);
	cr_expect_eq(read(before, text, sizeof(text)), 5);
	cr_expect_eq(memcmp(text, "first", 5), 0);
	cr_expect_eq(read(after, text, sizeof(text)), 6);
	cr_expect_eq(memcmp(text, "second", 6), 0);
	cr_expect_eq(fstat(after, &st), 0);
	cr_expect_eq(st.st_mode & 07777, 0644);
	close(before);
	close(after);
	cr_assert_eq(mkdirat(place.fd, "directory", 0700), 0);
	cr_expect_eq(store_replace(place.fd, "directory", "x", 1, 0600, &err), -1);
	cr_expect_str_eq(err.field, "directory");
	cr_expect_eq(unlinkat(place.fd, "file", 0), 0);
	cr_expect_eq(unlinkat(place.fd, "directory", AT_REMOVEDIR), 0);
	*strrchr(place.path, '/') = '\0';
	/* Nothing unfinished is left: only the empty directory is there to be removed. */
	cr_expect_eq(unlinkat(AT_FDCWD, place.path, AT_REMOVEDIR), -1);
	strcat(place.path, "/things");
	cr_expect_eq(rmdir(place.path), 0, "%s", strerror(errno));
	*strrchr(place.path, '/') = '\0';
	cr_expect_eq(rmdir(place.path), 0);
	close(place.fd);
}

/* A directory of somebody's, which others use, is not closed to them. */
Test(store, takes_no_directory_from_others, .timeout = 30)
{
	char name[] = "/tmp/warder-store-XXXXXX", path[ROOTFS_PRIVATE_DIR_MAX], inner[64];
	struct warder_error err;
	struct stat st;
	int fd;

	cr_assert(mkdtemp(name));
	snprintf(inner, sizeof(inner), "%s/things", name);
	cr_assert_eq(mkdir(inner, 0700), 0);
	cr_assert_eq(chmod(inner, 0755), 0);
	strcpy(path, inner);
	cr_expect_eq(rootfs_find_private_dir(path, "store", &err), -1);
	cr_expect(strstr(err.text, "has mode 0755"), "%s", err.text);
	fd = store_open(name, "things", path, &err);
	cr_expect_geq(fd, 0, "an empty one is taken: %s", err.text);
	close(fd);
	strcat(inner, "/kept");
	cr_assert_eq(mkdir(inner, 0700), 0);
	*strrchr(inner, '/') = '\0';
	cr_assert_eq(chmod(inner, 0755), 0);
	fd = store_open(name, "things", path, &err);
	cr_expect_eq(fd, -1);
	cr_expect(stat(inner, &st) == 0 && (st.st_mode & 07777) == 0755);
	strcat(inner, "/kept");
	rmdir(inner);
	*strrchr(inner, '/') = '\0';
	rmdir(inner);
	cr_expect_eq(rmdir(name), 0);
}
