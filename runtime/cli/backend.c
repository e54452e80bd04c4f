/*
 * backend: who can run a program, and what is known of them; and the request to a model whose provider does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "backends/remote.h"
#include "base/fd.h"
#include "base/file.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/term.h"
#include "runtime/code/code.h"
#include "runtime/library/declare.h"
#include "runtime/library/preparation.h"

#define REQUEST_MOST ((size_t)32 << 20)

static enum term_style style_of(enum describe_state state)
{
	return state == DESCRIBE_AVAILABLE ? TERM_GOOD : state == DESCRIBE_OFF ? TERM_DIM : TERM_WARN;
}

/* ---- list ---- */

static void print_row(const struct description *row)
{
	char place[24] = "-";

	if (row->place)
		snprintf(place, sizeof(place), "%zu", row->place);
	term_print(TERM_TITLE, 10, row->backend->name);
	term_print(TERM_PLAIN, 20, policy_isolation_name(row->backend->isolation));
	term_print(TERM_PLAIN, 6, place);
	term_print(style_of(row->state), 13, describe_state_name(row->state));
	puts(row->backend->summary);
}

static int list(const struct describe *describe, bool json, struct warder_error *err)
{
	struct description *row = calloc(1, sizeof(*row));
	struct json_writer w = { 0 };

	if (!row)
		return error_no_memory(err, NULL);
	json_begin_array(&w);
	if (!json) {
		term_print(TERM_TITLE, 10, "backend");
		term_print(TERM_TITLE, 20, "isolation");
		term_print(TERM_TITLE, 6, "auto");
		term_print(TERM_TITLE, 0, "state");
		putchar('\n');
	}
	for (size_t i = 0; backend_at(i); i++) {
		describe_backend(describe, backend_at(i), row);
		if (json)
			describe_write(row, &w);
		else
			print_row(row);
	}
	free(row);
	json_end_array(&w);
	if (json)
		return term_put(json_take(&w), err);
	json_writer_done(&w);
	return 0;
}

/* ---- describe ---- */

static void print_fact(const char *name, const char *text)
{
	printf("  ");
	term_print(TERM_PLAIN, 11, name);
	puts(text);
}

static void print_languages(const struct description *row)
{
	printf("  ");
	term_print(TERM_PLAIN, 11, "languages");
	for (size_t i = 0; i < row->language_count; i++)
		printf("%s%s", i ? ", " : "", row->languages[i]);
	puts(row->language_count ? "" : "none");
}

static void print_controls(const struct description *row, bool enforced)
{
	putchar('\n');
	term_title(enforced ? "Enforces" : "Refuses");
	for (int control = 0; control < POLICY_CONTROL_COUNT; control++) {
		const struct policy_capability *cell = &row->capabilities.controls[control];

		if (cell->enforced != enforced)
			continue;
		printf("  ");
		term_print(TERM_PLAIN, 31, policy_control_name((enum policy_control)control));
		puts(enforced ? cell->mechanism : cell->reason);
	}
}

static int print_whole(const struct describe *describe, const struct description *row,
		       struct warder_error *err)
{
	char place[80] = "never takes it", *model = describe_for_model(describe, row);

	if (!model)
		return error_no_memory(err, NULL);
	if (row->place)
		snprintf(place, sizeof(place), "number %zu of the order", row->place);
	term_title(row->backend->name);
	print_fact("", row->backend->summary);
	print_fact("isolation", policy_isolation_name(row->backend->isolation));
	print_fact("runs", describe_runs(row->backend));
	print_languages(row);
	print_fact("state", describe_state_name(row->state));
	if (row->why[0])
		print_fact("", row->why);
	print_fact("auto", place);
	print_controls(row, true);
	print_controls(row, false);
	putchar('\n');
	term_title("For a model");
	print_fact("", model);
	free(model);
	return 0;
}

static int describe_named(const struct describe *describe, const struct args *args, struct warder_error *err)
{
	const struct backend *backend = args->rest[1] ? backend_find(args->rest[1], err) : NULL;
	struct description *row;
	struct json_writer w = { 0 };
	int status;

	if (!args->rest[1])
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "backend",
				 "which one? warder backend describe NAME; \"warder backend list\" has them");
	row = backend ? calloc(1, sizeof(*row)) : NULL;
	if (!row)
		return backend ? error_no_memory(err, NULL) : -1;
	describe_backend(describe, backend, row);
	if (args->for_model) {
		status = term_put(describe_for_model(describe, row), err);
	} else if (args->json) {
		describe_write(row, &w);
		status = term_put(json_take(&w), err);
	} else {
		status = print_whole(describe, row, err);
	}
	free(row);
	return status;
}

static int show(const struct args *args, bool all, struct warder_error *err)
{
	struct describe describe;
	int status;

	if (args->rest[1] && args->rest[all ? 1 : 2])
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "argv",
				 "%.80s is one argument too many; flags stand before %s",
				 args->rest[all ? 1 : 2], args->rest[0]);
	if (describe_open(&args->policy->policy, args->backends, args->cgroup_parent, &describe, err) != 0)
		return -1;
	status = all ? list(&describe, args->json, err) : describe_named(&describe, args, err);
	describe_close(&describe);
	return status;
}

