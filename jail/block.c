#include "jail/block.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/compose.h"
#include "base/fd.h"
#include "base/path.h"
#include "jail/edge.h"
#include "jail/overlay.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif
#define BLOCK_MAX                                                                                            \
	(8u << 20) /* arguments and environment included; the kernel's own limit for them is 6 MiB */

uint32_t block_reserve(struct block *block, size_t len)
{
	size_t start = (block->len + 7) & ~(size_t)7;
	size_t end = start + len;

	if (block->failed || end < start || end > BLOCK_MAX) {
		block->failed = true;
		return 0;
	}
	if (end > block->cap) {
		size_t cap = block->cap ? block->cap : 16384;
		char *bytes;

		while (cap < end)
			cap *= 2;
		bytes = realloc(block->bytes, cap);
		if (!bytes) {
			block->failed = true;
			return 0;
		}
		block->bytes = bytes;
		block->cap = cap;
	}
	memset(block->bytes + block->len, 0, end - block->len);
	block->len = end;
	return (uint32_t)start;
}

uint32_t block_append(struct block *block, const void *bytes, size_t len)
{
	uint32_t at = block_reserve(block, len);

	if (!block->failed && len)
		memcpy(block->bytes + at, bytes, len);
	return at;
}

uint32_t block_string(struct block *block, const char *text)
{
	return block_append(block, text, strlen(text) + 1);
}

uint32_t block_strings(struct block *block, char *const *items, size_t count)
{
	uint32_t at = block_reserve(block, (count + 1) * sizeof(uint64_t));

	for (size_t i = 0; i < count && !block->failed; i++) {
		uint64_t offset = block_string(block, items[i]);

		if (!block->failed)
			WIRE_AT(block->bytes, at, uint64_t)[i] = offset;
	}
	return block->failed ? 0 : at;
}

void block_done(struct block *block)
{
	free(block->bytes);
	*block = (struct block){ 0 };
}

int block_memfd(struct block *block, struct warder_error *err)
{
	owned_fd int fd = -1;

	if (block->failed)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "argv",
				 "arguments and environment need more than %u bytes, or memory is short",
				 BLOCK_MAX);
	block_header(block)->size = (uint32_t)block->len;
	fd = memfd_create("warder-plan", MFD_CLOEXEC);
	if (fd < 0 || write(fd, block->bytes, block->len) != (ssize_t)block->len)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
				       "cannot write the plan to a memfd");
	return fd_take(&fd);
}

/* A mount point beneath another bind must exist there; beneath an overlay or the jail's /tmp it is made in it, elsewhere in the root's own
 * tmpfs. */
static uint32_t making(const struct rootfs *rootfs, size_t index)
{
	const char *target = rootfs->entries[index].target;
	const struct rootfs_entry *cover = NULL;

	if (!target[1])
		return 0;

	for (size_t i = 0; i < rootfs->count; i++) {
		const struct rootfs_entry *other = &rootfs->entries[i];

		if ((other->kind == ROOTFS_BIND || other->kind == ROOTFS_OVERLAY) &&
		    path_is_below(other->target, target))
			cover = other; /* the deepest is the last */
	}
	if (!cover && path_is_below_tmp(target))
		return WIRE_ENTRY_MAKE;
	if (!cover)
		return WIRE_ENTRY_CREATE;
	return cover->kind == ROOTFS_OVERLAY ? WIRE_ENTRY_MAKE : 0;
}

/* What carries the identity of the run, an overlay, what the jail's /tmp would hide, and what lies beneath such a mount. Only a
 * detached mount can be handed to a launch; an ordinary user's init has its own. */
