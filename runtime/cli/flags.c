/*
 * flags: one row per flag.
 *
 * A flag that is a field of the policy goes through warder_policy_set(), so that a value means the same on the command
 * line, in a document and to the library. What the command line adds is comfort only: relative paths become absolute,
 * --allow and --env switch the mode that their rows need, --max-output sets both streams.
 */
#include "base/array.h"
#include "runtime/text/blocks.h"
#include "runtime/cli/flags.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "fleet/fleet.h"
#include "runtime/cli/spool.h"
#include "runtime/cli/workers.h"
#include "runtime/code/code.h"
#include "runtime/library/preparation.h"

static int set(struct args *args, const char *path, const char *value, struct warder_error *err)
{
	return warder_policy_set(args->policy, path, value, err);
}

/* ---- flags that choose the policy to start from, or something besides the policy ---- */

static int choose_base(struct args *args, const struct flag *flag, const char *value,
		       struct warder_error *err)
{
	if (args->base)
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, flag->name,
		    "there is a policy to start from already (%.80s); give one of --preset and --policy",
		    args->base);
	args->base = value;
	args->base_is_file = strcmp(flag->name, "--policy") == 0;
	return 0;
}

/* Only where code leaves files there is a directory for them. */
static int choose_store(struct args *args, const struct flag *flag, const char *value,
			struct warder_error *err)
{
	if (!spool_is_meant(value))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, flag->name,
				 "write store: or store:PREFIX/; a directory is for \"warder code\"");
	args->code.artifacts = value;
	return 0;
}

/* Called for the start, and then for the end, which completes the pair. */
static int choose_delimiters(struct args *args, const struct flag *flag, const char *value,
			     struct warder_error *err)
{
	struct args_text *text = &args->text;
	struct delimiters *pair = &text->delimiters[text->delimiter_count];

	if (text->delimiter_count == BLOCKS_MAX_DELIMITERS)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, flag->name, "give at most %d pairs",
				 BLOCKS_MAX_DELIMITERS);
	if (!pair->start) {
		pair->start = value;
		return 0;
	}
	pair->end = value;
	text->delimiter_count++;
	return delimiters_check(pair, err);
}

static int choose_existing(struct args *args, const struct flag *flag, const char *value,
			   struct warder_error *err)
{
	static const char *const names[] = { [SESSION_FILES_MERGE] = "merge",
					     [SESSION_FILES_ERROR] = "error",
					     [SESSION_FILES_REPLACE] = "replace" };

	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		if (strcmp(value, names[i]) == 0) {
			args->session.existing = (enum session_files_existing)i;
			return 0;
		}
	}
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, flag->name, "choose error, replace or merge");
}

static int choose_as(struct args *args, const struct flag *flag, const char *value, struct warder_error *err)
{
	if (strcmp(value, "block") != 0 && strcmp(value, "inline") != 0 && strcmp(value, "text") != 0)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, flag->name,
				 "there is no such form; known: block, inline, text");
	args->text.as = value;
	return 0;
}

static int choose_capabilities(struct args *args, const struct flag *flag, const char *value,
			       struct warder_error *err)
{
	return session_parse_capabilities(value, &args->session.capabilities, err);
}

/* ---- what changes the policy ---- */

static int change_output(struct args *args, const struct flag *flag, const char *value,
			 struct warder_error *err)
{
	if (set(args, "output.stdout", value, err) != 0 || set(args, "output.stderr", value, err) != 0)
		return -1;
	args->output_max = args->policy->policy.output.stdout_bytes;
	return args->output_max ? 0
				: error_set(err, WARDER_ERROR_INVALID_REQUEST, flag->name,
					    "give at least 1 byte, or redirect the output to /dev/null");
}

/* learn takes rows as well. */
static int change_allow(struct args *args, const struct flag *flag, const char *value,
			struct warder_error *err)
{
	if (!policy_network_lists(&args->policy->policy) && !given_has(&args->given, "network.mode") &&
	    set(args, "network.mode", "allow", err) != 0)
		return -1;
	return set(args, flag->path, value, err);
}

static int change_publish(struct args *args, const struct flag *flag, const char *value,
			  struct warder_error *err)
{
	if (args->policy->policy.network.mode == POLICY_NETWORK_NONE &&
	    !given_has(&args->given, "network.mode") && set(args, "network.mode", "loopback", err) != 0)
		return -1;
	return set(args, flag->path, value, err);
}

/* Without a value the variable is let in from outside, which needs a mode that lets some in. */
static int change_environment(struct args *args, const struct flag *flag, const char *value,
			      struct warder_error *err)
{
	const char *equals = strchr(value, '=');
	char path[512];

	if (!equals) {
		if (args->policy->policy.environment.mode == POLICY_ENVIRONMENT_HOST)
			return 0;
		if (set(args, "environment.mode", "allowList", err) != 0)
			return -1;
		return set(args, "environment.names", value, err);
	}
	if ((size_t)snprintf(path, sizeof(path), "environment.set.%.*s", (int)(equals - value), value) >=
	    sizeof(path))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, flag->name, "the name is too long");
	return set(args, path, equals + 1, err);
}

/* Set `path` to `prefix` and an absolute path. */
static int set_path(struct args *args, const char *path, const char *prefix, const char *value,
		    struct warder_error *err)
{
	char *real = file_absolute(value);
	char *text = NULL;
	int status;

	if (!real)
		return error_set_errno(err, WARDER_ERROR_INVALID_REQUEST, path, errno, "%.200s", value);
	for (size_t length = strlen(real); length > 1 && real[length - 1] == '/'; length--)
		real[length - 1] = '\0'; /* as completion leaves it */
	status = asprintf(&text, "%s%s", prefix, real);
	free(real);
	if (status < 0)
		return error_no_memory(err, NULL);
	status = set(args, path, text, err);
	free(text);
	return status;
}

/* SOURCE or SOURCE:/TARGET; only the source is made absolute. */
static int change_path(struct args *args, const struct flag *flag, const char *value,
		       struct warder_error *err)
{
	const char *target = policy_path_explicit_target(value);
	char source[PATH_MAX];
	char *real = NULL, *text = NULL;
	int status = -1;

