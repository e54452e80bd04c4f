#include "jail/mounts.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	FLAG_RO = 1,
	FLAG_NOSUID = 2,
	FLAG_NODEV = 4,
	FLAG_NOEXEC = 8,
};

static const struct flag {
	const char *name;
	unsigned int bit;
} flag_names[] = {
	{ "ro", FLAG_RO },
	{ "nosuid", FLAG_NOSUID },
	{ "nodev", FLAG_NODEV },
	{ "noexec", FLAG_NOEXEC },
};

/* The jail's own mounts. /dev and its nodes are the only ones without nodev, and they are read-only. */
static const struct own {
	const char *target;
	unsigned int flags;
} own_mounts[] = {
	{ "/", FLAG_RO | FLAG_NOSUID | FLAG_NODEV },
	{ "/dev", FLAG_RO | FLAG_NOSUID | FLAG_NOEXEC },
	{ "/dev/pts", FLAG_NOSUID | FLAG_NOEXEC },
	{ "/dev/shm", FLAG_NOSUID | FLAG_NODEV | FLAG_NOEXEC },
	{ "/proc", FLAG_RO | FLAG_NOSUID | FLAG_NODEV | FLAG_NOEXEC },
	{ "/tmp", FLAG_NOSUID | FLAG_NODEV },
};
#define OWN_COUNT (sizeof(own_mounts) / sizeof(own_mounts[0]))

static bool beneath(const char *path, const char *parent)
{
	size_t len = strlen(parent);

	return strncmp(path, parent, len) == 0 && path[len] == '/';
}

static unsigned int parse_flags(char *options)
{
	unsigned int flags = 0;
	char *left = NULL;

	for (char *name = strtok_r(options, ",", &left); name; name = strtok_r(NULL, ",", &left))
		for (size_t i = 0; i < sizeof(flag_names) / sizeof(flag_names[0]); i++)
			if (strcmp(name, flag_names[i].name) == 0)
				flags |= flag_names[i].bit;
	return flags;
}

static void print_flags(unsigned int flags, char *buf, size_t size)
{
	size_t used = 0;

	buf[0] = 0;
	for (size_t i = 0; i < sizeof(flag_names) / sizeof(flag_names[0]); i++)
		if (flags & flag_names[i].bit)
			used += (size_t)snprintf(buf + used, size - used, "%s%s", used ? "," : "", flag_names[i].name);
}

/* The kernel writes space, tab, newline and backslash of a path as \ooo. */
static void unescape(char *path)
{
	char *to = path;

	while (*path) {
		if (path[0] == '\\' && path[1] && path[2] && path[3]) {
			*to++ = (char)((path[1] - '0') * 64 + (path[2] - '0') * 8 + (path[3] - '0'));
			path += 4;
		} else {
			*to++ = *path++;
		}
	}
	*to = 0;
}

static unsigned int bind_flags(const struct rootfs_entry *entry)
{
	return FLAG_NOSUID | FLAG_NODEV | (entry->read_only ? FLAG_RO : 0) | (entry->no_exec ? FLAG_NOEXEC : 0);
}

/* The flags that a mount at this place must have; -1: it has no business there. *ret_row is its row in `seen`. */
static int wanted_flags(const struct rootfs *rootfs, const char *path, size_t *ret_row)
{
	int wanted = -1;
	size_t best = 0;

	*ret_row = SIZE_MAX;
	for (size_t i = 0; i < OWN_COUNT; i++)
		if (strcmp(path, own_mounts[i].target) == 0) {
			*ret_row = i;
			return (int)own_mounts[i].flags;
		}
	for (size_t i = 0; i < rootfs->count; i++) {
		const struct rootfs_entry *entry = &rootfs->entries[i];
		size_t len = strlen(entry->target);

		if (entry->kind != ROOTFS_BIND)
			continue;
		if (strcmp(path, entry->target) == 0) {
			*ret_row = OWN_COUNT + i;
			return (int)bind_flags(entry);
		}
		if (beneath(path, entry->target) && len >= best) {
			best = len;
			wanted = (int)bind_flags(entry);
		}
	}
	if (wanted >= 0)
		return wanted; /* came with a recursive bind */
	/* A mask; or a node of an ordinary user's /dev, a bind of one device. */
	if (beneath(path, "/proc"))
		return 0;
	if (beneath(path, "/dev"))
		return 0;
	return -1;
}

static int check_line(char *line, const struct rootfs *rootfs, bool *seen, struct warder_error *err)
{
	char *fields[6];
	char *left = NULL;
	char *field = strtok_r(line, " ", &left);
	char has[48];
	char wants[48];
	unsigned int flags;
	size_t row;
	int wanted;

	for (int i = 0; i < 6; i++, field = strtok_r(NULL, " ", &left)) {
		if (!field)
			return error_set(err, WARDER_ERROR_INTERNAL, NULL, "mountinfo line without 6 fields");
		fields[i] = field;
	}
	unescape(fields[4]);
	flags = parse_flags(fields[5]);
	wanted = wanted_flags(rootfs, fields[4], &row);
	if (wanted < 0)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "filesystem.view",
		                 "the kernel shows a mount at %s that the plan does not have", fields[4]);
	if ((flags & (unsigned int)wanted) != (unsigned int)wanted) {
		print_flags(flags, has, sizeof(has));
		print_flags((unsigned int)wanted, wants, sizeof(wants));
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "filesystem.view",
		                 "the kernel shows %s mounted with \"%s\", the plan wants \"%s\"", fields[4], has, wants);
	}
	if (row != SIZE_MAX)
		seen[row] = true;
	return 0;
}

static int check_seen(const struct rootfs *rootfs, const bool *seen, struct warder_error *err)
{
	for (size_t i = 0; i < OWN_COUNT + rootfs->count; i++) {
		const char *target = i < OWN_COUNT ? own_mounts[i].target : rootfs->entries[i - OWN_COUNT].target;

		if (i >= OWN_COUNT && rootfs->entries[i - OWN_COUNT].kind != ROOTFS_BIND)
			continue;
		if (!seen[i])
			return error_set(err, WARDER_ERROR_UNAVAILABLE, "filesystem.view",
			                 "the kernel does not show the plan's mount at %s", target);
	}
	return 0;
}

int mounts_check(char *text, const struct rootfs *rootfs, struct warder_error *err)
{
	bool *seen = calloc(OWN_COUNT + rootfs->count, sizeof(*seen));
	char *left = NULL;
	int count = 0;
	int ret = 0;

	if (!seen)
		return error_set(err, WARDER_ERROR_INTERNAL, NULL, "no memory");
	for (char *line = strtok_r(text, "\n", &left); line && ret == 0; line = strtok_r(NULL, "\n", &left), count++)
		ret = check_line(line, rootfs, seen, err);
	if (ret == 0)
		ret = check_seen(rootfs, seen, err);
	free(seen);
	return ret == 0 ? count : -1;
}
