/*
 * service: what is created here is deleted here.
 *
 * The sandbox has a lifetime from the beginning, so that it ends also if this process is killed, or if the answer that names it is lost.
 */
#include "remote/service.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/array.h"
#include "base/json.h"

#define KEEPALIVE_LINE "Keepalive-Ping-Interval: 30"
#define CREATE_MS      60000u
#define DELETE_MS      10000u
#define DELETE_TRIES   3
#define ASK_MS         30000u
#define KEY            "warder" /* of the metadata of a sandbox that can be found by its key */
#define ENVD_NEEDED    "0.5.2"  /* with CloseStdin, a default user, and "stdin" of Start */

static int refuse(struct warder_error *err, const char *what)
{
	return error_set(err, WARDER_ERROR_UNAVAILABLE, "backend", "the service made a sandbox %s", what);
}

int service_data_url(const struct service *service, const char *port, const char *id, const char *domain,
		     char ret[sizeof(((struct service *)NULL)->data_url)], struct warder_error *err)
{
	const bool plain = strncmp(service->url, "http://", 7) == 0;
	const char *host = service->url + (plain ? 7 : 8);
	const size_t size = sizeof(service->data_url);
	struct warder_error why = { 0 };
	int len;

	if (domain && !domain[0])
		domain = NULL;
	if (!service->sandbox_url && !domain && strncmp(host, "api.", 4) == 0)
		domain = host + 4;
	if (service->sandbox_url)
		len = snprintf(ret, size, "%s", service->sandbox_url);
	else if (domain)
		len = snprintf(ret, size, "%s%s-%s.%s", plain ? "http://" : "https://", port, id, domain);
	else
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "sandboxUrl",
				 "the service names no domain of its sandboxes, and \"url\" has no host that "
				 "begins with \"api.\"; give \"sandboxUrl\" in the document of backends");
	if (len < 0 || (size_t)len >= size ||
	    remote_check_url(ret, service->insecure && strncmp(ret, "http://", 7) == 0, &why) < 0)
		return refuse(err, "whose address is not valid");
	return 0;
}

void service_ask(const struct service *service, const char *method, const char *path, const char *body,
		 struct remote_answer *ret, char **ret_body)
{
	const struct exchange_order order = {
		.url = service->url,
		.method = method,
		.path = path,
		.token = service->token,
		.ca_file = service->ca_file,
		.body = body,
		.body_len = body ? strlen(body) : 0,
		.timeout_ms = ASK_MS,
		.most = REMOTE_JSON_MAX,
	};

	exchange_perform(&order, ret, ret_body);
}

bool service_is_good(const struct remote_answer *answer)
{
	return answer->status >= 200 && answer->status <= 299;
}

bool service_is_out_of_reach(const struct remote_answer *answer)
{
	static const unsigned int statuses[] = { 0, 413, 429, 502, 503, 504 };

	for (size_t i = 0; i < ARRAY_LENGTH(statuses); i++)
		if (answer->status == statuses[i])
			return true;
	return false;
}

/* ---- create ---- */

static char *write_wish(const struct service *service)
{
	struct json_writer w = { 0 };

	json_begin_object(&w);
	json_key_string(&w, "templateID", service->template);
	json_key_uint(&w, "timeout", service->lifetime_s);
	json_key_bool(&w, "secure", true);
	json_key_bool(&w, "allow_internet_access", service->internet);
	json_key(&w, "metadata");
	json_begin_object(&w);
	if (service->key)
		json_key_string(&w, KEY, service->key);
	json_end_object(&w);
	json_key(&w, "envVars");
	json_begin_object(&w);
	for (const struct json_value *one = service->env ? service->env->child : NULL; one; one = one->next)
		json_key_string(&w, one->key, one->string);
	json_end_object(&w);
	json_end_object(&w);
	return json_take(&w);
}

bool service_is_id(const char *id)
{
	const size_t len = strlen(id);

	return len >= 1 && len <= SERVICE_ID_MAX &&
	       strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == len;
}

static bool is_visible(const char *text)
{
	for (; *text; text++)
		if (*text <= ' ' || *text > '~')
			return false;
	return true;
}

