/* diagnostics: any text, read in each form, keeps within the limits and can be written as JSON that a strict reader takes. */
#include "base/array.h"
#include "runtime/code/diagnostics/diagnostics.h"
#include "runtime/code/diagnostics/syntax.h"
#include "tests/fuzz/fuzz.h"

static void check_list(const struct diagnostics *list)
{
	must(list->count <= DIAGNOSTICS_MAX);
	must(list->bytes <= DIAGNOSTICS_MAX_BYTES);
	for (size_t i = 0; i < list->count; i++) {
		const struct diagnostic *item = &list->items[i];

		must(item->message && json_is_utf8(item->message));
		must(i > 0 || !item->attached);
		must(item->span_count <= DIAGNOSTICS_MAX_SPANS);
		for (size_t j = 0; j < item->span_count; j++)
			must(item->spans[j].file);
	}
}

static void check_json(const struct diagnostics *list)
{
	struct json_limits limits = { .max_bytes = 1 << 26 };
	struct json_writer w = { 0 };
	struct json_value *value = NULL;
	struct warder_error err;
	char *json;

	diagnostics_write(list, &w);
	json = json_take(&w);
	must(json);
	must(json_parse(json, strlen(json), "output", &limits, &value, &err) == 0);
	json_free(value);
	free(json);
}

/* The same text as the standard error of a run that an interpreter has refused. */
static void check_syntax(const char *text, size_t size)
{
	static const struct rootfs_file files[] = {
		{ .path = "box/main.py", .bytes = "x = 1\n  y(\n", .len = 11 }
	};
	static const int statuses[] = { 1, 2, 255 };

	for (int form = SYNTAX_NONE; form < SYNTAX_COUNT; form++) {
		for (size_t i = 0; i < 3; i++) {
			const struct syntax_run run = { .exit_status = statuses[i],
							.text = text,
							.len = size };
			struct diagnostics list = { 0 };
			struct warder_error err;

			must(syntax_read((enum syntax_form)form, &run, "/tmp/box", files, 1, &list, &err) ==
			     0);
			check_list(&list);
			check_json(&list);
			diagnostics_done(&list);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum diagnostics_format formats[] = { DIAGNOSTICS_RUSTC, DIAGNOSTICS_GCC,
							   DIAGNOSTICS_PLAIN };
	char *text = fuzz_text(data, size);

	check_syntax(text, size);

	for (size_t i = 0; i < ARRAY_LENGTH(formats); i++) {
		struct diagnostics list = { 0 };
		struct warder_error err;

		must(diagnostics_parse(formats[i], text, size, &list, &err) == 0);
		must(diagnostics_add_source(&list, "main.c", text, size, &err) == 0);
		check_list(&list);
		check_json(&list);
		diagnostics_done(&list);
	}
	free(text);
	return 0;
}
