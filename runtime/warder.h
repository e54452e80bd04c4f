/*
 * libwarder: run an untrusted program under a policy. Warder enforces every required restriction, or starts
 * nothing, and reports what it enforced.
 *
 *   struct warder_error err;
 *   struct warder_policy *policy;      warder_policy_preset("strict", &policy, &err)
 *   struct warder_template *template;  warder_prepare(policy, NULL, &template, &err)     once per policy
 *   struct warder_run *run;            warder_launch(template, &command, &run, &err)     many times
 *   struct warder_result *result;      warder_wait(run, &result, &err)
 *
 * Returns: a function with a parameter `err` fills *err if it fails. An int function returns 0 if it succeeds, and
 * -1 if it fails. A function that returns a pointer returns NULL if it fails. The comment of a function names other
 * values. err must not be NULL. A `const char *` that is returned belongs to the object and lives as long as the
 * object. A `char *` that is returned belongs to the caller, who frees it with free(). Every _free accepts NULL.
 * Errors: where a comment names a kind of error, such as CONFLICT, err->code is WARDER_ERROR_CONFLICT.
 * Members: where the comment of a member has "NULL: ..." or "0: ...", the text says what this value means.
 * Threads: several threads may use one policy or template at the same time, but not while one of them changes the
 * policy. A run belongs to one thread at a time, except for warder_cancel(), warder_stop(), warder_resize(),
 * warder_run_input_ready(), warder_run_answer() and warder_run_free().
 * Processes: the library installs no signal handler. Its global state is a list of what its templates have found out
 * about cgroups, protected by a lock, and a few atomic counters of jails and cgroups. The first process of a jail, its
 * init, is a child of the calling process, and raises SIGCHLD when it ends. An application that waits for any child
 * may reap this init. This does no harm.
 * Helpers: a jailed program can call functions of the host (struct warder_function). The member
 * `program` of such a function may name a program of the host. For each call of that function, the library forks the
 * application. The forked process, called the helper, starts the program, which answers the call. The helper is a child
 * of the application, but raises no SIGCHLD when it ends. A wait for any child does not reap the helper, unless the
 * wait has the option __WALL or __WCLONE. As long as it lives, it shares the memory of the application copy-on-write:
 * the kernel copies each page that the application writes in this time.
 * Fork: templates and runs belong to the process that made them. In a forked child, launch and wait
 * fail, and _free does nothing: the child keeps the memory and the descriptors until it ends.
 * Time: the wall time is enforced even if warder_wait() or warder_run_dispatch() is called late, or if on_output does
 * not return. In these cases the jail's init ends the run, at most two seconds after the wall time is over.
 * Wrong use: NULL where an object is required, and a struct whose member `size` is not set, are errors
 * (INVALID_REQUEST). So is a second wait for a run, also in another thread at the same time (CONFLICT). These errors
 * harm nothing. Do not use an object after its _free.
 */
#ifndef WARDER_H
#define WARDER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WARDER_API __attribute__((visibility("default")))

/* The kinds of errors. Their numbers never change; warder_error_kind_name() returns their names. */
enum warder_error_kind {
	WARDER_ERROR_NONE = 0,
	WARDER_ERROR_UNSUPPORTED_POLICY, /* this host cannot enforce a required field; err->text names each such field */
	WARDER_ERROR_UNSUPPORTED_LANGUAGE,
	WARDER_ERROR_INVALID_REQUEST,
	WARDER_ERROR_COMPILE_FAILED,   /* the code does not compile, so there is nothing to run */
	WARDER_ERROR_TIMEOUT,          /* another process builds the same code, and did not finish in time */
	WARDER_ERROR_EXECUTION_FAILED, /* not executable; a set-up command failed; a build was cancelled */
	/* refused by the ceiling (a policy of the operator: the most that another policy may ask for), by the
	 * operator's settings, or by a scan of code */
	WARDER_ERROR_REJECTED,
	WARDER_ERROR_NOT_FOUND,   /* no such program in the jail; no such session, execution or context */
	WARDER_ERROR_CONFLICT,    /* not now: the object is in use, has ended, or differs from the request */
	WARDER_ERROR_UNAVAILABLE, /* this host lacks a feature or a program, or is busy, or does not answer */
	WARDER_ERROR_INTERNAL,
};

struct warder_error {
	uint32_t code;     /* enum warder_error_kind */
	int32_t sys_errno; /* errno of the call that failed, or 0 */
	char step[32];     /* launch step that failed ("cgroup", "root", ...), or "" */
	char field[72];    /* policy field, flag or file the error is about, or "" */
	char text[400];    /* one line for people, without a newline: what happened and what to do */
};

/* The version, such as "0.1.0". */
WARDER_API const char *warder_version(void);
/* The name of a kind, such as "unsupportedPolicy"; never NULL. */
WARDER_API const char *warder_error_kind_name(uint32_t code);

/* ---- policy ---- */
struct warder_policy;

/* Make a policy from a preset ("strict", "agent", ...). The caller frees *ret with warder_policy_free(). For
 * an unknown name the call fails (INVALID_REQUEST), and the text lists the presets. */
WARDER_API int warder_policy_preset(const char *name, struct warder_policy **ret, struct warder_error *err);
/* Decode a policy document of `len` bytes. `origin` is its name in messages. The caller frees *ret with
 * warder_policy_free(). */
WARDER_API int warder_policy_parse(const char *json, size_t len, const char *origin,
				   struct warder_policy **ret, struct warder_error *err);
/* Set one field. `path` is its path: "limits.memory", "network.mode", "filesystem.workspace",
 * "environment.set.NAME", "filesystem.paths.readOnly" (appends a row), ... `value` is written as in a policy
 * document or on the command line: "256MiB", "none", "readWrite:/srv/job". */
WARDER_API int warder_policy_set(struct warder_policy *policy, const char *path, const char *value,
				 struct warder_error *err);
/* Get environment variables for the program from a function of the application, `provide`. Warder
 * calls it once, with `context`. The function returns rows "NAME=value", NULL-terminated. The rows belong to
 * the function, and must be valid until warder_policy_provide() returns. If the function fails, it returns NULL with
 * *err filled. If two rows have the same name, the later one counts. A row sets a variable in the same way as
 * "environment.set.NAME", under three conditions:
 *   the policy grants the name (environment.names has it, or environment.mode is "host"),
 *   the policy does not set the variable, and
 *   the environment of this process does not have the variable.
 * The call returns
 *   0   every row was taken, or was left out because the policy or this process already has the variable
 *   1   the policy can be used, and *err holds a warning: `provide` failed, or a row was not granted or not valid
 *   -1  INVALID_REQUEST, or INTERNAL if memory is missing */
WARDER_API int warder_policy_provide(struct warder_policy *policy,
				     char *const *(*provide)(void *context, struct warder_error *err),
				     void *context, struct warder_error *err);
/* Mark a field as required (1) or preferred (0). A part of a document, such as "limits", stands for all of its
 * fields. */
WARDER_API int warder_policy_require(struct warder_policy *policy, const char *path, int required,
				     struct warder_error *err);
/* Return the policy as JSON in its canonical form, or NULL if memory is missing. The caller frees the text
 * with free(). */
WARDER_API char *warder_policy_json(const struct warder_policy *policy);
/* Compare a policy with a ceiling, field by field. A ceiling is itself a policy: the most that another policy may
 * ask for. Warder never lowers a policy: it refuses one that asks for too much, and this function shows which fields
 * are too wide. It borrows `policy` and `ceiling` and does not change them. If `policy` is NULL, it only shows the
 * ceiling. If `ceiling` is NULL, there is none, and Warder does not look for one in /etc/warder. Then every field is
 * granted, with two exceptions: the network mode "learn" and rows of "network" with `inject` need a ceiling that allows
 * them. *ret is a JSON object in UTF-8 with a final NUL. The caller frees it with free(). Its members are
 *   granted  true if the whole policy is granted, else false; null without a policy
 *   most     the ceiling as a policy document; null without a ceiling
 *   fields   an array with an object for each field, in the order in which a refusal lists the fields
 * The object of a field has the members
 *   field       the path of the field, such as "limits.memory"
 *   grant       null without a policy; else one of these:
 *                 "granted"  the ceiling grants the value
 *                 "lowered"  the ceiling would grant only a narrower value. Despite this name, Warder lowers
 *                            nothing: it refuses the policy
 *                 "refused"  the ceiling grants no value of this field
 *   asked       the value of the policy, with units as in a document ("256MiB", "30s", "0.5"); null without a policy
 *   most        the most that the ceiling grants, written in the same way; null without a ceiling
 *   violations  an array of {field, message}, one for each value, or row of a list, that exceeds the ceiling
 * The call fails with INVALID_REQUEST if `ret` is NULL, and with INTERNAL if memory is missing. */
WARDER_API int warder_policy_granted(const struct warder_policy *policy, const struct warder_policy *ceiling,
				     char **ret, struct warder_error *err);
/* Free a policy. Templates made from it stay valid. */
WARDER_API void warder_policy_free(struct warder_policy *policy);

/* ---- template ---- */
struct warder_template;

struct warder_options {
	size_t size;                         /* sizeof(struct warder_options) */
	const struct warder_policy *ceiling; /* the most that a policy may ask for; NULL: no ceiling */
	/* the cgroup in which jails are made, as a path below the mount point of each cgroup hierarchy; NULL: on v1
	 * the top of each hierarchy, on v2 the cgroup of the caller */
	const char *cgroup_parent;
	int single_use; /* 1: for one launch only, which is a little cheaper */
	/* 1: with filesystem.view "image:<name>", the program is user 0 of the image, as the build of an image
	 * requires. It still has no capability. */
	int builds_image;
	/* The backend: a name of warder_backend_name(), or "auto" for the first one, in the operator's order, that
	 * can enforce the whole policy. NULL: "local". */
	const char *backend;
	/* path of the operator's settings of backends; NULL: /etc/warder/backends.json, if it exists */
	const char *backends;
};

