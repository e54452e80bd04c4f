/*
 * e2b: the control plane that E2B's clients speak: sandboxes are created, found and ended.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "host/front/exchange.h"
#include "host/front/v1.h"

#define CLIENT_ID    "warder"
#define ENVD_VERSION "0.5.7"
#define TIMEOUT_V1_S 15
#define TIMEOUT_V2_S 300

static void write_time(struct json_writer *w, const char *key, uint64_t ms)
{
	const time_t seconds = (time_t)(ms / 1000);
	struct tm utc;
	char text[40];
	char whole[64];

	gmtime_r(&seconds, &utc);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(whole, sizeof(whole), "%s.%03uZ", text, (unsigned int)(ms % 1000));
	json_key_string(w, key, whole);
}

static void write_identity(const struct json_value *sandbox, struct json_writer *w)
{
	json_key_string(w, "templateID", json_member_text(sandbox, "template", ""));
	json_key_string(w, "alias", json_member_text(sandbox, "template", ""));
	json_key_string(w, "sandboxID", json_member_text(sandbox, "id", ""));
	json_key_string(w, "clientID", CLIENT_ID);
	json_key_string(w, "envdVersion", ENVD_VERSION);
}

/* domains: of the welcome. */
static void write_tokens(const struct json_value *sandbox, const char *domains, struct json_writer *w)
{
	char domain[LINK_DOMAINS_BYTES];

	json_key_string(w, "envdAccessToken", json_member_text(sandbox, "accessToken", NULL));
	json_key_string(w, "trafficAccessToken", json_member_text(sandbox, "trafficToken", NULL));
	snprintf(domain, sizeof(domain), "%.*s", (int)strcspn(domains, " "), domains);
	json_key_string(w, "domain", *domain ? domain : NULL);
}

/* As in a list. */
static void write_row(const struct json_value *sandbox, struct json_writer *w)
{
	write_identity(sandbox, w);
	write_time(w, "startedAt", json_member_uint(sandbox, "createdMs"));
	write_time(w, "endAt", json_member_uint(sandbox, "endsMs"));
	json_key_uint(w, "cpuCount", (json_member_uint(sandbox, "cpuMilli") + 999) / 1000);
	json_key_uint(w, "memoryMB", json_member_uint(sandbox, "memoryBytes") >> 20);
	json_key_uint(w, "diskSizeMB", json_member_uint(sandbox, "diskBytes") >> 20);
	json_key_string(w, "state", json_member_text(sandbox, "state", ""));
	json_key(w, "metadata");
	if (json_member(sandbox, "metadata"))
		json_copy(w, json_member(sandbox, "metadata"));
	else
		json_null(w);
}

/* Parse what the launcher sent; on failure the client is answered, and NULL returned. */
static struct json_value *read_answer(struct exchange *x, const char *text)
{
	struct json_value *document = NULL;
	struct warder_error err = { 0 };

	if (text && json_parse(text, strlen(text), "launcher",
			       &(const struct json_limits){ .max_bytes = SIZE_MAX }, &document, &err) == 0)
		return document;
	exchange_fail(x, 500, "the launcher sent no JSON");
	return NULL;
}

/* ---- create and connect ---- */

/* internet: the client wants access to the internet, which is the policy's business alone. */
static void send_session(struct exchange *x, unsigned int status, const char *text, bool internet)
{
	struct json_value *sandbox = read_answer(x, text);
	struct json_writer w = { 0 };

	if (!sandbox)
		return;
	json_begin_object(&w);
	write_identity(sandbox, &w);
	write_tokens(sandbox, x->front->welcome.domains, &w);
	if (internet) {
		json_key(&w, "warder");
		json_begin_object(&w);
		json_key_string(&w, "allowInternetAccess",
				"adds nothing: the network is that of the template's policy");
		json_end_object(&w);
	}
	json_end_object(&w);
	json_free(sandbox);
	exchange_json(x, status, json_take(&w));
}

/* What the handler remembers of the request, for the answer of the launcher. */
static void remember(struct exchange *x, uint64_t number)
{
	x->data = (void *)(uintptr_t)number;
}

