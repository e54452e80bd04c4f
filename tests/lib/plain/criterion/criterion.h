/*
 * criterion (plain): the part of Criterion's interface that the tests use, in one header. It serves where Criterion does not:
 * under a sanitizer, because Criterion forks from a process with threads and the child may wait for ever for a lock of the
 * allocator; and in User-mode Linux, where BoxFort's addresses do not exist. One test file to a program. Each test runs
 * in a child of its own, single-threaded, with a time limit; results are TAP in the file of --tap=FILE, as Criterion writes
 * them. With the address sanitizer, a leak fails its test. Time limits grow by the factor WARDER_TEST_SLOW.
 */
#ifndef WARDER_TESTS_PLAIN_CRITERION_H
#define WARDER_TESTS_PLAIN_CRITERION_H

#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#define plain_leaks() __lsan_do_recoverable_leak_check()
#else
#define plain_leaks() 0
#endif

struct plain_test {
	const char *suite, *name;
	void (*run)(void);
	double timeout;
	void (*init)(void), (*fini)(void);
	int disabled;
	struct plain_test *next;
};

/* Its functions run around those of each of its tests; its time limit holds for tests without one. */
struct plain_suite {
	const char *name;
	double timeout;
	void (*init)(void), (*fini)(void);
	struct plain_suite *next;
};

/* Shared with the child that runs the test. */
struct plain_state {
	int failures, skipped;
	char reason[200];
	char text[16000];
};

static struct plain_test *plain_first, **plain_last = &plain_first;
static struct plain_suite *plain_suites;
static struct plain_state *plain_now;

#define TestSuite(suite_, ...)                                                                               \
	static struct plain_suite plain_suite_##suite_ = { .name = #suite_, __VA_ARGS__ };                   \
	__attribute__((constructor)) static void plain_add_suite_##suite_(void)                              \
	{                                                                                                    \
		plain_suite_##suite_.next = plain_suites;                                                    \
		plain_suites = &plain_suite_##suite_;                                                        \
	}

#define Test(suite_, name_, ...)                                                                             \
	static void plain_run_##suite_##_##name_(void);                                                      \
	static struct plain_test plain_##suite_##_##name_ = {                                                \
		.suite = #suite_, .name = #name_, .run = plain_run_##suite_##_##name_, __VA_ARGS__           \
	};                                                                                                   \
	__attribute__((constructor)) static void plain_add_##suite_##_##name_(void)                          \
	{                                                                                                    \
		*plain_last = &plain_##suite_##_##name_;                                                     \
		plain_last = &plain_##suite_##_##name_.next;                                                 \
	}                                                                                                    \
	static void plain_run_##suite_##_##name_(void)

__attribute__((format(printf, 5, 6), unused)) static void
plain_failed(int fatal, const char *file, int line, const char *what, const char *format, ...)
{
	size_t used = strlen(plain_now->text);
	va_list args;

	plain_now->failures++;
	used += (size_t)snprintf(plain_now->text + used, sizeof(plain_now->text) - used,
				 "  %s:%d: %s: ", file, line, what);
	if (used < sizeof(plain_now->text)) {
		va_start(args, format);
		vsnprintf(plain_now->text + used, sizeof(plain_now->text) - used, format, args);
		va_end(args);
		used = strlen(plain_now->text);
		snprintf(plain_now->text + used, sizeof(plain_now->text) - used, "\n");
	}
	if (fatal)
		_exit(1);
}

/* The message is optional, as in Criterion. */
#define PLAIN_CHECK(fatal, condition, what, ...)                                                             \
	do {                                                                                                 \
		if (!(condition))                                                                            \
			plain_failed((fatal), __FILE__, __LINE__, (what), " " __VA_ARGS__);                  \
	} while (0)

