#include "runtime/session/clients.h"

#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "runtime/library/result.h"
#include "runtime/session/keeper_agent.h"
#include "runtime/session/keeper_context.h"

#define LINES_WAITING_MAX 16384 /* bytes that the client has not read */

/* Input that has no room in the program's pipe yet, or has to wait for that of another client. */
struct held {
	bool there, more, unanswered;
	char *bytes; /* owned */
	size_t len, at;
};

/* An answer that the client's socket had no room for. */
struct unsent {
	bool there;
	struct record_answer answer;
	int fd; /* owned, or -1 */
};

struct client {
	struct clients *clients;
	uint64_t number;
	uint16_t version; /* that it speaks: RECORD_VERSION, or the one before */
	bool greeted;
	bool owner;              /* RECORD_OWNER: it does not count as a client */
	struct execution *owned; /* that it started with RECORD_STREAMS or RECORD_OWNER; or NULL */
	struct execution *starts, *reads, *waits, *writes;
	struct execution *asks; /* the context of `piece` */
	struct piece *piece;
	struct piece_event **event; /* of `piece`: the place of the first one that was not sent */
	bool piece_begun;           /* the cursor is the piece's */
	struct ring_cursor cursor;  /* of `reads`, or of the piece */
	struct held held;           /* for `writes` */
	struct unsent unsent;
	uint64_t blocked_us; /* since when it takes nothing; 0: it does */
};

struct client *client_new(struct clients *clients, uint64_t number)
{
	struct client *client = calloc(1, sizeof(*client));

	if (!client)
		return NULL;
	client->clients = clients;
	client->number = number;
	client->version = RECORD_VERSION;
	client->unsent.fd = -1;
	clients->count++;
	return client;
}

static void use(struct execution **place, struct execution *execution)
{
	struct execution *before = *place;

	if (execution)
		execution->users++;
	if (before)
		before->users--;
	*place = execution;
}

/* Its input is complete, or will never be. */
static void end_writing(struct client *client)
{
	if (client->writes && client->writes->writer == client->number)
		client->writes->writer = 0;
	use(&client->writes, NULL);
	free(client->held.bytes);
	client->held = (struct held){ 0 };
}

static bool follows(const struct client *client)
{
	return client->reads && client->reads->follower == &client->cursor;
}

static void end_reading(struct client *client)
{
	if (follows(client))
		execution_follow_by(client->reads, NULL);
	use(&client->reads, NULL);
}

void client_free(struct client *client)
{
	if (!client)
		return;
	end_writing(client);
	use(&client->starts, NULL);
	end_reading(client);
	use(&client->waits, NULL);
	if (client->piece)
		piece_leave(client->asks, client->piece);
	use(&client->asks, NULL);
	if (client->owned)
		execution_disown(client->owned);
	use(&client->owned, NULL);
	fd_done(&client->unsent.fd);
	client->clients->count -= !client->owner;
	free(client);
}

/* ---- sending ---- */

/* 0: sent; 1: later; -1: it is gone. */
static int put(struct client *client, int fd, const int *fds, size_t fd_count)
{
	int sent;

	client->clients->out.head.version = client->version;
	sent = record_send(fd, &client->clients->out, fds, fd_count, MSG_DONTWAIT);
	if (sent == 0)
		client->blocked_us = 0;
	else if (sent > 0 && !client->blocked_us)
		client->blocked_us = clock_us();
	return sent;
}

static int put_answer(struct client *client, int fd)
{
	struct unsent *unsent = &client->unsent;
	struct record *out = &client->clients->out;
	int sent;

	record_begin(out, RECORD_ANSWER, 0, NULL, sizeof(out->answer));
	out->answer = unsent->answer;
	sent = put(client, fd, &unsent->fd, unsent->fd >= 0);
	if (sent > 0)
		return 1;
	fd_done(&unsent->fd);
	unsent->there = false;
	return sent;
}

/* False: it is gone. */
static bool answer(struct client *client, int fd, enum record_type request,
		   const struct warder_error *failure, const uint64_t *values, int text_fd)
{
	client->unsent = (struct unsent){ .there = true,
					  .answer = { .request = request, .failed = failure != NULL },
					  .fd = text_fd };
	if ((request == RECORD_START || request == RECORD_RESTART || request == RECORD_FORK) &&
	    client->starts)
		memcpy(client->unsent.answer.id, client->starts->id, sizeof(client->starts->id));
	if (failure)
		client->unsent.answer.error = *failure;
	if (values)
		memcpy(client->unsent.answer.values, values, sizeof(client->unsent.answer.values));
	return put_answer(client, fd) >= 0;
}

