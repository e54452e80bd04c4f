/*
 * The network rules of a session, replaced while its keeper supervises it: in a network namespace of the test's own, whose host has a
 * server at a public address.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "runtime/session/records.h"
#include "runtime/session/session.h"
#include "tests/lib/library.h"
#include "tests/lib/namespace.h"

#define SERVER "11.22.33.10"

static int listeners[2];

/* Greets each connection to the ports 7 and 8, and keeps it open. */
static void *greet(void *arg)
{
	struct pollfd fds[2] = { { .fd = listeners[0], .events = POLLIN },
				 { .fd = listeners[1], .events = POLLIN } };

	while (poll(fds, 2, -1) > 0)
		for (int i = 0; i < 2; i++)
			if (fds[i].revents) {
				const int fd = accept(listeners[i], NULL, NULL);

				if (fd < 0 || write(fd, "up\n", 3) != 3)
					return NULL;
			}
	return NULL;
}

static void begin(void)
{
	pthread_t thread;

	if (geteuid() != 0)
		library_skip("a network namespace of its own needs root");
	namespace_listen(SERVER, listeners);
	cr_assert_eq(pthread_create(&thread, NULL, greet, NULL), 0);
	pthread_detach(thread);
}

static struct warder_policy *policy_with(const char *const rows[])
{
	struct warder_policy *policy = library_policy();
	struct warder_error err;

	cr_assert_eq(warder_policy_set(policy, "network.mode", "allow", &err), 0, "%s", err.text);
	for (size_t i = 0; rows[i]; i++)
		cr_assert_eq(warder_policy_set(policy, "network.allow", rows[i], &err), 0, "%s", err.text);
	return policy;
}

static const char *const first[] = { SERVER "/32:7", "11.22.33.11/32:8", NULL };
static const char *const second[] = { SERVER "/32:8", NULL };
static const char *const granted[] = { "11.22.33.0/24:7,8", "11.22.44.0/24:8", NULL };
static const char *const beyond[] = { "11.22.55.0/24:8", NULL };
static const char *const unheard[] = { "11.22.33.0/24:9", NULL };

/* -1 with *err. */
static int replace(const char *session, const char *const rows[], struct warder_error *err)
{
	struct policy policy;
	int done;

	cr_assert(policy_preset("strict", &policy, err) == 0 &&
		  policy_set(&policy, "network.mode", "allow", err) == 0);
	for (size_t i = 0; rows[i]; i++)
		cr_assert_eq(policy_set(&policy, "network.allow", rows[i], err), 0, "%s", err->text);
	done = session_replace_rules(session, &policy, err);
	policy_done(&policy);
	return done;
}

#define TRY                                                                                                  \
	"try() { (exec 3<>/dev/tcp/" SERVER                                                                  \
	"/$1 && read -r -t9 x <&3 && echo $1 $x) 2>/dev/null || echo $1 refused; }; "

struct talk {
	char text[256];
	size_t len;
};

static int hear(void *context, enum warder_stream stream, uint64_t offset, const char *bytes, size_t len)
{
	struct talk *talk = context;

	if (stream == WARDER_STDOUT && talk->len + len < sizeof(talk->text)) {
		memcpy(talk->text + talk->len, bytes, len);
		talk->len += len;
	}
	return 0;
}

/* Starts a script and returns its result as JSON, which the caller frees. When it has said "?", the rules become `rows`, and it goes on. */
static char *execute(struct warder_session *session, const char *script, const char *const rows[],
		     struct talk *talk)
{
	const char *argv[] = { "bash", "-c", script, NULL };
	const struct warder_execution_command command = { .size = sizeof(command),
							  .argv = (char *const *)(uintptr_t)argv,
							  .keep_input = 1 };
	struct warder_attach attach = { .size = sizeof(attach), .on_output = hear, .context = talk };
	struct warder_execution *execution;
	struct warder_result *result = NULL;
	struct warder_error err = { 0 };
	int ended;
	char *json;

