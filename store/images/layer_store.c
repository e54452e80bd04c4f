/*
 * Why nothing is removed that is used. Who brings an image in holds the shared lock of each of its layers until the record is
 * written. Who removes a layer takes its lock exclusively, and only then looks whether a record names it: either the other one
 * still holds the lock, or his record is already there to be seen. A shared lock is waited for: it is held against one only while
 * somebody looks. The layer's own directory is locked by who brings it in and by who removes it, so that what is renamed away is
 * what was looked at.
 *
 * Why nothing half is seen. A layer is filled under a temporary name, with its record and lock file; syncfs(2) brings all of it to
 * the disk (one call instead of one for each file); then it is renamed, and the directory is brought to the disk. A layer that is
 * removed is renamed first. What has a temporary name is nobody's, unless its directory is locked.
 */
#include "store/images/layer_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json.h"
#include "store/images/names.h"

#define TRIES        16
#define RECORD_BYTES 4096

static const char field[] = "image";
static const char new_prefix[] = ".new-";
static const char record_file[] = "record.json";
static const char implied_file[] = "implied";

static int fail(const char *what, struct warder_error *err)
{
	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, errno, "%.120s", what);
}

/* ---- the store ---- */

static int open_directory(int at_fd, const char *name)
{
	if (mkdirat(at_fd, name, 0700) != 0 && errno != EEXIST)
		return -1;
	return openat(at_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* 1: the directory has a store of images; 0: it is not there, or empty. One with something else in it is somebody's: -1. */
static int look_for(const char *store, char *path, struct warder_error *err)
{
	owned_fd int fd = -1;
	struct names names;
	struct stat st;
	bool empty;

	if (rootfs_store_path(store, "images", path, err) != 0)
		return -1;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno != ENOENT; /* else it is told when it is opened */
	if (fstatat(fd, "layers", &st, AT_SYMLINK_NOFOLLOW) == 0)
		return 1;
	if (names_read(fd, &names) != 0)
		return 1;
	empty = names.count == 0;
	names_done(&names);
	/* Somebody may have made the store since the first look. */
	if (!empty && fstatat(fd, "layers", &st, AT_SYMLINK_NOFOLLOW) == 0)
		return 1;
	return empty ? 0
		     : error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
				 "%.200s has something else in it than images; name another store", path);
}

int images_open_to_read(const char *store, struct images *ret, struct warder_error *err)
{
	char path[ROOTFS_PRIVATE_DIR_MAX];
	const int there = look_for(store, path, err);

	*ret = (struct images){ .dir_fd = -1, .layers_fd = -1, .names_fd = -1 };
	if (there != 0)
		return there < 0 ? -1 : images_open(store, ret, err);
	ret->owners_kept = geteuid() == 0;
	return 0;
}

int images_open(const char *store, struct images *ret, struct warder_error *err)
{
	*ret = (struct images){ .dir_fd = -1, .layers_fd = -1, .names_fd = -1 };
	ret->owners_kept = geteuid() == 0;
	if (look_for(store, ret->path, err) < 0)
		return -1;
	ret->dir_fd = store_open(store, "images", ret->path, err);
	if (ret->dir_fd < 0)
		return -1;
	ret->layers_fd = open_directory(ret->dir_fd, "layers");
	ret->names_fd = open_directory(ret->dir_fd, "names");
	if (ret->layers_fd >= 0 && ret->names_fd >= 0)
		return 0;
	fail("the store cannot be opened", err);
	images_done(ret);
	return -1;
}

void images_done(struct images *images)
{
	fd_done(&images->names_fd);
	fd_done(&images->layers_fd);
	fd_done(&images->dir_fd);
}

/* ---- drafts ---- */

static bool leads_to(int dir_fd, const char *name, int fd)
{
	struct stat now, then;

	return fstat(fd, &then) == 0 && fstatat(dir_fd, name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
	       now.st_ino == then.st_ino;
}

/* 1; 0: somebody took it for a leftover before it was locked. -1 with errno. */
static int claim(struct images *images, struct draft *draft)
{
	store_new_name(new_prefix, draft->name);
	if (mkdirat(images->layers_fd, draft->name, 0700) != 0)
		return errno == EEXIST ? 0 : -1;
	draft->fd = openat(images->layers_fd, draft->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (draft->fd < 0)
		return errno == ENOENT ? 0 : -1;
	if (flock(draft->fd, LOCK_EX | LOCK_NB) == 0 && leads_to(images->layers_fd, draft->name, draft->fd))
		return 1;
	fd_done(&draft->fd);
	return 0;
}

int draft_make(struct images *images, struct draft *ret, struct warder_error *err)
{
	int claimed = 0;

	*ret = DRAFT_NONE;
	for (int i = 0; i < TRIES && claimed == 0; i++)
		claimed = claim(images, ret);
	if (claimed != 1) {
		ret->name[0] = '\0';
		return fail("the store cannot be written to", err);
	}
	/* Whatever the umask is: the root of the jail. */
	if (mkdirat(ret->fd, "tree", 0755) != 0 || fchmodat(ret->fd, "tree", 0755, 0) != 0 ||
	    (ret->tree_fd = openat(ret->fd, "tree", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0) {
		fail("the store cannot be written to", err);
		draft_done(images, ret);
		return -1;
	}
	return 0;
}

void draft_done(struct images *images, struct draft *draft)
{
	if (draft->name[0])
		rootfs_remove_tree(images->layers_fd, draft->name);
	fd_done(&draft->tree_fd);
	fd_done(&draft->fd);
	draft->name[0] = '\0';
}

static int write_record(int dir_fd, const struct image_layer *layer, struct warder_error *err)
{
	struct json_writer w = { .pretty = true };
	char *text;
	int written;

	json_begin_object(&w);
	json_key_uint(&w, "version", 1);
	json_key_string(&w, "digest", layer->digest);
	json_key_string(&w, "tree", layer->tree);
	json_key_uint(&w, "files", layer->files);
	json_key_uint(&w, "bytes", layer->bytes);
	json_end_object(&w);
	text = json_take(&w);
	if (!text)
		return error_no_memory(err, field);
	written = store_replace(dir_fd, record_file, text, strlen(text), 0600, err);
	free(text);
	return written;
}

static int write_lock(struct draft *draft, struct image_layer *layer)
{
	layer->lock_fd =
	    openat(draft->fd, "lock", O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return layer->lock_fd >= 0 && flock(layer->lock_fd, LOCK_SH | LOCK_NB) == 0 ? 0 : -1;
}

/* Make the tree a layer of that name, or drop it if there is one already. *ret is the layer, locked. *ret_new: it was not there
 * before. -1 with *err. */
static int draft_commit(struct images *images, struct draft *draft, const char *digest,
			const struct tree_digest *tree, struct image_layer *ret, bool *ret_new,
			struct warder_error *err)
{
	struct image_layer layer = { .files = tree->files, .bytes = tree->bytes, .lock_fd = -1 };
	int there = 0;

	snprintf(layer.digest, sizeof(layer.digest), "%.64s", digest);
	snprintf(layer.tree, sizeof(layer.tree), "%.64s", tree->hex);
	if (write_record(draft->fd, &layer, err) != 0)
		return -1;
	if (write_lock(draft, &layer) != 0 || syncfs(draft->fd) != 0) {
		fd_done(&layer.lock_fd);
		return fail("the layer cannot be brought to the disk", err);
	}
	*ret_new = false;
	for (int i = 0; i < TRIES && there == 0; i++) {
		if (renameat2(images->layers_fd, draft->name, images->layers_fd, digest, RENAME_NOREPLACE) ==
		    0) {
			*ret = layer;
			*ret_new = true;
			draft->name[0] = '\0';
			return store_sync(images->layers_fd, field, err);
		}
		/* Somebody else has brought the same layer in; it may be on its way out again. */
		there = errno == EEXIST ? layer_store_layer(images, digest, ret, err)
					: fail("the layer cannot be given its name", err);
	}
	fd_done(&layer.lock_fd);
	if (there == 0)
		error_set(err, WARDER_ERROR_CONFLICT, field, "layer %.64s is being removed; try again",
			  digest);
	return there == 1 ? 0 : -1;
}

/* ---- layers ---- */

static int take_digest(const struct json_value *root, const char *key, char ret[static IMAGE_DIGEST])
{
	const struct json_value *value = json_member(root, key);

	if (!value || value->type != JSON_STRING || !image_is_digest(value->string))
		return -1;
	memcpy(ret, value->string, IMAGE_DIGEST);
	return 0;
}

static int take_number(const struct json_value *root, const char *key, uint64_t *ret)
{
	const struct json_value *value = json_member(root, key);

	if (!value || value->type != JSON_NUMBER || !value->is_uint)
		return -1;
	*ret = value->uint;
	return 0;
}

static int read_record(struct images *images, const char *digest, struct image_layer *ret,
		       struct warder_error *err)
{
	char path[IMAGE_DIGEST + sizeof(record_file) + 1], text[RECORD_BYTES];
	struct json_value *root = NULL;
	owned_fd int fd = -1;
	ssize_t len;
	bool good;

	snprintf(path, sizeof(path), "%.64s/%s", digest, record_file);
	fd = openat(images->layers_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	len = fd >= 0 ? read(fd, text, sizeof(text)) : -1;
	if (len < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, errno,
				       "layer %.64s has no record that can be read; remove the image and "
				       "import it again",
				       digest);
	if (json_parse(text, (size_t)len, path, NULL, &root, err) != 0)
		return -1;
	good = root->type == JSON_OBJECT && take_digest(root, "digest", ret->digest) == 0 &&
	       take_digest(root, "tree", ret->tree) == 0 && take_number(root, "files", &ret->files) == 0 &&
	       take_number(root, "bytes", &ret->bytes) == 0 && strcmp(ret->digest, digest) == 0;
	json_free(root);
	return good ? 0
		    : error_set(err, WARDER_ERROR_UNAVAILABLE, field,
				"the record of layer %.64s is damaged; remove the image and import it again",
				digest);
}

int layer_store_layer(struct images *images, const char *digest, struct image_layer *ret,
		      struct warder_error *err)
{
	*ret = (struct image_layer){ .lock_fd = -1 };
	if (image_lock_layer(images->layers_fd, digest, &ret->lock_fd) != 0) {
		if (errno == ENOENT)
			return 0;
		return fail("a layer cannot be locked", err);
	}
	if (read_record(images, digest, ret, err) == 0)
		return 1;
	fd_done(&ret->lock_fd);
	return -1;
}

int layer_store_add_layer(struct image *image, struct image_layer *layer, struct warder_error *err)
{
	struct image_layer *grown = NULL;

	if (image->layer_count < IMAGE_LAYERS_MAX)
		grown = reallocarray(image->layers, image->layer_count + 1, sizeof(*grown));
	if (!grown) {
		fd_done(&layer->lock_fd);
		if (image->layer_count < IMAGE_LAYERS_MAX)
			return error_no_memory(err, field);
		return error_set(err, WARDER_ERROR_REJECTED, field, "the image has more than %d layers",
				 IMAGE_LAYERS_MAX);
	}
	image->layers = grown;
	grown[image->layer_count++] = *layer;
	return 0;
}

static void show_checking(void *context, uint64_t bytes)
{
	const struct images *images = context;

	if (images->on_progress)
		images->on_progress(images->context, "checking", bytes, 0);
}

int draft_note_implied(struct draft *draft, struct warder_error *err)
{
	owned_fd int fd = openat(draft->fd, implied_file, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd >= 0 ? 0 : fail("the layer cannot be written", err);
}

bool layer_store_fits(struct images *images, const char *digest, const struct stat *lower)
{
	char path[IMAGE_DIGEST + sizeof(implied_file) + 1];
	struct stat st;

	snprintf(path, sizeof(path), "%.64s/%s", digest, implied_file);
	if (fstatat(images->layers_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT)
		return false;
	snprintf(path, sizeof(path), "%.64s/tree", digest);
	if (fstatat(images->layers_fd, path, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return false;
	return !lower ||
	       (st.st_mode == lower->st_mode && st.st_uid == lower->st_uid && st.st_gid == lower->st_gid);
}

/* Shorter than any archive, as the name of a tree. */
static int placed_name(const char *digest, const struct tree_digest *tree, char ret[static DIGEST_HEX])
{
	struct digest name;

	digest_init(&name);
	digest_add_text(&name, "warder layer in its place 1");
	digest_add_text(&name, digest);
	digest_add_text(&name, tree->hex);
	return digest_hex(&name, ret);
}

int layer_store_keep(struct images *images, struct draft *draft, const char *digest, struct image *image,
		     struct images_notes *notes, struct warder_error *err)
{
	struct image_layer layer = { .lock_fd = -1 };
	struct tree_digest tree;
	char placed[DIGEST_HEX];
	bool is_new = false;

	if (tree_digest(draft->tree_fd, show_checking, images, &tree, err) != 0)
		return -1;
	if (digest && draft->placed) {
		if (placed_name(digest, &tree, placed) != 0)
			return error_no_memory(err, field);
		digest = placed;
	}
	if (draft_commit(images, draft, digest ? digest : tree.name, &tree, &layer, &is_new, err) != 0)
		return -1;
	if (is_new)
		notes->stored++;
	else
		notes->shared++;
	return layer_store_add_layer(image, &layer, err);
}

int layer_store_find(struct images *images, const char *name, struct image *ret, struct warder_error *err)
{
	if (images_inspect(images, name, ret, err) != 0)
		return -1;
	for (size_t i = 0; i < ret->layer_count; i++) {
		struct image_layer layer;
		const int there = layer_store_layer(images, ret->layers[i].digest, &layer, err);

		if (there != 1) {
			image_done(ret);
			return there < 0
				   ? -1
				   : error_set(err, WARDER_ERROR_UNAVAILABLE, field,
					       "a layer of image %.128s is missing in the store; import "
					       "the image again",
					       name);
		}
		ret->layers[i] = layer;
	}
	return 0;
}

/* ---- records ---- */

int layer_store_put(struct images *images, const struct image *image, struct warder_error *err)
{
	/* Whoever else writes here holds it, too: what has a temporary name while nobody does was left by the dead. */
	owned_fd int lock_fd = openat(images->names_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char name[400], *text;
	int put;

	if (image_record_name(image->name, name, err) != 0)
		return -1;
	if (lock_fd < 0 || flock(lock_fd, LOCK_SH) != 0)
		return fail("the store cannot be locked", err);
	text = image_encode(image);
	if (!text)
		return error_no_memory(err, field);
	if (strlen(text) >= IMAGE_RECORD_BYTES)
		put = error_set(err, WARDER_ERROR_REJECTED, field,
				"the image's environment, labels and commands are too large together");
	else
		put = store_replace(images->names_fd, name, text, strlen(text), 0600, err);
	free(text);
	return put;
}

int layer_store_put_unfinished(struct images *images, const struct image *image, int *ret_lock_fd,
			       struct warder_error *err)
{
	char file[400];

	if (image_record_name(image->name, file, err) != 0)
		return -1;
	for (int i = 0; i < TRIES; i++) {
		owned_fd int fd = -1;

		if (layer_store_put(images, image, err) != 0)
			return -1;
		/* Until it is locked, it looks like a leftover. */
		fd = openat(images->names_fd, file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && leads_to(images->names_fd, file, fd)) {
			*ret_lock_fd = fd_take(&fd);
			return 0;
		}
	}
	return error_set(err, WARDER_ERROR_CONFLICT, field, "the store is too busy; try again");
}

void layer_store_drop_unfinished(struct images *images, const char *name)
{
	struct warder_error ignored;
	char file[400];

	if (image_record_name(name, file, &ignored) == 0)
		unlinkat(images->names_fd, file, 0);
}

static bool is_unfinished(const char *name)
{
	return strncmp(name, LAYER_STORE_UNFINISHED, sizeof(LAYER_STORE_UNFINISHED) - 1) == 0;
}

int layer_store_check_name(const char *name, struct warder_error *err)
{
	char file[400];

	if (image_record_name(name, file, err) != 0)
		return -1;
	/* A policy takes no such name, so that the image could never be used. */
	if (strstr(name, "..") || strstr(name, "//"))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
				 "\"%.100s\" is not a valid image name: \"..\" and \"//\" cannot be in one",
				 name);
	if (strncmp(name, IMAGES_BASES, sizeof(IMAGES_BASES) - 1) == 0 ||
	    strncmp(name, IMAGES_MAKES, sizeof(IMAGES_MAKES) - 1) == 0)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
				 "names that begin with " IMAGES_BASES " or " IMAGES_MAKES
				 " are reserved for FROM debootstrap:SUITE; choose another one");
	if (is_unfinished(name))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
				 "names that begin with " LAYER_STORE_UNFINISHED
				 " are those of images on their way");
	return 0;
}

static bool is_record(const char *name)
{
	const size_t len = strlen(name);

	return name[0] != '.' && !is_unfinished(name) && len > 5 && strcmp(name + len - 5, ".json") == 0;
}

/* The name of an image whose record has that file name; heap. */
static char *decode_name(const char *file)
{
	char *name = strdup(file), *out = name;
	unsigned letter;

	if (!name)
		return NULL;
	name[strlen(name) - 5] = '\0';
	for (const char *in = name; *in; in++) {
		if (*in == '%' && sscanf(in + 1, "%2X", &letter) == 1 && in[1] && in[2]) {
			*out++ = (char)letter;
			in += 2;
		} else {
			*out++ = *in;
		}
	}
	*out = '\0';
	return name;
}

/* All of it, heap; -1 with errno. */
static char *read_all(int fd, size_t *ret_len)
{
	char *text = malloc(IMAGE_RECORD_BYTES);
	size_t len = 0;
	ssize_t n = 1;

	while (text && len < IMAGE_RECORD_BYTES && n != 0) {
		n = read(fd, text + len, IMAGE_RECORD_BYTES - len);
		if (n < 0 && errno != EINTR) {
			free(text);
			return NULL;
		}
		len += n > 0 ? (size_t)n : 0;
	}
	*ret_len = len;
	return text;
}

/* 0; 1: there is none; -1 with *err. */
static int load(struct images *images, const char *file, struct image *ret, struct warder_error *err)
{
	owned_fd int fd = openat(images->names_fd, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char *text = NULL;
	size_t len = 0;
	int loaded;

	if (images->names_fd < 0 || (fd < 0 && errno == ENOENT))
		return 1;
	if (fd >= 0)
		text = read_all(fd, &len);
	if (!text)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, errno, "%.200s cannot be read",
				       file);
	loaded = image_decode(text, len, file, ret, err);
	free(text);
	return loaded;
}

int images_inspect(struct images *images, const char *name, struct image *ret, struct warder_error *err)
{
	char file[400];
	int loaded;

	*ret = (struct image){ 0 };
	if (image_record_name(name, file, err) != 0)
		return -1;
	loaded = load(images, file, ret, err);
	if (loaded == 1)
		return error_set(
		    err, WARDER_ERROR_NOT_FOUND, field,
		    "there is no image %.128s in the store (no other name stands for it, and nothing is "
		    "fetched); "
		    "\"warder image list\" lists the images, \"warder image import\" imports one",
		    name);
	return loaded;
}

static int add_image(struct images *images, const char *file, struct image *ret)
{
	struct warder_error ignored;
	const int loaded = load(images, file, ret, &ignored);

	if (loaded == -1)
		ret->name = decode_name(file);
	return loaded == 1 ? 0 : 1;
}

int images_list(struct images *images, struct image **ret, size_t *ret_count, struct warder_error *err)
{
	struct names files;
	struct image *list;
	size_t count = 0;

	if (images->names_fd < 0)
		files = (struct names){ 0 };
	else if (names_read(images->names_fd, &files) != 0)
		return fail("the store cannot be read", err);
	list = calloc(files.count + 1, sizeof(*list));
	for (size_t i = 0; list && i < files.count; i++) {
		if (is_record(files.items[i]))
			count += (size_t)add_image(images, files.items[i], &list[count]);
	}
	names_done(&files);
	if (!list)
		return error_no_memory(err, field);
	*ret = list;
	*ret_count = count;
	return 0;
}

int layer_store_is_used(struct images *images, const char *digest, struct warder_error *err)
{
	struct image *list;
	size_t count;
	int used = 0;

	if (images_list(images, &list, &count, err) != 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		if (!list[i].layers && used == 0)
			used = error_set(err, WARDER_ERROR_UNAVAILABLE, field,
					 "the record of image %.128s is damaged, and its layers are unknown; "
					 "import it again, or remove it",
					 list[i].name ? list[i].name : "?");
		for (size_t k = 0; used == 0 && k < list[i].layer_count; k++)
			used = strcmp(list[i].layers[k].digest, digest) == 0;
		image_done(&list[i]);
	}
	free(list);
	return used;
}

/* ---- removing ---- */

/* What has a temporary name in a directory, and is locked by nobody. */
static uint64_t sweep_layers(struct images *images)
{
	struct names list;
	uint64_t count = 0;

	if (names_read(images->layers_fd, &list) != 0)
		return 0;
	for (size_t i = 0; i < list.count; i++) {
		owned_fd int fd = -1;

		if (strncmp(list.items[i], new_prefix, sizeof(new_prefix) - 1) != 0)
			continue;
		fd =
		    openat(images->layers_fd, list.items[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) != 0 ||
		    !leads_to(images->layers_fd, list.items[i], fd))
			continue;
		count += rootfs_remove_tree(images->layers_fd, list.items[i]) == 0;
	}
	names_done(&list);
	return count;
}

static uint64_t sweep_unfinished(struct images *images, const char *name)
{
	owned_fd int fd = openat(images->names_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) != 0 || !leads_to(images->names_fd, name, fd))
		return 0;
	return unlinkat(images->names_fd, name, 0) == 0;
}

static uint64_t sweep_names(struct images *images)
{
	owned_fd int lock_fd = openat(images->names_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct names list;
	uint64_t count = 0;

	if (lock_fd < 0 || flock(lock_fd, LOCK_EX | LOCK_NB) != 0 || names_read(images->names_fd, &list) != 0)
		return 0;
	for (size_t i = 0; i < list.count; i++) {
		if (strncmp(list.items[i], new_prefix, sizeof(new_prefix) - 1) == 0)
			count += unlinkat(images->names_fd, list.items[i], 0) == 0;
		else if (is_unfinished(list.items[i]))
			count += sweep_unfinished(images, list.items[i]);
	}
	names_done(&list);
	return count;
}

uint64_t layer_store_sweep(struct images *images)
{
	return sweep_layers(images) + sweep_names(images);
}

/* The layer's directory, locked: nobody else removes it, or is still bringing it in. -1 with errno. */
static int lock_layer(struct images *images, const char *digest)
{
	owned_fd int fd = openat(images->layers_fd, digest, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) != 0)
		return -1;
	if (!leads_to(images->layers_fd, digest, fd)) {
		errno =
		    ENOENT; /* who was faster has removed it, and perhaps somebody has brought it in again */
		return -1;
	}
	return fd_take(&fd);
}

int layer_store_drop(struct images *images, const char *digest, uint64_t *ret_bytes, struct warder_error *err)
{
	char aside[STORE_NAME_MAX];
	owned_fd int lock_fd = -1, dir_fd = lock_layer(images, digest);
	uint64_t bytes;
	int used;

	if (dir_fd < 0)
		return errno == ENOENT ? 0 : errno == EWOULDBLOCK ? 2 : fail("a layer cannot be locked", err);
	lock_fd = openat(dir_fd, "lock", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (lock_fd < 0 ? errno != ENOENT : flock(lock_fd, LOCK_EX | LOCK_NB) != 0)
		return errno == EWOULDBLOCK ? 2 : fail("a layer cannot be locked", err);
	used = layer_store_is_used(images, digest, err);
	if (used != 0)
		return used < 0 ? -1 : 0;
	store_new_name(new_prefix, aside);
	if (renameat(images->layers_fd, digest, images->layers_fd, aside) != 0)
		return fail("a layer cannot be removed", err);
	fd_done(&lock_fd); /* who waits for it finds that the name leads elsewhere */
	bytes = rootfs_tree_bytes(images->layers_fd, aside);
	if (rootfs_remove_tree(images->layers_fd, aside) != 0)
		return fail("a layer cannot be removed", err);
	*ret_bytes += bytes;
	return 1;
}
