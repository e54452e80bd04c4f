/*
 * input: consuming what the program reads, and nothing else.
 *
 * `while read line; do warder run -- true; done` reads its lines from the same pipe that warder has as its standard input: what the
 * program does not read has to stay there. So the source is only looked at: pread(2) of a file, tee(2) of a pipe, MSG_PEEK of a socket.
 * The bytes are written into the program's pipe (copied: the program must not share pages with whoever wrote them), and FIONREAD tells
 * how many of them it has not read. The others are then consumed at the source; of a file, by setting the offset at the end.
 *
 * Nobody but the program holds the reading end of its pipe while there may be more to feed, so that we notice when the program closes it.
 * FIONREAD works on our end, too. At the end of the source we open the reading end, and close ours.
 *
 * The program does not get the caller's descriptor, although that would consume exactly what it reads and cost nothing. The descriptor
 * belongs to the host. With it a hostile program could make the pipe non-blocking for the caller's shell, change its size or its mode, or
 * lock the file. As the user who owns it, it could open it for writing through /proc/self/fd and write what the caller's shell reads next.
 *
 * Speed. After MANY bytes the caller's pipe, the scratch pipe and the program's pipe are made LOOK_MOST bytes large, so that the writer and
 * the program wait for each other less often. The caller's pipe gets its size back at the end, unless more bytes lie in it by then.
 *
 * Waiting. A source with bytes that were fed and not consumed is always readable, so that it is watched by an edge (epoll): each
 * write to it wakes us. A full pipe of the program is watched for room. Between the two, when the program has read a part and the
 * source's writer waits for room that we could make, the kernel has no event: while bytes lie in the program's pipe they are counted
 * after 1 ms, 2 ms, ... up to 100 ms without progress.
 *
 * A program that writes into its own input, or makes that pipe larger, deceives only the count of what it has read itself: never more is
 * consumed than was fed. Two readers of one pipe at the same time may both get the same bytes.
 */
#include "jail/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/page.h"
#include "jail/quiet.h"

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8 /* linux/fs.h; not in every libc */
#endif
#define CHUNK     65536
#define LOOK_MOST 262144  /* bytes at once; of a socket from its first byte on, with those that were fed */
#define MANY      1048576 /* bytes; a source that has given so many gets larger pipes */
#define IDLE_MOST 100     /* ms */
#define ROUNDS    64      /* then others have their turn */

static enum input_kind kind_of(int fd)
{
	struct stat st;
	int type = 0;
	socklen_t len = sizeof(type);

	if (fstat(fd, &st) < 0)
		return INPUT_READ;
	if (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode))
		return lseek(fd, 0, SEEK_CUR) < 0 ? INPUT_READ : INPUT_FILE;
	if (S_ISFIFO(st.st_mode))
		return INPUT_PIPE;
	if (S_ISSOCK(st.st_mode) && getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 &&
	    type == SOCK_STREAM)
		return INPUT_SOCKET;
	return INPUT_READ;
}

static int watch(struct input *input)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLRDHUP | EPOLLET };

	input->event_fd = epoll_create1(EPOLL_CLOEXEC);
	return input->event_fd < 0 ? -1 : epoll_ctl(input->event_fd, EPOLL_CTL_ADD, input->source_fd, &event);
}

/* What is read cannot be read again. */
static bool comes_once(const struct input *input)
{
	return input->kind == INPUT_READ || input->kind == INPUT_CALL;
}

static int open_pipe(struct input *input)
{
	const int size = fcntl(input->source_fd, F_GETPIPE_SZ);

	input->null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (input->null_fd < 0 || pipe2(input->scratch, O_CLOEXEC | O_NONBLOCK) < 0)
		return -1;
	/* As large as the source, if the host lets us: else the rest is looked at later. */
	if (size > 0)
		fcntl(input->scratch[1], F_SETPIPE_SZ, size);
	return watch(input);
}

/* The source's writer waits while its pipe is full of bytes that the program has not read: the larger the pipes, the fewer rounds. The
 * program's pipe is made last, and no larger than the source, so that it is full when the source is. */
static void widen(struct input *input)
{
	const int size = input->kind == INPUT_PIPE ? fcntl(input->source_fd, F_GETPIPE_SZ) : LOOK_MOST;

	input->wide = true;
	if (size < LOOK_MOST) {
		if (size <= 0 || fcntl(input->scratch[1], F_SETPIPE_SZ, LOOK_MOST) < 0 ||
		    fcntl(input->source_fd, F_SETPIPE_SZ, LOOK_MOST) < 0)
			return;
		input->narrow_bytes = size;
	}
	fcntl(*input->to_fd, F_SETPIPE_SZ, LOOK_MOST);
}

