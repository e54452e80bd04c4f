/* conversation: what is refused has a place and a reason; what is accepted can be staged, and each table is named in its text. */
#include "base/json.h"
#include "runtime/tool/conversation.h"
#include "tests/fuzz/fuzz.h"

static void check_stage(const struct conversation *talk)
{
	const struct datafile_options options = { .context = talk->context };
	struct datafile_stage stage = { 0 };
	struct warder_error err = { 0 };

	if (datafile_stage(talk->messages, talk->count, &options, &stage, &err) != 0) {
		must(err.code == WARDER_ERROR_INVALID_REQUEST);
		return;
	}
	for (size_t i = 0; i < stage.count; i++) {
		size_t len = 0;
		char *text = datafile_text(talk->messages, &stage, stage.files[i].message, &len);

		must(text && memmem(text, len, stage.files[i].name, strlen(stage.files[i].name)));
		free(text);
	}
	datafile_stage_done(&stage);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct conversation talk;
	struct warder_error err = { 0 };

	if (conversation_read((const char *)data, size, &talk, &err) != 0) {
		must(err.code == WARDER_ERROR_INVALID_REQUEST && err.text[0] && err.field[0] &&
		     !strchr(err.text, '\n'));
		return 0;
	}
	check_stage(&talk);
	conversation_done(&talk);
	return 0;
}
