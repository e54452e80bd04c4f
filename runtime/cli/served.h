/*
 * served: runs by the service of `warder serve --local`, if one is there and may. Private to cli/.
 *
 * The caller tries this first. If the answer is 1, nothing has run, and the caller starts the jail itself.
 */
#ifndef WARDER_RUNTIME_CLI_SERVED_H
#define WARDER_RUNTIME_CLI_SERVED_H

#include "runtime/cli/flags.h"
#include "runtime/service/service.h"

/* `own`: why only this process can do it, or NULL. The command's gives_up is set here. 0 with *ret, the caller's; 1; -1 with *err: no memory. */
int served_run(const struct args *args, const char *own, const struct service_command *command,
	       struct warder_result **ret, struct warder_error *err);
/* A call of a program that code_is_prepared() says is not prepared. The result is that of warder_call(). */
int served_call(const struct args *args, const struct warder_options *options, struct warder_program *program,
		const struct warder_call *call, struct warder_result **ret, struct warder_error *err);
/* Of the last run: "yes", "no: ...", or NULL if no service was there. It changes with the next run. */
const char *served_word(void);

#endif
