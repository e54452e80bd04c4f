#include "host/launcher/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "host/launcher/limits.h"
#include "runtime/library/library.h"

/* What E2B's clients ask for when they name no template. */
static const char *const always[] = { "base", "code-interpreter-v1" };

static const char base_policy[] =
    "{\"version\": 1,"
    " \"filesystem\": {\"view\": \"host\", \"tmp\": \"512MiB\", \"tmpExec\": true},"
    " \"environment\": {\"set\": {\"HOME\": \"/tmp\", \"LANG\": \"C.UTF-8\"}},"
    " \"limits\": {\"wallTime\": \"24h\", \"cpuTime\": \"unlimited\", \"memory\": \"512MiB\", \"cpus\": 1, "
    "\"pids\": 256,"
    " \"fileSize\": \"512MiB\", \"disk\": \"512MiB\"},"
    " \"syscalls\": {\"profile\": \"default\"},"
    " \"devices\": {\"terminals\": 8},"
    " \"workingDirectory\": \"/tmp\"}";

static int add_template(struct settings *settings, const char *name, const char *text, const char *origin,
			struct warder_error *err)
{
	struct settings_template *grown =
	    realloc(settings->templates, (settings->template_count + 1) * sizeof(*grown));
	struct settings_template made = { 0 };

	if (!grown)
		return error_no_memory(err, NULL);
	settings->templates = grown;
	if (warder_policy_parse(text, strlen(text), origin, &made.policy, err) != 0)
		return -1;
	/* An ordinary user may have no cgroup of their own. The receipt says which limits were not enforced. */
	if (text == base_policy && geteuid() != 0 &&
	    warder_policy_require(made.policy, "limits", 0, err) != 0) {
		warder_policy_free(made.policy);
		return -1;
	}
	made.name = strdup(name);
	if (!made.name) {
		warder_policy_free(made.policy);
		return error_no_memory(err, NULL);
	}
	grown[settings->template_count++] = made;
	return 0;
}

static int bad(const struct json_value *value, const char *key, const char *what, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--config", "line %d: \"%s\" must be %s",
			 value->line, key, what);
}

static int take_version(const struct json_value *value, struct settings *ret, struct warder_error *err)
{
	return value->is_uint && value->uint == 1 ? 0 : bad(value, "version", "1", err);
}

static int take_hosts(const struct json_value *value, struct settings *ret, struct warder_error *err)
{
	if (value->type != JSON_ARRAY || json_length(value) > SETTINGS_HOSTS_MAX)
		return bad(value, "hosts",
			   "an array of at most 32 names, such as \"sandbox.example.org:8080\"", err);
	for (const struct json_value *one = value->child; one; one = one->next) {
		if (one->type != JSON_STRING || !one->string[0] || strlen(one->string) > 255 ||
		    strpbrk(one->string, " \t\r\n/"))
			return bad(one, "hosts", "names, such as \"sandbox.example.org:8080\"", err);
		ret->hosts[ret->host_count] = strdup(one->string);
		if (!ret->hosts[ret->host_count])
			return error_no_memory(err, NULL);
		ret->host_count++;
	}
	return 0;
}

/* A request goes to the launcher as one text, and so no body can be longer than LINK_BYTES_MAX. The front may open 4096 descriptors, of
 * which a connection can need two. */
#define SURFACE(name, member, fallback, least, most)                                                         \
	{                                                                                                    \
		name, offsetof(struct settings_limits, surface.member), fallback, least, most                \
	}
static const struct limit limits[] = {
	SURFACE("connections", connections, 1024, 1, 2000),
	SURFACE("connectionsPerTenant", connections_a_tenant, 100, 1, 2000),
	SURFACE("headerBytes", header_bytes, 16384, 1024, 65536),
	SURFACE("headerSeconds", header_seconds, 30, 1, 3600),
	SURFACE("bodyBytes", body_bytes, LINK_BYTES_MAX, 1024, LINK_BYTES_MAX),
	SURFACE("fileBytes", file_bytes, UINT64_C(512) << 20, 1024, UINT64_C(1) << 40),
	SURFACE("wrongTokensPerMinute", wrong_tokens, 10, 1, 1000000),
	{ "frontMemoryBytes", offsetof(struct settings_limits, front_memory_bytes), UINT64_C(64) << 20,
	  UINT64_C(16) << 20, UINT64_C(64) << 30 },
	{ "parkedSandboxes", offsetof(struct settings_limits, parked_sandboxes), 32, 0, 100 },
	{ 0 },
};
#undef SURFACE

static int take_limits(const struct json_value *value, struct settings *ret, struct warder_error *err)
{
	return limits_take(limits, value, &ret->limits, "--config", err);
}

