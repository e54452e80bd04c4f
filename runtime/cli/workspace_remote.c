/*
 * workspace_remote: each word does its part by the means of sessions on another machine: a request for a file, or a script of sh in the sandbox.
 *
 * The sandbox and the workspace are one: who removes the workspace ends the sandbox, and if the host does not confirm that, the record stays and
 * the workspace can be removed again.
 */
#include "runtime/cli/workspace_remote.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/text.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/report.h"
#include "runtime/cli/session_remote_copy.h"
#include "runtime/cli/session_remote_exec.h"
#include "runtime/cli/session_remote_files.h"
#include "runtime/cli/term.h"
#include "runtime/cli/workspace_remote_asked.h"
#include "runtime/code/scratch.h"
#include "runtime/session/session.h"

#define ROOT      WORKSPACE_REMOTE_ROOT
#define INPUTS    "work/inputs"
#define SCRIPT_MS 60000u
#define COPY_MS   1800000u /* a copy of any size within the sandbox; copy_there has twice that */
#define STAGE     "stage"

/* The directories of a workspace, and the variables that name them. */
static const struct {
	const char *variable, *path;
} places[] = {
	{ "WORKSPACE_DIR", "" }, { "SKILLS_DIR", "skills" }, { "WORK_DIR", "work" },
	{ NULL, INPUTS },        { NULL, "runs" },           { "OUTPUT_DIR", "out" },
};

/* ---- scripts ---- */

static int say_failed(const struct asked *asked, uint64_t time_ms, int code, const char *said,
		      const char *what, struct warder_error *err)
{
	char limit[60] = "", text[32];

	if (code < 0 && asked->place.host.e2b)
		snprintf(limit, sizeof(limit), "; its time limit is %s",
			 policy_format_time(time_ms * 1000, text, sizeof(text)));
	if (!said || !*said)
		said = code < 0 ? "the script was ended, and the host does not say why"
				: "its shell says nothing about it";
	return error_set(err, WARDER_ERROR_EXECUTION_FAILED, "path", "%s: %.*s%s", what,
			 (int)strcspn(said, "\n"), said, limit);
}

/* Run sh in the sandbox with words as $1, $2 and so on; time_ms as in session_remote_run(). what: what fails. -1 with *err. */
static int run_script_for(const struct asked *asked, uint64_t time_ms, const char *script,
			  const char *const with[4], const char *what, struct warder_error *err)
{
	const char *argv[10] = { "/bin/sh", "-c", script, "sh" };
	char *said = NULL;
	int code = -1, status;

	for (size_t i = 0; i < 4 && with[i]; i++)
		argv[4 + i] = with[i];
	status = session_remote_run(&asked->place, argv, time_ms, &code, &said, err);
	if (status == 0 && code != 0)
		status = say_failed(asked, time_ms, code, said, what, err);
	free(said);
	return status;
}

static int run_script(const struct asked *asked, const char *script, const char *const with[4],
		      const char *what, struct warder_error *err)
{
	return run_script_for(asked, SCRIPT_MS, script, with, what, err);
}

/* Make what is missing of the layout, each time again: a program may have removed it. */
static int make_places(const struct asked *asked, struct warder_error *err)
{
	static const char script[] = "cd / && for p in skills " INPUTS " runs out; do\n"
				     "  mkdir -p -- \"$1/$p\" || exit 1\ndone";

	return run_script(asked, script, (const char *const[4]){ ROOT },
			  "the directories of the workspace cannot be made", err);
}

/* ---- words ---- */

/* A word of `warder session`. Returns its exit status. */
static int session_word(char **argv)
{
	struct warder_error err = { 0 };
	struct args args;
	int status = args_parse(FLAG_SESSION_ANY, argv, &args, &err);

	if (status != 0)
		return command_refuse(&args, &err, EXIT_REFUSED);
	status = session_command(&args, argv);
	args_done(&args);
	return status;
}

