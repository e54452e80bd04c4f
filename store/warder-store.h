/*
 * warder-store: stored data (checkpoints, events, workspaces, snapshots, images, artifacts) for programs that
 * embed Warder. Link with -lwarder-store -lwarder, in this order. The static library libwarder-store.a contains libwarder;
 * "pkg-config --static --libs warder-store" lists the other libraries that it needs.
 *
 * Functions return 0, or -1 with *err filled, as those of warder.h do. `store` is the absolute path of a store;
 * NULL is $WARDER_STORE, or the user's default store. Text in *ret_json belongs to the caller, who frees it with
 * free(). Every _free accepts NULL.
 */
#ifndef WARDER_STORE_WARDER_STORE_H
#define WARDER_STORE_WARDER_STORE_H

#include <warder.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- checkpoints of threads ----
 *
 * A thread is a series of checkpoints with one name, for example of a conversation, a job or an agent. A checkpoint is
 * never changed; the newest one is the head of the thread. Its state is any JSON document, stored byte by byte.
 * All checkpoints of a store are in one SQLite file, which any number of processes may use at the same time. When a function
 * has returned 0, its changes are on the disk. Several threads may use one handle; they wait for each other. A forked
 * child needs a handle of its own.
 */
struct warder_checkpoints;

#define WARDER_CHECKPOINT_STATE_MAX                                                                          \
	(16u << 20) /* bytes of a state; also at most 64 levels and a million values */
#define WARDER_CHECKPOINT_METADATA_MAX (64u << 10) /* bytes of metadata */
#define WARDER_CHECKPOINT_THREAD_MAX   512         /* bytes of a thread's name: any UTF-8 */
#define WARDER_CHECKPOINT_ID_MAX       128 /* bytes of an id: printable UTF-8 that does not begin with "@" */
#define WARDER_CHECKPOINT_LIST_MAX     10000

struct warder_checkpoint {
	const char *id;     /* unique in the store */
	const char *thread; /* the name of the thread */
	const char *
	    parent; /* id of the checkpoint that it came from, which may have been removed; NULL: the first */
	uint64_t
	    version; /* 1, 2, ... in the thread; no version is used twice while the thread has checkpoints */
	int64_t created_ms;   /* since 1970, by the host's clock */
	const char *metadata; /* a JSON object on one line */
	const char *state;    /* the state as it was saved, with a final NUL; NULL in lists without states */
	size_t state_len;     /* bytes of the state, also in lists without states */
};

/* Limits. They belong to the store, not to the handle, and hold for all its users. */
struct warder_checkpoint_limits {
	size_t size; /* sizeof(struct warder_checkpoint_limits) */
	uint64_t
	    per_thread; /* checkpoints of each thread; a put above this number removes the oldest. Default 100; 0: no limit */
	uint64_t
	    max_age_ms; /* older checkpoints are not found any more, and the next put removes them. Default 24 hours; 0: no limit */
	uint64_t
	    max_bytes; /* of the file, at least 64 KiB; a put above this size fails with "storage full". Default 1 GiB; 0: no limit */
};

struct warder_checkpoint_options {
	size_t size;          /* sizeof(struct warder_checkpoint_options) */
	const char *id;       /* NULL: make a new id */
	const char *parent;   /* id of a checkpoint of the same thread; NULL: the thread's head */
	const char *metadata; /* a JSON object without "rollbackFrom"; NULL: {} */
};

struct warder_checkpoint_query {
	size_t size;             /* sizeof(struct warder_checkpoint_query) */
	uint64_t limit;          /* the newest checkpoints, at most WARDER_CHECKPOINT_LIST_MAX; 0: 100 */
	int64_t since_ms;        /* saved at this time or later; 0: any */
	int64_t until_ms;        /* saved at this time or earlier; 0: any */
	uint64_t after_version;  /* newer than this version; 0: any */
	uint64_t before_version; /* older than this version (for the next page of a list); 0: any */
	int with_state;
};

struct warder_thread {
	const char *name;
	uint64_t checkpoints;
	uint64_t bytes;     /* bytes of all states */
	uint64_t version;   /* version of the head */
	int64_t updated_ms; /* when the head was saved */
};

/* Open the checkpoints of a store; make them if they are missing. *ret belongs to the caller:
 * warder_checkpoints_free(). -1 (UNAVAILABLE): another user may write there, the file is damaged, or a newer
 * version of Warder wrote it. */
