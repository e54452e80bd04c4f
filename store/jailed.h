/*
 * jailed: a program of the host, such as git or skopeo, in a jail of the store's own, for one task. Private to store/.
 */
#ifndef WARDER_STORE_JAILED_H
#define WARDER_STORE_JAILED_H

#include <stddef.h>

#include "base/error.h"

struct warder_result;

struct store_task {
	const char *field;     /* of errors */
	const char *workspace; /* as of filesystem.workspace: "readWrite:/dir", "overlay:/dir" */
	const char *read_only; /* as of filesystem.paths.readOnly: "/dir:/workspace/x"; or NULL */
	const char *const *
	    allow; /* all that the jail reaches, as rows of network.allow: "host:443", NULL-terminated; NULL: nothing */
	const char *const *settings;    /* of its policy: path, value, ..., NULL-terminated; or NULL */
	const char *const *argv;        /* NULL-terminated; the program by its name */
	const char *const *environment; /* "NAME=value", NULL-terminated */
	const char *input;              /* standard input, or NULL */
	size_t input_len;
	const char *changes_directory; /* keeps the changes to an overlay; or NULL */
};

/* Run the program to its end. *ret is the caller's: what the program says is its standard error, in the C locale. -1 with *err: the run is refused
 * or failed; UNAVAILABLE: the program is not installed. */
int store_run_jailed(const struct store_task *task, struct warder_result **ret, struct warder_error *err);

#endif
