/*
 * remote_ask: one request, by a child that executes warder-remote.
 *
 * The child gets a memory file and a pipe, no arguments, no environment and no other descriptor. It is killed when the caller stops, and
 * by the kernel when this process dies; its connection closes then, and the host ends the program whose client is gone.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/remote.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/programs.h"

#define LOOK_MS      200
#define TIDY_MS      120000 /* what a sandbox of a service may take to be made and deleted */
#define QUESTION_MS  15000
#define ERROR_DETAIL 400
#define NONCE_BYTES  16
#define LOAD_MAX     UINT64_C(1000000)
#define CAPABILITIES "/v1/capabilities?nonce="

static int make_order(const struct backend_remote *remote, const struct backend_remote_request *request,
		      int *ret_fd, struct warder_error *err)
{
	struct json_writer w = { 0 };
	owned_fd int fd = memfd_create("order", MFD_CLOEXEC);
	char *text;
	int status;

	json_begin_object(&w);
	json_key_string(&w, "url", remote->url);
	if (remote->token_file[0])
		json_key_string(&w, "tokenFile", remote->token_file);
	else
		json_key_string(&w, "token", getenv(BACKEND_REMOTE_KEY));
	json_key_string(&w, "caFile", remote->ca_file[0] ? remote->ca_file : NULL);
	json_key_string(&w, "method", request->method ? request->method : request->body ? "POST" : "GET");
	json_key_string(&w, "path", request->path);
	json_key_string(&w, "accept", request->accept);
	json_key_uint(&w, "mostBytes",
		      request->large || (request->body && !request->method) ? REMOTE_RESULT_MAX
									    : REMOTE_JSON_MAX);
	json_key_uint(&w, "timeoutMs", request->timeout_ms);
	if (request->terminal)
		json_key_bool(&w, "terminal", true);
	if (request->follow)
		json_key_bool(&w, "follow", true);
	json_key_string(&w, "signs", request->signs);
	json_key_string(&w, "nonce", request->nonce);
	json_key_string(&w, "hostKey", request->any_key ? NULL : remote->host_key);
	if (remote->e2b) {
		json_key_string(&w, "template", remote->template);
		json_key_string(&w, "sandboxUrl", remote->sandbox_url[0] ? remote->sandbox_url : NULL);
		json_key_bool(&w, "insecure", remote->insecure);
	}
	json_end_object(&w);
	text = json_take(&w);
	if (!text)
		return error_no_memory(err, "backend");
	status = fd < 0 ? -1 : file_write_all(fd, text, strlen(text) + 1);
	if (status == 0 && request->body)
		status = file_write_all(fd, request->body,
					request->body_len ? request->body_len : strlen(request->body));
	explicit_bzero(text, strlen(text));
	free(text);
	if (status < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "backend", errno, "warder-remote");
	*ret_fd = fd_take(&fd);
	return 0;
}

/* Between fork and exec. */
static _Noreturn void execute(const char *program, int order_fd, int answer_fd, pid_t parent, int end_signal)
{
	static char name[] = "warder-remote";
	static char *argv[] = { name, NULL }, *environment[] = { NULL };
	const struct sigaction standard = { .sa_handler = SIG_DFL };

	prctl(PR_SET_PDEATHSIG, end_signal);
	sigaction(SIGPIPE, &standard, NULL);
	/* A ctrl-c of the terminal is for the parent, which then ends it. */
	setpgid(0, 0);
	if (getppid() == parent && dup2(order_fd, STDIN_FILENO) >= 0 && dup2(answer_fd, STDOUT_FILENO) >= 0) {
		syscall(SYS_close_range, 3, ~0U, 0);
		execve(program, argv, environment);
	}
	_exit(125);
}

static int start(const struct backend_remote *remote, const struct backend_remote_request *request,
		 pid_t *ret_pid, int *ret_fd, struct warder_error *err)
{
	owned_fd int order_fd = -1;
	owned_fd int read_fd = -1;
	owned_fd int write_fd = -1;
	const pid_t parent = getpid();
	char program[PATH_MAX];
	int ends[2];

	if (programs_find("warder-remote", "backend", program, err) < 0 ||
	    make_order(remote, request, &order_fd, err) < 0)
		return -1;
	if ((request->terminal ? socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)
			       : pipe2(ends, O_CLOEXEC)) == 0) {
		read_fd = ends[0];
		write_fd = ends[1];
		*ret_pid = fork();
	}
	if (read_fd < 0 || *ret_pid < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "backend", errno, "warder-remote");
	if (*ret_pid == 0)
		execute(program, order_fd, write_fd, parent, remote->e2b ? SIGTERM : SIGKILL);
	*ret_fd = fd_take(&read_fd);
	return 0;
}

/* A warder-remote that works. */
struct working {
	pid_t pid;
	int fd;
	bool tidies; /* SIGTERM ends its program, and it answers when the sandbox is deleted */
	uint64_t told_us;
};

