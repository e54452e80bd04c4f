/*
 * The service's side. Threads wait for connections; the one that gets a connection launches its run and drives it to the end, and then waits
 * again. If no other thread waits meanwhile, it starts one first. The first thread only looks after the rest. The pool's own threads park
 * and remove jails.
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
#include "runtime/service/policies.h"
#include "runtime/service/records.h"
#include "runtime/session/session.h"

#define LOOK_MS          100
#define LOCK_PATIENCE_US UINT64_C(2000000)
#define WAIT_S           1 /* of a thread for a connection; then it looks whether it is needed */
#define WAITING_MOST     2

struct service {
	struct warder_pool *pool;
	struct service_self self;
	struct policies policies;
	int dir_fd, lock_fd, listen_fd;
	atomic_int threads, waiting; /* of those that serve: all, and those without a connection */
	_Atomic uint64_t used_us;    /* clock of the last connection's end */
	atomic_bool closing;         /* no request is accepted any more */
	atomic_bool ending;          /* every run is cancelled */
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
	int fds[SERVICE_FDS_MAX];               /* owned */
	struct warder_policy *policy, *ceiling; /* of the service's policies */
};

static void order_done(struct service *service, struct order *order)
{
	for (size_t i = 0; i < SERVICE_FDS_MAX; i++)
		fd_done(&order->fds[i]);
	service_words_done(&order->words);
	policies_give_back(&service->policies, order->policy);
	policies_give_back(&service->policies, order->ceiling);
}

static int receive_order(struct service *service, int fd, struct order *ret, struct warder_error *err)
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
	if (ret->request.flags & SERVICE_QUESTION)
		return 0;
	if (read_words(ret->fds[0], ret->request.bytes, &bytes, err) < 0 ||
	    service_take_words(&ret->request, bytes, words, err) < 0 ||
	    policies_take(&service->policies, words->policy, &ret->policy, err) < 0)
		return -1;
	return words->ceiling ? policies_take(&service->policies, words->ceiling, &ret->ceiling, err) : 0;
}

/* ---- a run ---- */

/* What a run borrows until it is freed. */
struct launching {
	int fd; /* of the connection */
	struct warder_run *run;
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

/* What the client says meanwhile; false: it is gone. */
static bool hear(void *context)
{
	const struct launching *launching = context;
	struct service_signal word;
	int fds[SERVICE_FDS_MAX];
	const ssize_t n = fd_receive(launching->fd, &word, sizeof(word), fds, SERVICE_FDS_MAX, 0);

	for (size_t i = 0; i < SERVICE_FDS_MAX; i++)
		fd_done(&fds[i]);
	if (n != sizeof(word) || word.magic != SERVICE_MAGIC) {
		warder_cancel(launching->run);
		return false;
	}
	if (word.signal > 0 && word.grace_us)
		warder_stop(launching->run, word.signal, word.grace_us);
	else
		warder_cancel(launching->run);
	return true;
}

static int launch(struct service *service, const struct order *order, struct launching *launching,
		  struct warder_error *err)
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
			     .no_receipt = (request->flags & SERVICE_NO_RECEIPT) != 0,
			     .watch_fd = launching->fd,
			     .on_watch = hear,
			     .watch_context = launching },
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
	return pool_launch(service->pool, &asked, &launching->run, err);
}

/* The supervision hears the client as long as the program runs; then, while it waits for a slow reader of the output, this does. */
static int drive(struct service *service, const struct launching *launching, struct warder_result **ret,
		 struct warder_error *err)
{
	struct pollfd client = { .fd = launching->fd, .events = POLLIN };
	int over;

	while ((over = warder_wait_for(launching->run, LOOK_MS * UINT64_C(1000), ret, err)) == 0) {
		if (poll(&client, 1, 0) > 0 && !hear((void *)(uintptr_t)launching))
			client.fd = -1;
		if (atomic_load(&service->ending))
			warder_cancel(launching->run);
	}
	return over < 0 ? -1 : 0;
}

static void serve(struct service *service, int fd, const struct order *order)
{
	struct warder_result *result = NULL;
	struct launching launching = { .fd = fd };
	struct warder_error err = { 0 };

	if (launch(service, order, &launching, &err) != 0) {
		answer(fd, SERVICE_NO, "the launch failed", -1);
		launching_done(&launching);
		return;
	}
	if (drive(service, &launching, &result, &err) == 0) {
		owned_fd int result_fd = result_write_file(result);

		if (result_fd >= 0)
			answer(fd, SERVICE_ENDED, "", result_fd);
	}
	warder_result_free(result);
	warder_run_free(launching.run);
	launching_done(&launching);
}

