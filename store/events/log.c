/*
 * A log is a file of lines: first what it is about, then one event a line. <project>-<digest of the root>.jsonl.
 *
 * Who appends holds the file's lock (flock). He looks for the end of the last whole line: what stands behind it was left by one who was
 * killed, or whose disk was full, and is cut off. The number of the last event gives that of the next. The line is written at
 * once, and brought to the disk before it counts as published; a newline is its last byte, so that no reader takes a part of it
 * for an event.
 *
 * Lines that are no events (somebody else has written there) stay where they are, and take a number each.
 */
#include "base/text.h"
#include "store/events/events.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/sha256.h"
#include "rootfs/rootfs.h"
#include "store/store.h"

#define FORMAT       1 /* of the file */
#define HEADER_MAX   (64u << 10)
#define TAIL_MAX     (64u << 20) /* without an event: none of our logs */
#define BUSY_MS      15000
#define TAIL_FIRST   8192
#define NAME_SHOWN   40 /* bytes of the project's name in that of the file */
#define DIGEST_SHOWN 32

static const char log_suffix[] = ".jsonl";
static const char receivers_suffix[] = ".receivers";
static const char format_member[] = "warderEvents";

int events_fail(const struct warder_events *events, int error, const char *what, struct warder_error *err)
{
	if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
		error_set(err, WARDER_ERROR_UNAVAILABLE, EVENTS_FIELD,
			  "storage full: %.200s cannot grow, or its file system is full; remove files that "
			  "you do not need",
			  events->path);
		err->sys_errno = ENOSPC;
		return -1;
	}
	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, EVENTS_FIELD, error, "%.200s: %s", events->path,
			       what);
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- names ---- */

/* The last part of a path, or the whole of a text that is none. */
static char *default_project(const char *root)
{
	size_t end = strlen(root), start;

	while (end > 0 && root[end - 1] == '/')
		end--;
	for (start = end; start > 0 && root[start - 1] != '/';)
		start--;
	return end > start ? strndup(root + start, end - start) : strdup("unnamed");
}

/* What people can tell the file by, and what makes it this root's. */
static void name_files(struct warder_events *events, const char *root)
{
	char *project = default_project(root);
	char digest[SHA256_HEX], shown[NAME_SHOWN + 1] = "";
	struct sha256 sha;

	sha256_init(&sha);
	sha256_add_text(&sha, root);
	sha256_hex(&sha, digest);
	snprintf(shown, sizeof(shown), "%s", project ? project : "");
	free(project);
	for (char *at = shown; *at; at++) {
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", *at))
			*at = '_';
	}
	snprintf(events->name, sizeof(events->name), "%s-%.*s%s", shown, DIGEST_SHOWN, digest, log_suffix);
	snprintf(events->receivers, sizeof(events->receivers), "%s-%.*s%s", shown, DIGEST_SHOWN, digest,
		 receivers_suffix);
}

static int check_text(const char *text, const char *field, size_t most, struct warder_error *err)
{
	if (text && *text && strnlen(text, most + 1) <= most && json_is_utf8(text))
		return 0;
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
			 "it is empty, longer than %zu bytes, or not UTF-8", most);
}

/* ---- the file ---- */

static int wait_for_lock(const struct warder_events *events, int fd, struct warder_error *err)
{
	long pause_ns = 500000;

	for (uint64_t end = clock_us() + BUSY_MS * UINT64_C(1000); flock(fd, LOCK_EX | LOCK_NB) != 0;) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return events_fail(events, errno, "lock", err);
		if (clock_us() >= end)
			return error_set(
			    err, WARDER_ERROR_CONFLICT, EVENTS_FIELD,
			    "another process has held %.200s for more than %d seconds; try again",
			    events->path, BUSY_MS / 1000);
		nanosleep(&(struct timespec){ .tv_nsec = pause_ns }, NULL);
		pause_ns = pause_ns < 16000000 ? pause_ns * 2 : pause_ns;
	}
	return 0;
}

static int no_log(const struct warder_events *events, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_NOT_FOUND, EVENTS_FIELD,
			 "there is no log of the workspace \"%.200s\"; \"warder events create\" makes it",
			 events->root ? events->root : events->name);
}