	*talk = (struct talk){ 0 };
	cr_assert_eq(warder_execution_start(session, &command, &execution, &err), 0, "%s", err.text);
	cr_assert_eq(warder_execution_attach(execution, &attach, NULL, &err), 0, "%s", err.text);
	while ((ended = warder_execution_wait_for(execution, 100000, &result, &err)) == 0)
		if (rows && strchr(talk->text, '?')) {
			cr_assert_eq(replace(warder_execution_session(execution), rows, &err), 0, "%s",
				     err.text);
			cr_assert_eq(warder_execution_write(execution, "\n", 1, 0, &err), 0, "%s", err.text);
			rows = NULL;
		}
	cr_assert_eq(ended, 1, "%s", err.text);
	json = warder_result_json(result);
	warder_result_free(result);
	warder_execution_free(execution);
	return json;
}

/* The session has the rules `first`. */
static struct warder_session *start(char name[40])
{
	char tool[PATH_MAX];
	struct warder_session_options options = { .size = sizeof(options),
						  .program = library_tool(tool, sizeof(tool)) };
	struct warder_session *session;
	struct warder_policy *policy, *ceiling;
	struct warder_error err = { 0 };

	if (!options.program)
		library_skip("there is no command line tool beside this program");
	begin();
	policy = policy_with(first);
	ceiling = policy_with(granted);
	options.policy = policy;
	options.ceiling = ceiling;
	snprintf(name, 40, "rules-%d", (int)getpid());
	cr_assert_eq(warder_session_start(name, &options, &session, &err), 0, "%s", err.text);
	warder_policy_free(policy);
	warder_policy_free(ceiling);
	return session;
}

static void end(const char *name, struct warder_session *session)
{
	struct warder_error err;

	warder_session_stop(name, &err);
	warder_session_free(session);
}

Test(rules, of_a_session_whose_programs_run, .init = library_begin_sessions, .fini = library_end_sessions,
     .timeout = 120)
{
	char name[40];
	struct warder_session *session = start(name), *again;
	struct warder_template *tmpl = NULL;
	struct warder_error err = { 0 };
	struct talk talk;
	char *json;

	json = execute(session,
		       TRY "try 8; exec 4<>/dev/tcp/" SERVER
			   "/7; read -r -t9 x <&4; echo old $x '?'; read -r _; "
			   "read -r -t20 x <&4; [ $? = 1 ] && echo reset; try 7; try 8",
		       second, &talk);
	cr_expect_str_eq(talk.text, "8 refused\nold up ?\nreset\n7 refused\n8 up\n", "%s", talk.text);
	cr_expect(strstr(json, "\"rulesReplaced\":[{\"number\":1,\"at\":\"20") &&
		      strstr(json, "\"reason\":\"withdrawn\"") &&
		      strstr(json, "\"requested\":\"" SERVER "/32:7\""),
		  "%s", json);
	free(json);

	/* The handle is from before. */
	json = execute(session, TRY "try 7; try 8", NULL, &talk);
	cr_expect_str_eq(talk.text, "7 refused\n8 up\n", "%s", talk.text);
	cr_expect(!strstr(json, "rulesReplaced") && strstr(json, "\"requested\":\"" SERVER "/32:8\"") &&
		      !strstr(json, SERVER "/32:7"),
		  "%s", json);
	free(json);
	cr_expect(warder_session_prepare(session, NULL, 0, &tmpl, &err) < 0 &&
		      err.code == WARDER_ERROR_CONFLICT && strstr(err.text, "were replaced; open it again"),
		  "%s", err.text);

	cr_expect(replace(name, beyond, &err) < 0 && err.code == WARDER_ERROR_REJECTED &&
		      strstr(err.text, "11.22.55.0/24"),
		  "%s", err.text);
	cr_expect(replace(name, unheard, &err) < 0 && err.code == WARDER_ERROR_REJECTED, "%s", err.text);
	cr_assert_eq(warder_session_open(name, &again, &err), 0, "%s", err.text);
	json = warder_session_json(again);
	cr_expect(strstr(json, "\"rulesReplaced\":1") && strstr(json, "kept by warder-edge since 20") &&
		      !strstr(json, SERVER "/32:7") && strstr(json, "\"requested\":\"" SERVER "/32:8\""),
		  "%s", json);
	free(json);
	cr_expect_eq(warder_session_prepare(again, NULL, 0, &tmpl, &err), 0, "%s", err.text);
	warder_template_free(tmpl);
	warder_session_free(again);

	/* However often the same rules come, those of the handle stay known. */
	for (int i = 0; i < 20; i++)
		cr_assert_eq(replace(name, second, &err), 0, "%s", err.text);
	json = execute(session, TRY "try 7; try 8", NULL, &talk);
	cr_expect_str_eq(talk.text, "7 refused\n8 up\n", "%s", talk.text);
	free(json);
	end(name, session);
}

