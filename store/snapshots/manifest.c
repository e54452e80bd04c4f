#include "store/snapshots/manifest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "rootfs/rootfs.h"

static const char field[] = "snapshot";

static const char *const type_names[] = {
	[MANIFEST_DIRECTORY] = "directory", [MANIFEST_FILE] = "file", [MANIFEST_LINK] = "link",
	[MANIFEST_HARD_LINK] = "hardLink",  [MANIFEST_PIPE] = "pipe",
};

#define TYPES (ARRAY_LENGTH(type_names))

static int damaged(const char *what, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_INTERNAL, field, "the snapshot is damaged: %s", what);
}

void manifest_entry_done(struct manifest_entry *entry)
{
	free(entry->path);
	free(entry->target);
	for (size_t i = 0; i < entry->attribute_count; i++) {
		free(entry->attributes[i].name);
		free(entry->attributes[i].value);
	}
	free(entry->attributes);
	blobs_content_done(&entry->content);
	*entry = (struct manifest_entry){ 0 };
}

/* ---- writing ---- */

static int write_line(struct manifest_writer *writer, struct json_writer *w, struct warder_error *err)
{
	const size_t len = w->len;
	char *text = json_take(w);
	int status = 0;

	if (!text)
		return error_no_memory(err, field);
	sha256_add(&writer->sha, text, len);
	sha256_add(&writer->sha, "\n", 1);
	if (len > MANIFEST_LINE_MAX)
		status =
		    error_set(err, WARDER_ERROR_INVALID_REQUEST, field, "a file is too large for a snapshot");
	else if (file_write_all(writer->fd, text, len) != 0 || file_write_all(writer->fd, "\n", 1) != 0)
		status = error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, errno,
					 "the snapshot cannot be written");
	free(text);
	return status;
}

int manifest_begin(struct manifest_writer *writer, int fd, const struct snapshot *snapshot,
		   const char *metadata, struct warder_error *err)
{
	struct json_writer w = { 0 };

	*writer = (struct manifest_writer){ .fd = fd };
	sha256_init(&writer->sha);
	json_begin_object(&w);
	json_key_uint(&w, "version", 1);
	json_key_string(&w, "id", snapshot->id);
	json_key_string(&w, "workspace", snapshot->workspace);
	json_key_string(&w, "createdAt", snapshot->created);
	json_key_uint(&w, "createdNanoseconds", (uint64_t)snapshot->created_ns);
	json_key_string(&w, "metadata", metadata);
	json_end_object(&w);
	return write_line(writer, &w, err);
}

/* A name need not be text. */
static void write_bytes(struct json_writer *w, const char *key, const char *base64_key, const char *text)
{
	char *encoded;

	if (json_is_utf8(text)) {
		json_key_string(w, key, text);
		return;
	}
	encoded = text_base64(text, strlen(text));
	if (encoded)
		json_key_string(w, base64_key, encoded);
	else
		json_fail(w);
	free(encoded);
}

static void write_attributes(struct json_writer *w, const struct manifest_entry *entry)
{
	json_key(w, "attributes");
	json_begin_object(w);
	for (size_t i = 0; i < entry->attribute_count; i++) {
		const struct manifest_attribute *attribute = &entry->attributes[i];
		char *encoded = text_base64(attribute->value, attribute->len);

		if (encoded)
			json_key_string(w, attribute->name, encoded);
		else
			json_fail(w);
		free(encoded);
	}
	json_end_object(w);
}

int manifest_add(struct manifest_writer *writer, const struct manifest_entry *entry, struct warder_error *err)
{
	struct json_writer w = { 0 };

	json_begin_object(&w);
	json_key_string(&w, "type", type_names[entry->type]);
	write_bytes(&w, "path", "pathBase64", entry->path);
	if (entry->target)
		write_bytes(&w, "target", "targetBase64", entry->target);
	json_key_uint(&w, "mode", entry->mode);
	json_key(&w, "seconds");
	json_int(&w, entry->mtime.tv_sec);
	json_key_uint(&w, "nanoseconds", (uint64_t)entry->mtime.tv_nsec);
	if (entry->owned) {
		json_key_uint(&w, "uid", entry->uid);
		json_key_uint(&w, "gid", entry->gid);
	}
	if (entry->attribute_count)
		write_attributes(&w, entry);
	if (entry->type == MANIFEST_FILE)
		blobs_content_write(&entry->content, &w);
	json_end_object(&w);
	writer->entries++;
	writer->bytes += entry->content.size;
	return write_line(writer, &w, err);
}

