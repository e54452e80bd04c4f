/* The table of all routes, family by family. */

#include "host/front/front.h"

const struct route *const routes_all[] = {
	routes_v1, routes_e2b, routes_envd, routes_page, routes_mcp, NULL
};
