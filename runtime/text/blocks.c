/*
 * blocks: one pass over the lines for fences, one over the bytes for each pair of delimiters.
 *
 * Both searches keep the start that they found last, and go on only once the text before it is used up. An end is searched
 * where a block begins, and the search goes on behind it; one that is missing once is missing for every later start of the
 * same pair, and a fence that is not closed reaches to the end of the text. So no byte is looked at twice by the same search,
 * however many starts there are without an end.
 *
 * What a fence is, and which lines are its code, fences.c knows.
 */
#include "runtime/text/blocks.h"

#include <stdint.h>
#include <stdlib.h>

#define NOWHERE FENCES_NOWHERE

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
	struct fences fences;
	struct fence fence; /* the first whose line is not before the cursor, with has_fence */
	bool has_fence;
};

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

/* ---- fences ---- */

/* Make scan->fence the first one whose line does not begin before the cursor, if it begins at `last` or before. */
static void find_fence(struct scan *scan, size_t last)
{
	if (scan->has_fence && scan->fence.line >= scan->cursor)
		return;
	fences_skip(&scan->fences, scan->cursor);
	scan->has_fence = fences_find(&scan->fences, last, &scan->fence);
}

static int take_fence(struct scan *scan, struct block *ret, struct warder_error *err)
{
	const struct fence *fence = &scan->fence;
	const size_t depth = scan->fences.depth;
	struct block block = { .language = fence->word, .start = fence->start, .indent = fence->indent };
	struct fence_lines lines;

	if (depth) {
		block.containers = malloc(depth * sizeof(*block.containers));
		if (!block.containers)
			return error_no_memory(err, NULL);
		memcpy(block.containers, scan->fences.containers, depth * sizeof(*block.containers));
		block.depth = depth;
	}
	fences_take(&scan->fences, fence, &lines);
	block.closed = lines.closed;
	block.end = lines.end;
	if (lines.from > lines.end) /* no line, and the container ends with the fence */
		lines.from = lines.to = lines.end;
	block.code.at = scan->text + lines.from;
	block.code.len = without_ending(scan, lines.from, lines.to) - lines.from;
	scan->cursor = block.end;
	scan->has_fence = false;
	*ret = block;
	return 0;
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

/* The next block, or what would be one if it ended. 1; 0: there is nothing more; -1 with *err. */
static int next_block(struct scan *scan, struct block *ret, struct warder_error *err)
{
	struct pair *pair = nearest_pair(scan);

	if (!scan->options->without_fences) {
		find_fence(scan, pair ? pair->next_start : scan->len);
		if (scan->has_fence && (!pair || scan->fence.start <= pair->next_start))
			return take_fence(scan, ret, err) == 0 ? 1 : -1;
	}
	if (!pair)
		return 0;
	*ret = take_pair(scan, pair);
	if (ret->closed || scan->options->unclosed)
		scan->cursor = ret->end;
	else
		pair->next_start =
		    NOWHERE; /* text like any other; no later start of this pair has an end either */
	return 1;
}

/* ---- languages ---- */

static const char *lookup(const struct blocks_options *options, struct span name)
{
	return options->canonical && name.len ? options->canonical(options->table, name.at, name.len) : NULL;
}

/* The language's name in "{python}", "{.python", "{r,", "python:main.py", "rust,no_run". */
static struct span plain_name(struct span word)
{
	size_t len = 0;

	if (word.len && *word.at == '{') {
		word = (struct span){ word.at + 1, word.len - 1 };
		if (word.len && *word.at == '.')
			word = (struct span){ word.at + 1, word.len - 1 };
	}
	while (len < word.len && !strchr(",:{}", word.at[len]))
		len++;
	return (struct span){ word.at, len };
}

static const char *canonical_of(const struct blocks_options *options, struct span name)
{
	const char *canonical = lookup(options, name);

	return canonical ? canonical : lookup(options, plain_name(name));
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
		    span_is_word(plain_name(block->language), scan->options->languages[i]) ||
		    (scan->wanted[i] && block->canonical && strcmp(scan->wanted[i], block->canonical) == 0))
			return true;
	}
	return scan->options->language_count == 0;
}

/* The first line of the code that block_code() writes. */
static bool is_ignored(const struct blocks_options *options, const struct block *block)
{
	size_t next, len;
	bool found = false;
	char *line;

	if (!options->ignored_count)
		return false;
	len = fences_copy_line(block->containers, block->depth, block->indent, block->code, 0, NULL, &next);
	line = malloc(len + 1);
	if (!line)
		return false;
	fences_copy_line(block->containers, block->depth, block->indent, block->code, 0, line, &next);
	while (len && (line[len - 1] == '\n' || line[len - 1] == '\r'))
		len--;
	for (size_t i = 0; i < options->ignored_count && !found; i++)
		found = span_is((struct span){ line, len }, options->ignored[i]);
	free(line);
	return found;
}

/* ---- all of them ---- */

/* Takes what the block owns, if it returns 0. */
static int add_block(struct blocks *blocks, const struct block *block, struct warder_error *err)
{
	if (delimiters_check_room(blocks->count, err) != 0)
		return -1;
	if ((blocks->count & (blocks->count - 1)) == 0) { /* full at each power of two */
		size_t room = blocks->count ? blocks->count * 2 : 1;
		struct block *items = realloc(blocks->items, room * sizeof(*items));

		if (!items)
			return error_no_memory(err, NULL);
		blocks->items = items;
	}
	blocks->items[blocks->count++] = *block;
	return 0;
}

static int find_all(struct scan *scan, struct blocks *blocks, struct warder_error *err)
{
	const struct blocks_options *options = scan->options;
	struct block block;
	int status;

	while (scan->cursor < scan->len && (status = next_block(scan, &block, err)) != 0) {
		if (status < 0)
			return -1;
		if (!block.closed && !blocks->has_unclosed) {
			blocks->has_unclosed = true;
			blocks->unclosed_start = block.start;
		}
		if (!block.canonical)
			block.canonical = canonical_of(options, block.language);
		if ((!block.closed && !options->unclosed) || !is_wanted_language(scan, &block) ||
		    is_ignored(options, &block)) {
			free(block.containers);
		} else if (add_block(blocks, &block, err) != 0) {
			free(block.containers);
			return -1;
		}
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
	fences_init(&scan.fences, text, len);
	if (find_all(&scan, &blocks, err) != 0) {
		blocks_done(&blocks);
		return -1;
	}
	*ret = blocks;
	return 0;
}

void blocks_done(struct blocks *blocks)
{
	for (size_t i = 0; i < blocks->count; i++)
		free(blocks->items[i].containers);
	free(blocks->items);
	*blocks = (struct blocks){ 0 };
}

/* `to` NULL: only count. Returns the number of bytes; no NUL is added. */
static size_t block_code(const struct block *block, char *to)
{
	size_t used = 0;

	if (!block->indent && !block->depth) {
		if (to && block->code.len)
			memcpy(to, block->code.at, block->code.len);
		return block->code.len;
	}
	for (size_t at = 0; at < block->code.len;)
		used += fences_copy_line(block->containers, block->depth, block->indent, block->code, at,
					 to ? to + used : NULL, &at);
	return used;
}

char *block_code_copy(const struct block *block, size_t *ret_len)
{
	const size_t len = block_code(block, NULL);
	char *code = malloc(len + 1);

	if (!code)
		return NULL;
	block_code(block, code);
	code[len] = '\0';
	*ret_len = len;
	return code;
}
