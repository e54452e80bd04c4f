/*
 * wire: what passes between the host side and the inside of a jail.
 *
 * One block per launch, in a memfd that init maps privately: a header, then rows and strings, referred to by offsets
 * from the block's start (0: absent). And small fixed-size messages over two SOCK_SEQPACKET pairs, one to
 * init and one to the payload. End of file on either means "the peer died", except after WIRE_ENTERING, where it means
 * that the exec succeeded.
 */
#ifndef WARDER_JAIL_INSIDE_WIRE_H
#define WARDER_JAIL_INSIDE_WIRE_H

#include <linux/filter.h>
#include <stdint.h>

#define WIRE_MAGIC 0x31445257u

/* Descriptors as init finds them. */
enum wire_fd {
	WIRE_FD_STDIN,
	WIRE_FD_STDOUT,
	WIRE_FD_STDERR,
	WIRE_FD_RESULT, /* the three that a program may be given besides */
	WIRE_FD_INPUT,
	WIRE_FD_PROGRESS,
	WIRE_FD_CONTROL,    /* init's socket */
	WIRE_FD_EXEC,       /* the payload's socket */
	WIRE_FD_BLOCK,      /* this block */
	WIRE_FD_SUPERVISOR, /* pidfd of the supervising process */
	WIRE_FD_BACKSTOP,   /* timer: when it expires, init ends the jail by itself */
	WIRE_FD_MOUNT_NS,   /* prepared mount namespace (privileged launches) */
	WIRE_FD_USER_NS,    /* prepared user namespace (privileged launches) */
	WIRE_FD_NET_NS,     /* prepared network namespace (privileged launches with one of their own) */
	WIRE_FD_FIRST, /* from here: mounts to attach, layers of overlays, cgroup files to join, WIRE_BUILDING's, WIRE_EDGE's */
	WIRE_FD_IMAGE = WIRE_FD_MOUNT_NS, /* init's program, where an OCI runtime executes it */
};

/* Where init fetches its descriptors, by number from 0 on, in one message, if it was started without. */
#define WIRE_DOOR "/door"

/* Where the tmpfs of everything that the program may write lies, while the root is set up. */
#define WIRE_SCRATCH "/dev/shm"
/* The directory in it of the files that cover names of /proc at every launch; and that of those which are the root's. */
#define WIRE_LAUNCH_PROC WIRE_SCRATCH "/proc"
#define WIRE_ROOT_PROC   "/dev/proc"
/* And an overlay that is to become the root. */
#define WIRE_WHOLE "/whole"

/* Steps inside, in order. X(id, name) */
#define WIRE_STEPS(X)                                                                                        \
	X(NONE, "")                                                                                          \
	X(SHIM, "start-init")                                                                                \
	X(BLOCK, "read-plan")                                                                                \
	X(SESSION, "session")                                                                                \
	X(CGROUP, "join-cgroup")                                                                             \
	X(CLOCK, "time-namespace")                                                                           \
	X(OOM, "oom-score")                                                                                  \
	X(ROOT, "root")                                                                                      \
	X(SCRATCH, "scratch")                                                                                \
	X(OVERLAYS, "overlays")                                                                              \
	X(PROC, "proc")                                                                                      \
	X(SHM, "shm")                                                                                        \
	X(ATTACH, "attach-mounts")                                                                           \
	X(PTS, "pts")                                                                                        \
	X(DETACH, "detach-old-root")                                                                         \
	X(WHOLE, "whole-root")                                                                               \
	X(NETWORK, "network")                                                                                \
	X(HOSTNAME, "hostname")                                                                              \
	X(CGROUP_NS, "cgroup-namespace")                                                                     \
	X(USER, "user-namespace")                                                                            \
	X(NESTING, "no-nesting")                                                                             \
	X(BOUNDING, "bounding-set")                                                                          \
	X(FORK, "fork")                                                                                      \
	X(INIT_DROP, "init-drop")                                                                            \
	X(STDIO, "descriptors")                                                                              \
	X(RLIMITS, "rlimits")                                                                                \
	X(AFFINITY, "affinity")                                                                              \
	X(IDENTITY, "ids")                                                                                   \
	X(CWD, "working-directory")                                                                          \
	X(PRIVILEGES, "privileges")                                                                          \
	X(TERMINAL, "terminal")                                                                              \
	X(SPECULATION, "speculation")                                                                        \
	X(LANDLOCK, "landlock")                                                                              \
	X(SECCOMP, "seccomp")                                                                                \
	X(READY, "ready")                                                                                    \
	X(EXEC, "exec")                                                                                      \
	X(JOIN, "join-session") /* these two early, of a launch into a session alone */                      \
	X(ENTER, "enter-session")

