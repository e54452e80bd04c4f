/*
 * fences: the block structure of CommonMark, as far as it decides where a fence may stand.
 *
 * A line is read in the order of the specification's appendix: first it is matched against the containers that are open, then
 * markers open new ones, and what is left of it continues or opens a leaf. Columns count as if a tab went to the next multiple of
 * four; a container may take a part of one.
 *
 * Cost: a line of n bytes costs at most n for each of its containers, whose number is limited. Finding the first character that
 * is not white space, and whether a line of one mark is a thematic break, is remembered for the line.
 */
#include "runtime/text/fences.h"
#include "base/array.h"

#include <string.h>

#define TAB       4
#define FENCE     3 /* characters that make one, and the most columns before it */
#define INDENTED  4 /* columns of indented code */
#define ITEM_MOST 4 /* columns between a marker and its text; more are indented code */

/* A line on its way. */
struct cursor {
	const char *text;
	size_t end;             /* of the line, without its ending */
	size_t at;              /* what is read next */
	unsigned column;        /* where that is */
	bool in_tab;            /* columns of the tab at `at` have been taken */
	size_t word;            /* the first character that is not white space, or `end` */
	unsigned indent_column; /* where that is */
	size_t no_break;        /* a break of `no_break_mark` does not reach this */
	char no_break_mark;
};

/* ---- lines ---- */

static size_t line_end(const char *text, size_t len, size_t at)
{
	while (at < len && text[at] != '\n' && text[at] != '\r')
		at++;
	return at;
}

static size_t line_after(const char *text, size_t len, size_t end)
{
	if (end + 1 < len && text[end] == '\r' && text[end + 1] == '\n')
		return end + 2;
	return end < len ? end + 1 : end;
}

static bool is_line_start(const char *text, size_t len, size_t at)
{
	if (at == 0)
		return true;
	if (text[at - 1] == '\r')
		return at >= len || text[at] != '\n';
	return text[at - 1] == '\n';
}

static bool is_blank(char byte)
{
	return byte == ' ' || byte == '\t';
}

static struct cursor cursor_at(const char *text, size_t len, size_t line)
{
	struct cursor cursor = { .text = text, .end = line_end(text, len, line), .at = line, .word = line };

	return cursor;
}

/* Columns that the tab at `at` still has. */
static unsigned tab_rest(const struct cursor *c)
{
	return TAB - c->column % TAB;
}

static void find_word(struct cursor *c)
{
	if (c->word > c->at)
		return;
	c->word = c->at;
	c->indent_column = c->column;
	for (; c->word < c->end && is_blank(c->text[c->word]); c->word++)
		c->indent_column += c->text[c->word] == '\t' ? TAB - c->indent_column % TAB : 1;
}

static unsigned indent_of(struct cursor *c)
{
	find_word(c);
	return c->indent_column - c->column;
}

static bool is_empty(struct cursor *c)
{
	find_word(c);
	return c->word == c->end;
}

/* Take up to `count` columns of white space. */
static unsigned take_columns(struct cursor *c, unsigned count)
{
	unsigned taken = 0;

	while (taken < count && c->at < c->end && is_blank(c->text[c->at])) {
		unsigned rest = c->text[c->at] == '\t' ? tab_rest(c) : 1, wanted = count - taken;

		c->in_tab = rest > wanted;
		c->column += c->in_tab ? wanted : rest;
		taken += c->in_tab ? wanted : rest;
		c->at += !c->in_tab;
	}
	return taken;
}

/* Go to the first character that is not white space. */
static void take_indent(struct cursor *c)
{
	find_word(c);
	c->at = c->word;
	c->column = c->indent_column;
	c->in_tab = false;
}

/* Take characters that are no tabs. */
static void take_bytes(struct cursor *c, size_t count)
{
	c->at += count;
	c->column += (unsigned)count;
	c->in_tab = false;
}

/* ---- containers ---- */

static bool match_quote(struct cursor *c)
{
	if (indent_of(c) > FENCE || is_empty(c) || c->text[c->word] != '>')
		return false;
	take_indent(c);
	take_bytes(c, 1);
	take_columns(c, 1);
	return true;
}

static bool match_container(const struct fence_container *container, struct cursor *c)
{
	if (!container->width)
		return match_quote(c);
	if (indent_of(c) >= container->width) {
		take_columns(c, container->width);
		return true;
	}
	if (!is_empty(c) || container->empty)
		return false;
	take_indent(c);
	return true;
}

