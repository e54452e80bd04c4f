/*
 * The tree may be deeper than this stack: a directory that is not empty is moved to the top, where the next pass empties it. So
 * two descriptors are enough for any tree, and each pass that changes something is followed by another.
 */
#include "jail/inside/scratch.h"

#include <asm/fcntl.h>
#include <linux/fcntl.h>
#include <stdbool.h>
#include <stdint.h>

#include "jail/inside/sys.h"

#ifndef AT_REMOVEDIR
#define AT_REMOVEDIR 0x200
#endif
#define OPEN_DIRECTORY (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

struct entry {
	uint64_t number;
	int64_t offset;
	uint16_t size;
	uint8_t type;
	char name[];
};

struct removal {
	int top_fd;
	uint64_t moved; /* directories so far; the next one's name */
};

static bool is_dots(const char *name)
{
	return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

/* ".<number in base 16, backwards>" */
static void name_moved(uint64_t number, char name[20])
{
	*name++ = '.';
	do
		*name++ = "0123456789abcdef"[number % 16];
	while (number /= 16);
	*name = 0;
}

static bool move_up(struct removal *removal, int dir_fd, const char *name)
{
	char top_name[20];

	name_moved(removal->moved++, top_name);
	sys(fchmodat, dir_fd, name, 0700); /* its ".." changes */
	return sys(renameat2, dir_fd, name, removal->top_fd, top_name, 1 /* not over another */) == 0;
}

/* An entry that is no directory, or an empty one. */
static bool remove_entry(int dir_fd, const char *name)
{
	return sys(unlinkat, dir_fd, name, 0) == 0 || sys(unlinkat, dir_fd, name, AT_REMOVEDIR) == 0;
}

/* Whether anything changed. Of the top each directory is emptied; of those below, what is left is moved up. */
static bool empty_directory(struct removal *removal, int dir_fd)
{
	char text[2048] __attribute__((aligned(8)));
	bool changed = false;
	long len;

	sys(lseek, dir_fd, 0, 0);
	while ((len = sys(getdents64, dir_fd, text, sizeof(text))) > 0) {
		for (long at = 0; at < len;) {
			const struct entry *entry = (const struct entry *)(const void *)(text + at);
			long below_fd;

			at += entry->size;
			if (is_dots(entry->name))
				continue;
			if (remove_entry(dir_fd, entry->name)) {
				changed = true;
				continue;
			}
			if (dir_fd != removal->top_fd) {
				changed |= move_up(removal, dir_fd, entry->name);
				continue;
			}
			sys(fchmodat, dir_fd, entry->name, 0700);
			below_fd = sys(openat, dir_fd, entry->name, OPEN_DIRECTORY, 0);
			if (below_fd < 0)
				continue;
			changed |= empty_directory(removal, (int)below_fd);
			sys(close, below_fd);
			changed |= sys(unlinkat, dir_fd, entry->name, AT_REMOVEDIR) == 0;
		}
	}
	return changed;
}

void scratch_remove(const char *path)
{
	struct removal removal;
	long top_fd = sys(openat, AT_FDCWD, path, OPEN_DIRECTORY, 0);

	if (top_fd < 0) { /* the program may have taken away its own right */
		sys(fchmodat, AT_FDCWD, path, 0700);
		top_fd = sys(openat, AT_FDCWD, path, OPEN_DIRECTORY, 0);
	}
	if (top_fd < 0)
		return;
	sys(fchmod, top_fd, 0700);
	removal.top_fd = (int)top_fd;
	removal.moved = 0;
	while (empty_directory(&removal, removal.top_fd))
		;
	sys(close, top_fd);
	sys(unlinkat, AT_FDCWD, path, AT_REMOVEDIR);
}