/* Match the policy with this host, and prepare everything that can be prepared. Nothing is started. `options`
 * may be NULL. Warder uses neither the policy nor the options after the call. The caller frees *ret with
 * warder_template_free(). The call fails with
 *   UNSUPPORTED_POLICY  the host cannot enforce a required field; the text names every such field
 *   REJECTED            the policy exceeds the ceiling
 *   INVALID_REQUEST     the policy or the options are wrong */
WARDER_API int warder_prepare(const struct warder_policy *policy, const struct warder_options *options,
			      struct warder_template **ret, struct warder_error *err);
/* Free a template. It cannot launch any more runs. The runs that it has launched go on; the memory of the template is
 * released with the last of them. */
WARDER_API void warder_template_free(struct warder_template *tmpl);

/* ---- backends ---- */
/* Name of backend i ("local", "crun", ...); NULL past the end. */
WARDER_API const char *warder_backend_name(size_t i);
/* Describe a backend: isolation, availability, and its capabilities on this host, as one JSON object, which the
 * caller frees with free(). The languages listed are those that a program under `policy` would find. The object
 * `abilities` has a boolean for each of structuredOutput, processExecution, persistentWorkspace, interactiveSessions,
 * stateful, longRunning, streaming, readOnlyMount and maxDiskBytes; warder(1) explains them. Of the
 * options, only the members `cgroup_parent` and `backends` are used. `options` may be NULL. */
WARDER_API int warder_backend_json(const char *name, const struct warder_policy *policy,
				   const struct warder_options *options, char **ret,
				   struct warder_error *err);
/* Describe a backend in a paragraph of text, for the prompt of a language model that writes code: its languages and
 * limits. The caller frees *ret with free(). */
WARDER_API int warder_backend_for_model(const char *name, const struct warder_policy *policy,
					const struct warder_options *options, char **ret,
					struct warder_error *err);
/* Some providers of language models run code themselves, as a tool of the model. This call adds the tool to
 * a request to such a model. `request` is JSON of `len` bytes; options->backend is "builtin". `model` (may be NULL) is
 * used if the request names no model. *ret is the new request; the caller frees it with free(). The call
 * fails with
 *   REJECTED            the operator has not enabled the backend, or the ceiling refuses
 *   UNSUPPORTED_POLICY  a field is required, and the provider enforces no field: every field must be preferred
 *   UNAVAILABLE         Warder knows no such tool of this model
 *   INVALID_REQUEST     the request or the options are wrong */
WARDER_API int warder_backend_declare(const struct warder_policy *policy,
				      const struct warder_options *options, const char *model,
				      const char *request, size_t len, char **ret, struct warder_error *err);

/* ---- run ---- */
struct warder_run;
struct warder_result;

enum warder_stream { WARDER_STDOUT, WARDER_STDERR };

/* A file that Warder makes before the program starts. */
struct warder_file {
	/* A relative path, such as "data/a.csv". In struct warder_code it begins at the program's working directory,
	 * in struct warder_command at the program's /tmp. No link is followed, and the path may not leave this
	 * directory. */
	const char *path;
	const char *bytes; /* with warder_launch(), NULL makes a directory */
	size_t len;
	unsigned int mode; /* permission bits; 0: 0644 */
};

/* Files for the output of a run. The result keeps only a part of the output; Warder also writes the output to these
 * files, which the caller has opened. They are borrowed until the run is freed. */
struct warder_spill {
	size_t size; /* sizeof(struct warder_spill) */
	/* Two descriptors of regular files, for standard output and error. Each stream is written to its file from
	 * the first byte on, also beyond the limits of the result. An element of -1: no file for that stream. NULL:
	 * no file for either stream. */
	const int *fds;
	/* At most this many bytes are written to each file; the rest is left out. 0: no byte is written. UINT64_MAX:
	 * no limit. */
	uint64_t bytes_max;
	/* 1: the result keeps an open descriptor for each collected file that is larger than inline_bytes of struct
	 * warder_collect; warder_result_held() returns it. Set this member only for warder_call(), if `collect` of
	 * struct warder_call is set and `directory` of struct warder_collect is NULL. */
	int hold_files;
};

/* A function of the host that the jailed program may call. The policy must have its name in `functions`. The jailed
 * program calls it by one line on descriptor 5, such as {"id": 1, "name": "lookup", "arguments": {"key": "a"}}, and
 * reads one line from there: {"id": 1, "result": ...}, or {"id": 1, "error": {"kind", "message"}}. A call has at most
 * 64 KiB, a result at most 1 MiB. At most four calls are open at a time; further ones wait. A call that has no answer
 * after 30 seconds gets an error. The result of the run and its receipt have the number of calls. */
struct warder_function {
	const char *name;
	/* A program of this host that is started once for each call, outside of the jail: a path, or a name that is
	 * searched in PATH. It has the rights, the variables and the working directory of the application, not those of
	 * the jailed program. It gets the arguments of the call on its standard input, as JSON; its standard output is
	 * the result, as JSON. It is killed after 30 seconds, and when the run ends. NULL: on_call answers. */
	const char *program;
};

struct warder_command {
	size_t size; /* sizeof(struct warder_command) */
	/* NULL-terminated. argv[0] is a path in the jail, or a name that is searched in the jail's PATH. NULL
	 * or empty: entrypoint and command of the policy's image. */
	char *const *argv;
	/* NULL-terminated "NAME=value", in addition to the policy's variables, or NULL. They may exceed every
	 * ceiling: the application is responsible for them. */
	char *const *environment;
	const char *input; /* standard input; borrowed until the run is freed. NULL: empty */
	size_t input_len;
	/* > 0: read standard input from this descriptor instead; borrowed until the run is freed. 0: not used; to
	 * pass descriptor 0, duplicate it first. From a pipe, a regular file or a stream socket, Warder consumes
	 * exactly the bytes that the program reads; the rest is there for the next reader. From anything else, such
	 * as a terminal, it reads whatever arrives. */
	int input_fd;
	/* warder_wait(), warder_wait_for() and warder_run_dispatch() call this with each chunk of output, up to the
	 * policy's limits of output. NULL: the result keeps the output. A non-zero return ends the run. The
	 * function must not block: while it runs, nothing else is done for the run, and only the jail's init
	 * enforces the wall time. */
	int (*on_output)(void *context, enum warder_stream stream, const char *bytes, size_t len);
	void *context;
	/* Instead of on_output: two descriptors, open for writing, to which standard output and error are passed
	 * on, as fast as they accept it. The result keeps none of this output, and the policy's limits of output do
	 * not apply to it. A slow reader delays the program, not the supervision; a closed reader ends the run.
	 * After the end of the program, Warder drops the remaining output when the reader has taken nothing for 2
	 * seconds, or when the wall time is over; the result has the number of dropped bytes. If both descriptors
	 * refer to the same file, the program's standard output and error become one stream, in the order of its
	 * writes; all bytes count as standard output. Borrowed until the run is freed. NULL: not used. */
	const int *output_fds;
	/* 1: with filesystem.workspace "overlay:<dir>", the result lists the changes that the run made in the
	 * directory. */
	int changes;
	/* As `changes`, and the changes are also stored in this directory, for warder_changes_open(). NULL:
	 * not stored. */
	const char *changes_directory;
	/* > 0: a descriptor of an empty directory; only with filesystem.view "image:<name>". The files that the run
	 * made or changed are copied there, in the form of overlayfs, as a layer for another image. Borrowed
	 * until the run is freed. */
	int layer_fd;
	const struct warder_spill *spill; /* or NULL */
	const struct warder_file
	    *files; /* files below the program's own /tmp; borrowed until the run is freed. NULL: none */
	size_t file_count;
	/* with output_fds: a stream with more bytes than this ends the run, cause "output"; 0: no limit */
	uint64_t output_max;
	/* Called with `context` about ten times a second while the jail is set up, which takes some milliseconds on
	 * a healthy host. If it returns non-zero, the launch is cancelled (UNAVAILABLE). With this function, the launch
	 * has no time limit of its own. NULL: Warder cancels the launch after 30 s, or when one of its processes has
	 * hung in the kernel for 4 s (8 s while it makes a network namespace). */
	int (*should_stop)(void *context);
	/* > 0: a terminal, open for reading; borrowed until the run is freed. The program gets a terminal of the
	 * jail as its three streams and its controlling terminal, with the settings and the size of terminal_fd.
	 * Input from terminal_fd goes to the program's terminal byte by byte: put terminal_fd into raw mode between
	 * warder_launch() and warder_wait(), and back afterwards. The program's output is handled as standard
	 * output. The policy must have devices.terminals of at least 1. A terminal is refused in three cases:
	 * if input or input_fd is set; in a session with WARDER_SESSION_BACKGROUND; and by the backend "process",
	 * which runs programs without a jail. */
	int terminal_fd;
	/* 1: the result has no receipt (the list of all restrictions, with the values read back from the kernel),
	 * so a launch is a little cheaper. Every restriction that the kernel shows is read back and compared all the
	 * same, and a difference ends the launch. */
	int no_receipt;
	/* 1: the program may report its progress on descriptor 5, one JSON value a line. $WARDER_PROGRESS holds the
	 * path of this descriptor, /dev/fd/5. Lines of more than 4 KiB, more than ten lines a second, and lines that
	 * are not JSON are dropped and counted. The result keeps the newest 64 KiB of lines. */
	int progress;
	/* With `progress`: called with `context` and each line, without its newline, from warder_wait() and
	 * warder_run_dispatch(). It must not block. NULL: not called. */
	void (*on_progress)(void *context, const char *line);
	/* Instead of input and input_fd: warder_wait() and warder_run_dispatch() call it with `context` when the
	 * program's input has room. The function writes at most `size` bytes (64 KiB) to `bytes`, and returns their
	 * number. 0: it has no bytes now, and is called again after warder_run_input_ready(). -1: the input ends. It
	 * must not block. It is not called any more when the program has closed its input. NULL: not used. */
	long (*on_input)(void *context, char *bytes, size_t size);
	/* Functions of the host that the program may call on descriptor 5, whose number is in $WARDER_FUNCTIONS: see
	 * struct warder_function. NULL: none. Not with `progress`. The rows need to be valid only until warder_launch()
	 * returns. */
	const struct warder_function *functions;
	size_t function_count;
	/* Called with `context` for each call of a function without a program, from warder_wait() and
	 * warder_run_dispatch(). `arguments` is JSON text. It must not block: the answer is given by
	 * warder_run_answer(), from this function or later, within 30 seconds. */
	void (*on_call)(void *context, uint64_t call, const char *name, const char *arguments);
};

