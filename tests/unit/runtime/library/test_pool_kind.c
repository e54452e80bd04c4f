/*
 * What makes two requests to a pool share jails: one row for each member that must keep them apart.
 */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "runtime/library/library.h"
#include "runtime/library/pool.h"

/* Replace the functions of the C library in this program. */
static struct {
	uid_t uid, euid;
	gid_t gid, egid;
} user;

uid_t getuid(void)
{
	return user.uid;
}

uid_t geteuid(void)
{
	return user.euid;
}

gid_t getgid(void)
{
	return user.gid;
}

gid_t getegid(void)
{
	return user.egid;
}

struct request {
	struct warder_policy policy;
	struct warder_policy ceiling;
	struct warder_options options;
	struct warder_pool_key key;
	struct policy_subject subject;
	struct pool_asked asked;
	char *program[3];
	uint64_t mount_changes;
};

static void begin(struct request *request)
{
	struct warder_error err;

	memset(request, 0, sizeof(*request));
	memset(&user, 0, sizeof(user));
	cr_assert(policy_preset("strict", &request->policy.policy, &err) == 0 &&
		  policy_preset("strict", &request->ceiling.policy, &err) == 0);
	request->options.size = sizeof(request->options);
	request->subject = (struct policy_subject){ "python", POLICY_PAYLOAD_SOURCE };
	request->program[0] = (char *)(uintptr_t) "python3";
	request->options.ceiling = &request->ceiling;
	request->asked.subject = &request->subject;
	request->key = (struct warder_pool_key){ .size = sizeof(request->key), .policy = &request->policy };
}

static void make_kind(struct request *request, struct pool_kind *ret)
{
	struct warder_error err = { 0 };

	request->asked.key = &request->key;
	cr_assert(pool_kind_of(&request->asked, &request->key, &request->options,
			       request->program[0] ? request->program : NULL, request->mount_changes, ret,
			       &err) == 0,
		  "%s", err.text);
}

static void other_uid(struct request *request)
{
	(void)request;
	user.uid = 1;
}

static void other_euid(struct request *request)
{
	(void)request;
	user.euid = 1;
}

static void other_gid(struct request *request)
{
	(void)request;
	user.gid = 1;
}

static void other_egid(struct request *request)
{
	(void)request;
	user.egid = 1;
}

static void other_parent(struct request *request)
{
	request->options.cgroup_parent = "other";
}

static void other_backend(struct request *request)
{
	request->options.backend = "other";
}

static void builds_image(struct request *request)
{
	request->options.builds_image = true;
}

static void other_mounts(struct request *request)
{
	request->mount_changes = 1;
}

static void other_tenant(struct request *request)
{
	request->key.tenant = "other";
}

static void other_language(struct request *request)
{
	request->subject.language = "ruby";
}

static void other_payload(struct request *request)
{
	request->subject.payload = POLICY_PAYLOAD_PROGRAM;
}

static void no_subject(struct request *request)
{
	request->asked.subject = NULL;
}

static void other_program(struct request *request)
{
	request->program[1] = (char *)(uintptr_t) "-u";
}

static void no_program(struct request *request)
{
	request->program[0] = NULL;
}

static void merged(struct request *request)
{
	request->asked.merged = true;
}

static void no_ceiling(struct request *request)
{
	request->options.ceiling = NULL;
}

static void other_ceiling(struct request *request)
{
	request->ceiling.policy.limits.memory_bytes++;
}

static void other_image(struct request *request)
{
	request->policy.policy.filesystem.view = POLICY_VIEW_IMAGE;
}

static void other_memory(struct request *request)
{
	request->policy.policy.limits.memory_bytes++;
}

Test(pool_kind, each_member_keeps_requests_apart, .timeout = 20)
{
	static const struct row {
		const char *name;
		void (*change)(struct request *request);
	} rows[] = {
		{ "user", other_uid },
		{ "effective user", other_euid },
		{ "group", other_gid },
		{ "effective group", other_egid },
		{ "cgroup parent", other_parent },
		{ "backend", other_backend },
		{ "an image is built", builds_image },
		{ "mounts", other_mounts },
		{ "tenant", other_tenant },
		{ "language", other_language },
		{ "payload", other_payload },
		{ "no language and payload", no_subject },
		{ "words of the program", other_program },
		{ "no program", no_program },
		{ "merged outputs", merged },
		{ "no ceiling", no_ceiling },
		{ "ceiling", other_ceiling },
		{ "view of an image", other_image },
		{ "memory limit", other_memory },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct request first, second, third;
		struct pool_kind kinds[3];

		begin(&first);
		make_kind(&first, &kinds[0]);
		begin(&second);
		make_kind(&second, &kinds[1]);
		begin(&third);
		rows[i].change(&third);
		make_kind(&third, &kinds[2]);
		cr_expect(pool_kind_equal(&kinds[0], &kinds[1]), "%s: two equal requests", rows[i].name);
		cr_expect(!pool_kind_equal(&kinds[0], &kinds[2]), "%s", rows[i].name);
		for (size_t k = 0; k < 3; k++)
			free(kinds[k].text);
		policy_done(&first.policy.policy), policy_done(&first.ceiling.policy);
		policy_done(&second.policy.policy), policy_done(&second.ceiling.policy);
		policy_done(&third.policy.policy), policy_done(&third.ceiling.policy);
	}
}
