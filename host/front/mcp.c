/*
 * mcp: the Model Context Protocol over HTTP, at /mcp. A client POSTs one message, or a batch, and gets one answer.
 *
 * Each session is a sandbox of the tenant, and has its id. The launcher passes a message to `warder mcp` (LINK_MCP), which has the tools. Only
 * what HTTP needs is decided here: which message begins a session, which has no answer, and which one cancels another. So nothing about a
 * session is kept here, and a session stays when the front is replaced. The messages of a batch are passed on one after the other, so each of
 * them can be cancelled by itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/front/exchange.h"
#include "runtime/mcp/message.h"

#define SESSION     "Mcp-Session-Id"
#define VERSION     "MCP-Protocol-Version"
#define LIFETIME_MS "3600000" /* of a session, as JSON */
#define DIGITS_MAX  12
#define BEGIN_MAX   65536 /* bytes of initialize, which are kept until the session has begun */

/* A message that is not answered yet. */
struct mcp_post {
	struct mcp_post *next;
	struct exchange *x;
	struct json_value *document;  /* owned: of a batch; or NULL */
	struct mcp_message message;   /* without what would point into a document that is gone */
	char cancels[MCP_ID_MAX + 1]; /* the id of the request that it cancels; or "" */
	bool begins;                  /* a session */
	enum mcp_version version;
	char sandbox[LINK_SANDBOX_MAX]; /* of a session that it begins */
	unsigned int status;            /* of the error, if the session does not begin after all */
	struct warder_error error;
	/* Of a batch: */
	bool is_batch;
	bool asked;                  /* the launcher, about the message `at` */
	const struct json_value *at; /* the element that `message` is read from; NULL: all are served */
	unsigned int index;          /* of that element */
	uint32_t cancelled;          /* a bit for each element */
	struct json_writer answers;
	unsigned int answer_count;
};

static void post_free(struct exchange *x)
{
	struct mcp_post *post = x->data;

	for (struct mcp_post **at = &x->front->mcp_posts; *at; at = &(*at)->next)
		if (*at == post) {
			*at = post->next;
			break;
		}
	json_free(post->document);
	json_writer_done(&post->answers);
	free(post);
	x->data = NULL;
	x->gone = NULL;
}

/* It is needed no longer. */
static void drop_document(struct mcp_post *post)
{
	json_free(post->document);
	post->document = NULL;
	post->at = NULL; /* a cancellation may come before the answer has been sent */
	exchange_keep(post->x, NULL, 0);
}

/* ---- answers ---- */

static void given_up(struct exchange *x, const struct link_answer *answer, const char *text, int *fd)
{
	const struct mcp_post *post = x->data;

	exchange_error(x, post->status, &post->error);
}

static void answered(struct exchange *x, const struct link_answer *answer, const char *text, int *fd)
{
	struct mcp_post *post = x->data;

	if (answer->status >= 400 && post->begins) { /* nobody knows the new sandbox */
		post->status = answer->status;
		post->error = answer->error;
		exchange_ask_any(x, LINK_REMOVE, 0, NULL, given_up);
		return;
	}
	if (answer->status >= 400) {
		exchange_error(x, answer->status, &answer->error);
		return;
	}
	if (post->begins)
		exchange_set(x, SESSION, post->sandbox);
	if (answer->status == 200 && text)
		exchange_json(x, 200, strdup(text));
	else /* nothing but notifications */
		exchange_empty(x, 202);
}

/* The message on one line: outside of texts, JSON has a blank in the place of a line break, and inside it has none. */
static void pass_on(struct exchange *x)
{
	struct mcp_post *post = x->data;
	char *line = exchange_take_body(x);

	drop_document(post);
	for (char *at = line; at && *at; at++)
		if (*at == '\n' || *at == '\r')
			*at = ' ';
	exchange_ask_any(x, LINK_MCP, post->begins ? MCP_VERSIONS : post->version, line, answered);
}

/* ---- a session begins ---- */

static void created(struct exchange *x, const struct link_answer *answer, const char *text, int *fd)
{
	struct mcp_post *post = x->data;
	struct json_value *sandbox = NULL;
	struct warder_error err = { 0 };

	if (json_parse(text ? text : "", text ? strlen(text) : 0, "sandbox", NULL, &sandbox, &err) < 0) {
		exchange_error(x, 500, &err);
		return;
	}
	snprintf(post->sandbox, sizeof(post->sandbox), "%s", json_member_text(sandbox, "id", ""));
	json_free(sandbox);
	x->sandbox = post->sandbox;
	pass_on(x);
}

