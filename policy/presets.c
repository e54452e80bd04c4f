#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "policy/names.h"
#include "policy/values.h"

#define KIB     ((uint64_t)1 << 10)
#define MIB     ((uint64_t)1 << 20)
#define GIB     ((uint64_t)1 << 30)
#define SECONDS ((uint64_t)1000000)

/* What differs between the presets; what they have in common is in policy_preset(). */
static const struct preset {
	const char *name, *summary;
	enum policy_network_mode network;
	enum policy_workspace workspace; /* without a root: whoever uses the preset names it */
	const char *languages[6];        /* none: any */
	const char *allow[2];            /* system calls on top of the profile */
	uint64_t wall_time_us, cpu_time_us;
	uint64_t memory_bytes, cpu_milli, pids_max;
	uint64_t tmp_bytes, file_size_bytes, disk_bytes;
	bool tmp_exec;
	enum policy_syscall_profile profile;
	uint64_t terminals;
	uint64_t code_bytes; /* 0: the most that there is */
} presets[] = {
	{
	    .name = "strict",
	    .summary = "the default: no network, no workspace, no environment, 30 s, 512 MiB, 1 CPU",
	    .wall_time_us = 30 * SECONDS,
	    .cpu_time_us = 30 * SECONDS,
	    .memory_bytes = 512 * MIB,
	    .cpu_milli = 1000,
	    .pids_max = 64,
	    .tmp_bytes = 64 * MIB,
	    .file_size_bytes = 64 * MIB,
	    .disk_bytes = 64 * MIB,
	    .profile = POLICY_SYSCALLS_STRICT,
	},
	{
	    .name = "strict-python",
	    .summary = "as strict, for Python",
	    .languages = { "python", "command" },
	    .wall_time_us = 30 * SECONDS,
	    .cpu_time_us = 30 * SECONDS,
	    .memory_bytes = 512 * MIB,
	    .cpu_milli = 1000,
	    .pids_max = 64,
	    .tmp_bytes = 64 * MIB,
	    .file_size_bytes = 64 * MIB,
	    .disk_bytes = 64 * MIB,
	    .profile = POLICY_SYSCALLS_STRICT,
	},
	{
	    .name = "strict-js",
	    .summary = "as strict, for JavaScript, 5 s",
	    .languages = { "javascript", "command" },
	    .wall_time_us = 5 * SECONDS,
	    .cpu_time_us = 5 * SECONDS,
	    .memory_bytes = 512 * MIB,
	    .cpu_milli = 1000,
	    .pids_max = 64,
	    .tmp_bytes = 64 * MIB,
	    .file_size_bytes = 64 * MIB,
	    .disk_bytes = 64 * MIB,
	    .profile = POLICY_SYSCALLS_STRICT,
	},
	{
	    .name = "agent",
	    .summary =
		"Python and JavaScript on a read-write workspace, half a CPU, no network, 30 s, 512 MiB",
	    .workspace = POLICY_WORKSPACE_READ_WRITE,
	    .languages = { "python", "javascript", "command" },
	    .allow = { "flock" }, /* package managers and libraries lock their caches with it */
	    .wall_time_us = 30 * SECONDS,
	    .cpu_time_us = 30 * SECONDS,
	    .memory_bytes = 512 * MIB,
	    .cpu_milli = 500,
	    .pids_max = 64,
	    .tmp_bytes = 64 * MIB,
	    .file_size_bytes = 64 * MIB,
	    .disk_bytes = POLICY_UNLIMITED, /* what is written to a directory of the host cannot be limited */
	    .profile = POLICY_SYSCALLS_DEFAULT,
	    .terminals = 4,
	},
	{
	    .name = "build",
	    .summary =
		"compilers on a read-write workspace, executable /tmp, no network, 600 s, 2 GiB, 2 CPUs",
	    .workspace = POLICY_WORKSPACE_READ_WRITE,
	    .allow = { "flock" }, /* the go command locks its cache and go.mod; debconf its files */
	    .wall_time_us = 600 * SECONDS,
	    .cpu_time_us = 1200 * SECONDS,
	    .memory_bytes = 2 * GIB,
	    .cpu_milli = 2000,
	    .pids_max = 512,
	    .tmp_bytes = 512 * MIB,
	    .tmp_exec = true,
	    .file_size_bytes = GIB,
	    .disk_bytes = POLICY_UNLIMITED,
	    .profile = POLICY_SYSCALLS_DEFAULT,
	    .terminals = 4,
	},
	{
	    .name = "workflow",
	    .summary = "a step of a workflow: Python, JavaScript, Bash or Go of at most 64 KiB, no network, "
		       "30 s, 1 GiB",
	    .languages = { "python", "javascript", "bash", "go", "command" },
	    .allow = { "flock" }, /* the go command locks its cache */
	    .wall_time_us = 30 * SECONDS,
	    .cpu_time_us = 30 * SECONDS,
	    .memory_bytes = GIB, /* as much as compiling Go needs, and below /tmp likewise */
	    .cpu_milli = 1000,
	    .pids_max = 256,
	    .tmp_bytes = 512 * MIB,
	    .file_size_bytes = 64 * MIB,
	    .disk_bytes = 512 * MIB,
	    .profile = POLICY_SYSCALLS_DEFAULT,
	    .code_bytes = 64 * KIB,
	},
	{
	    .name = "host-local",
	    .summary = "as strict, with the host's network",
	    .network = POLICY_NETWORK_HOST,
	    .wall_time_us = 30 * SECONDS,
	    .cpu_time_us = 30 * SECONDS,
	    .memory_bytes = 512 * MIB,
	    .cpu_milli = 1000,
	    .pids_max = 64,
	    .tmp_bytes = 64 * MIB,
	    .file_size_bytes = 64 * MIB,
	    .disk_bytes = 64 * MIB,
	    .profile = POLICY_SYSCALLS_DEFAULT,
	},
};

