/*
 * Each step that changes files makes one layer: a draft is filled with what is new, by the rules of unpack.h, and committed.
 * Where a file goes is looked up in the layers below first (merged.h), so that a link on the way leads where it would lead in the jail, and
 * the directories on the way keep their owners and modes.
 *
 * The image gets its name when every step is done. What a build that fails has made are layers without a name, which
 * "warder image gc" removes; until then, the same build again finds those of COPY by their content.
 */
#include "store/images/build.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/file.h"
#include "store/images/copy.h"
#include "store/images/merged.h"

#define RECIPE_BYTES ((size_t)1 << 20)

static const char field[] = "recipe";

static int refuse(const struct build *build, const char *what, const char *word)
{
	return error_set(build->err, WARDER_ERROR_INVALID_REQUEST, field, "%.120s %s", word, what);
}

/* ---- lists ---- */

/* ---- words ---- */

/* What a variable stands for: the image's environment goes before arguments. */
static const char *value_of(void *context, const char *name)
{
	const struct build *build = context;
	const char *value = build_get(build->image->environment, name);

	return value ? value : build_get(build->arguments, name);
}

static int expand(struct build *build, const struct recipe_step *step, const char *word, char **ret)
{
	if (!step->json)
		return recipe_expand(word, value_of, build, ret, build->err);
	*ret = strdup(word);
	return *ret ? 0 : error_no_memory(build->err, field);
}

static int set_text(struct build *build, const struct recipe_step *step, char **text)
{
	char *expanded;

	if (expand(build, step, step->words[0], &expanded) != 0)
		return -1;
	free(*text);
	*text = expanded;
	return 0;
}

static bool is_name(const char *text, size_t len)
{
	return len &&
	       strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-") >= len;
}

/* NAME=value for each word; the old form is "NAME all the rest". */
static int set_all(struct build *build, const struct recipe_step *step, char ***list)
{
	const bool old = step->kind != RECIPE_ARG && !strchr(step->words[0], '=');
	char *joined = NULL;
	int done = 0;

	if (old && step->words[1]) {
		const char *rest = strstr(step->text + strcspn(step->text, " \t"), step->words[0]);

		rest += strlen(step->words[0]);
		rest += strspn(rest, " \t");
		if (asprintf(&joined, "%s=%s", step->words[0], rest) < 0)
			return error_no_memory(build->err, field);
	} else if (old) {
		return refuse(build, "needs a value; write NAME=value", step->words[0]);
	}
	for (char **word = step->words; done == 0 && *word; word++) {
		char *expanded;

		done = expand(build, step, joined ? joined : *word, &expanded);
		if (done != 0)
			break;
		if (!is_name(expanded, strcspn(expanded, "=")) || !strchr(expanded, '='))
			done = refuse(build, "is not NAME=value", expanded);
		else
			done = build_set(list, expanded, build->err);
		free(expanded);
		if (joined)
			break;
	}
	free(joined);
	return done;
}

/* ---- ARG ---- */

/* NAME or NAME=default, unless the caller gives a value. */
static int do_argument(struct build *build, const struct recipe_step *step)
{
	for (char **word = step->words; *word; word++) {
		const size_t len = strcspn(*word, "=");
		const char *given = NULL;
		char *expanded;
		int done;

		if (!is_name(*word, len))
			return refuse(build, "is not a valid argument name", *word);
		for (size_t i = 0; build->what->arguments && build->what->arguments[i]; i++) {
			const char *argument = build->what->arguments[i];

			if (strncmp(argument, *word, len) == 0 && argument[len] == '=') {
				given = argument;
				build->used[i] = true;
			}
		}
		if (!given && !(*word)[len])
			continue; /* without a value it stands for nothing */
		if (given)
			done = build_set(&build->arguments, given, build->err);
		else if ((done = expand(build, step, *word, &expanded)) == 0) {
			done = build_set(&build->arguments, expanded, build->err);
			free(expanded);
		}
		if (done != 0)
			return -1;
	}
	return 0;
}

