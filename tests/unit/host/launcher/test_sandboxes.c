/* The records of sandboxes: what one says, and what the next launcher makes of it. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "host/launcher/sandboxes.h"
#include "host/launcher/state.h"

/* A JSON object with a text of so many bytes. */
static char *policy_of(size_t bytes)
{
	struct json_writer w = { 0 };
	char *text = malloc(bytes + 1);

	memset(text, 'x', bytes);
	text[bytes] = '\0';
	json_begin_object(&w);
	json_key_string(&w, "environment", text);
	json_end_object(&w);
	free(text);
	return json_take(&w);
}

static struct sandbox *sandbox_of(struct sandboxes *list, size_t bytes)
{
	struct warder_error err;
	struct sandbox *sandbox = sandbox_new(list, &err);

	cr_assert(sandbox, "%s", err.text);
	strcpy(sandbox->tenant, "me");
	strcpy(sandbox->template_name, "large");
	sandbox->created_ms = 1;
	sandbox->ends_ms = 2;
	sandbox->policy = policy_of(bytes);
	sandbox->base = policy_of(bytes);
	sandbox->metadata = strdup("{}");
	return sandbox;
}

/* A record has two policies, each of which may have been a text of the link. */
Test(sandboxes, one_with_large_policies_is_adopted, .timeout = 60)
{
	struct sandboxes before = { 0 }, after = { 0 };
	struct sandbox *sandbox = sandbox_of(&before, 900 * 1000), *adopted = NULL;
	char *record = sandbox_record(sandbox), *again;
	struct warder_error err;

	cr_assert(record && strlen(record) > LINK_BYTES_MAX && strlen(record) <= STATE_BYTES_MAX);
	cr_assert_eq(sandboxes_adopt(&after, sandbox->id, record, &adopted, &err), 0, "%s", err.text);
	again = sandbox_record(adopted);
	cr_expect_str_eq(again, record);
	free(again);
	free(record);
	sandboxes_done(&before);
	sandboxes_done(&after);
}

/* One that no launcher would read is not written. */
Test(sandboxes, a_record_that_is_too_long_is_not_written, .timeout = 60)
{
	char directory[] = "/tmp/warder-sandboxes-XXXXXX";
	struct sandboxes list = { 0 };
	struct sandbox *sandbox = sandbox_of(&list, 1100 * 1000);
	char *record = sandbox_record(sandbox), *text = NULL;
	struct warder_error err;
	int fd;

	cr_assert(mkdtemp(directory) && state_open(directory, STATE_SANDBOXES, &fd, &err) == 0);
	cr_expect(state_write(fd, sandbox->id, record, &err) < 0 && err.code == WARDER_ERROR_INVALID_REQUEST);
	cr_expect(state_read(fd, sandbox->id, &text, &err) < 0 && err.code == WARDER_ERROR_NOT_FOUND);
	unlinkat(fd, "../" STATE_SANDBOXES, AT_REMOVEDIR);
	close(fd);
	rmdir(directory);
	free(record);
	sandboxes_done(&list);
}
