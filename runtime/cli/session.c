/*
 * session: jails that stay, by name. The word and the name come first, then the flags.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/heap.h"
#include "runtime/cli/programs.h"
#include "runtime/cli/report.h"
#include "runtime/cli/term.h"
#include "runtime/session/session.h"

#define PROGRAM "/proc/self/exe"

/* ---- start ---- */

int session_start_asked(const struct request *request, const char *name, struct warder_session **ret,
			struct warder_error *err)
{
	const struct warder_session_options options = {
		.size = sizeof(options),
		.policy = request->policy,
		.setup = request->session.setup.items,
		.setup_count = request->session.setup.count,
		.lifetime_us = request->session.lifetime_us,
		.idle_us = request->session.idle_us,
		.ceiling = request->ceiling,
		.cgroup_parent = request->cgroup_parent,
		.backend = request->backend,
		.backends = request->backends,
		.program = PROGRAM,
	};

	return session_start(name, &options, ending_came, ret, err);
}

static int print_text(char *text)
{
	if (!text)
		return EXIT_REFUSED;
	puts(text);
	free(text);
	return 0;
}

/* warder-store opens the workspace, and then executes `warder session start` with its directory, its read-only inputs and its variables. */
static int start_in_workspace(const char *name, const char *id, char **flags, struct warder_error *err)
{
	static const char flag[] = "--workspace-id";
	const size_t len = sizeof(flag) - 1;
	char program[] = "warder", group[] = "workspace", word[] = "session";
	char **words;
	size_t count = 0, used = 5;

	while (flags[count])
		count++;
	words = calloc(count + 6, sizeof(*words));
	if (!words)
		return error_no_memory(err, NULL);
	words[0] = program;
	words[1] = group;
	words[2] = word;
	words[3] = (char *)(uintptr_t)id;
	words[4] = (char *)(uintptr_t)name;
	for (size_t i = 0; i < count; i++) {
		if (strcmp(flags[i], flag) == 0)
			i++;
		else if (strncmp(flags[i], flag, len) != 0 || flags[i][len] != '=')
			words[used++] = flags[i];
	}
	programs_become_store(words + 1, err);
	free(words);
	return -1;
}

/* Parse and load the flags behind the name, then go on. */
static int start_word(struct request *outer, const char *name, char **flags)
{
	struct request request;
	struct warder_session *session = NULL;
	struct warder_error err = { 0 };
	int status = request_parse(FLAG_SESSION_START, flags, &request, &err);

	ending_catch(NULL);
	if (status == 0 && request.rest[0])
		status = error_set(&err, WARDER_ERROR_INVALID_REQUEST, request.rest[0],
				   "%.60s is one word too many: start NAME [FLAG...]", request.rest[0]);
	if (status == 0)
		status = session_check_name(name, &err);
	if (status == 0 && request.session.workspace_id)
		status = start_in_workspace(name, request.session.workspace_id, flags, &err);
	if (status == 0)
		status = request_load(FLAG_SESSION_START, flags, &request, &err);
	if (status == 0)
		status = session_start_asked(&request, name, &session, &err);
	request.json |= outer->json;
	if (status != 0)
		status =
		    command_refuse(&request, &err, ending_signal() ? 128 + ending_signal() : EXIT_REFUSED);
	else if (request.json)
		status = print_text(warder_session_json(session));
	warder_session_free(session);
	request_done(&request);
	return status;
}

/* ---- the others ---- */

static uint64_t number_of(const struct json_value *object, const char *key)
{
	const struct json_value *value = json_member(object, key);

	return value && value->is_uint ? value->uint : 0;
}

static void print_session(const struct json_value *session)
{
	if (json_member(session, "settingUp")) {
		printf("%-24s being set up\n", json_member_text(session, "name", ""));
		return;
	}
	if (json_member(session, "error")) {
		printf("%-24s %s\n", json_member_text(session, "name", ""),
		       json_member_text(session, "error", ""));
		return;
	}
	printf("%-24s keeper %-8llu since %s, %llu at work\n", json_member_text(session, "name", ""),
	       (unsigned long long)number_of(session, "keeperPid"), json_member_text(session, "started", ""),
	       (unsigned long long)number_of(session, "executions"));
}

