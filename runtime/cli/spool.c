/*
 * Streams are written to unnamed files in the store's own directory, where their content goes anyway, and files are held open; then one
 * warder-store gets all of them as descriptors, and answers with a JSON array of what became of each. So this program stays without
 * the store's libraries, and its memory does not grow with what is kept.
 */
#include "runtime/cli/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/fd.h"
#include "base/hang.h"
#include "base/json.h"
#include "base/programs.h"
#include "rootfs/rootfs.h"

#define ANSWER_MOST   ((size_t)4 << 20)
#define BYTES_DEFAULT ((uint64_t)256 << 20)
#define LOOK_MS       500
#define END_MS        500
#define STUCK_LOOKS   5 /* after the 4 s of hang_look() */

static const char flag[] = "--artifacts";
static const char meant[] = "store:";
static const char *const stream_names[] = { "stdout", "stderr" };

/* What is handed over, and where it is noted. */
struct kept {
	int fd;
	char *name;
	struct result_reference *reference;
};

struct handing {
	struct kept *items;
	size_t count;
};

bool spool_is_meant(const char *artifacts)
{
	return artifacts && strncmp(artifacts, meant, sizeof(meant) - 1) == 0;
}

/* ---- before the run ---- */

/* What stands between a session and a name: a session is a directory of them, also when it is written without a slash. */
static const char *slash_after(const char *session)
{
	const size_t len = strlen(session);

	return len && session[len - 1] != '/' ? "/" : "";
}

static int check_session(const char *session, struct warder_error *err)
{
	char name[512];

	if ((size_t)snprintf(name, sizeof(name), "%s%sstdout", session, slash_after(session)) >=
		sizeof(name) - 200 ||
	    strpbrk(session, "@\n") || !json_is_utf8(session))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, flag,
				 "the session is the beginning of names: up to 300 bytes of UTF-8 without @, "
				 "such as store:run-1/");
	if (path_check_relative(name, strlen(name), err) != 0)
		return error_context(err, "%s", flag);
	return 0;
}

/* A file without a name; where the file system has none such, one whose name is taken away at once. */
static int open_unnamed(int dir_fd)
{
	int fd = openat(dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	uint64_t number = 0;
	char name[64];

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT))
		return fd;
	if (getrandom(&number, sizeof(number), 0) < 0)
		return -1;
	snprintf(name, sizeof(name), ".new-%016" PRIx64, number);
	fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0)
		unlinkat(dir_fd, name, 0);
	return fd;
}

int spool_open(const char *artifacts, uint64_t bytes_max, struct spool *ret, struct warder_error *err)
{
	owned_fd int dir_fd = -1;
	char path[ROOTFS_PRIVATE_DIR_MAX];

	*ret = SPOOL_NONE;
	if (!spool_is_meant(artifacts))
		return 0;
	ret->session = artifacts + sizeof(meant) - 1;
	if (check_session(ret->session, err) != 0 ||
	    programs_find("warder-store", flag, ret->program, err) != 0 ||
	    rootfs_store_path(NULL, "artifacts", path, err) != 0)
		return -1;
	dir_fd = rootfs_open_private_dir(path, flag, err);
	if (dir_fd < 0)
		return -1;
	for (size_t i = 0; i < 2; i++) {
		ret->fds[i] = open_unnamed(dir_fd);
		if (ret->fds[i] < 0) {
			error_set_errno(err, WARDER_ERROR_UNAVAILABLE, flag, errno,
					"nothing can be written to the store %.200s", path);
			spool_done(ret);
			return -1;
		}
	}
	ret->spill = (struct warder_spill){
		.size = sizeof(ret->spill),
		.fds = ret->fds,
		.bytes_max = bytes_max ? bytes_max : BYTES_DEFAULT,
		.hold_files = 1,
	};
	ret->open = true;
	return 0;
}

void spool_done(struct spool *spool)
{
	fd_done(&spool->fds[0]);
	fd_done(&spool->fds[1]);
	spool->open = false;
}

/* ---- after the run: what there is ---- */

__attribute__((format(printf, 2, 3))) static void blame(struct result_reference *reference,
							const char *format, ...)
{
	va_list args;

	if (reference->fault)
		return;
	va_start(args, format);
	if (vasprintf(&reference->fault, format, args) < 0)
		reference->fault = NULL;
	va_end(args);
}

