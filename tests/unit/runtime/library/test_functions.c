/* Calls of functions of the host: what a program may write to its descriptor, and what it reads. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "runtime/library/functions.h"

#define PATIENCE_US UINT64_C(60000000)

/* Both sides of a conversation. */
struct talk {
	struct functions *functions;
	int fd; /* the program's end */
	bool over;
	char got[1 << 21]; /* what the program has read */
	size_t len;
	uint64_t last_call;
	size_t calls;
	int answers; /* of on_call: 1: at once, 0: none */
	char said[80];
};

static struct talk talk;

static void on_call(void *context, uint64_t call, const char *name, const char *arguments)
{
	struct talk *to = context;
	struct warder_error err;

	to->last_call = call;
	to->calls++;
	snprintf(to->said, sizeof(to->said), "%s %s", name, arguments);
	if (to->answers)
		cr_expect_eq(functions_answer(to->functions, call, arguments, NULL, &err), 0);
}

static uint64_t time_us; /* for an answer; 0: as ever */

/* The policy grants a and b. */
static int open_with(const struct warder_function *rows, size_t count, struct warder_error *err)
{
	static char *names[] = { (char *)"a", (char *)"b" };
	const struct policy policy = { .functions = { names, 2 } };
	const struct library_functions asked = { rows, count, on_call, &talk, time_us };
	int fd;

	memset(&talk, 0, sizeof(talk));
	talk.answers = 1;
	if (functions_open(&asked, &policy, &talk.functions, &fd, err) != 0)
		return -1;
	talk.fd = dup(fd);
	cr_assert(talk.fd >= 0 && fcntl(talk.fd, F_SETFL, O_NONBLOCK) == 0);
	functions_launched(talk.functions);
	return 0;
}

static void begin(void)
{
	static const struct warder_function rows[] = { { "a", NULL } };
	struct warder_error err;

	cr_assert_eq(open_with(rows, 1, &err), 0);
}

static struct functions_count end(void)
{
	struct functions_count count;

	fd_done(&talk.fd);
	functions_end(talk.functions, &count);
	functions_free(talk.functions);
	return count;
}

/* As the supervision does: only when there is something to do. False: there is nothing. */
static bool serve(int wait_ms)
{
	struct pollfd fd = { .fd = functions_fd(talk.functions), .events = POLLIN };

	if (talk.over || poll(&fd, 1, wait_ms) <= 0)
		return false;
	talk.over = !functions_serve(talk.functions);
	return true;
}

static void take(void)
{
	ssize_t n;

	while ((n = read(talk.fd, talk.got + talk.len, sizeof(talk.got) - 1 - talk.len)) > 0)
		talk.len += (size_t)n;
	talk.got[talk.len] = '\0';
}

/* Until so many lines have come. */
static void await_lines(size_t count)
{
	const uint64_t until_us = clock_us() + PATIENCE_US;
	size_t lines = 0;

	while (lines < count && clock_us() < until_us) {
		serve(20);
		take();
		lines = 0;
		for (const char *at = talk.got; (at = strchr(at, '\n')); at++)
			lines++;
	}
	cr_assert_eq(lines, count, "%zu lines of %zu: %.300s", lines, count, talk.got);
}

static void put(const char *bytes, size_t len)
{
	while (len) {
		const ssize_t n = send(talk.fd, bytes, len, MSG_NOSIGNAL);

		cr_assert(n > 0 || errno == EAGAIN);
		if (n > 0) {
			bytes += n;
			len -= (size_t)n;
		}
		while (n < 0 && serve(0))
			continue;
	}
}

