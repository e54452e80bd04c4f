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
	bool flat;
	int (*call)(void *context, const struct workspace_remote_item *item, struct warder_error *err);
	void *context;
	size_t entries;
	struct remote_lists lists;
	uint64_t renewed_ms;
};

static int bad_list(const struct walk *walk, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_UNAVAILABLE, "backend",
			 "%s: the list of a directory is not valid, or too long",
			 walk->place->session.backend);
}

/* *ret is to be ended by remote_list_done(). */
static int fetch_list(struct walk *walk, const char *path, struct remote_list *ret, struct warder_error *err)
{
	struct remote_asking how = { .large = true, .timeout_ms = 4 * REMOTE_QUESTION_MS };
	char rest[REMOTE_PATH_SIZE];
	char *text = NULL;
	size_t len = 0;
	int status = path_of("/directories", path, rest, err);

	remote_place_keep(walk->place, &walk->renewed_ms);
	if (status == 0)
		status = remote_place_ask(walk->place, rest, &how, &text, &len, err);
	if (status == 0)
		status = remote_list_read(&walk->lists, walk->place->session.backend,
					  *path ? path : WORKSPACE_REMOTE_ROOT, text, len, ret, err);
	free(text);
	return status;
}

static bool take_item(const struct json_value *entry, struct workspace_remote_item *ret,
		      const char **ret_name)
{
	const char *type = entry->type == JSON_OBJECT ? json_member_text(entry, "type", "") : "";
	const char *name = entry->type == JSON_OBJECT ? json_member_text(entry, "name", "") : "";

	*ret = (struct workspace_remote_item){
		.type = strcmp(type, "file") == 0        ? 'f'
			: strcmp(type, "directory") == 0 ? 'd'
			: strcmp(type, "link") == 0      ? 'l'
							 : 'o',
		.mode = (unsigned int)(json_member_uint(entry, "mode") & 07777),
		.size = json_member_uint(entry, "sizeBytes"),
		.modified = json_member_text(entry, "modified", NULL),
	};
	*ret_name = name;
	return *name && strlen(name) <= NAME_MAX && !strchr(name, '/') && strcmp(name, ".") != 0 &&
	       strcmp(name, "..") != 0;
}

static int walk_directory(struct walk *walk, const char *path, unsigned int level, struct warder_error *err)
{
	struct remote_list rows = { 0 };
	char below[PATH_MAX];
	int status = fetch_list(walk, path, &rows, err);

	for (const struct json_value *row = rows.entries ? rows.entries->child : NULL; row && status == 0;
	     row = row->next) {
		struct workspace_remote_item item;
		const char *name;

		if (!take_item(row, &item, &name) || ++walk->entries > REMOTE_COPY_FILES_MAX ||
		    level == REMOTE_COPY_LEVELS_MAX ||
		    snprintf(below, sizeof(below), "%s%s%s", path, *path ? "/" : "", name) >=
			(int)sizeof(below)) {
			status = bad_list(walk, err);
			break;
		}
		item.path = below;
		status = walk->call(walk->context, &item, err);
		if (status == 0 && item.type == 'd' && !walk->flat)
			status = walk_directory(walk, below, level + 1, err);
	}
	remote_list_done(&walk->lists, &rows);
	return status;
}

int workspace_remote_list(const struct remote_place *place, const char *path, bool flat,
			  int (*call)(void *context, const struct workspace_remote_item *item,
				      struct warder_error *err),
			  void *context, struct warder_error *err)
{
	struct walk walk = { .place = place, .flat = flat, .call = call, .context = context };

	return walk_directory(&walk, path, 0, err);
}

/* ---- files ---- */

int workspace_remote_read(const struct remote_place *place, const char *path, char **ret, size_t *ret_len,
			  struct warder_error *err)
{
	struct remote_asking how = { .large = true, .timeout_ms = 4 * REMOTE_QUESTION_MS };
	char rest[REMOTE_PATH_SIZE];

