/*
 * keeper: the process that a session is. It is an ordinary process of the user's, detached from the process that started it; only user,
 * environment and cgroup are the same. It starts the jail, runs the set-up, and then answers. There are two ways to execute:
 *
 * - The keeper launches and supervises the program (execution.c). The execution outlives its caller. The program has the caller's streams
 *   (owned.c), or any client can read its output, write its input and send it signals (clients.c).
 * - The caller gets the descriptors of the session, joins it and supervises the program itself. Its connection stays open meanwhile, so
 *   that the keeper knows that the session is in use.
 *
 * When the keeper dies, however it dies, the session's init ends, and with it everything.
 *
 * The main thread answers, and supervises all executions, each of which is a descriptor to poll and a state machine (jail/supervise.c). One
 * thread waits in the jail's supervision, and each launch has a thread until the program runs.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/close_range.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/file.h"
#include "runtime/library/library.h"
#include "runtime/library/preparation.h"
#include "runtime/library/result.h"
#include "runtime/session/clients.h"
#include "runtime/session/elsewhere.h"
#include "runtime/session/keeper_park.h"
#include "runtime/session/keeper_rules.h"
#include "runtime/session/session.h"
#include "runtime/session/tree.h"

#define STRANGERS_MAX 8 /* of the connections: who may wait to be told why not */
#define INTERRUPTED   "the start was interrupted, and the session was removed"
#define DESCRIPTORS   4096
#define LOOK_MS       100
#define WAITER_US     UINT64_C(9000000) /* for the jail's supervision, which gives it up after 6 s */

struct connection {
	int fd;
	bool joined, copies;
	bool replaces;         /* it waits until the session has other rules */
	uint64_t number;       /* in the order in which they came */
	bool stranger;         /* of other namespaces */
	struct client *client; /* it speaks records; or NULL */
};

struct keeper {
	struct session_spec spec;
	int dir_fd, lock_fd, listen_fd, signal_fd;
	struct preparation preparation;
	const struct backend_sessions *sessions; /* of its backend */
	void *session;
	pthread_t waiter;
	bool waiting;
	bool setup_stuck;      /* a command of the set-up does not die, and neither will the jail */
	int ended_fd;          /* eventfd: the jail has ended */
	enum jail_cause cause; /* then: by what */
	enum session_end end;  /* as it is told to who executes */
	struct connection connections[SESSION_CONNECTIONS_MAX];
	size_t connection_count;
	uint64_t came;       /* connections, so far */
	pthread_t attendant; /* while the set-up runs */
	int set_up_fd;       /* eventfd: the set-up has come to an end */
	const char *gave_up; /* how it was ended, as a message; or NULL */
	int stopper_fd;      /* who is to be told when everything is gone; or -1 */
	uint64_t started_us, idle_since_us;
	bool in_use;        /* when it was last looked */
	size_t executing;   /* then: executions, with idle contexts */
	bool unswept;       /* one has ended since the last sweep */
	uint64_t paused_us; /* since when; 0: it is not paused */
	bool copy_paused;   /* by a copy: it goes on when nothing copies it any more */
	uint64_t extended_us;
	time_t started;
	struct executions executions;
	struct clients clients;
	struct keeper_rules rules;
	bool restores; /* they become the old ones again */
};

/* ---- the jail ---- */

static void *wait_for_end(void *arg)
{
	struct keeper *keeper = arg;
	const uint64_t one = 1;

	keeper->cause = keeper->sessions->wait(keeper->session);
	if (write(keeper->ended_fd, &one, sizeof(one)) < 0)
		abort(); /* a counter of one takes it */
	return NULL;
}

static int open_jail(struct keeper *keeper, struct warder_error *err)
{
	const struct session_spec *spec = &keeper->spec;
	const struct preparation_options how = { .ceiling = spec->has_ceiling ? &spec->ceiling : NULL,
						 .cgroup_parent = spec->cgroup_parent,
						 .backend = spec->backend,
						 .backends = spec->backends };

	if (preparation_build(&spec->policy, &how, &keeper->preparation, err) < 0)
		return -1;
	keeper->sessions = keeper->preparation.backend->sessions;
	if (!keeper->sessions)
		return error_set(err, WARDER_ERROR_UNSUPPORTED_POLICY, "backend",
				 "the backend %s has no sessions: nothing stays after a run; use local",
				 keeper->preparation.backend->name);
	return keeper->sessions->start(&keeper->preparation.plan, keeper->preparation.host, spec->lifetime_us,
				       &keeper->session, err);
}

/* Begin its supervision. */
static int watch_jail(struct keeper *keeper, struct warder_error *err)
{
	keeper->ended_fd = eventfd(0, EFD_CLOEXEC);
	if (keeper->ended_fd < 0 || pthread_create(&keeper->waiter, NULL, wait_for_end, keeper) != 0)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL, "no thread for the session");
	keeper->waiting = true;
	return 0;
}

static bool has_ended(const struct keeper *keeper)
{
	struct pollfd fd = { .fd = keeper->ended_fd, .events = POLLIN };

	return keeper->ended_fd >= 0 && poll(&fd, 1, 0) > 0;
}

/* ---- set-up ---- */

/* ": " and the last lines of standard error, quoted, as many as fit; or "". */
static const char *last_lines(const struct jail_outcome *outcome, char *buf, size_t size)
{
	const char *words = outcome->output[JAIL_STDERR].bytes;
	size_t end = outcome->output[JAIL_STDERR].len;
	char quoted[6 * sizeof(((struct warder_error *)NULL)->text)];
	const char *line_end;
	size_t start;

	while (end && (words[end - 1] == '\n' || words[end - 1] == ' '))
		end--;
	if (!end || size < sizeof(": \"\""))
		return "";
	start = end > size ? end - size : 0;
	while (strlen(json_quote_bytes(words + start, end - start, quoted, sizeof(quoted))) >= size - 2)
		start++;
	line_end = start && words[start - 1] != '\n' ? memchr(words + start, '\n', end - start) : NULL;
	if (line_end)
		start = (size_t)(line_end + 1 - words);
	snprintf(buf, size, ": %s", json_quote_bytes(words + start, end - start, quoted, sizeof(quoted)));
	return buf;
}

