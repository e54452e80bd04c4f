#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "jail/jail.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/term.h"
#include "runtime/cli/violations.h"
#include "runtime/code/code.h"

static void complain(const char *file, const struct warder_error *err)
{
	for (size_t i = 0; err->sys_errno == ENOENT && i < policy_preset_count(); i++) {
		if (strcmp(policy_preset_name(i), file) == 0) {
			term_complain(
			    "%s is not a file: policy check takes documents; \"warder policy show %s\" "
			    "prints the preset",
			    file, file);
			return;
		}
	}
	term_error(err);
}

/* What a run would say of the document alone; it needs nothing of the host. */
static int check_document(const char *text, size_t len, const char *origin, struct policy *ret,
			  struct warder_error *err)
{
	char field[sizeof(err->field)];

	if (policy_decode(text, len, origin, ret, err) != 0)
		return -1;
	if (languages_check_by(code_languages_path(NULL), ret, err) == 0 && jail_check_calls(ret, err) == 0)
		return 0;
	snprintf(field, sizeof(field), "%s", err->field);
	return error_context(err, "%.120s:%d", origin, policy_line(text, len, field));
}

static int check_file(const char *file, struct policy *ret, struct warder_error *err)
{
	char *text = NULL;
	size_t len = 0;
	int status;

	if (file_read(file, &text, &len, err) != 0)
		return -1;
	status = check_document(text, len, strcmp(file, "-") == 0 ? "standard input" : file, ret, err);
	free(text);
	return status;
}

static int check(char **files)
{
	int status = 0;

	for (; *files; files++) {
		owned_policy struct policy policy = { 0 };
		struct warder_error err = { 0 };

		if (check_file(*files, &policy, &err) == 0) {
			printf("%s: ok%s\n", *files,
			       policy_lacks_workspace(&policy)
				   ? "; filesystem.workspace names no directory: run it with --workspace DIR"
				   : "");
		} else {
			fflush(stdout);
			complain(*files, &err);
			status = EXIT_REFUSED;
		}
	}
	return status;
}

static int show(const char *name)
{
	struct json_writer writer = { .pretty = true };
	struct warder_policy *policy = NULL;
	struct warder_error err = { 0 };
	char *text;

	if (policy_load(name, false, &policy, &err) != 0) {
		term_error(&err);
		return EXIT_REFUSED;
	}
	policy_write(&policy->policy, &writer);
	text = json_take(&writer);
	warder_policy_free(policy);
	if (!text) {
		term_complain("out of memory");
		return EXIT_REFUSED;
	}
	puts(text);
	free(text);
	return 0;
}

/* ---- ceiling ---- */

static void print_value(const struct policy *policy, enum policy_field field)
{
	char value[4096];

	policy_field_value(policy, field, value, sizeof(value));
	term_print(TERM_PLAIN, 26, policy_field_path(field));
	puts(term_clean(value));
}

static void print_grant(enum policy_grant grant)
{
	static const enum term_style styles[] = {
		[POLICY_GRANTED] = TERM_GOOD,
		[POLICY_LOWERED] = TERM_WARN,
		[POLICY_REFUSED] = TERM_BAD,
	};

	term_print(styles[grant], 9, policy_grant_name(grant));
}

static void print_violation(void *context, const struct policy_violation *violation)
{
	const enum policy_field *field = context;
	struct warder_error shown = violation->error;

	if (violation->field != *field)
		return;
	print_grant(violation->grant);
	puts(term_clean(shown.text));
}

static void print_field(const struct args *args, enum policy_field field, bool is_granted)
{
	if (!args->policy) {
		if (args->ceiling)
			print_value(&args->ceiling->policy, field);
	} else if (is_granted) {
		print_grant(POLICY_GRANTED);
		print_value(&args->policy->policy, field);
	} else {
		violations_visit(args, print_violation, &field);
	}
}

struct counts {
	size_t of_field[POLICY_FIELD_COUNT];
	size_t all;
};

static void count(void *context, const struct policy_violation *violation)
{
	struct counts *counts = context;

	counts->of_field[violation->field]++;
	counts->all++;
}

static void print_ceiling(const struct args *args, const struct counts *counts)
{
	if (args->ceiling)
		printf("ceiling: %s\n", args->ceiling_path ? args->ceiling_path : CEILING_PATH);
	else
		printf("no ceiling: %s does not exist, so a policy may ask for anything but network.mode "
		       "\"learn\" and "
		       "inject\n",
		       CEILING_PATH);
	for (enum policy_field field = 0; field < POLICY_FIELD_COUNT; field++)
		print_field(args, field, counts->of_field[field] == 0);
}

static int print_granted(const struct args *args, struct warder_error *err)
{
	char *text = NULL;

	if (warder_policy_granted(args->policy, args->ceiling, &text, err) != 0)
		return -1;
	puts(text);
	free(text);
	return 0;
}

static int ceiling(struct args *args)
{
	struct warder_error err = { 0 };
	struct counts counts = { 0 };

	/* A ceiling that does not grant itself grants nothing: it has a row with a target. */
	if (args_load_ceiling(args, &err) != 0 ||
	    (args->ceiling && !args->for_policy &&
	     policy_check_ceiling(&args->ceiling->policy, &args->ceiling->policy, &err) != 0) ||
	    (args->for_policy && policy_load(args->for_policy, false, &args->policy, &err) != 0) ||
	    (args->json && print_granted(args, &err) != 0))
		return command_refuse(args, &err, EXIT_REFUSED);
	if (args->policy)
		violations_visit(args, count, &counts);
	if (!args->json)
		print_ceiling(args, &counts);
	return counts.all ? EXIT_REFUSED : 0;
}

/* The flags of `policy ceiling` mean nothing to the other words. */
static int refuse_flag(const struct args *args)
{
	const char *flag = args->ceiling_path ? "--ceiling" : args->for_policy ? "--for" : "--json";

	term_complain("%s belongs to \"warder policy ceiling\"; leave it out", flag);
	return EXIT_REFUSED;
}

int policy_command(struct args *args, char **argv)
{
	char **rest = args->rest;

	if (rest[0] && strcmp(rest[0], "ceiling") == 0 && !rest[1])
		return ceiling(args);
	if (rest[0] && strcmp(rest[0], "ceiling") == 0) {
		term_complain("%.80s is one word too many: policy ceiling [--for PRESET|FILE]", rest[1]);
		return EXIT_REFUSED;
	}
	if (rest[0] && (args->ceiling_path || args->for_policy || args->json))
		return refuse_flag(args);
	if (rest[0] && strcmp(rest[0], "check") == 0 && rest[1])
		return check(rest + 1);
	if (rest[0] && strcmp(rest[0], "show") == 0 && rest[1] && !rest[2])
		return show(rest[1]);
	term_complain("write \"warder policy check FILE...\", \"warder policy show PRESET|FILE\" or \"warder "
		      "policy ceiling [--for PRESET|FILE]\"");
	return EXIT_REFUSED;
}
