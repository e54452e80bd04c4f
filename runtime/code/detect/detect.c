/*
 * detect: names first, then marks.
 *
 * A mark that names something we have no language for (a shebang of awk, a fence of json) is an answer too: unknown. It is not
 * overruled by a guess. A name of a file says something only if its extension is known; .h may be C or C++, which the content
 * decides.
 */
#include "runtime/code/detect/detect.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/language.h"
#include "runtime/code/detect/content.h"
#include "runtime/code/detect/pattern.h"
#include "runtime/code/detect/wasm.h"

/* Words behind a fence that are no code to run. */
static const char data_fences[] =
    "json|jsonc|json5|yaml|yml|toml|ini|csv|tsv|text|txt|plain|plaintext|output|console|log|diff|patch|html|"
    "xml|css|scss|sql|"
    "markdown|md|mermaid|dockerfile|makefile|latex|tex|http|regex|none|svg|graphql|nginx|tool_output|result";

static const char *const by_names[] = {
	[DETECT_BY_NOTHING] = "none",    [DETECT_BY_HINT] = "hint",   [DETECT_BY_FILE_NAME] = "fileName",
	[DETECT_BY_SHEBANG] = "shebang", [DETECT_BY_FENCE] = "fence", [DETECT_BY_CONTENT] = "content",
};

/* A piece of a text. */
struct piece {
	const char *at;
	size_t len;
};

const char *detect_by_name(enum detect_by by)
{
	return by_names[by];
}

static bool is_one_of(const char *spellings, struct piece word)
{
	return spellings && word.len > 0 && pattern_spelling(spellings, strlen(spellings), word.at, word.len);
}

/* ---- the file's name ---- */

static struct piece base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	return (struct piece){ name, strlen(name) };
}

/* "" if there is none; that of a name that begins with its only dot is none. */
static struct piece extension(struct piece name)
{
	const char *dot = name.len > 0 ? memrchr(name.at, '.', name.len) : NULL;

	if (!dot || dot == name.at)
		return (struct piece){ name.at, 0 };
	return (struct piece){ dot + 1, (size_t)(name.at + name.len - dot) - 1 };
}

static const char *by_extension(struct piece word)
{
	const struct language_row *row = language_of_extension(word.at, word.len);

	return row ? row->name : NULL;
}

static const char *by_file_name(struct piece name)
{
	const struct language_row *row;

	for (size_t i = 0; (row = language_row(i)); i++) {
		if (is_one_of(row->files, name))
			return row->name;
	}
	return by_extension(extension(name));
}

/* ---- the shebang ---- */

static struct piece next_word(struct piece *line)
{
	struct piece word;

	while (line->len > 0 && isspace((unsigned char)line->at[0])) {
		line->at++;
		line->len--;
	}
	word = (struct piece){ line->at, 0 };
	while (word.len < line->len && !isspace((unsigned char)line->at[word.len]))
		word.len++;
	line->at += word.len;
	line->len -= word.len;
	return word;
}

static bool starts(struct piece word, const char *text)
{
	return word.len >= strlen(text) && memcmp(word.at, text, strlen(text)) == 0;
}

static struct piece without_directory(struct piece path)
{
	const char *slash = path.len > 0 ? memrchr(path.at, '/', path.len) : NULL;
	size_t skipped = slash ? (size_t)(slash - path.at) + 1 : 0;

	return (struct piece){ path.at + skipped, path.len - skipped };
}

/* python3.11 -> python, lua5.4 -> lua. */
static struct piece without_version(struct piece name)
{
	while (name.len > 1 && (isdigit((unsigned char)name.at[name.len - 1]) ||
				name.at[name.len - 1] == '.' || name.at[name.len - 1] == '-'))
		name.len--;
	return name;
}

/* The program that env(1) starts: behind its options, their values and assignments. */
static struct piece behind_env(struct piece *line)
{
	struct piece word = next_word(line);

