#include "base/array.h"
#include "policy/policy.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

/* Decode a copy that ends exactly at its length, so that the address sanitizer sees every read past it. */
static int decode(const char *text, struct policy *ret, struct warder_error *err)
{
	size_t len = strlen(text);
	char *copy = malloc(len ? len : 1);
	int status;

	memcpy(copy, text, len);
	status = policy_decode(copy, len, "policy.json", ret, err);
	free(copy);
	return status;
}

/* A document with the two members that must be there, and `members` besides. */
static int decode_with(const char *members, struct policy *ret, struct warder_error *err)
{
	char text[2048];

	snprintf(text, sizeof(text), "{\"version\":1,\"limits\":{\"wallTime\":\"30s\"}%s%s}",
		 *members ? "," : "", members);
	return decode(text, ret, err);
}

static int decode_limit(const char *member, struct policy *ret, struct warder_error *err)
{
	char text[512];

	snprintf(text, sizeof(text), "{\"version\":1,\"limits\":{\"wallTime\":\"30s\",%s}}", member);
	return decode(text, ret, err);
}

Test(policy_decode, what_is_left_out_is_strict, .timeout = 20)
{
	owned_policy struct policy strict = { 0 };
	owned_policy struct policy policy = { 0 };
	struct warder_error err = { 0 };

	cr_expect(policy_preset("strict", &strict, &err) == 0);
	cr_expect(decode_with("", &policy, &err) == 0, "%s", err.text);
	cr_expect(policy_equal(&strict, &policy));
}

Test(policy_decode, every_field, .timeout = 20)
{
	static const char text[] =
	    "{\"version\": 1,"
	    "\"network\": {\"mode\": \"allow\", \"allow\": [{\"host\": \"*.Example.org\", \"ports\": [443, "
	    "80]},"
	    "  {\"cidr\": \"10.1.0.0/16\", \"ports\": [5432]}],"
	    "  \"deny\": [{\"host\": \"@github\"}, {\"host\": \"a.example.org.\", \"ports\": [80]}],"
	    "  \"publish\": [\"8080:80\", \"0.0.0.0:0:443\"], \"maxConnections\": 8, \"bytes\": \"1MiB\"},"
	    "\"filesystem\": {\"view\": \"directory:/srv/root\", \"workspace\": \"readWrite:/srv/job\","
	    "  \"paths\": {\"readOnly\": [\"/data\"], \"readWrite\": [\"/data/out\"]}, \"tmp\": \"8MiB\","
	    "  \"tmpExec\": true},"
	    "\"environment\": {\"mode\": \"allowList\", \"names\": [\"LANG\"], \"set\": {\"A\": \"1\", "
	    "\"B\": \"\"}},"
	    "\"limits\": {\"wallTime\": \"5s\", \"cpuTime\": 1.5, \"memory\": 1048576, \"swap\": "
	    "\"unlimited\","
	    "  \"cpus\": \"0.25\", \"pids\": 8, \"openFiles\": \"unlimited\", \"fileSize\": 0, \"stack\": "
	    "\"1MiB\","
	    "  \"disk\": \"2GiB\"},"
	    "\"output\": {\"stdout\": 10, \"stderr\": \"1KiB\", \"onLimit\": \"kill\"},"
	    "\"processes\": {\"spawn\": false, \"identity\": {\"uid\": 7, \"gid\": 8}},"
	    "\"syscalls\": {\"profile\": \"strict\", \"deny\": [\"ptrace\"], \"allow\": [\"bpf\"], "
	    "\"onViolation\": \"kill\", \"speculation\": true},"
	    "\"devices\": {\"terminals\": 3},"
	    "\"workingDirectory\": \"/workspace/x\","
	    "\"languages\": [\"python\", \"c++\"],"
	    "\"enforcement\": {\"limits.memory\": \"preferred\", \"network\": \"required\"}}";
	owned_policy struct policy p = { 0 };
	struct warder_error err = { 0 };

	cr_assert(decode(text, &p, &err) == 0, "%s", err.text);
	cr_expect(p.network.mode == POLICY_NETWORK_ALLOW && p.network.allow.count == 2);
	cr_expect_str_eq(p.network.allow.items[0].host, "*.example.org");
	cr_expect(p.network.allow.items[0].port_count == 2 && p.network.allow.items[0].ports[0] == 443 &&
		  p.network.allow.items[0].ports[1] == 80);
	cr_expect_str_eq(p.network.allow.items[1].cidr, "10.1.0.0/16");
	cr_expect(p.network.allow.items[1].port_count == 1 && !p.network.allow.items[1].host &&
		  !p.network.allow.items[0].cidr);
	cr_expect(p.network.deny.count == 2 && p.network.deny.items[0].port_count == 0);
	cr_expect_str_eq(p.network.deny.items[0].host, "@github");
	cr_expect_str_eq(p.network.deny.items[1].host, "a.example.org", "without the dot at its end");
	cr_expect(p.network.publish.count == 2 && p.network.publish.items[0].host_port == 8080 &&
		  p.network.publish.items[0].jail_port == 80 && p.network.publish.items[1].host_port == 0);
	cr_expect_str_eq(p.network.publish.items[0].address, "127.0.0.1");
	cr_expect_str_eq(p.network.publish.items[1].address, "0.0.0.0");
	cr_expect(p.network.connections_max == 8 && p.network.bytes_max == 1 << 20);
	cr_expect(p.filesystem.view == POLICY_VIEW_DIRECTORY);
	cr_expect_str_eq(p.filesystem.view_source, "/srv/root");
	cr_expect(p.filesystem.workspace == POLICY_WORKSPACE_READ_WRITE);
	cr_expect_str_eq(p.filesystem.workspace_root, "/srv/job");
	cr_expect_str_eq(p.filesystem.read_only.items[0], "/data");
	cr_expect_str_eq(p.filesystem.read_write.items[0], "/data/out");
	cr_expect(p.filesystem.tmp_bytes == (uint64_t)8 << 20 && p.filesystem.tmp_exec);
	cr_expect(p.environment.mode == POLICY_ENVIRONMENT_ALLOW_LIST && p.environment.set_count == 2);
	cr_expect_str_eq(p.environment.names.items[0], "LANG");
	cr_expect_str_eq(p.environment.set[1].name, "B");
	cr_expect_str_eq(p.environment.set[1].value, "");
	cr_expect(p.limits.wall_time_us == 5000000 && p.limits.cpu_time_us == 1500000);
	cr_expect(p.limits.memory_bytes == 1048576 && p.limits.swap_bytes == POLICY_UNLIMITED);
	cr_expect(p.limits.cpu_milli == 250 && p.limits.pids_max == 8 &&
		  p.limits.open_files == POLICY_UNLIMITED);
	cr_expect(p.limits.file_size_bytes == 0 && p.limits.stack_bytes == 1048576);
	cr_expect(p.limits.disk_bytes == (uint64_t)2 << 30);
	cr_expect(p.output.stdout_bytes == 10 && p.output.stderr_bytes == 1024);
	cr_expect(p.output.on_limit == POLICY_OUTPUT_KILL);
	cr_expect(!p.processes.spawn && p.processes.uid == 7 && p.processes.gid == 8);
	cr_expect(p.syscalls.profile == POLICY_SYSCALLS_STRICT &&
		  p.syscalls.on_violation == POLICY_VIOLATION_KILL && p.syscalls.speculation);
	cr_expect(p.devices.terminals == 3);
	cr_expect_str_eq(p.syscalls.deny.items[0], "ptrace");
	cr_expect_str_eq(p.syscalls.allow.items[0], "bpf");
	cr_expect_str_eq(p.working_directory, "/workspace/x");
	cr_expect(!p.languages.any && p.languages.names.count == 2);
	cr_expect_str_eq(p.languages.names.items[1], "c++");
	for (enum policy_field field = 0; field < POLICY_FIELD_COUNT; field++)
		cr_expect(p.preferred[field] == (field == POLICY_FIELD_MEMORY), "field %s",
			  policy_field_path(field));
}

