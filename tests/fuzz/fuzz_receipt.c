/*
 * receipt: a receipt and a result made of any bytes are JSON in the strict sense, and reading it gives them back: each cell of
 * the receipt as far as it fits its column, the output byte by byte.
 */
#include "base/json.h"
#include "runtime/library/result.h"
#include "tests/fuzz/input.h"

static const struct json_limits limits = { .max_bytes = 1 << 24 };

static void must_be_cell(const struct json_value *row, const char *key, const char *cell)
{
	const struct json_value *value = json_member(row, key);

	must(value && value->type == JSON_STRING);
	if (json_is_utf8(cell))
		must(strcmp(value->string, cell) == 0);
}

static const char *const statuses[] = {
	[POLICY_RECEIPT_ENFORCED] = "enforced",
	[POLICY_RECEIPT_NOT_ENFORCED] = "notEnforced",
	[POLICY_RECEIPT_UNRESTRICTED] = "unrestricted",
	[POLICY_RECEIPT_HARDENING] = "hardening",
	[POLICY_RECEIPT_ABSENT] = "absent",
};

static void check_receipt(const struct policy_receipt *receipt, const struct json_value *json)
{
	const struct json_value *controls = json_member(json, "controls");
	const struct json_value *value = controls ? controls->child : NULL;

	must_be_cell(json, "isolation", policy_isolation_name(receipt->isolation));
	for (size_t i = 0; i < receipt->count; i++, value = value->next) {
		const struct policy_receipt_row *row = &receipt->rows[i];

		must(value);
		must_be_cell(value, "control", row->control);
		must_be_cell(value, "status", statuses[row->status]);
		must_be_cell(value, "requested", row->requested);
		must_be_cell(value, "mechanism", row->mechanism);
		must_be_cell(value, "value", row->value);
		must_be_cell(value, "source", row->source);
	}
	must(!value);
}

static unsigned int base64_digit(char c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	must(at);
	return (unsigned int)(at - digits);
}

static void must_be_base64(const char *text, const char *bytes, size_t len)
{
	must(strlen(text) == (len + 2) / 3 * 4);
	for (size_t i = 0; i < len; i++) {
		const char *four = text + i / 3 * 4;
		unsigned int high = base64_digit(four[i % 3]) << (2 * (i % 3) + 2);
		unsigned int low = base64_digit(four[i % 3 + 1]) >> (4 - 2 * (i % 3));

		must((char)((high | low) & 0xff) == bytes[i]);
	}
}

static void check_output(const struct jail_output *output, const struct json_value *json)
{
	const struct json_value *text = json_member(json, "text");
	const struct json_value *base64 = json_member(json, "base64");

	must(!text != !base64);
	if (base64) {
		must_be_base64(base64->string, output->bytes ? output->bytes : "", output->len);
		return;
	}
	/* Of text that was cut, an unfinished character may be missing at the end. */
	must(strlen(text->string) <= output->len &&
	     strlen(text->string) + (output->truncated ? 3 : 0) >= output->len);
	must(output->len == 0 || memcmp(text->string, output->bytes, strlen(text->string)) == 0);
}

static void take_row(struct fuzz_input *input, struct policy_receipt *receipt)
{
	char *control = input_text(input);
	char *value = input_text(input);
	struct policy_receipt_row *row = policy_receipt_add(
	    receipt, control, (enum policy_receipt_status)(input_byte(input) % (POLICY_RECEIPT_ABSENT + 1)));

	if (row) {
		snprintf(row->value, sizeof(row->value), "%s", value);
		snprintf(row->requested, sizeof(row->requested), "%s", value);
		snprintf(row->mechanism, sizeof(row->mechanism), "%s", control);
		snprintf(row->source, sizeof(row->source), "%s", control);
	}
	free(control);
	free(value);
}

static void take_output(struct fuzz_input *input, struct jail_output *output, size_t len)
{
	output->truncated = input_byte(input) & 1;
	output->len = len < input->left ? len : input->left;
	output->bytes = malloc(output->len + 1);
	must(output->bytes);
	output->bytes[output->len] = 0;
	input_bytes(input, output->bytes, output->len);
	output->total = output->len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	struct warder_result result = { .receipt.isolation = POLICY_ISOLATION_NAMESPACE_JAIL };
	struct json_value *json = NULL;
	struct warder_error err;
	char *text;

	result.outcome.cause = (enum jail_cause)(input_byte(&input) % JAIL_CAUSE_COUNT);
	result.outcome.signal = (int)(input_byte(&input) % 65);
	result.outcome.exit_code = (int)input_byte(&input) - 1;
	take_output(&input, &result.outcome.output[JAIL_STDOUT], input_byte(&input));
	take_output(&input, &result.outcome.output[JAIL_STDERR], input_byte(&input));
	while (input.left)
		take_row(&input, &result.receipt);
	text = warder_result_json(&result);
	must(text && json_parse(text, strlen(text), "result", &limits, &json, &err) == 0);
	check_receipt(&result.receipt, json_member(json, "receipt"));
	check_output(&result.outcome.output[JAIL_STDOUT], json_member(json, "stdout"));
	check_output(&result.outcome.output[JAIL_STDERR], json_member(json, "stderr"));
	must_be_cell(json, "status", warder_result_status(&result));
	must_be_cell(json, "cause", warder_result_cause(&result));
	json_free(json);
	free(text);
	jail_outcome_done(&result.outcome);
	return 0;
}
