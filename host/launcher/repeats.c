#include "host/launcher/repeats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct use {
	size_t bytes, rows;
	struct repeat *oldest; /* that has ended; or NULL */
};

static struct use use_of(const struct repeats *repeats, const char *tenant)
{
	struct use use = { 0 };

	for (struct repeat *row = repeats->rows; row; row = row->next) {
		if (tenant && strcmp(row->tenant, tenant) != 0)
			continue;
		use.bytes += row->len;
		use.rows++;
		if (row->ended_us)
			use.oldest = row;
	}
	return use;
}

struct repeat *repeats_find(const struct repeats *repeats, const char *tenant, const char *key)
{
	for (struct repeat *row = repeats->rows; row; row = row->next)
		if (strcmp(row->tenant, tenant) == 0 && strcmp(row->key, key) == 0)
			return row;
	return NULL;
}

void repeats_forget(struct repeats *repeats, struct repeat *row)
{
	struct repeat **at = &repeats->rows;

	while (*at != row)
		at = &(*at)->next;
	*at = row->next;
	free(row->answer);
	free(row);
}

struct repeat *repeats_begin(struct repeats *repeats, const char *tenant, const char *key,
			     const char *request)
{
	const struct use use = use_of(repeats, tenant);
	struct repeat *row;

	if (use.rows >= REPEATS_TENANT_MAX) {
		if (!use.oldest)
			return NULL;
		repeats_forget(repeats, use.oldest);
	}
	row = calloc(1, sizeof(*row));
	if (!row)
		return NULL;
	snprintf(row->tenant, sizeof(row->tenant), "%s", tenant);
	snprintf(row->request, sizeof(row->request), "%s", request);
	snprintf(row->key, sizeof(row->key), "%s", key);
	row->next = repeats->rows;
	repeats->rows = row;
	return row;
}

/* The tenant whose answers take the most bytes. */
static const char *greediest(const struct repeats *repeats)
{
	const char *found = "";
	size_t most = 0;

	for (const struct repeat *row = repeats->rows; row; row = row->next) {
		const size_t bytes = use_of(repeats, row->tenant).bytes;

		if (bytes > most) {
			most = bytes;
			found = row->tenant;
		}
	}
	return found;
}

static void make_room(struct repeats *repeats, const char *tenant)
{
	struct use use = use_of(repeats, tenant);

	while (use.bytes > REPEATS_TENANT_BYTES && use.oldest) {
		repeats_forget(repeats, use.oldest);
		use = use_of(repeats, tenant);
	}
	while (use_of(repeats, NULL).bytes > REPEATS_BYTES_MAX)
		repeats_forget(repeats, use_of(repeats, greediest(repeats)).oldest);
}

void repeats_finish(struct repeats *repeats, struct repeat *row, const char *answer, uint64_t now_us)
{
	char tenant[SHA256_HEX];

	row->answer = answer ? strdup(answer) : NULL;
	row->len = row->answer ? strlen(row->answer) : 0;
	row->ended_us = now_us;
	memcpy(tenant, row->tenant, sizeof(tenant));
	make_room(repeats, tenant);
}

void repeats_sweep(struct repeats *repeats, uint64_t now_us)
{
	struct repeat *next;

	for (struct repeat *row = repeats->rows; row; row = next) {
		next = row->next;
		if (row->ended_us && now_us - row->ended_us >= REPEATS_KEPT_US)
			repeats_forget(repeats, row);
	}
}

void repeats_done(struct repeats *repeats)
{
	while (repeats->rows)
		repeats_forget(repeats, repeats->rows);
}
