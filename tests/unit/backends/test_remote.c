/* remote: hosts in the operator's document, and what a policy may ask of them. */
#include "backends/remote.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define GOOD "\"url\": \"http://127.0.0.1:1\", \"tokenFile\": \"/t\", \"kind\": \"warder\""
#define E2B  "\"url\": \"https://api.example.org\", \"tokenFile\": \"/t\", \"kind\": \"e2b\""
#define ON   "\"enable\": [\"remote\"]"

static struct warder_error err;

static int parse(const char *text, struct backend_settings *ret)
{
	err.text[0] = '\0';
	return backend_settings_parse(text, strlen(text), "backends.json", ret, &err);
}

Test(remote, entries, .timeout = 20)
{
	struct backend_settings settings = { 0 };
	const struct backend_remote *remote;
	char label[BACKEND_REMOTE_LABEL];

	cr_assert_eq(
	    parse("{\"order\": [\"local\", \"remote:b\"], " ON ", \"remote\": {\"a-1\": {" GOOD
		  "}, \"b\": {\"url\": \"http://192.0.2.1\", \"insecure\": true, \"caFile\": \"/ca\", "
		  "\"tokenFile\": \"/u\", \"kind\": \"warder\"}}}",
		  &settings),
	    0, "%s", err.text);
	remote = backend_remote_find(&settings, "remote:b", &err);
	cr_assert(remote);
	cr_expect_str_eq(remote->url, "http://192.0.2.1");
	cr_expect_str_eq(remote->ca_file, "/ca");
	cr_expect_str_eq(backend_remote_label(remote, label), "remote:b");
	cr_expect_null(backend_remote_of(&settings, backend_candidate(&settings, 0)));
	cr_expect_eq(backend_remote_of(&settings, backend_candidate(&settings, 1)), remote);
	cr_expect_null(backend_candidate(&settings, 2));
	cr_expect_null(backend_remote_find(&settings, "remote:c", &err));
	cr_expect(strstr(err.text, "remote:b"), "%s", err.text);
	cr_expect_eq(backend_check_name("remote:x", &err), 0);
	cr_expect_eq(backend_check_name("remote:X", &err), -1);
	cr_expect_eq(backend_check_name("remote", &err), -1);
	cr_expect_null(backend_find("remote:x", &err));
	cr_expect(strstr(err.text, "another machine"), "%s", err.text);
}

Test(remote, keys, .timeout = 20)
{
	static const char one[] = "ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
	static const char two[] = "ed25519:BAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
	struct backend_settings settings = { 0 };
	char text[300];

	snprintf(text, sizeof(text),
		 "{" ON ", \"remote\": {\"a\": {" GOOD ", \"hostKey\": \"%s\"}, \"b\": {" GOOD "}}}", one);
	cr_assert_eq(parse(text, &settings), 0, "%s", err.text);
	cr_expect_str_eq(settings.remotes[0].host_key, one);
	cr_expect_str_eq(settings.remotes[1].host_key, "");
	snprintf(text, sizeof(text), "{\"a\": \"%s\", \"b\": \"%s\", \"gone\": \"%s\"}", two, two, two);
	cr_assert_eq(backend_remote_take_keys(text, strlen(text), "k", &settings, &err), 0, "%s", err.text);
	cr_expect_str_eq(settings.remotes[0].host_key, one, "the document comes first");
	cr_expect_str_eq(settings.remotes[1].host_key, two);
	cr_expect_eq(backend_remote_take_keys("{\"b\": \"x\"}", 10, "k", &settings, &err), -1);
	cr_expect_str_eq(settings.remotes[1].host_key, two);
	cr_expect(remote_is_key(one));
	cr_expect_not(remote_is_key("ed25519:AAAA"));
	cr_expect_not(remote_is_key("ed25518:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="));
}

Test(remote, nobody_enabled_it, .timeout = 20)
{
	struct backend_settings settings = { 0 };

	cr_assert_eq(parse("{}", &settings), 0);
	cr_expect_null(backend_remote_find(&settings, "remote:a", &err));
	cr_expect_eq(err.code, WARDER_ERROR_REJECTED);
}

