#include "runtime/cli/workers.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/fd.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/report.h"
#include "runtime/cli/term.h"
#include "runtime/library/result_end.h"

#define ENDING_MS 1000
#define ENDING_ALL_MS                                                                                        \
	13000 /* of workers, each of which may give up a jail that does not die, or a service that is stopped */
#define LOOK_MS  1000
#define DEATH_MS 1000 /* of a worker that has ended, or is killed */
#define PIECE    4096 /* a pipe that can be written to takes so much without blocking */

static volatile int waking_fd = -1;

static void wake(void)
{
	const uint64_t one = 1;

	if (write(waking_fd, &one, sizeof(one)) < 0)
		return; /* it is awake already */
}

static void rest(const struct workers *workers)
{
	uint64_t count;

	if (read(workers->wake_fd, &count, sizeof(count)) < 0)
		return; /* nobody has called */
}

/* ---- life ---- */

int workers_init(struct workers *workers, const char *what, size_t parallel, bool ordered, size_t note_size,
		 struct warder_error *err)
{
	const size_t slots = parallel + (ordered ? WORKERS_WAITING : 0);

	*workers = (struct workers){ .what = what,
				     .slot_count = slots,
				     .parallel = parallel,
				     .ordered = ordered,
				     .note_size = note_size,
				     .wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
				     .source_fd = -1 };
	workers->notes =
	    mmap(NULL, slots * note_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (workers->wake_fd < 0 || workers->notes == MAP_FAILED)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
				       "nothing can be shared with workers");
	for (size_t i = 0; i < slots; i++) {
		struct worker *slot = &workers->slots[i];

		slot->pid_fd = slot->result_fd = -1;
		slot->note = (char *)workers->notes + i * note_size;
	}
	waking_fd = workers->wake_fd;
	signal(SIGCHLD, SIG_DFL); /* ignored, it would take their exit statuses away */
	report_catch_signals();
	ending_catch(wake);
	return 0;
}

void workers_done(struct workers *workers)
{
	workers_end(workers);
	for (size_t i = 0; i < workers->slot_count; i++)
		workers_release(workers, &workers->slots[i]);
	munmap(workers->notes, workers->slot_count * workers->note_size);
	waking_fd = -1;
	fd_done(&workers->wake_fd);
}

bool workers_idle(const struct workers *workers)
{
	return workers->handed_out == workers->started;
}

static struct worker *find_free(const struct workers *workers)
{
	for (size_t i = 0; i < workers->slot_count; i++) {
		if (workers->slots[i].state == WORKER_FREE)
			return (struct worker *)&workers->slots[i];
	}
	return NULL;
}

bool workers_may_start(const struct workers *workers)
{
	return workers->running < workers->parallel && find_free(workers);
}

/* ---- in the worker ---- */

/* SIGTERM ends it, also where we were told to ignore it: by it the kernel tells of our death. */
static void prepare_child(struct workers *workers, const struct worker *self, pid_t parent)
{
	sigset_t terminating;

	signal(SIGTERM, SIG_DFL);
	report_catch_signals();
	sigemptyset(&terminating);
	sigaddset(&terminating, SIGTERM);
	sigprocmask(SIG_UNBLOCK, &terminating, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
	for (size_t i = 0; i < workers->slot_count; i++) {
		struct worker *slot = &workers->slots[i];

		if (slot == self)
			continue;
		fd_done(&slot->pid_fd);
		fd_done(&slot->result_fd);
	}
}

/* ---- starting and ending ---- */

int workers_start(struct workers *workers, int (*work)(void *context, const struct worker *worker),
		  void *context, const void *note, struct warder_error *err)
{
	struct worker *slot = find_free(workers);
	const pid_t parent = getpid();

	if (!slot)
		return error_set(err, WARDER_ERROR_INTERNAL, NULL, "every place of a worker is taken");
	slot->result_fd = memfd_create("result", MFD_CLOEXEC);
	if (slot->result_fd < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
				       "no memory file for a result");
	memcpy(slot->note, note, workers->note_size);
	slot->stuck = false;
	slot->hang = (struct hang){ 0 };
	slot->index = workers->started;
	slot->pid = fork();
	if (slot->pid == 0) {
		prepare_child(workers, slot, parent);
		_exit(work(context, slot) == 0 ? 0 : 1);
	}
	if (slot->pid > 0)
		slot->pid_fd = (int)syscall(SYS_pidfd_open, slot->pid, 0);
	if (slot->pid_fd < 0) {
		error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "no process can be started");
		if (slot->pid > 0) {
			kill(slot->pid, SIGTERM);
			child_wait(slot->pid, CHILD_PATIENCE_MS, NULL);
		}
		fd_done(&slot->result_fd);
		return -1;
	}
	workers->started++;
	slot->state = WORKER_RUNNING;
	workers->running++;
	return 0;
}

