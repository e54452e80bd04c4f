/*
 * The turns are batches: up to ENDS_AT_ONCE kills belong to one, and the next batch starts ENDS_PAUSE_MS after the last kill of the one
 * before. A batch is one word, its time and its count, which threads change by compare-and-swap: a lock could be held by another thread
 * at a fork, and its child would wait for ever. A thread that finds the batch full starts the next one in the future: its kill waits until
 * then, and so do those that come after it.
 *
 * The pause: the kernel hands a filter to a worker as soon as the last process that has it is gone. How long 100 filters take until the kernel
 * lists none of them any more (/proc/vmallocinfo), with the JIT compiler, from the last kill on:
 *
 *   100 processes with a filter of 800 instructions, Linux 6.12 in an emulated machine      22 to 51 ms
 *   100 jails there                                                                        0.6 to 1.3 s
 *   50 jails, Linux 6.18 on 2 processors                                                    59 ms
 *
 * The jails' death takes most of the time. Of the processes never more than 6 were dead and their filters not yet freed, also where
 * 1,000 ended at once: the workers keep up. 250 ms is four times what 50 jails took on a real processor; 100 were not measured there. In
 * the emulated machine 100 jails take longer than the pause.
 */
#include "jail/cgroup/ends.h"

#include <stdatomic.h>
#include <stdint.h>

#include "base/clock.h"

#define COUNT_BITS 8 /* of a batch; the other bits are its time, in milliseconds */
#define COUNT_MASK ((1u << COUNT_BITS) - 1)

_Static_assert(ENDS_AT_ONCE <= COUNT_MASK, "the count of a batch fits");

static _Atomic unsigned int living;
static _Atomic uint64_t batch;

bool ends_begin(void)
{
	return atomic_fetch_add(&living, 1) >= ENDS_AT_ONCE;
}

void ends_end(void)
{
	atomic_fetch_sub(&living, 1);
}

/* The batch that a kill at now_ms belongs to, itself counted. Its time is that of its last kill, or of its start in the future. */
static uint64_t join_batch(uint64_t last, uint64_t now_ms)
{
	const uint64_t last_ms = last >> COUNT_BITS;
	const uint64_t count = last & COUNT_MASK;
	const uint64_t at_ms = last_ms > now_ms ? last_ms : now_ms;

	if (last_ms + ENDS_PAUSE_MS <= now_ms)
		return now_ms << COUNT_BITS | 1;
	if (count < ENDS_AT_ONCE)
		return at_ms << COUNT_BITS | (count + 1);
	return (last_ms + ENDS_PAUSE_MS) << COUNT_BITS | 1;
}

uint64_t ends_turn_us(void)
{
	const uint64_t now_ms = clock_us() / 1000;
	uint64_t last = atomic_load(&batch);
	uint64_t mine;

	do
		mine = join_batch(last, now_ms);
	while (!atomic_compare_exchange_weak(&batch, &last, mine));
	return (mine >> COUNT_BITS) * 1000;
}
