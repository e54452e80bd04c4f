/*
 * calls: one row for each request. A request about the files or programs of a sandbox looks at the sandbox first: the answer has its access token, and
 * a paused sandbox is refused and not resumed.
 */
#include "remote/calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "base/array.h"
#include "remote/call.h"
#include "remote/contexts.h"
#include "remote/e2b.h"
#include "remote/follow_e2b.h"
#include "remote/processes.h"

#define SANDBOXES   "/v1/sandboxes"
#define PATH_SIZE   4096
#define FILES_MS    60000u
#define LISTING_MAX REMOTE_RESULT_MAX
#define BOUNDARY    32 /* hexadecimal digits */
#define REST_SIZE   (SERVICE_ID_MAX + 64)

static void create(struct call *call)
{
	struct service *service = call->service;
	struct json_value *document = call_read_request(call);
	const struct json_value *policy, *network;
	struct json_writer w = { 0 };
	struct warder_error err = { 0 }, left = { 0 };

	if (!document)
		return;
	e2b_catch();
	policy = json_member(document, "policy");
	network = policy ? json_member(policy, "network") : NULL;
	service->internet = network && strcmp(json_member_text(network, "mode", "none"), "none") != 0;
	service->env = json_member(document, "env");
	service->key = json_member_text(document, "idempotencyKey", NULL);
	service->lifetime_s = (json_member_uint(document, "timeoutMs") + 999) / 1000;
	service_create(service, &err);
	if (!err.code && e2b_stopped()) {
		service_delete(service, &left);
		error_set(&err, WARDER_ERROR_UNAVAILABLE, "backend", "stopped by a signal%s%.200s",
			  left.code ? "; " : "", left.code ? left.text : "");
	}
	json_free(document);
	if (err.code) {
		call_put_error(call, &err);
		return;
	}
	json_begin_object(&w);
	json_key_string(&w, "id", service->id);
	call_put_object(call, &w);
}

static void show(struct call *call)
{
	struct json_value *document = NULL;
	struct json_writer w = { 0 };

	if (!call_ask_document(call, "GET", "", NULL, &document))
		return;
	json_begin_object(&w);
	json_key_string(&w, "id", call->service->id);
	json_key_string(&w, "state", json_member_text(document, "state", "unknown"));
	json_free(document);
	call_put_object(call, &w);
}

/* A request that is answered with nothing. */
static void do_plain(struct call *call, const char *method, const char *rest, const char *body)
{
	struct json_writer w = { 0 };
	char *text = NULL;
	size_t len;

	if (call_ask(call, method, rest, body, &text, &len)) {
		json_begin_object(&w);
		call_put_object(call, &w);
	}
	free(text);
}

static void end(struct call *call)
{
	do_plain(call, "DELETE", "", NULL);
}

static void pause_sandbox(struct call *call)
{
	do_plain(call, "POST", "/pause", "{}");
}

/* With the time of the request, in seconds. */
static void do_timed(struct call *call, const char *rest)
{
	struct json_value *document = call_read_request(call);
	char body[60];

	if (!document)
		return;
	snprintf(body, sizeof(body), "{\"timeout\": %llu}",
		 (unsigned long long)((json_member_uint(document, "timeoutMs") + 999) / 1000));
	json_free(document);
	do_plain(call, "POST", rest, body);
}

static void set_timeout(struct call *call)
{
	do_timed(call, "/timeout");
}

static void resume_sandbox(struct call *call)
{
	do_timed(call, "/connect");
}

/* ---- programs ---- */

static void run(struct call *call)
{
	const struct exchange_order *order = call->order;

	e2b_run(call->service, order->body ? order->body : "", order->body_len, call->ret, call->ret_body);
}

static void execute(struct call *call)
{
	const struct exchange_order *order = call->order;
	const bool stays = strcmp(call->query, "detach=1") == 0;

	if (call_open_sandbox(call))
		(stays ? e2b_start : e2b_execute)(call->service, order->body ? order->body : "",
						  order->body_len, call->ret, call->ret_body);
	else if (!call->ret->status)
		call->ret->sent = 0; /* nothing about the program */
}

/* ---- files ---- */

