/*
 * service: the resident service of a user (`warder serve --local`), which launches programs from one pool of parked jails, and the client
 * that asks it. Other folders include only this header of the folder.
 *
 *   client                                service (a thread for each connection)
 *   connect, check the peer          ->   check the peer: its user, its namespaces, and service_differs()
 *   request, words, descriptors      ->   launch
 *                                    <-   NO with the reason, and the client starts the jail itself; or ACCEPTED
 *                                    <-   NO (the launch failed, nothing has run)
 *   STOP with a signal               ->   warder_stop()
 *                                    <-   ENDED with the result as a memory file
 * If a client disconnects, its run ends. The client sends its standard streams as descriptors, so the client's rights to them count.
 *
 * Both ends are the same program file (service_differs() compares it), so structs are sent as they lie in memory.
 */
#ifndef WARDER_RUNTIME_SERVICE_SERVICE_H
#define WARDER_RUNTIME_SERVICE_SERVICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "policy/policy.h"
#include "runtime/library/library.h"
#include "runtime/library/order.h"
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
	SERVICE_VALUE = 32, /* a descriptor that the program finds as its descriptor 4 */
	SERVICE_CODE = 64,  /* a piece of code: everything of struct order_code */
	SERVICE_COLLECT = 128,
	SERVICE_QUESTION = 256, /* alone, without words: whether the service would launch */
	SERVICE_FLAGS = 511,
};

/* The memory file of words holds, each with a final NUL: the policy as JSON, the ceiling as JSON (SERVICE_CEILING), the cgroup parent
 * (SERVICE_PARENT), and the words of the program. With SERVICE_CODE there follow the bytes of its order (order.h). */
struct service_request {
	uint32_t magic, size; /* of this struct */
	uint32_t flags, argc;
	uint64_t bytes; /* of the memory file */
	uint64_t output_max;
	uint64_t secure_bits; /* of the client, as it says */
	struct order_code code;
};

struct service_words {
	char *bytes;                           /* owned; the rest points into it */
	const char *policy, *ceiling, *parent; /* the last two may be NULL */
	char **argv;                           /* owned list */
	struct order_words code;               /* of SERVICE_CODE */
};

/* Whether `len` bytes are a valid request. Call it before any use of the request. */
bool service_request_valid(const struct service_request *request, size_t len);
/* The number of descriptors that come with it; the first one is that of the words. */
size_t service_request_fds(const struct service_request *request);
/* Take ownership of `bytes`: request->bytes of them, and a NUL after them. 0; -1 with *err: they do not match the request. */
int service_take_words(const struct service_request *request, char *bytes, struct service_words *ret,
		       struct warder_error *err);
void service_words_done(struct service_words *words);

/* ---- who asks: conditions.c ---- */

/* How the kernel schedules a process. */
struct service_priority {
	long nice, disk; /* as getpriority(2) and ioprio_get(2) return them */
	uint32_t policy, priority;
};

/* What this process compares with its clients. It cannot change its own namespaces, its root directory or its program file: these are
 * read once. Others can change the rest: it is also read for each client, the texts by descriptors that stay open. */
enum service_text {
	SERVICE_STATUS,
	SERVICE_CGROUP,
	SERVICE_LIMITS,
	SERVICE_OOM,
	SERVICE_LABEL,
	SERVICE_TEXTS,
};
#define SERVICE_OBJECTS    2
#define SERVICE_NAMESPACES 6
#define SERVICE_TEXT_BYTES 8192
struct service_object {
	uint64_t device, inode, mount;
};
struct service_self {
	struct service_object object[SERVICE_OBJECTS];
	uint64_t namespace[SERVICE_NAMESPACES];
	int text_fd[SERVICE_TEXTS]; /* that of the label is -1 if this kernel shows none */
	char text[SERVICE_TEXTS][SERVICE_TEXT_BYTES];
	struct service_priority priority;
	_Atomic(const char *)
	    changed; /* name of the first condition that was changed after service_self_open(); NULL: none */
};

/* 0; -1 with errno, and *ret is closed: /proc cannot be read. */
int service_self_open(struct service_self *ret);
void service_self_close(struct service_self *self);
/* Whether a launch by process `pid`, whose pid and user namespaces are this process's, would inherit something else than one by a thread of
 * this process, or whether this process has been changed since service_self_open(): true with the reason in `why`. */
bool service_differs(struct service_self *self, int pid, char why[SERVICE_WHY]);
/* The part of it that never changes, seen from a client: `pid` is the service. True with the reason. */
bool service_is_another(int pid, char why[SERVICE_WHY]);
/* The same of what only the process itself can read, and says: its secure bits. */
bool service_differs_as_said(uint64_t secure_bits, char why[SERVICE_WHY]);
/* Of this process; UINT64_MAX: not known. */
uint64_t service_secure_bits(void);

/* ---- both sides ---- */

/* Serve until `came`() returns non-zero, until no request has come for idle_us, or until a client has found this process changed
 * (service_differs()). Then programs that run may finish, unless `came`() returns non-zero: it ends them. `forks`: with a fork server
 * (struct warder_pool_options). Call `ready` when it listens. 0; -1 with *err (CONFLICT: one runs already, or this process was changed). */
int service_run(uint64_t idle_us, bool forks, int (*came)(void *context), void (*ready)(void),
		struct warder_error *err);

struct service_command {
	const struct policy *policy;
	const struct policy *ceiling; /* or NULL */
	const char *cgroup_parent;    /* or NULL */
	char *const *argv;
	int input_fd;          /* -1: none */
	const int *output_fds; /* two, or NULL: kept in the result */
	uint64_t output_max;
	bool no_receipt;
	const struct library_order *code; /* what a piece of code needs besides; or NULL */
};

/* Have a program started. `gives_up` is asked about once a second, and after each signal, until the service has accepted. 0: it has, and *ret_fd
 * is the connection; 1 with the reason: nothing has run; the reason is "" if no service is there. */
int service_start(const struct service_command *command, bool (*gives_up)(void), int *ret_fd,
		  char why[SERVICE_WHY]);
/* Send a signal to the program; after grace_us it is killed. Async-signal-safe. */
void service_stop(int fd, int signal, uint64_t grace_us);
/* Wait for the end. `gives_up` is asked as above while the service is silent. If the service dies first, the caller gives up, or the service is
 * stopped for some seconds after the wall time, the result says so. 0 with *ret; SERVICE_SILENT with *ret: the caller has given up, or
 * the service is stopped; SERVICE_NOT_RUN with the reason: the program was not started; -1 with *err: no memory. */
int service_wait(int fd, uint64_t wall_time_us, bool (*gives_up)(void), struct warder_result **ret,
		 char why[SERVICE_WHY], struct warder_error *err);
#define SERVICE_SILENT  1
#define SERVICE_NOT_RUN 2
/* Whether a service runs for this user. */
bool service_is_there(void);
/* Whether it would launch for this process now; it is asked, as service_start() does. False with the reason; "" if no service is there. */
bool service_may_serve(bool *ret_there, char why[SERVICE_WHY]);

#endif
