/*
 * The rows of a backend's capabilities, one control each.
 */
#include <stdarg.h>
#include <stdio.h>

#include "policy/policy.h"

void policy_capability_enforced(struct policy_capabilities *to, enum policy_control control,
				const char *mechanism)
{
	struct policy_capability *row = &to->controls[control];

	row->enforced = true;
	row->reason[0] = '\0';
	snprintf(row->mechanism, sizeof(row->mechanism), "%s", mechanism);
}

void policy_capability_refused(struct policy_capabilities *to, enum policy_control control,
			       const char *format, ...)
{
	struct policy_capability *row = &to->controls[control];
	va_list args;

	row->enforced = false;
	row->mechanism[0] = '\0';
	va_start(args, format);
	vsnprintf(row->reason, sizeof(row->reason), format, args);
	va_end(args);
}
