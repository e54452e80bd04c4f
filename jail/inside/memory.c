/*
 * The functions of a libc that the compiler may call even where there is none. Each file of init may need them, so they are below all others.
 */
#include "jail/inside/inside.h"

void *memcpy(void *to, const void *from, size_t n)
{
	char *t = to;
	const char *f = from;

	while (n--)
		*t++ = *f++;
	return to;
}

void *memset(void *to, int value, size_t n)
{
	char *t = to;

	while (n--)
		*t++ = (char)value;
	return to;
}
