/* edge/hello.c behind edge/gate.c: ClientHellos of many forms, each cut at every byte, with one result however they are cut. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "edge/gate.h"

#define NAME "pypi.org"

enum { PASSES = -1, WAITS = -2 };

struct bytes {
	uint8_t at[120000];
	size_t len;
};

struct row {
	const char *label;
	/* Words: n=NAME a server name, "~" for a zero byte; N=NAME the same with name type 1; 2=NAME,NAME two in a list; 0 an empty list;
	 * L the list one byte longer than it is; x=TYPE:LENGTH another extension, in hexadecimal and decimal. */
	const char *extensions;
	/* What differs, a letter each; see make(). */
	const char *how;
	size_t record; /* at most so many bytes in a record; 0: 16384 */
	int wanted;
};

#define FIRST EDGE_REASON_FIRST_BYTES
#define OTHER EDGE_REASON_OTHER_NAME
#define NONE  EDGE_REASON_NO_SERVER_NAME
#define ECH   EDGE_REASON_ENCRYPTED_HELLO

static const struct row rows[] = {
	/* that pass */
	{ "plain", "n=" NAME, "", 0, PASSES },
	{ "capitals", "n=PYPI.ORG", "", 0, PASSES },
	{ "capitals and small letters", "n=PyPi.oRg", "", 0, PASSES },
	{ "records of 1 byte", "n=" NAME, "", 1, PASSES },
	{ "records of 2 bytes", "n=" NAME, "", 2, PASSES },
	{ "records of 3 bytes", "n=" NAME, "", 3, PASSES },
	{ "records of 4 bytes", "n=" NAME, "", 4, PASSES },
	{ "records of 5 bytes", "n=" NAME, "", 5, PASSES },
	{ "records of 64 bytes", "n=" NAME, "", 64, PASSES },
	{ "the name behind another extension", "x=0010:14 n=" NAME, "", 0, PASSES },
	{ "the name before another extension", "n=" NAME " x=0010:14", "", 0, PASSES },
	{ "the name between ten",
	  "x=a:8 x=b:2 x=d:20 x=17:0 x=23:0 n=" NAME " x=2b:9 x=2d:2 x=33:38 x=1b:3 x=15:60", "", 0, PASSES },
	{ "GREASE", "x=0a0a:0 x=1a1a:1 n=" NAME " x=fafa:1", "", 0, PASSES },
	{ "a post-quantum key", "n=" NAME " x=33:1260", "", 0, PASSES },
	{ "a post-quantum key in records of 500", "n=" NAME " x=33:1260", "", 500, PASSES },
	{ "a post-quantum key before the name", "x=33:1260 n=" NAME, "", 0, PASSES },
	{ "a large session ticket", "n=" NAME " x=23:3000", "", 0, PASSES },
	{ "a pre-shared key", "n=" NAME " x=29:280", "", 0, PASSES },
	{ "extensions of 60,000 bytes", "x=15:60000 n=" NAME, "", 0, PASSES },
	{ "the same in records of 700", "x=15:60000 n=" NAME, "", 700, PASSES },
	{ "no session id", "n=" NAME, "i", 0, PASSES },
	{ "300 cipher suites", "n=" NAME, "S", 0, PASSES },
	{ "a record of TLS 1.2", "n=" NAME, "3", 0, PASSES },
	{ "a ClientHello of TLS 1.0", "n=" NAME, "0", 0, PASSES },
	{ "an extension twice, not the name", "x=17:0 n=" NAME " x=17:0", "", 0, PASSES },
	/* another name */
	{ "another name", "n=evil.org", "", 0, OTHER },
	{ "another name in records of 1 byte", "n=evil.org", "", 1, OTHER },
	{ "another name behind 60,000 bytes", "x=15:60000 n=evil.org", "", 0, OTHER },
	{ "a longer name", "n=pypi.org.evil.org", "", 0, OTHER },
	{ "a name below", "n=www.pypi.org", "", 0, OTHER },
	{ "a name above", "n=org", "", 0, OTHER },
	{ "a shorter name", "n=pypi.or", "", 0, OTHER },
	{ "a dot at the end", "n=pypi.org.", "", 0, OTHER },
	{ "a dot at the beginning", "n=.pypi.org", "", 0, OTHER },
	{ "a dot alone", "n=.", "", 0, OTHER },
	{ "a pattern", "n=*.org", "", 0, OTHER },
	{ "with a port", "n=pypi.org:443", "", 0, OTHER },
	{ "an IPv4 address", "n=11.22.33.10", "", 0, OTHER },
	{ "an IPv6 address", "n=2001:db8::1", "", 0, OTHER },
	{ "an IPv6 address in brackets", "n=[2001:db8::1]", "", 0, OTHER },
	{ "percent signs", "n=pypi%2eorg", "", 0, OTHER },
	{ "localhost", "n=localhost", "", 0, OTHER },
	{ "another name, with a GREASE extension of the right one", "x=0a0a:12 n=evil.org", "", 0, OTHER },
	/* a name that is none */
	{ "an empty name", "n=", "", 0, FIRST },
	{ "an empty list", "0", "", 0, FIRST },
	{ "a zero byte at the end", "n=pypi.org~", "", 0, FIRST },
	{ "a zero byte before another name", "n=pypi.org~.evil.org", "", 0, FIRST },
	{ "a zero byte at the beginning", "n=~pypi.org", "", 0, FIRST },
	{ "a line end", "n=pypi.org\r\n", "", 0, FIRST },
	{ "a control character", "n=pypi\x01.org", "", 0, FIRST },
	{ "bytes above 127", "n=p\xc3\xbfpi.org", "", 0, FIRST },
	{ "two names in a list", "2=pypi.org,evil.org", "", 0, FIRST },
	{ "the same name twice in a list", "2=pypi.org,pypi.org", "", 0, FIRST },
	{ "the extension twice", "n=pypi.org n=evil.org", "", 0, FIRST },
	{ "the extension twice with the same name", "n=pypi.org n=pypi.org", "", 0, FIRST },
	{ "the extension twice, far from each other", "n=pypi.org x=15:2000 n=evil.org", "", 0, FIRST },
	{ "an unknown type of name", "N=pypi.org", "", 0, FIRST },
	{ "a list that is longer than its extension", "L", "", 0, FIRST },
	{ "an extension for the name without a byte", "x=0:0", "", 0, FIRST },
	{ "an extension for the name with 3 bytes", "x=0:3", "", 0, FIRST },
	/* none */
	{ "no name", "x=0010:14", "", 0, NONE },
	{ "no extension", "", "", 0, NONE },
	{ "no block of extensions", "", "n", 0, NONE },
	{ "a ClientHello of SSL 3.0", "n=" NAME, "v", 0, NONE },
	{ "a ClientHello of SSL 2.0 in a record", "n=" NAME, "w", 0, NONE },
	/* encrypted */
	{ "encrypted", "n=" NAME " x=fe0d:200", "", 0, ECH },
	{ "encrypted, first", "x=fe0d:200 n=" NAME, "", 0, ECH },
	{ "encrypted, as GREASE", "n=" NAME " x=fe0d:186", "", 0, ECH },
	{ "encrypted, empty", "x=fe0d:0", "", 0, ECH },
	{ "encrypted, with another name outside", "n=evil.org x=fe0d:200", "", 0, ECH },
	{ "encrypted by the draft before", "n=" NAME " x=ffce:200", "", 0, ECH },
	{ "encrypted, in records of 1 byte", "n=" NAME " x=fe0d:100", "", 1, ECH },
	/* records */
	{ "an empty record first", "n=" NAME, "z", 0, FIRST },
	{ "an empty record between", "n=" NAME, "Z", 50, FIRST },
	{ "an alert first", "n=" NAME, "a", 0, FIRST },
	{ "an alert between", "n=" NAME, "A", 50, FIRST },
	{ "a change of the cipher first", "n=" NAME, "c", 0, FIRST },
	{ "data first", "n=" NAME, "d", 0, FIRST },
	{ "a heartbeat first", "n=" NAME, "H", 0, FIRST },
	{ "a HelloRequest first, in the same record", "n=" NAME, "h", 0, FIRST },
	{ "a byte behind, in the same record", "n=" NAME, "t", 0, FIRST },
	{ "a second message behind, in the same record", "n=" NAME, "b", 0, FIRST },
	{ "a record of version 2", "n=" NAME, "m", 0, FIRST },
	{ "a record of version 15", "n=" NAME, "M", 0, FIRST },
	{ "a second record of version 2", "n=" NAME, "y", 50, FIRST },
	{ "a record of 16,385 bytes", "n=" NAME " x=15:20000", "", 16385, FIRST },
	{ "another handshake message", "n=" NAME, "o", 0, FIRST },
	{ "a length beyond 65,536", "n=" NAME, "g", 0, FIRST },
	/* lengths that do not fit */
	{ "extensions that are longer than the message", "n=" NAME, "e", 0, FIRST },
	{ "extensions that are shorter than the message", "n=" NAME, "E", 0, FIRST },
	{ "a message that is longer than it says", "n=" NAME, "k", 0, FIRST },
	{ "cipher suites beyond the end", "n=" NAME, "f", 0, FIRST },
};