int manifest_end(struct manifest_writer *writer, uint64_t left_out, struct warder_error *err)
{
	struct json_writer w = { 0 };
	char digest[SHA256_HEX];

	sha256_hex(&writer->sha, digest);
	sha256_init(&writer->sha);
	json_begin_object(&w);
	json_key_uint(&w, "entries", writer->entries);
	json_key_uint(&w, "bytes", writer->bytes);
	json_key_uint(&w, "leftOut", left_out);
	json_key_string(&w, "sha256", digest);
	json_end_object(&w);
	return write_line(writer, &w, err);
}

/* ---- one line ---- */

static bool number_of(const struct json_value *object, const char *key, uint64_t most, uint64_t *ret)
{
	const struct json_value *value = json_member(object, key);

	if (!value || !value->is_uint || value->uint > most)
		return false;
	*ret = value->uint;
	return true;
}

/* As written by write_bytes(); heap, or NULL: it is not there, is not what it should be, or has a NUL in it. */
static char *read_bytes(const struct json_value *object, const char *key, const char *base64_key)
{
	const char *text = json_member_text(object, key, NULL),
		   *encoded = json_member_text(object, base64_key, NULL);
	size_t len;
	char *bytes;

	if (text)
		return strdup(text);
	bytes = encoded ? text_unbase64(encoded, strlen(encoded), &len) : NULL;
	if (bytes && strlen(bytes) == len)
		return bytes;
	free(bytes);
	return NULL;
}

/* Below one of the two roots, plain: nothing that this makes can lie elsewhere. */
static bool is_inside(const char *path)
{
	struct warder_error ignored;
	char plain[PATH_MAX];

	if (path_check_relative(path, strlen(path), &ignored) != 0)
		return false;
	path_plain(path, plain);
	return strcmp(path, plain) == 0 && (strcmp(path, "files") == 0 || strncmp(path, "files/", 6) == 0 ||
					    strcmp(path, "inputs") == 0 || strncmp(path, "inputs/", 7) == 0);
}

static bool read_time(const struct json_value *object, struct timespec *ret)
{
	const struct json_value *seconds = json_member(object, "seconds");
	uint64_t nanoseconds;

	if (!seconds || seconds->type != JSON_NUMBER || seconds->number < -1e15 || seconds->number > 1e15 ||
	    !number_of(object, "nanoseconds", 999999999, &nanoseconds))
		return false;
	ret->tv_sec = (time_t)seconds->number;
	ret->tv_nsec = (long)nanoseconds;
	return true;
}

static int read_attribute(const struct json_value *member, struct manifest_entry *entry)
{
	struct manifest_attribute *attribute = &entry->attributes[entry->attribute_count];

	if (member->type != JSON_STRING || strncmp(member->key, "user.", 5) != 0 ||
	    strlen(member->key) > NAME_MAX)
		return -1;
	attribute->value = text_unbase64(member->string, strlen(member->string), &attribute->len);
	if (!attribute->value)
		return -1;
	entry->attribute_count++;
	attribute->name = strdup(member->key);
	return attribute->name && attribute->len <= MANIFEST_ATTRIBUTE_BYTES ? 0 : -1;
}

/* Who it belonged to, and what the user has attached to it, if that was kept. -1: it is not what it should be. */
static int read_owner(const struct json_value *object, struct manifest_entry *entry)
{
	const struct json_value *attributes = json_member(object, "attributes");
	uint64_t uid, gid;

	if (json_member(object, "uid")) {
		if (!number_of(object, "uid", UINT32_MAX - 1, &uid) ||
		    !number_of(object, "gid", UINT32_MAX - 1, &gid))
			return -1;
		entry->owned = true;
		entry->uid = (uint32_t)uid;
		entry->gid = (uint32_t)gid;
	}
	if (!attributes)
		return 0;
	entry->attributes = calloc(MANIFEST_ATTRIBUTES_MAX, sizeof(*entry->attributes));
	if (attributes->type != JSON_OBJECT || !entry->attributes)
		return -1;
	for (const struct json_value *each = attributes->child; each; each = each->next) {
		if (entry->attribute_count == MANIFEST_ATTRIBUTES_MAX || read_attribute(each, entry) != 0)
			return -1;
	}
	return 0;
}

