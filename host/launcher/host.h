/*
 * host: the state of a launcher, which its main thread owns. Private to host/launcher/.
 */
#ifndef WARDER_HOST_LAUNCHER_HOST_H
#define WARDER_HOST_LAUNCHER_HOST_H

#include <limits.h>

#include "host/launcher/event_logs.h"
#include "host/launcher/front.h"
#include "host/launcher/jobs.h"
#include "host/launcher/launcher.h"
#include "host/launcher/metrics.h"
#include "host/launcher/repeats.h"
#include "host/launcher/run_artifacts.h"
#include "host/launcher/sandboxes.h"
#include "host/launcher/settings.h"
#include "host/launcher/signing.h"
#include "host/launcher/snapshots.h"
#include "host/launcher/stock.h"
#include "host/launcher/tenants.h"
#include "host/link.h"

struct call;

/* Launches of a tenant in the second that began at `since_us`. */
struct launcher_rate {
	char tenant[TENANT_NAME_MAX + 1];
	uint64_t since_us, count;
};

/* The last launch of /bin/true, which says whether this host can launch. */
struct launcher_health {
	const struct job *probe; /* that waits or runs; or NULL */
	uint64_t ended_us;       /* of the last one; 0: there was none */
	bool good;
	struct warder_error why;
	struct call *waiting; /* for the probe that runs */
};

/* Of --tls-cert and --tls-key. Each content by its digest; "": none. */
struct certificate {
	char served[SHA256_HEX], refused[SHA256_HEX];
	uint64_t refused_us;      /* when */
	char offered[SHA256_HEX]; /* to the front, which has not answered */
	uint64_t number;          /* of the last offer */
	int offered_fd;           /* owned: a memory file of it; -1: none is offered */
	size_t offered_bytes;
	bool looking; /* a job reads the files */
	uint64_t looked_us;
	char complaint[sizeof(((struct warder_error *)NULL)->text)]; /* that was logged last */
};

struct launcher {
	const struct launcher_options *options;
	struct settings settings;
	struct tenants tenants;
	struct sandboxes sandboxes;
	struct jobs jobs;
	struct warder_pool *pool;
	struct front front;
	struct stock stock;
	struct signing signing;
	struct metrics metrics;
	struct launcher_rate *rates;
	size_t rate_count;
	struct launcher_health health;
	struct repeats repeats;
	struct snapshots snapshots;
	struct run_artifacts artifacts;
	struct event_logs event_logs;
	struct call *runs; /* programs without a sandbox, and sandboxes that are being started */
	int sandboxes_fd;  /* directory of the records */
	int tenants_fd;    /* inotify over the directory of tenants */
	bool reloading, reload_again;
	struct certificate certificate;
	char url[160];
	uint64_t started_ms;
	char *capabilities; /* JSON, as they were probed at the start */
};

/* ---- certificate.c ---- */

/* Read the files, for the front. -1 with *err. */
int certificate_open(struct launcher *launcher, struct warder_error *err);
/* Begin to read them again, if it is time. */
void certificate_look(struct launcher *launcher);
/* The front has answered the offer of that number, which may have expired. */
void certificate_answered(struct launcher *launcher, uint64_t number, bool taken);
/* Nobody will answer it. */
void certificate_forget(struct launcher *launcher);

/* ---- calls.c, call.c: what the front asks ---- */

/* Answer one request, now or when its job is done. fds are the caller's. */
void calls_take(struct launcher *launcher, const struct link_request *request, const int fds[LINK_FDS]);
/* The clients of a front, and of those before it, are gone: end the programs that run for them. */
void calls_cancel(struct launcher *launcher, uint64_t generation);
/* When no job runs any more: forget the launches that have not ended. */
void calls_drop(struct launcher *launcher);

/* ---- upkeep.c ---- */

/* Read the tenants again. */
void calls_reload(struct launcher *launcher);
/* End sandboxes whose time is over, and forget those that have ended by themselves. Returns the milliseconds until it is to be called
 * again. */
int calls_sweep(struct launcher *launcher);
/* Put the sandboxes of the records that still run into the list. -1 with *err. */
int calls_adopt(struct launcher *launcher, struct warder_error *err);

#endif
