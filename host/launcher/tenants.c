#include "host/launcher/tenants.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/json.h"
#include "host/launcher/limits.h"
#include "host/launcher/peer.h"
#include "host/launcher/state.h"
#include "host/link.h"

#define VERSION 1

static const struct scope {
	const char *name;
	enum tenant_scope scope;
} scopes[] = {
	{ "read", TENANT_READ },
	{ "sandboxes", TENANT_SANDBOXES },
	{ "run", TENANT_RUN },
	{ "metrics", TENANT_METRICS },
};

#define ROW(name, member, fallback, most)                                                                    \
	{                                                                                                    \
		name, offsetof(struct tenant_limits, member), fallback, 0, most                              \
	}
static const struct limit tenant_limits[] = {
	ROW("sandboxes", sandboxes, 20, 100000),
	ROW("memoryBytes", memory_bytes, UINT64_C(16) << 30, UINT64_C(1) << 50),
	ROW("cpuMilli", cpu_milli, 32000, 100000000),
	ROW("launchesPerSecond", launches_per_second, 50, 100000),
	ROW("queue", queue, 64, 4096),
	ROW("spoolBytes", spool_bytes, UINT64_C(16) << 30, UINT64_C(1) << 50),
	ROW("snapshots", snapshots, 20, 100000),
	ROW("snapshotBytes", snapshot_bytes, UINT64_C(16) << 30, UINT64_C(1) << 50),
	ROW("artifactSeconds", artifact_seconds, 3600, 30 * 24 * 3600),
	ROW("artifactBytes", artifact_bytes, UINT64_C(4) << 30, UINT64_C(1) << 50),
	{ 0 },
};
#undef ROW

/* ---- one tenant ---- */

static int check_name(const char *name, struct warder_error *err)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
	char shown[100];
	const size_t len = strlen(name);

	if (len > 0 && len <= TENANT_NAME_MAX && strspn(name, allowed) == len && name[0] != '.' &&
	    name[0] != '-')
		return 0;
	return error_set(
	    err, WARDER_ERROR_INVALID_REQUEST, "name",
	    "%s is not a valid tenant name: use 1 to %d letters, digits, '.', '_' and '-', and begin with a "
	    "letter, a digit or '_'",
	    json_quote(name, shown, sizeof(shown)), TENANT_NAME_MAX);
}

static int find_scope(const char *name, size_t len, unsigned int *scope, const char *field,
		      struct warder_error *err)
{
	for (size_t i = 0; i < ARRAY_LENGTH(scopes); i++)
		if (strlen(scopes[i].name) == len && memcmp(scopes[i].name, name, len) == 0) {
			*scope |= scopes[i].scope;
			return 0;
		}
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
			 "unknown scope \"%.*s\"; the scopes are read, sandboxes, run and metrics",
			 (int)(len < 40 ? len : 40), name);
}

void tenant_write_scopes(unsigned int of, struct json_writer *w)
{
	json_begin_array(w);
	for (size_t i = 0; i < ARRAY_LENGTH(scopes); i++)
		if (of & scopes[i].scope)
			json_string(w, scopes[i].name);
	json_end_array(w);
}

static int bad(const struct json_value *value, const char *key, const char *what, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, key, "line %d: \"%s\" must be %s",
			 value ? value->line : 1, key, what);
}

static int take_digest(const struct json_value *value, struct tenant *ret, struct warder_error *err)
{
	if (!value || value->type != JSON_STRING || strlen(value->string) != SHA256_HEX - 1 ||
	    strspn(value->string, "0123456789abcdef") != SHA256_HEX - 1)
		return bad(value, "tokenDigest", "the SHA-256 digest of the token: 64 digits", err);
	memcpy(ret->digest, value->string, SHA256_HEX);
	return 0;
}

static int take_scopes(const struct json_value *value, struct tenant *ret, struct warder_error *err)
{
	if (!value || value->type != JSON_ARRAY)
		return bad(value, "scopes", "an array of scopes", err);
	for (const struct json_value *one = value->child; one; one = one->next)
		if (one->type != JSON_STRING)
			return bad(one, "scopes", "an array of scopes", err);
		else if (find_scope(one->string, strlen(one->string), &ret->scopes, "scopes", err) < 0)
			return -1;
	return 0;
}

