/*
 * The files of a network namespace: of `sockstat`, the numbers of orphans, of allocated sockets and of memory are the host's, and are left
 * out. All others count what happened in the namespace: a packet, a refused connection, a flow label, a socket that still lives. They are read
 * after the jail is gone, by the thread that removes jails. The first time, a helper enters the namespace to open them. They stay open with
 * it: an open file of /proc/net belongs to its namespace for good, whoever has opened it.
 */
#include "jail/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/array.h"
#include "base/fd.h"
#include "jail/cgroup/clone.h"
#include "jail/cgroup/file.h"
#include "jail/inside/sys.h"
#include "jail/network.h"
#include "jail/template.h"

#define TEXT_MAX 24576

static const char *const files[PARTS_FILES] = { "sockstat", "sockstat6", "unix",          "snmp",
						"snmp6",    "netstat",   "ip6_flowlabel", "dev" };
#define FILES    PARTS_FILES
#define SOCKSTAT 0

#define PART_DESCRIPTORS (FILES + 1)
#define LEAF_DESCRIPTORS 20 /* measured, with cgroup v1; with v2 it is fewer */

#define UNREADABLE FILES
#define LEAF       (FILES + 1) /* the first reason of a leaf */

_Static_assert(LEAF + CGROUP_RENEW_REASONS == JAIL_PARTS_REASONS,
	       "a reason for each file, and one for what cannot be read");

/* What the files show. */
struct look {
	size_t end[FILES]; /* of each file's text */
	char text[TEXT_MAX];
};

struct parts {
	struct jail_parts_counts *counts;
	struct look *fresh;   /* of a new namespace */
	pthread_mutex_t lock; /* of what follows */
	struct part spare[PARTS_SPARE_MAX];
	unsigned int spares;
	struct cgroup leaf[PARTS_LEAVES_MAX];
	unsigned int leaves;
};

const char *jail_parts_reason(size_t i)
{
	return i < FILES ? files[i] : i < LEAF ? "unreadable" : cgroup_renew_reason(i - LEAF);
}

/* ---- a namespace and its files ---- */

void part_init(struct part *ret)
{
	ret->ns_fd = -1;
	ret->is_open = false;
	for (size_t i = 0; i < FILES; i++)
		ret->file_fds[i] = -1;
}

void part_done(struct part *part)
{
	fd_done(&part->ns_fd);
	for (size_t i = 0; i < FILES; i++)
		fd_done(&part->file_fds[i]);
	part->is_open = false;
}

struct opening {
	struct part part;
	int net_fd;
	long error;
};

/* Shares our descriptors, so that those it opens are ours, also if it is killed. */
static CLONE_BESIDE void open_files_inside(void *arg)
{
	struct opening *opening = arg;
	struct part *part = &opening->part;
	long ret = sys(setns, part->ns_fd, CLONE_NEWNET);

	if (ret == 0)
		ret = sys(openat, AT_FDCWD, "/proc/self/net", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	if (ret >= 0)
		opening->net_fd = (int)ret;
	for (size_t i = 0; i < FILES && ret >= 0; i++) {
		ret = sys(openat, opening->net_fd, files[i], O_RDONLY | O_CLOEXEC, 0);
		if (ret >= 0)
			part->file_fds[i] = (int)ret;
		if (ret == -ENOENT)
			ret = 0; /* a kernel without IPv6 */
	}
	opening->error = ret < 0 ? ret : 0;
	sys(exit_group, 0);
}

/* 0; a negative errno. */
static int open_files(struct part *part)
{
	struct opening *opening = malloc(sizeof(*opening));
	struct clone_helper helper;
	int left;

	if (!opening)
		return -ENOMEM;
	/* An error until the helper says otherwise: it may be killed half-way. */
	*opening = (struct opening){ .part = *part, .net_fd = -1, .error = -EINTR };
	left = clone_begin(&helper, CLONE_FILES, open_files_inside, opening);
	if (left == 0 && clone_end(&helper) == CLONE_HANGS) {
		/* The helper still uses *opening and our descriptors: nothing may get the number of one. */
		part->ns_fd = -1;
		return -ETIMEDOUT;
	}
	fd_done(&opening->net_fd);
	*part = opening->part;
	left = left < 0 ? left : (int)opening->error;
	part->is_open = left == 0;
	free(opening);
	return left;
}

static bool ends_in_host_word(const char *text, size_t len)
{
	static const char *const words[] = { " orphan ", " alloc ", " mem " };

	for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
		const size_t word_len = strlen(words[i]);

		if (len >= word_len && memcmp(text + len - word_len, words[i], word_len) == 0)
			return true;
	}
	return false;
}

