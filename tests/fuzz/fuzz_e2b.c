/* e2b: messages of processes, files and the interpreter, and signatures: a message that is refused is refused with a reason,
 * and what is written is one JSON document per line or message. The input: a byte that chooses the message, and the message. */
#include "host/wire/filesystem.h"
#include "host/wire/interpreter.h"
#include "host/wire/process.h"
#include "host/wire/signature.h"
#include "tests/fuzz/input.h"

static void must_be_json(const char *text, size_t len)
{
	const struct json_limits limits = { .max_bytes = (size_t)1 << 24, .max_depth = 64 };
	struct json_value *document = NULL;
	struct warder_error err;

	must(json_parse(text, len, "written", &limits, &document, &err) == 0);
	json_free(document);
}

static void must_be_written(struct json_writer *w)
{
	const size_t len = w->len;
	char *text = json_take(w);

	must(text);
	must_be_json(text, len);
	free(text);
}

static void must_be_lines(struct json_writer *w)
{
	const size_t len = w->len;
	char *text = json_take(w);

	for (size_t at = 0; at < len;) {
		const char *end = memchr(text + at, '\n', len - at);

		must(end && end != text + at);
		must_be_json(text + at, (size_t)(end - text) - at);
		at = (size_t)(end - text) + 1;
	}
	free(text);
}

static void check_process(enum process_call call, const struct fuzz_input *input)
{
	struct process_request request;
	struct json_writer w = { 0 };
	struct warder_error err = { 0 };

	if (process_parse(call, (const char *)input->at, input->left, &request, &err) < 0) {
		must(err.code == WARDER_ERROR_INVALID_REQUEST && err.text[0] && !request.document);
		return;
	}
	if (request.argv) {
		process_write_listed(&w,
				     &(struct process_listed){ .pid = 1,
							       .tag = request.tag,
							       .directory = request.directory,
							       .argv = (const char *const *)request.argv });
		must_be_written(&w);
	}
	if (request.input) {
		process_write_data(&w, PROCESS_STDOUT, request.input, request.input_len);
		must_be_written(&w);
	}
	process_request_done(&request);
}

static void check_filesystem(enum filesystem_call call, const struct fuzz_input *input)
{
	struct filesystem_request request;
	struct json_writer w = { 0 };
	struct warder_error err = { 0 };

	if (filesystem_parse(call, (const char *)input->at, input->left, &request, &err) < 0) {
		must(err.code == WARDER_ERROR_INVALID_REQUEST && err.text[0] && !request.document);
		return;
	}
	if (request.path) {
		const struct filesystem_entry entry = { .path = request.path,
							.modified_s = (int64_t)input->left << 40,
							.owner = "a",
							.group = "b",
							.link = request.destination };

		filesystem_write_watch_event(&w, request.path, FILESYSTEM_CREATED, &entry);
		must_be_written(&w);
	}
	filesystem_request_done(&request);
}

static void check_interpreter(const struct fuzz_input *input)
{
	struct interpreter_request request;
	struct interpreter_stream stream = { 0 };
	struct json_writer w = { 0 };
	struct warder_error err = { 0 };
	char *bytes = fuzz_text(input->at, input->left);

	if (interpreter_parse_execute((const char *)input->at, input->left, &request, &err) == 0)
		interpreter_write_result(&w, request.document, true);
	else
		must(err.code == WARDER_ERROR_INVALID_REQUEST && err.text[0]);
	interpreter_request_done(&request);
	/* Our own reader of JSON, which checks the lines, refuses a NUL in a text. */
	for (size_t at = 0; at < input->left; at++)
		bytes[at] = input->at[at] ? (char)input->at[at] : '0';
	for (size_t at = 0; at < input->left; at += 3) {
		interpreter_write_output(&w, &stream, at % 2, bytes + at,
					 input->left - at < 3 ? input->left - at : 3, at);
		must(stream.held_len <= 3);
	}
	free(bytes);
	interpreter_finish_output(&w, &stream, false, 0);
	must_be_lines(&w);
}

static void check_signature(struct fuzz_input *input)
{
	char *path = input_text(input);
	char *user = input_text(input);
	char *expiry = input_text(input);
	const struct signature_claim claim = { path, "read", user, *expiry ? expiry : NULL };
	char signature[SIGNATURE_SIZE];
	enum signature_verdict verdict;

	must(signature_make(&claim, "token", signature) && strlen(signature) == 46);
	verdict = signature_check(&claim, "token", signature, 0);
	must(verdict != SIGNATURE_WRONG);
	must(verdict == SIGNATURE_MALFORMED ||
	     signature_check(&claim, "other", signature, 0) == SIGNATURE_WRONG);
	free(path);
	free(user);
	free(expiry);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	unsigned which = input_byte(&input) % (PROCESS_CALLS + FILESYSTEM_CALLS + 2);

	if (which < PROCESS_CALLS)
		check_process((enum process_call)which, &input);
	else if ((which -= PROCESS_CALLS) < FILESYSTEM_CALLS)
		check_filesystem((enum filesystem_call)which, &input);
	else if (which == FILESYSTEM_CALLS)
		check_interpreter(&input);
	else
		check_signature(&input);
	return 0;
}
