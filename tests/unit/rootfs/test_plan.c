#include "base/array.h"
#include "rootfs/rootfs.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rootfs/path.h"
#include "rootfs/source.h"

/*
 * Policies built by hand, planned against this host and against a small tree: see set_up(). In a row, "@"
 * at the beginning of a path stands for that tree.
 */

static char top[PATH_MAX];
static struct policy policy;
static struct rootfs rootfs;
static struct warder_error err;
static char *lists[2][8];
static char texts[24][PATH_MAX];
static size_t text_count;

/* ---- the tree ---- */

static const struct {
	const char *path, *link; /* a directory ends in "/"; link: target */
} tree[] = {
	{ "/data/" },
	{ "/data/sub/" },
	{ "/data/sub/deep/" },
	{ "/data/file" },
	{ "/other/" },
	{ "/link", "data" },
	{ "/loop", "loop" },
	{ "/data/inner", "sub" },
	{ "/data/out", "/etc" },
	{ "/root/" },
	{ "/root/usr/" },
	{ "/root/usr/bin/" },
	{ "/root/etc/" },
	{ "/root/bin", "usr/bin" },
	{ "/root/proc/" },
	{ "/root/dev/" },
	{ "/root/sys/" },
	{ "/root/tmp/" },
	{ "/root/workspace/" },
	{ "/root/init" },
	{ "/root/var/" },
	{ "/root/abs", "/etc/motd" },
	{ "/root/srv", "/var" },
	{ "/rootlink", "root" },
	{ "/odd/" },
	{ "/odd/a\nb/" },
	{ "/locked/" },
};

static const char *at(const char *path)
{
	char *text = texts[text_count++ % ARRAY_LENGTH(texts)];

	if (path[0] != '@')
		return path;
	snprintf(text, PATH_MAX, "%.3000s%.1000s", top, path + 1);
	return text;
}

static bool make_top(const char *base)
{
	char real[PATH_MAX];

	if (!base || !realpath(base, real))
		return false;
	snprintf(top, sizeof(top), "%.4000s/warder-plan.XXXXXX", real);
	return !path_within("/tmp", top) && !path_within("/dev", top) && !path_within("/workspace", top) &&
	       !path_within("/var/tmp", top) && mkdtemp(top);
}

static void make(const char *path, const char *link)
{
	char full[PATH_MAX];

	snprintf(full, sizeof(full), "%.3000s%s", top, path);
	if (link)
		cr_assert(symlink(link, full) == 0, "%s", full);
	else if (path[strlen(path) - 1] == '/')
		cr_assert(mkdir(full, 0755) == 0, "%s", full);
	else
		cr_assert(close(open(full, O_WRONLY | O_CREAT | O_CLOEXEC, 0644)) == 0, "%s", full);
}

static void strict(void)
{
	rootfs_done(&rootfs);
	policy = (struct policy){ 0 };
	policy.filesystem.tmp_bytes = 64 << 20;
	policy.filesystem.read_only.items = lists[0];
	policy.filesystem.read_write.items = lists[1];
	policy.limits.disk_bytes = POLICY_UNLIMITED;
	policy.processes.uid = 1234;
	policy.processes.gid = 2345;
}

/* Paths below /tmp would be refused: every jail has its own. */
static void set_up(void)
{
	char fifo[PATH_MAX];

	if (!make_top(getenv("WARDER_TEST_DIR")) && !make_top("/srv") && !make_top("/opt") &&
	    !make_top(getenv("HOME")) && !make_top("."))
		cr_skip_test("no directory outside of /tmp to write to; name one in WARDER_TEST_DIR");
	for (size_t i = 0; i < ARRAY_LENGTH(tree); i++)
		make(tree[i].path, tree[i].link);
	snprintf(fifo, sizeof(fifo), "%.4000s/root/fifo", top);
	cr_assert(mkfifo(fifo, 0644) == 0);
	strict();
}

static void tear_down(void)
{
	char full[PATH_MAX];

	rootfs_done(&rootfs);
	if (!top[0])
		return;
	snprintf(full, sizeof(full), "%.4000s/root/fifo", top);
	unlink(full);
	for (size_t i = ARRAY_LENGTH(tree); i-- > 0;) {
		snprintf(full, sizeof(full), "%.3000s%s", top, tree[i].path);
		if (full[strlen(full) - 1] == '/')
			rmdir(full);
		else
			unlink(full);
	}
	rmdir(top);
}

/* ---- asking ---- */

static int plan(void)
{
	rootfs_done(&rootfs);
	err = (struct warder_error){ 0 };
	return rootfs_plan(&policy, &rootfs, &err);
}

static void grant(int list, const char *path)
{
	struct policy_strings *strings =
	    list == 0 ? &policy.filesystem.read_only : &policy.filesystem.read_write;

	lists[list][strings->count++] = (char *)(uintptr_t)at(path);
}

static const struct rootfs_entry *entry_of(const char *target)
{
	for (size_t i = 0; i < rootfs.count; i++) {
		if (strcmp(rootfs.entries[i].target, target) == 0)
			return &rootfs.entries[i];
	}
	return NULL;
}

static bool refused(enum warder_error_kind kind, const char *field, const char *says)
{
	return plan() == -1 && err.code == kind && strcmp(err.field, field) == 0 && strstr(err.text, says);
}

/* What a builder relies on, whatever the policy was. */
static void check_list(const char *label)
{
	for (size_t i = 0; i < rootfs.count; i++) {
		const struct rootfs_entry *entry = &rootfs.entries[i];
		const char *target = entry->target;
		const char *slash = strrchr(target, '/');
		char parent[PATH_MAX];
		bool covered = false;

		cr_expect(target[0] == '/' && target[1], "%s: %s", label, target);
		cr_expect(i == 0 || strcmp(rootfs.entries[i - 1].target, target) < 0, "%s: %s not in order",
			  label, target);
		for (size_t j = 0; j < i; j++)
			covered |= rootfs.entries[j].kind != ROOTFS_DIRECTORY &&
				   path_within(rootfs.entries[j].target, target);
		cr_expect(!covered || entry->kind == ROOTFS_BIND, "%s: %s beneath a mount", label, target);
		snprintf(parent, sizeof(parent), "%.*s", (int)(slash - target), target);
		cr_expect(slash == target || covered || entry_of(parent) || path_within("/tmp", parent),
			  "%s: %s has no parent", label, target);
		cr_expect(entry->kind == ROOTFS_DIRECTORY ||
			      (entry->kind == ROOTFS_BIND) == (entry->source != NULL),
			  "%s: %s", label, target);
		cr_expect((entry->kind == ROOTFS_SYMLINK || entry->kind == ROOTFS_FILE) ==
			      (entry->text != NULL),
			  "%s: %s", label, target);
		cr_expect(entry->kind != ROOTFS_BIND || entry->source_ino, "%s: %s", label, target);
		cr_expect(entry->source_fd == -1 ||
			      (entry->kind == ROOTFS_BIND && entry->field == POLICY_FIELD_NONE),
			  "%s: %s", label, target);
	}
}

