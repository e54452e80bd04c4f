/* store/events: what is said in a workspace, who hears it, and logs that are not as they should be. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "store/events/events.h"

static char store[64];
static struct warder_events *events;
static struct warder_error err;

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static void set_up(void)
{
	strcpy(store, "/tmp/warder-events-XXXXXX");
	cr_assert(mkdtemp(store));
	cr_assert_eq(warder_events_open(store, "/srv/job", NULL, &events, &err), 0, "%s", err.text);
}

static void tear_down(void)
{
	warder_events_free(events);
	nftw(store, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

TestSuite(events, .init = set_up, .fini = tear_down, .timeout = 60);

/* Its number; 0: refused. */
static uint64_t say(enum warder_event_kind kind, const char *correlation_id, uint64_t *ret_receivers)
{
	const struct warder_event event = { correlation_id, "topic", "me", NULL, "{\"a\": 1}", kind, 0, 0 };
	uint64_t sequence = 0;

	return warder_events_publish(events, &event, &sequence, ret_receivers, &err) == 0 ? sequence : 0;
}

static struct warder_subscription *listen_from(uint64_t after)
{
	struct warder_subscription *subscription = NULL;

	cr_assert_eq(warder_events_subscribe(events, after, &subscription, &err), 0, "%s", err.text);
	return subscription;
}

/* The number of the next event that is there; 0: there is none, or *err. */
static uint64_t next(struct warder_subscription *subscription)
{
	struct warder_event *event = NULL;
	uint64_t sequence = 0;

	err = (struct warder_error){ 0 };
	if (warder_subscription_next(subscription, NULL, 0, &event, &err) == 0 && event)
		sequence = event->sequence;
	warder_event_free(event);
	return sequence;
}

