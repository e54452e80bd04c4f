/*
 * library: the public functions, thin over policy/ and jail/.
 *
 * Public structs carry their size, so that a program built against an older header passes a shorter one: what
 * it does not know is zero, and zero always means "as before".
 * A result outlives its run and its template: everything in it is copied or moved out of the run.
 */
#include "runtime/library/library.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/text.h"
#include "jail/jail.h"
#include "runtime/library/changes.h"
#include "runtime/library/preparation.h"
#include "runtime/library/result.h"

_Static_assert(sizeof(struct warder_error) == 512 && offsetof(struct warder_error, sys_errno) == 4 &&
		   offsetof(struct warder_error, step) == 8 && offsetof(struct warder_error, field) == 40 &&
		   offsetof(struct warder_error, text) == 112,
	       "struct warder_error is part of the binary interface");
_Static_assert(WARDER_ERROR_UNSUPPORTED_POLICY == 1 && WARDER_ERROR_NOT_FOUND == 8 &&
		   WARDER_ERROR_INTERNAL == 11,
	       "the kinds of errors are part of the binary interface");

_Static_assert(sizeof(struct warder_file) == sizeof(struct rootfs_file) &&
		   offsetof(struct warder_file, bytes) == offsetof(struct rootfs_file, bytes) &&
		   offsetof(struct warder_file, len) == offsetof(struct rootfs_file, len) &&
		   offsetof(struct warder_file, mode) == offsetof(struct rootfs_file, mode),
	       "files of a launch are handed on as they are");

struct warder_template {
	const struct backend *backend;
	char *passed_over;      /* by auto, and why, or ""; owned */
	struct jail_host *host; /* owned; NULL after library_trim() */
	bool adopted;           /* its cgroups are a session's */
	struct jail_template *jail;
	uint64_t prepare_us;
	int owner_pid;
	atomic_int users;                      /* the caller, and each run */
	const struct library_session *session; /* that it is of; or NULL */
	void *owner;
};

/* A wait is begun by one call, perhaps continued by others, and ended by one. */
enum run_state {
	RUN_FREE, /* for the next call */
	RUN_BUSY, /* a call is at work */
	RUN_OVER, /* the result was taken, or failed */
};

struct warder_run {
	struct warder_template *tmpl;
	struct jail_run *jail;
	int (*on_output)(void *context, enum warder_stream stream, const char *bytes, size_t len);
	void *context;
	long (*on_input)(void *context, char *bytes, size_t size);
	void (*on_progress)(void *context, const char *line);
	struct functions *functions; /* owned; NULL: none */
	int (*finish)(void *owner, struct warder_result *result, struct warder_error *err);
	void (*release)(void *owner);
	void *owner;
	struct library_parked parked; /* .jail NULL: it was none of a pool's */
	bool streamed;                /* the output is handed on, not kept */
	uint64_t passed[2];           /* bytes that on_output took, by enum warder_stream */
	atomic_int state;             /* enum run_state */
	atomic_int users;             /* the caller, and a wait that is going on */
	struct jail_outcome *outcome; /* once supervision has begun, until the end */
	uint64_t started_ms;          /* since the epoch */
};

const char *warder_version(void)
{
	return WARDER_VERSION;
}

const char *warder_error_kind_name(uint32_t code)
{
	return error_kind_name(code);
}

/* ---- policy ---- */

static struct warder_policy *policy_new(struct warder_error *err)
{
	struct warder_policy *policy = calloc(1, sizeof(*policy));

	if (!policy)
		error_no_memory(err, NULL);
	return policy;
}

struct warder_policy *library_policy(const struct policy *policy, struct warder_error *err)
{
	struct warder_policy *copy = policy_new(err);

	if (copy && policy_copy(policy, &copy->policy, err) != 0) {
		free(copy);
		return NULL;
	}
	return copy;
}

