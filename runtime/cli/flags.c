/*
 * flags: one row per flag.
 *
 * A flag that is a field of the policy goes through warder_policy_set(), so that a value means the same on the command
 * line, in a document and to the library. What the command line adds is comfort only: relative paths become absolute,
 * --allow and --env switch the mode that their rows need, --max-output sets both streams.
 */
#include "runtime/cli/flags.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/file.h"
#include "runtime/preparation.h"
#include "runtime/code/code.h"
#include "runtime/cli/spool.h"
#include "runtime/cli/term.h"
#include "runtime/cli/workers.h"

#define DEFAULT_CEILING "/etc/warder/ceiling.json"
#define DEFAULT_PRESET  "strict"

static int set(struct request *request, const char *path, const char *value, struct warder_error *err)
{
	return warder_policy_set(request->policy, path, value, err);
}

/* ---- what chooses ---- */

static int choose_base(struct request *request, const struct flag *flag, const char *value,
		       struct warder_error *err)
{
	if (request->base)
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, flag->name,
		    "there is a policy to start from already (%.80s); give one of --preset and --policy",
		    request->base);
	request->base = value;
	request->base_is_file = strcmp(flag->name, "--policy") == 0;
	return 0;
}

static int choose_ceiling(struct request *request, const struct flag *flag, const char *value,
			  struct warder_error *err)
{
	request->ceiling_path = value;
	return 0;
}

static int choose_cgroup_parent(struct request *request, const struct flag *flag, const char *value,
				struct warder_error *err)
{
	request->cgroup_parent = value;
	return 0;
}

static int choose_receipt(struct request *request, const struct flag *flag, const char *value,
			  struct warder_error *err)
{
	request->receipt = value;
	return 0;
}

static int choose_backend(struct request *request, const struct flag *flag, const char *value,
			  struct warder_error *err)
{
	request->backend = value;
	return 0;
}

static int choose_backends(struct request *request, const struct flag *flag, const char *value,
			   struct warder_error *err)
{
	request->backends = value;
	return 0;
}

static int choose_matrix(struct request *request, const struct flag *flag, const char *value,
			 struct warder_error *err)
{
	request->matrix = true;
	return 0;
}

static int choose_for_model(struct request *request, const struct flag *flag, const char *value,
			    struct warder_error *err)
{
	request->for_model = true;
	return 0;
}

static int choose_json(struct request *request, const struct flag *flag, const char *value,
		       struct warder_error *err)
{
	request->json = true;
	return 0;
}

static int choose_changes(struct request *request, const struct flag *flag, const char *value,
			  struct warder_error *err)
{
	if (strcmp(flag->name, "--changes") == 0)
		request->changes.directory = value;
	else if (strcmp(flag->name, "--force") == 0)
		request->changes.force = true;
	else
		request->changes.diff = true;
	return 0;
}

static int choose_clean(struct request *request, const struct flag *flag, const char *value,
			struct warder_error *err)
{
	request->clean = true;
	return 0;
}

static int choose_attack_session(struct request *request, const struct flag *flag, const char *value,
				 struct warder_error *err)
{
	request->attack_session = true;
	return 0;
}

static int choose_attack(struct request *request, const struct flag *flag, const char *value,
			 struct warder_error *err)
{
	request->attack = true;
	return 0;
}

static int choose_text(struct request *request, const struct flag *flag, const char *value,
		       struct warder_error *err)
{
	struct request_code *code = &request->code;
	const struct {
		const char *name;
		const char **place;
	} rows[] = {
		{ "--language", &code->language },     { "--languages", &code->languages },
		{ "--input", &code->input },           { "--stdin", &code->standard_input },
		{ "--artifacts", &code->artifacts },   { "--cache", &code->cache },
		{ "--scopes", &request->tool.scopes }, { "--stats", &request->tool.stats },
		{ "--rules", &code->rules },           { "--audit", &code->audit },
		{ "--cases", &request->tool.cases },   { "--compare", &request->tool.compare },
		{ "--model", &request->model },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(rows[i].name, flag->name) == 0)
			*rows[i].place = value;
	}
	return 0;
}

/* Only where code leaves files there is a directory for them. */
static int choose_store(struct request *request, const struct flag *flag, const char *value,
			struct warder_error *err)
{
	if (!spool_is_meant(value))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, flag->name,
				 "write store: or store:SESSION/; a directory is for \"warder code\"");
	return choose_text(request, flag, value, err);
}

static int choose_max_artifact(struct request *request, const struct flag *flag, const char *value,
			       struct warder_error *err)
{
	return policy_parse_size(value, &request->code.artifact_bytes, err);
}

