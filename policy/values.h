/*
 * values: rules about single strings of a policy (paths, destinations) and the growing of its lists.
 * Private to policy/. A `..._fault` function returns NULL for a good value, else what is wrong with it and
 * what to write instead, to stand after the quoted value.
 */
#ifndef WARDER_POLICY_VALUES_H
#define WARDER_POLICY_VALUES_H

#include "policy/policy.h"

struct json_value; /* base/json.h */

#define POLICY_MAX_ROWS       1024   /* in each list */
#define POLICY_MAX_HOST       253    /* bytes of a name, as DNS has it */
#define POLICY_VARIABLE_NAME  256    /* bytes of a variable's name, with its NUL */
#define POLICY_VARIABLE_BYTES 131072 /* of "NAME=value" with its NUL: at most 32 pages (MAX_ARG_STRLEN) */

/* ---- path.c ---- */
/* Absolute and normalised: no "." or "..", no "//", no "/" at the end but of the root itself. */
const char *policy_path_fault(const char *path);
/* Of a row "/source" or "/source:/target" of filesystem.paths: both parts, and whether the target can be one. */
const char *policy_placed_fault(const char *item);
/* Whether inner is outer or lies below it: "/data" does not hold "/database". An inner path that is not
 * normalised lies nowhere; outer has to be. */
bool policy_path_within(const char *outer, const char *inner);
const char *policy_image_fault(const char *name);
const char *policy_variable_fault(const char *name);
const char *policy_syscall_fault(const char *name);

/* ---- hostname.c: of one name, not a pattern ---- */
const char *policy_name_fault(const char *name);

/* ---- address.c ---- */
const char *policy_host_fault(const char *host);
/* Canonical text; buf of at least 64 bytes. Returns buf. */
char *policy_format_cidr(const struct policy_cidr *cidr, char *buf, size_t len);

/* ---- endpoint.c: errors carry no path ---- */
/* Add a row after bringing it to its canonical form; exactly one of host and cidr is given. */
int policy_add_endpoint(struct policy_endpoints *list, const char *host, const char *cidr,
			const uint16_t *ports, size_t port_count, const struct policy_inject *inject,
			struct warder_error *err);
/* The same of a text as policy_set() takes it; is_allow: without ports a name gets 443 and 80. */
int policy_endpoint_parse(struct policy_endpoints *list, const char *value, bool is_allow,
			  struct warder_error *err);
/* "pypi.org:443,8443", "@pypi", "10.0.0.0/8:22", "[fd00::/8]:443". Returns buf, cut to fit. */
/* "8080:80", "0.0.0.0:8000-8999:1-65535". */
int policy_publish_parse(struct policy_published *list, const char *value, struct warder_error *err);
/* "127.0.0.1:8080:80"; buf of at least 48 bytes. Returns buf. */
char *policy_format_publish(const struct policy_publish *row, char *buf, size_t len);

/* ---- network.c ---- */
/* Whether one rule of the ceiling holds the rule with this port. */
bool policy_network_grants(const struct policy *ceiling, const struct policy_rule *asked, uint16_t port);
/* Whether the asked policy cannot reach anything of a row of the ceiling's network.deny. */
bool policy_network_avoids(const struct policy *asked, const struct policy_endpoint *denied);
/* Whether one row of the ceiling's network.publish holds the row. */
bool policy_network_publishes_within(const struct policy *ceiling, const struct policy_publish *asked);

/* ---- inject.c: NULL stands for none; `path` is where the errors are ---- */
void policy_inject_free(struct policy_inject *inject);
int policy_inject_copy(const struct policy_inject *from, struct policy_inject **ret,
		       struct warder_error *err);
/* From a document, without the rules of policy_inject_validate(). *ret is heap. */
int policy_inject_read(const struct json_value *value, const char *path, struct policy_inject **ret,
		       struct warder_error *err);
/* As the member "inject". */
void policy_inject_write(const struct policy_inject *inject, struct json_writer *w);
int policy_inject_validate(const struct policy *policy, struct warder_error *err);
/* Whether the ceiling (NULL: there is none) grants the row's credential on each of its ports. */
bool policy_inject_granted(const struct policy *ceiling, const struct policy_endpoint *asked);

/* ---- strings.c: these take copies; errors (too many rows, no memory) carry no path ---- */
/* Replace the string at *at by a copy of text (NULL: by nothing). */
int policy_string_set(char **at, const char *text, struct warder_error *err);
/* `items` with room for one row of `size` more, or NULL with *err and `items` as they were; `most`: so many rows are allowed. */
void *policy_list_grow(void *items, size_t count, size_t most, size_t size, struct warder_error *err);
int policy_strings_add(struct policy_strings *list, const char *item, struct warder_error *err);
/* Add all of `from`. */
int policy_strings_copy(const struct policy_strings *from, struct policy_strings *to,
			struct warder_error *err);
void policy_strings_done(struct policy_strings *list);
bool policy_strings_have(const struct policy_strings *list, const char *item);

/* ---- life.c: these take copies, too ---- */
const struct policy_variable *policy_variable_of(const struct policy *policy, const char *name);
/* A name that is there already gets the new value. */
int policy_variable_set(struct policy *policy, const char *name, const char *value, struct warder_error *err);
int policy_endpoint_add(struct policy_endpoints *list, const struct policy_endpoint *endpoint,
			struct warder_error *err);
void policy_endpoints_done(struct policy_endpoints *list);
int policy_publish_add(struct policy_published *list, const struct policy_publish *row,
		       struct warder_error *err);
void policy_published_done(struct policy_published *list);

/* ---- validate.c ---- */
/* Whether there can be connections that Warder makes for the jail, and counts. */
bool policy_network_connects(const struct policy *policy);

/* ---- set.c ---- */
/* policy_set() for everything that is one value and no list, without its dropping of rows. */
int policy_set_scalar(struct policy *policy, const char *path, const char *text, struct warder_error *err);

#endif
