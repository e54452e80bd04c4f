/*
 * page: buffers that begin with a page. Any thread.
 *
 * Some processors of AMD copy several times slower between two places that lie differently in their pages, and malloc() puts large objects
 * 16 bytes behind the beginning of a page. Pipes hold whole pages.
 */
#ifndef WARDER_BASE_PAGE_H
#define WARDER_BASE_PAGE_H

#include <stdint.h>

#define PAGE_BYTES 4096

/* Where the first page begins in memory of PAGE_BYTES more than is needed. */
static inline char *page_begin(char *memory)
{
	return memory + (-(uintptr_t)memory & (PAGE_BYTES - 1));
}

#endif