static int take_expiry(const struct json_value *value, struct tenant *ret, struct warder_error *err)
{
	if (!value || value->type == JSON_NULL)
		return 0;
	if (!value->is_uint || value->uint == 0)
		return bad(value, "expiresMs", "milliseconds since the epoch, or null", err);
	ret->expires_ms = value->uint;
	return 0;
}

static int take_limits(const struct json_value *value, struct tenant *ret, struct warder_error *err)
{
	return limits_take(tenant_limits, value, &ret->limits, "limits", err);
}

void tenant_write_limits(const struct tenant_limits *limits, struct json_writer *w)
{
	limits_write(tenant_limits, limits, w);
}

static int take_ceiling(const struct json_value *value, struct tenant *ret, struct warder_error *err)
{
	char *text;
	int parsed;

	if (!value || value->type == JSON_NULL)
		return 0;
	text = json_text(value);
	if (!text)
		return error_no_memory(err, NULL);
	parsed = warder_policy_parse(text, strlen(text), "ceiling", &ret->ceiling, err);
	free(text);
	return parsed;
}

static int check_key(const char *key, const char *field, struct warder_error *err)
{
	return remote_is_key(key) ? 0
				  : error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
					      "%s must be a key that \"warder submit --make-key\" prints: "
					      "\"ed25519:\" and 44 characters",
					      field);
}

static int take_request_key(const struct json_value *value, struct tenant *ret, struct warder_error *err)
{
	if (!value || value->type == JSON_NULL)
		return 0;
	if (value->type != JSON_STRING || check_key(value->string, "requestKey", err) < 0)
		return bad(value, "requestKey", "\"ed25519:\" and a key in base64, or null", err);
	memcpy(ret->request_key, value->string, REMOTE_KEY_TEXT);
	return 0;
}

static int take_uid(const struct json_value *value, struct tenant *ret, struct warder_error *err)
{
	if (!value || value->type == JSON_NULL)
		return 0;
	if (!value->is_uint || value->uint > TENANT_UID_MAX)
		return bad(value, "uid", "a user id, or null", err);
	ret->has_uid = true;
	ret->uid = (uint32_t)value->uint;
	return 0;
}

static int take_old_clients(const struct json_value *value, struct tenant *ret, struct warder_error *err)
{
	if (!value || value->type == JSON_NULL)
		return 0;
	if (value->type != JSON_BOOL)
		return bad(value, "oldClients", "true or false", err);
	ret->old_clients = value->boolean;
	return 0;
}

int tenant_parse(const char *name, const char *text, struct tenant *ret, struct warder_error *err)
{
	static const struct {
		const char *key;
		int (*take)(const struct json_value *value, struct tenant *ret, struct warder_error *err);
	} members[] = {
		{ "version", NULL },
		{ "tokenDigest", take_digest },
		{ "scopes", take_scopes },
		{ "expiresMs", take_expiry },
		{ "limits", take_limits },
		{ "ceiling", take_ceiling },
		{ "requestKey", take_request_key },
		{ "uid", take_uid },
		{ "oldClients", take_old_clients },
	};
	struct tenant tenant = { 0 };
	struct json_value *document = NULL;
	int taken = check_name(name, err);

	if (taken == 0)
		taken = json_parse(text, strlen(text), name, NULL, &document, err);
	if (taken == 0 && (document->type != JSON_OBJECT || !json_member(document, "version") ||
			   json_member(document, "version")->uint != VERSION))
		taken = bad(document, "version", "1", err);
	for (const struct json_value *one = taken == 0 ? document->child : NULL; taken == 0 && one;
	     one = one->next) {
		bool known = false;

		for (size_t i = 0; i < ARRAY_LENGTH(members); i++)
			known = known || strcmp(members[i].key, one->key) == 0;
		if (!known)
			taken = error_set(err, WARDER_ERROR_INVALID_REQUEST, "tenant",
					  "line %d: unknown member \"%.40s\"", one->line, one->key);
	}
	for (size_t i = 0; taken == 0 && i < ARRAY_LENGTH(members); i++)
		if (members[i].take)
			taken = members[i].take(json_member(document, members[i].key), &tenant, err);
	json_free(document);
	if (taken < 0) {
		tenant_done(&tenant);
		return -1;
	}
	snprintf(tenant.name, sizeof(tenant.name), "%s", name);
	*ret = tenant;
	return 0;
}

