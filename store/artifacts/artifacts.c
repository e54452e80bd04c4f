/*
 * On the disk: artifacts/content/ is of blobs; artifacts/names/<safe>-<32 hex>/ is a name, <version>.json in it a version,
 * <version>.gone one that was removed. The name itself stands in the record: the directory's is made of its SHA-256, so
 * that two names never share one.
 *
 * A version gets its number by link(2), which fails if there is one: two who save at once get two numbers. Content is committed
 * before the record is written, under the shared lock of the blobs; who sweeps has them alone, and reads all records.
 */
#include "store/artifacts/artifacts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/mime.h"
#include "rootfs/rootfs.h"
#include "store/store.h"

#define RECORD_MAX ((size_t)8 << 20) /* of an artifact of 400 GiB */

static const char field[] = "artifact";
static const char unfinished[] = ".new-";

static int failed(const char *name, const char *what, struct warder_error *err)
{
	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, errno, "%.200s %s", name, what);
}

/* ---- life ---- */

int artifacts_open(const char *store, struct artifacts *ret, struct warder_error *err)
{
	struct artifacts artifacts = ARTIFACTS_NONE;

	artifacts.dir_fd = store_open(store, "artifacts", artifacts.path, err);
	if (artifacts.dir_fd < 0)
		return -1;
	if (mkdirat(artifacts.dir_fd, "names", 0700) == 0 || errno == EEXIST)
		artifacts.names_fd = store_open_directory(artifacts.dir_fd, "names");
	if (artifacts.names_fd < 0) {
		failed("names", "cannot be made or opened", err);
		artifacts_done(&artifacts);
		return -1;
	}
	*ret = artifacts;
	return 0;
}

void artifacts_done(struct artifacts *artifacts)
{
	fd_done(&artifacts->names_fd);
	fd_done(&artifacts->dir_fd);
}

void artifact_done(struct artifact *artifact)
{
	blobs_content_done(&artifact->content);
}

/* ---- records ---- */

static int open_name(struct artifacts *artifacts, const char *name, bool make, struct warder_error *err)
{
	char directory[STORE_NAME_MAX];
	int fd;

	store_safe_name(name, directory);
	if (make && mkdirat(artifacts->names_fd, directory, 0700) != 0 && errno != EEXIST)
		return failed(name, "cannot be saved", err);
	fd = store_open_directory(artifacts->names_fd, directory);
	if (fd < 0 && errno == ENOENT)
		return error_set(err, WARDER_ERROR_NOT_FOUND, field,
				 "there is no artifact %.200s; \"warder artifact list\" lists them", name);
	return fd >= 0 ? fd : failed(name, "cannot be opened", err);
}

/* The number of "<number><suffix>", or 0. */
static uint64_t number_of(const char *file, const char *suffix)
{
	const size_t digits = strspn(file, "0123456789");

	if (digits == 0 || digits > 9 || strcmp(file + digits, suffix) != 0)
		return 0;
	return strtoull(file, NULL, 10);
}

/* The highest number in a name's directory: of what is there, or of what ever was. */
static uint64_t highest(int name_fd, bool ever)
{
	int fd = openat(name_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *item;
	uint64_t best = 0;

	if (!dir) {
		fd_done(&fd);
		return 0;
	}
	while ((item = readdir(dir)) != NULL) {
		uint64_t number = number_of(item->d_name, ".json");

		if (!number && ever)
			number = number_of(item->d_name, ".gone");
		if (number > best)
			best = number;
	}
	closedir(dir);
	return best;
}

static const char *text_member(const struct json_value *object, const char *key, size_t room)
{
	const struct json_value *value = json_member(object, key);

	return value && value->type == JSON_STRING && strlen(value->string) < room ? value->string : NULL;
}

static int decode(const struct json_value *object, struct artifact *ret, struct warder_error *err)
{
	const char *name = text_member(object, "name", sizeof(ret->name));
	const char *type = text_member(object, "contentType", sizeof(ret->type));
	const char *created = text_member(object, "createdAt", sizeof(ret->created));
	const struct json_value *version = json_member(object, "version");

	if (object->type != JSON_OBJECT || !name || !type || !created || !version || !version->is_uint)
		return error_set(err, WARDER_ERROR_INTERNAL, field, "a record of the store is damaged");
	if (blobs_content_read(object, &ret->content, err) != 0)
		return -1;
	snprintf(ret->name, sizeof(ret->name), "%s", name);
	snprintf(ret->type, sizeof(ret->type), "%s", type);
	snprintf(ret->created, sizeof(ret->created), "%s", created);
	ret->version = version->uint;
	return 0;
}

static int read_record(int name_fd, uint64_t version, struct artifact *ret, struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = RECORD_MAX, .max_depth = 4 };
	struct json_value *object = NULL;
	char file[32], *text = NULL;
	size_t len;
	int status;

	snprintf(file, sizeof(file), "%" PRIu64 ".json", version);
	if (store_read(name_fd, file, RECORD_MAX, &text, &len, err) != 0)
		return -1;
	status = json_parse(text, len, file, &limits, &object, err);
	free(text);
	*ret = (struct artifact){ 0 };
	if (status == 0)
		status = decode(object, ret, err);
	json_free(object);
	return status;
}