static void append_raw(const char *bytes, size_t len)
{
	int fd = open(events->path, O_WRONLY | O_APPEND);

	cr_assert(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
	close(fd);
}

static off_t log_size(void)
{
	struct stat st;

	return stat(events->path, &st) == 0 ? st.st_size : -1;
}

/* ---- saying and hearing ---- */

Test(events, publishing_tells_how_many_wait)
{
	struct warder_subscription *some[5];
	uint64_t receivers = 99;

	cr_expect_eq(say(WARDER_EVENT_NEED_WORK, "t", &receivers), 1, "%s", err.text);
	cr_expect_eq(receivers, 0);
	for (int i = 0; i < 5; i++)
		some[i] = listen_from(WARDER_EVENTS_LATER);
	say(WARDER_EVENT_NEED_WORK, "t", &receivers);
	cr_expect_eq(receivers, 5);
	warder_subscription_free(some[0]);
	warder_subscription_free(some[2]);
	say(WARDER_EVENT_NEED_WORK, "t", &receivers);
	cr_expect_eq(receivers, 3);
	some[2] = listen_from(0);
	some[0] = listen_from(0);
	say(WARDER_EVENT_NEED_WORK, "t", &receivers);
	cr_expect_eq(receivers, 5);
	for (int i = 0; i < 5; i++)
		warder_subscription_free(some[i]);
	say(WARDER_EVENT_NEED_WORK, "t", &receivers);
	cr_expect_eq(receivers, 0);
}

Test(events, a_subscriber_hears_what_comes_later_and_misses_none)
{
	struct warder_subscription *later, *all, *some;

	for (uint64_t i = 1; i <= 3; i++)
		cr_assert_eq(say(WARDER_EVENT_NEED_WORK, "t", NULL), i);
	later = listen_from(WARDER_EVENTS_LATER);
	all = listen_from(0);
	some = listen_from(2);
	cr_expect_eq(next(later), 0);
	for (uint64_t i = 4; i <= 2000; i++)
		cr_assert_eq(say(WARDER_EVENT_BLOCKED, "u", NULL), i);
	for (uint64_t i = 1; i <= 2000; i++)
		cr_expect_eq(next(all), i);
	for (uint64_t i = 3; i <= 2000; i++)
		cr_expect_eq(next(some), i);
	for (uint64_t i = 4; i <= 2000; i++)
		cr_expect_eq(next(later), i);
	cr_expect(next(later) == 0 && next(all) == 0 && next(some) == 0);
	cr_expect_eq(say(WARDER_EVENT_BLOCKED, "u", NULL), 2001);
	cr_expect(next(later) == 2001 && next(all) == 2001 && next(some) == 2001);
	cr_expect_eq(warder_subscription_damaged(all), 0);
	warder_subscription_free(later);
	warder_subscription_free(all);
	warder_subscription_free(some);
}

Test(events, six_steps_are_six_events_in_order)
{
	static const enum warder_event_kind steps[] = {
		WARDER_EVENT_NEED_WORK,          WARDER_EVENT_WORK_CLAIMED,      WARDER_EVENT_WORK_PUBLISHED,
		WARDER_EVENT_FEEDBACK_REQUESTED, WARDER_EVENT_FEEDBACK_PROVIDED, WARDER_EVENT_COMPLETED
	};
	struct warder_subscription *all = listen_from(0);
	struct warder_event *event = NULL;

	for (size_t i = 0; i < 6; i++)
		cr_assert(say(steps[i], "t", NULL));
	for (size_t i = 0; i < 6; i++) {
		cr_assert_eq(warder_subscription_next(all, NULL, 0, &event, &err), 0);
		cr_assert_not_null(event);
		cr_expect(event->kind == steps[i] && event->sequence == i + 1 && event->timestamp_ms > 0 &&
			      strcmp(event->payload, "{\"a\":1}") == 0 && !event->consumer,
			  "%zu", i);
		warder_event_free(event);
	}
	warder_subscription_free(all);
}

Test(events, filters_leave_out_other_ids_kinds_and_topics)
{
	static const struct {
		struct warder_event_filter filter;
		uint64_t expected;
	} rows[] = {
		{ { .size = sizeof(rows[0].filter) }, 1 },
		{ { .size = sizeof(rows[0].filter), .correlation_id = "u" }, 2 },
		{ { .size = sizeof(rows[0].filter), .kind = WARDER_EVENT_COMPLETED }, 3 },
		{ { .size = sizeof(rows[0].filter), .correlation_id = "u", .kind = WARDER_EVENT_COMPLETED },
		  4 },
		{ { .size = sizeof(rows[0].filter), .correlation_id = "v" }, 0 },
		{ { .size = sizeof(rows[0].filter), .topic = "other" }, 0 },
		{ { .size = sizeof(rows[0].filter), .topic = "topic" }, 1 },
	};

	say(WARDER_EVENT_BLOCKED, "t", NULL);
	say(WARDER_EVENT_BLOCKED, "u", NULL);
	say(WARDER_EVENT_COMPLETED, "t", NULL);
	say(WARDER_EVENT_COMPLETED, "u", NULL);
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct warder_subscription *all = listen_from(0);
		struct warder_event *event = NULL;

		cr_assert_eq(warder_subscription_next(all, &rows[i].filter, 0, &event, &err), 0);
		cr_expect_eq(event ? event->sequence : 0, rows[i].expected, "row %zu", i);
		warder_event_free(event);
		warder_subscription_free(all);
	}
}

/* ---- waiting ---- */

static void *say_slowly(void *context)
{
	struct warder_error own;
	struct warder_event event = { "x", "topic", "me", NULL, NULL, WARDER_EVENT_BLOCKED, 0, 0 };
	uint64_t receivers = 0;

	while (receivers == 0)
		warder_events_publish(events, &event, NULL, &receivers, &own);
	event.correlation_id = "t";
	warder_events_publish(events, &event, NULL, NULL, &own);
	event.kind = WARDER_EVENT_COMPLETED;
	warder_events_publish(events, &event, NULL, NULL, &own);
	return NULL;
}

