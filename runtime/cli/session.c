/*
 * session: jails that stay, by name. The word and the name come first, then the flags.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/json.h"
#include "runtime/cli/changes_text.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/heap.h"
#include "runtime/cli/programs.h"
#include "runtime/cli/report.h"
#include "runtime/cli/remote_request.h"
#include "runtime/cli/session_remote.h"
#include "runtime/cli/term.h"
#include "runtime/session/session.h"

#define PROGRAM "/proc/self/exe"

/* ---- start ---- */

static int print_text(char *text)
{
	if (!text)
		return EXIT_REFUSED;
	puts(text);
	free(text);
	return 0;
}

/* warder-store opens the workspaces, and then executes `warder session start-in` with their directories, their read-only inputs and their
 * variables. It takes the flags --workspace-id itself. */
static int start_in_workspaces(const char *name, char **flags, struct warder_error *err)
{
	char program[] = "warder", group[] = "workspace", word[] = "session";
	char **words;
	size_t count = 0;

	while (flags[count])
		count++;
	words = calloc(count + 5, sizeof(*words));
	if (!words)
		return error_no_memory(err, NULL);
	words[0] = program;
	words[1] = group;
	words[2] = word;
	words[3] = (char *)(uintptr_t)name;
	memcpy(words + 4, flags, count * sizeof(*words));
	programs_become_store(words + 1, err);
	free(words);
	return -1;
}

static int check_places(const struct args *args, struct warder_error *err)
{
	if (remote_request_refuse_flags(args, err) < 0)
		return -1;
	return args->session.snapshot_on_stop && !args->session.origin && !args->session.workspace_ids.count
		   ? error_set(err, WARDER_ERROR_INVALID_REQUEST, "--snapshot-on-stop",
			       "--snapshot-on-stop stores workspaces: name them with --workspace-id")
		   : 0;
}

/* Parse and load the flags behind the name, then go on. */
static int start_word(struct args *outer, const char *name, char **flags)
{
	struct args args;
	struct warder_session *session = NULL;
	struct warder_error err = { 0 };
	char *there = NULL;
	int status = args_parse(FLAG_SESSION_START, flags, &args, &err);

	ending_catch(NULL);
	if (status == 0 && args.rest[0])
		status = error_set(&err, WARDER_ERROR_INVALID_REQUEST, args.rest[0],
				   "%.60s is one word too many: start NAME [FLAG...]", args.rest[0]);
	if (status == 0)
		status = session_check_name(name, &err);
	args.session.origin = outer->session.origin;
	if (status == 0)
		status = session_remote_is_meant(&args) ? session_remote_check_start(&args, &err)
							: check_places(&args, &err);
	if (status == 0 && args.session.workspace_ids.count)
		status = start_in_workspaces(name, flags, &err);
	if (status == 0)
		status = args_load(FLAG_SESSION_START, flags, &args, &err);
	if (status == 0)
		status = session_remote_is_meant(&args) ? session_remote_start(&args, name, &there, &err)
							: session_start_asked(&args, name, &session, &err);
	args.json |= outer->json;
	if (status != 0)
		status = command_refuse(&args, &err, ending_signal() ? 128 + ending_signal() : EXIT_REFUSED);
	else if (args.json)
		status = print_text(there ? strdup(there) : warder_session_json(session));
	free(there);
	warder_session_free(session);
	args_done(&args);
	return status;
}

/* The workspaces, as warder-store tells them: {"store": DIRECTORY, "workspaces": [ID, ...]}. */
static int read_origin(struct json_value *document, struct session_origin *ret, struct warder_error *err)
{
	const struct json_value *list = json_member(document, "workspaces");
	size_t count = 0;

	for (const struct json_value *item = list ? list->child : NULL; item; item = item->next)
		count += item->type == JSON_STRING;
	ret->store = (char *)(uintptr_t)json_member_text(document, "store", NULL);
	ret->workspaces = calloc(count + 1, sizeof(*ret->workspaces));
	if (!ret->workspaces)
		return error_no_memory(err, NULL);
	for (const struct json_value *item = list ? list->child : NULL; item; item = item->next)
		if (item->type == JSON_STRING)
			ret->workspaces[ret->workspace_count++] = item->string;
	return ret->store && count ? 0
				   : error_set(err, WARDER_ERROR_INVALID_REQUEST, "start-in",
					       "start-in is for warder-store alone");
}

