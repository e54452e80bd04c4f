/*
 * remote_came: a host stores and signs the last part of the output, so the last bytes are kept here, too, besides the digest of all.
 */
#include "runtime/cli/remote_came.h"

#include <stdlib.h>
#include <string.h>

#define TAIL_MAX ((size_t)4 << 20) /* bytes; a host stores no more, of both streams together */

static void begin_at(struct remote_came *came, uint64_t offset)
{
	came->seen = came->whole_from = offset;
	came->kept_len = 0;
	sha256_init(&came->sha);
}

void remote_came_init(struct remote_came *ret, uint64_t from)
{
	*ret = (struct remote_came){ 0 };
	begin_at(ret, from);
}

/* The last bytes: between TAIL_MAX and twice as many. Without memory there are none, and only all bytes can be compared. */
static void keep(struct remote_came *came, const char *bytes, size_t len)
{
	if (!came->kept)
		came->kept = malloc(2 * TAIL_MAX);
	if (!came->kept || len > TAIL_MAX)
		return;
	if (came->kept_len + len > 2 * TAIL_MAX) {
		memmove(came->kept, came->kept + came->kept_len - TAIL_MAX, TAIL_MAX);
		came->kept_len = TAIL_MAX;
	}
	memcpy(came->kept + came->kept_len, bytes, len);
	came->kept_len += len;
}

void remote_came_add(struct remote_came *came, const char *bytes, size_t len)
{
	keep(came, bytes, len);
	sha256_add(&came->sha, bytes, len);
	came->seen += len;
}

void remote_came_skip(struct remote_came *came, uint64_t to)
{
	if (to <= came->seen)
		return;
	came->lost += to - came->seen;
	begin_at(came, to);
}

void remote_came_tell(struct remote_came *came, bool known, struct reported_came *ret)
{
	*ret = (struct reported_came){ .known = known,
				       .offset = came->whole_from,
				       .bytes = came->seen - came->whole_from,
				       .tail = came->kept ? came->kept : "",
				       .tail_len = came->kept_len };
	sha256_hex(&came->sha, ret->sha256);
}

void remote_came_done(struct remote_came *came)
{
	free(came->kept);
	came->kept = NULL;
}