static int print_created(const struct asked *asked, struct warder_error *err)
{
	struct json_writer w = { 0 };

	if (!asked->values[OWN_JSON]) {
		printf("%s %s\n", asked->place.session.backend, ROOT);
		return 0;
	}
	json_begin_object(&w);
	json_key_string(&w, "id", asked->id);
	json_key_string(&w, "path", ROOT);
	json_key_string(&w, "backend", asked->place.session.backend);
	json_key_string(&w, "session", asked->session);
	json_key_string(&w, "sandbox", asked->place.session.sandbox);
	json_end_object(&w);
	return term_put(json_take(&w), err);
}

/* Returns the exit status; -1 with *err. */
static int create(struct asked *asked, struct warder_error *err)
{
	char start[] = "start", backend[] = "--backend";
	char *argv[ASKED_WORDS_MAX + 8] = { start, asked->session, backend,
					    (char *)(uintptr_t)asked->values[OWN_BACKEND] };
	int status;

	memcpy(argv + 4, asked->flags, asked->flag_count * sizeof(*argv));
	status = session_word(argv);
	if (status != 0)
		return status;
	if (elsewhere_name_workspace(asked->session, asked->id, err) < 0 ||
	    asked_open_place(asked, err) < 0 || make_places(asked, err) < 0)
		return -1;
	return print_created(asked, err);
}

static int print_workspace(void *context, const char *name)
{
	const struct asked *asked = context;
	struct elsewhere session;
	struct warder_error ignored;

	if (elsewhere_read(name, &session, &ignored) != 0 || !session.workspace[0] ||
	    strcmp(session.backend, asked->values[OWN_BACKEND]) != 0)
		return 0;
	term_write(STDOUT_FILENO, session.workspace, strlen(session.workspace));
	file_write_all(STDOUT_FILENO, "\n", 1);
	return 0;
}

static int print_item(void *context, const struct workspace_remote_item *item, struct warder_error *err)
{
	struct json_writer *w = context;
	char mode[8];

	snprintf(mode, sizeof(mode), "%04o", item->mode);
	if (!w) {
		printf("%c %s %12llu ", item->type == 'f' ? '-' : item->type, mode,
		       (unsigned long long)item->size);
		fflush(stdout);
		term_write(STDOUT_FILENO, item->path, strlen(item->path));
		putchar('\n');
		return 0;
	}
	json_begin_object(w);
	text_write_name(w, "path", "pathBase64", item->path);
	json_key_string(w, "type",
			item->type == 'f'   ? "file"
			: item->type == 'd' ? "directory"
			: item->type == 'l' ? "link"
					    : "other");
	json_key_string(w, "mode", mode);
	json_key_uint(w, "size", item->size);
	json_key_string(w, "modified", item->modified);
	json_end_object(w);
	return 0;
}

static int list(struct asked *asked, struct warder_error *err)
{
	struct json_writer w = { 0 };
	char path[PATH_MAX];
	const struct workspace_remote_listing listing = { .path = path,
							  .flat = asked->values[OWN_FLAT],
							  .call = print_item,
							  .context = asked->values[OWN_JSON] ? &w : NULL };
	bool cut = false;
	int status;

	if (!asked->id)
		return elsewhere_each(print_workspace, asked, err);
	if (asked_take_path(asked->operand_count ? asked->operands[0] : "", true, path, err) < 0)
		return -1;
	json_begin_array(&w);
	status = workspace_remote_list(&asked->place, &listing, &cut, err);
	json_end_array(&w);
	if (status == 0 && cut)
		term_complain(
		    "this is not all: a directory lies too deep to be listed, or is closed to you, or "
		    "there are too many files");
	if (status == 0 && asked->values[OWN_JSON])
		return term_put(json_take(&w), err);
	json_writer_done(&w);
	return status;
}

/* Files get 0644, or the mode of --mode. */
static int set_mode(const struct asked *asked, const char *path, struct warder_error *err)
{
	const char *mode = asked->values[OWN_MODE];
	char there[PATH_MAX + sizeof(ROOT)];

	snprintf(there, sizeof(there), "%s/%s", ROOT, path);
	return run_script(asked, "chmod -- \"$1\" \"$2\"",
			  (const char *const[4]){ mode ? mode : "644", there },
			  "the mode of the file cannot be set", err);
}

