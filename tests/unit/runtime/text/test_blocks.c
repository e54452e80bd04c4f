#include "base/array.h"
#include "runtime/text/blocks.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a table of languages would do. */
static const char *canonical(const void *table, const char *name, size_t len)
{
	static const char *const names[][2] = { { "python", "python" },
						{ "py", "python" },
						{ "tool_code", "python" },
						{ "js", "javascript" },
						{ "javascript", "javascript" },
						{ "bash", "bash" },
						{ "c++", "c++" },
						{ "go", "go" } };

	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		if (span_is_word((struct span){ name, len }, names[i][0]))
			return names[i][1];
	}
	return NULL;
}

#define MAX_EXPECTED 4

struct expected {
	const char *language, *code;
	size_t start, end;
};

struct row {
	const char *label, *text;
	struct expected blocks[MAX_EXPECTED + 1]; /* up to one without code */
};

static size_t count_expected(const struct row *row)
{
	size_t count = 0;

	while (row->blocks[count].code)
		count++;
	return count;
}

static void expect_block(const struct row *row, size_t i, const struct block *block)
{
	const struct expected *expected = &row->blocks[i];
	size_t len = 0;
	char *code = block_code_copy(block, &len);

	cr_expect(span_is(block->language, expected->language), "%s: block %zu: language \"%.*s\"",
		  row->label, i, (int)block->language.len, block->language.at);
	cr_expect(span_is((struct span){ code, len }, expected->code), "%s: block %zu: code \"%.*s\"",
		  row->label, i, (int)len, code);
	cr_expect(block->start == expected->start && block->end == expected->end, "%s: block %zu: %zu-%zu",
		  row->label, i, block->start, block->end);
	free(code);
}

/* Look through a copy that ends exactly at its length, so that the address sanitizer sees every read past it. */
static void expect(const struct row *row, const struct blocks_options *options)
{
	size_t len = strlen(row->text), count = count_expected(row);
	struct warder_error err = { 0 };
	struct blocks blocks = { 0 };
	char *copy = malloc(len ? len : 1);

	memcpy(copy, row->text, len);
	cr_assert(blocks_find(copy, len, options, &blocks, &err) == 0, "%s: %s", row->label, err.text);
	cr_expect(blocks.count == count, "%s: %zu blocks", row->label, blocks.count);
	for (size_t i = 0; i < count && i < blocks.count; i++)
		expect_block(row, i, &blocks.items[i]);
	blocks_done(&blocks);
	free(copy);
}

#define EXPECT_ALL(rows, options)                                                                            \
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)                                                      \
	expect(&rows[i], options)