bool block_is_late(const struct rootfs *rootfs, size_t index, bool detached)
{
	const struct rootfs_entry *entry = &rootfs->entries[index];

	if (entry->kind == ROOTFS_OVERLAY)
		return true;
	if (entry->kind != ROOTFS_BIND && entry->kind != ROOTFS_FILE)
		return false;
	if (path_is_below_tmp(entry->target) || (detached && entry->owner_mapped))
		return true;
	for (size_t i = 0; i < rootfs->count; i++) {
		const struct rootfs_entry *other = &rootfs->entries[i];

		if ((other->kind == ROOTFS_OVERLAY ||
		     (detached && other->kind == ROOTFS_BIND && other->owner_mapped)) &&
		    path_is_below(other->target, entry->target))
			return true;
	}
	return false;
}

static uint64_t device(dev_t dev)
{
	return ((uint64_t)major(dev) << 32) | minor(dev);
}

static void put_entry(struct block *block, const struct jail_plan *plan, size_t index, uint32_t at)
{
	static const uint32_t kinds[] = {
		[ROOTFS_DIRECTORY] = WIRE_DIRECTORY, [ROOTFS_SYMLINK] = WIRE_SYMLINK,
		[ROOTFS_FILE] = WIRE_FILE,           [ROOTFS_BIND] = WIRE_BIND,
		[ROOTFS_OVERLAY] = WIRE_OVERLAY,
	};
	const struct rootfs_entry *from = &plan->rootfs.entries[index];
	struct wire_entry to = { .kind = kinds[from->kind], .fd = -1 };

	to.target = block_string(block, from->target);
	/* A zygote's root shows the same objects under the paths that they are to have. */
	if (from->source)
		to.source = block_string(block, plan->forked ? from->target : from->source);
	to.overlay = (uint32_t)from->overlay;
	if (from->text) {
		to.text = block_string(block, from->text);
		to.text_len = (uint32_t)strlen(from->text);
	}
	to.flags =
	    (from->read_only ? WIRE_ENTRY_READ_ONLY : 0) | (from->no_exec ? WIRE_ENTRY_NO_EXEC : 0) |
	    (from->is_directory ? WIRE_ENTRY_IS_DIRECTORY : 0) | making(&plan->rootfs, index) |
	    (block_is_late(&plan->rootfs, index, plan->privileged && !plan->old_mounts) ? WIRE_ENTRY_LATE
											: 0);
	to.dev = device(from->source_dev);
	to.ino = from->source_ino;
	if (!block->failed)
		WIRE_AT(block->bytes, at, struct wire_entry)[index] = to;
}

static uint32_t put_layers(struct block *block, const struct rootfs_overlay *overlay, size_t index)
{
	uint32_t rows = block_reserve(block, overlay->layer_count * sizeof(struct wire_layer));

	for (size_t i = 0; i < overlay->layer_count; i++) {
		const struct rootfs_layer *from = &overlay->layers[i];
		char path[OVERLAY_PATH_BYTES];
		struct wire_layer to = { .fd = -1, .dev = device(from->source_dev), .ino = from->source_ino };

		overlay_layer_path(index, i, path);
		to.source = block_string(block, from->source);
		to.mount_point = block_string(block, path);
		if (!block->failed)
			WIRE_AT(block->bytes, rows, struct wire_layer)[i] = to;
	}
	return rows;
}

static uint32_t put_path(struct block *block, size_t index, const char *what)
{
	char path[OVERLAY_PATH_BYTES];

	overlay_path(index, what, path);
	return block_string(block, path);
}

static uint32_t put_overlays(struct block *block, const struct jail_plan *plan)
{
	const size_t count = plan->rootfs.overlay_count;
	uint32_t rows = block_reserve(block, count * sizeof(struct wire_overlay));

	for (size_t i = 0; i < count; i++) {
		const struct rootfs_overlay *from = &plan->rootfs.overlays[i];
		struct wire_overlay to = { .layer_count = (uint32_t)from->layer_count };
		char options[OVERLAY_OPTIONS_BYTES];

		to.layers = put_layers(block, from, i);
		to.directory = put_path(block, i, "");
		to.upper = put_path(block, i, "/upper");
		to.work = put_path(block, i, "/work");
		overlay_options(&plan->rootfs, i, overlay_user_xattrs(plan, i), options);
		to.options = block_string(block, options);
		if (!block->failed)
			WIRE_AT(block->bytes, rows, struct wire_overlay)[i] = to;
	}
	return rows;
}

