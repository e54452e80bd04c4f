/*
 * Lines of a patch are read in three states: before the first file, in the header of a file ("diff --git" to its first hunk), and in
 * hunks. Only headers name files; a line of a hunk begins with a blank, "+", "-" or "\", and so is never taken for one.
 */
#include "store/workspaces/patch_text.h"
#include "base/array.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct line {
	const char *text;
	size_t len;
};

/* The next line of the text at *at, which is moved behind it. False: the end. */
static bool next_line(const char **at, const char *end, struct line *ret)
{
	const char *newline = *at < end ? memchr(*at, '\n', (size_t)(end - *at)) : NULL;

	if (*at >= end)
		return false;
	*ret = (struct line){ *at, (size_t)((newline ? newline : end) - *at) };
	*at = newline ? newline + 1 : end;
	return true;
}

/* What follows a prefix of the line; NULL: it does not begin so. */
static const char *after(const struct line *line, const char *prefix)
{
	const size_t n = strlen(prefix);

	return line->len >= n && memcmp(line->text, prefix, n) == 0 ? line->text + n : NULL;
}

/* ---- names ---- */

static int octal(const char *at, const char *end)
{
	if (end - at < 3 || at[0] < '0' || at[0] > '3' || at[1] < '0' || at[1] > '7' || at[2] < '0' ||
	    at[2] > '7')
		return -1;
	return (at[0] - '0') << 6 | (at[1] - '0') << 3 | (at[2] - '0');
}

/* What git puts into quotes, which begins at `at`. Heap; NULL: the quotes are wrong, or no memory. */
static char *unquote(const char *at, const char *end)
{
	static const char letters[] = "abfnrtv\"\\", bytes[] = "\a\b\f\n\r\t\v\"\\";
	char *to = malloc((size_t)(end - at) + 1);
	size_t len = 0;

	for (at++; to && at < end && *at != '"'; at++) {
		const char *letter;
		int byte;

		if (*at != '\\') {
			to[len++] = *at;
			continue;
		}
		if (++at == end)
			break;
		letter = *at ? strchr(letters, *at) : NULL;
		byte = letter ? (unsigned char)bytes[letter - letters] : octal(at, end);
		if (byte <= 0)
			break;
		to[len++] = (char)byte;
		at += letter ? 0 : 2;
	}
	if (to && at < end && *at == '"') {
		to[len] = '\0';
		return to;
	}
	free(to);
	return NULL;
}

/* The name from `at` to the end of the line, without quotes and `strip` components. Heap, or NULL. */
static char *read_name(const struct line *line, const char *at, int strip)
{
	const char *end = line->text + line->len;
	char *name = at < end && *at == '"' ? unquote(at, end) : strndup(at, (size_t)(end - at));

	for (; name && strip > 0; strip--) {
		const char *slash = strchr(name, '/');

		if (slash)
			memmove(name, slash + 1, strlen(slash));
	}
	return name;
}

/* Whether a name, perhaps in quotes, begins with one letter and a slash; the letter, or 0. */
static char prefix_of(const char *at, const char *end)
{
	at += at < end && *at == '"';
	return end - at > 2 && at[1] == '/' ? at[0] : '\0';
}

/* The prefixes that `git diff` writes, the old side's and the new one's. */
static bool are_prefixes(char old, char new)
{
	static const char *const pairs[] = { "ab", "iw", "ci", "cw", "ow", "12" };

	for (size_t i = 0; i < ARRAY_LENGTH(pairs); i++)
		if ((old == pairs[i][0] && new == pairs[i][1]) || (old == pairs[i][1] && new == pairs[i][0]))
			return true;
	return false;
}

enum prefixes {
	PREFIXES_NONE, /* no name begins with a letter and a slash */
	PREFIXES_BOTH,
	PREFIXES_ODD, /* one has none, or the two do not go together */
};

static enum prefixes of_two(char old, char new)
{
	if (are_prefixes(old, new))
		return PREFIXES_BOTH;
	return old || new ? PREFIXES_ODD : PREFIXES_NONE;
}

