/*
 * The text about a root that has been made: what a session mounted at its start, for executions that join it. It is compared with the
 * kernel's mount table, and says what a ceiling is held against and what an image wants to be started with; of the host nothing is
 * looked at again, where by now another object may have any of these names.
 *
 * Names of files are bytes, of which JSON holds only UTF-8: all but printable ASCII is written as %XX.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "rootfs/entries.h"

#define ENTRIES_MAX 4096

static const char *const kinds[] = {
	[ROOTFS_DIRECTORY] = "directory", [ROOTFS_SYMLINK] = "symlink", [ROOTFS_FILE] = "file",
	[ROOTFS_BIND] = "bind",           [ROOTFS_OVERLAY] = "overlay",
};

static const char *const owners[] = {
	[ROOTFS_OWNERS_IDS] = "ids",
	[ROOTFS_OWNERS_ROOT] = "root",
	[ROOTFS_OWNERS_USER] = "user",
};

static const struct flag {
	const char *key;
	size_t at;
} flags[] = {
	{ "readOnly", offsetof(struct rootfs_entry, read_only) },
	{ "noExec", offsetof(struct rootfs_entry, no_exec) },
	{ "ownerMapped", offsetof(struct rootfs_entry, owner_mapped) },
	{ "isDirectory", offsetof(struct rootfs_entry, is_directory) },
	{ "held", offsetof(struct rootfs_entry, held) },
};

/* ---- writing ---- */

static bool stands_for_itself(char letter)
{
	return letter >= ' ' && letter <= '~' && letter != '%';
}

static void put_bytes(struct json_writer *w, const char *bytes)
{
	char *text = malloc(strlen(bytes) * 3 + 1);
	size_t len = 0;

	if (!text) {
		json_fail(w);
		return;
	}
	for (; *bytes; bytes++) {
		if (stands_for_itself(*bytes))
			text[len++] = *bytes;
		else
			len += (size_t)sprintf(text + len, "%%%02X", (unsigned char)*bytes);
	}
	json_string_n(w, text, len);
	free(text);
}

static void put_member(struct json_writer *w, const char *key, const char *bytes)
{
	if (!bytes)
		return;
	json_key(w, key);
	put_bytes(w, bytes);
}

static void put_field(struct json_writer *w, enum policy_field field)
{
	if (field < POLICY_FIELD_COUNT)
		json_key_string(w, "field", policy_field_path(field));
}

static void put_entry(struct json_writer *w, const struct rootfs_entry *entry)
{
	json_begin_object(w);
	json_key_string(w, "kind", kinds[entry->kind]);
	put_member(w, "target", entry->target);
	put_member(w, "source", entry->source);
	put_member(w, "text", entry->text);
	if (entry->kind == ROOTFS_OVERLAY)
		json_key_uint(w, "overlay", entry->overlay);
	for (size_t i = 0; i < ARRAY_LENGTH(flags); i++)
		if (*(const bool *)((const char *)entry + flags[i].at))
			json_key_bool(w, flags[i].key, true);
	put_field(w, entry->field);
	json_end_object(w);
}

static void put_overlay(struct json_writer *w, const struct rootfs_overlay *overlay)
{
	json_begin_object(w);
	json_key_string(w, "owners", owners[overlay->owners]);
	json_key_bool(w, "userXattrs", overlay->user_xattrs);
	put_field(w, overlay->field);
	json_key(w, "layers");
	json_begin_array(w);
	for (size_t i = 0; i < overlay->layer_count; i++)
		put_bytes(w, overlay->layers[i].source);
	json_end_array(w);
	json_end_object(w);
}

static void put_image(struct json_writer *w, const struct image *image)
{
	char *text;

	if (!image->name)
		return;
	text = image_encode(image);
	json_key(w, "image");
	if (text)
		json_number(w, text); /* as it is */
	else
		json_fail(w);
	free(text);
}

