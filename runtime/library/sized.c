/*
 * Public structs, whose first member is the size that the caller was compiled with.
 */
#include <string.h>

#include "runtime/library/library.h"

static int no_size(size_t size, const char *what, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL,
			 "the member `size` of struct %s is %zu; set it to sizeof(struct %s)", what, size,
			 what);
}

int library_take(void *to, size_t to_size, const void *from, size_t from_size, const char *what,
		 struct warder_error *err)
{
	memset(to, 0, to_size);
	if (from_size < sizeof(size_t))
		return no_size(from_size, what, err);
	memcpy(to, from, from_size < to_size ? from_size : to_size);
	return 0;
}

int library_give(void *to, size_t to_size, const void *from, size_t from_size, const char *what,
		 struct warder_error *err)
{
	const size_t size = to_size < from_size ? to_size : from_size;

	if (to_size < sizeof(size_t))
		return no_size(to_size, what, err);
	memcpy((char *)to + sizeof(size_t), (const char *)from + sizeof(size_t), size - sizeof(size_t));
	return 0;
}