static void attend(struct service *service, int fd)
{
	struct order order = { .fds = { -1, -1, -1, -1, -1 } };
	const struct timeval patience = { .tv_sec = SERVICE_RECORD_S };
	struct warder_error err = { 0 };
	owned_fd int pidfd = -1;
	char why[SERVICE_WHY];
	bool differs;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	/* The process is looked at by its number, which is its own as long as it has not ended afterwards. */
	if (session_peer_hold(fd, &pidfd) != SESSION_PEER_OWNER)
		return;
	differs = service_differs(&service->self, session_peer_pid(fd), why);
	if (session_peer_has_ended(pidfd))
		return;
	/* Read it in any case: closing a socket with unread data discards the answer. */
	if (receive_order(service, fd, &order, &err) < 0)
		answer(fd, SERVICE_NO, err.text, -1);
	else if (differs || service_differs_as_said(order.request.secure_bits, why))
		answer(fd, SERVICE_NO, why, -1);
	else if (atomic_load(&service->closing))
		answer(fd, SERVICE_NO, "the service ends", -1);
	else if (answer(fd, SERVICE_ACCEPTED, "", -1) == 0 && !(order.request.flags & SERVICE_QUESTION))
		serve(service, fd, &order);
	order_done(service, &order);
}

/* ---- accepting ---- */

static void start_thread(struct service *service);

/* As long as it is needed: until the service ends, or enough others wait. It counts as waiting when it begins. */
static void *serve_thread(void *arg)
{
	struct service *service = arg;

	while (!atomic_load(&service->closing)) {
		const int fd = accept4(service->listen_fd, NULL, NULL, SOCK_CLOEXEC);

		if (fd >= 0) {
			if (atomic_fetch_sub(&service->waiting, 1) == 1)
				start_thread(service);
			attend(service, fd);
			close(fd);
			atomic_store(&service->used_us, clock_us());
			atomic_fetch_add(&service->waiting, 1);
		} else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) {
			poll(NULL, 0, LOOK_MS);
		} else if (atomic_load(&service->waiting) > WAITING_MOST) {
			break;
		}
	}
	atomic_fetch_sub(&service->waiting, 1);
	atomic_fetch_sub(&service->threads, 1);
	return NULL;
}

static void start_thread(struct service *service)
{
	pthread_attr_t detached;
	pthread_t thread;

	if (atomic_fetch_add(&service->threads, 1) >= SERVICE_CONNECTIONS) {
		atomic_fetch_sub(&service->threads, 1);
		return;
	}
	atomic_fetch_add(&service->waiting, 1);
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&detached, (size_t)512 << 10);
	if (pthread_create(&thread, &detached, serve_thread, service) != 0) {
		atomic_fetch_sub(&service->waiting, 1);
		atomic_fetch_sub(&service->threads, 1);
	}
	pthread_attr_destroy(&detached);
}

/* A client for which there is no thread starts its jail itself. */
static bool refuse_next(const struct service *service, const char *why)
{
	owned_fd int fd = accept4(service->listen_fd, NULL, NULL, SOCK_CLOEXEC);

	if (fd >= 0)
		answer(fd, SERVICE_NO, why, -1);
	return fd >= 0;
}

static bool is_full(const struct service *service)
{
	return !atomic_load(&service->waiting) && atomic_load(&service->threads) >= SERVICE_CONNECTIONS;
}

static bool is_idle(const struct service *service, uint64_t idle_us)
{
	return atomic_load(&service->waiting) == atomic_load(&service->threads) &&
	       clock_us() - atomic_load(&service->used_us) >= idle_us;
}

/* Until the service has to end. */
static void look_after(struct service *service, uint64_t idle_us, int (*came)(void *context))
{
	while (!came(NULL) && !is_idle(service, idle_us) && !atomic_load(&service->self.changed)) {
		struct pollfd ready = { .fd = is_full(service) ? service->listen_fd : -1, .events = POLLIN };

		if (poll(&ready, 1, LOOK_MS) > 0 && is_full(service))
			refuse_next(service, "the service is busy");
		else if (!atomic_load(&service->waiting))
			start_thread(service); /* none could be started before */
	}
}

