/*
 * The table, and the operator's document of more rows.
 *
 * A row's command lines name programs by name; they are looked for in the directories of the jail's PATH, in the view that the
 * policy gives, so that what is found is what the jail will execute. A document's row has to hold in the same way: it adds
 * no privilege and no path that the policy does not have.
 */
#include "runtime/code/languages.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "rootfs/rootfs.h"
#include "runtime/code/wasi.h"

#define ROWS_MAX     64
#define ELEMENTS_MAX 64
#define ARGV(...)    ((const char *const[]){ __VA_ARGS__, NULL })

/* What gcc and clang need of a small judge's program; -g0 keeps cached programs small. */
#define C_FLAGS "-O2", "-g0", "-Wall", "-fdiagnostics-format=json"

/* A driver runs the compiler, the assembler and the linker. tsc and javac are one process of several threads. */
#define COMPILER_SPAWNS (LANGUAGE_BIT(LANGUAGE_CHECK) | LANGUAGE_BIT(LANGUAGE_BUILD))

static const struct language table[] = {
	{ .name = "python",
	  .image = "python:3.12-slim",
	  .aliases = "py python3 tool_code",
	  .diagnostics = DIAGNOSTICS_PLAIN,
	  .syntax = SYNTAX_PYTHON,
	  .file = "main.py",
	  .stages = { [LANGUAGE_CHECK] =
			  ARGV("python3", "-I", "-c",
			       "import sys; p = sys.argv[1]; compile(open(p, 'rb').read(), p, 'exec')",
			       "{source}"),
		      [LANGUAGE_RUN] = ARGV("python3", "{source}", "{args}") },
	  .environment = ARGV("PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1") },
	{ .name = "javascript",
	  .image = "node:20-slim",
	  .aliases = "js node nodejs javaScript",
	  .diagnostics = DIAGNOSTICS_PLAIN,
	  .syntax = SYNTAX_NODE,
	  .file = "main.js",
	  .stages = { [LANGUAGE_CHECK] = ARGV("node", "--check", "{source}"),
		      [LANGUAGE_RUN] = ARGV("node", "--max-old-space-size={heap}", "{source}", "{args}") } },
	{ .name = "typescript",
	  .image = "node:20-slim",
	  .aliases = "ts",
	  .diagnostics = DIAGNOSTICS_PLAIN,
	  .tells_on_stdout = true,
	  .file = "main.ts",
	  .stages = { [LANGUAGE_BUILD] =
			  ARGV("tsc", "--target", "es2021", "--lib", "es2021,dom", "--module", "commonjs",
			       "--noEmitOnError", "--skipLibCheck", "--pretty", "false", "--typeRoots",
			       "/usr/share/nodejs/@types", "--outDir", "{out}", "{source}"),
		      [LANGUAGE_RUN] =
			  ARGV("node", "--max-old-space-size={heap}", "{out}/main.js", "{args}") },
	  .defaults = ARGV("limits.memory", "1GiB") },
	{ .name = "bash",
	  .aliases = "shell",
	  .diagnostics = DIAGNOSTICS_PLAIN,
	  .syntax = SYNTAX_BASH,
	  .file = "main.sh",
	  .stages = { [LANGUAGE_CHECK] = ARGV("bash", "-n", "{source}"),
		      [LANGUAGE_RUN] = ARGV("bash", "{source}", "{args}") } },
	{ .name = "sh",
	  .image = "alpine:latest",
	  .aliases = "",
	  .diagnostics = DIAGNOSTICS_PLAIN,
	  .syntax = SYNTAX_SH,
	  .file = "main.sh",
	  .stages = { [LANGUAGE_CHECK] = ARGV("sh", "-n", "{source}"),
		      [LANGUAGE_RUN] = ARGV("sh", "{source}", "{args}") } },
	{ .name = "ruby",
	  .aliases = "rb",
	  .diagnostics = DIAGNOSTICS_PLAIN,
	  .syntax = SYNTAX_RUBY,
	  .file = "main.rb",
	  .stages = { [LANGUAGE_CHECK] = ARGV("ruby", "-wc", "{source}"),
		      [LANGUAGE_RUN] = ARGV("ruby", "{source}", "{args}") } },
	{ .name = "r",
	  .aliases = "rscript",
	  .diagnostics = DIAGNOSTICS_PLAIN,
	  .syntax = SYNTAX_R,
	  .file = "main.R",
	  .spawns = LANGUAGE_BIT(LANGUAGE_CHECK), /* R begins as a script of the shell */
	  .stages = { [LANGUAGE_CHECK] =
			  ARGV("Rscript", "--vanilla", "-e",
			       "invisible(parse(commandArgs(trailingOnly = TRUE)[1]))", "{source}"),
		      [LANGUAGE_RUN] = ARGV("Rscript", "{source}", "{args}") } },
	{ .name = "perl",
	  .aliases = "pl",
	  .diagnostics = DIAGNOSTICS_PLAIN,
	  .syntax = SYNTAX_PERL,
	  .file = "main.pl",
	  /* perl -c executes BEGIN blocks: there is nothing that only checks. */
	  .stages = { [LANGUAGE_RUN] = ARGV("perl", "{source}", "{args}") } },
	{ .name = "lua",
	  .aliases = "",
	  .diagnostics = DIAGNOSTICS_PLAIN,
	  .syntax = SYNTAX_LUA,
	  .file = "main.lua",
	  .stages = { [LANGUAGE_RUN] = ARGV("lua5.4", "{source}", "{args}") } },
	{ .name = "lua",
	  .aliases = "",
	  .diagnostics = DIAGNOSTICS_PLAIN,
	  .syntax = SYNTAX_LUA,
	  .file = "main.lua",
	  .stages = { [LANGUAGE_RUN] = ARGV("lua", "{source}", "{args}") } },
	{ .name = "php",
	  .aliases = "",
	  .diagnostics = DIAGNOSTICS_PLAIN,
	  .syntax = SYNTAX_PHP,
	  .file = "main.php",
	  .stages = { [LANGUAGE_CHECK] = ARGV("php", "-l", "{source}"),
		      [LANGUAGE_RUN] = ARGV("php", "{source}", "{args}") },
	  .descriptors = "php://fd/" }, /* it resolves a path first, and a pipe has none */
	/* Without -trimpath, which would have the whole standard library compiled anew. */
	{ .name = "go",
	  .image = "golang:1.24-alpine",
	  .aliases = "golang",
	  .diagnostics = DIAGNOSTICS_PLAIN,
	  .file = "main.go",
	  .spawns = LANGUAGE_BIT(LANGUAGE_BUILD),
	  .stages = { [LANGUAGE_BUILD] = ARGV("go", "build", "-o", "{out}/program", "{source}"),
		      [LANGUAGE_RUN] = ARGV("{out}/program", "{args}") },
	  .build_environment =
	      ARGV("GO111MODULE=off", "GOCACHE=/tmp/cache", "GOPATH=/tmp/go", "CGO_ENABLED=0", "GOFLAGS="),
	  .defaults = ARGV("limits.memory", "1GiB", "filesystem.tmp", "512MiB", "limits.pids", "256") },
	{ .name = "rust",
	  .image = "rust:1.75-slim",
	  .aliases = "rs",
	  .file = "main.rs",
	  .spawns = COMPILER_SPAWNS,
	  .stages = { [LANGUAGE_CHECK] = ARGV("rustc", "--edition", "2021", "--error-format=json", "--color",
					      "never", "--emit=metadata", "--out-dir", "{out}", "{source}"),
		      [LANGUAGE_BUILD] = ARGV("rustc", "--edition", "2021", "--error-format=json", "--color",
					      "never", "{optimize}", "-o", "{out}/program", "{source}"),
		      [LANGUAGE_RUN] = ARGV("{out}/program", "{args}") },
	  .check_first = true,
	  .diagnostics = DIAGNOSTICS_RUSTC,
	  .defaults = ARGV("limits.memory", "1GiB", "filesystem.tmp", "256MiB") },
	{ .name = "c",
	  .aliases = "",
	  .file = "main.c",
	  .spawns = COMPILER_SPAWNS,
	  .stages = { [LANGUAGE_CHECK] = ARGV("gcc", "-std=gnu17", C_FLAGS, "-fsyntax-only", "{source}"),
		      [LANGUAGE_BUILD] = ARGV("gcc", "-std=gnu17", C_FLAGS, "-o", "{out}/program", "{source}",
					      "-lm", "-pthread"),
		      [LANGUAGE_RUN] = ARGV("{out}/program", "{args}") },
	  .diagnostics = DIAGNOSTICS_GCC },
	{ .name = "c++",
	  .aliases = "cpp cxx cc",
	  .file = "main.cpp",
	  .spawns = COMPILER_SPAWNS,
	  .stages = { [LANGUAGE_CHECK] = ARGV("g++", "-std=gnu++20", C_FLAGS, "-fsyntax-only", "{source}"),
		      [LANGUAGE_BUILD] =
			  ARGV("g++", "-std=gnu++20", C_FLAGS, "-o", "{out}/program", "{source}", "-pthread"),
		      [LANGUAGE_RUN] = ARGV("{out}/program", "{args}") },
	  .diagnostics = DIAGNOSTICS_GCC },
	/* Without /sys the machine takes the host's memory for its own: it is told how much there is. */
	{ .name = "java",
	  .aliases = "",
	  .diagnostics = DIAGNOSTICS_PLAIN,
	  .file = "Main.java",
	  .naming = LANGUAGE_NAMING_JAVA,
	  .stages = { [LANGUAGE_BUILD] =
			  ARGV("javac", "-J-XX:MaxRAM={memory}", "-J-XX:+UseSerialGC", "-J-XX:-UsePerfData",
			       "-Xlint:-options", "-d", "{out}", "{source}"),
		      [LANGUAGE_RUN] =
			  ARGV("java", "-XX:MaxRAM={memory}", "-XX:+UseSerialGC", "-XX:-UsePerfData",
			       "-Xshare:auto", "-cp", "{out}", "{name}", "{args}") },
	  .defaults = ARGV("limits.memory", "1GiB") },
	/* Node 20 dies of its fast calls from WASI, once a module's memory has grown by much. */
	{ .name = "wasm",
	  .aliases = "webassembly wasi",
	  .diagnostics = DIAGNOSTICS_PLAIN,
	  .file = "main.wasm",
	  .stages = { [LANGUAGE_RUN] = ARGV("node", "--no-warnings", "--experimental-wasi-unstable-preview1",
					    "--no-turbo-fast-api-calls", "--wasm-max-mem-pages={pages}",
					    "--stack-size={stack}", "{support}/wasi.mjs", "{directories}",
					    "{source}", "{args}") },
	  .support = ARGV("wasi.mjs", wasi_host),
	  .is_engine = true },
	{ .name = "wasm",
	  .aliases = "webassembly wasi",
	  .diagnostics = DIAGNOSTICS_PLAIN,
	  .file = "main.wasm",
	  .stages = { [LANGUAGE_RUN] = ARGV("wasmtime", "run", "--dir", ".", "{source}", "{args}") } },
	{ .name = "command",
	  .aliases = "cmd",
	  .diagnostics = DIAGNOSTICS_PLAIN,
	  .file = "command",
	  .stages = { [LANGUAGE_RUN] = ARGV("sh", "-c", "--", "{code}", "sh", "{args}") } },
};
#define TABLE_ROWS (ARRAY_LENGTH(table))
#define NAMES_MAX  (ROWS_MAX + TABLE_ROWS + 1)

