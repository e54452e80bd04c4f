/*
 * checkpoint: states of threads, put and brought back.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "policy/policy.h"
#include "runtime/cli/term.h"
#include "store/checkpoints/checkpoints.h"
#include "store/cli/command.h"
#include "store/cli/show.h"

#define VALUE_SHOWN 48 /* characters of a value in a comparison */

static int with_checkpoints(int (*act)(struct warder_checkpoints *checkpoints, const struct options *options,
				       struct warder_error *err),
			    const struct options *options, struct warder_error *err)
{
	struct warder_checkpoints *checkpoints;
	int status;

	if (warder_checkpoints_open(option(options, "--store"), &checkpoints, err) != 0)
		return -1;
	status = act(checkpoints, options, err);
	warder_checkpoints_free(checkpoints);
	return status;
}

/* The thread and the checkpoint out of one or two operands: ID, or THREAD and ID or @VERSION. */
static const char *thread_of(const struct options *options)
{
	return options->operand_count > 1 ? options->operands[0] : NULL;
}

static const char *which_of(const struct options *options)
{
	return options->operands[options->operand_count - 1];
}

/* ---- one ---- */

/* What was made: its id, or as JSON. */
static int print_made(struct warder_checkpoint *made, const struct options *options, struct warder_error *err)
{
	int status = 0;

	if (option_given(options, "--json"))
		status = term_put(warder_checkpoint_json(made), err);
	else
		puts(made->id);
	warder_checkpoint_free(made);
	return status;
}

static int put(struct warder_checkpoints *checkpoints, const struct options *options,
	       struct warder_error *err)
{
	const struct warder_checkpoint_options how = { .size = sizeof(how),
						       .id = option(options, "--id"),
						       .parent = option(options, "--parent"),
						       .metadata = option(options, "--metadata") };
	const char *file = options->operand_count > 1 ? options->operands[1] : "-";
	struct warder_checkpoint *made = NULL;
	char *state = NULL;
	size_t len = 0;
	int status;

	if (file_read_most(file, WARDER_CHECKPOINT_STATE_MAX, &state, &len, err) != 0)
		return -1;
	status = warder_checkpoint_put(checkpoints, options->operands[0], state, len, &how, &made, err);
	free(state);
	return status == 0 ? print_made(made, options, err) : -1;
}

static int print_whole(struct warder_checkpoint *found, const struct options *options,
		       struct warder_error *err)
{
	int status = 0;

	if (option_given(options, "--state"))
		fwrite(found->state, 1, found->state_len, stdout);
	else
		status = term_put(warder_checkpoint_json(found), err);
	warder_checkpoint_free(found);
	return status;
}

static int get(struct warder_checkpoints *checkpoints, const struct options *options,
	       struct warder_error *err)
{
	struct warder_checkpoint *found = NULL;

	if (warder_checkpoint_get(checkpoints, thread_of(options), which_of(options), &found, err) != 0)
		return -1;
	return print_whole(found, options, err);
}

static int latest(struct warder_checkpoints *checkpoints, const struct options *options,
		  struct warder_error *err)
{
	struct warder_checkpoint *found = NULL;

	if (warder_checkpoint_get(checkpoints, options->operands[0], NULL, &found, err) != 0)
		return -1;
	return print_whole(found, options, err);
}

static int delete_one(struct warder_checkpoints *checkpoints, const struct options *options,
		      struct warder_error *err)
{
	return warder_checkpoint_delete(checkpoints, thread_of(options), which_of(options), err);
}

static int rollback(struct warder_checkpoints *checkpoints, const struct options *options,
		    struct warder_error *err)
{
	struct warder_checkpoint *made = NULL;

	if (warder_checkpoint_rollback(checkpoints, options->operands[0], options->operands[1], &made, err) !=
	    0)
		return -1;
	return print_made(made, options, err);
}

/* ---- many ---- */

static int print_list_json(struct warder_checkpoint **list, size_t count, struct warder_error *err)
{
	putchar('[');
	for (size_t i = 0; i < count; i++) {
		char *json = warder_checkpoint_json(list[i]);

		if (!json)
			return error_no_memory(err, NULL);
		printf("%s%s", i ? "," : "", json);
		free(json);
	}
	puts("]");
	return 0;
}

