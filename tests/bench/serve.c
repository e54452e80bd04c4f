#include "tests/bench/serve.h"
#include "tests/bench/kernel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define THREADS_MAX 64

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct rate {
	serve_fn *launch;
	void *context;
	uint64_t until_ns;
	atomic_ulong count;
	atomic_bool failed, behind;
	_Atomic uint64_t
	    ended_ns; /* about when the last launch ended: nobody waits as long as watch() does */
};

static void *rate_thread(void *arg)
{
	struct rate *rate = arg;

	while (now_ns() < rate->until_ns && !rate->failed && !rate->behind) {
		if (rate->launch(rate->context) == 0)
			rate->count++;
		else
			rate->failed = true;
	}
	rate->ended_ns = now_ns();
	return NULL;
}

static void watch(struct rate *rate)
{
	const struct timespec pause = { .tv_nsec = KERNEL_LOOK_MS * 1000000L };

	for (; now_ns() < rate->until_ns && !rate->failed && !rate->behind; nanosleep(&pause, NULL))
		rate->behind = kernel_is_behind();
}

static int serve_rate(struct rate *rate, int threads, int ms)
{
	pthread_t ids[THREADS_MAX];
	uint64_t start = now_ns();
	int started = 0;
	long count;

	rate->until_ns = start + (uint64_t)ms * 1000000u;
	while (started < threads && started < THREADS_MAX &&
	       pthread_create(&ids[started], NULL, rate_thread, rate) == 0)
		started++;
	watch(rate);
	for (int i = 0; i < started; i++)
		pthread_join(ids[i], NULL);
	count = rate->failed || started < threads ? 0 : rate->behind ? -1 : (long)rate->count;
	printf("%ld %llu\n", count, (unsigned long long)(rate->ended_ns - start));
	return fflush(stdout);
}

/* Of this process and of all that it has waited for. */
static uint64_t cpu_ns(void)
{
	uint64_t us = 0;

	for (int i = 0; i < 2; i++) {
		struct rusage usage;

		getrusage(i ? RUSAGE_CHILDREN : RUSAGE_SELF, &usage);
		us += (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000u +
		      (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
	}
	return us * 1000;
}

static int serve_run(serve_fn *launch, void *context, uint64_t *cpu_before)
{
	uint64_t start = now_ns();
	int status = launch(context);
	uint64_t ns = now_ns() - start;
	uint64_t cpu = cpu_ns();

	printf("%d %llu %llu\n", status, (unsigned long long)ns, (unsigned long long)(cpu - *cpu_before));
	*cpu_before = cpu;
	return fflush(stdout);
}

int serve(serve_fn *launch, serve_fn *prepare, void *context)
{
	uint64_t cpu_before = 0;
	char line[64];

	if (prepare && prepare(context) != 0)
		return EXIT_FAILURE;
	while (fgets(line, sizeof(line), stdin)) {
		struct rate rate = { .launch = launch, .context = context };
		int threads = 0;
		int ms = 0;
		int ret;

		if (sscanf(line, "rate %d %d", &threads, &ms) == 2)
			ret = serve_rate(&rate, threads, ms);
		else
			ret = serve_run(launch, context, &cpu_before);
		if (ret != 0 || (prepare && prepare(context) != 0))
			return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}