/* A new file is as good as one that has just been removed: its header is missing. */
static int open_locked(const struct warder_events *events, int flags, struct warder_error *err)
{
	owned_fd int fd =
	    openat(events->dir_fd, events->name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, 0600);
	struct stat st;

	if (fd < 0)
		return errno == ENOENT ? no_log(events, err) : events_fail(events, errno, "open", err);
	if (wait_for_lock(events, fd, err) != 0)
		return -1;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return error_set(err, WARDER_ERROR_UNAVAILABLE, EVENTS_FIELD,
				 "%.200s is not a regular file of the caller; remove it", events->path);
	if ((st.st_mode & 07777) != 0600 && fchmod(fd, 0600) != 0) /* whatever the umask says */
		return events_fail(events, errno, "chmod", err);
	return st.st_nlink > 0 ? fd_take(&fd) : no_log(events, err);
}

int events_lock(const struct warder_events *events, struct warder_error *err)
{
	return open_locked(events, 0, err);
}

/* A part of the file, NUL-terminated; heap. */
static char *read_part(const struct warder_events *events, int fd, uint64_t from, size_t len,
		       struct warder_error *err)
{
	char *text = malloc(len + 1);
	size_t done = 0;
	ssize_t got = 1;

	if (!text) {
		error_no_memory(err, EVENTS_FIELD);
		return NULL;
	}
	while (done < len && got > 0) {
		got = pread(fd, text + done, len - done, (off_t)(from + done));
		if (got < 0 && errno == EINTR)
			got = 1;
		else if (got > 0)
			done += (size_t)got;
	}
	if (got > 0 || len == 0) {
		text[done] = '\0';
		return text;
	}
	events_fail(events, got < 0 ? errno : EIO, "read", err);
	free(text);
	return NULL;
}

/* Begin of the line that ends before `end` (which is behind its newline). */
static size_t line_start(const char *text, size_t end)
{
	size_t start = end - 1;

	while (start > 0 && text[start - 1] != '\n')
		start--;
	return start;
}

/* The number of the last event in whole lines, text[0..end), counting lines behind it that are none; whether there is one. */
static bool last_number(const char *text, size_t end, bool from_start, uint64_t *ret)
{
	struct warder_error ignored;
	uint64_t behind = 0;

	while (end > 0) {
		size_t start = line_start(text, end);
		struct warder_event *event = NULL;

		if (start == 0 && !from_start)
			return false; /* perhaps not all of the line */
		if (start == 0) {
			*ret = behind; /* the header */
			return true;
		}
		if (warder_event_parse(text + start, end - 1 - start, &event, &ignored) == 0) {
			*ret = event->sequence + behind;
			warder_event_free(event);
			return true;
		}
		behind++;
		end = start;
	}
	return false;
}

int events_end(const struct warder_events *events, int fd, uint64_t *ret_end, uint64_t *ret_sequence,
	       struct warder_error *err)
{
	struct stat st;
	uint64_t size;

	if (fstat(fd, &st) != 0)
		return events_fail(events, errno, "fstat", err);
	size = (uint64_t)st.st_size;
	for (uint64_t part = TAIL_FIRST;; part *= 4) {
		const uint64_t from = part < size ? size - part : 0;
		char *text = read_part(events, fd, from, (size_t)(size - from), err);
		const char *newline;
		bool found;

		if (!text)
			return -1;
		newline = memrchr(text, '\n', (size_t)(size - from));
		found = newline && last_number(text, (size_t)(newline + 1 - text), from == 0, ret_sequence);
		if (found)
			*ret_end = from + (uint64_t)(newline + 1 - text);
		free(text);
		if (found)
			return 0;
		if (from == 0 || part >= TAIL_MAX)
			return error_set(err, WARDER_ERROR_UNAVAILABLE, EVENTS_FIELD,
					 "%.200s is damaged: its end has no event; put it aside",
					 events->path);
	}
}

/* Write a line at the end of the last whole one, and bring it to the disk. */
static int append(const struct warder_events *events, int fd, uint64_t end, const char *line, size_t len,
		  struct warder_error *err)
{
	ssize_t written;

	if (end + len > events->max_bytes)
		return events_fail(events, EFBIG, "write", err);
	/* What somebody has left unfinished; a shorter line than that would else have its rest behind it. */
	if (ftruncate(fd, (off_t)end) != 0)
		return events_fail(events, errno, "truncate", err);
	do {
		written = pwrite(fd, line, len, (off_t)end);
	} while (written < 0 && errno == EINTR);
	if (written != (ssize_t)len) {
		const int error = written < 0 ? errno : ENOSPC;

		/* If that fails, too, the next one does it. */
		if (ftruncate(fd, (off_t)end) != 0)
			return events_fail(events, error, "write", err);
		return events_fail(events, error, "write", err);
	}
	return fdatasync(fd) == 0 ? 0 : events_fail(events, errno, "it may not have reached the disk", err);
}

