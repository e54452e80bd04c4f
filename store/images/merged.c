#include "store/images/merged.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"
#include "store/images/unpack.h"

#define LINKS_MAX 40 /* as the kernel */
#define TEXT_MAX  ((size_t)1 << 20)

static const char field[] = "image";

int merged_open(struct images *images, const struct image *image, struct merged *ret,
		struct warder_error *err)
{
	ret->count = 0;
	for (size_t i = 0; i < image->layer_count; i++) {
		char path[IMAGE_DIGEST + 8];

		snprintf(path, sizeof(path), "%.64s/tree", image->layers[i].digest);
		ret->tree_fds[i] =
		    openat(images->layers_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (ret->tree_fds[i] < 0) {
			merged_done(ret);
			return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, errno,
					       "layer %.64s cannot be opened", image->layers[i].digest);
		}
		ret->count++;
	}
	return 0;
}

void merged_done(struct merged *merged)
{
	for (size_t i = 0; i < merged->count; i++)
		fd_done(&merged->tree_fds[i]);
	merged->count = 0;
}

static bool is_opaque(int tree_fd, const char *path)
{
	struct warder_error ignored;
	owned_fd int fd = path_open_no_links(tree_fd, path, O_RDONLY | O_DIRECTORY, &ignored);
	char value;

	return fd >= 0 && (fgetxattr(fd, "trusted.overlay.opaque", &value, 1) == 1 ||
			   fgetxattr(fd, "user.overlay.opaque", &value, 1) == 1);
}

/* What a layer has at a path without links; false: nothing. */
static bool look(int tree_fd, const char *path, struct stat *ret)
{
	struct warder_error ignored;
	owned_fd int fd = path_open_no_links(tree_fd, path[0] ? path : ".", O_PATH | O_NOFOLLOW, &ignored);
	char parent[PATH_MAX];
	const char *slash = strrchr(path, '/');

	if (fd >= 0)
		return fstat(fd, ret) == 0;
	/* A link as the last component is refused above. */
	snprintf(parent, sizeof(parent), "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
	fd = path_open_no_links(tree_fd, parent, O_PATH | O_DIRECTORY, &ignored);
	return fd >= 0 && fstatat(fd, slash ? slash + 1 : path, ret, AT_SYMLINK_NOFOLLOW) == 0;
}

/*
 * What is seen at a path whose parent is a directory made of the layers from *bottom up. Of a directory *bottom becomes the lowest layer
 * that it has a part in.
 */
static bool see(const struct merged *merged, const char *path, size_t *bottom, struct merged_entry *ret)
{
	const size_t lowest = *bottom;
	bool found = false;

	for (size_t i = merged->count; i-- > lowest;) {
		struct stat st;

		if (!look(merged->tree_fds[i], path, &st))
			continue;
		if (S_ISCHR(st.st_mode) && st.st_rdev == makedev(0, 0))
			break;
		if (found && !S_ISDIR(st.st_mode))
			break;
		if (!found) {
			ret->st = st;
			ret->layer = i;
			found = true;
		}
		*bottom = i;
		if (!S_ISDIR(st.st_mode) || is_opaque(merged->tree_fds[i], path))
			break;
	}
	return found;
}

static int too_long(struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, field, "a path in the image is too long");
}

