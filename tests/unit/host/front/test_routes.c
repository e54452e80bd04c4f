/* routes: which row a request finds. */
#include "base/array.h"
#include "host/front/front.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static void free_args(char *args[FRONT_ARGS_MAX])
{
	for (size_t i = 0; i < FRONT_ARGS_MAX; i++) {
		free(args[i]);
		args[i] = NULL;
	}
}

Test(routes, found_by_method_and_path, .timeout = 20)
{
	static const struct {
		const char *method, *path, *pattern;
		bool other; /* method has a row */
		const char *first, *second;
	} rows[] = {
		{ "GET", "/health", "/health", false, NULL, NULL },
		{ "PUT", "/health", NULL, true, NULL, NULL },
		{ "GET", "/health/", NULL, false, NULL, NULL },
		{ "GET", "/healt", NULL, false, NULL, NULL },
		{ "GET", "/v1/sandboxes", "/v1/sandboxes", false, NULL, NULL },
		{ "GET", "/v1/sandboxes/", NULL, false, NULL, NULL },
		{ "DELETE", "/v1/sandboxes/abc", "/v1/sandboxes/{id}", false, "abc", NULL },
		{ "GET", "/v1/sandboxes/abc/executions/ef", "/v1/sandboxes/{id}/executions/{execution}",
		  false, "abc", "ef" },
		{ "GET", "/v1/sandboxes//executions", NULL, false, NULL, NULL },
		{ "POST", "/v2/sandboxes", "/v2/sandboxes", false, NULL, NULL },
		{ "GET", "", NULL, false, NULL, NULL },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		char *args[FRONT_ARGS_MAX] = { NULL };
		bool other;
		const struct route *route =
		    route_find(routes_all, rows[i].method, rows[i].path, args, &other);

		cr_expect_eq(route != NULL, rows[i].pattern != NULL, "row %zu", i);
		if (!route) {
			cr_expect_eq(other, rows[i].other, "row %zu", i);
			continue;
		}
		cr_expect_str_eq(route->pattern, rows[i].pattern, "row %zu", i);
		cr_expect_eq(args[0] != NULL, rows[i].first != NULL, "row %zu", i);
		cr_expect(!rows[i].first || strcmp(args[0], rows[i].first) == 0, "row %zu", i);
		cr_expect(!rows[i].second || strcmp(args[1], rows[i].second) == 0, "row %zu", i);
		free_args(args);
	}
}

/* One or several, with a blank between them. */
static bool are_scopes(const char *text)
{
	static const char *const scopes[] = { "read", "sandboxes", "run", "metrics" };
	size_t i, len = 0;

	for (; *text; text += len + (text[len] == ' ' && text[len + 1])) {
		len = strcspn(text, " ");
		for (i = 0; i < ARRAY_LENGTH(scopes); i++)
			if (strlen(scopes[i]) == len && memcmp(scopes[i], text, len) == 0)
				break;
		if (i == ARRAY_LENGTH(scopes))
			return false;
	}
	return len > 0;
}

static void check_row(void *count, const struct route *route)
{
	cr_expect(!route->scope || are_scopes(route->scope), "%s %s", route->method, route->pattern);
	cr_expect(route->scope || (route->flags & (ROUTE_OPEN | ROUTE_SANDBOX | ROUTE_TRAFFIC)),
		  "%s %s needs a key", route->method, route->pattern);
	cr_expect(route->handle && route->summary && route->pattern[0] == '/', "%s", route->pattern);
	++*(size_t *)count;
}

Test(routes, each_row_is_whole, .timeout = 20)
{
	size_t count = 0;

	route_each(routes_all, check_row, &count);
	cr_expect_gt(count, 20);
}
