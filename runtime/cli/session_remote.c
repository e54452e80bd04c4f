/*
 * session_remote: a session on another machine is a sandbox of the host there, and a small file here (elsewhere.h).
 *
 * The host ends the sandbox when its lease is over. The lease is renewed while a command uses the session, and after it; it never reaches beyond
 * the session's lifetime.
 */
#include "runtime/cli/session_remote.h"

#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/remote_place.h"
#include "runtime/cli/remote_request.h"
#include "runtime/cli/session_remote_exec.h"
#include "runtime/cli/session_remote_files.h"
#include "runtime/cli/term.h"
#include "runtime/library/reported.h"

#define STOP_MS  (2 * REMOTE_QUESTION_MS)
#define AGAIN_MS 500 /* between two requests to end a sandbox */

/* ---- status, stop, list ---- */

static int show_status(struct args *args, const char *name, struct warder_error *err)
{
	struct remote_place place = { 0 };
	struct remote_asking how = { 0 };
	char *text = NULL, *json;
	size_t len = 0;

	if (remote_place_open(name, &place, err) < 0)
		return -1;
	if (remote_place_ask(&place, "", &how, &text, &len, err) < 0)
		return remote_place_is_gone(err) ? remote_place_say_gone(&place.session, err) : -1;
	json = session_remote_describe(&place.session, text, len);
	free(text);
	if (args->json)
		return term_put(json, err);
	free(json);
	printf("%-24s on %s\n", place.session.name, place.session.backend);
	return 0;
}

/* A sandbox that is gone is as good as ended. The host refuses (409) while it ends the sandbox by itself or for another command: then ask again, since
 * it may still fail. -1 with *err. */
static int end_sandbox(const struct remote_place *place, struct warder_error *err)
{
	const uint64_t until_ms = clock_us() / 1000 + STOP_MS;
	struct remote_asking how = { .method = "DELETE", .timeout_ms = STOP_MS };

	while (remote_place_ask(place, "", &how, NULL, NULL, err) < 0 && !remote_place_is_gone(err)) {
		if (how.status != 409 || clock_us() / 1000 >= until_ms || ending_signal())
			return -1;
		poll(NULL, 0, AGAIN_MS);
	}
	return 0;
}

/* 1: the session has got another sandbox meanwhile, in place of a lost one. */
static int stop_sandbox(const char *name, struct warder_error *err)
{
	struct remote_place place = { 0 };
	const int found = elsewhere_read(name, &place.session, err);

	if (found != 0)
		return found > 0 || elsewhere_is_damaged(err) ? elsewhere_remove(name, NULL, err) : -1;
	if (remote_place_find_host(&place, err) < 0 || end_sandbox(&place, err) < 0)
		return error_context(err, "session %.64s was not stopped", name);
	return elsewhere_remove(name, place.session.sandbox, err);
}

static int stop_named(const char *name, struct warder_error *err)
{
	int status = 1;

	while (status > 0)
		status = stop_sandbox(name, err);
	return status;
}

int stop_all_note(struct stop_all *all, int status, const struct warder_error *err)
{
	if (status == 0)
		return 0;
	if (!all->failed)
		*all->first = *err;
	all->failed = true;
	return 0;
}

static int stop_one(void *context, const char *name)
{
	struct warder_error err = { 0 };

	return stop_all_note(context, stop_named(name, &err), &err);
}

void session_remote_stop_all(struct stop_all *all)
{
	struct warder_error err = { 0 };

	stop_all_note(all, elsewhere_each(stop_one, all, &err), &err);
}

/* A session whose file cannot be read does not keep the others. */
static int add_session(void *context, const char *name)
{
	struct elsewhere session;
	struct warder_error err = { 0 };
	const int found = elsewhere_read(name, &session, &err);
	char *text;

	if (found < 0)
		term_complain("%s", err.text);
	if (found != 0)
		return 0;
	text = session_remote_describe(&session, NULL, 0);
	if (text)
		json_number(context, text);
	else
		json_fail(context);
	free(text);
	return 0;
}

char *session_remote_list(char *text, struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = SIZE_MAX };
	struct json_value *here = NULL;
	struct json_writer w = { 0 };
	int status = text ? json_parse(text, strlen(text), "sessions", &limits, &here, err) : -1;

	json_begin_array(&w);
	for (const struct json_value *one = here ? here->child : NULL; one; one = one->next)
		json_copy(&w, one);
	if (status == 0)
		status = elsewhere_each(add_session, &w, err);
	json_end_array(&w);
	json_free(here);
	free(text);
	if (status == 0)
		return json_take(&w);
	json_writer_done(&w);
	return NULL;
}

/* ---- words ---- */

/* The name in NAME:PATH; "": it is a path of this machine. */
static const char *name_of(const char *word, char ret[SESSION_NAME_MAX + 1])
{
	const char *end = strpbrk(word, ":/");
	const ptrdiff_t len = end && *end == ':' && end - word <= SESSION_NAME_MAX ? end - word : 0;

	snprintf(ret, SESSION_NAME_MAX + 1, "%.*s", (int)len, word);
	return ret;
}