static int choose_more(struct request *request, const struct flag *flag, const char *value,
		       struct warder_error *err)
{
	const struct {
		const char *name;
		struct request_list *list;
	} rows[] = {
		{ "--collect", &request->code.collect },
		{ "--language", &request->text.languages },
		{ "--ignore", &request->text.ignored },
		{ "--setup", &request->session.setup },
	};
	struct request_list *list = &request->code.files;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(rows[i].name, flag->name) == 0)
			list = rows[i].list;
	}
	if (list->count == REQUEST_LIST_MAX)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, flag->name, "given more than %d times",
				 REQUEST_LIST_MAX);
	list->items[list->count++] = value;
	return 0;
}

static int choose_switch(struct request *request, const struct flag *flag, const char *value,
			 struct warder_error *err)
{
	request->code.check |= strcmp(flag->name, "--check") == 0;
	request->code.scan |= strcmp(flag->name, "--scan") == 0;
	request->code.scan_deny |= strcmp(flag->name, "--scan-deny") == 0;
	request->code.no_cache |= strcmp(flag->name, "--no-cache") == 0;
	request->code.function |= strcmp(flag->name, "--function") == 0;
	request->code.last_line |= strcmp(flag->name, "--last-line") == 0;
	return 0;
}

/* ---- what chooses among text ---- */

/* Called for the start, and then for the end, which completes the pair. */
static int choose_delimiters(struct request *request, const struct flag *flag, const char *value,
			     struct warder_error *err)
{
	struct request_text *text = &request->text;
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

static int choose_code(struct request *request, const struct flag *flag, const char *value,
		       struct warder_error *err)
{
	uint64_t number = 0;

	if (policy_parse_count_or_unlimited(value, &number, err) != 0 || number == 0 ||
	    number > AGENT_MAX_BLOCKS)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, flag->name,
				 "blocks are counted from 1 to %d", AGENT_MAX_BLOCKS);
	request->text.code = number;
	return 0;
}

static int choose_as(struct request *request, const struct flag *flag, const char *value,
		     struct warder_error *err)
{
	if (strcmp(value, "block") != 0 && strcmp(value, "inline") != 0 && strcmp(value, "text") != 0)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, flag->name,
				 "there is no such form; known: block, inline, text");
	request->text.as = value;
	return 0;
}

static int choose_extract(struct request *request, const struct flag *flag, const char *value,
			  struct warder_error *err)
{
	request->text.extract = true;
	return 0;
}

static int choose_unclosed(struct request *request, const struct flag *flag, const char *value,
			   struct warder_error *err)
{
	request->text.unclosed = true;
	return 0;
}

static int choose_no_fences(struct request *request, const struct flag *flag, const char *value,
			    struct warder_error *err)
{
	request->text.no_fences = true;
	return 0;
}

static int choose_pandas(struct request *request, const struct flag *flag, const char *value,
			 struct warder_error *err)
{
	request->text.pandas = true;
	return 0;
}

static int choose_help(struct request *request, const struct flag *flag, const char *value,
		       struct warder_error *err)
{
	request->help = true;
	return 0;
}

static int choose_tool_switch(struct request *request, const struct flag *flag, const char *value,
			      struct warder_error *err)
{
	request->tool.stream |= strcmp(flag->name, "--stream") == 0;
	request->tool.stop |= strcmp(flag->name, "--stop") == 0;
	request->tool.unordered |= strcmp(flag->name, "--unordered") == 0;
	return 0;
}

static int choose_session(struct request *request, const struct flag *flag, const char *value,
			  struct warder_error *err)
{
	struct request_session *session = &request->session;
	const bool is_lifetime = strcmp(flag->name, "--lifetime") == 0;
	uint64_t *time = is_lifetime ? &session->lifetime_us : &session->idle_us;

	session->auto_start |= strcmp(flag->name, "--auto-start") == 0;
	session->background |= strcmp(flag->name, "--background") == 0;
	if (!value)
		return 0;
	if (policy_parse_time(value, time, err) != 0)
		return -1;
	return *time ? 0
		     : error_set(err, WARDER_ERROR_INVALID_REQUEST, flag->name,
				 "give a time above 0, or leave the flag out, which means %s",
				 is_lifetime ? "8h" : "30m");
}

static int choose_parallel(struct request *request, const struct flag *flag, const char *value,
			   struct warder_error *err)
{
	uint64_t number = 0;

	if (policy_parse_count_or_unlimited(value, &number, err) != 0 || number == 0 || number > WORKERS_MAX)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, flag->name, "give a number from 1 to %d",
				 WORKERS_MAX);
	request->tool.parallel = (unsigned)number;
	return 0;
}

