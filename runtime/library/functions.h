/*
 * functions: the functions of the host that a program calls on its descriptor 5. Private to runtime/.
 *
 * Life: functions_open() before the launch -> functions_launched() after it -> functions_serve() from the supervision, whenever
 * functions_fd() is readable -> functions_end(), which ends the calls that are open -> functions_free(). One thread at a time makes these
 * calls; functions_answer() may come from any thread. No call blocks on the program or on what answers
 * it, except that functions_end() and functions_free() wait a fifth of a second for each child that was killed and has not died yet.
 *
 * A call is one line, an object with `id` (a number or a string), `name` and perhaps `arguments` (any value, null if left out). Its answer is one
 * line, {"id", "result"} or {"id", "error": {"kind", "message"}}.
 */
#ifndef WARDER_RUNTIME_LIBRARY_FUNCTIONS_H
#define WARDER_RUNTIME_LIBRARY_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "policy/policy.h"
#include "runtime/warder.h"

#define FUNCTIONS_LINE    65536     /* most bytes of a call, without its newline */
#define FUNCTIONS_ANSWER  (1 << 20) /* most bytes of a result */
#define FUNCTIONS_AT_ONCE 4         /* calls; further ones wait in the socket */
#define FUNCTIONS_TIME_US UINT64_C(30000000)

/* The variable that holds the number of the descriptor. */
#define FUNCTIONS_VARIABLE "WARDER_FUNCTIONS"

struct library_functions {
	const struct warder_function *rows; /* borrowed until functions_open() returns */
	size_t count;                       /* 0: none; then nothing else is looked at */
	void (*on_call)(void *context, uint64_t call, const char *name, const char *arguments);
	void *context;
	uint64_t time_us; /* for an answer; 0: FUNCTIONS_TIME_US */
	bool progress;    /* the program reports its progress, too: refused */
};

/* What became of the calls of a run. */
struct functions_count {
	uint64_t answered, failed, timed_out;
	uint64_t refused; /* of a name that is not granted, or no call at all */
	size_t row_count;
	struct {
		char name[65];
		uint64_t calls;
	} rows[POLICY_MAX_FUNCTIONS];
};

struct functions;

/* -1 with *err (INVALID_REQUEST, field "functions" or "progress"): a name that `policy` does not grant, or a program that cannot be executed. *ret_fd is the
 * program's end, which stays open until functions_launched(). */
int functions_open(const struct library_functions *asked, const struct policy *policy, struct functions **ret,
		   int *ret_fd, struct warder_error *err);
void functions_launched(struct functions *functions);
/* Readable when functions_serve() has something to do. */
int functions_fd(const struct functions *functions);
/* As on_watch of struct jail_command. */
bool functions_serve(void *functions);
/* As warder_run_answer(). */
int functions_answer(struct functions *functions, uint64_t call, const char *result, const char *error,
		     struct warder_error *err);
void functions_end(struct functions *functions, struct functions_count *ret);
/* Accepts NULL. */
void functions_free(struct functions *functions);

/* The member "functions" of a result, into the object that is open. */
void functions_write(const struct functions_count *count, struct json_writer *w);

#endif
