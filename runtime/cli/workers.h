/*
 * workers: pieces of work, each done by a forked process, and what they hand back. Private to cli/.
 *
 * The tool's heap is for one thread and gives nothing back, and a fault in one piece of work must not touch another: so each has a
 * process. It writes its result to a memory file and a few numbers into a note that it shares with us, and ends; a result counts
 * only if its process ended by itself and said so, so that none is ever half. Nothing is allocated for a piece of work here.
 *
 * No worker outlives us: when we die, however, each is sent SIGTERM by the kernel, and takes its jail down.
 *
 * Life: workers_init() -> workers_may_start(), workers_start(), workers_wait(), workers_next() and workers_release() in a loop ->
 * workers_done(), which ends those that are still at work.
 */
#ifndef WARDER_RUNTIME_CLI_WORKERS_H
#define WARDER_RUNTIME_CLI_WORKERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/hang.h"

#define WORKERS_MAX                                                                                          \
	100 /* at work at the same time; their jails may all end at once: see jail/cgroup/ends.h */
#define WORKERS_WAITING   64 /* finished before their turn */
#define WORKERS_READER_MS 10000

enum worker_state {
	WORKER_FREE,
	WORKER_RUNNING,
	WORKER_FINISHED, /* it is done, and its result is whole */
	WORKER_DIED,     /* killed, or it did not do what it should */
};

struct worker {
	enum worker_state state;
	uint64_t index; /* of the piece of work, from 0 */
	pid_t pid;
	int pid_fd, result_fd; /* owned; -1: none */
	void *note;            /* shared with the process */
	int signal;            /* that it died of; 0: it exited */
	bool stuck;            /* it does not die, and was left behind */
	struct hang hang;
};

struct workers {
	struct worker slots[WORKERS_MAX + WORKERS_WAITING];
	const char *what;
	size_t slot_count, running, parallel;
	size_t note_size;
	void *notes;
	bool ordered;
	uint64_t started, handed_out;
	int wake_fd; /* written to by the handler of signals */
	/* Where the reader of the results writes requests; -1: it writes none. Once it has closed its side (`is_source_closed`, which
	 * the caller may set as well), a reader that takes nothing for WORKERS_READER_MS is given up. */
	int source_fd;
	bool is_source_closed;
};

/* `what`: one piece of work, for messages ("case"). `note_size`: bytes of each note. Catches signals (see ending.h). -1 with *err. */
int workers_init(struct workers *workers, const char *what, size_t parallel, bool ordered, size_t note_size,
		 struct warder_error *err);
/* Whether another piece of work can be started now. */
bool workers_may_start(const struct workers *workers);
/* Whether nothing is at work and nothing waits to be handed out. */
bool workers_idle(const struct workers *workers);
/* Fork, and have `work` done there, whose memory is a copy of ours. It writes to worker->result_fd, fills worker->note, which is
 * a copy of `note` at first, and returns 0 when the result is whole. -1 with *err. */
int workers_start(struct workers *workers, int (*work)(void *context, const struct worker *worker),
		  void *context, const void *note, struct warder_error *err);
/* Sleep until a worker has ended, a signal has come, or `input_fd` (-1: none) can be read; then it returns true. */
bool workers_wait(struct workers *workers, int input_fd);
/* One that has ended, the next in order if they are ordered; NULL: none for now. */
struct worker *workers_next(struct workers *workers);
void workers_release(struct workers *workers, struct worker *worker);
/* Write its result to standard output, as fast as it is taken, or until a signal comes. 0; -1 with errno (ETIMEDOUT: the reader was given up). */
int workers_pass_on(struct workers *workers, const struct worker *worker);
/* The same for a text of our own. */
int workers_write(struct workers *workers, int fd, const char *bytes, size_t len);
/* Have those that are at work end, as by SIGTERM, and wait for it; those that have not ended within 8.5 s are left behind,
 * which is reported. What they had
 * finished is still to be handed out. */
void workers_end(struct workers *workers);
void workers_done(struct workers *workers);
/* Why a worker died, as an error. */
void workers_say_death(const struct workers *workers, const struct worker *worker, struct warder_error *err);

#endif
