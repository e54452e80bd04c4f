/*
 * cgroup: limits, accounting and killing of one run, on cgroup v2, v1, or controller by controller on a
 * hybrid host.
 *
 * Life: cgroup_probe() (reads mounts, tries) -> per run cgroup_create() makes one leaf in every
 * hierarchy needed and writes the limits -> the jail's init is born in the v2 leaf (join_v2_fd with
 * CLONE_INTO_CGROUP) and writes "0" into each join_v1_fd -> cgroup_read_back() for the receipt ->
 * cgroup_usage() while it runs -> cgroup_kill() -> cgroup_final() -> cgroup_remove(). Instead of removing a leaf, the caller can
 * ask cgroup_renew() whether a later run may use it. A leaf that was killed never does (a cgroup that was killed kills what is cloned into it later).
 * A leaf's name is "warder-<pid>-<starttime>-<n>-<space>": pid and start time (field 22 of /proc/<pid>/stat) of the
 * supervisor, so that cgroup_clean() can tell leftovers of a dead supervisor. Host side only, any thread.
 */
#ifndef WARDER_JAIL_CGROUP_CGROUP_H
#define WARDER_JAIL_CGROUP_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum cgroup_controller {
	CGROUP_MEMORY,
	CGROUP_PIDS,
	CGROUP_CPU,     /* bandwidth */
	CGROUP_ACCOUNT, /* CPU time used: v2 cpu.stat (works without any controller) or v1 cpuacct */
	CGROUP_CONTROLLER_COUNT,
};

#define CGROUP_HIERARCHIES_MAX 5
#define CGROUP_BASE_MAX        256
#define CGROUP_NAME_MAX        96 /* of a leaf */
/* Longest path of a leaf, and of a file in it. */
#define CGROUP_LEAF_PATH_MAX (CGROUP_BASE_MAX + CGROUP_NAME_MAX)

/* What this host offers, found by trying. */
struct cgroup_host {
	struct cgroup_hierarchy {
		bool v2;
		bool made_parent;           /* the probe made `base`; cgroup_host_done() removes it */
		char base[CGROUP_BASE_MAX]; /* directory below which leaves are made */
	} hierarchies[CGROUP_HIERARCHIES_MAX];
	size_t hierarchy_count;
	int hierarchy_of[CGROUP_CONTROLLER_COUNT]; /* index above; -1: not to be had */
	char reason[CGROUP_CONTROLLER_COUNT][224]; /* why not, with the remedy; "" when it is there */
	bool swap_limit; /* swap can be limited (memory.swap.max / memory.memsw.limit_in_bytes) */
	bool no_swap;    /* the host has no swap space at all (SwapTotal 0) */
	bool kill_file;  /* a v2 hierarchy with cgroup.kill exists (tried with an empty leaf) */
	int v2;          /* index of the v2 hierarchy in use, or -1 */
	int owner_pid;   /* the process that probed, for the leaves' names */
	uint64_t owner_start;
	uint64_t owner_space;
	/* Set when this process had to leave its own delegated v2 cgroup for a child of it, because a cgroup that holds
	 * processes cannot hand controllers down ("" = it did not move). */
	char self_leaf[CGROUP_BASE_MAX + 96];
	unsigned self_leaf_enabled; /* controllers (1u << enum cgroup_controller) handed down for that */
	bool lent;                  /* leaves are named after the owner also by others, whom they outlive */
	struct cgroup_host
	    *next; /* list of the hosts of this process; self_leaf and made_parent pass along it */
};

/* Probe. `parent`: NULL or "" for the default base, else a directory name (relative to each hierarchy's
 * mount point, e.g. "warder-test") that exists or is made in each hierarchy and below which leaves go; the
 * environment is not consulted. Never fails: what is not there is told in reason[]. *ret must stay where it is until
 * cgroup_host_done(); several may live at once.
 * Default base: v1, the mount point of the hierarchy as seen in /proc/self/mountinfo; v2, the own cgroup if
 * its subtree_control has or accepts the controllers (a delegated cgroup whose only process is this one accepts them
 * after the process has moved to a child, see `self_leaf`), else the mount point.
 * `look`: for a launch, which tries by itself: where the case is plain (no parent, root) nothing is made, and
 * kill_file stays false.
 * Leaves behind, until the last cgroup_host_done() for the same base, a parent it made and the self leaf; and for good, the
 * controllers it had to enable in subtree_control files elsewhere. */
