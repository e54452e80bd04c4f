#include "store/workspaces/patch_text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "rootfs/rootfs.h"

static const char field[] = "patch";

struct parsing {
	struct patch *patch;
	size_t at; /* line */
	int strip;
	struct warder_error *err;
};

static int refuse(struct parsing *p, const char *what)
{
	return error_set(p->err, WARDER_ERROR_INVALID_REQUEST, field, "line %zu: %s", p->at + 1, what);
}

static int no_memory(struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_INTERNAL, field, "no memory for a patch");
}

static bool begins(const struct patch_line *line, const char *with)
{
	const size_t n = strlen(with);

	return line->len >= n && memcmp(line->text, with, n) == 0;
}

/* ---- lines ---- */

static int split(const char *text, size_t len, struct patch *patch, struct warder_error *err)
{
	size_t lines = 1;

	for (size_t i = 0; i < len; i++)
		lines += text[i] == '\n';
	if (len > PATCH_MAX || lines > PATCH_LINES_MAX)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
				 "it is larger than 16 MiB, or has more than %d lines", PATCH_LINES_MAX);
	patch->lines = calloc(lines, sizeof(*patch->lines));
	if (!patch->lines)
		return no_memory(err);
	for (size_t at = 0; at < len;) {
		const char *end = memchr(text + at, '\n', len - at);
		const size_t n = end ? (size_t)(end - text) - at : len - at;

		patch->lines[patch->line_count++] = (struct patch_line){ text + at, n, false };
		at += n + (end != NULL);
	}
	return 0;
}

/* ---- paths ---- */

static int octal(const char *at, const char *end)
{
	if (end - at < 3 || at[0] < '0' || at[0] > '3' || at[1] < '0' || at[1] > '7' || at[2] < '0' ||
	    at[2] > '7')
		return -1;
	return (at[0] - '0') << 6 | (at[1] - '0') << 3 | (at[2] - '0');
}

/* What git puts into quotes. Returns the length, or -1. */
static int unquote(const char *at, const char *end, char *to)
{
	static const char letters[] = "abfnrtv\"\\", bytes[] = "\a\b\f\n\r\t\v\"\\";
	int len = 0;

	for (at++; at < end && *at != '"'; at++) {
		const char *letter;
		int byte;

		if (*at != '\\') {
			to[len++] = *at;
			continue;
		}
		if (++at == end)
			return -1;
		letter = strchr(letters, *at);
		byte = *at && letter ? (unsigned char)bytes[letter - letters] : octal(at, end);
		if (byte <= 0)
			return -1;
		to[len++] = (char)byte;
		at += *at && letter ? 0 : 2;
	}
	return at < end ? len : -1;
}

/* The name behind "--- ": to a tab, or to the end. to has room for the line. */
static int read_name(struct parsing *p, const struct patch_line *line, char *to)
{
	const char *start = line->text + 4, *end = line->text + line->len;
	const char *tab = memchr(start, '\t', (size_t)(end - start));
	int len;

	if (start < end && *start == '"') {
		len = unquote(start, end, to);
		if (len < 0)
			return refuse(p, "the name's quotes are not closed, or what is in them is unknown");
		to[len] = '\0';
		return 0;
	}
	if (tab)
		end = tab;
	if (end > start && end[-1] == '\r')
		return refuse(p, "lines end with a carriage return; the patch was changed on its way");
	if (memchr(start, '\0', (size_t)(end - start)))
		return refuse(p, "the name has a NUL byte in it");
	memcpy(to, start, (size_t)(end - start));
	to[end - start] = '\0';
	return 0;
}

static const char *strip_name(const char *name, int strip)
{
	for (; strip > 0 && name; strip--) {
		name = strchr(name, '/');
		if (name)
			name += strspn(name, "/");
	}
	return name;
}

/* The two names, without what is stripped, must be one. */
static int choose_name(struct parsing *p, const char *old, const char *new, struct patch_file *file)
{
	static const char nothing[] = "/dev/null";
	char plain[PATH_MAX];
	int strip = p->strip;

	file->is_new = strcmp(old, nothing) == 0;
	file->is_deleted = strcmp(new, nothing) == 0;
	if (file->is_new && file->is_deleted)
		return refuse(p, "both names are /dev/null");
	if (strip < 0)
		strip = (file->is_new || strncmp(old, "a/", 2) == 0) &&
			(file->is_deleted || strncmp(new, "b/", 2) == 0);
	old = file->is_new ? NULL : strip_name(old, strip);
	new = file->is_deleted ? NULL : strip_name(new, strip);
	if ((!file->is_new && !old) || (!file->is_deleted && !new))
		return refuse(p, "the name has fewer components than are to be stripped");
	if (old && new &&strcmp(old, new) != 0)
		return refuse(p, "the two names differ; renames are not taken");
	if (!old)
		old = new;
	if (path_check_relative(old, strlen(old), p->err) != 0)
		return error_context(p->err, "line %zu", p->at + 1);
	file->path = strdup(path_plain(old, plain));
	return file->path ? 0 : no_memory(p->err);
}

