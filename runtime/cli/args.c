/*
 * args: what a command is asked for, out of the user's file of defaults and the words of the command line.
 *
 * Two walks over the same flags: the first takes what chooses the policy to start from, the second changes the policy that is there.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "runtime/cli/args.h"
#include "runtime/cli/config.h"
#include "runtime/cli/env_file.h"
#include "runtime/cli/spool.h"
#include "runtime/cli/term.h"
#include "runtime/cli/workers.h"
#include "runtime/code/code.h"
#include "runtime/library/preparation.h"

#define DEFAULT_PRESET "strict"
#define GRACE_US       2000000
#define CONTEXTS       (FLAG_CONTEXT_CREATE | FLAG_CONTEXT_RUN | FLAG_CODE_CONTEXT)

/* ---- walking ---- */

static int refuse_unknown(enum flag_command command, const char *text, size_t length,
			  struct warder_error *err)
{
	const char *words[FLAG_COUNT_MAX + 1];
	const struct flag *flag;
	size_t count = 0;
	char name[64], remedy[96];

	for (size_t i = 0; (flag = flag_at(i)) != NULL; i++) {
		if (flag->commands & (uint64_t)command)
			words[count++] = flag->name;
	}
	words[count] = NULL;
	snprintf(name, sizeof(name), "%.*s", (int)length, text);
	if (strcmp(name, "--function-command") == 0 && (command & CONTEXTS))
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, name,
		    "--function-command cannot be used with a context, because a context outlives the "
		    "command that answers the calls; use \"warder code --session SESSION\" without "
		    "--context");
	if (!policy_meant(words, name))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, name,
				 "unknown flag %s; --help lists all flags", name);
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, name, "unknown flag %s; %s", name,
			 policy_suggest(words, name, remedy, sizeof(remedy)));
}

/* A flag as it was typed: "--memory", "--memory=64MiB", "-m", "-m64MiB". */
struct typed {
	const struct flag *flag;
	const char *value; /* NULL: none */
	char name[64];
};

static bool is_letter(const char *text)
{
	return text[0] == '-' && text[1] && text[1] != '-';
}

/* The flag at *argv with its value; *argv moves past both. */
static int next(enum flag_command command, char ***argv, struct typed *ret, struct warder_error *err)
{
	const char *text = *(*argv)++;
	const size_t length = is_letter(text) ? 2 : strcspn(text, "=");
	const struct flag *flag = flag_typed(command, text, length);

	snprintf(ret->name, sizeof(ret->name), "%.*s", (int)length, text);
	ret->flag = flag;
	ret->value = !text[length] ? NULL : text + length + !is_letter(text);
	if (!flag)
		return refuse_unknown(command, text, is_letter(text) ? strlen(text) : length, err);
	if (!flag->argument && ret->value)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, ret->name, "%s takes no value",
				 ret->name);
	if (flag->argument && !ret->value && **argv && strcmp(**argv, "--") != 0)
		ret->value = *(*argv)++;
	if (flag->argument && !ret->value)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, ret->name, "%s needs a value: %s %s",
				 ret->name, ret->name, flag->argument);
	if (flag->two && !**argv)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, ret->name, "%s needs two values: %s %s",
				 ret->name, ret->name, flag->argument);
	return 0;
}

static int take_list(struct args_list *list, const struct flag *flag, const char *value,
		     struct warder_error *err)
{
	if (list->count == REQUEST_LIST_MAX)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, flag->name, "given more than %d times",
				 REQUEST_LIST_MAX);
	list->items[list->count++] = value;
	return 0;
}

static int take_time(uint64_t *time_us, const struct flag *flag, const char *value, struct warder_error *err)
{
	if (policy_parse_time(value, time_us, err) != 0)
		return -1;
	if (*time_us || !flag->fallback)
		return 0;
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, flag->name,
			 "give a time above 0, or leave the flag out, which means %s", flag->fallback);
}

