#include "base/array.h"
#include "policy/policy.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

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

Test(policy_set, what_is_set_encodes, .timeout = 20)
{
	static const struct {
		const char *path, *value, *in_document;
	} rows[] = {
		{ "limits.wallTime", "5", "\"wallTime\": \"5s\"" },
		{ "limits.memory", "256MiB", "\"memory\": \"256MiB\"" },
		{ "limits.memory", "unlimited", "\"memory\": \"unlimited\"" },
		{ "limits.cpus", "0.5", "\"cpus\": 0.5" },
		{ "limits.pids", "32", "\"pids\": 32" },
		{ "output.stdout", "10", "\"stdout\": \"10B\"" },
		{ "filesystem.tmp", "8MiB", "\"tmp\": \"8MiB\"" },
		{ "filesystem.tmpExec", "true", "\"tmpExec\": true" },
		{ "filesystem.growth", "unlimited", "\"growth\": \"unlimited\"" },
		{ "filesystem.view", "image:debian:12", "\"view\": \"image:debian:12\"" },
		{ "filesystem.workspace", "readOnly:/srv", "\"workspace\": \"readOnly:/srv\"" },
		{ "filesystem.workspace", "overlay:/srv", "\"workspace\": \"overlay:/srv\"" },
		{ "filesystem.paths.readOnly", "/a", "\"readOnly\": [\n        \"/a\"" },
		{ "network.mode", "loopback", "\"mode\": \"loopback\"" },
		{ "network.allow", "pypi.org:443,80",
		  "\"host\": \"pypi.org\",\n        \"ports\": [\n          443,\n          80" },
		{ "network.allow", "pypi.org",
		  "\"host\": \"pypi.org\",\n        \"ports\": [\n          443,\n          80\n        ]" },
		{ "network.allow", "PyPI.org.:1", "\"host\": \"pypi.org\"," },
		{ "network.allow", "@pypi", "\"host\": \"@pypi\"\n" },
		{ "network.deny", "a.org", "\"host\": \"a.org\"\n" },
		{ "network.deny", "10.0.0.0/8", "\"cidr\": \"10.0.0.0/8\"\n" },
		{ "network.deny", "a.org:80", "\"host\": \"a.org\",\n        \"ports\": [\n          80" },
		{ "network.publish", "8080:80", "\"127.0.0.1:8080:80\"" },
		{ "network.publish", "0.0.0.0:0:80", "\"0.0.0.0:0:80\"" },
		{ "network.publish", "8000-8999:1-65535", "\"127.0.0.1:8000-8999:1-65535\"" },
		{ "network.maxConnections", "8", "\"maxConnections\": 8" },
		{ "network.bytes", "1MiB", "\"bytes\": \"1MiB\"" },
		{ "network.allow", "10.0.0.0/8:22",
		  "\"cidr\": \"10.0.0.0/8\",\n        \"ports\": [\n          22" },
		{ "network.allow", "[fd00::/8]:443",
		  "\"cidr\": \"fd00::/8\",\n        \"ports\": [\n          443" },
		{ "environment.set.A", "x=y", "\"A\": \"x=y\"" },
		{ "processes.spawn", "false", "\"spawn\": false" },
		{ "processes.identity.uid", "7", "\"uid\": 7" },
		{ "syscalls.profile", "compat", "\"profile\": \"compat\"" },
		{ "syscalls.onViolation", "kill", "\"onViolation\": \"kill\"" },
		{ "syscalls.speculation", "true", "\"speculation\": true" },
		{ "devices.terminals", "4", "\"terminals\": 4" },
		{ "functions", "look_up.v2", "\"functions\": [\n    \"look_up.v2\"\n  ]" },
		{ "workingDirectory", "/tmp", "\"workingDirectory\": \"/tmp\"" },
		{ "languages", "python,ruby", "\"languages\": [\n    \"python\",\n    \"ruby\"\n  ]" },
		{ "languages", "", "\"languages\": []" },
		{ "languages", "any", "\"languages\": \"any\"" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		owned_policy struct policy policy = { 0 };
		char *text;

		start(&policy);
		set(&policy, rows[i].path, rows[i].value);
		text = policy_encode(&policy);
		cr_expect(strstr(text, rows[i].in_document), "row %s = %s gives %s", rows[i].path,
			  rows[i].value, text);
		free(text);
	}
}

/* A value is a row more, and an empty one takes all rows away, whatever the list. */
Test(policy_set, lists_grow_and_are_emptied, .timeout = 20)
{
	static const struct {
		const char *path, *values[4], *in_document;
	} rows[] = {
		{ "languages", { "python", "javascript" }, "[\n    \"python\",\n    \"javascript\"\n  ]" },
		{ "languages", { "any", "python" }, "\"languages\": [\n    \"python\"\n  ]" },
		{ "languages", { "python", "any" }, "\"languages\": \"any\"" },
		{ "languages", { "python", "", "ruby" }, "\"languages\": [\n    \"ruby\"\n  ]" },
		{ "languages", { "python", "" }, "\"languages\": []" },
		{ "syscalls.allow", { "ptrace", "bpf" }, "\"ptrace\",\n      \"bpf\"" },
		{ "syscalls.allow", { "ptrace", "", "bpf" }, "\"allow\": [\n      \"bpf\"\n" },
		{ "syscalls.deny", { "ptrace", "" }, "\"deny\": []" },
		{ "filesystem.paths.readOnly", { "/a", "" }, "\"readOnly\": []" },
		{ "network.allow", { "a.org:1", "" }, "\"allow\": []" },
	};
	struct warder_error err = { 0 };

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		owned_policy struct policy policy = { 0 };
		char *text;

		start(&policy);
		for (size_t j = 0; rows[i].values[j]; j++)
			cr_expect(policy_set(&policy, rows[i].path, rows[i].values[j], &err) == 0,
				  "row %zu: %s", i, err.text);
		text = policy_encode(&policy);
		cr_expect(strstr(text, rows[i].in_document), "row %zu gives %s", i, text);
		free(text);
	}
}

