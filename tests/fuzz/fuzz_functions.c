/* functions: whatever a program writes to its descriptor, each line that is not empty gets one answer, which is JSON, and nothing blocks. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "runtime/library/functions.h"
#include "tests/fuzz/fuzz.h"

static struct functions *functions;

static void on_call(void *context, uint64_t call, const char *name, const char *arguments)
{
	struct warder_error err;

	must(strcmp(name, "a") == 0);
	must(functions_answer(functions, call, arguments, *arguments == '1' ? "no" : NULL, &err) == 0);
	must(functions_answer(functions, call, arguments, NULL, &err) == -1);
}

/* An answer is JSON with an id, and with either of the others. */
static void check_answer(const char *text, size_t len)
{
	struct json_value *answer = NULL;
	struct warder_error err;

	must(json_parse(text, len, "answer", &(struct json_limits){ .max_depth = 100 }, &answer, &err) == 0);
	must(json_member(answer, "id") && !json_member(answer, "result") == !!json_member(answer, "error"));
	json_free(answer);
}

/* Everything that there is to read. The number of whole lines. */
static size_t take_answers(int fd, char *line, size_t size, size_t *len)
{
	size_t count = 0;
	ssize_t n;

	while ((n = read(fd, line + *len, size - *len)) > 0) {
		char *newline;

		*len += (size_t)n;
		while ((newline = memchr(line, '\n', *len))) {
			check_answer(line, (size_t)(newline - line));
			*len -= (size_t)(newline + 1 - line);
			memmove(line, newline + 1, *len);
			count++;
		}
		must(*len < size);
	}
	return count;
}

static size_t count_lines(const uint8_t *data, size_t size)
{
	size_t count = 0;

	for (size_t at = 0, begin = 0; at < size; at++)
		if (data[at] == '\n') {
			count += at > begin;
			begin = at + 1;
		}
	return count;
}

/* The program's end. */
static int open_talk(void)
{
	static char *names[] = { (char *)"a" };
	const struct policy policy = { .functions = { names, 1 } };
	const struct warder_function row = { .name = "a" };
	const struct library_functions asked = { .rows = &row, .count = 1, .on_call = on_call };
	struct warder_error err;
	int program_fd, fd;

	must(functions_open(&asked, &policy, &functions, &program_fd, &err) == 0);
	fd = dup(program_fd);
	must(fd >= 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
	functions_launched(functions);
	return fd;
}

static void listen_to_all(const uint8_t *data, size_t size)
{
	static char line[2 << 20];
	struct functions_count count;
	size_t answers = 0, len = 0, sent = 0;
	bool goes_on = true;
	int fd = open_talk();

	while (goes_on) {
		struct pollfd ready = { .fd = functions_fd(functions), .events = POLLIN };
		const ssize_t n = sent < size ? send(fd, data + sent, size - sent, MSG_NOSIGNAL) : 0;

		sent += n > 0 ? (size_t)n : 0;
		if (sent == size && poll(&ready, 1, 0) == 0)
			break;
		goes_on = functions_serve(functions);
		answers += take_answers(fd, line, sizeof(line), &len);
	}
	must(goes_on && len == 0);
	functions_end(functions, &count);
	must(answers == count_lines(data, size));
	must(count.answered + count.failed + count.refused == answers && count.timed_out == 0);
	functions_free(functions);
	fd_done(&fd);
}

/* The program takes no answer: it shuts its end, or closes it, before anything is served. */
static void leave_early(const uint8_t *data, size_t size, bool closes)
{
	struct pollfd ready;
	struct functions_count count;
	int fd = open_talk();
	const ssize_t sent = send(fd, data, size, MSG_NOSIGNAL);

	must(sent >= 0 || size == 0 || errno == EAGAIN);
	shutdown(fd, SHUT_RD);
	if (closes)
		fd_done(&fd);
	ready = (struct pollfd){ .fd = functions_fd(functions), .events = POLLIN };
	while (poll(&ready, 1, 0) > 0 && functions_serve(functions))
		continue;
	functions_end(functions, &count);
	must(count.answered + count.failed + count.refused <= count_lines(data, size));
	functions_free(functions);
	fd_done(&fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	listen_to_all(data, size);
	leave_early(data, size, false);
	leave_early(data, size, true);
	return 0;
}
