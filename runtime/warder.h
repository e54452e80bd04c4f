/*
 * libwarder: run a program nobody trusts, under a policy that is enforced and proved, or not at all.
 *
 *   struct warder_error err;
 *   struct warder_policy *policy;      warder_policy_preset("strict", &policy, &err)
 *   struct warder_template *template;  warder_prepare(policy, NULL, &template, &err)     once per policy
 *   struct warder_run *run;            warder_launch(template, &command, &run, &err)     many times
 *   struct warder_result *result;      warder_wait(run, &result, &err)
 *
 * Threads: templates and policies may be used by several threads at once (a policy not while it is changed); a run
 * belongs to one thread at a time, except warder_cancel(). No signal handlers, and no global state but a
 * locked list of what the process shares in its control group. A jail's init is a
 * child of the calling process: it raises SIGCHLD when it ends, and a host that waits for any child may reap it, which
 * does no harm. The wall time holds also if warder_wait() is called late, or an on_output does not return: then the
 * jail's init ends the run, up to two seconds later.
 * Templates and runs belong to the process that made them. In what it forks, launch and wait are refused, and _free does
 * nothing (a fork that lives on keeps the memory and the descriptors).
 * Wrong use that can be seen is an error (INVALID_REQUEST, CONFLICT) and harms nothing: NULL where there must be something, a
 * struct without its size, a second wait, also at the same time in another thread. What was freed may not be used.
 * Functions return 0, or -1 with *err filled (err may not be NULL). Strings returned as `const char *` belong to
 * the object and live as long as it does. Every _free accepts NULL.
 */
#ifndef WARDER_H
#define WARDER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WARDER_API __attribute__((visibility("default")))

#ifndef WARDER_BASE_ERROR_H
/* Kinds: see warder_error_kind_name(); the values are stable. */
enum warder_error_kind {
	WARDER_ERROR_NONE = 0,
	WARDER_ERROR_UNSUPPORTED_POLICY, /* this host cannot enforce a required field; text names all */
	WARDER_ERROR_UNSUPPORTED_LANGUAGE,
	WARDER_ERROR_INVALID_REQUEST,
	WARDER_ERROR_COMPILE_FAILED,
	WARDER_ERROR_TIMEOUT,
	WARDER_ERROR_EXECUTION_FAILED, /* not executable */
	WARDER_ERROR_REJECTED,         /* over the operator's ceiling */
	WARDER_ERROR_NOT_FOUND,        /* no such program inside */
	WARDER_ERROR_CONFLICT,
	WARDER_ERROR_UNAVAILABLE, /* the host lacks something */
	WARDER_ERROR_INTERNAL,
};

struct warder_error {
	uint32_t code;     /* enum warder_error_kind */
	int32_t sys_errno; /* errno of the call that failed, or 0 */
	char step[32];     /* launch step that failed, or "" */
	char field[72];    /* policy field or file the error is about, or "" */
	char text[400];    /* one line for people: what happened and what to do */
};
#endif

/* "0.1.0". */
WARDER_API const char *warder_version(void);
/* "unsupportedPolicy", ...; never NULL. */
WARDER_API const char *warder_error_kind_name(uint32_t code);

/* ---- policy ---- */
struct warder_policy;

/* A new policy out of a preset: "strict", "agent", ... -1: the text lists the names. */
WARDER_API int warder_policy_preset(const char *name, struct warder_policy **ret, struct warder_error *err);
/* Decode a policy document of `len` bytes; `origin` names it in errors. */
WARDER_API int warder_policy_parse(const char *json, size_t len, const char *origin,
				   struct warder_policy **ret, struct warder_error *err);
/* Set one field by its path ("limits.memory", "network.mode", "filesystem.workspace", "environment.set.NAME",
 * "filesystem.paths.readOnly" (appends), ...) to a value as written in a policy document or on the
 * command line ("256MiB", "none", "readWrite:/srv/job"). */
WARDER_API int warder_policy_set(struct warder_policy *policy, const char *path, const char *value,
				 struct warder_error *err);
/* Mark a field required (1) or preferred (0). */
WARDER_API int warder_policy_require(struct warder_policy *policy, const char *path, int required,
				     struct warder_error *err);