static int check_arguments(const struct build *build)
{
	for (size_t i = 0; build->what->arguments && build->what->arguments[i]; i++) {
		const char *argument = build->what->arguments[i];

		if (!strchr(argument, '='))
			return error_set(build->err, WARDER_ERROR_INVALID_REQUEST, "--build-arg",
					 "%.80s is not NAME=value", argument);
		if (!build->used[i])
			return error_set(build->err, WARDER_ERROR_INVALID_REQUEST, "--build-arg",
					 "the recipe has no ARG %.*s", (int)strcspn(argument, "="), argument);
	}
	return 0;
}

/* ---- commands ---- */

static char **command_words(const struct build *build, const struct recipe_step *step)
{
	char program[] = "/bin/sh", flag[] = "-c";
	char *const plain[] = { program, flag, NULL };
	char *const *shell = build->shell ? build->shell : plain;
	const size_t count = build_length(shell);
	char **words;

	if (step->json)
		return build_copy(step->words);
	words = calloc(count + 2, sizeof(*words));
	for (size_t i = 0; words && i <= count; i++) {
		words[i] = strdup(i < count ? shell[i] : step->words[0]);
		if (!words[i]) {
			image_strings_free(words);
			return NULL;
		}
	}
	return words;
}

static int do_command(struct build *build, const struct recipe_step *step, char ***list)
{
	char **words = command_words(build, step);

	if (!words)
		return error_no_memory(build->err, field);
	image_strings_free(*list);
	*list = words;
	return 0;
}

static int do_entrypoint(struct build *build, const struct recipe_step *step)
{
	if (!build->command_set) { /* that of the base was for the base's entry point */
		image_strings_free(build->image->command);
		build->image->command = NULL;
	}
	return do_command(build, step, &build->image->entrypoint);
}

/* ---- files ---- */

/* Files on their way into a new layer. */
struct placing {
	struct build *build;
	struct merged merged;
	struct draft draft;
	struct unpack unpack;
	struct copy copy;
};

static void show(void *context, uint64_t bytes)
{
	const struct images *images = context;

	if (images->on_progress)
		images->on_progress(images->context, "copying", bytes, 0);
}

/* A directory in the place of a link of the layers below would take everything away that is seen through the link. */
static int check_directory(void *context, const char *to, struct warder_error *err)
{
	const struct placing *placing = context;
	struct merged_entry entry;

	if (merged_find(&placing->merged, to, &entry, err) != 0)
		return -1;
	if (!entry.exists || strcmp(entry.path, to) == 0)
		return 0;
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
			 "/%.120s is a link in the image, and would become a directory; copy to /%.120s", to,
			 entry.path);
}

static int placing_begin(struct build *build, struct placing *ret)
{
	*ret = (struct placing){ .build = build, .draft = DRAFT_NONE };
	if (merged_open(build->images, build->image, &ret->merged, build->err) != 0 ||
	    draft_make(build->images, &ret->draft, build->err) != 0)
		return -1;
	unpack_init(&ret->unpack, ret->draft.tree_fd, build->images->owners_kept, &build->limits);
	ret->copy = (struct copy){ .unpack = &ret->unpack,
				   .own = true,
				   .on_progress = show,
				   .context = build->images,
				   .on_directory = check_directory,
				   .directory_context = ret };
	return 0;
}

static int placing_commit(struct placing *placing)
{
	struct build *build = placing->build;

	if (unpack_finish(&placing->unpack, build->err) != 0)
		return -1;
	unpack_note(&placing->unpack.report, build->notes);
	return layer_store_keep(build->images, &placing->draft, NULL, build->image, build->notes, build->err);
}

static void placing_end(struct placing *placing)
{
	copy_done(&placing->copy);
	unpack_done(&placing->unpack);
	draft_done(placing->build->images, &placing->draft);
	merged_done(&placing->merged);
}

