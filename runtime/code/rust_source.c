/*
 * rust_source: checks on tokens.
 *
 * `fn main` is refused only outside of all brackets: a method or a function of a module may have the name. A bracket that closes
 * nothing is counted as no bracket, so that a `}` in front does not hide what follows. r#main is main.
 */
#include "runtime/code/rust_source.h"

#include <stdbool.h>
#include <string.h>

#include "runtime/code/detect/lexer.h"

static bool is_symbol(const struct token *token, const char *symbol)
{
	return token->kind == TOKEN_SYMBOL && token_is(token, symbol);
}

static bool is_word(const struct token *token, const char *word)
{
	return token->kind == TOKEN_WORD && token_is(token, word);
}

/* Depth of brackets behind the token. */
static size_t depth_behind(const struct token *token, size_t depth)
{
	if (token->kind != TOKEN_SYMBOL || token->length != 1)
		return depth;
	if (strchr("({[", token->text[0]))
		return depth + 1;
	return depth > 0 && strchr(")}]", token->text[0]) ? depth - 1 : depth;
}

static int refuse(struct warder_error *err, const struct token *token, const char *what)
{
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, RUST_SOURCE_FILE, RUST_SOURCE_FILE ":%u: %s",
			 token->line, what);
}

/* `left` tokens from `token` on, at this depth of brackets. */
static int validate_at(const struct token *token, size_t left, size_t depth, struct warder_error *err)
{
	if (token->kind == TOKEN_COMMENT && depth == 0)
		return refuse(
		    err, token,
		    "a comment that documents the whole file (//! or /*!) cannot stand in an included "
		    "file; write // instead");
	if (depth == 0 && left >= 2 && is_word(token, "fn") && is_word(&token[1], "main"))
		return refuse(
		    err, token,
		    "fn main is the harness's; write `fn run(input: Value) -> Value` and leave main out");
	if (left >= 3 && is_symbol(token, "#") && is_symbol(&token[1], "!") && is_symbol(&token[2], "["))
		return refuse(
		    err, token,
		    "an attribute of the whole file (#![...]) is not allowed; put #[...] before the item "
		    "that it is about");
	return 0;
}

int rust_source_validate(const char *source, size_t len, struct warder_error *err)
{
	struct tokens tokens = { 0 };
	size_t depth = 0;
	int status = 0;

	if (lexer_read(lexer_rules("rust"), source, len, 0, &tokens, err) != 0)
		return -1;
	if (tokens.cut)
		status =
		    error_set(err, WARDER_ERROR_INVALID_REQUEST, RUST_SOURCE_FILE,
			      "the source is too large: %zu bytes; at most %zu bytes and %zu words are read",
			      len, LEXER_MAX_BYTES, LEXER_MAX_TOKENS);
	for (size_t i = 0; i < tokens.count && status == 0; i++) {
		status = validate_at(&tokens.items[i], tokens.count - i, depth, err);
		depth = depth_behind(&tokens.items[i], depth);
	}
	tokens_done(&tokens);
	return status;
}
