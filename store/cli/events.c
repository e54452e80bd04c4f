/*
 * events: the collaboration log of a workspace: say something, listen, wait.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "policy/policy.h"
#include "runtime/cli/term.h"
#include "store/cli/command.h"
#include "store/cli/show.h"
#include "store/events/events.h"

#define EXIT_TIMEOUT 124
#define VALUE_SHOWN  48

/* ---- the workspace ---- */

/* What is written as a path is the directory that is there; anything else names a workspace as it is. */
static int root_of(const struct options *options, char ret[PATH_MAX], struct warder_error *err)
{
	const char *name = options->operands[0];

	if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && !strchr(name, '/')) {
		snprintf(ret, PATH_MAX, "%s", name);
		return 0;
	}
	if (realpath(name, ret))
		return 0;
	return error_set_errno(err, WARDER_ERROR_NOT_FOUND, "workspace", errno, "%.200s", name);
}

static int open_log(const struct options *options, bool existing, struct warder_events **ret,
		    struct warder_error *err)
{
	const struct warder_events_options how = { .size = sizeof(how),
						   .project_name = option(options, "--project"),
						   .session_id = option(options, "--session"),
						   .existing = existing };
	char root[PATH_MAX];

	if (root_of(options, root, err) != 0)
		return -1;
	return warder_events_open(option(options, "--store"), root, &how, ret, err);
}

/* ---- what logs say of themselves ---- */

static void write_about(struct json_writer *w, const struct warder_events_about *about)
{
	json_begin_object(w);
	json_key_string(w, "root", about->root);
	json_key_string(w, "projectName", about->project_name);
	if (about->session_id)
		json_key_string(w, "sessionId", about->session_id);
	json_key(w, "createdAt");
	json_int(w, about->created_ms);
	json_end_object(w);
}

static int create_command(const struct options *options, struct warder_error *err)
{
	struct warder_events *events = NULL;
	struct warder_events_about about;
	struct json_writer w = { 0 };

	if (open_log(options, false, &events, err) != 0)
		return -1;
	about = warder_events_about(events);
	write_about(&w, &about);
	warder_events_free(events);
	return term_put(json_take(&w), err);
}

static int print_logs_json(const struct warder_events_about *list, size_t count, struct warder_error *err)
{
	struct json_writer w = { 0 };

	json_begin_array(&w);
	for (size_t i = 0; i < count; i++)
		write_about(&w, &list[i]);
	json_end_array(&w);
	return term_put(json_take(&w), err);
}

static int list_command(const struct options *options, struct warder_error *err)
{
	struct warder_events_about *list = NULL;
	char time[32];
	size_t count;
	int status = 0;

	if (warder_events_list(option(options, "--store"), &list, &count, err) != 0)
		return -1;
	if (option_given(options, "--json")) {
		status = print_logs_json(list, count, err);
	} else if (count > 0) {
		term_title("created               project           workspace");
		for (size_t i = 0; i < count; i++) {
			printf("%s  ", show_time(list[i].created_ms, time, sizeof(time)));
			show_cell(list[i].project_name, 16, 0);
			fputs("  ", stdout);
			show_cell(list[i].root, 0, 0);
			putchar('\n');
		}
	}
	free(list);
	return status;
}

static int remove_command(const struct options *options, struct warder_error *err)
{
	char root[PATH_MAX];

	if (root_of(options, root, err) != 0)
		return -1;
	return warder_events_remove(option(options, "--store"), root, err);
}

/* ---- saying something ---- */

static int print_receipt(const struct options *options, const char *correlation_id, uint64_t sequence,
			 uint64_t receivers, struct warder_error *err)
{
	struct json_writer w = { 0 };

	if (!option_given(options, "--json")) {
		show_cell(correlation_id, 0, 0);
		putchar('\n');
		return 0;
	}
	json_begin_object(&w);
	json_key_string(&w, "correlationId", correlation_id);
	json_key_uint(&w, "sequence", sequence);
	json_key_uint(&w, "receivers", receivers);
	json_end_object(&w);
	return term_put(json_take(&w), err);
}

static void new_correlation(char *buf, size_t len)
{
	uint64_t number = 0;

	while (getrandom(&number, sizeof(number), 0) < 0 && errno == EINTR)
		continue;
	snprintf(buf, len, "task-%016" PRIx64, number);
}

