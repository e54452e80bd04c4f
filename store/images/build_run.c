/*
 * RUN: a program in the jail, over the layers so far, and what it has written as one more layer.
 *
 * The jail finds images by their names. So the image on its way gets one that nobody else has, for as long as the step takes; a
 * record of that kind whose lock is free was left by a build that is dead (layer_store_sweep()).
 *
 * The policy is the preset strict with what a build needs: more time, memory and scratch space, which holds what is written until
 * it becomes a layer.
 *
 * apt-get works without any capability, as long as it does not become another user to fetch, and keeps what it fetches in places of its own:
 * those of the image belong to that user. A RUN that names it finds such a configuration, by $APT_CONFIG, in the jail's /tmp. What
 * remains refused are packages with files that belong to somebody else than root.
 *
 * As an ordinary user, limits that need a control group are kept only where there is one.
 */
#include <ctype.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/json.h"
#include "runtime/warder.h"
#include "store/images/build.h"
#include "store/images/merged.h"
#include "store/images/names.h"

static const char field[] = "recipe";

/* What RUN is under, unless the caller sets it otherwise. */
static const struct {
	const char *path, *value;
} settings[] = {
	{ "limits.wallTime", "15m" },      { "limits.cpuTime", "15m" },    { "limits.memory", "2GiB" },
	{ "limits.pids", "1024" },         { "limits.cpus", "unlimited" }, { "limits.openFiles", "4096" },
	{ "filesystem.tmp", "1GiB" },      { "limits.fileSize", "1GiB" },  { "limits.disk", "1GiB" },
	{ "syscalls.profile", "default" }, { "syscalls.allow", "flock" }, /* debconf locks its files with it */
	{ "devices.terminals", "4" },
};

/* What an ordinary user without a control group of his own cannot have. */
static const char *const preferred[] = { "limits.cpuTime", "limits.memory", "limits.swap", "limits.cpus",
					 "limits.pids" };

/* For apt-get: below /tmp, of which nothing becomes part of the image. */
#define APT "warder-apt/"
static const char apt_configuration[] = "APT::Sandbox::User \"root\";\n"
					"Dir::State::lists \"/tmp/" APT "lists\";\n"
					"Dir::Cache \"/tmp/" APT "cache\";\n"
					"Dir::Log \"/tmp/" APT "log\";\n";
static char apt_variable[] = "APT_CONFIG=/tmp/" APT "apt.conf";
static char *const apt_environment[] = { apt_variable, NULL };
static const struct warder_file apt_files[] = {
	{ .path = APT "apt.conf", .bytes = apt_configuration, .len = sizeof(apt_configuration) - 1 },
	{ .path = APT "lists/partial", .mode = 0755 },
	{ .path = APT "cache/archives/partial", .mode = 0755 },
	{ .path = APT "log", .mode = 0755 },
};

/* Whether a step speaks of it, as a word of its own. */
static bool names_apt(char *const *words)
{
	for (; *words; words++) {
		for (const char *at = *words; (at = strstr(at, "apt")) != NULL; at++) {
			if ((at == *words || !isalnum((unsigned char)at[-1])) &&
			    (strncmp(at, "apt-get", 7) == 0 || !isalnum((unsigned char)at[3])))
				return true;
		}
	}
	return false;
}

/* ---- the policy ---- */

static int set_network(const struct build *build, const struct recipe_step *step,
		       struct warder_policy *policy)
{
	const char *given = build->what->network ? build->what->network : "none";
	const char *asked = recipe_flag(step, "--network");

	asked = asked ? asked : given;
	if (strcmp(asked, "default") == 0)
		asked = given;
	if (strcmp(asked, "none") != 0 && strcmp(asked, given) != 0)
		return error_set(build->err, WARDER_ERROR_REJECTED, field,
				 "--network=%.40s is not allowed; build with --net %.40s", asked, asked);
	return warder_policy_set(policy, "network.mode", asked, build->err);
}

/* As the image's user, if it names another than root. */
static int set_user(const struct build *build, struct warder_policy *policy, int *ret_root)
{
	struct merged merged;
	char text[32];
	uid_t uid = 0;
	gid_t gid = 0;
	int done = 0;

	*ret_root = 1;
	if (!build->image->user)
		return 0;
	if (merged_open(build->images, build->image, &merged, build->err) != 0)
		return -1;
	done = merged_ids(&merged, build->image->user, &uid, &gid, build->err);
	merged_done(&merged);
	if (done != 0 || uid == 0)
		return done;
	*ret_root = 0;
	snprintf(text, sizeof(text), "%u", uid);
	if (warder_policy_set(policy, "processes.identity.uid", text, build->err) != 0)
		return -1;
	snprintf(text, sizeof(text), "%u", gid);
	return warder_policy_set(policy, "processes.identity.gid", text, build->err);
}

