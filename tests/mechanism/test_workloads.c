/* Ordinary programs do their usual work inside the default profile. */
#include "base/array.h"
#include "tests/lib/jailed.h"

struct workload {
	const char *name;
	const char *needs; /* a file of the host, or NULL; without it the row is skipped */
	const char *program;
	const char *script;
	const char *output;
};

static const struct workload workloads[] = {
	{ "python multiprocessing", "/usr/bin/python3", "/usr/bin/python3",
	  "import multiprocessing as m\n"
	  "def f(x): return x * x\n"
	  "with m.Pool(3) as p: print(sum(p.map(f, range(10))))\n"
	  "q = m.Queue(); t = m.Process(target=q.put, args=('queued',)); t.start(); print(q.get()); "
	  "t.join()\n",
	  "285\nqueued\n" },
	{ "python asyncio subprocesses", "/usr/bin/python3", "/usr/bin/python3",
	  "import asyncio\n"
	  "async def one(i):\n"
	  "  p = await asyncio.create_subprocess_exec('echo', str(i), stdout=asyncio.subprocess.PIPE)\n"
	  "  return int((await p.communicate())[0])\n"
	  "async def main(): print(sum(await asyncio.gather(*(one(i) for i in range(5)))))\n"
	  "asyncio.run(main())\n",
	  "10\n" },
	{ "python sqlite", "/usr/bin/python3", "/usr/bin/python3",
	  "import sqlite3\n"
	  "c = sqlite3.connect('/tmp/db'); c.execute('pragma journal_mode=wal'); c.execute('create table "
	  "t(x)')\n"
	  "c.executemany('insert into t values(?)', [(i,) for i in range(100)]); c.commit()\n"
	  "print(c.execute('select sum(x) from t').fetchone()[0])\n",
	  "4950\n" },
	{ "python pty", "/usr/bin/python3", "/usr/bin/python3",
	  "import pty, os\n"
	  "pid, fd = pty.fork()\n"
	  "if pid == 0: os.execvp('sh', ['sh', '-c', 'test -t 0 && echo terminal'])\n"
	  "print(os.read(fd, 100).decode().strip()); os.waitpid(pid, 0)\n",
	  "terminal\n" },
	{ "python threads, locks, fifos, signals, mmap", "/usr/bin/python3", "/usr/bin/python3",
	  "import threading, fcntl, os, signal, mmap, tempfile\n"
	  "t = [threading.Thread(target=lambda: None) for i in range(20)]; [x.start() for x in t]; [x.join() "
	  "for x in t]\n"
	  "f = open('/tmp/l', 'w'); fcntl.lockf(f, fcntl.LOCK_EX)\n"
	  "os.mkfifo('/tmp/fifo'); signal.setitimer(signal.ITIMER_REAL, 0.01)\n"
	  "signal.signal(signal.SIGALRM, lambda *a: print('alarm')); signal.pause()\n"
	  "m = mmap.mmap(-1, 4096); m[0] = 1\n"
	  "with tempfile.TemporaryDirectory() as d: os.symlink('x', d + '/y'); print(len(os.listdir(d)))\n",
	  "alarm\n1\n" },
	{ "node workers and children", "/usr/bin/node", "/usr/bin/node",
	  "const { Worker } = require('worker_threads'), { execSync } = require('child_process'), os = "
	  "require('os');\n"
	  "new Worker(\"require('worker_threads').parentPort.postMessage(6 * 7)\", { eval: true })\n"
	  "  .on('message', m => { console.log(m, os.cpus().length > 0, execSync('echo "
	  "child').toString().trim()); });\n",
	  "42 true child\n" },
	{ "bash jobs and pipes", "/bin/bash", "/bin/bash",
	  "for i in 1 2 3; do (echo $i) & done | sort | tr '\\n' ' '; wait; cat <(echo sub) <<< x; seq 100 | "
	  "xargs -P4 -n10 echo | wc -l",
	  "1 2 3 sub\n10\n" },
	{ "gcc and make", "/usr/bin/gcc", "/bin/sh",
	  "mkdir /tmp/p && cd /tmp/p && printf '#include <stdio.h>\\nint main(void){puts(\"built\");}\\n' > "
	  "a.c && "
	  "printf 'all: a b\\na: a.c\\n\\tgcc -o $@ $<\\nb: a.c\\n\\tgcc -pthread -O2 -o $@ $<\\n' > "
	  "Makefile && "
	  "make -s -j2 && ls a b | tr '\\n' ' ' && /lib64/ld-linux-x86-64.so.2 --version >/dev/null && echo "
	  "built",
	  "a b built\n" },
	{ "git", "/usr/bin/git", "/bin/sh",
	  "cd /tmp && git init -q r && cd r && git config user.email a@b && git config user.name n && echo x "
	  "> f && "
	  "git add f && git commit -qm one && git checkout -qb two && git log --oneline | wc -l && git clone "
	  "-q . ../s && ls ../s",
	  "1\nf\n" },
	{ "sqlite3", "/usr/bin/sqlite3", "/bin/sh",
	  "sqlite3 /tmp/db 'create table t(x); insert into t values (1),(2); select sum(x) from t;'", "3\n" },
	{ "perl", "/usr/bin/perl", "/usr/bin/perl",
	  "use POSIX; use Socket; my $p = open(my $h, '-|', 'echo from a child'); print <$h>; print "
	  "strftime('%Y', gmtime(0)), \"\\n\";",
	  "from a child\n1970\n" },
	{ "tar, sort, ps", "/bin/tar", "/bin/sh",
	  "cd /tmp && mkdir d && echo x > d/f && tar czf d.tgz d && rm -r d && tar xzf d.tgz && cat d/f && "
	  "seq 10 | sort -rn | head -1; ps -o comm= -p $$",
	  "x\n10\nsh\n" },
};