static void add(struct handing *handing, const struct spool *spool, const char *under, const char *name,
		int fd, struct result_reference *reference)
{
	struct kept *one = &handing->items[handing->count];

	*one = (struct kept){ .fd = fd, .reference = reference };
	if (asprintf(&one->name, "%s%s%s%s", spool->session, slash_after(spool->session), under, name) < 0)
		blame(reference, "out of memory");
	else
		handing->count++;
}

static void add_stream(struct handing *handing, const struct spool *spool, const char *under, bool all,
		       struct warder_result *result, size_t stream)
{
	const struct jail_outcome *outcome = &result->outcome;
	const struct jail_output *output = &outcome->output[stream];
	struct result_reference *reference = &result->streams[stream];

	if (all ? output->total == 0 : !output->truncated)
		return;
	reference->truncated = outcome->spilled[stream] < output->total;
	if (outcome->spill_errno[stream])
		blame(reference, "only the first %" PRIu64 " of %" PRIu64 " bytes could be kept: %s",
		      outcome->spilled[stream], output->total, strerror(outcome->spill_errno[stream]));
	if (lseek(spool->fds[stream], 0, SEEK_SET) == 0)
		add(handing, spool, under, stream_names[stream], spool->fds[stream], reference);
	else
		blame(reference, "it cannot be read again: %s", strerror(errno));
}

static void add_files(struct handing *handing, const struct spool *spool, const char *under,
		      struct warder_result *result)
{
	const struct rootfs_collection *files = &result->outcome.collected;

	for (size_t i = 0; result->references && i < files->count; i++) {
		if (files->items[i].taken == ROOTFS_TAKEN_HELD)
			add(handing, spool, under, files->items[i].path, files->items[i].fd,
			    &result->references[i]);
	}
}

static void blame_all(struct handing *handing, const char *why)
{
	for (size_t i = 0; i < handing->count; i++)
		blame(handing->items[i].reference, "%s", why);
}

/* ---- handing over ---- */

/* In the child: the descriptors as they are numbered here. */
_Noreturn static void become_store(const struct spool *spool, const struct handing *handing, char **argv,
				   int answer_fd, pid_t parent)
{
	const int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t i = 0; i < handing->count; i++)
		fcntl(handing->items[i].fd, F_SETFD, 0);
	if (getppid() == parent && null_fd >= 0 && dup2(null_fd, STDIN_FILENO) >= 0 &&
	    dup2(answer_fd, STDOUT_FILENO) >= 0)
		execv(spool->program, argv);
	_exit(127);
}

/* "warder-store artifact take -- NAME FD ...", NULL-terminated; the numbers are in `numbers`. NULL: no memory. */
static char **words_of(const struct handing *handing, char (*numbers)[16])
{
	static char program[] = "warder-store", group[] = "artifact", command[] = "take", end[] = "--";
	char **argv = calloc(2 * handing->count + 5, sizeof(char *));

	if (!argv)
		return NULL;
	argv[0] = program;
	argv[1] = group;
	argv[2] = command;
	argv[3] = end;
	for (size_t i = 0; i < handing->count; i++) {
		snprintf(numbers[i], sizeof(numbers[i]), "%d", handing->items[i].fd);
		argv[4 + 2 * i] = handing->items[i].name;
		argv[5 + 2 * i] = numbers[i];
	}
	return argv;
}

/* False: nothing comes, because the kernel holds the process. A disk that is merely slow wakes it in between. */
static bool can_read(int fd, pid_t pid)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	struct hang hang = { 0 };
	int stuck = 0;

	while (poll(&ready, 1, LOOK_MS) <= 0) {
		stuck = hang_look(&hang, pid) ? stuck + 1 : 0;
		if (stuck == STUCK_LOOKS)
			return false;
	}
	return true;
}

