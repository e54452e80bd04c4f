/*
 * A row says what is in force and how that is known. Here are the rows of what the kernel does not show: what the supervisor
 * keeps, what init and payload reported when they applied it, what could not be had, and what nobody asked for.
 */
#include "jail/receipt.h"
#include "base/array.h"
#include "base/text.h"
#include "jail/backstop.h"
#include "jail/rlimits.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define RULE_ROWS 64

static const char kept_source[] = "kept by the supervisor, not by the kernel";
static const char edge_source[] = "kept by warder-edge";
static const char reported_source[] = "reported by the payload; the kernel has no read-back";

/* Cut between two words, and marked, where it does not fit. A copy: there are many rows in every launch. */
static void put(char *to, size_t size, const char *from)
{
	static const char mark[] = " ...";
	size_t len = strnlen(from, size);

	if (len < size) {
		memcpy(to, from, len + 1);
		return;
	}
	for (len = size - sizeof(mark); len && from[len] != ' ';)
		len--;
	if (!len) /* one long word */
		len = size - sizeof(mark);
	memcpy(to, from, len);
	memcpy(to + len, mark, sizeof(mark));
}

__attribute__((format(printf, 4, 0))) static void fill(struct policy_receipt_row *row, const char *mechanism,
						       const char *source, const char *format, va_list args)
{
	char value[2 * sizeof(row->value)];

	put(row->mechanism, sizeof(row->mechanism), mechanism);
	put(row->source, sizeof(row->source), source);
	vsnprintf(value, sizeof(value), format, args);
	put(row->value, sizeof(row->value), value);
}

void receipt_control(struct jail_run *run, enum policy_control control, const char *source,
		     const char *format, ...)
{
	const struct jail_plan *plan = &run->tmpl->plan;
	struct policy_receipt_row *row =
	    policy_receipt_add(run->receipt, policy_control_name(control), POLICY_RECEIPT_ENFORCED);
	va_list args;

	if (!row)
		return;
	policy_control_value(run->given.policy, control, row->requested, sizeof(row->requested));
	va_start(args, format);
	fill(row, plan->capabilities->controls[control].mechanism, source, format, args);
	va_end(args);
}

void receipt_layer(struct jail_run *run, const char *name, bool there, const char *mechanism,
		   const char *source, const char *format, ...)
{
	struct policy_receipt_row *row =
	    policy_receipt_add(run->receipt, name, there ? POLICY_RECEIPT_HARDENING : POLICY_RECEIPT_ABSENT);
	va_list args;

	if (!row)
		return;
	va_start(args, format);
	fill(row, mechanism, source, format, args);
	va_end(args);
}

/* ---- what the edge keeps ---- */

/* How connections that a row allows are checked. */
static const char *checked_how(const struct policy_endpoint *row)
{
	bool web = false;
	bool other = false;

	if (row->cidr)
		return "by address and port only";
	if (row->inject)
		return "by TLS that warder-edge ends, and every HTTP request; nothing else passes";
	for (size_t i = 0; i < policy_rule_count(row); i++) {
		const struct policy_rule rule = policy_rule_at(row, i);

		for (size_t j = 0; j < rule.port_count; j++) {
			const bool is_web = rule.ports[j] == 443 || rule.ports[j] == 80;

			web |= is_web;
			other |= !is_web;
		}
	}
	return !other ? "by TLS server name and HTTP requests; nothing else passes"
	       : web ? "by TLS server name and HTTP requests; except on ports 443 and 80, other protocols by "
		       "address"
		     : "by TLS server name and HTTP requests; other protocols by address";
}

static void rule_rows(struct policy_receipt *receipt, const struct policy_endpoints *rows, const char *source)
{
	char requested[1024];
	char name[48];

	for (size_t i = 0; i < rows->count; i++) {
		struct policy_receipt_row *row;

		if (i + 1 == RULE_ROWS && rows->count > RULE_ROWS)
			snprintf(name, sizeof(name), "network.allow[%zu-%zu]", i, rows->count - 1);
		else
			snprintf(name, sizeof(name), "network.allow[%zu]", i);
		row = policy_receipt_add(receipt, name, POLICY_RECEIPT_ENFORCED);
		if (!row)
			return;
		put(row->source, sizeof(row->source), source);
		if (i + 1 == RULE_ROWS && rows->count > RULE_ROWS) {
			snprintf(row->mechanism, sizeof(row->mechanism), "as in the rows above");
			snprintf(row->value, sizeof(row->value), "%zu more rows", rows->count - i);
			return;
		}
		put(row->requested, sizeof(row->requested),
		    policy_format_endpoint(&rows->items[i], requested, sizeof(requested)));
		snprintf(row->mechanism, sizeof(row->mechanism), "%s", checked_how(&rows->items[i]));
		snprintf(row->value, sizeof(row->value), "%s",
			 rows->items[i].cidr ? "the address that the program connects to"
			 : rows->items[i].host[0] == '*'
			     ? "each name below it; resolved at each connection; special addresses refused"
			     : "resolved at each connection; special addresses refused");
	}
}

