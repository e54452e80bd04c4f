#include "base/array.h"
#include "runtime/tool/conversation.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Read a copy that ends exactly where it ends. */
static int read_copy(const char *text, struct conversation *ret, struct warder_error *err)
{
	const size_t len = strlen(text);
	char *copy = malloc(len ? len : 1);
	int status;

	memcpy(copy, text, len);
	memset(err, 0, sizeof(*err));
	status = conversation_read(copy, len, ret, err);
	free(copy);
	return status;
}

Test(conversation, reads_messages, .timeout = 20)
{
	static const struct {
		const char *type, *bytes;
		size_t len;
	} rows[] = {
		{ "text/plain", "Look:", 5 },
		{ "text/csv", "a,b\n", 4 },
		{ "image/png", "\0\1\2", 3 },
		{ "text/markdown", "", 0 },
	};
	struct conversation talk = { 0 };
	struct warder_error err;

	cr_assert_eq(
	    read_copy("{\"messages\":[[{\"text\":\"Look:\"},{\"mimeType\":\"text/csv\",\"content\":"
		      "\"a,b\\n\",\"encoding\":\"utf-8\"},{\"mimeType\":\"image/png\",\"content\":"
		      "\"AAEC\",\"encoding\":\"base64\"},{\"mimeType\":\"text/markdown\",\"text\":\"\"}"
		      "],[]],\"context\":{\"processedFiles\":[\"x\"]}}",
		      &talk, &err),
	    0, "%s", err.text);
	cr_assert_eq(talk.count, 2);
	cr_expect_eq(talk.messages[1].count, 0);
	cr_assert_eq(talk.messages[0].count, 4);
	for (size_t i = 0; i < 4; i++) {
		const struct datafile_part *part = &talk.messages[0].parts[i];

		cr_expect_str_eq(part->type, rows[i].type);
		cr_expect(part->content.len == rows[i].len &&
			      memcmp(part->content.at, rows[i].bytes, rows[i].len) == 0,
			  "%s", rows[i].type);
	}
	cr_expect(context_is_processed(talk.context, "x"));
	conversation_done(&talk);
	cr_assert_eq(read_copy("{\"messages\":[]}", &talk, &err), 0, "%s", err.text);
	cr_expect(talk.count == 0 && !talk.context);
	conversation_done(&talk);
}

Test(conversation, refuses_with_a_place, .timeout = 20)
{
	static const char *const rows[][3] = {
		{ "", "", "conversation:1:1: " },
		{ "[]", "conversation", "an array where an object is expected" },
		{ "{}", "messages", "it is missing" },
		{ "{\"messages\":[],\"parts\":[]}", "parts", "unknown key" },
		{ "{\"messages\":{}}", "messages", "an object where an array is expected" },
		{ "{\"messages\":[[],{}]}", "messages[1]", "an object where an array is expected" },
		{ "{\"messages\":[[{\"text\":\"a\"},{}]]}", "messages[0][1]", "one of text and content" },
		{ "{\"messages\":[[{\"text\":\"a\",\"content\":\"b\"}]]}", "messages[0][0]",
		  "one of text and content" },
		{ "{\"messages\":[[{\"text\":\"a\",\"encoding\":\"base64\"}]]}", "messages[0][0]",
		  "text has no encoding" },
		{ "{\"messages\":[[{\"content\":\"a\",\"encoding\":\"utf8\"}]]}", "messages[0][0].encoding",
		  "did you mean \"utf-8\"" },
		{ "{\"messages\":[[{\"content\":\"YQ\",\"encoding\":\"base64\"}]]}", "messages[0][0].content",
		  "no base64" },
		{ "{\"messages\":[[{\"text\":1}]]}", "messages[0][0].text", "a number where a string" },
		{ "{\"messages\":[],\n\"context\":[]}", "context", "context:2: " },
		{ "{\"messages\":[],\"context\":{\"a\":1}}", "context", "no member \"a\"" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct conversation talk;
		struct warder_error err;

		cr_expect_eq(read_copy(rows[i][0], &talk, &err), -1, "%s", rows[i][0]);
		cr_expect_eq(err.code, WARDER_ERROR_INVALID_REQUEST, "%s", rows[i][0]);
		cr_expect(!rows[i][1][0] || strcmp(err.field, rows[i][1]) == 0, "%s: %s", rows[i][0],
			  err.field);
		cr_expect(strstr(err.text, rows[i][2]), "%s: %s", rows[i][0], err.text);
	}
}

/* `count` elements in an array inside of `before` and `after`. */
static int read_many(const char *before, const char *element, size_t count, const char *after)
{
	const size_t len = strlen(element);
	char *text = malloc(strlen(before) + count * (len + 1) + strlen(after) + 1);
	char *at = stpcpy(text, before);
	struct conversation talk;
	struct warder_error err;
	int status;

	for (size_t i = 0; i < count; i++)
		at += sprintf(at, "%s%s", i ? "," : "", element);
	strcpy(at, after);
	status = read_copy(text, &talk, &err);
	if (status == 0)
		conversation_done(&talk);
	else
		cr_expect(strstr(err.text, "at most 1024 are taken"), "%s", err.text);
	free(text);
	return status;
}

Test(conversation, bounds, .timeout = 20)
{
	cr_expect_eq(read_many("{\"messages\":[", "[]", CONVERSATION_MAX_MESSAGES, "]}"), 0);
	cr_expect_eq(read_many("{\"messages\":[", "[]", CONVERSATION_MAX_MESSAGES + 1, "]}"), -1);
	cr_expect_eq(read_many("{\"messages\":[[", "{\"text\":\"a\"}", CONVERSATION_MAX_PARTS, "]]}"), 0);
	cr_expect_eq(read_many("{\"messages\":[[", "{\"text\":\"a\"}", CONVERSATION_MAX_PARTS + 1, "]]}"),
		     -1);
}
