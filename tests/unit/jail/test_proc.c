#include "base/array.h"
#include "jail/proc.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jail/affinity.h"

static const struct proc_row *find(const char *path)
{
	const struct proc_row *row;

	for (size_t i = 0; (row = proc_row(i)); i++)
		if (strcmp(row->path, path) == 0)
			return row;
	cr_assert(false, "no row of %s", path);
	return NULL;
}

static const struct proc_facts facts = {
	.memory_bytes = 512u << 20,
	.swap_bytes = 64u << 20,
	.processors = 3,
	.cpuinfo =
	    "processor\t: 7\nmodel name\t: Some CPU\ncpu MHz\t\t: 1234.567\nphysical id\t: 2\nsiblings\t: "
	    "64\n"
	    "core id\t\t: 11\ncpu cores\t: 32\napicid\t\t: 22\ninitial apicid\t: 22\nbogomips\t: 4000.02\n"
	    "power management:\n\nprocessor\t: 8\nmodel name\t: Other\n",
};
static const struct proc_moment moment = { .boot_time_s = 1700000000,
					   .boot_id = { 0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0xf6, 0x77, 0xff,
							0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff } };

/* Heap. */
static char *text_of(const char *path, size_t size)
{
	char *buf = calloc(1, size + 1);
	const size_t len = proc_write(find(path), &facts, &moment, buf, size);

	cr_assert_leq(len, size);
	buf[len] = '\0';
	return buf;
}

