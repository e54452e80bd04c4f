#include "base/array.h"
#include "jail/cgroup/text.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

Test(cgroup_text, number, .timeout = 20)
{
	static const struct {
		const char *text;
		bool ok;
		uint64_t value;
	} rows[] = {
		{ "0\n", true, 0 },
		{ "42", true, 42 },
		{ "max\n", true, UINT64_MAX },
		{ "-1\n", true, UINT64_MAX },
		{ "18446744073709551615\n", true, UINT64_MAX },
		{ "18446744073709551616\n", false, 7 },
		{ "99999999999999999999999\n", false, 7 },
		{ "", false, 7 },
		{ "\n", false, 7 },
		{ "-2\n", false, 7 },
		{ "+1\n", false, 7 },
		{ " 1\n", false, 7 },
		{ "1 \n", false, 7 },
		{ "1\n\n", false, 7 },
		{ "0x10\n", false, 7 },
		{ "maximum\n", false, 7 },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		uint64_t value = 7;

		cr_expect(cgroup_text_number(rows[i].text, strlen(rows[i].text), &value) == rows[i].ok,
			  "\"%s\"", rows[i].text);
		cr_expect(value == rows[i].value, "\"%s\" gave %llu", rows[i].text,
			  (unsigned long long)value);
	}
}

Test(cgroup_text, number_stays_within_its_length, .timeout = 20)
{
	uint64_t value = 0;

	cr_expect(cgroup_text_number("123456", 3, &value));
	cr_expect(value == 123);
	cr_expect(!cgroup_text_number("123456", 0, &value));
}

Test(cgroup_text, key, .timeout = 20)
{
	static const char events[] = "low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 1\n";
	static const struct {
		const char *label;
		const char *text;
		const char *key;
		bool ok;
		uint64_t value;
	} rows[] = {
		{ "first", events, "low", true, 0 },
		{ "middle", events, "max", true, 12 },
		{ "last", events, "oom_group_kill", true, 1 },
		{ "a prefix of another key", events, "oom", true, 3 },
		{ "a longer key", events, "oom_kill", true, 2 },
		{ "absent", events, "oom_kil", false, 7 },
		{ "no newline at the end", "a 1\nb 2", "b", true, 2 },
		{ "no value", "a\nb 2\n", "a", false, 7 },
		{ "empty value", "a \n", "a", false, 7 },
		{ "two values", "a 1 2\n", "a", false, 7 },
		{ "negative", "a -1\n", "a", false, 7 },
		{ "empty text", "", "a", false, 7 },
		{ "only newlines", "\n\n\n", "a", false, 7 },
		{ "key without line start", "xa 1\n", "a", false, 7 },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		uint64_t value = 7;

		cr_expect(cgroup_text_key(rows[i].text, strlen(rows[i].text), rows[i].key, &value) ==
			      rows[i].ok,
			  "%s", rows[i].label);
		cr_expect(value == rows[i].value, "%s gave %llu", rows[i].label, (unsigned long long)value);
	}
}