/* Directories from the root to `path`, as the layers below have them, or as new ones of root's. */
static int make_way(struct placing *placing, const char *path)
{
	const size_t len = strlen(path);

	for (size_t i = 0; i <= len; i++) {
		struct unpack_member member = { .mode = S_IFDIR | 0755, .mtime = time(NULL) };
		struct merged_entry entry;
		char part[PATH_MAX];
		int none_fd;

		if (i && path[i] != '/' && path[i])
			continue;
		snprintf(part, sizeof(part), "%.*s", (int)i, path);
		if (merged_find(&placing->merged, part, &entry, placing->build->err) != 0)
			return -1;
		if (entry.exists && !S_ISDIR(entry.st.st_mode))
			return refuse(placing->build, "is not a directory in the image", part);
		if (entry.exists) {
			member.mode = entry.st.st_mode;
			member.uid = entry.st.st_uid;
			member.gid = entry.st.st_gid;
			member.mtime = entry.st.st_mtim.tv_sec;
		}
		member.name = part[0] ? part : ".";
		if (unpack_member(&placing->unpack, &member, &none_fd, placing->build->err) != 0)
			return -1;
		if (!len)
			break;
	}
	return 0;
}

/* A path of a recipe, from the working directory on, where the image's links lead it. */
static int resolve(const struct build *build, const struct merged *merged, const char *path,
		   struct merged_entry *ret)
{
	const char *directory = build->image->working_directory ? build->image->working_directory : "/";
	char whole[PATH_MAX];

	if (snprintf(whole, sizeof(whole), "%s/%s", path[0] == '/' ? "" : directory, path) >=
	    (int)sizeof(whole))
		return refuse(build, "is too long", path);
	return merged_find(merged, whole, ret, build->err);
}

static int do_directory(struct build *build, const struct recipe_step *step)
{
	struct merged_entry entry = { 0 };
	struct placing placing;
	char *path, *absolute = NULL;
	int done = -1;

	if (expand(build, step, step->words[0], &path) != 0)
		return -1;
	if (!path[0])
		refuse(build, "needs a directory", "WORKDIR");
	else if (placing_begin(build, &placing) == 0) {
		done = resolve(build, &placing.merged, path, &entry);
		if (done == 0 && !entry.exists)
			done = make_way(&placing, entry.path) == 0 ? placing_commit(&placing) : -1;
		else if (done == 0 && !S_ISDIR(entry.st.st_mode))
			done = refuse(build, "is not a directory in the image", path);
		placing_end(&placing);
	} else {
		placing_end(&placing);
	}
	free(path);
	if (done == 0 && asprintf(&absolute, "/%s", entry.path) < 0)
		return error_no_memory(build->err, field);
	if (done == 0) {
		free(build->image->working_directory);
		build->image->working_directory = absolute;
	}
	return done;
}

/* ---- COPY ---- */

static int check_source(const struct build *build, const struct recipe_step *step, const char *source)
{
	static const char *const archives[] = { ".tar", ".tar.gz",  ".tgz",    ".tar.xz",
						".txz", ".tar.zst", ".tar.bz2" };
	const size_t len = strlen(source);

	if (strstr(source, "://") || strncmp(source, "git@", 4) == 0)
		return refuse(build, "is not in the directory; fetch it before, and COPY it", source);
	for (size_t i = 0; step->kind == RECIPE_ADD && i < ARRAY_LENGTH(archives); i++) {
		const size_t suffix = strlen(archives[i]);

		if (len > suffix && strcmp(source + len - suffix, archives[i]) == 0)
			return refuse(
			    build, "would be unpacked by ADD, which is not known here; COPY it, and RUN tar",
			    source);
	}
	return 0;
}

/* What a directory has in it; the one that it is copied to keeps its mode. */
static int copy_children(struct placing *placing, const char *source, const char *to)
{
	struct build *build = placing->build;
	owned_fd int fd = path_open_beneath(build->context_fd, source, O_RDONLY | O_DIRECTORY, build->err);
	struct names names;
	int done = 0;

	if (fd < 0 || make_way(placing, to) != 0)
		return -1;
	if (names_read(fd, &names) != 0)
		return error_set_errno(build->err, WARDER_ERROR_UNAVAILABLE, field, errno,
				       "%.200s cannot be read", source);
	for (size_t i = 0; done == 0 && i < names.count; i++) {
		char path[PATH_MAX];

		if (snprintf(path, sizeof(path), "%s%s%s", to, to[0] ? "/" : "", names.items[i]) >=
		    (int)sizeof(path))
			done = refuse(build, "is too long", names.items[i]);
		else
			done = copy_path(&placing->copy, fd, names.items[i], path, build->err);
	}
	names_done(&names);
	return done;
}