Test(blocks, fences, .timeout = 20)
{
	static const struct row rows[] = {
		{ "nothing", "", { { 0 } } },
		{ "no fence", "print(1)\n", { { 0 } } },
		{ "python", "```python\nprint(1)\n```", { { "python", "print(1)", 0, 22 } } },
		{ "tool_code", "```tool_code\nx=1\n```", { { "tool_code", "x=1", 0, 20 } } },
		{ "two, in order",
		  "a\n```python\nprint(1)\n```\nb\n```bash\necho hi\n```",
		  { { "python", "print(1)", 2, 24 }, { "bash", "echo hi", 27, 46 } } },
		{ "no line", "```python\n```", { { "python", "", 0, 13 } } },
		{ "an empty line", "```python\n\n```", { { "python", "", 0, 14 } } },
		{ "two empty lines", "```\n\n\n```", { { "", "\n", 0, 9 } } },
		{ "bare", "```\nplain\n```", { { "", "plain", 0, 13 } } },
		{ "CR LF", "```python\r\nprint(1)\r\n```\r\n", { { "python", "print(1)", 0, 24 } } },
		{ "CR LF inside is kept", "```\r\na\r\nb\r\n```", { { "", "a\r\nb", 0, 14 } } },
		{ "CR alone", "```py\rx\r```\r", { { "py", "x", 0, 11 } } },
		{ "backticks inside a line",
		  "```python\nprint(\"```\")\n```",
		  { { "python", "print(\"```\")", 0, 26 } } },
		{ "tildes", "~~~python\nx\n~~~", { { "python", "x", 0, 15 } } },
		{ "info string", "```python title=x\nx\n```", { { "python", "x", 0, 23 } } },
		{ "blanks before the word", "``` \t js \nx\n```", { { "js", "x", 0, 15 } } },
		{ "longer fence", "````\n```\nx\n```\n````", { { "", "```\nx\n```", 0, 19 } } },
		{ "longer closing fence", "```\nx\n`````", { { "", "x", 0, 11 } } },
		{ "other character inside", "```\n~~~\nx\n~~~\n```", { { "", "~~~\nx\n~~~", 0, 17 } } },
		{ "two are none", "``\nx\n``", { { 0 } } },
		{ "backtick in the info string", "``` a`b\nx\n```", { { 0 } } },
		{ "backtick in the info string of tildes", "~~~ a`b\nx\n~~~", { { "a`b", "x", 0, 13 } } },
		{ "text behind what would close", "```\nx\n``` y\nz\n```", { { "", "x\n``` y\nz", 0, 17 } } },
		{ "blanks behind the closing fence", "```\nx\n``` \t\n", { { "", "x", 0, 9 } } },
		{ "not at the start of a line", "a ```\nx\n", { { 0 } } },
		{ "three spaces", "   ```\n   a\n     b\n c\n   ```", { { "", "a\n  b\nc", 3, 28 } } },
		{ "four spaces are indented code", "    ```\n    x\n    ```", { { 0 } } },
		{ "a tab is indented code", "\t```\n", { { 0 } } },
		{ "closing fence three deeper", "```\nx\n   ```", { { "", "x", 0, 12 } } },
		{ "four deeper does not close", "```\nx\n    ```\n```", { { "", "x\n    ```", 0, 17 } } },
		{ "indentation of the code stays", "```python\n  x\n```", { { "python", "  x", 0, 17 } } },
		{ "blanks and lines around stay", "```\n\n x \n\n```", { { "", "\n x \n", 0, 13 } } },
		{ "unclosed", "```python\nx\n", { { 0 } } },
		{ "unclosed hides the rest", "```python\nx\n~~~\ny\n~~~\n", { { 0 } } },
		{ "a block after a block",
		  "```\na\n```\n```\nb\n```",
		  { { "", "a", 0, 9 }, { "", "b", 10, 19 } } },
	};

	EXPECT_ALL(rows, NULL);
}

Test(blocks, in_containers, .timeout = 20)
{
	static const struct row rows[] = {
		{ "a list item",
		  "1. Step:\n\n   ```python\n   print(1)\n   ```\n",
		  { { "python", "print(1)", 13, 41 } } },
		{ "an item with wide padding",
		  "1.  a\n\n    ```py\n    x\n      y\n    ```\n",
		  { { "py", "x\n  y", 11, 38 } } },
		{ "behind the marker", "- ```py\n  x\n  ```\n", { { "py", "x", 2, 17 } } },
		{ "a block quote", "> ```python\n> print(1)\n> ```\n", { { "python", "print(1)", 2, 28 } } },
		{ "a quote without blanks", ">```py\n>x\n>```", { { "py", "x", 1, 14 } } },
		{ "a quote in an item", "- > ```py\n  > x\n  > ```\n", { { "py", "x", 4, 23 } } },
		{ "an item in a quote", "> - ```py\n>   x\n>   ```\n", { { "py", "x", 4, 23 } } },
		{ "blank lines in an item", "- ```\n\n  x\n\n  ```", { { "", "\nx\n", 2, 17 } } },
		{ "ended by the end of its item", "- ```py\n  x\ny\n", { { "py", "x", 2, 11 } } },
		{ "ended by the end of its quote, no lazy line", "> ```\n> x\ny\n", { { "", "x", 2, 9 } } },
		{ "two items",
		  "- ```\n  a\n  ```\n- ```\n  b\n  ```",
		  { { "", "a", 2, 15 }, { "", "b", 18, 31 } } },
		{ "a marker that does not interrupt a paragraph", "text\n2. ```\n", { { 0 } } },
		{ "deeper than its item", "- a\n\n      ```\n      x\n      ```\n", { { 0 } } },
		{ "tabs", "-\ta\n\n\t```py\n\tif x:\n\t\ty\n\t```", { { "py", "if x:\n\ty", 6, 27 } } },
		{ "a tab that is half a prefix", "- ```\n\tx\n  ```", { { "", "  x", 2, 14 } } },
		{ "a paragraph continued by deep indentation", "a\n     ```\nb\n", { { 0 } } },
		{ "a comment", "<!--\n```py\nx\n```\n-->\n", { { 0 } } },
		{ "a tag that a model writes",
		  "<answer>\n```py\nx\n```\n</answer>\n",
		  { { "py", "x", 9, 20 } } },
		{ "a byte order mark", "\xef\xbb\xbf```py\nx\n```", { { "py", "x", 3, 14 } } },
	};

	EXPECT_ALL(rows, NULL);
}

