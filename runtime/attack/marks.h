/*
 * marks: objects on the host that the attempts look for. The command in runtime/cli uses them.
 *
 * Life: attack_marks_make() -> jails are attacked, with the marks as arguments of the attempts ->
 * attack_marks_remove().
 * All of it is harmless to others: a directory below /tmp, a process that sleeps, two listening sockets of
 * which one is local and one on 127.0.0.1, a System V segment that is already marked for removal, two
 * descriptors, a variable of the environment. The processes end with the driver, however it ends: by a signal
 * of the kernel, or because their input ends. The directory of one that was killed is removed by the next
 * attack.
 */
#ifndef WARDER_RUNTIME_ATTACK_MARKS_H
#define WARDER_RUNTIME_ATTACK_MARKS_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "jail/jail.h"

#define ATTACK_ARGUMENTS_MAX 40

struct attack_neighbour {
	pid_t pid;          /* its supervisor, or itself outside; 0: there is none */
	int input_fd;       /* owned; -1. Closing it ends the neighbour */
	char facts[6][128]; /* "neighbour-port=..." and so on */
};

struct attack_marks {
	char dir[128]; /* "" before it is made */
	char token
	    [104]; /* an argument of every process that belongs to the attack; names this process and its start */
	char home[160];
	pid_t sleeper;
	int lock_fd; /* of the directory, held as long as anything of the driver lives */
	int listen_fd, abstract_fd, leaked_fds[2]; /* -1: not there */
	unsigned int port;                         /* of listen_fd; 0 */
	int shm;
	void *shm_at;
	struct attack_neighbour inside, outside;
	bool user_mode_linux; /* that kernel does not survive a fork bomb that is killed */
	char available[64];   /* argument: the host's memory that is available now */
	char texts[20][192];  /* arguments, as KEY=VALUE */
	size_t text_count;
};

/* -1 with *err; what was made is removed again. */
int attack_marks_make(struct attack_marks *ret, struct warder_error *err);
/* Also half made. 0; -1 if a mark was changed or ended by an attempt, with *err. */
int attack_marks_remove(struct attack_marks *marks, struct warder_error *err);
/* Give the attempts one more argument, KEY=VALUE. */
void attack_marks_add(struct attack_marks *marks, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Tell the attempts which limits there are. */
void attack_marks_limits(struct attack_marks *marks, const struct jail_plan *plan);
/* Start the second jail under the same policy, by running this tool, and one outside. Without it attempts
 * that need it are not tried; -1 with *err. */
int attack_marks_neighbours(struct attack_marks *marks, const struct policy *policy, const char *program,
			    const char *cgroup_parent, struct warder_error *err);
/* The arguments for an attempt (NULL-terminated, at most ATTACK_ARGUMENTS_MAX), after what the caller put
 * first. */
void attack_marks_arguments(struct attack_marks *marks, bool outside, char **argv, size_t used);
/* Whether the marks are as they were made. */
bool attack_marks_intact(const struct attack_marks *marks);
/* Id of a process that has the token among its arguments and is none of the neighbours; 0: there is none. */
pid_t attack_marks_survivor(const struct attack_marks *marks);

#endif