Test(events, waiting_ends_with_the_right_event_or_none)
{
	struct warder_event *event = NULL;
	pthread_t thread;

	say(WARDER_EVENT_COMPLETED, "t", NULL);
	cr_expect_eq(warder_events_wait_for(events, "t", WARDER_EVENT_COMPLETED, 0, &event, &err), 0);
	cr_expect_null(event, "what was said before does not count");
	cr_expect_eq(warder_events_wait_for(events, "t", WARDER_EVENT_COMPLETED, 50, &event, &err), 0);
	cr_expect_null(event);
	cr_assert_eq(pthread_create(&thread, NULL, say_slowly, NULL), 0);
	cr_expect_eq(warder_events_wait_for(events, "t", WARDER_EVENT_COMPLETED, -1, &event, &err), 0, "%s",
		     err.text);
	pthread_join(thread, NULL);
	cr_assert_not_null(event);
	cr_expect(event->kind == WARDER_EVENT_COMPLETED && strcmp(event->correlation_id, "t") == 0);
	cr_expect_str_eq(event->payload, "null");
	warder_event_free(event);
}

Test(events, the_descriptor_tells_of_news)
{
	struct warder_subscription *later = listen_from(WARDER_EVENTS_LATER);
	struct pollfd poller = { .fd = warder_subscription_fd(later), .events = POLLIN };

	cr_assert_geq(poller.fd, 0);
	cr_expect_eq(poll(&poller, 1, 0), 0);
	say(WARDER_EVENT_BLOCKED, "t", NULL);
	cr_expect_eq(poll(&poller, 1, 10000), 1);
	cr_expect_eq(next(later), 1);
	warder_subscription_free(later);
}

static void *remove_log(void *context)
{
	struct warder_error own;

	usleep(100000);
	warder_events_remove(store, "/srv/job", &own);
	return NULL;
}

Test(events, who_waits_for_a_removed_log_is_told)
{
	struct warder_subscription *later = listen_from(WARDER_EVENTS_LATER);
	struct warder_event *event = NULL;
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, remove_log, NULL), 0);
	cr_expect_eq(warder_subscription_next(later, NULL, -1, &event, &err), -1);
	cr_expect_eq(err.code, WARDER_ERROR_NOT_FOUND, "%s", err.text);
	pthread_join(thread, NULL);
	cr_expect_eq(say(WARDER_EVENT_BLOCKED, "t", NULL), 0);
	cr_expect_eq(err.code, WARDER_ERROR_NOT_FOUND, "%s", err.text);
	cr_expect_eq(warder_events_remove(store, "/srv/job", &err), -1);
	warder_subscription_free(later);
}

static void *say_one(void *context)
{
	struct warder_event event = { "x", "topic", "me", NULL, NULL, WARDER_EVENT_BLOCKED, 0, 0 };
	struct warder_error *own = context;

	if (warder_events_publish(events, &event, NULL, NULL, own) == 0)
		own->code = 0;
	return NULL;
}

/* Nothing is said into a file that has no name any more. */
Test(events, a_log_that_is_removed_while_somebody_waits_for_its_lock)
{
	struct warder_error own = { 0 };
	int fd = events_lock(events, &err);
	pthread_t thread;

	cr_assert_geq(fd, 0);
	cr_assert_eq(pthread_create(&thread, NULL, say_one, &own), 0);
	usleep(100000);
	cr_assert_eq(unlink(events->path), 0);
	close(fd);
	pthread_join(thread, NULL);
	cr_expect_eq(own.code, WARDER_ERROR_NOT_FOUND, "%s", own.text);
}

/* ---- logs ---- */