/* Later clients start their jails themselves. Programs that run go on, for hours perhaps: also that of a client which has just come to a service
 * that seemed idle. Meanwhile, a new service can start, because the names of the lock and the socket are free. The lock's descriptor is one that
 * accept4(2) can use if there was none left; otherwise the clients wait until a program ends. */
static void finish(struct service *service, int (*came)(void *context))
{
	session_unlink(service->dir_fd, SERVICE_NAME);
	fd_done(&service->lock_fd);
	atomic_store(&service->closing, true);
	shutdown(service->listen_fd, SHUT_RDWR);
	do {
		while (refuse_next(service, "the service ends"))
			;
		if (came(NULL))
			atomic_store(&service->ending, true);
		poll(NULL, 0, LOOK_MS / 10);
	} while (atomic_load(&service->threads));
}

/* A thread that waits for a connection sleeps in accept4(2), which gives each connection to one of them. */
static int make_waiting(int listen_fd, struct warder_error *err)
{
	const struct timeval most = { .tv_sec = WAIT_S };

	if (fcntl(listen_fd, F_SETFL, 0) == 0 &&
	    setsockopt(listen_fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most)) == 0)
		return 0;
	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno,
			       "cannot set up the service's socket");
}

static int prepare(struct service *service, bool forks, struct warder_error *err)
{
	const struct warder_pool_options options = { .size = sizeof(options), .fork_server = forks };

	if (session_listen(service->dir_fd, SERVICE_NAME, &service->listen_fd, err) < 0 ||
	    make_waiting(service->listen_fd, err) < 0)
		return -1;
	if (service_self_open(&service->self) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "cannot read /proc/self");
	if (warder_pool_new(&options, &service->pool, err) != 0) {
		service_self_close(&service->self);
		return -1;
	}
	return 0;
}

/* With the lock. */
static int run(int dir_fd, int lock_fd, uint64_t idle_us, bool forks, int (*came)(void *context),
	       void (*ready)(void), struct warder_error *err)
{
	struct service service = { .dir_fd = dir_fd,
				   .lock_fd = lock_fd,
				   .listen_fd = -1,
				   .policies = { .lock = PTHREAD_MUTEX_INITIALIZER },
				   .used_us = clock_us() };
	const char *changed;
	int drained;

	if (prepare(&service, forks, err) < 0) {
		session_unlink(dir_fd, SERVICE_NAME);
		fd_done(&service.lock_fd);
		fd_done(&service.listen_fd);
		return -1;
	}
	ready();
	start_thread(&service);
	look_after(&service, idle_us, came);
	finish(&service, came);
	close(service.listen_fd);
	drained = warder_pool_drain(service.pool, err);
	changed = atomic_load(&service.self.changed);
	if (drained == 0 && changed)
		drained =
		    error_set(err, WARDER_ERROR_CONFLICT, NULL, SERVICE_CHANGED ", so it has ended", changed);
	warder_pool_free(service.pool);
	policies_done(&service.policies);
	service_self_close(&service.self);
	return drained;
}

/* The lock of the service. The helpers of a service that was killed hold the lock until they have ended, too: wait for them. */
static int take_lock(int *ret_dir_fd, int *ret_fd, struct warder_error *err)
{
	const uint64_t give_up_us = clock_us() + LOCK_PATIENCE_US;
	int locked;

	while ((locked = session_directory_lock(SERVICE_NAME, ret_dir_fd, ret_fd, err)) > 0 &&
	       clock_us() < give_up_us)
		poll(NULL, 0, LOOK_MS / 10);
	return locked;
}

int service_run(uint64_t idle_us, bool forks, int (*came)(void *context), void (*ready)(void),
		struct warder_error *err)
{
	owned_fd int dir_fd = -1;
	owned_fd int lock_fd = -1;
	int locked, ret;

	locked = take_lock(&dir_fd, &lock_fd, err);
	if (locked != 0)
		return locked < 0 ? -1
				  : error_set(err, WARDER_ERROR_CONFLICT, NULL,
					      "a service of this user runs already, or one that was killed "
					      "left processes");
	ret = run(dir_fd, fd_take(&lock_fd), idle_us, forks, came, ready, err);
	session_directory_tidy();
	return ret;
}
