/*
 * A name is looked up in two steps: the record says which layers there are, then each layer's lock is taken. Between the two
 * somebody may remove the image, or import another one under its name and have the old layers removed. So when a layer is gone the
 * record is read again, a bounded number of times; a record whose layers stay away is damaged.
 *
 * A lock is taken on a file within the layer's own directory. Who removes a layer takes it exclusively, renames the directory, and
 * only then deletes: after locking, the name must still lead to the file that was locked.
 */
#include "rootfs/image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/json.h"
#include "rootfs/rootfs.h"

#define TRIES 4

static const char field[] = "image";

/* ---- names ---- */

bool image_is_digest(const char *text)
{
	return strspn(text, "0123456789abcdef") == IMAGE_DIGEST - 1 && !text[IMAGE_DIGEST - 1];
}

static bool is_plain(char letter)
{
	return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
	       (letter >= '0' && letter <= '9') || letter == '.' || letter == '_' || letter == '-';
}

int image_record_name(const char *name, char ret[static 400], struct warder_error *err)
{
	const size_t len = strlen(name);
	char shown[160];
	size_t used = 0;
	bool good = len > 0 && len <= IMAGE_NAME_MAX && is_plain(name[0]) && name[0] != '.' && name[0] != '-';

	for (size_t i = 0; good && i < len; i++) {
		if (is_plain(name[i]))
			ret[used++] = name[i];
		else if (strchr("/:@+", name[i]))
			used += (size_t)sprintf(ret + used, "%%%02X", (unsigned char)name[i]);
		else
			good = false;
	}
	/* Names of files are shorter than 256 bytes. */
	if (!good || used > 240)
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, field,
		    "%s is not a valid image name; use letters, digits and ._-/:@+, at most %d, a "
		    "letter or digit first",
		    json_quote(name, shown, sizeof(shown)), IMAGE_NAME_MAX);
	strcpy(ret + used, ".json");
	return 0;
}

/* ---- records ---- */

void image_strings_free(char **strings)
{
	for (char **string = strings; string && *string; string++)
		free(*string);
	free(strings);
}

void image_done(struct image *image)
{
	for (size_t i = 0; i < image->layer_count; i++) {
		free(image->layers[i].path);
		fd_done(&image->layers[i].lock_fd);
	}
	free(image->layers);
	free(image->name);
	free(image->source);
	free(image->platform);
	free(image->working_directory);
	free(image->user);
	image_strings_free(image->environment);
	image_strings_free(image->entrypoint);
	image_strings_free(image->command);
	image_strings_free(image->labels);
	*image = (struct image){ 0 };
}

struct decoding {
	const char *origin;
	struct image *image;
	struct warder_error *err;
};

static int refuse(const struct decoding *d, const struct json_value *value, const char *what)
{
	return error_set(d->err, WARDER_ERROR_UNAVAILABLE, field,
			 "%.120s:%d: %.60s %s; the record is damaged, import the image again", d->origin,
			 value->line, value->key ? value->key : "this", what);
}

static int take_text(const struct decoding *d, const struct json_value *value, char **ret)
{
	if (value->type != JSON_STRING || *ret)
		return refuse(d, value, "is not a string");
	*ret = strdup(value->string);
	return *ret ? 0 : error_no_memory(d->err, field);
}

static int take_digest(const struct decoding *d, const struct json_value *value,
		       char ret[static IMAGE_DIGEST])
{
	if (value->type != JSON_STRING || !image_is_digest(value->string))
		return refuse(d, value, "is not a digest");
	memcpy(ret, value->string, IMAGE_DIGEST);
	return 0;
}

static int take_number(const struct decoding *d, const struct json_value *value, uint64_t *ret)
{
	if (value->type != JSON_NUMBER || !value->is_uint)
		return refuse(d, value, "is not a number");
	*ret = value->uint;
	return 0;
}