/* Canonical JSON; the caller frees it with free(). NULL on want of memory. */
WARDER_API char *warder_policy_json(const struct warder_policy *policy);
/* The templates made of it stay as they are. */
WARDER_API void warder_policy_free(struct warder_policy *policy);

/* ---- template ---- */
struct warder_template;

struct warder_options {
	size_t size;                         /* sizeof(struct warder_options) */
	const struct warder_policy *ceiling; /* the most a policy may ask; NULL: no ceiling */
	const char *cgroup_parent; /* directory below each cgroup hierarchy's mount point, or NULL */
	int single_use;            /* 1: one launch only, which is a little cheaper */
	/* 1: with filesystem.view "image:<name>" the program is user 0 of the image, as who builds an image needs it. It has no capability
	 * all the same. */
	int builds_image;
	/* Who runs it: one of warder_backend_name(), or "auto": the first in the operator's order that can enforce the whole policy.
	 * NULL: local. */
	const char *backend;
	const char *
	    backends; /* the operator's document about backends; NULL: /etc/warder/backends.json if there is one */
};

/* Match the policy with this host and prepare everything that can be prepared. options may be NULL. The policy is
 * copied. -1: UNSUPPORTED_POLICY names every required field that cannot be enforced here; nothing was started. */
WARDER_API int warder_prepare(const struct warder_policy *policy, const struct warder_options *options,
			      struct warder_template **ret, struct warder_error *err);
/* Runs of it may still live: the last one that is freed takes it along. Only launching is over. */
WARDER_API void warder_template_free(struct warder_template *tmpl);

/* ---- backends ---- */
/* Name of backend i ("local", "crun", ...); NULL past the end. */
WARDER_API const char *warder_backend_name(size_t i);
/* What it is, who may use it and what it can enforce on this host, as one JSON object, which the caller frees with free(). The policy
 * says what of the host is seen. Of the options (or NULL) cgroup_parent and backends count. */
WARDER_API int warder_backend_json(const char *name, const struct warder_policy *policy,
				   const struct warder_options *options, char **ret,
				   struct warder_error *err);
/* The same as a paragraph for a model that writes code: what there is, in which languages, under which limits. */
WARDER_API int warder_backend_for_model(const char *name, const struct warder_policy *policy,
					const struct warder_options *options, char **ret,
					struct warder_error *err);
/* A request to a model, JSON of `len` bytes, with the executor of the model's provider declared in it: options->backend "builtin".
 * `model`: where the request names none; or NULL. *ret is the caller's to free. -1: REJECTED (the operator has not enabled it, or
 * the ceiling), UNSUPPORTED_POLICY (the policy requires what is not enforced there: everything but what it prefers), UNAVAILABLE
 * (no such executor is known of the model), INVALID_REQUEST. */
WARDER_API int warder_backend_declare(const struct warder_policy *policy,
				      const struct warder_options *options, const char *model,
				      const char *request, size_t len, char **ret, struct warder_error *err);

/* ---- run ---- */
struct warder_run;
struct warder_result;

enum warder_stream { WARDER_STDOUT, WARDER_STDERR };

/* Put there before the program starts. */
struct warder_file {
	const char *
	    path; /* relative to the working directory inside ("data/a.csv"), or of warder_launch() to /tmp; no link, no way out of it */
	const char *bytes; /* of warder_launch() NULL: a directory */
	size_t len;
	unsigned int mode; /* permission bits; 0: 0644 */
};

/* What a result has no room for, put into files of the caller's: memory does not grow with it. Borrowed until the run is freed. */
struct warder_spill {
	size_t size; /* sizeof(struct warder_spill) */
	/* Two regular files: everything that comes on standard output and error is written there as well, from its first byte on and
	 * also beyond the limits of the result. -1: not of that one. NULL: of neither. */
	const int *fds;
	uint64_t bytes_max; /* of each; more is left out */
	/* 1: of a call with collect, files that are larger than inline_bytes are held open: warder_result_held(). Not with a directory. */
	int hold_files;
};