static int set_fields(const struct build *build, struct warder_policy *policy, const char *name)
{
	char view[IMAGE_NAME_MAX + 16];

	snprintf(view, sizeof(view), "image:%s", name);
	if (warder_policy_set(policy, "filesystem.view", view, build->err) != 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LENGTH(settings); i++) {
		if (warder_policy_set(policy, settings[i].path, settings[i].value, build->err) != 0)
			return -1;
	}
	for (size_t i = 0; geteuid() != 0 && i < ARRAY_LENGTH(preferred); i++) {
		if (warder_policy_require(policy, preferred[i], 0, build->err) != 0)
			return -1;
	}
	for (char *const *each = build->what->settings; each && *each; each++) {
		const size_t len = strcspn(*each, "=");
		char path[128];

		snprintf(path, sizeof(path), "%.*s", (int)(len < 127 ? len : 127), *each);
		if (!(*each)[len])
			return error_set(build->err, WARDER_ERROR_INVALID_REQUEST, "--set",
					 "%.80s is not FIELD=VALUE", *each);
		if (warder_policy_set(policy, path, *each + len + 1, build->err) != 0)
			return -1;
	}
	return 0;
}

/* ---- the image on its way ---- */

/* A record of the layers so far, with what the program is to find in its environment. */
static int put_unfinished(struct build *build, char ret_name[static STORE_NAME_MAX], int *ret_lock_fd)
{
	struct image image = *build->image; /* borrowed but for what is set here */
	int done = 0;

	store_new_name(LAYER_STORE_UNFINISHED, ret_name);
	image.name = ret_name;
	image.entrypoint = image.command = image.labels = NULL;
	image.user = NULL;
	image.owners_kept = build->images->owners_kept;
	image.platform = image.source = NULL;
	memset(image.digest, '0', sizeof(image.digest) - 1);
	image.digest[sizeof(image.digest) - 1] = '\0';
	image.environment = build_copy(build->arguments);
	if (!image.environment)
		return error_no_memory(build->err, field);
	for (char **each = build->image->environment; done == 0 && each && *each; each++)
		done = build_set(&image.environment, *each, build->err);
	if (done == 0)
		done = layer_store_put_unfinished(build->images, &image, ret_lock_fd, build->err);
	image_strings_free(image.environment);
	return done;
}

/* ---- the run ---- */

static char **words_of(const struct build *build, const struct recipe_step *step)
{
	char program[] = "/bin/sh", flag[] = "-c";
	char *plain[] = { program, flag, NULL };
	char **words, **grown;
	size_t count = 0;

	if (step->json)
		return build_copy(step->words);
	words = build_copy(build->shell ? build->shell : plain);
	if (!words)
		return NULL;
	while (words[count])
		count++;
	grown = reallocarray(words, count + 2, sizeof(*words));
	if (!grown) {
		image_strings_free(words);
		return NULL;
	}
	grown[count] = strdup(step->words[0]);
	grown[count + 1] = NULL;
	if (grown[count])
		return grown;
	image_strings_free(grown);
	return NULL;
}

/* What the host did, or what does not die and stays behind. */
static int judge_host(const struct build *build, const struct warder_result *result)
{
	const struct json_limits limits = { .max_bytes = 16 << 20 };
	char *text = warder_result_json(result);
	struct json_value *value = NULL;
	const struct json_value *detail = NULL;

	if (text && json_parse(text, strlen(text), "result", &limits, &value, build->err) == 0)
		detail = json_member(value, "detail");
	error_set(build->err, WARDER_ERROR_UNAVAILABLE, field, "host: %.370s",
		  detail && detail->type == JSON_STRING ? detail->string : "it was ended from outside");
	json_free(value);
	free(text);
	return -1;
}

static int judge(const struct build *build, const struct warder_result *result)
{
	const char *cause = warder_result_cause(result);

	if (strcmp(warder_result_status(result), "success") == 0)
		return 0;
	if (strcmp(cause, "exit") == 0)
		return error_set(build->err, WARDER_ERROR_EXECUTION_FAILED, field, "it ended with status %d",
				 warder_result_exit_code(result));
	if (strcmp(cause, "signal") == 0)
		return error_set(build->err, WARDER_ERROR_EXECUTION_FAILED, field,
				 "it was ended by signal %d", warder_result_signal(result));
	if (strcmp(cause, "host") == 0)
		return judge_host(build, result);
	return error_set(build->err, WARDER_ERROR_EXECUTION_FAILED, field,
			 "it was ended (%s); --set raises a limit, as in --set limits.memory=4GiB", cause);
}

/* Why apt-get fails, most of the time. */
static void advise_apt(const struct build *build)
{
	const size_t len = strlen(build->err->text);
	const bool network = build->what->network && strcmp(build->what->network, "none") != 0;

	snprintf(build->err->text + len, sizeof(build->err->text) - len, "%s",
		 network ? "; packages with files of other users than root cannot be installed without a "
			   "capability: name them in FROM --include=PACKAGE,... debootstrap:SUITE"
			 : "; apt-get had no network: build with --net host, or name the packages in FROM "
			   "--include=PACKAGE,... debootstrap:SUITE");
}