/* Text of the link that was seen; -1. */
static ssize_t read_link(const struct merged *merged, const struct merged_entry *entry, const char *path,
			 char target[static PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	struct warder_error ignored;
	char parent[PATH_MAX];
	owned_fd int fd = -1;
	ssize_t len;

	snprintf(parent, sizeof(parent), "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
	fd = path_open_no_links(merged->tree_fds[entry->layer], parent, O_PATH | O_DIRECTORY, &ignored);
	len = fd >= 0 ? readlinkat(fd, slash ? slash + 1 : path, target, PATH_MAX - 1) : -1;
	if (len >= 0)
		target[len] = '\0';
	return len;
}

/* Take the last component of a plain path away. */
static void go_up(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash)
		*slash = '\0';
	else
		path[0] = '\0';
}

/* Add what is left when nothing is there any more: by the text. */
static int add_rest(char *path, const char *rest)
{
	size_t len = strlen(path);

	for (size_t n; *rest; rest += n + (rest[n] == '/')) {
		n = strcspn(rest, "/");
		if (n == 0 || (n == 1 && rest[0] == '.'))
			continue;
		if (n == 2 && rest[0] == '.' && rest[1] == '.') {
			go_up(path);
			len = strlen(path);
			continue;
		}
		if (len + n + 2 > PATH_MAX)
			return -1;
		len += (size_t)sprintf(path + len, "%s%.*s", len ? "/" : "", (int)n, rest);
	}
	return 0;
}

/* One walk from the root. 0: *ret is it; 1: `again` is the path to walk instead; -1. */
static int walk(const struct merged *merged, const char *path, struct merged_entry *ret,
		char again[static PATH_MAX])
{
	char at[PATH_MAX] = "", target[PATH_MAX];
	size_t bottom = 0;

	ret->exists = see(merged, "", &bottom, ret);
	for (size_t n; *path; path += n + (path[n] == '/')) {
		size_t len = strlen(at);
		const char *rest;

		n = strcspn(path, "/");
		rest = path + n;
		if (n == 0 || (n == 1 && path[0] == '.'))
			continue;
		if (n == 2 && path[0] == '.' && path[1] == '.') {
			go_up(at);
			return snprintf(again, PATH_MAX, "%s%s", at, rest) < PATH_MAX ? 1 : -1;
		}
		if (len + n + 2 > PATH_MAX)
			return -1;
		sprintf(at + len, "%s%.*s", len ? "/" : "", (int)n, path);
		ret->exists = (!ret->exists || S_ISDIR(ret->st.st_mode)) && see(merged, at, &bottom, ret);
		if (!ret->exists) {
			strcpy(ret->path, at);
			return add_rest(ret->path, rest);
		}
		if (!S_ISLNK(ret->st.st_mode))
			continue;
		if (read_link(merged, ret, at, target) < 0)
			return -1;
		go_up(at);
		if (target[0] == '/')
			at[0] = '\0';
		return snprintf(again, PATH_MAX, "%s/%s%s", at, target, rest) < PATH_MAX ? 1 : -1;
	}
	strcpy(ret->path, at);
	return 0;
}

int merged_find(const struct merged *merged, const char *path, struct merged_entry *ret,
		struct warder_error *err)
{
	char now[PATH_MAX], again[PATH_MAX];
	int walked = 1;

	if (strlen(path) >= sizeof(now))
		return too_long(err);
	strcpy(now, path);
	for (int i = 0; i < LINKS_MAX && walked == 1; i++) {
		walked = walk(merged, now, ret, again);
		if (walked == 1)
			strcpy(now, again);
	}
	if (walked < 0)
		return too_long(err);
	return walked == 0 ? 0
			   : error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
				       "%.200s leads through too many links in the image", path);
}

char *merged_read(const struct merged *merged, const char *path)
{
	struct merged_entry entry;
	struct warder_error ignored;
	owned_fd int fd = -1;
	char *text;
	ssize_t n = 1;
	size_t len = 0;

	if (merged_find(merged, path, &entry, &ignored) != 0 || !entry.exists || !S_ISREG(entry.st.st_mode))
		return NULL;
	fd = path_open_no_links(merged->tree_fds[entry.layer], entry.path, O_RDONLY | O_NONBLOCK, &ignored);
	text = fd >= 0 ? malloc(TEXT_MAX + 1) : NULL;
	while (text && n > 0 && len < TEXT_MAX) {
		n = read(fd, text + len, TEXT_MAX - len);
		len += n > 0 ? (size_t)n : 0;
	}
	if (text)
		text[len] = '\0';
	return text;
}

/* ---- users ---- */

/* The nth field of the line of a name in passwd or group, as a number; -1: there is none. */
static long lookup(const char *text, const char *name, size_t name_len, int number)
{
	for (const char *line = text; line && *line;
	     line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		const char *at = line;

		if (strncmp(line, name, name_len) != 0 || line[name_len] != ':')
			continue;
		for (int i = 0; i < number; i++) {
			at += strcspn(at, ":\n");
			if (*at != ':')
				return -1;
			at++;
		}
		return strtol(at, NULL, 10);
	}
	return -1;
}

/* A number, or a name in a file of the image. */
static int one_id(const struct merged *merged, const char *text, size_t len, const char *file, long *ret,
		  struct warder_error *err)
{
	char *content;

	if (len && strspn(text, "0123456789") >= len) {
		*ret = len < 10 ? strtol(text, NULL, 10) : -1;
	} else {
		content = merged_read(merged, file);
		*ret = content ? lookup(content, text, len, 2) : -1;
		free(content);
	}
	if (*ret >= 0 && *ret <= UNPACK_ID_MAX)
		return 0;
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
			 "%.*s is not in the image's /%s, and no number up to 65535",
			 (int)(len < 80 ? len : 80), text, file);
}

int merged_ids(const struct merged *merged, const char *text, uid_t *ret_uid, gid_t *ret_gid,
	       struct warder_error *err)
{
	const size_t user = strcspn(text, ":");
	long uid = 0, gid = 0;
	char *passwd;

	if (user && one_id(merged, text, user, "etc/passwd", &uid, err) != 0)
		return -1;
	if (text[user] == ':') {
		if (one_id(merged, text + user + 1, strlen(text + user + 1), "etc/group", &gid, err) != 0)
			return -1;
	} else if (strspn(text, "0123456789") < user) { /* a name has a group */
		passwd = merged_read(merged, "etc/passwd");
		gid = passwd ? lookup(passwd, text, user, 3) : 0;
		free(passwd);
	} else {
		gid = uid;
	}
	*ret_uid = (uid_t)uid;
	*ret_gid = (gid_t)(gid >= 0 && gid <= UNPACK_ID_MAX ? gid : 0);
	return 0;
}