static void expect_plan(const char *label)
{
	cr_assert(plan() == 0, "%s: %s: %s", label, err.field, err.text);
	check_list(label);
}

/* ---- host view ---- */

Test(rootfs_plan, shows_programs_and_nothing_about_the_host, .init = set_up, .fini = tear_down, .timeout = 30)
{
	static const char *const absent[] = { "/sys",
					      "/home",
					      "/root",
					      "/etc/shadow",
					      "/etc/machine-id",
					      "/etc/ld.so.preload",
					      "/etc/hostname",
					      "/etc/ssh",
					      "/etc/ssl",
					      "/etc/resolv.conf",
					      "/etc/fstab",
					      "/workspace",
					      "/var/run",
					      "/boot",
					      "/srv",
					      "/opt" };
	static const char *const directories[] = { "/dev", "/etc", "/proc", "/run", "/tmp", "/var" };
	size_t binds = 0;

	expect_plan("host view");
	for (size_t i = 0; i < ARRAY_LENGTH(absent); i++)
		cr_expect(!entry_of(absent[i]), "%s", absent[i]);
	for (size_t i = 0; i < ARRAY_LENGTH(directories); i++)
		cr_expect(entry_of(directories[i]) && entry_of(directories[i])->kind == ROOTFS_DIRECTORY,
			  "%s", directories[i]);
	for (size_t i = 0; i < rootfs.count; i++) {
		const struct rootfs_entry *entry = &rootfs.entries[i];

		binds += entry->kind == ROOTFS_BIND;
		cr_expect(entry->kind != ROOTFS_BIND || (entry->read_only && !entry->owner_mapped), "%s",
			  entry->target);
		cr_expect(entry->field == POLICY_FIELD_NONE, "%s", entry->target);
	}
	cr_expect(binds <= 16, "%zu mounts, each of which costs every launch", binds);
	cr_expect(entry_of("/usr") && entry_of("/usr")->kind == ROOTFS_BIND && !entry_of("/usr")->optional);
	cr_expect(entry_of("/var/tmp") && strcmp(entry_of("/var/tmp")->text, "../tmp") == 0);
	cr_expect(strcmp(rootfs.working_directory, "/tmp") == 0);
}

Test(rootfs_plan, repeats_the_links_of_a_merged_host, .init = set_up, .fini = tear_down, .timeout = 30)
{
	static const char *const rows[] = { "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32" };

	expect_plan("host view");
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const struct rootfs_entry *entry = entry_of(rows[i]);
		char text[PATH_MAX] = "", real[PATH_MAX];

		if (!realpath(rows[i], real)) {
			cr_expect(!entry, "%s", rows[i]);
			continue;
		}
		cr_assert(entry, "%s", rows[i]);
		if (readlink(rows[i], text, sizeof(text) - 1) > 0 && path_within("/usr", real))
			cr_expect(entry->kind == ROOTFS_SYMLINK && strcmp(entry->text, text) == 0, "%s",
				  rows[i]);
		else
			cr_expect(entry->kind == ROOTFS_BIND && strcmp(entry->source, real) == 0, "%s",
				  rows[i]);
	}
}

Test(rootfs_plan, writes_its_own_accounts, .init = set_up, .fini = tear_down, .timeout = 30)
{
	expect_plan("host view");
	cr_assert(entry_of("/etc/passwd") && entry_of("/etc/passwd")->kind == ROOTFS_FILE);
	cr_expect(strstr(entry_of("/etc/passwd")->text, "\nsandbox:x:1234:2345:sandbox:/tmp:"));
	cr_expect(strncmp(entry_of("/etc/passwd")->text, "root:x:0:0:", 11) == 0);
	cr_expect(strstr(entry_of("/etc/passwd")->text, "\nnobody:x:65534:65534:"));
	cr_expect(strstr(entry_of("/etc/group")->text, "\nsandbox:x:2345:\n"));
}

Test(rootfs_plan, names_follow_the_network, .init = set_up, .fini = tear_down, .timeout = 30)
{
	static const struct {
		enum policy_network_mode mode;
		const char *target;
		const char *says; /* text of a file of ours; "": mounted if the host has it; NULL: absent */
	} rows[] = {
		{ POLICY_NETWORK_NONE, "/etc/nsswitch.conf", "hosts: files\n" },
		{ POLICY_NETWORK_NONE, "/etc/hosts", NULL },
		{ POLICY_NETWORK_NONE, "/etc/services", NULL },
		{ POLICY_NETWORK_LOOPBACK, "/etc/nsswitch.conf", "hosts: files\n" },
		{ POLICY_NETWORK_LOOPBACK, "/etc/hosts", "127.0.0.1 localhost warder\n" },
		{ POLICY_NETWORK_LOOPBACK, "/etc/resolv.conf", NULL },
		{ POLICY_NETWORK_LOOPBACK, "/etc/ssl/certs", NULL },
		{ POLICY_NETWORK_ALLOW, "/etc/nsswitch.conf", "hosts: files dns\n" },
		{ POLICY_NETWORK_ALLOW, "/etc/hosts", "127.0.0.1 localhost warder\n" },
		{ POLICY_NETWORK_ALLOW, "/etc/resolv.conf", "nameserver 198.18.0.1\n" },
		{ POLICY_NETWORK_ALLOW, "/etc/ssl/certs", "" },
		{ POLICY_NETWORK_HOST, "/etc/nsswitch.conf", "" },
		{ POLICY_NETWORK_HOST, "/etc/hosts", "" },
		{ POLICY_NETWORK_HOST, "/etc/resolv.conf", "" },
		{ POLICY_NETWORK_HOST, "/etc/services", "" },
		{ POLICY_NETWORK_HOST, "/etc/ssl/certs", "" },
		{ POLICY_NETWORK_HOST, "/etc/ssl/private", NULL },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const struct rootfs_entry *entry;
		bool on_host = access(rows[i].target, R_OK) == 0;

		policy.network.mode = rows[i].mode;
		expect_plan(rows[i].target);
		entry = entry_of(rows[i].target);
		if (!rows[i].says)
			cr_expect(!entry, "mode %d: %s", rows[i].mode, rows[i].target);
		else if (rows[i].says[0])
			cr_expect(entry && entry->kind == ROOTFS_FILE && strstr(entry->text, rows[i].says),
				  "mode %d: %s", rows[i].mode, rows[i].target);
		else
			cr_expect(on_host ? entry && entry->kind == ROOTFS_BIND && entry->optional : !entry,
				  "mode %d: %s", rows[i].mode, rows[i].target);
	}
}

/* ---- workspace ---- */

