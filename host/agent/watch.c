/*
 * Changes, by inotify(7). All watchers share one instance, because a user may have few of them: the kernel gives two watches of one directory the
 * same number, so a number may stand for several rows of `marks`.
 *
 * A new directory below a recursive watch is watched as soon as its creation is read. What was put into it before is then looked for and reported;
 * what is put into it at that very moment may be reported twice.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/agent/agent.h"

#define WATCHERS_MAX 64
#define QUEUE_MAX    (32u * 1024) /* of a watcher that is read from time to time */
#define DEPTH_MAX    128 /* levels below the root of a watcher: each takes a descriptor, and part of the stack */
#define NAME_LENGTH  16
#define MASK                                                                                                 \
	(IN_CREATE | IN_MODIFY | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF |      \
	 IN_ONLYDIR)

struct watcher {
	struct watcher *next;
	struct caller *caller; /* of WATCH; NULL: it has a name */
	char name[NAME_LENGTH + 1];
	char *root; /* owned */
	uint32_t flags;
	char *queue; /* owned: records of events, as they will be said */
	size_t queue_len;
	bool lost; /* events were */
};

/* A directory that a watcher watches. */
struct mark {
	int number; /* of the kernel */
	struct watcher *watcher;
	char *path; /* owned; relative to the watcher's root, "" for the root itself */
};

static int inotify_fd = -1;
static struct watcher *watchers;
static size_t watcher_count;
static struct mark marks[AGENT_WATCHES_MAX];
static size_t mark_count;

int watch_open(void)
{
	inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	return inotify_fd;
}

/* ---- events ---- */

static void lose(struct watcher *watcher)
{
	if (watcher->lost)
		return;
	watcher->lost = true;
	if (watcher->caller)
		say_failed(watcher->caller, AGENT_LOST, "");
}

static void queue_event(struct watcher *watcher, const struct agent_event *event, const char *body,
			size_t len)
{
	const struct agent_head head = { AGENT_EVENT, (uint32_t)(sizeof(*event) + len) };
	const size_t all = sizeof(head) + head.len;
	char *grown;

	if (watcher->lost)
		return;
	grown =
	    watcher->queue_len + all <= QUEUE_MAX ? realloc(watcher->queue, watcher->queue_len + all) : NULL;
	if (!grown) {
		lose(watcher);
		return;
	}
	watcher->queue = grown;
	memcpy(grown + watcher->queue_len, &head, sizeof(head));
	memcpy(grown + watcher->queue_len + sizeof(head), event, sizeof(*event));
	memcpy(grown + watcher->queue_len + sizeof(head) + sizeof(*event), body, len);
	watcher->queue_len += all;
}

static void report(struct watcher *watcher, enum agent_change change, const char *name)
{
	struct agent_event event = { .change = change };
	char body[AGENT_BODY_MAX - sizeof(event)];
	char path[2 * AGENT_PATH_MAX];
	size_t len = strlen(name) + 1, entry = 0;

	if (len > AGENT_PATH_MAX)
		return;
	memcpy(body, name, len);
	if ((watcher->flags & AGENT_ENTRIES) &&
	    snprintf(path, sizeof(path), "%s/%s", watcher->root[1] ? watcher->root : "", name) > 0)
		entry = entry_write(path, body + len, sizeof(body) - len);
	event.has_entry = entry > 0;
	if (!watcher->caller)
		queue_event(watcher, &event, body, len + entry);
	else if (watcher->caller->out_len - watcher->caller->out_at > OUT_MAX)
		lose(watcher);
	else
		say(watcher->caller, AGENT_EVENT, &event, sizeof(event), body, len + entry);
}

/* ---- marks ---- */

static bool is_marked(int number)
{
	for (size_t i = 0; i < mark_count; i++)
		if (marks[i].number == number)
			return true;
	return false;
}

static void drop_mark(size_t i, bool kernel_knows)
{
	const int number = marks[i].number;

	free(marks[i].path);
	marks[i] = marks[--mark_count];
	if (!kernel_knows && !is_marked(number))
		inotify_rm_watch(inotify_fd, number);
}

