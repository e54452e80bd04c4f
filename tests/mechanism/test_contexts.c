/*
 * contexts: interpreters that keep their variables, through warder.h alone.
 */
#include <poll.h>

#include "base/clock.h"
#include "tests/lib/library.h"

struct conversation {
	struct library_session session;
	struct warder_context *context;
	struct warder_error err;
	char out[4096];
	size_t out_len;
	char shown[4096], prompt[200];
	unsigned asked;
	int refuse;
};

static int take_output(void *context, enum warder_stream stream, uint64_t offset, const char *bytes,
		       size_t len)
{
	struct conversation *talk = context;

	if (stream == WARDER_STDOUT && talk->out_len + len < sizeof(talk->out)) {
		memcpy(talk->out + talk->out_len, bytes, len);
		talk->out_len += len;
		talk->out[talk->out_len] = '\0';
	}
	return talk->refuse;
}

static void take_shown(void *context, const char *bundle, size_t len)
{
	struct conversation *talk = context;

	snprintf(talk->shown, sizeof(talk->shown), "%.*s", (int)len, bundle);
}

static void take_prompt(void *context, const char *prompt, size_t len)
{
	struct conversation *talk = context;

	snprintf(talk->prompt, sizeof(talk->prompt), "%.*s", (int)len, prompt);
	talk->asked++;
}

static void talk_begin(struct conversation *talk)
{
	struct warder_context_options options = { .size = sizeof(options), .language = "py" };

	memset(talk, 0, sizeof(*talk));
	if (access("/usr/bin/python3", X_OK) != 0)
		library_skip("there is no Python on this machine");
	library_session_begin(&talk->session, "contexts");
	cr_assert_eq(warder_context_create(talk->session.session, "py", &options, &talk->context, &talk->err),
		     0, "%s", talk->err.text);
}

static void talk_end(struct conversation *talk)
{
	warder_context_free(talk->context);
	library_session_end(&talk->session);
}

static void begin(struct conversation *talk, const char *code, uint64_t timeout_us)
{
	const struct warder_piece piece = {
		.size = sizeof(piece),
		.code = code,
		.timeout_us = timeout_us,
		.on_output = take_output,
		.on_shown = take_shown,
		.on_ask = take_prompt,
		.context = talk,
	};

	talk->out_len = 0;
	talk->out[0] = talk->shown[0] = '\0';
	cr_assert_eq(warder_context_begin(talk->context, &piece, &talk->err), 0, "%s", talk->err.text);
}

static struct warder_piece_end end_of(struct conversation *talk, char **json)
{
	struct warder_piece_end end = { .size = sizeof(end) };

	cr_assert_eq(warder_context_wait_for(talk->context, 60000000, &end, json, &talk->err), 1, "%s",
		     talk->err.text);
	return end;
}

static enum warder_piece_status run(struct conversation *talk, const char *code)
{
	begin(talk, code, 0);
	return end_of(talk, NULL).status;
}

Test(contexts, keep_variables_between_pieces, .init = library_begin_sessions, .fini = library_end_sessions,
     .timeout = 120)
{
	struct conversation talk;
	struct warder_context *other = NULL;
	struct warder_piece_end end;
	char *json = NULL;

	talk_begin(&talk);
	cr_expect_eq(run(&talk, "x = 6"), WARDER_PIECE_SUCCESS);
	begin(&talk, "print('seen')\nimport sys; print('error', file=sys.stderr)\nx * 7", 0);
	end = end_of(&talk, &json);
	cr_expect_eq(end.status, WARDER_PIECE_SUCCESS);
	cr_expect_eq(end.piece, 2);
	cr_expect_eq(end.bytes[0], 5);
	cr_expect_eq(end.bytes[1], 6);
	cr_expect_str_eq(talk.out, "seen\n");
	cr_assert(json && strstr(json, "\"status\":\"success\"") && strstr(json, "\"text/plain\":\"42\"") &&
		      strstr(json, "\"stdoutBytes\":5,\"stderrBytes\":6"),
		  "%s", json);
	free(json);
	cr_expect_eq(run(&talk, "1 / 0"), WARDER_PIECE_FAILED);
	/* Another handle finds the same variables. */
	cr_assert_eq(warder_context_open(talk.session.name, "py", &other, &talk.err), 0, "%s", talk.err.text);
	warder_context_free(talk.context);
	talk.context = other;
	cr_expect_str_eq(warder_context_name(other), "py");
	cr_expect_eq(run(&talk, "print(x)"), WARDER_PIECE_SUCCESS);
	cr_expect_str_eq(talk.out, "6\n");
	json = warder_context_json(other, &talk.err);
	cr_assert(json && strstr(json, "\"pieces\":4"), "%s", json ? json : talk.err.text);
	free(json);
	talk_end(&talk);
}

