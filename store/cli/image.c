/*
 * image: images in the store, on the command line.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/json.h"
#include "policy/policy.h"
#include "runtime/cli/term.h"
#include "runtime/code/code.h"
#include "store/cli/command.h"
#include "store/cli/progress.h"
#include "store/cli/show.h"
#include "store/images/images.h"

#define FAULTS_SHOWN 16

/* ---- parts ---- */

static void show_progress(void *context, const char *what, uint64_t done, uint64_t total)
{
	struct progress *progress = context;

	progress->what = what;
	progress_show(progress, done, total);
}

/* `make`: the store is made if there is none. */
static int open_images(const struct options *options, struct progress *progress, bool make,
		       struct images *ret, struct warder_error *err)
{
	const char *store = option(options, "--store");

	if ((make ? images_open(store, ret, err) : images_open_to_read(store, ret, err)) != 0)
		return -1;
	ret->on_progress = show_progress;
	ret->context = progress;
	return 0;
}

static int size_option(const struct options *options, const char *name, uint64_t *ret,
		       struct warder_error *err)
{
	const char *text = option(options, name);

	if (!text || policy_parse_size(text, ret, err) == 0)
		return 0;
	return error_context(err, "%s", name);
}

/* "163.2 MiB"; buf of at least 32 bytes. */
static char *show_size(uint64_t bytes, char *buf, size_t len)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	double value = (double)bytes;
	size_t i = 0;

	for (; value >= 1024 && i + 1 < ARRAY_LENGTH(units); i++)
		value /= 1024;
	snprintf(buf, len, "%.*f %s", i ? 1 : 0, value, units[i]);
	return buf;
}

/* Text of an image: no terminal is to obey it. */
static void print_line(const char *key, const char *text)
{
	char *line = strdup(text);

	printf("%-12s %s\n", key, line ? term_clean(line) : "");
	free(line);
}

/* ---- import ---- */

static int print_imported(const struct options *options, const struct image *image,
			  const struct images_notes *notes, struct warder_error *err)
{
	struct json_writer w = { .pretty = true };
	struct images_note note;
	char size[32];

	if (!option_given(options, "--json")) {
		printf("%s  %.12s  %zu layer%s (%" PRIu64 " new), %s\n", image->name, image->digest,
		       image->layer_count, image->layer_count == 1 ? "" : "s", notes->stored,
		       show_size(images_bytes(image), size, sizeof(size)));
		for (size_t i = 0; images_note(notes, i, &note); i++) {
			if (note.text && note.count)
				printf("  note: %" PRIu64 ": %s\n", note.count, note.text);
		}
		return 0;
	}
	images_write_stored(image, notes, &w);
	return term_put(json_take(&w), err);
}

static int import_command(const struct options *options, struct warder_error *err)
{
	struct images_import what = { .source = options->operands[0],
				      .name = options->operands[1],
				      .format = option(options, "--format"),
				      .reference = option(options, "--ref") };
	struct progress progress = { .what = "importing" };
	struct images_notes notes;
	struct images images;
	struct image image;
	long long files;
	int done;

	if (size_option(options, "--max-size", &what.bytes_max, err) != 0 ||
	    size_option(options, "--max-file-size", &what.file_bytes_max, err) != 0 ||
	    option_number(options, "--max-files", 1, 100000000, IMAGES_FILES_MAX, &files, err) != 0 ||
	    open_images(options, &progress, true, &images, err) != 0)
		return -1;
	what.files_max = (uint64_t)files;
	what.replace = option_given(options, "--replace");
	done = images_import(&images, &what, &image, &notes, err);
	progress_end(&progress);
	if (done == 0)
		done = print_imported(options, &image, &notes, err);
	image_done(&image);
	images_done(&images);
	return done;
}

/* ---- build ---- */

