/*
 * presets: policies with a name. The values of strict are in the table of fields; the other presets are what they change of it.
 */
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "policy/members.h"
#include "policy/values.h"

#define CHANGES_MAX 14

static const struct preset {
	const char *name, *summary;
	struct {
		const char *path, *value; /* as policy_set() takes them */
	} changes[CHANGES_MAX];
} presets[] = {
	{ "strict",
	  "the default: no network, no workspace, no environment, 30 s, 512 MiB, 1 CPU",
	  { { 0 } } },
	{
	    "strict-python",
	    "as strict, for Python",
	    { { "languages", "python,command" } },
	},
	{
	    "strict-js",
	    "as strict, for JavaScript, 5 s",
	    {
		{ "languages", "javascript,command" },
		{ "limits.wallTime", "5s" },
		{ "limits.cpuTime", "5s" },
	    },
	},
	{
	    "agent",
	    "Python and JavaScript on a read-write workspace, half a CPU, no network, 30 s, 512 MiB",
	    {
		{ "languages", "python,javascript,command" },
		{ "filesystem.workspace",
		  "readWrite" }, /* without a root: whoever uses the preset names it */
		{ "limits.cpus", "0.5" },
		{ "limits.disk",
		  "unlimited" }, /* what is written to a directory of the host cannot be limited */
		{ "syscalls.profile", "default" },
		{ "syscalls.allow", "flock" }, /* package managers and libraries lock their caches with it */
		{ "devices.terminals", "4" },
	    },
	},
	{
	    "build",
	    "compilers on a read-write workspace, executable /tmp, no network, 600 s, 2 GiB, 2 CPUs",
	    {
		{ "filesystem.workspace", "readWrite" },
		{ "limits.wallTime", "600s" },
		{ "limits.cpuTime", "1200s" },
		{ "limits.memory", "2GiB" },
		{ "limits.cpus", "2" },
		{ "limits.pids", "512" },
		{ "limits.fileSize", "1GiB" },
		{ "limits.disk", "unlimited" },
		{ "filesystem.tmp", "512MiB" },
		{ "filesystem.tmpExec", "true" },
		{ "syscalls.profile", "default" },
		{ "syscalls.allow",
		  "flock" }, /* the go command locks its cache and go.mod; debconf its files */
		{ "devices.terminals", "4" },
	    },
	},
	{
	    "workflow",
	    "a step of a workflow: Python, JavaScript, Bash or Go of at most 64 KiB, no network, 30 s, 1 GiB",
	    {
		{ "languages", "python,javascript,bash,go,command" },
		{ "limits.memory", "1GiB" }, /* as much as compiling Go needs, and below /tmp likewise */
		{ "limits.pids", "256" },
		{ "limits.disk", "512MiB" },
		{ "limits.code", "64KiB" },
		{ "filesystem.tmp", "512MiB" },
		{ "syscalls.profile", "default" },
		{ "syscalls.allow", "flock" }, /* the go command locks its cache */
	    },
	},
	{
	    "host-local",
	    "as strict, with the host's network",
	    {
		{ "network.mode", "host" },
		{ "syscalls.profile", "default" },
	    },
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

int policy_preset(const char *name, struct policy *ret, struct warder_error *err)
{
	const struct preset *preset = find(name);
	owned_policy struct policy policy = { 0 };

	if (!preset)
		return refuse_name(name, err);
	policy_set_strict(&policy);
	for (size_t i = 0; i < CHANGES_MAX && preset->changes[i].path; i++) {
		if (policy_set(&policy, preset->changes[i].path, preset->changes[i].value, err) != 0)
			return -1;
	}
	policy.given.tmp = policy.given.disk = false;
	*ret = policy;
	policy = (struct policy){ 0 };
	return 0;
}
