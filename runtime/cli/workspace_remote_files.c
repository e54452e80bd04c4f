/*
 * workspace_remote_files: the tree of a workspace on another machine.
 *
 * The host lists a directory, and sends a file whole. Names are no more than its word: each must be the name of one file, and what is collected is
 * made new on this machine, in the descriptor of its directory, so that no link is followed and nothing is overwritten.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/text.h"
#include "rootfs/rootfs.h"
#include "runtime/cli/session_remote_copy.h"
#include "runtime/cli/session_remote_files.h"
#include "runtime/cli/term.h"
#include "runtime/cli/workspace_remote.h"

#define FILES_MAX  100
#define FILE_BYTES (UINT64_C(4) << 20)
#define ALL_BYTES  (UINT64_C(64) << 20)

/* ---- the tree ---- */

/* The path in the sandbox. -1 with *err. */
static int path_of(const char *route, const char *path, char ret[REMOTE_PATH_SIZE], struct warder_error *err)
{
	char whole[PATH_MAX + sizeof(WORKSPACE_REMOTE_ROOT) + 1];

	snprintf(whole, sizeof(whole), WORKSPACE_REMOTE_ROOT "%s%s", *path ? "/" : "", path);
	return session_remote_files_path(route, whole, ret, err);
}

struct walk {
	const struct remote_place *place;
	const struct workspace_remote_listing *listing;
	size_t entries;
	struct remote_lists lists;
	uint64_t renewed_ms;
	bool cut;
};

enum listed { LISTED, LISTED_NONE, LISTED_CLOSED, LISTED_FAILED };

/* *ret is to be ended by remote_list_done(). Except LISTED, with *err. */
static enum listed fetch_list(struct walk *walk, const char *path, struct remote_list *ret,
			      struct warder_error *err)
{
	struct remote_asking how = { .large = true, .timeout_ms = 4 * REMOTE_QUESTION_MS };
	char rest[REMOTE_PATH_SIZE];
	char *text = NULL;
	size_t len = 0;
	int status;

	if (path_of("/directories", path, rest, err) < 0)
		return LISTED_CLOSED;
	remote_place_keep(walk->place, &walk->renewed_ms);
	if (remote_place_ask(walk->place, rest, &how, &text, &len, err) < 0)
		return remote_place_is_gone(err)                ? LISTED_FAILED
		       : how.status == 400 || how.status == 404 ? LISTED_NONE
		       : how.status == 403                      ? LISTED_CLOSED
								: LISTED_FAILED;
	status = remote_list_read(&walk->lists, walk->place->session.backend,
				  *path ? path : WORKSPACE_REMOTE_ROOT, text, len, ret, err);
	free(text);
	return status < 0 ? LISTED_FAILED : LISTED;
}

static int walk_directory(struct walk *walk, const char *path, unsigned int level, struct warder_error *err);

/* Returns what call() does; 1: there are too many entries. */
static int walk_entry(struct walk *walk, const char *path, const struct json_value *row, unsigned int level,
		      struct warder_error *err)
{
	static const char types[] = { [REMOTE_ENTRY_FILE] = 'f',
				      [REMOTE_ENTRY_DIRECTORY] = 'd',
				      [REMOTE_ENTRY_LINK] = 'l',
				      [REMOTE_ENTRY_OTHER] = 'o' };
	const struct workspace_remote_listing *listing = walk->listing;
	struct workspace_remote_item item;
	struct remote_entry entry;
	char below[PATH_MAX];
	int status;

	if (!remote_entry_read(row, &entry))
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "backend",
				 "%s: the host sent an invalid entry in the list of the directory %.200s",
				 walk->place->session.backend, *path ? path : WORKSPACE_REMOTE_ROOT);
	if (snprintf(below, sizeof(below), "%s%s%s", path, *path ? "/" : "", entry.name) >=
		(int)sizeof(below) ||
	    ++walk->entries > REMOTE_COPY_FILES_MAX) {
		walk->cut = true;
		return walk->entries > REMOTE_COPY_FILES_MAX;
	}
	item = (struct workspace_remote_item){ .path = below,
					       .type = types[entry.type],
					       .mode = entry.mode,
					       .size = json_member_uint(row, "sizeBytes"),
					       .modified = json_member_text(row, "modified", NULL) };
	status = listing->call(listing->context, &item, err);
	if (status != 0 || entry.type != REMOTE_ENTRY_DIRECTORY || listing->flat ||
	    (listing->enters && !listing->enters(listing->context, below)))
		return status;
	return walk_directory(walk, below, level + 1, err);
}

