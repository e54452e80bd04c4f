/*
 * jail: the local enforcement. The door of this folder.
 *
 * Life: jail_probe() finds what host and privilege can do -> jail_plan_build() compiles policy + host into a
 * plan (pure data; `warder explain` prints it, no root needed) -> jail_prepare() realises a plan into a
 * template (mount namespace, file descriptors, filter bytes) -> jail_launch() starts one program, returns
 * when it has entered its exec and the receipt was read back -> jail_supervise() feeds, drains, enforces the
 * deadlines, and returns the outcome after everything is gone -> jail_run_free(), jail_template_free().
 * A reusable template serves any number of launches, also at once from several threads; a run belongs to one thread
 * at a time, only jail_cancel() may be called from another. No signal handler; no global
 * state but cgroup_probe()'s locked list of hosts. A jail's init
 * is a child of the process that launched it; a host that waits for any child may reap it, which does no harm.
 * Knows no language, no JSON.
 */
#ifndef WARDER_JAIL_JAIL_H
#define WARDER_JAIL_JAIL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "edge/edge.h"
#include "jail/cgroup/cgroup.h"
#include "jail/filter/seccomp.h"
#include "jail/risks.h"
#include "jail/trust.h"
#include "policy/policy.h"
#include "rootfs/rootfs.h"

/* ---- host ---- */

enum jail_feature {
	JAIL_FEATURE_PRIVILEGED, /* root with the capabilities that a root launch uses */
	JAIL_FEATURE_USER_NS,
	JAIL_FEATURE_MOUNT_NS,
	JAIL_FEATURE_PID_NS,
	JAIL_FEATURE_NET_NS,
	JAIL_FEATURE_IPC_NS,
	JAIL_FEATURE_UTS_NS,
	JAIL_FEATURE_CGROUP_NS,
	JAIL_FEATURE_TIME_NS,
	JAIL_FEATURE_CLONE3,
	JAIL_FEATURE_INTO_CGROUP,
	JAIL_FEATURE_PIDFD,
	JAIL_FEATURE_CLOSE_RANGE,
	JAIL_FEATURE_OPENAT2,
	JAIL_FEATURE_MOUNT_API, /* open_tree, move_mount, mount_setattr */
	JAIL_FEATURE_IDMAP,     /* idmapped mounts (tried on a tmpfs) */
	JAIL_FEATURE_OVERLAY,
	JAIL_FEATURE_SECCOMP,
	JAIL_FEATURE_SECCOMP_NOTIFY,
	JAIL_FEATURE_LANDLOCK,
	JAIL_FEATURE_SPECULATION, /* speculation of one process can be forced off */
	JAIL_FEATURE_CGROUP_KILL,
	JAIL_FEATURE_COUNT,
};

struct jail_feature_state {
	bool tried; /* a quick probe tries only what decides about a policy; a launch tries the rest */
	bool there;
	bool absent; /* cgroup and time namespace: the kernel does not know it, and a launch does without */
	/* The trial lacked something that the host may have a moment later (a process, memory, a descriptor, time). This says nothing about the
	 * host: a launch tries again. */
	bool unknown;
	char detail[128]; /* "ABI 7", or why not, with the remedy */
};

struct jail_host {
	struct jail_feature_state features[JAIL_FEATURE_COUNT];
	int landlock_abi; /* 0: none */
	bool privileged;  /* the launch mode: root, or ordinary user */
	bool thorough;    /* probed for people, who also ask about controls that the policy does not want */
	/* "" or a question that the host did not answer (no descriptor, no memory): its answer decides how much protects, and a
	 * guess could be less, so that jail_plan_build() refuses. */
	char unanswered[128];
	struct network *network; /* in the making for the first launch, or NULL; jail_prepare() may take it */
	struct cgroup_host cgroup; /* last: session.c copies all that is before it as it is */
};

struct jail_probe_options {
	bool thorough;             /* try every feature in a throw-away child (milliseconds) */
	const char *cgroup_parent; /* see cgroup_probe(); NULL: default */
	bool overlay;              /* try an overlay also if not thorough: the policy needs one */
	bool network; /* a launch follows that needs a network namespace: begin making one meanwhile */
};

const char *jail_feature_name(enum jail_feature feature);
const char *jail_feature_title(enum jail_feature feature); /* for people: "user namespace" */
/* Never fails; leaves nothing behind. *ret is released with jail_host_done(). */
void jail_probe(const struct jail_probe_options *options, struct jail_host *ret);
void jail_host_done(struct jail_host *host);
/* Whether it needs JAIL_FEATURE_OVERLAY. */
bool jail_needs_overlay(const struct policy *policy);
/* Whether a jail could be started at all, as far as it was tried: 0; -1 with *err (UNAVAILABLE, what is missing). */
int jail_check(const struct jail_host *host, const struct policy *policy, struct warder_error *err);
/* What the jail can enforce on that host: one row per control, with mechanism or reason. */
void jail_capabilities(const struct jail_host *host, const struct policy *policy,
		       struct policy_capabilities *ret);

