/*
 * serve: the resident service of a user (--local), or the execution host (--listen), in the foreground.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "host/launcher/launcher.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/heap.h"
#include "runtime/cli/report.h"
#include "runtime/cli/term.h"
#include "runtime/library/result.h"
#include "runtime/service/service.h"

static void tell_ready(void)
{
	puts("ready");
	fflush(stdout);
}

static void tell_url(const char *url)
{
	printf("ready: %s\n", url);
	fflush(stdout);
}

static void log_line(const char *line)
{
	term_complain("%s", line);
}

static void begin_line(struct json_writer *w, const char *event)
{
	json_begin_object(w);
	result_write_time(w, "time", clock_wall_ms());
	json_key_string(w, "event", event);
}

static void put_line(struct json_writer *w)
{
	char *line;

	json_end_object(w);
	line = json_take(w);
	if (line)
		fprintf(stderr, "%s\n", line);
	free(line);
}

/* A reader that is slow delays nothing: a line that has no place in the pipe is left out. */
static bool has_place(void)
{
	static uint64_t left_out;
	struct pollfd log = { .fd = STDERR_FILENO, .events = POLLOUT };
	struct json_writer w = { 0 };

	if (poll(&log, 1, 0) != 1 || !(log.revents & POLLOUT)) {
		left_out++;
		return false;
	}
	if (left_out) {
		begin_line(&w, "gap");
		json_key_uint(&w, "lines", left_out);
		put_line(&w);
	}
	left_out = 0;
	return true;
}

static void log_call(const char *line)
{
	if (has_place())
		fprintf(stderr, "%s\n", line);
}

static void log_message(const char *text)
{
	struct json_writer w = { 0 };

	if (!has_place())
		return;
	begin_line(&w, "message");
	json_key_string(&w, "text", text);
	put_line(&w);
}

static int serve_local(struct args *args)
{
	struct warder_error err = { 0 };

	if (service_run(args->session.idle_us ? args->session.idle_us : SERVICE_IDLE_US, args->fork_server,
			ending_came, tell_ready, &err) != 0)
		return command_refuse(args, &err, EXIT_REFUSED);
	return 0;
}

static int serve_host(struct args *args)
{
	const struct launcher_options options = {
		.listen = args->host.listen,
		.state = args->host.state,
		.config = args->host.config,
		.certificate = args->host.certificate,
		.private_key = args->host.private_key,
		.domain = args->host.domain,
		.insecure_http = args->host.insecure_http,
		.socket_mode = args->host.socket_mode,
		.check = args->host.check,
		.program = "/proc/self/exe",
		.came = ending_came,
		.wake_fd = -1,
		.ready = tell_url,
		.log = args->host.log_json ? log_message : log_line,
		.log_call = args->host.log_json ? log_call : NULL,
	};
	struct warder_error err = { 0 };

	return launcher_run(&options, &err) < 0 ? command_refuse(args, &err, EXIT_REFUSED) : 0;
}

static int stop_all(struct args *args)
{
	struct warder_error err = { 0 };
	size_t ended = 0;

	if (launcher_stop_all(args->host.state, &ended, &err) < 0)
		return command_refuse(args, &err, EXIT_REFUSED);
	printf("ended: %zu\n", ended);
	return 0;
}

/* Nothing is served then. */
static int check_alone(const struct args *args, struct warder_error *err)
{
	const struct args_host *host = &args->host;
	const char *other = args->local             ? "--local"
			    : host->listen          ? "--listen"
			    : host->config          ? "--config"
			    : host->check           ? "--check"
			    : host->certificate     ? "--tls-cert"
			    : host->private_key     ? "--tls-key"
			    : host->domain          ? "--domain"
			    : host->insecure_http   ? "--insecure-http"
			    : host->socket_mode     ? "--socket-mode"
			    : host->log_json        ? "--log-json"
			    : args->session.idle_us ? "--idle-timeout"
			    : args->fork_server     ? "--fork-server"
						    : NULL;

	if (!other)
		return 0;
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, other,
			 "--stop-all serves nothing, and %s has no effect with it; leave one of them out",
			 other);
}

/* A flag that goes only with --listen or only with --local, and stands with the other one. */
static int check_flags(const struct args *args, struct warder_error *err)
{
	const struct args_host *host = &args->host;
	const char *alone = host->state           ? "--state"
			    : host->config        ? "--config"
			    : host->check         ? "--check"
			    : host->certificate   ? "--tls-cert"
			    : host->private_key   ? "--tls-key"
			    : host->domain        ? "--domain"
			    : host->insecure_http ? "--insecure-http"
			    : host->socket_mode   ? "--socket-mode"
			    : host->log_json      ? "--log-json"
						  : NULL;

	if (args->rest[0])
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "argv",
				 "serve takes no arguments, and \"%.60s\" is one", args->rest[0]);
	if (host->stop_all)
		return check_alone(args, err);
	if (args->local == (host->listen != NULL))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, args->local ? "--listen" : "--local",
				 "serve needs either --local, to serve this user's commands, or --listen "
				 "ADDR:PORT, to serve "
				 "HTTP clients");
	if (args->local && alone)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, alone,
				 "%s goes with --listen, not with --local", alone);
	if (host->listen && (args->session.idle_us || args->fork_server))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST,
				 args->fork_server ? "--fork-server" : "--idle-timeout",
				 "%s goes with --local, not with --listen",
				 args->fork_server ? "--fork-server" : "--idle-timeout");
	return 0;
}

int serve_command(struct args *args, char **argv)
{
	struct warder_error err = { 0 };

	if (check_flags(args, &err) < 0)
		return command_refuse(args, &err, EXIT_REFUSED);
	if (args->host.stop_all)
		return stop_all(args);
	if (heap_stay)
		heap_stay();
	report_catch_signals();
	return args->local ? serve_local(args) : serve_host(args);
}