static bool answer_text(struct client *client, int fd, enum record_type request, char *text)
{
	struct warder_error err = { 0 };
	const int text_fd = text ? record_make_file(text, strlen(text)) : -1;

	free(text);
	if (text_fd < 0)
		error_no_memory(&err, NULL);
	return answer(client, fd, request, text_fd < 0 ? &err : NULL, NULL, text_fd);
}

/* ---- requests ---- */

static int check_open(const struct clients *clients, struct warder_error *err)
{
	if (clients->all->paused)
		return error_set(err, WARDER_ERROR_CONFLICT, "session", EXECUTIONS_PAUSED,
				 clients->all->session, clients->all->session);
	if (clients->all->copies)
		return error_set(err, WARDER_ERROR_CONFLICT, "session", EXECUTIONS_COPIED,
				 clients->all->session);
	return 0;
}

static int check_room(const struct clients *clients, struct warder_error *err)
{
	if (check_open(clients, err) < 0)
		return -1;
	return clients->joined + executions_running(clients->all) < EXECUTIONS_MAX
		   ? 0
		   : error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
			       "the session has %d executions, as many as it can have; wait until one has "
			       "ended",
			       EXECUTIONS_MAX);
}

/* Whoever has checked a policy against a session's means that one. */
static int check_meant(const struct clients *clients, const struct record_start *start,
		       struct warder_error *err)
{
	return !*start->session || strcmp(start->session, clients->all->session_id) == 0
		   ? 0
		   : error_set(err, WARDER_ERROR_CONFLICT, "name",
			       "session %.64s ended, and another has its name; open it again",
			       clients->all->session);
}

static bool connect_agent(struct client *client, int fd)
{
	struct executions *all = client->clients->all;
	struct warder_error err = { 0 };
	int agent_fd = -1;

	if (session_check_capability(all->spec, WARDER_SESSION_FILESYSTEM, &err) < 0 ||
	    check_open(client->clients, &err) < 0 || executions_connect_agent(all, &agent_fd, &err) < 0)
		return answer(client, fd, RECORD_AGENT, &err, NULL, -1);
	return answer(client, fd, RECORD_AGENT, NULL, NULL, agent_fd);
}

/* Answered when the program runs, or cannot. */
static int start(struct client *client, const int fds[RECORD_FDS_MAX], struct warder_error *err)
{
	const struct record *in = &client->clients->in;
	const bool owned = in->head.flags & (RECORD_STREAMS | RECORD_OWNER);
	struct record_start start = { 0 };
	struct execution *execution;
	char *bytes;

	memcpy(&start, &in->start, in->head.len);
	start.session[sizeof(start.session) - 1] = '\0';
	if (client->starts || client->owned)
		return error_set(err, WARDER_ERROR_CONFLICT, NULL,
				 "the last start has not been answered yet");
	if (owned != client->owner)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL,
				 "the hello does not fit the request");
	if (check_meant(client->clients, &start, err) < 0 || check_room(client->clients, err) < 0 ||
	    record_read_file(fds[0], start.bytes, &bytes, err) < 0 ||
	    executions_start(client->clients->all, in->head.id, in->head.flags, &start, bytes, fds + 1,
			     &execution, err) < 0)
		return -1;
	execution->starter = client->number;
	use(&client->starts, execution);
	if (owned)
		use(&client->owned, execution);
	return 1;
}

static int restart(struct client *client, struct execution *execution, struct warder_error *err)
{
	struct execution *begun;

	if (client->starts)
		return error_set(err, WARDER_ERROR_CONFLICT, NULL,
				 "the last start has not been answered yet");
	if (check_room(client->clients, err) < 0 || executions_restart(execution, &begun, err) < 0)
		return -1;
	use(&client->starts, begun);
	return 1;
}

static int begin_branch(struct client *client, struct execution *execution, struct warder_error *err)
{
	const struct record *in = &client->clients->in;
	struct execution *begun;
	char name[SESSION_NAME_MAX + 1];

	snprintf(name, sizeof(name), "%.*s", (int)in->head.len, in->bytes);
	if (client->starts)
		return error_set(err, WARDER_ERROR_CONFLICT, NULL,
				 "the last start has not been answered yet");
	if (check_room(client->clients, err) < 0 ||
	    executions_fork(execution, name, in->head.flags & RECORD_KEEP_SEED, &begun, err) < 0)
		return -1;
	use(&client->starts, begun);
	return 1;
}

