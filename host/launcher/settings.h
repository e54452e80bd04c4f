/*
 * settings: the file of --config, and what holds without one. Private to host/launcher/.
 *
 *   {"version": 1, "hosts": ["sandbox.example.org"], "templates": {"base": POLICY}, "ceiling": POLICY,
 *    "limits": {"connections": 1024}, "domain": "sandbox.example.org", "ports": {"base": [3000]}}
 *
 * A template is the policy of a sandbox, by the name that a client asks for. The templates "base" and "code-interpreter-v1" are always there.
 * The domain gives each sandbox names; the ports of a template are those that clients can reach by them.
 * The ceiling is the most that a sandbox may have whose tenant has no ceiling; without it, that is the template itself.
 */
#ifndef WARDER_HOST_LAUNCHER_SETTINGS_H
#define WARDER_HOST_LAUNCHER_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "host/link.h"
#include "runtime/warder.h"

#define SETTINGS_HOSTS_MAX  32
#define SETTINGS_DOMAIN_MAX 200
#define SETTINGS_PORTS_MAX  64 /* of a template */

struct settings_template {
	char *name;
	struct warder_policy *policy;
	bool any_port;
	uint16_t ports[SETTINGS_PORTS_MAX]; /* that clients can reach */
	size_t port_count;
};

struct settings_limits {
	struct link_limits surface;
	uint64_t front_memory_bytes; /* of the front's jail */
	uint64_t parked_sandboxes;   /* of all tenants, at most */
};

struct settings {
	char *hosts[SETTINGS_HOSTS_MAX]; /* values of the Host header besides the address */
	size_t host_count;
	struct settings_template *templates;
	size_t template_count;
	struct warder_policy *ceiling; /* or NULL */
	struct settings_limits limits;
	char domain[SETTINGS_DOMAIN_MAX + 1]; /* "NAME" or "NAME:PORT", in lower case; "": none */
};

/* path: or NULL. -1 with *err naming --config and the member. */
int settings_load(const char *path, struct settings *ret, struct warder_error *err);
/* Policy of the template, or NULL. */
const struct warder_policy *settings_template(const struct settings *settings, const char *name);
/* Set the domain, as the setting or the flag `field` has it. -1 with *err: it is none. */
int settings_take_domain(struct settings *settings, const char *domain, const char *field,
			 struct warder_error *err);
/* Whether clients can reach the port in sandboxes of the template. */
bool settings_publishes(const struct settings *settings, const char *name, uint64_t port);
void settings_done(struct settings *settings);

#endif
