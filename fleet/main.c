/*
 * warder-fleet: requests of tenants through a NATS server, for `warder worker` and `warder submit`.
 *
 * A program of its own, because libnats and what it loads have no place in a process that launches jails.
 */
#include <nats/nats.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/json.h"
#include "fleet/fleet.h"
#include "fleet/key.h"
#include "fleet/submit.h"
#include "fleet/worker.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/term.h"

#define EXIT_REFUSED 125

static uint64_t number(const struct json_value *order, const char *key, uint64_t other)
{
	const struct json_value *value = json_member(order, key);

	return value && value->is_uint && value->uint ? value->uint : other;
}

static int make_key(const struct json_value *order, struct warder_error *err)
{
	char public[REMOTE_KEY_TEXT];

	if (key_make(json_member_text(order, "makeKey", ""), public, err) < 0)
		return -1;
	puts(public);
	return 0;
}

static int open_queue(const struct json_value *order, struct queue *ret, struct warder_error *err)
{
	const struct queue_options options = { .url = json_member_text(order, "url", ""),
					       .credentials = json_member_text(order, "credentials", NULL),
					       .ca_file = json_member_text(order, "caFile", NULL) };

	return queue_open(&options, ret, err);
}

static int submit(const struct json_value *order, struct warder_error *err)
{
	const struct submit_options options = { .tenant = json_member_text(order, "tenant", ""),
						.key = json_member_text(order, "key", ""),
						.lifetime_us =
						    number(order, "lifetimeUs", FLEET_LIFETIME_US) };
	struct queue queue;
	int status;

	if (message_check_tenant(options.tenant, "--tenant", err) < 0 || open_queue(order, &queue, err) < 0)
		return -1;
	status = submit_run(&queue, &options, err);
	queue_done(&queue);
	return status;
}

static int work(const struct json_value *order, struct warder_error *err)
{
	const struct worker_options options = {
		.program = json_member_text(order, "program", ""),
		.state = json_member_text(order, "state", NULL),
		.config = json_member_text(order, "config", NULL),
		.parallel = (unsigned int)number(order, "parallel", 1),
		.redeliver_us = number(order, "redeliverUs", FLEET_REDELIVER_US),
		.deliveries = (unsigned int)number(order, "deliveries", FLEET_DELIVERIES),
	};
	struct queue queue;
	int status;

	if (open_queue(order, &queue, err) < 0)
		return -1;
	status = worker_run(&queue, &options, err);
	queue_done(&queue);
	return status;
}

static const struct {
	const char *name;
	int (*run)(const struct json_value *order, struct warder_error *err);
} commands[] = { { "worker", work }, { "submit", submit }, { "key", make_key } };

int main(int argc, char **argv)
{
	struct json_value *order = NULL;
	struct warder_error err = { 0 };
	const char *name;
	int status = -1;

	/* A key and credentials are in our memory. */
	prctl(PR_SET_DUMPABLE, 0);
	if (argc != 2 || json_parse(argv[1], strlen(argv[1]), "order", NULL, &order, &err) < 0) {
		fputs("warder-fleet: \"warder worker\" and \"warder submit\" start this program\n", stderr);
		return EXIT_REFUSED;
	}
	ending_catch(NULL);
	name = json_member_text(order, "command", "");
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(commands[i].name, name) == 0)
			status = commands[i].run(order, &err);
	json_free(order);
	nats_Close();
	if (status < 0 && !ending_signal())
		term_error(&err);
	return ending_signal() ? 128 + ending_signal() : status < 0 ? EXIT_REFUSED : 0;
}