struct warder_command {
	size_t size; /* sizeof(struct warder_command) */
	/* NULL-terminated; argv[0] a path inside, or a name searched in PATH inside. NULL or empty: entrypoint and command of the
	 * policy's image. */
	char *const *argv;
	/* NULL-terminated "NAME=value" on top of the policy's, or NULL. No ceiling is asked: the caller vouches for it. */
	char *const *environment;
	const char *input; /* standard input; borrowed until the run is freed. NULL: end of file at once */
	size_t input_len;
	int input_fd; /* > 0: standard input is read from this descriptor instead; borrowed */
	/* Called from warder_wait() with each chunk of output within the limits; NULL: kept in the result. A non-zero
	 * return ends the run. It must not block: meanwhile nothing else is done for the run, and its wall time is kept by
	 * the jail's init alone. */
	int (*on_output)(void *context, enum warder_stream stream, const char *bytes, size_t len);
	void *context;
	/* Instead of on_output: two descriptors that standard output and error are passed on to within the limits, as fast as
	 * they take it. A slow reader holds up the program, not the supervision; one that goes away ends the run. Borrowed
	 * until the run is freed. NULL: not used. */
	const int *output_fds;
	/* 1: with filesystem.workspace "overlay:<dir>" the result tells what the run would have changed in the directory. */
	int changes;
	/* The same, and it is kept in this directory, which is made, for warder_changes_open(). NULL: it is not. */
	const char *changes_directory;
	/* > 0: with filesystem.view "image:<name>", an empty directory into which what was written over the image is copied, in
	 * overlayfs' own form: a layer for another image. Borrowed until the run is freed. */
	int layer_fd;
	const struct warder_spill *spill; /* or NULL */
	const struct warder_file
	    *files; /* below the program's own /tmp; borrowed until the run is freed. NULL: none */
	size_t file_count;
};

/* Start. 0: the program's exec was entered, every control read back from the kernel. -1: nothing is left. */
WARDER_API int warder_launch(struct warder_template *tmpl, const struct warder_command *command,
			     struct warder_run **ret, struct warder_error *err);
/* Feed, drain and supervise until everything the program started is gone. Once per run: a second call fails. The result
 * is owned by the caller. A program's own failure is a result, not an error. -1: something of the run could not be removed
 * from the host; the text says what, and there is no result. */
WARDER_API int warder_wait(struct warder_run *run, struct warder_result **ret, struct warder_error *err);
/* End the run from any thread or signal handler. NULL: nothing. */
WARDER_API void warder_cancel(struct warder_run *run);
/* Ends the run if it still lives. While warder_wait() is at work on it, in another thread or in the on_output that calls
 * this, the run is cancelled, and gone when warder_wait() returns its result. */
WARDER_API void warder_run_free(struct warder_run *run);

/* ---- sessions ---- */
/*
 * A jail that stays: files and background processes are there for the next execution, under the limits that hold over all of them. A
 * session has a name, one for each user, and a process of its own that keeps it (`warder session keeper`): it is there also when who
 * started it has ended. Any number of processes and threads may start it and execute in it at once.
 */
struct warder_session;

struct warder_session_options {
	size_t size;                        /* sizeof(struct warder_session_options) */
	const struct warder_policy *policy; /* what holds in it; each execution may have this much, or less */
	const char *const *setup;           /* commands for sh, run in it before anybody else; NULL: none */
	size_t setup_count;
	uint64_t lifetime_us;                /* then it ends by itself; 0: 8 hours; at most 30 days */
	uint64_t idle_us;                    /* and when nobody has executed for so long; 0: 30 minutes */
	const struct warder_policy *ceiling; /* as of warder_options, these four */
	const char *cgroup_parent;
	const char *backend;
	const char *backends;
	const char *program; /* the command line tool; NULL: /usr/local/bin/warder or /usr/bin/warder */
};

/* Start it, or find it running: of any number of starts at once one makes it. 0 when the set-up has succeeded. -1: CONFLICT if it runs
 * under another policy or with another set-up; EXECUTION_FAILED if a set-up command failed, and then nothing is left. */
WARDER_API int warder_session_start(const char *name, const struct warder_session_options *options,
				    struct warder_session **ret, struct warder_error *err);
