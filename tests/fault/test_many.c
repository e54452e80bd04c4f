/*
 * Many: jails at once, runs in a row. Nothing grows: neither what the process holds (memory, descriptors) nor what the
 * kernel holds for it (cgroups, mounts, processes; its slabs are a figure only, since they are everybody's).
 */
#include <sys/resource.h>

#include "tests/fault/stage.h"

/* ---- what can grow ---- */

struct figures {
	long rss_kib, descriptors, slab_kib, dying, memory_cgroups, net_objects;
};

/* The number after `key` in a file, or -1. */
static long number_in(const char *path, const char *key)
{
	FILE *file = fopen(path, "re");
	char line[400];
	long value = -1;

	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, key, strlen(key)) == 0) {
			value = strtol(line + strlen(key) + strspn(line + strlen(key), ": \t"), NULL, 10);
			break;
		}
	if (file)
		fclose(file);
	return value;
}

/* Cgroups of the memory controller (v1), dying ones included, which only the kernel sees. */
static long memory_cgroups(void)
{
	FILE *file = fopen("/proc/cgroups", "re");
	char line[200];
	long count = -1;

	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, "memory", 6) == 0)
			sscanf(line, "%*s %*d %ld", &count);
	if (file)
		fclose(file);
	return count;
}

static struct figures measure(struct stage *stage)
{
	struct figures figures = {
		.rss_kib = number_in("/proc/self/status", "VmRSS"),
		.descriptors = stage_descriptors(),
		.slab_kib = number_in("/proc/meminfo", "SUnreclaim"),
		.dying = -1,
		.memory_cgroups = memory_cgroups(),
		.net_objects = number_in("/proc/slabinfo", "net_namespace"),
	};
	const struct cgroup_host *host = &stage->host.cgroup;
	char path[CGROUP_BASE_MAX + 32];

	if (host->v2 >= 0) {
		snprintf(path, sizeof(path), "%s/cgroup.stat", host->hierarchies[host->v2].base);
		figures.dying = number_in(path, "nr_dying_descendants");
	}
	return figures;
}

static void tell_growth(const char *what, long count, double seconds, const struct figures *before,
			const struct figures *after)
{
	stage_note("%s, %ld times in %.1f s: resident memory %ld -> %ld KiB, descriptors %ld -> %ld, dying "
		   "cgroups (v2) "
		   "%ld -> %ld, memory cgroups of the host (v1, dying too) %ld -> %ld, network namespaces of "
		   "the host "
		   "%ld -> %ld, its unreclaimable slabs %ld -> %ld KiB",
		   what, count, seconds, before->rss_kib, after->rss_kib, before->descriptors,
		   after->descriptors, before->dying, after->dying, before->memory_cgroups,
		   after->memory_cgroups, before->net_objects, after->net_objects, before->slab_kib,
		   after->slab_kib);
}

/* ---- in a row ---- */

Test(many, runs_of_one_template, .timeout = 6000)
{
	struct stage *stage = stage_new();
	struct jailed *j = jailed_new_below(stage->parent);
	char *argv[] = { "/bin/true", NULL };
	const long warm = stage_amount(5, 30, 200);
	const long runs = stage_amount(20, 150, 5000);
	struct inventory before;
	struct figures first, last;
	uint64_t start_us;
	char text[1200];
	long bad = 0;

	cr_assert_eq(jailed_prepare(j, true), 0, "%s", j->err.text);
	for (long i = 0; i < warm; i++)
		cr_assert_eq(jailed_go(j, argv), 0, "%s", j->err.text);
	usleep(300000);
	inventory_take(&stage->scope, &before);
	first = measure(stage);
	start_us = clock_us();
	for (long i = 0; i < runs; i++) {
		if (jailed_go(j, argv) != 0 || j->outcome.exit_code != 0)
			bad++;
		cr_expect(bad < 5, "run %ld: %s %s", i, j->err.text, j->outcome.detail);
		if (bad >= 5)
			break;
	}
	last = measure(stage);
	tell_growth("a run of one template", runs, (double)(clock_us() - start_us) / 1e6, &first, &last);
	cr_expect_eq(bad, 0, "%ld of %ld runs failed", bad, runs);
	cr_expect(inventory_settle(&stage->scope, &before, true, STAGE_SETTLE_S, text, sizeof(text)) >= 0,
		  "%s", text);
	cr_expect(last.rss_kib - first.rss_kib <= 256, "%ld KiB of memory, before %ld", last.rss_kib,
		  first.rss_kib);
	inventory_done(&before);
	jailed_free(j);
	stage_done(stage);
}