/* Start the program. 0 means that the program runs, and that every restriction that the kernel shows was read back.
 * The caller frees *ret with warder_run_free(). If the call fails, it leaves nothing behind. NOT_FOUND means
 * that the jail does not have the program, and EXECUTION_FAILED that it cannot be executed. */
WARDER_API int warder_launch(struct warder_template *tmpl, const struct warder_command *command,
			     struct warder_run **ret, struct warder_error *err);
/* Pass input and output on, and supervise the run until the program ends. Then end every process that the
 * program left, and return when all are gone. A failure of the program is a result, not an error. The caller
 * frees *ret with warder_result_free(). If the call fails, *ret is not set. The call also fails if something could
 * not be removed from the host, and err->text names it. A second call for the same run fails (CONFLICT). */
WARDER_API int warder_wait(struct warder_run *run, struct warder_result **ret, struct warder_error *err);
/* Like warder_wait(), but wait for at most timeout_us microseconds. The call returns
 *   1   the run has ended, and *ret is its result
 *   0   the time is over, and the run goes on; wait again
 *   -1  as warder_wait(), or CONFLICT if another call waits for the run */
WARDER_API int warder_wait_for(struct warder_run *run, uint64_t timeout_us, struct warder_result **ret,
			       struct warder_error *err);

/* End the run. Any thread or signal handler may call this function. With NULL it has no effect. */
WARDER_API void warder_cancel(struct warder_run *run);
/* Send a signal to the program's process group. If the program has not ended after grace_us microseconds, or
 * if this function is called a second time, Warder ends the run as warder_cancel() does, with the cause
 * "cancelled". Any thread or signal handler may call this function. The descriptor of
 * warder_run_fd() becomes readable, and the call takes effect in warder_wait() or warder_run_dispatch(). With NULL it
 * has no effect. */
WARDER_API void warder_stop(struct warder_run *run, int signal, uint64_t grace_us);
/* Announce that on_input has bytes again, or wants to end the input. Warder then calls it again. Any thread
 * or signal handler may call this function. The descriptor of warder_run_fd() becomes readable. With NULL it has
 * no effect. */
WARDER_API void warder_run_input_ready(struct warder_run *run);
/* Answer a call that on_call got; `call` is its number. result: JSON text, NULL stands for null. error: NULL, or a
 * message for the program; then `result` is not used. Both are copied. If `result` is not JSON or has more than 1 MiB,
 * the program gets an error. Any thread may call this function, and on_call may, too. The descriptor of
 * warder_run_fd() becomes readable, and the answer takes effect in warder_wait() or warder_run_dispatch(). NOT_FOUND:
 * the program no longer waits for this answer. */
WARDER_API int warder_run_answer(struct warder_run *run, uint64_t call, const char *result, const char *error,
				 struct warder_error *err);
/* The port of the host for row `row` of network.publish (0 is the first row). Warder listens on it from the launch
 * to the end of the run. If the row has the host port 0, this is the port that Warder picked. Returns 0 if there is
 * no such row, and for a run in a session: the session publishes the ports. */
WARDER_API unsigned int warder_run_published(const struct warder_run *run, size_t row);
/* Give the program's terminal the new size of terminal_fd. Call this after SIGWINCH. Any thread or signal
 * handler may call this function. It takes effect in warder_wait() or warder_run_dispatch(). With NULL it has
 * no effect. */
WARDER_API void warder_resize(struct warder_run *run);
/* End the run if it still runs, and free it. A run that has not ended is killed, and this call waits until all of its
 * processes are gone. In two cases, warder_run_free() does not wait, and the run is freed later:
 *   1. A warder_wait() for this run is active, in another thread or because its on_output makes this call. Then the
 *      run is cancelled, and warder_wait() frees it.
 *   2. on_output makes this call during a dispatch. Then the dispatch waits for the end of the run, and frees it. */
WARDER_API void warder_run_free(struct warder_run *run);

/* ---- event loops ---- */
/*
 * One thread can drive many runs. Poll the descriptor of each run for reading (poll, epoll, libuv, ...). Each
 * time it is readable, call warder_run_dispatch() once. Stop when this returns 1 or -1. docs/example-epoll.c and
 * docs/example-uv.c are complete programs. Runs in a session (warder_session_prepare()) and runs from warder_call()
 * work in the same way.
 * Between two dispatches, Warder does not take the program's output, and does not enforce the limit of CPU time.
 * A dispatch does not wait, unless its on_output frees the run. The descriptor is readable when the program has written
 * output, when it takes input, and when it has ended, by itself or because Warder killed it. It is also readable when
 *   a time limit or the grace of warder_stop() is over,
 *   a slow reader of output_fds takes more, or
 *   the cgroup can be removed.
 * A dispatch is short, except in three cases: a callback takes long; a slow disk takes the output for struct
 * warder_spill; or the run has ended, and files are collected or changes are stored. warder_launch() takes some
 * milliseconds.
 * Threads: different threads may drive different runs. One run belongs to one thread at a time.
 */
/* Return the run's descriptor, for poll(2) and its relatives, level-triggered. It belongs to the run, and
 * stays the same until warder_run_free() closes it: remove it from the event loop before that. Do not read
 * from it. The call returns -1 with
 *   UNAVAILABLE  the process has no free descriptor; an event loop needs two descriptors for each run
 *   CONFLICT     another call waits for the run, or the result was taken */
WARDER_API int warder_run_fd(struct warder_run *run, struct warder_error *err);
/* Handle all that is ready, at most 64 KiB of each stream, and do not wait. The call may be made at any time,
 * also when the descriptor is not readable. It returns
 *   1   the run has ended; the caller frees *ret with warder_result_free()
 *   0   the run goes on, and *ret is not written
 *   -1  as warder_wait_for()
 * If on_output calls warder_run_free(), the dispatch kills the program, waits for its end, and returns 1 with
 * *ret. */
WARDER_API int warder_run_dispatch(struct warder_run *run, struct warder_result **ret,
				   struct warder_error *err);

/* ---- sessions ---- */
/*
 * A session is a jail that stays, and in which programs run one after the other or at the same time. Each of
 * these programs is an execution: those that a template of warder_session_prepare() starts, and those that
 * warder_execution_start() starts.
 * An execution finds the files of the earlier ones, and the processes that they left running with
 * WARDER_SESSION_BACKGROUND. The limits of the session hold for all of its processes together. A session has a name,
 * unique for each user, and a process that holds it: the keeper (`warder session keeper`). The session continues when
 * the process that started it has ended. Any number of processes and threads may start it and execute in it at the same
 * time.
 * These functions, and those about executions, contexts and files below, work with sessions of this machine. Only the
 * command line has sessions on other machines (`warder session start --backend remote:NAME`): warder_session_list() does
 * not list them, a call that opens or starts a session with the name of one fails (CONFLICT), and a start with a
 * backend "remote:NAME" is refused.
 */
struct warder_session;

/* The kinds of calls that a session accepts. Other calls fail (REJECTED). This guards against mistakes, not against
 * attacks: the same user can start another session. */
enum warder_session_capability {
	WARDER_SESSION_SHELL = 1,      /* programs, code, contexts */
	WARDER_SESSION_FILESYSTEM = 2, /* its files: read, write, list, patch, copy, list changes */
};

struct warder_session_options {
	size_t size; /* sizeof(struct warder_session_options) */
	const struct warder_policy
	    *policy; /* policy of the session; each execution may have this or a narrower one */
	/* shell commands that run once, when the session starts and before any execution; NULL: none */
	const char *const *setup;
	size_t setup_count;
	uint64_t lifetime_us; /* microseconds after which the session ends; 0: 8 hours; at most 30 days */
	uint64_t idle_us;     /* it also ends after this time without an execution; 0: 30 minutes */
	const struct warder_policy *ceiling; /* this and the next three: as in struct warder_options */
	const char *cgroup_parent;
	const char *backend;
	const char *backends;
	const char *program;       /* the command line tool; NULL: /usr/local/bin/warder or /usr/bin/warder */
	unsigned int capabilities; /* enum warder_session_capability, joined with |; 0: all */
};

/* Start a session, or find the running one. If several callers start it at the same time, one of them makes
 * it. 0 means that the set-up has succeeded. The caller frees *ret with warder_session_free(). The call fails
 * with CONFLICT if the session runs with another policy or set-up, and with EXECUTION_FAILED if a set-up
 * command failed; then nothing is left. */
WARDER_API int warder_session_start(const char *name, const struct warder_session_options *options,
				    struct warder_session **ret, struct warder_error *err);
/* Find a running session. The caller frees *ret with warder_session_free(). If no session has the
 * name, the call fails (NOT_FOUND). */
WARDER_API int warder_session_open(const char *name, struct warder_session **ret, struct warder_error *err);
/* Return 1 if the session runs, and 0 if it does not. If the call fails, it returns -1 with *err. */
WARDER_API int warder_session_is_running(const char *name, struct warder_error *err);

enum warder_session_flags {
	WARDER_SESSION_BACKGROUND =
	    1, /* processes that a program leaves running stay until the session ends */
};

/* Make a template whose launches run in the session. It can be launched any number of times, also at the same
 * time. `policy` is NULL for the session's policy. Another policy may have narrower limits, output,
 * processes.spawn or system calls, and another environment or working directory; everything else must be as
 * in the session's policy. `flags` takes enum warder_session_flags. The caller frees *ret with
 * warder_template_free(); until then the session does not count as idle. */
WARDER_API int warder_session_prepare(struct warder_session *session, const struct warder_policy *policy,
				      unsigned int flags, struct warder_template **ret,
				      struct warder_error *err);
