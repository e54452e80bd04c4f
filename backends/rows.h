/*
 * rows: what the backends share when they say what they can enforce, and the rows themselves. Private to backends/.
 */
#ifndef WARDER_BACKENDS_ROWS_H
#define WARDER_BACKENDS_ROWS_H

#include "backends/backend.h"

void backend_enforced(struct policy_capabilities *to, enum policy_control control, const char *mechanism);
void backend_refused(struct policy_capabilities *to, enum policy_control control, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* local.c */
void local_capabilities(const struct backend *backend, const struct jail_host *host,
			const struct policy *policy, struct policy_capabilities *ret);
int local_check(const struct backend *backend, const struct jail_host *host, const struct policy *policy,
		struct warder_error *err);
int local_shape(const struct backend *backend, const struct jail_host *host, struct jail_plan *plan,
		struct warder_error *err);
extern const struct backend_sessions local_sessions;
/* process.c */
void process_capabilities(const struct backend *backend, const struct jail_host *host,
			  const struct policy *policy, struct policy_capabilities *ret);
int process_check(const struct backend *backend, const struct jail_host *host, const struct policy *policy,
		  struct warder_error *err);
int process_shape(const struct backend *backend, const struct jail_host *host, struct jail_plan *plan,
		  struct warder_error *err);
/* container.c */
void container_capabilities(const struct backend *backend, const struct jail_host *host,
			    const struct policy *policy, struct policy_capabilities *ret);
int container_check(const struct backend *backend, const struct jail_host *host, const struct policy *policy,
		    struct warder_error *err);
int container_shape(const struct backend *backend, const struct jail_host *host, struct jail_plan *plan,
		    struct warder_error *err);
/* absent.c: engines that this version does not drive */
void absent_capabilities(const struct backend *backend, const struct jail_host *host,
			 const struct policy *policy, struct policy_capabilities *ret);
int absent_check(const struct backend *backend, const struct jail_host *host, const struct policy *policy,
		 struct warder_error *err);

#endif
