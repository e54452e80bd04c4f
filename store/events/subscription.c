/*
 * Who reads along has a place in the file, always at the start of a line, and takes nothing but whole lines: what is not whole
 * yet may be cut off again, so it is read anew when it has grown. He waits for the kernel's word that the file was written
 * (inotify). Nobody keeps anything for him, so he can be as slow as he likes.
 *
 * That he is there he shows by the lock of one byte of a file beside the log, which the kernel takes back however he ends. These are
 * locks of the open description (F_OFD_SETLK), so that they count also between threads of one process.
 */
#include "store/events/events.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"

#define CHUNK        (64u << 10)
#define BLIND_NAP_MS 250 /* between two looks where there is no inotify to be had */

struct warder_subscription {
	const struct warder_events *events;
	int log_fd, slot_fd, notify_fd; /* notify_fd -1: not watched, or there is none */
	bool watched;
	uint64_t after;           /* events up to that number are left out */
	uint64_t offset;          /* of text[0] in the file */
	char *text;               /* whole lines, and perhaps a part of one */
	size_t len, at, capacity; /* at: the next line */
	bool skipping;            /* in a line that is too long to be one of ours */
	uint64_t damaged;
};

/* ---- who is there ---- */

static int lock_slot(const struct warder_events *events, struct warder_error *err)
{
	owned_fd int fd =
	    openat(events->dir_fd, events->receivers, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return events_fail(events, errno, "the file of its subscribers", err);
	for (off_t slot = 0; slot < EVENTS_RECEIVERS_MAX; slot++) {
		struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = slot, .l_len = 1 };

		if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
			return fd_take(&fd);
		if (errno != EAGAIN && errno != EACCES)
			return events_fail(events, errno, "lock of a subscriber", err);
	}
	return error_set(err, WARDER_ERROR_UNAVAILABLE, EVENTS_FIELD, "%.200s has %d subscribers already",
			 events->path, EVENTS_RECEIVERS_MAX);
}

/* ---- reading ---- */

static int read_more(struct warder_subscription *s, struct warder_error *err)
{
	ssize_t got;

	/* What is behind the next line's start is read again: it may have been cut off meanwhile. */
	s->offset += s->at;
	s->at = s->len = 0;
	if (!s->text) {
		s->text = malloc(CHUNK);
		s->capacity = s->text ? CHUNK : 0;
	}
	if (!s->text)
		return error_no_memory(err, NULL);
	do {
		got = pread(s->log_fd, s->text, s->capacity, (off_t)s->offset);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return events_fail(s->events, errno, "read", err);
	s->len = (size_t)got;
	return 0;
}

/* The buffer is full of one line: a larger one, or the line is none of ours. */
static int make_room(struct warder_subscription *s, struct warder_error *err)
{
	char *grown;

	if (s->capacity >= EVENTS_LINE_MAX) {
		s->skipping = true;
		s->at = s->len;
		return 0;
	}
	grown = realloc(s->text, s->capacity * 2);
	if (!grown)
		return error_no_memory(err, NULL);
	s->text = grown;
	s->capacity *= 2;
	return 0;
}

/* The next whole line, without its newline, and s->at behind it. 1; 0: there is none yet; -1 with *err. */
static int next_line(struct warder_subscription *s, const char **ret, size_t *ret_len,
		     struct warder_error *err)
{
	for (;;) {
		char *newline = s->len > s->at ? memchr(s->text + s->at, '\n', s->len - s->at) : NULL;
		const bool first = s->offset + s->at == 0;

		if (newline) {
			const bool skipped = s->skipping;

			*ret = s->text + s->at;
			*ret_len = (size_t)(newline - *ret);
			s->at = (size_t)(newline + 1 - s->text);
			s->skipping = false;
			s->damaged += skipped;
			if (first || skipped) /* the header, or the end of no event */
				continue;
			return 1;
		}
		if (s->skipping)
			s->at = s->len;
		else if (s->at == 0 && s->len == s->capacity && s->len > 0 && make_room(s, err) != 0)
			return -1;
		if (read_more(s, err) != 0)
			return -1;
		if (s->len == 0 || (!s->skipping && s->len < s->capacity && !memchr(s->text, '\n', s->len)))
			return 0;
	}
}

/* 1: *ret; 0: none yet; -1 with *err. */
static int next_event(struct warder_subscription *s, struct warder_event **ret, struct warder_error *err)
{
	struct warder_error ignored;
	const char *line;
	size_t len;
	int found;

	while ((found = next_line(s, &line, &len, err)) > 0) {
		struct warder_event *event = NULL;

		if (warder_event_parse(line, len, &event, &ignored) != 0) {
			if (ignored.code == WARDER_ERROR_INTERNAL) {
				*err = ignored;
				return -1;
			}
			s->damaged++;
			continue;
		}
		if (event->sequence > s->after) {
			*ret = event;
			return 1;
		}
		warder_event_free(event);
	}
	return found;
}

static bool lets_through(const struct warder_event_filter *filter, const struct warder_event *event)
{
	if (!filter)
		return true;
	return (!filter->correlation_id || strcmp(filter->correlation_id, event->correlation_id) == 0) &&
	       (filter->kind == WARDER_EVENT_ANY || filter->kind == event->kind) &&
	       (!filter->topic || strcmp(filter->topic, event->topic) == 0);
}

/* ---- waiting ---- */

static void drain(int fd)
{
	char news[4096];

	while (read(fd, news, sizeof(news)) > 0)
		continue;
}

/* Is it still the log of that name, and not shorter than what was read? */
static int check_log(const struct warder_subscription *s, struct warder_error *err)
{
	struct stat st;

	if (fstat(s->log_fd, &st) != 0)
		return events_fail(s->events, errno, "fstat", err);
	if (st.st_nlink == 0)
		return error_set(err, WARDER_ERROR_NOT_FOUND, EVENTS_FIELD,
				 "the log of the workspace \"%.200s\" was removed", s->events->root);
	if ((uint64_t)st.st_size < s->offset + s->at)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, EVENTS_FIELD,
				 "%.200s is shorter than before: another program has truncated it",
				 s->events->path);
	return 0;
}

