/* The rules of a running edge, replaced: in a network namespace of the test's own, whose host has a server at a public address. */
#include <arpa/inet.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/socket.h>

#include "jail/run.h"
#include "tests/lib/jailed.h"
#include "tests/lib/namespace.h"

#define SERVER "11.22.33.10"

/* Sends back what it receives, on ports 7 and 8. */
static _Noreturn void echo(const int listeners[2])
{
	signal(SIGCHLD, SIG_IGN);
	for (int i = 0; i < 2; i++) {
		int fd;

		if (i == 0 && fork() == 0)
			continue;
		while ((fd = accept(listeners[i], NULL, NULL)) >= 0) {
			char byte;

			if (fork() == 0) {
				while (read(fd, &byte, 1) == 1 && write(fd, &byte, 1) == 1)
					;
				_exit(0);
			}
			close(fd);
		}
	}
	_exit(1);
}

/* The process group of the server. */
static pid_t begin(void)
{
	int listeners[2];
	pid_t pid;

	if (geteuid() != 0)
		cr_skip_test("a network namespace of its own needs root");
	namespace_listen(SERVER, listeners);
	pid = fork();
	if (pid == 0) {
		setpgid(0, 0);
		echo(listeners);
	}
	setpgid(pid, pid);
	close(listeners[0]);
	close(listeners[1]);
	return pid;
}

static void allow(struct policy *policy, const char *rows)
{
	struct warder_error err;

	cr_assert(policy_set(policy, "network.mode", "allow", &err) == 0, "%s", err.text);
	cr_assert(policy_set(policy, "network.allow", rows, &err) == 0, "%s", err.text);
}

/* What the program says; when it is up, its rules are replaced, and it goes on. Another thread supervises it meanwhile. */
struct talk {
	struct jailed *j;
	struct policy other;
	int stdin_fd;
	sem_t is_up;
	bool was_up;
	char text[256];
	size_t len;
	int supervised, replaced;
	uint64_t since_us;
	struct warder_error err;
};

static int on_output(void *context, enum jail_stream stream, const char *bytes, size_t len)
{
	struct talk *talk = context;

	if (stream != JAIL_STDOUT || talk->len + len >= sizeof(talk->text))
		return 0;
	memcpy(talk->text + talk->len, bytes, len);
	talk->len += len;
	if (!talk->was_up && strstr(talk->text, "up\n")) {
		talk->was_up = true;
		sem_post(&talk->is_up);
	}
	return 0;
}

static void *supervise(void *arg)
{
	struct talk *talk = arg;

	talk->supervised = jail_supervise(talk->j->run, &talk->j->outcome, &talk->j->err);
	sem_post(&talk->is_up);
	return NULL;
}

static const struct edge_refusal *refusal_of(const struct jailed *j, uint8_t reason)
{
	const struct edge_report *report = j->outcome.network;

	for (uint32_t i = 0; report && i < report->row_count; i++)
		if (report->rows[i].reason == reason)
			return &report->rows[i];
	return NULL;
}

static void run_with(struct talk *talk, const char *program, bool stops_edge)
{
	pthread_t supervisor;
	char *argv[] = { "/bin/bash", "-c", (char *)program, NULL };
	struct jailed *j = talk->j;
	int in[2];

	cr_assert_eq(pipe2(in, O_CLOEXEC), 0);
	cr_assert_eq(jailed_prepare(j, false), 0, "%s", j->err.text);
	j->command.argv = argv;
	j->command.stdin_fd = in[0];
	j->command.on_output = on_output;
	j->command.context = talk;
	talk->stdin_fd = in[1];
	sem_init(&talk->is_up, 0, 0);
	cr_assert_eq(jail_launch(j->tmpl, &j->command, &j->run, &j->err), 0, "%s", j->err.text);
	cr_assert_eq(pthread_create(&supervisor, NULL, supervise, talk), 0);
	sem_wait(&talk->is_up);
	if (stops_edge)
		kill(j->run->edge.pid, SIGSTOP);
	talk->replaced = jail_run_replace_rules(j->run, &talk->other, &talk->since_us, &talk->err);
	cr_expect_eq(write(in[1], "\n", 1), 1);
	pthread_join(supervisor, NULL);
	cr_assert_eq(talk->supervised, 0, "%s", j->err.text);
	close(in[0]);
	close(in[1]);
}

