/*
 * envd_files: files of a sandbox, and the service filesystem.Filesystem.
 *
 * Each call is an execution of the sandbox, by its shell and tools, with the rights of its user: this process has no access to the files, and
 * no answer is more than the sandbox's word. So the template needs /bin/sh with cat, dd, find (of GNU), mkdir, mv, rm and stat. A path is an
 * argument of a fixed script and never a part of it.
 *
 * A file is read in parts, each asked for by a line on the script's input: the keeper drops output that nobody takes, and a download must
 * not have gaps. An upload waits for the script to take it, so nothing is held but one piece of the body.
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

#define PART_BYTES                                                                                           \
	(UINT64_C(1) << 20) /* of a download, between two questions; well below what a keeper keeps */
#define LISTING_MAX ((size_t)3 << 20)
#define COMPLAINT   300

/* How a script ends. */
enum file_status {
	STATUS_GOOD = 0,
	STATUS_NOT_FOUND = 40,
	STATUS_IS_DIRECTORY,
	STATUS_NOT_REGULAR,
	STATUS_DENIED,
	STATUS_EXISTS,
	STATUS_NOT_DIRECTORY,
};

static const struct {
	int status;
	enum connect_code code;
	const char *text;
} statuses[] = {
	{ STATUS_NOT_FOUND, CONNECT_NOT_FOUND, "there is no such file or directory" },
	{ STATUS_IS_DIRECTORY, CONNECT_INVALID_ARGUMENT, "the path is a directory" },
	{ STATUS_NOT_REGULAR, CONNECT_INVALID_ARGUMENT, "the path is not a regular file" },
	{ STATUS_DENIED, CONNECT_PERMISSION_DENIED, "the sandbox's user may not open it" },
	{ STATUS_EXISTS, CONNECT_ALREADY_EXISTS, "the path exists" },
	{ STATUS_NOT_DIRECTORY, CONNECT_INVALID_ARGUMENT, "the path is not a directory" },
};

/* $1, and $2 of a move, as absolute paths: a relative one and ~ begin in the home of the sandbox's user. */
#define PATHS                                                                                                \
	"set -f; full() { case $1 in '~') r=$HOME;; '~/'*) r=$HOME/${1#'~/'};; /*) r=$1;; *) r=$HOME/$1;; "  \
	"esac; while [ \"$r\" != / ] && [ \"${r%/}\" != \"$r\" ]; do r=${r%/}; done; }\n"                    \
	"full \"$1\"; p=$r; full \"$2\"; d=$r; there() { [ -e \"$1\" ] || [ -L \"$1\" ]; }\n"
/* One entry of the answer has nine texts, each ended by a NUL. */
#define ENTRY  "-printf '%p\\0%y\\0%Y\\0%s\\0%m\\0%u\\0%g\\0%T@\\0%l\\0'"
#define DETAIL "exec find \"$p\" -maxdepth 0 " ENTRY

static const char read_script[] =
    PATHS "there \"$p\" || exit 40; [ -d \"$p\" ] && exit 41; [ -f \"$p\" ] || exit 42\n"
	  "[ -r \"$p\" ] || exit 43; exec 3<\"$p\" || exit 43\n"
	  "stat -L -c %s /proc/self/fd/3 || exit 1\n"
	  "while read -r line; do dd bs=65536 count=16 iflag=fullblock <&3 2>/dev/null || exit 1; done";

static const char write_script[] =
    PATHS "[ -d \"$p\" ] && exit 41; there \"$p\" && ! [ -f \"$p\" ] && exit 42\n"
	  "mkdir -p -- \"${p%/*}/\" && printf %s \"$p\" && exec cat >\"$p\"";

