#include "host/launcher/stock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "host/launcher/call.h"
#include "policy/policy.h"
#include "runtime/library/library.h"
#include "runtime/library/pool.h"
#include "runtime/session/session.h"

#define A_KIND_MOST   16
#define BUILDING_MOST 4
#define WINDOW_US     UINT64_C(250000)   /* in which creations are counted */
#define CALM_US       UINT64_C(10000000) /* after which half as many are enough */
#define IDLE_US       UINT64_C(60000000) /* after which a kind is given up */
#define REST_US       UINT64_C(5000)     /* after a creation, whose client uses the processors */
#define PAUSE_US      UINT64_C(5000000)  /* after one could not be parked */
#define TICK_MS       1000
#define END_US        UINT64_C(10000000)

struct stock_ending {
	struct stock_ending *next;
	struct session_parked *parked; /* owned */
};

struct stock_kind {
	struct stock_kind *next;
	char tenant[TENANT_NAME_MAX + 1];
	char tenant_digest[SHA256_HEX];
	struct warder_policy *policy; /* owned */
	struct session_parked *parked[A_KIND_MOST];
	size_t count, building, wanted;
	uint64_t used_us;       /* when a sandbox was last created */
	uint64_t window_us;     /* since when creations are counted */
	size_t created;         /* since then */
	uint64_t reached_us;    /* when as many as are wanted were last created within a window */
	uint64_t not_before_us; /* none is parked before */
};

/* ---- kinds ---- */

/* What may be parked: nothing of the host may belong to a single sandbox, and nothing may be used up before there is one. An image could get
 * other layers meanwhile. */
static bool may_park(const struct policy *policy)
{
	return policy->filesystem.view != POLICY_VIEW_IMAGE &&
	       policy->filesystem.workspace == POLICY_WORKSPACE_NONE && !policy->network.publish.count &&
	       !policy_injects(policy);
}

static bool is_kind(const struct stock_kind *kind, const struct call *call, const struct policy *policy)
{
	return strcmp(kind->tenant, call->tenant) == 0 &&
	       strcmp(kind->tenant_digest, call->tenant_digest) == 0 &&
	       policy_equal(&kind->policy->policy, policy);
}

static struct stock_kind *find(const struct stock *stock, const struct call *call,
			       const struct policy *policy)
{
	struct stock_kind *kind = stock->kinds;

	while (kind && !is_kind(kind, call, policy))
		kind = kind->next;
	return kind;
}

/* NULL: no memory. */
static struct stock_kind *add(struct stock *stock, const struct call *call,
			      const struct warder_policy *policy)
{
	struct stock_kind *kind = calloc(1, sizeof(*kind));
	struct warder_error ignored;

	if (!kind || call_copy_policy(policy, &kind->policy, &ignored) < 0) {
		free(kind);
		return NULL;
	}
	snprintf(kind->tenant, sizeof(kind->tenant), "%s", call->tenant);
	memcpy(kind->tenant_digest, call->tenant_digest, sizeof(kind->tenant_digest));
	kind->next = stock->kinds;
	stock->kinds = kind;
	return kind;
}

/* It ends by itself, and is in a list until it has. */
static void end(struct stock *stock, struct session_parked *parked)
{
	struct stock_ending *ending = parked ? malloc(sizeof(*ending)) : NULL;

	if (!ending) {
		session_parked_free(parked);
		return;
	}
	session_parked_end(parked);
	*ending = (struct stock_ending){ stock->ending, parked };
	stock->ending = ending;
}

static void end_one(struct stock *stock, struct stock_kind *kind)
{
	stock->parked--;
	end(stock, kind->parked[--kind->count]);
}

/* Forget those that have ended, each of them at the latest then; 0: do not wait. */
static void reap(struct stock *stock, uint64_t until_us)
{
	for (struct stock_ending **at = &stock->ending; *at;) {
		struct stock_ending *ending = *at;
		const uint64_t now_us = until_us ? clock_us() : 0;

		if (!session_parked_is_gone(ending->parked,
					    now_us < until_us ? (int)((until_us - now_us) / 1000) : 0) &&
		    !until_us) {
			at = &ending->next;
			continue;
		}
		*at = ending->next;
		session_parked_free(ending->parked);
		free(ending);
	}
}

/* The number of creations within a window decides how many are wanted. */
static void count_creation(struct stock_kind *kind, uint64_t now_us)
{
	if (now_us - kind->window_us >= WINDOW_US) {
		kind->window_us = now_us;
		kind->created = 0;
	}
	kind->used_us = now_us;
	if (++kind->created < kind->wanted)
		return;
	kind->wanted = kind->created < A_KIND_MOST ? kind->created : A_KIND_MOST;
	kind->reached_us = now_us;
}

/* The oldest one that lives. */
static struct session_parked *take(struct stock *stock, struct stock_kind *kind)
{
	while (kind->count) {
		struct session_parked *parked = kind->parked[0];

		memmove(kind->parked, kind->parked + 1, --kind->count * sizeof(kind->parked[0]));
		stock->parked--;
		if (session_parked_lives(parked))
			return parked;
		session_parked_free(parked);
	}
	return NULL;
}

struct session_parked *stock_take(struct launcher *launcher, const struct call *call,
				  const struct warder_policy *policy)
{
	struct stock *stock = &launcher->stock;
	struct session_parked *parked;
	struct stock_kind *kind;

	if (!launcher->settings.limits.parked_sandboxes || !may_park(&policy->policy))
		return NULL;
	kind = find(stock, call, &policy->policy);
	if (!kind)
		kind = add(stock, call, policy);
	if (!kind)
		return NULL;
	stock->taken_us = clock_us();
	count_creation(kind, stock->taken_us);
	parked = take(stock, kind);
	stock->handed_out += parked != NULL;
	stock->missed += parked == NULL;
	return parked;
}

