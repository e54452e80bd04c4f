/*
 * Entries, lists and bytes. A list is made entry by entry while its caller takes them: only the directories on the way to the current one are
 * open.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fd.h"
#include "host/agent/agent.h"

#define DEPTH_MAX  64
#define NAME_BYTES 64 /* of a user or a group */
#define PART_BYTES AGENT_BODY_MAX

struct listing {
	uint32_t depth;
	size_t level; /* directories that are open */
	struct {
		DIR *dir;
		size_t len; /* of its path */
	} levels[DEPTH_MAX];
	char path[2 * AGENT_PATH_MAX];
};

/* ---- entries ---- */

static uint32_t type_of(mode_t mode)
{
	return S_ISREG(mode) ? AGENT_TYPE_FILE : S_ISDIR(mode) ? AGENT_TYPE_DIRECTORY : AGENT_TYPE_OTHER;
}

static size_t add_text(char *to, size_t at, size_t size, const char *text)
{
	const size_t len = strlen(text) + 1;

	if (!at || at + len > size)
		return 0;
	memcpy(to + at, text, len);
	return at + len;
}

/* Or its number, where it has no name. */
static void write_name(char to[NAME_BYTES], const char *name, unsigned int number)
{
	if (name)
		snprintf(to, NAME_BYTES, "%.*s", NAME_BYTES - 1, name);
	else
		snprintf(to, NAME_BYTES, "%u", number);
}

size_t entry_write(const char *path, char *to, size_t size)
{
	struct stat st, target;
	struct agent_entry entry;
	char link[AGENT_PATH_MAX] = "";
	char owner[NAME_BYTES], group[NAME_BYTES];
	const struct passwd *user;
	const struct group *users;
	size_t at = sizeof(entry);

	if (lstat(path, &st) < 0)
		return 0;
	target = st;
	if (S_ISLNK(st.st_mode)) {
		const ssize_t n = readlink(path, link, sizeof(link) - 1);

		link[n < 0 ? 0 : n] = '\0';
		if (stat(path, &target) < 0)
			target.st_mode = 0;
	}
	entry = (struct agent_entry){ .size = (uint64_t)st.st_size,
				      .modified_s = st.st_mtim.tv_sec,
				      .modified_ns = (uint32_t)st.st_mtim.tv_nsec,
				      .mode = st.st_mode,
				      .type = type_of(target.st_mode),
				      .is_link = S_ISLNK(st.st_mode) };
	user = getpwuid(st.st_uid);
	users = getgrgid(st.st_gid);
	write_name(owner, user ? user->pw_name : NULL, st.st_uid);
	write_name(group, users ? users->gr_name : NULL, st.st_gid);
	errno = ENAMETOOLONG;
	if (size < at)
		return 0;
	memcpy(to, &entry, sizeof(entry));
	at = add_text(to, at, size, path);
	at = add_text(to, at, size, owner);
	at = add_text(to, at, size, group);
	return add_text(to, at, size, link);
}

/* False with errno. */
static bool say_entry(struct caller *caller, const char *path)
{
	char bytes[AGENT_BODY_MAX];
	const size_t len = entry_write(path, bytes, sizeof(bytes));

	return len && say(caller, AGENT_ENTRY, bytes, len, NULL, 0);
}

void files_stat(struct caller *caller)
{
	if (say_entry(caller, caller->path))
		say_end(caller);
	else
		say_errno(caller, errno);
}

/* ---- lists ---- */

/* False with errno. Links are followed to the directory that is listed, and to none below it. */
static bool open_level(struct listing *listing)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (listing->level ? O_NOFOLLOW : 0);
	const int fd = open(listing->path, flags);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	listing->levels[listing->level].dir = dir;
	listing->levels[listing->level++].len = strlen(listing->path);
	return true;
}