static uint64_t number_of(const struct exchange *x)
{
	return (uintptr_t)x->data;
}

static void created(struct exchange *x, const struct link_answer *answer, const char *text, int *fd)
{
	send_session(x, 201, text, number_of(x));
}

static void emptied(struct exchange *x, const struct link_answer *answer, const char *text, int *fd)
{
	exchange_empty(x, 204);
}

static void connected(struct exchange *x, const struct link_answer *answer, const char *text, int *fd)
{
	send_session(x, 200, text, false);
}

/* A member that another name has for the launcher. */
static void write_as(struct json_writer *w, const char *key, const struct json_value *value)
{
	if (!value || value->type == JSON_NULL)
		return;
	json_key(w, key);
	json_copy(w, value);
}

/* Whether a member asks for nothing: null, false, an empty list or object, {"enabled": false}. */
static bool asks_nothing(const struct json_value *value)
{
	const struct json_value *enabled = value ? json_member(value, "enabled") : NULL;

	if (!value || value->type == JSON_NULL || (value->type == JSON_BOOL && !value->boolean))
		return true;
	if (value->type == JSON_ARRAY || value->type == JSON_OBJECT)
		return !value->child || (enabled && enabled->type == JSON_BOOL && !enabled->boolean);
	return false;
}

/* True: the client asks for something that this host does not have. */
static bool is_refused(struct exchange *x, const struct json_value *document)
{
	static const struct {
		const char *key;
		bool empty; /* also an empty one asks for something */
	} refused[] = { { "volumeMounts", false }, { "mcp", true },        { "iam", false },
			{ "secrets", false },      { "autoPause", false }, { "autoResume", false } };

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		const struct json_value *value = json_member(document, refused[i].key);
		char text[160];

		if (asks_nothing(value) && !(refused[i].empty && value && value->type == JSON_OBJECT))
			continue;
		snprintf(text, sizeof(text), "\"%s\" is not supported on this host; leave it out",
			 refused[i].key);
		exchange_fail(x, 400, text);
		return true;
	}
	return false;
}

/* A wish of another type would be one that nobody keeps. False: the exchange was answered. */
static bool check_types(struct exchange *x, const struct json_value *document)
{
	static const struct {
		const char *key;
		enum json_type type;
		const char *wish;
	} typed[] = { { "templateID", JSON_STRING, "a text" },
		      { "allow_internet_access", JSON_BOOL, "true or false" } };

	for (size_t i = 0; i < sizeof(typed) / sizeof(typed[0]); i++) {
		const struct json_value *value = json_member(document, typed[i].key);
		char text[160];

		if (!value || value->type == JSON_NULL || value->type == typed[i].type)
			continue;
		snprintf(text, sizeof(text), "\"%s\" must be %s", typed[i].key, typed[i].wish);
		exchange_fail(x, 400, text);
		return false;
	}
	return true;
}

/* The network that the client wishes, for the launcher: it can only be less than that of the template. `network`: the object that has the lists, or
 * NULL; `within`: what the client has before its members; internet: allow_internet_access. -1: the exchange was answered. */
static int write_network(struct exchange *x, const struct json_value *network, const char *within,
			 const struct json_value *internet, struct json_writer *w)
{
	static const char *const names[][2] = { { "allowOut", "allow" }, { "denyOut", "deny" } };
	char text[160];

	for (const struct json_value *one = network ? network->child : NULL; one; one = one->next) {
		if (strcmp(one->key, "allowOut") == 0 || strcmp(one->key, "denyOut") == 0 ||
		    one == internet || asks_nothing(one))
			continue;
		snprintf(text, sizeof(text),
			 "\"%s%.60s\" is not supported on this host; leave it out: allowOut and denyOut are",
			 within, one->key);
		exchange_fail(x, 400, text);
		return -1;
	}
	json_begin_object(w);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		write_as(w, names[i][1], network ? json_member(network, names[i][0]) : NULL);
	if (internet && internet->type == JSON_BOOL && !internet->boolean)
		json_key_bool(w, "none", true);
	json_end_object(w);
	return 0;
}

