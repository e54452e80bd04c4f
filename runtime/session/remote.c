/*
 * remote: the client's side of records.h. A connection begins with the hello and then asks for one thing after the other.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "runtime/session/code_record.h"
#include "runtime/session/frames.h"
#include "runtime/session/records.h"
#include "runtime/session/session.h"

#define ANSWER_MS 8000
#define LOOK_MS   200

struct remote {
	int fd;
	uint16_t
	    version; /* of the records: RECORD_VERSION, or the one before, if the keeper speaks no other */
	char session[SESSION_NAME_MAX + 1];
	char id[REMOTE_ID_LENGTH + 1];
	bool (*gives_up)(
	    void); /* asked five times a second while an answer takes as long as it takes; or NULL */
	void (*on_line)(void *context, const char *line); /* of progress; or NULL */
	int handed_fd; /* that came with the end: the directory whose files are to be taken; or -1 */
	bool lost;     /* the keeper has closed the connection, and said no more */
	struct record in, out;
};
_Static_assert(REMOTE_WRITE_MAX <= RECORD_BODY_MAX, "one record");
_Static_assert(REMOTE_ID_LENGTH == EXECUTION_ID_LENGTH, "the same id");
_Static_assert(sizeof(struct remote_counters) == RECORD_COUNTERS_COUNT * sizeof(uint64_t), "the same order");

int remote_draw_id(char ret[REMOTE_ID_LENGTH + 1], struct warder_error *err)
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "no random number");
	snprintf(ret, REMOTE_ID_LENGTH + 1, "%016" PRIx64, number);
	return 0;
}

/* ---- one request ---- */

static int gone(const struct remote *remote, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_UNAVAILABLE, "name",
			 "session %.64s does not run any more: its keeper has ended", remote->session);
}

/* Whether the keeper that has closed the connection still answers others. */
static bool keeper_lives(const struct remote *remote)
{
	struct warder_error ignored;
	owned_fd int dir_fd = -1;
	owned_fd int fd = -1;

	return session_directory_open(false, &dir_fd, &ignored) == 0 &&
	       session_connect(dir_fd, remote->session, &fd, &ignored) == 0 &&
	       session_peer_pid(fd) == session_peer_pid(remote->fd);
}

/* The keeper has closed the connection, and said no more. */
static int closed(struct remote *remote, struct warder_error *err)
{
	remote->lost = true;
	if (keeper_lives(remote))
		error_set(
		    err, WARDER_ERROR_UNAVAILABLE, "name",
		    "the keeper of session %.64s goes on, but has closed this connection, as it does if "
		    "a client takes nothing for %d s, or if it has no room for another connection",
		    remote->session, (int)(CLIENT_PATIENCE_US / 1000000));
	else
		gone(remote, err);
	err->sys_errno = ECONNRESET;
	return -1;
}

/* Whether something can be read in time. A signal does not end a wait for an answer. */
static bool is_readable(const struct remote *remote, int wait_ms)
{
	struct pollfd ready = { .fd = remote->fd, .events = POLLIN };
	const bool asks = wait_ms < 0 && remote->gives_up;
	int count;

	do
		count = poll(&ready, 1, asks ? LOOK_MS : wait_ms);
	while ((asks && count <= 0 && !remote->gives_up()) ||
	       (!asks && count < 0 && errno == EINTR && (wait_ms < 0 || wait_ms == ANSWER_MS)));
	return count > 0;
}

/* The next record, and a descriptor that came with it. 0; -1 with *err. */
static int receive(struct remote *remote, int *ret_fd, struct warder_error *err)
{
	int fds[RECORD_FDS_MAX];
	const int got = record_receive(remote->fd, &remote->in, fds, 0);

	if (got == 0)
		return closed(remote, err);
	if (got < 0)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "name",
				 "the keeper of session %.64s is of another version of Warder",
				 remote->session);
	if (ret_fd)
		*ret_fd = fd_take(&fds[0]);
	if (remote->in.head.type == RECORD_END && remote->handed_fd < 0)
		remote->handed_fd = fd_take(&fds[1]);
	for (size_t i = 0; i < RECORD_FDS_MAX; i++)
		fd_done(&fds[i]);
	return 0;
}

/* The answer, in remote->in. Texts are the keeper's: they get an end. */
static int take_answer(struct remote *remote, int wait_ms, int *ret_fd, struct warder_error *err)
{
	struct record_answer *answer = &remote->in.answer;

	if (!is_readable(remote, wait_ms))
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "name",
				 "the keeper of session %.64s does not answer", remote->session);
	if (receive(remote, ret_fd, err) < 0)
		return -1;
	if (remote->in.head.type != RECORD_ANSWER)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "name",
				 "the keeper of session %.64s answered something else", remote->session);
	answer->id[sizeof(answer->id) - 1] = '\0';
	if (!answer->failed)
		return 0;
	*err = answer->error;
	err->text[sizeof(err->text) - 1] = '\0';
	err->field[sizeof(err->field) - 1] = '\0';
	err->step[sizeof(err->step) - 1] = '\0';
	return -1;
}

