#include "runtime/session/keeper_context.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "runtime/library/library.h"
#include "runtime/session/keeper_branch.h"

#define LAST     64                /* messages that an interpreter may leave behind when it ends */
#define LOST_US  UINT64_C(1000000) /* from the end of the channel to the kill */
#define GONE_US  UINT64_C(1000000) /* from the kill of a program to that of its jail */
#define ROOM_US  UINT64_C(2000)    /* until a full channel is tried again for code, */
#define ASKED_US UINT64_C(50000)   /* and for the end of the input */
#define CHANNEL  (512 * 1024)      /* bytes of frames that may lie in it */
#define CODE_MAX ((size_t)4 << 20)

/* loops.S */
extern const char loop_python[] __attribute__((visibility("hidden")));
extern const char loop_javascript[] __attribute__((visibility("hidden")));
extern const char loop_r[] __attribute__((visibility("hidden")));
extern const char loop_bash[] __attribute__((visibility("hidden")));

#define ARGV(...) ((const char *const[]){ __VA_ARGS__, NULL })

#define NODE                                                                                                 \
	"node", "--expose-internals", "--no-warnings", "-e",                                                 \
	    "{const loop=Buffer.alloc(1<<18);"                                                               \
	    "require('vm').runInThisContext('(require,module,exports)=>{'+loop.toString('utf8',0,"           \
	    "require('fs').readSync(4,loop))+'\\n}',{filename:'<warder>'})(require,module,exports)}"

static const struct interpreter interpreters[] = {
	{ .language = "python",
	  .aliases = "py python3",
	  .argv = ARGV("python3", "-c", "import os;exec(compile(os.read(4,1<<18),'<warder>','exec'))"),
	  .loop = loop_python,
	  .asks = true,
	  .forks = true },
	{ .language = "javascript",
	  .aliases = "js node nodejs",
	  .argv = ARGV(NODE),
	  .loop = loop_javascript,
	  .asks = true },
	{ .language = "typescript",
	  .aliases = "ts",
	  .argv = ARGV(NODE, "typescript"),
	  .loop = loop_javascript,
	  .asks = true },
	{ .language = "r",
	  .aliases = "rscript",
	  .argv = ARGV("Rscript", "--vanilla", "-e",
		       "local({con <- pipe('dd bs=262144 count=1 <&4 2>/dev/null'); text <- parse(con, "
		       "keep.source = FALSE); close(con); eval(text, new.env(parent = baseenv()))})"),
	  .loop = loop_r,
	  .asks = true,
	  .spawns = true },
	{ .language = "bash",
	  .aliases = "shell",
	  .argv = ARGV(
	      "bash", "--noprofile", "--norc", "-c",
	      "__warder_loop=$(dd bs=262144 count=1 <&4 2>/dev/null); eval \"${__warder_loop#*$'\\n'}\""),
	  .loop = loop_bash,
	  .spawns = true },
};

static bool has_word(const char *words, const char *word)
{
	const size_t len = strlen(word);

	for (const char *at = words; *at; at += strcspn(at, " "), at += *at == ' ')
		if (strcspn(at, " ") == len && strncmp(at, word, len) == 0)
			return true;
	return false;
}

const struct interpreter *interpreter_find(const char *language)
{
	for (size_t i = 0; i < ARRAY_LENGTH(interpreters); i++)
		if (strcmp(interpreters[i].language, language) == 0 ||
		    has_word(interpreters[i].aliases, language))
			return &interpreters[i];
	return NULL;
}

/* ---- its beginning ---- */

struct execution *keeper_contexts_find(struct executions *all, const char *name)
{
	for (size_t i = all->count; i-- > 0;) {
		struct execution *execution = all->items[i];

		if (execution->context && !execution->context->released &&
		    strcmp(execution->context->name, name) == 0)
			return execution;
	}
	return NULL;
}

