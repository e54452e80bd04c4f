/* tenants: the file of a tenant, and how a token finds it. */
#include "base/array.h"
#include "host/launcher/tenants.h"
#include "host/link.h"

#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define HEAD   "{\"version\": 1, \"tokenDigest\": \"" DIGEST "\", \"scopes\": [\"read\"]"

static struct warder_error err;
static char state[] = "/tmp/warder-tenants-XXXXXX";

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	return remove(path);
}

static void make_state(void)
{
	cr_assert(mkdtemp(state));
}

static void remove_state(void)
{
	nftw(state, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

Test(tenants, a_file, .timeout = 20)
{
	struct tenant tenant;
	const char *text = HEAD ", \"limits\": {\"sandboxes\": 3}, \"expiresMs\": 5}";

	cr_assert_eq(tenant_parse("me", text, &tenant, &err), 0, "%s", err.text);
	cr_expect_str_eq(tenant.name, "me");
	cr_expect_eq(tenant.scopes, TENANT_READ);
	cr_expect_eq(tenant.limits.sandboxes, 3);
	cr_expect_gt(tenant.limits.memory_bytes, 0);
	cr_expect_eq(tenant.expires_ms, 5);
	cr_expect_null(tenant.ceiling);
	tenant_done(&tenant);
}

Test(tenants, files_that_are_refused, .timeout = 20)
{
	static const struct {
		const char *name, *text, *word;
	} rows[] = {
		{ "../me", HEAD "}", "name" },
		{ "", HEAD "}", "name" },
		{ "me", "{}", "version" },
		{ "me", "{\"version\": 2}", "version" },
		{ "me", "{\"version\": 1, \"tokenDigest\": \"e2b_1\", \"scopes\": []}", "tokenDigest" },
		{ "me", "{\"version\": 1, \"scopes\": []}", "tokenDigest" },
		{ "me", "{\"version\": 1, \"tokenDigest\": \"" DIGEST "\", \"scopes\": [\"all\"]}", "scope" },
		{ "me", "{\"version\": 1, \"tokenDigest\": \"" DIGEST "\"}", "scopes" },
		{ "me", HEAD ", \"more\": 1}", "more" },
		{ "me", HEAD ", \"expiresMs\": -1}", "expiresMs" },
		{ "me", HEAD ", \"limits\": {\"nope\": 1}}", "nope" },
		{ "me", HEAD ", \"limits\": {\"queue\": 99999999}}", "queue" },
		{ "me", HEAD ", \"ceiling\": {\"version\": 1, \"nope\": 1}}", "nope" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct tenant tenant;

		cr_expect_eq(tenant_parse(rows[i].name, rows[i].text, &tenant, &err), -1, "row %zu", i);
		cr_expect(strstr(err.text, rows[i].word) || strstr(err.field, rows[i].word), "row %zu: %s", i,
			  err.text);
	}
}

Test(tenants, added_found_revoked, .timeout = 20, .init = make_state, .fini = remove_state)
{
	const struct tenant_options options = { .expires_us = 1000000 };
	struct tenants tenants = { 0 };
	char token[TENANT_TOKEN_BYTES], digest[SHA256_HEX];
	char *list;

	cr_assert_eq(tenants_add(state, "me", &options, token, &err), 0, "%s", err.text);
	cr_expect_eq(strlen(token), 44);
	cr_expect_eq(strncmp(token, "e2b_", 4), 0);
	cr_expect_eq(tenants_add(state, "me", &options, token + 0, &err), -1);
	cr_expect_eq(err.code, WARDER_ERROR_CONFLICT);
	cr_expect_eq(tenants_revoke(state, "you", &err), -1);
	cr_expect_eq(err.code, WARDER_ERROR_NOT_FOUND);
	list = tenants_list(state, &err);
	cr_assert(list);
	cr_expect(strstr(list, "\"me\"") && !strstr(list, "igest"), "%s", list);
	free(list);
	cr_assert_eq(tenants_revoke(state, "me", &err), 0);
	cr_assert_eq(tenants_add(state, "me", &options, token, &err), 0, "%s", err.text);
	cr_assert_eq(tenants_load(state, NULL, &tenants, &err), 0);
	link_digest(token, digest);
	cr_expect(tenants_find(&tenants, digest, 0));
	cr_expect_null(tenants_find(&tenants, digest, UINT64_MAX));
	digest[0] = digest[0] == '0' ? '1' : '0';
	cr_expect_null(tenants_find(&tenants, digest, 0));
	cr_expect_null(tenants_find(&tenants, "", 0));
	tenants_done(&tenants);
}

Test(tenants, a_state_directory_of_others_is_refused, .timeout = 20, .init = make_state, .fini = remove_state)
{
	struct tenants tenants;

	cr_assert_eq(chmod(state, 0755), 0);
	cr_expect_eq(tenants_load(state, NULL, &tenants, &err), -1);
	cr_expect_str_eq(err.field, "--state");
}
