#include "tests/bench/kernel.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WORKERS_MAX 50

static bool begins(const char *pid, const char *file, const char *wanted)
{
	char path[300];
	char text[64] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/%s", pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = 0;
	close(fd);
	return strncmp(text, wanted, strlen(wanted)) == 0;
}

bool kernel_is_behind(void)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;
	int waiting = 0;

	while (dir && waiting <= WORKERS_MAX && (entry = readdir(dir)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			waiting += begins(entry->d_name, "comm", "kworker") &&
				   begins(entry->d_name, "wchan", "bpf_prog_pack_free");
	if (dir)
		closedir(dir);
	return waiting > WORKERS_MAX;
}
