/*
 * The text of a set is one JSON document. A path, directory or link text that is no UTF-8 stands in it as hexadecimal digits besides, which
 * then count. What is decoded is only shaped as it must be: paths without a way out, known words, bounded numbers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "rootfs/changes/changes.h"
#include "rootfs/rootfs.h"

#define VERSION 1

static const char field[] = "changes";

static const char *const kinds[] = {
	[CHANGE_ADDED] = "added",
	[CHANGE_CHANGED] = "changed",
	[CHANGE_REMOVED] = "removed",
};

static const char *const types[] = {
	[CHANGE_FILE] = "file",
	[CHANGE_DIRECTORY] = "directory",
	[CHANGE_SYMLINK] = "symlink",
	[CHANGE_OTHER] = "other",
};

/* ---- writing ---- */

static void write_bytes(struct json_writer *w, const char *key, const char *hex_key, const char *text)
{
	static const char digits[] = "0123456789abcdef";
	const size_t len = strlen(text);
	char *hex;

	json_key_string(w, key, text);
	if (json_is_utf8(text))
		return;
	hex = malloc(2 * len + 1);
	if (!hex) {
		json_fail(w);
		return;
	}
	for (size_t i = 0; i < len; i++) {
		hex[2 * i] = digits[(unsigned char)text[i] >> 4];
		hex[2 * i + 1] = digits[text[i] & 15];
	}
	hex[2 * len] = '\0';
	json_key_string(w, hex_key, hex);
	free(hex);
}

static void write_original(struct json_writer *w, const struct changes_item *change)
{
	json_key(w, "was");
	json_begin_object(w);
	json_key_uint(w, "inode", change->was.inode);
	json_key_uint(w, "size", change->was.size);
	json_key_uint(w, "mode", change->was.mode);
	json_key(w, "modifiedNs");
	json_int(w, change->was.modified_ns);
	json_key(w, "changedNs");
	json_int(w, change->was.changed_ns);
	json_key_bool(w, "moved", change->was.moved);
	json_end_object(w);
}

static void write_change(struct json_writer *w, const struct changes_item *change, bool whole)
{
	char mode[8];

	json_begin_object(w);
	write_bytes(w, "path", "pathHex", change->path);
	json_key_string(w, "change", kinds[change->kind]);
	json_key_string(w, "type", types[change->type]);
	for (int i = 0; i < 4; i++)
		mode[i] = (char)('0' + ((change->mode >> (9 - 3 * i)) & 7));
	mode[4] = '\0';
	json_key_string(w, "mode", mode);
	if (change->type == CHANGE_FILE)
		json_key_uint(w, "size", change->size);
	if (change->sha256[0])
		json_key_string(w, "sha256", change->sha256);
	if (change->target)
		write_bytes(w, "target", "targetHex", change->target);
	if (change->replaced)
		json_key_bool(w, "replaced", true);
	if (change->linked)
		json_key_bool(w, "linked", true);
	if (change->attributes)
		json_key_bool(w, "attributesNotKept", true);
	if (change->existed && change->was.moved)
		json_key_bool(w, "changedOnHost", true);
	if (whole && change->saved)
		json_key_uint(w, "saved", change->saved);
	if (whole && change->existed)
		write_original(w, change);
	json_end_object(w);
}

static void write_times(const struct changes *changes, struct json_writer *w)
{
	json_key(w, "times");
	json_begin_array(w);
	for (size_t i = 0; i < changes->time_count; i++) {
		const struct changes_time *time = &changes->times[i];

		json_begin_object(w);
		write_bytes(w, "path", "pathHex", time->path);
		json_key(w, "modifiedNs");
		json_int(w, time->modified_ns);
		if (time->existed) {
			json_key(w, "wasNs");
			json_int(w, time->was_ns);
		}
		json_end_object(w);
	}
	json_end_array(w);
}

static void write_changes(const struct changes *changes, struct json_writer *w, bool whole)
{
	json_begin_array(w);
	for (size_t i = 0; i < changes->count; i++)
		write_change(w, &changes->items[i], whole);
	json_end_array(w);
}

void changes_write(const struct changes *changes, struct json_writer *w)
{
	write_changes(changes, w, false);
}

char *changes_encode(const struct changes *changes)
{
	struct json_writer w = { .pretty = true };

	json_begin_object(&w);
	json_key_uint(&w, "version", VERSION);
	write_bytes(&w, "directory", "directoryHex", changes->directory);
	json_key_string(&w, "fault", changes->fault[0] ? changes->fault : NULL);
	json_key(&w, "changes");
	write_changes(changes, &w, true);
	write_times(changes, &w);
	json_end_object(&w);
	return json_take(&w);
}

/* ---- reading ---- */

struct decoding {
	const char *origin;
	struct warder_error *err;
};

