/*
 * warder.h as a user includes it: alone.
 */
#include "base/array.h"
#include "runtime/warder.h"

#include <criterion/criterion.h>

_Static_assert(sizeof(struct warder_error) == 512 && offsetof(struct warder_error, sys_errno) == 4 &&
		   offsetof(struct warder_error, step) == 8 && offsetof(struct warder_error, field) == 40 &&
		   offsetof(struct warder_error, text) == 112,
	       "struct warder_error is part of the binary interface");

Test(header, kinds_have_the_librarys_values, .timeout = 20)
{
	static const struct {
		enum warder_error_kind kind;
		const char *name;
	} rows[] = {
		{ WARDER_ERROR_NONE, "none" },
		{ WARDER_ERROR_UNSUPPORTED_POLICY, "unsupportedPolicy" },
		{ WARDER_ERROR_UNSUPPORTED_LANGUAGE, "unsupportedLanguage" },
		{ WARDER_ERROR_INVALID_REQUEST, "invalidRequest" },
		{ WARDER_ERROR_COMPILE_FAILED, "compileFailed" },
		{ WARDER_ERROR_TIMEOUT, "timeout" },
		{ WARDER_ERROR_EXECUTION_FAILED, "executionFailed" },
		{ WARDER_ERROR_REJECTED, "rejected" },
		{ WARDER_ERROR_NOT_FOUND, "notFound" },
		{ WARDER_ERROR_CONFLICT, "conflict" },
		{ WARDER_ERROR_UNAVAILABLE, "unavailable" },
		{ WARDER_ERROR_INTERNAL, "internal" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		cr_expect_str_eq(warder_error_kind_name(rows[i].kind), rows[i].name);
	cr_expect_str_eq(warder_error_kind_name(12345), "internal");
}