/* ---- clients and edges that do not wait for each other ---- */

/* Ask for the rules `second`, without waiting for the answer. Returns the connection. */
static int ask(const char *name)
{
	struct session_request request = { .type = SESSION_RULES };
	owned_fd int dir_fd = -1;
	owned_fd int file_fd = -1;
	struct warder_error err;
	struct policy policy;
	char *text;
	int fd;

	cr_assert(policy_preset("strict", &policy, &err) == 0 &&
		  policy_set(&policy, "network.mode", "allow", &err) == 0 &&
		  policy_set(&policy, "network.allow", second[0], &err) == 0);
	text = policy_encode(&policy);
	policy_done(&policy);
	request.bytes = strlen(text);
	file_fd = record_make_file(text, request.bytes);
	free(text);
	cr_assert(session_directory_open(false, &dir_fd, &err) == 0 &&
		  session_connect(dir_fd, name, &fd, &err) == 0 &&
		  session_send_request(fd, &request, file_fd, &err) == 0);
	return fd;
}

/* How often its rules were replaced, and whether they are `first`. */
static int count_rules(const char *name, bool *ret_old, int *ret_keeper)
{
	struct warder_session *session;
	struct warder_error err;
	const char *member;
	int count;
	char *json;

	cr_assert_eq(warder_session_open(name, &session, &err), 0, "%s", err.text);
	json = warder_session_json(session);
	warder_session_free(session);
	member = strstr(json, "\"rulesReplaced\":");
	cr_assert(member && strstr(json, "\"keeperPid\":"), "%s", json);
	count = atoi(member + strlen("\"rulesReplaced\":"));
	*ret_old = strstr(json, "11.22.33.11/32") != NULL;
	*ret_keeper = atoi(strstr(json, "\"keeperPid\":") + strlen("\"keeperPid\":"));
	free(json);
	return count;
}

static pid_t edge_of(int keeper)
{
	DIR *all = opendir("/proc");
	pid_t found = 0;

	for (struct dirent *entry; all && !found && (entry = readdir(all));) {
		char path[300], line[64] = "";
		int pid, parent;
		FILE *file;

		snprintf(path, sizeof(path), "/proc/%s/stat", entry->d_name);
		file = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' ? fopen(path, "re") : NULL;
		if (file && fgets(line, sizeof(line), file) &&
		    sscanf(line, "%d (warder-edge) %*c %d", &pid, &parent) == 2 && parent == keeper)
			found = pid;
		if (file)
			fclose(file);
	}
	closedir(all);
	return found;
}

Test(rules, a_client_that_left_has_changed_nothing, .init = library_begin_sessions,
     .fini = library_end_sessions, .timeout = 120)
{
	char name[40];
	struct warder_session *session = start(name);
	struct talk talk;
	bool old;
	int keeper;

	cr_assert_eq(count_rules(name, &old, &keeper), 0);
	kill(keeper, SIGSTOP);
	close(ask(name));
	kill(keeper, SIGCONT);
	count_rules(name, &old, &keeper); /* that of the client that left came before */
	cr_expect(count_rules(name, &old, &keeper) == 0 && old);
	free(execute(session, TRY "try 7; try 8", NULL, &talk));
	cr_expect_str_eq(talk.text, "7 up\n8 refused\n", "%s", talk.text);
	end(name, session);
}

