#include "base/array.h"
#include "jail/cgroup/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysinfo.h>
#include <sys/xattr.h>
#include <linux/magic.h>
#include <unistd.h>

#include "base/compose.h"
#include "base/fd.h"
#include "base/mountinfo.h"
#include "jail/cgroup/clone.h"
#include "jail/inside/sys.h"

/*
 * What this host offers is found by making an empty leaf and looking at what is in it, never by version numbers and
 * never by asking for permission bits: a read-only mount, a security module, a missing kernel option and a missing
 * privilege all show there.
 *
 * Every controller is taken from v2 where a leaf below the chosen base has it, else from v1. The v2 base is the hard
 * choice, because of two rules of the kernel: a cgroup (other than the root) that holds processes cannot hand
 * controllers to its children, and a process can only be put where the nearest common ancestor of its old and new place
 * is writable. So the own cgroup never does as it is, unless it is the root. If it was delegated to us and holds nobody
 * else, we move to a child of it, the self leaf; cgroup_host_done() moves back. Otherwise the mount point is the base,
 * which needs root. Nobody else's process is ever moved.
 *
 * Moving is right only where the cgroup was meant for that: for root, only if it is marked as delegated (an extended
 * attribute that systemd sets) or if it is all that can be seen (a container's). An ordinary user can write to no cgroup
 * that was not delegated.
 *
 * A program may probe again and again, once for every template. The self leaf and a parent that was made belong to the process,
 * so the host that came by them hands them on to another one with the same base, and only the last gives them back.
 * And even that only if nobody else lives on the controllers: taking them away takes the limits off every leaf
 * below, without a word. Where another process is in the self leaf (a child of ours, which may have jails too) or another
 * cgroup lies beside it, we stay there; the empty self leaf of a dead process is one of the leftovers that are cleaned.
 *
 * v1 knows no delegation and no rule about inner processes: the base is the mount point, and the own cgroup is not
 * looked at (limits of an outer v1 group do not reach the leaves; who needs that names a parent).
 */

#define REMEDY                                                                                               \
	"needs root, or a delegated cgroup: systemd-run --user --scope -p Delegate=yes "                     \
	"(--delegate), or a cgroup parent (--cgroup-parent)"
#define BUSY "it holds other processes; name an empty cgroup (--cgroup-parent)"

/* The file that proves a controller in a leaf, by version. */
static const struct {
	const char *name; /* in cgroup.controllers */
	const char *v2_file;
	const char *v1_file;
} controllers[CGROUP_CONTROLLER_COUNT] = {
	[CGROUP_MEMORY] = { "memory", "memory.max", "memory.limit_in_bytes" },
	[CGROUP_PIDS] = { "pids", "pids.max", "pids.max" },
	[CGROUP_CPU] = { "cpu", "cpu.max", "cpu.cfs_quota_us" },
	[CGROUP_ACCOUNT] = { "cpuacct", "cpu.stat", "cpuacct.usage" },
};

static const enum cgroup_controller limited[] = { CGROUP_MEMORY, CGROUP_PIDS, CGROUP_CPU };
#define LIMITED_COUNT (ARRAY_LENGTH(limited))

/* The mounts that are of use; point "" where there is none. */
struct survey {
	struct cgroup_mount v2;
	struct cgroup_mount v1[CGROUP_CONTROLLER_COUNT];
	char own[CGROUP_BASE_MAX]; /* directory of the own v2 cgroup; "" if it is not visible */
	unsigned offered;          /* controllers that v2 has at the mount point */
};

/* A possible base and what a leaf below it turned out to have. */
struct candidate {
	char base[CGROUP_BASE_MAX];
	unsigned has;     /* controllers */
	unsigned enabled; /* of these, handed down by us just now, in `base` */
	bool swap_limit;
	bool kill_file;
	int error;   /* no leaf is possible, or nothing can be put into one: errno; else 0 */
	int refused; /* errno of the subtree_control that would not take a controller */
};

static unsigned bit(int controller)
{
	return 1u << controller;
}