void tenant_done(struct tenant *tenant)
{
	warder_policy_free(tenant->ceiling);
	*tenant = (struct tenant){ 0 };
}

/* ---- all of them ---- */

struct loading {
	int dir_fd;
	struct tenants tenants;
	void (*log)(const char *line);
	struct warder_error *err;
};

static int load_one(void *context, const char *name)
{
	struct loading *loading = context;
	struct tenants *tenants = &loading->tenants;
	struct warder_error why = { 0 };
	char *text = NULL;
	struct tenant tenant;
	struct tenant *grown;
	char line[TENANT_NAME_MAX + sizeof(why.text) + 40];
	int got;

	if (tenants->count == TENANTS_MAX)
		return error_set(loading->err, WARDER_ERROR_UNAVAILABLE, "--state",
				 "there are more than %d tenants", TENANTS_MAX);
	got = state_read(loading->dir_fd, name, &text, &why) == 0 ? tenant_parse(name, text, &tenant, &why)
								  : -1;
	free(text);
	if (got < 0) {
		/* NOT_FOUND: it was revoked just now. */
		if (loading->log && why.code != WARDER_ERROR_NOT_FOUND) {
			snprintf(line, sizeof(line), "tenant %s is not served: %s", name, why.text);
			loading->log(line);
		}
		return 0;
	}
	grown = realloc(tenants->items, (tenants->count + 1) * sizeof(tenant));
	if (!grown) {
		tenant_done(&tenant);
		return error_no_memory(loading->err, NULL);
	}
	tenants->items = grown;
	tenants->items[tenants->count++] = tenant;
	return 0;
}

int tenants_load(const char *state, void (*log)(const char *line), struct tenants *ret,
		 struct warder_error *err)
{
	owned_fd int dir_fd = -1;
	struct loading loading = { .log = log, .err = err };

	if (state_open(state, STATE_TENANTS, &dir_fd, err) < 0)
		return -1;
	loading.dir_fd = dir_fd;
	if (state_each(dir_fd, load_one, &loading, err) < 0) {
		tenants_done(&loading.tenants);
		return -1;
	}
	*ret = loading.tenants;
	return 0;
}

/* Takes the same time wherever the texts differ. */
static bool same_digest(const char *a, const char *b)
{
	unsigned char differs = 0;

	for (size_t i = 0; i < SHA256_HEX - 1; i++)
		differs |= (unsigned char)(a[i] ^ b[i]);
	return differs == 0;
}

static bool has_expired(const struct tenant *tenant, uint64_t now_ms)
{
	return tenant->expires_ms && tenant->expires_ms <= now_ms;
}

const struct tenant *tenants_find(const struct tenants *tenants, const char *digest, uint64_t now_ms)
{
	const struct tenant *found = NULL;

	if (strlen(digest) != SHA256_HEX - 1)
		return NULL;
	for (size_t i = 0; i < tenants->count; i++)
		if (same_digest(tenants->items[i].digest, digest))
			found = &tenants->items[i];
	return found && has_expired(found, now_ms) ? NULL : found;
}

const struct tenant *tenants_of_uid(const struct tenants *tenants, uint32_t uid, uint64_t now_ms)
{
	const struct tenant *found = NULL;

	for (size_t i = 0; i < tenants->count; i++) {
		if (!tenants->items[i].has_uid || tenants->items[i].uid != uid)
			continue;
		if (found)
			return NULL;
		found = &tenants->items[i];
	}
	return found && has_expired(found, now_ms) ? NULL : found;
}

const struct tenant *tenants_named(const struct tenants *tenants, const char *name)
{
	for (size_t i = 0; i < tenants->count; i++)
		if (strcmp(tenants->items[i].name, name) == 0)
			return &tenants->items[i];
	return NULL;
}

