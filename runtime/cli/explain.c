/*
 * explain: what would happen, and why.
 *
 * It goes the way of a run, up to the point where kernel objects would be made: same checks, same probe, same plan, as
 * the user who asks; only that the probe tries also what a run leaves to the launch. So what it says would be enforced
 * is what a run by the same user does, and who may not start a jail can still read what would be refused.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/namespaces.h"
#include "runtime/cli/backends.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/config.h"
#include "runtime/cli/term.h"
#include "runtime/cli/violations.h"
#include "runtime/library/explain.h"

static const enum term_style styles[] = {
	[EXPLAIN_ENFORCED] = TERM_GOOD,     [EXPLAIN_REPORTED] = TERM_PLAIN,
	[EXPLAIN_NOT_ENFORCED] = TERM_WARN, [EXPLAIN_REFUSED] = TERM_BAD,
	[EXPLAIN_UNRESTRICTED] = TERM_WARN, [EXPLAIN_EMPTY] = TERM_DIM,
};

/* ---- as text ---- */

static void print_rows(const struct explain_row *rows, size_t count)
{
	size_t width = 0;

	for (size_t i = 0; i < count; i++)
		width = strlen(rows[i].requested) > width ? strlen(rows[i].requested) : width;
	for (size_t i = 0; i < count; i++) {
		const struct explain_row *row = &rows[i];

		term_print(TERM_PLAIN, 24, row->field);
		term_print(TERM_PLAIN, (width < 36 ? width : 36) + 2, row->requested);
		term_print(TERM_PLAIN, 11, row->preferred ? "preferred" : "required");
		term_print(styles[row->state], 14, explain_word(row->state));
		printf("%s%s%s\n", row->by, *row->rounded ? "; rounded down to " : "", row->rounded);
	}
}

static void begin_line(const char *name)
{
	printf("  ");
	term_print(TERM_PLAIN, 14, name);
}

static void print_namespaces(const struct jail_plan *plan)
{
	begin_line("namespaces");
	for (size_t i = 0; i < NAMESPACE_COUNT; i++) {
		if (plan->namespaces & namespace_kinds[i].flag)
			printf("%s ", namespace_kinds[i].name);
	}
	putchar('\n');
}

static void print_rlimits(const struct jail_plan *plan)
{
	begin_line("rlimits");
	for (size_t i = 0; i < plan->rlimit_count; i++)
		printf("%s=%llu%s ", plan->rlimits[i].name, (unsigned long long)plan->rlimits[i].value,
		       plan->rlimits[i].clamped ? " (the host's hard limit)" : "");
	putchar('\n');
}

static void print_cgroup(const struct cgroup_limits *limits)
{
	char text[32];

	begin_line("cgroup");
	if (limits->memory_bytes != UINT64_MAX)
		printf("memory=%s ", policy_format_size(limits->memory_bytes, text, sizeof(text)));
	if (limits->swap_bytes != UINT64_MAX)
		printf("swap=%s ", policy_format_size(limits->swap_bytes, text, sizeof(text)));
	if (limits->pids_max != UINT64_MAX)
		printf("pids=%s (the jail's init included) ",
		       policy_format_count(limits->pids_max, text, sizeof(text)));
	if (limits->cpu_milli != UINT64_MAX)
		printf("cpus=%s ", policy_format_cpus(limits->cpu_milli, text, sizeof(text)));
	puts(limits->account ? "cpu accounting" : "");
}

static void print_filter(const struct jail_plan *plan)
{
	enum policy_syscall_profile profile = plan->policy.syscalls.profile;
	const struct seccomp_group *group;
	const char *gap = "";

	begin_line("filter");
	printf("%s profile, %zu instructions", policy_profile_name(profile), plan->filter->count);
	if (plan->landlock_abi > 0)
		printf("; Landlock ABI %d", plan->landlock_abi);
	putchar('\n');
	begin_line("denied");
	for (size_t i = 0; (group = seccomp_group(i)); i++) {
		if (seccomp_denies(group, profile, plan->policy.network.mode)) {
			printf("%s%s (%s)", gap, group->name, group->answer);
			gap = ", ";
		}
	}
	putchar('\n');
}

static void print_environment(const struct jail_plan *plan)
{
	begin_line("environment");
	for (char **variable = plan->environment; *variable; variable++)
		printf("%.*s ", (int)strcspn(*variable, "="), *variable);
	putchar('\n');
}

