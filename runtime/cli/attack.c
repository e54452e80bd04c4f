/*
 * attack: `warder doctor --attack`: hostile code, tried against the policy that is about to be used.
 *
 * Each row of the table of warder-attempts is run twice. Outside, as a plain child, it shows that it would succeed there. Then it runs in a
 * fresh jail under the policy, with these differences: the program itself is shown, read-only; three attempts about time get less of it; and an
 * allow-list has one more name, which leads to the host. Its answer is compared with the answers that the row calls sound:
 *
 *   stopped   a sound answer inside, and it succeeded outside, or the row says why it is not run there
 *   NOT       anything else inside: the attempt succeeded, or was stopped by something that was not meant
 *             to
 *   allowed   the policy gives what is attempted
 *   unproved  a sound answer inside, but it did not succeed outside either, which proves nothing
 *   untried   it cannot be tried under this policy or on this host
 *
 * With --session, each attempt is an execution in a session of its own, and attempts that need a session are tried, too. After an attempt, the
 * next execution in its session must still be as the policy says.
 *
 * Attempts on pools run in jails that were parked, and handed out as a pool hands them out. One more jail is parked all the time: it must
 * be unchanged at the end.
 *
 * After every run, none of its processes may be left, and the objects that were put on the host must be unchanged.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "runtime/attack/marks.h"
#include "runtime/attack/pool.h"
#include "runtime/attack/session.h"
#include "runtime/attack/table.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/ending.h"
#include "runtime/cli/term.h"
#include "runtime/library/preparation.h"

#define OUTSIDE_SECONDS 60 /* for one attempt outside, on a slow machine */
#define LINE_BYTES      4096

enum state { STATE_STOPPED, STATE_OPEN, STATE_ALLOWED, STATE_UNPROVED, STATE_UNTRIED, STATE_COUNT };

static const struct {
	const char *name, *plural;
	enum term_style style;
} states[STATE_COUNT] = {
	[STATE_STOPPED] = { "stopped", "stopped", TERM_GOOD },
	[STATE_OPEN] = { "NOT", "NOT stopped", TERM_BAD },
	[STATE_ALLOWED] = { "allowed", "allowed by the policy", TERM_WARN },
	[STATE_UNPROVED] = { "unproved", "prove nothing on this host", TERM_DIM },
	[STATE_UNTRIED] = { "untried", "not tried", TERM_DIM },
};

/* What an attempt said: a word and a remark. */
struct answer {
	char word[32], note[200];
};

struct finding {
	const struct attack_row *row;
	enum state state;
	struct answer inside, outside; /* word "": it was not run there */
	char reason[300];
	uint64_t ms;
};

/* A jail that attempts run in: the policy's, or one with less time. */
struct setting {
	struct preparation preparation;
	struct jail_template *tmpl;
};

struct attack {
	const struct args *args;
	struct attack_table table;
	struct attack_marks marks;
	struct attack_pool pool;
	struct setting usual, hasty, thrifty;
	char changed[200]; /* what differs from the policy, for people */
	char broken[200];  /* what came of the attempt in its session; or "" */
	struct finding *findings;
	size_t count[STATE_COUNT];
};

static struct jail_run *volatile running;

static void cancel_running(void)
{
	if (running)
		jail_cancel(running);
}

/* ---- answers ---- */

/* "NAME <tab> WORD <tab> note", the last line that begins so. */
static void parse_answer(const char *text, const char *name, struct answer *ret)
{
	size_t length = strlen(name);

	memset(ret, 0, sizeof(*ret));
	for (const char *at = text; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
		const char *word = at + length + 1;
		size_t end = strcspn(at, "\n");
		size_t tab;

		if (end <= length || strncmp(at, name, length) != 0 || at[length] != '\t')
			continue;
		tab = strcspn(word, "\t\n");
		snprintf(ret->word, sizeof(ret->word), "%.*s", (int)tab, word);
		if (word[tab] == '\t')
			snprintf(ret->note, sizeof(ret->note), "%.*s", (int)strcspn(word + tab + 1, "\n"),
				 word + tab + 1);
	}
}

