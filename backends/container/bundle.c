/*
 * The runtime makes namespaces, root, identity and what its specification asks for, and executes the jail's init, which does what
 * a specification cannot say exactly: it joins the cgroups that Warder made and limited, starts the program as its child, so that
 * the program's end is told as it is (process 1 ignores signals that others die of), and loads the policy's own filter, argument
 * rules included. The filter here is the coarse part of that: every call that the policy lets a program make at all, and the few
 * that init needs besides.
 * Every mount is prepared with its flags and owners where the runtime finds it, because runtimes differ in what they make of
 * options of a bind.
 */
#include "backends/container/bundle.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/container/layout.h"
#include "base/array.h"
#include "base/json.h"

static const char *const nodes[] = { "/dev/null",   "/dev/zero",    "/dev/full",
				     "/dev/random", "/dev/urandom", "/dev/tty" };

const char *bundle_loose(size_t i)
{
	size_t masked = 0;
	const char *path;
	bool whole;

	while ((path = jail_start_masked(masked, &whole)) && masked < i)
		masked++;
	if (path)
		return path;
	i -= masked;
	return i < ARRAY_LENGTH(nodes) ? nodes[i] : NULL;
}

/* Calls of the jail's init that a policy may deny to programs. */
static const char *const init_calls[] = {
	"clone",
	"fork",
	"vfork",
	"wait4",
	"signalfd4",
	"rt_sigaction",
	"rt_sigprocmask",
	"prctl",
	"capset",
	"personality",
	"umask",
	"keyctl",
	"sched_getscheduler",
	"sched_setscheduler",
	"sched_setaffinity",
	"ioprio_get",
	"ioprio_set",
	"getpriority",
	"setpriority",
	"setsid",
	"pipe2",
	"dup3",
	"fcntl",
	"close_range",
	"prlimit64",
	"chdir",
	"mkdirat",
	"openat",
	"landlock_create_ruleset",
	"landlock_add_rule",
	"landlock_restrict_self",
	"seccomp",
	"mmap",
	"lseek",
	"clock_gettime",
	"ppoll",
	"read",
	"write",
	"close",
	"execve",
	"exit",
	"exit_group",
	"brk",
	"arch_prctl",
	"futex",
	"rt_sigreturn",
	"nanosleep",
};

static void strings(struct json_writer *w, const char *key, const char *const *items, size_t count)
{
	json_key(w, key);
	json_begin_array(w);
	for (size_t i = 0; i < count; i++)
		json_string(w, items[i]);
	json_end_array(w);
}

/* ---- process ---- */

static void write_process(struct json_writer *w, const struct jail_start *start)
{
	static const char *const sets[] = { "bounding", "effective", "inheritable", "permitted", "ambient" };
	char image[40];

	snprintf(image, sizeof(image), "/proc/self/fd/%d", start->image_number);
	json_key(w, "process");
	json_begin_object(w);
	json_key_bool(w, "terminal", false);
	json_key(w, "user");
	json_begin_object(w);
	json_key_uint(w, "uid", start->plan->uid);
	json_key_uint(w, "gid", start->plan->gid);
	json_end_object(w);
	strings(w, "args", (const char *const[]){ image }, 1);
	strings(w, "env", (const char *const[]){ "PATH=/" }, 1);
	json_key_string(w, "cwd", "/");
	json_key(w, "capabilities");
	json_begin_object(w);
	/* Which init drops, after the secure bits that it needs it for. */
	for (size_t i = 0; i < ARRAY_LENGTH(sets); i++)
		strings(w, sets[i], (const char *const[]){ "CAP_SETPCAP" },
			start->plan->starter->gives_setpcap);
	json_end_object(w);
	json_key_bool(w, "noNewPrivileges", true);
	json_key_uint(w, "oomScoreAdj", 800);
	json_end_object(w);
}

/* ---- mounts ---- */

