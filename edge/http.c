#include "edge/http.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"

/* What is left of a line or of a value. */
struct text {
	const char *at;
	size_t len;
};

struct request {
	struct text method;
	struct text target;
	struct text host;
	bool has_host, has_length, chunked, upgrades, old;
	uint64_t length;
};

static bool is_token(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool equals(struct text text, const char *word)
{
	return text.len == strlen(word) && strncasecmp(text.at, word, text.len) == 0;
}

/* To some servers "_" in the name of a header is the same as "-". */
static bool is_disguised(struct text name)
{
	static const char *const names[] = { "content-length", "transfer-encoding" };

	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		size_t same = 0;

		while (same < name.len && names[i][same] &&
		       (name.at[same] == '_' ? '-' : tolower((unsigned char)name.at[same])) == names[i][same])
			same++;
		if (same == name.len && !names[i][same])
			return true;
	}
	return false;
}

static bool contains(struct text text, const char *word)
{
	const size_t len = strlen(word);

	for (size_t i = 0; i + len <= text.len; i++)
		if (strncasecmp(text.at + i, word, len) == 0)
			return true;
	return false;
}

static bool all_digits(struct text text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.at[i] < '0' || text.at[i] > '9')
			return false;
	return text.len > 0;
}

static uint64_t number(struct text digits)
{
	uint64_t value = 0;

	for (size_t i = 0; i < digits.len; i++)
		value = value * 10 + (uint64_t)(digits.at[i] - '0');
	return value;
}

/* "host" or "host:port", as of this connection. */
static bool names_host(struct text authority, const char *name, uint16_t port)
{
	const char *colon = memchr(authority.at, ':', authority.len);
	struct text host = authority;

	if (colon) {
		const struct text digits = { colon + 1, authority.len - (size_t)(colon + 1 - authority.at) };

		if (!all_digits(digits) || digits.len > 5 || number(digits) != port)
			return false;
		host.len = (size_t)(colon - authority.at);
	}
	if (host.len && host.at[host.len - 1] == '.')
		host.len--;
	return equals(host, name);
}

/* The next line without its end, which is CR LF. False: it has another control character, or none of the two. */
static bool take_line(struct text *head, struct text *ret)
{
	const char *end = memchr(head->at, '\n', head->len);
	size_t len;

	if (!end || end == head->at || end[-1] != '\r')
		return false;
	len = (size_t)(end - head->at) - 1;
	for (size_t i = 0; i < len; i++) {
		const unsigned char c = (unsigned char)head->at[i];

		/* 0x85 ends a line to some programs. */
		if ((c < ' ' && c != '\t') || c == 0x7f || c == 0x85)
			return false;
	}
	*ret = (struct text){ head->at, len };
	head->at += len + 2;
	head->len -= len + 2;
	return true;
}

/* METHOD TARGET HTTP/1.x, with one space between them. */
static int read_request_line(struct text line, struct request *request, enum edge_reason *ret_why)
{
	const struct text rest = line;
	size_t method = 0;
	size_t target;

	*ret_why = EDGE_REASON_HTTP;
	while (method < rest.len && is_token(rest.at[method]))
		method++;
	if (method == 0 || method >= rest.len || rest.at[method] != ' ')
		return -1;
	target = method + 1;
	while (target < rest.len && (unsigned char)rest.at[target] > ' ')
		target++;
	request->target = (struct text){ rest.at + method + 1, target - method - 1 };
	if (!request->target.len || rest.len != target + 9 || rest.at[target] != ' ')
		return -1;
	if (strncmp(rest.at + target + 1, "HTTP/2", 6) == 0) {
		*ret_why = EDGE_REASON_HTTP2;
		return -1;
	}
	if (strncmp(rest.at + target + 1, "HTTP/1.", 7) != 0 ||
	    (rest.at[target + 8] != '0' && rest.at[target + 8] != '1'))
		return -1;
	request->old = rest.at[target + 8] == '0';
	request->method = (struct text){ rest.at, method };
	if (equals(request->method, "CONNECT")) {
		*ret_why = EDGE_REASON_CONNECT;
		return -1;
	}
	return 0;
}

