/* Input and output: exact to the byte, without deadlock in any order, in bounded memory. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "base/array.h"
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

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
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

/* What is left at the source when a program has read its first line of three. */
static void expect_left(const char *what, int fd, const char *left)
{
	struct jailed *j = jailed_new();
	char bytes[64] = "";
	ssize_t n;

	j->command.stdin_fd = fd;
	jailed_sh(j, "read x; echo got $x");
	cr_expect_str_eq(jailed_text(j, JAIL_STDOUT), "got one\n", "%s", what);
	n = recv(fd, bytes, sizeof(bytes) - 1, MSG_DONTWAIT);
	if (n < 0)
		n = read(fd, bytes, sizeof(bytes) - 1);
	cr_expect_str_eq(bytes, left, "%s: %zd bytes: %s", what, n, bytes);
	jailed_free(j);
}

/* The shell reads a line byte by byte. */
Test(streams, input_that_is_not_read_stays, .timeout = 60)
{
	static const char text[] = "one\ntwo\nthree\n";
	FILE *file = tmpfile();
	int ends[2], pair[2];

	cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	cr_assert_eq(write(ends[1], text, strlen(text)), (ssize_t)strlen(text));
	cr_assert_eq(write(pair[1], text, strlen(text)), (ssize_t)strlen(text));
	cr_assert_eq(pwrite(fileno(file), "-", 1, 0) + pwrite(fileno(file), text, strlen(text), 1),
		     1 + (ssize_t)strlen(text));
	lseek(fileno(file), 1, SEEK_SET);
	expect_left("pipe", ends[0], "two\nthree\n");
	expect_left("socket", pair[0], "two\nthree\n");
	expect_left("file", fileno(file), "two\nthree\n");
	for (int i = 0; i < 2; i++) {
		close(ends[i]);
		close(pair[i]);
	}
	fclose(file);
}

/* The writer waits when the pipe is full of what the program has read already, in pieces that fill a slot each, or in one. */
Test(streams, input_goes_on_when_the_program_reads, .timeout = 120)
{
	static const size_t pieces[] = { 1, 700, 4096, 65536, 200000 };
	const size_t total = 2000000;

	for (size_t i = 0; i < ARRAY_LENGTH(pieces); i++) {
		struct jailed *j = jailed_new();
		char *piece = calloc(1, pieces[i]);
		int ends[2], status = 1;
		pid_t writer;

		cr_assert_eq(pipe2(ends, O_CLOEXEC | (i < 3 ? O_DIRECT : 0)), 0);
		writer = fork();
		if (writer == 0) {
			close(ends[0]);
			for (size_t done = 0; done < (pieces[i] == 1 ? 3000 : total); done += pieces[i])
				if (write(ends[1], piece, pieces[i]) != (ssize_t)pieces[i])
					_exit(1);
			_exit(0);
		}
		close(ends[1]);
		j->command.stdin_fd = ends[0];
		jailed_sh(j, "wc -c");
		cr_expect_eq(j->outcome.cause, JAIL_CAUSE_EXIT, "%zu: %s", pieces[i], j->outcome.detail);
		cr_expect_eq((size_t)atol(jailed_text(j, JAIL_STDOUT)),
			     pieces[i] == 1 ? 3000 : (total + pieces[i] - 1) / pieces[i] * pieces[i],
			     "%zu: %s", pieces[i], jailed_text(j, JAIL_STDOUT));
		waitpid(writer, &status, 0);
		cr_expect_eq(status, 0);
		close(ends[0]);
		free(piece);
		jailed_free(j);
	}
}

/* More than one look shows, because the caller made its pipe larger after the launch (or because the user may have no larger pipes), and
 * the writer is gone: the rest is not the end. */