/* Fill the head of remote->out. */
static void begin(struct remote *remote, enum record_type type, uint32_t flags, size_t len)
{
	record_begin(&remote->out, type, flags, remote->id, len);
	remote->out.head.version = remote->version;
}

/* Send remote->out, whose body is filled, and take the answer. */
static int ask(struct remote *remote, enum record_type type, uint32_t flags, size_t len, const int *fds,
	       size_t fd_count, int *ret_fd, struct warder_error *err)
{
	begin(remote, type, flags, len);
	if (record_send(remote->fd, &remote->out, fds, fd_count, 0) != 0) {
		/* What it said before it closed the connection is the reason. */
		if (is_readable(remote, 0) && take_answer(remote, 0, NULL, err) < 0)
			return -1;
		return closed(remote, err);
	}
	/* A start takes as long as a launch, and input as long as the program does not read. The owner of a program waits for its end anyway. */
	return take_answer(remote,
			   type == RECORD_START || type == RECORD_RESTART || type == RECORD_FORK ||
				   type == RECORD_WRITE || (type == RECORD_RESULT && remote->gives_up)
			       ? -1
			       : ANSWER_MS,
			   ret_fd, err);
}

/* ---- connecting ---- */

/* Whether the keeper is a process of this same program. */
static bool is_same_program(int fd)
{
	struct stat ours, theirs;
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/exe", session_peer_pid(fd));
	return stat(path, &theirs) == 0 && stat("/proc/self/exe", &ours) == 0 &&
	       fd_same_object(&ours, &theirs);
}

static int read_text(int fd, char **ret, struct warder_error *err)
{
	struct stat st;

	return fstat(fd, &st) < 0 ? error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
						    "the keeper's answer cannot be read")
				  : record_read_file(fd, (size_t)st.st_size, ret, err);
}

/* With RECORD_DESCRIBED *ret_text is heap. */
static int say_hello(struct remote *remote, uint32_t flags, char **ret_text, struct warder_error *err)
{
	owned_fd int fd = -1;

	if (!(flags & RECORD_DESCRIBED))
		return ask(remote, RECORD_HELLO, flags, 0, NULL, 0, NULL, err);
	begin(remote, RECORD_HELLO, flags, 0);
	if (record_send(remote->fd, &remote->out, NULL, 0, 0) != 0)
		return closed(remote, err);
	if (session_await_reply(remote->fd, err) < 0 || take_answer(remote, 0, &fd, err) < 0)
		return -1;
	return read_text(fd, ret_text, err);
}

/* A keeper of the version before refuses the hello, and names its version in the answer. Then a second connection speaks that version. As
 * session_connect(). */
static int greet(struct remote *remote, int dir_fd, uint32_t flags, char **ret_text, struct warder_error *err)
{
	int got = say_hello(remote, flags, ret_text, err);

	if (got == 0 || remote->lost || flags & RECORD_OWNER || remote->in.head.version != RECORD_VERSION_OLD)
		return got;
	fd_done(&remote->fd);
	remote->version = RECORD_VERSION_OLD;
	got = session_connect(dir_fd, remote->session, &remote->fd, err);
	return got != 0 ? got : ask(remote, RECORD_HELLO, flags, 0, NULL, 0, NULL, err);
}

/* flags: of the hello. 0; 1: no such session, or it is being set up, or it ends; 2, with RECORD_OWNER: its keeper is another program; -1 with
 * *err. */
static int connect_as(const char *session, uint32_t flags, struct remote **ret, char **ret_text,
		      struct warder_error *err)
{
	owned_fd int dir_fd = -1;
	struct remote *remote;
	int got;

	if (session_directory_open(false, &dir_fd, err) < 0)
		return err->code == WARDER_ERROR_NOT_FOUND ? 1 : -1;
	remote = calloc(1, sizeof(*remote));
	if (!remote)
		return error_no_memory(err, NULL);
	remote->fd = remote->handed_fd = -1;
	remote->version = RECORD_VERSION;
	snprintf(remote->session, sizeof(remote->session), "%s", session);
	got = session_connect(dir_fd, session, &remote->fd, err);
	if (got == 0 && flags & RECORD_OWNER && !is_same_program(remote->fd))
		got = 2;
	if (got == 0) {
		memset(err, 0, sizeof(*err));
		got = greet(remote, dir_fd, flags, ret_text, err);
		/* It ended meanwhile. */
		if (got < 0 && flags & RECORD_OWNER && remote->lost)
			got = 1;
	}
	if (got == 0) {
		*ret = remote;
		return 0;
	}
	remote_free(remote);
	return got;
}

static int connect_to(const char *session, struct remote **ret, struct warder_error *err)
{
	return connect_as(session, 0, ret, NULL, err);
}

static int none(const char *id, struct warder_error *err)
{
	char shown[64];

	return error_set(err, WARDER_ERROR_NOT_FOUND, "id",
			 "there is no execution %s; \"warder ps\" lists all executions",
			 json_quote(id, shown, sizeof(shown)));
}