/* Numbers with dots: at least that one. */
static bool is_new_enough(const char *version, const char *least)
{
	unsigned int have[3] = { 0 }, need[3] = { 0 };

	if (sscanf(version, "%4u.%4u.%4u", &have[0], &have[1], &have[2]) != 3)
		return false;
	sscanf(least, "%4u.%4u.%4u", &need[0], &need[1], &need[2]);
	for (int i = 0; i < 3; i++)
		if (have[i] != need[i])
			return have[i] > need[i];
	return true;
}

int service_reach(struct service *service, const char *port, struct warder_error *err)
{
	snprintf(service->lines[2], sizeof(service->lines[2]), "E2b-Sandbox-Port: %s", port);
	return service_data_url(service, port, service->id, service->domain, service->data_url, err);
}

int service_open(struct service *service, const struct json_value *description, struct warder_error *err)
{
	const char *traffic = json_member_text(description, "trafficAccessToken", "");
	const char *domain = json_member_text(description, "domain", "");
	int count = 4;

	const char *access = json_member_text(description, "envdAccessToken", "");
	const char *version = json_member_text(description, "envdVersion", "");

	if (!access[0] || strlen(access) > SERVICE_ACCESS_MAX || !is_visible(access))
		return refuse(err, "without a valid access token, which would be open to others");
	if (!is_new_enough(version, ENVD_NEEDED))
		return refuse(err, "whose \"envdVersion\" is older than " ENVD_NEEDED ", or not valid");
	if (strlen(traffic) > SERVICE_ACCESS_MAX || !is_visible(traffic))
		return refuse(err, "with a token for its ports that is not valid");
	if (strlen(domain) >= sizeof(service->domain))
		return refuse(err, "whose address is not valid");
	memcpy(service->domain, domain, strlen(domain) + 1);
	snprintf(service->lines[0], sizeof(service->lines[0]), "X-Access-Token: %s", access);
	snprintf(service->lines[1], sizeof(service->lines[1]), "E2b-Sandbox-Id: %s", service->id);
	snprintf(service->lines[3], sizeof(service->lines[3]), "Connect-Protocol-Version: 1");
	if (traffic[0])
		snprintf(service->lines[count++], sizeof(service->lines[0]), "E2B-Traffic-Access-Token: %s",
			 traffic);
	for (int i = 0; i < count; i++)
		service->headers[i] = service->lines[i];
	service->headers[count] = NULL;
	return service_reach(service, SERVICE_PROGRAMS, err);
}

/* Of a sandbox that may be there, and that nobody can name. */
static void add_end(const struct service *service, struct warder_error *err)
{
	const size_t used = strlen(err->text);

	snprintf(err->text + used, sizeof(err->text) - used,
		 "; the sandbox ends by itself, at most %llu seconds after its start",
		 (unsigned long long)service->lifetime_s);
}

static int take_answer(struct service *service, const char *body, size_t len, struct warder_error *err)
{
	struct json_value *document = NULL;
	struct warder_error ignored = { 0 };
	const char *id = "";
	int status = -1;

	if (json_parse(body ? body : "", len, "answer", NULL, &document, &ignored) == 0)
		id = json_member_text(document, "sandboxID", "");
	if (service_is_id(id)) {
		snprintf(service->id, sizeof(service->id), "%s", id);
		status = service_open(service, document, err);
		if (status < 0 && service_delete(service, &ignored) < 0)
			add_end(service, err);
	} else {
		refuse(err, "without a valid \"sandboxID\"");
		add_end(service, err);
	}
	json_free(document);
	return status;
}

char *service_message(const char *body, size_t len, char ret[SERVICE_MESSAGE])
{
	struct json_value *document = NULL;
	struct warder_error ignored = { 0 };

	ret[0] = '\0';
	if (json_parse(body ? body : "", len, "answer", NULL, &document, &ignored) == 0)
		snprintf(ret, SERVICE_MESSAGE, "%s", json_member_text(document, "message", ""));
	json_free(document);
	return ret;
}

static int take_refusal(const struct remote_answer *answer, const char *body, struct warder_error *err)
{
	char message[SERVICE_MESSAGE];

	service_message(body, answer->bytes, message);
	if (answer->status == 401)
		return error_set(err, WARDER_ERROR_REJECTED, "tokenFile",
				 "the service does not accept the token of \"tokenFile\": %s (status 401)",
				 message);
	return error_set(err, WARDER_ERROR_UNAVAILABLE, "backend",
			 "the service does not make a sandbox: %s (status %u)", message, answer->status);
}

