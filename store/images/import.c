/*
 * An archive is unpacked once, by the same rules as a layer, into a draft. What lies there then says what it is: an OCI layout,
 * a docker archive, or a root file system, which is a layer already. A layout or a docker archive is then read from that
 * directory like one that the caller named, each layer into a draft of its own.
 *
 * Content is hashed while it is unpacked, and a layer gets its name only if all digests are the expected ones: that of the
 * compressed blob, by which the manifest names it, and that of the tar archive, by which the configuration does.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "store/images/copy.h"
#include "store/images/layer_store.h"
#include "store/images/layout.h"
#include "store/images/merged.h"
#include "store/images/stream.h"
#include "store/images/unpack.h"

#define INDEX_DEPTH 3

static const char field[] = "image";

struct import {
	struct images *images;
	const struct images_import *what;
	struct unpack_limits left; /* of what the caller allows, for what is still to come */
	struct image *image;
	struct images_notes *notes;
	const char *doing; /* for the progress */
	uint64_t total;
	struct warder_error *err;
};

/* ---- parts ---- */

static void show(void *context, uint64_t done)
{
	const struct import *import = context;

	if (import->images->on_progress)
		import->images->on_progress(import->images->context, import->doing, done, import->total);
}

static void doing(struct import *import, const char *what, uint64_t total)
{
	import->doing = what;
	import->total = total;
}

static int spend(struct import *import, const struct unpack_report *report)
{
	import->left.files_max -= report->files;
	import->left.bytes_max -= report->bytes;
	unpack_note(report, import->notes);
	return 0;
}

/* Give the tree of a draft its name, and put it on top. digest NULL: by what is in it. */
static int keep(struct import *import, struct draft *draft, const char *digest)
{
	return layer_store_keep(import->images, draft, digest, import->image, import->notes, import->err);
}

/* What the layers that are already taken have. */
static bool below(void *context, const char *path, struct stat *ret)
{
	const struct merged *merged = context;
	struct warder_error ignored;
	struct merged_entry entry;

	if (merged_find(merged, path, &entry, &ignored) != 0 || !entry.exists ||
	    strcmp(entry.path, path) != 0)
		return false;
	*ret = entry.st;
	return S_ISDIR(entry.st.st_mode);
}

/* An archive into the draft; lower: the layers that it will lie on, or NULL. */
static int unpack_into(struct import *import, int fd, struct draft *draft, struct merged *lower,
		       char ret_packed[static DIGEST_HEX], char ret_unpacked[static DIGEST_HEX],
		       uint64_t *ret_size)
{
	const uint64_t most = import->left.bytes_max + ((uint64_t)1 << 30); /* and what tar itself needs */
	struct unpack unpack;
	struct stream stream;
	int done;

	unpack_init(&unpack, draft->tree_fd, import->images->owners_kept, &import->left);
	unpack.below = lower ? below : NULL;
	unpack.below_context = lower;
	done = stream_open(fd, most, show, import, &stream, import->err);
	if (done == 0)
		done = unpack_stream(&unpack, &stream, import->err);
	if (done == 0)
		done = stream_finish(&stream, ret_packed, ret_unpacked, import->err);
	if (done == 0 && !lower) /* a layer's digest is compared */
		done = stream_check_end(&stream, import->err);
	if (done == 0)
		done = spend(import, &unpack.report);
	if (done == 0 && unpack.report.implied)
		done = draft_note_implied(draft, import->err);
	draft->placed = unpack.report.inherited != 0;
	*ret_size = stream.packed;
	stream_done(&stream);
	unpack_done(&unpack);
	return done;
}

