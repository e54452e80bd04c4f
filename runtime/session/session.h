/*
 * session: sessions by name: where they are found, what is said to the process that keeps one, and that process. Private to runtime/
 * and its command line.
 *
 * A session NAME has two files below /run/warder/sessions (root) or $XDG_RUNTIME_DIR/warder/sessions (others), directories of mode 0700
 * that nobody else owns: NAME.lock, locked by its keeper as long as it lives, and NAME.sock, which answers only its owner, and not what
 * he has put into a jail or a container (session_peer). Who starts a
 * session executes `warder session keeper` with a specification; that process detaches itself, takes the lock, starts the jail, runs the
 * set-up, and only then can be spoken to. So of any number of starts at once one has a keeper, and the others find its session.
 *
 * A name says nothing about whose it will be in a moment. A session therefore has an id besides, which its keeper draws; who joins names the
 * one that he has read the description of, and a keeper of another refuses him.
 *
 * Messages are fixed structs over SOCK_SEQPACKET; JSON comes beside in a memory file: the description, or who joins gets what the session
 * has mounted, and looks at none of its paths again. A newer version of Warder only adds members to the end of a struct, and takes the
 * shorter struct of the version before. What joins a session must have the same struct jail_joint.
 */
#ifndef WARDER_RUNTIME_SESSION_SESSION_H
#define WARDER_RUNTIME_SESSION_SESSION_H

#include "base/error.h"
#include "base/json.h"
#include "jail/session.h"
#include "policy/policy.h"
#include "runtime/library/preparation.h"
#include "runtime/warder.h"

#define SESSION_NAME_MAX        64
#define SESSION_BACKEND         "local" /* the only one that keeps sessions */
#define SESSION_ID_LENGTH       32
#define SESSION_SETUP_MAX       64
#define SESSION_CONNECTIONS_MAX 256
#define SESSION_BYTES_MAX       (1024 * 1024) /* of a specification, of a description */
#define SESSION_TIME_MAX_US     (UINT64_C(30) * 24 * 3600 * 1000000)
#define SESSION_LIFETIME_US     (UINT64_C(8) * 3600 * 1000000)
#define SESSION_START_US        UINT64_C(120000000) /* for a start without set-up commands */
#define SPOOLS_BYTES_MAX        (64u << 20)         /* of the output that a session keeps for readers */
#define SESSION_IDLE_US         (UINT64_C(30) * 60 * 1000000)

/* ---- place: session_place.c ---- */

/* Letters, digits, '.', '_', '-', not first a '.' or '-'. -1 with *err. */
int session_check_name(const char *name, struct warder_error *err);
/* The directory, made if it is not there and `make`. Its descriptor is the caller's. -1 with *err: UNAVAILABLE, or where it is not made
 * NOT_FOUND. */
int session_directory_open(bool make, int *ret_dir_fd, struct warder_error *err);
/* Remove the directory again, if nobody needs it. */
void session_directory_tidy(void);
/* Take the lock of a name. 0 with its descriptor; 1: somebody has it; -1 with *err. */
int session_lock(int dir_fd, const char *name, int *ret_fd, struct warder_error *err);
/* Both: the directory, which is made, and the lock of a name in it. Who ends may remove the directory between the two steps. As session_lock(); nothing is
 * open unless it returns 0. */
int session_directory_lock(const char *name, int *ret_dir_fd, int *ret_lock_fd, struct warder_error *err);
/* The keeper's wish for the stop of the session, from the file of its lock. The caller frees the text. NULL: the keeper has no wish. */
char *session_read_note(const char *name);
/* Remove both files. To be called with the lock held. */
void session_unlink(int dir_fd, const char *name);
/* A socket that listens there. -1 with *err. */
int session_listen(int dir_fd, const char *name, int *ret_fd, struct warder_error *err);
/* 0 with the connection; 1: nobody listens; -1 with *err. */
int session_connect(int dir_fd, const char *name, int *ret_fd, struct warder_error *err);
/* Its process: at the end of a client, that of the keeper. 0: it has none in our pid namespace. */
int session_peer_pid(int fd);
/* Call back with each name whose keeper lives, until it returns another number than 0. That; -1 with *err: who is there cannot be told. */
int session_each(int (*each)(void *context, const char *name), void *context, struct warder_error *err);
/* A JSON array of what `add` writes for each of these names, with the list as its context. Free it; NULL with *err. */
struct session_list {
	struct json_writer w;
	struct warder_error *err;
};
char *session_list_json(int (*add)(void *list, const char *name), struct warder_error *err);
/* Remove the files of keepers that died. Returns how many sessions these were. */
int session_clean(bool dry_run);

/* ---- peer: session_peer.c ---- */

enum session_peer {
	SESSION_PEER_OTHER_USER,
	SESSION_PEER_ELSEWHERE, /* of our user, but not seen to be in our pid and user namespaces */
	SESSION_PEER_GONE,      /* it ended meanwhile */
	SESSION_PEER_OWNER,
};