static int walk_directory(struct walk *walk, const char *path, unsigned int level, struct warder_error *err)
{
	struct remote_list rows = { 0 };
	const enum listed listed = fetch_list(walk, path, &rows, err);
	const struct json_value *row = listed == LISTED ? rows.entries->child : NULL;
	int status = listed == LISTED_FAILED || (listed != LISTED && !level) ? -1 : 0;

	walk->cut |= listed == LISTED_CLOSED || (level == REMOTE_COPY_LEVELS_MAX && row);
	for (; row && status == 0 && level < REMOTE_COPY_LEVELS_MAX; row = row->next)
		status = walk_entry(walk, path, row, level, err);
	remote_list_done(&walk->lists, &rows);
	return status;
}

int workspace_remote_list(const struct remote_place *place, const struct workspace_remote_listing *listing,
			  bool *ret_cut, struct warder_error *err)
{
	struct walk walk = { .place = place, .listing = listing };
	const int status = walk_directory(&walk, listing->path, 0, err);

	*ret_cut = walk.cut;
	return status < 0 ? -1 : 0;
}

/* ---- files ---- */

/* *ret_status: of the answer, as in struct remote_asking. */
static int fetch_file(const struct remote_place *place, const char *path, char **ret, size_t *ret_len,
		      unsigned int *ret_status, struct warder_error *err)
{
	struct remote_asking how = { .large = true, .timeout_ms = 4 * REMOTE_QUESTION_MS };
	char rest[REMOTE_PATH_SIZE];
	int status = path_of("/files", path, rest, err);

	if (status == 0)
		status = remote_place_ask(place, rest, &how, ret, ret_len, err);
	*ret_status = how.status;
	return status;
}

int workspace_remote_read(const struct remote_place *place, const char *path, char **ret, size_t *ret_len,
			  struct warder_error *err)
{
	unsigned int ignored;

	return fetch_file(place, path, ret, ret_len, &ignored, err);
}

int workspace_remote_write(const struct remote_place *place, const char *path, const char *bytes, size_t len,
			   struct warder_error *err)
{
	struct remote_asking how = {
		.method = "PUT", .body = bytes, .body_len = len, .timeout_ms = 4 * REMOTE_QUESTION_MS
	};
	char rest[REMOTE_PATH_SIZE];

	return path_of("/files", path, rest, err) < 0 ? -1
						      : remote_place_ask(place, rest, &how, NULL, NULL, err);
}

/* ---- collect ---- */

/* A file that matches. */
struct found {
	char *path;    /* owned */
	uint64_t size; /* as the list says */
	bool stored;   /* below --to */
};

struct collecting {
	const struct remote_place *place;
	const struct workspace_remote_collect *what;
	struct found *files; /* owned */
	size_t count, files_max;
	uint64_t file_bytes, left;
	size_t outside; /* count of entries that matched, but were no files when they were read */
	bool cut;
	int to_fd; /* -1: none */
	struct json_writer w;
};

static bool matches(const struct collecting *c, const char *path)
{
	for (char *const *pattern = c->what->patterns; *pattern; pattern++)
		if (rootfs_match_all(*pattern, path))
			return true;
	return false;
}

static bool enters(void *context, const char *path)
{
	const struct collecting *c = context;

	for (char *const *pattern = c->what->patterns; *pattern; pattern++)
		if (rootfs_match_below(*pattern, path))
			return true;
	return false;
}

