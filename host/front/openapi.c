/*
 * openapi: the description of the API, made from the table of routes.
 */
#include "host/front/openapi.h"

#include <ctype.h>
#include <string.h>

struct writing {
	const struct route *const *families;
	struct json_writer w;
	const char *pattern; /* whose methods are written */
};

static void write_parameter(const char *name, size_t len, const char *in, bool required,
			    struct json_writer *w)
{
	json_begin_object(w);
	json_key(w, "name");
	json_string_n(w, name, len);
	json_key_string(w, "in", in);
	json_key_bool(w, "required", required);
	json_key(w, "schema");
	json_begin_object(w);
	json_key_string(w, "type", "string");
	json_end_object(w);
	json_end_object(w);
}

static void write_parameters(const struct route *route, struct json_writer *w)
{
	json_key(w, "parameters");
	json_begin_array(w);
	for (const char *at = strchr(route->pattern, '{'); at; at = strchr(at + 1, '{'))
		write_parameter(at + 1, strcspn(at + 1, "}"), "path", true, w);
	for (const char *at = route->query; at && *at; at += strspn(at, " ")) {
		const size_t len = strcspn(at, " ");
		const bool required = at[len - 1] == '!';

		write_parameter(at, len - required, "query", required, w);
		at += len;
	}
	json_end_array(w);
}

static void write_body(const struct route *route, struct json_writer *w)
{
	const char *type = route->body ? "application/json" : "application/octet-stream";

	if (!route->body && !((route->flags & ROUTE_OWN) && (route->flags & ROUTE_PARTS)))
		return;
	json_key(w, "requestBody");
	json_begin_object(w);
	json_key_bool(w, "required", !route->body || route->body[0].required);
	json_key(w, "content");
	json_begin_object(w);
	json_key(w, type);
	json_begin_object(w);
	if (route->body) {
		json_key(w, "schema");
		body_describe(route->body, w);
	}
	json_end_object(w);
	json_end_object(w);
	json_end_object(w);
}

static void write_security(const struct route *route, struct json_writer *w)
{
	static const struct {
		unsigned int flag;
		const char *name;
	} keys[] = {
		{ ROUTE_SANDBOX, "accessToken" },
		{ ROUTE_TRAFFIC, "trafficToken" },
	};

	json_key(w, "security");
	json_begin_array(w);
	/* No key is an alternative, too. */
	if (route->flags & ROUTE_OPEN) {
		json_begin_object(w);
		json_end_object(w);
	}
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (!(route->flags & keys[i].flag))
			continue;
		json_begin_object(w);
		json_key(w, keys[i].name);
		json_begin_array(w);
		json_end_array(w);
		json_end_object(w);
	}
	for (const char *at = route->scope; at && *at; at += strspn(at, " ")) {
		const size_t len = strcspn(at, " ");

		json_begin_object(w);
		json_key(w, "token");
		json_begin_array(w);
		json_string_n(w, at, len);
		json_end_array(w);
		json_end_object(w);
		at += len;
	}
	json_end_array(w);
}

static void write_method(void *of, const struct route *route)
{
	struct writing *writing = of;
	char method[16] = "";

	if (strcmp(route->pattern, writing->pattern) != 0)
		return;
	for (size_t i = 0; i < sizeof(method) - 1 && route->method[i]; i++)
		method[i] = (char)tolower((unsigned char)route->method[i]);
	json_key(&writing->w, method);
	json_begin_object(&writing->w);
	json_key_string(&writing->w, "summary", route->summary);
	write_parameters(route, &writing->w);
	write_body(route, &writing->w);
	write_security(route, &writing->w);
	json_key(&writing->w, "responses");
	json_begin_object(&writing->w);
	json_key(&writing->w, "default");
	json_begin_object(&writing->w);
	json_key_string(&writing->w, "description", "the answer, or {code, message}");
	json_end_object(&writing->w);
	json_end_object(&writing->w);
	json_end_object(&writing->w);
}

struct first {
	const struct route *route;
	bool earlier; /* a row before it has the same pattern */
	bool over;
};

static void look_for_earlier(void *of, const struct route *route)
{
	struct first *first = of;

	first->over = first->over || route == first->route;
	first->earlier =
	    first->earlier || (!first->over && strcmp(route->pattern, first->route->pattern) == 0);
}

static void write_path(void *of, const struct route *route)
{
	struct writing *writing = of;
	struct first first = { .route = route };

	route_each(writing->families, look_for_earlier, &first);
	if (first.earlier)
		return;
	writing->pattern = route->pattern;
	json_key(&writing->w, route->pattern);
	json_begin_object(&writing->w);
	route_each(writing->families, write_method, writing);
	json_end_object(&writing->w);
}

static void write_key(struct json_writer *w, const char *name, const char *header, const char *description)
{
	json_key(w, name);
	json_begin_object(w);
	json_key_string(w, "type", "apiKey");
	json_key_string(w, "in", "header");
	json_key_string(w, "name", header);
	json_key_string(w, "description", description);
	json_end_object(w);
}

char *openapi_json(const struct route *const *families)
{
	struct writing writing = { .families = families };
	struct json_writer *w = &writing.w;

	json_begin_object(w);
	json_key_string(w, "openapi", "3.1.0");
	json_key(w, "info");
	json_begin_object(w);
	json_key_string(w, "title", "Warder execution host");
	json_key_string(w, "version", warder_version());
	json_end_object(w);
	json_key(w, "paths");
	json_begin_object(w);
	route_each(families, write_path, &writing);
	json_end_object(w);
	json_key(w, "components");
	json_begin_object(w);
	json_key(w, "securitySchemes");
	json_begin_object(w);
	write_key(w, "token", "X-API-Key",
		  "token of a tenant; at a Unix socket, the user of a tenant that has a uid needs none");
	write_key(w, "accessToken", "X-Access-Token", "access token of the sandbox");
	write_key(w, "trafficToken", "E2b-Traffic-Access-Token", "traffic token of the sandbox");
	json_end_object(w);
	json_end_object(w);
	json_end_object(w);
	return json_take(w);
}
