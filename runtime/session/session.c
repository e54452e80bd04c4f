/*
 * session: the public calls. Whoever executes in a session speaks to its keeper once, gets the descriptors of what he joins, and goes on
 * as in any launch: template, run and result are the same. Nothing is shared between executions but the session itself.
 */
#include "runtime/session/attachment.h"
#include "runtime/session/session.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/fd.h"
#include "runtime/library/changes.h"
#include "runtime/library/library.h"
#include "runtime/library/preparation.h"
#include "runtime/session/elsewhere.h"
#include "runtime/session/records.h"

#define WORD_WAIT_MS 5000 /* for the keeper of a session that has ended */
#define COPY_TRIES   10   /* of 50 ms */

static int not_running(const char *name, struct warder_error *err)
{
	if (elsewhere_check_here(name, err) < 0)
		return -1;
	return error_set(err, WARDER_ERROR_NOT_FOUND, "name",
			 "session %.64s does not run; \"warder session start %.64s\" starts it", name, name);
}

/* ---- finding ---- */

/* Ask its keeper, with a memory file or -1. 0 with the connection; 1: it does not run; -1 with *err. */
static int ask(const char *name, struct session_request *request, int file_fd, int *ret_fd,
	       struct warder_error *err)
{
	owned_fd int dir_fd = -1;
	owned_fd int fd = -1;
	int ret;

	if (session_check_name(name, err) < 0)
		return -1;
	if (session_directory_open(false, &dir_fd, err) < 0)
		return err->code == WARDER_ERROR_NOT_FOUND ? 1 : -1;
	ret = session_connect(dir_fd, name, &fd, err);
	if (ret != 0)
		return ret;
	if (session_send_request(fd, request, file_fd, err) < 0)
		return 1; /* it ends just now */
	*ret_fd = fd_take(&fd);
	return 0;
}

static bool same_id(const struct session_spec *a, const struct session_spec *b)
{
	return a->id && b->id && strcmp(a->id, b->id) == 0;
}

static struct warder_session *session_new(char *description, struct warder_error *err)
{
	struct warder_session *session = calloc(1, sizeof(*session));

	if (!session) {
		error_no_memory(err, NULL);
	} else if (session_spec_parse(description, strlen(description), true, &session->spec, err) == 0) {
		session->description = description;
		return session;
	}
	free(session);
	free(description);
	return NULL;
}

/* Whether the keeper that was asked ended instead of answering, as session_receive_reply() says it. With a number, it is we who lack
 * something; with another field or none, the keeper itself refuses. */
static bool is_silent(const struct warder_error *err)
{
	return err->code == WARDER_ERROR_UNAVAILABLE && !err->sys_errno && strcmp(err->field, "name") == 0;
}

/* As ask(); 2: it is being set up. */
static int find(const char *name, struct warder_session **ret, struct warder_error *err)
{
	struct session_request request = { .type = SESSION_DESCRIBE };
	owned_fd int fd = -1;
	char *description = NULL;
	int asked = ask(name, &request, -1, &fd, err);

	if (asked != 0)
		return asked;
	if (session_receive_reply(fd, &description, NULL, err) < 0)
		return err->code == WARDER_ERROR_CONFLICT ? 2 : is_silent(err) ? 1 : -1;
	*ret = session_new(description, err);
	return *ret ? 0 : -1;
}

int warder_session_open(const char *name, struct warder_session **ret, struct warder_error *err)
{
	int found;

	if (!ret)
		return error_no_argument(err, "ret");
	found = find(name, ret, err);
	if (found == 2)
		return error_set(err, WARDER_ERROR_NOT_FOUND, "name",
				 "session %.64s is being set up; try again", name);
	return found > 0 ? not_running(name, err) : found;
}

