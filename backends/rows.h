/*
 * rows: the functions that the rows of the table of backends name. Private to backends/.
 */
#ifndef WARDER_BACKENDS_ROWS_H
#define WARDER_BACKENDS_ROWS_H

#include "backends/backend.h"

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
struct container_monitor_task;
/* Path of a program that nobody but root can have put there; false: there is none. */
bool container_program(const char *name, char *path, size_t size);
/* As jail_starter's start() and stop(), with the mounts of the task's layout, which are opened for it. */
int container_start(struct container_monitor_task *task, void **ret_started, int *ret_init_pid,
		    int *ret_init_fd, struct warder_error *err);
int container_stop(void *started, bool stuck, int *ret_fd, struct warder_error *err);
/* wasm.c */
void wasm_capabilities(const struct backend *backend, const struct jail_host *host,
		       const struct policy *policy, struct policy_capabilities *ret);
int wasm_check(const struct backend *backend, const struct jail_host *host, const struct policy *policy,
	       struct warder_error *err);
int wasm_shape(const struct backend *backend, const struct jail_host *host, struct jail_plan *plan,
	       struct warder_error *err);
/* builtin.c */
void builtin_capabilities(const struct backend *backend, const struct jail_host *host,
			  const struct policy *policy, struct policy_capabilities *ret);
int builtin_check(const struct backend *backend, const struct jail_host *host, const struct policy *policy,
		  struct warder_error *err);
char *builtin_declare(const struct backend *backend, const struct backend_model_request *request,
		      struct warder_error *err);
/* engine.c */
void engine_capabilities(const struct backend *backend, const struct jail_host *host,
			 const struct policy *policy, struct policy_capabilities *ret);
int engine_check(const struct backend *backend, const struct jail_host *host, const struct policy *policy,
		 struct warder_error *err);
int engine_shape(const struct backend *backend, const struct jail_host *host, struct jail_plan *plan,
		 struct warder_error *err);

#endif
