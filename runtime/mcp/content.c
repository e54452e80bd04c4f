#include "runtime/mcp/content.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

#define SEQUENCE_MAX 256 /* bytes of a terminal sequence; a longer one is none */
#define ESCAPE       0x1b
#define ADDED_MAX    4096 /* bytes of our own words at a time */

/* Besides control characters: what has no width and no use in plain text, and may hide a message. */
static const struct {
	uint32_t first, last;
} hidden[] = {
	{ 0x00ad, 0x00ad },   { 0x034f, 0x034f },   { 0x061c, 0x061c }, { 0x115f, 0x1160 },
	{ 0x17b4, 0x17b5 },   { 0x180b, 0x180f },   { 0x200b, 0x200b }, { 0x200e, 0x200f },
	{ 0x2028, 0x202e },   { 0x2060, 0x206f },   { 0x3164, 0x3164 }, { 0xfe00, 0xfe0e },
	{ 0xfeff, 0xfeff },   { 0xffa0, 0xffa0 },   { 0xfff9, 0xfffb }, { 0x1bca0, 0x1bca3 },
	{ 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
};

static bool is_hidden(uint32_t character)
{
	if (character < 0x20)
		return character != '\n' && character != '\t';
	if (character >= 0x7f && character < 0xa0)
		return true;
	for (size_t i = 0; character >= hidden[0].first && i < ARRAY_LENGTH(hidden); i++)
		if (character >= hidden[i].first && character <= hidden[i].last)
			return true;
	return false;
}

/* Bytes of the terminal sequence that begins there: ESC [ ... letter, or ESC ] ... to its end. 0: none, or not one as a whole. */
static size_t sequence_length(const char *bytes, size_t len)
{
	const size_t most = len < SEQUENCE_MAX ? len : SEQUENCE_MAX;

	if (len < 3 || bytes[0] != ESCAPE || (bytes[1] != '[' && bytes[1] != ']'))
		return 0;
	for (size_t i = 2; i < most; i++) {
		if (bytes[1] == '[' && bytes[i] >= 0x40 && bytes[i] <= 0x7e)
			return i + 1;
		if (bytes[1] == '[' && (bytes[i] < 0x20 || bytes[i] > 0x3f))
			return 0;
		if (bytes[1] == ']' && bytes[i] == '\a')
			return i + 1;
		if (bytes[1] == ']' && bytes[i] == '\\' && bytes[i - 1] == ESCAPE)
			return i + 1;
	}
	return 0;
}

static bool make_room(struct content *content, size_t bytes)
{
	const size_t capacity = 2 * content->capacity + bytes;
	char *grown;

	if (content->failed || content->capacity - content->len >= bytes)
		return !content->failed;
	grown = realloc(content->text, capacity);
	if (!grown) {
		content->failed = true;
		return false;
	}
	content->text = grown;
	content->capacity = capacity;
	return true;
}

static void put(struct content *content, const char *bytes, size_t len, uint32_t character)
{
	static const char replacement[] = "\xef\xbf\xbd";

	if (character == 0xfffd) { /* also for a byte that is no UTF-8 */
		bytes = replacement;
		len = sizeof(replacement) - 1;
	}
	memcpy(content->text + content->len, bytes, len);
	content->len += len;
	content->characters++;
}

/* At most `most` characters. */
static struct content_part add_clean(struct content *content, const char *bytes, size_t len, size_t most)
{
	struct content_part part = { 0 };
	size_t added = 0;

	if (!make_room(content, 4 * (most < len ? most : len)))
		return part;
	while (part.bytes < len) {
		uint32_t character = 0;
		size_t size = sequence_length(bytes + part.bytes, len - part.bytes);
		const bool is_sequence = size > 0;

		if (!is_sequence)
			size = text_character(bytes + part.bytes, len - part.bytes, &character);
		if (is_sequence || is_hidden(character)) {
			part.removed++;
		} else if (added == most) {
			break;
		} else {
			put(content, bytes + part.bytes, size, character);
			added++;
		}
		part.bytes += size;
	}
	return part;
}

size_t content_room(const struct content *content)
{
	return content->characters < MCP_TEXT_MAX ? MCP_TEXT_MAX - content->characters : 0;
}

void content_add(struct content *content, const char *format, ...)
{
	char words[ADDED_MAX];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	if (len > 0)
		add_clean(content, words, (size_t)len < sizeof(words) ? (size_t)len : sizeof(words) - 1,
			  content_room(content));
}

void content_put(struct content *content, const char *bytes, size_t len)
{
	add_clean(content, bytes, len, content_room(content));
}

struct content_part content_data(struct content *content, const char *mark, const char *bytes, size_t len,
				 size_t most)
{
	struct content_part part;

	content_add(content, "<data id=\"%s\">\n", mark);
	part = add_clean(content, bytes, len, most < content_room(content) ? most : content_room(content));
	content_add(content, "%s</data id=\"%s\">\n",
		    content->len && content->text[content->len - 1] == '\n' ? "" : "\n", mark);
	return part;
}

size_t content_tail(const char *bytes, size_t len, size_t most)
{
	size_t at = len > most ? len - most : 0;

	/* Not in the middle of a character: the bytes that follow the first one of it are 10xxxxxx. */
	for (int i = 0; i < 3 && at && at < len && ((unsigned char)bytes[at] & 0xc0) == 0x80; i++)
		at++;
	return at;
}

void content_done(struct content *content)
{
	free(content->text);
	*content = (struct content){ 0 };
}