/* A document within a layout, heap. */
static int read_document(struct import *import, int dir_fd, const char *path, char **ret, size_t *ret_len)
{
	owned_fd int fd = path_open_beneath(dir_fd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, import->err);
	struct stat st;
	size_t len = 0;
	ssize_t n = 1;
	char *text;

	if (fd < 0 || fstat(fd, &st) != 0)
		return -1;
	if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > LAYOUT_DOCUMENT_BYTES)
		return error_set(import->err, WARDER_ERROR_REJECTED, field,
				 "%.200s is not a file, or larger than 4 MiB", path);
	text = malloc(LAYOUT_DOCUMENT_BYTES + 1);
	if (!text)
		return error_no_memory(import->err, field);
	while (n > 0 && len <= LAYOUT_DOCUMENT_BYTES) {
		n = read(fd, text + len, LAYOUT_DOCUMENT_BYTES + 1 - len);
		len += n > 0 ? (size_t)n : 0;
	}
	if (n == 0) {
		*ret = text;
		*ret_len = len;
		return 0;
	}
	free(text);
	return error_set(import->err, WARDER_ERROR_UNAVAILABLE, field, "%.200s cannot be read", path);
}

static int check_digest(const char *what, const char *expected, const char *got, struct warder_error *err)
{
	if (strcmp(expected, got) == 0)
		return 0;
	return error_set(
	    err, WARDER_ERROR_INVALID_REQUEST, field,
	    "%.120s has the digest sha256:%.64s instead of sha256:%.64s: it is damaged or forged", what, got,
	    expected);
}

static int digest_of(const char *text, size_t len, char ret[static DIGEST_HEX], struct warder_error *err)
{
	struct digest digest;

	digest_init(&digest);
	digest_add(&digest, text, len);
	return digest_hex(&digest, ret) == 0 ? 0 : error_no_memory(err, field);
}

static void blob_path(const char *digest, char ret[static 96])
{
	snprintf(ret, 96, "blobs/sha256/%.64s", digest);
}

/* A document by its digest: size and digest are those of the descriptor. */
static int read_blob(struct import *import, int dir_fd, const struct layout_descriptor *descriptor,
		     char **ret, size_t *ret_len)
{
	char path[96], got[DIGEST_HEX];

	blob_path(descriptor->digest, path);
	if (read_document(import, dir_fd, path, ret, ret_len) != 0)
		return -1;
	if (*ret_len != descriptor->size) {
		error_set(import->err, WARDER_ERROR_INVALID_REQUEST, field,
			  "%.120s has %zu bytes instead of %llu", path, *ret_len,
			  (unsigned long long)descriptor->size);
	} else if (digest_of(*ret, *ret_len, got, import->err) == 0 &&
		   check_digest(path, descriptor->digest, got, import->err) == 0) {
		return 0;
	}
	free(*ret);
	return -1;
}

static int check_platform(const char *os, const char *architecture, struct warder_error *err)
{
	const char *own = layout_architecture();

	if (os && architecture && strcmp(os, "linux") == 0 && strcmp(architecture, own) == 0)
		return 0;
	return error_set(
	    err, WARDER_ERROR_UNAVAILABLE, field,
	    "the image is for %.40s/%.40s, this host is linux/%s; export the image for this platform",
	    os ? os : "unknown", architecture ? architecture : "unknown", own);
}

/* ---- layers of a layout or a docker archive ---- */

/* The layer's archive into a draft, and its name if its digests are right. */
static int unpack_layer(struct import *import, int fd, const char *path, const char *diff_id,
			const struct layout_descriptor *packed, struct merged *lower)
{
	struct draft draft = DRAFT_NONE;
	char got_packed[DIGEST_HEX], got[DIGEST_HEX];
	uint64_t size = 0;
	int taken;

	if (draft_make(import->images, &draft, import->err) != 0)
		return -1;
	taken = unpack_into(import, fd, &draft, lower, got_packed, got, &size);
	if (taken != 0)
		error_context(import->err, "layer %.12s", diff_id);
	if (taken == 0 && packed && size != packed->size)
		taken = error_set(import->err, WARDER_ERROR_INVALID_REQUEST, field,
				  "%.120s has %llu bytes instead of %llu", path, (unsigned long long)size,
				  (unsigned long long)packed->size);
	if (taken == 0 && packed)
		taken = check_digest(path, packed->digest, got_packed, import->err);
	if (taken == 0)
		taken = check_digest(path, diff_id, got, import->err);
	if (taken == 0)
		taken = keep(import, &draft, diff_id);
	draft_done(import->images, &draft);
	return taken;
}

