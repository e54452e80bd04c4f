/*
 * session_remote_send: files of the stage, on their way into a session on another machine.
 *
 * The host takes files whole, and without their modes. So the files go into a directory of the session's /tmp, each with a number as its name.
 * Then an execution of the session, a script of sh, makes the directories and links, moves the files to their places and sets the modes. The target
 * stays as it was until the last byte has arrived. Paths stand in the script in single quotes.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/file.h"
#include "runtime/cli/session_remote_copy.h"
#include "runtime/cli/session_remote_exec.h"
#include "runtime/cli/session_remote_files.h"
#include "runtime/session/session.h"

#define THERE   "/tmp/.warder-cp-"
#define MOVE_MS 60000u /* that the script may take */
#define FILE_MS 50u    /* and for each file, for which it starts several programs */

/* What the script exits with, where it looks at the target. */
static const struct refusal {
	int exit_code;
	enum warder_error_kind code;
	const char *before, *after; /* the path */
} refusals[] = {
	{ 51, WARDER_ERROR_INVALID_REQUEST, "",
	  " is not a directory; make it first, or leave the last \"/\" out" },
	{ 52, WARDER_ERROR_NOT_FOUND, "the parent directory of ",
	  " does not exist in the session; make it first" },
	{ 53, WARDER_ERROR_CONFLICT, "", " is there already; --on-existing replace or merge allows that" },
};

/* S: where the files are; T: the target; B: the name in a directory; E: what happens to a target that exists; K: "directory", or another kind. The
 * host takes a path that is not absolute in the same way when it writes a file. t: the path of the copy. */
static const char head[] =
    "trap 'rm -rf -- \"$S\"' EXIT; trap 'exit 1' TERM INT HUP\n"
    "case $T in '~') p=$HOME;; '~/'*) p=$HOME/${T#'~/'};; /*) p=$T;; *) p=$HOME/$T;; esac\n"
    "there() { [ -e \"$1\" ] || [ -L \"$1\" ]; }\n"
    "real() { [ -d \"$1\" ] && ! [ -L \"$1\" ]; }\n"
    "fail() { printf '%s: %s\\n' \"$1\" \"$2\" >&2; exit 50; }\n"
    "dir() { m=; real \"$1\" && return; mkdir -m 0700 -- \"$1\" || exit 50; m=1; }\n"
    "free() { real \"$1\" && fail \"$1\" 'is a directory'; rm -f -- \"$1\" || exit 50; }\n"
    "file() { free \"$3\"; chmod \"$2\" -- \"$S/$1\" && mv -- \"$S/$1\" \"$3\" || exit 50; }\n"
    "link() { free \"$2\"; ln -s -- \"$1\" \"$2\" || exit 50; }\n"
    "gone() { rm -rf -- \"$@\" 2>/dev/null && return; find \"$@\" -type d -exec chmod u+rwx {} \\; ; rm -rf "
    "-- "
    "\"$@\" || exit 50; }\n"
    "mode() { [ -z \"$1\" ] || chmod \"$2\" -- \"$3\" || exit 50; }\n"
    "if [ -d \"$p\" ]; then t=$p/$B\n"
    "else\n"
    "  case $p in */) exit 51;; esac\n"
    "  d=${p%/*}; [ -d \"${d:-/}\" ] || exit 52; t=$p\n"
    "fi\n"
    "if [ \"$E\" != merge ] && there \"$t\" && ! { [ $K = directory ] && real \"$t\" && [ -z \"$(ls -A -- "
    "\"$t\")\" ]; }; then\n"
    "  [ \"$E\" != error ] || exit 53\n"
    "  if [ \"$B\" = . ] && [ -d \"$p\" ]; then gone \"$p\"/* \"$p\"/.[!.]* \"$p\"/..?*\n"
    "  else gone \"$t\"; fi\n"
    "fi\n";

/* The script, and the files that it moves, as paths of the stage. */
struct sending {
	struct remote_copy *copy;
	FILE *script;
	char **files; /* owned, by their numbers */
	size_t count, room;
	struct warder_error *err;
};

/* ---- the script ---- */

static void quote(FILE *to, const char *text)
{
	fputc('\'', to);
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", to);
		else
			fputc(*text, to);
	}
	fputc('\'', to);
}

static void say_text(FILE *to, const char *name, const char *text)
{
	fprintf(to, "%s=", name);
	quote(to, text);
	fputc('\n', to);
}

