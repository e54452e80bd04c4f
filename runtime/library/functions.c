/*
 * One descriptor stands for everything that can happen: an epoll set of the socket, of the children and their output, of a timer for the
 * nearest deadline, and of an event for answers from other threads. The supervision polls it as one entry of its list. Each time it is
 * readable, functions_serve() looks at everything. There are at most four open calls, so that this costs nothing.
 *
 * The program may write anything. Bytes are taken from it only while there is room for another call and no answer waits to be read, so
 * that a program that floods calls, or does not read its answers, waits for itself. Neither does it use up memory here: there is one line at
 * most, and one answer for each open call. Nobody can pass descriptors to the socket. A kernel before Linux 6.16 takes them, and closes them
 * in read(2).
 *
 * A program of the caller's that answers leads a process group of its own, which is killed as a whole: at the deadline, when the program
 * writes too much, when it has ended and left something running, when the run is over, and when this process dies. The parent of the
 * program, and our child, is a holder. It starts the program and waits until the program has ended, until we ask for the end, or until this
 * process dies. Then it kills the group, waits for the program, and ends as the program has ended. It is in a process group of its own and
 * blocks all signals, so that no signal to another group reaches it. If somebody kills the holder, the kernel kills the program, and we kill
 * the rest of the group: the holder has sent us a descriptor of the program.
 *
 * The holder executes nothing, so that it never gets back the exit signal SIGCHLD: the kernel keeps its end for us even if the application
 * ignores SIGCHLD or waits for any child. A slot of a call is free again when its holder is reaped, which can take long: the holder waits
 * for a program that the kernel holds. The holder is a copy of one thread of an application that may have others, which may have held any
 * lock when it was made. It therefore makes only calls that take no lock; signal() and sigaction() take one.
 *
 * A descriptor is taken out of the epoll set before it is closed, for the reason that jail/poller.c names.
 */
#include "runtime/library/functions.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/file.h"

#define CHUNK     16384
#define MAX_DEPTH 64
#define ID_MOST   64 /* bytes of a call's id, as it is written back */
#define REAP_MS                                                                                              \
	200 /* at the end, for a holder that was asked to end; the kernel may hold its program for longer */
#define PIDFD_GROUP 4u    /* PIDFD_SIGNAL_PROCESS_GROUP, which not every libc has */
#define LOOK_US     20000 /* between two looks at a holder whose descriptor cannot be watched */

static const struct json_limits line_limits = { .max_bytes = FUNCTIONS_LINE + 1,
						.max_depth = MAX_DEPTH,
						.max_values = 10000 };
static const struct json_limits answer_limits = { .max_bytes = FUNCTIONS_ANSWER + 1,
						  .max_depth = MAX_DEPTH,
						  .max_values = 100000 };

struct offered {
	const char *name; /* the count's */
	char *program;    /* heap; NULL: on_call answers */
};

/* One call that is not answered yet. */
struct open_call {
	uint64_t number; /* that on_call was given; 0: none, and free if there is no child either */
	char id[ID_MOST + 1];
	uint64_t deadline_us;
	int pid;    /* the holder's; 0: none */
	int pid_fd; /* in the epoll set; -1: none */
	int stop_fd; /* a socket: what is sent asks the holder to end, and the program's descriptor comes by it; -1: none */
	int out_fd;  /* -1: at its end, or none */
	char *bytes; /* heap, what the child has written */
	size_t len;
};

static const struct open_call no_call = { .pid_fd = -1, .stop_fd = -1, .out_fd = -1 };

/* An answer from another thread, or from on_call itself. */
struct given_answer {
	struct given_answer *next;
	uint64_t number;
	char *result; /* heap, JSON; NULL: error */
	char *error;
};

struct functions {
	int socket_fd, program_fd, epoll_fd, timer_fd, wake_fd;
	uint32_t socket_events;
	bool input_ended; /* the program has shut its side, or closed it */
	char *line;       /* FUNCTIONS_LINE + 1 bytes */
	size_t line_len;
	bool too_long; /* the line that is read now: the rest up to its newline is dropped */
	char *out;     /* answers that the socket has not taken; heap */
	size_t out_len, out_at;
	struct offered offered[POLICY_MAX_FUNCTIONS];
	void (*on_call)(void *context, uint64_t call, const char *name, const char *arguments);
	void *context;
	uint64_t time_us;
	struct open_call calls[FUNCTIONS_AT_ONCE];
	uint64_t last_number;
	struct functions_count count;
	pthread_mutex_t mutex; /* of the two below */
	struct given_answer *given;
	uint64_t open[FUNCTIONS_AT_ONCE]; /* numbers of calls that await functions_answer(); 0: none */
};