static void create(struct exchange *x)
{
	const char *template = exchange_query(x, "template"), *lifetime = exchange_query(x, "timeoutMs");
	struct json_writer w = { 0 };

	if (lifetime &&
	    (!*lifetime || strlen(lifetime) > DIGITS_MAX || lifetime[strspn(lifetime, "0123456789")])) {
		exchange_fail(x, 400, "timeoutMs must be a whole number of milliseconds, at most 24 hours");
		return;
	}
	json_begin_object(&w);
	if (template)
		json_key_string(&w, "template", template);
	json_key_uint(&w, "timeoutMs", strtoull(lifetime ? lifetime : LIFETIME_MS, NULL, 10));
	json_key(&w, "metadata");
	json_begin_object(&w);
	json_key_string(&w, "protocol", "mcp");
	json_end_object(&w);
	json_end_object(&w);
	exchange_ask(x, LINK_CREATE, LINK_CREATE_CLAIMED, json_take(&w), created);
}

/* ---- messages without an answer ---- */

static void serve_batch(struct mcp_post *post);

static void next_in_batch(struct mcp_post *post)
{
	post->at = post->at->next;
	post->index++;
}

/* False: no request of the batch has this id, or it is answered. */
static bool cancel_in_batch(struct mcp_post *post, const char *id)
{
	unsigned int index = post->index;

	for (const struct json_value *each = post->at; each; each = each->next, index++) {
		struct mcp_message message;

		mcp_message_read(each, &message);
		if (message.kind != MCP_REQUEST || strcmp(message.id, id) != 0)
			continue;
		if (each != post->at || !post->asked) {
			post->cancelled |= UINT32_C(1) << index;
		} else if (asking_forget(post->x->front, post->x)) {
			post->asked = false;
			next_in_batch(post);
			serve_batch(post);
		}
		return true;
	}
	return false;
}

/* The client waits no longer for the answer of a call. The call has none then, but its request of HTTP has, and its end ends the program. */
static void cancel(const struct front *front, const char *sandbox, const char *id)
{
	for (struct mcp_post *post = front->mcp_posts; post; post = post->next) {
		if (strcmp(post->x->sandbox, sandbox) != 0)
			continue;
		if (post->is_batch) {
			if (cancel_in_batch(post, id))
				return;
		} else if (post->message.kind == MCP_REQUEST && strcmp(post->message.id, id) == 0) {
			exchange_empty(post->x, 202);
			return;
		}
	}
}

/* Whether it cancels a request: ret (of MCP_ID_MAX + 1 bytes) is its id, else "". */
static bool read_cancelled(const struct mcp_message *message, char *ret)
{
	const bool found = message->kind == MCP_NOTIFICATION &&
			   strcmp(message->method, "notifications/cancelled") == 0 &&
			   mcp_id_read(json_member(message->params, "requestId"), ret);

	if (!found)
		*ret = '\0';
	return found;
}

/* The key opens the sandbox of the session. */
static void noted(struct exchange *x, const struct link_answer *answer, const char *text, int *fd)
{
	const struct mcp_post *post = x->data;

	if (*post->cancels)
		cancel(x->front, x->sandbox, post->cancels);
	exchange_empty(x, 202);
}

static void note(struct exchange *x)
{
	free(exchange_take_body(x));
	exchange_ask(x, LINK_SHOW, 0, NULL, noted);
}

/* ---- a batch ---- */

/* An error before the first answer is that of the batch. Later it is that of its message: what the others did has to be told. */
static void answered_in_batch(struct exchange *x, const struct link_answer *answer, const char *text, int *fd)
{
	struct mcp_post *post = x->data;

	post->asked = false;
	if (answer->status >= 400 && post->answer_count == 0) {
		exchange_error(x, answer->status, &answer->error);
		return;
	}
	if (answer->status >= 400)
		mcp_write_error(&post->answers, post->message.id, MCP_INTERNAL_ERROR, answer->error.text);
	else if (answer->status == 200 && text)
		json_number(&post->answers, text);
	post->answer_count++;
	exchange_waits(x, post->answers.len, true);
	next_in_batch(post);
	serve_batch(post);
}

static void end_batch(struct mcp_post *post)
{
	drop_document(post);
	json_end_array(&post->answers);
	if (post->answer_count)
		exchange_json(post->x, 200, json_take(&post->answers));
	else /* nothing but notifications and cancelled requests */
		exchange_empty(post->x, 202);
}

/* Until a message has to be passed on. */
static void serve_batch(struct mcp_post *post)
{
	const struct mcp_message *message = &post->message;

	for (; post->at; next_in_batch(post)) {
		struct json_writer w = { 0 };
		char id[MCP_ID_MAX + 1];

		mcp_message_read(post->at, &post->message);
		if (message->kind == MCP_REQUEST && !(post->cancelled & UINT32_C(1) << post->index)) {
			json_copy(&w, post->at);
			post->asked = true;
			exchange_ask_any(post->x, LINK_MCP, post->version, json_take(&w), answered_in_batch);
			return;
		}
		if (message->kind == MCP_INVALID) {
			mcp_write_error(&post->answers, message->id, message->code, message->fault);
			post->answer_count++;
		}
		if (read_cancelled(message, id))
			cancel(post->x->front, post->x->sandbox, id);
	}
	end_batch(post);
}

