/*
 * scan_text: secrets, hosts, paths.
 *
 * A secret is found by its form, run by run of the characters that keys are made of, in one pass. What is shown of a line is
 * redacted before it is cut, so that no part of a secret is left of one that was cut; what is too far from the finding to be
 * shown is not read at all, but for the rest of a run that reaches into what is.
 */
#include "runtime/code/scan/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "runtime/code/detect/pattern.h"
#include "runtime/code/diagnostics/list.h"

#define MAX_PATH   4096
#define MAX_AROUND 512 /* bytes of a line before and behind a finding that are read for evidence */

static const char redacted[] = "[redacted]";

/* ---- secrets ---- */

/* How known keys begin, and how long they are at least. */
static const struct {
	const char *prefix;
	size_t length;
} keys[] = {
	{ "AKIA", 16 },     { "ASIA", 16 },        { "ghp_", 20 },    { "gho_", 20 },  { "ghs_", 20 },
	{ "ghu_", 20 },     { "github_pat_", 30 }, { "glpat-", 20 },  { "sk-", 20 },   { "sk_live_", 16 },
	{ "sk_test_", 16 }, { "rk_live_", 16 },    { "xoxb-", 16 },   { "xoxa-", 16 }, { "xoxp-", 16 },
	{ "xoxr-", 16 },    { "xoxs-", 16 },       { "AIza", 30 },    { "eyJ", 40 },   { "hf_", 20 },
	{ "npm_", 30 },     { "pypi-", 30 },       { "dop_v1_", 30 },
};

static const char *const secret_names[] = { "password",   "passwd",   "secret",      "token",
					    "api_key",    "apikey",   "api-key",     "access_key",
					    "access-key", "auth_key", "private_key", "credential" };

enum secret {
	NO_SECRET,
	LIKELY_SECRET, /* long and mixed: taken out of evidence, but no finding */
	SECRET,
};

static bool is_key_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '+';
}

static bool contains_name(const char *run, size_t len)
{
	for (size_t i = 0; i < ARRAY_LENGTH(secret_names); i++) {
		size_t size = strlen(secret_names[i]);

		for (size_t at = 0; at + size <= len && len <= 64; at++) {
			if (strncasecmp(run + at, secret_names[i], size) == 0)
				return true;
		}
	}
	return false;
}

/* A long run with capital and small letters and digits in it, or of hexadecimal digits only. */
static bool is_mixed(const char *run, size_t len)
{
	size_t upper = 0, lower = 0, digits = 0, hex = 0;

	for (size_t i = 0; i < len; i++) {
		upper += isupper((unsigned char)run[i]) != 0;
		lower += islower((unsigned char)run[i]) != 0;
		digits += isdigit((unsigned char)run[i]) != 0;
		hex += isxdigit((unsigned char)run[i]) != 0;
	}
	return len >= 32 && digits >= 4 && ((upper >= 4 && lower >= 4) || hex == len);
}

static enum secret judge(const char *run, size_t len)
{
	for (size_t i = 0; i < ARRAY_LENGTH(keys); i++) {
		if (len >= keys[i].length && strncmp(run, keys[i].prefix, strlen(keys[i].prefix)) == 0)
			return SECRET;
	}
	return is_mixed(run, len) ? LIKELY_SECRET : NO_SECRET;
}

/* One pass over the runs of a text. */
struct secrets {
	const char *text;
	size_t len, at;
	bool named;            /* the last run was a name like "password" */
	bool assigned, quoted; /* = or : behind it, a quote before the value */
};

static void pass_separator(struct secrets *s, char c)
{
	if (c == '=' || c == ':')
		s->assigned = true;
	else if (c == '"' || c == '\'')
		s->quoted |= s->assigned;
	else if (c != ' ' && c != '\t')
		s->named = false;
}