/* Return the state that the session had when this handle was made, as a JSON object. Its members are name, id (unique),
 * policy, setup, lifetimeUs, idleTimeoutUs, capabilities, keeperPid, started, ageUs, remainingUs (of the
 * lifetime), paused, executions and receipt. The caller frees the text with free(). If memory is missing, the
 * call returns NULL. */
WARDER_API char *warder_session_json(const struct warder_session *session);
/* List the running sessions as a JSON array of objects like that of warder_session_json(). A session that is
 * still being set up has only name and settingUp. A session whose keeper does not answer within 8 s has only
 * name and error (a sentence for people). The caller frees the text with free(). If the call fails, it
 * returns NULL with *err. */
WARDER_API char *warder_session_list(struct warder_error *err);
/* End a session. When this call returns, all of the session's processes are gone. If the session does not
 * run, the call fails (NOT_FOUND). */
WARDER_API int warder_session_stop(const char *name, struct warder_error *err);
/* End a session and start it again with the same options and set-up, but without the files that programs made
 * in it. `program` is as in struct warder_session_options. The caller frees *ret with warder_session_free().
 * The call fails if the session could not be started again. Some reasons are noticed early: then the old session
 * goes on. CONFLICT: the session ended meanwhile, and another caller has started one with its name. */
WARDER_API int warder_session_restart(const char *name, const char *program, struct warder_session **ret,
				      struct warder_error *err);
/* warder_session_pause() freezes all processes of a session; warder_session_resume() lets them continue.
 * While a session is paused, wall times and the idle time stand still, its lifetime goes on, and nothing can
 * be started in it. Both calls fail with NOT_FOUND if the session does not run, and with UNAVAILABLE if the
 * host has no cgroup.freeze. Pause fails with CONFLICT if the session is paused already. It also fails if a run of
 * warder_launch() uses the session (its template is from warder_session_prepare()), because the wall time of such a run
 * cannot stand still. Resume fails with CONFLICT if the session is not paused. */
WARDER_API int warder_session_pause(const char *name, struct warder_error *err);
WARDER_API int warder_session_resume(const char *name, struct warder_error *err);
/* Add `us` microseconds to the lifetime of a session. The call fails with NOT_FOUND if the session does not
 * run, and with INVALID_REQUEST if the lifetime would be longer than 30 days. */
WARDER_API int warder_session_extend(const char *name, uint64_t us, struct warder_error *err);
/* Free the handle. The session goes on. */
WARDER_API void warder_session_free(struct warder_session *session);

/* ---- executions that outlive their callers ---- */
/*
 * A run of warder_launch() ends with the process that launched it. An execution of warder_execution_start() goes on
 * when the process that started it has ended, because the keeper of its session launches and supervises it. It has an
 * id, by which every process of the same user finds it. The keeper keeps at most the newest 4 MiB of its output, and
 * the result after its end. All executions of a session together keep at most 64 MiB of output; the oldest is dropped
 * first. At most 128 executions run at a time in a session.
 *
 *   struct warder_session *session;      warder_session_start("build", &options, &session, &err)
 *   struct warder_execution *execution;  warder_execution_start(session, &command, &execution, &err)
 *                                        warder_execution_attach(execution, &attach, NULL, &err)
 *   struct warder_result *result;        warder_execution_wait_for(execution, UINT64_MAX, &result, &err)
 *
 * docs/example-execution.c is a complete program.
 * Event loops: poll warder_execution_fd() for reading, and call warder_execution_dispatch() when it is readable.
 * Threads: a handle belongs to one thread at a time, except for warder_execution_input_ready(). Any number of handles,
 * in any processes, may refer to the same execution.
 * Time: a keeper answers at once. If it has not answered for 8 s, the call fails (UNAVAILABLE). Waiting for
 * the program itself has no such limit. warder_execution_start() returns when the program has begun, and
 * warder_execution_write() when the program's pipe has taken the bytes.
 * End of the keeper: when the keeper ends, for whatever reason, all executions of the session end, too. Dispatch and
 * wait then return a result with the cause "supervisor". Every other call that asks the keeper fails (UNAVAILABLE, or
 * NOT_FOUND if the session is gone).
 */
struct warder_execution;

struct warder_execution_command {
	size_t size; /* sizeof(struct warder_execution_command) */
	/* NULL: the session's policy; else as for warder_session_prepare(). */
	const struct warder_policy *policy;
	/* A second ceiling, in addition to the session's: the session's policy and `policy` must be within it.
	 * NULL: none. */
	const struct warder_policy *ceiling;
	char *const
	    *argv; /* NULL-terminated; argv[0] is a path in the jail, or a name searched in the jail's PATH */
	char *const *environment; /* as in struct warder_command */
	unsigned int flags;       /* enum warder_session_flags */
	/* 1: standard input stays open, for warder_execution_write() and on_input. 0: it is empty. */
	int keep_input;
	/* 1: the program's streams are a terminal of the jail, and its output counts as standard output. Requires
	 * devices.terminals of at least 1 in the session's policy. Its input stays open. */
	int terminal;
	/* > 0: descriptor of a terminal, whose settings and size the program's terminal gets; not used after
	 * warder_execution_start() */
	int terminal_fd;
	unsigned int rows, columns; /* size of the program's terminal; 0: that of terminal_fd, or 24 and 80 */
	/* a stream with more bytes than this ends the execution, cause "output"; 0: no limit */
	uint64_t output_max;
	/* microseconds for which the result and the output are kept after the end; 0: 10 minutes */
	uint64_t keep_us;
	const char *id; /* 16 digits (0-9, a-f) that no other execution has; NULL: Warder picks them */
	/* > 0: descriptor of a regular file, open for writing (O_APPEND if others write to it, too); not used after
	 * warder_execution_start(). The keeper writes all output of the program to this file, also the output that
	 * it no longer keeps in its memory. Both streams are written in the order in which the keeper reads them. If
	 * a write fails, the keeper writes no more, and the program goes on. The member `log` of the result says how
	 * many bytes are in the file, how many are missing, and why. */
	int log_fd;
};

/* Start a program in a session. Two ceilings hold: that of the session, and that of `command`. The caller
 * frees *ret with warder_execution_free(). The call fails like warder_launch(), and also with
 *   UNAVAILABLE  128 executions run in the session, or its keeper does not answer
 *   CONFLICT     the session is paused or is being copied, or another execution has the id
 *   NOT_FOUND    the session has ended */
WARDER_API int warder_execution_start(struct warder_session *session,
				      const struct warder_execution_command *command,
				      struct warder_execution **ret, struct warder_error *err);
/* Find an execution of this user by its id, also one that has ended but whose result the keeper still has.
 * The caller frees *ret with warder_execution_free(). If no execution has the id, the call fails
 * (NOT_FOUND). If a session did not say whether it has the execution, and no other has it, the call fails with
 * the reason (for example UNAVAILABLE: a keeper does not answer). */
WARDER_API int warder_execution_open(const char *id, struct warder_execution **ret, struct warder_error *err);
/* List the executions of this user in all sessions, as a JSON array. Each element has the members id,
 * session, state ("starting", "running", "paused" or "ended"), command, started, ageUs, terminal, input,
 * stdoutBytes, stderrBytes and counters; once the execution has ended, also cause, exitCode and signal. The
 * caller frees the text with free(). If the call fails, it returns NULL with *err. */
WARDER_API char *warder_execution_list(struct warder_error *err);
/* Return the id of the execution, and the name of its session. */
WARDER_API const char *warder_execution_id(const struct warder_execution *execution);
WARDER_API const char *warder_execution_session(const struct warder_execution *execution);

/* The callbacks of warder_execution_attach(), and the offsets at which to begin. warder_execution_dispatch() and
 * warder_execution_wait_for() call the functions. These must not block, and must not free the execution. */
struct warder_attach {
	size_t size; /* sizeof(struct warder_attach) */
	/* Bytes of standard output and error that the caller has already: 0 and 0 begin at the first byte. */
	uint64_t from[2];
	/* Called with each part of a stream, in order; `offset` is the position of its first byte in the stream. NULL:
	 * output is not wanted. If the callback returns non-zero, the dispatch or wait fails with EXECUTION_FAILED,
	 * and the next dispatch or wait continues after these bytes. */
	int (*on_output)(void *context, enum warder_stream stream, uint64_t offset, const char *bytes,
			 size_t len);
	/* The keeper has dropped a part of a stream before it was read: the bytes from offset `from` up to offset
	 * `to`. NULL: not called. */
	void (*on_gap)(void *context, enum warder_stream stream, uint64_t from, uint64_t to);
	/* As in struct warder_command; `size` is 32 KiB, and -1 closes the input. NULL: the caller has no input. */
	long (*on_input)(void *context, char *bytes, size_t size);
	void *context;
};

/* The state of an execution when warder_execution_attach() was called. */
struct warder_attached {
	size_t size;       /* sizeof(struct warder_attached), set by the caller */
	uint64_t bytes[2]; /* sizes of standard output and error, as written by the program */
	int ended;         /* 1: it has ended */
	int terminal;      /* 1: it has a terminal */
	int input;         /* 1: its input is open */
};

/* Follow an execution with callbacks, from any offset. Warder copies *attach. If the connection to the keeper
 * breaks, Warder connects again and goes on at the byte where it was. If `ret` is not NULL, the call fills
 * *ret. The call fails with
 *   INVALID_REQUEST  an offset is beyond the bytes that the program has written
 *   CONFLICT         the handle is attached or waits already */
WARDER_API int warder_execution_attach(struct warder_execution *execution, const struct warder_attach *attach,
				       struct warder_attached *ret, struct warder_error *err);
/* Return a descriptor for poll(2) and its relatives, level-triggered, like that of warder_run_fd(). It is
 * readable when warder_execution_dispatch() has something to do. It belongs to the handle, and stays the
 * same. If the call fails, it returns -1 with *err. */
