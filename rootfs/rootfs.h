/*
 * rootfs: what the program sees as a file system, decided on the host before anything starts. The door
 * of this folder. Path safety lives here and only here.
 *
 * Life: rootfs_plan() compiles a policy's filesystem part into a list of entries (pure data plus checks
 * of the host paths; `warder explain` stops here) -> rootfs_open() opens every source as a descriptor with
 * openat2 and, where the kernel lets us, as a detached mount tree -> jail/ builds the root from them ->
 * rootfs_done(). After rootfs_open() no host path is resolved again. Host side, any thread.
 */
#ifndef WARDER_ROOTFS_ROOTFS_H
#define WARDER_ROOTFS_ROOTFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/error.h"
#include "policy/policy.h"
#include "rootfs/image.h"

enum rootfs_kind {
	ROOTFS_DIRECTORY, /* an empty directory of the root */
	ROOTFS_SYMLINK,   /* text = link target */
	ROOTFS_FILE,      /* text = content, 0644 */
	ROOTFS_BIND,      /* a host directory or file, mounted */
	ROOTFS_OVERLAY,   /* a part of an overlay: all of it, or one directory or file of its top */
};

struct rootfs_entry {
	enum rootfs_kind kind;
	char *target; /* absolute path inside */
	/* ROOTFS_BIND: canonical host path; ROOTFS_OVERLAY: path in the overlay, "/" or "/usr"; NULL otherwise */
	/* ROOTFS_DIRECTORY: that of a bind that was taken apart, whose content is mounted one by one */
	char *source;
	size_t overlay; /* ROOTFS_OVERLAY: which */
	char *text;     /* ROOTFS_SYMLINK, ROOTFS_FILE */
	bool read_only;
	bool no_exec;
	bool owner_mapped; /* bind whose host owner appears as the jail's user (idmapped where privileged) */
	bool is_directory; /* of a bind's source */
	bool
	    held; /* part of a source that another entry has: mounted on itself so that nobody can move it, or of a bind that was taken apart */
	bool optional;   /* a source that went away between plan and open is left out, not an error */
	uid_t owner_uid; /* host owner of the source, from fstat; of what is held, of the other entry's */
	gid_t owner_gid;
	enum policy_field field; /* policy field that asked for it, POLICY_FIELD_NONE for the host view */
	dev_t source_dev;        /* what the plan saw; another one at open is refused */
	ino_t source_ino;
	int source_fd; /* O_PATH descriptor: of the host view since the plan, of the rest after rootfs_open; else -1 */
};

/* Whose the files of an overlay's layers are in the jail, where they can be mapped (idmapped mounts, as root). */
enum rootfs_owners {
	ROOTFS_OWNERS_IDS,  /* the ids 0 to 65535 of the layers are the jail's */
	ROOTFS_OWNERS_ROOT, /* they have one owner, who is 0 in the jail */
	ROOTFS_OWNERS_USER, /* they have one owner, who is the jail's user */
};

struct rootfs_layer {
	char *source; /* absolute host path of a directory */
	dev_t source_dev;
	ino_t source_ino;
	uid_t owner_uid;
	gid_t owner_gid;
	int source_fd; /* after rootfs_open: O_PATH descriptor; -1 before */
};

/* Layers, and over them a private writable one in the jail's own scratch space. */
struct rootfs_overlay {
	struct rootfs_layer *layers; /* lowest first; never written */
	size_t layer_count;
	enum rootfs_owners owners;
	bool
	    user_xattrs; /* marks of the layers (opaque directories) are user.overlay.*, not trusted.overlay.* */
	enum policy_field field;
};

#define ROOTFS_OVERLAYS_MAX 2 /* an image, and a workspace */

/* A path of the host that the plan has looked at, besides the sources. */
struct rootfs_look {
	char *path;
	bool
	    is_read; /* a link, directory or record whose content the plan has; else what the path leads to */
	bool is_there;
	dev_t dev;
	ino_t ino;
	struct timespec changed; /* st_ctim, of what is read */
};

