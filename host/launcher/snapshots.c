#include "host/launcher/snapshots.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "host/launcher/state.h"
#include "rootfs/rootfs.h"

#define DIGITS         16 /* of a tenant's digest, in the name of its store */
#define WORKSPACES_DIR "workspaces"
#define GATE           ".gate" /* in a store */
#define LOCK_PAUSE_MS  50

void snapshot_store_name(const struct tenant *tenant, char ret[SNAPSHOT_STORE_MAX])
{
	snprintf(ret, SNAPSHOT_STORE_MAX, "%s-%.*s", tenant->name, DIGITS, tenant->digest);
}

/* ---- the list ---- */

struct snapshot *snapshots_find(const struct snapshots *snapshots, const char *store, const char *text)
{
	struct snapshot *named = NULL;

	for (size_t i = 0; i < snapshots->count; i++) {
		struct snapshot *one = snapshots->items[i];

		if (!one->id[0] || one->going || strcmp(one->store, store) != 0)
			continue;
		if (strcmp(one->id, text) == 0)
			return one;
		if (one->name[0] && strcmp(one->name, text) == 0)
			named = one;
	}
	return named;
}

void snapshots_use(const struct snapshots *snapshots, const char *store, uint64_t *ret_count,
		   uint64_t *ret_bytes)
{
	*ret_count = *ret_bytes = 0;
	for (size_t i = 0; i < snapshots->count; i++)
		if (strcmp(snapshots->items[i]->store, store) == 0) {
			++*ret_count;
			*ret_bytes += snapshots->items[i]->stored_bytes;
		}
}

struct snapshot *snapshots_begin(struct snapshots *snapshots, const char *store, struct warder_error *err)
{
	struct snapshot **grown = realloc(snapshots->items, (snapshots->count + 1) * sizeof(*grown));
	struct snapshot *made = grown ? calloc(1, sizeof(*made)) : NULL;

	if (grown)
		snapshots->items = grown;
	if (!made) {
		error_no_memory(err, NULL);
		return NULL;
	}
	snprintf(made->store, sizeof(made->store), "%s", store);
	made->created_ms = clock_wall_ms();
	/* The time says which one of a name is the newest, after a restart, too. */
	if (snapshots->count && made->created_ms <= grown[snapshots->count - 1]->created_ms)
		made->created_ms = grown[snapshots->count - 1]->created_ms + 1;
	return grown[snapshots->count++] = made;
}

static bool has_record(int records_fd, const char *id)
{
	char file[SNAPSHOT_ID_LENGTH + 8];

	snprintf(file, sizeof(file), "%s.json", id);
	return faccessat(records_fd, file, F_OK, 0) == 0;
}

/* One in work has no record, or its record is being removed: its job sees to it. */
void snapshots_drop_swept(struct snapshots *snapshots)
{
	for (size_t i = snapshots->count; i-- > 0;) {
		struct snapshot *one = snapshots->items[i];

		if (one->id[0] && !one->going && !has_record(snapshots->records_fd, one->id))
			snapshots_forget(snapshots, one);
	}
}

void snapshots_forget(struct snapshots *snapshots, struct snapshot *snapshot)
{
	size_t i = 0;

	while (snapshots->items[i] != snapshot)
		i++;
	memmove(&snapshots->items[i], &snapshots->items[i + 1],
		(--snapshots->count - i) * sizeof(snapshots->items[0]));
	free(snapshot);
}

void snapshots_unload(struct snapshots *snapshots)
{
	for (size_t i = 0; i < snapshots->count; i++)
		free(snapshots->items[i]);
	free(snapshots->items);
	fd_done(&snapshots->records_fd);
	fd_done(&snapshots->stores_fd);
	*snapshots = (struct snapshots){ .records_fd = -1, .stores_fd = -1 };
}

/* ---- JSON ---- */

/* The texts of a record. Only those with a key for clients are shown to them. */
static const struct {
	const char *key, *shown;
	size_t offset, size;
} texts[] = {
#define TEXT(key, shown, member)                                                                             \
	{                                                                                                    \
		key, shown, offsetof(struct snapshot, member), sizeof(((struct snapshot *)NULL)->member)     \
	}
	TEXT("id", "id", id),
	TEXT("name", "name", name),
	TEXT("store", NULL, store),
	TEXT("sandbox", "sandbox", sandbox),
	TEXT("template", "template", template_name),
#undef TEXT
};

