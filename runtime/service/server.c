/*
 * The service's side. One thread accepts; each connection has a thread of its own, which launches and drives its run to the end. The pool's
 * own thread parks and removes jails.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/text.h"
#include "runtime/library/interpreters.h"
#include "runtime/library/pool.h"
#include "runtime/service/records.h"
#include "runtime/session/session.h"

#define LOOK_MS          100
#define LOCK_PATIENCE_US UINT64_C(2000000)

struct service {
	struct warder_pool *pool;
	atomic_int connections;
	_Atomic uint64_t used_us; /* clock of the last connection's begin or end */
	atomic_bool ending;       /* every run is cancelled */
};

struct connection {
	struct service *service;
	int fd; /* owned */
};

static int answer(int fd, enum service_answer_type type, const char *why, int result_fd)
{
	struct service_answer answer = { .magic = SERVICE_MAGIC, .type = type };

	snprintf(answer.why, sizeof(answer.why), "%s", why);
	return fd_send(fd, &answer, sizeof(answer), &result_fd, result_fd >= 0 ? 1 : 0, 0);
}

/* ---- the request ---- */

/* A copy, so that the client may change the file as it likes. Only a memory file: nothing else is sure not to block. */
static int read_words(int fd, uint64_t len, char **ret, struct warder_error *err)
{
	char *bytes;

	if (fd < 0 || fcntl(fd, F_GET_SEALS) < 0)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "the words are not a memory file");
	bytes = malloc(len + 1);
	if (!bytes)
		return error_no_memory(err, NULL);
	if (pread(fd, bytes, len, 0) != (ssize_t)len) {
		free(bytes);
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "the words are shorter than said");
	}
	bytes[len] = '\0';
	*ret = bytes;
	return 0;
}

struct order {
	struct service_request request;
	struct service_words words;
	int fds[SERVICE_FDS_MAX]; /* owned */
	struct warder_policy *policy, *ceiling;
};

static void order_done(struct order *order)
{
	for (size_t i = 0; i < SERVICE_FDS_MAX; i++)
		fd_done(&order->fds[i]);
	service_words_done(&order->words);
	warder_policy_free(order->policy);
	warder_policy_free(order->ceiling);
}

static int receive_order(int fd, struct order *ret, struct warder_error *err)
{
	struct service_words *words = &ret->words;
	const ssize_t n = fd_receive(fd, &ret->request, sizeof(ret->request), ret->fds, SERVICE_FDS_MAX, 0);
	char *bytes = NULL;
	size_t count = 0;

	while (count < SERVICE_FDS_MAX && ret->fds[count] >= 0)
		count++;
	if (n < 0 || !service_request_valid(&ret->request, (size_t)n) ||
	    count != service_request_fds(&ret->request))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "the request is not valid");
	if (read_words(ret->fds[0], ret->request.bytes, &bytes, err) < 0 ||
	    service_take_words(&ret->request, bytes, words, err) < 0 ||
	    warder_policy_parse(words->policy, strlen(words->policy), NULL, &ret->policy, err) != 0)
		return -1;
	return words->ceiling
		   ? warder_policy_parse(words->ceiling, strlen(words->ceiling), NULL, &ret->ceiling, err)
		   : 0;
}

/* ---- a run ---- */

/* What a run borrows until it is freed. */
struct launching {
	struct rootfs_collect collect;
	char *work;     /* owned; for a parked interpreter, or NULL */
	char **program; /* owned; the words that start it, or NULL */
};

static void launching_done(struct launching *launching)
{
	free(launching->work);
	interpreters_free(launching->program, text_count(launching->program));
}

/* Whether all variables of the command only name descriptors. Others may have to be there when an interpreter starts. */
static bool has_plain_variables(char *const *environment)
{
	for (; *environment; environment++)
		if (strncmp(*environment, "WARDER_", 7) != 0)
			return false;
	return true;
}

/* A parked interpreter takes no further descriptor, and starts with its outputs as two pipes or as one. */
static int choose_program(const struct order *order, struct launching *launching, struct pool_asked *asked,
			  struct warder_pool_key *key, struct warder_error *err)
{
	const struct service_request *request = &order->request;
	const uint32_t script = request->code.script;

	if (!script || request->flags & SERVICE_VALUE ||
	    !has_plain_variables(order->words.code.environment) ||
	    !interpreters_run_scripts(request->code.language))
		return 0;
	launching->program =
	    interpreters_script_words(request->code.language, order->words.argv, script, err);
	launching->work = interpreters_script_work(order->words.argv + script, order->words.code.environment,
						   &asked->work_len, err);
	key->program = launching->program;
	asked->work = launching->work;
	return launching->program && launching->work ? 0 : -1;
}

