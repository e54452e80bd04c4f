/*
 * fields: the table of the fields of a policy, and struct policy, which holds their values. policy.h includes it.
 *
 * To add a field, add a member to struct policy and its rows to the table. Then add the mechanism that enforces it (a row of
 * jail/rlimits.c is the shortest). See docs/architecture.md, "Adding a field to the policy".
 */
#ifndef WARDER_POLICY_FIELDS_H
#define WARDER_POLICY_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POLICY_VERSION   1
#define POLICY_UNLIMITED UINT64_MAX

#define POLICY_MAX_TERMINALS 64
#define POLICY_MAX_CODE      ((uint64_t)16 << 20) /* bytes */

enum policy_network_mode {
	POLICY_NETWORK_NONE,
	POLICY_NETWORK_LOOPBACK,
	POLICY_NETWORK_ALLOW,
	POLICY_NETWORK_LEARN, /* public addresses on ports 22, 80 and 443, and what network.allow lists */
	POLICY_NETWORK_HOST,
};

#define POLICY_MAX_RULES           4096 /* of network.allow, and of network.deny; a list of names counts as its names */
#define POLICY_MAX_PORTS           64 /* different ones in network.allow */
#define POLICY_MAX_PUBLISHED       64
#define POLICY_DEFAULT_CONNECTIONS 256

struct policy_strings {
	char **items;
	size_t count;
};

#define POLICY_MAX_INJECTS 16

#define POLICY_MAX_FUNCTIONS 64

/* A credential that is put into requests to a host, outside of the program. */
struct policy_inject {
	char *header;                  /* "Authorization" */
	char *secret_file;             /* absolute */
	char *format;                  /* "Bearer {}": the value of the header; {} is the secret */
	struct policy_strings methods; /* none: every method */
	struct policy_strings paths;   /* none: every path; "/simple/": all below it; "/upload": this one */
};

/* One row of network.allow or network.deny: exactly one of host and cidr is set. */
struct policy_endpoint {
	char *host;      /* "pypi.org", "*.example.org" or "@pypi" (a list of hosts.c), lower case */
	char *cidr;      /* "10.1.0.0/16", "fd00::/8" */
	uint16_t *ports; /* none: with "@pypi" those of the list; in network.deny every port */
	size_t port_count;
	struct policy_inject *inject; /* heap, or NULL; only in network.allow, with the name of one host */
};

struct policy_endpoints {
	struct policy_endpoint *items;
	size_t count;
};

/* One row of network.publish: connections to a port of the host reach a port in the jail. A ceiling's row may have
 * ranges; that of a run has not, and the ..._last are the same as the ports. */
struct policy_publish {
	char address[16];              /* of the host, IPv4: "127.0.0.1" */
	uint16_t host_port, host_last; /* 0: any free one */
	uint16_t jail_port, jail_last;
};

struct policy_published {
	struct policy_publish *items;
	size_t count;
};

enum policy_view {
	POLICY_VIEW_HOST,
	POLICY_VIEW_DIRECTORY, /* view_source: absolute path */
	POLICY_VIEW_IMAGE,     /* view_source: image name */
};

/* From the narrowest to the widest. */
enum policy_workspace {
	POLICY_WORKSPACE_NONE,
	POLICY_WORKSPACE_READ_ONLY,
	POLICY_WORKSPACE_OVERLAY, /* what is written is private to the run; the directory stays as it is */
	POLICY_WORKSPACE_READ_WRITE,
};

enum policy_environment_mode {
	POLICY_ENVIRONMENT_NONE,
	POLICY_ENVIRONMENT_ALLOW_LIST,
	POLICY_ENVIRONMENT_HOST,
};

enum policy_syscall_profile {
	POLICY_SYSCALLS_STRICT,
	POLICY_SYSCALLS_DEFAULT,
	POLICY_SYSCALLS_COMPAT,
};

enum policy_on_violation {
	POLICY_VIOLATION_ERRNO,
	POLICY_VIOLATION_KILL,
};