/*
 * Every parent of a target is itself an entry, or lies beneath a bind. A target beneath a bind is mounted
 * on what the bind's source has there: a directory or file of the same kind, reached without a symlink. It
 * existed when the plan was made; whoever can write to that source can still change it, so the builder
 * resolves it without following links. No file, symlink or empty directory is ever made beneath a bind.
 * An overlay's part counts as a bind in this, but what is missing in it is made where it is written to. A read-only bind that
 * lacks the place is taken apart: the directory becomes one of the root's own, and what lies in it is mounted one by one.
 * Below /tmp nothing is an entry but what is mounted there: the way to it is made when the jail has its /tmp.
 */
struct rootfs {
	struct rootfs_entry *entries; /* sorted by target: a parent's entry comes before its children */
	size_t count;
	char *working_directory; /* absolute, inside */
	uint64_t
	    scratch_bytes; /* size of the one tmpfs that holds /tmp and /dev/shm, and what is written to overlays */
	bool tmp_exec;
	bool whole_proc;        /* /proc is writable, and nothing covers its names: of a zygote */
	unsigned int terminals; /* of /dev/pts; 0: there is none */
	bool whole;             /* the first entry, at "/", is an overlay: the root itself */
	struct rootfs_overlay overlays[ROOTFS_OVERLAYS_MAX];
	size_t overlay_count;
	struct image image;        /* of view image: its layers are locked; all zeros otherwise */
	struct rootfs_look *looks; /* owned */
	size_t look_count;
};

/* Compile. Checks that every named host path exists and is what it must be; resolves it to its canonical
 * path, which is the entry's source. Needs no privilege and changes nothing. -1 with *err: field, value,
 * remedy. */
int rootfs_plan(const struct policy *policy, struct rootfs *ret, struct warder_error *err);
/* Make the overlay of view image the whole root, so that something new can be made at its top; before rootfs_open(). -1 with *err
 * (INVALID_REQUEST): the plan has mounts of the host. */
int rootfs_make_whole(struct rootfs *rootfs, struct warder_error *err);
/* Open the sources: source_fd of every bind and layer, without following any link; owners are read again. An
 * optional source that went away is taken out of the list. -1 with *err: CONFLICT when another object
 * is in a source's place by now. */
int rootfs_open(struct rootfs *rootfs, struct warder_error *err);
/* Whether a new plan of the same policy may differ: a source is another object by now, or something that the plan has read has changed
 * (stale.c). Looks at every source by its name, and changes nothing. */
bool rootfs_is_stale(const struct rootfs *rootfs);
/* Closes and frees; zeroed, half-built and NULL are fine; leaves it zeroed. */
void rootfs_done(struct rootfs *rootfs);

/* ---- a root that is there already: encode.c ---- */
#define ROOTFS_TEXT_BYTES (8u << 20)
/* What an execution that joins a jail has to know of its root, as text (JSON, heap); after rootfs_open(). NULL: no memory. */
char *rootfs_encode(const struct rootfs *rootfs);
/* This text as a plan of that same root, for a policy that differs only in what each execution has of its own. No path of the host is
 * looked at; nothing is to be opened. -1 with *err: of the working directory INVALID_REQUEST, of the text UNAVAILABLE or INVALID_REQUEST. */
int rootfs_decode(const char *text, size_t len, const struct policy *policy, struct rootfs *ret,
		  struct warder_error *err);

/* Mount one more host directory or file, read-only, at `target`, where nothing is yet; after rootfs_plan(), before
 * rootfs_open(). For what a run brings along by itself, not for what a policy asks. -1 with *err. */
int rootfs_add(struct rootfs *rootfs, const char *source, const char *target, struct warder_error *err);

/* Whether a program is to be found at that absolute path inside: a regular file that somebody may execute, in the policy's
 * view or its read-only or read-write paths. Links are followed as the jail would. *ret_stat (or NULL) is the file's. */