static void print_mounts(const struct jail_plan *plan)
{
	size_t own = 0;

	for (size_t i = 0; i < plan->rootfs.count; i++) {
		const struct rootfs_entry *entry = &plan->rootfs.entries[i];

		if (entry->kind == ROOTFS_OVERLAY) {
			begin_line("overlay");
			printf("%s read-write, private, over %zu read-only layers\n", entry->target,
			       plan->rootfs.overlays[entry->overlay].layer_count);
			continue;
		}
		if (entry->kind != ROOTFS_BIND) {
			own++;
			continue;
		}
		begin_line("mount");
		printf("%s %s%s", entry->target, entry->read_only ? "read-only" : "read-write",
		       entry->no_exec ? " noexec" : "");
		if (strcmp(entry->source, entry->target) != 0)
			printf(" from %s", entry->source);
		if (plan->privileged && entry->field == POLICY_FIELD_PATHS && !entry->owner_mapped)
			fputs(", owners unmapped", stdout);
		putchar('\n');
	}
	begin_line("root");
	printf("an empty tmpfs with %zu directories, links and files of its own, /proc and a minimal /dev\n",
	       own);
}

static void print_rules(const char *name, const struct policy_endpoints *list, bool is_allow)
{
	for (size_t row = 0; row < list->count; row++)
		for (size_t i = 0; i < policy_rule_count(&list->items[row]); i++) {
			struct policy_rule rule = policy_rule_at(&list->items[row], i);
			const char *given = list->items[row].host;

			if (!is_allow) /* a list of names is denied on every port */
				rule.port_count = list->items[row].port_count;
			begin_line(name);
			printf("%s port", rule.host ? rule.host : rule.cidr);
			for (size_t j = 0; j < rule.port_count; j++)
				printf("%s %u", j ? "," : "", rule.ports[j]);
			printf("%s%s%s\n", rule.port_count ? "" : " any", rule.host != given ? ", of " : "",
			       rule.host != given ? given : "");
		}
}

/* What each row of the policy stands for. */
static void print_destinations(const struct policy *policy)
{
	if (!policy_network_lists(policy))
		return;
	putchar('\n');
	term_title("Destinations");
	print_rules("allow", &policy->network.allow, true);
	if (policy->network.mode == POLICY_NETWORK_LEARN) {
		begin_line("allow");
		puts("every public address port 22, 80, 443");
	}
	print_rules("deny", &policy->network.deny, false);
}

static void print_plan(const struct jail_plan *plan)
{
	struct warder_error err = { 0 };
	char text[32];

	putchar('\n');
	term_title("Plan");
	print_namespaces(plan);
	begin_line("identity");
	printf("uid %u gid %u inside, host name %s, %s\n", plan->uid, plan->gid, plan->hostname,
	       plan->privileged ? "ids of the host's unprivileged range outside"
				: "the caller's own id outside");
	begin_line("network");
	puts(!(plan->namespaces & CLONE_NEWNET) ? "the host's"
	     : plan->named                      ? "loopback only; warder-edge connects for the jail"
	     : plan->publishes                  ? "loopback only; warder-edge passes connections in"
	     : plan->loopback_up                ? "loopback only"
						: "none: the only interface stays down");
	print_cgroup(&plan->cgroup);
	print_rlimits(plan);
	begin_line("capabilities");
	puts("none in any set, no_new_privs");
	print_filter(plan);
	print_environment(plan);
	print_mounts(plan);
	begin_line("directory");
	puts(plan->rootfs.working_directory);
	begin_line("wall time");
	puts(policy_format_time(plan->wall_time_us, text, sizeof(text)));
	begin_line("pool");
	puts(jail_check_park(plan, &err) == 0 ? "its jails can be parked" : term_clean(err.text));
}

/* Flags that were not typed have a part in what follows. */
static void print_config(const struct config *config)
{
	char names[400];

	if (!config)
		return;
	printf("Defaults from %s: %s\n\n", config->path, config_names(config, names, sizeof(names)));
}