/* "; refused: DESTINATION: REASON" of a destination that the network refused; or "". */
static const char *refused_destination(const struct jail_outcome *outcome, char *buf, size_t size)
{
	const struct edge_report *report = outcome->network;
	char destination[300];

	if (!report || !report->row_count)
		return "";
	jail_refusal_destination(&report->rows[0], destination, sizeof(destination));
	snprintf(buf, size, "; refused: %.80s%s: %s", destination, strlen(destination) > 80 ? "..." : "",
		 jail_refusal_text(report->rows[0].reason, false));
	return buf;
}

static int setup_failed(size_t number, const char *command, const struct warder_result *result,
			struct warder_error *err)
{
	const struct jail_outcome *outcome = &result->outcome;
	char shown[60], failed[160], refused[160], said[sizeof(err->text)];
	const char *refusal;
	size_t room;

	if (outcome->left_behind)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "setup", "host: set-up command %zu: %.360s",
				 number + 1, outcome->detail);
	snprintf(failed, sizeof(failed), "set-up command %zu (%s) failed: %.60s", number + 1,
		 json_quote(command, shown, sizeof(shown)), outcome->detail);
	refusal = refused_destination(outcome, refused, sizeof(refused));
	/* A caller may put a word before it, such as the step of a drive. */
	room = sizeof(err->text) - sizeof("provision: ; the session was removed") - strlen(failed) -
	       strlen(refusal);
	return error_set(err, WARDER_ERROR_EXECUTION_FAILED, "setup", "%s%s%s; the session was removed",
			 failed, last_lines(outcome, said, room), refusal);
}

static int run_setup(struct keeper *keeper, struct warder_template *tmpl, size_t number, const char *command,
		     struct warder_error *err)
{
	char shell[] = "sh";
	char option[] = "-c";
	char *text = strdup(command);
	char *argv[] = { shell, option, text, NULL };
	const struct warder_command run_command = { .size = sizeof(run_command), .argv = argv };
	struct warder_run *run = NULL;
	struct warder_result *result = NULL;
	int ret = text ? warder_launch(tmpl, &run_command, &run, err) : -1;

	if (ret == 0)
		ret = warder_wait(run, &result, err);
	if (ret == 0 && (result->outcome.cause != JAIL_CAUSE_EXIT || result->outcome.exit_code != 0)) {
		keeper->setup_stuck = result->outcome.left_behind;
		ret = setup_failed(number, command, result, err);
	}
	warder_result_free(result);
	warder_run_free(run);
	free(text);
	return ret;
}

static bool is_ending(const void *context)
{
	return has_ended(context);
}

/* The saved files take the place of the set-up's. The description does not have their directory: a restart begins with the set-up. */
static int load_files(struct keeper *keeper, struct warder_error *err)
{
	const int ret =
	    copy_load(keeper->spec.files_from, &keeper->spec.policy, keeper->sessions->joint(keeper->session),
		      keeper->sessions->root(keeper->session), is_ending, keeper, err);

	free(keeper->spec.files_from);
	keeper->spec.files_from = NULL;
	return ret;
}

/* The files of its source take the place of the set-up's. The description does not have the source: a restart begins with the set-up. */
static int copy_files(struct keeper *keeper, struct warder_error *err)
{
	struct session_spec source = { .name = keeper->spec.copy_of,
				       .id = keeper->spec.copy_of_id,
				       .policy = keeper->spec.policy };
	const int ret = copy_session(&source, keeper->sessions->joint(keeper->session),
				     keeper->sessions->root(keeper->session), is_ending, keeper, err);

	free(source.name);
	free(source.id);
	keeper->spec.copy_of = keeper->spec.copy_of_id = NULL;
	return ret;
}

static int set_up(struct keeper *keeper, struct warder_error *err)
{
	const struct preparation_options how = { .joint = keeper->sessions->joint(keeper->session),
						 .root = keeper->sessions->root(keeper->session) };
	struct warder_template *tmpl = NULL;
	int ret;

	if (keeper->spec.copy_of)
		return copy_files(keeper, err);
	if (keeper->spec.files_from)
		return load_files(keeper, err);
	if (!keeper->spec.setup_count)
		return 0;
	ret = library_prepare(&keeper->spec.policy, &how, false, &tmpl, err);
	for (size_t i = 0; i < keeper->spec.setup_count && ret == 0; i++)
		ret = run_setup(keeper, tmpl, i, keeper->spec.setup[i], err);
	warder_template_free(tmpl);
	return ret;
}

/* ---- answers ---- */

static size_t joined(const struct keeper *keeper)
{
	size_t count = 0;

	for (size_t i = 0; i < keeper->connection_count; i++)
		count += keeper->connections[i].joined;
	return count;
}

/* What is left of its lifetime. */
static uint64_t remaining_us(const struct keeper *keeper)
{
	const uint64_t age_us = clock_us() - keeper->started_us;
	const uint64_t whole_us = keeper->spec.lifetime_us + keeper->extended_us;

	return whole_us > age_us ? whole_us - age_us : 0;
}

static char *describe(struct keeper *keeper)
{
	struct json_writer w = { 0 };
	struct tm utc;
	char text[32] = "";

	if (gmtime_r(&keeper->started, &utc))
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
	json_begin_object(&w);
	session_spec_write(&keeper->spec, &w);
	json_key_string(&w, "id", keeper->spec.id);
	if (!keeper->spec.backend)
		json_key_string(&w, "backend", keeper->preparation.backend->name);
	json_key_string(&w, "isolation", policy_isolation_name(POLICY_ISOLATION_NAMESPACE_JAIL_PERSISTENT));
	json_key_uint(&w, "keeperPid", (uint64_t)getpid());
	json_key_string(&w, "started", text);
	json_key_uint(&w, "ageUs", clock_us() - keeper->started_us);
	json_key_uint(&w, "remainingUs", remaining_us(keeper));
	json_key_bool(&w, "paused", keeper->paused_us != 0);
	json_key_uint(&w, "rulesReplaced", keeper->spec.rules);
	json_key_uint(&w, "executions", joined(keeper) + executions_running(&keeper->executions));
	json_key(&w, "receipt");
	policy_receipt_write(keeper->sessions->receipt(keeper->session), &w);
	json_end_object(&w);
	return json_take(&w);
}