/* Run it as a plain child, with the caller's environment and what he left open. */
static void try_outside(struct attack *attack, const struct attack_row *row, struct answer *ret)
{
	char *argv[ATTACK_ARGUMENTS_MAX] = { attack->table.program, (char *)"--outside", (char *)row->name };
	char text[LINE_BYTES];
	size_t len = 0;
	ssize_t n;
	struct pollfd answer = { .events = POLLIN };
	int pipes[2];
	pid_t pid;

	attack_marks_arguments(&attack->marks, true, argv, 3);
	memset(ret, 0, sizeof(*ret));
	if (pipe2(pipes, O_CLOEXEC) != 0)
		return;
	pid = fork();
	if (pid == 0) {
		int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

		dup2(null_fd, STDIN_FILENO);
		dup2(pipes[1], STDOUT_FILENO);
		dup2(null_fd, STDERR_FILENO);
		alarm(OUTSIDE_SECONDS);
		execv(argv[0], argv);
		_exit(127);
	}
	close(pipes[1]);
	answer.fd = pipes[0];
	while (pid > 0 && len + 1 < sizeof(text) && poll(&answer, 1, OUTSIDE_SECONDS * 1000) != 0 &&
	       ((n = read(pipes[0], text + len, sizeof(text) - 1 - len)) > 0 || (n < 0 && errno == EINTR)))
		len += n > 0 ? (size_t)n : 0;
	text[len] = '\0';
	close(pipes[0]);
	if (pid > 0)
		child_wait(pid, CHILD_PATIENCE_MS, NULL);
	parse_answer(text, row->name, ret);
}

static bool reached_limit(const struct jail_outcome *outcome, const char *name)
{
	for (enum jail_cause cause = 0; cause < JAIL_CAUSE_COUNT; cause++)
		if (strcmp(jail_cause_name(cause), name) == 0)
			return outcome->cause == cause || outcome->hit[cause];
	return false;
}

/* The first of the row's answers that the result of the run bears out as a limit; NULL: none. */
static const char *find_limit(const struct attack_row *row, const struct jail_outcome *outcome, char *buf,
			      size_t len)
{
	char all[128];
	char *rest = all;
	const char *word;

	snprintf(all, sizeof(all), "%s", row->answer);
	while ((word = strsep(&rest, "|")) != NULL) {
		if (strncmp(word, "limit:", 6) != 0 || !reached_limit(outcome, word + 6))
			continue;
		snprintf(buf, len, "%s", word);
		return buf;
	}
	return NULL;
}

static void read_outcome(const struct attack_row *row, const struct jail_outcome *outcome, struct answer *ret)
{
	const struct jail_output *output = &outcome->output[JAIL_STDOUT];
	char limit[32];

	parse_answer(output->bytes ? output->bytes : "", row->name, ret);
	if (outcome->cause == JAIL_CAUSE_SYSCALL || outcome->signal == SIGSYS)
		snprintf(ret->word, sizeof(ret->word), "SIGSYS");
	else if (find_limit(row, outcome, limit, sizeof(limit)))
		snprintf(ret->word, sizeof(ret->word), "%s", limit);
	else if (!ret->word[0] || outcome->cause != JAIL_CAUSE_EXIT) {
		snprintf(ret->word, sizeof(ret->word), "%s", jail_cause_name(outcome->cause));
		snprintf(ret->note, sizeof(ret->note), "%.199s", outcome->detail);
	}
}

static const struct setting *choose_setting(const struct attack *attack, const struct attack_row *row)
{
	if (attack_has_word(row->needs, "short"))
		return &attack->hasty;
	return attack_has_word(row->needs, "thrifty") ? &attack->thrifty : &attack->usual;
}

/* The run of an attempt, to its end. */
static int follow(const struct attack_row *row, struct jail_run *run, struct answer *ret,
		  struct warder_error *err)
{
	struct jail_outcome outcome;
	int status;

	running = run;
	if (ending_signal())
		jail_cancel(run);
	status = jail_supervise(run, &outcome, err);
	running = NULL;
	if (status == 0) {
		read_outcome(row, &outcome, ret);
		jail_outcome_done(&outcome);
	}
	jail_run_free(run);
	return status == 0 ? 0 : error_context(err, "%s", row->name);
}

