/*
 * On the disk: snapshots/manifests/<id>.jsonl, and snapshots/content/ of blobs. The content is committed before the manifest gets its
 * name; whoever sweeps has the content alone, and reads all manifests.
 *
 * Files are kept in pieces of 4 MiB (blobs.h) and not as a whole: a data base or a log of a gigabyte that has changed in one place costs
 * a few pieces more, not a gigabyte.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "rootfs/rootfs.h"
#include "store/snapshots/manifest.h"

#define BYTES_DEFAULT ((uint64_t)16 << 30)

#define NS 1000000000

static const char field[] = "snapshot";
static const char suffix[] = ".jsonl";
static const char *const roots[] = { "files", "inputs" };
static const char published[] = "files/metadata.json"; /* made anew for the workspace that is resumed */

static int failed(const char *path, const char *what, struct warder_error *err)
{
	char shown[96];

	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, errno, "%s %s",
			       json_quote(path, shown, sizeof(shown)), what);
}

static int64_t now_ns(void)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * NS + now.tv_nsec;
}

/* ---- life ---- */

/* What was begun and has no writer any more; the content is locked alone. */
static void remove_dead(struct snapshots *snapshots)
{
	struct dirent **items = NULL;
	const int count = scandirat(snapshots->manifests_fd, ".", &items, NULL, NULL);

	for (int i = 0; i < count; i++) {
		if (strncmp(items[i]->d_name, ".new-", 5) == 0)
			unlinkat(snapshots->manifests_fd, items[i]->d_name, 0);
		free(items[i]);
	}
	free(items);
}

