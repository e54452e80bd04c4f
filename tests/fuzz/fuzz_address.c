/*
 * address: destinations of network.allow, two texts separated by NUL: blocks of addresses against a comparison bit by bit, host
 * patterns against one from the end, and rows of a policy that survive its document.
 */
#include "policy/policy.h"
#include "policy/values.h"
#include "tests/fuzz/input.h"

static bool contains(const struct policy_cidr *outer, const struct policy_cidr *inner)
{
	if (outer->is_v6 != inner->is_v6 || outer->prefix > inner->prefix)
		return false;
	for (unsigned bit = 0; bit < outer->prefix; bit++)
		if ((outer->address[bit / 8] ^ inner->address[bit / 8]) & (0x80 >> bit % 8))
			return false;
	return true;
}

static void check_blocks(const char *a_text, const char *b_text)
{
	struct policy_cidr a;
	struct policy_cidr b;
	struct warder_error err;
	char canonical[64];

	if (policy_parse_cidr(a_text, &a, &err) < 0) {
		must(err.code == WARDER_ERROR_INVALID_REQUEST && err.text[0]);
		return;
	}
	for (unsigned bit = a.prefix; bit < (a.is_v6 ? 128 : 32); bit++)
		must(!(a.address[bit / 8] & (0x80 >> bit % 8)));
	policy_format_cidr(&a, canonical, sizeof(canonical));
	must(policy_parse_cidr(canonical, &b, &err) == 0 && contains(&a, &b) && contains(&b, &a));
	if (policy_parse_cidr(b_text, &b, &err) == 0) {
		must(policy_cidr_contains(&a, &b) == contains(&a, &b));
		must(policy_cidr_contains(&b, &a) == contains(&b, &a));
	}
}

/* By characters from the end, down to the pattern's "*". */
static bool covers(const char *pattern, const char *name)
{
	size_t p = strlen(pattern);
	size_t n = strlen(name);

	if (strcmp(pattern, name) == 0)
		return true;
	if (pattern[0] != '*')
		return false;
	while (p > 1 && n > 0 && pattern[p - 1] == name[n - 1]) {
		p--;
		n--;
	}
	/* What is left of the name must be something, and not the star of a pattern for the same place. */
	return p == 1 && n > 0 && strncmp(name, "*", n) != 0;
}

static void check_hosts(const char *a, const char *b)
{
	if (!policy_host_fault(a) && !policy_host_fault(b))
		must(policy_host_covers(a, b) == covers(a, b));
}

static void check_rows(const char *a, const char *b)
{
	struct policy policy = { 0 };
	struct policy again = { 0 };
	struct warder_error err;
	char *text;

	must(policy_preset("strict", &policy, &err) == 0);
	must(policy_set(&policy, "network.mode", "allow", &err) == 0);
	policy_set(&policy, "network.allow", a, &err);
	policy_set(&policy, "network.allow", b, &err);
	policy_set(&policy, "network.deny", a, &err);
	policy_set(&policy, "network.publish", b, &err);
	if (policy_validate(&policy, &err) == 0) {
		text = policy_encode(&policy);
		must(text && policy_decode(text, strlen(text), "encoded", &again, &err) == 0);
		must(policy_equal(&policy, &again) && policy_check_ceiling(&policy, &again, &err) == 0);
		free(text);
	}
	policy_done(&policy);
	policy_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	char *a = input_text(&input);
	char *b = input_text(&input);

	check_blocks(a, b);
	check_hosts(a, b);
	check_rows(a, b);
	free(a);
	free(b);
	return 0;
}
