/* Run a shell command in a session that stays, follow it, and pass standard input on to it. Interrupt this program: the
 * command goes on, and `./a.out SESSION ID` follows it again.
 *     cc example-execution.c -lwarder && ./a.out SESSION 'read name; echo "hello $name"' */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <warder.h>

struct talk {
	struct warder_execution *execution;
	char line[4096]; /* input that was read, and is not passed on yet */
	long len;
	int ended;
};

static int fail(const struct warder_error *err)
{
	fprintf(stderr, "%s: %s\n", warder_error_kind_name(err->code), err->text);
	return -1;
}

static int on_output(void *context, enum warder_stream stream, uint64_t offset, const char *bytes, size_t len)
{
	(void)context;
	(void)offset;
	return fwrite(bytes, 1, len, stream == WARDER_STDOUT ? stdout : stderr) == len ? 0 : 1;
}

static void on_gap(void *context, enum warder_stream stream, uint64_t from, uint64_t to)
{
	(void)context;
	(void)stream;
	fprintf(stderr, "[%llu bytes are missing]\n", (unsigned long long)(to - from));
}

static long on_input(void *context, char *bytes, size_t size)
{
	struct talk *talk = context;
	long len = talk->len;

	if (len == 0)
		return talk->ended ? -1 : 0;
	(void)size; /* it is larger than our buffer */
	memcpy(bytes, talk->line, (size_t)len);
	talk->len = 0;
	return len;
}

static void read_input(struct talk *talk)
{
	talk->len = read(STDIN_FILENO, talk->line, sizeof(talk->line));
	if (talk->len <= 0) {
		talk->len = 0;
		talk->ended = 1;
	}
	warder_execution_input_ready(talk->execution);
}

static int follow(struct talk *talk, struct warder_error *err)
{
	struct warder_attach attach = { .size = sizeof(attach),
					.on_output = on_output,
					.on_gap = on_gap,
					.on_input = on_input,
					.context = talk };
	struct warder_result *result;
	int done = warder_execution_attach(talk->execution, &attach, NULL, err);

	while (done == 0) {
		struct pollfd fds[2] = { { warder_execution_fd(talk->execution, err), POLLIN, 0 },
					 { talk->ended || talk->len ? -1 : STDIN_FILENO, POLLIN, 0 } };

		if (fds[0].fd < 0)
			return -1;
		poll(fds, 2, -1);
		if (fds[1].revents)
			read_input(talk);
		done = warder_execution_dispatch(talk->execution, &result, err);
	}
	if (done < 0)
		return -1;
	printf("%s (%s)\n", warder_result_status(result), warder_result_cause(result));
	warder_result_free(result);
	return 0;
}

static int start(const char *name, const char *script, struct warder_execution **ret,
		 struct warder_error *err)
{
	char *argv[] = { "sh", "-c", (char *)script, NULL };
	struct warder_execution_command command = { .size = sizeof(command), .argv = argv, .keep_input = 1 };
	struct warder_session_options options = { .size = sizeof(options), .program = getenv("WARDER") };
	struct warder_session *session = NULL;
	struct warder_policy *policy = NULL;
	int status = warder_policy_preset("strict", &policy, err);

	options.policy = policy;
	if (status == 0)
		status = warder_session_start(name, &options, &session, err);
	if (status == 0)
		status = warder_execution_start(session, &command, ret, err);
	warder_session_free(session);
	warder_policy_free(policy);
	return status;
}

int main(int argc, char **argv)
{
	struct talk talk = { 0 };
	struct warder_error err;
	int status = -1;

	if (argc != 3) {
		fprintf(stderr, "usage: %s SESSION COMMAND|ID\n", argv[0]);
		return EXIT_FAILURE;
	}
	if (warder_execution_open(argv[2], &talk.execution, &err) == 0 ||
	    start(argv[1], argv[2], &talk.execution, &err) == 0) {
		fprintf(stderr, "execution %s\n", warder_execution_id(talk.execution));
		status = follow(&talk, &err);
	}
	if (status != 0)
		fail(&err);
	warder_execution_free(talk.execution);
	return status == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