/* One that does not end in that time is left behind. */
static void reap(struct workers *workers, struct worker *worker, unsigned int within_ms)
{
	int status = 0;
	const enum child_end end = child_wait(worker->pid, within_ms, &status);
	const bool ended = end == CHILD_ENDED;

	fd_done(&worker->pid_fd);
	worker->stuck = end == CHILD_LIVES;
	worker->signal = ended && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	worker->state =
	    ended && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? WORKER_FINISHED : WORKER_DIED;
	workers->running--;
}

/* Those that hang in the kernel are given up, as a jail would be. */
static void look_at_workers(struct workers *workers)
{
	for (size_t i = 0; i < workers->slot_count; i++) {
		struct worker *worker = &workers->slots[i];

		if (worker->state != WORKER_RUNNING || !hang_look(&worker->hang, worker->pid))
			continue;
		kill(worker->pid, SIGKILL);
		reap(workers, worker, DEATH_MS);
	}
}

bool workers_wait(struct workers *workers, int input_fd)
{
	struct pollfd polls[WORKERS_MAX + WORKERS_WAITING + 2];
	struct worker *polled[WORKERS_MAX + WORKERS_WAITING];
	nfds_t count = 2;

	/* What is negative is not looked at. */
	polls[0] = (struct pollfd){ .fd = input_fd, .events = POLLIN };
	polls[1] = (struct pollfd){ .fd = workers->wake_fd, .events = POLLIN };
	for (size_t i = 0; i < workers->slot_count; i++) {
		if (workers->slots[i].state != WORKER_RUNNING)
			continue;
		polled[count - 2] = &workers->slots[i];
		polls[count++] = (struct pollfd){ .fd = workers->slots[i].pid_fd, .events = POLLIN };
	}
	if (poll(polls, count, workers->running ? LOOK_MS : -1) < 0)
		return false;
	if (polls[1].revents)
		rest(workers);
	for (nfds_t i = 2; i < count; i++) {
		if (polls[i].revents)
			reap(workers, polled[i - 2], DEATH_MS);
	}
	look_at_workers(workers);
	return polls[0].revents != 0;
}

struct worker *workers_next(struct workers *workers)
{
	struct worker *found = NULL;

	for (size_t i = 0; i < workers->slot_count; i++) {
		struct worker *slot = &workers->slots[i];

		if (slot->state != WORKER_FINISHED && slot->state != WORKER_DIED)
			continue;
		if (workers->ordered && slot->index != workers->handed_out)
			continue;
		if (!found || slot->index < found->index)
			found = slot;
	}
	return found;
}

void workers_release(struct workers *workers, struct worker *worker)
{
	if (worker->state == WORKER_FREE)
		return;
	workers->handed_out++;
	fd_done(&worker->result_fd);
	worker->state = WORKER_FREE;
}

static int left_until(uint64_t deadline_us)
{
	const uint64_t now = clock_us();

	return now < deadline_us ? (int)((deadline_us - now) / 1000) : 0;
}

