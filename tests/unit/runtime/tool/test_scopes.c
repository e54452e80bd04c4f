#include "base/array.h"
#include "runtime/tool/scopes.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

Test(scopes, matrix, .timeout = 20)
{
	static const char *const policies[][2] = {
		[0] = { NULL, NULL },
		[1] = { "network.mode", "loopback" },
		[2] = { "network.mode", "allow" },
		[3] = { "network.mode", "host" },
		[4] = { "filesystem.workspace", "readOnly:/srv/w" },
		[5] = { "filesystem.workspace", "readWrite:/srv/w" },
		[6] = { "filesystem.paths.readOnly", "/srv/w" },
		[7] = { "filesystem.paths.readWrite", "/srv/w" },
		[8] = { "environment.mode", "allowList" },
		[9] = { "environment.mode", "host" },
	};
	/* One character for each policy: y may run, n may not. */
	static const struct {
		const char *scopes, *language, *may;
	} rows[] = {
		{ "", "python", "nnnnnnnnnn" },
		{ "code:network code:filesystem:write code:execute:host", "python", "nnnnnnnnnn" },
		{ "mail:read", "python", "nnnnnnnnnn" },
		{ "code:execute", "python", "yynnynynyn" },
		{ "code:execute", NULL, "yynnynynyn" },
		{ "code:execute:python", "python", "yynnynynyn" },
		{ "code:execute:python", "bash", "nnnnnnnnnn" },
		{ "code:execute:python", NULL, "nnnnnnnnnn" },
		{ "code:execute:bash,code:execute:python", "python", "yynnynynyn" },
		{ "code:execute:pythonic", "python", "nnnnnnnnnn" },
		{ "code:execute code:network", "python", "yyyyynynyn" },
		{ "code:execute code:filesystem:write", "python", "yynnyyyyyn" },
		{ "code:execute code:execute:host", "python", "yynnynynyy" },
		{ "code:execute code:execute:container", "python", "yynnynynyn" },
		{ "code:execute code:network code:filesystem:write code:execute:host", "python",
		  "yyyyyyyyyy" },
	};
	struct warder_error err;

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct scopes scopes = { 0 };

		cr_assert_eq(scopes_add_list(&scopes, rows[i].scopes, &err), 0, "%s: %s", rows[i].scopes,
			     err.text);
		for (size_t j = 0; j < ARRAY_LENGTH(policies); j++) {
			struct policy policy = { 0 };
			int may;

			cr_assert_eq(policy_preset("strict", &policy, &err), 0);
			if (policies[j][0])
				cr_assert_eq(policy_set(&policy, policies[j][0], policies[j][1], &err), 0,
					     "%s", err.text);
			may = scopes_check(&scopes, rows[i].language, &policy,
					   POLICY_ISOLATION_NAMESPACE_JAIL, &err) == 0;
			cr_expect_eq(may, rows[i].may[j] == 'y', "\"%s\", %s, %s %s", rows[i].scopes,
				     rows[i].language ? rows[i].language : "no language",
				     policies[j][0] ? policies[j][0] : "strict",
				     policies[j][0] ? policies[j][1] : "");
			cr_expect(may || err.code == WARDER_ERROR_REJECTED, "%s", rows[i].scopes);
			policy_done(&policy);
		}
	}
}

Test(scopes, all_is_all, .timeout = 20)
{
	const struct scopes all = SCOPES_ALL;
	struct policy policy = { 0 };
	struct warder_error err;

	cr_assert_eq(policy_preset("strict", &policy, &err), 0);
	policy.network.mode = POLICY_NETWORK_HOST;
	policy.environment.mode = POLICY_ENVIRONMENT_HOST;
	policy.filesystem.workspace = POLICY_WORKSPACE_READ_WRITE;
	cr_expect_eq(scopes_check(&all, NULL, &policy, POLICY_ISOLATION_CONTAINER_EPHEMERAL, &err), 0);
	policy_done(&policy);
}

Test(scopes, containers, .timeout = 20)
{
	struct scopes scopes = { 0 };
	struct policy policy = { 0 };
	struct warder_error err;

	cr_assert_eq(policy_preset("strict", &policy, &err), 0);
	cr_assert_eq(scopes_add(&scopes, "code:execute", &err), 0);
	cr_expect_eq(scopes_check(&scopes, NULL, &policy, POLICY_ISOLATION_NAMESPACE_JAIL, &err), 0);
	cr_expect_eq(scopes_check(&scopes, NULL, &policy, POLICY_ISOLATION_CONTAINER_EPHEMERAL, &err), -1);
	cr_expect(err.code == WARDER_ERROR_REJECTED && strcmp(err.field, "backend") == 0);
	cr_expect_eq(scopes_check(&scopes, NULL, &policy, POLICY_ISOLATION_CONTAINER_PERSISTENT, &err), -1);
	cr_assert_eq(scopes_add(&scopes, "code:execute:container", &err), 0);
	cr_expect_eq(scopes_check(&scopes, NULL, &policy, POLICY_ISOLATION_CONTAINER_EPHEMERAL, &err), 0);
	policy_done(&policy);
}

Test(scopes, refuses_slips, .timeout = 20)
{
	static const char *const wrong[] = {
		"code:",
		"code:execut",
		"code:execute:",
		"code:execute:a:b",
		"code:network:x",
		"code:filesystem",
		"code:execute:a-name-that-is-much-too-long-for-a-language",
	};
	struct warder_error err;

	for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
		struct scopes scopes = { 0 };

		cr_expect_eq(scopes_add(&scopes, wrong[i], &err), -1, "%s", wrong[i]);
		cr_expect_eq(err.code, WARDER_ERROR_INVALID_REQUEST, "%s", wrong[i]);
		cr_expect(scopes.granted == 0 && scopes.language_count == 0, "%s", wrong[i]);
	}
}

Test(scopes, many_languages, .timeout = 20)
{
	struct scopes scopes = { 0 };
	struct warder_error err;
	char name[64];

	for (int i = 0; i <= SCOPES_MAX_LANGUAGES; i++) {
		snprintf(name, sizeof(name), "code:execute:l%d", i);
		cr_expect_eq(scopes_add(&scopes, name, &err), i < SCOPES_MAX_LANGUAGES ? 0 : -1, "%d", i);
	}
}
