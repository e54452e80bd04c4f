/*
 * warder-store: what stays when a run is over, for programs that embed Warder. Link with -lwarder-store -lwarder.
 *
 * Every function that can fail returns NULL or -1 and writes to *err, as those of warder.h do.
 */
#ifndef WARDER_STORE_WARDER_STORE_H
#define WARDER_STORE_WARDER_STORE_H

#include <warder.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- checkpoints of threads ----
 *
 * A thread is a series of checkpoints under one name: of a conversation, a job, an agent. A checkpoint is never changed; the newest
 * one is the thread's head. Its state is any JSON document, kept byte for byte.
 * All of a store is one SQLite file, which any number of processes may use at once; what a function has acknowledged with 0 is on
 * the disk. A handle may be used from several threads, which wait for each other; a child that was forked needs its own.
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
	const char *thread; /* its name */
	const char
	    *parent; /* id of the one that it came from, which may have been removed since; NULL: the first */
	uint64_t version; /* 1, 2, ... in its thread; none is given twice while the thread has checkpoints */
	int64_t created_ms;   /* since 1970, by the host's clock */
	const char *metadata; /* a JSON object on one line */
	const char *state; /* as it was put, NUL-terminated; NULL in lists that were asked for without it */
	size_t state_len;  /* its bytes, also without it */
};

/* The limits belong to the store, not to the handle: they hold for everybody. */
struct warder_checkpoint_limits {
	size_t size;         /* sizeof(struct warder_checkpoint_limits) */
	uint64_t per_thread; /* checkpoints; a put removes the oldest beyond it. Default 100; 0: no limit */
	uint64_t
	    max_age_ms; /* older ones are no longer found, and removed by the next put. Default 24 hours; 0: no limit */
	uint64_t
	    max_bytes; /* of the file, at least 64 KiB; beyond it the storage is full. Default 1 GiB; 0: no limit */
};

struct warder_checkpoint_options {
	size_t size;          /* sizeof(struct warder_checkpoint_options) */
	const char *id;       /* NULL: a new one is made */
	const char *parent;   /* id of a checkpoint of the same thread; NULL: the thread's head */
	const char *metadata; /* a JSON object without "rollbackFrom"; NULL: {} */
};

struct warder_checkpoint_query {
	size_t size;             /* sizeof(struct warder_checkpoint_query) */
	uint64_t limit;          /* the newest so many, at most WARDER_CHECKPOINT_LIST_MAX; 0: 100 */
	int64_t since_ms;        /* made then or later; 0: any */
	int64_t until_ms;        /* made then or earlier; 0: any */
	uint64_t after_version;  /* newer than that; 0: any */
	uint64_t before_version; /* older than that (to go on where a list ended); 0: any */
	int with_state;
};

struct warder_thread {
	const char *name;
	uint64_t checkpoints;
	uint64_t bytes;     /* of their states */
	uint64_t version;   /* of the head */
	int64_t updated_ms; /* when the head was made */
};

/* Open the checkpoints of a store, making them if they are missing. `store`: an absolute path; NULL: $WARDER_STORE or the user's own
 * place. -1 (UNAVAILABLE): somebody else may write there, or it is damaged, or was written by a newer version. */
WARDER_API int warder_checkpoints_open(const char *store, struct warder_checkpoints **ret,
				       struct warder_error *err);
/* Does nothing in a child of the process that opened it. */
WARDER_API void warder_checkpoints_free(struct warder_checkpoints *checkpoints);

/* The limits of the store; ret->size is set by the caller. */
WARDER_API int warder_checkpoints_limits(struct warder_checkpoints *checkpoints,
					 struct warder_checkpoint_limits *ret, struct warder_error *err);
/* Apply other limits, from now on and to what is there; ret_removed (may be NULL) checkpoints were over them. A file
 * that is larger than max_bytes already does not grow. */
WARDER_API int warder_checkpoints_set_limits(struct warder_checkpoints *checkpoints,
					     const struct warder_checkpoint_limits *limits,
					     uint64_t *ret_removed, struct warder_error *err);

/* Put a checkpoint at the head of a thread. options may be NULL. ret may be NULL, else it is the checkpoint without its state, to be
 * freed. -1: INVALID_REQUEST (thread, state, metadata, id), NOT_FOUND (the parent), CONFLICT (the id is taken, or somebody
 * writes for a quarter of a minute), UNAVAILABLE with sys_errno ENOSPC ("storage full": nothing has changed). */