static int write_narrow(struct exchange *x, const struct json_value *document, struct json_writer *w)
{
	const struct json_value *network = json_member(document, "network");

	if (network && network->type == JSON_NULL)
		network = NULL;
	if (network && network->type != JSON_OBJECT) {
		exchange_fail(x, 400, "\"network\" must be an object");
		return -1;
	}
	json_key(w, "narrow");
	return write_network(x, network, "network.", json_member(document, "allow_internet_access"), w);
}

/* A list that the request leaves out is that of the template again. */
static void replace_network(struct exchange *x)
{
	struct json_value *document;
	struct json_writer w = { 0 };

	if (exchange_object(x, &document) < 0)
		return;
	if (check_types(x, document)) {
		if (write_network(x, document, "", json_member(document, "allow_internet_access"), &w) < 0)
			json_writer_done(&w);
		else
			exchange_ask(x, LINK_NETWORK, 0, json_take(&w), emptied);
	}
	json_free(document);
}

static void create(struct exchange *x, uint64_t timeout_s)
{
	struct json_value *document;
	const struct json_value *timeout;
	struct json_writer w = { 0 };

	if (exchange_object(x, &document) < 0)
		return;
	timeout = json_member(document, "timeout");
	if (timeout && timeout->type != JSON_NULL && !timeout->is_uint) {
		exchange_fail(x, 400, "\"timeout\" must be a whole number of seconds");
	} else if (check_types(x, document) && !is_refused(x, document)) {
		if (timeout && timeout->is_uint)
			timeout_s = timeout->uint < UINT32_MAX ? timeout->uint : UINT32_MAX;
		json_begin_object(&w);
		json_key_string(&w, "template", json_member_text(document, "templateID", "base"));
		json_key_uint(&w, "timeoutMs", timeout_s * 1000);
		write_as(&w, "metadata", json_member(document, "metadata"));
		write_as(&w, "env", json_member(document, "envVars"));
		if (write_narrow(x, document, &w) < 0) {
			json_writer_done(&w);
		} else {
			json_end_object(&w);
			remember(x, json_member_true(document, "allow_internet_access"));
			exchange_ask(x, LINK_CREATE, LINK_CREATE_PLAIN, json_take(&w), created);
		}
	}
	json_free(document);
}

static void create_v1(struct exchange *x)
{
	create(x, TIMEOUT_V1_S);
}

static void create_v2(struct exchange *x)
{
	create(x, TIMEOUT_V2_S);
}

static void resumed(struct exchange *x, const struct link_answer *answer, const char *text, int *fd)
{
	send_session(x, 201, text, false);
}

static void show_connected(struct exchange *x, const struct link_answer *answer, const char *text, int *fd)
{
	exchange_ask(x, LINK_SHOW, 0, NULL, connected);
}

static void show_resumed(struct exchange *x, const struct link_answer *answer, const char *text, int *fd)
{
	exchange_ask(x, LINK_SHOW, 0, NULL, resumed);
}

/* A sandbox that is paused goes on. A time limit of 0, or none, leaves one that runs its time. */
static void found(struct exchange *x, const struct link_answer *answer, const char *text, int *fd)
{
	const uint64_t timeout_s = number_of(x); /* 0: none */
	struct json_value *sandbox = read_answer(x, text);
	bool paused;

	if (!sandbox)
		return;
	paused = strcmp(json_member_text(sandbox, "state", ""), "paused") == 0;
	json_free(sandbox);
	if (paused)
		exchange_ask(x, LINK_RESUME, timeout_s, NULL, show_resumed);
	else if (timeout_s)
		exchange_ask(x, LINK_TIMEOUT, timeout_s, NULL, show_connected);
	else
		send_session(x, 200, text, false);
}

static void connect_sandbox(struct exchange *x)
{
	struct json_value *document;

	if (exchange_object(x, &document) < 0)
		return;
	remember(x, json_member_uint(document, "timeout"));
	json_free(document);
	exchange_ask(x, LINK_SHOW, 0, NULL, found);
}

/* ---- pause and resume ---- */