enum wire_step {
#define X(id, name) WIRE_STEP_##id,
	WIRE_STEPS(X)
#undef X
	    WIRE_STEP_COUNT,
};

#define WIRE_DIES 0x10000u

enum wire_type {
	WIRE_FAILED,   /* init or payload -> host: step, error, detail */
	WIRE_BORN,     /* payload -> host: namespaces, mounts and cgroups are what they will be */
	WIRE_READY,    /* payload -> host: everything is applied, nothing untrusted ran */
	WIRE_GO,       /* host -> payload; WIRE_PARKED: as struct wire_go */
	WIRE_ENTERING, /* payload -> host: the next thing is the exec */
	WIRE_NO_EXEC,  /* payload -> host: error of the exec */
	WIRE_ENDED,    /* init -> host: how the payload ended */
	WIRE_BACKSTOP, /* init -> host: its own deadline is over; it exits */
	WIRE_EMPTIED,  /* init of a bare jail -> host: nothing that the program started is left */
	WIRE_UPPER,    /* init -> host: with the descriptor of an overlay's directory; before WIRE_BORN */
	WIRE_TERMINAL, /* payload -> host: with the master of its terminal; between WIRE_BORN and WIRE_READY */
	WIRE_JOINED, /* helper -> host: with the pidfd of an init in a session; before anything of that init's but
		      * WIRE_ENDED */
};

struct wire_message {
	uint32_t type;
	uint32_t step;
	int32_t error;       /* positive errno */
	int32_t wait_status; /* WIRE_ENDED, as of wait4(2) */
	uint64_t user_us, system_us;
	uint64_t end_us;  /* WIRE_ENDED, WIRE_BACKSTOP: CLOCK_MONOTONIC of the host */
	uint64_t applied; /* WIRE_READY: bits 1 << step of optional layers that are on */
	char detail[64];
};

/* WIRE_GO of a parked jail: this struct, followed by its strings. Offsets are from its start. With it come the descriptors that the
 * program begins with. */
struct wire_go {
	struct wire_message message;
	uint32_t size; /* of the whole message */
	uint32_t
	    fds; /* bit 1 << number for each descriptor, in ascending order; numbers up to WIRE_FD_PROGRESS */
	uint32_t argv, envp;  /* as in the block */
	uint32_t search_path; /* as in the block */
};
#define WIRE_GO_BYTES (96 * 1024) /* of the message: what a socket takes at once */
#define WIRE_GO_FDS   6

/*
 * The order for a zygote to fork, over its descriptor WIRE_FD_INPUT: this struct, with the descriptors of the new init in the order of enum
 * wire_fd. It answers with the pidfd of that init and one byte, or with an errno alone. The init then waits at its WIRE_FD_CONTROL for
 * WIRE_GO: its ids have been mapped.
 */
struct wire_fork {
	uint64_t namespaces; /* CLONE_NEW* */
};
#define WIRE_FORK_FDS_MAX 32

enum wire_kind {
	WIRE_DIRECTORY,
	WIRE_SYMLINK,
	WIRE_FILE,
	WIRE_BIND,
	WIRE_OVERLAY, /* a part of an overlay: always late */
};

enum {
	WIRE_ENTRY_READ_ONLY = 1,
	WIRE_ENTRY_NO_EXEC = 2,
	WIRE_ENTRY_IS_DIRECTORY = 4,
	WIRE_ENTRY_CREATE = 8, /* the mount point is made in the root's own tmpfs */
	WIRE_ENTRY_MAKE = 32,  /* the mount point is made in the overlay around it, if it is not there */
	WIRE_ENTRY_LATE =
	    16, /* attached at every launch, when the overlays are there, not when the root is built */
};

