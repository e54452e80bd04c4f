/*
 * attempts: what hostile code tries from inside a jail, as one table; `warder doctor --attack` drives it.
 *
 * A row is one attempt. Each group has a file, which ends with its rows; group.c lists the groups. The
 * program warder-attempts performs one attempt and says what answer it got:
 *
 *   warder-attempts --list                    the table, a row a line, fields separated by tabs (see main.c)
 *   warder-attempts --tables                  of each row that product_table() names one for: name <tab> table
 *   warder-attempts NAME [KEY=VALUE...]       perform it; one line "NAME <tab> ANSWER <tab> note" on standard output
 *   warder-attempts --outside NAME [KEY=...]  the same outside of a jail, in private namespaces where the row says so
 *   warder-attempts --neighbour [KEY=...]     be the other jail: make what it has, say so, wait for the end of the input
 *   warder-attempts --companion NAME [KEY=...]   leave a process in the session that the attempt NAME meets there
 *   warder-attempts --last                    leave what the next launch of a pool is not to find
 *   warder-attempts --joiner [KEY=...]        be an execution that is attacked: say "fine" if nothing came of it
 *
 * The driver runs each row twice: outside, to see that it would succeed without a jail, and in a fresh jail.
 * What does not succeed outside proves nothing about the jail, and the row is reported so. Marks (KEY=VALUE)
 * are what the driver put on the host to be found: see struct marks.
 *
 * To add an attempt: write a function in the group's file (or use `call`, for a system call whose harmless
 * arguments make the kernel fail later than its check of privilege), and a row. Rules for the function:
 *   - It runs outside as well, as root: what it does must be harmless or reversible there (write back what is there,
 *     give arguments that a later check refuses, open without writing), or the row says `not_outside` and why.
 *   - It is bounded, also where nothing stops it, and writes nowhere but /tmp and /dev/shm, where it makes files
 *     with MAKE_FILE. Outside both are the row's own, or it uses own_place().
 *   - It never answers REACHED without having tried.
 *   - It returns REACHED if the attack succeeded, the errno of what stopped it, or one of the answers below. It may die.
 */
#ifndef WARDER_RUNTIME_ATTACK_ATTEMPTS_ATTEMPTS_H
#define WARDER_RUNTIME_ATTACK_ATTEMPTS_ATTEMPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

/* Answers other than an errno, which is greater than 0. */
enum answer {
	REACHED = 0,    /* the attack succeeded */
	HIDDEN = -1,    /* what it aims at is not there to be seen */
	NO_EFFECT = -2, /* the call succeeded and nothing came of it */
	CLEAN = -3,     /* everything was looked through, and nothing foreign was in it */
	UNTRIED = -4,   /* it cannot be tried here; note() says why */
};

/* Where an attempt runs when it runs outside; bits. */
enum outside {
	OUTSIDE_PRIVATE =
	    0, /* in mount, UTS and IPC namespaces, a session keyring, a /tmp and a /dev/shm of its own */
	OUTSIDE_PLAIN = 1,   /* as the host has it: for what such a namespace would hide */
	OUTSIDE_NETWORK = 2, /* besides, in a network namespace of its own */
};

/* What the driver put on the host, and what is known of the policy. Strings are "" and numbers 0, ids -1,
 * where not given. */
struct marks {
	const char *dir;  /* dir=: the host's directory of the marks, with a file "secret" for everybody */
	const char *home; /* home=: the caller's home directory */
	const char *hostname; /* hostname=: the host's */
	const char *abstract; /* abstract=: name of an abstract socket that the host listens on */
	int port;             /* port=: TCP port that the host listens on, on 127.0.0.1 */
	int pid;              /* pid=: process of the host's to act on; sleeps */
	int supervisor;       /* supervisor=: the driver */
	int shm;              /* shm=: id of a System V segment of the host's */
	int neighbour_pid;    /* neighbour-pid=: the other jail's program, as the host numbers it */
	int neighbour_edge;   /* neighbour-edge=: the edge of the other jail, or without one its supervisor */
	int neighbour_port;   /* neighbour-port=: TCP port that the other jail listens on, on 127.0.0.1 */
	int neighbour_shm;    /* neighbour-shm=: id of its System V segment */
	const char
	    *neighbour;  /* neighbour=: name of its files in /tmp and /dev/shm, and of its abstract socket */
	int parked_pid;  /* parked-pid=: the process of a parked jail, as the host numbers it */
	int parked_init; /* parked-init=: its parent */
	unsigned parked_uid;       /* parked-uid=: its user id on the host */
	const char *parked_cgroup; /* parked-cgroup=: the host's path of its list of processes */
	uint64_t pids, memory, tmp, open_files,
	    file_size;          /* pids= ...: limits of the policy, 0: none that holds */
	unsigned neighbour_uid; /* neighbour-uid=: its user id on the host */
	int outside;            /* outside=: this is the run outside */
	int user_mode_linux; /* user-mode-linux=: the host's kernel is one, which differs in what a few attempts rely on */
	uint64_t available; /* available=: the host's memory that is available, in bytes */
};