/* ---- declare ---- */

static int declare(const struct args *args, struct warder_error *err)
{
	const struct warder_options options = {
		.size = sizeof(options),
		.ceiling = args->ceiling,
		.cgroup_parent = args->cgroup_parent,
		.backend = args->rest[1],
		.backends = args->backends,
	};
	const char *path = args->rest[1] && args->rest[2] ? args->rest[2] : "-";
	struct backend_model_request asked = { .origin = strcmp(path, "-") == 0 ? "standard input" : path,
					       .model = args->model };
	char *text = NULL, *declared = NULL;
	int status;

	if (!args->rest[1] || (args->rest[2] && args->rest[3]))
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, "argv",
		    "warder backend declare [FLAG...] NAME [FILE]: a request to a model, or standard "
		    "input");
	if (strcmp(path, "-") == 0 && args->base && strcmp(args->base, "-") == 0)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--policy",
				 "standard input is for the request; name a file");
	if (file_read_most(path, REQUEST_MOST, &text, &asked.len, err) != 0)
		return -1;
	asked.json = text;
	status = declare_request(args->policy, &options, &asked, args->json, &declared, err);
	free(text);
	return status == 0 ? term_put(declared, err) : -1;
}

/* ---- trust ---- */

/* The document of keys with one more. Heap; NULL without memory. */
static char *with_key(const struct backend_settings *settings, const struct backend_remote *remote,
		      const char *key)
{
	struct json_writer w = { 0 };

	json_begin_object(&w);
	for (size_t i = 0; i < settings->remote_count; i++) {
		const struct backend_remote *other = &settings->remotes[i];

		if (other != remote && other->host_key[0] && !other->key_given)
			json_key_string(&w, other->name, other->host_key);
	}
	json_key_string(&w, remote->name, key);
	json_end_object(&w);
	return json_take(&w);
}

static int keep_key(const struct args *args, const struct backend_settings *settings,
		    const struct backend_remote *remote, const char *key, struct warder_error *err)
{
	char path[PATH_MAX];
	owned_fd int dir_fd = -1;
	char *text;
	int status;

	preparation_keys(args->backends, path);
	if (file_open_private_dir(path, &dir_fd, err) < 0)
		return error_context(err,
				     "the key is not kept; run this as the owner of the directory, or give "
				     "\"hostKey\" in the document");
	text = with_key(settings, remote, key);
	status = text ? file_replace(dir_fd, path, text, strlen(text), err) : error_no_memory(err, NULL);
	free(text);
	if (status < 0)
		return error_context(err, "the key is not kept");
	/* Public keys: whoever may read the document of backends may read them, too. */
	chmod(path, 0644);
	return 0;
}

static int trust(const struct args *args, struct warder_error *err)
{
	const char *name = args->rest[1];
	struct backend_settings settings = { 0 };
	const struct backend_remote *remote;
	char label[BACKEND_REMOTE_LABEL], key[REMOTE_KEY_TEXT];
	bool known;

	if (!name || args->rest[2])
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "argv",
				 "warder backend trust [FLAG...] remote:NAME");
	snprintf(label, sizeof(label), BACKEND_REMOTE_PREFIX "%.20s",
		 backend_is_remote(name) ? strchr(name, ':') + 1 : name);
	if (preparation_settings(args->backends, &settings, err) < 0)
		return -1;
	remote = backend_remote_find(&settings, label, err);
	if (!remote || backend_remote_show_key(remote, key, err) < 0)
		return -1;
	known = strcmp(remote->host_key, key) == 0;
	if (remote->host_key[0] && !known)
		return error_set(
		    err, WARDER_ERROR_REJECTED, "backend",
		    "%s shows the key %s, and %s is trusted; if the host has a new key, change %s", label,
		    key, remote->host_key,
		    remote->key_given ? "\"hostKey\" in the document" : "the file of keys");
	if (!known && keep_key(args, &settings, remote, key, err) < 0)
		return -1;
	printf("%s: %s%s\n", label, key, known ? " (was trusted already)" : "");
	return 0;
}

/* ---- the command ---- */

static int act(struct args *args, struct warder_error *err)
{
	static const char *const words[] = { "list", "describe", "declare", "trust", NULL };
	const char *word = args->rest[0];
	char remedy[100];

	if (word && strcmp(word, "list") == 0)
		return show(args, true, err);
	if (word && strcmp(word, "describe") == 0)
		return show(args, false, err);
	if (word && strcmp(word, "declare") == 0)
		return declare(args, err);
	if (word && strcmp(word, "trust") == 0)
		return trust(args, err);
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, "argv", "warder backend %.40s: %s",
			 word ? word : "", policy_suggest(words, word ? word : "", remedy, sizeof(remedy)));
}

int backend_command(struct args *args, char **argv)
{
	struct warder_error err = { 0 };

	if (args_load(FLAG_BACKEND, argv, args, &err) != 0 || act(args, &err) != 0)
		return command_refuse(args, &err, EXIT_REFUSED);
	return 0;
}
