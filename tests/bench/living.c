/*
 * What stays and is used again and again: executions in living sessions, pieces of code in living contexts, and the memory of parked jails.
 *
 *   living MS CYCLES TOOL PROGRAM
 *
 * Runs PROGRAM in jails of two pools in turns, one of which uses parts of ended jails again, and measures the processor time of a jail: to
 * park it, to hand it out, and to remove it; without the kernel's own threads. Then executes PROGRAM for MS milliseconds in two sessions, by two threads for each; then runs pieces of Python in two contexts; then parks
 * JAILS jails and removes them, CYCLES times. TOOL is the command line tool, whose keepers hold the sessions. Prints one object of JSON.
 * A rate is null if the kernel falls behind with the filters of jails that have ended (tests/bench/kernel.h).
 *
 * The memory of a jail is what the kernel has more of in slabs, page tables, stacks, per-processor areas and tmpfs, and what init and
 * payload have written to. Other programs change the same counters: quote the median with the quartiles.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "runtime/warder.h"
#include "tests/bench/kernel.h"

#define SESSIONS   2
#define THREADS    4
#define JAILS      24
#define CYCLES_MAX 101
#define WARM       8
#define BATCH      24

struct living {
	const char *tool, *program;
	uint64_t until_ns;
	struct warder_session *sessions[SESSIONS];
	struct warder_template *templates[SESSIONS];
	struct warder_context *contexts[SESSIONS];
	atomic_ulong count;
	atomic_bool failed, behind;
	_Atomic uint64_t ended_ns; /* about when the last of them ended */
};

struct worker {
	struct living *living;
	int number;
	pthread_t thread;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, NULL);
}

static void complain(struct living *living, const char *what, const struct warder_error *err)
{
	if (!atomic_exchange(&living->failed, true))
		fprintf(stderr, "living: %s: %s\n", what, err->text);
}

/* ---- rates ---- */

static void *execute(void *arg)
{
	const struct worker *worker = arg;
	struct living *living = worker->living;
	char *argv[] = { (char *)living->program, NULL };
	const struct warder_command command = { .size = sizeof(command), .argv = argv };
	struct warder_result *result;
	struct warder_run *run;
	struct warder_error err;

	while (now_ns() < living->until_ns && !living->failed && !living->behind) {
		if (warder_launch(living->templates[worker->number % SESSIONS], &command, &run, &err) < 0) {
			complain(living, "execution", &err);
			return NULL;
		}
		if (warder_wait(run, &result, &err) < 0)
			complain(living, "execution", &err);
		else if (warder_result_exit_code(result) != 0)
			living->failed = true;
		else
			living->count++;
		warder_result_free(result);
		warder_run_free(run);
	}
	living->ended_ns = now_ns();
	return NULL;
}

static void *type(void *arg)
{
	const struct worker *worker = arg;
	struct living *living = worker->living;
	struct warder_context *context = living->contexts[worker->number];
	const struct warder_piece piece = { .size = sizeof(piece), .code = "x = 6 * 7" };
	struct warder_piece_end end = { .size = sizeof(end) };
	struct warder_error err;

	while (now_ns() < living->until_ns && !living->failed) {
		if (warder_context_begin(context, &piece, &err) < 0 ||
		    warder_context_wait_for(context, UINT64_MAX, &end, NULL, &err) != 1) {
			complain(living, "piece", &err);
			return NULL;
		}
		if (end.status != WARDER_PIECE_SUCCESS)
			living->failed = true;
		living->count++;
	}
	living->ended_ns = now_ns();
	return NULL;
}

/* Per second; -1: not measured. */
static double rate(struct living *living, void *(*work)(void *arg), int threads, int ms)
{
	struct worker workers[THREADS];
	const uint64_t start = now_ns();
	int started = 0;

	living->until_ns = start + (uint64_t)ms * 1000000u;
	living->count = 0;
	for (; started < threads; started++) {
		workers[started] = (struct worker){ .living = living, .number = started };
		if (pthread_create(&workers[started].thread, NULL, work, &workers[started]) != 0)
			break;
	}
	for (; now_ns() < living->until_ns && !living->failed && !living->behind; pause_ms(KERNEL_LOOK_MS))
		living->behind = kernel_is_behind();
	for (int i = 0; i < started; i++)
		pthread_join(workers[i].thread, NULL);
	if (living->behind || living->failed || started < threads)
		return -1;
	return (double)living->count * 1e9 / (double)(living->ended_ns - start);
}

