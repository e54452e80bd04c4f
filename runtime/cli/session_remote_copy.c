/*
 * session_remote_copy: the word cp of a session on another machine, for one regular file. The host moves files whole, and without their modes: the
 * mode of a file comes from the list of its directory, and is set there by chmod, as an execution of the session.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/session_remote_exec.h"
#include "runtime/cli/session_remote_files.h"

#define COPY_MODES 0777

struct copy {
	const struct args *args;
	const struct remote_place *place;
	struct session_cp_places places;
};

/* *ret: the last component of a path. -1 with *err if it is empty, "." or "..": then the path names a directory. */
static int last_of(const char *path, const char **ret, struct warder_error *err)
{
	const char *slash = strrchr(path, '/');

	*ret = slash ? slash + 1 : path;
	return !**ret || strcmp(*ret, ".") == 0 || strcmp(*ret, "..") == 0
		   ? error_set(err, WARDER_ERROR_INVALID_REQUEST, "path",
			       "%.200s is a directory; with a session on another machine, cp copies one "
			       "regular file",
			       path)
		   : 0;
}

static int say_exists(const char *path, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_CONFLICT, "--on-existing", "%.200s exists", path);
}

/* ---- there ---- */

/* *ret: the entries of a directory of the session. Returns 0; 1 if the session has no such directory; -1 with *err. */
static int list_there(const struct copy *copy, const char *path, struct json_value **ret,
		      struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = REMOTE_RESULT_MAX };
	struct remote_asking how = { .large = true, .timeout_ms = 4 * REMOTE_QUESTION_MS };
	char rest[REMOTE_PATH_SIZE];
	char *text = NULL;
	size_t len = 0;
	int status;

	if (session_remote_files_path("/directories", path, rest, err) < 0)
		return -1;
	status = remote_place_ask(copy->place, rest, &how, &text, &len, err);
	if (status < 0)
		return (how.status == 400 || how.status == 404) && !remote_place_is_gone(err) ? 1 : -1;
	status = json_parse(text, len, copy->place->session.backend, &limits, ret, err);
	free(text);
	return status;
}

/* Look at the entry of a path in the list of its directory. 0; 1: there is none; -1 with *err. */
static int look_there(const struct copy *copy, const char *path, mode_t *ret_mode, bool *ret_is_file,
		      struct warder_error *err)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char parent[REMOTE_PATH_SIZE];
	struct json_value *entries = NULL;
	const struct json_value *mode;
	int status;

	snprintf(parent, sizeof(parent), "%.*s", slash && slash > path ? (int)(slash - path) : 1,
		 slash ? path : ".");
	status = list_there(copy, parent, &entries, err);
	if (status != 0)
		return status;
	status = 1;
	for (const struct json_value *entry = entries->child; entry && status > 0; entry = entry->next) {
		if (entry->type != JSON_OBJECT || strcmp(json_member_text(entry, "name", ""), name) != 0)
			continue;
		mode = json_member(entry, "mode");
		*ret_mode = mode && mode->is_uint ? (mode_t)(mode->uint & COPY_MODES) : 0600;
		*ret_is_file = strcmp(json_member_text(entry, "type", ""), "file") == 0;
		status = 0;
	}
	json_free(entries);
	return status;
}