WARDER_API int warder_checkpoints_open(const char *store, struct warder_checkpoints **ret,
				       struct warder_error *err);
/* Close and free the handle. In a forked child this does nothing. */
WARDER_API void warder_checkpoints_free(struct warder_checkpoints *checkpoints);

/* Read the limits of the store. The caller sets ret->size. */
WARDER_API int warder_checkpoints_limits(struct warder_checkpoints *checkpoints,
					 struct warder_checkpoint_limits *ret, struct warder_error *err);
/* Set the limits of the store, also for present checkpoints. *ret_removed (may be NULL) is the number of
 * checkpoints that exceeded them and were removed. A file that is already larger than max_bytes does not grow. */
WARDER_API int warder_checkpoints_set_limits(struct warder_checkpoints *checkpoints,
					     const struct warder_checkpoint_limits *limits,
					     uint64_t *ret_removed, struct warder_error *err);

/* Save a state as the new head of a thread. options may be NULL. ret may be NULL; otherwise *ret is the checkpoint
 * without its state, which the caller frees. -1: INVALID_REQUEST (thread, state, metadata, id), NOT_FOUND (the
 * parent), CONFLICT (the id is in use, or another process writes for more than 15 seconds), UNAVAILABLE with
 * sys_errno ENOSPC ("storage full"; nothing has changed). */
WARDER_API int warder_checkpoint_put(struct warder_checkpoints *checkpoints, const char *thread,
				     const char *state, size_t state_len,
				     const struct warder_checkpoint_options *options,
				     struct warder_checkpoint **ret, struct warder_error *err);
/* Get a checkpoint. thread NULL: `which` is an id. Otherwise `which` is an id, "@3" for version 3, or NULL for the
 * head. The caller frees *ret. -1 (NOT_FOUND): there is none, or it is too old. */
WARDER_API int warder_checkpoint_get(struct warder_checkpoints *checkpoints, const char *thread,
				     const char *which, struct warder_checkpoint **ret,
				     struct warder_error *err);
/* List the checkpoints of a thread, newest first. query may be NULL. An unknown thread has none. The caller frees
 * the list with warder_checkpoint_list_free(). */
WARDER_API int warder_checkpoint_list(struct warder_checkpoints *checkpoints, const char *thread,
				      const struct warder_checkpoint_query *query,
				      struct warder_checkpoint ***ret, size_t *ret_count,
				      struct warder_error *err);
/* List a checkpoint, its parent, the parent's parent and so on, without states, at most `limit` of them (0: 100),
 * up to the first or a removed one. `which` as for warder_checkpoint_get(). The caller frees the list with
 * warder_checkpoint_list_free(). -1 (NOT_FOUND): the checkpoint does not exist. */
WARDER_API int warder_checkpoint_history(struct warder_checkpoints *checkpoints, const char *thread,
					 const char *which, uint64_t limit, struct warder_checkpoint ***ret,
					 size_t *ret_count, struct warder_error *err);
/* Remove a checkpoint. `which` as for warder_checkpoint_get(). -1 (NOT_FOUND). */
WARDER_API int warder_checkpoint_delete(struct warder_checkpoints *checkpoints, const char *thread,
					const char *which, struct warder_error *err);
/* Go back to an older checkpoint: save a new head with its state and metadata. The older checkpoint is the parent
 * of the new head, and "rollbackFrom" in its metadata. Nothing is removed, except by the limits. *ret and errors
 * as for warder_checkpoint_put(). */
WARDER_API int warder_checkpoint_rollback(struct warder_checkpoints *checkpoints, const char *thread,
					  const char *which, struct warder_checkpoint **ret,
					  struct warder_error *err);
/* Verify the whole file: its structure, and each checkpoint against its digests (which every read compares as well). *ret_count (may be
 * NULL) is the number of good checkpoints. -1 (UNAVAILABLE): the file is damaged; the text names the first place. */
WARDER_API int warder_checkpoints_verify(struct warder_checkpoints *checkpoints, uint64_t *ret_count,
					 struct warder_error *err);
/* Copy every undamaged checkpoint, with id, version, parent and time, and the limits, to another store, which must have no checkpoints yet.
 * *ret_saved and *ret_lost (may be NULL) are the numbers of copied and of damaged ones; checkpoints on unreadable pages are not counted. */
