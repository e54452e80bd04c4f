/* For each policy field: the program fails to exceed it, and the receipt's value was read from the kernel. */
#include <sys/vfs.h>

#include "base/array.h"
#include "tests/lib/jailed.h"

#define EXPECT_ROW(j, name, wanted)                                                                          \
	do {                                                                                                 \
		struct policy_receipt_row row_ = jailed_row((j), (name));                                    \
		cr_expect(row_.status == POLICY_RECEIPT_ENFORCED && strstr(row_.value, (wanted)),            \
			  "%s: receipt says \"%s\" (status %d), wanted \"%s\"", (name), row_.value,          \
			  row_.status, (wanted));                                                            \
	} while (0)

#define EXPECT_OUTPUT(j, wanted)                                                                             \
	cr_expect_str_eq(jailed_text((j), JAIL_STDOUT), (wanted), "got \"%s\", stderr \"%s\", %s",           \
			 jailed_text((j), JAIL_STDOUT), jailed_text((j), JAIL_STDERR), (j)->err.text)

/* Python's way of saying which errno a call had. */
#define ERRNO_OF(call)                                                                                       \
	"import os, socket, errno, ctypes\n"                                                                 \
	"libc = ctypes.CDLL(None, use_errno=True)\n"                                                         \
	"try:\n  " call "\n  print('done')\n"                                                                \
	"except OSError as e: print(errno.errorcode[e.errno])\n"

Test(fields, network_none, .timeout = 60)
{
	struct jailed *j = jailed_new();

	jailed_python(j, ERRNO_OF("socket.create_connection(('127.0.0.1', 1), 2)"));
	EXPECT_OUTPUT(j, "ENETUNREACH\n");
	EXPECT_ROW(j, "network.none", "lo down, no route");
	jailed_free(j);
}

Test(fields, network_loopback, .timeout = 60)
{
	struct jailed *j = jailed_new();

	j->policy.network.mode = POLICY_NETWORK_LOOPBACK;
	jailed_python(j, "import socket, errno\n"
			 "s = socket.create_server(('127.0.0.1', 0))\n"
			 "c = socket.create_connection(s.getsockname()); c.sendall(b'x')\n"
			 "print(s.accept()[0].recv(1))\n"
			 "try: socket.create_connection(('192.0.2.1', 1), 2)\n"
			 "except OSError as e: print(errno.errorcode[e.errno])\n");
	EXPECT_OUTPUT(j, "b'x'\nENETUNREACH\n");
	EXPECT_ROW(j, "network.loopback", "lo up");
	jailed_free(j);
}

/* The host's own loopback services are out of reach, those of the host's network are not. */
Test(fields, network_host, .timeout = 60)
{
	struct jailed *j = jailed_new();

	j->policy.network.mode = POLICY_NETWORK_HOST;
	jailed_sh(j, "readlink /proc/self/ns/net");
	{
		char own[64] = "";
		ssize_t n = readlink("/proc/self/ns/net", own, sizeof(own) - 2);

		cr_assert_gt(n, 0);
		own[n] = '\n';
		own[n + 1] = 0;
		EXPECT_OUTPUT(j, own);
	}
	cr_expect_eq(jailed_row(j, "network").status, POLICY_RECEIPT_UNRESTRICTED);
	jailed_free(j);
}

Test(fields, host_view_shows_nothing_else, .timeout = 60)
{
	struct jailed *j = jailed_new();

	jailed_sh(j, "ls /root /home /var/lib /boot /sys /mnt 2>/dev/null; cat /etc/shadow 2>/dev/null;"
		     "cut -d: -f1 /etc/passwd | tr '\\n' ' '; touch /usr/x 2>/dev/null || echo usr;"
		     "touch /x 2>/dev/null || echo root; touch /etc/x 2>/dev/null || echo etc;"
		     "touch /dev/x 2>/dev/null || echo dev");
	EXPECT_OUTPUT(j, "root sandbox nobody usr\nroot\netc\ndev\n");
	EXPECT_ROW(j, "filesystem.view.host", "each as planned");
	EXPECT_ROW(j, "filesystem.workspace.none", "no /workspace");
	jailed_free(j);
}

static char *make_directory(char *template)
{
	char *path = mkdtemp(template);

	cr_assert_not_null(path);
	chmod(path, 0700);
	return path;
}

static void write_file(const char *directory, const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "we");
	cr_assert_not_null(file);
	fputs(text, file);
	fclose(file);
	chmod(path, 0600);
}

