/*
 * run: one launched program. launch.c has the table of the steps that make it; streams.c, setup.c and go.c have some of these steps;
 * readback.c inspects it, supervise.c drives it, control.c is for other threads, and end.c kills it. Private to jail/.
 */
#ifndef WARDER_JAIL_RUN_H
#define WARDER_JAIL_RUN_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/hang.h"
#include "jail/affinity.h"
#include "jail/edge.h"
#include "jail/identity.h"
#include "jail/input.h"
#include "jail/inside/wire.h"
#include "jail/jail.h"
#include "jail/loaded.h"
#include "jail/pass.h"
#include "jail/spawn.h"
#include "jail/supervision.h"
#include "jail/template.h"
#include "jail/terminal.h"

#define JAIL_TREES_MAX (JAIL_OWNED_MOUNTS_MAX + IMAGE_LAYERS_MAX + 1)

enum { RUN_READ, RUN_WRITE };

/* Of a parked jail whose program was started in advance: warm.c. */
struct warm {
	bool is;
	bool prepares; /* it waits for a byte before its work, and has not got it yet */
	bool prepared; /* it has got it */
	int work_fd;   /* that the program reads its work from: our end, until it is fed; owned */
	struct loaded loaded;
};

struct jail_zygote;

struct jail_run {
	struct jail_template *tmpl; /* not owned */
	struct jail_command command;
	struct jail_given given; /* the plan's, or the command's */
	struct identity identity;
	struct network *network; /* until the spawn; NULL: none of its own, or by clone3 */
	struct cgroup cgroup;
	struct affinity affinity;
	struct run_edge edge;
	/* Held while the edge takes other rules, and while its descriptors are closed. */
	pthread_mutex_t edge_lock;
	int network_fd; /* the namespace, until the spawn */
	/* JAIL_TREES_MAX descriptors, until the spawn: mounts to attach, then layers of overlays. Owned; NULL: none. */
	int *trees;
	int tree_count;
	int layer_count; /* of these */
	bool unmapped;   /* an image's layers show their own ids */
	const char *path_owners,
	    *workspace_owners; /* what the receipt says of those that are read-only, or "" */
	int upper_fds
	    [ROOTFS_OVERLAYS_MAX]; /* O_PATH of each overlay's directory in the scratch tmpfs: it has "upper", "work" */
	size_t upper_count;
	int stdin_pipe[2]; /* our end is RUN_WRITE */
	struct input input;
	int output_pipe[JAIL_STREAMS][2]; /* by enum jail_stream; our end is RUN_READ */
	struct pass pass[2];              /* with output_fds, by enum jail_stream */
	bool merged;                      /* standard error goes the way of standard output */
	int control[2];                   /* [0] ours, [1] init's */
	int exec[2];                      /* [0] ours, [1] the payload's */
	int block_fd;
	struct terminal terminal;  /* where the program's streams are one */
	int backstop_fd;           /* backstop.h; init has it, too */
	uint64_t backstop_left_us; /* while the run is paused */
	int cancel_fd;             /* eventfd: one of the next four was set */
	atomic_bool cancelled;     /* by jail_cancel(), or a second jail_stop() */
	atomic_int stop_signal;
	_Atomic uint64_t stop_grace_us;
	atomic_bool resized;     /* the caller's terminal */
	atomic_bool input_ready; /* jail_input_ready() */
	atomic_bool output_held; /* jail_hold_output() */
	void (*on_copy)(void *context, enum jail_stream stream, const char *bytes,
			size_t len); /* jail_copy_output(); or NULL */
	void *copy_context;
	_Atomic uint64_t paused_at_us,
	    paused_us; /* jail_pause_clock(): since when (0: it is not paused), and how long before */
	_Atomic uint64_t extend_us; /* jail_extend(): what the supervision has not added yet */
	int init_pid, init_fd;
	int mount_ns_fd; /* the jail's, so that its end is not init's to wait for; -1 where init builds its root itself */
	struct clone_helper leaver;
	struct part part;   /* of a parked jail, for a later one: its network namespace; or empty */
	bool network_again; /* an earlier jail had the network namespace */
	int program_pid;
	uint64_t applied;      /* of the READY message */
	int proc_fd;           /* /proc/<payload>, during the read-back, which opens it unless it is open */
	int scratch_fd;        /* O_PATH of the jail's /tmp, to see whether it is full at the end */
	bool scratch_was_full; /* before the program started: in a session, another execution filled it */
	int snmp_fd;           /* /proc/<init>/net/snmp, for refused packets */
	uint64_t start_us;     /* of the launch */
	uint64_t go_us;        /* clock at the payload's exec */
	uint64_t launch_us;
	bool reaped;
	bool supervised;
	int join_fd;          /* of the v2 leaf, where a starter starts init, until the spawn */
	void *started;        /* the starter's, or NULL */
	int64_t clock_offset; /* of a time namespace of its own, seconds */
	bool parked;          /* it waited, or waits, for its program: jail_park() */
	uint64_t parked_us;   /* clock when it was ready */
	bool died_unused;     /* a parked jail: jail_died_unused() */
	struct warm warm;
	struct jail_zygote *zygote; /* a reference: of a jail that it has forked; or NULL */
	bool kept;                  /* the program has ended, and what it left running is to stay */
	uint64_t
	    give_up_us; /* clock at which a jail that does not die is left behind; 0: it is not to die yet */
	bool stuck;     /* it did not die by then */
	bool counted;   /* among the jails of this process: see ends.h */
	bool crowded;   /* with many others: init waits to be killed at its program's end */
	bool had_turn;  /* to be killed, from turn_us on */
	uint64_t turn_us;
	bool init_died; /* it is reaped after the processes that it left */
	/* What the end of the run waits for: until wait.fd is readable (-1: nothing) or the clock is at wait.at_us. */
	struct {
		int fd;
		uint64_t at_us;
	} wait;
	size_t undone;                        /* steps of the launch that run_release_step() has undone */
	bool lingers;                         /* one of them could not be */
	bool leaver_hangs;                    /* and uses what is in here: the run is never freed */
	char left[512];                       /* stuck: a sentence that names what stays behind */
	struct policy_receipt *receipt;       /* owned; NULL: it is packed */
	struct policy_receipt_packed *packed; /* owned; or NULL */
	struct supervision supervision;
};