/* ---- plan ---- */

struct jail_rlimit {
	int resource;            /* RLIMIT_* */
	const char *name;        /* "NOFILE" */
	uint64_t value;          /* soft and hard */
	bool clamped;            /* the wanted value was over the host's hard limit */
	enum policy_field field; /* or POLICY_FIELD_NONE */
};

/*
 * Who else than the launch itself makes namespaces and root, and starts the jail's init in them: an OCI runtime. Init then does
 * what is left (joins the cgroup, forks, drops, filters, reports), so that launch, read-back and supervision stay the same.
 * Constant, or living as long as the template; start() may be called from several threads.
 */
struct jail_run;
struct jail_start; /* below */
struct jail_starter {
	enum policy_isolation isolation;
	bool
	    bare; /* nothing at all is restricted: init is a parent that knows all it has to end, and start is NULL */
	int filters; /* that it loads into the jail itself, besides the plan's */
	bool
	    gives_setpcap; /* init begins with CAP_SETPCAP, in all sets and alone: it locks the secure bits, and drops it */
	/* 0 with the running init, its pidfd (the caller's) and what stop() is to be given; -1 with *err: nothing is left. */
	int (*start)(const struct jail_starter *starter, const struct jail_start *start, void **ret_started,
		     int *ret_init_pid, int *ret_init_fd, struct warder_error *err);
	/* Init is dead, or (`stuck`) does not die, which nobody waits for any more: take away what start() made. 0: it is gone; -1 with
	 * *err: something is left. JAIL_STOPPING: it is not gone yet; to be called again when *ret_fd (borrowed) is readable,
	 * and after JAIL_STOPPING_LOOK_US. */
	int (*stop)(void *started, bool stuck, int *ret_fd, struct warder_error *err);
};
#define JAIL_STOPPING         1
#define JAIL_STOPPING_LOOK_US 200000

#define JAIL_RLIMITS_MAX      16
#define JAIL_OWNED_MOUNTS_MAX 20 /* workspace, paths, targets below /tmp and what lies beneath them */
#define JAIL_OWNERS_MAX       8  /* different host owners of these */

struct jail_joint; /* session.h */
struct jail_plan {
	bool privileged;
	const struct jail_starter *starter; /* NULL: the launch itself */
	const struct jail_joint
	    *joint;      /* of the session that a launch joins, with a starter that says so; or NULL */
	bool background; /* joining: what the program leaves running stays */
	uint64_t
	    rules; /* joining: how often the session's rules were replaced before they were those of this plan */
	bool holds;  /* the jail of a session: its payload waits, and executes nothing */
	bool zygote; /* its program forks other jails: jail_plan_zygote() */
	bool forked; /* it is forked by a zygote: jail_plan_forked() */
	struct rootfs rootfs;
	uint64_t namespaces; /* CLONE_NEW* flags of the launch */
	bool loopback_up;
	bool edge;       /* the jail has an edge: one of the next two is true */
	bool named;      /* the edge connects to the destinations of network.allow */
	bool publishes;  /* ports of the host lead to the jail */
	bool old_mounts; /* by mount(2), without idmapped mounts */
	char hostname[65];
	struct cgroup_limits cgroup; /* pids_max already counts the jail's init */
	struct jail_rlimit rlimits[JAIL_RLIMITS_MAX];
	size_t rlimit_count;
	uint32_t uid, gid; /* inside */
	uint32_t
	    processors; /* that the jail is to see: limits.cpus rounded up, at most those that the caller may use */
	struct seccomp_program *filter; /* owned; NULL after jail_run_trim() */
	int landlock_abi;               /* 0: the layer is absent */
	bool speculation;               /* force-disable speculation features */
	char **environment;             /* NULL-terminated "NAME=value" */
	uint64_t wall_time_us, cpu_time_us;
	uint64_t stdout_bytes, stderr_bytes;
	uint64_t
	    code_bytes; /* of the program text, which the caller has compared with limits.code; 0: a program */
	bool kill_on_output;
	bool kill_late;       /* also for output that is read after the program has ended */
	struct policy policy; /* a copy, for the receipt */
	bool not_enforced[POLICY_CONTROL_COUNT];  /* preferred controls that this host lacks */
	struct policy_capabilities *capabilities; /* as matched; owned, NULL after jail_run_trim() */
};

/* Compile. `match` says which preferred controls are unmet. `caller` is the caller's environment for
 * environment modes allowList and host (NULL-terminated, may be NULL). root: rootfs_encode() of the session that will be joined, in whose
 * root the plan then is, without a look at the host's paths; or NULL. -1 with *err. */
int jail_plan_build(const struct policy *policy, const struct jail_host *host,
		    const struct policy_capabilities *capabilities, const struct policy_match *match,
		    char *const *caller, const char *root, struct jail_plan *ret, struct warder_error *err);
