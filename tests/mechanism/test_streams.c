/* Input and output: exact to the byte, without deadlock in any order, in bounded memory. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "tests/lib/jailed.h"

Test(streams, cap_is_exact_and_the_rest_is_drained, .timeout = 120)
{
	static const struct row {
		const char *script;
		uint64_t cap;
		size_t kept;
		uint64_t total;
		bool truncated;
	} rows[] = {
		{ "head -c 4096 /dev/zero", 4096, 4096, 4096, false },
		{ "head -c 4097 /dev/zero", 4096, 4096, 4097, true },
		{ "head -c 67108864 /dev/zero; echo done >&2", 1 << 20, 1 << 20, 67108864, true },
		{ "printf ''", 4096, 0, 0, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct jailed *j = jailed_new();
		const struct jail_output *output = &j->outcome.output[JAIL_STDOUT];

		j->policy.output.stdout_bytes = rows[i].cap;
		jailed_sh(j, rows[i].script);
		cr_expect_eq(j->step, 0, "%s: %s", rows[i].script, j->err.text);
		cr_expect_eq(output->len, rows[i].kept, "%s: kept %zu", rows[i].script, output->len);
		cr_expect_eq(output->total, rows[i].total, "%s: total %llu", rows[i].script,
			     (unsigned long long)output->total);
		cr_expect_eq(output->truncated, rows[i].truncated, "%s", rows[i].script);
		cr_expect_eq(j->outcome.exit_code, 0);
		if (strstr(rows[i].script, "done"))
			cr_expect_str_eq(jailed_text(j, JAIL_STDERR), "done\n");
		jailed_free(j);
	}
}

Test(streams, stderr_floods_as_well, .timeout = 120)
{
	struct jailed *j = jailed_new();

	jailed_sh(j, "head -c 33554432 /dev/zero >&2; echo out");
	cr_expect_eq(j->outcome.output[JAIL_STDERR].len, 1u << 20);
	cr_expect_eq(j->outcome.output[JAIL_STDERR].total, 33554432u);
	cr_expect_str_eq(jailed_text(j, JAIL_STDOUT), "out\n");
	jailed_free(j);
}

Test(streams, ten_mebibytes_through_cat, .timeout = 120)
{
	struct jailed *j = jailed_new();
	const size_t len = 10 << 20;
	char *input = malloc(len);

	for (size_t i = 0; i < len; i++)
		input[i] = (char)(i * 7 + i / 256); /* every byte value, NUL included */
	j->policy.output.stdout_bytes = len;
	j->command.stdin_data = input;
	j->command.stdin_len = len;
	jailed_run(j, "/bin/cat", NULL, NULL);
	cr_expect_eq(j->outcome.output[JAIL_STDOUT].len, len);
	cr_expect(j->outcome.output[JAIL_STDOUT].bytes &&
		  memcmp(j->outcome.output[JAIL_STDOUT].bytes, input, len) == 0);
	jailed_free(j);
	free(input);
}

Test(streams, input_that_nobody_reads, .timeout = 60)
{
	struct jailed *j = jailed_new();
	const size_t len = 4 << 20;
	char *input = calloc(1, len);

	j->command.stdin_data = input;
	j->command.stdin_len = len;
	jailed_sh(j, "exec 0<&-; echo finished");
	cr_expect_eq(j->outcome.exit_code, 0);
	cr_expect_str_eq(jailed_text(j, JAIL_STDOUT), "finished\n");
	jailed_free(j);
	free(input);
}

Test(streams, absent_input_is_end_of_file, .timeout = 60)
{
	struct jailed *j = jailed_new();

	jailed_sh(j, "wc -c");
	cr_expect_str_eq(jailed_text(j, JAIL_STDOUT), "0\n");
	jailed_free(j);
}

Test(streams, empty_input_is_empty, .timeout = 60)
{
	struct jailed *j = jailed_new();

	j->command.stdin_data = "";
	jailed_sh(j, "wc -c");
	cr_expect_str_eq(jailed_text(j, JAIL_STDOUT), "0\n");
	jailed_free(j);
}

Test(streams, input_from_a_descriptor, .timeout = 60)
{
	struct jailed *j = jailed_new();
	int ends[2];

	cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
	cr_assert_eq(write(ends[1], "from a pipe", 11), 11);
	close(ends[1]);
	j->command.stdin_fd = ends[0];
	jailed_run(j, "/bin/cat", NULL, NULL);
	cr_expect_str_eq(jailed_text(j, JAIL_STDOUT), "from a pipe");
	close(ends[0]);
	jailed_free(j);
}

