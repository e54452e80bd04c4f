/* The fork server, below the pool: when a zygote is replaced, and forks that end while they are set up. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/text.h"
#include "jail/cgroup/file.h"
#include "jail/template.h"
#include "jail/zygote.h"
#include "runtime/library/interpreters.h"
#include "runtime/library/library.h"
#include "runtime/library/nursery.h"
#include "runtime/library/preparation.h"
#include "tests/lib/jailed.h"

struct stage {
	struct warder_template *zygote, *forked; /* the first becomes a nursery's */
	char **words, **zygote_words;
	struct nursery *nursery;
	struct nursery_counts counts;
	struct warder_error err;
};

/* Skip what this host or user cannot do. */
static void need(int ret, const struct stage *stage)
{
	const uint32_t code = stage->err.code;

	if (ret == 0)
		return;
	cr_assert(code == WARDER_ERROR_UNSUPPORTED_POLICY || code == WARDER_ERROR_NOT_FOUND, "%s: %s",
		  stage->err.step, stage->err.text);
	cr_skip_test("%s", stage->err.text);
}

static void begin(struct stage *stage)
{
	static const struct policy_subject subject = { "python", POLICY_PAYLOAD_SOURCE };
	const struct preparation_options zygote = { .subject = &subject, .zygote = true };
	const struct preparation_options forked = { .subject = &subject, .forked = true };
	struct jailed *j = jailed_new(); /* for its policy */
	int ret;

	memset(stage, 0, sizeof(*stage));
	stage->words = interpreters_words("python", NULL, &stage->err);
	stage->zygote_words = stage->words ? interpreters_zygote_words(stage->words, &stage->err) : NULL;
	ret = stage->zygote_words ? library_prepare(&j->policy, &zygote, false, &stage->zygote, &stage->err)
				  : -1;
	if (ret == 0)
		ret = library_prepare(&j->policy, &forked, false, &stage->forked, &stage->err);
	jailed_free(j);
	need(ret, stage);
}

static void begin_nursery(struct stage *stage)
{
	begin(stage);
	stage->nursery = nursery_new(stage->zygote, stage->zygote_words, &stage->counts, &stage->err);
	cr_assert(stage->nursery, "%s", stage->err.text);
}

static void end(struct stage *stage)
{
	nursery_drop(stage->nursery);
	warder_template_free(stage->forked);
	interpreters_free(stage->words, text_count(stage->words));
}

static struct jail_template *forked(const struct stage *stage)
{
	return library_jail_template(stage->forked);
}

/* ---- rotation ---- */

/* Init of the zygote that has forked the jail. */
static pid_t zygote_of(const struct jail_run *run)
{
	return run->zygote->run->init_pid;
}

static bool lives(pid_t pid)
{
	return kill(pid, 0) == 0;
}

static void park(struct stage *stage, struct jail_run **ret)
{
	need(nursery_park(stage->nursery, forked(stage), stage->words, false, ret, &stage->err), stage);
}

Test(nursery, a_zygote_is_replaced_after_its_forks_and_ends_with_the_last_of_them, .timeout = 120)
{
	struct jail_run *runs[5];
	struct stage stage;
	pid_t first, last;

	begin_nursery(&stage);
	nursery_limit(stage.nursery, 2, NURSERY_LIVING, NURSERY_US);
	for (size_t i = 0; i < ARRAY_LENGTH(runs); i++) {
		park(&stage, &runs[i]);
		cr_expect(stage.counts.zygotes == i / 2 + 1 && stage.counts.forked == i + 1,
			  "jail %zu: %d zygotes", i, (int)stage.counts.zygotes);
	}
	first = zygote_of(runs[0]);
	last = zygote_of(runs[4]);
	cr_expect(zygote_of(runs[1]) == first && zygote_of(runs[2]) != first &&
		  zygote_of(runs[3]) == zygote_of(runs[2]) && zygote_of(runs[2]) != last);
	jail_run_free(runs[0]);
	cr_expect(lives(first), "a zygote ends before its last jail");
	jail_run_free(runs[1]);
	cr_expect(!lives(first), "a zygote outlives its last jail");
	for (size_t i = 2; i < ARRAY_LENGTH(runs); i++)
		jail_run_free(runs[i]);
	cr_expect(lives(last), "the present zygote ends with its jail");
	nursery_drop(stage.nursery);
	stage.nursery = NULL;
	cr_expect(!lives(last));
	end(&stage);
}

