/*
 * session_remote_start: a new sandbox, one that is there already, or one in the place of a lost one.
 *
 * Only a host that does not know a sandbox loses it: one that is paused, or a host that does not answer, is an error.
 */
#include "runtime/cli/session_remote.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/sha256.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/remote_place.h"
#include "runtime/cli/remote_request.h"
#include "runtime/cli/term.h"
#include "runtime/library/preparation.h"
#include "runtime/library/result.h"

#define CLEAR_MS       5000 /* for each of the requests that end a sandbox whose start failed */
#define CLEAR_TRIES    10
#define CLEAR_PAUSE_US 300000
#define CLAIM_US       UINT64_C(300000000) /* to wait for another command that makes the new sandbox */
#define CLAIM_PAUSE_US 50000

bool session_remote_is_meant(const struct args *args)
{
	return args->backend && backend_is_remote(args->backend);
}

/* A sandbox of Warder has a policy, which flags cannot change. With --recreate, they are for a new one. */
static int check_attach(const struct args *args, const struct backend_remote *host, struct warder_error *err)
{
	static const char *const known[] = { "--attach",       "--backend", "--backends",  "--lifetime",
					     "--idle-timeout", "--json",    "--no-config", "--ceiling" };

	if (!elsewhere_is_id(args->session.attach))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--attach",
				 "--attach %.80s: the id of a sandbox has 1 to %d letters, digits, \"-\" and "
				 "\"_\"",
				 args->session.attach, ELSEWHERE_SANDBOX_MAX);
	for (size_t i = 0; i < args->given.count && !args->session.recreate && !host->e2b; i++) {
		const struct given_row *row = &args->given.rows[i];
		bool is_known = row->layer != GIVEN_LINE;

		for (size_t k = 0; k < ARRAY_LENGTH(known); k++)
			is_known |= strcmp(row->flag, known[k]) == 0;
		if (!is_known)
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, row->flag,
					 "%s: the sandbox of --attach has its policy already; leave it out",
					 row->flag);
	}
	return 0;
}

int session_remote_check_recreate(const struct args *args, struct warder_error *err)
{
	return args->session.on_recreate && !args->session.recreate
		   ? error_set(err, WARDER_ERROR_INVALID_REQUEST, "--on-recreate",
			       "--on-recreate goes with --recreate")
		   : 0;
}

int session_remote_check_start(const struct args *args, struct warder_error *err)
{
	const struct remote_request_flag flags[] = {
		{ args->session.setup.count > 0, "--setup" },
		{ args->session.workspace_ids.count > 0, "--workspace-id" },
		{ args->session.snapshot_on_stop, "--snapshot-on-stop" },
		{ args->session.capabilities, "--capabilities" },
		{ args->cgroup_parent, "--cgroup-parent" },
		{ 0 },
	};

	return session_remote_check_recreate(args, err) < 0
		   ? -1
		   : remote_request_check_flags(flags, args->backend, err);
}

static int digest_policy(const struct policy *policy, char ret[65], struct warder_error *err)
{
	char *text = policy_encode(policy);
	struct sha256 sha;

	if (!text)
		return error_no_memory(err, NULL);
	sha256_init(&sha);
	sha256_add_text(&sha, text);
	sha256_hex(&sha, ret);
	free(text);
	return 0;
}

/* Where neither flags nor a document say it, a service of the kind e2b has times of its own. */
static void take_times(const struct args *args, const struct backend_remote *host, struct elsewhere *to)
{
	const uint64_t idle_us = host->e2b ? host->idle_us : SESSION_IDLE_US;
	const uint64_t lifetime_us =
	    args->session.lifetime_us ? args->session.lifetime_us : SESSION_LIFETIME_US;

	to->lease_ms = (args->session.idle_us ? args->session.idle_us : idle_us) / 1000;
	to->started_ms = clock_wall_ms();
	to->ends_ms = to->started_ms + lifetime_us / 1000;
	if (host->e2b && !args->base && !given_has(&args->given, "limits.wallTime"))
		args->policy->policy.limits.wall_time_us = host->execute_us;
}

static int fill_session(const struct args *args, const char *name, struct remote_place *ret,
			struct warder_error *err)
{
	struct elsewhere *session = &ret->session;

