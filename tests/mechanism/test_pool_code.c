/*
 * Pools whose jails start a program in advance: the program gets what the command gives, is not used when stale, and runs its code once.
 */
#include "tests/lib/library.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct warder_error err;
static struct warder_policy *policy;
static struct warder_pool *pool;
static struct warder_pool_key key;
static int fork_server;

/* Its code is a script; the file that it names stands for what it has loaded. */
static char *shell_program[] = {
	"sh", "-c", "printf '%s\\n\\n' \"$1\" >&3; code=$(cat <&4); eval \"$code\"", "sh", "/etc/passwd", NULL
};

static void set(const char *field, const char *value)
{
	cr_assert(warder_policy_set(policy, field, value, &err) == 0, "%s: %s", field, err.text);
}

static void begin(enum warder_pool_empty empty)
{
	const struct warder_pool_options options = { .size = sizeof(options),
						     .empty = empty,
						     .fork_server = fork_server };

	policy = library_policy();
	key = (struct warder_pool_key){ .size = sizeof(key), .policy = policy };
	cr_assert(warder_pool_new(&options, &pool, &err) == 0, "%s", err.text);
}

/* False: there is no such program here. */
static bool fill(unsigned int count)
{
	if (warder_pool_fill(pool, &key, count, &err) == 0)
		return true;
	cr_assert(err.code == WARDER_ERROR_UNSUPPORTED_POLICY || err.code == WARDER_ERROR_NOT_FOUND, "%s: %s",
		  err.step, err.text);
	return false;
}

static void end(void)
{
	cr_expect(warder_pool_drain(pool, &err) == 0, "%s", err.text);
	warder_pool_free(pool);
	warder_policy_free(policy);
	cr_expect_eq(library_count_cgroups(""), 0);
}

static struct warder_result *run(const char *code, struct warder_command command)
{
	struct warder_result *result = NULL;
	struct warder_run *started = NULL;

	command.size = sizeof(command);
	if (warder_pool_code(pool, &key, code, strlen(code), &command, &started, &err) == 0)
		cr_expect(warder_wait(started, &result, &err) == 0, "%s: %s", code, err.text);
	warder_run_free(started);
	return result;
}

static const char *output(const struct warder_result *result, enum warder_stream stream)
{
	return warder_result_output(result, stream, NULL, NULL);
}

Test(pool_code, a_program_gets_its_code_input_and_time, .timeout = 60)
{
	const struct timespec longer = { .tv_sec = 6, .tv_nsec = 200000000 };
	struct warder_result *result;
	char *json;

	begin(WARDER_POOL_FAIL);
	key.program = shell_program;
	set("limits.wallTime", "4s"); /* init's own deadline is 2 s later */
	if (!fill(1))
		cr_skip_test("%s", err.text);
	nanosleep(&longer, NULL);
	result = run("read x; echo got $x; echo no >&2; exit 3",
		     (struct warder_command){ .input = "in\n", .input_len = 3 });
	cr_assert(result, "%s", err.text);
	cr_expect_str_eq(output(result, WARDER_STDOUT), "got in\n");
	cr_expect_str_eq(output(result, WARDER_STDERR), "no\n");
	cr_expect(warder_result_exit_code(result) == 3 && warder_result_wall_us(result) < 4000000);
	json = warder_result_json(result);
	cr_expect(strstr(json, "\"parkedUs\":") && strstr(json, "\"requested\":\"4s\""));
	/* The receipt names no exec: the program had begun before. */
	cr_expect(strstr(json, "\"value\":\"4000000 us from the hand-out of the code on;"), "%s", json);
	cr_expect(strstr(json, "\"made by the supervisor before the program was parked; not read back\""),
		  "%s", json);
	cr_expect(strstr(json, "\"value\":\"40 bytes of program text\""), "%s", json);
	free(json);
	warder_result_free(result);
	cr_expect(library_pool_stat(pool, "handedOut") == 1);
	set("limits.code", "10");
	cr_expect(fill(1) && !run("echo too long", (struct warder_command){ 0 }) &&
		      err.code == WARDER_ERROR_REJECTED && strstr(err.text, "limits.code: "),
		  "%s: %s", err.step, err.text);
	result = run("", (struct warder_command){ 0 });
	cr_assert(result, "%s", err.text);
	json = warder_result_json(result);
	cr_expect(strstr(json, "\"value\":\"0 bytes of program text\""), "%s", json);
	free(json);
	warder_result_free(result);
	fill(1);
	result = run("sleep 30", (struct warder_command){ 0 });
	cr_assert(result, "%s", err.text);
	cr_expect_str_eq(warder_result_cause(result), "wallTime");
	warder_result_free(result);
	end();
}

/* The program computes for more than the whole limit before it reports what it has loaded. */
Test(pool_code, cpu_time_begins_at_the_hand_out, .timeout = 180)
{
	char *program[] = {
		(char *)"sh", (char *)"-c",
		(char *)"until [ $(awk '{ print $14 + $15 }' /proc/$$/stat) -ge 70 ]; do i=0; while [ $i -lt "
			"20000 ]; do "
			"i=$((i + 1)); done; done; printf '\n' >&3; code=$(cat <&4); eval \"$code\"",
		NULL
	};
	struct warder_result *result;

	begin(WARDER_POOL_FAIL);
	key.program = program;
	set("limits.cpuTime", "500ms");
	/* Without a cgroup, the kernel knows only the time of the whole process. */
	cr_assert(warder_policy_require(policy, "limits.cpuTime", 1, &err) == 0, "%s", err.text);
	if (!fill(1))
		cr_skip_test("%s", err.text);
	result = run("echo ran; awk '{ print $14 + $15 }' /proc/$$/stat", (struct warder_command){ 0 });
	cr_assert(result, "%s", err.text);
	cr_expect_str_eq(warder_result_cause(result), "exit");
	/* Its own clock, in hundredths of a second, knows of the time before. */
	cr_expect(strncmp(output(result, WARDER_STDOUT), "ran\n", 4) == 0 &&
		      atoi(output(result, WARDER_STDOUT) + 4) >= 70,
		  "%s", output(result, WARDER_STDOUT));
	cr_expect(warder_result_cpu_us(result) > 0 && warder_result_cpu_us(result) < 500000, "%ju us",
		  (uintmax_t)warder_result_cpu_us(result));
	warder_result_free(result);
	/* What it computes afterwards counts. */
	cr_assert(fill(1), "%s", err.text);
	result = run("while :; do :; done", (struct warder_command){ 0 });
	cr_assert(result, "%s", err.text);
	cr_expect_str_eq(warder_result_cause(result), "cpuTime");
	warder_result_free(result);
	end();
}