int warder_policy_preset(const char *name, struct warder_policy **ret, struct warder_error *err)
{
	struct warder_policy *policy;

	if (!name || !ret)
		return error_no_argument(err, name ? "ret" : "name");
	policy = policy_new(err);
	if (!policy)
		return -1;
	if (policy_preset(name, &policy->policy, err) != 0) {
		free(policy);
		return -1;
	}
	*ret = policy;
	return 0;
}

int warder_policy_parse(const char *json, size_t len, const char *origin, struct warder_policy **ret,
			struct warder_error *err)
{
	struct warder_policy *policy;

	if (!json || !ret)
		return error_no_argument(err, json ? "ret" : "json");
	policy = policy_new(err);
	if (!policy)
		return -1;
	if (policy_decode(json, len, origin ? origin : "policy", &policy->policy, err) != 0) {
		free(policy);
		return -1;
	}
	*ret = policy;
	return 0;
}

int warder_policy_set(struct warder_policy *policy, const char *path, const char *value,
		      struct warder_error *err)
{
	if (!policy || !path || !value)
		return error_no_argument(err, !policy ? "policy" : !path ? "path" : "value");
	return policy_set(&policy->policy, path, value, err);
}

int warder_policy_provide(struct warder_policy *policy,
			  char *const *(*provide)(void *context, struct warder_error *err), void *context,
			  struct warder_error *err)
{
	char *const *rows;

	if (!policy || !provide)
		return error_no_argument(err, policy ? "provide" : "policy");
	rows = provide(context, err);
	return rows ? policy_provide(&policy->policy, environ, rows, err) : 1;
}

static int refuse_field(const char *path, struct warder_error *err)
{
	char remedy[100];

	return error_set(err, WARDER_ERROR_INVALID_REQUEST, path,
			 "\"%.80s\" is not a field that can be required or preferred; %s", path,
			 policy_suggest_field(path, remedy, sizeof(remedy)));
}

int warder_policy_require(struct warder_policy *policy, const char *path, int required,
			  struct warder_error *err)
{
	if (!policy || !path)
		return error_no_argument(err, policy ? "path" : "policy");
	return policy_prefer(&policy->policy, path, !required) == 0 ? 0 : refuse_field(path, err);
}

char *warder_policy_json(const struct warder_policy *policy)
{
	return policy ? policy_encode(&policy->policy) : NULL;
}

int warder_policy_granted(const struct warder_policy *policy, const struct warder_policy *ceiling, char **ret,
			  struct warder_error *err)
{
	owned_policy struct policy real = { 0 };
	struct json_writer writer = { 0 };
	char *text;

	if (!ret)
		return error_no_argument(err, "ret");
	if (policy && preparation_follow(&policy->policy, &real, err) != 0)
		return -1;
	policy_write_granted(ceiling ? &ceiling->policy : NULL, policy ? &policy->policy : NULL,
			     policy ? &real : NULL, &writer);
	text = json_take(&writer);
	if (!text)
		return error_no_memory(err, NULL);
	*ret = text;
	return 0;
}

void warder_policy_free(struct warder_policy *policy)
{
	if (!policy)
		return;
	policy_done(&policy->policy);
	free(policy);
}

/* ---- template ---- */

/* The host moves into the template, whose jails use it; the plan moves into the jail's; the rest has then been used. */
static int build_template(struct warder_template *tmpl, const struct policy *policy,
			  const struct preparation_options *how, bool single_use,
			  struct preparation *preparation, struct warder_error *err)
{
	if (preparation_build(policy, how, preparation, err) != 0)
		return -1;
	tmpl->backend = preparation->backend;
	tmpl->adopted = how->joint && !how->beside;
	tmpl->passed_over = strdup(preparation->passed_over);
	if (!tmpl->passed_over)
		return error_no_memory(err, NULL);
	if (jail_prepare(&preparation->plan, preparation->host, !single_use, &tmpl->jail, err) != 0)
		return -1;
	tmpl->host = preparation->host;
	preparation->host = NULL;
	return 0;
}

