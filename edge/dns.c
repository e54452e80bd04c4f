#include "edge/dns.h"

#include <string.h>

#define HEADER      12
#define NAME_MAX_   253
#define LABEL_MAX   63
#define TYPE_A      1
#define TYPE_ANY    255
#define CLASS_IN    1
#define FORMERR     1
#define SERVFAIL    2
#define NXDOMAIN    3
#define NOTIMP      4
#define TTL_SECONDS 60

/* The question's name in lower case, "" for the root. Returns the offset behind it; 0: it is not well formed, or no name of a host. */
static size_t read_name(const uint8_t *query, size_t len, char *ret)
{
	size_t at = HEADER;
	size_t used = 0;

	while (at < len && query[at]) {
		const size_t label = query[at++];

		if (label > LABEL_MAX || at + label >= len || used + label + 1 > NAME_MAX_)
			return 0;
		if (used)
			ret[used++] = '.';
		for (size_t i = 0; i < label; i++) {
			const uint8_t c = query[at++];

			if (c <= ' ' || c >= 0x7f || c == '.' || c == '"' || c == '\\')
				return 0;
			ret[used++] = (char)(c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c);
		}
	}
	ret[used] = '\0';
	return at < len ? at + 1 : 0;
}

/* "_https._tcp.pypi.org": where services of a host are. apt and others ask for it first; nothing was refused if the host itself is listed. */
static bool is_service(const struct rules *rules, const char *name)
{
	while (*name == '_' && strchr(name, '.'))
		name = strchr(name, '.') + 1;
	return rules_allow(rules, name);
}

static size_t refuse(const uint8_t *query, uint8_t *answer, uint8_t code)
{
	memset(answer, 0, HEADER);
	memcpy(answer, query, 2);
	answer[2] = (uint8_t)(0x80 | (query[2] & 0x79)); /* an answer; opcode and RD as they were */
	answer[3] = (uint8_t)(0x80 | code);
	return HEADER;
}

/* Append the record of the name that the query begins with. Returns its length. */
static size_t put_address(uint8_t *at, uint32_t address)
{
	const uint8_t record[16] = {
		0xc0,
		HEADER,
		0,
		TYPE_A,
		0,
		CLASS_IN,
		0,
		0,
		0,
		TTL_SECONDS,
		0,
		4,
		(uint8_t)(address >> 24),
		(uint8_t)(address >> 16),
		(uint8_t)(address >> 8),
		(uint8_t)address,
	};

	memcpy(at, record, sizeof(record));
	return sizeof(record);
}

size_t dns_answer(struct rules *rules, const uint8_t *query, size_t len, uint8_t *answer, char *ret_refused)
{
	char name[NAME_MAX_ + 2];
	uint32_t address = 0;
	bool allowed;
	uint8_t code = 0;
	unsigned int type;
	size_t at;

	*ret_refused = '\0';
	if (len < HEADER || len > 512 || query[2] & 0x80)
		return 0;
	if (query[2] & 0x78)
		return refuse(query, answer, NOTIMP);
	if (query[4] || query[5] != 1)
		return refuse(query, answer, FORMERR);
	at = read_name(query, len, name);
	if (!at || at + 4 > len)
		return refuse(query, answer, FORMERR);
	type = (unsigned int)query[at] << 8 | query[at + 1];
	allowed = query[at + 2] == 0 && query[at + 3] == CLASS_IN && rules_allow(rules, name);
	at += 4;
	if (allowed && (type == TYPE_A || type == TYPE_ANY)) {
		address = rules_address(rules, name);
		if (!address)
			code = SERVFAIL;
	} else if (!allowed) {
		code = NXDOMAIN;
		if (!is_service(rules, name))
			memcpy(ret_refused, name, sizeof(name));
	}
	memcpy(answer, query, at);
	answer[2] = (uint8_t)(0x84 | (query[2] & 1)); /* an answer with authority; RD as it was */
	answer[3] = (uint8_t)(0x80 | code);
	memset(answer + 6, 0, 6);
	if (address) {
		answer[7] = 1;
		at += put_address(answer + at, address);
	}
	return at;
}