Test(pool_code, input_comes_from_a_descriptor, .timeout = 60)
{
	struct warder_result *result;
	int ends[2];

	begin(WARDER_POOL_LAUNCH);
	key.program = shell_program;
	if (!fill(1))
		cr_skip_test("%s", err.text);
	cr_assert(pipe2(ends, O_CLOEXEC) == 0 && write(ends[1], "a\nb\n", 4) == 4);
	close(ends[1]);
	result = run("cat", (struct warder_command){ .input_fd = ends[0] });
	cr_assert(result, "%s", err.text);
	cr_expect_str_eq(output(result, WARDER_STDOUT), "a\nb\n");
	warder_result_free(result);
	close(ends[0]);
	/* Without one, it is at its end. */
	result = run("cat; echo end", (struct warder_command){ 0 });
	cr_assert(result, "%s", err.text);
	cr_expect_str_eq(output(result, WARDER_STDOUT), "end\n");
	warder_result_free(result);
	end();
}

static void check_loaded(const char *below)
{
	char dir[] = "/var/tmp/warder-loaded.XXXXXX";
	char *program[] = { shell_program[0], shell_program[1], shell_program[2], "sh", NULL, NULL };
	struct warder_result *result;
	char path[64], listed[80];
	FILE *file;

	begin(WARDER_POOL_LAUNCH);
	cr_assert(mkdtemp(dir) != NULL && chmod(dir, 0755) == 0);
	snprintf(path, sizeof(path), "%s/module", dir);
	snprintf(listed, sizeof(listed), "%s%s", path, below);
	program[4] = listed;
	set("filesystem.paths.readOnly", dir);
	key.program = program;
	for (int i = 0; i < 2; i++) {
		file = fopen(path, "we");
		fputs(i ? "second version" : "first", file);
		fclose(file);
		if (i == 0 && !fill(1))
			cr_skip_test("%s", err.text);
		result = run("echo ran", (struct warder_command){ 0 });
		cr_assert(result, "%s", err.text);
		cr_expect_str_eq(output(result, WARDER_STDOUT), "ran\n");
		warder_result_free(result);
		cr_expect(i == 0 ? library_pool_stat(pool, "stale") == 0
				 : library_pool_stat(pool, "stale") >= 1,
			  "%ld", library_pool_stat(pool, "stale"));
		if (i == 0)
			fill(1);
	}
	end();
	unlink(path);
	rmdir(dir);
}

/* No jail of another key is handed out. On a busy machine, the pool's thread may park one of this key before the launch has looked for one: then
 * the launch takes that. Returns the number of jails that were handed out. */
static long expect_no_jail(const char *what)
{
	const long parked = library_pool_stat(pool, "parked");
	struct warder_result *result = run("true", (struct warder_command){ 0 });
	const bool ran = result != NULL;

	if (ran)
		cr_expect_gt(library_pool_stat(pool, "parked"), parked, "%s", what);
	else
		cr_expect(err.code == WARDER_ERROR_UNAVAILABLE, "%s: %s", what, err.text);
	warder_result_free(result);
	return ran;
}

/* A jail serves one set of variables and words, however long they are and whatever bytes they have. */
Test(pool_code, programs_differ_by_words_and_variables, .timeout = 60)
{
	char *other[] = {
		shell_program[0], shell_program[1], shell_program[2], "other", "/etc/passwd", NULL
	};
	char *text = malloc(8003);
	struct warder_result *result;
	long handed_out;

	memset(text, 'x', 8000);
	memcpy(text + 8000, "-1", 3);
	begin(WARDER_POOL_FAIL);
	key.program = shell_program;
	set("environment.set.A", text);
	if (!fill(1))
		cr_skip_test("%s", err.text);
	memcpy(text + 8000, "-2", 3);
	set("environment.set.A", text);
	handed_out = expect_no_jail("an end that differs");
	cr_expect(fill(1), "%s", err.text);
	result = run("echo ${A##*-}", (struct warder_command){ 0 });
	cr_assert(result, "%s", err.text);
	cr_expect_str_eq(output(result, WARDER_STDOUT), "2\n");
	warder_result_free(result);
	key.program = other;
	handed_out += 1 + expect_no_jail("other words");
	other[3] = "\xff";
	cr_expect(fill(1), "%s", err.text);
	other[3] = "\xfe";
	handed_out += expect_no_jail("another byte");
	cr_expect_eq(library_pool_stat(pool, "handedOut"), handed_out);
	free(text);
	end();
}

Test(pool_code, a_file_that_it_loaded_makes_it_stale, .timeout = 60)
{
	check_loaded("");
}

Test(pool_code, so_does_an_archive_of_modules, .timeout = 60)
{
	check_loaded("/module.py");
}