/* Who connected, at a socket that was accepted; who listens, at one that was connected. */
enum session_peer session_peer(int fd);
/* The same; of an OWNER, *ret_pidfd is its process. What was read of it by its number is its own if it has not ended afterwards. */
enum session_peer session_peer_hold(int fd, int *ret_pidfd);
bool session_peer_has_ended(int pidfd);

/* ---- messages: session_wire.c ---- */

enum session_request_type {
	SESSION_DESCRIBE = 1,
	SESSION_JOIN,  /* and the connection stays while somebody may execute */
	SESSION_STOP,  /* answered when everything is gone, or given up */
	SESSION_COPY,  /* answered as a join; while the connection stays, nothing starts, pauses or resumes */
	SESSION_FILES, /* answered as a join: to reach the files */
	SESSION_RULES, /* with a memory file: a policy, whose network.allow and network.deny take the place of the session's */
	SESSION_SAVE, /* as a copy; if programs run, they are frozen as long as the connection stays */
};

/* The step of an error by which SESSION_STOP is answered: the session has ended, and the text names what stays behind. */
#define SESSION_STEP_LEFT "left"

struct session_request {
	uint32_t magic, size;
	uint32_t type;
	char id[SESSION_ID_LENGTH + 1]; /* of the session that is meant; "" to describe or end any */
	uint64_t rules; /* of a join: how often its rules were replaced, as its description has it */
	uint64_t bytes; /* of the memory file */
};

/* The version before has no SESSION_RULES and SESSION_SAVE, and ends here. A request without rules and memory file is sent like this. */
#define SESSION_REQUEST_OLD offsetof(struct session_request, rules)
#ifdef OLD_PROTOCOLS /* records.h */
#define SESSION_REQUEST_MAX SESSION_REQUEST_OLD
#else
#define SESSION_REQUEST_MAX sizeof(struct session_request)
#endif

struct session_reply {
	uint32_t magic, size;
	uint32_t failed;  /* then only `error` is meant */
	uint32_t fd_mask; /* of joint.fds, in order behind the description */
	struct warder_error error;
	struct jail_joint joint;
};

/* *request has type, id ("": any, which none can join) and what the type has besides. file_fd: the memory file, or -1. */
int session_send_request(int fd, struct session_request *request, int file_fd, struct warder_error *err);
/* Take a request. 1: *ret has it; the caller closes the memory file that came with it, if any (else -1). 0: the peer is gone. -1: the message is not a request. */
int session_receive_request(int fd, struct session_request *ret, int *ret_file_fd);
/* text: JSON, or NULL; joint: or NULL. -1: it was not sent. */
int session_send_reply(int fd, const struct warder_error *failure, const char *text,
		       const struct jail_joint *joint);
/* Waits. *ret_text (or NULL) is heap. *ret_joint's descriptors are the caller's: -1 where there is none. -1 with *err, also the
 * peer's. */
int session_receive_reply(int fd, char **ret_text, struct jail_joint *ret_joint, struct warder_error *err);
void session_joint_done(struct jail_joint *joint);
/* Wait until something can be read there. -1 with *err: the keeper has not answered in time, or hangs; then sys_errno is ETIMEDOUT. */
int session_await_reply(int fd, struct warder_error *err);

/* ---- how it ended: session_end.c ---- */

enum session_end {
	SESSION_END_NONE, /* it has not, or nobody says why */
	SESSION_END_STOPPED,
	SESSION_END_LIFETIME,
	SESSION_END_SIGNAL, /* that its keeper got, and heeded */
	SESSION_END_INIT,
	SESSION_END_KEEPER, /* which said nothing */
	SESSION_END_COUNT,
};

/* In a result, and for people: "the session was stopped". */
const char *session_end_name(enum session_end end);
const char *session_end_text(enum session_end end);
/* Set *err: the session ended before the program was started. Returns -1. */
int session_not_started(enum session_end end, struct warder_error *err);
/* To somebody who has joined by that connection; the last that is said there. */
void session_tell_end(int fd, enum session_end end);
/* And there: what was said, or that the keeper is gone, at the latest after wait_ms. Any number of times, any thread. */
enum session_end session_hear_end(int fd, int wait_ms);

/* ---- specification: session_spec.c ---- */

/* What is granted to the callers of a session: enum warder_session_capability. */
#define SESSION_CAPABILITIES (WARDER_SESSION_SHELL | WARDER_SESSION_FILESYSTEM)