static void print_list_table(struct warder_checkpoint **list, size_t count)
{
	char time[32], size[32], row[64];

	if (count == 0)
		return;
	term_title("version  created               size      id                             metadata");
	for (size_t i = 0; i < count; i++) {
		snprintf(row, sizeof(row), "%7" PRIu64 "  %s  %-8s  ", list[i]->version,
			 show_time(list[i]->created_ms, time, sizeof(time)),
			 policy_format_size(list[i]->state_len, size, sizeof(size)));
		fputs(row, stdout);
		show_cell(list[i]->id, 29, 0);
		fputs("  ", stdout);
		show_cell(list[i]->metadata, 0, VALUE_SHOWN);
		putchar('\n');
	}
}

static int print_list(struct warder_checkpoint **list, size_t count, const struct options *options,
		      struct warder_error *err)
{
	int status = 0;

	if (option_given(options, "--json"))
		status = print_list_json(list, count, err);
	else
		print_list_table(list, count);
	warder_checkpoint_list_free(list, count);
	return status;
}

static int list_thread(struct warder_checkpoints *checkpoints, const struct options *options,
		       struct warder_error *err)
{
	struct warder_checkpoint_query query = { .size = sizeof(query),
						 .with_state = option_given(options, "--with-state") };
	struct warder_checkpoint **list = NULL;
	long long limit, before, after;
	size_t count;

	if (option_number(options, "--limit", 1, WARDER_CHECKPOINT_LIST_MAX, 0, &limit, err) != 0 ||
	    option_number(options, "--before", 1, INT64_MAX, 0, &before, err) != 0 ||
	    option_number(options, "--after", 0, INT64_MAX, 0, &after, err) != 0 ||
	    show_parse_time(options, "--since", &query.since_ms, err) != 0 ||
	    show_parse_time(options, "--until", &query.until_ms, err) != 0)
		return -1;
	query.limit = (uint64_t)limit;
	query.before_version = (uint64_t)before;
	query.after_version = (uint64_t)after;
	if (warder_checkpoint_list(checkpoints, options->operands[0], &query, &list, &count, err) != 0)
		return -1;
	return print_list(list, count, options, err);
}

static int history(struct warder_checkpoints *checkpoints, const struct options *options,
		   struct warder_error *err)
{
	struct warder_checkpoint **list = NULL;
	long long limit;
	size_t count;

	if (option_number(options, "--limit", 1, WARDER_CHECKPOINT_LIST_MAX, 0, &limit, err) != 0 ||
	    warder_checkpoint_history(checkpoints, options->operands[0], options->operands[1],
				      (uint64_t)limit, &list, &count, err) != 0)
		return -1;
	return print_list(list, count, options, err);
}

/* ---- comparison ---- */

static void print_value(const struct json_value *value)
{
	char *text;

	text = json_text(value);
	if (text)
		show_cell(text, 0, VALUE_SHOWN);
	free(text);
}

static void print_change(const struct json_value *change)
{
	const struct json_value *old = json_member(change, "old"), *new = json_member(change, "new");
	const char *path = json_member(change, "path")->string;

	term_print(!old ? TERM_GOOD : !new ? TERM_BAD : TERM_WARN, 2, !old ? "+" : !new ? "-" : "~");
	show_cell(*path ? path : "(the whole state)", 0, 0);
	fputs("  ", stdout);
	if (old)
		print_value(old);
	if (old && new)
		fputs(" -> ", stdout);
	if (new)
		print_value(new);
	putchar('\n');
}

/* 0: nothing differs; 1: something does; -1 with *err. */
static int print_comparison(const char *json, bool as_json, struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = SIZE_MAX, .max_depth = 96 };
	struct json_value *value = NULL;
	int status;

	if (json_parse(json, strlen(json), "comparison", &limits, &value, err) != 0)
		return -1;
	status = !json_member(value, "same")->boolean;
	if (as_json)
		puts(json);
	for (const struct json_value *change = json_member(value, "changes")->child; change && !as_json;
	     change = change->next)
		print_change(change);
	if (json_member(value, "truncated")->boolean && !as_json)
		puts("... and more");
	json_free(value);
	return status;
}