Test(rootfs_plan, mounts_the_workspace, .init = set_up, .fini = tear_down, .timeout = 30)
{
	static const struct {
		const char *root, *canonical;
		enum policy_workspace mode;
	} rows[] = {
		{ "@/data", "@/data", POLICY_WORKSPACE_READ_ONLY },
		{ "@/data", "@/data", POLICY_WORKSPACE_READ_WRITE },
		{ "@/link", "@/data", POLICY_WORKSPACE_READ_WRITE },
		{ "@/link/inner/deep", "@/data/sub/deep", POLICY_WORKSPACE_READ_ONLY },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const struct rootfs_entry *entry;

		policy.filesystem.workspace = rows[i].mode;
		policy.filesystem.workspace_root = (char *)(uintptr_t)at(rows[i].root);
		expect_plan(rows[i].root);
		entry = entry_of("/workspace");
		cr_assert(entry && entry->kind == ROOTFS_BIND && entry->is_directory, "%s", rows[i].root);
		cr_expect(strcmp(entry->source, at(rows[i].canonical)) == 0, "%s", entry->source);
		cr_expect(entry->read_only == (rows[i].mode == POLICY_WORKSPACE_READ_ONLY));
		cr_expect(entry->owner_mapped && !entry->no_exec && !entry->optional);
		cr_expect(entry->owner_uid == geteuid() && entry->field == POLICY_FIELD_WORKSPACE);
		cr_expect(strcmp(rootfs.working_directory, "/workspace") == 0);
	}
}

Test(rootfs_plan, refuses_workspaces, .init = set_up, .fini = tear_down, .timeout = 30)
{
	static const struct {
		const char *root, *says;
	} rows[] = {
		{ "/", "whole host" },
		{ "/proc", "type proc" },
		{ "/proc/sys", "type proc" },
		{ "/sys", "type" },
		{ "/sys/kernel", "type" },
		{ "/dev", "devices" },
		{ "/run", "sockets" },
		{ "/proc/self/cwd", "link of procfs" },
		{ "/proc/self/root", "link of procfs" },
		{ "@/gone", "does not exist" },
		{ "@/data/file", "is not a directory" },
		{ "@/data/file/x", "does not exist" },
		{ "@/loop", "too many links" },
		{ "@/data/../other", "\"..\"" },
		{ "relative", "not absolute" },
		{ "", "is empty" },
	};

	policy.filesystem.workspace = POLICY_WORKSPACE_READ_WRITE;
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		policy.filesystem.workspace_root = (char *)(uintptr_t)at(rows[i].root);
		cr_expect(refused(WARDER_ERROR_INVALID_REQUEST, "filesystem.workspace", rows[i].says),
			  "%s: %s: %s", rows[i].root, err.field, err.text);
	}
}

/* ---- links of other users ---- */

#define STRANGER 12345

static void own(const char *path, uid_t owner)
{
	cr_assert(lchown(at(path), owner, owner) == 0, "%s: %s", path, strerror(errno));
}

Test(rootfs_plan, root_follows_its_own_links_only, .init = set_up, .fini = tear_down, .timeout = 30)
{
	static const struct {
		const char *owned, *root,
		    *link; /* whose owner is a stranger; what is planned; what is refused */
	} rows[] = {
		{ "@/link", "@/link", "@/link" },
		{ "@/link", "@/link/sub", "@/link" },
		{ "@/link", "@/link/inner/deep", "@/link" },
		{ "@/data/inner", "@/link/inner/deep", "@/data/inner" },
		{ "@/data/inner", "@/data/inner", "@/data/inner" },
		{ "@/rootlink", "@/rootlink", "@/rootlink" },
		{ "@/data/out", "@/link/out", "@/data/out" },
		{ "@/loop", "@/loop", "@/loop" },
		{ "@/link", "@/data/sub", NULL },
		{ "@/data", "@/link/inner/deep", NULL },
		{ "@/data/out", "@/link/inner", NULL },
	};
	char quoted[PATH_MAX];

	if (geteuid() != 0)
		cr_skip_test("needs root, to make links of other users");
	policy.filesystem.workspace = POLICY_WORKSPACE_READ_WRITE;
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		policy.filesystem.workspace_root = (char *)(uintptr_t)at(rows[i].root);
		own(rows[i].owned, STRANGER);
		if (!rows[i].link) {
			cr_expect(plan() == 0, "row %zu: %s", i, err.text);
		} else {
			snprintf(quoted, sizeof(quoted),
				 "\"%.4000s\" is a symbolic link that belongs to uid %d ", at(rows[i].link),
				 STRANGER);
			cr_expect(refused(WARDER_ERROR_REJECTED, "filesystem.workspace", quoted),
				  "row %zu: %s: %s", i, err.field, err.text);
		}
		own(rows[i].owned, 0);
	}
}

Test(rootfs_plan, root_walks_as_the_kernel_does, .init = set_up, .fini = tear_down, .timeout = 30)
{
	static const char long_name[] =
	    "@/link/"
	    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	    "a";
	static const struct {
		const char *path;
		int error;
	} rows[] = {
		{ "@/link/gone", ENOENT },        { "@/link/file/x", ENOTDIR }, { "@/loop/x", ELOOP },
		{ long_name, ENAMETOOLONG },      { "@/link/file", 0 },         { "@/link/inner/deep", 0 },
		{ "/proc/self", ELOOP },          { "/proc/self/cwd", ELOOP },  { "@/link/out", 0 },
		{ "/proc/self/root/etc", ELOOP },
	};
	owned_fd int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		owned_source struct source source = SOURCE_NONE;
		struct source_link link;
		char real[PATH_MAX];
		int found = source_find_named(root_fd, at(rows[i].path), &source, &link);

		if (geteuid() != 0 && strcmp(rows[i].path, "/proc/self") == 0)
			continue;
		if (rows[i].error)
			cr_expect(found == -1 && errno == rows[i].error, "%s: %d %d", rows[i].path, found,
				  errno);
		else
			cr_expect(found == 0 && realpath(at(rows[i].path), real) &&
				      strcmp(source.path, real) == 0,
				  "%s: %d %s", rows[i].path, found, source.path);
	}
}

static int plan_as_stranger(void)
{
	if (setresgid(STRANGER, STRANGER, STRANGER) != 0 || setresuid(STRANGER, STRANGER, STRANGER) != 0)
		return 2;
	return plan() == 0 ? 0 : 1;
}

Test(rootfs_plan, users_follow_any_links, .init = set_up, .fini = tear_down, .timeout = 30)
{
	int status = -1;
	pid_t pid;

	if (geteuid() != 0)
		cr_skip_test("needs root, to make links of other users");
	cr_assert(chmod(top, 0755) == 0);
	policy.filesystem.workspace = POLICY_WORKSPACE_READ_ONLY;
	policy.filesystem.workspace_root = (char *)(uintptr_t)at("@/link");
	own("@/link", STRANGER + 1);
	pid = fork();
	if (pid == 0)
		_exit(plan_as_stranger());
	cr_assert(pid > 0 && waitpid(pid, &status, 0) == pid);
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%x", (unsigned int)status);
}