/* 1: the layer is there as it would be on top of those of the image, which has it now. */
static int share_layer(struct import *import, const char *diff_id, struct merged *lower)
{
	struct image_layer layer;
	struct stat root;
	const bool on = below(lower, "", &root);
	const int there = layer_store_layer(import->images, diff_id, &layer, import->err);

	if (there != 1)
		return there;
	if (!layer_store_fits(import->images, diff_id, on ? &root : NULL)) {
		fd_done(&layer.lock_fd);
		return 0;
	}
	import->notes->shared++;
	return layer_store_add_layer(import->image, &layer, import->err) == 0 ? 1 : -1;
}

/* One layer: `diff_id` is its name; `packed` (or NULL) the digest of the file. */
static int take_layer(struct import *import, int dir_fd, const char *path, const char *diff_id,
		      const struct layout_descriptor *packed)
{
	owned_fd int fd = -1;
	struct merged lower;
	struct stat st;
	int taken;

	if (merged_open(import->images, import->image, &lower, import->err) != 0)
		return -1;
	taken = share_layer(import, diff_id, &lower);
	if (taken == 0) {
		fd = path_open_beneath(dir_fd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, import->err);
		if (fd < 0)
			taken = -1;
		else if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
			taken = error_set(import->err, WARDER_ERROR_REJECTED, field, "%.200s is not a file",
					  path);
	}
	if (taken == 0) {
		doing(import, "unpacking", (uint64_t)st.st_size);
		taken = unpack_layer(import, fd, path, diff_id, packed, &lower);
	}
	merged_done(&lower);
	return taken < 0 ? -1 : 0;
}

static int set_platform(struct import *import, const struct layout_config *config)
{
	if (asprintf(&import->image->platform, "%s/%s", config->os, config->architecture) >= 0)
		return 0;
	import->image->platform = NULL;
	return error_no_memory(import->err, field);
}

static int take_manifest_layers(struct import *import, int dir_fd, const struct layout_manifest *manifest,
				const struct layout_config *config)
{
	char path[96];

	if (check_platform(config->os, config->architecture, import->err) != 0 ||
	    set_platform(import, config) != 0)
		return -1;
	if (config->count != manifest->count)
		return error_set(import->err, WARDER_ERROR_INVALID_REQUEST, field,
				 "the manifest has %zu layers, the configuration %zu", manifest->count,
				 config->count);
	for (size_t i = 0; i < manifest->count; i++) {
		if (!layout_is_layer(manifest->layers[i].media))
			return error_set(import->err, WARDER_ERROR_INVALID_REQUEST, field,
					 "a layer has the media type %.120s, which is not known",
					 manifest->layers[i].media ? manifest->layers[i].media : "(none)");
		blob_path(manifest->layers[i].digest, path);
		if (take_layer(import, dir_fd, path, config->diff_ids[i], &manifest->layers[i]) != 0)
			return -1;
	}
	return 0;
}

static int take_config(struct import *import, int dir_fd, const struct layout_manifest *manifest)
{
	struct layout_config config;
	char *text;
	size_t len;
	int taken;

	if (read_blob(import, dir_fd, &manifest->config, &text, &len) != 0)
		return -1;
	taken = layout_decode_config(text, len, "image configuration", &config, import->image, import->err);
	free(text);
	if (taken == 0)
		taken = take_manifest_layers(import, dir_fd, manifest, &config);
	layout_config_done(&config);
	return taken;
}

