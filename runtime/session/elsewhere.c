#include "runtime/session/elsewhere.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"

#define KIND      ".remote"
#define WORKSPACE "workspace" /* the member */
#define RUNS      "runsUntilMs"
#define FILE_MAX  (256 * 1024)
#define NAME_SIZE (SESSION_NAME_MAX + sizeof(KIND))

bool elsewhere_is_id(const char *text)
{
	const size_t len = strlen(text);

	return len >= 1 && len <= ELSEWHERE_SANDBOX_MAX &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == len;
}

static char *file_of(const char *name, char ret[NAME_SIZE])
{
	snprintf(ret, NAME_SIZE, "%.64s" KIND, name);
	return ret;
}

/* ---- the name ---- */

int elsewhere_claim(const char *name, int *ret_fd, struct warder_error *err)
{
	owned_fd int dir_fd = -1;
	int locked;

	if (session_check_name(name, err) < 0)
		return -1;
	locked = session_directory_lock(name, &dir_fd, ret_fd, err);
	return locked > 0 ? error_set(err, WARDER_ERROR_CONFLICT, "name",
				      "session %.64s runs on this machine, or is being started; choose "
				      "another name",
				      name)
			  : locked;
}

void elsewhere_release(const char *name, int *fd)
{
	struct warder_error ignored;
	owned_fd int dir_fd = -1;

	if (*fd >= 0 && session_directory_open(false, &dir_fd, &ignored) == 0)
		session_unlink(dir_fd, name);
	fd_done(fd);
	session_directory_tidy();
}

/* ---- the file ---- */

/* Heap; NULL with *err. */
static char *write_file(const struct elsewhere *session, const char *policy, struct warder_error *err)
{
	struct json_writer w = { 0 };
	char *text;

	json_begin_object(&w);
	json_key_uint(&w, "version", 1);
	json_key_string(&w, "backend", session->backend);
	json_key_string(&w, "backends", session->backends[0] ? session->backends : NULL);
	json_key_string(&w, "sandbox", session->sandbox);
	json_key_string(&w, "policy", session->policy);
	json_key_string(&w, "document", policy);
	json_key_uint(&w, "leaseMs", session->lease_ms);
	json_key_uint(&w, "startedMs", session->started_ms);
	json_key_uint(&w, "endsMs", session->ends_ms);
	if (session->workspace[0])
		json_key_string(&w, WORKSPACE, session->workspace);
	json_end_object(&w);
	text = json_take(&w);
	if (!text)
		error_no_memory(err, NULL);
	if (!text || strlen(text) <= FILE_MAX)
		return text;
	free(text);
	error_set(err, WARDER_ERROR_INVALID_REQUEST, "policy",
		  "the policy and the session's data have more than %d bytes together; shorten the policy",
		  FILE_MAX);
	return NULL;
}

static bool take_text(const struct json_value *document, const char *key, char *to, size_t size)
{
	const char *text = json_member_text(document, key, "");

	return (size_t)snprintf(to, size, "%s", text) < size;
}

static bool take_number(const struct json_value *document, const char *key, uint64_t *to)
{
	*to = json_member_uint(document, key);
	return *to != 0;
}

static int say_damaged(const char *name, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_INTERNAL, "name",
			 "the file of session %.64s is not valid; \"warder session stop %.64s\" removes it",
			 name, name);
}

bool elsewhere_is_damaged(const struct warder_error *err)
{
	return err->code == WARDER_ERROR_INTERNAL && strcmp(err->field, "name") == 0;
}

static int parse(const char *name, const char *text, size_t len, struct json_value **ret,
		 struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = FILE_MAX + 1 };

	if (json_parse(text, len, name, &limits, ret, err) == 0)
		return 0;
	return err->code == WARDER_ERROR_INTERNAL ? -1 : say_damaged(name, err); /* -1: no memory */
}