WARDER_API int warder_checkpoint_put(struct warder_checkpoints *checkpoints, const char *thread,
				     const char *state, size_t state_len,
				     const struct warder_checkpoint_options *options,
				     struct warder_checkpoint **ret, struct warder_error *err);
/* By id in the whole store, or with a thread by id, by "@3" for version 3, or by NULL for the head. The caller frees *ret. -1
 * (NOT_FOUND): there is none, or it is too old. */
WARDER_API int warder_checkpoint_get(struct warder_checkpoints *checkpoints, const char *thread,
				     const char *which, struct warder_checkpoint **ret,
				     struct warder_error *err);
/* The checkpoints of a thread, newest first. query may be NULL. An unknown thread has none. The caller frees the list. */
WARDER_API int warder_checkpoint_list(struct warder_checkpoints *checkpoints, const char *thread,
				      const struct warder_checkpoint_query *query,
				      struct warder_checkpoint ***ret, size_t *ret_count,
				      struct warder_error *err);
/* How a checkpoint came about: it, its parent, the parent's parent, at most `limit` of them (0: 100), until there is none or one
 * that has been removed. `which` as of get. Without states. -1 (NOT_FOUND): there is not even the first. */
WARDER_API int warder_checkpoint_history(struct warder_checkpoints *checkpoints, const char *thread,
					 const char *which, uint64_t limit, struct warder_checkpoint ***ret,
					 size_t *ret_count, struct warder_error *err);
/* Remove one. -1 (NOT_FOUND). */
WARDER_API int warder_checkpoint_delete(struct warder_checkpoints *checkpoints, const char *thread,
					const char *which, struct warder_error *err);
/* Go back to an older checkpoint: a new head with its state and metadata, whose parent is the old one, and whose metadata names it as
 * "rollbackFrom". Nothing is removed but what is over the limits. As put. */
WARDER_API int warder_checkpoint_rollback(struct warder_checkpoints *checkpoints, const char *thread,
					  const char *which, struct warder_checkpoint **ret,
					  struct warder_error *err);
/* What differs between the states of two checkpoints, as JSON on one line, to be freed with free():
 * {"from": ID, "to": ID, "same": false, "truncated": false, "changes": [{"path": "/a/0", "change": "added"|"removed"|"changed",
 * "old": ..., "new": ...}]}. Paths are JSON pointers (RFC 6901). Arrays are compared place by place, numbers as they
 * are written. After 10000 changes the rest is left out. */
WARDER_API int warder_checkpoint_compare(struct warder_checkpoints *checkpoints, const char *thread,
					 const char *from, const char *to, char **ret_json,
					 struct warder_error *err);
/* The checkpoint as a JSON document, with its state if it has it; the caller frees it with free(). NULL on want of memory. */
WARDER_API char *warder_checkpoint_json(const struct warder_checkpoint *checkpoint);
WARDER_API void warder_checkpoint_free(struct warder_checkpoint *checkpoint);
WARDER_API void warder_checkpoint_list_free(struct warder_checkpoint **list, size_t count);

/* Put a state as it is after what the thread has; ret_version may be NULL. As put. */
WARDER_API int warder_thread_save(struct warder_checkpoints *checkpoints, const char *thread,
				  const char *state, size_t state_len, uint64_t *ret_version,
				  struct warder_error *err);
/* The state of the head, NUL-terminated; the caller frees it with free(). ret_len may be NULL. -1 (NOT_FOUND). */
WARDER_API int warder_thread_load(struct warder_checkpoints *checkpoints, const char *thread,
				  char **ret_state, size_t *ret_len, struct warder_error *err);
/* All threads that have a checkpoint, by name. The list is one block, to be freed with free(). */
WARDER_API int warder_thread_list(struct warder_checkpoints *checkpoints, struct warder_thread **ret,
				  size_t *ret_count, struct warder_error *err);
/* Remove a thread with all its checkpoints; ret_removed may be NULL. An unknown thread has none, which is no error. */
WARDER_API int warder_thread_delete(struct warder_checkpoints *checkpoints, const char *thread,
				    uint64_t *ret_removed, struct warder_error *err);

