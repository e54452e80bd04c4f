#include "jail/environment.h"
#include "base/array.h"
#include "edge/edge.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* What every program inside finds; documented in warder(1). */
static const char *const base_variables[] = {
	"PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
	"HOME=/tmp",
	"TMPDIR=/tmp",
	"LANG=C.UTF-8",
};

/* Of a policy with credentials: programs that do not look into the usual file. */
static const char *const trust_variables[] = {
	"SSL_CERT_FILE=" EDGE_TRUST,       /* OpenSSL with a directory of authorities: Python, Ruby, Perl */
	"REQUESTS_CA_BUNDLE=" EDGE_TRUST,  /* certifi: requests, pip */
	"NODE_EXTRA_CA_CERTS=" EDGE_TRUST, /* Node.js has its own */
};

struct list {
	char **items;
	size_t count;
	bool failed;
};

static size_t name_length(const char *variable)
{
	const char *equals = strchr(variable, '=');

	return equals ? (size_t)(equals - variable) : strlen(variable);
}

static void put(struct list *list, const char *name, size_t name_len, const char *value)
{
	size_t value_len = strlen(value);
	char *text = malloc(name_len + value_len + 2);
	char **items;

	if (!text) {
		list->failed = true;
		return;
	}
	memcpy(text, name, name_len);
	text[name_len] = '=';
	memcpy(text + name_len + 1, value, value_len + 1);
	for (size_t i = 0; i < list->count; i++) {
		if (strncmp(list->items[i], text, name_len + 1) == 0) {
			free(list->items[i]);
			list->items[i] = text;
			return;
		}
	}
	items = realloc(list->items, (list->count + 2) * sizeof(*items));
	if (!items) {
		free(text);
		list->failed = true;
		return;
	}
	list->items = items;
	list->items[list->count++] = text;
	list->items[list->count] = NULL;
}

static void put_variable(struct list *list, const char *variable)
{
	size_t len = name_length(variable);

	if (variable[len] == '=')
		put(list, variable, len, variable + len + 1);
}

static char **finish(struct list *list)
{
	if (list->failed) {
		environment_free(list->items);
		return NULL;
	}
	if (!list->items)
		list->items = calloc(1, sizeof(*list->items));
	return list->items;
}

const char *environment_get(char *const *environment, const char *name)
{
	size_t len = strlen(name);

	for (; environment && *environment; environment++)
		if (strncmp(*environment, name, len) == 0 && (*environment)[len] == '=')
			return *environment + len + 1;
	return NULL;
}

char **environment_build(const struct policy *policy, char *const *image, char *const *host)
{
	struct list list = { 0 };

	for (size_t i = 0; i < ARRAY_LENGTH(base_variables); i++)
		put_variable(&list, base_variables[i]);
	for (size_t i = 0; policy_injects(policy) && i < ARRAY_LENGTH(trust_variables); i++)
		put_variable(&list, trust_variables[i]);
	for (; image && *image; image++)
		put_variable(&list, *image);
	if (policy->environment.mode == POLICY_ENVIRONMENT_HOST)
		for (char *const *variable = host; variable && *variable; variable++)
			put_variable(&list, *variable);
	if (policy->environment.mode == POLICY_ENVIRONMENT_ALLOW_LIST)
		for (size_t i = 0; i < policy->environment.names.count; i++) {
			const char *name = policy->environment.names.items[i];
			const char *value = environment_get(host, name);

			if (value)
				put(&list, name, strlen(name), value);
		}
	for (size_t i = 0; i < policy->environment.set_count; i++) {
		const struct policy_variable *set = &policy->environment.set[i];

		put(&list, set->name, strlen(set->name), set->value);
	}
	return finish(&list);
}

char **environment_merge(char *const *base, char *const *extra)
{
	struct list list = { 0 };

	for (; base && *base; base++)
		put_variable(&list, *base);
	for (; extra && *extra; extra++)
		put_variable(&list, *extra);
	return finish(&list);
}

void environment_free(char **environment)
{
	for (char **variable = environment; variable && *variable; variable++)
		free(*variable);
	free(environment);
}
