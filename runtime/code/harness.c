#include "runtime/code/harness.h"

#include <string.h>

#include "base/array.h"
#include "runtime/code/rust_source.h"

#define ARGV(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* harnesses.S */
#define TEXT(name) extern const char name[] __attribute__((visibility("hidden")))
TEXT(rust_harness_text);
TEXT(rust_harness_text_end);
TEXT(python_harness_text);
TEXT(python_harness_text_end);
TEXT(javascript_harness_text);
TEXT(javascript_harness_text_end);

static const struct row {
	const char *language, *file, *text, *end;
	const char *const *check;
} rows[] = {
	{ "rust", RUST_HARNESS_FILE, rust_harness_text, rust_harness_text_end, NULL },
	{ "python", "warder_harness.py", python_harness_text, python_harness_text_end,
	  ARGV("python3", "-I", "-c",
	       "import sys; p = sys.argv[1]; exec(compile(open(p, 'rb').read(), p, 'exec'), {'check': p})",
	       "{source}") },
	{ "javascript", "warder_harness.cjs", javascript_harness_text, javascript_harness_text_end,
	  ARGV("node", "-e", "require(require('path').resolve(process.argv[1])).check()", "{source}") },
};

bool harness_find(const char *language, struct harness *ret)
{
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const struct row *row = &rows[i];

		if (strcmp(row->language, language) != 0)
			continue;
		*ret = (struct harness){ .language = row->language,
					 .file = row->file,
					 .text = row->text,
					 .len = (size_t)(row->end - row->text),
					 .check = row->check };
		return true;
	}
	return false;
}
