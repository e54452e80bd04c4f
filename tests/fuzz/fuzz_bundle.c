/* bundle: whatever a plan's names are, the configuration of a container is one JSON document that holds them as they are. */
#include "backends/container/bundle.h"
#include "base/json.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct rootfs_entry entries[] = {
		{ .kind = ROOTFS_BIND, .target = text, .source = text, .read_only = size % 2 },
		{ .kind = ROOTFS_OVERLAY, .target = text, .source = text },
	};
	const struct jail_starter starter = { .gives_setpcap = size % 2 };
	struct seccomp_program filter = { .count = size % 2 };
	struct jail_plan plan = { .hostname = "warder",
				  .starter = &starter,
				  .filter = &filter,
				  .namespaces = size % 5 ? 0 : ~0ull,
				  .rootfs = { .entries = entries, .count = 2 } };
	const struct jail_start start = {
		.plan = &plan, .image_number = 9, .id_count = 65536, .network_fd = size % 3 ? -1 : 7
	};
	char *config = bundle_config(&start);
	struct json_value *root = NULL;
	struct warder_error err;

	must(config);
	if (json_is_utf8(text)) {
		const struct json_value *mount;

		must(json_parse(config, strlen(config), "config.json", NULL, &root, &err) == 0);
		mount = json_member(root, "mounts")->child;
		while (mount->next)
			mount = mount->next;
		must(strcmp(json_member(mount, "destination")->string, text) == 0);
		json_free(root);
	}
	free(config);
	free(text);
	return 0;
}