static void put(struct bytes *to, const void *from, size_t len)
{
	memcpy(to->at + to->len, from, len);
	to->len += len;
}

static void put_number(struct bytes *to, size_t value, size_t bytes)
{
	while (bytes--)
		to->at[to->len++] = (uint8_t)(value >> 8 * bytes);
}

static void put_name(struct bytes *to, unsigned int type, const char *name, size_t len)
{
	put_number(to, type, 1);
	put_number(to, len, 2);
	for (size_t i = 0; i < len; i++)
		put_number(to, name[i] == '~' ? 0 : (uint8_t)name[i], 1);
}

/* The extension with these names; the list claims `more` bytes that it does not have. */
static void put_names(struct bytes *to, unsigned int type, const char *text, size_t len, size_t more)
{
	static struct bytes list;

	list.len = 0;
	while (text) {
		const char *comma = memchr(text, ',', len);
		const size_t n = comma ? (size_t)(comma - text) : len;

		put_name(&list, type, text, n);
		len -= comma ? n + 1 : n;
		text = comma ? comma + 1 : NULL;
	}
	put_number(to, 0, 2);
	put_number(to, list.len + 2, 2);
	put_number(to, list.len + more, 2);
	put(to, list.at, list.len);
}

static void put_extension(struct bytes *to, const char *word, size_t len)
{
	char *colon;
	size_t type;
	size_t size;

	switch (word[0]) {
	case 'n':
	case '2':
		put_names(to, 0, word + 2, len - 2, 0);
		break;
	case 'N':
		put_names(to, 1, word + 2, len - 2, 0);
		break;
	case '0':
		put_names(to, 0, NULL, 0, 0);
		break;
	case 'L':
		put_names(to, 0, NAME, strlen(NAME), 1);
		break;
	default:
		type = strtoul(word + 2, &colon, 16);
		size = strtoul(colon + 1, NULL, 10);
		put_number(to, type, 2);
		put_number(to, size, 2);
		memset(to->at + to->len, 0, size);
		to->len += size;
	}
}