WARDER_API int warder_checkpoints_rescue(struct warder_checkpoints *checkpoints, const char *store,
					 uint64_t *ret_saved, uint64_t *ret_lost, struct warder_error *err);
/* Compare the states of two checkpoints. *ret_json is one line of JSON: {"from": ID, "to": ID, "same": false,
 * "truncated": false, "changes": [{"path": "/a/0", "change": "added"|"removed"|"changed", "old": ..., "new":
 * ...}]}. Paths are JSON pointers (RFC 6901). Elements of arrays are compared by position, numbers as they are
 * written. After 10000 changes the rest is left out. */
WARDER_API int warder_checkpoint_compare(struct warder_checkpoints *checkpoints, const char *thread,
					 const char *from, const char *to, char **ret_json,
					 struct warder_error *err);
/* The checkpoint as a JSON document, with the state if the checkpoint has it. The caller frees it with free().
 * NULL: out of memory. */
WARDER_API char *warder_checkpoint_json(const struct warder_checkpoint *checkpoint);
WARDER_API void warder_checkpoint_free(struct warder_checkpoint *checkpoint);
WARDER_API void warder_checkpoint_list_free(struct warder_checkpoint **list, size_t count);

/* Save a state as the new head of a thread. ret_version may be NULL. Errors as for warder_checkpoint_put(). */
WARDER_API int warder_thread_save(struct warder_checkpoints *checkpoints, const char *thread,
				  const char *state, size_t state_len, uint64_t *ret_version,
				  struct warder_error *err);
/* Get the state of the head, with a final NUL. The caller frees it with free(). ret_len may be NULL. -1
 * (NOT_FOUND). */
WARDER_API int warder_thread_load(struct warder_checkpoints *checkpoints, const char *thread,
				  char **ret_state, size_t *ret_len, struct warder_error *err);
/* List all threads with a checkpoint, by name. The list is one block, which the caller frees with free(). */
WARDER_API int warder_thread_list(struct warder_checkpoints *checkpoints, struct warder_thread **ret,
				  size_t *ret_count, struct warder_error *err);
/* Remove a thread with all its checkpoints. *ret_removed (may be NULL) is their number, 0 for an unknown thread. */
WARDER_API int warder_thread_delete(struct warder_checkpoints *checkpoints, const char *thread,
				    uint64_t *ret_removed, struct warder_error *err);

/* ---- the collaboration log of a workspace ----
 *
 * Events by which the programs in one workspace coordinate: they need work, claim it, publish it, request feedback, provide
 * it, are blocked, are done. A log is one file of JSON lines in the store, to which any number of processes append. An
 * acknowledged event is on the disk, has a number of its own, and is never changed. A killed process may leave an unfinished
 * line; the next writer removes it.
 * Any thread may use the handle of a log, and so may a forked child. A subscription belongs to one thread at a time.
 */
struct warder_events;
struct warder_subscription;

#define WARDER_EVENT_NAME_MAX 256 /* bytes of an id, a topic, a producer, a consumer: any UTF-8 */
#define WARDER_EVENT_PAYLOAD_MAX                                                                             \
	(256u << 10)                       /* bytes of a payload; also at most 32 levels and 100000 values */
#define WARDER_EVENTS_MAX_BYTES (1u << 30) /* of a log; then it is full */
#define WARDER_EVENTS_LATER     UINT64_MAX /* for warder_events_subscribe(): only future events */

enum warder_event_kind {
	WARDER_EVENT_ANY = 0, /* in filters */
	WARDER_EVENT_NEED_WORK,
	WARDER_EVENT_WORK_CLAIMED,
	WARDER_EVENT_WORK_PUBLISHED,
	WARDER_EVENT_FEEDBACK_REQUESTED,
	WARDER_EVENT_FEEDBACK_PROVIDED,
	WARDER_EVENT_BLOCKED,
	WARDER_EVENT_COMPLETED,
};

struct warder_event {
	const char *correlation_id; /* the id of the task that the event belongs to */
	const char *topic;          /* the subject */
	const char *producer;       /* the sender */
	const char *consumer;       /* the receiver; NULL: all */
	const char *payload;        /* a JSON value, on one line when it comes from a log; NULL: null */
	enum warder_event_kind kind;
	int64_t timestamp_ms; /* since 1970, by the host's clock; publish: 0 is now */
	uint64_t sequence;    /* 1, 2, ... in its log; publish sets it */
};

