/*
 * page: buffers that begin with a page. Any thread.
 *
 * Some AMD processors copy several times slower if source and destination have different offsets in their pages. Pipes hold whole pages,
 * and malloc() puts large objects 16 bytes after the beginning of a page.
 */
#ifndef WARDER_BASE_PAGE_H
#define WARDER_BASE_PAGE_H

#include <stdint.h>

#define PAGE_BYTES 4096

/* The first beginning of a page in `memory`, which must be PAGE_BYTES larger than the buffer. */
static inline char *page_begin(char *memory)
{
	return memory + (-(uintptr_t)memory & (PAGE_BYTES - 1));
}

#endif