static int start_in_word(struct args *args, const char *text, char **rest)
{
	const struct json_limits limits = { .max_bytes = SESSION_BYTES_MAX };
	struct session_origin origin = { 0 };
	struct json_value *document = NULL;
	struct warder_error err = { 0 };
	int status = rest[0] ? json_parse(text, strlen(text), "start-in", &limits, &document, &err)
			     : error_set(&err, WARDER_ERROR_INVALID_REQUEST, "start-in", "a name is missing");

	if (status == 0)
		status = read_origin(document, &origin, &err);
	args->session.origin = &origin;
	status = status == 0 ? start_word(args, rest[0], rest + 1) : command_refuse(args, &err, EXIT_REFUSED);
	free(origin.workspaces);
	json_free(document);
	return status;
}

/* ---- the others ---- */

static void print_session(const struct json_value *session)
{
	if (json_member(session, "sandbox")) {
		printf("%-24s on %s since %s\n", json_member_text(session, "name", ""),
		       json_member_text(session, "backend", ""), json_member_text(session, "started", ""));
		return;
	}
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
	       (unsigned long long)json_member_uint(session, "keeperPid"),
	       json_member_text(session, "started", ""),
	       (unsigned long long)json_member_uint(session, "executions"));
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

static int show(const struct args *args, char *text, struct warder_error *err)
{
	if (!text)
		return err->code ? -1 : error_no_memory(err, NULL);
	return args->json ? print_text(text) : print_sessions(text, err);
}

static int list_word(const struct args *args, const char *name, struct warder_error *err)
{
	return show(args, session_remote_list(warder_session_list(err), err), err);
}

static int status_word(const struct args *args, const char *name, struct warder_error *err)
{
	struct warder_session *session = NULL;
	int ret = warder_session_open(name, &session, err);

	if (ret == 0)
		ret = show(args, warder_session_json(session), err);
	warder_session_free(session);
	return ret;
}

/* The session has ended. `note`: see session_read_note(). */
static int take_snapshots(const char *name, const char *note, struct warder_error *err)
{
	char program[] = "warder", group[] = "workspace", word[] = "snapshot", store[] = "--store",
	     wait[] = "--wait";
	const struct json_limits limits = { .max_bytes = SESSION_BYTES_MAX };
	struct session_origin origin = { 0 };
	struct json_value *document = NULL;
	int status = json_parse(note, strlen(note), "note", &limits, &document, err);

	if (status == 0)
		status = read_origin(document, &origin, err);
	for (size_t i = 0; i < origin.workspace_count; i++) {
		char *words[] = {
			program, group, word, store, origin.store, wait, origin.workspaces[i], NULL
		};
		struct warder_error ignored;

		if (programs_run_store(words + 1, status == 0 ? err : &ignored) == 0)
			continue;
		if (status == 0)
			error_context(
			    err, "session %.64s has ended, but the snapshot of its workspace %.64s failed",
			    name, origin.workspaces[i]);
		status = -1;
	}
	free(origin.workspaces);
	json_free(document);
	return status;
}

/* The error of the end comes first. */
static int stop_named(const char *name, struct warder_error *err)
{
	char *note = session_read_note(name);
	struct warder_error later = { 0 };
	bool ended;
	int status = session_stop_running(name, &ended, err);

	if (ended && note && take_snapshots(name, note, &later) < 0 && status == 0) {
		*err = later;
		status = -1;
	}
	free(note);
	return status;
}

static int stop_one(void *context, const char *name)
{
	struct warder_error err = { 0 };
	const int status = stop_named(name, &err);

	return stop_all_note(context, err.code == WARDER_ERROR_NOT_FOUND ? 0 : status, &err);
}

/* No name begins with '-'. */
static int stop_word(const struct args *args, const char *name, struct warder_error *err)
{
	struct stop_all all = { .first = err };
	struct warder_error each = { 0 };

	if (strcmp(name, "--all") != 0)
		return stop_named(name, err);
	stop_all_note(&all, session_each(stop_one, &all, &each), &each);
	session_remote_stop_all(&all);
	return all.failed ? -1 : 0;
}

static int pause_word(const struct args *args, const char *name, struct warder_error *err)
{
	return warder_session_pause(name, err);
}

static int resume_word(const struct args *args, const char *name, struct warder_error *err)
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

static int extend_word(struct args *args, const char *name, char **flags)
{
	struct warder_error err = { 0 };
	uint64_t us;

	return take_time(flags, &us, &err) == 0 && warder_session_extend(name, us, &err) == 0
		   ? 0
		   : command_refuse(args, &err, EXIT_REFUSED);
}