static int write_from(const struct asked *asked, int fd, const char *source, const char *path,
		      struct warder_error *err)
{
	char plain[PATH_MAX];
	char *bytes = NULL;
	size_t len = 0;
	int status = asked_take_path(path, false, plain, err);

	if (status == 0)
		status = file_read_open(fd, source, REMOTE_RESULT_MAX, &bytes, &len, err);
	if (status == 0)
		status = workspace_remote_write(&asked->place, plain, bytes, len, err);
	free(bytes);
	return status == 0 ? set_mode(asked, plain, err) : -1;
}

/* FILE or FILE=PATH. */
static int put_one(const struct asked *asked, const char *word, struct warder_error *err)
{
	const char *equals = strrchr(word, '=');
	char *source = equals ? strndup(word, (size_t)(equals - word)) : strdup(word);
	const char *slash = source ? strrchr(source, '/') : NULL;
	owned_fd int fd = source ? open(source, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
	int status;

	if (fd < 0)
		status = error_set_errno(err, WARDER_ERROR_INVALID_REQUEST, "path", errno, "%.200s", word);
	else
		status = write_from(asked, fd, source, equals ? equals + 1 : slash ? slash + 1 : source, err);
	free(source);
	return status;
}

static int put(struct asked *asked, struct warder_error *err)
{
	if (!asked->operand_count)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "path",
				 "the files are missing: write \"warder workspace put ID FILE[=PATH]...\"");
	for (size_t i = 0; i < asked->operand_count; i++)
		if (put_one(asked, asked->operands[i], err) < 0)
			return -1;
	return 0;
}

static int one_path(const struct asked *asked, struct warder_error *err)
{
	return asked->operand_count == 1
		   ? 0
		   : error_set(err, WARDER_ERROR_INVALID_REQUEST, "path",
			       "give exactly one path: \"warder workspace %s ID PATH\"", asked->word);
}

static int write_input(struct asked *asked, struct warder_error *err)
{
	return one_path(asked, err) < 0
		   ? -1
		   : write_from(asked, STDIN_FILENO, "standard input", asked->operands[0], err);
}

static int read_file(struct asked *asked, struct warder_error *err)
{
	char path[PATH_MAX];
	char *bytes = NULL;
	size_t len = 0;
	int status =
	    one_path(asked, err) < 0 || asked_take_path(asked->operands[0], false, path, err) < 0 ? -1 : 0;

	if (status == 0)
		status = workspace_remote_read(&asked->place, path, &bytes, &len, err);
	if (status == 0 && file_write_all(STDOUT_FILENO, bytes, len) < 0)
		status = error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "stdout", errno, "cannot be written");
	free(bytes);
	return status;
}

/* ---- stage ---- */

static void say_left_out(void *context, const char *path, const char *why)
{
	bool *omitted = context;

	*omitted = true;
	session_say_omitted(path, why);
}

/* A file or directory of this machine, to `dst`, whose parent exists. */
static int stage_here(const struct asked *asked, const char *from, const char *dst, struct warder_error *err)
{
	const char *slash = strrchr(dst, '/');
	struct args args = { .session = { .existing = SESSION_FILES_REPLACE } };
	char parent[PATH_MAX + sizeof(ROOT)], stage[SCRATCH_PATH_BYTES + sizeof(STAGE) + 1], item[PATH_MAX];
	struct remote_copy copy = { .args = &args,
				    .place = &asked->place,
				    .path = parent,
				    .most = SESSION_FILES_BYTES,
				    .left = SESSION_FILES_BYTES };
	bool omitted = false;
	const struct session_files_copy how = { .bytes_max = SESSION_FILES_BYTES,
						.existing = SESSION_FILES_MERGE,
						.on_omitted = say_left_out,
						.context = &omitted };
	struct scratch scratch = SCRATCH_NONE;
	owned_fd int fd = -1;
	int status = scratch_open(STAGE, &scratch, err);

	snprintf(parent, sizeof(parent), "%s/%.*s", ROOT, slash ? (int)(slash - dst) : 0, dst);
	if (status == 0) {
		snprintf(stage, sizeof(stage), "%s/" STAGE, scratch.path);
		snprintf(item, sizeof(item), "%s/item", stage);
		copy.stage_fd = fd = open(stage, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		status =
		    fd < 0 ? error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "TMPDIR", errno, "%.200s", stage)
			   : session_files_copy_here(from, item, &how, err);
	}
	if (status == 0)
		status = session_remote_send(&copy, "item", slash ? slash + 1 : dst, err);
	scratch_done(&scratch);
	return status == 0 && omitted ? EXIT_REFUSED : status;
}