struct attempt {
	const char *name; /* stable, kebab-case */
	const char *what; /* one line: what it tries */
	/* What a sound jail answers; one of several separated by "|": an errno's name, "SIGSYS" (killed by
	 * it), "hidden", "no-effect", "clean", "limit:CAUSE" (the result of the run has that limit among
	 * those that were reached), or "refused" (the jail was not handed out). */
	const char *answer;
	const char *by;   /* the mechanism that stops it, for people */
	const char *seen; /* a CVE, or who is open to it; or NULL */
	/* What of a policy allows it, separated by "|"; NULL: nothing does. Words: see
	 * runtime/attack/table.c. */
	const char *allowed;
	/* What it needs, separated by "|"; NULL: nothing. "spawn" (child processes), "neighbour" (the second
	 * jail), "short" (a deadline of a second), "thrifty" (CPU time of 300
	 * ms), "storm" (many processes killed at once), "companion" and "joiners" (a session; see sessions.c), "parked" (a parked
	 * jail), "pool" (runs in a jail that was parked, of which "last", "raised" and "killed" say what happened to it; see pools.c). */
	const char *needs;
	unsigned outside;        /* enum outside */
	const char *not_outside; /* not run outside at all: why; or NULL */
	const char *path;        /* for functions that serve several rows */
	int (*run)(const struct attempt *self, const struct marks *marks);
	/* Without `run`: a system call that succeeded if it returns 0 or more, or fails with `past`. */
	struct {
		long number;
		long arguments[6];
		int past;
	} call;
};

struct attempt_group {
	const char *name;
	const struct attempt *rows;
	size_t count;
};

#define GROUP(title, table)                                                                                  \
	{                                                                                                    \
		.name = title, .rows = table, .count = ARRAY_LENGTH(table)                                   \
	}

extern const struct attempt_group files_group, knobs_group, ids_group, kernel_group, network_group,
    resources_group, leaks_group, neighbours_group, overlays_group, sessions_group, pools_group;

/* ---- for the functions: help.c ---- */

/* Say something about the answer, for people; the last one counts. */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The last note, or "". */
const char *noted(void);
/* REACHED for a return value of 0 or more, else errno. */
int answer_of(long ret);
/* The same, where failing with `past` means that the check of privilege was passed. */
int answer_past(long ret, int past);
/* HIDDEN for ENOENT and ENOTDIR, else as answer_of(). */
int answer_hidden(long ret);
/* The same for opening a file for writing. That it runs (ETXTBSY) is no protection, as it does not run for
 * ever, and is looked at before the mount: whether it could be written is asked of access(). */
int answer_busy(long ret, const char *path);
/* A file of the host's that every jail shows read-only: /usr/bin/env, or else this program. */
const char *host_file(void);
/* self->path; where it is of process 1, outside that of the process that is there to be acted on. Returns it
 * or buf. */
const char *process_path(const struct attempt *self, const struct marks *marks, char *buf, size_t size);
/* Where a row may make files: the driver's directory for what runs outside as the host has it, else /tmp. The
 * host's /tmp and /dev/shm are everybody's, who may have put something under any name that can be known. */
const char *own_place(const struct attempt *self, const struct marks *marks);
/* How files are made: never one that is there already, or where a link leads. */
#define MAKE_FILE (O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC)
/* Make such a file for everybody, with "secret" in it. -1: it is not there. */
int make_secret(const char *directory, const char *name);
/* REACHED if /dev/pts has a terminal. */
int answer_terminals(void);
/* Open self->path and read: HIDDEN if it is not there or empty. */
int read_path(const struct attempt *self, const struct marks *marks);
/* Open self->path for writing and write back what it holds; outside nothing is written. */
int write_back(const struct attempt *self, const struct marks *marks);
/* Open self->path for writing and write nothing. */
int open_for_writing(const struct attempt *self, const struct marks *marks);
/* HIDDEN if self->path is no directory, or an empty one. */
int list_directory(const struct attempt *self, const struct marks *marks);
/* Read a file of text, cut to fit. Length, or -1 with errno. */
long read_text(const char *path, char *buf, size_t size);
/* Run a function in a child and take over its answer; a child that is killed kills us by the same signal. */
int in_child(int (*run)(const struct attempt *, const struct marks *), const struct attempt *self,
	     const struct marks *marks);
/* The product's own table that stops it, whatever kernel there is: "filter" for a row that is one system call, "masks" for a file of
 * /proc; NULL: none. tests/unit/runtime/attack/test_attempts.c asks these tables. */
const char *product_table(const struct attempt *row);
/* Be the neighbour; returns an exit status. */
int neighbour_main(const struct marks *marks);
/* Be one of a session's others; return exit statuses. */
int companion_main(const char *name, const struct marks *marks);
int joiner_main(const struct marks *marks);
/* Be the launch before; the same. */
int last_main(void);

#endif