int library_prepare(const struct policy *policy, const struct preparation_options *how, bool single_use,
		    struct warder_template **ret, struct warder_error *err)
{
	struct warder_template *tmpl = calloc(1, sizeof(*tmpl));
	struct preparation *preparation = calloc(1, sizeof(*preparation));
	struct preparation_options launching = *how;
	const uint64_t start = clock_us();
	int prepared = -1;

	launching.launches = true;
	if (tmpl && preparation)
		prepared = build_template(tmpl, policy, &launching, single_use, preparation, err);
	else
		error_no_memory(err, NULL);
	if (preparation)
		preparation_done(preparation);
	free(preparation);
	if (prepared != 0) {
		if (tmpl)
			free(tmpl->passed_over);
		free(tmpl);
		return -1;
	}
	tmpl->owner_pid = getpid();
	atomic_init(&tmpl->users, 1);
	tmpl->prepare_us = clock_us() - start;
	*ret = tmpl;
	return 0;
}

static void drop_host(struct warder_template *tmpl)
{
	if (tmpl->host)
		jail_host_done(tmpl->host);
	free(tmpl->host);
	tmpl->host = NULL;
}

void library_trim(struct warder_run *run, const struct warder_run *like)
{
	jail_run_trim(run->jail, like ? like->jail : NULL);
	if (!run->tmpl->adopted)
		return;
	jail_run_trim_host(run->jail);
	drop_host(run->tmpl);
}

int warder_prepare(const struct warder_policy *policy, const struct warder_options *options,
		   struct warder_template **ret, struct warder_error *err)
{
	struct warder_options known = { 0 };
	struct preparation_options how = { 0 };

	if (!policy || !ret)
		return error_no_argument(err, policy ? "ret" : "policy");
	if (options &&
	    library_take(&known, sizeof(known), options, options->size, "warder_options", err) != 0)
		return -1;
	how.ceiling = known.ceiling ? &known.ceiling->policy : NULL;
	how.cgroup_parent = known.cgroup_parent;
	how.builds_image = known.builds_image;
	how.backend = known.backend;
	how.backends = known.backends;
	return library_prepare(&policy->policy, &how, known.single_use, ret, err);
}

void warder_template_free(struct warder_template *tmpl)
{
	/* In a fork nothing of it is ours to give back: the jails, the id ranges and the cgroups are the parent's. */
	if (!tmpl || tmpl->owner_pid != getpid() || atomic_fetch_sub(&tmpl->users, 1) > 1)
		return;
	jail_template_free(tmpl->jail);
	drop_host(tmpl);
	if (tmpl->session)
		tmpl->session->release(tmpl->owner);
	free(tmpl->passed_over);
	free(tmpl);
}

struct jail_template *library_jail_template(const struct warder_template *tmpl)
{
	return tmpl->jail;
}

struct warder_template *library_template_hold(struct warder_template *tmpl)
{
	atomic_fetch_add(&tmpl->users, 1);
	return tmpl;
}

void library_own(struct warder_template *tmpl, const struct library_session *session, void *owner)
{
	tmpl->session = session;
	tmpl->owner = owner;
}

/* ---- run ---- */

static int hand_on(void *context, enum jail_stream stream, const char *bytes, size_t len)
{
	const enum warder_stream to = stream == JAIL_STDERR ? WARDER_STDERR : WARDER_STDOUT;
	struct warder_run *run = context;

	if (run->on_output(run->context, to, bytes, len) != 0)
		return -1;
	run->passed[to] += len;
	return 0;
}

static long hand_input(void *context, char *bytes, size_t size)
{
	const struct warder_run *run = context;

	return run->on_input(run->context, bytes, size);
}

static void hand_progress(void *context, const char *line)
{
	const struct warder_run *run = context;

	run->on_progress(run->context, line);
}

/* Before the launch: the program's end of the socket, and what the supervision watches. */
static int add_functions(struct warder_run *run, const struct library_launch *launch,
			 struct jail_command *command, struct warder_error *err)
{
	const struct policy *policy = launch->parked && launch->parked->given
					  ? launch->parked->given->policy
					  : &jail_template_plan(run->tmpl->jail)->policy;

