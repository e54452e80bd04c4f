/*
 * What libcmark says about the same text: fenced code blocks with their info string, their code and their lines. libcmark finds
 * the structure in its own way, so it is a second opinion. It does not say whether a block is fenced or indented, nor whether a
 * fence is closed; where the source does not tell either, the block does not count.
 */
#include "base/array.h"
#include "runtime/text/blocks.h"

#include <cmark.h>
#include <criterion/criterion.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DOCUMENTS    10000
#define MAX_DOCUMENT 4096
#define MAX_REAL     (4u << 20)

struct buffer {
	char text[MAX_DOCUMENT];
	size_t len;
};

static unsigned long long state;

static unsigned pick(unsigned count)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(state >> 33) % count;
}

static void add(struct buffer *buffer, const char *text)
{
	const size_t len = strlen(text);

	if (buffer->len + len < sizeof(buffer->text)) {
		memcpy(buffer->text + buffer->len, text, len + 1);
		buffer->len += len;
	}
}

/* Pieces of which a line is made; many of them are containers and fences. */
static const char *const prefixes[] = { "> ",   ">",      "- ",   "-   ", "* ",    "+ ",   "1. ",
					"1) ",  "2. ",    "12. ", "  ",   "   ",   "    ", " ",
					"\t",   ">\t",    "-\t",  "1.\t", "     ", ">  ",  "-",
					"- - ", "      ", "> > ", "- > ", "> - ",  "003. " };
static const char *const bodies[] = { "```",      "```",      "```python",  "~~~",    "~~~ js x", "````",
				      "`````sh",  "text",     "words [x]",  "# head", "---",      "***",
				      "===",      "",         "",           "```",    "    code", "\tcode",
				      "`a`",      "``` a`b",  "- - -",      "<!-- c", "-->",      "<pre>",
				      "</pre> x", "<script>", "x</SCRIPT>", "<?php",  "?>",       "<!DOC x>",
				      "~~~~",     "```  ",    "```\t",      "#",      "# ",       "#x",
				      "* * *",    "_ _ _" };

/* Most lines repeat the prefix of the one before, as those of a container do. */
static void generate(struct buffer *buffer)
{
	const unsigned lines = 1 + pick(14);
	char prefix[64] = "";

	buffer->len = 0;
	buffer->text[0] = '\0';
	for (unsigned i = 0; i < lines; i++) {
		const unsigned how = pick(6);

		if (how == 0)
			prefix[0] = '\0';
		else if (how == 1 && strlen(prefix) < 40)
			strcat(prefix, prefixes[pick(ARRAY_LENGTH(prefixes))]);
		else if (how == 2) /* the content of list items, without their markers */
			for (char *c = prefix; *c; c++)
				*c = *c == '\t' || *c == '>' ? *c : ' ';
		add(buffer, prefix);
		if (pick(5) == 0)
			add(buffer, prefixes[pick(ARRAY_LENGTH(prefixes))]);
		add(buffer, bodies[pick(ARRAY_LENGTH(bodies))]);
		add(buffer, pick(12) == 0 ? "\r\n" : "\n");
	}
}

/* Line `number`, from 1; its end is before the line ending. */
static struct span line_of(struct span text, int number)
{
	const char *at = text.at, *end = text.at + text.len;
	const char *stop;

	while (--number > 0 && at < end) {
		const char *next = memchr(at, '\n', (size_t)(end - at));

		at = next ? next + 1 : end;
	}
	stop = memchr(at, '\n', (size_t)(end - at));
	stop = stop ? stop : end;
	if (stop > at && stop[-1] == '\r')
		stop--;
	return (struct span){ at, (size_t)(stop - at) };
}

static int line_number(struct span text, size_t at)
{
	int number = 1;

	for (size_t i = 0; i < at && i < text.len; i++)
		number += text.at[i] == '\n';
	return number;
}

