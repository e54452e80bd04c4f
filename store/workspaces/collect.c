/*
 * Outputs of a workspace.
 *
 * A walk finds what matches (links are matched by their own names, and never walked into); then each is opened beneath the tree, as
 * one path, so that a link counts as the file it leads to if that is in the tree, and as nothing if it is not. What is read is
 * bounded by the limits, whatever a program does to the file meanwhile.
 *
 * What is to be saved is staged first, for all files, and gets its names at the end: with `strict` none of it does if something was cut off.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/mime.h"
#include "base/text.h"
#include "rootfs/rootfs.h"
#include "store/workspaces/private.h"

#define MATCHES_MAX   1000000
#define FILES_DEFAULT 100
#define FILE_DEFAULT  ((uint64_t)4 << 20)
#define TOTAL_DEFAULT ((uint64_t)64 << 20)

struct collecting {
	struct workspace *workspace;
	const struct workspace_collect *what;
	struct workspace_outputs *found;
	struct blobs blobs;
	struct blobs_content *contents; /* of the items, where they are saved */
	size_t files_max;
	uint64_t file_bytes, total_bytes, taken;
	char **paths; /* what matches, sorted */
	size_t path_count;
	char (*globs)[PATH_MAX];
	bool cut;
};

/* ---- globs ---- */

static const struct {
	const char *name, *path;
} roots[] = {
	{ "$WORKSPACE_DIR", "" },      { "${WORKSPACE_DIR}", "" }, { "$SKILLS_DIR", "skills" },
	{ "${SKILLS_DIR}", "skills" }, { "$WORK_DIR", "work" },    { "${WORK_DIR}", "work" },
	{ "$OUTPUT_DIR", "out" },      { "${OUTPUT_DIR}", "out" }, { WORKSPACE_INSIDE, "" },
};

const char *workspace_glob(const char *glob, char *buf)
{
	const char *below = "";
	size_t len;

	glob += strspn(glob, " \t\r\n");
	for (size_t i = 0; i < ARRAY_LENGTH(roots); i++) {
		const size_t n = strlen(roots[i].name);

		if (strncmp(glob, roots[i].name, n) == 0 && (glob[n] == '/' || !glob[n])) {
			below = roots[i].path;
			glob += n + strspn(glob + n, "/");
			break;
		}
	}
	while (strncmp(glob, "./", 2) == 0)
		glob += 2 + strspn(glob + 2, "/");
	snprintf(buf, PATH_MAX, "%s%s%s", below, *below && *glob ? "/" : "", glob);
	len = strlen(buf);
	while (len && strchr(" \t\r\n", buf[len - 1]))
		buf[--len] = '\0';
	return buf;
}

/* A glob that cannot match anything is a mistake that should be told. */
static const char *glob_fault(const char *glob)
{
	if (strlen(glob) >= PATH_MAX - 1)
		return "is too long";
	if (glob[0] == '/')
		return "is absolute; write it relative to the workspace";
	if (strncmp(glob, "$RUN_DIR", 8) == 0 || strncmp(glob, "${RUN_DIR}", 10) == 0)
		return "names the directory of one run, which only that run knows; write runs/ and the name "
		       "that "
		       "the run has printed, or runs/* for those of all";
	if (glob[0] == '$')
		return "begins with an unknown variable; known: $WORKSPACE_DIR, $SKILLS_DIR, $WORK_DIR, "
		       "$OUTPUT_DIR; a name that begins with $ is written [$]name";
	for (const char *at = glob; *at; at += strcspn(at, "/"), at += *at == '/') {
		const size_t n = strcspn(at, "/");

		if (n == 2 && memcmp(at, "..", 2) == 0)
			return "leads out of the workspace (path traversal)";
	}
	return NULL;
}