/* ---- the collaboration log of a workspace ----
 *
 * What those who work in one place tell each other: somebody needs work, claims it, publishes it, asks for feedback, gives it, is
 * blocked, is done. A log is one file of JSON lines below the store, to which any number of processes append; an event that was
 * acknowledged is on the disk, has a number of its own, and is never changed. What a process that was killed has left unfinished is
 * no event, and is cut off by who appends next.
 * A log's handle does not change and may be used by any thread, and in a child that was forked. A subscription belongs to one thread
 * at a time.
 */
struct warder_events;
struct warder_subscription;

#define WARDER_EVENT_NAME_MAX 256 /* bytes of an id, a topic, a producer, a consumer: any UTF-8 */
#define WARDER_EVENT_PAYLOAD_MAX                                                                             \
	(256u << 10)                       /* bytes of a payload; also at most 32 levels and 100000 values */
#define WARDER_EVENTS_MAX_BYTES (1u << 30) /* of a log; then it is full */
#define WARDER_EVENTS_LATER     UINT64_MAX /* for subscribe: what comes from now on */

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
	const char *correlation_id; /* what belongs together; the id of the task */
	const char *topic;          /* what it is about */
	const char *producer;       /* who says it */
	const char *consumer;       /* who is meant; NULL: all */
	const char *payload;        /* a JSON value, on one line when it comes from a log; NULL: null */
	enum warder_event_kind kind;
	int64_t timestamp_ms; /* since 1970, by the host's clock; publish: 0 is now */
	uint64_t sequence;    /* 1, 2, ... in its log; publish sets it */
};

struct warder_events_options {
	size_t size;              /* sizeof(struct warder_events_options) */
	const char *project_name; /* NULL: the last part of the root's path, or "unnamed" */
	const char *session_id;   /* or NULL */
	int64_t created_ms;       /* 0: now */
	int existing;             /* 1: the log must be there (NOT_FOUND); else it is made if it is missing */
};

/* What a log says of itself; the texts live as long as the handle. */
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

/* "needWork", ...; NULL for WARDER_EVENT_ANY and numbers that are none. */
WARDER_API const char *warder_event_kind_name(enum warder_event_kind kind);
/* WARDER_EVENT_ANY if there is no kind of that name. */
WARDER_API enum warder_event_kind warder_event_kind_from_name(const char *name);

/* Open the log of a workspace. `store` as of warder_checkpoints_open(). `root` names the workspace: the absolute path of its
 * directory, or any other text of up to 4000 bytes; it is never a path of the store. What the options say of a log that is
 * there already is not looked at. options may be NULL. */
WARDER_API int warder_events_open(const char *store, const char *root,
				  const struct warder_events_options *options, struct warder_events **ret,
				  struct warder_error *err);
WARDER_API struct warder_events_about warder_events_about(const struct warder_events *events);
WARDER_API void warder_events_free(struct warder_events *events);
/* What all logs of a store say of themselves; the list is one block, to be freed with free(). */
WARDER_API int warder_events_list(const char *store, struct warder_events_about **ret, size_t *ret_count,
				  struct warder_error *err);
/* Remove a log with all its events. Who waits for one is told (NOT_FOUND). -1 (NOT_FOUND): there is none. */
WARDER_API int warder_events_remove(const char *store, const char *root, struct warder_error *err);

/* Append an event; its number and how many subscribers there are at that moment (both may be NULL). -1: INVALID_REQUEST (a name or the
 * payload), NOT_FOUND (the log was removed), CONFLICT (somebody holds the log for a quarter of a minute), UNAVAILABLE, with sys_errno
 * ENOSPC if the storage is full: then nothing was appended. */
WARDER_API int warder_events_publish(struct warder_events *events, const struct warder_event *event,
				     uint64_t *ret_sequence, uint64_t *ret_receivers,
				     struct warder_error *err);
/* Be told of the events with numbers above `after`: 0: of all; WARDER_EVENTS_LATER: of those that come from now on. However long a
 * subscriber does not look, he misses none. */
WARDER_API int warder_events_subscribe(struct warder_events *events, uint64_t after,
				       struct warder_subscription **ret, struct warder_error *err);
