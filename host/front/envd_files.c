/*
 * envd_files: files of a sandbox, and the service filesystem.Filesystem.
 *
 * This process has no access to the files. The sandbox's agent describes, lists and reads them; what changes them is an execution of the sandbox by
 * its shell and tools, because what a program writes into a tmpfs is charged to that program, and a client's files count for its sandbox. So
 * a template needs /bin/sh with cat, mkdir, mv and rm for that. No answer is more than the sandbox's word. A path is an argument of a fixed script
 * and never a part of it.
 *
 * A download goes as fast as its client takes it. An upload waits for the script to take it, so nothing is held but one piece of the body.
 */
#include <signal.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>

#include "base/array.h"
#include "base/text.h"
#include "host/front/envd.h"
#include "host/wire/filesystem.h"
#include "host/wire/multipart.h"

#define LISTING_MAX ((size_t)3 << 20)
#define COMPLAINT   300

/* $1, and $2 of a move, as absolute paths: a relative one and ~ begin in the home of the sandbox's user. */
#define PATHS                                                                                                \
	"set -f; full() { case $1 in '~') r=$HOME;; '~/'*) r=$HOME/${1#'~/'};; /*) r=$1;; *) r=$HOME/$1;; "  \
	"esac; while [ \"$r\" != / ] && [ \"${r%/}\" != \"$r\" ]; do r=${r%/}; done; }\n"                    \
	"full \"$1\"; p=$r; full \"$2\"; d=$r; there() { [ -e \"$1\" ] || [ -L \"$1\" ]; }\n"
static const char write_script[] =
    PATHS "[ -d \"$p\" ] && exit 41; there \"$p\" && ! [ -f \"$p\" ] && exit 42\n"
	  "mkdir -p -- \"${p%/*}/\" && printf %s \"$p\" && exec cat >\"$p\"";

/* They say the path of what there is now. */
static const char *const scripts[FILESYSTEM_CALLS] = {
	[FILESYSTEM_MAKE_DIR] = PATHS "there \"$p\" && exit 44; mkdir -p -- \"$p\" && printf %s \"$p\"",
	[FILESYSTEM_MOVE] = PATHS "there \"$p\" || exit 40; mkdir -p -- \"${d%/*}/\" && mv -T -- \"$p\" "
				  "\"$d\" && printf %s \"$d\"",
	[FILESYSTEM_REMOVE] = PATHS "[ \"$3\" != must ] || there \"$p\" || exit 40; exec rm -rf -- \"$p\"",
};

enum file_call { CALL_READ, CALL_WRITE, CALL_SERVICE };

/* What a body asks for, in its order. */
struct step {
	struct step *next;
	enum { STEP_BEGIN, STEP_BYTES, STEP_END } kind;
	size_t len;
	char bytes[]; /* of BEGIN: a path */
};

struct file_visit {
	struct visit visit;
	enum file_call call;
	enum filesystem_call service;
	struct filesystem_request request; /* of CALL_SERVICE */
	bool runs;                         /* a script does */
	char complaint[COMPLAINT];         /* what it says on standard error */
	size_t complaint_len;
	char *out; /* owned: what it says on standard output; or entries, each behind its length */
	size_t out_len;
	char *result; /* owned: the path of what a script has made */
	/* CALL_READ, CALL_WRITE */
	const char *path;
	uint64_t size, sent; /* bytes of the file: all, passed on */
	/* CALL_WRITE */
	struct multipart *parser; /* owned; NULL: the body is the file */
	struct step *steps, **steps_end;
	bool is_whole, waits; /* the body has ended; the keeper has been asked for something */
	uint64_t taken;
	struct json_writer answer;
};

static struct file_visit *of_visit(struct visit *visit)
{
	return (struct file_visit *)(void *)visit;
}

static bool is_own(const struct file_visit *file)
{
	return file->visit.x->route->flags & ROUTE_OWN;
}

/* Errors of /files have a number as their code, those of the service a name. */
static void fail_plainly(struct file_visit *file, unsigned int status, const char *message)
{
	struct visit *visit = &file->visit;

	if (visit->plain)
		visit_fail_http(visit, status, message);
	else
		visit_fail(visit, CONNECT_UNKNOWN, message);
}

