/*
 * The launcher's main thread: it listens, starts the front, and answers the front's requests until it is told to end.
 */
#include "host/launcher/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "host/launcher/activation.h"
#include "host/launcher/host.h"
#include "host/launcher/listener.h"
#include "host/launcher/state.h"
#include "host/launcher/tool.h"
#include "runtime/library/library.h"
#include "runtime/library/preparation.h"

#define RESTART_US         UINT64_C(200000) /* between the end of a front and the next */
#define REQUESTS_AT_A_TIME 64
#define READY_US           UINT64_C(20000000)

/* With the port of this host, which clients that connect to it directly name, unless the domain has a port of its own. */
static void fill_domains(struct launcher *launcher)
{
	struct link_welcome *welcome = &launcher->front.welcome;
	const char *domain = launcher->settings.domain;
	const char *port = strrchr(launcher->url, ':');
	const bool direct = launcher->options->certificate && strcmp(port, ":443") != 0;

	if (!*domain)
		return;
	if (strchr(domain, ':') || strncmp(launcher->url, LISTENER_UNIX, strlen(LISTENER_UNIX)) == 0)
		snprintf(welcome->domains, sizeof(welcome->domains), "%s", domain);
	else if (direct)
		snprintf(welcome->domains, sizeof(welcome->domains), "%s%s %s", domain, port, domain);
	else
		snprintf(welcome->domains, sizeof(welcome->domains), "%s %s%s", domain, domain, port);
}

/* Names of this host below the domain, which E2B's clients expect. */
static int add_hosts(struct link_welcome *welcome, int len)
{
	for (const char *at = welcome->domains; *at; at += strspn(at, " ")) {
		const int word = (int)strcspn(at, " ");

		len += snprintf(welcome->hosts + len, sizeof(welcome->hosts) - (size_t)len, " %.*s api.%.*s",
				word, at, word, at);
		at += word;
		if (len >= (int)sizeof(welcome->hosts))
			break;
	}
	return len;
}

/* The Host headers that are served: the address, "localhost" with its port, and those of the settings. */
static int fill_hosts(struct launcher *launcher, struct warder_error *err)
{
	struct link_welcome *welcome = &launcher->front.welcome;
	const bool is_unix = strncmp(launcher->url, LISTENER_UNIX, strlen(LISTENER_UNIX)) == 0;
	const char *address = is_unix ? "localhost" : strstr(launcher->url, "//") + 2;
	int len = is_unix ? snprintf(welcome->hosts, sizeof(welcome->hosts), "%s", address)
			  : snprintf(welcome->hosts, sizeof(welcome->hosts), "%s localhost:%s", address,
				     strrchr(address, ':') + 1);

	for (size_t i = 0; i < launcher->settings.host_count; i++) {
		len += snprintf(welcome->hosts + len, sizeof(welcome->hosts) - (size_t)len, " %s",
				launcher->settings.hosts[i]);
		if (len >= (int)sizeof(welcome->hosts))
			break;
	}
	fill_domains(launcher);
	if (len < (int)sizeof(welcome->hosts))
		len = add_hosts(welcome, len);
	if (len >= (int)sizeof(welcome->hosts))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--config",
				 "\"hosts\": the names are too long");
	welcome->magic = LINK_MAGIC;
	welcome->size = sizeof(*welcome);
	welcome->limits = launcher->settings.limits.surface;
	welcome->limits.waiting_bytes = launcher->settings.limits.front_memory_bytes / 4;
	launcher->front.memory_bytes = launcher->settings.limits.front_memory_bytes;
	return 0;
}

/* ---- the loop ---- */

