/*
 * syntax: one row for each interpreter, whose form is a pattern of a line, and a function where a line is not enough.
 *
 *   python   File "main.py", line 2 / the line / a caret / SyntaxError: expected ':'
 *   node     /tmp/box/main.js:1 / the line / a caret / SyntaxError: Unexpected token ';' / at wrapSafe (node:internal/...)
 *   r        Error: unexpected symbol in: / "x <- 1 / y <- 2 2" / Execution halted, without a line number: it is looked up
 *
 * In patterns %f is a file's name, %n a line's number, %m the message, %* anything; each takes as little as it can, the last one
 * the rest of the line.
 */
#include "runtime/code/diagnostics/syntax.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/code/diagnostics/list.h"

/* What a line or a few of them say. */
struct found {
	struct piece file, message;
	uint32_t line, column; /* 0: not told */
	bool stripped;         /* the column is of the line without the white space that it begins with */
};

struct reading {
	const struct syntax_run *run;
	const char *box;
	const struct rootfs_file *files;
	size_t file_count;
	struct diagnostics *list;
};

/* ---- pieces ---- */

/* The next line from *at on, without its ending; false: there is none. */
static bool next_line(const struct syntax_run *run, size_t *at, struct piece *ret)
{
	const char *newline;

	if (*at >= run->len)
		return false;
	newline = memchr(run->text + *at, '\n', run->len - *at);
	ret->at = run->text + *at;
	ret->len = newline ? (size_t)(newline - ret->at) : run->len - *at;
	*at += ret->len + 1;
	return true;
}

static size_t white(struct piece piece)
{
	size_t count = 0;

	while (count < piece.len && (piece.at[count] == ' ' || piece.at[count] == '\t'))
		count++;
	return count;
}

static bool is_number(struct piece piece, uint32_t *ret)
{
	*ret = 0;
	for (size_t i = 0; i < piece.len; i++) {
		if (piece.at[i] < '0' || piece.at[i] > '9' || i >= 9)
			return false;
		*ret = *ret * 10 + (uint32_t)(piece.at[i] - '0');
	}
	return piece.len > 0;
}

/* Whether a line is of that form. */
static bool matches(struct piece line, const char *pattern, struct found *ret)
{
	while (*pattern) {
		size_t literal = strcspn(pattern, "%");
		struct piece value = line;
		const char *next;
		char kind;

		if (literal) {
			if (line.len < literal || memcmp(line.at, pattern, literal) != 0)
				return false;
			line = piece_skip(line, literal);
			pattern += literal;
			continue;
		}
		kind = pattern[1];
		pattern += 2;
		literal = strcspn(pattern, "%");
		if (literal) {
			next = memmem(line.at, line.len, pattern, literal);
			if (!next)
				return false;
			value.len = (size_t)(next - line.at);
		}
		line = piece_skip(line, value.len);
		if (kind == 'n' ? !is_number(value, &ret->line) : kind == 'f' && !value.len)
			return false;
		if (kind == 'f')
			ret->file = value;
		if (kind == 'm')
			ret->message = value;
	}
	return line.len == 0;
}

/* ---- files ---- */

/* The file of the program that is meant, by its path or by its name in the working directory; NULL: none. *ret_name is its name
 * in the box. */
static const struct rootfs_file *own_file(const struct reading *reading, struct piece name,
					  const char **ret_name)
{
	const char *directory = strrchr(reading->box, '/') + 1;

	if (piece_starts(name, reading->box) && name.len > strlen(reading->box))
		name = piece_skip(name, strlen(reading->box) + 1);
	for (size_t i = 0; i < reading->file_count; i++) {
		const char *path = reading->files[i].path;

		if (strncmp(path, directory, strlen(directory)) != 0 || path[strlen(directory)] != '/')
			continue;
		path += strlen(directory) + 1;
		if (strlen(path) == name.len && memcmp(path, name.at, name.len) == 0) {
			*ret_name = path;
			return &reading->files[i];
		}
	}
	return NULL;
}

/* Line `number` of the file, from 1. */
static struct piece source_line(const struct rootfs_file *file, uint32_t number)
{
	const struct syntax_run text = { .text = file->bytes, .len = file->len };
	struct piece line = { 0 };
	size_t at = 0;

	while (number-- > 0) {
		if (!next_line(&text, &at, &line))
			return (struct piece){ 0 };
	}
	return line;
}

