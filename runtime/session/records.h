/*
 * records: what a client and a keeper say to each other about executions. Private to runtime/session/.
 *
 * A record is a head and a body, of together at most RECORD_MAX bytes, sent as one message of a SOCK_SEQPACKET socket. The first record of
 * a client is RECORD_HELLO with the version that it speaks. A keeper of version N also understands N-1; a later version is refused by name.
 * Version 2 has a shorter START (RECORD_START_OLD), and neither RECORD_STREAMS nor RECORD_STOP. The fixed messages of session.h begin
 * without a hello.
 *
 * Requests are answered in their order by RECORD_ANSWER; RECORD_RESULT and RECORD_ATTACH also by a RECORD_END when the execution has ended.
 * Between the answer and the end of an attach come frames and gaps. What is longer than a record (the words of a command, a list, a result)
 * comes beside it as a memory file.
 */
#ifndef WARDER_RUNTIME_SESSION_RECORDS_H
#define WARDER_RUNTIME_SESSION_RECORDS_H

#include <fcntl.h>
#include <stddef.h>

#include "base/error.h"

/* With OLD_PROTOCOLS a program speaks version 2, and knows nothing of a later one. Only the older package of tests/upgrade.py is compiled so. */
#ifdef OLD_PROTOCOLS
#define RECORD_VERSION     2u
#define RECORD_TYPES_KNOWN RECORD_STOP
#define RECORD_FLAGS_KNOWN (RECORD_OWNER - 1u)
#else
#define RECORD_VERSION     3u
#define RECORD_TYPES_KNOWN RECORD_TYPES
#define RECORD_FLAGS_KNOWN RECORD_FLAGS
#endif
#define RECORD_VERSION_OLD     (RECORD_VERSION - 1)
#define RECORD_VERSION_STREAMS 3u /* the first one with RECORD_STREAMS, RECORD_STOP and the longer START */

#define RECORD_MAX          65536u
#define RECORD_MAGIC        0x58455257u
#define RECORD_FDS_MAX      12
#define RECORD_SEALS        (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW)
#define EXECUTION_ID_LENGTH 16
/* Of a piece: half of the digest of the client's key, and half of its request's. */
#define RECORD_KEY_LENGTH    64
#define RECORD_SESSION_BYTES 40
#define CLIENT_PATIENCE_US   UINT64_C(10000000) /* until a client that takes nothing is dropped */

enum record_type {
	RECORD_HELLO = 1,
	RECORD_START, /* body: record_start; a memory file of words, and with a terminal its descriptor; or see RECORD_STREAMS */
	RECORD_ATTACH, /* body: record_attach; the answer's values: see enum record_attached */
	RECORD_WRITE,  /* body: bytes of input; RECORD_MORE: the next record of this client belongs to them */
	RECORD_CLOSE,  /* the input, behind what was written */
	RECORD_SIGNAL, /* body: u32 */
	RECORD_RESIZE, /* body: record_size */
	RECORD_COUNTERS, /* without an id: of the session, without its agent; the answer's values: see enum record_counter */
	RECORD_LIST,   /* answered with a memory file: a JSON array */
	RECORD_RESULT, /* the end, now or when it comes; with a memory file, the result as JSON */
	RECORD_ANSWER, /* body: record_answer */
	RECORD_FRAME,  /* body: record_frame, bytes */
	RECORD_GAP,    /* body: record_gap */
	RECORD_END, /* body: record_end; to its owner, perhaps with a directory behind the result: see code_record.h */
	RECORD_PAUSE,  /* body: u32: 1 pauses the session, 0 lets it go on */
	RECORD_EXTEND, /* body: record_extend */
	/* of contexts, by the id of their execution */
	RECORD_PIECE, /* body: record_piece; a memory file, the code. The answer's first value: how many pieces are before it */
	RECORD_SHOWN, /* body: u32, a frame_type; with a memory file, a text of the piece's */
	RECORD_DONE,  /* body: record_done; with a memory file, what the context says of the piece's end */
	RECORD_INPUT, /* body: a line for a piece that asks */
	RECORD_INTERRUPT, /* the piece that runs */
	RECORD_RESTART,   /* answered as START */
	RECORD_DELETE,
	RECORD_FORK, /* flags: RECORD_KEEP_SEED; body: the name of the branch; answered as START */
	RECORD_STOP, /* body: record_stop; not answered: the end of the execution follows */
	RECORD_AGENT, /* answered with one end of a stream to the session's agent, for one call (host/agent.h) */
	RECORD_LINES, /* to the client that started it with RECORD_PROGRESS, before the end: lines of progress, each with a NUL */
	RECORD_REPEAT, /* body: a key; answered as PIECE if a piece of the session has it */
	/* by the owner of a piece of code whose END came with a directory: it has taken the files. Not answered */
	RECORD_TAKEN,
	RECORD_TYPES,
};