Test(contexts, a_loop_shows_and_answers, .init = library_begin_sessions, .fini = library_end_sessions,
     .timeout = 120)
{
	struct conversation talk;
	struct warder_piece_end end = { .size = sizeof(end) };
	int done = 0;

	talk_begin(&talk);
	begin(&talk,
	      "class H:\n    def _repr_html_(self): return '<b>7</b>'\n"
	      "display(H())\nprint('hello', input('name? '))",
	      0);
	while (done == 0) {
		struct pollfd ready = { .fd = warder_context_fd(talk.context, &talk.err), .events = POLLIN };

		cr_assert(ready.fd >= 0, "%s", talk.err.text);
		cr_assert_eq(poll(&ready, 1, 60000), 1, "nothing to do");
		done = warder_context_dispatch(talk.context, &end, NULL, &talk.err);
		cr_assert(done >= 0, "%s", talk.err.text);
		if (talk.asked == 1) {
			talk.asked++;
			cr_assert_eq(warder_context_answer(talk.context, "Ada", 3, &talk.err), 0, "%s",
				     talk.err.text);
		}
	}
	cr_expect_eq(end.status, WARDER_PIECE_SUCCESS);
	cr_expect_eq(talk.asked, 2);
	cr_expect_str_eq(talk.prompt, "name? ");
	cr_expect(strstr(talk.out, "hello Ada\n") != NULL, "%s", talk.out);
	cr_expect(strstr(talk.shown, "<b>7</b>") != NULL, "%s", talk.shown);
	talk_end(&talk);
}

Test(contexts, pieces_that_do_not_end_by_themselves, .init = library_begin_sessions,
     .fini = library_end_sessions, .timeout = 120)
{
	struct conversation talk;
	struct warder_piece_end end = { .size = sizeof(end) };
	const uint64_t before = clock_us();

	talk_begin(&talk);
	begin(&talk, "kept = 1\nimport time; time.sleep(1000)", 0);
	cr_expect_eq(warder_context_wait_for(talk.context, 200000, &end, NULL, &talk.err), 0);
	cr_expect(clock_us() - before >= 200000);
	cr_assert_eq(warder_context_interrupt(talk.context, &talk.err), 0, "%s", talk.err.text);
	end = end_of(&talk, NULL);
	cr_expect_eq(end.status, WARDER_PIECE_FAILED);
	cr_expect_eq(end.interrupted, 1);
	begin(&talk, "while True: pass", 200000);
	end = end_of(&talk, NULL);
	cr_expect_eq(end.status, WARDER_PIECE_TIMEOUT);
	cr_expect_eq(run(&talk, "print(kept)"), WARDER_PIECE_SUCCESS);
	cr_expect_str_eq(talk.out, "1\n");
	begin(&talk, "import os; os._exit(3)", 0);
	cr_expect_eq(end_of(&talk, NULL).status, WARDER_PIECE_KILLED);
	cr_assert_eq(warder_context_restart(talk.context, &talk.err), 0, "%s", talk.err.text);
	cr_expect_eq(run(&talk, "kept"), WARDER_PIECE_FAILED, "the variables are gone");
	cr_assert_eq(warder_context_delete(talk.context, &talk.err), 0, "%s", talk.err.text);
	talk_end(&talk);
}