/* "a" as "to", or into it. */
static int copy_one(struct placing *placing, const char *source, const char *to, bool into)
{
	struct build *build = placing->build;
	owned_fd int fd = path_open_beneath(build->context_fd, source, O_PATH, build->err);
	const char *base = strrchr(source, '/');
	char path[PATH_MAX], parent[PATH_MAX];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0)
		return -1;
	if (S_ISDIR(st.st_mode))
		return copy_children(placing, source, to);
	base = base ? base + 1 : source;
	if (snprintf(path, sizeof(path), "%s%s%s", to, into && to[0] ? "/" : "", into ? base : "") >=
	    (int)sizeof(path))
		return refuse(build, "is too long", to);
	snprintf(parent, sizeof(parent), "%s", path);
	parent[strrchr(path, '/') ? strrchr(path, '/') - path : 0] = '\0';
	if (make_way(placing, parent) != 0)
		return -1;
	fd_done(&fd);
	fd = path_open_beneath(build->context_fd, source, O_RDONLY | O_NONBLOCK | O_NOCTTY, build->err);
	return fd >= 0 ? copy_fd(&placing->copy, fd, path, build->err) : -1;
}

/* A source of a recipe: a name in the directory, or a pattern for names. */
static int copy_source(struct placing *placing, const char *source, const char *to, bool into)
{
	struct build *build = placing->build;
	const char *slash;
	struct names names;
	char directory[PATH_MAX];
	bool found = false;
	owned_fd int fd = -1;
	int done = 0;

	while (*source == '/') /* of the context, as everywhere */
		source++;
	if (!strpbrk(source, "*?["))
		return copy_one(placing, *source ? source : ".", to, into);
	slash = strrchr(source, '/');
	snprintf(directory, sizeof(directory), "%.*s", slash ? (int)(slash - source) : 1,
		 slash ? source : ".");
	if (strpbrk(directory, "*?["))
		return refuse(build, "has a pattern in a directory's name; patterns may be in the last part",
			      source);
	fd = path_open_beneath(build->context_fd, directory, O_RDONLY | O_DIRECTORY, build->err);
	if (fd < 0)
		return -1;
	if (names_read(fd, &names) != 0)
		return error_set_errno(build->err, WARDER_ERROR_UNAVAILABLE, field, errno,
				       "%.200s cannot be read", directory);
	for (size_t i = 0; done == 0 && i < names.count; i++) {
		char path[PATH_MAX * 2];

		if (fnmatch(slash ? slash + 1 : source, names.items[i], 0) != 0)
			continue;
		found = true;
		snprintf(path, sizeof(path), "%s/%s", directory, names.items[i]);
		done = copy_one(placing, path, to, into);
	}
	names_done(&names);
	return found ? done : refuse(build, "matches nothing in the directory", source);
}

static int set_owner(struct placing *placing, const struct recipe_step *step)
{
	struct build *build = placing->build;
	const char *chown = recipe_flag(step, "--chown"), *chmod = recipe_flag(step, "--chmod");
	char *text, *end;
	int done = 0;

	if (chown) {
		if (recipe_expand(chown, value_of, build, &text, build->err) != 0)
			return -1;
		done = merged_ids(&placing->merged, text, &placing->copy.uid, &placing->copy.gid, build->err);
		free(text);
	}
	if (chmod) {
		placing->copy.mode_set = true;
		placing->copy.mode = (mode_t)strtoul(chmod, &end, 8);
		if (!*chmod || *end || placing->copy.mode > 07777)
			return refuse(build, "is not a mode; write --chmod=755", chmod);
	}
	return done;
}

