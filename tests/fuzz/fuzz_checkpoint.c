/*
 * checkpoint: names, metadata and states as somebody else may send them. The input is a thread, an id, metadata and two states, with
 * a byte 0xff between them, which no valid one has.
 */
#include "store/checkpoints/checkpoints.h"
#include "tests/fuzz/fuzz.h"

#define PARTS 5

static void check_error(const struct warder_error *err)
{
	must(err->code == WARDER_ERROR_INVALID_REQUEST && err->text[0] && err->field[0] &&
	     !strchr(err->text, '\n'));
}

static void check_names(const char *thread, const char *id)
{
	struct warder_error err;

	if (checkpoints_check_thread(thread, &err) == 0)
		must(*thread && strlen(thread) <= WARDER_CHECKPOINT_THREAD_MAX && json_is_utf8(thread));
	else
		check_error(&err);
	if (checkpoints_check_id(id, "id", &err) == 0)
		must(*id && *id != '@' && !strchr(id, '\n') && json_is_utf8(id));
	else
		check_error(&err);
}

/* What is kept is one line, and is kept as it is when it is put again. */
static void check_metadata(const char *text)
{
	struct warder_error err;
	char *kept = NULL, *again = NULL, *rolled = NULL;

	if (checkpoints_metadata(text, NULL, &kept, &err) != 0) {
		check_error(&err);
		return;
	}
	must(!strchr(kept, '\n'));
	must(checkpoints_metadata(kept, NULL, &again, &err) == 0 && strcmp(again, kept) == 0);
	must(checkpoints_metadata(kept, "id", &rolled, &err) == 0 &&
	     strstr(rolled, "\"rollbackFrom\":\"id\"}"));
	free(again);
	must(checkpoints_metadata(rolled, "other", &again, &err) == 0);
	must(strstr(again, "\"rollbackFrom\":\"other\"}") && strlen(again) == strlen(rolled) + 3);
	free(kept);
	free(again);
	free(rolled);
}

static bool differ(const struct json_value *from, const struct json_value *to)
{
	struct json_writer w = { 0 };
	struct json_value *value = NULL;
	struct warder_error err;
	bool same;
	char *text;

	json_begin_object(&w);
	same = checkpoints_differences(from, to, &w);
	json_end_object(&w);
	text = json_take(&w);
	must(text);
	/* A state may be as deep as is allowed, and lies in two more levels here. */
	must(json_parse(text, strlen(text), "differences",
			&(struct json_limits){ .max_bytes = SIZE_MAX, .max_depth = 96 }, &value, &err) == 0);
	must(same == !json_member(value, "changes")->child && json_member(value, "same")->boolean == same);
	json_free(value);
	free(text);
	return !same;
}

static void check_states(const char *from, const char *to)
{
	struct json_value *a = NULL, *b = NULL;
	struct warder_error err;

	if (checkpoints_parse_state(from, strlen(from), &a, &err) != 0)
		check_error(&err);
	else
		must(!differ(a, a));
	if (checkpoints_parse_state(to, strlen(to), &b, &err) != 0)
		check_error(&err);
	if (a && b)
		must(differ(a, b) == differ(b, a));
	json_free(a);
	json_free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size), *parts[PARTS] = { text };
	size_t count = 1;

	for (size_t i = 0; i < size; i++) {
		if (data[i] != 0xff)
			continue;
		text[i] = '\0';
		if (count < PARTS)
			parts[count++] = text + i + 1;
	}
	while (count < PARTS)
		parts[count++] = text + size;
	check_names(parts[0], parts[1]);
	check_metadata(parts[2]);
	check_states(parts[3], parts[4]);
	free(text);
	return 0;
}
