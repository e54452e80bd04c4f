/*
 * Requests to the service: what is taken, and what is refused.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/service/records.h"

static struct service_request request_of(uint32_t flags, uint32_t argc, uint64_t bytes)
{
	return (struct service_request){ .magic = SERVICE_MAGIC,
					 .size = sizeof(struct service_request),
					 .flags = flags,
					 .argc = argc,
					 .bytes = bytes };
}

Test(request, only_whole_and_known_ones_are_valid, .timeout = 10)
{
	const struct service_request good = request_of(SERVICE_INPUT | SERVICE_OUTPUT, 1, 3);
	struct service_request bad;

	cr_expect(service_request_valid(&good, sizeof(good)) && service_request_fds(&good) == 4);
	cr_expect(!service_request_valid(&good, sizeof(good) - 1));
	bad = good, bad.magic++;
	cr_expect(!service_request_valid(&bad, sizeof(bad)));
	bad = good, bad.size++;
	cr_expect(!service_request_valid(&bad, sizeof(bad)));
	bad = good, bad.flags = SERVICE_FLAGS + 1;
	cr_expect(!service_request_valid(&bad, sizeof(bad)));
	bad = good, bad.argc = 0;
	cr_expect(!service_request_valid(&bad, sizeof(bad)));
	bad = good, bad.argc = UINT32_MAX;
	cr_expect(!service_request_valid(&bad, sizeof(bad)));
	bad = good, bad.bytes = UINT64_MAX;
	cr_expect(!service_request_valid(&bad, sizeof(bad)));
}

static int take(uint32_t flags, uint32_t argc, const char *bytes, size_t len, struct service_words *ret)
{
	const struct service_request request = request_of(flags, argc, len);
	struct warder_error err;
	char *copy = malloc(len + 1);

	memcpy(copy, bytes, len);
	copy[len] = '\0';
	return service_take_words(&request, copy, ret, &err);
}

Test(request, words_are_as_many_as_it_says, .timeout = 10)
{
	static const char all[] = "{}\0{1}\0/p\0sh\0-c\0";
	static const struct row {
		const char *what;
		uint32_t flags, argc;
		size_t len;
		bool taken;
	} rows[] = {
		{ "all", SERVICE_CEILING | SERVICE_PARENT, 2, sizeof(all) - 1, true },
		{ "one word too many", SERVICE_CEILING | SERVICE_PARENT, 1, sizeof(all) - 1, false },
		{ "one too few", SERVICE_CEILING | SERVICE_PARENT, 3, sizeof(all) - 1, false },
		{ "the last without its end", SERVICE_CEILING | SERVICE_PARENT, 2, sizeof(all) - 2, false },
		{ "no ceiling, so its text is a word", SERVICE_PARENT, 3, sizeof(all) - 1, true },
		{ "nothing", 0, 1, 0, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct service_words words;
		const int taken = take(rows[i].flags, rows[i].argc, all, rows[i].len, &words);

		cr_expect((taken == 0) == rows[i].taken, "%s", rows[i].what);
		if (taken == 0 && i == 0) {
			cr_expect_str_eq(words.policy, "{}");
			cr_expect_str_eq(words.ceiling, "{1}");
			cr_expect_str_eq(words.parent, "/p");
			cr_expect_str_eq(words.argv[1], "-c");
			cr_expect_null(words.argv[2]);
		}
		if (taken == 0)
			service_words_done(&words);
	}
}
