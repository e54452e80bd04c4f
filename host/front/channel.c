/*
 * channel: the records of a keeper (runtime/session/records.h), without waiting for any of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "host/front/front.h"
#include "runtime/library/library.h"

#define RECORDS_AT_A_TIME 16
#define TEXT_BYTES_MAX    ((uint64_t)8 << 20)

struct channel {
	struct channel *buried; /* front_bury() */
	struct source source;
	struct front *front;
	const struct channel_events *events;
	void *owner;
	unsigned int version; /* of the records that the keeper takes */
	char execution[REMOTE_ID_LENGTH + 1];
	bool freed, held;
	bool full; /* the keeper has to read before more is sent */
	bool late; /* the keeper went away while it was not read */
};

/* ---- what a keeper says ---- */

static void take_answer(struct channel *channel, struct record_answer *answer, const char *text, int *fd)
{
	const struct channel_events *on = channel->events;

	answer->id[sizeof(answer->id) - 1] = '\0';
	answer->error.text[sizeof(answer->error.text) - 1] = '\0';
	answer->error.field[sizeof(answer->error.field) - 1] = '\0';
	answer->error.step[sizeof(answer->error.step) - 1] = '\0';
	if (!answer->failed && (answer->request == RECORD_START || answer->request == RECORD_RESTART))
		channel_choose(channel, answer->id);
	if (answer->request == RECORD_AGENT && !answer->failed) {
		if (on->agent)
			on->agent(channel->owner, fd);
		return;
	}
	if (on->answered)
		on->answered(channel->owner, (enum record_type)answer->request, answer, text);
}

static void take_record(struct channel *channel, const char *text, int *fd)
{
	const struct channel_events *on = channel->events;
	struct record *in = &channel->front->in;

	switch ((enum record_type)in->head.type) {
	case RECORD_ANSWER:
		take_answer(channel, &in->answer, text, fd);
		return;
	case RECORD_FRAME:
		if (on->bytes)
			on->bytes(channel->owner, in->frame.stream == 1, in->frame.offset,
				  in->bytes + sizeof(in->frame), in->head.len - sizeof(in->frame));
		return;
	case RECORD_GAP:
		if (on->gap)
			on->gap(channel->owner, in->gap.stream == 1, in->gap.from, in->gap.to);
		return;
	case RECORD_END:
		in->end.detail[sizeof(in->end.detail) - 1] = '\0';
		if (on->ended)
			on->ended(channel->owner, &in->end, text);
		return;
	case RECORD_SHOWN:
		if (on->shown)
			on->shown(channel->owner, in->number, text);
		return;
	case RECORD_DONE:
		in->done.why[sizeof(in->done.why) - 1] = '\0';
		in->done.last.detail[sizeof(in->done.last.detail) - 1] = '\0';
		if (on->done)
			on->done(channel->owner, &in->done, text);
		return;
	case RECORD_HELLO:
	case RECORD_START:
	case RECORD_STOP:
	case RECORD_LINES:
	case RECORD_ATTACH:
	case RECORD_WRITE:
	case RECORD_CLOSE:
	case RECORD_SIGNAL:
	case RECORD_RESIZE:
	case RECORD_COUNTERS:
	case RECORD_LIST:
	case RECORD_RESULT:
	case RECORD_PAUSE:
	case RECORD_EXTEND:
	case RECORD_PIECE:
	case RECORD_INPUT:
	case RECORD_INTERRUPT:
	case RECORD_RESTART:
	case RECORD_DELETE:
	case RECORD_FORK:
	case RECORD_AGENT:
	case RECORD_REPEAT:
	case RECORD_TAKEN:
	case RECORD_TYPES:
		return;
	}
}

/* The text of a memory file; NULL: there is none, or it cannot be read. */
static char *read_text(int fd)
{
	struct warder_error ignored;
	struct stat st;
	char *text = NULL;

	if (fd < 0 || fstat(fd, &st) < 0 || (uint64_t)st.st_size > TEXT_BYTES_MAX ||
	    record_read_file(fd, (size_t)st.st_size, &text, &ignored) < 0)
		return NULL;
	return text;
}

static void watch(struct channel *channel)
{
	source_change(channel->front, &channel->source,
		      (channel->held ? 0u : EPOLLIN) | (channel->full ? EPOLLOUT : 0u));
}

static void lose(struct channel *channel)
{
	source_remove(channel->front, &channel->source);
	fd_done(&channel->source.fd);
	if (channel->events->lost)
		channel->events->lost(channel->owner);
}

