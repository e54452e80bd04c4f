#include "edge/inject.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "edge/http.h"

#define TRAILER_LINE_MAX 8192

/* A request with the credential asks for an answer in which it can be found: whole, and not compressed. */
static const char *const dropped[] = { "accept-encoding", "range", "if-range", "te" };

/* ---- the secret ---- */

const char *inject_take_secret(struct inject_secret *secret, const char *bytes, size_t len)
{
	size_t matched = 0;

	if (len && bytes[len - 1] == '\n')
		len--;
	if (len && bytes[len - 1] == '\r')
		len--;
	if (len == 0)
		return "the file is empty";
	if (len < INJECT_SECRET_MIN)
		return "the secret has less than 8 bytes, which ordinary answers have by chance";
	if (len > INJECT_SECRET_MAX)
		return "the secret has more than 4096 bytes";
	for (size_t i = 0; i < len; i++)
		if (bytes[i] < ' ' || bytes[i] > '~')
			return bytes[i] == '\n' || bytes[i] == '\r'
				   ? "the file has more than one line"
				   : "the secret has a character that a header cannot have";
	if (bytes[0] == ' ' || bytes[len - 1] == ' ')
		return "the secret begins or ends with a blank";
	memcpy(secret->bytes, bytes, len);
	secret->len = len;
	secret->fallback[0] = secret->fallback[1] = 0;
	for (size_t i = 1; i < len; i++) {
		while (matched && bytes[i] != bytes[matched])
			matched = secret->fallback[matched];
		matched += bytes[i] == bytes[matched];
		secret->fallback[i + 1] = (uint16_t)matched;
	}
	return NULL;
}

/* How much of the secret ends at the last byte; secret->len: all of it was there. */
static size_t search(const struct inject_secret *secret, size_t matched, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		const char c = (char)bytes[i];

		while (matched && c != secret->bytes[matched])
			matched = secret->fallback[matched];
		matched += c == secret->bytes[matched];
		if (matched == secret->len)
			return matched;
	}
	return matched;
}

/* ---- requests ---- */

const struct edge_inject *inject_of(const struct edge_config *config, const char *name, uint16_t port)
{
	for (size_t i = 0; i < config->inject_count; i++) {
		const struct edge_inject *rule = &config->injects[i];

		if (strcmp(rule->host, name) != 0)
			continue;
		for (size_t j = 0; j < rule->port_count; j++)
			if (rule->ports[j] == port)
				return rule;
	}
	return NULL;
}

/* Decode once. False: two programs may read it in two ways. */
static bool decode(const char *target, size_t len, char *out, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < len && target[i] != '?'; i++) {
		unsigned char c = (unsigned char)target[i];

		if (c == '%') {
			if (i + 2 >= len || http_hex_digit(target[i + 1]) < 0 ||
			    http_hex_digit(target[i + 2]) < 0)
				return false;
			c = (unsigned char)(http_hex_digit(target[i + 1]) << 4 |
					    http_hex_digit(target[i + 2]));
			i += 2;
			/* A server that decodes twice, or before it looks for segments or the query, finds another path. */
			if (c == '/' || c == '%' || c == '\\' || c == '?' || c == '#' || c == ';')
				return false;
		}
		if (c < ' ' || c == 0x7f || c == '\\' || c == '#' || n + 1 >= size)
			return false;
		out[n++] = (char)c;
	}
	out[n] = '\0';
	return out[0] == '/';
}

static bool has_odd_segment(const char *path)
{
	for (const char *at = path; (at = strchr(at, '/')); at++) {
		const char *segment = at + 1;
		const size_t len = strcspn(segment, "/;"); /* servers cut off ";..." */

		if ((len == 0 && *segment) || (len == 1 && segment[0] == '.') ||
		    (len == 2 && strncmp(segment, "..", 2) == 0))
			return true;
	}
	return false;
}

enum inject_path inject_path(const struct edge_inject *rule, const char *target, size_t len)
{
	char path[8192];

