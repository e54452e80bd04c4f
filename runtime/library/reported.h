/*
 * reported: the result of a run on another machine, as it stands in the answer of the host. Private to runtime/.
 *
 * Life: reported_read(), or reported_lost() where there is no answer -> the result goes the way of any other -> warder_result_free().
 */
#ifndef WARDER_RUNTIME_LIBRARY_REPORTED_H
#define WARDER_RUNTIME_LIBRARY_REPORTED_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/sha256.h"
#include "runtime/library/result.h"

/* Read the JSON of a result. `label` ("remote:big") becomes its backend, and lives as long as the result; every control of the receipt is
 * reported by it. The output must be what the member "outputs" says that the host has signed. With may_lack_run, the answer may be that of a piece of code that was not run: then the call returns 1, and no result.
 * -1 with *err (UNAVAILABLE), which names the first member that is missing or wrong; the field is "stdout" or "stderr" if that differs from what
 * is signed. */
int reported_read(const char *json, size_t len, const char *label, bool may_lack_run,
		  struct warder_result **ret, struct warder_error *err);
/* What came of a stream, by the digest of its bytes. */
struct reported_came {
	bool known;      /* it can be compared with what the host has signed */
	uint64_t offset; /* of the first byte */
	uint64_t bytes;
	char sha256[SHA256_HEX];
	/* The last of these bytes, for hosts that have signed no more than the last ones. Not owned; NULL: only all bytes are compared. */
	const char *tail;
	size_t tail_len;
};
/* The output of a program whose result has only the counts of it. */
struct reported_streams {
	char *bytes[2]; /* owned */
	size_t len[2];
	struct reported_came came[2];
	bool lost; /* it did not arrive: the output of the result is truncated */
};
/* Fill `came` with the bytes, which begin at these offsets. */
void reported_count(struct reported_streams *streams, const uint64_t offsets[2]);
/* The same with these streams, which it takes, and always with a run. */
int reported_read_beside(const char *json, size_t len, const char *label, struct reported_streams *streams,
			 struct warder_result **ret, struct warder_error *err);
/* A result with the cause `host` and nothing else but `detail`. NULL on want of memory. */
struct warder_result *reported_lost(const char *label, const char *detail);

#endif