/* It is mapped, and its path leads to another file when the program is ready. The program opens a pipe with a name, for which the replacer waits. */
Test(pool_code, a_file_that_was_replaced_while_it_loaded_is_found, .timeout = 60)
{
	char dir[] = "/var/tmp/warder-loaded.XXXXXX";
	char tool[64], script[300], command[300];
	char *program[] = { tool, "-c", script, NULL };
	pid_t replacer;
	int filled;

	begin(WARDER_POOL_LAUNCH);
	cr_assert(mkdtemp(dir) != NULL && chmod(dir, 0755) == 0);
	snprintf(tool, sizeof(tool), "%s/sh", dir);
	snprintf(command, sizeof(command),
		 "cp /bin/sh %s && cp /bin/sh %s.new && mkfifo %s/begun && chmod 644 %s/begun", tool, tool,
		 dir, dir);
	cr_assert_eq(system(command), 0);
	snprintf(
	    script, sizeof(script),
	    "[ -e %s/replaced ] || read -r x < %s/begun; while [ ! -e %s/replaced ]; do sleep 0.05; done; "
	    "echo >&3; code=$(cat <&4); eval \"$code\"",
	    dir, dir, dir);
	set("filesystem.paths.readOnly", dir);
	key.program = program;
	replacer = fork();
	if (replacer == 0) {
		setpgid(0, 0);
		snprintf(command, sizeof(command), "echo > %s/begun; mv %s.new %s && touch %s/replaced", dir,
			 tool, tool, dir);
		_exit(system(command) != 0);
	}
	/* A fill makes one jail at a time. */
	filled = warder_pool_fill(pool, &key, 1, &err);
	cr_expect(filled != 0 && strstr(err.text, "was replaced while the program loaded it"), "%s",
		  filled == 0 ? "it is parked" : err.text);
	kill(-replacer, SIGKILL);
	waitpid(replacer, NULL, 0);
	end();
	snprintf(command, sizeof(command), "rm -r %s", dir);
	cr_expect_eq(system(command), 0);
}

static void check_python(void)
{
	static const char *const imports[] = { "json", NULL };
	struct warder_result *result;

	begin(WARDER_POOL_LAUNCH);
	key.interpreter = "python";
	key.imports = imports;
	if (!fill(1))
		cr_skip_test("%s", err.text);
	result = run("import sys\nseen = 'x' in globals()\nx = 1\n"
		     "print(seen, __name__, sys.argv, sys.stdin.read())\nsys.exit(3)",
		     (struct warder_command){ .input = "in", .input_len = 2 });
	cr_assert(result, "%s", err.text);
	cr_expect_str_eq(output(result, WARDER_STDOUT), "False __main__ ['<code>'] in\n");
	cr_expect(warder_result_exit_code(result) == 3);
	warder_result_free(result);
	fill(1);
	result = run("def f():\n  raise ValueError('no')\nf()", (struct warder_command){ 0 });
	cr_assert(result, "%s", err.text);
	cr_expect(warder_result_exit_code(result) == 1);
	cr_expect_str_eq(output(result, WARDER_STDERR),
			 "Traceback (most recent call last):\n  File \"<code>\", line 3, in <module>\n"
			 "  File \"<code>\", line 2, in f\nValueError: no\n");
	warder_result_free(result);
	end();
}

Test(pool_code, python, .timeout = 120)
{
	for (fork_server = 0; fork_server <= 1; fork_server++)
		check_python();
}

/* ---- the fork server ---- */

static bool begin_forks(const char *const *imports)
{
	fork_server = 1;
	begin(WARDER_POOL_LAUNCH);
	key.interpreter = "python";
	key.imports = imports;
	return fill(1);
}

static void expect_output(const char *code, const char *wanted)
{
	struct warder_result *result = run(code, (struct warder_command){ 0 });

	cr_assert(result, "%s: %s", code, err.text);
	cr_expect_str_eq(output(result, WARDER_STDOUT), wanted, "%s: \"%s\" \"%s\"", code,
			 output(result, WARDER_STDOUT), output(result, WARDER_STDERR));
	warder_result_free(result);
}

/* The process that the receipt names; 0: none. */
static int zygote_of(struct warder_result *result)
{
	char *json = warder_result_json(result);
	const char *at = strstr(json, "\"ownAddressSpace\",\"status\":\"absent\"");
	int pid = 0;

	at = at ? strstr(at, "of process ") : NULL;
	if (at)
		sscanf(at, "of process %d", &pid);
	free(json);
	return pid;
}

Test(pool_code, forks_share_what_the_receipt_says_and_nothing_else, .timeout = 120)
{
	static const char *const imports[] = { "random", "uuid", "ssl", "tempfile", NULL };
	static const char code[] =
	    "import random, uuid, ssl, tempfile\n"
	    "print(hash('a'), id(random))\n"
	    "for x in (random.random(), uuid.uuid4(), uuid.uuid1(), ssl.RAND_bytes(8),\n"
	    "          next(tempfile._get_candidate_names())): print(x)";
	struct warder_result *results[2];
	char *lines[2][6];

	if (!begin_forks(imports))
		cr_skip_test("%s", err.text);
	for (int i = 0; i < 2; i++) {
		char *text, *rest = NULL;

		results[i] = run(code, (struct warder_command){ 0 });
		cr_assert(results[i], "%s", err.text);
		text = strdup(output(results[i], WARDER_STDOUT));
		for (int line = 0; line < 6; line++)
			cr_assert(lines[i][line] = strtok_r(line ? NULL : text, "\n", &rest), "%s",
				  output(results[i], WARDER_STDERR));
	}
	cr_expect_str_eq(lines[0][0], lines[1][0]);
	for (int line = 1; line < 6; line++)
		cr_expect_str_neq(lines[0][line], lines[1][line]);
	cr_expect(zygote_of(results[0]) > 0 && zygote_of(results[0]) == zygote_of(results[1]));
	cr_expect(library_pool_stat(pool, "zygotes") == 1 && library_pool_stat(pool, "forked") >= 2);
	for (int i = 0; i < 2; i++) {
		free(lines[i][0]);
		warder_result_free(results[i]);
	}
	end();
}

Test(pool_code, a_fork_leaves_nothing_to_the_next, .timeout = 120)
{
	static const char *const imports[] = { "json", NULL };

	if (!begin_forks(imports))
		cr_skip_test("%s", err.text);
	expect_output("import json, os\n"
		      "json.left = 1\n"
		      "os.environ['LEFT'] = '1'\n"
		      "for place in '/tmp', '/dev/shm': open(place + '/left', 'w').write('x')\n"
		      "os.chdir('/')\n"
		      "os.umask(0)\n"
		      "print('done')",
		      "done\n");
	expect_output("import json, os\n"
		      "print(hasattr(json, 'left'), 'LEFT' in os.environ, os.listdir('/tmp'),\n"
		      "      os.listdir('/dev/shm'), os.getcwd(), os.umask(0))",
		      "False False [] [] /tmp 18\n");
	end();
}