/* ---- hunks ---- */

static bool read_number(const char **at, const char *end, size_t *ret)
{
	const char *start = *at;

	*ret = 0;
	for (; *at < end && **at >= '0' && **at <= '9' && *ret < 100000000; (*at)++)
		*ret = *ret * 10 + (size_t)(**at - '0');
	return *at > start && *ret < 100000000;
}

/* "12,3" or "12". */
static bool read_range(const char **at, const char *end, size_t *ret_start, size_t *ret_count)
{
	*ret_count = 1;
	if (!read_number(at, end, ret_start))
		return false;
	if (*at == end || **at != ',')
		return true;
	(*at)++;
	return read_number(at, end, ret_count);
}

static bool read_place(const struct patch_line *line, struct patch_hunk *hunk)
{
	const char *at = line->text + 3, *end = line->text + line->len;

	if (line->len < 4 || *at++ != '-' || !read_range(&at, end, &hunk->old_start, &hunk->old_count))
		return false;
	if (end - at < 2 || *at++ != ' ' || *at++ != '+' ||
	    !read_range(&at, end, &hunk->new_start, &hunk->new_count))
		return false;
	return end - at >= 3 && memcmp(at, " @@", 3) == 0;
}

static int add_hunk(struct parsing *p, struct patch_file *file, const struct patch_hunk *hunk)
{
	struct patch_hunk *grown = file->hunks;

	if (file->hunk_count % 16 == 0)
		grown = reallocarray(file->hunks, file->hunk_count + 16, sizeof(*grown));
	if (!grown)
		return no_memory(p->err);
	file->hunks = grown;
	grown[file->hunk_count++] = *hunk;
	return 0;
}

/* What follows a line of a hunk: it is the last of its file, and has no newline. */
static int take_end_mark(struct parsing *p, struct patch_line *line)
{
	if (p->at >= p->patch->line_count || !begins(&p->patch->lines[p->at], "\\ "))
		return 0;
	line->no_newline = true;
	p->at++;
	return 0;
}

static int read_hunk(struct parsing *p, struct patch_file *file)
{
	struct patch_hunk hunk = { .line = p->at + 1 };
	size_t old = 0, new = 0;

	if (!read_place(&p->patch->lines[p->at], &hunk))
		return refuse(p, "this is no \"@@ -LINE,COUNT +LINE,COUNT @@\"");
	hunk.first = ++p->at;
	while (old < hunk.old_count || new < hunk.new_count) {
		struct patch_line *line = &p->patch->lines[p->at];

		if (p->at == p->patch->line_count || line->len == 0 || !strchr(" +-", line->text[0]) ||
		    line->text[0] == '\0')
			return refuse(p, "the hunk has fewer lines than its @@ says");
		old += line->text[0] != '+';
		new += line->text[0] != '-';
		if (old > hunk.old_count || new > hunk.new_count)
			return refuse(p, "the hunk has other lines than its @@ says");
		p->at++;
		take_end_mark(p, line);
	}
	hunk.count = p->at - hunk.first;
	return add_hunk(p, file, &hunk);
}

/* ---- files ---- */

static const char *const heads[] = { "diff ",     "index ",         "old mode ",
				     "new mode ", "new file mode ", "deleted file mode " };
static const char *const unknown[] = { "rename ", "copy ",     "similarity index ", "dissimilarity index ",
				       "Binary ", "GIT binary" };

/* The mode behind "new file mode 100755". */
static void note_mode(const struct patch_line *line, uint32_t *mode)
{
	if (begins(line, "new mode 100755") || begins(line, "new file mode 100755"))
		*mode = 0755;
	else if (begins(line, "new mode 100644") || begins(line, "new file mode 100644"))
		*mode = 0644;
}

/* 1: it is the head of what follows; 0: it is not; -1: refused. */
static int read_head(struct parsing *p, const struct patch_line *line, uint32_t *mode)
{
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		if (begins(line, unknown[i]))
			return refuse(p, "renames, copies and binary patches are not taken");
	}
	if (begins(line, "new file mode 120000") || begins(line, "new file mode 160000"))
		return refuse(p, "links and submodules are not taken");
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		if (!begins(line, heads[i]))
			continue;
		if (i == 0)
			*mode = 0;
		note_mode(line, mode);
		return 1;
	}
	return line->len == 0;
}

