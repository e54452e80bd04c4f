/*
 * risks: what a host adds to the danger of running hostile code, which no jail can take away: for `warder doctor`.
 *
 * Host side, root (what an ordinary user cannot read stays unknown). No state.
 */
#ifndef WARDER_JAIL_RISKS_H
#define WARDER_JAIL_RISKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jail_risks {
	bool jit_limit_known, jit_used_known;
	uint64_t jit_limit_bytes; /* net.core.bpf_jit_limit, which all filters of the host share */
	uint64_t jit_used_bytes;  /* in the kernel's address space; whole packs of programs count whole */
	bool loads_modules;       /* the kernel may start kernel.modprobe as root */
	char modprobe[128];       /* that program */
};

/* Look. Never fails. */
void jail_risks_read(struct jail_risks *ret);
/* Load one small seccomp filter into a process of its own, with at most 2 s for it, and no other trial of this host meanwhile. 0; -1
 * with the reason in `ret`: the load was refused or hangs in the kernel, or an earlier trial hangs, and then no new one starts. 1 with the
 * reason: the trial gave no answer, because there was no process, file or lock for it, or because the host was too slow. */
int jail_try_filter(char *ret, size_t size);

#endif