Test(pool_code, a_fork_gets_files, .timeout = 120)
{
	const struct warder_file files[] = { { .path = "in/f", .bytes = "text", .len = 4 } };
	struct warder_result *result;

	if (!begin_forks(NULL))
		cr_skip_test("%s", err.text);
	result = run("import os\nst = os.stat('/tmp/in/f')\n"
		     "print(open('/tmp/in/f').read(), st.st_uid, st.st_gid, oct(st.st_mode))\n"
		     "os.unlink('/tmp/in/f'); os.rmdir('/tmp/in')",
		     (struct warder_command){ .files = files, .file_count = 1 });
	cr_assert(result, "%s", err.text);
	cr_expect_str_eq(output(result, WARDER_STDOUT), "text 1000 1000 0o100644\n", "%s %s",
			 output(result, WARDER_STDOUT), output(result, WARDER_STDERR));
	warder_result_free(result);
	end();
}

/* By number: that of the zygote, of its init, and of its other forks. Nothing of the zygote's is open. */
Test(pool_code, a_fork_reaches_neither_its_zygote_nor_its_siblings, .timeout = 120)
{
	if (!begin_forks(NULL) || !fill(2))
		cr_skip_test("%s", err.text);
	expect_output(
	    "import os, signal\n"
	    "print(sorted(p for p in os.listdir('/proc') if p.isdigit()), os.listdir('/proc/self/fd'))\n"
	    "me, reached = os.getpid(), []\n"
	    "for pid in range(1, 600):\n"
	    "  try: os.kill(pid, 0); reached.append(pid)\n"
	    "  except ProcessLookupError: pass\n"
	    "  except PermissionError: reached.append(pid)\n"
	    "print(reached)\n"
	    "for file in 'mem', 'maps', 'environ', 'root', 'ns/user':\n"
	    "  try: os.close(os.open('/proc/1/' + file, os.O_RDONLY)); print(file)\n"
	    "  except OSError: pass\n"
	    "for space in 'user', 'pid', 'mnt', 'net':\n"
	    "  try: os.close(os.open('/proc/2/ns/' + space, os.O_RDONLY)); print(space)\n"
	    "  except OSError: pass\n"
	    "print(open('/proc/self/status').read().count('0000000000000000\\n'))",
	    "['3'] ['0', '1', '2', '3', '4']\n[1, 3]\n8\n");
	cr_expect(library_pool_stat(pool, "zygotes") == 1);
	end();
}

