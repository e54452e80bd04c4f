/* patch: first line of the input is the old file (with \n for newlines), the rest the patch; what is taken leads nowhere out, and
 * applying it never reads or writes beyond. */
#include "rootfs/rootfs.h"
#include "store/workspaces/patch_text.h"
#include "tests/fuzz/fuzz.h"

static void must_be_inside(const char *path)
{
	struct warder_error err;

	must(path_check_relative(path, strlen(path), &err) == 0);
	must(!strstr(path, "/../") && strncmp(path, "../", 3) != 0 && path[0] != '/');
}

static void apply(const struct patch *patch, const char *old, size_t old_len)
{
	struct warder_error err;

	for (size_t i = 0; i < patch->file_count; i++) {
		char *tight = malloc(old_len ? old_len : 1), *new = NULL;
		size_t len = 0;

		must(tight && patch->files[i].path);
		must_be_inside(patch->files[i].path);
		memcpy(tight, old, old_len);
		if (patch_apply(patch, &patch->files[i], tight, old_len, &new, &len, &err) == 0)
			must(new[len] == '\0' && (!patch->files[i].is_deleted || len == 0));
		free(new);
		free(tight);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = memchr(data, 0xff, size);
	const size_t old_len = end ? (size_t)(end - data) : 0;
	const size_t rest = end ? size - old_len - 1 : size;
	char *text = malloc(rest ? rest : 1);
	struct warder_error err;
	struct patch patch;

	must(text);
	memcpy(text, data + size - rest, rest);
	for (int strip = -1; strip < 2; strip++) {
		if (patch_parse(text, rest, strip, &patch, &err) != 0)
			continue;
		must(patch.file_count > 0);
		apply(&patch, (const char *)data, old_len);
		patch_done(&patch);
	}
	free(text);
	return 0;
}
