/*
 * supervision: where the supervision of a run is: jail_supervise_begin() and the functions after it in jail.h. Private to jail/.
 */
#ifndef WARDER_JAIL_SUPERVISION_H
#define WARDER_JAIL_SUPERVISION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "jail/cgroup/cgroup.h"
#include "jail/jail.h"
#include "jail/poller.h"

struct supervision {
	struct jail_run *run; /* NULL: it has not begun */
	struct jail_outcome *outcome;
	unsigned int phase;   /* of the table in supervise.c */
	struct poller poller; /* open: for a caller with an event loop */
	bool ended;           /* init reported the program's end */
	int wait_status;
	uint64_t ended_us;
	bool left_running; /* init says that something is left */
	bool late;         /* the program ended by itself, but after its wall time */
	bool backstop;     /* init ended it, at its own deadline */
	bool emptied;      /* init of a bare jail says that nothing is left */
	bool killed;       /* we ended it, for `reason` */
	bool is_to_die;    /* it is to be killed in its turn, by us or as one of a crowd */
	bool unwatched;    /* on_watch() does not want to be called again */
	bool signalled;    /* and was */
	enum jail_cause reason;
	const char *failure; /* what went wrong on our side, with JAIL_CAUSE_SUPERVISOR */
	size_t capacity[JAIL_STREAMS];
	uint64_t stop_at_us;     /* the end of the grace after a signal; UINT64_MAX: none */
	uint64_t deadline_us;    /* of the wall time; UINT64_MAX: none */
	uint64_t cpu_at_us;      /* when the CPU time is looked at next; UINT64_MAX: never */
	uint64_t grace_until_us; /* of a slow reader, when the jail is gone; 0: the drain has not begun */
	uint64_t grace_most_us;
	bool watching;         /* for OOM events */
	uint64_t oom_until_us; /* an OOM event came: its kill may still have to be counted */
	int drained;           /* streams */
	size_t reads;          /* of the stream that is drained now */
	struct cgroup_final final;
	bool asked;   /* the phase waits for an answer, at run->wait */
	bool counted; /* the edge was asked to count the last packets */
	int released;
	struct warder_error err; /* with released -1 */
};

#endif