/* ---- opening ---- */

/* A heap path of a regular file that can be executed. NULL with *err. */
static char *find_program(const struct warder_function *row, struct warder_error *err)
{
	const char *path = strchr(row->program, '/') ? "" : getenv("PATH");
	struct stat st;

	while (path) {
		const size_t len = strcspn(path, ":");
		char *whole = NULL;

		if (asprintf(&whole, "%.*s%s%s", (int)len, path, len ? "/" : "", row->program) < 0) {
			error_no_memory(err, NULL);
			return NULL;
		}
		if (stat(whole, &st) == 0 && S_ISREG(st.st_mode) && access(whole, X_OK) == 0)
			return whole;
		free(whole);
		path = path[len] ? path + len + 1 : NULL;
	}
	error_set(err, WARDER_ERROR_INVALID_REQUEST, "functions",
		  "the function %.64s: %.200s is not a program that can be executed; give the path of one",
		  row->name, row->program);
	return NULL;
}

static bool grants(const struct policy *policy, const char *name)
{
	for (size_t i = 0; i < policy->functions.count; i++)
		if (strcmp(policy->functions.items[i], name) == 0)
			return true;
	return false;
}

static int take_rows(struct functions *f, const struct library_functions *asked, const struct policy *policy,
		     struct warder_error *err)
{
	for (size_t i = 0; i < asked->count; i++) {
		const struct warder_function *row = &asked->rows[i];

		if (!row->name || !grants(policy, row->name))
			return error_set(
			    err, WARDER_ERROR_INVALID_REQUEST, "functions",
			    "the policy does not grant the function %.64s; add it to `functions` "
			    "(--set functions=%.64s)",
			    row->name ? row->name : "NULL", row->name ? row->name : "NAME");
		for (size_t j = 0; j < i; j++)
			if (strcmp(asked->rows[j].name, row->name) == 0)
				return error_set(err, WARDER_ERROR_INVALID_REQUEST, "functions",
						 "the function %.64s is given twice; leave one out",
						 row->name);
		if (!row->program && !asked->on_call)
			return error_set(
			    err, WARDER_ERROR_INVALID_REQUEST, "functions",
			    "the function %.64s has no program, and on_call is NULL; give one of "
			    "them",
			    row->name);
		snprintf(f->count.rows[i].name, sizeof(f->count.rows[i].name), "%s", row->name);
		f->offered[i].name = f->count.rows[i].name;
		f->count.row_count = i + 1;
		if (row->program && !(f->offered[i].program = find_program(row, err)))
			return -1;
	}
	return 0;
}

static void close_watched(const struct functions *f, int *fd)
{
	if (*fd >= 0)
		epoll_ctl(f->epoll_fd, EPOLL_CTL_DEL, *fd, NULL);
	fd_done(fd);
}

static bool watch(struct functions *f, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(f->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

static int open_descriptors(struct functions *f)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	f->socket_fd = pair[0];
	f->program_fd = pair[1];
	fd_refuse_passing(f->socket_fd);
	f->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	f->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	f->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	f->socket_events = EPOLLIN;
	if (f->epoll_fd < 0 || f->timer_fd < 0 || f->wake_fd < 0 ||
	    fcntl(f->socket_fd, F_SETFL, O_NONBLOCK) < 0 || !watch(f, f->socket_fd) ||
	    !watch(f, f->timer_fd) || !watch(f, f->wake_fd))
		return -1;
	return 0;
}

int functions_open(const struct library_functions *asked, const struct policy *policy, struct functions **ret,
		   int *ret_fd, struct warder_error *err)
{
	struct functions *f;

	if (asked->count > POLICY_MAX_FUNCTIONS)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "functions",
				 "%zu functions; give at most %d", asked->count, POLICY_MAX_FUNCTIONS);
	if (asked->progress)
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, "progress",
		    "progress (--progress) does not go with functions (--function-command): both need "
		    "descriptor 5; let the program report by a function");
	f = calloc(1, sizeof(*f));
	if (!f)
		return error_no_memory(err, NULL);
	f->socket_fd = f->program_fd = f->epoll_fd = f->timer_fd = f->wake_fd = -1;
	pthread_mutex_init(&f->mutex, NULL);
	for (size_t i = 0; i < FUNCTIONS_AT_ONCE; i++)
		f->calls[i] = no_call;
	f->on_call = asked->on_call;
	f->context = asked->context;
	f->time_us = asked->time_us ? asked->time_us : FUNCTIONS_TIME_US;
	f->line = malloc(FUNCTIONS_LINE + 1);
	if (!f->line) {
		functions_free(f);
		return error_no_memory(err, NULL);
	}
	if (take_rows(f, asked, policy, err) != 0) {
		functions_free(f);
		return -1;
	}
	if (open_descriptors(f) < 0) {
		error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
				"cannot make the descriptors of the functions");
		functions_free(f);
		return -1;
	}
	*ret = f;
	*ret_fd = f->program_fd;
	return 0;
}