/* The next run from s->at on; false at the end. */
static bool next_run(struct secrets *s, struct scan_piece *ret, enum secret *ret_kind)
{
	size_t end;

	for (; s->at < s->len && !is_key_char(s->text[s->at]); s->at++)
		pass_separator(s, s->text[s->at]);
	for (end = s->at; end < s->len && is_key_char(s->text[end]);)
		end++;
	*ret = (struct scan_piece){ s->text + s->at, end - s->at };
	if (ret->len == 0)
		return false;
	/* A value in quotes goes up to them. */
	if (s->named && s->assigned && s->quoted) {
		while (end < s->len && !strchr("\"'\n", s->text[end]) && s->text[end])
			end++;
		ret->len = end - s->at;
	}
	*ret_kind = judge(ret->at, ret->len);
	if (s->named && s->assigned && ret->len >= 6 && *ret_kind != SECRET)
		*ret_kind = s->quoted ? SECRET : LIKELY_SECRET;
	if (ret->len == 6 && strncasecmp(ret->at, "bearer", 6) == 0) {
		s->named = s->assigned = true; /* what follows is one */
		s->quoted = false;
	} else {
		s->named = contains_name(ret->at, ret->len);
		s->assigned = s->quoted = false;
	}
	s->at = end;
	return true;
}

bool scan_has_secret(const char *text, size_t len)
{
	struct secrets s = { .text = text, .len = len };
	struct scan_piece run;
	enum secret kind;

	while (next_run(&s, &run, &kind)) {
		if (kind == SECRET)
			return true;
	}
	return memmem(text, len, "PRIVATE KEY-----", 16) != NULL;
}

/* ---- evidence ---- */

/* The part of the line around `at` that is looked at. It begins and ends where a run does. */
static struct scan_piece around(const char *text, size_t len, size_t at)
{
	size_t from = at < len ? at : len, to = from;

	while (from > 0 && text[from - 1] != '\n' && (at - from < MAX_AROUND || is_key_char(text[from - 1])))
		from--;
	while (to < len && text[to] != '\n' && (to - at < MAX_AROUND || is_key_char(text[to])))
		to++;
	while (from < to && isspace((unsigned char)text[from]))
		from++;
	while (to > from && isspace((unsigned char)text[to - 1]))
		to--;
	return (struct scan_piece){ text + from, to - from };
}

struct writer {
	char *to;
	size_t used, characters;
	bool full;
};

/* Whole characters, as long as there is room for them and "...". */
static void put(struct writer *w, const char *text, size_t len)
{
	for (size_t at = 0; at < len && !w->full;) {
		size_t size = diagnostics_character(text + at, len - at);
		bool plain = size > 1 || (size == 1 && (unsigned char)text[at] >= 0x20 && text[at] != 0x7f);

		if (w->characters == SCAN_EVIDENCE - 3) {
			w->full = true;
			return;
		}
		memcpy(w->to + w->used, plain ? text + at : " ", plain ? size : 1);
		w->used += plain ? size : 1;
		w->characters++;
		at += size > 0 ? size : 1;
	}
}

char *scan_evidence(const char *text, size_t len, size_t at)
{
	struct scan_piece line = around(text, len, at);
	struct secrets s = { .text = line.at, .len = line.len };
	struct writer w = { .to = malloc((size_t)SCAN_EVIDENCE * 4 + 4) };
	struct scan_piece run;
	enum secret kind;
	size_t done = 0;
	size_t skip = 0; /* of a long line, what is far before the finding */

	if (!w.to)
		return NULL;
	if (text + at > line.at + SCAN_EVIDENCE / 2 && line.len > SCAN_EVIDENCE - 3)
		skip = (size_t)(text + at - line.at) - SCAN_EVIDENCE / 4;
	if (skip > 0)
		put(&w, "...", 3);
	while (next_run(&s, &run, &kind)) {
		size_t from = (size_t)(run.at - line.at), end = from + run.len;

		if (end <= skip) {
			done = end;
			continue;
		}
		if (done < skip)
			done = skip;
		if (from > done)
			put(&w, line.at + done, from - done);
		if (kind != NO_SECRET)
			put(&w, redacted, strlen(redacted));
		else
			put(&w, line.at + (from > done ? from : done), end - (from > done ? from : done));
		done = end;
	}
	if (done < skip)
		done = skip < line.len ? skip : line.len;
	put(&w, line.at + done, line.len - done);
	if (w.full) {
		memcpy(w.to + w.used, "...", 3);
		w.used += 3;
	}
	w.to[w.used] = '\0';
	return w.to;
}

