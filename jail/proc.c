/*
 * Which names have a row: all that a program can read in a jail and that changes with what the host, or another jail, does; what
 * describes the host's memory and processors where the limits say less; and, where a root without capabilities is the user of its own
 * jails, what only root may read. They were found by reading everything twice while the host was busy, and in the
 * kernel's sources for what needs hardware or an option that was not there.
 *
 * Not covered: /proc/uptime, because it has to go on; its first number is of the jail's time namespace, and its second,
 * the idle time of all processors, is the host's. What lies in /proc/<pid>/net, because a mount there would cover one
 * process's; the network namespace's maker takes the right to read some of it away (jail/network.c).
 *
 * Formats: proc(5), and what procps, psutil, libuv and the sysstat tools read of them. Counters are 0: nobody divides by a
 * difference of two of them without asking whether it is 0, because that happens on an idle host too.
 */
#include "jail/proc.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/array.h"
#include "base/compose.h"
#include "base/fd.h"

__attribute__((format(printf, 2, 3))) static void put(struct proc_text *text, const char *format, ...)
{
	const size_t left = text->size - text->len;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text->at + text->len, left, format, args);
	va_end(args);
	if (n > 0)
		text->len += (size_t)n < left ? (size_t)n : left ? left - 1 : 0;
}

/* As put(), without a format: a launch writes some 4 KB that are the same for every jail, or the host's. */
static void put_bytes(struct proc_text *text, const char *bytes, size_t len)
{
	const size_t left = text->size - text->len;
	const size_t fits = len < left ? len : left ? left - 1 : 0;

	memcpy(text->at + text->len, bytes, fits);
	text->len += fits;
}

static void put_text(struct proc_text *text, const char *string)
{
	put_bytes(text, string, strlen(string));
}

/* ---- memory ---- */

#define NO_KIB(name)   name "       0 kB\n" /* names are filled up to 16 characters */
#define NO_PAGES(name) name "       0\n"
#define KIB            "%8llu kB\n"

/* All of it is free: what the jail uses of it, its cgroup knows, and no file without a server behind it follows that. */
static void write_meminfo(struct proc_text *text, const struct proc_facts *facts,
			  const struct proc_moment *moment)
{
	const unsigned long long memory = facts->memory_bytes >> 10;
	const unsigned long long swap = facts->swap_bytes >> 10;

	put(text, "MemTotal:       " KIB "MemFree:        " KIB "MemAvailable:   " KIB, memory, memory,
	    memory);
	put_text(text,
		 NO_KIB("Buffers:        ") NO_KIB("Cached:         ") NO_KIB("SwapCached:     ")
		     NO_KIB("Active:         ") NO_KIB("Inactive:       ") NO_KIB("Active(anon):   ")
			 NO_KIB("Inactive(anon): ") NO_KIB("Active(file):   ") NO_KIB("Inactive(file): ")
			     NO_KIB("Unevictable:    ") NO_KIB("Mlocked:        "));
	put(text, "SwapTotal:      " KIB "SwapFree:       " KIB, swap, swap);
	put_text(text,
		 NO_KIB("Dirty:          ") NO_KIB("Writeback:      ") NO_KIB("AnonPages:      ")
		     NO_KIB("Mapped:         ") NO_KIB("Shmem:          ") NO_KIB("KReclaimable:   ")
			 NO_KIB("Slab:           ") NO_KIB("SReclaimable:   ") NO_KIB("SUnreclaim:     ")
			     NO_KIB("KernelStack:    ") NO_KIB("PageTables:     ") NO_KIB("NFS_Unstable:   ")
				 NO_KIB("Bounce:         ") NO_KIB("WritebackTmp:   "));
	put(text, "CommitLimit:    " KIB,
	    (unsigned long long)((facts->memory_bytes + facts->swap_bytes) >> 10));
	put_text(text,
		 NO_KIB("Committed_AS:   ") NO_PAGES("HugePages_Total: ") NO_PAGES("HugePages_Free: ")
		     NO_PAGES("HugePages_Rsvd: ") NO_PAGES(
			 "HugePages_Surp: ") "Hugepagesize:       2048 kB\n" NO_KIB("Hugetlb:        "));
}

