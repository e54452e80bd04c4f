#include "base/array.h"
#include "runtime/library/result.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"

static struct warder_result *result_of(enum jail_cause cause, int exit_code, int signal)
{
	struct warder_result *result = calloc(1, sizeof(*result));

	result->outcome.cause = cause;
	result->outcome.exit_code = exit_code;
	result->outcome.signal = signal;
	result->outcome.memory_peak_bytes = result->outcome.pids_peak = UINT64_MAX;
	return result;
}

static void put(struct warder_result *result, enum jail_stream stream, const char *bytes, size_t len,
		uint64_t total)
{
	struct jail_output *output = &result->outcome.output[stream];

	output->bytes = malloc(len + 1);
	memcpy(output->bytes, bytes, len);
	output->bytes[len] = '\0';
	output->len = len;
	output->total = total;
	output->truncated = total > len;
}

static struct json_value *parse(char *json)
{
	struct json_value *value = NULL;
	struct warder_error err = { 0 };

	cr_assert(json && json_parse(json, strlen(json), "result", NULL, &value, &err) == 0, "%s", err.text);
	free(json);
	return value;
}

static const struct json_value *at(const struct json_value *value, const char *key, const char *inner)
{
	const struct json_value *member = json_member(value, key);

	cr_assert(member, "no member %s", key);
	return inner ? json_member(member, inner) : member;
}