struct languages {
	struct language rows[ROWS_MAX]; /* of the document */
	size_t count;
	struct json_value *document; /* owns the rows' texts */
	void **lists;                /* their arrays, and texts that were put together */
	size_t list_count, list_capacity;
};

/* ---- the document ---- */

struct reading {
	struct languages *languages;
	const char *origin;
	struct warder_error *err;
};

/* `key`: of the member that the value is, or is in; NULL: none. */
static int refuse_in(struct reading *reading, const char *key, const struct json_value *value,
		     const char *why)
{
	return error_set(reading->err, WARDER_ERROR_INVALID_REQUEST, key ? key : "languages", "%s:%d: %s%s%s",
			 reading->origin, value->line, key ? key : "", key ? ": " : "", why);
}

static int refuse(struct reading *reading, const struct json_value *value, const char *why)
{
	return refuse_in(reading, value->key, value, why);
}

/* Takes what was allocated (NULL: not), and keeps it with the languages. NULL without memory. */
static void *keep(struct languages *languages, void *list)
{
	if (list && languages->list_count == languages->list_capacity) {
		size_t capacity = languages->list_capacity ? 2 * languages->list_capacity : 64;
		void **grown = reallocarray(languages->lists, capacity, sizeof(*grown));

		if (!grown) {
			free(list);
			return NULL;
		}
		languages->lists = grown;
		languages->list_capacity = capacity;
	}
	if (list)
		languages->lists[languages->list_count++] = list;
	return list;
}