static int launch(struct service *service, const struct order *order, struct launching *launching,
		  struct warder_run **ret, struct warder_error *err)
{
	const struct service_request *request = &order->request;
	const struct order_code *code = &request->code;
	const bool has_input = request->flags & SERVICE_INPUT, has_output = request->flags & SERVICE_OUTPUT;
	const struct warder_options options = { .size = sizeof(options),
						.ceiling = order->ceiling,
						.cgroup_parent = order->words.parent };
	const struct policy_subject subject = { code->language, (enum policy_payload)code->payload };
	const int *outputs = &order->fds[has_input ? 2 : 1];
	const struct library_launch how = {
		.command = { .argv = order->words.argv,
			     .set_env = order->words.code.environment,
			     .stdin_fd = has_input ? order->fds[1] : -1,
			     .output_fds = has_output ? outputs : NULL,
			     .output_max = has_output ? request->output_max : 0,
			     .result_bytes = code->result_bytes,
			     .input_fd = request->flags & SERVICE_VALUE ? outputs[has_output ? 2 : 0] : 0,
			     .files = order->words.code.files,
			     .file_count = code->file_count,
			     .collect = request->flags & SERVICE_COLLECT ? &launching->collect : NULL,
			     .no_receipt = (request->flags & SERVICE_NO_RECEIPT) != 0 },
	};
	struct warder_pool_key key = { .size = sizeof(key), .policy = order->policy, .options = &options };
	struct pool_asked asked = { .key = &key,
				    .subject = request->flags & SERVICE_CODE ? &subject : NULL,
				    .code_bytes = code->code_bytes,
				    .merged = has_output && jail_is_one_file(outputs),
				    .launch = &how };

	if (choose_program(order, launching, &asked, &key, err) != 0)
		return -1;
	launching->collect = order_collect(code, &order->words.code);
	return pool_launch(service->pool, &asked, ret, err);
}

/* What the client says meanwhile; false: it is gone. */
static bool hear(int fd, struct warder_run *run)
{
	struct service_signal word;
	int fds[SERVICE_FDS_MAX];
	const ssize_t n = fd_receive(fd, &word, sizeof(word), fds, SERVICE_FDS_MAX, 0);

	for (size_t i = 0; i < SERVICE_FDS_MAX; i++)
		fd_done(&fds[i]);
	if (n != sizeof(word) || word.magic != SERVICE_MAGIC)
		return false;
	if (word.signal > 0 && word.grace_us)
		warder_stop(run, word.signal, word.grace_us);
	else
		warder_cancel(run);
	return true;
}

static int drive(struct service *service, int fd, struct warder_run *run, struct warder_result **ret,
		 struct warder_error *err)
{
	struct pollfd fds[2] = { { .fd = warder_run_fd(run, err), .events = POLLIN },
				 { .fd = fd, .events = POLLIN } };
	int over;

	if (fds[0].fd < 0)
		return -1;
	while ((over = warder_run_dispatch(run, ret, err)) == 0) {
		if (poll(fds, 2, LOOK_MS) > 0 && fds[1].revents && !hear(fd, run)) {
			warder_cancel(run);
			fds[1].fd = -1;
		}
		if (atomic_load(&service->ending))
			warder_cancel(run);
	}
	return over < 0 ? -1 : 0;
}

static void serve(struct service *service, int fd, const struct order *order)
{
	struct warder_result *result = NULL;
	struct warder_run *run = NULL;
	struct launching launching = { 0 };
	struct warder_error err = { 0 };

	if (launch(service, order, &launching, &run, &err) != 0) {
		answer(fd, SERVICE_NO, "the launch failed", -1);
		launching_done(&launching);
		return;
	}
	if (answer(fd, SERVICE_STARTED, "", -1) < 0)
		warder_cancel(run);
	if (drive(service, fd, run, &result, &err) == 0) {
		owned_fd int result_fd = result_write_file(result);

		if (result_fd >= 0)
			answer(fd, SERVICE_ENDED, "", result_fd);
	}
	warder_result_free(result);
	warder_run_free(run);
	launching_done(&launching);
}