static bool has(const struct row *row, char letter)
{
	return strchr(row->how, letter) != NULL;
}

static void make_message(const struct row *row, struct bytes *ret)
{
	static struct bytes extensions;
	const size_t suites = has(row, 'S') ? 600 : 4;
	size_t length;

	extensions.len = ret->len = 0;
	for (const char *word = row->extensions; *word;) {
		const size_t n = strcspn(word, " ");

		put_extension(&extensions, word, n);
		word += n + (word[n] == ' ');
	}
	put_number(ret, has(row, 'o') ? 2 : 1, 1);
	put_number(ret, 0, 3);
	put_number(ret, has(row, 'v') ? 0x0300 : has(row, 'w') ? 0x0002 : has(row, '0') ? 0x0301 : 0x0303, 2);
	memset(ret->at + ret->len, 'r', 32);
	ret->len += 32;
	put_number(ret, has(row, 'i') ? 0 : 32, 1);
	memset(ret->at + ret->len, 's', 32);
	ret->len += has(row, 'i') ? 0 : 32;
	put_number(ret, has(row, 'f') ? 60000 : suites, 2);
	memset(ret->at + ret->len, 0x13, suites);
	ret->len += suites;
	put_number(ret, 0x0100, 2);
	if (!has(row, 'n')) {
		put_number(ret, extensions.len + has(row, 'e') - has(row, 'E'), 2);
		put(ret, extensions.at, extensions.len);
	}
	length = ret->len - 4 - has(row, 'k');
	if (has(row, 'g'))
		length = 65537;
	ret->at[1] = (uint8_t)(length >> 16);
	ret->at[2] = (uint8_t)(length >> 8);
	ret->at[3] = (uint8_t)length;
}

static void put_record(struct bytes *to, unsigned int type, unsigned int version, const void *bytes,
		       size_t len)
{
	put_number(to, type, 1);
	put_number(to, version, 2);
	put_number(to, len, 2);
	put(to, bytes, len);
}

