/*
 * execution: a program that the keeper launches and supervises, so that it outlives whoever asked for it. Private to runtime/session/.
 *
 * Life: executions_start() makes one and a thread that prepares and launches it -> executions_dispatch() sees that the thread has ended:
 * EXECUTION_STARTING becomes RUNNING or FAILED -> executions_dispatch() supervises it: ENDED, with its result -> executions_sweep() forgets
 * it when its result has been kept long enough and nobody reads. Everything is the keeper's main thread's, except that while it is
 * STARTING, `tmpl`, `run` and `failure` are the launch's.
 *
 * Files: execution_start.c starts them and calls executions.c, which supervises them; both use contexts, branches and the agent. These use
 * execution.c, which calls none of the others. executions_list.c describes executions to clients.
 */
#ifndef WARDER_RUNTIME_SESSION_EXECUTION_H
#define WARDER_RUNTIME_SESSION_EXECUTION_H

#include <pthread.h>
#include <stdatomic.h>

#include "jail/session.h"
#include "policy/policy.h"
#include "runtime/session/records.h"
#include "runtime/session/session.h"
#include "runtime/session/ring.h"
#include "runtime/warder.h"

#define EXECUTIONS_FORMER   16  /* rules of the session that clients may still take for its own */
#define EXECUTIONS_MAX      128 /* that run at a time; those that join count, too */
#define EXECUTIONS_KEPT_MAX 512 /* that have ended */
#define EXECUTIONS_PAUSED                                                                                    \
	"session %.64s is paused, and nothing starts in it; \"warder session resume %.64s\" lets it go on"
#define EXECUTIONS_COPIED "session %.64s is being copied, and nothing changes in it meanwhile; try again"
#define EXECUTION_KEEP_US UINT64_C(600000000)

struct keeper_agent;
struct keeper_branch;
struct keeper_code;
struct keeper_context;
enum execution_state { EXECUTION_STARTING, EXECUTION_RUNNING, EXECUTION_FAILED, EXECUTION_ENDED };

/* What a START asks for, taken apart; the texts point into `bytes`. */
struct execution_words {
	char *bytes;                         /* owned */
	struct policy *policy;               /* owned; NULL: it runs, and does not need it any more */
	struct policy *ceiling;              /* the same; also NULL: there is none */
	char **argv, **set, **caller;        /* owned arrays, NULL-terminated */
	const char *audit_path, *audit_head; /* or NULL: there is no audit file */
};

/* A zeroed policy of the heap, for the words. NULL with *err. */
struct policy *execution_new_policy(struct warder_error *err);
/* Free one, or NULL; *policy is then NULL. */
void execution_drop_policy(struct policy **policy);
void execution_words_done(struct execution_words *words);

struct executions;
struct execution {
	struct executions *all;
	char id[EXECUTION_ID_LENGTH + 1];
	struct execution_words words;
	uint32_t flags; /* enum record_flag, of the START */
	struct record_start start;
	struct keeper_context *context; /* or NULL: an execution of its own program. Owned */
	struct keeper_agent *agent;     /* or NULL: it is none. Owned */
	struct keeper_code *code;       /* of RECORD_CODE, or NULL. Owned */
	struct keeper_branch *branch;   /* or NULL: it has a run. Owned */
	uint64_t output_max, keep_us;
	pthread_t thread;     /* of the launch, while it is STARTING */
	atomic_bool launched; /* the thread is about to end */
	size_t users;         /* clients that read it */
	int input_fd;         /* our end of its input: a pipe, or a terminal's master; or -1 */
	bool input_ended; /* a client has closed it, or its starter knows that the program reads no more */
	uint64_t starter; /* number of the client that started it; 0: none */
	int source_fd;    /* the program's end, until it has ended; or -1 */
	int streams[3];   /* with RECORD_STREAMS: its caller's, until it has ended; each, or all, -1 */
	int log_fds[2];   /* with RECORD_LOG: the file, for each stream, until it has ended; or -1 */
	int calls_fd;     /* with RECORD_FUNCTIONS: the program's end, until it is launched; or -1 */
	int audit_fd;     /* of an audit file whose line is not written yet; or -1 */
	bool owned;       /* a client started it with RECORD_STREAMS or RECORD_OWNER, and waits for its end */
	atomic_bool stopped;      /* by a STOP */
	struct record_stop stop;  /* the first one */
	uint64_t writer;          /* number of the client whose bytes go in now; 0: none */
	uint64_t started_ms;      /* since the epoch */
	uint64_t rules;           /* how often the session's rules were replaced before */
	uint64_t launch_until_us; /* on the clock: the launch of an owner's execution is given up then */
	uint64_t ended_us;        /* on the clock; 0: not yet */
	enum execution_state state;
	struct warder_template *tmpl;
	struct warder_run *run; /* while it can be signalled */
	int run_fd;             /* of the run, while it is in all->fd */
	struct warder_error failure;
	struct warder_result
	    *held; /* the session ended under it, and what ended that is not known yet; or NULL */
	uint64_t held_until_us;
	struct ring spool;
	const struct ring_cursor *follower; /* of the client that the program waits for; or NULL. Its own */
	bool waits; /* its output is left where it is until that client has read more */
	struct record_end end;
	char *result; /* JSON; see execution_document() */
	char *audit;  /* JSON: whether the line of the audit file is there; or NULL */
	/* Lines of its progress, each with a NUL: those that its owner has not got yet; without an owner, the last line. */
	char *lines;
	size_t lines_len;
	struct warder_result *whole; /* for the client that owns it, as long as that waits; or NULL */
};