/* The numbers of `sockstat` that are the host's go. */
static void leave_out_host(struct look *look)
{
	const size_t end = look->end[SOCKSTAT], total = look->end[FILES - 1];
	size_t from = 0, to = 0;

	while (from < end) {
		look->text[to++] = look->text[from++];
		while (ends_in_host_word(look->text, to) && from < end && look->text[from] >= '0' &&
		       look->text[from] <= '9')
			from++;
	}
	memmove(look->text + to, look->text + end, total - end);
	for (size_t i = 0; i < FILES; i++)
		look->end[i] -= end - to;
}

static int read_files(const struct part *part, struct look *look)
{
	size_t used = 0;

	for (size_t i = 0; i < FILES; i++) {
		const size_t left = sizeof(look->text) - used;
		const ssize_t n = part->file_fds[i] < 0
				      ? 0
				      : cgroup_file_reread(part->file_fds[i], look->text + used, left);

		if (n < 0)
			return -errno;
		used += (size_t)n;
		if (used + 1 >= sizeof(look->text))
			return -EFBIG;
		look->end[i] = used;
	}
	return 0;
}

/* A look at a namespace, on the heap: it is large. 0 with *ret; a negative errno. */
static int look_at(struct part *part, struct look **ret)
{
	int left = part->is_open ? 0 : open_files(part);
	struct look *look = left < 0 ? NULL : malloc(sizeof(*look));

	if (!look)
		return left < 0 ? left : -ENOMEM;
	left = read_files(part, look);
	if (left < 0) {
		free(look);
		return left;
	}
	leave_out_host(look);
	*ret = look;
	return 0;
}

/* The first file that differs; FILES: none. */
static size_t compare(const struct look *a, const struct look *b)
{
	size_t begin = 0;

	for (size_t i = 0; i < FILES; i++) {
		if (a->end[i] != b->end[i] ||
		    memcmp(a->text + begin, b->text + begin, a->end[i] - begin) != 0)
			return i;
		begin = a->end[i];
	}
	return FILES;
}

int parts_begin(const struct jail_template *tmpl, struct jail_parts_counts *counts, struct parts **ret,
		struct warder_error *err)
{
	struct network *network;
	struct parts *parts;
	struct part part;
	int error;

	*ret = NULL;
	if (!network_has_helper(&tmpl->plan) || tmpl->plan.loopback_up || tmpl->plan.edge ||
	    tmpl->plan.named || tmpl->plan.starter)
		return 0;
	parts = calloc(1, sizeof(*parts));
	if (!parts)
		return error_no_memory(err, NULL);
	network = network_new(err);
	if (!network || network_finish(network, err) < 0) {
		network_free(network);
		free(parts);
		return -1;
	}
	part_init(&part);
	part.ns_fd = fd_take(&network->ns_fd);
	network_free(network);
	error = look_at(&part, &parts->fresh);
	part_done(&part);
	if (error) {
		free(parts);
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "parts", -error,
				       "cannot read what a new network namespace shows; leave parts out");
	}
	parts->counts = counts;
	pthread_mutex_init(&parts->lock, NULL);
	*ret = parts;
	return 0;
}

/* Whether so many descriptors more may wait. They do from now on. */
static bool hold(struct jail_parts_counts *counts, uint64_t descriptors)
{
	struct rlimit limit = { .rlim_cur = RLIM_INFINITY };

	getrlimit(RLIMIT_NOFILE, &limit);
	if (atomic_fetch_add(&counts->descriptors, descriptors) + descriptors <= limit.rlim_cur / 8)
		return true;
	atomic_fetch_sub(&counts->descriptors, descriptors);
	return false;
}

bool parts_has_spare(struct parts *parts)
{
	bool has;

	pthread_mutex_lock(&parts->lock);
	has = parts->spares > 0;
	pthread_mutex_unlock(&parts->lock);
	return has;
}

bool parts_take(struct parts *parts, struct part *ret)
{
	bool taken;

	pthread_mutex_lock(&parts->lock);
	taken = parts->spares > 0;
	if (taken)
		*ret = parts->spare[--parts->spares];
	pthread_mutex_unlock(&parts->lock);
	if (!taken)
		return false;
	atomic_fetch_sub(&parts->counts->descriptors, PART_DESCRIPTORS);
	atomic_fetch_add(&parts->counts->reused[JAIL_PART_NETWORK], 1);
	return true;
}