Test(functions, lines_that_are_calls_and_lines_that_are_not, .timeout = 120)
{
	static const struct row {
		const char *line, *answer;
	} rows[] = {
		{ "{\"id\":1,\"name\":\"a\",\"arguments\":{\"x\":[1.50]}}",
		  "{\"id\":1,\"result\":{\"x\":[1.50]}}" },
		{ "{\"name\":\"a\",\"id\":\"q\\\"\"}", "{\"id\":\"q\\\"\",\"result\":null}" },
		{ "{\"id\":1,\"name\":\"b\"}",
		  "{\"id\":1,\"error\":{\"kind\":\"notGranted\"" }, /* nobody answers it */
		{ "{\"id\":1,\"name\":\"\"}", "{\"id\":1,\"error\":{\"kind\":\"notGranted\"" },
		{ "{\"id\":1,\"name\":\"a\",\"arguments\":1,\"more\":2}",
		  "{\"id\":null,\"error\":{\"kind\":\"invalidCall\"" },
		{ "{\"id\":null,\"name\":\"a\"}", "{\"id\":null,\"error\":{\"kind\":\"invalidCall\"" },
		{ "{\"id\":[],\"name\":\"a\"}", "{\"id\":null,\"error\":{\"kind\":\"invalidCall\"" },
		{ "{\"id\":1,\"name\":1}", "{\"id\":null,\"error\":{\"kind\":\"invalidCall\"" },
		{ "{\"id\":1,\"id\":2,\"name\":\"a\"}", "{\"id\":null,\"error\":{\"kind\":\"invalidCall\"" },
		{ "{\"id\":1}", "{\"id\":null,\"error\":{\"kind\":\"invalidCall\"" },
		{ "[1]", "{\"id\":null,\"error\":{\"kind\":\"invalidCall\"" },
		{ "7", "{\"id\":null,\"error\":{\"kind\":\"invalidCall\"" },
		{ "{\"id\":1,\"result\":2}",
		  "{\"id\":null,\"error\":{\"kind\":\"invalidCall\"" }, /* a forged answer */
		{ "\"\xff\"", "{\"id\":null,\"error\":{\"kind\":\"invalidCall\"" },
		{ "{\"id\":\"123456789012345678901234567890123456789012345678901234567890123\",\"name\":"
		  "\"a\"}",
		  "{\"id\":null,\"error\":{\"kind\":\"invalidCall\"" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct functions_count count;
		const bool is_call = strstr(rows[i].answer, "result") != NULL;

		begin();
		put(rows[i].line, strlen(rows[i].line));
		put("\n", 1);
		await_lines(1);
		cr_expect_eq(strncmp(talk.got, rows[i].answer, strlen(rows[i].answer)), 0, "%s: %s",
			     rows[i].line, talk.got);
		count = end();
		cr_expect_eq(count.answered, is_call, "%s", rows[i].line);
		cr_expect_eq(count.refused, !is_call, "%s", rows[i].line);
	}
}

Test(functions, a_line_without_an_end_costs_no_memory_and_one_error, .timeout = 120)
{
	static char long_line[4 * FUNCTIONS_LINE];
	struct functions_count count;

	memset(long_line, 'x', sizeof(long_line));
	begin();
	put(long_line, sizeof(long_line));
	put("\n{\"id\":2,\"name\":\"a\"}\n", 22);
	await_lines(2);
	cr_expect(strstr(talk.got, "the line is too long"), "%.200s", talk.got);
	cr_expect(strstr(talk.got, "{\"id\":2,\"result\":null}"), "%.200s", talk.got);
	count = end();
	cr_expect_eq(count.refused, 1);
	cr_expect_eq(count.answered, 1);
}

Test(functions, a_line_of_just_the_most_bytes_is_a_call, .timeout = 120)
{
	static char line[FUNCTIONS_LINE + 2];
	static const char head[] = "{\"id\":1,\"name\":\"a\",\"arguments\":\"";

	memset(line, 'x', sizeof(line));
	memcpy(line, head, sizeof(head) - 1);
	memcpy(line + FUNCTIONS_LINE - 2, "\"}\n", 3);
	begin();
	put(line, FUNCTIONS_LINE + 1);
	await_lines(1);
	cr_expect_eq(end().answered, 1, "%.100s", talk.got);
}

Test(functions, ten_thousand_calls_that_nobody_reads_the_answers_of_yet, .timeout = 300)
{
	static const char call[] =
	    "{\"id\":1,\"name\":\"a\",\"arguments\":\"0123456789012345678901234567890123456789\"}\n";
	struct functions_count count;
	size_t sent = 0;
	int waits = 0;

	begin();
	/* Until the socket takes no more in either direction: what is served then is little, and nothing blocks. */
	while (sent < 10000 && waits < 3) {
		const ssize_t n = send(talk.fd, call, sizeof(call) - 1, MSG_NOSIGNAL);

		if (n == (ssize_t)sizeof(call) - 1) {
			sent++;
			waits = 0;
			continue;
		}
		cr_assert(n < 0, "a call went only in part");
		waits += !serve(0);
	}
	cr_expect(sent < 10000, "nothing held the program up");
	cr_expect(!serve(0), "the supervisor is busy with a program that does not read");
	for (; sent < 10000; sent++) {
		take();
		talk.len = 0;
		put(call, sizeof(call) - 1);
	}
	talk.len = 0;
	while (serve(50)) {
		take();
		talk.len = 0;
	}
	count = end();
	cr_expect_eq(count.answered, 10000, "%llu", (unsigned long long)count.answered);
}

Test(functions, at_most_four_calls_are_open_and_the_next_ones_wait, .timeout = 120)
{
	struct warder_error err;

	begin();
	talk.answers = 0;
	for (int i = 0; i < 10; i++)
		put("{\"id\":5,\"name\":\"a\"}\n", 20);
	while (serve(100))
		continue;
	cr_expect_eq(talk.calls, 4);
	cr_expect_eq(functions_answer(talk.functions, talk.last_call, "{}", NULL, &err), 0);
	cr_expect_eq(functions_answer(talk.functions, talk.last_call, "{}", NULL, &err), -1);
	cr_expect_eq(err.code, WARDER_ERROR_NOT_FOUND);
	cr_expect_eq(functions_answer(talk.functions, 0, "{}", NULL, &err), -1);
	cr_expect_eq(functions_answer(talk.functions, 999, "{}", NULL, &err), -1);
	await_lines(1);
	while (serve(100))
		continue;
	cr_expect_eq(talk.calls, 5);
	cr_expect_eq(end().failed, 4);
}

Test(functions, what_the_caller_answers, .timeout = 120)
{
	static char too_long[FUNCTIONS_ANSWER + 8];
	static const struct row {
		const char *result, *error, *answer;
	} rows[] = {
		{ " [1, 2] ", NULL, "{\"id\":1,\"result\":[1,2]}\n" },
		{ NULL, NULL, "{\"id\":1,\"result\":null}\n" },
		{ "\"a\\nb\"", NULL, "{\"id\":1,\"result\":\"a\\nb\"}\n" },
		{ "1\n2", NULL, "{\"id\":1,\"error\":{\"kind\":\"failed\"" },
		{ "", NULL, "{\"id\":1,\"error\":{\"kind\":\"failed\"" },
		{ too_long, NULL, "{\"id\":1,\"error\":{\"kind\":\"failed\"" },
		{ "1", "no\nsuch", "{\"id\":1,\"error\":{\"kind\":\"failed\",\"message\":\"no\\nsuch\"}}\n" },
	};
	struct warder_error err;

	memset(too_long, 'x', sizeof(too_long) - 1);
	too_long[0] = too_long[sizeof(too_long) - 2] = '"';
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		begin();
		talk.answers = 0;
		put("{\"id\":1,\"name\":\"a\"}\n", 20);
		while (!talk.calls)
			serve(1000);
		cr_assert_eq(
		    functions_answer(talk.functions, talk.last_call, rows[i].result, rows[i].error, &err), 0);
		await_lines(1);
		cr_expect_eq(strncmp(talk.got, rows[i].answer, strlen(rows[i].answer)), 0, "row %zu: %.200s",
			     i, talk.got);
		end();
	}
}

