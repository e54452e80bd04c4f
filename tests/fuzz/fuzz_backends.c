/* backends: the operator's document about them. */
#include "backends/backend.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct backend_settings settings = { 0 };
	struct warder_error err = { 0 };
	size_t count = 0;

	if (backend_settings_parse(text, size, "input", &settings, &err) < 0) {
		must(err.code == WARDER_ERROR_INVALID_REQUEST);
		free(text);
		return 0;
	}
	/* Every candidate is one of the table, is on, and comes once. */
	for (const struct backend *at; (at = backend_candidate(&settings, count)); count++) {
		must(count < BACKEND_COUNT_MAX && !at->off);
		for (size_t i = 0; i < count; i++)
			must(backend_candidate(&settings, i) != at);
	}
	must(count > 0);
	free(text);
	return 0;
}
