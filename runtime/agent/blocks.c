/*
 * blocks: one pass over the lines for fences, one over the bytes for each pair of delimiters.
 *
 * Both searches keep the start that they found last, and go on only once the text before it is used up. An end is searched
 * where a block begins, and the search goes on behind it; one that is missing once is missing for every later start of the
 * same pair, and a fence that is not closed reaches to the end of the text. So no byte is looked at twice by the same search,
 * however many starts there are without an end.
 *
 * CommonMark 0.31, 4.5: a fence is three or more backticks or tildes after at most three spaces; the info string of backticks has
 * none in it; the closing fence is of the same character, at least as long, and alone on its line; a line ends with
 * LF, CR LF or CR. Containers (lists, quotes) are not looked at: a fence deeper than three spaces is text.
 */
#include "runtime/agent/blocks.h"

#include <stdint.h>
#include <stdlib.h>

#define NOWHERE SIZE_MAX
#define FENCE   3 /* characters that make one, and the most spaces before it */

struct fence {
	size_t line, start; /* where its line begins, where its characters do; NOWHERE: there is none */
	size_t content;     /* the next line */
	size_t length;
	char mark;
	struct span word;
};

struct pair {
	struct span start, end, language;
	const char *canonical;
	size_t next_start; /* the first that is not before the cursor, once searched; NOWHERE */
	bool searched;
};

struct scan {
	const char *text;
	size_t len, cursor;
	const struct blocks_options *options;
	struct pair pairs[BLOCKS_MAX_DELIMITERS];
	const char *wanted[BLOCKS_MAX_FILTERS]; /* canonical names of the options' languages, or NULL */
	struct fence fence;                     /* the first whose line is not before the cursor */
	bool fence_searched;
};

/* ---- lines ---- */

/* Where the line that holds `at` ends: at its ending, or at the end of the text. */
static size_t line_end(const struct scan *scan, size_t at)
{
	while (at < scan->len && scan->text[at] != '\n' && scan->text[at] != '\r')
		at++;
	return at;
}

/* Where the next line begins, behind the ending at `end`. */
static size_t line_after(const struct scan *scan, size_t end)
{
	if (end + 1 < scan->len && scan->text[end] == '\r' && scan->text[end + 1] == '\n')
		return end + 2;
	return end < scan->len ? end + 1 : end;
}

static bool is_line_start(const struct scan *scan, size_t at)
{
	if (at == 0)
		return true;
	if (scan->text[at - 1] == '\r')
		return at >= scan->len || scan->text[at] != '\n';
	return scan->text[at - 1] == '\n';
}

/* Without the line ending that stands at the end of from..to. */
static size_t without_ending(const struct scan *scan, size_t from, size_t to)
{
	if (to > from && scan->text[to - 1] == '\n')
		to--;
	else if (to > from && scan->text[to - 1] == '\r')
		return to - 1;
	else
		return to;
	return to > from && scan->text[to - 1] == '\r' ? to - 1 : to;
}

static bool is_blank(char byte)
{
	return byte == ' ' || byte == '\t';
}

/* ---- fences ---- */

/* The run of fence characters on the line at `line`, after at most three spaces; *ret_start is where. 0: none. */
static size_t fence_run(const struct scan *scan, size_t line, size_t *ret_start)
{
	size_t at = line, start;

	while (at < scan->len && at - line <= FENCE && scan->text[at] == ' ')
		at++;
	start = at;
	if (at - line > FENCE || at >= scan->len || (scan->text[at] != '`' && scan->text[at] != '~'))
		return 0;
	while (at < scan->len && scan->text[at] == scan->text[start])
		at++;
	*ret_start = start;
	return at - start >= FENCE ? at - start : 0;
}

static bool read_opening(const struct scan *scan, size_t line, size_t end, struct fence *ret)
{
	size_t start = 0, at;
	size_t run = fence_run(scan, line, &start);

	if (run == 0)
		return false;
	at = start + run;
	if (scan->text[start] == '`' && memchr(scan->text + at, '`', end - at))
		return false;
	while (at < end && is_blank(scan->text[at]))
		at++;
	*ret = (struct fence){ .line = line, .start = start, .length = run, .mark = scan->text[start] };
	ret->content = line_after(scan, end);
	ret->word.at = scan->text + at;
	while (at < end && !is_blank(scan->text[at]))
		at++;
	ret->word.len = (size_t)(scan->text + at - ret->word.at);
	return true;
}

/* Behind the characters of the closing fence, or 0: the line is none. */
static size_t read_closing(const struct scan *scan, const struct fence *fence, size_t line, size_t end)
{
	size_t start = 0, at;
	size_t run = fence_run(scan, line, &start);

	if (run < fence->length || scan->text[start] != fence->mark)
		return 0;
	for (at = start + run; at < end; at++) {
		if (!is_blank(scan->text[at]))
			return 0;
	}
	return start + run;
}

