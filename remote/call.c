/*
 * call: a request of Warder's own API, and its answer.
 *
 * Only a 404 with E2B's own error says that a sandbox is gone: somebody else's page "not found" may come from anywhere on the way.
 */
#include "remote/call.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define CONNECT_S 300 /* that a sandbox stays at least, if we must connect for its token */

/* ---- answers ---- */

void call_put_error(struct call *call, const struct warder_error *err)
{
	*call->ret =
	    (struct remote_answer){ .magic = REMOTE_MAGIC, .size = sizeof(*call->ret), .error = *err };
}

void call_put(struct call *call, unsigned int status, char *body)
{
	struct warder_error err = { 0 };

	if (body && strlen(body) > REMOTE_RESULT_MAX)
		error_set(&err, WARDER_ERROR_UNAVAILABLE, "backend",
			  "the host sent a result of more than 16 MiB");
	else if (!body)
		error_no_memory(&err, "backend");
	if (!body || err.code) {
		free(body);
		call_put_error(call, &err);
		return;
	}
	*call->ret = (struct remote_answer){ .magic = REMOTE_MAGIC,
					     .size = sizeof(*call->ret),
					     .status = status,
					     .sent = 1,
					     .bytes = strlen(body) };
	*call->ret_body = body;
}

/* The writer has one object, which ends here. */
void call_put_object(struct call *call, struct json_writer *w)
{
	json_end_object(w);
	call_put(call, 200, json_take(w));
}

void call_refuse(struct call *call, unsigned int status, uint32_t code, const char *field, const char *format,
		 ...)
{
	struct json_writer w = { 0 };
	char text[400];
	va_list values;

	va_start(values, format);
	vsnprintf(text, sizeof(text), format, values);
	va_end(values);
	json_begin_object(&w);
	json_key_string(&w, "kind", error_kind_name(code));
	json_key_string(&w, "field", field);
	json_key_string(&w, "message", text);
	json_end_object(&w);
	call_put(call, status, json_take(&w));
}

/* Pass on the service's refusal, or that there is no answer. `subject`: what a 404 says is not there, "id" or "path". */
void call_pass_refusal(struct call *call, const struct remote_answer *answer, const char *body,
		       const char *subject)
{
	static const struct {
		unsigned int status;
		uint32_t code;
		const char *field;
	} known[] = {
		{ 400, WARDER_ERROR_INVALID_REQUEST, NULL }, { 401, WARDER_ERROR_REJECTED, "tokenFile" },
		{ 403, WARDER_ERROR_REJECTED, "tokenFile" }, { 404, WARDER_ERROR_NOT_FOUND, NULL },
		{ 409, WARDER_ERROR_CONFLICT, "state" },     { 501, WARDER_ERROR_UNSUPPORTED_POLICY, NULL },
	};
	char message[SERVICE_MESSAGE];
	size_t i = 0;

	if (!answer->status) {
		*call->ret = *answer;
		return;
	}
	service_message(body, answer->bytes, message);
	while (i < ARRAY_LENGTH(known) && known[i].status != answer->status)
		i++;
	if (answer->status == 404 && !message[0])
		call_refuse(call, 502, WARDER_ERROR_UNAVAILABLE, "backend",
			    "the answer has the status 404 and no error of E2B's protocol");
	else if (i == ARRAY_LENGTH(known))
		call_refuse(call, answer->status, WARDER_ERROR_UNAVAILABLE, "backend", "%s",
			    message[0] ? message : "the service cannot do it now");
	else if ((answer->status == 401 || answer->status == 403) && strcmp(subject, "id") == 0)
		call_refuse(call, answer->status, known[i].code, known[i].field,
			    "the service refuses the token of tokenFile or E2B_API_KEY (status %u)%s%s",
			    answer->status, message[0] ? ": " : "", message);
	else
		call_refuse(call, answer->status, known[i].code, known[i].field ? known[i].field : subject,
			    "%s", message[0] ? message : "the service refuses it");
	call->ret->retry_s = answer->retry_s;
}

/* ---- the sandbox ---- */

/* `rest`: behind the id. Returns whether the service agrees; otherwise *call has the answer. */
bool call_ask(struct call *call, const char *method, const char *rest, const char *body, char **ret,
	      size_t *ret_len)
{
	char path[SERVICE_ID_MAX + 40];
	struct remote_answer answer;
	bool good;

	snprintf(path, sizeof(path), "/sandboxes/%s%s", call->service->id, rest);
	service_ask(call->service, method, path, body, &answer, ret);
	good = service_is_good(&answer);
	if (!good)
		call_pass_refusal(call, &answer, *ret, "id");
	*ret_len = answer.bytes;
	return good;
}

/* The same for a document, which is to be freed by json_free(). */
bool call_ask_document(struct call *call, const char *method, const char *rest, const char *body,
		       struct json_value **ret)
{
	struct warder_error err = { 0 };
	char *text = NULL;
	size_t len = 0;
	bool good = call_ask(call, method, rest, body, &text, &len);

	if (good && (json_parse(text ? text : "", len, "answer", NULL, ret, &err) < 0 ||
		     (*ret)->type != JSON_OBJECT)) {
		error_set(&err, WARDER_ERROR_UNAVAILABLE, "backend",
			  "the service's answer about sandbox %s is not a JSON object", call->service->id);
		call_put_error(call, &err);
		good = false;
	}
	free(text);
	return good;
}

/* Look at the sandbox; it must run. Then it is open. */
bool call_open_sandbox(struct call *call)
{
	struct json_value *document = NULL;
	struct warder_error err = { 0 };
	bool good = call_ask_document(call, "GET", "", NULL, &document);
	const char *state = good ? json_member_text(document, "state", "running") : "";
	char body[40];

	if (good && strcmp(state, "running") != 0) {
		call_refuse(call, 409, WARDER_ERROR_CONFLICT, "state",
			    "the sandbox is %.20s; \"warder session resume\" lets a paused one go on", state);
		good = false;
	}
	if (good && !json_member_text(document, "envdAccessToken", NULL)) {
		json_free(document);
		document = NULL;
		snprintf(body, sizeof(body), "{\"timeout\": %d}", CONNECT_S);
		good = call_ask_document(call, "POST", "/connect", body, &document);
	}
	if (good && service_open(call->service, document, &err) < 0) {
		call_put_error(call, &err);
		good = false;
	}
	json_free(document);
	return good;
}

struct json_value *call_read_request(struct call *call)
{
	const struct json_limits limits = { .max_bytes = REMOTE_JSON_MAX + 1 };
	const struct exchange_order *order = call->order;
	struct json_value *document = NULL;
	struct warder_error err = { 0 };

	if (json_parse(order->body ? order->body : "", order->body_len, "request", &limits, &document, &err) <
	    0)
		call_put_error(call, &err);
	return document;
}