/* What a client needs to know before it starts a program. */
static char *describe_briefly(void *context)
{
	const struct keeper *keeper = context;
	struct json_writer w = { 0 };

	json_begin_object(&w);
	session_spec_write(&keeper->spec, &w);
	json_key_string(&w, "id", keeper->spec.id);
	json_key_uint(&w, "rulesReplaced", keeper->spec.rules);
	json_end_object(&w);
	return json_take(&w);
}

/* Whoever joins has been checked against the description of the session that he means. */
static int check_meant(const struct keeper *keeper, const struct session_request *request,
		       struct warder_error *err)
{
	const bool any = (request->type == SESSION_DESCRIBE || request->type == SESSION_STOP ||
			  request->type == SESSION_RULES) &&
			 !*request->id;

	if (!any && strcmp(request->id, keeper->spec.id) != 0)
		return error_set(err, WARDER_ERROR_CONFLICT, "name",
				 "session %.64s ended, and another has its name; open it again",
				 keeper->spec.name);
	/* The program would have a receipt of rules that do not hold. */
	if (request->type == SESSION_JOIN && request->rules != keeper->spec.rules)
		return error_set(err, WARDER_ERROR_CONFLICT, "name",
				 "the network rules of session %.64s were replaced; open it again, with the "
				 "version of Warder that started it",
				 keeper->spec.name);
	return 0;
}

/* Nothing writes to its files. */
static int check_still(struct keeper *keeper, struct warder_error *err)
{
	bool used = joined(keeper) + executions_running(&keeper->executions) > 0;

	if (keeper->paused_us)
		return 0;
	if (!used && jail_session_has_programs(keeper->executions.joint, &used, err) < 0)
		return -1;
	return used ? error_set(
			  err, WARDER_ERROR_CONFLICT, "session",
			  "programs run in session %.64s, and could change its files during the copy; wait "
			  "for their end, or pause it: \"warder session pause %.64s\"",
			  keeper->spec.name, keeper->spec.name)
		    : 0;
}

static bool joins(const struct session_request *request)
{
	return request->type == SESSION_JOIN || request->type == SESSION_FILES;
}

static bool copies(const struct session_request *request)
{
	return request->type == SESSION_COPY || request->type == SESSION_SAVE;
}

static int check_request(struct keeper *keeper, const struct session_request *request,
			 struct warder_error *err)
{
	if (check_meant(keeper, request, err) < 0)
		return -1;
	if (request->type == SESSION_JOIN &&
	    session_check_capability(&keeper->spec, WARDER_SESSION_SHELL, err) < 0)
		return -1;
	if ((request->type == SESSION_FILES || copies(request)) &&
	    session_check_capability(&keeper->spec, WARDER_SESSION_FILESYSTEM, err) < 0)
		return -1;
	if (request->type == SESSION_COPY)
		return check_still(keeper, err);
	if (joins(request) && keeper->executions.copies)
		return error_set(err, WARDER_ERROR_CONFLICT, "session", EXECUTIONS_COPIED, keeper->spec.name);
	if (joins(request) && keeper->paused_us)
		return error_set(err, WARDER_ERROR_CONFLICT, "session", EXECUTIONS_PAUSED, keeper->spec.name,
				 keeper->spec.name);
	if (joins(request) && joined(keeper) + executions_running(&keeper->executions) >= EXECUTIONS_MAX)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
				 "the session has %d executions, as many as it can have; wait until one has "
				 "ended",
				 EXECUTIONS_MAX);
	return 0;
}

/* False: the connection is done with. A stranger is told why, and nothing else. */
static bool take_request(const struct connection *connection, struct session_request *ret, int *ret_file_fd)
{
	const struct warder_error refused = {
		.code = WARDER_ERROR_REJECTED,
		.field = "name",
		.text =
		    "the session answers in its keeper's namespaces of processes and users alone: not in a "
		    "jail, and not in a container; ask for it where it was started",
	};

	if (session_receive_request(connection->fd, ret, ret_file_fd) <= 0)
		return false;
	if (!connection->stranger)
		return true;
	fd_done(ret_file_fd);
	session_send_reply(connection->fd, &refused, NULL, NULL);
	return false;
}

/* What comes next begins as a record does. */
static bool speaks_records(int fd)
{
	uint32_t magic = 0;

	return recv(fd, &magic, sizeof(magic), MSG_PEEK | MSG_DONTWAIT) == sizeof(magic) &&
	       magic == RECORD_MAGIC;
}

static bool has_left(int fd)
{
	struct pollfd client = { .fd = fd, .events = POLLRDHUP };

	return poll(&client, 1, 0) > 0;
}

/* Of the policy that was sent, only the two lists are used. A client that has given up by now would not know that they hold. */
static int replace_rules(struct keeper *keeper, struct connection *connection,
			 const struct session_request *request, int file_fd, struct warder_error *err)
{
	struct policy sent = { 0 }, next = { 0 };
	char *text;
	int done;

	if (has_left(connection->fd))
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "name", "the client has gone");
	if (record_read_file(file_fd, request->bytes, &text, err) < 0)
		return -1;
	done = policy_decode(text, request->bytes, "policy", &sent, err);
	free(text);
	if (done == 0)
		done = session_with_rules(&keeper->spec.policy, &sent, &next, err);
	policy_done(&sent);
	if (done == 0)
		done = policy_validate(&next, err);
	if (done == 0)
		done = session_check_granted(&next, keeper->spec.has_ceiling ? &keeper->spec.ceiling : NULL,
					     err);
	if (done == 0)
		done = keeper_rules_begin(&keeper->rules, keeper->sessions, keeper->session, &next, err);
	if (done != 0) {
		policy_done(&next);
		return -1;
	}
	connection->replaces = true;
	return 0;
}

