/*
 * result_file: a result as a memory file, for another process of the same program: a head, and then the data that the result points to. It
 * lacks changes, files that are held open, and what the client adds itself about a piece of code.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/backend.h"
#include "base/fd.h"
#include "base/file.h"
#include "runtime/library/result.h"

#define RECEIPT_HEAD offsetof(struct policy_receipt, rows)
#define OUTPUT_MAX   (UINT64_C(1) << 31)

struct head {
	struct jail_outcome outcome; /* its pointers mean nothing */
	char backend[32];
	char passed_over[BACKEND_PASSED_BYTES];
	bool streamed;
	uint64_t passed[2];
	uint32_t uid, gid;
	uint64_t started_ms, prepare_us;
	uint32_t network_bytes;  /* of the edge's report, behind the collected files; 0: none */
	uint32_t progress_bytes; /* of the lines of progress, behind it */
	bool has_progress;
	uint64_t progress_delivered, progress_dropped;
	uint32_t learned_bytes;    /* of the learned policy as JSON, behind it; 0: none */
	uint64_t learned_left_out; /* as of struct learned */
};

/* A collected file. It is followed by its path and the reason why it was not taken, each with a NUL, and its bytes if it was. */
struct item {
	uint64_t size;
	uint32_t mode, taken;
	uint32_t path_bytes, why_bytes;
};

#define ITEMS_MAX   100000
#define TEXT_MAX    65536u
#define LEARNED_MAX (8u << 20)

static int write_item(int fd, const struct rootfs_item *from)
{
	const char *why = from->taken == ROOTFS_TAKEN_NOT && from->why ? from->why : "";
	const struct item item = { .size = from->size,
				   .mode = from->mode,
				   .taken = from->taken,
				   .path_bytes = (uint32_t)strlen(from->path) + 1,
				   .why_bytes = (uint32_t)strlen(why) + 1 };

	if (file_write_all(fd, (const char *)&item, sizeof(item)) < 0 ||
	    file_write_all(fd, from->path, item.path_bytes) < 0 ||
	    file_write_all(fd, why, item.why_bytes) < 0)
		return -1;
	return from->taken == ROOTFS_TAKEN_INLINE ? file_write_all(fd, from->bytes, from->size) : 0;
}

/* learned: the policy, or NULL. */
static int write_all(int fd, const struct warder_result *result, const char *learned)
{
	const struct policy_receipt *receipt = &result->receipt;
	const struct edge_report *network = result->outcome.network;
	const struct jail_progress *progress = result->outcome.progress;
	struct head head = { .outcome = result->outcome,
			     .streamed = result->streamed,
			     .passed = { result->passed[0], result->passed[1] },
			     .uid = result->uid,
			     .gid = result->gid,
			     .started_ms = result->started_ms,
			     .prepare_us = result->prepare_us };

	if (learned) {
		head.learned_bytes = (uint32_t)strlen(learned);
		head.learned_left_out = result->learned->left_out;
	}
	if (network)
		head.network_bytes = (uint32_t)edge_report_size(network->use_count);
	if (progress) {
		head.has_progress = true;
		head.progress_bytes = (uint32_t)progress->len;
		head.progress_delivered = progress->delivered;
		head.progress_dropped = progress->dropped;
	}

	strncpy(head.backend, result->backend, sizeof(head.backend) - 1);
	memcpy(head.passed_over, result->passed_over, sizeof(head.passed_over));
	if (file_write_all(fd, (const char *)&head, sizeof(head)) < 0 ||
	    file_write_all(fd, (const char *)receipt,
			   RECEIPT_HEAD + receipt->count * sizeof(receipt->rows[0])) < 0)
		return -1;
	for (int stream = 0; stream <= JAIL_RESULT; stream++) {
		const struct jail_output *output = &result->outcome.output[stream];

		if (output->bytes && output->len && file_write_all(fd, output->bytes, output->len) < 0)
			return -1;
	}
	for (size_t i = 0; i < result->outcome.collected.count; i++)
		if (write_item(fd, &result->outcome.collected.items[i]) < 0)
			return -1;
	if (network && file_write_all(fd, (const char *)network, head.network_bytes) < 0)
		return -1;
	if (progress && file_write_all(fd, progress->lines, progress->len) < 0)
		return -1;
	return file_write_all(fd, learned, head.learned_bytes);
}