void cgroup_probe(const char *parent, bool look, struct cgroup_host *ret);
/* Give back what cgroup_probe() made, unless another host of this process needs it: the parent where it is empty, the
 * self leaf where nobody else is in it or has a cgroup beside it (else the process stays in it). Safe twice and on a
 * zeroed struct; does nothing in a fork of the process that probed. */
void cgroup_host_done(struct cgroup_host *host);
/* A copy for leaves of the same places. It has nothing to give back, and is in no list: its caller does not call cgroup_host_done() for it. */
void cgroup_host_copy(const struct cgroup_host *host, struct cgroup_host *ret);

/* UINT64_MAX = do not set. */
struct cgroup_limits {
	uint64_t memory_bytes; /* the kernel rounds down to whole pages */
	uint64_t swap_bytes;   /* on top of memory; needs host->swap_limit, and on v1 memory_bytes */
	uint64_t pids_max;     /* as to be written: the caller has added the jail's init */
	uint64_t cpu_milli;    /* 500 = half a CPU; at least 1 */
	bool account;          /* CPU time accounting is needed */
};

#define CGROUP_KEPT_MAX 10

#define CGROUP_BUSY 1 /* of a leaf: it cannot be removed yet */

struct cgroup {
	const struct cgroup_host *host; /* not owned; outlives this */
	char name[CGROUP_NAME_MAX];
	bool used[CGROUP_HIERARCHIES_MAX];
	int dir_fd[CGROUP_HIERARCHIES_MAX];     /* leaf directories, O_PATH|O_DIRECTORY; -1 where unused */
	int join_v2_fd;                         /* for CLONE_INTO_CGROUP, or -1; owned */
	int join_v1_fd[CGROUP_HIERARCHIES_MAX]; /* `tasks` opened O_WRONLY, or -1; owned */
	int event_fd; /* after cgroup_watch_oom(): readable on an OOM event (v1: eventfd; v2: epoll over memory.events); else -1 */
	int oom_fd;     /* v1 memory.oom_control, v2 memory.events; or -1 */
	int usage_fd;   /* v1 cpuacct.usage, v2 cpu.stat; or -1 */
	int peak_fd;    /* v2 memory.peak, begun anew by cgroup_renew(); or -1 */
	int freezer_fd; /* v2 cgroup.events, of cgroup_watch_freezer(); or -1 */
	/* Files of limits that were written, and of cgroup_keep_files(); owned. The names are not. */
	struct cgroup_kept {
		int dir_fd;
		const char *file;
		int fd;
	} kept[CGROUP_KEPT_MAX];
	size_t kept_count;
	bool killed; /* by cgroup.kill */
	bool again;  /* an earlier run had the leaf */
	struct cgroup_limits limits;
	uint64_t above_count; /* of cgroup_above_begin() */
	struct cgroup_cpu {
		uint64_t all_us, user_us, system_us;
	} cpu_before; /* of cgroup_begin_cpu() */
	bool stuck;   /* its processes do not die: cgroup_remove() tries once, and does not wait */
	uint32_t remove_pause_us; /* until the next cgroup_remove_step(); 0: there was none */
	int64_t remove_until_ms;
};

/* Zeroed is not valid: call this first, then _remove() is always safe. */
void cgroup_init(struct cgroup *cgroup);
/* Make the leaves and write every limit. On failure nothing is left. -1 with *err (field = policy field such as
 * "limits.memory", step "cgroup"): UNSUPPORTED_POLICY when the host has no such control or the kernel refuses the
 * value, UNAVAILABLE otherwise. */
int cgroup_create(const struct cgroup_host *host, const struct cgroup_limits *limits, struct cgroup *ret,
		  struct warder_error *err);
/* The path of the leaf in hierarchy h, whether it is used there or not. */
void cgroup_leaf_path(const struct cgroup *cgroup, size_t h, char ret[CGROUP_LEAF_PATH_MAX]);

