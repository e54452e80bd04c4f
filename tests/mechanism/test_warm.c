/* A program that is started before its work is known says what it has loaded. It may be hostile. */
#include "tests/lib/jailed.h"

#include <signal.h>

Test(warm, a_list_with_a_nul_byte_is_refused, .timeout = 60)
{
	static const struct row {
		const char *script, *text; /* NULL: it is ready */
	} rows[] = {
		{ "printf '/bin/sh\\n\\n' >&3", NULL },
		{ "printf '/bin/sh\\0\\n\\n' >&3", "wrote a NUL byte before it was ready" },
		{ "printf '/bin/sh\\n\\0/no/such/file\\n\\n' >&3", "wrote a NUL byte before it was ready" },
		{ "printf '/bin/sh\\n' >&3; exec 3>&-", "ended before it was ready" },
		/* Each component behind the archive's name costs a look. */
		{ "printf '/bin/sh%0100d\\n\\n' 0 | sed 's|0|/a|g' >&3", "cannot be looked at" },
	};
	struct jailed *j = jailed_new();

	cr_assert_eq(jailed_prepare(j, true), 0, "%s", j->err.text);
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		char script[200];
		char *argv[] = { "/bin/sh", "-c", script, NULL };
		int warm;

		snprintf(script, sizeof(script), "%s; read -r line <&4", rows[i].script);
		cr_assert_eq(jail_park(j->tmpl, &j->run, &j->err), 0, "%s", j->err.text);
		warm = jail_warm(j->run, argv, false, &j->err);
		cr_expect_eq(warm, rows[i].text ? -1 : 0, "%s: %s", rows[i].script, j->err.text);
		cr_expect(!rows[i].text || strstr(j->err.text, rows[i].text), "%s: %s", rows[i].script,
			  j->err.text);
		jail_run_free(j->run);
		j->run = NULL;
	}
	jailed_free(j);
}

/* A supervisor that is stopped after it has given the work cannot enforce its deadline: init does. */
Test(warm, deadline_without_a_supervisor, .timeout = 120)
{
	char *argv[] = { "/bin/sh", "-c", "echo >&3; read -r line <&4; exec sleep 1000", NULL };
	struct jailed *j = jailed_new();

	j->policy.limits.wall_time_us = 100000;
	cr_assert_eq(jailed_prepare(j, true), 0, "%s", j->err.text);
	cr_assert_eq(jail_park(j->tmpl, &j->run, &j->err), 0, "%s", j->err.text);
	cr_assert_eq(jail_warm(j->run, argv, false, &j->err), 0, "%s", j->err.text);
	cr_expect(!process_gone(jail_run_program_pid(j->run), 30));
	cr_assert_eq(jail_recheck(j->run, &j->err), 0, "%s", j->err.text);
	cr_assert_eq(jail_feed(j->run, &j->command, "\n", 1, &j->err), 0, "%s", j->err.text);
	cr_expect(process_gone(jail_run_program_pid(j->run), 200));
	cr_expect_eq(jail_supervise(j->run, &j->outcome, &j->err), 0, "%s", j->err.text);
	cr_expect_eq(j->outcome.cause, JAIL_CAUSE_WALL_TIME, "%s", j->outcome.detail);
	jailed_free(j);
}

/* The program may die between the hand-out's look at it and the work: the application that hands out is not killed. */
Test(warm, a_program_that_does_not_take_its_work_raises_no_signal, .timeout = 60)
{
	char *argv[] = { "/bin/sh", "-c", "exec 4<&-; printf '/bin/sh\\n\\n' >&3; sleep 30", NULL };
	const struct jail_command command = { .stdin_data = "", .stdin_fd = -1 };
	struct jailed *j = jailed_new();

	cr_assert(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
	cr_assert_eq(jailed_prepare(j, true), 0, "%s", j->err.text);
	cr_assert_eq(jail_park(j->tmpl, &j->run, &j->err), 0, "%s", j->err.text);
	cr_assert_eq(jail_warm(j->run, argv, false, &j->err), 0, "%s", j->err.text);
	cr_expect_eq(jail_feed(j->run, &command, "true", 4, &j->err), -1);
	cr_expect(strstr(j->err.text, "before it got its work"), "%s", j->err.text);
	jail_run_free(j->run);
	j->run = NULL;
	jailed_free(j);
}