Test(blocks, deep_containers, .timeout = 20)
{
	enum { DEPTH = 200, LINES = 20000 };
	static char text[(2 * DEPTH + 4) * 2 + 2 * LINES];
	struct warder_error err = { 0 };
	struct blocks blocks = { 0 };
	size_t len = 0;

	for (size_t i = 0; i < DEPTH; i++) {
		text[len++] = '-';
		text[len++] = ' ';
	}
	memcpy(text + len, "```\n", 4);
	len += 4;
	cr_assert(blocks_find(text, len, &(struct blocks_options){ .unclosed = true }, &blocks, &err) == 0);
	cr_expect(blocks.count == 0, "deeper than the limit: text");
	blocks_done(&blocks);
	memset(text + len, '\n', 2 * LINES); /* a blank line is matched against every item */
	cr_assert(blocks_find(text, len + 2 * LINES, NULL, &blocks, &err) == 0);
	blocks_done(&blocks);
}

Test(blocks, that_are_not_closed, .timeout = 20)
{
	static const struct delimiters pair = { "<py>", "</py>", NULL };
	static const struct blocks_options asked = { .unclosed = true };
	static const struct blocks_options pairs = { .unclosed = true,
						     .delimiters = &pair,
						     .delimiter_count = 1 };
	static const struct row rows[] = {
		{ "one", "```python\nx\n", { { "python", "x", 0, 12 } } },
		{ "no code", "a\n```python", { { "python", "", 2, 11 } } },
		{ "after a closed one",
		  "```\na\n```\n~~~ c\nb",
		  { { "", "a", 0, 9 }, { "c", "b", 10, 17 } } },
	};
	static const struct row paired[] = {
		{ "a pair", "a <py>x\n", { { "py", "x", 2, 8 } } },
	};
	const char text[] = "a <py>b\n```c\nd";
	struct warder_error err = { 0 };
	struct blocks blocks = { 0 };

	EXPECT_ALL(rows, &asked);
	EXPECT_ALL(paired, &pairs);
	cr_assert(blocks_find(text, strlen(text), &pairs, &blocks, &err) == 0);
	cr_expect(blocks.count == 1 && !blocks.items[0].closed);
	blocks_done(&blocks);
	/* Told all the same, the first of them. */
	cr_assert(blocks_find(text, strlen(text), NULL, &blocks, &err) == 0);
	cr_expect(blocks.count == 0 && blocks.has_unclosed && blocks.unclosed_start == 8);
	blocks_done(&blocks);
	cr_assert(blocks_find("```\n```", 7, NULL, &blocks, &err) == 0);
	cr_expect(blocks.count == 1 && blocks.items[0].closed && !blocks.has_unclosed);
	blocks_done(&blocks);
}