static void session_name(int number, char *ret, size_t size)
{
	snprintf(ret, size, "bench-%d-%d", getpid(), number);
}

static int begin_sessions(struct living *living, const struct warder_policy *policy, struct warder_error *err)
{
	const struct warder_session_options options = { .size = sizeof(options),
							.policy = policy,
							.program = living->tool };

	for (int i = 0; i < SESSIONS; i++) {
		char name[40];

		session_name(i, name, sizeof(name));
		if (warder_session_start(name, &options, &living->sessions[i], err) < 0 ||
		    warder_session_prepare(living->sessions[i], NULL, 0, &living->templates[i], err) < 0)
			return -1;
	}
	return 0;
}

/* 0; 1: there is no Python. */
static int begin_contexts(struct living *living, struct warder_error *err)
{
	for (int i = 0; i < SESSIONS; i++)
		if (warder_context_create(living->sessions[i], "py", NULL, &living->contexts[i], err) < 0)
			return 1;
	return 0;
}

static void end_sessions(struct living *living)
{
	struct warder_error ignored;
	char name[40];

	for (int i = 0; i < SESSIONS; i++) {
		warder_context_free(living->contexts[i]);
		warder_template_free(living->templates[i]);
		session_name(i, name, sizeof(name));
		if (living->sessions[i])
			warder_session_stop(name, &ignored);
		warder_session_free(living->sessions[i]);
	}
}

/* ---- memory ---- */

/* The sum of rows of a file like /proc/meminfo, in KiB. */
static long sum_rows(const char *path, const char *const *rows)
{
	FILE *file = fopen(path, "re");
	char line[256];
	long sum = 0;

	while (file && fgets(line, sizeof(line), file))
		for (int i = 0; rows[i]; i++) {
			const size_t len = strlen(rows[i]);

			if (strncmp(line, rows[i], len) == 0 && line[len] == ':')
				sum += strtol(line + len + 1, NULL, 10);
		}
	if (file)
		fclose(file);
	return sum;
}

static long kernel_kib(void)
{
	static const char *const rows[] = { "Slab", "KernelStack", "PageTables", "Percpu", "Shmem", NULL };

	return sum_rows("/proc/meminfo", rows);
}

/* Of a process and its descendants. */
static long written_kib(int pid)
{
	static const char *const rows[] = { "Private_Dirty", NULL };
	char path[64];
	FILE *children;
	long sum;
	int child;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", pid);
	sum = pid == getpid() ? 0 : sum_rows(path, rows);
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	children = fopen(path, "re");
	while (children && fscanf(children, "%d", &child) == 1)
		sum += written_kib(child);
	if (children)
		fclose(children);
	return sum;
}

/* Children are listed by the thread that made them: here a thread of the pool. */
static long written_by_jails(void)
{
	const int own = getpid();
	char path[64];
	long sum = 0;

	for (int tid = own; tid < own + 64; tid++) {
		FILE *children;
		int child;

		snprintf(path, sizeof(path), "/proc/%d/task/%d/children", own, tid);
		children = fopen(path, "re");
		while (children && fscanf(children, "%d", &child) == 1)
			sum += written_kib(child);
		if (children)
			fclose(children);
	}
	return sum;
}

static int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* KiB per jail, sorted; how many. */
static int park(struct living *living, const struct warder_policy *policy, int cycles, double *ret)
{
	const struct warder_pool_options options = { .size = sizeof(options), .jails_a_key = JAILS };
	const struct warder_pool_key key = { .size = sizeof(key), .policy = policy };
	struct warder_pool *pool = NULL;
	struct warder_error err;
	int count = 0;

	if (warder_pool_new(&options, &pool, &err) < 0 || warder_pool_fill(pool, &key, 1, &err) < 0)
		complain(living, "pool", &err);
	for (; count < cycles && !living->failed; count++) {
		long before, after;

		if (warder_pool_drain(pool, &err) < 0)
			complain(living, "pool", &err);
		pause_ms(300);
		before = kernel_kib();
		if (warder_pool_fill(pool, &key, JAILS, &err) < 0)
			complain(living, "pool", &err);
		pause_ms(300);
		after = kernel_kib() + written_by_jails();
		ret[count] = (double)(after - before) / JAILS;
	}
	warder_pool_free(pool);
	qsort(ret, (size_t)count, sizeof(*ret), by_size);
	return living->failed ? 0 : count;
}

/* ---- processor time of a jail of a pool ---- */

