/*
 * snapshots: the file trees of sandboxes that tenants have stored. Private to host/launcher/.
 *
 * A tenant has a store of its own, stores/NAME-DIGEST in the state directory, where DIGEST are the first digits of the digest of its token: so a new
 * tenant with the name of an old one finds nothing of it. The files of a snapshot are a snapshot of that store; what else there is to know about it is
 * a record, snapshots/ID.json. The record is written last and removed first, so
 * files without a record are incomplete: the sweep of the next start removes them.
 *
 * Whoever works in a store has a shared lock on its directory, also the processes of a launcher that was killed. The sweep has it alone.
 *
 * Life of one: snapshots_begin() -> a job makes it -> its job fills it, or snapshots_forget(). Main thread, except where a function says otherwise.
 */
#ifndef WARDER_HOST_LAUNCHER_SNAPSHOTS_H
#define WARDER_HOST_LAUNCHER_SNAPSHOTS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "host/launcher/sandboxes.h"
#include "host/launcher/tenants.h"
#include "host/launcher/tool.h"

#define SNAPSHOT_ID_LENGTH 21 /* "snap-", and 16 digits */
#define SNAPSHOT_NAME_MAX  64
#define SNAPSHOT_STORE_MAX (TENANT_NAME_MAX + 18) /* with the NUL */

struct snapshot {
	char store[SNAPSHOT_STORE_MAX];      /* whose it is */
	char id[SNAPSHOT_ID_LENGTH + 1];     /* "": it is being made */
	char name[SNAPSHOT_NAME_MAX + 1];    /* or "" */
	char sandbox[SANDBOX_ID_LENGTH + 1]; /* of which it was made */
	char template_name[SANDBOX_NAME_MAX + 1];
	uint64_t created_ms;
	uint64_t bytes; /* of its files; of one that is being made, the most that they may be */
	uint64_t
	    stored_bytes; /* that count for its tenant; of one that is being made, the most that they may be */
	uint64_t left_out;        /* sockets of the sandbox */
	uint64_t attributes_lost; /* files and directories with extended attributes that are not all stored */
	bool going;               /* it is being removed */
};

struct snapshots {
	struct snapshot **items; /* oldest first */
	size_t count;
	int records_fd, stores_fd;
	char stores[PATH_MAX]; /* the path of the stores */
	bool sweeping, sweep_again;
};

/* Open the directories, and read the records. state: as of state_open(). -1 with *err. */
int snapshots_load(const char *state, void (*log)(const char *line), struct snapshots *ret,
		   struct warder_error *err);
void snapshots_unload(struct snapshots *snapshots);

/* The name of a tenant's store. */
void snapshot_store_name(const struct tenant *tenant, char ret[SNAPSHOT_STORE_MAX]);
/* Of a tenant's: that of the id, else the newest one of the name. NULL: there is none, or it is being made or removed. */
struct snapshot *snapshots_find(const struct snapshots *snapshots, const char *store, const char *text);
/* How many a tenant has, and their bytes, with those that are being made. */
void snapshots_use(const struct snapshots *snapshots, const char *store, uint64_t *ret_count,
		   uint64_t *ret_bytes);
/* Forget those whose records a sweep has removed. */
void snapshots_drop_swept(struct snapshots *snapshots);
/* A new one, without an id. NULL with *err. */
struct snapshot *snapshots_begin(struct snapshots *snapshots, const char *store, struct warder_error *err);
void snapshots_forget(struct snapshots *snapshots, struct snapshot *snapshot);

/* Into an open place. */
void snapshot_write(const struct snapshot *snapshot, struct json_writer *w);
/* Of its file; heap. NULL: no memory. */
char *snapshot_record(const struct snapshot *snapshot);

/* ---- in a job ---- */

/* Wait for the lock on a store, which is made if it is missing. *ret_fd is the caller's: closing it gives the lock back, when no process that has it
 * lives either. -1 with *err. */
int snapshots_lock(const char *stores, const char *store, bool alone, int *ret_fd, struct warder_error *err);
/* Remove the stores and the records of tenants that are gone; with `all`, also what has no record in the other stores. state: as of state_open().
 * -1 with *err: something may be left. */
int snapshots_sweep_stores(const char *state, const char *stores, const char *program, bool all,
			   struct warder_error *err);

#endif
