/*
 * scan_report: what a scan found, as JSON for the caller and as a line of a log.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/code/scan/scan.h"

static const char *const severities[] = {
	[SCAN_NONE] = "none", [SCAN_LOW] = "low",           [SCAN_MEDIUM] = "medium",
	[SCAN_HIGH] = "high", [SCAN_CRITICAL] = "critical",
};

static const char *const decisions[] = {
	[SCAN_ALLOW] = "allow", [SCAN_REVIEW] = "review", [SCAN_DENY] = "deny"
};

void scan_report_done(struct scan_report *report)
{
	for (size_t i = 0; i < report->count; i++)
		free(report->findings[i].evidence);
	free(report->findings);
	*report = (struct scan_report){ 0 };
}

static void write_finding(const struct scan_finding *finding, struct json_writer *w)
{
	json_begin_object(w);
	json_key_string(w, "rule", finding->rule);
	json_key_string(w, "severity", severities[finding->severity]);
	json_key_string(w, "reason", finding->reason);
	json_key(w, "line");
	if (finding->line > 0)
		json_uint(w, finding->line);
	else
		json_null(w);
	json_key_string(w, "evidence", finding->evidence);
	json_end_object(w);
}

static void write_members(const struct scan_report *report, const struct scan_request *request,
			  struct json_writer *w)
{
	json_key_bool(w, "advisory", true);
	json_key_string(w, "decision", decisions[report->decision]);
	json_key_string(w, "severity", severities[report->severity]);
	json_key_string(w, "language", request->language);
	json_key_bool(w, "languageKnown", report->known_language);
	json_key(w, "findings");
	json_begin_array(w);
	for (size_t i = 0; i < report->count; i++)
		write_finding(&report->findings[i], w);
	json_end_array(w);
	json_key_uint(w, "findingsDropped", report->dropped);
	json_key_bool(w, "sourceCut", report->cut);
}

void scan_write(const struct scan_report *report, const struct scan_request *request, struct json_writer *w)
{
	json_begin_object(w);
	write_members(report, request, w);
	json_end_object(w);
}

char *scan_audit_line(const struct scan_report *report, const struct scan_request *request, uint64_t time_ms)
{
	struct json_writer w = { 0 };
	char *text, *line;
	size_t length;

	json_begin_object(&w);
	json_key_uint(&w, "time", time_ms);
	json_key_uint(&w, "sourceBytes", request->len);
	write_members(report, request, &w);
	json_end_object(&w);
	length = w.len;
	text = json_take(&w);
	line = text ? realloc(text, length + 2) : NULL;
	if (!line) {
		free(text);
		return NULL;
	}
	memcpy(line + length, "\n", 2);
	return line;
}
