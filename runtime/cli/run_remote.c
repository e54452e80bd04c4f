/*
 * run_remote: the program's policy, arguments, variables and input go out in one request, and the result comes back in one answer.
 *
 * Nothing is sent before everything is checked that this machine can check: flags, the ceiling, what the policy needs of this machine, and
 * the match with what the host reports. From the moment at which the host may have the request, no error says any more that nothing ran:
 * a lost answer is a result with the cause `host`.
 */
#include "runtime/cli/run_remote.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/text.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/term.h"
#include "runtime/library/preparation.h"
#include "runtime/library/reported.h"

#define INPUT_MAX  ((size_t)512 << 10)
#define PATIENCE_S 60 /* that a host may take longer than the program */

/* A flag that needs the program on this machine; or NULL. */
static const char *local_flag(const struct args *args)
{
	const struct {
		bool given;
		const char *name;
	} flags[] = {
		{ args->terminal, "--terminal" },
		{ args->execution.detach, "--detach" },
		{ args->changes.dry_run || args->changes.directory, "--changes" },
		{ args->progress, "--progress" },
		{ args->functions.count > 0, "--function-command" },
		{ args->replay, "--replay" },
		{ args->code.artifacts, "--artifacts" },
		{ args->output_max, "--max-output" },
		{ args->cgroup_parent, "--cgroup-parent" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(flags); i++)
		if (flags[i].given)
			return flags[i].name;
	return NULL;
}

/* ---- the request ---- */

/* All of standard input. -1 with *err: there is more than a request may have, or a signal came. */
static int read_input(const struct args *args, char **ret, size_t *ret_len, struct warder_error *err)
{
	char *bytes = malloc(INPUT_MAX + 1);
	size_t len = 0;
	ssize_t got = 1;

	if (!bytes)
		return error_no_memory(err, "stdin");
	while (!args->no_input && len <= INPUT_MAX && got != 0 && !ending_signal()) {
		got = read(STDIN_FILENO, bytes + len, INPUT_MAX + 1 - len);
		if (got < 0 && errno != EINTR) {
			free(bytes);
			return error_set_errno(err, WARDER_ERROR_INVALID_REQUEST, "stdin", errno,
					       "standard input cannot be read");
		}
		len += got > 0 ? (size_t)got : 0;
	}
	if (len > INPUT_MAX || ending_signal()) {
		free(bytes);
		return ending_signal()
			   ? error_set(err, WARDER_ERROR_UNAVAILABLE, "stdin",
				       "a signal came before the start")
			   : error_set(err, WARDER_ERROR_INVALID_REQUEST, "stdin",
				       "standard input has more than 512KiB, and a host on another "
				       "machine gets no more; let the program fetch the rest");
	}
	*ret = bytes;
	*ret_len = len;
	return 0;
}

static int write_text(struct json_writer *w, const char *text, const char *field, struct warder_error *err)
{
	size_t len;

	if (!text_length(text, strlen(text), false, &len))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
				 "%s: a text for a host on another machine must be UTF-8", field);
	json_string(w, text);
	return 0;
}

static bool is_set(const struct policy *policy, const char *name)
{
	for (size_t i = 0; i < policy->environment.set_count; i++)
		if (strcmp(policy->environment.set[i].name, name) == 0)
			return true;
	return false;
}

/* The variables that the program gets: the host has no others of this machine, and must not take its own for them. */
static int write_environment(struct json_writer *w, const struct policy *policy, struct warder_error *err)
{
	const struct policy_strings *names = &policy->environment.names;

	json_key(w, "env");
	json_begin_object(w);
	for (size_t i = 0; i < names->count; i++) {
		const char *value = getenv(names->items[i]);

		if (!value || is_set(policy, names->items[i]))
			continue;
		json_key(w, names->items[i]);
		if (write_text(w, value, "environment.names", err) < 0)
			return -1;
	}
	for (size_t i = 0; i < policy->environment.set_count; i++) {
		json_key(w, policy->environment.set[i].name);
		if (write_text(w, policy->environment.set[i].value, "environment.set", err) < 0)
			return -1;
	}
	json_end_object(w);
	return 0;
}

/* The policy without its variables. */
static int write_policy(struct json_writer *w, const struct policy *policy, struct warder_error *err)
{
	owned_policy struct policy sent = { 0 };

	if (policy_copy(policy, &sent, err) < 0 || policy_set(&sent, "environment.mode", "none", err) < 0)
		return -1;
	while (sent.environment.set_count) {
		struct policy_variable *last = &sent.environment.set[--sent.environment.set_count];

		free(last->name);
		free(last->value);
	}
	json_key(w, "policy");
	policy_write(&sent, w);
	return 0;
}

static int write_argv(struct json_writer *w, char *const *argv, struct warder_error *err)
{
	json_key(w, "argv");
	json_begin_array(w);
	for (; *argv; argv++)
		if (write_text(w, *argv, "argv", err) < 0)
			return -1;
	json_end_array(w);
	return 0;
}

static int write_input(struct json_writer *w, const struct args *args, struct warder_error *err)
{
	char *bytes = NULL, *encoded;
	size_t len = 0;

	if (read_input(args, &bytes, &len, err) < 0)
		return -1;
	encoded = text_base64(bytes, len);
	free(bytes);
	if (!encoded)
		return error_no_memory(err, "stdin");
	json_key_string(w, "stdinBase64", encoded);
	free(encoded);
	return 0;
}