	struct library_functions asked = launch->functions;

	if (!asked.count)
		return 0;
	asked.progress = command->progress;
	if (functions_open(&asked, policy, &run->functions, &command->calls_fd, err) != 0)
		return -1;
	command->watch_fd = functions_fd(run->functions);
	command->on_watch = functions_serve;
	command->watch_context = run->functions;
	return 0;
}

static int begin_run(struct warder_run *run, const struct jail_command *command, struct warder_error *err)
{
	const struct library_parked *parked = &run->parked;

	if (!parked->jail)
		return jail_launch(run->tmpl->jail, command, &run->jail, err);
	return parked->work ? jail_feed(parked->jail, command, parked->work, parked->work_len, err)
			    : jail_hand_out(parked->jail, command, err);
}

int library_launch(struct warder_template *tmpl, const struct library_launch *launch, struct warder_run **ret,
		   struct warder_error *err)
{
	struct warder_run *run = calloc(1, sizeof(*run));
	struct jail_command command = launch->command;

	if (run) {
		run->tmpl = tmpl;
		atomic_init(&run->users, 1);
		run->on_output = launch->on_output;
		run->context = launch->output_context;
		run->on_input = launch->on_input;
		run->on_progress = launch->on_progress;
		run->finish = launch->finish;
		run->release = launch->release;
		run->owner = launch->owner;
		run->parked = launch->parked ? *launch->parked : (struct library_parked){ 0 };
		run->jail = run->parked.jail;
		run->streamed = launch->on_output || command.output_fds;
		run->started_ms = clock_wall_ms();
	}
	command.on_output = launch->on_output ? hand_on : NULL;
	command.on_input = launch->on_input ? hand_input : NULL;
	command.on_progress = launch->on_progress ? hand_progress : NULL;
	command.context = run;
	command.given = launch->parked ? launch->parked->given : NULL;
	if (!run || add_functions(run, launch, &command, err) != 0 || begin_run(run, &command, err) != 0) {
		if (launch->release)
			launch->release(launch->owner);
		if (!run)
			return error_no_memory(err, NULL);
		if (tmpl->session)
			tmpl->session->tell_failure(tmpl->owner, err);
		functions_free(run->functions);
		free(run);
		return -1;
	}
	if (run->functions)
		functions_launched(run->functions);
	atomic_fetch_add(&tmpl->users, 1);
	*ret = run;
	return 0;
}

int library_take_spill(const struct warder_spill *spill, struct jail_command *command, bool *ret_hold,
		       struct warder_error *err)
{
	struct warder_spill known = { 0 };
	struct stat st;

	if (spill && library_take(&known, sizeof(known), spill, spill->size, "warder_spill", err) != 0)
		return -1;
	*ret_hold = known.hold_files;
	for (size_t i = 0; known.fds && i < 2; i++) {
		if (known.fds[i] >= 0 && (fstat(known.fds[i], &st) != 0 || !S_ISREG(st.st_mode)))
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, "spill",
					 "descriptor %d is not a regular file", known.fds[i]);
	}
	command->spill_fds = known.fds;
	command->spill_bytes = known.bytes_max;
	return 0;
}

/* What an image starts where no program is named: a row of its own words, heap. NULL with *err. */
static char **take_own_program(const struct image *image, struct warder_error *err)
{
	char *const *const parts[] = { image->entrypoint, image->command };
	char **argv = calloc(IMAGE_STRINGS_MAX * 2 + 1, sizeof(*argv));
	size_t count = 0;

	if (!argv) {
		error_no_memory(err, NULL);
		return NULL;
	}
	for (size_t i = 0; i < 2; i++)
		for (char *const *word = parts[i]; word && *word; word++)
			argv[count++] = *word;
	if (count == 0) {
		error_set(err, WARDER_ERROR_INVALID_REQUEST, "argv",
			  image->name
			      ? "there is no program to run, and the image %.128s names none; say which one"
			      : "there is no program to run",
			  image->name);
		free(argv);
		return NULL;
	}
	return argv;
}