static void signal_running(const struct workers *workers, int signal)
{
	for (size_t i = 0; i < workers->slot_count; i++)
		if (workers->slots[i].state == WORKER_RUNNING)
			kill(workers->slots[i].pid, signal);
}

/* Until those that run have ended. */
static void await_running(const struct workers *workers, uint64_t deadline_us)
{
	for (size_t i = 0; i < workers->slot_count; i++) {
		struct pollfd ended = { .fd = workers->slots[i].pid_fd, .events = POLLIN };

		if (workers->slots[i].state != WORKER_RUNNING)
			continue;
		while (poll(&ended, 1, left_until(deadline_us)) < 0 && errno == EINTR)
			;
	}
}

void workers_end(struct workers *workers)
{
	struct warder_error err;
	uint64_t deadline_us;

	signal_running(workers, SIGTERM);
	await_running(workers, clock_us() + ENDING_ALL_MS * UINT64_C(1000));
	signal_running(workers, SIGKILL);
	deadline_us = clock_us() + DEATH_MS * UINT64_C(1000);
	for (size_t i = 0; i < workers->slot_count; i++) {
		if (workers->slots[i].state != WORKER_RUNNING)
			continue;
		reap(workers, &workers->slots[i], (unsigned int)left_until(deadline_us));
		if (!workers->slots[i].stuck)
			continue;
		workers_say_death(workers, &workers->slots[i], &err);
		term_complain("%s", err.text);
	}
}

void workers_say_death(const struct workers *workers, const struct worker *worker, struct warder_error *err)
{
	const char *what = workers->what;
	char name[16];

	if (worker->stuck)
		error_set(
		    err, WARDER_ERROR_UNAVAILABLE, NULL,
		    "host: the process at work on the %s, %d, does not die: the kernel holds it. It is left "
		    "behind",
		    what, (int)worker->pid);
	else
		error_set(err, WARDER_ERROR_INTERNAL, NULL, "the process at work on the %s %s%s", what,
			  worker->signal ? "was ended by " : "failed",
			  worker->signal ? result_signal_name(worker->signal, name, sizeof(name)) : "");
}

/* ---- results ---- */

/* A reader that does not take it holds us up as long as it likes, unless we are to end or it has closed its side. */
static int wait_for_reader(struct workers *workers, int fd)
{
	struct pollfd polls[] = { { .fd = fd, .events = POLLOUT },
				  { .fd = workers->wake_fd, .events = POLLIN },
				  { .fd = workers->source_fd, .events = POLLRDHUP } };
	int ready;

	do {
		if (ending_signal())
			ready = poll(polls, 1, ENDING_MS);
		else if (workers->is_source_closed)
			ready = poll(polls, 2, WORKERS_READER_MS);
		else
			ready = poll(polls, 3, -1);
		if (ready < 0 && errno != EINTR)
			return -1;
		if (ready == 0) {
			errno = ETIMEDOUT;
			return -1;
		}
		workers->is_source_closed |= polls[2].revents != 0;
	} while (ready < 0 || !polls[0].revents);
	return 0;
}

int workers_write(struct workers *workers, int fd, const char *bytes, size_t len)
{
	while (len) {
		ssize_t count;

		if (wait_for_reader(workers, fd) != 0)
			return -1;
		count = write(fd, bytes, len < PIECE ? len : PIECE);
		if (count < 0 && errno != EINTR && errno != EAGAIN)
			return -1;
		bytes += count > 0 ? count : 0;
		len -= count > 0 ? (size_t)count : 0;
	}
	return 0;
}

int workers_pass_on(struct workers *workers, const struct worker *worker)
{
	char piece[16 * PIECE];
	off_t at = 0;

	for (;;) {
		const ssize_t count = pread(worker->result_fd, piece, sizeof(piece), at);

		if (count <= 0)
			return (int)count;
		if (workers_write(workers, STDOUT_FILENO, piece, (size_t)count) != 0)
			return -1;
		at += count;
	}
}
