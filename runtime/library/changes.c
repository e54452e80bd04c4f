#include "runtime/library/changes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "runtime/library/library.h"
#include "rootfs/changes/changes.h"
#include "runtime/library/result.h"

static const char field[] = "changes";
static const char record_name[] = "record.json";
static const char files_name[] = "files";

struct changes_taking {
	char *directory; /* that keeps the set, canonical; or NULL */
	int directory_fd, files_fd;
	int layer_fd; /* borrowed; <= 0: no layer is asked for */
	bool tell;    /* the changes to the workspace */
	bool whole;   /* the set is kept */
	int64_t started_ns;
	struct changes changes;
	uint64_t layer_files, layer_bytes;
	struct warder_error err; /* of the layer */
};

struct warder_changes {
	int directory_fd, files_fd;
	struct changes changes;
};

/* The path as absolute, without ".." (which could lead into the directory that the changes are of), with room for what is found on
 * the way. Heap, or NULL with *err. */
static char *place_of(const char *directory, struct warder_error *err)
{
	char *path = malloc(ROOTFS_PRIVATE_DIR_MAX);
	char *clean = file_plain(directory);

	if (path && clean && strlen(clean) < ROOTFS_PRIVATE_DIR_MAX) {
		memcpy(path, clean, strlen(clean) + 1);
		free(clean);
		return path;
	}
	if (path && clean)
		error_set(err, WARDER_ERROR_INVALID_REQUEST, field, "the path of the directory is too long");
	else
		error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, errno, "%.200s has no absolute path",
				directory);
	free(path);
	free(clean);
	return NULL;
}

/* ---- taking ---- */

static int in_the_way(const struct changes_taking *taking, const char *why, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_CONFLICT, field, "%.200s %s", taking->directory, why);
}

/* Nothing but what a run that was killed has left, which goes. */
static int check_empty(const struct changes_taking *taking, struct warder_error *err)
{
	int fd = openat(taking->directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *item;
	bool has_set = false, has_other = false;

	if (!dir) {
		fd_done(&fd);
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, errno, "%.200s cannot be read",
				       taking->directory);
	}
	while ((item = readdir(dir)) != NULL) {
		const char *name = item->d_name;

		has_set |= strcmp(name, record_name) == 0;
		has_other |=
		    strcmp(name, ".") != 0 && strcmp(name, "..") != 0 && strcmp(name, files_name) != 0;
	}
	closedir(dir);
	if (has_set)
		return in_the_way(
		    taking, "holds a set of changes; commit or drop it, or name another directory", err);
	if (has_other)
		return in_the_way(taking, "has something else in it; name a new or an empty directory", err);
	rootfs_remove_tree(taking->directory_fd, files_name);
	return 0;
}

/* A set that lay in the directory would be changes of it. */
static int check_apart(const struct changes_taking *taking, const char *lower, struct warder_error *err)
{
	return path_within(lower, taking->directory)
		   ? error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
			       "%.200s lies in the directory whose changes are to be kept; name another one",
			       taking->directory)
		   : 0;
}

/* lower: the directory that the overlay lies over. */
static int make_place(struct changes_taking *taking, const char *lower, const char *directory,
		      struct warder_error *err)
{
	struct stat st;
	bool is_new;

	taking->directory = place_of(directory, err);
	if (!taking->directory || check_apart(taking, lower, err) != 0)
		return -1;
	is_new = lstat(taking->directory, &st) != 0;
	taking->directory_fd = rootfs_open_private_dir(taking->directory, field, err);
	if (taking->directory_fd < 0)
		return -1;
	/* Once more, now without links. */
	if (check_apart(taking, lower, err) != 0) {
		if (is_new)
			rmdir(taking->directory);
		return -1;
	}
	if (flock(taking->directory_fd, LOCK_EX | LOCK_NB) != 0)
		return in_the_way(taking, "is in use by another process; name another directory", err);
	if (check_empty(taking, err) != 0)
		return -1;
	if (mkdirat(taking->directory_fd, files_name, 0700) == 0)
		taking->files_fd =
		    openat(taking->directory_fd, files_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return taking->files_fd >= 0
		   ? 0
		   : error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, errno,
				     "%.200s cannot keep a set of changes", taking->directory);
}

static const struct rootfs_overlay *find_overlay(const struct jail_plan *plan, enum policy_field wanted)
{
	for (size_t i = 0; i < plan->rootfs.overlay_count; i++)
		if (plan->rootfs.overlays[i].field == wanted)
			return &plan->rootfs.overlays[i];
	return NULL;
}

static int no_overlay(struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
			 "there is nothing to tell changes of: use filesystem.workspace \"overlay:<dir>\"");
}

int changes_taking_new(const struct warder_command *command, const struct jail_plan *plan,
		       struct changes_taking **ret, struct warder_error *err)
{
	const bool tell = command->changes || command->changes_directory;
	const struct rootfs_overlay *workspace = find_overlay(plan, POLICY_FIELD_WORKSPACE);
	struct changes_taking *taking;
	struct timespec now;

