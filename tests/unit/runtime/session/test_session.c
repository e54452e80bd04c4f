/* sessions: names, specifications, and what an execution may have. */
#include "base/array.h"
#include "runtime/session/session.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct warder_error err;

Test(session, names, .timeout = 20)
{
	static const char *const good[] = { "a", "Job-7", "x.y_z", "0" };
	static const char *const bad[] = {
		"",         ".",
		"..",       "-a",
		".a",       "a/b",
		"a b",      "a\n",
		"\xc3\xa4", "12345678901234567890123456789012345678901234567890123456789012345"
	};

	for (size_t i = 0; i < ARRAY_LENGTH(good); i++)
		cr_expect_eq(session_check_name(good[i], &err), 0, "%s", good[i]);
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++)
		cr_expect_eq(session_check_name(bad[i], &err), -1, "%s", bad[i]);
	cr_expect_eq(session_check_name(NULL, &err), -1);
}

static char *spec_text(const char *members)
{
	struct policy policy;
	char *text = NULL;
	char *encoded;

	policy_preset("strict", &policy, &err);
	encoded = policy_encode(&policy);
	if (asprintf(&text, "{\"policy\": %s, %s}", encoded, members) < 0)
		abort();
	free(encoded);
	policy_done(&policy);
	return text;
}

Test(session, specifications_that_are_wrong, .timeout = 20)
{
	static const struct {
		const char *members, *says;
	} rows[] = {
		{ "\"name\": \"a\"", "lifetime" },
		{ "\"name\": \"a\", \"lifetimeUs\": 0, \"idleTimeoutUs\": 1", "lifetimeUs" },
		{ "\"name\": \"a\", \"lifetimeUs\": 1, \"idleTimeoutUs\": 99999999999999", "idleTimeoutUs" },
		{ "\"name\": \"../a\", \"lifetimeUs\": 1, \"idleTimeoutUs\": 1", "not a valid session name" },
		{ "\"name\": 1, \"lifetimeUs\": 1, \"idleTimeoutUs\": 1", "not a string" },
		{ "\"name\": \"a\", \"lifetimeUs\": 1, \"idleTimeoutUs\": 1, \"x\": 1", "not known" },
		{ "\"name\": \"a\", \"lifetimeUs\": 1, \"idleTimeoutUs\": 1, \"copyOf\": \"b\"",
		  "id of its source" },
		{ "\"name\": \"a\", \"lifetimeUs\": 1, \"idleTimeoutUs\": 1, \"id\": \"1\"", "not known" },
		{ "\"name\": \"a\", \"lifetimeUs\": 1, \"idleTimeoutUs\": 1, \"setup\": \"a\"",
		  "not an array" },
		{ "\"name\": \"a\", \"lifetimeUs\": 1, \"idleTimeoutUs\": 1, \"setup\": [1]", "not a list" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		char *text = spec_text(rows[i].members);
		struct session_spec spec;

		cr_expect_eq(session_spec_parse(text, strlen(text), false, &spec, &err), -1, "%s",
			     rows[i].members);
		cr_expect(strstr(err.text, rows[i].says) || strstr(err.field, rows[i].says), "%s: %s",
			  rows[i].members, err.text);
		free(text);
	}
}

Test(session, specification_and_back, .timeout = 20)
{
	char *text = spec_text(
	    "\"name\": \"a\", \"lifetimeUs\": 5, \"idleTimeoutUs\": 6, \"setup\": [\"x\", \"y z\"], "
	    "\"backend\": \"local\"");
	struct json_writer w = { 0 };
	struct session_spec one;
	struct session_spec other;
	char *written;

	cr_assert_eq(session_spec_parse(text, strlen(text), false, &one, &err), 0, "%s", err.text);
	json_begin_object(&w);
	session_spec_write(&one, &w);
	json_key_uint(&w, "more", 1);
	json_key_string(&w, "id", "0a");
	json_end_object(&w);
	written = json_take(&w);
	cr_assert_eq(session_spec_parse(written, strlen(written), true, &other, &err), 0, "%s", err.text);
	cr_expect_null(session_spec_difference(&one, &other));
	cr_expect_eq(other.lifetime_us, 5);
	cr_expect_eq(other.idle_us, 6);
	cr_expect_str_eq(other.backend, "local");
	cr_expect_null(one.id);
	cr_expect_str_eq(other.id, "0a");
	other.setup[1][0] = 'z';
	cr_expect_not_null(session_spec_difference(&one, &other));
	session_spec_done(&one);
	session_spec_done(&other);
	free(written);
	free(text);
}

/* What an execution may ask for. */
Test(session, narrower, .timeout = 20)
{
	static const struct {
		const char *field, *value;
		bool may;
	} rows[] = {
		{ "limits.memory", "1MiB", true },
		{ "limits.memory", "1GiB", false },
		{ "limits.wallTime", "1s", true },
		{ "limits.wallTime", "1h", false },
		{ "limits.pids", "3", true },
		{ "limits.pids", "unlimited", false },
		{ "processes.spawn", "false", true },
		{ "syscalls.profile", "compat", false },
		{ "environment.set.A", "x", true },
		{ "environment.mode", "host", false },
		{ "workingDirectory", "/usr", true },
		{ "network.mode", "loopback", false },
		{ "filesystem.paths.readOnly", "/srv", false },
		{ "filesystem.workspace", "readOnly:/srv", false },
		{ "filesystem.tmp", "1MiB", false },
		{ "limits.disk", "1MiB", false },
		{ "processes.identity.uid", "5", false },
		{ "functions", "a", true },
		{ "functions", "c", false },
	};
	struct policy session, none;

	cr_assert_eq(policy_preset("strict", &none, &err), 0);
	policy_copy(&none, &session, &err);
	cr_assert_eq(policy_set(&session, "functions", "a", &err), 0);
	cr_assert_eq(policy_set(&session, "functions", "b", &err), 0);
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct policy asked;

		policy_copy(&none, &asked, &err);
		cr_assert_eq(policy_set(&asked, rows[i].field, rows[i].value, &err), 0, "%s: %s",
			     rows[i].field, err.text);
		cr_expect_eq(session_check_narrower(&session, &asked, &err), rows[i].may ? 0 : -1,
			     "%s=%s: %s", rows[i].field, rows[i].value, rows[i].may ? err.text : "taken");
		policy_done(&asked);
	}
	policy_done(&none);
	policy_done(&session);
}

