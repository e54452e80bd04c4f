/*
 * Both sides are walked at once, a directory of the upper one beside the same directory of the host. Nobody is at work in the upper
 * directory any more; on the host's side everybody may be, so that each of its objects is opened relative to the directory above it,
 * without following a link, and what is there instead of what was expected is a fault or a change.
 *
 * Whether a file of the host was the one that the program saw is told by its change time, which nobody can set: one that lies after
 * the launch is marked, and a commit refuses it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/text.h"
#include "rootfs/layers.h"
#include "rootfs/changes/changes.h"
#include "rootfs/rootfs.h"

#define BUFFER_BYTES 65536

struct reading {
	const struct changes_source *source;
	struct changes *changes;
	size_t room, time_room;
	char path[PATH_MAX]; /* of the directory at hand, "" or "a/b" */
	unsigned char buffer[BUFFER_BYTES], other[BUFFER_BYTES];
};

/* One name in the directory at hand, on both sides. */
struct pair {
	const char *name;
	int upper_dir, lower_dir; /* -1: there is none */
	struct stat upper, lower;
	bool has_lower;
};

static bool fault(struct reading *reading, const char *name, const char *what)
{
	struct changes *changes = reading->changes;

	if (!changes->fault[0])
		snprintf(changes->fault, sizeof(changes->fault), "%.50s%s%.40s: %.60s", reading->path,
			 *reading->path ? "/" : "", name, what);
	return false;
}

static enum change_type type_of(const struct stat *st)
{
	return S_ISREG(st->st_mode)   ? CHANGE_FILE
	       : S_ISDIR(st->st_mode) ? CHANGE_DIRECTORY
	       : S_ISLNK(st->st_mode) ? CHANGE_SYMLINK
				      : CHANGE_OTHER;
}

/* ---- the list ---- */

/* Append; NULL at a limit, which is told. The pointer holds until the next one. */
static struct changes_item *add(struct reading *reading, const struct pair *pair, enum change_kind kind,
				const struct stat *st)
{
	struct changes *changes = reading->changes;
	struct changes_item change = { .kind = kind, .type = type_of(st), .mode = st->st_mode & 07777 };

	if (changes->count == CHANGES_MAX) {
		fault(reading, pair->name, "there are more changes than can be kept");
		return NULL;
	}
	if (changes->count == reading->room) {
		size_t room = reading->room ? reading->room * 2 : 64;
		struct changes_item *items = reallocarray(changes->items, room, sizeof(*items));

		if (!items) {
			fault(reading, pair->name, "no memory");
			return NULL;
		}
		changes->items = items;
		reading->room = room;
	}
	if (change.type == CHANGE_FILE)
		change.size = (uint64_t)st->st_size;
	change.existed = pair->has_lower;
	if (pair->has_lower)
		change.was = (struct change_original){ .inode = pair->lower.st_ino,
						       .size = (uint64_t)pair->lower.st_size,
						       .modified_ns = clock_nanoseconds(&pair->lower.st_mtim),
						       .changed_ns = clock_nanoseconds(&pair->lower.st_ctim),
						       .mode = pair->lower.st_mode };
	change.was.moved = pair->has_lower && !S_ISDIR(pair->lower.st_mode) &&
			   change.was.changed_ns >= reading->source->started_ns;
	if (asprintf(&change.path, "%s%s%s", reading->path, *reading->path ? "/" : "", pair->name) < 0) {
		fault(reading, pair->name, "no memory");
		return NULL;
	}
	changes->items[changes->count] = change;
	return &changes->items[changes->count++];
}