/* 0: the keeper has the execution; -1 with *err. */
static int check_there(struct remote *remote, struct warder_error *err)
{
	struct remote_counters counters;

	/* CONFLICT: it has ended, and has no counters any more. */
	return remote_counters(remote, &counters, err) < 0 && err->code != WARDER_ERROR_CONFLICT ? -1 : 0;
}

struct search {
	const char *id;
	struct remote *found;
	bool named;                  /* the session whose name is the id has said, or could not be asked */
	struct warder_error unasked; /* of the first session that did not say; code 0: each has said */
};

/* The session did not say whether it has the execution. */
static void note_unasked(struct search *search, const struct warder_error *why)
{
	if (!search->unasked.code)
		search->unasked = *why;
}

/* A keeper has closed a connection during the hello: it ends, its session is being set up, or it has no room for another connection. Only a
 * keeper that has no room may have executions. It may close this connection, too, but it listens until it ends. */
static bool may_have_executions(const char *name)
{
	struct session_request request = { .type = SESSION_DESCRIBE };
	struct warder_error err = { 0 };
	owned_fd int dir_fd = -1;
	owned_fd int fd = -1;
	owned_fd int again_fd = -1;

	if (session_directory_open(false, &dir_fd, &err) < 0 || session_connect(dir_fd, name, &fd, &err) != 0)
		return false;
	if (session_send_request(fd, &request, -1, &err) == 0 &&
	    session_receive_reply(fd, NULL, NULL, &err) == 0)
		return true;
	return err.code != WARDER_ERROR_CONFLICT && session_connect(dir_fd, name, &again_fd, &err) == 0;
}

/* 1: it is found; 0. */
static int ask_in(struct search *search, const char *name)
{
	struct warder_error why = { 0 };
	struct remote *remote;
	const int got = connect_to(name, &remote, &why);
	const bool unasked = got < 0 && (why.sys_errno != ECONNRESET || may_have_executions(name));

	search->named |= (got == 0 || unasked) && strcmp(name, search->id) == 0;
	if (unasked)
		note_unasked(search, &why);
	if (got != 0)
		return 0;
	snprintf(remote->id, sizeof(remote->id), "%s", search->id);
	if (check_there(remote, &why) == 0) {
		search->found = remote;
		return 1;
	}
	if (why.code != WARDER_ERROR_NOT_FOUND && (!remote->lost || keeper_lives(remote)))
		note_unasked(search, &why);
	remote_free(remote);
	return 0;
}

/* Session_each(): as ask_in(). No session is asked twice; one that has started since then has not been asked. */
static int look_in(void *context, const char *name)
{
	struct search *search = context;

	return search->named && strcmp(name, search->id) == 0 ? 0 : ask_in(search, name);
}

int remote_open(const char *id, struct remote **ret, struct warder_error *err)
{
	struct search search = { .id = id };
	char shown[64];

	if (strlen(id) != REMOTE_ID_LENGTH || strspn(id, "0123456789abcdef") != REMOTE_ID_LENGTH)
		return none(id, err);
	/* A detached run is a session of the same name. */
	if (ask_in(&search, id) == 0 && session_each(look_in, &search, err) < 0)
		return -1;
	if (!search.found && search.unasked.code)
		return error_set(
		    err, search.unasked.code, "id",
		    "no session that answers has execution %s, but one session could not be asked: %.300s",
		    json_quote(id, shown, sizeof(shown)), search.unasked.text);
	if (!search.found)
		return none(id, err);
	*ret = search.found;
	return 0;
}

int remote_open_in(const char *session, const char *id, struct remote **ret, struct warder_error *err)
{
	struct remote *remote;
	const int got = connect_to(session, &remote, err);

	if (got != 0)
		return got < 0 ? -1 : none(id, err);
	snprintf(remote->id, sizeof(remote->id), "%s", id);
	if (check_there(remote, err) < 0) {
		remote_free(remote);
		return -1;
	}
	*ret = remote;
	return 0;
}

int remote_reconnect(struct remote *remote, struct warder_error *err)
{
	struct remote *again;
	int got = connect_to(remote->session, &again, err);

	if (got != 0)
		return got;
	fd_done(&remote->fd);
	remote->fd = fd_take(&again->fd);
	remote->version = again->version;
	remote_free(again);
	got = check_there(remote, err);
	/* Another session has the name by now. */
	return got < 0 && err->code == WARDER_ERROR_NOT_FOUND ? 1 : got;
}

int remote_again(const struct remote *remote, struct remote **ret, struct warder_error *err)
{
	const int got = connect_to(remote->session, ret, err);

	if (got != 0)
		return got < 0 ? -1 : gone(remote, err);
	memcpy((*ret)->id, remote->id, sizeof(remote->id));
	return 0;
}

bool remote_is_there(const struct remote *remote)
{
	struct warder_error ignored;
	struct remote *again;
	bool there;

	if (remote_again(remote, &again, &ignored) < 0)
		return false;
	there = check_there(again, &ignored) == 0;
	remote_free(again);
	return there;
}