int artifacts_find(struct artifacts *artifacts, const struct artifact_reference *reference,
		   struct artifact *ret, struct warder_error *err)
{
	owned_fd int fd = open_name(artifacts, reference->name, false, err);
	const uint64_t version = fd < 0 || reference->version ? reference->version : highest(fd, false);

	if (fd < 0)
		return -1;
	if (!version)
		return error_set(err, WARDER_ERROR_NOT_FOUND, field, "there is no artifact %.200s",
				 reference->name);
	if (read_record(fd, version, ret, err) != 0) {
		if (err->sys_errno == ENOENT)
			error_set(err, WARDER_ERROR_NOT_FOUND, field,
				  "there is no version %" PRIu64 " of the artifact %.200s; its last one is "
				  "%" PRIu64,
				  version, reference->name, highest(fd, false));
		return -1;
	}
	if (strcmp(ret->name, reference->name) == 0 && ret->version == version)
		return 0;
	artifact_done(ret);
	return error_set(err, WARDER_ERROR_INTERNAL, field, "the record of %.200s is another's",
			 reference->name);
}

void artifact_write(const struct artifact *artifact, struct json_writer *w)
{
	json_key_string(w, "name", artifact->name);
	json_key_uint(w, "version", artifact->version);
	json_key_string(w, "contentType", artifact->type);
	json_key_string(w, "createdAt", artifact->created);
	json_key_uint(w, "size", artifact->content.size);
	json_key_string(w, "sha256", artifact->content.digest);
}

/* ---- saving ---- */

int artifacts_begin(struct artifacts *artifacts, struct blobs *ret, struct warder_error *err)
{
	return blobs_open(artifacts->dir_fd, BLOBS_WRITE, ret, err) == 0 ? 0 : -1;
}

static const char *guess_type(struct blobs *blobs, const char *name, const struct blobs_content *content)
{
	owned_fd int fd = content->count && content->pieces[0][0]
			      ? openat(blobs->dir_fd, content->pieces[0], O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
			      : -1;
	char start[8192] = { 0 };
	ssize_t len = fd >= 0 ? read(fd, start, sizeof(start)) : 0;

	return mime_type(name, start, len > 0 ? (size_t)len : 0);
}

static char *encode(const char *name, uint64_t version, const char *type, const struct blobs_content *content,
		    size_t *ret_len)
{
	struct json_writer w = { 0 };
	char now[40];

	json_begin_object(&w);
	json_key_string(&w, "name", name);
	json_key_uint(&w, "version", version);
	json_key_string(&w, "contentType", type);
	json_key_string(&w, "createdAt", store_time(time(NULL), now));
	blobs_content_write(content, &w);
	json_end_object(&w);
	*ret_len = w.len;
	return json_take(&w);
}

/* Under the next number that nobody has. The record names its version, so it is written anew for each try. */
static int add_version(int name_fd, const char *name, const char *type, const struct blobs_content *content,
		       uint64_t *ret_version, struct warder_error *err)
{
	uint64_t version = highest(name_fd, true) + 1;

	for (;; version++) {
		char temporary[STORE_NAME_MAX], file[32];
		size_t len;
		char *text = encode(name, version, type, content, &len);
		int status, linked;

		if (!text)
			return error_no_memory(err, NULL);
		store_new_name(unfinished, temporary);
		status = store_replace(name_fd, temporary, text, len, 0600, err);
		free(text);
		if (status != 0)
			return -1;
		snprintf(file, sizeof(file), "%" PRIu64 ".json", version);
		linked = linkat(name_fd, temporary, name_fd, file, 0) == 0 ? 0 : errno;
		unlinkat(name_fd, temporary, 0);
		if (linked == 0) {
			*ret_version = version;
			return store_sync(name_fd, name, err);
		}
		errno = linked;
		if (linked != EEXIST || version >= 999999999)
			return failed(name, "cannot be saved", err);
	}
}

int artifacts_commit(struct artifacts *artifacts, struct blobs *blobs, const char *name, const char *type,
		     const struct blobs_content *content, uint64_t *ret_version, struct warder_error *err)
{
	owned_fd int fd = -1;

	if (!type)
		type = guess_type(blobs, name, content);
	/* Nobody removes the name meanwhile: who does has the blobs alone. */
	fd = open_name(artifacts, name, true, err);
	if (fd < 0 || store_sync(artifacts->names_fd, name, err) != 0)
		return -1;
	return add_version(fd, name, type, content, ret_version, err);
}

static int check_save(const char *name, const char *type, char *plain, struct warder_error *err)
{
	const char *fault = artifact_name_fault(name);
	char shown[96];

	if (fault)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, field, "%s %s",
				 json_quote(name, shown, sizeof(shown)), fault);
	if (type && (!*type || strlen(type) >= 128 || !json_is_utf8(type) || strpbrk(type, "\r\n")))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
				 "%s is not a content type; write one such as text/csv",
				 json_quote(type, shown, sizeof(shown)));
	path_plain(name, plain);
	return 0;
}