static void publish_row(struct jail_run *run)
{
	const struct policy_published *list = &run->tmpl->plan.policy.network.publish;
	char text[256] = "";

	for (size_t i = 0; i < list->count; i++) {
		const struct policy_publish *row = &list->items[i];
		const unsigned int host_port =
		    i < run->edge.published_count ? run->edge.published[i] : row->host_port;
		const size_t used = strlen(text);

		snprintf(text + used, sizeof(text) - used, "%s%s:%u to port %u", i ? ", " : "", row->address,
			 host_port, row->jail_port);
	}
	receipt_control(run, POLICY_CONTROL_NETWORK_PUBLISH, "getsockname; kept by warder-edge", "%s", text);
}

void receipt_edge(struct jail_run *run)
{
	const struct policy *policy = &run->tmpl->plan.policy;
	char text[160];

	rule_rows(run->receipt, &policy->network.allow, edge_source);
	if (policy_injects(policy))
		receipt_control(
		    run, POLICY_CONTROL_NETWORK_INJECT, edge_source, "%s",
		    policy_control_value(policy, POLICY_CONTROL_NETWORK_INJECT, text, sizeof(text)));
	if (run->tmpl->plan.publishes)
		publish_row(run);
	if (policy->network.deny.count)
		receipt_control(run, POLICY_CONTROL_NETWORK_DENY, edge_source, "%zu rows",
				policy->network.deny.count);
	receipt_control(run, POLICY_CONTROL_NETWORK_CONNECTIONS, edge_source, "%llu at once",
			(unsigned long long)policy->network.connections_max);
	if (policy->network.bytes_max != POLICY_UNLIMITED)
		receipt_control(run, POLICY_CONTROL_NETWORK_BYTES, edge_source, "%s",
				policy_format_size(policy->network.bytes_max, text, sizeof(text)));
}

void receipt_replace_rules(struct policy_receipt *receipt, const struct jail_plan *plan,
			   const struct policy *policy, uint64_t since_us)
{
	static const char allow[] = "network.allow[";
	const char *deny = policy_control_name(POLICY_CONTROL_NETWORK_DENY);
	const time_t since = (time_t)(since_us / 1000000);
	struct policy_receipt_row *row;
	char source[sizeof(receipt->rows[0].source)], time[32] = "";
	size_t kept = 0;
	struct tm utc;

	for (size_t i = 0; i < receipt->count; i++)
		if (strncmp(receipt->rows[i].control, allow, sizeof(allow) - 1) != 0 &&
		    strcmp(receipt->rows[i].control, deny) != 0)
			receipt->rows[kept++] = receipt->rows[i];
	receipt->count = kept;
	for (size_t i = 0; i < kept; i++)
		if (strcmp(receipt->rows[i].control, policy_control_name(POLICY_CONTROL_NETWORK_ALLOW)) == 0)
			policy_control_value(policy, POLICY_CONTROL_NETWORK_ALLOW, receipt->rows[i].requested,
					     sizeof(receipt->rows[i].requested));
	if (gmtime_r(&since, &utc))
		strftime(time, sizeof(time), "%Y-%m-%dT%H:%M:%SZ", &utc);
	snprintf(source, sizeof(source), "%s since %s", edge_source, time);
	rule_rows(receipt, &policy->network.allow, source);
	row = policy->network.deny.count ? policy_receipt_add(receipt, deny, POLICY_RECEIPT_ENFORCED) : NULL;
	if (!row)
		return;
	put(row->source, sizeof(row->source), source);
	put(row->mechanism, sizeof(row->mechanism),
	    plan->capabilities->controls[POLICY_CONTROL_NETWORK_DENY].mechanism);
	policy_control_value(policy, POLICY_CONTROL_NETWORK_DENY, row->requested, sizeof(row->requested));
	snprintf(row->value, sizeof(row->value), "%zu rows", policy->network.deny.count);
}

/* ---- what the supervisor keeps ---- */

static void output_row(struct jail_run *run, enum policy_control control, uint64_t most, const char *kept)
{
	if (most == UINT64_MAX)
		receipt_control(run, control, kept_source, "passed on as it comes");
	else
		receipt_control(run, control, kept_source, "%llu bytes %s", (unsigned long long)most, kept);
}