void tenants_done(struct tenants *tenants)
{
	for (size_t i = 0; i < tenants->count; i++)
		tenant_done(&tenants->items[i]);
	free(tenants->items);
	*tenants = (struct tenants){ 0 };
}

/* ---- changes ---- */

static int draw_token(char ret[TENANT_TOKEN_BYTES], struct warder_error *err)
{
	unsigned char bytes[20];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "no random number");
	memcpy(ret, "e2b_", 4);
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(ret + 4 + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

static int read_scopes(const char *text, unsigned int *ret, struct warder_error *err)
{
	*ret = 0;
	for (const char *at = text;; at++) {
		const size_t len = strcspn(at, ",");

		if (find_scope(at, len, ret, "--scopes", err) < 0)
			return -1;
		at += len;
		if (!*at)
			return 0;
	}
}

static char *encode(const char *digest, unsigned int of, const struct tenant_options *options,
		    const char *ceiling)
{
	struct json_writer w = { .pretty = true };
	struct tenant_limits limits;
	struct warder_error ignored;

	limits_take(tenant_limits, NULL, &limits, "limits", &ignored);
	json_begin_object(&w);
	json_key_uint(&w, "version", VERSION);
	json_key_string(&w, "tokenDigest", digest);
	json_key(&w, "scopes");
	tenant_write_scopes(of, &w);
	json_key(&w, "expiresMs");
	if (options->expires_us)
		json_uint(&w, clock_wall_ms() + options->expires_us / 1000);
	else
		json_null(&w);
	json_key(&w, "limits");
	json_begin_object(&w);
	tenant_write_limits(&limits, &w);
	json_end_object(&w);
	json_key(&w, "ceiling");
	if (ceiling)
		json_number(&w, ceiling);
	else
		json_null(&w);
	if (options->request_key) /* earlier versions do not know it */
		json_key_string(&w, "requestKey", options->request_key);
	if (options->uid) /* the same */
		json_key_uint(&w, "uid", strtoull(options->uid, NULL, 10));
	if (options->old_clients) /* the same */
		json_key_bool(&w, "oldClients", true);
	json_end_object(&w);
	return json_take(&w);
}

/* The document of --ceiling in its canonical form; NULL without one. */
static int read_ceiling(const char *path, char **ret, struct warder_error *err)
{
	struct warder_policy *policy = NULL;
	char *text = NULL;
	size_t len = 0;
	int got;

	*ret = NULL;
	if (!path)
		return 0;
	got = file_read_regular(path, (size_t)1 << 20, &text, &len, err);
	if (got == 0)
		got = warder_policy_parse(text, len, path, &policy, err);
	free(text);
	if (got < 0)
		return error_context(err, "--ceiling");
	*ret = warder_policy_json(policy);
	warder_policy_free(policy);
	return *ret ? 0 : error_no_memory(err, NULL);
}

static int write_new(int dir_fd, const char *name, const char *text, struct warder_error *err)
{
	char *there = NULL;

	if (state_read(dir_fd, name, &there, err) == 0) {
		free(there);
		return error_set(err, WARDER_ERROR_CONFLICT, "name",
				 "there is a tenant %s; \"warder tenant revoke %s\" removes it", name, name);
	}
	if (err->code != WARDER_ERROR_NOT_FOUND)
		return -1;
	memset(err, 0, sizeof(*err));
	return state_write(dir_fd, name, text, err);
}

static int read_uid(const char *text, uint32_t *ret, struct warder_error *err)
{
	const size_t len = strlen(text);
	const unsigned long long number = strtoull(text, NULL, 10);

	if (!len || len > 10 || strspn(text, "0123456789") != len || number > TENANT_UID_MAX)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--uid",
				 "--uid must be a user id, a number as \"id -u\" prints it, not \"%.40s\"",
				 text);
	if (number == peer_overflow_uid())
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, "--uid",
		    "--uid %llu stands for every user that has no user id on this host; choose the "
		    "uid of one user",
		    number);
	*ret = (uint32_t)number;
	return 0;
}