bool session_remote_is(const char *word, char *const *words)
{
	const bool copies = strcmp(word, "cp") == 0;
	struct elsewhere session;

	for (; *words; words++) {
		char name[SESSION_NAME_MAX + 1];
		struct warder_error err = { 0 };
		const int found = elsewhere_read(copies ? name_of(*words, name) : *words, &session, &err);

		if (found == 0 || (found < 0 && err.code != WARDER_ERROR_INVALID_REQUEST))
			return true;
		if (!copies)
			break;
	}
	return false;
}

static int stop_asked(struct args *args, const char *name, struct warder_error *err)
{
	return args->session.keep_sandbox ? elsewhere_remove(name, NULL, err) : stop_named(name, err);
}

/* Behind the name of a status and a stop, only these flags may follow. */
static int plain_word(struct args *outer, const char *name, char **flags,
		      int (*run)(struct args *args, const char *name, struct warder_error *err))
{
	struct warder_error err = { 0 };
	int status = 0;

	for (; *flags && status == 0; flags++) {
		if (strcmp(*flags, "--json") == 0)
			outer->json = true;
		else if (run == stop_asked && strcmp(*flags, "--keep-sandbox") == 0)
			outer->session.keep_sandbox = true;
		else if (strcmp(*flags, "--no-config") != 0)
			status = error_set(&err, WARDER_ERROR_INVALID_REQUEST, *flags,
					   "%.60s is not known here", *flags);
	}
	if (status == 0)
		status = run(outer, name, &err);
	if (status == 0)
		return 0;
	command_refuse(outer, &err, EXIT_REFUSED);
	return run == show_status && err.code == WARDER_ERROR_NOT_FOUND ? 1 : EXIT_REFUSED;
}

static int ask_plainly(const char *name, const char *rest, bool timed, struct warder_error *err)
{
	struct remote_place place = { 0 };
	char body[64] = "{}";
	struct remote_asking how = { .body = body, .timeout_ms = 4 * REMOTE_QUESTION_MS };

	if (remote_place_open(name, &place, err) < 0)
		return -1;
	if (timed)
		snprintf(body, sizeof(body), "{\"timeoutMs\": %llu}",
			 (unsigned long long)remote_place_lease_ms(&place.session));
	if (remote_place_ask(&place, rest, &how, NULL, NULL, err) == 0)
		return 0;
	return remote_place_is_gone(err) ? remote_place_say_gone(&place.session, err) : -1;
}

static int pause_named(struct args *args, const char *name, struct warder_error *err)
{
	return ask_plainly(name, "/pause", false, err);
}

static int resume_named(struct args *args, const char *name, struct warder_error *err)
{
	return ask_plainly(name, "/resume", true, err);
}

static int patch_word(struct args *outer, const char *name, char **flags)
{
	return session_patch(outer, name, flags, session_remote_exec_word);
}

static int status_word(struct args *outer, const char *name, char **flags)
{
	return plain_word(outer, name, flags, show_status);
}

static int pause_word(struct args *outer, const char *name, char **flags)
{
	return plain_word(outer, name, flags, pause_named);
}

static int resume_word(struct args *outer, const char *name, char **flags)
{
	return plain_word(outer, name, flags, resume_named);
}

static int stop_word(struct args *outer, const char *name, char **flags)
{
	return plain_word(outer, name, flags, stop_asked);
}

/* What such a session can do. */
static const struct remote_word {
	const char *name;
	int (*run)(struct args *outer, const char *name, char **flags);
} words[] = {
	{ "start", NULL }, /* session_remote_start() */
	{ "exec", session_remote_exec_word },
	{ "status", status_word },
	{ "stop", stop_word },
	{ "pause", pause_word },
	{ "resume", resume_word },
	{ "read", session_remote_read_word },
	{ "write", session_remote_write_word },
	{ "list", session_remote_list_word },
	{ "cp", session_remote_cp_word },
	{ "patch", patch_word },
};

static int refuse_word(struct args *outer)
{
	struct warder_error err = { 0 };
	char list[128] = "";
	size_t len = 0;

	for (size_t i = 0; i < ARRAY_LENGTH(words); i++)
		len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s",
					i == 0                         ? ""
					: i == ARRAY_LENGTH(words) - 1 ? " and "
								       : ", ",
					words[i].name);
	error_set(&err, WARDER_ERROR_INVALID_REQUEST, "session",
		  "%s works with sessions on this machine only; a session on another machine has %s",
		  outer->rest[0], list);
	return command_refuse(outer, &err, EXIT_REFUSED);
}

int session_remote_word(struct args *outer, const char *name, char **flags)
{
	for (size_t i = 0; i < ARRAY_LENGTH(words); i++)
		if (words[i].run && strcmp(outer->rest[0], words[i].name) == 0)
			return words[i].run(outer, name, flags);
	return refuse_word(outer);
}