/* ---- paths ---- */

enum shown { ABSENT, READ_ONLY, READ_WRITE, LINK, DIRECTORY };

static enum shown shown_as(const char *target)
{
	const struct rootfs_entry *entry = entry_of(target);

	if (!entry)
		return ABSENT;
	switch (entry->kind) {
	case ROOTFS_BIND:
		cr_expect(strcmp(entry->source, target) == 0 &&
			      entry->owner_mapped == (entry->field == POLICY_FIELD_PATHS),
			  "%s", target);
		return entry->read_only ? READ_ONLY : READ_WRITE;
	case ROOTFS_SYMLINK:
		return LINK;
	case ROOTFS_DIRECTORY:
	case ROOTFS_FILE:
	case ROOTFS_OVERLAY:
		break;
	}
	return DIRECTORY;
}

Test(rootfs_plan, mounts_paths_where_they_are, .init = set_up, .fini = tear_down, .timeout = 30)
{
	static const struct {
		const char *read_only[3], *read_write[3];
		struct {
			const char *target;
			enum shown shown;
		} expected[4];
	} rows[] = {
		{ { "@/data" }, { NULL }, { { "@/data", READ_ONLY }, { "@", DIRECTORY } } },
		{ { NULL }, { "@/data" }, { { "@/data", READ_WRITE } } },
		{ { "@/data/file" }, { NULL }, { { "@/data/file", READ_ONLY }, { "@/data", DIRECTORY } } },
		/* visible already */
		{ { "@/data", "@/data/sub" },
		  { NULL },
		  { { "@/data", READ_ONLY }, { "@/data/sub", ABSENT } } },
		{ { "@/data/sub", "@/data" },
		  { NULL },
		  { { "@/data", READ_ONLY }, { "@/data/sub", ABSENT } } },
		{ { "@/data/file", "@/data" }, { NULL }, { { "@/data/file", ABSENT } } },
		{ { "/usr/share" }, { NULL }, { { "/usr", READ_ONLY }, { "/usr/share", ABSENT } } },
		/* not visible in the same way */
		{ { "@/data" }, { "@/data/sub" }, { { "@/data", READ_ONLY }, { "@/data/sub", READ_WRITE } } },
		{ { "@/data/sub" }, { "@/data" }, { { "@/data", READ_WRITE }, { "@/data/sub", READ_ONLY } } },
		{ { "@/data", "@/data/sub/deep" },
		  { "@/data/sub" },
		  { { "@/data", READ_ONLY },
		    { "@/data/sub", READ_WRITE },
		    { "@/data/sub/deep", READ_ONLY } } },
		/* links */
		{ { "@/link" }, { NULL }, { { "@/data", READ_ONLY }, { "@/link", LINK } } },
		{ { "@/link/sub" }, { NULL }, { { "@/data/sub", READ_ONLY }, { "@/link/sub", LINK } } },
		{ { "@/link/sub", "@/link" },
		  { NULL },
		  { { "@/data", READ_ONLY }, { "@/link", LINK }, { "@/link/sub", ABSENT } } },
		{ { "@/link", "@/link/sub" },
		  { NULL },
		  { { "@/data", READ_ONLY }, { "@/link", LINK }, { "@/link/sub", ABSENT } } },
		{ { "@/data", "@/link" }, { NULL }, { { "@/data", READ_ONLY } } },
		{ { "@/data/inner", "@/data" },
		  { NULL },
		  { { "@/data", READ_ONLY }, { "@/data/inner", ABSENT } } },
		/* instead of the view's */
		{ { "/usr" }, { NULL }, { { "/usr", READ_ONLY } } },
		{ { "/etc" },
		  { NULL },
		  { { "/etc", READ_ONLY }, { "/etc/passwd", ABSENT }, { "/etc/localtime", ABSENT } } },
		{ { NULL }, { "/etc" }, { { "/etc", READ_WRITE }, { "/etc/passwd", ABSENT } } },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		strict();
		for (size_t j = 0; j < 3 && rows[i].read_only[j]; j++)
			grant(0, rows[i].read_only[j]);
		for (size_t j = 0; j < 3 && rows[i].read_write[j]; j++)
			grant(1, rows[i].read_write[j]);
		expect_plan("paths");
		for (size_t j = 0; j < 4 && rows[i].expected[j].target; j++)
			cr_expect(shown_as(at(rows[i].expected[j].target)) == rows[i].expected[j].shown,
				  "row %zu: %s", i, rows[i].expected[j].target);
	}
}

Test(rootfs_plan, mounts_paths_at_their_place, .init = set_up, .fini = tear_down, .timeout = 30)
{
	const struct rootfs_entry *entry;

	strict();
	policy.filesystem.workspace = POLICY_WORKSPACE_READ_WRITE;
	policy.filesystem.workspace_root = (char *)(uintptr_t)at("@/data");
	grant(0, "@/other:/workspace/sub/deep");
	grant(0, "@/data/sub:/workspace/sub");
	expect_plan("placed");
	entry = entry_of("/workspace/sub");
	cr_expect(entry && entry->read_only && entry->owner_mapped &&
		  strcmp(entry->source, at("@/data/sub")) == 0);
	entry = entry_of("/workspace/sub/deep");
	cr_expect(entry && entry->read_only && entry->owner_mapped &&
		  strcmp(entry->source, at("@/other")) == 0);

	strict();
	grant(0, "@/data:/workspace/a/b");
	expect_plan("placed without a workspace");
	entry = entry_of("/workspace/a/b");
	cr_expect(entry && entry->read_only && shown_as("/workspace/a") == DIRECTORY);
}

/* A program that may rename the directory above could put another one in its place. */
Test(rootfs_plan, holds_what_leads_to_a_path, .init = set_up, .fini = tear_down, .timeout = 30)
{
	const struct rootfs_entry *entry;

	strict();
	policy.filesystem.workspace = POLICY_WORKSPACE_READ_WRITE;
	policy.filesystem.workspace_root = (char *)(uintptr_t)at("@/");
	grant(0, "@/other:/workspace/data/sub/deep");
	expect_plan("held in the workspace");
	entry = entry_of("/workspace/data");
	cr_expect(entry && entry->held && !entry->read_only && entry->owner_mapped && entry->is_directory &&
		  strcmp(entry->source, at("@/data")) == 0);
	entry = entry_of("/workspace/data/sub");
	cr_expect(entry && entry->held && strcmp(entry->source, at("@/data/sub")) == 0);
	entry = entry_of("/workspace/data/sub/deep");
	cr_expect(entry && !entry->held && entry->read_only);

	strict();
	policy.filesystem.workspace = POLICY_WORKSPACE_READ_ONLY;
	policy.filesystem.workspace_root = (char *)(uintptr_t)at("@/data");
	grant(0, "@/other:/workspace/sub/deep");
	expect_plan("nothing to hold");
	cr_expect(!entry_of("/workspace/sub"));

	strict();
	grant(1, "@/data");
	grant(0, "@/data/sub/deep");
	expect_plan("held in a path");
	entry = entry_of(at("@/data/sub"));
	cr_expect(entry && entry->held && !entry->read_only);
}

