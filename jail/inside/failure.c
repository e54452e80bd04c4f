/*
 * The end of init or payload at a step that failed.
 */
#include "jail/inside/inside.h"
#include "jail/inside/sys.h"

#define EIO_ 5

static void copy_text(char *to, size_t size, const char *from)
{
	size_t n = 0;

	while (from && from[n] && n + 1 < size) {
		to[n] = from[n];
		n++;
	}
	to[n] = 0;
}

void inside_fail(const struct inside *in, int fd, enum wire_step step, long error, const char *detail)
{
	struct wire_message message = { .type = WIRE_FAILED, .step = step, .error = (int32_t)-error };

	copy_text(message.detail, sizeof(message.detail), detail);
	sys(write, fd, &message, sizeof(message));
	sys(exit_group, 125);
	__builtin_unreachable();
}

long inside_made_to_fail(const struct inside *in, enum wire_step step, long ret)
{
	if (in->block->fail_step == (step | WIRE_DIES))
		sys(exit_group, 125);
	return in->block->fail_step == step ? -EIO_ : ret;
}
