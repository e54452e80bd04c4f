/*
 * On the disk: content/<64 hex>, a piece; content/.new-<hex>/<64 hex>, a piece of somebody who has not committed yet. He holds
 * a shared flock(2) of content/, so that whoever gets it alone knows that every ".new-" directory is of the dead.
 *
 * A piece is not brought to the disk when it is written: a tree of small files would wait for the disk once for each. One
 * syncfs(2) does it for all before any of them gets its name. A name therefore never stands for less than its
 * bytes, also after a power cut.
 */
#include "store/blobs/blobs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/file.h"
#include "rootfs/rootfs.h"
#include "store/store.h"

static const char field[] = "store";
static const char staged_prefix[] = ".new-";

static int failed(const char *what, struct warder_error *err)
{
	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, errno, "%s", what);
}

/* Whether a text is 64 hexadecimal digits in lower case. */
static bool blobs_is_digest(const char *text)
{
	return strlen(text) == SHA256_HEX - 1 && strspn(text, "0123456789abcdef") == SHA256_HEX - 1;
}

/* ---- life ---- */

/* Alone here: whoever has begun something has died. */
static void remove_dead(int dir_fd)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *item;

	if (!dir) {
		fd_done(&fd);
		return;
	}
	while ((item = readdir(dir)) != NULL) {
		if (strncmp(item->d_name, staged_prefix, sizeof(staged_prefix) - 1) == 0)
			rootfs_remove_tree(dir_fd, item->d_name);
	}
	closedir(dir);
}

#define SWEEP_WAIT_US UINT64_C(30000000)

/*
 * Writers share the lock of the content, and without more a sweep, which needs it alone, would never get it while one writer follows
 * another. So whoever wants the lock first passes the gate, a lock that is held only on the way in: a sweep keeps it closed while it
 * waits for those who write now, and those who come later wait behind it.
 */
