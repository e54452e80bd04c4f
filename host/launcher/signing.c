#include "host/launcher/signing.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/child.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/programs.h"
#include "base/text.h"
#include "host/launcher/state.h"
#include "host/signer/signer.h"

#define KEY_NAME "host"
#define ANSWER_S 10 /* in which the signer answers, also on a machine that is busy */
#define TRIES    2
#define PUBLIC   "ed25519:"
#define ENVELOPE 400 /* bytes of the member */

/* ---- the key ---- */

static int make_key(int keys_fd, unsigned char seed[REMOTE_KEY_BYTES], struct warder_error *err)
{
	struct json_writer w = { 0 };
	char *encoded, *text = NULL;
	int status;

	if (getrandom(seed, REMOTE_KEY_BYTES, 0) != REMOTE_KEY_BYTES)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "--state", errno,
				       "cannot make the key of this host");
	encoded = text_base64((const char *)seed, REMOTE_KEY_BYTES);
	if (encoded) {
		json_begin_object(&w);
		json_key_uint(&w, "version", 1);
		json_key_string(&w, "ed25519Seed", encoded);
		json_end_object(&w);
		text = json_take(&w);
		explicit_bzero(encoded, strlen(encoded));
	}
	status = text ? state_write(keys_fd, KEY_NAME, text, err) : error_no_memory(err, NULL);
	if (text)
		explicit_bzero(text, strlen(text));
	free(encoded);
	free(text);
	return status;
}

/* A key that cannot be read is not replaced: clients would take the host for another one. */
static int parse_key(const char *text, unsigned char seed[REMOTE_KEY_BYTES], struct warder_error *err)
{
	struct json_value *document = NULL;
	const char *encoded;
	char *bytes = NULL;
	size_t len = 0;

	if (json_parse(text, strlen(text), "keys/" KEY_NAME ".json", NULL, &document, err) < 0)
		return -1;
	encoded = json_member_text(document, "ed25519Seed", "");
	bytes = text_unbase64(encoded, strlen(encoded), &len);
	json_free(document);
	if (bytes && len == REMOTE_KEY_BYTES)
		memcpy(seed, bytes, REMOTE_KEY_BYTES);
	else
		len = 0;
	if (bytes)
		explicit_bzero(bytes, len);
	free(bytes);
	return len ? 0
		   : error_set(
			 err, WARDER_ERROR_INVALID_REQUEST, "--state",
			 "keys/" KEY_NAME ".json in the state directory holds no key of 32 bytes; put the "
			 "host's key back, or remove the file for a new key, which clients must trust anew");
}

/* make: if there is none. */
static int load_key(int keys_fd, bool make, unsigned char seed[REMOTE_KEY_BYTES], struct warder_error *err)
{
	char *text = NULL;
	int status;

	if (state_read(keys_fd, KEY_NAME, &text, err) < 0)
		return make && err->code == WARDER_ERROR_NOT_FOUND ? make_key(keys_fd, seed, err) : -1;
	status = parse_key(text, seed, err);
	explicit_bzero(text, strlen(text));
	free(text);
	return status;
}

/* ---- the signer ---- */

/* Between fork and exec. */
static _Noreturn void execute(const char *program, int fd, pid_t parent)
{
	static char name[] = SIGNER_PROGRAM;
	static char *argv[] = { name, NULL }, *environment[] = { NULL };

	/* A ctrl-c of the terminal is for the launcher, whose end closes the socket. No PR_SET_PDEATHSIG: the parent is a thread, and may end
	 * before the launcher does. */
	setpgid(0, 0);
	if (getppid() == parent && dup2(fd, STDIN_FILENO) >= 0) {
		syscall(SYS_close_range, 3, ~0U, 0);
		execve(program, argv, environment);
	}
	_exit(125);
}

static void stop_signer(struct signing *signing)
{
	fd_done(&signing->fd);
	if (signing->pid > 0) {
		kill(signing->pid, SIGKILL);
		child_wait(signing->pid, CHILD_PATIENCE_MS, NULL);
	}
	signing->pid = 0;
}