/* The next event that the filter (NULL: all) lets through; others are left out for good. Waits for it timeout_ms (-1: as long as it
 * takes; 0: not at all); if none comes, *ret is NULL, which is no error. The caller frees *ret. -1 (NOT_FOUND): the log was removed. */
WARDER_API int warder_subscription_next(struct warder_subscription *subscription,
					const struct warder_event_filter *filter, int timeout_ms,
					struct warder_event **ret, struct warder_error *err);
/* A descriptor that can be polled for reading: then the log may have something new since it was asked for first; so ask, then look with
 * a timeout of 0 until there is nothing, then poll. -1: this host has none. */
WARDER_API int warder_subscription_fd(struct warder_subscription *subscription);
/* How many lines of the log were no events, so far: somebody else has written there, or the disk has lost something. */
WARDER_API uint64_t warder_subscription_damaged(const struct warder_subscription *subscription);
WARDER_API void warder_subscription_free(struct warder_subscription *subscription);
/* Subscribe to what comes from now on, and wait for the first event with this correlation id (NULL: any) and kind. As next. */
WARDER_API int warder_events_wait_for(struct warder_events *events, const char *correlation_id,
				      enum warder_event_kind kind, int timeout_ms, struct warder_event **ret,
				      struct warder_error *err);

/* An event as one line of JSON, and back; the caller frees it with free(). NULL on want of memory, or if it is no valid event. */
WARDER_API char *warder_event_json(const struct warder_event *event);
WARDER_API int warder_event_parse(const char *json, size_t len, struct warder_event **ret,
				  struct warder_error *err);
/* An event as a task of the protocol A2A, on one line: needWork and feedbackProvided are "submitted", workClaimed is "working",
 * feedbackRequested and blocked are "input-required", workPublished (with an artifact) and completed are "completed". The
 * correlation id is the task's id, the topic its context. As warder_event_json(). */
WARDER_API char *warder_event_a2a(const struct warder_event *event);
/* A task as an event. What warder_event_a2a() has written comes back as it was; else submitted is needWork, working workClaimed,
 * input-required feedbackRequested, and completed is workPublished if there is an artifact, else completed. -1 (INVALID_REQUEST):
 * another state, which no event stands for. */
WARDER_API int warder_event_from_a2a(const char *json, size_t len, struct warder_event **ret,
				     struct warder_error *err);
WARDER_API void warder_event_free(struct warder_event *event);

/* ---- workspaces ----
 *
 * A directory that stays between runs, by an id of the caller's choosing: the same id is the same workspace. A handle locks it, shared with
 * other handles and with runs; a snapshot and a removal want it alone. Every path is relative to the workspace and resolved
 * beneath it by the kernel, also while a program works in it; what leads out is refused (REJECTED, INVALID_REQUEST). A handle belongs to one thread
 * at a time. `store` NULL: the default place.
 */
struct warder_workspace;

/* Open it, making it or what is missing of it; id NULL: a new one. */
WARDER_API int warder_workspace_open(const char *store, const char *id, struct warder_workspace **ret,
				     struct warder_error *err);
WARDER_API void warder_workspace_free(struct warder_workspace *workspace);
WARDER_API const char *warder_workspace_id(const struct warder_workspace *workspace);
/* Where it is on the host. */
WARDER_API const char *warder_workspace_path(const struct warder_workspace *workspace);
/* Remove it with all that is in it; there being none is no error. CONFLICT: it is in use, and `wait` is 0. */
WARDER_API int warder_workspace_remove(const char *store, const char *id, int wait, struct warder_error *err);

/* Write a file (mode 0: 0644), making directories (0755), at once in place of what is there. */
WARDER_API int warder_workspace_put(struct warder_workspace *workspace, const char *path, unsigned int mode,
				    const char *bytes, size_t len, struct warder_error *err);
/* A regular file of at most `most` bytes (larger: INVALID_REQUEST); *ret is heap, with a NUL behind the bytes. */
WARDER_API int warder_workspace_read(struct warder_workspace *workspace, const char *path, size_t most,
				     char **ret, size_t *ret_len, struct warder_error *err);
/* Apply a unified diff, all of it or nothing. strip: components taken off its paths; -1: one, if they are a/... and b/... */
WARDER_API int warder_workspace_patch(struct warder_workspace *workspace, const char *patch, size_t len,
				      int strip, struct warder_error *err);