#define cr_assert(condition, ...)     PLAIN_CHECK(1, condition, #condition, __VA_ARGS__)
#define cr_expect(condition, ...)     PLAIN_CHECK(0, condition, #condition, __VA_ARGS__)
#define cr_assert_not(condition, ...) PLAIN_CHECK(1, !(condition), "not " #condition, __VA_ARGS__)
#define cr_expect_not(condition, ...) PLAIN_CHECK(0, !(condition), "not " #condition, __VA_ARGS__)
#define cr_assert_eq(a, b, ...)       PLAIN_CHECK(1, (a) == (b), #a " == " #b, __VA_ARGS__)
#define cr_expect_eq(a, b, ...)       PLAIN_CHECK(0, (a) == (b), #a " == " #b, __VA_ARGS__)
#define cr_assert_neq(a, b, ...)      PLAIN_CHECK(1, (a) != (b), #a " != " #b, __VA_ARGS__)
#define cr_expect_neq(a, b, ...)      PLAIN_CHECK(0, (a) != (b), #a " != " #b, __VA_ARGS__)
#define cr_assert_lt(a, b, ...)       PLAIN_CHECK(1, (a) < (b), #a " < " #b, __VA_ARGS__)
#define cr_expect_lt(a, b, ...)       PLAIN_CHECK(0, (a) < (b), #a " < " #b, __VA_ARGS__)
#define cr_assert_leq(a, b, ...)      PLAIN_CHECK(1, (a) <= (b), #a " <= " #b, __VA_ARGS__)
#define cr_expect_leq(a, b, ...)      PLAIN_CHECK(0, (a) <= (b), #a " <= " #b, __VA_ARGS__)
#define cr_assert_gt(a, b, ...)       PLAIN_CHECK(1, (a) > (b), #a " > " #b, __VA_ARGS__)
#define cr_expect_gt(a, b, ...)       PLAIN_CHECK(0, (a) > (b), #a " > " #b, __VA_ARGS__)
#define cr_assert_geq(a, b, ...)      PLAIN_CHECK(1, (a) >= (b), #a " >= " #b, __VA_ARGS__)
#define cr_expect_geq(a, b, ...)      PLAIN_CHECK(0, (a) >= (b), #a " >= " #b, __VA_ARGS__)
#define cr_assert_null(a, ...)        PLAIN_CHECK(1, (a) == NULL, #a " is NULL", __VA_ARGS__)
#define cr_expect_null(a, ...)        PLAIN_CHECK(0, (a) == NULL, #a " is NULL", __VA_ARGS__)
#define cr_assert_not_null(a, ...)    PLAIN_CHECK(1, (a) != NULL, #a " is not NULL", __VA_ARGS__)
#define cr_expect_not_null(a, ...)    PLAIN_CHECK(0, (a) != NULL, #a " is not NULL", __VA_ARGS__)
#define cr_assert_str_eq(a, b, ...)   PLAIN_CHECK(1, strcmp((a), (b)) == 0, #a " equals " #b, __VA_ARGS__)
#define cr_expect_str_eq(a, b, ...)   PLAIN_CHECK(0, strcmp((a), (b)) == 0, #a " equals " #b, __VA_ARGS__)
#define cr_assert_str_neq(a, b, ...)                                                                         \
	PLAIN_CHECK(1, strcmp((a), (b)) != 0, #a " differs from " #b, __VA_ARGS__)
#define cr_expect_str_neq(a, b, ...)                                                                         \
	PLAIN_CHECK(0, strcmp((a), (b)) != 0, #a " differs from " #b, __VA_ARGS__)
#define cr_assert_arr_eq(a, b, size, ...)                                                                    \
	PLAIN_CHECK(1, memcmp((a), (b), (size)) == 0, #a " equals " #b, __VA_ARGS__)
#define cr_expect_arr_eq(a, b, size, ...)                                                                    \
	PLAIN_CHECK(0, memcmp((a), (b), (size)) == 0, #a " equals " #b, __VA_ARGS__)
#define cr_assert_fail(...) PLAIN_CHECK(1, 0, "fail", __VA_ARGS__)
#define cr_expect_fail(...) PLAIN_CHECK(0, 0, "fail", __VA_ARGS__)
#define cr_skip_test(...)                                                                                    \
	do {                                                                                                 \
		snprintf(plain_now->reason, sizeof(plain_now->reason), " " __VA_ARGS__);                     \
		plain_now->skipped = 1;                                                                      \
		_exit(0);                                                                                    \
	} while (0)
#define cr_skip cr_skip_test

static const struct plain_suite *plain_suite_of(const struct plain_test *test)
{
	static const struct plain_suite none;

	for (const struct plain_suite *suite = plain_suites; suite; suite = suite->next)
		if (strcmp(suite->name, test->suite) == 0)
			return suite;
	return &none;
}

static unsigned int plain_limit(const struct plain_test *test)
{
	const char *slow = getenv("WARDER_TEST_SLOW");
	double wanted = test->timeout > 0 ? test->timeout : plain_suite_of(test)->timeout;
	unsigned int limit = wanted > 0 ? (unsigned int)wanted + 1 : 60;

	return slow && atoi(slow) > 1 ? limit * (unsigned int)atoi(slow) : limit;
}

static void plain_child(const struct plain_test *test)
{
	const struct plain_suite *suite = plain_suite_of(test);

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(plain_limit(test));
	if (suite->init)
		suite->init();
	if (test->init)
		test->init();
	test->run();
	if (test->fini)
		test->fini();
	if (suite->fini)
		suite->fini();
	if (plain_leaks())
		plain_failed(0, __FILE__, __LINE__, "memory leaked", " (standard error has the places)");
	_exit(plain_now->failures ? 1 : 0);
}

int main(int argc, char **argv)
{
	const char *path = "/dev/stdout";
	FILE *tap;
	int count = 0;
	int bad = 0;

	for (int i = 1; i < argc; i++)
		if (strncmp(argv[i], "--tap=", 6) == 0)
			path = argv[i] + 6;
	tap = fopen(path, "w");
	plain_now = mmap(NULL, sizeof(*plain_now), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!tap || plain_now == MAP_FAILED)
		return 2;
	for (struct plain_test *test = plain_first; test; test = test->next)
		count++;
	fprintf(tap, "1..%d\n", count);
	for (struct plain_test *test = plain_first; test; test = test->next) {
		int status = 0;
		int failed;
		pid_t pid;

		memset(plain_now, 0, sizeof(*plain_now));
		fflush(NULL);
		pid = test->disabled ? -1 : fork();
		if (pid == 0)
			plain_child(test);
		if (pid > 0)
			waitpid(pid, &status, 0);
		failed = status != 0 || plain_now->failures;
		bad += failed;
		fprintf(tap, "%s - %s::%s", failed ? "not ok" : "ok", test->suite, test->name);
		if (test->disabled || plain_now->skipped)
			fprintf(tap, " # SKIP because%s", test->disabled ? " disabled" : plain_now->reason);
		fprintf(tap, "\n%s", plain_now->text);
		if (status && !plain_now->failures)
			fprintf(tap, "  ended with wait status 0x%x%s\n", (unsigned int)status,
				WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? " (time limit)" : "");
	}
	fclose(tap);
	return bad ? 1 : 0;
}

#endif
