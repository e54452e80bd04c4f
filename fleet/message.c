#include "fleet/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/text.h"
#include "fleet/fleet.h"
#include "fleet/key.h"
#include "host/input.h"
#include "remote/verify.h"
#include "runtime/warder.h"

#define PREFIX          "warder-request 1\n"
#define SIGNATURE_CHARS 88      /* 64 bytes in base64 */
#define ARGUMENT_MAX    131071u /* bytes that execve(2) takes */

static const struct json_limits limits = { .max_bytes = FLEET_MESSAGE_MAX, .max_values = 20000 };

int message_check_tenant(const char *tenant, const char *field, struct warder_error *err)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	const size_t len = strlen(tenant);

	if (len > 0 && len <= 64 && strspn(tenant, allowed) == len && *tenant != '-')
		return 0;
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
			 "%s must be the name of a tenant without dots: 1 to 64 letters, digits, '_' and '-'",
			 field);
}

/* ---- the request ---- */

static int check_policy(const struct json_value *value, struct warder_error *err)
{
	struct warder_policy *policy = NULL;
	char *text;
	int parsed;

	if (!value || value->type == JSON_NULL)
		return 0;
	text = json_text(value);
	parsed = text ? warder_policy_parse(text, strlen(text), "policy", &policy, err)
		      : error_no_memory(err, NULL);
	warder_policy_free(policy);
	free(text);
	return parsed;
}

static int check_argv(const struct json_value *request, struct warder_error *err)
{
	char **argv = NULL;
	int status = input_take_argv(request, &argv, err);

	for (size_t i = 0; status == 0 && argv[i]; i++)
		if (strlen(argv[i]) > ARGUMENT_MAX)
			status = error_set(err, WARDER_ERROR_INVALID_REQUEST, "argv",
					   "\"argv\": argument %zu has %zu bytes; at most %u are possible", i,
					   strlen(argv[i]), ARGUMENT_MAX);
	free(argv);
	return status;
}

int message_check_request(const struct json_value *request, struct warder_error *err)
{
	static const char *const members[] = { "template", "policy", "env", "argv", "stdin", "stdinBase64" };
	const char *input;
	char shown[60], *bytes = NULL;
	size_t len;

	if (request->type != JSON_OBJECT)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "request",
				 "a request must be an object, not %s", json_type_name(request->type));
	for (const struct json_value *one = request->child; one; one = one->next) {
		bool known = false;

		for (size_t i = 0; i < ARRAY_LENGTH(members); i++)
			known = known || strcmp(members[i], one->key) == 0;
		if (!known)
			return error_set(
			    err, WARDER_ERROR_INVALID_REQUEST, one->key,
			    "unknown member %s; a request has argv, and perhaps id, policy, template, env, "
			    "stdin or stdinBase64",
			    json_quote(one->key, shown, sizeof(shown)));
	}
	if (check_argv(request, err) < 0 || input_take(request, &input, &len, &bytes, err) < 0)
		return -1;
	free(bytes);
	return check_policy(json_member(request, "policy"), err);
}

/* ---- the envelope ---- */

static void digest(const char *text, size_t len, char ret[SHA256_HEX])
{
	struct sha256 sha;

	sha256_init(&sha);
	sha256_add(&sha, text, len);
	sha256_hex(&sha, ret);
}

/* PREFIX and the JSON. */
static char *write_statement(const struct message_envelope *envelope, const struct json_value *request)
{
	struct json_writer w = { 0 };
	char *json, *text = NULL;

	json_begin_object(&w);
	json_key_uint(&w, "version", 1);
	json_key_string(&w, "tenant", envelope->tenant);
	json_key_string(&w, "batch", envelope->batch);
	json_key_uint(&w, "line", envelope->line);
	json_key_uint(&w, "expiresMs", envelope->expires_ms);
	json_key(&w, "request");
	json_copy(&w, request);
	json_end_object(&w);
	json = json_take(&w);
	if (json && asprintf(&text, PREFIX "%s", json) < 0)
		text = NULL;
	free(json);
	return text;
}