/* Whether the filter of the policy's system calls can be made: names that there are, which may be allowed and denied. Pure. -1 with *err. */
int jail_check_calls(const struct policy *policy, struct warder_error *err);
/* Of a plan with view image: its user becomes 0, whose files the image's are, and the overlay of the image its root. -1 with *err for another plan. */
int jail_plan_build_image(struct jail_plan *plan, struct warder_error *err);
/* Of a plan of backend local: the jail of a zygote, or one that a zygote with a plan of the same policy forks. The second needs a plan for a
 * host whose member `privileged` is false. -1 with *err (UNSUPPORTED_POLICY). */
int jail_plan_zygote(struct jail_plan *plan, struct warder_error *err);
int jail_plan_forked(struct jail_plan *plan, struct warder_error *err);
void jail_plan_done(struct jail_plan *plan);

/* ---- template, launch ---- */

struct jail_template;

/* Realise. The template takes what it needs out of *plan (which is left empty, but still to be given to
 * jail_plan_done()); `host` must outlive it. `reusable`: false for a single launch, which is cheaper. */
int jail_prepare(struct jail_plan *plan, struct jail_host *host, bool reusable, struct jail_template **ret,
		 struct warder_error *err);
void jail_template_free(struct jail_template *tmpl);
const struct jail_plan *jail_template_plan(const struct jail_template *tmpl);

/* How long the reader of output_fds has after the end of the run. */
#define JAIL_GRACE_US 2000000

enum jail_stream { JAIL_STDOUT, JAIL_STDERR, JAIL_RESULT, JAIL_PROGRESS, JAIL_STREAMS };

/* What was written to an overlay of a jail that is gone. */
struct jail_upper {
	int fd;                               /* its upper directory, O_PATH */
	const struct rootfs_overlay *overlay; /* of the plan; its layers are open */
	uint32_t id_base;                     /* host id of the jail's id 0 */
	bool own_ids;                         /* the jail has a range of ids; else all is the caller's */
	bool user_xattrs;                     /* marks are user.overlay.*, else trusted.overlay.* */
};

/* The parts of a policy that take effect when the program starts. A parked jail also serves policies that differ from its own only in these. */
struct jail_given {
	const struct policy *policy; /* for the receipt */
	char *const *environment;    /* NULL-terminated "NAME=value" */
	uint64_t wall_time_us, stdout_bytes, stderr_bytes;
	uint64_t code_bytes; /* for the receipt: of a piece of code; 0: a program */
};

struct jail_command {
	char *const *argv;    /* argv[0]: a path inside, or a name searched in the PATH of the environment */
	char *const *set_env; /* "NAME=value" added to or replacing the plan's environment; may be NULL */
	const char *stdin_data; /* borrowed until the run ends */
	size_t stdin_len;
	/* -1, or where the program's input comes from; borrowed. Of a pipe, a regular file or a stream socket exactly the bytes that the
	 * program reads are consumed; anything else is read as it becomes readable. */
	int stdin_fd;
	/* > 0: the program's descriptor 0 is a copy of this one, in the place of a pipe; stdin_data, stdin_fd and on_input are not used. What holds for
	 * input_fd holds for it. Borrowed. */
	int stdin_file_fd;
	/* Instead of both: called with `context` by the supervision whenever the program's input has room, to write up to `size` bytes. It
	 * returns their number; 0: none until jail_input_ready(); -1: the input ends. Or NULL. */
	long (*on_input)(void *context, char *bytes, size_t size);
	/* > 0: a terminal, open for reading. The program's three streams are a terminal of the jail's own with this one's settings and size;
	 * what is typed here goes there as it comes, and what the program writes counts as stdout. Needs devices.terminals, and a
	 * starter that is not bare; stdin_data and stdin_fd are not used. Borrowed until the run ends. */
	int terminal_fd;
	/* Called with each chunk within the limits; NULL: kept in the outcome. A non-zero return ends the
	 * run with cause `supervisor`. */
	int (*on_output)(void *context, enum jail_stream stream, const char *bytes, size_t len);
	void *context;
	/* Instead of the above: the two descriptors, open for writing, that stdout and stderr are passed on to, as fast as they take them.
	 * Nothing is kept, and the plan's limits of output do not hold. A slow reader holds up the program, but not the supervision: what it
	 * has not taken JAIL_GRACE_US after the run's end is dropped. Two descriptors of one file make one stream, which counts as
	 * stdout. NULL, or borrowed until the run ends. */
	const int *output_fds;
	/* Standard error goes the way of standard output, also without such descriptors. */
	bool merged;
	uint64_t
	    output_max; /* with output_fds: more bytes than this on either stream end the run; 0: no limit */
	/* Two regular files that stdout and stderr are written to besides, from their first byte on and also beyond the limits, from where
	 * each stands; at most spill_bytes of each. -1: that one not. NULL, or borrowed until the run ends. */
	const int *spill_fds;
	uint64_t spill_bytes;
	/* > 0: the program finds a pipe as its descriptor 3, and up to so many bytes of it are kept in the outcome. */
	uint64_t result_bytes;
	/* The program finds a pipe as its descriptor 5; the outcome has its progress. on_progress, or NULL, is called with `context` and each
	 * line, which is JSON and ends with a NUL. */
	bool progress;
	void (*on_progress)(void *context, const char *line);
	/* > 0: the program finds it as its descriptor 5, in the place of that pipe; not with `progress`. Borrowed until the launch is over. */
	int calls_fd;
	/* Or NULL. jail_supervise() calls it whenever watch_fd can be read or is hung up, after it has passed to on_output everything that the
	 * program wrote before. It should read one message and return: then output that the program writes between two messages is passed on
	 * between them. Returns false to be called no more. watch_fd is borrowed until the run ends. */
	bool (*on_watch)(void *watch_context);
	/* Or NULL. With a plan whose program may leave processes running: asked when it has ended and some are left. False: they are killed. True:
	 * those that are still in its cgroup leaf are killed, and the others stay. */
	bool (*on_left)(void *watch_context);
	void *watch_context;
	int watch_fd;
	/* > 0: the program finds it as its descriptor 4; borrowed. It must be read-only and sealed, or belong to this jail alone: a file, or
	 * one end of a socket pair whose other end accepts no descriptors. */
	int input_fd;
	/* Put below /tmp, as the jail's user's, when everything else is ready; borrowed until the run ends. */
	const struct rootfs_file *files;
	size_t file_count;
	const struct rootfs_collect
	    *collect; /* what to take out of /tmp at the end; NULL: nothing. Borrowed. */
	/* Where the starter is bare: the directory of the host that files are put into and taken out of instead, by its absolute path,
	 * and the program's working directory, if it is another one than the plan's. Init removes the directory if this process
	 * dies first. Or NULL; borrowed until the run ends. */
	const char *scratch;
	const char *working_directory;
	/* Asked about ten times a second while the jail is set up: non-zero gives the launch up. Or NULL. */
	int (*should_stop)(void *stop_context);
	void *stop_context;
	/* Replaces these parts of the template's policy. NULL: the template's. Borrowed until the launch, or the hand-out, is over. */
	const struct jail_given *given;
	/* Read everything back and compare it as ever, but write no row of the receipt. */
	bool no_receipt;
	/* Of a plan that says `forked`: the zygote. Borrowed until the launch is over. */
	struct jail_zygote *zygote;
	/* Called from jail_supervise() for each overlay of the plan when every process of the jail is gone; or NULL. */
	void (*on_upper)(void *upper_context, const struct jail_upper *upper);
	void *upper_context;
};