int snapshots_open(const char *store, struct snapshots *ret, struct warder_error *err)
{
	struct snapshots snapshots = SNAPSHOTS_NONE;

	snapshots.dir_fd = store_open(store, "snapshots", snapshots.path, err);
	if (snapshots.dir_fd < 0)
		return -1;
	if (mkdirat(snapshots.dir_fd, "manifests", 0700) == 0 || errno == EEXIST)
		snapshots.manifests_fd =
		    openat(snapshots.dir_fd, "manifests", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (snapshots.manifests_fd < 0) {
		failed("manifests", "cannot be made or opened", err);
		snapshots_done(&snapshots);
		return -1;
	}
	*ret = snapshots;
	return 0;
}

void snapshots_done(struct snapshots *snapshots)
{
	fd_done(&snapshots->manifests_fd);
	fd_done(&snapshots->dir_fd);
}

/* ---- making ---- */

struct inode {
	dev_t dev;
	ino_t ino;
	char *path;
	size_t next; /* number + 1 of the next one in its row of the table */
};

#define INODES_MAX 100000
#define INODE_ROWS 65536

struct making {
	struct snapshots *snapshots;
	struct blobs blobs;
	struct manifest_writer writer;
	struct inode *inodes; /* of files with several names */
	size_t inode_count;
	size_t *rows; /* INODE_ROWS: number + 1 of the first one of each */
	uint64_t bytes_max, left_out, attributes;
	struct warder_error *err;
};

static int take_level(struct making *m, int dir_fd, const char *path, int depth);

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static int changed(struct making *m, const char *path)
{
	return error_set(m->err, WARDER_ERROR_CONFLICT, field,
			 "%.200s changed while it was read: something works in the workspace from outside; "
			 "nothing was kept",
			 path);
}

/* The other name of a file that is there already; or NULL, and it is remembered. */
static const char *other_name(struct making *m, const struct stat *st, const char *path)
{
	struct inode *grown = m->inodes;
	size_t *row;

	if (!m->rows)
		m->rows = calloc(INODE_ROWS, sizeof(*m->rows));
	if (!m->rows)
		return NULL;
	row = &m->rows[(st->st_ino ^ st->st_ino >> 16) % INODE_ROWS];
	for (size_t i = *row; i; i = m->inodes[i - 1].next) {
		if (m->inodes[i - 1].ino == st->st_ino && m->inodes[i - 1].dev == st->st_dev)
			return m->inodes[i - 1].path;
	}
	if (m->inode_count == INODES_MAX) /* beyond that, two names become two files */
		return NULL;
	if (m->inode_count % 64 == 0)
		grown = reallocarray(m->inodes, m->inode_count + 64, sizeof(*grown));
	if (!grown)
		return NULL;
	m->inodes = grown;
	grown[m->inode_count] = (struct inode){ st->st_dev, st->st_ino, strdup(path), *row };
	if (grown[m->inode_count].path)
		*row = ++m->inode_count;
	return NULL;
}

/* A value, and its name; heap. False: it cannot be kept. */
static bool take_attribute(const char *path, const char *name, struct manifest_attribute *ret)
{
	char *value = malloc(MANIFEST_ATTRIBUTE_BYTES);
	const ssize_t len = value ? lgetxattr(path, name, value, MANIFEST_ATTRIBUTE_BYTES) : -1;

	*ret = (struct manifest_attribute){ .value = value, .len = len < 0 ? 0 : (size_t)len };
	if (len >= 0 && json_is_utf8(name))
		ret->name = strdup(name);
	if (ret->name)
		return true;
	free(value);
	return false;
}

/* What the user has attached to a file or a directory. What cannot be kept of it is counted. */
static void take_attributes(struct making *m, int dir_fd, const char *name, struct manifest_entry *entry)
{
	static const char user[] = "user.";
	char path[NAME_MAX + 40], names[4096];
	bool lost = false;
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", dir_fd, name);
	len = llistxattr(path, names, sizeof(names));
	lost = len < 0 && errno == ERANGE;
	for (ssize_t at = 0; at < len; at += (ssize_t)strlen(names + at) + 1) {
		if (strncmp(names + at, user, sizeof(user) - 1) != 0)
			continue;
		if (!entry->attributes)
			entry->attributes = calloc(MANIFEST_ATTRIBUTES_MAX, sizeof(*entry->attributes));
		if (entry->attributes && entry->attribute_count < MANIFEST_ATTRIBUTES_MAX &&
		    take_attribute(path, names + at, &entry->attributes[entry->attribute_count]))
			entry->attribute_count++;
		else
			lost = true;
	}
	m->attributes += lost;
}

/* ---- what a program has closed to its own user ---- */

/*
 * Nobody works in the workspace now, and what is the caller's he may open to himself: by a handle, so that it is the very file, and for as
 * long as it is read. Root needs none of that. *ret_mode: what close_again() is to be given. A descriptor, or -1 with errno.
 */
static int open_closed(int dir_fd, const char *name, int flags, mode_t needed, mode_t *ret_mode)
{
	int fd = openat(dir_fd, name, flags | O_NOFOLLOW | O_CLOEXEC);
	owned_fd int handle = -1;
	char path[40];
	struct stat st;

	*ret_mode = (mode_t)-1;
	if (fd < 0 && errno != EACCES)
		return -1;
	if (fd >= 0 && (fstat(fd, &st) != 0 || geteuid() == 0 || (st.st_mode & needed) == needed ||
			st.st_uid != geteuid()))
		return fd;
	fd_done(&fd);
	handle = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (handle < 0 || fstat(handle, &st) != 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", handle);
	if (st.st_uid != geteuid() || chmod(path, (st.st_mode & 07777) | needed) != 0) {
		errno = EACCES;
		return -1;
	}
	fd = open(path, flags | O_CLOEXEC);
	*ret_mode = st.st_mode & 07777;
	if (fd < 0)
		chmod(path, *ret_mode);
	return fd;
}

static void close_again(int fd, mode_t mode)
{
	if (fd >= 0 && mode != (mode_t)-1)
		fchmod(fd, mode);
}

/* The same file, with the same content; its mode may be ours for now. */
static bool is_same_content(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static int put_file(struct making *m, int dir_fd, const char *name, const struct stat *st,
		    struct manifest_entry *entry)
{
	mode_t mode;
	owned_fd int fd = open_closed(dir_fd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0400, &mode);
	const uint64_t left = m->bytes_max - m->writer.bytes;
	struct stat now, own = *st;
	bool more = false;

	if (fd < 0)
		return failed(entry->path, "cannot be read", m->err);
	close_again(fd, mode);
	if (mode != (mode_t)-1 && (fstat(fd, &own) != 0 || !is_same_content(st, &own)))
		return changed(m, entry->path);
	if (fstat(fd, &now) != 0 || !is_same(&own, &now))
		return changed(m, entry->path);
	if (blobs_put_fd(&m->blobs, fd, left, &entry->content, &more, m->err) != 0)
		return error_context(m->err, "%.200s", entry->path);
	if (more)
		return error_set(m->err, WARDER_ERROR_INVALID_REQUEST, field,
				 "the workspace has more than %" PRIu64
				 " bytes; raise --max-size, or remove something; nothing was kept",
				 m->bytes_max);
	if (fstat(fd, &now) != 0 || !is_same(&own, &now))
		return changed(m, entry->path);
	return 0;
}

static int take_file(struct making *m, int dir_fd, const char *name, const struct stat *st,
		     struct manifest_entry *entry)
{
	const char *other = st->st_nlink > 1 ? other_name(m, st, entry->path) : NULL;

	if (other) {
		entry->type = MANIFEST_HARD_LINK;
		entry->target = strdup(other);
		return entry->target ? 0 : error_no_memory(m->err, field);
	}
	entry->type = MANIFEST_FILE;
	return put_file(m, dir_fd, name, st, entry);
}

static int take_link(struct making *m, int dir_fd, const char *name, struct manifest_entry *entry)
{
	char target[PATH_MAX];
	const ssize_t len = readlinkat(dir_fd, name, target, sizeof(target) - 1);

	if (len <= 0)
		return failed(entry->path, "cannot be read", m->err);
	entry->type = MANIFEST_LINK;
	entry->target = strndup(target, (size_t)len);
	return entry->target ? 0 : error_no_memory(m->err, field);
}

/* 0; 1: it is not kept; -1. */
static int take_one(struct making *m, int dir_fd, const char *name, const struct stat *st,
		    struct manifest_entry *entry)
{
	entry->mode = st->st_mode & 07777;
	entry->mtime = st->st_mtim;
	entry->owned = true;
	entry->uid = st->st_uid;
	entry->gid = st->st_gid;
	if (S_ISREG(st->st_mode) || S_ISDIR(st->st_mode))
		take_attributes(m, dir_fd, name, entry);
	if (S_ISREG(st->st_mode))
		return take_file(m, dir_fd, name, st, entry);
	if (S_ISLNK(st->st_mode))
		return take_link(m, dir_fd, name, entry);
	entry->type = S_ISDIR(st->st_mode) ? MANIFEST_DIRECTORY : MANIFEST_PIPE;
	return S_ISDIR(st->st_mode) || S_ISFIFO(st->st_mode) ? 0 : 1;
}

static int take_entry(struct making *m, int dir_fd, const char *path, const char *name, int depth)
{
	struct manifest_entry entry = { 0 };
	struct stat st;
	int status;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return changed(m, path);
	if (strlen(path) >= PATH_MAX - 1 || depth > WORKSPACE_DEPTH_MAX)
		return error_set(m->err, WARDER_ERROR_INVALID_REQUEST, field,
				 "%.100s... lies too deep for a snapshot", path);
	if (m->writer.entries == SNAPSHOT_ENTRIES_MAX)
		return error_set(m->err, WARDER_ERROR_INVALID_REQUEST, field,
				 "the workspace has more than %d files and directories",
				 SNAPSHOT_ENTRIES_MAX);
	entry.path = strdup(path);
	status = entry.path ? take_one(m, dir_fd, name, &st, &entry) : error_no_memory(m->err, field);
	if (status == 0)
		status = manifest_add(&m->writer, &entry, m->err);
	manifest_entry_done(&entry);
	if (status > 0)
		m->left_out++;
	if (status == 0 && S_ISDIR(st.st_mode))
		return take_level(m, dir_fd, path, depth);
	return status < 0 ? -1 : 0;
}

static int not_dots(const struct dirent *item)
{
	return strcmp(item->d_name, ".") != 0 && strcmp(item->d_name, "..") != 0;
}

/* What lies in a directory whose last component is opened in dir_fd. Bounded by WORKSPACE_DEPTH_MAX. */
static int take_level(struct making *m, int dir_fd, const char *path, int depth)
{
	const char *slash = strrchr(path, '/');
	mode_t mode;
	owned_fd int fd = open_closed(dir_fd, slash ? slash + 1 : path, O_RDONLY | O_DIRECTORY, 0500, &mode);
	struct dirent **items = NULL;
	int count = fd < 0 ? -1 : scandirat(fd, ".", &items, not_dots, store_order);
	int status = 0;

	if (count < 0) {
		failed(path, "cannot be read", m->err);
		close_again(fd, mode);
		return -1;
	}
	for (int i = 0; i < count; i++) {
		char *joined = NULL;

		if (status == 0 && asprintf(&joined, "%s/%s", path, items[i]->d_name) < 0) {
			joined = NULL;
			status = error_no_memory(m->err, field);
		}
		if (status == 0 && strcmp(joined, published) != 0)
			status = take_entry(m, fd, joined, items[i]->d_name, depth + 1);
		free(joined);
		free(items[i]);
	}
	free(items);
	close_again(fd, mode);
	return status;
}

static int take_roots(struct making *m, struct workspace *workspace)
{
	for (size_t i = 0; i < ARRAY_LENGTH(roots); i++) {
		struct stat st;

		if (fstatat(workspace->dir_fd, roots[i], &st, AT_SYMLINK_NOFOLLOW) != 0 && errno == ENOENT)
			continue;
		if (take_entry(m, workspace->dir_fd, roots[i], roots[i], 0) != 0)
			return -1;
	}
	return 0;
}

static char *metadata_text(struct workspace *workspace, struct warder_error *err)
{
	struct workspace_metadata metadata;
	size_t len;
	char *text;

	if (workspace_metadata_load(workspace, &metadata, err) != 0)
		return NULL;
	text = workspace_metadata_text(&metadata, &len);
	workspace_metadata_done(&metadata);
	if (!text)
		error_no_memory(err, field);
	return text;
}

static int write_manifest(struct making *m, struct workspace *workspace, int fd,
			  const struct snapshot *snapshot)
{
	char *metadata = metadata_text(workspace, m->err);
	int status = metadata ? manifest_begin(&m->writer, fd, snapshot, metadata, m->err) : -1;

	free(metadata);
	if (status != 0 || take_roots(m, workspace) != 0)
		return -1;
	return manifest_end(&m->writer, m->left_out, m->err);
}

static int name_manifest(struct making *m, const char *temporary, int fd, const char *id)
{
	char name[SNAPSHOT_ID_MAX + sizeof(suffix)];

	snprintf(name, sizeof(name), "%s%s", id, suffix);
	if (blobs_commit(&m->blobs, m->err) != 0 || store_sync(fd, field, m->err) != 0)
		return -1;
	if (renameat(m->snapshots->manifests_fd, temporary, m->snapshots->manifests_fd, name) != 0)
		return failed(id, "cannot be kept", m->err);
	return store_sync(m->snapshots->manifests_fd, field, m->err);
}

static int make(struct making *m, struct workspace *workspace, struct snapshot *snapshot)
{
	char temporary[STORE_NAME_MAX];
	owned_fd int fd = -1;
	struct stat st;
	int status;

	store_new_name(".new-", temporary);
	fd = openat(m->snapshots->manifests_fd, temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0)
		return failed(snapshot->id, "cannot be made", m->err);
	status = write_manifest(m, workspace, fd, snapshot);
	if (status == 0)
		status = name_manifest(m, temporary, fd, snapshot->id);
	if (status == 0)
		snapshot->manifest_bytes = fstat(fd, &st) == 0 ? (uint64_t)st.st_size : 0;
	if (status != 0)
		unlinkat(m->snapshots->manifests_fd, temporary, 0);
	snapshot->entries = m->writer.entries;
	snapshot->bytes = m->writer.bytes;
	snapshot->left_out = m->left_out;
	snapshot->attributes = m->attributes;
	return status;
}

int snapshots_make(struct snapshots *snapshots, struct workspace *workspace, uint64_t bytes_max,
		   struct snapshot *ret, struct warder_error *err)
{
	struct making m = { .snapshots = snapshots,
			    .blobs = BLOBS_NONE,
			    .bytes_max = bytes_max ? bytes_max : BYTES_DEFAULT,
			    .err = err };
	struct snapshot snapshot = { .created_ns = now_ns() };
	char id[STORE_NAME_MAX];
	int status;

	store_new_name("snap-", id);
	snprintf(snapshot.id, sizeof(snapshot.id), "%.31s", id);
	snprintf(snapshot.workspace, sizeof(snapshot.workspace), "%s", workspace->id);
	store_time(snapshot.created_ns / NS, snapshot.created);
	status = blobs_open(snapshots->dir_fd, BLOBS_WRITE, &m.blobs, err);
	m.blobs.on_bytes = snapshots->on_bytes;
	m.blobs.context = snapshots->context;
	if (status == 0)
		status = make(&m, workspace, &snapshot);
	blobs_done(&m.blobs);
	for (size_t i = 0; i < m.inode_count; i++)
		free(m.inodes[i].path);
	free(m.inodes);
	free(m.rows);
	if (status == 0)
		*ret = snapshot;
	return status;
}

/* ---- finding ---- */

static int open_manifest(struct snapshots *snapshots, const char *id, struct warder_error *err)
{
	char name[SNAPSHOT_ID_MAX + sizeof(suffix)], shown[96];
	int fd;

	if (strlen(id) != 21 || strncmp(id, "snap-", 5) != 0 || strspn(id + 5, "0123456789abcdef") != 16)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
				 "%s is not the id of a snapshot; they look like snap-0123456789abcdef",
				 json_quote(id, shown, sizeof(shown)));
	snprintf(name, sizeof(name), "%s%s", id, suffix);
	fd = openat(snapshots->manifests_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return error_set(err, WARDER_ERROR_NOT_FOUND, field,
				 "there is no snapshot %s; \"warder snapshot list\" lists them", id);
	return fd >= 0 ? fd : failed(id, "cannot be opened", err);
}

static int verify_entry(void *context, const struct manifest_entry *entry, struct warder_error *err)
{
	if (entry->type != MANIFEST_FILE || blobs_get(context, &entry->content, -1, err) == 0)
		return 0;
	return error_context(err, "%.200s", entry->path);
}

int snapshots_verify(struct snapshots *snapshots, const char *id, struct warder_error *err)
{
	owned_fd int fd = open_manifest(snapshots, id, err);
	struct blobs blobs = BLOBS_NONE;
	struct snapshot snapshot;
	int status;

	if (fd < 0 || blobs_open(snapshots->dir_fd, BLOBS_READ, &blobs, err) != 0)
		return -1;
	blobs.on_bytes = snapshots->on_bytes;
	blobs.context = snapshots->context;
	status = manifest_read(fd, &snapshot, NULL, verify_entry, &blobs, err);
	blobs_done(&blobs);
	return status;
}

struct found {
	struct snapshot *items;
	size_t count;
};

static int by_age(const void *a, const void *b)
{
	const struct snapshot *left = a, *right = b;

	if (left->created_ns != right->created_ns)
		return left->created_ns < right->created_ns ? -1 : 1;
	return strcmp(left->id, right->id);
}

static int is_manifest(const struct dirent *item)
{
	return strncmp(item->d_name, "snap-", 5) == 0 && strlen(item->d_name) == 21 + sizeof(suffix) - 1;
}

/* All of them, with what `call` is told of their entries (NULL: nothing); heap. Returns 0 or -1. */
static int find_all(struct snapshots *snapshots, struct found *ret,
		    int (*call)(void *context, const struct manifest_entry *entry, struct warder_error *err),
		    void *context, struct warder_error *err)
{
	struct dirent **items = NULL;
	const int count = scandirat(snapshots->manifests_fd, ".", &items, is_manifest, store_order);
	int status = count < 0 ? failed("manifests", "cannot be listed", err) : 0;

	ret->items = calloc(count > 0 ? (size_t)count : 1, sizeof(*ret->items));
	if (status == 0 && !ret->items)
		status = error_no_memory(err, field);
	for (int i = 0; i < count; i++) {
		char id[SNAPSHOT_ID_MAX];
		owned_fd int fd = -1;

		snprintf(id, sizeof(id), "%.21s", items[i]->d_name);
		fd = status ? -1 : open_manifest(snapshots, id, err);
		if (fd >= 0 && manifest_read(fd, &ret->items[ret->count], NULL, call, context, err) == 0)
			ret->count++;
		else if (fd >= 0 || (status == 0 && err->code != WARDER_ERROR_NOT_FOUND))
			status = error_context(err, "%s", id);
		free(items[i]);
	}
	free(items);
	if (status == 0 && ret->count)
		qsort(ret->items, ret->count, sizeof(*ret->items), by_age);
	if (status != 0) {
		free(ret->items);
		ret->items = NULL;
	}
	return status;
}

int snapshots_each(struct snapshots *snapshots, const char *workspace_id,
		   int (*call)(void *context, const struct snapshot *snapshot, struct warder_error *err),
		   void *context, struct warder_error *err)
{
	struct found found = { 0 };
	int status = find_all(snapshots, &found, NULL, NULL, err);

	for (size_t i = 0; i < found.count && status == 0; i++) {
		if (!workspace_id || strcmp(found.items[i].workspace, workspace_id) == 0)
			status = call(context, &found.items[i], err);
	}
	free(found.items);
	return status;
}

/* ---- removing ---- */

static int note_used(void *context, const struct manifest_entry *entry, struct warder_error *err)
{
	return blobs_set_add(context, &entry->content, err);
}

int snapshots_sweep(struct snapshots *snapshots, struct warder_error *err)
{
	struct blobs blobs = BLOBS_NONE;
	struct blobs_set used = { 0 };
	struct found found = { 0 };
	int status = blobs_open(snapshots->dir_fd,
				snapshots->is_patient ? BLOBS_SWEEP_PATIENTLY : BLOBS_SWEEP, &blobs, err);

	if (status != 0)
		return status > 0 ? 0 : -1;
	remove_dead(snapshots);
	status = find_all(snapshots, &found, note_used, &used, err);
	if (status == 0)
		status = blobs_sweep(&blobs, &used, err);
	free(found.items);
	blobs_set_done(&used);
	blobs_done(&blobs);
	return status;
}

static int remove_manifest(struct snapshots *snapshots, const char *id, struct warder_error *err)
{
	char name[SNAPSHOT_ID_MAX + sizeof(suffix)];

	snprintf(name, sizeof(name), "%s%s", id, suffix);
	if (unlinkat(snapshots->manifests_fd, name, 0) != 0 && errno != ENOENT)
		return failed(id, "cannot be removed", err);
	return store_sync(snapshots->manifests_fd, field, err);
}

int snapshots_remove(struct snapshots *snapshots, const char *id, struct warder_error *err)
{
	owned_fd int fd = open_manifest(snapshots, id, err);

	/* One that is gone may have been removed in part. */
	if (fd < 0 && !(snapshots->is_patient && err->code == WARDER_ERROR_NOT_FOUND))
		return -1;
	return remove_manifest(snapshots, id, err) == 0 ? snapshots_sweep(snapshots, err) : -1;
}

/* How many newer ones of the same workspace there are. */
static size_t newer(const struct found *found, size_t at)
{
	size_t count = 0;

	for (size_t i = at + 1; i < found->count; i++)
		count += strcmp(found->items[i].workspace, found->items[at].workspace) == 0;
	return count;
}

int snapshots_prune(struct snapshots *snapshots, const char *workspace_id, uint64_t keep, uint64_t max_age_s,
		    uint64_t *ret_removed, struct warder_error *err)
{
	const int64_t now = now_ns();
	struct found found = { 0 };
	int status = find_all(snapshots, &found, NULL, NULL, err);

	*ret_removed = 0;
	for (size_t i = 0; i < found.count && status == 0; i++) {
		const struct snapshot *snapshot = &found.items[i];

		if (workspace_id && strcmp(snapshot->workspace, workspace_id) != 0)
			continue;
		if ((!keep || newer(&found, i) < keep) &&
		    (!max_age_s || (now - snapshot->created_ns) / NS < (int64_t)max_age_s))
			continue;
		status = remove_manifest(snapshots, snapshot->id, err);
		*ret_removed += status == 0;
	}
	free(found.items);
	return status == 0 && *ret_removed ? snapshots_sweep(snapshots, err) : status;
}

/* ---- resuming ---- */

/* A directory is finished when everything is in it. */
struct directory_rest {
	char *path;
	uint32_t mode;
	struct timespec mtime;
};

struct resuming {
	struct snapshots *snapshots;
	struct blobs blobs;
	int manifest_fd;
	struct workspace *workspace;
	struct workspace_metadata metadata;
	struct directory_rest *directories; /* their times are set last: what is made in them changes those */
	size_t directory_count;
	uint64_t owners, attributes; /* that could not be given back */
};

/* Before its mode, which a new owner would clear bits of. To whom it belonged, if the caller may give it away. */
static void give_owner(struct resuming *r, const struct manifest_entry *entry, int parent_fd,
		       const char *name)
{
	struct stat st;

	if (!entry->owned || fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
	    (st.st_uid == entry->uid && st.st_gid == entry->gid))
		return;
	if (fchownat(parent_fd, name, entry->uid, entry->gid, AT_SYMLINK_NOFOLLOW) != 0)
		r->owners++;
}

static void give_attributes(struct resuming *r, const struct manifest_entry *entry, int fd)
{
	bool lost = false;

	for (size_t i = 0; i < entry->attribute_count; i++)
		lost |= fsetxattr(fd, entry->attributes[i].name, entry->attributes[i].value,
				  entry->attributes[i].len, 0) != 0;
	r->attributes += lost;
}

static int cannot_make(const struct manifest_entry *entry, struct warder_error *err)
{
	return failed(entry->path, "cannot be made", err);
}

static int open_parent(struct resuming *r, const struct manifest_entry *entry, const char **ret_name,
		       struct warder_error *err)
{
	const char *slash = strrchr(entry->path, '/');
	char parent[PATH_MAX];

	*ret_name = slash ? slash + 1 : entry->path;
	snprintf(parent, sizeof(parent), "%.*s", slash ? (int)(slash - entry->path) : 1,
		 slash ? entry->path : ".");
	return path_open_no_links(r->workspace->dir_fd, parent, O_RDONLY | O_DIRECTORY, err);
}

static int remember(struct resuming *r, const struct manifest_entry *entry, struct warder_error *err)
{
	struct directory_rest *grown = r->directories;

	if (r->directory_count % 256 == 0)
		grown = reallocarray(r->directories, r->directory_count + 256, sizeof(*grown));
	if (!grown)
		return error_no_memory(err, field);
	r->directories = grown;
	grown[r->directory_count] = (struct directory_rest){ strdup(entry->path), entry->mode, entry->mtime };
	return grown[r->directory_count].path && ++r->directory_count ? 0 : error_no_memory(err, field);
}

static int make_directory(struct resuming *r, const struct manifest_entry *entry, int parent_fd,
			  const char *name, struct warder_error *err)
{
	if (mkdirat(parent_fd, name, 0700) != 0 && (errno != EEXIST || strcmp(entry->path, "files") != 0))
		return cannot_make(entry, err);
	give_owner(r, entry, parent_fd, name);
	if (entry->attribute_count) {
		owned_fd int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		give_attributes(r, entry, fd);
	}
	return remember(r, entry, err);
}

static int make_file(struct resuming *r, const struct manifest_entry *entry, int parent_fd, const char *name,
		     struct warder_error *err)
{
	const struct timespec times[2] = { entry->mtime, entry->mtime };
	owned_fd int fd = openat(parent_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return cannot_make(entry, err);
	if (blobs_get(&r->blobs, &entry->content, fd, err) != 0)
		return error_context(err, "%.200s", entry->path);
	give_attributes(r, entry, fd);
	give_owner(r, entry, parent_fd, name);
	if (fchmod(fd, entry->mode) != 0 || futimens(fd, times) != 0)
		return cannot_make(entry, err);
	return 0;
}

static int make_link(struct resuming *r, const struct manifest_entry *entry, int parent_fd, const char *name,
		     struct warder_error *err)
{
	const struct timespec times[2] = { entry->mtime, entry->mtime };

	if (symlinkat(entry->target, parent_fd, name) != 0)
		return cannot_make(entry, err);
	give_owner(r, entry, parent_fd, name);
	if (utimensat(parent_fd, name, times, AT_SYMLINK_NOFOLLOW) != 0)
		return cannot_make(entry, err);
	return 0;
}

static int make_hard_link(struct resuming *r, const struct manifest_entry *entry, int parent_fd,
			  const char *name, struct warder_error *err)
{
	const struct manifest_entry first = { .path = entry->target };
	const char *other;
	owned_fd int other_fd = open_parent(r, &first, &other, err);

	if (other_fd < 0)
		return -1;
	return linkat(other_fd, other, parent_fd, name, 0) == 0 ? 0 : cannot_make(entry, err);
}

static int make_pipe(struct resuming *r, const struct manifest_entry *entry, int parent_fd, const char *name,
		     struct warder_error *err)
{
	const struct timespec times[2] = { entry->mtime, entry->mtime };

	if (mkfifoat(parent_fd, name, 0600) != 0)
		return cannot_make(entry, err);
	give_owner(r, entry, parent_fd, name);
	if (fchmodat(parent_fd, name, entry->mode, 0) != 0 ||
	    utimensat(parent_fd, name, times, AT_SYMLINK_NOFOLLOW) != 0)
		return cannot_make(entry, err);
	return 0;
}

static int make_entry(void *context, const struct manifest_entry *entry, struct warder_error *err)
{
	struct resuming *r = context;
	const char *name;
	owned_fd int parent_fd = open_parent(r, entry, &name, err);

	if (parent_fd < 0)
		return -1;
	switch (entry->type) {
	case MANIFEST_DIRECTORY:
		return make_directory(r, entry, parent_fd, name, err);
	case MANIFEST_FILE:
		return make_file(r, entry, parent_fd, name, err);
	case MANIFEST_LINK:
		return make_link(r, entry, parent_fd, name, err);
	case MANIFEST_HARD_LINK:
		return make_hard_link(r, entry, parent_fd, name, err);
	case MANIFEST_PIPE:
		return make_pipe(r, entry, parent_fd, name, err);
	}
	return -1;
}

/* Children first. */
static int set_times(struct resuming *r, struct warder_error *err)
{
	for (size_t i = r->directory_count; i-- > 0;) {
		const struct directory_rest *directory = &r->directories[i];
		const struct timespec times[2] = { directory->mtime, directory->mtime };
		owned_fd int fd =
		    path_open_no_links(r->workspace->dir_fd, directory->path, O_RDONLY | O_DIRECTORY, err);

		if (fd < 0)
			return -1;
		if (fchmod(fd, directory->mode) != 0 || futimens(fd, times) != 0)
			return failed(directory->path, "cannot get its time", err);
	}
	return 0;
}

static int take_metadata(void *context, const char *metadata, struct warder_error *err)
{
	struct resuming *r = context;

	return workspace_metadata_parse(metadata, strlen(metadata), &r->metadata, err);
}

/* What was known of the old one, under the new id. */
static int use_metadata(void *context, struct workspace_metadata *metadata, struct warder_error *err)
{
	struct resuming *r = context;

	free(r->metadata.id);
	r->metadata.id = strdup(r->workspace->id);
	workspace_metadata_done(metadata);
	*metadata = r->metadata;
	r->metadata = (struct workspace_metadata){ 0 };
	return metadata->id ? 0 : error_no_memory(err, field);
}

static int fill(void *context, struct workspace *workspace, struct warder_error *err)
{
	struct resuming *r = context;
	struct snapshot snapshot;

	r->workspace = workspace;
	if (manifest_read(r->manifest_fd, &snapshot, take_metadata, make_entry, r, err) != 0 ||
	    workspace_metadata_change(workspace, use_metadata, r, err) != 0)
		return -1;
	return set_times(r, err);
}

int snapshots_resume(struct snapshots *snapshots, const char *id, struct workspaces *workspaces,
		     const char *workspace_id, struct workspace *ret, struct warder_error *err)
{
	owned_fd int fd = open_manifest(snapshots, id, err);
	struct resuming r = { .snapshots = snapshots, .blobs = BLOBS_NONE, .manifest_fd = fd };
	char made_up[STORE_NAME_MAX];
	int status;

	if (fd < 0 || blobs_open(snapshots->dir_fd, BLOBS_READ, &r.blobs, err) != 0)
		return -1;
	r.blobs.on_bytes = snapshots->on_bytes;
	r.blobs.context = snapshots->context;
	if (!workspace_id)
		store_new_name("ws-", made_up);
	status = workspace_build(workspaces, workspace_id ? workspace_id : made_up, fill, &r, ret, err);
	if (status == 0 && (r.owners || r.attributes))
		snprintf(ret->mended, sizeof(ret->mended),
			 "%" PRIu64 " belong to you now, and not to whom they belonged; %" PRIu64
			 " lost attributes that this file system does not take",
			 r.owners, r.attributes);
	for (size_t i = 0; i < r.directory_count; i++)
		free(r.directories[i].path);
	free(r.directories);
	workspace_metadata_done(&r.metadata);
	blobs_done(&r.blobs);
	return status;
}
