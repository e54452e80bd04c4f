/*
 * lexer: one pass over the bytes; every branch moves on, and none looks at a byte more often than a fixed number of times.
 *
 * What could cost more is a search for the end of something that has none. A comment without an end takes all the rest. A
 * heredoc without one is none, and from then on there are none. A string that may go over lines is searched to the end of the
 * text once; if it is not closed, it ends with its line, and from then on that quote ends with its line without another search.
 *
 * Shells are read by words as a shell does: `a"b c"'d'` is one word. What it would be without its quotes is kept in a block of
 * its own, never longer than the source.
 */
#include "runtime/code/detect/lexer.h"
#include "base/array.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MAX_REGEX 1024 /* bytes of a regular expression */

/* Operators of more than one byte, the longer ones first. */
static const char *const operators[] = {
	"===", "!==", "...", "<=>", "**=", "<<-", "<<<", "%>%", "->>", "<<=", ">>=", "&&=", "||=", "=>",
	"->",  "::",  ":=",  "==",  "!=",  "<=",  ">=",  "&&",  "||",  "++",  "--",  "+=",  "-=",  "*=",
	"/=",  "<<",  ">>",  "<-",  "..",  "|>",  "=~",  "!~",  "~=",  "**",  "??",  "?.",  "//",  ".=",
};

static const char *const shell_operators[] = {
	"<<<", "<<-", "&>>", ";;", "&&", "||", "<<", ">>", ">&",
	"<&",  "&>",  ">|",  "<(", ">(", "|&", "((", "))",
};

struct reader {
	const char *text;
	size_t len, at;
	unsigned rules;
	uint32_t line;
	bool line_start; /* no token yet on this line */
	bool in_php;     /* after <?php */
	bool arithmetic; /* within a shell's $(( )): << is no heredoc there */
	bool open[256];  /* this quote is not closed any more */
	size_t max_tokens, cap, used;
	struct tokens *out;
	/* A heredoc that begins with the next line. */
	size_t heredoc_at, heredoc_len;
	bool heredoc_indented;
};

const struct language_row *lexer_rules(const char *language)
{
	const struct language_row *row = language_named(language);

	return row && row->lexer ? row : NULL;
}

bool token_is(const struct token *token, const char *word)
{
	size_t length = strlen(word);

	return token->length == length && memcmp(token->text, word, length) == 0;
}

/* ---- bytes ---- */

/* The byte `ahead` of the position, 0 behind the end. */
static char peek(const struct reader *r, size_t ahead)
{
	return r->at + ahead < r->len ? r->text[r->at + ahead] : '\0';
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v' || c == '\0';
}

