/* context: what is read is written so that it reads as the same, also after a run was added. */
#include "runtime/tool/context.h"
#include "tests/fuzz/fuzz.h"
#include "tests/lib/context_json.h"

/* The context as it is after it was written and read. */
static struct context *reread(const struct context *context)
{
	char *json = context_json(context);
	struct context *again = NULL;
	struct warder_error err;

	must(json && context_read(json, strlen(json), &again, &err) == 0);
	free(json);
	return again;
}

/* Invocations may change places once: those without results come first. */
static void must_read_as_itself(const struct context *context)
{
	struct context *once = reread(context), *twice = reread(once);
	char *first = context_json(once), *second = context_json(twice);

	must(first && second && strcmp(first, second) == 0);
	free(first);
	free(second);
	context_free(once);
	context_free(twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct context_run run = { .out = { (const char *)data, size }, .failed = size % 2 };
	struct context *context = NULL;
	struct warder_error err;
	char *delta;

	if (context_read((const char *)data, size, &context, &err) != 0) {
		must(err.code == WARDER_ERROR_INVALID_REQUEST && err.text[0] && !strchr(err.text, '\n'));
		return 0;
	}
	must_read_as_itself(context);
	delta = context_delta_json(context);
	must(strcmp(delta, "{}") == 0);
	free(delta);
	must(context_record(context, "i", &run, &err) == 0);
	must((context_errors(context, "i") > 0) == run.failed && context_run_at(context, "i", 0));
	must_read_as_itself(context);
	delta = context_delta_json(context);
	must(strstr(delta, "\"results\":{\"i\":[{"));
	free(delta);
	context_free(context);
	return 0;
}
