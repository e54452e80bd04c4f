#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "runtime/code/code.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/term.h"

static void complain(const char *file, const struct warder_error *err)
{
	for (size_t i = 0; err->sys_errno == ENOENT && i < policy_preset_count(); i++) {
		if (strcmp(policy_preset_name(i), file) == 0) {
			term_complain(
			    "%s is no file: policy check takes documents; \"warder policy show %s\" "
			    "prints the preset",
			    file, file);
			return;
		}
	}
	term_error(err);
}

static int check(char **files)
{
	int status = 0;

	for (; *files; files++) {
		struct warder_policy *policy = NULL;
		struct warder_error err = { 0 };

		if (policy_load(*files, true, &policy, &err) == 0 &&
		    languages_check_by(code_languages_path(NULL), &policy->policy, &err) == 0) {
			printf("%s: ok\n", *files);
		} else {
			fflush(stdout);
			complain(*files, &err);
			status = EXIT_REFUSED;
		}
		warder_policy_free(policy);
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

int policy_command(struct request *request, char **argv)
{
	char **rest = request->rest;

	if (rest[0] && strcmp(rest[0], "check") == 0 && rest[1])
		return check(rest + 1);
	if (rest[0] && strcmp(rest[0], "show") == 0 && rest[1] && !rest[2])
		return show(rest[1]);
	term_complain("write \"warder policy check FILE...\" or \"warder policy show PRESET|FILE\"");
	return EXIT_REFUSED;
}