/* Make scan->fence the first one whose line does not begin before the cursor. */
static void find_fence(struct scan *scan)
{
	size_t line = scan->cursor;

	if (scan->fence_searched && (scan->fence.line == NOWHERE || scan->fence.line >= line))
		return;
	scan->fence_searched = true;
	if (!is_line_start(scan, line))
		line = line_after(scan, line_end(scan, line));
	while (line < scan->len) {
		size_t end = line_end(scan, line);

		if (read_opening(scan, line, end, &scan->fence))
			return;
		line = line_after(scan, end);
	}
	scan->fence.line = scan->fence.start = NOWHERE;
}

static struct block take_fence(struct scan *scan)
{
	const struct fence *fence = &scan->fence;
	struct block block = { .language = fence->word, .start = fence->start };
	size_t line = fence->content;

	block.indent = (unsigned)(fence->start - fence->line);
	while (line < scan->len) {
		size_t end = line_end(scan, line);

		block.end = read_closing(scan, fence, line, end);
		block.closed = block.end > 0;
		if (block.closed)
			break;
		line = line_after(scan, end);
	}
	if (!block.closed)
		block.end = line = scan->len;
	block.code.at = scan->text + fence->content;
	block.code.len = without_ending(scan, fence->content, line) - fence->content;
	scan->cursor = block.end;
	return block;
}

/* ---- delimiters ---- */

static size_t find_span(const struct scan *scan, size_t from, struct span what)
{
	const char *found =
	    from < scan->len ? memmem(scan->text + from, scan->len - from, what.at, what.len) : NULL;

	return found ? (size_t)(found - scan->text) : NOWHERE;
}

/* The pair that starts first; NULL: none does. */
static struct pair *nearest_pair(struct scan *scan)
{
	struct pair *best = NULL;

	for (size_t i = 0; i < scan->options->delimiter_count; i++) {
		struct pair *pair = &scan->pairs[i];

		if (!pair->searched || (pair->next_start != NOWHERE && pair->next_start < scan->cursor)) {
			pair->next_start = find_span(scan, scan->cursor, pair->start);
			pair->searched = true;
		}
		if (pair->next_start != NOWHERE &&
		    (!best || pair->next_start < best->next_start ||
		     (pair->next_start == best->next_start && pair->start.len > best->start.len)))
			best = pair;
	}
	return best;
}

/* Where the end of a pair is whose code begins at `code`. A line ending that closes the start may open the end as well: there is
 * nothing between them. */
static size_t find_end(const struct scan *scan, const struct pair *pair, size_t code)
{
	if (pair->start.at[pair->start.len - 1] == '\n' && pair->end.at[0] == '\n' &&
	    scan->len - code >= pair->end.len - 1 &&
	    memcmp(scan->text + code - 1, pair->end.at, pair->end.len) == 0)
		return code - 1;
	return find_span(scan, code, pair->end);
}

static struct block take_pair(struct scan *scan, struct pair *pair)
{
	size_t code = pair->next_start + pair->start.len;
	size_t end = find_end(scan, pair, code);
	struct block block = { .language = pair->language, .canonical = pair->canonical };

	block.start = pair->next_start;
	block.closed = end != NOWHERE;
	if (!block.closed)
		end = without_ending(scan, code, scan->len);
	block.code = (struct span){ scan->text + code, end > code ? end - code : 0 };
	block.end = block.closed ? end + pair->end.len : scan->len;
	return block;
}

/* The next block, or what would be one if it ended; false: there is nothing more. */
static bool next_block(struct scan *scan, struct block *ret)
{
	struct pair *pair = nearest_pair(scan);

	if (!scan->options->without_fences) {
		find_fence(scan);
		if (scan->fence.start != NOWHERE && (!pair || scan->fence.start <= pair->next_start)) {
			*ret = take_fence(scan);
			return true;
		}
	}
	if (!pair)
		return false;
	*ret = take_pair(scan, pair);
	if (ret->closed || scan->options->unclosed)
		scan->cursor = ret->end;
	else
		pair->next_start =
		    NOWHERE; /* text like any other; no later start of this pair has an end either */
	return true;
}

/* ---- languages ---- */

static const char *canonical_of(const struct blocks_options *options, struct span name)
{
	return options->canonical && name.len ? options->canonical(options->table, name.at, name.len) : NULL;
}

static bool is_word_byte(char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
	       byte == '+' || byte == '#';
}

/* The next word of `text` from *at on, its parts joined by _ and - or each by itself; false: there is none. */
static bool next_word(struct span text, bool parts, size_t *at, struct span *ret)
{
	size_t from = *at, to;

	while (from < text.len && !is_word_byte(text.at[from]))
		from++;
	for (to = from; to < text.len; to++) {
		bool joins = !parts && (text.at[to] == '_' || text.at[to] == '-');

		if (!joins && !is_word_byte(text.at[to]))
			break;
	}
	*ret = (struct span){ text.at + from, to - from };
	*at = to;
	return to > from;
}

/* A start such as "<run_python>" tells the language by a word in it, or by a part of one; where no table says which words are
 * languages, by its first. */
static void infer_language(const struct blocks_options *options, struct pair *pair)
{
	struct span word;

	for (int parts = 0; parts < 2; parts++) {
		for (size_t at = 0; next_word(pair->start, parts, &at, &word);) {
			pair->canonical = canonical_of(options, word);
			if (pair->canonical || !options->canonical) {
				pair->language = word;
				return;
			}
		}
	}
}

