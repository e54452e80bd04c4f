/*
 * context: a call about the contexts of a sandbox, as Warder's own API and E2B's interpreter share it: it finds the context, makes it where it may,
 * and asks the keeper. Each of the two APIs has its own words for the answers. Private to host/front/.
 *
 * Life: context_new() -> set what the call needs, and context_set_name() or a neighbour -> visit_open() -> callbacks of the form.
 */
#ifndef WARDER_HOST_FRONT_CONTEXT_H
#define WARDER_HOST_FRONT_CONTEXT_H

#include "host/front/envd.h"

#define CONTEXT_LANGUAGE "python" /* without another one */

enum context_call { CALL_LIST, CALL_CREATE, CALL_DELETE, CALL_RESTART, CALL_INTERRUPT, CALL_PIECE };

struct context_form;

/* A handler's struct begins with it. */
struct context_visit {
	struct visit visit;
	const struct context_form *form;
	enum context_call call;
	char name[SESSION_NAME_MAX + 1]; /* of the context */
	const char *language;
	bool may_create;                 /* the context is made if it is not there */
	const char *code;                /* of a piece */
	uint64_t timeout_us;             /* of a piece; 0: as the policy grants */
	char key[RECORD_KEY_LENGTH + 1]; /* of a piece, which then goes on without its client; or "" */
	char id[REMOTE_ID_LENGTH + 1];   /* that a context which is created is to have; or "" */
	bool asked, runs;                /* the piece was sent; it runs, so far as can be seen */
};

/* What an API does with what the keeper says. DELETE, RESTART and INTERRUPT are answered with 204. */
struct context_form {
	void (*listed)(struct context_visit *context, const struct json_value *rows);
	/* again: the same request has created it before. */
	void (*created)(struct context_visit *context, bool again);
	void (*begun)(struct context_visit *context); /* the keeper has taken the piece */
	void (*bytes)(struct context_visit *context, int stream, uint64_t offset, const char *bytes,
		      size_t len);
	void (*gap)(struct context_visit *context, int stream, uint64_t from, uint64_t to);
	/* What the piece shows; of len bytes as JSON. */
	void (*shown)(struct context_visit *context, const struct json_value *bundle, size_t len);
	void (*ended)(struct context_visit *context, const struct record_done *end, const char *text);
	void (*freed)(struct context_visit *context); /* free what the handler has */
};

/* size: of the handler's struct. NULL: the client was answered. */
struct context_visit *context_new(struct exchange *x, size_t size, enum context_call call,
				  const struct context_form *form);
/* -1 with *err (INVALID_REQUEST of the field "context"): no context can have the name. */
int context_set_name(struct context_visit *context, const char *name, struct warder_error *err);
/* Each names the context, or answers the client: a drawn name; "default-LANGUAGE", which is made if it is not there. */
bool context_draw_name(struct context_visit *context);
bool context_name_default(struct context_visit *context);
/* Remember that the request has this idempotency key. */
void context_set_key(struct context_visit *context, const char *key);
/* Answer with an error. */
void context_fail(struct context_visit *context, const struct warder_error *err);
/* Whether a row of the keeper's list is a context that lives. */
bool context_is_there(const struct json_value *row);

#endif
