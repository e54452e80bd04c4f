/*
 * pattern: compiling splits at blanks; matching is a loop over elements that calls itself only for a gap, of which a pattern has at
 * most two: a hundred and fifty tokens at the worst.
 */
#include "runtime/code/detect/pattern.h"
#include "base/array.h"

#include <ctype.h>
#include <string.h>

#define MAX_GAPS    2
#define MAX_GLOBBED 256 /* longer texts match no spelling with a `*` but by their beginning */

static bool is_word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static char kind_of(const char *text, size_t length)
{
	if (length == 2 && text[0] == '%' && strchr("wsnC*$", text[1]))
		return text[1];
	if (length >= 3 && text[0] == '"')
		return '"';
	for (size_t i = 0; i < length; i++) {
		if (is_word_char(text[i]))
			return 'a';
	}
	/* `-*`, `$*`, `*=`: spellings without a letter */
	return length >= 2 && memchr(text, '*', length) && memcmp(text, "**", 2) != 0 ? 'a' : '=';
}

/* Most tokens can be told from the first element by their first byte. */
static void find_starts(struct pattern *pattern)
{
	const struct pattern_element *element = &pattern->elements[0];
	bool any = pattern->count == 0 || !strchr("a=", element->kind);

	for (size_t i = 0; !any && i < element->length; i++) {
		if (i == 0 || (element->kind == 'a' && element->text[i - 1] == '|')) {
			any = element->kind == 'a' && (element->text[i] == '*' || element->text[i] == '\\');
			pattern->starts[(unsigned char)element->text[i]] = true;
		}
	}
	if (any)
		memset(pattern->starts, true, sizeof(pattern->starts));
}

void pattern_compile(const char *text, struct pattern *ret)
{
	bool first = false;
	int gaps = 0;

	*ret = (struct pattern){ 0 };
	while (*text) {
		size_t length = strcspn(text, " ");

		if (length == 1 && *text == '^') {
			first = true;
		} else if (length > 0) {
			struct pattern_element element = { kind_of(text, length), first, text, length };

			gaps += element.kind == '*';
			if (ret->count >= PATTERN_ELEMENTS || gaps > MAX_GAPS) {
				ret->count = 0;
				return;
			}
			if (element.kind == '"') {
				element.text++;
				element.length -= 2;
			}
			ret->elements[ret->count++] = element;
			first = false;
		}
		text += length;
		text += *text == ' ';
	}
	find_starts(ret);
}

/* ---- spellings ---- */

/* One spelling, in which `*` stands for any bytes and `\*` for itself. The star that was met last takes more when the rest does not
 * fit. */
static bool glob(const char *spelling, size_t length, const char *text, size_t text_length)
{
	size_t s = 0, t = 0, star = SIZE_MAX, taken = 0;

	while (t < text_length) {
		if (s < length && spelling[s] == '*') {
			star = s++;
			taken = t;
		} else if (s + 1 < length && spelling[s] == '\\' && spelling[s + 1] == text[t]) {
			s += 2;
			t++;
		} else if (s < length && spelling[s] == text[t]) {
			s++;
			t++;
		} else if (star != SIZE_MAX) {
			s = star + 1;
			t = ++taken;
		} else {
			return false;
		}
	}
	while (s < length && spelling[s] == '*')
		s++;
	return s == length;
}

static bool is_spelling(const char *spelling, size_t length, const char *text, size_t text_length)
{
	const char *star = memchr(spelling, '*', length);

	if (!star)
		return length == text_length && memcmp(spelling, text, length) == 0;
	if (text_length > MAX_GLOBBED)
		text_length = MAX_GLOBBED;
	return glob(spelling, length, text, text_length);
}

bool pattern_spelling(const char *spellings, size_t length, const char *text, size_t text_length)
{
	for (size_t at = 0; at <= length;) {
		const char *bar = at < length ? memchr(spellings + at, '|', length - at) : NULL;
		size_t end = bar ? (size_t)(bar - spellings) : length;

		if (is_spelling(spellings + at, end - at, text, text_length))
			return true;
		at = end + 1;
	}
	return false;
}

/* ---- matching ---- */

bool pattern_ends_command(const struct token *token)
{
	static const char *const ends[] = { ";", "&", "|", "&&", "||", "(", ")", "$(", "`", ";;", "|&" };

	if (token->kind != TOKEN_SYMBOL)
		return false;
	for (size_t i = 0; i < ARRAY_LENGTH(ends); i++) {
		if (token_is(token, ends[i]))
			return true;
	}
	return false;
}

static bool match_element(const struct pattern_element *element, const struct token *token)
{
	if (element->first && !token->first)
		return false;
	switch (element->kind) {
	case 'w':
		return token->kind == TOKEN_WORD;
	case 's':
		return token->kind == TOKEN_STRING;
	case 'n':
		return token->kind == TOKEN_NUMBER;
	case 'C':
		return token->kind == TOKEN_WORD && isupper((unsigned char)token->text[0]);
	case '"':
		return token->kind == TOKEN_STRING &&
		       pattern_spelling(element->text, element->length, token->text, token->length);
	case 'a':
		return (token->kind == TOKEN_WORD || token->kind == TOKEN_NUMBER) &&
		       pattern_spelling(element->text, element->length, token->text, token->length);
	case '=': /* a symbol may hold a `|` of its own; in a shell, `[` is a word */
		return token->kind != TOKEN_STRING && token->length == element->length &&
		       memcmp(token->text, element->text, token->length) == 0;
	}
	return false;
}

/* Whether a gap may take this token. */
static bool in_gap(const struct token *token, bool shell)
{
	if (shell)
		return !token->first && !pattern_ends_command(token);
	return !token_is(token, ";");
}

/* Elements from e on at token i; *ret_end is the token behind them. */
static bool match_from(const struct pattern *pattern, size_t e, const struct tokens *tokens, size_t i,
		       bool shell, size_t *ret_end)
{
	for (; e < pattern->count; e++) {
		const struct pattern_element *element = &pattern->elements[e];

		if (element->kind == '*') {
			bool at_end = e + 1 < pattern->count && pattern->elements[e + 1].kind == '$';

			for (size_t gap = 0; gap <= PATTERN_GAP; gap++, i++) {
				/* What follows the gap belongs to the same command. */
				if (shell && !at_end && i < tokens->count && tokens->items[i].first)
					return false;
				if (match_from(pattern, e + 1, tokens, i, shell, ret_end))
					return true;
				if (i >= tokens->count || !in_gap(&tokens->items[i], shell))
					return false;
			}
			return false;
		}
		if (element->kind == '$') {
			if (i < tokens->count && !tokens->items[i].first)
				return false;
			continue;
		}
		if (i >= tokens->count || !match_element(element, &tokens->items[i]))
			return false;
		i++;
	}
	*ret_end = i;
	return true;
}

size_t pattern_match(const struct pattern *pattern, const struct tokens *tokens, size_t i, bool shell)
{
	const struct token *token = &tokens->items[i];
	size_t end = i;

	if (token->length > 0 && !pattern->starts[(unsigned char)token->text[0]])
		return 0;
	if (pattern->count == 0 || !match_from(pattern, 0, tokens, i, shell, &end))
		return 0;
	return end > i ? end - i : 1;
}
