/*
 * session_remote: sessions that are sandboxes of hosts on other machines. Private to cli/.
 */
#ifndef WARDER_RUNTIME_CLI_SESSION_REMOTE_H
#define WARDER_RUNTIME_CLI_SESSION_REMOTE_H

#include "runtime/cli/flags.h"
#include "runtime/cli/remote_place.h"

/* Whether `warder session WORD NAME` is about a session on another machine. `words` begins with the name; of cp, it may also come last. */
bool session_remote_is(const char *word, char *const *words);
/* Do the word, which is outer->rest[0], for such a session, or refuse it. Returns the exit status. */
int session_remote_word(struct args *outer, const char *name, char **flags);

/* Whether the parsed arguments of a start name a host on another machine. */
bool session_remote_is_meant(const struct args *args);
/* Refuse the flags of a start that need this machine. -1 with *err, which names the flag. */
int session_remote_check_start(const struct args *args, struct warder_error *err);
/* --on-recreate goes with --recreate. -1 with *err. */
int session_remote_check_recreate(const struct args *args, struct warder_error *err);
/* Start the session, or find the same one. *ret_json: its description, heap. -1 with *err. */
int session_remote_start(const struct args *args, const char *name, char **ret_json,
			 struct warder_error *err);

/* After a request about the session that failed with *err. If the host does not know its sandbox, and --recreate was given, run the command of
 * --on-recreate with the id of the old sandbox, and make a new one with the same policy. If another command is doing that, wait for it, up to five
 * minutes. 0: the new sandbox is in *place, and the request may be sent again, once. -1 with *err: that of the request, or why there is no new
 * sandbox (CONFLICT: the session has another backend or policy by now). */
int session_remote_recover(const struct args *args, struct remote_place *place, struct warder_error *err);

/* What the file says, and what the host says of it (or NULL). NULL without memory. */
char *session_remote_describe(const struct elsewhere *session, const char *text, size_t len);
/* `text`, the JSON array of the sessions of this machine, with those of others behind it; takes it, NULL included. NULL with *err. */
char *session_remote_list(char *text, struct warder_error *err);
/* The stop of several sessions: one that cannot be ended does not keep the others. */
struct stop_all {
	struct warder_error *first; /* the first failure, if there is one */
	bool failed;
};
/* Note how the stop of one of them went; `err` is read if status is not 0. Returns 0. */
int stop_all_note(struct stop_all *all, int status, const struct warder_error *err);
/* Stop each session on another machine: the host ends the sandbox, and the name is free. */
void session_remote_stop_all(struct stop_all *all);

#endif