/* A path of the stage, as the script names it: the item itself is the target, and its content is below the working directory. */
static void say_place(struct sending *to, const char *path)
{
	const char *below = strchr(path, '/');

	fputc(' ', to->script);
	if (!below) {
		fputs("\"$t\"", to->script);
	} else {
		fputs("./", to->script);
		quote(to->script, below + 1);
	}
}

static int failed(struct sending *to, const char *path)
{
	return error_set_errno(to->err, WARDER_ERROR_UNAVAILABLE, "path", errno, "%.200s cannot be read",
			       path);
}

static int add_file(struct sending *to, const char *path, const struct stat *st)
{
	if (session_remote_files_check(path, (size_t)st->st_size, session_remote_files_most(to->copy->args),
				       to->err) < 0)
		return -1;
	if (to->count == to->room) {
		char **grown = realloc(to->files, (to->room = to->room ? to->room * 2 : 64) * sizeof(*grown));

		if (!grown)
			return error_no_memory(to->err, NULL);
		to->files = grown;
	}
	to->files[to->count] = strdup(path);
	if (!to->files[to->count])
		return error_no_memory(to->err, NULL);
	fprintf(to->script, "file %zu %04o", to->count++, (unsigned)(st->st_mode & REMOTE_COPY_MODES));
	say_place(to, path);
	fputc('\n', to->script);
	return 0;
}

static int add_link(struct sending *to, const char *path)
{
	char target[PATH_MAX];
	const ssize_t len = readlinkat(to->copy->stage_fd, path, target, sizeof(target) - 1);

	if (len < 0)
		return failed(to, path);
	target[len] = '\0';
	fputs("link ", to->script);
	quote(to->script, target);
	say_place(to, path);
	fputc('\n', to->script);
	return 0;
}

static int add(struct sending *to, const char *path, unsigned int level);

