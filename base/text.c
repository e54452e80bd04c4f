/*
 * text: what is text, and base64 for what is not.
 *
 * A limit that cuts a stream falls in the middle of a character as often as not. That must not turn a megabyte of
 * text into base64, so the first bytes of a character at the very end of a cut stream are left out of the
 * text; the count of kept bytes still tells of them. Only bytes that can begin a well-formed character pass for
 * one (Unicode table 3-7), and only behind a cut: a program that ends on half a character wrote no text.
 * NUL is refused because strict readers of JSON refuse \u0000.
 */
#include "base/text.h"
#include "base/utf8.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool text_length(const char *bytes, size_t len, bool cut, size_t *ret_len)
{
	size_t at = 0;

	while (at < len) {
		bool whole = true;
		size_t size = 1;

		if ((signed char)bytes[at] <= 0) /* nearly all text is ASCII */
			size = utf8_scan(bytes + at, len - at, &whole);
		if (size == 0 || (!whole && !cut))
			return false;
		if (!whole)
			break;
		at += size;
	}
	*ret_len = at;
	return true;
}

char *text_clean(const char *bytes, size_t len, size_t max, size_t *ret_len, bool *ret_cut)
{
	static const char replacement[] = "\xef\xbf\xbd";
	char *text = malloc((len < max / 3 ? len * 3 : max) + 1);
	size_t at = 0, used = 0, size;

	for (; text && at < len; at += size) {
		const char *piece = bytes + at;
		bool whole = true;
		size_t piece_len;

		size = (signed char)bytes[at] > 0 ? 1 : utf8_scan(piece, len - at, &whole);
		piece_len = size;
		if (size == 0 || !whole) {
			piece = replacement;
			piece_len = sizeof(replacement) - 1;
			size = size ? size : 1;
		}
		if (piece_len > max - used)
			break;
		memcpy(text + used, piece, piece_len);
		used += piece_len;
	}
	if (!text)
		return NULL;
	text[used] = '\0';
	*ret_len = used;
	*ret_cut = at < len;
	return text;
}

size_t text_character(const char *bytes, size_t len, uint32_t *ret)
{
	const unsigned char *s = (const unsigned char *)bytes;
	bool whole = true;
	const size_t size = s[0] ? utf8_scan(bytes, len, &whole) : 1;

	if (size == 0 || !whole) {
		*ret = 0xfffd;
		return 1;
	}
	*ret = size == 1 ? s[0] : s[0] & (0x7fu >> size);
	for (size_t i = 1; i < size; i++)
		*ret = *ret << 6 | (s[i] & 0x3f);
	return size;
}

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *text_base64(const char *bytes, size_t len)
{
	const unsigned char *from = (const unsigned char *)bytes;
	char *text = malloc((len + 2) / 3 * 4 + 1), *to = text;

	if (!text)
		return NULL;
	for (size_t i = 0; i < len; i += 3) {
		size_t left = len - i;
		uint32_t group = (uint32_t)from[i] << 16;

		if (left > 1)
			group |= (uint32_t)from[i + 1] << 8;
		if (left > 2)
			group |= from[i + 2];
		*to++ = digits[group >> 18];
		*to++ = digits[group >> 12 & 63];
		*to++ = left > 1 ? digits[group >> 6 & 63] : '=';
		*to++ = left > 2 ? digits[group & 63] : '=';
	}
	*to = '\0';
	return text;
}

/* Four digits, the last `padding` of which are '='; false: they are none, or bits are set that stand for nothing. */
static bool read_group(const char *text, size_t padding, uint32_t *ret)
{
	uint32_t group = 0;

	for (size_t i = 0; i < 4; i++) {
		const char *digit = i < 4 - padding && text[i] ? strchr(digits, text[i]) : NULL;

		if (!digit && i < 4 - padding)
			return false;
		group = group << 6 | (digit ? (uint32_t)(digit - digits) : 0);
	}
	*ret = group;
	return (group & ((1U << (8 * padding)) - 1)) == 0;
}

char *text_unbase64(const char *text, size_t len, size_t *ret_len)
{
	size_t padding = len >= 4 && text[len - 1] == '=' ? 1 + (text[len - 2] == '=') : 0;
	char *bytes = len % 4 ? NULL : malloc(len / 4 * 3 + 1), *to = bytes;

	if (!bytes)
		return NULL;
	for (size_t i = 0; i < len; i += 4) {
		uint32_t group;

		if (!read_group(text + i, i + 4 < len ? 0 : padding, &group)) {
			free(bytes);
			return NULL;
		}
		*to++ = (char)(group >> 16);
		*to++ = (char)(group >> 8);
		*to++ = (char)group;
	}
	*ret_len = len / 4 * 3 - padding;
	bytes[*ret_len] = '\0';
	return bytes;
}

void text_write(struct json_writer *w, const char *key, const char *bytes, size_t len, bool cut)
{
	size_t text_len;
	char *encoded;

	if (text_length(bytes, len, cut, &text_len)) {
		json_key(w, key);
		json_string_n(w, bytes, text_len);
		json_key_string(w, "encoding", "utf-8");
		return;
	}
	encoded = text_base64(bytes, len);
	if (!encoded)
		json_fail(w);
	else
		json_key_string(w, "base64", encoded);
	json_key_string(w, "encoding", "base64");
	free(encoded);
}

void text_write_name(struct json_writer *w, const char *key, const char *base64_key, const char *name)
{
	char *base64;

	json_key_string(w, key, name);
	if (json_is_utf8(name))
		return;
	base64 = text_base64(name, strlen(name));
	if (base64)
		json_key_string(w, base64_key, base64);
	else
		json_fail(w);
	free(base64);
}

int text_order(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

size_t text_count(char *const *items)
{
	size_t count = 0;

	while (items && items[count])
		count++;
	return count;
}

size_t text_size(const char *text)
{
	return text ? strlen(text) + 1 : 0;
}