Test(blocks, between_delimiters, .timeout = 20)
{
	static const struct delimiters pairs[] = {
		{ "```tool_code\n", "\n```", NULL },
		{ "```python\n", "\n```", NULL },
		{ "[python ", "]", NULL },
		{ "[python3 ", "]]", NULL },
		{ "<execute_bash>", "</>", NULL },
		{ "<code>", "</code>", "py" },
		{ "<x>", "</x>", NULL },
		{ "aa", "a", NULL },
		{ "<x>>", "</xx>", NULL },
	};
	static const struct blocks_options only = { .without_fences = true,
						    .delimiters = pairs,
						    .delimiter_count = ARRAY_LENGTH(pairs),
						    .canonical = canonical };
	static const struct blocks_options both = { .delimiters = pairs,
						    .delimiter_count = ARRAY_LENGTH(pairs),
						    .canonical = canonical };
	static const struct row rows[] = {
		{ "not configured", "```js\nx\n```", { { 0 } } },
		{ "tool_code", "```tool_code\nx=1\n```", { { "tool_code", "x=1", 0, 20 } } },
		{ "one line ending between", "```python\n```", { { "python", "", 0, 13 } } },
		{ "one line ending between, at the end", "```python\n``", { { 0 } } },
		{ "brackets",
		  "a\n[python print(1)]\nb\n[python x]",
		  { { "python", "print(1)", 2, 19 }, { "python", "x", 22, 32 } } },
		{ "another start", "[python3 a]b]]", { { "", "a]b", 0, 14 } } },
		{ "the longer start", "<x>>1</xx></x>", { { "", "1", 0, 10 } } },
		{ "part of a word", "<execute_bash>ls</>", { { "bash", "ls", 0, 19 } } },
		{ "language told", "<code> 1\n</code>", { { "py", " 1\n", 0, 16 } } },
		{ "no language", "<x>1</x>", { { "", "1", 0, 8 } } },
		{ "nothing inside of one", "<x><code>1</code></x>", { { "", "<code>1</code>", 0, 21 } } },
		{ "a start without an end is text", "<x> <code>1</code>", { { "py", "1", 4, 18 } } },
		{ "overlapping itself", "aaaaaa", { { "", "", 0, 3 }, { "", "", 3, 6 } } },
	};
	static const struct row mixed[] = {
		{ "the fence wins", "```python title\nx\n```", { { "python", "x", 0, 21 } } },
		{ "at the same place", "```python\n```a\n```", { { "python", "```a", 0, 18 } } },
		{ "a pair inside a fence", "```\n<x>1</x>\n```", { { "", "<x>1</x>", 0, 16 } } },
		{ "a fence inside a pair", "<x>\n```\n1\n```\n</x>", { { "", "\n```\n1\n```\n", 0, 18 } } },
		{ "a pair that reaches into a fence",
		  "<x>\n```\n</x>```\n~~~\n~~~",
		  { { "", "\n```\n", 0, 12 }, { "", "", 16, 23 } } },
		{ "in the order of the text",
		  "```\na\n```\n<x>b</x>\n~~~\nc\n~~~",
		  { { "", "a", 0, 9 }, { "", "b", 10, 18 }, { "", "c", 19, 28 } } },
	};

	EXPECT_ALL(rows, &only);
	EXPECT_ALL(mixed, &both);
}

/* What ends a pair may end a line, too: a fence can begin right behind it, but not within its line. */
Test(blocks, a_fence_behind_a_pair, .timeout = 20)
{
	static const struct delimiters pair = { "<", ">\n ", NULL };
	static const struct blocks_options options = { .delimiters = &pair, .delimiter_count = 1 };
	struct blocks blocks = { 0 };
	struct warder_error err = { 0 };
	const char text[] = "<a>\n ```\nb\n```";

	cr_assert(blocks_find(text, strlen(text), &options, &blocks, &err) == 0);
	cr_expect(blocks.count == 1 && blocks.items[0].end == 5, "%zu", blocks.count);
	cr_expect(blocks.has_unclosed && blocks.unclosed_start == 11);
	blocks_done(&blocks);
}

