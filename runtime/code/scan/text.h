/*
 * text: what a scan reads in texts: secrets, hosts, paths. Private to scan; pure, any thread; linear.
 */
#ifndef WARDER_RUNTIME_CODE_SCAN_TEXT_H
#define WARDER_RUNTIME_CODE_SCAN_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/code/scan/scan.h"

/* A piece of a text. */
struct scan_piece {
	const char *at;
	size_t len;
};

/* Whether there is something that looks like a secret: a key of a known form, or a value that is assigned to a name like
 * "password" in quotes. */
bool scan_has_secret(const char *text, size_t len);

/* The line around text[at] as evidence: trimmed, secrets replaced by "[redacted]", control characters by blanks, at most
 * SCAN_EVIDENCE characters ("..." where it is cut). On the heap; NULL on want of memory. */
char *scan_evidence(const char *text, size_t len, size_t at);

/* The host of the first URL at or behind *at; moves *at behind it. False if there is none. */
bool scan_next_host(const char *text, size_t len, size_t *at, struct scan_piece *ret);
/* Whether the whole text is a host's name or address: labels with dots, and maybe user@ before and :port or /path behind. */
bool scan_is_host(const char *text, size_t len, struct scan_piece *ret);

bool scan_domain_allowed(const struct scan_policy *policy, struct scan_piece host);
bool scan_command_allowed(const struct scan_policy *policy, struct scan_piece command);
/* Whether a text names a denied path. `is_path`: it is known to be one, so that "*.pem" and ".env" apply to a bare name. */
bool scan_path_denied(const struct scan_policy *policy, const char *text, size_t len, bool is_path);

#endif