static bool is_wanted_language(const struct scan *scan, const struct block *block)
{
	for (size_t i = 0; i < scan->options->language_count; i++) {
		if (span_is_word(block->language, scan->options->languages[i]) ||
		    (scan->wanted[i] && block->canonical && strcmp(scan->wanted[i], block->canonical) == 0))
			return true;
	}
	return scan->options->language_count == 0;
}

/* Bytes of indentation that the line at `at` loses. */
static size_t lost_indent(const struct block *block, size_t at)
{
	size_t count = 0;

	while (count < block->indent && at + count < block->code.len && block->code.at[at + count] == ' ')
		count++;
	return count;
}

static bool is_ignored(const struct blocks_options *options, const struct block *block)
{
	size_t from = lost_indent(block, 0), to = from;

	while (to < block->code.len && block->code.at[to] != '\n' && block->code.at[to] != '\r')
		to++;
	for (size_t i = 0; i < options->ignored_count; i++) {
		if (span_is((struct span){ block->code.at + from, to - from }, options->ignored[i]))
			return true;
	}
	return false;
}

/* ---- all of them ---- */

static int add_block(struct blocks *blocks, const struct block *block, struct warder_error *err)
{
	if (delimiters_check_room(blocks->count, err) != 0)
		return -1;
	if ((blocks->count & (blocks->count - 1)) == 0) { /* full at each power of two */
		size_t room = blocks->count ? blocks->count * 2 : 1;
		struct block *items = realloc(blocks->items, room * sizeof(*items));

		if (!items)
			return error_set(err, WARDER_ERROR_INTERNAL, NULL, "out of memory");
		blocks->items = items;
	}
	blocks->items[blocks->count++] = *block;
	return 0;
}

static int find_all(struct scan *scan, struct blocks *blocks, struct warder_error *err)
{
	const struct blocks_options *options = scan->options;
	struct block block;

	while (scan->cursor < scan->len && next_block(scan, &block)) {
		if (!block.closed && !blocks->has_unclosed) {
			blocks->has_unclosed = true;
			blocks->unclosed_start = block.start;
		}
		if (!block.closed && !options->unclosed)
			continue;
		if (!block.canonical)
			block.canonical = canonical_of(options, block.language);
		if (is_wanted_language(scan, &block) && !is_ignored(options, &block) &&
		    add_block(blocks, &block, err) != 0)
			return -1;
	}
	return 0;
}

static int check_options(const struct blocks_options *options, struct warder_error *err)
{
	if (options->delimiter_count > BLOCKS_MAX_DELIMITERS)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "delimiters",
				 "%zu pairs are too many; give at most %d", options->delimiter_count,
				 BLOCKS_MAX_DELIMITERS);
	if (options->language_count > BLOCKS_MAX_FILTERS || options->ignored_count > BLOCKS_MAX_FILTERS)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST,
				 options->language_count > BLOCKS_MAX_FILTERS ? "languages" : "ignored",
				 "these are too many; give at most %d", BLOCKS_MAX_FILTERS);
	for (size_t i = 0; i < options->delimiter_count; i++) {
		if (delimiters_check(&options->delimiters[i], err) != 0)
			return -1;
	}
	return 0;
}

static void prepare(struct scan *scan)
{
	const struct blocks_options *options = scan->options;

	for (size_t i = 0; i < options->delimiter_count; i++) {
		const struct delimiters *delimiters = &options->delimiters[i];

		scan->pairs[i] = (struct pair){ span_of(delimiters->start), span_of(delimiters->end),
						span_of(delimiters->language) };
		if (!delimiters->language)
			infer_language(options, &scan->pairs[i]);
	}
	for (size_t i = 0; i < options->language_count; i++)
		scan->wanted[i] = canonical_of(options, span_of(options->languages[i]));
}

int blocks_find(const char *text, size_t len, const struct blocks_options *options, struct blocks *ret,
		struct warder_error *err)
{
	static const struct blocks_options any = { 0 };
	struct scan scan = { .text = text, .len = len, .options = options ? options : &any };
	struct blocks blocks = { 0 };

	if (delimiters_check_text(len, err) != 0 || check_options(scan.options, err) != 0)
		return -1;
	prepare(&scan);
	if (find_all(&scan, &blocks, err) != 0) {
		blocks_done(&blocks);
		return -1;
	}
	*ret = blocks;
	return 0;
}

void blocks_done(struct blocks *blocks)
{
	free(blocks->items);
	*blocks = (struct blocks){ 0 };
}

size_t block_code(const struct block *block, char *to)
{
	size_t used = 0;
	bool at_start = true;

	for (size_t at = 0; at < block->code.len; at++) {
		if (at_start)
			at += lost_indent(block, at);
		if (at >= block->code.len)
			break;
		to[used++] = block->code.at[at];
		at_start = block->code.at[at] == '\n' || block->code.at[at] == '\r';
	}
	return used;
}
