#include "host/wire/reply.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LINE_MAX_BYTES 256 /* of a chunk's line */
#define SIZE_DIGITS    15

void reply_init(struct reply *reply, size_t head_max, const struct reply_sink *sink)
{
	*reply = (struct reply){ .sink = *sink, .head_max = head_max, .length = REPLY_LENGTH_UNKNOWN };
}

static int refuse(struct reply *reply, const char *why, struct warder_error *err)
{
	reply->state = REPLY_FAILED;
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "the server in the sandbox sent %s", why);
}

/* ---- lines ---- */

static void forget_text(struct reply *reply)
{
	free(reply->text);
	reply->text = NULL;
	reply->text_len = reply->text_size = reply->line_at = 0;
}

static int keep(struct reply *reply, char byte, size_t most, struct warder_error *err)
{
	if (reply->text_len == most)
		return refuse(reply, "a head or a line that is too long", err);
	if (reply->text_len + 2 > reply->text_size) {
		const size_t size = reply->text_size ? 2 * reply->text_size : 512;
		char *grown = realloc(reply->text, size);

		if (!grown)
			return error_no_memory(err, NULL);
		reply->text = grown;
		reply->text_size = size;
	}
	reply->text[reply->text_len++] = byte;
	reply->text[reply->text_len] = '\0';
	return 0;
}

/* The text ends with a line feed: whether its last line is empty. The next line begins behind it. */
static bool ends_with_empty_line(struct reply *reply)
{
	const char *line = reply->text + reply->line_at;
	const size_t len = reply->text_len - reply->line_at;

	reply->line_at = reply->text_len;
	return len == 1 || (len == 2 && line[0] == '\r');
}

/* ---- the head ---- */

static bool is_token(const char *text)
{
	static const char allowed[] =
	    "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

	return *text && strspn(text, allowed) == strlen(text);
}

static bool has_control(const char *text)
{
	for (; *text; text++)
		if (((unsigned char)*text < ' ' && *text != '\t') || *text == 0x7f)
			return true;
	return false;
}

/* Cut the next line off; NULL: there is none. */
static char *take_line(char **at)
{
	char *line = *at;
	char *end = strchr(line, '\n');

	if (!end)
		return NULL;
	*at = end + 1;
	if (end > line && end[-1] == '\r')
		end--;
	*end = '\0';
	return line;
}

static bool take_status(struct reply *reply, const char *line)
{
	if (!line || strncmp(line, "HTTP/1.", 7) != 0 || strspn(line + 7, "0123456789") != 1 ||
	    line[8] != ' ' || strspn(line + 9, "0123456789") != 3 || (line[12] && line[12] != ' '))
		return false;
	reply->status = (unsigned int)strtoul(line + 9, NULL, 10);
	return reply->status >= 100 && reply->status < 600 && !has_control(line);
}

static bool take_header(struct reply *reply, char *line)
{
	char *value = strchr(line, ':');
	size_t len;

	if (!value || reply->header_count == REPLY_HEADERS_MAX)
		return false;
	*value++ = '\0';
	value += strspn(value, " \t");
	len = strlen(value);
	while (len && (value[len - 1] == ' ' || value[len - 1] == '\t'))
		value[--len] = '\0';
	reply->headers[reply->header_count++] = (struct reply_header){ line, value };
	return is_token(line) && !has_control(value);
}

/* How long the body is, by the headers. False: they contradict each other. */
static bool find_length(struct reply *reply, bool *ret_chunked)
{
	bool sized = false;

	*ret_chunked = false;
	for (size_t i = 0; i < reply->header_count; i++) {
		const char *value = reply->headers[i].value;
		const size_t digits = strspn(value, "0123456789");
		uint64_t length;

		if (strcasecmp(reply->headers[i].name, "Transfer-Encoding") == 0) {
			if (*ret_chunked || strcasecmp(value, "chunked") != 0)
				return false;
			*ret_chunked = true;
		} else if (strcasecmp(reply->headers[i].name, "Content-Length") == 0) {
			if (!digits || digits > SIZE_DIGITS || value[digits])
				return false;
			length = strtoull(value, NULL, 10);
			if (sized && reply->length != length)
				return false;
			sized = true;
			reply->length = length;
		}
	}
	if (*ret_chunked)
		reply->length = REPLY_LENGTH_UNKNOWN;
	return true;
}

static enum reply_state state_behind_head(struct reply *reply, bool chunked)
{
	if (reply->status == 101)
		return REPLY_UPGRADED;
	if (reply->bodiless || reply->status == 204 || reply->status == 304)
		return REPLY_OVER;
	if (chunked)
		return REPLY_CHUNK;
	if (reply->length == REPLY_LENGTH_UNKNOWN)
		return REPLY_UNTIL_END;
	reply->left = reply->length;
	return reply->left ? REPLY_BODY : REPLY_OVER;
}