/* What a program can see of the end of Python. */
static void check_ends(void)
{
	static const struct {
		const char *code, *stdout, *stderr;
		int exit_code;
	} rows[] = {
		{ "import sys\nsys.exit('why')", "", "why\n", 1 },
		{ "import sys\nsys.exit(None)", "", "", 0 },
		{ "raise SystemExit(300)", "", "", 44 },
		{ "raise SystemExit(2**70)", "", "", 255 },
		{ "raise SystemExit(-2**63)", "", "", 0 },
		{ "class I(int):\n  __and__ = __lt__ = __ge__ = None\nraise SystemExit(I(3))", "", "", 3 },
		{ "import atexit\natexit.register(print, 'exit')\nprint('end')", "end\nexit\n", "", 0 },
		{ "import threading, time\n"
		  "threading.Thread(target=lambda: (time.sleep(0.1), "
		  "print('thread'))).start()\nprint('main')",
		  "main\nthread\n", "", 0 },
		{ "class A:\n  def __del__(self): print('gone')\na = A()\nb = A()\nb.b = b\nprint('end')",
		  "end\ngone\ngone\n", "", 0 },
		{ "import os\nos._exit(7)", "", "", 7 },
		{ "import sys\nclass Tee:\n  def write(self, text): sys.__stdout__.write(text)\n"
		  "  def flush(self): pass\nsys.stdout = Tee()\nprint('tee')",
		  "tee\n", "", 0 },
		{ "import sys\nprint('before')\ndel sys.stdout", "before\n", "", 0 },
		{ "import sys\ndel sys.stderr\nsys.exit('why')", "", "why\n", 1 },
		{ "import sys\nclass T:\n  def __repr__(self): return 'T'\nsys.stdout = T()", "",
		  "Exception ignored in: T\nAttributeError: 'T' object has no attribute 'flush'\n", 120 },
		{ "import os, sys\nprint('lost')\nos.close(1)", "",
		  "Exception ignored in: <_io.TextIOWrapper name='<stdout>' mode='w' encoding='utf-8'>\n"
		  "OSError: [Errno 9] Bad file descriptor\n",
		  120 },
		{ "import os\nclass T: out = os.fdopen(os.dup(1), 'w')\nT.out.write('of a class')",
		  "of a class", "", 0 },
		{ "import os\nclass T: pass\nt = T()\nt.t = t\nt.out = os.fdopen(os.dup(1), 'w')\n"
		  "t.out.write('of a cycle')",
		  "of a cycle", "", 0 },
		{ "import colorsys, os\ncolorsys.out = os.fdopen(os.dup(1), 'w')\n"
		  "colorsys.out.write('of a new module')",
		  "of a new module", "", 0 },
		{ "import os\nos.out = os.fdopen(os.dup(1), 'w')\nos.out.write('of an old module')",
		  "of an old module", "", 0 },
		{ "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.fdopen.restype = ctypes.c_void_p\n"
		  "file = libc.fdopen(libc.dup(1), b'w')\nlibc.fputs(b'of libc', ctypes.c_void_p(file))",
		  "of libc", "", 0 },
		{ "import colorsys\nclass A:\n  def __del__(self): print(colorsys.rgb_to_hsv(0, 0, 0))\n"
		  "a = A()",
		  "(0.0, 0.0, 0)\n", "", 0 },
		{ "import queue, threading, time\nq = queue.Queue()\ndef take():\n  while True:\n"
		  "    try: q.get(timeout=1e-5)\n    except queue.Empty: pass\n"
		  "threading.Thread(target=take, daemon=True).start()\nprint('end')",
		  "end\n", "", 0 },
		{ "import ctypes, os, threading, time\nlibc = ctypes.CDLL(None)\n"
		  "libc.fdopen.restype = ctypes.c_void_p\n"
		  "file = ctypes.c_void_p(libc.fdopen(os.pipe()[0], b'r'))\n"
		  "threading.Thread(target=libc.fgetc, args=(file,), daemon=True).start()\n"
		  "time.sleep(0.1)\nprint('holds a lock of libc')",
		  "holds a lock of libc\n", "", 0 },
		{ "import sys\nclass T:\n  def write(self, text): sys.__stdout__.write(text)\n"
		  "  def flush(self): raise OSError('no')\n  def __repr__(self): return 'T'\n"
		  "sys.stdout = T()\nprint('end')",
		  "end\n",
		  "Exception ignored in: T\nTraceback (most recent call last):\n"
		  "  File \"<code>\", line 4, in flush\nOSError: no\n",
		  120 },
		{ "import sys\nclass H:\n  def __call__(self, args): print(args.exc_type, "
		  "file=sys.stderr); 1 / 0\n"
		  "  def __repr__(self): return 'H'\nsys.stdout = sys.unraisablehook = H()",
		  "",
		  "<class 'AttributeError'>\nException ignored in sys.unraisablehook: H\n"
		  "Traceback (most recent call last):\n  File \"<code>\", line 3, in __call__\n"
		  "ZeroDivisionError: division by zero\n",
		  120 },
		{ "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])\n"
		  "raise KeyboardInterrupt",
		  "",
		  "Traceback (most recent call last):\n  File \"<code>\", line 3, in <module>\n"
		  "KeyboardInterrupt\n",
		  130 },
		{ "import sys\nclass E(Exception): __traceback__ = None\ndef hook(*words): raise E(1)\n"
		  "sys.excepthook = hook\nraise E(2)",
		  "",
		  "Error in sys.excepthook:\nTraceback (most recent call last):\n"
		  "  File \"<code>\", line 3, in hook\nE: 1\n\nOriginal exception was:\n"
		  "Traceback (most recent call last):\n  File \"<code>\", line 5, in <module>\nE: 2\n",
		  1 },
		{ "import os, threading\n"
		  "threading.Thread(target=lambda: (threading.main_thread().join(), "
		  "os._exit(3))).start()\nprint('end')",
		  "end\n", "", 3 },
		{ "class S(SystemExit): code = property(lambda self: 1 / 0)\nraise S(3)", "", "3\n", 1 },
		{ "class C: __str__ = None\nraise SystemExit(C())", "", "\n", 1 },
		{ "import builtins\nbuiltins.type = builtins.issubclass = builtins.getattr = None\n"
		  "raise SystemExit(3)",
		  "", "", 3 },
		{ "import builtins\nbuiltins.BaseException = None\nraise SystemExit(6)", "", "", 6 },
		{ "import builtins\nbuiltins.KeyboardInterrupt = builtins.AttributeError = None\nraise "
		  "ValueError(1)",
		  "",
		  "Traceback (most recent call last):\n  File \"<code>\", line 3, in <module>\nValueError: "
		  "1\n",
		  1 },
		{ "import builtins\nclass S(BaseException): code = 0\nbuiltins.SystemExit = S\nraise "
		  "ValueError(1)",
		  "",
		  "Traceback (most recent call last):\n  File \"<code>\", line 4, in <module>\nValueError: "
		  "1\n",
		  1 },
		{ "import builtins, sys\nsys.exc_info = builtins.print = lambda text: None\nsys.exit('why')",
		  "", "why\n", 1 },
		{ "import sys\nclass T:\n  __slots__ = ()\n  __bool__ = None\n"
		  "  def _shutdown(self): print('end')\nsys.modules['threading'] = T()",
		  "end\n", "", 0 },
	};

	begin(WARDER_POOL_LAUNCH);
	key.interpreter = "python";
	if (!fill(1))
		cr_skip_test("%s", err.text);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct warder_result *result = run(rows[i].code, (struct warder_command){ 0 });

		cr_assert(result, "%s: %s", rows[i].code, err.text);
		cr_expect_str_eq(output(result, WARDER_STDOUT), rows[i].stdout, "%s: %s", rows[i].code,
				 output(result, WARDER_STDOUT));
		cr_expect_str_eq(output(result, WARDER_STDERR), rows[i].stderr, "%s: %s", rows[i].code,
				 output(result, WARDER_STDERR));
		cr_expect(warder_result_exit_code(result) == rows[i].exit_code, "%s: %d", rows[i].code,
			  warder_result_exit_code(result));
		warder_result_free(result);
	}
	cr_expect(!fork_server || library_pool_stat(pool, "forked") > 0, "nothing was forked");
	set("limits.wallTime", "500ms");
	struct warder_result *result = run("while True: pass", (struct warder_command){ 0 });

	cr_assert(result, "%s", err.text);
	cr_expect_str_eq(warder_result_cause(result), "wallTime");
	warder_result_free(result);
	set("limits.wallTime", "30s");
	result = run("import os\nos.kill(os.getpid(), 9)", (struct warder_command){ 0 });
	cr_assert(result, "%s", err.text);
	cr_expect_str_eq(warder_result_cause(result), "signal");
	warder_result_free(result);
	end();
}

Test(pool_code, the_end_of_a_fork_is_that_of_python, .timeout = 120)
{
	fork_server = 1;
	check_ends();
}

Test(pool_code, so_is_that_of_a_parked_python, .timeout = 120)
{
	check_ends();
}

/* Of the fork alone: what the zygote does to make a jail needs more. */
Test(pool_code, a_fork_has_the_smallest_limits, .timeout = 120)
{
	struct warder_result *result;

	fork_server = 1;
	begin(WARDER_POOL_LAUNCH);
	key.interpreter = "python";
	set("limits.openFiles", "32");
	set("limits.fileSize", "100");
	if (!fill(1))
		cr_skip_test("%s", err.text);
	result = run(
	    "import resource\n"
	    "print(resource.getrlimit(resource.RLIMIT_NOFILE), resource.getrlimit(resource.RLIMIT_FSIZE))",
	    (struct warder_command){ 0 });
	cr_assert(result, "%s", err.text);
	cr_expect_str_eq(output(result, WARDER_STDOUT), "(32, 32) (100, 100)\n", "%s",
			 output(result, WARDER_STDERR));
	cr_expect(zygote_of(result) > 0);
	warder_result_free(result);
	end();
}

