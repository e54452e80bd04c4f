/*
 * settings: the file of --config, and what holds without one. Private to host/launcher/.
 *
 *   {"version": 1, "hosts": ["sandbox.example.org"], "templates": {"base": POLICY}, "ceiling": POLICY,
 *    "limits": {"connections": 1024}}
 *
 * A template is the policy of a sandbox, by the name that a client asks for. The templates "base" and "code-interpreter-v1" are always there.
 * The ceiling is the most that a sandbox may have whose tenant has no ceiling; without it, that is the template itself.
 */
#ifndef WARDER_HOST_LAUNCHER_SETTINGS_H
#define WARDER_HOST_LAUNCHER_SETTINGS_H

#include <stddef.h>

#include "base/error.h"
#include "host/link.h"
#include "runtime/warder.h"

#define SETTINGS_HOSTS_MAX 32

struct settings_template {
	char *name;
	struct warder_policy *policy;
};

struct settings_limits {
	struct link_limits surface;
	uint64_t front_memory_bytes; /* of the front's jail */
};

struct settings {
	char *hosts[SETTINGS_HOSTS_MAX]; /* values of the Host header besides the address */
	size_t host_count;
	struct settings_template *templates;
	size_t template_count;
	struct warder_policy *ceiling; /* or NULL */
	struct settings_limits limits;
};

/* path: or NULL. -1 with *err naming --config and the member. */
int settings_load(const char *path, struct settings *ret, struct warder_error *err);
/* Policy of the template, or NULL. */
const struct warder_policy *settings_template(const struct settings *settings, const char *name);
void settings_done(struct settings *settings);

#endif