static char *write_body(const struct args *args, struct warder_error *err)
{
	const struct policy *policy = &args->policy->policy;
	struct json_writer w = { 0 };
	char *text;

	json_begin_object(&w);
	if (write_policy(&w, policy, err) < 0 || write_argv(&w, args->rest, err) < 0 ||
	    write_environment(&w, policy, err) < 0 || write_input(&w, args, err) < 0) {
		json_writer_done(&w);
		return NULL;
	}
	json_end_object(&w);
	text = json_take(&w);
	if (!text) {
		error_no_memory(err, NULL);
	} else if (strlen(text) > REMOTE_JSON_MAX) {
		error_set(err, WARDER_ERROR_INVALID_REQUEST, "argv",
			  "policy, arguments, variables and input together are longer than the 1 MiB that a "
			  "host on another machine takes");
		free(text);
		return NULL;
	}
	return text;
}

/* ---- the answer ---- */

/* As the program would have written it. Whether something of it is missing. */
static bool pass_output(struct warder_result *result)
{
	static const char *const names[] = { "stdout", "stderr" };
	struct jail_outcome *outcome = &result->outcome;
	bool missing = false;

	result->streamed = true;
	for (int i = 0; i < 2; i++) {
		const struct jail_output *output = &outcome->output[i];

		if (output->len &&
		    file_write_all(i ? STDERR_FILENO : STDOUT_FILENO, output->bytes, output->len) < 0) {
			outcome->receiver_errno = errno;
			outcome->cause = JAIL_CAUSE_CANCELLED;
			return false;
		}
		result->passed[i] = output->len;
		missing |= output->truncated;
		if (output->truncated)
			term_complain("%s: the host kept %zu of %llu bytes (output.%s)", names[i],
				      output->len, (unsigned long long)output->total, names[i]);
	}
	return missing;
}

static int finish(struct report *report, const struct preparation *preparation, struct warder_result *result)
{
	bool missing = false;
	int status;

	if (!result)
		return EXIT_REFUSED;
	snprintf(result->passed_over, sizeof(result->passed_over), "%s", preparation->passed_over);
	if (!report->args->json)
		missing = pass_output(result);
	status = report_result(report, result);
	return status == 0 && missing ? EXIT_REFUSED : status;
}

/* The host may have begun to run it. */
static struct warder_result *lose(const char *label, const struct warder_error *why)
{
	char detail[400];

	snprintf(detail, sizeof(detail),
		 "%.220s; whether the program ran, whether it still runs, and what it did are not known",
		 why->text);
	return reported_lost(label, term_clean(detail));
}

static int ask(struct report *report, const struct preparation *preparation, const char *body)
{
	const uint64_t wall_us = report->args->policy->policy.limits.wall_time_us;
	const struct backend_remote_request request = {
		.path = "/v1/run",
		.signs = "run",
		.body = body,
		.timeout_ms = wall_us == POLICY_UNLIMITED ? 0 : wall_us / 1000 + PATIENCE_S * 1000,
		.should_stop = ending_came,
	};
	struct warder_result *result = NULL;
	struct remote_answer answer;
	struct warder_error err = { 0 };
	char *text = NULL;
	int done = backend_remote_ask(&preparation->remote, &request, &answer, &text, &err);

	if (done == 0)
		done = reported_read(text, answer.bytes, preparation->remote_label, &result, &err);
	free(text);
	if (done < 0 && (answer.status == 200 || (!answer.status && answer.sent)))
		result = lose(preparation->remote_label, &err);
	if (!result)
		return report_refuse(report, &err, error_exit_status(err.code));
	return finish(report, preparation, result);
}

static int run_there(struct report *report, const struct preparation *preparation)
{
	struct warder_error err = { 0 };
	char *body;
	int status;

	if (report_ended_early(report))
		return 128 + ending_signal();
	body = write_body(report->args, &err);
	if (!body)
		return report_refuse(report, &err, EXIT_REFUSED);
	status = ask(report, preparation, body);
	explicit_bzero(body, strlen(body));
	free(body);
	return status;
}

/* ---- the choice ---- */

static int check_flags(const struct args *args, struct warder_error *err)
{
	const char *flag = local_flag(args);

	if (!flag)
		return 0;
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, flag,
			 "%s works with programs on this machine only; leave it out, or --backend %.40s",
			 flag, args->backend);
}

/* True: *ret_status is that of the run on another machine, or of a refusal. False: the run is to be here. */
static bool choose_host(struct report *report, bool named, struct warder_error *err, const char **ret_backend,
			int *ret_status)
{
	const struct args *args = report->args;
	const struct preparation_options options = {
		.ceiling = args->ceiling ? &args->ceiling->policy : NULL,
		.cgroup_parent = args->cgroup_parent,
		.backend = args->backend,
		.backends = args->backends,
		.remotes = true,
	};
	struct preparation preparation = { 0 };
	bool here;

	if (err->code || (named && check_flags(args, err) < 0) ||
	    preparation_build(&args->policy->policy, &options, &preparation, err) < 0) {
		*ret_status = report_refuse(report, err, EXIT_REFUSED);
		preparation_done(&preparation);
		return true;
	}
	here = !preparation.is_remote;
	if (here) {
		*ret_backend = preparation.backend->name;
		snprintf(report->passed_over, sizeof(report->passed_over), "%s", preparation.passed_over);
	} else {
		*ret_status = run_there(report, &preparation);
	}
	preparation_done(&preparation);
	return !here;
}

bool run_remote(struct report *report, const char **ret_backend, int *ret_status)
{
	const struct args *args = report->args;
	const bool named = args->backend && backend_is_remote(args->backend);
	struct warder_error err = { 0 };
	bool may = false;

	*ret_backend = NULL;
	if (!named && local_flag(args)) /* auto takes no host then */
		return false;
	if (preparation_may_be_remote(args->backend, args->backends, &may, &err) == 0 && !may)
		return false;
	return choose_host(report, named, &err, ret_backend, ret_status);
}