/* The member of an event that is at fault is a flag here. Returns -1. */
static int name_flag(struct warder_error *err)
{
	static const char *const flags[][2] = { { "correlationId", "--correlation" },
						{ "topic", "--topic" },
						{ "producer", "--producer" },
						{ "consumer", "--consumer" },
						{ "payload", "--payload" } };

	for (size_t i = 0; i < ARRAY_LENGTH(flags); i++) {
		if (strcmp(err->field, flags[i][0]) != 0)
			continue;
		snprintf(err->field, sizeof(err->field), "%s", flags[i][1]);
		error_context(err, "%s", flags[i][1]);
		break;
	}
	return -1;
}

static int say(const struct options *options, enum warder_event_kind kind, struct warder_error *err)
{
	struct warder_event event = { .correlation_id = option(options, "--correlation"),
				      .topic = option(options, "--topic"),
				      .producer = option(options, "--producer"),
				      .consumer = option(options, "--consumer"),
				      .payload = option(options, "--payload"),
				      .kind = kind };
	struct warder_events *events = NULL;
	uint64_t sequence, receivers;
	char fresh[32];
	int status;

	if (!event.correlation_id && kind == WARDER_EVENT_NEED_WORK) {
		new_correlation(fresh, sizeof(fresh));
		event.correlation_id = fresh;
	}
	if (events_check(&event, err) != 0)
		return name_flag(err);
	if (open_log(options, false, &events, err) != 0)
		return -1;
	status = warder_events_publish(events, &event, &sequence, &receivers, err);
	warder_events_free(events);
	if (status != 0)
		name_flag(err);
	return status == 0 ? print_receipt(options, event.correlation_id, sequence, receivers, err) : -1;
}

#define SAY(name, kind)                                                                                      \
	static int name(const struct options *options, struct warder_error *err)                             \
	{                                                                                                    \
		return say(options, kind, err);                                                              \
	}

SAY(request_work_command, WARDER_EVENT_NEED_WORK)
SAY(claim_command, WARDER_EVENT_WORK_CLAIMED)
SAY(publish_command, WARDER_EVENT_WORK_PUBLISHED)
SAY(request_feedback_command, WARDER_EVENT_FEEDBACK_REQUESTED)
SAY(provide_feedback_command, WARDER_EVENT_FEEDBACK_PROVIDED)
SAY(block_command, WARDER_EVENT_BLOCKED)
SAY(complete_command, WARDER_EVENT_COMPLETED)

/* Every line of standard input that is not empty. 0 for all; -1 with *err for the first that fails, or is too long. */
static int each_line(int (*act)(void *context, const char *line, size_t len, struct warder_error *err),
		     void *context, struct warder_error *err)
{
	char *line = malloc(2 * EVENTS_LINE_MAX);
	int status = line ? 0 : error_no_memory(err, NULL);

	for (int number = 1; status == 0 && fgets(line, 2 * EVENTS_LINE_MAX, stdin); number++) {
		size_t len = strcspn(line, "\n");

		if (len == 2 * EVENTS_LINE_MAX - 1)
			status =
			    error_set(err, WARDER_ERROR_INVALID_REQUEST, "input", "longer than any event");
		else if (len > 0)
			status = act(context, line, len, err);
		if (status != 0)
			error_context(err, "line %d", number);
	}
	if (status == 0 && ferror(stdin))
		status = error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "input", errno, "standard input");
	free(line);
	return status;
}

struct posting {
	const struct options *options;
	struct warder_events *events;
};

static int post_line(void *context, const char *line, size_t len, struct warder_error *err)
{
	struct posting *posting = context;
	struct warder_event *event = NULL;
	uint64_t sequence, receivers;
	int status;

	if (warder_event_parse(line, len, &event, err) != 0)
		return -1;
	status = warder_events_publish(posting->events, event, &sequence, &receivers, err);
	if (status == 0)
		status = print_receipt(posting->options, event->correlation_id, sequence, receivers, err);
	warder_event_free(event);
	/* Who has read it may count on the event. */
	fflush(stdout);
	return status;
}

static int post_command(const struct options *options, struct warder_error *err)
{
	struct posting posting = { .options = options };
	int status;

	if (open_log(options, false, &posting.events, err) != 0)
		return -1;
	status = each_line(post_line, &posting, err);
	warder_events_free(posting.events);
	return status;
}

/* ---- listening ---- */

static int take_filter(const struct options *options, struct warder_event_filter *ret,
		       struct warder_error *err)
{
	const char *kind = option(options, "--kind");

