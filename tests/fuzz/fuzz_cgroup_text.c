/* cgroup_text: every reader of the kernel's text about cgroups and processes, on text that no kernel wrote. */
#include "jail/cgroup/text.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Not NUL-terminated, as the readers promise to cope with. */
	char *text = malloc(size + !size);
	char *line = fuzz_text(data, size);
	char path[CGROUP_BASE_MAX];
	struct cgroup_mount mount;
	struct cgroup_process process;
	struct cgroup_owner owner;
	uint64_t number;

	must(text);
	memcpy(text, data, size);
	cgroup_text_number(text, size, &number);
	cgroup_text_key(text, size, "oom_kill", &number);
	cgroup_text_bandwidth(text, size, &number);
	cgroup_text_has_word(text, size, "memory");
	cgroup_text_process(text, size, &process);
	if (cgroup_text_own(text, size, path, sizeof(path)))
		must(strlen(path) < sizeof(path));
	if (cgroup_text_mount(text, size, &mount)) {
		must(memchr(mount.root, 0, sizeof(mount.root)) &&
		     memchr(mount.point, 0, sizeof(mount.point)));
		cgroup_text_own_dir(&mount, line, path, sizeof(path));
	}
	if (cgroup_text_owner(line, &owner)) {
		char name[CGROUP_NAME_MAX];

		cgroup_text_name(&owner, name);
		must(strcmp(name, line) == 0);
	}
	free(text);
	free(line);
	return 0;
}
