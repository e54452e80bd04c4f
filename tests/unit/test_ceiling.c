#include "policy/policy.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* A policy out of "path=value;path=value", on top of strict. */
static void build(const char *changes, struct policy *ret)
{
	struct warder_error err = { 0 };
	char text[1024];
	char *rest = text;

	cr_assert(policy_preset("strict", ret, &err) == 0);
	snprintf(text, sizeof(text), "%s", changes);
	for (char *change = strsep(&rest, ";"); change && *change; change = strsep(&rest, ";")) {
		char *value = strchr(change, '=');
		enum policy_field field;

		cr_assert_not_null(value, "%s", change);
		*value++ = '\0';
		if (strcmp(change, "prefer") == 0) {
			cr_assert(policy_field_from_path(value, &field) == 0);
			ret->preferred[field] = true;
			continue;
		}
		cr_assert(policy_set(ret, change, value, &err) == 0, "%s", err.text);
	}
}

struct row {
	const char *ceiling, *request;
	const char *field, *says; /* NULL: within */
};

static void check(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		owned_policy struct policy ceiling = { 0 };
		owned_policy struct policy request = { 0 };
		struct warder_error err = { 0 };
		int status;

		build(rows[i].ceiling, &ceiling);
		build(rows[i].request, &request);
		status = policy_check_ceiling(&ceiling, &request, &err);
		cr_expect((status == 0) == (rows[i].field == NULL), "ceiling %s, request %s: %d %s",
			  rows[i].ceiling, rows[i].request, status, err.text);
		if (!rows[i].field || status == 0)
			continue;
		cr_expect(err.code == WARDER_ERROR_REJECTED, "request %s kind", rows[i].request);
		cr_expect_str_eq(err.field, rows[i].field, "request %s: %s", rows[i].request, err.text);
		cr_expect(strstr(err.text, rows[i].says), "request %s says: %s", rows[i].request, err.text);
		cr_expect(strncmp(err.text, rows[i].field, strlen(rows[i].field)) == 0, "request %s says: %s",
			  rows[i].request, err.text);
	}
}

#define CHECK(rows) check(rows, sizeof(rows) / sizeof((rows)[0]))

Test(ceiling, is_within_itself, .timeout = 20)
{
	static const struct row rows[] = {
		{ "", "", NULL, NULL },
		{ "languages=", "languages=", NULL, NULL },
		{ "network.mode=allow;network.allow=a.org:1,2;network.allow=10.0.0.0/8;network.allow=fd00::/"
		  "8",
		  "network.mode=allow;network.allow=a.org:1,2;network.allow=10.0.0.0/8;network.allow=fd00::/"
		  "8",
		  NULL, NULL },
		{ "filesystem.workspace=readWrite:/srv;filesystem.paths.readOnly=/srv/secret",
		  "filesystem.workspace=readWrite:/srv;filesystem.paths.readOnly=/srv/secret", NULL, NULL },
		{ "filesystem.paths.readWrite=/a;filesystem.paths.readOnly=/a/b;filesystem.paths.readWrite=/"
		  "a/b/c",
		  "filesystem.paths.readWrite=/a;filesystem.paths.readOnly=/a/b;filesystem.paths.readWrite=/"
		  "a/b/c",
		  NULL, NULL },
		{ "environment.set.A=1", "environment.set.A=1", NULL, NULL },
		{ "syscalls.deny=bpf;syscalls.allow=ptrace;syscalls.onViolation=kill;output.onLimit=kill",
		  "syscalls.deny=bpf;syscalls.allow=ptrace;syscalls.onViolation=kill;output.onLimit=kill",
		  NULL, NULL },
		{ "prefer=limits.memory", "prefer=limits.memory", NULL, NULL },
		{ "limits.memory=unlimited;filesystem.view=image:a",
		  "limits.memory=unlimited;filesystem.view=image:a", NULL, NULL },
	};

	CHECK(rows);
}

