#include "runtime/mcp/tools.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define OFFSET_MAX ((UINT64_C(1) << 53) - 1) /* every reader of JSON knows these numbers */
#define BIT(tool)  (1u << (tool))
#define RUNS       (BIT(MCP_RUN_COMMAND) | BIT(MCP_RUN_CODE))

static const struct tool {
	const char *name, *title, *description;
	bool reads; /* changes nothing */
} tools[MCP_TOOLS] = {
	[MCP_RUN_COMMAND] = { "run_command", "Run a command",
			      "Run a shell command in the sandbox. Files stay for the next call; processes "
			      "do "
			      "not. The answer has the exit code and the output. Long output is cut, and "
			      "kept "
			      "whole in a file that read_file can read." },
	[MCP_RUN_CODE] = { "run_code", "Run code",
			   "Run a piece of code in the sandbox, and compile it first if its language needs "
			   "that. Write results to standard output. Files stay for the next call; variables "
			   "stay only in a context." },
	[MCP_DELETE_CONTEXT] = { "delete_context", "Delete a context",
				 "End the interpreter of a context. Its variables are gone; run_code with "
				 "the "
				 "same name begins a new one." },
	[MCP_READ_FILE] = { "read_file", "Read a file",
			    "Read a text file of the sandbox. A long file comes in parts: the answer names "
			    "the offset of the next one.",
			    .reads = true },
	[MCP_WRITE_FILE] = { "write_file", "Write a file",
			     "Write a text file in the sandbox, in place of one that is there. Its directory "
			     "must exist." },
	[MCP_LIST_FILES] = { "list_files", "List a directory", "List a directory of the sandbox.",
			     .reads = true },
	[MCP_APPLY_PATCH] = { "apply_patch", "Apply a patch",
			      "Apply a unified diff to files of the sandbox. All of it is applied, or "
			      "nothing." },
	[MCP_DESCRIBE_POLICY] = { "describe_policy", "Describe the sandbox",
				  "Describe the sandbox: its languages, its limits, and what it can reach.",
				  .reads = true },
};

enum type { TEXT, TEXTS, SECONDS, WHOLE };

static const struct argument {
	const char *name, *description;
	enum type type;
	unsigned tools, required; /* BIT()s */
	size_t offset;            /* in struct mcp_arguments */
	uint64_t most;            /* of WHOLE */
} arguments[] = {
	{ "command", "a command for sh", TEXT, BIT(MCP_RUN_COMMAND), BIT(MCP_RUN_COMMAND),
	  offsetof(struct mcp_arguments, command) },
	{ "language", "the language of the code", TEXT, BIT(MCP_RUN_CODE), BIT(MCP_RUN_CODE),
	  offsetof(struct mcp_arguments, language) },
	{ "code", "the source text", TEXT, BIT(MCP_RUN_CODE), BIT(MCP_RUN_CODE),
	  offsetof(struct mcp_arguments, code) },
	{ "context",
	  "a name of your choice for an interpreter of python, javascript or bash that keeps its variables: "
	  "calls with the same name share them (default: a new interpreter for this call)",
	  TEXT, BIT(MCP_RUN_CODE), 0, offsetof(struct mcp_arguments, context) },
	{ "context", "the name of the context", TEXT, BIT(MCP_DELETE_CONTEXT), BIT(MCP_DELETE_CONTEXT),
	  offsetof(struct mcp_arguments, context) },
	{ "args", "arguments of the program", TEXTS, BIT(MCP_RUN_CODE), 0,
	  offsetof(struct mcp_arguments, args) },
	{ "stdin", "standard input of the program (default: empty)", TEXT, RUNS, 0,
	  offsetof(struct mcp_arguments, standard_input) },
	{ "timeout_seconds", "end the program after so many seconds", SECONDS, RUNS, 0,
	  offsetof(struct mcp_arguments, timeout_us) },
	{ "path", "a path in the sandbox; a relative one begins at its working directory", TEXT,
	  BIT(MCP_READ_FILE) | BIT(MCP_WRITE_FILE), BIT(MCP_READ_FILE) | BIT(MCP_WRITE_FILE),
	  offsetof(struct mcp_arguments, path) },
	{ "path", "a directory in the sandbox (default: the working directory)", TEXT, BIT(MCP_LIST_FILES), 0,
	  offsetof(struct mcp_arguments, path) },
	{ "offset", "the byte to begin at (default: 0)", WHOLE, BIT(MCP_READ_FILE), 0,
	  offsetof(struct mcp_arguments, offset), OFFSET_MAX },
	{ "offset", "how many entries to leave out (default: 0)", WHOLE, BIT(MCP_LIST_FILES), 0,
	  offsetof(struct mcp_arguments, offset), OFFSET_MAX },
	{ "content", "the whole content of the file", TEXT, BIT(MCP_WRITE_FILE), BIT(MCP_WRITE_FILE),
	  offsetof(struct mcp_arguments, content) },
	{ "patch", "the diff, with names as in \"--- a/src/x.c\" and \"+++ b/src/x.c\"", TEXT,
	  BIT(MCP_APPLY_PATCH), BIT(MCP_APPLY_PATCH), offsetof(struct mcp_arguments, patch) },
	{ "directory",
	  "the absolute path of the directory that names in the diff begin at (default: the working "
	  "directory)",
	  TEXT, BIT(MCP_APPLY_PATCH), 0, offsetof(struct mcp_arguments, path) },
	{ "strip", "how many directories to take off the front of names (default: 1, for a/ and b/)", WHOLE,
	  BIT(MCP_APPLY_PATCH), 0, offsetof(struct mcp_arguments, strip), MCP_STRIP_MAX },
};

