/*
 * contexts: what a context of Python costs, for contexts.py. Private to tests/bench/.
 *
 *   contexts WARDER SESSION    starts the session with a context "py", and prints an empty line. Then, for each line of standard input, it
 *                              prints a line of JSON: microseconds of PIECES pieces, one after the other, of a fork and of a start
 *
 * A piece goes through the library to the keeper, into the context and back, over connections that are open. A start ends when the interpreter
 * takes pieces.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <warder.h>

#define SOURCE "n = 1\nn"
#define PIECES 20

static struct warder_error err;

static int fail(const char *what)
{
	fprintf(stderr, "contexts: %s: %s\n", what, err.text);
	return 1;
}

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int run(struct warder_context *context, const char *code)
{
	const struct warder_piece piece = { .size = sizeof(piece), .code = code };
	struct warder_piece_end end = { .size = sizeof(end) };

	if (warder_context_begin(context, &piece, &err) != 0 ||
	    warder_context_wait_for(context, UINT64_MAX, &end, NULL, &err) != 1)
		return -1;
	if (end.status != WARDER_PIECE_SUCCESS)
		snprintf(err.text, sizeof(err.text), "the piece failed");
	return end.status == WARDER_PIECE_SUCCESS ? 0 : -1;
}

static int measure(struct warder_session *session, struct warder_context *context, int round)
{
	struct warder_context *branch = NULL, *started = NULL;
	double pieces[PIECES], begin, fork, start;
	char name[32];

	for (int i = 0; i < PIECES; i++) {
		begin = now_us();
		if (run(context, SOURCE) != 0)
			return fail("a piece");
		pieces[i] = now_us() - begin;
	}
	snprintf(name, sizeof(name), "branch%d", round);
	begin = now_us();
	if (warder_context_fork(context, name, 0, &branch, &err) != 0)
		return fail("a fork");
	fork = now_us() - begin;
	snprintf(name, sizeof(name), "started%d", round);
	begin = now_us();
	if (warder_context_create(session, name, NULL, &started, &err) != 0)
		return fail("a start");
	start = now_us() - begin;
	if (warder_context_delete(branch, &err) != 0 || warder_context_delete(started, &err) != 0)
		return fail("the end of a context");
	warder_context_free(branch);
	warder_context_free(started);
	printf("{\"pieces\": [");
	for (int i = 0; i < PIECES; i++)
		printf("%s%.1f", i ? ", " : "", pieces[i]);
	printf("], \"fork\": %.1f, \"start\": %.1f}\n", fork, start);
	fflush(stdout);
	return 0;
}

int main(int argc, char **argv)
{
	struct warder_policy *policy = NULL;
	struct warder_session *session = NULL;
	struct warder_context *context = NULL;
	struct warder_session_options options = { .size = sizeof(options) };
	char line[8];
	int status;

	if (argc != 3)
		return 2;
	options.program = argv[1];
	if (warder_policy_preset("strict", &policy, &err) != 0)
		return fail("the policy");
	options.policy = policy;
	if (warder_session_start(argv[2], &options, &session, &err) != 0)
		return fail("the session");
	status = warder_context_create(session, "py", NULL, &context, &err) != 0 ? fail("a context") : 0;
	for (int i = 0; i < 50 && status == 0; i++)
		status = run(context, SOURCE) != 0 ? fail("a piece") : 0;
	puts("");
	fflush(stdout);
	for (int i = 0; status == 0 && fgets(line, sizeof(line), stdin); i++)
		status = measure(session, context, i);
	warder_context_free(context);
	warder_session_free(session);
	if (warder_session_stop(argv[2], &err) != 0)
		status = fail("the end of the session");
	warder_policy_free(policy);
	return status;
}