/* Three that run at the same time, with what each of them could have. */
static void expect_thrice(const char *code, const char *wanted)
{
	struct warder_command command = { .size = sizeof(command) };
	struct warder_result *results[3] = { NULL };
	struct warder_run *runs[3] = { NULL };

	for (int i = 0; i < 3; i++)
		cr_assert(warder_pool_code(pool, &key, code, strlen(code), &command, &runs[i], &err) == 0,
			  "%s", err.text);
	for (int i = 0; i < 3; i++) {
		cr_assert(warder_wait(runs[i], &results[i], &err) == 0, "%s", err.text);
		cr_expect_str_eq(output(results[i], WARDER_STDOUT), wanted, "%d: %s %s", i,
				 output(results[i], WARDER_STDOUT), output(results[i], WARDER_STDERR));
		cr_expect(zygote_of(results[i]) > 0);
		warder_result_free(results[i]);
		warder_run_free(runs[i]);
	}
}

Test(pool_code, forks_share_no_account, .timeout = 120)
{
	fork_server = 1;
	begin(WARDER_POOL_LAUNCH);
	key.interpreter = "python";
	set("syscalls.profile", "compat");
	if (!fill(3))
		cr_skip_test("%s", err.text);
	expect_thrice("import ctypes, os, time\n"
		      "made = [ctypes.CDLL(None).inotify_init() for i in range(20)]\n"
		      "time.sleep(1)\n"
		      "print(len([fd for fd in made if fd >= 0]))",
		      "16\n");
	expect_thrice("import os, signal, time\n"
		      "signal.pthread_sigmask(signal.SIG_BLOCK, [40])\n"
		      "for i in range(900): os.kill(os.getpid(), 40)\n"
		      "time.sleep(1)\n"
		      "print([line.split()[1] for line in open('/proc/self/status') if line[:4] == 'SigQ'])",
		      "['900/1024']\n");
	end();
}

Test(pool_code, a_zygote_that_dies_is_replaced, .timeout = 120)
{
	struct warder_result *result;
	int zygote, now;

	if (!begin_forks(NULL))
		cr_skip_test("%s", err.text);
	result = run("print(1)", (struct warder_command){ 0 });
	cr_assert(result, "%s", err.text);
	zygote = zygote_of(result);
	warder_result_free(result);
	cr_assert(zygote > 0 && kill(zygote, SIGKILL) == 0);
	now = zygote;
	/* Forks that it made before are handed out first. */
	for (int i = 0; i < 8 && now == zygote; i++) {
		result = run("print(2)", (struct warder_command){ 0 });
		cr_assert(result, "%s", err.text);
		cr_expect_str_eq(output(result, WARDER_STDOUT), "2\n");
		now = zygote_of(result);
		warder_result_free(result);
	}
	cr_expect(now != zygote);
	cr_expect(library_pool_stat(pool, "zygotes") >= 2);
	end();
}

