/*
 * service: the resident service of a user (`warder serve --local`), which launches programs from one pool of parked jails, and the client
 * that asks it. The door of this folder.
 *
 *   client                                service (a thread for each connection)
 *   connect, check the peer          ->   check the peer: its user, its namespaces, and service_differs()
 *   request, words, descriptors      ->   launch
 *                                    <-   NO with the reason, and the client goes on alone; or ACCEPTED
 *                                    <-   NO (the launch failed, nothing has run), or STARTED
 *   STOP with a signal               ->   warder_stop()
 *                                    <-   ENDED with the result as a memory file
 * A client that goes away ends its run. Everything that leads somewhere comes as a descriptor, so that the client's rights decide.
 *
 * Both ends are one file on disk (service_differs() compares it), so that structs are sent as they lie in memory.
 */
#ifndef WARDER_RUNTIME_SERVICE_SERVICE_H
#define WARDER_RUNTIME_SERVICE_SERVICE_H

#include <stdbool.h>

#include "base/error.h"
#include "policy/policy.h"
#include "runtime/library/result.h"

#define SERVICE_NAME        ".service" /* among the sessions' sockets, none of which begins with a '.' */
#define SERVICE_CONNECTIONS 32
#define SERVICE_RECORD_S    5
#define SERVICE_IDLE_US     UINT64_C(600000000)
#define SERVICE_WHY         200 /* bytes of a reason */

/* ---- records: request.c ---- */

enum service_flag {
	SERVICE_CEILING = 1,
	SERVICE_PARENT = 2,
	SERVICE_INPUT = 4,
	SERVICE_OUTPUT = 8, /* two descriptors that the output is passed on to */
	SERVICE_NO_RECEIPT = 16,
	SERVICE_FLAGS = 31,
};

/* The memory file of words holds, each with a final NUL: the policy as JSON, the ceiling as JSON (SERVICE_CEILING), the cgroup parent
 * (SERVICE_PARENT), and the words of the program. */
struct service_request {
	uint32_t magic, size; /* of this struct */
	uint32_t flags, argc;
	uint64_t bytes; /* of the memory file */
	uint64_t output_max;
};

struct service_words {
	char *bytes;                           /* owned; the rest points into it */
	const char *policy, *ceiling, *parent; /* the last two may be NULL */
	char **argv;                           /* owned list */
};

/* Whether `len` bytes are a request. Nothing of it is to be used before. */
bool service_request_valid(const struct service_request *request, size_t len);
/* Descriptors that come with it, the words first. */
size_t service_request_fds(const struct service_request *request);
/* Takes `bytes`, of which request->bytes are there and one NUL behind. 0; -1 with *err: not as the request says. */
int service_take_words(const struct service_request *request, char *bytes, struct service_words *ret,
		       struct warder_error *err);
void service_words_done(struct service_words *words);

/* ---- the result: answer.c ---- */

/* A memory file; -1 with errno. */
int service_write_result(const struct warder_result *result);
/* *ret is zeroed. -1: it is not a result. */
int service_read_result(int fd, struct warder_result *ret);

/* ---- who asks: conditions.c ---- */

/* Whether what a launch inherits of process `pid` is other than ours: true with the reason in `why`. */
bool service_differs(int pid, char why[SERVICE_WHY]);

/* ---- both sides ---- */

/* Serve until `came`() or until nobody has asked for idle_us. `ready` is called once it listens. 0; -1 with *err (CONFLICT: one runs). */
int service_run(uint64_t idle_us, int (*came)(void *context), void (*ready)(void), struct warder_error *err);

struct service_command {
	const struct policy *policy;
	const struct policy *ceiling; /* or NULL */
	const char *cgroup_parent;    /* or NULL */
	char *const *argv;
	int input_fd;          /* -1: none */
	const int *output_fds; /* two, or NULL: kept in the result */
	uint64_t output_max;
	bool no_receipt;
};

/* 0 with *ret_fd, of the program that runs; 1 with the reason: nothing has run, or (reason "") no service is there. */
int service_start(const struct service_command *command, int *ret_fd, char why[SERVICE_WHY]);
/* From a signal handler, too. */
void service_stop(int fd, int signal, uint64_t grace_us);
/* Wait for the end. If the service dies before, the result says so. -1 with *err: no memory. */
int service_wait(int fd, struct warder_result **ret, struct warder_error *err);
/* Whether one runs for this user. */
bool service_is_there(void);

#endif