char *rootfs_encode(const struct rootfs *rootfs)
{
	struct json_writer w = { 0 };

	json_begin_object(&w);
	json_key_uint(&w, "scratchBytes", rootfs->scratch_bytes);
	json_key_bool(&w, "tmpExec", rootfs->tmp_exec);
	json_key(&w, "overlays");
	json_begin_array(&w);
	for (size_t i = 0; i < rootfs->overlay_count; i++)
		put_overlay(&w, &rootfs->overlays[i]);
	json_end_array(&w);
	json_key(&w, "entries");
	json_begin_array(&w);
	for (size_t i = 0; i < rootfs->count; i++)
		put_entry(&w, &rootfs->entries[i]);
	json_end_array(&w);
	put_image(&w, &rootfs->image);
	json_end_object(&w);
	return json_take(&w);
}

/* ---- reading ---- */

static int damaged(const struct json_value *value, const char *what, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
			 "the record of the session's root: %.40s %s; restart the session",
			 value && value->key ? value->key : "it", what);
}

static int digit(char letter)
{
	const char *all = "0123456789ABCDEF";
	const char *at = letter ? strchr(all, letter) : NULL;

	return at ? (int)(at - all) : -1;
}

static int take_bytes(const struct json_value *value, char **ret, struct warder_error *err)
{
	const char *from = value->type == JSON_STRING ? value->string : NULL;
	char *to;
	size_t len = 0;

	if (!from || *ret)
		return damaged(value, "is not a string", err);
	*ret = to = malloc(strlen(from) + 1);
	if (!to)
		return error_no_memory(err, NULL);
	while (*from) {
		const int high = *from == '%' ? digit(from[1]) : -1;
		const int low = high < 0 ? -1 : digit(from[2]);

		if (low >= 0 && high * 16 + low > 0) {
			to[len++] = (char)(high * 16 + low);
			from += 3;
		} else if (stands_for_itself(*from)) {
			to[len++] = *from++;
		} else {
			to[len] = '\0';
			return damaged(value, "is not written as it should be", err);
		}
	}
	to[len] = '\0';
	return 0;
}

static int take_flag(const struct json_value *value, bool *ret, struct warder_error *err)
{
	if (value->type != JSON_BOOL)
		return damaged(value, "is neither true nor false", err);
	*ret = value->boolean;
	return 0;
}

static int take_number(const struct json_value *value, uint64_t most, uint64_t *ret, struct warder_error *err)
{
	if (value->type != JSON_NUMBER || !value->is_uint || value->uint > most)
		return damaged(value, "is not a number, or too large", err);
	*ret = value->uint;
	return 0;
}

static int take_word(const struct json_value *value, const char *const *words, size_t count, size_t *ret,
		     struct warder_error *err)
{
	for (size_t i = 0; value->type == JSON_STRING && i < count; i++)
		if (strcmp(value->string, words[i]) == 0) {
			*ret = i;
			return 0;
		}
	return damaged(value, "is not known", err);
}

static int take_field(const struct json_value *value, enum policy_field *ret, struct warder_error *err)
{
	return value->type == JSON_STRING && policy_field_from_path(value->string, ret) == 0
		   ? 0
		   : damaged(value, "is not a field of a policy", err);
}

static int take_entry_member(const struct json_value *value, size_t overlays, struct rootfs_entry *entry,
			     size_t *ret_kind, struct warder_error *err)
{
	uint64_t number = 0;

	for (size_t i = 0; i < ARRAY_LENGTH(flags); i++)
		if (strcmp(value->key, flags[i].key) == 0)
			return take_flag(value, (bool *)((char *)entry + flags[i].at), err);
	if (strcmp(value->key, "kind") == 0)
		return take_word(value, kinds, ARRAY_LENGTH(kinds), ret_kind, err);
	if (strcmp(value->key, "target") == 0)
		return take_bytes(value, &entry->target, err);
	if (strcmp(value->key, "source") == 0)
		return take_bytes(value, &entry->source, err);
	if (strcmp(value->key, "text") == 0)
		return take_bytes(value, &entry->text, err);
	if (strcmp(value->key, "field") == 0)
		return take_field(value, &entry->field, err);
	if (strcmp(value->key, "overlay") != 0)
		return damaged(value, "is not known", err);
	if (!overlays || take_number(value, overlays - 1, &number, err) != 0)
		return damaged(value, "is none of its overlays", err);
	entry->overlay = number;
	return 0;
}