static int take_manifest(struct import *import, int dir_fd, const struct layout_descriptor *descriptor)
{
	struct layout_manifest manifest;
	char *text;
	size_t len;
	int taken;

	if (read_blob(import, dir_fd, descriptor, &text, &len) != 0)
		return -1;
	snprintf(import->image->digest, sizeof(import->image->digest), "%s", descriptor->digest);
	taken = layout_decode_manifest(text, len, "image manifest", &manifest, import->err);
	free(text);
	if (taken == 0)
		taken = take_config(import, dir_fd, &manifest);
	layout_manifest_done(&manifest);
	return taken;
}

/* ---- choosing ---- */

/* Entries that may be meant: of that reference, for this machine, as far as the index tells. */
static bool may_be_meant(const struct layout_descriptor *entry, const char *reference)
{
	if (reference && (!entry->reference || strcmp(entry->reference, reference) != 0))
		return false;
	if (entry->os && strcmp(entry->os, "linux") != 0)
		return false;
	if (entry->architecture && strcmp(entry->architecture, layout_architecture()) != 0)
		return false;
	return layout_kind(entry) >= 0;
}

/* What there is, for a message. */
static void describe_index(const struct layout_index *index, char *text, size_t size)
{
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < index->count && len < size - 1; i++) {
		const struct layout_descriptor *entry = &index->entries[i];
		const int n =
		    snprintf(text + len, size - len, "%s%.40s%s%.20s%s%.20s", i ? ", " : "",
			     entry->reference ? entry->reference : "(unnamed)", entry->os ? " " : "",
			     entry->os ? entry->os : "", entry->architecture ? "/" : "",
			     entry->architecture ? entry->architecture : "");

		len += n > 0 ? (size_t)n : 0;
	}
	if (!index->count)
		snprintf(text, size, "nothing");
}

static int choose(const struct layout_index *index, const char *reference,
		  const struct layout_descriptor **ret, struct warder_error *err)
{
	const struct layout_descriptor *found = NULL;
	size_t count = 0;
	char there[200];

	for (size_t i = 0; i < index->count; i++) {
		const struct layout_descriptor *entry = &index->entries[i];

		if (!may_be_meant(entry, reference) || (found && strcmp(found->digest, entry->digest) == 0))
			continue;
		found = entry;
		count++;
	}
	*ret = found;
	if (count == 1)
		return 0;
	describe_index(index, there, sizeof(there));
	if (count == 0)
		return error_set(err, WARDER_ERROR_NOT_FOUND, field,
				 "the archive has no image%s%.60s for linux/%s; it has: %s",
				 reference ? " named " : "", reference ? reference : "",
				 layout_architecture(), there);
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
			 "the archive has several images; choose one with --ref: %s", there);
}

static int take_entry(struct import *import, int dir_fd, const struct layout_index *index,
		      const char *reference, int depth);

static int take_nested(struct import *import, int dir_fd, const struct layout_descriptor *entry, int depth)
{
	struct layout_index index;
	char *text;
	size_t len;
	int taken;

	if (depth >= INDEX_DEPTH)
		return error_set(import->err, WARDER_ERROR_REJECTED, field,
				 "the archive's indexes lead to each other");
	if (read_blob(import, dir_fd, entry, &text, &len) != 0)
		return -1;
	taken = layout_decode_index(text, len, "image index", &index, import->err);
	free(text);
	if (taken == 0)
		taken = take_entry(import, dir_fd, &index, NULL, depth + 1);
	layout_index_done(&index);
	return taken;
}

static int use_name(struct import *import, const char *name)
{
	if (import->image->name || !name)
		return 0;
	if (!import->what->base && layer_store_check_name(name, import->err) != 0)
		return -1;
	import->image->name = strdup(name);
	return import->image->name ? 0 : error_no_memory(import->err, field);
}

static int take_entry(struct import *import, int dir_fd, const struct layout_index *index,
		      const char *reference, int depth)
{
	const struct layout_descriptor *entry;

	if (choose(index, reference, &entry, import->err) != 0 || use_name(import, entry->reference) != 0)
		return -1;
	return layout_kind(entry) == LAYOUT_INDEX ? take_nested(import, dir_fd, entry, depth)
						  : take_manifest(import, dir_fd, entry);
}

