/*
 * error: one fixed-size error value that travels up the call stack.
 *
 * Life: declared on the caller's stack (zeroed or not), filled once where the failure is seen
 * (error_set*), given context on the way up (error_context), printed once by runtime/.
 * It owns no memory, is copied by '=', and is safe to build between fork and exec.
 * Any thread may use its own; there is no global state.
 */
#ifndef WARDER_BASE_ERROR_H
#define WARDER_BASE_ERROR_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Closed set of error kinds: X(id, name in JSON and on the command line, exit status, sentence).
 * A kind says what a caller may do about it; the text says what happened.
 */
#define WARDER_ERROR_KINDS(X)                                                                                \
	X(UNSUPPORTED_POLICY, "unsupportedPolicy", 125, "this host cannot enforce the policy")               \
	X(UNSUPPORTED_LANGUAGE, "unsupportedLanguage", 125, "the language is not available")                 \
	X(INVALID_REQUEST, "invalidRequest", 125, "the request is not valid")                                \
	X(COMPILE_FAILED, "compileFailed", 125, "the code does not compile")                                 \
	X(TIMEOUT, "timeout", 124, "the time is used up")                                                    \
	X(EXECUTION_FAILED, "executionFailed", 126, "the program could not be started")                      \
	X(REJECTED, "rejected", 125, "the request is not allowed")                                           \
	X(NOT_FOUND, "notFound", 127, "there is no such thing")                                              \
	X(CONFLICT, "conflict", 125, "somebody else holds it")                                               \
	X(UNAVAILABLE, "unavailable", 125, "the host lacks something")                                       \
	X(INTERNAL, "internal", 125, "an error of Warder's own")

enum warder_error_kind {
	WARDER_ERROR_NONE = 0,
#define X(id, name, exit_status, sentence) WARDER_ERROR_##id,
	WARDER_ERROR_KINDS(X)
#undef X
};

struct warder_error {
	uint32_t code;     /* enum warder_error_kind */
	int32_t sys_errno; /* errno of the call that failed, or 0 */
	char step[32];     /* launch step that failed ("cgroup", "root", ...), or "" */
	char field[72];    /* policy field, flag or file the error is about, or "" */
	char text[400];    /* what happened and what to do; one line, no newline at the end */
};

/* Stable name of a kind ("unsupportedPolicy"), "none" for 0; never NULL. */
const char *error_kind_name(uint32_t code);

/* Exit status of the command line for a kind; 0 for WARDER_ERROR_NONE. */
int error_exit_status(uint32_t code);

/* Fill *err. `field` may be NULL. Over-long text is cut. Returns -1, so that it can be returned. */
int error_set(struct warder_error *err, enum warder_error_kind code, const char *field, const char *format,
	      ...) __attribute__((format(printf, 4, 5)));

/* As error_set, with sys_errno and ": <strerror>" appended to the text. Returns -1. */
int error_set_errno(struct warder_error *err, enum warder_error_kind code, const char *field, int sys_errno,
		    const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Put "context: " before the text. Returns -1. */
int error_context(struct warder_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* An analyzer sees one file at a time: so that it knows what they return. */
#if defined(WARDER_ANALYZED) && !defined(WARDER_BASE_ERROR_C)
#define error_set(...)       (error_set(__VA_ARGS__), -1)
#define error_set_errno(...) (error_set_errno(__VA_ARGS__), -1)
#define error_context(...)   (error_context(__VA_ARGS__), -1)
#endif

#endif
