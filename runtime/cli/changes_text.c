/*
 * The diffs are unified (POSIX diff -u), found by the O(ND) way (Myers, An O(ND) Difference Algorithm and Its Variations, 1986) with
 * a bound on the work: texts that differ in more lines are shown as one replaced by the other.
 */
#include "runtime/cli/changes_text.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "runtime/cli/term.h"
#include "rootfs/changes/changes.h"
#include "runtime/library/changes.h"

#define TEXT_MAX  (1u << 20) /* bytes of a file that is compared */
#define LINES_MAX 20000
#define EDITS_MAX 500 /* lines put in and taken out; the trace takes the square of it */
#define CONTEXT   3

static const char letters[] = { [CHANGE_ADDED] = 'A', [CHANGE_CHANGED] = 'M', [CHANGE_REMOVED] = 'D' };

/* A name may be anything: as JSON's strings are, where it is not plain. */
static const char *name_of(const char *path, char *buf, size_t size)
{
	const size_t len = strlen(path);
	bool plain =
	    strlen(term_clean(json_quote(path, buf, size))) == len + 2 && memcmp(buf + 1, path, len) == 0;

	return plain && !strpbrk(path, " \"") ? path : buf;
}

static void print_line(FILE *to, const struct changes_item *change)
{
	char path[4 * 1024];
	char target[1024];

	fprintf(to, "%c %s", letters[change->kind], name_of(change->path, path, sizeof(path)));
	if (change->type == CHANGE_DIRECTORY)
		fprintf(to, " directory%s", change->replaced ? ", another one" : "");
	if (change->type == CHANGE_SYMLINK && change->target)
		fprintf(to, " -> %s", name_of(change->target, target, sizeof(target)));
	if (change->type == CHANGE_OTHER)
		fprintf(to, " neither file nor link: not kept");
	if (change->type == CHANGE_FILE && change->kind != CHANGE_REMOVED)
		fprintf(to, " %llu bytes sha256:%.12s", (unsigned long long)change->size, change->sha256);
	if (change->kind == CHANGE_CHANGED && (change->was.mode & 07777) != change->mode &&
	    change->type != CHANGE_SYMLINK)
		fprintf(to, " mode %04o -> %04o", change->was.mode & 07777, change->mode);
	if (change->attributes)
		fprintf(to, " (attributes not kept)");
	if (change->existed && change->was.moved)
		fprintf(to, " (changed on the host since)");
	fputc('\n', to);
}

void changes_print(FILE *to, const struct changes *changes, const struct changes_selection *selection)
{
	const struct changes_selection all = { 0 };
	size_t counts[3] = { 0 };

	for (size_t i = 0; i < changes->count; i++) {
		const struct changes_item *change = &changes->items[i];

		if (!changes_selects(selection ? selection : &all, change))
			continue;
		print_line(to, change);
		counts[change->kind]++;
	}
	fprintf(to, "%zu added, %zu changed, %zu removed\n", counts[CHANGE_ADDED], counts[CHANGE_CHANGED],
		counts[CHANGE_REMOVED]);
	if (changes->fault[0])
		fprintf(to, "not whole: %s\n", changes->fault);
}

/* ---- diffs ---- */

struct text {
	char *bytes;
	const char **lines; /* where each begins; one more: the end */
	size_t count;
};

static void text_done(struct text *text)
{
	free(text->bytes);
	free(text->lines);
}

/* False: it is no text, too large, or cannot be read. */
static bool read_text(int fd, struct text *ret)
{
	size_t used = 0;
	ssize_t n = 1;

	ret->bytes = malloc(TEXT_MAX + 1);
	ret->lines = calloc(LINES_MAX + 2, sizeof(*ret->lines));
	if (!ret->bytes || !ret->lines)
		return false;
	while (fd >= 0 && n > 0 && used <= TEXT_MAX) {
		n = read(fd, ret->bytes + used, TEXT_MAX + 1 - used);
		used += n > 0 ? (size_t)n : 0;
	}
	if (n < 0 || used > TEXT_MAX || memchr(ret->bytes, '\0', used))
		return false;
	ret->lines[0] = ret->bytes;
	for (const char *at = ret->bytes; at < ret->bytes + used;) {
		const char *end = memchr(at, '\n', (size_t)(ret->bytes + used - at));

		if (ret->count == LINES_MAX)
			return false;
		at = end ? end + 1 : ret->bytes + used;
		ret->lines[++ret->count] = at;
	}
	ret->bytes[used] = '\0';
	return true;
}

static bool same_line(const struct text *a, size_t i, const struct text *b, size_t j)
{
	size_t len = (size_t)(a->lines[i + 1] - a->lines[i]);

	return len == (size_t)(b->lines[j + 1] - b->lines[j]) && memcmp(a->lines[i], b->lines[j], len) == 0;
}