bool remote_is_forgotten(struct remote *remote)
{
	struct warder_error err = { 0 };

	return check_there(remote, &err) < 0 && err.code == WARDER_ERROR_NOT_FOUND;
}

const char *remote_id(const struct remote *remote)
{
	return remote->id;
}

const char *remote_session(const struct remote *remote)
{
	return remote->session;
}

int remote_fd(const struct remote *remote)
{
	return remote->fd;
}

void remote_free(struct remote *remote)
{
	if (!remote)
		return;
	fd_done(&remote->fd);
	fd_done(&remote->handed_fd);
	free(remote);
}

/* ---- starting ---- */

static size_t count_of(char *const *list)
{
	size_t count = 0;

	while (list && list[count])
		count++;
	return count;
}

/* A growing row of texts, each with its NUL. */
struct texts {
	char *bytes;
	size_t len;
	bool failed;
};

static void add_text(struct texts *texts, const char *text)
{
	const size_t len = text ? strlen(text) + 1 : 0;
	char *grown = len && !texts->failed ? realloc(texts->bytes, texts->len + len) : NULL;

	if (!grown) {
		texts->failed = true;
		return;
	}
	memcpy(grown + texts->len, text, len);
	texts->bytes = grown;
	texts->len += len;
}

static void add_policy(struct texts *texts, const struct policy *policy)
{
	char *text = policy_encode(policy);

	add_text(texts, text);
	free(text);
}

int remote_make_words(const struct remote_command *command, struct record_start *start,
		      struct warder_error *err)
{
	/* The keeper's environment is that of whoever started the session. */
	char *const *caller = command->policy->environment.mode == POLICY_ENVIRONMENT_NONE ? NULL : environ;
	struct texts texts = { 0 };
	int fd = -1;

	add_policy(&texts, command->policy);
	if (command->ceiling)
		add_policy(&texts, command->ceiling);
	for (char *const *word = command->argv; *word; word++)
		add_text(&texts, *word);
	for (char *const *word = command->environment; word && *word; word++)
		add_text(&texts, *word);
	for (char *const *word = caller; word && *word; word++)
		add_text(&texts, *word);
	if (command->audit) {
		add_text(&texts, command->audit->path);
		add_text(&texts, command->audit->head);
	}
	start->has_audit = command->audit != NULL;
	start->has_ceiling = command->ceiling != NULL;
	start->argc = (uint32_t)count_of(command->argv);
	start->set_count = (uint32_t)count_of(command->environment);
	start->caller_count = (uint32_t)count_of(caller);
	start->bytes = texts.len;
	if (!texts.failed)
		fd = record_make_file(texts.bytes, texts.len);
	free(texts.bytes);
	return fd >= 0 ? fd : error_no_memory(err, NULL);
}

/* Adds its memory file, which the caller closes, the value, and the files of its output. -1 with *err. */
static int add_code(const struct library_order *code, int fds[RECORD_FDS_MAX], size_t *count, int *ret_fd,
		    struct warder_error *err)
{
	const struct jail_command *command = &code->launch.command;

	*ret_fd = code_record_make(code, err);
	if (*ret_fd < 0)
		return -1;
	fds[(*count)++] = *ret_fd;
	if (command->input_fd > 0)
		fds[(*count)++] = command->input_fd;
	for (size_t i = 0; command->spill_fds && i < 2; i++)
		fds[(*count)++] = command->spill_fds[i];
	return 0;
}

/* Behind the words. Returns the flags. */
static uint32_t add_streams(const struct remote_streams *streams, int fds[RECORD_FDS_MAX], size_t *count)
{
	uint32_t flags = RECORD_STREAMS;

	if (streams->input_fd >= 0) {
		flags |= RECORD_INPUT_FD;
		fds[(*count)++] = streams->input_fd;
	}
	if (streams->output_fds) {
		flags |= RECORD_OUTPUT_FDS;
		fds[(*count)++] = streams->output_fds[0];
		fds[(*count)++] = streams->output_fds[1];
	}
	return flags;
}

/* What only a keeper of this version does. */
static int check_version(const struct remote *remote, const struct remote_command *command,
			 struct warder_error *err)
{
	const char *flag = command->audit        ? "--audit"
			   : command->log_fd > 0 ? "--log"
			   : command->progress   ? "--progress"
						 : NULL;

	if (remote->version >= RECORD_VERSION_STREAMS || !flag)
		return 0;
	return error_set(err, WARDER_ERROR_UNAVAILABLE, flag,
			 "%s: the keeper of session %.64s is of an older version of Warder and cannot do "
			 "that; start the session again",
			 flag, remote->session);
}

