#include "runtime/library/result_end.h"

#include <criterion/criterion.h>
#include <signal.h>

Test(result_end, signals_have_names, .timeout = 20)
{
	char name[16];

	cr_expect_str_eq(result_signal_name(SIGKILL, name, sizeof(name)), "SIGKILL");
	cr_expect_str_eq(result_signal_name(SIGSYS, name, sizeof(name)), "SIGSYS");
	cr_expect_str_eq(result_signal_name(40, name, sizeof(name)), "SIG40");
	cr_expect_str_eq(result_signal_name(0, name, sizeof(name)), "");
}