static int add_content(struct sending *to, const char *path, unsigned int level)
{
	const int fd = openat(to->copy->stage_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *one;
	char below[PATH_MAX];
	int status = 0;

	if (!dir && fd >= 0)
		close(fd);
	if (!dir)
		return failed(to, path);
	while (status == 0 && (errno = 0, one = readdir(dir)) != NULL) {
		if (strcmp(one->d_name, ".") == 0 || strcmp(one->d_name, "..") == 0)
			continue;
		if (snprintf(below, sizeof(below), "%s/%s", path, one->d_name) >= (int)sizeof(below)) {
			errno = ENAMETOOLONG;
			status = failed(to, path);
		} else {
			status = add(to, below, level + 1);
		}
	}
	if (status == 0 && errno)
		status = failed(to, path);
	closedir(dir);
	return status;
}

/* m3: whether the directory at level 3 was made, so that it gets the mode of the original. */
static int add_directory(struct sending *to, const char *path, const struct stat *st, unsigned int level)
{
	fputs("dir", to->script);
	say_place(to, path);
	fprintf(to->script, "; m%u=$m\n", level);
	if (level == 0)
		fputs("cd -- \"$t\" || exit 50\n", to->script);
	if (add_content(to, path, level) < 0)
		return -1;
	fprintf(to->script, "mode \"$m%u\" %04o", level, (unsigned)(st->st_mode & REMOTE_COPY_MODES));
	if (level == 0)
		fputs(" .", to->script);
	else
		say_place(to, path);
	fputc('\n', to->script);
	return 0;
}

/* The copy to the stage has left everything else out. */
static int add(struct sending *to, const char *path, unsigned int level)
{
	struct stat st;

	if (session_remote_copy_count(to->copy, path, to->err) < 0)
		return -1;
	if (fstatat(to->copy->stage_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return failed(to, path);
	if (S_ISLNK(st.st_mode))
		return add_link(to, path);
	return S_ISDIR(st.st_mode) ? add_directory(to, path, &st, level) : add_file(to, path, &st);
}

/* Ends with the script whole, in *ret; heap. */
static int write_script(struct sending *to, const char *item, const char *base, const char *there, char **ret,
			size_t *ret_len)
{
	static const char *const existing[] = { [SESSION_FILES_MERGE] = "merge",
						[SESSION_FILES_ERROR] = "error",
						[SESSION_FILES_REPLACE] = "replace" };
	struct stat st = { 0 };
	int status;

	to->script = open_memstream(ret, ret_len);
	if (!to->script)
		return error_no_memory(to->err, NULL);
	fstatat(to->copy->stage_fd, item, &st, AT_SYMLINK_NOFOLLOW);
	say_text(to->script, "S", there);
	say_text(to->script, "T", to->copy->path);
	say_text(to->script, "B", base);
	say_text(to->script, "E", existing[to->copy->args->session.existing]);
	say_text(to->script, "K", S_ISDIR(st.st_mode) ? "directory" : "other");
	fputs(head, to->script);
	status = add(to, item, 0);
	if (fclose(to->script) != 0 && status == 0)
		status = error_no_memory(to->err, NULL);
	if (status == 0 && *ret_len > REMOTE_RESULT_MAX)
		status = error_set(to->err, WARDER_ERROR_INVALID_REQUEST, "path",
				   "the directory has too many files for one copy; copy its parts");
	return status;
}

/* ---- sending ---- */

static int put(struct sending *to, const char *there, const char *name, const char *bytes, size_t len)
{
	struct remote_asking how = {
		.method = "PUT", .body = bytes, .body_len = len, .timeout_ms = 4 * REMOTE_QUESTION_MS
	};
	char path[sizeof(THERE) + REMOTE_ID_LENGTH + 32], rest[REMOTE_PATH_SIZE];

	remote_place_keep(to->copy->place, &to->copy->renewed_ms);
	snprintf(path, sizeof(path), "%s/%s", there, name);
	return session_remote_files_path("/files", path, rest, to->err) < 0
		   ? -1
		   : remote_place_ask(to->copy->place, rest, &how, NULL, NULL, to->err);
}

static int put_file(struct sending *to, const char *there, size_t number)
{
	const char *path = to->files[number];
	owned_fd int fd = openat(to->copy->stage_fd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char name[24];
	char *bytes = NULL;
	size_t len = 0;
	int status =
	    fd < 0 ? failed(to, path) : file_read_open(fd, path, REMOTE_RESULT_MAX, &bytes, &len, to->err);

	snprintf(name, sizeof(name), "%zu", number);
	if (status == 0)
		status = put(to, there, name, bytes, len);
	free(bytes);
	return status;
}

/* As the script has ended. */
static int judge(const struct sending *to, int code, const char *said)
{
	if (code == 0)
		return 0;
	for (size_t i = 0; i < ARRAY_LENGTH(refusals); i++)
		if (refusals[i].exit_code == code)
			return error_set(to->err, refusals[i].code, "path", "%s%.200s%s", refusals[i].before,
					 to->copy->path, refusals[i].after);
	return error_set(to->err, WARDER_ERROR_EXECUTION_FAILED, "path",
			 "cannot move the files to their places in the session: %.*s",
			 (int)strcspn(said, "\n"), *said ? said : "its shell says nothing about it");
}

static int run_script(struct sending *to, const char *there)
{
	char path[sizeof(THERE) + REMOTE_ID_LENGTH + 32];
	const char *const argv[] = { "/bin/sh", path, NULL };
	char *said = NULL;
	int code = -1;
	int status;

	snprintf(path, sizeof(path), "%s/script", there);
	status = session_remote_run(to->copy->place, argv, MOVE_MS + to->copy->files * FILE_MS, &code, &said,
				    to->err);
	if (status == 0)
		status = judge(to, code, said ? said : "");
	free(said);
	return status;
}

/* The script does the same at its end. */
static void clear(const struct sending *to, const char *there)
{
	struct remote_asking how = { .method = "DELETE",
				     .timeout_ms = 4 * REMOTE_QUESTION_MS,
				     .unstoppable = true };
	struct warder_error ignored;
	char rest[REMOTE_PATH_SIZE];

	if (session_remote_files_path("/files", there, rest, &ignored) == 0)
		remote_place_ask(to->copy->place, rest, &how, NULL, NULL, &ignored);
}

int session_remote_send(struct remote_copy *copy, const char *item, const char *base,
			struct warder_error *err)
{
	struct sending to = { .copy = copy, .err = err };
	char there[sizeof(THERE) + REMOTE_ID_LENGTH] = THERE;
	char *script = NULL;
	size_t len = 0;
	int status = remote_draw_id(there + sizeof(THERE) - 1, err);
	bool sent = false;

	if (status == 0)
		status = write_script(&to, item, base, there, &script, &len);
	for (size_t i = 0; i < to.count && status == 0; i++, sent = true)
		status = put_file(&to, there, i);
	if (status == 0) {
		sent = true;
		status = put(&to, there, "script", script, len);
	}
	if (status == 0)
		status = run_script(&to, there);
	if (status < 0 && sent)
		clear(&to, there);
	while (to.count)
		free(to.files[--to.count]);
	free(to.files);
	free(script);
	return status;
}