/* A user is one tenant. */
static int check_uid(const char *state, const char *text, const char *name, struct warder_error *err)
{
	struct tenants tenants = { 0 };
	int checked = 0;
	uint32_t uid = 0;

	if (!text)
		return 0;
	if (read_uid(text, &uid, err) < 0)
		return -1;
	if (tenants_load(state, NULL, &tenants, err) < 0)
		return -1;
	for (size_t i = 0; checked == 0 && i < tenants.count; i++)
		if (tenants.items[i].has_uid && tenants.items[i].uid == uid &&
		    strcmp(tenants.items[i].name, name) != 0)
			checked =
			    error_set(err, WARDER_ERROR_CONFLICT, "--uid",
				      "user %u already belongs to tenant %s; \"warder tenant revoke %s\" "
				      "removes this tenant",
				      uid, tenants.items[i].name, tenants.items[i].name);
	tenants_done(&tenants);
	return checked;
}

int tenants_add(const char *state, const char *name, const struct tenant_options *options,
		char ret_token[TENANT_TOKEN_BYTES], struct warder_error *err)
{
	unsigned int of = TENANT_SCOPES;
	char digest[SHA256_HEX];
	owned_fd int dir_fd = -1;
	char *ceiling = NULL;
	char *text;
	int written;

	if (check_name(name, err) < 0 || (options->scopes && read_scopes(options->scopes, &of, err) < 0) ||
	    (options->request_key && check_key(options->request_key, "--request-key", err) < 0) ||
	    check_uid(state, options->uid, name, err) < 0 || draw_token(ret_token, err) < 0 ||
	    read_ceiling(options->ceiling, &ceiling, err) < 0)
		return -1;
	link_digest(ret_token, digest);
	text = encode(digest, of, options, ceiling);
	free(ceiling);
	if (!text)
		return error_no_memory(err, NULL);
	written = state_open(state, STATE_TENANTS, &dir_fd, err);
	if (written == 0)
		written = write_new(dir_fd, name, text, err);
	free(text);
	return written;
}

int tenants_read(const char *state, const char *name, struct tenant *ret, struct warder_error *err)
{
	owned_fd int dir_fd = -1;
	char *text = NULL;
	int got;

	if (check_name(name, err) < 0 || state_open(state, STATE_TENANTS, &dir_fd, err) < 0 ||
	    state_read(dir_fd, name, &text, err) < 0)
		return -1;
	got = tenant_parse(name, text, ret, err);
	free(text);
	return got;
}

int tenants_revoke(const char *state, const char *name, struct warder_error *err)
{
	owned_fd int dir_fd = -1;
	int removed;

	if (check_name(name, err) < 0 || state_open(state, STATE_TENANTS, &dir_fd, err) < 0)
		return -1;
	removed = state_remove(dir_fd, name, err);
	if (removed > 0)
		return error_set(err, WARDER_ERROR_NOT_FOUND, "name",
				 "there is no tenant %s; \"warder tenant list\" shows all", name);
	return removed;
}

char *tenants_list(const char *state, struct warder_error *err)
{
	struct tenants tenants = { 0 };
	struct json_writer w = { 0 };
	char *text;

	if (tenants_load(state, NULL, &tenants, err) < 0)
		return NULL;
	json_begin_array(&w);
	for (size_t i = 0; i < tenants.count; i++) {
		json_begin_object(&w);
		json_key_string(&w, "name", tenants.items[i].name);
		json_key(&w, "scopes");
		tenant_write_scopes(tenants.items[i].scopes, &w);
		json_key(&w, "expiresMs");
		if (tenants.items[i].expires_ms)
			json_uint(&w, tenants.items[i].expires_ms);
		else
			json_null(&w);
		json_key(&w, "uid");
		if (tenants.items[i].has_uid)
			json_uint(&w, tenants.items[i].uid);
		else
			json_null(&w);
		json_end_object(&w);
	}
	json_end_array(&w);
	tenants_done(&tenants);
	text = json_take(&w);
	if (!text)
		error_no_memory(err, NULL);
	return text;
}