static int take_strings(const struct decoding *d, const struct json_value *value, char ***ret)
{
	const size_t count = value->type == JSON_ARRAY ? json_length(value) : SIZE_MAX;
	size_t i = 0;

	if (count > IMAGE_STRINGS_MAX || *ret)
		return refuse(d, value, "is not a list of strings, or has too many");
	*ret = calloc(count + 1, sizeof(**ret));
	if (!*ret)
		return error_no_memory(d->err, field);
	for (const struct json_value *each = value->child; each; each = each->next) {
		if (take_text(d, each, &(*ret)[i++]) != 0)
			return -1;
	}
	return 0;
}

static int take_layer(const struct decoding *d, const struct json_value *value, struct image_layer *ret)
{
	ret->lock_fd = -1;
	if (value->type != JSON_OBJECT)
		return refuse(d, value, "is not an object");
	for (const struct json_value *each = value->child; each; each = each->next) {
		int taken;

		if (strcmp(each->key, "digest") == 0)
			taken = take_digest(d, each, ret->digest);
		else if (strcmp(each->key, "tree") == 0)
			taken = take_digest(d, each, ret->tree);
		else if (strcmp(each->key, "files") == 0)
			taken = take_number(d, each, &ret->files);
		else if (strcmp(each->key, "bytes") == 0)
			taken = take_number(d, each, &ret->bytes);
		else
			return refuse(d, each, "is not known here");
		if (taken != 0)
			return -1;
	}
	return ret->digest[0] && ret->tree[0] ? 0 : refuse(d, value, "has no digest");
}

static int take_layers(const struct decoding *d, const struct json_value *value)
{
	struct image *image = d->image;
	const size_t count = value->type == JSON_ARRAY ? json_length(value) : SIZE_MAX;

	if (count > IMAGE_LAYERS_MAX || image->layers)
		return refuse(d, value, "is not a list, or has too many layers");
	image->layers = calloc(count + 1, sizeof(*image->layers));
	if (!image->layers)
		return error_no_memory(d->err, field);
	for (const struct json_value *each = value->child; each; each = each->next) {
		image->layer_count++;
		if (take_layer(d, each, &image->layers[image->layer_count - 1]) != 0)
			return -1;
	}
	return 0;
}

static int take_owners(const struct decoding *d, const struct json_value *value)
{
	const char *text = value->type == JSON_STRING ? value->string : "";

	d->image->owners_kept = strcmp(text, "image") == 0;
	return d->image->owners_kept || strcmp(text, "caller") == 0
		   ? 0
		   : refuse(d, value, "is neither image nor caller");
}

static int take_version(const struct decoding *d, const struct json_value *value)
{
	uint64_t version = 0;

	if (take_number(d, value, &version) != 0)
		return -1;
	return version == 1 ? 0 : refuse(d, value, "is of another version of Warder");
}

static int take_member(const struct decoding *d, const struct json_value *value)
{
	struct image *image = d->image;
	const struct {
		const char *key;
		char **text, ***strings;
	} members[] = {
		{ "name", .text = &image->name },
		{ "source", .text = &image->source },
		{ "platform", .text = &image->platform },
		{ "workingDirectory", .text = &image->working_directory },
		{ "user", .text = &image->user },
		{ "env", .strings = &image->environment },
		{ "entrypoint", .strings = &image->entrypoint },
		{ "cmd", .strings = &image->command },
		{ "labels", .strings = &image->labels },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(members); i++) {
		if (strcmp(value->key, members[i].key) == 0)
			return members[i].text ? take_text(d, value, members[i].text)
					       : take_strings(d, value, members[i].strings);
	}
	if (strcmp(value->key, "version") == 0)
		return take_version(d, value);
	if (strcmp(value->key, "digest") == 0)
		return take_digest(d, value, image->digest);
	if (strcmp(value->key, "created") == 0)
		return take_number(d, value, &image->created);
	if (strcmp(value->key, "owners") == 0)
		return take_owners(d, value);
	if (strcmp(value->key, "layers") == 0)
		return take_layers(d, value);
	return refuse(d, value, "is not known here");
}