/* What a starter is given; all of it borrowed, for the time of start() alone. */
struct jail_start {
	struct jail_run *run;
	const struct jail_plan *plan;
	const char *name; /* of the run, unlike any other on this host */
	const int *fds;   /* init's descriptors, by number */
	size_t fd_count;
	size_t
	    first_join; /* from here on they are files of the run's cgroups: who writes "0" to each is in all of them */
	int image_number; /* which of them is init's program */
	const char *
	    door; /* a path inside: an init without descriptors takes them, in one message, from this socket */
	uint32_t first_id; /* host id of id 0 inside; the ids after it are leased as well */
	uint32_t id_count;
	int64_t
	    clock_offset; /* of a time namespace of its own (plan->namespaces): seconds, of the monotonic and the boot clock */
	int network_fd; /* a network namespace whose only interface is down, or -1: see plan->namespaces, plan->loopback_up */
	const char *
	    scratch_options; /* of the one tmpfs behind /tmp and /dev/shm, which holds the directories tmp and shm */
	/* What the program sees at trust_path() of each that has bytes, read-only, nosuid and nodev. The read-back compares it. */
	struct trust trust;
};
/* Whether the caller does not want the run any more: a start that waits asks now and then. */
bool jail_start_is_cancelled(const struct jail_start *start);
/* A detached mount of what entry `index` of the plan's root shows, a bind, with its flags and owner. Returns the descriptor (the
 * caller's); -1 with *err. */
int jail_start_tree(const struct jail_start *start, size_t index, struct warder_error *err);
/* The same of a layer of an overlay of the plan. */
int jail_start_layer(const struct jail_start *start, size_t overlay, size_t layer, struct warder_error *err);
/* Mount the plan's overlays, and make the mount points and the plan's files in them. To be called once, in a forked process of the
 * starter's, whose root is the one that is laid out, with the scratch tmpfs as a whole at its /dev/shm; `layers` as from
 * jail_start_layer(), in order of overlays and layers; they are closed. Only system calls are made. Returns 0, or a negative errno with *ret_what naming the object. */
long jail_start_overlays(const struct jail_start *start, const int *layers, const char **ret_what);
/* Path i of /proc that a starter has to cover where it exists, so that nothing of the host is read there (or, *ret_whole false, only so
 * that nothing is written); NULL past the end. The read-back asks for each. */
const char *jail_start_masked(size_t i, bool *ret_whole);

/* Whether two descriptors are of one file, so that a program gets one pipe for both and its bytes keep their order. */
bool jail_is_one_file(const int fds[2]);

