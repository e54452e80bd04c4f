/*
 * mountinfo: a mount table as the kernel writes it (proc_pid_mountinfo(5)), as text in, fields out.
 *
 * Life: mountinfo_read() -> mountinfo_cut() line by line -> mountinfo_parse() -> mountinfo_path() of what is needed.
 * The fields point into the text, which is not changed. Parts of it are chosen by others (mount points, roots, sources),
 * so that nothing trusts a length, a separator or a terminator. Pure but for the reading; any thread.
 */
#ifndef WARDER_BASE_MOUNTINFO_H
#define WARDER_BASE_MOUNTINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* A piece of the text, not NUL-terminated. */
struct mountinfo_text {
	const char *at;
	size_t len;
};

struct mountinfo {
	struct mountinfo_text device;  /* of the file system: "8:1" */
	struct mountinfo_text root;    /* what of the file system is mounted; escaped */
	struct mountinfo_text point;   /* where; escaped */
	struct mountinfo_text options; /* of this mount: "ro,nosuid" */
	struct mountinfo_text type;    /* "ext4" */
	struct mountinfo_text super;   /* options of the file system; may be empty */
	bool linked;                   /* shared or slave: mounts made elsewhere appear beneath it */
};

/* Read the file to its end, relative to dir_fd: into the `size` bytes (at least 2) at `buf` if it fits there, else, or if buf
 * is NULL, into heap memory. Returns buf or the heap memory, which the caller frees (`if (text != buf)`), NUL-terminated
 * after *ret_len bytes; NULL with errno. */
char *mountinfo_read(int dir_fd, const char *path, char *buf, size_t size, size_t *ret_len);

/* Cut the next line off *text. False when nothing is left. */
bool mountinfo_cut(struct mountinfo_text *text, struct mountinfo_text *ret_line);
/* One line, without its newline. False, and *ret as before, if it is none of a mount table. */
bool mountinfo_parse(struct mountinfo_text line, struct mountinfo *ret);
/* A root or mount point with its escapes (\040) decoded, NUL-terminated. False if it is no absolute path, holds a NUL or
 * a broken escape, or does not fit. */
bool mountinfo_path(struct mountinfo_text field, char *ret, size_t size);
/* Cut the first one off a list of options; false when none is left. */
bool mountinfo_option(struct mountinfo_text *options, struct mountinfo_text *ret);
/* Whether the field is this word. Inline: of a constant word, the compiler knows the length. */
static inline bool mountinfo_is(struct mountinfo_text field, const char *word)
{
	const size_t len = strlen(word);

	return field.len == len && (len == 0 || memcmp(field.at, word, len) == 0);
}

/* Whether a list of options holds it. */
bool mountinfo_has(struct mountinfo_text options, const char *word);

#endif
