#include "base/array.h"
#include "policy/policy.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

static void start(struct policy *policy)
{
	struct warder_error err;

	cr_assert(policy_preset("strict", policy, &err) == 0);
}

static void set(struct policy *policy, const char *path, const char *value)
{
	struct warder_error err = { 0 };

	cr_expect(policy_set(policy, path, value, &err) == 0, "%s = %s: %s", path, value, err.text);
}

/* decode(encode(p)) == p, and encoding is a function of the value: encoding again gives the same text. */
static void round_trip(const struct policy *policy, const char *row)
{
	owned_policy struct policy back = { 0 };
	struct warder_error err = { 0 };
	char *text = policy_encode(policy), *again;

	cr_assert_not_null(text);
	cr_expect(policy_decode(text, strlen(text), "encoded", &back, &err) == 0, "row %s: %s\n%s", row,
		  err.text, text);
	cr_expect(policy_equal(policy, &back), "row %s: %s", row, text);
	again = policy_encode(&back);
	cr_expect_str_eq(again, text, "row %s", row);
	free(again);
	free(text);
}

Test(policy_encode, the_whole_text, .timeout = 20)
{
	static const char expected[] =
	    "{\"version\":1,"
	    "\"network\":{\"mode\":\"allow\",\"allow\":[{\"host\":\"pypi.org\",\"ports\":[443]},"
	    "{\"cidr\":\"10.0.0.0/8\",\"ports\":[22]},{\"host\":\"@pypi\"}],"
	    "\"deny\":[{\"host\":\"a.org\"}],\"publish\":[\"127.0.0.1:8080:80\"],"
	    "\"maxConnections\":256,\"bytes\":\"unlimited\"},"
	    "\"filesystem\":{\"view\":\"host\",\"workspace\":\"readWrite:/w\",\"paths\":{\"readOnly\":[\"/"
	    "a\"],"
	    "\"readWrite\":[]},\"tmp\":\"64MiB\",\"tmpExec\":false},"
	    "\"environment\":{\"mode\":\"none\",\"names\":[],\"set\":{\"A\":\"\\\"\"}},"
	    "\"limits\":{\"wallTime\":\"30s\",\"cpuTime\":\"30s\",\"memory\":\"512MiB\",\"swap\":\"0B\","
	    "\"cpus\":0.25,"
	    "\"pids\":64,\"openFiles\":\"unlimited\",\"fileSize\":\"64MiB\",\"stack\":\"8MiB\",\"disk\":"
	    "\"unlimited\",\"code\":\"16MiB\"},"
	    "\"output\":{\"stdout\":\"1MiB\",\"stderr\":\"1MiB\",\"onLimit\":\"drain\"},"
	    "\"processes\":{\"spawn\":true,\"identity\":{\"uid\":1000,\"gid\":1000}},"
	    "\"syscalls\":{\"profile\":\"strict\",\"deny\":[\"ptrace\"],\"allow\":[],\"onViolation\":"
	    "\"errno\",\"speculation\":false},\"devices\":{\"terminals\":0},"
	    "\"workingDirectory\":null,\"languages\":\"any\","
	    "\"enforcement\":{\"languages\":\"required\",\"network\":\"required\","
	    "\"network.publish\":\"required\",\"network.maxConnections\":\"required\",\"network.bytes\":"
	    "\"required\",\"filesystem.view\":"
	    "\"required\","
	    "\"filesystem.workspace\":\"required\",\"filesystem.paths\":\"required\",\"filesystem.tmp\":"
	    "\"required\","
	    "\"environment\":\"required\",\"limits.wallTime\":\"required\",\"limits.cpuTime\":\"required\","
	    "\"limits.memory\":\"required\",\"limits.swap\":\"preferred\",\"limits.cpus\":\"required\","
	    "\"limits.pids\":\"required\",\"limits.openFiles\":\"required\",\"limits.fileSize\":\"required\","
	    "\"limits.stack\":\"required\",\"limits.disk\":\"required\",\"limits.code\":\"required\","
	    "\"output.stdout\":\"required\","
	    "\"output.stderr\":\"required\",\"processes.spawn\":\"required\",\"processes.identity\":"
	    "\"required\","
	    "\"syscalls\":\"required\",\"syscalls.speculation\":\"required\","
	    "\"devices.terminals\":\"required\",\"workingDirectory\":\"required\"}"
	    "}";
	owned_policy struct policy policy = { 0 };
	struct json_writer writer = { 0 };
	char *text;

	start(&policy);
	set(&policy, "network.mode", "allow");
	set(&policy, "network.allow", "PyPI.org:443");
	set(&policy, "network.allow", "10.0.0.0/8:22");
	set(&policy, "network.allow", "@pypi");
	set(&policy, "network.deny", "a.org");
	set(&policy, "network.publish", "8080:80");
	set(&policy, "filesystem.workspace", "readWrite:/w");
	set(&policy, "filesystem.paths.readOnly", "/a");
	set(&policy, "environment.set.A", "\"");
	set(&policy, "limits.cpus", "0.25");
	set(&policy, "limits.openFiles", "unlimited");
	set(&policy, "limits.disk", "unlimited");
	set(&policy, "syscalls.deny", "ptrace");
	policy.preferred[POLICY_FIELD_SWAP] = true;
	policy_write(&policy, &writer);
	text = json_take(&writer);
	cr_expect_str_eq(text, expected);
	free(text);
	round_trip(&policy, "whole");
	policy.preferred[POLICY_FIELD_FUNCTIONS] = true;
	round_trip(&policy, "functions preferred");
}

