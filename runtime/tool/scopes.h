/*
 * scopes: what a caller was granted, as names, and what a policy needs of them.
 *
 *   code:execute                run code, in any language
 *   code:execute:LANGUAGE       run code in that language (its canonical name)
 *   code:execute:host           the caller's whole environment may be let in (environment.mode host)
 *   code:execute:container      a backend that makes containers may run it (crun, runc, podman, docker)
 *   code:network                the network may be reached (network.mode allow, host)
 *   code:filesystem:write       directories of the host may be written to (a read-write workspace or path)
 *
 * Scopes only narrow: they make nothing of a policy wider. Names outside of "code:" are other services' and mean nothing here;
 * unknown ones inside are refused, so that a slip of the pen is seen.
 *
 * Life: zeroed is "nothing is granted"; SCOPES_ALL is everything -> scopes_add() -> scopes_check(). Pure; any thread.
 */
#ifndef WARDER_RUNTIME_TOOL_SCOPES_H
#define WARDER_RUNTIME_TOOL_SCOPES_H

#include <stddef.h>

#include "base/error.h"
#include "policy/policy.h"

#define SCOPES_MAX_LANGUAGES 64

enum scope {
	SCOPE_EXECUTE = 1,
	SCOPE_HOST = 2,
	SCOPE_NETWORK = 4,
	SCOPE_WRITE = 8,
	SCOPE_CONTAINER = 16,
};

struct scopes {
	unsigned granted; /* enum scope */
	char languages[SCOPES_MAX_LANGUAGES][32];
	size_t language_count;
};

#define SCOPES_ALL                                                                                           \
	((struct scopes){ .granted =                                                                         \
			      SCOPE_EXECUTE | SCOPE_HOST | SCOPE_NETWORK | SCOPE_WRITE | SCOPE_CONTAINER })

/* Grant one by its name. -1 with *err (INVALID_REQUEST) quoting it. */
int scopes_add(struct scopes *scopes, const char *name, struct warder_error *err);
/* Name and bit of row i; NULL past the end. */
const char *scopes_at(size_t i, enum scope *ret);
/* Grant each of a list, separated by commas or blanks. */
int scopes_add_list(struct scopes *scopes, const char *list, struct warder_error *err);
/* Whether code in the language (canonical name; NULL: not known yet) may run under the policy, by a backend of that isolation. -1 with *err (REJECTED), whose
 * field is that of the policy, or "scopes" where nothing may run; the text names the scope that is missing. */
int scopes_check(const struct scopes *scopes, const char *language, const struct policy *policy,
		 enum policy_isolation isolation, struct warder_error *err);

#endif
