/*
 * stop_all: end the sandboxes of a host that does not run.
 *
 * A batch ends before the next one begins: some kernels stop for good when the system call filters of more than about a thousand jails are
 * freed at once.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "host/launcher/launcher.h"
#include "host/launcher/run_artifacts.h"
#include "host/launcher/sandboxes.h"
#include "host/launcher/state.h"
#include "runtime/session/session.h"

#define BATCH       100
#define STACK_BYTES ((size_t)512 << 10)

struct ending {
	char id[SANDBOX_ID_LENGTH + 1];
	int sandboxes_fd;
	bool good;
	struct warder_error why;
};

struct endings {
	struct ending *items;
	size_t count;
	int sandboxes_fd;
};

static int add(void *context, const char *name)
{
	struct endings *endings = context;
	struct ending *grown;

	if (strlen(name) != SANDBOX_ID_LENGTH)
		return 0;
	grown = realloc(endings->items, (endings->count + 1) * sizeof(*grown));
	if (!grown)
		return -1;
	endings->items = grown;
	grown[endings->count] = (struct ending){ .sandboxes_fd = endings->sandboxes_fd };
	memcpy(grown[endings->count++].id, name, SANDBOX_ID_LENGTH + 1);
	return 0;
}

static void *end_one(void *arg)
{
	struct ending *ending = arg;

	/* 1: it had ended already. */
	ending->good = session_stop(ending->id, NULL, NULL, &ending->why) >= 0 &&
		       state_remove(ending->sandboxes_fd, ending->id, &ending->why) >= 0;
	return NULL;
}

static void end_batch(struct ending *items, size_t count)
{
	pthread_t threads[BATCH];
	bool begun[BATCH];
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK_BYTES);
	for (size_t i = 0; i < count; i++) {
		begun[i] = pthread_create(&threads[i], &small, end_one, &items[i]) == 0;
		if (!begun[i])
			end_one(&items[i]);
	}
	for (size_t i = 0; i < count; i++)
		if (begun[i])
			pthread_join(threads[i], NULL);
	pthread_attr_destroy(&small);
}

/* The first that did not end, if there is one. */
static int judge(const struct endings *endings, size_t *ret_ended, struct warder_error *err)
{
	const struct ending *failed = NULL;

	*ret_ended = 0;
	for (size_t i = 0; i < endings->count; i++) {
		*ret_ended += endings->items[i].good;
		if (!endings->items[i].good && !failed)
			failed = &endings->items[i];
	}
	if (!failed)
		return 0;
	*err = failed->why;
	return error_context(err, "%zu of %zu sandboxes have ended; sandbox %s", *ret_ended, endings->count,
			     failed->id);
}

int launcher_stop_all(const char *state, size_t *ret_ended, struct warder_error *err)
{
	struct endings endings = { .sandboxes_fd = -1 };
	struct run_artifacts artifacts = { .directory_fd = -1 };
	int status = state_open(state, STATE_SANDBOXES, &endings.sandboxes_fd, err);

	if (status == 0)
		status = state_lock(endings.sandboxes_fd, err);
	if (status == 0 && state_each(endings.sandboxes_fd, add, &endings, err) < 0)
		status = err->code ? -1 : error_no_memory(err, NULL);
	for (size_t i = 0; status == 0 && i < endings.count; i += BATCH)
		end_batch(endings.items + i, endings.count - i < BATCH ? endings.count - i : BATCH);
	if (status == 0)
		status = judge(&endings, ret_ended, err);
	if (status == 0 && (status = run_artifacts_open(state, &artifacts, err)) == 0)
		run_artifacts_close(&artifacts);
	free(endings.items);
	fd_done(&endings.sandboxes_fd);
	return status;
}
