/*
 * code_remote: the host finds the language, checks, builds and runs the code. This machine contributes what `warder code` reads here: the policy
 * with the defaults of the language, the files and the input. The host keeps no built programs, and sends back no files.
 */
#include "runtime/cli/code_remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/remote_request.h"
#include "runtime/code/code.h"

#define LANGUAGE_MAX 100

int code_remote_check_flags(const struct args *args, struct warder_error *err)
{
	const struct args_code *code = &args->code;
	const struct remote_request_flag flags[] = {
		{ args->context.session, "--session" },
		{ args->progress, "--progress" },
		{ args->functions.count > 0, "--function-command" },
		{ code->artifacts, "--artifacts" },
		{ code->collect.count > 0, "--collect" },
		{ code->last_line, "--last-line" },
		{ code->function, "--function" },
		{ code->scan, "--scan" },
		{ code->scan_deny, "--scan-deny" },
		{ code->cache, "--cache" },
		{ code->languages, "--languages" },
		{ args->output_max, "--max-output" },
		{ args->cgroup_parent, "--cgroup-parent" },
		{ 0 },
	};

	return remote_request_check_flags(flags, args->backend, err);
}

/* ---- the request ---- */

static int write_code(struct json_writer *w, const struct warder_code *code, struct warder_error *err)
{
	const char *name = code->file_name ? strrchr(code->file_name, '/') : NULL;

	json_key(w, "code");
	if (remote_request_text(w, code->source, "source", err) < 0)
		return -1;
	json_key_string(w, "language", code->language);
	if (!code->file_name)
		return 0;
	json_key(w, "fileName");
	return remote_request_text(w, name ? name + 1 : code->file_name, "source", err);
}

static int write_file(struct json_writer *w, const struct warder_file *file, struct warder_error *err)
{
	char *encoded = text_base64(file->bytes, file->len);

	if (!encoded)
		return error_no_memory(err, NULL);
	json_begin_object(w);
	json_key_string(w, "base64", encoded);
	free(encoded);
	json_key(w, "path");
	if (remote_request_text(w, file->path, "--file", err) < 0)
		return -1;
	json_end_object(w);
	return 0;
}

static int write_files(struct json_writer *w, const struct warder_code *code, struct warder_error *err)
{
	json_key(w, "files");
	json_begin_array(w);
	for (size_t i = 0; i < code->file_count; i++)
		if (write_file(w, &code->files[i], err) < 0)
			return -1;
	json_end_array(w);
	return 0;
}

/* The value of --input. */
static int write_value(struct json_writer *w, const struct code_remote_call *call, struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = REMOTE_JSON_MAX };
	struct json_value *value = NULL;

	if (!call->json)
		return 0;
	if (json_parse(call->json, call->json_len, "input", &limits, &value, err) < 0)
		return -1;
	json_key(w, "input");
	json_copy(w, value);
	json_free(value);
	return 0;
}

static char *write_body(const struct report *report, const struct code_remote_call *call,
			struct warder_error *err)
{
	const struct args *args = report->args;
	struct json_writer w = { 0 };

	json_begin_object(&w);
	if (write_code(&w, call->code, err) < 0 || write_files(&w, call->code, err) < 0 ||
	    write_value(&w, call, err) < 0 || remote_request_texts(&w, "args", call->argv, err) < 0 ||
	    remote_request_policy(&w, &args->policy->policy, err) < 0 ||
	    remote_request_input(&w, call->input_fd, err) < 0) {
		json_writer_done(&w);
		return NULL;
	}
	json_key_bool(&w, "check", args->code.check);
	json_end_object(&w);
	return remote_request_take(&w, err);
}

/* ---- from the choice to the end ---- */

static int finish(struct report *report, const struct preparation *preparation, struct warder_result *result)
{
	const struct result_code *code = result ? result->code : NULL;
	const struct result_stage *last = code ? &code->stages[code->stage_count - 1] : NULL;

	if (!result || (last && strcmp(last->name, "run") != 0))
		return report_built(report, result, last && strcmp(last->status, "success") != 0);
	return remote_request_finish(report, preparation->passed_over, result);
}

static int ask(struct report *report, const struct preparation *preparation,
	       const struct code_remote_call *call)
{
	struct warder_result *result = NULL;
	struct warder_error err = { 0 };
	char *body;
	int done;

	if (report_ended_early(report))
		return 128 + ending_signal();
	body = write_body(report, call, &err);
	if (!body)
		return report_refuse(report, &err, EXIT_REFUSED);
	done = remote_request_send(preparation, &report->args->policy->policy, "code", body, &result, &err);
	explicit_bzero(body, strlen(body));
	free(body);
	return done < 0 ? report_refuse(report, &err, error_exit_status(err.code))
			: finish(report, preparation, result);
}

/* The name that the policy's list of languages must contain. -1 with *err. */
static int find_language(const struct code_remote_call *call, char ret[LANGUAGE_MAX],
			 struct warder_error *err)
{
	struct languages *languages = NULL;
	const char *name, *found_by;
	int status;

	if (languages_load(code_languages_path(NULL), &languages, err) != 0)
		return -1;
	status = code_language(languages, call->code, &name, &found_by, err);
	if (status == 0 && !languages_canonical(languages, name))
		status = languages_refuse(languages, name, err);
	else if (status == 0)
		snprintf(ret, LANGUAGE_MAX, "%s", languages_canonical(languages, name));
	languages_free(languages);
	return status;
}

/* Refuse a module of WebAssembly: a request in JSON can hold only text. */
static int check_text(const struct code_remote_call *call, struct warder_error *err)
{
	return memchr(call->code->source, '\0', call->code->source_len)
		   ? error_set(err, WARDER_ERROR_INVALID_REQUEST, "source",
			       "source: code for a host on another machine must be text; a module of "
			       "WebAssembly runs on this machine only")
		   : 0;
}

int code_remote(struct report *report, const struct code_remote_call *call)
{
	const struct args *args = report->args;
	char language[LANGUAGE_MAX] = "";
	struct policy_subject subject = { language, POLICY_PAYLOAD_SOURCE };
	const struct preparation_options options = {
		.ceiling = args->ceiling ? &args->ceiling->policy : NULL,
		.backend = args->backend,
		.backends = args->backends,
		.subject = &subject,
		.remotes = true,
	};
	struct preparation preparation = { 0 };
	struct warder_error err = { 0 };
	int status;

	/* The flags again: the policy has added some. */
	if (code_remote_check_flags(args, &err) < 0 || check_text(call, &err) < 0 ||
	    find_language(call, language, &err) < 0) {
		return report_refuse(report, &err, EXIT_REFUSED);
	}
	if (strcmp(language, "command") == 0)
		subject.payload = POLICY_PAYLOAD_PROGRAM;
	if (preparation_build(&args->policy->policy, &options, &preparation, &err) < 0 ||
	    backend_remote_check_kind(&preparation.remote, "a piece of code", &err) < 0)
		status = report_refuse(report, &err, EXIT_REFUSED);
	else
		status = ask(report, &preparation, call);
	preparation_done(&preparation);
	return status;
}
