/* rust_source: a refusal names a line and says what to do; what is refused stays refused with a comment in front. */
#include "runtime/code/rust_source.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char comment[] = "/* \" ' r#\" */ // '\"\n";
	char *text = fuzz_text(data, size);
	char *longer = malloc(strlen(comment) + size + 1);
	struct warder_error err, again;
	int status = rust_source_validate(text, size, &err);

	must(longer);
	memcpy(longer, comment, strlen(comment));
	memcpy(longer + strlen(comment), text, size);
	must(rust_source_validate(longer, strlen(comment) + size, &again) == status);
	if (status != 0)
		must(err.code == WARDER_ERROR_INVALID_REQUEST && err.text[0] && !strchr(err.text, '\n'));
	free(longer);
	free(text);
	return 0;
}
