/*
 * edge: the process that connects for a jail, as its supervisor sees it.
 *
 * Life: run_edge_start() before the spawn -> the jail's init is given setup_fd -> run_edge_await() before the program starts ->
 * run_edge_ask() and run_edge_report() when the jail is gone -> run_edge_end(), run_edge_done(). Host side; one thread, except that another may call
 * run_edge_replace() as long as nobody calls run_edge_done(). If the edge dies the jail has no network: its listeners are closed, and nothing else
 * leads out.
 */
#ifndef WARDER_JAIL_EDGE_H
#define WARDER_JAIL_EDGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "edge/edge.h"
#include "jail/trust.h"
#include "policy/policy.h"

struct jail_plan;

struct run_edge {
	const char *field;          /* of the policy that needs it, for errors */
	int pid;                    /* 0: none, or the session's */
	int pid_fd;                 /* of it */
	uint64_t give_up_us;        /* it was killed, and is waited for until then; 0: it was not */
	int control_fd;             /* the edge ends when this is closed */
	int setup_fd;               /* for the jail's init, until the spawn */
	int counter_fd;             /* asks it to count */
	int report_fd;              /* can only be read */
	struct edge_report *report; /* mapped */
	struct edge_report *before; /* heap: the session's report at the start of an execution */
	struct trust trust; /* what a jail with credentials sees; empty, if it has none or is the session's */
	uint16_t published[EDGE_PUBLISHED_MAX]; /* ports of the host, by row of network.publish */
	size_t published_count;
	uint64_t rules_from; /* how often the session's rules were replaced before those of the policy */
};
#define RUN_EDGE_NONE                                                                                        \
	{                                                                                                    \
		.pid_fd = -1, .control_fd = -1, .setup_fd = -1, .counter_fd = -1, .report_fd = -1            \
	}

/* The sockets that listen for the policy's rules, into ret (EDGE_LISTENERS_MAX rows), or NULL. Returns how many; 0 unless `on`. *ret_v6, or NULL, which the
 * caller has set to 0: how many of them are sockets of IPv6. */
size_t edge_listeners(const struct policy *policy, bool on, struct edge_listener *ret, size_t *ret_v6);
/* The rules of a valid policy as its edge reads them; heap, of edge_config_size() bytes. NULL: no memory. */
struct edge_config *edge_config_new(const struct policy *policy);
/* The field of the policy that needs an edge. */
const char *edge_field(const struct policy *policy);
/* Whether an edge is installed. -1 with *err. */
int edge_check(const struct policy *policy, struct warder_error *err);
/* Listen on the published ports of the host, and start the edge, as user `uid` if the caller is root. -1 with *err: *edge is none. */
int run_edge_start(struct run_edge *edge, const struct jail_plan *plan, uint32_t uid,
		   struct warder_error *err);
/* Use the edge of a session, which `field` of the policy needs: descriptors of its joint, which are copied. rules_from: how often the session's rules had
 * been replaced when it had those of the policy. -1 with *err. */
int run_edge_join(struct run_edge *edge, const char *field, const int fds[3], uint64_t rules_from,
		  struct warder_error *err);
/* For a policy with credentials: wait for the run's authority, and set edge->trust. -1 with *err. */
int run_edge_await_authority(struct run_edge *edge, struct warder_error *err);
/* Until it serves. -1 with *err: it does not. */
int run_edge_await(struct run_edge *edge, struct warder_error *err);
/* Replace the rules of a running edge by those of a valid policy, whose ports and names have listeners by the policy `first` that the edge was
 * started with. -1 with *err: the old rules stay. If the edge does not answer, it is killed: nobody knows which rules it has. */
int run_edge_replace(struct run_edge *edge, const struct policy *first, const struct policy *policy,
		     uint64_t *ret_since_us, struct warder_error *err);
/* Whether it has ended. */
bool run_edge_is_dead(const struct run_edge *edge);
/* Ask it to count the last packets. True: it answers on counter_fd, most likely within RUN_EDGE_COUNT_MS. */
bool run_edge_ask(const struct run_edge *edge);
#define RUN_EDGE_COUNT_MS 200
/* Take the answer, if it is there, and make a copy of its report, whose texts end and whose numbers are in range; the caller frees it. For the edge of a session, the copy has only the
 * entries since run_edge_join(), from all executions. NULL: there is none. */
struct edge_report *run_edge_report(const struct run_edge *edge);
/* Kill it. False: it is dead, or there is none. True: it is to be called again when pid_fd is readable, and at give_up_us, when it says
 * false. */
bool run_edge_end(struct run_edge *edge);
/* End it. In any state, and twice. */
void run_edge_done(struct run_edge *edge);

#endif