struct warder_workspace_input {
	size_t size; /* sizeof(struct warder_workspace_input) */
	const char *
	    from; /* "host:///abs", "workspace://rel", "artifact://name[@version]", "skill://name/rel", "git+file:///abs[#branch]" */
	const char *to; /* NULL: work/inputs/ and the last component of from */
	int link;       /* 1: of the host: not copied, but mounted read-only where it is */
	int read_only;  /* 1: no program of a run can change it: it is a read-only mount */
	int pin;        /* 1: of an artifact without a version: the one that was staged there before */
};

/* Put an input in its place and record it. One that is, or was, read-only: CONFLICT while another handle's run is on; of runs by this handle's
 * policy, none may be on any more. */
WARDER_API int warder_workspace_stage(struct warder_workspace *workspace,
				      const struct warder_workspace_input *input, struct warder_error *err);
/* Let a policy show the workspace: as /workspace, writable, with its read-only inputs, WORKSPACE_DIR, SKILLS_DIR, WORK_DIR, OUTPUT_DIR and RUN_DIR (a new
 * directory; variables that the policy sets stay as they are) and `cwd`, relative to it and made (NULL: itself), as working directory. The
 * handle has to stay open while it runs. */
WARDER_API int warder_workspace_policy(struct warder_workspace *workspace, const char *cwd,
				       struct warder_policy *policy, struct warder_error *err);

struct warder_workspace_outputs {
	size_t size;                 /* sizeof(struct warder_workspace_outputs) */
	const char *const *patterns; /* "out/" and two stars, "$OUTPUT_DIR/a.csv", ... */
	size_t pattern_count;
	size_t files_max;          /* 0: 100 */
	uint64_t file_bytes;       /* of one; 0: 4 MiB */
	uint64_t total_bytes;      /* of all; 0: 64 MiB */
	int save;                  /* 1: save each as an artifact; 0: the content is in the result */
	const char *name_template; /* before the path in an artifact's name; NULL: nothing */
	int strict;                /* 1: save nothing if something would be cut off */
};

/* What matches, as {"files": [{"path", "size", "contentType", "truncated", "content" or "base64", "encoding", or "artifact",
 * "version"}], "limitsHit", "outside"}: JSON that the caller frees with free(). */
WARDER_API int warder_workspace_collect(struct warder_workspace *workspace,
					const struct warder_workspace_outputs *what, char **ret_json,
					struct warder_error *err);

/* ---- snapshots of workspaces ---- */
#define WARDER_SNAPSHOT_ID 32 /* bytes of an id, with the NUL */

/* Keep it as it is, with at most bytes_max bytes of files (0: 16 GiB). No handle of it may be open; CONFLICT: it is in use, and `wait` is 0. */
WARDER_API int warder_snapshot_make(const char *store, const char *id, int wait, uint64_t bytes_max,
				    char ret_snapshot[WARDER_SNAPSHOT_ID], struct warder_error *err);
/* A new workspace (id NULL: a new id) with the same tree: modes, links, empty directories, times. */
WARDER_API int warder_snapshot_resume(const char *store, const char *snapshot, const char *id,
				      struct warder_workspace **ret, struct warder_error *err);
/* Read all of it and compare it with what was written. */
WARDER_API int warder_snapshot_verify(const char *store, const char *snapshot, struct warder_error *err);
WARDER_API int warder_snapshot_remove(const char *store, const char *snapshot, struct warder_error *err);
/* Of a workspace (NULL: of each) only the newest `keep` stay (0: all), and none that is older (0: however old). */
WARDER_API int warder_snapshot_prune(const char *store, const char *id, uint64_t keep, uint64_t max_age_s,
				     struct warder_error *err);

/* ---- images ----
 *
 * Root file systems by name, for filesystem.view "image:NAME" of a policy. A run finds them in the default place ($WARDER_STORE, or the
 * user's own); any number of processes may work on a store at once. What is told comes as JSON, which the caller frees with free(); a
 * ret_json that is NULL is not asked for. What is hostile or damaged in an archive is refused by the name of the member (REJECTED,
 * INVALID_REQUEST), before anything has a name in the store.
 */
