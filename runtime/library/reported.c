/*
 * reported: a document of another machine becomes a result.
 *
 * The host may lie in all of it, and nothing here can find that out. What must not happen is that a lie harms this machine: every number
 * has its range, every text its size, and a text for people has no control characters. The streams are the program's own bytes.
 */
#include "runtime/library/reported.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "runtime/library/reported_code.h"
#include "runtime/library/result_end.h"

static int bad(const char *label, const char *member, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_UNAVAILABLE, "backend",
			 "%s: the result has no valid \"%s\"; whether and how the program ran is not known",
			 label, member);
}

static bool take_uint(const struct json_value *object, const char *key, uint64_t *ret)
{
	const struct json_value *value = json_member(object, key);

	if (!value || !value->is_uint)
		return false;
	*ret = value->uint;
	return true;
}

/* A member that is null where it is not known. */
static uint64_t known(const struct json_value *object, const char *key)
{
	uint64_t value = UINT64_MAX;

	take_uint(object, key, &value);
	return value;
}

static int take_cause(const struct json_value *document, const char *label, struct jail_outcome *to,
		      struct warder_error *err)
{
	const char *name = json_member_text(document, "cause", "");

	for (enum jail_cause cause = 0; cause < JAIL_CAUSE_COUNT; cause++)
		if (strcmp(jail_cause_name(cause), name) == 0) {
			to->cause = cause;
			return 0;
		}
	return bad(label, "cause", err);
}

static int take_end(const struct json_value *document, const char *label, struct jail_outcome *to,
		    struct warder_error *err)
{
	const struct json_value *code = json_member(document, "exitCode");
	const struct json_value *signal = json_member(document, "signal");

	to->exit_code = -1;
	if (!code || (code->type != JSON_NULL && (!code->is_uint || code->uint > 255)))
		return bad(label, "exitCode", err);
	if (code->is_uint)
		to->exit_code = (int)code->uint;
	if (!signal || (signal->type != JSON_NULL && signal->type != JSON_STRING))
		return bad(label, "signal", err);
	if (signal->type == JSON_STRING)
		to->signal = result_signal_number(signal->string);
	if (to->signal < 0)
		return bad(label, "signal", err);
	return to->cause == JAIL_CAUSE_EXIT && to->exit_code < 0 ? bad(label, "exitCode", err) : 0;
}

static int take_stream(const struct json_value *document, const char *key, const char *label,
		       struct reported_streams *beside, struct jail_output *to, struct warder_error *err)
{
	const int at = strcmp(key, "stderr") == 0;
	const struct json_value *stream = json_member(document, key);
	const char *text = stream ? json_member_text(stream, "text", NULL) : NULL;
	const char *encoded = stream ? json_member_text(stream, "base64", NULL) : NULL;

	if ((!text == !encoded) != (beside != NULL) || !stream ||
	    !take_uint(stream, "bytesTotal", &to->total))
		return bad(label, key, err);
	if (beside) {
		to->bytes = beside->bytes[at];
		to->len = beside->len[at];
		beside->bytes[at] = NULL;
	} else {
		to->len = text ? strlen(text) : 0;
		to->bytes = text ? strdup(text) : text_unbase64(encoded, strlen(encoded), &to->len);
	}
	if (!to->bytes && !beside)
		return text ? error_no_memory(err, NULL) : bad(label, key, err);
	if (to->total < to->len)
		return bad(label, key, err);
	to->truncated = to->total > to->len || (beside && beside->lost);
	return 0;
}

/* ---- what the host has signed of the output ---- */

static void count(const char *bytes, size_t len, uint64_t offset, struct reported_came *ret)
{
	struct sha256 sha;

	*ret = (struct reported_came){ .known = true, .offset = offset, .bytes = len };
	sha256_init(&sha);
	sha256_add(&sha, bytes, len);
	sha256_hex(&sha, ret->sha256);
}

void reported_count(struct reported_streams *streams, const uint64_t offsets[2])
{
	for (int i = 0; i < 2; i++)
		count(streams->bytes[i], streams->len[i], offsets[i], &streams->came[i]);
}

/* Of a stream with a tail, the host may have signed less than came: the part of it that is signed. It is not known if a byte of it did not come,
 * or is not here any more. */
static struct reported_came part_of(const struct reported_came *came, uint64_t offset, uint64_t bytes)
{
	struct reported_came part = *came;

	if (!came->tail || offset == came->offset)
		return part;
	if (offset < came->offset)
		part.known = false;
	else if (came->offset + came->bytes - offset != bytes)
		return part;
	else if (bytes > came->tail_len)
		part.known = false;
	else
		count(came->tail + came->tail_len - bytes, (size_t)bytes, offset, &part);
	return part;
}

