/*
 * heap: the command line tool's malloc.
 *
 * The tool lives for one command. musl's malloc maps and unmaps every object of a few pages by itself, and each unmap
 * makes the kernel flush the TLB of every CPU on which a helper shares this memory. A launch did some fourteen of these,
 * of about 0.03 ms each. Here small objects come out of one arena, and are given back only by the end of the process,
 * except the newest, which is what growing and scratch objects are. Large objects, as kept output is, are mapped, remapped
 * and unmapped one by one, so that the arena does not grow with what a program prints.
 *
 * A page costs 2 to 3 us when it is first written to, 1.5 us where many are asked for at once, and nothing before. A launch asks
 * for 0.5 MB. It writes to most of the first 144 KB, which heap_launch() asks for at once, and to little of the rest. A command that has its
 * program launched by a service writes to a few pages only. And calloc does not write zeros over memory that the kernel has just given.
 *
 * A keeper of a session lives as long as the session, and launches as many programs as its clients want: heap_stay() makes the objects that
 * come after it go back on shelves by their size, where the next ones are taken from. Objects above SHELF_MOST are mapped by themselves
 * then, because the pages of them that nobody writes to cost nothing, and the others go back to the kernel.
 *
 * Only the static tool is linked with it (the library's callers have their own heap). Before heap_stay() each thread has an arena of
 * its own, and what another thread gives back stays where it is. Helpers that share memory allocate nothing.
 */
#include "runtime/cli/heap.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGNMENT   16
#define ARENA_BYTES ((size_t)1 << 20)
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; an older kernel refuses it */
#endif
#define LARGE_BYTES ((size_t)128 << 10)
/* What a launch writes to, nearly all of it. */
#define POPULATED_BYTES ((size_t)144 << 10)
#define LARGEST         ((size_t)1 << 46)
#define PAGE            4096

/* What stays: four shelves, then four with steps of twice the size, and so on. */
#define SHELVES     36
#define SHELF_MOST  32704 /* bytes of an object of the largest shelf */
#define STOCK_BYTES ((size_t)64 << 10)
#define KIND_ARENA  0u
#define KIND_MAPPED 1u
#define KIND_SHELF  2u /* shelf 0 */

struct object {
	size_t size; /* usable bytes behind this header */
	size_t kind;
};

_Static_assert(sizeof(struct object) == ALIGNMENT, "what follows the header is aligned");

static _Thread_local char *arena_begin;          /* this thread's newest arena */
static _Thread_local char *arena_at, *arena_end; /* what is left of it */
static _Thread_local char *arena_fresh;          /* from here on it has never been handed out: it is zero */

static bool stays;
static pthread_mutex_t shelf_lock = PTHREAD_MUTEX_INITIALIZER;
static struct object *shelves[SHELVES]; /* each one's body begins with the next one */
static char *stock_at, *stock_end;      /* what no shelf has had yet */

static size_t rounded(size_t size, size_t to)
{
	return (size + to - 1) / to * to;
}

