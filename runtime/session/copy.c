/*
 * copy: the files of a session, as those with which another one begins, at once or later: a directory of the host has them in between.
 *
 * A program can write to one tmpfs, which is mounted at /tmp and /dev/shm; so these two trees are copied. If the policy lets it write
 * anywhere else, the session is refused: an overlay holds only the differences from its layers, and a directory of the caller would belong
 * to both sessions.
 *
 * The source is hostile, and still: its keeper lets nothing start while this connection stays, and nothing runs, or all of it is frozen. In
 * the target nothing has run yet. Each name is nevertheless opened in the descriptor of its directory, without following links, and
 * compared with the file that was seen. Reading has the rights of the source's user, and writing those of the target's.
 *
 * In a directory of the host the files belong to the user of this process, without the bits set-user-ID and set-group-ID. A jail gives these
 * bits no effect.
 *
 * All or nothing: the caller ends the new session when this fails, and its tmpfs goes with it. Whatever cannot be copied as it is is an
 * error, not left out. Mounts in the trees are those of the policy, and the new session has its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "rootfs/rootfs.h"
#include "runtime/session/attachment.h"
#include "runtime/session/tree.h"

#define DEPTH_MAX      256
#define XATTRS_MAX     65536 /* bytes of their names, and of one value, as the kernel has it */
#define MODE_BITS      07777
#define LINKS_FIRST    64
#define ACCESS_LIST    "system.posix_acl_"
#define OF_USER        "user."
#define LENGTH(prefix) (sizeof(prefix) - 1)

/* A file with several names that was copied under the first one. */
struct link {
	ino_t inode;
	char *path; /* below the top */
};

struct copy {
	struct tree_root from, to;
	int top_fd; /* of the target: /tmp or /dev/shm */
	dev_t device;
	size_t entries;
	uint64_t bytes, bytes_max;
	mode_t mode_bits;   /* that are copied */
	struct link *links; /* an open hash table; a path NULL: free */
	size_t link_count, link_room;
	bool (*came)(const void *context);
	const void *context;
	char path[PATH_MAX]; /* below the top */
	const char *top;
	struct warder_error *err;
};

/* An entry, in the directories of both sides. */
struct entry {
	int from_fd, to_fd;
	const char *name;
	struct stat st;
	unsigned int depth;
};

/* ---- messages ---- */

static const char *shown(const struct copy *copy, char path[PATH_MAX + 16])
{
	snprintf(path, PATH_MAX + 16, "%s%s%s", copy->top, *copy->path ? "/" : "", copy->path);
	return path;
}

static int failed(const struct copy *copy, const char *what)
{
	char path[PATH_MAX + 16];
	const int saved = errno;

	shown(copy, path);
	errno = saved;
	return tree_failed(path, what, copy->err);
}

static int refuse(const struct copy *copy, const char *why)
{
	char path[PATH_MAX + 16];

	return tree_refuse(shown(copy, path), why, copy->err);
}

/* ---- names of one file ---- */

static struct link *find_link(const struct copy *copy, ino_t inode)
{
	size_t at = (size_t)inode % copy->link_room;

	while (copy->links[at].path && copy->links[at].inode != inode)
		at = (at + 1) % copy->link_room;
	return &copy->links[at];
}

static int grow_links(struct copy *copy)
{
	struct copy grown = *copy;

	if (copy->link_room && copy->link_count < copy->link_room / 2)
		return 0;
	grown.link_room = copy->link_room ? 2 * copy->link_room : LINKS_FIRST;
	grown.links = calloc(grown.link_room, sizeof(*grown.links));
	if (!grown.links)
		return error_no_memory(copy->err, NULL);
	for (size_t i = 0; i < copy->link_room; i++)
		if (copy->links[i].path)
			*find_link(&grown, copy->links[i].inode) = copy->links[i];
	free(copy->links);
	copy->links = grown.links;
	copy->link_room = grown.link_room;
	return 0;
}

