/*
 * inject: run a process under ptrace and make one of its system calls fail, or kill it there.
 *
 * The process calls inject_begin() where counting is to start; from then on every call that can fail for want of
 * something (a table in inject.c) is counted, in the process itself and, with `follow`, in what it forks: the
 * helpers, the jail's init, and the payload until its exec. The `at`-th of them is not made; it returns one of the errors
 * that the table has for it, or goes wrong in another way (`fault`). Counting ends when *stop becomes true (memory
 * shared with the process).
 * With `kill`, every call of the process itself is counted, and at the `at`-th it is killed.
 * Only on x86-64. A tracer has one process at a time.
 */
#ifndef WARDER_TESTS_INJECT_H
#define WARDER_TESTS_INJECT_H

#include <stdbool.h>
#include <sys/types.h>

enum inject_who { INJECT_SUPERVISOR, INJECT_HELPER, INJECT_INIT, INJECT_PAYLOAD, INJECT_WHO_COUNT };

enum inject_fault {
	INJECT_ERROR,   /* an error of the table */
	INJECT_ABSENT,  /* openat: ENOENT */
	INJECT_SHORT,   /* write, pread64: made for one byte less, and for one byte */
	INJECT_LIE,     /* write: not made, and it answers as if it were */
	INJECT_CHANGED, /* pread64: made, and the first byte is another */
	INJECT_FAULT_COUNT,
};

struct inject {
	unsigned int at;     /* 1...; 0: only count */
	int kind;            /* count only calls of this kind (see `log`); -1: all */
	unsigned int choice; /* which of the call's errors, counted round */
	bool kill;
	bool follow;
	const volatile bool *stop;
	int seconds; /* after which the process counts as hanging and is killed */
	/* Count only openat, write and pread64 of files whose name begins so, and that can go wrong in this way; NULL: all calls. */
	const char *file;
	enum inject_fault fault;
};

#define INJECT_LOG_MAX 8192

struct inject_report {
	unsigned int calls; /* counted */
	unsigned short
	    log[INJECT_LOG_MAX]; /* what and in which process, by calls - 1: equal numbers, equal kinds */
	unsigned int spawned;    /* of these, before the first of init */
	bool injected;           /* the at-th was reached */
	const char *call;        /* its name */
	const char *error;       /* "ENOMEM" */
	char file[128];          /* that it was about, of one with `file` */
	enum inject_who who;     /* in which process */
	bool hung;
	int wait_status; /* of the process */
};

const char *inject_who_name(enum inject_who who);
/* In the process: stop until the tracer goes on. */
void inject_begin(void);
/* In its parent, after the fork. Returns when the process has ended and everything that was followed has, too. */
void inject_trace(pid_t pid, const struct inject *what, struct inject_report *ret);

#endif