unsigned request_parallel(const struct request *request)
{
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (request->tool.parallel)
		return request->tool.parallel;
	return cpus < 1 ? 1 : cpus > WORKERS_MAX ? WORKERS_MAX : (unsigned)cpus;
}

/* ---- what changes the policy ---- */

static int change_output(struct request *request, const struct flag *flag, const char *value,
			 struct warder_error *err)
{
	if (set(request, "output.stdout", value, err) != 0)
		return -1;
	return set(request, "output.stderr", value, err);
}

static int change_allow(struct request *request, const struct flag *flag, const char *value,
			struct warder_error *err)
{
	if (set(request, "network.mode", "allow", err) != 0)
		return -1;
	return set(request, flag->path, value, err);
}

/* Without a value the variable is let in from outside, which needs a mode that lets some in. */
static int change_environment(struct request *request, const struct flag *flag, const char *value,
			      struct warder_error *err)
{
	const char *equals = strchr(value, '=');
	char path[512];

	if (!equals) {
		if (request->policy->policy.environment.mode == POLICY_ENVIRONMENT_HOST)
			return 0;
		if (set(request, "environment.mode", "allowList", err) != 0)
			return -1;
		return set(request, "environment.names", value, err);
	}
	if ((size_t)snprintf(path, sizeof(path), "environment.set.%.*s", (int)(equals - value), value) >=
	    sizeof(path))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, flag->name, "the name is too long");
	return set(request, path, equals + 1, err);
}

/* An absolute path for what was given, on the heap; NULL with errno. A relative one is joined with the working directory as
 * text, and its "." and ".." taken out as text: links are left to the plan, which looks at whose they are. */
static char *absolute(const char *value)
{
	char cwd[PATH_MAX];
	char *text = NULL;
	char *to;

	if (*value == '/')
		return strdup(value);
	if (*value == '\0')
		errno = ENOENT;
	if (*value == '\0' || !getcwd(cwd, sizeof(cwd)))
		return NULL;
	if (asprintf(&text, "%s/%s/", strcmp(cwd, "/") == 0 ? "" : cwd, value) < 0)
		return NULL;
	to = text;
	for (const char *from = text; *from;) {
		size_t length = strcspn(from + 1, "/") + 1; /* "/name" */

		if (length == 3 && strncmp(from, "/..", 3) == 0)
			while (to > text && *--to != '/')
				;
		else if (length > 1 && !(length == 2 && from[1] == '.'))
			to = (char *)memmove(to, from, length) + length;
		from += length;
	}
	*to = '\0';
	if (to == text)
		strcpy(text, "/");
	return text;
}

/* Set `path` to `prefix` and an absolute path. */
static int set_path(struct request *request, const char *path, const char *prefix, const char *value,
		    struct warder_error *err)
{
	char *real = absolute(value);
	char *text = NULL;
	int status;

	if (!real)
		return error_set_errno(err, WARDER_ERROR_INVALID_REQUEST, path, errno, "%.200s", value);
	for (size_t length = strlen(real); length > 1 && real[length - 1] == '/'; length--)
		real[length - 1] = '\0'; /* as completion leaves it */
	status = asprintf(&text, "%s%s", prefix, real);
	free(real);
	if (status < 0)
		return error_set(err, WARDER_ERROR_INTERNAL, NULL, "out of memory");
	status = set(request, path, text, err);
	free(text);
	return status;
}

static int change_path(struct request *request, const struct flag *flag, const char *value,
		       struct warder_error *err)
{
	return set_path(request, flag->path, "", value, err);
}

/* DIR, DIR:ro, DIR:rw or DIR:overlay; without a mode the one that the preset has. "none" is the policy's own word. */
static int change_workspace(struct request *request, const struct flag *flag, const char *value,
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
		return set(request, flag->path, value, err);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (request->policy->policy.filesystem.workspace == modes[i].mode)
			word = modes[i].word;
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]) && length == whole; i++) {
		const size_t suffix = strlen(modes[i].suffix);

		if (whole > suffix && strcmp(value + whole - suffix, modes[i].suffix) == 0) {
			length = whole - suffix;
			word = modes[i].word;
		}
	}
	directory = strndup(value, length);
	if (!directory)
		return error_set(err, WARDER_ERROR_INTERNAL, NULL, "out of memory");
	status = set_path(request, flag->path, word, directory, err);
	free(directory);
	return status;
}