static int take_number(unsigned *number, const struct flag *flag, const char *value, struct warder_error *err)
{
	uint64_t count = 0;

	if (policy_parse_count_or_unlimited(value, &count, err) != 0 || count == 0 || count > flag->most)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, flag->name, "give a number from 1 to %u",
				 flag->most);
	*number = (unsigned)count;
	return 0;
}

/* Do what the row says. */
static int take(struct args *args, const struct flag *flag, const char *value, struct warder_error *err)
{
	void *at = (char *)args + flag->offset;

	switch (flag->kind) {
	case FLAG_KIND_FIELD:
		return warder_policy_set(args->policy, flag->path, value, err);
	case FLAG_KIND_CHANGE:
	case FLAG_KIND_CHOOSE:
		return flag->use(args, flag, value, err);
	case FLAG_KIND_SWITCH:
		*(bool *)at = true;
		return 0;
	case FLAG_KIND_TEXT:
		*(const char **)at = value;
		return 0;
	case FLAG_KIND_LIST:
		return take_list(at, flag, value, err);
	case FLAG_KIND_TIME:
		return take_time(at, flag, value, err);
	case FLAG_KIND_SIZE:
		return policy_parse_size(value, at, err);
	case FLAG_KIND_NUMBER:
		return take_number(at, flag, value, err);
	}
	return -1;
}

static int use_flag(struct args *args, const struct flag *flag, const char *value, bool changing,
		    struct warder_error *err)
{
	args->shapes_policy |= (flag->commands & FLAG_SHAPES) != 0;
	return flag_changes_policy(flag) == changing ? take(args, flag, value, err) : 0;
}

static int apply(struct args *args, const struct typed *typed, const char *value, bool changing,
		 struct warder_error *err)
{
	if (use_flag(args, typed->flag, value, changing, err) == 0)
		return 0;
	return error_context(err, "%s%s%.80s", typed->name, value ? " " : "", value ? value : "");
}

/* The flags of the user's file, which come before those of the command line. */
static int walk_config(struct args *args, bool changing, struct warder_error *err)
{
	const struct config *config = args->config;

	for (size_t i = 0; config && i < config->count; i++) {
		const struct config_flag *row = &config->flags[i];

		if (use_flag(args, row->flag, row->value, changing, err) != 0)
			return config_blame(config, row, err);
	}
	return 0;
}

/* Commands whose words begin a program and its arguments, or that read their words first. */
#define WORDS_END_FLAGS                                                                                      \
	(FLAG_RUN | FLAG_CODE | FLAG_JUDGE | FLAG_SESSION | FLAG_SESSION_START | FLAG_SESSION_EXEC)

static bool is_flag(const char *word)
{
	return word[0] == '-' && word[1];
}

/* Put the flags of argv, and "--", before the words. What is no flag of the command is refused by walk(). */
static int put_flags_first(enum flag_command command, char **argv, struct warder_error *err)
{
	size_t count = 0, words = 0, at = 0;
	char **held, **next_one;

	while (argv[count])
		count++;
	held = calloc(count + 1, sizeof(*held));
	if (!held)
		return error_no_memory(err, NULL);
	for (next_one = argv; *next_one && strcmp(*next_one, "--") != 0;) {
		struct typed typed = { 0 };
		char **from = next_one;
		struct warder_error ignored;

		if (!is_flag(*next_one)) {
			held[words++] = *next_one++;
			continue;
		}
		if (next(command, &next_one, &typed, &ignored) == 0 && typed.flag->two)
			next_one++;
		while (from < next_one)
			argv[at++] = *from++;
	}
	if (*next_one) /* "--": it stays between the flags and the words */
		memmove(argv + at + 1 + words, next_one + 1,
			(size_t)(argv + count - next_one - 1) * sizeof(*argv));
	if (*next_one)
		argv[at++] = (char *)"--";
	memcpy(argv + at, held, words * sizeof(*argv));
	free(held);
	return 0;
}