static int compare(struct warder_checkpoints *checkpoints, const struct options *options,
		   struct warder_error *err)
{
	const size_t last = options->operand_count - 1;
	const char *thread = last == 2 ? options->operands[0] : NULL;
	char *json = NULL;
	int status;

	if (warder_checkpoint_compare(checkpoints, thread, options->operands[last - 1],
				      options->operands[last], &json, err) != 0)
		return -1;
	status = print_comparison(json, option_given(options, "--json"), err);
	free(json);
	return status;
}

/* ---- threads ---- */

static void write_thread(struct json_writer *w, const struct warder_thread *thread)
{
	json_begin_object(w);
	json_key_string(w, "thread", thread->name);
	json_key_uint(w, "checkpoints", thread->checkpoints);
	json_key_uint(w, "stateBytes", thread->bytes);
	json_key_uint(w, "version", thread->version);
	json_key(w, "updatedAt");
	json_int(w, thread->updated_ms);
	json_end_object(w);
}

static int print_threads_json(const struct warder_thread *list, size_t count, struct warder_error *err)
{
	struct json_writer w = { 0 };

	json_begin_array(&w);
	for (size_t i = 0; i < count; i++)
		write_thread(&w, &list[i]);
	json_end_array(&w);
	return term_put(json_take(&w), err);
}

static void print_threads_table(const struct warder_thread *list, size_t count)
{
	char time[32], size[32];

	if (count == 0)
		return;
	term_title("checkpoints  version  size      updated               thread");
	for (size_t i = 0; i < count; i++) {
		printf("%11" PRIu64 "  %7" PRIu64 "  %-8s  %s  ", list[i].checkpoints, list[i].version,
		       policy_format_size(list[i].bytes, size, sizeof(size)),
		       show_time(list[i].updated_ms, time, sizeof(time)));
		show_cell(list[i].name, 0, 0);
		putchar('\n');
	}
}

static int threads(struct warder_checkpoints *checkpoints, const struct options *options,
		   struct warder_error *err)
{
	struct warder_thread *list = NULL;
	size_t count;
	int status = 0;

	if (warder_thread_list(checkpoints, &list, &count, err) != 0)
		return -1;
	if (option_given(options, "--json"))
		status = print_threads_json(list, count, err);
	else
		print_threads_table(list, count);
	free(list);
	return status;
}

static int delete_thread(struct warder_checkpoints *checkpoints, const struct options *options,
			 struct warder_error *err)
{
	uint64_t removed;

	if (warder_thread_delete(checkpoints, options->operands[0], &removed, err) != 0)
		return -1;
	printf(option_given(options, "--json") ? "{\"removed\":%" PRIu64 "}\n" : "%" PRIu64 " removed\n",
	       removed);
	return 0;
}

/* ---- damage ---- */

static int verify(struct warder_checkpoints *checkpoints, const struct options *options,
		  struct warder_error *err)
{
	uint64_t count;

	if (warder_checkpoints_verify(checkpoints, &count, err) != 0)
		return -1;
	printf(option_given(options, "--json") ? "{\"verified\":%" PRIu64 "}\n"
					       : "%" PRIu64 " as they were put\n",
	       count);
	return 0;
}

#define EXIT_LOST 1 /* of rescue: it is not all */

static int rescue(struct warder_checkpoints *checkpoints, const struct options *options,
		  struct warder_error *err)
{
	const char *to = options->operands[0];
	char here[PATH_MAX] = "", store[2 * PATH_MAX];
	uint64_t saved, lost;

