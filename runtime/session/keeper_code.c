/*
 * keeper_code: the client has built the code and drawn the name of its directory. A program can leave any number of files there, so a thread
 * collects and removes them. A client that saves them takes them itself, with its own rights.
 */
#include "runtime/session/keeper_code.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "runtime/session/records.h"

static int take_descriptor(int fd, int *ret, struct warder_error *err)
{
	*ret = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return *ret < 0 ? error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
					  "no descriptor left for the execution's value")
			: 0;
}

/* The program gets it. */
static bool is_sealed_for_reading(int fd)
{
	const int seals = fd < 0 ? -1 : fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & RECORD_SEALS) == RECORD_SEALS &&
	       (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY;
}

static int take_value(struct keeper_code *code, const int **fds, struct warder_error *err)
{
	if (!code->record.head.has_value)
		return 0;
	if (!is_sealed_for_reading(**fds))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL,
				 "the value for the code is not a sealed memory file");
	return take_descriptor(*(*fds)++, &code->value_fd, err);
}

static int take_spill(struct keeper_code *code, const int **fds, struct warder_error *err)
{
	struct stat st;

	for (size_t i = 0; code->record.head.has_spill && i < ARRAY_LENGTH(code->spill_fds); i++) {
		if (**fds < 0 || fstat(**fds, &st) < 0 || !S_ISREG(st.st_mode))
			return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL,
					 "what the code's output goes to is not a regular file");
		if (take_descriptor(*(*fds)++, &code->spill_fds[i], err) < 0)
			return -1;
	}
	return 0;
}

int keeper_code_new(struct execution *execution, const int **fds, struct warder_error *err)
{
	struct keeper_code *code = calloc(1, sizeof(*code));

	if (!code)
		return error_no_memory(err, NULL);
	execution->code = code;
	code->all = execution->all;
	code->value_fd = code->tmp_fd = code->spill_fds[0] = code->spill_fds[1] = -1;
	if (code_record_take(*(*fds)++, &code->record, err) < 0)
		return -1;
	code->subject = (struct policy_subject){ code->record.head.code.language,
						 (enum policy_payload)code->record.head.code.payload };
	if (*code->record.asked) {
		code->asked = execution_new_policy(err);
		if (!code->asked || policy_decode(code->record.asked, strlen(code->record.asked), "policy",
						  code->asked, err) < 0)
			return -1;
	}
	code->collect = order_collect(&code->record.head.code, &code->record.words);
	/* What a result can show of them, should the client not take them. */
	if (code->record.head.hands_over && !code->collect.inline_bytes)
		code->collect.inline_bytes = ORDER_INLINE_BYTES;
	return take_value(code, fds, err) < 0 || take_spill(code, fds, err) < 0 ? -1 : 0;
}

static void remove_box(const struct keeper_code *code, int tmp_fd)
{
	rootfs_remove_tree(tmp_fd, code->record.head.box);
}

/* Nobody knows how far the launch came. */
static void remove_failed(const struct keeper_code *code)
{
	struct warder_error ignored;
	owned_fd int root_fd = -1;
	owned_fd int tmp_fd = -1;

	if (jail_session_open_root(code->all->joint, &root_fd, &ignored) == 0)
		tmp_fd = path_open_in_root(root_fd, "/tmp", O_RDONLY | O_DIRECTORY, &ignored);
	if (tmp_fd >= 0)
		remove_box(code, tmp_fd);
}