/* One session or an array of them, for people. */
static int print_sessions(char *text, struct warder_error *err)
{
	struct json_value *document = NULL;

	if (json_parse(text, strlen(text), "sessions", &(struct json_limits){ .max_bytes = SIZE_MAX },
		       &document, err) != 0) {
		free(text);
		return -1;
	}
	if (document->type == JSON_OBJECT)
		print_session(document);
	else
		for (const struct json_value *item = document->child; item; item = item->next)
			print_session(item);
	json_free(document);
	free(text);
	return 0;
}

static int show(const struct request *request, char *text, struct warder_error *err)
{
	if (!text)
		return err->code ? -1 : error_no_memory(err, NULL);
	return request->json ? print_text(text) : print_sessions(text, err);
}

static int list_word(const struct request *request, const char *name, struct warder_error *err)
{
	return show(request, warder_session_list(err), err);
}

static int status_word(const struct request *request, const char *name, struct warder_error *err)
{
	struct warder_session *session = NULL;
	int ret = warder_session_open(name, &session, err);

	if (ret == 0)
		ret = show(request, warder_session_json(session), err);
	warder_session_free(session);
	return ret;
}

struct stop_all {
	struct warder_error *first;
	bool failed;
};

/* One that cannot be ended does not keep the others. */
static int stop_one(void *context, const char *name)
{
	struct stop_all *all = context;
	struct warder_error err = { 0 };

	if (session_stop(name, NULL, &err) >= 0)
		return 0;
	if (!all->failed)
		*all->first = err;
	all->failed = true;
	return 0;
}

/* No name begins with '-'. */
static int stop_word(const struct request *request, const char *name, struct warder_error *err)
{
	struct stop_all all = { .first = err };

	if (strcmp(name, "--all") != 0)
		return warder_session_stop(name, err);
	return session_each(stop_one, &all, err) < 0 || all.failed ? -1 : 0;
}

static int pause_word(const struct request *request, const char *name, struct warder_error *err)
{
	return warder_session_pause(name, err);
}

static int resume_word(const struct request *request, const char *name, struct warder_error *err)
{
	return warder_session_resume(name, err);
}

/* The words behind the name: one time, and --json. */
static int take_time(char *const *words, uint64_t *ret_us, struct warder_error *err)
{
	const char *text = NULL;

	for (; *words; words++) {
		if (strcmp(*words, "--json") == 0 || strcmp(*words, "--no-config") == 0)
			continue;
		if (text)
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, *words,
					 "%.60s is one word too many: extend NAME TIME", *words);
		text = *words;
	}
	if (!text)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "time",
				 "by how much? extend NAME TIME, such as 30m");
	return policy_parse_time(text, ret_us, err);
}

static int extend_word(struct request *request, const char *name, char **flags)
{
	struct warder_error err = { 0 };
	uint64_t us;

	return take_time(flags, &us, &err) == 0 && warder_session_extend(name, us, &err) == 0
		   ? 0
		   : command_refuse(request, &err, EXIT_REFUSED);
}

static int restart_word(const struct request *request, const char *name, struct warder_error *err)
{
	struct warder_session *session = NULL;
	struct request granted = { 0 };
	int ret = request_load_ceiling(&granted, err);

	if (ret == 0)
		ret = session_restart(name, PROGRAM, granted.ceiling, &session, err);
	request_done(&granted);
	if (ret == 0 && request->json)
		ret = show(request, warder_session_json(session), err);
	warder_session_free(session);
	return ret;
}

/* The words behind the source: one name, and --json. */
static int take_copy(struct request *request, char *const *words, const char **ret, struct warder_error *err)
{
	*ret = NULL;
	for (; *words; words++) {
		if (strcmp(*words, "--json") == 0 || strcmp(*words, "--no-config") == 0)
			request->json |= strcmp(*words, "--json") == 0;
		else if (*ret || **words == '-')
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, *words,
					 "%.60s is not known here: copy SOURCE NAME", *words);
		else
			*ret = *words;
	}
	return *ret ? 0
		    : error_set(err, WARDER_ERROR_INVALID_REQUEST, "name",
				"which name has the new session? copy SOURCE NAME");
}

static int copy_word(struct request *request, const char *source, char **flags)
{
	struct warder_session *session = NULL;
	struct request granted = { 0 };
	struct warder_error err = { 0 };
	const char *name = NULL;
	int status = take_copy(request, flags, &name, &err);

	ending_catch(NULL);
	if (status == 0)
		status = request_load_ceiling(&granted, &err);
	if (status == 0)
		status = session_copy(source, name, PROGRAM, granted.ceiling, ending_came, &session, &err);
	request_done(&granted);
	if (status != 0)
		status =
		    command_refuse(request, &err, ending_signal() ? 128 + ending_signal() : EXIT_REFUSED);
	else if (request->json)
		status = print_text(warder_session_json(session));
	warder_session_free(session);
	return status;
}