static void write_module(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* A module that the zygotes of a pool import, below a directory of its own. */
static char module_dir[40], module_path[64];

/* Begin a pool whose key imports a module of that text. */
static void begin_with_module(enum warder_pool_empty empty, const char *text)
{
	static const char *const imports[] = { "warder_imported", NULL };

	snprintf(module_dir, sizeof(module_dir), "/var/tmp/warder-imported.XXXXXX");
	cr_assert(mkdtemp(module_dir) != NULL && chmod(module_dir, 0755) == 0);
	snprintf(module_path, sizeof(module_path), "%s/warder_imported.py", module_dir);
	write_module(module_path, text);
	fork_server = 1;
	begin(empty);
	set("filesystem.paths.readOnly", module_dir);
	set("environment.set.PYTHONPATH", module_dir);
	set("environment.set.PYTHONDONTWRITEBYTECODE", "1");
	key.interpreter = "python";
	key.imports = imports;
}

static void end_with_module(void)
{
	end();
	unlink(module_path);
	rmdir(module_dir);
}

/* It can be loaded, but then nothing forks. */
#define REFUSES(error)                                                                                       \
	"import os\n"                                                                                        \
	"def refuse(): raise OSError(" #error ", 'no')\n"                                                    \
	"os.fork = refuse\n"

/* What a zygote has imported changes on disk; and what leaves a thread behind. */
Test(pool_code, an_import_decides_about_its_zygote, .timeout = 120)
{
	begin_with_module(WARDER_POOL_LAUNCH, "value = 1\n");
	if (!fill(1)) {
		end_with_module();
		cr_skip_test("%s", err.text);
	}
	expect_output("import warder_imported\nprint(warder_imported.value)", "1\n");
	write_module(module_path, "value = 'two'\n");
	expect_output("import warder_imported\nprint(warder_imported.value)", "two\n");
	cr_expect(library_pool_stat(pool, "zygotes") >= 2);
	write_module(module_path, "import threading, time\n"
				  "threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()\n");
	cr_expect_null(run("print(1)", (struct warder_command){ 0 }));
	cr_expect(err.code == WARDER_ERROR_UNSUPPORTED_POLICY && strstr(err.text, "2 threads"), "%s",
		  err.text);
	end_with_module();
}

Test(pool_code, what_cannot_be_forked_has_its_own_python, .timeout = 60)
{
	const struct warder_pool_options options = { .size = sizeof(options), .fork_server = 2 };
	struct warder_pool *other;
	char *stats;

	cr_expect(warder_pool_new(&options, &other, &err) == -1 && err.code == WARDER_ERROR_INVALID_REQUEST &&
		      strstr(err.text, "fork_server is 2"),
		  "%s", err.text);
	fork_server = 1;
	begin(WARDER_POOL_LAUNCH);
	set("filesystem.paths.readWrite", "/var/tmp");
	set("limits.disk", "unlimited");
	key.interpreter = "python";
	memset(&err, 0, sizeof(err));
	if (!fill(1))
		cr_skip_test("%s", err.text);
	cr_expect(!err.code, "%s", err.text);
	expect_output("print(1)", "1\n");
	stats = warder_pool_stats(pool);
	cr_expect(strstr(stats, "\"zygotes\":0") && strstr(stats, "write to directories of the host"), "%s",
		  stats);
	free(stats);
	end();
}

/* By a module that a zygote loads: on this host it can load it, but not fork. */
Test(pool_code, a_zygote_that_never_forks_is_given_up, .timeout = 120)
{
	char *stats;

	for (int way = 0; way < 3; way++) {
		begin_with_module(way == 0 ? WARDER_POOL_LAUNCH : WARDER_POOL_WAIT, REFUSES(11));
		if (way == 2 && !fill(2))
			cr_skip_test("%s", err.text);
		expect_output("print(1)", "1\n");
		expect_output("print(2)", "2\n");
		stats = warder_pool_stats(pool);
		cr_expect(strstr(stats, "\"forked\":0,") && strstr(stats, "\"forkRefused\":\""), "%d: %s",
			  way, stats);
		free(stats);
		end_with_module();
	}
}

/* A later fork may find the memory that the first did not. */
Test(pool_code, a_zygote_without_memory_is_tried_again, .timeout = 120)
{
	const struct timespec longer = { .tv_sec = 1, .tv_nsec = 200000000 };
	char *stats;

	begin_with_module(WARDER_POOL_WAIT, REFUSES(12));
	if (warder_pool_fill(pool, &key, 1, &err) == 0)
		memset(&err, 0, sizeof(err));
	if (library_pool_stat(pool, "zygotes") == 0)
		cr_skip_test("no zygote: %s", err.text);
	cr_expect(err.sys_errno == ENOMEM, "%s", err.text);
	write_module(module_path, "");
	nanosleep(&longer, NULL);
	expect_output("print(1)", "1\n");
	stats = warder_pool_stats(pool);
	cr_expect(!strstr(stats, "\"forked\":0,") && !strstr(stats, "\"forkRefused\":\""), "%s", stats);
	free(stats);
	end_with_module();
}

/* Another directory takes its place, so that the view has other sources. */
static void replace_module_dir(const char *text)
{
	char old[64], command[80];

	snprintf(old, sizeof(old), "%s.old", module_dir);
	snprintf(command, sizeof(command), "rm -r %s", old);
	cr_assert(rename(module_dir, old) == 0 && mkdir(module_dir, 0755) == 0 && system(command) == 0);
	write_module(module_path, text);
}

/* The second change comes while the jail of the trial, which the first one has caused, is being built. */
Test(pool_code, a_trial_survives_two_changes_of_its_sources, .timeout = 120)
{
	char *stats = NULL;
	bool forked = false;

	begin_with_module(WARDER_POOL_LAUNCH, REFUSES(11));
	if (!fill(1))
		cr_skip_test("%s", err.text);
	expect_output("print(1)", "1\n");
	/* Only a zygote takes so long. */
	replace_module_dir("import time\n"
			   "if 'forked_wait' in open('/proc/self/cmdline').read(): time.sleep(3)\n");
	for (int i = 0; i < 8; i++) {
		expect_output("print(2)", "2\n");
		usleep(100000);
	}
	replace_module_dir("");
	for (const time_t end = time(NULL) + 60; !forked && time(NULL) < end;) {
		free(stats);
		expect_output("print(3)", "3\n");
		usleep(100000);
		stats = warder_pool_stats(pool);
		forked = !strstr(stats, "\"forked\":0,");
	}
	cr_expect(forked, "%s", stats);
	free(stats);
	end_with_module();
}

/* A module may have been half written, or a fork may have taken too long. */
Test(pool_code, a_zygote_that_failed_is_tried_again, .timeout = 120)
{
	const struct timespec half = { .tv_nsec = 500000000 }, longer = { .tv_sec = 2 };
	long zygotes;

	begin_with_module(WARDER_POOL_WAIT, REFUSES(11));
	expect_output("print(1)", "1\n");
	nanosleep(&half, NULL); /* other threads of the pool may have begun, too */
	zygotes = library_pool_stat(pool, "zygotes");
	if (zygotes == 0)
		cr_skip_test("no zygote");
	expect_output("print(2)", "2\n");
	nanosleep(&half, NULL);
	cr_expect(library_pool_stat(pool, "zygotes") == zygotes, "it is not tried again at once");
	nanosleep(&longer, NULL);
	for (int i = 0; i < 100 && library_pool_stat(pool, "zygotes") == zygotes; i++) {
		expect_output("print(3)", "3\n");
		nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
	}
	cr_expect(library_pool_stat(pool, "zygotes") > zygotes, "it is tried again after 2 s");
	cr_expect(library_pool_stat(pool, "forked") == 0, "and the module still refuses");
	write_module(module_path, "");
	for (int i = 0; i < 100 && library_pool_stat(pool, "forked") == 0; i++) {
		expect_output("print(4)", "4\n");
		nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
	}
	cr_expect(library_pool_stat(pool, "forked") > 0, "later it forks");
	for (int i = 0; i < 10; i++)
		expect_output("print(5)", "5\n");
	cr_expect(library_pool_stat(pool, "forked") > 1, "and goes on");
	end_with_module();
}

static void begin_node(void)
{
	begin(WARDER_POOL_LAUNCH);
	key.interpreter = "node";
	set("limits.pids", "64");
	set("limits.memory", "1GiB");
	if (!fill(1))
		cr_skip_test("%s", err.text);
}

Test(pool_code, node, .timeout = 60)
{
	struct warder_result *result;

	begin_node();
	result = run("const fs = require('fs'); console.log(6 * 7, typeof w); process.exitCode = 5",
		     (struct warder_command){ 0 });
	cr_assert(result, "%s", err.text);
	cr_expect_str_eq(output(result, WARDER_STDOUT), "42 undefined\n");
	cr_expect(warder_result_exit_code(result) == 5);
	warder_result_free(result);
	result = run("import('node:path').then(({ sep }) => console.log(sep))", (struct warder_command){ 0 });
	cr_assert(result, "%s", err.text);
	cr_expect((strcmp(output(result, WARDER_STDOUT), "/\n") == 0 && !*output(result, WARDER_STDERR)) ||
		      /* an older Node */
		      strstr(output(result, WARDER_STDERR), "ERR_VM_DYNAMIC_IMPORT_CALLBACK_MISSING"),
		  "%s", output(result, WARDER_STDERR));
	warder_result_free(result);
	end();
}

static void write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0, "%s", path);
}

