/*
 * session_remote_fetch: files of a session on another machine, on their way to the stage.
 *
 * The host lists a directory, and sends a file whole. Neither is more than the word of the host and of the programs in the session. So each name
 * must be the name of one file, whatever else the list says, and is made new, in the descriptor of its directory: no link is followed, and
 * nothing outside of the stage can be named.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/text.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/session_remote_copy.h"
#include "runtime/cli/session_remote_files.h"

/* The copy from the stage has to read what it finds there. */
#define STAGED_FILE      0400
#define STAGED_DIRECTORY 0500

static int bad_list(const char *backend, const char *path, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_UNAVAILABLE, "backend",
			 "%s: the host sent an invalid entry in the list of the directory %.200s", backend,
			 path);
}

static int failed(const char *path, struct warder_error *err)
{
	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "TMPDIR", errno,
			       "cannot store %.200s in the temporary directory (check TMPDIR)", path);
}

/* ---- lists ---- */

/* The bytes of a name, which the list has as a text and perhaps in base64. False: they are none. */
static bool take_text(const struct json_value *object, const char *key, const char *base64_key, char *ret,
		      size_t size)
{
	const char *text = json_member_text(object, key, "");
	const char *encoded = json_member_text(object, base64_key, NULL);
	size_t len = strlen(text);
	char *bytes = encoded ? text_unbase64(encoded, strlen(encoded), &len) : NULL;
	const char *from = encoded ? bytes : text;
	const bool good = from && len && len < size && !memchr(from, '\0', len);

	if (good)
		snprintf(ret, size, "%s", from);
	free(bytes);
	return good;
}

bool remote_entry_read(const struct json_value *object, struct remote_entry *ret)
{
	static const char *const types[] = { [REMOTE_ENTRY_FILE] = "file",
					     [REMOTE_ENTRY_DIRECTORY] = "directory",
					     [REMOTE_ENTRY_LINK] = "link" };
	const char *type = object->type == JSON_OBJECT ? json_member_text(object, "type", "") : "";
	const struct json_value *mode = object->type == JSON_OBJECT ? json_member(object, "mode") : NULL;

	*ret = (struct remote_entry){ .type = REMOTE_ENTRY_OTHER };
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (strcmp(type, types[i]) == 0)
			ret->type = (enum remote_entry_type)i;
	ret->mode = mode && mode->is_uint ? (mode_t)(mode->uint & 07777) : 0600;
	if (ret->type == REMOTE_ENTRY_LINK &&
	    !take_text(object, "target", "targetBase64", ret->target, sizeof(ret->target)))
		ret->target[0] = '\0';
	return object->type == JSON_OBJECT &&
	       take_text(object, "name", "nameBase64", ret->name, sizeof(ret->name)) &&
	       !strchr(ret->name, '/') && strcmp(ret->name, ".") != 0 && strcmp(ret->name, "..") != 0;
}

static size_t count_values(const struct json_value *value)
{
	size_t count = 1;

	for (const struct json_value *one = value->child; one; one = one->next)
		count += count_values(one);
	return count;
}

void remote_list_done(struct remote_lists *all, struct remote_list *list)
{
	json_free(list->entries);
	all->bytes -= list->bytes;
	all->values -= list->values;
	*list = (struct remote_list){ 0 };
}

int remote_list_read(struct remote_lists *all, const char *backend, const char *path, const char *text,
		     size_t len, struct remote_list *ret, struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = REMOTE_RESULT_MAX,
					    .max_values = REMOTE_LIST_VALUES_MAX - all->values };

	*ret = (struct remote_list){ 0 };
	if (len > REMOTE_COPY_LISTS_MAX - all->bytes || !limits.max_values)
		return error_set(err, WARDER_ERROR_REJECTED, "path",
				 "the lists of %.200s and of the directories above it are too long to be "
				 "read together",
				 path);
	if (json_parse(text, len, backend, &limits, &ret->entries, err) < 0)
		return -1;
	all->bytes += ret->bytes = len;
	all->values += ret->values = count_values(ret->entries);
	if (ret->entries->type == JSON_ARRAY)
		return 0;
	remote_list_done(all, ret);
	return bad_list(backend, path, err);
}