struct executions {
	int fd;              /* epoll: executions_dispatch() has something to do */
	int launched_fd;     /* eventfd: so has a launch */
	const char *session; /* its name */
	const char *session_id;
	const struct policy *policy; /* its own */
	struct policy former
	    [EXECUTIONS_FORMER]; /* what that was before its rules were replaced, the last one first; owned */
	size_t former_count;
	const struct session_spec *spec;
	const struct jail_joint *joint;
	const char *root;
	const char *cgroup_parent; /* of the session; or NULL */
	struct warder_error
	    agent_failure; /* why the last agent did not start; code 0: it did, or that was told */
	bool paused;
	uint64_t paused_us;           /* since when */
	size_t copies;                /* of the session that are being made: nothing starts meanwhile */
	size_t said_bytes;            /* of all contexts */
	enum session_end session_end; /* as soon as it is known */
	struct execution **items;
	size_t count;
	size_t spool_bytes;
};

/* -1 with *err. */
int executions_init(struct executions *all, struct warder_error *err);
/* Begin. `bytes` (taken) is the memory file of `start`; fds (borrowed): the descriptors behind it: of a terminal that gives its settings, or
 * the program's streams. *ret belongs to `all`. -1 with *err: INVALID_REQUEST, REJECTED, CONFLICT (the id is in use). */
int executions_start(struct executions *all, const char *id, uint32_t flags, const struct record_start *start,
		     char *bytes, const int fds[RECORD_FDS_MAX - 1], struct execution **ret,
		     struct warder_error *err);
/* Begin to start an agent. -1 with *err. */
int executions_start_agent(struct executions *all, struct warder_error *err);
/* A connection to the agent, which is started if none lives. *ret_fd is the caller's. -1 with *err. */
int executions_connect_agent(struct executions *all, int *ret_fd, struct warder_error *err);
/* Kill a context, and begin another one with the same name and policy. *ret belongs to `all`. -1 with *err: it is a branch. */
int executions_restart(struct execution *context, struct execution **ret, struct warder_error *err);
/* Begin a context of that name which is a branch of the context `from`. *ret belongs to `all`. -1 with *err: INVALID_REQUEST, CONFLICT. */
int executions_fork(struct execution *from, const char *name, bool keeps_seed, struct execution **ret,
		    struct warder_error *err);
/* NULL with *err (NOT_FOUND). */
struct execution *executions_find(struct executions *all, const char *id, struct warder_error *err);
/* That have not ended; that have not ended and do not wait for a piece of code, or whose files are still being taken. */
size_t executions_running(struct executions *all);
size_t executions_busy(struct executions *all);
/* Forget those whose time is over. Returns the clock at which the next one's is, or UINT64_MAX. */
uint64_t executions_sweep(struct executions *all);
/* The session's rules were replaced: its policy so far, which is taken, stays known; once, however often it has the same rules. */
void executions_keep_rules(struct executions *all, struct policy *policy);
/* A JSON array; heap, NULL on want of memory. counters: with what each has used. */
char *executions_list(struct executions *all, bool counters);
/* Do what is ready, without waiting: each time that `fd` is readable. */
void executions_dispatch(struct executions *all);
/* Supervise all of them to their ends, until no file is being collected: after the session's jail was told to end. */
void executions_finish(struct executions *all);

/* The clocks of all that run stand still, or go on. -1 with *err: CONFLICT, one is being started. */
int executions_pause(struct executions *all, bool paused, struct warder_error *err);
/* For library_own(): the name of the end of the session, which may still be unknown. The detail of *outcome says the same. */
const char *executions_say_end(void *owner, struct jail_outcome *outcome);
/* It is in no list. */
void execution_free(struct execution *execution);
/* STARTING or RUNNING. */
bool execution_lives(const struct execution *execution);
/* Append output to the spool, as a run's supervision does. */
int execution_take_output(void *execution, enum warder_stream stream, const char *bytes, size_t len);
/* The same of a line of progress, and what is asked during a launch with an owner. */
void execution_take_line(void *execution, const char *line);
int execution_gives_up(void *execution);
/* 0; a positive errno. */
int executions_begin_thread(pthread_t *ret, void *(*run)(void *context), void *context);
/* A client reads with RECORD_FOLLOW; NULL: it does so no more. */
void execution_follow_by(struct execution *execution, const struct ring_cursor *cursor);
/* The program waits for its owner, which has not begun to read. */
void execution_wait_for_owner(struct execution *execution);
/* True if the owner has not attached yet: the execution must stay until it has. */
bool execution_is_unread(const struct execution *execution);
/* That client has read: a program that waits for it may go on. */
void execution_followed(struct execution *execution);
/* To its program's process group. -1 with *err: CONFLICT, it has ended. */
int execution_signal(struct execution *execution, int number, struct warder_error *err);
int execution_resize(struct execution *execution, const struct record_size *size, struct warder_error *err);
void counters_fill(const struct jail_counters *counters, uint64_t ret[RECORD_COUNTERS_COUNT]);
int execution_counters(struct execution *execution, uint64_t ret[RECORD_COUNTERS_COUNT],
		       struct warder_error *err);
/* The caller of an execution with its own streams wants it to end; also while it is STARTING. */
void execution_stop(struct execution *execution, const struct record_stop *stop);
/* False: its files are being collected or removed, and its result will have what is known of them. */
bool execution_is_complete(const struct execution *execution);
/* The directory that its owner takes the files from, before execution_delivered(). Borrowed; -1: there are none to take. */
int execution_handed_fd(const struct execution *execution);
/* The result as JSON; NULL: there is none. */
const char *execution_document(struct execution *execution);
/* Its owner has the result, writes the line of its audit file, and nobody else asks for it. */
void execution_delivered(struct execution *execution);
/* Its owner has gone without the result. */
void execution_disown(struct execution *execution);
/* No more input. */
void execution_close_input(struct execution *execution);

#endif