Test(proc, whole_files, .timeout = 20)
{
	static const struct {
		const char *path, *text;
	} rows[] = {
		{ "/proc/stat",
		  "cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0 0 0\n"
		  "cpu2 0 0 0 0 0 0 0 0 0 0\nintr 0\nctxt 0\nbtime 1700000000\nprocesses 1\n"
		  "procs_running 1\nprocs_blocked 0\nsoftirq 0 0 0 0 0 0 0 0 0 0 0\n" },
		{ "/proc/sys/kernel/random/boot_id", "00112233-4455-4677-bf99-aabbccddeeff\n" },
		{ "/proc/loadavg", "0.00 0.00 0.00 1/1 1\n" },
		{ "/proc/sys/fs/file-nr", "0\t0\t9223372036854775807\n" },
		{ "/proc/sys/fs/inode-nr", "0\t0\n" },
		{ "/proc/sys/kernel/pty/nr", "0\n" },
		{ "/proc/cgroups", "#subsys_name\thierarchy\tnum_cgroups\tenabled\n" },
		{ "/proc/keys", "" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		char *text = text_of(rows[i].path, 4096);

		cr_expect_str_eq(text, rows[i].text, "%s", rows[i].path);
		free(text);
	}
}

Test(proc, memory, .timeout = 20)
{
	static const char *const lines[] = {
		"MemTotal:         524288 kB\n",   "\nMemFree:          524288 kB\n",
		"\nMemAvailable:     524288 kB\n", "\nSwapTotal:         65536 kB\n",
		"\nSwapFree:          65536 kB\n", "\nCached:                0 kB\n",
		"\nHugepagesize:       2048 kB\n", "\nHugePages_Total:        0\n",
	};
	char *text = text_of("/proc/meminfo", 4096);

	cr_expect_eq(strncmp(text, lines[0], strlen(lines[0])), 0, "%s", text);
	for (size_t i = 1; i < ARRAY_LENGTH(lines); i++)
		cr_expect(strstr(text, lines[i]), "%s: %s", lines[i], text);
	free(text);
	text = text_of("/proc/vmstat", 4096);
	cr_expect_eq(strncmp(text, "nr_free_pages 131072\n", 21), 0, "%s", text);
	cr_expect(strstr(text, "\npgpgin 0\n") && strstr(text, "\npswpout 0\n"));
	free(text);
}

/* The host's first, as often as the jail has processors; the frequency of this moment is not in it. */
Test(proc, processors, .timeout = 20)
{
	static const char wanted[] =
	    "processor\t: 1\nmodel name\t: Some CPU\ncpu MHz\t\t: 2000.010\nphysical id\t: 0\nsiblings\t: 3\n"
	    "core id\t\t: 1\ncpu cores\t: 3\napicid\t\t: 1\ninitial apicid\t: 1\nbogomips\t: 4000.02\n"
	    "power management:\n\n";
	char *text = text_of("/proc/cpuinfo", 4096);

	cr_expect_eq(strncmp(text, "processor\t: 0\n", 14), 0);
	cr_expect(strstr(text, wanted), "%s", text);
	cr_expect(strstr(text, "processor\t: 2\n") && !strstr(text, "processor\t: 3\n"));
	cr_expect(!strstr(text, "Other") && !strstr(text, "1234"));
	free(text);
}

/* Other formats, none, and one that is cut: as many processors, with what is known of them. */
Test(proc, processors_of_another_kind, .timeout = 20)
{
	static const struct {
		const char *cpuinfo, *wanted;
	} rows[] = {
		{ "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp\n\n",
		  "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp\n\nprocessor\t: 1\nBogoMIPS\t: 50.00\n"
		  "Features\t: fp\n\n" },
		{ "", "processor\t: 0\n\nprocessor\t: 1\n\n" },
		{ "processor\t: 0\nmodel name\t: cut", "processor\t: 0\n\nprocessor\t: 1\n\n" },
		{ "vendor_id : IBM\n\nprocessor 0: x\n\n", "processor\t: 0\n\nprocessor\t: 1\n\n" },
		{ "processor\t: 0\ncpu MHz\t: 5\n\n", "processor\t: 0\n\nprocessor\t: 1\n\n" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct proc_facts some = { .processors = 2 };
		char text[1024];
		size_t len;

		strcpy(some.cpuinfo, rows[i].cpuinfo);
		len = proc_write(find("/proc/cpuinfo"), &some, NULL, text, sizeof(text) - 1);
		text[len] = '\0';
		cr_expect_str_eq(text, rows[i].wanted, "row %zu", i);
	}
}

/* Cut at any size: nothing is written past it, and of processors only whole ones are there. */
Test(proc, small_buffers, .timeout = 60)
{
	const struct proc_row *row;

	for (size_t i = 0; (row = proc_row(i)); i++)
		for (size_t size = 0; size < 3000; size += 1 + size / 50) {
			char *buf = malloc(size + 8);
			size_t len;

			memset(buf, 'X', size + 8);
			len = proc_write(row, &facts, &moment, buf, size);
			cr_expect(len <= size && memcmp(buf + size, "XXXXXXXX", 8) == 0, "%s in %zu",
				  row->path, size);
			if (strcmp(row->path, "/proc/cpuinfo") == 0)
				cr_expect(len == 0 || memcmp(buf + len - 2, "\n\n", 2) == 0, "in %zu", size);
			free(buf);
		}
}

/* Files lie under the last part of their paths in one directory: no two have the same. */
Test(proc, names, .timeout = 20)
{
	const struct proc_row *row;
	const struct proc_row *other;

	for (size_t i = 0; (row = proc_row(i)); i++) {
		cr_expect_eq(strncmp(row->path, "/proc/", 6), 0, "%s", row->path);
		cr_expect_eq((row->write != NULL) + (row->text != NULL),
			     row->cover == PROC_FILE || row->cover == PROC_LAUNCH || row->cover == PROC_PART,
			     "%s", row->path);
		/* Those of root are left out by their number. */
		cr_expect(i == 0 || row->cover == PROC_ROOT || proc_row(i - 1)->cover != PROC_ROOT, "%s",
			  row->path);
		/* Parts follow their directory, and lie in it. */
		cr_expect(row->cover != PROC_PART || proc_row(i - 1)->cover == PROC_PART ||
			      (proc_row(i - 1)->cover == PROC_FILES &&
			       strncmp(row->path, proc_row(i - 1)->path, strlen(proc_row(i - 1)->path)) == 0),
			  "%s", row->path);
		for (size_t k = 0; k < i && (other = proc_row(k)); k++) {
			cr_expect_str_neq(row->path, other->path);
			cr_expect((!row->write && !row->text) || (!other->write && !other->text) ||
				      strcmp(proc_name(row), proc_name(other)) != 0,
				  "%s, %s", row->path, other->path);
		}
	}
}

Test(proc, limits_rounded_up, .timeout = 20)
{
	static const struct {
		uint64_t cpu_milli;
		uint32_t available, wanted;
	} rows[] = {
		{ 50, 8, 1 },   { 1000, 8, 1 }, { 1001, 8, 2 },
		{ 2500, 8, 3 }, { 9000, 8, 8 }, { 1000, 1, 1 },
		{ 3000, 0, 1 }, { 0, 4, 1 },    { POLICY_UNLIMITED, 8, 8 },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		cr_expect_eq(proc_processors(rows[i].cpu_milli, rows[i].available), rows[i].wanted, "row %zu",
			     i);
}

Test(affinity, masks_as_the_kernel_prints_them, .timeout = 20)
{
	static const struct {
		uint64_t first, second;
		const char *text;
		bool same;
		const char *list;
	} rows[] = {
		{ 1, 0, "\t1\n", true, "0" },
		{ 2, 0, "3\n", false, "1" },
		{ 0xd, 0, "00000000,0000000d\n", true, "0,2-3" },
		{ 0x100000000ull, 0, "1,00000000\n", true, "32" },
		{ 0x100000000ull, 0, "00000000\n", false, "32" },
		{ 1, 1, "00000001,00000000,00000001\n", true, "0,64" },
		{ 1, 0, "00000001,00000000,00000001\n", false, "0" },
		{ 1, 0, "\n", false, "0" },
		{ 1, 0, "", false, "0" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct affinity_mask mask = { .words = { rows[i].first, rows[i].second }, .bytes = 16 };
		char list[32];
		char small[4];

		cr_expect_eq(affinity_is(&mask, rows[i].text), rows[i].same, "row %zu", i);
		cr_expect_str_eq(affinity_print(&mask, list, sizeof(list)), rows[i].list);
		cr_expect_leq(strlen(affinity_print(&mask, small, sizeof(small))), 3);
	}
}