/* Delete the sandbox that has our key, if the service shows one. Returns whether it did, and it is deleted: a service that shows none may still make
 * it. */
static bool delete_lost(struct service *service)
{
	const struct json_limits limits = { .max_bytes = REMOTE_JSON_MAX };
	struct json_value *list = NULL;
	struct remote_answer answer;
	struct warder_error ignored;
	char path[160];
	char *body = NULL;
	bool deleted = false;

	snprintf(path, sizeof(path), "/sandboxes?metadata=" KEY "%%3D%.64s", service->key);
	service_ask(service, "GET", path, NULL, &answer, &body);
	if (service_is_good(&answer))
		json_parse(body ? body : "", answer.bytes, "answer", &limits, &list, &ignored);
	free(body);
	for (const struct json_value *one = list ? list->child : NULL; one; one = one->next) {
		const struct json_value *metadata = json_member(one, "metadata");
		const char *id = json_member_text(one, "sandboxID", "");

		if (!metadata || !service_is_id(id) ||
		    strcmp(json_member_text(metadata, KEY, ""), service->key) != 0)
			continue;
		snprintf(service->id, sizeof(service->id), "%s", id);
		deleted = service_delete(service, &ignored) == 0;
	}
	json_free(list);
	return deleted;
}

int service_create(struct service *service, struct warder_error *err)
{
	char *wish = write_wish(service);
	const struct exchange_order order = {
		.url = service->url,
		.method = "POST",
		.path = "/sandboxes",
		.token = service->token,
		.ca_file = service->ca_file,
		.body = wish,
		.body_len = wish ? strlen(wish) : 0,
		.timeout_ms = CREATE_MS,
		.most = REMOTE_JSON_MAX,
	};
	struct remote_answer answer;
	char *body = NULL;
	int status;

	if (!wish)
		return error_no_memory(err, "backend");
	exchange_perform(&order, &answer, &body);
	free(wish);
	if (service_is_good(&answer)) {
		status = take_answer(service, body, answer.bytes, err);
	} else if (answer.status) {
		status = take_refusal(&answer, body, err);
	} else {
		*err = answer.error;
		if (answer.sent && !(service->key && delete_lost(service)))
			add_end(service, err);
		status = -1;
	}
	free(body);
	return status;
}

/* ---- orders ---- */

void service_plain(const struct service *service, const char *path, const char *body,
		   struct exchange_order *ret)
{
	*ret = (struct exchange_order){
		.url = service->data_url,
		.method = "POST",
		.path = path,
		.ca_file = service->ca_file,
		.most = REMOTE_JSON_MAX,
		.headers = service->headers,
		.body = body,
		.body_len = strlen(body),
	};
}

void service_stream(const struct service *service, const char *line,
		    const char *headers[SERVICE_STREAM_HEADERS], struct exchange_order *to)
{
	size_t n = 0;

	for (; service->headers[n]; n++)
		headers[n] = service->headers[n];
	if (line)
		headers[n++] = line;
	headers[n++] = KEEPALIVE_LINE;
	headers[n] = NULL;
	to->url = service->data_url;
	to->method = "POST";
	to->ca_file = service->ca_file;
	to->most = REMOTE_JSON_MAX;
	to->type = "application/connect+json";
	to->headers = headers;
}

/* ---- delete ---- */

int service_delete(const struct service *service, struct warder_error *err)
{
	char path[sizeof("/sandboxes/") + SERVICE_ID_MAX];
	const struct exchange_order order = {
		.url = service->url,
		.method = "DELETE",
		.path = path,
		.token = service->token,
		.ca_file = service->ca_file,
		.timeout_ms = DELETE_MS,
		.most = REMOTE_JSON_MAX,
	};
	struct remote_answer answer;
	char *body = NULL;

	snprintf(path, sizeof(path), "/sandboxes/%s", service->id);
	for (int i = 0; i < DELETE_TRIES; i++) {
		if (i)
			sleep(1);
		exchange_perform(&order, &answer, &body);
		free(body);
		if (service_is_good(&answer) || answer.status == 404)
			return 0;
	}
	if (answer.status)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "backend",
				 "the service refuses to delete the sandbox %s (status %u)", service->id,
				 answer.status);
	*err = answer.error;
	return error_context(err, "the sandbox %s is not deleted", service->id);
}
