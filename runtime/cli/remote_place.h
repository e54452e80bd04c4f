/*
 * remote_place: a session on another machine, and the requests about its sandbox. Private to cli/.
 *
 * Life: remote_place_open(), or remote_place_find_host() for a session that was read already -> remote_place_renew(), remote_place_ask(). It owns
 * nothing.
 */
#ifndef WARDER_RUNTIME_CLI_REMOTE_PLACE_H
#define WARDER_RUNTIME_CLI_REMOTE_PLACE_H

#include "backends/remote.h"
#include "runtime/session/elsewhere.h"

#define REMOTE_QUESTION_MS 15000
#define REMOTE_PATH_SIZE   4096 /* of a request */

/* A session, and the host that has it. */
struct remote_place {
	struct elsewhere session;
	struct backend_remote host;
	uint64_t busy_until_ms; /* up to which a busy host is asked again, by clock_us(); 0: not at all */
};

/* Keeps the lease while a request waits for a program. Times in ms, by clock_us(). */
struct remote_keeping {
	const struct remote_place *place;
	uint64_t until_ms;   /* when the program has ended at the latest */
	uint64_t renewed_ms; /* when the lease was renewed last */
	bool kept;           /* the host agreed then */
};

struct remote_asking {
	const char *method;  /* or NULL */
	const char *body;    /* or NULL */
	size_t body_len;     /* of a PUT */
	uint64_t timeout_ms; /* 0: REMOTE_QUESTION_MS */
	const char *signs;   /* the call by its name in the signature that the answer must have, or NULL */
	const char *nonce;   /* what is signed with it */
	const char *accept;  /* the media type that the answer may have, or NULL: any */
	bool large;
	struct remote_keeping *keeping; /* of a request that waits for a program, or NULL */
	bool unstoppable;               /* a signal does not end it */
	bool once;       /* doing it twice does harm: it is repeated if the host has not done it */
	bool sent;       /* after it: the host may have got the request */
	bool undone;     /* after it: remote_answer_did_nothing() */
	bool unsure;     /* after it: a request that was repeated may have been done */
	unsigned status; /* after it: of the answer, perhaps a refusal; 0: there is none */
};

/* About the sandbox: `rest` is what follows its id in the path. *ret_text (or NULL) is heap. -1 with *err. */
int remote_place_ask(const struct remote_place *place, const char *rest, struct remote_asking *how,
		     char **ret_text, size_t *ret_len, struct warder_error *err);
/* The same, again and again while the host is busy, until place->busy_until_ms; the lease is kept. */
int remote_place_ask_patiently(const struct remote_place *place, const char *rest, struct remote_asking *how,
			       char **ret_text, size_t *ret_len, struct warder_error *err);
/* Whether a request with this error is to be made once more because the host is busy: then a second has passed, and *err is empty. *times
 * begins as 0 and counts; after some times, the user hears of it. */
bool remote_place_waits(const struct remote_place *place, unsigned int *times, struct warder_error *err);
/* Ask a busy host again for two minutes from now. The commands begin so when they look for the host. */
void remote_place_be_patient(struct remote_place *place);
/* The id in an answer of `len` bytes, which goes into a path and into a file, and so must be one. -1 with *err. */
int remote_place_take_id(const char *text, size_t len, const char *label, char *ret, size_t size,
			 struct warder_error *err);
/* Whether the error of a request says that no answer came in time, or that the connection was refused or lost: another one may bring an answer. */
bool remote_place_is_lost(const struct warder_error *err);
/* Whether the error of a request says that the host does not know the sandbox. */
bool remote_place_is_gone(const struct warder_error *err);
/* Set *err for that. Returns -1. */
int remote_place_say_gone(const struct elsewhere *session, struct warder_error *err);
/* The time up to which the host is to keep the sandbox, from now; 0: its lifetime is over. */
uint64_t remote_place_lease_ms(const struct elsewhere *session);
/* Let the lease begin anew. Returns whether the host answered. A failure is not reported here: the next request fails too, and reports it. */
bool remote_place_renew(const struct remote_place *place);
/* The same for a request that takes up to `more_ms`, in which the lease is not renewed. Returns whether the host agreed. */
bool remote_place_renew_for(const struct remote_place *place, uint64_t more_ms);
/* The same during a long work, if it is time: *renewed_ms, by clock_us(), is when it was done last. */
void remote_place_keep(const struct remote_place *place, uint64_t *renewed_ms);
/* Renew the lease for a program that takes up to `time_ms` from now. Other commands set it to the idle time alone, so a request that waits for
 * the program renews it again and again: its should_stop is remote_place_keep_on(), and the context of that is *ret. */
void remote_place_start_keeping(const struct remote_place *place, uint64_t time_ms,
				struct remote_keeping *ret);
int remote_place_keep_on(void *context);
/* The longest wait for an answer in one request: it leaves time to renew the lease. */
uint64_t remote_place_poll_ms(const struct remote_place *place);
/* After a request without an answer; heard_ms: when the host last answered anything, by clock_us(). 0; -1: no answer will come any more, and *err,
 * which has the error of the request, says why. */
int remote_place_check_hope(const struct remote_place *place, uint64_t heard_ms, struct warder_error *err);
/* The entry of the host in the operator's document as it is now, complete. Nothing is asked. -1 with *err. */
int remote_place_find_entry(struct remote_place *place, struct warder_error *err);
/* The same, and the host has to have the key, if its kind has one. -1 with *err. */
int remote_place_find_host(struct remote_place *place, struct warder_error *err);
/* The policy of a session, with the time limit `asked_us` of one program or piece of code, unless that is 0. -1 with *err: it is above that of the session. */
int remote_place_policy(const struct elsewhere *session, uint64_t asked_us, struct policy *ret,
			struct warder_error *err);
/* The session of that name, and its host. -1 with *err. */
int remote_place_open(const char *name, struct remote_place *ret, struct warder_error *err);

#endif
