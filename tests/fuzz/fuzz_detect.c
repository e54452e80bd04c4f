/* detect: any text has an answer that holds together, and every lexer reads it within its bounds. */
#include "base/array.h"
#include "policy/policy.h"
#include "runtime/code/detect/detect.h"
#include "runtime/code/detect/lexer.h"
#include "tests/fuzz/fuzz.h"

static const char *const languages[] = { "python", "javascript", "sh",   "ruby", "r",   "perl", "lua",
					 "php",    "go",         "rust", "c",    "c++", "java", "text" };

static void check_tokens(const char *language, const char *text, size_t size)
{
	struct tokens tokens = { 0 };
	struct warder_error err;
	size_t behind = 0;

	must(lexer_read(lexer_rules(language), text, size, 0, &tokens, &err) == 0);
	for (size_t i = 0; i < tokens.count; i++) {
		const struct token *token = &tokens.items[i];

		must(token->at >= behind && token->at + (size_t)token->size <= size);
		must(token->length <= token->size || token->kind == TOKEN_STRING);
		must(token->length == 0 || (token->text[0] | token->text[token->length - 1] | 1));
		behind = token->at + token->size;
	}
	tokens_done(&tokens);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct detect_request request = { .text = text, .len = size };
	struct detection found, named;
	struct warder_error err;

	must(detect_language(&request, &found, &err) == 0);
	must(!found.language || policy_is_language(found.language));
	must(found.by == DETECT_BY_CONTENT || found.by == DETECT_BY_SHEBANG ||
	     (size == 0 && found.by == DETECT_BY_NOTHING));
	must(!found.language || found.by != DETECT_BY_CONTENT || !found.score ||
	     found.score >= DETECT_MIN_SCORE);
	request.file_name = text;
	request.fence = text;
	must(detect_language(&request, &named, &err) == 0);
	for (size_t i = 0; i < ARRAY_LENGTH(languages); i++)
		check_tokens(languages[i], text, size);
	free(text);
	return 0;
}
