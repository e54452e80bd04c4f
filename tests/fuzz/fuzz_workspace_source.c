/* sources of inputs, references of artifacts, globs: what is taken is bounded, and leads nowhere out. */
#include "rootfs/rootfs.h"
#include "store/workspaces/workspaces.h"
#include "tests/fuzz/fuzz.h"

static void must_stay(const struct workspace_source *source)
{
	struct warder_error err;

	switch (source->scheme) {
	case WORKSPACE_FROM_GIT:
		must(source->branch[0] != '-');
		/* fall through */
	case WORKSPACE_FROM_HOST:
		must(source->path[0] == '/' && !strstr(source->path, "/../"));
		break;
	case WORKSPACE_FROM_GIT_HTTPS:
		must(source->branch[0] != '-');
		must(strncmp(source->path, "https://", 8) == 0 && source->path[8] != '-');
		must(source->endpoint[0] && !strpbrk(source->endpoint, "@/ ,"));
		break;
	case WORKSPACE_FROM_SKILL:
		must(strncmp(source->path, "skills/", 7) == 0);
		/* fall through */
	case WORKSPACE_FROM_WORKSPACE:
		must(path_check_relative(source->path, strlen(source->path), &err) == 0);
		must(strcmp(source->path, "..") != 0 && strncmp(source->path, "../", 3) != 0 &&
		     !strstr(source->path, "/../"));
		break;
	case WORKSPACE_FROM_ARTIFACT:
		must(!artifact_name_fault(source->artifact.name) && source->artifact.version < 1000000000);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size < 8192 ? size : 8192), glob[PATH_MAX], safe[STORE_NAME_MAX];
	struct workspace_source source;
	struct warder_error err;

	if (workspace_source_parse(text, &source, &err) == 0)
		must_stay(&source);
	must(strlen(workspace_glob(text, glob)) < sizeof(glob));
	must(strlen(store_safe_name(text, safe)) < sizeof(safe) && safe[0] != '.' && !strchr(safe, '/'));
	free(text);
	return 0;
}