Test(rootfs_plan, refuses_places, .init = set_up, .fini = tear_down, .timeout = 30)
{
	static const struct {
		const char *first, *second, *says;
	} rows[] = {
		{ "@/other:/workspace/gone", NULL, "no place to mount" },
		{ "@/other:/workspace/file", NULL, "one is a directory" },
		{ "@/other:/workspace/inner", NULL, "no place to mount" }, /* a link */
		{ "@/other:/workspace/inner/deep", NULL, "no place to mount" },
		{ "@/gone:/workspace/sub", NULL, "does not exist on this host" },
		{ "/proc/self:/workspace/sub", NULL, "link of procfs" },
		{ "/proc/1:/workspace/sub", NULL, "file system of type proc" },
		{ "/dev/null:/workspace/file", NULL, "neither a directory nor a regular file" },
		{ "@/other:/workspace/sub", "@/data:/workspace/sub", "two paths" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		strict();
		policy.filesystem.workspace = POLICY_WORKSPACE_READ_WRITE;
		policy.filesystem.workspace_root = (char *)(uintptr_t)at("@/data");
		grant(0, rows[i].first);
		if (rows[i].second)
			grant(0, rows[i].second);
		cr_expect(rootfs_plan(&policy, &rootfs, &err) != 0 && strstr(err.text, rows[i].says),
			  "%s: %s", rows[i].first, err.text);
		rootfs_done(&rootfs);
	}
}

/* Whether the plan binds that source there, as the lists ask for it. */
static bool binds(const char *target, const char *source, bool read_only)
{
	const struct rootfs_entry *entry = entry_of(at(target));

	return entry && entry->kind == ROOTFS_BIND && strcmp(entry->source, at(source)) == 0 &&
	       entry->read_only == read_only;
}

Test(rootfs_plan, mounts_paths_at_their_targets, .init = set_up, .fini = tear_down, .timeout = 30)
{
	static const struct {
		const char *read_only[2], *read_write[2];
		struct {
			const char *target, *source;
			bool read_only;
		} expected[3];
	} rows[] = {
		{ { "@/data:/srv/a/b" }, { NULL }, { { "/srv/a/b", "@/data", true } } },
		{ { "@/data/file:/etc/passwd" }, { NULL }, { { "/etc/passwd", "@/data/file", true } } },
		{ { NULL }, { "@/data:/out" }, { { "/out", "@/data", false } } },
		{ { "@/link:/x", "@/data" },
		  { "@/data:/y" },
		  { { "/x", "@/data", true }, { "@/data", "@/data", true }, { "/y", "@/data", false } } },
		/* one within the other */
		{ { "@/data:/x" },
		  { "@/other:/x/sub" },
		  { { "/x", "@/data", true }, { "/x/sub", "@/other", false } } },
		{ { "@/other:/x/sub/deep" },
		  { "@/data:/x" },
		  { { "/x/sub/deep", "@/other", true }, { "/x", "@/data", false } } },
		/* where the jail has a file system of its own */
		{ { "@/data:/tmp/a/b" }, { NULL }, { { "/tmp/a/b", "@/data", true } } },
		{ { "@/data:/tmp/a" },
		  { "@/other:/tmp/a/sub" },
		  { { "/tmp/a", "@/data", true }, { "/tmp/a/sub", "@/other", false } } },
		/* through links of the view */
		{ { "@/data:/var/tmp/a" }, { NULL }, { { "/tmp/a", "@/data", true } } },
		{ { "@/data:/var/tmp" }, { NULL }, { { "/var/tmp", "@/data", true } } },
		/* a colon that no slash follows */
		{ { "@/data/a:b:/x" }, { NULL }, { { "/x", "@/data/a:b", true } } },
		{ { "@/data/a:/b:/x" }, { NULL }, { { "/x", "@/data/a:/b", true } } },
	};

	make("/data/a:b", NULL);
	make("/data/a:/", NULL);
	make("/data/a:/b", NULL);
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		strict();
		for (size_t j = 0; j < 2 && rows[i].read_only[j]; j++)
			grant(0, rows[i].read_only[j]);
		for (size_t j = 0; j < 2 && rows[i].read_write[j]; j++)
			grant(1, rows[i].read_write[j]);
		expect_plan("targets");
		for (size_t j = 0; j < 3 && rows[i].expected[j].target; j++)
			cr_expect(binds(rows[i].expected[j].target, rows[i].expected[j].source,
					rows[i].expected[j].read_only),
				  "row %zu: %s", i, rows[i].expected[j].target);
		cr_expect(!entry_of("/tmp/a/b") || !entry_of("/tmp/a"), "row %zu: the way below /tmp", i);
	}
	unlink(at("@/data/a:b"));
	unlink(at("@/data/a:/b"));
	rmdir(at("@/data/a:"));
}

/* What is missing is made in the root's own tmpfs, never in the source. */
Test(rootfs_plan, takes_a_read_only_bind_apart, .init = set_up, .fini = tear_down, .timeout = 30)
{
	const struct rootfs_entry *entry;
	struct stat st;

	strict();
	grant(0, "@/data:/x");
	grant(0, "@/other:/x/sub/new/place");
	expect_plan("a path");
	entry = entry_of("/x");
	cr_expect(entry && entry->kind == ROOTFS_DIRECTORY && entry->read_only &&
		  strcmp(entry->source, at("@/data")) == 0 && entry->field == POLICY_FIELD_PATHS);
	entry = entry_of("/x/sub");
	cr_expect(entry && entry->kind == ROOTFS_DIRECTORY && entry->held);
	entry = entry_of("/x/sub/deep");
	cr_expect(entry && entry->held && entry->read_only && entry->owner_mapped &&
		  binds("/x/sub/deep", "@/data/sub/deep", true));
	cr_expect(binds("/x/file", "@/data/file", true) && entry_of("/x/file")->held);
	cr_expect(entry_of("/x/inner") && entry_of("/x/inner")->kind == ROOTFS_SYMLINK);
	cr_expect(entry_of("/x/sub/new") && entry_of("/x/sub/new")->kind == ROOTFS_DIRECTORY);
	cr_expect(binds("/x/sub/new/place", "@/other", true) && !entry_of("/x/sub/new/place")->held);
	cr_expect(stat(at("@/data/sub/new"), &st) != 0);

	strict();
	policy.filesystem.workspace = POLICY_WORKSPACE_READ_ONLY;
	policy.filesystem.workspace_root = (char *)(uintptr_t)at("@/data");
	grant(1, "@/other:/workspace/new");
	expect_plan("a workspace");
	cr_expect(binds("/workspace/new", "@/other", false) && binds("/workspace/sub", "@/data/sub", true));
	cr_expect(strcmp(rootfs.working_directory, "/workspace") == 0);

	strict();
	grant(0, "@/data:/usr/local/warder-new/x");
	expect_plan("the view");
	cr_expect(entry_of("/usr")->kind == ROOTFS_DIRECTORY && !entry_of("/usr/bin")->owner_mapped &&
		  entry_of("/usr/bin")->kind == ROOTFS_BIND);

	strict();
	grant(0, "@/data:/usr/bin/warder-new");
	cr_expect(refused(WARDER_ERROR_INVALID_REQUEST, "filesystem.paths", "more than"), "%s", err.text);
	strict();
	grant(1, "@/data:/x");
	grant(0, "@/other:/x/gone");
	cr_expect(refused(WARDER_ERROR_INVALID_REQUEST, "filesystem.paths", "create it there"), "%s",
		  err.text);
	strict();
	grant(0, "@/data:/x");
	grant(0, "@/other:/x/inner/new");
	cr_expect(refused(WARDER_ERROR_INVALID_REQUEST, "filesystem.paths", "without a link"), "%s",
		  err.text);
	strict();
	grant(0, "@/data:/x");
	grant(0, "@/other:/x/file/new");
	cr_expect(refused(WARDER_ERROR_INVALID_REQUEST, "filesystem.paths", "no place"), "%s", err.text);
}