int keeper_code_launch(struct execution *execution, struct warder_error *err)
{
	struct keeper_code *code = execution->code;
	const struct code_record *record = &code->record;
	const bool passes = execution->flags & RECORD_OUTPUT_FDS;
	const struct library_launch launch = {
		.command = { .argv = execution->words.argv,
			     .set_env = record->words.environment,
			     .stdin_fd = execution->streams[0],
			     .output_fds = passes ? &execution->streams[1] : NULL,
			     .output_max = passes ? execution->output_max : 0,
			     .should_stop = execution_gives_up,
			     .stop_context = execution,
			     .result_bytes = record->head.code.result_bytes,
			     .input_fd = code->value_fd > 0 ? code->value_fd : 0,
			     .calls_fd = execution->calls_fd > 0 ? execution->calls_fd : 0,
			     .progress = (execution->flags & RECORD_PROGRESS) != 0,
			     .files = record->words.files,
			     .file_count = record->head.code.file_count,
			     .spill_fds = record->head.has_spill ? code->spill_fds : NULL,
			     .spill_bytes = record->head.spill_bytes,
			     .working_directory =
				 *record->working_directory ? record->working_directory : NULL,
			     .no_receipt = (execution->flags & RECORD_NO_RECEIPT) != 0 },
		.output_context = execution,
		.on_progress = execution_take_line,
	};
	const struct library_streams streams = {
		.input_fd = execution->streams[0] > 0 ? execution->streams[0] : 0,
		.output_fds = launch.command.output_fds,
		.output_max = launch.command.output_max,
		.environment = record->words.environment,
	};

	if (library_check_streams(&streams, err) < 0)
		return -1;
	if (library_launch(execution->tmpl, &launch, &execution->run, err) < 0) {
		remove_failed(code);
		return -1;
	}
	code->tmp_fd = jail_run_open_scratch(library_jail(execution->run));
	if (code->tmp_fd >= 0)
		return 0;
	error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "no descriptor left for the execution");
	warder_run_free(execution->run);
	execution->run = NULL;
	remove_failed(code);
	return -1;
}

bool keeper_code_hand_over(struct keeper_code *code)
{
	code->handed = code->record.head.hands_over;
	return code->handed;
}

/* A client that was to take the files has not. */
static void collect(const struct keeper_code *code, struct rootfs_collection *ret)
{
	rootfs_collect(code->tmp_fd, &code->collect, ret);
	if (code->record.head.hands_over && ret->count && !ret->fault[0])
		snprintf(ret->fault, sizeof(ret->fault), "%s",
			 "the caller ended before it had taken the files");
}

static void collect_and_remove(struct keeper_code *code)
{
	if (code->result && code->record.head.collects)
		collect(code, &code->result->outcome.collected);
	remove_box(code, code->tmp_fd);
}

static void *run_removal(void *arg)
{
	struct keeper_code *code = arg;
	const uint64_t one = 1;
	ssize_t n;

	collect_and_remove(code);
	atomic_store(&code->removed, true);
	n = write(code->all->launched_fd, &one, sizeof(one));
	(void)n; /* a full counter is readable as well */
	return NULL;
}

bool keeper_code_begin_removal(struct keeper_code *code, struct warder_result *result)
{
	code->result = result;
	code->handed = false;
	code->removing = executions_begin_thread(&code->thread, run_removal, code) == 0;
	if (code->removing)
		return true;
	collect_and_remove(code);
	code->result = NULL;
	return false;
}

bool keeper_code_is_removed(const struct keeper_code *code)
{
	return code->removing && atomic_load(&code->removed);
}

struct warder_result *keeper_code_end_removal(struct keeper_code *code)
{
	struct warder_result *result = code->result;

	pthread_join(code->thread, NULL);
	code->removing = false;
	code->result = NULL;
	fd_done(&code->tmp_fd);
	return result;
}

void keeper_code_report(const struct keeper_code *code, struct warder_result *result)
{
	const struct code_record_head *head = &code->record.head;
	struct result_code *report = code_record_report(&code->record);

	if (!report)
		return;
	result_take_value(&(struct result_value_rules){ .is_engine = head->is_engine,
							.last_line = head->last_line,
							.bytes = head->value_bytes },
			  report, &result->outcome);
	result_add_run(result, report);
}

void keeper_code_free(struct keeper_code *code)
{
	if (!code)
		return;
	if (code->removing)
		warder_result_free(keeper_code_end_removal(code));
	execution_drop_policy(&code->asked);
	code_record_done(&code->record);
	fd_done(&code->value_fd);
	fd_done(&code->spill_fds[0]);
	fd_done(&code->spill_fds[1]);
	fd_done(&code->tmp_fd);
	free(code);
}