#define PRESET_COUNT (ARRAY_LENGTH(presets))

size_t policy_preset_count(void)
{
	return PRESET_COUNT;
}

const char *policy_preset_name(size_t i)
{
	return presets[i].name;
}

const char *policy_preset_summary(size_t i)
{
	return presets[i].summary;
}

static struct policy scalars_of(const struct preset *preset)
{
	return (struct policy){
		.network = { .mode = preset->network,
			     .connections_max = POLICY_DEFAULT_CONNECTIONS,
			     .bytes_max = POLICY_UNLIMITED },
		.filesystem = { .view = POLICY_VIEW_HOST,
				.workspace = preset->workspace,
				.tmp_bytes = preset->tmp_bytes,
				.tmp_exec = preset->tmp_exec },
		.environment = { .mode = POLICY_ENVIRONMENT_NONE },
		.limits = { .wall_time_us = preset->wall_time_us,
			    .cpu_time_us = preset->cpu_time_us,
			    .memory_bytes = preset->memory_bytes,
			    .swap_bytes = 0,
			    .cpu_milli = preset->cpu_milli,
			    .pids_max = preset->pids_max,
			    .open_files = 1024,
			    .file_size_bytes = preset->file_size_bytes,
			    .stack_bytes = 8 * MIB,
			    .disk_bytes = preset->disk_bytes,
			    .code_bytes = preset->code_bytes ? preset->code_bytes : POLICY_MAX_CODE },
		.output = { .stdout_bytes = MIB, .stderr_bytes = MIB, .on_limit = POLICY_OUTPUT_DRAIN },
		.processes = { .spawn = true, .uid = 1000, .gid = 1000 },
		.syscalls = { .profile = preset->profile, .on_violation = POLICY_VIOLATION_ERRNO },
		.devices = { .terminals = preset->terminals },
		.languages = { .any = preset->languages[0] == NULL },
	};
}

static const struct preset *find(const char *name)
{
	for (size_t i = 0; i < PRESET_COUNT; i++) {
		if (strcmp(presets[i].name, name) == 0)
			return &presets[i];
	}
	return NULL;
}

static int refuse_name(const char *name, struct warder_error *err)
{
	const char *names[PRESET_COUNT + 1] = { NULL };
	char quoted[64], known[160];

	for (size_t i = 0; i < PRESET_COUNT; i++)
		names[i] = presets[i].name;
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, "preset", "%s is not a preset; %s",
			 json_quote(name, quoted, sizeof(quoted)),
			 policy_suggest(names, name, known, sizeof(known)));
}

static int add_all(const char *const *names, struct policy_strings *to, struct warder_error *err)
{
	for (; *names; names++)
		if (policy_strings_add(to, *names, err) != 0)
			return -1;
	return 0;
}

int policy_preset(const char *name, struct policy *ret, struct warder_error *err)
{
	const struct preset *preset = find(name);
	struct policy policy;

	if (!preset)
		return refuse_name(name, err);
	policy = scalars_of(preset);
	if (add_all(preset->languages, &policy.languages.names, err) < 0 ||
	    add_all(preset->allow, &policy.syscalls.allow, err) < 0) {
		policy_done(&policy);
		return -1;
	}
	*ret = policy;
	return 0;
}
