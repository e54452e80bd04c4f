/*
 * batch: a document that is refused is refused with a place and a reason; a case of one that is accepted gets a policy within the
 * base, or a refusal that names it.
 */
#include "runtime/judge/batch.h"
#include "tests/fuzz/fuzz.h"

static void check_error(const struct warder_error *err)
{
	must(err->code != WARDER_ERROR_NONE && err->text[0] && !strchr(err->text, '\n') && err->field[0]);
}

static void check_case(const struct batch *batch, size_t index, const struct policy *base)
{
	const struct batch_case *one = &batch->cases[index];
	struct policy policy = { 0 };
	struct warder_error err = { 0 };

	must(one->how.mode == COMPARE_NONE || one->expected);
	must(one->how.tolerance >= 0);
	if (batch_policy(batch, index, base, &policy, &err) != 0) {
		check_error(&err);
		must(strncmp(err.field, "cases[", 6) == 0);
		return;
	}
	must(policy_check_ceiling(base, &policy, &err) == 0);
	policy_done(&policy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct policy base = { 0 };
	struct batch batch;
	struct warder_error err = { 0 };

	if (batch_decode((const char *)data, size, &batch, &err) < 0) {
		check_error(&err);
	} else {
		must(policy_preset("strict", &base, &err) == 0);
		must(batch.case_count > 0 && batch.case_count <= BATCH_MAX_CASES);
		for (size_t i = 0; i < batch.case_count && i < 20; i++)
			check_case(&batch, i, &base);
		policy_done(&base);
	}
	batch_free(&batch);
	return 0;
}
