/*
 * Each tenant has a list of its own, so that the rows of one tenant cost others no time.
 */
#include "host/launcher/repeats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "host/launcher/call.h"

static struct repeats_tenant *tenant_of(const struct repeats *repeats, const char *digest)
{
	struct repeats_tenant *tenant = repeats->tenants;

	while (tenant && strcmp(tenant->digest, digest) != 0)
		tenant = tenant->next;
	return tenant;
}

static struct repeats_tenant *add_tenant(struct repeats *repeats, const char *digest)
{
	struct repeats_tenant *tenant = calloc(1, sizeof(*tenant));

	if (!tenant)
		return NULL;
	snprintf(tenant->digest, sizeof(tenant->digest), "%s", digest);
	tenant->next = repeats->tenants;
	repeats->tenants = tenant;
	return tenant;
}

static void remove_if_empty(struct repeats *repeats, struct repeats_tenant *tenant)
{
	struct repeats_tenant **at = &repeats->tenants;

	if (tenant->rows)
		return;
	while (*at != tenant)
		at = &(*at)->next;
	*at = tenant->next;
	free(tenant);
}

/* The oldest row that has ended; or NULL. */
static struct repeat *oldest_of(const struct repeats_tenant *tenant)
{
	struct repeat *oldest = NULL;

	for (struct repeat *row = tenant->rows; row; row = row->next)
		if (row->ended_us)
			oldest = row;
	return oldest;
}

/* The tenant stays, also without rows. */
static void drop(struct repeats *repeats, struct repeat *row)
{
	struct repeat **at = &row->tenant->rows;

	while (*at != row)
		at = &(*at)->next;
	*at = row->next;
	row->tenant->count--;
	row->tenant->bytes -= row->len;
	repeats->bytes -= row->len;
	free(row->answer);
	free(row);
}

struct repeat *repeats_find(const struct repeats *repeats, const char *tenant, const char *key)
{
	const struct repeats_tenant *of = tenant_of(repeats, tenant);

	for (struct repeat *row = of ? of->rows : NULL; row; row = row->next)
		if (strcmp(row->key, key) == 0)
			return row;
	return NULL;
}

void repeats_forget(struct repeats *repeats, struct repeat *row)
{
	struct repeats_tenant *tenant = row->tenant;

	drop(repeats, row);
	remove_if_empty(repeats, tenant);
}

struct repeat *repeats_begin(struct repeats *repeats, const char *tenant, const char *key,
			     const char *request)
{
	struct repeats_tenant *of = tenant_of(repeats, tenant);
	struct repeat *row;

	if (of && of->count >= REPEATS_TENANT_MAX) {
		row = oldest_of(of);
		if (!row)
			return NULL;
		drop(repeats, row);
	}
	row = calloc(1, sizeof(*row));
	if (row && !of)
		of = add_tenant(repeats, tenant);
	if (!row || !of) {
		free(row);
		return NULL;
	}
	snprintf(row->request, sizeof(row->request), "%s", request);
	snprintf(row->key, sizeof(row->key), "%s", key);
	row->tenant = of;
	row->next = of->rows;
	of->rows = row;
	of->count++;
	return row;
}

/* The tenant whose answers take the most bytes. */
static struct repeats_tenant *greediest(const struct repeats *repeats)
{
	struct repeats_tenant *found = repeats->tenants;

	for (struct repeats_tenant *tenant = found; tenant; tenant = tenant->next)
		if (tenant->bytes > found->bytes)
			found = tenant;
	return found;
}

void repeats_finish(struct repeats *repeats, struct repeat *row, const char *answer, uint64_t now_us)
{
	struct repeats_tenant *tenant = row->tenant;

	row->answer = answer ? strdup(answer) : NULL;
	row->len = row->answer ? strlen(row->answer) : 0;
	row->ended_us = now_us;
	tenant->bytes += row->len;
	repeats->bytes += row->len;
	/* Where there are bytes, a row has ended. */
	while (tenant->bytes > REPEATS_TENANT_BYTES)
		drop(repeats, oldest_of(tenant));
	remove_if_empty(repeats, tenant);
	while (repeats->bytes > REPEATS_BYTES_MAX)
		repeats_forget(repeats, oldest_of(greediest(repeats)));
}

