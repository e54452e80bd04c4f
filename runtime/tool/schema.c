#include "runtime/tool/schema.h"

#include "base/array.h"
#include "base/json.h"
#include "runtime/tool/request.h"
#include "runtime/tool/scopes.h"

static const struct tool {
	const char *name, *description;
	const char *languages[3]; /* none: any */
} tools[] = {
	{ "python_code", "Execute Python code in a sandbox.", { "python" } },
	{ "javascript_code", "Execute JavaScript code in a sandbox.", { "javascript" } },
	{ "frontend_code",
	  "Execute JavaScript or TypeScript code in a sandbox, without a browser.",
	  { "javascript", "typescript" } },
	{ "code_exec", "Execute code in a sandbox, in any language that it has.", { NULL } },
};

#define TOOLS (ARRAY_LENGTH(tools))

static const struct tool *find(const char *name, struct warder_error *err)
{
	const char *words[TOOLS + 1] = { NULL };
	char quoted[96], remedy[200];

	for (size_t i = 0; i < TOOLS; i++) {
		if (strcmp(tools[i].name, name) == 0)
			return &tools[i];
		words[i] = tools[i].name;
	}
	error_set(err, WARDER_ERROR_INVALID_REQUEST, "--schema", "--schema %s: unknown tool; %s",
		  json_quote(name, quoted, sizeof(quoted)),
		  policy_suggest(words, name, remedy, sizeof(remedy)));
	return NULL;
}

static void begin_property(struct json_writer *w, const char *name, const char *type, const char *description)
{
	json_key(w, name);
	json_begin_object(w);
	if (type)
		json_key_string(w, "type", type);
	json_key_string(w, "description", description);
}

static void write_language(const struct tool *tool, struct json_writer *w)
{
	begin_property(w, "language", "string", "language of the code");
	if (tool->languages[0]) {
		json_key(w, "enum");
		json_begin_array(w);
		for (size_t i = 0; tool->languages[i]; i++)
			json_string(w, tool->languages[i]);
		json_end_array(w);
	}
	json_end_object(w);
}

static void write_properties(const struct tool *tool, struct json_writer *w)
{
	json_key(w, "properties");
	json_begin_object(w);
	write_language(tool, w);
	begin_property(w, "code", "string", "source text; its output is the result");
	json_end_object(w);
	begin_property(w, "stdin", "string", "standard input of the code");
	json_end_object(w);
	begin_property(w, "input", NULL, "a JSON value that the code reads from the file in $WARDER_INPUT");
	json_end_object(w);
	begin_property(w, "args", "array", "arguments of the program");
	json_key(w, "items");
	json_begin_object(w);
	json_key_string(w, "type", "string");
	json_end_object(w);
	json_key_uint(w, "maxItems", REQUEST_MAX_ARGS);
	json_end_object(w);
	begin_property(w, "timeoutSecs", "number", "the code is ended after so many seconds");
	json_key_uint(w, "minimum", REQUEST_TIMEOUT_MIN_US / 1000000);
	json_key_uint(w, "maximum", REQUEST_TIMEOUT_MAX_US / 1000000);
	json_key_uint(w, "default", REQUEST_TIMEOUT_US / 1000000);
	json_end_object(w);
	json_end_object(w);
}

static void write_input(const struct tool *tool, struct json_writer *w)
{
	json_key(w, "inputSchema");
	json_begin_object(w);
	json_key_string(w, "type", "object");
	write_properties(tool, w);
	json_key(w, "required");
	json_begin_array(w);
	json_string(w, "language");
	json_string(w, "code");
	json_end_array(w);
	json_key_bool(w, "additionalProperties", false);
	json_end_object(w);
}

/* A scope is needed if all others together are not enough. */
static void write_scopes(const struct policy *policy, enum policy_isolation isolation, struct json_writer *w)
{
	enum scope scope;
	const char *name;

	json_key(w, "scopes");
	json_begin_array(w);
	for (size_t i = 0; (name = scopes_at(i, &scope)); i++) {
		struct scopes others = SCOPES_ALL;
		struct warder_error ignored;

		others.granted &= ~(unsigned)scope;
		if (scopes_check(&others, NULL, policy, isolation, &ignored) != 0)
			json_string(w, name);
	}
	json_end_array(w);
}

char *schema_write(const char *name, const struct policy *policy, enum policy_isolation isolation,
		   struct warder_error *err)
{
	const struct tool *tool = find(name, err);
	struct json_writer w = { .pretty = true };
	char *text;

	if (!tool)
		return NULL;
	json_begin_object(&w);
	json_key_string(&w, "name", tool->name);
	json_key_string(&w, "description", tool->description);
	write_input(tool, &w);
	write_scopes(policy, isolation, &w);
	json_end_object(&w);
	text = json_take(&w);
	if (!text)
		error_no_memory(err, NULL);
	return text;
}
