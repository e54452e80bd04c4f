/*
 * flags: the flags of every command, as one table, and what they ask for (args.h reads them). Private to cli/.
 *
 * Usage, completion and the manual's list come from the same rows.
 */
#ifndef WARDER_RUNTIME_CLI_FLAGS_H
#define WARDER_RUNTIME_CLI_FLAGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "runtime/cli/given.h"
#include "runtime/cli/places.h"
#include "runtime/judge/compare.h"
#include "runtime/library/library.h"
#include "runtime/session/session.h"
#include "runtime/text/blocks.h"
#include "runtime/tool/scopes.h"
#include "runtime/tool/stats.h"

/* Commands that know a flag. */
enum flag_command {
	FLAG_RUN = 1,
	FLAG_EXPLAIN = 2,
	FLAG_POLICY = 4,
	FLAG_DOCTOR = 8,
	FLAG_COMPLETION = 16,
	FLAG_CODE = 64,
	FLAG_LANGUAGES = 128,
	FLAG_SCAN = 8192,
	FLAG_SHAPES = 32, /* no command: the flag has a part in what policy is made */
	FLAG_BLOCKS = 256,
	FLAG_FORMAT = 512,
	FLAG_TOOL = 1024,
	FLAG_JUDGE = 2048,
	FLAG_DATA = 4096,
	FLAG_CHANGES = 16384,
	FLAG_SESSION = 32768, /* list, status, stop, restart; these two are words of it */
	FLAG_SESSION_START = 65536,
	FLAG_SESSION_EXEC = 131072,
	FLAG_SESSION_FILES = 33554432, /* words of it, too */
	FLAG_SESSION_ANY = 33783808,
	FLAG_BACKEND = 262144,
	FLAG_PS = 524288,
	FLAG_LOGS = 1048576,
	FLAG_ATTACH = 2097152,
	FLAG_WRITE = 4194304,
	FLAG_KILL = 8388608,
	FLAG_WAIT = 16777216,
	FLAG_EXECUTION = 33030144, /* all six */
	FLAG_CONTEXT = 67108864,   /* list, describe, interrupt, restart, delete; these two are words of it */
	FLAG_CONTEXT_CREATE = 134217728,
	FLAG_CONTEXT_RUN = 268435456,
	FLAG_CONTEXT_FORK = 8589934592,
	FLAG_CONTEXT_ANY = 9059696640,
	FLAG_SERVE = 2147483648,
	FLAG_TENANT = 4294967296,
	FLAG_CODE_CONTEXT = 536870912, /* `warder code --context` */
	FLAG_MCP = 1073741824,
	FLAG_WORKER = 17179869184,
	FLAG_SUBMIT = 34359738368,
};

#define FLAG_COUNT_MAX   192 /* rows of the table */
#define REQUEST_LIST_MAX 64  /* as BLOCKS_MAX_FILTERS */

struct config;

/* Values of a flag that may be repeated. */
struct args_list {
	const char *items[REQUEST_LIST_MAX];
	size_t count;
};

/* What `warder code` is asked besides its policy. */
struct args_code {
	const char *rules;
	const char *language, *languages, *input, *standard_input, *artifacts, *cache;
	struct args_list files, collect;
	uint64_t artifact_bytes; /* 0: the default */
	bool check, no_cache, last_line, function, scan, scan_deny;
};

/* What the commands about text are asked for; points into the arguments. */
struct args_text {
	bool no_fences, unclosed, extract, until_first, run, pandas;
	unsigned code;  /* number of the block whose code is wanted; 0: none */
	const char *as; /* "block", "inline", "text"; NULL: block */
	struct delimiters delimiters[BLOCKS_MAX_DELIMITERS];
	size_t delimiter_count;
	struct args_list languages, ignored;
};

/* What `warder tool` and `warder judge` are asked besides policy and code. */
struct args_tool {
	bool stream, unordered, stop;
	unsigned parallel; /* 0: as many as there are CPUs */
	const char *scopes, *stats, *cases, *compare, *default_language, *schema;
	struct args_list granted; /* variables that a request may set */
};

/* What is asked about the changes of a run, and of `warder changes`. */
struct args_changes {
	const char *directory; /* that keeps them; or NULL */
	bool dry_run;          /* they are told at the end */
	bool force, diff;
	size_t pattern_count;
};

/* What is asked about executions that outlive their caller. */
struct args_execution {
	bool detach, input; /* --detach, -i */
	bool follow, close;
	const char *log;                         /* --log; or NULL */
	const char *from, *signal, *detach_keys; /* or NULL */
	unsigned lines;                          /* 0: all */
	uint64_t yield_us;                       /* how long logs waits for more output; 0: not at all */
	uint64_t keep_us;                        /* 0: the default */
};

/* What is asked of a context. */
struct args_context {
	const char *session, *name; /* of `warder code` */
	const char *code;           /* -c */
	bool no_wait, keep_seed;
	uint64_t timeout_us; /* of a piece; 0: as long as the context's policy grants */
};

/* What is asked of `warder serve --listen` and `warder tenant`. */
struct args_host {
	const char *listen, *state, *config, *scopes, *request_key, *uid, *socket_mode; /* or NULL */
	const char *certificate, *private_key, *domain;                                 /* or NULL */
	bool check, insecure_http, log_json, stop_all, old_clients;
	uint64_t expires_us; /* 0: never */
};

/* What is asked of `warder worker` and `warder submit`. */
struct args_fleet {
	const char *url, *credentials, *ca_file; /* or NULL */
	const char *tenant, *key, *make_key;     /* or NULL */
	unsigned parallel, deliveries;           /* 0: the default */
	uint64_t redeliver_us, lifetime_us;      /* 0: the default */
};

