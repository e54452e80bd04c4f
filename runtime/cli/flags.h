/*
 * flags: the flags of every command, as one table, and what they ask for. Private to cli/.
 *
 * Life: request_parse() walks the arguments twice: first what chooses the policy to start from, then the flags
 * that change its fields, in their order -> the command does its work -> request_done().
 * Usage, completion and the manual's list come from the same rows.
 */
#ifndef WARDER_RUNTIME_CLI_FLAGS_H
#define WARDER_RUNTIME_CLI_FLAGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "runtime/agent/agent.h"
#include "runtime/library.h"

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
	FLAG_SESSION_ANY = 229376,
	FLAG_BACKEND = 262144,
};

#define REQUEST_LIST_MAX 64 /* as BLOCKS_MAX_FILTERS */

/* Values of a flag that may be repeated. */
struct request_list {
	const char *items[REQUEST_LIST_MAX];
	size_t count;
};

/* What `warder code` is asked besides its policy. */
struct request_code {
	const char *rules, *audit;
	const char *language, *languages, *input, *standard_input, *artifacts, *cache;
	struct request_list files, collect;
	uint64_t artifact_bytes; /* 0: the default */
	bool check, no_cache, last_line, function, scan, scan_deny;
};

/* What the commands about text are asked for; points into the arguments. */
struct request_text {
	bool no_fences, unclosed, extract, pandas;
	size_t code;    /* number of the block whose code is wanted; 0: none */
	const char *as; /* "block", "inline", "text"; NULL: block */
	struct delimiters delimiters[BLOCKS_MAX_DELIMITERS];
	size_t delimiter_count;
	struct request_list languages, ignored;
};

/* What `warder tool` and `warder judge` are asked besides policy and code. */
struct request_tool {
	bool stream, unordered, stop;
	unsigned parallel; /* 0: as many as there are CPUs */
	const char *scopes, *stats, *cases, *compare;
};

/* What is asked about the changes of a run, and of `warder changes`. */
struct request_changes {
	const char *directory; /* that keeps them; or NULL */
	bool dry_run;          /* they are told at the end */
	bool force, diff;
	size_t pattern_count;
};

/* What is asked of `warder session`. */
struct request_session {
	struct request_list setup;
	uint64_t lifetime_us, idle_us; /* 0: the default */
	bool auto_start, background;
};

struct request {
	bool help, json, clean, attack, attack_session, matrix, for_model;
	bool shapes_policy;        /* a flag that a policy is made with was given */
	const char *base;          /* preset or file to start from; NULL: strict */
	bool base_is_file;         /* --policy: never the name of a preset */
	const char *ceiling_path;  /* NULL: the default place, if there is something */
	const char *cgroup_parent; /* or NULL */
	const char *receipt;       /* "-": standard error; or NULL */
	const char *backend;       /* or NULL */
	struct request_session session;
	const char *model; /* of a model's provider; or NULL */
	struct request_changes changes;
	const char *
	    backends; /* file of the operator's settings of backends; NULL: the default place, if there is something */
	struct request_code code;
	struct request_tool tool;
	struct request_text text;
	const char *const
	    *defaults; /* policy path, value, ...: over the default preset where no other is named; or NULL */
	char **rest;   /* what follows the flags, NULL-terminated */
	struct warder_policy *policy;  /* owned */
	struct warder_policy *ceiling; /* owned; NULL: there is none */
};

struct flag {
	unsigned commands;    /* enum flag_command */
	const char *name;     /* "--memory" */
	const char *argument; /* "SIZE"; NULL: takes none */
	const char *path;     /* policy field that it sets, or NULL */
	const char *help;
	/* Exactly one of the two, or none for plain policy fields: `choose` in the first walk, `change` in the second. */
	int (*choose)(struct request *request, const struct flag *flag, const char *value,
		      struct warder_error *err);
	int (*change)(struct request *request, const struct flag *flag, const char *value,
		      struct warder_error *err);
	bool two; /* takes two values, which are handed over one after the other */
};

/* Row i; NULL past the end. */
const struct flag *flag_at(size_t i);

/* Read argv (after the command's name) of a command. With --help nothing but `help` and `rest` is to be relied on.
 * -1 with *err (INVALID_REQUEST), which names flag, value and remedy; `json` is set even then if it was asked for. */
int request_parse(enum flag_command command, char **argv, struct request *ret, struct warder_error *err);
/* Load the policy to start from (request->base) and the ceiling, then let the flags change the policy. */
int request_load(enum flag_command command, char **argv, struct request *request, struct warder_error *err);
/* The ceiling that --ceiling names, or the default place's if there is one. */
int request_load_ceiling(struct request *request, struct warder_error *err);
/* Let the flags change the policy that is there. */
int request_change(enum flag_command command, char **argv, struct request *request, struct warder_error *err);
void request_done(struct request *request);
/* How many workers are asked for, at least one. */
unsigned request_parallel(const struct request *request);

/* A policy by the name of a preset, by path, or "-" for standard input. */
int policy_load(const char *name, bool is_file, struct warder_policy **ret, struct warder_error *err);
/* Print the rows that a command knows, as --help shows them. */
void flags_print(enum flag_command command);

#endif