static void watch_piece(struct client *client, struct execution *execution, struct piece *piece)
{
	client->piece = piece;
	client->event = &piece->events;
	client->piece_begun = false;
	use(&client->asks, execution);
}

/* Watch the piece that has the key. 0: there is none; 1; -1 with *err. */
static int watch_again(struct client *client, const char *key, struct warder_error *err)
{
	struct execution *of;
	struct piece *piece;
	const int found = pieces_find(client->clients->all, key, &of, &piece, err);

	if (found <= 0)
		return found;
	piece->watchers++;
	watch_piece(client, of, piece);
	return 1;
}

static int check_reads_nothing(const struct client *client, struct warder_error *err)
{
	return client->piece || client->reads ? error_set(err, WARDER_ERROR_CONFLICT, "id",
							  "this connection reads something else already")
					      : 0;
}

/* What follows is the piece's output, what it shows, and its end. */
static int begin_piece(struct client *client, struct execution *execution, int code_fd,
		       struct warder_error *err)
{
	const struct record *in = &client->clients->in;
	struct record_piece asked = { 0 };
	struct piece *piece;
	char *code;
	int added = 0;

	memcpy(&asked, &in->piece, in->head.len);
	if (check_reads_nothing(client, err) < 0)
		return -1;
	if (*asked.key)
		added = watch_again(client, asked.key, err);
	if (added != 0)
		return added < 0 ? -1 : 0;
	if (record_read_file(code_fd, asked.bytes, &code, err) < 0)
		return -1;
	added = keeper_context_add(execution, code, &asked, !(in->head.flags & RECORD_AT_ONCE), &piece, err);
	free(code);
	if (added < 0)
		return -1;
	watch_piece(client, execution, piece);
	/* Send the code first, so that the interpreter works while the keeper answers the client. */
	keeper_contexts_step(execution->all);
	return 0;
}

static int repeat_piece(struct client *client, struct warder_error *err)
{
	const int found =
	    check_reads_nothing(client, err) < 0 ? -1 : watch_again(client, client->clients->in.bytes, err);

	return found > 0   ? 0
	       : found < 0 ? -1
			   : error_set(err, WARDER_ERROR_NOT_FOUND, "key", "no piece of code has this key");
}

static int attach(struct client *client, struct execution *execution, uint64_t *values,
		  struct warder_error *err)
{
	const uint64_t *from = client->clients->in.attach.from;

	if (client->reads || client->piece)
		return error_set(err, WARDER_ERROR_CONFLICT, "id",
				 "this connection is attached to execution %s already",
				 client->reads ? client->reads->id : client->asks->id);
	for (int i = 0; i < RING_STREAMS; i++)
		values[RECORD_ATTACHED_STDOUT + i] = execution->spool.totals[i];
	values[RECORD_ATTACHED_ENDED] = execution->state == EXECUTION_ENDED;
	values[RECORD_ATTACHED_TERMINAL] = (execution->flags & RECORD_TERMINAL) != 0;
	values[RECORD_ATTACHED_INPUT] = execution->input_fd >= 0;
	for (int i = 0; i < RING_STREAMS; i++)
		if (from[i] > values[RECORD_ATTACHED_STDOUT + i])
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, "from",
					 "%s of execution %s has %llu bytes so far, and %llu is beyond them",
					 i ? "standard error" : "standard output", execution->id,
					 (unsigned long long)values[RECORD_ATTACHED_STDOUT + i],
					 (unsigned long long)from[i]);
	client->cursor = (struct ring_cursor){ .next = { from[0], from[1] } };
	use(&client->reads, execution);
	if (client->clients->in.head.flags & RECORD_FOLLOW && execution->flags & RECORD_OWNER)
		execution_follow_by(execution, &client->cursor);
	return 0;
}

/* The program reads no more. Another client than the one that started it does not know whether the program had all that it was to have. */
static void learn_end(const struct client *client, struct execution *execution)
{
	execution->input_ended |= execution->starter == client->number;
}

