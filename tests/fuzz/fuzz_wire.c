/*
 * wire: what comes over a jail's sockets while it is set up, from a child that may be dying or lying, and the block that init is
 * given. Messages of any size and content either make the launch go on with a payload that has a pid, or end it with an
 * error that can be shown; what is put into a block is found where its offsets say.
 */
#include <sys/socket.h>

#include "jail/block.h"
#include "tests/fuzz/input.h"

#include "jail/launch.c" /* it begins a run */

#define STRINGS_MAX 16

/* The next message: which socket, how long, its bytes. */
static void send_next(struct fuzz_input *input, struct jail_run *run)
{
	const uint8_t where = input_byte(input);
	char bytes[2 * sizeof(struct wire_message)];
	size_t len = where & 2 ? sizeof(struct wire_message) : input_byte(input) % sizeof(bytes);

	input_bytes(input, bytes, len);
	send(where & 1 ? run->exec[1] : run->control[1], bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void check_messages(struct fuzz_input *input)
{
	/* What a payload was born into is not its word, and is not looked at. */
	static const struct jail_starter bare = { .bare = true };
	static struct jail_template tmpl; /* of a plan without limits */
	static struct policy_receipt receipt;
	struct jail_run run = { .receipt = &receipt };
	struct warder_error err = { 0 };
	int on = 1;

	tmpl.plan.starter = &bare;
	tmpl.plan.cgroup.memory_bytes = tmpl.plan.cgroup.pids_max = tmpl.plan.cgroup.cpu_milli =
	    tmpl.plan.cgroup.swap_bytes = UINT64_MAX;
	tmpl.plan.cpu_time_us = tmpl.plan.policy.limits.swap_bytes = POLICY_UNLIMITED;
	run_init(&run, &tmpl, &(struct jail_command){ 0 });
	must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, run.control) == 0);
	must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, run.exec) == 0);
	must(setsockopt(run.exec[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) == 0);
	for (int i = input_byte(input) % 4; i > 0; i--)
		send_next(input, &run);
	fd_done(&run.control[1]);
	fd_done(&run.exec[1]);
	if (run_step_setup(&run, &err) == 0)
		must(run.program_pid > 0);
	else
		must(err.code != WARDER_ERROR_NONE && err.text[0] && memchr(err.text, 0, sizeof(err.text)) &&
		     memchr(err.step, 0, sizeof(err.step)));
	run_undo_streams(&run, &err);
}

static void check_block(struct fuzz_input *input)
{
	char *items[STRINGS_MAX];
	struct block block = { 0 };
	struct wire_block header = { .magic = WIRE_MAGIC };
	const uint64_t *offsets;
	uint32_t at;
	size_t count = 0;

	while (count < STRINGS_MAX && input->left)
		items[count++] = input_text(input);
	block_append(&block, &header, sizeof(header));
	at = block_strings(&block, items, count);
	must(!block.failed && at % 8 == 0);
	offsets = WIRE_AT(block.bytes, at, const uint64_t);
	for (size_t i = 0; i < count; i++) {
		must(offsets[i] > 0 && offsets[i] + strlen(items[i]) < block.len);
		must(strcmp(WIRE_AT(block.bytes, offsets[i], char), items[i]) == 0);
		free(items[i]);
	}
	must(offsets[count] == 0 && block_header(&block)->magic == WIRE_MAGIC);
	block_done(&block);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input input = { data, size };

	check_messages(&input);
	check_block(&input);
	return 0;
}
