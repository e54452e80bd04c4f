/*
 * result: what warder_wait() hands out, as the rest of runtime/ sees it. Private to runtime/.
 *
 * Filled by library.c, read through the public warder_result_* functions and by the command line, which
 * tells people which limit ended a program.
 */
#ifndef WARDER_RUNTIME_LIBRARY_RESULT_H
#define WARDER_RUNTIME_LIBRARY_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "backends/backend.h"
#include "base/error.h"
#include "base/json.h"
#include "jail/jail.h"
#include "policy/policy.h"
#include "runtime/library/functions.h"
#include "runtime/library/learned.h"
#include "runtime/warder.h"

/* Where something of a run is kept that its result has no room for. */
struct result_reference {
	char *artifact; /* owned; what the store says of it, a JSON object; NULL: it is not kept */
	bool truncated; /* it is the beginning alone */
	char *fault;    /* owned; why it is not kept, or not whole; or NULL */
};

/* A stage of a piece of code: check, build or run. */
struct result_stage {
	const char *name; /* "check", "build", "run" */
	const char
	    *status; /* "success", "failed", "timeout", "killed"; "cached": an earlier build was used */
	uint64_t wall_us, cpu_us;       /* UINT64_MAX: not known */
	uint64_t memory_peak_bytes;     /* the same */
	struct policy_receipt *receipt; /* owned; NULL for what was not run */
};

#define RESULT_STAGES_MAX 3

/* What a piece of code adds to a run. */
struct result_code {
	char *language;       /* canonical */
	const char *found_by; /* "hint", "fileName", ...: how the language was found out */
	struct result_stage stages[RESULT_STAGES_MAX];
	size_t stage_count;
	bool build_failed; /* the last stage is not the code's own run, and did not succeed */
	char *diagnostics; /* JSON array; NULL: no stage of a compiler ran, and the run was no syntax error */
	bool
	    diagnostics_of_run; /* they were read from the run's own standard error, which the code could have written */
	size_t diagnostics_dropped, diagnostics_unreadable;
	char *scan;             /* advice, JSON; NULL: none was asked for */
	char *output;           /* structured output, JSON; NULL: none */
	char trap[160];         /* "", or the trap that ended a guest module */
	char output_fault[200]; /* "" or why there is none although something was written */
	char *saved_to;         /* directory of the files that were saved, as the caller named it; or NULL */
};

struct warder_result {
	struct result_code *code;               /* owned; NULL: a program, not a piece of code */
	struct jail_outcome outcome;            /* owned */
	struct learned *learned;                /* owned; NULL unless network.mode was "learn" */
	struct functions_count *functions;      /* owned; NULL: the program could call none */
	const char *session_end;                /* how the session ended under it; or NULL */
	const char *backend;                    /* its name */
	char passed_over[BACKEND_PASSED_BYTES]; /* by auto, and why; or "" */
	bool logged;             /* a file got all output, as the spilled bytes of the outcome */
	bool streamed;           /* the output was handed on as it came, and is not in the outcome */
	bool nobody;             /* the identity is not known */
	bool unmeasured;         /* its supervisor has reported nothing: the outcome has only the end */
	uint64_t passed[2];      /* bytes so handed on and taken, by enum warder_stream */
	uint32_t uid, gid;       /* inside */
	uint64_t started_ms;     /* since the epoch */
	uint64_t prepare_us;     /* the whole of warder_prepare(), probe and match included */
	struct changes *changes; /* owned; NULL: none were asked for */
	char *changes_kept;      /* directory of the set; or NULL */
	const char
	    *config; /* JSON: the file of defaults of the command line; NULL: none. Who sets it owns it */
	const char *
	    service; /* the same: a text, whether the service of `warder serve` ran it; NULL: there is none */
	char *reported_network; /* owned: JSON, the member "network" of a run on another machine; or NULL */
	char *document;         /* owned: JSON, where the keeper of a session has written it; or NULL */
	const char *audit;      /* the same: JSON, whether the run's line is in the audit file */
	struct result_reference streams[2];  /* by enum warder_stream */
	struct result_reference *references; /* owned; of each collected file; NULL: of none */
	struct policy_receipt receipt;       /* last: result_new() does not touch its rows */
};

/* An empty one; NULL: no memory. */
struct warder_result *result_new(void);

/* {"status":"rejected","error":{kind, field, step, message, violations}} for a run that did not start; heap, NULL on want of
 * memory. violations: a JSON array of what a policy asks beyond a ceiling, or NULL: the member is left out. */
char *result_error_json(const struct warder_error *err, const char *violations);
/* A member with a time of RFC 3339, or null for 0. */
void result_write_time(struct json_writer *w, const char *key, uint64_t started_ms);
/* The member "network": what the edge passed and refused, and what was learned; nothing without an edge. */
void result_write_network(struct json_writer *w, const struct warder_result *result);
/* The member "identity": the jail's user. */
void result_write_identity(struct json_writer *w, const struct warder_result *result);
/* A member that is null where it is UINT64_MAX: not known. */
void result_write_known(struct json_writer *w, const char *key, uint64_t value);
/* The member "error" of it, into the object that is open. */
void result_write_error(const struct warder_error *err, const char *violations, struct json_writer *w);

/* ---- result_value.c ---- */

#define RESULT_VALUE_DEPTH  64
#define RESULT_ENDING_BYTES 512 /* what the host of wasi.h says takes no more */

/* How a piece of code hands over a value. */
struct result_value_rules {
	bool is_engine; /* it is a module, and its host says first how it ended */
	bool
	    last_line; /* without anything on descriptor 3, the last line of the output counts, if it is JSON */
	uint64_t bytes; /* most bytes on descriptor 3 */
};
/* Take the value, or why there is none, out of what the run wrote. */
void result_take_value(const struct result_value_rules *rules, struct result_code *code,
		       struct jail_outcome *outcome);

/* The code's own stage is the run that ended; the code becomes the result's. */
void result_add_run(struct warder_result *result, struct result_code *code);

/* End the calls that are open, and put what became of all calls into the result and its receipt. -1 with *err: no memory. */
int result_end_functions(struct warder_result *result, struct functions *functions, struct warder_error *err);
/* The same of a run whose calls another process answered and counted: the receipt says that. */
void result_miss_functions(struct warder_result *result);

/* The members of an audit file's line about this end, into the object that is open. */
void result_write_audit(const struct warder_result *result, struct json_writer *w);

/* ---- result_file.c ---- */

/* A result as a memory file, without its changes and files that are held open. -1 with errno. */
int result_write_file(const struct warder_result *result);
/* Read one that a process of the same program wrote; *ret is zeroed. -1: it is not a result. */
int result_read_file(int fd, struct warder_result *ret);

/* The receipt alone, pretty; heap, NULL on want of memory. */
char *result_receipt_json(const struct warder_result *result);

/* The members "artifact" and "artifactError" into the object that is open, as far as there is something to tell. */
void result_write_reference(const struct result_reference *reference, struct json_writer *w);

/* Accepts NULL. */
void result_code_free(struct result_code *code);

#endif