int input_open(struct input *input, const struct input_source *source, int *to_fd)
{
	*input = (struct input){ .kind = source->data   ? INPUT_DATA
					 : source->call ? INPUT_CALL
							: kind_of(source->fd),
				 .source_fd = source->fd,
				 .call = source->call,
				 .context = source->context,
				 .ready = true,
				 .to_fd = to_fd,
				 .from_fd = -1,
				 .event_fd = -1,
				 .scratch = { -1, -1 },
				 .null_fd = -1 };
	if (source->data) {
		input->bytes = source->data;
		input->len = source->len;
		input->ended = true;
		return 0;
	}
	input->memory = malloc((comes_once(input) ? CHUNK : LOOK_MOST) + PAGE_BYTES);
	if (!input->memory)
		return -1;
	input->buffer = page_begin(input->memory);
	input->bytes = input->buffer;
	if (input->kind == INPUT_FILE)
		input->offset = (uint64_t)lseek(source->fd, 0, SEEK_CUR);
	if (input->kind == INPUT_SOCKET)
		return watch(input);
	return input->kind == INPUT_PIPE ? open_pipe(input) : 0;
}

void input_done(struct input *input)
{
	if (input->kind == INPUT_NONE)
		return;
	if (input->narrow_bytes) /* refused while more lies in it: then it stays as it is */
		fcntl(input->source_fd, F_SETPIPE_SZ, input->narrow_bytes);
	fd_done(&input->from_fd);
	poller_close(input->poller, &input->event_fd);
	fd_done(&input->null_fd);
	fd_done(&input->scratch[0]);
	fd_done(&input->scratch[1]);
	free(input->memory);
	*input = (struct input){ .kind = INPUT_NONE, .to_fd = input->to_fd, .poller = input->poller };
}

static void close_to(struct input *input)
{
	poller_close(input->poller, input->to_fd);
}

/* The source is at its end. What lies in the program's pipe is still to be counted. */
static void end_feeding(struct input *input)
{
	char path[40];

	/* In case that it cannot be opened: then nobody knows what the program reads later. */
	if (ioctl(*input->to_fd, FIONREAD, &input->last_unread) < 0)
		input->last_unread = 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", *input->to_fd);
	input->from_fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	close_to(input);
}

/* The program has closed its input. */
static void stop(struct input *input)
{
	input_settle(input);
	close_to(input);
	input_done(input);
}

bool input_is_over(const struct input *input)
{
	return input->kind == INPUT_NONE || (comes_once(input) && *input->to_fd < 0);
}

static bool is_looked_at(const struct input *input)
{
	return input->kind == INPUT_PIPE || input->kind == INPUT_SOCKET;
}

static bool has_bytes(const struct input *input)
{
	return input->at < input->len;
}

/* Its function is to be called when the program's pipe has room. */
static bool is_to_call(const struct input *input)
{
	return input->kind == INPUT_CALL && input->ready && !has_bytes(input);
}

void input_ready(struct input *input)
{
	input->ready = true;
}

void input_poll(const struct input *input, struct pollfd *to, struct pollfd *source)
{
	const bool open = input->kind != INPUT_NONE && *input->to_fd >= 0;

	*to = *source = (struct pollfd){ .fd = -1 };
	if (!open)
		return;
	if (is_looked_at(input)) {
		*to = (struct pollfd){ .fd = *input->to_fd, .events = input->full ? POLLOUT : 0 };
		*source = (struct pollfd){ .fd = input->event_fd, .events = POLLIN };
		return;
	}
	/* Without bytes only the hang-up is of interest: the program closed its input. */
	*to = (struct pollfd){ .fd = *input->to_fd,
			       .events = has_bytes(input) || input->ended || input->kind == INPUT_FILE ||
						 is_to_call(input)
					     ? POLLOUT
					     : 0 };
	if (input->kind == INPUT_READ && !has_bytes(input) && !input->ended)
		*source = (struct pollfd){ .fd = input->source_fd, .events = POLLIN };
}

int input_timeout_ms(const struct input *input)
{
	const bool waits = is_looked_at(input) && *input->to_fd >= 0 && input->fed && !input->full;

	return waits ? (int)(input->idle_ms ? input->idle_ms : 1) : -1;
}

/* ---- into the program's pipe ---- */

