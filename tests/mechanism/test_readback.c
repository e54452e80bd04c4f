/*
 * The read-back refuses what is not as planned. A jail cannot be made wrong on purpose; so either the plan is changed after the
 * jail's parts were made of it, or the read-back is shown a copy of /proc/<pid> in which one thing was changed.
 */
#include <sys/statfs.h>
#include <sys/sysinfo.h>

#include "base/array.h"
#include "base/fd.h"
#include "jail/run.h"
#include "tests/lib/jailed.h"

/* ---- swap: this program's own sysinfo(2), which the code under test calls ---- */

static unsigned long pretended_swap;

int sysinfo(struct sysinfo *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->totalswap = pretended_swap;
	ret->mem_unit = 1;
	return 0;
}

/* ---- a plan that was changed ---- */

static struct rootfs_entry *entry_at(struct jail_template *tmpl, const char *target)
{
	for (size_t i = 0; i < tmpl->plan.rootfs.count; i++)
		if (strcmp(tmpl->plan.rootfs.entries[i].target, target) == 0)
			return &tmpl->plan.rootfs.entries[i];
	cr_assert(0, "%s is not in the view", target);
	return NULL;
}

static struct jail_rlimit *rlimit_of(struct jail_template *tmpl, const char *name)
{
	for (size_t i = 0; i < tmpl->plan.rlimit_count; i++)
		if (strcmp(tmpl->plan.rlimits[i].name, name) == 0)
			return &tmpl->plan.rlimits[i];
	cr_assert(0, "%s is not limited", name);
	return NULL;
}

static void more_files(struct jail_template *tmpl)
{
	rlimit_of(tmpl, "NOFILE")->value++;
}

static void less_core(struct jail_template *tmpl)
{
	rlimit_of(tmpl, "CORE")->value = 0;
}

static void another_uid(struct jail_template *tmpl)
{
	tmpl->plan.uid++;
}

static void another_gid(struct jail_template *tmpl)
{
	tmpl->plan.gid++;
}

static void another_size(struct jail_template *tmpl)
{
	tmpl->plan.rootfs.scratch_bytes += 1 << 20;
}

static void no_exec_in_tmp(struct jail_template *tmpl)
{
	tmpl->plan.rootfs.tmp_exec = false;
}

static void no_exec_in_usr(struct jail_template *tmpl)
{
	entry_at(tmpl, "/usr")->no_exec = true;
}

static void another_usr(struct jail_template *tmpl)
{
	entry_at(tmpl, "/usr")->source_ino++;
}

static void a_mount_more(struct jail_template *tmpl)
{
	entry_at(tmpl, "/run")->kind = ROOTFS_BIND;
}

static void a_mount_less(struct jail_template *tmpl)
{
	entry_at(tmpl, "/usr")->kind = ROOTFS_DIRECTORY;
}

static void another_directory(struct jail_template *tmpl)
{
	strcpy(tmpl->plan.rootfs.working_directory, "/usr");
}

static const struct tampered {
	const char *label;
	void (*tamper)(struct jail_template *tmpl);
	const char *field, *said;
	bool root; /* an ordinary user's namespace is made of the plan at the launch */
} tampered[] = {
	{ "open files", more_files, "limits.openFiles", "RLIMIT_NOFILE" },
	{ "core", less_core, "", "RLIMIT_CORE" },
	{ "uid", another_uid, "processes.identity", "Uid or Gid", true },
	{ "gid", another_gid, "processes.identity", "Uid or Gid", true },
	{ "size of /tmp", another_size, "filesystem.tmp", "/tmp holds" },
	{ "exec in /tmp", no_exec_in_tmp, "filesystem.view", "/tmp mounted with" },
	{ "exec in /usr", no_exec_in_usr, "filesystem.view", "/usr mounted with" },
	{ "what /usr is", another_usr, "filesystem.view", "at /usr than /usr" },
	{ "a missing mount", a_mount_more, "filesystem.view", "does not show the plan's mount at /run" },
	{ "an extra mount", a_mount_less, "filesystem.view", "mount at /usr that the plan does not have" },
	{ "working directory", another_directory, "workingDirectory", "is not /usr" },
};