/* False: it is about no file of the program. */
static bool add(const struct reading *reading, const struct found *found)
{
	const char *name = NULL;
	const struct rootfs_file *file = own_file(reading, found->file, &name);
	struct diagnostics *list = reading->list;
	struct diagnostic_span *span;
	struct diagnostic *item;
	struct piece source;

	if (!file || !found->message.len)
		return false;
	source = source_line(file, found->line);
	item = diagnostics_new(list, DIAGNOSTIC_ERROR, false, true, found->message.at, found->message.len);
	if (!item)
		return true;
	span = diagnostics_new_span(list, item, name, strlen(name));
	if (span) {
		span->line_start = span->line_end = found->line;
		span->column_start = found->column;
		if (found->column && found->stripped)
			span->column_start += (uint32_t)white(source);
		span->column_end = found->column ? span->column_start + 1 : 0;
		if (source.at)
			span->text = diagnostics_keep(list, source.at, source.len, DIAGNOSTICS_MAX_TEXT);
	}
	if (list->count == 1) { /* the interpreter's own text names all of them */
		size_t len = reading->run->len;

		while (len && (reading->run->text[len - 1] == '\n' || reading->run->text[len - 1] == '\r'))
			len--;
		item->rendered = diagnostics_keep(list, reading->run->text, len, DIAGNOSTICS_MAX_RENDERED);
	}
	return true;
}

/* ---- the interpreters ---- */

static bool is_python_error(struct piece line)
{
	return piece_starts(line, "SyntaxError: ") || piece_starts(line, "IndentationError: ") ||
	       piece_starts(line, "TabError: ");
}

/* The last frame of what may be a traceback, which ends with the error. */
static void read_python(const struct reading *reading)
{
	struct found found = { .stripped = true }, frame;
	struct piece line, last = { 0 };
	size_t after = 0;

	for (size_t at = 0; next_line(reading->run, &at, &line);) {
		const size_t caret = white(line);

		frame = (struct found){ .stripped = true };
		after++;
		if (matches(line, "  File \"%f\", line %n", &frame)) {
			found = frame;
			after = 0;
		} else if (after == 2 && caret < line.len && line.at[caret] == '^' && caret >= 4) {
			found.column = (uint32_t)caret - 3;
		}
		if (line.len)
			last = line;
	}
	if (!is_python_error(last))
		return;
	found.message = last;
	if (!found.line) {
		frame = (struct found){ 0 };
		if (!matches(last, "%* in file %f on line %n, %*", &frame))
			return;
		frame.message = last;
		found = frame;
	}
	add(reading, &found);
}

/* An error that the code throws has its own line as the first frame. */
static void read_node(const struct reading *reading)
{
	struct found found = { 0 };
	struct piece line;
	size_t after = 0;

	for (size_t at = 0; next_line(reading->run, &at, &line); after++) {
		struct found head = { 0 };
		size_t caret;

		if (!found.line && piece_starts(line, "file://"))
			line = piece_skip(line, strlen("file://"));
		caret = white(line);
		if (!found.line && matches(line, "%f:%n", &head)) {
			found = head;
			after = 0;
		} else if (found.line && after == 2 && caret < line.len && line.at[caret] == '^') {
			found.column = (uint32_t)caret + 1;
		} else if (found.line && !found.message.len && piece_starts(line, "SyntaxError: ")) {
			found.message = line;
		} else if (found.message.len && piece_starts(line, "    at ")) {
			if (memmem(line.at, line.len, "node:internal/", 14))
				add(reading, &found);
			return;
		}
	}
}

/* The source line that begins with `text`. R tells what it has read of it, without a number. */
static uint32_t find_line(const struct rootfs_file *file, struct piece text)
{
	const struct syntax_run source = { .text = file->bytes, .len = file->len };
	struct piece line;
	uint32_t number = 0, found = 0;

	for (size_t at = 0; next_line(&source, &at, &line);) {
		number++;
		if (line.len < text.len || memcmp(line.at, text.at, text.len) != 0)
			continue;
		if (found)
			return 0; /* two lines begin so */
		found = number;
	}
	return found;
}

