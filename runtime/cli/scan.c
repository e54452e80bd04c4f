/*
 * scan: advice on a source, without running it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/term.h"
#include "runtime/code/code.h"

#define SOURCE_MOST          ((size_t)16 << 20)
#define EXIT_ADVISED_AGAINST 1

/* "line 3: high: shell.rm-root: why" */
static void show_finding(const struct json_value *finding)
{
	const struct json_value *line = json_member(finding, "line");

	printf("line %s: %s: %s: %s\n", line && line->type == JSON_NUMBER ? line->string : "-",
	       json_member_text(finding, "severity", ""), json_member_text(finding, "rule", ""),
	       json_member_text(finding, "reason", ""));
}

static int show(const struct args *args, const char *json, struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = 16 << 20 };
	const struct json_value *findings;
	struct json_value *report = NULL;
	int status;

	if (json_parse(json, strlen(json), "advice", &limits, &report, err) != 0)
		return EXIT_REFUSED;
	findings = json_member(report, "findings");
	if (args->json) {
		printf("%s\n", json);
	} else {
		for (const struct json_value *item = findings ? findings->child : NULL; item;
		     item = item->next)
			show_finding(item);
		printf("%s (advice: nothing is enforced by it)\n", json_member_text(report, "decision", ""));
	}
	status = strcmp(json_member_text(report, "decision", ""), "allow") == 0 ? 0 : EXIT_ADVISED_AGAINST;
	json_free(report);
	return status;
}

static int scan(struct args *args, char **ret_json, struct warder_error *err)
{
	struct warder_code code = { .size = sizeof(code),
				    .language = args->code.language,
				    .scan_rules = args->code.rules,
				    .scan_audit = args->audit };
	struct languages *languages = NULL;
	const char *language, *found_by;
	char *source = NULL;
	int status = -1;

	if (!args->rest[0] || args->rest[1])
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "source",
				 "which code? warder scan [FLAG...] FILE, or - for standard input");
	code.file_name = strcmp(args->rest[0], "-") == 0 ? NULL : args->rest[0];
	if (file_read_most(args->rest[0], SOURCE_MOST, &source, &code.source_len, err) != 0)
		return -1;
	code.source = source;
	if (languages_load(code_languages_path(args->code.languages), &languages, err) == 0 &&
	    code_language(languages, &code, &language, &found_by, err) == 0)
		status = advice_take(&code, language, NULL, ret_json, err);
	languages_free(languages);
	free(source);
	return status;
}

int scan_command(struct args *args, char **argv)
{
	struct warder_error err = { 0 };
	char *json = NULL;
	int status = EXIT_REFUSED;

	if (scan(args, &json, &err) == 0)
		status = show(args, json, &err);
	free(json);
	return err.code ? command_refuse(args, &err, EXIT_REFUSED) : status;
}