static int try_in(struct attack *attack, struct jail_template *tmpl, const struct attack_row *row,
		  struct answer *ret, struct warder_error *err)
{
	char *argv[ATTACK_ARGUMENTS_MAX] = { attack->table.program, (char *)row->name };
	const struct jail_command command = { .argv = argv, .stdin_fd = -1 };
	struct jail_run *run = NULL;

	attack_marks_arguments(&attack->marks, false, argv, 2);
	if (jail_launch(tmpl, &command, &run, err) != 0)
		return error_context(err, "%s", row->name);
	return follow(row, run, ret, err);
}

/* In a jail that was parked before. */
static int try_in_pool(struct attack *attack, const struct attack_row *row, struct answer *ret,
		       struct warder_error *err)
{
	char *argv[ATTACK_ARGUMENTS_MAX] = { attack->table.program, (char *)row->name };
	char *last_argv[] = { attack->table.program, (char *)"--last", attack->marks.token, NULL };
	const struct jail_command command = { .argv = argv, .stdin_fd = -1 };
	struct jail_run *run = NULL;
	enum attack_taken taken;

	attack_marks_arguments(&attack->marks, false, argv, 2);
	if (attack_pool_take(&attack->pool, row, last_argv, &command, &taken, &run, err) != 0)
		return error_context(err, "%s", row->name);
	if (taken == ATTACK_TAKEN)
		return follow(row, run, ret, err);
	snprintf(ret->word, sizeof(ret->word), "%s",
		 taken == ATTACK_TAKEN_REFUSED  ? "refused"
		 : taken == ATTACK_TAKEN_FAILED ? "failed"
						: "untried");
	snprintf(ret->note, sizeof(ret->note), "%.199s", err->text);
	return 0;
}

static struct preparation_options options_of(const struct attack *attack)
{
	return (struct preparation_options){ .cgroup_parent = attack->args->cgroup_parent,
					     .backend = attack->args->backend,
					     .backends = attack->args->backends };
}

/* In an execution of a session that nobody else has. */
static int try_in_session(struct attack *attack, const struct attack_row *row, struct answer *ret,
			  struct warder_error *err)
{
	const struct policy *policy = &jail_template_plan(attack->usual.tmpl)->policy;
	const struct policy *own = &jail_template_plan(choose_setting(attack, row)->tmpl)->policy;
	const struct preparation_options how = options_of(attack);
	char *joiner[ATTACK_ARGUMENTS_MAX] = { attack->table.program, (char *)"--joiner" };
	char *companion[ATTACK_ARGUMENTS_MAX] = { attack->table.program, (char *)"--companion",
						  (char *)row->name };
	struct attack_session session = { 0 };
	int status;

	attack_marks_arguments(&attack->marks, false, joiner, 2);
	attack_marks_arguments(&attack->marks, false, companion, 3);
	status = attack_session_open(&session, policy, own, &how, joiner, err);
	if (status == 0 && attack_has_word(row->needs, "companion"))
		status = attack_session_companion(&session, companion, err);
	if (status == 0 && attack_has_word(row->needs, "joiners"))
		status = attack_session_join(&session, err);
	if (status == 0)
		status = try_in(attack, session.attempt.tmpl, row, ret, err);
	attack_session_joined(&session);
	if (status == 0 && !attack_session_check(&session))
		snprintf(attack->broken, sizeof(attack->broken), "%s", session.broken);
	attack_session_close(&session);
	return status == 0 ? 0 : error_context(err, "%s", row->name);
}

static int try_inside(struct attack *attack, const struct attack_row *row, struct answer *ret,
		      struct warder_error *err)
{
	memset(ret, 0, sizeof(*ret));
	attack->broken[0] = '\0';
	if (attack_has_word(row->needs, "pool"))
		return try_in_pool(attack, row, ret, err);
	return attack->args->attack_session
		   ? try_in_session(attack, row, ret, err)
		   : try_in(attack, choose_setting(attack, row)->tmpl, row, ret, err);
}

/* ---- judging ---- */

/* Whether the policy denies the attempt's call by name; of a row that does not tell its call it may be
 * any. */