struct session_spec {
	char *name;
	struct policy policy;
	struct policy ceiling;
	bool has_ceiling;
	char **setup; /* shell commands */
	size_t setup_count;
	uint64_t lifetime_us, idle_us;            /* 0: not given, which is written as the default */
	char *cgroup_parent, *backend, *backends; /* or NULL */
	unsigned int capabilities;                /* SESSION_CAPABILITIES; 0: not given, which means all */
	char *store,
	    **workspaces; /* the workspaces that it was started in, by their ids, and their store; or NULL */
	size_t workspace_count;
	bool snapshot_on_stop; /* of these workspaces, by who stops it */
	char *copy_of,
	    *copy_of_id; /* the session whose files it begins with, instead of a set-up; or NULL. Of no description */
	char *
	    files_from; /* a directory of session_save(), with whose files it begins; or NULL. Of no description */
	bool parks;       /* it is parked first, and gets its name later. Of no description */
	bool parks_agent; /* its agent is started before it is parked. Of no description */
	char *id;         /* of a description: another one of each session that was ever started; else NULL */
	uint64_t rules;   /* of a description: how often its rules were replaced */
};

/* The members of it into the object that is open, but for the id. */
void session_spec_write(const struct session_spec *spec, struct json_writer *w);
/* Of these, the members about its workspaces. */
void session_spec_write_origin(const struct session_spec *spec, struct json_writer *w);
/* Decode, strictly: every member known and within its bounds. `more`: the members that a description has besides are passed over. */
int session_spec_parse(const char *json, size_t len, bool more, struct session_spec *ret,
		       struct warder_error *err);
void session_spec_done(struct session_spec *spec);
/* Whether a session grants its callers this. -1 with *err (REJECTED). */
int session_check_capability(const struct session_spec *spec, enum warder_session_capability asked,
			     struct warder_error *err);
/* "shell", "filesystem", or both with a comma between. -1 with *err. */
int session_parse_capabilities(const char *text, unsigned int *ret, struct warder_error *err);
/* Whether a session that runs is of the backend that is asked for: only one keeps any, and NULL and "auto" leave the choice. */
bool session_is_backend(const char *wanted);
/* In what the session that is there is another than the one that is wanted: name, policy and set-up, and of the rest what is given in
 * `wanted`. A name for it; NULL: it is the same. */
const char *session_spec_difference(const struct session_spec *wanted, const struct session_spec *found);
/* A copy of the session's policy with network.allow and network.deny of `other`. -1 with *err. */
int session_with_rules(const struct policy *session, const struct policy *other, struct policy *ret,
		       struct warder_error *err);
/* Whether both have the same network.allow and network.deny. */
bool session_same_rules(const struct policy *a, const struct policy *b);
/* Whether `asked` only narrows what an execution in a session under `session` may do, and leaves alone what is the session's: file
 * system, network, identity, disk. -1 with *err naming the field. */
int session_check_narrower(const struct policy *session, const struct policy *asked,
			   struct warder_error *err);

/* ---- calls: session.c ---- */

/* The public calls, with what the command line has besides. came: asked while the start is waited for, whether to give it up; or NULL.
 * ceiling: held against the session's policy and the execution's, as it is now; or NULL. */
struct session_origin {
	char *store;
	char **workspaces;
	size_t workspace_count;
	bool snapshot_on_stop;
	char *files_from; /* a directory of session_save(), with whose files it begins; or NULL */
};
/* origin: the workspaces in which the session starts, and the files with which it begins; or NULL. */
int session_start(const char *name, const struct warder_session_options *options,
		  const struct session_origin *origin, int (*came)(void *context),
		  struct warder_session **ret, struct warder_error *err);
/* Replace network.allow and network.deny of a session that runs by those of the policy, within its ceiling; for what executes already, too. -1 with
 * *err, and the old rules stay: CONFLICT, REJECTED, INVALID_REQUEST; UNAVAILABLE: its edge did not answer, and was ended; or its keeper did not
 * answer in time: it then leaves the rules as they are, or puts the old ones back when it can answer again. */
int session_replace_rules(const char *name, const struct policy *policy, struct warder_error *err);
/* Whether it was opened so, and its keeper can be asked to run programs. */
bool session_runs_by_keeper(const struct warder_session *session);
/* As warder_session_open(), for session_run_start(): the connection that describes the session also starts one program. The session has no
 * warder_session_json(). */
int session_open_to_run(const char *name, struct warder_session **ret, struct warder_error *err);
/* What its description said. Borrowed. */
const struct session_spec *session_spec_of(const struct warder_session *session);
/* From now on, who prepares in it does so to change files: the capability filesystem is needed instead of shell. */
void session_use_for_files(struct warder_session *session);
/* Read the changes that programs have written to the overlay over its workspace, and keep them in `directory` (or NULL), as a run with
 * warder_command.changes_directory does. Nothing may execute in it meanwhile, as for a copy. The caller has changes_done() called. -1 with
 * *err. */
struct changes;
int session_changes(struct warder_session *session, const char *directory, struct changes *ret,
		    struct warder_error *err);
/* Whether a session's policy is within a ceiling (or NULL), as it is now. -1 with *err. */
int session_check_granted(const struct policy *session, const struct policy *ceiling,
			  struct warder_error *err);
/* policy NULL: the session's. `how` has what the template needs besides, such as ceiling and background; joint and root are filled in
 * here. */
