/*
 * Public structs, whose first member is the size that the caller was compiled with.
 */
#include <string.h>

#include "runtime/library/library.h"

int library_take(void *to, size_t to_size, const void *from, size_t from_size, const char *what,
		 struct warder_error *err)
{
	memset(to, 0, to_size);
	if (from_size < sizeof(size_t))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL,
				 "the member `size` of struct %s is %zu; set it to sizeof(struct %s)", what,
				 from_size, what);
	memcpy(to, from, from_size < to_size ? from_size : to_size);
	return 0;
}
