/* root: the record of a session's root, as who executes decodes it. What is accepted comes back the same when it is written. */
#include "rootfs/rootfs.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	const struct policy policy = { 0 };
	struct warder_error err = { 0 };
	struct rootfs rootfs;
	struct rootfs again;
	char *written, *second;

	if (rootfs_decode(text, size, &policy, &rootfs, &err) < 0) {
		must(err.text[0]);
		free(text);
		return 0;
	}
	must(rootfs.working_directory && rootfs.working_directory[0] == '/');
	must(rootfs.overlay_count <= ROOTFS_OVERLAYS_MAX);
	for (size_t i = 0; i < rootfs.count; i++)
		must(rootfs.entries[i].target[0] == '/' && rootfs.entries[i].source_fd == -1 &&
		     (rootfs.entries[i].kind != ROOTFS_OVERLAY ||
		      rootfs.entries[i].overlay < rootfs.overlay_count));
	written = rootfs_encode(&rootfs);
	must(written && rootfs_decode(written, strlen(written), &policy, &again, &err) == 0);
	second = rootfs_encode(&again);
	must(second && strcmp(written, second) == 0);
	rootfs_done(&again);
	rootfs_done(&rootfs);
	free(second);
	free(written);
	free(text);
	return 0;
}