/* ---- scripts ---- */

static void run(struct file_visit *file, const char *script, const char *path, const char *other,
		const char *mode, bool input)
{
	static char shell[] = "/bin/sh", option[] = "-c", name[] = "sh";
	char *argv[] = {
		shell, option, (char *)script, name, (char *)path, (char *)other, (char *)mode, NULL
	};
	const struct channel_command command = { .policy = file->visit.policy, .argv = argv, .input = input };
	struct warder_error err = { 0 };

	file->complaint_len = file->out_len = 0;
	file->runs = true;
	if (channel_start(file->visit.channel, &command, &err) < 0)
		visit_error(&file->visit, &err);
	if (!file->parser) /* no other file follows */
		visit_drop_policy(&file->visit);
}

/* The script ended otherwise than well. */
static void fail_as_ended(struct file_visit *file, const struct record_end *end)
{
	const char *why = file->complaint_len ? file->complaint
			  : end->detail[0]    ? end->detail
					      : "the sandbox's shell was ended";
	const bool full = end->cause == JAIL_CAUSE_DISK || end->cause == JAIL_CAUSE_MEMORY;

	file->complaint[file->complaint_len < COMPLAINT ? file->complaint_len : COMPLAINT - 1] = '\0';
	file->complaint[strcspn(file->complaint, "\n")] = '\0';
	if (visit_fail_as(&file->visit, (unsigned int)end->exit_code))
		return;
	fail_plainly(file,
		     full || strstr(why, "No space left")   ? 507
		     : strstr(why, "Permission denied")     ? 403
		     : strstr(why, "Read-only file system") ? 403
							    : 500,
		     why);
}

static void keep(char *to, size_t most, size_t *len, const char *bytes, size_t count)
{
	const size_t room = most - *len;
	const size_t part = count < room ? count : room;

	memcpy(to + *len, bytes, part);
	*len += part;
}

static void keep_output(struct file_visit *file, const char *bytes, size_t len)
{
	char *grown = file->out_len + len <= LISTING_MAX ? realloc(file->out, file->out_len + len + 1) : NULL;

	if (!grown) {
		fail_plainly(file, 500, "the answer is longer than 3 MiB; ask for less depth");
		return;
	}
	file->out = grown;
	memcpy(grown + file->out_len, bytes, len);
	file->out_len += len;
	grown[file->out_len] = '\0';
	exchange_waits(file->visit.x, file->out_len, true);
}

/* ---- reading ---- */

static void begin_reading(struct file_visit *file, const char *size)
{
	memcpy(&file->size, size, sizeof(file->size));
	exchange_set(file->visit.x, "Content-Disposition", "attachment");
	visit_begin_stream(&file->visit, "application/octet-stream");
}

static void pass_on(struct file_visit *file, const char *bytes, size_t len)
{
	char *copy = malloc(len);

	if (len > file->size - file->sent) {
		free(copy);
		fail_plainly(file, 500, "the sandbox sent more than the file has");
		return;
	}
	if (copy)
		memcpy(copy, bytes, len);
	file->sent += len;
	visit_send(&file->visit, copy, len);
}

static void end_reading(struct file_visit *file)
{
	if (file->visit.streams && file->sent == file->size)
		visit_end(&file->visit);
	else
		fail_plainly(file, 500, "the sandbox sent less than the file has");
}

/* ---- writing ---- */

static int add_step(struct file_visit *file, int kind, const char *bytes, size_t len,
		    struct warder_error *err)
{
	struct step *step = malloc(sizeof(*step) + len + 1);

	if (!step)
		return error_no_memory(err, NULL);
	step->next = NULL;
	step->kind = kind;
	step->len = len;
	if (len)
		memcpy(step->bytes, bytes, len);
	step->bytes[len] = '\0';
	*file->steps_end = step;
	file->steps_end = &step->next;
	return 0;
}

static int on_part_begin(void *of, const char *name, const char *filename, struct warder_error *err)
{
	struct file_visit *file = of;
	const char *path = file->path ? file->path : filename;

	if (strcmp(name, "file") != 0)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "a part is not named \"file\"");
	if (!path || !*path)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "path",
				 "path: missing, and a part has no filename");
	return add_step(file, STEP_BEGIN, path, strlen(path), err);
}