Test(blocks, canonical_names_and_filters, .timeout = 20)
{
	static const char text[] =
	    "```Python\na\n```\n```bash\nb\n```\n```js\nc\n```\n```\nd\n```\n```TOOL_CODE\ne\n```";
	static const struct {
		const char *languages[3];
		const char *codes;
	} rows[] = {
		{ { NULL }, "abcde" },     { { "PYTHON" }, "ae" },
		{ { "py" }, "ae" },        { { "bash", "js" }, "bc" },
		{ { "javascript" }, "c" }, { { "rust" }, "" },
		{ { "" }, "d" },           { { "pyth" }, "" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct blocks_options options = { .languages = rows[i].languages, .canonical = canonical };
		struct warder_error err = { 0 };
		struct blocks blocks = { 0 };
		char codes[8] = "";

		while (rows[i].languages[options.language_count])
			options.language_count++;
		cr_assert(blocks_find(text, strlen(text), &options, &blocks, &err) == 0);
		for (size_t j = 0; j < blocks.count; j++)
			codes[j] = blocks.items[j].code.at[0];
		cr_expect_str_eq(codes, rows[i].codes, "row %zu", i);
		for (size_t j = 0; j < blocks.count; j++)
			cr_expect(!!blocks.items[j].canonical == (codes[j] != 'd'), "row %zu", i);
		blocks_done(&blocks);
	}
}

/* As other tools write it: R Markdown, Pandoc, documentation of Rust, models that name the file. */
Test(blocks, names_in_other_forms, .timeout = 20)
{
	static const char *const rows[][3] = {
		{ "{python}", "{python}", "python" },
		{ "{.py .numberLines}", "{.py", "python" },
		{ "{js, echo=FALSE}", "{js,", "javascript" },
		{ "python:main.py", "python:main.py", "python" },
		{ "go,ignore", "go,ignore", "go" },
		{ "c++", "c++", "c++" },
		{ "{}", "{}", NULL },
		{ "{.", "{.", NULL },
		{ ":main.py", ":main.py", NULL },
	};
	const struct blocks_options options = { .canonical = canonical };

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct warder_error err = { 0 };
		struct blocks blocks = { 0 };
		const char *name;
		char text[64];

		snprintf(text, sizeof(text), "```%s\nx\n```\n", rows[i][0]);
		cr_assert(blocks_find(text, strlen(text), &options, &blocks, &err) == 0 && blocks.count == 1);
		name = blocks.items[0].canonical;
		cr_expect(span_is(blocks.items[0].language, rows[i][1]), "%s", rows[i][0]);
		cr_expect(rows[i][2] ? name && strcmp(name, rows[i][2]) == 0 : !name, "%s: %s", rows[i][0],
			  name ? name : "none");
		blocks_done(&blocks);
	}
}

/* Without a table a name is what it is written as. */
Test(blocks, filters_without_a_table, .timeout = 20)
{
	static const char text[] = "```python\na\n```\n```py\nb\n```";
	static const char *const languages[] = { "PY" };
	static const struct blocks_options options = { .languages = languages, .language_count = 1 };
	struct warder_error err = { 0 };
	struct blocks blocks = { 0 };

	cr_assert(blocks_find(text, strlen(text), &options, &blocks, &err) == 0);
	cr_expect(blocks.count == 1 && blocks.items[0].code.at[0] == 'b' && !blocks.items[0].canonical);
	blocks_done(&blocks);
}

Test(blocks, ignored_by_their_first_line, .timeout = 20)
{
	static const char *const ignored[] = { "# no", "" };
	static const struct blocks_options options = { .ignored = ignored, .ignored_count = 2 };
	static const struct row rows[] = {
		{ "first line", "```\n# no\nx\n```", { { 0 } } },
		{ "CR LF", "```\r\n# no\r\nx\r\n```", { { 0 } } },
		{ "the only line", "```\n# no\n```", { { 0 } } },
		{ "indented with its fence", "  ```\n  # no\n  ```", { { 0 } } },
		{ "empty", "```\n```", { { 0 } } },
		{ "not all of it", "```\n# no!\n```", { { "", "# no!", 0, 13 } } },
		{ "second line", "```\nx\n# no\n```", { { "", "x\n# no", 0, 14 } } },
	};

	EXPECT_ALL(rows, &options);
}

