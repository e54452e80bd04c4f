/*
 * record: what a client sends to a keeper. A record is refused, or its body has the size of its type; the words of a START are refused, or
 * there are as many as it says, each with an end, and a policy that can be written again. So are those of a piece of code.
 */
#include "tests/fuzz/input.h"

#include "runtime/session/execution_start.c" /* its reader of words is its own */

static void check_list(char *const *list, size_t count, const struct execution_words *words, size_t bytes)
{
	for (size_t i = 0; i < count; i++)
		must(list[i] >= words->bytes && list[i] + strlen(list[i]) < words->bytes + bytes);
	must(!list[count]);
}

static void check_words(struct record_start start, const char *bytes, size_t len)
{
	struct execution_words words = { 0 };
	struct warder_error err = { 0 };
	char *copy = malloc(len + 1);
	char *text;

	must(copy != NULL);
	memcpy(copy, bytes, len);
	copy[len] = '\0';
	start.bytes = len;
	if (take_words(&start, copy, &words, &err) == 0) {
		check_list(words.argv, start.argc, &words, len);
		check_list(words.set, start.set_count, &words, len);
		check_list(words.caller, start.caller_count, &words, len);
		must(words.argv[0] != NULL);
		text = policy_encode(words.policy);
		must(text != NULL);
		free(text);
	} else {
		must(err.code != WARDER_ERROR_NONE && memchr(err.text, 0, sizeof(err.text)));
	}
	execution_words_done(&words);
}

static void check_code(const char *bytes, size_t len)
{
	struct code_record record = { 0 };
	struct warder_error err = { 0 };
	char *copy = malloc(len + 1);
	struct result_code *report;

	must(copy != NULL);
	memcpy(copy, bytes, len);
	if (code_record_split(copy, len, &record, &err) == 0) {
		for (uint32_t i = 0; i < record.head.code.file_count; i++)
			must(strlen(record.words.files[i].path) < len && record.words.files[i].len < len);
		must(strlen(record.asked) < len && !strchr(record.head.box, '/'));
		report = code_record_report(&record);
		must(report && report->stage_count < RESULT_STAGES_MAX);
		result_code_free(report);
	} else {
		must(err.code != WARDER_ERROR_NONE);
	}
	code_record_done(&record);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct record record;
	const size_t len = size < sizeof(record) ? size : sizeof(record);

	memcpy(&record, data, len);
	if (!record_valid(&record, len))
		return 0;
	must(record.head.len == len - sizeof(record.head) && record.head.type < RECORD_TYPES);
	must(memchr(record.head.id, 0, sizeof(record.head.id)));
	/* The bytes of a WRITE stand for a START and its memory file. */
	if (record.head.type == RECORD_WRITE && record.head.len > sizeof(record.start))
		check_words(record.start, record.bytes + sizeof(record.start),
			    record.head.len - sizeof(record.start));
	/* Those of progress stand for the memory file of a piece of code. */
	if (record.head.type == RECORD_LINES)
		check_code(record.bytes, record.head.len);
	return 0;
}