/* `lower` is the directory that the host has there, or NULL. One that changed there while the run went on has no time that is true. */
static bool add_time(struct reading *reading, const char *path, const struct stat *upper,
		     const struct stat *lower)
{
	struct changes *changes = reading->changes;
	struct changes_time time = { .modified_ns = clock_nanoseconds(&upper->st_mtim), .existed = lower };

	if (lower && clock_nanoseconds(&lower->st_ctim) >= reading->source->started_ns)
		return true;
	if (lower)
		time.was_ns = clock_nanoseconds(&lower->st_mtim);
	if (changes->time_count == reading->time_room) {
		size_t room = reading->time_room ? reading->time_room * 2 : 64;
		struct changes_time *times = reallocarray(changes->times, room, sizeof(*times));

		if (!times)
			return fault(reading, "", "no memory");
		changes->times = times;
		reading->time_room = room;
	}
	time.path = strdup(path);
	if (!time.path)
		return fault(reading, "", "no memory");
	changes->times[changes->time_count++] = time;
	return true;
}

/* ---- directories ---- */

struct names {
	char **items;
	size_t count;
};

static void names_done(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->items[i]);
	free(names->items);
}

#define owned_names __attribute__((cleanup(names_done)))

static bool list_names(struct reading *reading, int dir_fd, struct names *ret)
{
	owned_fd int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *item;
	bool good = true;

	if (!dir)
		return fault(reading, "", "the directory cannot be read");
	fd_take(&fd);
	while (good && (item = readdir(dir)) != NULL) {
		char **items;

		if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0)
			continue;
		if (ret->count > CHANGES_MAX)
			good = fault(reading, "", "the directory has too many entries");
		items = good && (ret->count & (ret->count - 1)) == 0
			    ? reallocarray(ret->items, ret->count ? ret->count * 2 : 1, sizeof(*items))
			    : ret->items;
		if (good && (!items || !((ret->items = items)[ret->count] = strdup(item->d_name))))
			good = fault(reading, "", "no memory");
		ret->count += good;
	}
	closedir(dir);
	if (ret->count)
		qsort(ret->items, ret->count, sizeof(ret->items[0]), text_order);
	return good;
}