/* Bytes above ASCII are letters: names may be in any script. */
static bool is_name_start(char c)
{
	return isalpha((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static bool is_name(char c)
{
	return is_name_start(c) || (c >= '0' && c <= '9');
}

static bool has(const struct reader *r, enum lexer_rule rule)
{
	return (r->rules & rule) != 0;
}

static bool starts(const struct reader *r, const char *word)
{
	size_t length;

	if (r->text[r->at] != word[0])
		return false;
	length = strlen(word);
	return r->len - r->at >= length && memcmp(r->text + r->at, word, length) == 0;
}

/* Moves on to `end`, counting lines. */
static void advance(struct reader *r, size_t end)
{
	for (; r->at < end && r->at < r->len; r->at++) {
		if (r->text[r->at] == '\n')
			r->line++;
	}
}

static size_t line_end(const struct reader *r, size_t from)
{
	const char *newline = from < r->len ? memchr(r->text + from, '\n', r->len - from) : NULL;

	return newline ? (size_t)(newline - r->text) : r->len;
}

/* Position behind the next `word`, or the end of the text. */
static size_t behind(const struct reader *r, size_t from, const char *word)
{
	const char *found = from < r->len ? memmem(r->text + from, r->len - from, word, strlen(word)) : NULL;

	return found ? (size_t)(found - r->text) + strlen(word) : r->len;
}

/* ---- tokens ---- */

static const struct token *last(const struct reader *r)
{
	return r->out->count > 0 ? &r->out->items[r->out->count - 1] : NULL;
}

static bool reserve(struct reader *r)
{
	size_t cap = r->cap ? r->cap * 2 : 256;
	struct token *items;

	if (r->out->count < r->cap)
		return true;
	items = reallocarray(r->out->items, cap, sizeof(*items));
	if (!items)
		return false;
	r->out->items = items;
	r->cap = cap;
	return true;
}

/* A token from `from` up to the position; its text is `length` bytes at `text`. False on want of memory. */
static bool emit(struct reader *r, enum token_kind kind, size_t from, uint32_t line, const char *text,
		 size_t length)
{
	if (!reserve(r))
		return false;
	r->out->items[r->out->count++] = (struct token){
		.kind = kind,
		.first = r->line_start,
		.line = line,
		.at = (uint32_t)from,
		.size = (uint32_t)(r->at - from),
		.length = (uint32_t)length,
		.text = text,
	};
	r->line_start = false;
	return true;
}

static bool emit_plain(struct reader *r, enum token_kind kind, size_t end)
{
	size_t from = r->at;
	uint32_t line = r->line;

	advance(r, end);
	return emit(r, kind, from, line, r->text + from, r->at - from);
}

/* A string up to `end`; what is in it is from `inner` to `inner_end`. */
static bool emit_string(struct reader *r, size_t end, size_t inner, size_t inner_end, char quote)
{
	size_t from = r->at;
	uint32_t line = r->line;

	advance(r, end);
	if (inner_end < inner)
		inner_end = inner;
	if (!emit(r, TOKEN_STRING, from, line, r->text + inner, inner_end - inner))
		return false;
	r->out->items[r->out->count - 1].quote = quote;
	return true;
}

/* ---- strings ---- */

/* The closing quote after `from`, or the end of the line (or of the text), if there is none before it. */
static size_t closing(const struct reader *r, size_t from, bool over_lines, char quote, bool escapes)
{
	size_t at = from;

	while (at < r->len && r->text[at] != quote && (over_lines || r->text[at] != '\n'))
		at += escapes && r->text[at] == '\\' &&
			      (over_lines || at + 1 >= r->len || r->text[at + 1] != '\n')
			  ? 2
			  : 1;
	return at < r->len ? at : r->len;
}

/* The same for a quote that may go over lines, as long as it was always closed. */
static size_t closing_over_lines(struct reader *r, size_t from, char quote, bool escapes)
{
	size_t end = closing(r, from, !r->open[(unsigned char)quote], quote, escapes);

	if (end < r->len || r->open[(unsigned char)quote])
		return end;
	r->open[(unsigned char)quote] = true;
	return closing(r, from, false, quote, escapes);
}

/* Position behind the quote at `at`, if there is one. */
static size_t behind_quote(const struct reader *r, size_t at, char quote)
{
	return at < r->len && r->text[at] == quote ? at + 1 : at;
}

/* A string from the quote at `open_at`, which the token may begin before. */
static bool read_quoted(struct reader *r, size_t open_at, bool long_lines, bool escapes)
{
	char quote = r->text[open_at];
	size_t end = long_lines ? closing_over_lines(r, open_at + 1, quote, escapes)
				: closing(r, open_at + 1, false, quote, escapes);

	return emit_string(r, behind_quote(r, end, quote), open_at + 1, end, quote);
}

static bool read_triple(struct reader *r, size_t open_at)
{
	char quote = r->text[open_at];
	size_t at = open_at + 3;

	while (at < r->len && !(r->text[at] == quote && at + 2 < r->len && r->text[at + 1] == quote &&
				r->text[at + 2] == quote))
		at += r->text[at] == '\\' ? 2 : 1;
	return at < r->len
		   ? emit_string(r, at + 3, open_at + 3, at, quote)
		   : emit_string(r, r->len, open_at + 3 < r->len ? open_at + 3 : r->len, r->len, quote);
}

static bool is_triple(const struct reader *r, size_t at)
{
	char quote = at < r->len ? r->text[at] : '\0';

	return (quote == '"' || (quote == '\'' && !has(r, LEXER_CHARACTER))) && at + 2 < r->len &&
	       r->text[at + 1] == quote && r->text[at + 2] == quote;
}

/* Length of the character after a single quote: an escape up to the next quote, or one UTF-8 character. 0: none. */
static size_t character_length(const struct reader *r)
{
	size_t size = 1;

	if (peek(r, 1) == '\\') {
		for (size = 2; size < 13 && peek(r, 1 + size) && !strchr("'\n", peek(r, 1 + size));)
			size++;
		return peek(r, 1 + size) == '\'' ? size : 0;
	}
	while (size < 4 && ((unsigned char)peek(r, 1 + size) & 0xc0) == 0x80)
		size++;
	return peek(r, 1) != '\'' && peek(r, 1) != '\n' && peek(r, 1 + size) == '\'' ? size : 0;
}

static bool read_single_quote(struct reader *r)
{
	size_t length = has(r, LEXER_CHARACTER) ? character_length(r) : 0;
	size_t end;

	if (!has(r, LEXER_CHARACTER))
		return read_quoted(r, r->at, has(r, LEXER_LONG_QUOTES), true);
	if (length > 0)
		return emit_string(r, r->at + length + 2, r->at + 1, r->at + 1 + length, '\'');
	if (!has(r, LEXER_RUST)) /* two characters, or not this language */
		return read_quoted(r, r->at, false, true);
	for (end = r->at + 1; end < r->len && is_name(r->text[end]);)
		end++;
	return emit_plain(r, end > r->at + 1 ? TOKEN_WORD : TOKEN_SYMBOL, end);
}

/* Rust's r"..", r#".."#, br"..", cr"..": whether one begins here. */
static bool read_rust_raw(struct reader *r, bool *ret_found)
{
	size_t at = r->at, hashes = 0, inner;

	if ((r->text[at] == 'b' || r->text[at] == 'c') && peek(r, 1) == 'r')
		at++;
	*ret_found = false;
	if (r->text[at] != 'r')
		return true;
	for (at++; at < r->len && r->text[at] == '#'; at++)
		hashes++;
	if (at >= r->len || r->text[at] != '"')
		return true;
	*ret_found = true;
	inner = at + 1;
	for (at = inner; at < r->len; at++) {
		size_t closed = 0;

		if (r->text[at] != '"')
			continue;
		while (closed < hashes && at + 1 + closed < r->len && r->text[at + 1 + closed] == '#')
			closed++;
		if (closed == hashes)
			return emit_string(r, at + 1 + hashes, inner, at, '"');
		at += closed;
	}
	return emit_string(r, r->len, inner, r->len, '"');
}

/* C++'s R"x(...)x". */
static bool read_cpp_raw(struct reader *r)
{
	size_t open_at = r->at + 2, paren = open_at;
	char end[20];
	size_t close;

	while (paren < r->len && paren - open_at < 16 && r->text[paren] != '(' && r->text[paren] != '\n')
		paren++;
	if (paren >= r->len || r->text[paren] != '(')
		return read_quoted(r, r->at + 1, false, true);
	end[0] = ')';
	memcpy(end + 1, r->text + open_at, paren - open_at);
	end[1 + paren - open_at] = '"';
	end[2 + paren - open_at] = '\0';
	if (strlen(end) != 2 + paren - open_at) /* a NUL among them */
		return read_quoted(r, r->at + 1, false, true);
	close = behind(r, paren + 1, end);
	return emit_string(r, close, paren + 1, close == r->len ? close : close - strlen(end), '"');
}

/* Lua's [[..]] and [=[..]=]; 0 if none begins at `at`, else the count of '=' plus 1. */
static size_t lua_bracket(const struct reader *r, size_t at)
{
	size_t level = 0;

	if (at >= r->len || r->text[at] != '[')
		return 0;
	while (at + 1 + level < r->len && r->text[at + 1 + level] == '=')
		level++;
	return at + 1 + level < r->len && r->text[at + 1 + level] == '[' ? level + 1 : 0;
}

/* Position of the bracket that closes the long one whose text begins at `from`; the end of the text if there is none. */
static size_t lua_close(const struct reader *r, size_t from, size_t level)
{
	for (size_t at = from; at < r->len; at++) {
		size_t equals = 0;

		if (r->text[at] != ']')
			continue;
		while (at + 1 + equals < r->len && r->text[at + 1 + equals] == '=')
			equals++;
		if (equals + 1 == level && at + 1 + equals < r->len && r->text[at + 1 + equals] == ']')
			return at;
		at += equals;
	}
	return r->len;
}

/* ---- comments ---- */

static size_t block_comment_end(const struct reader *r)
{
	size_t at = r->at + 2, depth = 1;

	if (!has(r, LEXER_NESTED_COMMENT))
		return behind(r, at, "*/");
	while (at + 1 < r->len && depth > 0) {
		if (r->text[at] == '/' && r->text[at + 1] == '*') {
			depth++;
			at += 2;
		} else if (r->text[at] == '*' && r->text[at + 1] == '/') {
			depth--;
			at += 2;
		} else {
			at++;
		}
	}
	return depth == 0 ? at : r->len;
}

/* Where the comment at the position ends; 0 if there is none. */
static size_t comment_end(const struct reader *r)
{
	char c = r->text[r->at];

	if (c == '#' && has(r, LEXER_HASH_COMMENT) && !(has(r, LEXER_PHP) && peek(r, 1) == '['))
		return line_end(r, r->at);
	if (c == '/' && has(r, LEXER_SLASH_COMMENT)) {
		if (peek(r, 1) == '/')
			return line_end(r, r->at);
		if (peek(r, 1) == '*')
			return block_comment_end(r);
	}
	if (c == '-' && has(r, LEXER_LUA) && peek(r, 1) == '-') {
		size_t level = lua_bracket(r, r->at + 2), close;

		if (level == 0)
			return line_end(r, r->at);
		close = lua_close(r, r->at + 3 + level, level);
		return close < r->len ? close + 1 + level : r->len;
	}
	return 0;
}

/* Perl's and Ruby's documentation: from a line "=word" to the line "=cut" or "=end". */
static size_t pod_end(const struct reader *r)
{
	const char *close = has(r, LEXER_RUBY) ? "\n=end" : "\n=cut";

	if (!has(r, LEXER_POD) || !r->line_start || (r->at > 0 && r->text[r->at - 1] != '\n') ||
	    r->text[r->at] != '=' || !isalpha((unsigned char)peek(r, 1)))
		return 0;
	if (has(r, LEXER_RUBY) && !starts(r, "=begin"))
		return 0;
	return line_end(r, behind(r, r->at, close));
}

/* ---- words ---- */

static bool before_operand(const struct reader *r)
{
	static const char *const words[] = { "return", "typeof", "case",   "in",    "of",   "if",
					     "and",    "or",     "unless", "split", "grep", "when" };
	const struct token *token = last(r);

	if (!token)
		return true;
	if (token->kind == TOKEN_SYMBOL)
		return token->length != 1 || !strchr(")]}", token->text[0]);
	for (size_t i = 0; token->kind == TOKEN_WORD && i < ARRAY_LENGTH(words); i++) {
		if (token_is(token, words[i]))
			return true;
	}
	return false;
}

/* A regular expression ends on its line, outside of [...]. */
static bool read_regex(struct reader *r)
{
	size_t limit = r->len - r->at < MAX_REGEX ? r->len : r->at + MAX_REGEX, at = r->at + 1;
	bool in_class = false;

	while (at < limit && r->text[at] != '\n' && (in_class || r->text[at] != '/')) {
		if (r->text[at] == '\\')
			at++;
		else if (r->text[at] == '[')
			in_class = true;
		else if (r->text[at] == ']')
			in_class = false;
		at++;
	}
	if (at >= limit || r->text[at] == '\n')
		return emit_plain(r, TOKEN_SYMBOL, r->at + 1);
	return emit_string(r, at + 1, r->at + 1, at, '/');
}

static char closing_delimiter(char open)
{
	static const char pairs[] = "()[]{}<>";
	const char *found = open ? strchr(pairs, open) : NULL;

	return found && (found - pairs) % 2 == 0 ? found[1] : open;
}

/* Position of what closes the delimiter at `at`, brackets nested; the end of the text if nothing does. */
static size_t delimited_end(const struct reader *r, size_t at)
{
	char open = r->text[at], close = closing_delimiter(open);
	size_t depth = 1;

	for (at++; at < r->len; at++) {
		if (r->text[at] == '\\')
			at++;
		else if (r->text[at] == close && --depth == 0)
			return at;
		else if (r->text[at] == open && open != close)
			depth++;
	}
	return r->len;
}

/* Perl's q{..}, m!..!, s/../../; Ruby's %w[..]. `delimiter` is the position of the first one, `parts` 1 or 2. */
static bool read_delimited(struct reader *r, size_t delimiter, int parts)
{
	char open = r->text[delimiter];
	size_t end = r->open[(unsigned char)open] ? r->len : delimited_end(r, delimiter);
	size_t inner_end = end;

	if (end < r->len && parts == 2 && closing_delimiter(open) == open)
		end = delimited_end(r, end);
	if (end >= r->len) { /* not closed: it was no quote */
		r->open[(unsigned char)open] = true;
		return emit_plain(r, TOKEN_SYMBOL, delimiter);
	}
	return emit_string(r, end + 1, delimiter + 1, inner_end, '/');
}

/* Of a word that may be a quote of Perl's: how many parts it has, 0 if it is none. */
static int perl_quote(const struct reader *r, size_t from, size_t length, size_t delimiter)
{
	static const struct {
		const char *word;
		int parts;
	} quotes[] = { { "q", 1 },  { "qq", 1 }, { "qw", 1 }, { "qr", 1 }, { "m", 1 },
		       { "qx", 1 }, { "s", 2 },  { "tr", 2 }, { "y", 2 } };
	const struct token *token = last(r);
	char c = delimiter < r->len ? r->text[delimiter] : '\0';

	if (!c || isspace((unsigned char)c) || is_name(c) || strchr("=,;)-.&", c))
		return 0;
	if (token && (token_is(token, "->") || token_is(token, "{") || token_is(token, "sub")))
		return 0;
	for (size_t i = 0; i < ARRAY_LENGTH(quotes); i++) {
		if (strlen(quotes[i].word) == length && memcmp(r->text + from, quotes[i].word, length) == 0)
			return quotes[i].parts;
	}
	return 0;
}

/* Whether a word is a prefix of the string that follows it at once: r"", f"", b"", u8"". */
static bool is_prefix(const struct reader *r, size_t from, size_t end)
{
	if (end - from > 2 || end >= r->len || (r->text[end] != '"' && r->text[end] != '\''))
		return false;
	for (size_t at = from; at < end; at++) {
		if (!strchr(has(r, LEXER_RUST) ? "bc" : "rRbBfFuU", r->text[at]))
			return false;
	}
	return true;
}

static size_t name_end(const struct reader *r, size_t from)
{
	size_t end = from;

	while (end < r->len && (is_name(r->text[end]) || (has(r, LEXER_DOTTED) && r->text[end] == '.') ||
				(has(r, LEXER_SIGILS) && !has(r, LEXER_PERL | LEXER_RUBY | LEXER_PHP) &&
				 r->text[end] == '$')))
		end++;
	return end;
}

static bool read_prefixed(struct reader *r, size_t quote_at)
{
	bool raw =
	    memchr(r->text + r->at, 'r', quote_at - r->at) || memchr(r->text + r->at, 'R', quote_at - r->at);

	if (has(r, LEXER_TRIPLE) && is_triple(r, quote_at))
		return read_triple(r, quote_at);
	return read_quoted(r, quote_at, has(r, LEXER_LONG_QUOTES), !raw || has(r, LEXER_PREFIXES));
}

static bool read_word(struct reader *r)
{
	size_t end = name_end(r, r->at);
	bool found = false;
	int parts;

	if (has(r, LEXER_RUST)) {
		if (!read_rust_raw(r, &found) || found)
			return found;
		/* b'x' */
		if (end - r->at == 1 && r->text[r->at] == 'b' && peek(r, 1) == '\'') {
			r->at++;
			return read_single_quote(r);
		}
		if (starts(r, "r#") && r->at + 2 < r->len && is_name_start(r->text[r->at + 2])) {
			r->at += 2; /* r#name is the name */
			return emit_plain(r, TOKEN_WORD, name_end(r, r->at));
		}
	}
	if (has(r, LEXER_CPP_RAW) && starts(r, "R\""))
		return read_cpp_raw(r);
	if (has(r, LEXER_PREFIXES | LEXER_RUST) && is_prefix(r, r->at, end) &&
	    (r->text[end] == '"' || has(r, LEXER_PREFIXES)))
		return read_prefixed(r, end);
	parts = has(r, LEXER_PERL) ? perl_quote(r, r->at, end - r->at, end) : 0;
	if (parts > 0)
		return read_delimited(r, end, parts);
	return emit_plain(r, TOKEN_WORD, end);
}

static bool read_number(struct reader *r)
{
	size_t end = r->at;

	while (end < r->len && (is_name(r->text[end]) || (r->text[end] == '.' && end + 1 < r->len &&
							  isdigit((unsigned char)r->text[end + 1]))))
		end++;
	return emit_plain(r, TOKEN_NUMBER, end);
}

/* $name, ${, $1, @name, %name: with the sigil. False in *ret_found: there is none here. */
static bool read_sigil(struct reader *r, bool *ret_found)
{
	char c = r->text[r->at];
	size_t from = r->at + 1;

	*ret_found = false;
	if (has(r, LEXER_PERL) && starts(r, "$#")) {
		*ret_found = true;
		return emit_plain(r, TOKEN_SYMBOL, from + 1);
	}
	if (c != '$' && !(c == '@' && has(r, LEXER_PERL | LEXER_RUBY)))
		return true;
	while (from < r->len && r->text[from] == c && from < r->at + 2)
		from++;
	if (from >= r->len || !is_name(r->text[from]))
		return true;
	*ret_found = true;
	return emit_plain(r, TOKEN_WORD, name_end(r, from));
}

static size_t operator_length(const struct reader *r, const char *const *table, size_t rows)
{
	for (size_t i = 0; i < rows; i++) {
		if (starts(r, table[i]))
			return strlen(table[i]);
	}
	return 1;
}

static bool read_symbol(struct reader *r)
{
	size_t length = operator_length(r, operators, ARRAY_LENGTH(operators));

	/* In Rust, what looks like one operator may be two: `#!` and `[`. All it matters for is read byte by byte. */
	return emit_plain(r, TOKEN_SYMBOL, r->at + length);
}

/* ---- heredocs ---- */

/* <<WORD, <<-'WORD', <<~WORD, <<<WORD: remembers the word; the position does not move. */
static void find_heredoc(struct reader *r)
{
	size_t at = r->at + (has(r, LEXER_PHP) ? 3 : 2);
	bool indented = has(r, LEXER_PHP), marked = has(r, LEXER_SHELL | LEXER_PHP);
	char quote = '\0';

	if (r->heredoc_len > 0 || r->open['<'] || !starts(r, has(r, LEXER_PHP) ? "<<<" : "<<") ||
	    (!has(r, LEXER_PHP) && starts(r, "<<<")))
		return;
	if (at < r->len && (r->text[at] == '-' || r->text[at] == '~')) {
		indented = marked = true;
		at++;
	}
	while (has(r, LEXER_SHELL | LEXER_PHP) && at < r->len && (r->text[at] == ' ' || r->text[at] == '\t'))
		at++;
	if (at < r->len && (r->text[at] == '"' || r->text[at] == '\'' || r->text[at] == '\\')) {
		quote = r->text[at++];
		marked = true;
	}
	if (at >= r->len || !is_name_start(r->text[at]) || (!marked && !isupper((unsigned char)r->text[at])))
		return;
	r->heredoc_at = at;
	while (at < r->len && is_name(r->text[at]))
		at++;
	if (quote && quote != '\\' && (at >= r->len || r->text[at] != quote))
		return;
	r->heredoc_len = at - r->heredoc_at;
	r->heredoc_indented = indented;
}

static bool is_heredoc_end(const struct reader *r, size_t from, size_t end)
{
	while (r->heredoc_indented && from < end && (r->text[from] == ' ' || r->text[from] == '\t'))
		from++;
	if (end - from < r->heredoc_len ||
	    memcmp(r->text + from, r->text + r->heredoc_at, r->heredoc_len) != 0)
		return false;
	from += r->heredoc_len;
	return from == end || !is_name(r->text[from]);
}

/* At the start of the line after the word: the text up to the line that ends it. */
static bool read_heredoc(struct reader *r)
{
	size_t inner = r->at, from = inner, end = line_end(r, inner);

	while (from < r->len && !is_heredoc_end(r, from, end)) {
		from = end < r->len ? end + 1 : r->len;
		end = line_end(r, from);
	}
	/* What follows the word on its line is code again. */
	while (from < end && !is_name(r->text[from]))
		from++;
	end = from + r->heredoc_len;
	r->heredoc_len = 0;
	if (from < r->len)
		return emit_string(r, end, inner, from, '<');
	r->open['<'] = true;
	return true;
}

/* ---- shells ---- */

static bool ends_shell_word(const struct reader *r, size_t at)
{
	return at >= r->len || is_blank(r->text[at]) || strchr("\n;&|<>()`", r->text[at]);
}

static void keep(struct reader *r, const char *text, size_t length)
{
	memcpy(r->out->unquoted + r->used, text, length);
	r->used += length;
}

/* From the quote at `at` to behind its end; what is in it is kept. */
static size_t shell_quote(struct reader *r, size_t at)
{
	char quote = r->text[at];
	size_t end = closing_over_lines(r, at + 1, quote, quote == '"');

	keep(r, r->text + at + 1, end - at - 1);
	return behind_quote(r, end, quote);
}

/* $name, ${...}, $(( are part of a word as they are; $( ends it. */
static size_t shell_dollar(struct reader *r, size_t at)
{
	size_t end = at + 1;

	if (end < r->len && r->text[end] == '{') {
		while (end < r->len && r->text[end] != '}' && r->text[end] != '\n')
			end++;
		end = behind_quote(r, end, '}');
	}
	keep(r, r->text + at, end - at);
	return end;
}

static bool read_shell_word(struct reader *r)
{
	size_t at = r->at, from = at, kept = r->used;
	uint32_t line = r->line;
	bool quoted = false;

	while (!ends_shell_word(r, at)) {
		char c = r->text[at];

		if (c == '\'' || c == '"') {
			quoted = true;
			at = shell_quote(r, at);
		} else if (c == '$' && at + 1 < r->len && r->text[at + 1] == '(') {
			break;
		} else if (c == '$') {
			at = shell_dollar(r, at);
		} else if (c == '\\' && at + 1 < r->len) {
			if (r->text[at + 1] != '\n')
				keep(r, r->text + at + 1, 1);
			quoted = true;
			at += 2;
		} else {
			keep(r, r->text + at++, 1);
		}
	}
	advance(r, at);
	if (!emit(r, TOKEN_WORD, from, line, r->out->unquoted + kept, r->used - kept))
		return false;
	r->out->items[r->out->count - 1].quoted = quoted;
	return true;
}

static bool read_shell(struct reader *r)
{
	if (starts(r, "$((") || starts(r, "((") || starts(r, "))"))
		r->arithmetic = r->text[r->at] != ')';
	if (starts(r, "$("))
		return emit_plain(r, TOKEN_SYMBOL, r->at + (peek(r, 2) == '(' ? 3 : 2));
	if (!ends_shell_word(r, r->at))
		return read_shell_word(r);
	if (!r->arithmetic)
		find_heredoc(r);
	return emit_plain(r, TOKEN_SYMBOL,
			  r->at + operator_length(r, shell_operators, ARRAY_LENGTH(shell_operators)));
}

/* In a shell # begins a comment only where a word could begin. */
static bool at_word_start(const struct reader *r)
{
	return r->at == 0 || is_blank(r->text[r->at - 1]) || strchr("\n;&|()", r->text[r->at - 1]);
}

/* ---- the rest ---- */

/* Text outside of <?php ... ?> is one string, if there is a tag at all. */
static bool read_php_outside(struct reader *r)
{
	size_t tag = r->at, length = 0;

	for (; tag < r->len && length == 0; tag++) {
		if (r->len - tag >= 5 && memcmp(r->text + tag, "<?php", 5) == 0)
			length = 5;
		else if (r->len - tag >= 3 && memcmp(r->text + tag, "<?=", 3) == 0)
			length = 3;
	}
	if (length == 0)
		return emit_string(r, r->len, r->at, r->len, '<');
	tag--;
	r->in_php = true;
	if (tag > r->at && !emit_string(r, tag, r->at, tag, '<'))
		return false;
	return emit_plain(r, TOKEN_WORD, tag + length);
}

static bool read_string_start(struct reader *r, bool *ret_found)
{
	char c = r->text[r->at];
	size_t level = has(r, LEXER_LUA) ? lua_bracket(r, r->at) : 0;

	*ret_found = true;
	if (has(r, LEXER_TRIPLE) && is_triple(r, r->at))
		return read_triple(r, r->at);
	if (c == '"')
		return read_quoted(r, r->at, has(r, LEXER_LONG_QUOTES), true);
	if (c == '\'')
		return read_single_quote(r);
	if (c == '`' && has(r, LEXER_BACKTICK)) /* Go's has no escapes */
		return read_quoted(r, r->at, true, !has(r, LEXER_CHARACTER));
	if (c == '/' && has(r, LEXER_REGEX) && before_operand(r))
		return read_regex(r);
	if (level > 0) {
		size_t inner = r->at + 1 + level, close = lua_close(r, inner, level);

		return emit_string(r, close < r->len ? close + 1 + level : r->len, inner, close, '"');
	}
	if (c == '%' && has(r, LEXER_RUBY) && before_operand(r) && strchr("wqQiWIr", peek(r, 1)) &&
	    peek(r, 1) && strchr("[({<", peek(r, 2)) && peek(r, 2))
		return read_delimited(r, r->at + 2, 1);
	*ret_found = false;
	return true;
}

static bool read_token(struct reader *r)
{
	char c = r->text[r->at];
	bool found = false;

	if (has(r, LEXER_PHP) && r->in_php && starts(r, "?>")) {
		r->in_php = false;
		return emit_plain(r, TOKEN_SYMBOL, r->at + 2);
	}
	if (has(r, LEXER_SHELL))
		return read_shell(r);
	if (!read_string_start(r, &found) || found)
		return found;
	if (has(r, LEXER_SIGILS) && (!read_sigil(r, &found) || found))
		return found;
	if (is_name_start(c))
		return read_word(r);
	if (c >= '0' && c <= '9')
		return read_number(r);
	if (c == '<' && has(r, LEXER_HEREDOC))
		find_heredoc(r);
	return read_symbol(r);
}

/* A comment, if one begins here; Rust's inner doc comments are kept. */
static bool skip_comment(struct reader *r, bool *ret_found)
{
	bool in_text = has(r, LEXER_SHELL) && !at_word_start(r);
	size_t end = in_text ? 0 : pod_end(r);

	if (end == 0 && !in_text)
		end = comment_end(r);
	*ret_found = end > r->at;
	if (!*ret_found)
		return true;
	if (has(r, LEXER_RUST) && peek(r, 2) == '!')
		return emit_plain(r, TOKEN_COMMENT, end);
	advance(r, end);
	return true;
}

static bool read_all(struct reader *r)
{
	bool found = false;

	while (r->at < r->len) {
		char c = r->text[r->at];

		if (r->out->count >= r->max_tokens) {
			r->out->cut = true;
			return true;
		}
		if (c == '\n') {
			advance(r, r->at + 1);
			r->line_start = true;
			if (r->heredoc_len > 0 && !read_heredoc(r))
				return false;
		} else if (is_blank(c)) {
			r->at++;
		} else if (c == '\\' && peek(r, 1) == '\n') {
			advance(r, r->at + 2);
		} else if (has(r, LEXER_PHP) && !r->in_php) {
			if (!read_php_outside(r))
				return false;
		} else if (!skip_comment(r, &found)) {
			return false;
		} else if (!found && !read_token(r)) {
			return false;
		}
	}
	return true;
}

/* ---- the door ---- */

int lexer_read(const struct language_row *rules, const char *text, size_t len, size_t max_tokens,
	       struct tokens *ret, struct warder_error *err)
{
	struct tokens out = { .cut = len > LEXER_MAX_BYTES };
	struct reader r = {
		.text = text,
		.len = out.cut ? LEXER_MAX_BYTES : len,
		.rules = rules->lexer,
		.line = 1,
		.line_start = true,
		.max_tokens = max_tokens ? max_tokens : LEXER_MAX_TOKENS,
		.out = &out,
	};

	if (has(&r, LEXER_SHELL)) {
		out.unquoted = malloc(r.len + 1);
		if (!out.unquoted)
			return error_no_memory(err, NULL);
	}
	r.in_php = !has(&r, LEXER_PHP) || !memmem(text, r.len, "<?", 2);
	if (!read_all(&r)) {
		tokens_done(&out);
		return error_no_memory(err, NULL);
	}
	*ret = out;
	return 0;
}

void tokens_done(struct tokens *tokens)
{
	free(tokens->items);
	free(tokens->unquoted);
	*tokens = (struct tokens){ 0 };
}