static void channel_ready(struct source *source, uint32_t events)
{
	struct channel *channel =
	    (struct channel *)(void *)((char *)source - offsetof(struct channel, source));

	channel->late = channel->late || (channel->held && events & EPOLLHUP);
	if (channel->full && events & EPOLLOUT) {
		channel->full = false;
		watch(channel);
		if (channel->events->room)
			channel->events->room(channel->owner);
	}
	for (int i = 0; i < RECORDS_AT_A_TIME && !channel->freed && !channel->held; i++) {
		int fds[RECORD_FDS_MAX];
		const int got = record_receive(source->fd, &channel->front->in, fds, MSG_DONTWAIT);
		char *text;

		if (got == 2)
			return;
		if (got != 1) {
			lose(channel);
			return;
		}
		text = read_text(fds[0]);
		take_record(channel, text, &fds[0]);
		for (size_t j = 0; j < RECORD_FDS_MAX; j++)
			fd_done(&fds[j]);
		free(text);
	}
}

/* ---- its life ---- */

struct channel *channel_new(struct front *front, int fd, unsigned int version,
			    const struct channel_events *events, void *owner)
{
	struct channel *channel = calloc(1, sizeof(*channel));

	if (!channel) {
		fd_done(&fd);
		return NULL;
	}
	channel->front = front;
	channel->events = events;
	channel->owner = owner;
	channel->version = version;
	channel->source = (struct source){ .fd = fd, .ready = channel_ready };
	if (source_add(front, &channel->source, EPOLLIN) < 0) {
		fd_done(&channel->source.fd);
		free(channel);
		return NULL;
	}
	return channel;
}

void channel_free(struct channel *channel)
{
	if (!channel)
		return;
	channel->freed = true;
	source_remove(channel->front, &channel->source);
	fd_done(&channel->source.fd);
	front_bury(channel->front, channel);
}

void channel_hold(struct channel *channel, bool hold)
{
	if (channel->held == hold || channel->source.fd < 0)
		return;
	channel->held = hold;
	watch(channel);
}

bool channel_was_late(const struct channel *channel)
{
	return channel->late || channel->held;
}

/* ---- requests ---- */

/* What only a keeper of this version has. */
static int check_version(const struct channel *channel, enum record_type type, size_t len,
			 struct warder_error *err)
{
	const bool has_key = type == RECORD_PIECE && len != RECORD_PIECE_BARE;

	if (channel->version >= RECORD_VERSION_STREAMS || (type < RECORD_STOP && !has_key))
		return 0;
	return error_set(err, WARDER_ERROR_UNAVAILABLE,
			 has_key || type == RECORD_REPEAT ? "idempotencyKey" : NULL,
			 "the sandbox was started by an older version of Warder, which cannot do that; "
			 "create another one");
}

static void begin(struct channel *channel, enum record_type type, uint32_t flags, size_t len)
{
	record_begin(&channel->front->out, type, flags, channel->execution, len);
	channel->front->out.head.version = (uint16_t)channel->version;
}

static int post(struct channel *channel, enum record_type type, uint32_t flags, size_t len, const int *fds,
		size_t fd_count, struct warder_error *err)
{
	if (check_version(channel, type, len, err) < 0)
		return -1;
	begin(channel, type, flags, len);
	if (channel->source.fd >= 0 &&
	    record_send(channel->source.fd, &channel->front->out, fds, fd_count, MSG_DONTWAIT) == 0)
		return 0;
	return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL, "the sandbox has ended, or does not answer");
}

void channel_give(struct channel *channel, const struct channel_events *events, void *owner)
{
	channel->events = events;
	channel->owner = owner;
}

void channel_choose(struct channel *channel, const char *execution)
{
	snprintf(channel->execution, sizeof(channel->execution), "%.*s", REMOTE_ID_LENGTH, execution);
}

const char *channel_execution(const struct channel *channel)
{
	return channel->execution;
}

/* The policy of a command: that of the sandbox, with another directory and less time. */
static int make_policy(const struct channel_command *command, struct warder_policy **ret,
		       struct warder_error *err)
{
	struct warder_policy *policy = NULL;
	char time[32];
	int set = warder_policy_parse(command->policy, strlen(command->policy), "policy", &policy, err);

	if (set == 0 && command->directory)
		set = warder_policy_set(policy, "workingDirectory", command->directory, err);
	if (set == 0 && command->timeout_us && command->timeout_us < policy->policy.limits.wall_time_us) {
		snprintf(time, sizeof(time), "%llums",
			 (unsigned long long)((command->timeout_us + 999) / 1000));
		set = warder_policy_set(policy, "limits.wallTime", time, err);
	}
	if (set != 0) {
		warder_policy_free(policy);
		return -1;
	}
	*ret = policy;
	return 0;
}