	*ret = (struct warder_event_filter){ .size = sizeof(*ret),
					     .correlation_id = option(options, "--correlation"),
					     .topic = option(options, "--topic"),
					     .kind = warder_event_kind_from_name(kind) };
	if (!kind || ret->kind != WARDER_EVENT_ANY)
		return 0;
	return error_set(
	    err, WARDER_ERROR_INVALID_REQUEST, "--kind",
	    "\"%.40s\" is not a kind of event; known: needWork workClaimed workPublished feedbackRequested "
	    "feedbackProvided blocked completed",
	    kind);
}

/* In milliseconds; -1: no limit. */
static int take_timeout(const struct options *options, int otherwise, int *ret, struct warder_error *err)
{
	const char *text = option(options, "--timeout");
	uint64_t us;

	*ret = otherwise;
	if (!text)
		return 0;
	if (policy_parse_time(text, &us, err) != 0)
		return error_context(err, "--timeout");
	*ret = us / 1000 < INT_MAX ? (int)((us + 999) / 1000) : INT_MAX;
	return 0;
}

static int print_event_json(const struct warder_event *event, struct warder_error *err)
{
	int status = term_put(warder_event_json(event), err);

	fflush(stdout);
	return status;
}

static void print_event_row(const struct warder_event *event)
{
	char time[32];

	printf("%6" PRIu64 "  %s  ", event->sequence, show_time(event->timestamp_ms, time, sizeof(time)));
	show_cell(warder_event_kind_name(event->kind), 17, 0);
	fputs("  ", stdout);
	show_cell(event->correlation_id, 21, 0);
	fputs("  ", stdout);
	show_cell(event->producer, 0, 0);
	if (event->consumer) {
		fputs(" -> ", stdout);
		show_cell(event->consumer, 0, 0);
	}
	fputs(": ", stdout);
	show_cell(event->topic, 0, 0);
	if (strcmp(event->payload, "null") != 0) {
		fputs("  ", stdout);
		show_cell(event->payload, 0, VALUE_SHOWN);
	}
	putchar('\n');
	fflush(stdout);
}

static int print_event(const struct options *options, const struct warder_event *event,
		       struct warder_error *err)
{
	if (option_given(options, "--json"))
		return print_event_json(event, err);
	print_event_row(event);
	return 0;
}

/* Print up to `most` events (0: any number) until none comes for timeout_ms. *ret: how many came. */
static int listen_on(struct warder_subscription *subscription, const struct options *options, int timeout_ms,
		     uint64_t most, uint64_t *ret, struct warder_error *err)
{
	struct warder_event_filter filter;

	*ret = 0;
	if (take_filter(options, &filter, err) != 0)
		return -1;
	while (most == 0 || *ret < most) {
		struct warder_event *event = NULL;
		int status = warder_subscription_next(subscription, &filter, timeout_ms, &event, err);

		if (status != 0 || !event)
			return status;
		status = print_event(options, event, err);
		warder_event_free(event);
		if (status != 0)
			return -1;
		++*ret;
	}
	return 0;
}

#define HISTORY_MAX 1000000 /* events that --limit can ask for */

/* Where to listen from, and how long. */
struct listening {
	bool existing;
	uint64_t after;
	int timeout_ms;
	uint64_t most;
	bool newest; /* the newest `most`, not the first */
};

/* The newest ones of a log, in their order: those that came before them are forgotten on the way. */
static int print_newest(struct warder_subscription *subscription, const struct options *options,
			uint64_t most, struct warder_error *err)
{
	struct warder_event_filter filter;
	struct warder_event **ring = calloc(most, sizeof(struct warder_event *));
	uint64_t count = 0;
	int status = take_filter(options, &filter, err);

	if (!ring)
		return error_no_memory(err, NULL);
	while (status == 0) {
		struct warder_event *event = NULL;

		status = warder_subscription_next(subscription, &filter, 0, &event, err);
		if (status != 0 || !event)
			break;
		warder_event_free(ring[count % most]);
		ring[count++ % most] = event;
	}
	for (uint64_t i = count > most ? count - most : 0; i < count && status == 0; i++)
		status = print_event(options, ring[i % most], err);
	for (uint64_t i = 0; i < most; i++)
		warder_event_free(ring[i]);
	free(ring);
	return status;
}

