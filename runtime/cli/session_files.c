/*
 * session_files: the words read, write, list and cp of `warder session`.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/term.h"
#include "runtime/session/session.h"

struct task {
	struct args args;
	struct session_files *files;
	uint64_t bytes_max;
	const char *path; /* inside */
	const char *host; /* of cp, as the two below */
	bool in;
	size_t omitted;
};

struct word {
	size_t least, most; /* words behind the name */
	const char *usage;
	int (*prepare)(struct task *task, const char **name, struct warder_error *err); /* or NULL */
	int (*work)(struct task *task, struct warder_error *err);
};

static int check_words(const struct word *word, const struct args *args, struct warder_error *err)
{
	size_t count = 0;

	while (args->rest[count])
		count++;
	if (count >= word->least && count <= word->most)
		return 0;
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, "path", "%s: warder session %s",
			 count < word->least ? "a path is missing" : "there is a word too many", word->usage);
}

static int open_files(const char *name, struct session_files **ret, struct warder_error *err)
{
	struct warder_session *session = NULL;
	int status = warder_session_open(name, &session, err);

	if (status == 0)
		status = session_files_open(session, ret, err);
	warder_session_free(session);
	return status;
}

static int prepare(const struct word *word, struct task *task, const char **name, struct warder_error *err)
{
	const struct args *args = &task->args;

	if (check_words(word, args, err) != 0)
		return -1;
	task->bytes_max = args->session.bytes_max ? args->session.bytes_max : SESSION_FILES_BYTES;
	task->path = args->rest[0] ? args->rest[0] : ".";
	return word->prepare ? word->prepare(task, name, err) : 0;
}

/* Parse what is behind the name, then do the work. */
static int run(const struct word *word, const struct args *outer, const char *name, char **flags)
{
	struct task task = { 0 };
	struct warder_error err = { 0 };
	int status = args_parse(FLAG_SESSION_FILES, flags, &task.args, &err);

	task.args.json |= outer->json;
	if (status == 0)
		status = prepare(word, &task, &name, &err);
	if (status == 0)
		status = open_files(name, &task.files, &err);
	if (status == 0)
		status = word->work(&task, &err);
	session_files_free(task.files);
	if (status != 0)
		status = command_refuse(&task.args, &err, EXIT_REFUSED);
	else if (task.omitted)
		status = EXIT_REFUSED;
	args_done(&task.args);
	return status;
}

/* ---- read and write ---- */

static int read_file(struct task *task, struct warder_error *err)
{
	return session_files_read(task->files, task->path, task->bytes_max, STDOUT_FILENO, err);
}

int session_read_word(struct args *outer, const char *name, char **flags)
{
	static const struct word word = { 1, 1, "read NAME PATH", NULL, read_file };

	return run(&word, outer, name, flags);
}

static int write_file(struct task *task, struct warder_error *err)
{
	return session_files_write(task->files, task->path, task->bytes_max, STDIN_FILENO, err);
}

int session_write_word(struct args *outer, const char *name, char **flags)
{
	static const struct word word = { 1, 1, "write NAME PATH", NULL, write_file };

	return run(&word, outer, name, flags);
}

/* ---- list ---- */

static void print_entry(const struct json_value *entry)
{
	const struct json_value *size = json_member(entry, "sizeBytes");
	const char *target = json_member_text(entry, "target", "");
	char name[1024], to[1024];

	printf("%-9s %s %12llu %s", json_member_text(entry, "type", ""), json_member_text(entry, "mode", ""),
	       (unsigned long long)(size ? size->uint : 0),
	       json_quote(json_member_text(entry, "name", ""), name, sizeof(name)));
	printf("%s%s\n", *target ? " -> " : "", *target ? json_quote(target, to, sizeof(to)) : "");
}

int session_print_files(const char *json, struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = SIZE_MAX };
	struct json_value *document = NULL;
	const int status = json_parse(json, strlen(json), "list", &limits, &document, err);

	for (const struct json_value *entry = document ? document->child : NULL; entry; entry = entry->next)
		print_entry(entry);
	json_free(document);
	return status;
}

static int list_files(struct task *task, struct warder_error *err)
{
	char *text = NULL;
	int status = session_files_list(task->files, task->path, &text, err);

	if (status == 0 && task->args.json)
		puts(text);
	else if (status == 0)
		status = session_print_files(text, err);
	free(text);
	return status;
}

int session_list_word(struct args *outer, const char *name, char **flags)
{
	static const struct word word = { 0, 1, "list NAME [PATH]", NULL, list_files };

	return run(&word, outer, name, flags);
}

/* ---- cp ---- */

/* The colon of NAME:PATH. NULL: a path of the host, as is a word with a "/" before its colon. */
static const char *find_colon(const char *word)
{
	const char *colon = strchr(word, ':');

	return colon && colon > word && !memchr(word, '/', (size_t)(colon - word)) ? colon : NULL;
}

int session_cp_places(const char *from, const char *to, struct session_cp_places *ret,
		      struct warder_error *err)
{
	const char *from_colon = find_colon(from), *to_colon = find_colon(to);
	const char *word = to_colon ? to : from, *colon = to_colon ? to_colon : from_colon;

	if (!from_colon == !to_colon)
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, "path",
		    "%s: one of %.80s and %.80s has to be NAME:PATH, and the other a path of the host",
		    from_colon ? "two sessions are named" : "no session is named", from, to);
	ret->in = to_colon != NULL;
	ret->host = ret->in ? from : to;
	ret->path = colon[1] ? colon + 1 : ".";
	if (strcmp(ret->host, "-") == 0)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "path",
				 "cp knows no archives; \"warder session read\" and \"write\" use the "
				 "standard streams");
	snprintf(ret->session, sizeof(ret->session), "%.*s", (int)(colon - word), word);
	return 0;
}

static int take_places(struct task *task, const char **name, struct warder_error *err)
{
	static struct session_cp_places places;

	if (session_cp_places(*name, task->args.rest[0], &places, err) < 0)
		return -1;
	task->in = places.in;
	task->host = places.host;
	task->path = places.path;
	*name = places.session;
	return 0;
}

void session_say_omitted(const char *path, const char *why)
{
	char shown[200];

	term_complain("%s is not copied: %s", json_quote(path, shown, sizeof(shown)), why);
}

static void on_omitted(void *context, const char *path, const char *why)
{
	struct task *task = context;

	task->omitted++;
	session_say_omitted(path, why);
}

static int copy_files(struct task *task, struct warder_error *err)
{
	const struct session_files_copy how = { .bytes_max = task->bytes_max,
						.existing = task->args.session.existing,
						.on_omitted = on_omitted,
						.context = task };

	return session_files_copy(task->files, task->in, task->host, task->path, &how, err);
}

int session_cp_word(struct args *outer, const char *name, char **flags)
{
	static const struct word word = { 1, 1, "cp NAME:PATH PATH, or cp PATH NAME:PATH", take_places,
					  copy_files };

	return run(&word, outer, name, flags);
}