#define SAY "say() { printf x >&$1 && read -r -N1 -t9 -u$1 _; }; "
#define TO  "<>/dev/tcp/" SERVER "/"

/* The connection that the new rules do not allow is reset, the other stays, and new ones are judged anew. */
Test(network, other_rules_for_a_running_jail, .timeout = 120)
{
	const pid_t server = begin();
	struct talk talk = { .j = jailed_new() };
	const struct edge_refusal *row;

	allow(&talk.j->policy, SERVER "/32:7,8");
	cr_assert_eq(policy_preset("strict", &talk.other, &talk.err), 0, "%s", talk.err.text);
	allow(&talk.other, SERVER "/32:7");
	run_with(&talk,
		 SAY "exec 3" TO "7 4" TO
		     "8; say 3 && say 4 && echo up; read -r _; say 3 && echo kept 7; say 4 && echo kept 8\n"
		     "(exec 3" TO "7; say 3) && echo new 7; (exec 3" TO "8; say 3) && echo new 8; true",
		 false);
	cr_expect_eq(talk.replaced, 0, "%s", talk.err.text);
	cr_expect(talk.j->outcome.network && talk.j->outcome.network->rules == 1 &&
		  talk.j->outcome.network->rules_us[0] == talk.since_us && talk.since_us);
	cr_expect_str_eq(talk.text, "up\nkept 7\nnew 7\n");
	row = refusal_of(talk.j, EDGE_REASON_WITHDRAWN);
	cr_expect(row && strcmp(row->destination, SERVER) == 0 && row->port == 8 && row->count == 1);
	row = refusal_of(talk.j, EDGE_REASON_ADDRESS);
	cr_expect(row && row->port == 8 && row->count == 1);
	cr_expect(talk.j->outcome.network && talk.j->outcome.network->connections == 3);
	policy_done(&talk.other);
	jailed_free(talk.j);
	kill(-server, SIGKILL);
}

/* An address and port that the first rules do not list, although the jail listens there for another one. */
Test(network, another_destination_for_a_running_jail, .timeout = 120)
{
	const pid_t server = begin();
	struct talk talk = { .j = jailed_new() };

	allow(&talk.j->policy, SERVER "/32:7");
	allow(&talk.j->policy, "11.22.33.11/32:8");
	cr_assert_eq(policy_preset("strict", &talk.other, &talk.err), 0, "%s", talk.err.text);
	allow(&talk.other, SERVER "/32:8");
	run_with(&talk,
		 SAY "try() { (exec 3" TO
		     "$1; say 3) && echo $2 $1; }; try 7 old; try 8 old; echo up; read -r _; "
		     "try 7 new; try 8 new; true",
		 false);
	cr_expect_eq(talk.replaced, 0, "%s", talk.err.text);
	cr_expect_str_eq(talk.text, "old 7\nup\nnew 8\n", "%s", talk.text);
	policy_done(&talk.other);
	jailed_free(talk.j);
	kill(-server, SIGKILL);
}