static int import_layout(struct import *import, int dir_fd)
{
	struct layout_index index;
	char *text;
	size_t len;
	int taken;

	import->image->source = strdup("oci");
	if (read_document(import, dir_fd, "index.json", &text, &len) != 0)
		return -1;
	taken = layout_decode_index(text, len, "index.json", &index, import->err);
	free(text);
	if (taken == 0)
		taken = take_entry(import, dir_fd, &index, import->what->reference, 0);
	layout_index_done(&index);
	return taken;
}

/* ---- docker archives ---- */

static bool has_tag(const struct layout_docker *docker, const char *tag)
{
	for (char *const *each = docker->tags; each && *each; each++) {
		if (strcmp(*each, tag) == 0)
			return true;
	}
	return false;
}

static int choose_docker(const struct layout_dockers *dockers, const char *reference,
			 const struct layout_docker **ret, struct warder_error *err)
{
	for (size_t i = 0; reference && i < dockers->count; i++) {
		if (has_tag(&dockers->entries[i], reference)) {
			*ret = &dockers->entries[i];
			return 0;
		}
	}
	if (!reference && dockers->count == 1) {
		*ret = &dockers->entries[0];
		return 0;
	}
	if (reference)
		return error_set(err, WARDER_ERROR_NOT_FOUND, field, "the archive has no image tagged %.120s",
				 reference);
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
			 "the archive has %zu images; choose one by its tag with --ref", dockers->count);
}

/* Where the configuration's path is its digest, it has to be right. */
static int check_config_name(const char *path, const char *got, struct warder_error *err)
{
	const char *base = strrchr(path, '/');
	char digest[IMAGE_DIGEST];

	base = base ? base + 1 : path;
	snprintf(digest, sizeof(digest), "%.64s", base);
	if (!image_is_digest(digest) || (base[64] && strcmp(base + 64, ".json") != 0))
		return 0;
	return check_digest(path, digest, got, err);
}

static int take_docker(struct import *import, int dir_fd, const struct layout_docker *docker,
		       struct layout_config *config)
{
	char *text;
	size_t len, count = 0;
	int taken = -1;

	if (read_document(import, dir_fd, docker->config, &text, &len) != 0)
		return -1;
	if (digest_of(text, len, import->image->digest, import->err) == 0 &&
	    check_config_name(docker->config, import->image->digest, import->err) == 0)
		taken = layout_decode_config(text, len, docker->config, config, import->image, import->err);
	free(text);
	while (taken == 0 && docker->layers[count])
		count++;
	if (taken == 0 && count != config->count)
		return error_set(import->err, WARDER_ERROR_INVALID_REQUEST, field,
				 "manifest.json has %zu layers, the configuration %zu", count, config->count);
	if (taken != 0 || check_platform(config->os, config->architecture, import->err) != 0 ||
	    set_platform(import, config) != 0)
		return -1;
	for (size_t i = 0; taken == 0 && i < count; i++)
		taken = take_layer(import, dir_fd, docker->layers[i], config->diff_ids[i], NULL);
	return taken;
}

static int import_docker(struct import *import, int dir_fd)
{
	const struct layout_docker *docker = NULL;
	struct layout_config config = { 0 };
	struct layout_dockers dockers;
	char *text;
	size_t len;
	int taken;

	import->image->source = strdup("docker");
	if (read_document(import, dir_fd, "manifest.json", &text, &len) != 0)
		return -1;
	taken = layout_decode_docker(text, len, "manifest.json", &dockers, import->err);
	free(text);
	if (taken == 0)
		taken = choose_docker(&dockers, import->what->reference, &docker, import->err);
	if (taken == 0)
		taken = use_name(import, import->what->reference);
	if (taken == 0 && docker->tags)
		taken = use_name(import, docker->tags[0]);
	if (taken == 0)
		taken = take_docker(import, dir_fd, docker, &config);
	layout_config_done(&config);
	layout_dockers_done(&dockers);
	return taken;
}