/* Run chmod there, and wait for its end. */
static int set_mode(const struct copy *copy, const char *path, mode_t mode, struct warder_error *err)
{
	/* The host takes a path that is not absolute in the same way when it writes the file. */
	static const char script[] = "case $2 in /*) p=$2;; '~/'*) p=$HOME/${2#'~/'};; *) p=$HOME/$2;; esac; "
				     "exec chmod \"$1\" -- \"$p\"";
	struct json_writer w = { 0 };
	char octal[8];
	char *body;
	int code, status;

	snprintf(octal, sizeof(octal), "%04o", (unsigned)(mode & COPY_MODES));
	json_begin_object(&w);
	json_key(&w, "argv");
	json_begin_array(&w);
	json_string(&w, "/bin/sh");
	json_string(&w, "-c");
	json_string(&w, script);
	json_string(&w, "sh");
	json_string(&w, octal);
	json_string(&w, path);
	json_end_array(&w);
	json_end_object(&w);
	body = json_take(&w);
	if (!body)
		return error_no_memory(err, NULL);
	status = session_remote_run(copy->place, body, &code, err);
	free(body);
	if (status == 0 && code != 0)
		status = error_set(err, WARDER_ERROR_EXECUTION_FAILED, "path", "chmod exits with %d", code);
	return status < 0 ? error_context(err, "the file is copied, but its mode is not set") : 0;
}

/* ---- out of the session ---- */

/* Open the directory of the target, and find its name there. */
static int open_target(const struct copy *copy, const char *base, int *ret_fd, const char **ret_name,
		       struct warder_error *err)
{
	const char *host = copy->places.host;
	struct stat st;
	bool there = lstat(host, &st) == 0;

	*ret_name = base;
	if (there && S_ISDIR(st.st_mode)) {
		*ret_fd = open(host, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		there = fstatat(*ret_fd, base, &st, AT_SYMLINK_NOFOLLOW) == 0;
	} else if (last_of(host, ret_name, err) < 0 || file_open_private_dir(host, ret_fd, err) < 0) {
		return -1;
	}
	if (*ret_fd < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "path", errno, "cannot open %.200s",
				       host);
	if (there && copy->args->session.existing == SESSION_FILES_ERROR)
		return say_exists(host, err);
	return there && !S_ISREG(st.st_mode)
		   ? error_set(err, WARDER_ERROR_CONFLICT, "path", "%.200s exists, and is not a regular file",
			       *ret_name)
		   : 0;
}

static int fetch(const struct copy *copy, char **ret, size_t *ret_len, struct warder_error *err)
{
	struct remote_asking how = { .large = true, .timeout_ms = 4 * REMOTE_QUESTION_MS };
	char rest[REMOTE_PATH_SIZE];

	if (session_remote_files_path("/files", copy->places.path, rest, err) < 0 ||
	    remote_place_ask(copy->place, rest, &how, ret, ret_len, err) < 0)
		return -1;
	return session_remote_files_check(copy->places.path, *ret_len, session_remote_files_most(copy->args),
					  err);
}

static int copy_out(const struct copy *copy, struct warder_error *err)
{
	const char *path = copy->places.path, *base, *name;
	owned_fd int dir_fd = -1;
	char *bytes = NULL;
	bool is_file = false;
	size_t len = 0;
	mode_t mode = 0;
	int status;

	if (last_of(path, &base, err) < 0)
		return -1;
	status = look_there(copy, path, &mode, &is_file, err);
	if (status > 0)
		return error_set(err, WARDER_ERROR_NOT_FOUND, "path", "there is no %.200s in the session",
				 path);
	if (status == 0 && !is_file)
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, "path",
		    "%.200s is no regular file; with a session on another machine, cp copies one "
		    "regular file",
		    path);
	if (status == 0)
		status = open_target(copy, base, &dir_fd, &name, err);
	if (status == 0)
		status = fetch(copy, &bytes, &len, err);
	if (status == 0)
		status = file_replace(dir_fd, name, bytes, len, err);
	if (status == 0 && fchmodat(dir_fd, name, mode, 0) < 0)
		status = error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "path", errno,
					 "the file is copied, but its mode is not set");
	free(bytes);
	return status;
}

/* ---- into it ---- */

/* ret: the path of the copy. If its place is a directory that exists, the copy is in it, with the name `base`. -1 with *err. */
static int find_place(const struct copy *copy, const char *base, char ret[REMOTE_PATH_SIZE],
		      struct warder_error *err)
{
	const char *path = copy->places.path;
	const size_t len = strlen(path);
	struct json_value *entries = NULL;
	bool is_file = false;
	mode_t mode;
	int status = list_there(copy, path, &entries, err);