/* Everything up to its end, NUL-terminated; heap. NULL: too much, or no memory, or it does not come. */
static char *read_answer(int fd, pid_t pid, size_t *ret_len)
{
	size_t size = 4096, len = 0;
	char *text = malloc(size);

	while (text) {
		const bool stuck = !can_read(fd, pid);
		ssize_t n = stuck ? 0 : read(fd, text + len, size - len - 1);
		char *grown;

		if (n < 0 && errno == EINTR)
			continue;
		if (stuck)
			len = 0; /* half an answer is none */
		if (n <= 0)
			break;
		len += (size_t)n;
		if (size - len > 1)
			continue;
		size *= 2;
		grown = size <= ANSWER_MOST ? realloc(text, size) : NULL;
		if (!grown)
			free(text);
		text = grown;
	}
	if (text)
		text[len] = '\0';
	*ret_len = len;
	return text;
}

/* The answer to all of it, heap, and how it ended, or the number of a process that does not. NULL: it did not even start. */
static char *ask_store(const struct spool *spool, const struct handing *handing, size_t *ret_len,
		       int *ret_status, int *ret_stuck)
{
	char(*numbers)[16] = calloc(handing->count, sizeof(*numbers));
	char **argv = numbers ? words_of(handing, numbers) : NULL;
	const pid_t self = getpid();
	owned_fd int read_fd = -1;
	char *text = NULL;
	int fds[2];
	pid_t pid = -1;

	if (argv && pipe2(fds, O_CLOEXEC) == 0) {
		read_fd = fds[0];
		pid = fork();
		if (pid == 0)
			become_store(spool, handing, argv, fds[1], self);
		close(fds[1]);
	}
	if (pid > 0) {
		text = read_answer(read_fd, pid, ret_len);
		fd_done(&read_fd);
		if (child_wait(pid, END_MS, ret_status) == CHILD_LIVES) {
			kill(pid, SIGKILL);
			*ret_stuck = child_wait(pid, END_MS, ret_status) == CHILD_LIVES ? pid : 0;
		}
	}
	free(argv);
	free(numbers);
	return text;
}

/* What became of one of them. */
static void note(struct result_reference *reference, const struct json_value *answer)
{
	const struct json_value *error = json_member(answer, "error");
	const struct json_value *message = error ? json_member(error, "message") : NULL;

	if (message && message->type == JSON_STRING) {
		free(reference->fault); /* that it is not kept at all is more than that it is not whole */
		reference->fault = NULL;
		blame(reference, "it is not kept: %s", message->string);
		return;
	}
	reference->artifact = json_text(answer);
	if (!reference->artifact)
		blame(reference, "out of memory");
}

static void note_all(struct handing *handing, const char *text, size_t len, int status, int stuck)
{
	const struct json_limits limits = { .max_bytes = ANSWER_MOST };
	struct json_value *list = NULL;
	const struct json_value *item;
	struct warder_error err;
	char why[120];

	snprintf(why, sizeof(why), "it is not kept: warder-store failed (status %d)",
		 WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	if (stuck)
		snprintf(why, sizeof(why),
			 "it is not kept: warder-store, process %d, does not die: the kernel holds it",
			 stuck);
	if (!text || status != 0 || json_parse(text, len, "warder-store", &limits, &list, &err) != 0) {
		blame_all(handing, why);
		return;
	}
	item = list->type == JSON_ARRAY ? list->child : NULL;
	for (size_t i = 0; i < handing->count; i++, item = item ? item->next : NULL) {
		if (item && item->type == JSON_OBJECT)
			note(handing->items[i].reference, item);
		else
			blame(handing->items[i].reference, "%s", why);
	}
	json_free(list);
}

void spool_keep(const struct spool *spool, const char *under, bool all, struct warder_result *result)
{
	const size_t files = result->outcome.collected.count;
	struct handing handing = { .items = calloc(files + 2, sizeof(*handing.items)) };
	size_t len = 0;
	int status = -1;
	int stuck = 0;
	char *text;

	if (!spool->open || result->references || !handing.items) {
		free(handing.items);
		return;
	}
	result->references = calloc(files ? files : 1, sizeof(*result->references));
	for (size_t stream = 0; stream < 2; stream++)
		add_stream(&handing, spool, under, all, result, stream);
	add_files(&handing, spool, under, result);
	if (handing.count) {
		text = ask_store(spool, &handing, &len, &status, &stuck);
		note_all(&handing, text, len, status, stuck);
		free(text);
	}
	for (size_t i = 0; i < handing.count; i++)
		free(handing.items[i].name);
	free(handing.items);
}