enum record_flag {
	RECORD_MORE = 1,       /* of WRITE */
	RECORD_TERMINAL = 2,   /* of START */
	RECORD_OPEN_INPUT = 4, /* of START: the input stays open for WRITE */
	RECORD_BACKGROUND = 8, /* of START: WARDER_SESSION_BACKGROUND */
	RECORD_CONTEXT = 16,   /* of START: the words are a language and a name */
	RECORD_AT_ONCE = 32,   /* of PIECE: do not wait for another one */
	RECORD_KEEP_SEED = 64, /* of FORK */
	RECORD_BRIEF = 64,     /* of LIST: without counters. Earlier keepers give them all the same */
	/* of WRITE and RESIZE: only a failure is answered, so that a client that reads nothing can go on. Earlier keepers answer all the same */
	RECORD_UNANSWERED = 32,
	/* of HELLO: the client starts one execution with RECORD_STREAMS, or with this flag and RECORD_TERMINAL, and waits for its end. This
	 * connection does not count as one of 64; those that attach to a terminal do. */
	RECORD_OWNER = 128,
	/* of START: the program has the client's own streams. The descriptors behind the words are standard input, with RECORD_INPUT_FD, and
	 * standard output and error, with RECORD_OUTPUT_FDS; without these, the input is empty, and the result keeps the output. */
	RECORD_STREAMS = 256,
	RECORD_INPUT_FD = 512,
	RECORD_OUTPUT_FDS = 1024,
	RECORD_NO_RECEIPT = 2048, /* of START by an owner: the result needs no receipt */
	RECORD_WHOLE =
	    4096, /* of RESULT, by the client that started it: the file is that of result_write_file() */
	RECORD_LOG =
	    8192, /* of START: the descriptor before that of a terminal is a regular file, which gets all output */
	RECORD_PROGRESS = 16384, /* of START: the program reports its progress */
	RECORD_FOR_FILES =
	    32768, /* of START, with RECORD_STREAMS: the program changes files for its caller: the capability filesystem, not shell */
	/* of HELLO, with RECORD_OWNER: the answer has a memory file with what the client needs of the session's description. Only a keeper of the
	 * same program is asked. */
	RECORD_DESCRIBED = 65536,
	RECORD_FOLLOW =
	    131072, /* of ATTACH, to what was started with RECORD_OWNER: the program waits for this client, if that is slow */
	/* of START, with RECORD_STREAMS: a piece of code. The descriptors before those of the streams are a memory file (code_record.h), and the
	 * value for the code, if there is one. */
	RECORD_CODE = 262144,
	/* of START, with RECORD_STREAMS or RECORD_OWNER: the descriptor before those of the streams or the terminal is one end of a pair of sockets.
	 * The program finds it as its descriptor 5, and the client answers the calls that it makes there. */
	RECORD_FUNCTIONS = 524288,
	RECORD_FLAGS = 1048575,
};

struct record_head {
	uint32_t magic;
	uint16_t version, type;
	uint32_t flags, len;              /* of the body */
	char id[EXECUTION_ID_LENGTH + 8]; /* of the execution; "" for none; NUL to the end */
};

#define RECORD_BODY_MAX (RECORD_MAX - sizeof(struct record_head))

/* The memory file holds, one after the other and each with a final NUL: the policy as JSON, the ceiling as JSON or nothing, the words of
 * the program, the variables that it gets besides the policy's, and the variables of the caller that the policy may let in; with
 * has_audit, also the path of the audit file and the head of its line, a JSON object. The file's descriptor is the first behind the words. */
struct record_start {
	uint32_t has_ceiling, argc, set_count, caller_count;
	uint64_t bytes;         /* of the memory file */
	uint64_t output_max;    /* of each stream; more ends the program; 0: no limit */
	uint64_t keep_us;       /* the result, after the end */
	uint16_t rows, columns; /* of a terminal without a descriptor */
	uint32_t has_audit;
	char session
	    [RECORD_SESSION_BYTES]; /* id of the session that is meant, with a NUL; "": any of the name */
};

#define RECORD_START_OLD offsetof(struct record_start, session)

/* Of the body, in bytes. */
static inline size_t record_start_size(unsigned int version)
{
	return version < RECORD_VERSION_STREAMS ? RECORD_START_OLD : sizeof(struct record_start);
}