	if (strncmp(value, ":/", 2) == 0)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, flag->path,
				 "there is no source before the colon; write SOURCE:/TARGET");
	if (!target)
		return set_path(args, flag->path, "", value, err);
	if (!policy_path_source(value, source))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, flag->path, "%.200s... is too long",
				 value);
	real = file_absolute(source);
	if (!real)
		return error_set_errno(err, WARDER_ERROR_INVALID_REQUEST, flag->path, errno, "%.200s", value);
	for (size_t length = strlen(real); length > 1 && real[length - 1] == '/'; length--)
		real[length - 1] = '\0';
	if (asprintf(&text, "%s:%s", real, target) < 0) {
		free(real);
		return error_no_memory(err, NULL);
	}
	for (size_t length = strlen(text), first = (size_t)(strlen(real) + 2);
	     length > first && text[length - 1] == '/'; length--)
		text[length - 1] = '\0'; /* as completion leaves it */
	status = set(args, flag->path, text, err);
	free(real);
	free(text);
	return status;
}

/* DIR, DIR:ro, DIR:rw or DIR:overlay; without a mode the one that the preset has. "none" is the policy's own word. */
static int change_workspace(struct args *args, const struct flag *flag, const char *value,
			    struct warder_error *err)
{
	static const struct {
		const char *suffix, *word;
		enum policy_workspace mode;
	} modes[] = {
		{ ":ro", "readOnly:", POLICY_WORKSPACE_READ_ONLY },
		{ ":rw", "readWrite:", POLICY_WORKSPACE_READ_WRITE },
		{ ":overlay", "overlay:", POLICY_WORKSPACE_OVERLAY },
	};
	const size_t whole = strlen(value);
	size_t length = whole;
	const char *word = "readOnly:";
	char *directory;
	int status;

	if (strcmp(value, "none") == 0)
		return set(args, flag->path, value, err);
	for (size_t i = 0; i < ARRAY_LENGTH(modes); i++)
		if (args->policy->policy.filesystem.workspace == modes[i].mode)
			word = modes[i].word;
	for (size_t i = 0; i < ARRAY_LENGTH(modes) && length == whole; i++) {
		const size_t suffix = strlen(modes[i].suffix);

		if (whole > suffix && strcmp(value + whole - suffix, modes[i].suffix) == 0) {
			length = whole - suffix;
			word = modes[i].word;
		}
	}
	directory = strndup(value, length);
	if (!directory)
		return error_no_memory(err, NULL);
	status = set_path(args, flag->path, word, directory, err);
	free(directory);
	if (status == 0 && length != whole && strcmp(word, "readWrite:") == 0)
		status = set(args, "filesystem.growth", "unlimited", err);
	return status;
}

/* What the program writes there is the caller's: limits.disk bounds what Warder stores itself. */
static int change_rw(struct args *args, const struct flag *flag, const char *value, struct warder_error *err)
{
	return change_path(args, flag, value, err) == 0 ? set(args, "filesystem.growth", "unlimited", err)
							: -1;
}

/* The directory as an overlay, whose changes are told at the end. */
static int change_dry_run(struct args *args, const struct flag *flag, const char *value,
			  struct warder_error *err)
{
	args->changes.dry_run = true;
	return set_path(args, flag->path, "overlay:", value, err);
}

static int change_view(struct args *args, const struct flag *flag, const char *value,
		       struct warder_error *err)
{
	static const char directory[] = "directory:";

	if (strncmp(value, directory, sizeof(directory) - 1) == 0)
		return set_path(args, flag->path, directory, value + sizeof(directory) - 1, err);
	return set(args, flag->path, value, err);
}

static int change_enforcement(struct args *args, const struct flag *flag, const char *value,
			      struct warder_error *err)
{
	const bool required = strcmp(flag->name, "--require") == 0;

	if (strcmp(value, "audit") == 0) { /* no field of a policy, and not one of "all" */
		args->audit_preferred = !required;
		return 0;
	}
	if (strcmp(value, "all") != 0)
		return warder_policy_require(args->policy, value, required, err);
	/* The list of languages is always enforced. */
	for (int field = POLICY_FIELD_LANGUAGES + 1; field < POLICY_FIELD_COUNT; field++)
		args->policy->policy.preferred[field] = !required;
	return 0;
}

static int change_field(struct args *args, const struct flag *flag, const char *value,
			struct warder_error *err)
{
	const char *equals = strchr(value, '=');
	char path[128];

	if (!equals ||
	    (size_t)snprintf(path, sizeof(path), "%.*s", (int)(equals - value), value) >= sizeof(path))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, flag->name,
				 "write FIELD=VALUE, such as limits.disk=1GiB");
	return set(args, path, equals + 1, err);
}

static int change_cwd(struct args *args, const struct flag *flag, const char *value, struct warder_error *err)
{
	if (*value != '/')
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, flag->path,
				 "the path inside is not absolute; write it from \"/\" on");
	return set(args, flag->path, value, err);
}

/* ---- the table ---- */

#define USES_POLICY                                                                                          \
	(FLAG_RUN | FLAG_CODE | FLAG_TOOL | FLAG_JUDGE | FLAG_LANGUAGES | FLAG_EXPLAIN | FLAG_DOCTOR |       \
	 FLAG_SESSION_START | FLAG_SESSION_EXEC | FLAG_CONTEXT_CREATE | FLAG_BACKEND | FLAG_BLOCKS |         \
	 FLAG_MCP)
#define POLICY_FLAG   (USES_POLICY | FLAG_SHAPES)
#define USES_CODE     (FLAG_CODE | FLAG_TOOL | FLAG_JUDGE)
#define USES_TEXT     (FLAG_BLOCKS | FLAG_FORMAT)
#define IN_SESSION    (FLAG_SESSION_EXEC | FLAG_CONTEXT_CREATE) /* under the session's policy */
#define AUDITED       (FLAG_RUN | USES_CODE | FLAG_SESSION_EXEC)
#define PRINTS_RESULT (FLAG_RUN | FLAG_CODE | FLAG_WAIT | FLAG_CODE_CONTEXT)
#define KEEPS_JAIL    (FLAG_SESSION_ANY | FLAG_CONTEXT_ANY)
#define EVERY                                                                                                \
	(FLAG_RUN | FLAG_CODE | FLAG_LANGUAGES | FLAG_EXPLAIN | FLAG_POLICY | FLAG_DOCTOR |                  \
	 FLAG_COMPLETION | FLAG_TOOL | FLAG_JUDGE | FLAG_SCAN | FLAG_DATA | FLAG_CHANGES | FLAG_BACKEND |    \
	 USES_TEXT | FLAG_SESSION_ANY | FLAG_EXECUTION | FLAG_CONTEXT_ANY | FLAG_CODE_CONTEXT | FLAG_MCP |   \
	 FLAG_SERVE | FLAG_TENANT | FLAG_WORKER | FLAG_SUBMIT)