void functions_launched(struct functions *f)
{
	fd_done(&f->program_fd);
}

int functions_fd(const struct functions *f)
{
	return f->epoll_fd;
}

/* ---- answers ---- */

static void close_socket(struct functions *f)
{
	f->input_ended = true;
	f->line_len = f->out_len = f->out_at = 0;
	close_watched(f, &f->socket_fd);
}

static void flush(struct functions *f)
{
	while (f->out_at < f->out_len && f->socket_fd >= 0) {
		const ssize_t n =
		    send(f->socket_fd, f->out + f->out_at, f->out_len - f->out_at, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) {
			close_socket(f);
			return;
		}
		f->out_at += (size_t)n;
	}
	f->out_at = f->out_len = 0;
}

/* Takes the writer's text. An answer that there is no memory for ends the conversation, as a hang-up does. */
static void put_line(struct functions *f, struct json_writer *w)
{
	const size_t len = w->len;
	char *text = json_take(w), *grown;

	if (f->socket_fd < 0) {
		free(text);
		return;
	}
	if (f->out_at) {
		memmove(f->out, f->out + f->out_at, f->out_len - f->out_at);
		f->out_len -= f->out_at;
		f->out_at = 0;
	}
	grown = text ? realloc(f->out, f->out_len + len + 1) : NULL;
	if (grown) {
		f->out = grown;
		memcpy(f->out + f->out_len, text, len);
		f->out[f->out_len + len] = '\n';
		f->out_len += len + 1;
	} else {
		close_socket(f);
	}
	free(text);
}

static void put_error(struct functions *f, const char *id, const char *kind, const char *message)
{
	struct json_writer w = { 0 };

	json_begin_object(&w);
	json_key(&w, "id");
	json_number(&w, id);
	json_key(&w, "error");
	json_begin_object(&w);
	json_key_string(&w, "kind", kind);
	json_key_string(&w, "message", message);
	json_end_object(&w);
	json_end_object(&w);
	put_line(f, &w);
}

/* `text`, unless it is no JSON value, or too long. */
static bool put_result(struct functions *f, const char *id, const char *text, size_t len)
{
	struct json_value *value = NULL;
	struct json_writer w = { 0 };
	struct warder_error ignored;

	if (json_parse(text, len, "result", &answer_limits, &value, &ignored) != 0)
		return false;
	json_begin_object(&w);
	json_key(&w, "id");
	json_number(&w, id);
	json_key(&w, "result");
	json_copy(&w, value);
	json_end_object(&w);
	json_free(value);
	put_line(f, &w);
	return true;
}

static struct open_call *find_call(struct functions *f, uint64_t number)
{
	for (size_t i = 0; i < FUNCTIONS_AT_ONCE; i++)
		if (f->calls[i].number == number)
			return &f->calls[i];
	return NULL;
}

static struct open_call *find_slot(struct functions *f)
{
	for (size_t i = 0; i < FUNCTIONS_AT_ONCE; i++)
		if (!f->calls[i].number && !f->calls[i].pid)
			return &f->calls[i];
	return NULL;
}

static void free_slot(const struct functions *f, struct open_call *call)
{
	close_watched(f, &call->pid_fd);
	*call = no_call;
}

/* A slot whose holder still waits for its program stays taken. The holder's descriptor says later that it has ended. */
static void reap(const struct functions *f, struct open_call *call)
{
	if (call->pid <= 0 || waitpid(call->pid, NULL, WNOHANG | __WALL) != 0)
		free_slot(f, call);
}