/* Send a message, and receive an answer of exactly `size` bytes. */
static bool ask(int fd, const void *bytes, size_t len, void *to, size_t size)
{
	return send(fd, bytes, len, MSG_NOSIGNAL) == (ssize_t)len && recv(fd, to, size, 0) == (ssize_t)size;
}

/* The key of the first start, which answers name, stays that of the launcher. False: the signer has another one. */
static bool take_public(struct signing *signing, const char public[REMOTE_KEY_BYTES])
{
	char *encoded = text_base64(public, REMOTE_KEY_BYTES);
	char key[REMOTE_KEY_TEXT] = "";

	if (encoded)
		snprintf(key, sizeof(key), PUBLIC "%s", encoded);
	free(encoded);
	if (encoded && !signing->key[0])
		memcpy(signing->key, key, sizeof(key));
	return encoded && strcmp(signing->key, key) == 0;
}

static int start_signer(struct signing *signing, struct warder_error *err)
{
	const struct timeval patience = { .tv_sec = ANSWER_S };
	unsigned char seed[REMOTE_KEY_BYTES];
	char public[REMOTE_KEY_BYTES];
	const pid_t parent = getpid();
	char program[PATH_MAX];
	owned_fd int theirs = -1;
	int pair[2];
	bool good;

	if (programs_find(SIGNER_PROGRAM, "--listen", program, err) < 0 ||
	    load_key(signing->keys_fd, !signing->key[0], seed, err) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "cannot make a socket");
	signing->fd = pair[0];
	theirs = pair[1];
	setsockopt(signing->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	signing->pid = fork();
	if (signing->pid == 0)
		execute(program, theirs, parent);
	fd_done(&theirs);
	good = signing->pid > 0 && ask(signing->fd, seed, sizeof(seed), public, sizeof(public));
	explicit_bzero(seed, sizeof(seed));
	if (good && take_public(signing, public))
		return 0;
	stop_signer(signing);
	return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL, SIGNER_PROGRAM " does not start");
}

int signing_open(const char *state, struct signing *ret, struct warder_error *err)
{
	*ret = (struct signing){ .fd = -1, .keys_fd = -1, .open = true };
	pthread_mutex_init(&ret->lock, NULL);
	return state_open(state, STATE_KEYS, &ret->keys_fd, err) < 0 ? -1 : start_signer(ret, err);
}

void signing_done(struct signing *signing)
{
	if (!signing->open)
		return;
	stop_signer(signing);
	fd_done(&signing->keys_fd);
	pthread_mutex_destroy(&signing->lock);
	signing->open = false;
}

static int sign_text(struct signing *signing, const char *text, size_t len, char ret[REMOTE_SIGNATURE_BYTES],
		     struct warder_error *err)
{
	bool good = false;

	pthread_mutex_lock(&signing->lock);
	for (int i = 0; i < TRIES && !good; i++) {
		if (signing->fd < 0 && start_signer(signing, err) < 0)
			continue;
		good = ask(signing->fd, text, len, ret, REMOTE_SIGNATURE_BYTES);
		if (!good)
			stop_signer(signing);
	}
	pthread_mutex_unlock(&signing->lock);
	return good ? 0
		    : error_set(err, WARDER_ERROR_UNAVAILABLE, NULL,
				"the answer cannot be signed: " SIGNER_PROGRAM
				" does not work with the host's key");
}

int signing_sign(struct signing *signing, const char *call, const char *request, size_t request_len,
		 char **answer, struct warder_error *err)
{
	const size_t len = strlen(*answer) - 1; /* without the brace */
	char statement[REMOTE_STATEMENT_MAX];
	char signature[REMOTE_SIGNATURE_BYTES];
	const size_t statement_len = remote_statement(call, request, request_len, *answer, len, statement);
	char *encoded = NULL, *grown = NULL;

	if (sign_text(signing, statement, statement_len, signature, err) < 0)
		return -1;
	encoded = text_base64(signature, sizeof(signature));
	if (encoded)
		grown = realloc(*answer, len + ENVELOPE);
	if (grown) {
		*answer = grown;
		snprintf(grown + len, ENVELOPE, REMOTE_SIGNATURE "\"key\":\"%s\",\"value\":\"%s\"}}",
			 signing->key, encoded);
	}
	free(encoded);
	return grown ? 0 : error_no_memory(err, NULL);
}