/* The directory as an overlay, whose changes are told at the end. */
static int change_dry_run(struct request *request, const struct flag *flag, const char *value,
			  struct warder_error *err)
{
	request->changes.dry_run = true;
	return set_path(request, flag->path, "overlay:", value, err);
}

static int change_view(struct request *request, const struct flag *flag, const char *value,
		       struct warder_error *err)
{
	static const char directory[] = "directory:";

	if (strncmp(value, directory, sizeof(directory) - 1) == 0)
		return set_path(request, flag->path, directory, value + sizeof(directory) - 1, err);
	return set(request, flag->path, value, err);
}

static int change_enforcement(struct request *request, const struct flag *flag, const char *value,
			      struct warder_error *err)
{
	const bool required = strcmp(flag->name, "--require") == 0;

	if (strcmp(value, "all") != 0)
		return warder_policy_require(request->policy, value, required, err);
	/* The list of languages is always enforced. */
	for (int field = POLICY_FIELD_LANGUAGES + 1; field < POLICY_FIELD_COUNT; field++)
		request->policy->policy.preferred[field] = !required;
	return 0;
}

static int change_field(struct request *request, const struct flag *flag, const char *value,
			struct warder_error *err)
{
	const char *equals = strchr(value, '=');
	char path[128];

	if (!equals ||
	    (size_t)snprintf(path, sizeof(path), "%.*s", (int)(equals - value), value) >= sizeof(path))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, flag->name,
				 "write FIELD=VALUE, such as limits.disk=1GiB");
	return set(request, path, equals + 1, err);
}

static int change_plain(struct request *request, const struct flag *flag, const char *value,
			struct warder_error *err)
{
	return set(request, flag->path, value, err);
}

/* ---- the table ---- */

#define USES_POLICY                                                                                          \
	(FLAG_RUN | FLAG_CODE | FLAG_TOOL | FLAG_JUDGE | FLAG_LANGUAGES | FLAG_EXPLAIN | FLAG_DOCTOR |       \
	 FLAG_SESSION_START | FLAG_SESSION_EXEC | FLAG_BACKEND)
#define POLICY_FLAG (USES_POLICY | FLAG_SHAPES)
#define USES_CODE   (FLAG_CODE | FLAG_TOOL | FLAG_JUDGE)
#define USES_TEXT   (FLAG_BLOCKS | FLAG_FORMAT)
#define EVERY                                                                                                \
	(FLAG_RUN | FLAG_CODE | FLAG_LANGUAGES | FLAG_EXPLAIN | FLAG_POLICY | FLAG_DOCTOR |                  \
	 FLAG_COMPLETION | FLAG_TOOL | FLAG_JUDGE | FLAG_SCAN | FLAG_DATA | FLAG_CHANGES | FLAG_BACKEND |    \
	 USES_TEXT | FLAG_SESSION_ANY)