	*ret = NULL;
	if (!tell && command->layer_fd <= 0)
		return 0;
	if (tell && !workspace)
		return no_overlay(err);
	if (command->layer_fd > 0 && !find_overlay(plan, POLICY_FIELD_VIEW))
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
				 "a layer consists of files that were written over an image");
	taking = calloc(1, sizeof(*taking));
	if (!taking)
		return error_no_memory(err, field);
	taking->directory_fd = taking->files_fd = -1;
	taking->layer_fd = command->layer_fd;
	taking->tell = tell;
	if (command->changes_directory &&
	    make_place(taking, workspace->layers[0].source, command->changes_directory, err) != 0) {
		/* What is there is somebody else's. */
		taking->whole = true;
		changes_taking_free(taking);
		return -1;
	}
	clock_gettime(CLOCK_REALTIME, &now);
	taking->started_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	*ret = taking;
	return 0;
}

static void take_layer(struct changes_taking *taking, const struct jail_upper *upper)
{
	const struct upper_copy copy = { .upper_fd = upper->fd,
					 .to_fd = taking->layer_fd,
					 .id_base = upper->id_base,
					 .keep_owners = upper->own_ids,
					 .user_xattrs = upper->user_xattrs };

	if (upper_copy(&copy, &taking->layer_files, &taking->layer_bytes, &taking->err) != 0 &&
	    taking->err.code == 0)
		taking->err.code = WARDER_ERROR_UNAVAILABLE;
}

void changes_taking_upper(void *context, const struct jail_upper *upper)
{
	struct changes_taking *taking = context;
	const struct changes_source source = { .upper_fd = upper->fd,
					       .lower_fd = upper->overlay->layers[0].source_fd,
					       .user_xattrs = upper->user_xattrs,
					       .started_ns = taking->started_ns,
					       .save_fd = taking->files_fd };

	if (upper->overlay->field == POLICY_FIELD_VIEW && taking->layer_fd > 0)
		take_layer(taking, upper);
	if (upper->overlay->field != POLICY_FIELD_WORKSPACE || !taking->tell)
		return;
	changes_read(&source, &taking->changes);
	taking->changes.directory = strdup(upper->overlay->layers[0].source);
}

static int keep(struct changes_taking *taking, struct warder_error *err)
{
	char *text = taking->changes.directory ? changes_encode(&taking->changes) : NULL;
	int kept;

	if (!text)
		return error_no_memory(err, field);
	kept = file_replace(taking->directory_fd, record_name, text, strlen(text), err);
	free(text);
	if (kept == 0 && (fsync(taking->files_fd) != 0 || fsync(taking->directory_fd) != 0))
		kept = error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, errno, "%.200s cannot be synced",
				       taking->directory);
	taking->whole = kept == 0;
	return kept;
}

int changes_taking_finish(void *context, struct warder_result *result, struct warder_error *err)
{
	struct changes_taking *taking = context;

	if (taking->err.code) {
		*err = taking->err;
		return -1;
	}
	if (!taking->tell)
		return 0;
	if (taking->directory && keep(taking, err) != 0)
		return -1;
	result->changes = malloc(sizeof(*result->changes));
	if (!result->changes)
		return error_no_memory(err, field);
	*result->changes = taking->changes;
	taking->changes = (struct changes){ 0 };
	result->changes_kept = taking->directory;
	taking->directory = NULL;
	return 0;
}

void changes_taking_free(void *context)
{
	struct changes_taking *taking = context;

	if (!taking)
		return;
	/* A set without a record is none. */
	if (taking->directory_fd >= 0 && !taking->whole) {
		rootfs_remove_tree(taking->directory_fd, files_name);
		if (taking->directory)
			rmdir(taking->directory);
	}
	fd_done(&taking->files_fd);
	fd_done(&taking->directory_fd);
	changes_done(&taking->changes);
	free(taking->directory);
	free(taking);
}

int changes_take(const struct changes_overlay *overlay, const char *directory, struct changes *ret,
		 struct warder_error *err)
{
	struct changes_taking *taking;
	int status = 0;

	if (overlay->upper_fd < 0)
		return no_overlay(err);
	taking = calloc(1, sizeof(*taking));
	if (!taking)
		return error_no_memory(err, field);
	taking->directory_fd = taking->files_fd = -1;
	if (directory && make_place(taking, overlay->lower, directory, err) != 0) {
		taking->whole = true; /* what is there is somebody else's */
		changes_taking_free(taking);
		return -1;
	}
	changes_read(&(struct changes_source){ .upper_fd = overlay->upper_fd,
					       .lower_fd = overlay->lower_fd,
					       .user_xattrs = overlay->user_xattrs,
					       .started_ns = overlay->started_ns,
					       .save_fd = taking->files_fd },
		     &taking->changes);
	taking->changes.directory = strdup(overlay->lower);
	if (!taking->changes.directory)
		status = error_no_memory(err, field);
	if (status == 0 && directory)
		status = keep(taking, err);
	if (status == 0) {
		*ret = taking->changes;
		taking->changes = (struct changes){ 0 };
	}
	changes_taking_free(taking);
	return status;
}