static bool ends_with(struct span line, struct span end)
{
	while (end.len && (end.at[end.len - 1] == '\r' || end.at[end.len - 1] == '\n'))
		end.len--;
	while (end.len && (end.at[0] == ' ' || end.at[0] == '\t')) { /* a tab that a prefix has cut */
		end.at++;
		end.len--;
	}
	return line.len >= end.len && memcmp(line.at + line.len - end.len, end.at, end.len) == 0;
}

/* Whether the literal stands in the source from line `first` on. */
static bool literal_at(struct span text, const char *literal, int first)
{
	for (; *literal; first++) {
		const char *end = strchr(literal, '\n');
		size_t len = end ? (size_t)(end - literal) : strlen(literal);

		if (!ends_with(line_of(text, first), (struct span){ literal, len }))
			return false;
		literal += len + (end != NULL);
	}
	return true;
}

enum kind { FENCED, INDENTED, UNKNOWN };

static enum kind kind_of(struct span text, cmark_node *node)
{
	const int first = cmark_node_get_start_line(node);
	const size_t column = (size_t)cmark_node_get_start_column(node);
	const struct span line = line_of(text, first);
	const char *literal = cmark_node_get_literal(node);
	const char *mark = column && column <= line.len ? line.at + column - 1 : "";
	bool fenced, indented;

	while (mark < line.at + line.len && (*mark == ' ' || *mark == '\t'))
		mark++;
	if (mark >= line.at + line.len || (strncmp(mark, "```", 3) != 0 && strncmp(mark, "~~~", 3) != 0))
		return INDENTED;
	/* libcmark counts a tab before a fence as one column. */
	for (const char *before = mark; before > line.at && (before[-1] == ' ' || before[-1] == '\t');
	     before--) {
		if (before[-1] == '\t')
			return UNKNOWN;
	}
	if (*cmark_node_get_fence_info(node))
		return FENCED;
	fenced = literal_at(text, literal, first + 1);
	indented = *literal && literal_at(text, literal, first);
	return fenced == indented ? UNKNOWN : fenced ? FENCED : INDENTED;
}

struct theirs {
	int line;
	char *info, *literal;
};

#define MAX_THEIRS 1024

/* -1: it cannot be said of all. */
static int ask(struct span text, struct theirs *theirs)
{
	cmark_node *document = cmark_parse_document(text.at, text.len, CMARK_OPT_DEFAULT);
	cmark_iter *iter = cmark_iter_new(document);
	int count = 0;

	while (cmark_iter_next(iter) != CMARK_EVENT_DONE) {
		cmark_node *node = cmark_iter_get_node(iter);
		enum kind kind;

		if (cmark_node_get_type(node) != CMARK_NODE_CODE_BLOCK || count < 0)
			continue;
		kind = kind_of(text, node);
		if (kind == UNKNOWN) {
			while (count > 0) {
				free(theirs[--count].info);
				free(theirs[count].literal);
			}
			count = -1;
		} else if (kind == FENCED && count < MAX_THEIRS) {
			theirs[count++] = (struct theirs){ cmark_node_get_start_line(node),
							   strdup(cmark_node_get_fence_info(node)),
							   strdup(cmark_node_get_literal(node)) };
		}
	}
	cmark_iter_free(iter);
	cmark_node_free(document);
	return count;
}

/* libcmark ends each line with LF. */
static size_t plain_endings(char *code, size_t len)
{
	size_t used = 0;

	for (size_t i = 0; i < len; i++) {
		if (code[i] != '\r' || (i + 1 < len && code[i + 1] != '\n'))
			code[used++] = code[i];
	}
	return used;
}