/* Idle time stands still. A caller that supervises its execution does not know of a pause, and its clock would go on. */
static int pause_session(void *context, bool paused, struct warder_error *err)
{
	struct keeper *keeper = context;
	const uint64_t now = clock_us();

	if (keeper->executions.copies)
		return error_set(err, WARDER_ERROR_CONFLICT, "session", EXECUTIONS_COPIED, keeper->spec.name);
	if (paused == (keeper->paused_us != 0))
		return error_set(err, WARDER_ERROR_CONFLICT, "session", "session %.64s is %s",
				 keeper->spec.name, paused ? "paused already" : "not paused");
	if (paused && joined(keeper))
		return error_set(
		    err, WARDER_ERROR_CONFLICT, "session",
		    "session %.64s has executions that their callers supervise, whose time goes on; wait for "
		    "their end, or start them with --detach",
		    keeper->spec.name);
	if (!paused && keeper->sessions->freeze(keeper->session, false, err) < 0)
		return -1;
	if (executions_pause(&keeper->executions, paused, err) < 0)
		return -1;
	if (paused && keeper->sessions->freeze(keeper->session, true, err) < 0) {
		struct warder_error ignored;

		executions_pause(&keeper->executions, false, &ignored);
		return -1;
	}
	if (!paused)
		keeper->idle_since_us += now - keeper->paused_us;
	keeper->paused_us = paused ? now : 0;
	keeper->copy_paused = false;
	return 0;
}

/* Nothing writes to its files while the connection stays. False with *err. */
static bool freeze_for_copy(struct keeper *keeper, struct warder_error *err)
{
	if (check_still(keeper, err) == 0)
		return true;
	if (err->code != WARDER_ERROR_CONFLICT || pause_session(keeper, true, err) < 0)
		return false;
	keeper->copy_paused = true;
	return true;
}

/* The programs that a copy has stopped go on after the last copy. Call it again if copy_paused stays. */
static void end_copy(struct keeper *keeper)
{
	struct warder_error ignored;

	if (keeper->copy_paused && !keeper->executions.copies)
		pause_session(keeper, false, &ignored);
}

/* False: the connection is done with. */
static bool answer(struct keeper *keeper, struct connection *connection)
{
	struct session_request request;
	owned_fd int file_fd = -1;
	struct warder_error err = { 0 };
	char *text;
	bool sent;

	if (!connection->client && !connection->joined && !connection->copies &&
	    speaks_records(connection->fd)) {
		connection->client = client_new(&keeper->clients, connection->number + 1);
		if (!connection->client)
			return false;
	}
	if (connection->client)
		return client_take(connection->client, connection->fd, connection->stranger);
	if (!take_request(connection, &request, &file_fd) || connection->copies || connection->replaces)
		return false;
	if (check_request(keeper, &request, &err) < 0 ||
	    (request.type == SESSION_RULES &&
	     replace_rules(keeper, connection, &request, file_fd, &err) < 0)) {
		session_send_reply(connection->fd, &err, NULL, NULL);
		return false;
	}
	if (request.type == SESSION_RULES)
		return true; /* finish_rules() answers */
	if (request.type == SESSION_STOP) {
		if (keeper->stopper_fd < 0)
			keeper->stopper_fd = fcntl(connection->fd, F_DUPFD_CLOEXEC, 0);
		return true; /* the end of the connection answers, too */
	}
	if (request.type == SESSION_SAVE && !freeze_for_copy(keeper, &err)) {
		session_send_reply(connection->fd, &err, NULL, NULL);
		return false;
	}
	if (joins(&request) || copies(&request)) {
		sent = session_send_reply(connection->fd, NULL, keeper->sessions->root(keeper->session),
					  keeper->sessions->joint(keeper->session)) == 0;
		connection->joined = sent && joins(&request);
		connection->copies = sent && copies(&request);
		keeper->executions.copies += connection->copies;
		return sent;
	}
	text = describe(keeper);
	sent = text && session_send_reply(connection->fd, NULL, text, NULL) == 0;
	free(text);
	return sent;
}

static void drop(struct keeper *keeper, size_t i)
{
	keeper->executions.copies -= keeper->connections[i].copies;
	end_copy(keeper);
	client_free(keeper->connections[i].client);
	close(keeper->connections[i].fd);
	keeper->connections[i] = keeper->connections[--keeper->connection_count];
}

/* The client that asked for other rules; NULL: it has left. */
static struct connection *find_replacer(struct keeper *keeper)
{
	for (size_t i = 0; i < keeper->connection_count; i++)
		if (keeper->connections[i].replaces && !has_left(keeper->connections[i].fd))
			return &keeper->connections[i];
	return NULL;
}

/* The edge gets the session's rules back. If that cannot begin, the session has no network any more. */
static void restore_rules(struct keeper *keeper)
{
	struct warder_error ignored;
	struct policy old = { 0 };

	keeper->restores =
	    policy_copy(&keeper->spec.policy, &old, &ignored) == 0 &&
	    keeper_rules_begin(&keeper->rules, keeper->sessions, keeper->session, &old, &ignored) == 0;
	if (keeper->restores)
		return;
	policy_done(&old);
	keeper->sessions->end_network(keeper->session);
}

static void take_rules(struct keeper *keeper, const struct policy *next)
{
	struct policy before = keeper->spec.policy;

	keeper->spec.policy = *next;
	executions_keep_rules(&keeper->executions, &before);
}

/* The edge has answered. A client that has left does not know of the rules that it asked for: the session keeps its own, and the edge gets them back. */
static void finish_rules(struct keeper *keeper)
{
	struct connection *client = find_replacer(keeper);
	struct warder_error err = { 0 };
	struct policy next = { 0 };
	const int done = keeper_rules_finish(&keeper->rules, &next, &err);
	const bool restored = keeper->restores;
	char *text = NULL;

	keeper->restores = false;
	if (done == 0 && client)
		take_rules(keeper, &next);
	else
		policy_done(&next);
	/* Who starts a program before the rules are restored gets a result with both changes. */
	if (done == 0)
		keeper->spec.rules += restored ? 2 : client ? 1 : 0;
	else if (restored)
		keeper->sessions->end_network(keeper->session);
	if (done == 0 && !client && !restored)
		restore_rules(keeper);
	if (done == 0 && client)
		text = describe(keeper);
	if (client && (done != 0 || text))
		session_send_reply(client->fd, done == 0 ? NULL : &err, text, NULL);
	if (client)
		drop(keeper, (size_t)(client - keeper->connections));
	free(text);
}