static int decode(const struct decoding *d, const struct json_value *root)
{
	if (root->type != JSON_OBJECT)
		return refuse(d, root, "is not an object");
	for (const struct json_value *each = root->child; each; each = each->next) {
		if (take_member(d, each) != 0)
			return -1;
	}
	if (!json_member(root, "version") || !json_member(root, "owners") || !d->image->name ||
	    !d->image->layers || !d->image->digest[0])
		return refuse(d, root, "has not all that a record has");
	if (d->image->working_directory && d->image->working_directory[0] != '/')
		return refuse(d, root, "has a working directory that is not absolute");
	return 0;
}

int image_decode(const char *text, size_t len, const char *origin, struct image *ret,
		 struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = IMAGE_RECORD_BYTES,
					    .max_depth = 8,
					    .max_values = 8192 };
	const struct decoding d = { .origin = origin, .image = ret, .err = err };
	struct json_value *root;
	int decoded;

	*ret = (struct image){ 0 };
	if (json_parse(text, len, origin, &limits, &root, err) != 0)
		return -1;
	decoded = decode(&d, root);
	json_free(root);
	if (decoded != 0)
		image_done(ret);
	return decoded;
}

static void put_text(struct json_writer *w, const char *key, const char *text)
{
	if (text)
		json_key_string(w, key, text);
}

static void put_strings(struct json_writer *w, const char *key, char *const *strings)
{
	if (!strings)
		return;
	json_key(w, key);
	json_begin_array(w);
	for (; *strings; strings++)
		json_string(w, *strings);
	json_end_array(w);
}

static void put_layers(struct json_writer *w, const struct image *image)
{
	json_key(w, "layers");
	json_begin_array(w);
	for (size_t i = 0; i < image->layer_count; i++) {
		json_begin_object(w);
		json_key_string(w, "digest", image->layers[i].digest);
		json_key_string(w, "tree", image->layers[i].tree);
		json_key_uint(w, "files", image->layers[i].files);
		json_key_uint(w, "bytes", image->layers[i].bytes);
		json_end_object(w);
	}
	json_end_array(w);
}

char *image_encode(const struct image *image)
{
	struct json_writer w = { .pretty = true };

	json_begin_object(&w);
	json_key_uint(&w, "version", 1);
	json_key_string(&w, "name", image->name);
	json_key_string(&w, "digest", image->digest);
	put_text(&w, "source", image->source);
	put_text(&w, "platform", image->platform);
	json_key_uint(&w, "created", image->created);
	json_key_string(&w, "owners", image->owners_kept ? "image" : "caller");
	put_layers(&w, image);
	put_strings(&w, "env", image->environment);
	put_text(&w, "workingDirectory", image->working_directory);
	put_strings(&w, "entrypoint", image->entrypoint);
	put_strings(&w, "cmd", image->command);
	put_text(&w, "user", image->user);
	put_strings(&w, "labels", image->labels);
	json_end_object(&w);
	return json_take(&w);
}

/* ---- finding ---- */

static bool is_trusted(int fd, mode_t type)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == type && st.st_uid == geteuid() &&
	       !(st.st_mode & 022);
}