/* $2 to $3. The copy and an earlier target lie beside the target until the copy is whole, so that a copy that fails changes nothing. $4: a name
 * that nobody uses. The name of the copy also says when it began, in seconds: an hour later, nobody waits for it any more, and it is removed. With
 * $2 empty, remove what such a script has left that was killed. */
static const char copy_there[] =
    "cd -- \"$1\" || exit 1; from=./$2 to=./$3 now=$(date +%s)\n"
    "new=${to%/*}/.new-$4-$now old=${to%/*}/.old-$4\n"
    "there() { [ -e \"$1\" ] || [ -L \"$1\" ]; }\n"
    "gone() { rm -rf -- \"$1\" 2>/dev/null || { chmod -R u+rwX -- \"$1\"; rm -rf -- \"$1\"; }; }\n"
    "back() { ! there \"$old\" || there \"$to\" || mv -- \"$old\" \"$to\"; gone \"$new\"; }\n"
    "fail() { back; exit 1; }\n"
    "trap fail TERM INT HUP\n"
    "if [ -z \"$2\" ]; then\n"
    "  for new in \"${to%/*}/.new-$4\"-*; do back; done\n"
    "  gone \"$old\"; exit\n"
    "fi\n"
    "for other in \"${to%/*}\"/.new-*-*; do\n"
    "  at=${other##*-} id=${other##*/.new-}; id=${id%-*}\n"
    "  case $id$at in *[!0-9a-f]*) continue;; esac\n"
    "  [ ${#id}${#at} = 1610 ] && [ \"$at\" -lt $((now - 3600)) ] && gone \"$other\"\n"
    "done 2>/dev/null\n"
    "[ -e \"$from\" ] || { printf '%s does not exist\\n' \"$2\" >&2; exit 1; }\n"
    "cp -a -- \"$from\" \"$new\" || fail\n"
    "if there \"$to\"; then mv -- \"$to\" \"$old\" || fail; fi\n"
    "mv -- \"$new\" \"$to\" || fail\n"
    "gone \"$old\"";

/* From another path of the workspace. */
static int stage_there(const struct asked *asked, const char *from, const char *dst, struct warder_error *err)
{
	static const char what[] = "the input cannot be copied in the workspace";
	char id[REMOTE_ID_LENGTH + 1];
	struct warder_error ignored;

	if (remote_draw_id(id, err) < 0)
		return -1;
	if (run_script_for(asked, COPY_MS, copy_there, (const char *const[4]){ ROOT, from, dst, id }, what,
			   err) == 0)
		return 0;
	run_script(asked, copy_there, (const char *const[4]){ ROOT, "", dst, id }, what, &ignored);
	return -1;
}

static int make_parent(const struct asked *asked, const char *dst, struct warder_error *err)
{
	return run_script(asked, "cd -- \"$1\" && mkdir -p -- \"$(dirname -- \"$2\")\"",
			  (const char *const[4]){ ROOT, dst }, "the directory of the input cannot be made",
			  err);
}

/* Programs that run with the rights of root in the sandbox can change it all the same. */
static int make_read_only(const struct asked *asked, const char *dst, struct warder_error *err)
{
	return run_script(asked, "cd -- \"$1\" && chmod -R a-w -- \"$2\"",
			  (const char *const[4]){ ROOT, dst }, "the input cannot be made read-only", err);
}

