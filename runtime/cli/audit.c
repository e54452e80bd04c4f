/*
 * audit: what a line says.
 *
 * Members have the names that they have in a result. Texts of messages are left out: some quote what the caller typed.
 */
#include "runtime/cli/audit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/line_log.h"
#include "base/sha256.h"
#include "base/text.h"
#include "runtime/cli/term.h"
#include "runtime/cli/workers.h"
#include "runtime/library/result.h"

static const char field[] = "--audit";

/* The member of the result: whether the line is there. */
static void tell(struct audit *audit, const struct warder_error *err)
{
	struct json_writer w = { 0 };

	json_begin_object(&w);
	json_key_string(&w, "file", audit->args->audit);
	json_key_bool(&w, "written", !err);
	if (err)
		json_key_string(&w, "error", err->text);
	json_end_object(&w);
	free(audit->told);
	audit->told = json_take(&w);
}

int audit_open(const struct args *args, const char *which, const char *session, struct audit *ret,
	       struct warder_error *err)
{
	*ret = (struct audit){ .args = args, .fd = -1, .which = which, .session = session };
	if (args->audit_argv && !args->audit)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--audit-argv",
				 "--audit-argv needs --audit FILE, whose lines then have the arguments");
	if (!args->audit || line_log_open(args->audit, field, &ret->fd, err) == 0)
		return 0;
	error_context(err, field);
	if (!args->audit_preferred)
		return -1;
	term_complain("%s; the run goes on without it (--prefer audit)", err->text);
	tell(ret, err);
	*err = (struct warder_error){ 0 };
	return 0;
}

/* ---- a line ---- */

/* As "warder policy show" prints it. */
static void write_policy(const struct policy *policy, struct json_writer *w)
{
	char *text = policy ? policy_encode(policy) : NULL;
	char digest[SHA256_HEX];
	struct sha256 sha;

	if (text) {
		sha256_init(&sha);
		sha256_add(&sha, text, strlen(text));
		sha256_add(&sha, "\n", 1);
		sha256_hex(&sha, digest);
	}
	json_key_string(w, "policySha256", text ? digest : NULL);
	free(text);
}

static void write_caller(struct json_writer *w)
{
	json_key(w, "caller");
	json_begin_object(w);
	json_key_uint(w, "uid", getuid());
	json_key_uint(w, "gid", getgid());
	json_key_uint(w, "pid", (uint64_t)getpid());
	json_end_object(w);
}

static void write_argv(char *const *argv, struct json_writer *w)
{
	json_key(w, "argv");
	json_begin_array(w);
	for (; argv && *argv; argv++) {
		if (json_is_utf8(*argv)) {
			json_string(w, *argv);
			continue;
		}
		json_begin_object(w);
		text_write_name(w, "text", "base64", *argv);
		json_end_object(w);
	}
	json_end_array(w);
}

static void write_refusal(const struct warder_error *err, struct json_writer *w)
{
	result_write_time(w, "startedAt", clock_wall_ms());
	json_key_string(w, "status", "rejected");
	json_key(w, "error");
	json_begin_object(w);
	json_key_string(w, "kind", warder_error_kind_name(err->code));
	json_key_string(w, "field", err->field[0] ? err->field : NULL);
	json_key_string(w, "step", err->step[0] ? err->step : NULL);
	json_end_object(w);
}

/* Who asks for what: the members that are known before the run. */
static void write_head(const struct audit *audit, const struct audit_run *run, struct json_writer *w)
{
	json_key_string(w, "command", audit->which);
	if (audit->session)
		json_key_string(w, "session", audit->session);
	write_caller(w);
	if (run->identity)
		json_key_string(w, "requestIdentity", run->identity);
	if (run->id) {
		json_key(w, "id");
		json_number(w, run->id);
	}
	if (run->name)
		json_key_string(w, "case", run->name);
	write_policy(run->policy, w);
	if (audit->args->audit_argv)
		write_argv(run->argv, w);
}

char *audit_head(const struct audit *audit, const struct audit_run *run)
{
	struct json_writer w = { 0 };

	json_begin_object(&w);
	write_head(audit, run, &w);
	json_end_object(&w);
	return json_take(&w);
}

static char *line_of(const struct audit *audit, const struct audit_run *run)
{
	struct json_writer w = { 0 };
	char *text, *line = NULL;

	json_begin_object(&w);
	write_head(audit, run, &w);
	if (run->result)
		result_write_audit(run->result, &w);
	else
		write_refusal(run->err, &w);
	json_end_object(&w);
	text = json_take(&w);
	if (text && asprintf(&line, "%s\n", text) < 0)
		line = NULL;
	free(text);
	return line;
}

void audit_append(struct audit *audit, const struct audit_run *run)
{
	struct warder_error err = { 0 };
	char *line;
	int status;

	if (audit->fd < 0)
		return;
	line = line_of(audit, run);
	status = line ? line_log_append(audit->fd, audit->args->audit, field, line, strlen(line), &err)
		      : error_no_memory(&err, field);
	free(line);
	if (status != 0) {
		error_context(&err, field);
		term_complain("%s", err.text);
		audit->failed |= !audit->args->audit_preferred;
	}
	tell(audit, status == 0 ? NULL : &err);
}

void audit_write_member(const struct audit *audit, struct json_writer *w)
{
	if (!audit->told)
		return;
	json_key(w, "audit");
	json_number(w, audit->told);
}

bool audit_misses_line(const struct audit *audit, const struct workers *workers)
{
	bool missing = audit->failed;

	for (size_t i = 0; i < workers->slot_count; i++)
		missing |= ((const struct audit_note *)workers->slots[i].note)->unaudited;
	return missing;
}

void audit_done(struct audit *audit)
{
	fd_done(&audit->fd);
	free(audit->told);
	audit->told = NULL;
}