Test(functions, a_closed_descriptor_ends_the_open_calls, .timeout = 120)
{
	struct functions_count count;
	struct warder_error err;

	begin();
	talk.answers = 0;
	for (int i = 0; i < 6; i++)
		put("{\"id\":5,\"name\":\"a\"}\n", 20);
	while (serve(100))
		continue;
	fd_done(&talk.fd);
	for (int i = 0; i < 100 && !talk.over; i++)
		serve(1000);
	cr_expect(talk.over, "it goes on");
	cr_expect_eq(functions_answer(talk.functions, talk.last_call, "1", NULL, &err), -1);
	functions_end(talk.functions, &count);
	functions_free(talk.functions);
	cr_expect_eq(count.failed, 4);
}

Test(functions, a_side_that_is_shut_still_reads, .timeout = 120)
{
	begin();
	put("{\"id\":5,\"name\":\"a\"}\n", 20);
	shutdown(talk.fd, SHUT_WR);
	await_lines(1);
	while (serve(100))
		continue;
	cr_expect_eq(end().answered, 1);
}

/* The refusal of the first line cannot be sent: the conversation ends in the middle of the buffer. */
Test(functions, a_side_that_reads_no_answer_ends_the_conversation, .timeout = 120)
{
	static const struct row {
		const char *lines;
		bool closed;
	} rows[] = {
		{ "x\n", false },
		{ "x\n", true },
		{ "\n\nx\nx\nrest", false },
		{ "{\"id\":5,\"name\":\"a\"}\n{\"id\":5,\"name\":\"a\"}\nx\n", true },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		begin();
		put(rows[i].lines, strlen(rows[i].lines));
		shutdown(talk.fd, SHUT_RD);
		if (rows[i].closed)
			fd_done(&talk.fd);
		for (int j = 0; j < 100 && !talk.over; j++)
			serve(1000);
		cr_expect(talk.over, "row %zu: it goes on", i);
		end();
	}
}