/* All values of a repeated flag, NULL-terminated. */
static void values_of(const struct options *options, const char *flag, char *ret[static OPTIONS_MAX + 1])
{
	size_t count = 0;

	while (count < OPTIONS_MAX && option_at(options, flag, count)) {
		ret[count] = (char *)(uintptr_t)option_at(options, flag, count);
		count++;
	}
	ret[count] = NULL;
}

/* ---- pull, ensure ---- */

static int pull(const struct options *options, struct images *images, const struct images_pull *what,
		struct warder_error *err)
{
	struct images_notes notes;
	struct image image;
	int done = images_pull(images, what, &image, &notes, err);

	progress_end(images->context);
	if (done == 0)
		done = print_imported(options, &image, &notes, err);
	image_done(&image);
	return done;
}

static int pull_command(const struct options *options, struct warder_error *err)
{
	char *hosts[OPTIONS_MAX + 1];
	const struct images_pull what = { .reference = options->operands[0],
					  .name = options->operands[1],
					  .more_hosts = hosts };
	struct progress progress = { .what = "importing" };
	struct images images;
	int done;

	values_of(options, "--allow", hosts);
	if (open_images(options, &progress, true, &images, err) != 0)
		return -1;
	done = pull(options, &images, &what, err);
	images_done(&images);
	return done;
}

static const struct language *language_row(const struct languages *languages, const char *name)
{
	const char *canonical = languages_canonical(languages, name);
	const struct language *row;

	for (size_t i = 0; canonical && (row = languages_at(languages, i)); i++)
		if (strcmp(row->name, canonical) == 0 && row->image)
			return row;
	return NULL;
}

/* Every language is known and has an image, before one is fetched. */
static int check_languages(const struct languages *languages, char *const *names, struct warder_error *err)
{
	for (; *names; names++) {
		if (!languages_canonical(languages, *names))
			return languages_refuse(languages, *names, err);
		if (!language_row(languages, *names))
			return error_set(err, WARDER_ERROR_UNSUPPORTED_LANGUAGE, "LANGUAGE",
					 "no image is known for %.60s; choose one, and pull it by its name",
					 *names);
	}
	return 0;
}

static int ensure_one(const struct options *options, struct images *images, const char *reference,
		      struct warder_error *err)
{
	const struct images_pull what = { .reference = reference };
	struct image image;

	if (images_inspect(images, reference, &image, err) == 0) {
		image_done(&image);
		printf("%s  is in the store\n", reference);
		return 0;
	}
	return err->code == WARDER_ERROR_NOT_FOUND ? pull(options, images, &what, err) : -1;
}

static int ensure_command(const struct options *options, struct warder_error *err)
{
	struct progress progress = { .what = "importing" };
	struct languages *languages = NULL;
	struct images images;
	int done = languages_load(NULL, &languages, err);

	if (done == 0)
		done = check_languages(languages, options->operands, err);
	if (done == 0)
		done = open_images(options, &progress, true, &images, err);
	if (done != 0) {
		languages_free(languages);
		return -1;
	}
	for (char *const *name = options->operands; *name && done == 0; name++)
		done = ensure_one(options, &images, language_row(languages, *name)->image, err);
	images_done(&images);
	languages_free(languages);
	return done;
}

static void show_step(void *context, size_t number, size_t count, const char *text)
{
	char *line = strdup(text);

	progress_end(context);
	fprintf(stderr, "step %zu of %zu: %s\n", number, count, line ? term_clean(line) : "");
	free(line);
}

