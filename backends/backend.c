/*
 * The table, and how a backend is chosen out of it.
 */
#include "backends/backend.h"

#include <string.h>

#include "backends/remote.h"
#include "backends/rows.h"
#include "base/array.h"

#define CONTAINER_DESCRIBE                                                                                   \
	"Programs run in a container of their own, which is gone when they end. They see a read-only view "  \
	"of installed programs, a private /tmp, and /workspace if one was granted."

static const struct backend backends[] = {
	{
	    .name = "local",
	    .summary = "Warder's own jail: namespaces, cgroups, seccomp and Landlock on this host",
	    .describe =
		"Programs run in a jail on this host. They see a read-only view of installed programs, a "
		"private /tmp, and /workspace if one was granted. Limits of time, memory, processes and "
		"output are enforced; a refused operation fails with an ordinary error.",
	    .isolation = POLICY_ISOLATION_NAMESPACE_JAIL,
	    .capabilities = local_capabilities,
	    .check = local_check,
	    .shape = local_shape,
	    .sessions = &local_sessions,
	},
	{
	    .name = "crun",
	    .summary = "a container by crun, without a daemon",
	    .describe = CONTAINER_DESCRIBE,
	    .isolation = POLICY_ISOLATION_CONTAINER_EPHEMERAL,
	    .capabilities = container_capabilities,
	    .check = container_check,
	    .shape = container_shape,
	    .program = "crun",
	},
	{
	    .name = "runc",
	    .summary = "a container by runc, without a daemon",
	    .describe = CONTAINER_DESCRIBE,
	    .isolation = POLICY_ISOLATION_CONTAINER_EPHEMERAL,
	    .capabilities = container_capabilities,
	    .check = container_check,
	    .shape = container_shape,
	    .program = "runc",
	},
	{
	    .name = "runsc",
	    .summary = "gVisor, a kernel in a program (not driven by this version)",
	    .describe = "Not available.",
	    .isolation = POLICY_ISOLATION_CONTAINER_EPHEMERAL,
	    .capabilities = container_capabilities,
	    .check = container_check,
	    .shape = container_shape,
	    .program = "runsc",
	},
	{
	    .name = "podman",
	    .summary = "a container by podman's command line, with storage and state of its own",
	    .describe = CONTAINER_DESCRIBE,
	    .isolation = POLICY_ISOLATION_CONTAINER_EPHEMERAL,
	    .capabilities = engine_capabilities,
	    .check = engine_check,
	    .shape = engine_shape,
	    .program = "podman",
	},
	{
	    .name = "docker",
	    .summary = "a container by Docker, with a daemon of its own for the one run",
	    .describe = CONTAINER_DESCRIBE,
	    .isolation = POLICY_ISOLATION_CONTAINER_EPHEMERAL,
	    .capabilities = engine_capabilities,
	    .check = engine_check,
	    .shape = engine_shape,
	    .program = "docker",
	},
	{
	    .name = "wasm",
	    .summary = "a WebAssembly module: its linear memory and WASI, by Node inside Warder's jail",
	    .describe =
		"Runs WebAssembly modules that export _start and import nothing but WASI preview 1. A module "
		"sees "
		"its working directory, /tmp and the granted paths, its arguments and environment. It "
		"makes and follows no symbolic links, and has no "
		"sockets, no processes and no threads. An allocation above the memory limit fails; a "
		"trap "
		"ends it with exit status 1.",
	    .isolation = POLICY_ISOLATION_IN_PROCESS,
	    .runs = BACKEND_RUNS_MODULES,
	    .capabilities = wasm_capabilities,
	    .check = wasm_check,
	    .shape = wasm_shape,
	    .program = "node",
	    .layer = "linear memory, and no imports but WASI preview 1: the engine's to keep",
	},
	{
	    .name = "builtin",
	    .summary = "the executor of a model's provider: nothing runs here, and nothing is enforced",
	    .describe = "The model's provider executes Python for the model, on machines of its own. No file "
			"of this host "
			"is there, and no limit of Warder's holds there.",
	    .isolation = POLICY_ISOLATION_PROVIDER_HOSTED,
	    .off = "has code executed by a model's provider",
	    .runs = BACKEND_RUNS_NOTHING,
	    .capabilities = builtin_capabilities,
	    .check = builtin_check,
	    .shape = local_shape,
	    .declare = builtin_declare,
	},
	{
	    .name = "process",
	    .summary = "an ordinary process: no isolation at all, only time and output are limited",
	    .describe = "Programs and code run as ordinary processes of this host, with every right of the "
			"user who runs "
			"them. Nothing protects the host from them. Code works in a temporary directory.",
	    .isolation = POLICY_ISOLATION_NONE,
	    .off = "isolates nothing",
	    .runs = BACKEND_RUNS_ANYTHING,
	    .bare = true,
	    .capabilities = process_capabilities,
	    .check = process_check,
	    .shape = process_shape,
	},
};
#define BACKENDS (ARRAY_LENGTH(backends))
_Static_assert(BACKENDS + BACKEND_REMOTES_MAX < BACKEND_COUNT_MAX,
	       "the operator's order has a place for each, and for the end");

const struct backend *backend_at(size_t i)
{
	return i < BACKENDS ? &backends[i] : NULL;
}

const struct backend *backend_find(const char *name, struct warder_error *err)
{
	const char *names[BACKENDS + 1] = { NULL };
	char hint[200];

	for (size_t i = 0; i < BACKENDS; i++) {
		if (strcmp(backends[i].name, name) == 0)
			return &backends[i];
		names[i] = backends[i].name;
	}
	if (backend_is_remote(name)) {
		error_set(err, WARDER_ERROR_INVALID_REQUEST, "backend",
			  "%s is a host on another machine, which only \"warder run\", \"code\", "
			  "\"session\" and \"explain\" use",
			  name);
		return NULL;
	}
	error_set(err, WARDER_ERROR_INVALID_REQUEST, "backend", "there is no backend \"%.40s\"; %s", name,
		  policy_suggest(names, name, hint, sizeof(hint)));
	return NULL;
}

int backend_check_name(const char *name, struct warder_error *err)
{
	return backend_is_remote(name) || backend_find(name, err) ? 0 : -1;
}

const struct backend *backend_candidate(const struct backend_settings *settings, size_t i)
{
	if (settings->order[0])
		return i < BACKEND_COUNT_MAX ? settings->order[i] : NULL;
	for (size_t row = 0; row < BACKENDS; row++)
		if (!backends[row].off && i-- == 0)
			return &backends[row];
	return NULL;
}

int backend_check_enabled(const struct backend *backend, const struct backend_settings *settings,
			  struct warder_error *err)
{
	if (!backend->off || settings->enabled[backend - backends])
		return 0;
	return error_set(err, WARDER_ERROR_REJECTED, "backend",
			 "the backend %s %s and is disabled; the operator enables it with "
			 "{\"enable\": [\"%s\"]} in /etc/warder/backends.json",
			 backend->name, backend->off, backend->name);
}

int backend_check_listed(const struct backend *backend, const struct backend_settings *settings,
			 struct warder_error *err)
{
	const struct backend *candidate;

	if (settings->enabled[backend - backends])
		return 0;
	for (size_t i = 0; (candidate = backend_candidate(settings, i)); i++)
		if (candidate == backend)
			return 0;
	return error_set(err, WARDER_ERROR_REJECTED, "backend",
			 "the backend %s is not in the operator's order, so that a request may not choose it",
			 backend->name);
}
