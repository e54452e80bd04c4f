/* wasm: what is said of a module holds together. */
#include "runtime/code/detect/wasm.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wasm_module module;
	char *text = fuzz_text(data, size);

	wasm_inspect(text, size, &module);
	must(module.valid == !module.reason[0]);
	must(!module.valid || (wasm_is_module(text, size) && module.version == 1));
	must(module.valid || (!module.walked && !module.has_start && module.others == 0));
	must(!module.walked || !module.broken[0]);
	must(module.others <= WASM_MAX_OTHERS);
	for (size_t i = 0; i < module.others; i++)
		must(strlen(module.other_imports[i]) < sizeof(module.other_imports[i]));
	free(text);
	return 0;
}