Test(events, a_log_says_what_it_is_about)
{
	static const struct {
		const char *root, *project;
	} rows[] = {
		{ "/", "unnamed" },   { "///", "unnamed" }, { "/a/b", "b" },
		{ "/a/b/", "b" },     { "job-7", "job-7" }, { "/x/caf\u00e9 \"1\"", "caf\u00e9 \"1\"" },
		{ "../../up", "up" }, { "/x/..", ".." },    { "a\nb", "a\nb" },
	};
	const struct warder_events_options named = { sizeof(named), "Project", "session-1", 12345, 0 };
	struct warder_events_about *list = NULL;
	struct warder_events *other = NULL;
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		cr_assert_eq(warder_events_open(store, rows[i].root, NULL, &other, &err), 0, "%s", err.text);
		cr_expect_str_eq(warder_events_about(other).project_name, rows[i].project, "%s",
				 rows[i].root);
		cr_expect_str_eq(warder_events_about(other).root, rows[i].root);
		cr_expect(strncmp(other->path, store, strlen(store)) == 0 && !strstr(other->path, "..") &&
			      log_size() > 0,
			  "%s", other->path);
		warder_events_free(other);
	}
	cr_assert_eq(warder_events_open(store, "/named", &named, &other, &err), 0);
	warder_events_free(other);
	cr_assert_eq(warder_events_open(store, "/named", NULL, &other, &err), 0, "%s", err.text);
	cr_expect_str_eq(warder_events_about(other).project_name, "Project");
	cr_expect_str_eq(warder_events_about(other).session_id, "session-1");
	cr_expect_eq(warder_events_about(other).created_ms, 12345);
	warder_events_free(other);
	cr_assert_eq(warder_events_list(store, &list, &count, &err), 0, "%s", err.text);
	cr_expect_eq(count, ARRAY_LENGTH(rows) + 2);
	for (size_t i = 1; i < count; i++)
		cr_expect(strcmp(list[i - 1].root, list[i].root) < 0, "%s", list[i].root);
	free(list);
}

Test(events, what_is_refused)
{
	static char longest[WARDER_EVENT_NAME_MAX + 2];
	struct {
		struct warder_event event;
		const char *field;
	} rows[] = {
		{ { NULL, "t", "p", NULL, NULL, 1 }, "correlationId" },
		{ { "", "t", "p", NULL, NULL, 1 }, "correlationId" },
		{ { "\xff", "t", "p", NULL, NULL, 1 }, "correlationId" },
		{ { "c", longest, "p", NULL, NULL, 1 }, "topic" },
		{ { "c", "t", "", NULL, NULL, 1 }, "producer" },
		{ { "c", "t", "p", "", NULL, 1 }, "consumer" },
		{ { "c", "t", "p", NULL, NULL, 0 }, "kind" },
		{ { "c", "t", "p", NULL, NULL, 8 }, "kind" },
		{ { "c", "t", "p", NULL, "{", 1 }, "payload" },
		{ { "c", "t", "p", NULL, "", 1 }, "payload" },
		{ { "c", "t", "p", NULL, NULL, 1, -1 }, "timestamp" },
	};
	static const struct warder_events_options existing = { .size = sizeof(existing), .existing = 1 };
	struct warder_events *other = NULL;

	memset(longest, 'x', sizeof(longest) - 1);
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		err = (struct warder_error){ 0 };
		cr_expect_eq(warder_events_publish(events, &rows[i].event, NULL, NULL, &err), -1, "row %zu",
			     i);
		cr_expect(err.code == WARDER_ERROR_INVALID_REQUEST && strcmp(err.field, rows[i].field) == 0,
			  "row %zu: %s: %s", i, err.field, err.text);
	}
	longest[WARDER_EVENT_NAME_MAX] = '\0';
	cr_expect(say(WARDER_EVENT_BLOCKED, longest, NULL), "%s", err.text);
	cr_expect_eq(warder_events_open(store, "", NULL, &other, &err), -1);
	cr_expect_eq(warder_events_open(store, "\xff", NULL, &other, &err), -1);
	cr_expect_eq(warder_events_open(store, "unknown", &existing, &other, &err), -1);
	cr_expect_eq(err.code, WARDER_ERROR_NOT_FOUND, "%s", err.text);
}