/* The same in two parts, because mkdir(2) in hierarchies of v1 takes its time and only the leaf of v2 has to be there when init is born.
 * cgroup_begin() makes that leaf; on failure nothing is left. cgroup_complete() makes the others, before anybody can be in them; on failure
 * the caller removes all. In between, cgroup_is_partial() says that something is to be completed. */
int cgroup_begin(const struct cgroup_host *host, const struct cgroup_limits *limits, struct cgroup *ret,
		 struct warder_error *err);
bool cgroup_is_partial(const struct cgroup *cgroup);
int cgroup_complete(struct cgroup *cgroup, struct warder_error *err);

/* One control as the kernel shows it now. */
struct cgroup_value {
	uint64_t value; /* UINT64_MAX for "max"/unlimited; cpu: thousandths of a CPU */
	char text[64];  /* file content, one line; v1 cpu: "quota period" */
	char file[64];  /* "memory.max", "memory.limit_in_bytes", ... */
};
/* Read back the limit of a controller (CGROUP_MEMORY, _PIDS, _CPU), or of swap (on top of memory, so on v1 the
 * difference of two files) when CGROUP_MEMORY and `swap`. 0; -1 with *err. */
int cgroup_read_back(const struct cgroup *cgroup, enum cgroup_controller controller, bool swap,
		     struct cgroup_value *ret, struct warder_error *err);

/* What the leaf has used of CPU time so far no longer counts: cgroup_cpu_usage() and cgroup_final() begin at 0. 0; -1 if it cannot be
 * read. */
int cgroup_begin_cpu(struct cgroup *cgroup);
/* CPU time used so far by everything in the leaf; cheap (one pread). 0; -1 if it cannot be read. */
int cgroup_cpu_usage(const struct cgroup *cgroup, uint64_t *ret_us);
/* What the leaf uses now; UINT64_MAX: not known. Processes of the leaf, with the jail's init; bytes that came from and went to disks. */
struct cgroup_counts {
	uint64_t cpu_us, memory_bytes, memory_peak_bytes, processes, read_bytes, written_bytes;
};
/* Never fails. Any thread, also while another one removes the leaf. */
void cgroup_count(const struct cgroup *cgroup, struct cgroup_counts *ret);
/* Kills of the OOM killer so far in the leaf (v2 counts the chosen process of a group twice), and whether the leaf's own limit was
 * reached: where somebody was killed, so that nothing could be reclaimed (v1 does not tell this apart); else also when reclaim was enough
 * to go on. 0; -1 without a memory leaf. */
int cgroup_oom(const struct cgroup *cgroup, uint64_t *ret_kills, bool *ret_own_limit);
/* Files of the cgroup above the leaves of a session, open for many executions; -1: not open. */
struct cgroup_above {
	int count_fd, peak_fd, limit_fd;
	bool v2;
};
#define CGROUP_ABOVE_NONE                                                                                    \
	{                                                                                                    \
		-1, -1, -1, false                                                                            \
	}
/* Never fails: what cannot be opened is not known later. The caller ends it with cgroup_above_done(), also where nothing was opened. */
void cgroup_above_open(const struct cgroup_host *host, struct cgroup_above *ret);
void cgroup_above_done(struct cgroup_above *above);
/* Before anybody is in the leaf: what the cgroup above it, a session's, has counted so far. */
void cgroup_above_begin(struct cgroup *cgroup, const struct cgroup_above *above);
/* After a kill in the leaf: whether since then the limit of the cgroup above was reached, so that nothing could be reclaimed (v1 does not
 * tell this apart). */
bool cgroup_above_oom(const struct cgroup *cgroup);
/* Open event_fd, if there is a memory limit. Apart from cgroup_create() because short runs do without: closing a v1
 * event costs more than a millisecond. What happened before is not an event: ask cgroup_oom() once afterwards. */
int cgroup_watch_oom(struct cgroup *cgroup, struct warder_error *err);
/* Clear a pending event on event_fd. */
void cgroup_clear_event(const struct cgroup *cgroup);

/* SIGKILL everything in the leaf (v2 cgroup.kill). False, and nothing is done, on v1, where the pid namespace does it. */
bool cgroup_kill(struct cgroup *cgroup);
/* The same in every hierarchy, process by process in rounds, except for `except` (0: nobody). Bounded by about 50 ms. */
void cgroup_kill_each(const struct cgroup *cgroup, int except);
/* Move a process with all its threads into the leaf, in every hierarchy, and look whether it is there. The caller holds a pidfd, and looks
 * afterwards whether the process still lives, because the kernel takes a number. -1 with *err. */