/* One change of each field at a time comes back from the text. */
Test(policy_encode, round_trips, .timeout = 60)
{
	static const struct {
		const char *path, *value, *mode_path, *mode;
	} rows[] = {
		{ "network.mode", "loopback", NULL, NULL },
		{ "network.mode", "host", NULL, NULL },
		{ "network.allow", "*.example.org:1,65535", "network.mode", "allow" },
		{ "network.allow", "[2001:db8::/32]:443", "network.mode", "allow" },
		{ "network.allow", "pypi.org", "network.mode", "learn" },
		{ "network.publish", "10.0.0.1:0-90:1-65535", "network.mode", "loopback" },
		{ "network.maxConnections", "4096", NULL, NULL },
		{ "network.bytes", "1KiB", NULL, NULL },
		{ "filesystem.view", "directory:/srv/a b:c\"\\", NULL, NULL },
		{ "filesystem.view", "image:debian:12", NULL, NULL },
		{ "filesystem.workspace", "readOnly:/w", NULL, NULL },
		{ "filesystem.workspace", "overlay:/w", NULL, NULL },
		{ "filesystem.paths.readOnly", "/d\xc3\xa9j\xc3\xa0", NULL, NULL },
		{ "filesystem.paths.readWrite", "/b", NULL, NULL },
		{ "filesystem.tmp", "16385", NULL, NULL },
		{ "filesystem.tmpExec", "true", NULL, NULL },
		{ "environment.mode", "host", NULL, NULL },
		{ "environment.names", "N", "environment.mode", "allowList" },
		{ "environment.set._A1", "line\nline\ttab", NULL, NULL },
		{ "limits.wallTime", "0.000001", NULL, NULL },
		{ "limits.wallTime", "8760h", NULL, NULL },
		{ "limits.cpuTime", "1.5ms", NULL, NULL },
		{ "limits.cpuTime", "unlimited", NULL, NULL },
		{ "limits.memory", "1048577", NULL, NULL },
		{ "limits.memory", "9223372036854775807", NULL, NULL },
		{ "limits.memory", "unlimited", NULL, NULL },
		{ "limits.swap", "unlimited", NULL, NULL },
		{ "limits.cpus", "0.123", NULL, NULL },
		{ "limits.cpus", "8192", NULL, NULL },
		{ "limits.cpus", "unlimited", NULL, NULL },
		{ "functions", "a", NULL, NULL },
		{ "limits.pids", "unlimited", NULL, NULL },
		{ "limits.openFiles", "6", NULL, NULL },
		{ "limits.fileSize", "0", NULL, NULL },
		{ "limits.stack", "unlimited", NULL, NULL },
		{ "limits.disk", "unlimited", NULL, NULL },
		{ "limits.code", "1", NULL, NULL },
		{ "limits.code", "16MiB", NULL, NULL },
		{ "output.stdout", "0", NULL, NULL },
		{ "output.stderr", "1TiB", NULL, NULL },
		{ "output.onLimit", "kill", NULL, NULL },
		{ "processes.spawn", "false", NULL, NULL },
		{ "processes.identity.uid", "65533", NULL, NULL },
		{ "processes.identity.gid", "1", NULL, NULL },
		{ "syscalls.profile", "strict", NULL, NULL },
		{ "syscalls.profile", "compat", NULL, NULL },
		{ "syscalls.deny", "io_uring_setup", NULL, NULL },
		{ "syscalls.allow", "ptrace", NULL, NULL },
		{ "syscalls.onViolation", "kill", NULL, NULL },
		{ "syscalls.speculation", "true", NULL, NULL },
		{ "devices.terminals", "64", NULL, NULL },
		{ "workingDirectory", "/", NULL, NULL },
		{ "languages", "", NULL, NULL },
		{ "languages", "c++,wasm,r", NULL, NULL },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		owned_policy struct policy policy = { 0 };

		start(&policy);
		if (rows[i].mode)
			set(&policy, rows[i].mode_path, rows[i].mode);
		set(&policy, rows[i].path, rows[i].value);
		round_trip(&policy, rows[i].path);
	}
	for (enum policy_field field = POLICY_FIELD_LANGUAGES + 1; field < POLICY_FIELD_COUNT; field++) {
		owned_policy struct policy policy = { 0 };

		start(&policy);
		policy.preferred[field] = true;
		round_trip(&policy, policy_field_path(field));
	}
}

Test(policy_encode, writes_inside_a_larger_document, .timeout = 20)
{
	owned_policy struct policy policy = { 0 };
	struct json_writer writer = { 0 };
	char *text;

	start(&policy);
	json_begin_object(&writer);
	json_key(&writer, "policy");
	policy_write(&policy, &writer);
	json_key(&writer, "n");
	json_uint(&writer, 1);
	json_end_object(&writer);
	text = json_take(&writer);
	cr_expect(strncmp(text, "{\"policy\":{\"version\":1,", 23) == 0);
	cr_expect(strstr(text, "\"required\"}},\"n\":1}"));
	free(text);
}