static int read_names(struct parsing *p, struct patch_file *file)
{
	const struct patch_line *first = &p->patch->lines[p->at], *second = first + 1;
	char *old = malloc(first->len + 1), *new = NULL;
	int status;

	if (p->at + 1 >= p->patch->line_count || !begins(second, "+++ ")) {
		free(old);
		return refuse(p, "behind the line of --- comes none of +++");
	}
	new = malloc(second->len + 1);
	status = old && new ? 0 : no_memory(p->err);
	if (status == 0)
		status = read_name(p, first, old);
	if (status == 0)
		status = read_name(p, second, new);
	if (status == 0)
		status = choose_name(p, old, new, file);
	free(old);
	free(new);
	p->at += 2;
	return status;
}

static struct patch_file *add_file(struct parsing *p)
{
	struct patch *patch = p->patch;
	struct patch_file *grown = patch->files;

	if (patch->file_count == PATCH_FILES_MAX) {
		refuse(p, "there are more files than are taken at once");
		return NULL;
	}
	if (patch->file_count % 16 == 0)
		grown = reallocarray(patch->files, patch->file_count + 16, sizeof(*grown));
	if (!grown) {
		no_memory(p->err);
		return NULL;
	}
	patch->files = grown;
	grown[patch->file_count] = (struct patch_file){ .line = p->at + 1 };
	return &grown[patch->file_count++];
}

static int read_file(struct parsing *p, uint32_t mode)
{
	struct patch_file *file = add_file(p);

	if (!file || read_names(p, file) != 0)
		return -1;
	file->mode = mode;
	if (p->at == p->patch->line_count || !begins(&p->patch->lines[p->at], "@@ "))
		return refuse(p, "behind the names comes no hunk");
	while (p->at < p->patch->line_count && begins(&p->patch->lines[p->at], "@@ ")) {
		if (read_hunk(p, file) != 0)
			return -1;
	}
	return 0;
}

static int by_path(const void *a, const void *b)
{
	return strcmp((*(const struct patch_file *const *)a)->path,
		      (*(const struct patch_file *const *)b)->path);
}

/* A second part for a file would have to see what the first has made of it. */
static int check_once(struct parsing *p)
{
	const struct patch *patch = p->patch;
	const struct patch_file **sorted = calloc(patch->file_count + 1, sizeof(*sorted));
	int status = 0;

	if (!sorted)
		return no_memory(p->err);
	for (size_t i = 0; i < patch->file_count; i++)
		sorted[i] = &patch->files[i];
	qsort(sorted, patch->file_count, sizeof(*sorted), by_path);
	for (size_t i = 1; i < patch->file_count && status == 0; i++) {
		if (strcmp(sorted[i - 1]->path, sorted[i]->path) == 0)
			status = error_set(p->err, WARDER_ERROR_INVALID_REQUEST, field,
					   "line %zu: the file is in the patch twice", sorted[i]->line);
	}
	free(sorted);
	return status;
}

static int parse(struct parsing *p)
{
	uint32_t mode = 0;

	while (p->at < p->patch->line_count) {
		const struct patch_line *line = &p->patch->lines[p->at];
		int head;

		if (begins(line, "--- ")) {
			if (read_file(p, mode) != 0)
				return -1;
			mode = 0;
			continue;
		}
		head = read_head(p, line, &mode);
		if (head < 0)
			return -1;
		if (head == 0)
			return refuse(p, "this is no part of a unified diff");
		p->at++;
	}
	if (!p->patch->file_count)
		return error_set(p->err, WARDER_ERROR_INVALID_REQUEST, field,
				 "there is no file in it; a unified diff has lines of --- and +++");
	return check_once(p);
}

int patch_parse(const char *text, size_t len, int strip, struct patch *ret, struct warder_error *err)
{
	struct patch patch = { 0 };
	struct parsing parsing = { .patch = &patch, .strip = strip, .err = err };

	if (split(text, len, &patch, err) != 0 || parse(&parsing) != 0) {
		patch_done(&patch);
		return -1;
	}
	*ret = patch;
	return 0;
}

void patch_done(struct patch *patch)
{
	for (size_t i = 0; i < patch->file_count; i++) {
		free(patch->files[i].path);
		free(patch->files[i].hunks);
	}
	free(patch->files);
	free(patch->lines);
	*patch = (struct patch){ 0 };
}

