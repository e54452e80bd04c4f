/*
 * memory: give pages of this process's own memory back to the kernel. Any thread.
 */
#ifndef WARDER_BASE_MEMORY_H
#define WARDER_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* Give back the whole pages of an object on the heap, or of a part of one, whose content is not needed any more. They may be written to again;
 * until then they hold zeros, or what they held before. */
static inline void memory_give_back(void *at, size_t size)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	const uintptr_t begin = ((uintptr_t)at + page - 1) / page * page;
	const uintptr_t end = ((uintptr_t)at + size) / page * page;

	if (end > begin)
		madvise((void *)begin, end - begin, MADV_DONTNEED);
}

#endif
