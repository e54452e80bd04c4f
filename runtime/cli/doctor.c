/*
 * doctor: what this host can do, by trying.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "runtime/cli/backends.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/term.h"
#include "runtime/library/explain.h"
#include "runtime/service/service.h"
#include "runtime/session/session.h"

static const char *const controllers[CGROUP_CONTROLLER_COUNT] = {
	[CGROUP_MEMORY] = "memory",
	[CGROUP_PIDS] = "processes",
	[CGROUP_CPU] = "cpu bandwidth",
	[CGROUP_ACCOUNT] = "cpu time",
};

struct findings {
	const struct jail_host *host;
	struct explain_row rows[EXPLAIN_ROWS_MAX]; /* of the strict preset */
	size_t row_count;
	bool strict;         /* it can be enforced */
	const char *why_not; /* what else than a row stands in its way; "" for none */
	int leftovers, removed;
	struct jail_risks risks;
	bool has_service, is_served;
	char not_served
	    [SERVICE_WHY]; /* why a service that runs would not serve this caller; "": it would, or none runs */
};

/* ---- as text ---- */

static void print_answer(enum term_style style, const char *answer, const char *what, const char *detail)
{
	printf("  ");
	term_print(style, 5, answer);
	term_print(TERM_PLAIN, detail[0] ? 45 : 0, what);
	printf("%s\n", detail);
}

static void print_line(bool good, const char *what, const char *detail)
{
	print_answer(good ? TERM_GOOD : TERM_BAD, good ? "yes" : "no", what, detail);
}

static void print_features(const struct jail_host *host)
{
	term_title("Kernel and privilege");
	for (enum jail_feature feature = 0; feature < JAIL_FEATURE_COUNT; feature++) {
		const struct jail_feature_state *state = &host->features[feature];

		if (state->unknown)
			print_answer(TERM_WARN, "?", jail_feature_title(feature), state->detail);
		else
			print_line(state->there, jail_feature_title(feature), state->detail);
	}
}

static void describe_controller(const struct cgroup_host *cgroup, enum cgroup_controller controller,
				char *buf, size_t len)
{
	int at = cgroup->hierarchy_of[controller];

	if (at < 0)
		snprintf(buf, len, "%s", cgroup->reason[controller]);
	else
		snprintf(buf, len, "v%d, below %s", cgroup->hierarchies[at].v2 ? 2 : 1,
			 cgroup->hierarchies[at].base);
}

static void print_cgroups(const struct cgroup_host *cgroup)
{
	char text[CGROUP_BASE_MAX + 32];

	putchar('\n');
	term_title("Control groups");
	for (enum cgroup_controller controller = 0; controller < CGROUP_CONTROLLER_COUNT; controller++) {
		describe_controller(cgroup, controller, text, sizeof(text));
		print_line(cgroup->hierarchy_of[controller] >= 0, controllers[controller], text);
	}
	print_line(cgroup->swap_limit || cgroup->no_swap, "swap",
		   cgroup->no_swap      ? "the host has no swap space"
		   : cgroup->swap_limit ? "can be limited"
					: "cannot be limited");
}

static void print_strict(const struct findings *findings)
{
	putchar('\n');
	term_title("Preset strict");
	for (size_t i = 0; i < findings->row_count; i++) {
		if (findings->rows[i].state == EXPLAIN_REFUSED)
			print_line(false, findings->rows[i].field, findings->rows[i].by);
	}
	if (findings->why_not[0])
		print_line(false, "cannot be enforced", findings->why_not);
	if (findings->strict)
		print_line(true, "can be enforced", "");
}