/* Nobody knows the rules of an edge that does not answer: it is ended, and the jail has no network. */
Test(network, an_edge_that_does_not_take_other_rules_is_ended, .timeout = 120)
{
	const pid_t server = begin();
	struct talk talk = { .j = jailed_new() };

	allow(&talk.j->policy, SERVER "/32:7,8");
	cr_assert_eq(policy_preset("strict", &talk.other, &talk.err), 0, "%s", talk.err.text);
	allow(&talk.other, SERVER "/32:7");
	run_with(&talk,
		 SAY "exec 3" TO "7; say 3 && echo up; read -r _; say 3 && echo kept; (exec 3" TO
		     "7; say 3) && echo new; true",
		 true);
	cr_expect(talk.replaced < 0 && strstr(talk.err.text, "was killed; the jail has no network any more"),
		  "%s", talk.err.text);
	cr_expect_str_eq(talk.text, "up\n", "%s", talk.text);
	cr_expect(talk.j->outcome.edge_died);
	policy_done(&talk.other);
	jailed_free(talk.j);
	kill(-server, SIGKILL);
}

/* Rules for which the jail has no socket, and those of another mode: the old ones stay. */
Test(network, rules_that_a_running_jail_cannot_have, .timeout = 120)
{
	static const struct {
		const char *mode, *allow, *said;
	} rows[] = {
		{ "allow", SERVER "/32:9",
		  "network.allow[0]: the jail was started without a listener for " SERVER "/32:9;" },
		{ "allow", "new.test:7",
		  "network.allow[0]: the jail was started without a listener for new.test:7;" },
		{ "allow", "[2001:db8::/32]:8",
		  "network.allow[0]: the jail was started without a listener for 2001:db8::/32:8;" },
		{ "loopback", NULL, "network.mode: only rules of the mode \"allow\" can be replaced" },
	};
	const pid_t server = begin();

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct talk talk = { .j = jailed_new() };

		allow(&talk.j->policy, "known.test:7");
		allow(&talk.j->policy, SERVER "/32:8");
		cr_assert_eq(policy_preset("strict", &talk.other, &talk.err), 0, "%s", talk.err.text);
		cr_assert_eq(policy_set(&talk.other, "network.mode", rows[i].mode, &talk.err), 0);
		if (rows[i].allow)
			allow(&talk.other, rows[i].allow);
		run_with(&talk, SAY "exec 3" TO "8; say 3 && echo up; read -r _; say 3 && echo kept", false);
		cr_expect_eq(talk.replaced, -1, "row %zu", i);
		cr_expect(strncmp(talk.err.text, rows[i].said, strlen(rows[i].said)) == 0, "row %zu: %s", i,
			  talk.err.text);
		cr_expect_str_eq(talk.text, "up\nkept\n", "row %zu: %s", i, talk.text);
		policy_done(&talk.other);
		jailed_free(talk.j);
	}
	kill(-server, SIGKILL);
}

/* The jail would lack the authority that its edge makes at the start. */
Test(network, credentials_that_a_running_jail_cannot_get, .timeout = 120)
{
	static const char other[] = "{\"version\": 1, \"limits\": {\"wallTime\": \"30s\"}, \"network\": "
				    "{\"mode\": \"allow\", \"allow\": "
				    "[{\"host\": \"known.test\", \"ports\": [443], "
				    "\"inject\": {\"header\": \"Authorization\", \"secretFile\": "
				    "\"/dev/null\", \"format\": \"Bearer {}\"}}]}}";
	const pid_t server = begin();
	struct talk talk = { .j = jailed_new() };

	allow(&talk.j->policy, "known.test:443");
	allow(&talk.j->policy, SERVER "/32:8");
	cr_assert_eq(policy_decode(other, strlen(other), "policy", &talk.other, &talk.err), 0, "%s",
		     talk.err.text);
	run_with(&talk, SAY "exec 3" TO "8; say 3 && echo up; read -r _; say 3 && echo kept", false);
	cr_expect(talk.replaced < 0 &&
		      strstr(talk.err.text, "rows with inject cannot change while the jail runs"),
		  "%s", talk.err.text);
	cr_expect_str_eq(talk.text, "up\nkept\n", "%s", talk.text);
	policy_done(&talk.other);
	jailed_free(talk.j);
	kill(-server, SIGKILL);
}
