/*
 * lexer: the source of a program as tokens, well enough to tell what is code from what it only mentions.
 *
 *   struct tokens tokens = { 0 };
 *   lexer_read(lexer_rules("python"), text, len, 0, &tokens, &err);     tokens_done(&tokens)
 *
 * One lexer with a row of rules for each language; it knows comments, strings, heredocs, regular expressions and words, and
 * no grammar. Comments are left out. It is for advice (which language is this, does it mention os.system) and for the checks of
 * rust_source, for which its Rust is exact; elsewhere a program can be written so that it is misread.
 * Any bytes will do: it never fails but for memory, is linear in them, and stops at a limit of tokens and says so.
 * Pure, no global state, any thread. Private to runtime/code.
 */
#ifndef WARDER_RUNTIME_CODE_DETECT_LEXER_H
#define WARDER_RUNTIME_CODE_DETECT_LEXER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/language.h"

/* More is not read. */
#define LEXER_MAX_BYTES  ((size_t)4 << 20)
#define LEXER_MAX_TOKENS ((size_t)1 << 19)

enum token_kind {
	TOKEN_WORD,    /* name or keyword, `$name` where a sigil belongs to it; in a shell a whole word */
	TOKEN_NUMBER,  /* what begins with a digit */
	TOKEN_STRING,  /* string, character, regular expression, heredoc */
	TOKEN_SYMBOL,  /* operator, the longest that is known */
	TOKEN_COMMENT, /* only `//!` and the like, where the rules keep them */
};

struct token {
	enum token_kind kind;
	bool first;      /* nothing but blanks and comments before it on its line */
	bool quoted;     /* a shell's word of which a part stood in quotes */
	char quote;      /* how a string began: ' " ` / or < for a heredoc; else 0 */
	uint32_t line;   /* 1-based */
	uint32_t at;     /* where it begins in the source, quotes included */
	uint32_t size;   /* bytes of it there */
	uint32_t length; /* bytes of text */
	const char *
	    text; /* the word; what is between the quotes; a shell's word without its quotes. Not terminated */
};

struct tokens {
	struct token *items;
	size_t count;
	bool cut;       /* there was more than the limits allow */
	char *unquoted; /* the shell's words without quotes */
};

/* Rules for one of the names of policy's languages, or "text": comments of any kind; NULL if there are none for it. */
const struct language_row *lexer_rules(const char *language);

/* Tokens of `len` bytes, at most max_tokens of them (0: LEXER_MAX_TOKENS). They point into text, which has to outlive them.
 * -1 with *err (INTERNAL) on want of memory. */
int lexer_read(const struct language_row *rules, const char *text, size_t len, size_t max_tokens,
	       struct tokens *ret, struct warder_error *err);
void tokens_done(struct tokens *tokens);

/* Whether the token's text is `word`. */
bool token_is(const struct token *token, const char *word);

#endif