static void print_text(const struct policy *policy, struct preparation *preparation,
		       const struct warder_error *refused)
{
	struct explain_row rows[EXPLAIN_ROWS_MAX];
	struct warder_error shown = { 0 };
	size_t count;

	if (refused) {
		shown = *refused;
		term_clean(shown.text);
	}
	if (preparation->matched) {
		char title[64];

		snprintf(title, sizeof(title), "Backend %s", preparation->backend->name);
		term_title(title);
		if (preparation->passed_over[0])
			printf("passed over: %s\n", term_clean(preparation->passed_over));
		count = explain_rows(policy, preparation, rows);
		if (refused && preparation->match.required_count == 0)
			explain_refused(rows, count, &shown);
		print_rows(rows, count);
	}
	print_destinations(policy);
	if (preparation->planned)
		print_plan(&preparation->plan);
	putchar('\n');
	if (!refused) {
		term_print(TERM_GOOD, 0, "It would run.");
	} else {
		term_print(TERM_BAD, 0, "It would be refused: ");
		printf("%s", shown.text);
	}
	putchar('\n');
}

/* ---- as JSON ---- */

static void write_refusal(struct json_writer *w, const struct args *args, const struct warder_error *refused)
{
	json_key(w, "refusal");
	if (!refused) {
		json_null(w);
		return;
	}
	json_begin_object(w);
	json_key_string(w, "kind", error_kind_name(refused->code));
	json_key_string(w, "field", refused->field[0] ? refused->field : NULL);
	json_key_string(w, "message", refused->text);
	if (violations_explain(args, refused)) {
		json_key(w, "violations");
		violations_write(args, w);
	}
	json_end_object(w);
}

static void print_json(const struct args *args, const struct preparation *preparation,
		       const struct warder_error *refused)
{
	struct json_writer w = { 0 };
	char *text;

	json_begin_object(&w);
	explain_write_backend(preparation, &w);
	config_write_member(args->config, &w);
	json_key(&w, "wouldRun");
	json_bool(&w, !refused);
	write_refusal(&w, args, refused);
	explain_write_fields(&args->policy->policy, preparation, refused, &w);
	json_end_object(&w);
	text = json_take(&w);
	puts(text ? text : "null");
	free(text);
}

/* ---- the command ---- */

static void print_next(void *context, const struct policy_violation *violation)
{
	struct warder_error shown = violation->error;
	size_t *seen = context;

	if ((*seen)++ > 0)
		printf("%s\n", term_clean(shown.text));
}

/* The first is in the sentence above. */
static void print_violations(const struct args *args)
{
	size_t seen = 0;

	violations_visit(args, print_next, &seen);
}

static int explain(const struct args *args)
{
	const struct policy *policy = &args->policy->policy;
	const struct preparation_options options = {
		.ceiling = args->ceiling ? &args->ceiling->policy : NULL,
		.cgroup_parent = args->cgroup_parent,
		.backend = args->backend,
		.backends = args->backends,
		.any_subject = true,
		.remotes = true,
		.thorough = true,
	};
	struct preparation preparation = { 0 };
	struct warder_error err = { 0 };
	int status = preparation_build(policy, &options, &preparation, &err);

	if (args->json)
		print_json(args, &preparation, status != 0 ? &err : NULL);
	else
		print_text(policy, &preparation, status != 0 ? &err : NULL);
	if (status != 0 && !args->json && violations_explain(args, &err))
		print_violations(args);
	preparation_done(&preparation);
	return status != 0 ? EXIT_REFUSED : 0;
}

/* The policy's name may stand without a flag. */
static int take_base(struct args *args, struct warder_error *err)
{
	const bool typed = args->base && !config_overrule_base(args->config, args->rest[0]);

	if (!args->rest[0])
		return 0;
	if (typed || args->rest[1])
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL,
				 "there is more than one policy; the second is \"%.80s\"",
				 args->rest[typed ? 0 : 1]);
	args->base = args->rest[0];
	args->base_is_file = false;
	return 0;
}

int explain_command(struct args *args, char **argv)
{
	struct warder_error err = { 0 };

	int status;

	if (take_base(args, &err) != 0 || args_load(FLAG_EXPLAIN, argv, args, &err) != 0)
		return command_refuse(args, &err, EXIT_REFUSED);
	if (!args->json)
		print_config(args->config);
	if (!args->backend || !strchr(args->backend, ','))
		return explain(args);
	status = backends_compare(args, &err);
	return status < 0 ? command_refuse(args, &err, EXIT_REFUSED) : status;
}