int session_open_to_run(const char *name, struct warder_session **ret, struct warder_error *err)
{
	struct remote *owner = NULL;
	char *description = NULL;
	int opened;

	if (session_check_name(name, err) < 0)
		return -1;
	opened = remote_open_owner(name, &owner, &description, err);
	if (opened > 0)
		return warder_session_open(name, ret, err);
	if (opened < 0)
		return -1;
	*ret = session_new(description, err);
	if (!*ret) {
		remote_free(owner);
		return -1;
	}
	(*ret)->owner = owner;
	return 0;
}

bool session_runs_by_keeper(const struct warder_session *session)
{
	return session->owner != NULL;
}

int warder_session_is_running(const char *name, struct warder_error *err)
{
	struct warder_session *session = NULL;
	int found = find(name, &session, err);

	warder_session_free(session);
	return found < 0 ? -1 : found == 0;
}

/* ---- joining ---- */

void session_detach(void *owner)
{
	struct attachment *attachment = owner;

	session_joint_done(&attachment->joint);
	fd_done(&attachment->fd);
	free(attachment->root);
	free(attachment);
}

/* Its keeper has closed the connection: the session ends, or the keeper is older than the request. */
static void not_joined(const struct session_spec *spec, struct warder_error *err)
{
	struct warder_session *now = NULL;

	if (find(spec->name, &now, err) == 0 && same_id(spec, &now->spec))
		error_set(
		    err, WARDER_ERROR_UNAVAILABLE, NULL,
		    "session %.64s was started by an older version of Warder, which cannot do that; start "
		    "the session again",
		    spec->name);
	else
		not_running(spec->name, err);
	warder_session_free(now);
}

static struct attachment *attach(const struct session_spec *spec, enum session_request_type how,
				 struct warder_error *err)
{
	struct session_request request = { .type = how, .rules = spec->rules };
	struct attachment *attachment = calloc(1, sizeof(*attachment));
	int asked;

	if (!attachment) {
		error_no_memory(err, NULL);
		return NULL;
	}
	snprintf(request.id, sizeof(request.id), "%s", spec->id);
	attachment->fd = -1;
	for (int i = 0; i < JAIL_JOINT_FDS; i++)
		attachment->joint.fds[i] = -1;
	asked = ask(spec->name, &request, -1, &attachment->fd, err);
	if (asked == 0 &&
	    session_receive_reply(attachment->fd, &attachment->root, &attachment->joint, err) == 0)
		return attachment;
	if (asked > 0 || (asked == 0 && is_silent(err)))
		not_joined(spec, err);
	session_detach(attachment);
	return NULL;
}

/* The processes of an execution that has just ended take a moment to die, and a copy is refused until then. */
struct attachment *session_attach(const struct session_spec *spec, enum session_request_type how,
				  struct warder_error *err)
{
	const struct timespec pause = { .tv_nsec = 50000000 };

	for (int tries = how == SESSION_COPY || how == SESSION_SAVE ? COPY_TRIES : 1;;
	     nanosleep(&pause, NULL)) {
		struct attachment *attachment = attach(spec, how, err);

		if (attachment || --tries == 0 || err->code != WARDER_ERROR_CONFLICT ||
		    strcmp(err->field, "session") != 0)
			return attachment;
	}
}

/* ---- starting ---- */

/* As the keeper of a new one would, or of one that runs: there its paths are those of its start, whatever has their names now. */
static int check_plan(const struct session_spec *spec, const struct attachment *runs,
		      struct warder_error *err)
{
	const struct preparation_options how = { .ceiling = spec->has_ceiling ? &spec->ceiling : NULL,
						 .cgroup_parent = spec->cgroup_parent,
						 .backend = spec->backend,
						 .backends = spec->backends,
						 .joint = runs ? &runs->joint : NULL,
						 .root = runs ? runs->root : NULL };
	struct preparation preparation = { 0 };
	int ret;

	ret = preparation_build(&spec->policy, &how, &preparation, err);
	preparation_done(&preparation);
	return ret;
}

/* 0: it is; 1: it ended meanwhile; -1 with *err. */
static int check_same(const struct session_spec *wanted, const struct warder_session *found,
		      struct warder_error *err)
{
	const char *what = session_spec_difference(wanted, &found->spec);
	struct attachment *attachment;
	int ret;