/* A descriptor that is open for `mode` (O_RDONLY or O_WRONLY). */
static bool is_open_for(int fd, int mode)
{
	const int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && !(flags & O_PATH) &&
	       ((flags & O_ACCMODE) == O_RDWR || (flags & O_ACCMODE) == mode);
}

static bool is_directory(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
}

static int check_environment(char *const *environment, struct warder_error *err)
{
	for (size_t i = 0; environment && environment[i]; i++) {
		const char *entry = environment[i];

		if (entry[0] == '=' || !strchr(entry, '='))
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, "environment",
					 "environment[%zu]: \"%.80s\" is not NAME=value", i, entry);
	}
	return 0;
}

int library_check_streams(const struct library_streams *streams, struct warder_error *err)
{
	if (!streams->input && streams->input_len)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "input",
				 "input is NULL, and input_len is %zu; give both or neither",
				 streams->input_len);
	if (streams->input && streams->input_fd != 0)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "input_fd",
				 "input and input_fd (%d) are both given; give one of them",
				 streams->input_fd);
	if (streams->on_input && (streams->input || streams->input_fd != 0))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "on_input",
				 "on_input and %s are both given; give one of them",
				 streams->input ? "input" : "input_fd");
	if (streams->input_fd != 0 && !is_open_for(streams->input_fd, O_RDONLY))
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, "input_fd",
		    "input_fd: descriptor %d is not open for reading; 0 means that there is none",
		    streams->input_fd);
	if (streams->input_fd != 0 && is_directory(streams->input_fd))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "input_fd",
				 "standard input is a directory, which a program cannot read; give a file or "
				 "a pipe");
	if (streams->terminal_fd != 0 && (streams->input || streams->on_input || streams->input_fd != 0))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "terminal_fd",
				 "terminal_fd (%d) and %s are both given; give one of them",
				 streams->terminal_fd,
				 streams->input      ? "input"
				 : streams->on_input ? "on_input"
						     : "input_fd");
	if (streams->terminal_fd < 0)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "terminal_fd",
				 "terminal_fd: %d is not a descriptor; 0 means that there is none",
				 streams->terminal_fd);
	for (int i = 0; streams->output_fds && i < 2; i++) {
		if (!is_open_for(streams->output_fds[i], O_WRONLY))
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, "output_fds",
					 "%s: descriptor %d (output_fds[%d]) is not open for writing",
					 i == 0 ? "standard output" : "standard error",
					 streams->output_fds[i], i);
	}
	if (streams->output_fds && streams->on_output)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "output_fds",
				 "output_fds and on_output are both given; give one of them");
	if (streams->output_max && !streams->output_fds)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "output_max",
				 "output_max limits the output to output_fds, which is NULL; "
				 "output.stdout and output.stderr of the policy limit a result");
	return check_environment(streams->environment, err);
}

/* The caller's variables, and one more: a heap list of borrowed strings. NULL: no memory. */
static char **with_variable(char *const *environment, const char *variable)
{
	const size_t count = text_count(environment);
	char **list = calloc(count + 2, sizeof(*list));

	for (size_t i = 0; list && i < count; i++)
		list[i] = environment[i];
	if (list)
		list[count] = (char *)(uintptr_t)variable;
	return list;
}

static struct jail_command jail_command_of(const struct warder_command *known)
{
	return (struct jail_command){
		.argv = known->argv,
		.set_env = known->environment,
		.stdin_data = known->input,
		.stdin_len = known->input ? known->input_len : 0,
		.stdin_fd = known->input_fd > 0 ? known->input_fd : -1,
		.no_receipt = known->no_receipt,
		.progress = known->progress,
		.terminal_fd = known->terminal_fd,
		.output_fds = known->output_fds,
		.output_max = known->output_max,
		.should_stop = known->should_stop,
		.stop_context = known->context,
		.files = (const struct rootfs_file *)known->files,
		.file_count = known->files ? known->file_count : 0,
	};
}

