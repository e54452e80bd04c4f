/*
 * remote_request: the program's policy, variables and input go out in one request, and the result comes back in one answer.
 *
 * From the moment at which the host may have the request, no error says any more that nothing ran: a lost answer is a result with the cause
 * `host`.
 */
#include "runtime/cli/remote_request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/term.h"
#include "runtime/library/reported.h"

#define INPUT_MAX  ((size_t)512 << 10)
#define PATIENCE_S 60 /* that a host may take longer than the program */

int remote_request_check_flags(const struct remote_request_flag *flags, const char *backend,
			       struct warder_error *err)
{
	for (; flags->name; flags++)
		if (flags->given)
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, flags->name,
					 "%s works with programs on this machine only; leave it out, or "
					 "--backend %.40s",
					 flags->name, backend);
	return 0;
}

int remote_request_refuse_flags(const struct args *args, struct warder_error *err)
{
	const char *there = args->session.attach        ? "--attach"
			    : args->session.recreate    ? "--recreate"
			    : args->session.on_recreate ? "--on-recreate"
							: NULL;

	return there ? error_set(err, WARDER_ERROR_INVALID_REQUEST, there,
				 "%s works with sessions on other machines only: name the host with "
				 "--backend remote:NAME",
				 there)
		     : 0;
}

/* ---- the request ---- */

/* All of standard input. -1 with *err: there is more than a request may have, or a signal came. */
static int read_input(int fd, char **ret, size_t *ret_len, struct warder_error *err)
{
	char *bytes = malloc(INPUT_MAX + 1);
	size_t len = 0;
	ssize_t got = 1;

	if (!bytes)
		return error_no_memory(err, "stdin");
	while (fd >= 0 && len <= INPUT_MAX && got != 0 && !ending_signal()) {
		got = read(fd, bytes + len, INPUT_MAX + 1 - len);
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

int remote_request_text(struct json_writer *w, const char *text, const char *field, struct warder_error *err)
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
int remote_request_environment(struct json_writer *w, const struct policy *policy, struct warder_error *err)
{
	const struct policy_strings *names = &policy->environment.names;

	json_key(w, "env");
	json_begin_object(w);
	for (size_t i = 0; i < names->count; i++) {
		const char *value = getenv(names->items[i]);

		if (!value || is_set(policy, names->items[i]))
			continue;
		json_key(w, names->items[i]);
		if (remote_request_text(w, value, "environment.names", err) < 0)
			return -1;
	}
	for (size_t i = 0; i < policy->environment.set_count; i++) {
		json_key(w, policy->environment.set[i].name);
		if (remote_request_text(w, policy->environment.set[i].value, "environment.set", err) < 0)
			return -1;
	}
	json_end_object(w);
	return 0;
}

/* The policy without its variables. */
int remote_request_policy(struct json_writer *w, const struct policy *policy, struct warder_error *err)
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
	return remote_request_environment(w, policy, err);
}

int remote_request_texts(struct json_writer *w, const char *key, char *const *texts, struct warder_error *err)
{
	json_key(w, key);
	json_begin_array(w);
	for (; *texts; texts++)
		if (remote_request_text(w, *texts, key, err) < 0)
			return -1;
	json_end_array(w);
	return 0;
}

int remote_request_input(struct json_writer *w, int fd, struct warder_error *err)
{
	char *bytes = NULL, *encoded;
	size_t len = 0;

	if (read_input(fd, &bytes, &len, err) < 0)
		return -1;
	encoded = text_base64(bytes, len);
	free(bytes);
	if (!encoded)
		return error_no_memory(err, "stdin");
	json_key_string(w, "stdinBase64", encoded);
	free(encoded);
	return 0;
}

char *remote_request_take(struct json_writer *w, struct warder_error *err)
{
	char *text = json_take(w);

	if (!text) {
		error_no_memory(err, NULL);
	} else if (strlen(text) > REMOTE_JSON_MAX) {
		error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL,
			  "policy, arguments, variables, files and input together are longer than the 1 MiB "
			  "that a host on another machine takes");
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
			term_complain("%s: %zu of %llu bytes came from the host (output.%s)", names[i],
				      output->len, (unsigned long long)output->total, names[i]);
	}
	return missing;
}

int remote_request_finish(struct report *report, const char *passed_over, struct warder_result *result)
{
	bool missing = false;
	int status;

	snprintf(result->passed_over, sizeof(result->passed_over), "%s", passed_over);
	if (!report->args->json && !result->streamed)
		missing = pass_output(result);
	status = report_result(report, result);
	return status == 0 && missing ? EXIT_REFUSED : status;
}

/* The host may have begun to run it. */
struct warder_result *remote_request_lost(const char *label, const struct warder_error *why)
{
	const bool ended = strcmp(why->field, "stdout") == 0 || strcmp(why->field, "stderr") == 0;
	char detail[400];

	snprintf(detail, sizeof(detail), "%.240s; %s", why->text,
		 ended ? "the result is not used"
		       : "whether the program ran, whether it still runs, and what it did are not known");
	return reported_lost(label, term_clean(detail));
}

int remote_request_send(const struct preparation *preparation, const struct policy *policy, const char *call,
			const char *body, struct warder_result **ret, struct warder_error *err)
{
	char path[32];
	const uint64_t wall_us = policy->limits.wall_time_us;
	const struct backend_remote_request request = {
		.path = path,
		.signs = call,
		.body = body,
		.timeout_ms = wall_us == POLICY_UNLIMITED ? 0 : wall_us / 1000 + PATIENCE_S * 1000,
		.should_stop = ending_came,
	};
	struct remote_answer answer;
	char *text = NULL;
	int done;

	snprintf(path, sizeof(path), "/v1/%s", call);
	done = backend_remote_ask(&preparation->remote, &request, &answer, &text, err);
	if (done == 0)
		done = reported_read(text, answer.bytes, preparation->remote_label, strcmp(call, "code") == 0,
				     ret, err);
	free(text);
	if (done >= 0 || (answer.status != 200 && (answer.status || !answer.sent)))
		return done;
	*ret = remote_request_lost(preparation->remote_label, err);
	return *ret ? 0 : -1;
}