/* The names that vmstat, sar and psutil ask for. */
static void write_vmstat(struct proc_text *text, const struct proc_facts *facts,
			 const struct proc_moment *moment)
{
	static const char none[] = "nr_zone_inactive_anon 0\n"
				   "nr_zone_active_anon 0\n"
				   "nr_zone_inactive_file 0\n"
				   "nr_zone_active_file 0\n"
				   "nr_inactive_anon 0\n"
				   "nr_active_anon 0\n"
				   "nr_inactive_file 0\n"
				   "nr_active_file 0\n"
				   "nr_unevictable 0\n"
				   "nr_mlock 0\n"
				   "nr_anon_pages 0\n"
				   "nr_mapped 0\n"
				   "nr_file_pages 0\n"
				   "nr_dirty 0\n"
				   "nr_writeback 0\n"
				   "nr_slab_reclaimable 0\n"
				   "nr_slab_unreclaimable 0\n"
				   "nr_page_table_pages 0\n"
				   "nr_kernel_stack 0\n"
				   "nr_shmem 0\n"
				   "nr_dirtied 0\n"
				   "nr_written 0\n"
				   "pgpgin 0\n"
				   "pgpgout 0\n"
				   "pswpin 0\n"
				   "pswpout 0\n"
				   "pgalloc_dma 0\n"
				   "pgalloc_dma32 0\n"
				   "pgalloc_normal 0\n"
				   "pgfree 0\n"
				   "pgactivate 0\n"
				   "pgdeactivate 0\n"
				   "pgfault 0\n"
				   "pgmajfault 0\n"
				   "pgrefill 0\n"
				   "pgsteal_kswapd 0\n"
				   "pgsteal_direct 0\n"
				   "pgscan_kswapd 0\n"
				   "pgscan_direct 0\n"
				   "pginodesteal 0\n"
				   "slabs_scanned 0\n"
				   "kswapd_inodesteal 0\n"
				   "pageoutrun 0\n"
				   "allocstall_dma 0\n"
				   "allocstall_dma32 0\n"
				   "allocstall_normal 0\n"
				   "pgrotated 0\n"
				   "oom_kill 0\n";

	put(text, "nr_free_pages %llu\n", (unsigned long long)(facts->memory_bytes >> 12));
	put_bytes(text, none, sizeof(none) - 1);
}

/* ---- processors ---- */

/* The value of "name<blanks>: value" at a line's start, or NULL. */
static const char *line_value(const char *line, const char *name)
{
	const size_t len = *line == *name ? strlen(name) : 0;
	const char *at = line + len;

	if (!len || strncmp(line, name, len) != 0)
		return NULL;
	at += strspn(at, " \t");
	return *at == ':' ? at + 1 + strspn(at + 1, " \t") : NULL;
}

/* Inline: the compiler knows the length of each name. */
static inline bool is_name(const char *text, size_t len, const char *name)
{
	return len == strlen(name) && memcmp(text, name, len) == 0;
}

/* "name<blanks>: number". */
static void put_cpu_number(struct proc_text *text, const char *line, size_t before_colon, unsigned int number)
{
	char digits[COMPOSE_NUMBER];

	put_bytes(text, line, before_colon);
	put_text(text, ": ");
	put_text(text, compose_number(number, digits));
	put_text(text, "\n");
}

/* One line of a processor, which becomes number i of n. The frequency of this moment tells how busy the host is; the one that
 * does not change is half of what x86 calls its bogus MIPS. */
static void put_cpu_line(struct proc_text *text, const char *line, size_t len, unsigned int i, unsigned int n,
			 double mips)
{
	const char *colon = memchr(line, ':', len);
	const size_t before = colon ? (size_t)(colon - line) : 0;
	size_t name = before;

	while (name && (line[name - 1] == ' ' || line[name - 1] == '\t'))
		name--;
	if (is_name(line, name, "processor") || is_name(line, name, "core id") ||
	    is_name(line, name, "apicid") || is_name(line, name, "initial apicid"))
		put_cpu_number(text, line, before, i);
	else if (is_name(line, name, "siblings") || is_name(line, name, "cpu cores"))
		put_cpu_number(text, line, before, n);
	else if (is_name(line, name, "physical id"))
		put_cpu_number(text, line, before, 0);
	else if (!is_name(line, name, "cpu MHz"))
		put_bytes(text, line, len + 1); /* with its end of line */
	else if (mips > 0)
		put(text, "%.*s: %.3f\n", (int)before, line, mips / 2);
}

/* The length of the first block of lines, up to an empty one; 0 if there is none. */
static size_t first_processor(const char *cpuinfo, double *ret_mips)
{
	const char *line = cpuinfo;

	*ret_mips = 0;
	if (!line_value(cpuinfo, "processor"))
		return 0;
	while (*line && *line != '\n') {
		const char *value = line_value(line, "bogomips");
		const char *end = strchr(line, '\n');

		*ret_mips = value ? strtod(value, NULL) : *ret_mips;
		line = end ? end + 1 : "";
	}
	return *line ? (size_t)(line - cpuinfo) : 0;
}

