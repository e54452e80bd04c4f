/* lines of a snapshot's manifest: what is taken lies below one of the two roots. */
#include "base/json.h"
#include "store/snapshots/manifest.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct json_limits limits = { .max_bytes = MANIFEST_LINE_MAX + 1, .max_depth = 4 };
	struct json_value *object = NULL;
	struct manifest_entry entry;
	struct warder_error err;
	char *tight = malloc(size ? size : 1);

	must(tight);
	memcpy(tight, data, size);
	if (json_parse(tight, size, "line", &limits, &object, &err) == 0 && object->type == JSON_OBJECT &&
	    manifest_entry_decode(object, &entry, &err) == 0) {
		must(strncmp(entry.path, "files", 5) == 0 || strncmp(entry.path, "inputs", 6) == 0);
		must(!strstr(entry.path, "/../") && !strstr(entry.path, "//"));
		must((entry.type == MANIFEST_LINK || entry.type == MANIFEST_HARD_LINK) ==
		     (entry.target != NULL));
		must(entry.type == MANIFEST_FILE || !entry.content.count);
		must(entry.mode <= 07777 && entry.mtime.tv_nsec < 1000000000);
		manifest_entry_done(&entry);
	}
	json_free(object);
	free(tight);
	return 0;
}