/* ---- header ---- */

static char *header_line(const struct warder_events *events, size_t *ret_len)
{
	struct json_writer w = { 0 };
	char *text, *line;

	json_begin_object(&w);
	json_key_uint(&w, format_member, FORMAT);
	json_key_string(&w, "root", events->root);
	json_key_string(&w, "projectName", events->project_name);
	if (events->session_id)
		json_key_string(&w, "sessionId", events->session_id);
	json_key(&w, "createdAt");
	json_int(&w, events->created_ms);
	json_end_object(&w);
	text = json_take(&w);
	if (!text || asprintf(&line, "%s\n", text) < 0)
		line = NULL;
	free(text);
	*ret_len = line ? strlen(line) : 0;
	return line;
}

static int write_header(const struct warder_events *events, int fd, struct warder_error *err)
{
	size_t len;
	char *line = header_line(events, &len);
	int status;

	if (!line)
		return error_no_memory(err, EVENTS_FIELD);
	status = append(events, fd, 0, line, len, err);
	free(line);
	return status == 0 ? store_sync(events->dir_fd, EVENTS_FIELD, err) : -1;
}

/* Take over what the log says of itself. */
static int take_header(struct warder_events *events, const struct json_value *value, struct warder_error *err)
{
	const struct json_value *format = json_member(value, format_member),
				*created = json_member(value, "createdAt");
	const char *root, *project, *session;

	if (!format || !format->is_uint)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, EVENTS_FIELD, "%.200s is not a log",
				 events->path);
	if (format->uint != FORMAT)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, EVENTS_FIELD,
				 "%.200s was written by a newer version of Warder; use that", events->path);
	if (events_text(value, "root", true, &root, err) != 0 ||
	    events_text(value, "projectName", true, &project, err) != 0 ||
	    events_text(value, "sessionId", false, &session, err) != 0)
		return error_context(err, "%.200s", events->path);
	free(events->root);
	free(events->project_name);
	free(events->session_id);
	events->root = strdup(root);
	events->project_name = strdup(project);
	events->session_id = session ? strdup(session) : NULL;
	events->created_ms = created && created->is_uint ? (int64_t)created->uint : 0;
	return events->root && events->project_name && (events->session_id || !session)
		   ? 0
		   : error_no_memory(err, EVENTS_FIELD);
}

/* 1: it is there; 0: there is none yet; -1 with *err. */
static int read_header(struct warder_events *events, int fd, struct warder_error *err)
{
	struct json_value *value = NULL;
	char *text, *newline;
	struct stat st;
	int status;

	if (fstat(fd, &st) != 0)
		return events_fail(events, errno, "fstat", err);
	if (st.st_size == 0)
		return 0;
	text = read_part(events, fd, 0, st.st_size < HEADER_MAX ? (size_t)st.st_size : HEADER_MAX, err);
	if (!text)
		return -1;
	newline = strchr(text, '\n');
	if (!newline && st.st_size < HEADER_MAX) {
		free(text);
		return 0; /* who made it was killed before it was written */
	}
	status = json_parse(text, newline ? (size_t)(newline - text) : HEADER_MAX, events->path, NULL, &value,
			    err);
	if (status == 0)
		status = take_header(events, value, err);
	json_free(value);
	free(text);
	return status == 0 ? 1 : -1;
}

/* ---- handles ---- */

static int describe(struct warder_events *events, const char *root,
		    const struct warder_events_options *options, struct warder_error *err)
{
	if (options->project_name &&
	    check_text(options->project_name, "projectName", WARDER_EVENT_NAME_MAX, err) != 0)
		return -1;
	if (options->session_id &&
	    check_text(options->session_id, "sessionId", WARDER_EVENT_NAME_MAX, err) != 0)
		return -1;
	events->root = strdup(root);
	events->project_name = options->project_name ? strdup(options->project_name) : default_project(root);
	events->session_id = options->session_id ? strdup(options->session_id) : NULL;
	events->created_ms = options->created_ms > 0 ? options->created_ms : now_ms();
	if (!events->root || !events->project_name || (options->session_id && !events->session_id))
		return error_no_memory(err, EVENTS_FIELD);
	return 0;
}