/* ---- parking ---- */

struct parking {
	struct job job;
	struct stock_kind *kind; /* main thread: it stays while it has a parking */
	const char *program;
	struct warder_policy *policy; /* owned */
	struct session_parked *made;
	struct warder_error err;
};

static void park_work(struct job *job)
{
	struct parking *parking = (struct parking *)(void *)job;
	const struct warder_session_options options =
	    sandbox_session_options(parking->policy, parking->program);

	session_park(&options, &parking->made, &parking->err);
}

static void park_finish(struct job *job, void *of)
{
	struct parking *parking = (struct parking *)(void *)job;
	struct stock *stock = &((struct launcher *)of)->stock;
	struct stock_kind *kind = parking->kind;

	stock->building--;
	kind->building--;
	if (parking->made && kind->count < A_KIND_MOST) {
		kind->parked[kind->count++] = parking->made;
		stock->parked++;
	} else {
		end(stock, parking->made);
		kind->not_before_us = clock_us() + PAUSE_US;
	}
	warder_policy_free(parking->policy);
	free(parking);
}

static void park(struct launcher *launcher, struct stock_kind *kind)
{
	struct parking *parking = calloc(1, sizeof(*parking));
	struct warder_error ignored;

	if (!parking || call_copy_policy(kind->policy, &parking->policy, &ignored) < 0) {
		free(parking);
		kind->not_before_us = clock_us() + PAUSE_US;
		return;
	}
	parking->kind = kind;
	parking->program = launcher->options->program;
	parking->job = (struct job){ .tenant = "", .work = park_work, .finish = park_finish };
	kind->building++;
	launcher->stock.building++;
	jobs_add(&launcher->jobs, &parking->job);
}

static size_t of_tenant(const struct stock *stock, const struct stock_kind *kind)
{
	size_t count = 0;

	for (const struct stock_kind *one = stock->kinds; one; one = one->next)
		if (strcmp(one->tenant, kind->tenant) == 0)
			count += one->count + one->building;
	return count;
}

/* Half of the stock at most is a tenant's. */
static bool has_room(const struct launcher *launcher, const struct stock_kind *kind)
{
	const size_t most = launcher->settings.limits.parked_sandboxes;
	const struct stock *stock = &launcher->stock;

	return !stock->is_pressed && stock->parked + stock->building < most &&
	       of_tenant(stock, kind) < (most + 1) / 2 && stock->building < BUILDING_MOST;
}

/* ---- upkeep ---- */

static bool is_over(const struct launcher *launcher, const struct stock_kind *kind, uint64_t now_us)
{
	const struct tenant *tenant = tenants_named(&launcher->tenants, kind->tenant);

	return now_us - kind->used_us >= IDLE_US || !tenant ||
	       strcmp(tenant->digest, kind->tenant_digest) != 0;
}

/* Those that have ended are forgotten, and those that are too many ended. */
static void trim(struct stock *stock, struct stock_kind *kind, uint64_t now_us)
{
	for (size_t i = kind->count; i-- > 0;)
		if (!session_parked_lives(kind->parked[i])) {
			session_parked_free(kind->parked[i]);
			kind->parked[i] = kind->parked[--kind->count];
			stock->parked--;
		}
	if (kind->wanted > 1 && now_us - kind->reached_us >= CALM_US) {
		kind->wanted /= 2;
		kind->reached_us = now_us;
	}
	while (kind->count > kind->wanted)
		end_one(stock, kind);
}

static void drop(struct stock *stock, struct stock_kind **at)
{
	struct stock_kind *kind = *at;

	while (kind->count)
		end_one(stock, kind);
	if (kind->building) { /* its jobs need it */
		kind->wanted = 0;
		return;
	}
	*at = kind->next;
	warder_policy_free(kind->policy);
	free(kind);
}

/* The kind that lacks the most of what it should have, and may get one now. */
static struct stock_kind *choose(const struct launcher *launcher, uint64_t now_us)
{
	struct stock_kind *best = NULL;

	for (struct stock_kind *kind = launcher->stock.kinds; kind; kind = kind->next)
		if (kind->count + kind->building < kind->wanted && kind->not_before_us <= now_us &&
		    has_room(launcher, kind) &&
		    (!best || kind->count + kind->building < best->count + best->building))
			best = kind;
	return best;
}

static void look_at_memory(struct stock *stock, uint64_t now_us)
{
	if (!stock->kinds || now_us - stock->looked_us < TICK_MS * 1000)
		return;
	stock->looked_us = now_us;
	stock->is_pressed = pool_is_pressed_now();
}

int stock_tend(struct launcher *launcher)
{
	struct stock *stock = &launcher->stock;
	const uint64_t now_us = clock_us();
	struct stock_kind *kind;

	reap(stock, 0);
	look_at_memory(stock, now_us);
	for (struct stock_kind **at = &stock->kinds; *at;) {
		struct stock_kind *here = *at;

		if (stock->is_pressed || is_over(launcher, here, now_us))
			drop(stock, at);
		else
			trim(stock, here, now_us);
		if (*at == here)
			at = &here->next;
	}
	if (call_is_stuck(launcher) || !choose(launcher, now_us))
		return TICK_MS;
	if (now_us - stock->taken_us < REST_US)
		return (int)((REST_US - (now_us - stock->taken_us)) / 1000) + 1;
	while ((kind = choose(launcher, now_us)))
		park(launcher, kind);
	return TICK_MS;
}

void stock_done(struct stock *stock)
{
	for (struct stock_kind **at = &stock->kinds; *at;) {
		(*at)->building = 0;
		drop(stock, at);
	}
	reap(stock, clock_us() + END_US);
}