/* Bytes that it takes at once, 0 if it is full; -1 if the program has closed its input, or *ret_failure says what else is wrong. */
static ssize_t feed(struct input *input, const char *bytes, size_t len, const char **ret_failure)
{
	struct quiet quiet;
	ssize_t n;
	int saved;

	quiet_begin(&quiet);
	n = write(*input->to_fd, bytes, len);
	saved = errno;
	quiet_end(&quiet, n < 0 && saved == EPIPE);
	if (n >= 0)
		return n;
	if (saved == EAGAIN || saved == EINTR)
		return 0;
	if (saved != EPIPE && saved != EIO) /* of a terminal that nobody has open any more */
		*ret_failure = "the program's input cannot be written";
	return -1;
}

static const char *write_bytes(struct input *input)
{
	const char *failure = NULL;
	ssize_t n = 0;

	if (has_bytes(input)) {
		n = feed(input, input->bytes + input->at, input->len - input->at, &failure);
		if (n > 0) {
			input->at += (size_t)n;
			input->fed += (size_t)n;
		}
	}
	if (n < 0)
		stop(input);
	else if (!has_bytes(input) && input->ended)
		close_to(input);
	return failure;
}

static void take_bytes(struct input *input, ssize_t n)
{
	input->at = 0;
	input->len = n > 0 ? (size_t)n : 0;
	if (n > 0)
		return;
	input->ended = true;
	if (comes_once(input))
		close_to(input);
	else
		end_feeding(input);
}

/* ---- from what is read as it comes ---- */

/* Another reader of the same source may be faster than us: a read that would wait is not done. */
static ssize_t read_without_waiting(int fd, char *bytes, size_t size)
{
	struct iovec iov = { .iov_base = bytes, .iov_len = size };
	ssize_t n = syscall(SYS_preadv2, fd, &iov, 1, -1L, -1L, RWF_NOWAIT);

	if (n >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS))
		return n;
	return read(fd, bytes, size);
}

static void read_source(struct input *input)
{
	const ssize_t n = read_without_waiting(input->source_fd, input->buffer, CHUNK);

	if (n >= 0 || (errno != EINTR && errno != EAGAIN))
		take_bytes(input, n);
}

/* ---- from a function of the caller's ---- */

static const char *call_source(struct input *input)
{
	const long n = input->call(input->context, input->buffer, CHUNK);

	if (n > CHUNK)
		return "on_input returned more bytes than there was room for";
	input->ready = n > 0;
	if (n != 0)
		take_bytes(input, n);
	return NULL;
}

/* ---- from a file ---- */

static const char *step_file(struct input *input)
{
	if (!input->wide && input->fed >= MANY)
		widen(input);
	if (!has_bytes(input)) {
		const ssize_t n =
		    pread(input->source_fd, input->buffer, LOOK_MOST, (off_t)(input->offset + input->fed));

		if (n < 0 && errno == EINTR)
			return NULL;
		take_bytes(input, n);
	}
	return *input->to_fd < 0 ? NULL : write_bytes(input);
}

/* ---- from what is looked at ---- */

static uint64_t unread(const struct input *input)
{
	int count = 0;

	if (ioctl(*input->to_fd < 0 ? input->from_fd : *input->to_fd, FIONREAD, &count) < 0)
		count = input->last_unread;
	/* The program may have put something in itself. */
	if ((uint64_t)count > input->fed)
		return input->fed;
	return (uint64_t)count;
}

/* Take so many bytes off the source, which were looked at before. */
static void consume(struct input *input, uint64_t len)
{
	input->consumed += len;
	while (len) {
		ssize_t n;

		if (input->kind == INPUT_PIPE)
			n = splice(input->source_fd, NULL, input->null_fd, NULL, len, SPLICE_F_NONBLOCK);
		else
			n = recv(input->source_fd, input->buffer, len < LOOK_MOST ? len : LOOK_MOST,
				 MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) /* somebody else has */
			return;
		len -= (uint64_t)n;
	}
}

/* Whether the program has read something meanwhile. */
static bool consume_read(struct input *input)
{
	const uint64_t left = unread(input);
	const uint64_t read_bytes = input->fed - left;

	consume(input, read_bytes);
	input->fed = left;
	return read_bytes > 0;
}

