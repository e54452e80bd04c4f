/*
 * remote_place: the host is found anew for each command, in the operator's document as it is then.
 *
 * Before each command, the host signs a new nonce with the key that is trusted. Of its answers about the sandbox, the results of executions are
 * signed.
 */
#include "runtime/cli/remote_place.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/term.h"
#include "runtime/library/preparation.h"

#define POLL_MS  30000
#define BUSY_MS  120000 /* in which a host that is busy is asked again */
#define AGAIN_MS 1000   /* between two of these requests */
#define TELL_AT  3      /* the user hears of it, when this many of them have failed */

_Static_assert(ELSEWHERE_BACKEND == BACKEND_REMOTE_LABEL, "the same text");

int remote_place_ask(const struct remote_place *place, const char *rest, struct remote_asking *how,
		     char **ret_text, size_t *ret_len, struct warder_error *err)
{
	char path[REMOTE_PATH_SIZE];
	const struct backend_remote_request request = {
		.path = path,
		.method = how->method,
		.body = how->body,
		.body_len = how->body_len,
		.timeout_ms = how->timeout_ms ? how->timeout_ms : REMOTE_QUESTION_MS,
		.large = how->large,
		.accept = how->accept,
		.signs = how->signs,
		.nonce = how->nonce,
		.should_stop = how->unstoppable ? NULL
			       : how->keeping   ? remote_place_keep_on
						: ending_came,
		.context = how->keeping,
	};
	struct remote_answer answer;
	char *text = NULL;
	int status;

	snprintf(path, sizeof(path), "/v1/sandboxes/%s%s", place->session.sandbox, rest);
	status = backend_remote_ask(&place->host, &request, &answer, &text, err);
	how->sent = answer.sent || answer.status == 200;
	how->status = answer.status;
	how->undone = remote_answer_did_nothing(&answer);
	if (status == 0 && ret_len)
		*ret_len = answer.bytes;
	if (status == 0 && ret_text)
		*ret_text = text;
	else
		free(text);
	return status;
}

void remote_place_be_patient(struct remote_place *place)
{
	place->busy_until_ms = clock_us() / 1000 + BUSY_MS;
}

bool remote_place_waits(const struct remote_place *place, unsigned int *times, struct warder_error *err)
{
	if (err->sys_errno != EBUSY || clock_us() / 1000 >= place->busy_until_ms || ending_signal())
		return false;
	if (++*times == TELL_AT)
		term_complain("the host is busy (%s); Warder tries again", term_clean(err->text));
	poll(NULL, 0, AGAIN_MS);
	if (ending_signal())
		return false;
	*err = (struct warder_error){ 0 };
	return true;
}

int remote_place_ask_patiently(const struct remote_place *place, const char *rest, struct remote_asking *how,
			       char **ret_text, size_t *ret_len, struct warder_error *err)
{
	uint64_t began_ms = clock_us() / 1000;
	unsigned int times = 0;
	uint64_t *renewed_ms = how->keeping ? &how->keeping->renewed_ms : &began_ms;

	while (remote_place_ask(place, rest, how, ret_text, ret_len, err) < 0) {
		if ((how->once && !how->undone) || !remote_place_waits(place, &times, err))
			return -1;
		how->unsure |= how->status != 429;
		remote_place_keep(place, renewed_ms);
	}
	return 0;
}

int remote_place_take_id(const char *text, size_t len, const char *label, char *ret, size_t size,
			 struct warder_error *err)
{
	struct json_value *document = NULL;
	const char *id = "";

	if (json_parse(text, len, label, NULL, &document, err) == 0)
		id = json_member_text(document, "id", "");
	if (!elsewhere_is_id(id) || strlen(id) >= size)
		error_set(err, WARDER_ERROR_UNAVAILABLE, "backend", "%s: the answer has no valid \"id\"",
			  label);
	else
		snprintf(ret, size, "%s", id);
	json_free(document);
	return *ret ? 0 : -1;
}

bool remote_place_is_lost(const struct warder_error *err)
{
	return err->sys_errno == ETIMEDOUT || err->sys_errno == ECONNREFUSED || err->sys_errno == ECONNRESET;
}

bool remote_place_is_gone(const struct warder_error *err)
{
	return err->code == WARDER_ERROR_NOT_FOUND && strcmp(err->field, "id") == 0;
}

int remote_place_say_gone(const struct elsewhere *session, struct warder_error *err)
{
	return error_set(
	    err, WARDER_ERROR_NOT_FOUND, "name",
	    "session %.64s does not run any more: %s does not know it; \"warder session stop %.64s\" "
	    "removes it here, and then it can be started again",
	    session->name, session->backend, session->name);
}

static uint64_t lease_ms_of(const struct elsewhere *session, uint64_t more_ms)
{
	const uint64_t now_ms = clock_wall_ms();
	const uint64_t left = session->ends_ms > now_ms ? session->ends_ms - now_ms : 0;
	const uint64_t runs = session->runs_until_ms > now_ms ? session->runs_until_ms - now_ms : 0;

	if (more_ms < runs)
		more_ms = runs;
	return left < session->lease_ms + more_ms ? left : session->lease_ms + more_ms;
}

uint64_t remote_place_lease_ms(const struct elsewhere *session)
{
	return lease_ms_of(session, 0);
}