	if (to[0] != '/' && !getcwd(here, sizeof(here)))
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "checkpoints", errno,
				       "the working directory has no path");
	snprintf(store, sizeof(store), "%s%s%s", here, *here ? "/" : "", to);
	if (warder_checkpoints_rescue(checkpoints, store, &saved, &lost, err) != 0)
		return -1;
	printf(option_given(options, "--json") ? "{\"saved\":%" PRIu64 ",\"damaged\":%" PRIu64 "}\n"
					       : "%" PRIu64 " saved, %" PRIu64 " damaged\n",
	       saved, lost);
	return lost ? EXIT_LOST : 0;
}

/* ---- limits ---- */

static int print_limits(const struct warder_checkpoint_limits *limits, bool as_json, struct warder_error *err)
{
	char time[32], size[32];
	struct json_writer w = { 0 };

	if (!as_json) {
		printf("checkpoints of a thread  ");
		printf(limits->per_thread ? "%" PRIu64 "\n" : "no limit\n", limits->per_thread);
		printf("age                      %s\n",
		       limits->max_age_ms ? policy_format_time(limits->max_age_ms * 1000, time, sizeof(time))
					  : "no limit");
		printf("size of the file         %s\n",
		       limits->max_bytes ? policy_format_size(limits->max_bytes, size, sizeof(size))
					 : "no limit");
		return 0;
	}
	json_begin_object(&w);
	json_key_uint(&w, "perThread", limits->per_thread);
	json_key_uint(&w, "maxAgeMs", limits->max_age_ms);
	json_key_uint(&w, "maxBytes", limits->max_bytes);
	json_end_object(&w);
	return term_put(json_take(&w), err);
}

/* Whether a flag was given, with its value in *ret. -1 with *err. */
static int take_limit(const struct options *options, const char *flag,
		      int (*parse)(const char *text, uint64_t *ret, struct warder_error *err), uint64_t unit,
		      uint64_t *ret, struct warder_error *err)
{
	const char *text = option(options, flag);
	uint64_t value;

	if (!text)
		return 0;
	if (parse(text, &value, err) != 0)
		return error_context(err, "%s", flag);
	if (value > 0 && value < unit)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, flag,
				 "%.40s is too little; 0 means no limit", text);
	*ret = value / unit;
	return 1;
}

static int parse_count(const char *text, uint64_t *ret, struct warder_error *err)
{
	char *end = NULL;

	*ret = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
	if (end && !*end && *ret <= INT32_MAX)
		return 0;
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "\"%.40s\" is not a number", text);
}

static int limits(struct warder_checkpoints *checkpoints, const struct options *options,
		  struct warder_error *err)
{
	struct warder_checkpoint_limits now = { .size = sizeof(now) };
	int per_thread, age, bytes;

	if (warder_checkpoints_limits(checkpoints, &now, err) != 0)
		return -1;
	per_thread = take_limit(options, "--per-thread", parse_count, 1, &now.per_thread, err);
	if (per_thread < 0)
		return -1;
	age = take_limit(options, "--max-age", policy_parse_time, 1000, &now.max_age_ms, err);
	if (age < 0)
		return -1;
	bytes = take_limit(options, "--max-bytes", policy_parse_size, 1, &now.max_bytes, err);
	if (bytes < 0)
		return -1;
	if ((per_thread || age || bytes) && warder_checkpoints_set_limits(checkpoints, &now, NULL, err) != 0)
		return -1;
	return print_limits(&now, option_given(options, "--json"), err);
}

/* ---- commands ---- */

#define COMMAND(name, action)                                                                                \
	static int name(const struct options *options, struct warder_error *err)                             \
	{                                                                                                    \
		return with_checkpoints(action, options, err);                                               \
	}

COMMAND(put_command, put)
COMMAND(get_command, get)
COMMAND(latest_command, latest)
COMMAND(list_command, list_thread)
COMMAND(history_command, history)
COMMAND(delete_command, delete_one)
COMMAND(rollback_command, rollback)
COMMAND(compare_command, compare)
COMMAND(threads_command, threads)
COMMAND(delete_thread_command, delete_thread)
COMMAND(limits_command, limits)
COMMAND(verify_command, verify)
COMMAND(rescue_command, rescue)

#define EXAMPLE_PUT "echo '{\"step\": 1}' | warder checkpoint put talk"