struct warder_events_options {
	size_t size;              /* sizeof(struct warder_events_options) */
	const char *project_name; /* NULL: the last component of the root, or "unnamed" */
	const char *session_id;   /* or NULL */
	int64_t created_ms;       /* 0: now */
	int existing;             /* 1: the log has to exist (NOT_FOUND); 0: a missing log is made */
};

/* The properties of a log; the texts live as long as the handle. */
struct warder_events_about {
	const char *root, *project_name;
	const char *session_id; /* or NULL */
	int64_t created_ms;
};

struct warder_event_filter {
	size_t size;                 /* sizeof(struct warder_event_filter) */
	const char *correlation_id;  /* NULL: any */
	enum warder_event_kind kind; /* WARDER_EVENT_ANY: any */
	const char *topic;           /* NULL: any */
};

/* The name of a kind, such as "needWork". NULL for WARDER_EVENT_ANY and unknown numbers. */
WARDER_API const char *warder_event_kind_name(enum warder_event_kind kind);
/* The kind with this name; WARDER_EVENT_ANY if there is none. */
WARDER_API enum warder_event_kind warder_event_kind_from_name(const char *name);

/* Open the log of a workspace. `root` names the workspace: the absolute path of its directory, or any other text
 * of up to 4000 bytes; it is never a path in the store. options may be NULL; for an existing log, project_name,
 * session_id and created_ms have no effect. *ret belongs to the caller: warder_events_free(). */
WARDER_API int warder_events_open(const char *store, const char *root,
				  const struct warder_events_options *options, struct warder_events **ret,
				  struct warder_error *err);
WARDER_API struct warder_events_about warder_events_about(const struct warder_events *events);
WARDER_API void warder_events_free(struct warder_events *events);
/* List the properties of all logs of a store. The list is one block, which the caller frees with free(). */
WARDER_API int warder_events_list(const char *store, struct warder_events_about **ret, size_t *ret_count,
				  struct warder_error *err);
/* Remove a log with all its events. A function that waits for an event fails (NOT_FOUND). -1 (NOT_FOUND): there is none. */
WARDER_API int warder_events_remove(const char *store, const char *root, struct warder_error *err);

/* Append an event. *ret_sequence is its number, *ret_receivers the number of subscribers at that moment; both may
 * be NULL. -1: INVALID_REQUEST (a name or the payload), NOT_FOUND (the log was removed), CONFLICT (another process
 * holds the log for more than 15 seconds), UNAVAILABLE, with sys_errno ENOSPC if the storage is full; then nothing
 * was appended. */
WARDER_API int warder_events_publish(struct warder_events *events, const struct warder_event *event,
				     uint64_t *ret_sequence, uint64_t *ret_receivers,
				     struct warder_error *err);
/* Subscribe to the events with numbers above `after`. 0: all events; WARDER_EVENTS_LATER: only future ones. A slow
 * subscriber misses no event. *ret belongs to the caller: warder_subscription_free(). */
WARDER_API int warder_events_subscribe(struct warder_events *events, uint64_t after,
				       struct warder_subscription **ret, struct warder_error *err);
/* Get the next event that matches the filter (NULL: any event); other events are skipped for good. Wait at most
 * timeout_ms (-1: without a limit; 0: not at all). If no event arrives, *ret is NULL, and the function returns 0.
 * The caller frees *ret. -1 (NOT_FOUND): the log was removed. */
WARDER_API int warder_subscription_next(struct warder_subscription *subscription,
					const struct warder_event_filter *filter, int timeout_ms,
					struct warder_event **ret, struct warder_error *err);
/* A descriptor to poll for reading: it becomes readable when the log may have changed since the first call. So
 * call this first, then warder_subscription_next() with timeout 0 until there is no event, then poll. -1: this
 * host has no such descriptor. */
WARDER_API int warder_subscription_fd(struct warder_subscription *subscription);
/* The number of lines read so far that are not valid events: another program wrote them, or the disk has lost
 * data. */