static void *map(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

static bool is_large(const struct object *object)
{
	return object->kind == KIND_MAPPED;
}

static struct object *header(void *at)
{
	return (struct object *)at - 1;
}

static struct object *map_large(size_t size)
{
	const size_t whole = rounded(size + sizeof(struct object), PAGE);
	struct object *object = map(whole);

	if (object)
		*object = (struct object){ .size = whole - sizeof(*object), .kind = KIND_MAPPED };
	return object;
}

/* ---- a process that stays ---- */

static void lock_shelves(void)
{
	pthread_mutex_lock(&shelf_lock);
}

static void unlock_shelves(void)
{
	pthread_mutex_unlock(&shelf_lock);
}

void heap_stay(void)
{
	/* Before the call, which allocates: there would be an arena for that alone. */
	stays = true;
	stays = pthread_atfork(lock_shelves, unlock_shelves, unlock_shelves) == 0;
}

/* The shelf of a size of at least 1, and the size of its objects. */
static size_t find_shelf(size_t size, size_t *ret_bytes)
{
	size_t base = 0;
	size_t step = ALIGNMENT;
	size_t shelf = 0;
	size_t steps;

	while (size > base + 4 * step) {
		base += 4 * step;
		step *= 2;
		shelf += 4;
	}
	steps = (size - base + step - 1) / step;
	*ret_bytes = base + steps * step;
	return shelf + steps - 1;
}

static struct object *take_from_stock(size_t bytes)
{
	struct object *object;

	if ((size_t)(stock_end - stock_at) < bytes + sizeof(*object)) {
		stock_at = map(STOCK_BYTES);
		stock_end = stock_at ? stock_at + STOCK_BYTES : NULL;
		if (!stock_at)
			return NULL;
	}
	object = (struct object *)(void *)stock_at;
	stock_at += sizeof(*object) + bytes;
	return object;
}

/* While an object lies on a shelf, the next one is where its bytes were. */
struct shelved {
	struct object object;
	struct object *next;
};

static struct object *take_from_shelf(size_t size)
{
	size_t bytes;
	const size_t shelf = find_shelf(size, &bytes);
	struct object *object;

	lock_shelves();
	object = shelves[shelf];
	if (object)
		shelves[shelf] = ((struct shelved *)object)->next;
	else
		object = take_from_stock(bytes);
	unlock_shelves();
	if (object)
		*object = (struct object){ .size = bytes, .kind = KIND_SHELF + shelf };
	return object;
}

static void give_to_shelf(struct object *object)
{
	struct object **shelf = &shelves[object->kind - KIND_SHELF];

	lock_shelves();
	((struct shelved *)object)->next = *shelf;
	*shelf = object;
	unlock_shelves();
}

/* ---- a process that ends soon ---- */

static struct object *take(size_t size)
{
	struct object *object;

	if ((size_t)(arena_end - arena_at) < size + sizeof(*object)) {
		arena_at = map(ARENA_BYTES);
		arena_end = arena_at ? arena_at + ARENA_BYTES : NULL;
		arena_begin = arena_at;
		arena_fresh = arena_at;
		if (!arena_at)
			return NULL;
	}
	object = (struct object *)(void *)arena_at;
	*object = (struct object){ .size = size, .kind = KIND_ARENA };
	arena_at += sizeof(*object) + size;
	return object;
}

void heap_launch(void)
{
	const size_t left = (size_t)(arena_end - arena_at);
	char *page = arena_begin + rounded((size_t)(arena_at - arena_begin), PAGE);

	if (!stays && left > POPULATED_BYTES)
		madvise(page, POPULATED_BYTES - PAGE, MADV_POPULATE_WRITE);
}

/* What of the arena has been handed out by now may have been written to. */
static void mark_used(void)
{
	if (arena_at > arena_fresh)
		arena_fresh = arena_at;
}

static bool is_newest(struct object *object)
{
	return object->kind == KIND_ARENA && (char *)object >= arena_begin &&
	       (char *)(object + 1) + object->size == arena_at;
}

static struct object *make(size_t size)
{
	struct object *object = NULL;

	if (stays && size <= SHELF_MOST)
		object = take_from_shelf(size ? size : 1);
	else if (!stays && size <= LARGE_BYTES - ALIGNMENT)
		object = take(size ? rounded(size, ALIGNMENT) : ALIGNMENT);
	else if (size < LARGEST)
		object = map_large(size);
	if (!object)
		errno = ENOMEM;
	return object;
}

void *malloc(size_t size)
{
	struct object *object = make(size);

	mark_used();
	return object ? object + 1 : NULL;
}

/* The newest object's place is used again, and is dirty then; the rest is as the kernel gave it. */
void *calloc(size_t count, size_t size)
{
	struct object *object;
	size_t all;
	size_t used;

	if (__builtin_mul_overflow(count, size, &all)) {
		errno = ENOMEM;
		return NULL;
	}
	object = make(all);
	if (!object)
		return NULL;
	if (object->kind >= KIND_SHELF)
		memset(object + 1, 0, all);
	if (object->kind == KIND_ARENA && arena_fresh > (char *)(object + 1)) {
		used = (size_t)(arena_fresh - (char *)(object + 1));
		memset(object + 1, 0, used < all ? used : all);
	}
	mark_used();
	return object + 1;
}

void free(void *at)
{
	const int saved = errno;
	struct object *object;

	if (!at)
		return;
	object = header(at);
	if (is_large(object))
		munmap(object, object->size + sizeof(*object));
	else if (object->kind >= KIND_SHELF)
		give_to_shelf(object);
	else if (is_newest(object))
		arena_at = (char *)object;
	errno = saved;
}

static bool grow(struct object *object, size_t size)
{
	const size_t more =
	    size <= LARGE_BYTES - ALIGNMENT ? rounded(size, ALIGNMENT) - object->size : SIZE_MAX;

	if (!is_newest(object) || (size_t)(arena_end - arena_at) < more)
		return false;
	arena_at += more;
	object->size += more;
	mark_used();
	return true;
}

static void *move(void *at, size_t size)
{
	const size_t old = header(at)->size;
	void *moved = malloc(size);

	if (moved) {
		memcpy(moved, at, old < size ? old : size);
		free(at);
	}
	return moved;
}

static void *remap(struct object *object, size_t size)
{
	const size_t whole = rounded(size + sizeof(*object), PAGE);
	void *moved = size < LARGEST ? mremap(object, object->size + sizeof(*object), whole, MREMAP_MAYMOVE)
				     : MAP_FAILED;

	if (moved == MAP_FAILED) {
		errno = ENOMEM;
		return NULL;
	}
	object = moved;
	object->size = whole - sizeof(*object);
	return object + 1;
}

void *realloc(void *at, size_t size)
{
	struct object *object;

	if (!at)
		return malloc(size);
	object = header(at);
	if (is_large(object) && size >= (stays ? SHELF_MOST : LARGE_BYTES))
		return remap(object, size);
	if (!is_large(object) && (size <= object->size || grow(object, size)))
		return at;
	return move(at, size);
}

/* Nothing of ours asks for more than malloc's alignment; libc's own callers may look for these. */
void *aligned_alloc(size_t alignment, size_t size)
{
	if (alignment > ALIGNMENT) {
		errno = EINVAL;
		return NULL;
	}
	return malloc(size);
}