/* A mistyped name makes a log that nobody else writes to. */
static void tell_new(const struct options *options, const struct warder_events *events)
{
	static const char *const flags[] = { "--correlation", "--kind", "--topic" };
	char name[96], value[64], filter[256] = "";
	size_t len = 0;

	for (size_t i = 0; i < ARRAY_LENGTH(flags); i++) {
		const char *given = option(options, flags[i]);

		if (given)
			len += (size_t)snprintf(filter + len, sizeof(filter) - len, " %s %s", flags[i],
						json_quote(given, value, sizeof(value)));
	}
	term_complain("the log of the workspace %s is new; waiting for an event%s%s",
		      json_quote(warder_events_about(events).root, name, sizeof(name)), len ? " with" : "",
		      filter);
}

/* A wait makes a missing log, and says so. */
static int open_to_listen(const struct options *options, bool existing, struct warder_events **ret,
			  struct warder_error *err)
{
	if (open_log(options, true, ret, err) == 0)
		return 0;
	if (existing || err->code != WARDER_ERROR_NOT_FOUND)
		return -1;
	if (open_log(options, false, ret, err) != 0)
		return -1;
	tell_new(options, *ret);
	return 0;
}

static int listen_to(const struct options *options, const struct listening *how, uint64_t *ret,
		     struct warder_error *err)
{
	struct warder_subscription *subscription = NULL;
	struct warder_events *events = NULL;
	int status = -1;

	if (open_to_listen(options, how->existing, &events, err) != 0)
		return -1;
	if (warder_events_subscribe(events, how->after, &subscription, err) == 0)
		status = how->newest ? print_newest(subscription, options, how->most, err)
				     : listen_on(subscription, options, how->timeout_ms, how->most, ret, err);
	if (status == 0 && warder_subscription_damaged(subscription) > 0)
		term_complain("%" PRIu64 " lines of the log are not events, and were left out",
			      warder_subscription_damaged(subscription));
	warder_subscription_free(subscription);
	warder_events_free(events);
	return status;
}

static int take_listening(const struct options *options, uint64_t after, int timeout_ms,
			  struct listening *ret, struct warder_error *err)
{
	long long number, most;

	if (option_number(options, "--after", 0, INT64_MAX, -1, &number, err) != 0 ||
	    option_number(options, "--limit", 1, INT64_MAX, 0, &most, err) != 0 ||
	    take_timeout(options, timeout_ms, &ret->timeout_ms, err) != 0)
		return -1;
	ret->after = number >= 0 ? (uint64_t)number : after;
	ret->most = (uint64_t)most;
	return 0;
}

static int history_command(const struct options *options, struct warder_error *err)
{
	struct listening how = { .existing = true };
	uint64_t count;

	if (take_listening(options, 0, 0, &how, err) != 0)
		return -1;
	/* Behind a given event, the first ones: so that one can go on. */
	how.newest = how.most && !option(options, "--after");
	if (how.newest && how.most > HISTORY_MAX)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--limit",
				 "%" PRIu64 " is too many; at most %d, or leave it out", how.most,
				 HISTORY_MAX);
	return listen_to(options, &how, &count, err);
}

static int follow_command(const struct options *options, struct warder_error *err)
{
	struct listening how = { 0 };
	uint64_t count;

	if (take_listening(options, WARDER_EVENTS_LATER, -1, &how, err) != 0)
		return -1;
	return listen_to(options, &how, &count, err);
}

static int wait_command(const struct options *options, struct warder_error *err)
{
	struct listening how = { 0 };
	uint64_t count;

	if (take_listening(options, WARDER_EVENTS_LATER, -1, &how, err) != 0)
		return -1;
	how.most = 1;
	if (listen_to(options, &how, &count, err) != 0)
		return -1;
	if (count > 0)
		return 0;
	term_complain("no event came in time");
	return EXIT_TIMEOUT;
}

/* ---- A2A ---- */

static int line_to_a2a(void *context, const char *line, size_t len, struct warder_error *err)
{
	struct warder_event *event = NULL;
	char *json;

	if (warder_event_parse(line, len, &event, err) != 0)
		return -1;
	json = warder_event_a2a(event);
	warder_event_free(event);
	return term_put(json, err);
}

static int to_a2a_command(const struct options *options, struct warder_error *err)
{
	return each_line(line_to_a2a, NULL, err);
}

static int line_from_a2a(void *context, const char *line, size_t len, struct warder_error *err)
{
	struct warder_event *event = NULL;
	int status;

	if (warder_event_from_a2a(line, len, &event, err) != 0)
		return -1;
	status = print_event_json(event, err);
	warder_event_free(event);
	return status;
}

static int from_a2a_command(const struct options *options, struct warder_error *err)
{
	return each_line(line_from_a2a, NULL, err);
}

/* ---- commands ---- */