WARDER_API uint64_t warder_subscription_damaged(const struct warder_subscription *subscription);
WARDER_API void warder_subscription_free(struct warder_subscription *subscription);
/* Wait for the first future event with this correlation id (NULL: any) and kind. As warder_subscription_next(). */
WARDER_API int warder_events_wait_for(struct warder_events *events, const char *correlation_id,
				      enum warder_event_kind kind, int timeout_ms, struct warder_event **ret,
				      struct warder_error *err);

/* An event as one line of JSON, and back. The caller frees the line with free(), the event with
 * warder_event_free(). NULL: out of memory, or the event is not valid. */
WARDER_API char *warder_event_json(const struct warder_event *event);
WARDER_API int warder_event_parse(const char *json, size_t len, struct warder_event **ret,
				  struct warder_error *err);
/* An event as a task of the protocol A2A, on one line: needWork and feedbackProvided are "submitted", workClaimed is "working",
 * feedbackRequested and blocked are "input-required", workPublished (with an artifact) and completed are "completed". The
 * correlation id is the task's id, the topic its context. As warder_event_json(). */
WARDER_API char *warder_event_a2a(const struct warder_event *event);
/* A task as an event; the reverse of warder_event_a2a(). For other tasks, submitted is needWork, working is
 * workClaimed, input-required is feedbackRequested, and completed is workPublished if there is an artifact, else
 * completed. -1 (INVALID_REQUEST): any other state. */
WARDER_API int warder_event_from_a2a(const char *json, size_t len, struct warder_event **ret,
				     struct warder_error *err);
WARDER_API void warder_event_free(struct warder_event *event);

/* ---- workspaces ----
 *
 * A workspace is a directory that stays between runs. The caller chooses its id; the same id is the same workspace. A handle
 * locks it, shared with other handles and with runs; a snapshot and a removal need it alone. Every path is relative to the
 * workspace. The kernel resolves it beneath the workspace, even while a program changes directories there; a path that leads
 * out is refused (REJECTED, INVALID_REQUEST). A handle belongs to one thread at a time.
 */
struct warder_workspace;

/* Open a workspace; make it, or its missing directories. id NULL: a new id. *ret belongs to the caller:
 * warder_workspace_free(), which also releases the lock. */
WARDER_API int warder_workspace_open(const char *store, const char *id, struct warder_workspace **ret,
				     struct warder_error *err);
WARDER_API void warder_workspace_free(struct warder_workspace *workspace);
WARDER_API const char *warder_workspace_id(const struct warder_workspace *workspace);
/* The path of the workspace on the host. */
WARDER_API const char *warder_workspace_path(const struct warder_workspace *workspace);
/* Remove a workspace with all its files, if it exists. CONFLICT: it is in use, and `wait` is 0. */
WARDER_API int warder_workspace_remove(const char *store, const char *id, int wait, struct warder_error *err);

/* Write a file (mode 0: 0644), and make missing directories (0755). The new file replaces an old one in one step. */
WARDER_API int warder_workspace_put(struct warder_workspace *workspace, const char *path, unsigned int mode,
				    const char *bytes, size_t len, struct warder_error *err);
/* Read a regular file of at most `most` bytes (larger: INVALID_REQUEST). The caller frees *ret with free(); it has
 * a final NUL. */
WARDER_API int warder_workspace_read(struct warder_workspace *workspace, const char *path, size_t most,
				     char **ret, size_t *ret_len, struct warder_error *err);
/* Apply the output of `git diff` as a whole or not at all. git does this in a jail, and has to be installed.
 * strip: the number of components to remove from each path; -1: one if the paths begin with a/ and b/, none
 * without such prefixes. -1: INVALID_REQUEST (strip is -1, and the header of the first file does not show which),
 * CONFLICT (the files differ from the patch). Then nothing was changed. */
WARDER_API int warder_workspace_patch(struct warder_workspace *workspace, const char *patch, size_t len,
				      int strip, struct warder_error *err);

struct warder_workspace_input {
	size_t size; /* sizeof(struct warder_workspace_input) */
	const char *
	    from; /* "host:///abs", "workspace://rel", "artifact://name[@version]", "skill://name/rel", "git+file:///abs[#branch]", "git+https://host[:port]/path[#branch]" */
	const char *to; /* NULL: work/inputs/ and the last component of from */
	int link;       /* 1: for a host path: mount it read-only instead of copying it */
	int read_only;  /* 1: a read-only mount, which no program of a run can change */
	int pin; /* 1: for an artifact without a version: the version that was staged at this path before */
};