	if (what)
		return error_set(
		    err, WARDER_ERROR_CONFLICT, "name",
		    "session %.64s runs already, with another %s; stop it first, or take another name",
		    wanted->name, what);
	if (!wanted->has_ceiling)
		return 0;
	attachment = session_attach(
	    &found->spec,
	    found->spec.capabilities == WARDER_SESSION_FILESYSTEM ? SESSION_FILES : SESSION_JOIN, err);
	if (!attachment)
		return err->code == WARDER_ERROR_NOT_FOUND ? 1 : -1;
	ret = check_plan(wanted, attachment, err);
	session_detach(attachment);
	return ret;
}

/* Each command of the setup may take the policy's wall time, which may be without an end. */
static uint64_t start_deadline(const struct session_spec *spec)
{
	const uint64_t begin = clock_us() + SESSION_START_US;

	if (spec->setup_count && spec->policy.limits.wall_time_us == POLICY_UNLIMITED)
		return UINT64_MAX;
	return begin + spec->setup_count * spec->policy.limits.wall_time_us;
}

/* Others may start it at the same time, or end it: until one of us has it. */
static int start(const struct session_spec *spec, const char *program, int (*came)(void *context),
		 struct warder_session **ret, struct warder_error *err)
{
	const uint64_t deadline = start_deadline(spec);
	const struct timespec pause = { .tv_nsec = 20000000 };
	bool started = false;

	program = starter_program(program, err);
	if (!program)
		return -1;
	for (;;) {
		struct warder_session *session = NULL;
		int got = find(spec->name, &session, err);

		if (got == 0 && spec->copy_of && !started)
			got =
			    error_set(err, WARDER_ERROR_CONFLICT, "name",
				      "session %.64s runs already, and a copy is a new session; take another "
				      "name",
				      spec->name);
		if (got == 0)
			got = check_same(spec, session, err);
		if (got == 0) {
			*ret = session;
			return 0;
		}
		warder_session_free(session);
		if (got < 0)
			return -1;
		got = starter_begin(spec, program, came, err);
		if (got < 0)
			return -1;
		started |= got == 0;
		if (got > 0 && came && came(NULL))
			return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL, "the start was interrupted");
		if (clock_us() > deadline)
			return error_set(err, WARDER_ERROR_UNAVAILABLE, "name",
					 "another process starts or ends session %.64s, and does not finish",
					 spec->name);
		if (got > 0)
			nanosleep(&pause, NULL);
	}
}

/* Borrowed from the caller's memory, but for the policies. Nothing of it but these is to be freed. */
static int fill_spec(const char *name, const struct warder_session_options *known, struct session_spec *ret,
		     struct warder_error *err)
{
	*ret = (struct session_spec){
		.name = (char *)(uintptr_t)name,
		.policy = known->policy->policy,
		.has_ceiling = known->ceiling != NULL,
		.setup = (char **)(uintptr_t)known->setup,
		.setup_count = known->setup ? known->setup_count : 0,
		.lifetime_us = known->lifetime_us,
		.idle_us = known->idle_us,
		.cgroup_parent = (char *)(uintptr_t)known->cgroup_parent,
		.backend = (char *)(uintptr_t)known->backend,
		.backends = (char *)(uintptr_t)known->backends,
		.capabilities = known->capabilities,
	};
	if (known->capabilities & ~(unsigned int)SESSION_CAPABILITIES)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "capabilities",
				 "unknown capabilities %#x", known->capabilities);
	if (known->ceiling)
		ret->ceiling = known->ceiling->policy;
	for (size_t i = 0; i < ret->policy.network.publish.count; i++)
		if (ret->policy.network.publish.items[i].host_port == 0)
			return error_set(
			    err, WARDER_ERROR_INVALID_REQUEST, "network.publish",
			    "network.publish[%zu]: a session cannot report a port that Warder picks; "
			    "name a port of the host instead of 0",
			    i);
	if (ret->setup_count > SESSION_SETUP_MAX)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "setup", "more than %d set-up commands",
				 SESSION_SETUP_MAX);
	if (ret->lifetime_us > SESSION_TIME_MAX_US || ret->idle_us > SESSION_TIME_MAX_US)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "lifetime", "at most 30 days");
	return session_check_name(name, err);
}

