/*
 * Two trees are walked side by side. Members of objects are paired by name, whatever their order, by sorting both sides; so the
 * work is n log n in the size of the states. Depth is that which the reader has let in.
 *
 * The path is one text that grows and shrinks with the walk.
 */
#include "store/checkpoints/checkpoints.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_CHANGES 10000
#define MOST_BYTES   (64u << 20) /* of the text: each change repeats names that may be long */

struct comparison {
	struct json_writer *w;
	struct json_writer path; /* only its text is used: appended to, and cut */
	size_t changes;
	bool differ;
	bool truncated;
	bool failed;
};

static void compare_values(struct comparison *c, const struct json_value *from, const struct json_value *to);

/* ---- the path ---- */

static void push_byte(struct comparison *c, size_t *len, char byte)
{
	struct json_writer *path = &c->path;

	if (*len + 2 > path->cap) {
		size_t cap = path->cap ? path->cap * 2 : 256;
		char *grown = realloc(path->text, cap);

		if (!grown) {
			c->failed = true;
			return;
		}
		path->text = grown;
		path->cap = cap;
	}
	path->text[(*len)++] = byte;
	path->text[*len] = '\0';
}

/* RFC 6901: "~" and "/" are written as "~0" and "~1". */
static void push(struct comparison *c, const char *step)
{
	push_byte(c, &c->path.len, '/');
	for (; *step; step++) {
		if (*step == '~' || *step == '/') {
			push_byte(c, &c->path.len, '~');
			push_byte(c, &c->path.len, *step == '~' ? '0' : '1');
		} else {
			push_byte(c, &c->path.len, *step);
		}
	}
}

static void pop(struct comparison *c, size_t len)
{
	c->path.len = len;
	if (c->path.text)
		c->path.text[len] = '\0';
}

/* ---- changes ---- */

static void tell(struct comparison *c, const struct json_value *from, const struct json_value *to)
{
	c->differ = true;
	if (c->changes == MOST_CHANGES || c->w->len > MOST_BYTES) {
		c->truncated = true;
		return;
	}
	c->changes++;
	json_begin_object(c->w);
	json_key_string(c->w, "path", c->path.text ? c->path.text : "");
	json_key_string(c->w, "change", !from ? "added" : !to ? "removed" : "changed");
	if (from) {
		json_key(c->w, "old");
		json_copy(c->w, from);
	}
	if (to) {
		json_key(c->w, "new");
		json_copy(c->w, to);
	}
	json_end_object(c->w);
}

/* One member or element of both sides; either may be missing. */
static void compare_step(struct comparison *c, const char *step, const struct json_value *from,
			 const struct json_value *to)
{
	const size_t len = c->path.len;

	push(c, step);
	if (from && to)
		compare_values(c, from, to);
	else
		tell(c, from, to);
	pop(c, len);
}

static void compare_arrays(struct comparison *c, const struct json_value *from, const struct json_value *to)
{
	const struct json_value *a = from->child, *b = to->child;
	char step[24];

	for (size_t i = 0; (a || b) && !c->truncated; i++) {
		snprintf(step, sizeof(step), "%zu", i);
		compare_step(c, step, a, b);
		a = a ? a->next : NULL;
		b = b ? b->next : NULL;
	}
}

static int by_key(const void *a, const void *b)
{
	return strcmp((*(const struct json_value *const *)a)->key,
		      (*(const struct json_value *const *)b)->key);
}

/* Heap; the members sorted by name. */
static const struct json_value **sorted(const struct json_value *object, size_t *ret_count)
{
	const struct json_value **list;
	size_t count = 0;

	for (const struct json_value *member = object->child; member; member = member->next)
		count++;
	list = calloc(count + 1, sizeof(const struct json_value *));
	*ret_count = 0;
	for (const struct json_value *member = object->child; list && member; member = member->next)
		list[(*ret_count)++] = member;
	if (list)
		qsort(list, count, sizeof(const struct json_value *), by_key);
	return list;
}