/* The session as its file is now, if it has the same sandbox: another command may have left a program in it meanwhile. */
static struct elsewhere session_now(const struct remote_place *place)
{
	struct warder_error ignored;
	struct elsewhere now;

	return elsewhere_read(place->session.name, &now, &ignored) == 0 &&
		       strcmp(now.sandbox, place->session.sandbox) == 0
		   ? now
		   : place->session;
}

/* Returns the status of the answer; 0: there is none. */
static unsigned int renew(const struct remote_place *place, uint64_t more_ms)
{
	const struct elsewhere session = session_now(place);
	struct warder_error ignored;
	char body[64];
	/* After a signal, the lease is still renewed. */
	struct remote_asking how = { .body = body, .unstoppable = ending_signal() != 0 };
	const uint64_t lease_ms = lease_ms_of(&session, more_ms);

	if (!lease_ms)
		return 0;
	snprintf(body, sizeof(body), "{\"timeoutMs\": %llu}", (unsigned long long)lease_ms);
	remote_place_ask(place, "/timeout", &how, NULL, NULL, &ignored);
	return how.status;
}

bool remote_place_renew(const struct remote_place *place)
{
	return renew(place, 0) != 0;
}

bool remote_place_renew_for(const struct remote_place *place, uint64_t more_ms)
{
	const unsigned int status = renew(place, more_ms);

	return status >= 200 && status <= 299;
}

uint64_t remote_place_poll_ms(const struct remote_place *place)
{
	const uint64_t third = place->session.lease_ms / 3 + 1;

	return third < POLL_MS ? third : POLL_MS;
}

void remote_place_keep(const struct remote_place *place, uint64_t *renewed_ms)
{
	const uint64_t now_ms = clock_us() / 1000;

	if (now_ms - *renewed_ms < remote_place_poll_ms(place))
		return;
	*renewed_ms = now_ms;
	remote_place_renew(place);
}

void remote_place_start_keeping(const struct remote_place *place, uint64_t time_ms,
				struct remote_keeping *ret)
{
	const uint64_t now_ms = clock_us() / 1000;

	*ret = (struct remote_keeping){ .place = place, .until_ms = now_ms + time_ms, .renewed_ms = now_ms };
	ret->kept = remote_place_renew_for(place, time_ms);
}

int remote_place_keep_on(void *context)
{
	struct remote_keeping *keeping = context;
	const uint64_t now_ms = clock_us() / 1000;

	if (!ending_signal() && now_ms - keeping->renewed_ms >= remote_place_poll_ms(keeping->place)) {
		keeping->renewed_ms = now_ms;
		keeping->kept = remote_place_renew_for(
		    keeping->place, keeping->until_ms > now_ms ? keeping->until_ms - now_ms : 0);
	}
	return ending_came(NULL);
}

int remote_place_check_hope(const struct remote_place *place, uint64_t heard_ms, struct warder_error *err)
{
	if (!remote_place_lease_ms(&place->session))
		return error_context(err, "the lifetime of session %.64s is over", place->session.name);
	if (clock_us() / 1000 - heard_ms > place->session.lease_ms)
		return error_context(err, "the host did not answer for the whole idle time of session %.64s",
				     place->session.name);
	return 0;
}

int remote_place_find_entry(struct remote_place *place, struct warder_error *err)
{
	struct backend_settings *settings = calloc(1, sizeof(*settings));
	const char *document = place->session.backends[0] ? place->session.backends : NULL;
	const struct backend_remote *found = NULL;
	int status = -1;

	if (!place->busy_until_ms)
		remote_place_be_patient(place);
	if (!settings)
		error_no_memory(err, NULL);
	else if (preparation_settings(document, settings, err) == 0)
		found = backend_remote_find(settings, place->session.backend, err);
	if (found) {
		place->host = *found;
		status = backend_remote_complete(&place->host, err);
	}
	free(settings);
	return status;
}

int remote_place_find_host(struct remote_place *place, struct warder_error *err)
{
	struct policy_capabilities *capabilities = calloc(1, sizeof(*capabilities));
	uint64_t load;
	int status = capabilities ? remote_place_find_entry(place, err) : error_no_memory(err, NULL);

	if (status == 0)
		status = backend_remote_capabilities(&place->host, capabilities, &load, err);
	free(capabilities);
	return status;
}

int remote_place_policy(const struct elsewhere *session, uint64_t asked_us, struct policy *ret,
			struct warder_error *err)
{
	char *text = elsewhere_read_policy(session->name, err);
	int status = text ? policy_decode(text, strlen(text), session->name, ret, err) : -1;
	char asked[32], most[32];

	free(text);
	if (status < 0 || !asked_us)
		return status;
	if (asked_us > ret->limits.wall_time_us)
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, "limits.wallTime",
		    "--timeout %s is above %s, the limits.wallTime of session %.64s; give at most that",
		    policy_format_time(asked_us, asked, sizeof(asked)),
		    policy_format_time(ret->limits.wall_time_us, most, sizeof(most)), session->name);
	ret->limits.wall_time_us = asked_us;
	return 0;
}

int remote_place_open(const char *name, struct remote_place *ret, struct warder_error *err)
{
	const int found = elsewhere_read(name, &ret->session, err);

	if (found > 0)
		return error_set(err, WARDER_ERROR_NOT_FOUND, "name", "session %.64s does not run", name);
	return found < 0 ? -1 : remote_place_find_host(ret, err);
}
