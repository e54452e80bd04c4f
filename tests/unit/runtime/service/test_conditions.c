/*
 * What differs between two texts of /proc/PID, of the service and of a caller.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "runtime/service/records.h"

static const char status[] = "Name:\tservice\nUmask:\t0022\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nFDSize:\t64\n"
			     "Groups:\t1 2 \nThreads:\t1\nCapInh:\t0\nCapEff:\t1f\nCapBnd:\t1f\nCapAmb:\t0\n"
			     "NoNewPrivs:\t0\nSeccomp:\t2\nSeccomp_filters:\t1\nCpus_allowed:\t3\n"
			     "Cpus_allowed_list:\t0-1\nMems_allowed:\t1\nMems_allowed_list:\t0\n"
			     "voluntary_ctxt_switches:\t7\n";

static bool is_one_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

Test(conditions, each_difference_of_a_text_has_its_name, .timeout = 10)
{
	static const struct row {
		enum service_text which;
		const char *ours, *theirs,
		    *what; /* of status: a part of it, and what is there in its place */
	} rows[] = {
		{ SERVICE_STATUS, "Name:\tservice", "Name:\tother", NULL },
		{ SERVICE_STATUS, "switches:\t7", "switches:\t8", NULL },
		{ SERVICE_STATUS, "Uid:\t0", "Uid:\t1", "user" },
		{ SERVICE_STATUS, "Gid:\t0", "Gid:\t1", "group" },
		{ SERVICE_STATUS, "Gid:\t0\t0\t0\t0", "Gid:\t0\t0\t0\t1", "group" },
		{ SERVICE_STATUS, "Groups:\t1 2", "Groups:\t1 2 3", "list of groups" },
		{ SERVICE_STATUS, "CapEff:\t1f", "CapEff:\t00", "set of capabilities" },
		{ SERVICE_STATUS, "CapBnd:\t1f", "CapBnd:\t0f", "bounding set" },
		{ SERVICE_STATUS, "NoNewPrivs:\t0", "NoNewPrivs:\t1", "no_new_privs" },
		{ SERVICE_STATUS, "filters:\t1", "filters:\t2", "system call filter" },
		{ SERVICE_STATUS, "Cpus_allowed:\t3", "Cpus_allowed:\t1", "set of processors" },
		{ SERVICE_STATUS, "Mems_allowed:\t1", "Mems_allowed:\t3", "set of memory nodes" },
		{ SERVICE_STATUS, "Mems_allowed:\t1\n", "", "set of memory nodes" },
		{ SERVICE_CGROUP, "0::/a\n", "0::/a\n", NULL },
		{ SERVICE_CGROUP, "0::/a\n", "0::/b\n", "cgroup" },
		{ SERVICE_LIMITS, "Max open files 64\n", "Max open files 64\n", NULL },
		{ SERVICE_LIMITS, "Max open files 64\n", "Max open files 65\n", "resource limit (ulimit)" },
		{ SERVICE_OOM, "0\n", "0\n", NULL },
		{ SERVICE_OOM, "0\n", "500\n", "oom_score_adj" },
		{ SERVICE_LABEL, "warder (enforce)\n", "warder (enforce)\n", NULL },
		{ SERVICE_LABEL, "warder (enforce)\n", "unconfined\n", "security label" },
		{ SERVICE_LABEL, "system_u:system_r:a_t:s0", "system_u:system_r:a_t:s0:c1",
		  "security label" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const struct row *row = &rows[i];
		const bool is_status = row->which == SERVICE_STATUS;
		const char *part = is_status ? strstr(status, row->ours) : NULL;
		const char *ours = is_status ? status : row->ours, *what;
		char theirs[1000];

		cr_assert(part || !is_status, "row %zu", i);
		snprintf(theirs, sizeof(theirs), "%.*s%s%s", part ? (int)(part - status) : 0, status,
			 row->theirs, part ? part + strlen(row->ours) : "");
		what = service_text_difference(row->which, theirs, ours);
		cr_expect(is_one_text(what, row->what), "row %zu: %s", i, what ? what : "none");
		what = service_text_difference(row->which, ours, theirs);
		cr_expect(is_one_text(what, row->what), "row %zu, the other way round: %s", i,
			  what ? what : "none");
	}
}