/* The same block; a last line without an ending gets one there. */
static bool is_same(struct span text, const struct block *block, const struct theirs *theirs)
{
	size_t len = 0;
	char *code = block_code_copy(block, &len);
	const size_t wanted = strlen(theirs->literal);
	const size_t word = strcspn(theirs->info, " \t");
	bool same = line_number(text, block->start) == theirs->line && block->language.len == word &&
		    memcmp(block->language.at ? block->language.at : "", theirs->info, word) == 0;

	len = code ? plain_endings(code, len) : 0;
	same = same && code && (wanted ? len + 1 == wanted : len == 0) &&
	       memcmp(code, theirs->literal, len) == 0;
	free(code);
	return same;
}

/* *ret_count blocks, or none if libcmark's answer does not say of all what they are. */
static bool agrees(struct span text, bool *ret_said, size_t *ret_count)
{
	static const struct blocks_options options = { .unclosed = true };
	static struct theirs theirs[MAX_THEIRS];
	struct warder_error err = { 0 };
	struct blocks blocks = { 0 };
	const int count = ask(text, theirs);
	bool same;

	*ret_said = count >= 0;
	*ret_count = count < 0 ? 0 : (size_t)count;
	if (count < 0)
		return true;
	same = blocks_find(text.at, text.len, &options, &blocks, &err) == 0 && blocks.count == (size_t)count;
	for (int i = 0; i < count; i++) {
		same = same && is_same(text, &blocks.items[i], &theirs[i]);
		free(theirs[i].info);
		free(theirs[i].literal);
	}
	blocks_done(&blocks);
	return same;
}

Test(blocks_commonmark, generated, .timeout = 120)
{
	static struct buffer buffer;
	size_t said = 0, failures = 0;

	state = 20;
	for (size_t i = 0; i < DOCUMENTS; i++) {
		bool has_said;
		size_t count;

		generate(&buffer);
		if (!agrees((struct span){ buffer.text, buffer.len }, &has_said, &count) && failures++ < 5)
			cr_expect(false, "document %zu:\n%s", i, buffer.text);
		said += has_said;
	}
	cr_expect(failures == 0, "%zu of %d documents differ", failures, DOCUMENTS);
	cr_expect(said > DOCUMENTS * 9 / 10, "libcmark has said something about %zu only", said);
}

/* Markdown of packages that `make deps` installs. What else is installed does not matter. */
#define REAL_FILES                                                                                           \
	"for package in bison crun docker-registry golang-1.19-src libruby3.1 node-typescript nodejs "       \
	"podman runc "                                                                                       \
	"rustc slirp4netns zstd; do dpkg-query -L $package 2>/dev/null; done | "                             \
	"grep -E '[.](md|markdown)([.]gz)?$' | sort -u"

/* The text of a file, which may be compressed. NULL: it cannot be read, or is too large. */
static char *read_real(const char *path, size_t *ret_len)
{
	char command[2 * PATH_MAX];
	char *text = malloc(MAX_REAL);
	FILE *pipe;

	snprintf(command, sizeof(command), "exec zcat -f -- '%s' 2>/dev/null", path);
	pipe = popen(command, "r");
	*ret_len = pipe && text ? fread(text, 1, MAX_REAL, pipe) : 0;
	if (!pipe || pclose(pipe) != 0 || *ret_len == 0 || *ret_len == MAX_REAL) {
		free(text);
		return NULL;
	}
	return text;
}

Test(blocks_commonmark, real_texts, .timeout = 120)
{
	FILE *list = popen(REAL_FILES, "r");
	size_t blocks = 0;
	char path[PATH_MAX];

	cr_assert_not_null(list);
	while (fgets(path, sizeof(path), list)) {
		size_t len, count;
		bool has_said;
		char *text;

		path[strcspn(path, "\n")] = '\0';
		text = read_real(path, &len);
		if (!text)
			continue;
		cr_expect(agrees((struct span){ text, len }, &has_said, &count), "%s", path);
		blocks += count;
		free(text);
	}
	pclose(list);
	if (blocks < 100)
		cr_skip_test("too little Markdown: %zu blocks in the packages of `make deps`", blocks);
}
