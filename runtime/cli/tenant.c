/*
 * tenant: who may use an execution host.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "host/launcher/tenants.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/term.h"

static int add(const struct args *args, struct warder_error *err)
{
	const struct tenant_options options = { .scopes = args->host.scopes,
						.expires_us = args->host.expires_us,
						.ceiling = args->ceiling_path,
						.request_key = args->host.request_key,
						.uid = args->host.uid,
						.old_clients = args->host.old_clients };
	char token[TENANT_TOKEN_BYTES];

	if (tenants_add(args->host.state, args->rest[1], &options, token, err) < 0)
		return -1;
	puts(token);
	return 0;
}

static int revoke(const struct args *args, struct warder_error *err)
{
	return tenants_revoke(args->host.state, args->rest[1], err);
}

static int list(const struct args *args, struct warder_error *err)
{
	struct json_value *tenants = NULL;
	char *text = tenants_list(args->host.state, err);
	int parsed;

	if (!text)
		return -1;
	if (args->json) {
		puts(text);
		free(text);
		return 0;
	}
	parsed = json_parse(text, strlen(text), "tenants", NULL, &tenants, err);
	free(text);
	for (const struct json_value *one = parsed == 0 ? tenants->child : NULL; one; one = one->next)
		puts(json_member_text(one, "name", ""));
	json_free(tenants);
	return parsed;
}

static const struct word {
	const char *name;
	bool named; /* it takes the name of a tenant */
	int (*run)(const struct args *args, struct warder_error *err);
} words[] = {
	{ "add", true, add },
	{ "list", false, list },
	{ "revoke", true, revoke },
};

int tenant_command(struct args *args, char **argv)
{
	struct warder_error err = { 0 };
	const struct word *word = NULL;

	for (size_t i = 0; args->rest[0] && i < ARRAY_LENGTH(words); i++)
		if (strcmp(words[i].name, args->rest[0]) == 0)
			word = &words[i];
	if (!word)
		error_set(&err, WARDER_ERROR_INVALID_REQUEST, "argv",
			  "write \"warder tenant add NAME\", \"warder tenant list\" or \"warder tenant "
			  "revoke NAME\"");
	else if (word->named && (!args->rest[1] || args->rest[2]))
		error_set(&err, WARDER_ERROR_INVALID_REQUEST, "name",
			  "\"warder tenant %s\" needs one name of a tenant", word->name);
	else if (!word->named && args->rest[1])
		error_set(&err, WARDER_ERROR_INVALID_REQUEST, "argv",
			  "\"warder tenant %s\" takes no arguments", word->name);
	else if (word->run(args, &err) == 0)
		return 0;
	return command_refuse(args, &err, EXIT_REFUSED);
}