static void take_requests(struct launcher *launcher)
{
	for (int i = 0; i < REQUESTS_AT_A_TIME && launcher->front.fd >= 0; i++) {
		struct link_request request;
		int fds[LINK_FDS];
		const ssize_t n = fd_receive(launcher->front.fd, &request, sizeof(request), fds, LINK_FDS, 0);

		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0 || !link_request_valid(&request, (size_t)n)) {
			/* Its run ends when it sees that the link is closed; a new front follows. */
			if (n > 0)
				launcher->options->log(
				    "the front sent a message that is not valid; it is ended");
			warder_cancel(launcher->front.run);
			fd_done(&launcher->front.fd);
		} else {
			calls_take(launcher, &request, fds);
		}
		for (size_t j = 0; j < LINK_FDS; j++)
			fd_done(&fds[j]);
	}
}

static void take_changes(struct launcher *launcher)
{
	char events[4096];
	bool changed = false;

	while (read(launcher->tenants_fd, events, sizeof(events)) > 0)
		changed = true;
	if (changed)
		calls_reload(launcher);
}

static void keep_front(struct launcher *launcher)
{
	struct front *front = &launcher->front;
	struct warder_error err = { 0 };
	char *end = NULL;

	if (front->run && front_look(front, &end)) {
		calls_cancel(launcher, front->generation);
		certificate_forget(launcher);
		if (end)
			launcher->options->log(end);
	}
	free(end);
	if (!front->run && clock_us() - front->ended_us >= RESTART_US && front_start(front, &err) < 0) {
		launcher->options->log(err.text);
		front->ended_us = clock_us();
	}
}

static void turn(struct launcher *launcher)
{
	const int sweep_ms = calls_sweep(launcher);
	const int stock_ms = stock_tend(launcher);
	const int wait_ms = sweep_ms < stock_ms ? sweep_ms : stock_ms;
	struct front *front = &launcher->front;
	struct pollfd fds[] = {
		{ .fd = launcher->reloading ? -1 : front->fd, .events = POLLIN },
		{ .fd = launcher->jobs.fd, .events = POLLIN },
		{ .fd = launcher->tenants_fd, .events = POLLIN },
		{ .fd = front->run ? front->run_fd : -1, .events = POLLIN },
		{ .fd = launcher->options->wake_fd, .events = POLLIN },
	};
	const int most_ms = front->run ? 100 : 20;

	if (poll(fds, sizeof(fds) / sizeof(fds[0]), wait_ms < most_ms ? wait_ms : most_ms) < 0)
		return;
	/* First, so that a request of a tenant that was added before finds it. */
	if (fds[2].revents)
		take_changes(launcher);
	if (fds[1].revents)
		jobs_finish(&launcher->jobs, launcher);
	if (fds[0].revents && !launcher->reloading)
		take_requests(launcher);
	keep_front(launcher);
	certificate_look(launcher);
}