static void free_links(struct copy *copy)
{
	for (size_t i = 0; i < copy->link_room; i++)
		free(copy->links[i].path);
	free(copy->links);
	copy->links = NULL;
	copy->link_count = copy->link_room = 0;
}

/* 1: the entry is another name of a file that has been copied, and has been made; 0: it is not; -1 with *err. */
static int make_link(struct copy *copy, const struct entry *entry)
{
	struct link *link;
	int made;

	if (entry->st.st_nlink < 2)
		return 0;
	if (grow_links(copy) < 0)
		return -1;
	link = find_link(copy, entry->st.st_ino);
	if (!link->path) {
		*link = (struct link){ .inode = entry->st.st_ino, .path = strdup(copy->path) };
		copy->link_count++;
		return link->path ? 0 : error_no_memory(copy->err, NULL);
	}
	tree_become(&copy->to);
	made = linkat(copy->top_fd, link->path, entry->to_fd, entry->name, 0);
	tree_return(&copy->to);
	return made < 0 ? failed(copy, "cannot be made") : 1;
}

/* ---- what belongs to a file besides its bytes ---- */

static int copy_attribute(const struct copy *copy, int from_fd, int to_fd, const char *name)
{
	static char value[XATTRS_MAX];
	ssize_t len;
	int set;

	tree_become(&copy->from);
	len = fgetxattr(from_fd, name, value, sizeof(value));
	tree_return(&copy->from);
	if (len < 0)
		return failed(copy, "cannot be read");
	tree_become(&copy->to);
	set = fsetxattr(to_fd, name, value, (size_t)len, 0);
	tree_return(&copy->to);
	return set < 0 ? failed(copy, "cannot be written") : 0;
}

/* Labels of the kernel's security modules are not the user's, and the new file has its own. */
static int copy_attributes(const struct copy *copy, int from_fd, int to_fd)
{
	static char names[XATTRS_MAX];
	const ssize_t len = flistxattr(from_fd, names, sizeof(names));

	if (len < 0)
		return errno == ENOTSUP ? 0 : failed(copy, "cannot be read");
	for (const char *name = names; name < names + len; name += strlen(name) + 1) {
		if (strncmp(name, ACCESS_LIST, LENGTH(ACCESS_LIST)) == 0)
			return refuse(copy, "has an access control list, which cannot be copied");
		if (strncmp(name, OF_USER, LENGTH(OF_USER)) == 0 &&
		    copy_attribute(copy, from_fd, to_fd, name) < 0)
			return -1;
	}
	return 0;
}

/* Mode and times, of an open file. A directory that Warder made at the start belongs to another user, and has them already. */
static int copy_state(const struct copy *copy, const struct entry *entry, int to_fd)
{
	const struct timespec times[] = { entry->st.st_atim, entry->st.st_mtim };
	struct stat st;
	bool done;

	if (fstat(to_fd, &st) < 0)
		return failed(copy, "cannot be made");
	if (copy->to.switches && st.st_uid != copy->to.uid)
		return 0;
	tree_become(&copy->to);
	done = ((st.st_mode ^ entry->st.st_mode) & copy->mode_bits) == 0 ||
	       fchmod(to_fd, entry->st.st_mode & copy->mode_bits) == 0;
	done = done && futimens(to_fd, times) == 0;
	tree_return(&copy->to);
	return done ? 0 : failed(copy, "cannot be made");
}

/* ---- entries ---- */

