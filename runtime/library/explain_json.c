/*
 * The rows of a policy and the plan behind them, as JSON.
 */
#include "runtime/library/explain.h"

#include <stdint.h>
#include <string.h>

#include "base/json.h"
#include "base/namespaces.h"
#include "runtime/library/result.h"

static void write_rows(struct json_writer *w, const struct explain_row *rows, size_t count)
{
	json_key(w, "fields");
	json_begin_array(w);
	for (size_t i = 0; i < count; i++) {
		const struct explain_row *row = &rows[i];
		bool reason = row->state == EXPLAIN_NOT_ENFORCED || row->state == EXPLAIN_REFUSED;

		json_begin_object(w);
		json_key_string(w, "field", row->field);
		json_key_string(w, "control", row->control);
		json_key_string(w, "requested", row->requested);
		json_key_string(w, "rounded", *row->rounded ? row->rounded : NULL);
		json_key_string(w, "enforcement", row->preferred ? "preferred" : "required");
		json_key_string(w, "state", explain_word(row->state));
		json_key_string(w, "mechanism",
				row->state == EXPLAIN_ENFORCED || row->state == EXPLAIN_REPORTED ? row->by
												 : NULL);
		json_key_string(w, "reason", reason ? row->by : NULL);
		json_end_object(w);
	}
	json_end_array(w);
}

static void write_namespaces(struct json_writer *w, const struct jail_plan *plan)
{
	json_key(w, "namespaces");
	json_begin_array(w);
	for (size_t i = 0; i < NAMESPACE_COUNT; i++) {
		if (plan->namespaces & namespace_kinds[i].flag)
			json_string(w, namespace_kinds[i].name);
	}
	json_end_array(w);
}

static void write_rlimits(struct json_writer *w, const struct jail_plan *plan)
{
	json_key(w, "rlimits");
	json_begin_array(w);
	for (size_t i = 0; i < plan->rlimit_count; i++) {
		json_begin_object(w);
		json_key_string(w, "name", plan->rlimits[i].name);
		json_key(w, "value");
		json_uint(w, plan->rlimits[i].value);
		json_key(w, "clamped");
		json_bool(w, plan->rlimits[i].clamped);
		json_end_object(w);
	}
	json_end_array(w);
}

static void write_cgroup(struct json_writer *w, const struct cgroup_limits *limits)
{
	json_key(w, "cgroup");
	json_begin_object(w);
	result_write_known(w, "memoryBytes", limits->memory_bytes);
	result_write_known(w, "swapBytes", limits->swap_bytes);
	result_write_known(w, "pidsMax", limits->pids_max);
	result_write_known(w, "cpuMilli", limits->cpu_milli);
	json_end_object(w);
}

static void write_filter(struct json_writer *w, const struct jail_plan *plan)
{
	enum policy_syscall_profile profile = plan->policy.syscalls.profile;
	const struct seccomp_group *group;

	json_key(w, "filter");
	json_begin_object(w);
	json_key_string(w, "profile", policy_profile_name(profile));
	result_write_known(w, "instructions", plan->filter->count);
	json_key(w, "denied");
	json_begin_array(w);
	for (size_t i = 0; (group = seccomp_group(i)); i++) {
		if (seccomp_denies(group, profile, plan->policy.network.mode))
			json_string(w, group->name);
	}
	json_end_array(w);
	result_write_known(w, "landlockAbi", (uint64_t)plan->landlock_abi);
	json_end_object(w);
}

static void write_environment(struct json_writer *w, const struct jail_plan *plan)
{
	json_key(w, "environment");
	json_begin_array(w);
	for (char **variable = plan->environment; *variable; variable++)
		json_string_n(w, *variable, strcspn(*variable, "="));
	json_end_array(w);
}

static void write_layers(struct json_writer *w, const struct rootfs_overlay *overlay)
{
	json_key(w, "layers");
	json_begin_array(w);
	for (size_t i = 0; i < overlay->layer_count; i++)
		json_string(w, overlay->layers[i].source);
	json_end_array(w);
}

static void write_mounts(struct json_writer *w, const struct jail_plan *plan)
{
	static const char *const kinds[] = {
		[ROOTFS_DIRECTORY] = "directory", [ROOTFS_SYMLINK] = "symlink", [ROOTFS_FILE] = "file",
		[ROOTFS_BIND] = "mount",          [ROOTFS_OVERLAY] = "overlay",
	};

	json_key(w, "root");
	json_begin_array(w);
	for (size_t i = 0; i < plan->rootfs.count; i++) {
		const struct rootfs_entry *entry = &plan->rootfs.entries[i];

		json_begin_object(w);
		json_key_string(w, "kind", kinds[entry->kind]);
		json_key_string(w, "target", entry->target);
		if (entry->kind == ROOTFS_OVERLAY)
			write_layers(w, &plan->rootfs.overlays[entry->overlay]);
		if (entry->kind == ROOTFS_BIND) {
			json_key_string(w, "source", entry->source);
			json_key(w, "readOnly");
			json_bool(w, entry->read_only);
			json_key(w, "noExec");
			json_bool(w, entry->no_exec);
		}
		json_end_object(w);
	}
	json_end_array(w);
}

static void write_plan(struct json_writer *w, const struct jail_plan *plan)
{
	struct warder_error err;
	const bool pooled = jail_check_park(plan, &err) == 0;

	json_key(w, "plan");
	json_begin_object(w);
	write_namespaces(w, plan);
	json_key(w, "privileged");
	json_bool(w, plan->privileged);
	result_write_known(w, "uid", plan->uid);
	result_write_known(w, "gid", plan->gid);
	json_key_string(w, "hostname", plan->hostname);
	json_key(w, "loopbackUp");
	json_bool(w, plan->loopback_up);
	write_cgroup(w, &plan->cgroup);
	write_rlimits(w, plan);
	write_filter(w, plan);
	write_environment(w, plan);
	write_mounts(w, plan);
	json_key_string(w, "workingDirectory", plan->rootfs.working_directory);
	result_write_known(w, "wallTimeUs", plan->wall_time_us);
	json_key(w, "pooled");
	json_bool(w, pooled);
	json_key_string(w, "pooledReason", pooled ? NULL : err.text);
	json_end_object(w);
}

void explain_write_backend(const struct preparation *preparation, struct json_writer *w)
{
	json_key_string(w, "backend", preparation->backend ? preparation->backend->name : NULL);
	json_key_string(w, "isolation",
			policy_isolation_name(preparation->backend ? preparation->backend->isolation
								   : POLICY_ISOLATION_NAMESPACE_JAIL));
	json_key_string(w, "passedOver", preparation->passed_over[0] ? preparation->passed_over : NULL);
}

void explain_write_fields(const struct policy *policy, const struct preparation *preparation,
			  const struct warder_error *refused, struct json_writer *w)
{
	struct explain_row rows[EXPLAIN_ROWS_MAX];
	size_t count;

	if (preparation->matched) {
		count = explain_rows(policy, preparation, rows);
		if (refused && preparation->match.required_count == 0)
			explain_refused(rows, count, refused);
		write_rows(w, rows, count);
	}
	if (preparation->planned)
		write_plan(w, &preparation->plan);
}