static const char **new_list(struct reading *reading, size_t count)
{
	return keep(reading->languages, calloc(count + 1, sizeof(char *)));
}

static size_t count_children(const struct json_value *value)
{
	size_t count = 0;

	for (const struct json_value *child = value->child; child; child = child->next)
		count++;
	return count;
}

static int read_strings(struct reading *reading, const struct json_value *value, const char *const **ret)
{
	const size_t count = value->type == JSON_ARRAY ? count_children(value) : 0;
	const char **list;
	size_t i = 0;

	if (value->type != JSON_ARRAY || count == 0 || count > ELEMENTS_MAX)
		return refuse(reading, value, "must be an array of 1 to 64 strings");
	list = new_list(reading, count);
	if (!list)
		return error_no_memory(reading->err, NULL);
	for (const struct json_value *child = value->child; child; child = child->next) {
		if (child->type != JSON_STRING)
			return refuse_in(reading, value->key, child, "must be a string");
		list[i++] = child->string;
	}
	*ret = list;
	return 0;
}

/* {"a": "b"} as "a", "b" or, joined, as "a=b". */
static int read_pairs(struct reading *reading, const struct json_value *value, bool joined,
		      const char *const **ret)
{
	const size_t count = value->type == JSON_OBJECT ? count_children(value) : 0;
	const char **list;
	size_t i = 0;

	if (value->type != JSON_OBJECT || count > ELEMENTS_MAX)
		return refuse(reading, value, "must be an object of at most 64 strings");
	list = new_list(reading, joined ? count : 2 * count);
	if (!list)
		return error_no_memory(reading->err, NULL);
	for (const struct json_value *child = value->child; child; child = child->next) {
		char *text = NULL;

		if (child->type != JSON_STRING)
			return refuse(reading, child, "must be a string");
		if (!joined) {
			list[i++] = child->key;
			list[i++] = child->string;
			continue;
		}
		if (asprintf(&text, "%s=%s", child->key, child->string) < 0 ||
		    !keep(reading->languages, text))
			return error_no_memory(reading->err, NULL);
		list[i++] = text;
	}
	*ret = list;
	return 0;
}

