/*
 * cache: what was built, by the digest of all that it was built from. Private to code/.
 *
 * A cache is a directory of the caller's own, "built" below the one that he names; an entry is a directory in it, named by the key, with the files that a build
 * left. Life: cache_open() -> cache_claim(): found, or ours to build -> fill entry.fd -> cache_commit() -> use
 * entry.path -> cache_release(). Several processes and threads may use one directory: who comes second for a key waits until
 * the first has built it or given up. An entry in use is locked (flock), and is not removed to make room.
 * A build whose process died leaves a directory that the next commit removes.
 */
#ifndef WARDER_RUNTIME_CODE_CACHE_H
#define WARDER_RUNTIME_CODE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "rootfs/rootfs.h"

#define CACHE_BYTES_DEFAULT (512ull << 20)

struct cache {
	char path[ROOTFS_PRIVATE_DIR_MAX];
	int dir_fd;         /* -1: closed */
	uint64_t bytes_max; /* of all entries together; the newest stays even if it alone is larger */
	uint64_t wait_us;   /* the longest that somebody else's build is waited for; 0: for ever */
	int (*should_stop)(void *context); /* asked while it is waited for; non-zero: no more. Or NULL */
	void *context;
};

struct cache_entry {
	char path[4096]; /* of the entry's directory, absolute; "" without one */
	char name[96];
	int fd;      /* the directory, locked; -1: none */
	int lock_fd; /* while it is ours to build; else -1 */
	bool built;  /* its files are there */
	bool kept;   /* in the cache; else it goes with its release */
};

#define CACHE_NONE ((struct cache){ .dir_fd = -1 })
#define ENTRY_NONE ((struct cache_entry){ .fd = -1, .lock_fd = -1 })

/* `path` NULL: /var/cache/warder for root, else $XDG_CACHE_HOME/warder or $HOME/.cache/warder. It is made if it is missing. -1
 * with *err: it cannot be made, or it or a directory or link on the way to it is such that somebody else than root and the
 * caller may put something in its place. */
int cache_open(const char *path, uint64_t bytes_max, struct cache *ret, struct warder_error *err);
void cache_done(struct cache *cache);

/* Find the entry, or take over its building (ret->built tells); waits while somebody else builds it (TIMEOUT; EXECUTION_FAILED when told to stop). `key`: SHA256_HEX
 * characters; NULL: an entry that is never found and goes with its release. To be given to cache_release(). -1 with *err. */
int cache_claim(struct cache *cache, const char *key, struct cache_entry *ret, struct warder_error *err);
/* The files are whole: from now on others find it. Makes room. -1 with *err. */
int cache_commit(struct cache *cache, struct cache_entry *entry, struct warder_error *err);
/* Let go of it; what was not committed is removed. */
void cache_release(struct cache *cache, struct cache_entry *entry);

#endif