Test(events, the_largest_payload_comes_back)
{
	struct warder_subscription *all = listen_from(0);
	struct warder_event *event = NULL, large = { "t", "t", "p", NULL, NULL, WARDER_EVENT_BLOCKED, 0, 0 };
	char *payload = malloc(WARDER_EVENT_PAYLOAD_MAX + 2);

	memset(payload, 'x', WARDER_EVENT_PAYLOAD_MAX + 1);
	payload[0] = payload[WARDER_EVENT_PAYLOAD_MAX - 1] = '"';
	payload[WARDER_EVENT_PAYLOAD_MAX] = '\0';
	large.payload = payload;
	for (int i = 0; i < 3; i++)
		cr_assert_eq(warder_events_publish(events, &large, NULL, NULL, &err), 0, "%s", err.text);
	cr_expect_eq(say(WARDER_EVENT_BLOCKED, "t", NULL), 4);
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(warder_subscription_next(all, NULL, 0, &event, &err), 0);
		cr_assert_not_null(event);
		cr_expect(strcmp(event->payload, payload) == 0);
		warder_event_free(event);
	}
	cr_expect_eq(next(all), 4);
	payload[WARDER_EVENT_PAYLOAD_MAX - 1] = 'x';
	payload[WARDER_EVENT_PAYLOAD_MAX] = '"';
	payload[WARDER_EVENT_PAYLOAD_MAX + 1] = '\0';
	cr_expect_eq(warder_events_publish(events, &large, NULL, NULL, &err), -1);
	warder_subscription_free(all);
	free(payload);
}

Test(events, a_torn_line_is_no_event_and_is_cut_off)
{
	static const char torn[] = "{\"sequence\":2,\"timestamp\":1,\"kind\":\"blocked\",\"corr";
	struct warder_subscription *all = listen_from(0);
	off_t whole;

	say(WARDER_EVENT_BLOCKED, "t", NULL);
	whole = log_size();
	append_raw(torn, sizeof(torn) - 1);
	cr_expect_eq(next(all), 1);
	cr_expect_eq(next(all), 0, "not half an event");
	cr_expect_eq(say(WARDER_EVENT_COMPLETED, "u", NULL), 2, "%s", err.text);
	cr_expect_eq(next(all), 2, "what stood there meanwhile is forgotten");
	cr_expect_eq(warder_subscription_damaged(all), 0);
	/* Nothing of the longer torn line is behind the shorter whole one. */
	cr_expect_eq(say(WARDER_EVENT_COMPLETED, "u", NULL), 3);
	cr_expect_eq(next(all), 3);
	cr_expect_gt(log_size(), whole);
	warder_subscription_free(all);
}

Test(events, zeros_of_a_power_cut_are_cut_off)
{
	struct warder_subscription *all = listen_from(0);
	off_t whole;

	say(WARDER_EVENT_BLOCKED, "t", NULL);
	cr_assert_eq(truncate(events->path, log_size() + 5000), 0);
	cr_expect(next(all) == 1 && next(all) == 0);
	whole = log_size() - 5000;
	cr_expect_eq(say(WARDER_EVENT_COMPLETED, "u", NULL), 2, "%s", err.text);
	cr_expect_eq(next(all), 2);
	cr_expect_lt(log_size(), whole + 500, "nothing is left of them");
	warder_subscription_free(all);
}

Test(events, a_header_that_was_cut_short_is_written_again)
{
	static const struct warder_events_options existing = { .size = sizeof(existing), .existing = 1 };
	struct warder_events *other = NULL;

	cr_assert_eq(truncate(events->path, 20), 0);
	cr_expect_eq(warder_events_open(store, "/srv/job", &existing, &other, &err), -1);
	cr_assert_eq(warder_events_open(store, "/srv/job", NULL, &other, &err), 0, "%s", err.text);
	warder_events_free(other);
	cr_expect_eq(say(WARDER_EVENT_BLOCKED, "t", NULL), 1, "%s", err.text);
	cr_assert_eq(truncate(events->path, 0), 0);
	cr_expect_eq(say(WARDER_EVENT_BLOCKED, "t", NULL), 0, "no event where the header belongs");
}