static int read_name(struct reading *reading, const struct json_value *value, const char **ret)
{
	if (value->type != JSON_STRING || !policy_is_language_name(value->string))
		return refuse(reading, value,
			      "must be a name of up to 31 characters: small letters, digits, and + # . _ -");
	*ret = value->string;
	return 0;
}

static int read_file_name(struct reading *reading, const struct json_value *value, const char **ret)
{
	struct warder_error fault;

	if (value->type != JSON_STRING || strchr(value->string, '/') ||
	    path_check_relative(value->string, strlen(value->string), &fault) != 0)
		return refuse(reading, value, "must be a file name without a directory, such as main.awk");
	*ret = value->string;
	return 0;
}

static int read_aliases(struct reading *reading, const struct json_value *value, const char **ret)
{
	const char *const *names;
	char *text;
	size_t size = 1;

	if (read_strings(reading, value, &names) != 0)
		return -1;
	for (size_t i = 0; names[i]; i++) {
		if (!policy_is_language_name(names[i]))
			return refuse(
			    reading, value,
			    "has a name with other characters than small letters, digits, + # . _ -");
		size += strlen(names[i]) + 1;
	}
	text = (char *)new_list(reading, size / sizeof(char *) + 1);
	if (!text)
		return error_no_memory(reading->err, NULL);
	for (size_t i = 0; names[i]; i++)
		sprintf(text + strlen(text), "%s%s", i ? " " : "", names[i]);
	*ret = text;
	return 0;
}

static int read_defaults(struct reading *reading, const struct json_value *value, const char *const **ret)
{
	owned_policy struct policy trial = { 0 };
	struct warder_error fault = { 0 };

	if (read_pairs(reading, value, false, ret) != 0 || policy_preset("strict", &trial, reading->err) != 0)
		return -1;
	for (size_t i = 0; (*ret)[i]; i += 2) {
		if (policy_set(&trial, (*ret)[i], (*ret)[i + 1], &fault) != 0)
			return refuse(reading, value, fault.text);
	}
	return 0;
}

