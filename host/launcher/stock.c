/*
 * stock: a client chooses the policies of its sandboxes, so kinds are a resource that a tenant could use up. A tenant has at most KINDS_A_TENANT of
 * them, all tenants together KINDS_MOST. A further kind takes the place of one of the tenant that has the most: one without a second creation,
 * else the one that was used the longest time ago. A kind is parked after its second creation, because many policies, for example with an `env` of
 * their own, are used once. After a parking that failed, none is launched until the tenant creates another sandbox of that kind.
 *
 * The agent of a sandbox serves calls about its files and its ports. It is an execution, which takes about as long to start as the rest of the
 * jail. So a kind whose sandboxes end without a use of it is parked without, until a client uses one.
 */
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

#define A_KIND_MOST    16
#define KINDS_MOST     64
#define KINDS_A_TENANT 16
#define RECORD_MOST                                                                                          \
	(64u << 10) /* bytes of the record of a sandbox whose policy is copied, and compared with others */
#define BUILDING_MOST 4
#define WINDOW_US     UINT64_C(250000)   /* in which creations are counted */
#define CALM_US       UINT64_C(10000000) /* after which half as many are enough */
#define IDLE_US       UINT64_C(60000000) /* after which a kind is given up */
#define REST_US       UINT64_C(5000)     /* after a creation, whose client uses the processors */
#define PAUSE_US      UINT64_C(5000000) /* after one could not be parked; twice as long after each further one */
#define PAUSES_MOST   4                 /* times that it is doubled */
#define LOG_US        UINT64_C(10000000) /* between two lines about that */
#define AGENT_UNUSED  16 /* sandboxes of a kind that end in a row with unused agents, until it has none */
#define TICK_MS       1000
#define END_US        UINT64_C(10000000)

struct stock_ending {
	struct stock_ending *next;
	struct session_parked *parked; /* owned */
};

/* A tenant that has kinds. */
struct stock_owner {
	struct stock_owner *next;
	char tenant[TENANT_NAME_MAX + 1];
	char tenant_digest[SHA256_HEX];
	size_t kinds;
	size_t sandboxes; /* that are parked, or will be */
};

struct stock_kind {
	struct stock_kind *next;
	uint64_t number;
	struct stock_owner *owner;    /* the stock's */
	struct warder_policy *policy; /* owned */
	struct session_parked *parked[A_KIND_MOST];
	size_t count, building, wanted;
	uint64_t used_us;       /* when a sandbox was last created */
	uint64_t window_us;     /* since when creations are counted */
	size_t created;         /* since then */
	uint64_t reached_us;    /* when as many as are wanted were last created within a window */
	uint64_t not_before_us; /* none is parked before */
	bool repeated;          /* there was a second creation, or will be at the next one */
	unsigned int unused;    /* sandboxes that ended without a use of their agents, since one was used */
	bool told;              /* the log says why none can be parked */
	unsigned int failures;  /* in a row */
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

static struct stock_owner *find_owner(const struct stock *stock, const struct call *call)
{
	struct stock_owner *owner = stock->owners;

	while (owner && (strcmp(owner->tenant, call->tenant) != 0 ||
			 strcmp(owner->tenant_digest, call->tenant_digest) != 0))
		owner = owner->next;
	return owner;
}

/* NULL: no memory. */
static struct stock_owner *add_owner(struct stock *stock, const struct call *call)
{
	struct stock_owner *owner = calloc(1, sizeof(*owner));

