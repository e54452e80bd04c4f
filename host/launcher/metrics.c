#include "host/launcher/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "host/launcher/call.h"
#include "host/launcher/host.h"

static const char *const kinds[METRICS_KINDS] = { [METRICS_RUN] = "run", [METRICS_SANDBOX] = "sandbox" };

/* Upper ends of the buckets. */
static const struct {
	uint64_t us;
	const char *label;
} buckets[METRICS_BUCKETS] = {
	{ 1000, "0.001" },  { 2500, "0.0025" }, { 5000, "0.005" },  { 10000, "0.01" },
	{ 25000, "0.025" }, { 50000, "0.05" },  { 100000, "0.1" },  { 250000, "0.25" },
	{ 500000, "0.5" },  { 1000000, "1" },   { 2500000, "2.5" }, { 10000000, "10" },
};

void metrics_ended(struct metrics *metrics, const char *cause)
{
	for (size_t i = 0; cause && i < METRICS_CAUSES; i++) {
		if (metrics->causes[i].name && strcmp(metrics->causes[i].name, cause) != 0)
			continue;
		metrics->causes[i].name = cause;
		metrics->causes[i].count++;
		return;
	}
}

void metrics_launched(struct metrics *metrics, enum metrics_kind kind, uint64_t us)
{
	size_t i = 0;

	while (i < METRICS_BUCKETS && us > buckets[i].us)
		i++;
	if (i < METRICS_BUCKETS)
		metrics->launches[kind].within[i]++;
	metrics->launches[kind].count++;
	metrics->launches[kind].sum_us += us;
}

void metrics_refused(struct metrics *metrics, unsigned int status)
{
	if (status < ARRAY_LENGTH(metrics->refused))
		metrics->refused[status]++;
}

/* ---- the text ---- */

static void head(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void gauge(FILE *out, const char *name, const char *help, uint64_t value)
{
	head(out, name, "gauge", help);
	fprintf(out, "%s %" PRIu64 "\n", name, value);
}

static void counter(FILE *out, const char *name, const char *help, uint64_t value)
{
	head(out, name, "counter", help);
	fprintf(out, "%s %" PRIu64 "\n", name, value);
}

static void write_launches(FILE *out, const struct metrics *metrics)
{
	head(out, "warder_launch_seconds", "histogram",
	     "Time from the start of the work to the start of the program or sandbox.");
	for (size_t kind = 0; kind < METRICS_KINDS; kind++) {
		uint64_t within = 0;

		for (size_t i = 0; i < METRICS_BUCKETS; i++) {
			within += metrics->launches[kind].within[i];
			fprintf(out, "warder_launch_seconds_bucket{kind=\"%s\",le=\"%s\"} %" PRIu64 "\n",
				kinds[kind], buckets[i].label, within);
		}
		fprintf(out,
			"warder_launch_seconds_bucket{kind=\"%s\",le=\"+Inf\"} %" PRIu64 "\n"
			"warder_launch_seconds_sum{kind=\"%s\"} %" PRIu64 ".%06" PRIu64 "\n"
			"warder_launch_seconds_count{kind=\"%s\"} %" PRIu64 "\n",
			kinds[kind], metrics->launches[kind].count, kinds[kind],
			metrics->launches[kind].sum_us / 1000000, metrics->launches[kind].sum_us % 1000000,
			kinds[kind], metrics->launches[kind].count);
	}
}

static void write_counters(FILE *out, const struct metrics *metrics)
{
	head(out, "warder_programs_ended_total", "counter",
	     "Programs of /v1/run, /v1/code and /v1/judge, by their cause of death.");
	for (size_t i = 0; i < METRICS_CAUSES && metrics->causes[i].name; i++)
		fprintf(out, "warder_programs_ended_total{cause=\"%s\"} %" PRIu64 "\n",
			metrics->causes[i].name, metrics->causes[i].count);
	head(out, "warder_launches_failed_total", "counter", "Launches that this host could not make.");
	for (size_t kind = 0; kind < METRICS_KINDS; kind++)
		fprintf(out, "warder_launches_failed_total{kind=\"%s\"} %" PRIu64 "\n", kinds[kind],
			metrics->failed[kind]);
	head(out, "warder_requests_refused_total", "counter", "Requests that were refused, by status.");
	for (size_t status = 0; status < ARRAY_LENGTH(metrics->refused); status++)
		if (metrics->refused[status])
			fprintf(out, "warder_requests_refused_total{status=\"%zu\"} %" PRIu64 "\n", status,
				metrics->refused[status]);
}

static void write_pool(FILE *out, const struct launcher *launcher)
{
	static const struct {
		const char *member, *name, *type, *help;
	} rows[] = {
		{ "parked", "warder_pool_parked", "gauge", "Jails that are parked, ready for a program." },
		{ "handedOut", "warder_pool_handed_out_total", "counter",
		  "Programs that got a parked jail." },
		{ "launched", "warder_pool_launched_total", "counter",
		  "Programs for which no jail was parked." },
	};
	char *text = warder_pool_stats(launcher->pool);
	struct json_value *stats = NULL;
	struct warder_error ignored;

	if (text && json_parse(text, strlen(text), "pool", NULL, &stats, &ignored) == 0)
		for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
			const struct json_value *value = json_member(stats, rows[i].member);

			if (!value || !value->is_uint)
				continue;
			head(out, rows[i].name, rows[i].type, rows[i].help);
			fprintf(out, "%s %" PRIu64 "\n", rows[i].name, value->uint);
		}
	json_free(stats);
	free(text);
}

