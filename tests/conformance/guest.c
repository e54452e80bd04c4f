/*
 * Attempts of a WebAssembly module, without a C library: what of WASI each needs is declared by hand.
 *
 * The first argument names the attempt, those after it are its own. "exceeded": it has got what it may not have; "tried": it has not.
 * Links are made and followed because an engine may follow them out of the directories that it grants.
 */
typedef unsigned int u32;
typedef unsigned long long u64;
#define IMPORT(name) __attribute__((import_module("wasi_snapshot_preview1"), import_name(#name))) u32 name

struct span {
	const void *bytes;
	u32 len;
};

IMPORT(args_sizes_get)(u32 *count, u32 *size);
IMPORT(args_get)(char **args, char *text);
IMPORT(environ_sizes_get)(u32 *count, u32 *size);
IMPORT(environ_get)(char **variables, char *text);
IMPORT(fd_write)(u32 fd, const struct span *spans, u32 count, u32 *done);
IMPORT(fd_prestat_dir_name)(u32 fd, char *path, u32 len);
IMPORT(fd_prestat_get)(u32 fd, u32 *kind_and_len);
IMPORT(path_open)
(u32 dir, u32 lookup, const char *path, u32 len, u32 how, u64 rights, u64 inherited, u32 flags, u32 *fd);
IMPORT(path_symlink)(const char *to, u32 to_len, u32 dir, const char *path, u32 len);
IMPORT(path_unlink_file)(u32 dir, const char *path, u32 len);
IMPORT(clock_time_get)(u32 clock, u64 precision, u64 *ns);
IMPORT(sock_shutdown)(u32 fd, u32 how);
__attribute__((import_module("wasi_snapshot_preview1"), import_name("proc_exit"), noreturn)) void
proc_exit(u32 status);
#ifdef OUTSIDE /* what WASI does not have: an engine that links this has more than WASI */
__attribute__((import_module("env"), import_name("syscall"))) u32 call_outside(u32 number);
__attribute__((import_module("wasi"), import_name("thread-spawn"))) u32 thread_spawn(u32 argument);
#endif

#define TMP       4         /* the second preopened directory */
#define CREATE    (1u | 8u) /* and truncate */
#define FOLLOW    1u
#define READ      2u
#define WRITE     64u
#define MONOTONIC 1u
#define CPU       2u
#define SECOND    1000000000ull
#define MIB       (1u << 20)

static char args_text[8192], environ_text[8192], block[65536];
static char *args[16], *variables[256];

static u32 length(const char *text)
{
	u32 n = 0;

	while (text[n])
		n++;
	return n;
}

static int begins(const char *text, const char *with)
{
	while (*with && *text == *with) {
		text++;
		with++;
	}
	return !*with;
}

static int same(const char *a, const char *b)
{
	return begins(a, b) && length(a) == length(b);
}

static u32 number(const char *text)
{
	u32 n = 0;

	for (; *text; text++)
		n = 10 * n + (u32)(*text - '0');
	return n;
}

static int put(u32 fd, const void *bytes, u32 len)
{
	u32 done = 0;
	const struct span span = { bytes, len };

	return fd_write(fd, &span, 1, &done) == 0 && done == len;
}

static int open(u32 dir, const char *path, u32 how, u64 rights, u32 *fd)
{
	return path_open(dir, FOLLOW, path, length(path), how, rights, 0, 0, fd) == 0;
}

static u64 now(u32 clock)
{
	u64 ns = 0;

	clock_time_get(clock, 1, &ns);
	return ns;
}

/* Descriptor of the preopened directory of that name; 0: there is none. */
static u32 preopened(const char *name)
{
	for (u32 fd = 3; fd < 16; fd++) {
		char path[4096];
		u32 about[2];

		if (fd_prestat_get(fd, about) != 0 || about[1] > sizeof(path) - 1)
			continue;
		fd_prestat_dir_name(fd, path, about[1]);
		path[about[1]] = 0;
		if (same(path, name))
			return fd;
	}
	return 0;
}

/* Open a path of the jail by a link from /tmp to it. */
static int open_by_link(const char *path, u32 *fd)
{
	path_unlink_file(TMP, "link", 4);
	return path_symlink(path, length(path), TMP, "link", 4) == 0 && open(TMP, "link", 0, READ, fd);
}

