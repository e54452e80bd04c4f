/*
 * multipart: parts between boundaries.
 *
 * The delimiter is CR LF "--" and the boundary. CR comes only at its beginning, because a boundary has none. So after a mismatch no suffix of
 * the matched bytes can begin a delimiter: they are content, and the search goes on with the byte that did not match. Matched bytes need not
 * be kept either, because they are those of the delimiter. The body begins as if a CR LF stood before it.
 */
#include "host/wire/multipart.h"

#include <string.h>
#include <strings.h>

#include "base/json.h"

static int refuse(struct warder_error *err, const char *text)
{
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "multipart/form-data: %s", text);
}

static bool is_token(char c)
{
	return c > ' ' && c < 0x7f && !strchr("()<>@,;:\\\"/[]?={}", c);
}

static bool is_boundary_char(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       (c && strchr("'()+_,-./:=? ", c));
}

static void skip_blanks(char **at)
{
	while (**at == ' ' || **at == '\t')
		(*at)++;
}

/* A token, ended by a NUL that is put in place of what follows it, which is returned in *ret_next; NULL: there is none. */
static char *take_token(char **at, char *ret_next)
{
	char *token = *at;

	while (is_token(**at))
		(*at)++;
	if (*at == token)
		return NULL;
	*ret_next = **at;
	**at = '\0';
	return token;
}

/* The value of a parameter: a token, or a quoted string, in which a backslash may stand before a quotation mark or a backslash. Ended by a
 * NUL in place. NULL: it is neither. *ret_next: the character behind it. */
static char *take_value(char **at, char *ret_next)
{
	char *value, *to;

	if (**at != '"')
		return take_token(at, ret_next);
	value = to = ++*at;
	for (; **at != '"'; (*at)++) {
		if (**at == '\0')
			return NULL;
		if (**at == '\\' && ((*at)[1] == '"' || (*at)[1] == '\\'))
			(*at)++;
		*to++ = **at;
	}
	*ret_next = *++*at;
	*to = '\0';
	return value;
}

/* Go on to the next "; name=value". 1 with both, in place; 0: there is none; -1: it is malformed. `next` is the character that stands, or
 * stood, at *at. */
static int next_parameter(char **at, char *next, char **ret_name, char **ret_value)
{
	while (*next == ' ' || *next == '\t')
		*next = *++*at;
	if (*next == '\0')
		return 0;
	if (*next != ';')
		return -1;
	++*at;
	skip_blanks(at);
	if (**at == '\0')
		return 0; /* a semicolon at the end */
	*ret_name = take_token(at, next);
	if (!*ret_name || *next != '=')
		return -1;
	++*at;
	*ret_value = take_value(at, next);
	return *ret_value ? 1 : -1;
}

/* ---- the beginning ---- */

static int set_boundary(struct multipart *parser, const char *boundary, struct warder_error *err)
{
	const size_t len = strlen(boundary);

	if (len == 0 || len > MULTIPART_BOUNDARY_MAX)
		return refuse(err, "the boundary must have 1 to 70 characters");
	for (size_t i = 0; i < len; i++)
		if (!is_boundary_char(boundary[i]))
			return refuse(err, "the boundary has a character that RFC 2046 does not allow");
	if (boundary[len - 1] == ' ')
		return refuse(err, "the boundary ends with a blank");
	memcpy(parser->delimiter, "\r\n--", 4);
	memcpy(parser->delimiter + 4, boundary, len + 1);
	parser->delimiter_len = 4 + len;
	return 0;
}

int multipart_init(struct multipart *parser, const char *content_type, const struct multipart_sink *sink,
		   struct warder_error *err)
{
	static const char type[] = "multipart/form-data";
	char text[512];
	char *at = text, *name, *value, next;
	const char *boundary = NULL;
	int found;