/* Find it running. -1: NOT_FOUND. */
WARDER_API int warder_session_open(const char *name, struct warder_session **ret, struct warder_error *err);
/* 1: it runs; 0: it does not; -1 with *err. */
WARDER_API int warder_session_is_running(const char *name, struct warder_error *err);

enum warder_session_flags {
	WARDER_SESSION_BACKGROUND = 1, /* what a program leaves running stays, until the session ends */
};

/* A template for executions in it: warder_launch(), warder_wait(), as many as wanted, at once as well. The session is in use until
 * the template is freed. policy: NULL for the session's, or one that only narrows limits, output, processes.spawn, system calls; its
 * environment and working directory are free. flags: enum warder_session_flags. */
WARDER_API int warder_session_prepare(struct warder_session *session, const struct warder_policy *policy,
				      unsigned int flags, struct warder_template **ret,
				      struct warder_error *err);
/* How it was when it was found: name, id (of this session alone), policy, setup, lifetimeUs, idleTimeoutUs, keeperPid, started, ageUs,
 * executions, receipt; heap, the caller frees it. NULL on want of memory. */
WARDER_API char *warder_session_json(const struct warder_session *session);
/* The running ones, as an array of such objects, and of those that are being set up their name and settingUp; heap. NULL with *err. */
WARDER_API char *warder_session_list(struct warder_error *err);
/* End it: everything in it is killed and gone when this returns. -1: NOT_FOUND if it does not run. */
WARDER_API int warder_session_stop(const char *name, struct warder_error *err);
/* The same, and start it again as it was started, set-up included; its files are new. program: as above. -1, and it goes on, where it could
 * not be started again; -1, CONFLICT, and another that has its name goes on, where it ended meanwhile. */
WARDER_API int warder_session_restart(const char *name, const char *program, struct warder_session **ret,
				      struct warder_error *err);
/* The session stays. */
WARDER_API void warder_session_free(struct warder_session *session);

/* ---- changes ---- */
/* What runs would have changed in a directory: kept, shown, carried out or dropped. */
struct warder_changes;

/* A set that a run has kept. It is the caller's, and nobody else works on it meanwhile. -1: NOT_FOUND, CONFLICT (in use), ... */
WARDER_API int warder_changes_open(const char *directory, struct warder_changes **ret,
				   struct warder_error *err);
/* {"directory": ..., "changes": [{path, change, type, mode, size, sha256, target, replaced, ...}], "fault": null or why it is not
 * whole}; the caller frees it with free(). */
WARDER_API char *warder_changes_json(const struct warder_changes *changes);

struct warder_selection {
	size_t size; /* sizeof(struct warder_selection) */
	/* As of struct warder_collect, or paths, of which directories stand for what is in them. NULL: everything. */
	const char *const *patterns;
	size_t pattern_count;
	int force; /* 1: also what changed on the host meanwhile */
};

/* Carry out what is selected (NULL: everything) on the original directory: each file by itself whole or not at all. Nothing is done
 * if something in it is not as it was when the run ended: CONFLICT naming it. *ret_count (or NULL): how many were carried out, also
 * where it fails. The set stays as it is. */
WARDER_API int warder_changes_commit(struct warder_changes *changes, const struct warder_selection *selection,
				     size_t *ret_count, struct warder_error *err);
/* Remove the set from the disk. It is still to be freed. */
WARDER_API int warder_changes_drop(struct warder_changes *changes, struct warder_error *err);
WARDER_API void warder_changes_free(struct warder_changes *changes);

/* ---- code ---- */
struct warder_program;

enum warder_code_flags {
	WARDER_CODE_CHECK_ONLY = 1, /* stop before anything of the code's own is executed */
	WARDER_CODE_NO_CACHE = 2,   /* neither find nor keep what is built */
	/* Rust: the source has `fn run(input: Value) -> Value` and no main; the input is the call's json, what it returns the result */
	WARDER_CODE_FUNCTION = 4,
	WARDER_CODE_SCAN = 8, /* look for what is dangerous: advice in the result, nothing that protects */
	WARDER_CODE_SCAN_DENY = 16, /* and refuse (REJECTED) what it advises against */
};

