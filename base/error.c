#define WARDER_BASE_ERROR_C
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	int exit_status;
} kinds[] = { [WARDER_ERROR_NONE] = { "none", 0 },
#define X(id, name, exit_status, sentence) [WARDER_ERROR_##id] = { name, exit_status },
	      WARDER_ERROR_KINDS(X)
#undef X
};

const char *error_kind_name(uint32_t code)
{
	if (code >= sizeof(kinds) / sizeof(kinds[0]))
		code = WARDER_ERROR_INTERNAL;
	return kinds[code].name;
}

int error_exit_status(uint32_t code)
{
	if (code >= sizeof(kinds) / sizeof(kinds[0]))
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

int error_set_errno(struct warder_error *err, enum warder_error_kind code, const char *field, int sys_errno,
		    const char *format, ...)
{
	va_list args;
	size_t used;

	va_start(args, format);
	fill(err, code, field, sys_errno, format, args);
	va_end(args);
	used = strlen(err->text);
	snprintf(err->text + used, sizeof(err->text) - used, ": %s", strerror(sys_errno));
	return -1;
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