static int take_globs(struct collecting *c, struct warder_error *err)
{
	char shown[96];

	c->globs = calloc(c->what->glob_count + 1, PATH_MAX);
	if (!c->globs)
		return error_no_memory(err, NULL);
	for (size_t i = 0; i < c->what->glob_count; i++) {
		const char *fault = strlen(c->what->globs[i]) >= PATH_MAX / 2
					? "is too long"
					: glob_fault(workspace_glob(c->what->globs[i], c->globs[i]));

		if (fault)
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, "pattern", "%s %s",
					 json_quote(c->what->globs[i], shown, sizeof(shown)), fault);
	}
	return 0;
}

/* A directory by its plain name has no content of its own. */
static int check_directories(const struct collecting *c, struct warder_error *err)
{
	char shown[96], plain[PATH_MAX];
	struct warder_error ignored;

	for (size_t i = 0; i < c->what->glob_count; i++) {
		const char *glob = c->globs[i];
		owned_fd int fd = -1;

		if (!*glob || strpbrk(glob, "*?[\\"))
			continue;
		if (path_check_relative(glob, strlen(glob), &ignored) != 0)
			continue;
		fd = path_open_beneath(c->workspace->files_fd, path_plain(glob, plain), O_PATH | O_DIRECTORY,
				       &ignored);
		if (fd >= 0)
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, "pattern",
					 "%s is a directory; write %.40s%s** for all that is in it",
					 json_quote(c->what->globs[i], shown, sizeof(shown)),
					 c->what->globs[i], glob[strlen(glob) - 1] == '/' ? "" : "/");
	}
	return 0;
}

/* ---- what matches ---- */

static bool matches(const struct collecting *c, const char *path)
{
	for (size_t i = 0; i < c->what->glob_count; i++) {
		if (c->globs[i][0] && rootfs_match_all(c->globs[i], path))
			return true;
	}
	return false;
}

static int note_match(void *context, const struct workspace_item *item, struct warder_error *err)
{
	struct collecting *c = context;
	char **grown = c->paths;

	if ((item->type != 'f' && item->type != 'l') || !matches(c, item->path))
		return 0;
	if (c->path_count == MATCHES_MAX) {
		c->cut = true;
		return 0;
	}
	if (c->path_count % 256 == 0)
		grown = reallocarray(c->paths, c->path_count + 256, sizeof(char *));
	if (!grown)
		return error_no_memory(err, NULL);
	c->paths = grown;
	c->paths[c->path_count] = strdup(item->path);
	if (!c->paths[c->path_count])
		return error_no_memory(err, NULL);
	c->path_count++;
	return 0;
}

/* Read-only inputs are no outputs, nor are the placeholders that they are mounted on. */
static int drop_inputs(struct collecting *c, struct warder_error *err)
{
	struct workspace_metadata metadata;
	size_t kept = 0;

	if (workspace_metadata_load(c->workspace, &metadata, err) != 0)
		return -1;
	for (size_t i = 0; i < c->path_count; i++) {
		bool input = strcmp(c->paths[i], "metadata.json") == 0;

		for (size_t j = 0; j < metadata.input_count && !input; j++)
			input =
			    metadata.inputs[j].read_only && strcmp(metadata.inputs[j].dst, c->paths[i]) == 0;
		if (input)
			free(c->paths[i]);
		else
			c->paths[kept++] = c->paths[i];
	}
	c->path_count = kept;
	workspace_metadata_done(&metadata);
	return 0;
}

static int find_paths(struct collecting *c, struct warder_error *err)
{
	bool deep = false;

	if (take_globs(c, err) != 0 || check_directories(c, err) != 0 ||
	    workspace_list(c->workspace, ".", WORKSPACE_DEPTH_MAX, note_match, c, &deep, err) != 0)
		return -1;
	c->cut |= deep;
	c->found->limits_hit |= c->cut;
	if (c->paths)
		qsort(c->paths, c->path_count, sizeof(char *), text_order);
	return drop_inputs(c, err);
}

/* ---- one file ---- */