/* Whether anything executes; the idle time begins when the last execution has ended. */
static bool look_in_use(struct keeper *keeper)
{
	const bool before = keeper->in_use;
	size_t executing;

	keeper->clients.joined = joined(keeper);
	executing = keeper->clients.joined + executions_running(&keeper->executions);
	keeper->unswept |= executing < keeper->executing;
	keeper->executing = executing;
	keeper->in_use =
	    keeper->clients.joined || keeper->executions.copies || executions_busy(&keeper->executions);
	if (before && !keeper->in_use) {
		keeper->idle_since_us = clock_us();
		if (keeper->unswept) /* the end of a piece of code leaves no cgroup */
			keeper->sessions->sweep(keeper->session);
		keeper->unswept = false;
	}
	return keeper->in_use;
}

static void count_session(void *context, struct jail_counters *ret)
{
	const struct keeper *keeper = context;

	keeper->sessions->count(keeper->session, ret);
}

static int extend_session(void *context, uint64_t us, struct warder_error *err)
{
	struct keeper *keeper = context;
	const uint64_t whole_us = keeper->spec.lifetime_us + keeper->extended_us;

	if (us > SESSION_TIME_MAX_US - whole_us)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "lifetime",
				 "a session lasts at most 30 days, and %.64s has %" PRIu64
				 " s of them already",
				 keeper->spec.name, whole_us / 1000000);
	keeper->extended_us += us;
	keeper->sessions->extend(keeper->session, us);
	return 0;
}

/* The one that came first of those that nobody executes by. Who asks does so at once, and is answered in the next round: whoever has
 * waited for long has nothing to ask, and keeps nobody out that has, least of all one that ends the session. */
static void make_room(struct keeper *keeper)
{
	size_t oldest = keeper->connection_count;

	for (size_t i = 0; i < keeper->connection_count; i++)
		if (!keeper->connections[i].joined && !keeper->connections[i].copies &&
		    !keeper->connections[i].client && !keeper->connections[i].replaces &&
		    (oldest == keeper->connection_count ||
		     keeper->connections[i].number < keeper->connections[oldest].number))
			oldest = i;
	if (oldest < keeper->connection_count)
		drop(keeper, oldest);
}

static bool has_room(const struct keeper *keeper, enum session_peer peer)
{
	size_t strangers = 0;

	for (size_t i = 0; i < keeper->connection_count; i++)
		strangers += keeper->connections[i].stranger;
	return peer == SESSION_PEER_OWNER || (peer == SESSION_PEER_ELSEWHERE && strangers < STRANGERS_MAX &&
					      keeper->connection_count < SESSION_CONNECTIONS_MAX);
}

static void accept_one(struct keeper *keeper)
{
	owned_fd int fd = accept4(keeper->listen_fd, NULL, NULL, SOCK_CLOEXEC);
	enum session_peer peer;

	if (fd < 0) {
		if (errno == EMFILE || errno == ENFILE)
			make_room(keeper);
		return;
	}
	peer = session_peer(fd);
	if (!has_room(keeper, peer))
		return;
	if (keeper->connection_count == SESSION_CONNECTIONS_MAX)
		make_room(keeper);
	if (keeper->connection_count == SESSION_CONNECTIONS_MAX)
		return;
	keeper->connections[keeper->connection_count++] = (struct connection){
		.fd = fd_take(&fd), .number = keeper->came++, .stranger = peer == SESSION_PEER_ELSEWHERE
	};
}

/* ---- the loop ---- */

enum { POLL_LISTEN, POLL_SIGNAL, POLL_ENDED, POLL_EXECUTIONS, POLL_RULES, POLL_FIRST };
#define POLL_MAX (POLL_FIRST + 2 * SESSION_CONNECTIONS_MAX)

static uint64_t sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* When something is to be done at the latest. */
static uint64_t next_us(struct keeper *keeper)
{
	uint64_t at = executions_sweep(&keeper->executions);

	if (!look_in_use(keeper) && !keeper->paused_us)
		at = sooner(at, keeper->idle_since_us + keeper->spec.idle_us);
	if (keeper->copy_paused && !keeper->executions.copies)
		at = sooner(at, clock_us() + LOOK_MS * 1000);
	for (size_t i = 0; i < keeper->connection_count; i++)
		if (keeper->connections[i].client)
			at = sooner(at, client_deadline(keeper->connections[i].client));
	return at;
}

static bool is_idle_for_too_long(struct keeper *keeper)
{
	return !look_in_use(keeper) && !keeper->paused_us &&
	       clock_us() >= keeper->idle_since_us + keeper->spec.idle_us;
}

static int timeout_ms(struct keeper *keeper)
{
	const uint64_t now = clock_us();
	const uint64_t at = next_us(keeper);

	return at <= now ? 0 : (int)((at - now) / 1000 > 3600000 ? 3600000 : (at - now) / 1000 + 1);
}

/* Of each connection two: itself, and the input of a program that it waits for. */
static size_t fill_poll(const struct keeper *keeper, struct pollfd *fds)
{
	size_t count = POLL_FIRST;

	fds[POLL_LISTEN] = (struct pollfd){ .fd = keeper->listen_fd, .events = POLLIN };
	fds[POLL_SIGNAL] = (struct pollfd){ .fd = keeper->signal_fd, .events = POLLIN };
	fds[POLL_ENDED] = (struct pollfd){ .fd = keeper->ended_fd, .events = POLLIN };
	fds[POLL_EXECUTIONS] = (struct pollfd){ .fd = keeper->executions.fd, .events = POLLIN };
	fds[POLL_RULES] = (struct pollfd){ .fd = keeper->rules.fd, .events = POLLIN };
	for (size_t i = 0; i < keeper->connection_count; i++) {
		const struct connection *connection = &keeper->connections[i];
		const struct client *client = connection->client;

		fds[count++] = (struct pollfd){ .fd = connection->fd,
						.events = client ? client_events(client) : POLLIN };
		fds[count++] = (struct pollfd){ .fd = client ? client_input(client) : -1, .events = POLLOUT };
	}
	return count;
}