/* What is asked of `warder session`. */
struct args_session {
	const char *name; /* of a session that runs already, for `mcp`; NULL: it begins one */
	struct args_list setup;
	uint64_t lifetime_us, idle_us; /* 0: the default */
	uint64_t bytes_max;            /* of a file or a copy; 0: the default */
	enum session_files_existing existing;
	struct args_list workspace_ids; /* of workspaces of the store */
	/* Set by warder-store when it has opened the workspaces; or NULL. */
	const struct session_origin *origin;
	unsigned int capabilities;        /* 0: not given */
	const char *attach, *on_recreate; /* a sandbox of a host; a command; or NULL */
	bool recreate, keep_sandbox;
	bool auto_start, background, snapshot_on_stop, for_files;
	bool runs; /* an execution joins it, and cannot change its policy */
};

struct args {
	bool help, json, clean, attack, attack_session, matrix, for_model;
	bool no_input;              /* -n */
	bool replay;                /* --replay */
	bool terminal;              /* -t */
	bool delegate;              /* --delegate */
	bool local;                 /* --local */
	bool fork_server;           /* --fork-server */
	bool no_service;            /* --no-service */
	bool progress;              /* --progress */
	struct args_list functions; /* --function-command */
	bool shapes_policy;         /* a flag that a policy is made with was given */
	const char *base;           /* preset or file to start from; NULL: strict */
	bool base_is_file;          /* --policy: never the name of a preset */
	const char *ceiling_path;   /* NULL: the default place, if there is something */
	const char *for_policy;     /* whose fields `policy ceiling` looks at; or NULL */
	const char *cgroup_parent;  /* or NULL */
	const char *audit;          /* or NULL */
	bool audit_argv;
	bool audit_preferred; /* --prefer audit */
	const char *receipt;  /* "-": standard error; or NULL */
	const char *env_from; /* or NULL */
	char **env_rows;      /* owned; of env_from, once it was read; or NULL */
	bool env_told;        /* what of env_from is left out */
	const char *backend;  /* or NULL */
	struct args_session session;
	struct args_host host;
	struct args_fleet fleet;
	struct args_execution execution;
	struct args_context context;
	uint64_t grace_us; /* that a program has after a signal of Warder's */
	uint64_t
	    output_max; /* --max-output: where output is passed through, more ends the program; 0: not given */
	const char *model; /* of a model's provider; or NULL */
	struct args_changes changes;
	const char *
	    backends; /* file of the operator's settings of backends; NULL: the default place, if there is something */
	struct args_code code;
	struct args_tool tool;
	struct args_text text;
	const char *const
	    *defaults; /* policy path, value, ...: over the default preset where no other is named; or NULL */
	char **rest;   /* the words that are no flags, NULL-terminated */
	bool typed[FLAG_COUNT_MAX];    /* on the command line; by row of the table */
	struct given given;            /* by the command line */
	bool no_config;                /* --no-config */
	struct config *config;         /* owned; flags that the user's file gives; NULL: none */
	struct warder_policy *policy;  /* owned */
	struct warder_policy *ceiling; /* owned; NULL: there is none */
};

/* What a flag does with its value. FIELD and CHANGE act in the second walk, on a policy that is there; the others in the first. */
enum flag_kind {
	FLAG_KIND_FIELD,  /* sets the policy field `path` */
	FLAG_KIND_CHANGE, /* changes the policy by `use` */
	FLAG_KIND_CHOOSE, /* by `use` */
	FLAG_KIND_SWITCH, /* bool, set to true */
	FLAG_KIND_TEXT,   /* const char * */
	FLAG_KIND_LIST,   /* struct args_list, which the value is added to */
	FLAG_KIND_TIME,   /* uint64_t, microseconds */
	FLAG_KIND_SIZE,   /* uint64_t, bytes */
	FLAG_KIND_NUMBER, /* unsigned */
};

struct flag {
	uint64_t commands;    /* enum flag_command */
	const char *name;     /* "--memory" */
	const char *argument; /* "SIZE"; NULL: takes none */
	const char *path;     /* policy field that it sets, or NULL */
	const char *help;
	enum flag_kind kind;
	size_t offset; /* of the member of struct args that takes the value */
	int (*use)(struct args *args, const struct flag *flag, const char *value,
		   struct warder_error *err); /* of FLAG_KIND_CHANGE and FLAG_KIND_CHOOSE */
	const char
	    *fallback; /* of FLAG_KIND_TIME: what holds without the flag; a time of 0 is refused then */
	unsigned most; /* of FLAG_KIND_NUMBER, which starts at 1 */
	bool two;      /* takes two values, which are handed over one after the other */
	bool many;     /* may be given again; any other flag with a value is refused then */
	bool sets_any; /* --set: its value names the field */
	bool typed;    /* only on the command line, never in the user's file */
	char letter;   /* 'm' of -m; 0: there is none */
};

/* Row i; NULL past the end. */
const struct flag *flag_at(size_t i);
/* Whether the flag acts on a policy that is there, after the flags that choose one. */
bool flag_changes_policy(const struct flag *flag);
/* The row of a command, by its name ("--memory"); NULL: the command has none. */
const struct flag *flag_find(uint64_t commands, const char *name);
/* The same of what was typed: `length` bytes of "--memory", or "-m". */
const struct flag *flag_typed(uint64_t commands, const char *text, size_t length);

/* A policy by the name of a preset, by path, or "-" for standard input. */
int policy_load(const char *name, bool is_file, struct warder_policy **ret, struct warder_error *err);
/* Print the rows that a command knows, as --help shows them. */
void flags_print(enum flag_command command);

#endif