static size_t match_containers(const struct fence_container *containers, size_t depth, struct cursor *c)
{
	size_t matched = 0;

	while (matched < depth && match_container(&containers[matched], c))
		matched++;
	return matched;
}

/* ---- what a line begins with; each looks at `word`, which is there ---- */

static bool is_heading(const struct cursor *c)
{
	size_t at = c->word;

	while (at < c->end && at - c->word <= 6 && c->text[at] == '#')
		at++;
	return at > c->word && at - c->word <= 6 && (at == c->end || is_blank(c->text[at]));
}

static bool is_underline(const struct cursor *c)
{
	const char mark = c->text[c->word];
	size_t at = c->word;

	if (mark != '=' && mark != '-')
		return false;
	while (at < c->end && c->text[at] == mark)
		at++;
	while (at < c->end && is_blank(c->text[at]))
		at++;
	return at == c->end;
}

static bool is_break(struct cursor *c)
{
	const char mark = c->text[c->word];
	size_t at, marks = 0;

	if ((mark != '*' && mark != '-' && mark != '_') ||
	    (mark == c->no_break_mark && c->word < c->no_break))
		return false;
	for (at = c->word; at < c->end && (c->text[at] == mark || is_blank(c->text[at])); at++)
		marks += c->text[at] == mark;
	if (at == c->end && marks >= 3)
		return true;
	c->no_break_mark = mark;
	c->no_break = at;
	return false;
}

/* Bytes of a list marker, or 0. */
static size_t marker_length(const struct cursor *c, bool interrupts)
{
	const char *text = c->text + c->word;
	const size_t left = c->end - c->word;
	size_t len = 0, blank;

	if (*text == '*' || *text == '-' || *text == '+') {
		len = 1;
	} else {
		while (len < left && len < 9 && text[len] >= '0' && text[len] <= '9')
			len++;
		if (!len || len == left || (text[len] != '.' && text[len] != ')') ||
		    (interrupts && (len != 1 || *text != '1')))
			return 0;
		len++;
	}
	if (len < left && !is_blank(text[len]))
		return 0;
	for (blank = len; interrupts && blank < left && is_blank(text[blank]);)
		blank++;
	return interrupts && blank == left ? 0 : len;
}

static bool read_fence(const struct cursor *c, struct fence *ret)
{
	const char mark = c->text[c->word];
	size_t at = c->word;

	if (mark != '`' && mark != '~')
		return false;
	while (at < c->end && c->text[at] == mark)
		at++;
	if (at - c->word < FENCE || (mark == '`' && memchr(c->text + at, '`', c->end - at)))
		return false;
	*ret = (struct fence){ .start = c->word, .length = at - c->word, .mark = mark };
	while (at < c->end && is_blank(c->text[at]))
		at++;
	ret->word.at = c->text + at;
	while (at < c->end && !is_blank(c->text[at]))
		at++;
	ret->word.len = (size_t)(c->text + at - ret->word.at);
	return true;
}

/* Behind the characters of the closing fence, or 0. */
static size_t read_closing(struct cursor *c, const struct fence *fence)
{
	size_t at, run;

	if (indent_of(c) > FENCE)
		return 0;
	for (at = c->word; at < c->end && c->text[at] == fence->mark;)
		at++;
	run = at;
	while (at < c->end && is_blank(c->text[at]))
		at++;
	return run - c->word >= fence->length && at == c->end ? run : 0;
}

/* ---- HTML that hides a fence ---- */

static const struct html {
	const char *start;
	bool element; /* the start is the name of an element, in any case */
	const char *end;
} html_rows[] = {
	{ "<!--", false, "-->" },      { "<?", false, "?>" },
	{ "<![CDATA[", false, "]]>" }, { "<!", false, ">" }, /* before a letter */
	{ "<script", true, NULL },     { "<pre", true, NULL },
	{ "<style", true, NULL },      { "<textarea", true, NULL },
};

#define HTML_ROWS (ARRAY_LENGTH(html_rows))

static bool begins(const char *text, size_t left, const char *with)
{
	return left >= strlen(with) && strncasecmp(text, with, strlen(with)) == 0;
}

