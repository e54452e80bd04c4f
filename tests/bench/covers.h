/*
 * covers: the files that describe a jail in its /proc, and the mounts that put them, and empty places, over names of the kernel's. Private to
 * tests/bench/: covers.c and floor.c measure what they cost.
 *
 * Define FILES_DIR, where the files are to be, and PROC_DIR, the mount of procfs, before including it; both end with '/'.
 */
#ifndef WARDER_TESTS_BENCH_COVERS_H
#define WARDER_TESTS_BENCH_COVERS_H

#include <stddef.h>

/* As jail/proc.c has them; `bytes` is about what a file says there. */
static const struct cover_file {
	const char *path;
	size_t bytes;
} cover_files[] = {
	{ FILES_DIR "meminfo", 1100 },       { FILES_DIR "cpuinfo", 1500 },
	{ FILES_DIR "stat", 200 },           { FILES_DIR "boot_id", 37 },
	{ FILES_DIR "loadavg", 21 },         { FILES_DIR "vmstat", 900 },
	{ FILES_DIR "cgroups", 42 },         { FILES_DIR "nr", 2 },
	{ FILES_DIR "fs/file-nr", 24 },      { FILES_DIR "fs/file-max", 20 },
	{ FILES_DIR "fs/inode-nr", 4 },      { FILES_DIR "fs/inode-state", 14 },
	{ FILES_DIR "fs/nr_open", 8 },       { FILES_DIR "fs/dentry-state", 13 },
	{ FILES_DIR "fs/pipe-max-size", 8 },
};

static const struct cover {
	const char *target, *source;
} covers[] = {
	{ PROC_DIR "meminfo", FILES_DIR "meminfo" },
	{ PROC_DIR "cpuinfo", FILES_DIR "cpuinfo" },
	{ PROC_DIR "stat", FILES_DIR "stat" },
	{ PROC_DIR "sys/kernel/random/boot_id", FILES_DIR "boot_id" },
	{ PROC_DIR "loadavg", FILES_DIR "loadavg" },
	{ PROC_DIR "vmstat", FILES_DIR "vmstat" },
	{ PROC_DIR "cgroups", FILES_DIR "cgroups" },
	{ PROC_DIR "sys/fs", FILES_DIR "fs" },
	{ PROC_DIR "sys/kernel/pty/nr", FILES_DIR "nr" },
	{ PROC_DIR "pressure", FILES_DIR "empty" },
	{ PROC_DIR "softirqs", FILES_DIR "nr" },
	{ PROC_DIR "buddyinfo", FILES_DIR "nr" },
	{ PROC_DIR "zoneinfo", FILES_DIR "nr" },
	{ PROC_DIR "fs", FILES_DIR "empty" },
};

#endif
