/*
 * A program that is judged by cases, as by `warder judge`.
 *
 * The build is one job, and so is each case after it: between two of them, programs of others have their turn. Each case is a launch of its
 * tenant. One for which none is left in this second waits, and calls_sweep() tries again; so does one while this host cannot launch.
 *
 * The answer is one JSON object; or, if the request says so, lines that each hold a word and the JSON text of an event: "build", one "case" for
 * each case, "end". They are sent when they are known. Together, the events make up the object. The signature in "end" is the signature
 * of that object. If the request says so, what each case prints is stored as artifacts of the tenant.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/launcher/artifact_spool.h"
#include "host/launcher/call.h"
#include "runtime/code/code.h"
#include "runtime/judge/trial.h"

#define CASES_MAX   1000
#define BATCHES_MAX 8 /* of a tenant, at a time */
#define WAIT_US     UINT64_C(100000)

/* Owned by the call; a job of the call uses it, or the main thread. */
struct judging {
	struct batch batch;
	struct warder_program *program; /* NULL: it is not built */
	struct warder_result *built;    /* or NULL */
	size_t next;                    /* the next case */
	struct score score;
	struct json_writer document;
	FILE *lines; /* of events, into the next two; NULL: the answer has none, or is complete */
	char *text;
	size_t len, sent;
	bool over;
	char owner[SHA256_HEX]; /* of the tenant's token */
};

static void release(struct call *call)
{
	struct judging *judging = call->state;

	warder_program_free(judging->program);
	warder_result_free(judging->built);
	batch_free(&judging->batch);
	json_writer_done(&judging->document);
	if (judging->lines)
		fclose(judging->lines);
	free(judging->text);
	free(judging);
}

static int should_stop(void *of)
{
	const struct call *call = of;

	return atomic_load(&call->cancelled);
}

/* ---- the answer ---- */

static void add_line(struct judging *judging, const char *name, const char *json)
{
	if (judging->lines)
		fprintf(judging->lines, "%s %s\n", name, json);
}

/* Add the case that the writer holds. */
static void add_case(struct judging *judging, struct json_writer *w)
{
	char *text = json_take(w);

	if (text)
		json_number(&judging->document, text);
	else
		json_fail(&judging->document);
	add_line(judging, "case", text ? text : "null");
	free(text);
}

/* One that has no run. */
static void add_without(struct judging *judging, size_t index, enum verdict verdict, const char *cause)
{
	const struct judged judged = JUDGED_NOTHING(verdict);
	struct json_writer w = { 0 };

	score_add(&judging->score, index, &judged);
	trial_write_without(&judging->batch, index, verdict, cause, NULL, &w);
	add_case(judging, &w);
}

static int add_build(struct judging *judging, struct warder_error *err)
{
	struct json_writer event = { 0 };
	struct json_writer *const writers[] = { &event, &judging->document };
	char *built = judging->built ? warder_result_json(judging->built) : NULL;
	char *text;

	for (size_t i = 0; i < 2; i++) {
		json_begin_object(writers[i]);
		json_key_string(writers[i], "language", warder_program_language(judging->program));
		json_key(writers[i], "build");
		json_number(writers[i], built ? built : "null");
	}
	json_end_object(&event);
	json_key(&judging->document, "cases");
	json_begin_array(&judging->document);
	text = json_take(&event);
	if (text)
		add_line(judging, "build", text);
	free(text);
	free(built);
	return text ? 0 : error_no_memory(err, NULL);
}

/* The last line has the signature of the whole document, whose text is the call's now. */
static int add_end(struct call *call, size_t unsigned_len, struct warder_error *err)
{
	struct judging *judging = call->state;
	struct json_writer w = { 0 };
	char *text;
	bool failed;

	json_begin_object(&w);
	score_write(&judging->score, &judging->batch, &w);
	text = json_take(&w); /* without a brace: the signature has it */
	failed = !text || fprintf(judging->lines, "end %s%s\n", text, call->text + unsigned_len - 1) < 0;
	free(text);
	failed = fclose(judging->lines) != 0 || failed;
	judging->lines = NULL;
	if (failed)
		return error_no_memory(err, NULL);
	free(call->text);
	call->text = judging->text;
	judging->text = NULL;
	return 0;
}

static int end(struct call *call, struct warder_error *err)
{
	struct judging *judging = call->state;
	struct json_writer *w = &judging->document;
	const bool failed = warder_program_failed(judging->program);
	size_t len;

	for (; judging->next < judging->batch.case_count; judging->next++)
		add_without(judging, judging->next, failed ? VERDICT_COMPILE_ERROR : VERDICT_SKIPPED,
			    failed ? warder_result_cause(judging->built)
				   : jail_cause_name(JAIL_CAUSE_CANCELLED));
	json_end_array(w);
	score_write(&judging->score, &judging->batch, w);
	json_end_object(w);
	judging->over = true;
	/* A tenant gets the artifacts now. The batch may have taken longer than they last. */
	if (call->spool)
		artifact_spool_renew(call->spool);
	call->text = json_take(w);
	if (!call->text)
		return error_no_memory(err, NULL);
	len = strlen(call->text);
	return call_sign(call, "judge", err) < 0 || (judging->lines && add_end(call, len, err) < 0) ? -1 : 0;
}