int session_prepare(struct warder_session *session, const struct policy *policy,
		    const struct preparation_options *how, bool single_use, struct warder_template **ret,
		    struct warder_error *err);
/* Whether another session has its name by now. */
bool session_is_replaced(const struct warder_session *session);
int session_restart(const char *name, const char *program, const struct warder_policy *ceiling,
		    struct warder_session **ret, struct warder_error *err);
/* Start a session with the policy and the settings of `source`, and with copies of its files (copy.c). Its name is not in use; else CONFLICT, as
 * if an execution of the source runs and the source is not paused. */
int session_copy(const char *source, const char *name, const char *program,
		 const struct warder_policy *ceiling, int (*came)(void *context), struct warder_session **ret,
		 struct warder_error *err);

/* Copy the files that programs of a session have made into an empty directory, from which another session can begin (copy.c). Programs are frozen
 * meanwhile. At most bytes_max of them. This process must have one thread. -1 with *err, and part of the files may be there: the field is "bytes" if
 * there are more. */
int session_save(const char *name, int directory_fd, uint64_t bytes_max, struct warder_error *err);

/* ---- executions that the keeper supervises: remote.c ---- */

/* A connection to the keeper of an execution. One thread. Requests are answered in order; after remote_attach() it only reads. */
struct remote;

#define REMOTE_ID_LENGTH 16

/* What is to be executed. */
struct remote_command {
	const struct policy *policy, *ceiling; /* ceiling: or NULL */
	char *const *argv;
	char *const *environment; /* besides the policy's; or NULL */
	bool background, input;   /* input: it stays open */
	bool terminal;
	bool context;                         /* argv is a language and the name of a context */
	int terminal_fd;                      /* that gives the program's its settings and size; or -1 */
	uint16_t rows, columns;               /* of the program's; 0: those of terminal_fd */
	uint64_t output_max;                  /* 0: no limit */
	uint64_t keep_us;                     /* the result, after the end; 0: 10 minutes */
	const struct remote_streams *streams; /* or NULL: the keeper keeps what the program writes */
	const char *session_id;               /* of the session that is meant; NULL: any of the name */
	bool owner;                           /* with a terminal: the caller waits for the end */
	bool for_files;                       /* with streams: as session_use_for_files() */
	bool no_receipt;                      /* with streams or an owner: the result needs none */
	const struct remote_audit *audit;     /* the keeper appends a line at the end; or NULL */
	const struct library_order *code;     /* with streams: of a piece of code; or NULL */
	int calls_fd;  /* > 0, with streams or an owner: the program's descriptor 5, as of functions_open() */
	int log_fd;    /* > 0: a regular file that gets all output; not with streams */
	bool progress; /* the program reports its progress, */
	void (*on_line)(void *context, const char *line); /* each line, with the context NULL; or NULL */
};

/* An audit file: open for appending (line_log.h), its path for messages, and the members of the line that are known, a JSON object. */
struct remote_audit {
	int fd;
	const char *path, *head;
};

/* The caller's own streams for the program. */
struct remote_streams {
	int input_fd;          /* -1: the input is empty */
	const int *output_fds; /* two; NULL: the result keeps the output */
};

struct remote_attached {
	uint64_t totals[2]; /* bytes so far */
	bool ended, terminal, input;
};

/* How a piece of code of a context ended, as Warder knows it. */
enum context_end {
	CONTEXT_END_DONE,      /* the context says so, and how */
	CONTEXT_END_DIED,      /* the context ended while it ran */
	CONTEXT_END_NOT_BEGUN, /* the context ended before it */
	CONTEXT_END_COUNT,
};

struct remote_end {
	struct jail_outcome
	    outcome; /* cause, exit_code, signal, detail and output[].total are meant; nothing of it is to be freed */
	enum session_end session_end;
};

struct remote_done {
	enum context_end end;
	uint32_t piece;   /* its number in the context, from 1; 0: it did not begin */
	uint32_t refused; /* frames of the context that did not belong to it */
	bool interrupted, timed_out;
	bool cut; /* the context said more than is kept */
	uint64_t wall_us, bytes[2];
	char why[160];
	struct remote_end last; /* of CONTEXT_END_DIED and CONTEXT_END_NOT_BEGUN: of the context */
};

enum remote_kind {
	REMOTE_BYTES,
	REMOTE_GAP,
	REMOTE_END,
	REMOTE_SHOWN,
	REMOTE_ASKS,
	REMOTE_DONE,
	REMOTE_NOTHING
};

/* Of what is attached. */
struct remote_event {
	enum remote_kind kind;
	int stream;             /* 0 standard output, 1 standard error */
	uint64_t offset, end;   /* in the stream */
	uint64_t time_us;       /* since the epoch */
	const char *bytes;      /* the remote's, until the next call */
	struct remote_end last; /* of REMOTE_END; the connection is free again */
	/* of a piece: JSON, a prompt, or JSON of its end, as the context says it, which may be anything; the caller's heap, or NULL */
	char *text;
	size_t text_len;
	struct remote_done done; /* of REMOTE_DONE; the connection is free again */
};