static double cpu_us(void)
{
	struct rusage own, children;

	getrusage(RUSAGE_SELF, &own);
	getrusage(RUSAGE_CHILDREN, &children);
	return (double)(own.ru_utime.tv_sec + own.ru_stime.tv_sec + children.ru_utime.tv_sec +
			children.ru_stime.tv_sec) *
		   1e6 +
	       (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec + children.ru_utime.tv_usec +
			children.ru_stime.tv_usec);
}

static bool launch(struct living *living, struct warder_pool *pool, const struct warder_pool_key *key)
{
	char *argv[] = { (char *)living->program, NULL };
	const struct warder_command command = { .size = sizeof(command), .argv = argv };
	struct warder_result *result = NULL;
	struct warder_run *run = NULL;
	struct warder_error err;

	if (warder_pool_launch(pool, key, &command, &run, &err) < 0 || warder_wait(run, &result, &err) < 0)
		complain(living, "pool", &err);
	warder_result_free(result);
	warder_run_free(run);
	return !living->failed;
}

/* Of one of BATCH jails in turn, us. */
static double cpu_of_jails(struct living *living, const struct warder_policy *policy, int parts)
{
	const struct warder_pool_options options = {
		.size = sizeof(options), .jails_a_key = 2, .empty = WARDER_POOL_WAIT, .parts = parts
	};
	const struct warder_pool_key key = { .size = sizeof(key), .policy = policy };
	struct warder_pool *pool = NULL;
	struct warder_error err;
	double before = 0, after = 0;

	if (warder_pool_new(&options, &pool, &err) < 0 || warder_pool_fill(pool, &key, 2, &err) < 0)
		complain(living, "pool", &err);
	for (int i = 0; i < WARM && !living->failed; i++)
		launch(living, pool, &key);
	before = cpu_us();
	for (int i = 0; i < BATCH && !living->failed; i++)
		launch(living, pool, &key);
	after = cpu_us();
	warder_pool_free(pool);
	return (after - before) / BATCH;
}

static void print_cpu(struct living *living, const struct warder_policy *policy, int cycles)
{
	static double us[2][CYCLES_MAX];

	for (int i = 0; i < cycles && !living->failed; i++)
		for (int parts = 0; parts < 2; parts++)
			us[parts][i] = cpu_of_jails(living, policy, parts);
	for (int parts = 0; parts < 2; parts++)
		qsort(us[parts], (size_t)cycles, sizeof(**us), by_size);
	printf("\"jailCpuUs\": {\"new\": %.0f, \"newMax\": %.0f, \"parts\": %.0f, \"partsMax\": %.0f}, ",
	       us[0][cycles / 2], us[0][cycles - 1], us[1][cycles / 2], us[1][cycles - 1]);
}

static void print_rate(const char *name, double value)
{
	if (value < 0)
		printf("\"%s\": null, ", name);
	else
		printf("\"%s\": %.0f, ", name, value);
}

int main(int argc, char **argv)
{
	static double kib[CYCLES_MAX];
	struct living living = { 0 };
	struct warder_policy *policy = NULL;
	struct warder_error err;
	double executions, pieces = -1;
	int ms, cycles, count;

	if (argc != 5 || (ms = atoi(argv[1])) < 1 || (cycles = atoi(argv[2])) < 1 || cycles > CYCLES_MAX) {
		fprintf(stderr, "usage: living MS CYCLES TOOL PROGRAM\n");
		return 2;
	}
	living.tool = argv[3];
	living.program = argv[4];
	if (warder_policy_preset("strict", &policy, &err) < 0 ||
	    warder_policy_set(policy, "filesystem.paths.readOnly", living.program, &err) < 0 ||
	    begin_sessions(&living, policy, &err) < 0) {
		complain(&living, "session", &err);
		end_sessions(&living);
		return 1;
	}
	executions = rate(&living, execute, THREADS, ms);
	if (begin_contexts(&living, &err) == 0)
		pieces = rate(&living, type, SESSIONS, ms);
	end_sessions(&living);
	count = park(&living, policy, cycles, kib);
	printf("{");
	print_cpu(&living, policy, cycles);
	warder_policy_free(policy);
	print_rate("executionsPerSecond", executions);
	print_rate("piecesPerSecond", pieces);
	if (count)
		printf("\"parkedKiB\": {\"q1\": %.0f, \"p50\": %.0f, \"q3\": %.0f, \"max\": %.0f}}\n",
		       kib[count / 4], kib[count / 2], kib[count * 3 / 4], kib[count - 1]);
	else
		printf("\"parkedKiB\": null}\n");
	return living.failed;
}