static int note(void *context, const struct workspace_remote_item *item, struct warder_error *err)
{
	struct collecting *c = context;
	struct found *grown;

	if (item->type != 'f' || !matches(c, item->path))
		return 0;
	if (c->count == c->files_max) {
		c->cut = true;
		return 1;
	}
	grown = reallocarray(c->files, c->count + 1, sizeof(*grown));
	if (!grown)
		return error_no_memory(err, NULL);
	c->files = grown;
	c->files[c->count] = (struct found){ .path = strdup(item->path), .size = item->size };
	return c->files[c->count].path && ++c->count ? 0 : error_no_memory(err, NULL);
}

static int in_order(const void *one, const void *other)
{
	return strcmp(((const struct found *)one)->path, ((const struct found *)other)->path);
}

static int cannot_write(const char *path, struct warder_error *err)
{
	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "--to", errno, "%.200s cannot be written",
			       path);
}

/* Before anything is fetched: nothing is overwritten. */
static int check_free(const struct collecting *c, struct warder_error *err)
{
	for (size_t i = 0; i < c->count && c->what->to; i++) {
		owned_fd int fd = path_open_no_links(c->to_fd, c->files[i].path, O_PATH | O_NOFOLLOW, err);

		errno = fd >= 0 || err->sys_errno == ELOOP ? EEXIST : err->sys_errno;
		if (errno != ENOENT)
			return cannot_write(c->files[i].path, err);
	}
	return 0;
}

/* Open the directory below --to that the file belongs in; make it if it is missing. -1 with errno. *ret_name: the last part of the path. */
static int open_parent(const struct collecting *c, const char *path, const char **ret_name)
{
	owned_fd int dir_fd = fcntl(c->to_fd, F_DUPFD_CLOEXEC, 3);
	char name[NAME_MAX + 1];

	for (const char *slash; dir_fd >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
		int next = -1;

		snprintf(name, sizeof(name), "%.*s", (int)(slash - path), path);
		if (mkdirat(dir_fd, name, 0755) == 0 || errno == EEXIST)
			next = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		fd_done(&dir_fd);
		dir_fd = next;
	}
	*ret_name = path;
	return fd_take(&dir_fd);
}

/* A new file below the directory of --to. */
static int store(const struct collecting *c, struct found *file, const char *bytes, size_t len,
		 struct warder_error *err)
{
	const char *name = file->path;
	owned_fd int dir_fd = open_parent(c, file->path, &name);
	owned_fd int fd = -1;

	if (dir_fd >= 0)
		fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	file->stored = fd >= 0;
	return fd < 0 || file_write_all(fd, bytes, len) < 0 ? cannot_write(file->path, err) : 0;
}

/* The collection has failed, and is to be possible again. Directories stay. */
static void take_back(const struct collecting *c)
{
	for (size_t i = 0; i < c->count; i++) {
		const char *name = NULL;
		owned_fd int dir_fd = c->files[i].stored ? open_parent(c, c->files[i].path, &name) : -1;

		if (dir_fd >= 0)
			unlinkat(dir_fd, name, 0);
	}
}

static void write_json(struct collecting *c, const char *path, const char *bytes, size_t kept, size_t len)
{
	json_begin_object(&c->w);
	text_write_name(&c->w, "path", "pathBase64", path);
	json_key_uint(&c->w, "size", len);
	json_key_bool(&c->w, "truncated", kept < len);
	if (!c->what->to)
		text_write(&c->w, "content", bytes, kept, kept < len);
	json_end_object(&c->w);
}

static void print_file(const char *path, uint64_t size, const char *note)
{
	printf("%12" PRIu64 " ", size);
	fflush(stdout);
	term_write(STDOUT_FILENO, path, strlen(path));
	puts(note);
}

/* A file whose content does not come: with the reason, in the form of a note. */
static void leave_out(struct collecting *c, const struct found *file, const char *why)
{
	char note[80];

	snprintf(note, sizeof(note), " (%s)", why);
	if (!c->what->json) {
		print_file(file->path, file->size, note);
		return;
	}
	json_begin_object(&c->w);
	text_write_name(&c->w, "path", "pathBase64", file->path);
	json_key_uint(&c->w, "size", file->size);
	json_key_bool(&c->w, "truncated", false);
	json_key_string(&c->w, "error", why);
	json_end_object(&c->w);
}

