#include "base/utf8.h"
#include "base/array.h"

/* Well-formed UTF-8 by the first byte: `size` bytes, the second of them in low..high, the others 0x80..0xbf. */
static const struct lead {
	unsigned char first, last;
	unsigned char size;
	unsigned char low, high;
} leads[] = {
	{ 0x01, 0x7f, 1, 0x00, 0x00 }, { 0xc2, 0xdf, 2, 0x80, 0xbf }, { 0xe0, 0xe0, 3, 0xa0, 0xbf },
	{ 0xe1, 0xec, 3, 0x80, 0xbf }, { 0xed, 0xed, 3, 0x80, 0x9f }, { 0xee, 0xef, 3, 0x80, 0xbf },
	{ 0xf0, 0xf0, 4, 0x90, 0xbf }, { 0xf1, 0xf3, 4, 0x80, 0xbf }, { 0xf4, 0xf4, 4, 0x80, 0x8f },
};

static const struct lead *find_lead(unsigned char byte)
{
	for (size_t i = 0; i < ARRAY_LENGTH(leads); i++) {
		if (byte >= leads[i].first && byte <= leads[i].last)
			return &leads[i];
	}
	return NULL;
}

size_t utf8_scan(const char *text, size_t left, bool *ret_whole)
{
	const unsigned char *s = (const unsigned char *)text;
	const struct lead *lead = find_lead(s[0]);
	size_t size;

	if (!lead)
		return 0;
	size = lead->size < left ? lead->size : left;
	for (size_t i = 1; i < size; i++) {
		unsigned char low = i == 1 ? lead->low : 0x80;
		unsigned char high = i == 1 ? lead->high : 0xbf;

		if (s[i] < low || s[i] > high)
			return 0;
	}
	*ret_whole = size == lead->size;
	return size;
}

size_t utf8_length(const char *text, size_t left)
{
	bool whole = false;
	const size_t size = left ? utf8_scan(text, left, &whole) : 0;

	return whole ? size : 0;
}

size_t utf8_encode(uint32_t point, char *ret)
{
	if (point < 0x80) {
		ret[0] = (char)point;
		return 1;
	}
	if (point < 0x800) {
		ret[0] = (char)(0xc0 | point >> 6);
		ret[1] = (char)(0x80 | (point & 0x3f));
		return 2;
	}
	if (point < 0x10000) {
		ret[0] = (char)(0xe0 | point >> 12);
		ret[1] = (char)(0x80 | (point >> 6 & 0x3f));
		ret[2] = (char)(0x80 | (point & 0x3f));
		return 3;
	}
	ret[0] = (char)(0xf0 | point >> 18);
	ret[1] = (char)(0x80 | (point >> 12 & 0x3f));
	ret[2] = (char)(0x80 | (point >> 6 & 0x3f));
	ret[3] = (char)(0x80 | (point & 0x3f));
	return 4;
}