/* Start. 0: the program's exec was entered, under the whole policy, read back. -1 with *err (step named);
 * nothing is left. EXECUTION_FAILED: not executable; NOT_FOUND: no such program inside. */
int jail_launch(struct jail_template *tmpl, const struct jail_command *command, struct jail_run **ret,
		struct warder_error *err);

/*
 * A jail that is ready before its program is known: jail_park() makes it, with everything applied and read back, and its payload waits
 * where it would enter the exec -> jail_recheck() reads again what root, or a death, may have changed since -> jail_hand_out() gives it the
 * command -> jail_supervise() -> jail_run_remove(). It executes one program, or none.
 *
 * jail_park: of a reusable template of backend local, outside sessions and without an edge; else -1 with *err (UNSUPPORTED_POLICY).
 * jail_check_park: whether jail_park() accepts a plan; makes nothing.
 * jail_recheck: 0; -1 with *err: it can only be removed.
 * jail_hand_out: wall time begins here, and CPU time with jail_recheck(); the time namespace's zero stays at jail_park(), because the kernel fixes it when the
 * payload is born. -1 with *err as of jail_launch(), and of a command that only a launch can serve (INVALID_REQUEST: a terminal, or more
 * than 96 KiB of arguments and environment); the run can then only be removed.
 * jail_died_unused: after a jail_hand_out() or a jail_feed() that failed: whether the jail died, and certainly nothing of the program has run
 * or will run, so that the command can be given to another jail. False: it failed for another reason, or the program may have begun.
 */
int jail_check_park(const struct jail_plan *plan, struct warder_error *err);
int jail_park(struct jail_template *tmpl, struct jail_run **ret, struct warder_error *err);
int jail_recheck(struct jail_run *run, struct warder_error *err);
int jail_hand_out(struct jail_run *run, const struct jail_command *command, struct warder_error *err);
bool jail_died_unused(const struct jail_run *run);
/*
 * A program that is started before its work is known: jail_park() -> jail_warm() starts it, and returns when it has reported that it is ready
 * -> jail_warm_is_stale() -> jail_recheck() -> jail_feed() gives it its work, instead of jail_hand_out() -> jail_supervise().
 * The program writes to descriptor 3 a line with the path of each file that it has loaded, and then an empty line. It reads its work from
 * descriptor 4 until end of file, and does it once. If it also writes the line "prepares", jail_recheck() sends a byte before the work. From then on its standard streams are those of the command.
 *
 * jail_warm: argv as of struct jail_command; it must exist until the run is removed. `merged`: the program's outputs are one pipe. -1 with *err (EXECUTION_FAILED: the program ended, or was
 * not ready within 30 s): the run can only be removed.
 * jail_warm_is_stale: whether a file that the program has mapped or named was replaced or changed.
 * jail_warm_bytes: the private memory of the program, without that of the jail; 0: not known.
 * jail_feed: the command's files are put below /tmp; its variables are only counted in the receipt, because the work has to tell them to the
 * program. Wall time begins here, and CPU time with jail_recheck(). -1 with *err, also of a command with a terminal or progress (INVALID_REQUEST); the run can then
 * only be removed.
 */
int jail_warm(struct jail_run *run, char *const *argv, bool merged, struct warder_error *err);
bool jail_warm_is_stale(struct jail_run *run);
uint64_t jail_warm_bytes(const struct jail_run *run);
int jail_feed(struct jail_run *run, const struct jail_command *command, const char *work, size_t len,
	      struct warder_error *err);

/*
 * A zygote: a program in a jail of its own that has loaded what it needs, and forks. Each fork is a jail with namespaces, limits and cgroups
 * of its own, which is restricted and read back as any other; its program begins as a copy of the zygote's memory. The zygote has no
 * privilege: neither capabilities nor, on the host, an id that owns anything. Its plan is that of jail_plan_zygote().
 *
 *   jail_zygote_new()     starts the program of `argv` (as of jail_warm(), except that descriptor 4 is the socket of the orders, and descriptor
 *                         5 the shared object of jail/inside/forked.h, which it has to load), and waits until it is ready. A program with more than
 *                         one thread is refused (UNSUPPORTED_POLICY). The caller owns one reference. `done`, or NULL, is called once with
 *                         `context`, when nothing of the zygote is left, also if the call fails. Its other argument is the reason if something
 *                         could not be removed, else NULL.
 *   jail_fork()           as jail_park(), of a template of jail_plan_forked(). Then jail_warm() with the same argv: the fork reports
 *                         its files, too. The run holds a reference. Any thread.
 *   jail_zygote_is_stale  whether a file that it has loaded has changed, or it has died.
 *   jail_zygote_forks     how many jails it has forked; *ret_age_us: for how long it has been ready.
 *   jail_zygote_living    how many of these have not been removed; asked by the owner.
 *   jail_zygote_bytes     as jail_warm_bytes().
 *   jail_zygote_drop      gives a reference up: with the last, the zygote ends. NULL is fine.
 */