struct record_attach {
	uint64_t from[2]; /* of standard output and error */
};

struct record_piece {
	uint64_t bytes;      /* of the memory file */
	uint64_t timeout_us; /* 0: as long as the context's policy grants */
	/* Hexadecimal. The piece goes on without its client, and is kept after its end. */
	char key[RECORD_KEY_LENGTH];
};

#define RECORD_PIECE_BARE offsetof(struct record_piece, key) /* without a key */

struct record_extend {
	uint64_t us; /* more of the session's lifetime */
};

/* The signal goes to the program; what lives after the grace is killed. A grace of 0, or a second STOP: at once. */
struct record_stop {
	uint64_t grace_us;
	uint32_t signal;
	uint32_t unused;
};

struct record_size {
	uint16_t rows, columns;
};

enum record_counter {
	RECORD_COUNTER_CPU_US,
	RECORD_COUNTER_MEMORY,
	RECORD_COUNTER_MEMORY_PEAK,
	RECORD_COUNTER_PROCESSES,
	RECORD_COUNTER_READ_BYTES,
	RECORD_COUNTER_WRITTEN_BYTES,
	RECORD_COUNTERS_COUNT,
};

enum record_attached {
	RECORD_ATTACHED_STDOUT, /* bytes that the program has written by now */
	RECORD_ATTACHED_STDERR,
	RECORD_ATTACHED_ENDED,    /* 1: it has ended, and the end follows */
	RECORD_ATTACHED_TERMINAL, /* 1: it has a terminal */
	RECORD_ATTACHED_INPUT,    /* 1: its input is open */
};

struct record_answer {
	uint32_t request;                 /* enum record_type */
	uint32_t failed;                  /* then `error` says why */
	char id[EXECUTION_ID_LENGTH + 8]; /* of what START began */
	struct warder_error error;
	uint64_t values[RECORD_COUNTERS_COUNT]; /* UINT64_MAX: not known */
};

struct record_frame {
	uint64_t offset, time_us; /* since the epoch */
	uint32_t stream, unused;
};

struct record_gap {
	uint64_t from, to;
	uint32_t stream, unused;
};

struct record_end {
	int32_t cause; /* enum jail_cause */
	int32_t exit_code, signal;
	uint32_t session_end; /* enum session_end */
	uint64_t totals[2];
	char detail[512];
};

/* How a piece of code ended. All of it is the keeper's own knowledge. */
struct record_done {
	uint32_t end;         /* enum context_end */
	uint32_t piece;       /* its number; 0: it did not begin */
	uint32_t refused;     /* frames of the context */
	uint32_t interrupted; /* 1 */
	uint32_t timed_out;   /* 1 */
	uint32_t cut;         /* 1: the context said more than is kept */
	uint64_t wall_us;
	uint64_t bytes[2]; /* of output */
	char why[160];
	struct record_end last; /* of a context that has ended */
};

struct record {
	struct record_head head;
	union {
		struct record_start start;
		struct record_attach attach;
		struct record_size size;
		struct record_stop stop;
		struct record_extend extend;
		struct record_answer answer;
		struct record_frame frame;
		struct record_gap gap;
		struct record_end end;
		struct record_piece piece;
		struct record_done done;
		uint32_t number;
		char bytes[RECORD_BODY_MAX];
	};
};
_Static_assert(sizeof(struct record) == RECORD_MAX, "a record is one message");

/* Whether `len` bytes are a record of this version (or, in a HELLO, of any) whose body has the size that its type has. Nothing of it is
 * to be used before. */
bool record_valid(const struct record *record, size_t len);
/* Fill the head. */
void record_begin(struct record *record, enum record_type type, uint32_t flags, const char *id, size_t len);
/* 0; 1: the peer takes no more now (only with MSG_DONTWAIT in flags); -1: it is gone. fds: up to RECORD_FDS_MAX, or NULL. */
int record_send(int fd, const struct record *record, const int *fds, size_t fd_count, int flags);
/* 1 with a valid record and the descriptors that came, which are the caller's (-1 where none came); 0: the peer is gone; 2: nothing has
 * come (only with MSG_DONTWAIT); -1: the message was not a valid record. */
int record_receive(int fd, struct record *ret, int ret_fds[RECORD_FDS_MAX], int flags);
/* The bytes of a memory file that nobody can change any more. 0 with *ret, heap, with a final NUL that is not counted; -1 with *err: it is
 * not sealed, or not of that size. */
int record_read_file(int fd, size_t len, char **ret, struct warder_error *err);
/* A sealed memory file. -1 with errno. */
int record_make_file(const char *bytes, size_t len);

#endif