static bool may_be_denied(const struct attack_row *row, const struct policy_strings *deny)
{
	bool tells = false;

	for (const char *at = row->allowed; *at; at += strcspn(at, "|"), at += *at == '|') {
		if (strncmp(at, "call=", 5) != 0)
			continue;
		tells = true;
		for (size_t i = 0; i < deny->count; i++)
			if (strcspn(at + 5, "|") == strlen(deny->items[i]) &&
			    strncmp(at + 5, deny->items[i], strlen(deny->items[i])) == 0)
				return true;
	}
	return !tells && deny->count > 0;
}

/* Whether the filter is the first to refuse it. Where a policy lets calls pass, other layers, which `by` names as well, may be. */
static bool is_the_filters(const struct policy *policy, const struct attack_row *row)
{
	bool more = policy->syscalls.profile == POLICY_SYSCALLS_COMPAT || policy->syscalls.allow.count > 0;

	return strcmp(row->by, "seccomp filter") == 0 ||
	       (!more && strncmp(row->by, "seccomp filter", 14) == 0);
}

/* Whether this answer shows that the row's mechanism stopped the attempt. If the policy kills for a denied call, SIGSYS is sound, too, and EPERM is
 * not: then another mechanism than the filter gave it. If the policy denies calls by name, EPERM is sound. */
static bool is_sound(const struct attack *attack, const struct attack_row *row, const char *word)
{
	const struct policy *policy = &jail_template_plan(attack->usual.tmpl)->policy;
	bool filtered = strstr(row->by, "seccomp filter") != NULL;

	if (attack_has_word(row->answer, word))
		return strcmp(word, "EPERM") != 0 || policy->syscalls.on_violation != POLICY_VIOLATION_KILL ||
		       !is_the_filters(policy, row);
	if (filtered && strcmp(word, "SIGSYS") == 0)
		return policy->syscalls.on_violation == POLICY_VIOLATION_KILL &&
		       (may_be_denied(row, &policy->syscalls.deny) || attack_has_word(row->answer, "EPERM"));
	return filtered && strcmp(word, "EPERM") == 0 && may_be_denied(row, &policy->syscalls.deny);
}

/* Why it cannot be tried; NULL: it can. */
static const char *missing(const struct attack *attack, const struct attack_row *row)
{
	const struct policy *policy = &jail_template_plan(attack->usual.tmpl)->policy;

	if (attack_has_word(row->needs, "spawn") && !policy->processes.spawn)
		return "the policy lets the program start no process";
	if (attack_has_word(row->needs, "neighbour") && attack->marks.inside.pid <= 0)
		return "this attempt needs a second jail, and none could be started";
	if ((attack_has_word(row->needs, "parked") || attack_has_word(row->needs, "pool")) &&
	    !attack->pool.parked)
		return "no pool keeps jails of this policy";
	if (attack_has_word(row->needs, "storm") && attack->marks.user_mode_linux)
		return "User-mode Linux panics when many processes are killed";
	return NULL;
}

static void judge(const struct attack *attack, struct finding *finding)
{
	const struct attack_row *row = finding->row;
	bool ran_outside = strcmp(row->outside, ATTACK_OUTSIDE) == 0;

	if (strcmp(finding->inside.word, "untried") == 0) {
		finding->state = STATE_UNTRIED;
		snprintf(finding->reason, sizeof(finding->reason), "%s",
			 finding->inside.note[0] ? finding->inside.note : "its mark is missing");
	} else if (!is_sound(attack, row, finding->inside.word)) {
		finding->state = STATE_OPEN;
		snprintf(finding->reason, sizeof(finding->reason), "expected %s%s%s", row->answer,
			 finding->inside.note[0] ? "; " : "", finding->inside.note);
	} else if (ran_outside && strcmp(finding->outside.word, "reached") != 0) {
		finding->state = STATE_UNPROVED;
		snprintf(finding->reason, sizeof(finding->reason), "%s outside%s%s%s",
			 finding->outside.word[0] ? finding->outside.word : "no answer",
			 attack_has_word(row->answer, finding->outside.word) ? " as well" : "",
			 finding->outside.note[0] ? "; " : "", finding->outside.note);
	} else {
		finding->state = STATE_STOPPED;
		snprintf(finding->reason, sizeof(finding->reason), "%s", row->by);
	}
}