/* Since Linux 6.16. */
static bool kernel_refuses_descriptors(void)
{
	int off = 0, pair[2], status;

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	status = setsockopt(pair[0], SOL_SOCKET, 83, &off, sizeof(off)); /* SO_PASSRIGHTS */
	close(pair[0]);
	close(pair[1]);
	return status == 0;
}

Test(functions, descriptors_that_come_with_a_call_are_refused_or_dropped, .timeout = 120)
{
	int pair[2], fds[1];
	char byte;

	begin();
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
	fds[0] = pair[0];
	if (kernel_refuses_descriptors()) {
		cr_expect(fd_send(talk.fd, "{\"id\":5,\"name\":\"a\"}\n", 20, fds, 1, 0) < 0);
		cr_expect_eq(errno, EPERM);
	} else {
		cr_expect(fd_send(talk.fd, "{\"id\":5,\"name\":\"a\"}\n", 20, fds, 1, 0) >= 0);
		await_lines(1);
	}
	close(pair[0]);
	cr_expect_eq(read(pair[1], &byte, 1), 0, "somebody keeps the descriptor");
	close(pair[1]);
	end();
}

/* ---- programs ---- */

static char directory[] = "/tmp/warder-functions-XXXXXX";

static void make_program(char *path, size_t size, const char *text)
{
	FILE *file;

	cr_assert(mkdtemp(strcpy(directory, "/tmp/warder-functions-XXXXXX")));
	snprintf(path, size, "%s/program", directory);
	file = fopen(path, "we");
	cr_assert(file);
	fprintf(file, "#!/bin/sh\n%s\n", text);
	fclose(file);
	cr_assert_eq(chmod(path, 0755), 0);
}

static void remove_program(const char *path)
{
	unlink(path);
	rmdir(directory);
}

