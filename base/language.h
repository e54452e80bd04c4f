/*
 * language: the programming languages that Warder knows, one row each.
 *
 * A row holds all that several parts need: the policy takes the name, detection the names and marks, the lexer its rules, the scan
 * the programs that run a text of it, mime the media type. How a language is checked, built and run is in
 * runtime/code/languages.c; what its code looks like, for a guess, in runtime/code/detect/content.c. Constants only; any thread.
 */
#ifndef WARDER_BASE_LANGUAGE_H
#define WARDER_BASE_LANGUAGE_H

#include <stdbool.h>
#include <stddef.h>

/* What the lexer has to know of a language. */
enum lexer_rule {
	LEXER_HASH_COMMENT = 1 << 0,
	LEXER_SLASH_COMMENT = 1 << 1, /* both // and block comments */
	LEXER_NESTED_COMMENT = 1 << 2,
	LEXER_LUA = 1 << 3,         /* -- comments, [[long]] brackets */
	LEXER_TRIPLE = 1 << 4,      /* three quotes */
	LEXER_LONG_QUOTES = 1 << 5, /* ' and " go over lines */
	LEXER_BACKTICK = 1 << 6,    /* ` ` over lines */
	LEXER_CHARACTER = 1 << 7,   /* ' ' is one character */
	LEXER_RUST = 1 << 8,        /* raw strings, lifetimes; keeps inner doc comments */
	LEXER_SIGILS = 1 << 9,      /* $name */
	LEXER_REGEX = 1 << 10,      /* / / where an operand is expected */
	LEXER_HEREDOC = 1 << 11,    /* <<WORD */
	LEXER_POD = 1 << 12,        /* =word at the start of a line up to =cut or =end */
	LEXER_PERL = 1 << 13,       /* q, qq, qw, m, qr, s, tr, y with any delimiter; @name */
	LEXER_RUBY = 1 << 14,       /* %w[...], @name */
	LEXER_PHP = 1 << 15,        /* text outside of <?php ... ?> */
	LEXER_SHELL = 1 << 16,
	LEXER_PREFIXES = 1 << 17, /* r"", f"", b"" */
	LEXER_CPP_RAW = 1 << 18,  /* R"x( )x" */
	LEXER_DOTTED = 1 << 19,   /* a dot belongs to a name */
};

/* Lists are "a|b|c", or NULL. */
struct language_row {
	const char *name;       /* as policies, requests and results have it */
	const char *extensions; /* of files, without the dot; case matters where two languages differ in it */
	const char *files;      /* names of files that have no such extension */
	const char *interpreters; /* in a line "#!", without their version */
	const char *fences;       /* words behind a fence of Markdown, besides the name */
	const char *media_type;   /* NULL: text/plain */
	unsigned lexer;           /* enum lexer_rule; 0: it is not read */
	const char
	    *programs; /* that run a text of it, which an option (a pattern of the scan) is followed by */
	const char *options;
	bool backticks; /* run a command */
	bool no_code;   /* no language that a policy can name */
};

/* Row i; NULL past the end. */
const struct language_row *language_row(size_t i);
/* The row of a name; NULL: there is none. */
const struct language_row *language_named(const char *name);
/* The row that an extension belongs to, first as it is written, then in small letters; NULL: none. */
const struct language_row *language_of_extension(const char *extension, size_t len);

#endif
