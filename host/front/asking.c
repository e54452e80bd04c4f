/*
 * asking: questions to the launcher that have no answer yet, by their numbers.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "host/front/exchange.h"

struct question {
	struct question *next;
	uint64_t number;
	struct exchange *x; /* NULL: nobody waits for the answer any more */
	asked *then;
	bool any;   /* `then` gets errors, too */
	bool opens; /* a connection to a sandbox, which may last */
};

struct asking {
	uint64_t last;
	struct question *open;
};

int asking_new(struct front *front, struct asking **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -1;
}

bool asking_forget(struct front *front, const struct exchange *x)
{
	bool forgotten = false;
	struct link_request request = { .magic = LINK_MAGIC, .size = sizeof(request), .call = LINK_CANCEL };

	for (struct question *question = front->asking->open; question; question = question->next) {
		if (question->x != x)
			continue;
		question->x = NULL;
		/* If it cannot be sent, the program runs until its time is over. */
		request.value = question->number;
		fd_send(front->link_fd, &request, sizeof(request), NULL, 0, 0);
		forgotten = true;
	}
	return forgotten;
}

/* The text goes along, and the connection of a client that has shown no key. */
static int send_question(struct exchange *x, const struct link_request *request, const char *text)
{
	owned_fd int text_fd = text ? record_make_file(text, strlen(text)) : -1;
	int fds[LINK_FDS];
	size_t count = 0;

	if (text && text_fd < 0)
		return -1;
	if (text)
		fds[count++] = text_fd;
	if (request->key_kind == LINK_KEY_PEER)
		fds[count++] = exchange_connection(x);
	return fd_send(x->front->link_fd, request, sizeof(*request), fds, count, 0);
}

/* The launcher could not be asked. */
static void fail(struct exchange *x, unsigned int status, const char *message, asked *then, bool any)
{
	struct link_answer answer = { .status = status };
	int none = -1;

	if (!any) {
		exchange_fail(x, status, message);
		return;
	}
	snprintf(answer.error.text, sizeof(answer.error.text), "%s", message);
	then(x, &answer, NULL, &none);
}

static void ask(struct exchange *x, enum link_call call, uint64_t value, char *text, asked *then, bool any)
{
	struct asking *asking = x->front->asking;
	struct question *question = calloc(1, sizeof(*question));
	struct link_request request = {
		.magic = LINK_MAGIC,
		.size = sizeof(request),
		.call = call,
		.key_kind = x->key_kind,
		.number = ++asking->last,
		.value = value,
		.bytes = text ? strlen(text) : 0,
	};

	memcpy(request.key, x->key, sizeof(request.key));
	snprintf(request.sandbox, sizeof(request.sandbox), "%s", x->sandbox);
	if (!question) {
		fail(x, 503, "no memory is left; try again", then, any);
	} else if (request.bytes > LINK_BYTES_MAX) {
		fail(x, 413, "the request is too long", then, any);
	} else if (strlen(x->sandbox) >= sizeof(request.sandbox) ||
		   !link_request_valid(&request, sizeof(request))) {
		fail(x, 404, "there is no such sandbox", then, any);
	} else if (send_question(x, &request, text) < 0) {
		fail(x, 503, "the host is busy; try again", then, any);
	} else {
		*question =
		    (struct question){ asking->open, request.number, x, then, any, call == LINK_OPEN };
		asking->open = question;
		question = NULL;
	}
	free(question);
	free(text);
}

void exchange_ask(struct exchange *x, enum link_call call, uint64_t value, char *text, asked *then)
{
	ask(x, call, value, text, then, false);
}

void exchange_ask_any(struct exchange *x, enum link_call call, uint64_t value, char *text, asked *then)
{
	ask(x, call, value, text, then, true);
}

/* The question that is answered. It is the caller's, unless another answer follows. */
static struct question *take_question(struct asking *asking, const struct link_answer *answer)
{
	for (struct question **at = &asking->open; *at; at = &(*at)->next)
		if ((*at)->number == answer->number) {
			struct question *found = *at;

			if (!answer->more)
				*at = found->next;
			return found;
		}
	return NULL;
}

static void refuse(struct link_answer *answer, uint32_t status, const char *why)
{
	answer->status = status;
	answer->retry_s = 1;
	error_set(&answer->error, WARDER_ERROR_UNAVAILABLE, NULL, "%s", why);
}

/* Only the launcher knows whose the key of a sandbox is. */
static void check_room(struct question *question, struct link_answer *answer)
{
	exchange_belongs(question->x, answer->tenant);
	if (!question->opens || answer->status >= 400)
		return;
	if (!exchange_has_room(question->x))
		refuse(answer, 429, EXCHANGE_NO_ROOM);
	else if (exchange_keeps_too_much(question->x))
		refuse(answer, 503, EXCHANGE_KEEPS_TOO_MUCH);
}

static void pass(struct question *question, struct link_answer *answer, const char *text, int *fd)
{
	char retry[16];

	check_room(question, answer);
	if (answer->retry_s) {
		snprintf(retry, sizeof(retry), "%u", answer->retry_s);
		exchange_set(question->x, "Retry-After", retry);
	}
	if (answer->status < 400 || question->any)
		question->then(question->x, answer, text, fd);
	else
		exchange_error(question->x, answer->status, &answer->error);
}

bool asking_take(struct front *front, struct asking_offer *ret)
{
	for (;;) {
		struct link_answer answer;
		struct warder_error err = { 0 };
		int fds[LINK_FDS];
		const ssize_t n = fd_receive(front->link_fd, &answer, sizeof(answer), fds, LINK_FDS, 0);
		struct question *question;
		char *text = NULL;

		if (n < 0 && errno == EAGAIN)
			return true;
		if (n <= 0 || !link_answer_valid(&answer, (size_t)n))
			return false;
		question = take_question(front->asking, &answer);
		if (answer.bytes && record_read_file(fds[0], answer.bytes, &text, &err) < 0) {
			answer.status = 500;
			answer.error = err;
		}
		if (answer.number == LINK_OFFER) {
			*ret = (struct asking_offer){ answer.offer, text, answer.bytes };
			text = NULL;
		}
		if (question && question->x)
			pass(question, &answer, text, &fds[answer.bytes ? 1 : 0]);
		if (!answer.more)
			free(question);
		free(text);
		for (size_t i = 0; i < LINK_FDS; i++)
			fd_done(&fds[i]);
		if (ret->text)
			return true;
	}
}