static int check_alive(struct execution *execution, struct warder_error *err)
{
	const struct keeper_context *context = execution->context;
	const enum execution_state state = execution->state;
	const char *why;

	if (!context)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "id", "execution %s is not a context",
				 execution->id);
	if (state != EXECUTION_ENDED && state != EXECUTION_FAILED && !context->released)
		return 0;
	why = context->released ? "it was deleted" : execution->end.detail;
	if (execution->branch)
		return error_set(err, WARDER_ERROR_CONFLICT, "context",
				 "context %.64s has ended: %.200s; \"warder context fork %.64s %.64s %.64s\" "
				 "makes it again",
				 context->name, why, execution->all->session, keeper_branch_of(execution),
				 context->name);
	return error_set(err, WARDER_ERROR_CONFLICT, "context",
			 "context %.64s has ended: %.200s; \"warder context restart %.64s %.64s\" starts it "
			 "again",
			 context->name, why, execution->all->session, context->name);
}

static int no_language(const char *language, struct warder_error *err)
{
	char known[128] = "";

	for (size_t i = 0; i < ARRAY_LENGTH(interpreters); i++)
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s", i ? ", " : "",
			 interpreters[i].language);
	return error_set(err, WARDER_ERROR_UNSUPPORTED_LANGUAGE, "language",
			 "%.40s has no contexts; known: %s", language, known);
}

/* A context that has ended keeps its name for those who ask what ended it, but not against a new one. */
static int check_name(struct execution *execution, const char *name, struct warder_error *err)
{
	struct execution *other;

	if (session_check_name(name, err) < 0) /* the same rules hold */
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "name",
				 "\"%.80s\" is not a valid context name: up to %d letters, digits, '.', '_' "
				 "and '-', a letter or digit first",
				 name, SESSION_NAME_MAX);
	other = keeper_contexts_find(execution->all, name);
	if (other && other->state != EXECUTION_ENDED && other->state != EXECUTION_FAILED)
		return error_set(err, WARDER_ERROR_CONFLICT, "name",
				 "session %.64s has a context %.64s already; \"warder context restart\" or "
				 "\"delete\" ends it",
				 execution->all->session, name);
	if (other)
		other->context->released = true;
	return 0;
}

/* Both ends. */
static int open_channel(struct keeper_context *context, struct warder_error *err)
{
	const int bytes = CHANNEL;
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
				       "no descriptor left for the context's channel");
	context->fd = fds[0];
	context->program_fd = fds[1];
	fd_refuse_passing(context->fd);
	setsockopt(context->fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	return 0;
}

static int send_loop(const struct keeper_context *context, struct warder_error *err)
{
	const size_t len = strlen(context->interpreter->loop);

	if (send(context->fd, context->interpreter->loop, len, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)len)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
				       "the context's interpreter cannot get its loop");
	return 0;
}

static int open_context(struct execution *execution, const struct interpreter *interpreter, const char *name,
			struct warder_error *err)
{
	struct keeper_context *context;

	if (check_name(execution, name, err) < 0)
		return -1;
	context = calloc(1, sizeof(*context));
	if (!context)
		return error_no_memory(err, NULL);
	execution->context = context;
	context->fd = context->program_fd = -1;
	context->interpreter = interpreter;
	snprintf(context->name, sizeof(context->name), "%s", name);
	context->most_us = execution->words.policy->limits.wall_time_us;
	return open_channel(context, err);
}

int keeper_context_new(struct execution *execution, struct warder_error *err)
{
	struct execution_words *words = &execution->words;
	const struct interpreter *interpreter =
	    words->argv[0] && words->argv[1] ? interpreter_find(words->argv[0]) : NULL;

	if (!interpreter)
		return no_language(words->argv[0], err);
	if (interpreter->spawns && !words->policy->processes.spawn)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "processes.spawn",
				 "a context of %s starts programs for each piece; allow processes.spawn",
				 interpreter->language);
	if (open_context(execution, interpreter, words->argv[1], err) < 0)
		return -1;
	return send_loop(execution->context, err);
}