/* ---- root file systems ---- */

static int import_directory(struct import *import, int dir_fd)
{
	struct draft draft;
	struct unpack unpack;
	struct copy copy = { .unpack = &unpack, .on_progress = show, .context = import };
	int copied;

	import->image->source = strdup("directory");
	doing(import, "copying", 0);
	if (draft_make(import->images, &draft, import->err) != 0)
		return -1;
	unpack_init(&unpack, draft.tree_fd, import->images->owners_kept, &import->left);
	copied = copy_path(&copy, dir_fd, ".", "", import->err);
	if (copied == 0)
		copied = unpack_finish(&unpack, import->err);
	if (copied == 0)
		copied = spend(import, &unpack.report);
	copy_done(&copy);
	unpack_done(&unpack);
	if (copied == 0)
		copied = keep(import, &draft, NULL);
	draft_done(import->images, &draft);
	return copied;
}

/* ---- what it is ---- */

enum form { FORM_NONE, FORM_LAYOUT, FORM_DOCKER, FORM_TAR, FORM_DIRECTORY };

static const struct {
	const char *name;
	enum form form;
} forms[] = {
	{ "oci", FORM_LAYOUT },
	{ "docker", FORM_DOCKER },
	{ "tar", FORM_TAR },
	{ "directory", FORM_DIRECTORY },
};

static int form_named(const char *name, enum form *ret, struct warder_error *err)
{
	*ret = FORM_NONE;
	for (size_t i = 0; name && i < ARRAY_LENGTH(forms); i++) {
		if (strcmp(name, forms[i].name) == 0)
			*ret = forms[i].form;
	}
	if (!name || *ret != FORM_NONE)
		return 0;
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--format",
			 "%.40s is not a format; use oci, docker, tar or directory", name);
}

