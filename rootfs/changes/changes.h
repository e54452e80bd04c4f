/*
 * changes: what a run wrote over a directory of the host, as a list that can be looked at, kept, and carried out. Part of the door
 * rootfs.h.
 *
 * Life: changes_read() of an overlay's upper directory when every process of the jail is gone -> changes_encode() into text, with
 * the contents of new and changed files beside it -> later, perhaps in another process: changes_decode(), changes_commit() ->
 * changes_done(). What this text says is judged again where it is carried out. Host side, any thread.
 *
 * A change is of one path. Removed directories are listed with all that was in them; where a file has become a directory, or the
 * other way round, the path is removed and added. Modification times are kept, a run of zeros is written as a hole. Not kept: extended attributes,
 * sockets, pipes, and that two names are one file. A file whose content, mode and type are as before is not listed, whatever was done to it.
 */
#ifndef WARDER_ROOTFS_CHANGES_CHANGES_H
#define WARDER_ROOTFS_CHANGES_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/json.h"
#include "rootfs/changes/changes.h"
#include "base/sha256.h"

#define CHANGES_MAX        100000 /* of a set */
#define CHANGES_DEPTH_MAX  128
#define CHANGES_TEXT_BYTES (256u << 20)

enum change_kind {
	CHANGE_ADDED,
	CHANGE_CHANGED,
	CHANGE_REMOVED,
};

enum change_type {
	CHANGE_FILE,
	CHANGE_DIRECTORY,
	CHANGE_SYMLINK,
	CHANGE_OTHER, /* a socket or a pipe: told of, not kept */
};

/* What the original was when the run had ended; compared before anything is done to it. */
struct change_original {
	uint64_t inode, size;
	int64_t modified_ns, changed_ns;
	uint32_t mode; /* with the type */
	bool moved;    /* it changed on the host while the run went on */
};

struct changes_item {
	char *path; /* relative, without ".", ".." and links on the way */
	enum change_kind kind;
	enum change_type type; /* of what is there now; of what is removed, what was */
	uint32_t mode;         /* permission bits */
	uint64_t size;
	char sha256[SHA256_HEX]; /* CHANGE_FILE, but for removed ones; else "" */
	char *target;            /* CHANGE_SYMLINK: its text */
	bool replaced;           /* a directory: another one in the place of what was there */
	bool linked;             /* the file has more names; each is a file of its own here */
	bool attributes;         /* has extended attributes, which are not kept */
	uint64_t saved;          /* number of its content among the saved ones, from 1 on; 0: not saved */
	bool existed;
	struct change_original was;
};

/* The modification time of a link or a directory that is new or in which something has changed. That of a file is the time of its saved
 * content. */
struct changes_time {
	char *path; /* "." is the directory of the set */
	int64_t modified_ns;
	bool existed;   /* a directory that the host has, too */
	int64_t was_ns; /* its time there when the run had ended */
};

struct changes {
	char *directory;            /* of the host, absolute; what it is a set of changes to. Or NULL */
	struct changes_item *items; /* in the order of their paths, a directory before what is in it */
	size_t count;
	struct changes_time *times; /* in the order of their paths */
	size_t time_count;
	uint64_t saved;  /* contents */
	char fault[160]; /* "" or why it is not whole: then it cannot be committed */
};

struct changes_source {
	int upper_fd; /* the upper directory, O_PATH will do */
	int lower_fd; /* the directory it lies over */
	bool
	    user_xattrs; /* marks are user.overlay.*, else trusted.overlay.*; the other ones are the program's own */
	int64_t started_ns; /* realtime clock before the launch */
	int save_fd;        /* directory for the contents; -1: they are not kept */
};

/* Never fails: see `fault`. For a jail that is gone: what cannot be read there is made readable. */
void changes_read(const struct changes_source *source, struct changes *ret);
void changes_done(struct changes *changes);

/* The text. */
char *changes_encode(const struct changes *changes); /* heap; NULL: no memory */
/* An array of the changes, for people and programs; without what only a commit needs. */
void changes_write(const struct changes *changes, struct json_writer *w);
/* Strict. -1 with *err. */
int changes_decode(const char *text, size_t len, const char *origin, struct changes *ret,
		   struct warder_error *err);

struct changes_selection {
	const char *const *patterns; /* as of rootfs_match(), or the path of a directory above; NULL: all */
	size_t count;
	bool force; /* also what changed on the host meanwhile */
};

bool changes_selects(const struct changes_selection *selection, const struct changes_item *change);
/* Carry out what is selected on the directory, each file by itself whole or not at all, and safe on the disk when it returns. Nothing
 * is done if one of them is not as it was when the run ended: CONFLICT naming it. Parents that are missing are made if they are
 * part of the set. What is new belongs to the directory's owner. A directory in which something was done gets its time of the set, unless it
 * has changed on the host since, or the caller may not set it. *ret_done counts what was done, not what was so already. -1 with *err; what was done by then stays. */
int changes_commit(const struct changes *changes, const struct changes_selection *selection, int directory_fd,
		   int saved_fd, size_t *ret_done, struct warder_error *err);
/* The name of a saved content, relative to the directory of the contents. */
char *changes_saved_name(uint64_t number, char ret[static 24]);

/* ---- upper_copy.c ---- */
struct upper_copy {
	int upper_fd;
	int to_fd; /* an empty directory */
	uint32_t
	    id_base; /* host id of the jail's id 0; what does not lie in the 65536 from there on becomes 0 */
	bool keep_owners; /* give the copies the jail's ids; else all is the caller's */
	bool user_xattrs; /* marks are user.overlay.*, else trusted.overlay.* */
};

/* Copy an upper directory as a layer of an image: modes, times, links, hard links, extended attributes that begin with "user.", whiteouts
 * and marks of opaque directories as they are. Left out: sockets, and at the top the jail's own places. *ret_files, *ret_bytes
 * count. -1 with *err. */
int upper_copy(const struct upper_copy *copy, uint64_t *ret_files, uint64_t *ret_bytes,
	       struct warder_error *err);

#endif
