#include "runtime/session/code_record.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/file.h"
#include "runtime/session/records.h"

#define BOX_DIGITS 16

/* ---- the client ---- */

static void fill_head(const struct library_order *order, struct code_record_head *head)
{
	const struct result_code *report = order->report;
	const struct jail_command *command = &order->launch.command;

	head->collects = command->collect != NULL;
	head->hands_over = order_hands_over(order);
	head->has_value = command->input_fd > 0;
	head->has_spill = command->spill_fds != NULL;
	head->spill_bytes = command->spill_bytes;
	head->is_engine = order->rules->is_engine;
	head->last_line = order->rules->last_line;
	head->value_bytes = order->rules->bytes;
	snprintf(head->box, sizeof(head->box), "%s", order->box);
	head->diagnostics_dropped = report->diagnostics_dropped;
	head->diagnostics_unreadable = report->diagnostics_unreadable;
	for (; head->stage_count < report->stage_count; head->stage_count++) {
		const struct result_stage *from = &report->stages[head->stage_count];
		struct code_record_stage *to = &head->stages[head->stage_count];

		snprintf(to->name, sizeof(to->name), "%s", from->name);
		snprintf(to->status, sizeof(to->status), "%s", from->status);
		to->wall_us = from->wall_us;
		to->cpu_us = from->cpu_us;
		to->memory_peak_bytes = from->memory_peak_bytes;
	}
}

static int write_texts(int fd, const struct library_order *order)
{
	const char *where = order->launch.command.working_directory;
	char *asked = order->asked ? policy_encode(order->asked) : NULL;
	const char *const texts[] = { where ? where : "", order->report->found_by,
				      order->report->diagnostics ? order->report->diagnostics : "",
				      order->report->scan ? order->report->scan : "", asked ? asked : "" };
	int added = order->asked && !asked ? -1 : 0;

	for (size_t i = 0; i < ARRAY_LENGTH(texts) && added == 0; i++)
		added = order_add_text(fd, texts[i]);
	free(asked);
	return added;
}

static int write_record(int fd, const struct library_order *order)
{
	struct code_record_head head = { 0 };

	if (lseek(fd, sizeof(head), SEEK_SET) < 0 || order_write(fd, order, &head.code) < 0 ||
	    write_texts(fd, order) < 0)
		return -1;
	fill_head(order, &head);
	return pwrite(fd, &head, sizeof(head), 0) == sizeof(head) ? fcntl(fd, F_ADD_SEALS, RECORD_SEALS) : -1;
}

int code_record_make(const struct library_order *order, struct warder_error *err)
{
	owned_fd int fd = memfd_create("warder-code", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || write_record(fd, order) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
				       "the code and its files cannot be kept for the session");
	return fd_take(&fd);
}

/* ---- the keeper ---- */

static int malformed(struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "the request's code is malformed");
}

static bool is_text(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

static bool is_valid(const struct code_record_head *head)
{
	const size_t prefix = strlen(LIBRARY_BOX);

	if (head->collects > 1 || head->has_value > 1 || head->is_engine > 1 || head->last_line > 1 ||
	    head->has_spill > 1 || head->hands_over > head->collects ||
	    head->stage_count >= RESULT_STAGES_MAX || !order_code_valid(&head->code, head->collects) ||
	    !is_text(head->box, sizeof(head->box)) || strncmp(head->box, LIBRARY_BOX, prefix) != 0 ||
	    strlen(head->box) != prefix + BOX_DIGITS ||
	    strspn(head->box + prefix, "0123456789abcdef") != BOX_DIGITS)
		return false;
	for (size_t i = 0; i < head->stage_count; i++)
		if (!is_text(head->stages[i].name, sizeof(head->stages[i].name)) ||
		    !is_text(head->stages[i].status, sizeof(head->stages[i].status)))
			return false;
	return true;
}

int code_record_split(char *bytes, size_t len, struct code_record *ret, struct warder_error *err)
{
	const char **const texts[] = { &ret->working_directory, &ret->found_by, &ret->diagnostics, &ret->scan,
				       &ret->asked };
	char *at = bytes + sizeof(ret->head);
	const char *end = bytes + len;

	if (len < sizeof(ret->head))
		return malformed(err);
	memcpy(&ret->head, bytes, sizeof(ret->head));
	if (!is_valid(&ret->head))
		return malformed(err);
	if (order_take(&ret->head.code, ret->head.collects, &at, end, &ret->words, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		*texts[i] = order_next_text(&at, end);
		if (!*texts[i])
			return malformed(err);
	}
	return at == end ? 0 : malformed(err);
}

int code_record_take(int fd, struct code_record *ret, struct warder_error *err)
{
	const int seals = fd < 0 ? -1 : fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (seals < 0 || (seals & RECORD_SEALS) != RECORD_SEALS || fstat(fd, &st) < 0 || st.st_size <= 0)
		return malformed(err);
	ret->map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (ret->map == MAP_FAILED) {
		ret->map = NULL;
		return error_no_memory(err, NULL);
	}
	ret->map_len = (size_t)st.st_size;
	return code_record_split(ret->map, ret->map_len, ret, err);
}

void code_record_done(struct code_record *record)
{
	order_words_done(&record->words);
	if (record->map)
		munmap(record->map, record->map_len);
	record->map = NULL;
}

static char *copy(const char *text, bool *failed)
{
	char *copied = *text ? strdup(text) : NULL;

	*failed |= *text && !copied;
	return copied;
}

struct result_code *code_record_report(const struct code_record *record)
{
	struct result_code *code = calloc(1, sizeof(*code));
	bool failed = false;

	if (!code)
		return NULL;
	code->language = copy(record->head.code.language, &failed);
	code->found_by = record->found_by;
	code->diagnostics = copy(record->diagnostics, &failed);
	code->diagnostics_dropped = record->head.diagnostics_dropped;
	code->diagnostics_unreadable = record->head.diagnostics_unreadable;
	code->scan = copy(record->scan, &failed);
	for (; code->stage_count < record->head.stage_count; code->stage_count++) {
		const struct code_record_stage *from = &record->head.stages[code->stage_count];

		code->stages[code->stage_count] =
		    (struct result_stage){ .name = from->name,
					   .status = from->status,
					   .wall_us = from->wall_us,
					   .cpu_us = from->cpu_us,
					   .memory_peak_bytes = from->memory_peak_bytes };
	}
	if (!failed)
		return code;
	result_code_free(code);
	return NULL;
}