struct warder_code {
	size_t size; /* sizeof(struct warder_code) */
	const char *
	    language; /* a name or an alias ("python", "c++"); NULL: found out, and refused where that is not certain */
	const char *file_name; /* of the source, to find the language out by; or NULL */
	const char
	    *source; /* text; for "wasm" a module. Not needed after warder_build(), nor are the files. */
	size_t source_len;
	const struct warder_file *files; /* in the working directory of every stage */
	size_t file_count;
	unsigned int flags;   /* enum warder_code_flags */
	const char *cache;    /* directory of built programs; NULL: the user's own */
	uint64_t cache_bytes; /* at most so much is kept there; 0: 512 MiB */
	const char
	    *languages; /* document of more languages; NULL: /etc/warder/languages.json if there is one */
	/* Called when a stage of the build has started, and with run NULL when it has ended, for warder_cancel(). */
	void (*on_stage)(void *context, const char *stage, struct warder_run *run);
	void *context;
	const char *scan_rules; /* document of the scan's lists; NULL: those that are built in */
	const char *
	    scan_audit; /* file to which each decision of the scan is appended, a JSON object a line; or NULL */
	/* Asked every 10 ms while somebody else builds the same, so that there is no run to cancel; non-zero: warder_build() fails
	 * (EXECUTION_FAILED). Or NULL. */
	int (*should_stop)(void *context);
};

/*
 * Make a piece of code ready to run: find its language, check and build it, each in a jail of its own under the same policy
 * (without network, workspace, paths and environment, and with new processes, which compilers are made of). A template with
 * options->single_use has one wall time for everything, the run included; else each run has the whole.
 * 0 with *ret, also if the code does not compile: see warder_program_failed(). -1 with *err: UNSUPPORTED_LANGUAGE,
 * UNSUPPORTED_POLICY, INVALID_REQUEST, ...; options may be NULL.
 */
WARDER_API int warder_build(const struct warder_policy *policy, const struct warder_options *options,
			    const struct warder_code *code, struct warder_program **ret,
			    struct warder_error *err);
/* 1: a stage of the build failed, and there is nothing to run. */
WARDER_API int warder_program_failed(const struct warder_program *program);
/* The language's canonical name. */
WARDER_API const char *warder_program_language(const struct warder_program *program);
/* Take the result of the build (its last stage: output, diagnostics, status "success", "compileFailed", "timeout", ...). NULL: no
 * stage ran, because none is needed or the cache had it; or it was taken before. The caller's to free. */
WARDER_API struct warder_result *warder_program_result(struct warder_program *program);
/* Runs of it may still live: the last one that is freed takes it along. */
WARDER_API void warder_program_free(struct warder_program *program);

/* What of the working directory is taken when the run has ended. */
struct warder_collect {
	const char *const *
	    patterns; /* "*.csv", "out/" and two stars; NULL: every file that is not hidden, and new or changed */
	size_t pattern_count;
	size_t files_max;     /* 0: 100 */
	uint64_t file_bytes;  /* of one; 0: 4 MiB */
	uint64_t total_bytes; /* of all; 0: 64 MiB */
	uint64_t
	    inline_bytes; /* larger ones are saved to `directory`, or only told of; 0: 64 KiB; UINT64_MAX: all are saved */
	const char *directory; /* or NULL. What is there already is not written over. */
};

struct warder_call {
	size_t size;              /* sizeof(struct warder_call) */
	char *const *argv;        /* arguments behind the program; NULL: none */
	char *const *environment; /* as in struct warder_command */
	const char *input;        /* as there */
	size_t input_len;
	int input_fd;
	/* A JSON value that the code finds on descriptor 4, at the path in $WARDER_INPUT; NULL: none. Copied. */
	const char *json;
	size_t json_len;
	uint64_t result_bytes; /* of the JSON that it writes to descriptor 3 ($WARDER_RESULT); 0: 1 MiB */
	int last_line; /* 1: what is not written there is looked for in the last line of standard output */
	int (*on_output)(void *context, enum warder_stream stream, const char *bytes, size_t len);
	void *context;
	const int *output_fds;
	const struct warder_collect *collect; /* NULL: no file is taken; copied */
	const struct warder_spill *spill;     /* or NULL */
};

