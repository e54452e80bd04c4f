/* conversation: what is refused has a place and a reason; what is accepted can be extracted, and each table is named in its text. */
#include "base/json.h"
#include "runtime/tool/conversation.h"
#include "tests/fuzz/fuzz.h"

static void check_list(const struct conversation *talk)
{
	const struct datafile_options options = { .context = talk->context };
	struct datafile_list list = { 0 };
	struct warder_error err = { 0 };

	if (datafile_extract(talk->messages, talk->count, &options, &list, &err) != 0) {
		must(err.code == WARDER_ERROR_INVALID_REQUEST);
		return;
	}
	for (size_t i = 0; i < list.count; i++) {
		size_t len = 0;
		char *text = datafile_text(talk->messages, &list, list.files[i].message, &len);

		must(text && memmem(text, len, list.files[i].name, strlen(list.files[i].name)));
		free(text);
	}
	datafile_list_done(&list);
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
	check_list(&talk);
	conversation_done(&talk);
	return 0;
}