Test(events, lines_that_are_no_events_are_told_of)
{
	struct warder_subscription *all = listen_from(0);
	char *large = malloc(EVENTS_LINE_MAX * 3);

	say(WARDER_EVENT_BLOCKED, "t", NULL);
	append_raw("hello\n{\"kind\":\"blocked\"}\n", 26);
	memset(large, 'x', EVENTS_LINE_MAX * 3);
	large[EVENTS_LINE_MAX * 3 - 1] = '\n';
	append_raw(large, EVENTS_LINE_MAX * 3);
	cr_expect_eq(say(WARDER_EVENT_BLOCKED, "t", NULL), 5, "each takes a number: %s", err.text);
	cr_expect(next(all) == 1);
	cr_expect(next(all) == 5, "%s", err.text);
	cr_expect_eq(warder_subscription_damaged(all), 3);
	warder_subscription_free(all);
	free(large);
}

Test(events, a_log_that_was_cut_is_told_of)
{
	struct warder_subscription *all = listen_from(0);

	say(WARDER_EVENT_BLOCKED, "t", NULL);
	cr_expect_eq(next(all), 1);
	cr_assert_eq(truncate(events->path, 100), 0);
	cr_expect_eq(next(all), 0);
	cr_expect(err.code == WARDER_ERROR_UNAVAILABLE && strstr(err.text, "shorter"), "%s", err.text);
	warder_subscription_free(all);
}

Test(events, a_full_log_says_so)
{
	events->max_bytes = 2000;
	while (say(WARDER_EVENT_BLOCKED, "t", NULL))
		cr_assert_leq(log_size(), 2000);
	cr_expect(err.code == WARDER_ERROR_UNAVAILABLE && err.sys_errno == ENOSPC &&
		      strstr(err.text, "storage full"),
		  "%s", err.text);
	cr_expect_gt(log_size(), 1800);
}

Test(events, what_is_no_log_is_left_alone)
{
	struct warder_events *other = NULL;
	char path[4096];

	snprintf(path, sizeof(path), "%s", events->path);
	cr_assert_eq(truncate(path, 0), 0);
	append_raw("{\"warderEvents\":2,\"root\":\"a\",\"projectName\":\"a\"}\n", 48);
	cr_expect_eq(warder_events_open(store, "/srv/job", NULL, &other, &err), -1);
	cr_expect(strstr(err.text, "newer version"), "%s", err.text);
	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(symlink("/etc/passwd", path), 0);
	cr_expect_eq(warder_events_open(store, "/srv/job", NULL, &other, &err), -1);
	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(mkfifo(path, 0600), 0);
	cr_expect_eq(warder_events_open(store, "/srv/job", NULL, &other, &err), -1);
	cr_expect(strstr(err.text, "not a regular file"), "%s", err.text);
}

/* ---- many ---- */

static void *say_much(void *context)
{
	const struct warder_event event = { context, "topic", "me", NULL, NULL, WARDER_EVENT_BLOCKED, 0, 0 };
	struct warder_error own;
	uint64_t last = 0, sequence;

	for (int i = 0; i < 50; i++) {
		if (warder_events_publish(events, &event, &sequence, NULL, &own) != 0 || sequence <= last)
			return "publish failed";
		last = sequence;
	}
	return NULL;
}

Test(events, one_handle_in_many_threads)
{
	struct warder_subscription *all = listen_from(0);
	pthread_t threads[8];
	void *failed;

	for (int i = 0; i < 8; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, say_much, "t"), 0);
	for (int i = 0; i < 8; i++) {
		pthread_join(threads[i], &failed);
		cr_expect_null(failed, "%s", (char *)failed);
	}
	for (uint64_t i = 1; i <= 400; i++)
		cr_expect_eq(next(all), i);
	cr_expect_eq(next(all), 0);
	warder_subscription_free(all);
}

/* ---- lines and tasks ---- */