/* Put an input into the workspace and record it. -1: CONFLICT if the old or the new input is read-only and a run
 * of another handle uses the workspace. The caller ends its own runs first. */
WARDER_API int warder_workspace_stage(struct warder_workspace *workspace,
				      const struct warder_workspace_input *input, struct warder_error *err);
/* Add the workspace to a policy: as /workspace, writable, with its read-only inputs, and the variables
 * WORKSPACE_DIR, SKILLS_DIR, WORK_DIR, OUTPUT_DIR and RUN_DIR (a new directory); variables of the policy stay.
 * `cwd` becomes the working directory: a path in the workspace, which is made if it is missing; NULL: the
 * workspace itself. The handle has to stay open while the policy runs. */
WARDER_API int warder_workspace_policy(struct warder_workspace *workspace, const char *cwd,
				       struct warder_policy *policy, struct warder_error *err);

struct warder_workspace_outputs {
	size_t size;                 /* sizeof(struct warder_workspace_outputs) */
	const char *const *patterns; /* patterns: "out/" and two stars, "$OUTPUT_DIR/a.csv", ... */
	size_t pattern_count;
	size_t files_max;          /* 0: 100 */
	uint64_t file_bytes;       /* for each file; 0: 4 MiB */
	uint64_t total_bytes;      /* for all files together; 0: 64 MiB */
	int save;                  /* 1: save each file as an artifact; 0: put the content into *ret_json */
	const char *name_template; /* prefix of the path in the name of an artifact; NULL: none */
	int strict;                /* 1: save nothing if a file would be cut */
};

/* Collect the matching files. *ret_json is {"files": [{"path", "size", "contentType", "truncated", "content" or
 * "base64", "encoding", or "artifact", "version"}], "limitsHit", "outside"}. */
WARDER_API int warder_workspace_collect(struct warder_workspace *workspace,
					const struct warder_workspace_outputs *what, char **ret_json,
					struct warder_error *err);

/* ---- snapshots of workspaces ---- */
#define WARDER_SNAPSHOT_ID 32 /* bytes of an id, with the NUL */

/* Store a copy of a workspace with at most bytes_max bytes of files (0: 16 GiB). The caller must close its handles
 * first. *ret_snapshot is the id. CONFLICT: the workspace is in use, and `wait` is 0. */
WARDER_API int warder_snapshot_make(const char *store, const char *id, int wait, uint64_t bytes_max,
				    char ret_snapshot[WARDER_SNAPSHOT_ID], struct warder_error *err);
/* Make a new workspace (id NULL: a new id) with the tree of a snapshot: modes, links, empty directories, times.
 * *ret belongs to the caller: warder_workspace_free(). */
WARDER_API int warder_snapshot_resume(const char *store, const char *snapshot, const char *id,
				      struct warder_workspace **ret, struct warder_error *err);
/* Read a whole snapshot and compare it with its digests. */
WARDER_API int warder_snapshot_verify(const char *store, const char *snapshot, struct warder_error *err);
WARDER_API int warder_snapshot_remove(const char *store, const char *snapshot, struct warder_error *err);
/* Remove old snapshots of a workspace (id NULL: of every workspace): all but the newest `keep` (0: keep any
 * number), and those older than max_age_s seconds (0: any age). */
WARDER_API int warder_snapshot_prune(const char *store, const char *id, uint64_t keep, uint64_t max_age_s,
				     struct warder_error *err);

/* ---- images ----
 *
 * Root file systems with names, for filesystem.view "image:NAME" of a policy. Runs look for them in the default store
 * ($WARDER_STORE, or the user's). Any number of processes may use a store at the same time. ret_json may be NULL. A hostile
 * or damaged archive is refused before anything has a name in the store (REJECTED, INVALID_REQUEST); the text names the
 * member.
 */