/* MiB that the context has resident. */
static unsigned long resident(struct conversation *talk)
{
	cr_expect_eq(run(talk, "import resource\n"
			       "pages = int(open('/proc/self/statm').read().split()[1])\n"
			       "print(pages * resource.getpagesize() >> 20)"),
		     WARDER_PIECE_SUCCESS);
	return strtoul(talk->out, NULL, 10);
}

/* The interpreter keeps the source text of the last 1,000 pieces, for tracebacks, so memory must not grow after that. */
Test(contexts, ten_thousand_pieces, .init = library_begin_sessions, .fini = library_end_sessions,
     .timeout = 600)
{
	const uint32_t pieces = 10000;
	struct conversation talk;
	struct warder_piece_end end = { .size = sizeof(end) };
	unsigned long before = 0;
	char code[2000];

	talk_begin(&talk);
	cr_expect_eq(run(&talk, "n = 0"), WARDER_PIECE_SUCCESS);
	snprintf(code, sizeof(code), "n += 1 # %01900d", 0);
	for (uint32_t i = 0; i < pieces; i++) {
		cr_assert_eq(run(&talk, code), WARDER_PIECE_SUCCESS, "piece %u", i);
		if (i == pieces / 5)
			before = resident(&talk);
	}
	cr_expect_leq(resident(&talk), before + 4, "it had %lu MiB", before);
	begin(&talk, "print(n)", 0);
	end = end_of(&talk, NULL);
	cr_expect_str_eq(talk.out, "10000\n");
	cr_expect_eq(end.piece, pieces + 4);
	talk_end(&talk);
}

