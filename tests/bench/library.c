/*
 * Launches from one template of libwarder, served to the harness: what a daemon or an embedding program pays per run.
 *
 *   library [--pool|--parts] [--ro PATH]... -- PROGRAM ARG...
 *
 * With --pool, each launch hands out a parked jail. The pool parks the next ones meanwhile, and while other contestants run. With --parts,
 * it uses parts of ended jails for them.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/warder.h"
#include "tests/bench/serve.h"

struct launcher {
	struct warder_template *tmpl;
	struct warder_pool *pool; /* or NULL */
	struct warder_pool_key key;
	char **argv;
};

static int complain(const struct warder_error *err)
{
	fprintf(stderr, "library: %s%s%s\n", err->text, *err->step ? ", at step " : "", err->step);
	return -1;
}

static int launch(void *context)
{
	const struct launcher *launcher = context;
	const struct warder_command command = { .size = sizeof(command), .argv = launcher->argv };
	struct warder_result *result = NULL;
	struct warder_run *run = NULL;
	struct warder_error err;
	int status = -1;

	if ((launcher->pool ? warder_pool_launch(launcher->pool, &launcher->key, &command, &run, &err)
			    : warder_launch(launcher->tmpl, &command, &run, &err)) < 0)
		return complain(&err);
	if (warder_wait(run, &result, &err) < 0)
		complain(&err);
	else
		status = warder_result_exit_code(result);
	warder_result_free(result);
	warder_run_free(run);
	return status;
}

static int prepare(struct launcher *launcher, const struct warder_policy *policy, bool with_pool, bool parts,
		   struct warder_error *err)
{
	const struct warder_pool_options options = { .size = sizeof(options),
						     .empty = WARDER_POOL_WAIT,
						     .parts = parts };

	launcher->key = (struct warder_pool_key){ .size = sizeof(launcher->key), .policy = policy };
	if (!with_pool)
		return warder_prepare(policy, NULL, &launcher->tmpl, err);
	if (warder_pool_new(&options, &launcher->pool, err) < 0)
		return -1;
	return warder_pool_fill(launcher->pool, &launcher->key, 4, err);
}

static int add_read_only(struct warder_policy *policy, char **argv, int at, int *ret_at,
			 struct warder_error *err)
{

	for (; argv[at] && strcmp(argv[at], "--ro") == 0 && argv[at + 1]; at += 2)
		if (warder_policy_set(policy, "filesystem.paths.readOnly", argv[at + 1], err) < 0)
			return -1;
	*ret_at = at;
	return 0;
}

int main(int argc, char **argv)
{
	struct launcher launcher = { 0 };
	struct warder_policy *policy = NULL;
	const bool parts = argc > 1 && strcmp(argv[1], "--parts") == 0;
	const bool with_pool = parts || (argc > 1 && strcmp(argv[1], "--pool") == 0);
	struct warder_error err;
	int at = 1;
	int ret = EXIT_FAILURE;

	if (warder_policy_preset("strict", &policy, &err) < 0 ||
	    add_read_only(policy, argv, with_pool ? 2 : 1, &at, &err) < 0 ||
	    prepare(&launcher, policy, with_pool, parts, &err) < 0) {
		complain(&err);
	} else if (argc < at + 2 || strcmp(argv[at], "--") != 0) {
		fprintf(stderr, "usage: library [--pool|--parts] [--ro PATH]... -- PROGRAM ARG...\n");
	} else {
		launcher.argv = argv + at + 1;
		ret = serve(launch, NULL, &launcher);
	}
	warder_pool_free(launcher.pool);
	warder_template_free(launcher.tmpl);
	warder_policy_free(policy);
	return ret;
}
