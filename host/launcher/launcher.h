/*
 * launcher: the process of `warder serve --listen` that owns the sandboxes of an execution host. It speaks no HTTP: the front does, in a jail
 * (host/front/), and asks the launcher by the messages of host/link.h.
 *
 *   launcher_run(): listen, start the front, adopt the living sandboxes of an earlier launcher -> answer requests until a signal comes ->
 *   end the front. The sandboxes live on, and the next launcher of the same state directory adopts them.
 *
 * One thread holds all state and never waits for a disk, a jail or a sandbox: such work is a job, which has a thread of its own.
 */
#ifndef WARDER_HOST_LAUNCHER_LAUNCHER_H
#define WARDER_HOST_LAUNCHER_LAUNCHER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct launcher_options {
	const char *
	    listen; /* "127.0.0.1:3000"; port 0: any free one; "unix:/PATH"; "inherited": from a service manager */
	const char *socket_mode;               /* of a Unix socket, in octal; NULL: 0600 */
	const char *state;                     /* directory; NULL: the default */
	const char *config;                    /* path of the settings; NULL: none */
	const char *certificate, *private_key; /* paths of PEM files, for TLS; NULL: plain HTTP */
	const char *domain;                    /* of the sandboxes' names; NULL: that of the settings */
	bool insecure_http;                    /* plain HTTP on other addresses than loopback */
	bool check;                            /* only look at options, settings and tenants */
	const char *program;                   /* the command line tool, which keeps the sandboxes */
	int (*came)(void *context);            /* whether to end */
	int wake_fd;                           /* readable when came() may have changed; or -1 */
	void (*ready)(const char *url);        /* it serves */
	void (*log)(const char *line);         /* one line for people, without a newline */
	void (*log_call)(const char *line);    /* a JSON object of a call that was answered; or NULL */
};

/* Serve. 0 when it was told to end; -1 with *err naming the flag or the setting. */
int launcher_run(const struct launcher_options *options, struct warder_error *err);

/* End all sandboxes of a host that does not run, 100 at a time. state: as in the options. *ret_ended: how many have ended. -1 with *err
 * (CONFLICT: the host runs; or why the first one that is left has not ended). */
int launcher_stop_all(const char *state, size_t *ret_ended, struct warder_error *err);

#endif
