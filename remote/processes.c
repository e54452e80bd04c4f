/*
 * processes: each answer of the service is looked through: a number that is none is left out.
 */
#include "remote/processes.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASK_MS   15000u
#define INPUT_MS 60000u
#define LIST     "/process.Process/List"
#define LISTED   100000u /* values of JSON in a list */
#define SUBJECT  "execution"
#define ID_SIZE  12

char *processes_body(uint32_t pid, const char *signal, const char *input)
{
	struct json_writer w = { 0 };

	json_begin_object(&w);
	json_key(&w, "process");
	json_begin_object(&w);
	json_key_uint(&w, "pid", pid);
	json_end_object(&w);
	if (signal)
		json_key_string(&w, "signal", signal);
	if (input) {
		json_key(&w, "input");
		json_begin_object(&w);
		json_key_string(&w, "stdin", input);
		json_end_object(&w);
	}
	json_end_object(&w);
	return json_take(&w);
}

const char *processes_signal(int number)
{
	return number == SIGKILL ? "SIGNAL_SIGKILL" : number == SIGTERM ? "SIGNAL_SIGTERM" : NULL;
}

void processes_write_id(struct json_writer *w, uint32_t pid)
{
	char text[ID_SIZE];

	snprintf(text, sizeof(text), "%u", pid);
	json_key_string(w, "id", text);
}

bool processes_pid(struct call *call, uint32_t *ret)
{
	const char *text = call->context;
	const size_t len = strlen(text);
	const unsigned long long number = strtoull(text, NULL, 10);

	*ret = (uint32_t)number;
	if (len >= 1 && len < ID_SIZE && strspn(text, "0123456789") == len && *text != '0' &&
	    number <= UINT32_MAX)
		return true;
	call_refuse(call, 404, WARDER_ERROR_NOT_FOUND, SUBJECT,
		    "%s is not the number of a program; \"warder ps\" lists those of a session", text);
	return false;
}

/* The caller makes a request again that is refused with 503. A gateway that says so may have passed it on. */
static void refuse_once(struct call *call, const struct remote_answer *answer, const char *body)
{
	char message[SERVICE_MESSAGE];

	service_message(body, answer->bytes, message);
	call_refuse(call, 502, WARDER_ERROR_UNAVAILABLE, "backend", "the service answers %u%s%s",
		    answer->status, message[0] ? ": " : "", message);
}

/* Call the service with the body, which it frees. once: doing it twice does harm. Returns whether the service agrees; otherwise the call has its answer. */
static bool ask(struct call *call, const char *path, char *body, uint64_t timeout_ms, bool once, char **ret,
		size_t *ret_len)
{
	struct exchange_order order;
	struct remote_answer answer;

	if (!body) {
		call_put(call, 200, NULL);
		return false;
	}
	service_plain(call->service, path, body, &order);
	order.timeout_ms = timeout_ms;
	exchange_perform(&order, &answer, ret);
	free(body);
	*ret_len = answer.bytes;
	if (service_is_good(&answer))
		return true;
	if (once && answer.status == 503)
		refuse_once(call, &answer, *ret);
	else
		call_pass_refusal(call, &answer, *ret, SUBJECT);
	free(*ret);
	*ret = NULL;
	return false;
}

/* The same, where the answer says nothing. */
static bool ask_plainly(struct call *call, const char *path, char *body, uint64_t timeout_ms, bool once)
{
	char *text = NULL;
	size_t len;
	const bool good = ask(call, path, body, timeout_ms, once, &text, &len);

	free(text);
	return good;
}

static void put_nothing(struct call *call)
{
	struct json_writer w = { 0 };

	json_begin_object(&w);
	call_put_object(call, &w);
}

/* ---- the list ---- */

static void write_row(struct json_writer *w, const struct json_value *row)
{
	const struct json_value *pid = json_member(row, "pid"), *config = json_member(row, "config");
	const struct json_value *words =
	    config && config->type == JSON_OBJECT ? json_member(config, "args") : NULL;
	const char *command =
	    config && config->type == JSON_OBJECT ? json_member_text(config, "cmd", "") : "";

	if (!pid || !pid->is_uint || !pid->uint || pid->uint > UINT32_MAX)
		return;
	json_begin_object(w);
	processes_write_id(w, (uint32_t)pid->uint);
	json_key_string(w, "state", "running");
	json_key(w, "command");
	json_begin_array(w);
	json_string(w, command);
	for (words = words && words->type == JSON_ARRAY ? words->child : NULL; words; words = words->next)
		if (words->type == JSON_STRING)
			json_string(w, words->string);
	json_end_array(w);
	json_end_object(w);
}

static void put_list(struct call *call, const char *text, size_t len)
{
	const struct json_limits limits = { .max_bytes = SIZE_MAX, .max_values = LISTED };
	struct json_value *document = NULL;
	const struct json_value *rows = NULL;
	struct json_writer w = { 0 };
	struct warder_error err = { 0 };

	if (json_parse(text ? text : "", len, "answer", &limits, &document, &err) < 0 ||
	    document->type != JSON_OBJECT) {
		error_set(&err, WARDER_ERROR_UNAVAILABLE, "backend",
			  "the service's list of programs is not a JSON object");
		call_put_error(call, &err);
	} else {
		rows = json_member(document, "processes");
		json_begin_array(&w);
		for (rows = rows && rows->type == JSON_ARRAY ? rows->child : NULL; rows; rows = rows->next)
			if (rows->type == JSON_OBJECT)
				write_row(&w, rows);
		json_end_array(&w);
		call_put(call, 200, json_take(&w));
	}
	json_free(document);
}

void processes_list(struct call *call)
{
	char *text = NULL;
	size_t len = 0;

	if (call_open_sandbox(call) && ask(call, LIST, strdup("{}"), ASK_MS, false, &text, &len))
		put_list(call, text, len);
	free(text);
}

/* ---- one program ---- */

void processes_send_signal(struct call *call)
{
	struct json_value *document = call_read_request(call);
	const uint64_t number = document ? json_member_uint(document, "signal") : 0;
	const char *name = processes_signal(number <= INT32_MAX ? (int)number : 0);
	uint32_t pid;

	if (!document || !processes_pid(call, &pid))
		;
	else if (!name)
		call_refuse(call, 501, WARDER_ERROR_UNSUPPORTED_POLICY, "--signal",
			    "a service of the kind e2b sends only TERM and KILL");
	else if (call_open_sandbox(call) &&
		 ask_plainly(call, PROCESSES_SIGNAL, processes_body(pid, name, NULL), ASK_MS, true))
		put_nothing(call);
	json_free(document);
}

void processes_write(struct call *call)
{
	struct json_value *document = call_read_request(call);
	const char *input = document ? json_member_text(document, "base64", "") : "";
	uint32_t pid;
	bool good = document && processes_pid(call, &pid) && call_open_sandbox(call);

	if (good && *input)
		good = ask_plainly(call, PROCESSES_INPUT, processes_body(pid, NULL, input), INPUT_MS, true);
	if (good && json_member_true(document, "close"))
		good = ask_plainly(call, PROCESSES_CLOSE, processes_body(pid, NULL, NULL), ASK_MS, *input);
	if (good)
		put_nothing(call);
	json_free(document);
}