/* The row of the HTML that begins here; HTML_ROWS: none does. */
static unsigned html_start(const struct cursor *c)
{
	const char *text = c->text + c->word;
	const size_t left = c->end - c->word;
	unsigned i = 0;

	for (; i < HTML_ROWS; i++) {
		const struct html *row = &html_rows[i];
		const size_t len = strlen(row->start);

		if (!begins(text, left, row->start) || (!row->element && memcmp(text, row->start, len) != 0))
			continue;
		if (row->element && len < left && text[len] != '>' && !is_blank(text[len]))
			continue;
		if (len == 2 && row->start[1] == '!' &&
		    (len == left || !((text[2] | 0x20) >= 'a' && (text[2] | 0x20) <= 'z')))
			continue;
		break;
	}
	return i;
}

static bool is_html_end(unsigned html, const char *text, size_t left)
{
	if (html_rows[html].end)
		return memmem(text, left, html_rows[html].end, strlen(html_rows[html].end)) != NULL;
	for (const char *at = text; (at = memmem(at, left - (size_t)(at - text), "</", 2)) != NULL; at++) {
		static const char *const names[] = { "</script>", "</pre>", "</style>", "</textarea>" };

		for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
			if (begins(at, left - (size_t)(at - text), names[i]))
				return true;
		}
	}
	return false;
}

/* ---- a line ---- */

/* Something begins in the container that is `depth` deep; what was open below it ends. */
static void begin_in(struct fences *f, size_t depth, enum fence_leaf leaf)
{
	f->depth = depth;
	f->leaf = leaf;
	if (depth)
		f->containers[depth - 1].empty = false;
}

static void open_container(struct fences *f, size_t *depth, unsigned width)
{
	begin_in(f, *depth, FENCE_LEAF_NONE);
	f->containers[f->depth++] = (struct fence_container){ .width = width };
	*depth = f->depth;
}

static bool open_quote(struct fences *f, size_t *depth, struct cursor *c)
{
	if (*depth == FENCES_MAX_DEPTH || !match_quote(c))
		return false;
	open_container(f, depth, 0);
	return true;
}

static bool open_item(struct fences *f, size_t *depth, struct cursor *c, bool interrupts)
{
	const unsigned indent = indent_of(c);
	const size_t marker = marker_length(c, interrupts);
	struct cursor behind;
	unsigned blanks;

	if (!marker || *depth == FENCES_MAX_DEPTH)
		return false;
	take_indent(c);
	take_bytes(c, marker);
	behind = *c;
	blanks = take_columns(c, ITEM_MOST + 1);
	if (blanks > ITEM_MOST || blanks < 1 || c->at == c->end) { /* one column belongs to the marker */
		*c = behind;
		take_columns(c, 1);
		blanks = 1;
	}
	open_container(f, depth, indent + (unsigned)marker + blanks);
	f->containers[f->depth - 1].empty = true;
	return true;
}

/* What goes on in the leaf that is open, as all containers have matched. True: nothing else of the line counts. */
static bool continue_leaf(struct fences *f, struct cursor *c)
{
	switch (f->leaf) {
	case FENCE_LEAF_HTML:
		if (is_html_end(f->html, c->text + c->at, c->end - c->at))
			f->leaf = FENCE_LEAF_NONE;
		return true;
	case FENCE_LEAF_INDENTED:
		return is_empty(c) || indent_of(c) >= INDENTED;
	case FENCE_LEAF_PARAGRAPH:
	case FENCE_LEAF_NONE:
		break;
	}
	return false;
}

/* A line whose first character is not indented begins a leaf that is no paragraph. *ret_fence counts if this returns 1; 0: it
 * does not; -1: it does, and it is no fence. */
static int open_leaf(struct fences *f, size_t depth, struct cursor *c, bool in_paragraph,
		     struct fence *ret_fence)
{
	unsigned html;

	if (read_fence(c, ret_fence)) {
		ret_fence->indent = indent_of(c);
		begin_in(f, depth, FENCE_LEAF_NONE);
		return 1;
	}
	html = html_start(c);
	if (html < HTML_ROWS) {
		begin_in(f, depth, FENCE_LEAF_HTML);
		f->html = html;
		if (is_html_end(html, c->text + c->word, c->end - c->word))
			f->leaf = FENCE_LEAF_NONE;
		return -1;
	}
	if (is_heading(c) || (in_paragraph && is_underline(c)) || is_break(c)) {
		begin_in(f, depth, FENCE_LEAF_NONE);
		return -1;
	}
	return 0;
}