static int read_header(struct text line, struct request *request, enum edge_reason *ret_why)
{
	size_t name_len = 0;
	struct text name;
	struct text value;

	*ret_why = EDGE_REASON_HTTP;
	while (name_len < line.len && is_token(line.at[name_len]))
		name_len++;
	if (name_len == 0 || name_len == line.len || line.at[name_len] != ':')
		return -1;
	name = (struct text){ line.at, name_len };
	value = (struct text){ line.at + name_len + 1, line.len - name_len - 1 };
	while (value.len && (*value.at == ' ' || *value.at == '\t'))
		value.at++, value.len--;
	while (value.len && (value.at[value.len - 1] == ' ' || value.at[value.len - 1] == '\t'))
		value.len--;
	if (equals(name, "host")) {
		if (request->has_host)
			return -1;
		request->has_host = true;
		request->host = value;
	} else if (equals(name, "content-length")) {
		if (request->has_length || !all_digits(value) || value.len > 18)
			return -1;
		request->has_length = true;
		request->length = number(value);
	} else if (equals(name, "transfer-encoding")) {
		if (request->chunked || !equals(value, "chunked"))
			return -1;
		request->chunked = true;
	} else if (equals(name, "upgrade")) {
		if (contains(value, "h2c")) {
			*ret_why = EDGE_REASON_HTTP2;
			return -1;
		}
		request->upgrades = true;
	} else if (is_disguised(name)) {
		return -1;
	}
	return 0;
}

static int check_host(const struct request *request, const char *name, uint16_t port,
		      enum edge_reason *ret_why, char *ret_other)
{
	static const char scheme[] = "http://";
	const size_t scheme_len = sizeof(scheme) - 1;
	struct text authority = request->host;
	bool same = names_host(authority, name, port);

	if (same && *request->target.at != '/' && !equals(request->target, "*")) {
		if (request->target.len <= scheme_len ||
		    strncasecmp(request->target.at, scheme, scheme_len) != 0) {
			*ret_why = EDGE_REASON_HTTP;
			return -1;
		}
		authority =
		    (struct text){ request->target.at + scheme_len, request->target.len - scheme_len };
		for (size_t i = 0; i < authority.len; i++)
			if (strchr("/?#", authority.at[i]))
				authority.len = i;
		same = names_host(authority, name, port);
	}
	if (same)
		return 0;
	*ret_why = EDGE_REASON_OTHER_NAME;
	snprintf(ret_other, 128, "%.*s", (int)(authority.len < 127 ? authority.len : 127), authority.at);
	return -1;
}

/* A whole head, with the empty line at its end. */
static int check_head(struct http *http, struct text head, const char *name, uint16_t port,
		      enum edge_reason *ret_why, char *ret_other)
{
	struct request request = { 0 };
	struct text line;

	*ret_why = EDGE_REASON_HTTP;
	if (!take_line(&head, &line))
		return -1;
	if (read_request_line(line, &request, ret_why) < 0)
		return -1;
	for (;;) {
		*ret_why = EDGE_REASON_HTTP;
		if (!take_line(&head, &line))
			return -1;
		if (line.len == 0)
			break;
		if (read_header(line, &request, ret_why) < 0)
			return -1;
	}
	/* HTTP/1.0 has no chunks: its servers may find the next request among them. */
	if (!request.has_host || (request.chunked && (request.has_length || request.old)) || head.len)
		return -1;
	if (check_host(&request, name, port, ret_why, ret_other) < 0)
		return -1;
	*ret_why = EDGE_REASON_HTTP;
	/* Many servers leave the body of such a request where it is, and find their next request in it. */
	if ((request.chunked || request.length) &&
	    (equals(request.method, "GET") || equals(request.method, "HEAD")))
		return -1;
	/* Only of the first request is it sure which answer is the server's to it. */
	if (request.upgrades && (http->later || request.chunked || request.length))
		return -1;
	http->later = true;
	http->left = request.length;
	http->state = request.upgrades  ? HTTP_UPGRADE
		      : request.chunked ? HTTP_CHUNK
		      : request.length  ? HTTP_BODY
					: HTTP_HEAD;
	return 0;
}