/* What no attempt may do, whatever it answers. */
static void look_around(const struct attack *attack, struct finding *finding)
{
	pid_t survivor = attack_marks_survivor(&attack->marks);

	if (survivor > 0)
		snprintf(finding->reason, sizeof(finding->reason), "it left process %d behind",
			 (int)survivor);
	else if (!attack_marks_intact(&attack->marks))
		snprintf(finding->reason, sizeof(finding->reason),
			 "it ended or changed something of the host");
	else if (!attack_pool_lives(&attack->pool))
		snprintf(finding->reason, sizeof(finding->reason), "it ended a parked jail");
	else if (attack->broken[0])
		snprintf(finding->reason, sizeof(finding->reason), "%s", attack->broken);
	else
		return;
	finding->state = STATE_OPEN;
}

static int try_row(struct attack *attack, struct finding *finding, struct warder_error *err)
{
	const struct jail_plan *plan = jail_template_plan(attack->usual.tmpl);
	const struct attack_row *row = finding->row;
	const char *why = missing(attack, row);
	uint64_t start = clock_us();
	char text[160];

	finding->state = STATE_UNTRIED;
	if (!why) {
		why = attack_allowed(row, plan, attack->marks.dir, attack->marks.home, text, sizeof(text));
		if (why)
			finding->state = STATE_ALLOWED;
	}
	if (why) {
		snprintf(finding->reason, sizeof(finding->reason), "%s", why);
		/* Nothing bounds what is not limited; the rest shows what the policy lets through. */
		if (finding->state == STATE_UNTRIED || strcmp(row->group, "resources") == 0)
			return 0;
	} else if (strcmp(row->outside, ATTACK_OUTSIDE) == 0) {
		try_outside(attack, row, &finding->outside);
	}
	if (try_inside(attack, row, &finding->inside, err) != 0)
		return -1;
	if (!why)
		judge(attack, finding);
	look_around(attack, finding);
	finding->ms = (clock_us() - start) / 1000;
	return 0;
}

/* ---- the jails ---- */

static int prepare_setting(const struct attack *attack, const struct policy *policy, struct setting *ret,
			   struct warder_error *err)
{
	const struct preparation_options options = options_of(attack);

	if (preparation_build(policy, &options, &ret->preparation, err) != 0)
		return -1;
	return jail_prepare(&ret->preparation.plan, ret->preparation.host, true, &ret->tmpl, err);
}

static void setting_done(struct setting *setting)
{
	jail_template_free(setting->tmpl);
	setting->tmpl = NULL;
	preparation_done(&setting->preparation);
}

/* The user's policy as it is, with his ceiling: refused as `run` would refuse it. */
static int check_policy(const struct attack *attack, const struct policy *policy, struct warder_error *err)
{
	struct preparation_options options = options_of(attack);
	struct preparation preparation = { 0 };
	int status;

	options.ceiling = attack->args->ceiling ? &attack->args->ceiling->policy : NULL;
	status = preparation_build(policy, &options, &preparation, err);
	preparation_done(&preparation);
	return status;
}

/* One limit of time is lowered, if it is not lower anyway. */
static int prepare_less(const struct attack *attack, const struct policy *policy, const char *limit,
			const char *value, bool lower, struct setting *ret, struct warder_error *err)
{
	owned_policy struct policy less = { 0 };

	if (policy_copy(policy, &less, err) != 0 || (lower && policy_set(&less, limit, value, err) != 0))
		return -1;
	return prepare_setting(attack, &less, ret, err);
}

