#include "runtime/library/order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

#define LIST_MAX 32768u

/* ---- the sender ---- */

bool order_hands_over(const struct library_order *order)
{
	const struct rootfs_collect *collect = order->launch.command.collect;

	return collect && (collect->save_fd >= 0 || collect->hold);
}

int order_add_text(int fd, const char *text)
{
	return file_write_all(fd, text, strlen(text) + 1);
}

int order_add_list(int fd, char *const *words, uint32_t *ret_count)
{
	uint32_t count = 0;

	for (; words && words[count]; count++)
		if (order_add_text(fd, words[count]) < 0)
			return -1;
	*ret_count = count;
	return 0;
}

static int add_file(int fd, const struct rootfs_file *from)
{
	const struct order_file file = { .len = from->bytes ? from->len : 0,
					 .mode = from->mode,
					 .is_directory = !from->bytes };

	return order_add_text(fd, from->path) < 0 ||
		       file_write_all(fd, (const char *)&file, sizeof(file)) < 0 ||
		       file_write_all(fd, from->bytes, file.len) < 0
		   ? -1
		   : file_write_all(fd, "", 1);
}

int order_write(int fd, const struct library_order *order, struct order_code *ret)
{
	const struct jail_command *command = &order->launch.command;
	const struct rootfs_collect *collect = command->collect;

	*ret = (struct order_code){ .payload = order->subject.payload,
				    .script = (uint32_t)order->script,
				    .code_bytes = order->code_bytes,
				    .result_bytes = command->result_bytes };
	snprintf(ret->language, sizeof(ret->language), "%s", order->subject.language);
	if (order_add_list(fd, command->set_env, &ret->environment_count) < 0)
		return -1;
	if (collect) {
		ret->files_max = collect->files_max;
		ret->file_bytes = collect->file_bytes;
		ret->total_bytes = collect->total_bytes;
		ret->inline_bytes = collect->inline_bytes;
		if (order_add_text(fd, collect->directory) < 0)
			return -1;
		for (; ret->pattern_count < collect->pattern_count; ret->pattern_count++)
			if (order_add_text(fd, collect->patterns[ret->pattern_count]) < 0)
				return -1;
	}
	for (; ret->file_count < command->file_count; ret->file_count++)
		if (add_file(fd, &command->files[ret->file_count]) < 0)
			return -1;
	return 0;
}

/* ---- the receiver ---- */

bool order_code_valid(const struct order_code *code, bool collects)
{
	return code->language[0] && memchr(code->language, 0, sizeof(code->language)) &&
	       code->payload <= POLICY_PAYLOAD_GUEST_MODULE && code->environment_count <= LIST_MAX &&
	       code->pattern_count <= LIST_MAX && code->file_count <= LIST_MAX &&
	       (collects || !code->pattern_count);
}

char *order_next_text(char **at, const char *end)
{
	char *text = *at;
	const char *nul = text < end ? memchr(text, 0, (size_t)(end - text)) : NULL;

	if (!nul)
		return NULL;
	*at = text + (nul - text) + 1;
	return text;
}

static bool split_list(char **at, const char *end, char **list, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		list[i] = order_next_text(at, end);
		if (!list[i])
			return false;
	}
	return true;
}

static bool split_file(char **at, const char *end, struct rootfs_file *ret)
{
	struct order_file file;

	ret->path = order_next_text(at, end);
	if (!ret->path || (size_t)(end - *at) < sizeof(file))
		return false;
	memcpy(&file, *at, sizeof(file));
	*at += sizeof(file);
	if (file.len >= (size_t)(end - *at) || (*at)[file.len])
		return false;
	ret->bytes = file.is_directory ? NULL : *at;
	ret->len = file.len;
	ret->mode = file.mode;
	*at += file.len + 1;
	return true;
}

static bool split(const struct order_code *code, bool collects, char **at, const char *end,
		  struct order_words *words)
{
	if (!split_list(at, end, words->environment, code->environment_count))
		return false;
	if (collects) {
		words->directory = order_next_text(at, end);
		if (!words->directory || !split_list(at, end, words->patterns, code->pattern_count))
			return false;
	}
	for (uint32_t i = 0; i < code->file_count; i++)
		if (!split_file(at, end, &words->files[i]))
			return false;
	return true;
}

int order_take(const struct order_code *code, bool collects, char **at, const char *end,
	       struct order_words *ret, struct warder_error *err)
{
	ret->environment = calloc((size_t)code->environment_count + 1, sizeof(*ret->environment));
	ret->patterns = calloc((size_t)code->pattern_count + 1, sizeof(*ret->patterns));
	ret->files = calloc((size_t)code->file_count + 1, sizeof(*ret->files));
	if (!ret->environment || !ret->patterns || !ret->files)
		return error_no_memory(err, NULL);
	return split(code, collects, at, end, ret)
		   ? 0
		   : error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL,
			       "the bytes that come with a piece of code are not as its request says");
}

void order_words_done(struct order_words *words)
{
	free(words->environment);
	free(words->patterns);
	free(words->files);
	*words = (struct order_words){ 0 };
}

struct rootfs_collect order_collect(const struct order_code *code, const struct order_words *words)
{
	return (struct rootfs_collect){ .directory = words->directory,
					.patterns = (const char *const *)words->patterns,
					.pattern_count = code->pattern_count,
					.unchanged = words->files,
					.unchanged_count = code->file_count,
					.files_max = code->files_max,
					.file_bytes = code->file_bytes,
					.total_bytes = code->total_bytes,
					.inline_bytes = code->inline_bytes,
					.save_fd = -1 };
}