	*ret = (struct remote_place){ 0 };
	snprintf(session->name, sizeof(session->name), "%s", name);
	snprintf(session->backend, sizeof(session->backend), "%s", args->backend);
	if (args->backends && !realpath(args->backends, session->backends))
		return error_set_errno(err, WARDER_ERROR_INVALID_REQUEST, "backends", errno,
				       "cannot find %.200s", args->backends);
	if (remote_place_find_entry(ret, err) < 0 ||
	    (args->session.attach && check_attach(args, &ret->host, err) < 0))
		return -1;
	take_times(args, &ret->host, session);
	return digest_policy(&args->policy->policy, session->policy, err);
}

static char *write_start(const struct args *args, const struct elsewhere *session, struct warder_error *err)
{
	struct json_writer w = { 0 };
	char key[REMOTE_ID_LENGTH + 1];

	if (remote_draw_id(key, err) < 0)
		return NULL;
	json_begin_object(&w);
	json_key_string(&w, "idempotencyKey", key);
	json_key_uint(&w, "timeoutMs", remote_place_lease_ms(session));
	if (remote_request_policy(&w, &args->policy->policy, err) < 0) {
		json_writer_done(&w);
		return NULL;
	}
	json_end_object(&w);
	return remote_request_take(&w, err);
}

static int ask_for_sandbox(struct remote_place *place, const struct backend_remote_request *request,
			   bool *ret_sent, struct warder_error *err)
{
	struct remote_answer answer;
	char *text = NULL;
	int status = backend_remote_ask(&place->host, request, &answer, &text, err);

	*ret_sent = answer.sent;
	if (status == 0)
		status = remote_place_take_id(text, answer.bytes, place->session.backend,
					      place->session.sandbox, sizeof(place->session.sandbox), err);
	free(text);
	return status;
}

static void destroy(const struct remote_place *place)
{
	struct remote_asking how = { .method = "DELETE", .timeout_ms = CLEAR_MS, .unstoppable = true };
	struct warder_error ignored;

	remote_place_ask(place, "", &how, NULL, NULL, &ignored);
}

/* The host may have made the sandbox, and its answer did not come. The same request, which has the same key, tells its id. A service of the kind e2b
 * would make another sandbox; warder-remote has looked for the first one already. */
static void clear_up(struct remote_place *place, struct backend_remote_request *request)
{
	struct warder_error why = { 0 };
	bool sent;

	if (place->host.e2b)
		return;
	request->timeout_ms = CLEAR_MS;
	request->should_stop = NULL;
	for (int i = 0; i < CLEAR_TRIES; i++) {
		if (ask_for_sandbox(place, request, &sent, &why) == 0) {
			destroy(place);
			return;
		}
		if (why.code != WARDER_ERROR_CONFLICT) /* otherwise it is being started */
			return;
		usleep(CLEAR_PAUSE_US);
	}
}

static int create(const struct args *args, struct remote_place *place, struct warder_error *err)
{
	struct backend_remote_request request = { .path = "/v1/sandboxes",
						  .timeout_ms = 4 * REMOTE_QUESTION_MS,
						  .should_stop = ending_came };
	char *body = write_start(args, &place->session, err);
	bool sent;
	int status;

	if (!body)
		return -1;
	request.body = body;
	status = ask_for_sandbox(place, &request, &sent, err);
	if (status < 0 && sent && err->code == WARDER_ERROR_UNAVAILABLE)
		clear_up(place, &request);
	explicit_bzero(body, strlen(body));
	free(body);
	return status;
}

/* Whether the host can have the policy of the arguments. -1 with *err. */
static int match(const struct args *args, struct remote_place *place, struct warder_error *err)
{
	const struct preparation_options options = {
		.ceiling = args->ceiling ? &args->ceiling->policy : NULL,
		.backend = args->backend,
		.backends = args->backends,
		.remotes = true,
	};
	struct preparation preparation = { 0 };
	int status = preparation_build(&args->policy->policy, &options, &preparation, err);

	place->host = preparation.remote;
	preparation_done(&preparation);
	return status;
}

/* Write the file with the policy of the arguments, for a sandbox that takes the place of a lost one. `lost` and the return value as in elsewhere_write(). */
static int keep(const struct args *args, const struct remote_place *place, const char *lost,
		struct warder_error *err)
{
	char *policy = policy_encode(&args->policy->policy);
	const int status =
	    policy ? elsewhere_write(&place->session, policy, lost, err) : error_no_memory(err, NULL);

