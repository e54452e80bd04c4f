/*
 * result: what warder_wait() hands out, as the rest of runtime/ sees it. Private to runtime/.
 *
 * Filled by library.c, read through the public warder_result_* functions and by the command line, which
 * tells people which limit ended a program.
 */
#ifndef WARDER_RUNTIME_RESULT_H
#define WARDER_RUNTIME_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "jail/jail.h"
#include "policy/policy.h"
#include "runtime/warder.h"

struct warder_result {
	struct jail_outcome outcome; /* owned */
	struct policy_receipt receipt;
	bool streamed;       /* the output was handed on as it came, and is not in the outcome */
	uint64_t passed[2];  /* bytes so handed on and taken, by enum warder_stream */
	uint32_t uid, gid;   /* inside */
	uint64_t prepare_us; /* the whole of warder_prepare(), probe and match included */
};

/* "SIGKILL", "SIG35"; "" for 0. Returns buf, of at least 16 bytes. */
char *result_signal_name(int signal, char *buf, size_t len);

/* {"status":"rejected","error":{kind, field, step, message}} for a run that did not start; heap, NULL on want of
 * memory. */
char *result_error_json(const struct warder_error *err);

/* The receipt alone, pretty; heap, NULL on want of memory. */
char *result_receipt_json(const struct warder_result *result);

#endif
