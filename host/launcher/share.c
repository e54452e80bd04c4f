/*
 * The share of a tenant: what its sandboxes and runs take at the moment, and how many launches it began in this second, against its limits.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "host/launcher/call.h"
#include "runtime/session/session.h"

#define SECOND_US UINT64_C(1000000)

int call_refuse_share(struct call *call, unsigned int retry_s, struct warder_error *err, const char *field,
		      const char *what, uint64_t has, uint64_t most)
{
	call->answer.retry_s = retry_s;
	call->answer.status = 429;
	return error_set(err, WARDER_ERROR_UNAVAILABLE, field,
			 "the tenant has %" PRIu64 " %s, may have %" PRIu64
			 ", and this request would exceed that",
			 has, what, most);
}

static struct launcher_rate *rate_of(struct launcher *launcher, const char *tenant)
{
	struct launcher_rate *grown;

	for (size_t i = 0; i < launcher->rate_count; i++)
		if (strcmp(launcher->rates[i].tenant, tenant) == 0)
			return &launcher->rates[i];
	grown = realloc(launcher->rates, (launcher->rate_count + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	launcher->rates = grown;
	grown[launcher->rate_count] = (struct launcher_rate){ 0 };
	snprintf(grown[launcher->rate_count].tenant, sizeof(grown->tenant), "%s", tenant);
	return &grown[launcher->rate_count++];
}

bool call_take_launch(struct launcher *launcher, const char *tenant, uint64_t most)
{
	struct launcher_rate *rate = rate_of(launcher, tenant);
	const uint64_t now_us = clock_us();

	if (!rate)
		return false;
	if (now_us - rate->since_us >= SECOND_US) {
		rate->since_us = now_us;
		rate->count = 0;
	}
	if (rate->count >= most)
		return false;
	rate->count++;
	return true;
}

/* Whether `asked` more fits below `limit`, where `used` are taken. No sum can overflow. */
static bool fits(uint64_t limit, uint64_t used, uint64_t asked)
{
	return used <= limit && asked <= limit - used;
}

struct tenant_use call_use(const struct launcher *launcher, const char *tenant)
{
	struct tenant_use use = sandboxes_use(&launcher->sandboxes, tenant);

	use.artifact_bytes = run_artifacts_bytes(&launcher->artifacts, tenant);
	for (const struct call *run = launcher->runs; run; run = run->next_run)
		if (strcmp(run->tenant, tenant) == 0) {
			use.memory_bytes += run->memory_bytes;
			use.cpu_milli += run->cpu_milli;
			use.artifact_bytes += run->spool ? ARTIFACT_RUN_BYTES : 0;
		}
	return use;
}

static int check_queue(const struct launcher *launcher, const struct tenant *tenant, struct call *call,
		       struct warder_error *err)
{
	const uint64_t most = tenant->limits.queue;

	return jobs_waiting(&launcher->jobs, tenant->name) < most
		   ? 0
		   : call_refuse_share(call, 1, err, "queue", "requests that wait", most, most);
}

int call_count_launch(struct launcher *launcher, const struct tenant *tenant, struct call *call,
		      struct warder_error *err)
{
	const struct tenant_limits *limits = &tenant->limits;

	if (check_queue(launcher, tenant, call, err) < 0)
		return -1;
	if (!call_take_launch(launcher, tenant->name, limits->launches_per_second))
		return call_refuse_share(call, 1, err, "launchesPerSecond", "launches in this second",
					 limits->launches_per_second, limits->launches_per_second);
	return 0;
}

static int check_artifacts(const struct tenant_use *use, const struct tenant_limits *limits,
			   struct call *call, struct warder_error *err)
{
	return fits(limits->artifact_bytes, use->artifact_bytes, ARTIFACT_RUN_BYTES)
		   ? 0
		   : call_refuse_share(call, 5, err, "artifactBytes", "MiB of artifacts",
				       use->artifact_bytes >> 20, limits->artifact_bytes >> 20);
}

int call_admit_artifacts(const struct launcher *launcher, const struct tenant *tenant, struct call *call,
			 struct warder_error *err)
{
	const struct tenant_use use = call_use(launcher, tenant->name);

	return check_artifacts(&use, &tenant->limits, call, err) < 0
		   ? -1
		   : check_queue(launcher, tenant, call, err);
}

int call_admit(struct launcher *launcher, const struct tenant *tenant, const struct policy *policy,
	       bool sandbox, struct call *call, struct warder_error *err)
{
	const struct tenant_limits *limits = &tenant->limits;
	const struct tenant_use use = call_use(launcher, tenant->name);

	if (sandbox && use.sandboxes >= limits->sandboxes)
		return call_refuse_share(call, 5, err, "sandboxes", "sandboxes", use.sandboxes,
					 limits->sandboxes);
	if (!fits(limits->memory_bytes, use.memory_bytes, policy->limits.memory_bytes))
		return call_refuse_share(call, 5, err, "limits.memory", "MiB of memory in its sandboxes",
					 use.memory_bytes >> 20, limits->memory_bytes >> 20);
	if (!fits(limits->cpu_milli, use.cpu_milli, policy->limits.cpu_milli))
		return call_refuse_share(call, 5, err, "limits.cpus", "thousandths of a CPU in its sandboxes",
					 use.cpu_milli, limits->cpu_milli);
	if (sandbox && !fits(limits->spool_bytes, use.spool_bytes, SPOOLS_BYTES_MAX))
		return call_refuse_share(call, 5, err, "spoolBytes", "MiB of kept output in its sandboxes",
					 use.spool_bytes >> 20, limits->spool_bytes >> 20);
	if (call->spool && check_artifacts(&use, limits, call, err) < 0)
		return -1;
	return call_count_launch(launcher, tenant, call, err);
}

bool call_name_tenant(const struct context *context, struct call *call)
{
	const struct launcher_rate *rate = rate_of(context->launcher, context->tenant->name);

	if (rate)
		call->answer.tenant = (uint64_t)(rate - context->launcher->rates) + 1;
	return rate != NULL;
}
