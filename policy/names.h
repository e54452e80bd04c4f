/*
 * names: the words of a policy document, and how a message speaks of them. Private to policy/.
 *
 * Each table of words is indexed by its enum and ends with NULL, so that the decoder, the encoder and the
 * messages read the same rows.
 */
#ifndef WARDER_POLICY_NAMES_H
#define WARDER_POLICY_NAMES_H

#include "policy/policy.h"

extern const char *const policy_network_modes[];
extern const char *const policy_host_lists[]; /* "@pypi", ...; the rows are in hosts.c */
extern const char *const policy_views[];
extern const char *const policy_workspaces[];
extern const char *const policy_environment_modes[];
extern const char *const policy_profiles[];
extern const char *const policy_on_violations[];
extern const char *const policy_on_output_limits[];
extern const char *const policy_growths[];      /* indexed by growth_unlimited */
extern const char *const policy_booleans[];     /* indexed by bool */
extern const char *const policy_enforcements[]; /* indexed by struct policy.preferred */

/* Index of text in a table, -1 if it is none of its words. */
int policy_word(const char *const *words, const char *text);

/* A text that grows within a buffer of the caller's; what does not fit is cut. */
struct policy_text {
	char *buf;
	size_t len, used;
};

void policy_text_add(struct policy_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* *err = INVALID_REQUEST about the field at `path`, text "path: message". Returns -1. */
int policy_refuse(struct warder_error *err, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Give an error that a parser filled without a place the place it belongs to. Returns -1. */
int policy_locate(struct warder_error *err, const char *path);

#endif