/* Up to `most` bytes of it, on the heap. -1: cannot be read, or no memory; errno. */
static int read_some(int fd, uint64_t size, uint64_t most, char **ret, uint64_t *ret_len, bool *ret_more)
{
	const size_t room = (size_t)(size < most ? size : most);
	char *bytes = malloc(room + 1);
	const ssize_t used = bytes ? file_read_up_to(fd, bytes, room) : -1;
	char more;

	if (used < 0) {
		free(bytes);
		return -1;
	}
	bytes[used] = '\0';
	*ret = bytes;
	*ret_len = (size_t)used;
	*ret_more = *ret_len == room && read(fd, &more, 1) > 0;
	return 0;
}

static const char *type_of(const char *path, int fd)
{
	char start[8192];
	const ssize_t len = pread(fd, start, sizeof(start), 0);

	return mime_type(path, start, len > 0 ? (size_t)len : 0);
}

static int refuse_existing(const char *path, struct warder_error *err)
{
	char shown[96];

	return error_set(err, WARDER_ERROR_CONFLICT, "to",
			 "%s is there already; remove it, or name another directory",
			 json_quote(path, shown, sizeof(shown)));
}

/* Before anything is copied: the caller's files are not overwritten. */
static int check_free(struct collecting *c, struct warder_error *err)
{
	for (size_t i = 0; i < c->path_count && c->what->to_fd > 0; i++) {
		owned_fd int fd = path_open_no_links(c->what->to_fd, c->paths[i], O_PATH | O_NOFOLLOW, err);

		if (fd >= 0 || err->sys_errno == ELOOP)
			return refuse_existing(c->paths[i], err);
		if (err->sys_errno != ENOENT)
			return -1;
	}
	return 0;
}

static int write_out(struct workspace *sink, const char *name, int fd, const struct workspace_output *item,
		     struct warder_error *err)
{
	char plain[PATH_MAX];
	const char *last;
	owned_fd int parent_fd = workspace_any_parent(sink, item->path, true, plain, &last, err);

	if (parent_fd < 0)
		return -1;
	if (fchmod(fd, 0644 | (item->mode & 0111)) != 0 || fsync(fd) != 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "to", errno, "%.200s cannot be written",
				       item->path);
	if (renameat2(sink->dir_fd, name, parent_fd, last, RENAME_NOREPLACE) == 0)
		return store_sync(parent_fd, "to", err);
	return errno == EEXIST ? refuse_existing(item->path, err)
			       : error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "to", errno,
						 "%.200s cannot be written", item->path);
}

/* Copy up to `most` bytes into the directory that was named. */
static int copy_out(struct collecting *c, struct workspace_output *item, int fd, uint64_t most,
		    bool *ret_more, struct warder_error *err)
{
	/* A directory of the caller's serves as a tree without anything beside it. */
	struct workspace sink = { .dir_fd = c->what->to_fd, .files_fd = c->what->to_fd };
	char name[STORE_NAME_MAX], chunk[65536], more;
	owned_fd int to_fd = workspace_new_file(&sink, name, err);

	if (to_fd < 0)
		return -1;
	while (item->read < most) {
		const uint64_t left = most - item->read;
		ssize_t n = read(fd, chunk, left < sizeof(chunk) ? (size_t)left : sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		if (write(to_fd, chunk, (size_t)n) != n) {
			error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "to", errno,
					"%.200s cannot be written", item->path);
			unlinkat(sink.dir_fd, name, 0);
			return -1;
		}
		item->read += (uint64_t)n;
		if (c->what->on_bytes)
			c->what->on_bytes(c->what->context, (uint64_t)n);
	}
	*ret_more = item->read == most && read(fd, &more, 1) > 0;
	if (write_out(&sink, name, to_fd, item, err) == 0)
		return 0;
	unlinkat(sink.dir_fd, name, 0);
	return -1;
}

/* Returns 0; 1: it cannot be read; -1 with *err. */
static int take_bytes(struct collecting *c, struct workspace_output *item, int fd, uint64_t most,
		      struct blobs_content *content, struct warder_error *err)
{
	bool more = false;

