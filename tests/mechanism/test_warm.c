/* A program that is started before its work is known says what it has loaded. It may be hostile. */
#include "tests/lib/jailed.h"

#include <poll.h>
#include <signal.h>

#include "jail/run.h"

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

/* A program that asks for it gets a byte before its work, as soon as the recheck has seen that it waits; others get their work alone. */
Test(warm, a_program_may_prepare_itself_before_its_work, .timeout = 60)
{
	static const struct row {
		const char *line, *output;
		int early; /* poll() before the feed */
	} rows[] = {
		{ "prepares\\n", "first:\nsecond: work\n", 1 },
		{ "", "first: work\nsecond:\n", 0 },
		{ "prepares itself\\n", "first: work\nsecond:\n", 0 },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct jailed *j = jailed_new();
		char script[200];
		char *argv[] = { "/bin/sh", "-c", script, NULL };
		struct pollfd output = { .events = POLLIN };

		snprintf(script, sizeof(script),
			 "printf '%s\\n' >&3; read -r x <&4; echo first: $x; read -r y <&4; echo second: $y",
			 rows[i].line);
		cr_assert_eq(jailed_prepare(j, true), 0, "%s", j->err.text);
		cr_assert_eq(jail_park(j->tmpl, &j->run, &j->err), 0, "%s", j->err.text);
		cr_assert_eq(jail_warm(j->run, argv, false, &j->err), 0, "%s", j->err.text);
		output.fd = j->run->output_pipe[JAIL_STDOUT][RUN_READ];
		cr_expect_eq(poll(&output, 1, 100), 0, "%s", rows[i].line);
		cr_assert_eq(jail_recheck(j->run, &j->err), 0, "%s", j->err.text);
		cr_expect_eq(poll(&output, 1, rows[i].early ? 20000 : 100), rows[i].early, "%s",
			     rows[i].line);
		cr_assert_eq(jail_feed(j->run, &j->command, "work\n", 5, &j->err), 0, "%s", j->err.text);
		cr_assert_eq(jail_supervise(j->run, &j->outcome, &j->err), 0, "%s", j->err.text);
		cr_expect_str_eq(jailed_text(j, JAIL_STDOUT), rows[i].output);
		jailed_free(j);
	}
}