Test(cgroup_text, every_number_within_a_bound, .timeout = 20)
{
	static const struct {
		const char *label, *text;
		uint64_t most;
		bool within;
	} rows[] = {
		{ "one number", "0\n", 0, true },
		{ "no newline at the end", "2", 2, true },
		{ "above", "3\n", 2, false },
		{ "keys", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n", 0, true },
		{ "the first above", "low 1\nhigh 0\nmax 0\n", 0, false },
		{ "one between above", "low 0\nhigh 5\nmax 0\n", 4, false },
		{ "the last above", "low 0\nhigh 0\nmax 1\n", 0, false },
		{ "no number", "max\n", UINT64_MAX, false },
		{ "one is no number", "low 0\nmax x\n", 9, false },
		{ "a line without a number", "low 0\n\n", 9, false },
		{ "no text", "", 9, false },
		{ "only a newline", "\n", 9, false },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		cr_expect(cgroup_text_within(rows[i].text, strlen(rows[i].text), rows[i].most) ==
			      rows[i].within,
			  "%s", rows[i].label);
}

Test(cgroup_text, bandwidth, .timeout = 20)
{
	static const struct {
		const char *text;
		bool ok;
		uint64_t milli;
	} rows[] = {
		{ "50000 100000\n", true, 500 },
		{ "max 100000\n", true, UINT64_MAX },
		{ "-1 100000\n", true, UINT64_MAX },
		{ "1000 1000000\n", true, 1 },
		{ "400000 100000\n", true, 4000 },
		{ "1844674407370955161 1000\n", true, UINT64_C(1844674407370955161) },
		{ "50000 0\n", false, 7 },
		{ "50000\n", false, 7 },
		{ "50000 max\n", false, 7 },
		{ "50000 100000 1\n", false, 7 },
		{ "", false, 7 },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		uint64_t milli = 7;

		cr_expect(cgroup_text_bandwidth(rows[i].text, strlen(rows[i].text), &milli) == rows[i].ok,
			  "\"%s\"", rows[i].text);
		cr_expect(milli == rows[i].milli, "\"%s\" gave %llu", rows[i].text,
			  (unsigned long long)milli);
	}
}

Test(cgroup_text, quota_comes_back_as_the_same_share, .timeout = 20)
{
	static const uint64_t millis[] = { 1, 2, 9, 10, 11, 250, 333, 500, 1000, 1500, 64000 };

	for (size_t i = 0; i < ARRAY_LENGTH(millis); i++) {
		uint64_t quota_us = 0;
		uint64_t period_us = 0;
		uint64_t back = 0;
		char text[64];

		cgroup_text_quota(millis[i], &quota_us, &period_us);
		cr_expect(quota_us >= 1000, "%llu: the kernel takes no quota below 1 ms",
			  (unsigned long long)millis[i]);
		cr_expect(period_us >= 1000 && period_us <= 1000000, "%llu", (unsigned long long)millis[i]);
		snprintf(text, sizeof(text), "%llu %llu", (unsigned long long)quota_us,
			 (unsigned long long)period_us);
		cr_expect(cgroup_text_bandwidth(text, strlen(text), &back) && back == millis[i],
			  "%llu became \"%s\"", (unsigned long long)millis[i], text);
	}
}

Test(cgroup_text, word, .timeout = 20)
{
	static const char list[] = "cpuset cpu io memory pids\n";

	cr_expect(cgroup_text_has_word(list, strlen(list), "cpu"));
	cr_expect(cgroup_text_has_word(list, strlen(list), "cpuset"));
	cr_expect(cgroup_text_has_word(list, strlen(list), "pids"));
	cr_expect(!cgroup_text_has_word(list, strlen(list), "mem"));
	cr_expect(!cgroup_text_has_word("", 0, "cpu"));
	cr_expect(!cgroup_text_has_word("\n", 1, "cpu"));
}

#define ALL ((1u << CGROUP_MEMORY) | (1u << CGROUP_PIDS) | (1u << CGROUP_CPU) | (1u << CGROUP_ACCOUNT))

Test(cgroup_text, mount, .timeout = 20)
{
	static const struct {
		const char *label;
		const char *line;
		bool ok;
		struct cgroup_mount mount;
	} rows[] = {
		{ "v2",
		  "32 18 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n",
		  true,
		  { .v2 = true, .root = "/", .point = "/sys/fs/cgroup" } },
		{ "v1",
		  "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n",
		  true,
		  { .controllers = 1u << CGROUP_MEMORY, .root = "/", .point = "/sys/fs/cgroup/memory" } },
		{ "v1, two together",
		  "35 31 0:32 / /c/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n",
		  true,
		  { .controllers = (1u << CGROUP_CPU) | (1u << CGROUP_ACCOUNT),
		    .root = "/",
		    .point = "/c/cpu,cpuacct" } },
		{ "v1, everything together",
		  "35 31 0:32 / /c rw - cgroup none rw,cpu,cpuacct,memory,pids,blkio\n",
		  true,
		  { .controllers = ALL, .root = "/", .point = "/c" } },
		{ "v1, of no use",
		  "35 31 0:32 / /c rw - cgroup cgroup rw,cpuset,name=memory\n",
		  true,
		  { .controllers = 0, .root = "/", .point = "/c" } },
		{ "optional fields",
		  "35 31 0:32 / /c rw shared:9 master:1 propagate_from:2 unbindable - cgroup2 cgroup2 rw\n",
		  true,
		  { .v2 = true, .root = "/", .point = "/c" } },
		{ "escapes in both paths",
		  "35 31 0:32 /a\\040b /mnt/x\\011y\\134z\\012 rw - cgroup2 cgroup2 rw\n",
		  true,
		  { .v2 = true, .root = "/a b", .point = "/mnt/x\ty\\z\n" } },
		{ "read-only mount",
		  "35 31 0:32 / /c ro,nosuid - cgroup2 cgroup2 rw\n",
		  true,
		  { .v2 = true, .read_only = true, .root = "/", .point = "/c" } },
		{ "read-only file system",
		  "35 31 0:32 / /c rw - cgroup2 cgroup2 ro\n",
		  true,
		  { .v2 = true, .read_only = true, .root = "/", .point = "/c" } },
		{ "source with no super options",
		  "35 31 0:32 / /c rw - cgroup2 none",
		  true,
		  { .v2 = true, .root = "/", .point = "/c" } },
		{ "no newline",
		  "35 31 0:32 / /c rw - cgroup2 cgroup2 rw",
		  true,
		  { .v2 = true, .root = "/", .point = "/c" } },
		{ "empty source",
		  "35 31 0:32 / /c rw - cgroup2  rw\n",
		  true,
		  { .v2 = true, .root = "/", .point = "/c" } },
		{ "another type", "23 27 0:22 / /sys rw - sysfs sysfs rw\n", false, { 0 } },
		{ "the type in the wrong place",
		  "35 31 0:32 / /cgroup2 rw - tmpfs cgroup2 rw,cgroup\n",
		  false,
		  { 0 } },
		{ "no separator", "35 31 0:32 / /c rw cgroup2 cgroup2 rw\n", false, { 0 } },
		{ "cut after the separator", "35 31 0:32 / /c rw -\n", false, { 0 } },
		{ "cut after the type", "35 31 0:32 / /c rw - cgroup2\n", false, { 0 } },
		{ "escape cut off", "35 31 0:32 / /c\\04 rw - cgroup2 cgroup2 rw\n", false, { 0 } },
		{ "escape not octal", "35 31 0:32 / /c\\09a rw - cgroup2 cgroup2 rw\n", false, { 0 } },
		{ "escaped NUL", "35 31 0:32 / /c\\000 rw - cgroup2 cgroup2 rw\n", false, { 0 } },
		{ "relative mount point", "35 31 0:32 / c rw - cgroup2 cgroup2 rw\n", false, { 0 } },
		{ "empty", "", false, { 0 } },
		{ "blank", "\n", false, { 0 } },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct cgroup_mount mount = { 0 };

		cr_expect(cgroup_text_mount(rows[i].line, strlen(rows[i].line), &mount) == rows[i].ok, "%s",
			  rows[i].label);
		cr_expect(mount.v2 == rows[i].mount.v2, "%s", rows[i].label);
		cr_expect(mount.read_only == rows[i].mount.read_only, "%s", rows[i].label);
		cr_expect(mount.controllers == rows[i].mount.controllers, "%s: %x", rows[i].label,
			  mount.controllers);
		cr_expect_str_eq(mount.root, rows[i].mount.root, "%s", rows[i].label);
		cr_expect_str_eq(mount.point, rows[i].mount.point, "%s", rows[i].label);
	}
}

Test(cgroup_text, mount_point_that_is_too_long, .timeout = 20)
{
	char line[600];
	char path[CGROUP_BASE_MAX + 1];
	struct cgroup_mount mount;

	for (size_t len = CGROUP_BASE_MAX - 1; len <= CGROUP_BASE_MAX; len++) {
		memset(path, 'x', len);
		path[0] = '/';
		path[len] = '\0';
		snprintf(line, sizeof(line), "35 31 0:32 / %s rw - cgroup2 cgroup2 rw\n", path);
		cr_expect(cgroup_text_mount(line, strlen(line), &mount) == (len < CGROUP_BASE_MAX), "%zu",
			  len);
	}
}

Test(cgroup_text, own, .timeout = 20)
{
	static const struct {
		const char *text;
		bool ok;
		const char *own;
	} rows[] = {
		{ "0::/\n", true, "/" },
		{ "0::/user.slice/a b.scope\n", true, "/user.slice/a b.scope" },
		{ "9:name=systemd:/x\n4:memory:/process\n0::/y\n", true, "/y" },
		{ "0::/y:0::/z\n", true, "/y:0::/z" },
		{ "0::/../x\n", true, "/../x" },
		{ "4:memory:/process\n", false, "" },
		{ "10::/x\n", false, "" },
		{ "0::\n", false, "" },
		{ "", false, "" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		char own[64] = "";

		cr_expect(cgroup_text_own(rows[i].text, strlen(rows[i].text), own, sizeof(own)) == rows[i].ok,
			  "\"%s\"", rows[i].text);
		cr_expect_str_eq(own, rows[i].own);
	}
}

Test(cgroup_text, own_that_is_too_long, .timeout = 20)
{
	char own[8] = "";

	cr_expect(cgroup_text_own("0::/234567\n", 11, own, sizeof(own)));
	cr_expect_str_eq(own, "/234567");
	cr_expect(!cgroup_text_own("0::/2345678\n", 12, own, sizeof(own)));
}

Test(cgroup_text, own_dir, .timeout = 20)
{
	static const struct {
		const char *root;
		const char *point;
		const char *own;
		const char *dir; /* NULL: not visible */
	} rows[] = {
		{ "/", "/sys/fs/cgroup", "/", "/sys/fs/cgroup" },
		{ "/", "/sys/fs/cgroup", "/a/b", "/sys/fs/cgroup/a/b" },
		{ "/a", "/sys/fs/cgroup", "/a", "/sys/fs/cgroup" },
		{ "/a", "/sys/fs/cgroup", "/a/b", "/sys/fs/cgroup/b" },
		{ "/a", "/sys/fs/cgroup", "/ab", NULL },
		{ "/a", "/sys/fs/cgroup", "/", NULL },
		{ "/a/b", "/sys/fs/cgroup", "/a", NULL },
		{ "/", "/sys/fs/cgroup", "/../x", NULL },
		{ "/..", "/sys/fs/cgroup", "/../x", NULL },
		{ "/", "/", "/a", "/a" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct cgroup_mount mount = { .v2 = true };
		char dir[CGROUP_BASE_MAX] = "";

		snprintf(mount.root, sizeof(mount.root), "%s", rows[i].root);
		snprintf(mount.point, sizeof(mount.point), "%s", rows[i].point);
		cr_expect(cgroup_text_own_dir(&mount, rows[i].own, dir, sizeof(dir)) == (rows[i].dir != NULL),
			  "row %zu", i);
		cr_expect_str_eq(dir, rows[i].dir ? rows[i].dir : "", "row %zu", i);
	}
}

#define FIELDS_4_TO_19 " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16"

Test(cgroup_text, process, .timeout = 20)
{
	static const struct {
		const char *label;
		const char *text;
		bool ok;
		struct cgroup_process process;
	} rows[] = {
		{ "plain", "12 (cat) R" FIELDS_4_TO_19 " 3 0 98765 1 2\n", true, { 'R', 3, 98765 } },
		{ "spaces and parentheses",
		  "12 (a) b ( ) Z 1 2 (x) S" FIELDS_4_TO_19 " 1 0 55 1 2\n",
		  true,
		  { 'S', 1, 55 } },
		{ "a newline in the name",
		  "12 (a\nb) Z" FIELDS_4_TO_19 " 1 0 55 1 2\n",
		  true,
		  { 'Z', 1, 55 } },
		{ "ends with the start time", "12 (a) S" FIELDS_4_TO_19 " 1 0 55\n", true, { 'S', 1, 55 } },
		{ "cut before it", "12 (a) S" FIELDS_4_TO_19 " 1 0", false, { 0 } },
		{ "no name", "12 S" FIELDS_4_TO_19 " 1 0 55\n", false, { 0 } },
		{ "cut after the name", "12 (a)", false, { 0 } },
		{ "a start time that is none", "12 (a) S" FIELDS_4_TO_19 " 1 0 -5 1\n", false, { 0 } },
		{ "no state", "12 (a)  " FIELDS_4_TO_19 " 1 0 5 1\n", false, { 0 } },
		{ "empty", "", false, { 0 } },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct cgroup_process process = { 0 };

		cr_expect(cgroup_text_process(rows[i].text, strlen(rows[i].text), &process) == rows[i].ok,
			  "%s", rows[i].label);
		cr_expect(process.state == rows[i].process.state, "%s: %c", rows[i].label, process.state);
		cr_expect(process.threads == rows[i].process.threads, "%s", rows[i].label);
		cr_expect(process.start_time == rows[i].process.start_time, "%s", rows[i].label);
	}
}

Test(cgroup_text, owner, .timeout = 20)
{
	static const struct {
		const char *name;
		bool ok;
		struct cgroup_owner owner;
	} rows[] = {
		{ "warder-1-0-0-7", true, { 1, 0, 0, 7 } },
		{ "warder-4711-998877-12-7", true, { 4711, 998877, 12, 7 } },
		{ "warder-2147483647-18446744073709551615-18446744073709551615-7",
		  true,
		  { 2147483647, UINT64_MAX, UINT64_MAX, 7 } },
		{ "warder-2147483648-1-1-7", false, { 0 } },
		{ "warder-1-18446744073709551616-1-7", false, { 0 } },
		{ "warder-0-1-1-7", false, { 0 } },
		{ "warder--1-1-1-7", false, { 0 } },
		{ "warder-01-1-1-7", false, { 0 } },
		{ "warder-1-01-1-7", false, { 0 } },
		{ "warder-1-1-01-7", false, { 0 } },
		{ "warder-1-1", false, { 0 } },
		{ "warder-1-1--7", false, { 0 } },
		{ "warder-1-1-1-1-7", false, { 0 } },
		{ "warder-1-1-1x-7", false, { 0 } },
		{ "warder-1-1-1 -7", false, { 0 } },
		{ "xwarder-1-1-1-7", false, { 0 } },
		{ "warder", false, { 0 } },
		{ "warder-test-1", false, { 0 } },
		{ "", false, { 0 } },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct cgroup_owner owner = { 0 };
		char name[CGROUP_NAME_MAX];

		cr_expect(cgroup_text_owner(rows[i].name, &owner) == rows[i].ok, "\"%s\"", rows[i].name);
		cr_expect(owner.pid == rows[i].owner.pid && owner.start_time == rows[i].owner.start_time &&
			      owner.n == rows[i].owner.n && owner.space == rows[i].owner.space,
			  "\"%s\"", rows[i].name);
		if (!rows[i].ok)
			continue;
		cgroup_text_name(&owner, name);
		cr_expect_str_eq(name, rows[i].name);
	}
}

Test(cgroup_text, parent, .timeout = 20)
{
	static const struct {
		const char *parent;
		bool ok;
	} rows[] = {
		{ "warder", true },  { "user.slice/user-1000.slice/x", true },
		{ "a..b/.c", true }, { "", false },
		{ "/a", false },     { "a/", false },
		{ "a//b", false },   { ".", false },
		{ "..", false },     { "a/../b", false },
		{ "a/./b", false },  { "a b", false },
		{ "a\nb", false },   { "a\177", false },
	};
	char long_parent[CGROUP_BASE_MAX];

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		cr_expect(cgroup_text_parent_valid(rows[i].parent) == rows[i].ok, "\"%s\"", rows[i].parent);
	memset(long_parent, 'a', sizeof(long_parent) - 1);
	long_parent[sizeof(long_parent) - 1] = '\0';
	cr_expect(!cgroup_text_parent_valid(long_parent), "too long");
}