static int restart_word(const struct args *args, const char *name, struct warder_error *err)
{
	struct warder_session *session = NULL;
	struct args granted = { 0 };
	int ret = args_load_ceiling(&granted, err);

	if (ret == 0)
		ret = session_restart(name, PROGRAM, granted.ceiling, &session, err);
	args_done(&granted);
	if (ret == 0 && args->json)
		ret = show(args, warder_session_json(session), err);
	warder_session_free(session);
	return ret;
}

/* The words behind the source: one name, and --json. */
static int take_copy(struct args *args, char *const *words, const char **ret, struct warder_error *err)
{
	*ret = NULL;
	for (; *words; words++) {
		if (strcmp(*words, "--json") == 0 || strcmp(*words, "--no-config") == 0)
			args->json |= strcmp(*words, "--json") == 0;
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

static int copy_word(struct args *args, const char *source, char **flags)
{
	struct warder_session *session = NULL;
	struct args granted = { 0 };
	struct warder_error err = { 0 };
	const char *name = NULL;
	int status = take_copy(args, flags, &name, &err);

	ending_catch(NULL);
	if (status == 0)
		status = args_load_ceiling(&granted, &err);
	if (status == 0)
		status = session_copy(source, name, PROGRAM, granted.ceiling, ending_came, &session, &err);
	args_done(&granted);
	if (status != 0)
		status = command_refuse(args, &err, ending_signal() ? 128 + ending_signal() : EXIT_REFUSED);
	else if (args->json)
		status = print_text(warder_session_json(session));
	warder_session_free(session);
	return status;
}

/* ---- changes ---- */

static void write_changes(const struct changes *changes, struct json_writer *w)
{
	json_begin_object(w);
	json_key_string(w, "directory", changes->directory);
	json_key(w, "changes");
	changes_write(changes, w);
	json_key_string(w, "fault", changes->fault[0] ? changes->fault : NULL);
	json_end_object(w);
}

static int changes_word(struct args *args, const char *name, char **words)
{
	struct warder_session *session = NULL;
	struct warder_error err = { 0 };
	struct changes changes = { 0 };
	struct json_writer w = { 0 };
	const char *directory = NULL;
	int status = 0;

	for (; *words && status == 0; words++) {
		if (strcmp(*words, "--json") == 0)
			args->json = true;
		else if (strcmp(*words, "--no-config") != 0 && (directory || **words == '-'))
			status = error_set(&err, WARDER_ERROR_INVALID_REQUEST, *words,
					   "%.60s is not known here: changes NAME [DIRECTORY]", *words);
		else if (strcmp(*words, "--no-config") != 0)
			directory = *words;
	}
	if (status == 0)
		status = warder_session_open(name, &session, &err);
	if (status == 0)
		status = session_changes(session, directory, &changes, &err);
	if (status == 0 && args->json) {
		write_changes(&changes, &w);
		status = term_put(json_take(&w), &err);
	} else if (status == 0) {
		changes_print(stdout, &changes, NULL);
	}
	changes_done(&changes);
	warder_session_free(session);
	return status == 0 ? 0 : command_refuse(args, &err, EXIT_REFUSED);
}

static const struct word {
	const char *name;
	bool named;
	int (*run)(const struct args *args, const char *name, struct warder_error *err);
	int (*run_with_flags)(struct args *args, const char *name, char **flags);
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
	{ "changes", true, NULL, changes_word },
};
#define WORDS (ARRAY_LENGTH(words))

/* --json may stand in front of the word and behind the name; nothing else may, up to `end` or the NULL. */
static int take_rest(char **rest, char *const *end, struct args *args, struct warder_error *err)
{
	for (; rest != end && *rest; rest++) {
		if (strcmp(*rest, "--json") == 0)
			args->json = true;
		else if (strcmp(*rest, "--keep-sandbox") == 0)
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, *rest,
					 "--keep-sandbox works with the stop of one session on another "
					 "machine only; leave it out");
		else if (strcmp(*rest, "--no-config") != 0)
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, *rest, "%.60s is not known here",
					 *rest);
	}
	return 0;
}

static int plain(const struct word *word, struct args *args, char **argv)
{
	char **rest = args->rest + 1;
	const char *name = word->named ? *rest++ : NULL;
	struct warder_error err = { 0 };
	int status = take_rest(argv, args->rest, args, &err);

	if (status == 0)
		status = take_rest(rest, NULL, args, &err);
	if (status == 0)
		status = word->run(args, name, &err);
	if (status == 0)
		return 0;
	command_refuse(args, &err, EXIT_REFUSED);
	return word->run == status_word && err.code == WARDER_ERROR_NOT_FOUND ? 1 : EXIT_REFUSED;
}

