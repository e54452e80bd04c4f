/*
 * wasm: WebAssembly modules, executed by an engine that is itself in the jail of this host.
 *
 * Two walls. A module has its linear memory, and calls nothing but WASI preview 1, which has no sockets, no processes and no system
 * call of the module's own choice: that is the engine's to keep, and the class of isolation is named after it. Around the engine is
 * the same jail as around any program, and every limit is kept there, so that a fault of the engine gives a module no more than
 * the jail gives a program. Files are the jail's to keep: Node says of its WASI that links lead out of the directories that it grants,
 * and what is done about that (a module follows none: runtime/code/wasi.h) keeps its engine from it, but against a neighbour who moves
 * links meanwhile not the jail's other files.
 *
 * Of what a policy can ask, a module cannot be given some: no loopback interface is of use to it, and no system call of its can be
 * answered by killing it. That is refused and not accepted as enforced by accident.
 */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "backends/rows.h"
#include "base/array.h"

static const char *const languages[] = { "wasm", NULL };

/* The engine that was driven; the language's row names the same (runtime/code/languages.c). */
static const char engine[] = "node";

/* What is different from a program in the jail. */
static const struct instead {
	enum policy_control control;
	const char *mechanism; /* before the jail's own; NULL: refused, because: */
	const char *reason;
} instead[] = {
	{ POLICY_CONTROL_NETWORK_NONE, "no sockets in WASI; ", NULL },
	{ POLICY_CONTROL_NETWORK_LOOPBACK, NULL,
	  "WASI preview 1 gives a module no sockets; use network.mode none, or the backend local" },
	{ POLICY_CONTROL_NETWORK_ALLOW, NULL,
	  "WASI preview 1 gives a module no sockets; use network.mode none, or the backend local" },
	{ POLICY_CONTROL_NETWORK_IPV6, NULL,
	  "WASI preview 1 gives a module no sockets; use network.mode none, or the backend local" },
	{ POLICY_CONTROL_NETWORK_INJECT, NULL,
	  "WASI preview 1 gives a module no sockets; use network.mode none, or the backend local" },
	{ POLICY_CONTROL_NETWORK_DENY, NULL,
	  "WASI preview 1 gives a module no sockets; use network.mode none, or the backend local" },
	{ POLICY_CONTROL_NETWORK_LEARN, NULL,
	  "WASI preview 1 gives a module no sockets; use network.mode none, or the backend local" },
	{ POLICY_CONTROL_NETWORK_PUBLISH, NULL,
	  "WASI preview 1 gives a module no sockets; use network.mode none, or the backend local" },
	{ POLICY_CONTROL_NETWORK_CONNECTIONS, NULL,
	  "WASI preview 1 gives a module no sockets; use network.mode none, or the backend local" },
	{ POLICY_CONTROL_NETWORK_BYTES, NULL,
	  "WASI preview 1 gives a module no sockets; use network.mode none, or the backend local" },
	{ POLICY_CONTROL_FUNCTIONS, NULL,
	  "a module in an engine does not get descriptor 5; leave functions out, or use the backend local" },
	{ POLICY_CONTROL_MEMORY, "linear memory no larger; ", NULL },
	{ POLICY_CONTROL_ENVIRONMENT, "the engine's environ: ", NULL },
	{ POLICY_CONTROL_NO_SPAWN, "no processes in WASI; ", NULL },
	{ POLICY_CONTROL_PIDS, "no processes in WASI; of the engine: ", NULL },
	{ POLICY_CONTROL_SYSCALLS, "a module makes none; of the engine: ", NULL },
	{ POLICY_CONTROL_SYSCALLS_KILL, NULL,
	  "a module makes no system calls that it could be killed for; use syscalls.onViolation errno, or "
	  "the "
	  "backend local" },
};

static bool why_not(const struct policy *policy, char *text, size_t size)
{
	char path[64];

	if (rootfs_find_program(policy, engine, path, sizeof(path)))
		return false;
	snprintf(text, size,
		 "the view has no engine: there is no %s in /usr/bin or /usr/local/bin; install "
		 "nodejs there",
		 engine);
	return true;
}

/* What does not fit of the text is cut off. */
static void put_before(char *text, size_t size, const char *words)
{
	const size_t len = strlen(words);
	const size_t kept = strnlen(text, size - 1 - len);

	memmove(text + len, text, kept);
	memcpy(text, words, len);
	text[len + kept] = '\0';
}

void wasm_capabilities(const struct backend *backend, const struct jail_host *host,
		       const struct policy *policy, struct policy_capabilities *ret)
{
	char text[sizeof(ret->controls[0].reason)];

	jail_capabilities(host, policy, ret);
	snprintf(ret->backend, sizeof(ret->backend), "%s", backend->name);
	ret->isolation = backend->isolation;
	ret->languages = languages;
	for (size_t i = 0; i < ARRAY_LENGTH(instead); i++) {
		struct policy_capability *row = &ret->controls[instead[i].control];

		if (!instead[i].mechanism)
			policy_capability_refused(ret, instead[i].control, "%s", instead[i].reason);
		else if (row->enforced)
			put_before(row->mechanism, sizeof(row->mechanism), instead[i].mechanism);
	}
	for (int i = 0; why_not(policy, text, sizeof(text)) && i < POLICY_CONTROL_COUNT; i++)
		policy_capability_refused(ret, (enum policy_control)i, "%s", text);
}

/* A module is given directories: a file alone would be granted, and never seen. */
static int check_paths(const struct policy_strings *paths, const char *field, struct warder_error *err)
{
	for (size_t i = 0; i < paths->count; i++) {
		const char *target = policy_path_explicit_target(paths->items[i]);
		const size_t len = strlen(paths->items[i]) - (target ? strlen(target) + 1 : 0);
		char path[4096];
		struct stat st;

		snprintf(path, sizeof(path), "%.*s", (int)len, paths->items[i]);
		if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
			return error_set(err, WARDER_ERROR_UNSUPPORTED_POLICY, field,
					 "%s: %.200s is a file, and a module is given directories; name the "
					 "directory, or use the backend local",
					 field, path);
	}
	return 0;
}

int wasm_check(const struct backend *backend, const struct jail_host *host, const struct policy *policy,
	       struct warder_error *err)
{
	char text[176];

	if (why_not(policy, text, sizeof(text)))
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "backend", "%s", text);
	if (policy->network.mode == POLICY_NETWORK_HOST)
		return error_set(err, WARDER_ERROR_UNSUPPORTED_POLICY, "network",
				 "network.mode host: WASI preview 1 gives a module no sockets; use "
				 "network.mode none, or the backend local");
	if (check_paths(&policy->filesystem.read_only, "filesystem.paths.readOnly", err) != 0 ||
	    check_paths(&policy->filesystem.read_write, "filesystem.paths.readWrite", err) != 0)
		return -1;
	return jail_check(host, policy, err);
}

/* What stands in for a limit of memory that is only preferred: address space, of which an engine reserves more than it ever uses. The
 * module's own memory is limited all the same. */
int wasm_shape(const struct backend *backend, const struct jail_host *host, struct jail_plan *plan,
	       struct warder_error *err)
{
	size_t kept = 0;

	for (size_t i = 0; i < plan->rlimit_count; i++)
		if (plan->rlimits[i].resource != RLIMIT_AS)
			plan->rlimits[kept++] = plan->rlimits[i];
	plan->rlimit_count = kept;
	return 0;
}