static uint32_t put_writable(struct block *block, const struct jail_plan *plan, uint32_t *ret_count)
{
	static const char *const always[] = { "/tmp", "/dev/shm" };
	uint32_t rows = block_reserve(block, (plan->rootfs.count + 2) * sizeof(uint32_t));
	uint32_t count = 0;

	for (size_t i = 0; i < plan->rootfs.count + 2; i++) {
		const struct rootfs_entry *entry = i < 2 ? NULL : &plan->rootfs.entries[i - 2];
		uint32_t text;

		if (entry && entry->kind != ROOTFS_OVERLAY &&
		    (entry->kind != ROOTFS_BIND || entry->read_only))
			continue;
		text = block_string(block, entry ? entry->target : always[i]);
		if (!block->failed)
			WIRE_AT(block->bytes, rows, uint32_t)[count++] = text;
	}
	*ret_count = count;
	return rows;
}

/* What the host does not know of its names, init finds out: it mounts over those that are there. */
static void put_cover(struct block *block, const struct proc_row *row, const struct proc_facts *facts,
		      char *text, size_t size, uint32_t at)
{
	static const struct {
		const char *source; /* NULL: a file of its own */
		uint32_t flags;
	} kinds[] = {
		[PROC_NULL] = { "/dev/null", 0 },
		[PROC_EMPTY] = { "/dev/empty", 0 },
		[PROC_FILE] = { NULL, 0 },
		[PROC_LAUNCH] = { NULL, WIRE_COVER_LAUNCH },
		[PROC_FILES] = { NULL, WIRE_COVER_DIRECTORY },
		[PROC_PART] = { NULL, WIRE_COVER_PART },
		[PROC_ROOT] = { "/dev/null", 0 },
	};
	struct wire_cover to = { .target = block_string(block, row->path), .flags = kinds[row->cover].flags };
	char source[64];

	if (!kinds[row->cover].source)
		compose(source, sizeof(source), row->cover == PROC_LAUNCH ? WIRE_LAUNCH_PROC : WIRE_ROOT_PROC,
			"/", proc_name(row));
	to.source = block_string(block, kinds[row->cover].source ? kinds[row->cover].source : source);
	if ((row->cover == PROC_FILE || row->cover == PROC_PART) && facts) {
		to.text_len = (uint32_t)proc_write(row, facts, NULL, text, size);
		to.text = block_append(block, text, to.text_len);
	}
	if (!block->failed)
		*WIRE_AT(block->bytes, at, struct wire_cover) = to;
}

/* A privileged launch gives its jails ids that own nothing. */
static bool users_are_root(const struct jail_plan *plan)
{
	return !plan->privileged && !plan->forked && geteuid() == 0;
}

/* Of a jail whose root is made for it; in a session's, what does not change from launch to launch is there. */
static uint32_t put_covers(struct block *block, const struct jail_plan *plan, uint32_t *ret_count)
{
	struct proc_facts facts;
	/* The longest file is that of the processors. */
	const size_t longest = (size_t)(plan->processors + 1) * PROC_CPUINFO_MAX;
	const size_t size = longest < PROC_TEXT_MAX ? longest : PROC_TEXT_MAX;
	char *text = malloc(size);
	uint32_t count = 0;
	uint32_t rows;

	/* The rows of what only root may open are the last. */
	while (proc_row(count) && (proc_row(count)->cover != PROC_ROOT || users_are_root(plan)))
		count++;
	rows = block_reserve(block, (count + TRUST_COUNT) * sizeof(struct wire_cover));
	if (!text)
		block->failed = true;
	if (!plan->joint)
		proc_describe(&plan->policy, plan->processors, &facts);
	for (uint32_t i = 0; i < count && !block->failed; i++)
		put_cover(block, proc_row(i), plan->joint ? NULL : &facts, text, size,
			  rows + i * (uint32_t)sizeof(struct wire_cover));
	free(text);
	/* Behind the names of /proc: the files of authorities, which cover nothing until they have their bytes. */
	for (int i = 0; i < TRUST_COUNT && policy_injects(&plan->policy) && !plan->joint; i++) {
		struct wire_cover to = { .target = block_string(block, trust_path(i)),
					 .source = block_string(block, trust_source(i)),
					 .flags = WIRE_COVER_PART };

		if (!block->failed)
			WIRE_AT(block->bytes, rows, struct wire_cover)[count] = to;
		count++;
	}
	*ret_count = count;
	return rows;
}