/* True if the caller wants to stop and warder-remote must be killed now. One that deletes a sandbox first gets SIGTERM, and some time. */
static bool should_end(struct working *working, const struct backend_remote_request *request)
{
	if (!request->should_stop || !request->should_stop(request->context))
		return false;
	if (!working->tidies)
		return true;
	if (!working->told_us) {
		kill(working->pid, SIGTERM);
		working->told_us = clock_us();
	}
	return clock_us() - working->told_us > TIDY_MS * UINT64_C(1000);
}

/* Read until the end of the pipe, or `size` bytes. Returns their number; -1: we are to stop, or nothing came in time. */
static ssize_t receive(struct working *working, const struct backend_remote_request *request, char *to,
		       size_t size, bool *ret_stopped)
{
	size_t len = 0;

	while (len < size) {
		struct pollfd ready = { .fd = working->fd, .events = POLLIN };
		ssize_t got;

		if (poll(&ready, 1, LOOK_MS) <= 0) {
			*ret_stopped = should_end(working, request);
			if (*ret_stopped)
				return -1;
			continue;
		}
		got = read(working->fd, to + len, size - len);
		if (got < 0 && errno != EINTR)
			return -1;
		if (got == 0)
			break;
		len += got > 0 ? (size_t)got : 0;
	}
	return (ssize_t)len;
}

static int take_answer(struct working *working, const struct backend_remote_request *request,
		       struct remote_answer *ret, char **ret_body, struct warder_error *err)
{
	bool stopped = false;
	const ssize_t len = receive(working, request, (char *)ret, sizeof(*ret), &stopped);
	char *body;

	if (stopped) {
		ret->sent = 1;
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "backend", "stopped by a signal");
	}
	if (len < 0 || !remote_answer_valid(ret, (size_t)len)) {
		*ret = (struct remote_answer){ .sent = 1 };
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "backend",
				 "warder-remote ended without an answer");
	}
	body = malloc(ret->bytes + 1);
	if (!body)
		return error_no_memory(err, "backend");
	if (receive(working, request, body, ret->bytes, &stopped) != (ssize_t)ret->bytes) {
		free(body);
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "backend", "warder-remote died");
	}
	body[ret->bytes] = '\0';
	*ret_body = body;
	return 0;
}

/* The code of a kind by the name that the host gave. */
static enum warder_error_kind kind_of(const char *name)
{
	for (uint32_t code = WARDER_ERROR_NONE + 1; code <= WARDER_ERROR_INTERNAL; code++)
		if (strcmp(error_kind_name(code), name) == 0)
			return (enum warder_error_kind)code;
	return WARDER_ERROR_UNAVAILABLE;
}

static int take_refusal(const struct remote_answer *answer, const char *body, struct warder_error *err)
{
	struct json_value *document = NULL;
	struct warder_error ignored;
	const char *message = "", *kind;

	if (json_parse(body, answer->bytes, "answer", NULL, &document, &ignored) == 0)
		message = json_member_text(document, "message", "");
	kind = document ? json_member_text(document, "kind", "") : "";
	error_set(err, !*kind && answer->status == 404 ? WARDER_ERROR_NOT_FOUND : kind_of(kind),
		  document ? json_member_text(document, "field", NULL) : NULL, "%s%.*s (status %u)",
		  *message ? "" : "the host refuses the request", ERROR_DETAIL, message, answer->status);
	if (remote_answer_is_busy(answer))
		err->sys_errno = EBUSY;
	if (answer->status == 401)
		error_context(err, "the host does not accept the token of \"tokenFile\"");
	json_free(document);
	return -1;
}

/* What the host says of the request, or why it says nothing. 0: it has done it. */
static int judge(const struct remote_answer *answer, const char *body, struct warder_error *err)
{
	if (!answer->status) {
		*err = answer->error;
		return -1;
	}
	return answer->status == 101 || (answer->status >= 200 && answer->status <= 299)
		   ? 0
		   : take_refusal(answer, body, err);
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	child_wait(pid, CHILD_PATIENCE_MS, NULL);
}

int backend_remote_ask(const struct backend_remote *remote, const struct backend_remote_request *request,
		       struct remote_answer *ret, char **ret_body, struct warder_error *err)
{
	char label[BACKEND_REMOTE_LABEL];
	struct working working = { .tidies = remote->e2b };
	owned_fd int fd = -1;
	char *body = NULL;
	int status;

	*ret = (struct remote_answer){ 0 };
	backend_remote_label(remote, label);
	if (request->signs && !request->any_key && !remote->host_key[0])
		return error_set(
		    err, WARDER_ERROR_REJECTED, "backend",
		    "%s: no key of this host is trusted yet; run \"warder backend trust %s\", and "
		    "compare the key that it shows with the host's",
		    label, label);
	if (start(remote, request, &working.pid, &fd, err) < 0)
		return error_context(err, "%s", label);
	working.fd = fd;
	status = take_answer(&working, request, ret, &body, err);
	end(working.pid);
	if (status == 0)
		status = judge(ret, body, err);
	if (status < 0) {
		free(body);
		return error_context(err, "%s", label);
	}
	*ret_body = body;
	return 0;
}