/* What lies behind the bytes that were fed, in the buffer from *ret_bytes on, as much as the program's pipe has room for: its length, or 0. */
static ssize_t look_at_pipe(struct input *input, const char **ret_bytes)
{
	const int size = fcntl(*input->to_fd, F_GETPIPE_SZ);
	size_t most = LOOK_MOST;
	int there = 0;
	ssize_t n;

	*ret_bytes = input->buffer;
	if (ioctl(input->source_fd, FIONREAD, &there) < 0 || (uint64_t)there <= input->fed)
		return 0;
	/* Where pages of the pipe are not full there is less room: then the rest is looked at again. */
	if (size > 0 && (uint64_t)size > input->fed && (uint64_t)size - input->fed < most)
		most = (size_t)size - (size_t)input->fed;
	if (tee(input->source_fd, input->scratch[1], (size_t)there, SPLICE_F_NONBLOCK) <= 0)
		return 0;
	if (input->fed)
		splice(input->scratch[0], NULL, input->null_fd, NULL, input->fed, SPLICE_F_NONBLOCK);
	n = read(input->scratch[0], input->buffer, most);
	if (n < 0 || (uint64_t)there > input->fed + (uint64_t)n)
		while (splice(input->scratch[0], NULL, input->null_fd, NULL, CHUNK * 16, SPLICE_F_NONBLOCK) >
		       0)
			;
	return n > 0 ? n : 0;
}

/* Behind the bytes that were fed. */
static bool has_more(const struct input *input)
{
	int there = 0;

	return ioctl(input->source_fd, FIONREAD, &there) == 0 && (uint64_t)there > input->fed;
}

static ssize_t look_at_socket(struct input *input, const char **ret_bytes)
{
	const ssize_t n = recv(input->source_fd, input->buffer, LOOK_MOST, MSG_PEEK | MSG_DONTWAIT);

	*ret_bytes = input->buffer + input->fed;
	return n > 0 && (uint64_t)n > input->fed ? n - (ssize_t)input->fed : 0;
}

static ssize_t look(struct input *input, const char **ret_bytes)
{
	return input->kind == INPUT_PIPE ? look_at_pipe(input, ret_bytes) : look_at_socket(input, ret_bytes);
}

/* Nobody will write to it any more. */
static bool is_over(const struct input *input)
{
	struct pollfd source = { .fd = input->source_fd, .events = POLLIN | POLLRDHUP };

	return poll(&source, 1, 0) == 1 && (source.revents & (POLLHUP | POLLRDHUP | POLLERR));
}

static bool has_room(const struct input *input)
{
	struct pollfd to = { .fd = *input->to_fd, .events = POLLOUT };

	return poll(&to, 1, 0) == 1;
}

/* One round. Whether there may be more to do at once. */
static bool move(struct input *input, const char **ret_failure)
{
	bool moved = consume_read(input);
	const char *bytes;
	ssize_t there = look(input, &bytes);
	ssize_t n;

	/* The last bytes may have been written after the look, or lie beyond what one look shows. */
	if (there == 0 && is_over(input)) {
		there = look(input, &bytes);
		if (there == 0 && !has_more(input))
			end_feeding(input);
	}
	if (there > 0) {
		n = feed(input, bytes, (size_t)there, ret_failure);
		if (n < 0)
			stop(input);
		if (n > 0)
			input->fed += (uint64_t)n;
		moved |= n > 0;
	}
	input->full = false;
	if (*input->to_fd < 0 || moved)
		return moved && *input->to_fd >= 0;
	input->full = !has_room(input);
	/* What it read after the count makes room for the source's writer, and no event tells of that. */
	return !input->full && unread(input) < input->fed;
}

static const char *step_looked_at(struct input *input)
{
	const char *failure = NULL;
	struct epoll_event event;
	int rounds = 0;

	epoll_wait(input->event_fd, &event, 1, 0);
	while (rounds < ROUNDS && move(input, &failure))
		rounds++;
	if (rounds == ROUNDS && *input->to_fd >= 0)
		input->full = !has_room(input);
	if (input->kind == INPUT_PIPE && !input->wide && *input->to_fd >= 0 && input->consumed >= MANY)
		widen(input);
	input->idle_ms = rounds ? 1 : input->idle_ms * 2;
	if (input->idle_ms > IDLE_MOST)
		input->idle_ms = IDLE_MOST;
	return failure;
}

const char *input_step(struct input *input, const struct pollfd *to, const struct pollfd *source)
{
	if (input->kind == INPUT_NONE || *input->to_fd < 0)
		return NULL;
	if (to->revents & POLLERR) {
		stop(input);
		return NULL;
	}
	if (is_looked_at(input))
		return step_looked_at(input);
	if (to->revents && input->kind == INPUT_FILE)
		return step_file(input);
	if (source->revents)
		read_source(input);
	if (to->revents && is_to_call(input)) {
		const char *failure = call_source(input);

		if (failure)
			return failure;
	}
	return to->revents && *input->to_fd >= 0 ? write_bytes(input) : NULL;
}

void input_settle(struct input *input)
{
	if (is_looked_at(input))
		consume_read(input);
	else if (input->kind == INPUT_FILE)
		lseek(input->source_fd, (off_t)(input->offset + input->fed - unread(input)), SEEK_SET);
}
