/* The tool's heap, under names of its own: the test program keeps its libc's. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void *heap_malloc(size_t size);
void *heap_calloc(size_t count, size_t size);
void *heap_realloc(void *at, size_t size);
void *heap_aligned_alloc(size_t alignment, size_t size);
void heap_free(void *at);

#define malloc        heap_malloc
#define calloc        heap_calloc
#define realloc       heap_realloc
#define aligned_alloc heap_aligned_alloc
#define free          heap_free
#include "runtime/cli/heap.c"

static void fill(unsigned char *at, size_t size)
{
	for (size_t i = 0; i < size; i++)
		at[i] = (unsigned char)(i * 7 + i / 256);
}

static bool filled(const unsigned char *at, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (at[i] != (unsigned char)(i * 7 + i / 256))
			return false;
	return true;
}

Test(heap, objects_are_aligned_and_do_not_overlap, .timeout = 60)
{
	unsigned char *at[400];

	for (size_t i = 0; i < 400; i++) {
		at[i] = heap_malloc(i * 11);
		cr_assert(at[i] && (uintptr_t)at[i] % ALIGNMENT == 0, "object %zu at %p", i, (void *)at[i]);
		memset(at[i], (int)(i % 251), i * 11);
	}
	/* One assertion an object: each is a message to Criterion's runner. */
	for (size_t i = 0; i < 400; i++) {
		size_t right = 0;

		while (right < i * 11 && at[i][right] == i % 251)
			right++;
		cr_assert(right == i * 11, "object %zu, byte %zu", i, right);
	}
}

Test(heap, the_newest_place_is_used_again_and_zeroed, .timeout = 60)
{
	unsigned char *first = heap_malloc(1000);
	unsigned char *second;

	memset(first, 255, 1000);
	heap_free(first);
	second = heap_calloc(10, 100);
	cr_expect(second == first);
	for (size_t i = 0; i < 1000; i++)
		cr_assert(second[i] == 0, "byte %zu", i);
}

Test(heap, an_older_object_stays_where_it_is, .timeout = 60)
{
	unsigned char *first = heap_malloc(100);
	unsigned char *second = heap_malloc(100);
	unsigned char *third;

	fill(second, 100);
	heap_free(first);
	third = heap_malloc(100);
	memset(third, 0, 100);
	cr_expect(third != first && third != second);
	cr_expect(filled(second, 100));
}

Test(heap, growing_keeps_the_content, .timeout = 60)
{
	size_t size = 3;
	unsigned char *at = heap_malloc(size);

	fill(at, size);
	for (int i = 0; i < 22; i++) {
		at = heap_realloc(at, size * 2);
		cr_assert(at && filled(at, size), "at %zu bytes", size);
		size *= 2;
		fill(at, size);
	}
	at = heap_realloc(at, 50);
	cr_expect(filled(at, 50));
	at = heap_realloc(NULL, 10);
	cr_expect(at != NULL);
}

Test(heap, the_newest_grows_in_its_place, .timeout = 60)
{
	unsigned char *at = heap_malloc(100);

	fill(at, 100);
	cr_expect(heap_realloc(at, 5000) == at);
	cr_expect(filled(at, 100));
	cr_expect((unsigned char *)heap_malloc(16) >= at + 5000);
	cr_expect(heap_realloc(at, 6000) != at);
}

static unsigned long virtual_pages(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	cr_assert(file && fscanf(file, "%lu", &pages) == 1);
	fclose(file);
	return pages;
}

Test(heap, none_is_lost_where_small_meets_large, .timeout = 60)
{
	const unsigned long before = virtual_pages();

	for (size_t size = LARGE_BYTES - 64; size <= LARGE_BYTES + 64; size++)
		for (int i = 0; i < 10; i++)
			heap_free(heap_malloc(size));
	cr_expect(virtual_pages() < before + 1000, "%lu pages more", virtual_pages() - before);
}

/* Kept output must not stay behind when it is freed. */
Test(heap, large_objects_are_given_back, .timeout = 60)
{
	for (int i = 0; i < 2000; i++) {
		unsigned char *at = heap_calloc(1, (size_t)1 << 30);

		cr_assert(at, "object %d", i);
		cr_assert(at[12345] == 0);
		at[12345] = 1;
		heap_free(at);
	}
}