/* As rootfs_plan() makes them. */
static bool is_whole(const struct rootfs_entry *entry, size_t kind, size_t overlays)
{
	const bool mounts = kind == ROOTFS_BIND || kind == ROOTFS_OVERLAY;
	const bool has_text = kind == ROOTFS_SYMLINK || kind == ROOTFS_FILE;

	return entry->target && entry->target[0] == '/' && strlen(entry->target) < PATH_MAX &&
	       (mounts ? entry->source != NULL : kind == ROOTFS_DIRECTORY || !entry->source) &&
	       has_text == (entry->text != NULL) &&
	       (!entry->source || (entry->source[0] == '/' && strlen(entry->source) < PATH_MAX)) &&
	       (kind != ROOTFS_OVERLAY || overlays > 0);
}

static int take_entry(const struct json_value *value, struct rootfs *rootfs, struct warder_error *err)
{
	struct rootfs_entry *entry = &rootfs->entries[rootfs->count++];
	size_t kind = ARRAY_LENGTH(kinds);

	entry->source_fd = -1;
	entry->field = POLICY_FIELD_NONE;
	if (value->type != JSON_OBJECT)
		return damaged(value, "has an entry that is not an object", err);
	for (const struct json_value *each = value->child; each; each = each->next)
		if (take_entry_member(each, rootfs->overlay_count, entry, &kind, err) != 0)
			return -1;
	if (kind == ARRAY_LENGTH(kinds) || !is_whole(entry, kind, rootfs->overlay_count))
		return damaged(value, "has an entry that is not whole", err);
	entry->kind = (enum rootfs_kind)kind;
	return 0;
}

/* The elements of an array, or SIZE_MAX. */
static size_t length(const struct json_value *list)
{
	size_t count = 0;

	if (!list || list->type != JSON_ARRAY)
		return SIZE_MAX;
	for (const struct json_value *each = list->child; each; each = each->next)
		count++;
	return count;
}

static int take_entries(const struct json_value *list, struct rootfs *rootfs, struct warder_error *err)
{
	const size_t count = length(list);

	if (count > ENTRIES_MAX)
		return damaged(list, "is not a list, or too long", err);
	rootfs->entries = calloc(count + 1, sizeof(*rootfs->entries));
	if (!rootfs->entries)
		return error_no_memory(err, NULL);
	for (const struct json_value *each = list->child; each; each = each->next)
		if (take_entry(each, rootfs, err) != 0)
			return -1;
	for (size_t i = 1; i < rootfs->count; i++)
		if (strcmp(rootfs->entries[i - 1].target, rootfs->entries[i].target) >= 0)
			return damaged(list, "is not in order", err);
	return 0;
}

static int take_layers(const struct json_value *list, struct rootfs_overlay *overlay,
		       struct warder_error *err)
{
	const size_t count = length(list);

	if (count == 0 || count > IMAGE_LAYERS_MAX || overlay->layers)
		return damaged(list, "is not a list, or too long", err);
	overlay->layers = calloc(count, sizeof(*overlay->layers));
	if (!overlay->layers)
		return error_no_memory(err, NULL);
	for (const struct json_value *each = list->child; each; each = each->next) {
		struct rootfs_layer *layer = &overlay->layers[overlay->layer_count++];

		layer->source_fd = -1;
		if (take_bytes(each, &layer->source, err) != 0)
			return -1;
		if (layer->source[0] != '/')
			return damaged(list, "has a path that is not absolute", err);
	}
	return 0;
}