Test(ceiling, amounts, .timeout = 20)
{
	static const struct row rows[] = {
		{ "limits.memory=512MiB", "limits.memory=256MiB", NULL, NULL },
		{ "limits.memory=512MiB", "limits.memory=1GiB", "limits.memory",
		  "1GiB is more than the operator grants; at most 512MiB" },
		{ "limits.memory=512MiB", "limits.memory=536870913", "limits.memory", "536870913B" },
		{ "limits.memory=512MiB", "limits.memory=unlimited", "limits.memory", "unlimited is more" },
		{ "limits.memory=unlimited", "limits.memory=1GiB", NULL, NULL },
		{ "limits.wallTime=5", "limits.wallTime=6", "limits.wallTime",
		  "6s is more than the operator grants; at most 5s" },
		{ "limits.cpuTime=5", "limits.cpuTime=6", "limits.cpuTime", "6s" },
		{ "", "limits.swap=1MiB", "limits.swap", "1MiB" },
		{ "limits.cpus=0.5", "limits.cpus=0.501", "limits.cpus", "0.501" },
		{ "limits.pids=8", "limits.pids=9", "limits.pids", "9" },
		{ "", "limits.openFiles=1025", "limits.openFiles", "1025" },
		{ "", "limits.fileSize=65MiB", "limits.fileSize", "65MiB" },
		{ "", "limits.stack=9MiB", "limits.stack", "9MiB" },
		{ "", "limits.disk=65MiB", "limits.disk", "65MiB" },
		{ "", "output.stdout=2MiB", "output.stdout", "2MiB" },
		{ "", "output.stderr=2MiB", "output.stderr", "2MiB" },
		{ "", "filesystem.tmp=65MiB", "filesystem.tmp", "65MiB" },
		{ "", "limits.stack=1MiB;limits.disk=1MiB;output.stdout=0;filesystem.tmp=1MiB;limits.pids=1",
		  NULL, NULL },
	};

	CHECK(rows);
}

Test(ceiling, network, .timeout = 20)
{
	static const char *const modes[] = { "none", "loopback", "allow", "host" };
	static const struct row rows[] = {
		{ "network.mode=none", "network.mode=host", "network.mode",
		  "\"host\" is more than the operator grants; at most \"none\"" },
		{ "network.mode=host", "network.mode=allow;network.allow=a.org", NULL, NULL },
		{ "network.mode=allow;network.allow=a.org:443", "network.mode=allow;network.allow=a.org:443",
		  NULL, NULL },
		{ "network.mode=allow;network.allow=a.org:443", "network.mode=allow;network.allow=a.org:80",
		  "network.allow[0]", "\"a.org\" with port 80 is not granted" },
		{ "network.mode=allow;network.allow=a.org:443", "network.mode=allow;network.allow=a.org",
		  "network.allow[0]", "\"a.org\" with every port" },
		{ "network.mode=allow;network.allow=a.org", "network.mode=allow;network.allow=a.org:80", NULL,
		  NULL },
		{ "network.mode=allow;network.allow=a.org:80;network.allow=a.org:443",
		  "network.mode=allow;network.allow=a.org:443,80", NULL, NULL },
		{ "network.mode=allow;network.allow=a.org:80;network.allow=a.org:443",
		  "network.mode=allow;network.allow=a.org:443,80,22", "network.allow[0]", "port 22" },
		{ "network.mode=allow;network.allow=a.org",
		  "network.mode=allow;network.allow=a.org;network.allow=b.org", "network.allow[1]",
		  "\"b.org\"" },
		{ "network.mode=allow;network.allow=*.a.org", "network.mode=allow;network.allow=x.y.a.org",
		  NULL, NULL },
		{ "network.mode=allow;network.allow=*.a.org", "network.mode=allow;network.allow=*.y.a.org",
		  NULL, NULL },
		{ "network.mode=allow;network.allow=*.a.org", "network.mode=allow;network.allow=a.org",
		  "network.allow[0]", "a.org" },
		{ "network.mode=allow;network.allow=x.a.org", "network.mode=allow;network.allow=*.a.org",
		  "network.allow[0]", "\"*.a.org\"" },
		{ "network.mode=allow;network.allow=10.0.0.0/8",
		  "network.mode=allow;network.allow=10.1.0.0/16:22", NULL, NULL },
		{ "network.mode=allow;network.allow=10.1.0.0/16",
		  "network.mode=allow;network.allow=10.0.0.0/8", "network.allow[0]", "\"10.0.0.0/8\"" },
		{ "network.mode=allow;network.allow=::/0", "network.mode=allow;network.allow=10.0.0.0/8",
		  "network.allow[0]", "\"10.0.0.0/8\"" },
		{ "network.mode=allow;network.allow=fd00::/8", "network.mode=allow;network.allow=fd01::/16",
		  NULL, NULL },
		{ "network.mode=allow;network.allow=0.0.0.0/0", "network.mode=allow;network.allow=a.org",
		  "network.allow[0]", "\"a.org\"" },
	};

	for (int granted = 0; granted < 4; granted++) {
		for (int asked = 0; asked < 4; asked++) {
			owned_policy struct policy ceiling = { 0 };
			owned_policy struct policy request = { 0 };
			struct warder_error err;

			build("", &ceiling);
			build("", &request);
			cr_assert(policy_set(&ceiling, "network.mode", modes[granted], &err) == 0);
			cr_assert(policy_set(&request, "network.mode", modes[asked], &err) == 0);
			cr_expect((policy_check_ceiling(&ceiling, &request, &err) == 0) == (asked <= granted),
				  "%s within %s", modes[asked], modes[granted]);
		}
	}
	CHECK(rows);
}

