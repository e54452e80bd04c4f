/* host/front/envd_agent.c: what a sandbox's agent sends is checked, whatever it is. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "host/front/envd.h"

#define TEXTS "/tmp/a\0me\0us\0target"

/* A body as the front has it: in memory of exactly that size, with a NUL behind it. */
static char *body_of(const void *head, size_t head_len, const char *texts, size_t len)
{
	char *body = malloc(head_len + len + 1);

	cr_assert(body);
	memcpy(body, head, head_len);
	memcpy(body + head_len, texts, len);
	body[head_len + len] = '\0';
	return body;
}

Test(agent, entries_are_whole_or_none, .timeout = 20)
{
	const struct agent_entry head = { .size = 5, .mode = 0100644, .type = AGENT_TYPE_FILE, .is_link = 1 };
	struct filesystem_entry entry;

	for (size_t len = 0; len <= sizeof(TEXTS); len++) {
		char *body = body_of(&head, sizeof(head), TEXTS, len);
		const bool taken = agent_take_entry(body, sizeof(head) + len, &entry);

		cr_expect_eq(taken, len == sizeof(TEXTS), "%zu bytes of texts", len);
		if (taken) {
			cr_expect_str_eq(entry.path, "/tmp/a");
			cr_expect_str_eq(entry.owner, "me");
			cr_expect_str_eq(entry.group, "us");
			cr_expect_str_eq(entry.link, "target");
			cr_expect_eq(entry.size, 5);
			cr_expect_eq(entry.type, FILESYSTEM_FILE);
		}
		free(body);
	}
	for (size_t len = 0; len < sizeof(head); len++) {
		char *body = body_of(&head, len, "", 0);

		cr_expect_not(agent_take_entry(body, len, &entry), "%zu bytes", len);
		free(body);
	}
}

Test(agent, types_that_are_not_known_are_other, .timeout = 20)
{
	struct agent_entry head = { .type = 77 };
	struct filesystem_entry entry;
	char *body = body_of(&head, sizeof(head), TEXTS, sizeof(TEXTS));

	cr_assert(agent_take_entry(body, sizeof(head) + sizeof(TEXTS), &entry));
	cr_expect_eq(entry.type, FILESYSTEM_OTHER);
	cr_expect_null(entry.link);
	free(body);
}

Test(agent, events_are_whole_or_none, .timeout = 20)
{
	static const struct {
		uint32_t change, has_entry;
		const char *rest;
		size_t len;
		bool good;
	} rows[] = {
		{ AGENT_WRITTEN, 0, "name", 5, true },        { AGENT_WRITTEN, 0, "name", 4, false },
		{ AGENT_WRITTEN, 0, "", 0, false },           { AGENT_CHANGES, 0, "name", 5, false },
		{ UINT32_MAX, 0, "name", 5, false },          { AGENT_MODE, 1, "name", 5, false },
		{ AGENT_MODE, 1, "name\0xxxxxx", 12, false }, { AGENT_MODE, 2, "name", 5, true },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct agent_event head = { rows[i].change, rows[i].has_entry };
		char *body = body_of(&head, sizeof(head), rows[i].rest, rows[i].len);
		struct filesystem_entry entry;
		enum filesystem_event event;
		const char *name;
		bool has_entry = true;

		cr_expect_eq(
		    agent_take_event(body, sizeof(head) + rows[i].len, &event, &name, &entry, &has_entry),
		    rows[i].good, "row %zu", i);
		if (rows[i].good) {
			cr_expect_str_eq(name, "name");
			cr_expect_not(has_entry);
		}
		free(body);
	}
}