static int decode(const struct json_value *object, struct manifest_entry *entry, struct warder_error *err)
{
	const char *type = json_member_text(object, "type", NULL);
	uint64_t mode;
	size_t kind = 0;

	while (type && kind < TYPES && strcmp(type, type_names[kind]) != 0)
		kind++;
	if (!type || kind == TYPES)
		return damaged("an entry has no type that is known", err);
	entry->type = (enum manifest_type)kind;
	entry->path = read_bytes(object, "path", "pathBase64");
	if (!entry->path || !is_inside(entry->path))
		return damaged("an entry has no path in the workspace", err);
	if (!number_of(object, "mode", 07777, &mode) || !read_time(object, &entry->mtime))
		return damaged("an entry has no mode or no time", err);
	entry->mode = (uint32_t)mode;
	if (read_owner(object, entry) != 0)
		return damaged("an entry has an owner or an attribute that cannot be", err);
	if (entry->type == MANIFEST_LINK || entry->type == MANIFEST_HARD_LINK) {
		entry->target = read_bytes(object, "target", "targetBase64");
		if (!entry->target || !*entry->target ||
		    (entry->type == MANIFEST_HARD_LINK && !is_inside(entry->target)))
			return damaged("a link leads nowhere", err);
	}
	if (entry->type == MANIFEST_FILE && blobs_content_read(object, &entry->content, err) != 0)
		return damaged("a file has no content", err);
	return 0;
}

int manifest_entry_decode(const struct json_value *object, struct manifest_entry *ret,
			  struct warder_error *err)
{
	struct manifest_entry entry = { 0 };

	if (decode(object, &entry, err) != 0) {
		manifest_entry_done(&entry);
		return -1;
	}
	*ret = entry;
	return 0;
}

static int parse_line(const char *line, size_t len, struct json_value **ret, struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = MANIFEST_LINE_MAX + 1, .max_depth = 4 };

	if (json_parse(line, len, field, &limits, ret, err) != 0)
		return damaged("a line is not JSON", err);
	if ((*ret)->type == JSON_OBJECT)
		return 0;
	json_free(*ret);
	*ret = NULL;
	return damaged("a line is not an object", err);
}

/* ---- all of it ---- */

struct reading {
	FILE *file;
	char *line;
	size_t room;
	struct sha256 sha;
	struct snapshot *snapshot;
	uint64_t entries, bytes;
};

/* Without its newline: its length; 0 at the end; -1. */
static ssize_t next_line(struct reading *reading, struct warder_error *err)
{
	ssize_t len = getline(&reading->line, &reading->room, reading->file);

	if (len <= 0)
		return 0;
	if ((size_t)len > MANIFEST_LINE_MAX || reading->line[len - 1] != '\n')
		return damaged("it has no end", err);
	reading->line[--len] = '\0';
	return len;
}

static int read_head(struct reading *reading, ssize_t len,
		     int (*head)(void *context, const char *metadata, struct warder_error *err),
		     void *context, struct warder_error *err)
{
	struct snapshot *snapshot = reading->snapshot;
	struct json_value *object = NULL;
	const char *id, *workspace, *created, *metadata;
	uint64_t version, seconds;
	int status = 0;

	if (len <= 0 || parse_line(reading->line, (size_t)len, &object, err) != 0)
		return damaged("it is empty", err);
	id = json_member_text(object, "id", NULL);
	workspace = json_member_text(object, "workspace", NULL);
	created = json_member_text(object, "createdAt", NULL);
	metadata = json_member_text(object, "metadata", NULL);
	if (!number_of(object, "version", 1, &version) || version != 1 || !id ||
	    strlen(id) >= sizeof(snapshot->id) || !workspace ||
	    strlen(workspace) >= sizeof(snapshot->workspace) || !created ||
	    strlen(created) >= sizeof(snapshot->created) || !metadata ||
	    !number_of(object, "createdNanoseconds", INT64_MAX, &seconds)) {
		status = damaged("its first line is wrong", err);
	} else {
		snprintf(snapshot->id, sizeof(snapshot->id), "%s", id);
		snprintf(snapshot->workspace, sizeof(snapshot->workspace), "%s", workspace);
		snprintf(snapshot->created, sizeof(snapshot->created), "%s", created);
		snapshot->created_ns = (int64_t)seconds;
		if (head)
			status = head(context, metadata, err);
	}
	json_free(object);
	return status;
}