/* A new id, of REMOTE_ID_LENGTH digits. -1 with *err. */
int remote_draw_id(char ret[REMOTE_ID_LENGTH + 1], struct warder_error *err);
/* Start an execution in a session; id: that it is to have, or NULL. Returns when the program has begun. *ret is the caller's, even if the
 * execution ends. -1 with *err, as of warder_launch(). */
int remote_start(const char *session, const char *id, const struct remote_command *command,
		 struct remote **ret, struct warder_error *err);
/* A connection for one execution with its caller's streams or terminal, which gets a new id. 1: the keeper is a process of another program, or of another
 * version; -1 with *err (NOT_FOUND). */
int remote_connect_owner(const char *session, struct remote **ret, struct warder_error *err);
/* The same, with what an execution needs of the session's description, heap. 1: there is none, and another request says why; -1 with *err: the
 * keeper does not answer. */
int remote_open_owner(const char *session, struct remote **ret, char **ret_text, struct warder_error *err);
/* Whether the keeper has said nothing more there, nor closed it. */
bool remote_is_silent(const struct remote *remote);
/* Start it. Returns when the program has begun. gives_up (or NULL) is asked five times a second meanwhile. 1: the keeper has ended; -1 with *err,
 * as of warder_launch(). */
int remote_start_owned(struct remote *remote, const struct remote_command *command, bool (*gives_up)(void),
		       struct warder_error *err);
/* warder_execution_start() with a line in an audit file, or NULL; progress: the program reports its progress. */
int execution_start_audited(struct warder_session *session, const struct warder_execution_command *command,
			    const struct remote_audit *audit, bool progress, struct warder_execution **ret,
			    struct warder_error *err);
/* A handle for the execution that was started over the connection `owner`. Once the handle is attached, the program waits when the handle's
 * reader is slow, so that no output is lost. */
int execution_follow(const struct remote *owner, struct warder_execution **ret, struct warder_error *err);
/* Find an execution, in whichever session. -1 with *err (NOT_FOUND). */
int remote_open(const char *id, struct remote **ret, struct warder_error *err);
/* The same in one session. */
int remote_open_in(const char *session, const char *id, struct remote **ret, struct warder_error *err);
/* A connection to the keeper of a session over which a process of another user can ask for executions in it (records.h), and for nothing
 * else. *ret_fd is the caller's. *ret_version, if it is not NULL: the version of the records that the keeper takes. -1 with *err (NOT_FOUND). */
int remote_connect(const char *session, int *ret_fd, unsigned int *ret_version, struct warder_error *err);
/* The sealed memory file that goes with a START, and the record's body for it. Returns the descriptor, which is the caller's; -1 with *err. */
struct record_start;
int remote_make_words(const struct remote_command *command, struct record_start *start,
		      struct warder_error *err);
/* The connection was lost: make it again. 0; 1: the keeper is gone, or has forgotten the execution; -1 with *err: another reason. */
int remote_reconnect(struct remote *remote, struct warder_error *err);
/* The connection was lost: whether the keeper answers on another one, and has the execution. */
bool remote_is_there(const struct remote *remote);
/* Whether the keeper answers on this connection, and does not have the execution any more. */
bool remote_is_forgotten(struct remote *remote);
/* Another connection to the same execution. */
int remote_again(const struct remote *remote, struct remote **ret, struct warder_error *err);
const char *remote_id(const struct remote *remote);
const char *remote_session(const struct remote *remote);
/* To poll for REMOTE_BYTES and the others. */
int remote_fd(const struct remote *remote);
/* follow: the program waits for this client, if that is slow. */
int remote_attach(struct remote *remote, const uint64_t from[2], bool follow, struct remote_attached *ret,
		  struct warder_error *err);
/* The next event of what is attached; REMOTE_NOTHING: none within wait_ms. -1 with *err: the keeper is gone (UNAVAILABLE), or has
 * dropped this client. */
int remote_next(struct remote *remote, int wait_ms, struct remote_event *ret, struct warder_error *err);
/* All of the bytes, together, into its input; `more`: the next call's belong to them, too. Returns when they are in the program's pipe. */
int remote_write(struct remote *remote, const char *bytes, size_t len, bool more, struct warder_error *err);
/* The same in two steps, of at most REMOTE_WRITE_MAX bytes: begin, and then ask until it is done. 1: it is; 0: not within wait_ms; -1 with
 * *err. */
#define REMOTE_WRITE_MAX 32768
int remote_write_begin(struct remote *remote, const char *bytes, size_t len, bool more,
		       struct warder_error *err);