/* Open the file that was seen, and nothing else. */
static int open_seen(const struct copy *copy, const struct entry *entry, int flags)
{
	owned_fd int fd = -1;
	struct stat now;

	tree_become(&copy->from);
	fd = openat(entry->from_fd, entry->name, flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	tree_return(&copy->from);
	if (fd < 0 || fstat(fd, &now) < 0) {
		failed(copy, "cannot be read");
		return -1;
	}
	if (fd_same_object(&now, &entry->st) && (now.st_mode & S_IFMT) == (entry->st.st_mode & S_IFMT))
		return fd_take(&fd);
	refuse(copy, "changed during the copy");
	return -1;
}

static int copy_file(struct copy *copy, const struct entry *entry)
{
	owned_fd int from_fd = open_seen(copy, entry, O_RDONLY);
	owned_fd int to_fd = -1;

	if (from_fd < 0)
		return -1;
	if ((uint64_t)entry->st.st_size > copy->bytes_max - copy->bytes)
		return error_set(copy->err, WARDER_ERROR_INVALID_REQUEST, "bytes",
				 "the files of the session have more than %" PRIu64 " bytes",
				 copy->bytes_max);
	copy->bytes += (uint64_t)entry->st.st_size;
	tree_become(&copy->to);
	to_fd = openat(entry->to_fd, entry->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	tree_return(&copy->to);
	if (to_fd < 0)
		return failed(copy, "cannot be made");
	errno = 0;
	if (tree_copy_bytes(from_fd, to_fd, entry->st.st_size) < 0)
		return failed(copy, "cannot be written");
	return copy_attributes(copy, from_fd, to_fd) == 0 ? copy_state(copy, entry, to_fd) : -1;
}

/* A symbolic link, or a name without content: a pipe, or a socket, at which nobody listens in the new session. */
static int copy_node(struct copy *copy, const struct entry *entry)
{
	const struct timespec times[] = { entry->st.st_atim, entry->st.st_mtim };
	const bool is_link = S_ISLNK(entry->st.st_mode);
	char target[PATH_MAX] = "";
	ssize_t len = 0;
	bool made;

	if (is_link) {
		tree_become(&copy->from);
		len = readlinkat(entry->from_fd, entry->name, target, sizeof(target) - 1);
		tree_return(&copy->from);
	}
	if (len < 0)
		return failed(copy, "cannot be read");
	tree_become(&copy->to);
	made = is_link ? symlinkat(target, entry->to_fd, entry->name) == 0
		       : mknodat(entry->to_fd, entry->name, (entry->st.st_mode & S_IFMT) | 0600, 0) == 0 &&
			     fchmodat(entry->to_fd, entry->name, entry->st.st_mode & copy->mode_bits, 0) == 0;
	made = made && utimensat(entry->to_fd, entry->name, times, AT_SYMLINK_NOFOLLOW) == 0;
	tree_return(&copy->to);
	return made ? 0 : failed(copy, "cannot be made");
}

static int copy_entry(struct copy *copy, struct entry *entry);

static int copy_content(struct copy *copy, const struct entry *directory, int from_fd, int to_fd)
{
	const size_t len = strlen(copy->path);
	char place[PATH_MAX + 16];
	char **names = NULL;
	size_t count = 0;
	int list_fd = fcntl(from_fd, F_DUPFD_CLOEXEC, 0);
	int status = list_fd < 0 ? failed(copy, "cannot be listed")
				 : tree_names(list_fd, shown(copy, place), &names, &count, copy->err);

	for (size_t i = 0; i < count && status == 0; i++) {
		struct entry entry = {
			.from_fd = from_fd, .to_fd = to_fd, .name = names[i], .depth = directory->depth + 1
		};

		if ((size_t)snprintf(copy->path + len, sizeof(copy->path) - len, "%s%s", len ? "/" : "",
				     names[i]) >= sizeof(copy->path) - len) {
			copy->path[len] = '\0';
			status = refuse(copy, "has paths that are too long");
		} else {
			status = copy_entry(copy, &entry);
		}
		copy->path[len] = '\0';
	}
	tree_free_names(names, count);
	return status;
}

static int copy_directory(struct copy *copy, const struct entry *entry)
{
	owned_fd int from_fd = -1;
	owned_fd int to_fd = -1;

	if (entry->depth == DEPTH_MAX)
		return refuse(copy, "lies below more than 256 directories");
	from_fd = open_seen(copy, entry, O_RDONLY | O_DIRECTORY);
	if (from_fd < 0)
		return -1;
	tree_become(&copy->to);
	if (mkdirat(entry->to_fd, entry->name, 0700) == 0 || errno == EEXIST)
		to_fd = openat(entry->to_fd, entry->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	tree_return(&copy->to);
	if (to_fd < 0)
		return failed(copy, "cannot be made");
	if (copy_content(copy, entry, from_fd, to_fd) < 0 || copy_attributes(copy, from_fd, to_fd) < 0)
		return -1;
	return copy_state(copy, entry, to_fd);
}

static int copy_entry(struct copy *copy, struct entry *entry)
{
	char why[64];
	int seen;

	if (copy->came(copy->context))
		return error_set(copy->err, WARDER_ERROR_UNAVAILABLE, NULL,
				 "the session ended while it was copied to");
	tree_become(&copy->from);
	seen = fstatat(entry->from_fd, entry->name, &entry->st, AT_SYMLINK_NOFOLLOW);
	tree_return(&copy->from);
	if (seen < 0)
		return failed(copy, "cannot be read");
	if (entry->st.st_dev != copy->device)
		return 0;
	if (++copy->entries > TREE_ENTRIES_MAX)
		return error_set(copy->err, WARDER_ERROR_INVALID_REQUEST, "name",
				 "session files: there are more than %d of them, as many as can be copied",
				 TREE_ENTRIES_MAX);
	if (S_ISDIR(entry->st.st_mode))
		return copy_directory(copy, entry);
	if (!S_ISREG(entry->st.st_mode) && !S_ISLNK(entry->st.st_mode) && !S_ISFIFO(entry->st.st_mode) &&
	    !S_ISSOCK(entry->st.st_mode)) {
		snprintf(why, sizeof(why), "is a %s, which cannot be copied", tree_type(entry->st.st_mode));
		return refuse(copy, why);
	}
	seen = make_link(copy, entry);
	if (seen != 0)
		return seen < 0 ? -1 : 0;
	return S_ISREG(entry->st.st_mode) ? copy_file(copy, entry) : copy_node(copy, entry);
}

/* ---- the whole ---- */

static int open_top(const struct tree_root *root, const char *top, int *ret_fd, struct warder_error *err)
{
	tree_become(root);
	*ret_fd = path_open_in_root(root->fd, top, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, err);
	tree_return(root);
	return *ret_fd < 0 ? -1 : 0;
}

static int copy_top(struct copy *copy, const char *top)
{
	owned_fd int from_fd = -1;
	owned_fd int to_fd = -1;
	struct entry entry = { .depth = 0 };
	int status;

	copy->top = top;
	copy->path[0] = '\0';
	if (open_top(&copy->from, top, &from_fd, copy->err) < 0 ||
	    open_top(&copy->to, top, &to_fd, copy->err) < 0)
		return -1;
	if (fstat(from_fd, &entry.st) < 0)
		return failed(copy, "cannot be read");
	copy->top_fd = to_fd;
	copy->device = entry.st.st_dev;
	status = copy_content(copy, &entry, from_fd, to_fd);
	if (status == 0)
		status = copy_attributes(copy, from_fd, to_fd);
	if (status == 0)
		status = copy_state(copy, &entry, to_fd);
	free_links(copy);
	return status;
}

/* Refuse a session that lets programs write anywhere but to the scratch tmpfs. */
static int check_places(const struct session_spec *source, const char *root, struct warder_error *err)
{
	struct rootfs rootfs = { 0 };
	const struct rootfs_entry *entry;
	int status = rootfs_decode(root, strlen(root), &source->policy, &rootfs, err);

	for (size_t i = 0; i < rootfs.count && status == 0; i++) {
		entry = &rootfs.entries[i];
		if (entry->kind == ROOTFS_OVERLAY)
			status =
			    error_set(err, WARDER_ERROR_INVALID_REQUEST, policy_field_path(entry->field),
				      "%s: session %.64s has an overlay at %.80s, which cannot be copied; "
				      "copy single files with \"warder session cp\"",
				      policy_field_path(entry->field), source->name, entry->target);
		else if (entry->kind == ROOTFS_BIND && !entry->read_only)
			status =
			    error_set(err, WARDER_ERROR_INVALID_REQUEST, policy_field_path(entry->field),
				      "%s: programs of session %.64s write to a directory of the host at "
				      "%.80s, which both sessions would share; start a session with a "
				      "directory of its own",
				      policy_field_path(entry->field), source->name, entry->target);
	}
	rootfs_done(&rootfs);
	return status;
}

static const char *const tops[] = { "/tmp", "/dev/shm" };

/* The trees, which were opened if status is 0. Closes them. */
static int copy_all(struct copy *copy, int status)
{
	for (size_t i = 0; i < ARRAY_LENGTH(tops) && status == 0; i++)
		status = copy_top(copy, tops[i]);
	tree_done(&copy->from);
	tree_done(&copy->to);
	return status;
}

static void begin(struct copy *copy, bool (*came)(const void *context), const void *context,
		  struct warder_error *err)
{
	*copy = (struct copy){ .from = { .fd = -1 },
			       .to = { .fd = -1 },
			       .bytes_max = UINT64_MAX,
			       .mode_bits = MODE_BITS,
			       .came = came,
			       .context = context,
			       .err = err };
}

int copy_session(const struct session_spec *source, const struct jail_joint *joint, const char *root,
		 bool (*came)(const void *context), const void *context, struct warder_error *err)
{
	static struct copy copy; /* large */
	struct attachment *attachment = session_attach(source, SESSION_COPY, err);
	int status;

	if (!attachment)
		return -1;
	begin(&copy, came, context, err);
	status = check_places(source, attachment->root, err);
	if (status == 0)
		status = tree_open(&source->policy, &attachment->joint, attachment->root, &copy.from, err);
	if (status == 0)
		status = tree_open(&source->policy, joint, root, &copy.to, err);
	status = copy_all(&copy, status);
	session_detach(attachment);
	return status;
}

/* ---- by way of a directory of the host ---- */

static bool goes_on(const void *context)
{
	return false;
}

static int make_tops(int directory_fd, struct warder_error *err)
{
	static const char *const names[] = { "tmp", "dev", "dev/shm" };

	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		if (mkdirat(directory_fd, names[i], 0700) < 0)
			return tree_failed(names[i], "cannot be made", err);
	return 0;
}

int session_save(const char *name, int directory_fd, uint64_t bytes_max, struct warder_error *err)
{
	static struct copy copy; /* large */
	struct warder_session *session = NULL;
	struct attachment *attachment = NULL;
	int status = warder_session_open(name, &session, err);

	if (status == 0 && geteuid() == 0 && setgroups(0, NULL) < 0)
		status = error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "setgroups");
	if (status == 0 && !(attachment = session_attach(&session->spec, SESSION_SAVE, err)))
		status = -1;
	begin(&copy, goes_on, NULL, err);
	copy.bytes_max = bytes_max;
	copy.mode_bits = MODE_BITS & ~(mode_t)(S_ISUID | S_ISGID);
	if (status == 0)
		status = check_places(&session->spec, attachment->root, err);
	if (status == 0)
		status = make_tops(directory_fd, err);
	if (status == 0)
		status =
		    tree_open(&session->spec.policy, &attachment->joint, attachment->root, &copy.from, err);
	copy.to.fd = fcntl(directory_fd, F_DUPFD_CLOEXEC, 0);
	if (status == 0 && copy.to.fd < 0)
		status = failed(&copy, "cannot be opened");
	status = copy_all(&copy, status);
	if (attachment)
		session_detach(attachment);
	warder_session_free(session);
	return status;
}

int copy_load(const char *directory, const struct policy *policy, const struct jail_joint *joint,
	      const char *root, bool (*came)(const void *context), const void *context,
	      struct warder_error *err)
{
	static struct copy copy; /* large */
	int status = 0;

	begin(&copy, came, context, err);
	copy.from.fd = open(directory, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (copy.from.fd < 0)
		status = tree_failed(directory, "cannot be opened", err);
	if (status == 0)
		status = tree_open(policy, joint, root, &copy.to, err);
	return copy_all(&copy, status);
}