	if (!decode(target, len, path, sizeof(path)) || has_odd_segment(path))
		return INJECT_PATH_UNCLEAR;
	for (size_t i = 0; i < rule->path_count; i++) {
		const char *listed = rule->paths[i];
		const size_t listed_len = strlen(listed);

		if (strcmp(path, listed) == 0 ||
		    (listed[listed_len - 1] == '/' && strncmp(path, listed, listed_len) == 0))
			return INJECT_PATH_LISTED;
	}
	return INJECT_PATH_OTHER;
}

static bool is_word(const char *text, size_t len, const char *word)
{
	return len == strlen(word) && strncasecmp(text, word, len) == 0;
}

static bool has_method(const struct edge_inject *rule, const char *method, size_t len)
{
	for (size_t i = 0; i < rule->method_count; i++)
		if (strlen(rule->methods[i]) == len && memcmp(rule->methods[i], method, len) == 0)
			return true;
	return rule->method_count == 0;
}

/* Whether a header of the request does not go on. */
static bool is_dropped(const struct edge_inject *rule, bool granted, const char *name, size_t len)
{
	if (is_word(name, len, rule->header))
		return true;
	for (size_t i = 0; granted && i < sizeof(dropped) / sizeof(dropped[0]); i++)
		if (is_word(name, len, dropped[i]))
			return true;
	return false;
}

static size_t put(uint8_t *out, size_t at, const void *bytes, size_t len)
{
	memcpy(out + at, bytes, len);
	return at + len;
}

static size_t put_text(uint8_t *out, size_t at, const char *text)
{
	return put(out, at, text, strlen(text));
}

long inject_request(const struct edge_inject *rule, const struct inject_secret *secret, const uint8_t *head,
		    size_t len, uint8_t *out, bool *ret_is_head, enum edge_reason *ret_why)
{
	const char *const line = (const char *)head;
	const char *const end = line + len - 2; /* of the headers: an empty line follows */
	const char *space = memchr(line, ' ', len);
	const char *target = space + 1;
	const char *target_end = memchr(target, ' ', (size_t)(end - target));
	const size_t method = (size_t)(space - line);
	const size_t target_len = (size_t)(target_end - target);
	const char *at = (const char *)memchr(line, '\n', len) + 1;
	bool granted = has_method(rule, line, method);
	size_t n;

	*ret_is_head = method == 4 && memcmp(line, "HEAD", 4) == 0;
	if (is_word(line, method, "TRACE")) {
		*ret_why = EDGE_REASON_METHOD;
		return -1;
	}
	/* Over TLS a client names no other place in the target; "*" is that of OPTIONS. */
	if (*target != '/' && !(target_len == 1 && *target == '*' && is_word(line, method, "OPTIONS"))) {
		*ret_why = EDGE_REASON_PATH;
		return -1;
	}
	if (*target == '*') {
		granted = false;
	} else if (rule->path_count) {
		const enum inject_path path = inject_path(rule, target, target_len);

		if (path == INJECT_PATH_UNCLEAR) {
			*ret_why = EDGE_REASON_PATH;
			return -1;
		}
		granted = granted && path == INJECT_PATH_LISTED;
	}
	n = put(out, 0, line, (size_t)(at - line));
	while (at < end) {
		const char *next = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;
		const char *colon = memchr(at, ':', (size_t)(next - at));

		if (!is_dropped(rule, granted, at, (size_t)(colon - at)))
			n = put(out, n, at, (size_t)(next - at));
		at = next;
	}
	if (granted) {
		n = put_text(out, n, rule->header);
		n = put_text(out, n, ": ");
		n = put_text(out, n, rule->before);
		n = put(out, n, secret->bytes, secret->len);
		n = put_text(out, n, rule->after);
		n = put_text(out, n, "\r\nAccept-Encoding: identity\r\n");
	}
	return (long)put_text(out, n, "\r\n");
}

/* ---- answers ---- */

void answer_begin(struct answer *answer, bool to_head)
{
	*answer = (struct answer){ .state = ANSWER_HEAD, .to_head = to_head };
}

typedef bool pass_function(void *context, const void *bytes, size_t len);

