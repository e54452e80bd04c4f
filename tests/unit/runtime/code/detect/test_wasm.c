#include "base/array.h"
#include "runtime/code/detect/wasm.h"

#include <criterion/criterion.h>
#include <string.h>

#define BYTES(text) text, sizeof(text) - 1
#define HEADER      "\0asm\1\0\0\0"
/* One import section: wasi's fd_write. */
#define WASI                                                                                                 \
	"\2\x23\1\x16wasi_snapshot_preview1\x08"                                                             \
	"fd_write\0\0"
#define START "\7\x0a\1\6_start\0\0"

Test(wasm, header, .timeout = 20)
{
	static const struct {
		const char *label, *bytes;
		size_t len;
		bool valid;
		const char *reason;
	} rows[] = {
		{ "magic and version", BYTES(HEADER), true, "" },
		{ "any tail", BYTES(HEADER "\xff garbage"), true, "" },
		{ "four bytes", BYTES("\0asm"), false, "too small: 4 bytes (minimum 8)" },
		{ "nothing", BYTES(""), false, "too small: 0 bytes (minimum 8)" },
		{ "seven bytes", BYTES("\0asm\1\0\0"), false, "too small: 7 bytes (minimum 8)" },
		{ "ELF", BYTES("\177ELF\2\1\1\0\0\0"), false, "magic number is missing (\\0asm)" },
		{ "text", BYTES("print(1234)"), false, "magic number is missing" },
		{ "version 2", BYTES("\0asm\2\0\0\0"), false, "version 2 is not a module's (1)" },
		{ "a component", BYTES("\0asm\r\0\1\0"), false, "it is a component" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct wasm_module module;

		wasm_inspect(rows[i].bytes, rows[i].len, &module);
		cr_expect(module.valid == rows[i].valid, "%s", rows[i].label);
		cr_expect(rows[i].valid ? !module.reason[0] : strstr(module.reason, rows[i].reason) != NULL,
			  "%s: \"%s\"", rows[i].label, module.reason);
	}
}

Test(wasm, sections, .timeout = 20)
{
	static const struct {
		const char *label, *bytes;
		size_t len;
		bool walked, has_start;
		const char *other;
	} rows[] = {
		{ "no section", BYTES(HEADER), true, false, NULL },
		{ "a program", BYTES(HEADER WASI START), true, true, NULL },
		{ "custom section", BYTES(HEADER "\0\3\2ab" START), true, true, NULL },
		{ "_start is a memory", BYTES(HEADER "\7\x0a\1\6_start\2\0"), true, false, NULL },
		{ "another export", BYTES(HEADER "\7\7\1\3run\0\0"), true, false, NULL },
		{ "memory of env", BYTES(HEADER "\2\x0c\1\3env\3mem\2\0\1"), true, false, "env" },
		{ "table with a maximum", BYTES(HEADER "\2\x0c\1\3env\1t\1\x70\1\1\2"), true, false, "env" },
		{ "name of other bytes", BYTES(HEADER "\2\7\1\1\xff\1f\0\0"), true, false, "?" },
		{ "longer than the module", BYTES(HEADER "\7\x7f\1\6_start\0\0"), false, false, NULL },
		{ "size of six bytes", BYTES(HEADER "\7\x80\x80\x80\x80\x80\0"), false, false, NULL },
		{ "size over 32 bits", BYTES(HEADER "\7\xff\xff\xff\xff\x1f"), false, false, NULL },
		{ "size cut", BYTES(HEADER "\7\x80"), false, false, NULL },
		{ "count of 2^32-1", BYTES(HEADER "\7\x05\xff\xff\xff\xff\x0f"), false, false, NULL },
		{ "bytes behind the last", BYTES(HEADER "\7\x0b\1\6_start\0\0\0"), false, true, NULL },
		{ "name over the section", BYTES(HEADER "\7\3\1\x7f_"), false, false, NULL },
		{ "unknown kind of import", BYTES(HEADER "\2\7\1\1a\1b\7\0"), false, false, NULL },
		{ "unknown section", BYTES(HEADER "\x20\0"), false, false, NULL },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct wasm_module module;

		wasm_inspect(rows[i].bytes, rows[i].len, &module);
		cr_expect(module.valid, "%s", rows[i].label);
		cr_expect(module.walked == rows[i].walked && !module.broken[0] == rows[i].walked, "%s: %s",
			  rows[i].label, module.broken);
		cr_expect(module.has_start == rows[i].has_start, "%s", rows[i].label);
		cr_expect(module.others == !!rows[i].other, "%s", rows[i].label);
		if (rows[i].other)
			cr_expect_str_eq(module.other_imports[0], rows[i].other, "%s", rows[i].label);
	}
}

Test(wasm, others_are_listed_once_and_bounded, .timeout = 20)
{
	char bytes[256] = HEADER "\2";
	size_t used = 10;
	struct wasm_module module;

	bytes[9] = 10 * 6 + 6 + 1;
	bytes[used++] = 11;
	for (int i = 0; i < 11; i++) {
		memcpy(bytes + used, "\1x\1f\0\0", 6);
		bytes[used + 1] = (char)('a' + (i > 0 ? i - 1 : 0)); /* a, a, b, ... */
		used += 6;
	}
	wasm_inspect(bytes, used, &module);
	cr_expect(module.walked, "%s", module.broken);
	cr_expect(module.others == WASM_MAX_OTHERS);
	cr_expect_str_eq(module.other_imports[7], "h");
}