Test(remote, wrong_entries, .timeout = 20)
{
	static const struct {
		const char *row, *text, *says;
	} rows[] = {
		{ "not enabled", "{\"remote\": {\"a\": {" GOOD "}}}", "\"enable\"" },
		{ "no object", "{" ON ", \"remote\": []}", "object of hosts" },
		{ "an entry is no object", "{" ON ", \"remote\": {\"a\": 1}}", "\"a\"" },
		{ "empty name", "{" ON ", \"remote\": {\"\": {" GOOD "}}}", "1 to 20" },
		{ "capital name", "{" ON ", \"remote\": {\"A\": {" GOOD "}}}", "1 to 20" },
		{ "long name", "{" ON ", \"remote\": {\"aaaaaaaaaaaaaaaaaaaaa\": {" GOOD "}}}", "1 to 20" },
		{ "unknown member", "{" ON ", \"remote\": {\"a\": {" GOOD ", \"x\": 1}}}", "\"x\"" },
		{ "wrong type", "{" ON ", \"remote\": {\"a\": {" GOOD ", \"insecure\": 1}}}",
		  "\"insecure\"" },
		{ "no url", "{" ON ", \"remote\": {\"a\": {\"tokenFile\": \"/t\", \"kind\": \"warder\"}}}",
		  "\"url\"" },
		{ "no kind", "{" ON ", \"remote\": {\"a\": {\"url\": \"https://h\", \"tokenFile\": \"/t\"}}}",
		  "\"kind\"" },
		{ "no token", "{" ON ", \"remote\": {\"a\": {\"url\": \"https://h\", \"kind\": \"warder\"}}}",
		  "\"tokenFile\"" },
		{ "unknown kind",
		  "{" ON ", \"remote\": {\"a\": {\"url\": \"https://h\", \"tokenFile\": \"/t\", \"kind\": "
		  "\"cube\"}}}",
		  "\"cube\"" },
		{ "a template of the kind warder",
		  "{" ON ", \"remote\": {\"a\": {" GOOD ", \"template\": \"t\"}}}", "\"e2b\"" },
		{ "no time to execute", "{" ON ", \"remote\": {\"a\": {" E2B ", \"executeTimeout\": 0}}}",
		  "\"executeTimeout\"" },
		{ "an idle time with a fraction",
		  "{" ON ", \"remote\": {\"a\": {" E2B ", \"idleTimeout\": 60.5}}}", "\"idleTimeout\"" },
		{ "times of the kind warder",
		  "{" ON ", \"remote\": {\"a\": {" GOOD ", \"idleTimeout\": 60}}}", "\"idleTimeout\"" },
		{ "an empty template", "{" ON ", \"remote\": {\"a\": {" E2B ", \"template\": \"\"}}}",
		  "\"template\"" },
		{ "a key of the kind e2b",
		  "{" ON ", \"remote\": {\"a\": {" E2B ", \"template\": \"t\", \"hostKey\": "
		  "\"ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\"}}}",
		  "\"hostKey\"" },
		{ "sandboxes by http elsewhere",
		  "{" ON ", \"remote\": {\"a\": {" E2B
		  ", \"template\": \"t\", \"sandboxUrl\": \"http://192.0.2.1\"}}}",
		  "\"sandboxUrl\"" },
		{ "credentials",
		  "{" ON
		  ", \"remote\": {\"a\": {\"url\": \"https://u:geheim@h\", \"tokenFile\": \"/t\", \"kind\": "
		  "\"warder\"}}}",
		  "credentials" },
		{ "a relative caFile", "{" ON ", \"remote\": {\"a\": {" GOOD ", \"caFile\": \"ca\"}}}",
		  "\"caFile\"" },
		{ "unknown in the order",
		  "{" ON ", \"order\": [\"remote:b\"], \"remote\": {\"a\": {" GOOD "}}}", "remote:b" },
		{ "twice in the order",
		  "{" ON ", \"order\": [\"remote:a\", \"remote:a\"], \"remote\": {\"a\": {" GOOD "}}}",
		  "twice" },
		{ "in the order, off", "{\"order\": [\"remote:a\"]}", "disabled" },
		{ "nine hosts",
		  "{" ON ", \"remote\": {\"a\": {" GOOD "}, \"b\": {" GOOD "}, \"c\": {" GOOD
		  "}, \"d\": {" GOOD "}, \"e\": {" GOOD "}, \"f\": {" GOOD "}, \"g\": {" GOOD
		  "}, \"h\": {" GOOD "}, \"i\": {" GOOD "}}}",
		  "at most 8" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct backend_settings settings;

		cr_expect_eq(parse(rows[i].text, &settings), -1, "%s", rows[i].row);
		cr_expect(strstr(err.text, rows[i].says), "%s: %s", rows[i].row, err.text);
		cr_expect_null(strstr(err.text, "geheim"), "%s: %s", rows[i].row, err.text);
	}
}

Test(remote, policies, .timeout = 20)
{
	static const struct {
		const char *path, *value;
		bool good;
	} rows[] = {
		{ "limits.memory", "1GiB", true },
		{ "environment.set.A", "b", true },
		{ "filesystem.view", "directory:/srv", false },
		{ "filesystem.workspace", "readWrite:/srv", false },
		{ "filesystem.paths.readOnly", "/srv", false },
		{ "filesystem.paths.readWrite", "/srv", false },
		{ "network.mode", "learn", false },
		{ "environment.mode", "host", false },
	};
	const struct backend_remote remote = { .name = "a" };

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		owned_policy struct policy policy = { 0 };

		cr_assert_eq(policy_preset("strict", &policy, &err), 0);
		cr_assert_eq(policy_set(&policy, rows[i].path, rows[i].value, &err), 0, "%s", err.text);
		cr_expect_eq(backend_remote_check_policy(&remote, &policy, &err) == 0, rows[i].good, "%s",
			     rows[i].path);
		if (!rows[i].good)
			cr_expect(strstr(err.text, rows[i].path) && strstr(err.text, "remote:a"), "%s",
				  err.text);
	}
}