WARDER_API int warder_execution_fd(struct warder_execution *execution, struct warder_error *err);
/* Pass on all that is ready, and do not wait. The call returns
 *   1   the execution has ended, all output that the keeper has was passed on, and *ret has the result
 *   0   the execution goes on, and *ret is not written
 *   -1  the call failed, and the execution goes on
 * The caller frees *ret with warder_result_free(). This result holds no output. warder_result_json() returns
 * for it the document that the keeper made; if the keeper has ended or forgotten it, only status and cause. */
WARDER_API int warder_execution_dispatch(struct warder_execution *execution, struct warder_result **ret,
					 struct warder_error *err);
/* Like warder_execution_dispatch(), but wait for the end of the execution, for at most timeout_us
 * microseconds; UINT64_MAX means without a limit. If the time is over, the call returns 0. It may be
 * repeated, also after the end, as long as the keeper keeps the result. Each call that returns 1 makes a new
 * *ret. */
WARDER_API int warder_execution_wait_for(struct warder_execution *execution, uint64_t timeout_us,
					 struct warder_result **ret, struct warder_error *err);
/* Announce that on_input has bytes again, or wants to end the input. Warder then calls it again. Any thread
 * or signal handler may call this function. With NULL it has no effect. */
WARDER_API void warder_execution_input_ready(struct warder_execution *execution);
/* Write to the program's input. The bytes of one call are never mixed with those of another writer. If `more`
 * is 1, the next call continues these bytes, and no other writer can write before it. The call waits while
 * the program does not read, and returns when the program's pipe has taken all bytes. If the input is closed,
 * it fails (CONFLICT). */
WARDER_API int warder_execution_write(struct warder_execution *execution, const char *bytes, size_t len,
				      int more, struct warder_error *err);
/* Close the program's input. If the input is a terminal, it gets an end of file (Ctrl-D) instead. The call
 * fails with CONFLICT if another caller is writing, or if the execution has ended. */
WARDER_API int warder_execution_close_input(struct warder_execution *execution, struct warder_error *err);
/* Send a signal to the program's process group. In a paused session, the signal takes effect when the session
 * goes on. The call fails with INVALID_REQUEST if the number is not a signal's, and with CONFLICT if the
 * execution has ended. */
WARDER_API int warder_execution_signal(struct warder_execution *execution, int signal,
				       struct warder_error *err);
/* Give the program's terminal a size. The call fails with INVALID_REQUEST if the program has no terminal, and
 * with CONFLICT if the execution has ended. */
WARDER_API int warder_execution_resize(struct warder_execution *execution, unsigned int rows,
				       unsigned int columns, struct warder_error *err);

/* Counters of an execution that runs. A counter is UINT64_MAX if the host does not count this. */
struct warder_counters {
	size_t size; /* sizeof(struct warder_counters), set by the caller */
	uint64_t cpu_us, memory_bytes, memory_peak_bytes, processes;
	uint64_t read_bytes, written_bytes; /* of block devices */
};

/* Read the present counters of an execution. If it has ended, the call fails (CONFLICT). */
WARDER_API int warder_execution_counters(struct warder_execution *execution, struct warder_counters *ret,
					 struct warder_error *err);
/* Free the handle. The execution goes on. */
WARDER_API void warder_execution_free(struct warder_execution *execution);

/* ---- contexts: interpreters that keep their variables ---- */
/*
 * A context is an interpreter in a session. It keeps its variables, imports and working directory from one piece of
 * code to the next. The keeper of the session supervises it, so it goes on when its caller has ended. One piece runs
 * at a time.
 *
 *   struct warder_context *context;       warder_context_create(session, "py", NULL, &context, &err)
 *   struct warder_piece piece = { .size = sizeof(piece), .code = "6 * 7" };
 *                                         warder_context_begin(context, &piece, &err)
 *   char *json;                           warder_context_wait_for(context, UINT64_MAX, NULL, &json, &err)
 *
 * Trust: the code in a context can forge everything that the context reports: what it shows (on_shown), its prompts
 * (on_ask), the member contextSays of the JSON text, and whether a piece ended with success or failed. Warder
 * itself measures the time, counts the bytes of the streams, and knows whether a time limit passed or the context
 * died.
 * Event loops: poll warder_context_fd() for reading, and call warder_context_dispatch() when it is readable.
 * Threads: a handle belongs to one thread at a time. Any number of handles, in any threads and processes, may refer to
 * the same context, so another thread can interrupt a piece with a handle of its own.
 * Time: as for executions.
 */
struct warder_context;

struct warder_context_options {
	size_t size; /* sizeof(struct warder_context_options) */
	const char
	    *language; /* "python", "javascript", "typescript", "r", "bash", or an alias; NULL: "python" */
	/* NULL: the session's policy; else as for warder_session_prepare(). limits.wallTime limits each piece. */
	const struct warder_policy *policy;
	/* A second ceiling, in addition to the session's: the session's policy and `policy` must be within it.
	 * NULL: none. */
	const struct warder_policy *ceiling;
	/* a stream with more bytes than this ends the context, cause "output"; 0: no limit */
	uint64_t output_max;
};

/* Start an interpreter in a session. `options` may be NULL. The caller frees *ret with warder_context_free().
 * The call fails like warder_execution_start(), and also with CONFLICT if the session has a context of this
 * name. */
WARDER_API int warder_context_create(struct warder_session *session, const char *name,
				     const struct warder_context_options *options,
				     struct warder_context **ret, struct warder_error *err);
/* Find a context by the name of its session and its own name. The caller frees *ret with
 * warder_context_free(). If the session has no such context, the call fails (NOT_FOUND). */
WARDER_API int warder_context_open(const char *session, const char *name, struct warder_context **ret,
				   struct warder_error *err);
WARDER_API const char *warder_context_name(const struct warder_context *context);
/* Describe a context as a JSON object. It has the members of warder_execution_list(), and also "context" (its
 * name), "language", "pieces" (the number of pieces that have begun) and "at" (the state: "starting", "idle" or
 * "busy", and "" after the end). The caller frees the text with free(). If the call fails, it returns NULL with *err. */
WARDER_API char *warder_context_json(const struct warder_context *context, struct warder_error *err);

/* A piece of code, and how to run it. warder_context_dispatch() and warder_context_wait_for() call the
 * functions. These must not block, and must not free the context. */
struct warder_piece {
	size_t size; /* sizeof(struct warder_piece) */
	const char *code;
	size_t code_len; /* bytes, at most 4 MiB; 0: up to the NUL */
	/* the piece is interrupted after this time; 0: limits.wallTime of the context's policy */
	uint64_t timeout_us;
	int at_once; /* 1: if another piece runs, fail with CONFLICT. 0: wait behind it */
	/* Called with each part of a stream, in order; `offset` counts the bytes of this stream since the context's
	 * start. NULL: output is not wanted. If the callback returns non-zero, the dispatch or wait fails with
	 * EXECUTION_FAILED, and the next one continues after these bytes. */
	int (*on_output)(void *context, enum warder_stream stream, uint64_t offset, const char *bytes,
			 size_t len);
	/* The keeper has dropped a part of a stream before it was read: the bytes from offset `from` up to offset
	 * `to`. NULL: not called. */
	void (*on_gap)(void *context, enum warder_stream stream, uint64_t from, uint64_t to);
	/* The piece displays a value, for example by display() in Python. `bundle` is a JSON object with the forms of
	 * this value: its members are named by media types, and each is a text, such as {"text/plain": "...",
	 * "image/png": "..."}. The interpreters encode binary forms, such as image/png, in base64. NULL: not called. */
	void (*on_shown)(void *context, const char *bundle, size_t len);
	/* The piece asks for a line of input, with this prompt; warder_context_answer() gives it. NULL: it gets no
	 * input. */
	void (*on_ask)(void *context, const char *prompt, size_t len);
	void *context;
};

enum warder_piece_status {
	WARDER_PIECE_SUCCESS,  /* the context reports the end of the piece without an error */
	WARDER_PIECE_FAILED,   /* the context reports an error, or sends no valid report */
	WARDER_PIECE_TIMEOUT,  /* the piece was interrupted at its time limit */
	WARDER_PIECE_KILLED,   /* the context died while the piece ran */
	WARDER_PIECE_REJECTED, /* the context died before the piece began */
};

struct warder_piece_end {
	size_t size; /* sizeof(struct warder_piece_end), set by the caller */
	enum warder_piece_status status;
	int interrupted; /* 1: warder_context_interrupt() ended it; 0 in all other cases, also at its time limit */
	unsigned int piece; /* its number in the context, from 1; 0: it did not begin */
	uint64_t wall_us;
	uint64_t bytes[2]; /* sizes of standard output and error, as written by the piece */
};

/* Hand a piece of code to the context. It runs after the pieces that are already waiting. Warder copies
 * the code and *piece; the object that piece->context points to must be valid until the piece has ended. The
 * call fails with
 *   CONFLICT         a piece of this handle has not ended, or at_once is 1 and another piece runs
 *   INVALID_REQUEST  the code is too long
 *   UNAVAILABLE      the keeper is gone */
WARDER_API int warder_context_begin(struct warder_context *context, const struct warder_piece *piece,
				    struct warder_error *err);
/* Return a descriptor for poll(2), level-triggered. It is readable when warder_context_dispatch() has
 * something to do. It belongs to the handle, and stays the same until a restart or the loss of the
 * connection. If the call fails, it returns -1 with *err. */
WARDER_API int warder_context_fd(struct warder_context *context, struct warder_error *err);
/* Pass on all that is ready, and do not wait. The call returns
 *   1   the piece has ended; *ret_end and *ret_json are filled
 *   0   the piece goes on
 *   -1  UNAVAILABLE: the connection is lost, and how this piece ends cannot be known
 *       CONFLICT: no piece of this handle runs
 *       any other error: the piece goes on
 * Both ret_end and ret_json may be NULL. *ret_json is the JSON text that "warder context run --json" prints,
 * but with stdoutBytes and stderrBytes in place of the streams, and without the displayed values. The caller
 * frees it with free(). */
WARDER_API int warder_context_dispatch(struct warder_context *context, struct warder_piece_end *ret_end,
				       char **ret_json, struct warder_error *err);
