#include "runtime/cli/served.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/file.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/report.h"
#include "runtime/cli/term.h"
#include "runtime/code/code.h"

#define SILENCE_US UINT64_C(7000000)

static uint64_t patience_us;
static char word[SERVICE_WHY + 8];

const char *served_word(void)
{
	return *word ? word : NULL;
}

static void say_no(const char *why)
{
	snprintf(word, sizeof(word), "no: %s", why);
}

/* Nothing has run yet. */
static bool is_to_end(void)
{
	return ending_signal() != 0;
}

/* A signal asks the service to end the program. A service that is stopped does not, and the caller must not hang with it. */
static bool gives_up(void)
{
	static uint64_t signalled_us;

	if (!ending_signal())
		return false;
	if (!signalled_us)
		signalled_us = clock_us();
	return clock_us() - signalled_us >= patience_us;
}

int served_run(const struct args *args, const char *own, const struct service_command *command,
	       struct warder_result **ret, struct warder_error *err)
{
	char why[SERVICE_WHY];
	owned_fd int fd = -1;
	int waited;

	*word = '\0';
	if (args->no_service)
		own = "--no-service";
	else if (args->backend && strcmp(args->backend, "local") != 0)
		own = "--backend";
	if (own || ending_signal()) {
		if (own && service_is_there())
			say_no(own);
		return 1;
	}
	patience_us = args->grace_us + SILENCE_US;
	if (service_start(command, is_to_end, &fd, why) != 0) {
		if (*why)
			say_no(why);
		return 1;
	}
	strcpy(word, "yes");
	report_serving(args->grace_us, fd);
	waited = service_wait(fd, command->policy->limits.wall_time_us, gives_up, ret, why, err);
	if (waited == SERVICE_SILENT && ending_signal()) /* else the report of the result says it */
		term_complain(
		    "the service (warder serve) does not answer; the program ends when the service goes "
		    "on or ends");
	report_serving(0, -1);
	if (waited == SERVICE_NOT_RUN) {
		say_no(why);
		return 1;
	}
	return waited < 0 ? -1 : 0;
}

/* ---- a piece of code ---- */

/* The input as a descriptor: *ret_fd is -1 if there is none, and *ret_own is to be closed. */
static int open_input(const struct jail_command *command, int *ret_fd, int *ret_own, struct warder_error *err)
{
	*ret_fd = command->stdin_fd;
	if (!command->stdin_data)
		return 0;
	*ret_own = *ret_fd = memfd_create("input", MFD_CLOEXEC);
	if (*ret_fd >= 0 && file_write_all(*ret_fd, command->stdin_data, command->stdin_len) == 0 &&
	    lseek(*ret_fd, 0, SEEK_SET) == 0)
		return 0;
	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "input", errno,
			       "the input cannot be kept for the program");
}

/* What the service kept goes where the call wants it. */
static int pass_output(const struct library_launch *launch, struct warder_result *result)
{
	for (int stream = WARDER_STDOUT; launch->on_output && stream <= WARDER_STDERR; stream++) {
		struct jail_output *output = &result->outcome.output[stream];

		if (output->len && launch->on_output(launch->output_context, (enum warder_stream)stream,
						     output->bytes, output->len) != 0)
			return -1;
		result->passed[stream] = output->len;
		result->streamed = true;
	}
	return 0;
}

static int serve_order(const struct args *args, const struct warder_options *options,
		       const struct library_order *order, struct warder_result **ret,
		       struct warder_error *err)
{
	const struct jail_command *asked = &order->launch.command;
	struct service_command command = {
		.policy = order->policy,
		.ceiling = options->ceiling ? &options->ceiling->policy : NULL,
		.cgroup_parent = options->cgroup_parent,
		.argv = asked->argv,
		.output_fds = asked->output_fds,
		.output_max = asked->output_max,
		.code = order,
	};
	struct warder_result *result = NULL;
	owned_fd int own_fd = -1;
	int served;

	if (open_input(asked, &command.input_fd, &own_fd, err) != 0)
		return -1;
	served = served_run(args, NULL, &command, &result, err);
	if (served != 0)
		return served;
	if (pass_output(&order->launch, result) != 0 || code_order_finish(order, result, err) != 0) {
		warder_result_free(result);
		return -1;
	}
	result->service = served_word();
	*ret = result;
	return 0;
}

int served_call(const struct args *args, const struct warder_options *options, struct warder_program *program,
		const struct warder_call *call, struct warder_result **ret, struct warder_error *err)
{
	struct library_order order = { 0 };
	const char *own;
	int served = code_order(program, call, &order, &own, err);

	*word = '\0';
	if (served == 0)
		served = serve_order(args, options, &order, ret, err);
	else if (served > 0 && service_is_there())
		say_no(own);
	code_order_done(&order);
	return served;
}