static void compare_objects(struct comparison *c, const struct json_value *from, const struct json_value *to)
{
	size_t a_count, b_count, a = 0, b = 0;
	const struct json_value **as = sorted(from, &a_count);
	const struct json_value **bs = sorted(to, &b_count);

	if (!as || !bs)
		c->failed = true;
	while (!c->failed && !c->truncated && (a < a_count || b < b_count)) {
		int order = a == a_count ? 1 : b == b_count ? -1 : strcmp(as[a]->key, bs[b]->key);

		if (order < 0)
			compare_step(c, as[a]->key, as[a], NULL);
		else if (order > 0)
			compare_step(c, bs[b]->key, NULL, bs[b]);
		else
			compare_step(c, as[a]->key, as[a], bs[b]);
		a += order <= 0;
		b += order >= 0;
	}
	free(as);
	free(bs);
}

static bool same_leaf(const struct json_value *from, const struct json_value *to)
{
	if (from->type != to->type)
		return false;
	switch (from->type) {
	case JSON_NULL:
		return true;
	case JSON_BOOL:
		return from->boolean == to->boolean;
	case JSON_NUMBER:
	case JSON_STRING:
		return strcmp(from->string, to->string) == 0;
	case JSON_ARRAY:
	case JSON_OBJECT:
		break;
	}
	return true;
}

static void compare_values(struct comparison *c, const struct json_value *from, const struct json_value *to)
{
	if (from->type == JSON_ARRAY && to->type == JSON_ARRAY)
		compare_arrays(c, from, to);
	else if (from->type == JSON_OBJECT && to->type == JSON_OBJECT)
		compare_objects(c, from, to);
	else if (!same_leaf(from, to))
		tell(c, from, to);
}

bool checkpoints_differences(const struct json_value *from, const struct json_value *to,
			     struct json_writer *w)
{
	struct comparison c = { .w = w };

	json_key(w, "changes");
	json_begin_array(w);
	compare_values(&c, from, to);
	json_end_array(w);
	json_key_bool(w, "truncated", c.truncated);
	json_key_bool(w, "same", !c.differ);
	if (c.failed)
		json_fail(w);
	free(c.path.text);
	return !c.differ;
}

static int parse_both(const struct warder_checkpoint *from, const struct warder_checkpoint *to,
		      struct json_value *values[2], struct warder_error *err)
{
	if (checkpoints_parse_state(from->state, from->state_len, &values[0], err) != 0)
		return error_context(err, "%.128s", from->id);
	if (checkpoints_parse_state(to->state, to->state_len, &values[1], err) != 0)
		return error_context(err, "%.128s", to->id);
	return 0;
}

int warder_checkpoint_compare(struct warder_checkpoints *checkpoints, const char *thread, const char *from,
			      const char *to, char **ret_json, struct warder_error *err)
{
	struct warder_checkpoint *a = NULL, *b = NULL;
	struct json_value *values[2] = { NULL };
	struct json_writer w = { 0 };
	int status = -1;

	if (!ret_json)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "the argument `ret_json` is NULL");
	/* Checkpoints do not change: it does not matter that they are read one after the other. */
	if (warder_checkpoint_get(checkpoints, thread, from, &a, err) == 0 &&
	    warder_checkpoint_get(checkpoints, thread, to, &b, err) == 0 &&
	    parse_both(a, b, values, err) == 0) {
		json_begin_object(&w);
		json_key_string(&w, "from", a->id);
		json_key_string(&w, "to", b->id);
		checkpoints_differences(values[0], values[1], &w);
		json_end_object(&w);
		*ret_json = json_take(&w);
		status = *ret_json ? 0 : error_no_memory(err, NULL);
	}
	json_free(values[0]);
	json_free(values[1]);
	warder_checkpoint_free(a);
	warder_checkpoint_free(b);
	return status;
}