struct warder_image_import {
	size_t size;           /* sizeof(struct warder_image_import) */
	const char *source;    /* a directory or an archive; "-": standard input */
	const char *name;      /* an image of that name is replaced; NULL: the one that the archive says */
	const char *format;    /* "oci", "docker", "tar", "directory"; NULL: found out */
	const char *reference; /* which image of an archive that has several; NULL: the only one */
	int replace;           /* 1: a name that only the archive says may be another image's (0: CONFLICT) */
	uint64_t bytes_max;    /* of all layers unpacked; 0: 16 GiB */
	uint64_t file_bytes_max; /* of one file; 0: 4 GiB */
	uint64_t files_max;      /* members of all layers; 0: a million */
	/* Told how far it is, some times in a second or more often; total 0: not known. Or NULL. */
	void (*on_progress)(void *context, const char *what, uint64_t done, uint64_t total);
	void *context;
};

/* Bring an image in. {"name", "digest", "layers", "bytes", and what was left out or changed: "capabilitiesDropped",
 * "setIdsCleared", ..., "layersStored", "layersShared"}. */
WARDER_API int warder_image_import(const char *store, const struct warder_image_import *what, char **ret_json,
				   struct warder_error *err);

struct warder_image_build {
	size_t size;            /* sizeof(struct warder_image_build) */
	const char *directory;  /* that COPY takes files from */
	const char *recipe;     /* file; NULL: "Dockerfile" in the directory */
	const char *name;       /* of the image; one of that name is replaced when everything has been done */
	const char *network;    /* of RUN: "none" (NULL) or "host" */
	char *const *arguments; /* NAME=value for ARG, NULL-terminated; or NULL */
	char *const *settings;  /* FIELD=value of the policy of RUN, NULL-terminated; or NULL */
	int output_fd;          /* where the output of RUN goes; 0: nowhere */
};

/* Build an image in the default place, where RUN looks for its layers. JSON as of import. -1: the text begins with the recipe's name and
 * line. */
WARDER_API int warder_image_build(const struct warder_image_build *what, char **ret_json,
				  struct warder_error *err);
/* [{"name", "damaged", "digest", "layers", "bytes", "created"}], by name. Where there is no store there are none. */
WARDER_API int warder_image_list(const char *store, char **ret_json, struct warder_error *err);
/* Layers and configuration of one. -1: NOT_FOUND. */
WARDER_API int warder_image_inspect(const char *store, const char *name, char **ret_json,
				    struct warder_error *err);
/* Look at every stored file of an image again. 0: as it was stored; 1: damaged; -1 with *err. {"name", "good", "faults": [{"layer", "text"}]},
 * of at most 16 layers. */
WARDER_API int warder_image_verify(const char *store, const char *name, char **ret_json,
				   struct warder_error *err);
/* Take a name away, and the layers that no other name uses and no run or import holds. {"layersRemoved", "bytesFreed", "layersHeld",
 * "leftoversRemoved"}. -1: NOT_FOUND. */
WARDER_API int warder_image_remove(const char *store, const char *name, char **ret_json,
				   struct warder_error *err);
/* Remove every layer that no name uses and nobody holds, and what interrupted work has left. As remove. */
WARDER_API int warder_image_gc(const char *store, char **ret_json, struct warder_error *err);

/* ---- artifacts ---- */
/* Keep content under a name, as its next version. type NULL: by the name and the first bytes. */
WARDER_API int warder_artifact_save(const char *store, const char *name, const char *type, const char *bytes,
				    size_t len, uint64_t *ret_version, struct warder_error *err);
/* The same of an open file, from where it stands to its end, such as one of struct warder_spill; of more than bytes_max (0: 16 GiB)
 * nothing is saved. */
WARDER_API int warder_artifact_save_file(const char *store, const char *name, const char *type, int fd,
					 uint64_t bytes_max, uint64_t *ret_version, struct warder_error *err);
/* "name" or "name@version", verified, of at most `most` bytes; *ret is heap, with a NUL behind the bytes. */
WARDER_API int warder_artifact_read(const char *store, const char *reference, size_t most, char **ret,
				    size_t *ret_len, struct warder_error *err);
/* A version, or all of a name. */
WARDER_API int warder_artifact_remove(const char *store, const char *reference, struct warder_error *err);

#ifdef __cplusplus
}
#endif

#endif