/* The numbers, all shown. */
static const struct {
	const char *key;
	size_t offset;
	bool is_newer; /* records of earlier versions do not have it */
} numbers[] = {
	{ "createdMs", offsetof(struct snapshot, created_ms), false },
	{ "bytes", offsetof(struct snapshot, bytes), false },
	{ "storedBytes", offsetof(struct snapshot, stored_bytes), true },
	{ "leftOut", offsetof(struct snapshot, left_out), true },
	{ "attributesLost", offsetof(struct snapshot, attributes_lost), true },
};

static void write_members(const struct snapshot *snapshot, bool shown, struct json_writer *w)
{
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		const char *text = (const char *)snapshot + texts[i].offset;

		if (!shown || (texts[i].shown && *text))
			json_key_string(w, texts[i].key, text);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(numbers); i++)
		json_key_uint(w, numbers[i].key,
			      *(const uint64_t *)(const void *)((const char *)snapshot + numbers[i].offset));
}

void snapshot_write(const struct snapshot *snapshot, struct json_writer *w)
{
	json_begin_object(w);
	write_members(snapshot, true, w);
	json_end_object(w);
}

char *snapshot_record(const struct snapshot *snapshot)
{
	struct json_writer w = { 0 };

	json_begin_object(&w);
	json_key_uint(&w, "version", 1);
	write_members(snapshot, false, &w);
	json_end_object(&w);
	return json_take(&w);
}

static int take_record(const char *id, const char *text, struct snapshot *ret, struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = STATE_BYTES_MAX };
	struct json_value *record = NULL;
	bool good = true;

	if (json_parse(text, strlen(text), id, &limits, &record, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LENGTH(texts) && good; i++) {
		const char *value = json_member_text(record, texts[i].key, NULL);

		good = value && strlen(value) < texts[i].size;
		if (good)
			memcpy((char *)ret + texts[i].offset, value, strlen(value) + 1);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(numbers) && good; i++) {
		const struct json_value *value = json_member(record, numbers[i].key);

		good = value ? value->is_uint : numbers[i].is_newer;
		if (value && good)
			memcpy((char *)ret + numbers[i].offset, &value->uint, sizeof(value->uint));
	}
	if (good && !json_member(record, "storedBytes"))
		ret->stored_bytes = ret->bytes;
	good = good && strcmp(ret->id, id) == 0;
	json_free(record);
	return good ? 0
		    : error_set(err, WARDER_ERROR_INVALID_REQUEST, "id",
				"the record of snapshot %.40s is not valid", id);
}

/* ---- the start ---- */

struct loading {
	struct snapshots *snapshots;
	void (*log)(const char *line);
};

/* A record that cannot be read stays, for the operator, and its files stay, too. */
static int load_one(void *context, const char *id)
{
	struct loading *loading = context;
	struct warder_error err = { 0 };
	struct snapshot read = { 0 };
	struct snapshot *made;
	char *text = NULL;

	if (state_read(loading->snapshots->records_fd, id, &text, &err) == 0 &&
	    take_record(id, text, &read, &err) == 0) {
		made = snapshots_begin(loading->snapshots, read.store, &err);
		if (made)
			*made = read;
	}
	free(text);
	if (err.code)
		loading->log(err.text);
	return 0;
}

static int older_first(const void *a, const void *b)
{
	const struct snapshot *const *one = a, *const *two = b;

	if ((*one)->created_ms != (*two)->created_ms)
		return (*one)->created_ms < (*two)->created_ms ? -1 : 1;
	return strcmp((*one)->id, (*two)->id);
}

int snapshots_load(const char *state, void (*log)(const char *line), struct snapshots *ret,
		   struct warder_error *err)
{
	struct loading loading = { ret, log };
	char link[40];
	ssize_t len;

