/*
 * contestant: one way to launch the program, as the harness sees it.
 *
 * Life: contestant_parse() reads a line of the list -> contestant_start() (a server is started, with the program) ->
 * contestant_check(), contestant_run(), contestant_rate(), contestant_memory() in any order -> contestant_stop().
 *
 * A line of the list has fields separated by one tab:
 *   name    unique, shown in the table
 *   kind    process: a command that launches once; server: a command that speaks tests/bench/serve.h;
 *           absent: not installed, only listed. With " once": it takes no part in the rates
 *   floor   name of the contestant that its times are compared with, or "-"
 *   target  "NAME RATIO": the ratio to that contestant's median that is aimed at, or "-"
 *   space   path of a mount namespace to be launched in, or "-"
 *   note    what it does and does not enforce, or "-"
 *   words   the rest: the command. "{}" stands for the program and its arguments; within a word, "{id}" for a number
 *           that no other launch has, "{purpose}" for "run", "check" or "hold": which program is meant, for a
 *           launcher that takes it from a file
 */
#ifndef WARDER_TESTS_BENCH_CONTESTANT_H
#define WARDER_TESTS_BENCH_CONTESTANT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define CONTESTANTS_MAX 40
#define WORDS_MAX       64

enum contestant_kind {
	CONTESTANT_PROCESS,
	CONTESTANT_SERVER,
	CONTESTANT_ABSENT,
};

struct contestant {
	enum contestant_kind kind;
	bool once;
	const char *name, *floor, *target_name, *note; /* NULL: none */
	double target;
	int space_fd; /* mount namespace, or -1 */
	char *words[WORDS_MAX];
	const char *failure; /* why it takes no part any more, or NULL */
	pid_t server_pid;
	FILE *request, *answer;
};

/* Take one line apart, which is kept. -1: it is malformed. */
int contestant_parse(char *line, struct contestant *ret);
/* Bring a server to life; nothing to do for others. -1 with ->failure. */
int contestant_start(struct contestant *contestant, char *const *program);
void contestant_stop(struct contestant *contestant);
/* Let it run a program that exits with 7: a launcher that hides the status or starts nothing is found out. -1 with
 * ->failure. */
int contestant_check(struct contestant *contestant);
/* One launch until reaped. *ret_cpu_ns: processor time of the launcher and of all processes that it started, also of those that
 * outlived it; of a server, since its last launch; 0: not known. -1 with ->failure. */
int contestant_run(struct contestant *contestant, char *const *program, uint64_t *ret_ns,
		   uint64_t *ret_cpu_ns);
/* Launches within a time, `width` at a time; 0: not measured, because the kernel falls behind (tests/bench/kernel.h). -1 with
 * ->failure. */
int contestant_rate(struct contestant *contestant, char *const *program, int width, int ms,
		    double *ret_per_second);
/* Peak resident memory of the launching process while its program runs. -1: not to be had. */
long contestant_memory_kib(struct contestant *contestant);

uint64_t now_ns(void);

#endif