static void pause_sandbox(struct exchange *x)
{
	struct json_value *document;
	const struct json_value *memory;

	if (exchange_object(x, &document) < 0)
		return;
	memory = json_member(document, "memory");
	if (memory && memory->type == JSON_BOOL && !memory->boolean)
		exchange_fail(x, 400,
			      "\"memory\": false is not supported on this host: programs stay in memory");
	else
		exchange_ask(x, LINK_PAUSE, 0, NULL, emptied);
	json_free(document);
}

static void resume_sandbox(struct exchange *x)
{
	struct json_value *document;

	if (exchange_object(x, &document) < 0)
		return;
	if (!is_refused(x, document))
		exchange_ask(x, LINK_RESUME, json_member_uint(document, "timeout"), NULL, show_resumed);
	json_free(document);
}

/* ---- look ---- */

static void write_shown(const struct exchange *x, const struct json_value *sandbox, struct json_writer *w)
{
	json_begin_object(w);
	write_row(sandbox, w);
	write_tokens(sandbox, x->front->welcome.domains, w);
	json_end_object(w);
}

/* The launcher's object, as E2B's clients expect it. */
static void send_object(struct exchange *x, unsigned int status, const char *text,
			void (*write)(const struct exchange *x, const struct json_value *object,
				      struct json_writer *w))
{
	struct json_value *object = read_answer(x, text);
	struct json_writer w = { 0 };

	if (!object)
		return;
	write(x, object, &w);
	json_free(object);
	exchange_json(x, status, json_take(&w));
}

static void shown(struct exchange *x, const struct link_answer *answer, const char *text, int *fd)
{
	send_object(x, 200, text, write_shown);
}

static void show(struct exchange *x)
{
	exchange_ask(x, LINK_SHOW, 0, NULL, shown);
}