static const struct flag flags[] = {
	{ POLICY_FLAG, "--preset", "NAME", NULL, "start from a preset (default: strict)", choose_base },
	{ POLICY_FLAG, "--policy", "FILE", NULL, "start from a policy document; - is standard input",
	  choose_base },
	{ POLICY_FLAG, "--timeout", "TIME", "limits.wallTime", "wall time, such as 5s", NULL, change_plain },
	{ POLICY_FLAG, "--cpu-time", "TIME", "limits.cpuTime", "CPU time of all processes", NULL,
	  change_plain },
	{ POLICY_FLAG, "--memory", "SIZE", "limits.memory", "memory of all processes, such as 256MiB", NULL,
	  change_plain },
	{ POLICY_FLAG, "--cpus", "NUMBER", "limits.cpus", "CPU bandwidth, such as 0.5", NULL, change_plain },
	{ POLICY_FLAG, "--pids", "NUMBER", "limits.pids", "processes and threads", NULL, change_plain },
	{ POLICY_FLAG, "--tmp", "SIZE", "filesystem.tmp", "size of the private /tmp", NULL, change_plain },
	{ POLICY_FLAG, "--net", "MODE", "network.mode", "none, loopback or host", NULL, change_plain },
	{ POLICY_FLAG, "--allow", "HOST:PORT", "network.allow",
	  "allow one destination; this version refuses it", NULL, change_allow },
	{ POLICY_FLAG, "--ro", "PATH[:/workspace/...]", "filesystem.paths.readOnly",
	  "show a host path read-only (repeatable)", NULL, change_path },
	{ POLICY_FLAG, "--rw", "PATH", "filesystem.paths.readWrite",
	  "show a host path read-write (repeatable)", NULL, change_path },
	{ POLICY_FLAG, "--workspace", "DIR[:ro|:rw|:overlay]", "filesystem.workspace",
	  "show a host directory as /workspace", NULL, change_workspace },
	{ FLAG_RUN, "--dry-run", "DIR", "filesystem.workspace",
	  "as --workspace DIR:overlay; tells at the end what would have changed", NULL, change_dry_run },
	{ FLAG_RUN, "--changes", "DIR", NULL,
	  "keep what an overlay workspace would have changed, for \"warder changes\"", choose_changes },
	{ FLAG_CHANGES, "--force", NULL, NULL, "commit also what changed on the host since", choose_changes },
	{ FLAG_CHANGES, "--diff", NULL, NULL, "show the lines of text files, too", choose_changes },
	{ POLICY_FLAG, "--view", "VIEW", "filesystem.view", "host, directory:DIR or image:NAME as the root",
	  NULL, change_view },
	{ POLICY_FLAG, "--env", "NAME[=VALUE]", "environment.set, environment.names",
	  "set a variable, or let the caller's in (repeatable)", NULL, change_environment },
	{ POLICY_FLAG, "--cwd", "DIR", "workingDirectory", "working directory inside", NULL, change_plain },
	{ POLICY_FLAG, "--max-output", "SIZE", "output.stdout, output.stderr",
	  "bytes kept of stdout and of stderr", NULL, change_output },
	{ POLICY_FLAG, "--set", "FIELD=VALUE", NULL, "set any field of the policy, such as limits.disk=1GiB",
	  NULL, change_field },
	{ POLICY_FLAG, "--require", "FIELD", NULL,
	  "refuse to run where the field (or all) cannot be enforced (default)", NULL, change_enforcement },
	{ POLICY_FLAG, "--prefer", "FIELD", NULL, "run all the same, and say so in the receipt", NULL,
	  change_enforcement },
	{ POLICY_FLAG, "--ceiling", "FILE", NULL, "the most a policy may ask (default: " DEFAULT_CEILING ")",
	  choose_ceiling },
	{ USES_POLICY, "--cgroup-parent", "DIR", NULL,
	  "cgroup below which jails go (default: $WARDER_CGROUP_PARENT)", choose_cgroup_parent },
	{ FLAG_CODE | FLAG_JUDGE | FLAG_SCAN, "--language", "NAME", NULL,
	  "the code's language; without it, what is certain", choose_text },
	{ FLAG_CODE, "--stdin", "FILE", NULL, "the code's standard input (default: Warder's own)",
	  choose_text },
	{ FLAG_CODE, "--input", "JSON", NULL,
	  "a value that the code reads at $WARDER_INPUT; @FILE reads it from a file", choose_text },
	{ FLAG_CODE, "--last-line", NULL, NULL,
	  "take the last line of standard output as the result, if it is JSON", choose_switch },
	{ FLAG_CODE, "--file", "SRC[=DST]", NULL,
	  "a file that the code finds in its working directory (repeatable)", choose_more },
	{ FLAG_CODE, "--collect", "PATTERN", NULL,
	  "files to take (repeatable; default: new and changed ones)", choose_more },
	{ FLAG_CODE, "--artifacts", "DIR|store:[SESSION/]", NULL,
	  "where files go that are too large for the result; the artifact store takes cut output, too",
	  choose_text },
	{ FLAG_RUN | FLAG_TOOL | FLAG_JUDGE, "--artifacts", "store:[SESSION/]", NULL,
	  "keep what the result has no room for in the artifact store, as SESSION/stdout, ...",
	  choose_store },
	{ FLAG_RUN | USES_CODE, "--max-artifact", "SIZE", NULL,
	  "most bytes of a stream that go to the artifact store (default 256MiB)", choose_max_artifact },
	{ FLAG_CODE, "--scan", NULL, NULL, "look for what is dangerous: advice in the result, no protection",
	  choose_switch },
	{ FLAG_CODE, "--scan-deny", NULL, NULL, "the same, and refuse what it advises against",
	  choose_switch },
	{ FLAG_CODE | FLAG_SCAN, "--rules", "FILE", NULL, "the scan's lists of domains, commands and paths",
	  choose_text },
	{ FLAG_CODE | FLAG_SCAN, "--audit", "FILE", NULL,
	  "append each decision of the scan there, a line each", choose_text },
	{ FLAG_CODE, "--check", NULL, NULL, "check the code, or build it, and do not run it", choose_switch },
	{ FLAG_CODE, "--function", NULL, NULL, "rust: the code is fn run(input: Value) -> Value",
	  choose_switch },
	{ USES_CODE, "--no-cache", NULL, NULL, "neither look for an earlier build nor keep this one",
	  choose_switch },
	{ USES_CODE, "--cache", "DIR", NULL, "where built programs are kept", choose_text },
	{ USES_CODE | FLAG_LANGUAGES | FLAG_BLOCKS, "--languages", "FILE", NULL,
	  "a document of more languages", choose_text },
	{ FLAG_TOOL, "--stream", NULL, NULL, "a request on each line, until the end of the file",
	  choose_tool_switch },
	{ FLAG_TOOL | FLAG_JUDGE, "--parallel", "NUMBER", NULL,
	  "so many at the same time (default: the CPUs)", choose_parallel },
	{ FLAG_TOOL, "--unordered", NULL, NULL, "results as they come, not in the order of the requests",
	  choose_tool_switch },
	{ FLAG_TOOL, "--scopes", "SCOPE,...", NULL,
	  "what may be asked: code:execute[:LANGUAGE|:host], code:network, code:filesystem:write",
	  choose_text },
	{ FLAG_TOOL, "--stats", "FILE", NULL, "write statistics there at the end; - is standard error",
	  choose_text },
	{ FLAG_JUDGE, "--cases", "DIR", NULL, "cases are files: NAME.in and NAME.out", choose_text },
	{ FLAG_JUDGE, "--compare", "HOW", NULL, "lines (default), exact, tokens, float:1e-6 or none",
	  choose_text },
	{ FLAG_JUDGE, "--stop", NULL, NULL, "no more cases after the first that is not accepted",
	  choose_tool_switch },
	{ FLAG_SESSION_START | FLAG_SESSION_EXEC, "--setup", "COMMAND", NULL,
	  "run by sh in the session before anybody else (repeatable)", choose_more },
	{ FLAG_SESSION_START | FLAG_SESSION_EXEC, "--lifetime", "TIME", NULL,
	  "the session ends after so long (default: 8h)", choose_session },
	{ FLAG_SESSION_START | FLAG_SESSION_EXEC, "--idle-timeout", "TIME", NULL,
	  "and when nothing was executed for so long (default: 30m)", choose_session },
	{ FLAG_SESSION_EXEC, "--auto-start", NULL, NULL, "start the session if it does not run",
	  choose_session },
	{ FLAG_SESSION_EXEC, "--background", NULL, NULL,
	  "what the program leaves running stays until the session ends", choose_session },
	{ FLAG_RUN | FLAG_CODE | FLAG_SESSION_EXEC, "--receipt", "FILE", NULL,
	  "write the receipt there; - is standard error", choose_receipt },
	{ FLAG_RUN | USES_CODE | FLAG_DOCTOR | FLAG_SESSION_START | FLAG_SESSION_EXEC, "--backend", "NAME",
	  NULL, "who runs it: local (default), another of \"warder backend list\", or auto", choose_backend },
	{ FLAG_EXPLAIN, "--backend", "NAME[,NAME...]", NULL, "backend to explain, or several to compare",
	  choose_backend },
	{ FLAG_BACKEND, "--for-model", NULL, NULL, "describe: only the text for a model, under the policy",
	  choose_for_model },
	{ FLAG_BACKEND, "--model", "NAME", NULL, "declare: the request's model, where it names none",
	  choose_text },
	{ FLAG_DOCTOR, "--matrix", NULL, NULL, "what each backend can enforce here", choose_matrix },
	{ FLAG_RUN | USES_CODE | FLAG_DOCTOR | FLAG_EXPLAIN | FLAG_BACKEND | FLAG_SESSION_START |
	      FLAG_SESSION_EXEC,
	  "--backends", "FILE", NULL,
	  "the operator's settings of backends (default: " PREPARATION_BACKENDS ")", choose_backends },
	{ FLAG_BLOCKS, "--language", "NAME", NULL, "only blocks of this language (repeatable)", choose_more },
	{ USES_TEXT, "--delimiters", "START END", NULL,
	  "what stands around code (repeatable), or around a result", choose_delimiters, NULL, true },
	{ FLAG_BLOCKS, "--no-fences", NULL, NULL, "only code between delimiters", choose_no_fences },
	{ FLAG_BLOCKS, "--ignore", "TEXT", NULL, "no block whose first line is this (repeatable)",
	  choose_more },
	{ FLAG_BLOCKS, "--unclosed", NULL, NULL, "what is not closed at the end of the text is a block, too",
	  choose_unclosed },
	{ FLAG_BLOCKS, "--code", "NUMBER", NULL, "print the code of one block, byte by byte", choose_code },
	{ FLAG_FORMAT, "--as", "FORM", NULL, "block (default), inline, or text for a model", choose_as },
	{ USES_TEXT, "--extract", NULL, NULL,
	  "print only the code of all blocks, or of format what stands between the delimiters",
	  choose_extract },
	{ FLAG_DATA, "--pandas", NULL, NULL, "load tables with pandas, not with Python's own csv",
	  choose_pandas },
	{ USES_POLICY | USES_TEXT | FLAG_SCAN | FLAG_DATA | FLAG_CHANGES | FLAG_SESSION, "--json", NULL, NULL,
	  "one JSON object on standard output instead", choose_json },
	{ FLAG_DOCTOR, "--clean", NULL, NULL, "remove what dead supervisors left", choose_clean },
	{ FLAG_DOCTOR, "--attack", NULL, NULL,
	  "try hostile code under the policy that the other flags make (default: strict)", choose_attack },
	{ FLAG_DOCTOR, "--session", NULL, NULL,
	  "of --attack: each attempt is an execution in a session, where it has others beside it",
	  choose_attack_session },
	{ EVERY, "--help", NULL, NULL, "this text", choose_help },
};