bool rootfs_has_program(const struct policy *policy, const char *path, struct stat *ret_stat);
/* The same for a name, in the directories of the jail's PATH; a path is taken as it is. *ret: the path inside. */
bool rootfs_find_program(const struct policy *policy, const char *name, char *ret, size_t size);

/* ---- files in and out: files.c ---- */
#define ROOTFS_FILE_DEPTH_MAX 32

struct rootfs_file {
	const char *path;  /* relative, path_check_relative() */
	const char *bytes; /* NULL: a directory */
	size_t len;
	uint32_t mode; /* permission bits; 0: 0644 */
};

/* Write files below dir_fd (O_PATH will do), making the directories between with mode 0755; all of it becomes uid's and
 * gid's ((uid_t)-1: stays the caller's). No link is followed; what exists already is a CONFLICT. -1 with *err: REJECTED (leads
 * out), UNAVAILABLE (no space), the file named. */
int rootfs_put_files(int dir_fd, const struct rootfs_file *files, size_t count, uid_t uid, gid_t gid,
		     struct warder_error *err);

/* What to take, and at most how much. */
struct rootfs_collect {
	const char *directory; /* relative to dir_fd; paths are told relative to it */
	const char *const *
	    patterns; /* a file is taken if one matches; none: all but hidden ones, __pycache__, *.pyc and *.tmp */
	size_t pattern_count;
	const struct rootfs_file
	    *unchanged; /* as they were put (paths relative to dir_fd); what is still the same is left out */
	size_t unchanged_count;
	size_t files_max;
	uint64_t file_bytes;   /* of one file, kept inline or saved */
	uint64_t total_bytes;  /* of all */
	uint64_t inline_bytes; /* larger files are saved, not kept inline; 0: all of them */
	int save_fd; /* directory to save into, by the same relative path; -1: larger files are only told of */
	bool hold;   /* instead of save_fd: larger files are held open for the caller to read */
	bool whole;  /* hidden files are taken too, and what is no file (a link, a pipe) is told of */
};

enum rootfs_taken {
	ROOTFS_TAKEN_INLINE,
	ROOTFS_TAKEN_SAVED,
	ROOTFS_TAKEN_HELD, /* open in fd */
	ROOTFS_TAKEN_NOT,  /* only told of */
};

struct rootfs_item {
	char *path;    /* relative to the collected directory */
	uint64_t size; /* of the file */
	uint32_t mode; /* permission bits */
	enum rootfs_taken taken;
	char *bytes;     /* ROOTFS_TAKEN_INLINE: size bytes and a NUL */
	int fd;          /* ROOTFS_TAKEN_HELD: at the file's beginning, for reading; else 0 */
	const char *why; /* ROOTFS_TAKEN_NOT: why not, for people */
};

struct rootfs_collection {
	struct rootfs_item *items; /* in order of their paths, bytewise */
	size_t count;
	bool limits_hit; /* something was left out, or not taken, because of a limit */
	char fault[120]; /* "" or why the collection is not whole */
};

/* Take regular files out of a directory in which nobody is at work any more. No link is followed, no other file system
 * entered, nothing that is no regular file opened. The directory may be missing. Does not fail: what could not be taken is told in
 * *ret, which is to be given to rootfs_collection_done(). */
void rootfs_collect(int dir_fd, const struct rootfs_collect *what, struct rootfs_collection *ret);
/* Whether a regular file of `size` bytes or more lies below dir_fd, as far as the first few thousand entries show. While nobody else is at
 * work in there. */
bool rootfs_has_file_of(int dir_fd, uint64_t size);
void rootfs_collection_done(struct rootfs_collection *collection);
/* Whether a relative path matches a pattern: "*" and "?" do not match '/', "**" as a whole component matches any number of
 * components, [a-z] as in fnmatch(3). A leading dot is matched only by one in the pattern. Linear in path times pattern. */
bool rootfs_match(const char *pattern, const char *path);
/* The same, but a leading dot is matched as any other character. */
bool rootfs_match_all(const char *pattern, const char *path);
/* Whether something below the directory `path` may match in that way. */
bool rootfs_match_below(const char *pattern, const char *path);