static int on_part_bytes(void *of, const char *bytes, size_t len, struct warder_error *err)
{
	struct file_visit *file = of;

	for (size_t at = 0; at < len; at += REMOTE_WRITE_MAX)
		if (add_step(file, STEP_BYTES, bytes + at,
			     len - at < REMOTE_WRITE_MAX ? len - at : REMOTE_WRITE_MAX, err) < 0)
			return -1;
	return 0;
}

static int on_part_end(void *of, struct warder_error *err)
{
	return add_step(of, STEP_END, NULL, 0, err);
}

static void drop_step(struct file_visit *file)
{
	struct step *step = file->steps;

	file->steps = step->next;
	if (!file->steps)
		file->steps_end = &file->steps;
	free(step);
}

static void reply_written(struct file_visit *file)
{
	if (!is_own(file))
		json_end_array(&file->answer);
	visit_reply(&file->visit, &file->answer);
}

/* Do the next step, or take more of the body. */
static void write_more(struct file_visit *file)
{
	struct visit *visit = &file->visit;
	struct warder_error err = { 0 };
	struct step *step = file->steps;

	if (visit->over || !visit->channel || file->waits)
		return;
	if (!step) {
		if (file->is_whole)
			reply_written(file);
		else
			exchange_hold(visit->x, false);
		return;
	}
	file->waits = true;
	if (step->kind == STEP_BEGIN)
		run(file, write_script, step->bytes, "", "", true);
	else if (step->kind == STEP_BYTES &&
		 channel_write(visit->channel, step->bytes, step->len, false, &err) < 0)
		visit_error(&file->visit, &err);
	else if (step->kind == STEP_END && channel_ask(visit->channel, RECORD_CLOSE, 0, &err) < 0)
		visit_error(&file->visit, &err);
	drop_step(file);
}

static void on_body(struct exchange *x, const char *bytes, size_t len)
{
	const uint64_t most = x->front->welcome.limits.file_bytes;
	struct file_visit *file = x->data;
	struct warder_error err = { 0 };
	int status;

	if (!file || file->visit.over)
		return;
	file->taken += len;
	if (!bytes)
		status = file->parser ? multipart_finish(file->parser, &err) : on_part_end(file, &err);
	else if (file->taken > most)
		status = error_set(&err, WARDER_ERROR_INVALID_REQUEST, NULL,
				   "the body is longer than %" PRIu64 " bytes", most);
	else
		status = file->parser ? multipart_take(file->parser, bytes, len, &err)
				      : on_part_bytes(file, bytes, len, &err);
	if (status < 0) {
		fail_plainly(file, file->taken > most ? 413 : link_status(err.code), err.text);
		return;
	}
	file->is_whole = !bytes;
	if (bytes)
		exchange_hold(x, true);
	write_more(file);
}

/* A file is written: its row of the answer. */
static void file_written(struct file_visit *file)
{
	const char *path = file->out ? file->out : "";
	const char *slash = strrchr(path, '/');

	json_begin_object(&file->answer);
	json_key_string(&file->answer, "path", path);
	json_key_string(&file->answer, "name", slash ? slash + 1 : path);
	json_key_string(&file->answer, "type", "file");
	if (is_own(file))
		json_key_uint(&file->answer, "sizeBytes", file->taken);
	json_end_object(&file->answer);
	file->waits = false;
	write_more(file);
}

/* ---- the service ---- */

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct filesystem_entry *)a)->path, ((const struct filesystem_entry *)b)->path);
}

