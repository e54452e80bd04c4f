/*
 * execution_name: the parts go into paths, so each is checked.
 */
#include "runtime/cli/execution_name.h"

#include <stdio.h>
#include <string.h>

#include "base/sha256.h"
#include "runtime/cli/term.h"

bool execution_name_is(const char *word)
{
	return strchr(word, ':') != NULL;
}

static void mark_of(const struct elsewhere *session, char ret[EXECUTION_NAME_MARK + 1])
{
	struct sha256 sha;
	char hex[SHA256_HEX];

	sha256_init(&sha);
	sha256_add(&sha, session->sandbox, strlen(session->sandbox));
	sha256_hex(&sha, hex);
	snprintf(ret, EXECUTION_NAME_MARK + 1, "%.*s", EXECUTION_NAME_MARK, hex);
}

void execution_name_write(const struct elsewhere *session, const char *id, char ret[EXECUTION_NAME_SIZE])
{
	char mark[EXECUTION_NAME_MARK + 1];

	mark_of(session, mark);
	snprintf(ret, EXECUTION_NAME_SIZE, "%s:%.*s.%s", session->name, ELSEWHERE_SANDBOX_MAX, id, mark);
}

void execution_name_warn(const struct elsewhere *session, const char *name)
{
	term_complain(
	    "%s did not extend the life of the sandbox for the time of %s: the program may be ended with "
	    "the sandbox after the idle time; a later command in the session renews that",
	    session->backend, name);
}

int execution_name_take(const char *word, struct execution_name *ret, struct warder_error *err)
{
	const char *colon = strchr(word, ':');
	const char *dot = colon ? strrchr(colon, '.') : NULL;
	const size_t len = colon ? (size_t)(colon - word) : 0, id_len = dot ? (size_t)(dot - colon) - 1 : 0;
	bool good = len && len < sizeof(ret->session) && id_len && id_len < sizeof(ret->id) &&
		    strlen(dot + 1) == EXECUTION_NAME_MARK && elsewhere_is_id(dot + 1);

	if (good) {
		snprintf(ret->session, sizeof(ret->session), "%.*s", (int)len, word);
		snprintf(ret->id, sizeof(ret->id), "%.*s", (int)id_len, colon + 1);
		snprintf(ret->mark, sizeof(ret->mark), "%s", dot + 1);
		snprintf(ret->text, sizeof(ret->text), "%s:%s.%s", ret->session, ret->id, ret->mark);
		good = elsewhere_is_id(ret->id);
	}
	return good ? 0
		    : error_set(err, WARDER_ERROR_INVALID_REQUEST, "id",
				"%.80s is not the id of an execution on another machine: write SESSION:ID, "
				"which \"warder ps SESSION\" prints",
				word);
}

int execution_name_check(const struct execution_name *name, const struct elsewhere *session,
			 struct warder_error *err)
{
	char mark[EXECUTION_NAME_MARK + 1];

	mark_of(session, mark);
	return strcmp(mark, name->mark) == 0
		   ? 0
		   : error_set(err, WARDER_ERROR_NOT_FOUND, "id",
			       "%s was in another sandbox than the one that session %s has now; \"warder ps "
			       "%s\" lists what runs in this one",
			       name->text, name->session, name->session);
}