/* Without any restriction; with those that a starter's container makes. */
static inline bool run_is_bare(const struct jail_run *run)
{
	return run->tmpl->plan.starter && run->tmpl->plan.starter->bare;
}

static inline bool run_is_contained(const struct jail_run *run)
{
	return run->tmpl->plan.starter && !run->tmpl->plan.starter->bare;
}

static inline const char *run_working_directory(const struct jail_run *run)
{
	return run->command.working_directory ? run->command.working_directory
					      : run->tmpl->plan.rootfs.working_directory;
}

/* In a session that was there before. */
static inline bool run_is_joined(const struct jail_run *run)
{
	return run->tmpl->plan.joint != NULL;
}

/* After the set-up: whether its kernel counts everything of accounts.h per user namespace. */
static inline bool run_counts_all(const struct jail_run *run)
{
	return run->applied & (1ull << WIRE_STEP_NESTING);
}

/* ---- readback.c ---- */

/*
 * The receipt, in the order of a launch; the first three end it with -1 and *err at the first thing that is not as planned.
 * readback_limits: what can be read while the jail is still being set up: the limits of its cgroups, and swap.
 * readback_setup: what the payload was born into, while it restricts itself: namespaces, mounts, network, membership of cgroups.
 * readback_check: everything else that the waiting payload shows; the gate before the program.
 * readback_rest: what is only told; nothing hangs on it, so that the program need not wait for it.
 */
int readback_limits(struct jail_run *run, struct warder_error *err);
int readback_setup(struct jail_run *run, struct warder_error *err);
int readback_check(struct jail_run *run, struct warder_error *err);
void readback_rest(struct jail_run *run);
/* Of a parked jail that is to get its program: it lives, and what can have changed has not. -1 with *err. */
int readback_again(struct jail_run *run, struct warder_error *err);
/* Its program may prepare itself for its work, while the rest is read: warm.c. Nothing hangs on it. */
void run_begin_preparation(struct jail_run *run);
/* After the end of a bare jail whose init was killed before it had killed what the program started: the wall time did not hold. */
void readback_lost_init(struct jail_run *run);

/* ---- launch.c ---- */

/* Launch, up to the exec, or `parked`, up to where the payload waits without a program. -1 with *err; nothing is left. */
int run_begin(struct jail_template *tmpl, const struct jail_command *command, bool parked,
	      struct jail_run **ret, struct warder_error *err);
/* The rest of a parked run's launch: its files, then the word to go. -1 with *err. */
int run_start_program(struct jail_run *run, struct warder_error *err);
/* The program and the receipt have these values now: forget the pointers that the command lent. */
void run_let_go_of_given(struct jail_run *run);
/* 0; -1 with *err if the command names no program. */
int run_check_command(const struct jail_command *command, struct warder_error *err);
/* Close and give back everything. 0; RUN_WAITS, to be called again with the same *err; -1 with *err if something stays on the host. Safe
 * again after its end. */
int run_release_step(struct jail_run *run, struct warder_error *err);

/* ---- streams.c ---- */

/* The step: make pipes and sockets. -1 with *err. */
int run_step_streams(struct jail_run *run, struct warder_error *err);
/* Safe also if only some were made. Returns 0. */
int run_undo_streams(struct jail_run *run, struct warder_error *err);
/* Begin to feed the command's input into stdin_pipe. 0; 1: it has none; -1 with errno. */
int run_open_input(struct jail_run *run);
/* Make the program's pipes, by run->command. -1 with *err. */
int run_open_streams(struct jail_run *run, struct warder_error *err);
/* The part of it that the caller's descriptors are for. -1 with *err. */
int run_open_passes(struct jail_run *run, struct warder_error *err);
/* The program's time begins: init's own limit of it. -1 with *err. */
int run_begin_backstop(const struct jail_run *run, struct warder_error *err);
/* The jail has them. */
void run_close_programs_ends(struct jail_run *run);

