/*
 * workspaces: directories that stay between runs, by an id that somebody chooses. The door of this folder.
 *
 * A workspace has a tree that a jail sees as /workspace, writes to and may fill with anything; and beside it, where no jail
 * reaches, what Warder knows of it: metadata.json. (The copy of that in the tree is for programs to read. Warder never does.)
 * Every path in the tree is resolved by the kernel, beneath the tree (openat2), whoever is at work in it at the same
 * time; a path that leads out is refused, not followed.
 *
 * Life: workspaces_open() -> workspace_create() or workspace_open(), which lock the workspace, shared by all who work with it and a run, or
 * alone -> put, stage, read, list, patch, collect -> workspace_done(). One thread at a time for one struct.
 */
#ifndef WARDER_STORE_WORKSPACES_WORKSPACES_H
#define WARDER_STORE_WORKSPACES_WORKSPACES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "store/artifacts/artifacts.h"
#include "store/store.h"

#define WORKSPACE_ID_MAX    256 /* bytes of an id, with the NUL */
#define WORKSPACE_INSIDE    "/workspace"
#define WORKSPACE_DEPTH_MAX 128 /* directories in each other, as far as Warder goes into a tree */

struct workspaces {
	int dir_fd;
	bool is_private; /* no session may write to them: none is looked for */
	char path[4000];
};

#define WORKSPACES_NONE ((struct workspaces){ .dir_fd = -1 })

enum workspace_lock {
	WORKSPACE_SHARED,
	WORKSPACE_ALONE, /* nothing runs, and nobody else is at work in it */
};

struct workspace {
	char id[WORKSPACE_ID_MAX];
	char path[PATH_MAX]; /* of the tree, on the host */
	int dir_fd;          /* what Warder has beside the tree; holds the lock */
	int files_fd;        /* the tree */
	char mended
	    [512]; /* "" or what was moved aside, and where to, since it stood where a directory of the layout belongs */
	int runs_fd; /* holds the lock of the runs, once one was prepared; -1 */
};

#define WORKSPACE_UNOPENED ((struct workspace){ .dir_fd = -1, .files_fd = -1, .runs_fd = -1 })

/* `store` NULL: the default place. */
int workspaces_open(const char *store, struct workspaces *ret, struct warder_error *err);
void workspaces_done(struct workspaces *workspaces);

/* The workspace of that id, the same one each time, locked as shared; "" is "anon". What is missing of its layout (skills, work, runs, out,
 * work/inputs) is made. NULL: a new id. */
int workspace_create(struct workspaces *workspaces, const char *id, struct workspace *ret,
		     struct warder_error *err);
/* One that exists: else NOT_FOUND. wait false: CONFLICT, if it is locked so that it cannot be had now. */
int workspace_open(struct workspaces *workspaces, const char *id, enum workspace_lock lock, bool wait,
		   struct workspace *ret, struct warder_error *err);
void workspace_done(struct workspace *workspace);
/* Remove it. 0; 1: there was none; -1 with *err: CONFLICT while something runs (unless it is to wait), or something cannot be removed: then the
 * workspace is still known, and can be removed again. */
int workspace_remove(struct workspaces *workspaces, const char *id, bool wait, struct warder_error *err);
/* Make one out of a tree that is built by `fill` below a name that nobody sees, and given its id when that has returned 0. CONFLICT: there is
 * one of that id. */
int workspace_build(struct workspaces *workspaces, const char *id,
		    int (*fill)(void *context, struct workspace *workspace, struct warder_error *err),
		    void *context, struct workspace *ret, struct warder_error *err);
/* Call for each id, in order of the ids' file names; a non-zero return ends it and is returned. */
int workspaces_each(struct workspaces *workspaces,
		    int (*call)(void *context, const char *id, const char *path, struct warder_error *err),
		    void *context, struct warder_error *err);

/* ---- metadata.c ---- */
struct workspace_input {
	char *from, *dst, *resolved, *mode, *ts;
	uint64_t version; /* of an artifact; 0: none */
	bool read_only;   /* to be mounted read-only where a jail sees it */
};

struct workspace_skill {
	char *name, *rel_path, *digest, *staged_at;
	bool mounted;
};

struct workspace_metadata {
	char *id, *created_at, *updated_at, *last_access;
	struct workspace_input *inputs;
	size_t input_count;
	struct workspace_skill *skills;
	size_t skill_count;
	char **outputs; /* each a JSON object */
	size_t output_count;
};

#define WORKSPACE_METADATA_MAX ((size_t)4 << 20)
#define WORKSPACE_INPUTS_MAX   1000
#define WORKSPACE_OUTPUTS_MAX  100 /* the latest ones are kept */

/* Decode a document; strict. -1 with *err (INVALID_REQUEST) naming line and fault. */
int workspace_metadata_parse(const char *text, size_t len, struct workspace_metadata *ret,
			     struct warder_error *err);
