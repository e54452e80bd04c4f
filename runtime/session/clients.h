/*
 * clients: who speaks records to a keeper (records.h), from the hello to the end of the connection. Private to runtime/session/.
 *
 * Life: client_new() when a connection begins with a record -> client_take() for each record that can be read, client_push() whenever
 * there may be something to send -> client_free(). The connection's descriptor is the keeper's. The keeper's main thread only.
 *
 * A client that has not taken what waits for it for CLIENT_PATIENCE_US is dropped. If it reads the output of a program that waits for it, or of one with
 * a terminal, this time begins at the end of the program. While it has not taken an answer, or its input has no room in the program's pipe, no further
 * request of it is read.
 */
#ifndef WARDER_RUNTIME_SESSION_CLIENTS_H
#define WARDER_RUNTIME_SESSION_CLIENTS_H

#include "runtime/session/execution.h"
#include "runtime/session/records.h"

#define CLIENTS_MAX 64

struct clients {
	struct executions *all;
	size_t count;
	int (*pause)(void *keeper, bool paused, struct warder_error *err); /* the session */
	int (*extend)(void *keeper, uint64_t us, struct warder_error *err);
	void (*measure)(void *keeper, struct jail_counters *ret);
	char *(*describe)(void *keeper); /* what RECORD_DESCRIBED asks for, heap; NULL: no memory */
	void *keeper;
	size_t joined;         /* executions of others in the session, which count against EXECUTIONS_MAX */
	struct record in, out; /* of the one that is served */
};

struct client;

struct client *client_new(struct clients *clients, uint64_t number);
/* Read one record and act. False: the connection is done with. stranger: of other namespaces, to be refused. */
bool client_take(struct client *client, int fd, bool stranger);
/* Send what there is, and go on with input that had no room. False: the connection is done with. */
bool client_push(struct client *client, int fd);
/* It has said in its hello that it starts an execution of its own. */
bool client_is_owner(const struct client *client);
/* The session has ended: what the client waits for, also for a start that was not read any more. */
void client_tell_end(struct client *client, int fd, enum session_end end);
/* What to poll the connection for. */
short client_events(const struct client *client);
/* A program's input that it waits for to have room, or -1. */
int client_input(const struct client *client);
/* The clock at which it will have waited too long; UINT64_MAX: it does not wait. */
uint64_t client_deadline(const struct client *client);
/* Accepts NULL. */
void client_free(struct client *client);

#endif