static int build_command(const struct options *options, struct warder_error *err)
{
	char *arguments[OPTIONS_MAX + 1], *settings[OPTIONS_MAX + 1];
	const struct images_build what = {
		.context = options->operands[0],
		.name = options->operands[1],
		.recipe = option(options, "--file"),
		.network = option(options, "--net"),
		.arguments = arguments,
		.settings = settings,
		.on_step = show_step,
		.output_fd = STDERR_FILENO,
	};
	struct progress progress = { .what = "building" };
	struct images_notes notes;
	struct images images;
	struct image image;
	int done;

	/* What RUN starts finds its image by the default place. */
	if (option(options, "--store") && setenv("WARDER_STORE", option(options, "--store"), 1) != 0)
		return error_no_memory(err, NULL);
	values_of(options, "--build-arg", arguments);
	values_of(options, "--set", settings);
	if (open_images(options, &progress, true, &images, err) != 0)
		return -1;
	done = images_build(&images, &what, &image, &notes, err);
	progress_end(&progress);
	if (done == 0)
		done = print_imported(options, &image, &notes, err);
	image_done(&image);
	images_done(&images);
	return done;
}

/* ---- list, inspect ---- */

/* Characters of the longest name, from 32 on. */
static int name_width(const struct image *list, size_t count)
{
	size_t width = 32;

	for (size_t i = 0; i < count; i++) {
		const size_t len = list[i].name ? strlen(list[i].name) : 0;

		width = len > width ? len : width;
	}
	return (int)width;
}

static void list_line(const struct image *image, int width)
{
	const time_t created = (time_t)image->created;
	char size[32], date[32] = "";
	struct tm tm;

	if (!image->layers) {
		printf("%-*s damaged: import it again, or remove it\n", width,
		       image->name ? image->name : "?");
		return;
	}
	if (gmtime_r(&created, &tm))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M", &tm);
	printf("%-*s %.12s  %6zu  %10s  %s\n", width, image->name, image->digest, image->layer_count,
	       show_size(images_bytes(image), size, sizeof(size)), date);
}

static int list_command(const struct options *options, struct warder_error *err)
{
	struct json_writer w = { .pretty = true };
	const bool json = option_given(options, "--json");
	struct images images;
	struct image *list;
	size_t count;
	int listed, width;

	if (open_images(options, NULL, false, &images, err) != 0)
		return -1;
	listed = images_list(&images, &list, &count, err);
	images_done(&images);
	if (listed != 0)
		return -1;
	width = name_width(list, count);
	if (json)
		json_begin_array(&w);
	else if (count)
		printf("%-*s %-12s  %6s  %10s  %s\n", width, "NAME", "DIGEST", "LAYERS", "SIZE",
		       "STORED (UTC)");
	for (size_t i = 0; i < count; i++) {
		if (json)
			images_write_listed(&list[i], &w);
		else
			list_line(&list[i], width);
		image_done(&list[i]);
	}
	free(list);
	if (!json)
		return 0;
	json_end_array(&w);
	return term_put(json_take(&w), err);
}

static void print_strings(const char *key, char *const *strings)
{
	for (; strings && *strings; strings++)
		print_line(key, *strings);
}

static void print_image(const struct image *image)
{
	char size[32], text[128];

	print_line("name", image->name);
	print_line("digest", image->digest);
	if (image->source)
		print_line("source", image->source);
	if (image->platform)
		print_line("platform", image->platform);
	print_line("owners", image->owners_kept ? "image" : "caller");
	for (size_t i = 0; i < image->layer_count; i++) {
		snprintf(text, sizeof(text), "%.12s  %" PRIu64 " files, %s", image->layers[i].digest,
			 image->layers[i].files, show_size(image->layers[i].bytes, size, sizeof(size)));
		print_line("layer", text);
	}
	print_strings("entrypoint", image->entrypoint);
	print_strings("cmd", image->command);
	if (image->working_directory)
		print_line("directory", image->working_directory);
	if (image->user)
		print_line("user", image->user);
	print_strings("env", image->environment);
	print_strings("label", image->labels);
}

static int inspect_command(const struct options *options, struct warder_error *err)
{
	struct images images;
	struct image image;
	int done;

	if (open_images(options, NULL, false, &images, err) != 0)
		return -1;
	done = images_inspect(&images, options->operands[0], &image, err);
	images_done(&images);
	if (done != 0)
		return -1;
	if (option_given(options, "--json")) {
		done = term_put(image_encode(&image), err);
	} else {
		print_image(&image);
	}
	image_done(&image);
	return done;
}