Test(blocks, limits, .timeout = 60)
{
	static const struct delimiters empty = { "", "x", NULL };
	static const struct delimiters endless = { "x", NULL, NULL };
	static char long_start[DELIMITERS_MAX_BYTES + 2];
	static const struct delimiters longer = { long_start, "x", NULL };
	static const struct {
		const char *label;
		struct blocks_options options;
		const char *text;
	} rows[] = {
		{ "empty start", { .delimiters = &empty, .delimiter_count = 1 }, "the start is empty" },
		{ "no end", { .delimiters = &endless, .delimiter_count = 1 }, "the end is empty" },
		{ "long start", { .delimiters = &longer, .delimiter_count = 1 }, "has 65 bytes; at most 64" },
		{ "pairs", { .delimiter_count = BLOCKS_MAX_DELIMITERS + 1 }, "17 pairs are too many" },
		{ "languages", { .language_count = BLOCKS_MAX_FILTERS + 1 }, "at most 64" },
		{ "ignored", { .ignored_count = BLOCKS_MAX_FILTERS + 1 }, "at most 64" },
	};
	struct warder_error err = { 0 };
	struct blocks blocks = { 0 };

	memset(long_start, 'y', DELIMITERS_MAX_BYTES + 1);
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		cr_expect(blocks_find("", 0, &rows[i].options, &blocks, &err) == -1, "%s", rows[i].label);
		cr_expect(strstr(err.text, rows[i].text) && err.code == WARDER_ERROR_INVALID_REQUEST,
			  "%s: %s", rows[i].label, err.text);
	}
	cr_expect(blocks_find("", AGENT_MAX_TEXT_BYTES + 1, NULL, &blocks, &err) == -1);
	cr_expect(strstr(err.text, "16777217 bytes are too many"), "%s", err.text);
}

/* A text of `count` times `piece`, on the heap. */
static char *repeated(const char *piece, size_t count)
{
	size_t len = strlen(piece);
	char *text = malloc(len * count + 1);

	for (size_t i = 0; i < count; i++)
		memcpy(text + i * len, piece, len);
	text[len * count] = '\0';
	return text;
}

Test(blocks, as_many_as_there_may_be, .timeout = 60)
{
	char *text = repeated("~~~\n~~~\n", AGENT_MAX_BLOCKS + 1);
	struct warder_error err = { 0 };
	struct blocks blocks = { 0 };

	cr_assert(blocks_find(text, (size_t)8 * AGENT_MAX_BLOCKS, NULL, &blocks, &err) == 0, "%s", err.text);
	cr_expect(blocks.count == AGENT_MAX_BLOCKS);
	blocks_done(&blocks);
	cr_expect(blocks_find(text, (size_t)8 * AGENT_MAX_BLOCKS + 8, NULL, &blocks, &err) == -1);
	cr_expect(strstr(err.text, "more than 10000 blocks"), "%s", err.text);
	free(text);
}

/* Texts at which a search that begins anew for each start would not end within the test's time. */
Test(blocks, linear_for_any_text, .timeout = 120)
{
	static const struct delimiters pairs[] = { { "<x>", "</x>", NULL }, { "<y>\n", "\n</y>", NULL } };
	static const struct blocks_options options = { .delimiters = pairs, .delimiter_count = 2 };
	static const char *const pieces[] = { "<x>",          "<x>\n",     "<y>\n", "``` `\n", "````\n",
					      "<x>\n``` `\n", "   ~~~x\n", "\r",    "`",       " " };

	for (size_t i = 0; i < ARRAY_LENGTH(pieces); i++) {
		size_t count = AGENT_MAX_TEXT_BYTES / 4 / strlen(pieces[i]);
		char *text = repeated(pieces[i], count);
		struct warder_error err = { 0 };
		struct blocks blocks = { 0 };
		int status = blocks_find(text, strlen(text), &options, &blocks, &err);

		cr_expect(status == 0 || strstr(err.text, "more than"), "piece %zu: %s", i, err.text);
		if (status == 0)
			blocks_done(&blocks);
		free(text);
	}
}
