#include "store/images/names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"

static int add_name(struct names *names, size_t *capacity, const char *name)
{
	if (names->count == *capacity) {
		char **grown = reallocarray(names->items, *capacity * 2 + 64, sizeof(*grown));

		if (!grown)
			return -1;
		names->items = grown;
		*capacity = *capacity * 2 + 64;
	}
	names->items[names->count] = strdup(name);
	if (!names->items[names->count])
		return -1;
	names->count++;
	return 0;
}

int names_read(int fd, struct names *ret)
{
	owned_fd int own_fd = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = own_fd >= 0 ? fdopendir(own_fd) : NULL;
	struct dirent *entry;
	size_t capacity = 0;
	int error = 0;

	*ret = (struct names){ 0 };
	if (!dir)
		return -1;
	fd_take(&own_fd);
	while (!error && (errno = 0, entry = readdir(dir)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (add_name(ret, &capacity, entry->d_name) != 0)
			error = ENOMEM;
	}
	if (!error)
		error = errno;
	closedir(dir);
	if (error) {
		names_done(ret);
		errno = error;
		return -1;
	}
	if (ret->count)
		qsort(ret->items, ret->count, sizeof(ret->items[0]), text_order);
	return 0;
}

void names_done(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->items[i]);
	free(names->items);
	*names = (struct names){ 0 };
}

struct names_link {
	dev_t dev;
	ino_t ino;
	char *path; /* NULL: an empty slot */
};

static struct names_link *slot_of(struct names_link *slots, size_t capacity, dev_t dev, ino_t ino)
{
	size_t at = (size_t)(((uint64_t)ino * 0x9e3779b97f4a7c15u) ^ (uint64_t)dev) & (capacity - 1);

	while (slots[at].path && (slots[at].dev != dev || slots[at].ino != ino))
		at = (at + 1) & (capacity - 1);
	return &slots[at];
}

/* At most half of the slots are taken. */
static int grow(struct names_links *links)
{
	const size_t capacity = links->capacity ? links->capacity * 2 : 256;
	struct names_link *slots;

	if (links->count * 2 < links->capacity)
		return 0;
	slots = calloc(capacity, sizeof(*slots));
	if (!slots)
		return -1;
	for (size_t i = 0; i < links->capacity; i++) {
		if (links->slots[i].path)
			*slot_of(slots, capacity, links->slots[i].dev, links->slots[i].ino) = links->slots[i];
	}
	free(links->slots);
	links->slots = slots;
	links->capacity = capacity;
	return 0;
}

int names_links_add(struct names_links *links, const struct stat *st, const char *path,
		    const char **ret_first)
{
	struct names_link *slot;

	if (grow(links) != 0)
		return -1;
	slot = slot_of(links->slots, links->capacity, st->st_dev, st->st_ino);
	*ret_first = slot->path;
	if (slot->path)
		return 0;
	slot->path = strdup(path);
	if (!slot->path)
		return -1;
	slot->dev = st->st_dev;
	slot->ino = st->st_ino;
	links->count++;
	return 0;
}

void names_links_done(struct names_links *links)
{
	for (size_t i = 0; i < links->capacity; i++)
		free(links->slots[i].path);
	free(links->slots);
	*links = (struct names_links){ 0 };
}
