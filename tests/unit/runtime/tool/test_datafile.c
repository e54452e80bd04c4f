#include "base/array.h"
#include "runtime/tool/datafile.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"

#define PART(type, text)                                                                                     \
	{                                                                                                    \
		type,                                                                                        \
		{                                                                                            \
			text, sizeof(text) - 1                                                               \
		}                                                                                            \
	}

Test(datafile, variables, .timeout = 20)
{
	static const char *const rows[][2] = {
		{ "data_1_2.csv", "data_1_2" },
		{ "a b-c.csv", "a_b_c" },
		{ "1.csv", "_1" },
		{ "a.b.csv", "a_b" },
		{ ".csv", "_csv" },
		{ "", "_" },
		{ "\xc3\xa4\xe2\x82\xac.csv", "__" },
		{ "class.csv", "class_" },
		{ "None", "None_" },
		{ "noext", "noext" },
		{ "\x81", "_" },
		{ "\x81"
		  "1",
		  "_1" },
	};
	char buf[16];

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		cr_expect_str_eq(datafile_variable(rows[i][0], buf, sizeof(buf)), rows[i][1], "%s",
				 rows[i][0]);
	cr_expect_str_eq(datafile_variable("continue.csv", buf, 8), "conti", "cut");
	cr_expect_str_eq(datafile_variable("class.csv", buf, 8), "class_");
	cr_expect_str_eq(datafile_variable("12345678", buf, 8), "_1234");
}

Test(datafile, tables_become_files, .timeout = 20)
{
	static const struct datafile_part first[] = { PART("text/plain", "Look:"),
						      PART("text/csv", "a,b\n1,2\n"),
						      PART("image/png", "\x89PNG"),
						      PART("text/plain", "ok?") };
	static const struct datafile_part second[] = { PART("Text/CSV; charset=utf-8", "c\n3\n"),
						       PART("text/csvx", "d"), PART(NULL, "e") };
	static const struct datafile_message messages[] = { { first, 4 }, { NULL, 0 }, { second, 3 } };
	static const char *const texts[] = { "Look:\nAvailable file: `data_1_2.csv`\nok?", "",
					     "\nAvailable file: `data_3_1.csv`\nd" };
	struct datafile_list list;
	struct warder_error err = { 0 };

	cr_assert(datafile_extract(messages, 3, NULL, &list, &err) == 0, "%s", err.text);
	cr_assert(list.count == 2);
	cr_expect_str_eq(list.files[0].name, "data_1_2.csv");
	cr_expect(list.files[0].content.at == first[1].content.at && !list.files[0].is_stored);
	cr_expect_str_eq(list.files[1].name, "data_3_1.csv");
	for (size_t i = 0; i < 3; i++) {
		size_t len = 0;
		char *text = datafile_text(messages, &list, i, &len);

		cr_expect_str_eq(text, texts[i]);
		cr_expect(len == strlen(texts[i]));
		free(text);
	}
	datafile_list_done(&list);
}

Test(datafile, what_the_context_knows, .timeout = 20)
{
	static const struct datafile_part parts[] = { PART("text/csv", "a\n"), PART("text/csv", "b\n"),
						      PART("text/csv", "c\n") };
	static const struct datafile_message message = { parts, 3 };
	const struct context_file same = { "data_1_1.csv", "text/csv", { "a\n", 2 } };
	const struct context_file other = { "data_1_2.csv", "text/csv", { "x\n", 2 } };
	struct datafile_options options = { 0 };
	struct context *context = NULL;
	struct datafile_list list;
	struct warder_error err = { 0 };

	cr_assert(context_read("", 0, &context, &err) == 0);
	cr_assert(context_add_file(context, &same, &err) == 0 &&
		  context_add_file(context, &other, &err) == 0);
	cr_assert(context_add_processed(context, "data_1_1.csv", &err) == 0);
	cr_assert(context_add_processed(context, "data_1_2.csv", &err) == 0);
	options.context = context;
	cr_assert(datafile_extract(&message, 1, &options, &list, &err) == 0);
	cr_expect(list.files[0].is_stored && list.files[0].is_processed);
	cr_expect(!list.files[1].is_stored && !list.files[1].is_processed, "another table of the same name");
	cr_expect(!list.files[2].is_stored && !list.files[2].is_processed);
	datafile_list_done(&list);
	context_free(context);
}

static char *snippet_of(const char *bytes, size_t len, const struct datafile_options *options)
{
	const struct datafile_part part = { "text/csv", { bytes, len } };
	const struct datafile_message message = { &part, 1 };
	struct datafile_list list;
	struct warder_error err = { 0 };
	char *snippet;

	cr_assert(datafile_extract(&message, 1, options, &list, &err) == 0, "%s", err.text);
	snippet = list.files[0].snippet;
	list.files[0].snippet = NULL;
	datafile_list_done(&list);
	return snippet;
}

#define TABLE(text) text, sizeof(text) - 1