/* The group of the program, whether or not its holder lives. Its number may belong to another group by now: the descriptor says to which. */
static void kill_group(int stop_fd)
{
	owned_fd int program_fd = -1;
	int pid;

	if (fd_receive(stop_fd, &pid, sizeof(pid), &program_fd, 1, MSG_DONTWAIT) != sizeof(pid) ||
	    program_fd < 0 || syscall(SYS_pidfd_send_signal, program_fd, SIGKILL, NULL, PIDFD_GROUP) == 0 ||
	    errno != EINVAL)
		return;
	/* Before Linux 6.9: the number is the program's, or no process has it, and then what is in its group was left by the program. */
	if (syscall(SYS_pidfd_send_signal, program_fd, 0, NULL, 0) == 0 ||
	    (kill(pid, 0) < 0 && errno == ESRCH))
		kill(-pid, SIGKILL);
}

/* A holder that somebody has stopped goes on. */
static void ask_to_end(struct open_call *call)
{
	static const char byte = 1;

	if (call->stop_fd < 0)
		return;
	if (fd_send(call->stop_fd, &byte, sizeof(byte), NULL, 0, MSG_DONTWAIT) == 0 && call->pid > 0)
		kill(call->pid, SIGCONT);
	kill_group(call->stop_fd);
	fd_done(&call->stop_fd);
}

static void end_call(struct functions *f, struct open_call *call)
{
	ask_to_end(call);
	close_watched(f, &call->out_fd);
	free(call->bytes);
	pthread_mutex_lock(&f->mutex);
	f->open[call - f->calls] = 0;
	pthread_mutex_unlock(&f->mutex);
	*call = (struct open_call){ .pid = call->pid, .pid_fd = call->pid_fd, .stop_fd = -1, .out_fd = -1 };
	reap(f, call);
}

static void fail_call(struct functions *f, struct open_call *call, const char *message)
{
	f->count.failed++;
	put_error(f, call->id, "failed", message);
	end_call(f, call);
}

/* ---- programs that answer ---- */

/* The descriptors of a holder. The program has the three streams only. */
enum {
	HOLDER_FD_PARENT = STDERR_FILENO + 1, /* a pidfd of the process that supervises */
	HOLDER_FD_STOP,
	HOLDER_FD_COUNT
};

/* Signals as the kernel has them, without the C library: a set has a bit for each, and an action of zeros is SIG_DFL. */
static uint64_t set_mask(uint64_t mask)
{
	uint64_t before = 0;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, &before, sizeof(mask));
	return before;
}

static void default_signals(void)
{
	static const uint64_t action[8];

	for (int number = 1; number <= 64; number++)
		syscall(SYS_rt_sigaction, number, action, NULL, sizeof(uint64_t));
}

static _Noreturn void exec_program(const char *program, int parent)
{
	char *const argv[] = { (char *)(uintptr_t)program, NULL };

	setpgid(0, 0);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		_exit(127);
	syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0);
	set_mask(0);
	execv(program, argv);
	_exit(127);
}

/* Another signal that was sent to the holder stays blocked. */
static _Noreturn void end_as(int status)
{
	if (!WIFSIGNALED(status))
		_exit(WEXITSTATUS(status));
	prctl(PR_SET_DUMPABLE, 0); /* the program has left the core file, if there is one */
	set_mask(~(UINT64_C(1) << (WTERMSIG(status) - 1)));
	kill(getpid(), WTERMSIG(status));
	_exit(127);
}