static int launch(struct build *build, struct warder_template *template, char **words, int layer_fd)
{
	const int outputs[2] = { build->what->output_fd, build->what->output_fd };
	const bool apt = names_apt(words);
	const struct warder_command command = { .size = sizeof(command),
						.argv = words,
						.output_fds = build->what->output_fd >= 0 ? outputs : NULL,
						.layer_fd = layer_fd,
						.environment = apt ? apt_environment : NULL,
						.files = apt ? apt_files : NULL,
						.file_count = ARRAY_LENGTH(apt_files) };
	struct warder_result *result = NULL;
	struct warder_run *run = NULL;
	int done;

	if (warder_launch(template, &command, &run, build->err) != 0)
		return -1;
	done = warder_wait(run, &result, build->err);
	if (done == 0)
		done = judge(build, result);
	if (done != 0 && result && apt)
		advise_apt(build);
	warder_run_free(run);
	warder_result_free(result);
	return done;
}

static int run_words(struct build *build, const struct recipe_step *step, const char *name, char **words,
		     int layer_fd)
{
	struct warder_options options = { .size = sizeof(options), .single_use = 1 };
	struct warder_template *template = NULL;
	struct warder_policy *policy = NULL;
	int done = warder_policy_preset("strict", &policy, build->err);

	if (done == 0)
		done = set_fields(build, policy, name);
	if (done == 0)
		done = set_network(build, step, policy);
	if (done == 0)
		done = set_user(build, policy, &options.builds_image);
	if (done == 0)
		done = warder_prepare(policy, &options, &template, build->err);
	if (done == 0)
		done = launch(build, template, words, layer_fd);
	warder_template_free(template);
	warder_policy_free(policy);
	return done;
}

/* ---- the layer ---- */

static int tidy_directory(struct build *build, int fd, size_t *count, int depth);

/* By the rules of unpack.h: no set-id bits of files, and the caller can read what is his. */
static int tidy_entry(struct build *build, int dir_fd, const char *name, size_t *count, int depth)
{
	const bool own = !build->images->owners_kept;
	owned_fd int fd = -1;
	struct stat st;
	mode_t mode;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return -1;
	(*count)++;
	mode = st.st_mode & 07777;
	if (S_ISREG(st.st_mode)) {
		build->notes->set_ids += (mode & 06000) != 0;
		mode = (mode & 01777) | (own ? 0400 : 0);
	} else if (S_ISDIR(st.st_mode)) {
		mode |= own ? 0700 : 0;
	} else {
		return 0;
	}
	if (mode != (st.st_mode & 07777) && fchmodat(dir_fd, name, mode, 0) != 0)
		return -1;
	if (!S_ISDIR(st.st_mode))
		return 0;
	fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 ? tidy_directory(build, fd, count, depth + 1) : -1;
}

static int tidy_directory(struct build *build, int fd, size_t *count, int depth)
{
	struct names names;
	int done = 0;

	if (depth > UNPACK_DEPTH_MAX || names_read(fd, &names) != 0)
		return -1;
	for (size_t i = 0; done == 0 && i < names.count; i++)
		done = tidy_entry(build, fd, names.items[i], count, depth);
	names_done(&names);
	return done;
}

/* What was written, if anything was. */
static int keep(struct build *build, struct draft *draft)
{
	size_t count = 0;

	if (tidy_directory(build, draft->tree_fd, &count, 0) != 0)
		return error_set(build->err, WARDER_ERROR_UNAVAILABLE, field,
				 "its files cannot be stored: a directory is too deep, or cannot be read");
	if (count == 0)
		return 0;
	if (fchmod(draft->tree_fd, 0755) != 0)
		return error_set(build->err, WARDER_ERROR_UNAVAILABLE, field, "the layer cannot be written");
	return layer_store_keep(build->images, draft, NULL, build->image, build->notes, build->err);
}

int build_run(struct build *build, const struct recipe_step *step)
{
	struct draft draft = DRAFT_NONE;
	char name[STORE_NAME_MAX] = "";
	owned_fd int lock_fd = -1;
	char **words;
	int done = -1;

	if (build->image->layer_count == 0)
		return error_set(build->err, WARDER_ERROR_INVALID_REQUEST, field,
				 "there is nothing to run in an empty image; COPY a program into it first");
	words = words_of(build, step);
	if (!words)
		return error_no_memory(build->err, field);
	if (put_unfinished(build, name, &lock_fd) == 0) {
		done = draft_make(build->images, &draft, build->err);
		if (done == 0)
			done = run_words(build, step, name, words, draft.tree_fd);
		layer_store_drop_unfinished(build->images, name);
		if (done == 0)
			done = keep(build, &draft);
		draft_done(build->images, &draft);
	}
	image_strings_free(words);
	return done;
}