/* Marks the lines that are not in the other one. False: more work than is worth it. */
static bool find_edits(const struct text *a, const struct text *b, bool *gone, bool *come)
{
	int *trace = malloc((size_t)(EDITS_MAX + 1) * (2 * EDITS_MAX + 3) * sizeof(int));
	int v[2 * EDITS_MAX + 3] = { 0 };
	const int middle = EDITS_MAX + 1, n = (int)a->count, m = (int)b->count;
	int found = -1;

	for (int d = 0; trace && d <= EDITS_MAX && found < 0; d++) {
		memcpy(trace + (size_t)d * (2 * EDITS_MAX + 3), v, sizeof(v));
		for (int k = -d; k <= d && found < 0; k += 2) {
			int x = k == -d || (k != d && v[middle + k - 1] < v[middle + k + 1])
				    ? v[middle + k + 1]
				    : v[middle + k - 1] + 1;
			int y = x - k;

			while (x < n && y >= 0 && y < m && same_line(a, (size_t)x, b, (size_t)y)) {
				x++;
				y++;
			}
			v[middle + k] = x;
			if (x >= n && y >= m)
				found = d;
		}
	}
	for (int d = found, x = n, y = m; trace && d > 0; d--) {
		const int *before = trace + (size_t)d * (2 * EDITS_MAX + 3);
		int k = x - y;
		bool down = k == -d || (k != d && before[middle + k - 1] < before[middle + k + 1]);
		int old_k = down ? k + 1 : k - 1;

		x = before[middle + old_k];
		y = x - old_k;
		if (down)
			come[y] = true;
		else
			gone[x] = true;
	}
	free(trace);
	return found >= 0;
}

static void print_text_line(FILE *to, char mark, const struct text *text, size_t line)
{
	size_t len = (size_t)(text->lines[line + 1] - text->lines[line]);
	const bool ends = len && text->lines[line][len - 1] == '\n';
	char *copy = strndup(text->lines[line], ends ? len - 1 : len);

	fprintf(to, "%c%s\n%s", mark, copy ? term_clean(copy) : "",
		ends ? "" : "\\ No newline at end of file\n");
	free(copy);
}

/* The edits from (i, j) on that lie close together, with lines around them. */
static void print_hunk(FILE *to, const struct text *a, const struct text *b, const bool *gone,
		       const bool *come, size_t *i, size_t *j)
{
	size_t first_i = *i > CONTEXT ? *i - CONTEXT : 0, first_j = *j - (*i - first_i);
	size_t end_i = *i, end_j = *j, quiet = 0;

	if (*j < *i - first_i) {
		first_j = 0;
		first_i = *i - *j;
	}
	while (quiet <= 2 * CONTEXT && (end_i < a->count || end_j < b->count)) {
		if (end_i < a->count && gone[end_i]) {
			end_i++;
			quiet = 0;
		} else if (end_j < b->count && come[end_j]) {
			end_j++;
			quiet = 0;
		} else {
			end_i++;
			end_j++;
			quiet++;
		}
	}
	if (quiet > CONTEXT) {
		end_i -= quiet - CONTEXT;
		end_j -= quiet - CONTEXT;
	}
	fprintf(to, "@@ -%zu,%zu +%zu,%zu @@\n", first_i + (end_i > first_i), end_i - first_i,
		first_j + (end_j > first_j), end_j - first_j);
	*i = first_i;
	*j = first_j;
	while (*i < end_i || *j < end_j) {
		if (*i < end_i && gone[*i]) {
			print_text_line(to, '-', a, (*i)++);
		} else if (*j < end_j && come[*j]) {
			print_text_line(to, '+', b, (*j)++);
		} else {
			print_text_line(to, ' ', a, (*i)++);
			(*j)++;
		}
	}
}

static void print_texts(FILE *to, const struct changes_item *change, const struct text *a,
			const struct text *b)
{
	bool *gone = calloc(a->count + 1, sizeof(*gone));
	bool *come = calloc(b->count + 1, sizeof(*come));
	char path[4 * 1024];
	size_t i = 0, j = 0;

	if (!gone || !come) {
		free(gone);
		free(come);
		return;
	}
	if (!find_edits(a, b, gone, come)) {
		memset(gone, true, a->count);
		memset(come, true, b->count);
	}
	fprintf(to, "--- %s\n", change->existed ? name_of(change->path, path, sizeof(path)) : "/dev/null");
	fprintf(to, "+++ %s\n", name_of(change->path, path, sizeof(path)));
	while (i < a->count || j < b->count) {
		if ((i < a->count && gone[i]) || (j < b->count && come[j])) {
			print_hunk(to, a, b, gone, come, &i, &j);
		} else {
			i++;
			j++;
		}
	}
	free(gone);
	free(come);
}

static void print_diff(FILE *to, const struct warder_changes *changes, const struct changes_item *change,
		       int root_fd)
{
	struct warder_error ignored;
	owned_fd int before_fd = -1;
	owned_fd int after_fd = -1;
	struct text before = { 0 }, after = { 0 };

	if (change->type != CHANGE_FILE || change->kind == CHANGE_REMOVED)
		return;
	if (change->existed && S_ISREG(change->was.mode))
		before_fd = path_open_no_links(root_fd, change->path, O_RDONLY | O_NONBLOCK, &ignored);
	after_fd = changes_open_saved(changes, change);
	if (after_fd >= 0 && read_text(before_fd, &before) && read_text(after_fd, &after))
		print_texts(to, change, &before, &after);
	text_done(&before);
	text_done(&after);
}

void changes_print_diffs(FILE *to, const struct warder_changes *changes,
			 const struct changes_selection *selection)
{
	const struct changes *set = changes_of(changes);
	owned_fd int root_fd = open(set->directory, O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; i < set->count; i++)
		if (changes_selects(selection, &set->items[i]))
			print_diff(to, changes, &set->items[i], root_fd);
}