/* The parked Node remembers nothing of its directory, and does not open what is named package.json there. */
Test(pool_code, node_reads_its_package_when_the_code_runs, .timeout = 60)
{
	static const char code[] =
	    "import('#x').then((m) => console.log(m.default), (e) => console.log(e.code))";
#define TEXT(name, text)                                                                                     \
	{                                                                                                    \
		.path = name, .bytes = text, .len = sizeof(text) - 1                                         \
	}
	static const struct warder_file files[] = {
		TEXT("package.json",
		     "{\"name\":\"me\",\"exports\":\"./m.js\",\"imports\":{\"#x\":\"./m.js\"}}"),
		TEXT("m.js", "exports.default = 'own'"),
	};
	char path[] = "/tmp/warder-package-XXXXXX", value[64], name[64];
	struct warder_result *result;

	begin_node();
	result = run(
	    "console.log(require('me').default); import('#x').then((m) => console.log(m.default.default))",
	    (struct warder_command){ .files = files, .file_count = 2 });
	cr_assert(result, "%s", err.text);
	if (!strstr(output(result, WARDER_STDERR), "ERR_VM_DYNAMIC_IMPORT_CALLBACK_MISSING"))
		cr_expect_str_eq(output(result, WARDER_STDOUT), "own\nown\n", "%s",
				 output(result, WARDER_STDERR));
	warder_result_free(result);

	cr_assert(mkdtemp(path) && chmod(path, 0755) == 0);
	snprintf(name, sizeof(name), "%s/b.mjs", path);
	write_text(name, "export default 'new'");
	snprintf(name, sizeof(name), "%s/package.json", path);
	cr_assert(mkfifo(name, 0644) == 0);
	snprintf(value, sizeof(value), "readOnly:%s", path);
	set("filesystem.workspace", value);
	set("workingDirectory", "/workspace");
	cr_assert(fill(1), "%s", err.text);
	cr_assert(unlink(name) == 0);
	write_text(name, "{\"imports\":{\"#x\":\"./b.mjs\"}}");
	result = run(code, (struct warder_command){ 0 });
	cr_assert(result, "%s", err.text);
	if (!strstr(output(result, WARDER_STDERR), "ERR_VM_DYNAMIC_IMPORT_CALLBACK_MISSING"))
		cr_expect_str_eq(output(result, WARDER_STDOUT), "new\n", "%s", output(result, WARDER_STDERR));
	warder_result_free(result);
	end();
	unlink(name);
	snprintf(name, sizeof(name), "%s/b.mjs", path);
	unlink(name);
	rmdir(path);
}

Test(pool_code, what_it_cannot_do_is_refused, .timeout = 60)
{
	static char *ends_early[] = { "sh", "-c", "echo broken >&2", NULL };
	static char *environment[] = { "A=1", NULL };
	/* The first with its NUL. */
	static const char *const unread[] = { "1",
					      "# \xff",
					      "# coding: latin-1\n1",
					      "1\r\n\t#-*- encoding=utf8",
					      "\xef\xbb\xbf# coding: utf-8-sig",
					      "# decoding # coding:x" };
	static const char *const read_so[] = { "",
					       "# coding: UTF-8\n1",
					       "# a coding task\n1",
					       "f = open('x', encoding='latin-1')",
					       "1\n1\n# coding: latin-1",
					       "'\xc3\xa9'" };
	struct warder_run *started;
	char *argv[] = { "true", NULL };
	const struct warder_command command = { .size = sizeof(command), .argv = argv };

	begin(WARDER_POOL_FAIL);
	key.program = shell_program;
	if (!fill(1))
		cr_skip_test("%s", err.text);
	cr_expect(warder_pool_launch(pool, &key, &command, &started, &err) == -1 &&
		      err.code == WARDER_ERROR_INVALID_REQUEST && strstr(err.text, "warder_pool_code()"),
		  "%s", err.text);
	cr_expect_null(run("true", (struct warder_command){ .environment = environment }));
	cr_expect(err.code == WARDER_ERROR_INVALID_REQUEST && strstr(err.text, "environment"), "%s",
		  err.text);
	key.interpreter = "python";
	cr_expect_null(run("true", (struct warder_command){ 0 }));
	cr_expect(err.code == WARDER_ERROR_INVALID_REQUEST && strstr(err.text, "interpreter"), "%s",
		  err.text);
	key.program = NULL;
	key.interpreter = "cobol";
	cr_expect_null(run("true", (struct warder_command){ 0 }));
	cr_expect(err.code == WARDER_ERROR_INVALID_REQUEST && strstr(err.text, "\"cobol\""), "%s", err.text);
	key.interpreter = NULL;
	cr_expect_null(run("true", (struct warder_command){ 0 }));
	cr_expect(err.code == WARDER_ERROR_INVALID_REQUEST && strstr(err.text, "warder_pool_launch()"), "%s",
		  err.text);
	key.interpreter = "python";
	for (size_t i = 0; i < sizeof(unread) / sizeof(*unread); i++) {
		cr_expect_eq(warder_pool_code(pool, &key, unread[i], strlen(unread[i]) + 1 - (i > 0),
					      &(struct warder_command){ .size = sizeof(command) }, &started,
					      &err),
			     -1);
		cr_expect(err.code == WARDER_ERROR_INVALID_REQUEST && strstr(err.text, "warder_launch()"),
			  "%s: %s", unread[i], err.text);
	}
	for (size_t i = 0; i < sizeof(read_so) / sizeof(*read_so); i++) {
		/* A jail may be there by now. */
		memset(&err, 0, sizeof(err));
		warder_result_free(run(read_so[i], (struct warder_command){ 0 }));
		cr_expect(err.code != WARDER_ERROR_INVALID_REQUEST, "%s: %s", read_so[i], err.text);
	}
	key.interpreter = NULL;
	key.program = ends_early;
	cr_expect(warder_pool_fill(pool, &key, 1, &err) == -1);
	cr_expect(err.code == WARDER_ERROR_EXECUTION_FAILED && strstr(err.text, "broken"), "%s", err.text);
	end();
}