/* Bytes of a body: in chunks of our own, if it has chunks. */
static bool pass_data(const struct answer *answer, const void *bytes, size_t len, pass_function *pass,
		      void *context)
{
	char line[32];

	if (len == 0)
		return true;
	if (!answer->chunked)
		return pass(context, bytes, len);
	return pass(context, line, (size_t)snprintf(line, sizeof(line), "%zx\r\n", len)) &&
	       pass(context, bytes, len) && pass(context, "\r\n", 2);
}

/* What was held back was not the secret. */
static bool pass_held(struct answer *answer, const struct inject_secret *secret, size_t len,
		      pass_function *pass, void *context)
{
	answer->matched -= len;
	return pass_data(answer, secret->bytes, len, pass, context);
}

/* Bytes of a body. All but what may be the beginning of the secret passes. False: the secret is in it, or `pass` stopped. */
static bool scan(struct answer *answer, const struct inject_secret *secret, const uint8_t *bytes, size_t len,
		 pass_function *pass, void *context, enum edge_reason *ret_why)
{
	const size_t before = answer->matched;
	const size_t matched = search(secret, before, bytes, len);
	const size_t total = before + len;
	const size_t go = total - matched;
	const size_t of_held = go < before ? go : before;

	*ret_why = EDGE_REASON_SECRET;
	if (matched == secret->len)
		return false;
	*ret_why = EDGE_REASON_EXHAUSTED;
	if (!pass_held(answer, secret, of_held, pass, context) ||
	    !pass_data(answer, bytes, go - of_held, pass, context))
		return false;
	answer->matched = matched;
	return true;
}

static bool finish(struct answer *answer, const struct inject_secret *secret, pass_function *pass,
		   void *context)
{
	if (!pass_held(answer, secret, answer->matched, pass, context) ||
	    (answer->chunked && !pass(context, "0\r\n\r\n", 5)))
		return false;
	answer->state = ANSWER_NONE;
	return true;
}

struct answer_head {
	unsigned int status;
	bool chunked, has_length;
	uint64_t length;
};

static bool read_number(const char *text, size_t len, uint64_t *ret)
{
	uint64_t value = 0;

	if (len == 0 || len > 18)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		value = value * 10 + (uint64_t)(text[i] - '0');
	}
	*ret = value;
	return true;
}

static bool read_field(const char *line, size_t len, struct answer_head *head)
{
	const char *colon = memchr(line, ':', len);
	const char *value;
	size_t value_len;
	uint64_t length;

	if (!colon || colon == line || *line == ' ' || *line == '\t' || colon[-1] == ' ' ||
	    colon[-1] == '\t' || memchr(line, '\r', len) || memchr(line, '\0', len))
		return false;
	value = colon + 1;
	value_len = len - (size_t)(value - line);
	while (value_len && (*value == ' ' || *value == '\t'))
		value++, value_len--;
	while (value_len && (value[value_len - 1] == ' ' || value[value_len - 1] == '\t'))
		value_len--;
	if (is_word(line, (size_t)(colon - line), "content-length")) {
		if (!read_number(value, value_len, &length) || (head->has_length && head->length != length))
			return false;
		head->has_length = true;
		head->length = length;
	} else if (is_word(line, (size_t)(colon - line), "transfer-encoding")) {
		if (head->chunked || !is_word(value, value_len, "chunked"))
			return false;
		head->chunked = true;
	}
	return true;
}

static bool read_head(const char *text, size_t len, struct answer_head *ret)
{
	const char *at = text;
	const char *const end = text + len - 2;

	*ret = (struct answer_head){ 0 };
	for (bool first = true; at < end; first = false) {
		const char *next = memchr(at, '\n', (size_t)(end - at));
		size_t line;

		if (!next || next == at || next[-1] != '\r')
			return false;
		line = (size_t)(next - at) - 1;
		if (first) {
			if (line < 12 || strncmp(at, "HTTP/1.", 7) != 0 || at[8] != ' ' ||
			    (line > 12 && at[12] != ' '))
				return false;
			for (int i = 9; i < 12; i++) {
				if (at[i] < '0' || at[i] > '9')
					return false;
				ret->status = ret->status * 10 + (unsigned int)(at[i] - '0');
			}
		} else if (!read_field(at, line, ret)) {
			return false;
		}
		at = next + 1;
	}
	return ret->status >= 100 && !(ret->chunked && ret->has_length);
}