/* What a repeatable flag has just added to the policy. */
static void note_row(struct args *args, const struct typed *typed)
{
	const struct flag *flag = typed->flag;
	const char *path = flag->sets_any ? typed->value : flag->path;

	if (path && !strchr(typed->value, '=') && strchr(path, ',')) /* --env NAME gives the second field */
		path = strchr(path, ',') + 2;
	if (flag->many && path && flag_changes_policy(flag))
		given_add_row(&args->given, flag, typed->name, typed->value, path,
			      policy_list_length(&args->policy->policy, path, strcspn(path, "=,")));
}

/* The first argument that is no flag ends the flags, and so does "--". */
static int walk(enum flag_command command, char **argv, struct args *args, bool changing,
		struct warder_error *err)
{
	while (*argv && is_flag(*argv)) {
		struct typed typed = { 0 };

		if (strcmp(*argv, "--") == 0) {
			argv++;
			break;
		}
		if (next(command, &argv, &typed, err) != 0)
			return -1;
		args->typed[typed.flag - flag_at(0)] = true;
		if (apply(args, &typed, typed.value, changing, err) != 0 ||
		    (!changing &&
		     given_add(&args->given, GIVEN_LINE, typed.flag, typed.name, typed.value, err) < 0) ||
		    (typed.flag->two && apply(args, &typed, *argv++, changing, err) != 0))
			return -1;
		if (changing)
			note_row(args, &typed);
	}
	args->rest = argv;
	return 0;
}

/* A result keeps what a terminal shows only as long as somebody looks at it; and a terminal is an input. */
int args_check_terminal(const struct args *args, struct warder_error *err)
{
	const char *other = args->json                 ? "--json"
			    : args->no_input           ? "-n (--no-input)"
			    : args->session.background ? "--background"
						       : NULL;

	if (!args->terminal || args->help)
		return 0;
	if (other)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--terminal",
				 "-t (--terminal) does not go with %s; give one of them", other);
	if (!isatty(STDIN_FILENO) && !args->execution.detach)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--terminal",
				 "-t (--terminal) needs a terminal on standard input, which is none; "
				 "leave -t out, or run it under script(1)");
	return 0;
}

/* What an execution that outlives this process cannot be given, and what is for such an execution alone. */
static int check_detach(const struct args *args, struct warder_error *err)
{
	const struct {
		const char *flag;
		bool given;
	} alone[] = {
		{ "--receipt", args->receipt },
		{ "--changes", args->changes.directory },
		{ "--dry-run", args->changes.dry_run },
		{ "--artifacts", args->code.artifacts },
		{ "--json", args->json },
	}, with[] = {
		{ "--interactive", args->execution.input },
		{ "--keep", args->execution.keep_us },
		{ "--log", args->execution.log },
	};

	for (size_t i = 0; args->execution.detach && i < ARRAY_LENGTH(alone); i++)
		if (alone[i].given)
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, alone[i].flag,
					 "%s does not go with --detach; \"warder wait --json ID\" prints the "
					 "result with its receipt",
					 alone[i].flag);
	if (args->execution.detach && args->functions.count)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--function-command",
				 "--function-command does not go with --detach: this command answers the "
				 "calls, but ends before the program does; leave out one of the two");
	for (size_t i = 0; !args->execution.detach && i < ARRAY_LENGTH(with); i++)
		if (with[i].given)
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, with[i].flag, "%s needs --detach",
					 with[i].flag);
	return 0;
}

/* A flag that has no effect without another one, or that contradicts one. */
static int check_together(const struct args *args, struct warder_error *err)
{
	if (!args->help && check_detach(args, err) != 0)
		return -1;
	if (args_check_terminal(args, err) != 0)
		return -1;
	if (!args->help && args->code.artifact_bytes && !spool_is_meant(args->code.artifacts))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--max-artifact",
				 "--max-artifact needs --artifacts store:");
	if (args->help || args->code.collect.count == 0 || args->json || args->code.artifacts)
		return 0;
	return error_set(
	    err, WARDER_ERROR_INVALID_REQUEST, "--collect",
	    "--collect needs --json, whose result shows the files, or --artifacts, which says where they go");
}