/* Make the log if it is missing and may be made, and read its header. */
static int enter(struct warder_events *events, bool existing, struct warder_error *err)
{
	owned_fd int fd = open_locked(events, existing ? 0 : O_CREAT, err);
	int found;

	if (fd < 0)
		return -1;
	found = read_header(events, fd, err);
	if (found < 0)
		return -1;
	if (found == 0)
		return existing ? no_log(events, err) : write_header(events, fd, err);
	return 0;
}

static struct warder_events *new_handle(const char *store, struct warder_error *err)
{
	struct warder_events *events = calloc(1, sizeof(*events));
	char path[ROOTFS_PRIVATE_DIR_MAX];

	if (!events) {
		error_no_memory(err, EVENTS_FIELD);
		return NULL;
	}
	events->max_bytes = WARDER_EVENTS_MAX_BYTES;
	events->dir_fd = store_open(store, "events", path, err);
	if (events->dir_fd >= 0) {
		events->path = strdup(path);
		if (events->path)
			return events;
		error_no_memory(err, EVENTS_FIELD);
	}
	warder_events_free(events);
	return NULL;
}

static int name_path(struct warder_events *events, struct warder_error *err)
{
	char *path = NULL;

	if (asprintf(&path, "%s/%s", events->path, events->name) < 0)
		return error_no_memory(err, EVENTS_FIELD);
	free(events->path);
	events->path = path;
	return 0;
}

int warder_events_open(const char *store, const char *root, const struct warder_events_options *options,
		       struct warder_events **ret, struct warder_error *err)
{
	const struct warder_events_options none = { .size = sizeof(none) };
	struct warder_events *events;

	if (!options)
		options = &none;
	if (!ret || options->size != sizeof(*options))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL,
				 "the argument `ret` is NULL, or the options have another size");
	if (check_text(root, "root", EVENTS_ROOT_MAX, err) != 0)
		return -1;
	events = new_handle(store, err);
	if (!events)
		return -1;
	name_files(events, root);
	if (name_path(events, err) == 0 && describe(events, root, options, err) == 0 &&
	    enter(events, options->existing, err) == 0) {
		*ret = events;
		return 0;
	}
	warder_events_free(events);
	return -1;
}

struct warder_events_about warder_events_about(const struct warder_events *events)
{
	return (struct warder_events_about){ events->root, events->project_name, events->session_id,
					     events->created_ms };
}

void warder_events_free(struct warder_events *events)
{
	if (!events)
		return;
	fd_done(&events->dir_fd);
	free(events->path);
	free(events->root);
	free(events->project_name);
	free(events->session_id);
	free(events);
}

int warder_events_remove(const char *store, const char *root, struct warder_error *err)
{
	const struct warder_events_options existing = { .size = sizeof(existing), .existing = 1 };
	struct warder_events *events = NULL;
	int fd;

	if (warder_events_open(store, root, &existing, &events, err) != 0)
		return -1;
	fd = events_lock(events, err);
	if (fd >= 0) {
		/* The subscribers of the next log of that name lock another file. */
		unlinkat(events->dir_fd, events->receivers, 0);
		if (unlinkat(events->dir_fd, events->name, 0) != 0 || fsync(events->dir_fd) != 0) {
			events_fail(events, errno, "unlink", err);
			fd_done(&fd);
		}
	}
	warder_events_free(events);
	if (fd < 0)
		return -1;
	close(fd);
	return 0;
}

/* The event as a line with that number, and its newline; heap. */
static char *numbered_line(const struct warder_event *event, uint64_t sequence, struct warder_error *err)
{
	struct warder_event numbered = *event;
	char *json, *line = NULL;

	numbered.sequence = sequence;
	if (numbered.timestamp_ms == 0)
		numbered.timestamp_ms = now_ms();
	json = warder_event_json(&numbered);
	if (!json || asprintf(&line, "%s\n", json) < 0) {
		error_no_memory(err, EVENTS_FIELD);
		line = NULL;
	}
	free(json);
	return line;
}

/* To a log that is locked. */
static int publish_locked(struct warder_events *events, int fd, const struct warder_event *event,
			  uint64_t *ret_sequence, uint64_t *ret_receivers, struct warder_error *err)
{
	uint64_t end;
	char *line;
	int status;

	if (events_end(events, fd, &end, ret_sequence, err) != 0)
		return -1;
	if (*ret_sequence >= INT64_MAX)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, EVENTS_FIELD,
				 "%.200s is damaged: its last event has the highest number; put it aside",
				 events->path);
	line = numbered_line(event, ++*ret_sequence, err);
	if (!line)
		return -1;
	*ret_receivers = events_receivers(events);
	status = append(events, fd, end, line, strlen(line), err);
	free(line);
	return status;
}

