/* mounts: the mount table of a jail, as text that the kernel wrote, against a plan. */
#include "jail/mounts.h"
#include "tests/fuzz/fuzz.h"

static char usr[] = "/usr";
static char data_dir[] = "/srv/a b";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rootfs_entry entries[] = {
		{ .kind = ROOTFS_BIND, .target = data_dir, .source = data_dir, .is_directory = true },
		{ .kind = ROOTFS_BIND,
		  .target = usr,
		  .source = usr,
		  .is_directory = true,
		  .read_only = true },
	};
	const struct rootfs rootfs = { .entries = entries, .count = 2, .tmp_exec = size % 2, .terminals = 4 };
	char *text = fuzz_text(data, size);
	struct warder_error err;

	if (mounts_check(text, &rootfs, &err) < 0)
		must(err.code != WARDER_ERROR_NONE);
	free(text);
	return 0;
}