Test(events, lines_and_tasks_come_back)
{
	static const char *const payloads[] = {
		"null", "1.50", "\"text\"", "[1,{}]", "{\"value\":1}", "false"
	};
	struct warder_event event = { "c1", "topic", "me", "you", NULL, WARDER_EVENT_ANY, 1795289541419, 7 };

	for (int kind = 1; kind <= 7; kind++) {
		for (size_t i = 0; i < ARRAY_LENGTH(payloads); i++) {
			char *json, *task, *again;
			struct warder_event *back = NULL;

			event.kind = (enum warder_event_kind)kind;
			event.payload = payloads[i];
			event.consumer = i % 2 ? "you" : NULL;
			json = warder_event_json(&event);
			task = warder_event_a2a(&event);
			cr_assert(json && task);
			cr_assert_eq(warder_event_from_a2a(task, strlen(task), &back, &err), 0, "%s: %s",
				     task, err.text);
			again = warder_event_json(back);
			cr_expect_str_eq(again, json);
			free(again);
			warder_event_free(back);
			cr_assert_eq(warder_event_parse(json, strlen(json), &back, &err), 0, "%s", err.text);
			again = warder_event_json(back);
			cr_expect_str_eq(again, json);
			free(again);
			warder_event_free(back);
			free(json);
			free(task);
		}
	}
}

Test(events, states_of_tasks)
{
	static const struct {
		const char *task, *kind;
	} rows[] = {
		{ "{\"id\":\"a\",\"contextId\":\"c\",\"status\":{\"state\":\"submitted\"}}", "needWork" },
		{ "{\"id\":\"a\",\"contextId\":\"c\",\"status\":{\"state\":\"working\"}}", "workClaimed" },
		{ "{\"id\":\"a\",\"contextId\":\"c\",\"status\":{\"state\":\"input-required\"}}",
		  "feedbackRequested" },
		{ "{\"id\":\"a\",\"contextId\":\"c\",\"status\":{\"state\":\"completed\"}}", "completed" },
		{ "{\"id\":\"a\",\"contextId\":\"c\",\"status\":{\"state\":\"completed\"},\"artifacts\":[]}",
		  "completed" },
		{ "{\"id\":\"a\",\"contextId\":\"c\",\"status\":{\"state\":\"completed\"},\"artifacts\":[{"
		  "\"parts\":[{"
		  "\"kind\":\"text\",\"text\":\"x\"}]}]}",
		  "workPublished" },
		{ "{\"id\":\"a\",\"contextId\":\"c\",\"status\":{\"state\":\"input-required\"},\"metadata\":{"
		  "\"kind\":"
		  "\"blocked\"}}",
		  "blocked" },
		{ "{\"id\":\"a\",\"contextId\":\"c\",\"status\":{\"state\":\"working\"},\"metadata\":{"
		  "\"kind\":"
		  "\"blocked\"}}",
		  NULL },
		{ "{\"id\":\"a\",\"contextId\":\"c\",\"status\":{\"state\":\"canceled\"}}", NULL },
		{ "{\"id\":\"a\",\"contextId\":\"c\",\"status\":{\"state\":\"failed\"}}", NULL },
		{ "{\"contextId\":\"c\",\"status\":{\"state\":\"working\"}}", NULL },
		{ "{\"id\":\"a\",\"contextId\":\"c\"}", NULL },
		{ "[]", NULL },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct warder_event *event = NULL;
		int status = warder_event_from_a2a(rows[i].task, strlen(rows[i].task), &event, &err);
		const char *kind = status == 0 ? warder_event_kind_name(event->kind) : NULL;

		cr_expect(kind && rows[i].kind ? strcmp(kind, rows[i].kind) == 0 : kind == rows[i].kind,
			  "row %zu: %s", i, kind ? kind : err.text);
		cr_expect(status == 0 || err.code == WARDER_ERROR_INVALID_REQUEST, "row %zu", i);
		warder_event_free(event);
	}
}