struct wire_entry {
	uint32_t kind;
	uint32_t flags;
	uint32_t target; /* string: absolute path inside */
	/* string: host path, where the builder opens it itself (ordinary user, old mounts); of a part of an overlay: the path in
	 * it, "" or "/" and one name */
	uint32_t source;
	uint32_t text; /* string: link target or file content */
	uint32_t text_len;
	int32_t fd;        /* detached mount tree in the builder's descriptor table, or -1 */
	uint32_t overlay;  /* of a part: which */
	uint64_t dev, ino; /* what the source must be */
};

struct wire_layer {
	uint32_t source;      /* string: host path */
	uint32_t mount_point; /* string: where it is attached for the moment */
	int32_t fd;           /* as of an entry; -1: handed to the launch */
	uint32_t pad;
	uint64_t dev, ino;
};

struct wire_overlay {
	uint32_t layers, layer_count;    /* lowest first */
	uint32_t directory, upper, work; /* strings: absolute paths inside, the last two below the first */
	uint32_t options;                /* string: for mount(2) */
};

enum {
	WIRE_COVER_LAUNCH = 1,    /* the source is written at every launch, not when the root is built */
	WIRE_COVER_DIRECTORY = 2, /* the source is made, as a directory */
	WIRE_COVER_PART = 4,      /* nothing is mounted: the source lies in that of the one before */
};

/* A name of /proc that something else is mounted over, if the kernel has it. */
struct wire_cover {
	uint32_t target, source; /* strings: absolute paths inside */
	uint32_t text, text_len; /* what is written to the source; 0: it is there */
	uint32_t flags;
};

struct wire_rlimit {
	uint32_t resource;
	uint32_t pad;
	uint64_t value;
};

enum {
	WIRE_PRIVILEGED = 1, /* namespaces are prepared by root; otherwise init builds the root itself */
	WIRE_REUSABLE = 2,   /* the prepared mount namespace is copied, not entered */
	WIRE_LOOPBACK_UP = 4,
	WIRE_TMP_EXEC = 8,
	WIRE_SPECULATION = 16,
	WIRE_FRESH_USER_NS = 32, /* what the user namespace may use up is still to be limited */
	WIRE_TIME_NS = 64,
	WIRE_CGROUP_NS = 128,
	WIRE_OWN_NETWORK = 256,
	WIRE_RESULT =
	    512, /* of these and WIRE_PROGRESS the numbers are always taken, so that nothing of init's gets them */
	WIRE_INPUT = 1024,
	WIRE_OLD_MOUNTS = 2048,   /* by mount(2): the kernel, or a filter, has no detached mounts */
	WIRE_WHOLE_ROOT = 4096,   /* an overlay becomes the root, in the place of the tmpfs that was built */
	WIRE_CONTAINED = 8192,    /* an OCI runtime has made namespaces, root and identity */
	WIRE_BARE = 16384,        /* nothing is restricted; init is no process 1 */
	WIRE_HOLDS = 32768,       /* the payload waits for the jail's end in the place of its exec */
	WIRE_JOINS = 65536,       /* into a session that is there */
	WIRE_BACKGROUND = 131072, /* init stays as long as what the payload left running */
	WIRE_BUILDING =
	    262144, /* the prepared root may not be finished: a descriptor tells, by becoming readable */
	WIRE_SETPCAP = 524288, /* who made the container left init that one capability */
	WIRE_CROWDED =
	    1048576, /* the supervisor has many jails: when it dies, this one stops at once, and ends a little later */
	WIRE_ON_TERMINAL = 2097152, /* the payload's streams are a new terminal of its /dev/pts */
	WIRE_EDGE =
	    4194304, /* a process outside connects for the jail: it is handed the sockets that listen */
	WIRE_PARKED = 8388608, /* what is the program's alone comes with WIRE_GO, perhaps much later */
	WIRE_PROGRESS = 16777216,
	WIRE_LEAF = 33554432, /* with WIRE_JOINS: init is born in a leaf of cgroup v2 */
	WIRE_JOINS_FOLLOW =
	    67108864, /* the cgroup files to join come over init's socket, in one message of one byte */
	WIRE_ZYGOTE = 134217728, /* the payload makes jails: its /proc is whole, and it may make namespaces */
	WIRE_FORKED = 268435456, /* init and payload are forks of a zygote, and execute no program */
	WIRE_FLAGS_ALL = 536870911,
};

