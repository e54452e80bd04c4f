/*
 * jailed: runs one program under a policy through jail/jail.h and keeps what a test asks about. For one test program each.
 */
#ifndef WARDER_TESTS_JAILED_H
#define WARDER_TESTS_JAILED_H

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "jail/jail.h"

struct jailed {
	struct policy policy;
	struct jail_host host;
	struct policy_capabilities capabilities;
	struct policy_match match;
	struct jail_plan plan;
	struct jail_template *tmpl;
	struct jail_run *run;
	struct policy_receipt receipt;
	struct jail_outcome outcome;
	struct jail_command command;
	struct warder_error err;
	int step; /* 0 ok; 1 refused by the match, 2 plan, 3 prepare, 4 launch, 5 supervise */
};

/* An ordinary user may have no control groups: the limits that need them are then not what a test is about. */
static inline void jailed_prefer(struct jailed *jailed)
{
	static const struct {
		enum cgroup_controller controller;
		enum policy_field field;
	} rows[] = {
		{ CGROUP_MEMORY, POLICY_FIELD_MEMORY },
		{ CGROUP_PIDS, POLICY_FIELD_PIDS },
		{ CGROUP_CPU, POLICY_FIELD_CPUS },
		{ CGROUP_ACCOUNT, POLICY_FIELD_CPU_TIME },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(rows) && !jailed->host.privileged; i++)
		if (jailed->host.cgroup.hierarchy_of[rows[i].controller] < 0)
			jailed->policy.preferred[rows[i].field] = true;
}

/* How many times longer things take on this kernel; for what must have got somewhere before a deadline. */
static inline unsigned int jailed_slow(void)
{
	const char *slow = getenv("WARDER_TEST_SLOW");

	return slow && atoi(slow) > 1 ? (unsigned int)atoi(slow) : 1;
}

/*
 * The strict preset on this host, with the time that it needs, to be changed before jailed_prepare(). Control groups
 * below `parent` (NULL: default).
 */
static inline struct jailed *jailed_new_below(const char *parent)
{
	const struct jail_probe_options options = { .cgroup_parent = parent, .overlay = true };
	struct jailed *jailed = calloc(1, sizeof(*jailed));

	if (!jailed || policy_preset("strict", &jailed->policy, &jailed->err) < 0)
		abort();
	jailed->policy.limits.wall_time_us *= jailed_slow();
	jailed->policy.limits.cpu_time_us *= jailed_slow();
	jailed->command.stdin_fd = -1;
	jail_probe(&options, &jailed->host);
	jailed_prefer(jailed);
	return jailed;
}

/* Within so many tenths of a second. */
static inline bool process_gone(pid_t pid, int tenths)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	while (tenths-- > 0) {
		if (access(path, F_OK) < 0)
			return true;
		usleep(100000);
	}
	return false;
}

static inline struct jailed *jailed_new(void)
{
	return jailed_new_below(NULL);
}

static inline int jailed_prepare(struct jailed *jailed, bool reusable)
{
	static const struct policy_subject subject = { "command", POLICY_PAYLOAD_PROGRAM };

	jail_capabilities(&jailed->host, &jailed->policy, &jailed->capabilities);
	if (policy_match(&jailed->policy, &jailed->capabilities, &subject, &jailed->match, &jailed->err) < 0)
		return jailed->step = 1;
	if (jail_plan_build(&jailed->policy, &jailed->host, &jailed->capabilities, &jailed->match, NULL, NULL,
			    &jailed->plan, &jailed->err) < 0)
		return jailed->step = 2;
	if (jail_prepare(&jailed->plan, &jailed->host, reusable, &jailed->tmpl, &jailed->err) < 0)
		return jailed->step = 3;
	return jailed->step = 0;
}

/* From launch to end. */
static inline int jailed_go(struct jailed *jailed, char *const *argv)
{
	jail_outcome_done(&jailed->outcome);
	jailed->command.argv = argv;
	if (jail_launch(jailed->tmpl, &jailed->command, &jailed->run, &jailed->err) < 0)
		return jailed->step = 4;
	jailed->receipt = *jail_run_receipt(jailed->run);
	jailed->step = jail_supervise(jailed->run, &jailed->outcome, &jailed->err) < 0 ? 5 : 0;
	jail_run_free(jailed->run);
	jailed->run = NULL;
	return jailed->step;
}