static int hold_input(struct client *client, struct execution *execution, struct warder_error *err)
{
	const struct record *in = &client->clients->in;

	if (execution->input_fd < 0)
		learn_end(client, execution);
	/* The end of a text of which everything was taken is no fault, though the program has ended meanwhile. */
	if (execution->input_fd < 0 && (in->head.len || client->writes != execution))
		return error_set(err, WARDER_ERROR_CONFLICT, "id", "the input of execution %s is closed%s",
				 execution->id,
				 execution->flags & (RECORD_OPEN_INPUT | RECORD_TERMINAL)
				     ? "; the program reads no more, or a client has closed it"
				     : "; an execution keeps its input open if it was started with -i or -t");
	if (client->writes && client->writes != execution)
		return error_set(err, WARDER_ERROR_CONFLICT, "id",
				 "the input of execution %s is not complete yet", client->writes->id);
	client->held.bytes = malloc(in->head.len + 1);
	if (!client->held.bytes)
		return error_no_memory(err, NULL);
	memcpy(client->held.bytes, in->bytes, in->head.len);
	client->held.len = in->head.len;
	client->held.at = 0;
	client->held.more = in->head.flags & RECORD_MORE;
	client->held.unanswered = in->head.flags & RECORD_UNANSWERED;
	client->held.there = true;
	if (!client->writes)
		use(&client->writes, execution);
	return 1;
}

static int close_input(struct client *client, struct execution *execution, struct warder_error *err)
{
	if (execution->writer && execution->writer != client->number)
		return error_set(err, WARDER_ERROR_CONFLICT, "id",
				 "another client is writing to execution %s; close its input again when that "
				 "is done",
				 execution->id);
	execution_close_input(execution);
	return 0;
}

static int send_signal(struct client *client, struct execution *execution, struct warder_error *err)
{
	const uint32_t number = client->clients->in.number;

	if (number < 1 || number > (uint32_t)SIGRTMAX)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "signal",
				 "%u is not a signal; 1 to %d are", number, SIGRTMAX);
	return execution_signal(execution, (int)number, err);
}

/* Its owner has everything. */
static void let_go(struct client *client)
{
	execution_delivered(client->owned);
	use(&client->owned, NULL);
}

/* About one execution. 0: to be answered so; 1: later; -1 with *err. */
static int act(struct client *client, struct execution *execution, int file_fd, uint64_t *values,
	       struct warder_error *err)
{
	const struct record *in = &client->clients->in;

	switch ((enum record_type)client->clients->in.head.type) {
	case RECORD_ATTACH:
		return attach(client, execution, values, err);
	case RECORD_WRITE:
		return hold_input(client, execution, err);
	case RECORD_CLOSE:
		return execution->context ? keeper_context_answer(execution, NULL, 0, err)
					  : close_input(client, execution, err);
	case RECORD_SIGNAL:
		return send_signal(client, execution, err);
	case RECORD_RESIZE:
		return execution_resize(execution, &client->clients->in.size, err);
	case RECORD_COUNTERS:
		return execution_counters(execution, values, err);
	case RECORD_RESULT:
		if (in->head.flags & RECORD_WHOLE && client->owned != execution)
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL,
					 "the execution is another client's");
		use(&client->waits, execution);
		return 0;
	case RECORD_STOP:
		if (client->owned == execution)
			execution_stop(execution, &in->stop);
		return 1;
	case RECORD_TAKEN:
		if (client->owned == execution && execution_handed_fd(execution) >= 0)
			let_go(client);
		return 1;
	case RECORD_PIECE:
		return begin_piece(client, execution, file_fd, err);
	case RECORD_INPUT:
		return keeper_context_answer(execution, in->bytes, in->head.len, err);
	case RECORD_INTERRUPT:
		return keeper_context_interrupt(execution, err);
	case RECORD_RESTART:
		return restart(client, execution, err);
	case RECORD_DELETE:
		return keeper_context_delete(execution, err);
	case RECORD_FORK:
		return begin_branch(client, execution, err);
	case RECORD_HELLO:
	case RECORD_START:
	case RECORD_LIST:
	case RECORD_AGENT:
	case RECORD_ANSWER:
	case RECORD_FRAME:
	case RECORD_GAP:
	case RECORD_END:
	case RECORD_PAUSE:
	case RECORD_EXTEND:
	case RECORD_SHOWN:
	case RECORD_DONE:
	case RECORD_LINES:
	case RECORD_REPEAT:
	case RECORD_TYPES:
		break;
	}
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL,
			 "a client does not send records of that type");
}