static void remove_directory(const char *path)
{
	char command[300];

	snprintf(command, sizeof(command), "rm -rf '%s'", path);
	cr_assert_eq(system(command), 0);
}

/* Files are the owner's on both sides, although the jail's ids are not the owner's; modes 0700 and 0600 do not matter. */
Test(fields, workspace_read_write, .timeout = 60)
{
	char template[] = "/tmp/test-workspace-XXXXXX";
	char *path = make_directory(template);
	struct jailed *j = jailed_new();
	struct stat st;
	char made[300];

	write_file(path, "in", "from outside\n");
	j->policy.filesystem.workspace = POLICY_WORKSPACE_READ_WRITE;
	j->policy.filesystem.workspace_root = strdup(path);
	j->policy.limits.disk_bytes = POLICY_UNLIMITED;
	jailed_sh(j,
		  "pwd; cat in; echo from inside > out; stat -c %u:%g in out; mkdir -p a/b; mv out a/b/out;"
		  "chmod u+s a/b/out 2>/dev/null || echo no setuid");
	if (j->step == 4 && strstr(j->err.text, "idmapped"))
		cr_skip_test("%s", j->err.text);
	EXPECT_OUTPUT(j, "/workspace\nfrom outside\n1000:1000\n1000:1000\nno setuid\n");
	snprintf(made, sizeof(made), "%s/a/b/out", path);
	cr_expect_eq(stat(made, &st), 0);
	cr_expect_eq(st.st_uid, getuid());
	cr_expect_eq(st.st_gid, getgid());
	EXPECT_ROW(j, "filesystem.workspace.readWrite", "rw,nosuid,nodev");
	jailed_free(j);
	remove_directory(path);
}

Test(fields, workspace_read_only, .timeout = 60)
{
	char template[] = "/tmp/test-workspace-XXXXXX";
	char *path = make_directory(template);
	struct jailed *j = jailed_new();

	chmod(path, 0755);
	write_file(path, "in", "from outside\n");
	{
		char file[300];

		snprintf(file, sizeof(file), "%s/in", path);
		chmod(file, 0644);
	}
	j->policy.filesystem.workspace = POLICY_WORKSPACE_READ_ONLY;
	j->policy.filesystem.workspace_root = strdup(path);
	jailed_sh(j, "cat in; touch out 2>/dev/null || echo no; echo x >> in 2>/dev/null || echo no; rm in "
		     "2>/dev/null || echo no");
	EXPECT_OUTPUT(j, "from outside\nno\nno\nno\n");
	EXPECT_ROW(j, "filesystem.workspace.readOnly", "ro,nosuid,nodev");
	jailed_free(j);
	remove_directory(path);
}

/* Masks do not depend on what the view has: this one has neither /run nor anything else but programs. */
Test(fields, directory_view_is_masked_as_well, .timeout = 60)
{
	char root[] = "/tmp/test-view-XXXXXX";
	char *path = make_directory(root);
	struct jailed *j = jailed_new();
	char command[400];

	chmod(path, 0755);
	snprintf(command, sizeof(command),
		 "cd '%s' && mkdir bin && cp /bin/busybox bin/ 2>/dev/null && chmod 755 bin bin/busybox",
		 path);
	if (system(command) != 0) {
		remove_directory(path);
		cr_skip_test("needs a static busybox");
	}
	j->policy.filesystem.view = POLICY_VIEW_DIRECTORY;
	j->policy.filesystem.view_source = strdup(path);
	cr_assert_eq(jailed_prepare(j, false), 0, "%s", j->err.text);
	jailed_go(
	    j, (char *[]){
		   "/bin/busybox", "sh", "-c",
		   "for f in /proc/irq/* /proc/bus/* /proc/driver/*; do [ -e $f ] && echo $f; done; echo end",
		   NULL });
	EXPECT_OUTPUT(j, "end\n");
	jailed_free(j);
	remove_directory(path);
}

/* The size of a host directory cannot be limited: a limited disk and a writable workspace do not go together. */
Test(fields, disk_limit_with_a_writable_workspace_is_refused, .timeout = 60)
{
	struct jailed *j = jailed_new();

	j->policy.filesystem.workspace = POLICY_WORKSPACE_READ_WRITE;
	j->policy.filesystem.workspace_root = strdup("/var");
	cr_expect_eq(jailed_prepare(j, false), 1);
	cr_expect(strstr(j->err.text, "limits.disk"), "%s", j->err.text);
	jailed_free(j);
}

