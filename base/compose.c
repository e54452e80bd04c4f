#include "base/compose.h"

#include <string.h>

size_t compose_all(char *buf, size_t size, const char *const *texts)
{
	size_t len = 0;
	size_t used = 0;

	for (; *texts; texts++) {
		const size_t more = strlen(*texts);
		const size_t left = size - 1 - used;
		const size_t fits = more < left ? more : left;

		memcpy(buf + used, *texts, fits);
		used += fits;
		len += more;
	}
	buf[used] = '\0';
	return len;
}

const char *compose_number(uint64_t value, char buf[COMPOSE_NUMBER])
{
	char *at = &buf[COMPOSE_NUMBER - 1];

	*at = '\0';
	do
		*--at = (char)('0' + value % 10);
	while (value /= 10);
	return at;
}
