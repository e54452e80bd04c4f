/* The table of languages and the operator's document of more (runtime/code/languages.c). */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "runtime/code/languages.h"

static struct languages *load(const char *document, struct warder_error *err)
{
	char path[] = "/tmp/warder-languages-XXXXXX";
	struct languages *languages = NULL;
	int fd = mkstemp(path);

	memset(err, 0, sizeof(*err));
	cr_assert(fd >= 0);
	cr_assert_eq(write(fd, document, strlen(document)), (ssize_t)strlen(document));
	close(fd);
	if (languages_load(path, &languages, err) != 0)
		languages = NULL;
	unlink(path);
	return languages;
}

Test(languages, names_and_aliases, .timeout = 20)
{
	static const char *const rows[][2] = {
		{ "python", "python" },
		{ "PY", "python" },
		{ "tool_code", "python" },
		{ "js", "javascript" },
		{ "node", "javascript" },
		{ "ts", "typescript" },
		{ "bash", "bash" },
		{ "sh", "sh" },
		{ "rb", "ruby" },
		{ "R", "r" },
		{ "pl", "perl" },
		{ "golang", "go" },
		{ "rs", "rust" },
		{ "c", "c" },
		{ "cpp", "c++" },
		{ "C++", "c++" },
		{ "java", "java" },
		{ "webassembly", "wasm" },
		{ "command", "command" },
		{ "lua", "lua" },
		{ "php", "php" },
		{ "phyton", NULL },
		{ "", NULL },
		{ "py ", NULL },
	};
	struct languages *languages = NULL;
	struct warder_error err;

	cr_assert_eq(languages_load(NULL, &languages, &err), 0);
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const char *name = languages_canonical(languages, rows[i][0]);

		if (rows[i][1])
			cr_expect(name && strcmp(name, rows[i][1]) == 0, "%s: %s", rows[i][0],
				  name ? name : "none");
		else
			cr_expect_null(name, "%s: %s", rows[i][0], name ? name : "");
	}
	languages_free(languages);
}

Test(languages, every_row_is_whole, .timeout = 20)
{
	struct languages *languages = NULL;
	const struct language *row;
	struct warder_error err;

	cr_assert_eq(languages_load(NULL, &languages, &err), 0);
	for (size_t i = 0; (row = languages_at(languages, i)) != NULL; i++) {
		cr_expect(row->name && row->aliases && row->file && row->stages[LANGUAGE_RUN], "%s",
			  row->name);
		cr_expect(policy_is_language(row->name), "%s is none that a policy may name", row->name);
		for (size_t k = 0; row->defaults && row->defaults[k]; k += 2) {
			owned_policy struct policy policy = { 0 };

			cr_assert_eq(policy_preset("strict", &policy, &err), 0);
			cr_expect_eq(policy_set(&policy, row->defaults[k], row->defaults[k + 1], &err), 0,
				     "%s: %s", row->name, err.text);
		}
	}
	languages_free(languages);
}

Test(languages, a_document_adds_and_goes_first, .timeout = 20)
{
	struct warder_error err;
	struct languages *languages = load(
	    "{\"languages\": [{\"name\": \"awk\", \"aliases\": [\"gawk\", \"mawk\"], \"file\": \"main.awk\", "
	    "\"run\": [\"awk\", \"-f\", \"{source}\", \"{args}\"], \"environment\": {\"A\": \"1\"}, "
	    "\"defaults\": {\"limits.memory\": \"64MiB\"}}, "
	    "{\"name\": \"python\", \"file\": \"x.py\", \"run\": [\"/usr/bin/python3\", \"-I\", "
	    "\"{source}\"]}]}",
	    &err);
	char *programs[LANGUAGE_STAGES];
	const struct language *row = NULL;
	owned_policy struct policy policy = { 0 };

	cr_assert_not_null(languages, "%s", err.text);
	cr_expect_str_eq(languages_canonical(languages, "mawk"), "awk");
	cr_expect_str_eq(languages_at(languages, 0)->environment[0], "A=1");
	cr_expect_str_eq(languages_at(languages, 0)->defaults[1], "64MiB");
	cr_assert_eq(policy_preset("strict", &policy, &err), 0);
	cr_assert_eq(language_resolve(languages, "python", &policy, &row, programs, &err), 0, "%s", err.text);
	cr_expect_str_eq(row->file, "x.py");
	cr_expect_str_eq(programs[LANGUAGE_RUN], "/usr/bin/python3");
	free(programs[LANGUAGE_RUN]);
	languages_free(languages);
}

/* A policy may name what a document adds, and nothing that is nowhere. */
Test(languages, a_policy_names_what_there_is, .timeout = 20)
{
	static const struct {
		const char *names, *says;
	} rows[] = {
		{ "any", NULL },
		{ "", NULL },
		{ "command,awk,c++", NULL },
		{ "awk,pyton",
		  "languages[1]: \"pyton\" is not a language that Warder knows; did you mean \"python\"?" },
		{ "cobol", "known: \"awk\", \"python\"," },
		{ "gawk", "did you mean \"awk\"?" }, /* an alias is none */
	};
	struct warder_error err;
	struct languages *languages =
	    load("{\"languages\": [{\"name\": \"awk\", \"aliases\": [\"gawk\"], \"file\": \"main.awk\", "
		 "\"run\": [\"awk\", \"-f\", \"{source}\"]}]}",
		 &err);

	cr_assert_not_null(languages, "%s", err.text);
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		owned_policy struct policy policy = { 0 };
		int ret;

		cr_assert_eq(policy_preset("strict", &policy, &err), 0);
		cr_assert_eq(policy_set(&policy, "languages", rows[i].names, &err), 0, "%s", err.text);
		ret = languages_check(languages, &policy, &err);
		cr_expect_eq(ret, rows[i].says ? -1 : 0, "%s: %s", rows[i].names, err.text);
		cr_expect(!rows[i].says || (ret < 0 && strstr(err.text, rows[i].says)), "%s: %s",
			  rows[i].names, err.text);
		cr_expect_eq(languages_check_by(NULL, &policy, &err),
			     rows[i].says || strstr(rows[i].names, "awk") ? -1 : 0, "%s", rows[i].names);
	}
	languages_free(languages);
}