/* The holder, which has all signals blocked from its birth. All descriptors are above its own ones. */
static _Noreturn void hold_program(const char *program, int in_fd, int out_fd, int parent_fd, int stop_fd)
{
	const int self = getpid();
	struct pollfd fds[] = { { .fd = HOLDER_FD_PARENT, .events = POLLIN },
				{ .fd = HOLDER_FD_STOP, .events = POLLIN },
				{ .events = POLLIN } };
	int pid, status;

	if (dup2(in_fd, STDIN_FILENO) < 0 || dup2(out_fd, STDOUT_FILENO) < 0 ||
	    dup2(parent_fd, HOLDER_FD_PARENT) < 0 || dup2(stop_fd, HOLDER_FD_STOP) < 0)
		_exit(127);
	syscall(SYS_close_range, HOLDER_FD_COUNT, ~0u, 0);
	setpgid(0, 0);
	default_signals();
	pid = (int)syscall(SYS_clone, CLONE_PIDFD | SIGCHLD, 0, &fds[2].fd, 0, 0);
	if (pid == 0)
		exec_program(program, self);
	if (pid < 0)
		_exit(127);
	setpgid(pid, pid); /* whichever of the two is first */
	fd_send(HOLDER_FD_STOP, &pid, sizeof(pid), &fds[2].fd, 1, MSG_DONTWAIT);
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	while (poll(fds, 3, -1) < 0)
		continue;
	kill(-pid, SIGKILL); /* before the wait, so that no other group has its number */
	kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid)
		_exit(127);
	end_as(status);
}

/* The arguments as standard input: a file in memory, which nobody has to write to meanwhile. */
static int make_input(const char *arguments)
{
	owned_fd int fd = memfd_create("arguments", MFD_CLOEXEC);

	if (fd < 0 || file_write_all(fd, arguments, strlen(arguments)) != 0 || lseek(fd, 0, SEEK_SET) < 0)
		return -1;
	return fd_take(&fd);
}

/* Above the descriptors that a holder has, whichever of them the caller has closed. */
static int move_up(int *fd)
{
	owned_fd int low = fd_take(fd);

	*fd = low >= HOLDER_FD_COUNT ? fd_take(&low) : fcntl(low, F_DUPFD_CLOEXEC, HOLDER_FD_COUNT);
	return *fd;
}

