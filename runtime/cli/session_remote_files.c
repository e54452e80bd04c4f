/*
 * session_remote_files: a file goes there or comes back in one request, whole.
 */
#include "runtime/cli/session_remote_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/term.h"

#define PATH_BYTES_MAX 1024

int session_remote_files_path(const char *route, const char *path, char ret[REMOTE_PATH_SIZE],
			      struct warder_error *err)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
	size_t len = (size_t)snprintf(ret, REMOTE_PATH_SIZE, "%s?path=", route);

	if (strlen(path) > PATH_BYTES_MAX)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "path",
				 "a path on another machine has at most %d bytes", PATH_BYTES_MAX);
	for (; *path; path++)
		len += (size_t)snprintf(ret + len, REMOTE_PATH_SIZE - len,
					strchr(plain, *path) ? "%c" : "%%%02X", (unsigned char)*path);
	return 0;
}

uint64_t session_remote_files_most(const struct args *args)
{
	const uint64_t asked = args->session.bytes_max;

	return asked && asked < REMOTE_RESULT_MAX ? asked : REMOTE_RESULT_MAX;
}

int session_remote_files_check(const char *path, size_t len, uint64_t most, struct warder_error *err)
{
	char text[32];

	return len <= most ? 0
			   : error_set(err, WARDER_ERROR_REJECTED, "--max-bytes",
				       "%.200s has more than %s, the most that is passed on here", path,
				       policy_format_size(most, text, sizeof(text)));
}

static int read_file(const struct remote_place *place, const struct args *args, const void *of,
		     struct warder_error *err)
{
	struct remote_asking how = { .large = true, .timeout_ms = 4 * REMOTE_QUESTION_MS };
	char rest[REMOTE_PATH_SIZE];
	char *bytes = NULL;
	size_t len = 0;
	int status = session_remote_files_path("/files", args->rest[0], rest, err);

	if (status == 0)
		status = remote_place_ask(place, rest, &how, &bytes, &len, err);
	if (status == 0)
		status = session_remote_files_check(args->rest[0], len, session_remote_files_most(args), err);
	if (status == 0 && file_write_all(STDOUT_FILENO, bytes, len) < 0)
		status = error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "stdout", errno,
					 "standard output cannot be written");
	free(bytes);
	return status;
}

static int write_file(const struct remote_place *place, const struct args *args, const void *of,
		      struct warder_error *err)
{
	struct remote_asking how = { .method = "PUT", .timeout_ms = 4 * REMOTE_QUESTION_MS };
	const size_t room = (size_t)session_remote_files_most(args) + 1;
	char *bytes = malloc(room);
	char rest[REMOTE_PATH_SIZE];
	ssize_t len;
	int status = bytes ? session_remote_files_path("/files", args->rest[0], rest, err)
			   : error_no_memory(err, NULL);

	len = status == 0 ? file_read_up_to(STDIN_FILENO, bytes, room) : 0;
	if (len < 0)
		status = error_set_errno(err, WARDER_ERROR_INVALID_REQUEST, "stdin", errno,
					 "standard input cannot be read");
	if (status == 0)
		status = session_remote_files_check("standard input", (size_t)len,
						    session_remote_files_most(args), err);
	if (status == 0) {
		bytes[len] = '\0';
		how.body = bytes;
		how.body_len = (size_t)len;
		status = remote_place_ask(place, rest, &how, NULL, NULL, err);
	}
	free(bytes);
	return status;
}

/* An entry as `session list` of this machine has it. */
static void write_entry(struct json_writer *w, const struct json_value *entry)
{
	const struct json_value *mode = json_member(entry, "mode"), *size = json_member(entry, "sizeBytes");
	char text[16];

	snprintf(text, sizeof(text), "%04o", mode && mode->is_uint ? (unsigned)(mode->uint & 07777) : 0);
	json_begin_object(w);
	json_key_string(w, "name", json_member_text(entry, "name", ""));
	json_key_string(w, "type", json_member_text(entry, "type", ""));
	json_key_uint(w, "sizeBytes", size && size->is_uint ? size->uint : 0);
	json_key_string(w, "mode", text);
	json_key_string(w, "modified", json_member_text(entry, "modified", NULL));
	if (json_member_text(entry, "target", NULL))
		json_key_string(w, "target", json_member_text(entry, "target", NULL));
	json_end_object(w);
}

static int list_files(const struct remote_place *place, const struct args *args, const void *of,
		      struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = REMOTE_RESULT_MAX,
					    .max_values = REMOTE_LIST_VALUES_MAX };
	struct remote_asking how = { .large = true, .timeout_ms = 4 * REMOTE_QUESTION_MS };
	struct json_value *entries = NULL;
	struct json_writer w = { 0 };
	char rest[REMOTE_PATH_SIZE];
	char *text = NULL;
	size_t len = 0;
	int status =
	    session_remote_files_path("/directories", args->rest[0] ? args->rest[0] : ".", rest, err);

	if (status == 0)
		status = remote_place_ask(place, rest, &how, &text, &len, err);
	if (status == 0)
		status = json_parse(text, len, place->session.backend, &limits, &entries, err);
	free(text);
	if (status < 0 || !entries)
		return -1;
	json_begin_array(&w);
	for (const struct json_value *entry = entries->child; entry; entry = entry->next)
		if (entry->type == JSON_OBJECT)
			write_entry(&w, entry);
	json_end_array(&w);
	json_free(entries);
	text = json_take(&w);
	if (args->json || !text)
		return term_put(text, err);
	status = session_print_files(text, err);
	free(text);
	return status;
}

int session_remote_files_do(struct args *args, int status, const char *name,
			    int (*work)(const struct remote_place *place, const struct args *args,
					const void *of, struct warder_error *err),
			    const void *of, struct warder_error *err)
{
	struct remote_place place = { 0 };

	if (status == 0)
		status = remote_place_open(name, &place, err);
	if (status == 0) {
		remote_place_renew(&place);
		status = work(&place, args, of, err);
		if (status < 0 && remote_place_is_gone(err))
			remote_place_say_gone(&place.session, err);
		remote_place_renew(&place);
	}
	if (status > 0)
		status = EXIT_REFUSED;
	else if (status < 0)
		status = command_refuse(args, err, EXIT_REFUSED);
	args_done(args);
	return status;
}

static int files_word(struct args *outer, const char *name, char **flags, size_t least,
		      int (*work)(const struct remote_place *place, const struct args *args, const void *of,
				  struct warder_error *err))
{
	struct args args;
	struct warder_error err = { 0 };
	int status = args_parse(FLAG_SESSION_FILES, flags, &args, &err);
	size_t count = 0;

	args.json |= outer->json;
	while (status == 0 && args.rest[count])
		count++;
	if (status == 0 && (count < least || count > 1))
		status = error_set(&err, WARDER_ERROR_INVALID_REQUEST, "path",
				   "one path: warder session %.10s %.64s "
				   "PATH",
				   outer->rest[0], name);
	return session_remote_files_do(&args, status, name, work, NULL, &err);
}

int session_remote_read_word(struct args *outer, const char *name, char **flags)
{
	return files_word(outer, name, flags, 1, read_file);
}

int session_remote_write_word(struct args *outer, const char *name, char **flags)
{
	return files_word(outer, name, flags, 1, write_file);
}

int session_remote_list_word(struct args *outer, const char *name, char **flags)
{
	return files_word(outer, name, flags, 0, list_files);
}