	if (state_open(state, STATE_SNAPSHOTS, &ret->records_fd, err) < 0 ||
	    state_open(state, STATE_STORES, &ret->stores_fd, err) < 0)
		return -1;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", ret->stores_fd);
	len = readlink(link, ret->stores, sizeof(ret->stores) - 1);
	if (len < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "--state", errno,
				       "cannot find the path of the stores");
	ret->stores[len] = '\0';
	state_sweep(ret->records_fd);
	if (state_each(ret->records_fd, load_one, &loading, err) < 0)
		return -1;
	if (ret->count)
		qsort(ret->items, ret->count, sizeof(*ret->items), older_first);
	return 0;
}

/* ---- in a job ---- */

static int flock_wait(int fd, int how)
{
	while (flock(fd, how | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -1;
		if (tool_ends()) {
			errno = ECANCELED;
			return -1;
		}
		poll(NULL, 0, LOCK_PAUSE_MS);
	}
	return 0;
}

/* The gate is held on the way to the lock only: those who come while a sweep waits, wait behind it, and cannot keep it waiting. */
static int lock_at(int stores_fd, const char *store, bool alone)
{
	owned_fd int gate_fd = -1;
	owned_fd int fd = -1;

	if (mkdirat(stores_fd, store, 0700) < 0 && errno != EEXIST) {
		if (errno ==
		    ENOENT) /* the directory of all stores is gone, and does not come back by trying again */
			errno = ESTALE;
		return -1;
	}
	fd = openat(stores_fd, store, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -1;
	gate_fd = openat(fd, GATE, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (gate_fd < 0 || flock_wait(gate_fd, LOCK_EX) < 0 || flock_wait(fd, alone ? LOCK_EX : LOCK_SH) < 0)
		return -1;
	return fcntl(fd, F_DUPFD_CLOEXEC, TOOL_FD + 1);
}

static bool leads_to(int stores_fd, const char *store, int fd)
{
	struct stat named, opened;

	return fstatat(stores_fd, store, &named, AT_SYMLINK_NOFOLLOW) == 0 && fstat(fd, &opened) == 0 &&
	       named.st_ino == opened.st_ino;
}

int snapshots_lock(const char *stores, const char *store, bool alone, int *ret_fd, struct warder_error *err)
{
	owned_fd int stores_fd = open(stores, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	owned_fd int fd = -1;
	bool removed;

	/* A sweep may have removed what was waited for. */
	do {
		fd_done(&fd);
		fd = stores_fd < 0 ? -1 : lock_at(stores_fd, store, alone);
		removed = fd < 0 ? stores_fd >= 0 && errno == ENOENT : !leads_to(stores_fd, store, fd);
	} while (removed);
	if (fd < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "--state", errno, "cannot lock %.200s",
				       stores);
	*ret_fd = fd_take(&fd);
	return 0;
}

/* Whether the tenant of a store is gone for certain: a file that cannot be read as a tenant is the operator's to mend. */
static bool is_orphan(int tenants_fd, const char *store)
{
	const size_t len = strlen(store);
	char name[TENANT_NAME_MAX + 1];
	char wanted[SNAPSHOT_STORE_MAX];
	struct tenant tenant = { 0 };
	struct warder_error err = { 0 };
	char *text = NULL;
	bool orphan = false;

	if (len <= DIGITS + 1 || len - DIGITS - 1 > TENANT_NAME_MAX)
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)(len - DIGITS - 1), store);
	if (state_read(tenants_fd, name, &text, &err) < 0) {
		orphan = err.code == WARDER_ERROR_NOT_FOUND;
	} else if (tenant_parse(name, text, &tenant, &err) == 0) {
		snapshot_store_name(&tenant, wanted);
		orphan = strcmp(wanted, store) != 0;
		tenant_done(&tenant);
	}
	free(text);
	return orphan;
}

struct sweep {
	int tenants_fd, records_fd, stores_fd;
	const char *stores, *program;
	bool all;
	struct warder_error *err;
	int result;
};

/* A record whose tenant is gone, or whose store: the tenant's file may have come back after its store was removed. */
static int sweep_record(void *context, const char *id)
{
	struct sweep *sweep = context;
	struct warder_error ignored;
	struct snapshot read = { 0 };
	struct stat store;
	char *text = NULL;

	if (state_read(sweep->records_fd, id, &text, &ignored) == 0 &&
	    take_record(id, text, &read, &ignored) == 0 &&
	    (is_orphan(sweep->tenants_fd, read.store) ||
	     (fstatat(sweep->stores_fd, read.store, &store, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)))
		state_remove(sweep->records_fd, id, &ignored);
	free(text);
	return 0;
}

/* Snapshots that nobody knows of; and then content that is in no snapshot. */
static int sweep_content(const struct sweep *sweep, int lock_fd, const char *path)
{
	const struct tool tool = { sweep->program, lock_fd };
	const char *const list[] = { "snapshot", "list", "--store", path, "--json", NULL };
	const char *const content[] = { "snapshot", "sweep", "--private", "--store", path, NULL };
	struct json_value *rows = NULL;
	char *text = NULL;
	int done = tool_run(&tool, list, &text, sweep->err);

	if (done == 0)
		done = json_parse(text, strlen(text), "snapshots",
				  &(struct json_limits){ .max_bytes = SIZE_MAX }, &rows, sweep->err);
	for (const struct json_value *row = rows ? rows->child : NULL; row && done == 0; row = row->next) {
		const char *id = json_member_text(row, "id", "");
		const char *const remove[] = { "snapshot", "remove", id, "--private", "--store", path, NULL };

		if (strlen(id) == SNAPSHOT_ID_LENGTH && !has_record(sweep->records_fd, id))
			done = tool_run(&tool, remove, NULL, sweep->err);
	}
	if (done == 0)
		done = tool_run(&tool, content, NULL, sweep->err);
	json_free(rows);
	free(text);
	return done;
}

/* What a launcher that died has left: workspaces on their way, and content without a record. */
static int sweep_store(const struct sweep *sweep, const char *store)
{
	char path[PATH_MAX + SNAPSHOT_STORE_MAX];
	owned_fd int lock_fd = -1;
	int done;

	snprintf(path, sizeof(path), "%s/%s", sweep->stores, store);
	if (snapshots_lock(sweep->stores, store, true, &lock_fd, sweep->err) < 0)
		return -1;
	/* The tenant may have gone meanwhile, or its file may have come back. */
	if (is_orphan(sweep->tenants_fd, store)) {
		done = rootfs_remove_tree(sweep->stores_fd, store);
	} else {
		done = rootfs_remove_tree(lock_fd, WORKSPACES_DIR);
		if (done < 0 && errno == ENOENT)
			done = 0;
		if (done == 0 && sweep->all)
			return sweep_content(sweep, lock_fd, path) < 0
				   ? error_context(sweep->err, "the store %.100s cannot be swept", store)
				   : 0;
	}
	return done == 0 ? 0
			 : error_set_errno(sweep->err, WARDER_ERROR_UNAVAILABLE, "--state", errno,
					   "the store %.100s cannot be swept", store);
}

static void sweep_stores(struct sweep *sweep)
{
	const int fd = openat(sweep->stores_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (struct dirent *entry; (entry = readdir(dir));) {
		if (entry->d_name[0] == '.' || (!sweep->all && !is_orphan(sweep->tenants_fd, entry->d_name)))
			continue;
		if (sweep_store(sweep, entry->d_name) < 0)
			sweep->result = -1;
	}
	closedir(dir);
}

int snapshots_sweep_stores(const char *state, const char *stores, const char *program, bool all,
			   struct warder_error *err)
{
	owned_fd int tenants_fd = -1;
	owned_fd int records_fd = -1;
	owned_fd int stores_fd = -1;
	struct sweep sweep;

	if (state_open(state, STATE_TENANTS, &tenants_fd, err) < 0 ||
	    state_open(state, STATE_SNAPSHOTS, &records_fd, err) < 0 ||
	    state_open(state, STATE_STORES, &stores_fd, err) < 0)
		return -1;
	sweep = (struct sweep){ .tenants_fd = tenants_fd,
				.records_fd = records_fd,
				.stores_fd = stores_fd,
				.stores = stores,
				.program = program,
				.all = all,
				.err = err };
	/* Those who work in a store write its records: after the stores, nobody does. */
	sweep_stores(&sweep);
	if (state_each(records_fd, sweep_record, &sweep, err) < 0)
		return -1;
	return sweep.result;
}
