/*
 * started: a program that a service runs, by the events of E2B's process.Process/Start. Private to remote/.
 *
 * Life: zeroed with `room` or `pass` set -> started_take() for each message of the stream -> started_write() -> started_done(). Pure; any thread.
 * The service may say anything: what does not follow the protocol is an error, and no number is used before its range is checked.
 */
#ifndef WARDER_REMOTE_STARTED_H
#define WARDER_REMOTE_STARTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"

/* Bytes of output that a result can hold: as base64 they are less than REMOTE_RESULT_MAX. */
#define STARTED_OUTPUT_MAX ((uint64_t)11 << 20)

struct started_stream {
	char *bytes; /* owned */
	size_t len;
	uint64_t room; /* bytes of it that are wanted */
	uint64_t total;
};

struct started {
	struct started_stream streams[2]; /* stdout, stderr */
	bool runs;                        /* the event "start" came */
	bool ended;                       /* the event "end" came */
	bool over;                        /* the stream has its last message */
	bool late;                        /* which says that the program's time was over */
	bool unknown;                     /* or that there is no such program */
	/* Gets all output as it comes, so that nothing is counted; false ends the stream. NULL: `room` says what is kept. */
	bool (*pass)(void *context, int stream, const char *bytes, size_t len);
	void *context; /* of pass() */
	uint32_t pid;
	int exit_code;     /* -1: a signal ended it */
	int signal;        /* 0: it exited, or the service does not name one that is known */
	char error[300];   /* what the service says about the end, without control characters; or "" */
	char refusal[300]; /* of the last message; or "" */
};

/* -1 with *err: it is not what the protocol has here. */
int started_take(struct started *started, bool last, const char *message, size_t len,
		 struct warder_error *err);
/* The members "cause" (a name as results have it), "exitCode", "signal", "stdout", "stderr" and "detail", into the object that is open. `cause` and
 * `detail` NULL: those of the program's own end. */
void started_write(const struct started *started, const char *cause, const char *detail,
		   struct json_writer *w);
/* The members "limitsHit", if the cause is a limit, and "receipt", without rows. */
void started_write_receipt(const char *cause, struct json_writer *w);
void started_done(struct started *started);

#endif