int image_lock_layer(int layers_fd, const char *digest, int *ret_fd)
{
	char path[IMAGE_DIGEST + 8];
	struct stat now, then;
	owned_fd int fd = -1;

	snprintf(path, sizeof(path), "%.64s/lock", digest);
	fd = openat(layers_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (!is_trusted(fd, S_IFREG)) {
		errno = EPERM;
		return -1;
	}
	/* Who holds it exclusively looks whether the layer is used, and lets go of it before he removes anything. */
	while (flock(fd, LOCK_SH) != 0) {
		if (errno != EINTR)
			return -1;
	}
	if (fstat(fd, &then) != 0 || fstatat(layers_fd, path, &now, AT_SYMLINK_NOFOLLOW) != 0 ||
	    now.st_ino != then.st_ino) {
		errno = ENOENT;
		return -1;
	}
	*ret_fd = fd_take(&fd);
	return 0;
}

static int not_found(const char *name, struct warder_error *err)
{
	return error_set(
	    err, WARDER_ERROR_NOT_FOUND, field,
	    "there is no image %.128s in the store (no other name stands for it, and nothing is fetched); "
	    "\"warder image list\" lists the images, \"warder image import\" imports one",
	    name);
}

/* The record's bytes, heap. */
static int read_record(int images_fd, const char *name, const char *path, char **ret, size_t *ret_len,
		       struct warder_error *err)
{
	owned_fd int fd = openat(images_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char *text;
	ssize_t n = 0;
	size_t len = 0;

	if (fd < 0 && errno == ENOENT)
		return not_found(name, err);
	if (fd < 0 || !is_trusted(fd, S_IFREG))
		return error_set(err, WARDER_ERROR_UNAVAILABLE, field,
				 "the record of %.128s cannot be trusted: it is not the caller's own file",
				 name);
	text = malloc(IMAGE_RECORD_BYTES);
	if (!text)
		return error_no_memory(err, field);
	while (len < IMAGE_RECORD_BYTES && (n = read(fd, text + len, IMAGE_RECORD_BYTES - len)) > 0)
		len += (size_t)n;
	if (n < 0) {
		free(text);
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, errno,
				       "the record of %.128s cannot be read", name);
	}
	*ret = text;
	*ret_len = len;
	return 0;
}

/* 0; 1: it is not there; -1 with *err. */
static int claim_layer(int images_fd, const char *images_path, struct image_layer *layer,
		       struct warder_error *err)
{
	owned_fd int layers_fd = openat(images_fd, "layers", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	owned_fd int dir_fd = -1;

	if (layers_fd < 0 || image_lock_layer(layers_fd, layer->digest, &layer->lock_fd) != 0) {
		if (errno == ENOENT)
			return 1;
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, errno,
				       "layer %.64s cannot be locked", layer->digest);
	}
	dir_fd = openat(layers_fd, layer->digest, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir_fd < 0 || !is_trusted(dir_fd, S_IFDIR))
		return error_set(err, WARDER_ERROR_UNAVAILABLE, field,
				 "layer %.64s cannot be trusted: it is not the caller's own directory",
				 layer->digest);
	if (asprintf(&layer->path, "%s/layers/%s/tree", images_path, layer->digest) < 0) {
		layer->path = NULL;
		return error_no_memory(err, field);
	}
	return 0;
}

/* 0; 1: a layer went away; -1 with *err. */
static int find_once(int images_fd, const char *images_path, const char *name, struct image *ret,
		     struct warder_error *err)
{
	char encoded[400], path[420], *text = NULL;
	size_t len = 0;
	int found;

	if (image_record_name(name, encoded, err) != 0)
		return -1;
	snprintf(path, sizeof(path), "names/%s", encoded);
	if (read_record(images_fd, name, path, &text, &len, err) != 0)
		return -1;
	found = image_decode(text, len, path, ret, err);
	free(text);
	if (found == 0 && strcmp(ret->name, name) != 0)
		found = error_set(err, WARDER_ERROR_UNAVAILABLE, field,
				  "the record of %.128s is that of %.128s; import the image again", name,
				  ret->name);
	for (size_t i = 0; found == 0 && i < ret->layer_count; i++)
		found = claim_layer(images_fd, images_path, &ret->layers[i], err);
	if (found != 0)
		image_done(ret);
	return found;
}

int image_find(const char *name, struct image *ret, struct warder_error *err)
{
	char path[ROOTFS_PRIVATE_DIR_MAX], encoded[400];
	owned_fd int fd = -1;
	int found = 1;

	*ret = (struct image){ 0 };
	if (image_record_name(name, encoded, err) != 0 || rootfs_store_path(NULL, "images", path, err) != 0)
		return -1;
	if (access(path, F_OK) != 0 && errno == ENOENT) /* nothing is made by looking */
		return not_found(name, err);
	fd = rootfs_open_private_dir(path, field, err);
	if (fd < 0)
		return -1;
	for (int i = 0; i < TRIES && found == 1; i++)
		found = find_once(fd, path, name, ret, err);
	if (found == 1)
		return error_set(err, WARDER_ERROR_UNAVAILABLE, field,
				 "a layer of image %.128s is missing in the store; import the image again",
				 name);
	return found;
}