	memset(parser, 0, sizeof(*parser));
	parser->sink = *sink;
	parser->matched = 2;
	if (!content_type || strlen(content_type) >= sizeof(text))
		return refuse(err, "the Content-Type is missing or longer than 511 characters");
	strcpy(text, content_type);
	if (strncasecmp(text, type, sizeof(type) - 1) != 0)
		return refuse(err, "the Content-Type is another one");
	at += sizeof(type) - 1;
	next = *at;
	while ((found = next_parameter(&at, &next, &name, &value)) == 1) {
		if (strcasecmp(name, "boundary") != 0)
			continue;
		if (boundary)
			return refuse(err, "the Content-Type names two boundaries");
		boundary = value;
	}
	if (found < 0)
		return refuse(err, "the Content-Type is malformed");
	if (!boundary)
		return refuse(err, "the Content-Type names no boundary");
	return set_boundary(parser, boundary, err);
}

/* ---- the head of a part ---- */

struct disposition {
	char *name, *filename;
};

static int parse_disposition(char *at, struct disposition *ret, struct warder_error *err)
{
	char next = '\0', *name, *value;
	const char *kind = take_token(&at, &next);
	int found;

	if (!kind || strcasecmp(kind, "form-data") != 0)
		return refuse(err, "the Content-Disposition of a part is not form-data");
	if (ret->name)
		return refuse(err, "a part has two lines Content-Disposition");
	while ((found = next_parameter(&at, &next, &name, &value)) == 1) {
		char **to = strcasecmp(name, "name") == 0       ? &ret->name
			    : strcasecmp(name, "filename") == 0 ? &ret->filename
								: NULL;

		if (strcasecmp(name, "filename*") == 0)
			return refuse(err, "filename* is not supported; send filename");
		if (to && *to)
			return refuse(err, "a part has two names of one kind");
		if (to && !json_is_utf8(value))
			return refuse(err, "the name of a part is not UTF-8");
		if (to)
			*to = value;
	}
	if (found < 0)
		return refuse(err, "the Content-Disposition of a part is malformed");
	return ret->name ? 0 : refuse(err, "a part has no name");
}

static int parse_line(char *line, struct disposition *ret, struct warder_error *err)
{
	char *at = line;
	char next = '\0';
	const char *name = take_token(&at, &next);

	if (!name || next != ':')
		return refuse(err, "a line in the head of a part is malformed");
	at++;
	skip_blanks(&at);
	if (strcasecmp(name, "Content-Disposition") == 0)
		return parse_disposition(at, ret, err);
	if (strcasecmp(name, "Content-Transfer-Encoding") == 0 && strcasecmp(at, "binary") != 0 &&
	    strcasecmp(at, "8bit") != 0 && strcasecmp(at, "7bit") != 0)
		return refuse(err, "Content-Transfer-Encoding is not supported; send the bytes as they are");
	return 0;
}

/* The whole head is there, up to its empty line. */
static int parse_head(struct multipart *parser, struct warder_error *err)
{
	struct disposition found = { 0 };
	char *line = parser->head;

	if (++parser->parts > MULTIPART_PARTS_MAX)
		return refuse(err, "more than 4096 parts");
	parser->head[parser->head_len] = '\0';
	if (strlen(parser->head) != parser->head_len)
		return refuse(err, "a NUL in the head of a part");
	for (char *end; (end = strstr(line, "\r\n")) && end != line; line = end + 2) {
		*end = '\0';
		if (parse_line(line, &found, err) < 0)
			return -1;
	}
	if (!found.name)
		return refuse(err, "a part has no Content-Disposition");
	return parser->sink.begin(parser->sink.context, found.name, found.filename, err);
}

static bool head_is_whole(const struct multipart *parser)
{
	const char *end = parser->head + parser->head_len;

	return (parser->head_len == 2 && memcmp(parser->head, "\r\n", 2) == 0) ||
	       (parser->head_len >= 4 && memcmp(end - 4, "\r\n\r\n", 4) == 0);
}

/* Returns the bytes that it used; -1 with *err. */
static ssize_t take_head(struct multipart *parser, const char *bytes, size_t len, struct warder_error *err)
{
	for (size_t i = 0; i < len; i++) {
		if (parser->head_len == MULTIPART_HEAD_MAX)
			return refuse(err, "the head of a part is longer than 16384 bytes");
		parser->head[parser->head_len++] = bytes[i];
		if (bytes[i] != '\n' || !head_is_whole(parser))
			continue;
		if (parse_head(parser, err) < 0)
			return -1;
		parser->state = MULTIPART_BYTES;
		parser->matched = 0;
		return (ssize_t)i + 1;
	}
	return (ssize_t)len;
}