Test(functions, programs_that_answer_well_and_badly, .timeout = 300)
{
	static const struct row {
		const char *text, *answer;
	} rows[] = {
		{ "cat", "{\"id\":1,\"result\":[7]}\n" },
		{ "true", "{\"id\":1,\"result\":null}\n" },
		{ "echo no JSON", "{\"id\":1,\"error\":{\"kind\":\"failed\",\"message\":\"the answer is not "
				  "a JSON value\"}}\n" },
		{ "echo 1; echo 2", "{\"id\":1,\"error\":{\"kind\":\"failed\",\"message\":\"the answer is "
				    "not a JSON value\"}}\n" },
		{ "echo 1; exit 3", "{\"id\":1,\"error\":{\"kind\":\"failed\",\"message\":\"the program that "
				    "answers ended with status 3\"}}\n" },
		{ "kill -9 $$", "{\"id\":1,\"error\":{\"kind\":\"failed\",\"message\":\"the program that "
				"answers ended with signal 9\"}}\n" },
		{ "yes",
		  "{\"id\":1,\"error\":{\"kind\":\"failed\",\"message\":\"the answer is too long\"}}\n" },
		{ "yes 1 | tr -d '\\n' | head -c 1048577",
		  "{\"id\":1,\"error\":{\"kind\":\"failed\",\"message\":\"the answer is too long\"}}\n" },
		/* What stays behind with the output open is not waited for. */
		{ "sleep 1000 & echo 2", "{\"id\":1,\"result\":2}\n" },
		/* Signals to its own group. */
		{ "trap '' TERM; kill 0; echo 5", "{\"id\":1,\"result\":5}\n" },
		{ "trap '' INT USR1; kill -INT 0; kill -USR1 0; echo 6", "{\"id\":1,\"result\":6}\n" },
		{ "kill 0; echo 7", "{\"id\":1,\"error\":{\"kind\":\"failed\",\"message\":\"the program that "
				    "answers ended with signal 15\"}}\n" },
		/* No signal is blocked or ignored. */
		{ "sed -n 's/^Sig[BI][lg][kn]:.//p' /proc/self/status | tr -d '0\n'",
		  "{\"id\":1,\"result\":null}\n" },
		{ "ls /proc/self/fd | tr '\\n' ' ' | sed 's/.*/\"&\"/'",
		  "{\"id\":1,\"result\":\"0 1 2 3 \"}\n" },
	};

	signal(SIGUSR2, SIG_IGN);
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		char path[200];
		const struct warder_function row = { "a", path };
		struct warder_error err;

		make_program(path, sizeof(path), rows[i].text);
		cr_assert_eq(open_with(&row, 1, &err), 0, "%s", err.text);
		put("{\"id\":1,\"name\":\"a\",\"arguments\":[7]}\n", 36);
		await_lines(1);
		cr_expect_str_eq(talk.got, rows[i].answer, "%s", rows[i].text);
		end();
		remove_program(path);
	}
	signal(SIGUSR2, SIG_DFL);
}

/* The number that a program has written to `path`, in one step. 0: it has not. */
static int read_pid(const char *path)
{
	FILE *file = fopen(path, "re");
	int pid = 0;

	if (file && fscanf(file, "%d", &pid) != 1)
		pid = 0;
	if (file)
		fclose(file);
	return pid;
}

static bool is_gone(int pid)
{
	const uint64_t until_us = clock_us() + PATIENCE_US;

	while (kill(pid, 0) == 0 && clock_us() < until_us)
		usleep(1000);
	return kill(pid, 0) != 0;
}

