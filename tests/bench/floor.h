/*
 * floor: a jail of the default policy, made by as few system calls as the kernel allows. Private to tests/bench/.
 *
 *   floor.c      the options, the preparations for all launches, and the two services
 *   inside.c     what the child does: root, identity, layers, exec
 *   launches.c   what the parent does: one launch, step by step
 *   leaves.c     control groups
 *
 * Life of a launch: launch_begin() -> launch_await() if the program waits for its word -> launch_again(), launch_go() -> launch_wait() ->
 * launch_end(). Any thread.
 */
#ifndef WARDER_TESTS_BENCH_FLOOR_H
#define WARDER_TESTS_BENCH_FLOOR_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "jail/cgroup/clone.h"
#include "tests/bench/leaves.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif
#define HOST_ID    0x60010000u /* below every id that a jail leases */
#define INSIDE_ID  1000u
#define EXTRA_MAX  8
#define AGAIN_MAX  16
#define WORD_FD    3 /* of a child that waits for its word */
#define WORDS_SIZE 4096

struct source {
	const char *source;
	bool is_file;
};

struct floor {
	char *const *argv;
	struct groups groups;
	struct leaves kept;             /* with `same_leaves` */
	struct source extra[EXTRA_MAX]; /* seen inside under the same name */
	size_t extra_count;
	/* What is done: see the options in floor.c. */
	bool prepared, with_init, users, covers, pipes, read_back, parked, again, same_leaves, same_network,
	    session, own;
	int mount_ns_fd, user_ns_fd, net_ns_fd, ipc_ns_fd, uts_ns_fd; /* or -1 */
	char clocks[96], id_map[48];
};

/* Shared with the parent. */
struct child {
	const struct floor *floor;
	const char *what; /* the call that failed */
	long error;
	int ns_fds[4]; /* of prepare: mnt, net, ipc, uts */
	const struct leaves *leaves;
	int word_fd; /* or -1 */
	int output_fds[2];
	void *program_stack; /* with `with_init` */
};

/* Where the parent is told what failed. Only system calls: the memory is the parent's. */
_Noreturn void inside_failed(struct child *child, const char *what, long error);
long inside_check(struct child *child, const char *what, long ret);
void inside_write(struct child *child, int dir_fd, const char *name, const char *text);
void inside_build_root(struct child *child);
/* /proc, its covers, and what can be written to. */
void inside_mount_own(struct child *child);
/* All of a child of launch_begin(). `arg` is a struct child. */
void inside_main(void *arg);

/* A launch, or a parked jail. */
struct launch {
	const struct floor *floor;
	struct child child;
	struct leaves own_leaves;
	long pid;    /* of the first process */
	int word_fd; /* ours, or -1 */
	pid_t program_pid;
	int output_fds[2]; /* ours, or -1 */
	int proc_fd, snmp_fd;
	int again_fds[AGAIN_MAX];
	size_t again_count;
	char stacks[2][CLONE_STACK_BYTES] __attribute__((aligned(16)));
};

/* -1: it failed, and said why on standard error; launch_wait() and launch_end() are called in any case. */
int launch_begin(struct floor *floor, struct launch *ret);
/* Until the program waits for its word: all is in force. */
int launch_await(struct launch *launch);
/* Read what the receipt shows of a new jail. */
int launch_read_back(struct launch *launch);
/* Open the files that can have changed while the jail was parked; and read them. */
int launch_open_again(struct launch *launch);
int launch_again(struct launch *launch);
/* The word: the program's arguments, and three streams or NULL. */
int launch_go(struct launch *launch, const char *words, size_t len, const int *streams);
/* Until all processes have ended; one that waits for its word gets none. Returns the program's exit status, or -1. */
int launch_wait(struct launch *launch);
/* Read the counters, and remove what is left. 0, or -1. */
int launch_end(struct launch *launch);
/* The arguments as one text, each with its NUL. Returns its length. */
size_t launch_words(char *const *argv, char ret[WORDS_SIZE]);

#endif
