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
	const struct service_request question = request_of(SERVICE_QUESTION, 0, 0);
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
	cr_expect(service_request_valid(&question, sizeof(question)) && service_request_fds(&question) == 0);
	bad = question, bad.argc = 1;
	cr_expect(!service_request_valid(&bad, sizeof(bad)));
	bad = question, bad.bytes = 1;
	cr_expect(!service_request_valid(&bad, sizeof(bad)));
	bad = question, bad.flags |= SERVICE_INPUT;
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

/* Variables, a directory with one pattern, and files. */
static size_t write_code(char *bytes, uint64_t len, uint32_t is_directory)
{
	static const char first[] = "{}\0sh\0A=1\0box\0*.txt\0box/f";
	const struct order_file file = { .len = len, .mode = 0600, .is_directory = is_directory };

	memcpy(bytes, first, sizeof(first));
	memcpy(bytes + sizeof(first), &file, sizeof(file));
	memcpy(bytes + sizeof(first) + sizeof(file), "data", 5);
	return sizeof(first) + sizeof(file) + 5;
}

static int take_code(const char *bytes, size_t len, uint32_t files, struct service_words *ret)
{
	struct service_request request = request_of(SERVICE_CODE | SERVICE_COLLECT, 1, len);
	struct warder_error err;
	char *copy = malloc(len + 1);

	strcpy(request.code.language, "python");
	request.code.environment_count = request.code.pattern_count = 1;
	request.code.file_count = files;
	cr_expect(service_request_valid(&request, sizeof(request)));
	memcpy(copy, bytes, len);
	copy[len] = '\0';
	return service_take_words(&request, copy, ret, &err);
}

Test(request, code_comes_with_files_of_the_size_that_it_says, .timeout = 10)
{
	struct service_words words = { 0 };
	char bytes[128];
	size_t len = write_code(bytes, 4, 0);

	cr_assert(take_code(bytes, len, 1, &words) == 0);
	cr_expect_str_eq(words.code.environment[0], "A=1");
	cr_expect_str_eq(words.code.directory, "box");
	cr_expect(strcmp(words.code.patterns[0], "*.txt") == 0 && !words.code.patterns[1]);
	cr_expect(strcmp(words.code.files[0].path, "box/f") == 0 && words.code.files[0].len == 4 &&
		  words.code.files[0].mode == 0600 && memcmp(words.code.files[0].bytes, "data", 5) == 0);
	service_words_done(&words);
	cr_expect(take_code(bytes, len, 2, &words) < 0, "more files");
	cr_expect(take_code(bytes, len, 0, &words) < 0, "bytes behind the last word");
	len = write_code(bytes, 5, 0);
	cr_expect(take_code(bytes, len, 1, &words) < 0, "a file up to the end");
	len = write_code(bytes, 3, 0);
	cr_expect(take_code(bytes, len, 1, &words) < 0, "a file without an end");
	len = write_code(bytes, UINT64_MAX, 0);
	cr_expect(take_code(bytes, len, 1, &words) < 0, "an endless file");
	len = write_code(bytes, 4, 1);
	cr_assert(take_code(bytes, len, 1, &words) == 0);
	cr_expect_null(words.code.files[0].bytes);
	service_words_done(&words);
}

Test(request, only_code_has_what_is_for_code, .timeout = 10)
{
	struct service_request bad = request_of(SERVICE_VALUE, 1, 3);

	cr_expect(!service_request_valid(&bad, sizeof(bad)));
	bad = request_of(0, 1, 3), bad.code.file_count = 1;
	cr_expect(!service_request_valid(&bad, sizeof(bad)));
	bad = request_of(SERVICE_CODE, 1, 3);
	cr_expect(!service_request_valid(&bad, sizeof(bad)), "no language");
	strcpy(bad.code.language, "python"), bad.code.script = 1;
	cr_expect(!service_request_valid(&bad, sizeof(bad)), "a script that is no word");
	bad.code.script = 0, bad.code.pattern_count = 1;
	cr_expect(!service_request_valid(&bad, sizeof(bad)), "patterns, and nothing to collect");
	bad.code.pattern_count = 0, bad.code.file_count = UINT32_MAX;
	cr_expect(!service_request_valid(&bad, sizeof(bad)), "too many files");
	memset(bad.code.language, 'x', sizeof(bad.code.language)), bad.code.file_count = 0;
	cr_expect(!service_request_valid(&bad, sizeof(bad)), "a language without an end");
}