/* ---- hosts ---- */

static bool is_host_char(char c)
{
	return isalnum((unsigned char)c) || c == '.' || c == '-' || c == '_';
}

/* The host at `at`, behind a user's name. */
static struct scan_piece host_at(const char *text, size_t len, size_t at)
{
	size_t end = at, user;

	for (user = at;
	     user < len && (is_host_char(text[user]) || strchr(":%+~!$&", text[user])) && text[user];)
		user++;
	if (user < len && text[user] == '@')
		at = end = user + 1;
	if (at < len && text[at] == '[') { /* IPv6 */
		while (end < len && text[end] != ']' && end - at < 64)
			end++;
		return (struct scan_piece){ text + at, end - at };
	}
	while (end < len && is_host_char(text[end]))
		end++;
	while (end > at && text[end - 1] == '.')
		end--;
	return (struct scan_piece){ text + at, end - at };
}

bool scan_next_host(const char *text, size_t len, size_t *at, struct scan_piece *ret)
{
	static const char *const schemes[] = { "http", "https", "ftp", "ftps", "ws",
					       "wss",  "ssh",   "git", "sftp", "tcp" };

	while (*at < len) {
		const char *found = memmem(text + *at, len - *at, "://", 3);
		size_t colon, start;

		if (!found)
			break;
		colon = start = (size_t)(found - text);
		*at = colon + 3;
		while (start > 0 && colon - start < 8 && isalpha((unsigned char)text[start - 1]))
			start--;
		for (size_t i = 0; i < ARRAY_LENGTH(schemes); i++) {
			if (strlen(schemes[i]) != colon - start ||
			    strncasecmp(schemes[i], text + start, colon - start) != 0)
				continue;
			*ret = host_at(text, len, colon + 3);
			*at += ret->len;
			return true;
		}
	}
	*at = len;
	return false;
}

bool scan_is_host(const char *text, size_t len, struct scan_piece *ret)
{
	struct scan_piece host = host_at(text, len, 0);
	size_t behind = (size_t)(host.at - text) + host.len;
	const char *dot = host.len > 0 ? memrchr(host.at, '.', host.len) : NULL;
	size_t letters = 0, digits = 0;

	if (len > 1024 || !dot || dot == host.at ||
	    (behind < len && text[behind] != ':' && text[behind] != '/'))
		return false;
	for (const char *c = dot + 1; c < host.at + host.len; c++) {
		letters += isalpha((unsigned char)*c) != 0;
		digits += isdigit((unsigned char)*c) != 0;
	}
	if (letters + digits != (size_t)(host.at + host.len - dot) - 1 ||
	    (letters > 0 && (digits > 0 || letters < 2)))
		return false;
	*ret = host;
	return true;
}

static bool same_text(struct scan_piece piece, const char *text)
{
	return piece.len == strlen(text) && strncasecmp(piece.at, text, piece.len) == 0;
}

bool scan_domain_allowed(const struct scan_policy *policy, struct scan_piece host)
{
	for (size_t i = 0; i < policy->allowed_domains.count; i++) {
		const char *domain = policy->allowed_domains.items[i];
		size_t size = strlen(domain);

		if (same_text(host, domain))
			return true;
		/* "*.example.org": what ends in ".example.org" */
		if (size > 2 && domain[0] == '*' && host.len > size - 1 &&
		    strncasecmp(host.at + host.len - (size - 1), domain + 1, size - 1) == 0)
			return true;
	}
	return false;
}