	return path_of("/files", path, rest, err) < 0
		   ? -1
		   : remote_place_ask(place, rest, &how, ret, ret_len, err);
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

struct collecting {
	const struct remote_place *place;
	const struct workspace_remote_collect *what;
	char **paths; /* owned */
	size_t count, files_max;
	uint64_t file_bytes, left;
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

static int note(void *context, const struct workspace_remote_item *item, struct warder_error *err)
{
	struct collecting *c = context;
	char **grown;

	if (item->type != 'f' || !matches(c, item->path))
		return 0;
	if (c->count == c->files_max) {
		c->cut = true;
		return 1;
	}
	grown = reallocarray(c->paths, c->count + 1, sizeof(*grown));
	if (!grown)
		return error_no_memory(err, NULL);
	c->paths = grown;
	c->paths[c->count] = strdup(item->path);
	return c->paths[c->count] && ++c->count ? 0 : error_no_memory(err, NULL);
}

static int in_order(const void *one, const void *other)
{
	return strcmp(*(char *const *)one, *(char *const *)other);
}

static int cannot_write(const char *path, struct warder_error *err)
{
	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "--to", errno, "%.200s cannot be written",
			       path);
}

/* A new file below the directory of --to. */
static int store(const struct collecting *c, const char *path, const char *bytes, size_t len,
		 struct warder_error *err)
{
	owned_fd int dir_fd = fcntl(c->to_fd, F_DUPFD_CLOEXEC, 3);
	owned_fd int fd = -1;
	char name[NAME_MAX + 1];

	for (const char *slash; dir_fd >= 0 && (slash = strchr(path, '/')); path = slash + 1) {
		int next;

		snprintf(name, sizeof(name), "%.*s", (int)(slash - path), path);
		if (mkdirat(dir_fd, name, 0755) < 0 && errno != EEXIST)
			return cannot_write(name, err);
		next = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		fd_done(&dir_fd);
		dir_fd = next;
	}
	if (dir_fd >= 0)
		fd = openat(dir_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	return fd < 0 || file_write_all(fd, bytes, len) < 0 ? cannot_write(path, err) : 0;
}

static void write_json(struct collecting *c, const char *path, const char *bytes, size_t kept, size_t len)
{
	json_begin_object(&c->w);
	json_key_string(&c->w, "path", path);
	json_key_uint(&c->w, "size", len);
	json_key_bool(&c->w, "truncated", kept < len);
	if (!c->what->to)
		text_write(&c->w, "content", bytes, kept, kept < len);
	json_end_object(&c->w);
}

static int collect_one(struct collecting *c, const char *path, struct warder_error *err)
{
	char *bytes = NULL;
	size_t len = 0, kept;
	int status = workspace_remote_read(c->place, path, &bytes, &len, err);

	if (status < 0)
		return -1;
	kept = len < c->file_bytes ? len : (size_t)c->file_bytes;
	kept = kept < c->left ? kept : (size_t)c->left;
	c->left -= kept;
	c->cut |= kept < len;
	if (c->what->to)
		status = store(c, path, bytes, kept, err);
	if (c->what->json) {
		write_json(c, path, bytes, kept, len);
	} else if (status == 0) {
		printf("%12zu ", len);
		fflush(stdout);
		term_write(STDOUT_FILENO, path, strlen(path));
		puts(kept < len ? " (cut off)" : "");
	}
	free(bytes);
	return status;
}

static int collect_all(struct collecting *c, struct warder_error *err)
{
	uint64_t renewed_ms = 0;
	int status = workspace_remote_list(c->place, "", false, note, c, err);

	if (status < 0)
		return -1;
	if (c->count)
		qsort(c->paths, c->count, sizeof(*c->paths), in_order);
	json_begin_object(&c->w);
	json_key(&c->w, "files");
	json_begin_array(&c->w);
	status = 0;
	for (size_t i = 0; i < c->count && status == 0; i++) {
		remote_place_keep(c->place, &renewed_ms);
		status = collect_one(c, c->paths[i], err);
	}
	json_end_array(&c->w);
	json_key_bool(&c->w, "limitsHit", c->cut);
	json_end_object(&c->w);
	if (status == 0 && c->what->json)
		status = term_put(json_take(&c->w), err);
	if (status == 0 && c->cut)
		term_complain(
		    "this is not all: a limit was reached (--max-files, --max-file-size, --max-size)");
	return status == 0 && c->cut ? 1 : status;
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
		free(c.paths[--c.count]);
	free(c.paths);
	json_writer_done(&c.w);
	return status;
}