static int launch_command(struct warder_template *tmpl, const struct warder_command *known,
			  const struct library_parked *parked, int calls_fd, struct warder_run **ret,
			  struct warder_error *err)
{
	const struct library_streams streams = {
		.environment = known->environment,
		.input = known->input,
		.input_len = known->input_len,
		.input_fd = known->input_fd,
		.on_input = known->on_input != NULL,
		.terminal_fd = known->terminal_fd,
		.output_fds = known->output_fds,
		.on_output = known->on_output != NULL,
		.output_max = known->output_max,
	};
	bool hold;
	struct library_launch launch = { 0 };
	struct changes_taking *taking;

	if (library_check_streams(&streams, err) != 0)
		return -1;

	launch.parked = parked;
	launch.on_output = known->on_output;
	launch.on_input = known->on_input;
	launch.output_context = known->context;
	launch.on_progress = known->on_progress;
	launch.functions = (struct library_functions){
		.rows = known->functions,
		.count = known->functions ? known->function_count : 0,
		.on_call = known->on_call,
		.context = known->context,
	};
	launch.command = jail_command_of(known);
	launch.command.calls_fd = calls_fd;
	if (library_take_spill(known->spill, &launch.command, &hold, err) != 0)
		return -1;
	if (changes_taking_new(known, jail_template_plan(tmpl->jail), &taking, err) != 0)
		return -1;
	if (taking) {
		launch.command.on_upper = changes_taking_upper;
		launch.command.upper_context = taking;
		launch.finish = changes_taking_finish;
		launch.release = changes_taking_free;
		launch.owner = taking;
	}
	return library_launch(tmpl, &launch, ret, err);
}

int library_launch_command(struct warder_template *tmpl, const struct warder_command *command,
			   const struct library_parked *parked, int calls_fd, struct warder_run **ret,
			   struct warder_error *err)
{
	struct warder_command known;
	char **own = NULL, **environment = NULL;
	int launched;

	if (library_take(&known, sizeof(known), command, command->size, "warder_command", err) != 0)
		return -1;
	if ((!known.argv || !known.argv[0]) && !(parked && parked->work)) {
		own = take_own_program(&jail_template_plan(tmpl->jail)->rootfs.image, err);
		if (!own)
			return -1;
		known.argv = own;
	}
	if (known.progress || known.function_count || calls_fd > 0) {
		environment = with_variable(known.environment, known.progress ? "WARDER_PROGRESS=/dev/fd/5"
									      : FUNCTIONS_VARIABLE "=5");
		if (!environment) {
			free(own);
			return error_no_memory(err, NULL);
		}
		known.environment = environment;
	}
	launched = launch_command(tmpl, &known, parked, calls_fd, ret, err);
	free(environment);
	free(own);
	return launched;
}

int warder_launch(struct warder_template *tmpl, const struct warder_command *command, struct warder_run **ret,
		  struct warder_error *err)
{
	if (!tmpl || !command || !ret)
		return error_no_argument(err, !tmpl ? "tmpl" : !command ? "command" : "ret");
	return library_launch_command(tmpl, command, NULL, 0, ret, err);
}

static void drop_outcome(struct warder_run *run)
{
	if (!run->outcome)
		return;
	jail_outcome_done(run->outcome);
	free(run->outcome);
	run->outcome = NULL;
}

/* The last one to let go of it. */
static void release_run(struct warder_run *run)
{
	if (atomic_fetch_sub(&run->users, 1) > 1)
		return;
	if (run->parked.jail) {
		run->parked.give_back(run->parked.pool_owner, run->jail, run->tmpl);
	} else {
		jail_run_free(run->jail);
		warder_template_free(run->tmpl);
		if (run->parked.give_back)
			run->parked.give_back(run->parked.pool_owner, NULL, NULL);
	}
	drop_outcome(run); /* of a run that nobody saw to its end */
	functions_free(run->functions);
	if (run->release)
		run->release(run->owner);
	free(run);
}