/* ---- verify ---- */

static void fault_lines(const char *name, const struct images_fault *faults, size_t count)
{
	printf("%s: %s\n", name, count ? "damaged" : "good");
	for (size_t i = 0; i < count; i++)
		printf("  layer %.12s: %s\n", faults[i].layer, faults[i].text);
}

/* 0 good, 1 damaged, -1 with *err. */
static int verify_one(struct images *images, const char *name, struct json_writer *w,
		      struct warder_error *err)
{
	struct images_fault faults[FAULTS_SHOWN];
	const int found = images_verify(images, name, faults, FAULTS_SHOWN, err);
	size_t shown = found > FAULTS_SHOWN ? FAULTS_SHOWN : (size_t)(found > 0 ? found : 0);

	if (found < 0)
		return -1;
	progress_end(images->context);
	if (w)
		images_write_verified(name, faults, shown, w);
	else
		fault_lines(name, faults, shown);
	return found > 0;
}

/* All images; one that cannot be verified at all is damaged. */
static int verify_all(struct images *images, struct json_writer *w, struct warder_error *err)
{
	struct image *list;
	size_t count;
	int worst = 0;

	if (images_list(images, &list, &count, err) != 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		struct images_fault fault = { .layer = "" };
		struct warder_error one;
		const char *name = list[i].name ? list[i].name : "?";
		int found = verify_one(images, name, w, &one);

		if (found < 0 && one.code != WARDER_ERROR_NOT_FOUND) { /* else removed meanwhile */
			snprintf(fault.text, sizeof(fault.text), "%s", one.text);
			if (w)
				images_write_verified(name, &fault, 1, w);
			else
				fault_lines(name, &fault, 1);
			worst = 1;
		}
		if (found > 0)
			worst = 1;
		image_done(&list[i]);
	}
	free(list);
	return worst;
}

static int verify_command(const struct options *options, struct warder_error *err)
{
	struct progress progress = { .what = "verifying" };
	struct json_writer w = { .pretty = true };
	struct json_writer *json = option_given(options, "--json") ? &w : NULL;
	struct images images;
	int found = 0;

	if (open_images(options, &progress, false, &images, err) != 0)
		return -1;
	if (json)
		json_begin_array(json);
	if (options->operands[0])
		found = verify_one(&images, options->operands[0], json, err);
	else
		found = verify_all(&images, json, err);
	progress_end(&progress);
	images_done(&images);
	if (found < 0 || !json) {
		json_writer_done(&w);
		return found;
	}
	json_end_array(json);
	return term_put(json_take(json), err) == 0 ? found : -1;
}

/* ---- remove, gc ---- */

static int print_removed(const struct options *options, const struct images_removed *removed,
			 struct warder_error *err)
{
	struct json_writer w = { .pretty = true };
	char size[32];

	if (!option_given(options, "--json")) {
		printf("%" PRIu64 " layer%s removed, %s free", removed->layers,
		       removed->layers == 1 ? "" : "s", show_size(removed->bytes, size, sizeof(size)));
		if (removed->held)
			printf("; %" PRIu64 " held by a run or an import", removed->held);
		if (removed->leftovers)
			printf("; %" PRIu64 " leftover%s of interrupted work removed", removed->leftovers,
			       removed->leftovers == 1 ? "" : "s");
		putchar('\n');
		return 0;
	}
	images_write_removed(removed, &w);
	return term_put(json_take(&w), err);
}

static int remove_command(const struct options *options, struct warder_error *err)
{
	struct images_removed removed;
	struct images images;
	int done;

	if (open_images(options, NULL, false, &images, err) != 0)
		return -1;
	done = images_remove(&images, options->operands[0], &removed, err);
	images_done(&images);
	return done == 0 ? print_removed(options, &removed, err) : -1;
}