Test(fields, tmp_and_disk, .timeout = 60)
{
	struct jailed *j = jailed_new();

	j->policy.filesystem.tmp_bytes = 1 << 20;
	j->policy.limits.disk_bytes = 1 << 20;
	/* One size for both places, and for what has no name any more. */
	jailed_python(j, "import os, errno\n"
			 "f = open('/tmp/a', 'wb'); os.unlink('/tmp/a'); f.write(bytes(600000)); f.flush()\n"
			 "try:\n"
			 "  g = open('/dev/shm/b', 'wb'); g.write(bytes(600000)); g.flush(); print('done')\n"
			 "except OSError as e: print(errno.errorcode[e.errno], flush=True); os._exit(0)\n");
	EXPECT_OUTPUT(j, "ENOSPC\n");
	EXPECT_ROW(j, "filesystem.tmp", "1048576 bytes");
	EXPECT_ROW(j, "limits.disk.tmp", "1048576 bytes");
	jailed_free(j);
}

Test(fields, tmp_is_executable_only_on_request, .timeout = 60)
{
	for (int exec = 0; exec < 2; exec++) {
		struct jailed *j = jailed_new();

		j->policy.filesystem.tmp_exec = exec;
		jailed_sh(j, "cp /bin/echo /tmp/e; /tmp/e ran 2>/dev/null || echo refused");
		EXPECT_OUTPUT(j, exec ? "ran\n" : "refused\n");
		jailed_free(j);
	}
}

Test(fields, environment, .timeout = 60)
{
	static char *const outside[] = { "SECRET=1", "FOO=2", "PATH=/nowhere", NULL };
	static const struct policy_subject subject = { "command", POLICY_PAYLOAD_PROGRAM };
	struct jailed *j = jailed_new();
	char *argv[] = { "/usr/bin/env", NULL };

	j->policy.environment.mode = POLICY_ENVIRONMENT_ALLOW_LIST;
	j->policy.environment.names.items = calloc(2, sizeof(char *));
	j->policy.environment.names.items[0] = strdup("FOO");
	j->policy.environment.names.items[1] = strdup("UNSET");
	j->policy.environment.names.count = 2;
	jail_capabilities(&j->host, &j->policy, &j->capabilities);
	cr_assert_eq(policy_match(&j->policy, &j->capabilities, &subject, &j->match, &j->err), 0, "%s",
		     j->err.text);
	cr_assert_eq(jail_plan_build(&j->policy, &j->host, &j->capabilities, &j->match, outside, NULL,
				     &j->plan, &j->err),
		     0, "%s", j->err.text);
	cr_assert_eq(jail_prepare(&j->plan, &j->host, false, &j->tmpl, &j->err), 0, "%s", j->err.text);
	jailed_go(j, argv);
	EXPECT_OUTPUT(j, "PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin\n"
			 "HOME=/tmp\nTMPDIR=/tmp\nLANG=C.UTF-8\nFOO=2\n");
	jailed_free(j);
}

Test(fields, memory, .timeout = 120)
{
	struct jailed *j = jailed_new();

	jailed_need(j, CGROUP_MEMORY);
	j->policy.limits.memory_bytes = 100 << 20;
	jailed_python(j, "a = bytearray(300 << 20)\nprint('had it')\n");
	EXPECT_OUTPUT(j, "");
	EXPECT_ROW(j, "limits.memory", "104857600");
	jailed_free(j);
}

Test(fields, cpus, .timeout = 120)
{
	struct jailed *j = jailed_new();

	jailed_need(j, CGROUP_CPU);
	j->policy.limits.cpu_milli = 200;
	/* Two spinning processes for a second get a fifth of a CPU together, give or take a few periods. */
	jailed_python(j, "import os, time\n"
			 "pid = os.fork()\n"
			 "end = time.monotonic() + 1\n"
			 "while time.monotonic() < end: pass\n"
			 "if pid: os.wait()\n");
	cr_expect_eq(j->step, 0, "%s", j->err.text);
	cr_expect(j->outcome.cpu_us < j->outcome.wall_us / 5 + 350000, "%llu us of CPU in %llu us",
		  (unsigned long long)j->outcome.cpu_us, (unsigned long long)j->outcome.wall_us);
	EXPECT_ROW(j, "limits.cpus", "20000 100000");
	jailed_free(j);
}

