/*
 * code_remote: `warder code` on another machine. Private to cli/.
 *
 * Life: code_remote_check_flags() before anything is read -> code_remote().
 */
#ifndef WARDER_RUNTIME_CLI_CODE_REMOTE_H
#define WARDER_RUNTIME_CLI_CODE_REMOTE_H

#include "runtime/cli/report.h"

struct code_remote_call {
	const struct warder_code *code;
	char *const *argv; /* NULL-terminated */
	const char *json;  /* value of --input; or NULL */
	size_t json_len;
	int input_fd; /* -1: none */
};

/* Refuse the flags that need this machine. -1 with *err, which names the flag. */
int code_remote_check_flags(const struct args *args, struct warder_error *err);
/* Send the code to the host that --backend names, and report the end. Returns the exit status. */
int code_remote(struct report *report, const struct code_remote_call *call);

#endif