/* A list that would not change, and one of which a part is refused, stay as they are. */
Test(policy_set, a_language_is_added_once, .timeout = 20)
{
	owned_policy struct policy policy = { 0 };
	struct warder_error err = { 0 };

	start(&policy);
	set(&policy, "languages", "python");
	cr_expect(policy_set(&policy, "languages", "ruby,python", &err) == -1);
	cr_expect_str_eq(err.field, "languages");
	cr_expect(
	    strstr(err.text, "\"python\" is in the list already; an empty value empties the list first"));
	cr_expect(policy.languages.names.count == 1);
}

#define MIB ((uint64_t)1 << 20)

/* Of the two that bound one another, the one that was not set follows; two that contradict each other are refused. */
Test(policy_set, tmp_and_disk_follow_one_another, .timeout = 20)
{
	static const struct {
		const char *tmp, *disk; /* NULL: left alone */
		uint64_t tmp_is, disk_is;
		bool refused;
	} rows[] = {
		{ NULL, NULL, 64 * MIB, 64 * MIB, false },
		{ "256MiB", NULL, 256 * MIB, 256 * MIB, false },
		{ "16MiB", NULL, 16 * MIB, 64 * MIB, false },
		{ NULL, "16MiB", 16 * MIB, 16 * MIB, false },
		{ NULL, "256MiB", 64 * MIB, 256 * MIB, false },
		{ NULL, "unlimited", 64 * MIB, POLICY_UNLIMITED, false },
		{ "256MiB", "unlimited", 256 * MIB, POLICY_UNLIMITED, false },
		{ "16MiB", "32MiB", 16 * MIB, 32 * MIB, false },
		{ "32MiB", "16MiB", 32 * MIB, 16 * MIB, true },
	};

	for (size_t i = 0; i < 2 * ARRAY_LENGTH(rows); i++) {
		const size_t row = i / 2;
		owned_policy struct policy policy = { 0 };
		struct warder_error err = { 0 };

		start(&policy);
		if (i % 2 && rows[row].disk)
			set(&policy, "limits.disk", rows[row].disk);
		if (rows[row].tmp)
			set(&policy, "filesystem.tmp", rows[row].tmp);
		if (i % 2 == 0 && rows[row].disk)
			set(&policy, "limits.disk", rows[row].disk);
		cr_expect_eq(policy.filesystem.tmp_bytes, rows[row].tmp_is, "row %zu", i);
		cr_expect_eq(policy.limits.disk_bytes, rows[row].disk_is, "row %zu", i);
		cr_expect_eq(policy_validate(&policy, &err) != 0, rows[row].refused, "row %zu: %s", i,
			     err.text);
		cr_expect(!rows[row].refused || (strstr(err.text, "filesystem.tmp: 32MiB") &&
						 strstr(err.text, "limits.disk, 16MiB")),
			  "row %zu: %s", i, err.text);
	}
}

