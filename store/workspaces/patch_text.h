/*
 * patch_text: unified diffs, as text: what is to be changed, and a file's content changed so. Private to workspaces/; pure, any thread.
 *
 * Life: patch_parse() -> patch_apply() for each file -> patch_done(). Strict: hunks stand exactly where they say and find exactly what they
 * say, counts are right, and what is no part of a patch is refused. Linear in the patch and in the files. Not taken: renames, copies,
 * binary patches.
 */
#ifndef WARDER_STORE_WORKSPACES_PATCH_TEXT_H
#define WARDER_STORE_WORKSPACES_PATCH_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define PATCH_MAX       ((size_t)16 << 20) /* bytes of a patch, and of a file that is patched */
#define PATCH_LINES_MAX 1000000
#define PATCH_FILES_MAX 10000

struct patch_line {
	const char *text; /* into the patch, with the sign first; no newline */
	size_t len;
	bool no_newline; /* what the line stands for ends without one */
};

struct patch_hunk {
	size_t old_start, old_count, new_start, new_count;
	size_t first, count; /* lines of the patch */
	size_t line;         /* of its @@, from 1 on */
};

struct patch_file {
	char *path; /* relative; checked: it does not lead out by its text */
	bool is_new, is_deleted;
	uint32_t mode; /* 0: as it is */
	struct patch_hunk *hunks;
	size_t hunk_count;
	size_t line;
};

struct patch {
	struct patch_line *lines;
	size_t line_count;
	struct patch_file *files;
	size_t file_count;
};

/* `strip`: how many components are taken off the front of the paths; -1: one, if they are a/... and b/... . The patch points into the text.
 * -1 with *err (INVALID_REQUEST): the line, and what is wrong. */
int patch_parse(const char *text, size_t len, int strip, struct patch *ret, struct warder_error *err);
void patch_done(struct patch *patch);

/* The content after the file's hunks; heap, NUL-terminated. -1 with *err: CONFLICT, the content is not as the patch says. */
int patch_apply(const struct patch *patch, const struct patch_file *file, const char *old, size_t old_len,
		char **ret, size_t *ret_len, struct warder_error *err);

#endif
