/*
 * The result as a memory file for the client: a head, and then the data that the result points to. It lacks the members that no run of a
 * service has: artifacts, a report of the edge, changes, code.
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
#include "runtime/service/service.h"

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
};

static int write_all(int fd, const struct warder_result *result)
{
	const struct policy_receipt *receipt = &result->receipt;
	struct head head = { .outcome = result->outcome,
			     .streamed = result->streamed,
			     .passed = { result->passed[0], result->passed[1] },
			     .uid = result->uid,
			     .gid = result->gid,
			     .started_ms = result->started_ms,
			     .prepare_us = result->prepare_us };

	strncpy(head.backend, result->backend, sizeof(head.backend) - 1);
	memcpy(head.passed_over, result->passed_over, sizeof(head.passed_over));
	if (file_write_all(fd, (const char *)&head, sizeof(head)) < 0 ||
	    file_write_all(fd, (const char *)receipt,
			   RECEIPT_HEAD + receipt->count * sizeof(receipt->rows[0])) < 0)
		return -1;
	for (int stream = 0; stream < 2; stream++) {
		const struct jail_output *output = &result->outcome.output[stream];

		if (output->bytes && output->len && file_write_all(fd, output->bytes, output->len) < 0)
			return -1;
	}
	return 0;
}

int service_write_result(const struct warder_result *result)
{
	owned_fd int fd = memfd_create("warder-result", MFD_CLOEXEC);

	return fd < 0 || write_all(fd, result) < 0 || lseek(fd, 0, SEEK_SET) < 0 ? -1 : fd_take(&fd);
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
	if (!output->bytes || !take(fd, output->bytes, output->len))
		return false;
	output->bytes[output->len] = '\0';
	return true;
}

/* Nothing of a pointer's value is used, except whether there was one. */
static void drop_pointers(struct jail_outcome *outcome)
{
	outcome->output[JAIL_RESULT] = outcome->output[JAIL_PROGRESS] = (struct jail_output){ 0 };
	outcome->progress = NULL;
	outcome->network = NULL;
	memset(&outcome->collected, 0, sizeof(outcome->collected));
}

int service_read_result(int fd, struct warder_result *ret)
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
	for (int stream = 0; stream < 2; stream++)
		if (!take_output(fd, &head.outcome.output[stream])) {
			free(head.outcome.output[0].bytes);
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