/* Controls that live in the supervisor, or in the exec to come. */
static void supervisor_rows(struct jail_run *run)
{
	const struct jail_plan *plan = &run->tmpl->plan;
	const char *kept =
	    plan->kill_on_output ? "kept; the program is ended beyond" : "kept; the rest drained and counted";

	if (run->given.wall_time_us != POLICY_UNLIMITED)
		receipt_control(run, POLICY_CONTROL_WALL_TIME, kept_source,
				"%llu us from the %s on; init's backstop %llu us",
				(unsigned long long)run->given.wall_time_us,
				run->warm.is ? "hand-out of the code" : "exec",
				(unsigned long long)backstop_us(run->given.wall_time_us));
	if (run->given.code_bytes || run->warm.is)
		receipt_control(run, POLICY_CONTROL_CODE, kept_source, "%llu bytes of program text",
				(unsigned long long)run->given.code_bytes);
	else
		receipt_control(run, POLICY_CONTROL_CODE, kept_source, "a program, not a piece of code");
	output_row(run, POLICY_CONTROL_STDOUT, run->given.stdout_bytes, kept);
	output_row(run, POLICY_CONTROL_STDERR, run->given.stderr_bytes, kept);
	if (plan->policy.functions.count && !plan->not_enforced[POLICY_CONTROL_FUNCTIONS])
		receipt_control(run, POLICY_CONTROL_FUNCTIONS, kept_source, "%s",
				run->command.calls_fd > 0
				    ? "no call yet"
				    : "nobody answers: the program has no descriptor for calls");
	if (plan->policy.environment.mode != POLICY_ENVIRONMENT_HOST &&
	    !plan->not_enforced[POLICY_CONTROL_ENVIRONMENT])
		receipt_control(
		    run, POLICY_CONTROL_ENVIRONMENT,
		    run->warm.is ? "made by the supervisor before the program was parked; not read back"
				 : "made by the supervisor for the exec; not read back",
		    "%zu variables (image: %zu), and %zu of the command", text_count(run->given.environment),
		    text_count(plan->rootfs.image.environment), text_count(run->command.set_env));
}

/* What Landlock can deny depends on its version; see step_landlock() of the payload. */
static void landlock_row(struct jail_run *run)
{
	const int abi = run->tmpl->plan.landlock_abi;
	const bool there = run->applied & (1ull << WIRE_STEP_LANDLOCK);
	char denies[96];

	snprintf(denies, sizeof(denies), "writes only below the writable trees%s%s%s",
		 abi >= 3 ? ", truncation" : "", abi >= 5 ? ", device ioctls" : "",
		 abi >= 6 ? "; scoped sockets and signals" : "");
	receipt_layer(run, "landlock", there, there ? denies : "none", reported_source,
		      there ? "ABI %d" : "not in this kernel (%d)", abi);
}

static void accounts_row(struct jail_run *run)
{
	const bool there = !run_is_contained(run) || run_is_joined(run);
	const bool all = run_counts_all(run);

	receipt_layer(run, "perUserAccounts", there,
		      there ? "/proc/sys/user of the jail's user namespace" : "none",
		      "written and read back in that namespace", "%s%s",
		      !there ? "inotify and fanotify count for the user of the container"
		      : all  ? "16 instances and 8192 watches each of inotify and fanotify"
			     : "16 instances and 8192 watches of inotify and fanotify, but not of what this "
			       "kernel counts only per user of the host",
		      run->zygote ? "; what the host gives one user, all forks of the zygote share" : "");
}

void readback_layers(struct jail_run *run)
{
	if (!run_is_contained(run) || run_is_joined(run) || run->tmpl->plan.starter->gives_setpcap)
		receipt_layer(run, "secureBits", true, "PR_SET_SECUREBITS",
			      "applied by init; the kernel has no read-back from outside",
			      "no root, no setuid fixup, no ambient capabilities; locked");
	accounts_row(run);
	landlock_row(run);
}

/* Directories of the host that the program may write to, without a limit of their size. */
static void growth_row(struct jail_run *run)
{
	const struct policy *policy = &run->tmpl->plan.policy;
	struct policy_receipt_row *row;

	if (!policy->filesystem.growth_unlimited || !policy_writes_host(policy))
		return;
	row = policy_receipt_add(run->receipt, "filesystem.growth", POLICY_RECEIPT_UNRESTRICTED);
	if (row)
		snprintf(row->requested, sizeof(row->requested), "unlimited");
}

static bool has_row(const struct jail_run *run, const char *control)
{
	for (size_t i = 0; i < run->receipt->count; i++)
		if (run->receipt->rows[i].status == POLICY_RECEIPT_UNRESTRICTED &&
		    strcmp(run->receipt->rows[i].control, control) == 0)
			return true;
	return false;
}