enum mcp_tool mcp_tool_find(const char *name)
{
	int tool = 0;

	while (tool < MCP_TOOLS && strcmp(tools[tool].name, name) != 0)
		tool++;
	return (enum mcp_tool)tool;
}

/* ---- the schema ---- */

static void write_languages(const struct mcp_facts *facts, struct json_writer *w)
{
	json_key(w, "enum");
	json_begin_array(w);
	for (size_t i = 0; i < facts->language_count; i++)
		json_string(w, facts->languages[i]);
	json_end_array(w);
}

static void write_argument(const struct argument *argument, const struct mcp_facts *facts,
			   struct json_writer *w)
{
	static const char *const types[] = { "string", "array", "number", "integer" };

	json_key(w, argument->name);
	json_begin_object(w);
	json_key_string(w, "type", types[argument->type]);
	json_key_string(w, "description", argument->description);
	if (argument->type == TEXTS) {
		json_key(w, "items");
		json_begin_object(w);
		json_key_string(w, "type", "string");
		json_end_object(w);
		json_key_uint(w, "maxItems", MCP_ARGS_MAX);
	} else if (argument->type == SECONDS) {
		json_key_uint(w, "exclusiveMinimum", 0);
		if (facts->wall_time_us != POLICY_UNLIMITED) {
			json_key(w, "maximum");
			json_double(w, (double)facts->wall_time_us / 1e6, 3);
		}
	} else if (argument->type == WHOLE) {
		json_key_uint(w, "minimum", 0);
		json_key_uint(w, "maximum", argument->most);
	} else if (strcmp(argument->name, "language") == 0) {
		write_languages(facts, w);
	}
	json_end_object(w);
}

static void write_schema(enum mcp_tool tool, const struct mcp_facts *facts, struct json_writer *w)
{
	json_key(w, "inputSchema");
	json_begin_object(w);
	json_key_string(w, "type", "object");
	json_key(w, "properties");
	json_begin_object(w);
	for (size_t i = 0; i < ARRAY_LENGTH(arguments); i++)
		if (arguments[i].tools & BIT(tool))
			write_argument(&arguments[i], facts, w);
	json_end_object(w);
	json_key(w, "required");
	json_begin_array(w);
	for (size_t i = 0; i < ARRAY_LENGTH(arguments); i++)
		if (arguments[i].required & BIT(tool))
			json_string(w, arguments[i].name);
	json_end_array(w);
	json_key_bool(w, "additionalProperties", false);
	json_end_object(w);
}

static void write_tool(enum mcp_tool tool, const struct mcp_facts *facts, struct json_writer *w)
{
	json_begin_object(w);
	json_key_string(w, "name", tools[tool].name);
	if (facts->version == MCP_2025_06_18)
		json_key_string(w, "title", tools[tool].title);
	json_key_string(w, "description", tools[tool].description);
	write_schema(tool, facts, w);
	json_key(w, "annotations");
	json_begin_object(w);
	json_key_bool(w, "readOnlyHint", tools[tool].reads);
	json_end_object(w);
	json_end_object(w);
}

void mcp_tools_write(const struct mcp_facts *facts, struct json_writer *w)
{
	json_key(w, "tools");
	json_begin_array(w);
	for (int tool = 0; tool < MCP_TOOLS; tool++)
		write_tool((enum mcp_tool)tool, facts, w);
	json_end_array(w);
}

