#include "base/compose.h"

#include <criterion/criterion.h>
#include <string.h>

Test(compose, joins_texts, .timeout = 20)
{
	char buf[8];

	cr_expect_eq(compose(buf, sizeof(buf), "ab", "", "cde"), 5);
	cr_expect_str_eq(buf, "abcde");
	cr_expect_eq(compose(buf, sizeof(buf), ""), 0);
	cr_expect_str_eq(buf, "");
}

Test(compose, cuts_what_does_not_fit, .timeout = 20)
{
	char buf[8] = "#######";

	cr_expect_eq(compose(buf, 7, "abcdef"), 6);
	cr_expect_str_eq(buf, "abcdef");
	cr_expect_eq(compose(buf, 6, "abc", "def", "g"), 7);
	cr_expect_str_eq(buf, "abcde");
	cr_expect_eq(buf[6], '\0', "a byte behind the buffer was written");
	cr_expect_eq(compose(buf, 1, "abc"), 3);
	cr_expect_str_eq(buf, "");
}

Test(compose, writes_numbers, .timeout = 20)
{
	char buf[COMPOSE_NUMBER];

	cr_expect_str_eq(compose_number(0, buf), "0");
	cr_expect_str_eq(compose_number(1024, buf), "1024");
	cr_expect_str_eq(compose_number(UINT64_MAX, buf), "18446744073709551615");
}