	if (!owner)
		return NULL;
	snprintf(owner->tenant, sizeof(owner->tenant), "%s", call->tenant);
	memcpy(owner->tenant_digest, call->tenant_digest, sizeof(owner->tenant_digest));
	owner->next = stock->owners;
	stock->owners = owner;
	return owner;
}

static void forget_owner(struct stock *stock, struct stock_owner *owner)
{
	struct stock_owner **at = &stock->owners;

	while (*at != owner)
		at = &(*at)->next;
	*at = owner->next;
	free(owner);
}

static struct stock_kind *find(const struct stock *stock, const struct stock_owner *owner,
			       const struct policy *policy)
{
	struct stock_kind *kind = owner ? stock->kinds : NULL;

	while (kind && (kind->owner != owner || !policy_equal(&kind->policy->policy, policy)))
		kind = kind->next;
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

/* One that was parked is no longer of its kind. */
static void count_off(struct stock *stock, struct stock_kind *kind)
{
	stock->parked--;
	kind->count--;
	kind->owner->sandboxes--;
}

static void end_one(struct stock *stock, struct stock_kind *kind)
{
	count_off(stock, kind);
	end(stock, kind->parked[kind->count]);
}

/* One with a job is only dropped later: its jobs need it. */
static void drop(struct stock *stock, struct stock_kind **at)
{
	struct stock_kind *kind = *at;

	while (kind->count)
		end_one(stock, kind);
	if (kind->building) {
		kind->wanted = 0;
		return;
	}
	*at = kind->next;
	stock->kind_count--;
	if (!--kind->owner->kinds)
		forget_owner(stock, kind->owner);
	warder_policy_free(kind->policy);
	free(kind);
}

/* Whether `a` is dropped before `b`, if there are too many kinds. */
static bool goes_before(const struct stock_kind *a, const struct stock_kind *b)
{
	if (a->owner->kinds != b->owner->kinds)
		return a->owner->kinds > b->owner->kinds;
	if (!a->wanted != !b->wanted)
		return !a->wanted;
	return a->used_us < b->used_us;
}

/* Drop a kind of that owner (NULL: of any) that has no job. */
static void drop_one(struct stock *stock, const struct stock_owner *owner)
{
	struct stock_kind **first = NULL;

	for (struct stock_kind **at = &stock->kinds; *at; at = &(*at)->next)
		if (!(*at)->building && (!owner || (*at)->owner == owner) &&
		    (!first || goes_before(*at, *first)))
			first = at;
	if (first)
		drop(stock, first);
}

/* NULL: no memory. */
static struct stock_kind *add(struct stock *stock, const struct call *call,
			      const struct warder_policy *policy)
{
	struct stock_owner *owner = find_owner(stock, call);
	struct stock_kind *kind;
	struct warder_error ignored;

	if (owner && owner->kinds >= KINDS_A_TENANT)
		drop_one(stock, owner);
	else if (stock->kind_count >= KINDS_MOST)
		drop_one(stock, NULL);
	owner = find_owner(stock, call); /* it may have lost its only kind */
	kind = calloc(1, sizeof(*kind));
	if (kind && !owner)
		owner = add_owner(stock, call);
	if (!kind || !owner || call_copy_policy(policy, &kind->policy, &ignored) < 0) {
		if (owner && !owner->kinds)
			forget_owner(stock, owner);
		free(kind);
		return NULL;
	}
	kind->owner = owner;
	kind->number = ++stock->last_kind;
	owner->kinds++;
	kind->next = stock->kinds;
	stock->kinds = kind;
	stock->kind_count++;
	return kind;
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
	kind->created++;
	if (!kind->repeated || kind->created < kind->wanted) {
		kind->repeated = true;
		return;
	}
	kind->wanted = kind->created < A_KIND_MOST ? kind->created : A_KIND_MOST;
	kind->reached_us = now_us;
}

/* The oldest one that lives. */
static struct session_parked *take(struct stock *stock, struct stock_kind *kind)
{
	while (kind->count) {
		struct session_parked *parked = kind->parked[0];

		count_off(stock, kind);
		memmove(kind->parked, kind->parked + 1, kind->count * sizeof(kind->parked[0]));
		if (session_parked_lives(parked))
			return parked;
		session_parked_free(parked);
	}
	return NULL;
}

struct session_parked *stock_take(struct launcher *launcher, const struct call *call,
				  const struct warder_policy *policy, uint64_t *ret_kind)
{
	struct stock *stock = &launcher->stock;
	struct session_parked *parked;
	struct stock_kind *kind;

	if (!launcher->settings.limits.parked_sandboxes || !may_park(&policy->policy) ||
	    strlen(call->record) > RECORD_MOST)
		return NULL;
	kind = find(stock, find_owner(stock, call), &policy->policy);
	if (!kind)
		kind = add(stock, call, policy);
	if (!kind)
		return NULL;
	*ret_kind = kind->number;
	stock->taken_us = clock_us();
	count_creation(kind, stock->taken_us);
	parked = take(stock, kind);
	stock->handed_out += parked != NULL;
	stock->missed += parked == NULL;
	return parked;
}

static struct stock_kind *find_number(const struct stock *stock, uint64_t number)
{
	struct stock_kind *kind = stock->kinds;

	while (kind && kind->number != number)
		kind = kind->next;
	return kind;
}

void stock_agent_used(struct stock *stock, struct sandbox *sandbox)
{
	struct stock_kind *kind = sandbox->agent_used ? NULL : find_number(stock, sandbox->kind);

	sandbox->agent_used = true;
	if (kind)
		kind->unused = 0;
}

void stock_sandbox_ends(struct stock *stock, const struct sandbox *sandbox)
{
	struct stock_kind *kind = sandbox->agent_used ? NULL : find_number(stock, sandbox->kind);

	if (kind && kind->unused < AGENT_UNUSED)
		kind->unused++;
}

/* ---- parking ---- */

struct parking {
	struct job job;
	struct stock_kind *kind; /* main thread: it stays while it has a parking */
	const char *program;
	struct warder_policy *policy; /* owned */
	bool agent;
	struct session_parked *made;
	struct warder_error err;
};

static void park_work(struct job *job)
{
	struct parking *parking = (struct parking *)(void *)job;
	const struct warder_session_options options =
	    sandbox_session_options(parking->policy, parking->program);

	session_park(&options, parking->agent, &parking->made, &parking->err);
}

/* The text of the error may have words of the client's policy. */
static void tell_failure(const struct launcher *launcher, struct stock *stock, struct stock_kind *kind,
			 const struct warder_error *err, uint64_t now_us)
{
	char quoted[2 * sizeof(err->text)], line[sizeof(quoted) + 200];

	if (kind->told || (stock->told_us && now_us - stock->told_us < LOG_US))
		return;
	kind->told = true;
	stock->told_us = now_us;
	snprintf(line, sizeof(line), "no sandbox can be parked with a policy of tenant %s: %s",
		 kind->owner->tenant, json_quote(err->text, quoted, sizeof(quoted)));
	launcher->options->log(line);
}

/* Those that are there stay. */
static void note_failure(struct launcher *launcher, struct stock_kind *kind, const struct warder_error *err)
{
	const uint64_t now_us = clock_us();

	launcher->stock.failed++;
	kind->wanted = kind->count + kind->building;
	if (kind->not_before_us <= now_us) {
		kind->not_before_us = now_us + (PAUSE_US << kind->failures);
		kind->failures += kind->failures < PAUSES_MOST;
	}
	tell_failure(launcher, &launcher->stock, kind, err, now_us);
}

static void park_finish(struct job *job, void *of)
{
	struct parking *parking = (struct parking *)(void *)job;
	struct launcher *launcher = of;
	struct stock *stock = &launcher->stock;
	struct stock_kind *kind = parking->kind;

	stock->building--;
	kind->building--;
	if (parking->made && kind->count < A_KIND_MOST) {
		kind->parked[kind->count++] = parking->made;
		kind->failures = 0;
		stock->parked++;
	} else {
		kind->owner->sandboxes--;
		end(stock, parking->made);
		if (!parking->made)
			note_failure(launcher, kind, &parking->err);
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
	parking->agent = kind->unused < AGENT_UNUSED;
	parking->job = (struct job){ .tenant = "", .work = park_work, .finish = park_finish };
	kind->building++;
	kind->owner->sandboxes++;
	launcher->stock.building++;
	jobs_add(&launcher->jobs, &parking->job);
}

static bool has_room(const struct launcher *launcher)
{
	const struct stock *stock = &launcher->stock;

	return !stock->is_pressed && stock->building < BUILDING_MOST &&
	       stock->parked + stock->building < launcher->settings.limits.parked_sandboxes;
}

/* The kind that lacks the most of what it should have, and may get one now. Half of the stock at most is a tenant's. */
static struct stock_kind *choose(const struct launcher *launcher, uint64_t now_us)
{
	const size_t share = (launcher->settings.limits.parked_sandboxes + 1) / 2;
	struct stock_kind *best = NULL;

	for (struct stock_kind *kind = has_room(launcher) ? launcher->stock.kinds : NULL; kind;
	     kind = kind->next)
		if (kind->count + kind->building < kind->wanted && kind->not_before_us <= now_us &&
		    kind->owner->sandboxes < share &&
		    (!best || kind->count + kind->building < best->count + best->building))
			best = kind;
	return best;
}

/* ---- upkeep ---- */

static bool is_over(const struct launcher *launcher, const struct stock_kind *kind, uint64_t now_us)
{
	const struct tenant *tenant = tenants_named(&launcher->tenants, kind->owner->tenant);

	return now_us - kind->used_us >= IDLE_US || !tenant ||
	       strcmp(tenant->digest, kind->owner->tenant_digest) != 0;
}

/* Those that have ended are forgotten, and those that are too many ended. */
static void trim(struct stock *stock, struct stock_kind *kind, uint64_t now_us)
{
	for (size_t i = kind->count; i-- > 0;)
		if (!session_parked_lives(kind->parked[i])) {
			session_parked_free(kind->parked[i]);
			count_off(stock, kind);
			kind->parked[i] = kind->parked[kind->count];
		}
	if (kind->wanted > 1 && now_us - kind->reached_us >= CALM_US) {
		kind->wanted /= 2;
		kind->reached_us = now_us;
	}
	while (kind->count > kind->wanted)
		end_one(stock, kind);
}

static void upkeep(struct launcher *launcher, uint64_t now_us)
{
	struct stock *stock = &launcher->stock;

	stock->is_pressed = stock->kinds && pool_is_pressed_now();
	for (struct stock_kind **at = &stock->kinds; *at;) {
		struct stock_kind *here = *at;

		if (stock->is_pressed || is_over(launcher, here, now_us))
			drop(stock, at);
		else
			trim(stock, here, now_us);
		if (*at == here)
			at = &here->next;
	}
}

int stock_tend(struct launcher *launcher)
{
	struct stock *stock = &launcher->stock;
	const uint64_t now_us = clock_us();
	struct stock_kind *kind;

	reap(stock, 0);
	if (now_us - stock->tended_us >= TICK_MS * 1000) {
		stock->tended_us = now_us;
		upkeep(launcher, now_us);
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
	while (stock->kinds) {
		stock->kinds->building = 0;
		drop(stock, &stock->kinds);
	}
	reap(stock, clock_us() + END_US);
}
