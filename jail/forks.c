/*
 * The life of zygotes: see jail.h. A zygote is the warm program (warm.c) of a parked jail; zygote.c gives it its orders.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/namespaces.h"
#include "jail/cgroup/ends.h"
#include "jail/inside/accounts.h"
#include "jail/run.h"
#include "jail/spawn.h"
#include "jail/zygote.h"

_Static_assert(JAIL_ZYGOTE_LIVING <= ENDS_AT_ONCE && JAIL_ZYGOTE_LIVING <= ACCOUNTS_FORKS,
	       "a zygote's forks may end at once, and it has accounts for all of them");

extern const char jail_forked_image[];
extern const char jail_forked_image_end[];

/* A fork copies one thread alone: locks that others hold would stay locked for ever. */
static int check_threads(const struct jail_zygote *zygote, struct warder_error *err)
{
	const long threads = zygote_status_number(zygote->run->proc_fd, "\nThreads:");

	if (threads == 1)
		return 0;
	return error_set(
	    err, WARDER_ERROR_UNSUPPORTED_POLICY, "forkServer",
	    "the program has %ld threads after its imports, and a fork would copy only one of them; "
	    "import without threads (OPENBLAS_NUM_THREADS=1, OMP_NUM_THREADS=1), or turn the fork "
	    "server off",
	    threads);
}

static int look_at(struct jail_zygote *zygote, struct warder_error *err)
{
	const int proc_fd = zygote->run->proc_fd;
	int seen = 0;

	for (size_t i = 0; i < NAMESPACE_COUNT && seen == 0; i++)
		if (namespace_number(proc_fd, namespace_kinds[i].link, &zygote->namespaces[i]) < 0 &&
		    errno != ENOENT)
			seen = -1;
	zygote->user_ns_fd = openat(proc_fd, "ns/user", O_RDONLY | O_CLOEXEC);
	if (seen < 0 || zygote->user_ns_fd < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
				       "cannot look at the namespaces of the zygote");
	return check_threads(zygote, err);
}

static int start(struct jail_zygote *zygote, char *const *argv, struct warder_error *err)
{
	struct jail_command command = {
		.argv = argv, .stdin_data = "", .stdin_fd = -1, .result_bytes = RUN_WARM_RESULT
	};
	owned_fd int image_fd = spawn_sealed("warder-forked", jail_forked_image, jail_forked_image_end, err);
	owned_fd int its_fd = -1;
	int sockets[2];

	if (image_fd < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
				       "no socket for the zygote");
	its_fd = sockets[1];
	zygote->run->warm.work_fd = sockets[0];
	command.input_fd = its_fd;
	command.calls_fd = image_fd;
	return run_warm(zygote->run, &command, err) < 0 ? -1 : look_at(zygote, err);
}

static void end(struct jail_zygote *zygote)
{
	struct warder_error err;
	const int removed = jail_run_remove(zygote->run, &err);

	fd_done(&zygote->user_ns_fd);
	pthread_mutex_destroy(&zygote->lock);
	if (zygote->done)
		zygote->done(zygote->context, removed < 0 ? &err : NULL);
	free(zygote);
}

int jail_zygote_new(struct jail_template *tmpl, char *const *argv,
		    void (*done)(void *context, const struct warder_error *left), void *context,
		    struct jail_zygote **ret, struct warder_error *err)
{
	struct jail_zygote *zygote = calloc(1, sizeof(*zygote));

	if (!zygote) {
		if (done)
			done(context, NULL);
		return error_no_memory(err, NULL);
	}
	atomic_init(&zygote->users, 1);
	pthread_mutex_init(&zygote->lock, NULL);
	zygote->user_ns_fd = -1;
	zygote->end = end;
	zygote->done = done;
	zygote->context = context;
	if (jail_park(tmpl, &zygote->run, err) < 0 || start(zygote, argv, err) < 0) {
		jail_zygote_drop(zygote);
		return -1;
	}
	zygote->ready_us = clock_us();
	*ret = zygote;
	return 0;
}

bool jail_zygote_is_stale(struct jail_zygote *zygote)
{
	/* Init stays after the program, whose end of the socket is closed then. */
	struct pollfd fds[] = { { .fd = zygote->run->init_fd, .events = POLLIN },
				{ .fd = zygote->run->warm.work_fd } };

	return poll(fds, ARRAY_LENGTH(fds), 0) != 0 || jail_warm_is_stale(zygote->run);
}

uint64_t jail_zygote_bytes(const struct jail_zygote *zygote)
{
	return jail_warm_bytes(zygote->run);
}

unsigned int jail_zygote_forks(const struct jail_zygote *zygote, uint64_t *ret_age_us)
{
	*ret_age_us = clock_us() - zygote->ready_us;
	return atomic_load(&zygote->forks);
}

unsigned int jail_zygote_living(const struct jail_zygote *zygote)
{
	/* Each run has a reference, and so has the owner. */
	const unsigned int users = atomic_load(&zygote->users);

	return users ? users - 1 : 0;
}

int jail_fork(struct jail_template *tmpl, struct jail_zygote *zygote, struct jail_run **ret,
	      struct warder_error *err)
{
	const struct jail_command none = { .stdin_fd = -1, .zygote = zygote };

	if (jail_check_park(&tmpl->plan, err) < 0 || run_begin(tmpl, &none, true, ret, err) < 0)
		return -1;
	if (!tmpl->parts)
		cgroup_close_joins(&(*ret)->cgroup);
	(*ret)->parked_us = clock_us();
	return 0;
}