static void leave(struct warder_run *run, enum run_state state)
{
	atomic_store(&run->state, state);
	release_run(run);
}

/* What no kernel shows, and so cannot be read back. */
static void add_layer(const struct backend *backend, struct policy_receipt *receipt)
{
	struct policy_receipt_row *row =
	    backend->layer ? policy_receipt_add(receipt, backend->name, POLICY_RECEIPT_HARDENING) : NULL;

	if (backend->layer) /* it is within the jail that was read back, and more than that */
		receipt->isolation = backend->isolation;
	if (!row)
		return;
	snprintf(row->mechanism, sizeof(row->mechanism), "%s", backend->layer);
	snprintf(row->source, sizeof(row->source), "not read back: no kernel shows it");
}

static int make_result(struct warder_run *run, struct warder_result *result, struct warder_error *err)
{
	const struct jail_plan *plan = jail_template_plan(run->tmpl->jail);

	if (jail_supervise_end(run->jail, err) != 0)
		return -1;
	result->outcome = *run->outcome;
	free(run->outcome);
	run->outcome = NULL;
	if (result->outcome.session_ended && run->tmpl->session)
		result->session_end = run->tmpl->session->tell_end(run->tmpl->owner, &result->outcome);
	jail_run_copy_receipt(run->jail, &result->receipt);
	if (run->functions && result_end_functions(result, run->functions, err) != 0)
		return -1;
	result->backend = run->tmpl->backend->name;
	strcpy(result->passed_over, run->tmpl->passed_over);
	add_layer(run->tmpl->backend, &result->receipt);
	snprintf(result->receipt.backend, sizeof(result->receipt.backend), "%s", result->backend);
	result->streamed = run->streamed;
	for (size_t i = 0; i < 2; i++)
		result->passed[i] = run->passed[i] + result->outcome.passed[i];
	result->uid = plan->uid;
	result->gid = plan->gid;
	result->prepare_us = run->tmpl->prepare_us;
	result->started_ms = run->started_ms;
	if (plan->policy.network.mode == POLICY_NETWORK_LEARN &&
	    learned_new(&plan->policy, result->outcome.network, &result->learned, err) != 0)
		return -1;
	return run->finish ? run->finish(run->owner, result, err) : 0;
}

/* The run is this call's until leave(). -1 with *err. */
static int enter(struct warder_run *run, struct warder_error *err)
{
	int state = RUN_FREE;

	if (run->tmpl->owner_pid != getpid())
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL,
				 "the run belongs to process %d, which this one was forked from",
				 run->tmpl->owner_pid);
	if (!atomic_compare_exchange_strong(&run->state, &state, RUN_BUSY))
		return error_set(err, WARDER_ERROR_CONFLICT, NULL,
				 state == RUN_OVER
				     ? "the run has been waited for already"
				     : "another call waits for the run (in another thread, or the one that "
				       "called on_output)");
	atomic_fetch_add(&run->users, 1);
	if (run->outcome)
		return 0;
	run->outcome = calloc(1, sizeof(*run->outcome));
	if (run->outcome && jail_supervise_begin(run->jail, run->outcome, err) == 0)
		return 0;
	if (!run->outcome)
		error_no_memory(err, NULL);
	free(run->outcome);
	run->outcome = NULL;
	leave(run, RUN_FREE);
	return -1;
}

/* At most until the clock is at until_us, unless the run is freed meanwhile: nobody else would see it to its end. */
static bool drive(struct warder_run *run, uint64_t until_us)
{
	for (;;) {
		const uint64_t now = clock_us();
		const bool is_last = atomic_load(&run->users) == 1;
		const uint64_t most_us = until_us == UINT64_MAX || is_last ? UINT64_MAX
					 : until_us > now                  ? until_us - now
									   : 0;

		if (jail_supervise_step(run->jail, most_us))
			return true;
		if (most_us == 0 && atomic_load(&run->users) > 1)
			return false;
	}
}