/* Length of the head, with its empty line; 0: it is not complete. */
static size_t head_length(const uint8_t *bytes, size_t len)
{
	const uint8_t *end = memmem(bytes, len, "\r\n\r\n", 4);

	return end ? (size_t)(end - bytes) + 4 : 0;
}

int http_hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

size_t http_chunk_size(const uint8_t *line, size_t len, uint64_t *ret)
{
	size_t at = 0;

	*ret = 0;
	while (at < len && http_hex_digit((char)line[at]) >= 0 && at < 15)
		*ret = *ret << 4 | (uint64_t)http_hex_digit((char)line[at++]);
	return at;
}

/* A chunk's size, and extensions, which have no control character. */
static int check_chunk_line(struct http *http, const uint8_t *line, size_t len)
{
	uint64_t size;
	size_t at = http_chunk_size(line, len, &size);

	if (at == 0 || (at < len && line[at] != ';'))
		return -1;
	for (; at < len; at++)
		if (line[at] < ' ' || line[at] >= 0x7f)
			return -1;
	http->left = size + 2;
	http->state = size ? HTTP_DATA : HTTP_TRAILER;
	return 0;
}

long http_line_length(const uint8_t *bytes, size_t len, size_t most)
{
	const uint8_t *end = memchr(bytes, '\n', len < most ? len : most);

	if (!end)
		return len >= most ? -1 : 0;
	return end > bytes && end[-1] == '\r' ? end - bytes + 1 : -1;
}

/* A line of a trailer is a header, and none that frames or names a request: a server that knows no trailers reads it as one. */
static int check_trailer_line(const uint8_t *bytes, size_t len)
{
	struct request request = { .has_host = true, .has_length = true, .chunked = true };
	struct text rest = { (const char *)bytes, len };
	enum edge_reason ignored;
	struct text line;

	return take_line(&rest, &line) ? read_header(line, &request, &ignored) : -1;
}

long http_step(struct http *http, const char *name, uint16_t port, const uint8_t *bytes, size_t len,
	       enum edge_reason *ret_why, char *ret_other)
{
	size_t n;
	long line;

	*ret_why = EDGE_REASON_HTTP;
	switch (http->state) {
	case HTTP_HEAD:
		n = head_length(bytes, len < HTTP_HEAD_MAX ? len : HTTP_HEAD_MAX);
		if (n == 0)
			return len >= HTTP_HEAD_MAX ? -1 : 0;
		return check_head(http, (struct text){ (const char *)bytes, n }, name, port, ret_why,
				  ret_other) < 0
			   ? -1
			   : (long)n;
	case HTTP_BODY:
		n = http->left < len ? (size_t)http->left : len;
		http->left -= n;
		if (http->left == 0)
			http->state = HTTP_HEAD;
		return (long)n;
	case HTTP_CHUNK:
		line = http_line_length(bytes, len, HTTP_CHUNK_LINE_MAX);
		if (line > 0 && check_chunk_line(http, bytes, (size_t)line - 2) < 0)
			return -1;
		return line;
	case HTTP_DATA:
		if (http->left > 2) {
			n = http->left - 2 < len ? (size_t)http->left - 2 : len;
			http->left -= n;
			return (long)n;
		}
		if (len < 2)
			return 0;
		if (bytes[0] != '\r' || bytes[1] != '\n')
			return -1;
		http->state = HTTP_CHUNK;
		return 2;
	case HTTP_TRAILER:
		line = http_line_length(bytes, len, HTTP_HEAD_MAX);
		if (line == 2)
			http->state = HTTP_HEAD;
		else if (line > 2 && check_trailer_line(bytes, (size_t)line) < 0)
			return -1;
		return line;
	case HTTP_UPGRADE:
		return 0;
	case HTTP_UPGRADED:
		return (long)len;
	}
	return -1;
}