/* Whether `path` is `above`, or lies in it. */
static bool lies_in(const char *path, const char *above)
{
	const size_t len = strlen(above);

	return strncmp(path, above, len) == 0 && (!path[len] || path[len] == '/');
}

/* FROM without slashes at its end: a path of this machine behind "host://", or one of the workspace. -1 with *err. */
static int take_source(const char *from, bool *ret_here, char ret[PATH_MAX], struct warder_error *err)
{
	size_t len = strlen(from);

	while (len > 1 && from[len - 1] == '/')
		len--;
	*ret_here = strncmp(from, "host:///", 8) == 0;
	if (!*ret_here && strncmp(from, "workspace://", 12) == 0)
		return asked_take_path(from + 12, false, ret, err);
	if (*ret_here && len > 8 && len < PATH_MAX) {
		snprintf(ret, PATH_MAX, "%.*s", (int)len - 7, from + 7);
		return 0;
	}
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, "FROM",
			 "\"%.80s\": a workspace on another machine takes inputs from host:///PATH and "
			 "workspace://PATH",
			 from);
}

/* The target of --to, or the last name of `from` in the inputs. All that is there is replaced, so it is none of the workspace's own
 * directories. -1 with *err. */
static int take_target(const char *from, const char *to, char ret[PATH_MAX], struct warder_error *err)
{
	const char *slash = strrchr(from, '/');
	char wish[PATH_MAX + sizeof(INPUTS)];

	snprintf(wish, sizeof(wish), "%s/%s", INPUTS, slash ? slash + 1 : from);
	if (asked_take_path(to ? to : wish, false, ret, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LENGTH(places); i++)
		if (strcmp(ret, places[i].path) == 0)
			return error_set(
			    err, WARDER_ERROR_INVALID_REQUEST, "--to",
			    "the input would replace %.80s, which is a directory of the workspace; name a "
			    "path in it with --to, such as %.80s/data",
			    ret, ret);
	return 0;
}

static int stage(struct asked *asked, struct warder_error *err)
{
	bool here = false;
	char from[PATH_MAX], dst[PATH_MAX];
	int status;

	if (take_source(asked->operand_count == 1 ? asked->operands[0] : "", &here, from, err) < 0 ||
	    take_target(from, asked->values[OWN_TO], dst, err) < 0)
		return -1;
	if (!here && (lies_in(from, dst) || lies_in(dst, from)))
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, "--to",
		    "the input %.200s and its target %.200s are the same path, or one contains the "
		    "other; name another target with --to",
		    from, dst);
	if (make_parent(asked, dst, err) < 0)
		return -1;
	status = here ? stage_here(asked, from, dst, err) : stage_there(asked, from, dst, err);
	if (status == 0 && asked->values[OWN_READ_ONLY])
		status = make_read_only(asked, dst, err);
	if (status == 0)
		puts(dst);
	return status;
}

/* ---- run ---- */

/* "NAME=VALUE" for --env. */
static void add_variable(char *argv[], size_t *count, char *buf, size_t size, const char *name,
			 const char *path)
{
	static char flag[] = "--env";

	snprintf(buf, size, "%s=%s%s%s", name, ROOT, *path ? "/" : "", path);
	argv[(*count)++] = flag;
	argv[(*count)++] = buf;
}

/* The scripts before the program need the sandbox. */
static int check_run_flags(const struct asked *asked, struct warder_error *err)
{
	static const char *const flags[] = { "--recreate", "--on-recreate" };

	for (size_t i = 0; i < asked->flag_count; i++)
		for (size_t k = 0; k < ARRAY_LENGTH(flags); k++) {
			const size_t len = strlen(flags[k]);
			const char *word = asked->flags[i];

			if (strncmp(word, flags[k], len) == 0 && (!word[len] || word[len] == '='))
				return error_set(
				    err, WARDER_ERROR_INVALID_REQUEST, flags[k],
				    "%s does not go with \"workspace run\"; \"warder workspace create %.80s "
				    "--recreate\" makes a new sandbox for a workspace that is lost",
				    flags[k], asked->id);
		}
	return 0;
}