static int greet(struct client *client, bool stranger, struct warder_error *err)
{
	const struct record_head *head = &client->clients->in.head;

	if (stranger)
		return error_set(
		    err, WARDER_ERROR_REJECTED, "name",
		    "the session answers in its keeper's namespaces of processes and users alone: not in a "
		    "jail, and not in a container; ask for it where it was started");
	if (head->version < RECORD_VERSION_OLD || head->version > RECORD_VERSION)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
				 "the client speaks version %u, and this session's keeper %u and %u: use the "
				 "version of Warder that started the session, or start it again",
				 head->version, RECORD_VERSION_OLD, RECORD_VERSION);
	client->version = head->version;
	if (head->flags & RECORD_OWNER) {
		client->owner = true;
		client->clients->count--;
	}
	if (!client->owner && client->clients->count > CLIENTS_MAX)
		return error_set(
		    err, WARDER_ERROR_UNAVAILABLE, NULL,
		    "the session has %d clients, as many as it can have; try again when one has gone",
		    CLIENTS_MAX);
	client->greeted = true;
	return 0;
}

/* The connection's first request. False: it is done with. */
static bool answer_hello(struct client *client, int fd, bool stranger)
{
	const struct clients *clients = client->clients;
	struct warder_error err = { 0 };

	if (greet(client, stranger, &err) < 0) {
		answer(client, fd, RECORD_HELLO, &err, NULL, -1);
		return false;
	}
	return client->owner && clients->in.head.flags & RECORD_DESCRIBED
		   ? answer_text(client, fd, RECORD_HELLO, clients->describe(clients->keeper))
		   : answer(client, fd, RECORD_HELLO, NULL, NULL, -1);
}

/* A word of an owner's about its execution. */
static bool is_unanswered(enum record_type type)
{
	return type == RECORD_STOP || type == RECORD_TAKEN;
}

/* One request whose descriptors are the caller's. False: the connection is done with. */
static bool handle(struct client *client, int fd, const int fds[RECORD_FDS_MAX], bool stranger)
{
	const struct record_head *head = &client->clients->in.head;
	const enum record_type type = (enum record_type)head->type;
	uint64_t values[RECORD_COUNTERS_COUNT] = { 0 };
	struct jail_counters counters = { 0 };
	struct warder_error err = { 0 };
	struct execution *execution;
	int done;

	if (!client->greeted)
		return type == RECORD_HELLO && answer_hello(client, fd, stranger);
	if (client->owner && type != RECORD_START && type != RECORD_RESULT && !is_unanswered(type))
		return false;
	if (type == RECORD_LIST)
		return answer_text(client, fd, type,
				   executions_list(client->clients->all, !(head->flags & RECORD_BRIEF)));
	if (type == RECORD_AGENT)
		return connect_agent(client, fd);
	if (type == RECORD_START) {
		done = start(client, fds, &err);
	} else if (type == RECORD_PAUSE) {
		done = client->clients->pause(client->clients->keeper, client->clients->in.number != 0, &err);
	} else if (type == RECORD_COUNTERS && !*head->id) {
		client->clients->measure(client->clients->keeper, &counters);
		counters_fill(&counters, values);
		done = 0;
	} else if (type == RECORD_REPEAT) {
		done = repeat_piece(client, &err);
	} else if (type == RECORD_EXTEND) {
		done = client->clients->extend(client->clients->keeper, client->clients->in.extend.us, &err);
	} else {
		execution = executions_find(client->clients->all, head->id, &err);
		done = execution             ? act(client, execution, fds[0], values, &err)
		       : is_unanswered(type) ? 1
					     : -1;
	}
	if (done == 0 && type == RECORD_RESIZE && head->flags & RECORD_UNANSWERED)
		return true;
	return done > 0 || answer(client, fd, type, done < 0 ? &err : NULL, values, -1);
}

bool client_take(struct client *client, int fd, bool stranger)
{
	int fds[RECORD_FDS_MAX];
	bool goes_on;
	int got;

	got = record_receive(fd, &client->clients->in, fds, MSG_DONTWAIT);
	if (got != 1)
		return got == 2;
	goes_on = handle(client, fd, fds, stranger);
	for (size_t i = 0; i < RECORD_FDS_MAX; i++)
		fd_done(&fds[i]);
	return goes_on && client_push(client, fd);
}

