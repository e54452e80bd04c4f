/*
 * keeper_context: an interpreter that keeps its variables between pieces of code. Private to runtime/session/.
 *
 * A context is an execution of the keeper whose program is an interpreter that runs a loop of Warder's (loops/). The loop takes pieces of code
 * from descriptor 4, and reports there how each one ended (frames.h). These reports cannot be trusted, because the code in the context can
 * send the same ones. The keeper decides and counts everything else: which piece runs, its number, its time, its bytes of output, and the
 * cause of the context's end.
 *
 * One piece runs at a time; others wait in their order. A piece whose time is over is interrupted by SIGINT; if it has not ended
 * CONTEXT_GRACE_US later, the keeper kills the context. It also kills one that does not get ready, or that closes its channel.
 *
 * Life: keeper_context_new() while an execution is being started -> keeper_context_take() from its supervision whenever the channel can be
 * read -> keeper_context_ended() when its program has ended -> keeper_context_free(). Only in the keeper's main thread.
 */
#ifndef WARDER_RUNTIME_SESSION_KEEPER_CONTEXT_H
#define WARDER_RUNTIME_SESSION_KEEPER_CONTEXT_H

#include "runtime/session/execution.h"
#include "runtime/session/frames.h"

#define CONTEXT_GRACE_US  UINT64_C(2000000)
#define CONTEXT_READY_US  UINT64_C(20000000)
#define CONTEXT_SAID_MAX  (8u << 20) /* bytes of what a piece displays; more is dropped, and the end says so */
#define CONTEXTS_SAID_MAX (64u << 20) /* of all contexts of a session together */
#define PIECES_KEPT_MAX   64          /* pieces with a key, after their end, of a session */
#define PIECES_KEPT_BYTES (8u << 20)  /* of what these have said */
#define PIECES_WAITING_MAX                                                                                   \
	64 /* pieces with a key, before their end, of a session: they stay when their clients leave */
#define PIECES_WAITING_BYTES (16u << 20) /* of their code */

struct interpreter {
	const char *language; /* as a policy has it */
	const char *aliases;  /* separated by blanks */
	const char *const *argv;
	const char *loop; /* its own side of frames.h: the first message of descriptor 4 */
	bool asks;        /* input() is answered by the client */
	bool spawns;      /* it starts programs of its own: processes.spawn */
	bool forks;       /* it knows FRAME_FORK */
};

/* By its name or an alias; NULL: there is none. */
const struct interpreter *interpreter_find(const char *language);

/* Something that a piece displays or asks, and after how much output. */
struct piece_event {
	struct piece_event *next;
	enum frame_type type; /* FRAME_SHOWN, FRAME_ASKS */
	char *text;           /* owned */
	size_t len;
	uint64_t at[RING_STREAMS];
};

struct piece {
	struct piece *next; /* that waits behind it */
	uint32_t number;    /* 0: it waits */
	char *code;         /* owned */
	size_t len, sent;
	char key[RECORD_KEY_LENGTH + 1]; /* of its request; "": it has none */
	bool queued, kept;               /* by the context; after its end, for clients that ask again */
	size_t watchers;                 /* clients */
	uint64_t kept_until_us;
	uint64_t timeout_us;       /* UINT64_MAX: none */
	uint64_t began_us, due_us; /* on the clock */
	uint64_t at;               /* in the spool: where its output begins */
	uint64_t from[RING_STREAMS], to[RING_STREAMS];
	struct piece_event *events, **events_end;
	size_t said;      /* bytes of the events and of `result` */
	unsigned asked;   /* answers that it waits for */
	uint64_t wall_us; /* when it is done */
	bool done;
	enum context_end end;
	bool takes_signals, wants_signal;
	bool interrupted, timed_out, cut;
	uint32_t refused; /* frames */
	char *result;     /* JSON that the context has sent; or NULL */
	size_t result_len;
	char why[160]; /* of an end that is not CONTEXT_END_DONE */
};

struct keeper_context {
	char name[SESSION_NAME_MAX + 1];
	const struct interpreter *interpreter;
	uint64_t most_us; /* that a piece may have: limits.wallTime */
	int fd;           /* our end of the channel */
	int program_fd;   /* the program's, until it is launched; or -1 */
	bool released;    /* it is being ended, and its name is free */

	uint64_t ready_by_us; /* 0: it has not been launched */
	uint64_t lost_us;     /* when the channel was hung up; 0: it is not */
	bool ready;
	const char *why;  /* it was killed by the keeper; constant; or NULL */
	char *says;       /* JSON of READY; or NULL */
	uint32_t count;   /* pieces that have begun */
	uint64_t refused; /* frames */
	struct frames reader;
	size_t held;             /* bytes of the text that is not whole yet */
	struct piece *pieces;    /* the first one runs, or is next */
	struct piece *kept;      /* those with a key, after their end */
	struct execution *forks; /* a branch that its loop is to fork now; or NULL */
	uint64_t gone_by_us;     /* only its program was killed, whose jail has branches; 0: not so */
};

