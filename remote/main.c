/*
 * warder-remote: one request to an execution host, for `warder`.
 *
 * A program of its own, because libcurl and what it loads have no place in a process that launches jails. It is started without
 * arguments and without environment: libcurl would find proxies and keys there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "remote/calls.h"
#include "remote/exchange.h"
#include "remote/follow_host.h"
#include "remote/terminal.h"
#include "remote/token.h"
#include "remote/verify.h"

/* The order in one piece, NUL-terminated. NULL: it is no order. */
static char *read_order(size_t *ret_len)
{
	struct stat file;
	char *text;

	if (fstat(STDIN_FILENO, &file) < 0 || !S_ISREG(file.st_mode) || file.st_size > REMOTE_ORDER_MAX)
		return NULL;
	text = malloc((size_t)file.st_size + 1);
	if (!text || pread(STDIN_FILENO, text, (size_t)file.st_size, 0) != file.st_size) {
		free(text);
		return NULL;
	}
	text[file.st_size] = '\0';
	*ret_len = (size_t)file.st_size;
	return text;
}

static void fail(struct remote_answer *ret, const struct warder_error *err)
{
	*ret = (struct remote_answer){ .magic = REMOTE_MAGIC, .size = sizeof(*ret), .error = *err };
}

/* An answer without the host's signature is no answer. */
static void check_signature(const struct json_value *document, const struct exchange_order *order,
			    struct remote_answer *ret, char **ret_body)
{
	const char *nonce = json_member_text(document, "nonce", NULL);
	const struct verify_claim claim = {
		.call = json_member_text(document, "signs", ""),
		.request = nonce ? nonce : order->body,
		.request_len = nonce ? strlen(nonce) : order->body_len,
		.key = json_member_text(document, "hostKey", NULL),
	};

	if (verify_answer(&claim, *ret_body, ret->bytes, &ret->error) == 0)
		return;
	ret->status = 0;
	ret->bytes = 0;
	free(*ret_body);
	*ret_body = NULL;
}

/* Its answer; or, if ret is NULL, what follows goes to standard output. */
static void ask_service(const struct json_value *document, const struct exchange_order *order,
			struct remote_answer *ret, char **ret_body)
{
	struct service service = {
		.url = order->url,
		.sandbox_url = json_member_text(document, "sandboxUrl", NULL),
		.template = json_member_text(document, "template", ""),
		.ca_file = order->ca_file,
		.token = order->token,
		.insecure = json_member_true(document, "insecure"),
	};

	if (ret)
		calls_perform(&service, order, ret, ret_body);
	else
		calls_follow(&service, order, STDOUT_FILENO);
}

/* From the file, or from the order if it came from the environment. */
static int take_token(const struct json_value *document, char ret[REMOTE_TOKEN_MAX], struct warder_error *err)
{
	const char *text = json_member_text(document, "token", NULL);

	return text ? token_take(text, ret, err)
		    : token_read(json_member_text(document, "tokenFile", ""), ret, err);
}

/* False: the answer has been written already. */
static bool carry_out(const char *text, size_t len, struct remote_answer *ret, char **ret_body)
{
	const size_t head = strlen(text);
	struct json_value *document = NULL;
	const struct json_value *timeout, *most;
	char token[REMOTE_TOKEN_MAX];
	struct warder_error err = { 0 };
	struct exchange_order order;
	bool has_body, relayed;

	if (json_parse(text, head, "order", NULL, &document, &err) < 0) {
		fail(ret, &err);
		return true;
	}
	timeout = json_member(document, "timeoutMs");
	most = json_member(document, "mostBytes");
	has_body = json_member_text(document, "method", "GET")[0] == 'P';
	order = (struct exchange_order){
		.url = json_member_text(document, "url", ""),
		.method = json_member_text(document, "method", "GET"),
		.path = json_member_text(document, "path", ""),
		.accept = json_member_text(document, "accept", NULL),
		.token = token,
		.ca_file = json_member_text(document, "caFile", NULL),
		.body = has_body && head < len ? text + head + 1 : NULL,
		.body_len = has_body && head < len ? len - head - 1 : 0,
		.most = most && most->is_uint && most->uint <= REMOTE_RESULT_MAX ? (size_t)most->uint
										 : REMOTE_JSON_MAX,
		.timeout_ms = timeout && timeout->is_uint ? timeout->uint : 0,
	};
	relayed = json_member(document, "terminal") != NULL;
	if (take_token(document, token, &err) < 0) {
		fail(ret, &err);
		relayed = false;
	} else if (json_member(document, "template"))
		ask_service(document, &order, relayed ? NULL : ret, ret_body);
	else if (relayed && json_member(document, "follow"))
		follow_host_run(&order, STDOUT_FILENO);
	else if (relayed)
		terminal_run(&order, STDOUT_FILENO);
	else
		exchange_perform(&order, ret, ret_body);
	if (!relayed && ret->status == 200 && json_member_text(document, "signs", NULL))
		check_signature(document, &order, ret, ret_body);
	explicit_bzero(token, sizeof(token));
	json_free(document);
	return !relayed;
}

int main(int argc, char **argv)
{
	struct remote_answer answer = { 0 };
	char *order, *body = NULL;
	size_t len = 0;

	/* The token is in our memory. */
	prctl(PR_SET_DUMPABLE, 0);
	order = read_order(&len);
	if (!order) {
		fputs("warder-remote: \"warder run --backend remote:NAME\" starts this program\n", stderr);
		return 125;
	}
	curl_global_init(CURL_GLOBAL_DEFAULT);
	if (!carry_out(order, len, &answer, &body)) {
		free(order);
		return 0;
	}
	free(order);
	if (file_write_all(STDOUT_FILENO, (const char *)&answer, sizeof(answer)) < 0 ||
	    (answer.bytes && file_write_all(STDOUT_FILENO, body, answer.bytes) < 0))
		return 125;
	free(body);
	return 0;
}