int channel_start(struct channel *channel, const struct channel_command *command, struct warder_error *err)
{
	struct warder_policy *policy = NULL;
	struct record_start start = { .rows = command->rows, .columns = command->columns };
	owned_fd int words_fd = -1;
	uint32_t flags = (command->background ? RECORD_BACKGROUND : 0u) |
			 (command->input ? RECORD_OPEN_INPUT : 0u) | (command->rows ? RECORD_TERMINAL : 0u) |
			 (command->context ? RECORD_CONTEXT : 0u);

	if (make_policy(command, &policy, err) < 0)
		return -1;
	words_fd = remote_make_words(&(const struct remote_command){ .policy = &policy->policy,
								     .argv = command->argv,
								     .environment = command->environment },
				     &start, err);
	warder_policy_free(policy);
	if (words_fd < 0)
		return -1;
	channel_choose(channel, command->id ? command->id : "");
	channel->front->out.start = start;
	return post(channel, RECORD_START, flags, record_start_size(channel->version), &words_fd, 1, err);
}

int channel_attach(struct channel *channel, const uint64_t from[2], struct warder_error *err)
{
	channel->front->out.attach = (struct record_attach){ .from = { from[0], from[1] } };
	return post(channel, RECORD_ATTACH, 0, sizeof(channel->front->out.attach), NULL, 0, err);
}

int channel_ask(struct channel *channel, enum record_type type, uint32_t number, struct warder_error *err)
{
	const bool numbered = type == RECORD_SIGNAL || type == RECORD_PAUSE;

	channel->front->out.number = number;
	return post(channel, type, 0, numbered ? sizeof(number) : 0, NULL, 0, err);
}

int channel_list_briefly(struct channel *channel, struct warder_error *err)
{
	return post(channel, RECORD_LIST, RECORD_BRIEF, 0, NULL, 0, err);
}

int channel_write(struct channel *channel, const void *bytes, size_t len, bool more, struct warder_error *err)
{
	if (len > REMOTE_WRITE_MAX)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "input", "at most %d bytes at a time",
				 REMOTE_WRITE_MAX);
	memcpy(channel->front->out.bytes, bytes, len);
	return post(channel, RECORD_WRITE, more ? RECORD_MORE : 0, len, NULL, 0, err);
}

int channel_resize(struct channel *channel, uint16_t rows, uint16_t columns, struct warder_error *err)
{
	channel->front->out.size = (struct record_size){ .rows = rows, .columns = columns };
	return post(channel, RECORD_RESIZE, 0, sizeof(channel->front->out.size), NULL, 0, err);
}

/* Without an answer, unless it fails. */
static int post_unanswered(struct channel *channel, enum record_type type, size_t len,
			   struct warder_error *err)
{
	int sent = -1;

	begin(channel, type, RECORD_UNANSWERED, len);
	if (channel->source.fd >= 0)
		sent = record_send(channel->source.fd, &channel->front->out, NULL, 0, MSG_DONTWAIT);
	if (sent > 0 && !channel->full) {
		channel->full = true;
		watch(channel);
	}
	return sent >= 0 ? sent : error_set(err, WARDER_ERROR_UNAVAILABLE, NULL, "the sandbox has ended");
}

int channel_pass_input(struct channel *channel, const void *bytes, size_t len, struct warder_error *err)
{
	memcpy(channel->front->out.bytes, bytes, len);
	return post_unanswered(channel, RECORD_WRITE, len, err);
}

int channel_pass_size(struct channel *channel, uint16_t rows, uint16_t columns, struct warder_error *err)
{
	channel->front->out.size = (struct record_size){ .rows = rows, .columns = columns };
	return post_unanswered(channel, RECORD_RESIZE, sizeof(channel->front->out.size), err);
}

int channel_piece(struct channel *channel, const char *code, uint64_t timeout_us, const char *key,
		  struct warder_error *err)
{
	struct record_piece *piece = &channel->front->out.piece;
	const size_t len = strlen(code);
	owned_fd int code_fd = record_make_file(code, len);

	if (code_fd < 0)
		return error_no_memory(err, "code");
	*piece = (struct record_piece){ .bytes = len, .timeout_us = timeout_us };
	if (*key)
		memcpy(piece->key, key, RECORD_KEY_LENGTH);
	return post(channel, RECORD_PIECE, 0, *key ? sizeof(*piece) : RECORD_PIECE_BARE, &code_fd, 1, err);
}

int channel_repeat(struct channel *channel, const char *key, struct warder_error *err)
{
	memcpy(channel->front->out.bytes, key, RECORD_KEY_LENGTH);
	return post(channel, RECORD_REPEAT, 0, RECORD_KEY_LENGTH, NULL, 0, err);
}
