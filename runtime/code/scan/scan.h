/*
 * scan: advice on a source before it runs: what in it is dangerous, or against a list of the operator's.
 *
 *   struct scan_policy policy = { 0 };   scan_policy_parse(text, len, origin, &policy, &err), or scan_policy_default(&policy, &err)
 *   struct scan_report report = { 0 };   scan_source(&policy, &request, &report, &err)
 *   scan_write(&report, &request, &writer), scan_audit_line(&report, &request, time_ms)
 *   scan_report_done(&report);           scan_policy_done(&policy)
 *
 * It is advice and never isolation: whoever wants to hide something from it can. Nothing is enforced by it, and its JSON
 * says so. It looks at tokens: what a comment or a text only mentions is not found; a text that is handed to a shell or an
 * interpreter is looked into. A language without rules has no findings, and the report says so.
 * Any bytes will do; at most SCAN_MAX_FINDINGS are kept. Linear in the source; pure, no global state, any thread.
 * Private to runtime/code.
 */
#ifndef WARDER_RUNTIME_CODE_SCAN_SCAN_H
#define WARDER_RUNTIME_CODE_SCAN_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"

#define SCAN_MAX_BYTES    ((size_t)1 << 20) /* what is behind is not read, which is a finding */
#define SCAN_MAX_FINDINGS 200
#define SCAN_MAX_LIST     256 /* entries of one of the policy's lists */
#define SCAN_EVIDENCE     180 /* characters of a line that are shown */

enum scan_severity {
	SCAN_NONE,
	SCAN_LOW,
	SCAN_MEDIUM,
	SCAN_HIGH,
	SCAN_CRITICAL,
};

/* What the findings come to: high and critical ones deny, medium ones ask for a person. */
enum scan_decision {
	SCAN_ALLOW,
	SCAN_REVIEW,
	SCAN_DENY,
};

struct scan_list {
	char **items;
	size_t count;
};

struct scan_policy {
	struct scan_list allowed_domains;  /* "example.org", "*.example.org" */
	struct scan_list allowed_commands; /* programs that a shell may call besides its own commands */
	struct scan_list denied_paths; /* "/etc/shadow" and below, "~/.ssh", "*.pem" and ".env" anywhere */
	uint64_t max_timeout_ms;
	uint64_t max_output_bytes;
};

struct scan_request {
	const char *language; /* a name of policy's languages, or NULL */
	const char *text;
	size_t len;
	uint64_t timeout_ms;   /* what is asked for; 0: nothing */
	uint64_t output_bytes; /* the same */
};

struct scan_finding {
	const char *rule; /* "shell.rm-root"; static */
	enum scan_severity severity;
	const char *reason; /* static */
	uint32_t line;      /* 1-based; 0: not about a line */
	char *evidence; /* the line, secrets taken out, at most SCAN_EVIDENCE characters; "" without a line */
};

struct scan_report {
	enum scan_decision decision;
	enum scan_severity severity; /* of the worst finding */
	bool known_language;         /* there are rules for it */
	bool cut;                    /* the source was too large to be read to its end */
	struct scan_finding *findings;
	size_t count;
	size_t dropped; /* findings over SCAN_MAX_FINDINGS; they count for decision and severity */
};

/* The policy that holds without a document. -1 with *err (INTERNAL) on want of memory. */
int scan_policy_default(struct scan_policy *ret, struct warder_error *err);
/* {"allowedDomains": [...], "allowedCommands": [...], "deniedPaths": [...], "maxTimeout": "300s", "maxOutput": "1MiB"}; what is
 * not named is as in the default. -1 with *err (INVALID_REQUEST, naming the member; INTERNAL). */
int scan_policy_parse(const char *text, size_t len, const char *origin, struct scan_policy *ret,
		      struct warder_error *err);
void scan_policy_done(struct scan_policy *policy);

/* *ret is owned by the caller. -1 with *err (INTERNAL) on want of memory. */
int scan_source(const struct scan_policy *policy, const struct scan_request *request, struct scan_report *ret,
		struct warder_error *err);
void scan_report_done(struct scan_report *report);

/* {"advisory": true, decision, severity, language, languageKnown, findings: [{rule, severity, reason, line, evidence}], ...}. */
void scan_write(const struct scan_report *report, const struct scan_request *request, struct json_writer *w);
/* One line of an audit log, with its newline: an object of time (ms since 1970), decision and findings. On the heap; NULL on
 * want of memory. The caller appends it to its log with one write. */
char *scan_audit_line(const struct scan_report *report, const struct scan_request *request, uint64_t time_ms);

#endif