/* ---- boundaries and bytes ---- */

static int pass_on(struct multipart *parser, const char *bytes, size_t len, struct warder_error *err)
{
	if (len == 0)
		return 0;
	if (parser->state == MULTIPART_BYTES)
		return parser->sink.bytes(parser->sink.context, bytes, len, err);
	parser->skipped += len;
	if (parser->skipped > MULTIPART_HEAD_MAX)
		return refuse(err, "no boundary within the first 16384 bytes");
	return 0;
}

/* Content up to the next delimiter. Returns the bytes that it used; -1 with *err. */
static ssize_t take_bytes(struct multipart *parser, const char *bytes, size_t len, struct warder_error *err)
{
	size_t from = 0; /* of the content that is not passed on yet */
	size_t at = 0;

	while (at < len && parser->matched < parser->delimiter_len) {
		if (bytes[at] == parser->delimiter[parser->matched]) {
			if (parser->matched == 0 && pass_on(parser, bytes + from, at - from, err) < 0)
				return -1;
			parser->matched++;
			from = ++at;
		} else if (parser->matched) {
			if (pass_on(parser, parser->delimiter, parser->matched, err) < 0)
				return -1;
			parser->matched = 0;
		} else {
			const char *next = memchr(bytes + at, '\r', len - at);

			at = next ? (size_t)(next - bytes) : len;
		}
	}
	if (pass_on(parser, bytes + from, at - from, err) < 0)
		return -1;
	if (parser->matched < parser->delimiter_len)
		return (ssize_t)at;
	if (parser->state == MULTIPART_BYTES && parser->sink.end(parser->sink.context, err) < 0)
		return -1;
	parser->state = MULTIPART_BOUNDARY_END;
	parser->skipped = 0;
	parser->last = '\0';
	return (ssize_t)at;
}

/* Behind a boundary stands "--" or, after blanks, a line end. */
static int take_boundary_end(struct multipart *parser, char c, struct warder_error *err)
{
	if (parser->last == '-' && c == '-') {
		parser->state = MULTIPART_EPILOGUE;
	} else if (parser->last == '\r' && c == '\n') {
		parser->state = MULTIPART_HEAD;
		parser->head_len = 0;
	} else if (parser->last || (c != '-' && c != '\r' && c != ' ' && c != '\t') ||
		   (c == '-' && parser->skipped) || ++parser->skipped > 256) {
		return refuse(err, "neither a line end nor \"--\" stands behind a boundary");
	} else if (c == '-' || c == '\r') {
		parser->last = c;
	}
	return 0;
}

static ssize_t step(struct multipart *parser, const char *bytes, size_t len, struct warder_error *err)
{
	switch (parser->state) {
	case MULTIPART_PREAMBLE:
	case MULTIPART_BYTES:
		return take_bytes(parser, bytes, len, err);
	case MULTIPART_BOUNDARY_END:
		return take_boundary_end(parser, bytes[0], err) < 0 ? -1 : 1;
	case MULTIPART_HEAD:
		return take_head(parser, bytes, len, err);
	case MULTIPART_EPILOGUE:
		return (ssize_t)len;
	case MULTIPART_FAILED:
		break;
	}
	return refuse(err, "the body was refused before");
}

int multipart_take(struct multipart *parser, const char *bytes, size_t len, struct warder_error *err)
{
	while (len) {
		const ssize_t used = step(parser, bytes, len, err);

		if (used < 0) {
			parser->state = MULTIPART_FAILED;
			return -1;
		}
		bytes += used;
		len -= (size_t)used;
	}
	return 0;
}

int multipart_finish(const struct multipart *parser, struct warder_error *err)
{
	if (parser->state == MULTIPART_EPILOGUE)
		return 0;
	return refuse(err, "the body ends before its closing boundary");
}