const struct flag *flag_at(size_t i)
{
	return i < sizeof(flags) / sizeof(flags[0]) ? &flags[i] : NULL;
}

void flags_print(enum flag_command command)
{
	for (const struct flag *flag = flags; flag < flags + sizeof(flags) / sizeof(flags[0]); flag++) {
		char left[64];

		if (!(flag->commands & (unsigned)command))
			continue;
		snprintf(left, sizeof(left), "  %s %s", flag->name, flag->argument ? flag->argument : "");
		term_print(TERM_PLAIN, 28, left);
		printf(" %s", flag->help);
		if (flag->path)
			printf(" (%s)", flag->path);
		putchar('\n');
	}
}

/* ---- walking ---- */

static int refuse_unknown(enum flag_command command, const char *text, size_t length,
			  struct warder_error *err)
{
	const char *words[sizeof(flags) / sizeof(flags[0]) + 1];
	size_t count = 0;
	char name[64], remedy[96];

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (flags[i].commands & (unsigned)command)
			words[count++] = flags[i].name;
	}
	words[count] = NULL;
	snprintf(name, sizeof(name), "%.*s", (int)length, text);
	policy_suggest(words, name, remedy, sizeof(remedy));
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, name, "unknown flag %s; %s", name,
			 strncmp(remedy, "did", 3) == 0 ? remedy : "--help lists what there is");
}