	while (word.len > 0) {
		if (starts(word, "-S") && word.len > 2) /* -Spython3 */
			return (struct piece){ word.at + 2, word.len - 2 };
		if (starts(word, "--split-string="))
			return (struct piece){ word.at + 15, word.len - 15 };
		if (word.len == 2 && (starts(word, "-u") || starts(word, "-C")))
			next_word(line);
		else if (word.at[0] != '-' && !memchr(word.at, '=', word.len))
			return word;
		word = next_word(line);
	}
	return word;
}

/* The interpreter's name; empty if the text does not begin with "#!". */
static struct piece interpreter(struct piece text)
{
	struct piece word;
	const char *newline;

	if (starts(text, "\xef\xbb\xbf")) {
		text.at += 3;
		text.len -= 3;
	}
	if (!starts(text, "#!") || starts(text, "#![")) /* Rust's attribute */
		return (struct piece){ NULL, 0 };
	text.at += 2;
	text.len -= 2;
	newline = text.len > 0 ? memchr(text.at, '\n', text.len) : NULL;
	if (newline)
		text.len = (size_t)(newline - text.at);
	word = without_directory(next_word(&text));
	if (word.len == 3 && starts(word, "env"))
		word = without_directory(behind_env(&text));
	return word;
}

static const char *by_interpreter(struct piece name)
{
	const struct language_row *row;

	for (size_t i = 0; (row = language_row(i)); i++) {
		if (is_one_of(row->interpreters, name) || is_one_of(row->interpreters, without_version(name)))
			return row->name;
	}
	return NULL;
}

/* ---- the fence ---- */

/* Whether the word decides; *ret stays NULL for data. */
static bool by_fence(const char *fence, const char **ret)
{
	char lower[32];
	struct piece word = { lower, strlen(fence) };
	const struct language_row *row;

	*ret = NULL;
	if (word.len == 0 || word.len >= sizeof(lower))
		return false;
	for (size_t i = 0; i < word.len; i++)
		lower[i] = (char)tolower((unsigned char)fence[i]);
	for (size_t i = 0; (row = language_row(i)); i++) {
		if (row->extensions && (is_one_of(row->name, word) || is_one_of(row->fences, word))) {
			*ret = row->name;
			return true;
		}
	}
	return is_one_of(data_fences, word);
}

/* ---- the door ---- */

static bool is_header(struct piece name)
{
	return name.len > 2 && memcmp(name.at + name.len - 2, ".h", 2) == 0;
}

/* Whether something was said; then *ret is the answer. */
static bool by_what_is_said(const struct detect_request *request, struct detection *ret)
{
	struct piece text = { request->text, request->len }, program;

	if (request->hint && request->hint[0]) {
		*ret = (struct detection){ .language = request->hint, .by = DETECT_BY_HINT };
		return true;
	}
	if (request->file_name)
		ret->language = by_file_name(base_name(request->file_name));
	if (ret->language) {
		ret->by = DETECT_BY_FILE_NAME;
		return true;
	}
	program = interpreter(text);
	if (program.len > 0) {
		*ret = (struct detection){ .language = by_interpreter(program), .by = DETECT_BY_SHEBANG };
		return true;
	}
	if (request->fence && by_fence(request->fence, &ret->language)) {
		ret->by = DETECT_BY_FENCE;
		return true;
	}
	return false;
}

int detect_language(const struct detect_request *request, struct detection *ret, struct warder_error *err)
{
	struct detection answer = { 0 };
	bool header = request->file_name && is_header(base_name(request->file_name));
	size_t len = request->len < DETECT_MAX_BYTES ? request->len : DETECT_MAX_BYTES;

	if (by_what_is_said(request, &answer)) {
		*ret = answer;
		return 0;
	}
	if (len == 0) {
		*ret = answer;
		return 0;
	}
	answer.by = DETECT_BY_CONTENT;
	if (wasm_is_module(request->text, len))
		answer.language = "wasm";
	else if (detect_content(request->text, len, &answer, err) != 0)
		return -1;
	/* A header is one of C, unless it looks like one of C++. */
	if (header && (!answer.language || strcmp(answer.language, "c++") != 0))
		answer = (struct detection){ .language = "c", .by = DETECT_BY_FILE_NAME };
	*ret = answer;
	return 0;
}