enum policy_on_output_limit {
	POLICY_OUTPUT_DRAIN, /* keep the first bytes, drain and count the rest */
	POLICY_OUTPUT_KILL,  /* end the program when a stream exceeds its limit */
};

struct policy_variable {
	char *name;
	char *value;
};

/*
 * The table of fields. Its rows give all properties of each field. The enums below, decoding and encoding, policy_set(),
 * the ranges, the preset strict, copying and freeing, the ceiling, the requirements for a backend, and the receipt's rows are
 * made from it. The order of the rows is the order in the document, in the report of unmet fields, and in the receipt.
 *
 * FIELD(id, path, group, rule)        can be required or preferred; the ceiling's rule is a function of ceiling.c
 * MEMBER(path, form)                  of the document; forms, with the slot in struct policy, are in members.c
 * NUMBER(id, path, group, unit, slot, least, most, bound, strict, reason, rule)
 *                                     a field that is one number: FIELD and MEMBER in one row. `bound`: whether it can be
 *                                     unlimited; `strict`: the preset's value; `reason`: why less than the least makes no sense
 * CONTROL(id, name, field, text, asked)
 *                                     what a backend may be able to enforce, finer than fields, because a field's values need
 *                                     different mechanisms; needed where `asked` (of a policy `p`) is true: network.host needs
 *                                     none, network.none does. `text` says in a refusal what cannot be enforced
 * LIMIT(id, path, group, unit, slot, least, most, bound, strict, reason, rule, text)
 *                                     NUMBER and CONTROL in one row; needed unless it is unlimited
 * FLAG(path, name, argument, how, help, ...)
 *                                     the flag of the command line that sets what the path names; `how` its value is used, and the
 *                                     words at the end, are in runtime/cli/flags.c: AS_VALUE hands it to policy_set()
 */