static int take_templates(const struct json_value *value, struct settings *ret, struct warder_error *err)
{
	if (value->type != JSON_OBJECT)
		return bad(value, "templates", "an object of policies", err);
	for (const struct json_value *one = value->child; one; one = one->next) {
		char *text = json_text(one);
		char origin[100];
		int added;

		snprintf(origin, sizeof(origin), "templates.%.60s", one->key);
		added = text ? add_template(ret, one->key, text, origin, err) : error_no_memory(err, NULL);
		free(text);
		if (added < 0)
			return -1;
	}
	return 0;
}

static int take_ceiling(const struct json_value *value, struct settings *ret, struct warder_error *err)
{
	char *text = json_text(value);
	int parsed;

	if (!text)
		return error_no_memory(err, NULL);
	parsed = warder_policy_parse(text, strlen(text), "ceiling", &ret->ceiling, err);
	free(text);
	return parsed;
}

/* ---- names of sandboxes ---- */

/* Labels of letters, digits and "-", the last of which is no number: an address has no names below it. */
static bool is_name(const char *name, size_t len)
{
	size_t label = 0;
	bool digits = true;

	for (size_t i = 0; i < len; i++) {
		const char c = name[i];

		if (c == '.') {
			if (!label || name[i - 1] == '-')
				return false;
			label = 0;
			digits = true;
			continue;
		}
		if ((c == '-' && !label) || !strchr("abcdefghijklmnopqrstuvwxyz0123456789-", c) ||
		    ++label > 63)
			return false;
		digits = digits && c >= '0' && c <= '9';
	}
	return label && !digits && name[len - 1] != '-';
}

int settings_take_domain(struct settings *settings, const char *domain, const char *field,
			 struct warder_error *err)
{
	const size_t len = strlen(domain);
	const char *colon = strchr(domain, ':');
	const size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;
	char shown[100];
	bool good = len <= SETTINGS_DOMAIN_MAX && (!colon || (digits && digits <= 5 && !colon[1 + digits] &&
							      strtoul(colon + 1, NULL, 10) - 1 < 65535));

	for (size_t i = 0; good && i <= len; i++)
		settings->domain[i] =
		    (char)(domain[i] >= 'A' && domain[i] <= 'Z' ? domain[i] + 32 : domain[i]);
	if (good && is_name(settings->domain, colon ? (size_t)(colon - domain) : len))
		return 0;
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
			 "%s %s is not a domain for sandboxes; write a name such as sandbox.example.org, "
			 "with :PORT behind it if clients use another port than the one of this host",
			 field, json_quote(domain, shown, sizeof(shown)));
}

static int take_domain(const struct json_value *value, struct settings *ret, struct warder_error *err)
{
	if (value->type != JSON_STRING)
		return bad(value, "domain", "a name, such as \"sandbox.example.org\"", err);
	return settings_take_domain(ret, value->string, "domain", err) < 0
		   ? error_context(err, "line %d", value->line)
		   : 0;
}

static struct settings_template *find_template(const struct settings *settings, const char *name)
{
	for (size_t i = 0; i < settings->template_count; i++)
		if (strcmp(settings->templates[i].name, name) == 0)
			return &settings->templates[i];
	return NULL;
}

/* A template that is always there has a loopback interface, if its ports are published: without one, no server can be reached. */
static int publish_base(struct settings *settings, const char *name, struct settings_template **ret,
			struct warder_error *err)
{
	for (size_t i = 0; i < ARRAY_LENGTH(always); i++) {
		if (strcmp(always[i], name) != 0)
			continue;
		if (add_template(settings, name, base_policy, name, err) < 0)
			return -1;
		*ret = &settings->templates[settings->template_count - 1];
		return warder_policy_set((*ret)->policy, "network.mode", "loopback", err);
	}
	return 0;
}

static int take_port(const struct json_value *value, struct settings_template *ret, struct warder_error *err)
{
	if (!value->is_uint || !value->uint || value->uint > 65535 || ret->port_count == SETTINGS_PORTS_MAX)
		return bad(value, "ports", "at most 64 numbers from 1 to 65535, or \"any\"", err);
	ret->ports[ret->port_count++] = (uint16_t)value->uint;
	return 0;
}

/* The agent of a sandbox connects to the server, in the network of the sandbox. */
static int check_network(const struct json_value *value, const struct settings_template *template,
			 struct warder_error *err)
{
	static const char *const why[] = {
		[POLICY_NETWORK_NONE] = "none, so no server in its sandboxes can be reached",
		[POLICY_NETWORK_HOST] = "host, so the ports of its sandboxes are those of this host",
	};
	const unsigned int mode = template->policy->policy.network.mode;