Test(ceiling, view_and_workspace, .timeout = 20)
{
	static const struct row rows[] = {
		{ "", "filesystem.view=directory:/srv", "filesystem.view",
		  "\"directory\" is not what the operator grants: \"host\"" },
		{ "filesystem.view=directory:/srv", "", "filesystem.view", "\"host\"" },
		{ "filesystem.view=directory:/srv", "filesystem.view=directory:/srv/root", NULL, NULL },
		{ "filesystem.view=directory:/srv", "filesystem.view=directory:/srvx", "filesystem.view",
		  "\"/srvx\"" },
		{ "filesystem.view=directory:/srv/root", "filesystem.view=directory:/srv", "filesystem.view",
		  "\"/srv\"" },
		{ "filesystem.view=image:a", "filesystem.view=image:a", NULL, NULL },
		{ "filesystem.view=image:a", "filesystem.view=image:a/b", "filesystem.view", "\"a/b\"" },
		{ "filesystem.workspace=readWrite:/srv", "", NULL, NULL },
		{ "filesystem.workspace=readWrite:/srv", "filesystem.workspace=readOnly:/srv/a", NULL, NULL },
		{ "filesystem.workspace=readWrite:/srv", "filesystem.workspace=readWrite:/srv", NULL, NULL },
		{ "filesystem.workspace=readWrite:/srv", "filesystem.workspace=overlay:/srv/a", NULL, NULL },
		{ "filesystem.workspace=overlay:/srv", "filesystem.workspace=readOnly:/srv/a", NULL, NULL },
		{ "filesystem.workspace=overlay:/srv", "filesystem.workspace=readWrite:/srv/a",
		  "filesystem.workspace", "at most \"overlay\"" },
		{ "filesystem.workspace=readOnly:/srv", "filesystem.workspace=overlay:/srv/a",
		  "filesystem.workspace", "at most \"readOnly\"" },
		{ "filesystem.workspace=readOnly:/srv", "filesystem.workspace=readWrite:/srv/a",
		  "filesystem.workspace",
		  "\"readWrite\" is more than the operator grants; at most \"readOnly\"" },
		{ "", "filesystem.workspace=readOnly:/srv", "filesystem.workspace", "at most \"none\"" },
		{ "filesystem.workspace=readWrite:/srv", "filesystem.workspace=readWrite:/",
		  "filesystem.workspace", "\"/\" is not inside" },
		{ "filesystem.workspace=readWrite:/srv", "filesystem.workspace=readWrite:/srv2",
		  "filesystem.workspace", "not inside \"/srv\"" },
		{ "filesystem.workspace=readWrite:/srv", "filesystem.workspace=readOnly:/srv/../etc",
		  "filesystem.workspace", "\"/srv/../etc\" is not inside" },
		{ "filesystem.paths.readWrite=/srv", "filesystem.workspace=readWrite:/srv",
		  "filesystem.workspace", "at most \"none\"" },
		{ "", "filesystem.tmpExec=true", "filesystem.tmpExec", "at most false" },
		{ "filesystem.tmpExec=true", "", NULL, NULL },
		{ "", "workingDirectory=/usr", NULL, NULL },
	};

	CHECK(rows);
}

