/*
 * envd_numbers: what a sandbox uses, and what has happened in it. The numbers are the keeper's, from the sandbox's control group; only what its
 * disk has left is the word of its agent. The log has the beginnings and ends of programs; their output is read from them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/fd.h"
#include "host/front/envd.h"
#include "policy/policy.h"
#include "runtime/library/library.h"

#define BETWEEN_MS 100 /* two looks at the CPU time */
#define LINES      1000
#define LINE_BYTES 1024

struct numbers_visit {
	struct visit visit;
	uint64_t cpu_us, looked_us; /* of the first look; looked_us 0: there was none */
	double cpu_percent;
	uint64_t memory_bytes, memory_max, cpu_milli;
	bool again; /* the second look has begun */
};

static struct numbers_visit *of_visit(struct visit *visit)
{
	return (struct numbers_visit *)(void *)visit;
}

static void write_when(struct json_writer *w, uint64_t ms)
{
	const time_t seconds = (time_t)(ms / 1000);
	struct tm utc;
	char text[64];

	gmtime_r(&seconds, &utc);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
	json_key_string(w, "timestamp", text);
}

/* ---- metrics ---- */

static void write_number(struct json_writer *w, const char *key, double number)
{
	char text[40];

	snprintf(text, sizeof(text), "%.2f", number);
	json_key(w, key);
	json_number(w, text);
}

/* A sandbox has one form for its own clients, and another one for those of its tenant. */
static void reply_numbers(struct numbers_visit *numbers, const struct agent_space *space)
{
	const bool own = strcmp(numbers->visit.x->path, "/metrics") == 0;
	const uint64_t now_ms = clock_wall_ms();
	const uint64_t cpus = (numbers->cpu_milli + 999) / 1000;
	struct json_writer w = { 0 };

	if (!own)
		json_begin_array(&w);
	json_begin_object(&w);
	if (own) {
		json_key_uint(&w, "ts", now_ms / 1000);
	} else {
		write_when(&w, now_ms);
		json_key_uint(&w, "timestampUnix", now_ms / 1000);
	}
	json_key_uint(&w, own ? "cpu_count" : "cpuCount", cpus);
	write_number(&w, own ? "cpu_used_pct" : "cpuUsedPct", numbers->cpu_percent);
	json_key_uint(&w, own ? "mem_total" : "memTotal", numbers->memory_max);
	json_key_uint(&w, own ? "mem_used" : "memUsed", numbers->memory_bytes);
	json_key_uint(&w, own ? "disk_used" : "diskUsed", space->used);
	json_key_uint(&w, own ? "disk_total" : "diskTotal", space->total);
	json_end_object(&w);
	if (!own)
		json_end_array(&w);
	visit_reply(&numbers->visit, &w);
}

static void said(struct visit *visit, enum agent_say type, const char *body, size_t len)
{
	struct agent_space space;

	if (visit->over || type == AGENT_END)
		return;
	if (type != AGENT_SPACE_LEFT) {
		visit_fail(visit, CONNECT_INTERNAL,
			   "the sandbox's agent sent something else than was asked for");
		return;
	}
	memcpy(&space, body, sizeof(space));
	reply_numbers(of_visit(visit), &space);
}

static int take_limits(struct numbers_visit *numbers, struct warder_error *err)
{
	const char *text = numbers->visit.policy;
	struct warder_policy *policy = NULL;

	if (warder_policy_parse(text, strlen(text), "policy", &policy, err) != 0)
		return -1;
	numbers->memory_max = policy->policy.limits.memory_bytes;
	numbers->cpu_milli = policy->policy.limits.cpu_milli;
	warder_policy_free(policy);
	return 0;
}

/* The second look has the difference to the first one. */
static void take_counters(struct numbers_visit *numbers, const uint64_t *values)
{
	struct visit *visit = &numbers->visit;
	const uint64_t now_us = clock_us();
	const uint64_t cpu_us = values[RECORD_COUNTER_CPU_US];

	if (cpu_us == UINT64_MAX || values[RECORD_COUNTER_MEMORY] == UINT64_MAX) {
		visit_fail(visit, CONNECT_UNIMPLEMENTED,
			   "this host has no control group for the sandbox, and counts nothing");
	} else if (!numbers->looked_us) {
		numbers->looked_us = now_us;
		numbers->cpu_us = cpu_us;
		visit_keep_alive(visit, BETWEEN_MS);
	} else {
		numbers->memory_bytes = values[RECORD_COUNTER_MEMORY];
		numbers->cpu_percent =
		    cpu_us > numbers->cpu_us && now_us > numbers->looked_us
			? 100.0 * (double)(cpu_us - numbers->cpu_us) / (double)(now_us - numbers->looked_us)
			: 0;
		visit_ask_agent(visit, AGENT_SPACE, 0, 0, "~");
	}
}

static void ask_counters(struct visit *visit)
{
	struct warder_error err = { 0 };

	channel_choose(visit->channel, "");
	if (channel_ask(visit->channel, RECORD_COUNTERS, 0, &err) < 0)
		visit_error(visit, &err);
}

static void look_again(struct visit *visit)
{
	if (of_visit(visit)->again || !visit->channel)
		return;
	of_visit(visit)->again = true;
	ask_counters(visit);
}

static void numbers_answered(void *of, enum record_type request, const struct record_answer *answer,
			     const char *text)
{
	struct warder_error err = { 0 };

	if (answer->failed)
		visit_error(of, &answer->error);
	else if (take_limits(of, &err) < 0)
		visit_error(of, &err);
	else
		take_counters(of, answer->values);
}