/* A row may have 64 variables, and a document 64 rows. */
Test(languages, a_large_document_is_taken, .timeout = 20)
{
	char *text = NULL;
	size_t len;
	FILE *file = open_memstream(&text, &len);
	struct warder_error err = { 0 };
	struct languages *languages;

	fprintf(file, "{\"languages\": [");
	for (int i = 0; i < 64; i++) {
		fprintf(file, "%s{\"name\": \"x%d\", \"file\": \"x\", \"run\": [\"x\"], \"environment\": {",
			i ? ", " : "", i);
		for (int j = 0; j < 64; j++)
			fprintf(file, "%s\"A%d\": \"%d\"", j ? ", " : "", j, i);
		fprintf(file, "}}");
	}
	fprintf(file, "]}");
	fclose(file);
	languages = load(text, &err);
	cr_assert_not_null(languages, "%s", err.text);
	cr_expect_str_eq(languages_at(languages, 63)->environment[63], "A63=63");
	languages_free(languages);
	free(text);
}

#define ROW(members) "{\"languages\": [{\"name\": \"x\", \"file\": \"x\", \"run\": [\"x\"]" members "}]}"

Test(languages, bad_documents_are_refused, .timeout = 20)
{
	static const struct {
		const char *document, *says;
	} rows[] = {
		{ "[]", "must be {\"languages\"" },
		{ "{\"languages\": {}}", "must be {\"languages\"" },
		{ "{\"languages\": [], \"more\": 1}", "must be {\"languages\"" },
		{ "{\"languages\": [1]}", "must be an object" },
		{ "{\"languages\": [{}]}", "needs name, file and run" },
		{ "{\"languages\": [{\"name\": \"x\", \"file\": \"x\"}]}", "needs name, file and run" },
		{ ROW(", \"more\": 1"), "not a member of a language" },
		{ ROW(", \"build\": []"), "array of 1 to 64 strings" },
		{ ROW(", \"build\": [1]"), "must be a string" },
		{ ROW(", \"environment\": []"), "object of at most 64 strings" },
		{ ROW(", \"environment\": {\"A\": 1}"), "must be a string" },
		{ ROW(", \"aliases\": [\"A B\"]"), "other characters" },
		{ ROW(", \"defaults\": {\"limits.memory\": \"lots\"}"), "lots" },
		{ ROW(", \"defaults\": {\"nonsense\": \"1\"}"), "nonsense" },
		{ "{\"languages\": [{\"name\": \"UP\", \"file\": \"x\", \"run\": [\"x\"]}]}",
		  "must be a name" },
		{ "{\"languages\": [{\"name\": \"x\", \"file\": \"../x\", \"run\": [\"x\"]}]}",
		  "without a directory" },
		{ "{\"languages\": [{\"name\": \"x\", \"file\": \"\", \"run\": [\"x\"]}]}",
		  "without a directory" },
		{ "{\"languages\": [{\"name\": \"x\",\n \"name\": \"y\"}]}", ":2" },
		{ "nonsense", ":1" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct warder_error err;

		cr_expect_null(load(rows[i].document, &err), "%s", rows[i].document);
		cr_expect(strstr(err.text, rows[i].says), "%s: %s", rows[i].document, err.text);
		cr_expect_eq(err.code, WARDER_ERROR_INVALID_REQUEST, "%s", rows[i].document);
	}
}

Test(languages, what_is_not_there_is_not_replaced, .timeout = 20)
{
	char *programs[LANGUAGE_STAGES];
	struct languages *languages;
	const struct language *row = NULL;
	owned_policy struct policy policy = { 0 };
	struct warder_error err;
	char view[] = "/tmp/warder-view-XXXXXX", directory[64];

	languages = load(
	    "{\"languages\": [{\"name\": \"x\", \"file\": \"x\", \"run\": [\"no-such-program\"]}]}", &err);
	cr_assert_not_null(languages);
	cr_assert_eq(policy_preset("strict", &policy, &err), 0);
	cr_expect_eq(language_resolve(languages, "x", &policy, &row, programs, &err), -1);
	cr_expect_eq(err.code, WARDER_ERROR_UNSUPPORTED_LANGUAGE);
	cr_expect(strstr(err.text, "no-such-program"), "%s", err.text);
	cr_expect_eq(language_resolve(languages, "phyton", &policy, &row, programs, &err), -1);
	cr_expect(strstr(err.text, "python"), "%s", err.text);
	/* The host has a shell, this view has none. */
	cr_assert(mkdtemp(view));
	snprintf(directory, sizeof(directory), "directory:%s", view);
	cr_assert_eq(policy_set(&policy, "filesystem.view", directory, &err), 0);
	cr_expect_eq(language_resolve(languages, "sh", &policy, &row, programs, &err), -1);
	cr_expect(strstr(err.text, view), "%s", err.text);
	rmdir(view);
	languages_free(languages);
}
