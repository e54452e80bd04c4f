/* records: what a keeper and its clients accept of each other. */
#include "base/array.h"
#include "base/fd.h"
#include "runtime/session/records.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static struct record record;
static struct warder_error err;

#define ID "0123456789abcdef"

Test(records, of_the_size_that_their_type_has, .timeout = 20)
{
	static const struct {
		enum record_type type;
		size_t len;
		bool valid;
	} rows[] = {
		{ RECORD_HELLO, 0, true },
		{ RECORD_HELLO, 1, false },
		{ RECORD_START, sizeof(struct record_start), true },
		{ RECORD_START, sizeof(struct record_start) - 1, false },
		{ RECORD_WRITE, 0, true },
		{ RECORD_WRITE, RECORD_BODY_MAX, true },
		{ RECORD_SIGNAL, 4, true },
		{ RECORD_SIGNAL, 5, false },
		{ RECORD_FRAME, sizeof(struct record_frame), false },
		{ RECORD_FRAME, sizeof(struct record_frame) + 1, true },
		{ RECORD_PIECE, RECORD_PIECE_BARE, true },
		{ RECORD_PIECE, RECORD_PIECE_BARE + 1, false },
		{ RECORD_REPEAT, RECORD_KEY_LENGTH - 1, false },
		{ RECORD_TAKEN, 0, true },
		{ RECORD_TAKEN, 1, false },
		{ RECORD_TYPES, 0, false },
		{ (enum record_type)0, 0, false },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		record_begin(&record, rows[i].type, 0, ID, rows[i].len);
		cr_expect_eq(record_valid(&record, sizeof(record.head) + rows[i].len), rows[i].valid,
			     "row %zu", i);
	}
}

Test(records, keys_are_hexadecimal, .timeout = 20)
{
	static const struct {
		enum record_type type;
		size_t len;
	} rows[] = { { RECORD_PIECE, sizeof(struct record_piece) }, { RECORD_REPEAT, RECORD_KEY_LENGTH } };

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const size_t len = sizeof(record.head) + rows[i].len;
		char *key;

		record_begin(&record, rows[i].type, 0, ID, rows[i].len);
		key = record.bytes + rows[i].len - RECORD_KEY_LENGTH;
		memset(key, 'a', RECORD_KEY_LENGTH);
		cr_expect(record_valid(&record, len), "row %zu", i);
		key[RECORD_KEY_LENGTH - 1] = 'g';
		cr_expect_not(record_valid(&record, len), "row %zu: another letter", i);
		key[RECORD_KEY_LENGTH - 1] = '\0';
		cr_expect_not(record_valid(&record, len), "row %zu: too short", i);
	}
}

Test(records, forged_and_half, .timeout = 20)
{
	const struct record_head good = { RECORD_MAGIC, RECORD_VERSION, RECORD_LIST, 0, 0, ID };
	struct {
		const char *what;
		struct record_head head;
		size_t len;
	} rows[] = {
		{ "half of a head", good, sizeof(good) - 1 },
		{ "nothing", good, 0 },
		{ "more than it says", good, sizeof(good) + 1 },
		{ "magic", good, sizeof(good) },
		{ "version", good, sizeof(good) },
		{ "flags", good, sizeof(good) },
		{ "letters of the id", good, sizeof(good) },
		{ "an id without an end", good, sizeof(good) },
		{ "something behind the id", good, sizeof(good) },
		{ "length", good, sizeof(good) },
	};

	record.head = good;
	cr_expect(record_valid(&record, sizeof(good)));
	rows[3].head.magic++;
	rows[4].head.version++;
	rows[5].head.flags = RECORD_FLAGS + 1;
	rows[6].head.id[3] = '/';
	memset(rows[7].head.id, 'a', sizeof(rows[7].head.id));
	rows[8].head.id[EXECUTION_ID_LENGTH + 3] = 'a';
	rows[9].head.len = UINT32_MAX;
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		record.head = rows[i].head;
		cr_expect_not(record_valid(&record, rows[i].len), "%s", rows[i].what);
	}
}