static int start_in(struct remote *remote, const struct remote_command *command, struct warder_error *err)
{
	uint32_t flags =
	    (command->background ? RECORD_BACKGROUND : 0u) | (command->input ? RECORD_OPEN_INPUT : 0u) |
	    (command->terminal ? RECORD_TERMINAL : 0u) | (command->context ? RECORD_CONTEXT : 0u) |
	    (command->no_receipt ? RECORD_NO_RECEIPT : 0u) | (command->log_fd > 0 ? RECORD_LOG : 0u) |
	    (command->owner ? RECORD_OWNER : 0u) | (command->progress ? RECORD_PROGRESS : 0u) |
	    (command->for_files ? RECORD_FOR_FILES : 0u) | (command->code ? RECORD_CODE : 0u) |
	    (command->calls_fd > 0 ? RECORD_FUNCTIONS : 0u);
	struct record_start start = { .output_max = command->output_max,
				      .keep_us = command->keep_us,
				      .rows = command->rows,
				      .columns = command->columns };
	owned_fd int words_fd = -1;
	owned_fd int code_fd = -1;
	int fds[RECORD_FDS_MAX];
	size_t count = 1;

	if (check_version(remote, command, err) < 0)
		return -1;
	words_fd = fds[0] = remote_make_words(command, &start, err);
	if (words_fd < 0)
		return -1;
	if (command->audit)
		fds[count++] = command->audit->fd;
	if (command->log_fd > 0)
		fds[count++] = command->log_fd;
	if (command->code && add_code(command->code, fds, &count, &code_fd, err) < 0)
		return -1;
	if (command->calls_fd > 0)
		fds[count++] = command->calls_fd;
	if (command->terminal_fd >= 0)
		fds[count++] = command->terminal_fd;
	if (command->streams)
		flags |= add_streams(command->streams, fds, &count);
	if (command->session_id)
		snprintf(start.session, sizeof(start.session), "%s", command->session_id);
	remote->on_line = command->on_line;
	remote->out.start = start;
	if (ask(remote, RECORD_START, flags, record_start_size(remote->version), fds, count, NULL, err) < 0)
		return -1;
	snprintf(remote->id, sizeof(remote->id), "%.*s", REMOTE_ID_LENGTH, remote->in.answer.id);
	return 0;
}

static int no_session(const char *session, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_NOT_FOUND, "name",
			 "session %.64s does not run; \"warder session start %.64s\" starts it", session,
			 session);
}

int remote_connect(const char *session, int *ret_fd, unsigned int *ret_version, struct warder_error *err)
{
	struct remote *remote;
	const int got = connect_to(session, &remote, err);

	if (got != 0)
		return got < 0 ? -1 : no_session(session, err);
	*ret_fd = fd_take(&remote->fd);
	if (ret_version)
		*ret_version = remote->version;
	remote_free(remote);
	return 0;
}

int remote_start(const char *session, const char *id, const struct remote_command *command,
		 struct remote **ret, struct warder_error *err)
{
	struct remote *remote;
	const int got = connect_to(session, &remote, err);

	if (got != 0)
		return got < 0 ? -1 : no_session(session, err);
	snprintf(remote->id, sizeof(remote->id), "%s", id ? id : "");
	if (start_in(remote, command, err) < 0) {
		remote_free(remote);
		return -1;
	}
	*ret = remote;
	return 0;
}

/* flags: of the hello, besides RECORD_OWNER. As connect_as(). */
static int connect_owner(const char *session, uint32_t flags, struct remote **ret, char **ret_text,
			 struct warder_error *err)
{
	struct remote *remote;
	const int got = connect_as(session, RECORD_OWNER | flags, &remote, ret_text, err);

	if (got != 0)
		return got;
	if (remote_draw_id(remote->id, err) < 0) {
		remote_free(remote);
		return -1;
	}
	*ret = remote;
	return 0;
}

int remote_connect_owner(const char *session, struct remote **ret, struct warder_error *err)
{
	const int got = connect_owner(session, 0, ret, NULL, err);

	return got == 1 ? no_session(session, err) : got == 2 ? 1 : got;
}

int remote_open_owner(const char *session, struct remote **ret, char **ret_text, struct warder_error *err)
{
	char *text = NULL;
	const int got = connect_owner(session, RECORD_DESCRIBED, ret, &text, err);

	if (got == 0)
		*ret_text = text;
	else
		free(text);
	return got < 0 && err->sys_errno != ETIMEDOUT ? 1 : got > 0 ? 1 : got;
}

bool remote_is_silent(const struct remote *remote)
{
	return !is_readable(remote, 0);
}

int remote_start_owned(struct remote *remote, const struct remote_command *command, bool (*gives_up)(void),
		       struct warder_error *err)
{
	remote->gives_up = gives_up;
	if (start_in(remote, command, err) == 0)
		return 0;
	return remote->lost ? 1 : -1;
}

/* ---- reading ---- */

int remote_attach(struct remote *remote, const uint64_t from[2], bool follow, struct remote_attached *ret,
		  struct warder_error *err)
{
	const uint64_t *values = remote->in.answer.values;

	remote->out.attach = (struct record_attach){ .from = { from[0], from[1] } };
	if (ask(remote, RECORD_ATTACH, follow ? RECORD_FOLLOW : 0, sizeof(remote->out.attach), NULL, 0, NULL,
		err) < 0)
		return -1;
	*ret = (struct remote_attached){
		.totals = { values[RECORD_ATTACHED_STDOUT], values[RECORD_ATTACHED_STDERR] },
		.ended = values[RECORD_ATTACHED_ENDED],
		.terminal = values[RECORD_ATTACHED_TERMINAL],
		.input = values[RECORD_ATTACHED_INPUT],
	};
	return 0;
}