void repeats_sweep(struct repeats *repeats, uint64_t now_us)
{
	struct repeats_tenant *next_tenant;

	for (struct repeats_tenant *tenant = repeats->tenants; tenant; tenant = next_tenant) {
		struct repeat *next;

		next_tenant = tenant->next;
		for (struct repeat *row = tenant->rows; row; row = next) {
			next = row->next;
			if (row->ended_us && now_us - row->ended_us >= REPEATS_KEPT_US)
				drop(repeats, row);
		}
		remove_if_empty(repeats, tenant);
	}
}

void repeats_done(struct repeats *repeats)
{
	while (repeats->tenants)
		repeats_forget(repeats, repeats->tenants->rows);
}

/* ---- for a call ---- */

/* Where nothing ran, the key is free again: the next request with it tries once more. */
void call_finish_repeat(struct launcher *launcher, struct call *call, bool happened)
{
	if (call->repeat && happened)
		repeats_finish(&launcher->repeats, call->repeat,
			       call->answer.status < 300 ? call->text : NULL, clock_us());
	else if (call->repeat)
		repeats_forget(&launcher->repeats, call->repeat);
	call->repeat = NULL;
}

/* Answer with what the same request was answered before. 0: it was not; 1: the call was answered; -1 with *err. */
static int find_answered(const struct context *context, struct call *call, const char *key,
			 const char *digest, struct warder_error *err)
{
	const struct repeat *repeat = repeats_find(&context->launcher->repeats, context->tenant->digest, key);

	if (!repeat)
		return 0;
	if (strcmp(repeat->request, digest) != 0)
		return error_set(err, WARDER_ERROR_CONFLICT, "idempotencyKey",
				 "a request of the last 10 minutes had this key, and another path, body or "
				 "form of the answer (the header Accept); use a new key");
	if (!repeat->ended_us) {
		call->answer.retry_s = 1;
		return error_set(err, WARDER_ERROR_CONFLICT, "idempotencyKey",
				 "the program of a request with this key still runs; try again");
	}
	if (!repeat->answer)
		return error_set(err, WARDER_ERROR_CONFLICT, "idempotencyKey",
				 "the program of a request with this key has run, and its result was lost; "
				 "use a new key to run it again");
	return call_say(context, call, strdup(repeat->answer), err) < 0 ? -1 : 1;
}

/* The same text to another call, about another sandbox, or for another form of the answer is another request. */
static void digest_request(const struct context *context, char ret[SHA256_HEX])
{
	const uint32_t which = context->request->call;
	const uint64_t value = context->request->value;
	struct sha256 sha;

	sha256_init(&sha);
	sha256_add(&sha, &which, sizeof(which));
	if (value)
		sha256_add(&sha, &value, sizeof(value));
	if (context->sandbox)
		sha256_add(&sha, context->sandbox->id, sizeof(context->sandbox->id));
	sha256_add(&sha, context->text, context->len);
	sha256_hex(&sha, ret);
}

int call_find_repeat(const struct context *context, struct call *call, struct call_key *ret,
		     struct warder_error *err)
{
	if (call_take_key(call->document, &ret->key, err) < 0)
		return -1;
	if (!ret->key)
		return 0;
	digest_request(context, ret->digest);
	return find_answered(context, call, ret->key, ret->digest, err);
}

int call_begin_repeat(const struct context *context, struct call *call, const struct call_key *key,
		      struct warder_error *err)
{
	if (!key->key)
		return 0;
	call->repeat =
	    repeats_begin(&context->launcher->repeats, context->tenant->digest, key->key, key->digest);
	return call->repeat
		   ? 0
		   : error_set(err, WARDER_ERROR_UNAVAILABLE, "idempotencyKey",
			       "too many programs of the tenant run with a key; wait until one has ended");
}