/* argv of a START is the language and a name. Sets execution->context, and opens the time limit of its policy: it is that of a piece. -1
 * with *err. */
int keeper_context_new(struct execution *execution, struct warder_error *err);
/* The same for a branch of `from`, whose loop is not asked yet. -1 with *err: `from` cannot be forked now, and why; the name. */
int keeper_context_new_branch(struct execution *execution, struct execution *from, const char *name,
			      struct warder_error *err);
/* Whether its interpreter and its policy let it have branches. */
bool keeper_context_may_fork(const struct execution *execution);
void keeper_context_free(struct keeper_context *context);
/* Take a message from the channel. Returns whether to go on watching it. */
bool keeper_context_take(void *execution);
/* Its program has been launched; it has ended. */
void keeper_context_launched(struct execution *execution);
void keeper_context_ended(struct execution *execution);

/* Go on with what can go on. Returns the clock at which something is due, or UINT64_MAX. */
uint64_t keeper_contexts_step(struct executions *all);
/* The clocks of the pieces were stopped for `us`: move their deadlines. */
void keeper_contexts_shift(struct executions *all, uint64_t us);
/* Find a context that has not been released by its name; or NULL. */
struct execution *keeper_contexts_find(struct executions *all, const char *name);
/* Whether it is ready and has no piece. */
bool keeper_context_is_idle(const struct execution *execution);
void keeper_context_describe(const struct execution *execution, struct json_writer *w);

/* Put a piece of code (copied) behind the others. wait: also if another one runs. *ret is watched until piece_leave(). -1 with *err: CONFLICT,
 * INVALID_REQUEST; UNAVAILABLE: too many pieces with a key wait. */
int keeper_context_add(struct execution *execution, const char *code, const struct record_piece *asked,
		       bool wait, struct piece **ret, struct warder_error *err);
/* SIGINT to the piece that runs. -1 with *err (CONFLICT): none does. */
int keeper_context_interrupt(struct execution *execution, struct warder_error *err);
/* Answer a piece that waits in input(): with a line, or (line NULL) with the end of the input. -1 with *err (CONFLICT): no piece waits. */
int keeper_context_answer(struct execution *execution, const char *line, size_t len,
			  struct warder_error *err);
/* Kill it; its name is free. */
int keeper_context_delete(struct execution *execution, struct warder_error *err);
/* Free its name alone. -1 with *err: it is a branch. */
int keeper_context_release(struct execution *execution, struct warder_error *err);
/* Kill it; `why` is constant. */
void keeper_context_kill(struct execution *execution, const char *why);

/* ---- keeper_pieces.c ---- */

/* The client no longer watches the piece. A piece that waits is dropped unless it has a key; one that runs goes on. */
void piece_leave(struct execution *execution, struct piece *piece);
/* The next thing to send to a client that watches the piece. event: the first one that it has not got, or NULL. */
enum piece_news { PIECE_NOTHING, PIECE_BYTES, PIECE_GAP, PIECE_SAID, PIECE_DONE };
enum piece_news piece_next(const struct execution *execution, const struct piece *piece,
			   const struct piece_event *event, const struct ring_cursor *cursor, void *buf,
			   size_t size, struct ring_piece *ret);
/* The first event was sent, and nobody else will ask for it. */
void piece_drop_event(struct execution *execution, struct piece *piece);
/* Whether so many bytes of what the piece says may be held; then they are counted. */
bool piece_may_hold(struct execution *execution, struct piece *piece, size_t len);
/* So many bytes of what the piece has said are not held any more. */
void piece_drop_said(struct executions *all, struct piece *piece, size_t len);
/* Free it if neither the context nor a client needs it. */
void piece_settle(struct execution *execution, struct piece *piece);
/* The piece has ended: if it has a key, keep it for EXECUTION_KEEP_US, or until others need its room. */
void piece_keep(struct execution *execution, struct piece *piece);
/* Drop kept pieces, the oldest first, until the contexts of the session may hold so many bytes more. False: they may not. */
bool pieces_make_room(struct executions *all, size_t len);
/* Whether one more piece with a key, of so many bytes, may wait. -1 with *err (UNAVAILABLE). */
int pieces_check_room(const struct executions *all, size_t len, struct warder_error *err);
/* Drop the kept pieces whose time is over. Returns the clock at which the next one's is, or UINT64_MAX. */
uint64_t pieces_sweep(struct executions *all, uint64_t now);
/* Drop those of one context, which is about to be freed. */
void pieces_done(struct execution *execution);
/* A piece with the key, in any context. 0: there is none; 1: *ret, of *ret_of; -1 with *err (CONFLICT): it is that of another request. */
int pieces_find(const struct executions *all, const char *key, struct execution **ret_of, struct piece **ret,
		struct warder_error *err);

#endif
