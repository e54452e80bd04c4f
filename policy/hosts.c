/*
 * hosts: lists of names that a row of network.allow or network.deny may stand for, such as "@pypi".
 *
 * A list holds what the usual client of a service connects to with its defaults, and nothing else: no upload, no
 * website. Each name has the ports that the client uses. A redirect to a name that is not listed here is refused
 * like any other name, so a list that lacks a name shows in the refusals of a run.
 */
#include <string.h>

#include "policy/names.h"
#include "policy/values.h"

#define HTTPS { 443 }, 1

static const struct policy_listed_host {
	const char *host;
	uint16_t ports[3];
	size_t port_count;
} /* Simple index and downloads: packaging.python.org, "PyPI's use of a content delivery network". */
    pypi[] = {
	    { "pypi.org", HTTPS },
	    { "files.pythonhosted.org", HTTPS },
    },
    /* The default of the npm setting "registry" (docs.npmjs.com); packages come from the same name. */
    npm[] = {
	    { "registry.npmjs.org", HTTPS },
    },
    /* The sparse index and its "dl" (doc.rust-lang.org/cargo/reference/registries.html, index.crates.io/config.json). */
    crates[] = {
	    { "index.crates.io", HTTPS },
	    { "static.crates.io", HTTPS },
	    { "crates.io", HTTPS },
    },
    /* sources.list of a fresh installation (www.debian.org/releases/stable/errata, deb.debian.org). */
    debian[] = {
	    { "deb.debian.org", { 80, 443 }, 2 },
	    { "security.debian.org", { 80, 443 }, 2 },
    },
    /* Clones over https and ssh, the API, archives, raw files, releases and large files
     * (docs.github.com, "About GitHub's IP addresses"; api.github.com/meta, "domains"). */
    github[] = {
	    { "github.com", { 22, 80, 443 }, 3 },
	    { "ssh.github.com", HTTPS },
	    { "api.github.com", HTTPS },
	    { "codeload.github.com", HTTPS },
	    { "raw.githubusercontent.com", HTTPS },
	    { "objects.githubusercontent.com", HTTPS },
	    { "release-assets.githubusercontent.com", HTTPS },
	    { "github-cloud.githubusercontent.com", HTTPS },
    };

#define LIST(name, array)                                                                                    \
	{                                                                                                    \
		name, array, sizeof(array) / sizeof((array)[0])                                              \
	}

static const struct list {
	const char *name;
	const struct policy_listed_host *hosts;
	size_t count;
} lists[] = {
	LIST("@pypi", pypi),     LIST("@npm", npm),       LIST("@crates", crates),
	LIST("@debian", debian), LIST("@github", github),
};

#define LIST_COUNT (sizeof(lists) / sizeof(lists[0]))

const char *const policy_host_lists[] = { "@pypi", "@npm", "@crates", "@debian", "@github", NULL };

_Static_assert(sizeof(policy_host_lists) / sizeof(policy_host_lists[0]) == LIST_COUNT + 1,
	       "the names of all lists");

static const struct list *list_of(const char *name)
{
	for (size_t i = 0; i < LIST_COUNT; i++) {
		if (strcmp(lists[i].name, name) == 0)
			return &lists[i];
	}
	return NULL;
}

size_t policy_rule_count(const struct policy_endpoint *row)
{
	const struct list *list = row->host ? list_of(row->host) : NULL;

	return list ? list->count : 1;
}

struct policy_rule policy_rule_at(const struct policy_endpoint *row, size_t i)
{
	const struct list *list = row->host ? list_of(row->host) : NULL;
	struct policy_rule rule = { row->host, row->cidr, row->ports, row->port_count };

	if (!list)
		return rule;
	rule.host = list->hosts[i].host;
	if (row->port_count == 0) {
		rule.ports = list->hosts[i].ports;
		rule.port_count = list->hosts[i].port_count;
	}
	return rule;
}