Test(nursery, a_zygote_is_replaced_after_its_time, .timeout = 120)
{
	struct jail_run *run;
	struct stage stage;

	begin_nursery(&stage);
	nursery_limit(stage.nursery, NURSERY_FORKS, NURSERY_LIVING, 0);
	for (unsigned int i = 1; i <= 3; i++) {
		park(&stage, &run);
		cr_expect(stage.counts.zygotes == i && stage.counts.forked == i, "%d zygotes",
			  (int)stage.counts.zygotes);
		jail_run_free(run);
	}
	end(&stage);
}

/* All of them would end at once with it. */
Test(nursery, a_zygote_is_replaced_while_it_has_too_many_jails, .timeout = 120)
{
	struct jail_run *runs[4];
	struct stage stage;

	begin_nursery(&stage);
	nursery_limit(stage.nursery, NURSERY_FORKS, 2, NURSERY_US);
	for (size_t i = 0; i < 3; i++)
		park(&stage, &runs[i]);
	cr_expect(stage.counts.zygotes == 2 && zygote_of(runs[0]) == zygote_of(runs[1]) &&
		  zygote_of(runs[1]) != zygote_of(runs[2]));
	jail_run_free(runs[2]);
	for (size_t i = 2; i < 4; i++)
		park(&stage, &runs[i]);
	cr_expect(stage.counts.zygotes == 2, "%d zygotes, though there is room", (int)stage.counts.zygotes);
	for (size_t i = 0; i < 4; i++)
		jail_run_free(runs[i]);
	end(&stage);
}

Test(nursery, a_parked_fork_keeps_no_descriptor_to_join_its_cgroup_by, .timeout = 120)
{
	struct jail_run *run;
	struct stage stage;

	begin_nursery(&stage);
	park(&stage, &run);
	cr_expect(run->cgroup.join_v2_fd < 0);
	for (int i = 0; i < CGROUP_HIERARCHIES_MAX; i++)
		cr_expect(run->cgroup.join_v1_fd[i] < 0, "hierarchy %d", i);
	jail_run_free(run);
	end(&stage);
}

static void expect_no_capability(const char *who, int proc_fd)
{
	static const char *const sets[] = { "\nCapInh:\t", "\nCapPrm:\t", "\nCapEff:\t", "\nCapBnd:\t",
					    "\nCapAmb:\t" };
	owned_fd int fd = openat(proc_fd, "status", O_RDONLY | O_CLOEXEC);
	char text[4096] = "";

	cr_assert(read(fd, text, sizeof(text) - 1) > 0, "%s", who);
	for (size_t i = 0; i < ARRAY_LENGTH(sets); i++) {
		const char *at = strstr(text, sets[i]);

		cr_expect(at && strtoull(at + strlen(sets[i]), NULL, 16) == 0, "%s:%.26s", who,
			  at ? at : sets[i]);
	}
}

static void expect_no_capabilities(const struct jail_run *run)
{
	char path[32];
	owned_fd int init_fd = -1;

	snprintf(path, sizeof(path), "/proc/%d", run->init_pid);
	init_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	expect_no_capability("init", init_fd);
	expect_no_capability("payload", run->proc_fd);
}

/* Init of a zygote stops no process, unlike that of a jail in a crowd, so it does not keep CAP_KILL. */
Test(nursery, no_process_of_a_zygote_or_a_fork_has_a_capability, .timeout = 120)
{
	struct jail_run *run;
	struct stage stage;

	begin_nursery(&stage);
	park(&stage, &run);
	expect_no_capabilities(run->zygote->run);
	expect_no_capabilities(run);
	jail_run_free(run);
	end(&stage);
}