static bool start_program(struct functions *f, struct open_call *call, const char *program,
			  const char *arguments)
{
	owned_fd int in_fd = make_input(arguments);
	owned_fd int parent_fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	owned_fd int holder_fd = -1;
	owned_fd int write_fd = -1;
	uint64_t mask;
	int fds[2];

	if (in_fd < 0 || parent_fd < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return false;
	call->stop_fd = fds[0];
	holder_fd = fds[1];
	if (pipe2(fds, O_CLOEXEC) < 0)
		return false;
	call->out_fd = fds[0];
	write_fd = fds[1];
	if (fcntl(call->out_fd, F_SETFL, O_NONBLOCK) < 0 || move_up(&in_fd) < 0 || move_up(&parent_fd) < 0 ||
	    move_up(&holder_fd) < 0 || move_up(&write_fd) < 0)
		return false;
	/* As fork(), without an exit signal. No handler of the application's runs in the holder. */
	mask = set_mask(UINT64_MAX);
	call->pid = (int)syscall(SYS_clone, CLONE_PIDFD, 0, &call->pid_fd, 0, 0);
	if (call->pid == 0)
		hold_program(program, in_fd, write_fd, parent_fd, holder_fd);
	set_mask(mask);
	if (call->pid < 0) {
		call->pid = 0;
		return false;
	}
	if (!watch(f, call->pid_fd)) {
		fd_done(&call->pid_fd);
		return false;
	}
	return watch(f, call->out_fd);
}

/* Everything that is there. False: it is more than an answer may have, or there is no memory. */
static bool read_answer(const struct functions *f, struct open_call *call)
{
	while (call->out_fd >= 0) {
		char *grown = realloc(call->bytes, call->len + CHUNK + 1);
		ssize_t n;

		if (!grown)
			return false;
		call->bytes = grown;
		n = read(call->out_fd, call->bytes + call->len, CHUNK);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return true;
		if (n <= 0) {
			close_watched(f, &call->out_fd);
			return true;
		}
		call->len += (size_t)n;
		if (call->len > FUNCTIONS_ANSWER)
			return false;
	}
	return true;
}

/* The holder has ended, and is not reaped yet. */
static void take_end(struct functions *f, struct open_call *call, const siginfo_t *end)
{
	const char *bytes;
	size_t len;
	char text[80];

	if (!read_answer(f, call)) {
		fail_call(f, call, "the answer is too long");
		return;
	}
	if (end->si_code != CLD_EXITED || end->si_status != 0) {
		snprintf(text, sizeof(text), "the program that answers ended with %s %d",
			 end->si_code == CLD_EXITED ? "status" : "signal", end->si_status);
		fail_call(f, call, text);
		return;
	}
	bytes = call->len ? call->bytes : "null";
	len = call->len ? call->len : 4;
	if (!put_result(f, call->id, bytes, len)) {
		fail_call(f, call, "the answer is not a JSON value");
		return;
	}
	f->count.answered++;
	end_call(f, call);
}

static void look_at_child(struct functions *f, struct open_call *call)
{
	siginfo_t end = { 0 };

	if (waitid(P_PID, (id_t)call->pid, &end, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0) {
		call->pid = 0; /* the caller has waited for every kind of child */
		fail_call(f, call, "the end of the program that answers cannot be read");
		return;
	}
	if (end.si_pid == call->pid)
		take_end(f, call, &end);
	else if (!read_answer(f, call))
		fail_call(f, call, "the answer is too long");
}

/* ---- calls ---- */

static struct offered *find_offered(struct functions *f, const char *name)
{
	for (size_t i = 0; i < f->count.row_count; i++)
		if (strcmp(f->offered[i].name, name) == 0)
			return &f->offered[i];
	return NULL;
}

static void refuse(struct functions *f, const char *id, const char *kind, const char *message)
{
	f->count.refused++;
	put_error(f, id, kind, message);
}

/* Heap: the value as text. */
static char *text_of(const struct json_value *value)
{
	struct json_writer w = { 0 };

	if (value)
		json_copy(&w, value);
	else
		json_null(&w);
	return json_take(&w);
}

static void begin_call(struct functions *f, const char *id, const struct offered *offered,
		       const char *arguments)
{
	struct open_call *call = find_slot(f);

	call->number = ++f->last_number;
	snprintf(call->id, sizeof(call->id), "%s", id);
	call->deadline_us = clock_us() + f->time_us;
	f->count.rows[offered - f->offered].calls++;
	if (offered->program) {
		if (!start_program(f, call, offered->program, arguments))
			fail_call(f, call, "the program that answers cannot be started");
		return;
	}
	pthread_mutex_lock(&f->mutex);
	f->open[call - f->calls] = call->number;
	pthread_mutex_unlock(&f->mutex);
	f->on_call(f->context, call->number, offered->name, arguments);
}

/* Its members, in any order. NULL: it has others, or one of the wrong type. */
static const struct json_value *check_line(const struct json_value *line, char id[ID_MOST + 1])
{
	const struct json_value *name = json_member(line, "name"), *given = json_member(line, "id");
	char *text;
	size_t len;

	if (line->type != JSON_OBJECT || !given ||
	    (given->type != JSON_NUMBER && given->type != JSON_STRING) || !name || name->type != JSON_STRING)
		return NULL;
	for (const struct json_value *member = line->child; member; member = member->next)
		if (strcmp(member->key, "id") != 0 && strcmp(member->key, "name") != 0 &&
		    strcmp(member->key, "arguments") != 0)
			return NULL;
	text = text_of(given);
	len = text ? strlen(text) : ID_MOST + 1;
	if (len <= ID_MOST)
		memcpy(id, text, len + 1);
	free(text);
	return len <= ID_MOST ? name : NULL;
}

static void take_line(struct functions *f, const char *bytes, size_t len)
{
	struct json_value *line = NULL;
	const struct json_value *name;
	const struct offered *offered;
	struct warder_error ignored;
	char id[ID_MOST + 1];
	char *arguments;

	if (json_parse(bytes, len, "call", &line_limits, &line, &ignored) != 0) {
		refuse(f, "null", "invalidCall", "a call is one line of JSON");
		return;
	}
	name = check_line(line, id);
	offered = name ? find_offered(f, name->string) : NULL;
	if (!name) {
		refuse(f, "null", "invalidCall",
		       "a call has the members id (a number or a text of at most 60 bytes), name, and "
		       "perhaps arguments");
	} else if (!offered) {
		refuse(f, id, "notGranted", "the program may not call a function of this name");
	} else {
		arguments = text_of(json_member(line, "arguments"));
		if (arguments)
			begin_call(f, id, offered, arguments);
		else
			refuse(f, id, "failed", "no memory");
		free(arguments);
	}
	json_free(line);
}

static bool has_room(struct functions *f)
{
	return f->socket_fd >= 0 && f->out_len == 0 && find_slot(f);
}

/* The lines that lie in the buffer, as long as there is room for another call. */
static void take_lines(struct functions *f)
{
	size_t at = 0;

	while (has_room(f)) {
		char *newline = memchr(f->line + at, '\n', f->line_len - at);
		const size_t len = newline ? (size_t)(newline - (f->line + at)) : 0;

		if (!newline)
			break;
		if (f->too_long)
			refuse(f, "null", "invalidCall", "the line is too long");
		else if (len)
			take_line(f, f->line + at, len);
		f->too_long = false;
		flush(f);
		/* A hang-up, also one that only flush() notices, has emptied the buffer. */
		at = f->line_len ? at + len + 1 : 0;
	}
	f->line_len -= at;
	memmove(f->line, f->line + at, f->line_len);
	if (f->line_len > FUNCTIONS_LINE && !memchr(f->line, '\n', f->line_len))
		f->too_long = true;
	if (f->too_long && !memchr(f->line, '\n', f->line_len))
		f->line_len = 0;
}

/* One read, so that a program that writes all the time does not keep the supervision from its other work. */
static void read_calls(struct functions *f)
{
	const size_t room = FUNCTIONS_LINE + 1 - f->line_len;
	ssize_t n;

	if (!has_room(f) || f->input_ended || !room)
		return;
	n = read(f->socket_fd, f->line + f->line_len, room);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		f->input_ended = true;
	if (n > 0)
		f->line_len += (size_t)n;
}

/* ---- answers of the caller's ---- */

static void free_given(struct given_answer *given)
{
	free(given->result);
	free(given->error);
	free(given);
}

static void take_given(struct functions *f)
{
	struct given_answer *list, *next;

	pthread_mutex_lock(&f->mutex);
	list = f->given;
	f->given = NULL;
	pthread_mutex_unlock(&f->mutex);
	for (; list; list = next) {
		struct open_call *call = find_call(f, list->number);

		next = list->next;
		if (call && list->error) {
			fail_call(f, call, list->error);
		} else if (call && !put_result(f, call->id, list->result, strlen(list->result))) {
			fail_call(f, call, "the answer is not a JSON value, or is too long");
		} else if (call) {
			f->count.answered++;
			end_call(f, call);
		}
		free_given(list);
	}
}

int functions_answer(struct functions *f, uint64_t call, const char *result, const char *error,
		     struct warder_error *err)
{
	struct given_answer *given = calloc(1, sizeof(*given));
	const uint64_t one = 1;
	bool open = false;

	if (given && error)
		given->error = strdup(error);
	else if (given)
		given->result = strdup(result ? result : "null");
	if (!given || (!given->error && !given->result)) {
		free(given);
		return error_no_memory(err, NULL);
	}
	given->number = call;
	pthread_mutex_lock(&f->mutex);
	for (size_t i = 0; i < FUNCTIONS_AT_ONCE && call; i++) {
		if (f->open[i] != call)
			continue;
		f->open[i] = 0;
		open = true;
		given->next = f->given;
		f->given = given;
		break;
	}
	pthread_mutex_unlock(&f->mutex);
	if (!open) {
		free_given(given);
		return error_set(
		    err, WARDER_ERROR_NOT_FOUND, "call",
		    "the call %llu does not wait for an answer: it was answered, took too long, or "
		    "its program has ended",
		    (unsigned long long)call);
	}
	if (write(f->wake_fd, &one, sizeof(one)) < 0)
		return 0; /* it is readable already */
	return 0;
}

/* ---- serving ---- */

static void look_at_calls(struct functions *f, uint64_t now)
{
	for (size_t i = 0; i < FUNCTIONS_AT_ONCE; i++) {
		struct open_call *call = &f->calls[i];

		if (!call->number && call->pid > 0)
			reap(f, call);
		if (call->number && call->pid > 0)
			look_at_child(f, call);
		if (call->number && now >= call->deadline_us) {
			f->count.timed_out++;
			put_error(f, call->id, "timeout", "the function gave no answer in time");
			end_call(f, call);
		}
	}
}

/* For the nearest deadline, and for holders that have to be looked at again and again. */
static void set_timer(const struct functions *f)
{
	struct itimerspec at = { 0 };
	uint64_t next_us = UINT64_MAX;

	for (size_t i = 0; i < FUNCTIONS_AT_ONCE; i++) {
		const struct open_call *call = &f->calls[i];

		if (call->number && call->deadline_us < next_us)
			next_us = call->deadline_us;
		if (call->pid > 0 && call->pid_fd < 0 && clock_us() + LOOK_US < next_us)
			next_us = clock_us() + LOOK_US;
	}
	if (next_us == UINT64_MAX)
		next_us = 0;
	at.it_value.tv_sec = (time_t)(next_us / 1000000);
	at.it_value.tv_nsec = (long)(next_us % 1000000) * 1000;
	timerfd_settime(f->timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
}

static void set_events(struct functions *f)
{
	const uint32_t events =
	    (has_room(f) && !f->input_ended ? EPOLLIN : 0u) | (f->out_len ? EPOLLOUT : 0u);
	struct epoll_event event = { .events = events, .data.fd = f->socket_fd };

	if (f->socket_fd < 0 || events == f->socket_events)
		return;
	f->socket_events = events;
	epoll_ctl(f->epoll_fd, EPOLL_CTL_MOD, f->socket_fd, &event);
}

/* Nobody is there who could read an answer. What was sent before is taken first, as far as there is room for it. */
static bool is_hung_up(struct functions *f)
{
	struct pollfd fd = { .fd = f->socket_fd };

	return f->socket_fd >= 0 && (f->input_ended || !has_room(f)) && poll(&fd, 1, 0) == 1 &&
	       (fd.revents & (POLLHUP | POLLERR));
}

static bool has_holder(const struct functions *f)
{
	for (size_t i = 0; i < FUNCTIONS_AT_ONCE; i++)
		if (f->calls[i].pid > 0)
			return true;
	return false;
}

bool functions_serve(void *context)
{
	struct functions *f = context;
	uint64_t count;

	if (read(f->wake_fd, &count, sizeof(count)) < 0 && errno != EAGAIN)
		return false;
	take_given(f);
	look_at_calls(f, clock_us());
	flush(f);
	read_calls(f);
	take_lines(f);
	take_given(f);
	flush(f);
	if (is_hung_up(f))
		close_socket(f);
	for (size_t i = 0; i < FUNCTIONS_AT_ONCE && f->socket_fd < 0; i++)
		if (f->calls[i].number)
			fail_call(f, &f->calls[i], "the program that called has ended");
	set_timer(f);
	set_events(f);
	return f->socket_fd >= 0 || has_holder(f);
}

/* ---- the end ---- */

static void wait_for_holders(struct functions *f)
{
	for (size_t i = 0; i < FUNCTIONS_AT_ONCE; i++)
		if (f->calls[i].pid > 0 && child_wait(f->calls[i].pid, REAP_MS, NULL) != CHILD_LIVES)
			free_slot(f, &f->calls[i]);
}

void functions_end(struct functions *f, struct functions_count *ret)
{
	close_socket(f);
	for (size_t i = 0; i < FUNCTIONS_AT_ONCE; i++)
		if (f->calls[i].number)
			fail_call(f, &f->calls[i], "the run has ended");
	wait_for_holders(f);
	*ret = f->count;
}

void functions_free(struct functions *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < FUNCTIONS_AT_ONCE; i++)
		if (f->calls[i].number)
			end_call(f, &f->calls[i]);
	wait_for_holders(f);
	for (size_t i = 0; i < FUNCTIONS_AT_ONCE; i++)
		fd_done(&f->calls[i].pid_fd);
	while (f->given) {
		struct given_answer *next = f->given->next;

		free_given(f->given);
		f->given = next;
	}
	fd_done(&f->socket_fd);
	fd_done(&f->program_fd);
	fd_done(&f->epoll_fd);
	fd_done(&f->timer_fd);
	fd_done(&f->wake_fd);
	for (size_t i = 0; i < POLICY_MAX_FUNCTIONS; i++)
		free(f->offered[i].program);
	pthread_mutex_destroy(&f->mutex);
	free(f->line);
	free(f->out);
	free(f);
}

void functions_write(const struct functions_count *count, struct json_writer *w)
{
	json_key(w, "functions");
	json_begin_object(w);
	json_key(w, "calls");
	json_begin_object(w);
	for (size_t i = 0; i < count->row_count; i++)
		json_key_uint(w, count->rows[i].name, count->rows[i].calls);
	json_end_object(w);
	json_key_uint(w, "answered", count->answered);
	json_key_uint(w, "failed", count->failed);
	json_key_uint(w, "timedOut", count->timed_out);
	json_key_uint(w, "refused", count->refused);
	json_end_object(w);
}
