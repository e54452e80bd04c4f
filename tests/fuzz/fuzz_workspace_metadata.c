/* metadata.json: what is taken can be written, and what was written is taken again and is the same. */
#include "store/workspaces/workspaces.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct workspace_metadata first, second;
	struct warder_error err;
	char *one, *two, *tight = malloc(size ? size : 1);
	size_t one_len, two_len;

	must(tight);
	memcpy(tight, data, size);
	if (workspace_metadata_parse(tight, size, &first, &err) == 0) {
		must(first.id && first.created_at && first.input_count <= WORKSPACE_INPUTS_MAX);
		one = workspace_metadata_text(&first, &one_len);
		must(one && workspace_metadata_parse(one, one_len, &second, &err) == 0);
		two = workspace_metadata_text(&second, &two_len);
		must(two && one_len == two_len && memcmp(one, two, one_len) == 0);
		must(first.input_count == second.input_count && first.output_count == second.output_count);
		workspace_metadata_done(&first);
		workspace_metadata_done(&second);
		free(one);
		free(two);
	}
	free(tight);
	return 0;
}