static int read_member(struct reading *reading, const struct json_value *value, struct language *row)
{
	static const char *const stages[LANGUAGE_STAGES] = { "check", "build", "run" };

	for (size_t i = 0; i < LANGUAGE_STAGES; i++) {
		if (strcmp(value->key, stages[i]) == 0)
			return read_strings(reading, value, &row->stages[i]);
	}
	if (strcmp(value->key, "name") == 0)
		return read_name(reading, value, &row->name);
	if (strcmp(value->key, "file") == 0)
		return read_file_name(reading, value, &row->file);
	if (strcmp(value->key, "aliases") == 0)
		return read_aliases(reading, value, &row->aliases);
	if (strcmp(value->key, "environment") == 0)
		return read_pairs(reading, value, true, &row->environment);
	if (strcmp(value->key, "buildEnvironment") == 0)
		return read_pairs(reading, value, true, &row->build_environment);
	if (strcmp(value->key, "defaults") == 0)
		return read_defaults(reading, value, &row->defaults);
	return refuse(
	    reading, value,
	    "is not a member of a language; known: name, aliases, file, check, build, run, environment, "
	    "buildEnvironment, defaults");
}

static int read_row(struct reading *reading, const struct json_value *value)
{
	struct languages *languages = reading->languages;
	struct language *row = &languages->rows[languages->count];

	if (value->type != JSON_OBJECT)
		return refuse(reading, value, "must be an object");
	if (languages->count == ROWS_MAX)
		return refuse(reading, value, "is one language too many; at most 64");
	*row = (struct language){ .aliases = "",
				  .diagnostics = DIAGNOSTICS_PLAIN,
				  .spawns = LANGUAGE_BIT(LANGUAGE_BUILD) };
	for (const struct json_value *member = value->child; member; member = member->next) {
		if (read_member(reading, member, row) != 0)
			return -1;
	}
	if (!row->name || !row->file || !row->stages[LANGUAGE_RUN])
		return refuse(reading, value, "a language needs name, file and run");
	languages->count++;
	return 0;
}

static int read_document(struct reading *reading, const struct json_value *document)
{
	const struct json_value *rows = document->type == JSON_OBJECT ? document->child : NULL;

	if (!rows || rows->next || strcmp(rows->key, "languages") != 0 || rows->type != JSON_ARRAY)
		return refuse(reading, document, "must be {\"languages\": [...]}");
	for (const struct json_value *row = rows->child; row; row = row->next) {
		if (read_row(reading, row) != 0)
			return -1;
	}
	return 0;
}

int languages_parse(const char *text, size_t len, const char *origin, struct languages **ret,
		    struct warder_error *err)
{
	struct languages *languages = calloc(1, sizeof(*languages));
	struct reading reading = { .languages = languages, .origin = origin, .err = err };

	if (!languages)
		return error_no_memory(err, NULL);
	if (json_parse(text, len, origin, NULL, &languages->document, err) != 0 ||
	    read_document(&reading, languages->document) != 0) {
		languages_free(languages);
		return -1;
	}
	*ret = languages;
	return 0;
}

int languages_load(const char *path, struct languages **ret, struct warder_error *err)
{
	char *text = NULL;
	size_t len = 0;
	int status;

	if (!path)
		return languages_parse("{\"languages\": []}", 17, "languages", ret, err);
	if (file_read(path, &text, &len, err) != 0)
		return -1;
	status = languages_parse(text, len, path, ret, err);
	free(text);
	return status;
}

void languages_free(struct languages *languages)
{
	if (!languages)
		return;
	for (size_t i = 0; i < languages->list_count; i++)
		free(languages->lists[i]);
	free(languages->lists);
	json_free(languages->document);
	free(languages);
}

/* ---- looking up ---- */

const struct language *languages_at(const struct languages *languages, size_t i)
{
	if (i < languages->count)
		return &languages->rows[i];
	i -= languages->count;
	return i < TABLE_ROWS ? &table[i] : NULL;
}

static bool answers_to(const struct language *row, const char *name)
{
	const size_t len = strlen(name);
	const char *at = row->aliases;

	if (strcasecmp(row->name, name) == 0)
		return true;
	while (len && *at) {
		size_t n = strcspn(at, " ");

		if (n == len && strncasecmp(at, name, n) == 0)
			return true;
		at += n + (at[n] == ' ');
	}
	return false;
}