static int read_end(struct reading *reading, const struct json_value *object, const char *digest,
		    struct warder_error *err)
{
	struct snapshot *snapshot = reading->snapshot;
	const char *sha256 = json_member_text(object, "sha256", NULL);

	if (!number_of(object, "entries", SNAPSHOT_ENTRIES_MAX, &snapshot->entries) ||
	    !number_of(object, "bytes", UINT64_MAX, &snapshot->bytes) ||
	    !number_of(object, "leftOut", UINT64_MAX, &snapshot->left_out))
		return damaged("its last line is wrong", err);
	if (!sha256 || strcmp(sha256, digest) != 0)
		return damaged("it was changed", err);
	if (snapshot->entries != reading->entries || snapshot->bytes != reading->bytes)
		return damaged("it has other entries than it says", err);
	return next_line(reading, err) == 0 ? 0 : damaged("something follows its end", err);
}

/* 0: an entry; 1: the end; -1. */
static int read_line(struct reading *reading, ssize_t len,
		     int (*call)(void *context, const struct manifest_entry *entry, struct warder_error *err),
		     void *context, struct warder_error *err)
{
	struct sha256 so_far = reading->sha;
	struct json_value *object = NULL;
	struct manifest_entry entry = { 0 };
	char digest[SHA256_HEX];
	int status;

	if (parse_line(reading->line, (size_t)len, &object, err) != 0)
		return -1;
	if (!json_member(object, "type")) {
		sha256_hex(&so_far, digest);
		status = read_end(reading, object, digest, err);
		json_free(object);
		return status == 0 ? 1 : -1;
	}
	status = ++reading->entries > SNAPSHOT_ENTRIES_MAX ? damaged("it has too many entries", err)
							   : manifest_entry_decode(object, &entry, err);
	json_free(object);
	reading->bytes += entry.content.size;
	if (status == 0 && call)
		status = call(context, &entry, err);
	manifest_entry_done(&entry);
	return status;
}

static int read_all(struct reading *reading,
		    int (*head)(void *context, const char *metadata, struct warder_error *err),
		    int (*call)(void *context, const struct manifest_entry *entry, struct warder_error *err),
		    void *context, struct warder_error *err)
{
	ssize_t len = next_line(reading, err);
	int status = len < 0 ? -1 : read_head(reading, len, head, context, err);

	while (status == 0) {
		sha256_add(&reading->sha, reading->line, (size_t)len);
		sha256_add(&reading->sha, "\n", 1);
		len = next_line(reading, err);
		if (len <= 0)
			return len < 0 ? -1 : damaged("it has no end", err);
		status = read_line(reading, len, call, context, err);
	}
	return status == 1 ? 0 : -1;
}

int manifest_read(int fd, struct snapshot *ret,
		  int (*head)(void *context, const char *metadata, struct warder_error *err),
		  int (*call)(void *context, const struct manifest_entry *entry, struct warder_error *err),
		  void *context, struct warder_error *err)
{
	struct snapshot snapshot = { 0 };
	struct reading reading = { .snapshot = &snapshot };
	int own_fd = dup(fd);
	int status;

	sha256_init(&reading.sha);
	reading.file = own_fd >= 0 && lseek(own_fd, 0, SEEK_SET) == 0 ? fdopen(own_fd, "r") : NULL;
	if (!reading.file) {
		fd_done(&own_fd);
		return error_no_memory(err, field);
	}
	status = read_all(&reading, head, call, context, err);
	fclose(reading.file);
	free(reading.line);
	if (status == 0)
		*ret = snapshot;
	return status;
}