/* A process that does not belong there keeps a cgroup of the zygote. */
Test(nursery, what_stays_of_a_zygote_is_told, .timeout = 120)
{
	struct jail_run *run;
	struct stage stage;
	char path[300] = "";
	glob_t found;

	begin_nursery(&stage);
	park(&stage, &run);
	snprintf(path, sizeof(path), "/sys/fs/cgroup{/*/*,/*,}/%s", run->zygote->run->cgroup.name);
	if (glob(path, GLOB_BRACE, NULL, &found) != 0)
		cr_skip_test("no cgroup of the zygote is found: %s", path);
	/* On cgroup v2, Warder forbids cgroups below it. */
	snprintf(path, sizeof(path), "%s/cgroup.max.descendants", found.gl_pathv[0]);
	cr_assert(cgroup_file_write(AT_FDCWD, path, "max") == 0 || errno == ENOENT, "%s: %m", path);
	snprintf(path, sizeof(path), "%s/left", found.gl_pathv[0]);
	globfree(&found);
	cr_assert(mkdir(path, 0755) == 0);
	jail_run_free(run);
	nursery_drop(stage.nursery);
	stage.nursery = NULL;
	cr_expect(atomic_load(&stage.counts.failed) && *stage.counts.failure.text, "nothing is told");
	rmdir(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
	end(&stage);
}

/* ---- a fork that cannot be set up ---- */

/* The zygote's user namespace has at most 65536 ids. */
Test(nursery, an_id_that_cannot_be_mapped_is_told, .timeout = 120)
{
	static const char told[] = "cannot map the ids of a fork: uid_map";
	struct jail_zygote *zygote = NULL;
	struct jail_run *run = NULL;
	struct stage stage;

	begin(&stage);
	need(jail_zygote_new(library_jail_template(stage.zygote), stage.zygote_words, NULL, NULL, &zygote,
			     &stage.err),
	     &stage);
	forked(&stage)->plan.uid += 100000;
	cr_expect(jail_fork(forked(&stage), zygote, &run, &stage.err) < 0 && !run);
	cr_expect(strncmp(stage.err.text, told, sizeof(told) - 1) == 0, "%s", stage.err.text);
	forked(&stage)->plan.uid -= 100000;
	cr_assert(jail_fork(forked(&stage), zygote, &run, &stage.err) == 0, "%s", stage.err.text);
	jail_run_free(run);
	jail_zygote_drop(zygote);
	interpreters_free(stage.zygote_words, text_count(stage.zygote_words));
	warder_template_free(stage.zygote);
	end(&stage);
}

/* ---- a fork that ends ---- */

/* Those of a single-threaded process that have not died. */
static int living_children(pid_t pid)
{
	char path[64], state;
	int child, count = 0;
	FILE *list, *stat;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	list = fopen(path, "re");
	while (list && fscanf(list, "%d", &child) == 1) {
		snprintf(path, sizeof(path), "/proc/%d/stat", child);
		stat = fopen(path, "re");
		count += stat && fscanf(stat, "%*d (%*[^)]) %c", &state) == 1 && state != 'Z';
		if (stat)
			fclose(stat);
	}
	if (list)
		fclose(list);
	return count;
}

/* Its init, or its payload, ends after a step without a word, as one that is killed does. */
Test(nursery, a_fork_that_ends_at_any_step_leaves_its_zygote_and_nothing_else, .timeout = 300)
{
	static const char *const names[] = {
#define X(id, name) [WIRE_STEP_##id] = name,
		WIRE_STEPS(X)
#undef X
	};
	struct jail_zygote *zygote = NULL;
	struct jail_run *run;
	unsigned int died = 0;
	struct stage stage;

	begin(&stage);
	need(jail_zygote_new(library_jail_template(stage.zygote), stage.zygote_words, NULL, NULL, &zygote,
			     &stage.err),
	     &stage);
	for (uint32_t step = WIRE_STEP_BLOCK + 1; step <= WIRE_STEP_COUNT; step++) {
		/* The last round is without a fault. */
		const char *name = step < WIRE_STEP_COUNT ? names[step] : "none";
		int ret;

		forked(&stage)->fail_step = step < WIRE_STEP_COUNT ? step | WIRE_DIES : WIRE_STEP_NONE;
		run = NULL;
		ret = jail_fork(forked(&stage), zygote, &run, &stage.err);
		if (ret == 0)
			ret = jail_warm(run, stage.words, false, &stage.err);
		cr_expect(ret == 0 || (stage.err.code != WARDER_ERROR_NONE && *stage.err.text),
			  "%s: no reason", name);
		cr_expect(ret != 0 || run, "%s", name);
		died += ret != 0;
		jail_run_free(run);
		cr_expect(!jail_zygote_is_stale(zygote), "%s: the zygote has died", name);
		cr_expect(living_children(zygote->run->program_pid) == 0, "%s: a process is left", name);
		cr_expect(step < WIRE_STEP_COUNT || ret == 0, "afterwards: %s", stage.err.text);
	}
	/* Some steps are those of other jails. */
	cr_expect(died >= 20, "only %u steps", died);
	jail_zygote_drop(zygote);
	interpreters_free(stage.zygote_words, text_count(stage.zygote_words));
	warder_template_free(stage.zygote);
	end(&stage);
}