/* An entry in the form of `warder session ls --json`, with its path. */
static void write_own_entry(struct json_writer *w, const struct filesystem_entry *entry)
{
	static const char *const types[] = {
		[FILESYSTEM_FILE] = "file", [FILESYSTEM_DIRECTORY] = "directory", [FILESYSTEM_OTHER] = "other"
	};
	const char *slash = strrchr(entry->path, '/');
	const time_t modified = (time_t)entry->modified_s;
	struct tm utc;
	char text[32] = "";

	if (gmtime_r(&modified, &utc))
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
	json_begin_object(w);
	text_write_name(w, "name", "nameBase64", slash && slash[1] ? slash + 1 : entry->path);
	text_write_name(w, "path", "pathBase64", entry->path);
	json_key_string(w, "type", entry->link ? "link" : types[entry->type]);
	json_key_uint(w, "mode", entry->mode & 07777);
	json_key_uint(w, "sizeBytes", entry->size);
	json_key_string(w, "modified", text);
	if (entry->link)
		text_write_name(w, "target", "targetBase64", entry->link);
	json_end_object(w);
}

static void keep_entry(struct file_visit *file, const char *body, size_t len)
{
	const uint32_t length = (uint32_t)len;

	keep_output(file, (const char *)&length, sizeof(length));
	if (!file->visit.over)
		keep_output(file, body, len);
}

/* The entries that were kept; heap. NULL with *ret_count 0: there are none, or -1: no memory, or one is no entry. */
static struct filesystem_entry *take_entries(const struct file_visit *file, long *ret_count)
{
	struct filesystem_entry *entries;
	size_t count = 0;
	uint32_t len;

	for (size_t at = 0; at < file->out_len; at += sizeof(len) + len, count++)
		memcpy(&len, file->out + at, sizeof(len));
	*ret_count = 0;
	if (!count)
		return NULL;
	entries = calloc(count, sizeof(*entries));
	for (size_t at = 0; entries && at < file->out_len; at += sizeof(len) + len) {
		memcpy(&len, file->out + at, sizeof(len));
		if (agent_take_entry(file->out + at + sizeof(len), len, &entries[*ret_count])) {
			++*ret_count;
			continue;
		}
		free(entries);
		entries = NULL;
	}
	if (!entries)
		*ret_count = -1;
	return entries;
}

/* In the order of their paths, as E2B lists them. */
static void write_entries(struct json_writer *w, struct filesystem_entry *entries, long count, bool own)
{
	if (count > 1)
		qsort(entries, (size_t)count, sizeof(*entries), by_path);
	for (long i = 0; i < count; i++) {
		if (own)
			write_own_entry(w, &entries[i]);
		else
			filesystem_write_entry(w, &entries[i]);
	}
}

static void reply_own(struct file_visit *file, struct filesystem_entry *entries, long count)
{
	struct json_writer w = { 0 };

	file->visit.over = true;
	if (file->service == FILESYSTEM_LIST_DIR) {
		json_begin_array(&w);
		write_entries(&w, entries, count, true);
		json_end_array(&w);
	} else {
		write_own_entry(&w, entries);
	}
	free(entries);
	exchange_json(file->visit.x, file->service == FILESYSTEM_MAKE_DIR ? 201 : 200, json_take(&w));
}

static void reply_entries(struct file_visit *file)
{
	struct json_writer w = { 0 };
	long count;
	struct filesystem_entry *entries = take_entries(file, &count);

	if (count < 0 || (file->service != FILESYSTEM_LIST_DIR && count != 1)) {
		free(entries);
		fail_plainly(file, 500, "the sandbox's agent sent no entry");
		return;
	}
	if (is_own(file)) {
		reply_own(file, entries, count);
		return;
	}
	json_begin_object(&w);
	if (file->service == FILESYSTEM_LIST_DIR) {
		json_key(&w, "entries");
		json_begin_array(&w);
		write_entries(&w, entries, count, false);
		json_end_array(&w);
	} else {
		json_key(&w, "entry");
		filesystem_write_entry(&w, entries);
	}
	json_end_object(&w);
	free(entries);
	visit_reply(&file->visit, &w);
}

/* The answer has what was kept for it. */
static void reply_service(struct file_visit *file)
{
	reply_entries(file);
	free(file->out);
	file->out = NULL;
	file->out_len = 0;
}

/* ---- what the agent says ---- */