	if (c->what->to_fd > 0) {
		if (copy_out(c, item, fd, most, &more, err) != 0 || lseek(fd, 0, SEEK_SET) != 0)
			return -1;
	} else if (!c->what->inlined && !c->what->artifacts) {
		item->read = item->size < most ? item->size : most;
		more = item->size > most;
	}
	if (c->what->inlined && read_some(fd, item->size, most, &item->bytes, &item->read, &more) != 0)
		return 1;
	if (c->what->artifacts && item->bytes) {
		if (blobs_put_bytes(&c->blobs, item->bytes, (size_t)item->read, content, err) != 0)
			return -1;
	} else if (c->what->artifacts) {
		if (blobs_put_fd(&c->blobs, fd, most, content, &more, err) != 0)
			return -1;
		item->read = content->size;
	}
	item->truncated = more;
	return 0;
}

static int add_item(struct collecting *c, const char *path, struct warder_error *err)
{
	struct workspace_outputs *found = c->found;

	if (found->count % 64 == 0) {
		struct workspace_output *items =
		    reallocarray(found->items, found->count + 64, sizeof(*items));
		struct blobs_content *contents =
		    items ? reallocarray(c->contents, found->count + 64, sizeof(*contents)) : NULL;

		if (items)
			found->items = items;
		if (!contents)
			return error_no_memory(err, NULL);
		c->contents = contents;
	}
	found->items[found->count] = (struct workspace_output){ .path = strdup(path) };
	c->contents[found->count] = (struct blobs_content){ 0 };
	if (!found->items[found->count].path)
		return error_no_memory(err, NULL);
	found->count++;
	return 0;
}

static int take_open(struct collecting *c, const char *path, int fd, struct warder_error *err)
{
	const uint64_t left = c->total_bytes - c->taken, most = left < c->file_bytes ? left : c->file_bytes;
	struct workspace_output *item;
	struct stat st = { 0 };
	int taken;

	if (add_item(c, path, err) != 0)
		return -1;
	item = &c->found->items[c->found->count - 1];
	if (fd < 0 || fstat(fd, &st) != 0) {
		item->why = "it cannot be read";
		item->type = "application/octet-stream";
		return 0;
	}
	item->size = (uint64_t)st.st_size;
	item->mode = st.st_mode & 0777;
	item->type = type_of(path, fd);
	taken = take_bytes(c, item, fd, most, &c->contents[c->found->count - 1], err);
	if (taken > 0) {
		item->why = "it cannot be read to its end";
		item->type = "application/octet-stream";
		item->read = 0;
	}
	c->found->limits_hit |= item->truncated;
	c->taken += item->read;
	return taken < 0 ? -1 : 0;
}

/* 0: go on; 1: a limit is reached; -1. */
static int take_path(struct collecting *c, const char *path, struct warder_error *err)
{
	owned_fd int fd = -1;
	struct stat st;

	if (c->found->count >= c->files_max || c->taken >= c->total_bytes) {
		c->found->limits_hit = true;
		return 1;
	}
	fd = path_open_beneath(c->workspace->files_fd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, err);
	if (fd < 0 && err->sys_errno != EACCES && err->sys_errno != EPERM) {
		c->found->outside++; /* leads out or nowhere, or is gone */
		return 0;
	}
	if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
		c->found->outside++;
		return 0;
	}
	return take_open(c, path, fd, err);
}

/* ---- saving ---- */

/* The name of its artifact; one that no artifact can have is told of, and the others are saved. */
static int name_one(struct collecting *c, struct workspace_output *item, struct warder_error *err)
{
	const char *prefix = c->what->name_template ? c->what->name_template : "", *fault;
	char plain[ARTIFACTS_NAME_MAX], shown[96];

	if (item->why)
		return 0;
	if (asprintf(&item->name, "%s%s", prefix, item->path) < 0) {
		item->name = NULL;
		return error_no_memory(err, NULL);
	}
	fault = artifact_name_fault(item->name);
	if (fault && c->what->strict)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "artifact",
				 "the name %s %s; nothing is saved",
				 json_quote(item->name, shown, sizeof(shown)), fault);
	if (fault) {
		free(item->name);
		item->name = NULL;
		item->why = "no artifact can have this name; it is not saved";
		return 0;
	}
	snprintf(item->name, strlen(item->name) + 1, "%s", path_plain(item->name, plain));
	return 0;
}