Test(streams, input_beyond_one_look_is_not_lost, .timeout = 60)
{
	static const size_t sizes[] = { 65536, 65537, 300000, 1000000 };
	static char bytes[1000000];

	for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
		struct jailed *j = jailed_new();
		int ends[2];

		cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
		j->command.stdin_fd = ends[0];
		j->command.argv = (char *[]){ "/bin/sh", "-c", "sleep 0.3; wc -c", NULL };
		cr_assert_eq(jailed_prepare(j, false), 0, "%s", j->err.text);
		cr_assert_eq(jail_launch(j->tmpl, &j->command, &j->run, &j->err), 0, "%s", j->err.text);
		cr_assert_eq(fcntl(ends[1], F_SETPIPE_SZ, 1 << 20), 1 << 20);
		cr_assert_eq(write(ends[1], bytes, sizes[i]), (ssize_t)sizes[i]);
		close(ends[1]);
		cr_assert_eq(jail_supervise(j->run, &j->outcome, &j->err), 0, "%s", j->err.text);
		jail_run_free(j->run);
		j->run = NULL;
		cr_expect_eq((size_t)atol(jailed_text(j, JAIL_STDOUT)), sizes[i], "%zu: %s", sizes[i],
			     jailed_text(j, JAIL_STDOUT));
		close(ends[0]);
		jailed_free(j);
	}
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
		sleep(3 * jailed_slow());
		while ((n = read(ends[0], byte, sizeof(byte))) > 0)
			got += (size_t)n;
		_exit(got >= 65536 && got <= 1 << 20 ? 0 : 1);
	}
	j->policy.limits.wall_time_us = 500000 * jailed_slow();
	j->command.output_fds = (int[2]){ ends[1], ends[1] };
	jailed_run(j, "/usr/bin/yes", NULL, NULL);
	close(ends[0]);
	close(ends[1]);
	cr_expect_eq(j->outcome.cause, JAIL_CAUSE_WALL_TIME, "%s", j->outcome.detail);
	cr_expect_lt(j->outcome.wall_us, 2500000u * jailed_slow(), "%llu us",
		     (unsigned long long)j->outcome.wall_us);
	{
		int status = 1;

		waitpid(reader, &status, 0);
		cr_expect_eq(status, 0);
	}
	jailed_free(j);
}

/* The reader of a full pipe, socket or terminal reads nothing at all: neither the wall time nor the end waits for it. */
static void expect_stalled(const char *what, int fd)
{
	const int flags = fcntl(fd, F_GETFL);
	struct jailed *j = jailed_new();
	struct timespec before, after;

	j->policy.limits.wall_time_us = 500000 * jailed_slow();
	j->command.output_fds = (int[2]){ fd, fd };
	clock_gettime(CLOCK_MONOTONIC, &before);
	jailed_sh(j, "yes & while :; do echo more; done");
	clock_gettime(CLOCK_MONOTONIC, &after);
	cr_expect_eq(j->step, 0, "%s: %s", what, j->err.text);
	cr_expect_eq(j->outcome.cause, JAIL_CAUSE_WALL_TIME, "%s: %s", what, j->outcome.detail);
	cr_expect_gt(j->outcome.dropped[JAIL_STDOUT], 0u, "%s", what);
	cr_expect_eq(j->outcome.passed[JAIL_STDOUT] + j->outcome.dropped[JAIL_STDOUT],
		     j->outcome.output[JAIL_STDOUT].total, "%s: %llu + %llu of %llu", what,
		     (unsigned long long)j->outcome.passed[JAIL_STDOUT],
		     (unsigned long long)j->outcome.dropped[JAIL_STDOUT],
		     (unsigned long long)j->outcome.output[JAIL_STDOUT].total);
	cr_expect_lt(after.tv_sec - before.tv_sec, 10 * (time_t)jailed_slow(), "%s", what);
	cr_expect_eq(fcntl(fd, F_GETFL), flags, "%s: the caller's descriptor has other flags", what);
	jailed_free(j);
}

Test(streams, readers_that_stall, .timeout = 120)
{
	int pipe_fds[2], pair[2];
	int master_fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	int terminal_fd;

	cr_assert_eq(pipe2(pipe_fds, O_CLOEXEC), 0);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	cr_assert(master_fd >= 0 && grantpt(master_fd) == 0 && unlockpt(master_fd) == 0);
	terminal_fd = open(ptsname(master_fd), O_RDWR | O_NOCTTY | O_CLOEXEC);
	cr_assert_geq(terminal_fd, 0);
	expect_stalled("pipe", pipe_fds[1]);
	expect_stalled("socket", pair[1]);
	expect_stalled("terminal", terminal_fd);
	for (int i = 0; i < 2; i++) {
		close(pipe_fds[i]);
		close(pair[i]);
	}
	close(terminal_fd);
	close(master_fd);
}