Test(rules, what_a_client_that_leaves_has_changed_is_restored, .init = library_begin_sessions,
     .fini = library_end_sessions, .timeout = 120)
{
	char name[40];
	struct warder_session *session = start(name);
	struct talk talk;
	pid_t edge;
	bool old;
	int keeper, fd, count;

	cr_assert_eq(count_rules(name, &old, &keeper), 0);
	edge = edge_of(keeper);
	cr_assert(edge > 0);
	kill(edge, SIGSTOP);
	fd = ask(name);
	count_rules(name, &old, &keeper);
	count_rules(name, &old, &keeper); /* the keeper has read both by now */
	close(fd);
	kill(edge, SIGCONT);
	for (int i = 0; (count = count_rules(name, &old, &keeper)) < 2 && i < 6000; i++) {
		cr_expect_eq(count, 0, "it counts a change that nobody knows of");
		poll(NULL, 0, 10);
	}
	cr_expect(old);
	free(execute(session, TRY "try 7; try 8", NULL, &talk));
	cr_expect_str_eq(talk.text, "7 up\n8 refused\n", "%s", talk.text);
	end(name, session);
}

static bool is_dead(pid_t pid)
{
	char path[40], state = 'X';
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (file) {
		if (fscanf(file, "%*d (warder-edge) %c", &state) != 1)
			state = 'X';
		fclose(file);
	}
	return state == 'Z' || state == 'X';
}

/* The keeper can start no thread for it, because it gets no memory. If that already stops the change, nothing has happened: once more. If
 * the keeper gets to it only when it has memory again, the rules are restored, and two changes counted: once more, with more time. */
Test(rules, what_cannot_be_restored_ends_the_network, .init = library_begin_sessions,
     .fini = library_end_sessions, .timeout = 240)
{
	const struct rlimit none = { 1, RLIM_INFINITY }, all = { RLIM_INFINITY, RLIM_INFINITY };
	char name[40];
	struct warder_session *session = start(name);
	struct talk talk;
	pid_t edge;
	bool old;
	int keeper, fd;

	cr_assert_eq(count_rules(name, &old, &keeper), 0);
	edge = edge_of(keeper);
	cr_assert(edge > 0);
	for (int tries = 0; tries < 20 && !is_dead(edge); tries++) {
		kill(edge, SIGSTOP);
		fd = ask(name);
		count_rules(name, &old, &keeper);
		count_rules(name, &old, &keeper);
		cr_assert_eq(prlimit(keeper, RLIMIT_AS, &none, NULL), 0);
		close(fd);
		kill(edge, SIGCONT);
		for (int i = 0; !is_dead(edge) && i < 100 * (tries + 1); i++)
			poll(NULL, 0, 10);
		cr_assert_eq(prlimit(keeper, RLIMIT_AS, &all, NULL), 0);
	}
	cr_expect(is_dead(edge));
	cr_expect(count_rules(name, &old, &keeper) % 2 == 0 && old,
		  "it counts a change that nobody knows of");
	free(execute(session, TRY "try 7; try 8", NULL, &talk));
	cr_expect(!strstr(talk.text, "up"), "%s", talk.text);
	end(name, session);
}

Test(rules, an_edge_that_hangs_keeps_nobody_waiting, .init = library_begin_sessions,
     .fini = library_end_sessions, .timeout = 120)
{
	char name[40];
	struct warder_session *session = start(name);
	struct warder_error err = { 0 };
	struct pollfd answer = { .events = POLLIN };
	pid_t edge;
	bool old;
	int keeper;

	cr_assert_eq(count_rules(name, &old, &keeper), 0);
	edge = edge_of(keeper);
	cr_assert(edge > 0);
	kill(edge, SIGSTOP);
	answer.fd = ask(name);
	count_rules(name, &old, &keeper);
	count_rules(name, &old, &keeper);
	cr_expect_eq(poll(&answer, 1, 0), 0, "others are answered first");
	cr_expect(replace(name, second, &err) < 0 && err.code == WARDER_ERROR_CONFLICT, "%s", err.text);
	cr_expect(session_receive_reply(answer.fd, NULL, NULL, &err) < 0 &&
		      strstr(err.text, "was killed; the jail has no network any more"),
		  "%s", err.text);
	cr_expect(count_rules(name, &old, &keeper) == 0 && old);
	close(answer.fd);
	end(name, session);
}
