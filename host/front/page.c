/*
 * page: what a browser gets. The files are in the program (page_files.S), so nothing comes from a foreign host.
 *
 * A login splits the token in two: the cookie is the token's bits with a random key added to each (exclusive or), and the page keeps the
 * key, for its tab alone, and sends it beside the cookie in a header. Neither half says anything about the token. So a cookie that a browser
 * also sends to another server of this machine, whose port is no part of a cookie's scope, is of no use there; and a page of another origin
 * can set no header. The cookie is HttpOnly, SameSite=Strict and, if the page's URL is https, Secure; its name then begins with "__Host-", so
 * that browsers let no page of another name, such as a sandbox's, set it for this one.
 *
 * The page never makes HTML of what comes from a sandbox: it sets texts. Rich results are in frames with the attribute sandbox, in which
 * nothing runs and which have no origin.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "host/front/exchange.h"

#define COOKIE      "warder="
#define COOKIE_TLS  "__Host-" COOKIE
#define TOKEN_BYTES 20 /* of a token, after "e2b_", in hexadecimal */
#define DIGITS      (2 * TOKEN_BYTES)
#define PREFIX      "e2b_"
#define PROTOCOL    "warder.key."

/* page_files.S */
extern const char page_index[], page_style[], page_script[], page_terminal[], page_result[];
extern const uint64_t page_index_size, page_style_size, page_script_size, page_terminal_size,
    page_result_size;

/* ---- the two halves of a token ---- */

/* The bytes of DIGITS digits in front of `ends` or the end of the text. */
static bool read_half(const char *text, const char *ends, unsigned char ret[TOKEN_BYTES])
{
	if (!text || strspn(text, "0123456789abcdef") != DIGITS ||
	    (text[DIGITS] && !strchr(ends, text[DIGITS])))
		return false;
	for (size_t i = 0; i < TOKEN_BYTES; i++) {
		const char digits[3] = { text[2 * i], text[2 * i + 1], '\0' };

		ret[i] = (unsigned char)strtoul(digits, NULL, 16);
	}
	return true;
}

static void write_half(const unsigned char bytes[TOKEN_BYTES], char ret[DIGITS + 1])
{
	for (size_t i = 0; i < TOKEN_BYTES; i++)
		snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
}

/* Whether the page's URL is https; a server in front may encrypt. */
static bool is_secure(const struct exchange *x)
{
	const char *origin = exchange_header(x, "Origin");

	return exchange_is_encrypted(x) || (origin && strncasecmp(origin, "https://", 8) == 0);
}

bool page_is_cookie(const char *text)
{
	return strncmp(text, COOKIE, strlen(COOKIE)) == 0 ||
	       strncmp(text, COOKIE_TLS, strlen(COOKIE_TLS)) == 0;
}

/* The value of the cookie, or NULL. */
static const char *find_named(const struct exchange *x, const char *name)
{
	const char *at = exchange_header(x, "Cookie");

	while (at && *at) {
		at += strspn(at, " ;");
		if (strncmp(at, name, strlen(name)) == 0)
			return at + strlen(name);
		at += strcspn(at, ";");
	}
	return NULL;
}

/* The value of our cookie, or NULL. Its secure name comes first: pages of other names can set the other one. */
static const char *find_cookie(const struct exchange *x)
{
	const char *value = find_named(x, COOKIE_TLS);

	return value || exchange_is_encrypted(x) ? value : find_named(x, COOKIE);
}

/* A WebSocket of a browser has no header of its own; its protocols are one. */
static const char *find_key(const struct exchange *x)
{
	const char *key = exchange_header(x, "X-Warder-Page");
	const char *protocols = exchange_header(x, "Sec-WebSocket-Protocol");
	const char *found = protocols ? strstr(protocols, PROTOCOL) : NULL;

	return key ? key : found ? found + strlen(PROTOCOL) : NULL;
}

int page_token(const struct exchange *x, char *ret)
{
	const char *cookie = find_cookie(x);
	unsigned char half[TOKEN_BYTES], key[TOKEN_BYTES];

	if (!cookie)
		return 0;
	if (!read_half(cookie, "; ", half) || !read_half(find_key(x), ", ", key))
		return -1;
	for (size_t i = 0; i < TOKEN_BYTES; i++)
		half[i] ^= key[i];
	memcpy(ret, PREFIX, strlen(PREFIX));
	write_half(half, ret + strlen(PREFIX));
	return 1;
}

/* ---- login ---- */

static void set_cookie(struct exchange *x, const char *value, const char *more)
{
	char text[160];

	snprintf(text, sizeof(text), "%s%s; HttpOnly; SameSite=Strict; Path=/%s%s",
		 is_secure(x) ? COOKIE_TLS : COOKIE, value, more, is_secure(x) ? "; Secure" : "");
	exchange_set(x, "Set-Cookie", text);
}