static int refuse(const struct decoding *d, const struct json_value *value, const char *what)
{
	return error_set(d->err, WARDER_ERROR_INVALID_REQUEST, field, "%.200s:%d: %.60s %s", d->origin,
			 value->line, value->key ? value->key : "this", what);
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The bytes of a text, from the hexadecimal one if there is one. Heap; NULL with *err. */
static char *read_bytes(const struct decoding *d, const struct json_value *object, const char *key,
			const char *hex_key)
{
	const struct json_value *value = json_member(object, key);
	const struct json_value *hex = json_member(object, hex_key);
	const char *text = hex ? hex->string : NULL;
	char *bytes = NULL;
	size_t len;

	if (!value || value->type != JSON_STRING || (hex && hex->type != JSON_STRING)) {
		refuse(d, value ? value : object, "is missing or no string");
		return NULL;
	}
	len = text ? strlen(text) / 2 : strlen(value->string);
	bytes = text ? calloc(1, len + 1) : strdup(value->string);
	if (!bytes) {
		error_no_memory(d->err, field);
		return NULL;
	}
	for (size_t i = 0; text && i < len; i++) {
		int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);

		if (high < 0 || low < 0 || (high == 0 && low == 0) || strlen(text) % 2) {
			refuse(d, hex, "is not hexadecimal");
			free(bytes);
			return NULL;
		}
		bytes[i] = (char)(high * 16 + low);
	}
	return bytes;
}

static int read_word(const struct decoding *d, const struct json_value *object, const char *key,
		     const char *const *words, size_t count)
{
	const struct json_value *value = json_member(object, key);

	for (size_t i = 0; value && value->type == JSON_STRING && i < count; i++)
		if (strcmp(value->string, words[i]) == 0)
			return (int)i;
	return refuse(d, value ? value : object, "is missing or no known word");
}

/* A member that is not there is 0. */
static int read_uint(const struct decoding *d, const struct json_value *object, const char *key,
		     uint64_t *ret)
{
	const struct json_value *value = json_member(object, key);

	if (value && (value->type != JSON_NUMBER || !value->is_uint))
		return refuse(d, value, "is not a whole number");
	*ret = value ? value->uint : 0;
	return 0;
}

static int read_ns(const struct decoding *d, const struct json_value *object, const char *key, int64_t *ret)
{
	const struct json_value *value = json_member(object, key);

	if (!value || value->type != JSON_NUMBER)
		return refuse(d, value ? value : object, "is missing or no number");
	*ret = strtoll(value->string, NULL, 10);
	return 0;
}

static int read_original(const struct decoding *d, const struct json_value *object,
			 struct changes_item *change)
{
	const struct json_value *was = json_member(object, "was");
	uint64_t mode;

	change->existed = was != NULL;
	if (!was)
		return 0;
	if (was->type != JSON_OBJECT)
		return refuse(d, was, "is not an object");
	change->was.moved = json_member_true(was, "moved");
	if (read_uint(d, was, "inode", &change->was.inode) != 0 ||
	    read_uint(d, was, "size", &change->was.size) != 0 || read_uint(d, was, "mode", &mode) != 0 ||
	    read_ns(d, was, "modifiedNs", &change->was.modified_ns) != 0 ||
	    read_ns(d, was, "changedNs", &change->was.changed_ns) != 0)
		return -1;
	change->was.mode = (uint32_t)mode;
	return 0;
}

/* A path is what it is where nothing in it is taken away. */
static bool is_plain(const char *path)
{
	struct warder_error ignored;
	char *plain = malloc(strlen(path) + 1);
	bool same = plain && path_check_relative(path, strlen(path), &ignored) == 0 &&
		    strcmp(path_plain(path, plain), path) == 0;

	free(plain);
	return same;
}

static int read_digest(const struct decoding *d, const struct json_value *object, struct changes_item *change)
{
	const struct json_value *value = json_member(object, "sha256");

	if (!value)
		return 0;
	if (value->type != JSON_STRING || !image_is_digest(value->string))
		return refuse(d, value, "is not a digest");
	memcpy(change->sha256, value->string, sizeof(change->sha256));
	return 0;
}

