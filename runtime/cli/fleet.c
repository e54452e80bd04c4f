/*
 * fleet: `warder worker` and `warder submit`, which execute warder-fleet. Only that program contains libnats.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/json.h"
#include "base/programs.h"
#include "fleet/fleet.h"
#include "runtime/cli/commands.h"

/* Does not return if it works. */
static int become_fleet(struct json_writer *order, struct warder_error *err)
{
	static char name[] = FLEET_PROGRAM;
	char program[PATH_MAX], *argv[] = { name, NULL, NULL };

	json_end_object(order);
	argv[1] = json_take(order);
	if (!argv[1])
		return error_no_memory(err, NULL);
	if (programs_find(FLEET_PROGRAM, "--nats", program, err) == 0) {
		execv(program, argv);
		error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "--nats", errno, "cannot execute %.200s",
				program);
	}
	free(argv[1]);
	return -1;
}

static void begin_order(const struct args *args, const char *command, struct json_writer *w)
{
	json_begin_object(w);
	json_key_string(w, "command", command);
	json_key_string(w, "url", args->fleet.url);
	json_key_string(w, "credentials", args->fleet.credentials);
	json_key_string(w, "caFile", args->fleet.ca_file);
}

static int need(const char *value, const char *flag, const char *what, struct warder_error *err)
{
	return value ? 0
		     : error_set(err, WARDER_ERROR_INVALID_REQUEST, flag, "%s is missing; it names %s", flag,
				 what);
}

static int check_words(const struct args *args, const char *command, struct warder_error *err)
{
	return args->rest[0]
		   ? error_set(err, WARDER_ERROR_INVALID_REQUEST, "argv",
			       "%s takes no arguments, and \"%.60s\" is one", command, args->rest[0])
		   : 0;
}

static int work(const struct args *args, struct warder_error *err)
{
	const long processors = sysconf(_SC_NPROCESSORS_ONLN);
	struct json_writer w = { 0 };
	char self[PATH_MAX];
	const ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (check_words(args, "worker", err) < 0 || need(args->fleet.url, "--nats", "the server", err) < 0)
		return -1;
	if (len <= 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "/proc/self/exe");
	self[len] = '\0';
	begin_order(args, "worker", &w);
	json_key_string(&w, "program", self);
	json_key_string(&w, "state", args->host.state);
	json_key_string(&w, "config", args->host.config);
	json_key_uint(&w, "parallel",
		      args->fleet.parallel                                            ? args->fleet.parallel
		      : processors < 1                                                ? 1
		      : (unsigned long)processors > (unsigned long)FLEET_PARALLEL_MAX ? FLEET_PARALLEL_MAX
										      : (uint64_t)processors);
	json_key_uint(&w, "redeliverUs", args->fleet.redeliver_us);
	json_key_uint(&w, "deliveries", args->fleet.deliveries);
	return become_fleet(&w, err);
}

static int submit(const struct args *args, struct warder_error *err)
{
	struct json_writer w = { 0 };

	if (check_words(args, "submit", err) < 0 || need(args->fleet.url, "--nats", "the server", err) < 0 ||
	    need(args->fleet.tenant, "--tenant", "whose requests these are", err) < 0 ||
	    need(args->fleet.key, "--key", "the file with the tenant's key", err) < 0)
		return -1;
	begin_order(args, "submit", &w);
	json_key_string(&w, "tenant", args->fleet.tenant);
	json_key_string(&w, "key", args->fleet.key);
	json_key_uint(&w, "lifetimeUs", args->fleet.lifetime_us);
	return become_fleet(&w, err);
}

static int make_key(const struct args *args, struct warder_error *err)
{
	struct json_writer w = { 0 };

	if (check_words(args, "submit", err) < 0)
		return -1;
	if (args->fleet.url || args->fleet.tenant || args->fleet.key)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--make-key",
				 "--make-key submits nothing; leave --nats, --tenant and --key out");
	begin_order(args, "key", &w);
	json_key_string(&w, "makeKey", args->fleet.make_key);
	return become_fleet(&w, err);
}

int worker_command(struct args *args, char **argv)
{
	struct warder_error err = { 0 };

	return work(args, &err) < 0 ? command_refuse(args, &err, EXIT_REFUSED) : 0;
}

int submit_command(struct args *args, char **argv)
{
	struct warder_error err = { 0 };

	return (args->fleet.make_key ? make_key : submit)(args, &err) < 0
		   ? command_refuse(args, &err, EXIT_REFUSED)
		   : 0;
}
