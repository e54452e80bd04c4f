/*
 * remote: the answers of a host, as JSON: what it can enforce, and the result of a run. Anything is refused with an error that names the host,
 * or becomes values within their ranges, of which no control is enforced.
 */
#include "backends/remote.h"
#include "runtime/library/reported.h"
#include "tests/fuzz/fuzz.h"

static void check_result(const char *text, size_t size, bool may_lack_run)
{
	struct warder_result *result = NULL;
	struct warder_error err = { 0 };
	const int status = reported_read(text, size, "remote:a", may_lack_run, &result, &err);
	char *json;

	if (status != 0) {
		must(!result && (status > 0 ? may_lack_run : err.text[0] != 0));
		return;
	}
	must(result->outcome.cause < JAIL_CAUSE_COUNT && result->outcome.exit_code <= 255);
	must(result->receipt.reported);
	json = warder_result_json(result);
	must(json);
	free(json);
	json = result_receipt_json(result);
	must(json && !strstr(json, "\"status\": \"enforced\""));
	free(json);
	warder_result_free(result);
}

static void check_capabilities(const char *text, size_t size)
{
	struct policy_capabilities capabilities;
	struct json_value *root = NULL;
	struct warder_error err = { 0 };

	if (json_parse(text, size, "input", NULL, &root, &err) < 0)
		return;
	if (policy_capabilities_read(root, "remote:a", &capabilities, &err) < 0)
		must(strstr(err.text, "remote:a"));
	json_free(root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct warder_error err = { 0 };

	check_result(text, size, false);
	check_result(text, size, true);
	check_capabilities(text, size);
	if (remote_check_url(text, false, &err) == 0)
		must(!strchr(text, '@') && strlen(text) < 300);
	free(text);
	return 0;
}