/* Like warder_context_dispatch(), but wait for the end of the piece, for at most timeout_us microseconds;
 * UINT64_MAX means without a limit. If the time is over, the call returns 0. */
WARDER_API int warder_context_wait_for(struct warder_context *context, uint64_t timeout_us,
				       struct warder_piece_end *ret_end, char **ret_json,
				       struct warder_error *err);
/* Give the line of input that the piece asks for, at most 32 KiB, without its newline. If `line` is NULL, the
 * piece gets an end of input. If no piece asks, the call fails (CONFLICT). */
WARDER_API int warder_context_answer(struct warder_context *context, const char *line, size_t len,
				     struct warder_error *err);
/* Interrupt the running piece with a signal, also if another handle began it. The variables of the context
 * stay. If no piece runs, the call fails (CONFLICT). */
WARDER_API int warder_context_interrupt(struct warder_context *context, struct warder_error *err);
/* End the interpreter and start another one with the same name and policy. If a piece of this handle has not
 * ended, the call fails (CONFLICT). */
WARDER_API int warder_context_restart(struct warder_context *context, struct warder_error *err);
/* End the interpreter, and return when it is gone. The caller must still free the handle. */
WARDER_API int warder_context_delete(struct warder_context *context, struct warder_error *err);
enum warder_fork_flags {
	WARDER_FORK_KEEP_SEED = 1, /* the branch continues the random numbers of the original */
};
/* Make a branch of a Python context: a second context with the name `branch` and the same state, by fork(2).
 * Both are in the same jail, and neither is protected from the other. `flags` takes enum warder_fork_flags.
 * The caller frees *ret with warder_context_free(). The call fails with
 *   INVALID_REQUEST  this context can never be forked: it has another language, or processes.spawn is false
 *   CONFLICT         it cannot be forked now: a piece runs, or it has threads, or the name is in use */
WARDER_API int warder_context_fork(struct warder_context *context, const char *branch, unsigned int flags,
				   struct warder_context **ret, struct warder_error *err);
/* Free the handle. The context goes on. */
WARDER_API void warder_context_free(struct warder_context *context);

/* ---- changes ---- */
/* The stored changes that a run made over a directory: list, commit or drop them. */
struct warder_changes;

/* Open a set of changes that a run stored. Until it is freed, other callers get CONFLICT. The call fails with
 * NOT_FOUND if the directory has no set, with CONFLICT if the set is in use, or with another error. */
WARDER_API int warder_changes_open(const char *directory, struct warder_changes **ret,
				   struct warder_error *err);
/* Return the set as JSON: {"directory": ..., "changes": [{path, change, type, mode, size, sha256, target,
 * replaced, ...}], "fault": ...}. "fault" is null, or the reason why the set is incomplete. The caller frees
 * the text with free(). */
WARDER_API char *warder_changes_json(const struct warder_changes *changes);

struct warder_selection {
	size_t size; /* sizeof(struct warder_selection) */
	/* Patterns as in struct warder_collect, or paths; a directory stands for everything in it. NULL:
	 * everything. */
	const char *const *patterns;
	size_t pattern_count;
	int force; /* 1: also commit paths that changed on the host since the run */
};

/* Make the selected changes in the original directory; if `selection` is NULL, make all. Each file is
 * replaced as a whole or not at all. If a selected path has changed since the run, and `force` is 0, nothing is
 * done: the call fails with CONFLICT, and the text names the path. *ret_count is the number of changes made, also after
 * a failure; ret_count may be NULL. The set stays as it is. */
WARDER_API int warder_changes_commit(struct warder_changes *changes, const struct warder_selection *selection,
				     size_t *ret_count, struct warder_error *err);
/* Remove the set from the disk. The object still has to be freed. */
WARDER_API int warder_changes_drop(struct warder_changes *changes, struct warder_error *err);
WARDER_API void warder_changes_free(struct warder_changes *changes);

/* ---- code ---- */
struct warder_program;

enum warder_code_flags {
	WARDER_CODE_CHECK_ONLY = 1, /* stop before any part of the code is executed */
	WARDER_CODE_NO_CACHE = 2,   /* neither use nor fill the cache of built programs */
	/* The source is a function. Its argument is `json` of struct warder_call, or null, and its return value is the
	 * result. Rust: the source has `fn run(input: Value) -> Value` and no main. Python, JavaScript: the source is
	 * the body of a function with the parameter `input` */
	WARDER_CODE_FUNCTION = 4,
	WARDER_CODE_SCAN = 8,       /* look for dangerous code: advice in the result, no protection */
	WARDER_CODE_SCAN_DENY = 16, /* the same, and refuse (REJECTED) code that the scan advises against */
};

struct warder_code {
	size_t size; /* sizeof(struct warder_code) */
	/* a name or an alias ("python", "c++"); NULL: detected, and refused if it is not certain */
	const char *language;
	const char *file_name; /* name of the source, which helps to detect the language; or NULL */
	const char
	    *source; /* text; for "wasm" a module. Source and files are not used after warder_build() */
	size_t source_len;
	const struct warder_file *files; /* in the working directory of every stage */
	size_t file_count;
	unsigned int flags;   /* enum warder_code_flags */
	const char *cache;    /* directory of the cache; NULL: the user's default */
	uint64_t cache_bytes; /* most bytes in the cache; 0: 512 MiB */
	/* path of a document that defines more languages; NULL: /etc/warder/languages.json, if it exists */
	const char *languages;
	/* Called twice for each stage of the build: when it starts, with its run, and when it ends, with run NULL.
	 * The only function that the run may be passed to is warder_cancel(). */
	void (*on_stage)(void *context, const char *stage, struct warder_run *run);
	void *context;
	const char *scan_rules; /* path of a document with the scan's lists; NULL: the built-in lists */
	/* path of a file to which each decision of the scan is appended, as one JSON object on a line; or NULL */
	const char *scan_audit;
	/* If another process builds the same code, warder_build() waits for it and calls this every 10 ms.
	 * Non-zero: warder_build() fails (EXECUTION_FAILED). NULL: not called. */
	int (*should_stop)(void *context);
	/* The session in which the program runs; the policy must then be one that warder_session_prepare() accepts.
	 * NULL: in a jail of its own. The stages of the build always have jails of their own. */
	struct warder_session *session;
};

/*
 * Prepare a piece of code: detect its language, check it and build it. Each stage runs in a jail of its own with
 * the limits of the policy, but without its network, workspace, paths and environment; compilers may always start
 * processes. With options->single_use, one wall time holds for all stages and the run together; otherwise each
 * stage and each run has the whole wall time. `options` may be NULL. The call also succeeds if the code does not
 * compile: see warder_program_failed(). The caller frees *ret with warder_program_free(). The call fails with
 * UNSUPPORTED_LANGUAGE, UNSUPPORTED_POLICY, INVALID_REQUEST and others.
 */
WARDER_API int warder_build(const struct warder_policy *policy, const struct warder_options *options,
			    const struct warder_code *code, struct warder_program **ret,
			    struct warder_error *err);
/* Return 1 if a stage of the build failed, so that the program cannot run; else 0. */
WARDER_API int warder_program_failed(const struct warder_program *program);
/* The canonical name of the language. */
WARDER_API const char *warder_program_language(const struct warder_program *program);
/* Take the result of the last stage of the build: output, diagnostics, and the status "success", "compileFailed",
 * "timeout", ... The caller frees it with warder_result_free(). The call returns NULL if the result was already taken,
 * or if no stage ran: none was needed, or the cache had the program. */
WARDER_API struct warder_result *warder_program_result(struct warder_program *program);
/* Free a program. Runs that it has started go on; the memory of the program is released with the last of them. */
WARDER_API void warder_program_free(struct warder_program *program);

/* The files of the working directory to collect after the run. */
struct warder_collect {
	/* Shell patterns, such as "*.csv". One star does not match "/"; two stars in a row match "/", too. So "out/",
	 * followed by two stars, matches all files in the directory out and in the directories below it. NULL: every
	 * new or changed file, except hidden ones, __pycache__, *.pyc and *.tmp. */
	const char *const *patterns;
	size_t pattern_count;
	size_t files_max;     /* 0: 100 */
	uint64_t file_bytes;  /* for each file; 0: 4 MiB */
	uint64_t total_bytes; /* for all files together; 0: 64 MiB */
	/* A file of at most this many bytes is in the result with its bytes; a larger file is saved to `directory`, or
	 * only listed. 0: 64 KiB. UINT64_MAX is special: all files are treated as larger ones. */
	uint64_t inline_bytes;
	const char *directory; /* directory for larger files, or NULL. Existing files are not overwritten. */
};

struct warder_call {
	size_t size;              /* sizeof(struct warder_call) */
	char *const *argv;        /* arguments of the program; NULL: none */
	char *const *environment; /* as in struct warder_command */
	const char *input;        /* as in struct warder_command */
	size_t input_len;
	int input_fd;
	/* A JSON value that the code can read from descriptor 4, whose path is in $WARDER_INPUT; NULL: none. Copied. */
	const char *json;
	size_t json_len;
	uint64_t result_bytes; /* most bytes of JSON on descriptor 3 ($WARDER_RESULT); 0: 1 MiB */
	int last_line; /* 1: if the code writes nothing to descriptor 3, use the last line of standard output */
	int (*on_output)(void *context, enum warder_stream stream, const char *bytes, size_t len);
	void *context;
	const int *output_fds;
	const struct warder_collect *collect; /* NULL: no file is collected; copied */
	const struct warder_spill *spill;     /* or NULL */
	uint64_t output_max;                  /* as in struct warder_command */
	int (*should_stop)(void *context);    /* as in struct warder_command */
	/* As in struct warder_command. A WebAssembly module (language "wasm") that node executes has no descriptor 5:
	 * for such a module, `progress` is refused (INVALID_REQUEST). */
	int progress;
	void (*on_progress)(void *context, const char *line);
	long (*on_input)(void *context, char *bytes, size_t size); /* as in struct warder_command */
	/* As in struct warder_command. Refused for a WebAssembly module that node executes (INVALID_REQUEST). */
	const struct warder_function *functions;
	size_t function_count;
	void (*on_call)(void *context, uint64_t call, const char *name, const char *arguments);
};