/* A document that is refused is freed at once, not when the answer has been sent. */
static bool keep_document(struct mcp_post *post)
{
	if (exchange_keep(post->x, post->document, 0))
		return true;
	drop_document(post);
	return false;
}

/* The key opens the sandbox of the session. */
static void begin_batch(struct exchange *x, const struct link_answer *answer, const char *text, int *fd)
{
	struct mcp_post *post = x->data;

	if (!keep_document(post)) /* now the tenant is known */
		return;
	json_begin_array(&post->answers);
	serve_batch(post);
}

/* Its calls may take long. The document says all that the body does. */
static void check_batch(struct mcp_post *post)
{
	free(exchange_take_body(post->x));
	if (!keep_document(post))
		return;
	post->at = post->document->child;
	exchange_ask(post->x, LINK_SHOW, 0, NULL, begin_batch);
}

/* Whether the batch can be served; if not, `warder mcp` says why. */
static bool is_served_batch(const struct mcp_post *post)
{
	const size_t count = post->is_batch ? json_length(post->document) : 0;

	return post->version == MCP_2025_03_26 && count && count <= MCP_BATCH_MAX;
}

/* ---- requests of HTTP ---- */

/* A client of the older version does not always say which one it speaks. */
static bool find_version(struct exchange *x, enum mcp_version *ret)
{
	const char *name = exchange_header(x, VERSION);

	*ret = name ? mcp_version_choose(name) : MCP_2025_03_26;
	if (!name || strcmp(mcp_version_name(*ret), name) == 0)
		return true;
	exchange_fail(x, 400, VERSION " must be 2025-06-18 or 2025-03-26");
	return false;
}

static bool find_session(struct exchange *x)
{
	const char *session = exchange_header(x, SESSION);

	x->sandbox = session ? session : "";
	if (*x->sandbox)
		return true;
	exchange_fail(x, 400,
		      SESSION " is missing; send initialize first, and then the id that its answer has");
	return false;
}

static void refuse_message(struct exchange *x, const char *fault)
{
	struct json_writer w = { 0 };

	mcp_write_error(&w, "null", MCP_PARSE_ERROR, fault);
	exchange_json(x, 400, json_take(&w));
}

/* The document is taken: many messages may wait for an answer at a time. */
static void read_single(struct mcp_post *post, struct json_value *document)
{
	struct mcp_message *message = &post->message;

	mcp_message_read(document, message);
	post->begins = message->kind == MCP_REQUEST && strcmp(message->method, "initialize") == 0;
	read_cancelled(message, post->cancels);
	message->method = NULL;
	message->params = NULL;
	json_free(document);
}

static void take_message(struct exchange *x)
{
	struct json_value *document = NULL;
	struct warder_error err = { 0 };
	struct mcp_post *post;

	if (mcp_parse(x->body ? x->body : "", x->body_len, &document, &err) < 0) {
		refuse_message(x, err.text);
		return;
	}
	post = calloc(1, sizeof(*post));
	if (!post) {
		json_free(document);
		exchange_fail(x, 503, "no memory is left; try again");
		return;
	}
	*post = (struct mcp_post){ .next = x->front->mcp_posts, .x = x };
	post->is_batch = document->type == JSON_ARRAY;
	post->message.kind = MCP_INVALID;
	if (post->is_batch)
		post->document = document;
	else
		read_single(post, document);
	x->front->mcp_posts = post;
	x->data = post;
	x->gone = post_free;
}

static void take_post(struct exchange *x)
{
	struct mcp_post *post;

	take_message(x);
	post = x->data;
	if (!post)
		return;
	if (!find_version(x, &post->version) || (!post->begins && !find_session(x)))
		drop_document(post);
	else if (post->begins && x->body_len > BEGIN_MAX)
		exchange_fail(x, 413, "initialize has more than 65536 bytes");
	else if ((x->keeps_body = post->begins))
		create(x);
	else if (post->message.kind == MCP_NOTIFICATION || post->message.kind == MCP_RESPONSE)
		note(x);
	else if (is_served_batch(post))
		check_batch(post);
	else
		pass_on(x);
}

static void ended(struct exchange *x, const struct link_answer *answer, const char *text, int *fd)
{
	exchange_empty(x, 204);
}

static void take_delete(struct exchange *x)
{
	enum mcp_version version;

	if (find_version(x, &version) && find_session(x))
		exchange_ask(x, LINK_REMOVE, 0, NULL, ended);
}

/* A server without messages of its own refuses GET with 405, as every path does that has no such row. */
const struct route routes_mcp[] = {
	{ "POST", "/mcp", "sandboxes", ROUTE_OWN, take_post,
	  "a message of the Model Context Protocol; initialize begins a session, which is a sandbox",
	  "template timeoutMs", NULL },
	{ "DELETE", "/mcp", "sandboxes", ROUTE_OWN, take_delete, "end a session, and its sandbox", NULL,
	  NULL },
	{ 0 },
};