/* ---- applying ---- */

struct applying {
	const char *old;
	size_t old_len, at; /* byte of the old content */
	size_t line;        /* of it, from 1 on */
	char *new;
	size_t len;
	struct warder_error *err;
	const struct patch_file *file;
};

static int conflict(struct applying *a, size_t patch_line, const char *why)
{
	return error_set(a->err, WARDER_ERROR_CONFLICT, field,
			 "line %zu: %.200s %s (line %zu of the file); nothing was changed", patch_line,
			 a->file->path, why, a->line);
}

/* The length of the old content's next line, newline included. */
static size_t next_line(const struct applying *a)
{
	const char *end = memchr(a->old + a->at, '\n', a->old_len - a->at);

	return end ? (size_t)(end - (a->old + a->at)) + 1 : a->old_len - a->at;
}

static void keep(struct applying *a, size_t len)
{
	memcpy(a->new + a->len, a->old + a->at, len);
	a->len += len;
	a->at += len;
	a->line++;
}

static bool same_line(const struct applying *a, const struct patch_line *line)
{
	const size_t len = next_line(a), text = line->len - 1;

	return a->at < a->old_len && len == text + !line->no_newline &&
	       memcmp(a->old + a->at, line->text + 1, text) == 0 &&
	       (line->no_newline || a->old[a->at + text] == '\n');
}

static int apply_line(struct applying *a, const struct patch_line *line, size_t number)
{
	if (line->text[0] != '+') {
		if (!same_line(a, line))
			return conflict(a, number, "has something else there");
		if (line->text[0] == ' ') {
			keep(a, next_line(a));
		} else {
			a->at += next_line(a);
			a->line++;
		}
		return 0;
	}
	if (a->len && a->new[a->len - 1] != '\n')
		return conflict(a, number, "would go on behind a line without an end");
	memcpy(a->new + a->len, line->text + 1, line->len - 1);
	a->len += line->len - 1;
	if (!line->no_newline)
		a->new[a->len++] = '\n';
	return 0;
}

static int apply_hunk(struct applying *a, const struct patch *patch, const struct patch_hunk *hunk)
{
	/* A hunk without old lines stands behind the line that it names. */
	const size_t start = hunk->old_count ? hunk->old_start : hunk->old_start + 1;

	if (start < a->line)
		return conflict(a, hunk->line, "has hunks that are not in order");
	while (a->line < start && a->at < a->old_len)
		keep(a, next_line(a));
	if (a->line < start)
		return conflict(a, hunk->line, "is shorter than the patch says");
	for (size_t i = 0; i < hunk->count; i++) {
		const size_t at = hunk->first + i;

		if (patch->lines[at].text[0] == '\\')
			continue;
		if (apply_line(a, &patch->lines[at], at + 1) != 0)
			return -1;
	}
	return 0;
}

static size_t added_bytes(const struct patch *patch, const struct patch_file *file)
{
	size_t sum = 0;

	for (size_t i = 0; i < file->hunk_count; i++) {
		for (size_t j = 0; j < file->hunks[i].count; j++)
			sum += patch->lines[file->hunks[i].first + j].len + 1;
	}
	return sum;
}

/* What follows the last hunk; behind a line without an end there is nothing. */
static int apply_rest(struct applying *a)
{
	if (a->at < a->old_len && a->len && a->new[a->len - 1] != '\n')
		return conflict(a, a->file->line, "would go on behind a line without an end");
	memcpy(a->new + a->len, a->old + a->at, a->old_len - a->at);
	a->len += a->old_len - a->at;
	a->new[a->len] = '\0';
	if (a->file->is_deleted && a->len)
		return conflict(a, a->file->line, "is to be deleted, and more is in it than the patch says");
	return 0;
}

int patch_apply(const struct patch *patch, const struct patch_file *file, const char *old, size_t old_len,
		char **ret, size_t *ret_len, struct warder_error *err)
{
	struct applying a = { .old = old, .old_len = old_len, .line = 1, .err = err, .file = file };
	int status = 0;

	a.new = malloc(old_len + added_bytes(patch, file) + 1);
	if (!a.new)
		return no_memory(err);
	for (size_t i = 0; i < file->hunk_count && status == 0; i++)
		status = apply_hunk(&a, patch, &file->hunks[i]);
	if (status == 0)
		status = apply_rest(&a);
	if (status != 0) {
		free(a.new);
		return -1;
	}
	*ret = a.new;
	*ret_len = a.len;
	return 0;
}
