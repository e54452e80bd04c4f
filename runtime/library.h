/*
 * library: what is behind the public handles, for the rest of runtime/. Private to runtime/.
 */
#ifndef WARDER_RUNTIME_LIBRARY_H
#define WARDER_RUNTIME_LIBRARY_H

#include "base/error.h"
#include "jail/jail.h"
#include "policy/policy.h"
#include "runtime/warder.h"

struct warder_policy {
	struct policy policy;
};

/* What every template needs to be told besides its policy. `known` may be shorter than the caller's. */
struct preparation_options;
/* `owner`: goes with the template, and is released with it; NULL: nothing. It is the caller's if this fails. */
void library_own(struct warder_template *tmpl, void (*release)(void *owner), void *owner);
int library_prepare(const struct policy *policy, const struct preparation_options *how, bool single_use,
		    struct warder_template **ret, struct warder_error *err);

/* A launch for which somebody else owns what is borrowed and has something to add to the result. */
struct library_launch {
	struct jail_command command; /* without on_output and context, which are below */
	int (*on_output)(void *context, enum warder_stream stream, const char *bytes, size_t len);
	void *output_context;
	int (*finish)(void *owner, struct warder_result *result,
		      struct warder_error *err); /* or NULL; from warder_wait() */
	void (*release)(void *owner); /* or NULL; once, when the run is gone, also when the launch failed */
	void *owner;
};
int library_launch(struct warder_template *tmpl, const struct library_launch *launch, struct warder_run **ret,
		   struct warder_error *err);
/* What of a spill is the jail's, checked; NULL: nothing. *ret_hold: whether files are to be held. -1 with *err. */
int library_take_spill(const struct warder_spill *spill, struct jail_command *command, bool *ret_hold,
		       struct warder_error *err);
/* Copy a public struct of the caller's size; what it is too short for stays zero. -1 with *err naming it. */
int library_take(void *to, size_t to_size, const void *from, size_t from_size, const char *what,
		 struct warder_error *err);

#endif