struct warder_image_import {
	size_t size;        /* sizeof(struct warder_image_import) */
	const char *source; /* a directory or an archive; "-": standard input */
	const char *name; /* name of the image; an existing one is replaced. NULL: the name in the archive */
	const char *format;      /* "oci", "docker", "tar", "directory"; NULL: detected */
	const char *reference;   /* reference of the image, if the archive has several; NULL: the only one */
	int replace;             /* 1: a name from the archive may replace an existing image; 0: CONFLICT */
	uint64_t bytes_max;      /* unpacked bytes of all layers; 0: 16 GiB */
	uint64_t file_bytes_max; /* bytes of one file; 0: 4 GiB */
	uint64_t files_max;      /* members of all layers; 0: a million */
	/* Called with the progress, several times a second. `what` names the present step; total 0: unknown. Or
	 * NULL. */
	void (*on_progress)(void *context, const char *what, uint64_t done, uint64_t total);
	void *context;
};

/* Import an image. *ret_json is {"name", "digest", "layers", "bytes", "layersStored", "layersShared"}, and the
 * number of parts that were left out or changed: "capabilitiesDropped", "setIdsCleared", ... */
WARDER_API int warder_image_import(const char *store, const struct warder_image_import *what, char **ret_json,
				   struct warder_error *err);

struct warder_image_build {
	size_t size;            /* sizeof(struct warder_image_build) */
	const char *directory;  /* source directory of COPY */
	const char *recipe;     /* path of the recipe; NULL: "Dockerfile" in the directory */
	const char *name;       /* name of the image; an existing one is replaced after success */
	const char *network;    /* network of RUN: "none" (NULL) or "host" */
	char *const *arguments; /* NAME=value for ARG, NULL-terminated; or NULL */
	char *const *settings;  /* FIELD=value of the policy of RUN, NULL-terminated; or NULL */
	int output_fd;          /* descriptor for the output of RUN; 0: none */
};

/* Build an image in the default store, where RUN finds its layers. *ret_json as for warder_image_import(). -1: the
 * text begins with the name of the recipe and the line. */
WARDER_API int warder_image_build(const struct warder_image_build *what, char **ret_json,
				  struct warder_error *err);
/* List the images, by name: [{"name", "damaged", "digest", "layers", "bytes", "created"}]. Without a store the
 * list is empty. */
WARDER_API int warder_image_list(const char *store, char **ret_json, struct warder_error *err);
/* Describe an image: its layers and its configuration. -1: NOT_FOUND. */
WARDER_API int warder_image_inspect(const char *store, const char *name, char **ret_json,
				    struct warder_error *err);
/* Verify every stored file of an image. 0: unchanged; 1: damaged; -1 with *err. *ret_json is {"name", "good",
 * "faults": [{"layer", "text"}]}, with faults of at most 16 layers. */
WARDER_API int warder_image_verify(const char *store, const char *name, char **ret_json,
				   struct warder_error *err);
/* Remove a name, and the layers that no other name, run or import uses. *ret_json is {"layersRemoved",
 * "bytesFreed", "layersHeld", "leftoversRemoved"}. -1: NOT_FOUND. */
WARDER_API int warder_image_remove(const char *store, const char *name, char **ret_json,
				   struct warder_error *err);
/* Remove every layer that no name, run or import uses, and the leftovers of interrupted work. *ret_json as for
 * warder_image_remove(). */
WARDER_API int warder_image_gc(const char *store, char **ret_json, struct warder_error *err);

/* ---- artifacts ---- */
/* Save content as the next version of an artifact. type NULL: detected from the name and the first bytes.
 * *ret_version is the new version. */
WARDER_API int warder_artifact_save(const char *store, const char *name, const char *type, const char *bytes,
				    size_t len, uint64_t *ret_version, struct warder_error *err);
/* The same for an open file, such as one of struct warder_spill: from its present position to its end. More than
 * bytes_max bytes (0: 16 GiB) are refused, and nothing is saved. */
WARDER_API int warder_artifact_save_file(const char *store, const char *name, const char *type, int fd,
					 uint64_t bytes_max, uint64_t *ret_version, struct warder_error *err);
/* Read an artifact, "name" or "name@version", of at most `most` bytes, and verify it. The caller frees *ret with
 * free(); it has a final NUL. */
WARDER_API int warder_artifact_read(const char *store, const char *reference, size_t most, char **ret,
				    size_t *ret_len, struct warder_error *err);
/* Remove a version ("name@version"), or all versions of a name. */
WARDER_API int warder_artifact_remove(const char *store, const char *reference, struct warder_error *err);

#ifdef __cplusplus
}
#endif

#endif