/* How the stream compares with what `is_signed` says. -1 with *err: it differs. */
static int compare(const struct json_value *is_signed, const char *key, const char *label,
		   const struct reported_came *whole, enum policy_outputs *ret, struct warder_error *err)
{
	struct reported_came came;
	const char *digest = is_signed ? json_member_text(is_signed, "sha256", "") : "";
	uint64_t offset, bytes;
	bool same;

	if (!is_signed || !take_uint(is_signed, "offset", &offset) ||
	    !take_uint(is_signed, "bytes", &bytes) || strspn(digest, "0123456789abcdef") != SHA256_HEX - 1 ||
	    digest[SHA256_HEX - 1])
		return bad(label, "outputs", err);
	came = part_of(whole, offset, bytes);
	if (!came.known) {
		*ret = POLICY_OUTPUTS_NOT_COMPARED;
		return 0;
	}
	*ret = came.offset > whole->offset ? POLICY_OUTPUTS_END_SIGNED : POLICY_OUTPUTS_SIGNED;
	same = came.bytes == bytes && (!bytes || came.offset == offset) && strcmp(came.sha256, digest) == 0;
	return same ? 0
		    : error_set(err, WARDER_ERROR_UNAVAILABLE, key,
				"%s: %s differs from what the host has signed: %llu bytes came with the "
				"SHA-256 digest %.16s..., and %llu bytes with %.16s... are signed",
				label, key, (unsigned long long)came.bytes, came.sha256,
				(unsigned long long)bytes, digest);
}

/* Compare both streams. The answer is signed as a whole, so output that is in it is signed, also by a host that tells no digests. */
static int take_outputs(const struct json_value *document, const char *label,
			const struct reported_streams *beside, struct warder_result *to,
			struct warder_error *err)
{
	static const char *const keys[] = { "stdout", "stderr" };
	const struct json_value *outputs = json_member(document, "outputs");
	enum policy_outputs one = POLICY_OUTPUTS_NOT_COMPARED, worst = POLICY_OUTPUTS_SIGNED;

	if (to->unmeasured)
		return 0;
	to->receipt.outputs = beside ? POLICY_OUTPUTS_NOT_SIGNED : POLICY_OUTPUTS_SIGNED;
	for (int i = 0; i < 2 && outputs; i++) {
		const struct jail_output *output = &to->outcome.output[i];
		struct reported_came came;

		if (!beside)
			count(output->bytes, output->len, 0, &came);
		if (compare(json_member(outputs, keys[i]), keys[i], label, beside ? &beside->came[i] : &came,
			    &one, err) < 0)
			return -1;
		worst = one > worst ? one : worst;
		to->receipt.outputs = worst;
	}
	return 0;
}

/* Of a run whose supervisor died. */
static bool is_unmeasured(const struct json_value *document)
{
	const struct json_value *stream = json_member(document, "stdout");
	const struct json_value *total = stream ? json_member(stream, "bytesTotal") : NULL;

	return total && total->type == JSON_NULL;
}

static int take_streams(const struct json_value *document, const char *label, struct reported_streams *beside,
			struct warder_result *to, struct warder_error *err)
{
	struct jail_output *output = to->outcome.output;

	to->unmeasured = is_unmeasured(document);
	return to->unmeasured ||
		       (take_stream(document, "stdout", label, beside, &output[JAIL_STDOUT], err) == 0 &&
			take_stream(document, "stderr", label, beside, &output[JAIL_STDERR], err) == 0)
		   ? 0
		   : -1;
}

static void take_limits(const struct json_value *document, struct jail_outcome *to)
{
	const struct json_value *list = json_member(document, "limitsHit");

	for (const struct json_value *one = list ? list->child : NULL; one; one = one->next) {
		if (one->type != JSON_STRING)
			continue;
		to->file_size_hit |= strcmp(one->string, "fileSize") == 0;
		for (enum jail_cause cause = 0; cause < JAIL_CAUSE_COUNT; cause++)
			to->hit[cause] |= strcmp(one->string, jail_cause_name(cause)) == 0;
	}
}

static void take_times(const struct json_value *document, struct warder_result *to)
{
	const struct json_value *times = json_member(document, "durations");
	struct tm utc = { 0 };
	unsigned int ms = 0;
	const char *rest = strptime(json_member_text(document, "startedAt", ""), "%Y-%m-%dT%H:%M:%S", &utc);

	if (rest && sscanf(rest, ".%3uZ", &ms) == 1 && utc.tm_year > 70)
		to->started_ms = (uint64_t)timegm(&utc) * 1000 + ms;
	to->outcome.wall_us = to->outcome.user_us = to->outcome.system_us = UINT64_MAX; /* not known */
	to->prepare_us = to->outcome.launch_us = UINT64_MAX;
	if (!times)
		return;
	take_uint(times, "wallUs", &to->outcome.wall_us);
	take_uint(times, "userUs", &to->outcome.user_us);
	take_uint(times, "systemUs", &to->outcome.system_us);
	take_uint(times, "prepareUs", &to->prepare_us);
	take_uint(times, "launchUs", &to->outcome.launch_us);
}