/* Of "diff --git a/x b/y": the second name begins behind a blank, which a name may have as well. */
static enum prefixes of_git_line(const struct line *line, const char *names)
{
	const char *end = line->text + line->len;
	const char old = prefix_of(names, end);
	enum prefixes found = of_two(old, '\0');

	for (const char *at = names; at < end && found != PREFIXES_BOTH; at++) {
		const enum prefixes here = *at == ' ' ? of_two(old, prefix_of(at + 1, end)) : PREFIXES_NONE;

		if (here != PREFIXES_NONE)
			found = here;
	}
	return found;
}

static bool is_null(const char *at, const char *end)
{
	return end - at >= 9 && memcmp(at, "/dev/null", 9) == 0;
}

static enum prefixes of_pair(const char *old, const char *old_end, const char *new, const char *new_end)
{
	const char a = prefix_of(old, old_end), b = prefix_of(new, new_end);

	/* The side that is not there has no name: any prefix goes with the other one's. */
	if (is_null(old, old_end) || is_null(new, new_end)) {
		const char one = is_null(old, old_end) ? b : a;

		return !one ? PREFIXES_NONE : strchr("abiwco12", one) ? PREFIXES_BOTH : PREFIXES_ODD;
	}
	return of_two(a, b);
}

/* Both kinds of lines may name the first file. Where only one of them is damaged, git goes by the other. */
int patch_strip(const char *text, size_t len)
{
	const char *at = text, *end = text + len, *old = NULL, *old_end = NULL;
	int strip = -1; /* not known yet */
	struct line line;

	while (next_line(&at, end, &line)) {
		const char *git = after(&line, "diff --git "), *new = after(&line, "+++ ");
		const char *line_end = line.text + line.len;
		enum prefixes found;

		if (strip >= 0 && (git || after(&line, "@@ ") || after(&line, "GIT binary patch")))
			break;
		if (git || (old && new)) {
			found = git ? of_git_line(&line, git) : of_pair(old, old_end, new, line_end);
			if (found == PREFIXES_ODD || (strip >= 0 && strip != (found == PREFIXES_BOTH)))
				return -1;
			strip = found == PREFIXES_BOTH;
			if (!git)
				break;
		}
		old = after(&line, "--- ");
		old_end = line_end;
	}
	return strip < 0 ? 1 : strip;
}

/* ---- pairs ---- */

static int add_pair(struct patch_pairs *pairs, char *from, char *to, bool is_copy, struct warder_error *err)
{
	struct patch_pair *items = reallocarray(pairs->items, pairs->count + 1, sizeof(*items));

	if (!items) {
		free(from);
		free(to);
		return error_no_memory(err, "patch");
	}
	pairs->items = items;
	items[pairs->count++] = (struct patch_pair){ from, to, is_copy };
	return 0;
}

int patch_read_pairs(const char *text, size_t len, int strip, struct patch_pairs *ret,
		     struct warder_error *err)
{
	const char *at = text, *end = text + len;
	const int inner = strip > 0 ? strip - 1 : 0; /* these lines have no a/ and b/ */
	char *from = NULL;
	bool in_header = false;
	struct line line;
	int status = 0;

	*ret = (struct patch_pairs){ 0 };
	while (status == 0 && next_line(&at, end, &line)) {
		const bool is_copy = after(&line, "copy ") != NULL;
		const char *old = after(&line, is_copy ? "copy from " : "rename from ");
		const char *new = after(&line, is_copy ? "copy to " : "rename to ");

		if (after(&line, "diff --git "))
			in_header = true;
		else if (after(&line, "--- ") || after(&line, "@@ ") || after(&line, "GIT binary patch"))
			in_header = false;
		if (in_header && old) {
			free(from);
			from = read_name(&line, old, inner);
		} else if (in_header && new &&from) {
			char *to = read_name(&line, new, inner);

			if (to)
				status = add_pair(ret, from, to, is_copy, err);
			else
				free(from);
			from = NULL;
		}
	}
	free(from);
	if (status != 0)
		patch_pairs_done(ret);
	return status;
}

