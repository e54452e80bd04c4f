/*
 * path: what path_check_relative() accepts never leaves its root at any component, by a second and simpler count; what
 * path_normalise() accepts is normal.
 */
#include "rootfs/rootfs.h"
#include "tests/fuzz/fuzz.h"

static int depth_never_negative(const char *path)
{
	int depth = 0;

	while (*path) {
		size_t n = strcspn(path, "/");

		if (n == 2 && path[0] == '.' && path[1] == '.')
			depth--;
		else if (n > 0 && !(n == 1 && path[0] == '.'))
			depth++;
		if (depth < 0)
			return 0;
		path += n + (path[n] == '/');
	}
	return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct warder_error err;
	char *normal;

	if (path_check_relative(text, size, &err) == 0) {
		must(size > 0 && text[0] != '/' && text[0] != '\\');
		must(!memchr(text, 0, size));
		must(depth_never_negative(text));
	}
	if (path_normalise(text, &normal, &err) == 0) {
		char *again;

		must(normal[0] == '/' && !strstr(normal, "//") && !strstr(normal, "/../") &&
		     !strstr(normal, "/./"));
		must(path_normalise(normal, &again, &err) == 0 && strcmp(normal, again) == 0);
		free(normal);
		free(again);
	}
	free(text);
	return 0;
}