int http_check(struct http *http, const char *name, uint16_t port, const uint8_t *bytes, size_t len,
	       size_t *ret_pass, enum edge_reason *ret_why, char *ret_other)
{
	size_t at = 0;

	while (at < len) {
		const long n = http_step(http, name, port, bytes + at, len - at, ret_why, ret_other);

		if (n < 0)
			return -1;
		if (n == 0)
			break;
		at += (size_t)n;
	}
	*ret_pass = at;
	return 0;
}

void http_answered(struct http *http, const uint8_t *bytes, size_t len)
{
	static const char switching[] = "HTTP/1.1 101";
	const size_t n = sizeof(switching) - 1;

	if (http->state == HTTP_UPGRADE)
		http->state = len >= n && memcmp(bytes, switching, n) == 0 ? HTTP_UPGRADED : HTTP_HEAD;
}

/* What servers take for the space between the words of a request's first line. Source: RFC 9112, 3; the rest is of Python's servers. */
static bool is_gap(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r' || (c >= 0x1c && c <= 0x1f) ||
	       c == 0x85 || c == 0xa0;
}

static bool is_control(uint8_t c)
{
	return c < ' ' || c == 0x7f;
}

bool http_is_method(const uint8_t *word, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!((word[i] >= 'A' && word[i] <= 'Z') || word[i] == '-' || word[i] == '_'))
			return false;
	return true;
}

/* "GET /": servers answer such a line of HTTP/0.9, which names no host. */
static bool is_oldest(const uint8_t *line, size_t word, size_t len)
{
	size_t at = word;

	while (at < len && is_gap(line[at]))
		at++;
	return word == 3 && memcmp(line, "GET", 3) == 0 && at < len &&
	       (line[at] == '/' || (len - at >= 4 && strncasecmp((const char *)line + at, "http", 4) == 0));
}

enum http_kind http_is(const uint8_t *bytes, size_t len, size_t *ret_word)
{
	static const char version[] = "HTTP/";
	const size_t version_len = sizeof(version) - 1;
	size_t at = 0;
	bool is_method;
	size_t most;

	*ret_word = 0;
	/* Servers pass over empty lines before a request. */
	if (len && (bytes[0] == '\r' || bytes[0] == '\n'))
		return HTTP_YES;
	while (at < len && !is_gap(bytes[at]) && !is_control(bytes[at]))
		at++;
	*ret_word = at;
	if (at == len)
		return HTTP_WORD;
	if (at == 0 || !is_gap(bytes[at]))
		return HTTP_NO;
	is_method = http_is_method(bytes, at);
	most = len - at < HTTP_LINE_MAX ? len : at + HTTP_LINE_MAX;
	/* Some servers take a target with spaces, and those that know the method also one with control characters. */
	for (; at < most; at++) {
		const uint8_t c = bytes[at];

		if (c == '\n')
			return is_oldest(bytes, *ret_word, at) ? HTTP_YES : HTTP_NO;
		if (c == '\0' || (is_control(c) && !is_gap(c) && !is_method))
			return HTTP_NO;
		if (is_gap(bytes[at - 1]) && most - at >= version_len &&
		    strncasecmp((const char *)bytes + at, version, version_len) == 0)
			return HTTP_YES;
	}
	/* A line without an end, longer than servers take: its version may still follow. */
	return len - *ret_word < HTTP_LINE_MAX ? HTTP_MAYBE : HTTP_YES;
}