/* ---- setup.c ---- */

#define SETUP_TIMEOUT_MS 30000
#define SETUP_LOOK_MS    100

/* The step: wait until the payload has restricted itself, and read back what does not change any more. -1 with *err. */
int run_step_setup(struct jail_run *run, struct warder_error *err);
/* Returns 0. */
int run_undo_setup(struct jail_run *run, struct warder_error *err);
/* One message from init or the payload, without waiting. The sender's pid, as the kernel translates it, is the payload's; a descriptor
 * comes with WIRE_UPPER and WIRE_TERMINAL. 1 with *message; 0: the other end is closed; -1 with errno. */
int run_receive(int socket_fd, struct wire_message *message, int *ret_pid, int *ret_fd);
/* To be called every SETUP_LOOK_MS of a wait. -1 with *err: nobody should wait any longer, `when`. */
int run_look_at_setup(struct jail_run *run, struct hang hangs[2], uint64_t deadline, const char *when,
		      struct warder_error *err);
/* -1 with *err: the jail is dead, `when`. */
int run_died(const char *when, struct warder_error *err);
/* The same of a jail that died before its program began: jail_died_unused(). */
int run_died_unused(struct jail_run *run, const char *when, struct warder_error *err);

/* ---- warm.c ---- */

#define RUN_WARM_RESULT 4096
/* Start the command's program in a parked jail, and wait until it has reported the files that it has loaded. -1 with *err. */
int run_warm(struct jail_run *run, const struct jail_command *command, struct warder_error *err);

/* ---- zygote.c ---- */

/* Have the run's zygote fork an init with these descriptors and namespaces. -1 with *err; what was forked dies with its socket. */
int zygote_start(struct jail_run *run, const struct spawn *spawn, int *ret_pid, int *ret_pidfd,
		 struct warder_error *err);
/* Whether the jail's user is another one on the host than the caller: as root. Then *ret_uid and *ret_gid are it, and otherwise untouched. */
bool run_has_own_ids(const struct jail_run *run, uid_t *ret_uid, gid_t *ret_gid);
/* Returns it; NULL is fine. */
struct jail_zygote *zygote_hold(struct jail_zygote *zygote);
/* Seconds that are added to the clocks of the zygote and of all that it forks. */
int64_t zygote_clock_offset(const struct jail_zygote *zygote);
/* A fork: its namespaces are not the zygote's, except the time namespace, and its user namespace is one of the zygote's. A row of the receipt
 * says what it shares. -1 with *err. */
int zygote_check_namespaces(struct jail_run *run, struct warder_error *err);

/* ---- go.c ---- */

/* The step: give the word to go, and wait for the exec. -1 with *err. */
int run_step_go(struct jail_run *run, struct warder_error *err);
/* Put the command's files below /tmp. -1 with *err. */
int run_put_files(struct jail_run *run, struct warder_error *err);
/* Whether nothing more fits into the jail's own /tmp; false if it has none. */
bool run_scratch_is_full(const struct jail_run *run);

/* ---- control.c ---- */

/* What a cgroup has counted; `processes` are all of its processes. Any thread. */
void run_counters(const struct cgroup *cgroup, struct jail_counters *ret);

/* ---- end.c ---- */

/* The steps of an end do not wait: RUN_WAITS says that a step is to be called again when run->wait is over. */
#define RUN_WAITS 1
static inline int run_wait_for(struct jail_run *run, int fd, uint64_t at_us)
{
	run->wait.fd = fd;
	run->wait.at_us = at_us;
	return RUN_WAITS;
}

/* Whether this jail may be killed now. The first call takes its turn among all jails of the process; false before run->turn_us.
 * Before run_begin_end(). */
bool run_has_turn(struct jail_run *run);
/* The jail is to be gone from now on: the time begins after which it is given up. Only the first call counts. */
void run_begin_end(struct jail_run *run, uint64_t patience_us);
/* Kill whatever lives of the run; does not wait. */
void run_signal(struct jail_run *run);
/* Kill whatever lives of the run. 0: its init is gone; RUN_WAITS; -1 with run->left if it has not died when it is given up
 * (RUN_PATIENCE_US after the first call, or after run_begin_end()). */
int run_kill(struct jail_run *run);
#define RUN_PATIENCE_US 6000000
#define RUN_PATIENCE_UNDO_US                                                                                 \
	4000000 /* for a launch that is given up: a step of it may have waited for a hang already */
#define RUN_PATIENCE_HUNG_US 2000000 /* for a jail that was seen to hang before it was killed */
/* Everybody in the jail is dead: a helper gives its mount namespace up if that takes the kernel a while; the release waits for it. */
void run_leave_root(struct jail_run *run);
/* After run_kill(): take away what the backend made around the jail. If that does not die, run->stuck and run->left say so. 0, or
 * RUN_WAITS. */
int run_stop_starter(struct jail_run *run);

#endif
