/*
 * patch_text: what Warder reads of a patch and of git's words about it, to report what was done. Private to workspaces/; pure, any thread.
 *
 * git alone decides what a patch means and applies it (patch.c). Read here: whether names begin with a/ and b/, which file is the
 * origin of a renamed or copied one, and of `git apply --verbose` which files it looked at, where hunks were found, and its warnings
 * and errors. A wrong patch can make this report less, never change another file.
 */
#ifndef WARDER_STORE_WORKSPACES_PATCH_TEXT_H
#define WARDER_STORE_WORKSPACES_PATCH_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define PATCH_MAX ((size_t)16 << 20) /* bytes of a patch */

struct patch_pair {
	char *from, *to;
	bool is_copy; /* else renamed */
};

struct patch_pairs {
	struct patch_pair *items;
	size_t count;
};

/* How many components git is to take off the front of names: 1 if the first file's are a/... and b/... (or the other prefixes of
 * `git diff`: i/, w/, c/, o/, 1/, 2/), 0 if none begins with a letter and a slash; -1: the lines of its header do not agree. */
int patch_strip(const char *text, size_t len);
/* Files that the patch renames or copies, in its order, without the `strip` components. -1 with *err: no memory. */
int patch_read_pairs(const char *text, size_t len, int strip, struct patch_pairs *ret,
		     struct warder_error *err);
void patch_pairs_done(struct patch_pairs *pairs);

struct patch_hunk {
	const char *name;    /* of the file, as git shows it, without quotes: "a", or "a => b" of a pair */
	unsigned int number; /* in its file, from 1 on */
	long line, offset;   /* where it was found, and how far from where it says */
};

/* What git said; the strings are heap. */
struct patch_said {
	char **names; /* of the files that it looked at, as of struct patch_hunk */
	size_t name_count;
	struct patch_hunk *hunks; /* those that had moved */
	size_t hunk_count;
	char **warnings;
	size_t warning_count;
	char fault[256]; /* the first errors, in one line; "" none */
};

/* `text`: standard error of `git apply --verbose` in the C locale. -1 with *err: no memory. */
int patch_read_said(const char *text, size_t len, struct patch_said *ret, struct warder_error *err);
void patch_said_done(struct patch_said *said);

#endif