/* The owner of what is held or taken apart is that of the whole: else a part of somebody else's would be the jail's user's. */
Test(rootfs_plan, keeps_the_owner_of_the_whole, .init = set_up, .fini = tear_down, .timeout = 30)
{
	if (geteuid() != 0)
		cr_skip_test("needs root to give a file away");
	cr_assert(chown(at("@/data/file"), 4711, 4711) == 0 && chown(at("@/data/sub"), 4711, 4711) == 0);
	strict();
	grant(0, "@/data:/x");
	grant(0, "@/other:/x/new");
	expect_plan("apart");
	cr_expect(rootfs_open(&rootfs, &err) == 0, "%s", err.text);
	cr_expect(entry_of("/x/file")->owner_uid == 0 && entry_of("/x/sub")->owner_gid == 0);
	strict();
	grant(1, "@/data:/x");
	grant(0, "@/other:/x/sub/deep");
	expect_plan("held");
	cr_expect(rootfs_open(&rootfs, &err) == 0, "%s", err.text);
	cr_expect(entry_of("/x/sub")->held && entry_of("/x/sub")->owner_uid == 0);
}

Test(rootfs_plan, refuses_paths, .init = set_up, .fini = tear_down, .timeout = 30)
{
	static const struct {
		const char *path, *says;
	} rows[] = {
		{ "/", "whole host" },
		{ "/proc", "at or below /proc" },
		{ "/proc/cpuinfo", "at or below /proc" },
		{ "/sys", "at or below /sys" },
		{ "/dev", "devices" },
		{ "/dev/null", "neither a directory nor a regular file" },
		{ "/tmp", "has the target /tmp" },
		{ "@/data:sub", "a target inside is absolute" },
		{ "@/root/fifo:/x", "name the directory that holds it" },
		{ "/run", "sockets" },
		{ "@/gone", "does not exist on this host" },
		{ "@/root/fifo", "neither a directory nor a regular file" },
		{ "@/loop", "too many links" },
		{ "/proc/self/root/etc", "link of procfs" },
		{ "etc", "not absolute" },
		{ "/usr/../etc", "\"..\"" },
	};
	static const char *const fields[] = { "filesystem.paths.readOnly[0]",
					      "filesystem.paths.readWrite[0]" };

	for (int list = 0; list < 2; list++) {
		for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
			strict();
			grant(list, rows[i].path);
			cr_expect(refused(WARDER_ERROR_INVALID_REQUEST, fields[list], rows[i].says),
				  "%s: %s: %s", rows[i].path, err.field, err.text);
		}
	}
	strict();
	grant(0, "@/data:/x");
	grant(0, "@/other:/x");
	cr_expect(refused(WARDER_ERROR_INVALID_REQUEST, "filesystem.paths.readOnly[1]",
			  "two paths have the target /x"),
		  "%s", err.text);
	strict();
	grant(0, "@/data:/tmp/x");
	grant(1, "@/other:/var/tmp/x");
	cr_expect(refused(WARDER_ERROR_INVALID_REQUEST, "filesystem.paths.readWrite[0]",
			  "two paths have the target /tmp/x"),
		  "%s", err.text);
	strict();
	grant(0, "@/link");
	grant(1, "@/data");
	cr_expect(refused(WARDER_ERROR_INVALID_REQUEST, "filesystem.paths.readWrite[0]", "leave one out"),
		  "%s: %s", err.field, err.text);
}

/* ---- directory view ---- */

static void view(const char *path)
{
	strict();
	policy.filesystem.view = POLICY_VIEW_DIRECTORY;
	policy.filesystem.view_source = (char *)(uintptr_t)at(path);
}

Test(rootfs_plan, takes_a_directory_apart, .init = set_up, .fini = tear_down, .timeout = 30)
{
	static const struct {
		const char *target;
		enum rootfs_kind kind;
		const char *what; /* source or text */
	} rows[] = {
		{ "/usr", ROOTFS_BIND, "@/root/usr" }, { "/etc", ROOTFS_BIND, "@/root/etc" },
		{ "/var", ROOTFS_BIND, "@/root/var" }, { "/init", ROOTFS_BIND, "@/root/init" },
		{ "/bin", ROOTFS_SYMLINK, "usr/bin" }, { "/abs", ROOTFS_SYMLINK, "/etc/motd" },
		{ "/srv", ROOTFS_SYMLINK, "/var" },    { "/proc", ROOTFS_DIRECTORY, NULL },
		{ "/dev", ROOTFS_DIRECTORY, NULL },    { "/tmp", ROOTFS_DIRECTORY, NULL },
	};
	static const char *const sources[] = { "@/root", "@/rootlink" };

	for (size_t s = 0; s < ARRAY_LENGTH(sources); s++) {
		view(sources[s]);
		expect_plan(sources[s]);
		cr_expect(rootfs.count == ARRAY_LENGTH(rows), "%zu entries", rootfs.count);
		for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
			const struct rootfs_entry *entry = entry_of(rows[i].target);
			const char *what = entry && entry->source ? entry->source
					   : entry                ? entry->text
								  : NULL;

			cr_assert(entry && entry->kind == rows[i].kind, "%s", rows[i].target);
			cr_expect(rows[i].what ? what && strcmp(what, at(rows[i].what)) == 0 : !what,
				  "%s: %s", rows[i].target, what);
			cr_expect(entry->kind != ROOTFS_BIND || (entry->read_only && !entry->owner_mapped));
		}
	}
}

