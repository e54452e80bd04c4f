/*
 * datafile: the snippets.
 *
 * They use what they import and nothing else. The names of columns stand in a comment, never in code, with every control
 * character replaced; and never on the first two lines, where Python looks for the encoding of the source in a comment.
 */
#include "runtime/tool/datafile.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/text.h"

#define COLUMNS_SHOWN  20
#define COLUMN_BYTES   40
#define HEADER_SCANNED ((size_t)64 << 10)

/* ---- variables ---- */

static const char *const reserved[] = {
	"False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
	"class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
	"from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
	"or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield",
};

static bool is_digit(char byte)
{
	return byte >= '0' && byte <= '9';
}

static bool is_letter(char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

char *datafile_variable(const char *name, char *buf, size_t size)
{
	const char *dot = strrchr(name, '.');
	const char *end = dot && dot > name ? dot : name + strlen(name);
	size_t used = 0;

	for (; name < end && used + 3 < size; name++) {
		if (used == 0 && is_digit(*name))
			buf[used++] = '_';
		if (is_letter(*name) || is_digit(*name))
			buf[used++] = *name;
		else if (((unsigned char)*name & 0xc0) != 0x80) /* one for each character */
			buf[used++] = '_';
	}
	if (used == 0)
		buf[used++] = '_';
	buf[used] = '\0';
	for (size_t i = 0; i < ARRAY_LENGTH(reserved); i++) {
		if (strcmp(buf, reserved[i]) == 0)
			return strcpy(buf + used, "_") - used;
	}
	return buf;
}

/* ---- columns ---- */

struct csv {
	const char *at, *end;
};

/* The next field of the record (RFC 4180): quoted, with "" for a quote, or up to the next comma or line ending. What is over
 * `size` is dropped. *ret_more: another field follows. */
static size_t next_field(struct csv *csv, char *buf, size_t size, bool *ret_more)
{
	bool quoted = csv->at < csv->end && *csv->at == '"';
	size_t used = 0;

	csv->at += quoted;
	for (; csv->at < csv->end; csv->at++) {
		char byte = *csv->at;

		if (quoted && byte == '"') {
			if (csv->at + 1 == csv->end || csv->at[1] != '"') {
				quoted = false;
				continue;
			}
			csv->at++;
		} else if (!quoted && (byte == ',' || byte == '\n' || byte == '\r')) {
			break;
		}
		if (used < size)
			buf[used++] = byte;
	}
	*ret_more = csv->at < csv->end && *csv->at == ',';
	csv->at += *ret_more;
	return used;
}

/* One name, on one line. */
static bool put_column(FILE *to, const char *bytes, size_t len)
{
	bool cut = false;
	char *text = text_clean(bytes, len, COLUMN_BYTES, &len, &cut);

	for (size_t i = 0; text && i < len; i++)
		fputc((unsigned char)text[i] < ' ' || text[i] == 0x7f ? '?' : text[i], to);
	if (cut)
		fputs("...", to);
	free(text);
	return text != NULL;
}

static bool put_columns(FILE *to, struct span content)
{
	struct csv csv = { content.at,
			   content.at + (content.len < HEADER_SCANNED ? content.len : HEADER_SCANNED) };
	bool more = content.len > 0, good = true;
	size_t count = 0;
	char field[COLUMN_BYTES + 8];

	if (content.len >= 3 && memcmp(csv.at, "\xef\xbb\xbf", 3) == 0)
		csv.at += 3;
	fputs("# Columns: ", to);
	for (; more && good; count++) {
		size_t len = next_field(&csv, field, sizeof(field), &more);

		if (count >= COLUMNS_SHOWN)
			continue;
		fputs(count ? ", " : "", to);
		good = put_column(to, field, len);
	}
	if (count > COLUMNS_SHOWN)
		fprintf(to, " and %zu more", count - COLUMNS_SHOWN);
	fputc('\n', to);
	return good;
}

/* ---- snippets ---- */

/* A string in Python's quotes. */
static void put_quoted(FILE *to, const char *before, const char *text)
{
	const char *const parts[] = { before, text };

	fputc('"', to);
	for (size_t i = 0; i < 2; i++) {
		for (const char *at = parts[i]; *at; at++) {
			if (*at == '"' || *at == '\\')
				fprintf(to, "\\%c", *at);
			else if ((unsigned char)*at < ' ' || *at == 0x7f)
				fprintf(to, "\\x%02x", (unsigned)*at);
			else
				fputc(*at, to);
		}
	}
	fputc('"', to);
}

static void put_csv(FILE *to, const struct datafile *file, const char *directory, const char *variable)
{
	fputs("import csv\n\ncsv.field_size_limit(2**31 - 1)\nwith open(", to);
	put_quoted(to, directory, file->name);
	fprintf(to,
		", newline=\"\", encoding=\"utf-8-sig\", errors=\"replace\") as file:\n"
		"    reader = csv.DictReader(file)\n"
		"    columns = reader.fieldnames or []\n"
		"    %s = list(reader)\n"
		"print(\"%s: %%d rows, columns: %%s\" %% (len(%s), \", \".join(columns)))\n"
		"for row in %s[:5]:\n"
		"    print(row)\n",
		variable, file->name, variable, variable);
}

static void put_pandas(FILE *to, const struct datafile *file, const char *directory, const char *variable)
{
	fprintf(to, "import pandas\n\n%s = pandas.read_csv(", variable);
	put_quoted(to, directory, file->name);
	fprintf(to, ")\n%s.info()\nprint(%s.head())\n", variable, variable);
}

static int write_snippet(struct datafile *file, const struct datafile_options *options,
			 struct warder_error *err)
{
	const char *directory = options->directory ? options->directory : "";
	char variable[DATAFILE_MAX_NAME];
	size_t len = 0;
	FILE *to = open_memstream(&file->snippet, &len);
	bool good;

	if (!to)
		return error_no_memory(err, NULL);
	datafile_variable(file->name, variable, sizeof(variable));
	(options->pandas ? put_pandas : put_csv)(to, file, directory, variable);
	good = put_columns(to, file->content) && !ferror(to);
	if (fclose(to) != 0 || !good)
		return error_no_memory(err, NULL);
	return 0;
}

/* ---- staging ---- */

/* "text/csv", in any case, with or without parameters; `type` alone without what follows the slash: any of its kind. */
static bool is_type(const char *type, const char *wanted)
{
	size_t len = strlen(wanted);

	if (!type || strncasecmp(type, wanted, len) != 0)
		return false;
	return wanted[len - 1] == '/' || type[len] == '\0' || strchr("; \t", type[len]);
}

static int add_file(struct datafile_list *list, const struct datafile *given,
		    const struct datafile_options *options, struct warder_error *err)
{
	struct datafile *file = &list->files[list->count];
	const struct context_file *known;

	if (list->count == DATAFILE_MAX)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "messages",
				 "there are more than %d tables; give fewer messages", DATAFILE_MAX);
	*file = *given;
	snprintf(file->name, sizeof(file->name), "data_%zu_%zu.csv", file->message + 1, file->part + 1);
	known = context_file(options->context, file->name);
	file->is_stored = known && known->content.len == file->content.len &&
			  memcmp(known->content.at, file->content.at, file->content.len) == 0;
	file->is_processed = file->is_stored && context_is_processed(options->context, file->name);
	list->count++;
	return write_snippet(file, options, err);
}