static void said(struct visit *visit, enum agent_say type, const char *body, size_t len)
{
	struct file_visit *file = of_visit(visit);

	if (visit->over)
		return;
	if (file->call == CALL_READ && type == AGENT_SIZE && !visit->streams)
		begin_reading(file, body);
	else if (file->call == CALL_READ && type == AGENT_BYTES && visit->streams)
		pass_on(file, body, len);
	else if (file->call == CALL_READ && type == AGENT_END)
		end_reading(file);
	else if (file->call == CALL_SERVICE && type == AGENT_ENTRY)
		keep_entry(file, body, len);
	else if (file->call == CALL_SERVICE && type == AGENT_END)
		reply_service(file);
	else
		fail_plainly(file, 500, "the sandbox's agent sent something else than was asked for");
}

/* The script has said what there is now: its entry. */
static void ask_result(struct file_visit *file)
{
	if (file->service == FILESYSTEM_REMOVE && is_own(file)) {
		file->visit.over = true;
		exchange_empty(file->visit.x, 204);
		return;
	}
	if (file->service == FILESYSTEM_REMOVE) {
		visit_reply_nothing(&file->visit);
		return;
	}
	free(file->result);
	file->result = file->out;
	file->out = NULL;
	file->out_len = 0;
	visit_ask_agent(&file->visit, AGENT_STAT, 0, 0, file->result ? file->result : "");
}

/* ---- what the keeper says ---- */

static void on_answered(void *of, enum record_type request, const struct record_answer *answer,
			const char *text)
{
	struct file_visit *file = of;
	struct warder_error err = { 0 };

	if (answer->failed && request == RECORD_START)
		file->runs = false;
	/* A script that takes no more input has ended, or will: its end says why. */
	if (answer->failed && request != RECORD_WRITE && request != RECORD_CLOSE) {
		fail_plainly(file, link_status(answer->error.code), answer->error.text);
	} else if (request == RECORD_START) {
		if (channel_attach(file->visit.channel, (const uint64_t[2]){ 0, 0 }, &err) < 0)
			visit_error(&file->visit, &err);
	} else if (file->call == CALL_WRITE && !answer->failed &&
		   (request == RECORD_ATTACH || request == RECORD_WRITE)) {
		file->waits = false;
		write_more(file);
	}
}

static void on_bytes(void *of, int stream, uint64_t offset, const char *bytes, size_t len)
{
	struct file_visit *file = of;

	if (stream == 1)
		keep(file->complaint, sizeof(file->complaint) - 1, &file->complaint_len, bytes, len);
	else
		keep_output(file, bytes, len);
}

static void on_gap(void *of, int stream, uint64_t from, uint64_t to)
{
	fail_plainly(of, 500, "the sandbox's answer is too long");
}

static void on_ended(void *of, const struct record_end *end, const char *json)
{
	struct file_visit *file = of;

	file->runs = false;
	if (end->exit_code != 0 || end->signal)
		fail_as_ended(file, end);
	else if (file->call == CALL_WRITE)
		file_written(file);
	else
		ask_result(file);
}

static const struct channel_events file_events = {
	.answered = on_answered,
	.bytes = on_bytes,
	.gap = on_gap,
	.ended = on_ended,
	.agent = visit_take_agent,
	.lost = visit_lost,
};

/* ---- requests ---- */

static void begin(struct visit *visit)
{
	struct file_visit *file = of_visit(visit);

	if (file->call == CALL_WRITE)
		write_more(file);
	else
		run(file, scripts[file->service], is_own(file) ? file->path : file->request.path,
		    file->request.destination ? file->request.destination : "", is_own(file) ? "must" : "",
		    false);
}

/* A script that waits for its client would wait for ever. */
static void done(struct visit *visit)
{
	struct file_visit *file = of_visit(visit);

	if (file->runs && visit->channel)
		visit_leave(visit, RECORD_SIGNAL, SIGKILL);
	while (file->steps)
		drop_step(file);
	free(file->parser);
	free(file->out);
	free(file->result);
	json_writer_done(&file->answer);
	filesystem_request_done(&file->request);
}

static struct file_visit *file_new(struct exchange *x, enum file_call call)
{
	struct file_visit *file = (struct file_visit *)(void *)visit_new(x, sizeof(*file));