int warder_session_start(const char *name, const struct warder_session_options *options,
			 struct warder_session **ret, struct warder_error *err)
{
	return session_start(name, options, NULL, NULL, ret, err);
}

int session_start(const char *name, const struct warder_session_options *options,
		  const struct session_origin *origin, int (*came)(void *context),
		  struct warder_session **ret, struct warder_error *err)
{
	struct warder_session_options known;
	struct session_spec spec;
	char backends[PATH_MAX];

	if (!name || !options || !ret)
		return error_no_argument(err, !name ? "name" : !options ? "options" : "ret");
	if (library_take(&known, sizeof(known), options, options->size, "warder_session_options", err) != 0)
		return -1;
	if (!known.policy)
		return error_no_argument(err, "options->policy");
	if (fill_spec(name, &known, &spec, err) < 0 || elsewhere_check_here(name, err) < 0)
		return -1;
	if (origin) {
		spec.store = origin->store;
		spec.workspaces = origin->workspaces;
		spec.workspace_count = origin->workspace_count;
		spec.snapshot_on_stop = origin->snapshot_on_stop;
		spec.files_from = origin->files_from;
	}
	/* The keeper is at home in another directory. */
	if (known.backends && !realpath(known.backends, backends))
		return error_set_errno(err, WARDER_ERROR_INVALID_REQUEST, "backends", errno,
				       "cannot find %.200s", known.backends);
	if (known.backends)
		spec.backends = backends;
	return start(&spec, known.program, came, ret, err);
}

int session_park(const struct warder_session_options *options, bool agent, struct session_parked **ret,
		 struct warder_error *err)
{
	static const char name[] = "parked"; /* which it never takes */
	struct session_spec spec;
	const char *program = starter_program(options->program, err);

	if (!program || fill_spec(name, options, &spec, err) < 0)
		return -1;
	spec.parks = true;
	spec.parks_agent = agent;
	return starter_park(&spec, program, ret, err);
}

/* ---- executing ---- */

int warder_session_prepare(struct warder_session *session, const struct warder_policy *policy,
			   unsigned int flags, struct warder_template **ret, struct warder_error *err)
{
	const struct preparation_options how = { .background = flags & WARDER_SESSION_BACKGROUND };

	if (flags & ~(unsigned int)WARDER_SESSION_BACKGROUND)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "unknown flags %#x", flags);
	return session_prepare(session, policy ? &policy->policy : NULL, &how, false, ret, err);
}

static const char *tell_end(void *owner, struct jail_outcome *outcome)
{
	const struct attachment *attachment = owner;
	const enum session_end end = session_hear_end(attachment->fd, WORD_WAIT_MS);

	snprintf(outcome->detail, sizeof(outcome->detail), "killed: %s", session_end_text(end));
	return session_end_name(end);
}

/* The keeper's word comes before the end, or its silence after it. */
static void tell_failure(void *owner, struct warder_error *err)
{
	const struct attachment *attachment = owner;
	enum session_end end;

	if (err->code != WARDER_ERROR_UNAVAILABLE)
		return;
	end = session_hear_end(attachment->fd, 0);
	if (end == SESSION_END_NONE && !jail_session_has_ended(&attachment->joint, 500))
		return;
	if (end == SESSION_END_NONE)
		end = session_hear_end(attachment->fd, WORD_WAIT_MS);
	session_not_started(end, err);
}

static const struct library_session of_session = { session_detach, tell_end, tell_failure };

int session_check_granted(const struct policy *session, const struct policy *ceiling,
			  struct warder_error *err)
{
	return ceiling && policy_check_ceiling(ceiling, session, err) < 0
		   ? error_context(err, "the session has more than the ceiling grants")
		   : 0;
}