static void run_workload(struct workload row, enum policy_syscall_profile profile)
{
	struct jailed *j = jailed_new();
	const char *flag = strstr(row.program, "python") || strstr(row.program, "sh") ? "-c" : "-e";

	j->policy.syscalls.profile = profile;
	j->policy.filesystem.tmp_exec = true;
	j->policy.devices.terminals = 1;
	j->policy.limits.wall_time_us = 120000000;
	j->policy.limits.cpu_time_us = 120000000;
	/* Without a control group the limit would fall back to address space, of which node reserves more than it uses. */
	if (j->host.cgroup.hierarchy_of[CGROUP_MEMORY] < 0)
		j->policy.limits.memory_bytes = POLICY_UNLIMITED;
	jailed_run(j, row.program, flag, row.script);
	cr_expect(j->step == 0, "%s: %s", row.name, j->err.text);
	cr_expect_str_eq(jailed_text(j, JAIL_STDOUT), row.output, "%s: got \"%s\", stderr \"%s\", %s",
			 row.name, jailed_text(j, JAIL_STDOUT), jailed_text(j, JAIL_STDERR),
			 j->outcome.detail);
	jailed_free(j);
}

Test(workloads, in_the_default_profile, .timeout = 600)
{
	for (size_t i = 0; i < ARRAY_LENGTH(workloads); i++) {
		if (access(workloads[i].needs, X_OK) < 0) {
			fprintf(stderr, "skipped: %s needs %s\n", workloads[i].name, workloads[i].needs);
			continue;
		}
		run_workload(workloads[i], POLICY_SYSCALLS_DEFAULT);
	}
}

Test(workloads, in_the_strict_profile, .timeout = 600)
{
	for (size_t i = 0; i < ARRAY_LENGTH(workloads); i++)
		if (access(workloads[i].needs, X_OK) == 0)
			run_workload(workloads[i], POLICY_SYSCALLS_STRICT);
}
