/* Without a C library: what of WASI it needs, declared by hand. */
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
IMPORT(fd_read)(u32 fd, const struct span *spans, u32 count, u32 *done);
IMPORT(fd_write)(u32 fd, const struct span *spans, u32 count, u32 *done);
IMPORT(fd_close)(u32 fd);
IMPORT(path_open)
(u32 dir, u32 lookup, const char *path, u32 len, u32 how, u64 rights, u64 inherited, u32 flags, u32 *fd);
IMPORT(path_create_directory)(u32 dir, const char *path, u32 len);
__attribute__((import_module("wasi_snapshot_preview1"), import_name("proc_exit"), noreturn)) void
proc_exit(u32 status);

#define HERE     3 /* the first preopened directory: the working directory */
#define TMP      4
#define CREATE   (1u | 8u) /* and truncate */
#define FD_READ  2u
#define FD_WRITE 64u

static char args_text[4096], environ_text[8192], input[4096], line[4096], large[100000];
static char *args[64], *variables[256];

static u32 length(const char *text)
{
	u32 n = 0;

	while (text[n])
		n++;
	return n;
}

static const char *find(const char *text, const char *what)
{
	for (; *text; text++) {
		u32 n = 0;

		while (what[n] && text[n] == what[n])
			n++;
		if (!what[n])
			return text + n;
	}
	return 0;
}

static void put(u32 fd, const char *bytes, u32 len)
{
	for (u32 done = 0; len; bytes += done, len -= done) {
		const struct span span = { bytes, len };

		if (fd_write(fd, &span, 1, &done) != 0)
			proc_exit(5);
	}
}

static void text(u32 fd, const char *what)
{
	put(fd, what, length(what));
}

static void number(u32 fd, u32 n)
{
	char digits[12];
	u32 at = sizeof(digits);

	do
		digits[--at] = (char)('0' + n % 10);
	while (n /= 10);
	put(fd, digits + at, sizeof(digits) - at);
}

static u32 open(u32 dir, const char *path, u32 how, u64 rights)
{
	u32 fd;

	if (!path || path_open(dir, 1, path, length(path), how, rights, 0, 0, &fd) != 0)
		proc_exit(4);
	return fd;
}

static void get(u32 fd, char *to, u32 size)
{
	const struct span span = { to, size - 1 };
	u32 done = 0;

	if (fd_read(fd, &span, 1, &done) != 0)
		proc_exit(5);
	to[done] = 0;
}

static const char *variable(const char *name)
{
	for (char **each = variables; *each; each++) {
		const char *value = find(*each, name);

		if (value && value == *each + length(name))
			return value;
	}
	return 0;
}

static int same(const char *a, const char *b)
{
	const char *rest = find(a, b);

	return rest == a + length(b) && !*rest;
}

static u32 read_number(const char **at)
{
	u32 n = 0;

	for (; **at >= '0' && **at <= '9'; ++*at)
		n = 10 * n + (u32)(**at - '0');
	return n;
}

void _start(void)
{
	u32 numbers[100], count = 0, total = 0, arg_count, size, fd;
	const char *at, *name, *tmp = "/tmp/";

	args_sizes_get(&arg_count, &size);
	if (arg_count > 63 || size > sizeof(args_text))
		proc_exit(6);
	args_get(args, args_text);
	environ_sizes_get(&count, &size);
	if (count > 255 || size > sizeof(environ_text))
		proc_exit(6);
	environ_get(variables, environ_text);
	if (arg_count == 2 && same(args[1], "fail")) {
		text(2, "no such thing: 42\n");
		proc_exit(3);
	}
	if (arg_count == 2 && same(args[1], "throw"))
		__builtin_trap();
	get(open(TMP, variable("WARDER_INPUT=") + length(tmp), 0, FD_READ), input, sizeof(input));
	get(0, line, sizeof(line));
	count = 0;
	for (at = line; *at && count < 100; at += *at == '\n') {
		u32 n = read_number(&at), i = count++;

		for (total += n; i && numbers[i - 1] > n; i--)
			numbers[i] = numbers[i - 1];
		numbers[i] = n;
	}
	fd = open(HERE, "report.csv", CREATE, FD_WRITE);
	for (u32 i = 0; i < count; i++) {
		number(fd, numbers[i]);
		text(fd, ",");
		number(fd, numbers[i] * numbers[i]);
		text(fd, "\n");
	}
	path_create_directory(HERE, "out", 3);
	__builtin_memset(large, 'x', sizeof(large));
	put(open(HERE, "out/large.txt", CREATE, FD_WRITE), large, sizeof(large));
	text(1, "sum ");
	number(1, total);
	text(1, "\n");
	for (u32 i = 1; i < arg_count; i++) {
		text(1, i > 1 ? "|" : "");
		text(1, args[i]);
	}
	text(1, "\n");
	at = find(input, "\"factor\": ");
	name = find(input, "\"name\": \"");
	fd = open(TMP, variable("WARDER_RESULT=") + length(tmp), CREATE, FD_WRITE);
	text(fd, "{\"scaled\": ");
	number(fd, total * read_number(&at));
	text(fd, ", \"name\": \"");
	put(fd, name, (u32)(find(name, "\"") - name));
	text(fd, ", \"sorted\": [");
	for (u32 i = 0; i < count; i++) {
		text(fd, i ? "," : "");
		number(fd, numbers[i]);
	}
	text(fd, "]}");
	fd_close(fd);
}
