/* The table of warder-e2b(7) and the table of routes have the same calls, and agree on which are refused. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "host/front/front.h"

static char *manual;
static size_t e2b_rows;

/* Whether the manual has a line that begins so. */
static bool has_line(const char *text)
{
	char line[300];

	snprintf(line, sizeof(line), "\n%s", text);
	return strstr(manual, line) != NULL;
}

static void look_up(void *context, const struct route *route)
{
	const bool refused = strcmp(route->summary, "E2B: refused") == 0;
	char row[200];

	if (strncmp(route->summary, "E2B: ", 5) != 0)
		return;
	e2b_rows++;
	snprintf(row, sizeof(row), ".It %s %s Ta %s%s", route->method, route->pattern,
		 refused ? "refused Ta status 501" : "works Ta ", refused ? "" : route->summary + 5);
	cr_expect(has_line(row), "warder-e2b.7 has no row \"%s\"", row);
}

Test(e2b_manual, has_the_routes, .timeout = 20)
{
	struct warder_error err;
	size_t len = 0, rows = 0;

	cr_assert_eq(file_read("docs/warder-e2b.7", &manual, &len, &err), 0, "%s", err.text);
	route_each(routes_all, look_up, NULL);
	for (const char *at = manual; (at = strstr(at, "\n.It ")); at++)
		rows += at[5] == 'G' || at[5] == 'P' || at[5] == 'D';
	/* GET /health belongs to both APIs. */
	cr_expect_eq(rows, e2b_rows + 1, "%zu rows, and %zu routes of E2B", rows, e2b_rows);
	cr_expect_gt(e2b_rows, 40);
	cr_expect(has_line(".It GET /health Ta works"));
	free(manual);
}