static bool has_children(void)
{
	return waitid(P_ALL, 0, &(siginfo_t){ 0 }, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
}

/* A call of a program that writes the number of a process to "$0.pid". Returns that, or 0 if the call had its answer first. */
static int begin_program(char *path, size_t size, char *pid_path, size_t pid_size, const char *text,
			 const struct warder_function *rows, size_t count)
{
	const uint64_t until_us = clock_us() + PATIENCE_US;
	struct warder_error err;

	make_program(path, size, text);
	snprintf(pid_path, pid_size, "%s.pid", path);
	cr_assert_eq(open_with(rows, count, &err), 0, "%s", err.text);
	put("{\"id\":1,\"name\":\"a\"}\n", 20);
	while (!talk.len && !read_pid(pid_path) && clock_us() < until_us) {
		serve(20);
		take();
	}
	return read_pid(pid_path);
}

#define WRITE_PID(pid) "echo " pid " > $0.new; mv $0.new $0.pid; "

/* A process that it has started, or the program itself: it is gone after the deadline, and after the run's end. */
Test(functions, a_program_that_answers_ends_with_its_group, .timeout = 300)
{
	static const char *const texts[] = {
		WRITE_PID("$$") "sleep 1000; echo 1",
		"sleep 1000 & " WRITE_PID("$!") "wait",
		/* It makes itself the leader of a group. */
		"export file=$0; exec timeout 1000 sh -c 'echo $$ > $file.new; mv $file.new $file.pid; exec "
		"sleep "
		"1000'",
		"sleep 1000 & " WRITE_PID("$!") "kill -STOP $$",
		"sleep 1000 & " WRITE_PID("$!") "kill -STOP 0",
		"sleep 1000 & " WRITE_PID("$!") "kill -STOP $PPID; wait",
	};

	for (size_t i = 0; i < 2 * ARRAY_LENGTH(texts); i++) {
		const char *text = texts[i / 2];
		const bool at_deadline = i % 2;
		char path[200], pid_path[220];
		const struct warder_function row = { "a", path };
		struct functions_count count;
		int pid;

		/* Until it had the time to start. */
		for (time_us = at_deadline ? 250000 : 0;; time_us *= 2) {
			pid = begin_program(path, sizeof(path), pid_path, sizeof(pid_path), text, &row, 1);
			if (pid || !at_deadline || time_us > PATIENCE_US)
				break;
			end();
			remove_program(path);
		}
		cr_assert(pid > 0, "%s", text);
		if (at_deadline)
			await_lines(1);
		if (at_deadline)
			cr_expect(is_gone(pid), "%s: it lives on after the deadline", text);
		count = end();
		cr_expect_eq(at_deadline ? count.timed_out : count.failed, 1, "%s", text);
		cr_expect(is_gone(pid), "%s: it lives on after the run", text);
		cr_expect(!has_children(), "%s", text);
		kill(pid, SIGKILL);
		unlink(pid_path);
		remove_program(path);
	}
}

/* The kernel then reaps children by itself. */
Test(functions, an_application_that_ignores_sigchld, .timeout = 120)
{
	char path[200];
	const struct warder_function row = { "a", path };
	struct warder_error err;

	make_program(path, sizeof(path), "echo 5");
	signal(SIGCHLD, SIG_IGN);
	cr_assert_eq(open_with(&row, 1, &err), 0);
	put("{\"id\":1,\"name\":\"a\"}\n", 20);
	await_lines(1);
	cr_expect_str_eq(talk.got, "{\"id\":1,\"result\":5}\n");
	cr_expect_eq(end().answered, 1);
	signal(SIGCHLD, SIG_DFL);
	remove_program(path);
}

Test(functions, an_application_that_waits_for_any_child, .timeout = 120)
{
	char path[200];
	const struct warder_function row = { "a", path };
	const uint64_t until_us = clock_us() + PATIENCE_US;
	struct warder_error err;

	make_program(path, sizeof(path), "echo 5");
	cr_assert_eq(open_with(&row, 1, &err), 0);
	put("{\"id\":1,\"name\":\"a\"}\n", 20);
	cr_assert(serve(1000));
	/* A child that it can wait for is taken before anything is served. */
	while (waitpid(-1, NULL, WNOHANG) == 0 && clock_us() < until_us)
		usleep(1000);
	await_lines(1);
	cr_expect_str_eq(talk.got, "{\"id\":1,\"result\":5}\n");
	cr_expect_eq(end().answered, 1);
	remove_program(path);
}

/* A process that the application forked has the same open files, and so keeps them in an epoll set from which they are not taken. */
Test(functions, a_forked_process_does_not_keep_the_supervisor_busy, .timeout = 120)
{
	char path[200], text[300];
	const struct warder_function row = { "a", path };
	struct warder_error err;
	int rounds = 0, gate[2];
	pid_t copy;

	make_program(path, sizeof(path), "until [ -e $0.go ]; do sleep 0.02; done; echo 5");
	snprintf(text, sizeof(text), "%s.go", path);
	cr_assert_eq(open_with(&row, 1, &err), 0);
	put("{\"id\":1,\"name\":\"a\"}\n", 20);
	while (serve(100))
		continue;
	cr_assert_eq(pipe(gate), 0);
	copy = fork();
	if (copy == 0) {
		close(gate[1]);
		_exit((int)read(gate[0], &rounds, 1));
	}
	close(gate[0]);
	fclose(fopen(text, "we"));
	await_lines(1);
	cr_expect_str_eq(talk.got, "{\"id\":1,\"result\":5}\n");
	while (rounds < 1000 && serve(100))
		rounds++;
	cr_expect(rounds < 1000, "there is always something to do");
	close(gate[1]);
	cr_expect_eq(waitpid(copy, NULL, 0), copy);
	end();
	unlink(text);
	remove_program(path);
}

static int kernel_holds_children; /* for so many looks */

/* In place of the C library's. */
pid_t waitpid(pid_t pid, int *status, int options)
{
	return kernel_holds_children > 0 && kernel_holds_children-- ? 0 : wait4(pid, status, options, NULL);
}

Test(functions, a_killed_program_that_does_not_die_is_reaped_later_and_keeps_its_place, .timeout = 120)
{
	char path[200];
	const struct warder_function rows[] = { { "a", path }, { "b", NULL } };
	const uint64_t until_us = clock_us() + PATIENCE_US;
	struct warder_error err;

	make_program(path, sizeof(path), "exec sleep 1000");
	time_us = 1000;
	cr_assert_eq(open_with(rows, 2, &err), 0);
	talk.answers = 0;
	kernel_holds_children = INT_MAX;
	for (int i = 0; i < 6; i++)
		put("{\"id\":1,\"name\":\"a\"}\n", 20);
	await_lines(4);
	for (int i = 0; i < 20; i++)
		serve(20);
	await_lines(4);
	cr_expect(has_children());
	kernel_holds_children = 0;
	await_lines(6);
	while (has_children() && clock_us() < until_us)
		serve(20);
	cr_expect(!has_children(), "a child is never reaped");
	cr_expect_eq(end().timed_out, 6);
	remove_program(path);
}

/* Nobody but its tracer can wait for a traced process. */
Test(functions, a_killed_program_that_is_not_gone_keeps_its_place, .timeout = 120)
{
	char path[200], pid_path[220], go_path[220];
	const struct warder_function rows[] = { { "a", path }, { "b", NULL } };
	const uint64_t until_us = clock_us() + PATIENCE_US;
	bool traced;
	int pid, status;

	pid = begin_program(path, sizeof(path), pid_path, sizeof(pid_path),
			    WRITE_PID("$$") "until [ -e $0.go ]; do sleep 0.02; done; yes", rows, 2);
	snprintf(go_path, sizeof(go_path), "%s.go", path);
	cr_assert(pid > 0);
	traced = ptrace(PTRACE_SEIZE, pid, NULL, NULL) == 0;
	fclose(fopen(go_path, "we"));
	while (!talk.len && clock_us() < until_us) {
		if (traced && waitpid(pid, &status, WNOHANG | __WALL) == pid && WIFSTOPPED(status))
			ptrace(PTRACE_CONT, pid, NULL, WSTOPSIG(status));
		serve(20);
		take();
	}
	cr_expect(strstr(talk.got, "the answer is too long"), "%.200s", talk.got);
	talk.answers = 0;
	for (int i = 0; i < 20; i++)
		serve(20);
	for (int i = 0; i < 6; i++)
		put("{\"id\":1,\"name\":\"b\"}\n", 20);
	while (serve(100))
		continue;
	if (traced)
		cr_expect_eq(talk.calls, 3, "%zu", talk.calls);
	/* Until it has ended, this waits for its stops. */
	for (status = 0x7f; traced && waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status);)
		ptrace(PTRACE_CONT, pid, NULL, NULL);
	while (talk.calls < 4 && clock_us() < until_us)
		serve(20);
	cr_expect_eq(talk.calls, 4, "%zu", talk.calls);
	end();
	cr_expect(!has_children());
	unlink(go_path);
	unlink(pid_path);
	remove_program(path);
	if (!traced)
		cr_skip_test("no process may be traced here");
}