void parts_give(struct parts *parts, struct part *part)
{
	struct look *look = NULL;
	size_t reason = UNREADABLE;
	bool kept = false;

	if (look_at(part, &look) == 0)
		reason = compare(look, parts->fresh);
	free(look);
	if (reason != FILES) {
		atomic_fetch_add(&parts->counts->refused[reason], 1);
		part_done(part);
		return;
	}
	pthread_mutex_lock(&parts->lock);
	kept = parts->spares < PARTS_SPARE_MAX && hold(parts->counts, PART_DESCRIPTORS);
	if (kept)
		parts->spare[parts->spares++] = *part;
	pthread_mutex_unlock(&parts->lock);
	if (kept)
		part_init(part);
	else
		part_done(part);
}

bool parts_has_any(struct parts *parts)
{
	bool has;

	pthread_mutex_lock(&parts->lock);
	has = parts->spares + parts->leaves > 0;
	pthread_mutex_unlock(&parts->lock);
	return has;
}

bool parts_take_leaf(struct parts *parts, struct cgroup *ret)
{
	bool taken;

	pthread_mutex_lock(&parts->lock);
	taken = parts->leaves > 0;
	if (taken)
		*ret = parts->leaf[--parts->leaves];
	pthread_mutex_unlock(&parts->lock);
	if (!taken)
		return false;
	atomic_fetch_sub(&parts->counts->descriptors, LEAF_DESCRIPTORS);
	atomic_fetch_add(&parts->counts->reused[JAIL_PART_CGROUP], 1);
	return true;
}

/* A host without cgroups has none, and one that was given already is there no more. */
static bool has_leaf(const struct cgroup *cgroup)
{
	for (size_t h = 0; h < CGROUP_HIERARCHIES_MAX; h++)
		if (cgroup->used[h])
			return true;
	return false;
}

/* Why it is not like a new one; JAIL_PARTS_REASONS: it is. */
static size_t judge_leaf(struct cgroup *cgroup)
{
	const size_t differs = cgroup_renew(cgroup);

	if (differs < CGROUP_RENEW_REASONS)
		return LEAF + differs;
	return cgroup_begin_cpu(cgroup) < 0 ? UNREADABLE : JAIL_PARTS_REASONS;
}

bool parts_give_leaf(struct parts *parts, struct cgroup *cgroup)
{
	size_t reason;
	bool kept;

	if (!has_leaf(cgroup))
		return false;
	reason = judge_leaf(cgroup);
	if (reason < JAIL_PARTS_REASONS) {
		atomic_fetch_add(&parts->counts->refused[reason], 1);
		return false;
	}
	pthread_mutex_lock(&parts->lock);
	kept = parts->leaves < PARTS_LEAVES_MAX && hold(parts->counts, LEAF_DESCRIPTORS);
	if (kept)
		parts->leaf[parts->leaves++] = *cgroup;
	pthread_mutex_unlock(&parts->lock);
	if (kept)
		cgroup_init(cgroup);
	return kept;
}

/* Nobody is in it, unless somebody has moved a process there since. */
static void remove_leaf(struct jail_parts_counts *counts, struct cgroup *leaf)
{
	struct warder_error err;

	if (cgroup_remove(leaf, &err) == 0 || atomic_exchange(&counts->failing, true))
		return;
	counts->failure = err;
	atomic_store(&counts->failed, true);
}

bool parts_drop(struct parts *parts)
{
	struct cgroup leaf[PARTS_LEAVES_MAX];
	bool dropped;
	size_t leaves;

	pthread_mutex_lock(&parts->lock);
	dropped = parts->spares + parts->leaves > 0;
	atomic_fetch_sub(&parts->counts->descriptors,
			 parts->spares * PART_DESCRIPTORS + parts->leaves * LEAF_DESCRIPTORS);
	while (parts->spares)
		part_done(&parts->spare[--parts->spares]);
	leaves = parts->leaves;
	memcpy(leaf, parts->leaf, leaves * sizeof(leaf[0]));
	parts->leaves = 0;
	pthread_mutex_unlock(&parts->lock);
	while (leaves)
		remove_leaf(parts->counts, &leaf[--leaves]);
	return dropped;
}

void parts_done(struct parts *parts)
{
	if (!parts)
		return;
	parts_drop(parts);
	pthread_mutex_destroy(&parts->lock);
	free(parts->fresh);
	free(parts);
}