/* ---- what goes on ---- */

/* The last line that an execution has written to standard error, in quotes behind ": "; or "". */
static const char *last_words(const struct execution *execution, char *buf, size_t size)
{
	const uint64_t total = execution->spool.totals[1], most = 200;
	const struct ring_cursor cursor = { .at = execution->spool.tail,
					    .next = { execution->spool.totals[0],
						      total > most ? total - most : 0 } };
	char text[200 + 1] = "", shown[160];
	struct ring_piece piece;
	char *line;

	if (ring_read(&execution->spool, &cursor, text, sizeof(text) - 1, &piece) != RING_BYTES)
		return "";
	text[piece.end - piece.offset] = '\0';
	for (size_t len = strlen(text); len && strchr(" \r\n", text[len - 1]);)
		text[--len] = '\0';
	line = strrchr(text, '\n');
	snprintf(buf, size, ": %s", json_quote(line ? line + 1 : text, shown, sizeof(shown)));
	return buf;
}

/* A context begins when its interpreter is ready. */
static bool has_begun(struct execution *execution, struct warder_error *failure)
{
	const enum execution_state state = execution->state;
	const bool ready = !execution->context || execution->context->ready;
	char words[200];

	if (state == EXECUTION_FAILED)
		*failure = execution->failure;
	if (state == EXECUTION_ENDED && !ready)
		error_set(failure, WARDER_ERROR_EXECUTION_FAILED, "context",
			  "the interpreter of context %.64s ended at its start: %.200s%s",
			  execution->context->name, execution->end.detail,
			  last_words(execution, words, sizeof(words)));
	return state != EXECUTION_STARTING && (state != EXECUTION_RUNNING || ready);
}

/* A start that was not answered yet. False: the client is gone. */
static bool push_start(struct client *client, int fd)
{
	struct execution *execution = client->starts;
	struct warder_error failure = { 0 };
	bool sent;

	if (!execution || client->unsent.there || !has_begun(execution, &failure))
		return true;
	sent = answer(client, fd, RECORD_START, failure.code ? &failure : NULL, NULL, -1);
	use(&client->starts, NULL);
	return sent;
}

/* As much of its input as has room. */
static bool push_input(struct client *client, int fd)
{
	struct held *held = &client->held;
	struct execution *execution = client->writes;
	const bool unanswered = held->unanswered;
	struct warder_error err = { 0 };
	bool more;

	if (!held->there || client->unsent.there)
		return true;
	if ((execution->writer && execution->writer != client->number) ||
	    execution->state == EXECUTION_STARTING)
		return true;
	execution->writer = client->number;
	while (held->at < held->len) {
		const ssize_t n = execution->input_fd < 0 ? (errno = EPIPE, -1)
							  : write(execution->input_fd, held->bytes + held->at,
								  held->len - held->at);

		if (n < 0 && errno == EAGAIN)
			return true;
		if (n < 0) {
			error_set(&err, WARDER_ERROR_CONFLICT, "id", "execution %s reads no input any more",
				  execution->id);
			learn_end(client, execution);
			break;
		}
		held->at += (size_t)n;
	}
	more = held->more && !err.code;
	free(held->bytes);
	*held = (struct held){ 0 };
	if (!more)
		end_writing(client);
	return (unanswered && !err.code) ||
	       answer(client, fd, RECORD_WRITE, err.code ? &err : NULL, NULL, -1);
}

/* A frame, whose bytes are in the record already, or a gap. */
static void begin_output(struct client *client, const struct execution *execution, bool is_gap,
			 const struct ring_piece *piece)
{
	struct record *out = &client->clients->out;

	if (is_gap) {
		record_begin(out, RECORD_GAP, 0, execution->id, sizeof(out->gap));
		out->gap =
		    (struct record_gap){ .from = piece->offset, .to = piece->end, .stream = piece->stream };
		return;
	}
	record_begin(out, RECORD_FRAME, 0, execution->id,
		     sizeof(out->frame) + (size_t)(piece->end - piece->offset));
	out->frame = (struct record_frame){ .offset = piece->offset,
					    .time_us = piece->time_us,
					    .stream = piece->stream };
}