static inline int jailed_run(struct jailed *jailed, const char *program, const char *arg1, const char *arg2)
{
	char *argv[] = { (char *)program, (char *)arg1, (char *)arg2, NULL };

	if (!jailed->tmpl && jailed_prepare(jailed, false) != 0)
		return jailed->step;
	return jailed_go(jailed, argv);
}

static inline int jailed_sh(struct jailed *jailed, const char *script)
{
	return jailed_run(jailed, "/bin/sh", "-c", script);
}

static inline int jailed_python(struct jailed *jailed, const char *script)
{
	return jailed_run(jailed, "/usr/bin/python3", "-c", script);
}

static inline void jailed_free(struct jailed *jailed)
{
	jail_outcome_done(&jailed->outcome);
	jail_run_free(jailed->run);
	jail_template_free(jailed->tmpl);
	jail_plan_done(&jailed->plan);
	jail_host_done(&jailed->host);
	policy_done(&jailed->policy);
	free(jailed);
}

static inline const char *jailed_text(const struct jailed *jailed, enum jail_stream stream)
{
	return jailed->outcome.output[stream].bytes ? jailed->outcome.output[stream].bytes : "";
}

/* The receipt's row of a control, or an empty one. */
static inline struct policy_receipt_row jailed_row(const struct jailed *jailed, const char *control)
{
	for (size_t i = 0; i < jailed->receipt.count; i++)
		if (strcmp(jailed->receipt.rows[i].control, control) == 0)
			return jailed->receipt.rows[i];
	return (struct policy_receipt_row){ .control = "" };
}

/* Skip, with the reason, what this host or user cannot do. */
static inline void jailed_need(const struct jailed *jailed, enum cgroup_controller controller)
{
	if (jailed->host.cgroup.hierarchy_of[controller] < 0)
		cr_skip_test("%s", jailed->host.cgroup.reason[controller]);
}

/* ---- what is on the host: to be equal before and after ---- */

struct ledger {
	int children, descriptors, mounts, cgroups;
};

static inline int ledger_entries(const char *path, const char *prefix)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int count = 0;

	while (dir && (entry = readdir(dir)))
		count += entry->d_name[0] != '.' && strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
	if (dir)
		closedir(dir);
	return count;
}

static inline int ledger_lines(const char *path)
{
	FILE *file = fopen(path, "re");
	int count = 0;
	int c;

	while (file && (c = fgetc(file)) != EOF)
		count += c == '\n';
	if (file)
		fclose(file);
	return count;
}

/* Leaves of this process only: others may run at the same time. */
static inline struct ledger ledger_take(const struct jail_host *host)
{
	struct ledger ledger = { 0 };
	char name[64];
	char children[64];
	FILE *file;
	int pid;

	snprintf(name, sizeof(name), "warder-%d-", getpid());
	for (size_t i = 0; i < host->cgroup.hierarchy_count; i++)
		ledger.cgroups += ledger_entries(host->cgroup.hierarchies[i].base, name);
	ledger.descriptors = ledger_entries("/proc/self/fd", "");
	ledger.mounts = ledger_lines("/proc/self/mountinfo");
	snprintf(children, sizeof(children), "/proc/self/task/%d/children", getpid());
	file = fopen(children, "re");
	while (file && fscanf(file, "%d", &pid) == 1)
		ledger.children++;
	if (file)
		fclose(file);
	return ledger;
}

static inline void ledger_check(const struct ledger *before, const struct jail_host *host, const char *label)
{
	struct ledger after = ledger_take(host);

	cr_expect(after.children == before->children, "%s: %d children, before %d", label, after.children,
		  before->children);
	/* A template may have had a network namespace ready, which the launch took. */
	cr_expect(after.descriptors <= before->descriptors, "%s: %d descriptors, before %d", label,
		  after.descriptors, before->descriptors);
	cr_expect(after.mounts == before->mounts, "%s: %d mounts, before %d", label, after.mounts,
		  before->mounts);
	cr_expect(after.cgroups == before->cgroups, "%s: %d cgroups, before %d", label, after.cgroups,
		  before->cgroups);
}

#endif
