/*
 * What a starter (jail.h) needs of the plan that only the jail's own hands can make: mounts with the run's owners, overlays, and the
 * list of what has to be covered.
 *
 * An overlay is mounted by the code that a jail's init runs, in a forked process with the container's root as its own, so that the
 * directories that the kernel shows for it are the same in both, and one read-back serves both.
 */
#include <fcntl.h>
#include <string.h>

#include "base/array.h"
#include "jail/block.h"
#include "jail/inside/overlay.h"
#include "jail/inside/sys.h"
#include "jail/inside/tree.h"
#include "jail/overlay.h"
#include "jail/proc.h"
#include "jail/run.h"

int jail_start_tree(const struct jail_start *start, size_t index, struct warder_error *err)
{
	const struct jail_plan *plan = start->plan;

	return template_clone_tree(&plan->rootfs.entries[index], &start->run->identity, plan->uid, plan->gid,
				   err);
}

int jail_start_layer(const struct jail_start *start, size_t overlay, size_t layer, struct warder_error *err)
{
	const struct jail_plan *plan = start->plan;
	const struct rootfs_overlay *from = &plan->rootfs.overlays[overlay];
	bool mapped = true;
	int fd = overlay_clone_layer(from, &from->layers[layer], &start->run->identity, plan->uid, plan->gid,
				     &mapped, err);

	start->run->unmapped |= !mapped;
	return fd;
}

bool jail_start_is_cancelled(const struct jail_start *start)
{
	const struct jail_command *command = &start->run->command;

	return command->should_stop && command->should_stop(command->stop_context);
}

static void give_layers(struct wire_block *block, const int *layers)
{
	const struct wire_overlay *overlays = WIRE_AT(block, block->overlays, const struct wire_overlay);

	for (uint32_t i = 0; i < block->overlay_count; i++) {
		struct wire_layer *to = WIRE_AT(block, overlays[i].layers, struct wire_layer);

		for (uint32_t j = 0; j < overlays[i].layer_count; j++)
			to[j].fd = *layers++;
	}
}

/* Make mount points, and Warder's own files, in the upper layers of the overlays. */
static long fill_overlays(const struct wire_block *block, const char **ret_what)
{
	const struct wire_entry *entries = WIRE_AT(block, block->entries, const struct wire_entry);
	long root_fd = sys(openat, AT_FDCWD, "/", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	long ret = root_fd < 0 ? root_fd : 0;

	for (uint32_t i = 0; i < block->entry_count && ret == 0; i++) {
		if (!(entries[i].flags & WIRE_ENTRY_MAKE) ||
		    strncmp(WIRE_AT(block, entries[i].target, const char), "/tmp/", 5) == 0)
			continue; /* the container's /tmp is not there yet */
		*ret_what = WIRE_AT(block, entries[i].target, const char);
		ret = entries[i].kind == WIRE_FILE
			  ? tree_put_file((int)root_fd, *ret_what,
					  WIRE_AT(block, entries[i].text, const char), entries[i].text_len)
			  : tree_make_point((int)root_fd, *ret_what,
					    entries[i].flags & WIRE_ENTRY_IS_DIRECTORY, 0755);
	}
	if (root_fd >= 0)
		sys(close, root_fd);
	return ret;
}

long jail_start_overlays(const struct jail_start *start, const int *layers, const char **ret_what)
{
	/* The forked process's own copy. */
	struct wire_block *block = block_header(&start->run->tmpl->block);
	long ret;

	give_layers(block, layers);
	block->flags |= WIRE_PRIVILEGED; /* owners can be given */
	ret = overlays_mount(block, -1, start->fds[WIRE_FD_CONTROL], ret_what);
	return ret < 0 ? ret : fill_overlays(block, ret_what);
}

/* A runtime covers with nothing, not with files; and its own init finds the processors of the host. */
const char *jail_start_masked(size_t i, bool *ret_whole)
{
	/* Not to be written. */
	static const char *const sealed[] = { "/proc/sys" };
	const struct proc_row *row;
	size_t masks = 0;

	if (i < ARRAY_LENGTH(sealed)) {
		*ret_whole = false;
		return sealed[i];
	}
	i -= ARRAY_LENGTH(sealed);
	for (size_t k = 0; (row = proc_row(k)); k++)
		if ((row->cover == PROC_NULL || row->cover == PROC_EMPTY || row->cover == PROC_ROOT) &&
		    masks++ == i) {
			*ret_whole = true;
			return row->path;
		}
	return NULL;
}