static int pass_gate(int parent_fd, struct warder_error *err)
{
	owned_fd int gate_fd =
	    openat(parent_fd, "content.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (gate_fd < 0 || file_lock(gate_fd, LOCK_EX) != 0)
		return failed("the content cannot be locked", err);
	return fd_take(&gate_fd);
}

/* 0; 1: another process writes for too long; -1 with errno. */
static int lock_for_a_while(int fd)
{
	for (uint64_t end = clock_us() + SWEEP_WAIT_US;;) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -1;
		if (clock_us() >= end)
			return 1;
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
}

int blobs_open(int parent_fd, enum blobs_lock lock, struct blobs *ret, struct warder_error *err)
{
	owned_fd int gate_fd = -1;
	owned_fd int fd = -1;
	int status;

	if (mkdirat(parent_fd, "content", 0700) != 0 && errno != EEXIST)
		return failed("the directory of the content cannot be made", err);
	fd = openat(parent_fd, "content", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return failed("the directory of the content cannot be opened", err);
	if (lock != BLOBS_READ) {
		gate_fd = pass_gate(parent_fd, err);
		if (gate_fd < 0)
			return -1;
	}
	status = lock == BLOBS_SWEEP             ? lock_for_a_while(fd)
		 : lock == BLOBS_SWEEP_PATIENTLY ? file_lock(fd, LOCK_EX)
						 : 0;
	if (status != 0)
		return status > 0 ? 1 : failed("the content cannot be locked", err);
	if (lock == BLOBS_WRITE) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			remove_dead(fd);
		if (file_lock(fd, LOCK_SH) != 0)
			return failed("the content cannot be locked", err);
	}
	*ret = BLOBS_NONE;
	ret->dir_fd = fd_take(&fd);
	return 0;
}

void blobs_done(struct blobs *blobs)
{
	if (blobs->staged_fd >= 0)
		rootfs_remove_tree(blobs->dir_fd, blobs->staged);
	fd_done(&blobs->staged_fd);
	fd_done(&blobs->dir_fd);
	free(blobs->piece);
	blobs->piece = NULL;
}

/* ---- in ---- */

static int begin(struct blobs *blobs, struct warder_error *err)
{
	if (!blobs->piece)
		blobs->piece = malloc(BLOBS_PIECE);
	if (!blobs->piece)
		return error_no_memory(err, NULL);
	if (blobs->staged_fd >= 0)
		return 0;
	store_new_name(staged_prefix, blobs->staged);
	if (mkdirat(blobs->dir_fd, blobs->staged, 0700) != 0)
		return failed("a directory for new content cannot be made", err);
	blobs->staged_fd =
	    openat(blobs->dir_fd, blobs->staged, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return blobs->staged_fd >= 0 ? 0 : failed("a directory for new content cannot be opened", err);
}

static bool is_there(int dir_fd, const char *digest, size_t len)
{
	struct stat st;

	return fstatat(dir_fd, digest, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
	       (uint64_t)st.st_size == len;
}

static int put_piece(struct blobs *blobs, const char *bytes, size_t len, const char *digest,
		     struct warder_error *err)
{
	owned_fd int fd = -1;

	if (is_there(blobs->dir_fd, digest, len) || is_there(blobs->staged_fd, digest, len))
		return 0;
	fd = openat(blobs->staged_fd, digest, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0400);
	if (fd < 0 || file_write_all(fd, bytes, len) != 0)
		return failed("content cannot be written", err);
	return 0;
}

static bool is_zero(const char *bytes, size_t len)
{
	return bytes[0] == 0 && memcmp(bytes, bytes + 1, len - 1) == 0;
}

static int add_piece(struct blobs *blobs, const char *bytes, size_t len, struct blobs_content *content,
		     struct warder_error *err)
{
	char(*grown)[SHA256_HEX] = content->pieces;
	struct sha256 sha;

	if ((content->count & (content->count - 1)) == 0) /* 0, 1, 2, 4, ... are full */
		grown = reallocarray(content->pieces, content->count ? 2 * content->count : 1, SHA256_HEX);
	if (!grown)
		return error_no_memory(err, NULL);
	content->pieces = grown;
	grown[content->count][0] = '\0';
	if (!is_zero(bytes, len)) {
		sha256_init(&sha);
		sha256_add(&sha, bytes, len);
		sha256_hex(&sha, grown[content->count]);
		if (put_piece(blobs, bytes, len, grown[content->count], err) != 0)
			return -1;
	}
	content->count++;
	content->size += len;
	if (blobs->on_bytes)
		blobs->on_bytes(blobs->context, len);
	return 0;
}

static int put_all(struct blobs *blobs, int fd, uint64_t most, struct blobs_content *content, bool *ret_more,
		   struct warder_error *err)
{
	struct sha256 sha;
	char one;
	ssize_t n;

	sha256_init(&sha);
	do {
		const uint64_t left = most - content->size;

		n = file_read_up_to(fd, blobs->piece, left < BLOBS_PIECE ? (size_t)left : BLOBS_PIECE);
		if (n < 0)
			return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, errno,
					       "a file cannot be read to its end");
		if (n == 0)
			break;
		sha256_add(&sha, blobs->piece, (size_t)n);
		if (add_piece(blobs, blobs->piece, (size_t)n, content, err) != 0)
			return -1;
	} while ((size_t)n == BLOBS_PIECE && content->size < most);
	sha256_hex(&sha, content->digest);
	*ret_more = content->size == most && file_read_up_to(fd, &one, 1) != 0;
	return 0;
}

int blobs_put_fd(struct blobs *blobs, int fd, uint64_t most, struct blobs_content *ret, bool *ret_more,
		 struct warder_error *err)
{
	struct blobs_content content = { 0 };

	if (begin(blobs, err) != 0)
		return -1;
	if (put_all(blobs, fd, most, &content, ret_more, err) != 0) {
		blobs_content_done(&content);
		return -1;
	}
	*ret = content;
	return 0;
}

int blobs_put_bytes(struct blobs *blobs, const char *bytes, size_t len, struct blobs_content *ret,
		    struct warder_error *err)
{
	struct blobs_content content = { 0 };
	struct sha256 sha;

	if (begin(blobs, err) != 0)
		return -1;
	sha256_init(&sha);
	sha256_add(&sha, bytes, len);
	sha256_hex(&sha, content.digest);
	for (size_t at = 0; at < len; at += BLOBS_PIECE) {
		const size_t n = len - at < BLOBS_PIECE ? len - at : BLOBS_PIECE;

		if (add_piece(blobs, bytes + at, n, &content, err) != 0) {
			blobs_content_done(&content);
			return -1;
		}
	}
	*ret = content;
	return 0;
}

/* Name those that one walk over the directory finds: how many, or -1 with errno. */
static int name_found(struct blobs *blobs)
{
	int fd = openat(blobs->dir_fd, blobs->staged, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *item;
	int named = 0;

	if (!dir) {
		fd_done(&fd);
		return -1;
	}
	while (named >= 0 && (item = readdir(dir)) != NULL) {
		if (!blobs_is_digest(item->d_name))
			continue;
		if (renameat(dirfd(dir), item->d_name, blobs->dir_fd, item->d_name) == 0)
			named++;
		else
			named = -1;
	}
	closedir(dir);
	return named;
}

/* Until none is found: a walk need not see everything in a directory that changes meanwhile. */
static int name_pieces(struct blobs *blobs)
{
	int named;

	do
		named = name_found(blobs);
	while (named > 0);
	return named;
}

int blobs_commit(struct blobs *blobs, struct warder_error *err)
{
	if (blobs->staged_fd < 0)
		return 0;
	if (syncfs(blobs->staged_fd) != 0 || name_pieces(blobs) != 0 || fsync(blobs->dir_fd) != 0)
		return failed("new content cannot be brought to the disk", err);
	rootfs_remove_tree(blobs->dir_fd, blobs->staged);
	fd_done(&blobs->staged_fd);
	return 0;
}

void blobs_content_done(struct blobs_content *content)
{
	free(content->pieces);
	*content = (struct blobs_content){ 0 };
}

/* ---- out ---- */

static int damaged(const char *digest, const char *why, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_INTERNAL, field, "the content %.16s... %s: the store is damaged",
			 digest, why);
}

/* The piece's bytes in blobs->piece. */
static int read_verified(struct blobs *blobs, const char *digest, size_t len, struct warder_error *err)
{
	owned_fd int fd = -1;
	char found[SHA256_HEX];
	struct sha256 sha;
	char more;

	if (!*digest) {
		memset(blobs->piece, 0, len);
		return 0;
	}
	fd = openat(blobs->dir_fd, digest, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return damaged(digest, errno == ENOENT ? "is missing" : "cannot be opened", err);
	if (file_read_up_to(fd, blobs->piece, len) != (ssize_t)len || file_read_up_to(fd, &more, 1) != 0)
		return damaged(digest, "has another length", err);
	sha256_init(&sha);
	sha256_add(&sha, blobs->piece, len);
	sha256_hex(&sha, found);
	return strcmp(found, digest) == 0 ? 0 : damaged(digest, "has other bytes", err);
}

static int write_piece(int to_fd, const char *bytes, size_t len, bool hole)
{
	/* Where everything goes to the end, a hole would be lost. */
	if (hole && !(fcntl(to_fd, F_GETFL) & O_APPEND) && lseek(to_fd, (off_t)len, SEEK_CUR) >= 0)
		return 0;
	return file_write_all(to_fd, bytes, len);
}

/* A hole at the end is one only if the file is as long. */
static int end_file(int to_fd, const struct blobs_content *content)
{
	const bool hole = content->count && !content->pieces[content->count - 1][0];
	const off_t at = hole ? lseek(to_fd, 0, SEEK_CUR) : -1;
	struct stat st;

	if (at < 0 || fstat(to_fd, &st) != 0 || st.st_size >= at)
		return 0;
	return ftruncate(to_fd, at);
}

int blobs_get(struct blobs *blobs, const struct blobs_content *content, int to_fd, struct warder_error *err)
{
	uint64_t left = content->size;

	if (!blobs->piece)
		blobs->piece = malloc(BLOBS_PIECE);
	if (!blobs->piece)
		return error_no_memory(err, NULL);
	for (size_t i = 0; i < content->count; i++) {
		const size_t len = left < BLOBS_PIECE ? (size_t)left : BLOBS_PIECE;
		const char *digest = content->pieces[i];

		if (read_verified(blobs, digest, len, err) != 0)
			return -1;
		if (to_fd >= 0 && write_piece(to_fd, blobs->piece, len, !*digest) != 0)
			return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
					       "content cannot be written");
		left -= len;
		if (blobs->on_bytes)
			blobs->on_bytes(blobs->context, len);
	}
	if (to_fd >= 0 && end_file(to_fd, content) != 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
				       "content cannot be written");
	return 0;
}

/* ---- as JSON ---- */

void blobs_content_write(const struct blobs_content *content, struct json_writer *w)
{
	json_key_uint(w, "size", content->size);
	json_key_string(w, "sha256", content->digest);
	json_key(w, "pieces");
	json_begin_array(w);
	for (size_t i = 0; i < content->count; i++)
		json_string(w, content->pieces[i]);
	json_end_array(w);
}

static int refuse_content(const char *why, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, field, "content in a record %s", why);
}

static int read_pieces(const struct json_value *array, struct blobs_content *content,
		       struct warder_error *err)
{
	const uint64_t expected = content->size / BLOBS_PIECE + (content->size % BLOBS_PIECE != 0);
	size_t count = 0;

	for (const struct json_value *item = array->child; item; item = item->next) {
		if (item->type != JSON_STRING || (*item->string && !blobs_is_digest(item->string)))
			return refuse_content("has a piece that is not a digest", err);
		count++;
	}
	if (count != expected)
		return refuse_content("has not as many pieces as its size asks for", err);
	content->pieces = count ? calloc(count, SHA256_HEX) : NULL;
	if (count && !content->pieces)
		return error_no_memory(err, NULL);
	for (const struct json_value *item = array->child; item; item = item->next)
		memcpy(content->pieces[content->count++], item->string, strlen(item->string) + 1);
	return 0;
}

int blobs_content_read(const struct json_value *object, struct blobs_content *ret, struct warder_error *err)
{
	const struct json_value *size = json_member(object, "size"), *digest = json_member(object, "sha256");
	const struct json_value *pieces = json_member(object, "pieces");
	struct blobs_content content = { 0 };

	if (!size || !size->is_uint || size->uint > INT64_MAX)
		return refuse_content("has no size", err);
	if (!digest || digest->type != JSON_STRING || !blobs_is_digest(digest->string))
		return refuse_content("has no sha256", err);
	if (!pieces || pieces->type != JSON_ARRAY)
		return refuse_content("has no pieces", err);
	content.size = size->uint;
	memcpy(content.digest, digest->string, SHA256_HEX);
	if (read_pieces(pieces, &content, err) != 0) {
		blobs_content_done(&content);
		return -1;
	}
	*ret = content;
	return 0;
}

/* ---- sweeping ---- */

static void unhex(const char *digest, unsigned char *to)
{
	for (size_t i = 0; i < 32; i++) {
		const char high = digest[2 * i], low = digest[2 * i + 1];

		to[i] = (unsigned char)((high <= '9' ? high - '0' : high - 'a' + 10) << 4 |
					(low <= '9' ? low - '0' : low - 'a' + 10));
	}
}

int blobs_set_add(struct blobs_set *set, const struct blobs_content *content, struct warder_error *err)
{
	for (size_t i = 0; i < content->count; i++) {
		if (!content->pieces[i][0])
			continue;
		if (set->count == set->capacity) {
			const size_t capacity = set->capacity ? 2 * set->capacity : 256;
			unsigned char(*grown)[32] = reallocarray(set->items, capacity, 32);

			if (!grown)
				return error_no_memory(err, NULL);
			set->items = grown;
			set->capacity = capacity;
		}
		unhex(content->pieces[i], set->items[set->count++]);
	}
	set->sorted = false;
	return 0;
}

void blobs_set_done(struct blobs_set *set)
{
	free(set->items);
	*set = (struct blobs_set){ 0 };
}

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, 32);
}

static bool set_has(struct blobs_set *set, const char *digest)
{
	unsigned char key[32];

	if (!set->sorted && set->count)
		qsort(set->items, set->count, 32, by_bytes);
	set->sorted = true;
	unhex(digest, key);
	return set->count && bsearch(key, set->items, set->count, 32, by_bytes);
}

int blobs_sweep(struct blobs *blobs, struct blobs_set *used, struct warder_error *err)
{
	int fd = openat(blobs->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *item;

	if (!dir) {
		fd_done(&fd);
		return failed("the content cannot be listed", err);
	}
	while ((item = readdir(dir)) != NULL) {
		if (blobs_is_digest(item->d_name) && !set_has(used, item->d_name))
			unlinkat(blobs->dir_fd, item->d_name, 0);
	}
	closedir(dir);
	remove_dead(blobs->dir_fd);
	return 0;
}