#define POLICY_TABLE(FIELD, MEMBER, CONTROL, NUMBER, LIMIT, FLAG)                                            \
	FIELD(LANGUAGES, "languages", "language", check_languages)                                           \
	MEMBER("version", VERSION)                                                                           \
	FIELD(NETWORK, "network", "network", check_network)                                                  \
	MEMBER("network", OBJECT)                                                                            \
	MEMBER("network.mode", CHOICE(network.mode, policy_network_modes, 0))                                \
	FLAG("network.mode", "--net", "MODE", AS_VALUE,                                                      \
	     "the network: none, loopback, host (the host's own), allow (what --allow lists), or learn "     \
	     "(public names and IPv4 addresses on ports 22, 80 and 443; Warder lists those that were used)") \
	MEMBER("network.allow", ENDPOINTS(network.allow))                                                    \
	FLAG("network.allow", "--allow", "HOST[:PORT]", CHANGE(change_allow),                                \
	     "allow a destination, on ports 443 and 80 if none is given", REPEATABLE)                        \
	MEMBER("network.deny", ENDPOINTS(network.deny))                                                      \
	FLAG("network.deny", "--deny", "HOST[:PORT]", AS_VALUE,                                              \
	     "refuse a destination that --allow covers, on every port if none is given", REPEATABLE)         \
	CONTROL(NETWORK_NONE, "network.none", NETWORK, "no network", p->network.mode == POLICY_NETWORK_NONE) \
	CONTROL(NETWORK_LOOPBACK, "network.loopback", NETWORK, "a loopback interface of its own only",       \
		p->network.mode == POLICY_NETWORK_LOOPBACK)                                                  \
	CONTROL(NETWORK_ALLOW, "network.allow", NETWORK, "an allow-list of network destinations",            \
		p->network.mode == POLICY_NETWORK_ALLOW)                                                     \
	CONTROL(NETWORK_IPV6, "network.allow.ipv6", NETWORK, "IPv6 blocks in an allow-list",                 \
		has_ipv6(&p->network.allow))                                                                 \
	CONTROL(NETWORK_INJECT, "network.allow.inject", NETWORK,                                             \
		"credentials that are put into requests outside of the program", policy_injects(p))          \
	CONTROL(NETWORK_DENY, "network.deny", NETWORK, "a list of refused network destinations",             \
		p->network.deny.count > 0)                                                                   \
	CONTROL(NETWORK_LEARN, "network.learn", NETWORK,                                                     \
		"public addresses only, and a record of what was used",                                      \
		p->network.mode == POLICY_NETWORK_LEARN)                                                     \
	FIELD(NETWORK_PUBLISH, "network.publish", "network", check_publish)                                  \
	MEMBER("network.publish", PUBLISHED(network.publish))                                                \
	FLAG(                                                                                                \
	    "network.publish", "--publish", "[ADDR:]HOSTPORT:PORT", CHANGE(change_publish),                  \
	    "accept connections at ADDR:HOSTPORT (default ADDR: 127.0.0.1), pass them to PORT in the jail; " \
	    "with "                                                                                          \
	    "HOSTPORT 0 Warder picks a free port and prints it",                                             \
	    REPEATABLE)                                                                                      \
	CONTROL(NETWORK_PUBLISH, "network.publish", NETWORK_PUBLISH, "published ports",                      \
		p->network.publish.count > 0)                                                                \
	NUMBER(NETWORK_CONNECTIONS, "network.maxConnections", "network", COUNT, network.connections_max, 1,  \
	       4096, LIMITED, POLICY_DEFAULT_CONNECTIONS, "network.mode \"none\" is the way to allow none",  \
	       check_traffic)                                                                                \
	FLAG("network.maxConnections", "--max-connections", "NUMBER", AS_VALUE,                              \
	     "at most NUMBER connections open at the same time (default: 256)")                              \
	CONTROL(NETWORK_CONNECTIONS, "network.maxConnections", NETWORK_CONNECTIONS,                          \
		"a limit of open network connections", policy_network_connects(p))                           \
	NUMBER(NETWORK_BYTES, "network.bytes", "network", SIZE, network.bytes_max, KIB, MAX_SIZE,            \
	       OR_UNLIMITED, POLICY_UNLIMITED, "no connection is opened with less", check_traffic)           \
	FLAG("network.bytes", "--net-bytes", "SIZE", AS_VALUE,                                               \
	     "at most SIZE sent and received over all connections together")                                 \
	CONTROL(NETWORK_BYTES, "network.bytes", NETWORK_BYTES, "a limit of bytes sent and received",         \
		p->network.bytes_max != POLICY_UNLIMITED && policy_network_connects(p))                      \
	MEMBER("filesystem", OBJECT)                                                                         \
	FIELD(VIEW, "filesystem.view", "filesystem", check_view)                                             \
	MEMBER("filesystem.view", SOURCED(filesystem.view, policy_views, filesystem.view_source))            \
	FLAG("filesystem.view", "--view", "VIEW", CHANGE(change_view),                                       \
	     "the root that the program sees: host (the host's programs), directory:DIR or image:NAME")      \
	CONTROL(VIEW_HOST, "filesystem.view.host", VIEW, "a read-only view of the host's programs",          \
		p->filesystem.view == POLICY_VIEW_HOST)                                                      \
	CONTROL(VIEW_DIRECTORY, "filesystem.view.directory", VIEW, "a directory as the root",                \
		p->filesystem.view == POLICY_VIEW_DIRECTORY)                                                 \
	CONTROL(VIEW_IMAGE, "filesystem.view.image", VIEW, "an image as the root",                           \
		p->filesystem.view == POLICY_VIEW_IMAGE)                                                     \
	FIELD(WORKSPACE, "filesystem.workspace", "filesystem", check_workspace)                              \
	MEMBER("filesystem.workspace",                                                                       \
	       SOURCED(filesystem.workspace, policy_workspaces, filesystem.workspace_root))                  \
	FLAG("filesystem.workspace", "--workspace", "DIR[:ro|:rw|:overlay]", CHANGE(change_workspace),       \
	     "show the host directory DIR as /workspace: read-only (:ro), writable (:rw), or with changes "  \
	     "that stay private (:overlay); without a suffix, as the preset says; if it says nothing, "      \
	     "read-only")                                                                                    \
	CONTROL(WORKSPACE_NONE, "filesystem.workspace.none", WORKSPACE, "no workspace",                      \
		p->filesystem.workspace == POLICY_WORKSPACE_NONE)                                            \
	CONTROL(WORKSPACE_READ_ONLY, "filesystem.workspace.readOnly", WORKSPACE, "a read-only workspace",    \
		p->filesystem.workspace == POLICY_WORKSPACE_READ_ONLY)                                       \
	CONTROL(WORKSPACE_OVERLAY, "filesystem.workspace.overlay", WORKSPACE,                                \
		"a private overlay over a workspace", p->filesystem.workspace == POLICY_WORKSPACE_OVERLAY)   \
	CONTROL(WORKSPACE_READ_WRITE, "filesystem.workspace.readWrite", WORKSPACE, "a read-write workspace", \
		p->filesystem.workspace == POLICY_WORKSPACE_READ_WRITE)                                      \
	FIELD(PATHS, "filesystem.paths", "filesystem", check_paths)                                          \
	MEMBER("filesystem.paths", OBJECT)                                                                   \
	MEMBER("filesystem.paths.readOnly", LIST(filesystem.read_only))                                      \
	FLAG("filesystem.paths.readOnly", "--ro", "SRC[:/DST]", CHANGE(change_path),                         \
	     "show a host path read-only, at DST or at the same path", REPEATABLE)                           \
	MEMBER("filesystem.paths.readWrite", LIST(filesystem.read_write))                                    \
	FLAG("filesystem.paths.readWrite", "--rw", "SRC[:/DST]", CHANGE(change_rw),                          \
	     "as --ro, but read-write and without a limit of the bytes written there", REPEATABLE)           \
	CONTROL(PATHS_READ_ONLY, "filesystem.paths.readOnly", PATHS, "read-only extra paths",                \
		p->filesystem.read_only.count > 0)                                                           \
	CONTROL(PATHS_READ_WRITE, "filesystem.paths.readWrite", PATHS, "read-write extra paths",             \
		p->filesystem.read_write.count > 0)                                                          \
	LIMIT(TMP, "filesystem.tmp", "filesystem", SIZE, filesystem.tmp_bytes, 16 * KIB, TIB, LIMITED,       \
	      64 * MIB, "files that Warder makes for /proc lie there, too", check_tmp,                       \
	      "a private /tmp of a fixed size")                                                              \
	FLAG("filesystem.tmp", "--tmp", "SIZE", AS_VALUE, "size of the private /tmp")                        \
	MEMBER("filesystem.tmpExec", BOOLEAN(filesystem.tmp_exec, false))                                    \
	MEMBER("filesystem.growth", OPTION(filesystem.growth_unlimited, policy_growths))                     \
	MEMBER("environment", OBJECT)                                                                        \
	FIELD(ENVIRONMENT, "environment", "environment", check_environment)                                  \
	MEMBER("environment.mode", CHOICE(environment.mode, policy_environment_modes, 0))                    \
	MEMBER("environment.names", LIST(environment.names))                                                 \
	MEMBER("environment.set", VARIABLES(environment.set))                                                \
	FLAG("environment.set, environment.names", "--env", "NAME[=VALUE]", CHANGE(change_environment),      \
	     "set a variable; without =VALUE, pass your own variable NAME to the program", REPEATABLE,       \
	     SHORT('e'))                                                                                     \
	CONTROL(ENVIRONMENT, "environment", ENVIRONMENT, "only the granted environment variables",           \
		p->environment.mode != POLICY_ENVIRONMENT_HOST)                                              \
	MEMBER("limits", OBJECT)                                                                             \
	LIMIT(WALL_TIME, "limits.wallTime", "timeout", TIME, limits.wall_time_us, 1, YEAR, OR_UNLIMITED,     \
	      30 * SECONDS, "a program needs some time", check_amount, "a wall-clock limit")                 \
	FLAG("limits.wallTime", "--timeout", "TIME", AS_VALUE,                                               \
	     "limit of the elapsed (wall) time, such as 5s")                                                 \
	LIMIT(CPU_TIME, "limits.cpuTime", "limits", TIME, limits.cpu_time_us, 1, YEAR, OR_UNLIMITED,         \
	      30 * SECONDS, "a program needs some time", check_amount,                                       \
	      "a CPU time limit over all processes")                                                         \
	FLAG("limits.cpuTime", "--cpu-time", "TIME", AS_VALUE,                                               \
	     "limit of the CPU time of all processes together")                                              \
	LIMIT(MEMORY, "limits.memory", "limits", SIZE, limits.memory_bytes, MIB, MAX_SIZE, OR_UNLIMITED,     \
	      512 * MIB, "no program starts in less", check_amount, "a memory limit over all processes")     \
	FLAG("limits.memory", "--memory", "SIZE", AS_VALUE,                                                  \
	     "limit of the memory of all processes together, such as 256MiB", SHORT('m'))                    \
	LIMIT(SWAP, "limits.swap", "limits", SIZE, limits.swap_bytes, 0, MAX_SIZE, OR_UNLIMITED, 0, "",      \
	      check_amount, "a swap limit")                                                                  \
	/* A bandwidth period of 100 ms cannot hold a quota of less than 1 ms. */                            \
	LIMIT(CPUS, "limits.cpus", "limits", CPUS, limits.cpu_milli, 10, 8192000, OR_UNLIMITED, 1000,        \
	      "the kernel counts no smaller share", check_amount, "a CPU bandwidth limit")                   \
	FLAG("limits.cpus", "--cpus", "NUMBER", AS_VALUE,                                                    \
	     "share of the processors, such as 0.5 (half of one) or 2")                                      \
	LIMIT(PIDS, "limits.pids", "limits", COUNT, limits.pids_max, 1, (uint64_t)1 << 22, OR_UNLIMITED, 64, \
	      "the program itself is one process", check_amount, "a limit of processes and threads")         \
	FLAG("limits.pids", "--pids", "NUMBER", AS_VALUE, "at most NUMBER processes and threads")            \
	LIMIT(OPEN_FILES, "limits.openFiles", "limits", COUNT, limits.open_files, 6, (uint64_t)1 << 30,      \
	      OR_UNLIMITED, 1024, "the start of the program needs as many", check_amount,                    \
	      "a limit of open files")                                                                       \
	LIMIT(FILE_SIZE, "limits.fileSize", "limits", SIZE, limits.file_size_bytes, 0, MAX_SIZE,             \
	      OR_UNLIMITED, 64 * MIB, "", check_amount, "a limit of a file's size")                          \
	LIMIT(STACK, "limits.stack", "limits", SIZE, limits.stack_bytes, 64 * KIB, MAX_SIZE, OR_UNLIMITED,   \
	      8 * MIB, "no program starts in less", check_amount, "a stack limit")                           \
	NUMBER(DISK, "limits.disk", "limits", SIZE, limits.disk_bytes, 16 * KIB, MAX_SIZE, OR_UNLIMITED,     \
	       64 * MIB, "files that Warder makes for /proc count, too", check_amount)                       \
	CONTROL(DISK_TMP, "limits.disk.tmp", DISK, "a limit of all bytes written below /tmp and /dev/shm",   \
		p->limits.disk_bytes != POLICY_UNLIMITED)                                                    \
	CONTROL(DISK_WORKSPACE, "limits.disk.workspace", DISK,                                               \
		"a limit of bytes written to host directories",                                              \
		p->limits.disk_bytes != POLICY_UNLIMITED && policy_writes_host(p) &&                         \
		    !p->filesystem.growth_unlimited)                                                         \
	LIMIT(CODE, "limits.code", "limits", SIZE, limits.code_bytes, 1, POLICY_MAX_CODE, LIMITED,           \
	      POLICY_MAX_CODE, "empty code is refused anyway", check_amount,                                 \
	      "a limit of the program text's size")                                                          \
	MEMBER("output", OBJECT)                                                                             \
	LIMIT(STDOUT, "output.stdout", "output", SIZE, output.stdout_bytes, 0, TIB, LIMITED, MIB, "",        \
	      check_amount, "a limit of kept standard output")                                               \
	LIMIT(STDERR, "output.stderr", "output", SIZE, output.stderr_bytes, 0, TIB, LIMITED, MIB, "",        \
	      check_errors, "a limit of kept standard error")                                                \
	FLAG("output.stdout, output.stderr", "--max-output", "SIZE", CHANGE(change_output),                  \
	     "the limit of standard output, and of standard error: a JSON result has the first SIZE bytes "  \
	     "of each; without a JSON result, a program that writes more than SIZE to either of the two is " \
	     "killed")                                                                                       \
	MEMBER("output.onLimit", CHOICE(output.on_limit, policy_on_output_limits, 0))                        \
	MEMBER("processes", OBJECT)                                                                          \
	FIELD(SPAWN, "processes.spawn", "processes", check_spawn)                                            \
	MEMBER("processes.spawn", BOOLEAN(processes.spawn, true))                                            \
	CONTROL(NO_SPAWN, "processes.spawn.false", SPAWN, "no new processes", !p->processes.spawn)           \
	FIELD(IDENTITY, "processes.identity", "processes", check_identity)                                   \
	MEMBER("processes.identity", OBJECT)                                                                 \
	MEMBER("processes.identity.uid", ID(processes.uid))                                                  \
	MEMBER("processes.identity.gid", ID(processes.gid))                                                  \
	CONTROL(IDENTITY, "processes.identity", IDENTITY, "the identity inside", true)                       \
	FIELD(SYSCALLS, "syscalls", "syscalls", check_syscalls)                                              \
	MEMBER("syscalls", OBJECT)                                                                           \
	MEMBER("syscalls.profile", CHOICE(syscalls.profile, policy_profiles, 0))                             \
	MEMBER("syscalls.deny", LIST(syscalls.deny))                                                         \
	MEMBER("syscalls.allow", LIST(syscalls.allow))                                                       \
	MEMBER("syscalls.onViolation", CHOICE(syscalls.on_violation, policy_on_violations, 0))               \
	CONTROL(SYSCALLS, "syscalls", SYSCALLS, "a system call filter", true)                                \
	CONTROL(SYSCALLS_KILL, "syscalls.onViolation.kill", SYSCALLS, "killing on a denied system call",     \
		p->syscalls.on_violation == POLICY_VIOLATION_KILL)                                           \
	FIELD(SPECULATION, "syscalls.speculation", "syscalls", check_speculation)                            \
	MEMBER("syscalls.speculation", BOOLEAN(syscalls.speculation, false))                                 \
	CONTROL(SPECULATION, "syscalls.speculation", SPECULATION, "speculation of the processor forced off", \
		p->syscalls.speculation)                                                                     \
	MEMBER("devices", OBJECT)                                                                            \
	LIMIT(TERMINALS, "devices.terminals", "devices", COUNT, devices.terminals, 0, POLICY_MAX_TERMINALS,  \
	      LIMITED, 0, "", check_amount, "a number of terminals")                                         \
	FIELD(FUNCTIONS, "functions", "functions", check_functions)                                          \
	MEMBER("functions", LIST(functions))                                                                 \
	CONTROL(FUNCTIONS, "functions", FUNCTIONS, "calls of the granted functions of the host",             \
		p->functions.count > 0)                                                                      \
	FIELD(WORKING_DIRECTORY, "workingDirectory", "filesystem", NULL)                                     \
	MEMBER("workingDirectory", TEXT(working_directory))                                                  \
	FLAG("workingDirectory", "--cwd", "DIR", CHANGE(change_cwd), "working directory in the jail",        \
	     SHORT('w'))                                                                                     \
	CONTROL(WORKING_DIRECTORY, "workingDirectory", WORKING_DIRECTORY, "a working directory",             \
		p->working_directory != NULL)                                                                \
	MEMBER("languages", LANGUAGES)                                                                       \
	MEMBER("enforcement", ENFORCEMENT)