/* 0; or an errno. */
static int add_mark(struct watcher *watcher, const char *path)
{
	char whole[2 * AGENT_PATH_MAX];
	const char *root = watcher->root[1] ? watcher->root : "";
	int number;

	if (mark_count == AGENT_WATCHES_MAX)
		return ENOSPC;
	snprintf(whole, sizeof(whole), "%s%s%s", *root || *path ? root : "/", *path ? "/" : "", path);
	number = inotify_add_watch(inotify_fd, whole, MASK | (*path ? IN_DONT_FOLLOW : 0));
	if (number < 0)
		return errno;
	for (size_t i = 0; i < mark_count; i++)
		if (marks[i].number == number && marks[i].watcher == watcher &&
		    strcmp(marks[i].path, path) == 0)
			return 0;
	marks[mark_count] = (struct mark){ number, watcher, strdup(path) };
	if (!marks[mark_count].path) {
		mark_count++;
		drop_mark(mark_count - 1, false);
		return ENOMEM;
	}
	mark_count++;
	return 0;
}

/* It is gone again, or not ours to read. */
static bool is_gone(int error)
{
	return error == ENOENT || error == ENOTDIR || error == EACCES;
}

static size_t depth_of(const char *path)
{
	size_t depth = *path != 0;

	for (; *path; path++)
		depth += *path == '/';
	return depth;
}

