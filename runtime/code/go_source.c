#include "runtime/code/go_source.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/code/detect/lexer.h"

struct parts {
	size_t rest; /* where the imports end in the source, and its line and column */
	uint32_t line, column;
	bool has_fmt;  /* the source declares this name by an import */
	bool has_main; /* a function at the top */
};

/* The token behind the declaration of imports at `i`. */
static size_t pass_import(const struct tokens *tokens, size_t i, bool *has_fmt)
{
	const bool grouped = i + 1 < tokens->count && token_is(&tokens->items[i + 1], "(");
	const struct token *token, *before;

	for (i++; i < tokens->count; i++) {
		token = &tokens->items[i];
		before = token - 1;
		if (token->kind == TOKEN_STRING) {
			const bool named = !before->quote && !token_is(before, "(") &&
					   !token_is(before, ";") && !token_is(before, "import");

			*has_fmt |= token_is(named ? before : token, "fmt");
		}
		if (grouped ? token_is(token, ")") && !token->quote : token->kind == TOKEN_STRING)
			break;
		/* What has no path is left to the compiler. */
		if (!grouped && token->first)
			return i;
	}
	i += i < tokens->count;
	return i + (i < tokens->count && token_is(&tokens->items[i], ";"));
}

static bool is_symbol(const struct token *token, const char *const symbols[3])
{
	return token->kind == TOKEN_SYMBOL &&
	       (token_is(token, symbols[0]) || token_is(token, symbols[1]) || token_is(token, symbols[2]));
}

/* A function with a name stands only at the top of a program, never in the body of another one. */
static int look_for_main(const struct tokens *tokens, size_t i, struct parts *parts, struct warder_error *err)
{
	static const char *const open[] = { "(", "[", "{" }, *const close[] = { ")", "]", "}" };
	const struct token *other = NULL;
	int depth = 0;

	for (; i + 1 < tokens->count; i++) {
		const struct token *token = &tokens->items[i];

		depth += is_symbol(token, open) - is_symbol(token, close);
		if (depth != 0 || token->kind != TOKEN_WORD || !token_is(token, "func") ||
		    token[1].kind != TOKEN_WORD)
			continue;
		parts->has_main |= token_is(&token[1], "main");
		other = other ? other : &token[1];
	}
	if (!other || parts->has_main)
		return 0;
	return error_set(
	    err, WARDER_ERROR_INVALID_REQUEST, "source",
	    "line %u: the function %.*s stands in Go without a package clause, which is the body "
	    "of main; put the statements into func main() { ... }",
	    other->line, (int)(other->length < 80 ? other->length : 80), other->text);
}

/* 0; 1: the source has a package clause, which is the first thing that is no comment; -1 with *err. */
static int find_parts(const struct tokens *tokens, const char *source, size_t len, struct parts *ret,
		      struct warder_error *err)
{
	const struct token *token;
	size_t i = 0, at;

	*ret = (struct parts){ .line = 1, .column = 1 };
	if (tokens->count && token_is(&tokens->items[0], "package"))
		return 1;
	while (i < tokens->count && tokens->items[i].kind == TOKEN_WORD &&
	       token_is(&tokens->items[i], "import"))
		i = pass_import(tokens, i, &ret->has_fmt);
	/* Comments in front of the first statement belong to it, unless there are imports. */
	if (i > 0) {
		token = i < tokens->count ? &tokens->items[i] : NULL;
		at = token ? token->at : len;
		ret->rest = at;
		for (size_t j = 0; j < at; j++) {
			ret->line += source[j] == '\n';
			ret->column = source[j] == '\n' ? 1 : ret->column + 1;
		}
	}
	return look_for_main(tokens, i, ret, err);
}

static int write_program(const char *file, const char *source, size_t len, const struct parts *parts,
			 FILE *to)
{
	const size_t head = parts->has_main ? len : parts->rest;

	fprintf(to, "package main%s\n//line %s:1:1\n", parts->has_fmt ? "" : "; import \"fmt\"", file);
	fwrite(source, 1, head, to);
	if (!parts->has_main) {
		fprintf(to, "\nfunc main() {\n//line %s:%u:%u\n", file, parts->line, parts->column);
		fwrite(source + head, 1, len - head, to);
		fprintf(to, "\n}");
	}
	fprintf(to, "\n%s", parts->has_fmt ? "" : "var _ = fmt.Print\n");
	return ferror(to) ? -1 : 0;
}

int go_source_complete(const char *file, const char *source, size_t len, char **ret, size_t *ret_len,
		       struct warder_error *err)
{
	struct tokens tokens = { 0 };
	struct parts parts;
	char *text = NULL;
	FILE *to;
	int whole, written;

	if (lexer_read(lexer_rules("go"), source, len, 0, &tokens, err) != 0)
		return -1;
	whole = find_parts(&tokens, source, len, &parts, err);
	tokens_done(&tokens);
	if (whole != 0)
		return whole < 0 ? -1 : 0;
	to = open_memstream(&text, ret_len);
	written = to ? write_program(file, source, len, &parts, to) : -1;
	if (to && fclose(to) != 0)
		written = -1;
	if (written != 0) {
		free(text);
		return error_no_memory(err, NULL);
	}
	*ret = text;
	return 1;
}