	free(policy);
	return status;
}

static int say_stopped(const struct elsewhere *session, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_NOT_FOUND, "name",
			 "session %.64s was stopped while a new sandbox was made for it, which is ended, too",
			 session->name);
}

/* The name is ours meanwhile, but another command may stop the session. `lost` as in keep(). */
static int start_new(const struct args *args, struct remote_place *place, const char *lost,
		     struct warder_error *err)
{
	int kept;

	if (match(args, place, err) < 0 || create(args, place, err) < 0)
		return -1;
	kept = keep(args, place, lost, err);
	if (kept == 0)
		return 0;
	destroy(place);
	return kept > 0 ? say_stopped(&place->session, err) : -1;
}

/* ---- a sandbox that is there ---- */

/* Look at it; nothing is resumed by that. *ret_text (or NULL) is heap. 1: the host does not know it; -1 with *err. */
static int look(const struct remote_place *place, char **ret_text, size_t *ret_len, struct warder_error *err)
{
	struct remote_asking how = { 0 };

	if (remote_place_ask(place, "", &how, ret_text, ret_len, err) == 0)
		return 0;
	return remote_place_is_gone(err) ? 1 : -1;
}

/* The session that is there must be the one that is asked for. 1: the host does not know its sandbox; -1 with *err. */
static int find_same(struct remote_place *place, const struct args *args, const struct elsewhere *asked,
		     struct warder_error *err)
{
	const char *attach = args->session.attach;
	int status;

	if (strcmp(place->session.backend, asked->backend) != 0 ||
	    (attach ? strcmp(place->session.sandbox, attach) : strcmp(place->session.policy, asked->policy)))
		return error_set(err, WARDER_ERROR_CONFLICT, "name",
				 "session %.64s runs already on %s with another %s, or is to run on %s; stop "
				 "it first, or choose another name",
				 asked->name, place->session.backend, attach ? "sandbox" : "policy",
				 asked->backend);
	if (remote_place_find_host(place, err) < 0)
		return -1;
	status = look(place, NULL, NULL, err);
	if (status == 0)
		remote_place_renew(place);
	else if (status > 0)
		remote_place_say_gone(&place->session, err);
	return status;
}

/* The policy that the host says the sandbox has must be within the ceiling of this machine. *ret_policy is its JSON, heap, also if -1 is
 * returned. */
static int take_policy(const struct args *args, const struct json_value *sandbox, struct elsewhere *session,
		       char **ret_policy, struct warder_error *err)
{
	const struct json_value *member = json_member(sandbox, "policy");
	struct policy policy = { 0 };
	char *text;
	int status;

	if (!member || member->type != JSON_OBJECT)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "backend", "%s: the answer has no \"policy\"",
				 session->backend);
	text = json_text(member);
	if (!text)
		return error_no_memory(err, NULL);
	*ret_policy = text;
	status = policy_decode(text, strlen(text), session->backend, &policy, err);
	if (status < 0)
		return -1;
	status = preparation_check(&policy, args->ceiling ? &args->ceiling->policy : NULL, err);
	if (status == 0)
		status = digest_policy(&policy, session->policy, err);
	policy_done(&policy);
	return status;
}

/* Of the kind e2b, the sandbox has no policy of Warder: that of the arguments holds. */
static int take_sandbox(const struct args *args, const char *text, size_t len, struct remote_place *place,
			char **ret_policy, struct warder_error *err)
{
	struct elsewhere *session = &place->session;
	struct json_value *sandbox = NULL;
	const char *state;
	int status = json_parse(text, len, session->backend, NULL, &sandbox, err);

	if (status < 0)
		return -1;
	state = json_member_text(sandbox, "state", "unknown");
	if (strcmp(state, "running") != 0)
		status = error_set(err, WARDER_ERROR_CONFLICT, "--attach",
				   "sandbox %s is %.20s, and only one that runs can be attached",
				   session->sandbox, state);
	else
		status = place->host.e2b ? match(args, place, err)
					 : take_policy(args, sandbox, session, ret_policy, err);
	json_free(sandbox);
	return status;
}

