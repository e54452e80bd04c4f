/*
 * run_e2b: what E2B's protocol has a place for: arguments, variables, a directory, input, a time limit, and whether there is a network.
 *
 * The service says how the program ended. The receipt is written here: the time limit is what the service reports, and nothing else of the
 * policy is enforced.
 */
#include "runtime/cli/run_e2b.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/cli/ending.h"
#include "runtime/cli/remote_request.h"
#include "runtime/cli/term.h"
#include "runtime/library/reported.h"

char *run_e2b_job(const struct args *args, struct warder_error *err)
{
	const struct policy *policy = &args->policy->policy;
	struct json_writer w = { 0 };
	bool good;

	json_begin_object(&w);
	good = remote_request_texts(&w, "argv", args->rest, err) == 0 &&
	       remote_request_environment(&w, policy, err) == 0;
	json_key(&w, "cwd");
	if (good && policy->working_directory)
		good = remote_request_text(&w, policy->working_directory, "workingDirectory", err) == 0;
	else
		json_null(&w);
	/* A part of a millisecond is one. */
	json_key_uint(&w, "timeoutMs", (policy->limits.wall_time_us + 999) / 1000);
	json_key_bool(&w, "internet", policy->network.mode != POLICY_NETWORK_NONE);
	json_key_uint(&w, "stdoutBytes", policy->output.stdout_bytes);
	json_key_uint(&w, "stderrBytes", policy->output.stderr_bytes);
	if (!good || remote_request_input(&w, args->no_input ? -1 : STDIN_FILENO, err) < 0) {
		json_writer_done(&w);
		return NULL;
	}
	json_end_object(&w);
	return remote_request_take(&w, err);
}

static void add_rows(const struct preparation *preparation, const struct policy *policy,
		     struct policy_receipt *receipt)
{
	receipt->silent = true;
	receipt->isolation = preparation->capabilities.isolation;
	for (enum policy_control control = 0; control < POLICY_CONTROL_COUNT; control++) {
		const struct policy_capability *capability = &preparation->capabilities.controls[control];
		struct policy_receipt_row *row;

		if (!preparation->match.needed[control])
			continue;
		row = policy_receipt_add(receipt, policy_control_name(control),
					 capability->enforced ? POLICY_RECEIPT_ENFORCED
							      : POLICY_RECEIPT_NOT_ENFORCED);
		if (!row)
			return;
		policy_control_value(policy, control, row->requested, sizeof(row->requested));
		snprintf(row->mechanism, sizeof(row->mechanism), "%s",
			 capability->enforced ? capability->mechanism : "none");
		snprintf(row->value, sizeof(row->value), "%s",
			 capability->enforced ? "" : capability->reason);
	}
}

/* A sandbox that is left costs money, and may still run. */
static void warn_of_left(const char *text, size_t len, const char *label)
{
	const struct json_limits limits = { .max_bytes = SIZE_MAX, .max_values = 100 };
	struct json_value *document = NULL;
	struct warder_error ignored;
	char left[300];

	if (json_parse(text, len, "result", &limits, &document, &ignored) < 0)
		return;
	snprintf(left, sizeof(left), "%s", json_member_text(document, "left", ""));
	json_free(document);
	if (left[0])
		term_complain("%s: %s; it ends by itself some time after its time limit", label,
			      term_clean(left));
}

int run_e2b_send(const struct preparation *preparation, const struct policy *policy, const char *job,
		 struct warder_result **ret, struct warder_error *err)
{
	const struct backend_remote_request request = {
		.path = "/",
		.body = job,
		.should_stop = ending_came,
	};
	struct remote_answer answer;
	char *text = NULL;
	int status = backend_remote_ask(&preparation->remote, &request, &answer, &text, err);

	if (status == 0) {
		warn_of_left(text, answer.bytes, preparation->remote_label);
		status = reported_read(text, answer.bytes, preparation->remote_label, false, ret, err);
	}
	free(text);
	if (status == 0 || !answer.sent) {
		if (status == 0)
			add_rows(preparation, policy, &(*ret)->receipt);
		return status;
	}
	*ret = remote_request_lost(preparation->remote_label, err);
	return *ret ? 0 : -1;
}