struct jail_zygote;
/* As many of its forks may live at once: they end together with it, and their accounts are parts of its own. */
#define JAIL_ZYGOTE_LIVING 100u
int jail_zygote_new(struct jail_template *tmpl, char *const *argv,
		    void (*done)(void *context, const struct warder_error *left), void *context,
		    struct jail_zygote **ret, struct warder_error *err);
int jail_fork(struct jail_template *tmpl, struct jail_zygote *zygote, struct jail_run **ret,
	      struct warder_error *err);
bool jail_zygote_is_stale(struct jail_zygote *zygote);
uint64_t jail_zygote_bytes(const struct jail_zygote *zygote);
unsigned int jail_zygote_forks(const struct jail_zygote *zygote, uint64_t *ret_age_us);
unsigned int jail_zygote_living(const struct jail_zygote *zygote);
void jail_zygote_drop(struct jail_zygote *zygote);

/* Fill *ret from a policy, which is the template's or differs from it only in these parts; `caller` as of jail_plan_build(). The caller frees
 * *ret_environment by jail_given_free(). *ret borrows it and the policy. -1 with *err: no memory. */
int jail_given_of(const struct jail_template *tmpl, const struct policy *policy, char *const *caller,
		  char ***ret_environment, struct jail_given *ret, struct warder_error *err);
void jail_given_free(char **environment);
/* The policy without these parts. Two policies that differ only in them are then equal. What it points to is borrowed. */
struct policy jail_given_without(const struct policy *policy);
/* Whether a launch of the same policy may show other files by now: rootfs_is_stale(). */
bool jail_template_is_stale(const struct jail_template *tmpl);

/* How often parked jails took a part of an ended one, and how often a part was not kept because it differed from a new one, by reason. */
#define JAIL_PARTS_REASONS 26
enum jail_part { JAIL_PART_NETWORK, JAIL_PART_CGROUP, JAIL_PARTS };
struct jail_parts_counts {
	_Atomic uint64_t reused[JAIL_PARTS], refused[JAIL_PARTS_REASONS];
	_Atomic uint64_t descriptors; /* that parts hold while they wait for a jail */
	atomic_bool failing, failed;  /* a cgroup could not be removed; `failed`: and `failure` says why */
	struct warder_error failure;
};
/* Let the parked jails of a reusable template use network namespaces and cgroups of earlier ones that cannot be told from new ones. All of
 * them must be of one tenant. Call it before the first launch. `counts` must outlive the template; the parts of all templates that share it hold at
 * most an eighth of the descriptors that this process may have. 0, also where the plan has no such part; -1 with
 * *err. */
int jail_template_reuse(struct jail_template *tmpl, struct jail_parts_counts *counts,
			struct warder_error *err);
/* Whether parts wait for a jail. */
bool jail_template_has_parts(struct jail_template *tmpl);
/* Give up the parts that wait for a jail, which may take a while. False: there is none. */
bool jail_template_drop_parts(struct jail_template *tmpl);
/* The name of a reason. */
const char *jail_parts_reason(size_t i);

/* ---- supervision ---- */

enum jail_cause {
	JAIL_CAUSE_EXIT,
	JAIL_CAUSE_SIGNAL,
	JAIL_CAUSE_WALL_TIME,
	JAIL_CAUSE_CPU_TIME,
	JAIL_CAUSE_MEMORY,
	JAIL_CAUSE_PIDS, /* this one and network only in `hit`: they refuse, and end nothing */
	JAIL_CAUSE_OUTPUT,
	JAIL_CAUSE_DISK,
	JAIL_CAUSE_SYSCALL,
	JAIL_CAUSE_NETWORK,
	JAIL_CAUSE_CANCELLED,
	JAIL_CAUSE_SUPERVISOR,
	JAIL_CAUSE_HOST,
	JAIL_CAUSE_COUNT,
};

const char *jail_cause_name(enum jail_cause cause);
/* The port of the host for row `row` of network.publish; 0: there is none. */
uint16_t jail_run_published(const struct jail_run *run, size_t row);
/* Replace network.allow and network.deny of a running jail with mode allow by those of a valid policy. Connections that the new rules do not
 * allow are reset and reported as refusals. *ret_since_us: since when the new ones hold, after 1970. The jail has sockets only for the ports of its first policy. A new name needs a port for which
 * that policy had an address block or a pattern. Credentials do not change. Neither does the receipt: it describes the first rules; the
 * outcome has the times of the replacements. Any thread, also while another is in jail_supervise(), as long as nobody removes the run. -1 with *err,
 * which names the row: the old rules stay; or the edge was ended, because it did not answer. */
int jail_run_replace_rules(struct jail_run *run, const struct policy *policy, uint64_t *ret_since_us,
			   struct warder_error *err);
/* Kill the edge: the jail has no network any more. Any thread, as above. */
void jail_run_end_network(struct jail_run *run);
/* Why the edge refused: a stable name, and a sentence without its end, which differs where network.mode was "learn". */
const char *jail_refusal_name(unsigned int reason);
const char *jail_refusal_text(unsigned int reason, bool learned);
/* "evil.test", "evil.test:443", "[2001:db8::1]:443". Returns buf. */
char *jail_refusal_destination(const struct edge_refusal *row, char *buf, size_t len);