#define POLICY_NOTHING(...)
#define POLICY_ID(id, ...) POLICY_FIELD_##id,

/* The fields that can be required or preferred, in the order in which unmet ones are reported. */
enum policy_field {
	POLICY_TABLE(POLICY_ID, POLICY_NOTHING, POLICY_NOTHING, POLICY_ID, POLICY_ID, POLICY_NOTHING)
	    POLICY_FIELD_COUNT,
	POLICY_FIELD_NONE = POLICY_FIELD_COUNT, /* a control that belongs to no policy field */
};
#undef POLICY_ID
#define POLICY_ID(id, ...) POLICY_CONTROL_##id,

enum policy_control {
	POLICY_TABLE(POLICY_NOTHING, POLICY_NOTHING, POLICY_ID, POLICY_NOTHING, POLICY_ID, POLICY_NOTHING)
	    POLICY_CONTROL_COUNT,
};
#undef POLICY_ID

struct policy {
	struct {
		enum policy_network_mode mode;
		struct policy_endpoints allow;   /* only with POLICY_NETWORK_ALLOW and _LEARN */
		struct policy_endpoints deny;    /* the same; a row here wins over all of allow */
		struct policy_published publish; /* only with POLICY_NETWORK_LOOPBACK, _ALLOW and _LEARN */
		uint64_t connections_max; /* open at once, both directions; more are reset. Never unlimited */
		uint64_t bytes_max;       /* of all connections together, both directions */
	} network;
	struct {
		enum policy_view view;
		char *view_source; /* NULL with POLICY_VIEW_HOST */
		enum policy_workspace workspace;
		char *workspace_root;            /* absolute, normalised; NULL with none */
		struct policy_strings read_only; /* absolute, normalised, no duplicate over both lists */
		struct policy_strings read_write;
		uint64_t tmp_bytes; /* size of /tmp; never POLICY_UNLIMITED */
		bool tmp_exec;      /* programs in /tmp may be executed */
		/* How far directories of the host that a program may write to can grow: as limits.disk says, which no mechanism
		 * here enforces, or, where true, without a limit. */
		bool growth_unlimited;
	} filesystem;
	struct {
		enum policy_environment_mode mode;
		struct policy_strings names; /* only with POLICY_ENVIRONMENT_ALLOW_LIST */
		struct policy_variable *set; /* wins over what the mode lets in */
		size_t set_count;
	} environment;
	struct {
		uint64_t wall_time_us; /* > 0; a document has to give it */
		uint64_t cpu_time_us;
		uint64_t memory_bytes;
		uint64_t swap_bytes; /* on top of memory_bytes */
		uint64_t cpu_milli;  /* 500 = half a CPU */
		uint64_t pids_max;   /* processes and threads of the program */
		uint64_t open_files;
		uint64_t file_size_bytes;
		uint64_t stack_bytes;
		uint64_t disk_bytes; /* everything the program writes that outlives a write(2) */
		uint64_t code_bytes; /* of the program text that a piece of code is; never unlimited */
	} limits;
	struct {
		uint64_t stdout_bytes; /* kept of each stream; never unlimited */
		uint64_t stderr_bytes;
		enum policy_on_output_limit on_limit;
	} output;
	struct {
		bool spawn;
		uint32_t uid, gid; /* inside the jail; 1..65533 */
	} processes;
	struct {
		enum policy_syscall_profile profile;
		struct policy_strings deny; /* system call names */
		struct policy_strings allow;
		enum policy_on_violation on_violation;
		bool
		    speculation; /* true: force the kernel's controls of store bypass and indirect branches off */
	} syscalls;
	struct {
		uint64_t terminals; /* pseudo-terminals of each execution, 0..64; 0: no devpts */
	} devices;
	struct policy_strings functions; /* of the host, that the program may call by these names */
	char *working_directory; /* absolute path inside; NULL: /workspace if there is one, else /tmp */
	struct {
		bool any;
		struct policy_strings names; /* empty and !any: nothing may run */
	} languages;
	bool preferred[POLICY_FIELD_COUNT]; /* false: required */
	/* Which of two fields that bound one another were set, and not only left at a preset's value. A document does not hold it. */
	struct {
		bool tmp, disk;
	} given;
};

#endif