bool keeper_context_may_fork(const struct execution *execution)
{
	return execution->context && execution->context->interpreter->forks &&
	       execution->words.policy->processes.spawn;
}

static int cannot_fork(const struct keeper_context *context, const char *why, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_CONFLICT, "context", "context %.64s cannot be forked now: %s",
			 context->name, why);
}

static int check_forkable(struct execution *from, struct warder_error *err)
{
	const struct keeper_context *context = from->context;

	if (check_alive(from, err) < 0)
		return -1;
	if (!context->interpreter->forks)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "context",
				 "context %.64s runs %s; only contexts of Python can be forked",
				 context->name, context->interpreter->language);
	if (!from->words.policy->processes.spawn)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "processes.spawn",
				 "context %.64s may not start processes, and a fork is one: its policy has "
				 "processes.spawn false",
				 context->name);
	if (!context->ready || context->why)
		return cannot_fork(context, context->why ? "it is being ended" : "it is being started", err);
	if (context->pieces)
		return cannot_fork(context, "a piece runs; wait for its end, or interrupt it", err);
	return context->forks ? cannot_fork(context, "it forks already; try again", err) : 0;
}

int keeper_context_new_branch(struct execution *execution, struct execution *from, const char *name,
			      struct warder_error *err)
{
	if (check_forkable(from, err) < 0 ||
	    open_context(execution, from->context->interpreter, name, err) < 0)
		return -1;
	execution->words.argv[1] = execution->context->name;
	execution->context->count = from->context->count;
	execution->context->says = from->context->says ? strdup(from->context->says) : NULL;
	return 0;
}

void keeper_context_launched(struct execution *execution)
{
	struct keeper_context *context = execution->context;

	fd_done(&context->program_fd); /* whoever has the other end now is in the jail */
	context->ready_by_us = clock_us() + CONTEXT_READY_US;
}

/* ---- pieces ---- */

/* The first of the context's. */
static void piece_finish(struct execution *execution, enum context_end end, const char *why)
{
	struct keeper_context *context = execution->context;
	struct piece *piece = context->pieces;

	context->pieces = piece->next;
	piece->next = NULL;
	piece->queued = false;
	piece->done = true;
	piece->end = end;
	free(piece->code);
	piece->code = NULL;
	snprintf(piece->why, sizeof(piece->why), "%s", why);
	if (piece->number) {
		piece->wall_us = clock_us() - piece->began_us;
		memcpy(piece->to, execution->spool.totals, sizeof(piece->to));
	}
	piece_keep(execution, piece);
	piece_settle(execution, piece);
}

static void add_event(struct execution *execution, struct piece *piece, struct frames *reader)
{
	struct piece_event *event;

	if (!reader->bytes || !piece_may_hold(execution, piece, reader->len))
		return;
	event = calloc(1, sizeof(*event));
	if (!event) {
		piece_drop_said(execution->all, piece, reader->len);
		piece->cut = true;
		return;
	}
	event->type = (enum frame_type)reader->type;
	event->text = reader->bytes;
	event->len = reader->len;
	reader->bytes = NULL;
	memcpy(event->at, execution->spool.totals, sizeof(event->at));
	*piece->events_end = event;
	piece->events_end = &event->next;
}

/* A piece that has not begun gets it then: its interpreter ignores the signal until then. */
static void interrupt(struct execution *execution, struct piece *piece)
{
	piece->wants_signal = !piece->takes_signals;
	if (piece->takes_signals)
		keeper_branch_signal(execution, SIGINT);
}

