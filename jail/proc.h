/*
 * proc: what a jail shows of /proc in the place of what the kernel has there: one row for each name.
 *
 * The kernel's /proc describes the host: its memory, its processors, and counters by which a program can watch what the host
 * does. A row covers one name with a file that describes the jail, with the jail's null device, or with an empty directory. What has
 * no row describes the jail's own namespaces and processes, or never changes while the host is up. Host side; pure, except for
 * proc_describe().
 */
#ifndef WARDER_JAIL_PROC_H
#define WARDER_JAIL_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/policy.h"

#define PROC_TEXT_MAX    (256u << 10) /* bytes of a file; a host with more processors than fit shows fewer */
#define PROC_MOMENT_MAX  (64u << 10)  /* bytes of a file that is written at every launch; the same holds */
#define PROC_CPUINFO_MAX 8192         /* bytes that are read of the host's: more than one processor's */

enum proc_cover {
	PROC_NULL,   /* by the null device: reads as an empty file */
	PROC_EMPTY,  /* by an empty directory */
	PROC_FILE,   /* by a file that all jails of a template share */
	PROC_LAUNCH, /* by a file that is written at every launch */
	PROC_FILES,  /* by a directory of such files: of the rows that are PROC_PART */
	PROC_PART,   /* a file in the directory before it */
	PROC_ROOT, /* as PROC_NULL, but only root may open it: covered where a jail's user is the host's root */
};

/* What the files say. */
struct proc_facts {
	uint64_t memory_bytes; /* of all the memory that the jail has */
	uint64_t swap_bytes;
	uint32_t processors; /* 1 or more */
	char cpuinfo
	    [PROC_CPUINFO_MAX]; /* beginning of the host's: its first processor is described as each of the jail's */
};

/* What is different at every launch. */
struct proc_moment {
	int64_t boot_time_s; /* seconds since 1970 at which the jail's clock of uptime is 0 */
	uint8_t boot_id[16]; /* random */
};

/* A text in the making. */
struct proc_text {
	char *at;
	size_t len, size;
};

struct proc_row {
	const char *path; /* below /proc */
	enum proc_cover cover;
	bool always; /* every kernel has it: the read-back wants it covered */
	/* PROC_FILE, PROC_LAUNCH, PROC_PART: writes the content. What does not fit is cut. `moment` is NULL unless it is a PROC_LAUNCH. */
	void (*write)(struct proc_text *text, const struct proc_facts *facts,
		      const struct proc_moment *moment);
	const char *text; /* the content, if it is constant; then `write` is NULL */
};

/* Row i; NULL past the end. */
const struct proc_row *proc_row(size_t i);
/* The last part of its path (of a PROC_PART the last two), by which its file is named where the jail keeps it. */
const char *proc_name(const struct proc_row *row);
/* Write its content into `buf`; the number of bytes, at most size. */
size_t proc_write(const struct proc_row *row, const struct proc_facts *facts,
		  const struct proc_moment *moment, char *buf, size_t size);
/* How many processors a jail of that limit (POLICY_UNLIMITED: none) has on a host that gives its caller `available`: the limit
 * rounded up, at least 1, at most `available`. */
uint32_t proc_processors(uint64_t cpu_milli, uint32_t available);
/* Memory and swap of a jail under these limits: at most the host's. Writes no other member. */
void proc_limit_memory(const struct policy *policy, struct proc_facts *ret);
/* The facts of a jail of so many processors under these limits on this host. What the host does not tell is left out. */
void proc_describe(const struct policy *policy, uint32_t processors, struct proc_facts *ret);

#endif