static long take_head(struct answer *answer, const struct inject_secret *secret, const uint8_t *bytes,
		      size_t len, pass_function *pass, void *context, enum edge_reason *ret_why)
{
	const uint8_t *end = memmem(bytes, len, "\r\n\r\n", 4);
	const size_t n = end ? (size_t)(end - bytes) + 4 : 0;
	struct answer_head head;

	*ret_why = EDGE_REASON_ANSWER;
	if (!end)
		return len >= INJECT_ANSWER_HEAD ? -1 : 0;
	if (!read_head((const char *)bytes, n, &head) || head.status == 101)
		return -1;
	*ret_why = EDGE_REASON_SECRET;
	if (memmem(bytes, n, secret->bytes, secret->len))
		return -1;
	*ret_why = EDGE_REASON_EXHAUSTED;
	if (!pass(context, bytes, n))
		return -1;
	if (head.status < 200)
		return (long)n;
	answer->matched = 0;
	answer->left = head.length;
	if (answer->to_head || head.status == 204 || head.status == 304)
		answer->state = ANSWER_NONE;
	else if (head.chunked)
		answer->state = ANSWER_CHUNK, answer->chunked = true;
	else if (!head.has_length)
		answer->state = ANSWER_REST;
	else
		answer->state = head.length ? ANSWER_LENGTH : ANSWER_NONE;
	return (long)n;
}

static bool read_chunk_size(const uint8_t *line, size_t len, uint64_t *ret)
{
	const size_t at = http_chunk_size(line, len, ret);

	return at > 0 && (at == len || line[at] == ';' || line[at] == ' ');
}

long answer_step(struct answer *answer, const struct inject_secret *secret, const uint8_t *bytes, size_t len,
		 pass_function *pass, void *context, enum edge_reason *ret_why)
{
	size_t n = len;
	long line;

	*ret_why = EDGE_REASON_ANSWER;
	if (len == 0)
		return 0;
	switch (answer->state) {
	case ANSWER_NONE:
		return -1;
	case ANSWER_HEAD:
		return take_head(answer, secret, bytes, len, pass, context, ret_why);
	case ANSWER_LENGTH:
	case ANSWER_DATA:
		n = answer->left < len ? (size_t)answer->left : len;
		if (!scan(answer, secret, bytes, n, pass, context, ret_why))
			return -1;
		answer->left -= n;
		if (answer->left == 0 && answer->state == ANSWER_DATA)
			answer->state = ANSWER_LINE;
		else if (answer->left == 0 && !finish(answer, secret, pass, context))
			return -1;
		return (long)n;
	case ANSWER_LINE:
		if (len < 2)
			return 0;
		answer->state = ANSWER_CHUNK;
		return bytes[0] == '\r' && bytes[1] == '\n' ? 2 : -1;
	case ANSWER_CHUNK:
		line = http_line_length(bytes, len, HTTP_CHUNK_LINE_MAX);
		if (line <= 0)
			return line;
		if (!read_chunk_size(bytes, (size_t)line - 2, &answer->left))
			return -1;
		answer->state = answer->left ? ANSWER_DATA : ANSWER_TRAILER;
		return line;
	case ANSWER_TRAILER:
		/* Nothing of it passes. */
		line = http_line_length(bytes, len, TRAILER_LINE_MAX);
		if (line == 2 && !finish(answer, secret, pass, context))
			return -1;
		return line;
	case ANSWER_REST:
		return scan(answer, secret, bytes, len, pass, context, ret_why) ? (long)len : -1;
	}
	return -1;
}

bool answer_end(struct answer *answer, const struct inject_secret *secret, pass_function *pass, void *context)
{
	return answer->state == ANSWER_NONE ||
	       (answer->state == ANSWER_REST && finish(answer, secret, pass, context));
}