/* The directories below, too. says: report what they have. 0; or an errno. */
static int add_below(struct watcher *watcher, const char *path, bool says)
{
	char whole[2 * AGENT_PATH_MAX];
	const struct dirent *one;
	int failed = 0;
	DIR *dir;

	if (depth_of(path) > DEPTH_MAX)
		return ENOSPC;
	snprintf(whole, sizeof(whole), "%s%s%s", watcher->root, *path ? "/" : "", path);
	dir = opendir(whole);
	if (!dir)
		return *path && is_gone(errno) ? 0 : errno;
	while (!failed && (one = readdir(dir)) != NULL) {
		char below[AGENT_PATH_MAX];
		struct stat st;

		if (strcmp(one->d_name, ".") == 0 || strcmp(one->d_name, "..") == 0)
			continue;
		if (snprintf(below, sizeof(below), "%s%s%s", path, *path ? "/" : "", one->d_name) >=
		    (int)sizeof(below))
			continue;
		if (fstatat(dirfd(dir), one->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (says)
			report(watcher, AGENT_CREATED, below);
		if (!S_ISDIR(st.st_mode))
			continue;
		failed = add_mark(watcher, below);
		if (is_gone(failed))
			failed = 0;
		else if (!failed)
			failed = add_below(watcher, below, says);
	}
	closedir(dir);
	return failed;
}

/* A directory that is new below a recursive watch. False: not all of it is watched. */
static bool add_new(struct watcher *watcher, const char *path)
{
	int failed = add_mark(watcher, path);

	if (!failed)
		failed = add_below(watcher, path, true);
	return !failed || is_gone(failed);
}

/* A directory has moved away: what is below it has other names now. */
static void drop_below(const struct watcher *watcher, const char *path)
{
	const size_t len = strlen(path);

	for (size_t i = mark_count; i-- > 0;)
		if (marks[i].watcher == watcher && strncmp(marks[i].path, path, len) == 0 &&
		    (marks[i].path[len] == '/' || !marks[i].path[len]))
			drop_mark(i, false);
}

/* ---- what the kernel says ---- */

static void tell(struct watcher *watcher, const char *at, const struct inotify_event *event)
{
	static const struct {
		uint32_t mask;
		enum agent_change change;
	} changes[] = {
		{ IN_CREATE | IN_MOVED_TO, AGENT_CREATED },
		{ IN_MODIFY, AGENT_WRITTEN },
		{ IN_DELETE, AGENT_REMOVED },
		{ IN_MOVED_FROM, AGENT_RENAMED },
		{ IN_ATTRIB, AGENT_MODE },
	};
	const bool is_directory = event->mask & IN_ISDIR;
	char name[AGENT_PATH_MAX];

	if (snprintf(name, sizeof(name), "%s%s%s", at, *at ? "/" : "", event->name) >= (int)sizeof(name))
		return;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
		if (event->mask & changes[i].mask)
			report(watcher, changes[i].change, name);
	if (!is_directory || !(watcher->flags & AGENT_RECURSIVE))
		return;
	if (event->mask & (IN_MOVED_FROM | IN_DELETE))
		drop_below(watcher, name);
	if ((event->mask & (IN_CREATE | IN_MOVED_TO)) && !add_new(watcher, name))
		lose(watcher);
}

static void take_event(const struct inotify_event *event)
{
	if (event->mask & IN_Q_OVERFLOW)
		for (struct watcher *one = watchers; one; one = one->next)
			lose(one);
	/* Marks that are added meanwhile are not of this event. */
	for (size_t i = mark_count; i-- > 0;) {
		if (i >= mark_count || marks[i].number != event->wd)
			continue;
		if (event->mask & IN_IGNORED)
			drop_mark(i, true);
		else if ((event->mask & IN_DELETE_SELF) && !*marks[i].path)
			report(marks[i].watcher, AGENT_REMOVED, ".");
		else if (event->len) {
			char at[AGENT_PATH_MAX];

			snprintf(at, sizeof(at), "%s", marks[i].path);
			tell(marks[i].watcher, at, event);
		}
	}
}

void watch_take(void)
{
	char bytes[8192] __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t n;

	while ((n = read(inotify_fd, bytes, sizeof(bytes))) > 0)
		for (char *at = bytes; at < bytes + n;) {
			const struct inotify_event *event = (const struct inotify_event *)(void *)at;

			take_event(event);
			at += sizeof(*event) + event->len;
		}
}

/* ---- watchers ---- */

static void watcher_free(struct watcher *watcher)
{
	for (struct watcher **at = &watchers; *at; at = &(*at)->next)
		if (*at == watcher) {
			*at = watcher->next;
			watcher_count--;
			break;
		}
	for (size_t i = mark_count; i-- > 0;)
		if (marks[i].watcher == watcher)
			drop_mark(i, false);
	free(watcher->root);
	free(watcher->queue);
	free(watcher);
}

static struct watcher *watcher_new(struct caller *caller)
{
	struct watcher *watcher;
	int failed;

	if (watcher_count == WATCHERS_MAX || inotify_fd < 0) {
		say_failed(caller, AGENT_TOO_MANY,
			   inotify_fd < 0 ? "the user has no inotify instance left" : "");
		return NULL;
	}
	watcher = calloc(1, sizeof(*watcher));
	if (!watcher) {
		say_errno(caller, ENOMEM);
		return NULL;
	}
	watcher->next = watchers;
	watchers = watcher;
	watcher_count++;
	watcher->flags = caller->request.flags;
	watcher->root = strdup(caller->path);
	failed = watcher->root ? add_mark(watcher, "") : ENOMEM;
	if (!failed && (watcher->flags & AGENT_RECURSIVE))
		failed = add_below(watcher, "", false);
	if (!failed)
		return watcher;
	watcher_free(watcher);
	say_errno(caller, failed);
	return NULL;
}

void watch_begin(struct caller *caller)
{
	caller->watcher = watcher_new(caller);
	if (!caller->watcher)
		return;
	caller->watcher->caller = caller;
	say(caller, AGENT_BEGUN, NULL, 0, NULL, 0);
}

void watch_new(struct caller *caller)
{
	struct watcher *watcher = watcher_new(caller);
	uint64_t number = 0;

	if (!watcher)
		return;
	if (getrandom(&number, sizeof(number), 0) != sizeof(number)) {
		watcher_free(watcher);
		say_errno(caller, EIO);
		return;
	}
	snprintf(watcher->name, sizeof(watcher->name), "%016llx", (unsigned long long)number);
	say(caller, AGENT_NAME, watcher->name, NAME_LENGTH, NULL, 0);
	say_end(caller);
}

static struct watcher *find(struct caller *caller)
{
	for (struct watcher *one = watchers; one; one = one->next)
		if (one->name[0] && strcmp(one->name, caller->path) == 0)
			return one;
	say_failed(caller, AGENT_NO_WATCHER, "");
	return NULL;
}

void watch_read(struct caller *caller)
{
	struct watcher *watcher = find(caller);
	struct agent_head head;

	if (!watcher)
		return;
	watch_take();
	for (size_t at = 0; at < watcher->queue_len && !watcher->lost; at += sizeof(head) + head.len) {
		memcpy(&head, watcher->queue + at, sizeof(head));
		say(caller, AGENT_EVENT, watcher->queue + at + sizeof(head), head.len, NULL, 0);
	}
	free(watcher->queue);
	watcher->queue = NULL;
	watcher->queue_len = 0;
	if (!watcher->lost) {
		say_end(caller);
		return;
	}
	say_failed(caller, AGENT_LOST, "");
	watcher_free(watcher);
}

void watch_end(struct caller *caller)
{
	struct watcher *watcher = find(caller);

	if (!watcher)
		return;
	watcher_free(watcher);
	say_end(caller);
}

void watch_done(struct caller *caller)
{
	if (caller->watcher)
		watcher_free(caller->watcher);
	caller->watcher = NULL;
}