static bool has(int dir_fd, const char *name)
{
	struct stat st;

	return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

static enum form form_found(int dir_fd, enum form otherwise)
{
	if (has(dir_fd, "oci-layout") && has(dir_fd, "index.json"))
		return FORM_LAYOUT;
	return has(dir_fd, "manifest.json") ? FORM_DOCKER : otherwise;
}

static int import_form(struct import *import, int dir_fd, enum form form)
{
	return form == FORM_LAYOUT   ? import_layout(import, dir_fd)
	       : form == FORM_DOCKER ? import_docker(import, dir_fd)
				     : import_directory(import, dir_fd);
}

static int import_archive(struct import *import, int fd, uint64_t size, enum form form)
{
	const struct unpack_limits before = import->left;
	struct draft draft;
	char packed[DIGEST_HEX], unpacked[DIGEST_HEX];
	uint64_t read;
	int taken;

	if (form == FORM_DIRECTORY)
		return error_set(import->err, WARDER_ERROR_INVALID_REQUEST, "--format",
				 "%.200s is not a directory", import->what->source);
	doing(import, "unpacking", size);
	if (draft_make(import->images, &draft, import->err) != 0)
		return -1;
	taken = unpack_into(import, fd, &draft, NULL, packed, unpacked, &read);
	if (taken == 0 && form == FORM_NONE)
		form = form_found(draft.tree_fd, FORM_TAR);
	if (taken == 0 && form != FORM_TAR) {
		import->left = before; /* what it unpacks to now is other content */
		taken = import_form(import, draft.tree_fd, form);
	} else if (taken == 0) {
		import->image->source = strdup("tar");
		taken = keep(import, &draft, unpacked);
	}
	draft_done(import->images, &draft);
	return taken;
}

static int import_source(struct import *import, enum form form)
{
	const char *source = import->what->source;
	owned_fd int fd = strcmp(source, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
						   : open(source, O_RDONLY | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 && errno == ENOENT && !strchr(source, '/'))
		return error_set(
		    import->err, WARDER_ERROR_NOT_FOUND, field,
		    "there is no file or directory %.200s here; \"warder image pull\" fetches an image "
		    "of a registry by its name",
		    source);
	if (fd < 0 || fstat(fd, &st) != 0)
		return error_set_errno(
		    import->err, errno == ENOENT ? WARDER_ERROR_NOT_FOUND : WARDER_ERROR_INVALID_REQUEST,
		    field, errno, "%.200s cannot be opened", source);
	if (!S_ISDIR(st.st_mode))
		return import_archive(import, fd, S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0, form);
	if (form == FORM_TAR)
		return error_set(import->err, WARDER_ERROR_INVALID_REQUEST, "--format",
				 "%.200s is a directory", source);
	return import_form(import, fd, form == FORM_NONE ? form_found(fd, FORM_DIRECTORY) : form);
}

/* ---- an image ---- */

/* Where no manifest names it: by what it is made of. */
static int own_digest(struct image *image, struct warder_error *err)
{
	struct digest digest;

	if (image->digest[0])
		return 0;
	digest_init(&digest);
	for (size_t i = 0; i < image->layer_count; i++)
		digest_add_text(&digest, image->layers[i].digest);
	return digest_hex(&digest, image->digest) == 0 ? 0 : error_no_memory(err, field);
}

/* Whoever made an archive does not know what is in the store: what it calls itself takes nothing else's place unasked. */
static int check_replaced(struct import *import)
{
	const struct images_import *what = import->what;
	const char *name = import->image->name;
	struct warder_error why = { 0 };
	struct image old;

	if (images_inspect(import->images, name, &old, &why) != 0 && why.code == WARDER_ERROR_NOT_FOUND)
		return 0;
	import->notes->replaced = strcmp(old.digest, import->image->digest) != 0;
	image_done(&old);
	if (!import->notes->replaced || what->replace || what->name ||
	    (what->reference && strcmp(what->reference, name) == 0))
		return 0;
	return error_set(import->err, WARDER_ERROR_CONFLICT, field,
			 "it calls itself %.128s, which is another image in the store; name it yourself, or "
			 "give --replace",
			 name);
}

static int finish(struct import *import)
{
	struct image *image = import->image;

	image->owners_kept = import->images->owners_kept;
	image->created = (uint64_t)time(NULL);
	if (!image->source)
		return error_no_memory(import->err, field);
	if (!image->name)
		return error_set(import->err, WARDER_ERROR_INVALID_REQUEST, field,
				 "it does not say its name; give it one: warder image import %.100s NAME",
				 import->what->source);
	if (own_digest(image, import->err) != 0 || check_replaced(import) != 0)
		return -1;
	return layer_store_put(import->images, image, import->err);
}

int images_import(struct images *images, const struct images_import *what, struct image *ret,
		  struct images_notes *ret_notes, struct warder_error *err)
{
	struct import import = {
		.images = images,
		.what = what,
		.left = { .files_max = what->files_max ? what->files_max : IMAGES_FILES_MAX,
			  .bytes_max = what->bytes_max ? what->bytes_max : IMAGES_BYTES_MAX,
			  .file_bytes_max =
			      what->file_bytes_max ? what->file_bytes_max : IMAGES_FILE_BYTES_MAX },
		.image = ret,
		.notes = ret_notes,
		.err = err,
	};
	enum form form;

	*ret = (struct image){ 0 };
	*ret_notes = (struct images_notes){ 0 };
	if ((what->name && !what->base && layer_store_check_name(what->name, err) != 0) ||
	    form_named(what->format, &form, err) != 0)
		return -1;
	layer_store_sweep(images);
	if (use_name(&import, what->name) == 0 && import_source(&import, form) == 0 && finish(&import) == 0)
		return 0;
	image_done(ret);
	return -1;
}