static const struct channel_events numbers_events = { .answered = numbers_answered,
						      .agent = visit_take_agent,
						      .lost = visit_lost };

void envd_metrics(struct exchange *x)
{
	struct numbers_visit *numbers = (struct numbers_visit *)(void *)visit_new(x, sizeof(*numbers));

	if (!numbers)
		return;
	numbers->visit.events = &numbers_events;
	numbers->visit.begin = ask_counters;
	numbers->visit.uses_agent = true;
	numbers->visit.tick = look_again;
	numbers->visit.said = said;
	numbers->visit.needs_policy = true;
	visit_open(&numbers->visit);
}

/* ---- the log ---- */

struct line {
	uint64_t ms;
	const char *level;
	char text[LINE_BYTES];
};

struct lines {
	struct line *items;
	size_t count;
	bool failed;
};

static int by_time(const void *a, const void *b)
{
	const struct line *first = a, *second = b;

	return first->ms < second->ms ? -1 : first->ms > second->ms;
}

static struct line *add_line(struct lines *lines, uint64_t ms, const char *level)
{
	struct line *grown = realloc(lines->items, (lines->count + 1) * sizeof(*grown));

	if (!grown) {
		lines->failed = true;
		return NULL;
	}
	lines->items = grown;
	grown[lines->count] = (struct line){ .ms = ms, .level = level };
	return &grown[lines->count++];
}

/* Also of contexts, and of an agent that has ended: it may have been there before the sandbox had its client. */
static void add_lines(struct lines *lines, const struct json_value *row)
{
	const char *id = json_member_text(row, "id", "");
	const struct json_value *command = json_member(row, "command");
	const char *cause = json_member_text(row, "cause", NULL);
	const struct json_value *code = json_member(row, "exitCode");
	const bool good = cause && strcmp(cause, "exit") == 0 && code && code->is_uint && code->uint == 0;
	const struct json_value *agent = json_member(row, "agent");
	struct line *line =
	    agent && !cause ? NULL : add_line(lines, json_member_uint(row, "startedMs"), "info");
	size_t len;

	if (!line)
		return;
	len = (size_t)snprintf(line->text, sizeof(line->text), "%s began:", id);
	for (const struct json_value *word = command ? command->child : NULL;
	     word && len < sizeof(line->text); word = word->next)
		len += (size_t)snprintf(line->text + len, sizeof(line->text) - len, " %s",
					word->type == JSON_STRING ? word->string : "");
	line = cause ? add_line(lines, json_member_uint(row, "endedMs"), good ? "info" : "warn") : NULL;
	if (!line)
		return;
	len = (size_t)snprintf(line->text, sizeof(line->text), "%s ended: %s", id, cause);
	if (code && code->is_uint)
		snprintf(line->text + len, sizeof(line->text) - len, ", exit code %llu",
			 (unsigned long long)code->uint);
}

static void write_line(struct json_writer *w, const struct line *line, bool whole)
{
	json_begin_object(w);
	write_when(w, line->ms);
	json_key_string(w, whole ? "message" : "line", line->text);
	if (whole) {
		json_key_string(w, "level", line->level);
		json_key(w, "fields");
		json_begin_object(w);
		json_end_object(w);
	}
	json_end_object(w);
}

static void write_lines(struct json_writer *w, const struct exchange *x, const struct lines *lines,
			const char *key, bool whole)
{
	const char *since =
	    exchange_query(x, "cursor") ? exchange_query(x, "cursor") : exchange_query(x, "start");
	const char *most = exchange_query(x, "limit"), *way = exchange_query(x, "direction");
	const uint64_t since_ms = since ? strtoull(since, NULL, 10) : 0;
	const uint64_t limit = most ? strtoull(most, NULL, 10) : LINES;
	const bool backward = way && strcmp(way, "backward") == 0;
	uint64_t count = 0;

	json_key(w, key);
	json_begin_array(w);
	for (size_t i = 0; i < lines->count && count < limit; i++) {
		const struct line *line = &lines->items[backward ? lines->count - 1 - i : i];

		if (since && (backward ? line->ms > since_ms : line->ms < since_ms))
			continue;
		write_line(w, line, whole);
		count++;
	}
	json_end_array(w);
}

static void log_answered(void *of, enum record_type request, const struct record_answer *answer,
			 const char *text)
{
	struct visit *visit = of;
	const bool second = strncmp(visit->x->path, "/v2/", 4) == 0;
	struct json_value *rows = answer->failed ? NULL : visit_rows(visit, text);
	struct lines lines = { 0 };
	struct json_writer w = { 0 };

	if (answer->failed)
		visit_error(visit, &answer->error);
	if (!rows)
		return;
	for (const struct json_value *row = rows->child; row; row = row->next)
		add_lines(&lines, row);
	json_free(rows);
	if (lines.count > 1)
		qsort(lines.items, lines.count, sizeof(*lines.items), by_time);
	json_begin_object(&w);
	write_lines(&w, visit->x, &lines, "logs", second);
	if (!second)
		write_lines(&w, visit->x, &lines, "logEntries", true);
	json_end_object(&w);
	free(lines.items);
	if (lines.failed)
		json_fail(&w);
	visit_reply(visit, &w);
}

static const struct channel_events log_events = { .answered = log_answered, .lost = visit_lost };

static void ask_rows(struct visit *visit)
{
	struct warder_error err = { 0 };

	if (channel_list_briefly(visit->channel, &err) < 0)
		visit_error(visit, &err);
}

void envd_logs(struct exchange *x)
{
	struct visit *visit = visit_new(x, sizeof(*visit));

	if (!visit)
		return;
	visit->events = &log_events;
	visit->begin = ask_rows;
	visit_open(visit);
}