/* 1: the host does not know the sandbox; -1 with *err. */
static int attach(const struct args *args, struct remote_place *place, struct warder_error *err)
{
	struct elsewhere *session = &place->session;
	char *text = NULL, *policy = NULL;
	size_t len = 0;
	int status;

	snprintf(session->sandbox, sizeof(session->sandbox), "%s", args->session.attach);
	if (remote_place_find_host(place, err) < 0)
		return -1;
	status = look(place, &text, &len, err);
	if (status > 0)
		error_set(err, WARDER_ERROR_NOT_FOUND, "--attach", "%s has no sandbox %s", session->backend,
			  session->sandbox);
	if (status == 0)
		status = take_sandbox(args, text, len, place, &policy, err);
	if (status == 0)
		status = policy ? elsewhere_write(session, policy, NULL, err) : keep(args, place, NULL, err);
	if (status == 0)
		remote_place_renew(place);
	free(policy);
	free(text);
	return status;
}

/* ---- a new one in its place ---- */

/* Run the command, whose output goes to standard error. */
static int run_before(const char *command, const char *sandbox, struct warder_error *err)
{
	char *line = NULL;
	int ended = -1;

	if (!command)
		return 0;
	if (asprintf(&line, "exec >&2\n%s", command) < 0 || setenv("WARDER_SANDBOX", sandbox, 1) < 0) {
		free(line);
		return error_no_memory(err, NULL);
	}
	ended = system(line);
	unsetenv("WARDER_SANDBOX");
	free(line);
	if (ended == 0 && !ending_signal())
		return 0;
	return error_set(err, WARDER_ERROR_EXECUTION_FAILED, "--on-recreate",
			 "the command of --on-recreate failed, or a signal came; no new sandbox was made");
}

/* The host does not know the sandbox of *place, which the session's file names if it `has_file`. The new one is the same workspace, if it
 * was one. */
static int recreate(const struct args *args, struct remote_place *place, const struct elsewhere *asked,
		    bool has_file, struct warder_error *err)
{
	const struct elsewhere lost = place->session;

	if (run_before(args->session.on_recreate, lost.sandbox, err) < 0)
		return -1;
	memset(err, 0, sizeof(*err));
	place->session = *asked;
	snprintf(place->session.workspace, sizeof(place->session.workspace), "%s", lost.workspace);
	return start_new(args, place, has_file ? lost.sandbox : NULL, err);
}

/* The arguments of a start that would make the same session as the one of `session`. `policy` is that of the file. */
static void ask_the_same(const struct args *args, const struct elsewhere *session,
			 struct warder_policy *policy, struct args *ret_args, struct elsewhere *ret_asked)
{
	const uint64_t lifetime_ms = session->ends_ms - session->started_ms;

	*ret_args = *args;
	ret_args->policy = policy;
	ret_args->backend = session->backend;
	ret_args->backends = session->backends[0] ? session->backends : NULL;
	*ret_asked = *session;
	ret_asked->sandbox[0] = '\0';
	ret_asked->started_ms = clock_wall_ms();
	ret_asked->ends_ms = ret_asked->started_ms + lifetime_ms;
}

/* Whether the session is the one that the caller has found, though its sandbox may be another one. */
static bool is_same_session(const struct elsewhere *now, const struct elsewhere *before)
{
	return strcmp(now->backend, before->backend) == 0 && strcmp(now->backends, before->backends) == 0 &&
	       strcmp(now->policy, before->policy) == 0;
}

static int replace_lost(const struct args *args, struct remote_place *place, const struct elsewhere *now,
			struct warder_error *err)
{
	struct warder_policy policy = { 0 };
	struct args same;
	struct elsewhere asked;
	char *text = elsewhere_read_policy(now->name, err);
	int status = text ? policy_decode(text, strlen(text), now->name, &policy.policy, err) : -1;

	free(text);
	if (status == 0) {
		ask_the_same(args, now, &policy, &same, &asked);
		status = recreate(&same, place, &asked, true, err);
	}
	policy_done(&policy.policy);
	return status;
}

/* The name is ours meanwhile. Another command may have made the new sandbox already. */
static int recover(const struct args *args, struct remote_place *place, struct warder_error *err)
{
	struct elsewhere now;
	const int found = elsewhere_read(place->session.name, &now, err);

	if (found != 0)
		return found < 0 ? -1 : remote_place_say_gone(&place->session, err);
	if (!is_same_session(&now, &place->session))
		return error_set(err, WARDER_ERROR_CONFLICT, "name",
				 "session %.64s was stopped and started again meanwhile, with another "
				 "backend or policy, and nothing ran in it; repeat the command",
				 now.name);
	if (strcmp(now.sandbox, place->session.sandbox) == 0)
		return replace_lost(args, place, &now, err);
	place->session = now;
	return 0;
}