/* 0 with *ret, which remote_list_done() frees; 1: the directory does not exist; -1 with *err. */
static int list(struct remote_copy *copy, const char *path, struct remote_list *ret, struct warder_error *err)
{
	struct remote_asking how = { .large = true, .timeout_ms = 4 * REMOTE_QUESTION_MS };
	char rest[REMOTE_PATH_SIZE];
	char *text = NULL;
	size_t len = 0;
	int status;

	*ret = (struct remote_list){ 0 };
	remote_place_keep(copy->place, &copy->renewed_ms);
	if (session_remote_files_path("/directories", path, rest, err) < 0)
		return -1;
	status = remote_place_ask(copy->place, rest, &how, &text, &len, err);
	if (status < 0)
		return (how.status == 400 || how.status == 404) && !remote_place_is_gone(err) ? 1 : -1;
	status = remote_list_read(&copy->lists, copy->place->session.backend, path, text, len, ret, err);
	free(text);
	return status;
}

/* ---- files, links, directories ---- */

static int fetch_file(struct remote_copy *copy, const char *path, int parent_fd,
		      const struct remote_entry *entry, struct warder_error *err)
{
	struct remote_asking how = { .large = true, .timeout_ms = 4 * REMOTE_QUESTION_MS };
	owned_fd int fd = -1;
	char rest[REMOTE_PATH_SIZE];
	char *bytes = NULL;
	size_t len = 0;
	int status = session_remote_files_path("/files", path, rest, err);

	if (status == 0)
		status = remote_place_ask(copy->place, rest, &how, &bytes, &len, err);
	if (status == 0)
		status = session_remote_files_check(path, len, session_remote_files_most(copy->args), err);
	if (status == 0 && len > copy->left)
		status = session_remote_files_check(copy->path, SIZE_MAX, copy->most, err);
	if (status == 0) {
		copy->left -= len;
		fd = openat(parent_fd, entry->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    0600);
		if (fd < 0 || file_write_all(fd, bytes, len) < 0 ||
		    fchmod(fd, (entry->mode & REMOTE_COPY_MODES) | STAGED_FILE) < 0)
			status = failed(path, err);
	}
	free(bytes);
	return status;
}

static int fetch_entry(struct remote_copy *copy, const char *path, int parent_fd,
		       const struct remote_entry *entry, unsigned int level, struct warder_error *err);

/* The content of a directory, into one of the stage. */
static int fetch_content(struct remote_copy *copy, const char *path, int fd, unsigned int level,
			 struct warder_error *err)
{
	struct remote_list found;
	char below[REMOTE_PATH_SIZE];
	const char *slash = path[strlen(path) - 1] == '/' ? "" : "/";
	struct remote_entry entry;
	int status = list(copy, path, &found, err);

	if (status > 0)
		return error_set(err, WARDER_ERROR_NOT_FOUND, "path",
				 "the directory %.200s does not exist in the session", path);
	for (const struct json_value *one = found.entries ? found.entries->child : NULL; one && status == 0;
	     one = one->next) {
		if (!remote_entry_read(one, &entry) ||
		    (entry.type == REMOTE_ENTRY_LINK && !entry.target[0]) ||
		    snprintf(below, sizeof(below), "%s%s%s", path, slash, entry.name) >= (int)sizeof(below))
			status = bad_list(copy->place->session.backend, path, err);
		else
			status = fetch_entry(copy, below, fd, &entry, level, err);
	}
	remote_list_done(&copy->lists, &found);
	return status;
}