Test(many, templates_in_a_row, .timeout = 3000)
{
	struct stage *stage = stage_new();
	const long rounds = stage_amount(4, 30, 500);
	struct figures first = { 0 };
	struct figures last;
	uint64_t start_us = clock_us();

	for (long i = 0; i < rounds; i++) {
		struct jailed *j = jailed_new_below(stage->parent);

		cr_assert_eq(jailed_run(j, "/bin/true", NULL, NULL), 0, "%s", j->err.text);
		jailed_free(j);
		if (i == rounds / 4)
			first = measure(stage);
	}
	last = measure(stage);
	tell_growth("probe, prepare, run and free", rounds, (double)(clock_us() - start_us) / 1e6, &first,
		    &last);
	cr_expect(last.rss_kib - first.rss_kib <= 256, "%ld KiB of memory, before %ld", last.rss_kib,
		  first.rss_kib);
	stage_done(stage);
}

/* `warder run`, as a shell would. The default parent of cgroups, as for everybody. */
Test(many, runs_of_the_tool, .timeout = 3000)
{
	const char *tool = getenv("WARDER");
	struct stage *stage = stage_new();
	const long rounds = stage_amount(3, 20, 500);
	struct figures first, last;
	uint64_t start_us;

	if (!tool)
		cr_skip_test("WARDER does not name the tool");
	first = measure(stage);
	start_us = clock_us();
	for (long i = 0; i < rounds; i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			char *const args[] = { (char *)tool, "run",         "--prefer", "limits.memory",
					       "--prefer",   "limits.swap", "--prefer", "limits.pids",
					       "--prefer",   "limits.cpus", "--prefer", "limits.cpuTime",
					       "--",         "true",        NULL };
			execv(tool, args);
			_exit(99);
		}
		status = stage_wait(pid, 60);
		cr_expect_eq(status, 0, "run %ld: status %x", i, (unsigned int)status);
	}
	last = measure(stage);
	tell_growth("warder run", rounds, (double)(clock_us() - start_us) / 1e6, &first, &last);
	stage_done(stage);
}

/* ---- at once ---- */

Test(many, jails_at_once, .timeout = 3000)
{
	struct stage *stage = stage_new();
	struct jailed *j = jailed_new_below(stage->parent);
	const long count = stage_amount(8, 60, 300);
	struct jail_run **runs = calloc((size_t)count, sizeof(*runs));
	char *argv[] = { "/bin/sh", "-c", "sleep 1000 & read line; echo $line; exit 7", NULL };
	struct inventory all;
	struct rlimit limit;
	uint64_t start_us = clock_us();
	long launched = 0;
	long right = 0;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	cr_assert(runs != NULL);
	j->policy.limits.wall_time_us = 3600000000u;
	cr_assert_eq(jailed_prepare(j, true), 0, "%s", j->err.text);
	j->command.argv = argv;
	j->command.stdin_data = "together\n";
	j->command.stdin_len = 9;
	for (; launched < count; launched++)
		if (jail_launch(j->tmpl, &j->command, &runs[launched], &j->err) < 0)
			break;
	cr_expect_eq(launched, count, "%ld of %ld: %s", launched, count, j->err.text);
	inventory_take(&stage->scope, &all);
	stage_note("%ld jails at once, launched in %.1f s: %zu processes, %zu cgroups, %zu namespaces, %zu "
		   "descriptors",
		   launched, (double)(clock_us() - start_us) / 1e6, inventory_count(&all, "process"),
		   inventory_count(&all, "cgroup"), inventory_count(&all, "namespace"),
		   inventory_count(&all, "descriptor"));
	inventory_done(&all);
	/* None has had its input yet: all of them live until they are waited for. */
	for (long i = 0; i < launched; i++) {
		struct jail_outcome outcome;

		if (jail_supervise(runs[i], &outcome, &j->err) < 0)
			cr_expect(false, "run %ld: %s", i, j->err.text);
		right += outcome.cause == JAIL_CAUSE_EXIT && outcome.exit_code == 7 &&
			 outcome.output[JAIL_STDOUT].bytes &&
			 strcmp(outcome.output[JAIL_STDOUT].bytes, "together\n") == 0;
		jail_outcome_done(&outcome);
		jail_run_free(runs[i]);
	}
	cr_expect_eq(right, count, "%ld of %ld ended as they should", right, count);
	free(runs);
	jailed_free(j);
	stage_done(stage);
}