int warder_events_publish(struct warder_events *events, const struct warder_event *event,
			  uint64_t *ret_sequence, uint64_t *ret_receivers, struct warder_error *err)
{
	uint64_t sequence = 0, receivers = 0;
	owned_fd int fd = -1;
	char *payload = NULL;

	if (!events)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "the argument `events` is NULL");
	/* Before the lock: nobody waits for a refusal. */
	if (events_check(event, err) != 0 || events_payload(event->payload, &payload, err) != 0)
		return -1;
	free(payload);
	fd = events_lock(events, err);
	if (fd < 0 || publish_locked(events, fd, event, &sequence, &receivers, err) != 0)
		return -1;
	if (ret_sequence)
		*ret_sequence = sequence;
	if (ret_receivers)
		*ret_receivers = receivers;
	return 0;
}

/* ---- all logs ---- */

static bool is_log(const char *name)
{
	const size_t len = strlen(name), suffix = sizeof(log_suffix) - 1;

	return len > suffix && len < EVENTS_NAME_MAX && strcmp(name + len - suffix, log_suffix) == 0;
}

struct logs {
	struct warder_events_about *items; /* texts are heap until they are joined */
	size_t count;
	size_t texts;
};

static void free_texts(const struct warder_events_about *about)
{
	free((void *)about->root);
	free((void *)about->project_name);
	free((void *)about->session_id);
}

/* What one file says of itself. Not locked: the first line never changes. A file that says nothing is left out. */
static int add_log(struct logs *logs, const struct warder_events *all, const char *name)
{
	owned_fd int fd = openat(all->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct warder_events one = { .path = all->path };
	struct warder_events_about *grown = NULL;
	struct warder_events_about about;
	struct warder_error ignored;
	const bool told = fd >= 0 && read_header(&one, fd, &ignored) == 1;

	about = warder_events_about(&one);
	if (told)
		grown = reallocarray(logs->items, logs->count + 1, sizeof(*grown));
	if (!grown) {
		free_texts(&about);
		return told ? -1 : 0;
	}
	logs->items = grown;
	logs->items[logs->count++] = about;
	logs->texts += text_size(about.root) + text_size(about.project_name) + text_size(about.session_id);
	return 0;
}

static int by_root(const void *a, const void *b)
{
	return strcmp(((const struct warder_events_about *)a)->root,
		      ((const struct warder_events_about *)b)->root);
}

static const char *copy_text(char **at, const char *text)
{
	char *here = *at;

	if (!text)
		return NULL;
	strcpy(here, text);
	*at += strlen(text) + 1;
	return here;
}

/* Items and texts in one block. NULL on want of memory. */
static struct warder_events_about *join(const struct logs *logs)
{
	const size_t items = logs->count * sizeof(*logs->items);
	struct warder_events_about *block = malloc(items + logs->texts + 1);
	char *at = block ? (char *)block + items : NULL;

	for (size_t i = 0; block && i < logs->count; i++) {
		block[i].created_ms = logs->items[i].created_ms;
		block[i].root = copy_text(&at, logs->items[i].root);
		block[i].project_name = copy_text(&at, logs->items[i].project_name);
		block[i].session_id = copy_text(&at, logs->items[i].session_id);
	}
	if (block && logs->count)
		qsort(block, logs->count, sizeof(*block), by_root);
	return block;
}

static void logs_done(struct logs *logs)
{
	for (size_t i = 0; i < logs->count; i++)
		free_texts(&logs->items[i]);
	free(logs->items);
}

int warder_events_list(const char *store, struct warder_events_about **ret, size_t *ret_count,
		       struct warder_error *err)
{
	struct warder_events *all;
	struct logs logs = { 0 };
	struct dirent *entry;
	int failed = 0;
	DIR *dir;

	if (!ret || !ret_count)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "an argument is NULL");
	all = new_handle(store, err);
	if (!all)
		return -1;
	dir = fdopendir(fcntl(all->dir_fd, F_DUPFD_CLOEXEC, 0));
	while (dir && failed == 0 && (entry = readdir(dir)) != NULL) {
		if (is_log(entry->d_name))
			failed = add_log(&logs, all, entry->d_name);
	}
	if (dir)
		closedir(dir);
	warder_events_free(all);
	*ret = dir && failed == 0 ? join(&logs) : NULL;
	*ret_count = logs.count;
	logs_done(&logs);
	return *ret ? 0 : error_no_memory(err, EVENTS_FIELD);
}