static void take_end(const struct record_end *end, struct remote_end *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->outcome.cause =
	    end->cause >= 0 && end->cause < JAIL_CAUSE_COUNT ? (enum jail_cause)end->cause : JAIL_CAUSE_HOST;
	ret->outcome.exit_code = end->exit_code;
	ret->outcome.signal = end->signal;
	ret->session_end =
	    end->session_end < SESSION_END_COUNT ? (enum session_end)end->session_end : SESSION_END_NONE;
	snprintf(ret->outcome.detail, sizeof(ret->outcome.detail), "%.*s", (int)sizeof(end->detail) - 1,
		 end->detail);
	for (int i = 0; i < 2; i++)
		ret->outcome.output[i].total = end->totals[i];
}

static void take_frame(const struct record *in, struct remote_event *ret)
{
	ret->kind = REMOTE_BYTES;
	ret->stream = in->frame.stream == 1;
	ret->offset = in->frame.offset;
	ret->end = in->frame.offset + (in->head.len - sizeof(in->frame));
	ret->time_us = in->frame.time_us;
	ret->bytes = in->bytes + sizeof(in->frame);
}

void remote_take_done(const struct record_done *done, struct remote_done *ret)
{
	*ret = (struct remote_done){
		.end = done->end < CONTEXT_END_COUNT ? (enum context_end)done->end : CONTEXT_END_DIED,
		.piece = done->piece,
		.refused = done->refused,
		.interrupted = done->interrupted,
		.timed_out = done->timed_out,
		.cut = done->cut,
		.wall_us = done->wall_us,
		.bytes = { done->bytes[0], done->bytes[1] },
	};
	snprintf(ret->why, sizeof(ret->why), "%.*s", (int)sizeof(done->why) - 1, done->why);
	take_end(&done->last, &ret->last);
}

/* Of a piece. A text of the context's is in the descriptor. */
static int take_said(const struct record *in, int fd, struct remote_event *ret, struct warder_error *err)
{
	struct stat st;

	if (in->head.type == RECORD_DONE) {
		ret->kind = REMOTE_DONE;
		remote_take_done(&in->done, &ret->done);
	} else {
		ret->kind = in->number == FRAME_ASKS ? REMOTE_ASKS : REMOTE_SHOWN;
	}
	if (fd < 0)
		return 0;
	ret->text_len = fstat(fd, &st) < 0 ? 0 : (size_t)st.st_size;
	return record_read_file(fd, ret->text_len, &ret->text, err);
}

int remote_next(struct remote *remote, int wait_ms, struct remote_event *ret, struct warder_error *err)
{
	const struct record *in = &remote->in;
	owned_fd int fd = -1;

	*ret = (struct remote_event){ .kind = REMOTE_NOTHING };
	if (!is_readable(remote, wait_ms))
		return 0;
	if (receive(remote, &fd, err) < 0)
		return -1;
	if (in->head.type == RECORD_SHOWN || in->head.type == RECORD_DONE)
		return take_said(in, fd, ret, err);
	if (in->head.type == RECORD_FRAME) {
		take_frame(in, ret);
	} else if (in->head.type == RECORD_GAP) {
		ret->kind = REMOTE_GAP;
		ret->stream = in->gap.stream == 1;
		ret->offset = in->gap.from;
		ret->end = in->gap.to;
	} else if (in->head.type == RECORD_END) {
		ret->kind = REMOTE_END;
		take_end(&in->end, &ret->last);
	} else {
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "name",
				 "the keeper of session %.64s sent something else than output",
				 remote->session);
	}
	return 0;
}

/* ---- the rest ---- */

int remote_write_begin(struct remote *remote, const char *bytes, size_t len, bool more,
		       struct warder_error *err)
{
	memcpy(remote->out.bytes, bytes, len);
	begin(remote, RECORD_WRITE, more ? RECORD_MORE : 0, len);
	return record_send(remote->fd, &remote->out, NULL, 0, 0) == 0 ? 0 : gone(remote, err);
}

int remote_write_done(struct remote *remote, int wait_ms, struct warder_error *err)
{
	if (!is_readable(remote, wait_ms))
		return 0;
	return take_answer(remote, 0, NULL, err) < 0 ? -1 : 1;
}

int remote_write(struct remote *remote, const char *bytes, size_t len, bool more, struct warder_error *err)
{
	do {
		const size_t part = len < REMOTE_WRITE_MAX ? len : REMOTE_WRITE_MAX;

		if (remote_write_begin(remote, bytes, part, more || part < len, err) < 0 ||
		    remote_write_done(remote, -1, err) < 0)
			return -1;
		bytes += part;
		len -= part;
	} while (len);
	return 0;
}

