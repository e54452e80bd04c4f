#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "rootfs/rootfs.h"
#include "runtime/file.h"

int store_open(const char *store, const char *kind, char *path, struct warder_error *err)
{
	if (rootfs_store_path(store, kind, path, err) != 0)
		return -1;
	return rootfs_open_place(path, "store", err);
}

void store_new_name(const char *prefix, char *name)
{
	uint64_t number = 0;

	/* With these few bytes and no flag it only fails where the kernel has no such call. */
	while (getrandom(&number, sizeof(number), 0) < 0 && errno == EINTR)
		continue;
	snprintf(name, STORE_NAME_MAX, "%.40s%016" PRIx64, prefix, number);
}

int store_sync(int fd, const char *what, struct warder_error *err)
{
	if (fsync(fd) == 0)
		return 0;
	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, what, errno, "cannot be brought to the disk");
}

static int write_new(int dir_fd, const char *temporary, const char *bytes, size_t len, uint32_t mode)
{
	owned_fd int fd =
	    openat(dir_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || fchmod(fd, (mode_t)mode) != 0 || file_write_all(fd, bytes, len) != 0 || fsync(fd) != 0)
		return -1;
	return 0;
}

int store_replace(int dir_fd, const char *name, const char *bytes, size_t len, uint32_t mode,
		  struct warder_error *err)
{
	char temporary[STORE_NAME_MAX];

	store_new_name(".new-", temporary);
	if (write_new(dir_fd, temporary, bytes, len, mode) == 0 &&
	    renameat(dir_fd, temporary, dir_fd, name) == 0 && fsync(dir_fd) == 0)
		return 0;
	error_set_errno(err, WARDER_ERROR_UNAVAILABLE, name, errno, "cannot be written");
	unlinkat(dir_fd, temporary, 0);
	return -1;
}