/* ---- kept sets ---- */

static int read_record(struct warder_changes *changes, const char *directory, struct warder_error *err)
{
	owned_fd int fd =
	    openat(changes->directory_fd, record_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	char *text;
	size_t used = 0;
	int decoded;

	if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		return error_set(err, WARDER_ERROR_NOT_FOUND, field,
				 "%.200s holds no set of changes; \"warder run --changes DIR\" makes one",
				 directory);
	if ((uint64_t)st.st_size > CHANGES_TEXT_BYTES)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, field,
				 "the record in %.200s is too large", directory);
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		return error_no_memory(err, field);
	while (used < (size_t)st.st_size) {
		ssize_t n = read(fd, text + used, (size_t)st.st_size - used);

		if (n <= 0)
			break;
		used += (size_t)n;
	}
	text[used] = '\0';
	decoded = changes_decode(text, used, directory, &changes->changes, err);
	free(text);
	return decoded;
}

static int open_set(struct warder_changes *changes, const char *directory, struct warder_error *err)
{
	char *path = place_of(directory, err);
	struct stat st;

	if (!path)
		return -1;
	if (stat(path, &st) != 0)
		error_set(err, WARDER_ERROR_NOT_FOUND, field, "there is no directory %.200s", path);
	else
		changes->directory_fd = rootfs_find_private_dir(path, field, err);
	free(path);
	if (changes->directory_fd < 0)
		return -1;
	if (flock(changes->directory_fd, LOCK_EX | LOCK_NB) != 0)
		return error_set(err, WARDER_ERROR_CONFLICT, field, "another process works on %.200s",
				 directory);
	changes->files_fd =
	    openat(changes->directory_fd, files_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return read_record(changes, directory, err);
}

int warder_changes_open(const char *directory, struct warder_changes **ret, struct warder_error *err)
{
	struct warder_changes *changes = calloc(1, sizeof(*changes));

	if (!changes)
		return error_no_memory(err, field);
	changes->directory_fd = changes->files_fd = -1;
	if (open_set(changes, directory, err) != 0) {
		warder_changes_free(changes);
		return -1;
	}
	*ret = changes;
	return 0;
}

void warder_changes_free(struct warder_changes *changes)
{
	if (!changes)
		return;
	fd_done(&changes->files_fd);
	fd_done(&changes->directory_fd);
	changes_done(&changes->changes);
	free(changes);
}

const struct changes *changes_of(const struct warder_changes *changes)
{
	return &changes->changes;
}

int changes_open_saved(const struct warder_changes *changes, const struct changes_item *change)
{
	char name[24];

	return openat(changes->files_fd, changes_saved_name(change->saved, name),
		      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

char *warder_changes_json(const struct warder_changes *changes)
{
	struct json_writer w = { .pretty = true };

	json_begin_object(&w);
	json_key_string(&w, "directory", changes->changes.directory);
	json_key(&w, "changes");
	changes_write(&changes->changes, &w);
	json_key_string(&w, "fault", changes->changes.fault[0] ? changes->changes.fault : NULL);
	json_end_object(&w);
	return json_take(&w);
}

int warder_changes_commit(struct warder_changes *changes, const struct warder_selection *selection,
			  size_t *ret_count, struct warder_error *err)
{
	struct warder_selection known = { 0 };
	struct changes_selection chosen;
	owned_fd int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	owned_fd int directory_fd = -1;
	size_t done = 0;
	int committed;

	if (selection &&
	    library_take(&known, sizeof(known), selection, selection->size, "warder_selection", err) != 0)
		return -1;
	directory_fd =
	    path_open_no_links(root_fd, changes->changes.directory + 1, O_RDONLY | O_DIRECTORY, err);
	if (directory_fd < 0)
		return error_context(err, "the directory %.200s", changes->changes.directory);
	chosen = (struct changes_selection){ .patterns = known.patterns,
					     .count = known.pattern_count,
					     .force = known.force };
	committed = changes_commit(&changes->changes, &chosen, directory_fd, changes->files_fd, &done, err);
	if (ret_count)
		*ret_count = done;
	return committed;
}

int warder_changes_drop(struct warder_changes *changes, struct warder_error *err)
{
	char path[64];
	char real[PATH_MAX];
	ssize_t len;

	/* The record goes first: what is left without it is no set. */
	if ((unlinkat(changes->directory_fd, record_name, 0) != 0 && errno != ENOENT) ||
	    rootfs_remove_tree(changes->directory_fd, files_name) != 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, field, errno,
				       "the set cannot be removed");
	/* The directory, if nothing else is in it. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", changes->directory_fd);
	len = readlink(path, real, sizeof(real) - 1);
	if (len > 0) {
		real[len] = '\0';
		rmdir(real);
	}
	return 0;
}
