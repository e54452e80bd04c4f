#include "base/array.h"
#include "policy/policy.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

/* "path=value;path=value" */
static void change(const char *changes, struct policy *ret)
{
	struct warder_error err = { 0 };
	char text[1024];
	char *rest = text;

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

/* A policy with these changes, on top of strict. */
static void build(const char *changes, struct policy *ret)
{
	struct warder_error err = { 0 };

	cr_assert(policy_preset("strict", ret, &err) == 0);
	change(changes, ret);
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

#define CHECK(rows) check(rows, ARRAY_LENGTH(rows))

Test(ceiling, is_within_itself, .timeout = 20)
{
	static const struct row rows[] = {
		{ "", "", NULL, NULL },
		{ "languages=", "languages=", NULL, NULL },
		{ "network.mode=allow;network.allow=a.org:1,2;network.allow=10.0.0.0/"
		  "8:1;network.allow=[fd00::/"
		  "8]:1",
		  "network.mode=allow;network.allow=a.org:1,2;network.allow=10.0.0.0/"
		  "8:1;network.allow=[fd00::/"
		  "8]:1",
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
		{ "limits.wallTime=5", "limits.wallTime=unlimited", "limits.wallTime",
		  "unlimited is more than the operator grants; at most 5s" },
		{ "limits.wallTime=unlimited", "limits.wallTime=unlimited", NULL, NULL },
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
	static const char *const modes[] = { "none", "loopback", "allow", "learn", "host" };
	static const struct row rows[] = {
		{ "network.mode=none", "network.mode=host", "network.mode",
		  "\"host\" is more than the operator grants; at most \"none\"" },
		{ "network.mode=host", "network.mode=allow;network.allow=a.org", NULL, NULL },
		{ "network.mode=allow;network.allow=a.org:443", "network.mode=allow;network.allow=a.org:443",
		  NULL, NULL },
		{ "network.mode=allow;network.allow=a.org:443", "network.mode=allow;network.allow=a.org:80",
		  "network.allow[0]", "\"a.org\" with port 80 is not granted" },
		{ "network.mode=allow;network.allow=a.org:443", "network.mode=allow;network.allow=a.org",
		  "network.allow[0]", "\"a.org\" with port 80 is not granted" },
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
		{ "network.mode=allow;network.allow=10.0.0.0/8:22",
		  "network.mode=allow;network.allow=10.1.0.0/16:22", NULL, NULL },
		{ "network.mode=allow;network.allow=10.1.0.0/16:22",
		  "network.mode=allow;network.allow=10.0.0.0/8:22", "network.allow[0]", "\"10.0.0.0/8\"" },
		{ "network.mode=allow;network.allow=[::/0]:22",
		  "network.mode=allow;network.allow=10.0.0.0/8:22", "network.allow[0]", "\"10.0.0.0/8\"" },
		{ "network.mode=allow;network.allow=[fd00::/8]:22",
		  "network.mode=allow;network.allow=[fd01::/16]:22", NULL, NULL },
		{ "network.mode=allow;network.allow=0.0.0.0/0:22", "network.mode=allow;network.allow=a.org",
		  "network.allow[0]", "\"a.org\"" },
		{ "network.mode=allow;network.allow=@pypi", "network.mode=allow;network.allow=@pypi", NULL,
		  NULL },
		{ "network.mode=allow;network.allow=*.org:443;network.allow=*.pythonhosted.org:443",
		  "network.mode=allow;network.allow=@pypi", NULL, NULL },
		{ "network.mode=allow;network.allow=@pypi", "network.mode=allow;network.allow=pypi.org:443",
		  NULL, NULL },
		{ "network.mode=allow;network.allow=pypi.org:443",
		  "network.mode=allow;network.allow=a.org:1;network.allow=@pypi", "network.allow[0]",
		  "a.org" },
		{ "network.mode=allow;network.allow=pypi.org:443", "network.mode=allow;network.allow=@pypi",
		  "network.allow[0]", "\"files.pythonhosted.org\" with port 443" },
		{ "network.mode=allow;network.allow=*.org;network.deny=a.org",
		  "network.mode=allow;network.allow=*.org", "network.deny", "denies \"a.org\"; add it" },
		{ "network.mode=allow;network.allow=*.org;network.deny=a.org",
		  "network.mode=allow;network.allow=*.org;network.deny=a.org:443,80", NULL, NULL },
		{ "network.mode=allow;network.allow=*.org;network.deny=a.org",
		  "network.mode=allow;network.allow=*.org:80;network.deny=a.org:443", "network.deny",
		  "a.org" },
		{ "network.mode=allow;network.allow=*.org;network.deny=a.org",
		  "network.mode=allow;network.allow=b.org", NULL, NULL },
		{ "network.mode=allow;network.allow=*.org;network.deny=a.org:22",
		  "network.mode=allow;network.allow=*.org", NULL, NULL },
		{ "network.mode=allow;network.allow=*.org;network.deny=8.0.0.0/8",
		  "network.mode=allow;network.allow=b.org", "network.deny", "8.0.0.0/8" },
		{ "network.mode=learn", "network.mode=allow;network.allow=*.org", NULL, NULL },
		{ "network.mode=learn", "network.mode=allow;network.allow=a.org:8080", "network.allow[0]",
		  "port 8080" },
		{ "network.mode=learn", "network.mode=allow;network.allow=8.8.8.8/32:443", "network.allow[0]",
		  "port 443" },
		{ "network.mode=host", "network.mode=learn", "network.mode", "only by the operator's own" },
		{ "network.mode=learn;network.deny=a.org", "network.mode=learn", "network.deny", "a.org" },
		{ "network.mode=learn;network.deny=a.org", "network.mode=learn;network.deny=*.org", NULL,
		  NULL },
		{ "network.mode=loopback;network.publish=8000-8999:80",
		  "network.mode=loopback;network.publish=8080:80", NULL, NULL },
		{ "network.mode=loopback;network.publish=8000-8999:80",
		  "network.mode=loopback;network.publish=0.0.0.0:8080:80", "network.publish[0]",
		  "\"0.0.0.0:8080:80\" is not granted" },
		{ "network.mode=loopback;network.publish=0.0.0.0:8000-8999:80",
		  "network.mode=loopback;network.publish=10.0.0.1:8080:80", NULL, NULL },
		{ "network.mode=loopback;network.publish=8000-8999:80",
		  "network.mode=loopback;network.publish=8080:81", "network.publish[0]", "8080:81" },
		{ "network.mode=loopback;network.publish=8000-8999:80",
		  "network.mode=loopback;network.publish=0:80", "network.publish[0]", ":0:80" },
		{ "network.mode=host", "network.mode=loopback;network.publish=0.0.0.0:1024:80", NULL, NULL },
		{ "network.mode=host", "network.mode=loopback;network.publish=1023:80", "network.publish[0]",
		  "1023" },
		{ "network.mode=allow;network.allow=a.org;network.maxConnections=8;network.bytes=1MiB", "",
		  NULL, NULL },
		{ "network.mode=allow;network.allow=a.org;network.maxConnections=8",
		  "network.mode=allow;network.allow=a.org", "network.maxConnections", "at most 8" },
		{ "network.mode=allow;network.allow=a.org;network.bytes=1MiB",
		  "network.mode=allow;network.allow=a.org", "network.bytes", "at most 1MiB" },
		{ "network.mode=host", "network.mode=allow;network.allow=a.org;network.maxConnections=900",
		  NULL, NULL },
	};

	for (int granted = 0; granted < 5; granted++) {
		for (int asked = 0; asked < 5; asked++) {
			bool is_named = strcmp(modes[asked], "learn") != 0 || asked == granted;
			owned_policy struct policy ceiling = { 0 };
			owned_policy struct policy request = { 0 };
			struct warder_error err;

			build("", &ceiling);
			build("", &request);
			cr_assert(policy_set(&ceiling, "network.mode", modes[granted], &err) == 0);
			cr_assert(policy_set(&request, "network.mode", modes[asked], &err) == 0);
			cr_expect((policy_check_ceiling(&ceiling, &request, &err) == 0) ==
				      (asked <= granted && is_named),
				  "%s within %s", modes[asked], modes[granted]);
		}
	}
	CHECK(rows);
}

Test(ceiling, view_and_workspace, .timeout = 20)
{
	static const struct row rows[] = {
		{ "", "filesystem.view=directory:/srv", "filesystem.view",
		  "\"directory\" differs from the operator's grant: \"host\"" },
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
		{ "", "filesystem.growth=unlimited", NULL, NULL }, /* nothing to write to */
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
		  "names sources only" },
		{ "filesystem.paths.readWrite=/data:/x", "", "filesystem.paths.readWrite",
		  "names sources only" },
		{ "filesystem.paths.readOnly=/data", "filesystem.paths.readOnly=/data/a:/etc", NULL, NULL },
		{ "filesystem.paths.readOnly=/data", "filesystem.paths.readWrite=/data:/x",
		  "filesystem.paths.readWrite[0]", "reading only" },
		{ "filesystem.paths.readWrite=/data", "filesystem.paths.readWrite=/etc:/data",
		  "filesystem.paths.readWrite[0]", "not inside a path" },
		{ "filesystem.paths.readOnly=/data", "filesystem.paths.readOnly=/data/a:/b:/data/c", NULL,
		  NULL },
		{ "filesystem.paths.readOnly=/data", "filesystem.paths.readOnly=/etc:/b:/data/c",
		  "filesystem.paths.readOnly[0]", "not inside a path" },
		{ "filesystem.paths.readOnly=/data", "filesystem.paths.readOnly=/data:/proc/x",
		  "filesystem.paths.readOnly[0]", "not inside a path" },
		{ "filesystem.paths.readOnly=/data", "filesystem.paths.readOnly=/",
		  "filesystem.paths.readOnly[0]", "not inside" },
		{ "filesystem.paths.readOnly=/data", "filesystem.paths.readOnly=/database",
		  "filesystem.paths.readOnly[0]", "\"/database\" is not inside a path (" },
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
		/* wherever it is seen */
		{ "filesystem.paths.readWrite=/data;filesystem.paths.readOnly=/data/keep",
		  "filesystem.paths.readWrite=/data:/x", "filesystem.paths.readWrite",
		  "\"/data/keep\" lies below a requested path" },
		{ "filesystem.paths.readWrite=/data;filesystem.paths.readOnly=/data/keep",
		  "filesystem.paths.readWrite=/data:/x;filesystem.paths.readOnly=/data/keep",
		  "filesystem.paths.readWrite", "with its target" },
		{ "filesystem.paths.readWrite=/data;filesystem.paths.readOnly=/data/keep",
		  "filesystem.paths.readWrite=/data:/x;filesystem.paths.readOnly=/data/keep:/x/keep", NULL,
		  NULL },
		{ "filesystem.paths.readWrite=/data;filesystem.paths.readOnly=/data/keep",
		  "filesystem.paths.readWrite=/data;filesystem.paths.readWrite=/data:/x;"
		  "filesystem.paths.readOnly=/data/keep",
		  "filesystem.paths.readWrite", "\"/data/keep\" lies below a requested path" },
		{ "filesystem.paths.readWrite=/;filesystem.paths.readOnly=/keep",
		  "filesystem.paths.readWrite=/:/x", "filesystem.paths.readWrite", "\"/keep\" lies below" },
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
		{ "languages=python,ruby", "languages=ruby,go", "languages[1]",
		  "\"go\" is not one of the languages (python, ruby)" },
		{ "languages=python,ruby", "", "languages", "\"any\" is more" },
		{ "", "languages=go", NULL, NULL },
		{ "processes.spawn=false", "", "processes.spawn", "true is more" },
		{ "", "processes.spawn=false", NULL, NULL },
		{ "", "processes.identity.uid=7", "processes.identity",
		  "7:1000 differs from the operator's grant: 1000:1000" },
		{ "", "processes.identity.gid=7", "processes.identity", "1000:7" },
		{ "", "syscalls.profile=compat", "syscalls.profile",
		  "\"compat\" is more than the operator grants; at most \"strict\"" },
		{ "syscalls.speculation=true", "", "syscalls.speculation", "set it to true" },
		{ "", "syscalls.speculation=true", NULL, NULL },
		{ "", "devices.terminals=1", "devices.terminals",
		  "1 is more than the operator grants; at most 0" },
		{ "limits.code=64KiB", "limits.code=65537", "limits.code", "at most 64KiB" },
		{ "limits.code=64KiB", "limits.code=64KiB", NULL, NULL },
		{ "", "limits.code=1", NULL, NULL },
		{ "devices.terminals=4", "devices.terminals=5", "devices.terminals", "at most 4" },
		{ "devices.terminals=4", "devices.terminals=4", NULL, NULL },
		{ "devices.terminals=4", "", NULL, NULL },
		{ "", "functions=a", "functions[0]",
		  "\"a\" is not one of the functions (none) that the operator grants" },
		{ "functions=a;functions=b", "functions=b;functions=c", "functions[1]", "(a, b)" },
		{ "functions=a;functions=b", "functions=b", NULL, NULL },
		{ "functions=a", "", NULL, NULL },
		{ "syscalls.profile=strict", "syscalls.profile=default", "syscalls.profile", "\"default\"" },
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

/* The fields of all violations, as "path;path"; '-' before one that is refused. */
static void add_found(void *context, const struct policy_violation *violation)
{
	char *list = context;
	size_t used = strlen(list);

	snprintf(list + used, 1024 - used, "%s%s%s", used ? ";" : "",
		 violation->grant == POLICY_REFUSED ? "-" : "", violation->error.field);
	cr_expect(strncmp(violation->error.text, violation->error.field, strlen(violation->error.field)) ==
		  0);
}

Test(ceiling, lists_every_violation_in_order, .timeout = 20)
{
	static const struct {
		const char *ceiling, *request, *found;
	} rows[] = {
		{ "", "", "" },
		{ "", "limits.memory=1GiB;network.mode=host;filesystem.tmp=1GiB;limits.disk=1GiB",
		  "network.mode;filesystem.tmp;limits.memory;limits.disk" },
		{ "languages=python", "languages=bash,python,go;limits.cpus=2;processes.spawn=true",
		  "-languages[0];-languages[2];limits.cpus" },
		{ "network.mode=allow;network.allow=a.org:1",
		  "network.mode=allow;network.allow=a.org:1,2,3;network.allow=b.org;languages=any",
		  "-network.allow[0];-network.allow[0];-network.allow[1];-network.allow[1]" },
		{ "filesystem.paths.readOnly=/a",
		  "filesystem.paths.readOnly=/b;filesystem.paths.readWrite=/a/c;filesystem.view=image:x;"
		  "processes.identity.uid=7",
		  "-filesystem.view;-filesystem.paths.readOnly[0];filesystem.paths.readWrite[0];"
		  "-processes.identity" },
		{ "syscalls.deny=bpf;syscalls.deny=ptrace;output.onLimit=kill;limits.wallTime=1s",
		  "environment.set.A=1;environment.set.B=2;prefer=limits.swap;prefer=limits.memory",
		  "-environment.set.A;-environment.set.B;limits.wallTime;output.onLimit;syscalls.deny;"
		  "syscalls.deny;enforcement.limits.memory;enforcement.limits.swap" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		owned_policy struct policy ceiling = { 0 };
		owned_policy struct policy request = { 0 };
		char found[1024] = "";
		size_t count;

		build(rows[i].ceiling, &ceiling);
		build(rows[i].request, &request);
		count = policy_violations(&ceiling, &request, NULL, add_found, found);
		cr_expect_str_eq(found, rows[i].found, "row %zu", i);
		cr_expect((count == 0) == (rows[i].found[0] == '\0'), "row %zu: %zu", i, count);
	}
}

/* Every change on its own is told of, and every pair by both. */
Test(ceiling, one_violation_hides_no_other, .timeout = 20)
{
	static const struct {
		const char *change, *field;
	} rows[] = {
		{ "network.mode=host", "network.mode" },
		{ "filesystem.view=directory:/x", "filesystem.view" },
		{ "filesystem.workspace=overlay:/x", "filesystem.workspace" },
		{ "filesystem.paths.readWrite=/x", "filesystem.paths.readWrite[0]" },
		{ "filesystem.tmpExec=true", "filesystem.tmpExec" },
		{ "environment.mode=host", "environment.mode" },
		{ "limits.wallTime=1h", "limits.wallTime" },
		{ "limits.cpuTime=1h", "limits.cpuTime" },
		{ "limits.memory=1GiB", "limits.memory" },
		{ "limits.swap=1GiB", "limits.swap" },
		{ "limits.cpus=2", "limits.cpus" },
		{ "limits.pids=100", "limits.pids" },
		{ "limits.openFiles=2000", "limits.openFiles" },
		{ "limits.fileSize=1GiB", "limits.fileSize" },
		{ "limits.stack=1GiB", "limits.stack" },
		{ "limits.disk=1GiB", "limits.disk" },
		{ "limits.code=16MiB", "limits.code" },
		{ "output.stdout=1GiB", "output.stdout" },
		{ "output.stderr=1GiB", "output.stderr" },
		{ "processes.identity.uid=7", "processes.identity" },
		{ "syscalls.profile=compat", "syscalls.profile" },
		{ "syscalls.allow=flock", "syscalls.allow[0]" },
		{ "devices.terminals=1", "devices.terminals" },
		{ "prefer=limits.pids", "enforcement.limits.pids" },
	};
	const size_t count = ARRAY_LENGTH(rows);

	for (size_t i = 0; i < count; i++) {
		for (size_t j = i; j < count; j++) {
			owned_policy struct policy ceiling = { 0 };
			owned_policy struct policy request = { 0 };
			char both[256], found[1024] = "", wanted[256];

			snprintf(both, sizeof(both), "%s%s%s", rows[i].change, i < j ? ";" : "",
				 i < j ? rows[j].change : "");
			snprintf(wanted, sizeof(wanted), "%s%s%s", rows[i].field, i < j ? ";" : "",
				 i < j ? rows[j].field : "");
			build("limits.code=64KiB", &ceiling);
			build("limits.code=64KiB", &request);
			change(both, &request);
			policy_violations(&ceiling, &request, NULL, add_found, found);
			for (char *sign; (sign = strchr(found, '-'));)
				memmove(sign, sign + 1, strlen(sign));
			cr_expect_str_eq(found, wanted, "%s", both);
		}
	}
}

static struct json_value *granted(const struct policy *ceiling, const struct policy *request)
{
	struct json_writer w = { 0 };
	struct json_value *root = NULL;
	struct warder_error err;
	char *text;

	policy_write_granted(ceiling, request, NULL, &w);
	text = json_take(&w);
	cr_assert(text && json_parse(text, strlen(text), "granted", NULL, &root, &err) == 0, "%s", err.text);
	free(text);
	return root;
}

static const char *text_at(const struct json_value *root, const char *field, const char *key)
{
	const struct json_value *rows = json_member(root, "fields"), *row = rows->child;

	while (row && strcmp(json_member(row, "field")->string, field) != 0)
		row = row->next;
	cr_assert(row, "%s", field);
	return json_member(row, key)->type == JSON_NULL ? NULL : json_member(row, key)->string;
}

Test(ceiling, grants_field_by_field, .timeout = 20)
{
	owned_policy struct policy ceiling = { 0 };
	owned_policy struct policy request = { 0 };
	struct json_value *root;

	build("limits.memory=128MiB;filesystem.paths.readOnly=/a;filesystem.tmpExec=true", &ceiling);
	build("filesystem.view=image:x;filesystem.paths.readWrite=/a;limits.cpus=0.5;prefer=limits.cpus;"
	      "environment.set.KEY=secret;languages=python,bash",
	      &request);
	root = granted(&ceiling, &request);
	cr_expect(!json_member(root, "granted")->boolean);
	cr_expect_str_eq(text_at(root, "limits.memory", "grant"), "lowered");
	cr_expect_str_eq(text_at(root, "limits.memory", "asked"), "512MiB");
	cr_expect_str_eq(text_at(root, "limits.memory", "most"), "128MiB");
	cr_expect_str_eq(text_at(root, "limits.cpus", "grant"), "lowered");
	cr_expect_str_eq(text_at(root, "limits.cpus", "asked"), "0.5 (preferred)");
	cr_expect_str_eq(text_at(root, "limits.pids", "grant"), "granted");
	cr_expect_str_eq(text_at(root, "filesystem.view", "grant"), "refused");
	cr_expect_str_eq(text_at(root, "filesystem.view", "asked"), "image:x");
	cr_expect_str_eq(text_at(root, "filesystem.paths", "grant"), "lowered");
	cr_expect_str_eq(text_at(root, "filesystem.paths", "asked"), "readWrite:/a");
	cr_expect_str_eq(text_at(root, "filesystem.paths", "most"), "readOnly:/a");
	cr_expect_str_eq(text_at(root, "filesystem.tmp", "most"), "64MiB, executable");
	cr_expect_str_eq(text_at(root, "environment", "asked"), "none KEY=...", "the value may be a secret");
	cr_expect_str_eq(text_at(root, "languages", "asked"), "python bash");
	json_free(root);

	root = granted(&ceiling, NULL);
	cr_expect(json_member(root, "granted")->type == JSON_NULL);
	cr_expect_str_eq(json_member(json_member(json_member(root, "most"), "limits"), "memory")->string,
			 "128MiB");
	cr_expect_null(text_at(root, "limits.memory", "grant"));
	cr_expect_null(text_at(root, "limits.memory", "asked"));
	json_free(root);

	root = granted(NULL, &request);
	cr_expect(json_member(root, "granted")->boolean);
	cr_expect(json_member(root, "most")->type == JSON_NULL);
	cr_expect_str_eq(text_at(root, "filesystem.view", "grant"), "granted");
	cr_expect_null(text_at(root, "filesystem.view", "most"));
	json_free(root);
}

Test(ceiling, a_value_that_is_cut_says_so, .timeout = 20)
{
	owned_policy struct policy policy = { 0 };
	char whole[64], cut[16];

	build("languages=python,javascript,bash", &policy);
	cr_expect_str_eq(policy_field_value(&policy, POLICY_FIELD_LANGUAGES, whole, sizeof(whole)),
			 "python javascript bash");
	cr_expect_str_eq(policy_field_value(&policy, POLICY_FIELD_LANGUAGES, cut, sizeof(cut)),
			 "python java ...");
}