/* Run it; goes on as warder_launch() does, with warder_wait(). Any number of times, also at once from several threads, unless it
 * was built with options->single_use. */
WARDER_API int warder_call(struct warder_program *program, const struct warder_call *call,
			   struct warder_run **ret, struct warder_error *err);
/* Structured output of the code as JSON text, or NULL. */
WARDER_API const char *warder_result_value(const struct warder_result *result);

/* ---- verdicts ---- */
/* Whether an output is the expected one: "exact", "lines" (but for blanks at the ends of lines and empty lines at the end),
 * "tokens" (words, whatever blanks are between them), "float:1e-6" (tokens, of which numbers may differ by so much, or by so much
 * of the expected one) or "none" (always). Linear in both. 1 or 0; -1 with *err: there is no such way. */
WARDER_API int warder_compare(const char *how, const char *expected, size_t expected_len, const char *got,
			      size_t got_len, struct warder_error *err);
/* What a judge says of a run whose output was so found the `same`, or not: "accepted", "wrongAnswer", "timeLimit",
 * "memoryLimit", "outputLimit", "runtimeError", "systemError" or "skipped" (cancelled). Never NULL. */
WARDER_API const char *warder_result_verdict(const struct warder_result *result, int same);

/* ---- result ---- */
/* What to do about it: "success", "failed", "compileFailed", "timeout" or "killed". */
WARDER_API const char *warder_result_status(const struct warder_result *result);
/* What happened: "exit", "signal", "wallTime", "cpuTime", "memory", "pids", "output", "disk", "syscall",
 * "network", "cancelled", "supervisor" or "host"; of a guest module also "trap". */
WARDER_API const char *warder_result_cause(const struct warder_result *result);
/* Who ran it ("local", ...), and how it was kept apart ("namespaceJail", "containerEphemeral", "none", ...). */
WARDER_API const char *warder_result_backend(const struct warder_result *result);
WARDER_API const char *warder_result_isolation(const struct warder_result *result);
/* With the backend "auto": those that it did not take, and why ("crun: ...; local: ..."). NULL: it took the first, or one was named. */
WARDER_API const char *warder_result_passed_over(const struct warder_result *result);
/* -1: it did not exit by itself. */
WARDER_API int warder_result_exit_code(const struct warder_result *result);
/* The signal that ended it, 0: none. */
WARDER_API int warder_result_signal(const struct warder_result *result);
/* Kept bytes of a stream (NUL-terminated after *ret_len; none with on_output) and how many the program wrote. */
WARDER_API const char *warder_result_output(const struct warder_result *result, enum warder_stream stream,
					    size_t *ret_len, uint64_t *ret_total);
/* How many bytes of a stream went to the file of warder_spill, from the first one on; *ret_errno (or NULL): of the write that failed,
 * after which nothing more went there, or 0. */
WARDER_API uint64_t warder_result_spilled(const struct warder_result *result, enum warder_stream stream,
					  int *ret_errno);
/* A file that is held open, n from 0 on: its descriptor, for reading from its beginning, which is closed with the result. *ret_path:
 * relative to the working directory. -1: there are not so many. */
WARDER_API int warder_result_held(const struct warder_result *result, size_t n, const char **ret_path,
				  uint64_t *ret_size);
/* From the program's start to its own end; what it left running is ended after that. */
WARDER_API uint64_t warder_result_wall_us(const struct warder_result *result);
/* CPU time of it and everything that it started. */
WARDER_API uint64_t warder_result_cpu_us(const struct warder_result *result);
/* In bytes; UINT64_MAX: the kernel does not tell. */
WARDER_API uint64_t warder_result_memory_peak(const struct warder_result *result);
/* The whole result, receipt included, as one JSON object; the caller frees it with free(). */
WARDER_API char *warder_result_json(const struct warder_result *result);
WARDER_API void warder_result_free(struct warder_result *result);

#ifdef __cplusplus
}
#endif

#endif