Test(policy_decode, whole_documents_refused, .timeout = 20)
{
	static const struct {
		const char *text, *field, *says;
	} rows[] = {
		{ "", "policy.json", "policy.json:1:1: the document ends" },
		{ "{\"version\":1,}", "policy.json", "policy.json:1:14: '}'" },
		{ "[]", "policy", "policy.json:1: policy: an array where an object is expected" },
		{ "{}", "version", "policy.json:1: version: missing" },
		{ "{\"version\":1}", "limits.wallTime", "policy.json:1: limits.wallTime: missing" },
		{ "{\"version\":1,\n\"limits\":{}}", "limits.wallTime",
		  "policy.json:2: limits.wallTime: missing" },
		{ "{\"version\":2,\"limits\":{\"wallTime\":1}}", "version",
		  "version: 2 is not supported; write 1" },
		{ "{\"version\":1.0,\"limits\":{\"wallTime\":1}}", "version", "version: 1.0" },
		{ "{\"version\":\"1\",\"limits\":{\"wallTime\":1}}", "version",
		  "a string where the number 1" },
		{ "{\"version\":1,\"limits\":[]}", "limits", "limits: an array where an object" },
		{ "{\"version\":1,\"limits\":{\"wallTime\":0}}", "limits.wallTime", "0s is too little" },
		{ "{\"version\":1,\"limits\":{\"wallTime\":\"0s\"}}", "limits.wallTime", "0s is too little" },
		{ "{\"version\":1,\"limits\":{\"wallTime\":-1}}", "limits.wallTime",
		  "\"-1\" is not a time: it is negative" },
		{ "{\"version\":1,\"limits\":{\"wallTime\":\"Unlimited\"}}", "limits.wallTime",
		  "\"Unlimited\" is not a time; write seconds" },
		{ "{\"version\":1,\"limits\":{\"wallTime\":\"5\"}}", "limits.wallTime",
		  "policy.json:1: limits.wallTime: \"5\" has no unit; write \"5s\", or 5 without quotes" },
		{ "{\"version\":1,\"limits\":{\"wallTime\":null}}", "limits.wallTime", "null where" },
		{ "{\"version\":1,\"limits\":{\"wallTime\":\"9000h\"}}", "limits.wallTime",
		  "9000h is too much; give at most 8760h, or \"unlimited\"" },
		{ "{\"version\":1,\"limits\":{\"wallTime\":1,\"wallTime\":2}}", "policy.json",
		  "given twice" },
		{ "{\"version\":1,\n\"limits\":{\"wallTime\":1},\n\"limit\":{}}", "limit",
		  "policy.json:3: limit: unknown key; did you mean \"limits\"?" },
		{ "{\"version\":1,\"limits\":{\"wallTime\":1,\n\"memry\":1}}", "limits.memry",
		  "policy.json:2: limits.memry: unknown key; did you mean \"memory\"?" },
		{ "{\"version\":1,\"limits\":{\"wallTime\":1},\"preset\":\"strict\"}", "preset",
		  "preset: unknown key; known:" },
		{ "{\"version\":1,\"limits\":{\"wallTime\":1},\"devices\":{\"terminals\":65}}",
		  "devices.terminals", "devices.terminals: 65 is too much; give at most 64" },
		{ "{\"version\":1,\"limits\":{\"wallTime\":1},\"devices\":{\"terminals\":\"4\"}}",
		  "devices.terminals", "devices.terminals: a string where a number is expected" },
		{ "{\"version\":1,\"limits\":{\"wallTime\":1},\"devices\":{\"terminals\":\"unlimited\"}}",
		  "devices.terminals", "not possible here; give a limit of at most 64" },
		{ "{\"version\":1,\"limits\":{\"wallTime\":1},\"functions\":[\"a b\"]}", "functions[0]",
		  "is not a valid name of a function" },
		{ "{\"version\":1,\"limits\":{\"wallTime\":1},\"functions\":[\"-a\"]}", "functions[0]",
		  "is not a valid name of a function" },
		{ "{\"version\":1,\"limits\":{\"wallTime\":1},\"functions\":[\"a\",\"a\"]}", "functions[1]",
		  "twice" },
		{ "{\"version\":1,\"limits\":{\"wallTime\":1},\"devices\":{\"ptys\":4}}", "devices.ptys",
		  "unknown key" },
		{ "{\"version\":1,\"limits\":{\"wallTime\":1},\"syscalls\":{\"speculation\":\"on\"}}",
		  "syscalls.speculation", "a string where true or false is expected" },
		{ "{\"version\":1,\"limits\":{\"wallTime\":1},\"a\\nb\":1}", "a?b", "a?b: unknown key" },
		{ "{\"version\":1,\"limits\":{\"wallTime\":1,\n\"memory\":\n\"12\"}}", "limits.memory",
		  "policy.json:3: limits.memory: \"12\" has no unit; write \"12B\", or 12 without quotes" },
		{ "{\"version\":1,\"limits\":{\"wallTime\":1,\n\"memory\":\n12}}", "limits.memory",
		  "policy.json:3: limits.memory: 12B is too little" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct policy policy = { 0 };
		struct warder_error err = { 0 };

		cr_expect(decode(rows[i].text, &policy, &err) == -1, "row %zu accepted: %s", i, rows[i].text);
		cr_expect(err.code == WARDER_ERROR_INVALID_REQUEST, "row %zu kind", i);
		cr_expect_str_eq(err.field, rows[i].field, "row %zu field %s", i, err.field);
		cr_expect(strstr(err.text, rows[i].says), "row %zu says: %s", i, err.text);
		cr_expect_null(policy.languages.names.items, "row %zu writes its result", i);
	}
}

Test(policy_decode, limits_refused, .timeout = 20)
{
	static const struct {
		const char *member, *field, *says;
	} rows[] = {
		{ "\"memory\":true", "limits.memory", "a boolean where a number or a string" },
		{ "\"memory\":1.5", "limits.memory", "\"1.5\" is not a size: it has too many decimals" },
		{ "\"memory\":1e9", "limits.memory", "\"1e9\" is not a size" },
		{ "\"memory\":-5", "limits.memory", "negative" },
		{ "\"memory\":18446744073709551615", "limits.memory", "too large" },
		{ "\"memory\":\"512MB\"", "limits.memory", "\"512MB\" is not a size" },
		{ "\"memory\":\"1023KiB\"", "limits.memory", "give at least 1MiB" },
		{ "\"memory\":\"none\"", "limits.memory", "or \"unlimited\"" },
		{ "\"swap\":\"-1\"", "limits.swap", "negative" },
		{ "\"cpuTime\":0", "limits.cpuTime", "too little" },
		{ "\"cpus\":0", "limits.cpus", "more than 0" },
		{ "\"cpus\":0.005", "limits.cpus", "give at least 0.01" },
		{ "\"cpus\":0.0005", "limits.cpus", "too many decimals" },
		{ "\"cpus\":8193", "limits.cpus", "give at most 8192" },
		{ "\"pids\":0", "limits.pids", "give at least 1" },
		{ "\"pids\":\"64\"", "limits.pids", "a string where a number or \"unlimited\"" },
		{ "\"pids\":4194305", "limits.pids", "give at most 4194304" },
		{ "\"openFiles\":5", "limits.openFiles", "give at least 6" },
		{ "\"openFiles\":1.5", "limits.openFiles", "too many decimals" },
		{ "\"stack\":\"63KiB\"", "limits.stack", "give at least 64KiB" },
		{ "\"disk\":0", "limits.disk", "give at least 16KiB" },
		{ "\"code\":0", "limits.code", "empty code is refused anyway; give at least 1B" },
		{ "\"code\":16777217", "limits.code", "give at most 16MiB" },
		{ "\"code\":\"unlimited\"", "limits.code",
		  "not possible here; give a limit of at most 16MiB" },
		{ "\"fileSize\":[]", "limits.fileSize", "an array where" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct policy policy = { 0 };
		struct warder_error err = { 0 };

		cr_expect(decode_limit(rows[i].member, &policy, &err) == -1, "row %s accepted",
			  rows[i].member);
		cr_expect_str_eq(err.field, rows[i].field, "row %s field %s", rows[i].member, err.field);
		cr_expect(strstr(err.text, rows[i].says), "row %s says: %s", rows[i].member, err.text);
	}
}

Test(policy_decode, members_refused, .timeout = 20)
{
	static const struct {
		const char *members, *field, *says;
	} rows[] = {
		/* network */
		{ "\"network\":{\"mode\":\"off\"}", "network.mode",
		  "\"off\" is none of its values; known: \"none\"" },
		{ "\"network\":{\"mode\":1}", "network.mode", "a number where a string" },
		{ "\"network\":\"none\"", "network", "a string where an object" },
		{ "\"network\":{\"mode\":\"allow\"}", "network.mode", "needs a row in network.allow" },
		{ "\"network\":{\"allow\":[{\"host\":\"a.org\"}]}", "network.mode",
		  "\"none\" does not allow rows in network.allow" },
		{ "\"network\":{\"allow\":[{\"host\":\"a.org\"}],\"mode\":\"host\"}", "network.mode",
		  "\"host\" does not allow rows" },
		{ "\"network\":{\"mode\":\"allow\",\"allow\":{}}", "network.allow",
		  "an object where an array" },
		{ "\"network\":{\"mode\":\"allow\",\"allow\":[\"a.org\"]}", "network.allow[0]",
		  "a string where an object" },
		{ "\"network\":{\"mode\":\"allow\",\"allow\":[{}]}", "network.allow[0]",
		  "exactly one of host and cidr" },
		{ "\"network\":{\"mode\":\"allow\",\"allow\":[{\"host\":\"a.org\",\"cidr\":\"10.0.0.0/8\"}]}",
		  "network.allow[0]", "exactly one of host and cidr" },
		{ "\"network\":{\"mode\":\"allow\",\"allow\":[{\"host\":\"a.org\",\"port\":1}]}",
		  "network.allow[0].port", "did you mean \"ports\"?" },
		{ "\"network\":{\"mode\":\"allow\",\"allow\":[{\"host\":\"*\"}]}", "network.allow[0]",
		  "every host" },
		{ "\"network\":{\"mode\":\"allow\",\"allow\":[{\"host\":\"10.0.0.1\"}]}", "network.allow[0]",
		  "an address" },
		{ "\"network\":{\"mode\":\"allow\",\"allow\":[{\"cidr\":\"10.0.0.1/8\"}]}",
		  "network.allow[0]", "write \"10.0.0.0/8\"" },
		{ "\"network\":{\"mode\":\"allow\",\"allow\":[{\"host\":\"a.org\",\"ports\":[0]}]}",
		  "network.allow[0].ports[0]", "0 is not a port" },
		{ "\"network\":{\"mode\":\"allow\",\"allow\":[{\"host\":\"a.org\",\"ports\":[80,65536]}]}",
		  "network.allow[0].ports[1]", "65536 is not a port" },
		{ "\"network\":{\"mode\":\"allow\",\"allow\":[{\"host\":\"a.org\",\"ports\":[80,\"81\"]}]}",
		  "network.allow[0].ports[1]", "a string where a number" },
		{ "\"network\":{\"mode\":\"allow\",\"allow\":[{\"host\":\"a.org\",\"ports\":[80,80]}]}",
		  "network.allow[0].ports[1]", "80 is given twice" },
		{ "\"network\":{\"mode\":\"allow\",\"allow\":[{\"host\":\"a.org\"}]}",
		  "network.allow[0].ports", "missing; name them" },
		{ "\"network\":{\"mode\":\"allow\",\"allow\":[{\"host\":\"@npm\"},{\"cidr\":\"10.0.0.0/"
		  "8\"}]}",
		  "network.allow[1].ports", "missing; name them" },
		{ "\"network\":{\"mode\":\"allow\",\"allow\":[{\"host\":\"a.org\",\"ports\":[]}]}",
		  "network.allow[0].ports", "missing; name them" },
		{ "\"network\":{\"mode\":\"allow\",\"allow\":[{\"host\":\"@npm\",\"ports\":[1]}]}",
		  "network.allow[0].ports", "have their own ports" },
		{ "\"network\":{\"deny\":[{\"host\":\"a.org\"}]}", "network.mode",
		  "\"none\" does not allow rows in network.deny" },
		{ "\"network\":{\"mode\":\"learn\",\"deny\":[{\"host\":\"a.org\",\"ports\":[2,2]}]}",
		  "network.deny[0].ports[1]", "2 is given twice" },
		{ "\"network\":{\"publish\":[\"8080:80\"]}", "network.mode",
		  "\"none\" does not allow network.publish" },
		{ "\"network\":{\"mode\":\"loopback\",\"publish\":[\"8080:80\",80]}", "network.publish[1]",
		  "a number where a string" },
		{ "\"network\":{\"mode\":\"loopback\",\"publish\":[\"8080:80\",\"8080:81\"]}",
		  "network.publish[1]", "published twice" },
		{ "\"network\":{\"maxConnections\":0}", "network.maxConnections", "is too little" },
		{ "\"network\":{\"maxConnections\":4097}", "network.maxConnections", "at most 4096" },
		{ "\"network\":{\"mode\":\"host\",\"maxConnections\":7}", "network.maxConnections",
		  "nothing counts connections" },
		{ "\"network\":{\"mode\":\"host\",\"bytes\":\"1MiB\"}", "network.bytes",
		  "nothing counts bytes" },
		{ "\"network\":{\"bytes\":\"10\"}", "network.bytes", "has no unit" },
		/* filesystem */
		{ "\"filesystem\":{\"view\":\"none\"}", "filesystem.view", "\"none\" is none of its values" },
		{ "\"filesystem\":{\"view\":\"host:/x\"}", "filesystem.view", "none of its values" },
		{ "\"filesystem\":{\"view\":\"directory\"}", "filesystem.view", "does not say which" },
		{ "\"filesystem\":{\"view\":\"directory:\"}", "filesystem.view", "does not say which" },
		{ "\"filesystem\":{\"view\":\"directory:srv\"}", "filesystem.view", "not absolute" },
		{ "\"filesystem\":{\"view\":\"image:../x\"}", "filesystem.view", "not a valid image name" },
		{ "\"filesystem\":{\"view\":\"image:-x\"}", "filesystem.view", "not a valid image name" },
		{ "\"filesystem\":{\"workspace\":\"readwrite:/x\"}", "filesystem.workspace",
		  "none of its values" },
		{ "\"filesystem\":{\"workspace\":\"readWrite:x\"}", "filesystem.workspace",
		  "\"x\" is not absolute" },
		{ "\"filesystem\":{\"paths\":{\"readOnly\":[\"data\"]}}", "filesystem.paths.readOnly[0]",
		  "not absolute" },
		{ "\"filesystem\":{\"paths\":{\"readOnly\":[\"/data/../etc\"]}}",
		  "filesystem.paths.readOnly[0]", "not normalised" },
		{ "\"filesystem\":{\"paths\":{\"readOnly\":[\"/a\",\"/data/\"]}}",
		  "filesystem.paths.readOnly[1]", "not normalised" },
		{ "\"filesystem\":{\"paths\":{\"readOnly\":[\"/a:/workspace/../etc\"]}}",
		  "filesystem.paths.readOnly[0]", "not normalised" },
		{ "\"filesystem\":{\"paths\":{\"readOnly\":[\"a:/workspace/x\"]}}",
		  "filesystem.paths.readOnly[0]", "not absolute" },
		{ "\"filesystem\":{\"paths\":{\"readOnly\":[\"/data//x\"]}}", "filesystem.paths.readOnly[0]",
		  "normalised" },
		{ "\"filesystem\":{\"paths\":{\"readOnly\":[\"/./x\"]}}", "filesystem.paths.readOnly[0]",
		  "normalised" },
		{ "\"filesystem\":{\"paths\":{\"readOnly\":[\"/a\",\"/b\",\"/a\"]}}",
		  "filesystem.paths.readOnly[2]", "given twice" },
		{ "\"filesystem\":{\"paths\":{\"readOnly\":[\"/a\"],\"readWrite\":[\"/a\"]}}",
		  "filesystem.paths.readWrite[0]", "is in filesystem.paths.readOnly too" },
		{ "\"filesystem\":{\"paths\":{\"readOnly\":[\"/a:/\"]}}", "filesystem.paths.readOnly[0]",
		  "the target \"/\"" },
		{ "\"filesystem\":{\"paths\":{\"readOnly\":[\"/a:/proc\"]}}", "filesystem.paths.readOnly[0]",
		  "below /proc" },
		{ "\"filesystem\":{\"paths\":{\"readOnly\":[\"/a:/proc/sys\"]}}",
		  "filesystem.paths.readOnly[0]", "below /proc" },
		{ "\"filesystem\":{\"paths\":{\"readOnly\":[\"/a:/dev/x\"]}}", "filesystem.paths.readOnly[0]",
		  "below /dev" },
		{ "\"filesystem\":{\"paths\":{\"readOnly\":[\"/a:/sys\"]}}", "filesystem.paths.readOnly[0]",
		  "below /sys" },
		{ "\"filesystem\":{\"paths\":{\"readOnly\":[\"/a:/tmp\"]}}", "filesystem.paths.readOnly[0]",
		  "the target /tmp" },
		{ "\"filesystem\":{\"paths\":{\"readOnly\":[\"/a:/workspace\"]}}",
		  "filesystem.paths.readOnly[0]", "the target /workspace" },
		{ "\"filesystem\":{\"paths\":{\"readOnly\":[\"/a:/b/../c\"]}}",
		  "filesystem.paths.readOnly[0]", "target that is not normalised" },
		{ "\"filesystem\":{\"paths\":{\"readOnly\":[\"/a:/b/\"]}}", "filesystem.paths.readOnly[0]",
		  "target that is not normalised" },
		{ "\"filesystem\":{\"paths\":{\"readOnly\":[\"/a:/b:ro\"]}}", "filesystem.paths.readOnly[0]",
		  "with a colon" },
		{ "\"filesystem\":{\"paths\":{\"readOnly\":[\"a:/b\"]}}", "filesystem.paths.readOnly[0]",
		  "not absolute" },
		{ "\"filesystem\":{\"paths\":{\"readOnly\":[\"/a/../b:/c\"]}}",
		  "filesystem.paths.readOnly[0]", "not normalised" },
		{ "\"filesystem\":{\"paths\":{\"readWrite\":[\"/a:/\"]}}", "filesystem.paths.readWrite[0]",
		  "the target \"/\"" },
		{ "\"filesystem\":{\"paths\":{\"readWrite\":[\"/a:/proc\"]}}",
		  "filesystem.paths.readWrite[0]", "below /proc" },
		{ "\"filesystem\":{\"paths\":{\"readWrite\":[\"/a:/proc/sys\"]}}",
		  "filesystem.paths.readWrite[0]", "below /proc" },
		{ "\"filesystem\":{\"paths\":{\"readWrite\":[\"/a:/dev/x\"]}}",
		  "filesystem.paths.readWrite[0]", "below /dev" },
		{ "\"filesystem\":{\"paths\":{\"readWrite\":[\"/a:/sys\"]}}", "filesystem.paths.readWrite[0]",
		  "below /sys" },
		{ "\"filesystem\":{\"paths\":{\"readWrite\":[\"/a:/tmp\"]}}", "filesystem.paths.readWrite[0]",
		  "the target /tmp" },
		{ "\"filesystem\":{\"paths\":{\"readWrite\":[\"/a:/workspace\"]}}",
		  "filesystem.paths.readWrite[0]", "the target /workspace" },
		{ "\"filesystem\":{\"paths\":{\"readWrite\":[\"/a:/b/../c\"]}}",
		  "filesystem.paths.readWrite[0]", "target that is not normalised" },
		{ "\"filesystem\":{\"paths\":{\"readWrite\":[\"/a:/b/\"]}}", "filesystem.paths.readWrite[0]",
		  "target that is not normalised" },
		{ "\"filesystem\":{\"paths\":{\"readWrite\":[\"/a:/b:ro\"]}}",
		  "filesystem.paths.readWrite[0]", "with a colon" },
		{ "\"filesystem\":{\"paths\":{\"readWrite\":[\"a:/b\"]}}", "filesystem.paths.readWrite[0]",
		  "not absolute" },
		{ "\"filesystem\":{\"paths\":{\"readWrite\":[\"/a/../b:/c\"]}}",
		  "filesystem.paths.readWrite[0]", "not normalised" },
		{ "\"filesystem\":{\"paths\":{\"readOnly\":[\"/a:/x\",\"/b:/x\"]}}",
		  "filesystem.paths.readOnly[1]", "has the target of filesystem.paths.readOnly[0]" },
		{ "\"filesystem\":{\"paths\":{\"readOnly\":[\"/x\"],\"readWrite\":[\"/b:/x\"]}}",
		  "filesystem.paths.readWrite[0]", "has the target of filesystem.paths.readOnly[0]" },
		{ "\"filesystem\":{\"paths\":{\"readOnly\":[1]}}", "filesystem.paths.readOnly[0]",
		  "a number where" },
		{ "\"filesystem\":{\"paths\":{\"readonly\":[]}}", "filesystem.paths.readonly",
		  "did you mean \"readOnly\"?" },
		{ "\"filesystem\":{\"tmp\":\"unlimited\"}", "filesystem.tmp", "not possible here" },
		{ "\"filesystem\":{\"tmp\":0}", "filesystem.tmp", "give at least 16KiB" },
		{ "\"filesystem\":{\"tmp\":\"2TiB\"}", "filesystem.tmp", "give at most 1TiB" },
		{ "\"filesystem\":{\"tmpExec\":\"true\"}", "filesystem.tmpExec",
		  "a string where true or false" },
		/* environment */
		{ "\"environment\":{\"allowList\":[\"A\"]}", "environment.allowList", "unknown key" },
		{ "\"environment\":{\"names\":[\"A\"]}", "environment.names",
		  "environment.mode is \"none\"" },
		{ "\"environment\":{\"mode\":\"host\",\"names\":[\"A\"]}", "environment.names", "\"host\"" },
		{ "\"environment\":{\"mode\":\"allowList\"}", "environment.names", "there are no names" },
		{ "\"environment\":{\"mode\":\"allowList\",\"names\":[\"A=B\"]}", "environment.names[0]",
		  "not a valid variable name" },
		{ "\"environment\":{\"mode\":\"allowList\",\"names\":[\"\"]}", "environment.names[0]",
		  "not a valid variable name" },
		{ "\"environment\":{\"mode\":\"allowList\",\"names\":[\"A\",\"A\"]}", "environment.names[1]",
		  "twice" },
		{ "\"environment\":{\"set\":{\"1A\":\"\"}}", "environment.set.1A",
		  "not a valid variable name" },
		{ "\"environment\":{\"set\":{\"A\":1}}", "environment.set.A", "a number where a string" },
		/* the rest */
		{ "\"output\":{\"stdout\":\"unlimited\"}", "output.stdout", "not possible here" },
		{ "\"output\":{\"onLimit\":\"stop\"}", "output.onLimit", "none of its values" },
		{ "\"processes\":{\"spawn\":1}", "processes.spawn", "a number where true or false" },
		{ "\"processes\":{\"identity\":{\"uid\":0}}", "processes.identity.uid",
		  "0 is out of range; give 1 to" },
		{ "\"processes\":{\"identity\":{\"gid\":65534}}", "processes.identity.gid",
		  "65534 is out of range" },
		{ "\"processes\":{\"identity\":{\"uid\":-1}}", "processes.identity.uid",
		  "\"-1\" is not an id" },
		{ "\"processes\":{\"identity\":{\"uid\":4294967297}}", "processes.identity.uid",
		  "is not an id" },
		{ "\"processes\":{\"identity\":{\"uid\":\"root\"}}", "processes.identity.uid",
		  "a string where a number" },
		{ "\"syscalls\":{\"profile\":\"none\"}", "syscalls.profile", "none of its values" },
		{ "\"syscalls\":{\"deny\":[\"Ptrace\"]}", "syscalls.deny[0]",
		  "not the name of a system call" },
		{ "\"syscalls\":{\"deny\":[\"bpf\"],\"allow\":[\"bpf\"]}", "syscalls.allow[0]",
		  "is in syscalls.deny too" },
		{ "\"workingDirectory\":\"tmp\"", "workingDirectory", "not absolute" },
		{ "\"workingDirectory\":7", "workingDirectory", "a number where a string" },
		{ "\"languages\":\"python\"", "languages", "a string where an array of names or \"any\"" },
		{ "\"languages\":[\"any\"]", "languages[0]", "\"any\" is not a valid language name" },
		{ "\"languages\":[\"python\",\"Python\"]", "languages[1]", "is not a valid language name" },
		{ "\"languages\":[\"python\",\"python\"]", "languages[1]", "twice" },
		{ "\"enforcement\":{\"memory\":\"preferred\"}", "enforcement.memory",
		  "did you mean \"limits.memory\"?" },
		{ "\"enforcement\":{\"limits.memory\":\"prefer\"}", "enforcement.limits.memory",
		  "\"required\" or" },
		{ "\"enforcement\":{\"languages\":\"preferred\"}", "enforcement.languages",
		  "always enforced" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct policy policy = { 0 };
		struct warder_error err = { 0 };

		cr_expect(decode_with(rows[i].members, &policy, &err) == -1, "row %s accepted",
			  rows[i].members);
		cr_expect(err.code == WARDER_ERROR_INVALID_REQUEST, "row %zu kind", i);
		cr_expect_str_eq(err.field, rows[i].field, "row %s field %s", rows[i].members, err.field);
		cr_expect(strstr(err.text, rows[i].says), "row %s says: %s", rows[i].members, err.text);
		cr_expect(strncmp(err.text, "policy.json:1: ", 15) == 0, "row %s says: %s", rows[i].members,
			  err.text);
	}
}

Test(policy_decode, members_accepted, .timeout = 20)
{
	static const char *const rows[] = {
		"\"languages\":[]",
		"\"languages\":\"any\"",
		"\"workingDirectory\":null",
		"\"network\":{}",
		"\"network\":{\"mode\":\"none\",\"allow\":[]}",
		"\"environment\":{\"mode\":\"host\",\"names\":[],\"set\":{}}",
		"\"filesystem\":{\"paths\":{\"readOnly\":[\"/a:b\",\"/a:/x\"],\"readWrite\":[\"/a:/y\"]}}",
		"\"filesystem\":{\"paths\":{\"readWrite\":[\"/c:/e:/tmp/d\"]}}",
		"\"filesystem\":{\"paths\":{\"readOnly\":[\"/\"],\"readWrite\":[\"/a/b\",\"/a\"]}}",
		"\"filesystem\":{\"view\":\"image:registry.example/debian:12@sha256\"}",
		"\"filesystem\":{\"view\":\"directory:/srv:with:colons\"}",
		"\"filesystem\":{\"paths\":{\"readOnly\":[\"/...\",\"/.hidden\",\"/a..b\"]}}",
		"\"output\":{\"stdout\":0}",
		"\"enforcement\":{\"limits.wallTime\":\"preferred\",\"languages\":\"required\"}",
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		owned_policy struct policy policy = { 0 };
		struct warder_error err = { 0 };

		cr_expect(decode_with(rows[i], &policy, &err) == 0, "row %s: %s", rows[i], err.text);
	}
}

Test(policy_decode, rules_across_fields_know_their_line, .timeout = 20)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{ "{\"version\":1,\"limits\":{\"wallTime\":1},\n\"filesystem\":{\"paths\":{\"readOnly\":["
		  "\n\"/a\",\n\"b\"]}}}",
		  "policy.json:4: filesystem.paths.readOnly[1]: " },
		{ "{\"version\":1,\"limits\":{\"wallTime\":1},\n\"network\":{\n\"mode\":\"allow\"}}",
		  "policy.json:3: network.mode: " },
		{ "{\"version\":1,\"limits\":{\"wallTime\":1},\n\"enforcement\":{\n\"limits.memory\":"
		  "\"preferred\",\n"
		  "\"languages\":\"preferred\"}}",
		  "policy.json:4: enforcement.languages: " },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct policy policy = { 0 };
		struct warder_error err = { 0 };

		cr_expect(decode(rows[i].text, &policy, &err) == -1);
		cr_expect(strncmp(err.text, rows[i].says, strlen(rows[i].says)) == 0, "row %zu: %s", i,
			  err.text);
	}
}

Test(policy_decode, long_lists_are_refused, .timeout = 60)
{
	size_t size = (size_t)1 << 20, used;
	char *text = malloc(size);
	struct policy policy = { 0 };
	struct warder_error err = { 0 };

	used =
	    (size_t)sprintf(text, "{\"version\":1,\"limits\":{\"wallTime\":1},\"syscalls\":{\"deny\":[\"a\"");
	while (used < size - 16)
		used += (size_t)sprintf(text + used, ",\"a\"");
	sprintf(text + used, "]}}");
	cr_expect(policy_decode(text, strlen(text), "policy.json", &policy, &err) == -1);
	cr_expect(strstr(err.text, "syscalls.deny[1024]: more than 1024 rows"), "%s", err.text);
	free(text);
}

/* Keys, values and origins of any length stay within the error and on one line. */
Test(policy_decode, hostile_lengths, .timeout = 20)
{
	static const char *const formats[] = {
		"{\"%s\":1}",
		"{\"limits\":{\"%s\":1}}",
		"{\"limits\":{\"wallTime\":\"%s\"}}",
		"{\"version\":1,\"limits\":{\"wallTime\":1},\"environment\":{\"set\":{\"%s\":\"\"}}}",
		"{\"version\":1,\"limits\":{\"wallTime\":1},\"languages\":[\"%s\"]}",
		"{\"version\":1,\"limits\":{\"wallTime\":1},\"network\":{\"mode\":\"allow\",\"allow\":[{"
		"\"host\":\"%s\"}]}}",
		"{\"version\":1,\"limits\":{\"wallTime\":1},\"network\":{\"mode\":\"allow\",\"allow\":[{"
		"\"cidr\":\"%s\"}]}}",
		"{\"version\":1,\"limits\":{\"wallTime\":1},\"filesystem\":{\"view\":\"%s\"}}",
		"{\"version\":1,\"limits\":{\"wallTime\":1},\"filesystem\":{\"view\":\"directory:/%s\"}}",
		"{\"version\":1,\"limits\":{\"wallTime\":1},\"workingDirectory\":\"/%s\"}",
		"{\"version\":1,\"limits\":{\"wallTime\":1},\"enforcement\":{\"%s\":\"required\"}}",
	};
	char filler[9000], text[10000];

	memset(filler, 'A', sizeof(filler) - 1);
	filler[sizeof(filler) - 1] = '\0';
	for (size_t i = 0; i < ARRAY_LENGTH(formats); i++) {
		struct policy policy = { 0 };
		struct warder_error err = { 0 };
		const char *hole = strstr(formats[i], "%s");
		size_t used = (size_t)(hole - formats[i]);

		memcpy(text, formats[i], used);
		sprintf(text + used, "%s%s", filler, hole + 2);
		cr_expect(policy_decode(text, strlen(text), filler, &policy, &err) == -1, "row %zu", i);
		cr_expect(strlen(err.text) < sizeof(err.text) && !strchr(err.text, '\n'), "row %zu", i);
	}
}

/* Explicitly without a limit, and never because it was left out. */
Test(decode, wall_time_unlimited, .timeout = 20)
{
	static const char text[] = "{\"version\":1,\"limits\":{\"wallTime\":\"unlimited\"}}";
	struct policy policy = { 0 };
	struct warder_error err = { 0 };
	char *again;

	cr_assert_eq(policy_decode(text, strlen(text), "policy.json", &policy, &err), 0, "%s", err.text);
	cr_expect_eq(policy.limits.wall_time_us, POLICY_UNLIMITED);
	again = policy_encode(&policy);
	cr_assert_not_null(again);
	cr_expect_not_null(strstr(again, "\"wallTime\": \"unlimited\""), "%s", again);
	free(again);
	policy_done(&policy);
}