static int watch_tenants(struct launcher *launcher, struct warder_error *err)
{
	owned_fd int dir_fd = -1;
	char path[64];

	if (state_open(launcher->options->state, STATE_TENANTS, &dir_fd, err) < 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", dir_fd);
	launcher->tenants_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (launcher->tenants_fd < 0 ||
	    inotify_add_watch(launcher->tenants_fd, path, IN_MOVED_TO | IN_DELETE | IN_MOVED_FROM) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "--state", errno,
				       "cannot watch the tenants");
	return 0;
}

static int open_all(struct launcher *launcher, struct warder_error *err)
{
	const struct launcher_options *options = launcher->options;

	if (settings_load(options->config, &launcher->settings, err) < 0 ||
	    (options->domain &&
	     settings_take_domain(&launcher->settings, options->domain, "--domain", err) < 0) ||
	    state_open(options->state, STATE_SANDBOXES, &launcher->sandboxes_fd, err) < 0 ||
	    watch_tenants(launcher, err) < 0 ||
	    tenants_load(options->state, options->log, &launcher->tenants, err) < 0 ||
	    certificate_open(launcher, err) < 0)
		return -1;
	if (options->check)
		return listener_check(options, err);
	return state_lock(launcher->sandboxes_fd, err) < 0 ||
		       snapshots_load(options->state, options->log, &launcher->snapshots, err) < 0 ||
		       run_artifacts_open(options->state, &launcher->artifacts, err) < 0 ||
		       listener_open(options, &launcher->front.listen_fd, launcher->url,
				     sizeof(launcher->url), err) < 0 ||
		       fill_hosts(launcher, err) < 0 || jobs_init(&launcher->jobs, err) < 0 ||
		       signing_open(options->state, &launcher->signing, err) < 0 ||
		       warder_pool_new(NULL, &launcher->pool, err) != 0
		   ? -1
		   : 0;
}

/* What a jail can enforce here, for clients that match a policy before they send it. */
static int probe_capabilities(struct launcher *launcher, struct warder_error *err)
{
	const struct preparation_options options = { .thorough = true };
	struct preparation preparation = { 0 };
	struct json_writer w = { 0 };
	struct warder_error unmet;
	/* A policy that this host cannot enforce is no reason against serving others. */
	const int built = preparation_build(&settings_template(&launcher->settings, "base")->policy, &options,
					    &preparation, &unmet);

	if (preparation.matched) {
		policy_capabilities_write(&preparation.capabilities, &w);
		launcher->capabilities = json_take(&w);
	}
	preparation_done(&preparation);
	if (launcher->capabilities)
		return 0;
	if (built < 0)
		*err = unmet;
	return built < 0 ? -1 : error_no_memory(err, NULL);
}

/* Until the front serves. */
static int start(struct launcher *launcher, struct warder_error *err)
{
	const uint64_t until_us = clock_us() + READY_US;

	if (probe_capabilities(launcher, err) < 0 || calls_adopt(launcher, err) < 0 ||
	    front_start(&launcher->front, err) < 0)
		return -1;
	while (!launcher->front.ready && !launcher->options->came(NULL)) {
		if (!launcher->front.run || clock_us() > until_us)
			return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL, "the front does not start");
		turn(launcher);
	}
	return 0;
}

static void close_all(struct launcher *launcher)
{
	const bool listened = launcher->front.listen_fd >= 0;

	front_stop(&launcher->front);
	if (listened)
		listener_remove(launcher->options);
	certificate_forget(launcher);
	calls_cancel(launcher, UINT64_MAX);
	tool_end_all();
	if (launcher->pool) {
		jobs_drain(&launcher->jobs, launcher);
		calls_drop(launcher);
		stock_done(&launcher->stock);
		warder_pool_free(launcher->pool);
	}
	run_artifacts_close(&launcher->artifacts);
	event_logs_done(&launcher->event_logs);
	signing_done(&launcher->signing);
	fd_done(&launcher->sandboxes_fd);
	fd_done(&launcher->tenants_fd);
	sandboxes_done(&launcher->sandboxes);
	snapshots_unload(&launcher->snapshots);
	tenants_done(&launcher->tenants);
	settings_done(&launcher->settings);
	repeats_done(&launcher->repeats);
	free(launcher->rates);
	free(launcher->capabilities);
}

int launcher_run(const struct launcher_options *options, struct warder_error *err)
{
	struct launcher launcher = {
		.options = options,
		.sandboxes_fd = -1,
		.tenants_fd = -1,
		.snapshots = { .records_fd = -1, .stores_fd = -1 },
		.artifacts = { .directory_fd = -1 },
		.front = { .listen_fd = -1, .certificate_fd = -1, .fd = -1, .run_fd = -1 },
		.certificate = { .offered_fd = -1 },
		.started_ms = clock_wall_ms()
	};
	int done = open_all(&launcher, err);

	if (done == 0 && !options->check)
		done = start(&launcher, err);
	if (done == 0 && !options->check) {
		options->ready(launcher.url);
		activation_tell("READY=1");
		while (!options->came(NULL))
			turn(&launcher);
		activation_tell("STOPPING=1");
	}
	close_all(&launcher);
	return done;
}