static void write_cpuinfo(struct proc_text *text, const struct proc_facts *facts,
			  const struct proc_moment *moment)
{
	double mips;
	const size_t len = first_processor(facts->cpuinfo, &mips);

	for (unsigned int i = 0; i < facts->processors; i++) {
		const size_t before = text->len;

		if (len == 0)
			put(text, "processor\t: %u\n", i);
		for (size_t at = 0, line; at < len; at += line + 1) {
			line = (size_t)(strchr(facts->cpuinfo + at, '\n') - (facts->cpuinfo + at));
			put_cpu_line(text, facts->cpuinfo + at, line, i, facts->processors, mips);
		}
		put_text(text, "\n");
		/* Whole processors only. */
		if (text->len + 1 >= text->size) {
			text->len = before;
			return;
		}
	}
}

static void write_stat(struct proc_text *text, const struct proc_facts *facts,
		       const struct proc_moment *moment)
{
	char digits[COMPOSE_NUMBER];

	put_text(text, "cpu  0 0 0 0 0 0 0 0 0 0\n");
	for (unsigned int i = 0; i < facts->processors; i++) {
		put_text(text, "cpu");
		put_text(text, compose_number(i, digits));
		put_text(text, " 0 0 0 0 0 0 0 0 0 0\n");
	}
	put(text,
	    "intr 0\nctxt 0\nbtime %lld\nprocesses 1\nprocs_running 1\nprocs_blocked 0\n"
	    "softirq 0 0 0 0 0 0 0 0 0 0 0\n",
	    (long long)moment->boot_time_s);
}

/* ---- the rest ---- */

/* A random version 4 UUID, as the kernel's. */
static void write_boot_id(struct proc_text *text, const struct proc_facts *facts,
			  const struct proc_moment *moment)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < sizeof(moment->boot_id); i++) {
		const unsigned int random = moment->boot_id[i];
		const unsigned int byte = i == 6   ? (random & 0x0f) | 0x40
					  : i == 8 ? (random & 0x3f) | 0x80
						   : random;

		if (i == 4 || i == 6 || i == 8 || i == 10)
			put_bytes(text, "-", 1);
		put_bytes(text, &digits[byte >> 4], 1);
		put_bytes(text, &digits[byte & 15], 1);
	}
	put_text(text, "\n");
}

static const struct proc_row rows[] = {
	/* The jail's memory and processors. */
	{ "/proc/meminfo", PROC_FILE, true, write_meminfo },
	{ "/proc/cpuinfo", PROC_FILE, true, write_cpuinfo },
	{ "/proc/stat", PROC_LAUNCH, true,
	  write_stat },                            /* and how busy all processors are; "intr" is interrupts */
	{ "/proc/swaps", PROC_NULL, false, NULL }, /* names the host's files */
	/* By which jails would know that they are on one host. */
	{ "/proc/sys/kernel/random/boot_id", PROC_LAUNCH, true, write_boot_id },
	/* Counters of what the host does that programs read. */
	{ "/proc/loadavg", PROC_FILE, true, NULL, "0.00 0.00 0.00 1/1 1\n" },
	{ "/proc/vmstat", PROC_FILE, true, write_vmstat },
	{ "/proc/cgroups", PROC_FILE, false, NULL,
	  "#subsys_name\thierarchy\tnum_cgroups\tenabled\n" }, /* hidden: the real file has one cgroup for each jail and service */
	/* Numbers of open files and of inodes; what stays is what programs ask for. */
	{ "/proc/sys/fs", PROC_FILES, true, NULL },
	{ "/proc/sys/fs/file-nr", PROC_PART, false, NULL, "0\t0\t9223372036854775807\n" },
	{ "/proc/sys/fs/file-max", PROC_PART, false, NULL, "9223372036854775807\n" },
	{ "/proc/sys/fs/inode-nr", PROC_PART, false, NULL, "0\t0\n" },
	{ "/proc/sys/fs/inode-state", PROC_PART, false, NULL, "0\t0\t0\t0\t0\t0\t0\n" },
	{ "/proc/sys/fs/dentry-state", PROC_PART, false, NULL, "0\t0\t45\t0\t0\t0\n" },
	/* The kernel's defaults; the jail's own limits are below them. */
	{ "/proc/sys/fs/nr_open", PROC_PART, false, NULL, "1048576\n" },
	{ "/proc/sys/fs/pipe-max-size", PROC_PART, false, NULL, "1048576\n" },
	{ "/proc/sys/kernel/pty/nr", PROC_FILE, false, NULL, "0\n" }, /* terminals of all jails and users */
	/* Counters that only tools for the whole host read: as a kernel that has nothing to tell. */
	{ "/proc/pressure", PROC_EMPTY, false, NULL }, /* a write would also set a trigger */
	{ "/proc/softirqs", PROC_NULL, false, NULL },
	{ "/proc/interrupts", PROC_NULL, false, NULL },
	{ "/proc/buddyinfo", PROC_NULL, false, NULL },
	{ "/proc/zoneinfo", PROC_NULL, false, NULL },
	{ "/proc/schedstat", PROC_NULL, false, NULL },
	{ "/proc/diskstats", PROC_NULL, false, NULL },
	{ "/proc/mdstat", PROC_NULL, false, NULL },
	{ "/proc/locks", PROC_NULL, false, NULL },
	{ "/proc/key-users", PROC_NULL, false, NULL },
	{ "/proc/latency_stats", PROC_NULL, false, NULL },
	{ "/proc/sched_debug", PROC_NULL, false, NULL },
	{ "/proc/fs", PROC_EMPTY, false, NULL },  /* ext4, jbd2, xfs, nfsd: what the host's file systems do */
	{ "/proc/spl", PROC_EMPTY, false, NULL }, /* and ZFS */
	{ "/proc/irq", PROC_EMPTY, false, NULL },
	/* The host's hardware, disks, keys, modules and command line. */
	{ "/proc/partitions", PROC_NULL, false, NULL },
	{ "/proc/keys", PROC_NULL, false, NULL },
	{ "/proc/kallsyms", PROC_NULL, false, NULL },
	{ "/proc/modules", PROC_NULL, false, NULL },
	{ "/proc/config.gz", PROC_NULL, false, NULL },
	{ "/proc/cmdline", PROC_NULL, false, NULL },
	{ "/proc/acpi", PROC_EMPTY, false, NULL },
	{ "/proc/asound", PROC_EMPTY, false, NULL },
	{ "/proc/scsi", PROC_EMPTY, false, NULL },
	{ "/proc/driver", PROC_EMPTY, false, NULL },
	{ "/proc/bus", PROC_EMPTY, false, NULL },
	/* The kernel's memory, log, pages, timers and allocations, and a trigger. */
	{ "/proc/kcore", PROC_ROOT, false, NULL },
	{ "/proc/kmsg", PROC_ROOT, false, NULL },
	{ "/proc/kpagecount", PROC_ROOT, false, NULL },
	{ "/proc/kpageflags", PROC_ROOT, false, NULL },
	{ "/proc/kpagecgroup", PROC_ROOT, false, NULL },
	{ "/proc/timer_list", PROC_ROOT, false, NULL },
	{ "/proc/slabinfo", PROC_ROOT, false, NULL },
	{ "/proc/pagetypeinfo", PROC_ROOT, false, NULL },
	{ "/proc/vmallocinfo", PROC_ROOT, false, NULL },
	{ "/proc/sysrq-trigger", PROC_ROOT, false, NULL },
};