static void print_risks(const struct jail_risks *risks)
{
	char limit[32], used[32];

	putchar('\n');
	term_title("Resources that all jails of the host share");
	if (risks->jit_limit_known)
		printf("  code of BPF programs: at most %s (net.core.bpf_jit_limit), %s in use\n",
		       policy_format_size(risks->jit_limit_bytes, limit, sizeof(limit)),
		       risks->jit_used_known ? policy_format_size(risks->jit_used_bytes, used, sizeof(used))
					     : "an unknown part");
	else
		printf("  code of BPF programs: the limit is unknown (root reads net.core.bpf_jit_limit)\n");
	if (risks->loads_modules)
		printf(
		    "  warning: the kernel starts %s as root. A jail with network.mode loopback or allow can "
		    "make it "
		    "load\n"
		    "  a classifier module, and before Linux 6.14 the execution of an unknown binary format "
		    "starts it, too.\n"
		    "  After the boot: \"sysctl kernel.modules_disabled=1\", or \"sysctl "
		    "kernel.modprobe=\"\n",
		    risks->modprobe);
	else
		printf("  modules: the kernel starts no program to load one\n");
}

static void print_text(const struct findings *findings, bool clean)
{
	print_features(findings->host);
	print_cgroups(&findings->host->cgroup);
	print_strict(findings);
	print_risks(&findings->risks);
	putchar('\n');
	term_title("Service of this user");
	if (findings->is_served)
		puts("  runs: \"warder run\" may use it");
	else if (findings->has_service)
		printf("  runs, but does not serve a command from here: %s\n", findings->not_served);
	else
		puts("  none; \"warder serve --local\" starts one");
	putchar('\n');
	term_title("Left by dead supervisors");
	if (clean)
		printf("  %d removed, %d left\n", findings->removed, findings->leftovers);
	else
		printf("  %d%s\n", findings->leftovers,
		       findings->leftovers ? "; \"warder doctor --clean\" removes them" : "");
}

/* ---- as JSON ---- */

static void write_features(struct json_writer *w, const struct jail_host *host)
{
	json_key(w, "features");
	json_begin_array(w);
	for (enum jail_feature feature = 0; feature < JAIL_FEATURE_COUNT; feature++) {
		json_begin_object(w);
		json_key_string(w, "name", jail_feature_name(feature));
		json_key(w, "there");
		if (host->features[feature].unknown)
			json_null(w);
		else
			json_bool(w, host->features[feature].there);
		json_key_string(w, "detail", host->features[feature].detail);
		json_end_object(w);
	}
	json_end_array(w);
}

static void write_cgroups(struct json_writer *w, const struct cgroup_host *cgroup)
{
	json_key(w, "cgroups");
	json_begin_array(w);
	for (enum cgroup_controller controller = 0; controller < CGROUP_CONTROLLER_COUNT; controller++) {
		int at = cgroup->hierarchy_of[controller];

		json_begin_object(w);
		json_key_string(w, "controller", controllers[controller]);
		json_key(w, "version");
		if (at < 0)
			json_null(w);
		else
			json_uint(w, cgroup->hierarchies[at].v2 ? 2 : 1);
		json_key_string(w, "base", at < 0 ? NULL : cgroup->hierarchies[at].base);
		json_key_string(w, "reason", at < 0 ? cgroup->reason[controller] : NULL);
		json_end_object(w);
	}
	json_end_array(w);
	json_key_bool(w, "swapLimit", cgroup->swap_limit);
	json_key_bool(w, "noSwap", cgroup->no_swap);
}

static void write_strict(struct json_writer *w, const struct findings *findings)
{
	json_key(w, "strict");
	json_begin_object(w);
	json_key_bool(w, "enforceable", findings->strict);
	json_key(w, "missing");
	json_begin_array(w);
	for (size_t i = 0; i < findings->row_count; i++) {
		if (findings->rows[i].state != EXPLAIN_REFUSED)
			continue;
		json_begin_object(w);
		json_key_string(w, "field", findings->rows[i].field);
		json_key_string(w, "reason", findings->rows[i].by);
		json_end_object(w);
	}
	json_end_array(w);
	json_key_string(w, "reason", findings->why_not[0] ? findings->why_not : NULL);
	json_end_object(w);
}

static void member_known(struct json_writer *w, const char *key, bool known, uint64_t value)
{
	json_key(w, key);
	if (known)
		json_uint(w, value);
	else
		json_null(w);
}