/* The launch ends at the step, the program does not run, and nothing is left. */
Test(readback, another_plan_ends_the_launch, .timeout = 120)
{
	for (size_t i = 0; i < ARRAY_LENGTH(tampered); i++) {
		const struct tampered *row = &tampered[i];
		struct jailed *j = jailed_new();
		struct ledger before;

		if (row->root && !j->host.privileged) {
			jailed_free(j);
			continue;
		}
		j->policy.filesystem.tmp_exec = true;
		j->policy.working_directory = strdup("/tmp");
		cr_assert_eq(jailed_prepare(j, true), 0, "%s: %s", row->label, j->err.text);
		/* The first run makes what the template keeps: its identity. */
		cr_assert_eq(jailed_sh(j, "exit 0"), 0, "%s: %s", row->label, j->err.text);
		before = ledger_take(&j->host);
		row->tamper(j->tmpl);
		/* The comparison is the same whether or not anybody wants a receipt. */
		j->command.no_receipt = i % 2;
		cr_expect_eq(jailed_sh(j, "exit 0"), 4, "%s: the launch went on", row->label);
		cr_expect_str_eq(j->err.step, "read-back", "%s: step \"%s\"", row->label, j->err.step);
		cr_expect_str_eq(j->err.field, row->field, "%s: field \"%s\"", row->label, j->err.field);
		cr_expect(strstr(j->err.text, "read-back: ") && strstr(j->err.text, row->said), "%s: \"%s\"",
			  row->label, j->err.text);
		ledger_check(&before, &j->host, row->label);
		jailed_free(j);
	}
}

/* ---- a /proc/<pid> that was changed ---- */

/* A jail that waits, and a directory that looks like its /proc/<pid>. */
struct fixture {
	struct jailed *j;
	char path[64];
	int fd;
};

/* The kernel's files have no size and may be large. */
static char *slurp(int dir_fd, const char *name)
{
	owned_fd int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
	char *text = calloc(1, 65536);
	size_t used = 0;
	ssize_t n = 1;

	while (fd >= 0 && n > 0) {
		n = read(fd, text + used, 65535 - used);
		used += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0)
		return text;
	free(text);
	return NULL;
}

static void spill(int dir_fd, const char *name, const char *text)
{
	owned_fd int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	cr_assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), "%s", name);
}

/* A link to `target`; of a namespace a copy of its link, whose text is what counts. */
static void link_to(const struct fixture *fixture, const char *name, const char *target)
{
	char text[64] = "";

	if (strstr(target, "/ns/") && readlink(target, text, sizeof(text) - 1) < 0) {
		cr_assert_eq(errno, ENOENT, "%s",
			     target); /* a kind of namespace that this kernel does not have */
		return;
	}
	cr_assert_eq(symlinkat(*text ? text : target, fixture->fd, name), 0, "%s", name);
}

static void link_to_pid(const struct fixture *fixture, const char *name)
{
	char target[64];

	snprintf(target, sizeof(target), "/proc/%d/%s", jail_run_program_pid(fixture->j->run), name);
	link_to(fixture, name, target);
}

static void copy_proc(const struct fixture *fixture)
{
	static const char *const files[] = { "status", "uid_map",   "gid_map",        "mountinfo", "cgroup",
					     "limits", "net/route", "net/ipv6_route", "net/snmp" };
	static const char *const links[] = { "root",   "cwd",    "ns/user", "ns/mnt",    "ns/pid",
					     "ns/net", "ns/ipc", "ns/uts",  "ns/cgroup", "ns/time" };
	char path[32];
	int proc_fd;

	snprintf(path, sizeof(path), "/proc/%d", jail_run_program_pid(fixture->j->run));
	proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	cr_assert_geq(proc_fd, 0);
	cr_assert(mkdirat(fixture->fd, "net", 0700) == 0 && mkdirat(fixture->fd, "ns", 0700) == 0);
	for (size_t i = 0; i < ARRAY_LENGTH(files); i++) {
		char *text = slurp(proc_fd, files[i]);

		if (text)
			spill(fixture->fd, files[i], text);
		free(text);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(links); i++)
		link_to_pid(fixture, links[i]);
	close(proc_fd);
}