/* Parse the words alone, or behind the flags of a file. */
static int parse(enum flag_command command, char **argv, struct config *config, struct args *ret,
		 struct warder_error *err)
{
	memset(ret, 0, sizeof(*ret));
	ret->grace_us = GRACE_US;
	ret->config = config;
	return walk_config(ret, false, err) == 0 && walk(command, argv, ret, false, err) == 0 ? 0 : -1;
}

int args_parse(enum flag_command command, char **argv, struct args *ret, struct warder_error *err)
{
	struct config *config = NULL;

	memset(ret, 0, sizeof(*ret));
	if (!(command & WORDS_END_FLAGS) && put_flags_first(command, argv, err) != 0)
		return -1;
	if (parse(command, argv, NULL, ret, err) == 0 &&
	    (ret->help || ret->no_config || config_load(command, &ret->given, &config, err) == 0)) {
		if (config && ret->base_is_file)
			config_leave_policy(config);
		if ((!config || parse(command, argv, config, ret, err) == 0) && check_together(ret, err) == 0)
			return 0;
	}
	config_blame_field(config, err);
	config_free(config);
	ret->config = NULL;
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

int args_load_ceiling(struct args *args, struct warder_error *err)
{
	const char *path = args->ceiling_path ? args->ceiling_path : CEILING_PATH;

	if (policy_load(path, true, &args->ceiling, err) == 0)
		return 0;
	if (!args->ceiling_path && err->sys_errno == ENOENT)
		return 0;
	error_context(err, "ceiling");
	return config_blame_flag(args->config, "--ceiling", err);
}

/* A document may call anything by the name of a language that is allowed. */
static int check_document(const struct args *args, struct warder_error *err)
{
	if (!args->code.languages || !args->ceiling || args->ceiling->policy.languages.any)
		return 0;
	return error_set(err, WARDER_ERROR_REJECTED, "--languages",
			 "the operator allows certain languages, and a document may give their names to "
			 "others; leave it out, or have its languages put into /etc/warder/languages.json");
}

static int check_languages(const struct args *args, struct warder_error *err)
{
	const char *path = code_languages_path(args->code.languages);

	if (languages_check_by(path, &args->policy->policy, err) != 0)
		return -1;
	return args->ceiling && languages_check_by(path, &args->ceiling->policy, err) != 0
		   ? error_context(err, "ceiling")
		   : 0;
}

/* Commands that run something for the user. */
#define CHOOSES_BACKEND                                                                                      \
	(FLAG_RUN | FLAG_CODE | FLAG_TOOL | FLAG_JUDGE | FLAG_BLOCKS | FLAG_SESSION_START | FLAG_MCP)

/* What -t asks of a policy, where the document and the flags behind it do not say otherwise. */
static int load_terminal(struct args *args, struct warder_error *err)
{
	if (!args->terminal || args->session.runs)
		return 0;
	if (!args->base_is_file && warder_policy_set(args->policy, "limits.wallTime", "unlimited", err) != 0)
		return -1;
	return args->policy->policy.devices.terminals == 0
		   ? warder_policy_set(args->policy, "devices.terminals", "1", err)
		   : 0;
}

int args_pass_term(struct args *args, struct warder_error *err)
{
	const struct policy *policy = &args->policy->policy;
	const char *type = getenv("TERM");

	if (!args->terminal || !type || !*type ||
	    (args->ceiling && !policy_grants_variable(&args->ceiling->policy, "TERM", type)))
		return 0;
	for (size_t i = 0; i < policy->environment.set_count; i++) {
		if (strcmp(policy->environment.set[i].name, "TERM") == 0)
			return 0;
	}
	return warder_policy_set(args->policy, "environment.set.TERM", type, err);
}

static char *const *provide(void *context, struct warder_error *err)
{
	struct args *args = context;
	struct warder_error skipped = { 0 };

	if (!args->env_rows && env_file_read(args->env_from, &args->env_rows, &skipped, err) != 0)
		return NULL;
	if (skipped.code && !args->env_told)
		term_complain("--env-from %s: %s", args->env_from, skipped.text);
	return args->env_rows;
}

int args_provide(struct args *args, struct warder_error *err)
{
	struct warder_error warning = { 0 };
	const int provided =
	    args->env_from ? warder_policy_provide(args->policy, provide, args, &warning) : 0;

	if (provided < 0)
		*err = warning;
	if (provided > 0 && !args->env_told)
		term_complain("--env-from %s: %s", args->env_from, warning.text);
	args->env_told = true;
	return provided < 0 ? -1 : 0;
}

int args_load(enum flag_command command, char **argv, struct args *args, struct warder_error *err)
{
	const char *parent = getenv("WARDER_CGROUP_PARENT"), *backend = getenv("WARDER_BACKEND");

	if (!args->backend && (command & CHOOSES_BACKEND) && backend && *backend)
		args->backend = backend;
	if (args->backend == backend && backend && strcmp(backend, BACKEND_AUTO) != 0 &&
	    backend_check_name(backend, err) != 0)
		return error_context(err, "WARDER_BACKEND");
	if (args->config && args->backend && strcmp(args->backend, BACKEND_AUTO) != 0 &&
	    !strchr(args->backend, ',') && backend_check_name(args->backend, err) != 0)
		return config_blame_flag(args->config, "--backend", err);
	if (!args->cgroup_parent && parent && *parent)
		args->cgroup_parent = parent;
	if (policy_load(args->base ? args->base : DEFAULT_PRESET, args->base_is_file, &args->policy, err) !=
	    0) {
		if (args->base_is_file && err->sys_errno)
			error_context(err, "--policy");
		return config_blame_flag(args->config, args->base_is_file ? "--policy" : "--preset", err);
	}
	for (const char *const *pair = args->defaults; !args->base && pair && *pair; pair += 2) {
		if (warder_policy_set(args->policy, pair[0], pair[1], err) != 0)
			return -1;
	}
	if (load_terminal(args, err) != 0 || args_load_ceiling(args, err) != 0 ||
	    check_document(args, err) != 0 || args_change(command, argv, args, err) != 0)
		return -1;
	return check_languages(args, err);
}

/* A mode of the network that comes behind --allow, --deny or --publish takes their rows away; the other way round it refuses them. */
static int check_network(const struct args *args, struct warder_error *err)
{
	const struct policy *policy = &args->policy->policy;
	const struct flag *flag;

	for (size_t i = 0; (flag = flag_at(i)); i++) {
		const bool published = flag->path && strcmp(flag->path, "network.publish") == 0;
		const bool listed = flag->path && (strcmp(flag->path, "network.allow") == 0 ||
						   strcmp(flag->path, "network.deny") == 0);

		if (args->typed[i] && ((published && !policy_network_publishes(policy)) ||
				       (listed && !policy_network_lists(policy))))
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, "network.mode",
					 "network.mode: \"%s\" does not go with %s; give one of the two",
					 policy_network_mode_name(policy->network.mode), flag->name);
	}
	return 0;
}

int args_change(enum flag_command command, char **argv, struct args *args, struct warder_error *err)
{
	if (walk_config(args, true, err) != 0 || walk(command, argv, args, true, err) != 0)
		return -1;
	return check_network(args, err);
}

void args_unload(struct args *args)
{
	warder_policy_free(args->policy);
	warder_policy_free(args->ceiling);
	args->policy = args->ceiling = NULL;
}

void args_done(struct args *args)
{
	args_unload(args);
	config_free(args->config);
	args->config = NULL;
	env_file_free(args->env_rows);
	args->env_rows = NULL;
}

unsigned args_parallel(const struct args *args)
{
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (args->tool.parallel)
		return args->tool.parallel;
	return cpus < 1 ? 1 : cpus > WORKERS_MAX ? WORKERS_MAX : (unsigned)cpus;
}

struct warder_options args_options(const struct args *args, bool single_use)
{
	return (struct warder_options){
		.size = sizeof(struct warder_options),
		.ceiling = args->ceiling,
		.cgroup_parent = args->cgroup_parent,
		.backend = args->backend,
		.backends = args->backends,
		.single_use = single_use,
	};
}
