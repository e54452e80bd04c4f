/* What a program gets and gives besides its standard streams: a result, an input, files. */
#include <sys/mman.h>

#include "base/array.h"
#include "base/fd.h"
#include "tests/lib/jailed.h"

Test(exchange, result_has_a_descriptor_of_its_own, .timeout = 60)
{
	static const struct row {
		const char *script;
		uint64_t cap;
		const char *kept;
		uint64_t total;
		bool truncated;
	} rows[] = {
		{ "echo out; echo result >&3; echo err >&2", 100, "result\n", 7, false },
		{ "printf 0123456789 >&3", 4, "0123", 10, true },
		{ "true", 100, "", 0, false },
		{ "head -c 1000 /dev/zero; echo r >/dev/fd/3", 100, "r\n", 2, false },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		struct jailed *j = jailed_new();

		j->policy.output.stdout_bytes = 16;
		j->command.result_bytes = rows[i].cap;
		jailed_sh(j, rows[i].script);
		cr_expect_eq(j->step, 0, "%s: %s", rows[i].script, j->err.text);
		cr_expect_str_eq(jailed_text(j, JAIL_RESULT), rows[i].kept, "%s", rows[i].script);
		cr_expect_eq(j->outcome.output[JAIL_RESULT].total, rows[i].total, "%s", rows[i].script);
		cr_expect_eq(j->outcome.output[JAIL_RESULT].truncated, rows[i].truncated, "%s",
			     rows[i].script);
		cr_expect_eq(j->outcome.exit_code, 0, "%s: %s", rows[i].script, jailed_text(j, JAIL_STDERR));
		jailed_free(j);
	}
}

Test(exchange, no_result_no_descriptor, .timeout = 60)
{
	struct jailed *j = jailed_new();

	jailed_sh(j, "[ -e /proc/$$/fd/3 ] || [ -e /proc/$$/fd/4 ] || echo none; (echo x >&3) 2>/dev/null");
	cr_expect_str_eq(jailed_text(j, JAIL_STDOUT), "none\n");
	cr_expect(j->outcome.exit_code != 0);
	jailed_free(j);
}

