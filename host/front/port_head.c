#include "host/front/port.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"

/* ---- names ---- */

/* Whatever the case. To some servers "_" in the name of a header is the same as "-". */
static bool is_name(const char *name, const char *other)
{
	for (; *name && *other; name++, other++) {
		const char c = *name == '_' ? '-' : *name;

		if (c != *other && (c < 'A' || c > 'Z' || c + 32 != *other))
			return false;
	}
	return !*name && !*other;
}

/* What concerns one connection, in either direction. */
static bool is_of_connection(const char *name)
{
	static const char *const names[] = { "connection", "keep-alive",        "proxy-connection",
					     "te",         "trailer",           "proxy-authenticate",
					     "upgrade",    "transfer-encoding", "proxy-authorization",
					     "expect",     "content-length" };

	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		if (is_name(name, names[i]))
			return true;
	return false;
}

/* Whether a header has this word among others. */
static bool has_word(const char *header, const char *word)
{
	const size_t len = strlen(word);

	for (const char *at = header; at && *at; at += strspn(at, " \t,")) {
		const size_t here = strcspn(at, " \t,");

		if (here == len && strncasecmp(at, word, len) == 0)
			return true;
		at += here;
	}
	return false;
}

/* ---- the request ---- */

struct writing {
	FILE *file;
	const char *connection; /* the header of the client; or NULL */
	bool encrypted;
	const char *wrong; /* why it cannot be passed on; or NULL */
};

static bool is_well_formed(const char *name, const char *value)
{
	for (const char *at = name; *at; at++)
		if ((unsigned char)*at <= ' ' || *at == ':' || *at == 0x7f)
			return false;
	for (const char *at = value; *at; at++)
		if (((unsigned char)*at < ' ' && *at != '\t') || *at == 0x7f)
			return false;
	return *name;
}

/* Keys of this host: tokens of tenants and of sandboxes. */
static bool is_key(const char *name, const char *value)
{
	static const char *const keys[] = { "e2b_", "sbx_", "trf_" };

	if (!is_name(name, "authorization") && !is_name(name, "x-api-key"))
		return false;
	value += strncasecmp(value, "Bearer ", 7) == 0 ? 7 : 0;
	value += strspn(value, " ");
	for (size_t i = 0; i < ARRAY_LENGTH(keys); i++)
		if (strncmp(value, keys[i], strlen(keys[i])) == 0)
			return true;
	return false;
}

static bool is_for_host(const char *name)
{
	static const char *const names[] = { "host",           "e2b-traffic-access-token", "x-access-token",
					     "e2b-sandbox-id", "e2b-sandbox-port",         "x-warder-page" };

	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		if (is_name(name, names[i]))
			return true;
	return false;
}

/* All cookies but the page's. */
static void write_cookies(FILE *file, const char *value)
{
	const char *between = "Cookie: ";

	for (const char *at = value; *at; at += strcspn(at, ";")) {
		size_t len;

		at += strspn(at, " ;");
		len = strcspn(at, ";");
		if (!len || page_is_cookie(at))
			continue;
		fprintf(file, "%s%.*s", between, (int)len, at);
		between = "; ";
	}
	if (*between == ';')
		fputs("\r\n", file);
}

static bool write_header(void *of, const char *name, const char *value)
{
	struct writing *writing = of;

	if (!is_well_formed(name, value)) {
		writing->wrong = "a header has a control character";
		return false;
	}
	if (is_name(name, "cookie"))
		write_cookies(writing->file, value);
	else if (!is_of_connection(name) && !is_for_host(name) && !is_key(name, value) &&
		 !has_word(writing->connection, name) &&
		 !(writing->encrypted && is_name(name, "x-forwarded-proto")))
		fprintf(writing->file, "%s: %s\r\n", name, value);
	return true;
}

/* Only a path can be passed on. */
static bool is_target(const char *target)
{
	if (!target || *target != '/')
		return false;
	for (; *target; target++)
		if ((unsigned char)*target <= ' ' || *target == 0x7f)
			return false;
	return true;
}