static int wait_until(struct warder_run *run, uint64_t until_us, struct warder_result **ret,
		      struct warder_error *err)
{
	struct warder_result *result;

	if (!run || !ret)
		return error_no_argument(err, run ? "ret" : "run");
	if (enter(run, err) != 0)
		return -1;
	if (!drive(run, until_us)) {
		leave(run, RUN_FREE);
		return 0;
	}
	result = result_new();
	if (!result)
		error_no_memory(err, NULL);
	if (!result || make_result(run, result, err) != 0) {
		warder_result_free(result); /* the output that was kept until then, too */
		drop_outcome(run);
		leave(run, RUN_OVER);
		return -1;
	}
	*ret = result;
	leave(run, RUN_OVER);
	return 1;
}

int warder_wait(struct warder_run *run, struct warder_result **ret, struct warder_error *err)
{
	return wait_until(run, UINT64_MAX, ret, err) < 0 ? -1 : 0;
}

int warder_wait_for(struct warder_run *run, uint64_t timeout_us, struct warder_result **ret,
		    struct warder_error *err)
{
	const uint64_t now = clock_us();

	return wait_until(run, timeout_us < UINT64_MAX - now ? now + timeout_us : UINT64_MAX, ret, err);
}

int warder_run_dispatch(struct warder_run *run, struct warder_result **ret, struct warder_error *err)
{
	return wait_until(run, 0, ret, err);
}

int warder_run_fd(struct warder_run *run, struct warder_error *err)
{
	int fd;

	if (!run)
		return error_no_argument(err, "run");
	if (enter(run, err) != 0)
		return -1;
	fd = jail_supervise_fd(run->jail, err);
	leave(run, RUN_FREE);
	return fd;
}

void warder_cancel(struct warder_run *run)
{
	if (run)
		jail_cancel(run->jail);
}

void warder_stop(struct warder_run *run, int signal, uint64_t grace_us)
{
	if (run && signal > 0)
		jail_stop(run->jail, signal, grace_us);
}

void warder_run_input_ready(struct warder_run *run)
{
	if (run)
		jail_input_ready(run->jail);
}

int warder_run_answer(struct warder_run *run, uint64_t call, const char *result, const char *error,
		      struct warder_error *err)
{
	if (!run)
		return error_no_argument(err, "run");
	if (!run->functions)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "functions",
				 "the run has no functions of the host");
	return functions_answer(run->functions, call, result, error, err);
}

bool library_signal(const struct warder_run *run, int signal)
{
	return jail_signal(run->jail, signal);
}

const struct jail_run *library_jail(const struct warder_run *run)
{
	return run->jail;
}

void library_count(const struct warder_run *run, struct jail_counters *ret)
{
	jail_count(run->jail, ret);
}

bool library_input_is_over(const struct warder_run *run)
{
	return jail_input_is_over(run->jail);
}

void library_hold_output(const struct warder_run *run, bool held)
{
	jail_hold_output(run->jail, held);
}

void library_copy_output(const struct warder_run *run,
			 void (*on_copy)(void *context, enum jail_stream stream, const char *bytes,
					 size_t len),
			 void *context)
{
	jail_copy_output(run->jail, on_copy, context);
}

void library_pause_clock(const struct warder_run *run, bool paused)
{
	jail_pause_clock(run->jail, paused);
}

unsigned int warder_run_published(const struct warder_run *run, size_t row)
{
	return run ? jail_run_published(run->jail, row) : 0;
}

void warder_resize(struct warder_run *run)
{
	if (run)
		jail_resize(run->jail);
}

void warder_run_free(struct warder_run *run)
{
	if (!run || run->tmpl->owner_pid != getpid())
		return;
	/* Somebody waits for it: he gets a result soon, and lets go of it last. */
	if (atomic_load(&run->users) > 1)
		jail_cancel(run->jail);
	release_run(run);
}
