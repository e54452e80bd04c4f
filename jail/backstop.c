#include "jail/backstop.h"

#include <sys/timerfd.h>

#include "policy/policy.h"

#define LATER_US UINT64_C(2000000)

uint64_t backstop_us(uint64_t wall_time_us)
{
	return wall_time_us == POLICY_UNLIMITED ? 0 : wall_time_us + LATER_US;
}

int backstop_open(void)
{
	return timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
}

static struct itimerspec once_after(uint64_t us)
{
	return (struct itimerspec){ .it_value = { .tv_sec = (time_t)(us / 1000000),
						  .tv_nsec = (long)(us % 1000000) * 1000 } };
}

int backstop_begin(int fd, uint64_t wall_time_us)
{
	const struct itimerspec time = once_after(backstop_us(wall_time_us));

	return timerfd_settime(fd, 0, &time, NULL);
}

uint64_t backstop_pause(int fd)
{
	const struct itimerspec none = { 0 };
	struct itimerspec left;

	return timerfd_settime(fd, 0, &none, &left) < 0 ? 0
							: (uint64_t)left.it_value.tv_sec * 1000000 +
							      (uint64_t)(left.it_value.tv_nsec + 999) / 1000;
}

void backstop_go_on(int fd, uint64_t left_us)
{
	const struct itimerspec time = once_after(left_us);

	if (left_us)
		timerfd_settime(fd, 0, &time, NULL);
}

bool backstop_begin_anew(int fd, uint64_t wall_time_us)
{
	const struct itimerspec time = once_after(backstop_us(wall_time_us));
	struct itimerspec before;

	return timerfd_gettime(fd, &before) == 0 && (before.it_value.tv_sec || before.it_value.tv_nsec) &&
	       timerfd_settime(fd, 0, &time, NULL) == 0;
}
