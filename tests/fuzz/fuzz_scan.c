/*
 * scan: any source in any language has a report that holds together and can be written, and the policy's lists are read strictly.
 * The first byte chooses the language; what stands before a NUL is the policy.
 */
#include "base/array.h"
#include "runtime/code/scan/scan.h"
#include "tests/fuzz/input.h"

static const char *const languages[] = { "python", "javascript", "typescript", "sh",   "bash", "command",
					 "ruby",   "r",          "perl",       "lua",  "php",  "go",
					 "rust",   "c",          "c++",        "java", "wasm" };

static void check_report(const struct scan_report *report, const struct scan_request *request)
{
	struct json_limits limits = { .max_bytes = 1 << 24 };
	struct json_value *value = NULL;
	struct warder_error err;
	char *line = scan_audit_line(report, request, 1);

	must(line && strchr(line, '\n') == line + strlen(line) - 1);
	must(json_parse(line, strlen(line), "line", &limits, &value, &err) == 0);
	json_free(value);
	free(line);
	must(report->count <= SCAN_MAX_FINDINGS);
	for (size_t i = 0; i < report->count; i++) {
		size_t characters = 0;

		must(json_is_utf8(report->findings[i].evidence));
		for (const char *c = report->findings[i].evidence; *c; c++)
			characters += ((unsigned char)*c & 0xc0) != 0x80;
		must(characters <= SCAN_EVIDENCE);
		must(report->findings[i].severity <= report->severity);
	}
	must(report->decision != SCAN_ALLOW || report->severity <= SCAN_LOW);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	uint8_t which = input_byte(&input) % (ARRAY_LENGTH(languages));
	char *lists = input_text(&input), *text = fuzz_text(input.at, input.left);
	struct scan_request request = { .language = languages[which], .text = text, .len = input.left };
	struct scan_policy policy = { 0 };
	struct scan_report report = { 0 };
	struct warder_error err;

	if (scan_policy_parse(lists, strlen(lists), "lists", &policy, &err) != 0) {
		must(err.code == WARDER_ERROR_INVALID_REQUEST && !strchr(err.text, '\n'));
		must(scan_policy_default(&policy, &err) == 0);
	}
	must(scan_source(&policy, &request, &report, &err) == 0);
	check_report(&report, &request);
	scan_report_done(&report);
	scan_policy_done(&policy);
	free(lists);
	free(text);
	return 0;
}