/* False: the connection is done with. */
static bool serve(struct keeper *keeper, struct connection *connection, short revents)
{
	struct client *client;

	if ((revents & POLLIN) && !answer(keeper, connection))
		return false;
	client = connection->client;
	/* First what it takes by now: the keeper itself may have been late. */
	if (client && (!client_push(client, connection->fd) || clock_us() >= client_deadline(client)))
		return false;
	/* Nobody reads there any more; what it still asks for has been answered. */
	return !(revents & (POLLHUP | POLLERR)) || (revents & POLLIN);
}

/* What ends the session; it is asked for in the order in which one thing follows from the other. */
static enum session_end find_end(const struct keeper *keeper, const struct pollfd *fds)
{
	if (fds[POLL_ENDED].revents)
		return keeper->cause == JAIL_CAUSE_WALL_TIME ? SESSION_END_LIFETIME : SESSION_END_INIT;
	return fds[POLL_SIGNAL].revents ? SESSION_END_SIGNAL : SESSION_END_NONE;
}

static void keep(struct keeper *keeper)
{
	struct pollfd fds[POLL_MAX];

	while (keeper->stopper_fd < 0) {
		const size_t connections = keeper->connection_count;
		const size_t filled = fill_poll(keeper, fds);

		if (poll(fds, filled, timeout_ms(keeper)) < 0)
			continue;
		keeper->end = find_end(keeper, fds);
		if (keeper->end != SESSION_END_NONE)
			return;
		if (fds[POLL_EXECUTIONS].revents)
			executions_dispatch(&keeper->executions);
		/* Downwards: one that is dropped is replaced by the last, which has been seen. */
		for (size_t i = connections; i-- > 0;)
			if (!serve(keeper, &keeper->connections[i], fds[POLL_FIRST + 2 * i].revents))
				drop(keeper, i);
		if (fds[POLL_RULES].revents)
			finish_rules(keeper);
		if (fds[POLL_LISTEN].revents)
			accept_one(keeper);
		end_copy(keeper);
		if (is_idle_for_too_long(keeper))
			return;
	}
	keeper->end = SESSION_END_STOPPED;
}

/* ---- during the set-up ---- */

/* What is asked before there is a session: only its end can be had. False: the connection is done with. */
static bool answer_early(struct keeper *keeper, struct connection *connection)
{
	struct warder_error early = { .code = WARDER_ERROR_CONFLICT, /* find() knows it by that */
				      .field = "name",
				      .text = "the session is being set up; try again" };
	struct session_request request;
	owned_fd int file_fd = -1;

	if (!take_request(connection, &request, &file_fd))
		return false;
	if (request.type != SESSION_STOP || check_meant(keeper, &request, &early) < 0) {
		session_send_reply(connection->fd, &early, NULL, NULL);
		return false;
	}
	keeper->gave_up = "the session was stopped by another process during its set-up, and was removed";
	if (keeper->stopper_fd < 0)
		keeper->stopper_fd = fcntl(connection->fd, F_DUPFD_CLOEXEC, 0);
	return true;
}

enum { EARLY_LISTEN, EARLY_SIGNAL, EARLY_STARTER, EARLY_DONE, EARLY_FIRST };

/* Until the set-up has ended, or must: its starter's socket hangs up when he ends, however he does. */
static void *attend(void *arg)
{
	struct keeper *keeper = arg;
	struct pollfd fds[EARLY_FIRST + SESSION_CONNECTIONS_MAX];

	while (!keeper->gave_up) {
		size_t count = keeper->connection_count;

		fds[EARLY_LISTEN] = (struct pollfd){ .fd = keeper->listen_fd, .events = POLLIN };
		fds[EARLY_SIGNAL] = (struct pollfd){ .fd = keeper->signal_fd, .events = POLLIN };
		fds[EARLY_STARTER] = (struct pollfd){ .fd = KEEPER_FD_REPORT, .events = POLLIN };
		fds[EARLY_DONE] = (struct pollfd){ .fd = keeper->set_up_fd, .events = POLLIN };
		for (size_t i = 0; i < count; i++)
			fds[EARLY_FIRST + i] =
			    (struct pollfd){ .fd = keeper->connections[i].fd, .events = POLLIN };
		if (poll(fds, EARLY_FIRST + count, -1) < 0)
			continue;
		if (fds[EARLY_DONE].revents)
			return NULL;
		if (fds[EARLY_STARTER].revents)
			keeper->gave_up = INTERRUPTED;
		if (fds[EARLY_SIGNAL].revents)
			keeper->gave_up =
			    "the session was ended by a signal during its set-up, and was removed";
		for (size_t i = count; i-- > 0;)
			if (fds[EARLY_FIRST + i].revents && !answer_early(keeper, &keeper->connections[i]))
				drop(keeper, i);
		if (fds[EARLY_LISTEN].revents)
			accept_one(keeper);
	}
	keeper->sessions->stop(keeper->session); /* which ends the command that runs */
	return NULL;
}

static int set_up_attended(struct keeper *keeper, struct warder_error *err)
{
	const uint64_t one = 1;
	int ret;

	keeper->set_up_fd = eventfd(0, EFD_CLOEXEC);
	if (keeper->set_up_fd < 0 || pthread_create(&keeper->attendant, NULL, attend, keeper) != 0)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL, "no thread for the session");
	ret = set_up(keeper, err);
	if (write(keeper->set_up_fd, &one, sizeof(one)) < 0)
		abort(); /* a counter of one takes it */
	pthread_join(keeper->attendant, NULL);
	fd_done(&keeper->set_up_fd);
	/* A command that does not die is what there is to say. */
	return keeper->gave_up && !keeper->setup_stuck
		   ? error_set(err, WARDER_ERROR_CONFLICT, "name", "%s", keeper->gave_up)
		   : ret;
}

/* ---- life ---- */

/* The supervision of the jail, which gives up what does not die. The executions give back their cgroups meanwhile. False: it hangs
 * itself, and goes on using what it has. */