static void read_r(const struct reading *reading)
{
	struct found found = { 0 };
	struct piece line, last = { 0 };

	for (size_t at = 0; next_line(reading->run, &at, &line);) {
		const char *in;

		if (piece_starts(line, "Error: unexpected ")) {
			found = (struct found){ 0 };
			in = memmem(line.at, line.len, " in", 3);
			found.message = piece_skip(line, strlen("Error: "));
			if (in) {
				found.message.len = (size_t)(in - found.message.at);
				last = piece_skip(line, (size_t)(in - line.at) + 3);
				last = piece_starts(last, " \"") ? piece_skip(last, 2) : (struct piece){ 0 };
			}
		} else if (found.message.len && piece_starts(line, "Execution halted")) {
			break;
		} else if (found.message.len) {
			last = piece_starts(line, "\"") ? piece_skip(line, 1) : line;
		}
	}
	if (!found.message.len || !reading->file_count)
		return;
	if (last.len && last.at[last.len - 1] == '"')
		last.len--;
	found.file = (struct piece){ reading->files[0].path + strlen(strrchr(reading->box, '/')), 0 };
	found.file.len = strlen(found.file.at);
	found.line = last.len ? find_line(&reading->files[0], last) : 0;
	found.column = found.line ? (uint32_t)last.len : 0;
	add(reading, &found);
}

struct form {
	int exit_status;
	bool whole;                /* the source is read as a whole before any of it runs */
	const char *lines[2];      /* patterns of an error */
	const char *beginnings[2]; /* of its message; none: any */
	const char *not_with;      /* a line that begins so tells that something ran */
	const char *end;           /* pattern of the last line; NULL: any */
	void (*read)(const struct reading *reading);
};

static const struct form forms[SYNTAX_COUNT] = {
	[SYNTAX_PYTHON] = { .exit_status = 1, .whole = true, .read = read_python },
	[SYNTAX_NODE] = { .exit_status = 1, .whole = true, .read = read_node },
	[SYNTAX_RUBY] = { .exit_status = 1, .whole = true, .lines = { "%f:%n: %m" } },
	[SYNTAX_PERL] = { .exit_status = 255,
			  .whole = true,
			  .lines = { "%m at %f line %n, %*", "%m at %f line %n." },
			  .end = "Execution of %* aborted due to compilation errors." },
	[SYNTAX_PHP] = { .exit_status = 255, .lines = { "PHP Parse error:  %m in %f on line %n" } },
	[SYNTAX_BASH] = { .exit_status = 2,
			  .lines = { "%f: line %n: %m" },
			  .beginnings = { "syntax error", "unexpected EOF" } },
	[SYNTAX_SH] = { .exit_status = 2, .lines = { "%f: %n: %m" }, .beginnings = { "Syntax error: " } },
	[SYNTAX_LUA] = { .exit_status = 1,
			 .whole = true,
			 .lines = { "%*: %f:%n: %m" },
			 .not_with = "stack traceback:" },
	[SYNTAX_R] = { .exit_status = 1, .read = read_r },
};

static bool has_beginning(const struct form *form, struct piece message)
{
	for (size_t i = 0; i < 2 && form->beginnings[i]; i++) {
		if (piece_starts(message, form->beginnings[i]))
			return true;
	}
	return !form->beginnings[0];
}

/* Whether the text as a whole is that of a source that was refused. */
static bool is_refusal(const struct form *form, const struct syntax_run *run)
{
	struct piece line, last = { 0 };
	struct found ignored = { 0 };

	for (size_t at = 0; next_line(run, &at, &line);) {
		if (form->not_with && piece_starts(line, form->not_with))
			return false;
		last = line.len ? line : last;
	}
	return !form->end || matches(last, form->end, &ignored);
}

static void read_lines(const struct form *form, const struct reading *reading)
{
	struct piece line;

	if (!is_refusal(form, reading->run))
		return;
	for (size_t at = 0; next_line(reading->run, &at, &line);) {
		for (size_t i = 0; i < 2 && form->lines[i]; i++) {
			struct found found = { 0 };

			if (matches(line, form->lines[i], &found) &&
			    !piece_starts(found.message, "warning: ") && has_beginning(form, found.message) &&
			    add(reading, &found))
				break;
		}
	}
}

int syntax_read(enum syntax_form form, const struct syntax_run *run, const char *box,
		const struct rootfs_file *files, size_t file_count, struct diagnostics *list,
		struct warder_error *err)
{
	const struct form *row = &forms[form];
	const struct reading reading = { run, box, files, file_count, list };

	if (form == SYNTAX_NONE || run->exit_status != row->exit_status || (row->whole && run->printed))
		return 0;
	if (row->read)
		row->read(&reading);
	else
		read_lines(row, &reading);
	return list->failed ? error_no_memory(err, NULL) : 0;
}
