/*
 * error: one fixed-size error value that travels up the call stack.
 *
 * Life: declared on the caller's stack (zeroed or not), filled once where the failure is seen
 * (error_set*), given context on the way up (error_context), printed once by runtime/.
 * struct warder_error and its kinds are public: runtime/warder.h defines them, for everyone.
 * It owns no memory, is copied by '=', and is safe to build between fork and exec.
 * Any thread may use its own; there is no global state.
 */
#ifndef WARDER_BASE_ERROR_H
#define WARDER_BASE_ERROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <warder.h>

/* Stable name of a kind ("unsupportedPolicy"), "none" for 0; never NULL. */
const char *error_kind_name(uint32_t code);

/* Exit status of the command line for a kind; 0 for WARDER_ERROR_NONE. */
int error_exit_status(uint32_t code);

/* Fill *err. `field` may be NULL. Over-long text is cut. Returns -1, so that it can be returned. */
int error_set(struct warder_error *err, enum warder_error_kind code, const char *field, const char *format,
	      ...) __attribute__((format(printf, 4, 5)));

/* What an errno says, as strerror(3) does; a number of the kernel's own is printed, with the remedy where one is known. Returns a
 * constant, or buf (64 bytes are enough). */
const char *error_errno_text(int sys_errno, char *buf, size_t size);

/* As error_set, with sys_errno and ": <error_errno_text>" appended to the text. Returns -1. */
int error_set_errno(struct warder_error *err, enum warder_error_kind code, const char *field, int sys_errno,
		    const char *format, ...) __attribute__((format(printf, 5, 6)));

/* There is no memory left (INTERNAL). `field` may be NULL. Returns -1. */
int error_no_memory(struct warder_error *err, const char *field);

/* An argument of a public function is NULL that may not be (INVALID_REQUEST). Returns -1. */
int error_no_argument(struct warder_error *err, const char *name);

/* Put "context: " before the text. Returns -1. */
int error_context(struct warder_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* An analyzer sees one file at a time: so that it knows what they return. */
#if defined(WARDER_ANALYZED) && !defined(WARDER_BASE_ERROR_C)
#define error_set(...)         (error_set(__VA_ARGS__), -1)
#define error_set_errno(...)   (error_set_errno(__VA_ARGS__), -1)
#define error_context(...)     (error_context(__VA_ARGS__), -1)
#define error_no_memory(...)   (error_no_memory(__VA_ARGS__), -1)
#define error_no_argument(...) (error_no_argument(__VA_ARGS__), -1)
#endif

#endif