/* Not before somebody waits: an inotify instance is dear to take down. */
static void watch(struct warder_subscription *s)
{
	const uint32_t news = IN_MODIFY | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF;

	if (s->watched)
		return;
	s->watched = true;
	s->notify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (s->notify_fd >= 0 && inotify_add_watch(s->notify_fd, s->events->path, news) < 0)
		fd_done(&s->notify_fd);
}

/* 1: look again; 0: the time is over. */
static int wait_for_news(struct warder_subscription *s, bool for_ever, uint64_t end_us)
{
	struct pollfd poller = { .fd = s->notify_fd, .events = POLLIN };
	const uint64_t now = clock_us();
	int left = -1;

	if (!for_ever) {
		if (now >= end_us)
			return 0;
		left = (end_us - now) / 1000 < INT_MAX - 1 ? (int)((end_us - now + 999) / 1000) : INT_MAX;
	}
	if (!s->watched) {
		watch(s);
		return 1; /* what came before is not told of */
	}
	if (s->notify_fd < 0 && (left < 0 || left > BLIND_NAP_MS))
		left = BLIND_NAP_MS;
	if (poll(&poller, 1, left) > 0)
		drain(s->notify_fd);
	return 1;
}

int warder_subscription_next(struct warder_subscription *subscription,
			     const struct warder_event_filter *filter, int timeout_ms,
			     struct warder_event **ret, struct warder_error *err)
{
	const uint64_t end_us = clock_us() + (timeout_ms > 0 ? (uint64_t)timeout_ms * 1000 : 0);

	if (!subscription || !ret || (filter && filter->size != sizeof(*filter)))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL,
				 "an argument is NULL, or the filter has another size");
	*ret = NULL;
	for (;;) {
		struct warder_event *event = NULL;
		int found = next_event(subscription, &event, err);

		if (found < 0)
			return -1;
		if (found > 0 && lets_through(filter, event)) {
			*ret = event;
			return 0;
		}
		warder_event_free(event);
		if (found > 0)
			continue;
		if (check_log(subscription, err) != 0)
			return -1;
		if (!wait_for_news(subscription, timeout_ms < 0, end_us))
			return 0;
	}
}

/* ---- handles ---- */

/* With the log locked: who publishes next counts this subscriber, and tells him. */
static int settle(struct warder_subscription *s, int locked_fd, uint64_t after, struct warder_error *err)
{
	uint64_t end, sequence;

	s->slot_fd = lock_slot(s->events, err);
	if (s->slot_fd < 0)
		return -1;
	s->after = after;
	if (after != WARDER_EVENTS_LATER)
		return 0;
	if (events_end(s->events, locked_fd, &end, &sequence, err) != 0)
		return -1;
	s->offset = end;
	s->after = 0;
	return 0;
}

int warder_events_subscribe(struct warder_events *events, uint64_t after, struct warder_subscription **ret,
			    struct warder_error *err)
{
	struct warder_subscription *s;

	if (!events || !ret)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "an argument is NULL");
	s = calloc(1, sizeof(*s));
	if (!s)
		return error_no_memory(err, NULL);
	s->events = events;
	s->slot_fd = s->notify_fd = -1;
	s->log_fd = events_lock(events, err);
	if (s->log_fd < 0 || settle(s, s->log_fd, after, err) != 0) {
		warder_subscription_free(s);
		return -1;
	}
	flock(s->log_fd, LOCK_UN);
	*ret = s;
	return 0;
}

int warder_subscription_fd(struct warder_subscription *subscription)
{
	watch(subscription);
	return subscription->notify_fd;
}

uint64_t warder_subscription_damaged(const struct warder_subscription *subscription)
{
	return subscription->damaged;
}

void warder_subscription_free(struct warder_subscription *subscription)
{
	if (!subscription)
		return;
	fd_done(&subscription->log_fd);
	fd_done(&subscription->slot_fd);
	fd_done(&subscription->notify_fd);
	free(subscription->text);
	free(subscription);
}

int warder_events_wait_for(struct warder_events *events, const char *correlation_id,
			   enum warder_event_kind kind, int timeout_ms, struct warder_event **ret,
			   struct warder_error *err)
{
	const struct warder_event_filter filter = { sizeof(filter), correlation_id, kind, NULL };
	struct warder_subscription *subscription = NULL;
	int status;

	if (warder_events_subscribe(events, WARDER_EVENTS_LATER, &subscription, err) != 0)
		return -1;
	status = warder_subscription_next(subscription, &filter, timeout_ms, ret, err);
	warder_subscription_free(subscription);
	return status;
}