Test(rootfs_plan, refuses_views, .init = set_up, .fini = tear_down, .timeout = 30)
{
	static const struct {
		const char *path, *says;
	} rows[] = {
		{ "/", "view \"host\"" },
		{ "@/gone", "does not exist" },
		{ "@/data/file", "is not a directory" },
		{ "root", "not absolute" },
		{ "@/root/../root", "\"..\"" },
		{ "@/odd", "\"a\\nb\"" },
		{ "/proc/self/root", "link of procfs" },
		{ "/sys", "type" },
		{ "/run", "sockets" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		view(rows[i].path);
		cr_expect(refused(WARDER_ERROR_INVALID_REQUEST, "filesystem.view", rows[i].says),
			  "%s: %s: %s", rows[i].path, err.field, err.text);
	}
	strict();
	policy.filesystem.view = POLICY_VIEW_IMAGE;
	policy.filesystem.view_source = (char *)(uintptr_t) "debian:12";
	setenv("WARDER_STORE", at("@/store"), 1);
	cr_expect(refused(WARDER_ERROR_INVALID_REQUEST, "filesystem.view", "there is no image"), "%s",
		  err.text);
	cr_expect(strstr(err.text, "debian:12") && strstr(err.text, "image import"), "%s", err.text);
}

Test(rootfs_plan, refuses_a_directory_that_holds_no_root, .init = set_up, .fini = tear_down, .timeout = 30)
{
	char name[PATH_MAX];

	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "%.4000s/other/%d", top, i);
		cr_assert(mkdir(name, 0755) == 0);
	}
	view("@/other");
	cr_expect(refused(WARDER_ERROR_INVALID_REQUEST, "filesystem.view", "more than"), "%s", err.text);
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "%.4000s/other/%d", top, i);
		rmdir(name);
	}
}

/* The view has /usr/bin, but no /usr/share; and a file or a link is no place for a directory. */
Test(rootfs_plan, mounts_over_a_view_only_where_it_has_the_place, .init = set_up, .fini = tear_down,
     .timeout = 30)
{
	char name[PATH_MAX];

	view("@/root");
	grant(0, "/usr/bin");
	expect_plan("a place that is there");
	cr_expect(entry_of("/usr/bin") && entry_of("/usr/bin")->kind == ROOTFS_BIND);

	view("@/root");
	grant(0, "/usr/share");
	expect_plan("a place that is made");
	cr_expect(entry_of("/usr")->kind == ROOTFS_DIRECTORY && entry_of("/usr/bin")->kind == ROOTFS_BIND &&
		  entry_of("/usr/share")->kind == ROOTFS_BIND);

	snprintf(name, sizeof(name), "%.4000s/root/usr/share", top);
	cr_assert(symlink("bin", name) == 0);
	view("@/root");
	grant(0, "/usr/share");
	cr_expect(refused(WARDER_ERROR_INVALID_REQUEST, "filesystem.paths", "without a link"), "%s",
		  err.text);
	cr_assert(unlink(name) == 0 && close(open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644)) == 0);
	cr_expect(refused(WARDER_ERROR_INVALID_REQUEST, "filesystem.paths", "one is a directory"), "%s",
		  err.text);
	cr_assert(unlink(name) == 0);

	if (!path_within("/srv", top) && access("/srv", X_OK) == 0) {
		view("@/root");
		grant(0, "/srv"); /* replaces the view's link */
		expect_plan("a link that gives way");
		cr_expect(entry_of("/srv")->kind == ROOTFS_BIND);
	}
	if (path_within("/srv", top)) {
		view("@/root");
		grant(0, "@/data"); /* the view's link leads to its /var, which lacks the place */
		expect_plan("through a link of the view");
		cr_expect(entry_of("/srv")->kind == ROOTFS_SYMLINK && !entry_of(at("@/data")));
		cr_expect(entry_of("/var")->kind == ROOTFS_DIRECTORY);
	}
}

/* ---- the rest ---- */

Test(rootfs_plan, checks_the_working_directory, .init = set_up, .fini = tear_down, .timeout = 30)
{
	static const struct {
		const char *path, *says; /* NULL: fine */
	} rows[] = {
		{ "/", NULL },
		{ "/tmp", NULL },
		{ "/tmp/new/deep", NULL },
		{ "/usr", NULL },
		{ "/usr/bin", NULL },
		{ "/bin", NULL },
		{ "/run", NULL },
		{ "/workspace", NULL },
		{ "/workspace/sub", NULL },
		{ "/workspace/inner/deep", NULL },
		{ "@/other", NULL },
		{ "@", NULL },
		{ "/dev", NULL },
		{ "/dev/shm", NULL },
		{ "/proc", NULL },
		{ "/tmp", NULL },
		{ "/tmp/new", NULL },
		{ "/workspace/new", "is not a directory" },
		{ "/workspace/file", "is not a directory" },
		{ "/workspace/out", "leads through a link" },
		{ "/workspacex", "is not in the jail" },
		{ "/etc/passwd", "is not in the jail" },
		{ "/home", "is not in the jail" },
		{ "/proc/self/fd/3", "lies in what the jail makes itself" },
		{ "/dev/fd", "lies in what the jail makes itself" },
		{ "/dev/shm/new", "lies in what the jail makes itself" },
		{ "/devices", "is not in the jail" },
		{ "@/root", "is not in the jail" },
		{ "/tmp/../etc", "\"..\"" },
		{ "../..", "not absolute" },
		{ "", "is empty" },
	};

	policy.filesystem.workspace = POLICY_WORKSPACE_READ_ONLY;
	policy.filesystem.workspace_root = (char *)(uintptr_t)at("@/data");
	grant(0, "@/other");
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		policy.working_directory = (char *)(uintptr_t)at(rows[i].path);
		if (rows[i].says) {
			cr_expect(refused(WARDER_ERROR_INVALID_REQUEST, "workingDirectory", rows[i].says),
				  "%s: %s: %s", rows[i].path, err.field, err.text);
			continue;
		}
		expect_plan(rows[i].path);
		cr_expect(strcmp(rootfs.working_directory, policy.working_directory) == 0, "%s",
			  rows[i].path);
	}
}

Test(rootfs_plan, works_in_a_path_named_through_a_link, .init = set_up, .fini = tear_down, .timeout = 30)
{
	grant(0, "@/link");
	policy.working_directory = (char *)(uintptr_t)at("@/link/sub");
	expect_plan("a link of the list");
	policy.working_directory = (char *)(uintptr_t)at("@/link/gone");
	cr_expect(refused(WARDER_ERROR_INVALID_REQUEST, "workingDirectory", "is not a directory"), "%s",
		  err.text);
}