int session_prepare(struct warder_session *session, const struct policy *policy,
		    const struct preparation_options *how, bool single_use, struct warder_template **ret,
		    struct warder_error *err)
{
	struct preparation_options joining = *how;
	struct attachment *attachment;

	if (!session || !ret)
		return error_no_argument(err, session ? "ret" : "session");
	if (!policy)
		policy = &session->spec.policy;
	if (session_check_granted(&session->spec.policy, how->ceiling, err) < 0 ||
	    session_check_narrower(&session->spec.policy, policy, err) < 0)
		return -1;
	attachment = session_attach(&session->spec, session->for_files ? SESSION_FILES : SESSION_JOIN, err);
	if (!attachment)
		return -1;
	joining.joint = &attachment->joint;
	joining.root = attachment->root;
	joining.rules = session->spec.rules;
	if (library_prepare(policy, &joining, single_use, ret, err) < 0) {
		tell_failure(attachment, err);
		session_detach(attachment);
		return -1;
	}
	library_own(*ret, &of_session, attachment);
	return 0;
}

int session_replace_rules(const char *name, const struct policy *policy, struct warder_error *err)
{
	struct session_request request = { .type = SESSION_RULES };
	owned_fd int file_fd = -1;
	owned_fd int fd = -1;
	char *text = policy_encode(policy);
	int asked;

	if (text) {
		request.bytes = strlen(text);
		file_fd = record_make_file(text, request.bytes);
	}
	free(text);
	if (file_fd < 0)
		return error_no_memory(err, NULL);
	asked = ask(name, &request, file_fd, &fd, err);
	if (asked > 0)
		return not_running(name, err);
	return asked < 0 ? -1 : session_receive_reply(fd, NULL, NULL, err);
}

const struct session_spec *session_spec_of(const struct warder_session *session)
{
	return &session->spec;
}

void session_use_for_files(struct warder_session *session)
{
	session->for_files = true;
}

int session_changes(struct warder_session *session, const char *directory, struct changes *ret,
		    struct warder_error *err)
{
	struct attachment *attachment = session_attach(&session->spec, SESSION_COPY, err);
	int taken;

	if (!attachment)
		return -1;
	taken =
	    changes_take(&(struct changes_overlay){ .upper_fd = attachment->joint.fds[JAIL_JOINT_UPPER],
						    .lower_fd = attachment->joint.fds[JAIL_JOINT_LOWER],
						    .user_xattrs = attachment->joint.user_xattrs,
						    .started_ns = attachment->joint.started_ns,
						    .lower = session->spec.policy.filesystem.workspace_root },
			 directory, ret, err);
	session_detach(attachment);
	return taken;
}

bool session_is_replaced(const struct warder_session *session)
{
	struct warder_session *now = NULL;
	struct warder_error ignored;
	const bool replaced =
	    find(session->spec.name, &now, &ignored) == 0 && !same_id(&session->spec, &now->spec);

	warder_session_free(now);
	return replaced;
}

/* ---- the rest ---- */

char *warder_session_json(const struct warder_session *session)
{
	return session ? strdup(session->description) : NULL;
}

static int add_to_list(void *context, const char *name)
{
	struct session_list *list = context;
	struct warder_session *session = NULL;
	const int found = find(name, &session, list->err);

	/* One whose jail is being made, or that ends, is not there. */
	if (found == 0)
		json_number(&list->w, session->description);
	if (found == 2) {
		json_begin_object(&list->w);
		json_key_string(&list->w, "name", name);
		json_key_bool(&list->w, "settingUp", true);
		json_end_object(&list->w);
	}
	/* A keeper that does not answer must not hide the other sessions. */
	if (found < 0 && list->err->sys_errno == ETIMEDOUT) {
		json_begin_object(&list->w);
		json_key_string(&list->w, "name", name);
		json_key_string(&list->w, "error", list->err->text);
		json_end_object(&list->w);
		memset(list->err, 0, sizeof(*list->err));
		return 0;
	}
	warder_session_free(session);
	return found < 0 ? -1 : 0;
}

