/*
 * pattern: a short sequence of tokens, written as a text. Used to guess a language and to find what is dangerous.
 *
 * Elements stand between blanks:
 *   word|other     a word or number of one of these spellings; `*` stands for any bytes of it ("-*", "mysql_*"), `\*` for itself
 *   ( ) => ::      a symbol, as the lexer reads it: whatever holds no letter and no digit
 *   "w|a"          a string whose text is one of these; "*" stands for any, a part with `*` as above
 *   %w  %s  %n     any word, any string, any number
 *   %C             a word that begins with a capital letter
 *   %*             up to PATTERN_GAP tokens, but no `;`, and in a shell not beyond the command
 *   %$             the end of a line
 *   ^              in front of an element: it is the first of its line
 * Matching looks at a bounded number of tokens from where it begins, so that it is linear in them.
 * Pure, no allocation, any thread. Private to runtime/code.
 */
#ifndef WARDER_RUNTIME_CODE_DETECT_PATTERN_H
#define WARDER_RUNTIME_CODE_DETECT_PATTERN_H

#include "runtime/code/detect/lexer.h"

#define PATTERN_ELEMENTS 10
#define PATTERN_GAP      12

struct pattern {
	struct pattern_element {
		char kind; /* w s n C * $ of %, or: a word, " string, = symbol */
		bool first;
		const char *text;
		size_t length;
	} elements[PATTERN_ELEMENTS];
	size_t count;
	bool starts[256]; /* bytes with which what the first element matches can begin */
};

/* `text` is a constant of ours and has to outlive the pattern; what is over PATTERN_ELEMENTS makes a pattern that never matches. */
void pattern_compile(const char *text, struct pattern *ret);

/* How many tokens from token i on are the pattern; 0: they are not. `shell`: a gap ends with the command. */
size_t pattern_match(const struct pattern *pattern, const struct tokens *tokens, size_t i, bool shell);

/* Whether the text is one of the spellings "a|b*|c". */
bool pattern_spelling(const char *spellings, size_t length, const char *text, size_t text_length);

/* Whether the token ends a command of a shell: ; & | && || ( ) and the like. */
bool pattern_ends_command(const struct token *token);

#endif