Test(contexts, wrong_use_is_an_error, .init = library_begin_sessions, .fini = library_end_sessions,
     .timeout = 120)
{
	struct conversation talk;
	struct warder_context *other = NULL;
	struct warder_piece_end end = { .size = sizeof(end) };
	struct warder_context_options options = { .size = sizeof(options), .language = "cobol" };
	struct warder_piece piece = { .size = sizeof(piece), .code = "1", .at_once = 1 };

	talk_begin(&talk);
	cr_expect_eq(warder_context_create(talk.session.session, "c", &options, &other, &talk.err), -1);
	cr_expect(strstr(talk.err.text, "cobol") != NULL, "%s", talk.err.text);
	cr_expect_eq(warder_context_create(talk.session.session, "py", NULL, &other, &talk.err), -1);
	cr_expect_eq(talk.err.code, WARDER_ERROR_CONFLICT, "%s", talk.err.text);
	cr_expect_eq(warder_context_open(talk.session.name, "none", &other, &talk.err), -1);
	cr_expect_eq(talk.err.code, WARDER_ERROR_NOT_FOUND, "%s", talk.err.text);
	cr_expect_eq(warder_context_dispatch(talk.context, &end, NULL, &talk.err), -1);
	cr_expect_eq(talk.err.code, WARDER_ERROR_CONFLICT, "%s", talk.err.text);
	cr_expect_eq(warder_context_answer(talk.context, "x", 1, &talk.err), -1);
	cr_expect_eq(talk.err.code, WARDER_ERROR_CONFLICT, "%s", talk.err.text);
	cr_expect_eq(warder_context_interrupt(talk.context, &talk.err), -1);
	cr_expect_eq(talk.err.code, WARDER_ERROR_CONFLICT, "%s", talk.err.text);
	begin(
	    &talk,
	    "import time\ntry: print('sleeps', flush=True); time.sleep(1000)\nexcept KeyboardInterrupt: pass",
	    0);
	for (int i = 0; i < 600 && talk.out_len == 0; i++)
		cr_assert_eq(warder_context_wait_for(talk.context, 100000, &end, NULL, &talk.err), 0);
	cr_expect_eq(warder_context_begin(talk.context, &piece, &talk.err), -1);
	cr_expect_eq(talk.err.code, WARDER_ERROR_CONFLICT, "%s", talk.err.text);
	cr_expect_eq(warder_context_restart(talk.context, &talk.err), -1);
	cr_expect_eq(talk.err.code, WARDER_ERROR_CONFLICT, "%s", talk.err.text);
	/* Another handle's piece does not wait if it is not to. */
	cr_assert_eq(warder_context_open(talk.session.name, "py", &other, &talk.err), 0, "%s", talk.err.text);
	cr_expect_eq(warder_context_begin(other, &piece, &talk.err), -1);
	cr_expect_eq(talk.err.code, WARDER_ERROR_CONFLICT, "%s", talk.err.text);
	piece.at_once = 0;
	cr_assert_eq(warder_context_begin(other, &piece, &talk.err), 0, "%s", talk.err.text);
	cr_assert_eq(warder_context_interrupt(talk.context, &talk.err), 0, "%s", talk.err.text);
	cr_expect_eq(end_of(&talk, NULL).status, WARDER_PIECE_SUCCESS);
	cr_expect_eq(warder_context_wait_for(other, 60000000, &end, NULL, &talk.err), 1, "%s", talk.err.text);
	cr_expect_eq(end.piece, 2);
	/* A caller that refuses its output gets its piece to the end. */
	talk.refuse = 7;
	begin(&talk, "print('a')", 0);
	cr_expect_eq(warder_context_wait_for(talk.context, 60000000, &end, NULL, &talk.err), -1);
	cr_expect_eq(talk.err.code, WARDER_ERROR_EXECUTION_FAILED, "%s", talk.err.text);
	talk.refuse = 0;
	cr_expect_eq(end_of(&talk, NULL).status, WARDER_PIECE_SUCCESS);
	/* The session ends while a piece runs. */
	begin(&talk, "time.sleep(1000)", 0);
	cr_assert_eq(warder_session_stop(talk.session.name, &talk.err), 0, "%s", talk.err.text);
	cr_expect_eq(end_of(&talk, NULL).status, WARDER_PIECE_KILLED);
	cr_expect_eq(warder_context_begin(talk.context, &piece, &talk.err), -1);
	cr_expect_eq(talk.err.code, WARDER_ERROR_UNAVAILABLE, "%s", talk.err.text);
	cr_expect_eq(warder_context_fd(talk.context, &talk.err), -1);
	warder_context_free(other);
	talk_end(&talk);
}

Test(contexts, fork_into_branches, .init = library_begin_sessions, .fini = library_end_sessions,
     .timeout = 120)
{
	struct conversation talk, branch;
	struct warder_context *other = NULL;

	talk_begin(&talk);
	branch = talk;
	cr_expect_eq(run(&talk, "import random; random.seed(1); x = 1"), WARDER_PIECE_SUCCESS);
	cr_expect_eq(warder_context_fork(talk.context, "try", 2, &other, &talk.err), -1);
	cr_assert_eq(
	    warder_context_fork(talk.context, "try", WARDER_FORK_KEEP_SEED, &branch.context, &talk.err), 0,
	    "%s", talk.err.text);
	cr_expect_str_eq(warder_context_name(branch.context), "try");
	cr_expect_eq(run(&branch, "x += 1; print(x)"), WARDER_PIECE_SUCCESS);
	cr_expect_str_eq(branch.out, "2\n");
	cr_expect_eq(run(&talk, "print(x)"), WARDER_PIECE_SUCCESS);
	cr_expect_str_eq(talk.out, "1\n");
	cr_expect_eq(warder_context_fork(talk.context, "try", 0, &other, &talk.err), -1);
	cr_expect_eq(talk.err.code, (unsigned)WARDER_ERROR_CONFLICT, "%s", talk.err.text);
	cr_expect_eq(warder_context_delete(branch.context, &talk.err), 0, "%s", talk.err.text);
	warder_context_free(branch.context);
	talk_end(&talk);
}