int remote_write_done(struct remote *remote, int wait_ms, struct warder_error *err);
int remote_close_input(struct remote *remote, struct warder_error *err);
int remote_signal(struct remote *remote, int number, struct warder_error *err);
int remote_resize(struct remote *remote, int rows, int columns, struct warder_error *err);
struct remote_counters {
	uint64_t cpu_us, memory_bytes, memory_peak_bytes, processes, read_bytes, written_bytes;
};
int remote_counters(struct remote *remote, struct remote_counters *ret, struct warder_error *err);
/* In two steps, for a connection that does nothing else meanwhile: begin, and then ask until it is done. whole: for remote_wait_whole(). 1 with *ret and *ret_json (heap, or
 * NULL): it has ended; 0: not within wait_ms; -1 with *err (UNAVAILABLE: the connection is lost). */
int remote_wait_begin(struct remote *remote, bool whole, struct warder_error *err);
int remote_wait_done(struct remote *remote, int wait_ms, struct remote_end *ret, char **ret_json,
		     struct warder_error *err);
/* The same by whoever started the execution with streams. *ret_fd: what result_write_file() wrote, or -1; the caller's. */
int remote_wait_whole(struct remote *remote, int wait_ms, struct remote_end *ret, int *ret_fd,
		      struct warder_error *err);
/* Whether the end of a piece of code came with the session's /tmp, where the files of the code stay until the caller says that it has taken
 * them, or is gone: borrowed, or -1. */
int remote_handed_fd(const struct remote *remote);
void remote_say_taken(struct remote *remote);
/* Both, for a connection to which nothing else has happened. 0; -1 with *err. */
int remote_wait(struct remote *remote, struct remote_end *ret, char **ret_json, struct warder_error *err);
void remote_free(struct remote *remote);
/* ---- contexts ---- */

/* Set *err: the session has no such context. Returns -1. */
int remote_say_no_context(const char *session, const char *name, struct warder_error *err);
/* The context of that name, also one that has ended. *ret_json, or NULL: its row of remote_list(), heap. -1 with *err (NOT_FOUND). */
int remote_open_context(const char *session, const char *name, struct remote **ret, char **ret_json,
			struct warder_error *err);
/* Run a piece of code; remote_next() has then what it writes and shows, and its end. timeout_us 0: as long as the context's policy grants.
 * at_once: not behind another piece. -1 with *err (CONFLICT, INVALID_REQUEST). */
int remote_piece(struct remote *remote, const char *code, size_t len, uint64_t timeout_us, bool at_once,
		 struct warder_error *err);
/* The rest is for a connection on which no piece runs: remote_again(). A line for a piece that asks, or NULL: there is none. */
int remote_answer(struct remote *remote, const char *line, size_t len, struct warder_error *err);
int remote_interrupt(struct remote *remote, struct warder_error *err);
/* End it, and begin one of the same name and policy; `remote` is then that one's. */
int remote_restart(struct remote *remote, struct warder_error *err);
/* Begin a branch of it, a context of that name whose generators of random numbers get new seeds unless keeps_seed; `remote` is then the
 * branch's. */
int remote_fork(struct remote *remote, const char *name, bool keeps_seed, struct warder_error *err);
/* End it. Returns when it is gone. */
int remote_delete(struct remote *remote, struct warder_error *err);

/* Stop all that executes in a session, or let it go on. -1 with *err: NOT_FOUND; CONFLICT, it is so already, or an execution does not
 * let it; UNAVAILABLE, the host cannot. */
int remote_pause(const char *session, bool paused, struct warder_error *err);
/* A session ends so much later. -1 with *err: NOT_FOUND; INVALID_REQUEST, it would last longer than a session may. */
int remote_extend(const char *session, uint64_t us, struct warder_error *err);
/* All executions that keepers of this user supervise, as a JSON array; heap. NULL with *err. */
char *remote_list(struct warder_error *err);
/* The keeper's record of how a piece ended, decoded. */
struct record_done;
void remote_take_done(const struct record_done *done, struct remote_done *ret);
/* ---- what a context says of a piece: said.c ---- */

/* The context's word, which is anything that the code in it wants to say. What is not of this shape is left out. */
struct said {
	struct json_value *document; /* owned */
	bool valid;                  /* false: it is no report, and the rest is not to be read */
	bool ok;                     /* it says that the piece ended without an error */
	uint64_t count;
	const struct json_value *value;                   /* a MIME bundle, or NULL */
	const char *error_name, *error_value, *traceback; /* or NULL */
};

/* Decode the text of a REMOTE_DONE event, which the code in the context may have forged. *ret is for said_done(). Returns ret->valid. */
bool said_parse(const char *text, size_t len, struct said *ret);
void said_done(struct said *said);
/* How a piece ended: by Warder's word, and where the context has ended it itself, by the context's. */
enum warder_piece_status said_status(const struct remote_done *done, const struct said *said);
/* Members of the JSON object that describes the end of a piece: first said_write_piece(), then the streams, said_write_end(), and in an object
 * "contextSays" said_write(). */
void said_write_piece(struct json_writer *w, const char *session, const char *context,
		      const struct remote_done *done, const struct said *said);
