#include "tests/bench/serve.h"
#include "tests/bench/kernel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
	printf("%ld %llu\n", count, (unsigned long long)(now_ns() - start));
	return fflush(stdout);
}

static int serve_run(serve_fn *launch, void *context)
{
	uint64_t start = now_ns();
	int status = launch(context);

	printf("%d %llu\n", status, (unsigned long long)(now_ns() - start));
	return fflush(stdout);
}

int serve(serve_fn *launch, void *context)
{
	char line[64];

	while (fgets(line, sizeof(line), stdin)) {
		struct rate rate = { .launch = launch, .context = context };
		int threads = 0;
		int ms = 0;
		int ret;

		if (sscanf(line, "rate %d %d", &threads, &ms) == 2)
			ret = serve_rate(&rate, threads, ms);
		else
			ret = serve_run(launch, context);
		if (ret != 0)
			return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}