static void add_change(struct attack *attack, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add_change(struct attack *attack, const char *format, ...)
{
	const size_t len = strlen(attack->changed);
	va_list args;

	va_start(args, format);
	snprintf(attack->changed + len, sizeof(attack->changed) - len, "; ");
	vsnprintf(attack->changed + len + 2, sizeof(attack->changed) - len - 2, format, args);
	va_end(args);
}

/* A policy that lists names has one more, which leads to a service of the host: the edge must not go there. */
static int list_localhost(struct attack *attack, struct policy *policy, struct warder_error *err)
{
	char row[32];

	if (policy->network.mode != POLICY_NETWORK_ALLOW || !attack->marks.port)
		return 0;
	snprintf(row, sizeof(row), "localhost:%u", attack->marks.port);
	add_change(attack, "network.allow %s", row);
	return policy_set(policy, "network.allow", row, err);
}

static int prepare(struct attack *attack, struct policy *policy, struct warder_error *err)
{
	const uint64_t cpu_time = policy->limits.cpu_time_us;
	char workspace[sizeof(attack->marks.dir) + 32];

	/* A preset that wants a workspace names none: an empty one. */
	if (policy->filesystem.workspace != POLICY_WORKSPACE_NONE && !policy->filesystem.workspace_root) {
		snprintf(workspace, sizeof(workspace), "%s:%s/workspace",
			 policy->filesystem.workspace == POLICY_WORKSPACE_READ_ONLY ? "readOnly"
										    : "readWrite",
			 attack->marks.dir);
		if (policy_set(policy, "filesystem.workspace", workspace, err) != 0)
			return -1;
	}
	if (check_policy(attack, policy, err) != 0 ||
	    policy_set(policy, "filesystem.paths.readOnly", attack->table.program, err) != 0 ||
	    list_localhost(attack, policy, err) != 0)
		return -1;
	if (policy->output.stdout_bytes < LINE_BYTES) {
		policy->output.stdout_bytes = LINE_BYTES;
		add_change(attack, "output.stdout %d bytes", LINE_BYTES);
	}
	if (prepare_setting(attack, policy, &attack->usual, err) != 0 ||
	    prepare_less(attack, policy, "limits.wallTime", "1s", policy->limits.wall_time_us > 1000000,
			 &attack->hasty, err) != 0 ||
	    prepare_less(attack, policy, "limits.cpuTime", "300ms",
			 cpu_time != POLICY_UNLIMITED && cpu_time > 300000, &attack->thrifty, err) != 0)
		return -1;
	attack_marks_limits(&attack->marks, jail_template_plan(attack->usual.tmpl));
	if (attack_marks_neighbours(&attack->marks, policy, attack->table.program,
				    attack->args->cgroup_parent, err) != 0)
		return -1;
	return attack->args->attack_session
		   ? 0
		   : attack_pool_open(&attack->pool, attack->usual.tmpl, &attack->marks, err);
}

/* ---- as text ---- */

static const char *policy_title(const struct args *args)
{
	return args->base ? args->base : "strict";
}

static void print_heading(const struct attack *attack)
{
	char text[400];

	snprintf(text, sizeof(text),
		 "Attack on the policy %.200s, as %s: %zu attempts, each in a %s of its own",
		 policy_title(attack->args),
		 jail_template_plan(attack->usual.tmpl)->privileged ? "root" : "an ordinary user",
		 attack->table.count, attack->args->attack_session ? "session" : "jail");
	term_title(text);
	printf("On top of the policy %s is shown, read-only; attempts about time have 1s, or 300ms of CPU "
	       "time%s.\n",
	       attack->table.program, attack->changed);
}

static void print_finding(const struct finding *finding, const char *last_group)
{
	const struct attack_row *row = finding->row;

	if (strcmp(row->group, last_group) != 0) {
		putchar('\n');
		term_title(row->group);
	}
	printf("  ");
	term_print(TERM_PLAIN, 32, row->name);
	term_print(states[finding->state].style, 9, states[finding->state].name);
	term_print(TERM_PLAIN, 15, finding->inside.word[0] ? finding->inside.word : "-");
	printf("%s\n", finding->reason);
	fflush(stdout);
}

static void print_summary(const struct attack *attack)
{
	const char *gap = "";

	putchar('\n');
	for (enum state state = 0; state < STATE_COUNT; state++) {
		if (attack->count[state] == 0 && state != STATE_OPEN)
			continue;
		printf("%s%zu %s", gap, attack->count[state], states[state].plural);
		gap = ", ";
	}
	putchar('\n');
}

/* ---- as JSON ---- */

static void write_finding(struct json_writer *w, const struct finding *finding)
{
	const struct attack_row *row = finding->row;
	bool ran_outside = finding->outside.word[0] != '\0';

	json_begin_object(w);
	json_key_string(w, "name", row->name);
	json_key_string(w, "group", row->group);
	json_key_string(w, "what", row->what);
	json_key_string(w, "state", finding->state == STATE_OPEN ? "open" : states[finding->state].name);
	json_key_string(w, "answer", finding->inside.word[0] ? finding->inside.word : NULL);
	json_key_string(w, "expected", row->answer);
	json_key_string(w, "by", row->by);
	json_key_string(w, "seen", row->seen[0] ? row->seen : NULL);
	json_key_string(w, "outside", ran_outside ? finding->outside.word : NULL);
	json_key_string(w, "notOutside",
			strcmp(row->outside, ATTACK_OUTSIDE) == 0 ? NULL : row->outside + strlen("no: "));
	json_key_string(w, "reason", finding->reason);
	json_key_uint(w, "ms", finding->ms);
	json_end_object(w);
}

static void print_json(const struct attack *attack)
{
	struct json_writer w = { 0 };
	char *text;

	json_begin_object(&w);
	json_key_string(&w, "policy", policy_title(attack->args));
	json_key_string(&w, "isolation",
			jail_template_plan(attack->usual.tmpl)->privileged ? "root" : "user");
	json_key_string(&w, "shown", attack->table.program);
	json_key(&w, "counts");
	json_begin_object(&w);
	for (enum state state = 0; state < STATE_COUNT; state++)
		json_key_uint(&w, state == STATE_OPEN ? "open" : states[state].name, attack->count[state]);
	json_end_object(&w);
	json_key(&w, "attempts");
	json_begin_array(&w);
	for (size_t i = 0; i < attack->table.count; i++)
		write_finding(&w, &attack->findings[i]);
	json_end_array(&w);
	json_end_object(&w);
	text = json_take(&w);
	puts(text ? text : "null");
	free(text);
}

/* ---- the command ---- */

static int try_all(struct attack *attack, struct warder_error *err)
{
	const char *group = "";

	attack->findings = calloc(attack->table.count, sizeof(*attack->findings));
	if (!attack->findings)
		return error_no_memory(err, NULL);
	if (!attack->args->json)
		print_heading(attack);
	for (size_t i = 0; i < attack->table.count; i++) {
		struct finding *finding = &attack->findings[i];

		finding->row = &attack->table.rows[i];
		if (try_row(attack, finding, err) != 0)
			return -1;
		if (ending_signal())
			return error_set(err, WARDER_ERROR_UNAVAILABLE, NULL, "interrupted");
		attack->count[finding->state]++;
		if (!attack->args->json)
			print_finding(finding, group);
		group = finding->row->group;
	}
	return 0;
}

static int run_attack(struct attack *attack, struct policy *policy, struct warder_error *err)
{
	struct warder_error after = { 0 };
	int status;

	if (attack_table_read(attack->args->attack_session, &attack->table, err) != 0)
		return -1;
	if (attack_marks_make(&attack->marks, err) != 0)
		return -1;
	status = prepare(attack, policy, err);
	if (status == 0)
		status = try_all(attack, err);
	if (attack_pool_close(&attack->pool, &after) != 0 && status == 0) {
		*err = after;
		status = -1;
	}
	if (attack_marks_remove(&attack->marks, &after) != 0 && status == 0) {
		*err = after;
		status = -1;
	}
	return status;
}

int attack_command(struct args *args, struct policy *policy)
{
	struct attack attack = { .args = args };
	struct warder_error err = { 0 };
	int status;

	ending_catch(cancel_running);
	status = run_attack(&attack, policy, &err);
	if (status == 0 && args->json)
		print_json(&attack);
	else if (status == 0)
		print_summary(&attack);
	setting_done(&attack.usual);
	setting_done(&attack.hasty);
	setting_done(&attack.thrifty);
	attack_table_done(&attack.table);
	free(attack.findings);
	if (ending_signal())
		return 128 + ending_signal();
	if (status != 0)
		return command_refuse(args, &err, EXIT_REFUSED);
	return attack.count[STATE_OPEN] ? 1 : 0;
}