/* What comes over a socket is looked at before it is used. */
Test(session, joints, .timeout = 20)
{
	struct jail_joint joint = { .magic = JAIL_JOINT_MAGIC, .size = sizeof(joint) };
	struct jail_joint bad;

	joint.cgroup.v2 = -1;
	for (int c = 0; c < CGROUP_CONTROLLER_COUNT; c++)
		joint.cgroup.hierarchy_of[c] = -1;
	cr_expect(jail_joint_valid(&joint));
	bad = joint;
	bad.magic++;
	cr_expect_not(jail_joint_valid(&bad), "magic");
	bad = joint;
	bad.cgroup.hierarchy_count = CGROUP_HIERARCHIES_MAX + 1;
	cr_expect_not(jail_joint_valid(&bad), "count");
	bad = joint;
	bad.cgroup.hierarchy_of[0] = 0;
	cr_expect_not(jail_joint_valid(&bad), "index");
	bad = joint;
	bad.cgroup.hierarchy_count = 1;
	memset(bad.cgroup.hierarchies[0].base, 'x', sizeof(bad.cgroup.hierarchies[0].base));
	cr_expect_not(jail_joint_valid(&bad), "text without an end");
}

/* What says nothing of a later version is sent as the version before knows it, and no other length is taken. */
Test(session, requests_of_two_versions, .timeout = 20)
{
	static const struct {
		struct session_request request;
		size_t len;
	} rows[] = {
		{ { .type = SESSION_DESCRIBE }, SESSION_REQUEST_OLD },
		{ { .type = SESSION_STOP }, SESSION_REQUEST_OLD },
		{ { .type = SESSION_JOIN, .id = "i" }, SESSION_REQUEST_OLD },
		{ { .type = SESSION_JOIN, .id = "i", .rules = 1 }, sizeof(struct session_request) },
		{ { .type = SESSION_RULES, .bytes = 7 }, sizeof(struct session_request) },
	};
	struct session_request got;
	char bytes[sizeof(got) + 8];
	int pair[2], fd;

	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct session_request request = rows[i].request;

		memset(&got, 'x', sizeof(got));
		cr_expect_eq(session_send_request(pair[0], &request, -1, &err), 0);
		cr_expect_eq(recv(pair[1], bytes, sizeof(bytes), MSG_PEEK), (ssize_t)rows[i].len, "row %zu",
			     i);
		cr_expect_eq(session_receive_request(pair[1], &got, &fd), 1, "row %zu", i);
		cr_expect(got.type == request.type && strcmp(got.id, request.id) == 0 &&
			      got.rules == request.rules && got.bytes == request.bytes,
			  "row %zu", i);
		for (size_t len = 4; len <= sizeof(bytes); len += 4) {
			request.size = (uint32_t)len;
			memset(bytes, 0, sizeof(bytes));
			memcpy(bytes, &request, sizeof(request));
			cr_expect_eq(send(pair[0], bytes, len, 0), (ssize_t)len);
			cr_expect_eq(session_receive_request(pair[1], &got, &fd) == 1,
				     len == sizeof(request) ||
					 (len == SESSION_REQUEST_OLD && request.type != SESSION_RULES),
				     "row %zu, %zu bytes", i, len);
		}
	}
	close(pair[0]);
	close(pair[1]);
}