const struct proc_row *proc_row(size_t i)
{
	return i < ARRAY_LENGTH(rows) ? &rows[i] : NULL;
}

const char *proc_name(const struct proc_row *row)
{
	const char *name = strrchr(row->path, '/');

	if (row->cover == PROC_PART)
		while (name[-1] != '/')
			name--;
	else
		name++;
	return name;
}

size_t proc_write(const struct proc_row *row, const struct proc_facts *facts,
		  const struct proc_moment *moment, char *buf, size_t size)
{
	struct proc_text text = { .at = buf, .size = size };

	if (row->text && size)
		put_text(&text, row->text);
	else if (row->write && size)
		row->write(&text, facts, moment);
	return text.len;
}

uint32_t proc_processors(uint64_t cpu_milli, uint32_t available)
{
	const uint64_t wanted = cpu_milli == POLICY_UNLIMITED ? UINT64_MAX : (cpu_milli + 999) / 1000;

	if (available == 0)
		available = 1;
	return wanted == 0 ? 1 : wanted < available ? (uint32_t)wanted : available;
}

static void read_cpuinfo(char *buf, size_t size)
{
	owned_fd int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, size - 1);

	buf[n > 0 ? n : 0] = '\0';
}

void proc_limit_memory(const struct policy *policy, struct proc_facts *ret)
{
	const uint64_t limit = policy->limits.memory_bytes;
	const uint64_t swap_limit = policy->limits.swap_bytes;
	struct sysinfo host = { 0 };
	uint64_t memory;
	uint64_t swap;

	sysinfo(&host);
	memory = (uint64_t)host.totalram * host.mem_unit;
	swap = (uint64_t)host.totalswap * host.mem_unit;
	ret->memory_bytes = limit < memory || !memory ? limit : memory;
	ret->swap_bytes = swap_limit < swap ? swap_limit : swap;
}

void proc_describe(const struct policy *policy, uint32_t processors, struct proc_facts *ret)
{
	proc_limit_memory(policy, ret);
	ret->processors = processors;
	read_cpuinfo(ret->cpuinfo, sizeof(ret->cpuinfo));
}