static int add_message(struct datafile_list *list, const struct datafile_message *message, size_t i,
		       size_t *bytes, const struct datafile_options *options, struct warder_error *err)
{
	for (size_t j = 0; j < message->count; j++) {
		const struct datafile_part *part = &message->parts[j];
		const struct datafile file = { .message = i, .part = j, .content = part->content };

		if (!is_type(part->type, "text/csv"))
			continue;
		if (part->content.len > AGENT_MAX_TEXT_BYTES - *bytes)
			return delimiters_check_text(*bytes + part->content.len, err);
		*bytes += part->content.len;
		if (add_file(list, &file, options, err) != 0)
			return -1;
	}
	return 0;
}

int datafile_extract(const struct datafile_message *messages, size_t count,
		     const struct datafile_options *options, struct datafile_list *ret,
		     struct warder_error *err)
{
	static const struct datafile_options none = { 0 };
	struct datafile_list list = { .files = calloc(DATAFILE_MAX, sizeof(*list.files)) };
	size_t bytes = 0;

	if (!list.files)
		return error_no_memory(err, NULL);
	for (size_t i = 0; i < count; i++) {
		if (add_message(&list, &messages[i], i, &bytes, options ? options : &none, err) != 0) {
			datafile_list_done(&list);
			return -1;
		}
	}
	*ret = list;
	return 0;
}

void datafile_list_done(struct datafile_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->files[i].snippet);
	free(list->files);
	*list = (struct datafile_list){ 0 };
}

static const struct datafile *find_file(const struct datafile_list *list, size_t message, size_t part)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->files[i].message == message && list->files[i].part == part)
			return &list->files[i];
	}
	return NULL;
}

char *datafile_text(const struct datafile_message *messages, const struct datafile_list *list, size_t i,
		    size_t *ret_len)
{
	char *text = NULL;
	size_t len = 0;
	FILE *to = open_memstream(&text, &len);
	bool failed;

	if (!to)
		return NULL;
	for (size_t j = 0; j < messages[i].count; j++) {
		const struct datafile_part *part = &messages[i].parts[j];
		const struct datafile *file = find_file(list, i, j);

		if (file)
			fprintf(to, "\nAvailable file: `%s`\n", file->name);
		else if (is_type(part->type, "text/") && part->content.len)
			fwrite(part->content.at, 1, part->content.len, to);
	}
	failed = ferror(to);
	if (fclose(to) != 0 || failed) {
		free(text);
		return NULL;
	}
	*ret_len = len;
	return text;
}