Test(datafile, columns_in_a_comment, .timeout = 20)
{
	static const struct {
		const char *table;
		size_t len;
		const char *comment;
	} rows[] = {
		{ TABLE("a,b\n1,2\n"), "\n# Columns: a, b\n" },
		{ TABLE("a"), "\n# Columns: a\n" },
		{ TABLE(""), "\n# Columns: \n" },
		{ TABLE("a,\r\n1,2"), "\n# Columns: a, \n" },
		{ TABLE("\xef\xbb\xbf"
			"a,b\n"),
		  "\n# Columns: a, b\n" },
		{ TABLE("\"a,b\",\"say \"\"hi\"\"\",c\n"), "\n# Columns: a,b, say \"hi\", c\n" },
		{ TABLE("\"a\nimport os\",\"b\r\nx\"\n"), "\n# Columns: a?import os, b??x\n" },
		{ TABLE("\"a"), "\n# Columns: a\n" },
		{ TABLE("a\0b\xff,\033[0m\n"), "\n# Columns: a\xef\xbf\xbd"
					       "b\xef\xbf\xbd, ?[0m\n" },
		{ TABLE("0123456789012345678901234567890123456789x,b"), "0123456789..., b\n" },
		{ TABLE("a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v\n"), "s, t and 2 more\n" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		char *snippet = snippet_of(rows[i].table, rows[i].len, NULL);
		const char *comment = strstr(snippet, rows[i].comment);

		cr_expect(comment && comment[strlen(rows[i].comment)] == '\0', "row %zu: %s", i, snippet);
		cr_expect(json_is_utf8(snippet), "row %zu", i);
		free(snippet);
	}
}

Test(datafile, pandas_only_where_asked, .timeout = 20)
{
	static const struct datafile_options options = { .pandas = true, .directory = "in \"1\"\n/" };
	char *snippet = snippet_of("a\n1\n", 4, &options);

	cr_expect_str_eq(snippet,
			 "import pandas\n\ndata_1_1 = pandas.read_csv(\"in \\\"1\\\"\\x0a/data_1_1.csv\")\n"
			 "data_1_1.info()\nprint(data_1_1.head())\n# Columns: a\n");
	free(snippet);
	snippet = snippet_of("a\n1\n", 4, NULL);
	cr_expect_null(strstr(snippet, "pandas"));
	free(snippet);
}

static void write_file(const char *path, const char *bytes, size_t len)
{
	FILE *file = fopen(path, "wb");

	cr_assert(file && fwrite(bytes, 1, len, file) == len && fclose(file) == 0, "%s", path);
}

/* The snippet is a program that runs, whatever the table is like. */
Test(datafile, snippets_run, .timeout = 120)
{
	static const struct {
		const char *table;
		size_t len;
		const char *printed;
	} rows[] = {
		{ TABLE("a,b\n1,2\n3,4\n"),
		  "data_1_1.csv: 2 rows, columns: a, b\n{'a': '1', 'b': '2'}\n{'a': '3', 'b': '4'}\n" },
		{ TABLE("\xef\xbb\xbf"
			"a\r\n1\r\n"),
		  "data_1_1.csv: 1 rows, columns: a\n{'a': '1'}\n" },
		{ TABLE(""), "data_1_1.csv: 0 rows, columns: \n" },
		{ TABLE("\"a\nimport os\"\n1,2,3\n"),
		  "data_1_1.csv: 1 rows, columns: a\nimport os\n{'a\\nimport os': '1', None: ['2', '3']}\n" },
		{ TABLE("# coding: no-such\n1\n"),
		  "data_1_1.csv: 1 rows, columns: # coding: no-such\n{'# coding: no-such': '1'}\n" },
		{ TABLE("a\xff\n1\n"),
		  "data_1_1.csv: 1 rows, columns: a\xef\xbf\xbd\n{'a\xef\xbf\xbd': '1'}\n" },
	};
	char dir[] = "/tmp/test-datafile-XXXXXX", path[64], command[160], printed[512];

	cr_assert_not_null(mkdtemp(dir));
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		char *snippet = snippet_of(rows[i].table, rows[i].len, NULL);
		FILE *python;
		size_t len;

		snprintf(path, sizeof(path), "%s/data_1_1.csv", dir);
		write_file(path, rows[i].table, rows[i].len);
		snprintf(path, sizeof(path), "%s/snippet.py", dir);
		write_file(path, snippet, strlen(snippet));
		snprintf(command, sizeof(command), "cd %s && PYTHONUTF8=1 python3 -I -X utf8 snippet.py 2>&1",
			 dir);
		python = popen(command, "r");
		cr_assert_not_null(python);
		len = fread(printed, 1, sizeof(printed) - 1, python);
		printed[len] = '\0';
		cr_expect(pclose(python) == 0, "row %zu: %s", i, printed);
		cr_expect_str_eq(printed, rows[i].printed, "row %zu: %s", i, printed);
		unlink(path);
		free(snippet);
	}
	snprintf(path, sizeof(path), "%s/data_1_1.csv", dir);
	unlink(path);
	rmdir(dir);
}

Test(datafile, limits, .timeout = 20)
{
	static struct datafile_part parts[DATAFILE_MAX + 1];
	const struct datafile_message most = { parts, DATAFILE_MAX }, more = { parts, DATAFILE_MAX + 1 };
	const struct datafile_part large[] = { { "text/csv",
						 { calloc(1, AGENT_MAX_TEXT_BYTES), AGENT_MAX_TEXT_BYTES } },
					       { "text/csv", { "a", 1 } } };
	const struct datafile_message one = { large, 1 }, two = { large, 2 };
	struct datafile_list list;
	struct warder_error err = { 0 };

	for (size_t i = 0; i <= DATAFILE_MAX; i++)
		parts[i] = (struct datafile_part){ "text/csv", { "a", 1 } };
	cr_expect(datafile_extract(&most, 1, NULL, &list, &err) == 0 && list.count == DATAFILE_MAX);
	datafile_list_done(&list);
	cr_expect(datafile_extract(&more, 1, NULL, &list, &err) == -1);
	cr_expect(strstr(err.text, "more than 256 tables"), "%s", err.text);
	cr_expect(datafile_extract(&one, 1, NULL, &list, &err) == 0);
	datafile_list_done(&list);
	cr_expect(datafile_extract(&two, 1, NULL, &list, &err) == -1);
	cr_expect(strstr(err.text, "16777217 bytes are too many"), "%s", err.text);
	free((char *)large[0].content.at);
}