static int run(struct asked *asked, struct warder_error *err)
{
	char exec[] = "exec", cwd[] = "--cwd", end[] = "--", id[REMOTE_ID_LENGTH + 1];
	char directory[PATH_MAX], there[PATH_MAX + sizeof(ROOT)], made[REMOTE_ID_LENGTH + 32];
	char variables[ARRAY_LENGTH(places) + 1][80];
	char *argv[2 * ASKED_WORDS_MAX + 32] = { exec, asked->session };
	size_t count = 2, words = 0;

	while (asked->program && asked->program[words])
		words++;
	if (!words || words > ASKED_WORDS_MAX)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "run",
				 "the program is missing; write \"warder workspace run ID --backend %.40s "
				 "[FLAG...] -- PROGRAM [ARGUMENT...]\"",
				 asked->values[OWN_BACKEND]);
	if (check_run_flags(asked, err) < 0 ||
	    asked_take_path(asked->values[OWN_CWD] ? asked->values[OWN_CWD] : "", true, directory, err) < 0 ||
	    remote_draw_id(id, err) < 0)
		return -1;
	snprintf(made, sizeof(made), "runs/run-%s", id);
	snprintf(there, sizeof(there), "%s%s%s", ROOT, *directory ? "/" : "", directory);
	if (make_places(asked, err) < 0 ||
	    run_script(asked, "mkdir -p -- \"$1/$2\" \"$3\"", (const char *const[4]){ ROOT, made, there },
		       "the directories of the run cannot be made", err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LENGTH(places); i++)
		if (places[i].variable)
			add_variable(argv, &count, variables[i], sizeof(variables[i]), places[i].variable,
				     places[i].path);
	add_variable(argv, &count, variables[ARRAY_LENGTH(places)], sizeof(variables[0]), "RUN_DIR", made);
	argv[count++] = cwd;
	argv[count++] = there;
	memcpy(argv + count, asked->flags, asked->flag_count * sizeof(*argv));
	count += asked->flag_count;
	argv[count++] = end;
	memcpy(argv + count, asked->program, words * sizeof(*argv));
	return session_word(argv);
}

/* ---- collect and remove ---- */

/* A pattern that begins with "$OUTPUT_DIR" or another variable, relative to the workspace. -1 with *err. */
static int take_pattern(const char *pattern, char ret[PATH_MAX], struct warder_error *err)
{
	const char *below = pattern + (*pattern == '$') + (strncmp(pattern, "${", 2) == 0);
	const size_t len = strcspn(below, "/}");
	const char *rest = below + len + (below[len] == '}'), *directory = *pattern == '$' ? NULL : "";

	for (size_t i = 0; i < ARRAY_LENGTH(places) && !directory; i++)
		if (places[i].variable && strlen(places[i].variable) == len &&
		    strncmp(places[i].variable, below, len) == 0)
			directory = places[i].path;
	if (!directory || strlen(pattern) > PATH_MAX / 2 || *pattern == '/' ||
	    strstr(pattern, "..") == pattern || strstr(pattern, "/../"))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "pattern",
				 "%.200s is not a pattern in the workspace, and does not begin with "
				 "$WORKSPACE_DIR, $SKILLS_DIR, $WORK_DIR or $OUTPUT_DIR",
				 pattern);
	rest = *pattern == '$' ? rest + strspn(rest, "/") : pattern;
	snprintf(ret, PATH_MAX, "%s%s%s", directory, *directory && *rest ? "/" : "", rest);
	return 0;
}

