#include "host/launcher/sandboxes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/json.h"
#include "host/launcher/state.h"
#include "runtime/session/session.h"

/* Of a batch of random bytes, those that would make some digits likelier are not used. */
static int draw(char *ret, size_t len, const char *prefix, const char *digits, struct warder_error *err)
{
	const size_t base = strlen(digits);
	const size_t head = strlen(prefix);
	unsigned char bytes[64];
	size_t left = 0;

	memcpy(ret, prefix, head);
	for (size_t i = head; i < len;) {
		if (left == 0 && getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
			return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
					       "no random number");
		left = left ? left : sizeof(bytes);
		left--;
		if (bytes[left] < 256 - 256 % base)
			ret[i++] = digits[bytes[left] % base];
	}
	ret[len] = '\0';
	return 0;
}

static int add(struct sandboxes *sandboxes, struct sandbox *sandbox, struct warder_error *err)
{
	struct sandbox **grown = realloc(sandboxes->items, (sandboxes->count + 1) * sizeof(*grown));

	if (!grown)
		return error_no_memory(err, NULL);
	sandboxes->items = grown;
	grown[sandboxes->count++] = sandbox;
	return 0;
}

static void sandbox_free(struct sandbox *sandbox)
{
	if (!sandbox)
		return;
	fd_done(&sandbox->keeper_fd);
	free(sandbox->policy);
	free(sandbox->base);
	free(sandbox->metadata);
	free(sandbox);
}

struct sandbox *sandbox_new(struct sandboxes *sandboxes, struct warder_error *err)
{
	static const char hex[] = "0123456789abcdef";
	struct sandbox *sandbox = calloc(1, sizeof(*sandbox));

	if (!sandbox) {
		error_no_memory(err, NULL);
		return NULL;
	}
	sandbox->keeper_fd = -1;
	if (draw(sandbox->id, SANDBOX_ID_LENGTH, "i", "abcdefghijklmnopqrstuvwxyz0123456789", err) < 0 ||
	    draw(sandbox->access_token, SANDBOX_TOKEN_BYTES - 1, "sbx_", hex, err) < 0 ||
	    draw(sandbox->traffic_token, SANDBOX_TOKEN_BYTES - 1, "trf_", hex, err) < 0 ||
	    add(sandboxes, sandbox, err) < 0) {
		sandbox_free(sandbox);
		return NULL;
	}
	link_digest(sandbox->access_token, sandbox->access_digest);
	link_digest(sandbox->traffic_token, sandbox->traffic_digest);
	return sandbox;
}

struct sandbox *sandboxes_find(const struct sandboxes *sandboxes, const char *id)
{
	for (size_t i = 0; i < sandboxes->count; i++)
		if (strcmp(sandboxes->items[i]->id, id) == 0)
			return sandboxes->items[i];
	return NULL;
}

void sandboxes_remove(struct sandboxes *sandboxes, struct sandbox *sandbox)
{
	for (size_t i = 0; i < sandboxes->count; i++)
		if (sandboxes->items[i] == sandbox) {
			sandboxes->items[i] = sandboxes->items[--sandboxes->count];
			break;
		}
	sandbox_free(sandbox);
}

void sandboxes_end(struct sandboxes *sandboxes, struct sandbox *sandbox)
{
	memcpy(sandboxes->ended[sandboxes->next_ended], sandbox->access_digest, SHA256_HEX);
	sandboxes->next_ended = (sandboxes->next_ended + 1) % SANDBOX_ENDED_MAX;
	sandboxes_remove(sandboxes, sandbox);
}

bool sandboxes_had(const struct sandboxes *sandboxes, const char *access_digest)
{
	for (size_t i = 0; *access_digest && i < SANDBOX_ENDED_MAX; i++)
		if (strcmp(sandboxes->ended[i], access_digest) == 0)
			return true;
	return false;
}

void sandboxes_done(struct sandboxes *sandboxes)
{
	for (size_t i = 0; i < sandboxes->count; i++)
		sandbox_free(sandboxes->items[i]);
	free(sandboxes->items);
	*sandboxes = (struct sandboxes){ 0 };
}

bool sandbox_is_of(const struct sandbox *sandbox, const struct tenant *tenant)
{
	return strcmp(sandbox->tenant, tenant->name) == 0 &&
	       strcmp(sandbox->tenant_digest, tenant->digest) == 0;
}