/* Whether a list shows a sandbox of this state: without a filter, all that run or are paused. */
static bool is_listed(const struct exchange *x, const char *state)
{
	const char *wanted = exchange_query(x, "state");
	const size_t len = strlen(state);

	if (strcmp(state, "running") != 0 && strcmp(state, "paused") != 0)
		return false;
	for (const char *at = wanted; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (strncmp(at, state, len) == 0 && (at[len] == ',' || !at[len]))
			return true;
	return !wanted;
}

static void listed(struct exchange *x, const struct link_answer *answer, const char *text, int *fd)
{
	struct json_value *list = read_answer(x, text);
	struct json_writer w = { 0 };

	if (!list)
		return;
	json_begin_array(&w);
	for (const struct json_value *one = list->child; one; one = one->next) {
		if (!is_listed(x, json_member_text(one, "state", "")))
			continue;
		json_begin_object(&w);
		write_row(one, &w);
		json_end_object(&w);
	}
	json_end_array(&w);
	json_free(list);
	exchange_json(x, 200, json_take(&w));
}

static void list(struct exchange *x)
{
	exchange_ask(x, LINK_LIST, 0, NULL, listed);
}

/* ---- time and end ---- */

static void set_time(struct exchange *x, const char *key)
{
	struct json_value *document;
	const struct json_value *value;

	if (exchange_object(x, &document) < 0)
		return;
	value = json_member(document, key);
	if (!value || !value->is_uint)
		exchange_fail(x, 400, "the time must be a whole number of seconds");
	else
		exchange_ask(x, LINK_TIMEOUT, value->uint, NULL, emptied);
	json_free(document);
}

static void set_timeout(struct exchange *x)
{
	set_time(x, "timeout");
}

static void refresh(struct exchange *x)
{
	set_time(x, "duration");
}

static void end(struct exchange *x)
{
	exchange_ask(x, LINK_REMOVE, 0, NULL, emptied);
}

/* ---- snapshots ---- */

static void write_snapshot(const struct exchange *x, const struct json_value *snapshot, struct json_writer *w)
{
	const char *name = json_member_text(snapshot, "name", NULL);

	json_begin_object(w);
	json_key_string(w, "snapshotID", json_member_text(snapshot, "id", ""));
	json_key(w, "names");
	json_begin_array(w);
	if (name)
		json_string(w, name);
	json_end_array(w);
	json_end_object(w);
}

static void stored(struct exchange *x, const struct link_answer *answer, const char *text, int *fd)
{
	send_object(x, 201, text, write_snapshot);
}

static void store(struct exchange *x)
{
	struct json_value *document;
	struct json_writer w = { 0 };

	if (exchange_object(x, &document) < 0)
		return;
	json_begin_object(&w);
	write_as(&w, "name", json_member(document, "name"));
	json_end_object(&w);
	json_free(document);
	exchange_ask(x, LINK_STORE, 0, json_take(&w), stored);
}

/* Whether a filter of the request lets it pass: none is given, or one of the texts is that. */
static bool passes(const struct exchange *x, const char *filter, const char *one, const char *other)
{
	const char *wanted = exchange_query(x, filter);

	return !wanted || !*wanted || strcmp(one, wanted) == 0 || strcmp(other, wanted) == 0;
}

static void snapshots_listed(struct exchange *x, const struct link_answer *answer, const char *text, int *fd)
{
	struct json_value *list = read_answer(x, text);
	struct json_writer w = { 0 };

	if (!list)
		return;
	json_begin_array(&w);
	for (const struct json_value *one = list->child; one; one = one->next) {
		const char *sandbox = json_member_text(one, "sandbox", "");

		if (passes(x, "sandboxID", sandbox, sandbox) &&
		    passes(x, "name", json_member_text(one, "name", ""), json_member_text(one, "id", "")))
			write_snapshot(x, one, &w);
	}
	json_end_array(&w);
	json_free(list);
	exchange_json(x, 200, json_take(&w));
}

static void list_snapshots(struct exchange *x)
{
	exchange_ask(x, LINK_SNAPSHOTS, 0, NULL, snapshots_listed);
}

void e2b_forget_snapshot(struct exchange *x)
{
	struct json_writer w = { 0 };

	json_begin_object(&w);
	json_key_string(&w, "id", x->args[0]);
	json_end_object(&w);
	exchange_ask(x, LINK_FORGET, 0, json_take(&w), emptied);
}

const struct route routes_e2b[] = {
	{ "POST", "/sandboxes", "sandboxes", 0, create_v1, "E2B: create a sandbox" },
	{ "POST", "/v2/sandboxes", "sandboxes", 0, create_v2, "E2B: create a sandbox" },
	{ "GET", "/sandboxes", "read", 0, list, "E2B: list sandboxes" },
	{ "GET", "/v2/sandboxes", "read", 0, list, "E2B: list sandboxes" },
	{ "GET", "/sandboxes/{id}", "sandboxes", 0, show, "E2B: describe a sandbox" },
	{ "DELETE", "/sandboxes/{id}", "sandboxes", 0, end, "E2B: end a sandbox" },
	{ "POST", "/sandboxes/{id}/timeout", "sandboxes", 0, set_timeout, "E2B: set when a sandbox ends" },
	{ "POST", "/sandboxes/{id}/refreshes", "sandboxes", 0, refresh, "E2B: set when a sandbox ends" },
	{ "POST", "/sandboxes/{id}/connect", "sandboxes", 0, connect_sandbox, "E2B: connect to a sandbox" },
	{ "POST", "/v2/sandboxes/{id}/connect", "sandboxes", 0, connect_sandbox,
	  "E2B: connect to a sandbox" },
	{ "POST", "/sandboxes/{id}/pause", "sandboxes", 0, pause_sandbox, "E2B: pause a sandbox" },
	{ "POST", "/sandboxes/{id}/resume", "sandboxes", 0, resume_sandbox, "E2B: resume a sandbox" },
	{ "PUT", "/sandboxes/{id}/network", "sandboxes", 0, replace_network,
	  "E2B: replace the network rules of a sandbox" },
	{ "POST", "/sandboxes/{id}/snapshots", "sandboxes", 0, store, "E2B: store the files of a sandbox" },
	{ "GET", "/snapshots", "read", 0, list_snapshots, "E2B: list snapshots" },
	{ "DELETE", "/templates/{id}", "sandboxes", 0, e2b_forget_snapshot, "E2B: remove a snapshot" },
	{ 0 },
};