static int read_change(const struct decoding *d, const struct json_value *object, struct changes_item *ret)
{
	const struct json_value *mode = json_member(object, "mode");
	int kind = read_word(d, object, "change", kinds, ARRAY_LENGTH(kinds));
	int type = kind < 0 ? -1 : read_word(d, object, "type", types, ARRAY_LENGTH(types));

	if (type < 0)
		return -1;
	ret->kind = (enum change_kind)kind;
	ret->type = (enum change_type)type;
	ret->path = read_bytes(d, object, "path", "pathHex");
	if (!ret->path)
		return -1;
	if (!is_plain(ret->path))
		return refuse(d, object, "has a path that is none within a directory");
	if (!mode || mode->type != JSON_STRING || strspn(mode->string, "01234567") != strlen(mode->string) ||
	    strlen(mode->string) != 4)
		return refuse(d, mode ? mode : object, "is missing or no mode");
	ret->mode = (uint32_t)strtoul(mode->string, NULL, 8);
	if (ret->type == CHANGE_SYMLINK && ret->kind != CHANGE_REMOVED) {
		ret->target = read_bytes(d, object, "target", "targetHex");
		if (!ret->target)
			return -1;
	}
	ret->replaced = json_member_true(object, "replaced");
	ret->linked = json_member_true(object, "linked");
	ret->attributes = json_member_true(object, "attributesNotKept");
	if (read_uint(d, object, "size", &ret->size) != 0 || read_uint(d, object, "saved", &ret->saved) != 0)
		return -1;
	return read_digest(d, object, ret) != 0 ? -1 : read_original(d, object, ret);
}

static int read_list(const struct decoding *d, const struct json_value *list, struct changes *ret)
{
	size_t count = 0;

	for (const struct json_value *each = list->child; each; each = each->next)
		count++;
	if (count > CHANGES_MAX)
		return refuse(d, list, "has too many changes");
	ret->items = calloc(count + 1, sizeof(*ret->items));
	if (!ret->items)
		return error_no_memory(d->err, field);
	for (const struct json_value *each = list->child; each; each = each->next) {
		struct changes_item *change = &ret->items[ret->count++];

		if (each->type != JSON_OBJECT)
			return refuse(d, each, "is not an object");
		if (read_change(d, each, change) != 0)
			return -1;
		if (ret->count > 1 && strcmp(ret->items[ret->count - 2].path, change->path) > 0)
			return refuse(d, each, "is not in order");
		ret->saved = change->saved > ret->saved ? change->saved : ret->saved;
	}
	return 0;
}

static int read_time(const struct decoding *d, const struct json_value *object, struct changes_time *ret)
{
	ret->path = read_bytes(d, object, "path", "pathHex");
	if (!ret->path)
		return -1;
	if (strcmp(ret->path, ".") != 0 && !is_plain(ret->path))
		return refuse(d, object, "has a path that is none within a directory");
	ret->existed = json_member(object, "wasNs") != NULL;
	if (ret->existed && read_ns(d, object, "wasNs", &ret->was_ns) != 0)
		return -1;
	return read_ns(d, object, "modifiedNs", &ret->modified_ns);
}

/* A set of an older version has none. */
static int read_times(const struct decoding *d, const struct json_value *list, struct changes *ret)
{
	size_t count = 0;

	if (list->type != JSON_ARRAY)
		return refuse(d, list, "is not a list");
	for (const struct json_value *each = list->child; each; each = each->next)
		count++;
	ret->times = calloc(count + 1, sizeof(*ret->times));
	if (!ret->times)
		return error_no_memory(d->err, field);
	for (const struct json_value *each = list->child; each; each = each->next) {
		struct changes_time *time = &ret->times[ret->time_count++];

		if (each->type != JSON_OBJECT)
			return refuse(d, each, "is not an object");
		if (read_time(d, each, time) != 0)
			return -1;
		if (ret->time_count > 1 && strcmp(time[-1].path, time->path) >= 0)
			return refuse(d, each, "is not in order");
	}
	return 0;
}

static int decode(const struct decoding *d, const struct json_value *root, struct changes *ret)
{
	const struct json_value *version = json_member(root, "version");
	const struct json_value *list = json_member(root, "changes");
	const struct json_value *times = json_member(root, "times");
	const struct json_value *fault = json_member(root, "fault");

	if (root->type != JSON_OBJECT || !version || !version->is_uint || version->uint != VERSION || !list ||
	    list->type != JSON_ARRAY)
		return refuse(d, root, "is not a set of changes of this version");
	ret->directory = read_bytes(d, root, "directory", "directoryHex");
	if (!ret->directory)
		return -1;
	if (ret->directory[0] != '/')
		return refuse(d, root, "has a directory that is not absolute");
	if (fault && fault->type == JSON_STRING)
		snprintf(ret->fault, sizeof(ret->fault), "%s", fault->string);
	if (read_list(d, list, ret) != 0)
		return -1;
	return times ? read_times(d, times, ret) : 0;
}

int changes_decode(const char *text, size_t len, const char *origin, struct changes *ret,
		   struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = CHANGES_TEXT_BYTES,
					    .max_depth = 6,
					    .max_values = CHANGES_MAX * 32 };
	const struct decoding d = { .origin = origin, .err = err };
	struct json_value *root;
	int decoded;

	*ret = (struct changes){ 0 };
	if (json_parse(text, len, origin, &limits, &root, err) != 0)
		return -1;
	decoded = decode(&d, root, ret);
	json_free(root);
	if (decoded != 0)
		changes_done(ret);
	return decoded;
}