	json_free(entries);
	if (status < 0)
		return -1;
	if (snprintf(ret, REMOTE_PATH_SIZE, status == 0 ? "%s%s%s" : "%s", path,
		     path[len - 1] == '/' ? "" : "/", base) >= REMOTE_PATH_SIZE)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "path", "the path is too long");
	memset(err, 0, sizeof(*err));
	status = look_there(copy, ret, &mode, &is_file, err);
	if (status < 0)
		return -1;
	memset(err, 0, sizeof(*err));
	if (status == 0 && copy->args->session.existing == SESSION_FILES_ERROR)
		return say_exists(ret, err);
	return status == 0 && !is_file ? error_set(err, WARDER_ERROR_CONFLICT, "path",
						   "%.200s exists, and is not a regular file", ret)
				       : 0;
}

static int send_file(const struct copy *copy, const char *path, const char *bytes, size_t len,
		     struct warder_error *err)
{
	struct remote_asking how = {
		.method = "PUT", .body = bytes, .body_len = len, .timeout_ms = 4 * REMOTE_QUESTION_MS
	};
	char rest[REMOTE_PATH_SIZE];

	return session_remote_files_path("/files", path, rest, err) < 0
		   ? -1
		   : remote_place_ask(copy->place, rest, &how, NULL, NULL, err);
}

static int copy_in(const struct copy *copy, struct warder_error *err)
{
	const char *host = copy->places.host, *base;
	char path[REMOTE_PATH_SIZE];
	owned_fd int fd = -1;
	char *bytes = NULL;
	struct stat st;
	size_t len = 0;
	int status;

	if (stat(host, &st) == 0 && S_ISDIR(st.st_mode))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "path",
				 "%.200s is a directory; with a session on another machine, cp copies one "
				 "regular file",
				 host);
	if (last_of(host, &base, err) < 0 || file_open_regular(host, &fd, err) < 0)
		return -1;
	if (fstat(fd, &st) < 0)
		return error_set_errno(err, WARDER_ERROR_INVALID_REQUEST, "path", errno, "%.200s", host);
	status =
	    session_remote_files_check(host, (size_t)st.st_size, session_remote_files_most(copy->args), err);
	if (status == 0)
		status = find_place(copy, base, path, err);
	if (status == 0)
		status = file_read_open(fd, host, REMOTE_RESULT_MAX, &bytes, &len, err);
	if (status == 0)
		status = send_file(copy, path, bytes, len, err);
	if (status == 0)
		status = set_mode(copy, path, st.st_mode, err);
	free(bytes);
	return status;
}

int session_remote_cp_word(struct args *outer, const char *name, char **flags)
{
	struct remote_place place = { 0 };
	struct args args;
	struct copy copy = { .args = &args, .place = &place };
	struct warder_error err = { 0 };
	int status = args_parse(FLAG_SESSION_FILES, flags, &args, &err);

	if (status == 0 && (!args.rest[0] || args.rest[1]))
		status = error_set(&err, WARDER_ERROR_INVALID_REQUEST, "path",
				   "two places: warder session cp NAME:PATH PATH, or cp PATH NAME:PATH");
	if (status == 0)
		status = session_cp_places(name, args.rest[0], &copy.places, &err);
	if (status == 0)
		status = remote_place_open(copy.places.session, &place, &err);
	if (status == 0) {
		remote_place_renew(&place);
		status = copy.places.in ? copy_in(&copy, &err) : copy_out(&copy, &err);
		if (status < 0 && remote_place_is_gone(&err))
			remote_place_say_gone(&place.session, &err);
		remote_place_renew(&place);
	}
	if (status < 0)
		status = command_refuse(&args, &err, EXIT_REFUSED);
	args_done(&args);
	return status;
}