static int take_overlay_member(const struct json_value *value, struct rootfs_overlay *overlay,
			       struct warder_error *err)
{
	size_t word = 0;

	if (strcmp(value->key, "layers") == 0)
		return take_layers(value, overlay, err);
	if (strcmp(value->key, "field") == 0)
		return take_field(value, &overlay->field, err);
	if (strcmp(value->key, "userXattrs") == 0)
		return take_flag(value, &overlay->user_xattrs, err);
	if (strcmp(value->key, "owners") != 0)
		return damaged(value, "is not known", err);
	if (take_word(value, owners, ARRAY_LENGTH(owners), &word, err) != 0)
		return -1;
	overlay->owners = (enum rootfs_owners)word;
	return 0;
}

static int take_overlays(const struct json_value *list, struct rootfs *rootfs, struct warder_error *err)
{
	if (length(list) > ROOTFS_OVERLAYS_MAX)
		return damaged(list, "is not a list, or too long", err);
	for (const struct json_value *each = list->child; each; each = each->next) {
		struct rootfs_overlay *overlay = &rootfs->overlays[rootfs->overlay_count++];

		overlay->field = POLICY_FIELD_NONE;
		if (each->type != JSON_OBJECT)
			return damaged(list, "has one that is not an object", err);
		for (const struct json_value *item = each->child; item; item = item->next)
			if (take_overlay_member(item, overlay, err) != 0)
				return -1;
		if (!overlay->layers)
			return damaged(list, "has one without layers", err);
	}
	return 0;
}

static int take_image(const struct json_value *value, struct image *ret, struct warder_error *err)
{
	struct image image;
	char *text;
	int taken;

	text = json_text(value);
	if (!text)
		return error_no_memory(err, NULL);
	taken = image_decode(text, strlen(text), "the session's image", &image, err);
	free(text);
	if (taken == 0)
		*ret = image;
	return taken;
}

static int take_rest(const struct json_value *value, struct rootfs *rootfs, struct warder_error *err)
{
	if (strcmp(value->key, "scratchBytes") == 0)
		return take_number(value, UINT64_MAX, &rootfs->scratch_bytes, err);
	if (strcmp(value->key, "tmpExec") == 0)
		return take_flag(value, &rootfs->tmp_exec, err);
	if (strcmp(value->key, "image") == 0)
		return take_image(value, &rootfs->image, err);
	return strcmp(value->key, "overlays") == 0 || strcmp(value->key, "entries") == 0
		   ? 0
		   : damaged(value, "is not known", err);
}

static int take(const struct json_value *document, struct rootfs *rootfs, struct warder_error *err)
{
	if (document->type != JSON_OBJECT)
		return damaged(document, "is not an object", err);
	/* Entries name overlays. */
	if (take_overlays(json_member(document, "overlays"), rootfs, err) != 0 ||
	    take_entries(json_member(document, "entries"), rootfs, err) != 0)
		return -1;
	for (const struct json_value *each = document->child; each; each = each->next)
		if (take_rest(each, rootfs, err) != 0)
			return -1;
	return 0;
}

int rootfs_decode(const char *text, size_t len, const struct policy *policy, struct rootfs *ret,
		  struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = ROOTFS_TEXT_BYTES, .max_values = 65536 };
	struct json_value *document;
	struct rootfs rootfs = { .terminals = (unsigned int)policy->devices.terminals };
	struct planning planning = {
		.policy = policy, .rootfs = &rootfs, .root_fd = -1, .err = err, .is_there = true
	};
	int taken;

	if (json_parse(text, len, "root", &limits, &document, err) != 0)
		return -1;
	taken = take(document, &rootfs, err);
	json_free(document);
	if (taken == 0 && plan_working_directory(&planning) != 0)
		taken = host_path_name_field(err);
	if (taken != 0) {
		rootfs_done(&rootfs);
		return -1;
	}
	*ret = rootfs;
	return 0;
}
