/*
 * edge: what a jail sends to its edge, and rules that take the place of others. The first byte says to whom: to the resolver, or to a port. A connection is given twice, in one piece and
 * in pieces of a length that the second byte says: both end in the same way.
 */
#include "edge/dns.h"
#include "edge/gate.h"
#include "tests/fuzz/input.h"

static void ask_resolver(const uint8_t *data, size_t size)
{
	static struct edge_config config = { .rule_count = 2 };
	uint8_t answer[DNS_ANSWER_MAX];
	struct rules rules;
	char refused[256];
	size_t n;

	memcpy(config.rules[0].host, "pypi.org", 9);
	memcpy(config.rules[1].host, "*.example.org", 14);
	must(rules_init(&rules, &config) == 0);
	n = dns_answer(&rules, data, size, answer, refused);
	must(n == 0 || (n >= 12 && n <= sizeof(answer) && answer[2] & 0x80));
	must(strlen(refused) < 255);
	rules_done(&rules);
}

/* A message of the supervisor's: two numbers of the file, and its rows. Names keep their addresses. */
static void replace_rules(struct fuzz_input input)
{
	static struct edge_config first = { .rule_count = 1 };
	const uint32_t claimed = (uint32_t)input_number(&input);
	const uint8_t cut = input_byte(&input);
	const uint32_t count = (uint32_t)(input.left / sizeof(struct edge_rule) + 1);
	const size_t size = edge_config_size(count) - cut;
	struct edge_config *config = calloc(1, size);
	struct rules rules;
	const char *fault;

	memcpy(first.rules[0].host, "pypi.org", 9);
	must(config && rules_init(&rules, &first) == 0);
	config->magic = EDGE_MAGIC;
	config->rule_count = claimed;
	input_bytes(&input, config->rules, count * sizeof(struct edge_rule) - cut);
	fault = rules_replace(&rules, config, size);
	must(fault || config->rule_count * sizeof(struct edge_rule) <= size - edge_config_size(0));
	must((rules.config == &first) == (fault != NULL));
	must(rules_address(&rules, "pypi.org") == EDGE_BLOCK + EDGE_FIRST);
	if (!fault) {
		enum edge_reason why;
		const uint8_t address[16] = { 10, 1, 2, 3 };

		for (uint32_t i = 0; i < claimed; i++)
			rules_allow_port(&rules, config->rules[i].host, 443, &why);
		rules_lead_to(&rules, address, false, 443);
	}
	rules_done(&rules);
	free(config);
}

/* The bytes that pass, and the reason, EDGE_REASON_COUNT if there is none. A server asks for a second ClientHello. */
static size_t connect_to(uint16_t port, const uint8_t *data, size_t size, size_t step,
			 enum edge_reason *ret_why)
{
	static const uint8_t retry[HELLO_ANSWER] = {
		22,   3,    3,    0,    88,   2,    0,    0,    84,   3,    3,    0xcf, 0x21, 0xad, 0x74,
		0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11,
		0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
	};
	struct gate gate = { 0 };
	size_t passed = 0;
	size_t seen = 0;
	char other[128];

	*ret_why = EDGE_REASON_COUNT;
	while (seen < size || gate.state == GATE_ANSWER) {
		/* A block of its own: nothing is read behind it. */
		enum edge_reason why = EDGE_REASON_COUNT;
		uint8_t *held;
		size_t pass = 0;
		int ret;

		if (gate.state == GATE_ANSWER)
			gate_answered(&gate, retry, sizeof(retry));
		seen += step < size - seen ? step : size - seen;
		held = malloc(seen - passed);
		memcpy(held, data + passed, seen - passed);
		ret = gate_check(&gate, "pypi.org", port, held, seen - passed, &pass, &why, other);
		free(held);
		if (ret < 0) {
			must(why < EDGE_REASON_COUNT);
			*ret_why = why;
			return passed;
		}
		must(pass <= seen - passed);
		passed += pass;
	}
	return passed;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint16_t ports[] = { 80, 443, 22 };
	enum edge_reason whole;
	enum edge_reason parts;
	uint16_t port;
	size_t step;

	if (size < 2)
		return 0;
	if (data[0] == 252) {
		replace_rules((struct fuzz_input){ data + 1, size - 1 });
		return 0;
	}
	if (data[0] % 4 == 3) {
		ask_resolver(data + 2, size - 2);
		return 0;
	}
	port = ports[data[0] % 4];
	step = (size_t)data[1] + 1;
	connect_to(port, data + 2, size - 2, size, &whole);
	connect_to(port, data + 2, size - 2, step, &parts);
	must(whole == parts);
	return 0;
}