const char *languages_canonical(const struct languages *languages, const char *name)
{
	const struct language *row;

	for (size_t i = 0; (row = languages_at(languages, i)) != NULL; i++) {
		if (answers_to(row, name))
			return row->name;
	}
	return NULL;
}

const char *const *languages_defaults(const struct languages *languages, const char *name)
{
	const struct language *row;

	for (size_t i = 0; (row = languages_at(languages, i)) != NULL; i++) {
		if (answers_to(row, name))
			return row->defaults;
	}
	return NULL;
}

/* The path inside of a program; heap, NULL if the view has none. */
static char *find_program(const struct policy *policy, const char *name)
{
	char path[PATH_MAX];

	return rootfs_find_program(policy, name, path, sizeof(path)) ? strdup(path) : NULL;
}

/* 0; -1 with the name of the program that is missing. What the build makes need not be there yet. */
static int find_programs(const struct language *row, const struct policy *policy,
			 char *ret_programs[LANGUAGE_STAGES], const char **ret_missing)
{
	for (int stage = 0; stage < LANGUAGE_STAGES; stage++) {
		const char *name = row->stages[stage] ? row->stages[stage][0] : NULL;

		ret_programs[stage] = NULL;
		if (!name || strncmp(name, "{out}", 5) == 0)
			continue;
		ret_programs[stage] = find_program(policy, name);
		if (ret_programs[stage])
			continue;
		*ret_missing = name;
		while (stage > 0)
			free(ret_programs[--stage]);
		return -1;
	}
	return 0;
}

/* NULL at the end. */
static void collect_names(const struct languages *languages, const char *words[NAMES_MAX])
{
	const struct language *row;
	size_t count = 0;

	for (size_t i = 0; (row = languages_at(languages, i)) != NULL; i++) {
		if (!count || strcmp(words[count - 1], row->name) != 0)
			words[count++] = row->name;
	}
	words[count] = NULL;
}

int languages_check(const struct languages *languages, const struct policy *policy, struct warder_error *err)
{
	const char *words[NAMES_MAX];

	collect_names(languages, words);
	return policy_check_languages(policy, words, err);
}

int languages_check_by(const char *path, const struct policy *policy, struct warder_error *err)
{
	struct languages *languages = NULL;
	bool all_ours = true;
	int ret;

	for (size_t i = 0; i < policy->languages.names.count; i++)
		all_ours = all_ours && policy_is_language(policy->languages.names.items[i]);
	if (all_ours)
		return 0;
	if (languages_load(path, &languages, err) != 0)
		return -1;
	ret = languages_check(languages, policy, err);
	languages_free(languages);
	return ret;
}

int languages_refuse(const struct languages *languages, const char *name, struct warder_error *err)
{
	const char *words[NAMES_MAX];
	char shown[64], remedy[300];

	collect_names(languages, words);
	return error_set(err, WARDER_ERROR_UNSUPPORTED_LANGUAGE, "language",
			 "%s is not a language that Warder knows; %s", json_quote(name, shown, sizeof(shown)),
			 policy_suggest(words, name, remedy, sizeof(remedy)));
}

int language_resolve(const struct languages *languages, const char *name, const struct policy *policy,
		     const struct language **ret, char *ret_programs[LANGUAGE_STAGES],
		     struct warder_error *err)
{
	const struct language *row;
	char missing[200] = "";
	size_t used = 0;

	for (size_t i = 0; (row = languages_at(languages, i)) != NULL; i++) {
		const char *program = NULL;

		if (!answers_to(row, name))
			continue;
		if (find_programs(row, policy, ret_programs, &program) == 0) {
			*ret = row;
			return 0;
		}
		if (used < sizeof(missing) - 1)
			used += (size_t)snprintf(missing + used, sizeof(missing) - used, "%s%s",
						 used ? ", nor " : "", program);
	}
	if (!used)
		return languages_refuse(languages, name, err);
	return error_set(err, WARDER_ERROR_UNSUPPORTED_LANGUAGE, "language",
			 "the language %s is not available: there is no %.180s in the view of %s; "
			 "install %s there",
			 languages_canonical(languages, name), missing,
			 policy->filesystem.view == POLICY_VIEW_HOST ? "this host (/usr)"
								     : policy->filesystem.view_source,
			 strstr(missing, "node") ? "Debian's package nodejs" : "it");
}