Test(fields, pids, .timeout = 60)
{
	struct jailed *j = jailed_new();

	jailed_need(j, CGROUP_PIDS);
	j->policy.limits.pids_max = 5;
	jailed_python(
	    j, "import threading, time\n"
	       "n = 1\n"
	       "try:\n"
	       "  while True: threading.Thread(target=time.sleep, args=(20,), daemon=True).start(); n += 1\n"
	       "except RuntimeError: print(n, flush=True); import os; os._exit(0)\n");
	EXPECT_OUTPUT(j, "5\n");
	EXPECT_ROW(j, "limits.pids", "6 (");
	jailed_free(j);
}

Test(fields, rlimits, .timeout = 60)
{
	struct jailed *j = jailed_new();

	j->policy.limits.open_files = 20;
	j->policy.limits.file_size_bytes = 5000;
	j->policy.limits.stack_bytes = 1 << 20;
	jailed_python(j, "import resource as r, errno, signal\n"
			 "for n in ('NOFILE', 'FSIZE', 'STACK', 'CORE'): print(n, *r.getrlimit(getattr(r, "
			 "'RLIMIT_' + n)))\n"
			 "try: [open('/dev/null') for i in range(30)]\n"
			 "except OSError as e: print(errno.errorcode[e.errno])\n"
			 "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
			 "try: f = open('/tmp/f', 'wb', 0); print(f.write(bytes(9000))); f.write(b'x')\n"
			 "except OSError as e: print(errno.errorcode[e.errno])\n"
			 "try: r.setrlimit(r.RLIMIT_NOFILE, (30, 30))\n"
			 "except ValueError: print('not raised')\n");
	EXPECT_OUTPUT(j, "NOFILE 20 20\nFSIZE 5000 5000\nSTACK 1048576 1048576\nCORE 1 "
			 "1\nEMFILE\n5000\nEFBIG\nnot raised\n");
	EXPECT_ROW(j, "limits.openFiles", "20");
	EXPECT_ROW(j, "limits.fileSize", "5000");
	EXPECT_ROW(j, "limits.stack", "1048576");
	jailed_free(j);
}

Test(fields, no_spawn, .timeout = 60)
{
	struct jailed *j = jailed_new();

	j->policy.processes.spawn = false;
	jailed_python(j, "import os, threading, subprocess\n"
			 "try: os.fork(); print('forked')\n"
			 "except OSError as e: print(e.errno)\n"
			 "try: subprocess.run(['true']); print('spawned')\n"
			 "except OSError as e: print(e.errno)\n"
			 "try: os.posix_spawn('/bin/true', ['true'], {}); print('spawned')\n"
			 "except OSError as e: print(e.errno)\n"
			 "t = threading.Thread(target=print, args=('thread',)); t.start(); t.join()\n");
	EXPECT_OUTPUT(j, "1\n1\n1\nthread\n");
	EXPECT_ROW(j, "processes.spawn.false", "mode 2");
	jailed_free(j);
}

Test(fields, identity, .timeout = 60)
{
	struct jailed *j = jailed_new();

	j->policy.processes.uid = 1234;
	j->policy.processes.gid = 2345;
	jailed_python(j, "import os\n"
			 "print(os.getresuid(), os.getresgid())\n"
			 "for f in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.setgroups([0])):\n"
			 "  try: f(); print('became root')\n"
			 "  except OSError as e: print(e.errno)\n");
	EXPECT_OUTPUT(j, j->host.privileged ? "(1234, 1234, 1234) (2345, 2345, 2345)\n1\n1\n1\n"
					    : "(1234, 1234, 1234) (2345, 2345, 2345)\n22\n22\n1\n");
	jailed_free(j);
}

/* The rest of the line of /proc/<pid>/<file> that begins with `name`, blanks squeezed. */
static void proc_value(int pid, const char *file, const char *name, char *buf, size_t size)
{
	char line[300];
	char path[64];
	FILE *text;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	text = fopen(path, "re");
	buf[0] = 0;
	while (text && !*buf && fgets(line, sizeof(line), text)) {
		char *left = NULL;

		if (strncmp(line, name, strlen(name)) != 0)
			continue;
		for (char *word = strtok_r(line + strlen(name), " \t\n", &left); word;
		     word = strtok_r(NULL, " \t\n", &left))
			snprintf(buf + strlen(buf), size - strlen(buf), "%s%s", *buf ? " " : "", word);
	}
	if (text)
		fclose(text);
}