Test(functions, a_closed_descriptor_ends_the_programs_that_answer, .timeout = 120)
{
	char path[200], pid_path[220];
	const struct warder_function row = { "a", path };

	cr_assert(begin_program(path, sizeof(path), pid_path, sizeof(pid_path),
				WRITE_PID("$$") "exec sleep 1000", &row, 1) > 0);
	fd_done(&talk.fd);
	kernel_holds_children = INT_MAX;
	for (int i = 0; i < 20 && !talk.over; i++)
		serve(20);
	cr_expect(!talk.over, "nobody waits for it");
	kernel_holds_children = 0;
	for (int i = 0; i < 600 && !talk.over; i++)
		serve(100);
	cr_expect(talk.over, "it goes on");
	cr_expect(!has_children(), "nobody waits for it");
	cr_expect_eq(end().failed, 1);
	unlink(pid_path);
	remove_program(path);
}

Test(functions, the_end_of_the_run_waits_for_the_programs_that_answer, .timeout = 120)
{
	char path[200], pid_path[220];
	const struct warder_function row = { "a", path };
	const uint64_t until_us = clock_us() + PATIENCE_US;
	struct functions_count count;

	cr_assert(begin_program(path, sizeof(path), pid_path, sizeof(pid_path),
				WRITE_PID("$$") "exec sleep 1000", &row, 1) > 0);
	/* Each wait is limited; on a loaded machine the program may take longer. */
	kernel_holds_children = 1;
	functions_end(talk.functions, &count);
	while (has_children() && clock_us() < until_us)
		functions_end(talk.functions, &count);
	cr_expect(!has_children(), "nobody waits for it");
	cr_expect_eq(count.failed, 1);
	end();
	unlink(pid_path);
	remove_program(path);
}

