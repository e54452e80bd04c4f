#include "runtime/library/explain.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const words[] = {
	[EXPLAIN_ENFORCED] = "enforced",         [EXPLAIN_REPORTED] = "reported",
	[EXPLAIN_NOT_ENFORCED] = "notEnforced",  [EXPLAIN_REFUSED] = "refused",
	[EXPLAIN_UNRESTRICTED] = "unrestricted", [EXPLAIN_EMPTY] = "empty",
};

const char *explain_word(enum explain_state state)
{
	return words[state];
}

static const struct policy_unmet *find_unmet(const struct policy_match *match, enum policy_field field,
					     enum policy_control control)
{
	for (size_t i = 0; i < match->count; i++) {
		if (match->unmet[i].field == field && match->unmet[i].control == control)
			return &match->unmet[i];
	}
	return NULL;
}

/* A size that the plan or the kernel rounds down to whole pages. */
static void fill_rounded(const struct policy *policy, const struct jail_plan *plan,
			 enum policy_control control, struct explain_row *row)
{
	uint64_t asked = POLICY_UNLIMITED;
	uint64_t enforced;

	if (control == POLICY_CONTROL_MEMORY)
		asked = plan->cgroup.memory_bytes;
	else if (control == POLICY_CONTROL_TMP)
		asked = policy->filesystem.tmp_bytes;
	else if (control == POLICY_CONTROL_DISK_TMP)
		asked = policy->limits.disk_bytes;
	if (asked == POLICY_UNLIMITED)
		return;
	enforced = asked - asked % (uint64_t)sysconf(_SC_PAGESIZE);
	if (enforced != asked)
		policy_format_size(enforced, row->rounded, sizeof(row->rounded));
}

static void fill_control(const struct policy *policy, const struct preparation *preparation,
			 enum policy_control control, struct explain_row *row)
{
	const struct policy_capability *capability = &preparation->capabilities.controls[control];

	row->control = policy_control_name(control);
	policy_control_value(policy, control, row->requested, sizeof(row->requested));
	if (!preparation->match.needed[control]) {
		row->state = row->requested[0] ? EXPLAIN_UNRESTRICTED : EXPLAIN_EMPTY;
		row->by = row->requested[0] ? "the policy asks for no restriction" : "";
	} else if (capability->enforced) {
		row->state = preparation->is_remote ? EXPLAIN_REPORTED : EXPLAIN_ENFORCED;
		row->by = capability->mechanism;
		if (preparation->planned)
			fill_rounded(policy, &preparation->plan, control, row);
	} else {
		row->state = row->preferred ? EXPLAIN_NOT_ENFORCED : EXPLAIN_REFUSED;
		row->by = capability->reason;
	}
}

static void fill_languages(const struct policy *policy, const struct preparation *preparation,
			   struct explain_row *row)
{
	const struct policy_unmet *unmet =
	    find_unmet(&preparation->match, POLICY_FIELD_LANGUAGES, POLICY_CONTROL_COUNT);
	size_t used = 0;

	snprintf(row->requested, sizeof(row->requested), "%s", policy->languages.any ? "any" : "");
	for (size_t i = 0; i < policy->languages.names.count && used < sizeof(row->requested); i++)
		used += (size_t)snprintf(row->requested + used, sizeof(row->requested) - used, "%s%s",
					 i ? "," : "", policy->languages.names.items[i]);
	row->state = unmet                   ? EXPLAIN_REFUSED
		     : policy->languages.any ? EXPLAIN_UNRESTRICTED
					     : EXPLAIN_ENFORCED;
	row->by = unmet ? unmet->reason : "checked before the start";
}

/* The rows of one field: each control that it needs, or one row when it needs none. */
static size_t fill_field(const struct policy *policy, const struct preparation *preparation,
			 enum policy_field field, struct explain_row *rows)
{
	enum policy_control first = POLICY_CONTROL_COUNT;
	size_t count = 0;

	for (enum policy_control control = 0; control < POLICY_CONTROL_COUNT; control++) {
		if (policy_control_field(control) != field)
			continue;
		if (first == POLICY_CONTROL_COUNT)
			first = control;
		if (preparation->match.needed[control])
			fill_control(policy, preparation, control, &rows[count++]);
	}
	if (count == 0 && first != POLICY_CONTROL_COUNT)
		fill_control(policy, preparation, first, &rows[count++]);
	if (field == POLICY_FIELD_LANGUAGES)
		fill_languages(policy, preparation, &rows[count++]);
	return count;
}

size_t explain_rows(const struct policy *policy, const struct preparation *preparation,
		    struct explain_row ret[EXPLAIN_ROWS_MAX])
{
	size_t count = 0;

	memset(ret, 0, sizeof(ret[0]) * EXPLAIN_ROWS_MAX);
	for (enum policy_field field = 0; field < POLICY_FIELD_COUNT; field++) {
		for (size_t i = count; i < EXPLAIN_ROWS_MAX; i++) {
			ret[i].field = policy_field_path(field);
			ret[i].preferred = policy->preferred[field];
		}
		count += fill_field(policy, preparation, field, ret + count);
	}
	return count;
}

static bool is_about(const char *name, const char *field)
{
	const size_t len = name ? strlen(name) : 0;

	return len && strncmp(name, field, len) == 0 && (!field[len] || strchr(".[", field[len]));
}

void explain_refused(struct explain_row *rows, size_t count, const struct warder_error *refused)
{
	struct explain_row *found = NULL;

	for (size_t i = 0; i < count; i++)
		if (is_about(rows[i].control, refused->field) ||
		    (!found && is_about(rows[i].field, refused->field)))
			found = &rows[i];
	if (!found)
		return;
	found->state = EXPLAIN_REFUSED;
	found->by = refused->text;
}
