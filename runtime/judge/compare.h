/*
 * compare: is what a program printed what it should have printed? The output comes in pieces and is not kept.
 *
 *   exact       byte by byte
 *   lines       but for blanks at the ends of lines and empty lines at the end; "\r" is a blank
 *   tokens      the same words, whatever blanks are between them
 *   float:E     tokens, of which two numbers are the same if they differ by at most E, or by E times the expected one
 *   none        always the same
 *
 * Work is linear in both texts, and memory is one copy of the expected one. The first difference is told as the two lines, or
 * tokens, in which it is: as much of them around it as COMPARE_SHOWN bytes.
 *
 * Life: compare_parse() -> compare_init() -> compare_feed() for each piece -> compare_finish() -> compare_done(). Pure; any
 * thread.
 */
#ifndef WARDER_RUNTIME_JUDGE_COMPARE_H
#define WARDER_RUNTIME_JUDGE_COMPARE_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"

#define COMPARE_SHOWN 200
#define COMPARE_TOKEN 512 /* a longer one is no number */

enum compare_mode {
	COMPARE_NONE,
	COMPARE_EXACT,
	COMPARE_LINES,
	COMPARE_TOKENS,
	COMPARE_FLOAT,
};

struct compare_how {
	enum compare_mode mode;
	double tolerance;
};

/* Some bytes of one side at the difference. */
struct compare_piece {
	bool is_there; /* false: this side had ended */
	size_t len;
	char bytes[COMPARE_SHOWN];
};

struct compare_difference {
	uint64_t line, column; /* of the output, from 1; the column counts bytes */
	struct compare_piece expected, got;
};

struct compare {
	struct compare_how how;
	char *expected; /* owned; in a form of its own, see compare.c */
	size_t expected_len;
	size_t at;   /* of expected: so much was there */
	size_t unit; /* of expected: where the line or token begins that `at` is in */
	uint64_t line, column;
	size_t blanks;      /* lines: seen since the last other byte of this line */
	bool blanks_differ; /* lines: they are not those of expected */
	bool ends_differ;   /* lines: a line ended where none does in expected; `difference` has it */
	bool in_token, any; /* tokens: inside of one; one was seen */
	bool same;          /* float: the token is the expected one, so far as it was seen */
	size_t token_len;   /* float: of the token, also beyond `token` */
	char token[COMPARE_TOKEN + 1];
	char recent[COMPARE_SHOWN / 2]; /* the last bytes of the line or token, as a ring */
	size_t recent_len;              /* how many there were, those that are gone included */
	bool differs;                   /* settled */
	bool shows_ends;                /* exact: they differ in a line end, so `difference` shows it */
	bool collects;                  /* the rest of the line or token goes to difference.got */
	struct compare_difference difference;
	locale_t c_locale;
};

/* "exact", "lines", "tokens", "float:1e-6", "none". -1 with *err (INVALID_REQUEST). */
int compare_parse(const char *text, struct compare_how *ret, struct warder_error *err);
/* -1 with *err: no memory. */
int compare_init(struct compare *compare, const struct compare_how *how, const char *expected, size_t len,
		 struct warder_error *err);
void compare_done(struct compare *compare);
void compare_feed(struct compare *compare, const char *bytes, size_t len);
/* That was all. Whether they are the same; compare->difference tells if they are not. */
bool compare_finish(struct compare *compare);

/* {"line", "column", "expected", "got"}: texts without anything that is no UTF-8, or null for a side that had ended. */
void compare_write(const struct compare_difference *difference, struct json_writer *w);

#endif