__attribute__((format(printf, 3, 4))) static void tell(struct cgroup_host *host, int controller,
						       const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(host->reason[controller], sizeof(host->reason[controller]), format, args);
	va_end(args);
}

static void tell_errno(struct cgroup_host *host, int controller, const char *base, int error)
{
	const char *remedy = "";

	if (error == EACCES || error == EPERM)
		remedy = ": " REMEDY;
	else if (error == EROFS)
		remedy = ": mount it read-write";
	else if (error == EBUSY)
		remedy = ": " BUSY;
	else if (error == EXDEV)
		remedy = ": outside of this cgroup namespace; mount cgroup2 anew inside it";
	tell(host, controller, "%.40s: %s%s", base, strerror(error), remedy);
}

/* ---- survey ---- */

/* A mount below a later one is in the table all the same; what is at its path then is something else. */
static bool is_visible(const struct cgroup_mount *mount)
{
	struct statfs fs;

	if (statfs(mount->point, &fs) < 0)
		return false;
	return fs.f_type == (mount->v2 ? CGROUP2_SUPER_MAGIC : CGROUP_SUPER_MAGIC);
}

/* One hierarchy can be mounted several times; the best is writable and whole. */
static void consider(struct cgroup_mount *best, const struct cgroup_mount *mount)
{
	int rank = (mount->read_only ? 0 : 2) + (strcmp(mount->root, "/") == 0);
	int best_rank = (best->read_only ? 0 : 2) + (strcmp(best->root, "/") == 0);

	if (best->point[0] == '\0' || rank > best_rank)
		*best = *mount;
}

static void read_mounts(struct survey *survey)
{
	char buf[8192];
	size_t len = 0;
	char *text = mountinfo_read(AT_FDCWD, "/proc/self/mountinfo", buf, sizeof(buf), &len);
	struct mountinfo_text rest = { text, len };
	struct mountinfo_text line;
	struct cgroup_mount mount;

	while (mountinfo_cut(&rest, &line)) {
		if (!cgroup_text_mount(line.at, line.len, &mount) || !(mount.v2 || mount.controllers) ||
		    !is_visible(&mount))
			continue;
		if (mount.v2)
			consider(&survey->v2, &mount);
		for (int c = 0; c < CGROUP_CONTROLLER_COUNT; c++)
			if (mount.controllers & bit(c))
				consider(&survey->v1[c], &mount);
	}
	if (text != buf)
		free(text);
}

static unsigned read_controllers(const char *dir, const char *file)
{
	char path[CGROUP_LEAF_PATH_MAX + 32];
	char text[512];
	unsigned found = 0;
	ssize_t len;

	compose(path, sizeof(path), dir, "/", file);
	len = cgroup_file_read(AT_FDCWD, path, text, sizeof(text));
	for (size_t i = 0; i < LIMITED_COUNT && len > 0; i++)
		if (cgroup_text_has_word(text, (size_t)len, controllers[limited[i]].name))
			found |= bit(limited[i]);
	return found;
}

/* A supervisor in its self leaf, or a child of such, has the cgroup above the self leaf as its own. */
static void leave_out_self_leaf(char *own)
{
	char *name = strrchr(own, '/');
	struct cgroup_owner owner;

	if (name && name > own && cgroup_text_owner(name + 1, &owner) && owner.n == 0)
		*name = '\0';
}

static void survey_host(struct survey *ret)
{
	char text[4096];
	char own[CGROUP_BASE_MAX];
	ssize_t len;

	memset(ret, 0, sizeof(*ret));
	read_mounts(ret);
	if (ret->v2.point[0] == '\0')
		return;
	ret->offered = read_controllers(ret->v2.point, "cgroup.controllers");
	len = cgroup_file_read(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text));
	if (len < 0 || !cgroup_text_own(text, (size_t)len, own, sizeof(own)) ||
	    !cgroup_text_own_dir(&ret->v2, own, ret->own, sizeof(ret->own)))
		ret->own[0] = '\0';
	leave_out_self_leaf(ret->own);
}

/* ---- trial leaves ---- */

struct trial {
	char path[CGROUP_LEAF_PATH_MAX];
	int fd;
};