static void attend(struct service *service, int fd)
{
	struct order order = { .fds = { -1, -1, -1, -1, -1 } };
	const struct timeval patience = { .tv_sec = SERVICE_RECORD_S };
	struct warder_error err = { 0 };
	char why[SERVICE_WHY];
	bool differs;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	/* The process is looked at by its number, which is its own as long as the second look by its descriptor succeeds. */
	if (session_peer(fd) != SESSION_PEER_OWNER)
		return;
	differs = service_differs(session_peer_pid(fd), why);
	if (session_peer(fd) != SESSION_PEER_OWNER)
		return;
	/* Read it in any case: closing a socket with unread data discards the answer. */
	if (receive_order(fd, &order, &err) < 0)
		answer(fd, SERVICE_NO, err.text, -1);
	else if (differs || service_differs_as_said(order.request.secure_bits, why))
		answer(fd, SERVICE_NO, why, -1);
	else if (answer(fd, SERVICE_ACCEPTED, "", -1) == 0)
		serve(service, fd, &order);
	order_done(&order);
}

static void *attend_thread(void *arg)
{
	struct connection *connection = arg;
	struct service *service = connection->service;

	attend(service, connection->fd);
	close(connection->fd);
	free(connection);
	atomic_store(&service->used_us, clock_us());
	atomic_fetch_sub(&service->connections, 1);
	return NULL;
}

/* ---- accepting ---- */

/* A client beyond SERVICE_CONNECTIONS starts its jail itself. */
static void begin(struct service *service, int fd)
{
	struct connection *connection =
	    atomic_load(&service->connections) < SERVICE_CONNECTIONS ? malloc(sizeof(*connection)) : NULL;
	pthread_attr_t detached;
	pthread_t thread;

	if (!connection) {
		answer(fd, SERVICE_NO, "the service is busy", -1);
		close(fd);
		return;
	}
	*connection = (struct connection){ service, fd };
	atomic_fetch_add(&service->connections, 1);
	atomic_store(&service->used_us, clock_us());
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&detached, (size_t)512 << 10);
	if (pthread_create(&thread, &detached, attend_thread, connection) != 0) {
		atomic_fetch_sub(&service->connections, 1);
		close(fd);
		free(connection);
	}
	pthread_attr_destroy(&detached);
}

static void accept_until(struct service *service, int listen_fd, uint64_t idle_us, int (*came)(void *context))
{
	struct pollfd ready = { .fd = listen_fd, .events = POLLIN };

	while (!came(NULL)) {
		if (poll(&ready, 1, LOOK_MS) > 0) {
			const int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);

			if (fd >= 0)
				begin(service, fd);
		}
		if (!atomic_load(&service->connections) &&
		    clock_us() - atomic_load(&service->used_us) >= idle_us)
			return;
	}
}

static int run(int listen_fd, uint64_t idle_us, int (*came)(void *context), void (*ready)(void),
	       struct warder_error *err)
{
	struct service service = { .used_us = clock_us() };
	int drained;

	if (warder_pool_new(NULL, &service.pool, err) != 0)
		return -1;
	ready();
	accept_until(&service, listen_fd, idle_us, came);
	close(listen_fd); /* later clients start their jails themselves */
	atomic_store(&service.ending, true);
	while (atomic_load(&service.connections))
		poll(NULL, 0, LOOK_MS / 10);
	drained = warder_pool_drain(service.pool, err);
	warder_pool_free(service.pool);
	return drained;
}

/* The lock of the service. The helpers of a service that was killed hold the lock until they have ended, too: wait for them. */
static int take_lock(int dir_fd, int *ret_fd, struct warder_error *err)
{
	const uint64_t give_up_us = clock_us() + LOCK_PATIENCE_US;
	int locked;

	while ((locked = session_lock(dir_fd, SERVICE_NAME, ret_fd, err)) > 0 && clock_us() < give_up_us)
		poll(NULL, 0, LOOK_MS / 10);
	return locked;
}

int service_run(uint64_t idle_us, int (*came)(void *context), void (*ready)(void), struct warder_error *err)
{
	owned_fd int dir_fd = -1;
	owned_fd int lock_fd = -1;
	int listen_fd;
	int locked, ret;

	if (session_directory_open(true, &dir_fd, err) < 0)
		return -1;
	locked = take_lock(dir_fd, &lock_fd, err);
	if (locked != 0)
		return locked < 0 ? -1
				  : error_set(err, WARDER_ERROR_CONFLICT, NULL,
					      "a service of this user runs already; \"warder run\" uses it");
	if (session_listen(dir_fd, SERVICE_NAME, &listen_fd, err) < 0) {
		session_unlink(dir_fd, SERVICE_NAME);
		return -1;
	}
	ret = run(listen_fd, idle_us, came, ready, err);
	session_unlink(dir_fd, SERVICE_NAME);
	session_directory_tidy();
	return ret;
}
