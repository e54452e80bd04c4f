/*
 * grant: the policy that a request to run something gets. Private to host/launcher/ and fleet/.
 *
 * Pure; any thread.
 */
#ifndef WARDER_HOST_LAUNCHER_GRANT_H
#define WARDER_HOST_LAUNCHER_GRANT_H

#include "base/json.h"
#include "host/launcher/settings.h"
#include "host/launcher/tenants.h"

/* The most that a request of the tenant may have: the tenant's ceiling, that of the settings, or the template itself. NULL with *err: there is no
 * such template. */
const struct warder_policy *grant_ceiling(const struct settings *settings, const struct tenant *tenant,
					  const char *name, struct warder_error *err);
/* "policy" of the document, or the template `name`, within the ceiling, and with the variables of "env". -1 with *err: REJECTED if the ceiling does
 * not grant it. */
int grant_policy(const struct settings *settings, const struct tenant *tenant, const char *name,
		 const struct json_value *document, struct warder_policy **ret, struct warder_error *err);

#endif