Test(ceiling, paths, .timeout = 20)
{
	static const struct row rows[] = {
		{ "filesystem.paths.readOnly=/data", "filesystem.paths.readWrite=/data",
		  "filesystem.paths.readWrite[0]", "\"/data\" is granted by the operator for reading only" },
		{ "filesystem.paths.readOnly=/data", "filesystem.paths.readOnly=/data/sub", NULL, NULL },
		{ "filesystem.paths.readOnly=/data", "filesystem.paths.readOnly=/data", NULL, NULL },
		/* seen at another place: what counts is the path of the host */
		{ "filesystem.paths.readOnly=/data", "filesystem.paths.readOnly=/data/a:/workspace/a", NULL,
		  NULL },
		{ "filesystem.paths.readOnly=/data", "filesystem.paths.readOnly=/etc:/workspace/data",
		  "filesystem.paths.readOnly[0]", "not inside a path" },
		{ "filesystem.paths.readOnly=/data", "filesystem.paths.readOnly=/data:/workspace/../etc",
		  "filesystem.paths.readOnly[0]", "not inside a path" },
		{ "filesystem.paths.readOnly=/data:/workspace/a", "", "filesystem.paths.readOnly",
		  "names paths of the host only" },
		{ "filesystem.paths.readOnly=/data", "filesystem.paths.readOnly=/",
		  "filesystem.paths.readOnly[0]", "not inside" },
		{ "filesystem.paths.readOnly=/data", "filesystem.paths.readOnly=/database",
		  "filesystem.paths.readOnly[0]", "\"/database\" is not inside a path" },
		{ "filesystem.paths.readOnly=/data",
		  "filesystem.paths.readOnly=/data;filesystem.paths.readOnly=/etc",
		  "filesystem.paths.readOnly[1]", "\"/etc\"" },
		{ "filesystem.paths.readWrite=/data", "filesystem.paths.readOnly=/data/sub", NULL, NULL },
		{ "filesystem.paths.readOnly=/", "filesystem.paths.readOnly=/etc", NULL, NULL },
		{ "", "filesystem.paths.readOnly=/etc", "filesystem.paths.readOnly[0]", "not inside" },
		/* no spelling leads out, even before validation */
		{ "filesystem.paths.readOnly=/data", "filesystem.paths.readOnly=/data/../etc",
		  "filesystem.paths.readOnly[0]", "not inside" },
		{ "filesystem.paths.readOnly=/", "filesystem.paths.readOnly=etc",
		  "filesystem.paths.readOnly[0]", "not inside" },
		/* the most specific grant decides */
		{ "filesystem.paths.readOnly=/data;filesystem.paths.readWrite=/data/out",
		  "filesystem.paths.readWrite=/data/out/x", NULL, NULL },
		{ "filesystem.paths.readWrite=/data;filesystem.paths.readOnly=/data/keep",
		  "filesystem.paths.readWrite=/data/keep/x", "filesystem.paths.readWrite[0]",
		  "reading only" },
		{ "filesystem.paths.readWrite=/data;filesystem.paths.readOnly=/data/keep",
		  "filesystem.paths.readWrite=/data/other", NULL, NULL },
		/* and must not be swallowed from above */
		{ "filesystem.paths.readWrite=/data;filesystem.paths.readOnly=/data/keep",
		  "filesystem.paths.readWrite=/data", "filesystem.paths.readWrite",
		  "\"/data/keep\" lies below a requested path" },
		{ "filesystem.paths.readWrite=/data;filesystem.paths.readOnly=/data/keep",
		  "filesystem.paths.readWrite=/data;filesystem.paths.readOnly=/data/keep", NULL, NULL },
		{ "filesystem.workspace=readWrite:/srv", "filesystem.paths.readOnly=/srv",
		  "filesystem.paths.readOnly[0]", "not inside" },
	};

	CHECK(rows);
}