/* The next frame or gap into the record. Whether there is one. */
static bool next_piece(struct client *client, struct ring_piece *ret)
{
	struct execution *execution = client->reads;
	struct record *out = &client->clients->out;
	enum ring_found found;

	found = ring_read(&execution->spool, &client->cursor, out->bytes + sizeof(out->frame), RING_FRAME_MAX,
			  ret);
	if (found != RING_NOTHING)
		begin_output(client, execution, found == RING_GAP, ret);
	return found != RING_NOTHING;
}

static void begin_end(struct client *client, struct execution *execution)
{
	struct record *out = &client->clients->out;

	record_begin(out, RECORD_END, 0, execution->id, sizeof(out->end));
	out->end = execution->end;
}

static bool push_output(struct client *client, int fd)
{
	struct execution *execution = client->reads;
	bool ended;
	int sent = 0;

	if (!execution || client->unsent.there)
		return true;
	ended = execution->state == EXECUTION_ENDED; /* before the last look for output */
	for (struct ring_piece piece; sent == 0 && next_piece(client, &piece);) {
		sent = put(client, fd, NULL, 0);
		if (sent != 0)
			break;
		ring_advance(&execution->spool, &client->cursor, &piece);
	}
	if (follows(client))
		execution_followed(execution);
	if (sent == 0 && ended) {
		begin_end(client, execution);
		sent = put(client, fd, NULL, 0);
		if (sent == 0)
			end_reading(client);
	}
	return sent >= 0;
}

/* ---- a piece of code ---- */

static void begin_done(struct client *client, const struct piece *piece)
{
	struct record *out = &client->clients->out;

	record_begin(out, RECORD_DONE, 0, client->asks->id, sizeof(out->done));
	out->done = (struct record_done){ .end = piece->end,
					  .piece = piece->number,
					  .refused = piece->refused,
					  .interrupted = piece->interrupted,
					  .timed_out = piece->timed_out,
					  .cut = piece->cut,
					  .wall_us = piece->wall_us,
					  .last = client->asks->end };
	for (int i = 0; i < RING_STREAMS; i++)
		out->done.bytes[i] = piece->to[i] - piece->from[i];
	memcpy(out->done.why, piece->why, sizeof(out->done.why));
}

/* The next record about the piece, and a descriptor that goes with it. */
static enum piece_news make_news(struct client *client, struct ring_piece *ret, int *ret_fd)
{
	const struct piece *piece = client->piece;
	struct record *out = &client->clients->out;
	enum piece_news news;

	if (piece->number && !client->piece_begun) {
		client->piece_begun = true;
		client->cursor = (struct ring_cursor){ piece->at, { piece->from[0], piece->from[1] } };
	}
	news = piece_next(client->asks, piece, *client->event, &client->cursor,
			  out->bytes + sizeof(out->frame), RING_FRAME_MAX, ret);
	if (news == PIECE_BYTES || news == PIECE_GAP)
		begin_output(client, client->asks, news == PIECE_GAP, ret);
	if (news == PIECE_SAID) {
		record_begin(out, RECORD_SHOWN, 0, client->asks->id, sizeof(out->number));
		out->number = (*client->event)->type;
		*ret_fd = record_make_file((*client->event)->text, (*client->event)->len);
	}
	if (news == PIECE_DONE) {
		begin_done(client, piece);
		*ret_fd = piece->result ? record_make_file(piece->result, piece->result_len) : -1;
	}
	return news;
}

static bool push_piece(struct client *client, int fd)
{
	struct execution *execution = client->asks;
	enum piece_news news = PIECE_BYTES;
	int sent = 0;

	while (client->piece && !client->unsent.there && sent == 0 && news != PIECE_NOTHING) {
		owned_fd int text_fd = -1;
		struct ring_piece output;

		news = make_news(client, &output, &text_fd);
		if (news == PIECE_NOTHING)
			break;
		sent = put(client, fd, &text_fd, text_fd >= 0);
		if (sent != 0)
			break;
		if (news == PIECE_BYTES || news == PIECE_GAP)
			ring_advance(&execution->spool, &client->cursor, &output);
		if (news == PIECE_SAID && *client->piece->key)
			client->event = &(*client->event)->next;
		else if (news == PIECE_SAID)
			piece_drop_event(execution, client->piece);
		if (news == PIECE_DONE) {
			piece_leave(execution, client->piece);
			client->piece = NULL;
			use(&client->asks, NULL);
		}
	}
	return sent >= 0;
}