bool scan_command_allowed(const struct scan_policy *policy, struct scan_piece command)
{
	for (size_t i = 0; i < policy->allowed_commands.count; i++) {
		const char *allowed = policy->allowed_commands.items[i];

		if (command.len == strlen(allowed) && memcmp(command.at, allowed, command.len) == 0)
			return true;
	}
	return false;
}

/* ---- paths ---- */

/* $HOME/x and ${HOME}/x are ~/x; doubled slashes and "." are left out, and ".." takes a part away. */
static size_t normalise(const char *text, size_t len, char *to)
{
	static const char *const homes[] = { "$HOME", "${HOME}" };
	size_t used = 0, at = 0;

	for (size_t i = 0; i < ARRAY_LENGTH(homes); i++) {
		size_t size = strlen(homes[i]);

		if (len >= size && memcmp(text, homes[i], size) == 0 && (len == size || text[size] == '/')) {
			to[used++] = '~';
			at = size;
			break;
		}
	}
	while (at < len) {
		size_t end = at;

		while (end < len && text[end] != '/')
			end++;
		if (end - at == 2 && memcmp(text + at, "..", 2) == 0) {
			while (used > 0 && to[--used] != '/')
				;
		} else if (end > at && !(end - at == 1 && text[at] == '.')) {
			if (at > 0 && text[at - 1] == '/')
				to[used++] = '/';
			memcpy(to + used, text + at, end - at);
			used += end - at;
		}
		at = end + 1;
	}
	if (used == 0 && len > 0 && text[0] == '/')
		to[used++] = '/';
	return used;
}

static struct scan_piece last_part(struct scan_piece path)
{
	const char *slash = path.len > 0 ? memrchr(path.at, '/', path.len) : NULL;
	size_t skipped = slash ? (size_t)(slash - path.at) + 1 : 0;

	return (struct scan_piece){ path.at + skipped, path.len - skipped };
}

/* `denied` is the path or holds it. */
static bool is_within(const char *denied, struct scan_piece path)
{
	size_t size = strlen(denied);

	return path.len >= size && memcmp(path.at, denied, size) == 0 &&
	       (path.len == size || path.at[size] == '/');
}

/* "~/.ssh" denies /root/.ssh and /home/NAME/.ssh as well. */
static bool is_within_home(const char *denied, struct scan_piece path)
{
	static const char home[] = "/home/", root[] = "/root/";
	const char *slash;

	if (path.len > strlen(root) && memcmp(path.at, root, strlen(root)) == 0)
		return is_within(denied + 2,
				 (struct scan_piece){ path.at + strlen(root), path.len - strlen(root) });
	if (path.len <= strlen(home) || memcmp(path.at, home, strlen(home)) != 0)
		return false;
	slash = memchr(path.at + strlen(home), '/', path.len - strlen(home));
	return slash && is_within(denied + 2,
				  (struct scan_piece){ slash + 1, (size_t)(path.at + path.len - slash) - 1 });
}

static bool is_denied(const char *denied, struct scan_piece path, bool is_path)
{
	struct scan_piece name = last_part(path);

	if (denied[0] == '/' || denied[0] == '~') {
		if (is_within(denied, path))
			return true;
		return strncmp(denied, "~/", 2) == 0 && is_within_home(denied, path);
	}
	return (is_path || name.len < path.len) &&
	       pattern_spelling(denied, strlen(denied), name.at, name.len);
}

bool scan_path_denied(const struct scan_policy *policy, const char *text, size_t len, bool is_path)
{
	char normal[MAX_PATH + 2];
	struct scan_piece path = { normal, 0 };

	if (len >= 7 && memcmp(text, "file://", 7) == 0) {
		text += 7;
		len -= 7;
	}
	if (len == 0 || len > MAX_PATH || memchr(text, '\n', len) || (!is_path && memchr(text, ' ', len)))
		return false;
	path.len = normalise(text, len, normal);
	for (size_t i = 0; i < policy->denied_paths.count; i++) {
		if (is_denied(policy->denied_paths.items[i], path, is_path))
			return true;
	}
	return false;
}