static void write_gauges(FILE *out, const struct launcher *launcher, bool stuck)
{
	static const char *const states[] = { "starting", "running", "ending", "paused" };
	uint64_t counts[ARRAY_LENGTH(states)] = { 0 };
	uint64_t waiting = 0;

	for (size_t i = 0; i < launcher->sandboxes.count; i++) {
		const struct sandbox *sandbox = launcher->sandboxes.items[i];

		if (sandbox->state == SANDBOX_STARTING)
			counts[0]++;
		else if (sandbox->state == SANDBOX_ENDING)
			counts[2]++;
		else
			counts[sandbox->paused_ms ? 3 : 1]++;
	}
	for (const struct job *job = launcher->jobs.queued; job; job = job->next)
		waiting++;
	head(out, "warder_sandboxes", "gauge", "Sandboxes, by state.");
	for (size_t i = 0; i < ARRAY_LENGTH(states); i++)
		fprintf(out, "warder_sandboxes{state=\"%s\"} %" PRIu64 "\n", states[i], counts[i]);
	gauge(out, "warder_jobs_running", "Requests that a thread works on.", launcher->jobs.running_count);
	gauge(out, "warder_jobs_waiting", "Requests that wait for a thread.", waiting);
	gauge(out, "warder_tenants", "Tenants.", launcher->tenants.count);
	gauge(out, "warder_stuck", "1 if a probe launch hangs, so that nothing is launched.", stuck);
	gauge(out, "warder_start_time_seconds", "Start of the launcher, since the epoch.",
	      launcher->started_ms / 1000);
	gauge(out, "warder_sandboxes_parked", "Sandboxes that are parked, ready for a tenant.",
	      launcher->stock.parked);
	counter(out, "warder_sandboxes_handed_out_total", "New sandboxes that were parked before.",
		launcher->stock.handed_out);
	counter(out, "warder_sandboxes_missed_total",
		"New sandboxes for which none was parked, although the policy allows it.",
		launcher->stock.missed);
	counter(out, "warder_sandboxes_park_failed_total", "Sandboxes that could not be parked.",
		launcher->stock.failed);
	counter(out, "warder_front_starts_total", "Starts of the front.", launcher->front.generation);
}

char *metrics_text(const struct launcher *launcher, bool stuck)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		return NULL;
	write_counters(out, &launcher->metrics);
	write_launches(out, &launcher->metrics);
	write_gauges(out, launcher, stuck);
	write_pool(out, launcher);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}