static void ask_sandbox(struct call *call, const struct exchange_order *more, struct remote_answer *ret,
			char **ret_body)
{
	struct exchange_order order = *more;

	order.url = call->service->data_url;
	order.ca_file = call->service->ca_file;
	order.headers = call->service->headers;
	order.timeout_ms = FILES_MS;
	exchange_perform(&order, ret, ret_body);
	if (!service_is_good(ret)) {
		struct remote_answer answer = *ret;

		call_pass_refusal(call, &answer, *ret_body, "path");
	}
}

static bool files_path(struct call *call, char ret[PATH_SIZE])
{
	if (snprintf(ret, PATH_SIZE, "/files?%s", call->query) < PATH_SIZE)
		return true;
	call_refuse(call, 400, WARDER_ERROR_INVALID_REQUEST, "path", "the path is too long");
	return false;
}

static void read_file(struct call *call)
{
	char path[PATH_SIZE];
	const struct exchange_order order = { .method = "GET", .path = path, .most = call->order->most };
	struct remote_answer answer;
	char *body = NULL;

	if (!files_path(call, path) || !call_open_sandbox(call))
		return;
	ask_sandbox(call, &order, &answer, &body);
	if (!service_is_good(&answer)) {
		free(body);
		return;
	}
	*call->ret = answer;
	*call->ret_body = body;
}

/* The bytes as the only part of a form, which every version of the protocol takes. NULL without memory. */
static char *write_form(const struct exchange_order *order, char type[80], size_t *ret_len)
{
	const size_t room = order->body_len + 300;
	unsigned char random[BOUNDARY / 2];
	char boundary[BOUNDARY + 1];
	char *form = malloc(room);
	size_t len;

	if (!form || getrandom(random, sizeof(random), 0) != sizeof(random)) {
		free(form);
		return NULL;
	}
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(boundary + 2 * i, 3, "%02x", random[i]);
	snprintf(type, 80, "multipart/form-data; boundary=%s", boundary);
	len = (size_t)snprintf(form, room,
			       "--%s\r\nContent-Disposition: form-data; name=\"file\"; filename=\"file\"\r\n"
			       "Content-Type: application/octet-stream\r\n\r\n",
			       boundary);
	if (order->body_len)
		memcpy(form + len, order->body, order->body_len);
	len += order->body_len;
	len += (size_t)snprintf(form + len, room - len, "\r\n--%s--\r\n", boundary);
	*ret_len = len;
	return form;
}

static void write_file(struct call *call)
{
	char path[PATH_SIZE], type[80];
	struct exchange_order order = {
		.method = "POST", .path = path, .type = type, .most = REMOTE_JSON_MAX
	};
	struct json_writer w = { 0 };
	struct remote_answer answer;
	char *body = NULL, *form;

	if (!files_path(call, path) || !call_open_sandbox(call))
		return;
	form = write_form(call->order, type, &order.body_len);
	if (!form) {
		call_put(call, 200, NULL);
		return;
	}
	order.body = form;
	ask_sandbox(call, &order, &answer, &body);
	free(body);
	free(form);
	if (!service_is_good(&answer))
		return;
	json_begin_object(&w);
	call_put_object(call, &w);
}

/* The path of "path=...", without its percent encoding. False: it is not UTF-8, or too long. */
static bool decode_path(const char *query, char ret[PATH_SIZE])
{
	size_t len = 0;

	if (strncmp(query, "path=", 5) != 0)
		return false;
	for (query += 5; *query && len < PATH_SIZE - 1; query++) {
		unsigned int byte = (unsigned char)*query;

		if (byte == '%' && (sscanf(query + 1, "%2x", &byte) != 1 || !byte))
			return false;
		if (*query == '%')
			query += 2;
		ret[len++] = (char)byte;
	}
	ret[len] = '\0';
	return !*query && json_is_utf8(ret);
}

static uint64_t size_of(const struct json_value *entry)
{
	const char *text = json_member_text(entry, "size", NULL);

	return text ? strtoull(text, NULL, 10) : json_member_uint(entry, "size");
}