void block_add_trust(struct block *block, const struct trust *trust)
{
	for (int i = 0; i < TRUST_COUNT; i++) {
		const struct trust_file *file = &trust->files[i];
		const uint32_t at = file->bytes ? block_append(block, file->bytes, file->len) : 0;
		struct wire_cover *cover;

		if (!file->bytes || block->failed)
			continue;
		cover = WIRE_AT(block->bytes, block_header(block)->covers, struct wire_cover) +
			block_header(block)->cover_count - TRUST_COUNT + i;
		cover->text = at;
		cover->text_len = (uint32_t)file->len;
		cover->flags = WIRE_COVER_LAUNCH;
	}
}

void block_add_moment(struct block *block, const struct jail_plan *plan, const struct proc_moment *moment)
{
	struct proc_facts facts; /* its 8 KB of text are of no use here, and stay as they are */
	const uint32_t covers = block_header(block)->covers;
	char text[PROC_MOMENT_MAX];

	facts.processors = plan->processors;
	for (uint32_t i = 0; i < block_header(block)->cover_count && !block->failed; i++) {
		const struct proc_row *row = proc_row(i);
		uint32_t at;
		size_t len;

		if (!row || row->cover != PROC_LAUNCH)
			continue;
		len = proc_write(row, &facts, moment, text, sizeof(text));
		at = block_append(block, text, len);
		if (block->failed)
			return;
		WIRE_AT(block->bytes, covers, struct wire_cover)[i].text = at;
		WIRE_AT(block->bytes, covers, struct wire_cover)[i].text_len = (uint32_t)len;
	}
}

static uint32_t plan_flags(const struct jail_plan *plan, bool reusable)
{
	if (plan->joint)
		return WIRE_JOINS | (plan->privileged ? WIRE_PRIVILEGED : 0) |
		       (plan->namespaces & CLONE_NEWCGROUP ? WIRE_CGROUP_NS : 0) |
		       (plan->speculation ? WIRE_SPECULATION : 0) | (plan->background ? WIRE_BACKGROUND : 0);
	if (plan->starter)
		return plan->starter->bare ? WIRE_BARE
					   : WIRE_CONTAINED | (plan->speculation ? WIRE_SPECULATION : 0) |
						 (plan->starter->gives_setpcap ? WIRE_SETPCAP : 0);
	return (plan->privileged ? WIRE_PRIVILEGED : 0) | (plan->holds ? WIRE_HOLDS : 0) |
	       (reusable ? WIRE_REUSABLE : 0) | (plan->loopback_up ? WIRE_LOOPBACK_UP : 0) |
	       (plan->rootfs.tmp_exec ? WIRE_TMP_EXEC : 0) | (plan->speculation ? WIRE_SPECULATION : 0) |
	       (plan->namespaces & CLONE_NEWTIME ? WIRE_TIME_NS : 0) |
	       (plan->namespaces & CLONE_NEWCGROUP ? WIRE_CGROUP_NS : 0) |
	       (plan->namespaces & CLONE_NEWNET ? WIRE_OWN_NETWORK : 0) | (plan->edge ? WIRE_EDGE : 0) |
	       (plan->old_mounts ? WIRE_OLD_MOUNTS : 0) | (plan->rootfs.whole ? WIRE_WHOLE_ROOT : 0) |
	       (plan->privileged ? 0 : WIRE_FRESH_USER_NS) | (plan->zygote ? WIRE_ZYGOTE : 0) |
	       (plan->forked ? WIRE_FORKED : 0);
}

