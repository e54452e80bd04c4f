#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/sha256.h"
#include "rootfs/rootfs.h"

int store_open(const char *store, const char *kind, char *path, struct warder_error *err)
{
	if (rootfs_store_path(store, kind, path, err) != 0)
		return -1;
	return rootfs_open_private_dir(path, "store", err);
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

char *store_safe_name(const char *name, char *out)
{
	static const char harmless[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	struct sha256 sha;
	char digest[SHA256_HEX];
	size_t len = 0;

	sha256_init(&sha);
	sha256_add(&sha, name, strlen(name));
	sha256_hex(&sha, digest);
	for (; len < 24 && name[len]; len++)
		out[len] = strchr(harmless, name[len]) ? name[len] : '_';
	if (len == 0)
		len = (size_t)sprintf(out, "anon");
	snprintf(out + len, STORE_NAME_MAX - len, "-%.32s", digest);
	return out;
}

static int cannot_read(const char *name, int error, struct warder_error *err)
{
	error_set_errno(err, WARDER_ERROR_UNAVAILABLE, name, error, "cannot be read");
	return -1;
}

int store_read(int dir_fd, const char *name, size_t most, char **ret_text, size_t *ret_len,
	       struct warder_error *err)
{
	owned_fd int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	size_t used = 0;
	struct stat st;
	char *text;

	if (fd < 0 || fstat(fd, &st) != 0)
		return cannot_read(name, errno, err);
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > most)
		return cannot_read(name, EFBIG, err);
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		return cannot_read(name, ENOMEM, err);
	while (used < (size_t)st.st_size) {
		ssize_t n = pread(fd, text + used, (size_t)st.st_size - used, (off_t)used);

		if (n <= 0)
			break;
		used += (size_t)n;
	}
	text[used] = '\0';
	*ret_text = text;
	*ret_len = used;
	return 0;
}

char *store_time(int64_t seconds, char *buf)
{
	const time_t at = (time_t)seconds;
	struct tm parts;

	if (!gmtime_r(&at, &parts) || !strftime(buf, 40, "%Y-%m-%dT%H:%M:%SZ", &parts))
		buf[0] = '\0';
	return buf;
}

int store_misuse(const char *what, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "wrong call: %s", what);
}

/* A file from where fd stands, of at most `most` bytes. */
int store_take_bytes(int fd, size_t most, const char *name, char **ret, size_t *ret_len,
		     struct warder_error *err)
{
	struct stat st;
	size_t used = 0;
	char *bytes;

	if (fstat(fd, &st) != 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "path", errno, "cannot be looked at");
	if ((uint64_t)st.st_size > most)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "path",
				 "%.200s has %" PRIu64 " bytes; at most %zu were asked for", name,
				 (uint64_t)st.st_size, most);
	bytes = malloc((size_t)st.st_size + 1);
	if (!bytes)
		return error_no_memory(err, NULL);
	while (used < (size_t)st.st_size) {
		const ssize_t n = pread(fd, bytes + used, (size_t)st.st_size - used, (off_t)used);

		if (n <= 0)
			break;
		used += (size_t)n;
	}
	bytes[used] = '\0';
	*ret = bytes;
	*ret_len = used;
	return 0;
}

int store_open_directory(int parent_fd, const char *name)
{
	return openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int store_is_visible(const struct dirent *item)
{
	return item->d_name[0] != '.';
}

int store_order(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}