static int collect(struct asked *asked, struct warder_error *err)
{
	struct workspace_remote_collect what = { .to = asked->values[OWN_TO],
						 .json = asked->values[OWN_JSON] };
	char **patterns = calloc(asked->operand_count + 1, sizeof(*patterns));
	uint64_t files = 0;
	int status = patterns ? 0 : error_no_memory(err, NULL);

	if (status == 0 && !asked->operand_count)
		status =
		    error_set(err, WARDER_ERROR_INVALID_REQUEST, "pattern",
			      "the patterns are missing: write \"warder workspace collect ID PATTERN...\"");
	for (size_t i = 0; i < asked->operand_count && status == 0; i++) {
		patterns[i] = malloc(PATH_MAX);
		status = patterns[i] ? take_pattern(asked->operands[i], patterns[i], err)
				     : error_no_memory(err, NULL);
	}
	if (status == 0)
		status = asked_take_size(asked, OWN_MAX_FILES, &files, err);
	if (status == 0)
		status = asked_take_size(asked, OWN_MAX_FILE_SIZE, &what.file_bytes, err);
	if (status == 0)
		status = asked_take_size(asked, OWN_MAX_SIZE, &what.total_bytes, err);
	what.files_max = (size_t)files;
	what.patterns = patterns;
	if (status == 0)
		status = workspace_remote_collect(&asked->place, &what, err);
	for (size_t i = 0; patterns && i < asked->operand_count; i++)
		free(patterns[i]);
	free(patterns);
	return status;
}

static int remove_one(struct asked *asked, struct warder_error *err)
{
	char stop[] = "stop";
	char *argv[] = { stop, asked->session, NULL };
	struct elsewhere session;

	return elsewhere_read(asked->session, &session, err) > 0 ? 0 : session_word(argv);
}

/* `opens`: the workspace exists, and its lease begins anew before. `renews`: and after. `session exec` renews the lease itself, or has extended it for
 * a program that goes on. */
static const struct {
	const char *word;
	bool opens, renews;
	int (*run)(struct asked *asked, struct warder_error *err);
} words[] = {
	{ "create", false, false, create },     { "run", true, false, run },
	{ "list", true, true, list },           { "put", true, true, put },
	{ "write", true, true, write_input },   { "read", true, true, read_file },
	{ "stage", true, true, stage },         { "collect", true, true, collect },
	{ "remove", false, false, remove_one },
};

static int perform(size_t i, struct asked *asked, struct warder_error *err)
{
	const bool opens = words[i].opens && asked->id;
	int status = 0;

	if (strcmp(asked->word, "list") != 0 || asked->id)
		status = asked_name_session(asked, err);
	if (status == 0)
		status = asked_check_mode(asked, err);
	if (status == 0 && opens)
		status = asked_open_place(asked, err);
	if (status < 0)
		return -1;
	if (opens)
		remote_place_renew(&asked->place);
	status = words[i].run(asked, err);
	if (status < 0 && opens && remote_place_is_gone(err))
		remote_place_say_gone(&asked->place.session, err);
	if (opens && words[i].renews)
		remote_place_renew(&asked->place);
	return status;
}

int workspace_remote_command(char *const *rest)
{
	char *const *at = asked_find_word(rest);
	struct asked *asked = calloc(1, sizeof(*asked));
	struct warder_error err = { 0 };
	size_t i = 0;
	int status;

	if (!asked)
		return EXIT_REFUSED;
	report_catch_signals();
	asked->word = *at ? *at : "";
	while (i < ARRAY_LENGTH(words) && strcmp(words[i].word, asked->word) != 0)
		i++;
	if (i == ARRAY_LENGTH(words)) {
		status =
		    error_set(&err, WARDER_ERROR_INVALID_REQUEST, "workspace",
			      "%.40s works with workspaces on this machine only; on another machine, a "
			      "workspace has create, run, list, put, write, read, stage, collect and remove",
			      asked->word);
	} else {
		status = asked_take_words(asked, rest, at, &err);
		if (status == 0)
			status = asked_take_words(asked, at + 1, NULL, &err);
		if (status == 0)
			status = asked_check_backend(asked, &err);
		if (status == 0)
			status = perform(i, asked, &err);
	}
	if (status < 0) {
		term_error(&err);
		status = EXIT_REFUSED;
	}
	free(asked);
	return status;
}