Test(remote, environment, .timeout = 20)
{
	static const char *const names[] = { BACKEND_REMOTE_URL, BACKEND_REMOTE_KEY,
					     BACKEND_REMOTE_TEMPLATE };
	static const char *const members[] = { "\"url\"", "\"tokenFile\"", "\"template\"" };
	struct backend_settings settings;
	struct backend_remote remote;

	cr_assert_eq(parse("{" ON ", \"remote\": {\"a\": {\"kind\": \"e2b\"}}}", &settings), 0, "%s",
		     err.text);
	cr_expect_eq(settings.remotes[0].execute_us, 60000000);
	cr_expect_eq(settings.remotes[0].idle_us, UINT64_C(3600000000));
	for (size_t missing = 0; missing < ARRAY_LENGTH(names); missing++) {
		setenv(BACKEND_REMOTE_URL, "https://api.example.org", 1);
		setenv(BACKEND_REMOTE_KEY, "geheim", 1);
		setenv(BACKEND_REMOTE_TEMPLATE, "t-1", 1);
		remote = settings.remotes[0];
		cr_expect_eq(backend_remote_complete(&remote, &err), 0, "%s", err.text);
		cr_expect_str_eq(remote.url, "https://api.example.org");
		cr_expect_str_eq(remote.template, "t-1");
		unsetenv(names[missing]);
		remote = settings.remotes[0];
		cr_expect_eq(backend_remote_complete(&remote, &err), -1);
		cr_expect(strstr(err.text, names[missing]) && strstr(err.text, members[missing]), "%s",
			  err.text);
	}
}

Test(remote, kind_e2b, .timeout = 20)
{
	struct backend_settings settings;
	struct policy_capabilities capabilities;
	owned_policy struct policy policy = { 0 };
	struct policy_match match;
	uint64_t load = 0;

	cr_assert_eq(parse("{" ON ", \"remote\": {\"a\": {" E2B
			   ", \"template\": \"base\", \"sandboxUrl\": \"https://s.example.org\"}}}",
			   &settings),
		     0, "%s", err.text);
	cr_expect(settings.remotes[0].e2b);
	cr_expect_str_eq(settings.remotes[0].template, "base");
	cr_expect_str_eq(settings.remotes[0].sandbox_url, "https://s.example.org");
	cr_expect_eq(backend_remote_check_kind(&settings.remotes[0], "a context", &err), -1);
	cr_expect(strstr(err.text, "remote:a") && strstr(err.text, "a context"), "%s", err.text);

	cr_assert_eq(backend_remote_capabilities(&settings.remotes[0], &capabilities, &load, &err), 0);
	cr_expect_eq(load, UINT64_MAX);
	for (enum policy_control control = 0; control < POLICY_CONTROL_COUNT; control++)
		cr_expect_eq(capabilities.controls[control].enforced, control == POLICY_CONTROL_WALL_TIME,
			     "%s", policy_control_name(control));
	cr_assert_eq(policy_preset("strict", &policy, &err), 0);
	cr_expect_eq(policy_match(&policy, &capabilities, NULL, &match, &err), -1);
	for (enum policy_field field = 0; field < POLICY_FIELD_COUNT; field++)
		policy.preferred[field] = field != POLICY_FIELD_WALL_TIME;
	cr_expect_eq(policy_match(&policy, &capabilities, NULL, &match, &err), 0, "%s", err.text);
	cr_assert_eq(policy_set(&policy, "limits.wallTime", "unlimited", &err), 0, "%s", err.text);
	cr_expect_eq(backend_remote_check_policy(&settings.remotes[0], &policy, &err), -1);
	cr_expect(strstr(err.text, "limits.wallTime"), "%s", err.text);
}