static int gc_command(const struct options *options, struct warder_error *err)
{
	struct images_removed removed;
	struct images images;
	int done;

	if (open_images(options, NULL, false, &images, err) != 0)
		return -1;
	done = images_gc(&images, &removed, err);
	images_done(&images);
	return done == 0 ? print_removed(options, &removed, err) : -1;
}

const struct command image_commands[] = {
	{ "image", "import", "--store --json --format --ref --replace --max-size --max-file-size --max-files",
	  "SOURCE [NAME]", 1, 2, "import a root file system",
	  "SOURCE is an OCI layout (a directory or a tar archive of it), a docker archive, a tar archive of "
	  "a root\n"
	  "file system, a directory, or - for an archive on standard input. If you give NAME, an "
	  "image that\n"
	  "already has this name is replaced. Without NAME, the image gets the name that is recorded in the "
	  "archive;\n"
	  "another image of that name is replaced only with --replace.\n",
	  "warder image import debian.tar debian:12", import_command },
	{ "image", "build", "--store --json --file --build-arg --net --set", "DIR NAME", 2, 2,
	  "build a root file system from a recipe",
	  "The recipe is written as a Dockerfile: FROM, RUN, COPY, ADD, ENV, WORKDIR, USER, CMD, ENTRYPOINT, "
	  "ARG, LABEL,\n"
	  "SHELL. FROM debootstrap:SUITE makes a root of Debian's packages. RUN commands run in a jail, "
	  "as its root\n"
	  "user, without a network unless --net gives one. COPY takes files from DIR.\n",
	  "warder image build . mine:1", build_command },
	{ "image", "pull", "--store --json --allow", "REFERENCE [NAME]", 1, 2,
	  "fetch an image from a registry",
	  "REFERENCE is REGISTRY/NAME[:TAG][@sha256:DIGEST]; the default registry is docker.io. The "
	  "program\n"
	  "skopeo, which must be installed, fetches the image for this host's architecture in a jail. This "
	  "jail reaches\n"
	  "only the hosts of the registry; --allow adds a host, such as the server from which a registry "
	  "serves its\n"
	  "layers. Warder compares each fetched file with its digest. Without NAME, the image gets REFERENCE "
	  "as its name.\n",
	  "warder image pull alpine:latest", pull_command },
	{ "image", "ensure", "--store", "LANGUAGE...", 1, OPTIONS_MAX,
	  "fetch the images for some languages, unless the store has them",
	  "Fetches the official image of each language from docker.io as \"warder image pull\" does, unless "
	  "an image of\n"
	  "that name is in the store. It stops at the first image that it cannot fetch.\n",
	  "warder image ensure python", ensure_command },
	{ "image", "list", "--store --json", NULL, 0, 0, "list the images", NULL, "warder image list",
	  list_command, true },
	{ "image", "inspect", "--store --json", "NAME", 1, 1, "show layers and configuration of an image",
	  NULL, "warder image inspect debian:12", inspect_command, true },
	{ "image", "verify", "--store --json", "[NAME]", 0, 1, "verify every stored file",
	  "Without NAME, verifies all images. Exit status: 0 if all files are as they were stored, 1 if one "
	  "is\n"
	  "damaged, 125 if the command failed.\n",
	  "warder image verify", verify_command, true },
	{ "image", "remove", "--store --json", "NAME", 1, 1,
	  "remove an image, and the layers that only it used",
	  "Layers that a run or an import is using stay until \"warder image gc\".\n",
	  "warder image remove debian:12", remove_command, true },
	{ "image", "gc", "--store --json", NULL, 0, 0, "remove layers that no name uses",
	  "Layers that a run or an import is using stay. Also removes what interrupted commands left "
	  "behind.\n",
	  "warder image gc", gc_command, true },
	{ 0 },
};