/* n of trial leaves: far from those of runs, so that neither gets into the other's way. */
static uint64_t trial_number(void)
{
	static _Atomic uint64_t next = UINT64_C(1) << 63;

	return next++;
}

static int trial_begin(const struct cgroup_host *host, const char *base, struct trial *ret)
{
	struct cgroup_owner owner = { host->owner_pid, host->owner_start, trial_number(), host->owner_space };
	char name[CGROUP_NAME_MAX];

	cgroup_text_name(&owner, name);
	snprintf(ret->path, sizeof(ret->path), "%s/%s", base, name);
	if (mkdir(ret->path, 0755) < 0)
		return -1;
	ret->fd = open(ret->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (ret->fd < 0) {
		rmdir(ret->path);
		return -1;
	}
	return 0;
}

static void trial_end(struct trial *trial)
{
	fd_done(&trial->fd);
	cgroup_dir_remove(trial->path, cgroup_now_ms() + 100);
}

static bool trial_has(const struct trial *trial, const char *file)
{
	return faccessat(trial->fd, file, F_OK, 0) == 0;
}

/* ---- v2 ---- */

/* Only the root may hold processes and hand down controllers. It is the one that has no cgroup.type. */
static bool holds_processes(const char *dir)
{
	char path[CGROUP_LEAF_PATH_MAX + 16];
	char text[2];

	snprintf(path, sizeof(path), "%s/cgroup.type", dir);
	if (access(path, F_OK) < 0)
		return false;
	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	return cgroup_file_read(AT_FDCWD, path, text, sizeof(text)) > 0;
}

/*
 * Hand down what `dir` has and does not hand down yet. Returns the controllers that were added. For a cgroup with
 * processes the kernel refuses memory, but takes pids and cpu, and thereby makes it the root of a threaded subtree, in
 * which leaves cannot be entered; so that is not even tried.
 */
static unsigned enable(const char *dir, int *refused)
{
	char path[CGROUP_LEAF_PATH_MAX + 32];
	char text[16];
	unsigned missing =
	    read_controllers(dir, "cgroup.controllers") & ~read_controllers(dir, "cgroup.subtree_control");
	unsigned added = 0;

	if (missing && holds_processes(dir)) {
		*refused = EBUSY;
		return 0;
	}
	snprintf(path, sizeof(path), "%s/cgroup.subtree_control", dir);
	for (size_t i = 0; i < LIMITED_COUNT; i++) {
		if (!(missing & bit(limited[i])))
			continue;
		snprintf(text, sizeof(text), "+%s", controllers[limited[i]].name);
		if (cgroup_file_write(AT_FDCWD, path, text) == 0)
			added |= bit(limited[i]);
		else
			*refused = errno;
	}
	return added;
}

/* Hand down along the path: every directory of `base` from its first `from` characters on. */
static unsigned enable_along(const char *base, size_t from, int *refused)
{
	char dir[CGROUP_BASE_MAX];
	size_t len = strlen(base);
	unsigned added = 0;

	for (size_t at = from; at <= len; at++)
		if (base[at] == '/' || base[at] == '\0') {
			memcpy(dir, base, at);
			dir[at] = '\0';
			added = enable(dir, refused);
		}
	return added;
}

struct join {
	int fd;
	long error; /* negative errno, or 0 */
};

static CLONE_BESIDE void join_and_exit(void *arg)
{
	struct join *join = arg;
	long ret = sys(write, join->fd, "0", 1);

	join->error = ret < 0 ? ret : 0;
	sys(exit_group, 0);
}

/* Where the own cgroup cannot be seen, only a process of ours going in tells: with "nsdelegate" none passes the
 * border of its cgroup namespace. 0 or errno. */
static int try_join(const struct trial *trial)
{
	/* An error until the child says otherwise: it may be killed half-way. */
	struct join join = { .fd = openat(trial->fd, "cgroup.procs", O_WRONLY | O_CLOEXEC), .error = -EINTR };
	int ret = join.fd < 0 ? -errno : clone_run(0, join_and_exit, &join, sizeof(join));

	fd_done(&join.fd);
	if (ret >= 0)
		ret = (int)join.error;
	return ret == -ENOENT ? EXDEV : -ret;
}

/* Whether a process of the own cgroup may be put below `base`: the nearest common ancestor must be writable. 0 or
 * errno. */
static int may_join(const struct survey *survey, const char *base, const struct trial *trial)
{
	const char *own = survey->own;
	char path[CGROUP_BASE_MAX + 16];
	char type[32];
	int common = 0;
	owned_fd int fd = -1;

	if (cgroup_file_read(trial->fd, "cgroup.type", type, sizeof(type)) > 0 &&
	    strcmp(type, "domain invalid\n") == 0)
		return EOPNOTSUPP; /* below a threaded cgroup */
	if (own[0] == '\0')
		return try_join(trial);
	for (int i = 0;; i++) {
		if ((own[i] == '/' || own[i] == '\0') && (base[i] == '/' || base[i] == '\0'))
			common = i;
		if (own[i] != base[i] || base[i] == '\0')
			break;
	}
	snprintf(path, sizeof(path), "%.*s/cgroup.procs", common, base);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd < 0 ? errno : 0;
}

static void look_into_leaf(const struct trial *trial, struct candidate *candidate)
{
	char text[512];
	uint64_t usage_us;
	ssize_t len;

	for (size_t i = 0; i < LIMITED_COUNT; i++)
		if (trial_has(trial, controllers[limited[i]].v2_file))
			candidate->has |= bit(limited[i]);
	len = cgroup_file_read(trial->fd, "cpu.stat", text, sizeof(text));
	if (len > 0 && cgroup_text_key(text, (size_t)len, "usage_usec", &usage_us))
		candidate->has |= bit(CGROUP_ACCOUNT);
	candidate->swap_limit = trial_has(trial, "memory.swap.max");
	candidate->kill_file = cgroup_file_write(trial->fd, "cgroup.kill", "1") == 0;
}

/* Try `base`; directories of its path from `from` characters on may be made to hand down controllers. */
static void try_v2(const struct cgroup_host *host, const struct survey *survey, const char *base, size_t from,
		   struct candidate *ret)
{
	struct trial trial;

	memset(ret, 0, sizeof(*ret));
	snprintf(ret->base, sizeof(ret->base), "%s", base);
	if (trial_begin(host, base, &trial) < 0) {
		ret->error = errno;
		return;
	}
	ret->error = may_join(survey, base, &trial);
	if (!ret->error) {
		/* Only where leaves are of use; a controller appears in leaves that are there already. */
		ret->enabled = enable_along(base, from, &ret->refused);
		look_into_leaf(&trial, ret);
	}
	trial_end(&trial);
}

static bool better(const struct candidate *a, const struct candidate *b)
{
	if (a->error || b->error)
		return !a->error && b->error;
	return __builtin_popcount(a->has) > __builtin_popcount(b->has);
}

/* ---- the self leaf ---- */

static bool is_alone(const char *own, int pid)
{
	char path[CGROUP_BASE_MAX + 16];
	char text[64];
	uint64_t only;
	ssize_t len;

	snprintf(path, sizeof(path), "%s/cgroup.procs", own);
	len = cgroup_file_read(AT_FDCWD, path, text, sizeof(text));
	return len > 0 && cgroup_text_number(text, (size_t)len, &only) && only == (uint64_t)pid;
}

static bool is_delegated(const char *own)
{
	char value[8];

	return getxattr(own, "trusted.delegate", value, sizeof(value)) == 1 ||
	       getxattr(own, "user.delegate", value, sizeof(value)) == 1;
}

static bool may_sit(const struct cgroup_host *host, const struct survey *survey)
{
	if (!is_alone(survey->own, host->owner_pid))
		return false;
	return geteuid() != 0 || strcmp(survey->own, survey->v2.point) == 0 || is_delegated(survey->own);
}

static void sit_down(struct cgroup_host *host, const char *own)
{
	struct cgroup_owner owner = { host->owner_pid, host->owner_start, 0, host->owner_space };
	char name[CGROUP_NAME_MAX];
	char path[sizeof(host->self_leaf) + 16];

	cgroup_text_name(&owner, name);
	snprintf(host->self_leaf, sizeof(host->self_leaf), "%s/%s", own, name);
	snprintf(path, sizeof(path), "%s/cgroup.procs", host->self_leaf);
	if (mkdir(host->self_leaf, 0755) == 0) {
		if (cgroup_file_write(AT_FDCWD, path, "0") == 0)
			return;
		rmdir(host->self_leaf);
	}
	host->self_leaf[0] = '\0';
}

/* Neither another process in the self leaf nor another cgroup beside it. */
static bool is_ours_alone(const char *own, const char *self_leaf, int pid)
{
	const char *name = strrchr(self_leaf, '/') + 1;
	bool alone = is_alone(self_leaf, pid);
	DIR *dir = alone ? opendir(own) : NULL;
	const struct dirent *entry;

	if (!dir)
		return false;
	while (alone && (entry = readdir(dir)))
		alone =
		    entry->d_type != DT_DIR || entry->d_name[0] == '.' || strcmp(entry->d_name, name) == 0;
	closedir(dir);
	return alone;
}

/* Controllers first: a cgroup that hands them down takes no process back. */
static void stand_up(struct cgroup_host *host, const char *own)
{
	char path[CGROUP_LEAF_PATH_MAX + 32];
	char text[16];

	snprintf(path, sizeof(path), "%s/cgroup.subtree_control", own);
	for (size_t i = 0; i < LIMITED_COUNT; i++)
		if (host->self_leaf_enabled & bit(limited[i])) {
			snprintf(text, sizeof(text), "-%s", controllers[limited[i]].name);
			cgroup_file_write(AT_FDCWD, path, text);
		}
	snprintf(path, sizeof(path), "%s/cgroup.procs", own);
	cgroup_file_write(AT_FDCWD, path, "0");
	rmdir(host->self_leaf);
}

/* ---- what the hosts of one process share ---- */

/* The cgroup that a process is in is a property of the process; so is the list of those who rely on it. */
static struct {
	pthread_mutex_t lock; /* of the list, and of probing and giving back as a whole */
	struct cgroup_host *first;
} live = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void unlist(const struct cgroup_host *host)
{
	for (struct cgroup_host **at = &live.first; *at; at = &(*at)->next)
		if (*at == host) {
			*at = host->next;
			return;
		}
}

/* Another host of this process (and not of one that we were forked from) with its leaves in `base`. */
static struct cgroup_host *find_heir(int pid, const char *base, size_t *ret_hierarchy)
{
	for (struct cgroup_host *host = live.first; host; host = host->next)
		for (size_t h = 0; h < host->hierarchy_count && host->owner_pid == pid; h++)
			if (strcmp(host->hierarchies[h].base, base) == 0) {
				*ret_hierarchy = h;
				return host;
			}
	return NULL;
}

static void give_back_parent(struct cgroup_host *host, struct cgroup_hierarchy *hierarchy)
{
	size_t h;
	struct cgroup_host *heir =
	    hierarchy->made_parent ? find_heir(host->owner_pid, hierarchy->base, &h) : NULL;

	if (heir)
		heir->hierarchies[h].made_parent = true;
	else if (hierarchy->made_parent)
		rmdir(hierarchy->base); /* stays where somebody still has a leaf in it */
	hierarchy->made_parent = false;
}

static void give_back_self_leaf(struct cgroup_host *host)
{
	char own[sizeof(host->self_leaf)];
	struct cgroup_host *heir;
	size_t h;

	if (host->self_leaf[0] == '\0')
		return;
	snprintf(own, sizeof(own), "%.*s", (int)(strrchr(host->self_leaf, '/') - host->self_leaf),
		 host->self_leaf);
	heir = find_heir(host->owner_pid, own, &h);
	if (heir) {
		memcpy(heir->self_leaf, host->self_leaf, sizeof(heir->self_leaf));
		heir->self_leaf_enabled = host->self_leaf_enabled;
	} else if (is_ours_alone(own, host->self_leaf, host->owner_pid)) {
		stand_up(host, own);
	}
	host->self_leaf[0] = '\0';
	host->self_leaf_enabled = 0;
}

/* ---- choice ---- */

static void choose_base(struct cgroup_host *host, const struct survey *survey, struct candidate *ret)
{
	const char *own = survey->own;
	const char *point = survey->v2.point;
	struct candidate other;

	ret->error = ENOENT;
	if (own[0])
		try_v2(host, survey, own, strlen(own), ret);
	if (own[0] && !ret->error && (survey->offered & ~ret->has) && may_sit(host, survey)) {
		sit_down(host, own);
		if (host->self_leaf[0])
			try_v2(host, survey, own, strlen(own), ret);
		host->self_leaf_enabled = ret->enabled;
	}
	if (strcmp(own, point) == 0 || !(ret->error || (survey->offered & ~ret->has)))
		return;
	try_v2(host, survey, point, strlen(point), &other);
	if (better(&other, ret)) {
		give_back_self_leaf(host);
		*ret = other;
	}
}

/* "<point>/<parent>", made if it is not there. 0; -1 with errno. */
static int make_base(const char *point, const char *parent, char base[CGROUP_BASE_MAX], bool *ret_made)
{
	const char *slash = strcmp(point, "/") == 0 ? "" : point;
	int len = snprintf(base, CGROUP_BASE_MAX, parent[0] ? "%s/%s" : "%s%s", slash, parent);

	*ret_made = false;
	if (len < 0 || len >= CGROUP_BASE_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (parent[0] == '\0')
		return 0;
	if (mkdir(base, 0755) == 0)
		*ret_made = true;
	else if (errno != EEXIST)
		return -1;
	return 0;
}

static size_t add_hierarchy(struct cgroup_host *host, bool v2, const char *base, bool made)
{
	size_t index = host->hierarchy_count++;

	host->hierarchies[index].v2 = v2;
	host->hierarchies[index].made_parent = made;
	compose(host->hierarchies[index].base, CGROUP_BASE_MAX, base);
	return index;
}

static void assign(struct cgroup_host *host, int controller, size_t hierarchy)
{
	host->hierarchy_of[controller] = (int)hierarchy;
	host->reason[controller][0] = '\0';
}

static void take_v2(struct cgroup_host *host, const struct candidate *candidate, bool made)
{
	size_t index = add_hierarchy(host, true, candidate->base, made);

	host->v2 = (int)index;
	host->kill_file = candidate->kill_file;
	for (int c = 0; c < CGROUP_CONTROLLER_COUNT; c++)
		if (candidate->has & bit(c))
			assign(host, c, index);
	if (candidate->has & bit(CGROUP_MEMORY))
		host->swap_limit = candidate->swap_limit;
}

static void probe_v2(struct cgroup_host *host, const struct survey *survey, const char *parent)
{
	const char *point = survey->v2.point;
	struct candidate candidate = { 0 };
	char base[CGROUP_BASE_MAX];
	bool made = false;

	if (point[0] == '\0')
		return;
	if (parent[0] == '\0')
		choose_base(host, survey, &candidate);
	else if (make_base(point, parent, base, &made) < 0)
		candidate.error = errno;
	else
		try_v2(host, survey, base, strlen(point), &candidate);
	for (int c = 0; c < CGROUP_CONTROLLER_COUNT; c++) {
		if (c != CGROUP_ACCOUNT && !(survey->offered & bit(c)))
			continue;
		tell_errno(host, c, candidate.base[0] ? candidate.base : point,
			   candidate.error     ? candidate.error
			   : candidate.refused ? candidate.refused
					       : ENOENT);
	}
	if (!candidate.error)
		take_v2(host, &candidate, made);
	else if (made)
		rmdir(candidate.base);
}

/* One v1 hierarchy, for all of the wanted controllers that are mounted together in it. */
static void probe_v1_mount(struct cgroup_host *host, const struct cgroup_mount *mount, unsigned wanted,
			   const char *parent)
{
	char base[CGROUP_BASE_MAX];
	struct trial trial;
	bool made = false;
	unsigned has = 0;
	int error = 0;

	if (make_base(mount->point, parent, base, &made) < 0 || trial_begin(host, base, &trial) < 0) {
		error = errno;
	} else {
		for (int c = 0; c < CGROUP_CONTROLLER_COUNT; c++)
			if ((wanted & bit(c)) && trial_has(&trial, controllers[c].v1_file))
				has |= bit(c);
		if (has & bit(CGROUP_MEMORY))
			host->swap_limit = trial_has(&trial, "memory.memsw.limit_in_bytes");
		trial_end(&trial);
	}
	for (int c = 0; c < CGROUP_CONTROLLER_COUNT; c++) {
		if (!(wanted & bit(c)) || (has & bit(c)))
			continue;
		if (error)
			tell_errno(host, c, base, error);
		else
			tell(host, c, "the kernel has no %s (a build option of the kernel)",
			     controllers[c].v1_file);
	}
	if (!has) {
		if (made)
			rmdir(base);
		return;
	}
	size_t index = add_hierarchy(host, false, base, made);
	for (int c = 0; c < CGROUP_CONTROLLER_COUNT; c++)
		if (has & bit(c))
			assign(host, c, index);
}

/*
 * Looking instead of trying, for a launch that will try anyway: the mount point takes new leaves if it is writable, and
 * a leaf of v1 has its controller's files. Should that be wrong, cgroup_create() refuses the run.
 */
static void look_v1_mount(struct cgroup_host *host, const struct cgroup_mount *mount, unsigned wanted)
{
	char path[CGROUP_BASE_MAX + 32];
	size_t index;

	if (faccessat(AT_FDCWD, mount->point, W_OK, AT_EACCESS) < 0) {
		int error = errno;

		for (int c = 0; c < CGROUP_CONTROLLER_COUNT; c++)
			if (wanted & bit(c))
				tell_errno(host, c, mount->point, error);
		return;
	}
	index = add_hierarchy(host, false, mount->point, false);
	for (int c = 0; c < CGROUP_CONTROLLER_COUNT; c++)
		if (wanted & bit(c))
			assign(host, c, index);
	if (wanted & bit(CGROUP_MEMORY)) {
		compose(path, sizeof(path), mount->point, "/memory.memsw.limit_in_bytes");
		host->swap_limit = access(path, F_OK) == 0;
	}
}

/* Whether leaves have memory.swap.max, which the root itself never has: any child with the memory controller shows it.
 * 0 or 1; -1 when there is no such child. */
static int look_swap_limit(const char *point)
{
	DIR *dir = opendir(point);
	const struct dirent *entry;
	char path[sizeof(entry->d_name) + 32];
	int found = -1;

	while (dir && found < 0 && (entry = readdir(dir))) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/memory.max", entry->d_name);
		if (faccessat(dirfd(dir), path, F_OK, 0) < 0)
			continue;
		snprintf(path, sizeof(path), "%s/memory.swap.max", entry->d_name);
		found = faccessat(dirfd(dir), path, F_OK, 0) == 0;
	}
	if (dir)
		closedir(dir);
	return found;
}

/* The plain case of v2: the mount point is the root of the hierarchy, is writable and hands down all that it has.
 * False when it is not that simple, and has to be tried. */
static bool look_v2(struct cgroup_host *host, const struct survey *survey)
{
	const char *point = survey->v2.point;
	struct candidate candidate = { 0 };
	char path[CGROUP_BASE_MAX + 32];
	int swap_limit = 0;

	if (point[0] == '\0')
		return true;
	compose(path, sizeof(path), point, "/cgroup.type");
	if (strlen(point) >= sizeof(candidate.base) || access(path, F_OK) == 0 ||
	    faccessat(AT_FDCWD, point, W_OK, AT_EACCESS) < 0)
		return false;
	if (survey->offered)
		candidate.has = read_controllers(point, "cgroup.subtree_control");
	if (survey->offered & ~candidate.has)
		return false;
	if (candidate.has & bit(CGROUP_MEMORY))
		swap_limit = look_swap_limit(point);
	if (swap_limit < 0 && !host->no_swap)
		return false;
	candidate.has |= bit(CGROUP_ACCOUNT);
	candidate.swap_limit = swap_limit > 0;
	compose(candidate.base, sizeof(candidate.base), point);
	take_v2(host, &candidate, false);
	return true;
}

static void probe_v1(struct cgroup_host *host, const struct survey *survey, const char *parent, bool look)
{
	unsigned tried = 0;

	for (int c = 0; c < CGROUP_CONTROLLER_COUNT; c++) {
		const struct cgroup_mount *mount = &survey->v1[c];
		unsigned wanted = 0;

		if (mount->point[0] == '\0' || (tried & bit(c)))
			continue;
		for (int other = c; other < CGROUP_CONTROLLER_COUNT; other++)
			if (strcmp(survey->v1[other].point, mount->point) == 0) {
				tried |= bit(other);
				if (host->hierarchy_of[other] < 0)
					wanted |= bit(other);
			}
		if (wanted && look)
			look_v1_mount(host, mount, wanted);
		else if (wanted)
			probe_v1_mount(host, mount, wanted, parent);
	}
}

static bool has_no_swap(void)
{
	struct sysinfo info;

	return sysinfo(&info) == 0 && info.totalswap == 0;
}

static void init_host(struct cgroup_host *host)
{
	struct cgroup_process self = { 0 };

	memset(host, 0, sizeof(*host));
	host->v2 = -1;
	host->no_swap = has_no_swap();
	host->owner_pid = getpid();
	cgroup_process_read(host->owner_pid, &self);
	host->owner_start = self.start_time;
	host->owner_space = cgroup_space();
	for (int c = 0; c < CGROUP_CONTROLLER_COUNT; c++)
		host->hierarchy_of[c] = -1;
}

static void probe(const char *parent, bool look, struct cgroup_host *host)
{
	struct survey survey;

	if (parent[0] && !cgroup_text_parent_valid(parent)) {
		for (int c = 0; c < CGROUP_CONTROLLER_COUNT; c++)
			tell(host, c,
			     "cgroup parent \"%.60s\" is not a path below a cgroup mount (like \"a/b\")",
			     parent);
		return;
	}
	survey_host(&survey);
	look = look && parent[0] == '\0';
	if (!look || !look_v2(host, &survey))
		probe_v2(host, &survey, parent);
	probe_v1(host, &survey, parent, look);
	for (int c = 0; c < CGROUP_CONTROLLER_COUNT; c++)
		if (host->hierarchy_of[c] < 0 && !host->reason[c][0])
			tell(host, c,
			     "no cgroup hierarchy with the %s controller is mounted (cgroup2 on "
			     "/sys/fs/cgroup)",
			     controllers[c].name);
}

void cgroup_probe(const char *parent, bool look, struct cgroup_host *ret)
{
	pthread_mutex_lock(&live.lock);
	unlist(ret); /* probed anew without having been given back */
	init_host(ret);
	probe(parent ? parent : "", look, ret);
	ret->next = live.first;
	live.first = ret;
	pthread_mutex_unlock(&live.lock);
}

/* Other threads write the host's place in the list, and what passes along it. */
void cgroup_host_copy(const struct cgroup_host *host, struct cgroup_host *ret)
{
	pthread_mutex_lock(&live.lock);
	*ret = *host;
	pthread_mutex_unlock(&live.lock);
	ret->next = NULL;
	ret->self_leaf[0] = '\0';
	ret->self_leaf_enabled = 0;
	for (size_t h = 0; h < ret->hierarchy_count; h++)
		ret->hierarchies[h].made_parent = false;
}

void cgroup_host_done(struct cgroup_host *host)
{
	if (host->owner_pid != getpid())
		return; /* zeroed, or of the process that we were forked from */
	pthread_mutex_lock(&live.lock);
	unlist(host);
	for (size_t h = 0; h < host->hierarchy_count; h++)
		give_back_parent(host, &host->hierarchies[h]);
	give_back_self_leaf(host);
	pthread_mutex_unlock(&live.lock);
}