static const char *const scripts[FILESYSTEM_CALLS] = {
	[FILESYSTEM_STAT] = PATHS "there \"$p\" || exit 40; " DETAIL,
	[FILESYSTEM_MAKE_DIR] = PATHS "there \"$p\" && exit 44; mkdir -p -- \"$p\" && " DETAIL,
	[FILESYSTEM_MOVE] = PATHS
	"there \"$p\" || exit 40; mkdir -p -- \"${d%/*}/\" && mv -T -- \"$p\" \"$d\" && p=$d && " DETAIL,
	[FILESYSTEM_LIST_DIR] = PATHS "there \"$p\" || exit 40; [ -d \"$p\" ] || exit 45\n"
				      "exec find \"$p/\" -mindepth 1 -maxdepth \"$3\" " ENTRY,
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
	char *out; /* owned: what it says on standard output; of CALL_READ only the size */
	size_t out_len;
	/* CALL_READ */
	const char *path;
	bool has_size;
	uint64_t size, sent, asked; /* bytes of the file: all, passed on, asked for */
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

static void fail(struct file_visit *file, const struct warder_error *err)
{
	if (is_own(file))
		visit_fail_http(&file->visit, link_status(err->code), err->text);
	else
		visit_error(&file->visit, err);
}

/* Errors of /files have a number as their code, those of the service a name. */
static void fail_plainly(struct file_visit *file, unsigned int status, const char *message)
{
	struct visit *visit = &file->visit;

	if (file->call == CALL_SERVICE && !is_own(file))
		visit_fail(visit, CONNECT_UNKNOWN, message);
	else
		visit_fail_http(visit, status, message);
}

/* ---- scripts ---- */

static void run(struct file_visit *file, const char *script, const char *path, const char *other,
		const char *depth, bool input)
{
	static char shell[] = "/bin/sh", option[] = "-c", name[] = "sh";
	char *argv[] = {
		shell, option, (char *)script, name, (char *)path, (char *)other, (char *)depth, NULL
	};
	const struct channel_command command = { .policy = file->visit.policy, .argv = argv, .input = input };
	struct warder_error err = { 0 };

	file->complaint_len = file->out_len = 0;
	file->runs = true;
	if (channel_start(file->visit.channel, &command, &err) < 0)
		fail(file, &err);
}

/* The script ended otherwise than well. */
static void fail_as_ended(struct file_visit *file, const struct record_end *end)
{
	char text[COMPLAINT + 80];

	file->complaint[file->complaint_len < COMPLAINT ? file->complaint_len : COMPLAINT - 1] = '\0';
	file->complaint[strcspn(file->complaint, "\n")] = '\0';
	for (size_t i = 0; i < ARRAY_LENGTH(statuses); i++) {
		if (end->exit_code != statuses[i].status)
			continue;
		if (file->call == CALL_SERVICE && !is_own(file))
			visit_fail(&file->visit, statuses[i].code, statuses[i].text);
		else
			fail_plainly(file, (unsigned int)connect_code_status(statuses[i].code),
				     statuses[i].text);
		return;
	}
	snprintf(text, sizeof(text), "%s",
		 file->complaint_len ? file->complaint : "the sandbox's shell was ended");
	fail_plainly(file,
		     strstr(text, "No space left")           ? 507
		     : strstr(text, "Permission denied")     ? 403
		     : strstr(text, "Read-only file system") ? 403
							     : 500,
		     text);
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
}

/* ---- reading ---- */

/* Ask for the next part when the client has taken the last one. */
static void read_more(struct file_visit *file)
{
	struct warder_error err = { 0 };

	if (file->visit.over || file->visit.held || !file->has_size || file->sent < file->asked)
		return;
	if (file->sent == file->size) {
		visit_end(&file->visit);
		return;
	}
	file->asked = file->asked + PART_BYTES < file->size ? file->asked + PART_BYTES : file->size;
	if (channel_write(file->visit.channel, "\n", 1, false, &err) < 0)
		fail(file, &err);
}

/* The first line is the size; the bytes follow. */
static void take_size(struct file_visit *file, const char *bytes, size_t len)
{
	char *end = NULL;

	keep_output(file, bytes, len);
	if (file->visit.over || !memchr(file->out, '\n', file->out_len))
		return;
	file->size = strtoull(file->out, &end, 10);
	if (*end != '\n' || end + 1 != file->out + file->out_len) {
		fail_plainly(file, 500, "the sandbox's stat did not say the size");
		return;
	}
	file->has_size = true;
	exchange_set(file->visit.x, "Content-Disposition", "attachment");
	visit_begin_stream(&file->visit, "application/octet-stream");
	read_more(file);
}

static void pass_on(struct file_visit *file, const char *bytes, size_t len)
{
	char *copy;

	if (len > file->asked - file->sent) {
		fail_plainly(file, 500, "the sandbox sent more than was asked for");
		return;
	}
	copy = malloc(len);
	if (copy)
		memcpy(copy, bytes, len);
	file->sent += len;
	visit_send(&file->visit, copy, len);
	read_more(file);
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
		fail(file, &err);
	else if (step->kind == STEP_END && channel_ask(visit->channel, RECORD_CLOSE, 0, &err) < 0)
		fail(file, &err);
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

/* The next of the nine texts; NULL: there is none. */
static const char *next_text(const char **at, const char *end)
{
	const char *text = *at;
	const char *nul = text < end ? memchr(text, 0, (size_t)(end - text)) : NULL;

	if (nul)
		*at = nul + 1;
	return nul ? text : NULL;
}

static enum filesystem_type type_of(const char *letter)
{
	return *letter == 'f' ? FILESYSTEM_FILE : *letter == 'd' ? FILESYSTEM_DIRECTORY : FILESYSTEM_OTHER;
}

/* False: there is no further entry. */
static bool take_entry(const char **at, const char *end, struct filesystem_entry *ret)
{
	const char *texts[9];
	const char *dot;

	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		texts[i] = next_text(at, end);
		if (!texts[i])
			return false;
	}
	dot = strchr(texts[7], '.');
	*ret = (struct filesystem_entry){
		.path = texts[0],
		.type = type_of(texts[2]),
		.size = strtoull(texts[3], NULL, 10),
		.mode = (uint32_t)strtoul(texts[4], NULL, 8) | (*texts[1] == 'd' ? S_IFDIR : 0),
		.owner = texts[5],
		.group = texts[6],
		.modified_s = strtoll(texts[7], NULL, 10),
		.modified_ns = dot ? (uint32_t)(strtoull(dot + 1, NULL, 10) / 10) : 0,
		.link = *texts[1] == 'l' ? texts[8] : NULL,
	};
	return true;
}

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

/* In the order of their paths, as E2B lists them. */
static void write_entries(struct json_writer *w, const char *at, const char *end, bool own)
{
	struct filesystem_entry *entries = NULL;
	size_t count = 0, room = 0;

	for (;; count++) {
		if (count == room) {
			struct filesystem_entry *more =
			    reallocarray(entries, room ? 2 * room : 64, sizeof(*entries));

			if (!more) {
				w->failed = true;
				break;
			}
			entries = more;
			room = room ? 2 * room : 64;
		}
		if (!take_entry(&at, end, &entries[count]))
			break;
	}
	if (count > 1)
		qsort(entries, count, sizeof(*entries), by_path);
	for (size_t i = 0; i < count && !w->failed; i++) {
		if (own)
			write_own_entry(w, &entries[i]);
		else
			filesystem_write_entry(w, &entries[i]);
	}
	free(entries);
}

static void reply_own(struct file_visit *file)
{
	const char *at = file->out ? file->out : "";
	const char *end = at + file->out_len;
	struct filesystem_entry entry;
	struct json_writer w = { 0 };

	file->visit.over = true;
	if (file->service == FILESYSTEM_LIST_DIR) {
		json_begin_array(&w);
		write_entries(&w, at, end, true);
		json_end_array(&w);
	} else if (file->service == FILESYSTEM_MAKE_DIR && take_entry(&at, end, &entry)) {
		write_own_entry(&w, &entry);
	} else {
		exchange_empty(file->visit.x, 204);
		return;
	}
	exchange_json(file->visit.x, file->service == FILESYSTEM_MAKE_DIR ? 201 : 200, json_take(&w));
}

static void reply_service(struct file_visit *file)
{
	const char *at = file->out ? file->out : "";
	const char *end = at + file->out_len;
	struct filesystem_entry entry;
	struct json_writer w = { 0 };

	json_begin_object(&w);
	if (file->service == FILESYSTEM_LIST_DIR) {
		json_key(&w, "entries");
		json_begin_array(&w);
		write_entries(&w, at, end, false);
		json_end_array(&w);
	} else if (file->service != FILESYSTEM_REMOVE) {
		json_key(&w, "entry");
		if (take_entry(&at, end, &entry))
			filesystem_write_entry(&w, &entry);
	}
	json_end_object(&w);
	visit_reply(&file->visit, &w);
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
			fail(file, &err);
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
	else if (file->call != CALL_READ)
		keep_output(file, bytes, len);
	else if (file->has_size)
		pass_on(file, bytes, len);
	else
		take_size(file, bytes, len);
}

static void on_gap(void *of, int stream, uint64_t from, uint64_t to)
{
	fail_plainly(of, 500, "the sandbox's answer is too long");
}

static void on_ended(void *of, const struct record_end *end, const char *json)
{
	struct file_visit *file = of;

	file->runs = false;
	if (end->exit_code != STATUS_GOOD || end->signal)
		fail_as_ended(file, end);
	else if (file->call == CALL_WRITE)
		file_written(file);
	else if (file->call == CALL_SERVICE && is_own(file))
		reply_own(file);
	else if (file->call == CALL_SERVICE)
		reply_service(file);
	else
		fail_plainly(file, 500, "the file became shorter while it was read");
}

static const struct channel_events file_events = {
	.answered = on_answered, .bytes = on_bytes, .gap = on_gap, .ended = on_ended, .lost = visit_lost
};

/* ---- requests ---- */

static void begin(struct visit *visit)
{
	struct file_visit *file = of_visit(visit);
	char depth[12];

	if (file->call == CALL_WRITE) {
		write_more(file);
		return;
	}
	if (file->call == CALL_READ) {
		run(file, read_script, file->path, "", "", true);
		return;
	}
	snprintf(depth, sizeof(depth), "%u", file->request.depth);
	if (is_own(file)) {
		run(file, scripts[file->service], file->path, "",
		    file->service == FILESYSTEM_REMOVE ? "must" : depth, false);
		return;
	}
	run(file, scripts[file->service], file->request.path,
	    file->request.destination ? file->request.destination : "", depth, false);
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
	file->visit.done = done;
	return visit_check_user(&file->visit) ? file : NULL;
}

/* The client has read; the visit's own room() goes on with the channel. */
static void read_room(struct exchange *x)
{
	struct file_visit *file = x->data;

	if (!file || !file->visit.channel)
		return;
	if (file->visit.held) {
		file->visit.held = false;
		channel_hold(file->visit.channel, false);
	}
	read_more(file);
}

void envd_read_file(struct exchange *x)
{
	struct file_visit *file = file_new(x, CALL_READ);

	if (!file)
		return;
	x->room = read_room;
	if (!file->path || !*file->path)
		fail_plainly(file, 400, "path: missing");
	else
		visit_open(&file->visit);
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
	visit_open(&file->visit);
}

void envd_filesystem(struct exchange *x)
{
	struct file_visit *file = file_new(x, CALL_SERVICE);
	struct warder_error err = { 0 };

	if (!file)
		return;
	if (!filesystem_call_find(strrchr(x->path, '/') + 1, &file->service) || !scripts[file->service])
		visit_fail(&file->visit, CONNECT_UNIMPLEMENTED, "there is no such call");
	else if (filesystem_parse(file->service, x->body ? x->body : "", x->body_len, &file->request, &err) <
		 0)
		fail(file, &err);
	else
		visit_open(&file->visit);
}

/* ---- Warder's own API ---- */

#define DEPTH_MAX 64

static void about_path(struct exchange *x, enum filesystem_call service)
{
	struct file_visit *file = file_new(x, CALL_SERVICE);
	const char *depth = exchange_query(x, "depth");
	char *end = NULL;

	if (!file)
		return;
	file->service = service;
	file->request.depth = depth ? (uint32_t)strtoul(depth, &end, 10) : 1;
	if (!file->path || !*file->path)
		fail_plainly(file, 400, "path: missing");
	else if (end && (*end || !file->request.depth || file->request.depth > DEPTH_MAX))
		fail_plainly(file, 400, "depth: a number from 1 to 64");
	else
		visit_open(&file->visit);
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