int remote_close_input(struct remote *remote, struct warder_error *err)
{
	return ask(remote, RECORD_CLOSE, 0, 0, NULL, 0, NULL, err);
}

int remote_signal(struct remote *remote, int number, struct warder_error *err)
{
	remote->out.number = (uint32_t)number;
	return ask(remote, RECORD_SIGNAL, 0, sizeof(remote->out.number), NULL, 0, NULL, err);
}

int remote_resize(struct remote *remote, int rows, int columns, struct warder_error *err)
{
	remote->out.size = (struct record_size){ (uint16_t)rows, (uint16_t)columns };
	return ask(remote, RECORD_RESIZE, 0, sizeof(remote->out.size), NULL, 0, NULL, err);
}

int remote_counters(struct remote *remote, struct remote_counters *ret, struct warder_error *err)
{
	if (ask(remote, RECORD_COUNTERS, 0, 0, NULL, 0, NULL, err) < 0)
		return -1;
	memcpy(ret, remote->in.answer.values, sizeof(*ret));
	return 0;
}

int remote_wait_begin(struct remote *remote, bool whole, struct warder_error *err)
{
	return ask(remote, RECORD_RESULT, whole ? RECORD_WHOLE : 0, 0, NULL, 0, NULL, err);
}

static void hand_lines(struct remote *remote)
{
	const char *line = remote->in.bytes;
	const char *end = line + remote->in.head.len;

	while (remote->on_line && end[-1] == '\0' && line < end) {
		remote->on_line(NULL, line);
		line += strlen(line) + 1;
	}
}

int remote_wait_whole(struct remote *remote, int wait_ms, struct remote_end *ret, int *ret_fd,
		      struct warder_error *err)
{
	owned_fd int fd = -1;

	if (!is_readable(remote, wait_ms))
		return 0;
	if (receive(remote, &fd, err) < 0)
		return -1;
	if (remote->in.head.type == RECORD_LINES) {
		hand_lines(remote);
		return 0;
	}
	if (remote->in.head.type != RECORD_END)
		return gone(remote, err);
	take_end(&remote->in.end, ret);
	*ret_fd = fd_take(&fd);
	return 1;
}

int remote_handed_fd(const struct remote *remote)
{
	return remote->handed_fd;
}

void remote_say_taken(struct remote *remote)
{
	begin(remote, RECORD_TAKEN, 0, 0);
	(void)!record_send(remote->fd, &remote->out, NULL, 0, 0);
}

int remote_wait_done(struct remote *remote, int wait_ms, struct remote_end *ret, char **ret_json,
		     struct warder_error *err)
{
	owned_fd int fd = -1;
	const int got = remote_wait_whole(remote, wait_ms, ret, &fd, err);

	*ret_json = NULL;
	return fd >= 0 && read_text(fd, ret_json, err) < 0 ? -1 : got;
}

int remote_wait(struct remote *remote, struct remote_end *ret, char **ret_json, struct warder_error *err)
{
	*ret_json = NULL;
	return remote_wait_begin(remote, false, err) < 0 ||
		       remote_wait_done(remote, -1, ret, ret_json, err) < 0
		   ? -1
		   : 0;
}

/* ---- contexts ---- */

/* The row of a context in what the keeper lists: of those of that name the last one that has not been released. */
static const struct json_value *find_row(const struct json_value *rows, const char *name)
{
	const struct json_value *found = NULL;

	for (const struct json_value *row = rows->child; row; row = row->next) {
		const struct json_value *released = json_member(row, "released");

		if (strcmp(json_member_text(row, "context", ""), name) == 0 &&
		    !(released && released->type == JSON_BOOL && released->boolean))
			found = row;
	}
	return found;
}

int remote_say_no_context(const char *session, const char *name, struct warder_error *err)
{
	return error_set(
	    err, WARDER_ERROR_NOT_FOUND, "context",
	    "session %.64s has no context %.64s; \"warder context create %.64s %.64s\" makes one", session,
	    name, session, name);
}

static int find_context(struct remote *remote, const char *name, char **ret_json, struct warder_error *err)
{
	struct json_value *rows = NULL;
	const struct json_value *row;
	owned_fd int fd = -1;
	char *text = NULL;

	if (ask(remote, RECORD_LIST, 0, 0, NULL, 0, &fd, err) < 0 || read_text(fd, &text, err) < 0)
		return -1;
	if (json_parse(text, strlen(text), "executions", &(struct json_limits){ .max_bytes = SIZE_MAX },
		       &rows, err) < 0) {
		free(text);
		return -1;
	}
	row = find_row(rows, name);
	if (row)
		snprintf(remote->id, sizeof(remote->id), "%s", json_member_text(row, "id", ""));
	if (row && ret_json)
		*ret_json = json_text(row);
	json_free(rows);
	free(text);
	if (row)
		return 0;
	return remote_say_no_context(remote->session, name, err);
}

int remote_open_context(const char *session, const char *name, struct remote **ret, char **ret_json,
			struct warder_error *err)
{
	struct remote *remote;
	int got;