static bool join_waiter(struct keeper *keeper)
{
	const uint64_t until_us = clock_us() + WAITER_US;
	struct pollfd fds[] = { { .fd = keeper->ended_fd, .events = POLLIN },
				{ .fd = keeper->executions.fd, .events = POLLIN } };

	while (!has_ended(keeper) && clock_us() < until_us) {
		if (poll(fds, ARRAY_LENGTH(fds), LOOK_MS) > 0 && fds[1].revents)
			executions_dispatch(&keeper->executions);
	}
	return has_ended(keeper) && pthread_join(keeper->waiter, NULL) == 0;
}

/* To the owners of executions, or to the others. */
static void tell_some(struct keeper *keeper, bool owners)
{
	for (size_t i = 0; i < keeper->connection_count; i++) {
		const struct connection *connection = &keeper->connections[i];

		if (connection->client && client_is_owner(connection->client) == owners)
			client_tell_end(connection->client, connection->fd, keeper->end);
	}
}

/* The end of each execution, to whoever takes it at once. What an owner that has gone leaves is collected before the others are told. */
static void tell_clients(struct keeper *keeper)
{
	tell_some(keeper, true);
	executions_finish(&keeper->executions);
	tell_some(keeper, false);
}

/* Wait until the jail is gone. What does not die is named in *left. */
static void end_jail(struct keeper *keeper, struct warder_error *left)
{
	struct warder_error ignored;

	/* One that was parked may have an agent, whose end the supervision explains. */
	if (!keeper->waiting && keeper->session && keeper->executions.count)
		watch_jail(keeper, &ignored);
	if (keeper->waiting) {
		keeper->sessions->stop(keeper->session);
		if (!join_waiter(keeper)) {
			error_set(
			    left, WARDER_ERROR_UNAVAILABLE, NULL,
			    "host: the session's keeper, process %d, hangs in the kernel, and so may the "
			    "session; both are left behind",
			    (int)getpid());
			return;
		}
		keeper_rules_done(&keeper->rules);
		executions_finish(&keeper->executions);
		tell_clients(keeper);
		if (*keeper->sessions->left(keeper->session))
			error_set(left, WARDER_ERROR_UNAVAILABLE, NULL, "host: %s",
				  keeper->sessions->left(keeper->session));
	}
	if (keeper->session)
		keeper->sessions->free(keeper->session);
	preparation_done(&keeper->preparation);
}

/* Nothing can be asked any more before anything is taken down; the name is free when everything is gone, or given up. */
static void end(struct keeper *keeper)
{
	struct warder_error left = { 0 };

	fd_done(&keeper->listen_fd);
	keeper->executions.session_end = keeper->end;
	for (size_t i = 0; i < keeper->connection_count; i++)
		if (keeper->connections[i].joined)
			session_tell_end(keeper->connections[i].fd, keeper->end);
	end_jail(keeper, &left);
	if (left.code)
		snprintf(left.step, sizeof(left.step), "%s", SESSION_STEP_LEFT);
	if (keeper->lock_fd >= 0)
		session_unlink(keeper->dir_fd, keeper->spec.name);
	fd_done(&keeper->lock_fd);
	fd_done(&keeper->dir_fd);
	session_directory_tidy();
	if (keeper->stopper_fd >= 0)
		session_send_reply(keeper->stopper_fd, left.code ? &left : NULL, NULL, NULL);
}

static int read_spec(struct session_spec *ret, struct warder_error *err)
{
	char *text = NULL;
	size_t len = 0;
	int parsed;

	if (file_read_open(KEEPER_FD_SPEC, "the session's specification", SESSION_BYTES_MAX, &text, &len,
			   err) < 0)
		return -1;
	parsed = session_spec_parse(text, len, false, ret, err);
	free(text);
	return parsed;
}

static int draw_id(char **ret, struct warder_error *err)
{
	uint64_t number[2];
	char text[SESSION_ID_LENGTH + 1];
	ssize_t n;

	do
		n = getrandom(number, sizeof(number), 0);
	while (n < 0 && errno == EINTR);
	if (n != sizeof(number))
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "no random number");
	snprintf(text, sizeof(text), "%016" PRIx64 "%016" PRIx64, number[0], number[1]);
	*ret = strdup(text);
	return *ret ? 0 : error_no_memory(err, NULL);
}

/* Whether the process that started the session is gone, or does not want it any more. */
static bool starter_left(void)
{
	struct pollfd starter = { .fd = KEEPER_FD_REPORT, .events = POLLIN };

	return poll(&starter, 1, 0) > 0;
}

/* For whoever stops the session, also if this process does not answer then. */
static int leave_note(struct keeper *keeper, struct warder_error *err)
{
	struct json_writer w = { 0 };
	char *text;
	int written;

	if (!keeper->spec.snapshot_on_stop)
		return 0;
	json_begin_object(&w);
	session_spec_write_origin(&keeper->spec, &w);
	json_end_object(&w);
	text = json_take(&w);
	if (!text)
		return error_no_memory(err, NULL);
	written = file_write_all(keeper->lock_fd, text, strlen(text));
	free(text);
	return written < 0 ? error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "--snapshot-on-stop", errno,
					     "the file of the session cannot be written")
			   : 0;
}

/* 0 with the lock and the socket of its name. -1: somebody has it (*ret_busy), or with *err. */
static int take_name(struct keeper *keeper, bool *ret_busy, struct warder_error *err)
{
	const int locked = session_directory_lock(keeper->spec.name, &keeper->dir_fd, &keeper->lock_fd, err);

	*ret_busy = locked > 0;
	/* With the lock, because a session on another machine takes its name under it. */
	if (locked != 0 || elsewhere_check_here(keeper->spec.name, err) < 0)
		return -1;
	/* The file may be that of a keeper that died. */
	if (ftruncate(keeper->lock_fd, 0) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "name", errno,
				       "the file of the session cannot be emptied");
	return session_listen(keeper->dir_fd, keeper->spec.name, &keeper->listen_fd, err);
}