Test(policy_set, refused_values_leave_the_policy_alone, .timeout = 20)
{
	static const struct {
		const char *path, *value, *says;
	} rows[] = {
		{ "limits.memory", "12parsecs", "limits.memory: \"12parsecs\" is not a size" },
		{ "filesystem.tmp", "unlimited", "filesystem.tmp: \"unlimited\" is not possible" },
		{ "network.mode", "off", "network.mode: \"off\" is none of its values" },
		{ "network.allow", "pypi.org:", "network.allow: \"\" is not a port" },
		{ "network.allow", "pypi.org:https", "network.allow: \"https\" is not a port" },
		{ "network.allow", "pypi.org:0", "network.allow: \"0\" is not a port" },
		{ "network.allow", "pypi.org:65536", "network.allow: \"65536\" is not a port" },
		{ "network.allow", "pypi.org:80,", "network.allow: \"\" is not a port" },
		{ "network.allow", "fd00::1", "network.allow: \"fd00::1\" is not a valid host name" },
		{ "network.allow", "[fd00::/8]x", "network.allow: " },
		{ "network.allow", "10.0.0.0/8", "has no port; write the ports behind it" },
		{ "network.allow", "@pipy", "is not a list of names; did you mean \"@pypi\"?" },
		{ "network.deny", "@pyp", "did you mean \"@pypi\"?" },
		{ "network.deny", "0x7f.1", "is an address" },
		{ "network.allow", "a.0x7f", "is an address" },
		{ "network.allow",
		  "b\xc3\xbc"
		  "cher.example",
		  "write it as DNS has it" },
		{ "network.deny", "*", "is every host" },
		{ "network.publish", "80", "not a published port" },
		{ "network.publish", "8080:0", "no port in the jail" },
		{ "network.publish", "65536:80", "no port of the host" },
		{ "network.publish", "9-8:80", "no port of the host" },
		{ "network.publish", "localhost:80:80", "no IPv4 address" },
		{ "network.publish", "::1:80:80", "no IPv4 address" },
		{ "network.maxConnections", "unlimited", "not possible here" },
		{ "network.allow", "10.1.2.3:22", "is an address" },
		{ "filesystem.view", "chroot:/x", "filesystem.view: \"chroot:/x\"" },
		{ "filesystem.tmpExec", "yes", "filesystem.tmpExec: \"yes\" is none of its values" },
		{ "filesystem.growth", "1GiB", "filesystem.growth: \"1GiB\" is none of its values" },
		{ "processes.identity.uid", "", "processes.identity.uid: \"\" is not an id" },
		{ "limits", "1", "limits: there is no such field" },
		{ "limits.memry", "1", "there is no such field; did you mean \"limits.memory\"?" },
		{ "cputime", "1s", "there is no such field; did you mean \"limits.cpuTime\"?" },
		{ "processes.identity.udi", "1", "did you mean \"processes.identity.uid\"?" },
		{ "", "1", "there is no such field" },
	};
	owned_policy struct policy strict = { 0 };
	owned_policy struct policy policy = { 0 };

	start(&strict);
	start(&policy);
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct warder_error err = { 0 };

		cr_expect(policy_set(&policy, rows[i].path, rows[i].value, &err) == -1, "row %s = %s",
			  rows[i].path, rows[i].value);
		cr_expect(err.code == WARDER_ERROR_INVALID_REQUEST, "row %zu kind", i);
		cr_expect_str_eq(err.field, rows[i].path);
		cr_expect(strstr(err.text, rows[i].says), "row %zu says: %s", i, err.text);
		cr_expect(policy_equal(&strict, &policy), "row %s = %s changes the policy", rows[i].path,
			  rows[i].value);
	}
}