/* Heap; NULL: no memory. */
char *workspace_metadata_text(const struct workspace_metadata *metadata, size_t *ret_len);
void workspace_metadata_done(struct workspace_metadata *metadata);
int workspace_metadata_load(struct workspace *workspace, struct workspace_metadata *ret,
			    struct warder_error *err);
/* Load, let `change` change it, and save: one at a time. A non-zero return of `change` saves nothing and is returned. */
int workspace_metadata_change(struct workspace *workspace,
			      int (*change)(void *context, struct workspace_metadata *metadata,
					    struct warder_error *err),
			      void *context, struct warder_error *err);
/* Put one in, in place of the one of the same dst or name; the strings are copied. -1 with *err: too many, no memory. */
int workspace_metadata_input(struct workspace_metadata *metadata, const struct workspace_input *input,
			     struct warder_error *err);
int workspace_metadata_skill(struct workspace_metadata *metadata, const struct workspace_skill *skill,
			     struct warder_error *err);
/* Append the text of a JSON object, which is taken (heap). */
int workspace_metadata_output(struct workspace_metadata *metadata, char *output, struct warder_error *err);

/* ---- tree.c: files in the tree ---- */
/* The directory in which a path's last component lies, made (0755) where it is missing if `make`; *ret_name is that component, in
 * `plain`, which has PATH_MAX bytes. An owned descriptor, or -1 with *err. Links on the way are followed as long as they stay beneath.
 * CONFLICT: a read-only input is there, above or below. */
int workspace_parent(struct workspace *workspace, const char *path, bool make, char *plain,
		     const char **ret_name, struct warder_error *err);
/* A directory and all above it; "" and "." are the tree itself. */
int workspace_directory(struct workspace *workspace, const char *path, bool make, struct warder_error *err);
/* A regular file, for reading. */
int workspace_file(struct workspace *workspace, const char *path, struct warder_error *err);
/* Write a file (mode 0: 0644) in place of what is there, at once: who looks sees the old or the new one. What fd gives, to its end. */
int workspace_put(struct workspace *workspace, const char *path, uint32_t mode, int fd,
		  struct warder_error *err);
int workspace_put_bytes(struct workspace *workspace, const char *path, uint32_t mode, const char *bytes,
			size_t len, struct warder_error *err);
/* A file without a name yet, in the workspace but outside its tree. */
int workspace_new_file(struct workspace *workspace, char *name, struct warder_error *err);

struct workspace_item {
	const char *path; /* relative to the tree */
	char type;        /* 'f', 'd', 'l', or 'o' (a pipe, a socket, ...) */
	uint32_t mode;
	uint64_t size;
	int64_t mtime; /* seconds */
};

/* Call for everything below a directory ("" or ".": all), parents first, in order of names; a non-zero return ends it and is
 * returned. Links are told of, not followed. `depth` 1: only what lies in it. *ret_cut: something lay too deep to look at, or could not be read. */
int workspace_list(struct workspace *workspace, const char *path, int depth,
		   int (*call)(void *context, const struct workspace_item *item, struct warder_error *err),
		   void *context, bool *ret_cut, struct warder_error *err);

/* ---- stage.c: inputs ---- */
enum workspace_scheme {
	WORKSPACE_FROM_HOST,
	WORKSPACE_FROM_WORKSPACE,
	WORKSPACE_FROM_ARTIFACT,
	WORKSPACE_FROM_SKILL,
	WORKSPACE_FROM_GIT,
	WORKSPACE_FROM_GIT_HTTPS,
};

struct workspace_source {
	enum workspace_scheme scheme;
	char path[PATH_MAX]; /* of the host; or relative to the tree; or the URL "https://host/path" */
	char endpoint[272];  /* of the URL, as a row of network.allow: "host:443"; or "" */
	struct artifact_reference artifact;
	char branch[256]; /* of git; or "" */
};

/* "host:///abs", "workspace://rel", "artifact://name[@version]", "skill://name/rel", "git+file:///abs[#branch]",
 * "git+https://host[:port]/path[#branch]". -1 with *err (INVALID_REQUEST), naming an unknown scheme. */
int workspace_source_parse(const char *text, struct workspace_source *ret, struct warder_error *err);

struct workspace_input_options {
	const char *from;
	const char *dst; /* NULL: work/inputs/<last component of from> */
	bool link;       /* not copied: what is there is mounted, read-only */
	bool read_only;  /* copied, and mounted read-only */
	bool pin;        /* an artifact without a version: the one that was recorded for the same dst */
};

/* Put an input in its place and record it. CONFLICT: it is, or was, mounted read-only, and a run is on that another one has prepared; of what
 * `workspace` itself has prepared, nothing may run any more. *ret (or NULL) is the record: to be given to workspace_input_done(). */
int workspace_stage(struct workspace *workspace, struct artifacts *artifacts,
		    const struct workspace_input_options *asked, struct workspace_input *ret,
		    struct warder_error *err);