/*
 * The exit status of a crowded init that its supervisor's death ended: WIRE_EXIT_APART, plus the tenths of a second that it paused, plus
 * WIRE_EXIT_STOPPED if the kernel reported by then that a child was stopped. It is for whoever reaps init in the supervisor's place.
 */
enum {
	WIRE_EXIT_APART = 100,
	WIRE_EXIT_STOPPED = 10,
};

_Static_assert(WIRE_PRIVILEGED + WIRE_REUSABLE + WIRE_LOOPBACK_UP + WIRE_TMP_EXEC + WIRE_SPECULATION +
		       WIRE_FRESH_USER_NS + WIRE_TIME_NS + WIRE_CGROUP_NS + WIRE_OWN_NETWORK + WIRE_RESULT +
		       WIRE_INPUT + WIRE_OLD_MOUNTS + WIRE_WHOLE_ROOT + WIRE_CONTAINED + WIRE_BARE +
		       WIRE_HOLDS + WIRE_JOINS + WIRE_BACKGROUND + WIRE_BUILDING + WIRE_SETPCAP +
		       WIRE_CROWDED + WIRE_ON_TERMINAL + WIRE_EDGE + WIRE_PARKED + WIRE_PROGRESS + WIRE_LEAF +
		       WIRE_JOINS_FOLLOW + WIRE_ZYGOTE + WIRE_FORKED ==
		   WIRE_FLAGS_ALL,
	       "no two flags share a bit");

struct wire_block {
	uint32_t magic;
	uint32_t size;
	uint32_t flags;
	uint32_t uid, gid; /* of the payload, inside */
	uint32_t entries, entry_count;
	uint32_t overlays, overlay_count;
	uint32_t covers, cover_count;
	uint32_t attach_count; /* descriptors from WIRE_FD_FIRST on, for the late entries in order */
	uint32_t layer_count;  /* then for the layers of the overlays in order */
	uint32_t join_count;   /* then this many cgroup.procs files; then WIRE_BUILDING's, then WIRE_EDGE's */
	uint32_t listeners, listener_count; /* struct edge_listener rows */
	uint32_t named;        /* WIRE_EDGE: 0: nothing leaves the jail, and there are no listeners */
	uint32_t inward_count; /* WIRE_EDGE: sockets for connections to published ports */
	uint32_t rlimits, rlimit_count;
	uint32_t filter, filter_count; /* struct sock_filter rows */
	uint32_t argv;                 /* uint64_t offsets, 0-terminated; turned into pointers by init */
	uint32_t envp;
	uint32_t affinity, affinity_len; /* mask for the payload; length 0: none */
	uint32_t search_path;            /* value of PATH inside */
	uint32_t hostname, hostname_len;
	uint32_t working_directory;
	uint32_t scratch; /* of a bare jail: the host's directory that init removes without its supervisor */
	uint32_t scratch_options;          /* tmpfs options of /tmp and /dev/shm together */
	uint32_t pts_options;              /* devpts options of /dev/pts; 0: no terminals */
	uint32_t writable, writable_count; /* uint32_t string offsets: trees that Landlock lets be written */
	uint32_t landlock_abi;
	uint32_t
	    fail_step; /* test hook: enum wire_step that reports EIO after it ran; with WIRE_DIES: whose process ends */
	int64_t clock_offset; /* seconds added to the monotonic and boot clocks inside */
	uint64_t namespaces;  /* CLONE_NEW* of the session that is joined, or that a starter makes */
};

#define WIRE_AT(block, offset, type) ((type *)(void *)((char *)(block) + (offset)))

#endif