int message_make(EVP_PKEY *key, const struct message_envelope *envelope, const struct json_value *request,
		 char **ret, size_t *ret_len, char ret_id[SHA256_HEX], struct warder_error *err)
{
	char *statement = write_statement(envelope, request), *encoded = NULL, *text = NULL;
	char signature[REMOTE_SIGNATURE_BYTES];
	int len = -1;

	if (statement && key_sign(key, statement, strlen(statement), signature))
		encoded = text_base64(signature, sizeof(signature));
	if (encoded)
		len = asprintf(&text, "%s\n%s", encoded, statement + strlen(PREFIX));
	free(encoded);
	free(statement);
	if (len < 0)
		return error_no_memory(err, NULL);
	if ((size_t)len > FLEET_MESSAGE_MAX) {
		free(text);
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "request",
				 "the signed request has %d bytes; at most %zu can wait in the server", len,
				 FLEET_MESSAGE_MAX);
	}
	digest(text, (size_t)len, ret_id);
	*ret = text;
	*ret_len = (size_t)len;
	return 0;
}

static bool is_batch(const char *batch)
{
	return strlen(batch) == MESSAGE_BATCH_BYTES - 1 &&
	       strspn(batch, "0123456789abcdef") == MESSAGE_BATCH_BYTES - 1;
}

int message_read(const char *text, size_t len, struct message *ret, struct warder_error *err)
{
	const struct json_value *version, *expires;
	const char *tenant, *batch;
	struct warder_error ignored;

	*ret = (struct message){ .text = text, .len = len };
	digest(text, len, ret->id);
	if (len <= SIGNATURE_CHARS || text[SIGNATURE_CHARS] != '\n')
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "request",
				 "the message is not a signed request");
	if (json_parse(text + SIGNATURE_CHARS + 1, len - SIGNATURE_CHARS - 1, "message", &limits,
		       &ret->document, err) < 0)
		return -1;
	tenant = json_member_text(ret->document, "tenant", "");
	batch = json_member_text(ret->document, "batch", "");
	expires = json_member(ret->document, "expiresMs");
	version = json_member(ret->document, "version");
	ret->request = json_member(ret->document, "request");
	if (message_check_tenant(tenant, "tenant", &ignored) == 0 && is_batch(batch)) {
		ret->tenant = tenant;
		ret->batch = batch;
	}
	if (!ret->tenant || !ret->request || !version || !version->is_uint || version->uint != 1 ||
	    !expires || !expires->is_uint)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "request",
				 "the message is not a signed request of version 1");
	ret->expires_ms = expires->uint;
	return 0;
}

static bool is_signed(const struct message *message, const char *key)
{
	const char *json = message->text + SIGNATURE_CHARS + 1;
	const size_t len = message->len - SIGNATURE_CHARS - 1;
	char value[SIGNATURE_CHARS + 1] = "";
	char *statement = malloc(strlen(PREFIX) + len);
	bool good;

	if (!statement)
		return false;
	memcpy(value, message->text, SIGNATURE_CHARS);
	memcpy(statement, PREFIX, strlen(PREFIX));
	memcpy(statement + strlen(PREFIX), json, len);
	good = verify_signature(key, value, statement, strlen(PREFIX) + len);
	free(statement);
	return good;
}

int message_check(const struct message *message, const char *key, struct warder_error *err)
{
	if (!is_signed(message, key))
		return error_set(
		    err, WARDER_ERROR_REJECTED, "signature",
		    "the signature of the request is wrong: the key of tenant %.64s has not made it",
		    message->tenant);
	if (message->expires_ms <= clock_wall_ms())
		return error_set(err, WARDER_ERROR_REJECTED, "expiresMs",
				 "the request has expired before a worker took it");
	return 0;
}

void message_done(struct message *message)
{
	json_free(message->document);
	message->document = NULL;
}