static int take(const char *name, const struct json_value *document, struct elsewhere *ret,
		struct warder_error *err)
{
	*ret = (struct elsewhere){ .runs_until_ms = json_member_uint(document, RUNS) };
	snprintf(ret->name, sizeof(ret->name), "%s", name);
	return take_text(document, "backend", ret->backend, sizeof(ret->backend)) &&
		       take_text(document, "backends", ret->backends, sizeof(ret->backends)) &&
		       take_text(document, "sandbox", ret->sandbox, sizeof(ret->sandbox)) &&
		       take_text(document, "policy", ret->policy, sizeof(ret->policy)) &&
		       take_text(document, WORKSPACE, ret->workspace, sizeof(ret->workspace)) &&
		       take_number(document, "leaseMs", &ret->lease_ms) &&
		       take_number(document, "startedMs", &ret->started_ms) &&
		       take_number(document, "endsMs", &ret->ends_ms) && ret->backend[0] &&
		       elsewhere_is_id(ret->sandbox)
		   ? 0
		   : say_damaged(name, err);
}

/* The file as a document, for json_free(). Otherwise as elsewhere_read(). */
static int read_document(const char *name, struct json_value **ret, struct warder_error *err)
{
	owned_fd int dir_fd = -1;
	owned_fd int fd = -1;
	char file[NAME_SIZE];
	char *text = NULL;
	size_t len;
	int status;

	if (session_check_name(name, err) < 0)
		return -1;
	if (session_directory_open(false, &dir_fd, err) < 0)
		return 1; /* the caller will look for a session of this machine, and say why there can be none */
	fd = openat(dir_fd, file_of(name, file), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return 1;
	if (fd < 0 && errno == ELOOP)
		return say_damaged(name, err);
	if (fd < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "name", errno,
				       "cannot open the file of session %.64s", name);
	if (file_read_open(fd, file, FILE_MAX, &text, &len, err) < 0)
		return err->code == WARDER_ERROR_INTERNAL ? -1 : say_damaged(name, err); /* -1: no memory */
	status = parse(name, text, len, ret, err);
	free(text);
	return status;
}

int elsewhere_read(const char *name, struct elsewhere *ret, struct warder_error *err)
{
	struct json_value *document = NULL;
	int status = read_document(name, &document, err);

	if (status == 0)
		status = take(name, document, ret, err);
	json_free(document);
	return status;
}

/* The file, locked: another command that changes it waits. It is the one that has the name now. Otherwise -1 with *err, whose sys_errno is ENOENT if there
 * is none. */
static int lock_file(int dir_fd, const char *name, struct warder_error *err)
{
	char file[NAME_SIZE];
	struct stat mine, there;

	file_of(name, file);
	for (;;) {
		owned_fd int fd = openat(dir_fd, file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

		if (fd < 0 || flock(fd, LOCK_EX) < 0 || fstat(fd, &mine) < 0)
			return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "name", errno,
					       "cannot lock the file of session %.64s", name);
		if (fstatat(dir_fd, file, &there, AT_SYMLINK_NOFOLLOW) == 0 && there.st_ino == mine.st_ino)
			return fd_take(&fd);
	}
}

/* Whether the session has that sandbox. The file stays as it is while it is locked: *ret_fd, or -1 without one. -1 with *err. */
static int lock_if(int dir_fd, const char *name, const char *sandbox, int *ret_fd, struct warder_error *err)
{
	struct elsewhere now;
	int found;

	*ret_fd = lock_file(dir_fd, name, err);
	if (*ret_fd < 0)
		return err->sys_errno == ENOENT ? 0 : -1;
	found = elsewhere_read(name, &now, err);
	return found < 0 ? -1 : found == 0 && strcmp(now.sandbox, sandbox) == 0;
}

int elsewhere_write(const struct elsewhere *session, const char *policy, const char *lost,
		    struct warder_error *err)
{
	owned_fd int dir_fd = -1;
	owned_fd int lock_fd = -1;
	char file[NAME_SIZE];
	char *text = write_file(session, policy, err);
	int status = text ? session_directory_open(true, &dir_fd, err) : -1;

	if (status == 0 && lost) {
		const int same = lock_if(dir_fd, session->name, lost, &lock_fd, err);

		status = same < 0 ? -1 : !same;
	}
	if (status == 0)
		status = file_replace(dir_fd, file_of(session->name, file), text, strlen(text), err);
	free(text);
	return status;
}

char *elsewhere_read_policy(const char *name, struct warder_error *err)
{
	struct json_value *document = NULL;
	const char *text = NULL;
	char *policy = NULL;
	const int status = read_document(name, &document, err);

	if (status == 0)
		text = json_member_text(document, "document", NULL);
	if (text && !(policy = strdup(text)))
		error_no_memory(err, NULL);
	else if (status > 0 || (status == 0 && !text))
		error_set(
		    err, WARDER_ERROR_NOT_FOUND, "name",
		    "the file of session %.64s has no policy; stop the session with --keep-sandbox, and "
		    "start it again with --attach",
		    name);
	json_free(document);
	return policy;
}

/* ---- the names of contexts ---- */

#define CONTEXTS "contexts" /* the member */

int elsewhere_contexts(const char *session, struct json_value **ret, struct warder_error *err)
{
	struct json_value *document = NULL, *found;
	const int status = read_document(session, &document, err);
	struct json_value **at;

	if (status != 0)
		return status < 0 ? -1
				  : error_set(err, WARDER_ERROR_NOT_FOUND, "name",
					      "session %.64s does not run", session);
	for (at = &document->child; *at && strcmp((*at)->key, CONTEXTS) != 0;)
		at = &(*at)->next;
	found = *at;
	if (found && found->type == JSON_OBJECT) {
		*at = found->next;
		found->next = NULL;
	} else {
		found = calloc(1, sizeof(*found));
		if (found)
			found->type = JSON_OBJECT;
	}
	json_free(document);
	*ret = found;
	return found ? 0 : error_no_memory(err, NULL);
}

/* The document with another member; heap. value: JSON, taken. NULL without memory. */
static char *write_member(const struct json_value *document, const char *key, char *value)
{
	const struct json_value *old = json_member(document, key);
	struct json_writer w = { 0 };

	if (!value)
		return NULL;
	json_begin_object(&w);
	for (const struct json_value *member = document->child; member; member = member->next) {
		if (member == old)
			continue;
		json_key(&w, member->key);
		json_copy(&w, member);
	}
	json_key(&w, key);
	json_number(&w, value);
	json_end_object(&w);
	free(value);
	return json_take(&w);
}

/* The ids of contexts with the change, as JSON; heap. */
static char *write_names(const struct json_value *names, const char *name, const char *id)
{
	struct json_writer w = { 0 };

	json_begin_object(&w);
	for (const struct json_value *row = names && names->type == JSON_OBJECT ? names->child : NULL; row;
	     row = row->next)
		if (row->type == JSON_STRING && strcmp(row->key, name) != 0)
			json_key_string(&w, row->key, row->string);
	if (id)
		json_key_string(&w, name, id);
	json_end_object(&w);
	return json_take(&w);
}

/* text: the new content, taken; NULL: there is no memory. */
static int replace(int dir_fd, const char *session, char *text, struct warder_error *err)
{
	char file[NAME_SIZE];
	int status;

	if (!text)
		return error_no_memory(err, NULL);
	if (strlen(text) > FILE_MAX)
		status = error_set(err, WARDER_ERROR_INVALID_REQUEST, "context",
				   "the file of session %.64s has no room for one more name; delete some "
				   "contexts",
				   session);
	else
		status = file_replace(dir_fd, file_of(session, file), text, strlen(text), err);
	free(text);
	return status;
}

/* The end of the last of the detached programs. */
static int change_end(int dir_fd, const char *session, uint64_t until_ms, struct warder_error *err)
{
	struct json_value *document = NULL;
	struct json_writer w = { 0 };
	int status = read_document(session, &document, err);

	if (status > 0)
		return error_set(err, WARDER_ERROR_NOT_FOUND, "name", "session %.64s does not run", session);
	if (status == 0 && json_member_uint(document, RUNS) < until_ms) {
		json_uint(&w, until_ms);
		status = replace(dir_fd, session, write_member(document, RUNS, json_take(&w)), err);
	}
	json_free(document);
	return status;
}

/* name: of a context, or NULL: the id is that of a workspace. */
static int change(int dir_fd, const char *session, const char *name, const char *id, struct warder_error *err)
{
	struct json_value *document = NULL;
	const struct json_value *names;
	struct json_writer w = { 0 };
	int status = read_document(session, &document, err);

	if (status > 0)
		return error_set(err, WARDER_ERROR_NOT_FOUND, "name", "session %.64s does not run", session);
	names = status == 0 ? json_member(document, CONTEXTS) : NULL;
	if (name && id && names && json_member(names, name))
		status = error_set(err, WARDER_ERROR_CONFLICT, "context",
				   "session %.64s has a context %.64s already", session, name);
	if (status == 0 && name) {
		status = replace(dir_fd, session,
				 write_member(document, CONTEXTS, write_names(names, name, id)), err);
	} else if (status == 0) {
		json_string(&w, id);
		status = replace(dir_fd, session, write_member(document, WORKSPACE, json_take(&w)), err);
	}
	json_free(document);
	return status;
}

/* Open the directory, and lock the file. -1 with *err. */
static int lock(const char *session, int *ret_dir_fd, int *ret_fd, struct warder_error *err)
{
	if (session_check_name(session, err) < 0 || session_directory_open(false, ret_dir_fd, err) < 0)
		return -1;
	*ret_fd = lock_file(*ret_dir_fd, session, err);
	return *ret_fd < 0 ? -1 : 0;
}

/* Change the file under its lock. */
static int change_locked(const char *session, const char *name, const char *id, struct warder_error *err)
{
	owned_fd int dir_fd = -1;
	owned_fd int fd = -1;

	return lock(session, &dir_fd, &fd, err) < 0 ? -1 : change(dir_fd, session, name, id, err);
}

int elsewhere_keep_until(const char *session, uint64_t until_ms, struct warder_error *err)
{
	owned_fd int dir_fd = -1;
	owned_fd int fd = -1;

	return lock(session, &dir_fd, &fd, err) < 0 ? -1 : change_end(dir_fd, session, until_ms, err);
}

int elsewhere_name_context(const char *session, const char *name, const char *id, struct warder_error *err)
{
	return session_check_name(name, err) < 0 ? -1 : change_locked(session, name, id, err);
}

int elsewhere_name_workspace(const char *session, const char *id, struct warder_error *err)
{
	return change_locked(session, NULL, id, err);
}

/* ---- all of them ---- */

int elsewhere_remove(const char *name, const char *sandbox, struct warder_error *err)
{
	owned_fd int dir_fd = -1;
	owned_fd int lock_fd = -1;
	char file[NAME_SIZE];
	int same = 1;

	if (session_check_name(name, err) < 0 || session_directory_open(false, &dir_fd, err) < 0)
		return -1;
	if (sandbox)
		same = lock_if(dir_fd, name, sandbox, &lock_fd, err);
	if (same <= 0)
		return same < 0 ? -1 : lock_fd >= 0;
	if (unlinkat(dir_fd, file_of(name, file), 0) < 0 && errno != ENOENT)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "name", errno,
				       "cannot remove the file of session %.64s", name);
	session_directory_tidy();
	return 0;
}