Test(exchange, input_can_be_read_and_not_changed, .timeout = 60)
{
	owned_fd int writable_fd = memfd_create("input", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct jailed *j = jailed_new();
	owned_fd int input_fd = -1;
	char path[64];

	cr_assert_eq(write(writable_fd, "given\n", 6), 6);
	cr_assert_eq(
	    fcntl(writable_fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", writable_fd);
	input_fd = open(path, O_RDONLY | O_CLOEXEC);
	cr_assert(input_fd > 0);
	j->command.input_fd = input_fd;
	jailed_sh(j, "cat <&4; cat /dev/fd/4; (echo x >&4) 2>/dev/null || echo kept; "
		     "(echo x >/dev/fd/4) 2>/dev/null || echo kept");
	cr_expect_str_eq(jailed_text(j, JAIL_STDOUT), "given\ngiven\nkept\nkept\n");
	jailed_free(j);
}

static const struct rootfs_collect outputs = {
	.directory = "box",
	.files_max = 10,
	.file_bytes = 1 << 20,
	.total_bytes = 1 << 20,
	.inline_bytes = 1 << 20,
	.save_fd = -1,
};

Test(exchange, files_in_and_out, .timeout = 60)
{
	const struct rootfs_file files[] = { { "box/in.txt", "given", 5, 0 },
					     { "box/sub/tool.sh", "echo made >out.txt\n", 19, 0755 } };
	struct rootfs_collect what = outputs;
	struct jailed *j = jailed_new();

	what.unchanged = files;
	what.unchanged_count = 2;
	j->command.files = files;
	j->command.file_count = 2;
	j->command.collect = &what;
	cr_assert_eq(policy_set(&j->policy, "workingDirectory", "/tmp/box", &j->err), 0);
	jailed_sh(j,
		  "cat in.txt; stat -c '%U %a' in.txt sub sub/tool.sh; echo more >>sub/new; sh sub/tool.sh; "
		  "ln -s /etc/passwd link; pwd");
	cr_expect_str_eq(jailed_text(j, JAIL_STDOUT),
			 "givensandbox 644\nsandbox 755\nsandbox 755\n/tmp/box\n", "%s%s",
			 jailed_text(j, JAIL_STDOUT), jailed_text(j, JAIL_STDERR));
	cr_assert_eq(j->outcome.collected.count, 2u);
	cr_expect_str_eq(j->outcome.collected.items[0].path, "out.txt");
	cr_expect_str_eq(j->outcome.collected.items[0].bytes, "made\n");
	cr_expect_str_eq(j->outcome.collected.items[1].path, "sub/new");
	jailed_free(j);
}

Test(exchange, files_of_a_killed_program_are_taken, .timeout = 60)
{
	struct jailed *j = jailed_new();

	j->policy.limits.wall_time_us = 1000000ull * jailed_slow();
	j->command.collect = &outputs;
	cr_assert_eq(policy_set(&j->policy, "workingDirectory", "/tmp/box", &j->err), 0);
	jailed_sh(j, "echo partial >part; sleep 600");
	cr_expect_eq(j->outcome.cause, JAIL_CAUSE_WALL_TIME);
	cr_assert_eq(j->outcome.collected.count, 1u);
	cr_expect_str_eq(j->outcome.collected.items[0].bytes, "partial\n");
	jailed_free(j);
}

Test(exchange, files_that_do_not_fit_end_the_launch, .timeout = 60)
{
	static char large[1 << 20];
	const struct rootfs_file file = { "box/large", large, sizeof(large), 0 };
	struct jailed *j = jailed_new();

	j->policy.filesystem.tmp_bytes = 65536;
	j->command.files = &file;
	j->command.file_count = 1;
	cr_expect_eq(jailed_sh(j, "echo ran"), 4);
	cr_expect(strstr(j->err.text, "filesystem.tmp"), "%s", j->err.text);
	cr_expect_str_eq(j->err.step, "stage");
	jailed_free(j);
}

Test(exchange, output_beyond_the_limit_is_spilled, .timeout = 60)
{
	static const struct row {
		uint64_t most;
		const char *spilled;
	} rows[] = { { 1 << 20, "0123456789abc" }, { 12, "0123456789ab" }, { 0, "" } };

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		owned_fd int out_fd = memfd_create("spilled", MFD_CLOEXEC);
		const int fds[2] = { out_fd, -1 };
		struct jailed *j = jailed_new();
		char text[64] = "";

		j->policy.output.stdout_bytes = 4;
		j->command.spill_fds = fds;
		j->command.spill_bytes = rows[i].most;
		jailed_sh(j, "printf 0123456789; printf abc; echo err >&2");
		cr_expect_str_eq(jailed_text(j, JAIL_STDOUT), "0123");
		cr_expect_str_eq(jailed_text(j, JAIL_STDERR), "err\n");
		cr_expect_eq(j->outcome.output[JAIL_STDOUT].total, 13u);
		cr_expect_eq(j->outcome.spilled[JAIL_STDOUT], strlen(rows[i].spilled), "%zu", i);
		cr_expect_eq(j->outcome.spill_errno[JAIL_STDOUT], 0);
		cr_expect_eq(pread(out_fd, text, sizeof(text) - 1, 0), (ssize_t)strlen(rows[i].spilled));
		cr_expect_str_eq(text, rows[i].spilled);
		jailed_free(j);
	}
}

Test(exchange, a_spill_that_fails_is_told_and_the_run_goes_on, .timeout = 60)
{
	owned_fd int out_fd = memfd_create("spilled", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	const int fds[2] = { out_fd, -1 };
	struct jailed *j = jailed_new();

	cr_assert_eq(fcntl(out_fd, F_ADD_SEALS, F_SEAL_GROW), 0);
	j->command.spill_fds = fds;
	j->command.spill_bytes = 100;
	jailed_sh(j, "echo one; sleep 0.1; echo two");
	cr_expect_str_eq(jailed_text(j, JAIL_STDOUT), "one\ntwo\n");
	cr_expect_eq(j->outcome.cause, JAIL_CAUSE_EXIT);
	cr_expect_eq(j->outcome.spilled[JAIL_STDOUT], 0u);
	cr_expect_eq(j->outcome.spill_errno[JAIL_STDOUT], EPERM);
	jailed_free(j);
}

Test(exchange, large_files_are_held, .timeout = 60)
{
	struct rootfs_collect what = outputs;
	struct jailed *j = jailed_new();
	const struct rootfs_item *items;
	char text[16] = "";

	what.inline_bytes = 4;
	what.hold = true;
	j->command.collect = &what;
	cr_assert_eq(policy_set(&j->policy, "workingDirectory", "/tmp/box", &j->err), 0);
	jailed_sh(j, "printf 0123456789 >large; printf 123 >small");
	cr_assert_eq(j->outcome.collected.count, 2u);
	items = j->outcome.collected.items;
	cr_expect_eq(items[0].taken, ROOTFS_TAKEN_HELD);
	cr_assert(items[0].fd > 2);
	cr_expect_eq(read(items[0].fd, text, sizeof(text) - 1), 10);
	cr_expect_str_eq(text, "0123456789");
	cr_expect_eq(fcntl(items[0].fd, F_GETFD), FD_CLOEXEC);
	cr_expect_eq(items[1].taken, ROOTFS_TAKEN_INLINE);
	jailed_free(j);
}