	if (!file)
		return NULL;
	file->call = call;
	file->path = exchange_query(x, "path");
	file->steps_end = &file->steps;
	file->visit.events = &file_events;
	file->visit.begin = begin;
	file->visit.said = said;
	file->visit.plain = file->visit.plain || call != CALL_SERVICE;
	file->visit.done = done;
	return visit_check_user(&file->visit) ? file : NULL;
}

/* A script begins then. ask_result() asks the agent after some. */
static void open_for_script(struct file_visit *file)
{
	file->visit.needs_policy = true;
	file->visit.uses_agent = file->call == CALL_SERVICE && file->service != FILESYSTEM_REMOVE;
	visit_open(&file->visit);
}

void envd_read_file(struct exchange *x)
{
	struct file_visit *file = file_new(x, CALL_READ);

	if (!file)
		return;
	if (!file->path || !*file->path)
		fail_plainly(file, 400, "path: missing");
	else
		visit_ask_agent(&file->visit, AGENT_READ, 0, 0, file->path);
}

static int begin_body(struct file_visit *file, struct warder_error *err)
{
	static const struct multipart_sink sink = { NULL, on_part_begin, on_part_bytes, on_part_end };
	const char *type = exchange_header(file->visit.x, "Content-Type");
	struct multipart_sink own = sink;

	if (is_own(file))
		return file->path && *file->path
			   ? on_part_begin(file, "file", NULL, err)
			   : error_set(err, WARDER_ERROR_INVALID_REQUEST, "path", "path: missing");
	json_begin_array(&file->answer);
	if (type && strncasecmp(type, "application/octet-stream", 24) == 0)
		return on_part_begin(file, "file", NULL, err);
	file->parser = malloc(sizeof(*file->parser));
	if (!file->parser)
		return error_no_memory(err, NULL);
	own.context = file;
	return multipart_init(file->parser, type, &own, err);
}

void envd_write_files(struct exchange *x)
{
	struct file_visit *file = file_new(x, CALL_WRITE);
	struct warder_error err = { 0 };

	if (!file)
		return;
	if (begin_body(file, &err) < 0) {
		fail_plainly(file, link_status(err.code), err.text);
		return;
	}
	x->part = on_body;
	open_for_script(file);
}

void envd_filesystem(struct exchange *x)
{
	struct file_visit *file = file_new(x, CALL_SERVICE);
	struct warder_error err = { 0 };

	if (!file)
		return;
	if (!filesystem_call_find(strrchr(x->path, '/') + 1, &file->service))
		visit_fail(&file->visit, CONNECT_UNIMPLEMENTED, "there is no such call");
	else if (filesystem_parse(file->service, x->body ? x->body : "", x->body_len, &file->request, &err) <
		 0)
		visit_error(&file->visit, &err);
	else if (!exchange_keep(x, file->request.document, 0))
		filesystem_request_done(&file->request);
	else if (scripts[file->service])
		open_for_script(file);
	else
		visit_ask_agent(&file->visit, file->service == FILESYSTEM_LIST_DIR ? AGENT_LIST : AGENT_STAT,
				0, file->request.depth, file->request.path);
}

/* ---- Warder's own API ---- */

#define DEPTH_MAX 64

static void about_path(struct exchange *x, enum filesystem_call service)
{
	struct file_visit *file = file_new(x, CALL_SERVICE);
	const char *depth = exchange_query(x, "depth");
	char *end = NULL;
	unsigned long levels;

	if (!file)
		return;
	file->service = service;
	levels = depth ? strtoul(depth, &end, 10) : 1;
	if (!file->path || !*file->path)
		fail_plainly(file, 400, "path: missing");
	else if (end && (*end || !levels || levels > DEPTH_MAX))
		fail_plainly(file, 400, "depth: a number from 1 to 64");
	else if (service == FILESYSTEM_LIST_DIR)
		visit_ask_agent(&file->visit, AGENT_LIST, 0, (uint32_t)levels, file->path);
	else
		open_for_script(file);
}

void envd_remove_path(struct exchange *x)
{
	about_path(x, FILESYSTEM_REMOVE);
}

void envd_list_directory(struct exchange *x)
{
	about_path(x, FILESYSTEM_LIST_DIR);
}

void envd_make_directory(struct exchange *x)
{
	about_path(x, FILESYSTEM_MAKE_DIR);
}
