#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/launcher/snapshots.h"
#include "host/launcher/state.h"
#include "rootfs/rootfs.h"

static char complaint[200];

static void log_line(const char *line)
{
	snprintf(complaint, sizeof(complaint), "%s", line);
}

static void remove_directory(const char *directory)
{
	int fd = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	cr_expect(rootfs_remove_tree(fd, strrchr(directory, '/') + 1) == 0);
	close(fd);
}

/* A launcher with two snapshots, made in this order, as the next one finds them. */
static void reopen(const char *directory, struct snapshots *snapshots, const char *const ids[2],
		   const uint64_t created_ms[2])
{
	struct warder_error err = { 0 };

	cr_assert(snapshots_load(directory, log_line, snapshots, &err) == 0, "%s", err.text);
	for (size_t i = 0; i < 2; i++) {
		struct snapshot *made = snapshots_begin(snapshots, "me-0123456789abcdef", &err);
		char *record;

		cr_assert(made != NULL);
		strcpy(made->id, ids[i]);
		strcpy(made->name, "name");
		if (created_ms)
			made->created_ms = created_ms[i];
		record = snapshot_record(made);
		cr_assert(state_write(snapshots->records_fd, made->id, record, &err) == 0, "%s", err.text);
		free(record);
	}
	if (!created_ms)
		cr_expect(snapshots->items[0]->created_ms < snapshots->items[1]->created_ms);
	snapshots_unload(snapshots);
	cr_assert(snapshots_load(directory, log_line, snapshots, &err) == 0, "%s", err.text);
	cr_expect(snapshots->count == 2, "%s", complaint);
}

/* The times are those of the requests, and no two are equal. If they are, in old records, the ids decide. */
Test(snapshots, a_name_means_the_same_one_after_a_restart, .timeout = 60)
{
	static const char *const ids[2] = { "snap-bbbbbbbbbbbbbbbb", "snap-aaaaaaaaaaaaaaaa" };
	static const uint64_t equal[2] = { 7, 7 };

	for (int i = 0; i < 2; i++) {
		char directory[] = "/tmp/warder-snapshots-XXXXXX";
		struct snapshots snapshots = { .records_fd = -1, .stores_fd = -1 };
		const struct snapshot *found;

		cr_assert(mkdtemp(directory) != NULL);
		reopen(directory, &snapshots, ids, i ? equal : NULL);
		found = snapshots_find(&snapshots, "me-0123456789abcdef", "name");
		cr_expect(found && strcmp(found->id, ids[i ? 0 : 1]) == 0, "%d: %s", i,
			  found ? found->id : "none");
		snapshots_unload(&snapshots);
		remove_directory(directory);
	}
}

/* A record of an earlier version says nothing of what it takes in the store. */
Test(snapshots, an_old_record_counts_its_files, .timeout = 60)
{
	static const char record[] =
	    "{\"version\":1,\"id\":\"snap-0123456789abcdef\",\"name\":\"\",\"store\":\"me-0123456789abcdef\","
	    "\"sandbox\":\"\",\"template\":\"base\",\"createdMs\":1,\"bytes\":5}";
	char directory[] = "/tmp/warder-snapshots-XXXXXX";
	struct snapshots snapshots = { .records_fd = -1, .stores_fd = -1 };
	struct warder_error err = { 0 };
	uint64_t count, bytes;
	int fd = -1;

	cr_assert(mkdtemp(directory) && state_open(directory, STATE_SNAPSHOTS, &fd, &err) == 0);
	cr_assert(state_write(fd, "snap-0123456789abcdef", record, &err) == 0);
	close(fd);
	cr_assert(snapshots_load(directory, log_line, &snapshots, &err) == 0, "%s", err.text);
	snapshots_use(&snapshots, "me-0123456789abcdef", &count, &bytes);
	cr_expect(count == 1 && bytes == 5, "%s", complaint);
	snapshots_unload(&snapshots);
	remove_directory(directory);
}