/* The rest of a line, which is text. */
static void add_text(struct fences *f, size_t depth, size_t matched, struct cursor *c, bool opened, bool lazy)
{
	if (!opened && lazy && !is_empty(c))
		return; /* of the paragraph that is open, whether or not all of its containers are there */
	if (is_empty(c)) {
		f->depth = opened ? f->depth : matched;
		f->leaf = FENCE_LEAF_NONE;
		return;
	}
	begin_in(f, depth, FENCE_LEAF_PARAGRAPH);
}

/* True: the line opens a fenced block, whose containers are then those that are open. */
static bool read_line(struct fences *f, struct cursor *c, struct fence *ret)
{
	const size_t matched = match_containers(f->containers, f->depth, c);
	const bool all = matched == f->depth, lazy = f->leaf == FENCE_LEAF_PARAGRAPH;
	bool in_paragraph = all && lazy && !is_empty(c), opened = false;
	size_t depth = matched;

	if (all && continue_leaf(f, c))
		return false;
	while (!is_empty(c)) {
		int found;

		if (indent_of(c) >= INDENTED) {
			if (lazy && !opened)
				break;
			begin_in(f, depth, FENCE_LEAF_INDENTED);
			return false;
		}
		if (open_quote(f, &depth, c)) {
			opened = true;
			in_paragraph = false;
			continue;
		}
		found = open_leaf(f, depth, c, in_paragraph, ret);
		if (found)
			return found > 0;
		if (!open_item(f, &depth, c, in_paragraph))
			break;
		opened = true;
		in_paragraph = false;
	}
	add_text(f, depth, matched, c, opened, lazy);
	return false;
}

/* ---- the text ---- */

void fences_init(struct fences *fences, const char *text, size_t len)
{
	fences->text = text;
	fences->len = len;
	fences->line = len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
	fences->depth = 0;
	fences->leaf = FENCE_LEAF_NONE;
}

bool fences_find(struct fences *fences, size_t last, struct fence *ret)
{
	while (fences->line < fences->len && fences->line <= last) {
		struct cursor c = cursor_at(fences->text, fences->len, fences->line);
		const size_t line = fences->line;

		fences->line = line_after(fences->text, fences->len, c.end);
		if (read_line(fences, &c, ret)) {
			ret->line = line;
			ret->content = fences->line;
			return true;
		}
	}
	return false;
}

static size_t without_ending(const char *text, size_t from, size_t to)
{
	if (to > from && text[to - 1] == '\n')
		to--;
	else if (to > from && text[to - 1] == '\r')
		return to - 1;
	else
		return to;
	return to > from && text[to - 1] == '\r' ? to - 1 : to;
}

void fences_take(struct fences *fences, const struct fence *fence, struct fence_lines *ret)
{
	size_t line = fence->content;

	*ret = (struct fence_lines){ .from = line };
	while (line < fences->len) {
		struct cursor c = cursor_at(fences->text, fences->len, line);

		if (match_containers(fences->containers, fences->depth, &c) < fences->depth) {
			ret->closed = true;
			break;
		}
		ret->end = read_closing(&c, fence);
		if (ret->end) {
			ret->closed = true;
			ret->to = line;
			fences->line = line_after(fences->text, fences->len, c.end);
			return;
		}
		line = line_after(fences->text, fences->len, c.end);
	}
	ret->to = line;
	ret->end = ret->closed ? without_ending(fences->text, fence->start, line) : fences->len;
	fences->line = line;
}

void fences_skip(struct fences *fences, size_t at)
{
	if (fences->line >= at)
		return;
	fences->line = at;
	if (!is_line_start(fences->text, fences->len, at))
		fences->line = line_after(fences->text, fences->len, line_end(fences->text, fences->len, at));
	fences->leaf = FENCE_LEAF_NONE;
}

size_t fences_copy_line(const struct fence_container *containers, size_t depth, unsigned indent,
			struct span text, size_t line, char *to, size_t *ret_next)
{
	struct cursor c = cursor_at(text.at, text.len, line);
	unsigned spaces;

	match_containers(containers, depth, &c);
	take_columns(&c, indent);
	spaces = c.in_tab ? tab_rest(&c) : 0;
	c.at += c.in_tab;
	*ret_next = line_after(text.at, text.len, c.end);
	if (to) {
		memset(to, ' ', spaces);
		memcpy(to + spaces, text.at + c.at, *ret_next - c.at);
	}
	return spaces + (*ret_next - c.at);
}