void patch_pairs_done(struct patch_pairs *pairs)
{
	for (size_t i = 0; i < pairs->count; i++) {
		free(pairs->items[i].from);
		free(pairs->items[i].to);
	}
	free(pairs->items);
	*pairs = (struct patch_pairs){ 0 };
}

/* ---- git's words ---- */

static bool add_string(char ***list, size_t *count, char *text)
{
	char **items = text ? reallocarray(*list, *count + 1, sizeof(*items)) : NULL;

	if (!items) {
		free(text);
		return false;
	}
	*list = items;
	items[(*count)++] = text;
	return true;
}

/* "Checking patch NAME..."; a name is quoted where it has to be. */
static bool add_name(struct patch_said *said, const struct line *line, const char *name)
{
	struct line shown = *line;
	char *plain;

	if (shown.len < 3 || memcmp(shown.text + shown.len - 3, "...", 3) != 0)
		return true;
	shown.len -= 3;
	plain = name < shown.text + shown.len ? read_name(&shown, name, 0) : NULL;
	return !plain || add_string(&said->names, &said->name_count, plain);
}

/* "Hunk #1 succeeded at 3 (offset -6 lines)." */
static bool add_hunk(struct patch_said *said, const struct line *line)
{
	struct patch_hunk hunk = { 0 }, *hunks;
	char text[160];

	snprintf(text, sizeof(text), "%.*s", (int)(line->len < 159 ? line->len : 159), line->text);
	if (!said->name_count || sscanf(text, "Hunk #%u succeeded at %ld (offset %ld line", &hunk.number,
					&hunk.line, &hunk.offset) != 3)
		return true;
	hunks = reallocarray(said->hunks, said->hunk_count + 1, sizeof(*hunks));
	if (!hunks)
		return false;
	hunk.name = said->names[said->name_count - 1];
	said->hunks = hunks;
	hunks[said->hunk_count++] = hunk;
	return true;
}

static void add_fault(struct patch_said *said, const struct line *line, const char *what)
{
	const size_t used = strlen(said->fault);
	const int len = (int)(line->text + line->len - what);

	/* What it searched for follows, in lines of their own. */
	if (len == 20 && memcmp(what, "while searching for:", 20) == 0)
		return;
	if (used + (size_t)len + 3 <= sizeof(said->fault) || !used)
		snprintf(said->fault + used, sizeof(said->fault) - used, "%s%.*s", used ? "; " : "", len,
			 what);
}

int patch_read_said(const char *text, size_t len, struct patch_said *ret, struct warder_error *err)
{
	const char *at = text, *end = text + len, *what;
	bool good = true;
	struct line line;

	*ret = (struct patch_said){ 0 };
	while (good && next_line(&at, end, &line)) {
		if ((what = after(&line, "Checking patch ")) != NULL)
			good = add_name(ret, &line, what);
		else if (after(&line, "Hunk #"))
			good = add_hunk(ret, &line);
		else if ((what = after(&line, "warning: ")) != NULL)
			good = add_string(&ret->warnings, &ret->warning_count,
					  strndup(what, (size_t)(line.text + line.len - what)));
		else if ((what = after(&line, "error: ")) != NULL || (what = after(&line, "fatal: ")) != NULL)
			add_fault(ret, &line, what);
	}
	if (good)
		return 0;
	patch_said_done(ret);
	return error_no_memory(err, "patch");
}

void patch_said_done(struct patch_said *said)
{
	for (size_t i = 0; i < said->name_count; i++)
		free(said->names[i]);
	for (size_t i = 0; i < said->warning_count; i++)
		free(said->warnings[i]);
	free(said->names);
	free(said->hunks);
	free(said->warnings);
	*said = (struct patch_said){ 0 };
}