static int copy_words(struct placing *placing, const struct recipe_step *step)
{
	const size_t count = build_length(step->words) - 1;
	struct build *build = placing->build;
	struct merged_entry to;
	char *target;
	int done;
	bool into;

	if (expand(build, step, step->words[count], &target) != 0)
		return -1;
	done = resolve(build, &placing->merged, target, &to);
	into = target[0] && target[strlen(target) - 1] == '/';
	if (done == 0 && to.exists && S_ISDIR(to.st.st_mode))
		into = true;
	if (done == 0 && count > 1 && !into)
		done =
		    refuse(build, "is not a directory; end it with / to copy several files into it", target);
	for (size_t i = 0; done == 0 && i < count; i++) {
		char *source;

		done = expand(build, step, step->words[i], &source);
		if (done != 0)
			break;
		done = check_source(build, step, source);
		if (done == 0)
			done = copy_source(placing, source, to.path, into);
		free(source);
	}
	free(target);
	return done;
}

static int do_copy(struct build *build, const struct recipe_step *step)
{
	struct placing placing;
	int done = placing_begin(build, &placing);

	if (done == 0)
		done = set_owner(&placing, step);
	if (done == 0)
		done = copy_words(&placing, step);
	if (done == 0)
		done = placing_commit(&placing);
	placing_end(&placing);
	return done;
}

/* ---- FROM ---- */

static int do_from(struct build *build, const struct recipe_step *step)
{
	static const char prefix[] = IMAGES_MAKES;
	struct image base;
	char *name;
	int done = 0;

	if (expand(build, step, step->words[0], &name) != 0)
		return -1;
	if (strncmp(name, prefix, sizeof(prefix) - 1) == 0) {
		done = build_base(build, step, name + sizeof(prefix) - 1);
	} else if (step->flags) {
		done = refuse(build, "belongs to FROM debootstrap:SUITE", step->flags[0]);
	} else if (strcmp(name, "scratch") != 0) {
		done = layer_store_find(build->images, name, &base, build->err);
		if (done == 0) {
			image_done(build->image);
			*build->image = base;
		}
	}
	free(name);
	/* Arguments before FROM are for FROM. */
	image_strings_free(build->arguments);
	build->arguments = NULL;
	build->image->digest[0] = '\0';
	return done;
}

/* ---- the recipe ---- */

static int do_step(struct build *build, const struct recipe_step *step)
{
	struct image *image = build->image;

	switch (step->kind) {
	case RECIPE_FROM:
		return do_from(build, step);
	case RECIPE_RUN:
		return build_run(build, step);
	case RECIPE_COPY:
	case RECIPE_ADD:
		return do_copy(build, step);
	case RECIPE_ENV:
		return set_all(build, step, &image->environment);
	case RECIPE_WORKDIR:
		return do_directory(build, step);
	case RECIPE_USER:
		return set_text(build, step, &image->user);
	case RECIPE_CMD:
		build->command_set = true;
		return do_command(build, step, &image->command);
	case RECIPE_ENTRYPOINT:
		return do_entrypoint(build, step);
	case RECIPE_ARG:
		return do_argument(build, step);
	case RECIPE_LABEL:
		return set_all(build, step, &image->labels);
	case RECIPE_SHELL:
		return do_command(build, step, &build->shell);
	case RECIPE_NOTE:
		return 0;
	}
	return 0;
}

static int do_steps(struct build *build, const struct recipe *recipe)
{
	for (size_t i = 0; i < recipe->count; i++) {
		const struct recipe_step *step = &recipe->steps[i];

		if (build->what->on_step)
			build->what->on_step(build->images->context, i + 1, recipe->count, step->text);
		if (do_step(build, step) != 0)
			return error_context(build->err, "%.100s:%d: %s", build->origin, step->line,
					     recipe_word(step->kind));
	}
	return check_arguments(build);
}