/* Only while there is room for the end behind them: a client that is stopped for a while is not to be dropped for them. */
static bool push_lines(struct client *client, int fd)
{
	struct execution *execution = client->owned;
	struct record *out = &client->clients->out;
	int waiting, sent;

	if (!execution || client->waits != execution || !execution->lines_len || client->unsent.there ||
	    ioctl(fd, SIOCOUTQ, &waiting) < 0 || waiting > LINES_WAITING_MAX)
		return true;
	record_begin(out, RECORD_LINES, 0, execution->id, execution->lines_len);
	memcpy(out->bytes, execution->lines, execution->lines_len);
	sent = put(client, fd, NULL, 0);
	if (sent == 0)
		execution->lines_len = 0;
	return sent >= 0;
}

/* The result as a memory file, or -1. */
static int make_result(const struct client *client, struct execution *execution)
{
	const char *text;

	if (client->owned == execution)
		return execution->whole ? result_write_file(execution->whole) : -1;
	text = execution_document(execution);
	return text ? record_make_file(text, strlen(text)) : -1;
}

static bool push_result(struct client *client, int fd)
{
	struct execution *execution = client->waits;
	const bool is_owner = execution && client->owned == execution;
	owned_fd int text_fd = -1;
	int handed_fd, sent;

	if (!execution || client->unsent.there || execution->state != EXECUTION_ENDED ||
	    !execution_is_complete(execution))
		return true;
	if (is_owner && execution_is_unread(execution))
		return true;
	text_fd = make_result(client, execution);
	handed_fd = is_owner ? execution_handed_fd(execution) : -1;
	begin_end(client, execution);
	sent = put(client, fd, (const int[]){ text_fd, handed_fd }, text_fd < 0 ? 0 : handed_fd < 0 ? 1 : 2);
	if (sent != 0)
		return sent > 0;
	if (is_owner && handed_fd < 0)
		let_go(client);
	use(&client->waits, NULL);
	return true;
}

bool client_push(struct client *client, int fd)
{
	if (client->unsent.there && put_answer(client, fd) < 0)
		return false;
	return push_start(client, fd) && push_input(client, fd) && push_output(client, fd) &&
	       push_piece(client, fd) && push_lines(client, fd) && push_result(client, fd);
}

bool client_is_owner(const struct client *client)
{
	return client->owner;
}

static bool has_files(const struct client *client)
{
	return client->owned && !client->waits && execution_handed_fd(client->owned) >= 0;
}

/* Read what an owner that takes files has sent by now: it may have them, or be gone. False: it is gone. */
static bool hear_of_files(struct client *client, int fd)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };

	while (has_files(client) && poll(&ready, 1, 0) > 0)
		if (!client_take(client, fd, false))
			return false;
	return true;
}

void client_tell_end(struct client *client, int fd, enum session_end end)
{
	struct warder_error err = { 0 };
	bool lives;

	/* An owner that has not attached yet gets its result all the same. */
	if (client->owned && execution_is_unread(client->owned))
		execution_follow_by(client->owned, NULL);
	lives = client_push(client, fd) && hear_of_files(client, fd);
	/* The owner takes files out of what is left of the session, and nobody removes them there. */
	if (lives && has_files(client))
		return;
	if (client->owned)
		execution_disown(client->owned);
	if (!lives || !client->owner || client->owned || client->unsent.there)
		return;
	session_not_started(end, &err);
	answer(client, fd, RECORD_START, &err, NULL, -1);
}

short client_events(const struct client *client)
{
	return (short)((client->blocked_us ? POLLOUT : 0) |
		       (client->unsent.there || client->held.there ? 0 : POLLIN));
}

int client_input(const struct client *client)
{
	return client->held.there && client->writes->writer == client->number ? client->writes->input_fd : -1;
}

/* A program waits for a client that follows it, as it would for its own terminal. The client of a terminal may stop the output, and the key that
 * ends a flood comes over the same connection. */
static bool may_wait(const struct client *client)
{
	return client->reads && (follows(client) || client->reads->flags & RECORD_TERMINAL);
}

/* A client that may wait until the program ends has time for the rest from then on. */
uint64_t client_deadline(const struct client *client)
{
	uint64_t since_us = client->blocked_us;

	if (!since_us)
		return UINT64_MAX;
	if (may_wait(client) && execution_lives(client->reads))
		return UINT64_MAX;
	if (may_wait(client) && client->reads->ended_us > since_us)
		since_us = client->reads->ended_us;
	return since_us + CLIENT_PATIENCE_US;
}