static int open_link(const struct backend_remote *remote, const struct backend_remote_request *request,
		     struct backend_remote_terminal *ret, struct warder_error *err)
{
	char label[BACKEND_REMOTE_LABEL];
	struct working working = { 0 };
	struct remote_answer answer = { 0 };
	owned_fd int fd = -1;
	char *body = NULL;
	int status = start(remote, request, &working.pid, &fd, err);

	backend_remote_label(remote, label);
	if (status < 0)
		return error_context(err, "%s", label);
	working.fd = fd;
	status = take_answer(&working, request, &answer, &body, err);
	if (status == 0)
		status = judge(&answer, body, err);
	free(body);
	if (status < 0) {
		end(working.pid);
		return error_context(err, "%s", label);
	}
	*ret = (struct backend_remote_terminal){ .pid = working.pid, .fd = fd_take(&fd) };
	return 0;
}

int backend_remote_open_terminal(const struct backend_remote *remote, const char *path,
				 int (*should_stop)(void *context), struct backend_remote_terminal *ret,
				 struct warder_error *err)
{
	const struct backend_remote_request request = {
		.path = path, .terminal = true, .timeout_ms = QUESTION_MS, .should_stop = should_stop
	};

	return open_link(remote, &request, ret, err);
}

int backend_remote_open_output(const struct backend_remote *remote, const char *path,
			       int (*should_stop)(void *context), struct backend_remote_terminal *ret,
			       struct warder_error *err)
{
	const struct backend_remote_request request = { .path = path,
							.terminal = true,
							.follow = !remote->e2b,
							.timeout_ms = QUESTION_MS,
							.should_stop = should_stop };

	return open_link(remote, &request, ret, err);
}

void backend_remote_close_terminal(struct backend_remote_terminal *terminal)
{
	if (terminal->fd < 0)
		return;
	fd_done(&terminal->fd);
	end(terminal->pid);
}

/* The host's answer to a new nonce: a document that is the caller's. */
static int question(const struct backend_remote *remote, bool any_key, struct json_value **ret,
		    struct warder_error *err)
{
	unsigned char bytes[NONCE_BYTES];
	char nonce[2 * NONCE_BYTES + 1], path[sizeof(CAPABILITIES) + sizeof(nonce)];
	const struct backend_remote_request request = { .path = path,
							.timeout_ms = QUESTION_MS,
							.signs = "capabilities",
							.nonce = nonce,
							.any_key = any_key };
	char label[BACKEND_REMOTE_LABEL];
	struct remote_answer answer;
	char *body = NULL;
	int status;

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "backend", errno, "getrandom");
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(nonce + 2 * i, 3, "%02x", bytes[i]);
	snprintf(path, sizeof(path), CAPABILITIES "%s", nonce);
	if (backend_remote_ask(remote, &request, &answer, &body, err) < 0)
		return -1;
	status = json_parse(body, answer.bytes, backend_remote_label(remote, label), NULL, ret, err);
	free(body);
	return status;
}

int backend_remote_show_key(const struct backend_remote *remote, char ret[REMOTE_KEY_TEXT],
			    struct warder_error *err)
{
	struct json_value *document = NULL;
	const struct json_value *signature;

	if (backend_remote_check_kind(remote, "a key", err) < 0)
		return -1;
	if (question(remote, true, &document, err) < 0)
		return -1;
	/* warder-remote has found it there. */
	signature = json_member(document, "signature");
	snprintf(ret, REMOTE_KEY_TEXT, "%s", signature ? json_member_text(signature, "key", "") : "");
	json_free(document);
	return remote_is_key(ret)
		   ? 0
		   : error_set(err, WARDER_ERROR_UNAVAILABLE, "backend", "the host shows no key");
}

static uint64_t member(const struct json_value *object, const char *key)
{
	const struct json_value *value = object ? json_member(object, key) : NULL;

	return value && value->is_uint && value->uint <= LOAD_MAX ? value->uint : LOAD_MAX;
}

static uint64_t load_of(const struct json_value *document)
{
	const struct json_value *load = json_member(document, "load");
	const uint64_t processors = member(load, "processors");

	if (!processors || processors == LOAD_MAX)
		return UINT64_MAX;
	return (member(load, "running") + member(load, "waiting")) * 1000 / processors;
}

int backend_remote_capabilities(const struct backend_remote *remote, struct policy_capabilities *ret,
				uint64_t *ret_load, struct warder_error *err)
{
	struct json_value *document = NULL;
	char label[BACKEND_REMOTE_LABEL];
	int status;

	*ret_load = UINT64_MAX;
	if (remote->e2b) {
		backend_remote_promised(remote, ret);
		return 0;
	}
	if (question(remote, false, &document, err) < 0)
		return -1;
	status = policy_capabilities_read(document, backend_remote_label(remote, label), ret, err);
	*ret_load = load_of(document);
	json_free(document);
	return status;
}