static int open_context(struct build *build)
{
	struct stat st;

	build->context_fd = open(build->what->context, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (build->context_fd < 0)
		return error_set_errno(
		    build->err, errno == ENOENT ? WARDER_ERROR_NOT_FOUND : WARDER_ERROR_INVALID_REQUEST,
		    field, errno, "%.200s cannot be opened", build->what->context);
	/* A link, wherever it leads, is one, too. */
	if (fstatat(build->context_fd, ".dockerignore", &st, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT)
		return error_set(
		    build->err, WARDER_ERROR_INVALID_REQUEST, field,
		    "%.200s has a .dockerignore, which is not known here: COPY would take what it "
		    "leaves out; name the files to be copied, and take it away",
		    build->what->context);
	return 0;
}

/* The directory may be somebody else's: nothing outside of it is read, nor anything that would keep the reader waiting. */
static int read_own_recipe(struct build *build, char **ret_text, size_t *ret_len)
{
	owned_fd int fd =
	    path_open_beneath(build->context_fd, "Dockerfile", O_RDONLY | O_NONBLOCK | O_NOCTTY, build->err);
	struct stat st;

	if (fd < 0)
		return error_context(build->err, "%.200s", build->what->context);
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return error_set(build->err, WARDER_ERROR_REJECTED, field,
				 "Dockerfile in %.200s is not a regular file", build->what->context);
	return file_read_open(fd, "Dockerfile", RECIPE_BYTES, ret_text, ret_len, build->err);
}

static int read_recipe(struct build *build, struct recipe *ret)
{
	const char *path = build->what->recipe;
	char *text;
	size_t len;
	int done;

	build->origin = path ? path : "Dockerfile";
	done = path ? file_read(path, &text, &len, build->err) : read_own_recipe(build, &text, &len);
	if (done == 0) {
		done = recipe_parse(text, len, build->origin, ret, build->err);
		free(text);
	}
	return done;
}

static int finish(struct build *build)
{
	struct image *image = build->image;
	struct digest digest;
	char *text;

	free(image->name);
	free(image->source);
	image->name = strdup(build->what->name);
	image->source = strdup("build");
	image->created = 0;
	image->owners_kept = build->images->owners_kept;
	if (!image->layers)
		image->layers = calloc(1, sizeof(*image->layers)); /* none at all is a damaged record */
	if (!image->name || !image->source || !image->layers)
		return error_no_memory(build->err, field);
	/* The same layers and configuration are the same image, whenever it was built. */
	memset(image->digest, '0', sizeof(image->digest) - 1);
	text = image_encode(image);
	if (!text)
		return error_no_memory(build->err, field);
	digest_init(&digest);
	digest_add_text(&digest, text);
	free(text);
	if (digest_hex(&digest, image->digest) != 0)
		return error_no_memory(build->err, field);
	image->created = (uint64_t)time(NULL);
	return layer_store_put(build->images, image, build->err);
}

static void build_end(struct build *build)
{
	fd_done(&build->context_fd);
	image_strings_free(build->arguments);
	image_strings_free(build->shell);
	free(build->used);
}

int images_build(struct images *images, const struct images_build *what, struct image *ret,
		 struct images_notes *ret_notes, struct warder_error *err)
{
	struct build build = { .images = images,
			       .what = what,
			       .context_fd = -1,
			       .image = ret,
			       .notes = ret_notes,
			       .limits = { .files_max = IMAGES_FILES_MAX,
					   .bytes_max = IMAGES_BYTES_MAX,
					   .file_bytes_max = IMAGES_FILE_BYTES_MAX },
			       .err = err };
	struct recipe recipe = { 0 };
	int done;

	*ret = (struct image){ 0 };
	*ret_notes = (struct images_notes){ 0 };
	if (layer_store_check_name(what->name, err) != 0)
		return -1;
	layer_store_sweep(images);
	build.used = calloc(build_length(what->arguments) + 1, sizeof(*build.used));
	done = build.used ? open_context(&build) : error_no_memory(err, field);
	if (done == 0)
		done = read_recipe(&build, &recipe);
	if (done == 0)
		done = do_steps(&build, &recipe);
	if (done == 0)
		done = finish(&build);
	recipe_done(&recipe);
	build_end(&build);
	if (done != 0)
		image_done(ret);
	return done;
}