Test(records, any_version_may_say_hello, .timeout = 20)
{
	record_begin(&record, RECORD_HELLO, 0, NULL, 0);
	record.head.version = 77;
	cr_expect(record_valid(&record, sizeof(record.head)));
	record.head.type = RECORD_LIST;
	cr_expect_not(record_valid(&record, sizeof(record.head)));
}

/* Its START is shorter, and nothing in between is valid. */
Test(records, the_version_before, .timeout = 20)
{
	record_begin(&record, RECORD_START, 0, ID, RECORD_START_OLD);
	record.head.version = RECORD_VERSION_OLD;
	cr_expect(record_valid(&record, sizeof(record.head) + RECORD_START_OLD));
	record_begin(&record, RECORD_START, 0, ID, RECORD_START_OLD + 1);
	cr_expect_not(record_valid(&record, sizeof(record.head) + RECORD_START_OLD + 1));
	record_begin(&record, RECORD_START, 0, ID, RECORD_START_OLD);
	cr_expect_not(record_valid(&record, sizeof(record.head) + RECORD_START_OLD), "of this version");
	record_begin(&record, RECORD_START, 0, ID, sizeof(record.start));
	record.head.version = RECORD_VERSION_OLD;
	cr_expect_not(record_valid(&record, sizeof(record.head) + sizeof(record.start)), "of the one before");
	record_begin(&record, RECORD_LIST, 0, ID, 0);
	record.head.version = RECORD_VERSION_OLD - 1;
	cr_expect_not(record_valid(&record, sizeof(record.head)));
}

Test(records, over_a_socket, .timeout = 20)
{
	static struct record got;
	int pair[2], fds[RECORD_FDS_MAX];
	const int sent[RECORD_FDS_MAX] = { STDIN_FILENO, STDOUT_FILENO, STDIN_FILENO, STDOUT_FILENO };

	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	cr_expect_eq(record_receive(pair[1], &got, fds, MSG_DONTWAIT), 2, "nothing has come");
	memset(record.bytes, 'x', RECORD_BODY_MAX);
	record_begin(&record, RECORD_WRITE, RECORD_MORE, ID, RECORD_BODY_MAX);
	cr_expect_eq(record_send(pair[0], &record, sent, RECORD_FDS_MAX, 0), 0);
	cr_expect_eq(record_receive(pair[1], &got, fds, 0), 1);
	cr_expect_eq(memcmp(&got, &record, sizeof(record)), 0);
	for (size_t i = 0; i < RECORD_FDS_MAX; i++) {
		cr_expect_geq(fds[i], 0);
		cr_expect(fcntl(fds[i], F_GETFD) & FD_CLOEXEC);
		fd_done(&fds[i]);
	}
	cr_expect_eq(send(pair[0], "short", 5, 0), 5);
	cr_expect_eq(record_receive(pair[1], &got, fds, 0), -1);
	while (record_send(pair[0], &record, NULL, 0, MSG_DONTWAIT) == 0)
		;
	cr_expect_eq(record_send(pair[0], &record, NULL, 0, MSG_DONTWAIT), 1, "no room");
	close(pair[1]);
	cr_expect_eq(record_send(pair[0], &record, NULL, 0, MSG_DONTWAIT), -1, "nobody");
	close(pair[0]);
}

Test(records, memory_files_that_can_change_are_refused, .timeout = 20)
{
	owned_fd int sealed = record_make_file("text", 4);
	owned_fd int open_file = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	char *text = NULL;

	cr_assert_eq(write(open_file, "text", 4), 4);
	cr_expect_eq(record_read_file(open_file, 4, &text, &err), -1, "not sealed");
	cr_expect_eq(record_read_file(STDIN_FILENO, 4, &text, &err), -1, "no memory file");
	cr_expect_eq(record_read_file(-1, 4, &text, &err), -1, "none");
	cr_expect_eq(record_read_file(sealed, 5, &text, &err), -1, "another size");
	cr_assert_eq(record_read_file(sealed, 4, &text, &err), 0);
	cr_expect_str_eq(text, "text");
	cr_expect_lt(write(sealed, "x", 1), 0);
	free(text);
}