static void write_mount(struct json_writer *w, const char *target, const char *type, const char *source,
			const char *const *options, size_t count)
{
	json_begin_object(w);
	json_key_string(w, "destination", target);
	json_key_string(w, "type", type);
	json_key_string(w, "source", source);
	strings(w, "options", options, count);
	json_end_object(w);
}

static void write_own_mounts(struct json_writer *w, const struct jail_start *start)
{
	static const char *const proc[] = { "nosuid", "noexec", "nodev", "hidepid=2" };
	static const char *const dev[] = { "nosuid", "noexec", "strictatime", "mode=755", "size=64k" };
	char max[24];
	const char *pts[] = { "nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", max };
	static const char *const shm[] = { "rbind", "rprivate", "nosuid", "nodev", "noexec" };
	const char *tmp[] = { "rbind", "rprivate", "nosuid", "nodev", "noexec" };

	write_mount(w, "/proc", "proc", "proc", proc, ARRAY_LENGTH(proc));
	write_mount(w, "/dev", "tmpfs", "tmpfs", dev, ARRAY_LENGTH(dev));
	snprintf(max, sizeof(max), "max=%u", start->plan->rootfs.terminals);
	if (start->plan->rootfs.terminals)
		write_mount(w, "/dev/pts", "devpts", "devpts", pts, ARRAY_LENGTH(pts));
	write_mount(w, "/dev/shm", "bind", LAYOUT_SHM, shm, ARRAY_LENGTH(shm));
	write_mount(w, "/tmp", "bind", LAYOUT_TMP, tmp, ARRAY_LENGTH(tmp) - start->plan->rootfs.tmp_exec);
}

static void write_mounts(struct json_writer *w, const struct jail_start *start)
{
	static const char *const trust[] = { "rbind", "rprivate", "nosuid", "nodev", "ro", "noexec" };
	const struct rootfs *rootfs = &start->plan->rootfs;

	json_key(w, "mounts");
	json_begin_array(w);
	write_own_mounts(w, start);
	for (size_t i = 0; i < rootfs->count; i++) {
		const struct rootfs_entry *entry = &rootfs->entries[i];
		const char *options[6] = { "rbind", "rprivate", "nosuid", "nodev" };
		char source[64];
		size_t count = 4;

		if (entry->kind != ROOTFS_BIND)
			continue;
		if (entry->read_only)
			options[count++] = "ro";
		if (entry->no_exec)
			options[count++] = "noexec";
		snprintf(source, sizeof(source), "%s/%zu", LAYOUT_BINDS, i);
		write_mount(w, entry->target, "bind", source, options, count);
	}
	for (int i = 0; i < TRUST_COUNT; i++) {
		char source[sizeof(LAYOUT_TRUST) + 24];

		snprintf(source, sizeof(source), LAYOUT_TRUST "%d", i);
		if (start->trust.files[i].bytes)
			write_mount(w, trust_path((enum trust_kind)i), "bind", source, trust,
				    ARRAY_LENGTH(trust));
	}
	json_end_array(w);
}

/* ---- linux ---- */

static void write_namespaces(struct json_writer *w, const struct jail_start *start)
{
	const struct {
		const char *type;
		uint64_t flag;
		const char *path;
	} kinds[] = {
		{ "pid", CLONE_NEWPID, NULL },
		{ "ipc", CLONE_NEWIPC, NULL },
		{ "uts", CLONE_NEWUTS, NULL },
		{ "mount", CLONE_NEWNS, NULL },
		{ "user", CLONE_NEWUSER, NULL },
		{ "cgroup", CLONE_NEWCGROUP, LAYOUT_CGROUP_NS },
		{ "network", CLONE_NEWNET, start->network_fd >= 0 ? LAYOUT_NETWORK_NS : NULL },
	};

	json_key(w, "namespaces");
	json_begin_array(w);
	for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
		if (!(start->plan->namespaces & kinds[i].flag))
			continue;
		json_begin_object(w);
		json_key_string(w, "type", kinds[i].type);
		if (kinds[i].path)
			json_key_string(w, "path", kinds[i].path);
		json_end_object(w);
	}
	json_end_array(w);
}