static void write_entry(struct json_writer *w, const struct json_value *entry)
{
	const char *type = json_member_text(entry, "type", "");
	const char *target = json_member_text(entry, "symlinkTarget", NULL);

	json_begin_object(w);
	json_key_string(w, "name", json_member_text(entry, "name", ""));
	json_key_string(w, "type",
			target || strcmp(type, "FILE_TYPE_SYMLINK") == 0 ? "link"
			: strcmp(type, "FILE_TYPE_FILE") == 0            ? "file"
			: strcmp(type, "FILE_TYPE_DIRECTORY") == 0       ? "directory"
									 : "other");
	json_key_uint(w, "sizeBytes", size_of(entry));
	json_key_uint(w, "mode", json_member_uint(entry, "mode"));
	json_key_string(w, "modified", json_member_text(entry, "modifiedTime", NULL));
	if (target)
		json_key_string(w, "target", target);
	json_end_object(w);
}

static void put_entries(struct call *call, const char *text, size_t len)
{
	const struct json_limits limits = { .max_bytes = LISTING_MAX, .max_values = REMOTE_LIST_VALUES_MAX };
	struct json_value *document = NULL;
	const struct json_value *entries = NULL;
	struct json_writer w = { 0 };
	struct warder_error err = { 0 };

	if (json_parse(text ? text : "", len, "answer", &limits, &document, &err) < 0) {
		error_set(
		    &err, WARDER_ERROR_UNAVAILABLE, "backend",
		    "the answer with the list of the directory is not valid JSON, or has too many values");
		call_put_error(call, &err);
		return;
	}
	entries = json_member(document, "entries");
	json_begin_array(&w);
	for (const struct json_value *one = entries ? entries->child : NULL; one; one = one->next)
		if (one->type == JSON_OBJECT)
			write_entry(&w, one);
	json_end_array(&w);
	json_free(document);
	call_put(call, 200, json_take(&w));
}

/* Call the service for files with the path of the query. `depth`: 0, or that of a list. Returns whether the sandbox agrees; otherwise *call has
 * the answer. */
static bool ask_about_path(struct call *call, const char *service, unsigned int depth,
			   struct remote_answer *ret, char **ret_body)
{
	struct exchange_order order = { .method = "POST", .path = service, .most = LISTING_MAX };
	struct json_writer w = { 0 };
	char path[PATH_SIZE];
	char *wish;

	if (!decode_path(call->query, path)) {
		call_refuse(call, 400, WARDER_ERROR_INVALID_REQUEST, "path", "the path is not valid UTF-8");
		return false;
	}
	if (!call_open_sandbox(call))
		return false;
	json_begin_object(&w);
	json_key_string(&w, "path", path);
	if (depth)
		json_key_uint(&w, "depth", depth);
	json_end_object(&w);
	wish = json_take(&w);
	if (!wish) {
		call_put(call, 200, NULL);
		return false;
	}
	order.body = wish;
	order.body_len = strlen(wish);
	ask_sandbox(call, &order, ret, ret_body);
	free(wish);
	return service_is_good(ret);
}

static void list_directory(struct call *call)
{
	struct remote_answer answer;
	char *body = NULL;

	if (ask_about_path(call, "/filesystem.Filesystem/ListDir", 1, &answer, &body))
		put_entries(call, body, answer.bytes);
	free(body);
}

static void remove_path(struct call *call)
{
	struct json_writer w = { 0 };
	struct remote_answer answer;
	char *body = NULL;

	if (ask_about_path(call, "/filesystem.Filesystem/Remove", 0, &answer, &body)) {
		json_begin_object(&w);
		call_put_object(call, &w);
	}
	free(body);
}

static void refuse_interrupt(struct call *call)
{
	call_refuse(call, 501, WARDER_ERROR_UNSUPPORTED_POLICY, "backend",
		    "a service of the kind e2b interrupts a piece only when its client leaves: press ctrl-c "
		    "in the command that runs it");
}

/* ---- the table ---- */

/* `rest`: of the path, behind SANDBOXES and the id. "*" is the id of a context or an execution. */
static const struct row {
	const char *method, *rest;
	bool of_one;
	void (*perform)(struct call *call);
} rows[] = {
	{ "POST", "", false, create },
	{ "GET", "", true, show },
	{ "DELETE", "", true, end },
	{ "POST", "/timeout", true, set_timeout },
	{ "POST", "/pause", true, pause_sandbox },
	{ "POST", "/resume", true, resume_sandbox },
	{ "GET", "/executions", true, processes_list },
	{ "POST", "/executions", true, execute },
	{ "POST", "/executions/*/signal", true, processes_send_signal },
	{ "POST", "/executions/*/input", true, processes_write },
	{ "GET", "/files", true, read_file },
	{ "PUT", "/files", true, write_file },
	{ "DELETE", "/files", true, remove_path },
	{ "GET", "/directories", true, list_directory },
	{ "GET", "/contexts", true, contexts_list },
	{ "POST", "/contexts", true, contexts_create },
	{ "POST", "/contexts/*/restart", true, contexts_restart },
	{ "POST", "/contexts/*/interrupt", true, refuse_interrupt },
	{ "DELETE", "/contexts/*", true, contexts_delete },
	{ "POST", "/code", true, contexts_run },
};