void workspace_input_done(struct workspace_input *input);
/* SHA-256 over "path NUL content NUL" of every file below a directory of the tree, in order of paths. */
int workspace_digest(struct workspace *workspace, const char *path, char *ret, struct warder_error *err);

/* ---- run.c: what a run in it needs ---- */
struct workspace_run {
	const char *inside; /* the directory in the jail where the workspace is; the caller's */
	char *mounts[WORKSPACE_INPUTS_MAX +
		     1]; /* "/host:/workspace/..." for filesystem.paths.readOnly; NULL-terminated */
	char variables[5][PATH_MAX]; /* "WORKSPACE_DIR=/workspace", ... */
	char run_dir[256];           /* relative to the tree: "runs/run_..." */
	char cwd[PATH_MAX];          /* inside */
};

/* Make the run's directory, the working directory (relative to the tree; NULL: the tree itself) and the places of read-only inputs. */
/* session: the name of the session that is started, which has the same RUN_DIR each time; NULL: a run, with a new one. */
/* inside: where the workspace is in the jail; NULL: WORKSPACE_INSIDE. */
int workspace_run_prepare(struct workspace *workspace, const char *inside, const char *cwd,
			  const char *session, struct workspace_run *ret, struct warder_error *err);
void workspace_run_done(struct workspace_run *run);

/* ---- collect.c: outputs ---- */
struct workspace_collect {
	const char *const *globs; /* as the user wrote them: "$OUTPUT_DIR/" and two stars, "out/a.txt" */
	size_t glob_count;
	size_t files_max;                 /* 0: 100 */
	uint64_t file_bytes, total_bytes; /* 0: 4 MiB, 64 MiB */
	bool inlined;                     /* keep what was read */
	struct artifacts *artifacts;      /* save each file as an artifact; NULL: none */
	const char *name_template; /* stands before the file's path in the artifact's name; NULL: nothing */
	bool strict;               /* what is cut off is not saved, and then nothing is */
	int to_fd; /* > 0: a directory into which the files are copied, by their paths; CONFLICT: one is there already */
	/* Told of bytes as they are read; or NULL. */
	void (*on_bytes)(void *context, uint64_t len);
	void *context;
};

struct workspace_output {
	char *path;    /* relative to the tree */
	uint64_t size; /* of the file */
	uint64_t read; /* of it, that was taken */
	uint32_t mode;
	const char *type; /* content type */
	char *bytes;      /* if asked for: `read` bytes and a NUL */
	char *name;       /* of the artifact; NULL: not saved */
	uint64_t version;
	bool truncated;
	const char *why; /* it could not be read; or NULL */
};

struct workspace_outputs {
	struct workspace_output *items;
	size_t count;
	bool limits_hit;
	size_t outside; /* links that matched and were not followed, because they lead out or nowhere */
};

/* In order of paths, each file once. -1 with *err. */
int workspace_collect(struct workspace *workspace, const struct workspace_collect *what,
		      struct workspace_outputs *ret, struct warder_error *err);
void workspace_outputs_done(struct workspace_outputs *outputs);
/* {"files": [...], "limitsHit", "outside"}. */
void workspace_outputs_write(const struct workspace_outputs *outputs, struct json_writer *w);
/* A glob with its "$WORK_DIR" and the like replaced; "" if nothing is left of it. buf has PATH_MAX bytes. */
const char *workspace_glob(const char *glob, char *buf);

/* ---- patch.c ---- */
/* A hunk that git found elsewhere than the patch says. */
struct workspace_moved_hunk {
	unsigned int number; /* in its file, from 1 on */
	long line, offset;   /* where it was found; lines from where it says */
};

struct workspace_patched {
	char *path, *from; /* from: of 'R' and 'C'; else NULL */
	char what;         /* 'A' added, 'M' changed, 'D' removed, 'R' renamed, 'C' copied */
	uint32_t mode;     /* as git knows it (0100644, 0100755, 0120000), if it is new or changed; else 0 */
	struct workspace_moved_hunk *moved;
	size_t moved_count;
};

struct workspace_patch_report {
	struct workspace_patched *files; /* in order of their paths */
	size_t count;
	char **warnings; /* git's */
	size_t warning_count;
};

/* Apply what `git diff` writes to the tree: all of it, or nothing. git does it, in a jail, as `git apply` outside of a repository. `strip`: how
 * many components are taken off the front of names; -1: one, if they are a/... and b/..., else none. *ret is to be given to
 * workspace_patch_report_done(). `check`: change nothing. -1 with *err: INVALID_REQUEST (this is no patch), CONFLICT (the tree is not as
 * the patch says, or was changed meanwhile), UNAVAILABLE (git is not installed, ...). */
int workspace_patch(struct workspace *workspace, const char *text, size_t len, int strip, bool check,
		    struct workspace_patch_report *ret, struct warder_error *err);
void workspace_patch_report_done(struct workspace_patch_report *report);

#endif