/* With `strict`, it is all or nothing. */
static int check_whole(struct collecting *c, struct warder_error *err)
{
	for (size_t i = 0; i < c->found->count; i++) {
		if (c->found->items[i].truncated)
			return error_set(
			    err, WARDER_ERROR_INVALID_REQUEST, "strict",
			    "%.200s would be cut off by a limit; nothing is saved; raise the limit",
			    c->found->items[i].path);
	}
	if (c->cut)
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, "strict",
		    "a directory lies too deep or is closed to you, or too much matches; nothing "
		    "is saved");
	return 0;
}

static int save_all(struct collecting *c, struct warder_error *err)
{
	int status = c->what->strict ? check_whole(c, err) : 0;

	for (size_t i = 0; i < c->found->count && status == 0; i++)
		status = name_one(c, &c->found->items[i], err);
	if (status != 0 || blobs_commit(&c->blobs, err) != 0)
		return -1;
	for (size_t i = 0; i < c->found->count && status == 0; i++) {
		struct workspace_output *item = &c->found->items[i];

		if (item->name)
			status = artifacts_commit(c->what->artifacts, &c->blobs, item->name, item->type,
						  &c->contents[i], &item->version, err);
	}
	return status;
}

static char *record_text(const struct collecting *c)
{
	struct json_writer w = { 0 };
	char now[40];

	json_begin_object(&w);
	json_key(&w, "globs");
	json_begin_array(&w);
	for (size_t i = 0; i < c->what->glob_count; i++)
		json_string(&w, c->what->globs[i]);
	json_end_array(&w);
	json_key(&w, "saved_as");
	json_begin_array(&w);
	for (size_t i = 0; i < c->found->count; i++) {
		if (c->found->items[i].name)
			json_string(&w, c->found->items[i].name);
	}
	json_end_array(&w);
	json_key(&w, "versions");
	json_begin_array(&w);
	for (size_t i = 0; i < c->found->count; i++) {
		if (c->found->items[i].name)
			json_uint(&w, c->found->items[i].version);
	}
	json_end_array(&w);
	json_key_bool(&w, "limits_hit", c->found->limits_hit);
	json_key_string(&w, "ts", store_time(time(NULL), now));
	json_end_object(&w);
	return json_take(&w);
}

static int record(void *context, struct workspace_metadata *metadata, struct warder_error *err)
{
	return workspace_metadata_output(metadata, record_text(context), err);
}

/* ---- door ---- */

static int collect(struct collecting *c, struct warder_error *err)
{
	int status = find_paths(c, err);

	if (status == 0)
		status = check_free(c, err);
	for (size_t i = 0; i < c->path_count && status == 0; i++)
		status = take_path(c, c->paths[i], err);
	if (status < 0)
		return -1;
	if (c->what->artifacts && save_all(c, err) != 0)
		return -1;
	return workspace_metadata_change(c->workspace, record, c, err);
}

static void collecting_done(struct collecting *c)
{
	for (size_t i = 0; i < c->path_count; i++)
		free(c->paths[i]);
	for (size_t i = 0; i < c->found->count && c->contents; i++)
		blobs_content_done(&c->contents[i]);
	free(c->paths);
	free(c->contents);
	free(c->globs);
	blobs_done(&c->blobs);
}

int workspace_collect(struct workspace *workspace, const struct workspace_collect *what,
		      struct workspace_outputs *ret, struct warder_error *err)
{
	struct collecting c = {
		.workspace = workspace,
		.what = what,
		.found = ret,
		.blobs = BLOBS_NONE,
		.files_max = what->files_max ? what->files_max : FILES_DEFAULT,
		.file_bytes = what->file_bytes ? what->file_bytes : FILE_DEFAULT,
		.total_bytes = what->total_bytes ? what->total_bytes : TOTAL_DEFAULT,
	};
	int status = 0;

