/*
 * processes: the programs that run in a sandbox, by the calls of E2B's process.Process. Private to remote/.
 *
 * The id of an execution is the number that the service has for the program. The service says nothing about a program that has ended.
 */
#ifndef WARDER_REMOTE_PROCESSES_H
#define WARDER_REMOTE_PROCESSES_H

#include "base/json.h"
#include "remote/call.h"

#define PROCESSES_INPUT  "/process.Process/SendInput"
#define PROCESSES_CLOSE  "/process.Process/CloseStdin"
#define PROCESSES_SIGNAL "/process.Process/SendSignal"

/* A request about one program, with the name of a signal or input in base64, or NULL: heap. NULL without memory. */
char *processes_body(uint32_t pid, const char *signal, const char *input);
/* The name in the protocol, which has only two; NULL: it has none for the signal. */
const char *processes_signal(int number);
/* The member "id". */
void processes_write_id(struct json_writer *w, uint32_t pid);
/* The number in the path of the call. False: it is none, and the call has its answer. */
bool processes_pid(struct call *call, uint32_t *ret);

/* Answer a call: list them; send one a signal; write to its input, or close it. */
void processes_list(struct call *call);
void processes_send_signal(struct call *call);
void processes_write(struct call *call);

#endif