/* The pipes belong to the jail's user, so that a program may open them by name. */
Test(streams, dev_stdout_can_be_opened, .timeout = 60)
{
	struct jailed *j = jailed_new();

	j->command.stdin_data = "in";
	j->command.stdin_len = 2;
	jailed_sh(j, "cat /dev/stdin > /dev/stdout; echo err > /dev/stderr");
	cr_expect_str_eq(jailed_text(j, JAIL_STDOUT), "in");
	cr_expect_str_eq(jailed_text(j, JAIL_STDERR), "err\n");
	jailed_free(j);
}

/* Passed on to a reader that reads nothing for long: the limits hold meanwhile, and what was written arrives. */
Test(streams, a_slow_reader_holds_up_nothing_else, .timeout = 120)
{
	struct jailed *j = jailed_new();
	char byte[4096];
	size_t got = 0;
	ssize_t n;
	int ends[2];
	pid_t reader;

	cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
	reader = fork();
	if (reader == 0) {
		close(ends[1]);
		sleep(3);
		while ((n = read(ends[0], byte, sizeof(byte))) > 0)
			got += (size_t)n;
		_exit(got >= 65536 && got <= 1 << 20 ? 0 : 1);
	}
	j->policy.limits.wall_time_us = 500000;
	j->policy.output.stdout_bytes = 1 << 20;
	j->command.output_fds = (int[2]){ ends[1], ends[1] };
	jailed_run(j, "/usr/bin/yes", NULL, NULL);
	close(ends[0]);
	close(ends[1]);
	cr_expect_eq(j->outcome.cause, JAIL_CAUSE_WALL_TIME, "%s", j->outcome.detail);
	cr_expect_lt(j->outcome.wall_us, 2500000u, "%llu us", (unsigned long long)j->outcome.wall_us);
	{
		int status = 1;

		waitpid(reader, &status, 0);
		cr_expect_eq(status, 0);
	}
	jailed_free(j);
}

/* A reader that goes away ends the run. */
Test(streams, a_reader_that_goes_away, .timeout = 60)
{
	struct jailed *j = jailed_new();
	int ends[2];

	cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
	close(ends[0]);
	j->command.output_fds = (int[2]){ ends[1], ends[1] };
	jailed_sh(j, "while :; do echo x; done");
	cr_expect_eq(j->outcome.cause, JAIL_CAUSE_SUPERVISOR, "%s", j->outcome.detail);
	close(ends[1]);
	jailed_free(j);
}

/* The supervisor's memory does not grow with the output. Measured in a fresh process. */
Test(streams, supervisor_memory_is_bounded, .timeout = 180)
{
	struct rusage usage;
	int status = 0;
	pid_t pid;

#ifdef __SANITIZE_ADDRESS__
	cr_skip_test("the sanitizer's own memory counts");
#endif
	pid = fork();
	if (pid == 0) {
		struct jailed *j = jailed_new();
		struct rusage before;

		getrusage(RUSAGE_SELF, &before);
		jailed_sh(j, "head -c 67108864 /dev/zero; head -c 67108864 /dev/zero >&2");
		getrusage(RUSAGE_SELF, &usage);
		/* Both caps of 1 MiB, the buffer's growth, and small change. */
		_exit(j->step == 0 && usage.ru_maxrss - before.ru_maxrss < 6 * 1024 ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	cr_expect_eq(status, 0);
}

/* While it is here, nothing is read. */
static int dawdle(void *context, enum jail_stream stream, const char *bytes, size_t len)
{
	bool *dawdled = context;

	if (!*dawdled)
		usleep(300000 * jailed_slow());
	*dawdled = true;
	return 0;
}

/* Each read of such a pipe returns one packet, however small. */
Test(streams, packets_are_all_read, .timeout = 120)
{
	static const char script[] =
	    "import fcntl, os, sys\n"
	    "fcntl.fcntl(1, 1031, 1 << 20)\n" /* F_SETPIPE_SZ */
	    "fcntl.fcntl(1, fcntl.F_SETFL, os.O_DIRECT | os.O_WRONLY | os.O_NONBLOCK)\n"
	    "n = 0\n"
	    "try:\n"
	    "  while n < 100000: n += os.write(1, b'x')\n"
	    "except BlockingIOError: pass\n"
	    "sys.exit(n % 251)\n";
	struct jailed *j = jailed_new();
	bool dawdled = false;

	j->command.on_output = dawdle;
	j->command.context = &dawdled;
	jailed_python(j, script);
	cr_expect(j->outcome.output[JAIL_STDOUT].total >= 256u, "%llu bytes",
		  (unsigned long long)j->outcome.output[JAIL_STDOUT].total);
	cr_expect_eq((int)(j->outcome.output[JAIL_STDOUT].total % 251), j->outcome.exit_code,
		     "%llu bytes, exit %d", (unsigned long long)j->outcome.output[JAIL_STDOUT].total,
		     j->outcome.exit_code);
	jailed_free(j);
}