/* A context that does not read this has itself to blame for the order. */
static void tell_taken(const struct keeper_context *context, const struct piece *piece)
{
	const struct frame_head head = { FRAME_MAGIC, FRAME_TAKEN, piece->number, 0 };

	send(context->fd, &head, sizeof(head), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static uint32_t running(const struct keeper_context *context)
{
	return context->pieces ? context->pieces->number : 0;
}

static void count_refused(struct keeper_context *context)
{
	context->refused++;
	if (running(context))
		context->pieces->refused++;
}

/* With a line, or (NULL) with the end of the input. False: no piece waits for it. */
static bool answer_piece(struct keeper_context *context, const char *line, size_t len)
{
	struct frame frame;
	bool sent;

	if (!running(context) || !context->pieces->asked)
		return false;
	frame.head =
	    (struct frame_head){ FRAME_MAGIC, FRAME_INPUT, running(context), line ? 0 : FRAME_AT_END };
	if (line)
		memcpy(frame.body, line, len);
	sent = send(context->fd, &frame, sizeof(frame.head) + len, MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
	context->pieces->asked -= sent;
	return sent;
}

/* The answer to everything that a piece with a key asks. False: the channel has no room for all of them. */
static bool end_input(struct keeper_context *context, const struct piece *piece)
{
	while (piece->asked && answer_piece(context, NULL, 0))
		;
	return !piece->asked;
}

static void take_text(struct execution *execution)
{
	struct keeper_context *context = execution->context;
	struct frames *reader = &context->reader;
	struct piece *piece = context->pieces;

	if (reader->type == FRAME_FORKED) {
		if (!keeper_branch_forked(execution, reader->bytes ? reader->bytes : ""))
			count_refused(context);
		return;
	}
	if (reader->type == FRAME_READY && execution->branch)
		return; /* keeper_branch_ready() */
	if (reader->type == FRAME_READY) {
		if (!context->ready && reader->bytes)
			context->says = reader->bytes;
		else
			free(reader->bytes);
		reader->bytes = NULL;
		context->ready = true;
		return;
	}
	if (reader->type == FRAME_BEGUN) {
		piece->takes_signals = true;
		if (piece->wants_signal)
			interrupt(execution, piece);
		return;
	}
	piece->cut |= reader->cut;
	if (reader->type == FRAME_ASKS) {
		piece->asked++;
		if (*piece->key) {
			/* It goes on without its client, and so nobody can be asked. */
			end_input(context, piece);
			return;
		}
	}
	if (reader->type != FRAME_DONE) {
		add_event(execution, piece, reader);
		if (reader->type == FRAME_SHOWN)
			tell_taken(context, piece);
		return;
	}
	if (reader->bytes && piece_may_hold(execution, piece, reader->len)) {
		piece->result = reader->bytes;
		piece->result_len = reader->len;
		reader->bytes = NULL;
	}
	piece_finish(execution, CONTEXT_END_DONE, "");
}

/* A text that is not whole counts like those that are held. Without room for it, it is cut. */
static void count_held(struct execution *execution, size_t len)
{
	struct keeper_context *context = execution->context;
	struct executions *all = execution->all;

	all->said_bytes -= context->held;
	if (!pieces_make_room(all, len)) {
		frames_cut(&context->reader);
		len = 0;
	}
	all->said_bytes += len;
	context->held = len;
}

static void take_message(struct execution *execution, const struct frame *frame, size_t len)
{
	struct keeper_context *context = execution->context;
	enum frame_found found;

	found = frames_take(&context->reader, frame, len, running(context));
	count_held(execution, found == FRAME_PART ? context->reader.len : 0);
	if (found == FRAME_WHOLE)
		take_text(execution);
	if (found == FRAME_REFUSED)
		count_refused(context);
}

/* An empty message looks like the end. */
static bool is_hung_up(int fd)
{
	struct pollfd end = { .fd = fd, .events = POLLRDHUP };

	return poll(&end, 1, 0) > 0 && (end.revents & (POLLHUP | POLLRDHUP | POLLERR));
}

/* The process that has sent it, if the socket wants that to be known. There is no room for descriptors: a kernel that
 * lets the program pass them (fd_refuse_passing()) closes them here. */
static ssize_t receive(int fd, struct frame *ret, int *ret_pid)
{
	char space[CMSG_SPACE(sizeof(struct ucred))] __attribute__((aligned(8)));
	struct iovec iov = { .iov_base = ret, .iov_len = sizeof(*ret) };
	struct msghdr header = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof(space)
	};
	const ssize_t n = recvmsg(fd, &header, MSG_DONTWAIT | MSG_TRUNC);
	const struct cmsghdr *cmsg = n < 0 ? NULL : CMSG_FIRSTHDR(&header);
	struct ucred sender;

	if (cmsg && cmsg->cmsg_level == SOL_SOCKET && cmsg->cmsg_type == SCM_CREDENTIALS) {
		memcpy(&sender, CMSG_DATA(cmsg), sizeof(sender));
		*ret_pid = sender.pid;
	}
	return n;
}

/* One message alone: what was written before it has been read, but not yet what is written between it and the next one. */
bool keeper_context_take(void *arg)
{
	struct execution *execution = arg;
	struct keeper_context *context = execution->context;
	struct frame frame;
	int pid = 0;
	const ssize_t n = receive(context->fd, &frame, &pid);
	bool open;

	if (n < 0 && errno == EAGAIN)
		return true;
	open = n > 0 || !is_hung_up(context->fd);
	if (open && n >= 0)
		take_message(execution, &frame, (size_t)n);
	if (open && n >= 0 && pid && execution->state == EXECUTION_STARTING)
		keeper_branch_ready(execution, pid);
	if (!open)
		context->lost_us = clock_us();
	return open;
}

void keeper_context_ended(struct execution *execution)
{
	struct keeper_context *context = execution->context;
	const char *detail = execution->end.detail;
	char why[160];

	for (int i = 0; i < LAST && context->fd >= 0 && keeper_context_take(execution);)
		i++; /* its last words */
	keeper_branch_orphan(execution);
	snprintf(why, sizeof(why), "%.150s", context->why ? context->why : detail);
	if (context->why)
		snprintf(execution->end.detail, sizeof(execution->end.detail), "killed: %.150s", why);
	count_held(execution, 0);
	frames_done(&context->reader);
	while (context->pieces)
		piece_finish(execution, running(context) ? CONTEXT_END_DIED : CONTEXT_END_NOT_BEGUN, why);
}

void keeper_context_free(struct keeper_context *context)
{
	if (!context)
		return;
	fd_done(&context->fd);
	fd_done(&context->program_fd);
	frames_done(&context->reader);
	free(context->says);
	free(context);
}

/* ---- going on ---- */

static void begin_piece(struct execution *execution, struct piece *piece, uint64_t now)
{
	struct keeper_context *context = execution->context;

	piece->number = ++context->count;
	piece->began_us = now;
	piece->due_us = piece->timeout_us == UINT64_MAX ? UINT64_MAX : now + piece->timeout_us;
	memcpy(piece->from, execution->spool.totals, sizeof(piece->from));
	/* The newest frame may still grow. */
	piece->at =
	    execution->spool.head == execution->spool.tail ? execution->spool.head : execution->spool.last;
}

/* As much of its code as has room. */
static void send_code(struct keeper_context *context, struct piece *piece)
{
	struct frame frame;

	do {
		const size_t left = piece->len - piece->sent;
		const size_t part = left < FRAME_BODY_MAX ? left : FRAME_BODY_MAX;

		frame.head = (struct frame_head){ FRAME_MAGIC, FRAME_PIECE, piece->number,
						  part < left ? FRAME_MORE : 0 };
		memcpy(frame.body, piece->code + piece->sent, part);
		if (send(context->fd, &frame, sizeof(frame.head) + part, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			return;
		piece->sent += part;
	} while (piece->sent < piece->len);
	free(piece->code);
	piece->code = NULL;
}

/* The program of a context whose jail has branches is killed alone. If it is not the leader of its process group any more, the whole jail is
 * killed a moment later. */
void keeper_context_kill(struct execution *execution, const char *why)
{
	if (execution->context->why || !(execution->run || execution->branch))
		return;
	execution->context->why = why;
	if (execution->branch) {
		keeper_branch_kill(execution);
	} else if (keeper_branches_stay(execution)) {
		library_signal(execution->run, SIGKILL);
		execution->context->gone_by_us = clock_us() + GONE_US;
	} else {
		warder_cancel(execution->run);
	}
}

/* The piece that runs: its time. */
static uint64_t check_time(struct execution *execution, struct piece *piece, uint64_t now)
{
	if (now < piece->due_us)
		return piece->due_us;
	if (piece->timed_out) {
		keeper_context_kill(execution,
				    "the piece went on for 2 s after the interrupt at its time limit");
		return UINT64_MAX;
	}
	piece->timed_out = true;
	piece->due_us = now + CONTEXT_GRACE_US;
	interrupt(execution, piece);
	return piece->due_us;
}

static uint64_t step(struct execution *execution, uint64_t now)
{
	struct keeper_context *context = execution->context;
	struct piece *piece = context->pieces;
	uint64_t due;

	if (execution->state != EXECUTION_RUNNING || execution->all->paused)
		return UINT64_MAX;
	if (context->gone_by_us && now >= context->gone_by_us && execution->run)
		warder_cancel(execution->run);
	else if (context->gone_by_us)
		return context->gone_by_us;
	/* An interpreter that ends by itself closes it, too; what ended it is then known in a moment. */
	if (context->lost_us && !context->why && now < context->lost_us + LOST_US)
		return context->lost_us + LOST_US;
	if (context->lost_us)
		keeper_context_kill(execution, "the context closed its channel to Warder");
	if (!context->ready) {
		if (now >= context->ready_by_us)
			keeper_context_kill(execution, "the interpreter was not ready 20 s after its start");
		return context->why ? UINT64_MAX : context->ready_by_us;
	}
	if (!piece || context->why || context->forks)
		return UINT64_MAX;
	if (!piece->number)
		begin_piece(execution, piece, now);
	if (piece->code)
		send_code(context, piece);
	due = check_time(execution, piece, now);
	if (*piece->key && !end_input(context, piece) && now + ASKED_US < due)
		due = now + ASKED_US;
	return piece->code && now + ROOM_US < due ? now + ROOM_US : due;
}

uint64_t keeper_contexts_step(struct executions *all)
{
	const uint64_t now = clock_us();
	uint64_t next = pieces_sweep(all, now);

	for (size_t i = 0; i < all->count; i++) {
		const uint64_t due = all->items[i]->context ? step(all->items[i], now) : UINT64_MAX;

		if (due < next)
			next = due;
	}
	return next;
}

void keeper_contexts_shift(struct executions *all, uint64_t us)
{
	for (size_t i = 0; i < all->count; i++) {
		struct keeper_context *context = all->items[i]->context;
		struct piece *piece = context ? context->pieces : NULL;

		if (context && !context->ready)
			context->ready_by_us += us;
		if (piece && piece->number && piece->due_us != UINT64_MAX)
			piece->due_us += us;
		if (piece && piece->number)
			piece->began_us += us;
	}
}

bool keeper_context_is_idle(const struct execution *execution)
{
	return execution->context && execution->state == EXECUTION_RUNNING && execution->context->ready &&
	       !execution->context->pieces;
}

/* ---- what clients ask ---- */

int keeper_context_add(struct execution *execution, const char *code, const struct record_piece *asked,
		       bool wait, struct piece **ret, struct warder_error *err)
{
	const uint64_t timeout_us = asked->timeout_us;
	const size_t len = asked->bytes;
	struct keeper_context *context = execution->context;
	const bool unlimited = context && context->most_us == POLICY_UNLIMITED;
	struct piece **end;
	struct piece *piece;

	if (check_alive(execution, err) < 0)
		return -1;
	if (len > CODE_MAX)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "source",
				 "the piece has %zu bytes; at most 4 MiB", len);
	if (!unlimited && timeout_us > context->most_us)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--timeout",
				 "a piece in context %.64s may run for %llu ms at most (limits.wallTime)",
				 context->name, (unsigned long long)context->most_us / 1000);
	if (context->pieces && !wait)
		return error_set(err, WARDER_ERROR_CONFLICT, "context",
				 "context %.64s runs another piece; leave out --no-wait to wait for it",
				 context->name);
	if (*asked->key && pieces_check_room(execution->all, len, err) < 0)
		return -1;
	piece = calloc(1, sizeof(*piece));
	if (piece)
		piece->code = malloc(len + 1);
	if (!piece || !piece->code) {
		free(piece);
		return error_no_memory(err, NULL);
	}
	memcpy(piece->code, code, len);
	piece->len = len;
	piece->queued = true;
	piece->watchers = 1;
	memcpy(piece->key, asked->key, RECORD_KEY_LENGTH);
	piece->timeout_us = timeout_us ? timeout_us : unlimited ? UINT64_MAX : context->most_us;
	piece->events_end = &piece->events;
	for (end = &context->pieces; *end;)
		end = &(*end)->next;
	*end = piece;
	*ret = piece;
	return 0;
}

int keeper_context_interrupt(struct execution *execution, struct warder_error *err)
{
	struct keeper_context *context = execution->context;
	bool sent = false;

	if (check_alive(execution, err) < 0)
		return -1;
	if (running(context)) {
		interrupt(execution, context->pieces);
		sent = context->pieces->interrupted = true;
	}
	return sent ? 0
		    : error_set(err, WARDER_ERROR_CONFLICT, "context", "no piece runs in context %.64s",
				context->name);
}

int keeper_context_answer(struct execution *execution, const char *line, size_t len, struct warder_error *err)
{
	struct keeper_context *context = execution->context;

	if (check_alive(execution, err) < 0)
		return -1;
	if (len > FRAME_BODY_MAX)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "input",
				 "a line of input has %zu bytes; at most %zu", len, (size_t)FRAME_BODY_MAX);
	return answer_piece(context, line, len)
		   ? 0
		   : error_set(err, WARDER_ERROR_CONFLICT, "context",
			       "no piece in context %.64s waits for input", context->name);
}

int keeper_context_delete(struct execution *execution, struct warder_error *err)
{
	if (!execution->context)
		return check_alive(execution, err);
	execution->context->released = true;
	keeper_context_kill(execution, "the context was deleted");
	return 0;
}

int keeper_context_release(struct execution *execution, struct warder_error *err)
{
	struct keeper_context *context = execution->context;

	if (!context)
		return check_alive(execution, err);
	if (execution->branch)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "context",
				 "context %.64s is a branch of %.64s and has no start of its own; \"warder "
				 "context delete\" it, and fork %.64s again",
				 context->name, keeper_branch_of(execution), keeper_branch_of(execution));
	context->released = true;
	return 0;
}

void keeper_context_describe(const struct execution *execution, struct json_writer *w)
{
	const struct keeper_context *context = execution->context;
	size_t waiting = 0;

	for (const struct piece *piece = context->pieces; piece; piece = piece->next)
		waiting += piece->number == 0;
	json_key_string(w, "context", context->name);
	json_key_string(w, "language", context->interpreter->language);
	json_key_bool(w, "released", context->released);
	if (execution->branch)
		json_key_string(w, "branchOf", keeper_branch_of(execution));
	json_key_string(w, "trustDomain", keeper_branch_family(execution));
	json_key_string(w, "at",
			execution->state != EXECUTION_RUNNING ? ""
			: !context->ready                     ? "starting"
			: running(context)                    ? "busy"
							      : "idle");
	json_key_uint(w, "pieces", context->count);
	json_key_uint(w, "waiting", waiting);
	json_key_uint(w, "refusedFrames", context->refused);
	if (context->most_us != POLICY_UNLIMITED)
		json_key_uint(w, "pieceTimeUs", context->most_us);
	if (context->says)
		json_key_string(w, "contextSays", context->says);
	if (execution->state == EXECUTION_ENDED)
		json_key_string(w, "detail", execution->end.detail);
}