static void make(const struct row *row, struct bytes *ret)
{
	static struct bytes message;
	const size_t most = row->record ? row->record : 16384;

	ret->len = 0;
	make_message(row, &message);
	if (has(row, 't'))
		put_number(&message, 0, 1);
	if (has(row, 'b'))
		put(&message, "\x0b\0\0\0", 4);
	if (has(row, 'h')) {
		memmove(message.at + 4, message.at, message.len);
		memset(message.at, 0, 4);
		message.len += 4;
	}
	if (has(row, 'z'))
		put_record(ret, 22, 0x0301, "", 0);
	if (has(row, 'a'))
		put_record(ret, 21, 0x0301, "\x01\x5a", 2);
	if (has(row, 'c'))
		put_record(ret, 20, 0x0301, "\x01", 1);
	if (has(row, 'd'))
		put_record(ret, 23, 0x0301, "data", 4);
	if (has(row, 'H'))
		put_record(ret, 24, 0x0301, "\x01\0\0", 3);
	for (size_t at = 0; at < message.len;) {
		const size_t n = most < message.len - at ? most : message.len - at;
		const unsigned int version = has(row, 'm')             ? 0x0200
					     : has(row, 'M')           ? 0x0f01
					     : has(row, 'y') && at > 0 ? 0x0201
					     : has(row, '3')           ? 0x0303
								       : 0x0301;

		put_record(ret, 22, version, message.at + at, n);
		if (at == 0 && has(row, 'Z'))
			put_record(ret, 22, 0x0301, "", 0);
		if (at == 0 && has(row, 'A'))
			put_record(ret, 21, 0x0301, "\x01\x5a", 2);
		at += n;
	}
}

/* Give the bytes to the gate, in memory of their own. Returns the reason, WAITS, or PASSES if all of them have passed. */
static int give(struct gate *gate, uint16_t port, const uint8_t *bytes, size_t len, size_t *passed)
{
	uint8_t *copy = malloc(len - *passed + 1);
	enum edge_reason why = EDGE_REASON_COUNT;
	char other[128];
	size_t pass = 0;
	int ret;

	memcpy(copy, bytes + *passed, len - *passed);
	ret = gate_check(gate, NAME, port, copy, len - *passed, &pass, &why, other);
	free(copy);
	*passed += pass;
	return ret < 0 ? (int)why : *passed == len ? PASSES : WAITS;
}

static int give_in_two(uint16_t port, const struct bytes *hello, size_t cut)
{
	struct gate gate = { 0 };
	size_t passed = 0;
	const int first = give(&gate, port, hello->at, cut, &passed);

	if (first >= 0)
		return first;
	cr_expect(passed == 0 || passed == hello->len, "%zu bytes of a ClientHello have passed", passed);
	return give(&gate, port, hello->at, hello->len, &passed);
}

Test(hello, torture, .timeout = 240)
{
	static const uint16_t ports[] = { 443, 80, 8443, 22 };
	static struct bytes hello;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		make(&rows[i], &hello);
		for (size_t j = 0; j < sizeof(ports) / sizeof(ports[0]); j++) {
			const size_t step = hello.len > 4000 ? hello.len / 100 : 1;

			for (size_t cut = 1; cut <= hello.len; cut += step) {
				const int got = give_in_two(ports[j], &hello, cut);

				if (got != rows[i].wanted) {
					cr_expect_fail("%s, port %u, cut at %zu of %zu: %d instead of %d",
						       rows[i].label, ports[j], cut, hello.len, got,
						       rows[i].wanted);
					break;
				}
			}
		}
	}
}

/* In the form of SSL 2.0 it has no name; behind bytes that servers pass over it is not found either. */
Test(hello, disguised, .timeout = 20)
{
	static const struct {
		const char *label, *bytes;
		size_t len;
		int strict, other;
	} forms[] = {
		{ "SSL 2.0, for TLS 1.2", "\x80\x2e\x01\x03\x03\0\x15\0\0\0\x10", 11, FIRST, NONE },
		{ "SSL 2.0 itself", "\x80\x2e\x01\0\x02\0\x15\0\0\0\x10", 11, FIRST, NONE },
		{ "SSL 2.0, long", "\xc0\x10\x01\x03\x01\0\x15\0\0\0\x10", 11, FIRST, NONE },
		{ "an alert of version 0", "\x15\0\0\0\x02\x01\x5a", 7, FIRST, FIRST },
		{ "an alert of version 9", "\x15\x09\0\0\x02\x01\x5a", 7, FIRST, FIRST },
		{ "no form of SSL 2.0", "\x80\x2e\x02\x03\x03", 5, FIRST, PASSES },
		{ "memcached", "\x80\0\0\x03\0\0\0\0", 8, FIRST, PASSES },
		{ "telnet", "\xff\xfd\x03\xff\xfb\x18", 6, FIRST, PASSES },
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct bytes form = { .len = forms[i].len };

		memcpy(form.at, forms[i].bytes, form.len);
		for (size_t cut = 1; cut <= form.len; cut++) {
			cr_expect_eq(give_in_two(443, &form, cut), forms[i].strict, "%s, cut at %zu",
				     forms[i].label, cut);
		}
		for (size_t cut = 1; cut <= form.len; cut++) {
			struct gate gate = { 0 };
			size_t passed = 0;
			int got = give(&gate, 8443, form.at, cut, &passed);

			if (got < 0)
				got = give(&gate, 8443, form.at, form.len, &passed);
			cr_expect_eq(got, forms[i].other, "%s, on 8443, cut at %zu: %d", forms[i].label, cut,
				     got);
		}
	}
}