static int save_content(struct artifacts *artifacts, struct blobs *blobs, const char *name, const char *type,
			struct blobs_content *content, struct artifact *ret, struct warder_error *err)
{
	struct artifact_reference saved;

	if (blobs_commit(blobs, err) != 0)
		return -1;
	if (artifacts_commit(artifacts, blobs, name, type, content, &saved.version, err) != 0)
		return -1;
	snprintf(saved.name, sizeof(saved.name), "%s", name);
	return artifacts_find(artifacts, &saved, ret, err);
}

int artifacts_save(struct artifacts *artifacts, const char *name, const char *type, int fd, uint64_t most,
		   struct artifact *ret, struct warder_error *err)
{
	struct blobs_content content = { 0 };
	struct blobs blobs = BLOBS_NONE;
	char plain[ARTIFACTS_NAME_MAX];
	bool more = false;
	int status;

	if (check_save(name, type, plain, err) != 0 || artifacts_begin(artifacts, &blobs, err) != 0)
		return -1;
	status = blobs_put_fd(&blobs, fd, most, &content, &more, err);
	if (status == 0 && more)
		status = error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
				   "%.200s is larger than %" PRIu64 " bytes; nothing is saved", name, most);
	if (status == 0)
		status = save_content(artifacts, &blobs, plain, type, &content, ret, err);
	blobs_content_done(&content);
	blobs_done(&blobs);
	return status;
}

int artifacts_save_bytes(struct artifacts *artifacts, const char *name, const char *type, const char *bytes,
			 size_t len, struct artifact *ret, struct warder_error *err)
{
	struct blobs_content content = { 0 };
	struct blobs blobs = BLOBS_NONE;
	char plain[ARTIFACTS_NAME_MAX];
	int status;

	if (check_save(name, type, plain, err) != 0 || artifacts_begin(artifacts, &blobs, err) != 0)
		return -1;
	status = blobs_put_bytes(&blobs, bytes, len, &content, err);
	if (status == 0)
		status = save_content(artifacts, &blobs, plain, type, &content, ret, err);
	blobs_content_done(&content);
	blobs_done(&blobs);
	return status;
}

int artifacts_read(struct artifacts *artifacts, const struct artifact *artifact, int to_fd,
		   struct warder_error *err)
{
	struct blobs blobs = BLOBS_NONE;
	int status;

	if (blobs_open(artifacts->dir_fd, BLOBS_READ, &blobs, err) != 0)
		return -1;
	status = blobs_get(&blobs, &artifact->content, to_fd, err);
	blobs_done(&blobs);
	if (status != 0 && !err->field[0])
		snprintf(err->field, sizeof(err->field), "%s", field);
	return status;
}

/* ---- all of them ---- */

typedef int each_call(void *context, const struct artifact *artifact, struct warder_error *err);