/* The same rules as for a document: values of flags are checked by policy_validate(). */
Test(policy_set, validation_after_flags, .timeout = 20)
{
	static const struct {
		const char *path, *value, *field; /* NULL: fine */
	} rows[] = {
		{ "limits.wallTime", "0", "limits.wallTime" },
		{ "limits.memory", "1KiB", "limits.memory" },
		{ "filesystem.paths.readOnly", "relative", "filesystem.paths.readOnly[0]" },
		{ "filesystem.paths.readWrite", "/data/../etc", "filesystem.paths.readWrite[0]" },
		{ "filesystem.workspace", "readWrite:/a/./b", "filesystem.workspace" },
		{ "filesystem.view", "directory:x", "filesystem.view" },
		{ "workingDirectory", "", "workingDirectory" },
		{ "processes.identity.gid", "0", "processes.identity.gid" },
		{ "environment.names", "A", "environment.names" },
		{ "environment.set.A-B", "x", "environment.set.A-B" },
		{ "environment.set.", "x", "environment.set." },
		{ "network.allow", "a.org", "network.mode" },
		{ "network.mode", "allow", "network.mode" },
		{ "languages", "python,Cobol", "languages[1]" },
		{ "languages", "python,", "languages[1]" },
		{ "syscalls.allow", "", NULL },
		{ "network.mode", "host", NULL },
		{ "environment.mode", "host", NULL },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		owned_policy struct policy policy = { 0 };
		struct warder_error err = { 0 };
		int status;

		start(&policy);
		set(&policy, rows[i].path, rows[i].value);
		status = policy_validate(&policy, &err);
		cr_expect((status == 0) == !rows[i].field, "row %s = %s: %s", rows[i].path, rows[i].value,
			  err.text);
		cr_expect_str_eq(err.field, rows[i].field ? rows[i].field : "", "row %zu: %s", i, err.text);
	}
}

Test(policy_set, rows_and_modes, .timeout = 20)
{
	owned_policy struct policy policy = { 0 };
	struct warder_error err = { 0 };

	start(&policy);
	set(&policy, "network.mode", "allow");
	set(&policy, "network.allow", "a.org");
	set(&policy, "network.allow", "b.org:1");
	set(&policy, "network.mode", "allow");
	cr_expect(policy.network.allow.count == 2, "the mode that has rows keeps them");
	set(&policy, "network.mode", "none");
	cr_expect(policy.network.allow.count == 0, "another mode drops them");
	set(&policy, "environment.mode", "allowList");
	set(&policy, "environment.names", "A");
	set(&policy, "environment.mode", "host");
	cr_expect(policy.environment.names.count == 0);
	set(&policy, "environment.set.A", "1");
	set(&policy, "environment.set.B", "2");
	set(&policy, "environment.set.A", "3");
	cr_expect(policy.environment.set_count == 2, "a second value replaces the first");
	cr_expect_str_eq(policy.environment.set[0].value, "3");
	set(&policy, "filesystem.workspace", "readWrite:/w");
	set(&policy, "filesystem.workspace", "none");
	cr_expect_null(policy.filesystem.workspace_root);
	cr_expect(policy_validate(&policy, &err) == 0, "%s", err.text);
}

