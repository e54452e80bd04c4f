/* declare: a request to a model, with the provider's executor in it. */
#include "backends/backend.h"
#include "base/json.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct warder_error err = { 0 };
	const struct backend *backend = backend_find("builtin", &err);
	char *text = fuzz_text(data, size);
	struct backend_model_request request = { text, size, "request", NULL };
	char *once, *twice;

	once = backend->declare(backend, &request, &err);
	if (!once) {
		must(err.text[0] &&
		     (err.code == WARDER_ERROR_INVALID_REQUEST || err.code == WARDER_ERROR_UNAVAILABLE));
		free(text);
		return 0;
	}
	/* What is declared is declared: a second time changes nothing. */
	request.json = once;
	request.len = strlen(once);
	twice = backend->declare(backend, &request, &err);
	must(twice && strcmp(once, twice) == 0);
	free(twice);
	free(once);
	free(text);
	return 0;
}