struct jail_output {
	char *bytes; /* kept, at most the policy's limit; NUL-terminated after len; NULL with on_output */
	size_t len;
	uint64_t total; /* bytes that the program wrote */
	bool truncated; /* total > kept */
};

#define JAIL_PROGRESS_LINE 4096  /* most bytes of a line, without its newline */
#define JAIL_PROGRESS_RATE 10    /* lines a second */
#define JAIL_PROGRESS_KEPT 65536 /* most bytes of lines */

/* Lines of JSON that the program wrote to its descriptor 5. What is too long, comes too fast or is no JSON is dropped and counted. */
struct jail_progress {
	char lines[JAIL_PROGRESS_KEPT]; /* the newest, oldest first; a NUL after each */
	size_t len;
	uint64_t delivered; /* also those that are not among `lines` any more */
	uint64_t dropped;
	/* The rest is progress.c's. */
	char line[JAIL_PROGRESS_LINE + 1];
	size_t line_len;  /* one more than JAIL_PROGRESS_LINE: too long */
	unsigned allowed; /* lines that may come at counted_us */
	uint64_t counted_us;
	void (*on_line)(void *context, const char *line);
	void *context;
};

struct jail_outcome {
	enum jail_cause cause;
	int exit_code;              /* -1 when it did not exit by itself */
	int signal;                 /* 0 when it was not ended by a signal of its own */
	bool hit[JAIL_CAUSE_COUNT]; /* limits that were reached, also where they did not end the program */
	bool
	    file_size_hit; /* so was limits.fileSize: SIGXFSZ, or a failed program left a file of that size in its /tmp */
	bool sessions_limit; /* the one of memory was the session's, over all that runs in it */
	bool session_ended;  /* that is what ended the program, with JAIL_CAUSE_SUPERVISOR */
	struct jail_output
	    output[JAIL_STREAMS];       /* JAIL_RESULT: always kept, never passed on; JAIL_PROGRESS: empty */
	struct jail_progress *progress; /* heap; NULL: not asked for */
	struct rootfs_collection collected;
	struct edge_report *
	    network; /* heap: report of its edge, or of the session's edge during the execution; NULL: no edge */
	bool edge_died; /* before the end: from then on the jail had no network */
	struct jail_published {
		char address[16];
		uint16_t host_port, jail_port;
	} published[EDGE_PUBLISHED_MAX]; /* ports of the host that led to it */
	size_t published_count;
	uint64_t wall_us, user_us, system_us, cpu_us;
	uint64_t prepare_us, launch_us;
	uint64_t memory_peak_bytes; /* UINT64_MAX: the kernel does not tell */
	uint64_t pids_peak;         /* UINT64_MAX: the kernel does not tell */
	uint64_t passed[2];         /* bytes that output_fds took, by enum jail_stream */
	uint64_t dropped[2]; /* bytes that output_fds did not take in time, or because the caller cancelled */
	bool merged;         /* standard error went the way of standard output, and counts there */
	uint64_t spilled[2]; /* bytes that spill_fds took, by enum jail_stream */
	int spill_errno
	    [2]; /* of the write to spill_fds that failed, after which nothing more went there; or 0 */
	int receiver_errno; /* of the write to output_fds that failed, or 0 */
	bool left_behind;   /* with JAIL_CAUSE_HOST: it does not die, and `detail` names what stays */
	char detail[512];   /* one sentence: what ended it, on what evidence */
};

/* Drive the run to its end: returns when the program and everything it started is gone, the output is drained
 * and the cgroup removed; or when a jail that does not die is given up, 6 s after its end began (left_behind). To be called
 * once. 0, also when the program failed; -1 with *err if the run's end could not be cleaned up (something is left; the text says
 * what). */
int jail_supervise(struct jail_run *run, struct jail_outcome *ret, struct warder_error *err);

/*
 * The same for one thread with many runs and an event loop of its own (epoll, poll, libuv, ...). jail_supervise() is a loop of these.
 *
 *   jail_supervise_begin(run, &outcome, &err)      once
 *   fd = jail_supervise_fd(run, &err)              poll it for reading, level-triggered; the number stays the same until the end
 *   jail_supervise_step(run, 0)                    each time that it is readable; true: the run has ended
 *   jail_supervise_end(run, &err)                  once, then: the outcome is whole
 *   jail_run_free(run)                             closes fd: take it out of your loop before
 *   jail_outcome_done(&outcome)
 *
 * No step waits for the jail, for a reader of output_fds, or for the kernel: the grace of jail_stop(), a kill that waits for its turn
 * among others, a jail that does not die (6 s), the end of a container, and the removal of the cgroup are waited for by the descriptor. What
 * takes long by itself is done in a step: on_output and on_upper, writing spill_fds, and copying what `collect` names. jail_run_free()
 * of a run that has not ended kills it and waits; the first one of a template may take 50 ms to remove what dead supervisors left.
 *
 * Only one thread at a time may use a run. Other threads may call jail_cancel(), jail_stop(), jail_resize() and jail_input_ready(): these make the
 * descriptor readable. Different runs may be used by different threads.
 */