/* ---- directories of Warder's own on the host: private_dir.c ---- */
#define ROOTFS_PRIVATE_DIR_MAX 4000 /* bytes of a path, so that names fit behind it */
#define ROOTFS_TREE_MAX        512  /* levels below one */

/* Open a directory for reading that only the caller can reach (mode 0700), making what is missing of it; path has room for
 * ROOTFS_PRIVATE_DIR_MAX bytes, is absolute, and is canonical afterwards. Every part of the way is looked at, links included: nobody else
 * than root and the caller may be able to put something in its place. One of another mode is taken if it is empty. Returns the descriptor (the caller's), or -1 with *err
 * (UNAVAILABLE, that field). */
int rootfs_open_private_dir(char *path, const char *field, struct warder_error *err);
/* The same for one that is there; nothing is made, and no mode changed. */
int rootfs_find_private_dir(char *path, const char *field, struct warder_error *err);
/* Where the store is: `named`, or $WARDER_STORE, or /var/lib/warder for root, or $XDG_DATA_HOME/warder, or
 * $HOME/.local/share/warder; then "/" and `part` ("images"; "" for itself). path has ROOTFS_PRIVATE_DIR_MAX bytes. 0; -1 with *err
 * (INVALID_REQUEST): not absolute, too long, or there is no HOME. */
int rootfs_store_path(const char *named, const char *part, char *path, struct warder_error *err);
/* Remove a file or directory, a name in parent_fd, with all that is in it, without following a link or entering a mount; what is ours may deny us its
 * content by its mode. 0; -1 with errno: something is left. */
int rootfs_remove_tree(int parent_fd, const char *name);
/* Bytes that a file or directory takes on its disk, with all that is in it; what cannot be read counts nothing. */
uint64_t rootfs_tree_bytes(int parent_fd, const char *name);

/* ---- path safety: path.c ---- */
/* Lexical check of a path relative to a workspace: not empty or blank, no leading '/' or '\\', no drive
 * letter, no NUL within len, shorter than PATH_MAX, never above its root at any point ("a/../../x" is
 * refused, "a/b/.." is fine), not the root itself ("."). 0; -1 with *err (INVALID_REQUEST) naming the
 * path. It protects nothing by itself: open the path with one of the functions below. */
int path_check_relative(const char *path, size_t len, struct warder_error *err);
/* A relative path that path_check_relative() has accepted, without ".", ".." and doubled slashes. Returns out, which is as large as
 * the path. Where no link is followed, this is what the path leads to. */
char *path_plain(const char *path, char *out);
/* Normalise an absolute path lexically ("/a/./b//c" -> "/a/b/c"); refuses "..", relative and blank
 * paths. *ret is heap. */
int path_normalise(const char *path, char **ret, struct warder_error *err);
/* Open `path` beneath dir_fd with openat2(RESOLVE_BENEATH|RESOLVE_NO_MAGICLINKS); ordinary symlinks
 * that stay beneath work. flags as open(2), without O_CREAT; O_CLOEXEC is added. What is opened may be a FIFO or a
 * device: O_NONBLOCK and fstat are the caller's. Returns the descriptor (owned by the caller), or -1 with *err and sys_errno: REJECTED when
 * the path leads out, NOT_FOUND, CONFLICT (exists already), ... */
int path_open_beneath(int dir_fd, const char *path, uint64_t flags, struct warder_error *err);
/* As path_open_beneath, in a directory that is the root of a jail: RESOLVE_IN_ROOT, so that absolute links and ".." stay in it, and an
 * absolute path begins there. -1 with *err and sys_errno. */
int path_open_in_root(int root_fd, const char *path, uint64_t flags, struct warder_error *err);
/* As path_open_beneath, but no symlink at all in any component (what must be the file that was named). */
int path_open_no_links(int dir_fd, const char *path, uint64_t flags, struct warder_error *err);

#endif