/* The name, if the file is that of such a session. */
static bool is_file(const char *file, char ret[SESSION_NAME_MAX + 1])
{
	const size_t len = strlen(file), kind = sizeof(KIND) - 1;
	struct warder_error ignored;

	if (len <= kind || len - kind > SESSION_NAME_MAX || strcmp(file + len - kind, KIND) != 0)
		return false;
	snprintf(ret, SESSION_NAME_MAX + 1, "%.*s", (int)(len - kind), file);
	return session_check_name(ret, &ignored) == 0;
}

int elsewhere_each(int (*each)(void *context, const char *name), void *context, struct warder_error *err)
{
	owned_fd int dir_fd = -1;
	const struct dirent *entry;
	int ret = 0;
	DIR *dir;

	if (session_directory_open(false, &dir_fd, err) < 0)
		return err->code == WARDER_ERROR_NOT_FOUND ? 0 : -1;
	dir = fdopendir(dir_fd);
	if (!dir)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
				       "cannot list the sessions");
	fd_take(&dir_fd);
	while (ret == 0 && (entry = readdir(dir))) {
		char name[SESSION_NAME_MAX + 1];

		if (is_file(entry->d_name, name))
			ret = each(context, name);
	}
	closedir(dir);
	return ret;
}

int elsewhere_check_here(const char *name, struct warder_error *err)
{
	struct warder_error why = { 0 };
	struct elsewhere session;
	const int found = elsewhere_read(name, &session, &why);

	if (found > 0)
		return 0;
	if (found < 0) {
		*err = why;
		return -1;
	}
	return error_set(err, WARDER_ERROR_CONFLICT, "name",
			 "session %.64s is on %s, and this works with sessions on this machine only", name,
			 session.backend);
}