void said_write_end(struct json_writer *w, const struct remote_done *done);
void said_write(struct json_writer *w, const struct said *said);
/* The text of REMOTE_SHOWN: an object of texts by media type; NULL: it is none. To be freed by json_free(). */
struct json_value *said_bundle(const char *text, size_t len);

/* ---- an execution with its caller's streams: owned.c ---- */

/*
 * The keeper launches and supervises the program, which has the streams of its caller. It goes on if the caller ends; its result is then
 * kept as that of any execution.
 *
 * Life: session_run_start() -> poll session_run_fd(), session_run_take() until it returns 1 -> of a piece of code whose files the caller
 * takes, session_run_handed_fd() and session_run_say_taken() -> session_run_free().
 */
struct session_run;

/* Returns when the program runs. command->streams is not NULL; nothing that *command points to is used afterwards, except that the keeper has
 * the streams. before() is called with the run before anything is started, so that a signal handler can stop it, and with NULL if that fails;
 * gives_up() is asked five times a second meanwhile. 1: the keeper is a process of another program, whose results cannot be read, and nothing
 * was started; -1 with *err, as of warder_launch(). */
int session_run_start(struct warder_session *session, const struct remote_command *command,
		      void (*before)(struct session_run *run), bool (*gives_up)(void),
		      struct session_run **ret, struct warder_error *err);
/* A handle for the terminal of a program that was started with one: see execution_follow(). */
int session_run_follow(const struct session_run *run, struct warder_execution **ret,
		       struct warder_error *err);
int session_run_fd(const struct session_run *run);
/* 1 with *ret: it has ended; if the keeper is gone, by that. 0: not yet. -1 with *err: no memory. */
int session_run_take(struct session_run *run, struct warder_result **ret, struct warder_error *err);
/* After session_run_take(): the session's /tmp, out of which the caller is to take the files of its code. Borrowed; -1: there are none to
 * take. */
int session_run_handed_fd(const struct session_run *run);
/* The caller has them. Without that, the keeper puts what it can into the result that others get. */
void session_run_say_taken(struct session_run *run);
/* What the caller may say who has waited long enough: the keeper does not answer. NULL: no memory. */
struct warder_result *session_run_lost(const struct session_run *run);
/* The signal goes to the program, and what lives after the grace is killed; a second call kills it at once. Async-signal-safe. */
void session_run_stop(struct session_run *run, int signal, uint64_t grace_us);
void session_run_free(struct session_run *run);

/* ---- its files: files.c ---- */

struct session_files;

#define SESSION_FILES_BYTES (UINT64_C(1) << 30) /* most bytes of one call, unless the caller says otherwise */

/* Open the file tree of a session, which is in use until session_files_free(). Paths are those of the jail; a relative one begins at its
 * working directory. Everything below is done with the rights of the jail's user, and no path of the host is ever resolved: neither
 * links nor ".." lead out of the jail's root. For a process with one thread: it changes its groups and, for a moment at a time, its
 * file system user. -1 with *err. */
int session_files_open(const struct warder_session *session, struct session_files **ret,
		       struct warder_error *err);
void session_files_free(struct session_files *files);
/* Copy a regular file to `to_fd`, as large as it is when it is opened. -1 with *err: NOT_FOUND; INVALID_REQUEST (no regular file, or more
 * than bytes_max); UNAVAILABLE. */
int session_files_read(struct session_files *files, const char *path, uint64_t bytes_max, int to_fd,
		       struct warder_error *err);
/* The bytes of a regular file that can be read. -1 with *err, as of session_files_read(). */
int session_files_size(struct session_files *files, const char *path, uint64_t *ret,
		       struct warder_error *err);
/* Write all of `from_fd`, up to its end, to a file, which keeps its mode, or is made with mode 0644. -1 with *err, also if there are more
 * than bytes_max: the file has the bytes before. */
int session_files_write(struct session_files *files, const char *path, uint64_t bytes_max, int from_fd,
			struct warder_error *err);
/* Make a directory, in one that is there. -1 with *err, also if something has the name. */
int session_files_make_directory(struct session_files *files, const char *path, struct warder_error *err);
/* A directory, or one file, as a JSON array of {name, nameBase64, type, mode, sizeBytes, modified, target}, sorted by name; the
 * caller frees *ret. -1 with *err. */
int session_files_list(struct session_files *files, const char *path, char **ret, struct warder_error *err);

/* What happens if the target of a copy exists. An empty directory never stands in the way of a directory. */
enum session_files_existing {
	SESSION_FILES_MERGE,   /* directories get what is copied besides what they have; files are replaced */
	SESSION_FILES_ERROR,   /* the copy is refused */
	SESSION_FILES_REPLACE, /* it is removed first, with all it holds */
};

/* A copy between the session and the host. */
struct session_files_copy {
	uint64_t bytes_max; /* of all files together */
	enum session_files_existing existing;
	/* Called for what is left out: a path below the copied one, and why. */
	void (*on_omitted)(void *context, const char *path, const char *why);
	void *context;
};