static const struct word {
	const char *name;
	bool named;
	int (*run)(const struct request *request, const char *name, struct warder_error *err);
	int (*run_with_flags)(struct request *request, const char *name, char **flags);
} words[] = {
	{ "start", true, NULL, start_word },
	{ "exec", true, NULL, session_exec_word },
	{ "list", false, list_word, session_list_word }, /* with a name, the files of a session */
	{ "status", true, status_word, NULL },
	{ "stop", true, stop_word, NULL },
	{ "restart", true, restart_word, NULL },
	{ "pause", true, pause_word, NULL },
	{ "resume", true, resume_word, NULL },
	{ "extend", true, NULL, extend_word },
	{ "read", true, NULL, session_read_word },
	{ "write", true, NULL, session_write_word },
	{ "cp", true, NULL, session_cp_word },
	{ "patch", true, NULL, session_patch_word },
	{ "copy", true, NULL, copy_word },
};
#define WORDS (ARRAY_LENGTH(words))

/* --json may stand in front of the word and behind the name; nothing else may, up to `end` or the NULL. */
static int take_rest(char **rest, char *const *end, struct request *request, struct warder_error *err)
{
	for (; rest != end && *rest; rest++) {
		if (strcmp(*rest, "--json") == 0)
			request->json = true;
		else if (strcmp(*rest, "--no-config") != 0)
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, *rest, "%.60s is not known here",
					 *rest);
	}
	return 0;
}

static int plain(const struct word *word, struct request *request, char **argv)
{
	char **rest = request->rest + 1;
	const char *name = word->named ? *rest++ : NULL;
	struct warder_error err = { 0 };
	int status = take_rest(argv, request->rest, request, &err);

	if (status == 0)
		status = take_rest(rest, NULL, request, &err);
	if (status == 0)
		status = word->run(request, name, &err);
	if (status == 0)
		return 0;
	command_refuse(request, &err, EXIT_REFUSED);
	return word->run == status_word && err.code == WARDER_ERROR_NOT_FOUND ? 1 : EXIT_REFUSED;
}

/* Flags count wherever they stand: in front of the word, or behind the name. `argv` begins with the former. */
static int with_flags(const struct word *word, struct request *request, char **argv)
{
	const size_t before = (size_t)(request->rest - argv);
	char **behind = request->rest + 2; /* the word and the name */
	size_t count = 0;
	char **flags;
	int status;

	while (behind[count])
		count++;
	flags = calloc(before + count + 1, sizeof(*flags));
	if (!flags) {
		term_complain("out of memory");
		return EXIT_REFUSED;
	}
	memcpy(flags, argv, before * sizeof(*flags));
	memcpy(flags + before, behind, count * sizeof(*flags));
	status = word->run_with_flags(request, request->rest[1], flags);
	free(flags);
	return status;
}

int session_command(struct request *request, char **argv)
{
	const char *names[WORDS + 1] = { NULL };
	struct warder_error err = { 0 };
	char remedy[96];
	char **rest = request->rest;

	if (rest[0] && strcmp(rest[0], "keeper") == 0) {
		if (heap_stay)
			heap_stay();
		return keeper_main();
	}
	for (size_t i = 0; rest[0] && i < WORDS; i++) {
		names[i] = words[i].name;
		if (strcmp(rest[0], words[i].name) != 0)
			continue;
		if (words[i].named && !rest[1]) {
			error_set(&err, WARDER_ERROR_INVALID_REQUEST, "name", "which session? %s NAME",
				  words[i].name);
			return command_refuse(request, &err, EXIT_REFUSED);
		}
		return words[i].run && (!words[i].run_with_flags || !rest[1] || rest[1][0] == '-')
			   ? plain(&words[i], request, argv)
			   : with_flags(&words[i], request, argv);
	}
	if (rest[0])
		error_set(&err, WARDER_ERROR_INVALID_REQUEST, "session", "session has no word \"%.40s\"; %s",
			  rest[0], policy_suggest(names, rest[0], remedy, sizeof(remedy)));
	else
		error_set(&err, WARDER_ERROR_INVALID_REQUEST, "session",
			  "a command is missing: start, exec, list, status, stop, restart, pause, resume, "
			  "extend, read, write, cp, patch or copy");
	return command_refuse(request, &err, EXIT_REFUSED);
}
