#include "runtime/code/java_source.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define NAME_LONGEST 100

struct word {
	const char *at;
	size_t len; /* 1 for a sign; 0 at the end */
};

struct reading {
	const char *at, *end;
};

static bool is_word_byte(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* Past a literal that begins here: "...", '...' or a text block. */
static void skip_literal(struct reading *reading)
{
	const char quote = *reading->at;
	const bool block = reading->end - reading->at >= 3 && memcmp(reading->at, "\"\"\"", 3) == 0;

	reading->at += block ? 3 : 1;
	while (reading->at < reading->end) {
		const size_t left = (size_t)(reading->end - reading->at);

		if (*reading->at == '\\' && left > 1) {
			reading->at += 2;
		} else if (block && left >= 3 && memcmp(reading->at, "\"\"\"", 3) == 0) {
			reading->at += 3;
			return;
		} else if (!block && (*reading->at == quote || *reading->at == '\n')) {
			reading->at++;
			return;
		} else {
			reading->at++;
		}
	}
}

static void skip_comment(struct reading *reading)
{
	const bool line = reading->at[1] == '/';

	reading->at += 2;
	while (reading->at < reading->end) {
		if (line && *reading->at == '\n')
			return;
		if (!line && reading->end - reading->at >= 2 && memcmp(reading->at, "*/", 2) == 0) {
			reading->at += 2;
			return;
		}
		reading->at++;
	}
}

static struct word next(struct reading *reading)
{
	while (reading->at < reading->end) {
		const char *from = reading->at;

		if (*from == '"' || *from == '\'') {
			skip_literal(reading);
		} else if (*from == '/' && reading->end - from >= 2 && (from[1] == '/' || from[1] == '*')) {
			skip_comment(reading);
		} else if (is_word_byte(*from)) {
			while (reading->at < reading->end && is_word_byte(*reading->at))
				reading->at++;
			return (struct word){ from, (size_t)(reading->at - from) };
		} else {
			reading->at++;
			if (!isspace((unsigned char)*from))
				return (struct word){ from, 1 };
		}
	}
	return (struct word){ reading->end, 0 };
}

static bool is(struct word word, const char *text)
{
	return word.len == strlen(text) && memcmp(word.at, text, word.len) == 0;
}

static bool declares_type(struct word word)
{
	return is(word, "class") || is(word, "interface") || is(word, "enum") || is(word, "record");
}

const char *java_class(const char *source, size_t len, char *buf, size_t size)
{
	struct reading reading = { source, source + len };
	struct word first = { 0 }, with_main = { 0 }, type = { 0 };
	bool is_public = false;
	int depth = 0;

	for (struct word word = next(&reading); word.len; word = next(&reading)) {
		depth += is(word, "{");
		depth -= is(word, "}") && depth > 0;
		if (depth > 0) {
			if (is(word, "main") && !with_main.len)
				with_main = type;
			continue;
		}
		if (is(word, "public"))
			is_public = true;
		if (!declares_type(word)) {
			is_public &= !is(word, ";") && !is(word, "}");
			continue;
		}
		word = next(&reading);
		if (!word.len || word.len > NAME_LONGEST || !is_word_byte(*word.at) ||
		    isdigit((unsigned char)*word.at))
			continue;
		type = word;
		first = first.len ? first : word;
		if (is_public)
			with_main = word;
		if (is_public)
			break;
	}
	if (!with_main.len)
		with_main = first;
	if (!with_main.len || with_main.len >= size)
		return NULL;
	snprintf(buf, size, "%.*s", (int)with_main.len, with_main.at);
	return buf;
}