/* The server asks for a second ClientHello, which is checked as the first one was; nothing passes before the answer. */
Test(hello, retry, .timeout = 60)
{
	static const uint8_t retry[] = {
		22,   3,    3,    0,    88,   2,    0,    0,    84,   3,    3,    0xcf, 0x21, 0xad, 0x74,
		0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11,
		0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c, 0,
	};
	static const uint8_t accepted[sizeof(retry)] = { 22, 3, 3, 0, 88, 2, 0, 0, 84, 3, 3, 1, 2, 3 };
	static const uint8_t alert[] = { 21, 3, 3, 0, 2, 2, 40 };
	static const struct {
		const char *label;
		const uint8_t *answer;
		size_t answer_len;
		size_t before; /* so many records of another kind stand before the second ClientHello */
		const char *name;
		int wanted;
	} cases[] = {
		{ "the same name", retry, sizeof(retry), 0, "n=pypi.org", PASSES },
		{ "another name", retry, sizeof(retry), 0, "n=evil.org", OTHER },
		{ "another name behind other records", retry, sizeof(retry), 3, "n=evil.org", OTHER },
		{ "the same name behind other records", retry, sizeof(retry), 3, "n=pypi.org", PASSES },
		{ "no name", retry, sizeof(retry), 1, "x=2b:3", NONE },
		{ "encrypted", retry, sizeof(retry), 1, "n=pypi.org x=fe0d:90", ECH },
		{ "no request for it", accepted, sizeof(accepted), 0, "n=evil.org", PASSES },
		{ "an alert", alert, sizeof(alert), 0, "n=evil.org", PASSES },
		{ "the server's end", alert, 0, 0, "n=evil.org", PASSES },
	};
	static struct bytes all, second;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct row first_row = { "", "n=pypi.org", "", 0, PASSES };
		const struct row second_row = { "", cases[i].name, "3", 0, PASSES };
		size_t first;

		make(&first_row, &all);
		first = all.len;
		if (cases[i].before > 0)
			put_record(&all, 20, 0x0303, "\x01", 1);
		if (cases[i].before > 1) {
			put_record(&all, 23, 0x0303, "early data", 10);
			put_record(&all, 21, 0x0303, "\x01\x5a", 2);
		}
		make(&second_row, &second);
		put(&all, second.at, second.len);
		for (size_t cut = first; cut <= all.len; cut++) {
			for (size_t answer = 1; answer <= sizeof(retry); answer += 7) {
				struct gate gate = { 0 };
				size_t passed = 0;
				int got;

				give(&gate, 443, all.at, cut, &passed);
				cr_assert_eq(passed, first, "%s: %zu bytes pass before the answer",
					     cases[i].label, passed);
				cr_assert(gate_waits(&gate));
				for (size_t at = 0; at < cases[i].answer_len; at += answer)
					if (gate_waits(&gate))
						gate_answered(&gate, cases[i].answer + at,
							      answer < cases[i].answer_len - at
								  ? answer
								  : cases[i].answer_len - at);
				if (!cases[i].answer_len)
					gate_answered(&gate, alert, 0);
				cr_assert(!gate_waits(&gate), "%s", cases[i].label);
				got = cut > first ? give(&gate, 443, all.at, cut, &passed) : WAITS;
				if (got < 0)
					got = give(&gate, 443, all.at, all.len, &passed);
				cr_expect_eq(got, cases[i].wanted, "%s, cut at %zu: %d", cases[i].label, cut,
					     got);
			}
		}
	}
}