static void write_mapping(struct json_writer *w, const char *key, const struct jail_start *start)
{
	json_key(w, key);
	json_begin_array(w);
	json_begin_object(w);
	json_key_uint(w, "containerID", 0);
	json_key_uint(w, "hostID", start->first_id);
	json_key_uint(w, "size", start->id_count);
	json_end_object(w);
	json_end_array(w);
}

/* Calls of an init that comes to its descriptors through a door. */
static const char *const door_calls[] = { "socket", "connect", "recvmsg" };

static void allow_besides(struct json_writer *w, const struct seccomp_options *options,
			  const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!seccomp_reaches(options, names[i]))
			json_string(w, names[i]);
}

/* The members of an object that is a filter. */
static void write_rules(struct json_writer *w, const struct policy *policy, bool has_door)
{
	const struct seccomp_options options = {
		.profile = policy->syscalls.profile,
		.network = policy->network.mode,
		.allow_spawn = true,
		.allow = (const char *const *)policy->syscalls.allow.items,
		.allow_count = policy->syscalls.allow.count,
	};
	const char *name;

	json_key_string(w, "defaultAction", "SCMP_ACT_ERRNO");
	json_key_uint(w, "defaultErrnoRet", 38 /* ENOSYS */);
	json_key(w, "syscalls");
	json_begin_array(w);
	json_begin_object(w);
	json_key(w, "names");
	json_begin_array(w);
	for (size_t i = 0; (name = seccomp_name(i)); i++)
		if (seccomp_reaches(&options, name))
			json_string(w, name);
	allow_besides(w, &options, init_calls, ARRAY_LENGTH(init_calls));
	if (has_door)
		allow_besides(w, &options, door_calls, ARRAY_LENGTH(door_calls));
	json_end_array(w);
	json_key_string(w, "action", "SCMP_ACT_ALLOW");
	json_end_object(w);
	json_end_array(w);
}

char *bundle_profile(const struct policy *policy)
{
	struct json_writer w = { 0 };

	json_begin_object(&w);
	write_rules(&w, policy, true);
	json_end_object(&w);
	return json_take(&w);
}

static void write_masks(struct json_writer *w, const char *key, bool wanted)
{
	const char *path;
	bool whole;

	json_key(w, key);
	json_begin_array(w);
	for (size_t i = 0; (path = jail_start_masked(i, &whole)); i++)
		if (whole == wanted)
			json_string(w, path);
	json_end_array(w);
}

static void write_linux(struct json_writer *w, const struct jail_start *start)
{
	json_key(w, "linux");
	json_begin_object(w);
	write_namespaces(w, start);
	write_mapping(w, "uidMappings", start);
	write_mapping(w, "gidMappings", start);
	if (start->plan->filter->count) {
		json_key(w, "seccomp");
		json_begin_object(w);
		write_rules(w, &start->plan->policy, false);
		json_end_object(w);
	}
	write_masks(w, "maskedPaths", true);
	write_masks(w, "readonlyPaths", false);
	json_end_object(w);
}

char *bundle_config(const struct jail_start *start)
{
	struct json_writer w = { 0 };

	json_begin_object(&w);
	json_key_string(&w, "ociVersion", "1.0.0");
	write_process(&w, start);
	json_key(&w, "root");
	json_begin_object(&w);
	json_key_string(&w, "path", LAYOUT_ROOT);
	json_key_bool(&w, "readonly", true);
	json_end_object(&w);
	json_key_string(&w, "hostname", start->plan->hostname);
	write_mounts(&w, start);
	write_linux(&w, start);
	json_end_object(&w);
	return json_take(&w);
}