static int take_head(struct reply *reply, struct warder_error *err)
{
	char *at = reply->text;
	bool chunked, good;

	reply->header_count = 0;
	reply->length = REPLY_LENGTH_UNKNOWN;
	good = strlen(at) == reply->text_len && take_status(reply, take_line(&at));
	for (char *line = good ? take_line(&at) : NULL; good && line && *line; line = take_line(&at))
		good = take_header(reply, line);
	if (!good || !find_length(reply, &chunked))
		return refuse(reply, "an answer that is not well-formed HTTP/1.1", err);
	if (reply->status == 101 && !reply->upgrades)
		return refuse(reply, "a change of the protocol that nobody asked for", err);
	if (reply->status < 200 && reply->status != 101 && ++reply->interim > REPLY_INTERIM_MAX)
		return refuse(reply, "too many interim answers", err);
	if (reply->status >= 200 || reply->status == 101) {
		reply->state = state_behind_head(reply, chunked);
		reply->sink.head(reply->sink.context, reply);
	}
	reply->header_count = 0;
	forget_text(reply);
	return 0;
}

/* ---- the body ---- */

static int take_chunk_line(struct reply *reply, struct warder_error *err)
{
	const size_t digits = strspn(reply->text, "0123456789abcdefABCDEF");

	if (!digits || digits > SIZE_DIGITS || !reply->text[digits] ||
	    !strchr(" \t;\r\n", reply->text[digits]))
		return refuse(reply, "a chunk without a valid size", err);
	reply->left = strtoull(reply->text, NULL, 16);
	reply->state = reply->left ? REPLY_DATA : REPLY_TRAILER;
	forget_text(reply);
	return 0;
}

/* One byte of a head or a line. */
static int take_byte(struct reply *reply, char byte, struct warder_error *err)
{
	const bool line = reply->state == REPLY_CHUNK || reply->state == REPLY_DATA_END;

	if (keep(reply, byte, line ? LINE_MAX_BYTES : reply->head_max, err) < 0)
		return -1;
	if (byte != '\n')
		return 0;
	if (reply->state == REPLY_CHUNK)
		return take_chunk_line(reply, err);
	if (!ends_with_empty_line(reply))
		return line ? refuse(reply, "a chunk that is longer than its size", err) : 0;
	if (reply->state == REPLY_HEAD)
		return take_head(reply, err);
	reply->state = reply->state == REPLY_TRAILER ? REPLY_OVER : REPLY_CHUNK;
	forget_text(reply);
	return 0;
}

/* Bytes of a body. Returns how many were taken. */
static size_t take_bytes(struct reply *reply, const char *bytes, size_t len)
{
	size_t part = len;

	if (reply->state != REPLY_UNTIL_END) {
		if (part > reply->left)
			part = (size_t)reply->left;
		reply->left -= part;
	}
	reply->sink.bytes(reply->sink.context, bytes, part);
	if (reply->state == REPLY_BODY && !reply->left)
		reply->state = REPLY_OVER;
	else if (reply->state == REPLY_DATA && !reply->left)
		reply->state = REPLY_DATA_END;
	return part;
}

int reply_take(struct reply *reply, const char *bytes, size_t len, size_t *ret_used, struct warder_error *err)
{
	size_t at = 0;

	*ret_used = 0;
	while (at < len) {
		switch (reply->state) {
		case REPLY_HEAD:
		case REPLY_CHUNK:
		case REPLY_DATA_END:
		case REPLY_TRAILER:
			if (take_byte(reply, bytes[at++], err) < 0)
				return -1;
			break;
		case REPLY_BODY:
		case REPLY_DATA:
		case REPLY_UNTIL_END:
			at += take_bytes(reply, bytes + at, len - at);
			break;
		case REPLY_UPGRADED:
		case REPLY_OVER:
			*ret_used = at;
			return 0;
		case REPLY_FAILED:
			return refuse(reply, "more behind an answer that was refused", err);
		}
	}
	*ret_used = at;
	return 0;
}

int reply_finish(struct reply *reply, struct warder_error *err)
{
	if (reply->state == REPLY_UNTIL_END)
		reply->state = REPLY_OVER;
	if (reply->state == REPLY_OVER || reply->state == REPLY_UPGRADED)
		return 0;
	return refuse(reply,
		      reply->state == REPLY_HEAD && !reply->text_len
			  ? "no answer"
			  : "a part of an answer, and closed the connection",
		      err);
}

void reply_done(struct reply *reply)
{
	forget_text(reply);
}
