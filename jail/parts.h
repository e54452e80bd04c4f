/*
 * parts: what an ended jail leaves to the next one of its template. Private to jail/.
 *
 * A network namespace is the most expensive part of a jail. It may be used again if it cannot be told from a new one by what the kernel shows
 * of it: the files of /proc/net that describe a namespace are compared byte for byte with those of one that was never used. What stays
 * the same is its number, its cookie and the key of its IP identifiers, so that only jails of one tenant share one; a template belongs to one.
 *
 * The leaves of a jail's cgroup are the other part. They can be reused if their files look like those of a new cgroup: cgroup_renew().
 *
 * Life: parts_begin() for a template that has just been prepared -> parts_take(), parts_give() by any thread -> parts_done().
 */
#ifndef WARDER_JAIL_PARTS_H
#define WARDER_JAIL_PARTS_H

#include <pthread.h>
#include <stdbool.h>

#include "base/error.h"
#include "jail/cgroup/cgroup.h"
#include "jail/jail.h"

#define PARTS_SPARE_MAX  16
#define PARTS_LEAVES_MAX 4

#define PARTS_FILES 8

struct parts;
struct jail_template;

/* A network namespace, and the files that it is looked at by. */
struct part {
	int ns_fd;
	int file_fds[PARTS_FILES]; /* owned; -1: not open, or not in this kernel */
	bool is_open;              /* those that there are */
};

void part_init(struct part *ret);
void part_done(struct part *part);

/* Look at a new namespace, to compare with. *ret is NULL if the plan has no part to use again. -1 with *err. */
int parts_begin(const struct jail_template *tmpl, struct jail_parts_counts *counts, struct parts **ret,
		struct warder_error *err);
/* True with *ret, which the caller owns; false: there is none. */
bool parts_take(struct parts *parts, struct part *ret);
bool parts_has_spare(struct parts *parts);
/* Take the namespace of a jail whose processes are all gone: keep it if it is as new, else close it. */
void parts_give(struct parts *parts, struct part *part);
/* True with *ret, which has the limits of the template; false: there is none, and *ret stays as it is. */
bool parts_take_leaf(struct parts *parts, struct cgroup *ret);
/* Take the leaf of a jail whose processes are all gone, and leave *cgroup without one. False: it is not kept, and stays the caller's. */
bool parts_give_leaf(struct parts *parts, struct cgroup *cgroup);
bool parts_has_any(struct parts *parts);
/* Give up everything that waits for a jail. False: there was nothing. */
bool parts_drop(struct parts *parts);
/* NULL: nothing happens. */
void parts_done(struct parts *parts);

/* The source of a receipt's row, behind that of a new namespace. */
#define PARTS_SOURCE "; before: sockstat, sockstat6, unix, snmp, snmp6, netstat, ip6_flowlabel, dev"

#endif