/* Nothing is kept, and no limit of the policy holds; one of the command ends the program. */
Test(streams, passed_output_has_no_limit_of_the_policy, .timeout = 120)
{
	static const struct row {
		uint64_t most, passed;
		enum jail_cause cause;
	} rows[] = {
		{ 0, 300000, JAIL_CAUSE_EXIT },
		{ 300000, 300000, JAIL_CAUSE_EXIT },
		{ 299999, 299999, JAIL_CAUSE_OUTPUT },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct jailed *j = jailed_new();
		FILE *file = tmpfile();

		j->policy.output.stdout_bytes = 10;
		j->policy.output.on_limit = POLICY_OUTPUT_KILL;
		j->command.output_fds = (int[2]){ fileno(file), STDERR_FILENO };
		j->command.output_max = rows[i].most;
		jailed_sh(j, "head -c 300000 /dev/zero");
		cr_expect_eq(j->outcome.cause, rows[i].cause, "row %zu: %s", i, j->outcome.detail);
		cr_expect_eq(j->outcome.passed[JAIL_STDOUT], rows[i].passed, "row %zu: %llu", i,
			     (unsigned long long)j->outcome.passed[JAIL_STDOUT]);
		cr_expect_eq(lseek(fileno(file), 0, SEEK_END), (off_t)rows[i].passed, "row %zu", i);
		cr_expect_eq(j->outcome.output[JAIL_STDOUT].len, 0u);
		cr_expect(!j->outcome.merged);
		fclose(file);
		jailed_free(j);
	}
}

/* Both streams in one file keep their order, also where it was opened twice. */
Test(streams, one_file_is_one_stream, .timeout = 60)
{
	struct jailed *j = jailed_new();
	FILE *file = tmpfile();
	char path[40], text[64] = "";
	int again_fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(file));
	again_fd = open(path, O_WRONLY | O_CLOEXEC);
	cr_assert_geq(again_fd, 0);
	j->command.output_fds = (int[2]){ fileno(file), again_fd };
	jailed_sh(j, "for i in 1 2 3; do echo o$i; echo e$i >&2; done");
	cr_expect(j->outcome.merged);
	cr_expect_eq(pread(fileno(file), text, sizeof(text) - 1, 0), 18);
	cr_expect_str_eq(text, "o1\ne1\no2\ne2\no3\ne3\n");
	cr_expect_eq(j->outcome.output[JAIL_STDOUT].total, 18u);
	cr_expect_eq(j->outcome.output[JAIL_STDERR].total, 0u);
	fclose(file);
	close(again_fd);
	jailed_free(j);
}

Test(streams, descriptors_that_cannot_be_written, .timeout = 60)
{
	const int read_only_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	const int rows[] = { -1, 12345, read_only_fd };

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct jailed *j = jailed_new();

		j->command.output_fds = (int[2]){ STDOUT_FILENO, rows[i] };
		jailed_sh(j, "echo hello >&2");
		cr_expect_eq(j->step, 4, "row %zu", i);
		cr_expect_eq(j->err.code, WARDER_ERROR_INVALID_REQUEST, "row %zu", i);
		cr_expect_str_eq(j->err.field, "output_fds[1]", "row %zu", i);
		jailed_free(j);
	}
	close(read_only_fd);
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
	cr_expect(j->outcome.output[JAIL_STDOUT].total >= 16u, "%llu bytes",
		  (unsigned long long)j->outcome.output[JAIL_STDOUT].total);
	cr_expect_eq((int)(j->outcome.output[JAIL_STDOUT].total % 251), j->outcome.exit_code,
		     "%llu bytes, exit %d", (unsigned long long)j->outcome.output[JAIL_STDOUT].total,
		     j->outcome.exit_code);
	jailed_free(j);
}