/* Open for reading what the owner's modes may forbid: in the jail's own tmpfs these can be changed. */
static int open_upper(const struct pair *pair, int flags)
{
	int fd = openat(pair->upper_dir, pair->name, flags | O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0 || errno != EACCES || fchmodat(pair->upper_dir, pair->name, 0700, 0) != 0)
		return fd;
	return openat(pair->upper_dir, pair->name, flags | O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

static int open_lower(const struct pair *pair, int flags)
{
	return openat(pair->lower_dir, pair->name, flags | O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

/* Go down into a directory, and back by restoring the length. False where the path becomes too long. */
static bool push(struct reading *reading, const char *name, size_t *ret_len)
{
	size_t len = strlen(reading->path);

	*ret_len = len;
	if (len + strlen(name) + 2 > sizeof(reading->path))
		return fault(reading, name, "the path is too long");
	snprintf(reading->path + len, sizeof(reading->path) - len, "%s%s", len ? "/" : "", name);
	return true;
}

/* ---- removed ---- */

/* Of the host: it is there no more, nor is anything in it. */
static bool remove_name(struct reading *reading, struct pair *pair, int depth);

static bool remove_below(struct reading *reading, int lower_dir, const struct names *kept, int depth)
{
	owned_names struct names names = { 0 };
	bool good = list_names(reading, lower_dir, &names);

	for (size_t i = 0; i < names.count && good; i++) {
		struct pair pair = { .name = names.items[i], .upper_dir = -1, .lower_dir = lower_dir };

		if (kept && kept->count &&
		    bsearch(&names.items[i], kept->items, kept->count, sizeof(kept->items[0]), text_order))
			continue;
		pair.has_lower = fstatat(lower_dir, pair.name, &pair.lower, AT_SYMLINK_NOFOLLOW) == 0;
		if (pair.has_lower)
			good = remove_name(reading, &pair, depth);
	}
	return good;
}

static bool remove_name(struct reading *reading, struct pair *pair, int depth)
{
	size_t len;
	bool good;

	if (!add(reading, pair, CHANGE_REMOVED, &pair->lower))
		return false;
	if (!S_ISDIR(pair->lower.st_mode))
		return true;
	if (depth == CHANGES_DEPTH_MAX)
		return fault(reading, pair->name, "the directory lies too deep");
	owned_fd int fd = open_lower(pair, O_DIRECTORY);

	if (fd < 0)
		return fault(reading, pair->name, "the directory of the host cannot be read");
	good = push(reading, pair->name, &len) && remove_below(reading, fd, NULL, depth + 1);
	reading->path[len] = '\0';
	return good;
}

/* ---- files ---- */

char *changes_saved_name(uint64_t number, char ret[static 24])
{
	snprintf(ret, 24, "%llu", (unsigned long long)number);
	return ret;
}

/* 1: the same; 0: not; -1: it could not be read. */
static int same_content(struct reading *reading, int upper_fd, int lower_fd)
{
	for (;;) {
		ssize_t n = file_read_up_to(upper_fd, reading->buffer, BUFFER_BYTES);
		ssize_t m = file_read_up_to(lower_fd, reading->other, BUFFER_BYTES);

		if (n < 0 || m < 0)
			return -1;
		if (n != m || memcmp(reading->buffer, reading->other, (size_t)n) != 0)
			return 0;
		if (n < BUFFER_BYTES)
			return 1;
	}
}

/* A file whose content is that of the host's, which it was copied from, is no change. */
static int is_same_file(struct reading *reading, const struct pair *pair, int upper_fd)
{
	owned_fd int lower_fd = -1;
	struct stat st;

	if (pair->upper.st_size != pair->lower.st_size ||
	    (pair->upper.st_mode & 07777) != (pair->lower.st_mode & 07777))
		return 0;
	lower_fd = open_lower(pair, 0);
	if (lower_fd < 0 || fstat(lower_fd, &st) != 0 || !S_ISREG(st.st_mode))
		return -1;
	return same_content(reading, upper_fd, lower_fd);
}

/* Digest of it, and a copy where one is to be kept. */
static bool take_content(struct reading *reading, struct changes_item *change, int fd,
			 const struct pair *pair)
{
	const struct timespec times[2] = { pair->upper.st_mtim, pair->upper.st_mtim };
	const char *name = pair->name;
	owned_fd int save_fd = -1;
	struct sha256 sha;
	char saved[24];
	ssize_t n;

	if (reading->source->save_fd >= 0) {
		change->saved = ++reading->changes->saved;
		save_fd = openat(reading->source->save_fd, changes_saved_name(change->saved, saved),
				 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (save_fd < 0)
			return fault(reading, name, "its content cannot be saved");
	}
	sha256_init(&sha);
	if (lseek(fd, 0, SEEK_SET) < 0)
		return fault(reading, name, "cannot be read");
	do {
		n = file_read_up_to(fd, reading->buffer, BUFFER_BYTES);
		if (n < 0)
			return fault(reading, name, "cannot be read");
		sha256_add(&sha, reading->buffer, (size_t)n);
		if (save_fd >= 0 && file_write_all(save_fd, (const char *)reading->buffer, (size_t)n) != 0)
			return fault(reading, name, "its content cannot be saved: the disk is full");
	} while (n == BUFFER_BYTES);
	sha256_hex(&sha, change->sha256);
	if (save_fd >= 0 && (futimens(save_fd, times) != 0 || fsync(save_fd) != 0))
		return fault(reading, name, "its content cannot be saved");
	return true;
}

/* Attributes of the program's, not the overlay's own. */
static bool has_attributes(int fd)
{
	char names[4096];
	ssize_t len = flistxattr(fd, names, sizeof(names));

	for (ssize_t at = 0; at < len; at += (ssize_t)strlen(names + at) + 1)
		if (strncmp(names + at, "user.", 5) == 0 && strncmp(names + at, "user.overlay.", 13) != 0)
			return true;
	return false;
}

static bool read_file(struct reading *reading, const struct pair *pair)
{
	const bool over_file = pair->has_lower && S_ISREG(pair->lower.st_mode);
	owned_fd int fd = open_upper(pair, 0);
	int same = fd < 0 ? -1 : over_file ? is_same_file(reading, pair, fd) : 0;
	struct changes_item *change;

	if (same < 0)
		return fault(reading, pair->name, "cannot be read");
	if (same)
		return true;
	change = add(reading, pair, pair->has_lower ? CHANGE_CHANGED : CHANGE_ADDED, &pair->upper);
	if (!change)
		return false;
	change->linked = pair->upper.st_nlink > 1;
	change->attributes = has_attributes(fd);
	return take_content(reading, change, fd, pair);
}

static bool read_symlink(struct reading *reading, const struct pair *pair)
{
	char text[PATH_MAX], before[PATH_MAX];
	ssize_t len = readlinkat(pair->upper_dir, pair->name, text, sizeof(text) - 1);
	ssize_t was = pair->has_lower && S_ISLNK(pair->lower.st_mode)
			  ? readlinkat(pair->lower_dir, pair->name, before, sizeof(before))
			  : -1;
	struct changes_item *change;

	if (len < 0)
		return fault(reading, pair->name, "the link cannot be read");
	if (was == len && memcmp(text, before, (size_t)len) == 0)
		return true;
	text[len] = '\0';
	change = add(reading, pair, pair->has_lower ? CHANGE_CHANGED : CHANGE_ADDED, &pair->upper);
	if (!change)
		return false;
	change->target = strdup(text);
	return change->target ? add_time(reading, change->path, &pair->upper, NULL)
			      : fault(reading, pair->name, "no memory");
}

/* ---- one name ---- */

static bool read_below(struct reading *reading, int upper_dir, int lower_dir, bool opaque, int depth,
		       bool *ret_changed);

/* below_opaque: the directory above is another one in the place of the host's, and so is each in it; only the first is marked. */
static bool read_directory(struct reading *reading, struct pair *pair, bool merged, bool below_opaque,
			   int depth)
{
	owned_fd int upper_fd = open_upper(pair, O_DIRECTORY);
	owned_fd int lower_fd = merged ? open_lower(pair, O_DIRECTORY) : -1;
	const bool opaque =
	    below_opaque || (upper_fd >= 0 && layers_is_opaque(upper_fd, reading->source->user_xattrs));
	const bool other_mode = merged && (pair->upper.st_mode & 07777) != (pair->lower.st_mode & 07777);
	const bool listed = !merged || opaque || other_mode;
	struct changes_item *change;
	size_t len;
	bool good, changed;

	if (depth == CHANGES_DEPTH_MAX)
		return fault(reading, pair->name, "the directory lies too deep");
	if (upper_fd < 0 || (merged && lower_fd < 0))
		return fault(reading, pair->name, "the directory cannot be read");
	if (listed) {
		change = add(reading, pair, merged ? CHANGE_CHANGED : CHANGE_ADDED, &pair->upper);
		if (!change)
			return false;
		change->replaced = merged && opaque;
		change->attributes = has_attributes(upper_fd);
	}
	good = push(reading, pair->name, &len) &&
	       read_below(reading, upper_fd, lower_fd, opaque, depth + 1, &changed) &&
	       (!(listed || changed) ||
		add_time(reading, reading->path, &pair->upper, merged ? &pair->lower : NULL));
	reading->path[len] = '\0';
	return good;
}

static bool read_pair(struct reading *reading, struct pair *pair, bool opaque, int depth)
{
	const bool was_directory = pair->has_lower && S_ISDIR(pair->lower.st_mode);
	const bool is_directory = S_ISDIR(pair->upper.st_mode);

	if (layers_is_whiteout(&pair->upper))
		return pair->has_lower ? remove_name(reading, pair, depth) : true;
	if (is_directory && was_directory)
		return read_directory(reading, pair, true, opaque, depth);
	/* Another type: the one goes, the other comes. */
	if (pair->has_lower && is_directory != was_directory) {
		if (!remove_name(reading, pair, depth))
			return false;
		pair->has_lower = false;
	}
	if (is_directory)
		return read_directory(reading, pair, false, opaque, depth);
	if (S_ISREG(pair->upper.st_mode))
		return read_file(reading, pair);
	if (S_ISLNK(pair->upper.st_mode))
		return read_symlink(reading, pair);
	return add(reading, pair, pair->has_lower ? CHANGE_CHANGED : CHANGE_ADDED, &pair->upper);
}

/* Whether one of the changes from `first` on is to an entry of the directory at hand, not to one further below. */
static bool is_entry_changed(const struct reading *reading, size_t first)
{
	const size_t len = strlen(reading->path);

	return first < reading->changes->count &&
	       !strchr(reading->changes->items[first].path + len + (len > 0), '/');
}

/* lower_dir -1: there is nothing on the host's side. *ret_changed: an entry of the directory is listed. */
static bool read_below(struct reading *reading, int upper_dir, int lower_dir, bool opaque, int depth,
		       bool *ret_changed)
{
	owned_names struct names names = { 0 };
	bool good = list_names(reading, upper_dir, &names);

	*ret_changed = false;

	for (size_t i = 0; i < names.count && good; i++) {
		struct pair pair = { .name = names.items[i], .upper_dir = upper_dir, .lower_dir = lower_dir };
		const size_t first = reading->changes->count;

		if (fstatat(upper_dir, pair.name, &pair.upper, AT_SYMLINK_NOFOLLOW) != 0)
			return fault(reading, pair.name, "cannot be looked at");
		pair.has_lower =
		    lower_dir >= 0 && fstatat(lower_dir, pair.name, &pair.lower, AT_SYMLINK_NOFOLLOW) == 0;
		good = read_pair(reading, &pair, opaque, depth);
		*ret_changed |= is_entry_changed(reading, first);
	}
	if (good && opaque && lower_dir >= 0)
		good = remove_below(reading, lower_dir, &names, depth);
	return good;
}

static int by_path(const void *a, const void *b)
{
	const struct changes_item *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	/* What goes before what comes. */
	return order ? order : (int)(y->kind == CHANGE_REMOVED) - (int)(x->kind == CHANGE_REMOVED);
}

static int by_time_path(const void *a, const void *b)
{
	return strcmp(((const struct changes_time *)a)->path, ((const struct changes_time *)b)->path);
}

/* The directory itself is no change, but it has a time. */
static void read_top(struct reading *reading, int upper_fd)
{
	const struct changes_source *source = reading->source;
	const bool opaque = layers_is_opaque(upper_fd, source->user_xattrs);
	struct stat upper, lower;
	bool changed;

	if (read_below(reading, upper_fd, source->lower_fd, opaque, 0, &changed) && changed &&
	    fstat(upper_fd, &upper) == 0 && fstat(source->lower_fd, &lower) == 0)
		add_time(reading, ".", &upper, &lower);
}

void changes_read(const struct changes_source *source, struct changes *ret)
{
	struct reading *reading = malloc(sizeof(*reading));
	owned_fd int upper_fd = openat(source->upper_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	*ret = (struct changes){ 0 };
	if (!reading || upper_fd < 0) {
		free(reading);
		snprintf(ret->fault, sizeof(ret->fault), "the written files cannot be read");
		return;
	}
	reading->source = source;
	reading->changes = ret;
	reading->room = reading->time_room = 0;
	reading->path[0] = '\0';
	read_top(reading, upper_fd);
	if (ret->count)
		qsort(ret->items, ret->count, sizeof(ret->items[0]), by_path);
	if (ret->time_count)
		qsort(ret->times, ret->time_count, sizeof(ret->times[0]), by_time_path);
	free(reading);
}

void changes_done(struct changes *changes)
{
	for (size_t i = 0; i < changes->count; i++) {
		free(changes->items[i].path);
		free(changes->items[i].target);
	}
	for (size_t i = 0; i < changes->time_count; i++)
		free(changes->times[i].path);
	free(changes->items);
	free(changes->times);
	free(changes->directory);
	*changes = (struct changes){ 0 };
}