static bool nothing_can_be_watched;

/* In place of the C library's. */
int epoll_ctl(int epoll_fd, int op, int fd, struct epoll_event *event)
{
	if (nothing_can_be_watched && op == EPOLL_CTL_ADD) {
		errno = ENOSPC;
		return -1;
	}
	return (int)syscall(SYS_epoll_ctl, epoll_fd, op, fd, event);
}

/* As with fs.epoll.max_user_watches. The places become free although no descriptor says so. */
Test(functions, a_program_that_cannot_be_watched_gives_its_place_back, .timeout = 120)
{
	char path[200];
	const struct warder_function rows[] = { { "a", path }, { "b", NULL } };
	struct warder_error err;

	make_program(path, sizeof(path), "exec sleep 1000");
	cr_assert_eq(open_with(rows, 2, &err), 0);
	nothing_can_be_watched = true;
	for (int i = 0; i < 10; i++)
		put("{\"id\":1,\"name\":\"a\"}\n", 20);
	await_lines(10);
	nothing_can_be_watched = false;
	put("{\"id\":2,\"name\":\"b\"}\n", 20);
	await_lines(11);
	cr_expect(strstr(talk.got, "{\"id\":2,\"result\":null}"), "%s", talk.got);
	cr_expect_eq(end().failed, 10);
	cr_expect(!has_children());
	remove_program(path);
}

Test(functions, a_call_without_an_answer_in_time, .timeout = 120)
{
	char path[200];
	const struct warder_function rows[] = { { "a", path }, { "b", NULL } };
	struct functions_count count;
	struct warder_error err;

	make_program(path, sizeof(path), "echo 1; exec sleep 1000");
	time_us = 100000;
	cr_assert_eq(open_with(rows, 2, &err), 0);
	talk.answers = 0;
	put("{\"id\":1,\"name\":\"a\"}\n", 20);
	put("{\"id\":2,\"name\":\"b\"}\n", 20);
	await_lines(2);
	cr_expect(strstr(talk.got, "{\"id\":1,\"error\":{\"kind\":\"timeout\""), "%s", talk.got);
	cr_expect(strstr(talk.got, "{\"id\":2,\"error\":{\"kind\":\"timeout\""), "%s", talk.got);
	cr_expect_eq(functions_answer(talk.functions, talk.last_call, "1", NULL, &err), -1,
		     "it is answered late");
	put("{\"id\":3,\"name\":\"c\"}\n", 20);
	await_lines(3);
	count = end();
	cr_expect_eq(count.timed_out, 2);
	cr_expect_eq(count.refused, 1);
	remove_program(path);
}

Test(functions, what_is_refused_before_the_launch, .timeout = 60)
{
	static const struct row {
		struct warder_function rows[2];
		size_t count;
		const char *text;
	} rows[] = {
		{ { { "c", "/bin/true" } }, 1, "the policy does not grant the function c; add it" },
		{ { { NULL, "/bin/true" } }, 1, "does not grant the function NULL" },
		{ { { "a", "/bin/true" }, { "a", "/bin/true" } }, 2, "the function a is given twice" },
		{ { { "a", "/nosuch" } }, 1, "/nosuch is not a program that can be executed" },
		{ { { "a", "/etc/passwd" } }, 1, "/etc/passwd is not a program that can be executed" },
		{ { { "a", "/bin" } }, 1, "/bin is not a program that can be executed" },
		{ { { "a", "nosuch-program" } }, 1, "nosuch-program is not a program" },
	};
	struct warder_error err;

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		cr_expect_eq(open_with(rows[i].rows, rows[i].count, &err), -1, "row %zu", i);
		cr_expect_eq(err.code, WARDER_ERROR_INVALID_REQUEST);
		cr_expect_str_eq(err.field, "functions");
		cr_expect(strstr(err.text, rows[i].text), "%s", err.text);
	}
}