/* Start a program that warder_build() made. Continue with warder_wait(), as after warder_launch(). A program
 * can be started any number of times, also by several threads at the same time, unless it was built with
 * options->single_use. */
WARDER_API int warder_call(struct warder_program *program, const struct warder_call *call,
			   struct warder_run **ret, struct warder_error *err);
/* The structured output of the code as JSON text, or NULL. */
WARDER_API const char *warder_result_value(const struct warder_result *result);

/* ---- verdicts ---- */
/* Compare an output with the expected one. `how` is one of
 *   exact       byte by byte
 *   lines       line by line; blanks at the ends of lines and empty lines at the end do not count
 *   tokens      word by word, with any blanks between the words
 *   float:1e-6  as tokens, but numbers may differ by this value, or by this value times the expected number
 *   none        always equal
 * The comparison takes linear time. It returns 1 if the outputs are equal and 0 if they differ. If `how` is
 * unknown, it returns -1 with *err. */
WARDER_API int warder_compare(const char *how, const char *expected, size_t expected_len, const char *got,
			      size_t got_len, struct warder_error *err);
/* The verdict about a run. `same` is the return value of warder_compare(). Returns "accepted", "wrongAnswer",
 * "timeLimit", "memoryLimit", "outputLimit", "runtimeError", "systemError" or "skipped" (cancelled). Never NULL. */
WARDER_API const char *warder_result_verdict(const struct warder_result *result, int same);

/* ---- pool ---- */
/*
 * A pool makes jails before their program is known, and keeps them ready. Such a jail is parked: every restriction is
 * applied and read back, and the jail's process waits just before the exec of the program. warder_pool_launch() hands
 * a parked jail out: it starts the program there. This takes a fraction of the time of warder_launch(). A jail runs
 * at most one program.
 * Check: when a jail is handed out, Warder checks that it lives and is not frozen, and reads again all that can have
 * changed: limits, cgroups, identity, capabilities, no_new_privs and filter. In the receipt, "readAt" of each row says
 * when the row was read ("park" or "handOut"), and "parkedUs" how long the jail was parked.
 * Time: wall time and CPU time begin at the hand-out. Without a cgroup that counts CPU time, that of an interpreter
 * which was started in advance begins with its start: its imports count, for limits.cpuTime and in the result. In the
 * jail, CLOCK_MONOTONIC and CLOCK_BOOTTIME go on while it is parked, because the kernel sets their zero when the
 * process is made: in each jail, parked or not, one to two seconds before that. In a fork they are those of its zygote.
 * Input: for code, and for a command with an empty `input` that is not NULL, standard input is a closed pipe. With
 * `input` NULL it is /dev/null.
 * Limits: a pool parks jails only for the backend "local", and for policies without network.allow and network.publish.
 * For other policies, no jail is ever ready. `empty` of struct warder_pool_options says what a launch then does; with
 * WARDER_POOL_WAIT it fails at once (UNSUPPORTED_POLICY). warder_pool_fill() fails, too.
 * Descriptors: a parked jail takes 28 descriptors of this process as root, 33 with an interpreter, 31 as a fork of a fork
 * server, and 2 more with reused parts. The first jail of a key takes 39, 45 and 88, because the template, and the
 * zygote, have some of their own. The pool parks no further jail when half of the descriptors that RLIMIT_NOFILE allows
 * (the soft limit) are in use: with a limit of 1024, that is about 17 jails, or 14 with an interpreter, of one key. It
 * does not change this limit. If fewer than 90 descriptors are free, a launch removes parked jails before it goes on.
 * Threads: each pool has a thread per processor, at most 4; they park and remove jails. Several threads may call all
 * functions at the same time, except warder_pool_free(). A pool belongs to the process that made it.
 */
struct warder_pool;

/* The reaction of warder_pool_launch() if no jail is ready. */
enum warder_pool_empty {
	WARDER_POOL_LAUNCH, /* make a new jail, as warder_launch() does */
	WARDER_POOL_WAIT,   /* wait for at most wait_us, and then fail (UNAVAILABLE) */
	WARDER_POOL_FAIL,   /* fail at once (UNAVAILABLE) */
};

struct warder_pool_options {
	size_t size;              /* sizeof(struct warder_pool_options) */
	unsigned int jails_a_key; /* the most parked jails for each struct warder_pool_key; 0: 4 */
	/* The most keys; a further key takes the place of the least recently used one, but never that of a key that a call
	 * uses at that moment: then there are more for a while. 0: 16. */
	unsigned int keys;
	/* The most parked jails in all; 0: 64. In a full pool, the pool removes jails of other keys to make room for the first
	 * jail of a key. If it is not known whether a jail of this key can be made, the pool makes it first. For that time,
	 * the parked jails may exceed `jails`, memory_bytes and half of the descriptors by one jail for each thread of the
	 * pool, and one for each launch of code that found no jail. If no jails of other keys can make way by then, the new one stays, and the pool returns to `jails` and
	 * memory_bytes within about a second. Descriptors beyond half of the limit stay in use until jails are handed out or
	 * removed for another reason. */
	unsigned int jails;
	uint64_t
	    memory_bytes; /* limit of the memory of all parked jails; 0: 64 MiB. Each counts 448 KiB, and an interpreter
			   * also its memory (8 MiB until one was measured). */
	uint64_t idle_us; /* a key that is unused for so long loses its jails; 0: 60 s */
	enum warder_pool_empty empty;
	uint64_t wait_us; /* with WARDER_POOL_WAIT; 0: 10 s */
	/* Whether parts of ended jails are used again, which saves time. 0: each jail has new parts only. 1: a parked jail
	 * may get the network namespace, and the cgroups, of ended jails of the same key, if they look like new ones.
	 * Of a network namespace, Warder compares files of /proc/net byte for byte. Of a cgroup, it looks at
	 * the files of the pids, cpu and memory controllers that count events, and begins peaks and CPU time anew; at most
	 * 1 MiB of memory may still be charged to it. It must never have had more than two processes at a time (init and the program),
	 * where the kernel has `pids.peak`: a program that has started another one leaves no cgroup for reuse.
	 * A cgroup that was killed is not used again. On cgroup v2 with a memory limit, the reuse of cgroups needs Linux
	 * 6.12; before, `memory.peak` is counted in partsRefused of warder_pool_stats(). The pool keeps only parts that together
	 * take at most an eighth of the descriptors that RLIMIT_NOFILE allows. The program can see from the inode number of
	 * /proc/self/ns/net that the namespace is not new, and the receipt says so. The value 1 has an effect only as root and
	 * with the network mode "none". */
	int parts;
	/* Whether the jails of keys with the interpreter "python" are forked by a fork server. 0: each jail starts a Python of
	 * its own. 1: one Python, the zygote, loads the imports in a jail of its own, without capabilities, but also without a
	 * system call filter and Landlock rules: name only modules that you trust. Each parked jail begins as a fork of it.
	 * Parking takes less time and memory; a hand-out does not get reliably faster. Each fork has namespaces, cgroups,
	 * limits and a filter of its own, which are read back as those of other jails. But all forks of one zygote share the
	 * address-space layout, the hash seed of Python, the zero of the clocks and the host's user id; the receipt says so
	 * ("ownAddressSpace"). A fork can read the counters of the whole host in `sockstat`, `protocols` and `softnet_stat` of
	 * /proc/net, and in its `stat`, which other jails of root cannot (row "proc" of the receipt), and its mountinfo shows
	 * the host's user id. Its os.getpid() is 3, in place of 2. The at-fork hooks of Python run in each fork, so that
	 * `random`, `uuid`, `ssl` and `tempfile` differ, and numpy's legacy generator is seeded anew; other states that an
	 * import has made are the same. At its end, a fork flushes buffered output, but an object that a module from before
	 * the fork holds has no `__del__` called, and functions that an import has registered with atexit(3) of C are not
	 * called. A zygote serves one key, and is replaced after 1000 forks, while 100 of its forks live, after 10 minutes,
	 * and when a file that it has loaded changes; its jail is not counted among the jails of the pool. The memory of the
	 * present zygote counts towards memory_bytes. That of one that was replaced does not, although it lives as long as its
	 * forks. If an import leaves threads behind, parking fails (UNSUPPORTED_POLICY). For a policy with an overlay, an
	 * image or a directory of the host that can be written to, nothing is forked: each jail starts a Python of its own, as
	 * with 0. The zygotes of all keys take at most three quarters of memory_bytes. If a further one would take more, or the
	 * first fork of a key fails, the jails of its key start a Python of their own, until a later attempt to fork succeeds: the pool tries that with a jail that no launch
	 * waits for, after 2 s, and then after twice as long each time, up to about 8 minutes. `forkRefused` of
	 * warder_pool_stats() says why. */
	int fork_server;
};

/* The key of a parked jail. The pool hands a jail out only if the key of the launch has the same tenant, ceiling, cgroup
 * parent, backend and policy as the key for which the jail was parked, and if the calling process still has the same
 * user and group ids. Four fields of the policy may differ, and take
 * effect at the hand-out: limits.wallTime, output.stdout, output.stderr and environment.set. Warder copies what it
 * needs of a key: the key, and all that it points to, must be valid only until the call returns. */