/* Take the id out of the path. Returns what follows it up to the query, in `ret`; NULL: it is not valid. */
static const char *take_path(struct call *call, const char *path, char ret[REST_SIZE], bool *ret_of_one)
{
	const size_t head = sizeof(SANDBOXES) - 1;
	const char *mark = strchr(path, '?');
	size_t len, id;

	call->query = mark ? mark + 1 : "";
	if (strncmp(path, SANDBOXES, head) != 0)
		return NULL;
	path += head;
	*ret_of_one = *path == '/';
	if (*path == '/') {
		id = strcspn(++path, "/?");
		snprintf(call->service->id, sizeof(call->service->id), "%.*s", (int)id, path);
		if (id > SERVICE_ID_MAX || !service_is_id(call->service->id))
			return NULL;
		path += id;
	}
	len = strcspn(path, "?");
	if (len >= REST_SIZE)
		return NULL;
	snprintf(ret, REST_SIZE, "%.*s", (int)len, path);
	return ret;
}

/* Whether the rest of a path is that of a row; takes the id out of it. */
static bool matches(struct call *call, const char *pattern, const char *rest)
{
	const size_t head = strcspn(pattern, "*");
	size_t len;

	if (!pattern[head])
		return strcmp(pattern, rest) == 0;
	if (strncmp(pattern, rest, head) != 0)
		return false;
	len = strcspn(rest + head, "/");
	if (len > SERVICE_ID_MAX || strcmp(pattern + head + 1, rest + head + len) != 0)
		return false;
	snprintf(call->context, sizeof(call->context), "%.*s", (int)len, rest + head);
	return service_is_id(call->context);
}

static void refuse_path(struct call *call)
{
	call_refuse(
	    call, 501, WARDER_ERROR_UNSUPPORTED_POLICY, "backend",
	    "Warder cannot do %.10s %.200s on a service of the kind e2b; use a host of the kind warder",
	    call->order->method, call->order->path);
}

void calls_perform(struct service *service, const struct exchange_order *order, struct remote_answer *ret,
		   char **ret_body)
{
	struct call call = { .service = service, .order = order, .ret = ret, .ret_body = ret_body };
	bool of_one = false;
	const char *rest;
	char buf[REST_SIZE];

	*ret = (struct remote_answer){ .magic = REMOTE_MAGIC, .size = sizeof(*ret) };
	*ret_body = NULL;
	if (strcmp(order->path, "/v1/run") == 0) {
		run(&call);
		return;
	}
	rest = take_path(&call, order->path, buf, &of_one);
	for (size_t i = 0; rest && i < ARRAY_LENGTH(rows); i++)
		if (rows[i].of_one == of_one && strcmp(rows[i].method, order->method) == 0 &&
		    matches(&call, rows[i].rest, rest)) {
			rows[i].perform(&call);
			return;
		}
	refuse_path(&call);
}

void calls_follow(struct service *service, const struct exchange_order *order, int fd)
{
	struct remote_answer answer = { .magic = REMOTE_MAGIC, .size = sizeof(answer) };
	char *body = NULL;
	struct call call = { .service = service, .order = order, .ret = &answer, .ret_body = &body };
	bool of_one = false;
	char buf[REST_SIZE];
	const char *rest = take_path(&call, order->path, buf, &of_one);

	if (!rest || !of_one || !matches(&call, "/executions/*/follow", rest))
		refuse_path(&call);
	else
		follow_e2b_run(&call, fd);
	if (answer.status != 101 && send(fd, &answer, sizeof(answer), MSG_NOSIGNAL) > 0 && answer.bytes)
		send(fd, body, answer.bytes, MSG_NOSIGNAL);
	free(body);
}