static struct fixture fixture_new(void)
{
	static char *argv[] = { "/bin/sleep", "100", NULL };
	struct fixture fixture = { .j = jailed_new(), .path = "/tmp/test-readback-XXXXXX" };
	struct jailed *j = fixture.j;

	j->policy.working_directory = strdup("/tmp");
	cr_assert_eq(jailed_prepare(j, false), 0, "%s", j->err.text);
	j->command.argv = argv;
	cr_assert_eq(jail_launch(j->tmpl, &j->command, &j->run, &j->err), 0, "%s", j->err.text);
	cr_assert_not_null(mkdtemp(fixture.path));
	fixture.fd = open(fixture.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	copy_proc(&fixture);
	return fixture;
}

static void fixture_free(struct fixture *fixture)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -rf '%s'", fixture->path);
	cr_expect_eq(system(command), 0);
	close(fixture->fd);
	jailed_free(fixture->j);
}

/* As the launch does it, but from the copy. */
static int check(struct fixture *fixture)
{
	struct jail_run *run = fixture->j->run;
	int ret;

	memset(&fixture->j->err, 0, sizeof(fixture->j->err));
	run->receipt->count = 0;
	run->proc_fd = open(fixture->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	ret = readback_setup(run, &fixture->j->err) < 0 ? -1 : readback_check(run, &fixture->j->err);
	fd_done(&run->proc_fd);
	return ret;
}

/* The line that holds `holds` becomes `line`; NULL: is taken out. An empty `holds` puts it at the end. */
static char *change_line(const char *text, const char *holds, const char *line)
{
	const char *at = *holds ? strstr(text, holds) : text + strlen(text);
	const char *end;
	char *ret = NULL;

	if (!at)
		return NULL;
	while (at > text && at[-1] != '\n')
		at--;
	end = strchr(at, '\n');
	cr_assert_geq(asprintf(&ret, "%.*s%s%s%s", (int)(at - text), text, line ? line : "", line ? "\n" : "",
			       end ? end + 1 : ""),
		      0);
	return ret;
}

static const struct changed {
	const char *label, *file, *holds, *line, *field, *said;
} changed[] = {
	{ "inheritable", "status", "CapInh:", "CapInh:\t0000000000000001", "", "CapInh is 0000000000000001" },
	{ "permitted", "status", "CapPrm:", "CapPrm:\t000001ffffffffff", "", "CapPrm is" },
	{ "effective", "status", "CapEff:", "CapEff:\t0000000000200000", "", "CapEff is" },
	{ "bounding", "status", "CapBnd:", "CapBnd:\t000001ffffffffff", "", "CapBnd is" },
	{ "ambient", "status", "CapAmb:", "CapAmb:\t0000000000000400", "", "CapAmb is" },
	{ "no row of capabilities", "status", "CapAmb:", NULL, "", "CapAmb is not shown" },
	{ "new privileges", "status", "NoNewPrivs:", "NoNewPrivs:\t0", "", "NoNewPrivs is not 1" },
	{ "no row of privileges", "status", "NoNewPrivs:", NULL, "", "NoNewPrivs is not 1" },
	{ "no filter", "status", "Seccomp:", "Seccomp:\t0", "syscalls", "Seccomp is 0" },
	{ "strict mode", "status", "Seccomp:", "Seccomp:\t1", "syscalls", "Seccomp is 1" },
	{ "no row of filters", "status", "Seccomp:", NULL, "syscalls", "Seccomp is ?" },
	{ "only inherited filters", "status", "Seccomp_filters:", "Seccomp_filters:\t0", "syscalls",
	  "0 filter(s)" },
	{ "a filter too many", "status", "Seccomp_filters:", "Seccomp_filters:\t99", "syscalls",
	  "99 filter(s)" },
	{ "uid", "status", "Uid:", "Uid:\t0\t0\t0\t0", "processes.identity", "Uid or Gid" },
	{ "gid", "status", "Gid:", "Gid:\t0\t0\t0\t0", "processes.identity", "Uid or Gid" },
	{ "uid map", "uid_map", " ", "         0          0 4294967295", "processes.identity", "uid_map is" },
	{ "gid map", "gid_map", " ", "         0          0 4294967295", "processes.identity", "gid_map is" },
	{ "a row more", "uid_map", "", "     70000      70000          1", "processes.identity",
	  "uid_map is" },
	{ "no gid map", "gid_map", " ", NULL, "processes.identity", "gid_map is" },
	{ "cgroup", "cgroup", "/warder-", "0::/", "limits", "1 cgroup(s) of the jail do not hold it" },
	{ "mount", "mountinfo", "", "9 9 8:1 / /mnt rw,nosuid,nodev - ext4 /dev/sda rw", "filesystem.view",
	  "mount at /mnt" },
	{ "no mounts", "mountinfo", " / /proc ", NULL, "filesystem.view", "plan's mount at /proc" },
	{ "soft limit", "limits", "Max open files",
	  "Max open files            1023                 1024                 files", "limits.openFiles",
	  "RLIMIT_NOFILE is 1023 and 1024" },
	{ "hard limit", "limits", "Max open files",
	  "Max open files            1024                 4096                 files", "limits.openFiles",
	  "RLIMIT_NOFILE is 1024 and 4096" },
	{ "no row of a limit", "limits", "Max core file size", NULL, "", "RLIMIT_CORE" },
	{ "route", "net/route", "", "Iface\tDestination\neth0\t00000000\t010200C0\t0003", "network",
	  "has routes" },
	{ "IPv6 route", "net/ipv6_route", "",
	  "fe800000000000000000000000000000 40 00000000000000000000000000000000 00 "
	  "00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth0",
	  "network", "IPv6 route: eth0" },
};

static void try_changed(struct fixture *fixture, const struct changed *row)
{
	const struct warder_error *err = &fixture->j->err;
	char *before = slurp(fixture->fd, row->file);
	char *after = before ? change_line(before, row->holds, row->line) : NULL;

	/* Rows that this kernel, or a jail without control groups, does not have. */
	if (after) {
		spill(fixture->fd, row->file, after);
		cr_expect_eq(check(fixture), -1, "%s: nothing noticed", row->label);
		cr_expect_str_eq(err->field, row->field, "%s: field \"%s\"", row->label, err->field);
		cr_expect(strstr(err->text, "read-back: ") && strstr(err->text, row->said), "%s: \"%s\"",
			  row->label, err->text);
		spill(fixture->fd, row->file, before);
	}
	free(after);
	free(before);
}

Test(readback, a_changed_text_is_refused, .timeout = 120)
{
	struct fixture fixture = fixture_new();

	cr_expect_eq(check(&fixture), 0, "unchanged: %s", fixture.j->err.text);
	for (size_t i = 0; i < ARRAY_LENGTH(changed); i++)
		try_changed(&fixture, &changed[i]);
	cr_expect_eq(check(&fixture), 0, "changed back: %s", fixture.j->err.text);
	fixture_free(&fixture);
}

/* Without a map of ids, supplementary groups stay; root's jail has none. */
Test(readback, supplementary_groups_are_refused_to_root, .timeout = 60)
{
	static const struct changed row = { "groups",
					    "status",
					    "Groups:",
					    "Groups:\t0 4 ",
					    "processes.identity",
					    "supplementary groups: 0 4" };
	struct fixture fixture = fixture_new();

	if (fixture.j->host.privileged)
		try_changed(&fixture, &row);
	else
		cr_expect_eq(check(&fixture), 0);
	fixture_free(&fixture);
}

Test(readback, a_changed_object_is_refused, .timeout = 120)
{
	static const struct {
		const char *label, *name, *target, *said;
	} rows[] = {
		{ "net", "ns/net", "/proc/self/ns/net", "the net namespace is the host's" },
		{ "user", "ns/user", "/proc/self/ns/user", "the user namespace is the host's" },
		{ "mnt", "ns/mnt", "/proc/self/ns/mnt", "the mnt namespace is the host's" },
		{ "pid", "ns/pid", "/proc/self/ns/pid", "the pid namespace is the host's" },
		{ "ipc", "ns/ipc", "/proc/self/ns/ipc", "the ipc namespace is the host's" },
		{ "uts", "ns/uts", "/proc/self/ns/uts", "the uts namespace is the host's" },
		{ "no namespace", "ns/ipc", "nothing", "cannot read /proc" },
		{ "the host's root", "root", "/", "/tmp" },
		{ "an empty root", "root", "net", "cannot look at" },
		{ "another directory", "cwd", "/", "working directory is not /tmp" },
		{ "no status", "status", NULL, "cannot read /proc" },
		{ "no mount table", "mountinfo", NULL, "cannot read /proc" },
		{ "no uid map", "uid_map", NULL, "cannot read /proc" },
		{ "no limits", "limits", NULL, "cannot read /proc" },
		{ "no routes", "net/route", NULL, "cannot read /proc" },
	};
	struct fixture fixture = fixture_new();

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const char *text;

		cr_assert_eq(renameat(fixture.fd, rows[i].name, fixture.fd, "kept"), 0, "%s", rows[i].label);
		if (rows[i].target)
			link_to(&fixture, rows[i].name, rows[i].target);
		cr_expect_eq(check(&fixture), -1, "%s: nothing noticed", rows[i].label);
		text = fixture.j->err.text;
		cr_expect(strstr(text, "read-back: ") && strstr(text, rows[i].said), "%s: \"%s\"",
			  rows[i].label, text);
		cr_assert_eq(renameat(fixture.fd, "kept", fixture.fd, rows[i].name), 0);
	}
	cr_expect_eq(check(&fixture), 0, "changed back: %s", fixture.j->err.text);
	/* A kernel without IPv6 has no such file. */
	unlinkat(fixture.fd, "net/ipv6_route", 0);
	cr_expect_eq(check(&fixture), 0, "no IPv6: %s", fixture.j->err.text);
	fixture_free(&fixture);
}

