/* languages: a document of more languages, and the names in it; a Java source; patterns of files. */
#include "rootfs/rootfs.h"
#include "runtime/code/java_source.h"
#include "runtime/code/languages.h"
#include "tests/fuzz/fuzz.h"

static void look(const struct languages *languages)
{
	const struct language *row;

	for (size_t i = 0; (row = languages_at(languages, i)) != NULL; i++) {
		must(row->name && row->file && row->aliases && row->stages[LANGUAGE_RUN]);
		must(row->stages[LANGUAGE_RUN][0]);
		must(!strchr(row->file, '/'));
		must(languages_canonical(languages, row->name));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	const size_t half = strlen(text) / 2;
	struct languages *languages = NULL;
	struct warder_error err = { 0 };
	char class[104];

	if (languages_parse(text, size, "document", &languages, &err) == 0)
		look(languages);
	else
		must(err.text[0]);
	languages_free(languages);
	if (java_class(text, size, class, sizeof(class)))
		must(class[0] && strlen(class) <= 100);
	rootfs_match(text + half, text);
	if (*text && strlen(text) < 200 && !strpbrk(text, "*?[\\./")) /* longer ones are no names */
		must(rootfs_match(text, text));
	free(text);
	return 0;
}