int cgroup_move(const struct cgroup *cgroup, int pid, struct warder_error *err);

struct cgroup_final {
	uint64_t memory_peak_bytes; /* UINT64_MAX where the kernel does not tell */
	uint64_t cpu_us, cpu_user_us, cpu_system_us;
	uint64_t pids_peak;       /* UINT64_MAX where the kernel does not tell */
	uint64_t pids_limit_hits; /* forks refused */
	uint64_t oom_kills;
	bool memory_limit_hit;
	uint64_t cpu_throttled_us; /* 0 where the kernel does not tell */
};
/* Counters after the last process is gone, before removal. Never fails: unknown stays UINT64_MAX or 0. */
void cgroup_final(const struct cgroup *cgroup, struct cgroup_final *ret);
/* Keep the files of cgroup_read_back() and cgroup_final() open. A file that cannot be kept is opened each time. */
void cgroup_keep_files(struct cgroup *cgroup);
/* Close them, and those whose limits cgroup_create() and cgroup_complete() have written, which stay open for cgroup_read_back(). */
void cgroup_close_files(struct cgroup *cgroup);
/* Nobody joins the leaf by these descriptors any more. */
void cgroup_close_joins(struct cgroup *cgroup);

/* Whether a leaf whose processes are all gone looks like a new one, so that another run with the same limits may have it: every file that
 * counts what happened in it is compared, and its peaks begin anew. CGROUP_RENEW_REASONS: it does. Less: the number of the reason why it
 * does not, and the leaf is to be removed. After it, call cgroup_begin_cpu(). */
size_t cgroup_renew(struct cgroup *cgroup);
#define CGROUP_RENEW_REASONS 17
/* The name of a reason: the file that differs. */
const char *cgroup_renew_reason(size_t i);

/* Remove the leaves and close everything; bounded retry while the kernel still says EBUSY (at most about
 * 2 s). Safe after a failed create, twice, and on an initialised struct. 0; -1 with *err if a leaf stays. */
int cgroup_remove(struct cgroup *cgroup, struct warder_error *err);
/* One try of it, which does not wait. CGROUP_BUSY: to be called again after cgroup->remove_pause_us. */
int cgroup_remove_step(struct cgroup *cgroup, struct warder_error *err);

/* Let go of a leaf whose processes are to stay: close everything. True; false, and nothing is done, when nobody is in it. */
bool cgroup_leave(struct cgroup *cgroup);
/* Remove leaves below `outer`, and nowhere else: those that are empty and have the owner's name; `all`: every one, and who is in it is
 * killed. */
void cgroup_sweep(const struct cgroup *outer, bool all);

/* Stop every process in the leaves below `outer`, except in the one named `except`, or let them go on: by the freezer of v2, whose frozen
 * processes can be killed. -1 with *err (UNAVAILABLE): nothing is stopped. */
int cgroup_freeze(const struct cgroup *outer, const char *except, bool frozen, struct warder_error *err);
/* Open freezer_fd, if the leaf has a freezer of v2. From now on, poll(2) reports POLLPRI for it when the kernel has frozen the leaf or let it
 * go on, here or in a cgroup above, within 10 ms, and for some other events. Whether everything in the leaf is frozen already. */
bool cgroup_watch_freezer(struct cgroup *cgroup);
/* Whether everything in the leaf is frozen. False if freezer_fd is -1. */
bool cgroup_is_frozen(const struct cgroup *cgroup);
/* Remove leaves of dead supervisors below the host's bases: kill what is in them, then rmdir. Never touches a
 * leaf whose supervisor lives. Returns the number of leaves (runs, not directories) removed; a leaf that cannot
 * be emptied stays and is not counted; all waiting together is bounded by about 2 s. `dry_run` only counts.
 * Leaves of supervisors in other pid or time namespaces cannot be judged from here and stay. */
int cgroup_clean(const struct cgroup_host *host, bool dry_run);
/* The same for what can be removed within 50 ms, after a cheap look whether there is anything: for the end of a run. */
void cgroup_clean_briefly(const struct cgroup_host *host);

#endif