/* ---- the build ---- */

static int check_batch(const struct call *call, const struct batch *batch, struct warder_error *err)
{
	if (batch->case_count > CASES_MAX)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "cases",
				 "\"cases\" has %zu cases, and this host takes at most %d of a request; send "
				 "the others in another one",
				 batch->case_count, CASES_MAX);
	if (batch->parallel > 1)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "parallel",
				 "\"parallel\" must be 1 here: the cases of a request run one after another");
	return batch_check(batch, &call->policy->policy, 1, err);
}

static struct warder_code code_of(struct call *call, const struct snippet *snippet)
{
	return (struct warder_code){
		.size = sizeof(struct warder_code),
		.language = snippet->language,
		.source = snippet->code,
		.source_len = snippet->code_len,
		.files = snippet->files,
		.file_count = snippet->file_count,
		.flags = CODE_BUILD_ONLY | WARDER_CODE_NO_CACHE,
		.should_stop = should_stop,
		.context = call,
	};
}

static int build(struct call *call, struct judging *judging, struct warder_error *err)
{
	const struct warder_options options = { .size = sizeof(options) };
	struct warder_code code;

	call_begin_with_files(call);
	json_free(call->document); /* the batch has texts of its own */
	call->document = NULL;
	if (batch_decode_hosted(call->request, call->request_len, &judging->batch, err) < 0 ||
	    check_batch(call, &judging->batch, err) < 0)
		return -1;
	code = code_of(call, &judging->batch.snippet);
	if (warder_build(call->policy, &options, &code, &judging->program, err) != 0)
		return -1;
	judging->built = warder_program_result(judging->program);
	return add_build(judging, err);
}

/* ---- a case ---- */

struct hosted_trial {
	struct trial trial; /* first: on_output() gets it, and should_stop() of a case */
	const struct call *call;
};

static int trial_should_stop(void *of)
{
	const struct hosted_trial *hosted = of;

	return atomic_load(&hosted->call->cancelled);
}

static bool same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* Cases with the same limits run from one template. */
static int prepare(const struct call *call, struct judging *judging, struct warder_error *err)
{
	const struct warder_options options = { .size = sizeof(options) };
	const struct batch_case *one = &judging->batch.cases[judging->next];
	const struct batch_limits *limits = &one->limits,
				  *limits_before = &one[judging->next ? -1 : 0].limits;
	struct warder_policy policy = { 0 };
	int done;

	/* The template is of the case before. */
	if (code_is_prepared(judging->program) && same(limits->timeout, limits_before->timeout) &&
	    same(limits->cpu_time, limits_before->cpu_time) && same(limits->memory, limits_before->memory))
		return 0;
	if (batch_policy(&judging->batch, judging->next, &call->policy->policy, &policy.policy, err) < 0)
		return -1;
	done = code_prepare(judging->program, &policy, &options, err);
	policy_done(&policy.policy);
	return done;
}

static int wait_for(const struct call *call, struct warder_run *run, struct warder_result **ret,
		    struct warder_error *err)
{
	int done;

	while ((done = warder_wait_for(run, WAIT_US, ret, err)) == 0)
		if (atomic_load(&call->cancelled))
			warder_cancel(run);
	warder_run_free(run);
	return done > 0 ? 0 : -1;
}

/* The streams of a case are stored as CASE/stdout and CASE/stderr. */
static int open_artifacts(const struct call *call, const struct judging *judging,
			  const struct warder_spill **ret, struct warder_error *err)
{
	char number[BATCH_NUMBER], *under;
	int done;

	if (asprintf(&under, "%s/", batch_name(&judging->batch, judging->next, number)) < 0)
		return error_no_memory(err, NULL);
	done = artifact_spool_open(call->spool, under, ret, err);
	free(under);
	return done;
}

/* All that it has printed: nothing of it is in the verdict. */
static void keep_artifacts(const struct call *call, struct warder_result *result, struct json_writer *w)
{
	if (!result) {
		artifact_spool_close(call->spool);
		return;
	}
	artifact_spool_keep(call->spool, true, result);
	trial_write_output(result, w);
}

static int run_case(struct call *call, struct judging *judging, struct hosted_trial *hosted,
		    struct warder_result **ret, struct warder_error *err)
{
	const struct batch_case *one = &judging->batch.cases[judging->next];
	const char *expected = one->expected ? one->expected : "";
	struct warder_call asked = { .size = sizeof(asked), .should_stop = trial_should_stop };
	struct warder_run *run = NULL;

	if (trial_init(&judging->batch, judging->next, expected, strlen(expected), &hosted->trial, err) < 0 ||
	    prepare(call, judging, err) < 0)
		return -1;
	trial_fill(&hosted->trial, &asked);
	if (call->spool && open_artifacts(call, judging, &asked.spill, err) < 0)
		return -1;
	if (warder_call(judging->program, &asked, &run, err) != 0)
		return -1;
	call->began = true;
	return wait_for(call, run, ret, err);
}