/* Copy a file or directory into (in) or out of (!in) the session. A file gets the name `host` or `inside`, or, if that is a directory,
 * its own name in there; so does a directory, whose content goes into an existing directory if the source ends with "/.". Links are
 * copied as links. The copies have the modes of the originals, without set-user-ID, set-group-ID and sticky bits. -1 with *err: the files
 * that were copied before the error stay. CONFLICT: the target exists, with SESSION_FILES_ERROR. */
int session_files_copy(struct session_files *files, bool in, const char *host, const char *inside,
		       const struct session_files_copy *how, struct warder_error *err);
/* The same between two paths of the host: a session on another machine has its part of a copy in a directory here. A link that `from` names
 * is copied as a link. -1 with *err. */
int session_files_copy_here(const char *from, const char *to, const struct session_files_copy *how,
			    struct warder_error *err);

/* ---- its end: session_stop.c ---- */

/* Returns when nothing of it is left, or what is left does not die: 0; 1: there is none, or another than `id` (NULL: whichever has the name); -1 with *err: it has not
 * ended (UNAVAILABLE: the keeper neither ends nor dies), or it has, and *err names what
 * does not die and stays behind. ret_ended (or NULL): whether it has ended, also with -1. A keeper that listens, but has not answered for 15 s, is killed; with an id that
 * is an error, because it has not said which session it keeps. */
int session_stop(const char *name, const char *id, bool *ret_ended, struct warder_error *err);
/* As warder_session_stop(). */
int session_stop_running(const char *name, bool *ret_ended, struct warder_error *err);

/* ---- its start: starter.c ---- */

/* A warder to keep sessions; `program`, or if that is NULL an installed one. One that others could have put there is not executed. NULL with *err. */
const char *starter_program(const char *program, struct warder_error *err);
/* Start its keeper, and wait until it runs. came (or NULL): whether the caller does not want it any more. 0; 1: another one has the name; -1
 * with *err: nothing of it stays, or the text names what does. */
int starter_begin(const struct session_spec *spec, const char *program, int (*came)(void *context),
		  struct warder_error *err);

/*
 * A parked session: its jail and its keeper are there, and perhaps its agent, and it has no name, so nobody finds it. Its keeper ends it when this process
 * ends, or calls session_parked_free() or session_parked_end().
 *
 * Life: session_park() -> session_hand_out(), which gives it its name: from then on it is a session like any other. Or it is freed. Any
 * thread, one at a time.
 */
struct session_parked;
/* Wait until it is parked, for at most SESSION_START_US; `agent`: with its agent, which else starts when it is first needed. Of the options,
 * those about set-up commands must be empty. -1 with *err: nothing is left. */
int session_park(const struct warder_session_options *options, bool agent, struct session_parked **ret,
		 struct warder_error *err);
/* The same for a specification that is filled. */
int starter_park(const struct session_spec *spec, const char *program, struct session_parked **ret,
		 struct warder_error *err);
/* False: it has ended by itself. */
bool session_parked_lives(const struct session_parked *parked);
/* Its keeper reads again what may have changed while it was parked, and takes the name. *parked is freed. 0: the session runs, and *ret_fd, the
 * caller's, is readable as soon as its keeper is gone, and never before (-1: the keeper answered so late that there is none); 1: another one
 * has the name; -1 with *err: it could not be used any more, and has ended; or it did not answer within 3 s, and never has the name
 * afterwards, except for the moment in which it ends. */
int session_hand_out(struct session_parked *parked, const char *name, int *ret_fd, struct warder_error *err);
/* Tell it to end, and do not wait. Then: whether it has, after at most wait_ms. */
void session_parked_end(struct session_parked *parked);
bool session_parked_is_gone(const struct session_parked *parked, int wait_ms);
/* End it, and do not wait. Also NULL. */
void session_parked_free(struct session_parked *parked);

/* ---- keeper: keeper.c ---- */

/* What a starter is told. */
enum keeper_word {
	KEEPER_READY = 1,
	KEEPER_BEGUN, /* the first of two words: which process it is */
	KEEPER_BUSY,  /* another one has the name */
	KEEPER_FAILED,
	KEEPER_PARKED, /* it waits for a struct keeper_name; then READY, BUSY or FAILED follows */
};

#define KEEPER_NAME_MAGIC 0x4d414e4bu

/* To the keeper of a parked session: the name that its session gets. */
struct keeper_name {
	uint32_t magic;
	char name[SESSION_NAME_MAX + 1];
};

struct keeper_report {
	uint32_t word;
	int32_t pid; /* of KEEPER_BEGUN */
	struct warder_error error;
};

/* Descriptors that a keeper finds. */
#define KEEPER_FD_REPORT 3
#define KEEPER_FD_SPEC   4

/* The process `warder session keeper`. Returns its exit status, in the process that was started at once. */
int keeper_main(void);

#endif
