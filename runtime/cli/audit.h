/*
 * audit: one line of JSON for each run, appended to the file that --audit names. Private to cli/.
 *
 * Life: audit_open() after the policy is loaded and before anything is started -> audit_append() for each run, refused ones included ->
 * audit_done(). Forked workers may append, too.
 * A line has who ran what, and how it ended. It has no output, no value of a variable, no text of a message, and arguments only
 * with --audit-argv.
 */
#ifndef WARDER_RUNTIME_CLI_AUDIT_H
#define WARDER_RUNTIME_CLI_AUDIT_H

#include "base/json.h"
#include "runtime/cli/flags.h"
#include "runtime/warder.h"

struct workers;

struct audit {
	const struct args *args;
	int fd;            /* owned; -1: no line is written */
	bool failed;       /* a line is missing that --prefer audit does not allow to be missing */
	char *told;        /* owned; JSON, the member "audit" of the result; NULL: none */
	const char *which; /* the command: "run" */
	const char *session;
};

#define AUDIT_NONE ((struct audit){ .fd = -1 })

/* What the note of a worker begins with that appends lines (workers.h). */
struct audit_note {
	bool unaudited; /* a line of the worker is missing */
};

/* What a line is about. */
struct audit_run {
	const struct policy *policy;
	const char *identity; /* of a tool request, or NULL */
	const char *id;       /* of a tool request, JSON; or NULL */
	const char *name;     /* of a judge's case, or NULL */
	char *const *argv;    /* or NULL */
	const struct warder_result *result;
	const struct warder_error *err; /* without a result: why there is none */
};

/* which: the command; session: the name of a session, or NULL; both borrowed. Without --audit nothing is opened. With --prefer audit, a file
 * that cannot be opened is only reported. -1 with *err (UNAVAILABLE). */
int audit_open(const struct args *args, const char *which, const char *session, struct audit *ret,
	       struct warder_error *err);
/* Append a line. A failure is reported on standard error and noted in *audit. */
void audit_append(struct audit *audit, const struct audit_run *run);
/* The members of a line that are known before the run, as a JSON object: for a keeper that writes the line when its execution has ended. Heap;
 * NULL: no memory. */
char *audit_head(const struct audit *audit, const struct audit_run *run);
/* The member "audit" of a result, into the object that is open: {file, written, error}. Nothing if nothing was told. */
void audit_write_member(const struct audit *audit, struct json_writer *w);
/* Whether a line is missing: of this process, or of a worker, whose result may not be handed out yet. Then nothing further may start. The notes
 * of the workers begin with a struct audit_note. */
bool audit_misses_line(const struct audit *audit, const struct workers *workers);
void audit_done(struct audit *audit);

#endif
