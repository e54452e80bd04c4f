/*
 * process: the messages of the service process.Process, by which E2B's clients run programs in a sandbox.
 *
 * A table has one row per call: its name, whether it streams, and the members of its request. A request is parsed by its row; answers are
 * written by one function per event. Bytes are base64.
 *
 * Life of a request: process_parse() -> use -> process_request_done(). Texts of a request point into its document. Pure functions without
 * global state; any thread.
 */
#ifndef WARDER_HOST_WIRE_PROCESS_H
#define WARDER_HOST_WIRE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"

#define PROCESS_ARGS_MAX 4096
#define PROCESS_SIDE_MAX 65535 /* rows or columns of a terminal */

enum process_call {
	PROCESS_START,
	PROCESS_CONNECT,
	PROCESS_LIST,
	PROCESS_SEND_INPUT,
	PROCESS_STREAM_INPUT,
	PROCESS_CLOSE_STDIN,
	PROCESS_SEND_SIGNAL,
	PROCESS_UPDATE,
	PROCESS_CALLS,
};

enum process_stdin { PROCESS_STDIN_UNSET, PROCESS_STDIN_CLOSED, PROCESS_STDIN_OPEN };
/* A message of StreamInput. */
enum process_part { PROCESS_PART_BEGIN, PROCESS_PART_INPUT, PROCESS_PART_KEEPALIVE };

/* The process that is meant: by its tag, or if that is NULL by its number. */
struct process_selector {
	uint32_t pid;
	const char *tag;
};

struct process_size {
	uint16_t rows, columns;
};

struct process_request {
	struct json_value *document; /* owned */
	/* Start */
	const char *command, *directory, *tag; /* the latter two may be NULL */
	char **argv;      /* owned list: the command and its arguments; NULL-terminated */
	char **variables; /* owned list and texts, "NAME=value" */
	bool has_terminal;
	enum process_stdin input_mode;
	/* Start with a terminal, Update */
	struct process_size size;
	/* Connect, SendInput, StreamInput, CloseStdin, SendSignal, Update */
	struct process_selector selector;
	/* SendInput, StreamInput */
	enum process_part part;
	char *input; /* owned bytes */
	size_t input_len;
	bool input_of_terminal;
	/* SendSignal */
	int signal;
};

/* By the last part of its path, "SendInput". False: there is none. */
bool process_call_find(const char *name, enum process_call *ret);
/* Whether the request, the answer comes in frames. */
bool process_call_streams_request(enum process_call call);
bool process_call_streams_answer(enum process_call call);
/* -1 with *err (INVALID_REQUEST); *ret is then zeroed. */
int process_parse(enum process_call call, const char *json, size_t len, struct process_request *ret,
		  struct warder_error *err);
void process_request_done(struct process_request *request);

/* ---- events of Start and Connect ---- */

enum process_output { PROCESS_STDOUT, PROCESS_STDERR, PROCESS_TERMINAL };

/* How a process ended. Only an exit has exit_code, and only a signal has `signal`. */
struct process_end {
	const char *cause;  /* as in results: "exit", "memory"; a constant */
	const char *detail; /* what happened, for people, as in "memory: more than 64MiB"; may be NULL */
	int exit_code, signal;
};

void process_write_start(struct json_writer *w, uint32_t pid);
void process_write_data(struct json_writer *w, enum process_output output, const char *bytes, size_t len);
void process_write_keepalive(struct json_writer *w);
/* Clients show `error` to their users. So a limit that was reached stands there, and in "warder" for clients that know it. */
void process_write_end(struct json_writer *w, const struct process_end *end);

/* ---- the answer of List ---- */

struct process_listed {
	uint32_t pid;
	const char *tag, *directory; /* may be NULL */
	const char *const *argv;     /* at least the command */
};

/* One element of "processes". */
void process_write_listed(struct json_writer *w, const struct process_listed *process);

#endif