struct warder_pool_key {
	size_t size; /* sizeof(struct warder_pool_key) */
	const struct warder_policy *policy;
	const struct warder_options *options; /* as for warder_prepare(), without single_use; NULL: none */
	const char *tenant; /* any text; jails are never shared between two tenants. NULL: "" */
	/* A program that the pool starts in each parked jail, and that waits there for its code; or NULL. When the
	 * program is ready, it must write to descriptor 3 the paths of the files that it has loaded, one on each
	 * line, and then an empty line. After that, it must read its code from descriptor 4 until end of file, and
	 * run it once. The pool removes the jail if one of these files, or a file that the program has mapped,
	 * changes before the hand-out. One of the lines may be "prepares". Then a byte precedes the code: the program gets
	 * it when a hand-out begins, and may use the time until the code comes to prepare itself. This time counts as CPU
	 * time of the code. The program gets the variables of this key's policy when it starts. So its jail, unlike
	 * others, is handed out only for the same environment.set. */
	char *const *program;
	/* Instead of `program`: "python" or "node"; or NULL. The interpreter must be among the files that the
	 * policy's filesystem.view shows. Node runs the code as a script: top-level `await` and `import x from`, which
	 * `node -e` accepts, are syntax errors. */
	const char *interpreter;
	const char *const
	    *imports; /* modules that `interpreter` loads in advance, NULL-terminated; or NULL */
};

/* Make an empty pool. If `options` is NULL, the defaults hold. The caller frees *ret with warder_pool_free().
 * The call fails with INVALID_REQUEST if an option is wrong, and with UNAVAILABLE if the pool's first thread cannot
 * be started. */
WARDER_API int warder_pool_new(const struct warder_pool_options *options, struct warder_pool **ret,
			       struct warder_error *err);
/* Park `count` jails for a key, at most jails_a_key, and wait until they are ready. From then on, the pool keeps this
 * number of jails ready. The call fails with the reason if the jails cannot be parked, and with UNAVAILABLE if they are
 * not ready after 30 s. */
WARDER_API int warder_pool_fill(struct warder_pool *pool, const struct warder_pool_key *key,
				unsigned int count, struct warder_error *err);
/* Hand a parked jail out. Continue with warder_wait() and warder_run_free(), as after warder_launch(). The
 * pool removes the jail after warder_run_free(). If no jail is ready, or none passes the check at the
 * hand-out, the option `empty` decides what happens. If a jail dies after the check, and its program has certainly
 * not begun, the launch takes another jail, or follows the option `empty` if none is ready. It fails (UNAVAILABLE) when
 * three jails have died so. If the cgroup (v2) of a jail is frozen after the check, or its payload is stopped, and the
 * payload has not begun its exec, Warder kills this jail after about 0.2 s and goes on as after such a death. From the
 * first launch of a key on, the pool parks jails for it. A command with terminal_fd, or with more than 96 KiB of
 * arguments and environment, is refused (INVALID_REQUEST): use warder_launch() for it. */
WARDER_API int warder_pool_launch(struct warder_pool *pool, const struct warder_pool_key *key,
				  const struct warder_command *command, struct warder_run **ret,
				  struct warder_error *err);
/* Run a piece of code in a program that the pool has started in a parked jail (key->program or
 * key->interpreter). The call works like warder_pool_launch(), with these differences:
 *   argv is not used. environment, progress and terminal_fd are refused (INVALID_REQUEST).
 *   If output_fds are one file, the order of writes to standard output and error is lost.
 *   With the interpreter "python", code is refused (INVALID_REQUEST) if it is not valid UTF-8, if it contains a
 *   NUL, or if one of its first two lines names a coding other than UTF-8 ("# coding: latin-1"): Python treats
 *   such a file in another way. Give it to warder_launch() as a file and run python3 there.
 *   If the jail is frozen or stopped after the check, Warder does not notice it: the run ends at limits.wallTime.
 *   Code that is longer than limits.code is refused (REJECTED).
 *   With WARDER_POOL_LAUNCH, an empty pool starts the program now. If it does not start, the call fails
 *   (EXECUTION_FAILED, NOT_FOUND). If the files that it loads have changed in each of three jails in a row, the call
 *   fails, too (UNAVAILABLE), and the pool starts the program again only after a second.
 * If a file has changed, the pool removes each jail whose program has mapped it, or has written its path to
 * descriptor 3. When the code has ended, the program ends, too, and the pool removes its jail: the next piece
 * of code gets another one. */
WARDER_API int warder_pool_code(struct warder_pool *pool, const struct warder_pool_key *key, const char *code,
				size_t len, const struct warder_command *command, struct warder_run **ret,
				struct warder_error *err);
/* End all parked jails, forget all keys, and wait until nothing is left of any jail: no process, no cgroup,
 * no descriptor. A launch or a fill in another thread that began before either succeeds before this call returns, or
 * fails with CONFLICT; one that begins meanwhile fails with CONFLICT. Afterwards, the pool parks jails again with the
 * next fill or launch. The call fails with CONFLICT if runs of the pool have not been freed. If something of a jail
 * could not be removed, the call fails with the first such error. */
WARDER_API int warder_pool_drain(struct warder_pool *pool, struct warder_error *err);
/* Return the statistics of the pool as a JSON object, or NULL if memory is missing. The caller frees the text
 * with free(). The members are
 *   keys          the number of keys
 *   states        the number of jails in each state
 *   parked        all jails that were parked since the pool was made
 *   handedOut     all jails that were handed out
 *   launched      launches for which no jail was ready, so that a new one was made. A launch of warder_pool_code() counts
 *                 in handedOut as well
 *   stale         jails removed because a new launch would show other files: the source of a mount was replaced, a
 *                 directory view has other entries or links, or another image has the name; or because a file
 *                 that the jail's program had loaded had changed
 *   changing      launches that failed because such files had changed in each of three jails in a row
 *   zygotes       with fork_server: all zygotes that were started
 *   forked        all jails that a zygote forked
 *   forkRefused   why the pool could not fork the jails of a key (the last such key), or null
 *   broken        jails removed because the check at the hand-out failed, or because they died after it and before
 *                 their program began
 *   evicted       jails removed to make room for another key or for the descriptors of a launch, or because the key
 *                 was unused for idle_us
 *   removed       all jails that are gone, for whatever reason
 *   pressed       true while memory is short and the pool keeps half as many jails
 *   partsReused   jails that got the network namespace of an ended one
 *   cgroupsReused jails that got the cgroups of an ended one
 *   partsRefused  an object that always has all its members, most of them 0. Warder keeps a used network namespace or
 *                 cgroup only if its files look as in a new one. Each member is the name of a file that differed, such
 *                 as "snmp" or "pids.peak"; its value is the number of namespaces or cgroups that were removed for
 *                 this reason. "unreadable": the files could not be read; "cgroup.kill": the cgroup was killed, which
 *                 also happens to parked jails that the pool removes */
WARDER_API char *warder_pool_stats(struct warder_pool *pool);
/* Drain and free a pool. Free all of its runs before. With NULL, it has no effect. */
WARDER_API void warder_pool_free(struct warder_pool *pool);

/* ---- result ----
 * If `result` is NULL, these functions return the following values:
 *   ""          warder_result_status(), _cause(), _backend(), _isolation() and _output()
 *   NULL        warder_result_passed_over() and _json()
 *   -1          warder_result_exit_code() and _held()
 *   0           warder_result_signal(), _spilled(), _wall_us() and _cpu_us()
 *   UINT64_MAX  warder_result_memory_peak() */
/* The status: "success", "failed", "compileFailed", "timeout" or "killed". */
WARDER_API const char *warder_result_status(const struct warder_result *result);
/* The cause of the end: "exit", "signal", "wallTime", "cpuTime", "memory", "output", "disk", "syscall",
 * "cancelled", "supervisor" (Warder's own process for the run died) or "host" (the host failed, for example a hung
 * kernel); for a WebAssembly module also "trap". A limit can also let a fork, a write or a packet fail; it is the
 * cause only if it ended the program. */
WARDER_API const char *warder_result_cause(const struct warder_result *result);
/* The backend ("local", ...), and its isolation ("namespaceJail", "containerEphemeral", "none", ...). */
WARDER_API const char *warder_result_backend(const struct warder_result *result);
WARDER_API const char *warder_result_isolation(const struct warder_result *result);
/* With the backend "auto", return the backends that were passed over, and why ("crun: ...; local: ..."). NULL
 * means that the first one was used, or that the backend was not "auto". */
WARDER_API const char *warder_result_passed_over(const struct warder_result *result);
/* The exit code; -1 if the program did not exit by itself. */
WARDER_API int warder_result_exit_code(const struct warder_result *result);
/* The signal that ended the program; 0 if no signal did. */
WARDER_API int warder_result_signal(const struct warder_result *result);
/* The bytes of a stream that the result keeps: *ret_len bytes and a final NUL. With on_output or output_fds,
 * the result keeps none. *ret_total is the number of bytes that the program wrote; UINT64_MAX if it is not
 * known, because the supervisor of the run died. */
WARDER_API const char *warder_result_output(const struct warder_result *result, enum warder_stream stream,
					    size_t *ret_len, uint64_t *ret_total);
/* The number of bytes of a stream that were written to the file of warder_spill, from the first byte on.
 * *ret_errno is 0, or the error of a failed write, after which nothing more was written; ret_errno may be
 * NULL. */
WARDER_API uint64_t warder_result_spilled(const struct warder_result *result, enum warder_stream stream,
					  int *ret_errno);
/* The n-th file that is held open, from 0. The call returns a descriptor for reading from the beginning,
 * which is closed with the result; or -1 if there are fewer files. *ret_path is relative to the working
 * directory; *ret_size is in bytes. */
WARDER_API int warder_result_held(const struct warder_result *result, size_t n, const char **ret_path,
				  uint64_t *ret_size);
/* Microseconds from the start of the program to its own end. Processes that it left running are ended later.
 * UINT64_MAX: not known, because the supervisor of the run died. */
WARDER_API uint64_t warder_result_wall_us(const struct warder_result *result);
/* CPU time of the program and its children, in microseconds; UINT64_MAX if it is not known. */
WARDER_API uint64_t warder_result_cpu_us(const struct warder_result *result);
/* The peak of memory, in bytes; UINT64_MAX if the kernel does not report it. */
WARDER_API uint64_t warder_result_memory_peak(const struct warder_result *result);
/* The whole result with its receipt as one JSON object. The caller frees it with free(). */
WARDER_API char *warder_result_json(const struct warder_result *result);
WARDER_API void warder_result_free(struct warder_result *result);

#ifdef __cplusplus
}
#endif

#endif