static const struct flag *find(enum flag_command command, const char *text, size_t length)
{
	if (strcmp(text, "-h") == 0)
		return find(command, "--help", 6);
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if ((flags[i].commands & (unsigned)command) && strlen(flags[i].name) == length &&
		    strncmp(flags[i].name, text, length) == 0)
			return &flags[i];
	}
	return NULL;
}

/* The flag at *argv with its value; *argv moves past both. */
static int next(enum flag_command command, char ***argv, const struct flag **ret_flag, const char **ret_value,
		struct warder_error *err)
{
	const char *text = *(*argv)++;
	size_t length = strcspn(text, "=");
	const struct flag *flag = find(command, text, length);

	*ret_value = text[length] ? text + length + 1 : NULL;
	if (!flag)
		return refuse_unknown(command, text, length, err);
	if (!flag->argument && *ret_value)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, flag->name, "%s takes no value",
				 flag->name);
	if (flag->argument && !*ret_value && **argv && strcmp(**argv, "--") != 0)
		*ret_value = **argv;
	if (flag->argument && !*ret_value)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, flag->name, "%s needs a value: %s %s",
				 flag->name, flag->name, flag->argument);
	if (flag->argument && *ret_value == **argv)
		(*argv)++;
	if (flag->two && !**argv)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, flag->name, "%s needs two values: %s %s",
				 flag->name, flag->name, flag->argument);
	*ret_flag = flag;
	return 0;
}

static int apply(struct request *request, const struct flag *flag, const char *value, bool changing,
		 struct warder_error *err)
{
	int (*use)(struct request *, const struct flag *, const char *, struct warder_error *) =
	    changing ? flag->change : flag->choose;

	request->shapes_policy |= (flag->commands & FLAG_SHAPES) != 0;
	if (!use || use(request, flag, value, err) == 0)
		return 0;
	return error_context(err, "%s%s%.80s", flag->name, value ? " " : "", value ? value : "");
}

