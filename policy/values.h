/*
 * values: rules about single strings of a policy (paths, destinations) and the growing of its lists.
 * Private to policy/. A `..._fault` function returns NULL for a good value, else what is wrong with it and
 * what to write instead, to stand after the quoted value.
 */
#ifndef WARDER_POLICY_VALUES_H
#define WARDER_POLICY_VALUES_H

#include "policy/policy.h"

#define POLICY_MAX_ROWS  1024 /* in each list */
#define POLICY_MAX_PORTS 64   /* in each row of network.allow */

/* ---- path.c ---- */
/* Absolute and normalised: no "." or "..", no "//", no "/" at the end but of the root itself. */
const char *policy_path_fault(const char *path);
/* As policy_path_fault(), of the path and of its place. */
const char *policy_placed_fault(const char *item);
/* Whether inner is outer or lies below it: "/data" does not hold "/database". An inner path that is not
 * normalised lies nowhere; outer has to be. */
bool policy_path_within(const char *outer, const char *inner);
const char *policy_image_fault(const char *name);
const char *policy_variable_fault(const char *name);
const char *policy_syscall_fault(const char *name);

/* ---- address.c ---- */
const char *policy_host_fault(const char *host);
/* Canonical text; buf of at least 64 bytes. Returns buf. */
char *policy_format_cidr(const struct policy_cidr *cidr, char *buf, size_t len);
/* "pypi.org:443,8443", "10.0.0.0/8", "[fd00::/8]:443". Returns buf, cut to fit. */
char *policy_format_endpoint(const struct policy_endpoint *endpoint, char *buf, size_t len);

/* ---- life.c: these take copies; errors (too many rows, no memory) carry no path ---- */
int policy_strings_add(struct policy_strings *list, const char *item, struct warder_error *err);
void policy_strings_done(struct policy_strings *list);
bool policy_strings_have(const struct policy_strings *list, const char *item);
/* Replace the string at *at by a copy of text (NULL: by nothing). */
int policy_string_set(char **at, const char *text, struct warder_error *err);
const struct policy_variable *policy_variable_of(const struct policy *policy, const char *name);
/* A name that is there already gets the new value. */
int policy_variable_set(struct policy *policy, const char *name, const char *value, struct warder_error *err);
int policy_endpoint_add(struct policy *policy, const struct policy_endpoint *endpoint,
			struct warder_error *err);
void policy_endpoints_done(struct policy *policy);

/* ---- set.c ---- */
/* policy_set() for everything that is one value and no list, without its dropping of rows. */
int policy_set_scalar(struct policy *policy, const char *path, const char *text, struct warder_error *err);
/* The list of strings at a path, NULL if there is none. */
struct policy_strings *policy_list_at(struct policy *policy, const char *path);
/* Add a row to network.allow after bringing it to its canonical form; exactly one of host and cidr is given.
 * Errors carry no path. */
int policy_add_endpoint(struct policy *policy, const char *host, const char *cidr, const uint16_t *ports,
			size_t port_count, struct warder_error *err);

#endif