void files_list(struct caller *caller)
{
	struct listing *listing = calloc(1, sizeof(*listing));
	const uint32_t depth = caller->request.depth;

	caller->listing = listing;
	if (!listing) {
		say_errno(caller, ENOMEM);
		return;
	}
	listing->depth = depth < DEPTH_MAX ? depth : DEPTH_MAX;
	snprintf(listing->path, sizeof(listing->path), "%s", caller->path);
	if (!open_level(listing))
		say_errno(caller, errno);
	else if (listing->path[1] == '\0')
		listing->levels[0].len = 0; /* paths in "/" begin with one slash */
}

/* The next entry; false: there is none. A directory that cannot be opened has its entry alone. */
static bool list_next(struct caller *caller)
{
	struct listing *listing = caller->listing;

	while (listing->level) {
		const size_t top = listing->level - 1;
		const size_t len = listing->levels[top].len;
		const struct dirent *one = readdir(listing->levels[top].dir);
		struct stat st;

		if (!one) {
			closedir(listing->levels[top].dir);
			listing->level--;
			continue;
		}
		if (strcmp(one->d_name, ".") == 0 || strcmp(one->d_name, "..") == 0)
			continue;
		if (len + 1 + strlen(one->d_name) >= AGENT_PATH_MAX)
			continue;
		listing->path[len] = '/';
		strcpy(listing->path + len + 1, one->d_name);
		if (!say_entry(caller, listing->path))
			continue; /* it is gone again */
		if (listing->level < listing->depth && lstat(listing->path, &st) == 0 && S_ISDIR(st.st_mode))
			open_level(listing);
		return true;
	}
	return false;
}

/* ---- bytes ---- */

void files_read(struct caller *caller)
{
	struct stat st;
	uint64_t size;

	/* A FIFO without a writer would block. */
	caller->file_fd = open(caller->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (caller->file_fd < 0 || fstat(caller->file_fd, &st) < 0) {
		say_errno(caller, errno);
	} else if (S_ISDIR(st.st_mode)) {
		say_failed(caller, AGENT_IS_DIRECTORY, "");
	} else if (!S_ISREG(st.st_mode)) {
		say_failed(caller, AGENT_NOT_REGULAR, "");
	} else {
		size = (uint64_t)st.st_size;
		caller->left = size;
		say(caller, AGENT_SIZE, &size, sizeof(size), NULL, 0);
	}
}

void files_space(struct caller *caller)
{
	struct statvfs st;
	struct agent_space space;

	if (statvfs(caller->path, &st) < 0) {
		say_errno(caller, errno);
		return;
	}
	space = (struct agent_space){ .total = (uint64_t)st.f_blocks * st.f_frsize,
				      .used = (uint64_t)(st.f_blocks - st.f_bfree) * st.f_frsize };
	say(caller, AGENT_SPACE_LEFT, &space, sizeof(space), NULL, 0);
	say_end(caller);
}

static void read_part(struct caller *caller)
{
	char part[PART_BYTES];
	const size_t most = caller->left < sizeof(part) ? (size_t)caller->left : sizeof(part);
	const ssize_t n = most ? read(caller->file_fd, part, most) : 0;

	if (!most) {
		say_end(caller);
	} else if (n <= 0) {
		say_failed(caller, AGENT_OTHER,
			   n < 0 ? strerror(errno) : "the file became shorter while it was read");
	} else {
		caller->left -= (size_t)n;
		say(caller, AGENT_BYTES, part, (size_t)n, NULL, 0);
	}
}

/* ---- going on ---- */

void files_more(struct caller *caller)
{
	if (caller->over)
		return;
	if (caller->file_fd >= 0)
		read_part(caller);
	while (caller->listing && !caller->over && caller->out_len < PART_BYTES)
		if (!list_next(caller))
			say_end(caller);
}

void files_done(struct caller *caller)
{
	struct listing *listing = caller->listing;

	fd_done(&caller->file_fd);
	while (listing && listing->level)
		closedir(listing->levels[--listing->level].dir);
	free(listing);
	caller->listing = NULL;
}
