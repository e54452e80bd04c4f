/* json: a document that parses can be written out and parses again to the same. */
#include "base/json.h"
#include "tests/fuzz/fuzz.h"

static void must_be_same(const struct json_value *a, const struct json_value *b)
{
	must(a->type == b->type);
	must(a->type != JSON_BOOL || a->boolean == b->boolean);
	must((a->type != JSON_STRING && a->type != JSON_NUMBER) || strcmp(a->string, b->string) == 0);
	must(!a->key == !b->key && (!a->key || strcmp(a->key, b->key) == 0));
	a = a->child;
	b = b->child;
	for (; a && b; a = a->next, b = b->next)
		must_be_same(a, b);
	must(!a && !b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct json_value *first = NULL;
	struct json_value *second = NULL;
	struct json_writer w = { .pretty = size % 2 };
	struct warder_error err;
	char *text;

	if (json_parse((const char *)data, size, "input", NULL, &first, &err) < 0) {
		must(err.code == WARDER_ERROR_INVALID_REQUEST && err.text[0] && !strchr(err.text, '\n'));
		return 0;
	}
	json_copy(&w, first);
	text = json_take(&w);
	must(text);
	must(json_parse(text, strlen(text), "output", &(struct json_limits){ .max_bytes = 1 << 26 }, &second,
			&err) == 0);
	must_be_same(first, second);
	json_free(first);
	json_free(second);
	free(text);
	return 0;
}