static void judge_case(struct call *call, struct judging *judging)
{
	struct hosted_trial hosted = { .call = call };
	struct warder_result *result = NULL;
	struct warder_error why = { 0 };
	struct json_writer w = { 0 };
	struct judged judged;

	run_case(call, judging, &hosted, &result, &why);
	trial_decide(&hosted.trial, result, &why, &judged);
	score_add(&judging->score, judging->next, &judged);
	trial_write(&hosted.trial, &judged, result, &why, &w);
	if (call->spool)
		keep_artifacts(call, result, &w);
	json_end_object(&w);
	add_case(judging, &w);
	call->cause = result ? warder_result_cause(result) : NULL;
	judging->next++;
	warder_result_free(result);
	trial_done(&hosted.trial);
}

static bool was_last(const struct judging *judging)
{
	return warder_program_failed(judging->program) || judging->next == judging->batch.case_count ||
	       (judging->batch.stop && judging->score.verdict != VERDICT_ACCEPTED);
}

static void judge_work(struct job *job)
{
	struct call *call = (struct call *)(void *)job;
	struct judging *judging = call->state;
	struct warder_error *err = &call->answer.error;
	int done = 0;

	call->answer.status = 0;
	if (judging->program)
		judge_case(call, judging);
	else
		done = build(call, judging, err);
	if (done == 0 && was_last(judging))
		done = end(call, err);
	if (judging->lines && fflush(judging->lines) != 0)
		done = error_no_memory(err, NULL);
	call->answer.status = done == 0 ? 200 : 0;
}

/* ---- between two jobs: the main thread ---- */

/* Send the lines that nobody has got. */
static void send_lines(struct launcher *launcher, struct call *call)
{
	struct judging *judging = call->state;

	if (judging->lines && judging->len > judging->sent) {
		if (call_say_part(launcher, call, judging->text + judging->sent))
			judging->sent = judging->len;
	}
}

/* -1 with *err: the batch ends without its other cases. */
static int check_goes_on(const struct launcher *launcher, const struct call *call, struct warder_error *err)
{
	const struct judging *judging = call->state;
	const struct tenant *tenant = tenants_named(&launcher->tenants, call->tenant);

	if (atomic_load(&call->cancelled))
		return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL, "the batch was cancelled");
	if (!tenant || strcmp(tenant->digest, judging->owner) != 0)
		return error_set(err, WARDER_ERROR_REJECTED, NULL, "the token was revoked");
	return 0;
}

static bool goes_on(struct launcher *launcher, struct call *call)
{
	struct judging *judging = call->state;
	const struct tenant *tenant = tenants_named(&launcher->tenants, call->tenant);

	if (call->answer.status != 200)
		return false;
	if (judging->over) {
		call->sent = judging->sent;
		return false;
	}
	if (!call->waits) {
		metrics_ended(&launcher->metrics, call->cause);
		call->cause = NULL;
		send_lines(launcher, call);
	}
	if (check_goes_on(launcher, call, &call->answer.error) < 0) {
		call->answer.status = 0;
		return false;
	}
	/* The launch of the first case is that of the request. */
	call->waits =
	    call_is_stuck(launcher) ||
	    (judging->next && !call_take_launch(launcher, call->tenant, tenant->limits.launches_per_second));
	if (!call->waits)
		jobs_add(&launcher->jobs, &call->job);
	return true;
}

/* Its batches that are not over. */
static size_t count_batches(const struct launcher *launcher, const char *tenant)
{
	size_t count = 0;

	for (const struct call *run = launcher->runs; run; run = run->next_run)
		count += run->state && strcmp(run->tenant, tenant) == 0;
	return count;
}

static int admit(const struct launcher *launcher, struct call *call, struct warder_error *err)
{
	const size_t running = count_batches(launcher, call->tenant);

	return running < BATCHES_MAX
		   ? 0
		   : call_refuse_share(call, 1, err, "batches", "batches that run", running, BATCHES_MAX);
}

int calls_judge(struct context *context, struct call *call, struct warder_error *err)
{
	static const struct call_steps steps = { admit, goes_on, release };
	static const char *const members[] = {
		"template", "policy",    "language",       "code",
		"encoding", "files",     "environment",    "workingDirectory",
		"limits",   "compare",   "cases",          "stopOnFirstFailure",
		"parallel", "artifacts", "idempotencyKey", NULL
	};
	struct judging *judging;

	if (call_parse(context, call, members, err) < 0)
		return -1;
	judging = calloc(1, sizeof(*judging));
	if (!judging)
		return error_no_memory(err, NULL);
	call->state = judging;
	call->steps = &steps;
	memcpy(judging->owner, context->tenant->digest, sizeof(judging->owner));
	if (context->request->value == LINK_JUDGE_EVENTS) {
		judging->lines = open_memstream(&judging->text, &judging->len);
		if (!judging->lines)
			return error_no_memory(err, NULL);
	}
	return call_launch(context, call, judge_work, err);
}
