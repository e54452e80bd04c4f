/*
 * remote_came: what came of a stream of a program on another machine, for the comparison with what the host signs at the end. Private to cli/.
 *
 * Life: remote_came_init() -> remote_came_add(), remote_came_skip() -> remote_came_tell() -> remote_came_done().
 */
#ifndef WARDER_RUNTIME_CLI_REMOTE_CAME_H
#define WARDER_RUNTIME_CLI_REMOTE_CAME_H

#include "runtime/library/reported.h"

struct remote_came {
	uint64_t seen, lost; /* bytes of the stream, with those that were lost; and these */
	uint64_t whole_from; /* all bytes from this offset on came */
	struct sha256 sha;   /* of these */
	char *kept;          /* the last of these; owned */
	size_t kept_len;
};

/* The first byte has this offset. */
void remote_came_init(struct remote_came *ret, uint64_t from);
void remote_came_add(struct remote_came *came, const char *bytes, size_t len);
/* Bytes up to this offset will not come. */
void remote_came_skip(struct remote_came *came, uint64_t to);
/* known: the end of the stream came. The tail of *ret is the stream's own. */
void remote_came_tell(struct remote_came *came, bool known, struct reported_came *ret);
void remote_came_done(struct remote_came *came);

#endif
