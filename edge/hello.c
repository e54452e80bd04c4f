#include "edge/hello.h"

#include <string.h>

#define RECORD_HEADER    5
#define RECORD_HANDSHAKE 22
#define RECORD_MAX       16384
#define CLIENT_HELLO     1
#define SERVER_HELLO     2
#define TLS_1_0          0x0301
#define EXT_SERVER_NAME  0
#define EXT_ECH          0xfe0d
#define EXT_ESNI         0xffce /* the draft before it */
#define HANDSHAKE_HEADER 4

struct reader {
	const uint8_t *at;
	size_t left;
	bool failed;
};

static unsigned int take_number(struct reader *r, size_t bytes)
{
	unsigned int value = 0;

	if (r->left < bytes) {
		r->failed = true;
		r->left = 0;
		return 0;
	}
	for (size_t i = 0; i < bytes; i++)
		value = value << 8 | r->at[i];
	r->at += bytes;
	r->left -= bytes;
	return value;
}

/* The next part, whose length stands before it in so many bytes. */
static struct reader take_part(struct reader *r, size_t length_bytes)
{
	const size_t length = take_number(r, length_bytes);
	struct reader part = { .at = r->at, .left = length };

	if (r->failed || length > r->left) {
		r->failed = true;
		r->left = 0;
		return (struct reader){ .failed = true };
	}
	r->at += length;
	r->left -= length;
	return part;
}

static enum hello refuse(enum edge_reason why, enum edge_reason *ret_why)
{
	*ret_why = why;
	return HELLO_REFUSED;
}

/* One entry, of the only type there is. */
static bool read_server_name(struct reader extension, char *ret_name)
{
	struct reader list = take_part(&extension, 2);
	const unsigned int type = take_number(&list, 1);
	const struct reader name = take_part(&list, 2);

	if (list.failed || type != 0 || list.left || extension.left || name.left == 0 || name.left > 253)
		return false;
	for (size_t i = 0; i < name.left; i++) {
		const uint8_t c = name.at[i];

		if (c <= ' ' || c >= 0x7f)
			return false;
		ret_name[i] = (char)(c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c);
	}
	ret_name[name.left] = '\0';
	return true;
}

static enum hello read_message(struct reader message, char *ret_name, enum edge_reason *ret_why)
{
	struct reader extensions;
	bool named = false;

	/* SSL 3.0 has no server names: a server that speaks it reads none. */
	if (take_number(&message, 2) < TLS_1_0)
		return refuse(EDGE_REASON_NO_SERVER_NAME, ret_why);
	for (int i = 0; i < 8; i++)
		take_number(&message, 4); /* random */
	take_part(&message, 1);           /* session id */
	take_part(&message, 2);           /* cipher suites */
	take_part(&message, 1);           /* compression methods */
	if (message.failed)
		return refuse(EDGE_REASON_FIRST_BYTES, ret_why);
	if (!message.left)
		return refuse(EDGE_REASON_NO_SERVER_NAME, ret_why);
	extensions = take_part(&message, 2);
	while (!extensions.failed && extensions.left) {
		const unsigned int type = take_number(&extensions, 2);
		const struct reader extension = take_part(&extensions, 2);

		if (extensions.failed)
			break;
		if (type == EXT_ECH || type == EXT_ESNI)
			return refuse(EDGE_REASON_ENCRYPTED_HELLO, ret_why);
		if (type != EXT_SERVER_NAME)
			continue;
		if (named || !read_server_name(extension, ret_name))
			return refuse(EDGE_REASON_FIRST_BYTES, ret_why);
		named = true;
	}
	if (message.failed || extensions.failed || message.left)
		return refuse(EDGE_REASON_FIRST_BYTES, ret_why);
	return named ? HELLO_NAMED : refuse(EDGE_REASON_NO_SERVER_NAME, ret_why);
}

enum hello hello_read(const uint8_t *bytes, size_t len, char *ret_name, size_t *ret_len,
		      enum edge_reason *ret_why)
{
	uint8_t message[HANDSHAKE_HEADER + HELLO_MAX];
	size_t used = 0;
	size_t wanted = HANDSHAKE_HEADER;
	size_t at = 0;

	while (used < wanted) {
		size_t length;
		size_t part;

		/* What has come of a record's header is as it should be, or nothing more is waited for. */
		if (len - at >= 1 && bytes[at] != RECORD_HANDSHAKE)
			return refuse(EDGE_REASON_FIRST_BYTES, ret_why);
		if (len - at >= 2 && bytes[at + 1] != 3)
			return refuse(EDGE_REASON_FIRST_BYTES, ret_why);
		if (len - at < RECORD_HEADER)
			return HELLO_MORE;
		length = (size_t)bytes[at + 3] << 8 | bytes[at + 4];
		if (length == 0 || length > RECORD_MAX || at + RECORD_HEADER + length > HELLO_MAX_RAW)
			return refuse(EDGE_REASON_FIRST_BYTES, ret_why);
		at += RECORD_HEADER;
		part = length < len - at ? length : len - at;
		if (used + part > sizeof(message))
			return refuse(EDGE_REASON_FIRST_BYTES, ret_why);
		memcpy(message + used, bytes + at, part);
		used += part;
		if (used >= 1 && message[0] != CLIENT_HELLO)
			return refuse(EDGE_REASON_FIRST_BYTES, ret_why);
		if (used >= HANDSHAKE_HEADER)
			wanted = HANDSHAKE_HEADER +
				 ((size_t)message[1] << 16 | (size_t)message[2] << 8 | message[3]);
		if (wanted > sizeof(message))
			return refuse(EDGE_REASON_FIRST_BYTES, ret_why);
		if (part < length)
			return used > wanted ? refuse(EDGE_REASON_FIRST_BYTES, ret_why) : HELLO_MORE;
		at += length;
	}
	/* Nothing else stands in its last record. */
	if (used != wanted)
		return refuse(EDGE_REASON_FIRST_BYTES, ret_why);
	*ret_len = at;
	return read_message(
	    (struct reader){ .at = message + HANDSHAKE_HEADER, .left = used - HANDSHAKE_HEADER }, ret_name,
	    ret_why);
}

bool hello_is_retry(const uint8_t *bytes)
{
	static const uint8_t random[32] = {
		0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c,
		0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb,
		0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
	};
	const size_t version = RECORD_HEADER + HANDSHAKE_HEADER;

	return bytes[0] == RECORD_HANDSHAKE && bytes[RECORD_HEADER] == SERVER_HELLO &&
	       memcmp(bytes + version + 2, random, sizeof(random)) == 0;
}
