#define WARDER_BASE_ERROR_C
#include "base/error.h"
#include "base/array.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NAMED_ERRNO_MAX 133 /* EHWPOISON, the last of them */

/* Names in JSON and exit statuses of the command line. A kind says what a caller may do about it. */
static const struct {
	const char *name;
	int exit_status;
} kinds[] = {
	[WARDER_ERROR_NONE] = { "none", 0 },
	[WARDER_ERROR_UNSUPPORTED_POLICY] = { "unsupportedPolicy", 125 },
	[WARDER_ERROR_UNSUPPORTED_LANGUAGE] = { "unsupportedLanguage", 125 },
	[WARDER_ERROR_INVALID_REQUEST] = { "invalidRequest", 125 },
	[WARDER_ERROR_COMPILE_FAILED] = { "compileFailed", 125 },
	[WARDER_ERROR_TIMEOUT] = { "timeout", 124 },
	[WARDER_ERROR_EXECUTION_FAILED] = { "executionFailed", 126 },
	[WARDER_ERROR_REJECTED] = { "rejected", 125 },
	[WARDER_ERROR_NOT_FOUND] = { "notFound", 127 },
	[WARDER_ERROR_CONFLICT] = { "conflict", 125 },
	[WARDER_ERROR_UNAVAILABLE] = { "unavailable", 125 },
	[WARDER_ERROR_INTERNAL] = { "internal", 125 },
};

const char *error_kind_name(uint32_t code)
{
	if (code >= ARRAY_LENGTH(kinds))
		code = WARDER_ERROR_INTERNAL;
	return kinds[code].name;
}

int error_exit_status(uint32_t code)
{
	if (code >= ARRAY_LENGTH(kinds))
		code = WARDER_ERROR_INTERNAL;
	return kinds[code].exit_status;
}

__attribute__((format(printf, 5, 0))) static void fill(struct warder_error *err, enum warder_error_kind code,
						       const char *field, int sys_errno, const char *format,
						       va_list args)
{
	memset(err, 0, sizeof(*err));
	err->code = code;
	err->sys_errno = sys_errno;
	if (field)
		snprintf(err->field, sizeof(err->field), "%s", field);
	vsnprintf(err->text, sizeof(err->text), format, args);
}

int error_set(struct warder_error *err, enum warder_error_kind code, const char *field, const char *format,
	      ...)
{
	va_list args;

	va_start(args, format);
	fill(err, code, field, 0, format, args);
	va_end(args);
	return -1;
}

const char *error_errno_text(int sys_errno, char *buf, size_t size)
{
	/* What the kernel has, and C does not: a library's answer is "No error information" or "Unknown error". */
	static const struct {
		int number;
		const char *text;
	} rows[] = {
		{ 524, "error 524 (ENOTSUPP): the kernel's memory for BPF programs is used up, or it is "
		       "built without "
		       "what was asked; raise net.core.bpf_jit_limit" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		if (rows[i].number == sys_errno)
			return rows[i].text;
	if (sys_errno <= 0 || sys_errno > NAMED_ERRNO_MAX) {
		snprintf(buf, size, "error %d, which only the kernel knows", sys_errno);
		return buf;
	}
	return strerror(sys_errno);
}

int error_set_errno(struct warder_error *err, enum warder_error_kind code, const char *field, int sys_errno,
		    const char *format, ...)
{
	va_list args;
	size_t used;
	char number[64];

	va_start(args, format);
	fill(err, code, field, sys_errno, format, args);
	va_end(args);
	used = strlen(err->text);
	snprintf(err->text + used, sizeof(err->text) - used, ": %s",
		 error_errno_text(sys_errno, number, sizeof(number)));
	return -1;
}

int error_no_memory(struct warder_error *err, const char *field)
{
	return error_set(err, WARDER_ERROR_INTERNAL, field, "out of memory");
}

int error_no_argument(struct warder_error *err, const char *name)
{
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "the argument `%s` is NULL", name);
}

int error_context(struct warder_error *err, const char *format, ...)
{
	char text[sizeof(err->text)];
	va_list args;
	size_t used;

	memcpy(text, err->text, sizeof(text));
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	used = strlen(err->text);
	snprintf(err->text + used, sizeof(err->text) - used, ": %s", text);
	return -1;
}