Test(result, a_status_follows_from_the_cause, .timeout = 20)
{
	static const struct {
		enum jail_cause cause;
		int exit_code, signal;
		const char *status;
	} rows[] = {
		{ JAIL_CAUSE_EXIT, 0, 0, "success" },
		{ JAIL_CAUSE_EXIT, 1, 0, "failed" },
		{ JAIL_CAUSE_EXIT, 255, 0, "failed" },
		{ JAIL_CAUSE_SIGNAL, -1, SIGSEGV, "failed" },
		{ JAIL_CAUSE_WALL_TIME, -1, 0, "timeout" },
		{ JAIL_CAUSE_CPU_TIME, -1, 0, "timeout" },
		{ JAIL_CAUSE_MEMORY, -1, SIGKILL, "killed" },
		{ JAIL_CAUSE_PIDS, 1, 0, "failed" },
		{ JAIL_CAUSE_OUTPUT, -1, 0, "killed" },
		{ JAIL_CAUSE_DISK, 1, 0, "failed" },
		{ JAIL_CAUSE_SYSCALL, -1, SIGSYS, "failed" },
		{ JAIL_CAUSE_NETWORK, 1, 0, "failed" },
		{ JAIL_CAUSE_CANCELLED, -1, 0, "killed" },
		{ JAIL_CAUSE_SUPERVISOR, -1, 0, "killed" },
		{ JAIL_CAUSE_HOST, -1, 0, "killed" },
		/* a limit that ended the run ends it as such, whatever the program managed to exit with */
		{ JAIL_CAUSE_WALL_TIME, 0, 0, "timeout" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct warder_result *result = result_of(rows[i].cause, rows[i].exit_code, rows[i].signal);

		cr_expect_str_eq(warder_result_status(result), rows[i].status, "row %zu", i);
		cr_expect_str_eq(warder_result_cause(result), jail_cause_name(rows[i].cause), "row %zu", i);
		warder_result_free(result);
	}
}

/* The order is a contract, see warder(1). */
Test(result, members_keep_their_order, .timeout = 20)
{
	static const char *const keys[] = {
		"status",     "cause",     "exitCode",  "signal",          "stdout",
		"stderr",     "startedAt", "durations", "peakMemoryBytes", "cpuTimeUs",
		"peakPids",   "limitsHit", "artifacts", "backend",         "isolation",
		"passedOver", "receipt",   "identity",  "detail",
	};
	struct warder_result *result = result_of(JAIL_CAUSE_EXIT, 0, 0);
	struct json_value *json = parse(warder_result_json(result));
	const struct json_value *member = json->child;

	for (size_t i = 0; i < ARRAY_LENGTH(keys); i++) {
		cr_assert(member, "%s is missing", keys[i]);
		cr_expect_str_eq(member->key, keys[i]);
		member = member->next;
	}
	cr_expect_null(member);
	json_free(json);
	warder_result_free(result);
}

Test(result, what_the_kernel_does_not_tell_is_null, .timeout = 20)
{
	struct warder_result *result = result_of(JAIL_CAUSE_SIGNAL, -1, SIGTERM);
	struct json_value *json;

	json = parse(warder_result_json(result));
	cr_expect(at(json, "exitCode", NULL)->type == JSON_NULL);
	cr_expect_str_eq(at(json, "signal", NULL)->string, "SIGTERM");
	cr_expect(at(json, "peakMemoryBytes", NULL)->type == JSON_NULL);
	cr_expect(at(json, "peakPids", NULL)->type == JSON_NULL);
	json_free(json);
	result->outcome.memory_peak_bytes = 4096;
	result->outcome.pids_peak = 2;
	result->outcome.hit[JAIL_CAUSE_MEMORY] = result->outcome.hit[JAIL_CAUSE_PIDS] = true;
	json = parse(warder_result_json(result));
	cr_expect(at(json, "peakMemoryBytes", NULL)->uint == 4096);
	cr_expect(at(json, "peakPids", NULL)->uint == 2);
	cr_expect_str_eq(at(json, "limitsHit", NULL)->child->string, "memory");
	cr_expect_str_eq(at(json, "limitsHit", NULL)->child->next->string, "pids");
	json_free(json);
	warder_result_free(result);
}

Test(result, streams_are_text_or_base64, .timeout = 20)
{
	struct warder_result *result = result_of(JAIL_CAUSE_EXIT, 0, 0);
	struct json_value *json;

	put(result, JAIL_STDOUT, "a\xc3", 2, 9);
	put(result, JAIL_STDERR, "a\xc3", 2, 2);
	json = parse(warder_result_json(result));
	cr_expect_str_eq(at(json, "stdout", "text")->string, "a");
	cr_expect_str_eq(at(json, "stdout", "encoding")->string, "utf-8");
	cr_expect(at(json, "stdout", "bytesKept")->uint == 2);
	cr_expect(at(json, "stdout", "bytesTotal")->uint == 9);
	cr_expect(at(json, "stdout", "truncated")->boolean);
	cr_expect_null(at(json, "stdout", "base64"));
	cr_expect_str_eq(at(json, "stderr", "base64")->string, "YcM=");
	cr_expect_str_eq(at(json, "stderr", "encoding")->string, "base64");
	cr_expect_not(at(json, "stderr", "truncated")->boolean);
	cr_expect_null(at(json, "stderr", "text"));
	json_free(json);
	warder_result_free(result);
}

Test(result, a_silent_stream_is_empty_and_a_streamed_one_is_not_there, .timeout = 20)
{
	struct warder_result *result = result_of(JAIL_CAUSE_EXIT, 0, 0);
	struct json_value *json = parse(warder_result_json(result));

	cr_expect_str_eq(at(json, "stdout", "text")->string, "");
	json_free(json);
	result->streamed = true;
	result->outcome.output[JAIL_STDOUT].total = 5;
	result->passed[WARDER_STDOUT] = 3;
	json = parse(warder_result_json(result));
	cr_expect_null(at(json, "stdout", "text"));
	cr_expect_null(at(json, "stdout", "encoding"));
	cr_expect(at(json, "stdout", "bytesKept")->uint == 3);
	cr_expect(at(json, "stdout", "bytesTotal")->uint == 5);
	json_free(json);
	warder_result_free(result);
}

Test(result, bytes_dropped_and_merged_are_those_of_streams_passed_on, .timeout = 20)
{
	struct warder_result *result = result_of(JAIL_CAUSE_EXIT, 0, 0);
	struct json_value *json;

	result->outcome.dropped[JAIL_STDERR] = 7;
	result->outcome.merged = true;
	json = parse(warder_result_json(result));
	cr_expect_null(json_member(json, "merged"));
	cr_expect_null(at(json, "stderr", "bytesDropped"));
	json_free(json);
	result->streamed = true;
	json = parse(warder_result_json(result));
	cr_expect(at(json, "merged", NULL)->boolean);
	cr_expect(at(json, "stderr", "bytesDropped")->uint == 7);
	cr_expect(at(json, "stderr", "truncated")->boolean);
	cr_expect(at(json, "stdout", "bytesDropped")->uint == 0);
	cr_expect_not(at(json, "stdout", "truncated")->boolean);
	json_free(json);
	result->outcome.merged = false;
	json = parse(warder_result_json(result));
	cr_expect_not(at(json, "merged", NULL)->boolean);
	json_free(json);
	warder_result_free(result);
}

Test(result, output_ends_with_a_nul_and_is_never_null, .timeout = 20)
{
	struct warder_result *result = result_of(JAIL_CAUSE_EXIT, 0, 0);
	uint64_t total = 9;
	size_t len = 9;

	cr_expect_str_eq(warder_result_output(result, WARDER_STDOUT, &len, &total), "");
	cr_expect(len == 0 && total == 0);
	put(result, JAIL_STDERR, "err", 3, 7);
	cr_expect_str_eq(warder_result_output(result, WARDER_STDERR, &len, &total), "err");
	cr_expect(len == 3 && total == 7);
	cr_expect_str_eq(warder_result_output(result, WARDER_STDERR, NULL, NULL), "err");
	warder_result_free(result);
	warder_result_free(NULL);
}

Test(result, an_error_is_an_object, .timeout = 20)
{
	struct warder_error err;
	struct json_value *json;

	error_set(&err, WARDER_ERROR_REJECTED, "limits.memory", "more than \"granted\"");
	json = parse(result_error_json(&err, NULL));
	cr_expect_str_eq(at(json, "status", NULL)->string, "rejected");
	cr_expect_str_eq(at(json, "error", "kind")->string, "rejected");
	cr_expect_str_eq(at(json, "error", "field")->string, "limits.memory");
	cr_expect(at(json, "error", "step")->type == JSON_NULL);
	cr_expect_str_eq(at(json, "error", "message")->string, "more than \"granted\"");
	json_free(json);
}

/* Cut off anywhere, such as without room for the rest, it is no result, and nothing of it stays. */
Test(result, a_file_that_ends_early_is_no_result, .timeout = 60)
{
	struct warder_result *result = result_of(JAIL_CAUSE_EXIT, 0, 0);
	struct rootfs_collection *collected = &result->outcome.collected;
	struct stat st;
	int fd;

	result->backend = "local";
	put(result, JAIL_STDOUT, "some output", 11, 11);
	collected->items = calloc(2, sizeof(*collected->items));
	collected->count = 2;
	for (size_t i = 0; i < 2; i++)
		collected->items[i] = (struct rootfs_item){ .path = strdup("out/file"),
							    .taken = ROOTFS_TAKEN_INLINE,
							    .bytes = strdup("bytes"),
							    .size = 5 };
	fd = result_write_file(result);
	cr_assert(fd >= 0 && fstat(fd, &st) == 0);
	warder_result_free(result);
	for (off_t len = st.st_size; len >= 0; len -= st.st_size - len < 200 ? 1 : 64) {
		struct warder_result *read = calloc(1, sizeof(*read));
		int done;

		cr_assert(ftruncate(fd, len) == 0 && lseek(fd, 0, SEEK_SET) == 0);
		done = result_read_file(fd, read);
		cr_expect_eq(done, len == st.st_size ? 0 : -1, "%ld bytes", (long)len);
		cr_expect(done < 0 || (read->outcome.collected.count == 2 &&
				       strcmp(read->outcome.collected.items[1].path, "out/file") == 0));
		if (done == 0)
			warder_result_free(read);
		else
			free(read);
	}
	close(fd);
}

/* The learned policy comes back with its destinations, and a policy that is cut off does not. */
Test(result, a_file_has_what_was_learned, .timeout = 20)
{
	struct warder_result *result = result_of(JAIL_CAUSE_EXIT, 0, 0), *read = calloc(1, sizeof(*read));
	struct edge_report *report = calloc(1, sizeof(*report));
	struct policy ran = { 0 };
	struct warder_error err;
	struct stat st;
	int fd;

	cr_assert(policy_preset("strict", &ran, &err) == 0);
	report->use_count = 1;
	report->uses_unlisted = 3;
	report->uses[0] = (struct edge_use){ .port = 80, .count = 2 };
	strcpy(report->uses[0].destination, "pypi.test");
	result->backend = "local";
	result->outcome.network = report;
	cr_assert(learned_new(&ran, report, &result->learned, &err) == 0);
	fd = result_write_file(result);
	cr_assert(fd >= 0 && fstat(fd, &st) == 0 && result_read_file(fd, read) == 0);
	cr_assert(read->learned);
	cr_expect(read->learned->left_out == 3 && read->learned->use_count == 1);
	cr_expect_str_eq(read->learned->uses[0].destination, "pypi.test");
	cr_expect(read->learned->policy.network.mode == POLICY_NETWORK_ALLOW &&
		  read->learned->policy.network.allow.count == 1);
	warder_result_free(read);
	read = calloc(1, sizeof(*read));
	cr_expect(ftruncate(fd, st.st_size - 1) == 0 && lseek(fd, 0, SEEK_SET) == 0 &&
		  result_read_file(fd, read) < 0);
	free(read);
	warder_result_free(result);
	policy_done(&ran);
	close(fd);
}

/* A report with `count` destinations, each with a port of its own. */
static struct edge_report *report_of(uint32_t count)
{
	struct edge_report *report = calloc(1, sizeof(*report));

	report->use_count = count;
	for (uint32_t i = 0; i < count; i++) {
		report->uses[i] = (struct edge_use){ .port = (uint16_t)(1000 + i), .count = 1 };
		snprintf(report->uses[i].destination, sizeof(report->uses[i].destination), "host%u.test", i);
	}
	return report;
}

/* Takes the result. */
static struct warder_result *through_a_file(struct warder_result *result)
{
	struct warder_result *read = calloc(1, sizeof(*read));
	const int fd = result_write_file(result);

	cr_assert(fd >= 0 && result_read_file(fd, read) == 0);
	cr_expect(read->outcome.network && read->outcome.exit_code == 7);
	close(fd);
	warder_result_free(result);
	return read;
}

static struct warder_result *learned_result(const struct policy *ran, uint32_t destinations)
{
	struct warder_result *result = result_of(JAIL_CAUSE_EXIT, 7, 0);
	struct warder_error err;

	result->backend = "local";
	result->outcome.network = report_of(destinations);
	cr_assert(learned_new(ran, result->outcome.network, &result->learned, &err) == 0);
	return result;
}

/* A policy names at most 64 different ports. */
Test(result, a_learned_policy_has_no_more_ports_than_a_policy_can, .timeout = 20)
{
	struct policy ran = { 0 };
	struct warder_error err;
	struct warder_result *read;

	cr_assert(policy_preset("strict", &ran, &err) == 0);
	read = through_a_file(learned_result(&ran, 70));
	cr_assert(read->learned);
	cr_expect_eq(read->learned->policy.network.allow.count, 64);
	cr_expect_eq(read->learned->left_out, 6);
	cr_expect_eq(read->learned->use_count, 70);
	warder_result_free(read);
	policy_done(&ran);
}

static void set_variable(struct policy *policy, int number, size_t len)
{
	char name[64], *value = malloc(len + 1);
	struct warder_error err;

	memset(value, 'x', len);
	value[len] = '\0';
	snprintf(name, sizeof(name), "environment.set.V%d", number);
	cr_assert(policy_set(policy, name, value, &err) == 0, "%s", err.text);
	free(value);
}

/* A document has at most 1 MiB. */
Test(result, a_learned_policy_is_no_longer_than_a_document_can_be, .timeout = 20)
{
	struct policy ran = { 0 };
	struct warder_error err;
	struct warder_result *read;
	char *text;

	cr_assert(policy_preset("strict", &ran, &err) == 0);
	for (int i = 0; i < 31; i++)
		set_variable(&ran, i, 32000);
	text = policy_encode(&ran);
	set_variable(&ran, 31, (1 << 20) - strlen(text) - 400);
	free(text);
	read = through_a_file(learned_result(&ran, 1));
	cr_assert(read->learned);
	cr_expect(read->learned->left_out == 0 && read->learned->policy.network.allow.count == 1);
	warder_result_free(read);
	read = through_a_file(learned_result(&ran, 64));
	cr_assert(read->learned);
	cr_expect_eq(read->learned->left_out, 64);
	cr_expect_eq(read->learned->policy.network.allow.count, 0);
	warder_result_free(read);
	policy_done(&ran);
}

/* As another version of the program may write it. */
Test(result, a_learned_policy_that_cannot_be_read_does_not_lose_the_result, .timeout = 20)
{
	struct warder_result *result, *read;
	struct policy ran = { 0 };
	struct warder_error err;
	char row[64];

	cr_assert(policy_preset("strict", &ran, &err) == 0);
	result = learned_result(&ran, 1);
	for (int i = 0; i < 70; i++) {
		snprintf(row, sizeof(row), "more%d.test:%d", i, 2000 + i);
		cr_assert(policy_set(&result->learned->policy, "network.allow", row, &err) == 0);
	}
	read = through_a_file(result);
	cr_expect(!read->learned);
	warder_result_free(read);
	policy_done(&ran);
}