static int fetch_directory(struct remote_copy *copy, const char *path, int parent_fd,
			   const struct remote_entry *entry, unsigned int level, struct warder_error *err)
{
	owned_fd int fd = -1;

	if (mkdirat(parent_fd, entry->name, 0700) == 0)
		fd = openat(parent_fd, entry->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return failed(path, err);
	if (fetch_content(copy, path, fd, level + 1, err) < 0)
		return -1;
	return fchmod(fd, (entry->mode & REMOTE_COPY_MODES) | STAGED_DIRECTORY) < 0 ? failed(path, err) : 0;
}

static int omit(struct remote_copy *copy, const char *path, const char *why)
{
	copy->omitted++;
	session_say_omitted(path, why);
	return 0;
}

static int fetch_entry(struct remote_copy *copy, const char *path, int parent_fd,
		       const struct remote_entry *entry, unsigned int level, struct warder_error *err)
{
	if (session_remote_copy_count(copy, path, err) < 0)
		return -1;
	remote_place_keep(copy->place, &copy->renewed_ms);
	switch (entry->type) {
	case REMOTE_ENTRY_FILE:
		return fetch_file(copy, path, parent_fd, entry, err);
	case REMOTE_ENTRY_LINK:
		return symlinkat(entry->target, parent_fd, entry->name) < 0 ? failed(path, err) : 0;
	case REMOTE_ENTRY_DIRECTORY:
		if (level == REMOTE_COPY_LEVELS_MAX)
			return omit(copy, path, "more than 64 levels of directories");
		return fetch_directory(copy, path, parent_fd, entry, level, err);
	case REMOTE_ENTRY_OTHER:
		break;
	}
	return omit(copy, path, "only files, directories and links are copied");
}

/* ---- what was named ---- */

/* The entry of the path, in the list of its directory. 0; 1: there is none; -1 with *err. */
static int look(struct remote_copy *copy, const char *path, const char *name, struct remote_entry *ret,
		struct warder_error *err)
{
	char parent[REMOTE_PATH_SIZE];
	const char *slash = strrchr(path, '/');
	struct remote_list found;
	int status;

	snprintf(parent, sizeof(parent), "%.*s", slash && slash > path ? (int)(slash - path) : 1,
		 slash ? path : ".");
	status = list(copy, parent, &found, err);
	if (status != 0)
		return status;
	status = 1;
	for (const struct json_value *one = found.entries->child; one && status > 0; one = one->next)
		if (remote_entry_read(one, ret) && strcmp(ret->name, name) == 0)
			status = 0;
	remote_list_done(&copy->lists, &found);
	return status;
}

/* The path without the slashes at its end, and perhaps without "/.". -1 with *err: it is too long. */
static int plain(const char *path, bool content, char ret[REMOTE_PATH_SIZE], struct warder_error *err)
{
	size_t len = strlen(path);

	if (len >= REMOTE_PATH_SIZE)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "path", "the path is too long");
	while (len > 1 && path[len - 1] == '/')
		len--;
	if (content && len > 2 && strcmp(path + len - 2, "/.") == 0)
		len -= 2;
	snprintf(ret, REMOTE_PATH_SIZE, "%.*s", (int)len, path);
	return 0;
}

/* The directory gets the mode of the original, if a list shows that. */
static int fetch_all(struct remote_copy *copy, const char *path, struct warder_error *err)
{
	struct warder_error ignored = { 0 };
	struct remote_entry entry = { .mode = 0755 };
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	if (fetch_content(copy, path, copy->stage_fd, 0, err) < 0)
		return -1;
	if (look(copy, path, name, &entry, &ignored) != 0 || entry.type != REMOTE_ENTRY_DIRECTORY)
		entry.mode = 0755;
	return fchmod(copy->stage_fd, (entry.mode & REMOTE_COPY_MODES) | STAGED_DIRECTORY) < 0
		   ? failed(path, err)
		   : 0;
}

int session_remote_fetch(struct remote_copy *copy, const char *base, struct warder_error *err)
{
	const bool content = strcmp(base, ".") == 0;
	char path[REMOTE_PATH_SIZE];
	struct remote_entry entry;
	int status;

	if (plain(copy->path, content, path, err) < 0)
		return -1;
	if (content)
		return fetch_all(copy, path, err);
	status = look(copy, path, base, &entry, err);
	if (status > 0)
		return error_set(err, WARDER_ERROR_NOT_FOUND, "path", "there is no %.200s in the session",
				 path);
	if (status < 0)
		return -1;
	if (entry.type == REMOTE_ENTRY_LINK)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "path",
				 "%.200s is a symbolic link; name the file that it leads to", path);
	if (entry.type == REMOTE_ENTRY_OTHER)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "path",
				 "%.200s must be a regular file or a directory", path);
	return fetch_entry(copy, path, copy->stage_fd, &entry, 0, err);
}