struct sandbox *sandboxes_of_key(const struct sandboxes *sandboxes, const struct tenant *tenant,
				 const char *key)
{
	for (size_t i = 0; i < sandboxes->count; i++)
		if (sandbox_is_of(sandboxes->items[i], tenant) &&
		    strcmp(sandboxes->items[i]->idempotency_key, key) == 0)
			return sandboxes->items[i];
	return NULL;
}

struct tenant_use sandboxes_use(const struct sandboxes *sandboxes, const char *tenant)
{
	struct tenant_use use = { 0 };

	for (size_t i = 0; i < sandboxes->count; i++) {
		const struct sandbox *sandbox = sandboxes->items[i];

		if (strcmp(sandbox->tenant, tenant) != 0)
			continue;
		use.sandboxes++;
		use.memory_bytes += sandbox->memory_bytes;
		use.cpu_milli += sandbox->cpu_milli;
		use.spool_bytes += SPOOLS_BYTES_MAX;
	}
	return use;
}

struct warder_session_options sandbox_session_options(const struct warder_policy *policy, const char *program)
{
	return (struct warder_session_options){
		.size = sizeof(struct warder_session_options),
		.policy = policy,
		.lifetime_us = (SANDBOX_LIFETIME_MS + 60000) * 1000,
		.idle_us = SESSION_TIME_MAX_US,
		.program = program,
	};
}

int sandbox_check_policy(const char *json, struct warder_error *err)
{
	if (!json)
		return error_no_memory(err, NULL);
	if (strlen(json) > SANDBOX_POLICY_MAX)
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, "policy",
		    "the policy of a sandbox has at most %d bytes as JSON, with the variables of "
		    "\"env\"; this one has %zu",
		    SANDBOX_POLICY_MAX, strlen(json));
	return 0;
}

/* ---- JSON ---- */

/* The texts of a record, which is read back into the same places. */
static const struct text_member {
	const char *key;
	size_t offset, size;
	bool optional; /* "" where a record has none */
} texts[] = {
#define TEXT(key, member, optional)                                                                          \
	{                                                                                                    \
		key, offsetof(struct sandbox, member), sizeof(((struct sandbox *)NULL)->member), optional    \
	}
	TEXT("tenant", tenant, false),
	TEXT("template", template_name, false),
	TEXT("accessToken", access_token, false),
	TEXT("trafficToken", traffic_token, false),
	TEXT("idempotencyKey", idempotency_key, true),
	TEXT("requestDigest", request_digest, true),
#undef TEXT
};

static const struct number_member {
	const char *key;
	size_t offset;
	bool optional; /* 0 where a record has none */
} numbers[] = {
#define NUMBER(key, member)                                                                                  \
	{                                                                                                    \
		key, offsetof(struct sandbox, member), false                                                 \
	}
	NUMBER("createdMs", created_ms),
	NUMBER("endsMs", ends_ms),
	{ "pausedMs", offsetof(struct sandbox, paused_ms), true },
	NUMBER("memoryBytes", memory_bytes),
	NUMBER("cpuMilli", cpu_milli),
	NUMBER("diskBytes", disk_bytes),
#undef NUMBER
};

/* true: with what only its tenant may know. */
static void write_members(const struct sandbox *sandbox, bool whole, struct json_writer *w)
{
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++)
		if ((whole || !strstr(texts[i].key, "Token")) &&
		    (!texts[i].optional || ((const char *)sandbox)[texts[i].offset]))
			json_key_string(w, texts[i].key, (const char *)sandbox + texts[i].offset);
	for (size_t i = 0; i < ARRAY_LENGTH(numbers); i++)
		json_key_uint(w, numbers[i].key,
			      *(const uint64_t *)(const void *)((const char *)sandbox + numbers[i].offset));
	json_key(w, "metadata");
	json_number(w, sandbox->metadata ? sandbox->metadata : "{}");
	if (whole) {
		json_key(w, "policy");
		json_number(w, sandbox->policy ? sandbox->policy : "null");
	}
}

char *sandbox_record(const struct sandbox *sandbox)
{
	struct json_writer w = { 0 };

	json_begin_object(&w);
	json_key_uint(&w, "version", 1);
	json_key_string(&w, "tenantDigest", sandbox->tenant_digest);
	write_members(sandbox, true, &w);
	if (sandbox->base) {
		json_key(&w, "base");
		json_number(&w, sandbox->base);
	}
	json_end_object(&w);
	return json_take(&w);
}