int result_write_file(const struct warder_result *result)
{
	owned_fd int fd = memfd_create("warder-result", MFD_CLOEXEC);
	char *learned = result->learned ? policy_encode(&result->learned->policy) : NULL;
	int written = result->learned && !learned ? -1 : 0;

	if (fd < 0 || written < 0 || write_all(fd, result, learned) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		written = -1;
	free(learned);
	return written < 0 ? -1 : fd_take(&fd);
}

static bool take(int fd, void *to, size_t len)
{
	size_t got = 0;

	while (got < len) {
		const ssize_t n = read(fd, (char *)to + got, len - got);

		if (n <= 0)
			return false;
		got += (size_t)n;
	}
	return true;
}

static bool take_output(int fd, struct jail_output *output)
{
	const bool kept = output->bytes != NULL;

	output->bytes = NULL;
	if (!kept)
		return true;
	if (output->len > OUTPUT_MAX)
		return false;
	output->bytes = malloc(output->len + 1);
	if (!output->bytes || !take(fd, output->bytes, output->len)) {
		free(output->bytes);
		return false;
	}
	output->bytes[output->len] = '\0';
	return true;
}

/* The reason lies behind the path, in the same object: it lives as long. */
static bool take_item(int fd, struct rootfs_item *ret)
{
	struct item item;
	char *path;

	if (!take(fd, &item, sizeof(item)) || item.taken > ROOTFS_TAKEN_NOT ||
	    item.taken == ROOTFS_TAKEN_HELD || item.path_bytes == 0 || item.path_bytes > TEXT_MAX ||
	    item.why_bytes == 0 || item.why_bytes > TEXT_MAX)
		return false;
	path = malloc(item.path_bytes + item.why_bytes);
	if (!path || !take(fd, path, item.path_bytes + item.why_bytes)) {
		free(path);
		return false;
	}
	path[item.path_bytes - 1] = path[item.path_bytes + item.why_bytes - 1] = '\0';
	*ret = (struct rootfs_item){
		.path = path, .size = item.size, .mode = item.mode, .taken = (enum rootfs_taken)item.taken
	};
	if (ret->taken == ROOTFS_TAKEN_NOT)
		ret->why = path + item.path_bytes;
	if (ret->taken != ROOTFS_TAKEN_INLINE)
		return true;
	ret->bytes = item.size <= OUTPUT_MAX ? malloc(item.size + 1) : NULL;
	if (!ret->bytes)
		return false;
	ret->bytes[item.size] = '\0';
	return take(fd, ret->bytes, item.size);
}

static bool take_items(int fd, size_t count, struct rootfs_collection *collected)
{
	if (count > ITEMS_MAX || (count && !(collected->items = calloc(count, sizeof(*collected->items)))))
		return false;
	while (collected->count < count)
		if (!take_item(fd, &collected->items[collected->count++]))
			return false;
	return true;
}

/* Nothing of a pointer's value is used, except whether there was one. */
static void drop_pointers(struct jail_outcome *outcome)
{
	outcome->output[JAIL_PROGRESS] = (struct jail_output){ 0 };
	outcome->progress = NULL;
	outcome->network = NULL;
	outcome->collected.items = NULL;
	outcome->collected.fault[sizeof(outcome->collected.fault) - 1] = '\0';
}

static bool take_data(int fd, struct jail_outcome *outcome)
{
	const size_t items = outcome->collected.count;
	size_t stream = 0;

	outcome->collected.count = 0; /* of those that are here by now */
	while (stream <= JAIL_RESULT && take_output(fd, &outcome->output[stream]))
		stream++;
	if (stream > JAIL_RESULT && take_items(fd, items, &outcome->collected))
		return true;
	while (stream > 0)
		free(outcome->output[--stream].bytes);
	rootfs_collection_done(&outcome->collected);
	return false;
}

/* The report's rows are counted by itself. */
static bool take_network(int fd, size_t bytes, struct jail_outcome *outcome)
{
	struct edge_report *report;

	if (!bytes)
		return true;
	if (bytes < edge_report_size(0) || bytes > sizeof(*report))
		return false;
	report = calloc(1, bytes);
	if (!report || !take(fd, report, bytes) || report->row_count > EDGE_REFUSALS_MAX ||
	    edge_report_size(report->use_count) != bytes) {
		free(report);
		return false;
	}
	outcome->network = report;
	return true;
}

static bool take_progress(int fd, const struct head *head, struct jail_outcome *outcome)
{
	struct jail_progress *progress;

	if (!head->has_progress)
		return true;
	if (head->progress_bytes > JAIL_PROGRESS_KEPT)
		return false;
	progress = calloc(1, sizeof(*progress));
	if (!progress || !take(fd, progress->lines, head->progress_bytes) ||
	    (head->progress_bytes && progress->lines[head->progress_bytes - 1])) {
		free(progress);
		return false;
	}
	progress->len = head->progress_bytes;
	progress->delivered = head->progress_delivered;
	progress->dropped = head->progress_dropped;
	outcome->progress = progress;
	return true;
}

/* Behind the report, whose destinations it has. A policy that this version cannot read is left out: the rest of the result is good. */
static bool take_learned(int fd, const struct head *head, const struct edge_report *report,
			 struct learned **ret)
{
	struct warder_error ignored;
	char *text;
	bool done;

	if (!head->learned_bytes)
		return true;
	text = head->learned_bytes <= LEARNED_MAX ? malloc(head->learned_bytes) : NULL;
	done = text && take(fd, text, head->learned_bytes);
	if (done)
		learned_read(text, head->learned_bytes, head->learned_left_out, report, ret, &ignored);
	free(text);
	return done;
}

int result_read_file(int fd, struct warder_result *ret)
{
	struct policy_receipt *receipt = &ret->receipt;
	const struct backend *backend;
	struct warder_error err;
	struct head head;

	if (!take(fd, &head, sizeof(head)))
		return -1;
	drop_pointers(&head.outcome);
	if (!take(fd, receipt, RECEIPT_HEAD) ||
	    receipt->count > sizeof(receipt->rows) / sizeof(receipt->rows[0]) ||
	    !take(fd, receipt->rows, receipt->count * sizeof(receipt->rows[0])))
		return -1;
	if (!take_data(fd, &head.outcome))
		return -1;
	if (!take_network(fd, head.network_bytes, &head.outcome) ||
	    !take_progress(fd, &head, &head.outcome) ||
	    !take_learned(fd, &head, head.outcome.network, &ret->learned)) {
		jail_outcome_done(&head.outcome);
		return -1;
	}
	head.backend[sizeof(head.backend) - 1] = '\0';
	backend = backend_find(head.backend, &err);
	ret->outcome = head.outcome;
	ret->backend = backend ? backend->name : "local";
	memcpy(ret->passed_over, head.passed_over, sizeof(ret->passed_over));
	ret->streamed = head.streamed;
	memcpy(ret->passed, head.passed, sizeof(ret->passed));
	ret->uid = head.uid;
	ret->gid = head.gid;
	ret->started_ms = head.started_ms;
	ret->prepare_us = head.prepare_us;
	return 0;
}
