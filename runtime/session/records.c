#include "runtime/session/records.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/file.h"
#include "runtime/session/session.h"

#define FILE_BYTES_MAX (8u << 20)

/* How long the body of each type is. */
static const struct {
	size_t least, most;
} sizes[RECORD_TYPES] = {
	[RECORD_HELLO] = { 0, 0 },
	[RECORD_START] = { RECORD_START_OLD, sizeof(struct record_start) },
	[RECORD_ATTACH] = { sizeof(struct record_attach), sizeof(struct record_attach) },
	[RECORD_WRITE] = { 0, RECORD_BODY_MAX },
	[RECORD_CLOSE] = { 0, 0 },
	[RECORD_SIGNAL] = { sizeof(uint32_t), sizeof(uint32_t) },
	[RECORD_RESIZE] = { sizeof(struct record_size), sizeof(struct record_size) },
	[RECORD_COUNTERS] = { 0, 0 },
	[RECORD_LIST] = { 0, 0 },
	[RECORD_RESULT] = { 0, 0 },
	[RECORD_ANSWER] = { sizeof(struct record_answer), sizeof(struct record_answer) },
	[RECORD_FRAME] = { sizeof(struct record_frame) + 1, RECORD_BODY_MAX },
	[RECORD_GAP] = { sizeof(struct record_gap), sizeof(struct record_gap) },
	[RECORD_EXTEND] = { sizeof(struct record_extend), sizeof(struct record_extend) },
	[RECORD_PAUSE] = { sizeof(uint32_t), sizeof(uint32_t) },
	[RECORD_END] = { sizeof(struct record_end), sizeof(struct record_end) },
	[RECORD_PIECE] = { RECORD_PIECE_BARE, sizeof(struct record_piece) },
	[RECORD_SHOWN] = { sizeof(uint32_t), sizeof(uint32_t) },
	[RECORD_DONE] = { sizeof(struct record_done), sizeof(struct record_done) },
	[RECORD_INPUT] = { 0, REMOTE_WRITE_MAX },
	[RECORD_INTERRUPT] = { 0, 0 },
	[RECORD_RESTART] = { 0, 0 },
	[RECORD_DELETE] = { 0, 0 },
	[RECORD_AGENT] = { 0, 0 },
	[RECORD_LINES] = { 1, RECORD_BODY_MAX },
	[RECORD_FORK] = { 1, SESSION_NAME_MAX },
	[RECORD_REPEAT] = { RECORD_KEY_LENGTH, RECORD_KEY_LENGTH },
	[RECORD_STOP] = { sizeof(struct record_stop), sizeof(struct record_stop) },
	[RECORD_TAKEN] = { 0, 0 },
};

static bool is_id(const char id[EXECUTION_ID_LENGTH + 8])
{
	const size_t len = strnlen(id, EXECUTION_ID_LENGTH + 8);

	if (len > EXECUTION_ID_LENGTH || strspn(id, "0123456789abcdef") != len)
		return false;
	for (size_t i = len; i < EXECUTION_ID_LENGTH + 8; i++)
		if (id[i])
			return false;
	return true;
}

static bool is_key(const char key[RECORD_KEY_LENGTH])
{
	size_t i = 0;

	while (i < RECORD_KEY_LENGTH && key[i] && strchr("0123456789abcdef", key[i]))
		i++;
	return i == RECORD_KEY_LENGTH;
}

bool record_valid(const struct record *record, size_t len)
{
	const struct record_head *head = &record->head;

	if (len < sizeof(*head) || head->magic != RECORD_MAGIC || head->len != len - sizeof(*head) ||
	    head->type < RECORD_HELLO || head->type >= RECORD_TYPES_KNOWN ||
	    (head->flags & ~RECORD_FLAGS_KNOWN) || !is_id(head->id))
		return false;
	if (head->type != RECORD_HELLO &&
	    (head->version < RECORD_VERSION_OLD || head->version > RECORD_VERSION))
		return false;
	if (head->type == RECORD_START && head->len != record_start_size(head->version))
		return false;
	if (head->type == RECORD_PIECE && head->len != RECORD_PIECE_BARE &&
	    (head->len != sizeof(record->piece) || !is_key(record->piece.key)))
		return false;
	if (head->type == RECORD_REPEAT && head->len == RECORD_KEY_LENGTH && !is_key(record->bytes))
		return false;
	return head->len >= sizes[head->type].least && head->len <= sizes[head->type].most;
}

void record_begin(struct record *record, enum record_type type, uint32_t flags, const char *id, size_t len)
{
	record->head = (struct record_head){
		.magic = RECORD_MAGIC,
		.version = RECORD_VERSION,
		.type = (uint16_t)type,
		.flags = flags,
		.len = (uint32_t)len,
	};
	snprintf(record->head.id, EXECUTION_ID_LENGTH + 1, "%s", id ? id : "");
}

int record_send(int fd, const struct record *record, const int *fds, size_t fd_count, int flags)
{
	if (fd_send(fd, record, sizeof(record->head) + record->head.len, fds, fd_count, flags) == 0)
		return 0;
	return errno == EAGAIN || errno == ENOBUFS ? 1 : -1;
}

int record_receive(int fd, struct record *ret, int ret_fds[RECORD_FDS_MAX], int flags)
{
	ssize_t n = fd_receive(fd, ret, sizeof(*ret), ret_fds, RECORD_FDS_MAX, flags);

	/* A peer that has closed its end with an unread record: the kernel reports that once, before it hands out what the peer has sent. */
	if (n < 0 && errno == ECONNRESET)
		n = fd_receive(fd, ret, sizeof(*ret), ret_fds, RECORD_FDS_MAX, flags);
	if (n < 0)
		return errno == EAGAIN ? 2 : errno == EMSGSIZE || errno == EMFILE ? -1 : 0;
	if (n == 0 || record_valid(ret, (size_t)n))
		return n > 0;
	for (size_t i = 0; i < RECORD_FDS_MAX; i++)
		fd_done(&ret_fds[i]);
	return -1;
}

int record_read_file(int fd, size_t len, char **ret, struct warder_error *err)
{
	struct stat st;
	char *text;
	size_t got = 0;

	if (len > FILE_BYTES_MAX || fd < 0 || fstat(fd, &st) < 0 ||
	    (fcntl(fd, F_GET_SEALS) & RECORD_SEALS) != RECORD_SEALS || st.st_size != (off_t)len)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL,
				 "a request's memory file is missing, can change or has another size");
	text = malloc(len + 1);
	if (!text)
		return error_no_memory(err, NULL);
	while (got < len) {
		const ssize_t n = pread(fd, text + got, len - got, (off_t)got);

		if (n <= 0) {
			free(text);
			return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
					       "cannot read a request's memory file");
		}
		got += (size_t)n;
	}
	text[len] = '\0';
	*ret = text;
	return 0;
}

int record_make_file(const char *bytes, size_t len)
{
	owned_fd int fd = memfd_create("warder-record", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || file_write_all(fd, bytes, len) < 0 || fcntl(fd, F_ADD_SEALS, RECORD_SEALS) < 0)
		return -1;
	return fd_take(&fd);
}
