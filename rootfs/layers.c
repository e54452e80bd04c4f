/*
 * Every component is opened relative to the one before it, without following links, in each layer by itself. A path of n components
 * costs n times the number of layers; both are bounded (PATH_MAX, IMAGE_LAYERS_MAX).
 */
#include "rootfs/layers.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fd.h"

#define LINKS_MAX 40

bool layers_is_whiteout(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(0, 0);
}

bool layers_is_opaque(int dir_fd, bool user_xattrs)
{
	const char *name = user_xattrs ? "user.overlay.opaque" : "trusted.overlay.opaque";
	char value[2];

	return fgetxattr(dir_fd, name, value, sizeof(value)) == 1 && value[0] == 'y';
}

/* What one layer says of a path. */
enum said {
	SAID_NOTHING, /* ask the next one */
	SAID_HIDDEN,  /* nor has any below it */
	SAID_FOUND,
	SAID_FAILED,
};

/* One component of the way: *dir_fd becomes the directory of that name. */
static enum said enter(int *dir_fd, const char *name, bool user_xattrs, bool *opaque)
{
	owned_fd int fd = openat(*dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return SAID_NOTHING;
	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP) &&
	    fstatat(*dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		errno = layers_is_whiteout(&st) ? ENOENT : ENOTDIR;
		return SAID_HIDDEN;
	}
	if (fd < 0)
		return SAID_FAILED;
	*opaque |= layers_is_opaque(fd, user_xattrs);
	fd_done(dir_fd);
	*dir_fd = fd_take(&fd);
	return SAID_FOUND;
}

static enum said look(int dir_fd, const char *name, struct stat *ret_stat)
{
	if (fstatat(dir_fd, *name ? name : ".", ret_stat, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? SAID_NOTHING : SAID_FAILED;
	if (!layers_is_whiteout(ret_stat))
		return SAID_FOUND;
	errno = ENOENT;
	return SAID_HIDDEN;
}

static enum said ask(int layer_fd, bool user_xattrs, const char *path, struct stat *ret_stat)
{
	owned_fd int dir_fd = openat(layer_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool opaque = dir_fd >= 0 && layers_is_opaque(dir_fd, user_xattrs);
	enum said said = dir_fd < 0 ? SAID_FAILED : SAID_FOUND;
	char name[NAME_MAX + 1];
	const char *slash;

	while (said == SAID_FOUND && (slash = strchr(path, '/')) != NULL) {
		if ((size_t)(slash - path) > NAME_MAX) {
			errno = ENAMETOOLONG;
			return SAID_FAILED;
		}
		snprintf(name, sizeof(name), "%.*s", (int)(slash - path), path);
		said = enter(&dir_fd, name, user_xattrs, &opaque);
		path = slash + 1;
	}
	if (said == SAID_FOUND)
		said = look(dir_fd, path, ret_stat);
	if (said == SAID_NOTHING && opaque) {
		errno = ENOENT;
		said = SAID_HIDDEN;
	}
	return said;
}

int layers_lookup(const struct layers *layers, const char *path, struct stat *ret_stat, size_t *ret_layer)
{
	for (size_t i = layers->count; i-- > 0;) {
		switch (ask(layers->fds[i], layers->user_xattrs, path, ret_stat)) {
		case SAID_FOUND:
			*ret_layer = i;
			return 0;
		case SAID_HIDDEN:
		case SAID_FAILED:
			return -1;
		case SAID_NOTHING:
			break;
		}
	}
	errno = ENOENT;
	return -1;
}

int layers_read_link(const struct layers *layers, size_t layer, const char *path, char *ret, size_t size)
{
	owned_fd int dir_fd = openat(layers->fds[layer], ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char name[NAME_MAX + 1];
	const char *slash;
	bool ignored = false;
	ssize_t len;

	while (dir_fd >= 0 && (slash = strchr(path, '/')) != NULL) {
		snprintf(name, sizeof(name), "%.*s", (int)(slash - path), path);
		if (enter(&dir_fd, name, false, &ignored) != SAID_FOUND)
			return -1;
		path = slash + 1;
	}
	len = dir_fd < 0 ? -1 : readlinkat(dir_fd, path, ret, size);
	if (len < 0 || (size_t)len == size) {
		errno = len < 0 ? errno : ENAMETOOLONG;
		return -1;
	}
	ret[len] = '\0';
	return 0;
}

/* The way so far, without links, and what is still to go. */
struct way {
	char done[PATH_MAX];
	char rest[PATH_MAX];
};

/* Cut the first component off the rest; false when there is none. */
static bool next_component(struct way *way, char name[NAME_MAX + 1])
{
	const char *at = way->rest + strspn(way->rest, "/");
	size_t len = strcspn(at, "/");

	if (len == 0 || len > NAME_MAX)
		return false;
	memcpy(name, at, len);
	name[len] = '\0';
	memmove(way->rest, at + len, strlen(at + len) + 1);
	return true;
}

static int join(char *path, const char *name)
{
	size_t len = strlen(path);

	if (strcmp(name, ".") == 0)
		return 0;
	if (strcmp(name, "..") == 0) {
		char *slash = strrchr(path, '/');

		*(slash ? slash : path) = '\0';
		return 0;
	}
	if (len + strlen(name) + 2 > PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	snprintf(path + len, PATH_MAX - len, "%s%s", len ? "/" : "", name);
	return 0;
}

/* The last component of the way done is a link: its text goes before the rest. */
static int follow(struct way *way, const struct layers *layers, size_t layer)
{
	char text[PATH_MAX];
	char rest[PATH_MAX];

	if (layers_read_link(layers, layer, way->done, text, sizeof(text)) != 0)
		return -1;
	if ((size_t)snprintf(rest, sizeof(rest), "%s/%s", text, way->rest) >= sizeof(rest)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(way->rest, rest, sizeof(rest));
	if (text[0] == '/')
		way->done[0] = '\0';
	else
		join(way->done, "..");
	return 0;
}

int layers_find(const struct layers *layers, const char *path, struct stat *ret_stat, size_t *ret_layer)
{
	char name[NAME_MAX + 1];
	struct way way = { .done = "" };
	int links = 0;

	if ((size_t)snprintf(way.rest, sizeof(way.rest), "%s", path) >= sizeof(way.rest)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (layers_lookup(layers, "", ret_stat, ret_layer) != 0)
		return -1;
	while (next_component(&way, name)) {
		if (join(way.done, name) != 0 || layers_lookup(layers, way.done, ret_stat, ret_layer) != 0)
			return -1;
		if (!S_ISLNK(ret_stat->st_mode))
			continue;
		if (++links > LINKS_MAX) {
			errno = ELOOP;
			return -1;
		}
		if (follow(&way, layers, *ret_layer) != 0)
			return -1;
	}
	/* What the last link led to may be the root itself. */
	return layers_lookup(layers, way.done, ret_stat, ret_layer);
}

void layers_close(struct layers *layers)
{
	while (layers->count)
		fd_done(&layers->fds[--layers->count]);
}
