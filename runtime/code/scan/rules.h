/*
 * rules: what is dangerous, as a table. Private to scan.
 */
#ifndef WARDER_RUNTIME_CODE_SCAN_RULES_H
#define WARDER_RUNTIME_CODE_SCAN_RULES_H

#include "runtime/code/scan/scan.h"

enum scan_mark {
	SCAN_BARE = 1 << 0,    /* not a member of something: no `.`, `->`, `::` before it */
	SCAN_COMMAND = 1 << 1, /* in a shell: only where a command's name stands */
	SCAN_NETWORK = 1 << 2, /* uses the network: the names in the source are looked at */
	SCAN_SHELL = 1 << 3,   /* the texts behind it are for a shell */
	SCAN_CODE = 1 << 4,    /* the text behind it is code of the same language */
	SCAN_WAIT = 1 << 5, /* the number at its end is seconds: a finding if it is over the policy's time */
};

struct scan_rule {
	const char *id;
	const char *languages; /* "javascript|typescript" */
	const char *pattern;   /* see pattern.h */
	enum scan_severity severity;
	unsigned marks;
	const char *reason;
};

extern const struct scan_rule scan_rules[]; /* up to one without an id */

#endif
