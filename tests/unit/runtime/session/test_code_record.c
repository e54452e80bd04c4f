#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/session/code_record.h"

static int make(void)
{
	static char variable[] = "A=1";
	static char *environment[] = { variable, NULL };
	static const char *const patterns[] = { "*.txt" };
	const struct rootfs_file files[] = { { .path = "box/f", .bytes = "data", .len = 4, .mode = 0600 },
					     { .path = "box/d" } };
	const struct rootfs_collect collect = {
		.directory = "box", .patterns = patterns, .pattern_count = 1, .save_fd = 0
	};
	static const int spill_fds[] = { 0, 0 };
	const struct result_value_rules rules = { .last_line = true, .bytes = 7 };
	struct result_code report = { .found_by = "hint",
				      .diagnostics = (char[]){ "[1]" },
				      .diagnostics_dropped = 3,
				      .diagnostics_unreadable = 2,
				      .stage_count = 1 };
	const struct library_order order = {
		.subject = { "c", POLICY_PAYLOAD_SOURCE },
		.code_bytes = 4,
		.box = "warder-code-0123456789abcdef",
		.rules = &rules,
		.report = &report,
		.launch.command = { .set_env = environment,
				    .files = files,
				    .file_count = 2,
				    .collect = &collect,
				    .result_bytes = 9,
				    .spill_fds = spill_fds,
				    .spill_bytes = 5,
				    .working_directory = "/tmp/x" },
	};
	struct warder_error err;
	int fd;

	report.stages[0] = (struct result_stage){ .name = "build", .status = "cached", .wall_us = 5 };
	fd = code_record_make(&order, &err);
	cr_assert(fd >= 0);
	return fd;
}

Test(code_record, what_is_made_is_taken, .timeout = 10)
{
	struct code_record record = { 0 };
	struct warder_error err;
	struct result_code *report;
	const int fd = make();

	cr_assert(code_record_take(fd, &record, &err) == 0);
	cr_expect_str_eq(record.head.code.language, "c");
	cr_expect_str_eq(record.head.box, "warder-code-0123456789abcdef");
	cr_expect(record.head.last_line && record.head.value_bytes == 7 &&
		  record.head.code.result_bytes == 9 && !record.head.has_value);
	cr_expect(record.head.hands_over && record.head.has_spill && record.head.spill_bytes == 5);
	cr_expect_str_eq(record.words.environment[0], "A=1");
	cr_expect_str_eq(record.words.patterns[0], "*.txt");
	cr_expect(record.words.files[0].len == 4 && memcmp(record.words.files[0].bytes, "data", 4) == 0);
	cr_expect_null(record.words.files[1].bytes);
	cr_expect_str_eq(record.working_directory, "/tmp/x");
	cr_expect_str_eq(record.asked, "");
	report = code_record_report(&record);
	cr_assert(report);
	cr_expect_str_eq(report->diagnostics, "[1]");
	cr_expect(report->diagnostics_dropped == 3 && report->diagnostics_unreadable == 2);
	cr_expect_null(report->scan);
	cr_expect(report->stage_count == 1 && strcmp(report->stages[0].status, "cached") == 0);
	result_code_free(report);
	code_record_done(&record);
	close(fd);
}

/* The bytes are in a block of their own, so that a read beyond them is found. */
static int split(const char *bytes, size_t len)
{
	struct code_record record = { 0 };
	struct warder_error err;
	char *copy = malloc(len ? len : 1);
	int taken;

	memcpy(copy, bytes, len);
	taken = code_record_split(copy, len, &record, &err);
	code_record_done(&record);
	free(copy);
	return taken;
}

Test(code_record, what_is_shorter_longer_or_wrong_is_refused, .timeout = 10)
{
	char bytes[2048] = "";
	struct code_record_head *head = (void *)bytes;
	const struct code_record_head *const first = head;
	struct code_record_head kept;
	const int fd = make();
	const size_t len = (size_t)pread(fd, bytes, sizeof(bytes), 0);

	cr_assert(len > sizeof(*first) && len < sizeof(bytes));
	cr_expect(split(bytes, len) == 0);
	for (size_t i = 0; i < len; i++)
		cr_expect(split(bytes, i) < 0, "%zu bytes", i);
	cr_expect(split(bytes, len + 1) < 0, "one more");
	kept = *head;
	strcpy(head->box, "warder-code-../../../../etc/");
	cr_expect(split(bytes, len) < 0, "a path");
	memset(head->box, 'a', sizeof(head->box));
	cr_expect(split(bytes, len) < 0, "a name without an end");
	*head = kept, head->stage_count = RESULT_STAGES_MAX;
	cr_expect(split(bytes, len) < 0, "no room for the run's stage");
	*head = kept, memset(head->stages[0].name, 'a', sizeof(head->stages[0].name));
	cr_expect(split(bytes, len) < 0, "a stage without an end");
	*head = kept, head->has_spill = 2;
	cr_expect(split(bytes, len) < 0, "neither with a spill nor without");
	*head = kept, head->collects = 0, head->code.pattern_count = 0;
	cr_expect(split(bytes, len) < 0, "files are handed over, and none are collected");
	*head = kept, head->collects = 0;
	cr_expect(split(bytes, len) < 0, "patterns, and nothing to collect");
	*head = kept, head->code.file_count = UINT32_MAX;
	cr_expect(split(bytes, len) < 0, "too many files");
	close(fd);
}