/* The jail is there: so can executions be. */
static int allow_executions(struct keeper *keeper, struct warder_error *err)
{
	if (executions_init(&keeper->executions, err) < 0 || keeper_rules_init(&keeper->rules, err) < 0)
		return -1;
	keeper->executions.session = keeper->spec.name;
	keeper->executions.session_id = keeper->spec.id;
	keeper->executions.policy = &keeper->spec.policy;
	keeper->executions.spec = &keeper->spec;
	keeper->executions.joint = keeper->sessions->joint(keeper->session);
	keeper->executions.root = keeper->sessions->root(keeper->session);
	keeper->executions.cgroup_parent = keeper->spec.cgroup_parent;
	keeper->clients.all = &keeper->executions;
	keeper->clients.pause = pause_session;
	keeper->clients.extend = extend_session;
	keeper->clients.measure = count_session;
	keeper->clients.describe = describe_briefly;
	keeper->clients.keeper = keeper;
	return 0;
}

/* False: nobody is there any more who would know. After the last word, the socket stays for a starter that looks whether the keeper lives. */
static bool report(enum keeper_word word, const struct warder_error *err)
{
	struct keeper_report text = { .word = word, .pid = getpid() };
	bool sent;

	if (err)
		text.error = *err;
	sent = send(KEEPER_FD_REPORT, &text, sizeof(text), MSG_NOSIGNAL) == sizeof(text);
	return sent;
}

/* All but its name, and what that is needed for; then that. Its lifetime begins with the name. */
static int begin_parked(struct keeper *keeper, bool *ret_busy, struct warder_error *err)
{
	uint64_t opened_us;
	char *name = NULL;

	keeper->end = SESSION_END_STOPPED; /* unless it is handed out */
	if (open_jail(keeper, err) < 0)
		return -1;
	opened_us = clock_us();
	if (allow_executions(keeper, err) < 0 ||
	    (keeper->spec.parks_agent && keeper_park_agent(&keeper->executions, keeper->signal_fd, err) < 0))
		return -1;
	if (!report(KEEPER_PARKED, NULL))
		return error_set(err, WARDER_ERROR_CONFLICT, "name", INTERRUPTED);
	if (keeper_park_wait(&keeper->executions, keeper->signal_fd, &name, err) < 0)
		return -1;
	free(keeper->spec.name);
	keeper->spec.name = name;
	keeper->spec.parks = keeper->spec.parks_agent = false;
	keeper->executions.session = name;
	/* Who waited too long for the answer starts another session of this name. */
	if (starter_left())
		return error_set(err, WARDER_ERROR_CONFLICT, "name", INTERRUPTED);
	if (take_name(keeper, ret_busy, err) < 0 || keeper->sessions->recheck(keeper->session, err) < 0 ||
	    watch_jail(keeper, err) < 0)
		return -1;
	keeper->sessions->extend(keeper->session, clock_us() - opened_us);
	keeper->end = SESSION_END_NONE;
	return 0;
}

static int begin_now(struct keeper *keeper, bool *ret_busy, struct warder_error *err)
{
	return take_name(keeper, ret_busy, err) < 0 || open_jail(keeper, err) < 0 ||
		       watch_jail(keeper, err) < 0 || allow_executions(keeper, err) < 0 ||
		       set_up_attended(keeper, err) < 0 || leave_note(keeper, err) < 0
		   ? -1
		   : 0;
}

static int begin(struct keeper *keeper, bool *ret_busy, struct warder_error *err)
{
	sigset_t signals;
	int begun;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* an error of the write to a caller's file */
	keeper->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC);
	if (read_spec(&keeper->spec, err) < 0 || draw_id(&keeper->spec.id, err) < 0)
		return -1;
	begun = keeper->spec.parks ? begin_parked(keeper, ret_busy, err) : begin_now(keeper, ret_busy, err);
	if (begun < 0)
		return -1;
	if (has_ended(keeper))
		return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL, "the session ended during its set-up");
	if (starter_left())
		return error_set(err, WARDER_ERROR_CONFLICT, "name", INTERRUPTED);
	return 0;
}

static int live(void)
{
	static struct keeper keeper; /* large, and the process is one */
	struct warder_error err = { 0 };
	bool busy = false;

	keeper.dir_fd = keeper.lock_fd = keeper.listen_fd = keeper.signal_fd = -1;
	keeper.ended_fd = keeper.set_up_fd = keeper.stopper_fd = -1;
	keeper.executions.fd = keeper.executions.launched_fd = keeper.rules.fd = -1;
	if (!report(KEEPER_BEGUN, NULL))
		return 1;
	if (begin(&keeper, &busy, &err) < 0) {
		/* It has waited for what does not die, and would once more. */
		if (keeper.setup_stuck)
			report(KEEPER_FAILED, &err);
		end(&keeper);
		if (!keeper.setup_stuck)
			report(busy ? KEEPER_BUSY : KEEPER_FAILED, &err);
		return 1;
	}
	keeper.started = time(NULL);
	keeper.started_us = keeper.idle_since_us = clock_us();
	if (report(KEEPER_READY, NULL))
		keep(&keeper);
	end(&keeper);
	return 0;
}

/* An execution takes about 16 descriptors, a client one: 1,024, the usual limit, would hold 63 executions. */
static void allow_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= DESCRIPTORS)
		return;
	limit.rlim_cur = limit.rlim_max < DESCRIPTORS ? limit.rlim_max : DESCRIPTORS;
	setrlimit(RLIMIT_NOFILE, &limit);
}

int keeper_main(void)
{
	struct stat st;
	int null_fd;
	pid_t pid;

	if (fstat(KEEPER_FD_REPORT, &st) < 0 || !S_ISSOCK(st.st_mode) || fstat(KEEPER_FD_SPEC, &st) < 0)
		return 125; /* nobody who starts a session called */
	pid = fork();
	if (pid != 0)
		return pid < 0 ? 125 : 0;
	setsid();
	umask(077);
	allow_descriptors();
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd < 3; fd++)
		dup2(null_fd, fd);
	fcntl(KEEPER_FD_REPORT, F_SETFD, FD_CLOEXEC);
	fcntl(KEEPER_FD_SPEC, F_SETFD, FD_CLOEXEC);
	syscall(SYS_close_range, KEEPER_FD_SPEC + 1, ~0u, 0);
	if (chdir("/") < 0)
		return 125;
	return live();
}
