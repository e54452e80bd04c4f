/*
 * wasm: what a module says of itself before anything runs it. The header, and a bounded walk over its sections.
 * Pure, no allocation, any thread; linear in the module. Private to runtime/code.
 * Source: WebAssembly Core Specification, binary format of modules.
 */
#ifndef WARDER_RUNTIME_CODE_DETECT_WASM_H
#define WARDER_RUNTIME_CODE_DETECT_WASM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WASM_MIN_BYTES  8
#define WASM_MAX_OTHERS 8

struct wasm_module {
	bool valid;       /* magic number and a version are there */
	char reason[96];  /* why it is not valid; "" if it is */
	uint32_t version; /* 1; what else it may be, a runner says */
	bool walked;      /* the sections were read to their end; what follows is complete */
	char broken[96];  /* why they could not be; "" if they could */
	bool has_start;   /* exports a function `_start` */
	/* Modules that it asks for besides wasi_snapshot_preview1: the first WASM_MAX_OTHERS different names, cut to fit, not UTF-8 as '?'. */
	char other_imports[WASM_MAX_OTHERS][64];
	size_t others; /* of them */
};

/* Whether the first bytes are a module's magic number. */
bool wasm_is_module(const char *bytes, size_t len);

/* Fills *ret for any bytes. `valid` is about the header alone: a tail that is no sections leaves it true, and `walked` false. */
void wasm_inspect(const char *bytes, size_t len, struct wasm_module *ret);

#endif