/* The answer says that the file is not there any more, or cannot be read. -1 with *err: it says something else. */
static int judge(struct collecting *c, const struct found *file, unsigned int status,
		 const struct warder_error *err)
{
	if (remote_place_is_gone(err) || (status != 400 && status != 403 && status != 404))
		return -1;
	if (status == 403)
		leave_out(c, file, "it cannot be read");
	else
		c->outside++;
	return 0;
}

static int collect_one(struct collecting *c, struct found *file, struct warder_error *err)
{
	unsigned int answered = 0;
	char *bytes = NULL;
	size_t len = 0, kept;
	int status = 0;

	if (file->size > REMOTE_RESULT_MAX) {
		c->cut = true;
		leave_out(c, file, "it has more than 16 MiB");
		return 0;
	}
	if (fetch_file(c->place, file->path, &bytes, &len, &answered, err) < 0)
		return judge(c, file, answered, err);
	kept = len < c->file_bytes ? len : (size_t)c->file_bytes;
	kept = kept < c->left ? kept : (size_t)c->left;
	c->left -= kept;
	c->cut |= kept < len;
	if (c->what->to)
		status = store(c, file, bytes, kept, err);
	if (c->what->json)
		write_json(c, file->path, bytes, kept, len);
	else if (status == 0)
		print_file(file->path, len, kept < len ? " (cut off)" : "");
	free(bytes);
	return status;
}

static int collect_files(struct collecting *c, struct warder_error *err)
{
	uint64_t renewed_ms = 0;
	int status = 0;

	for (size_t i = 0; i < c->count && status == 0; i++) {
		if (!c->left) {
			c->cut = true;
			break;
		}
		remote_place_keep(c->place, &renewed_ms);
		status = collect_one(c, &c->files[i], err);
	}
	return status;
}

/* What is missing. Returns whether a limit is the reason. */
static bool tell_missing(const struct collecting *c)
{
	if (c->outside && !c->what->json)
		term_complain("%zu left out: no regular file in the workspace any more", c->outside);
	if (c->cut)
		term_complain("this is not all: a limit was reached (--max-files, --max-file-size, "
			      "--max-size), or a directory lies too deep, or is closed to you");
	return c->cut;
}

static int collect_all(struct collecting *c, struct warder_error *err)
{
	const struct workspace_remote_listing listing = {
		.path = "", .call = note, .enters = enters, .context = c
	};
	bool cut = false;
	int status = workspace_remote_list(c->place, &listing, &cut, err);

	if (status < 0 || check_free(c, err) < 0)
		return -1;
	c->cut |= cut;
	if (c->count)
		qsort(c->files, c->count, sizeof(*c->files), in_order);
	json_begin_object(&c->w);
	json_key(&c->w, "files");
	json_begin_array(&c->w);
	status = collect_files(c, err);
	json_end_array(&c->w);
	json_key_bool(&c->w, "limitsHit", c->cut);
	json_key_uint(&c->w, "outside", c->outside);
	json_end_object(&c->w);
	if (status == 0 && c->what->json)
		status = term_put(json_take(&c->w), err);
	if (status == 0)
		return tell_missing(c);
	take_back(c);
	return -1;
}

int workspace_remote_collect(const struct remote_place *place, const struct workspace_remote_collect *what,
			     struct warder_error *err)
{
	owned_fd int to_fd = what->to ? open(what->to, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	struct collecting c = {
		.place = place,
		.what = what,
		.files_max = what->files_max ? what->files_max : FILES_MAX,
		.file_bytes = what->file_bytes ? what->file_bytes : FILE_BYTES,
		.left = what->total_bytes ? what->total_bytes : ALL_BYTES,
		.to_fd = to_fd,
	};
	int status;

	if (what->to && to_fd < 0)
		return error_set_errno(err, WARDER_ERROR_INVALID_REQUEST, "--to", errno,
				       "%.200s is not a directory to write to", what->to);
	status = collect_all(&c, err);
	while (c.count)
		free(c.files[--c.count].path);
	free(c.files);
	json_writer_done(&c.w);
	return status;
}
