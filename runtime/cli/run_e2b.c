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

#include "base/array.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/execution_name.h"
#include "runtime/cli/remote_request.h"
#include "runtime/cli/session_remote.h"
#include "runtime/cli/term.h"
#include "runtime/library/reported.h"

/* limits: the policy with the limits of the program. directory: where it starts, or NULL. */
static char *write_job(const struct args *args, const struct policy *limits, const char *directory,
		       struct warder_error *err)
{
	struct json_writer w = { 0 };
	bool good;

	json_begin_object(&w);
	good = remote_request_texts(&w, "argv", args->rest, err) == 0 &&
	       remote_request_environment(&w, &args->policy->policy, err) == 0;
	json_key(&w, "cwd");
	if (good && directory)
		good = remote_request_text(&w, directory, "workingDirectory", err) == 0;
	else
		json_null(&w);
	/* A part of a millisecond is one. */
	json_key_uint(&w, "timeoutMs", (limits->limits.wall_time_us + 999) / 1000);
	json_key_uint(&w, "graceMs", args->grace_us / 1000);
	json_key_bool(&w, "internet", limits->network.mode != POLICY_NETWORK_NONE);
	json_key_uint(&w, "stdoutBytes", limits->output.stdout_bytes);
	json_key_uint(&w, "stderrBytes", limits->output.stderr_bytes);
	json_key_bool(&w, "input", args->execution.input);
	if (!good ||
	    remote_request_input(&w, args->no_input || args->execution.detach ? -1 : STDIN_FILENO, err) < 0) {
		json_writer_done(&w);
		return NULL;
	}
	json_end_object(&w);
	return remote_request_take(&w, err);
}

char *run_e2b_job(const struct args *args, struct warder_error *err)
{
	const struct policy *policy = &args->policy->policy;

	return write_job(args, policy, policy->working_directory, err);
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

int run_e2b_send(const struct preparation *preparation, const struct policy *policy, const char *path,
		 const char *job, struct remote_keeping *keeping, struct warder_result **ret,
		 struct warder_error *err)
{
	const struct backend_remote_request request = {
		.path = path,
		.body = job,
		.should_stop = keeping ? remote_place_keep_on : ending_came,
		.context = keeping,
	};
	struct remote_answer answer;
	char *text = NULL;
	int status = backend_remote_ask(&preparation->remote, &request, &answer, &text, err);

	if (status == 0) {
		warn_of_left(text, answer.bytes, preparation->remote_label);
		status = reported_read(text, answer.bytes, preparation->remote_label, false, ret, err);
	}
	free(text);
	if (status == 0 || !answer.sent || answer.status >= 400) {
		if (status == 0) {
			(*ret)->receipt.outputs = POLICY_OUTPUTS_NOT_SIGNED;
			add_rows(preparation, policy, &(*ret)->receipt);
		}
		return status;
	}
	*ret = remote_request_lost(preparation->remote_label, err);
	return *ret ? 0 : -1;
}

/* ---- in a session ---- */

static int match(const struct elsewhere *session, const struct policy *policy, struct preparation *ret,
		 struct warder_error *err)
{
	const struct preparation_options options = {
		.backend = session->backend,
		.backends = session->backends[0] ? session->backends : NULL,
		.remotes = true,
	};

	return preparation_build(policy, &options, ret, err);
}

/* Run the job in the sandbox of *place. A session that waits for its program must not end before it. */
static int send_to(const struct remote_place *place, const struct preparation *preparation,
		   const struct policy *policy, const char *job, struct warder_result **ret,
		   struct warder_error *err)
{
	struct remote_keeping keeping;
	char path[REMOTE_PATH_SIZE];
	int status;

	remote_place_start_keeping(place, policy->limits.wall_time_us / 1000, &keeping);
	snprintf(path, sizeof(path), "/v1/sandboxes/%s/executions", place->session.sandbox);
	status = run_e2b_send(preparation, policy, path, job, &keeping, ret, err);
	remote_place_renew(place);
	return status;
}

/* What an execution needs, of the session as it is. */
struct execution {
	struct policy policy; /* owned */
	struct preparation preparation;
	char *job; /* owned */
};

/* It is for done() in any case. -1 with *err. */
static int prepare(const struct args *args, const struct remote_place *place, struct execution *ret,
		   struct warder_error *err)
{
	const char *directory;

	if (remote_place_policy(
		&place->session,
		given_has(&args->given, "limits.wallTime") ? args->policy->policy.limits.wall_time_us : 0,
		&ret->policy, err) < 0 ||
	    match(&place->session, &ret->policy, &ret->preparation, err) < 0)
		return -1;
	directory = given_has(&args->given, "workingDirectory") ? args->policy->policy.working_directory
								: ret->policy.working_directory;
	ret->job = write_job(args, &ret->policy, directory, err);
	return ret->job ? 0 : -1;
}

static void done(struct execution *execution)
{
	if (execution->job)
		explicit_bzero(execution->job, strlen(execution->job));
	free(execution->job);
	preparation_done(&execution->preparation);
	policy_done(&execution->policy);
}

int run_e2b_execute(struct report *report, struct remote_place *place, struct warder_error *err)
{
	const struct args *args = report->args;
	struct execution execution = { 0 };
	struct warder_result *result = NULL;
	int status;

	if (prepare(args, place, &execution, err) == 0 &&
	    send_to(place, &execution.preparation, &execution.policy, execution.job, &result, err) < 0 &&
	    session_remote_recover(args, place, err) == 0)
		send_to(place, &execution.preparation, &execution.policy, execution.job, &result, err);
	status = result ? remote_request_finish(report, "", result) : -1;
	done(&execution);
	return status;
}

/* ---- detached ---- */

/* The sandbox stays for the time of the program and the idle time, unless a later command sets that to the idle time alone. */
static int start_detached(const struct remote_place *place, const struct execution *execution,
			  struct warder_error *err)
{
	char id[ELSEWHERE_SANDBOX_MAX + 1] = "", name[EXECUTION_NAME_SIZE];
	const uint64_t time_ms = execution->policy.limits.wall_time_us / 1000;
	struct remote_keeping keeping;
	struct remote_asking how = { .body = execution->job,
				     .timeout_ms = 4 * REMOTE_QUESTION_MS,
				     .keeping = &keeping };
	char *text = NULL;
	size_t len = 0;
	int status;

	remote_place_start_keeping(place, time_ms, &keeping);
	status = remote_place_ask(place, "/executions?detach=1", &how, &text, &len, err);
	if (status == 0)
		status = remote_place_take_id(text, len, place->session.backend, id, sizeof(id), err);
	free(text);
	if (status < 0)
		return -1;
	execution_name_write(&place->session, id, name);
	if (!keeping.kept && !remote_place_renew_for(place, time_ms))
		execution_name_warn(&place->session, name);
	printf("%s\n", name);
	return 0;
}

int run_e2b_detach(struct report *report, struct remote_place *place, struct warder_error *err)
{
	const struct args *args = report->args;
	struct execution execution = { 0 };
	int status = prepare(args, place, &execution, err);

	if (status == 0) {
		status = start_detached(place, &execution, err);
		if (status < 0 && session_remote_recover(args, place, err) == 0)
			status = start_detached(place, &execution, err);
	}
	done(&execution);
	return status;
}
