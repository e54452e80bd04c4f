/*
 * What an errno is called: as C calls it, or, where C has no name for it, by its number.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

Test(error, every_errno_is_told)
{
	static const struct {
		int number;
		const char *part;
	} rows[] = {
		{ ENOENT, "No such file or directory" },
		{ EPERM, "not permitted" },
		{ 133, "" },
		{ 524, "error 524 (ENOTSUPP)" },
		{ 524, "net.core.bpf_jit_limit" },
		{ 512, "error 512" },
		{ 517, "error 517" },
		{ 9999, "error 9999" },
		{ -3, "error -3" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		char buf[64];
		const char *text = error_errno_text(rows[i].number, buf, sizeof(buf));

		cr_expect(strstr(text, rows[i].part) != NULL, "%d: %s", rows[i].number, text);
		cr_expect(!strstr(text, "No error") && !strstr(text, "Unknown"), "%d: %s", rows[i].number,
			  text);
	}
}

Test(error, the_number_is_in_an_errors_text)
{
	struct warder_error err;

	cr_expect(error_set_errno(&err, WARDER_ERROR_UNAVAILABLE, NULL, 524, "set up (seccomp)") == -1);
	cr_expect(strstr(err.text, "set up (seccomp): error 524") &&
		      strstr(err.text, "raise net.core.bpf_jit_limit"),
		  "%s", err.text);
	cr_expect(err.sys_errno == 524);
}