/* ---- limits ---- */

Test(readback, another_limit_is_refused, .timeout = 60)
{
	struct fixture fixture = fixture_new();
	struct jail_run *run = fixture.j->run;
	struct cgroup_limits *limits = &run->tmpl->plan.cgroup;
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	const struct {
		const char *label;
		uint64_t *limit, less, more;
		const char *field;
	} rows[] = {
		{ "memory", &limits->memory_bytes, 1, page, "limits.memory" },
		{ "pids", &limits->pids_max, 1, 1, "limits.pids" },
		{ "cpus", &limits->cpu_milli, 1, 2, "limits.cpus" },
		{ "swap", &limits->swap_bytes, 0, 2 * page, "limits.swap" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const uint64_t planned = *rows[i].limit;

		if (planned == UINT64_MAX)
			continue;
		for (int more = 0; more < 2; more++) {
			if (!more && rows[i].less == 0)
				continue;
			*rows[i].limit = more ? planned + rows[i].more : planned - rows[i].less;
			cr_expect_eq(readback_limits(run, &fixture.j->err), -1, "%s, %s", rows[i].label,
				     more ? "more" : "less");
			cr_expect_str_eq(fixture.j->err.field, rows[i].field);
		}
		*rows[i].limit = planned;
	}
	cr_expect_eq(readback_limits(run, &fixture.j->err), 0, "%s", fixture.j->err.text);
	fixture_free(&fixture);
}

/* What is read again before a parked jail is handed out. */
Test(readback, another_plan_is_refused_at_the_hand_out, .timeout = 60)
{
	struct jailed *j = jailed_new();
	struct jail_template *tmpl;
	struct cgroup_limits *limits;

	cr_assert_eq(jailed_prepare(j, true), 0, "%s", j->err.text);
	tmpl = j->tmpl;
	limits = &tmpl->plan.cgroup;
	cr_assert_eq(jail_park(tmpl, &j->run, &j->err), 0, "%s", j->err.text);
	const struct {
		const char *label, *field;
		uint64_t *limit, more;
	} rows[] = {
		{ "memory", "limits.memory", &limits->memory_bytes, 1 << 20 },
		{ "pids", "limits.pids", &limits->pids_max, 1 },
		{ "cpus", "limits.cpus", &limits->cpu_milli, 100 },
		{ "swap", "limits.swap", &limits->swap_bytes, 1 << 20 },
		{ "rlimit", "limits.openFiles", &rlimit_of(tmpl, "NOFILE")->value, 1 },
	};
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const uint64_t planned = *rows[i].limit;

		if (planned == UINT64_MAX)
			continue;
		*rows[i].limit = planned + rows[i].more;
		cr_expect_eq(readback_again(j->run, &j->err), -1, "%s", rows[i].label);
		cr_expect_str_eq(j->err.field, rows[i].field, "%s: %s", rows[i].label, j->err.text);
		*rows[i].limit = planned;
	}
	if (memchr(j->run->cgroup.used, true, sizeof(j->run->cgroup.used))) {
		char *last = j->run->cgroup.name + strlen(j->run->cgroup.name) - 1;
		const char named = *last;

		*last = '?';
		cr_expect(readback_again(j->run, &j->err) == -1 && strstr(j->err.text, "do not hold it"),
			  "%s", j->err.text);
		*last = named;
	}
	tmpl->plan.uid++;
	j->run->identity.base++;
	cr_expect(readback_again(j->run, &j->err) == -1 && strstr(j->err.text, "uid_map is"), "%s",
		  j->err.text);
	tmpl->plan.uid--;
	j->run->identity.base--;
	cr_expect_eq(readback_again(j->run, &j->err), 0, "%s", j->err.text);
	jailed_free(j);
}