static void write_risks(struct json_writer *w, const struct jail_risks *risks)
{
	member_known(w, "bpfJitLimitBytes", risks->jit_limit_known, risks->jit_limit_bytes);
	member_known(w, "bpfJitUsedBytes", risks->jit_used_known, risks->jit_used_bytes);
	json_key_string(w, "loadsModules", risks->loads_modules ? risks->modprobe : NULL);
}

static void print_json(const struct findings *findings)
{
	struct json_writer w = { 0 };
	char *text;

	json_begin_object(&w);
	write_features(&w, findings->host);
	write_cgroups(&w, &findings->host->cgroup);
	write_strict(&w, findings);
	write_risks(&w, &findings->risks);
	json_key_bool(&w, "service", findings->has_service);
	json_key_string(&w, "serviceRefuses", findings->not_served[0] ? findings->not_served : NULL);
	json_key(&w, "leftovers");
	json_int(&w, findings->leftovers);
	json_key(&w, "removed");
	json_int(&w, findings->removed);
	json_end_object(&w);
	text = json_take(&w);
	puts(text ? text : "null");
	free(text);
}

/* ---- the command ---- */

static int examine(const struct args *args, const struct policy *strict)
{
	const struct preparation_options options = { .cgroup_parent = args->cgroup_parent,
						     .backend = args->backend,
						     .backends = args->backends,
						     .thorough = true };
	struct preparation preparation = { 0 };
	struct warder_error err = { 0 };
	struct findings findings = { .why_not = "" };

	/* The probe may move this process to another cgroup. */
	findings.is_served = service_may_serve(&findings.has_service, findings.not_served);
	findings.strict = preparation_build(strict, &options, &preparation, &err) == 0;
	if (!preparation.host)
		return command_refuse(args, &err, EXIT_REFUSED);
	findings.host = preparation.host;
	findings.row_count = explain_rows(strict, &preparation, findings.rows);
	if (!findings.strict && preparation.match.required_count == 0)
		findings.why_not = err.text;
	if (args->clean)
		findings.removed = session_clean(false) + jail_clean(preparation.host, false);
	findings.leftovers = session_clean(true) + jail_clean(preparation.host, true);
	jail_risks_read(&findings.risks);
	if (args->json)
		print_json(&findings);
	else
		print_text(&findings, args->clean);
	preparation_done(&preparation);
	return findings.strict ? 0 : 1;
}

int doctor_command(struct args *args, char **argv)
{
	struct warder_error err = { 0 };
	int status;

	if (args->rest[0]) {
		error_set(&err, WARDER_ERROR_INVALID_REQUEST, "argv",
			  "doctor takes no argument such as \"%.80s\"", args->rest[0]);
		return command_refuse(args, &err, EXIT_REFUSED);
	}
	if (args->shapes_policy && !args->attack) {
		error_set(&err, WARDER_ERROR_INVALID_REQUEST, "argv",
			  "doctor looks at the host; flags of a policy belong to doctor --attack");
		return command_refuse(args, &err, EXIT_REFUSED);
	}
	if (args->attack_session && !args->attack) {
		error_set(&err, WARDER_ERROR_INVALID_REQUEST, "--session", "--session belongs to --attack");
		return command_refuse(args, &err, EXIT_REFUSED);
	}
	if (args->attack && args->clean) {
		error_set(&err, WARDER_ERROR_INVALID_REQUEST, "argv",
			  "--attack and --clean are two things to do; give one of them");
		return command_refuse(args, &err, EXIT_REFUSED);
	}
	if (args_load(FLAG_DOCTOR, argv, args, &err) != 0)
		return command_refuse(args, &err, EXIT_REFUSED);
	if (args->matrix)
		status = backends_matrix(args, &err) == 0 ? 0 : command_refuse(args, &err, EXIT_REFUSED);
	else if (args->attack)
		status = attack_command(args, &args->policy->policy);
	else
		status = examine(args, &args->policy->policy);
	return status;
}
