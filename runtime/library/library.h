/*
 * library: what is behind the public handles, for the rest of runtime/. Private to runtime/.
 */
#ifndef WARDER_RUNTIME_LIBRARY_LIBRARY_H
#define WARDER_RUNTIME_LIBRARY_LIBRARY_H

#include "base/error.h"
#include "jail/jail.h"
#include "policy/policy.h"
#include "runtime/library/functions.h"
#include "runtime/warder.h"

struct warder_policy {
	struct policy policy;
};
/* A copy, for warder_policy_free(). NULL with *err. */
struct warder_policy *library_policy(const struct policy *policy, struct warder_error *err);

/* What every template needs to be told besides its policy. `known` may be shorter than the caller's. */
struct preparation_options;
struct result_code;
struct result_value_rules;
/* Of a template of a session's: what goes with it. */
struct library_session {
	void (*release)(void *owner);
	/* The session ended under a run: put into the outcome how. A word for it, constant. */
	const char *(*tell_end)(void *owner, struct jail_outcome *outcome);
	/* A launch has failed: where the reason is that the session has ended, *err becomes that. */
	void (*tell_failure)(void *owner, struct warder_error *err);
};
/* The owner is released with the template; `session` is constant. */
void library_own(struct warder_template *tmpl, const struct library_session *session, void *owner);
int library_prepare(const struct policy *policy, const struct preparation_options *how, bool single_use,
		    struct warder_template **ret, struct warder_error *err);
/* Free what only a launch needs: of a run in a session, once, after its launch from a template of its own. `like`: another run of the session
 * after its library_trim(), with which this one shares what is the same; or NULL. */
void library_trim(struct warder_run *run, const struct warder_run *like);

/* A launch for which somebody else owns what is borrowed and has something to add to the result. */
struct library_launch {
	struct jail_command command; /* without its callbacks and their context, which are below */
	int (*on_output)(void *context, enum warder_stream stream, const char *bytes, size_t len);
	void *output_context;                                      /* of this one and the next two */
	long (*on_input)(void *context, char *bytes, size_t size); /* or NULL */
	void (*on_progress)(void *context, const char *line);      /* or NULL */
	struct library_functions functions; /* of the host, that the program may call */
	int (*finish)(void *owner, struct warder_result *result,
		      struct warder_error *err); /* or NULL; from warder_wait() */
	void (*release)(void *owner); /* or NULL; once, when the run is gone, also when the launch failed */
	void *owner;
	const struct library_parked *parked; /* or NULL: a launch from its beginning */
};
/* What a pool launches with. */
struct library_parked {
	struct jail_run
	    *jail; /* that gets the program, the pool's until the launch has succeeded; NULL: a new one */
	const struct jail_given *given; /* as of struct jail_command */
	const char *work;               /* for a program that has started already: jail_feed(); or NULL */
	size_t work_len;
	/* When the run is gone: the jail, which is to be removed, and a reference to its template, to be freed after that. Of a new jail both
	 * are NULL: it is removed already. */
	void (*give_back)(void *pool_owner, struct jail_run *jail, struct warder_template *tmpl);
	void *pool_owner;
};
/* A launch for another process, which knows the policy only from here. */
struct library_order {
	const struct policy *policy;   /* of the run */
	struct policy_subject subject; /* the same */
	uint64_t code_bytes;           /* for the receipt */
	struct library_launch launch;  /* its command; without on_output and the like */
	int script; /* which word of the command's argv is a source that an interpreter reads; 0: none */
	/* Of code in a session; the rest is NULL, or zero, otherwise: the directory below its /tmp that the run has for its files; how the code hands
	 * over a value, and what is known of the code before its run, both for a result whose client is gone. */
	const char *box;
#define LIBRARY_BOX "warder-code-" /* its name begins so; 16 hexadecimal digits follow */
	const struct policy
	    *asked; /* the policy that is compared with the ceiling; NULL: there is no ceiling */
	const struct result_value_rules *rules;
	const struct result_code *report;
	void *call; /* owned, by whoever made the order */
};
int library_launch(struct warder_template *tmpl, const struct library_launch *launch, struct warder_run **ret,
		   struct warder_error *err);
/* The jail of a run. Borrowed. */
const struct jail_run *library_jail(const struct warder_run *run);
/* As jail_signal(), jail_count() and jail_pause_clock(). */
bool library_signal(const struct warder_run *run, int signal);
void library_count(const struct warder_run *run, struct jail_counters *ret);
void library_pause_clock(const struct warder_run *run, bool paused);
/* jail_input_is_over() */
bool library_input_is_over(const struct warder_run *run);
/* jail_hold_output() */
void library_hold_output(const struct warder_run *run, bool held);
/* jail_copy_output() */
void library_copy_output(const struct warder_run *run,
			 void (*on_copy)(void *context, enum jail_stream stream, const char *bytes,
					 size_t len),
			 void *context);
/* warder_launch(), into a parked jail where one is given. calls_fd > 0: as of struct jail_command; another process answers the calls. */
int library_launch_command(struct warder_template *tmpl, const struct warder_command *command,
			   const struct library_parked *parked, int calls_fd, struct warder_run **ret,
			   struct warder_error *err);
/* For a pool: the jail's template, and one more reference to it. */
struct jail_template *library_jail_template(const struct warder_template *tmpl);
struct warder_template *library_template_hold(struct warder_template *tmpl);
/* What a launch and a call have in common, as the caller gave it. */
struct library_streams {
	char *const *environment;
	const char *input;
	size_t input_len;
	int input_fd; /* 0: none */
	bool on_input;
	int terminal_fd; /* 0: none */
	const int *output_fds;
	bool on_output;
	uint64_t output_max;
};
/* -1 with *err, which names the member: a descriptor that is not open, or not for that, two inputs, an entry that is not NAME=value. */
int library_check_streams(const struct library_streams *streams, struct warder_error *err);
/* What of a spill is the jail's, checked; NULL: nothing. *ret_hold: whether files are to be held. -1 with *err. */
int library_take_spill(const struct warder_spill *spill, struct jail_command *command, bool *ret_hold,
		       struct warder_error *err);
/* Copy a public struct of the caller's size; what it is too short for stays zero. -1 with *err naming it. */
int library_take(void *to, size_t to_size, const void *from, size_t from_size, const char *what,
		 struct warder_error *err);

/* Fill a public struct of the caller's size, whose first member is that size and stays. -1 with *err naming it. */
int library_give(void *to, size_t to_size, const void *from, size_t from_size, const char *what,
		 struct warder_error *err);

#endif