void sandbox_write(const struct sandbox *sandbox, bool whole, struct json_writer *w)
{
	static const char *const states[] = {
		[SANDBOX_STARTING] = "starting",
		[SANDBOX_RUNNING] = "running",
		[SANDBOX_ENDING] = "ending",
	};

	json_begin_object(w);
	json_key_string(w, "id", sandbox->id);
	json_key_string(w, "state",
			sandbox->paused_ms && sandbox->state == SANDBOX_RUNNING ? "paused"
										: states[sandbox->state]);
	write_members(sandbox, whole, w);
	json_end_object(w);
}

static int is_no_record(const char *id, const char *key, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, key,
			 "the record of sandbox %s has no valid \"%s\"", id, key);
}

static int take_text(const struct json_value *value, char **ret)
{
	if (!value)
		return -1;
	*ret = json_text(value);
	return *ret ? 0 : -1;
}

/* No mode, or an unknown one: none, so that no port can be reached. */
static enum policy_network_mode network_mode_of(const struct json_value *policy)
{
	const char *name = json_member_text(json_member(policy, "network"), "mode", "none");

	for (unsigned int mode = POLICY_NETWORK_NONE; mode <= POLICY_NETWORK_HOST; mode++)
		if (strcmp(policy_network_mode_name(mode), name) == 0)
			return mode;
	return POLICY_NETWORK_NONE;
}

static int take_record(struct sandbox *sandbox, const struct json_value *record, struct warder_error *err)
{
	const char *digest = json_member_text(record, "tenantDigest", ""); /* an older record has none */

	if (strlen(digest) >= sizeof(sandbox->tenant_digest))
		return is_no_record(sandbox->id, "tenantDigest", err);
	memcpy(sandbox->tenant_digest, digest, strlen(digest) + 1);
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		const char *text = json_member_text(record, texts[i].key, texts[i].optional ? "" : NULL);

		if (!text || strlen(text) >= texts[i].size)
			return is_no_record(sandbox->id, texts[i].key, err);
		memcpy((char *)sandbox + texts[i].offset, text, strlen(text) + 1);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(numbers); i++) {
		const struct json_value *value = json_member(record, numbers[i].key);

		if (!value && numbers[i].optional)
			continue;
		if (!value || !value->is_uint)
			return is_no_record(sandbox->id, numbers[i].key, err);
		*(uint64_t *)(void *)((char *)sandbox + numbers[i].offset) = value->uint;
	}
	if (take_text(json_member(record, "metadata"), &sandbox->metadata) < 0)
		return is_no_record(sandbox->id, "metadata", err);
	if (take_text(json_member(record, "policy"), &sandbox->policy) < 0)
		return is_no_record(sandbox->id, "policy", err);
	sandbox->network_mode = network_mode_of(json_member(record, "policy"));
	if (json_member(record, "base") && take_text(json_member(record, "base"), &sandbox->base) < 0)
		return is_no_record(sandbox->id, "base", err);
	link_digest(sandbox->access_token, sandbox->access_digest);
	link_digest(sandbox->traffic_token, sandbox->traffic_digest);
	return 0;
}

int sandboxes_adopt(struct sandboxes *sandboxes, const char *id, const char *record, struct sandbox **ret,
		    struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = STATE_BYTES_MAX };
	struct json_value *document = NULL;
	struct sandbox *sandbox;
	int taken;

	if (strlen(id) != SANDBOX_ID_LENGTH)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "id", "%.64s is no id of a sandbox", id);
	if (json_parse(record, strlen(record), id, &limits, &document, err) < 0)
		return -1;
	sandbox = calloc(1, sizeof(*sandbox));
	if (!sandbox) {
		json_free(document);
		return error_no_memory(err, NULL);
	}
	sandbox->keeper_fd = -1;
	memcpy(sandbox->id, id, SANDBOX_ID_LENGTH + 1);
	taken = take_record(sandbox, document, err);
	json_free(document);
	if (taken < 0 || add(sandboxes, sandbox, err) < 0) {
		sandbox_free(sandbox);
		return -1;
	}
	sandbox->state = SANDBOX_RUNNING;
	*ret = sandbox;
	return 0;
}

char *sandbox_text(const struct sandbox *sandbox)
{
	struct json_writer w = { 0 };

	sandbox_write(sandbox, true, &w);
	return json_take(&w);
}

const struct tenant *sandbox_owner(const struct tenants *tenants, const struct sandbox *sandbox)
{
	const struct tenant *named = tenants_named(tenants, sandbox->tenant);

	return named && sandbox_is_of(sandbox, named) ? named : NULL;
}
