/* The rows of languages (base/language.c). */
#include <criterion/criterion.h>
#include <string.h>

#include "base/language.h"

Test(language, rows_are_consistent, .timeout = 20)
{
	const struct language_row *row;

	for (size_t i = 0; (row = language_row(i)); i++) {
		cr_expect_eq(language_named(row->name), row, "%s stands there once", row->name);
		cr_expect_eq(row->programs != NULL, row->options != NULL, "%s", row->name);
		for (const char *at = row->extensions; at && *at;) {
			const size_t len = strcspn(at, "|");

			cr_expect_eq(language_of_extension(at, len), row, "%.*s is of %s", (int)len, at,
				     row->name);
			at += len + (at[len] == '|');
		}
	}
}

Test(language, extensions, .timeout = 20)
{
	cr_expect_str_eq(language_of_extension("PY", 2)->name, "python");
	cr_expect_str_eq(language_of_extension("c", 1)->name, "c");
	cr_expect_str_eq(language_of_extension("C", 1)->name, "c++");
	cr_expect_null(language_of_extension("", 0));
	cr_expect_null(language_of_extension("p", 1));
	cr_expect_null(language_of_extension("py|pyw", 6));
	cr_expect_null(language_named("pascal"));
}