Test(policy_set, copies_are_independent, .timeout = 20)
{
	owned_policy struct policy policy = { 0 };
	owned_policy struct policy copy = { 0 };
	struct warder_error err = { 0 };

	start(&policy);
	set(&policy, "network.mode", "allow");
	set(&policy, "network.allow", "a.org:1,2");
	set(&policy, "filesystem.view", "directory:/r");
	set(&policy, "filesystem.workspace", "readOnly:/w");
	set(&policy, "filesystem.paths.readOnly", "/a");
	set(&policy, "filesystem.paths.readWrite", "/b");
	set(&policy, "environment.mode", "allowList");
	set(&policy, "environment.names", "N");
	set(&policy, "environment.set.A", "1");
	set(&policy, "syscalls.deny", "bpf");
	set(&policy, "syscalls.allow", "ptrace");
	set(&policy, "workingDirectory", "/tmp");
	set(&policy, "languages", "python");
	cr_expect(policy_copy(&policy, &copy, &err) == 0);
	cr_expect(policy_equal(&policy, &copy));
	cr_expect(policy.filesystem.view_source != copy.filesystem.view_source);
	cr_expect(policy.network.allow.items[0].ports != copy.network.allow.items[0].ports);
	set(&copy, "environment.set.A", "2");
	cr_expect(!policy_equal(&policy, &copy));
	policy_done(&policy);
	cr_expect_null(policy.network.allow.items);
	policy_done(&policy);
	policy_done(NULL);
	cr_expect_str_eq(copy.network.allow.items[0].host, "a.org");
}

static bool same_document(const struct policy *a, const struct policy *b)
{
	char *left = policy_encode(a), *right = policy_encode(b);
	bool same = strcmp(left, right) == 0;

	free(left);
	free(right);
	return same;
}

/* What is set has a place of its own, and the document of the policy shows it. */
Test(policy_set, every_field_is_set_and_encoded, .timeout = 20)
{
	static const struct {
		const char *path, *value;
	} rows[] = {
		{ "network.mode", "host" },
		{ "network.allow", "a.org" },
		{ "filesystem.view", "directory:/r" },
		{ "filesystem.workspace", "readOnly:/w" },
		{ "filesystem.paths.readOnly", "/a" },
		{ "filesystem.paths.readWrite", "/b" },
		{ "filesystem.tmp", "1MiB" },
		{ "filesystem.tmpExec", "true" },
		{ "filesystem.growth", "unlimited" },
		{ "environment.mode", "host" },
		{ "environment.names", "N" },
		{ "environment.set.A", "1" },
		{ "limits.wallTime", "1" },
		{ "limits.cpuTime", "1" },
		{ "limits.memory", "1MiB" },
		{ "limits.swap", "1MiB" },
		{ "limits.cpus", "2" },
		{ "limits.pids", "2" },
		{ "limits.openFiles", "8" },
		{ "limits.fileSize", "1MiB" },
		{ "limits.stack", "1MiB" },
		{ "limits.disk", "1MiB" },
		{ "limits.code", "1MiB" },
		{ "output.stdout", "1" },
		{ "output.stderr", "1" },
		{ "output.onLimit", "kill" },
		{ "processes.spawn", "false" },
		{ "processes.identity.uid", "7" },
		{ "processes.identity.gid", "7" },
		{ "syscalls.profile", "default" },
		{ "syscalls.speculation", "true" },
		{ "devices.terminals", "1" },
		{ "syscalls.deny", "bpf" },
		{ "syscalls.allow", "bpf" },
		{ "syscalls.onViolation", "kill" },
		{ "functions", "a" },
		{ "workingDirectory", "/tmp" },
		{ "languages", "python" },
	};
	owned_policy struct policy strict = { 0 };

	start(&strict);
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		owned_policy struct policy policy = { 0 };

		start(&policy);
		set(&policy, rows[i].path, rows[i].value);
		cr_expect(!policy_equal(&strict, &policy), "row %s", rows[i].path);
		cr_expect(!same_document(&strict, &policy), "row %s", rows[i].path);
	}
	for (enum policy_field field = 0; field < POLICY_FIELD_COUNT; field++) {
		owned_policy struct policy policy = { 0 };

		start(&policy);
		policy.preferred[field] = true;
		cr_expect(!policy_equal(&strict, &policy), "field %d", (int)field);
		cr_expect(!same_document(&strict, &policy), "field %d", (int)field);
	}
}
