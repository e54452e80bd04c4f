/* contained: the mount table of a container, and after a line with "--" our own, against a plan. */
#include "jail/contained.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char usr[] = "/usr", job[] = "/srv/a b", top[] = "/", workspace[] = "/workspace";
	struct rootfs_entry entries[] = {
		{ .kind = ROOTFS_BIND, .target = job, .source = job, .is_directory = true },
		{ .kind = ROOTFS_BIND,
		  .target = usr,
		  .source = usr,
		  .is_directory = true,
		  .read_only = true },
		{ .kind = ROOTFS_OVERLAY, .target = workspace, .source = top, .is_directory = true },
	};
	struct rootfs_layer layer = { .source = job };
	const struct rootfs rootfs = {
		.entries = entries,
		.count = 3,
		.terminals = 4,
		.overlays = { { .layers = &layer, .layer_count = 1 } },
		.overlay_count = 1,
	};
	static char authority[] = "a";
	static const struct trust trust = { .files = { { authority, 1 }, { authority, 1 } } };
	char *text = fuzz_text(data, size);
	char *own = strstr(text, "--\n");
	struct warder_error err = { 0 };

	if (own) {
		*own = '\0';
		own += 3;
	}
	if (contained_check_mounts(text, own ? own : "", &rootfs, size % 2 ? &trust : NULL, &err) < 0)
		must(err.code != WARDER_ERROR_NONE);
	else
		must(strstr(text, " /workspace ") && strstr(text, " /usr "));
	free(text);
	return 0;
}