#define SAY_FLAGS    "--store --json --correlation --topic --producer --consumer --payload --project --session"
#define LISTEN_FLAGS "--store --json --correlation --kind --topic --after --limit"

static const char about_workspace[] = "WORKSPACE names the log. It is a directory if it contains a \"/\" or "
				      "is exactly \".\"; else any name that you choose.\n";

#define EXAMPLE_REQUEST "warder events request-work job --topic parser --producer planner --correlation t1"

const struct command events_commands[] = {
	{ "events", "request-work", SAY_FLAGS, "WORKSPACE", 1, 1,
	  "announce that a task needs a worker (event needWork)", about_workspace, EXAMPLE_REQUEST,
	  request_work_command },
	{ "events", "claim", SAY_FLAGS, "WORKSPACE", 1, 1,
	  "announce that the sender (--producer) takes over a piece of work (event workClaimed)",
	  about_workspace, "warder events claim job --topic parser --producer coder --correlation t1",
	  claim_command },
	{ "events", "publish", SAY_FLAGS, "WORKSPACE", 1, 1,
	  "announce that work is done, with the work as --payload (event workPublished)", about_workspace,
	  NULL, publish_command },
	{ "events", "request-feedback", SAY_FLAGS, "WORKSPACE", 1, 1,
	  "ask for feedback (event feedbackRequested)", about_workspace, NULL, request_feedback_command },
	{ "events", "provide-feedback", SAY_FLAGS, "WORKSPACE", 1, 1,
	  "give feedback (event feedbackProvided)", about_workspace, NULL, provide_feedback_command },
	{ "events", "block", SAY_FLAGS, "WORKSPACE", 1, 1,
	  "announce that the sender (--producer) cannot go on (event blocked)", about_workspace, NULL,
	  block_command },
	{ "events", "complete", SAY_FLAGS, "WORKSPACE", 1, 1,
	  "announce that the task is done (event completed)", about_workspace, NULL, complete_command },
	{ "events", "post", "--store --json --project --session", "WORKSPACE", 1, 1,
	  "publish events from standard input, one JSON object a line",
	  "Each object has the members kind, correlationId, topic and producer, and may have consumer, "
	  "payload "
	  "and\ntimestamp.\n",
	  NULL, post_command },
	{ "events", "wait", LISTEN_FLAGS " --timeout", "WORKSPACE", 1, 1, "wait for the next event",
	  "Prints one event: the next one, or with --after N the first with a number above N, even if it "
	  "exists\n"
	  "already. A missing log is made, and a line on standard error says so. Exit status: 0 if an event "
	  "was printed, 124 if none came in time, 125 if refused or "
	  "failed.\n",
	  EXAMPLE_REQUEST " && warder events wait job --after 0 --kind needWork --timeout 5s", wait_command,
	  true },
	{ "events", "follow", LISTEN_FLAGS " --timeout", "WORKSPACE", 1, 1,
	  "print each event when it is published",
	  "Ends after --limit events, or if no event comes for the time of --timeout. A missing log is made, "
	  "and a line\non standard error says so.\n",
	  EXAMPLE_REQUEST " && warder events follow job --after 0 --limit 1", follow_command, true },
	{ "events", "history", LISTEN_FLAGS, "WORKSPACE", 1, 1,
	  "print the existing events, oldest first; --limit N prints only the last N of them",
	  about_workspace, EXAMPLE_REQUEST " && warder events history job", history_command, true },
	{ "events", "create", "--store --json --project --session", "WORKSPACE", 1, 1,
	  "make a log of events, and print its properties",
	  "An existing log stays as it is. The commands that publish an event also make the log, if it is "
	  "missing.\n",
	  "warder events create job", create_command },
	{ "events", "list", "--store --json", NULL, 0, 0, "list the logs", NULL, "warder events list",
	  list_command, true },
	{ "events", "remove", "--store --json", "WORKSPACE", 1, 1, "remove a log with all its events", NULL,
	  "warder events create job && warder events remove job", remove_command, true },
	{ "events", "to-a2a", "--json", NULL, 0, 0,
	  "convert events to tasks of the protocol A2A, line by line",
	  "Reads events in JSON from standard input.\n",
	  EXAMPLE_REQUEST " && warder events history job --json | warder events to-a2a", to_a2a_command },
	{ "events", "from-a2a", "--json", NULL, 0, 0,
	  "convert tasks of the protocol A2A to events, line by line",
	  "Reads tasks in JSON from standard input.\n", NULL, from_a2a_command },
	{ 0 },
};
