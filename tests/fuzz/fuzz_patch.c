/* patch: what Warder reads of a patch, and of git's words about one: pairs are whole,
 * and every hunk belongs to a file. */
#include "store/workspaces/patch_text.h"
#include "tests/fuzz/fuzz.h"

static void read_pairs(const char *text, size_t len, int strip)
{
	struct patch_pairs pairs;
	struct warder_error err;

	must(patch_read_pairs(text, len, strip, &pairs, &err) == 0);
	for (size_t i = 0; i < pairs.count; i++)
		must(pairs.items[i].from && pairs.items[i].to && strlen(pairs.items[i].to) <= len);
	patch_pairs_done(&pairs);
}

static void read_said(const char *text, size_t len)
{
	struct patch_said said;
	struct warder_error err;

	must(patch_read_said(text, len, &said, &err) == 0);
	must(strlen(said.fault) < sizeof(said.fault));
	for (size_t i = 0; i < said.hunk_count; i++) {
		bool known = false;

		for (size_t j = 0; j < said.name_count; j++)
			known |= said.hunks[i].name == said.names[j];
		must(known);
	}
	patch_said_done(&said);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size ? size : 1);
	int strip;

	must(text);
	memcpy(text, data, size);
	strip = patch_strip(text, size);
	must(strip >= -1 && strip <= 1);
	for (strip = 0; strip < 3; strip++)
		read_pairs(text, size, strip);
	read_said(text, size);
	free(text);
	return 0;
}