Test(ceiling, environment, .timeout = 20)
{
	static const struct row rows[] = {
		{ "", "environment.mode=host", "environment.mode",
		  "\"host\" is more than the operator grants; at most \"none\"" },
		{ "environment.mode=allowList;environment.names=A", "environment.mode=host",
		  "environment.mode", "at most \"allowList\"" },
		{ "environment.mode=allowList;environment.names=A;environment.names=B",
		  "environment.mode=allowList;environment.names=B", NULL, NULL },
		{ "environment.mode=allowList;environment.names=A",
		  "environment.mode=allowList;environment.names=A;environment.names=C",
		  "environment.names[1]", "\"C\" is not granted" },
		{ "environment.mode=host",
		  "environment.mode=allowList;environment.names=A;environment.set.B=1", NULL, NULL },
		{ "environment.mode=allowList;environment.names=A", "environment.set.A=1", NULL, NULL },
		{ "environment.mode=allowList;environment.names=A;environment.set.B=1", "environment.set.B=2",
		  NULL, NULL },
		{ "environment.mode=allowList;environment.names=A", "environment.set.B=1",
		  "environment.set.B", "does not grant" },
		{ "", "environment.set.A=1", "environment.set.A", "does not grant" },
		{ "environment.set.A=1", "environment.set.A=2", "environment.set.A", "does not grant" },
		{ "environment.set.A=1", "environment.set.A=1", NULL, NULL },
		{ "environment.set.A=1", "", NULL, NULL },
		{ "environment.set.A=1", "environment.mode=allowList;environment.names=A", "environment.mode",
		  "at most \"none\"" },
	};

	CHECK(rows);
}

Test(ceiling, the_rest, .timeout = 20)
{
	static const struct row rows[] = {
		{ "languages=python,ruby", "languages=ruby", NULL, NULL },
		{ "languages=python,ruby", "languages=", NULL, NULL },
		{ "languages=python,ruby", "languages=ruby,go", "languages[1]", "\"go\" is not granted" },
		{ "languages=python,ruby", "", "languages", "\"any\" is more" },
		{ "", "languages=go", NULL, NULL },
		{ "processes.spawn=false", "", "processes.spawn", "true is more" },
		{ "", "processes.spawn=false", NULL, NULL },
		{ "", "processes.identity.uid=7", "processes.identity",
		  "7:1000 is not what the operator grants: 1000:1000" },
		{ "", "processes.identity.gid=7", "processes.identity", "1000:7" },
		{ "", "syscalls.profile=compat", "syscalls.profile",
		  "\"compat\" is more than the operator grants; at most \"default\"" },
		{ "syscalls.profile=strict", "", "syscalls.profile", "\"default\"" },
		{ "syscalls.profile=compat", "syscalls.profile=strict", NULL, NULL },
		{ "", "syscalls.allow=ptrace", "syscalls.allow[0]", "\"ptrace\" is not granted" },
		{ "syscalls.allow=ptrace;syscalls.allow=bpf", "syscalls.allow=bpf", NULL, NULL },
		{ "syscalls.deny=bpf", "", "syscalls.deny", "the operator denies \"bpf\"" },
		{ "syscalls.deny=bpf", "syscalls.deny=ptrace;syscalls.deny=bpf", NULL, NULL },
		{ "syscalls.onViolation=kill", "", "syscalls.onViolation", "at most \"kill\"" },
		{ "", "syscalls.onViolation=kill", NULL, NULL },
		{ "output.onLimit=kill", "", "output.onLimit", "at most \"kill\"" },
		{ "", "output.onLimit=kill", NULL, NULL },
		{ "", "prefer=limits.memory", "enforcement.limits.memory",
		  "the operator requires this field" },
		{ "prefer=limits.memory", "", NULL, NULL },
		{ "prefer=limits.memory", "prefer=limits.memory;prefer=limits.swap",
		  "enforcement.limits.swap", "requires" },
	};

	CHECK(rows);
}

Test(ceiling, names_the_first_field_in_order, .timeout = 20)
{
	static const struct row rows[] = {
		{ "", "limits.memory=1GiB;network.mode=host;filesystem.tmp=1GiB", "network.mode", "host" },
		{ "", "limits.memory=1GiB;filesystem.tmp=1GiB", "filesystem.tmp", "1GiB" },
	};

	CHECK(rows);
}