static bool wants_websocket(const struct exchange *x)
{
	return has_word(exchange_header(x, "Connection"), "upgrade") &&
	       has_word(exchange_header(x, "Upgrade"), "websocket") && strcmp(x->method, "GET") == 0;
}

static void write_length(struct exchange *x, FILE *file, struct port_head *ret)
{
	const char *coding = exchange_header(x, "Transfer-Encoding");
	const char *length = exchange_header(x, "Content-Length");

	ret->chunked = coding != NULL;
	if (ret->chunked)
		fputs("Transfer-Encoding: chunked\r\n", file);
	else if (length)
		fprintf(file, "Content-Length: %llu\r\n", strtoull(length, NULL, 10));
}

int port_make_head(struct exchange *x, struct port_head *ret)
{
	struct writing writing = { .connection = exchange_header(x, "Connection"),
				   .encrypted = exchange_is_encrypted(x) };
	const char *target = exchange_target(x);

	*ret = (struct port_head){ .upgrades = wants_websocket(x) };
	if (!is_target(target) || !is_well_formed(x->method, "")) {
		exchange_fail(
		    x, target ? 400 : 414,
		    target ? "a request to a sandbox needs a method and a path that are well-formed"
			   : "the path and the query of a request to a sandbox have at most 4096 bytes");
		return -1;
	}
	writing.file = open_memstream(&ret->text, &ret->len);
	if (!writing.file) {
		exchange_fail(x, 503, "no memory is left; try again");
		return -1;
	}
	fprintf(writing.file, "%s %s HTTP/1.1\r\nHost: %s\r\n", x->method, target,
		exchange_header(x, "Host"));
	exchange_headers(x, &writing, write_header);
	if (writing.encrypted)
		fputs("X-Forwarded-Proto: https\r\n", writing.file);
	write_length(x, writing.file, ret);
	fputs(ret->upgrades ? "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
			    : "Connection: close\r\n\r\n",
	      writing.file);
	if (fclose(writing.file) == 0 && ret->text && !writing.wrong)
		return 0;
	free(ret->text);
	ret->text = NULL;
	exchange_fail(x, writing.wrong ? 400 : 503,
		      writing.wrong ? writing.wrong : "no memory is left; try again");
	return -1;
}

/* ---- the answer ---- */

/* A cookie for a domain would be sent to other sandboxes, and to this host's own page. The first part is the cookie, whatever its name. */
static void pass_cookie(struct exchange *x, const char *value)
{
	char *kept = malloc(strlen(value) + 1);
	size_t len = 0;

	if (!kept)
		return;
	for (const char *at = value; *at;) {
		const size_t part = strcspn(at, ";");
		const char *word = at + strspn(at, " \t");

		if (at == value || strncasecmp(word, "domain", 6) != 0 || !strchr("=; \t", word[6])) {
			if (len)
				kept[len++] = ';';
			memcpy(kept + len, at, part);
			len += part;
		}
		at += part + (at[part] == ';');
	}
	kept[len] = '\0';
	if (len && !page_is_cookie(kept + strspn(kept, " \t")))
		exchange_set(x, "Set-Cookie", kept);
	free(kept);
}

void port_pass_headers(struct exchange *x, const struct reply *reply)
{
	const char *connection = NULL;

	for (size_t i = 0; i < reply->header_count; i++)
		if (is_name(reply->headers[i].name, "connection"))
			connection = reply->headers[i].value;
	for (size_t i = 0; i < reply->header_count; i++) {
		const char *name = reply->headers[i].name, *value = reply->headers[i].value;

		if (is_name(name, "set-cookie"))
			pass_cookie(x, value);
		/* An empty one says nothing, and the library has none. Clear-Site-Data would remove cookies of the page, too. */
		else if (*value && !is_of_connection(name) && !is_name(name, "clear-site-data") &&
			 !has_word(connection, name))
			exchange_set(x, name, value);
	}
}