/* Flags count wherever they stand: in front of the word, or behind the name. `argv` begins with the former. */
static int with_flags(const struct word *word, struct args *args, char **argv)
{
	const size_t before = (size_t)(args->rest - argv);
	char **behind = args->rest + 2; /* the word and the name */
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
	status = word->run_with_flags(args, args->rest[1], flags);
	free(flags);
	return status;
}

/* For the launcher of an execution host, which has many threads. If it fails, standard output gets the error. */
static int save_word(const char *name, const char *directory, const char *bytes_max)
{
	struct warder_error err = { 0 };
	owned_fd int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		error_set_errno(&err, WARDER_ERROR_UNAVAILABLE, "path", errno, "cannot open %.200s",
				directory);
	else if (session_save(name, fd, strtoull(bytes_max, NULL, 10), &err) == 0)
		return 0;
	file_write_all(STDOUT_FILENO, (const char *)&err, sizeof(err));
	return EXIT_REFUSED;
}

/* Copy a file of at most bytes_max to standard output. If it has more, the field of the error is "bytes". */
static int take_file(const char *name, const char *path, uint64_t bytes_max, struct warder_error *err)
{
	struct warder_session *session = NULL;
	struct session_files *files = NULL;
	uint64_t bytes = 0;
	int status = warder_session_open(name, &session, err);

	if (status == 0)
		status = session_files_open(session, &files, err);
	warder_session_free(session);
	if (status == 0)
		status = session_files_size(files, path, &bytes, err);
	if (status == 0 && bytes > bytes_max)
		status = error_set(err, WARDER_ERROR_INVALID_REQUEST, "bytes", "it is too large");
	if (status == 0)
		status = session_files_read(files, path, bytes_max, STDOUT_FILENO, err);
	session_files_free(files);
	return status;
}

/* For the launcher, too: standard output is a file, and gets the bytes or the error. */
static int take_word(const char *name, const char *path, const char *bytes_max)
{
	struct warder_error err = { 0 };

	if (take_file(name, path, strtoull(bytes_max, NULL, 10), &err) == 0)
		return 0;
	if (ftruncate(STDOUT_FILENO, 0) == 0 && lseek(STDOUT_FILENO, 0, SEEK_SET) == 0)
		file_write_all(STDOUT_FILENO, (const char *)&err, sizeof(err));
	return EXIT_REFUSED;
}

static bool is_start(const struct word *word)
{
	return word->run_with_flags == start_word;
}

int session_command(struct args *args, char **argv)
{
	static const struct word there = { .named = true, .run_with_flags = session_remote_word };
	const char *names[WORDS + 1] = { NULL };
	struct warder_error err = { 0 };
	char remedy[96];
	char **rest = args->rest;

	if (rest[0] && strcmp(rest[0], "keeper") == 0) {
		if (heap_stay)
			heap_stay();
		return keeper_main();
	}
	if (rest[0] && strcmp(rest[0], "save") == 0 && rest[1] && rest[2] && rest[3])
		return save_word(rest[1], rest[2], rest[3]);
	if (rest[0] && strcmp(rest[0], "take") == 0 && rest[1] && rest[2] && rest[3])
		return take_word(rest[1], rest[2], rest[3]);
	if (rest[0] && strcmp(rest[0], "start-in") == 0 && rest[1])
		return start_in_word(args, rest[1], rest + 2);
	for (size_t i = 0; rest[0] && i < WORDS; i++) {
		names[i] = words[i].name;
		if (strcmp(rest[0], words[i].name) != 0)
			continue;
		if (words[i].named && !rest[1]) {
			error_set(&err, WARDER_ERROR_INVALID_REQUEST, "name", "which session? %s NAME",
				  words[i].name);
			return command_refuse(args, &err, EXIT_REFUSED);
		}
		if (rest[1] && !is_start(&words[i]) && session_remote_is(rest[0], rest + 1))
			return with_flags(&there, args, argv);
		return words[i].run && (!words[i].run_with_flags || !rest[1] || rest[1][0] == '-')
			   ? plain(&words[i], args, argv)
			   : with_flags(&words[i], args, argv);
	}
	if (rest[0])
		error_set(&err, WARDER_ERROR_INVALID_REQUEST, "session", "session has no word \"%.40s\"; %s",
			  rest[0], policy_suggest(names, rest[0], remedy, sizeof(remedy)));
	else
		error_set(&err, WARDER_ERROR_INVALID_REQUEST, "session",
			  "a command is missing: start, exec, list, status, stop, restart, pause, resume, "
			  "extend, read, write, cp, patch, copy or changes");
	return command_refuse(args, &err, EXIT_REFUSED);
}