const struct command checkpoint_commands[] = {
	{ "checkpoint", "put", "--store --json --id --parent --metadata", "THREAD [FILE]", 1, 2,
	  "save a state as the newest one of a thread",
	  "The state is one JSON document from FILE or standard input, and is stored exactly as it is. "
	  "THREAD is "
	  "any\n"
	  "text. Prints the id of the checkpoint. If the thread has more checkpoints than the store allows "
	  "(see\n"
	  "\"warder checkpoint limits\"), the oldest ones are removed.\n",
	  EXAMPLE_PUT, put_command },
	{ "checkpoint", "get", "--store --json --state", "ID | THREAD (ID|@VERSION)", 1, 2,
	  "print a checkpoint as JSON, or its state", NULL, EXAMPLE_PUT " | xargs warder checkpoint get",
	  get_command, true },
	{ "checkpoint", "latest", "--store --json --state", "THREAD", 1, 1,
	  "print the newest checkpoint of a thread", NULL,
	  EXAMPLE_PUT " && warder checkpoint latest talk --state", latest_command, true },
	{ "checkpoint", "list", "--store --json --limit --since --until --before --after --with-state",
	  "THREAD", 1, 1, "list the checkpoints of a thread, newest first",
	  "--since and --until are inclusive, --before and --after are not. For an unknown thread the list "
	  "is empty.\n",
	  "warder checkpoint list talk --limit 5", list_command, true },
	{ "checkpoint", "history", "--store --json --limit", "THREAD [ID|@VERSION]", 1, 2,
	  "list a checkpoint (default: the newest) and its ancestors", NULL,
	  EXAMPLE_PUT " && warder checkpoint history talk", history_command, true },
	{ "checkpoint", "rollback", "--store --json", "THREAD ID|@VERSION", 2, 2,
	  "go back: save the state of an older checkpoint as the newest one",
	  "The checkpoints in between stay. The metadata of the new checkpoint names its source as\n"
	  "\"rollbackFrom\". Prints the id of the new checkpoint.\n",
	  NULL, rollback_command, true },
	{ "checkpoint", "compare", "--store --json", "ID ID | THREAD (ID|@VERSION) (ID|@VERSION)", 2, 3,
	  "print the differences between two states",
	  "Exit status: 0 if the states are the same, 1 if they differ, 125 if Warder refused or failed.\n",
	  "warder checkpoint compare talk @1 @2", compare_command, true },
	{ "checkpoint", "delete", "--store --json", "ID | THREAD (ID|@VERSION)", 1, 2, "remove a checkpoint",
	  NULL, NULL, delete_command, true },
	{ "checkpoint", "threads", "--store --json", NULL, 0, 0, "list the threads", NULL,
	  "warder checkpoint threads", threads_command, true },
	{ "checkpoint", "delete-thread", "--store --json", "THREAD", 1, 1,
	  "remove a thread with all its checkpoints", NULL, "warder checkpoint delete-thread talk",
	  delete_thread_command, true },
	{ "checkpoint", "verify", "--store --json", NULL, 0, 0, "compare every checkpoint with its digests",
	  "Every read also verifies its checkpoint.\n", "warder checkpoint verify", verify_command, true },
	{ "checkpoint", "rescue", "--store --json", "DIR", 1, 1,
	  "copy the good checkpoints of a damaged store to a new one",
	  "DIR is the directory of the new store; --store names the damaged one. Copies ids, versions, "
	  "parents,\n"
	  "times and limits, too. Exit status: 0 if every checkpoint was copied, 1 if damaged ones were left "
	  "out, 125\nif refused or failed.\n",
	  NULL, rescue_command, true },
	{ "checkpoint", "limits", "--store --json --per-thread --max-age --max-bytes", NULL, 0, 0,
	  "show or set the limits of the store, for all its users",
	  "Without a flag for a limit, prints the limits. A limit that you do not set stays as it is. 0 "
	  "means "
	  "no\n"
	  "limit. Checkpoints beyond a new limit are removed at once.\n",
	  "warder checkpoint limits", limits_command },
	{ 0 },
};
