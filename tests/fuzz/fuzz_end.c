/*
 * end: what init reports of a program's end, and what the cgroup counted, however little the two agree: one cause out of the
 * list, a code or a signal that fits it (or neither, for an end after the wall time), and a result that is JSON.
 */
#include "base/json.h"
#include "runtime/library/result.h"
#include "tests/fuzz/input.h"

#include "jail/supervise.c" /* its reader of messages and its verdict are its own */

static void take_messages(struct fuzz_input *input, struct supervision *sup)
{
	int ends[2];

	must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
	sup->run->control[0] = ends[0];
	for (int i = input_byte(input) % 4; i > 0; i--) {
		const uint8_t cut = input_byte(input);
		struct wire_message message;

		input_bytes(input, &message, sizeof(message));
		send(ends[1], &message, cut < 200 ? sizeof(message) : cut - 199u, MSG_DONTWAIT);
	}
	close(ends[1]);
	while (sup->run->control[0] >= 0)
		read_control(sup);
}

static void must_fit(const struct supervision *sup)
{
	const struct jail_outcome *outcome = sup->outcome;

	must(outcome->cause < JAIL_CAUSE_COUNT && outcome->detail[0] &&
	     memchr(outcome->detail, 0, sizeof(outcome->detail)));
	must(outcome->exit_code >= -1 && outcome->exit_code <= 255);
	must(outcome->signal >= 0 && outcome->signal <= 127);
	must(outcome->exit_code == -1 || outcome->signal == 0);
	/* A program that ended too late has neither: it was not killed. */
	must(outcome->exit_code >= 0 || outcome->signal > 0 ||
	     (sup->late && outcome->cause == JAIL_CAUSE_WALL_TIME));
	must(!sup->killed || outcome->cause == sup->reason);
	must(outcome->cause != JAIL_CAUSE_EXIT || outcome->exit_code >= 0);
	must(outcome->wall_us <= clock_us());
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct supervision sup;
	static struct jail_template tmpl;
	static struct jail_run run;
	struct fuzz_input input = { data, size };
	const uint8_t bits = input_byte(&input);
	struct warder_result result = { 0 };
	struct json_value *json = NULL;
	struct warder_error err;
	char *text;

	memset(&sup, 0, sizeof(sup));
	memset(&run, 0, sizeof(run));
	cgroup_init(&run.cgroup);
	run.snmp_fd = run.scratch_fd = -1;
	run.tmpl = &tmpl;
	run.go_us = clock_us();
	sup.run = &run;
	sup.outcome = &result.outcome;
	sup.reason = JAIL_CAUSE_COUNT;
	if (bits & 1) {
		sup.killed = true;
		sup.reason = (enum jail_cause)(
		    JAIL_CAUSE_WALL_TIME +
		    input_byte(&input) %
			(JAIL_CAUSE_COUNT - JAIL_CAUSE_WALL_TIME)); /* what end_run() is given */
	}
	tmpl.plan.not_enforced[POLICY_CONTROL_CPU_TIME] = bits & 2;
	take_messages(&input, &sup);
	input_bytes(
	    &input, &sup.final,
	    offsetof(struct cgroup_final, memory_limit_hit)); /* but for the flag and what follows it */
	sup.final.memory_limit_hit = bits & 4;
	sup.final.cpu_throttled_us = 0;
	result.outcome.output[JAIL_STDOUT].truncated = bits & 8;
	judge(&sup);
	must_fit(&sup);
	text = warder_result_json(&result);
	must(text && json_parse(text, strlen(text), "result", NULL, &json, &err) == 0);
	json_free(json);
	free(text);
	return 0;
}