static void unrestricted_row(struct jail_run *run, enum policy_control control)
{
	const char *path = policy_field_path(policy_control_field(control));
	struct policy_receipt_row *row;

	if (has_row(run, path))
		return;
	row = policy_receipt_add(run->receipt, path, POLICY_RECEIPT_UNRESTRICTED);
	if (row)
		policy_control_value(&run->tmpl->plan.policy, control, row->requested,
				     sizeof(row->requested));
}

/* Restrictions that the policy explicitly does not want; the read-back has added those of which the kernel shows what holds. */
static void unrestricted_rows(struct jail_run *run)
{
	const struct policy *policy = &run->tmpl->plan.policy;
	const struct unrestricted {
		bool is;
		enum policy_control control;
	} unrestricted[] = {
		{ policy->network.mode == POLICY_NETWORK_HOST, POLICY_CONTROL_NETWORK_NONE },
		{ policy->network.mode == POLICY_NETWORK_LEARN, POLICY_CONTROL_NETWORK_LEARN },
		{ policy->environment.mode == POLICY_ENVIRONMENT_HOST, POLICY_CONTROL_ENVIRONMENT },
		/* A session's plan has its lifetime here. */
		{ run->given.wall_time_us == POLICY_UNLIMITED, POLICY_CONTROL_WALL_TIME },
		{ policy->limits.cpu_time_us == POLICY_UNLIMITED, POLICY_CONTROL_CPU_TIME },
		{ policy->limits.memory_bytes == POLICY_UNLIMITED, POLICY_CONTROL_MEMORY },
		{ policy->limits.swap_bytes == POLICY_UNLIMITED, POLICY_CONTROL_SWAP },
		{ policy->limits.cpu_milli == POLICY_UNLIMITED, POLICY_CONTROL_CPUS },
		{ policy->limits.pids_max == POLICY_UNLIMITED, POLICY_CONTROL_PIDS },
	};
	const struct rlimit_row *rlimit;

	for (size_t i = 0; i < ARRAY_LENGTH(unrestricted); i++) {
		if (unrestricted[i].is)
			unrestricted_row(run, unrestricted[i].control);
	}
	for (size_t i = 0; (rlimit = rlimit_row_at(i)) != NULL; i++) {
		if (rlimit_row_value(rlimit, policy) == POLICY_UNLIMITED)
			unrestricted_row(run, rlimit->control);
	}
	if (policy->limits.disk_bytes == POLICY_UNLIMITED)
		unrestricted_row(run, POLICY_CONTROL_DISK_TMP);
	growth_row(run);
}

static bool has_rlimit(const struct jail_plan *plan, enum policy_field field)
{
	for (size_t i = 0; i < plan->rlimit_count; i++)
		if (plan->rlimits[i].field == field)
			return true;
	return false;
}

/* Preferred controls that could not be had. */
static void missing_rows(struct jail_run *run)
{
	static const char *const fallbacks[POLICY_CONTROL_COUNT] = {
		[POLICY_CONTROL_MEMORY] = "only RLIMIT_AS, for each process by itself",
		[POLICY_CONTROL_PIDS] = "only RLIMIT_NPROC",
		[POLICY_CONTROL_CPU_TIME] = "only RLIMIT_CPU, for each process by itself",
	};
	const struct jail_plan *plan = &run->tmpl->plan;

	for (int i = 0; i < POLICY_CONTROL_COUNT; i++) {
		enum policy_control control = (enum policy_control)i;
		struct policy_receipt_row *row;

		if (!plan->not_enforced[i])
			continue;
		row = policy_receipt_add(run->receipt, policy_control_name(control),
					 POLICY_RECEIPT_NOT_ENFORCED);
		if (!row)
			continue;
		policy_control_value(&plan->policy, control, row->requested, sizeof(row->requested));
		put(row->mechanism, sizeof(row->mechanism),
		    fallbacks[i] && !run_is_bare(run) && has_rlimit(plan, policy_control_field(control))
			? fallbacks[i]
			: "none");
		put(row->value, sizeof(row->value), plan->capabilities->controls[i].reason);
	}
}

void readback_rest(struct jail_run *run)
{
	supervisor_rows(run);
	unrestricted_rows(run);
	missing_rows(run);
}

void readback_lost_init(struct jail_run *run)
{
	for (size_t i = 0; i < run->receipt->count; i++) {
		struct policy_receipt_row *row = &run->receipt->rows[i];

		if (strcmp(row->control, policy_control_name(POLICY_CONTROL_WALL_TIME)) != 0 ||
		    row->status != POLICY_RECEIPT_ENFORCED)
			continue;
		row->status = POLICY_RECEIPT_NOT_ENFORCED;
		put(row->mechanism, sizeof(row->mechanism), "none");
		put(row->value, sizeof(row->value),
		    "init was killed before it had ended the processes of the program; some may still run");
	}
}
