/*
 * execution_elsewhere: an execution in a session on another machine, until it ends. Private to cli/.
 */
#ifndef WARDER_RUNTIME_CLI_EXECUTION_ELSEWHERE_H
#define WARDER_RUNTIME_CLI_EXECUTION_ELSEWHERE_H

#include "runtime/cli/execution_name.h"
#include "runtime/cli/remote_place.h"
#include "runtime/library/result.h"

/* Who reads the output in place of our streams. */
struct execution_reader {
	/* Returns 0, or an errno, which ends it. */
	int (*output)(void *context, enum warder_stream stream, uint64_t offset, const char *bytes,
		      size_t len);
	/* This part left the spool of the host before it was read. */
	void (*gap)(void *context, enum warder_stream stream, uint64_t from, uint64_t to);
	bool (*is_enough)(void *context); /* asked again and again, after look_ms at the latest */
	int look_ms;
	void *context;
};

struct execution_elsewhere {
	const struct remote_place *place;
	const struct execution_name *name;
	bool output;      /* is shown */
	bool input;       /* our standard input is the program's */
	bool keeps_input; /* also after the end of ours */
	/* On a host of the kind warder alone: */
	uint64_t from[2];                      /* the offsets at which the output begins */
	const struct execution_reader *reader; /* or NULL */
};

/* Follow the program over one connection after the other. The lease is renewed meanwhile. 1: it has ended, and *ret has how, or says that this is not known;
 * with a reader, *ret is NULL. 0: a signal came, or the reader has enough. -1 with *err. */
int execution_elsewhere_follow(const struct execution_elsewhere *how, struct warder_result **ret,
			       struct warder_error *err);

#endif