/* *outcome is zeroed; it is written by the steps, and has to stay where it is until the end. 0; -1 with *err: it has begun before. */
int jail_supervise_begin(struct jail_run *run, struct jail_outcome *outcome, struct warder_error *err);
/* The descriptor (of the run, close-on-exec), readable when a step is worth it. At any time between begin and end; a run that nobody asks
 * for one needs no more descriptors than before. -1 with *err: no descriptor left. */
int jail_supervise_fd(struct jail_run *run, struct warder_error *err);
/* Wait for at most most_us until there is something to do (0: do not wait; UINT64_MAX: as long as it takes), and do what is ready: of
 * each stream one chunk. True: the run has ended. False: call it again. */
bool jail_supervise_step(struct jail_run *run, uint64_t most_us);
/* After a step has returned true. What jail_supervise() returns. */
int jail_supervise_end(struct jail_run *run, struct warder_error *err);
void jail_outcome_done(struct jail_outcome *outcome);

/* Ask the run to end; any thread, any number of times; the outcome's cause will be `cancelled` if the program had not
 * ended before. Async-signal-safe. */
void jail_cancel(struct jail_run *run);
/* Send a signal to the program's process group, and end the run as jail_cancel() does if it has not ended `grace_us` later, or at the next
 * call. Any thread; async-signal-safe. Without effect before jail_supervise(), which sends it when it begins. */
void jail_stop(struct jail_run *run, int signal, uint64_t grace_us);
/* Send a signal to the program's process group, any number of times; nothing else happens. False: the program has ended. Any thread, while
 * the run is there. */
bool jail_signal(const struct jail_run *run, int signal);
/* What the run uses now; UINT64_MAX: not known. Any thread, while the run is there. */
struct jail_counters {
	uint64_t cpu_us, memory_bytes, memory_peak_bytes;
	uint64_t processes; /* of the program's, without the jail's init */
	uint64_t read_bytes,
	    written_bytes; /* from and to disks, of these processes and of those that they waited for */
};
void jail_count(const struct jail_run *run, struct jail_counters *ret);
/* Add `us` to the wall time of the jail of a session, and to its init's own limit. Any thread. */
void jail_extend(struct jail_run *run, uint64_t us);
/* The wall time stands still, or goes on; for who freezes and thaws the run's cgroup. One thread at a time, in turn. */
void jail_pause_clock(struct jail_run *run, bool paused);
/* With terminal_fd: its size has changed, and the program's terminal gets it. Any thread; async-signal-safe. */
void jail_resize(struct jail_run *run);
/* With on_input: call it again. Any thread; async-signal-safe. */
void jail_input_ready(struct jail_run *run);
/* True if the program has closed its input, or has got all of it. Then the run does nothing more with the source, and the caller may close
 * it. Only in the thread that supervises. */
bool jail_input_is_over(const struct jail_run *run);
/* Leave what the program writes in its pipes, so that the program waits when they are full; or read it again. What is there when the run
 * ends is read in any case. */
void jail_hold_output(struct jail_run *run, bool held);
/* Call on_copy() with each chunk of standard output and error that is read, whatever else becomes of it; before the supervision begins. */
void jail_copy_output(struct jail_run *run,
		      void (*on_copy)(void *context, enum jail_stream stream, const char *bytes, size_t len),
		      void *context);
/* Before jail_run_trim(). */
const struct policy_receipt *jail_run_receipt(const struct jail_run *run);
/* At any time, into a zeroed receipt. */
void jail_run_copy_receipt(const struct jail_run *run, struct policy_receipt *ret);
/* Free what only a launch needs, of the run and of its template; of a jail that has joined a session, once, after the launch. `like`: another
 * such run, whose receipt this one's may share rows with; or NULL. */
void jail_run_trim(struct jail_run *run, const struct jail_run *like);
/* The same, of a run whose host was given to jail_session_adopt(): it does not need that host any more. */
void jail_run_trim_host(struct jail_run *run);
/* The jail's /tmp: an O_PATH descriptor, the caller's; -1 with errno. */
int jail_run_open_scratch(const struct jail_run *run);
/* The host's pid of the program; 0 before the launch. */
int jail_run_program_pid(const struct jail_run *run);
/* Ends the run if it still lives. */
void jail_run_free(struct jail_run *run);
/* The same, and -1 with *err if something of it is left; run is gone in any case. A parked run is removed only here: jail_supervise()
 * returns when it is dead and its counters are read. */
int jail_run_remove(struct jail_run *run, struct warder_error *err);

/* Remove what dead supervisors left (cgroups, the id lease file). Returns the number of things removed. */
int jail_clean(const struct jail_host *host, bool dry_run);

#endif
