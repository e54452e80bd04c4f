/* lines of a snapshot's manifest: what is taken lies below one of the two roots. */
#include "store/snapshots/manifest.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct manifest_entry entry;
	struct warder_error err;
	char *tight = malloc(size ? size : 1);

	must(tight);
	memcpy(tight, data, size);
	if (manifest_entry_parse(tight, size, &entry, &err) == 0) {
		must(strncmp(entry.path, "files", 5) == 0 || strncmp(entry.path, "inputs", 6) == 0);
		must(!strstr(entry.path, "/../") && !strstr(entry.path, "//"));
		must((entry.type == MANIFEST_LINK || entry.type == MANIFEST_HARD_LINK) ==
		     (entry.target != NULL));
		must(entry.type == MANIFEST_FILE || !entry.content.count);
		must(entry.mode <= 07777 && entry.mtime.tv_nsec < 1000000000);
		manifest_entry_done(&entry);
	}
	free(tight);
	return 0;
}
