/*
 * readback: the texts of /proc that a receipt rests on, as no kernel wrote them. What passes a check says, by a plain search for
 * its lines, what was wanted; limits that are written as the kernel writes them are read as they are.
 */
#include "base/array.h"
#include "jail/rlimits.h"
#include "tests/fuzz/input.h"

#include "jail/readback.c" /* its readers of texts are its own */

/* Whether a line of the text is the name and after it this digit, but for blanks and leading zeros. */
static bool has_line(const char *text, const char *name, char digit)
{
	const size_t len = strlen(name);

	for (const char *at = text; (at = strstr(at, name)); at++) {
		const char *rest = at + len;

		if ((at != text && at[-1] != '\n') || *rest++ != ':')
			continue;
		rest += strspn(rest, " \t");
		if (rest[strspn(rest, "0")] == digit || (digit == '0' && *rest == '0')) {
			rest += strspn(rest, "0") + (digit != '0');
			if (rest[strspn(rest, " \t")] == '\n')
				return true;
		}
	}
	return false;
}

static struct jail_run *new_run(void)
{
	static struct policy_capabilities capabilities;
	static struct jail_template tmpl;
	static struct seccomp_program filter = { .count = 1 };
	struct jail_run *run = calloc(1, sizeof(*run));

	must(run);
	run->receipt = calloc(1, sizeof(*run->receipt));
	must(run->receipt);
	run->tmpl = &tmpl;
	run->given.policy = &tmpl.plan.policy;
	tmpl.plan.filter = &filter;
	tmpl.plan.capabilities = &capabilities;
	return run;
}

static void check_status(const char *text)
{
	static const char *const masks[] = { "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb" };
	struct jail_run *run = new_run();
	struct status status;
	struct warder_error err;

	snprintf(status.text, sizeof(status.text), "%s", text);
	find_lines(&status);
	text = status.text;
	if (check_privileges(run, &status, &err) == 0) {
		for (size_t i = 0; i < ARRAY_LENGTH(masks); i++)
			must(has_line(text, masks[i], '0'));
		must(has_line(text, "NoNewPrivs", '1'));
	} else {
		must(err.code != WARDER_ERROR_NONE && err.text[0]);
	}
	if (check_filter(run, &status, &err) == 0)
		must(has_line(text, "Seccomp", '2'));
	free(run->receipt);
	free(run);
}

static void append(char *text, size_t size, const char *title, uint64_t soft, uint64_t hard)
{
	const uint64_t values[2] = { soft, hard };

	snprintf(text + strlen(text), size - strlen(text), "%-25s ", title);
	for (int i = 0; i < 2; i++) {
		char number[24] = "unlimited";

		if (values[i] != UINT64_MAX)
			snprintf(number, sizeof(number), "%llu", (unsigned long long)values[i]);
		snprintf(text + strlen(text), size - strlen(text), "%-20s ", number);
	}
	strcat(text, "units\n");
}

static void check_limits(struct fuzz_input *input, const char *text)
{
	char made[400] = "";
	uint64_t soft = input_number(input), hard = input_number(input), got_soft, got_hard;

	rlimits_find(text, "STACK", &got_soft, &got_hard);
	append(made, sizeof(made), "Max file size", hard, soft);
	append(made, sizeof(made), "Max stack size", soft, hard);
	append(made, sizeof(made), "Max open files", hard, soft);
	must(rlimits_find(made, "STACK", &got_soft, &got_hard) == 0 && got_soft == soft && got_hard == hard);
	must(rlimits_find(made, "NOFILE", &got_soft, &got_hard) == 0 && got_soft == hard && got_hard == soft);
	must(rlimits_find(made, "CORE", &got_soft, &got_hard) == -1);
}

static void check_mountinfo(const char *text, size_t size)
{
	struct mountinfo_text rest = { text, size };
	struct mountinfo_text line;

	while (mountinfo_cut(&rest, &line)) {
		struct mountinfo mount;
		char path[64];

		must(line.at >= text && line.at + line.len <= text + size &&
		     !memchr(line.at, '\n', line.len));
		if (!mountinfo_parse(line, &mount))
			continue;
		must(mount.point.at >= line.at && mount.super.len <= line.len);
		if (mountinfo_path(mount.point, path, sizeof(path)))
			must(path[0] == '/' && memchr(path, 0, sizeof(path)));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };
	char *text = fuzz_text(data, size);

	check_status(text);
	check_limits(&input, text);
	check_mountinfo(text, size);
	free(text);
	return 0;
}
