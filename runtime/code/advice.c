#include "runtime/code/advice.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/line_log.h"
#include "runtime/code/scan/scan.h"

static int load_rules(const char *path, struct scan_policy *ret, struct warder_error *err)
{
	char *text = NULL;
	size_t len = 0;
	int status;

	if (!path)
		return scan_policy_default(ret, err);
	if (file_read(path, &text, &len, err) != 0)
		return -1;
	status = scan_policy_parse(text, len, path, ret, err);
	free(text);
	return status;
}

static int append(const char *path, const char *line, struct warder_error *err)
{
	owned_fd int fd = -1;

	if (line_log_open(path, "audit", &fd, err) == 0 &&
	    line_log_append(fd, path, "audit", line, strlen(line), err) == 0)
		return 0;
	return error_context(err, "the decision cannot be appended to %.200s", path);
}

static int audit(const char *path, const struct scan_report *report, const struct scan_request *request,
		 struct warder_error *err)
{
	struct timespec now;
	char *line;
	int status;

	if (!path)
		return 0;
	clock_gettime(CLOCK_REALTIME, &now);
	line =
	    scan_audit_line(report, request, (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000);
	if (!line)
		return error_no_memory(err, NULL);
	status = append(path, line, err);
	free(line);
	return status;
}

static int refuse(const struct scan_report *report, struct warder_error *err)
{
	const struct scan_finding *worst = NULL;

	for (size_t i = 0; i < report->count; i++) {
		if (!worst || report->findings[i].severity > worst->severity)
			worst = &report->findings[i];
	}
	if (!worst)
		return error_set(err, WARDER_ERROR_REJECTED, "scan", "the scan advises against this code");
	return error_set(err, WARDER_ERROR_REJECTED, "scan",
			 "the scan advises against this code: line %u, %s: %s", worst->line, worst->rule,
			 worst->reason);
}

static int render(const struct scan_report *report, const struct scan_request *request, char **ret_json,
		  struct warder_error *err)
{
	struct json_writer w = { 0 };

	scan_write(report, request, &w);
	*ret_json = json_take(&w);
	return *ret_json ? 0 : error_no_memory(err, NULL);
}

int advice_take(const struct warder_code *code, const char *language, const struct policy *policy,
		char **ret_json, struct warder_error *err)
{
	const struct scan_request request = {
		.language = language,
		.text = code->source,
		.len = code->source_len,
		.timeout_ms = policy ? policy->limits.wall_time_us / 1000 : 0,
		.output_bytes = policy ? policy->output.stdout_bytes : 0,
	};
	struct scan_policy rules = { 0 };
	struct scan_report report = { 0 };
	int status = -1;

	if (load_rules(code->scan_rules, &rules, err) == 0 &&
	    scan_source(&rules, &request, &report, err) == 0 && render(&report, &request, ret_json, err) == 0)
		status = audit(code->scan_audit, &report, &request, err);
	if (status == 0 && (code->flags & WARDER_CODE_SCAN_DENY) && report.decision == SCAN_DENY)
		status = refuse(&report, err);
	scan_report_done(&report);
	scan_policy_done(&rules);
	return status;
}