Test(heap, too_much_is_refused, .timeout = 60)
{
	unsigned char *at = heap_malloc((size_t)1 << 20);

	cr_assert(at);
	fill(at, 1000);
	errno = 0;
	cr_expect(heap_malloc(SIZE_MAX) == NULL && errno == ENOMEM);
	cr_expect(heap_calloc(SIZE_MAX / 2, 3) == NULL && errno == ENOMEM);
	cr_expect(heap_realloc(at, SIZE_MAX - 100) == NULL && errno == ENOMEM);
	cr_expect(filled(at, 1000));
	cr_expect(heap_aligned_alloc(64, 64) == NULL && errno == EINVAL);
	cr_expect(heap_aligned_alloc(8, 64) != NULL);
}

struct churn {
	unsigned seed;
	size_t wrong;
};

static void *churn(void *arg)
{
	struct churn *own = arg;
	unsigned char *held[16] = { NULL };
	size_t sizes[16] = { 0 };

	for (unsigned i = 0; i < 20000; i++) {
		const size_t at = (i * 7 + own->seed) % 16;
		const size_t size = 16 + (i * 13 + own->seed) % 600;

		if (held[at]) {
			own->wrong += !filled(held[at], sizes[at]);
			heap_free(held[at]);
		}
		held[at] = heap_malloc(size);
		sizes[at] = size;
		fill(held[at], size);
	}
	return NULL;
}

/* A session's keeper allocates in two threads. */
Test(heap, threads_do_not_share_an_arena, .timeout = 60)
{
	struct churn all[4];
	pthread_t threads[4];

	for (unsigned i = 0; i < 4; i++) {
		all[i] = (struct churn){ .seed = i };
		cr_assert_eq(pthread_create(&threads[i], NULL, churn, &all[i]), 0);
	}
	for (unsigned i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		cr_expect_eq(all[i].wrong, 0, "%zu objects were changed by another thread", all[i].wrong);
	}
}

/* Pages of this process that hold something. */
static long resident(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	long size = 0, pages = 0;

	cr_assert(file && fscanf(file, "%ld %ld", &size, &pages) == 2);
	fclose(file);
	return pages;
}

/* Sizes as a launch has them, some of them from each of the shelves and some mapped. */
static size_t any_size(unsigned *seed)
{
	*seed = *seed * 1103515245 + 12345;
	return (size_t)1 << ((*seed >> 16) % 17) | (*seed >> 8 & 0xff);
}

static size_t turn_over(unsigned char *held[200], size_t sizes[200], unsigned *seed, unsigned count)
{
	size_t wrong = 0;

	for (unsigned i = 0; i < count; i++) {
		const size_t at = i % 200;

		wrong += held[at] && !filled(held[at], sizes[at]);
		heap_free(held[at]);
		sizes[at] = any_size(seed);
		held[at] = i % 2 ? heap_malloc(sizes[at]) : heap_calloc(1, sizes[at]);
		for (size_t k = 0; i % 2 == 0 && k < sizes[at]; k++)
			wrong += held[at][k] != 0;
		fill(held[at], sizes[at] / 2);
		held[at] = heap_realloc(held[at], sizes[at] * 2);
		wrong += !filled(held[at], sizes[at] / 2);
		sizes[at] *= 2;
		fill(held[at], sizes[at]);
	}
	return wrong;
}

Test(heap, a_process_that_stays_does_not_grow, .timeout = 60)
{
	static unsigned char *held[200];
	static size_t sizes[200];
	unsigned char *before = heap_malloc(5000);
	unsigned seed = 7;
	long pages;

	fill(before, 5000);
	heap_stay();
	cr_expect_eq(turn_over(held, sizes, &seed, 5000), 0);
	pages = resident();
	cr_expect_eq(turn_over(held, sizes, &seed, 20000), 0);
	cr_expect_lt(resident() - pages, 2048, "grew by %ld pages", resident() - pages);
	cr_expect(filled(before, 5000));
	before = heap_realloc(before, 9000);
	cr_expect(filled(before, 5000));
	heap_free(before);
}

static void *turn_over_in_thread(void *arg)
{
	static unsigned char *held[4][200];
	static size_t sizes[4][200];
	const size_t number = (size_t)(uintptr_t)arg;
	unsigned seed = (unsigned)number + 1;

	return (void *)(uintptr_t)turn_over(held[number], sizes[number], &seed, 3000);
}

Test(heap, threads_share_the_shelves_of_a_process_that_stays, .timeout = 60)
{
	pthread_t threads[4];

	heap_stay();
	for (size_t i = 0; i < 4; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, turn_over_in_thread, (void *)(uintptr_t)i), 0);
	for (size_t i = 0; i < 4; i++) {
		void *wrong;

		cr_assert_eq(pthread_join(threads[i], &wrong), 0);
		cr_expect_null(wrong);
	}
}