/* The first argument that is no flag ends the flags, and so does "--". */
static int walk(enum flag_command command, char **argv, struct request *request, bool changing,
		struct warder_error *err)
{
	while (*argv && (*argv)[0] == '-' && (*argv)[1]) {
		const struct flag *flag = NULL;
		const char *value = NULL;

		if (strcmp(*argv, "--") == 0) {
			argv++;
			break;
		}
		if (next(command, &argv, &flag, &value, err) != 0 ||
		    apply(request, flag, value, changing, err) != 0 ||
		    (flag->two && apply(request, flag, *argv++, changing, err) != 0))
			return -1;
	}
	request->rest = argv;
	return 0;
}

/* A flag that has no effect without another one. */
static int check_together(const struct request *request, struct warder_error *err)
{
	if (!request->help && request->code.artifact_bytes && !spool_is_meant(request->code.artifacts))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--max-artifact",
				 "--max-artifact needs --artifacts store:");
	if (request->help || request->code.collect.count == 0 || request->json || request->code.artifacts)
		return 0;
	return error_set(
	    err, WARDER_ERROR_INVALID_REQUEST, "--collect",
	    "--collect needs --json, whose result shows the files, or --artifacts, which says where they go");
}

int request_parse(enum flag_command command, char **argv, struct request *ret, struct warder_error *err)
{
	memset(ret, 0, sizeof(*ret));
	if (walk(command, argv, ret, false, err) == 0 && check_together(ret, err) == 0)
		return 0;
	for (; *argv && strcmp(*argv, "--") != 0; argv++)
		ret->json |= strcmp(*argv, "--json") == 0;
	return -1;
}

/* ---- loading ---- */

static bool is_preset(const char *name)
{
	for (size_t i = 0; i < policy_preset_count(); i++) {
		if (strcmp(policy_preset_name(i), name) == 0)
			return true;
	}
	return false;
}

int policy_load(const char *name, bool is_file, struct warder_policy **ret, struct warder_error *err)
{
	char *text = NULL;
	size_t len = 0;
	int status;

	if (!is_file && strcmp(name, "-") != 0 && (is_preset(name) || !strpbrk(name, "/.")))
		return warder_policy_preset(name, ret, err);
	if (file_read(name, &text, &len, err) != 0)
		return -1;
	status = warder_policy_parse(text, len, strcmp(name, "-") == 0 ? "standard input" : name, ret, err);
	free(text);
	return status;
}

int request_load_ceiling(struct request *request, struct warder_error *err)
{
	const char *path = request->ceiling_path ? request->ceiling_path : DEFAULT_CEILING;

	if (policy_load(path, true, &request->ceiling, err) == 0)
		return 0;
	if (!request->ceiling_path && err->sys_errno == ENOENT)
		return 0;
	return error_context(err, "ceiling");
}

/* A document may call anything by the name of a language that is allowed. */
static int check_document(const struct request *request, struct warder_error *err)
{
	if (!request->code.languages || !request->ceiling || request->ceiling->policy.languages.any)
		return 0;
	return error_set(err, WARDER_ERROR_REJECTED, "--languages",
			 "the operator allows certain languages, and a document may give their names to "
			 "others; leave it out, or have its languages put into /etc/warder/languages.json");
}

static int check_languages(const struct request *request, struct warder_error *err)
{
	const char *path = code_languages_path(request->code.languages);

	if (languages_check_by(path, &request->policy->policy, err) != 0)
		return -1;
	return request->ceiling && languages_check_by(path, &request->ceiling->policy, err) != 0
		   ? error_context(err, "ceiling")
		   : 0;
}

int request_load(enum flag_command command, char **argv, struct request *request, struct warder_error *err)
{
	const char *parent = getenv("WARDER_CGROUP_PARENT");

	if (!request->cgroup_parent && parent && *parent)
		request->cgroup_parent = parent;
	if (policy_load(request->base ? request->base : DEFAULT_PRESET, request->base_is_file,
			&request->policy, err) != 0)
		return request->base_is_file && err->sys_errno ? error_context(err, "--policy") : -1;
	for (const char *const *pair = request->defaults; !request->base && pair && *pair; pair += 2) {
		if (set(request, pair[0], pair[1], err) != 0)
			return -1;
	}
	if (request_load_ceiling(request, err) != 0 || check_document(request, err) != 0 ||
	    walk(command, argv, request, true, err) != 0)
		return -1;
	return check_languages(request, err);
}

int request_change(enum flag_command command, char **argv, struct request *request, struct warder_error *err)
{
	return walk(command, argv, request, true, err);
}

void request_done(struct request *request)
{
	warder_policy_free(request->policy);
	warder_policy_free(request->ceiling);
	request->policy = request->ceiling = NULL;
}