	*ret = (struct workspace_outputs){ 0 };
	if ((what->name_template || what->strict) && !what->artifacts)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "artifact",
				 "there is no store of artifacts to save in");
	if (what->artifacts)
		status = artifacts_begin(what->artifacts, &c.blobs, err);
	c.blobs.on_bytes = what->on_bytes;
	c.blobs.context = what->context;
	if (status == 0)
		status = collect(&c, err);
	collecting_done(&c);
	if (status != 0)
		workspace_outputs_done(ret);
	return status;
}

void workspace_outputs_done(struct workspace_outputs *outputs)
{
	for (size_t i = 0; i < outputs->count; i++) {
		free(outputs->items[i].path);
		free(outputs->items[i].bytes);
		free(outputs->items[i].name);
	}
	free(outputs->items);
	*outputs = (struct workspace_outputs){ 0 };
}

/* ---- as JSON ---- */

static void write_output(struct json_writer *w, const struct workspace_output *output)
{
	json_begin_object(w);
	text_write_name(w, "path", "pathBase64", output->path);
	json_key_uint(w, "size", output->size);
	json_key_string(w, "contentType", output->type);
	json_key_bool(w, "truncated", output->truncated);
	if (output->why)
		json_key_string(w, "error", output->why);
	if (output->bytes)
		text_write(w, "content", output->bytes, (size_t)output->read, output->truncated);
	if (output->name) {
		json_key_string(w, "artifact", output->name);
		json_key_uint(w, "version", output->version);
	}
	json_end_object(w);
}

void workspace_outputs_write(const struct workspace_outputs *outputs, struct json_writer *w)
{
	json_begin_object(w);
	json_key(w, "files");
	json_begin_array(w);
	for (size_t i = 0; i < outputs->count; i++)
		write_output(w, &outputs->items[i]);
	json_end_array(w);
	json_key_bool(w, "limitsHit", outputs->limits_hit);
	json_key_uint(w, "outside", outputs->outside);
	json_end_object(w);
}

/* ---- digest ---- */

static int note_file(void *context, const struct workspace_item *item, struct warder_error *err)
{
	struct collecting *c = context;
	char **grown = c->paths;

	if (item->type != 'f')
		return 0;
	if (c->path_count % 256 == 0)
		grown = reallocarray(c->paths, c->path_count + 256, sizeof(char *));
	if (!grown || c->path_count == MATCHES_MAX)
		return error_no_memory(err, NULL);
	c->paths = grown;
	c->paths[c->path_count] = strdup(item->path);
	return c->paths[c->path_count] && ++c->path_count ? 0 : error_no_memory(err, NULL);
}

static int add_file(struct workspace *workspace, struct sha256 *sha, const char *path, const char *name,
		    struct warder_error *err)
{
	owned_fd int fd = workspace_file(workspace, path, err);
	char chunk[65536];
	ssize_t n;

	if (fd < 0)
		return -1;
	sha256_add(sha, name, strlen(name) + 1);
	while ((n = read(fd, chunk, sizeof(chunk))) > 0)
		sha256_add(sha, chunk, (size_t)n);
	sha256_add(sha, "", 1);
	return n == 0 ? 0
		      : error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "path", errno, "%.200s cannot be read",
					path);
}

int workspace_digest(struct workspace *workspace, const char *path, char *ret, struct warder_error *err)
{
	struct workspace_outputs none = { 0 };
	struct collecting c = { .found = &none, .blobs = BLOBS_NONE };
	struct sha256 sha;
	bool deep = false;
	int status = workspace_list(workspace, path, WORKSPACE_DEPTH_MAX, note_file, &c, &deep, err);

	if (c.paths)
		qsort(c.paths, c.path_count, sizeof(char *), text_order);
	sha256_init(&sha);
	for (size_t i = 0; i < c.path_count && status == 0; i++)
		status = add_file(workspace, &sha, c.paths[i], c.paths[i] + strlen(path) + 1, err);
	sha256_hex(&sha, ret);
	if (status == 0 && deep)
		status =
		    error_set(err, WARDER_ERROR_INVALID_REQUEST, "path",
			      "%.200s has a directory that lies too deep, or that is closed to you", path);
	collecting_done(&c);
	return status;
}