char *warder_session_list(struct warder_error *err)
{
	return session_list_json(add_to_list, err);
}

int session_stop_running(const char *name, bool *ret_ended, struct warder_error *err)
{
	const int stopped = session_stop(name, NULL, ret_ended, err);

	return stopped > 0 ? not_running(name, err) : stopped;
}

int warder_session_stop(const char *name, struct warder_error *err)
{
	return name ? session_stop_running(name, NULL, err) : error_no_argument(err, "name");
}

int warder_session_restart(const char *name, const char *program, struct warder_session **ret,
			   struct warder_error *err)
{
	return session_restart(name, program, NULL, ret, err);
}

/* What is granted now takes the place of what was granted then, also for what links lead to. */
static int renew_ceiling(struct session_spec *spec, const struct warder_policy *ceiling,
			 struct warder_error *err)
{
	if (!ceiling)
		return 0;
	policy_done(&spec->ceiling);
	memset(&spec->ceiling, 0, sizeof(spec->ceiling));
	spec->has_ceiling = true;
	if (policy_copy(&ceiling->policy, &spec->ceiling, err) < 0)
		return -1;
	return policy_check_ceiling(&spec->ceiling, &spec->policy, err) < 0
		   ? error_context(err, "the session has more than the ceiling grants")
		   : 0;
}

/* One that could not be started again is not stopped. */
static int check_again(const struct session_spec *spec, struct warder_error *err)
{
	return check_plan(spec, NULL, err) < 0
		   ? error_context(err, "the session goes on, because it could not be started again")
		   : 0;
}

static int stop_seen(const struct session_spec *seen, struct warder_error *err)
{
	const int stopped = session_stop(seen->name, seen->id, NULL, err);

	return stopped > 0
		   ? error_set(err, WARDER_ERROR_CONFLICT, "name",
			       "session %.64s ended before it was restarted: "
			       "\"warder session status %.64s\" shows whether another session has its name",
			       seen->name, seen->name)
		   : stopped;
}

int session_restart(const char *name, const char *program, const struct warder_policy *ceiling,
		    struct warder_session **ret, struct warder_error *err)
{
	struct warder_session *before = NULL;
	int restarted = warder_session_open(name, &before, err);

	if (restarted == 0)
		restarted = renew_ceiling(&before->spec, ceiling, err);
	if (restarted == 0)
		restarted = check_again(&before->spec, err);
	if (restarted == 0)
		restarted = stop_seen(&before->spec, err);
	if (restarted == 0)
		restarted = start(&before->spec, program, NULL, ret, err);
	warder_session_free(before);
	return restarted;
}

/* The specification of the source, with its id, under the new name. */
static int begin_copy(struct session_spec *spec, const char *name, struct warder_error *err)
{
	char *own = strdup(name);

	if (!own)
		return error_no_memory(err, NULL);
	spec->copy_of = spec->name;
	spec->copy_of_id = spec->id;
	spec->name = own;
	spec->id = NULL;
	return 0;
}

int session_copy(const char *source, const char *name, const char *program,
		 const struct warder_policy *ceiling, int (*came)(void *context), struct warder_session **ret,
		 struct warder_error *err)
{
	struct warder_session *from = NULL;
	int status = session_check_name(name, err);

	if (status == 0)
		status = warder_session_open(source, &from, err);
	if (status == 0)
		status = renew_ceiling(&from->spec, ceiling, err);
	if (status == 0)
		status = begin_copy(&from->spec, name, err);
	if (status == 0)
		status = start(&from->spec, program, came, ret, err);
	warder_session_free(from);
	return status;
}

void warder_session_free(struct warder_session *session)
{
	if (!session)
		return;
	remote_free(session->owner);
	session_spec_done(&session->spec);
	free(session->description);
	free(session);
}