static void take_identity(const struct json_value *document, struct warder_result *to)
{
	const struct json_value *identity = json_member(document, "identity");
	uint64_t uid = 0, gid = 0;

	to->nobody = !identity || !take_uint(identity, "uid", &uid) || !take_uint(identity, "gid", &gid);
	if (to->nobody)
		return;
	to->uid = (uint32_t)uid;
	to->gid = (uint32_t)gid;
}

static void take_detail(const struct json_value *document, struct jail_outcome *to)
{
	snprintf(to->detail, sizeof(to->detail), "%s", json_member_text(document, "detail", ""));
	for (char *at = to->detail; *at; at++)
		if ((unsigned char)*at < ' ' || *at == '\x7f')
			*at = '?';
}

/* As it is: nothing here acts on it. -1 without memory. */
static int take_network(const struct json_value *document, struct warder_result *to)
{
	const struct json_value *network = json_member(document, "network");

	if (!network || network->type != JSON_OBJECT)
		return 0;
	to->reported_network = json_text(network);
	return to->reported_network ? 0 : -1;
}

static int fill(const struct json_value *document, const char *label, struct reported_streams *beside,
		struct warder_result *to, struct warder_error *err)
{
	const struct json_value *receipt = json_member(document, "receipt");

	to->backend = label;
	if (take_cause(document, label, &to->outcome, err) < 0 ||
	    take_end(document, label, &to->outcome, err) < 0 ||
	    take_streams(document, label, beside, to, err) < 0)
		return -1;
	if (!receipt || receipt->type != JSON_OBJECT)
		return bad(label, "receipt", err);
	if (policy_receipt_read(receipt, label, &to->receipt, err) < 0 ||
	    take_outputs(document, label, beside, to, err) < 0)
		return -1;
	take_limits(document, &to->outcome);
	take_times(document, to);
	take_identity(document, to);
	take_detail(document, &to->outcome);
	to->outcome.memory_peak_bytes = known(document, "peakMemoryBytes");
	to->outcome.cpu_us = known(document, "cpuTimeUs");
	to->outcome.pids_peak = known(document, "peakPids");
	if (take_network(document, to) < 0)
		return error_no_memory(err, NULL);
	return json_member(document, "language") ? reported_code(document, label, &to->code, err) : 0;
}

/* may_lack_run: 1 for a document about code for which nothing had to run. */
static int read_result(const char *json, size_t len, const char *label, bool may_lack_run,
		       struct reported_streams *streams, struct warder_result **ret, struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = SIZE_MAX, .max_values = 100000 };
	struct warder_result *result = calloc(1, sizeof(*result));
	struct json_value *document = NULL;
	struct warder_error why = { 0 };
	int status;

	if (!result)
		return error_no_memory(err, NULL);
	if (json_parse(json, len, "result", &limits, &document, &why) < 0 || document->type != JSON_OBJECT)
		status = bad(label, "status", err);
	else if (may_lack_run && !json_member(document, "cause") && json_member(document, "language"))
		status = 1;
	else
		status = fill(document, label, streams, result, err);
	json_free(document);
	if (status == 0)
		*ret = result;
	else
		warder_result_free(result);
	return status;
}

int reported_read(const char *json, size_t len, const char *label, bool may_lack_run,
		  struct warder_result **ret, struct warder_error *err)
{
	return read_result(json, len, label, may_lack_run, NULL, ret, err);
}

int reported_read_beside(const char *json, size_t len, const char *label, struct reported_streams *streams,
			 struct warder_result **ret, struct warder_error *err)
{
	return read_result(json, len, label, false, streams, ret, err);
}

struct warder_result *reported_lost(const char *label, const char *detail)
{
	struct warder_result *result = calloc(1, sizeof(*result));

	if (!result)
		return NULL;
	result->backend = label;
	result->receipt.reported = true;
	snprintf(result->receipt.backend, sizeof(result->receipt.backend), "%s", label);
	result->outcome.cause = JAIL_CAUSE_HOST;
	result->outcome.exit_code = -1;
	result->outcome.memory_peak_bytes = result->outcome.cpu_us = result->outcome.pids_peak = UINT64_MAX;
	result->unmeasured = true;
	snprintf(result->outcome.detail, sizeof(result->outcome.detail), "%s", detail);
	return result;
}