#define TAKES_CONFIG                                                                                         \
	(EVERY & ~(FLAG_POLICY | FLAG_DOCTOR | FLAG_COMPLETION | FLAG_SESSION | FLAG_SESSION_FILES |         \
		   FLAG_EXECUTION | FLAG_CONTEXT | FLAG_CONTEXT_RUN | FLAG_CONTEXT_FORK |                    \
		   FLAG_CODE_CONTEXT | FLAG_SERVE | FLAG_TENANT | FLAG_WORKER | FLAG_SUBMIT))

/* How a row says what its flag does. A member of another type than the kind needs does not compile. */
#define AT(type, member)     .offset = _Generic(((struct args *)0)->member, type : offsetof(struct args, member))
#define AS_VALUE             .kind = FLAG_KIND_FIELD
#define CHANGE(function)     .kind = FLAG_KIND_CHANGE, .use = (function)
#define CHOOSE(function)     .kind = FLAG_KIND_CHOOSE, .use = (function)
#define SWITCH(member)       .kind = FLAG_KIND_SWITCH, AT(bool, member)
#define TEXT(member)         .kind = FLAG_KIND_TEXT, AT(const char *, member)
#define LIST(member)         .kind = FLAG_KIND_LIST, AT(struct args_list, member)
#define TIME(member)         .kind = FLAG_KIND_TIME, AT(uint64_t, member)
#define SIZE(member)         .kind = FLAG_KIND_SIZE, AT(uint64_t, member)
#define NUMBER(member, last) .kind = FLAG_KIND_NUMBER, AT(unsigned, member), .most = (last)
#define REPEATABLE           .many = true
#define SHORT(name)          .letter = (name)
/* The flags of the policy's fields, with their help, are rows of policy/fields.h. */
#define FIELD_FLAG(field, flag_name, value, how, text, ...)                                                  \
	{ POLICY_FLAG, flag_name, value, field, text, how, ##__VA_ARGS__ },

#define PREFER_HELP                                                                                          \
	"run even if FIELD cannot be enforced; the receipt then says so. \"--prefer all\": every field"

static const struct flag flags[] = {
	{ POLICY_FLAG & ~IN_SESSION, "--preset", "NAME", NULL,
	  "start from a preset (default: strict); \"warder policy --help\" lists them", CHOOSE(choose_base) },
	{ IN_SESSION, "--preset", "NAME", NULL,
	  "start from a preset (default: the session's policy); \"warder policy --help\" lists them",
	  CHOOSE(choose_base) },
	{ POLICY_FLAG, "--policy", "FILE", NULL, "start from a policy document; - is standard input",
	  CHOOSE(choose_base) },
	/* clang-format off */
	POLICY_TABLE(POLICY_NOTHING, POLICY_NOTHING, POLICY_NOTHING, POLICY_NOTHING, POLICY_NOTHING, FIELD_FLAG)
	/* clang-format on */
	{ FLAG_RUN, "--dry-run", "DIR", "filesystem.workspace",
	  "as --workspace DIR:overlay, so DIR stays unchanged; at the end, list the changes on standard "
	  "error",
	  CHANGE(change_dry_run) },
	{ FLAG_RUN, "--changes", "DIR", NULL,
	  "store the changes that the run makes to an overlay workspace, in the new directory DIR; \"warder "
	  "changes\" shows and commits them",
	  TEXT(changes.directory) },
	{ FLAG_CHANGES, "--force", NULL, NULL,
	  "also replace files that have changed on the host since the run", SWITCH(changes.force) },
	{ FLAG_CHANGES, "--diff", NULL, NULL, "also show the changed lines of text files",
	  SWITCH(changes.diff) },
	{ POLICY_FLAG, "--set", "FIELD=VALUE", NULL, "set any field of the policy, such as limits.disk=1GiB",
	  CHANGE(change_field), REPEATABLE, .sets_any = true },
	{ POLICY_FLAG, "--require", "FIELD", NULL,
	  "refuse to run if FIELD cannot be enforced. This is the default, unless the policy document says "
	  "preferred. \"--require all\": every field",
	  CHANGE(change_enforcement), REPEATABLE },
	{ POLICY_FLAG & ~AUDITED, "--prefer", "FIELD", NULL, PREFER_HELP, CHANGE(change_enforcement),
	  REPEATABLE },
	{ AUDITED, "--prefer", "FIELD", NULL,
	  PREFER_HELP ". \"--prefer audit\": run even if Warder cannot write the line of --audit",
	  CHANGE(change_enforcement), REPEATABLE },
	{ POLICY_FLAG | FLAG_POLICY, "--ceiling", "FILE", NULL,
	  "a policy that no run may exceed (default: " CEILING_PATH ")", TEXT(ceiling_path) },
	{ FLAG_POLICY, "--for", "POLICY", NULL,
	  "for \"policy ceiling\": compare this preset or file with the ceiling", TEXT(for_policy) },
	{ USES_POLICY, "--cgroup-parent", "DIR", NULL,
	  "parent cgroup of the jails (default: $WARDER_CGROUP_PARENT)", TEXT(cgroup_parent) },
	{ FLAG_RUN | FLAG_CODE, "--delegate", NULL, NULL,
	  "run in a new scope of your systemd user manager, where cgroup limits work without root",
	  SWITCH(delegate) },
	{ FLAG_CODE | FLAG_JUDGE | FLAG_SCAN | FLAG_CODE_CONTEXT, "--language", "NAME", NULL,
	  "the language of the code (default: detected from the code; refused if that is not certain)",
	  TEXT(code.language) },
	{ FLAG_CONTEXT_CREATE, "--language", "NAME", NULL, "the language of the context (default: python)",
	  TEXT(code.language) },
	{ FLAG_CODE | FLAG_CODE_CONTEXT, "--session", "NAME", NULL,
	  "run the code in this session, where it sees the files of the session; see \"warder session\"",
	  TEXT(context.session), .typed = true },
	{ FLAG_CODE | FLAG_CODE_CONTEXT, "--context", "NAME", NULL,
	  "with --session: run the code in this interpreter of the session; see \"warder context\"",
	  TEXT(context.name), .typed = true },
	{ FLAG_CONTEXT_RUN, "--code", "CODE", NULL, "the piece of code, instead of a file",
	  TEXT(context.code), .letter = 'c' },
	{ FLAG_CONTEXT_RUN | FLAG_CODE_CONTEXT, "--timeout", "TIME", NULL,
	  "interrupt the piece of code after this long (default: limits.wallTime of the context)",
	  TIME(context.timeout_us), .fallback = "limits.wallTime of the context" },
	{ FLAG_CONTEXT_RUN, "--no-wait", NULL, NULL, "refuse the piece of code if another one is running",
	  SWITCH(context.no_wait) },
	{ FLAG_CONTEXT_FORK, "--keep-seed", NULL, NULL,
	  "keep the state of the random number generators (default: give them new seeds)",
	  SWITCH(context.keep_seed) },
	{ FLAG_CODE, "--stdin", "FILE", NULL,
	  "the standard input of the code (default: the standard input of this command; empty if the code "
	  "itself is read from standard input)",
	  TEXT(code.standard_input) },
	{ FLAG_CODE, "--input", "JSON", NULL,
	  "a value that the code can read from descriptor 4 ($WARDER_INPUT); with @FILE, Warder takes the "
	  "value from FILE",
	  TEXT(code.input) },
	{ FLAG_CODE, "--last-line", NULL, NULL,
	  "if the code writes no result to descriptor 3, take the last line of standard output, if it is "
	  "JSON",
	  SWITCH(code.last_line) },
	{ FLAG_CODE, "--file", "SRC[=DST]", NULL, "put a file into the code's working directory",
	  LIST(code.files), REPEATABLE },
	{ FLAG_CODE, "--collect", "PATTERN", NULL,
	  "with --json or --artifacts: return the matching files of the working directory, such as *.csv "
	  "(default: new and changed files)",
	  LIST(code.collect), REPEATABLE },
	{ FLAG_CODE, "--artifacts", "DIR|store:[PREFIX/]", NULL,
	  "save the collected files in DIR, or with \"store:\" in the artifact store (see \"warder "
	  "artifact\"). With --json, only files that are too large for the result are saved. With "
	  "\"store:\", output that is too long for the result is saved, too",
	  TEXT(code.artifacts) },
	{ FLAG_RUN | FLAG_TOOL | FLAG_JUDGE, "--artifacts", "store:[PREFIX/]", NULL,
	  "put output that is too long for the result into the artifact store (see \"warder artifact\"), as "
	  "PREFIX/stdout and "
	  "PREFIX/stderr",
	  CHOOSE(choose_store) },
	{ FLAG_RUN | USES_CODE, "--max-artifact", "SIZE", NULL,
	  "store at most SIZE of each stream in the artifact store (default: 256MiB)",
	  SIZE(code.artifact_bytes) },
	{ FLAG_CODE, "--scan", NULL, NULL,
	  "look for dangerous operations in the code; the result lists them, and nothing is prevented",
	  SWITCH(code.scan) },
	{ FLAG_CODE, "--scan-deny", NULL, NULL, "as --scan, and refuse the code if the scan decides \"deny\"",
	  SWITCH(code.scan_deny) },
	{ FLAG_CODE | FLAG_SCAN, "--rules", "FILE", NULL,
	  "the domains, commands and paths that the scan allows or denies", TEXT(code.rules) },
	{ FLAG_SCAN, "--audit", "FILE", NULL, "append each decision of the scan to this file", TEXT(audit) },
	{ FLAG_CODE, "--audit", "FILE", NULL,
	  "append a line of JSON to this file for the run, and one for each decision of the scan",
	  TEXT(audit) },
	{ FLAG_RUN | FLAG_TOOL | FLAG_JUDGE | FLAG_SESSION_EXEC, "--audit", "FILE", NULL,
	  "append a line of JSON to this file for each run; a run whose line cannot be written is refused",
	  TEXT(audit) },
	{ FLAG_RUN | USES_CODE | FLAG_SESSION_EXEC, "--audit-argv", NULL, NULL,
	  "put the arguments of the program into the lines of --audit, too", SWITCH(audit_argv) },
	{ FLAG_CODE, "--check", NULL, NULL,
	  "only check the code, with the checker of its language (such as bash -n); if the language has no "
	  "checker, build the code; do not run it",
	  SWITCH(code.check) },
	{ FLAG_CODE, "--function", NULL, NULL,
	  "the code is a function: its argument is the value of --input, and its return value is the result. "
	  "In python and "
	  "javascript, the code is the body of a function with the parameter `input`; in rust, it contains "
	  "fn run(input: Value) -> Value",
	  SWITCH(code.function) },
	{ USES_CODE | FLAG_BLOCKS, "--no-cache", NULL, NULL,
	  "do not use an earlier build, and do not store this one", SWITCH(code.no_cache) },
	{ USES_CODE | FLAG_BLOCKS, "--cache", "DIR", NULL,
	  "the directory where built programs are kept for the next run", TEXT(code.cache) },
	{ USES_CODE | FLAG_LANGUAGES | FLAG_BLOCKS, "--languages", "FILE", NULL,
	  "a document that defines more languages", TEXT(code.languages) },
	{ FLAG_TOOL, "--stream", NULL, NULL, "read one request from each line, until the end of the input",
	  SWITCH(tool.stream) },
	{ FLAG_TOOL | FLAG_JUDGE, "--parallel", "NUMBER", NULL,
	  "run at most this many at the same time (default: number of CPUs)",
	  NUMBER(tool.parallel, WORKERS_MAX) },
	{ FLAG_TOOL, "--unordered", NULL, NULL, "print each result as soon as it is ready",
	  SWITCH(tool.unordered) },
	{ FLAG_TOOL, "--scopes", "SCOPE,...", NULL,
	  "the permissions of requests, from the list below (default: all)", TEXT(tool.scopes) },
	{ FLAG_TOOL, "--request-env", "NAME", NULL, "let each request set this variable for its program",
	  LIST(tool.granted), REPEATABLE },
	{ FLAG_JUDGE, "--request-env", "NAME", NULL,
	  "let FILE, the document with the program and its cases, set this variable for the program",
	  LIST(tool.granted), REPEATABLE },
	{ FLAG_TOOL, "--default-language", "NAME", NULL,
	  "language of requests that name none (default: detected, if certain)",
	  TEXT(tool.default_language) },
	{ FLAG_TOOL, "--schema", "NAME", NULL,
	  "print the definition that tells a model how to use the tool NAME. NAME is python_code, "
	  "javascript_code, frontend_code or code_exec",
	  TEXT(tool.schema), .typed = true },
	{ FLAG_TOOL, "--stats", "FILE", NULL, "write statistics to FILE at the end; - is standard error",
	  TEXT(tool.stats) },
	{ FLAG_JUDGE, "--cases", "DIR", NULL,
	  "read each case from two files of DIR: NAME.in (input) and NAME.out (expected output)",
	  TEXT(tool.cases) },
	{ FLAG_JUDGE, "--compare", "HOW", NULL,
	  "with --cases: lines (default), exact, tokens, float:1e-6 or none; see below", TEXT(tool.compare) },
	{ FLAG_JUDGE, "--stop", NULL, NULL, "stop after the first case that is not accepted",
	  SWITCH(tool.stop) },
	{ FLAG_SESSION_START | FLAG_SESSION_EXEC | FLAG_MCP, "--setup", "COMMAND", NULL,
	  "run this shell command once, when the session starts and before any other program",
	  LIST(session.setup), REPEATABLE, .typed = true },
	{ FLAG_SESSION_START | FLAG_SESSION_EXEC, "--lifetime", "TIME", NULL,
	  "end the session this long after its start (default: 8h)", TIME(session.lifetime_us),
	  .fallback = "8h" },
	{ FLAG_MCP, "--session", "NAME", NULL,
	  "use the running session NAME in place of a new one, and do not end it", TEXT(session.name),
	  .typed = true },
	{ FLAG_MCP, "--lifetime", "TIME", NULL,
	  "begin a new session, without the old files, after this long (default: 30 days)",
	  TIME(session.lifetime_us), .fallback = "720h" },
	{ FLAG_SESSION_START | FLAG_SESSION_EXEC, "--idle-timeout", "TIME", NULL,
	  "end the session after this long without an execution (default: 30m; on a service of the kind e2b, "
	  "idleTimeout of its entry, an hour)",
	  TIME(session.idle_us), .fallback = "30m" },
	{ FLAG_SERVE, "--local", NULL, NULL,
	  "park jails (make them before they are needed) for this user's commands \"run\", \"code\", "
	  "\"judge\" and \"tool\"",
	  SWITCH(local), .typed = true },
	{ FLAG_SERVE, "--fork-server", NULL, NULL,
	  "with --local: start Python once for each policy, and fork the jails for Python from it; such "
	  "jails "
	  "share more, see warder(1)",
	  SWITCH(fork_server), .typed = true },
	{ FLAG_SERVE, "--listen", "ADDR:PORT", NULL,
	  "serve HTTP clients at this address. Other values: \"unix:PATH\", for a Unix socket; "
	  "\"inherited\", for a socket that a service manager passes",
	  TEXT(host.listen), .typed = true },
	{ FLAG_SERVE, "--socket-mode", "MODE", NULL,
	  "with --listen unix:PATH: the mode of the socket; 0666 lets every user of this host connect "
	  "(default: 0600)",
	  TEXT(host.socket_mode), .typed = true },
	{ FLAG_SERVE | FLAG_TENANT | FLAG_WORKER, "--state", "DIR", NULL,
	  "the directory of tenants and sandboxes (default: /var/lib/warder/host for root, "
	  "$XDG_STATE_HOME/warder for others)",
	  TEXT(host.state), .typed = true },
	{ FLAG_SERVE, "--config", "FILE", NULL, "with --listen: read settings from FILE", TEXT(host.config),
	  .typed = true },
	{ FLAG_WORKER, "--config", "FILE", NULL,
	  "read templates and the ceiling from FILE, the settings of \"warder serve --config\"",
	  TEXT(host.config), .typed = true },
	{ FLAG_WORKER | FLAG_SUBMIT, "--nats", "URL", NULL,
	  "the server: tls://HOST:PORT, or on this machine nats://127.0.0.1:PORT", TEXT(fleet.url),
	  .typed = true },
	{ FLAG_WORKER | FLAG_SUBMIT, "--credentials", "FILE", NULL,
	  "the credentials file for the server; only a server on this machine works without one",
	  TEXT(fleet.credentials), .typed = true },
	{ FLAG_WORKER | FLAG_SUBMIT, "--ca-file", "FILE", NULL,
	  "accept only certificates that an authority in FILE has signed (default: the authorities of this "
	  "host)",
	  TEXT(fleet.ca_file), .typed = true },
	{ FLAG_WORKER, "--parallel", "NUMBER", NULL,
	  "run at most this many requests at the same time (default: number of CPUs)",
	  NUMBER(fleet.parallel, FLEET_PARALLEL_MAX), .typed = true },
	{ FLAG_WORKER, "--redeliver-after", "TIME", NULL,
	  "give a request to another worker if its worker has been silent for TIME (default: 30s). The "
	  "value of the worker started last applies to all workers",
	  TIME(fleet.redeliver_us), .fallback = "30s", .typed = true },
	{ FLAG_WORKER, "--deliveries", "NUMBER", NULL,
	  "give up a request that was delivered NUMBER times without an answer (default: 5)",
	  NUMBER(fleet.deliveries, 1000), .typed = true },
	{ FLAG_SUBMIT, "--tenant", "NAME", NULL, "the tenant whose requests these are", TEXT(fleet.tenant),
	  .typed = true },
	{ FLAG_SUBMIT, "--key", "FILE", NULL, "sign with the key in FILE, which --make-key has made",
	  TEXT(fleet.key), .typed = true },
	{ FLAG_SUBMIT, "--make-key", "FILE", NULL,
	  "make a key in the new file FILE, print its public half for \"warder tenant add --request-key\", "
	  "and "
	  "submit nothing",
	  TEXT(fleet.make_key), .typed = true },
	{ FLAG_SUBMIT, "--lifetime", "TIME", NULL,
	  "give up a request that has no result after TIME (default: 1h); no worker starts it later",
	  TIME(fleet.lifetime_us), .fallback = "1h", .typed = true },
	{ FLAG_SERVE, "--check", NULL, NULL,
	  "with --listen: only check flags, settings and tenants; serve nothing", SWITCH(host.check),
	  .typed = true },
	{ FLAG_SERVE, "--tls-cert", "FILE", NULL,
	  "with --listen: encrypt, with the certificate chain in FILE", TEXT(host.certificate),
	  .typed = true },
	{ FLAG_SERVE, "--tls-key", "FILE", NULL, "with --listen: the private key of the certificate",
	  TEXT(host.private_key), .typed = true },
	{ FLAG_SERVE, "--domain", "NAME[:PORT]", NULL,
	  "with --listen: sandboxes have names below NAME, such as PORT-ID.NAME; the certificate must cover "
	  "NAME and *.NAME",
	  TEXT(host.domain), .typed = true },
	{ FLAG_SERVE, "--log-json", NULL, NULL,
	  "with --listen: write the log as JSON, with a line for each call of a client",
	  SWITCH(host.log_json), .typed = true },
	{ FLAG_SERVE, "--stop-all", NULL, NULL,
	  "serve nothing; end all sandboxes that an ended \"serve --listen\" has left (in batches of 100)",
	  SWITCH(host.stop_all), .typed = true },
	{ FLAG_SERVE, "--insecure-http", NULL, NULL,
	  "with --listen: serve other hosts without encryption; everybody on the network in between can read "
	  "tokens and output",
	  SWITCH(host.insecure_http), .typed = true },
	{ FLAG_TENANT, "--scopes", "LIST", NULL,
	  "add: what the token may do: one or more of read, sandboxes, run and metrics, with commas between "
	  "them (default: the first three)",
	  TEXT(host.scopes), .typed = true },
	{ FLAG_TENANT, "--expires", "TIME", NULL, "add: the token expires after TIME (default: never)",
	  TIME(host.expires_us), .fallback = "no expiry", .typed = true },
	{ FLAG_TENANT, "--ceiling", "FILE", NULL, "add: a policy that no sandbox of the tenant may exceed",
	  TEXT(ceiling_path), .typed = true },
	{ FLAG_TENANT, "--request-key", "KEY", NULL,
	  "add: the public key of the tenant's requests to \"warder worker\"; \"warder submit --make-key\" "
	  "prints it",
	  TEXT(host.request_key), .typed = true },
	{ FLAG_TENANT, "--uid", "UID", NULL,
	  "add: the user with the uid UID needs no token at the Unix socket of the host", TEXT(host.uid),
	  .typed = true },
	{ FLAG_TENANT, "--old-clients", NULL, NULL,
	  "add: whoever knows the name of a sandbox of the tenant can use its code interpreter, for old "
	  "clients "
	  "of E2B that send no token there",
	  SWITCH(host.old_clients), .typed = true },
	{ FLAG_SERVE, "--idle-timeout", "TIME", NULL,
	  "with --local: end after this long without a request (default: 10m)", TIME(session.idle_us),
	  .fallback = "10m" },
	{ FLAG_RUN | USES_CODE, "--no-service", NULL, NULL,
	  "start the jail directly, even if \"warder serve --local\" runs", SWITCH(no_service) },
	{ FLAG_SESSION_START, "--workspace-id", "ID", NULL,
	  "show the workspace ID of Warder's store (see \"warder workspace\") as /workspace, read-write; "
	  "--cwd is relative to /workspace. The second and each further workspace is shown as /workspaces/ID",
	  LIST(session.workspace_ids), REPEATABLE, .typed = true },
	{ FLAG_SESSION_START, "--snapshot-on-stop", NULL, NULL,
	  "when \"warder session stop\" has ended the session, store a snapshot of each --workspace-id",
	  SWITCH(session.snapshot_on_stop), .typed = true },
	{ FLAG_SESSION_START, "--capabilities", "LIST", NULL,
	  "what the session accepts: shell (to run programs and code), filesystem (to read and write its "
	  "files), or both (default)",
	  CHOOSE(choose_capabilities), .typed = true },
	{ FLAG_SESSION_START, "--attach", "ID", NULL,
	  "with --backend remote:NAME: use the sandbox ID that runs on the host; it keeps its policy (on a "
	  "service of the kind e2b, the flags give the policy)",
	  TEXT(session.attach), .typed = true },
	{ FLAG_SESSION_START | FLAG_SESSION_EXEC, "--recreate", NULL, NULL,
	  "with --backend remote:NAME (exec: in such a session): if the host does not know the sandbox of "
	  "the "
	  "session any more, make a new one",
	  SWITCH(session.recreate), .typed = true },
	{ FLAG_SESSION_START | FLAG_SESSION_EXEC, "--on-recreate", "COMMAND", NULL,
	  "with --recreate: a shell command that runs before the new sandbox is made, with the id of the old "
	  "sandbox in WARDER_SANDBOX; if it fails, no new sandbox is made",
	  TEXT(session.on_recreate), .typed = true },
	{ FLAG_SESSION, "--keep-sandbox", NULL, NULL,
	  "stop, of a session on another machine: forget the session, and leave its sandbox on the host",
	  SWITCH(session.keep_sandbox), .typed = true },
	{ FLAG_SESSION_EXEC, "--auto-start", NULL, NULL,
	  "start the session if it does not run, with the policy and the other flags of this command",
	  SWITCH(session.auto_start) },
	{ FLAG_SESSION_FILES, "--max-bytes", "SIZE", NULL,
	  "read, write: at most SIZE of the file; cp: of all files together (default: 1GiB)",
	  SIZE(session.bytes_max) },
	{ FLAG_SESSION_FILES, "--on-existing", "error|replace|merge", NULL,
	  "cp: what to do if the target exists (default: merge)", CHOOSE(choose_existing) },
	{ FLAG_SESSION_EXEC, "--background", NULL, NULL,
	  "keep the processes that the program leaves behind, until the session ends",
	  SWITCH(session.background) },
	{ FLAG_RUN | FLAG_SESSION_EXEC, "--detach", NULL, NULL,
	  "start the program, print its id and return; see \"warder logs\", \"warder wait\"",
	  SWITCH(execution.detach), .typed = true },
	{ FLAG_RUN | FLAG_SESSION_EXEC, "--interactive", NULL, NULL,
	  "with --detach: keep the standard input open for \"warder write\" and \"warder attach\"",
	  SWITCH(execution.input), .typed = true, .letter = 'i' },
	{ FLAG_RUN | FLAG_SESSION_EXEC, "--keep", "TIME", NULL,
	  "with --detach: keep output and result this long after the end (default: 10m)",
	  TIME(execution.keep_us), .fallback = "10m", .typed = true },
	{ FLAG_RUN | FLAG_SESSION_EXEC, "--log", "FILE", NULL,
	  "with --detach: also append all output to FILE, which is made with mode 0600", TEXT(execution.log),
	  .typed = true },
	{ FLAG_LOGS, "--follow", NULL, NULL, "wait for more output until the execution ends",
	  SWITCH(execution.follow), .letter = 'f' },
	{ FLAG_LOGS, "--from", "OUT[,ERR]", NULL,
	  "leave out the first OUT bytes of standard output and ERR bytes of standard error",
	  TEXT(execution.from) },
	{ FLAG_LOGS, "--lines", "NUMBER", NULL, "print only the last NUMBER lines",
	  NUMBER(execution.lines, 1000000000) },
	{ FLAG_LOGS, "--yield", "TIME", NULL,
	  "wait for more output, for at most TIME; stop earlier if the execution ends, or if output has "
	  "come and 75 ms pass without more",
	  TIME(execution.yield_us) },
	{ FLAG_ATTACH, "--detach-keys", "KEYS", NULL,
	  "the keys that detach a terminal, separated by commas (default: ctrl-p,ctrl-q)",
	  TEXT(execution.detach_keys) },
	{ FLAG_ATTACH, "--no-input", NULL, NULL, "only show the output", SWITCH(no_input), .letter = 'n' },
	{ FLAG_WRITE, "--close", NULL, NULL, "close the input afterwards", SWITCH(execution.close) },
	{ FLAG_KILL, "--signal", "SIGNAL", NULL, "a name or a number (default: TERM)", TEXT(execution.signal),
	  .letter = 's' },
	{ FLAG_RUN | FLAG_CODE | FLAG_SESSION_EXEC, "--grace", "TIME", NULL,
	  "if Warder gets SIGTERM, SIGINT, SIGHUP or SIGQUIT: pass it to the program, and kill the program "
	  "if it has not ended after TIME (default: 2s)",
	  TIME(grace_us) },
	{ FLAG_RUN, "--terminal", NULL, NULL,
	  "give the program a terminal, and no limit of wall time unless --timeout or --policy sets one",
	  SWITCH(terminal), SHORT('t') },
	{ FLAG_SESSION_EXEC, "--terminal", NULL, NULL,
	  "give the program a terminal; the session needs devices.terminals of 1 or more", SWITCH(terminal),
	  SHORT('t') },
	{ FLAG_RUN, "--replay", NULL, NULL,
	  "with --net learn: afterwards run the program again under the learned policy, with an empty input",
	  SWITCH(replay) },
	{ FLAG_CONTEXT_RUN | FLAG_CODE_CONTEXT, "--no-input", NULL, NULL,
	  "give the piece of code an empty standard input", SWITCH(no_input), SHORT('n') },
	{ FLAG_RUN | FLAG_CODE | FLAG_SESSION_EXEC, "--no-input", NULL, NULL,
	  "give the program an empty standard input; the standard input of this command is not read",
	  SWITCH(no_input), SHORT('n') },
	{ FLAG_RUN | FLAG_CODE | FLAG_SESSION_EXEC, "--progress", NULL, NULL,
	  "let the program report its progress on descriptor 5 ($WARDER_PROGRESS); not together with "
	  "--function-command, which uses this descriptor, too",
	  SWITCH(progress) },
	{ FLAG_RUN | FLAG_CODE | FLAG_SESSION_EXEC, "--function-command", "NAME=PROGRAM", NULL,
	  "let the jailed program call a function with the name NAME. For each call, Warder runs PROGRAM "
	  "outside of the jail. "
	  "The policy must grant NAME (--set functions=NAME)",
	  LIST(functions), REPEATABLE },
	{ FLAG_RUN | FLAG_CODE | FLAG_SESSION_EXEC, "--env-from", "FILE", NULL,
	  "if you pass a variable with --env NAME and your environment lacks it, take its value from FILE "
	  "(lines NAME=VALUE)",
	  TEXT(env_from) },
	{ FLAG_RUN | FLAG_CODE | FLAG_SESSION_EXEC, "--receipt", "FILE", NULL,
	  "write the receipt, which lists all restrictions, to FILE as JSON; - is standard error",
	  TEXT(receipt) },
	{ FLAG_RUN | USES_CODE | FLAG_BLOCKS | FLAG_DOCTOR | FLAG_SESSION_START | FLAG_SESSION_EXEC |
	      FLAG_MCP,
	  "--backend", "NAME", NULL,
	  "the kind of isolation: local (default: Warder's own jail), auto (the first that can enforce the "
	  "policy), "
	  "or another name that \"warder backend list\" prints",
	  TEXT(backend) },
	{ FLAG_EXPLAIN, "--backend", "NAME[,NAME...]", NULL, "explain this backend, or compare several",
	  TEXT(backend) },
	{ FLAG_BACKEND, "--for-model", NULL, NULL,
	  "describe: print only a paragraph for a model that writes code", SWITCH(for_model) },
	{ FLAG_BACKEND, "--model", "NAME", NULL,
	  "for \"backend declare\": the name of the model, if the JSON request has none", TEXT(model) },
	{ FLAG_DOCTOR, "--matrix", NULL, NULL, "list the controls that each backend can enforce here",
	  SWITCH(matrix) },
	{ FLAG_RUN | USES_CODE | FLAG_BLOCKS | FLAG_DOCTOR | FLAG_EXPLAIN | FLAG_BACKEND |
	      FLAG_SESSION_START | FLAG_SESSION_EXEC | FLAG_MCP,
	  "--backends", "FILE", NULL,
	  "the operator's settings for backends (default: " PREPARATION_BACKENDS ")", TEXT(backends) },
	{ FLAG_BLOCKS, "--language", "NAME", NULL, "only blocks of this language", LIST(text.languages),
	  REPEATABLE },
	{ FLAG_BLOCKS, "--delimiters", "START END", NULL,
	  "also find code that stands between the texts START and END", CHOOSE(choose_delimiters),
	  .two = true, REPEATABLE },
	{ FLAG_FORMAT, "--delimiters", "START END", NULL,
	  "put the texts START and END around the result, or with --extract look for what stands between "
	  "them",
	  CHOOSE(choose_delimiters), .two = true, REPEATABLE },
	{ FLAG_BLOCKS, "--no-fences", NULL, NULL, "ignore Markdown fences: find only code between delimiters",
	  SWITCH(text.no_fences) },
	{ FLAG_BLOCKS, "--ignore", "TEXT", NULL, "skip the blocks that have TEXT as their first line",
	  LIST(text.ignored), REPEATABLE },
	{ FLAG_BLOCKS, "--unclosed", NULL, NULL,
	  "also take a block that is not closed at the end of the text", SWITCH(text.unclosed) },
	{ FLAG_BLOCKS, "--until-first", NULL, NULL,
	  "print the text up to the end of the first block, and drop the rest", SWITCH(text.until_first) },
	{ FLAG_BLOCKS, "--run", NULL, NULL,
	  "execute the blocks in order, each in a jail of its own, under the policy of the other flags",
	  SWITCH(text.run) },
	{ FLAG_BLOCKS, "--code", "NUMBER", NULL, "print only the code of block NUMBER; the first block is 1",
	  NUMBER(text.code, AGENT_MAX_BLOCKS) },
	{ FLAG_FORMAT, "--as", "FORM", NULL,
	  "the form of the output: block (text between two delimiters, the default), inline (one short text) "
	  "or text (sentences)",
	  CHOOSE(choose_as) },
	{ FLAG_BLOCKS, "--extract", NULL, NULL, "print only the code of all blocks", SWITCH(text.extract) },
	{ FLAG_FORMAT, "--extract", NULL, NULL,
	  "read a text instead of a result, and print only the parts between the delimiters",
	  SWITCH(text.extract) },
	{ FLAG_DATA, "--pandas", NULL, NULL, "load the tables with pandas instead of Python's csv module",
	  SWITCH(text.pandas) },
	{ PRINTS_RESULT, "--json", NULL, NULL,
	  "print one JSON object: the result, with the output of the program", SWITCH(json) },
	{ FLAG_TOOL, "--json", NULL, NULL,
	  "print the refusal of a wrong command line as JSON, too; results are JSON even without this flag",
	  SWITCH(json) },
	{ FLAG_BLOCKS, "--json", NULL, NULL,
	  "print one JSON object: a list of the blocks, or with --run their results", SWITCH(json) },
	{ FLAG_TENANT, "--json", NULL, NULL, "list: print the tenants as JSON, with scopes and expiry",
	  SWITCH(json) },
	{ FLAG_FORMAT, "--json", NULL, NULL, "print a JSON object that contains the text", SWITCH(json) },
	{ FLAG_DATA, "--json", NULL, NULL,
	  "print one JSON object: the texts, and the name and the content of each file", SWITCH(json) },
	{ KEEPS_JAIL, "--json", NULL, NULL,
	  "print JSON instead of text; the result of a program or a piece of code then contains its output",
	  SWITCH(json) },
	{ FLAG_JUDGE | FLAG_LANGUAGES | FLAG_EXPLAIN | FLAG_DOCTOR | FLAG_BACKEND | FLAG_SCAN | FLAG_CHANGES |
	      FLAG_POLICY | FLAG_PS | FLAG_LOGS,
	  "--json", NULL, NULL, "print JSON instead of text", SWITCH(json) },
	{ FLAG_DOCTOR, "--clean", NULL, NULL, "remove the leftovers of runs whose Warder was killed",
	  SWITCH(clean) },
	{ FLAG_DOCTOR, "--attack", NULL, NULL,
	  "run attacks under the policy of the other flags (default: strict), and say which succeed",
	  SWITCH(attack) },
	{ FLAG_DOCTOR, "--session", NULL, NULL,
	  "with --attack: run each attack in a session, next to other programs of the session",
	  SWITCH(attack_session) },
	{ TAKES_CONFIG, "--no-config", NULL, NULL,
	  "do not read the file of default flags (~/.config/warder/config.json)", SWITCH(no_config),
	  .typed = true },
	{ EVERY, "--help", NULL, NULL, "print this help", SWITCH(help), .typed = true, SHORT('h') },
};

_Static_assert(ARRAY_LENGTH(flags) <= FLAG_COUNT_MAX, "a request has a place for each");

const struct flag *flag_at(size_t i)
{
	return i < ARRAY_LENGTH(flags) ? &flags[i] : NULL;
}

const struct flag *flag_typed(uint64_t commands, const char *text, size_t length)
{
	const bool is_letter = text[0] == '-' && text[1] && text[1] != '-';

	for (size_t i = 0; i < ARRAY_LENGTH(flags); i++) {
		if (!(flags[i].commands & commands))
			continue;
		if (is_letter ? flags[i].letter == text[1]
			      : strlen(flags[i].name) == length && strncmp(flags[i].name, text, length) == 0)
			return &flags[i];
	}
	return NULL;
}

const struct flag *flag_find(uint64_t commands, const char *name)
{
	return flag_typed(commands, name, strlen(name));
}

bool flag_changes_policy(const struct flag *flag)
{
	return flag->kind == FLAG_KIND_FIELD || flag->kind == FLAG_KIND_CHANGE;
}