static uint32_t put_rlimits(struct block *block, const struct jail_plan *plan)
{
	const uint32_t rows = block_reserve(block, plan->rlimit_count * sizeof(struct wire_rlimit));

	for (size_t i = 0; i < plan->rlimit_count && !block->failed; i++) {
		struct wire_rlimit *row = WIRE_AT(block->bytes, rows, struct wire_rlimit) + i;

		row->resource = (uint32_t)plan->rlimits[i].resource;
		row->value = plan->rlimits[i].value;
	}
	return rows;
}

int block_from_plan(struct block *ret, const struct jail_plan *plan, bool reusable, struct warder_error *err)
{
	struct block block = { 0 };
	struct wire_block header = { .magic = WIRE_MAGIC };
	char options[96];
	uint64_t inodes = plan->rootfs.scratch_bytes / 16384;

	block_reserve(&block, sizeof(header));
	header.flags = plan_flags(plan, reusable);
	header.namespaces = plan->joint || plan->starter ? plan->namespaces : 0;
	header.uid = plan->uid;
	header.gid = plan->gid;
	header.entry_count = (uint32_t)plan->rootfs.count;
	header.entries = block_reserve(&block, plan->rootfs.count * sizeof(struct wire_entry));
	for (size_t i = 0; i < plan->rootfs.count; i++)
		put_entry(&block, plan, i, header.entries);
	header.overlay_count = (uint32_t)plan->rootfs.overlay_count;
	header.overlays = put_overlays(&block, plan);
	if ((!plan->starter || plan->joint) && !plan->rootfs.whole_proc)
		header.covers = put_covers(&block, plan, &header.cover_count);
	header.rlimit_count = (uint32_t)plan->rlimit_count;
	header.rlimits = put_rlimits(&block, plan);
	header.filter_count = (uint32_t)plan->filter->count;
	header.filter =
	    block_append(&block, plan->filter->code, plan->filter->count * sizeof(struct sock_filter));
	header.hostname = block_string(&block, plan->hostname);
	header.hostname_len = (uint32_t)strlen(plan->hostname);
	header.working_directory = block_string(&block, plan->rootfs.working_directory);
	/* Files, not only bytes, are kernel memory: one inode per 16 KiB, but enough for a small /tmp to be useful. */
	snprintf(options, sizeof(options), "mode=0755,size=%llu,nr_inodes=%llu",
		 (unsigned long long)plan->rootfs.scratch_bytes,
		 (unsigned long long)(inodes < 1024 ? 1024 : inodes));
	header.scratch_options = block_string(&block, options);
	/* devpts takes max=0 for "no limit": without terminals it is not mounted. */
	if (plan->rootfs.terminals) {
		snprintf(options, sizeof(options), "newinstance,ptmxmode=0666,mode=0620,max=%u",
			 plan->rootfs.terminals);
		header.pts_options = block_string(&block, options);
	}
	header.named = plan->named;
	header.inward_count = plan->publishes ? EDGE_INWARD_MAX : 0;
	header.listener_count = (uint32_t)edge_listeners(&plan->policy, plan->named, NULL, NULL);
	header.listeners = block_reserve(&block, header.listener_count * sizeof(struct edge_listener));
	if (!block.failed)
		edge_listeners(&plan->policy, plan->named,
			       WIRE_AT(block.bytes, header.listeners, struct edge_listener), NULL);
	header.writable = put_writable(&block, plan, &header.writable_count);
	header.landlock_abi = (uint32_t)plan->landlock_abi;
	if (block.failed) {
		block_done(&block);
		return error_no_memory(err, NULL);
	}
	*block_header(&block) = header;
	*ret = block;
	return 0;
}