/* ---- the arguments of a call ---- */

static int refuse(const char *name, const char *why, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, name, "%.40s: %s", name, why);
}

static int read_texts(const struct json_value *value, char ***ret, struct warder_error *err)
{
	const size_t count = value->type == JSON_ARRAY ? json_length(value) : SIZE_MAX;
	size_t i = 0;
	char **texts;

	if (count > MCP_ARGS_MAX)
		return refuse(value->key, "write an array of at most 1000 strings", err);
	texts = calloc(count + 1, sizeof(*texts));
	if (!texts)
		return error_no_memory(err, value->key);
	*ret = texts;
	for (const struct json_value *each = value->child; each; each = each->next) {
		if (each->type != JSON_STRING)
			return refuse(value->key, "write an array of strings", err);
		texts[i++] = each->string;
	}
	return 0;
}

/* More than the policy gives is refused, so that a model knows what it has. */
static int read_seconds(const struct json_value *value, uint64_t most_us, uint64_t *ret,
			struct warder_error *err)
{
	char text[32];

	if (value->type != JSON_NUMBER || value->number < 0.001)
		return refuse(value->key, "write a number of seconds, at least 0.001", err);
	if (most_us == POLICY_UNLIMITED ? value->number > 1e9 : value->number * 1e6 > (double)most_us)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, value->key,
				 "%s: %.20s seconds is more than the policy grants; write at most %s "
				 "(limits.wallTime), or leave it out",
				 value->key, value->string,
				 most_us == POLICY_UNLIMITED
				     ? "1000000000"
				     : policy_format_time(most_us, text, sizeof(text)));
	*ret = (uint64_t)(value->number * 1e6);
	return 0;
}

static int read_argument(const struct argument *argument, const struct json_value *value,
			 uint64_t wall_time_us, struct mcp_arguments *ret, struct warder_error *err)
{
	void *to = (char *)ret + argument->offset;

	switch (argument->type) {
	case TEXT:
		if (value->type != JSON_STRING)
			return refuse(value->key, "write a string", err);
		*(const char **)to = value->string;
		return 0;
	case TEXTS:
		return read_texts(value, to, err);
	case SECONDS:
		return read_seconds(value, wall_time_us, to, err);
	case WHOLE:
		if (!value->is_uint || value->uint > argument->most)
			return refuse(value->key, "write a whole number, of at least 0 and within the schema",
				      err);
		*(uint64_t *)to = value->uint;
		return 0;
	}
	return 0;
}

static const struct argument *find(enum mcp_tool tool, const char *name)
{
	for (size_t i = 0; i < ARRAY_LENGTH(arguments); i++) {
		if ((arguments[i].tools & BIT(tool)) && strcmp(arguments[i].name, name) == 0)
			return &arguments[i];
	}
	return NULL;
}

static int refuse_unknown(enum mcp_tool tool, const char *name, struct warder_error *err)
{
	const char *words[ARRAY_LENGTH(arguments) + 1] = { NULL };
	char quoted[80], known[160];
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_LENGTH(arguments); i++)
		if (arguments[i].tools & BIT(tool))
			words[count++] = arguments[i].name;
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, *name ? name : "arguments",
			 "%s has no argument %s; %s", tools[tool].name,
			 json_quote(name, quoted, sizeof(quoted)),
			 count ? policy_suggest(words, name, known, sizeof(known)) : "it takes none");
}

int mcp_arguments_read(enum mcp_tool tool, const struct json_value *value, uint64_t wall_time_us,
		       struct mcp_arguments *ret, struct warder_error *err)
{
	*ret = (struct mcp_arguments){ .strip = 1 };
	if (value && value->type != JSON_OBJECT)
		return refuse("arguments", "write an object", err);
	for (const struct json_value *member = value ? value->child : NULL; member; member = member->next) {
		const struct argument *argument = find(tool, member->key);

		if (!argument)
			return refuse_unknown(tool, member->key, err);
		if (read_argument(argument, member, wall_time_us, ret, err) != 0)
			return -1;
	}
	for (size_t i = 0; i < ARRAY_LENGTH(arguments); i++) {
		if ((arguments[i].required & BIT(tool)) && !json_member(value, arguments[i].name))
			return refuse(arguments[i].name, "it is missing", err);
	}
	return 0;
}

void mcp_arguments_done(struct mcp_arguments *done)
{
	free(done->args);
	done->args = NULL;
}