static void login_answer(struct exchange *x, const struct link_answer *answer, const char *text, int *fd)
{
	unsigned char half[TOKEN_BYTES], key[TOKEN_BYTES];
	char digits[DIGITS + 1], key_digits[DIGITS + 1];
	struct json_value *document = NULL;
	struct warder_error err = { 0 };
	struct json_writer w = { 0 };
	const char *token;

	if (getrandom(key, sizeof(key), GRND_NONBLOCK) != sizeof(key) || exchange_object(x, &document) < 0) {
		exchange_fail(x, 503, "there is no random number yet; try again");
		return;
	}
	token = json_member_text(document, "token", "");
	if (strncmp(token, PREFIX, strlen(PREFIX)) != 0 || !read_half(token + strlen(PREFIX), "", half)) {
		error_set(&err, WARDER_ERROR_INVALID_REQUEST, "token",
			  "\"token\" must be \"e2b_\" and 40 digits");
		exchange_error(x, 400, &err);
	} else {
		for (size_t i = 0; i < TOKEN_BYTES; i++)
			half[i] ^= key[i];
		write_half(half, digits);
		write_half(key, key_digits);
		set_cookie(x, digits, "");
		json_begin_object(&w);
		json_key_string(&w, "key", key_digits);
		json_end_object(&w);
		exchange_json(x, 200, json_take(&w));
	}
	json_free(document);
}

static const struct member of_login[] = {
	{ "token", MEMBER_TEXT, true, "of \"warder tenant add\"" },
	{ 0 },
};

/* Without the header, the form of another site could log a visitor in. */
static void login(struct exchange *x)
{
	struct json_value *document;

	if (!exchange_header(x, "X-Warder-Page")) {
		exchange_fail(x, 403, "a login needs the header X-Warder-Page");
		return;
	}
	if (!exchange_may_show_key(x) || exchange_object(x, &document) < 0)
		return;
	x->key_kind = LINK_KEY_TENANT;
	link_digest(json_member_text(document, "token", ""), x->key);
	json_free(document);
	x->keeps_body = true;
	exchange_ask(x, LINK_WHO, 0, NULL, login_answer);
}

static void logout(struct exchange *x)
{
	if (!exchange_header(x, "X-Warder-Page")) {
		exchange_fail(x, 403, "a logout needs the header X-Warder-Page");
		return;
	}
	set_cookie(x, "", "; Max-Age=0");
	exchange_empty(x, 204);
}

/* ---- the files ---- */

static const struct asset {
	const char *path, *type, *bytes;
	const uint64_t *size;
} assets[] = {
	{ "/", "text/html; charset=utf-8", page_index, &page_index_size },
	{ "/page/style.css", "text/css; charset=utf-8", page_style, &page_style_size },
	{ "/page/app.js", "text/javascript; charset=utf-8", page_script, &page_script_size },
	{ "/page/terminal.js", "text/javascript; charset=utf-8", page_terminal, &page_terminal_size },
	{ "/page/result.css", "text/css; charset=utf-8", page_result, &page_result_size },
};

static void serve_asset(struct exchange *x)
{
	for (size_t i = 0; i < sizeof(assets) / sizeof(assets[0]); i++)
		if (strcmp(assets[i].path, x->path) == 0) {
			const size_t len = *assets[i].size;
			char *copy = malloc(len);

			if (!copy)
				break;
			memcpy(copy, assets[i].bytes, len);
			exchange_bytes(x, 200, assets[i].type, copy, len);
			return;
		}
	exchange_fail(x, 503, "no memory is left; try again");
}

#define ASSET (ROUTE_OPEN | ROUTE_PAGE)

const struct route routes_page[] = {
	{ "GET", "/", NULL, ASSET, serve_asset, "the page", NULL, NULL },
	{ "GET", "/page/style.css", NULL, ASSET, serve_asset, "of the page", NULL, NULL },
	{ "GET", "/page/app.js", NULL, ASSET, serve_asset, "of the page", NULL, NULL },
	{ "GET", "/page/terminal.js", NULL, ASSET, serve_asset, "of the page", NULL, NULL },
	{ "GET", "/page/result.css", NULL, ASSET, serve_asset, "of the page's results", NULL, NULL },
	{ "POST", "/page/login", NULL, ROUTE_OPEN | ROUTE_OWN, login, "split a token into a cookie and a key",
	  NULL, of_login },
	{ "POST", "/page/logout", NULL, ROUTE_OPEN | ROUTE_OWN, logout, "remove the cookie", NULL, NULL },
	{ 0 },
};