/* What the receipt says about ids and filters is what the test finds in /proc while the program runs. */
Test(fields, rows_are_what_proc_shows, .timeout = 60)
{
	struct jailed *j = jailed_new();
	char *argv[] = { "/bin/sleep", "100", NULL };
	char uid[64], gid[64], uid_map[64], gid_map[64], filters[64];
	char wanted[300];
	unsigned long first = 0;
	int pid;

	j->policy.processes.uid = 1234;
	j->policy.processes.gid = 2345;
	cr_assert_eq(jailed_prepare(j, false), 0, "%s", j->err.text);
	j->command.argv = argv;
	cr_assert_eq(jail_launch(j->tmpl, &j->command, &j->run, &j->err), 0, "%s", j->err.text);
	j->receipt = *jail_run_receipt(j->run);
	pid = jail_run_program_pid(j->run);
	proc_value(pid, "status", "Uid:", uid, sizeof(uid));
	proc_value(pid, "status", "Gid:", gid, sizeof(gid));
	proc_value(pid, "uid_map", "", uid_map, sizeof(uid_map));
	proc_value(pid, "gid_map", "", gid_map, sizeof(gid_map));
	proc_value(pid, "status", "Seccomp_filters:", filters, sizeof(filters));
	cr_assert(*uid && *gid && *uid_map && *gid_map);
	snprintf(wanted, sizeof(wanted), "host uid %.*s, map \"%s\"; gid %.*s, map \"%s\"",
		 (int)strcspn(uid, " "), uid, uid_map, (int)strcspn(gid, " "), gid, gid_map);
	cr_expect_str_eq(jailed_row(j, "processes.identity").value, wanted);
	snprintf(wanted, sizeof(wanted), "mode 2, %s filter(s)", filters);
	if (*filters)
		EXPECT_ROW(j, "syscalls", wanted);
	/* Nobody's ids: 1234 lies in a range that root gives to no one. */
	cr_assert_eq(sscanf(uid, "%lu", &first), 1);
	if (j->host.privileged)
		cr_expect(first >= 0x70000000 && first < 0x80000000 && first % 65536 == 1234, "%s", uid);
	else
		cr_expect_eq(first, getuid());
	jailed_free(j);
}

Test(fields, syscalls, .timeout = 60)
{
	struct jailed *j = jailed_new();

	jailed_python(
	    j, "import ctypes, errno\n"
	       "c = ctypes.CDLL(None, use_errno=True)\n"
	       "def e(*a): ctypes.set_errno(0); c.syscall(*a); return "
	       "errno.errorcode.get(ctypes.get_errno(), 'OK')\n"
	       "print(e(165, 0, 0, 0, 0, 0), e(272, 0x10000000), e(321, 0, 0, 0), e(435, 0, 0), e(1000))\n");
#if defined(__x86_64__)
	EXPECT_OUTPUT(j, "EPERM EPERM EPERM ENOSYS ENOSYS\n");
#endif
	EXPECT_ROW(j, "syscalls", "mode 2, ");
	jailed_free(j);
}

Test(fields, working_directory, .timeout = 60)
{
	struct jailed *j = jailed_new();

	j->policy.working_directory = strdup("/tmp/new/dir");
	jailed_sh(j, "pwd");
	EXPECT_OUTPUT(j, "/tmp/new/dir\n");
	EXPECT_ROW(j, "workingDirectory", "/tmp/new/dir");
	jailed_free(j);
}

/* A row whose value was not read from the kernel says so. */
Test(fields, sources_of_what_is_not_read_back, .timeout = 60)
{
	static const struct {
		const char *control, *source;
	} rows[] = {
		{ "limits.wallTime", "kept by the supervisor, not by the kernel" },
		{ "output.stdout", "kept by the supervisor, not by the kernel" },
		{ "output.stderr", "kept by the supervisor, not by the kernel" },
		{ "environment", "not read back" },
		{ "secureBits", "no read-back from outside" },
		{ "landlock", "the kernel has no read-back" },
		{ "syscalls", "the content as loaded" },
	};
	struct jailed *j = jailed_new();

	jailed_sh(j, "exit 0");
	cr_assert_eq(j->step, 0, "%s", j->err.text);
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct policy_receipt_row row = jailed_row(j, rows[i].control);

		cr_expect(strstr(row.source, rows[i].source), "%s: \"%s\"", rows[i].control, row.source);
	}
	jailed_free(j);
}

