/* Media types by name and content (base/mime.c). */
#include <criterion/criterion.h>
#include <string.h>

#include "base/array.h"
#include "base/mime.h"

Test(mime, types, .timeout = 20)
{
	static const struct {
		const char *name, *bytes;
		size_t len;
		const char *type;
	} rows[] = {
		{ "a.csv", "a,b", 3, "text/csv" },
		{ "dir.csv/a", "x", 1, "text/plain; charset=utf-8" },
		{ "A.PNG", "", 0, "image/png" },
		{ "a.py", "x", 1, "text/x-python" },
		{ "a.jsx", "x", 1, "text/javascript" },
		{ "a.C", "x", 1, "text/x-c++" },
		{ "a.h", "x", 1, "text/x-c" },
		{ "plot", "\x89PNG\r\n\x1a\n", 8, "image/png" },
		{ "data", "\0\1\2", 3, "application/octet-stream" },
		{ "notes", "caf\xc3\xa9", 5, "text/plain; charset=utf-8" },
		{ "notes", "caf\xc3", 4, "application/octet-stream" },
		{ "x", "", 0, "application/octet-stream" },
		{ "m.wasm", NULL, 0, "application/wasm" },
		{ "m", "\0asm\1\0\0\0", 8, "application/wasm" },
		{ ".json", "{}", 2, "application/json" },
		{ "archive.tar.gz", NULL, 0, "application/gzip" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const char *type = mime_type(rows[i].name, rows[i].bytes, rows[i].len);

		cr_expect_str_eq(type, rows[i].type, "%s: %s", rows[i].name, type);
	}
}