static int by_number(const void *a, const void *b)
{
	const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

/* The versions of a name, in order; heap. -1: no memory. */
static int list_versions(int name_fd, uint64_t **ret, size_t *ret_count)
{
	int fd = openat(name_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	uint64_t *versions = NULL;
	const struct dirent *item;
	size_t count = 0;

	if (!dir)
		fd_done(&fd);
	while (dir && (item = readdir(dir)) != NULL) {
		const uint64_t number = number_of(item->d_name, ".json");
		uint64_t *grown = versions;

		if (!number)
			continue;
		if (count % 64 == 0)
			grown = reallocarray(versions, count + 64, sizeof(*versions));
		if (!grown) {
			free(versions);
			closedir(dir);
			return -1;
		}
		versions = grown;
		versions[count++] = number;
	}
	if (dir)
		closedir(dir);
	if (versions)
		qsort(versions, count, sizeof(*versions), by_number);
	*ret = versions;
	*ret_count = count;
	return 0;
}

static int each_version(int name_fd, each_call *call, void *context, struct warder_error *err)
{
	uint64_t *versions;
	size_t count;
	int status = 0;

	if (list_versions(name_fd, &versions, &count) != 0)
		return error_no_memory(err, NULL);
	for (size_t i = 0; i < count && status == 0; i++) {
		struct artifact artifact;

		status = read_record(name_fd, versions[i], &artifact, err);
		if (status != 0 && err->sys_errno == ENOENT) { /* removed meanwhile */
			status = 0;
			continue;
		}
		if (status == 0) {
			status = call(context, &artifact, err);
			artifact_done(&artifact);
		}
	}
	free(versions);
	return status;
}

int artifacts_each(struct artifacts *artifacts, const char *name, each_call *call, void *context,
		   struct warder_error *err)
{
	struct dirent **items = NULL;
	int count, status = 0;

	if (name) {
		owned_fd int fd = open_name(artifacts, name, false, err);

		return fd < 0 ? -1 : each_version(fd, call, context, err);
	}
	count = scandirat(artifacts->names_fd, ".", &items, store_is_visible, store_order);
	if (count < 0)
		return failed("the list of artifacts", "cannot be read", err);
	for (int i = 0; i < count; i++) {
		owned_fd int fd = status ? -1 : store_open_directory(artifacts->names_fd, items[i]->d_name);

		if (fd >= 0)
			status = each_version(fd, call, context, err);
		free(items[i]);
	}
	free(items);
	return status;
}

/* ---- removing ---- */

static int note_used(void *context, const struct artifact *artifact, struct warder_error *err)
{
	return blobs_set_add(context, &artifact->content, err);
}

static int remove_version(int name_fd, const struct artifact_reference *reference, struct warder_error *err)
{
	char file[32], gone[32];

	snprintf(file, sizeof(file), "%" PRIu64 ".json", reference->version);
	snprintf(gone, sizeof(gone), "%" PRIu64 ".gone", reference->version);
	if (renameat(name_fd, file, name_fd, gone) == 0)
		return store_replace(name_fd, gone, "", 0, 0600, err);
	if (errno != ENOENT)
		return failed(reference->name, "cannot be removed", err);
	return error_set(err, WARDER_ERROR_NOT_FOUND, field,
			 "there is no version %" PRIu64 " of the artifact %.200s", reference->version,
			 reference->name);
}

/* Out of the list at once, then file by file. */
static int remove_name(struct artifacts *artifacts, const char *name, struct warder_error *err)
{
	char directory[STORE_NAME_MAX], trash[STORE_NAME_MAX];

	store_safe_name(name, directory);
	store_new_name(unfinished, trash);
	if (renameat(artifacts->names_fd, directory, artifacts->names_fd, trash) != 0)
		return failed(name, "cannot be removed", err);
	if (store_sync(artifacts->names_fd, name, err) != 0)
		return -1;
	rootfs_remove_tree(artifacts->names_fd, trash);
	return 0;
}

/* What was begun by the dead; alone here. */
static void remove_dead(int dir_fd, bool deeper)
{
	struct dirent **items = NULL;
	const int count = scandirat(dir_fd, ".", &items, NULL, NULL);

	for (int i = 0; i < count; i++) {
		owned_fd int fd = -1;

		if (strncmp(items[i]->d_name, unfinished, sizeof(unfinished) - 1) == 0)
			rootfs_remove_tree(dir_fd, items[i]->d_name);
		else if (deeper && store_is_visible(items[i]))
			fd = store_open_directory(dir_fd, items[i]->d_name);
		if (fd >= 0)
			remove_dead(fd, false);
		free(items[i]);
	}
	free(items);
}

static int remove_alone(struct artifacts *artifacts, const struct artifact_reference *reference,
			struct blobs *blobs, struct warder_error *err)
{
	owned_fd int fd = open_name(artifacts, reference->name, false, err);
	struct blobs_set used = { 0 };
	int status;

	if (fd < 0)
		return -1;
	status = reference->version ? remove_version(fd, reference, err)
				    : remove_name(artifacts, reference->name, err);
	if (status == 0 && reference->version && highest(fd, false) == 0)
		status = remove_name(artifacts, reference->name, err);
	remove_dead(artifacts->names_fd, true);
	if (status == 0)
		status = artifacts_each(artifacts, NULL, note_used, &used, err);
	if (status == 0)
		status = blobs_sweep(blobs, &used, err);
	blobs_set_done(&used);
	return status;
}

int artifacts_remove(struct artifacts *artifacts, const struct artifact_reference *reference,
		     struct warder_error *err)
{
	struct blobs blobs = BLOBS_NONE;
	int status = blobs_open(artifacts->dir_fd, BLOBS_SWEEP, &blobs, err);

	if (status > 0)
		return error_set(err, WARDER_ERROR_CONFLICT, field,
				 "another process saves artifacts; try again");
	if (status < 0)
		return -1;
	status = remove_alone(artifacts, reference, &blobs, err);
	blobs_done(&blobs);
	return status;
}