/* Another command that has the name may be making the new sandbox: wait for it. */
static int claim(const struct elsewhere *session, int *ret_fd, struct warder_error *err)
{
	const uint64_t give_up_us = clock_us() + CLAIM_US;
	const char *name = session->name;
	struct warder_error ignored;
	struct elsewhere now;

	while (elsewhere_claim(name, ret_fd, err) < 0) {
		if (err->code != WARDER_ERROR_CONFLICT)
			return -1;
		if (elsewhere_read(name, &now, &ignored) > 0) /* it was stopped */
			return remote_place_say_gone(session, err);
		if (ending_signal())
			return error_set(err, WARDER_ERROR_UNAVAILABLE, "name",
					 "a signal came while another command made the new sandbox of "
					 "session %.64s",
					 name);
		if (clock_us() >= give_up_us)
			return error_set(err, WARDER_ERROR_CONFLICT, "name",
					 "another command has been making the new sandbox of session %.64s "
					 "for %d minutes; try again when it has ended",
					 name, (int)(CLAIM_US / 60000000));
		usleep(CLAIM_PAUSE_US);
	}
	return 0;
}

int session_remote_recover(const struct args *args, struct remote_place *place, struct warder_error *err)
{
	struct warder_error why = { 0 };
	char name[SESSION_NAME_MAX + 1];
	int lock_fd = -1, status;

	if (!args->session.recreate || !remote_place_is_gone(err))
		return -1;
	snprintf(name, sizeof(name), "%s", place->session.name);
	status = claim(&place->session, &lock_fd, &why);
	if (status == 0) {
		memset(&why, 0, sizeof(why)); /* of a claim before */
		status = recover(args, place, &why);
		elsewhere_release(name, &lock_fd);
	}
	*err = why;
	return status;
}

char *session_remote_describe(const struct elsewhere *session, const char *text, size_t len)
{
	char *kept = NULL;
	struct json_value *sandbox = NULL;
	struct warder_error ignored;
	struct json_writer w = { 0 };
	const struct json_value *policy = NULL;

	if (text && json_parse(text, len, "sandbox", NULL, &sandbox, &ignored) == 0)
		policy = json_member(sandbox, "policy");
	json_begin_object(&w);
	json_key_string(&w, "name", session->name);
	json_key_string(&w, "backend", session->backend);
	json_key_string(&w, "sandbox", session->sandbox);
	result_write_time(&w, "started", session->started_ms);
	json_key_uint(&w, "idleTimeoutMs", session->lease_ms);
	result_write_time(&w, "ends", session->ends_ms);
	if (sandbox)
		json_key_string(&w, "state", json_member_text(sandbox, "state", "unknown"));
	if (policy && policy->type == JSON_OBJECT) {
		json_key(&w, "policy");
		json_copy(&w, policy);
	} else if (text && (kept = elsewhere_read_policy(session->name, &ignored))) {
		json_key(&w, "policy");
		json_number(&w, kept);
	}
	json_end_object(&w);
	free(kept);
	json_free(sandbox);
	return json_take(&w);
}

int session_remote_start(const struct args *args, const char *name, char **ret_json, struct warder_error *err)
{
	struct remote_place place = { 0 }, asked;
	int lock_fd = -1;
	int found, status;

	if (fill_session(args, name, &asked, err) < 0 || elsewhere_claim(name, &lock_fd, err) < 0)
		return -1;
	found = elsewhere_read(name, &place.session, err);
	if (found > 0)
		place = asked;
	if (found < 0)
		status = -1;
	else if (found == 0)
		status = find_same(&place, args, &asked.session, err);
	else
		status =
		    args->session.attach ? attach(args, &place, err) : start_new(args, &place, NULL, err);
	if (status > 0)
		status =
		    args->session.recreate ? recreate(args, &place, &asked.session, found == 0, err) : -1;
	elsewhere_release(name, &lock_fd);
	if (status < 0)
		return -1;
	*ret_json = session_remote_describe(&place.session, NULL, 0);
	return *ret_json ? 0 : error_no_memory(err, NULL);
}