Test(rootfs_plan, scratch_is_the_smaller_limit, .init = set_up, .fini = tear_down, .timeout = 30)
{
	expect_plan("no limit of disk");
	cr_expect(rootfs.scratch_bytes == 64 << 20 && !rootfs.tmp_exec);
	policy.limits.disk_bytes = 1 << 20;
	policy.filesystem.tmp_exec = true;
	expect_plan("a smaller limit");
	cr_expect(rootfs.scratch_bytes == 1 << 20 && rootfs.tmp_exec);
	policy.limits.disk_bytes = UINT64_C(1) << 40;
	expect_plan("a larger limit");
	cr_expect(rootfs.scratch_bytes == 64 << 20);
	rootfs_done(&rootfs);
	/* Never more than was granted: the kernel would round up. */
	policy.filesystem.tmp_bytes = (1 << 20) + 1;
	cr_expect(rootfs_plan(&policy, &rootfs, &err) == 0);
	cr_expect_eq(rootfs.scratch_bytes, 1u << 20);
}

/* ---- opening ---- */

Test(rootfs_open, opens_what_was_planned, .init = set_up, .fini = tear_down, .timeout = 30)
{
	grant(1, "@/data");
	grant(0, "@/data/file");
	expect_plan("to be opened");
	cr_assert(rootfs_open(&rootfs, &err) == 0, "%s", err.text);
	for (size_t i = 0; i < rootfs.count; i++) {
		const struct rootfs_entry *entry = &rootfs.entries[i];
		struct stat st;

		cr_expect((entry->source_fd >= 0) == (entry->kind == ROOTFS_BIND), "%s", entry->target);
		if (entry->kind != ROOTFS_BIND)
			continue;
		cr_expect(fcntl(entry->source_fd, F_GETFD) == FD_CLOEXEC &&
			  (fcntl(entry->source_fd, F_GETFL) & O_PATH));
		cr_expect(fstat(entry->source_fd, &st) == 0 && st.st_ino == entry->source_ino, "%s",
			  entry->target);
	}
}

static void swap_directory(const char *path)
{
	cr_assert(rename(path, at("@/old")) == 0 && mkdir(path, 0755) == 0);
}

static void swap_link(const char *path)
{
	cr_assert(rename(path, at("@/old")) == 0 && symlink("old", path) == 0);
}

static void swap_parent(const char *path)
{
	(void)path;
	cr_assert(rename(at("@/data"), at("@/old")) == 0 && symlink("old", at("@/data")) == 0);
}

static void take_away(const char *path)
{
	cr_assert(rename(path, at("@/old")) == 0);
}

Test(rootfs_open, refuses_what_was_swapped, .init = set_up, .fini = tear_down, .timeout = 30)
{
	static const struct {
		const char *label, *path;
		void (*swap)(const char *path);
		const char *says;
	} rows[] = {
		{ "another directory", "@/other", swap_directory, "was replaced" },
		{ "a link to the same", "@/other", swap_link, "was replaced" },
		{ "a link in a parent", "@/data/sub", swap_parent, "was replaced" },
		{ "gone", "@/other", take_away, "cannot be opened any more" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const char *moved = at(rows[i].swap == swap_parent ? "@/data" : "@/other");

		strict();
		grant(0, rows[i].path);
		expect_plan(rows[i].label);
		rows[i].swap(at(rows[i].path));
		cr_expect(rootfs_open(&rootfs, &err) == -1 && err.code == WARDER_ERROR_CONFLICT, "%s",
			  rows[i].label);
		cr_expect(strstr(err.text, rows[i].says) && strcmp(err.field, "filesystem.paths") == 0,
			  "%s: %s: %s", rows[i].label, err.field, err.text);
		if (unlink(moved) != 0)
			rmdir(moved);
		cr_assert(rename(at("@/old"), moved) == 0, "%s", rows[i].label);
	}
}

Test(rootfs_open, leaves_out_an_optional_source_that_is_gone, .init = set_up, .fini = tear_down,
     .timeout = 30)
{
	size_t count;

	grant(0, "@/other");
	expect_plan("an optional one");
	count = rootfs.count;
	for (size_t i = 0; i < count; i++)
		rootfs.entries[i].optional = true;
	take_away(at("@/other"));
	cr_expect(rootfs_open(&rootfs, &err) == 0, "%s", err.text);
	cr_expect(rootfs.count == count - 1 && !entry_of(at("@/other")));
	cr_assert(rename(at("@/old"), at("@/other")) == 0);
}

Test(rootfs_done, accepts_anything, .timeout = 20)
{
	struct rootfs zeroed = { 0 };

	rootfs_done(NULL);
	rootfs_done(&zeroed);
	rootfs_done(&zeroed);
}

/* ---- the mount table ---- */

Test(source, finds_kernel_file_systems_in_the_mount_table, .timeout = 20)
{
	static const char mounts[] =
	    "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
	    "23 27 0:22 / /sys rw - sysfs sysfs rw\n"
	    "24 27 0:6 / /dev rw,relatime shared:2 - devtmpfs devtmpfs rw\n"
	    "25 24 0:23 / /dev/shm rw - tmpfs tmpfs rw\n"
	    "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
	    "28 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
	    "29 28 0:29 / /sys/fs/cgroup/a rw master:1 propagate_from:2 - cgroup2 cgroup2 rw\n"
	    "30 27 0:30 / /srv/chroot/proc rw - proc proc rw\n"
	    "31 27 0:31 / /srv/with\\040blank/p rw - sysfs sysfs rw\n"
	    "32 27 0:32 / /srv/fuse rw - fuse.sshfs proc rw\n"
	    "33 27 0:33 / /srv/over rw - proc proc rw\n"
	    "34 33 0:34 / /srv/over rw - tmpfs none rw\n";
	static const struct {
		const char *path, *type;
	} rows[] = {
		{ "/proc", "proc" },
		{ "/proc/sys", "proc" },
		{ "/procx", NULL },
		{ "/dev", "devtmpfs" },
		{ "/dev/pts", "devtmpfs" },
		{ "/dev/shm", NULL },
		{ "/dev/shm/x", NULL },
		{ "/sys/fs/cgroup", "cgroup2" },
		{ "/sys/fs/cgroup/a/b", "cgroup2" },
		{ "/srv/chroot", "proc" },
		{ "/srv/chroot/etc", NULL },
		{ "/srv/with blank", "sysfs" },
		{ "/srv/fuse", NULL },
		{ "/home", NULL },
		{ "/srv/over", NULL },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const char *type = source_kernel_type(mounts, rows[i].path);

		cr_expect(rows[i].type ? type && strcmp(type, rows[i].type) == 0 : !type, "%s: %s",
			  rows[i].path, type);
	}
	cr_expect(!source_kernel_type("", "/x") && !source_kernel_type("\n\ngarbage\n1 2 3\n", "/x"));
	cr_expect(!source_kernel_type("1 2 3 4 /x", "/x") && !source_kernel_type("1 2 3 4 /x -", "/x"));
}