	if (session_check_name(session, err) < 0 || session_check_name(name, err) < 0)
		return -1;
	got = connect_to(session, &remote, err);
	if (got != 0)
		return got < 0 ? -1 : no_session(session, err);
	if (find_context(remote, name, ret_json, err) < 0) {
		remote_free(remote);
		return -1;
	}
	*ret = remote;
	return 0;
}

int remote_piece(struct remote *remote, const char *code, size_t len, uint64_t timeout_us, bool at_once,
		 struct warder_error *err)
{
	owned_fd int fd = record_make_file(code, len);

	if (fd < 0)
		return error_no_memory(err, NULL);
	remote->out.piece = (struct record_piece){ .bytes = len, .timeout_us = timeout_us };
	return ask(remote, RECORD_PIECE, at_once ? RECORD_AT_ONCE : 0, RECORD_PIECE_BARE, &fd, 1, NULL, err);
}

int remote_answer(struct remote *remote, const char *line, size_t len, struct warder_error *err)
{
	if (!line)
		return ask(remote, RECORD_CLOSE, 0, 0, NULL, 0, NULL, err);
	if (len > REMOTE_WRITE_MAX)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "input",
				 "a line of input has %zu bytes; at most %d", len, REMOTE_WRITE_MAX);
	memcpy(remote->out.bytes, line, len);
	return ask(remote, RECORD_INPUT, 0, len, NULL, 0, NULL, err);
}

int remote_interrupt(struct remote *remote, struct warder_error *err)
{
	return ask(remote, RECORD_INTERRUPT, 0, 0, NULL, 0, NULL, err);
}

int remote_restart(struct remote *remote, struct warder_error *err)
{
	if (ask(remote, RECORD_RESTART, 0, 0, NULL, 0, NULL, err) < 0)
		return -1;
	snprintf(remote->id, sizeof(remote->id), "%.*s", REMOTE_ID_LENGTH, remote->in.answer.id);
	return 0;
}

int remote_fork(struct remote *remote, const char *name, bool keeps_seed, struct warder_error *err)
{
	const size_t len = strlen(name);

	if (session_check_name(name, err) < 0)
		return -1;
	memcpy(remote->out.bytes, name, len);
	if (ask(remote, RECORD_FORK, keeps_seed ? RECORD_KEEP_SEED : 0, len, NULL, 0, NULL, err) < 0)
		return -1;
	snprintf(remote->id, sizeof(remote->id), "%.*s", REMOTE_ID_LENGTH, remote->in.answer.id);
	return 0;
}

int remote_delete(struct remote *remote, struct warder_error *err)
{
	struct remote_end end;
	char *json = NULL;
	const int ret = ask(remote, RECORD_DELETE, 0, 0, NULL, 0, NULL, err) < 0
			    ? -1
			    : remote_wait(remote, &end, &json, err);

	free(json);
	return ret;
}

/* ---- all of a session, all of a user ---- */

/* To ask something about the session itself. */
static int connect_to_session(const char *session, struct remote **ret, struct warder_error *err)
{
	int got;

	if (session_check_name(session, err) < 0)
		return -1;
	got = connect_to(session, ret, err);
	return got > 0 ? error_set(err, WARDER_ERROR_NOT_FOUND, "name", "session %.64s does not run", session)
		       : got;
}

int remote_extend(const char *session, uint64_t us, struct warder_error *err)
{
	struct remote *remote;
	int ret;

	if (connect_to_session(session, &remote, err) < 0)
		return -1;
	remote->out.extend.us = us;
	ret = ask(remote, RECORD_EXTEND, 0, sizeof(remote->out.extend), NULL, 0, NULL, err);
	remote_free(remote);
	return ret;
}

int remote_pause(const char *session, bool paused, struct warder_error *err)
{
	struct remote *remote;
	int ret;

	if (connect_to_session(session, &remote, err) < 0)
		return -1;
	remote->out.number = paused;
	ret = ask(remote, RECORD_PAUSE, 0, sizeof(remote->out.number), NULL, 0, NULL, err);
	remote_free(remote);
	return ret;
}

static int add_session(void *context, const char *name)
{
	struct session_list *list = context;
	struct warder_error ignored = { 0 };
	struct json_value *document = NULL;
	struct remote *remote;
	owned_fd int fd = -1;
	char *text = NULL;

	/* One that is being set up, or ends, has none; one that hangs must not hide the others. */
	if (connect_to(name, &remote, &ignored) != 0)
		return 0;
	if (ask(remote, RECORD_LIST, 0, 0, NULL, 0, &fd, &ignored) == 0 && fd >= 0 &&
	    read_text(fd, &text, &ignored) == 0 &&
	    json_parse(text, strlen(text), "executions", &(struct json_limits){ .max_bytes = SIZE_MAX },
		       &document, &ignored) == 0 &&
	    document->type == JSON_ARRAY)
		for (const struct json_value *item = document->child; item; item = item->next)
			json_copy(&list->w, item);
	json_free(document);
	free(text);
	remote_free(remote);
	return 0;
}

char *remote_list(struct warder_error *err)
{
	return session_list_json(add_session, err);
}