/* Where the plan relies on a host without swap space, none may have come since. */
Test(readback, swap_space_that_came_is_refused, .timeout = 60)
{
	struct fixture fixture = fixture_new();
	struct jail_run *run = fixture.j->run;

	run->tmpl->plan.cgroup.swap_bytes = UINT64_MAX;
	run->tmpl->plan.not_enforced[POLICY_CONTROL_SWAP] = false;
	cr_expect_eq(readback_limits(run, &fixture.j->err), 0, "%s", fixture.j->err.text);
	pretended_swap = 1 << 20;
	cr_expect_eq(readback_limits(run, &fixture.j->err), -1);
	cr_expect_str_eq(fixture.j->err.field, "limits.swap");
	run->tmpl->plan.policy.limits.swap_bytes = POLICY_UNLIMITED;
	cr_expect_eq(readback_limits(run, &fixture.j->err), 0, "not asked for");
	fixture_free(&fixture);
}

/* ---- size ---- */

/* Each path is a line of the mount table: more of them than one buffer holds. */
Test(readback, a_long_mount_table, .timeout = 60)
{
	static const char directory[] = "/var/lib/dpkg/info";
	struct jailed *j = jailed_new();
	struct policy_strings *paths = &j->policy.filesystem.read_only;
	DIR *dir = opendir(directory);
	const struct dirent *item;
	struct policy_receipt_row row;

	if (!dir)
		cr_skip_test("no %s to take many files from", directory);
	paths->items = calloc(250, sizeof(*paths->items));
	while (paths->count < 250 && (item = readdir(dir)))
		if (item->d_name[0] != '.' &&
		    asprintf(&paths->items[paths->count], "%s/%s", directory, item->d_name) > 0)
			paths->count++;
	closedir(dir);
	cr_assert_eq(paths->count, 250);
	jailed_sh(j, "wc -c </proc/self/mountinfo");
	cr_expect_eq(j->step, 0, "%s", j->err.text);
	cr_expect_gt(atoi(jailed_text(j, JAIL_STDOUT)), 16384);
	row = jailed_row(j, "filesystem.paths.readOnly");
	/* Root maps the owners of read-only paths, but not of so many. */
	cr_expect_str_eq(row.value,
			 geteuid() == 0 ? "250 ro,nosuid,nodev; owners unmapped" : "250 ro,nosuid,nodev");
	jailed_free(j);
}