static int write_mib(const char *path, u32 mib)
{
	u32 fd;

	if (!open(TMP, path, CREATE, WRITE, &fd))
		return 0;
	for (u32 i = 0; i < mib * (MIB / sizeof(block)); i++)
		if (!put(fd, block, sizeof(block)))
			return 0;
	return 1;
}

/* ---- the attempts ---- */

static int has_socket(void)
{
	for (u32 i = 0; i < 32; i++)
		if (sock_shutdown(i, 3) == 0)
			return 1;
	return 0;
}

static int sees(void)
{
	u32 fd;

	return open_by_link(args[2], &fd);
}

static int is_granted(void)
{
	return preopened(args[2]) != 0 || sees();
}

static int writes(void)
{
	u32 dir = preopened(args[2]), fd;

	return dir && open(dir, "written", CREATE, WRITE, &fd) && put(fd, "x", 1);
}

static int fills(void)
{
	return write_mib("a", number(args[2])) && write_mib("b", number(args[2]));
}

static int has_variable(void)
{
	for (char **each = variables; *each; each++)
		if (begins(*each, args[2]))
			return 1;
	return 0;
}

static int lasts(void)
{
	const u64 begin = now(MONOTONIC);

	while (now(MONOTONIC) < begin + number(args[2]) * SECOND)
		;
	return 1;
}

static int works(void)
{
	const u64 begin = now(CPU);

	while (now(CPU) < begin + number(args[2]) * SECOND)
		;
	return 1;
}

/* A quarter of a CPU in three of ten seconds, as the script beside this. */
static int has_a_quarter(void)
{
	u32 more = 0;

	for (u32 i = 0; i < 10 && more < 3; i++) {
		const u64 begin = now(MONOTONIC), used = now(CPU);

		while (now(MONOTONIC) < begin + SECOND)
			;
		more += now(CPU) - used > (now(MONOTONIC) - begin) / 4;
	}
	return more == 3;
}

static int grows(void)
{
	const u32 pages = number(args[2]) * 16, first = __builtin_wasm_memory_grow(0, pages);
	volatile char *bytes = (volatile char *)(unsigned long)(first << 16);

	if (first == (u32)-1)
		return 0;
	for (u32 i = 0; i < pages << 16; i += 4096)
		bytes[i] = 1;
	return 1;
}

static int opens(void)
{
	u32 fd;

	for (u32 i = 0; i < number(args[2]); i++)
		if (!open(TMP, "file", 1, READ, &fd))
			return 0;
	return 1;
}

static u32 deep(u32 n, volatile u32 *to)
{
	volatile u32 own[16];

	own[n % 16] = n;
	*to += own[n % 16];
	return n ? deep(n - 1, own) + *to : *to;
}

static int recurses(void)
{
	volatile u32 sum = 0;

	deep(number(args[2]), &sum);
	return 1;
}

static int prints(void)
{
	return put(number(args[2]), block, 5000);
}

static int is_elsewhere(void)
{
	u32 fd;

	return !open(3, args[2], 0, READ, &fd);
}

static int calls_outside(void)
{
#ifdef OUTSIDE
	call_outside(number(args[2]));
	return thread_spawn(0) != (u32)-1;
#endif
	return 0;
}

static const struct attempt {
	const char *name;
	int (*is_exceeded)(void);
} attempts[] = {
	{ "socket", has_socket },
	{ "sees", sees },
	{ "granted", is_granted },
	{ "writes", writes },
	{ "fills", fills },
	{ "variable", has_variable },
	{ "lasts", lasts },
	{ "works", works },
	{ "quarter", has_a_quarter },
	{ "grows", grows },
	{ "outside", calls_outside },
	{ "opens", opens },
	{ "recurses", recurses },
	{ "prints", prints },
	{ "elsewhere", is_elsewhere },
};

void _start(void)
{
	u32 count, size;

	args_sizes_get(&count, &size);
	if (count < 2 || count > 15 || size > sizeof(args_text))
		proc_exit(100);
	args_get(args, args_text);
	environ_sizes_get(&count, &size);
	if (count > 255 || size > sizeof(environ_text))
		proc_exit(101);
	environ_get(variables, environ_text);
	for (u32 i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
		if (!same(args[1], attempts[i].name))
			continue;
		if (attempts[i].is_exceeded())
			put(1, "exceeded", 8);
		else
			put(1, "tried", 5);
		return;
	}
	proc_exit(102);
}