	if (mode >= ARRAY_LENGTH(why) || !why[mode])
		return 0;
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--config",
			 "line %d: the template \"%.60s\" has network.mode %s; set network.mode to loopback, "
			 "allow or learn, or leave the template out of \"ports\"",
			 value->line, value->key, why[mode]);
}

static int take_ports_of(const struct json_value *value, struct settings *settings, struct warder_error *err)
{
	struct settings_template *template = find_template(settings, value->key);

	if (!template && publish_base(settings, value->key, &template, err) < 0)
		return -1;
	if (!template)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--config",
				 "line %d: \"ports\" names \"%.60s\", and no template has this name",
				 value->line, value->key);
	if (check_network(value, template, err) < 0)
		return -1;
	if (value->type == JSON_STRING && strcmp(value->string, "any") == 0) {
		template->any_port = true;
		return 0;
	}
	if (value->type != JSON_ARRAY)
		return bad(value, value->key, "an array of ports, or \"any\"", err);
	for (const struct json_value *one = value->child; one; one = one->next)
		if (take_port(one, template, err) < 0)
			return -1;
	return 0;
}

/* After the templates, wherever they stand in the file. */
static int take_ports(const struct json_value *document, struct settings *ret, struct warder_error *err)
{
	const struct json_value *ports = json_member(document, "ports");

	if (!ports)
		return 0;
	if (ports->type != JSON_OBJECT)
		return bad(ports, "ports", "an object with a list of ports for each template", err);
	for (const struct json_value *one = ports->child; one; one = one->next)
		if (take_ports_of(one, ret, err) < 0)
			return -1;
	return 0;
}

bool settings_publishes(const struct settings *settings, const char *name, uint64_t port)
{
	const struct settings_template *template = find_template(settings, name);

	if (!template)
		return false;
	for (size_t i = 0; i < template->port_count; i++)
		if (template->ports[i] == port)
			return true;
	return template->any_port;
}

/* ---- the file ---- */

static int take(const struct json_value *document, struct settings *ret, struct warder_error *err)
{
	static const struct {
		const char *key;
		int (*take)(const struct json_value *value, struct settings *ret, struct warder_error *err);
	} members[] = {
		{ "version", take_version }, { "hosts", take_hosts },   { "templates", take_templates },
		{ "ceiling", take_ceiling }, { "limits", take_limits }, { "domain", take_domain },
		{ "ports", NULL },
	};

	if (document->type != JSON_OBJECT || !json_member(document, "version"))
		return bad(document, "version", "1", err);
	for (const struct json_value *one = document->child; one; one = one->next) {
		size_t i = 0;

		while (i < ARRAY_LENGTH(members) && strcmp(members[i].key, one->key) != 0)
			i++;
		if (i == ARRAY_LENGTH(members))
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--config",
					 "line %d: unknown member \"%.40s\"; version, hosts, templates, "
					 "ceiling, limits, domain and ports are known",
					 one->line, one->key);
		if (members[i].take && members[i].take(one, ret, err) < 0)
			return -1;
	}
	return take_ports(document, ret, err);
}

static int read_file(const char *path, struct settings *ret, struct warder_error *err)
{
	struct json_value *document = NULL;
	char *text = NULL;
	size_t len = 0;
	int got = file_read_regular(path, (size_t)1 << 20, &text, &len, err);

	if (got == 0)
		got = json_parse(text, len, "settings", NULL, &document, err);
	free(text);
	if (got == 0)
		got = take(document, ret, err);
	json_free(document);
	if (got < 0) {
		error_context(err, "--config %.200s", path);
		snprintf(err->field, sizeof(err->field), "--config");
	}
	return got;
}

int settings_load(const char *path, struct settings *ret, struct warder_error *err)
{
	struct settings settings = { 0 };
	int got = take_limits(NULL, &settings, err);

	if (got == 0 && path)
		got = read_file(path, &settings, err);
	for (size_t i = 0; got == 0 && i < ARRAY_LENGTH(always); i++)
		if (!settings_template(&settings, always[i]))
			got = add_template(&settings, always[i], base_policy, always[i], err);
	if (got < 0) {
		settings_done(&settings);
		return -1;
	}
	*ret = settings;
	return 0;
}

const struct warder_policy *settings_template(const struct settings *settings, const char *name)
{
	const struct settings_template *template = find_template(settings, name);

	return template ? template->policy : NULL;
}

void settings_done(struct settings *settings)
{
	for (size_t i = 0; i < settings->host_count; i++)
		free(settings->hosts[i]);
	for (size_t i = 0; i < settings->template_count; i++) {
		free(settings->templates[i].name);
		warder_policy_free(settings->templates[i].policy);
	}
	free(settings->templates);
	warder_policy_free(settings->ceiling);
	*settings = (struct settings){ 0 };
}