/* What Landlock denies depends on its version. */
Test(fields, landlock_says_no_more_than_its_version_has, .timeout = 60)
{
	static const struct {
		int abi;
		const char *mechanism;
	} rows[] = {
		{ 1, "writes only below the writable trees" },
		{ 2, "writes only below the writable trees" },
		{ 3, "writes only below the writable trees, truncation" },
		{ 5, "writes only below the writable trees, truncation, device ioctls" },
		{ 6, "writes only below the writable trees, truncation, device ioctls; scoped sockets and "
		     "signals" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct jailed *j = jailed_new();

		if (j->host.landlock_abi < rows[i].abi) {
			jailed_free(j);
			break;
		}
		j->host.landlock_abi = rows[i].abi;
		jailed_sh(j, "exit 0");
		cr_expect_eq(j->step, 0, "ABI %d: %s", rows[i].abi, j->err.text);
		cr_expect_str_eq(jailed_row(j, "landlock").mechanism, rows[i].mechanism);
		jailed_free(j);
	}
}

/* One more than granted is refused by the kernel, whose mount table has the number. */
Test(fields, terminals, .timeout = 60)
{
	static const struct {
		uint64_t terminals;
		const char *output, *row;
	} rows[] = {
		{ 0, "0 ENOENT False False []\n", "no devpts" },
		{ 1, "1 ENOSPC True True ['max=1']\n", "/dev/pts devpts max=1" },
		{ 4, "4 ENOSPC True True ['max=4']\n", "/dev/pts devpts max=4" },
		{ 64, "64 ENOSPC True True ['max=64']\n", "/dev/pts devpts max=64" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct jailed *j = jailed_new();

		j->policy.devices.terminals = rows[i].terminals;
		jailed_python(
		    j, "import os, errno\nopened = []\n"
		       "try:\n  while True: opened.append(os.open('/dev/ptmx', os.O_RDWR | os.O_NOCTTY))\n"
		       "except OSError as e: why = errno.errorcode[e.errno]\n"
		       "table = [l for l in open('/proc/self/mountinfo') if ' - devpts ' in l]\n"
		       "print(len(opened), why, os.path.lexists('/dev/ptmx'), os.path.exists('/dev/pts'), "
		       "[o for l in table for o in l.split()[-1].split(',') if o.startswith('max')])\n");
		EXPECT_OUTPUT(j, rows[i].output);
		EXPECT_ROW(j, "devices.terminals", rows[i].row);
		jailed_free(j);
	}
}

/* Either every process is protected, or it is refused: never accepted without. */
Test(fields, speculation, .timeout = 60)
{
	struct jailed *j = jailed_new();
	const bool there = j->host.features[JAIL_FEATURE_SPECULATION].there;

	j->policy.syscalls.speculation = true;
	jailed_sh(j, "sed -n 's/^Speculation[A-Za-z_]*:.//p' /proc/self/status");
	if (there) {
		cr_expect_eq(j->step, 0, "%s", j->err.text);
		cr_expect_null(strstr(jailed_text(j, JAIL_STDOUT), "thread vulnerable"));
		cr_expect_null(strstr(jailed_text(j, JAIL_STDOUT), "enabled"));
		cr_expect_eq(jailed_row(j, "syscalls.speculation").status, POLICY_RECEIPT_ENFORCED);
	} else {
		cr_expect_neq(j->step, 0);
		cr_expect(strstr(j->err.text, "syscalls.speculation"), "%s", j->err.text);
	}
	jailed_free(j);
}

/* Two jails at once have disjoint host ids. */
Test(fields, identities_are_distinct, .timeout = 60)
{
	struct jailed *a = jailed_new();
	struct jailed *b = jailed_new();
	char *argv[] = { "/bin/sleep", "0.2", NULL };

	if (!a->host.privileged)
		cr_skip_test("an ordinary user has one id");
	cr_assert_eq(jailed_prepare(a, true), 0, "%s", a->err.text);
	a->command.argv = argv;
	b->command = a->command;
	cr_assert_eq(jail_launch(a->tmpl, &a->command, &a->run, &a->err), 0, "%s", a->err.text);
	cr_assert_eq(jail_launch(a->tmpl, &b->command, &b->run, &b->err), 0, "%s", b->err.text);
	a->receipt = *jail_run_receipt(a->run);
	b->receipt = *jail_run_receipt(b->run);
	cr_expect_str_neq(jailed_row(a, "processes.identity").value,
			  jailed_row(b, "processes.identity").value);
	jail_supervise(a->run, &a->outcome, &a->err);
	jail_supervise(b->run, &b->outcome, &b->err);
	jailed_free(b);
	jailed_free(a);
}
