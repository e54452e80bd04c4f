/* go_source: a completed program has a package clause and ends with what stands behind the source; a refusal names a line. */
#include "runtime/code/go_source.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size), *program = NULL, *again = NULL;
	size_t len = 0, ignored;
	struct warder_error err;
	int status = go_source_complete("main.go", text, size, &program, &len, &err);

	if (status == 1) {
		must(len > size && strncmp(program, "package main", 12) == 0);
		must(go_source_complete("main.go", program, len, &again, &ignored, &err) == 0);
	} else if (status != 0) {
		must(err.code == WARDER_ERROR_INVALID_REQUEST && strncmp(err.text, "line ", 5) == 0);
	}
	free(program);
	free(text);
	return 0;
}
