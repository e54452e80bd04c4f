/*
 * What is seen where the policy names nothing of its own: the host's programs, or a directory that holds a
 * root.
 *
 * The host view is a table. /usr is mounted whole; the directories that a merged host has as links into it
 * are made as the same links. /etc is a directory of ours, not the host's: what is in the host's /etc
 * describes the host (users, keys, machine id, mounts, services), and a program that runs in a jail needs
 * little of it. Each row says who needs it. Left out although installed, because nothing fails without
 * them: python3* (an optional hook), perl (module options), node, ruby and lua (nothing there),
 * mime.types, ld.so.conf (read by ldconfig only), locale.alias, fonts. ld.so.preload is left out because
 * it would load the host's code into every program. A mount costs about 20 µs of every launch, a
 * directory, link or small file a tenth of that; a row should be worth it.
 *
 * In the directory view, the top level is taken apart and each entry is mounted by itself, so that our own
 * /proc, /dev and /tmp stand beside them in a tmpfs of ours: there is then no mount point of the jail's
 * that the directory's content could redirect. Links of the top level are copied as text and followed
 * inside only. The view of an image (image_view.c) is taken apart in the same way.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "rootfs/entries.h"
#include "rootfs/path.h"

static const char view_field[] = "filesystem.view";

enum row_kind {
	ROW_DIRECTORY, /* empty */
	ROW_LINK,      /* to `text` */
	ROW_TEXT,      /* a file of ours with `text` */
	ROW_PASSWD,    /* a file of ours with the jail's user */
	ROW_GROUP,     /* a file of ours with the jail's group */
	ROW_BIND,      /* the host's, if there is one that everybody may read */
	ROW_NEEDED,    /* the host's; without it there is no host view */
	ROW_REPLICA,   /* the host's link, if it leads into /usr; else as ROW_BIND */
	ROW_JAVA,      /* as ROW_BIND, the configuration of each Java run-time in this directory */
};

#define ON(mode) (1u << POLICY_NETWORK_##mode)
#define LISTED   (ON(ALLOW) | ON(LEARN))
#define ALWAYS   (ON(NONE) | ON(LOOPBACK) | LISTED | ON(HOST))
#define REMOTE   (LISTED | ON(HOST))

struct row {
	const char *path;
	enum row_kind kind;
	unsigned int when; /* network modes */
	const char *text;
	const char *reason;
};

static const struct row host_rows[] = {
	{ "/usr", ROW_NEEDED, ALWAYS, NULL, "programs, libraries and run-times" },
	{ "/bin", ROW_REPLICA, ALWAYS, NULL, "/bin/sh" },
	{ "/sbin", ROW_REPLICA, ALWAYS, NULL, "programs named by path" },
	{ "/lib", ROW_REPLICA, ALWAYS, NULL, "loaders of libraries (musl, aarch64)" },
	{ "/lib64", ROW_REPLICA, ALWAYS, NULL, "the loader of libraries (x86_64)" },
	{ "/lib32", ROW_REPLICA, ALWAYS, NULL, "libraries of the other word size" },
	{ "/libx32", ROW_REPLICA, ALWAYS, NULL, "libraries of the other word size" },
	{ "/run", ROW_DIRECTORY, ALWAYS, NULL, "looked into for sockets; empty" },
	{ "/var/tmp", ROW_LINK, ALWAYS, "../tmp", "temporary files of sqlite, compilers, editors" },

	{ "/etc/alternatives", ROW_BIND, ALWAYS, NULL, "where links of /usr/bin lead (awk, java, cc)" },
	{ "/etc/ld.so.cache", ROW_BIND, ALWAYS, NULL, "finds libraries; must be the one made for this /usr" },
	{ "/etc/ld-musl-x86_64.path", ROW_BIND, ALWAYS, NULL, "finds libraries of musl programs" },
	{ "/etc/ld-musl-aarch64.path", ROW_BIND, ALWAYS, NULL, "finds libraries of musl programs" },
	{ "/usr/lib/jvm", ROW_JAVA, ALWAYS, NULL,
	  "java: jvm.cfg and java.security are links to /etc/java-<n>-openjdk" },
	{ "/etc/R", ROW_BIND, ALWAYS, NULL, "R: its start-up files are links to it" },
	{ "/etc/php", ROW_BIND, ALWAYS, NULL, "php: which extensions are loaded" },
	{ "/etc/localtime", ROW_REPLICA, ALWAYS, NULL, "the time zone" },
	{ "/etc/os-release", ROW_REPLICA, ALWAYS, NULL, "asked by build scripts and package tools" },

	{ "/etc/passwd", ROW_PASSWD, ALWAYS, NULL, "whoami, getpwuid; none of the host's users" },
	{ "/etc/group", ROW_GROUP, ALWAYS, NULL, "id, getgrgid; none of the host's groups" },
	{ "/etc/nsswitch.conf", ROW_TEXT, ON(NONE) | ON(LOOPBACK),
	  "passwd: files\ngroup: files\nhosts: files\n", "no service of the host is asked" },
	{ "/etc/nsswitch.conf", ROW_TEXT, LISTED, "passwd: files\ngroup: files\nhosts: files dns\n",
	  "names are asked of the jail's own resolver" },
	{ "/etc/nsswitch.conf", ROW_BIND, ON(HOST), NULL, "names are found as on the host" },
	{ "/etc/hosts", ROW_TEXT, ON(LOOPBACK) | LISTED, "127.0.0.1 localhost warder\n::1 localhost\n",
	  "localhost, and the jail's own name, which git looks up" },
	{ "/etc/hosts", ROW_BIND, ON(HOST), NULL, "names are found as on the host" },
	{ "/etc/resolv.conf", ROW_TEXT, LISTED, "nameserver 198.18.0.1\noptions timeout:2 attempts:2\n",
	  "names are asked of the jail's own resolver" },
	{ "/etc/resolv.conf", ROW_BIND, ON(HOST), NULL, "names are found as on the host" },
	{ "/etc/gai.conf", ROW_BIND, ON(HOST), NULL, "addresses are sorted as on the host" },
	{ "/etc/services", ROW_BIND, REMOTE, NULL, "getservbyname" },
	{ "/etc/protocols", ROW_BIND, REMOTE, NULL, "getprotobyname" },
	{ "/etc/ssl/certs", ROW_BIND, REMOTE, NULL, "TLS: authorities (Debian, SUSE)" },
	{ "/etc/ssl/openssl.cnf", ROW_BIND, REMOTE, NULL, "TLS: the host's lowest version and ciphers" },
	{ "/etc/ca-certificates/extracted", ROW_BIND, REMOTE, NULL, "TLS: authorities (Arch)" },
	{ "/etc/pki/ca-trust/extracted", ROW_BIND, REMOTE, NULL, "TLS: authorities (Fedora)" },
	{ "/etc/pki/tls/certs", ROW_BIND, REMOTE, NULL,
	  "TLS: authorities (Fedora), mostly links to extracted" },
	{ "/etc/crypto-policies/back-ends", ROW_BIND, REMOTE, NULL, "TLS: included by Fedora's openssl.cnf" },
};

/* ---- host ---- */

/* Everybody may read it and only its owner or group may write it: then it says nothing that is not for
 * everybody, also in a jail whose user is the caller. */
static bool is_public(const struct stat *st)
{
	mode_t wanted = S_ISDIR(st->st_mode) ? 05 : 04;

	return (S_ISDIR(st->st_mode) || S_ISREG(st->st_mode)) && (st->st_mode & wanted) == wanted &&
	       !(st->st_mode & 02);
}

/* What this host does not have, or not for us, is left out; not what it only cannot open at the moment, or a program would
 * see less now and then. 0; -1 with *err. */
static int leave_out(struct planning *planning, const char *path)
{
	switch (errno) {
	case ENOENT:
	case ENOTDIR:
		return stale_add(planning, path, false, NULL);
	case EACCES:
	case EPERM:
	case ELOOP:
	case ESTALE: /* it has no name of its own */
	case ENAMETOOLONG:
		return 0;
	default:
		return error_set_errno(planning->err, WARDER_ERROR_UNAVAILABLE, view_field, errno,
				       "cannot open %s", path);
	}
}

static int add_bind(struct planning *planning, const char *path)
{
	owned_source struct source source = SOURCE_NONE;
	struct rootfs_entry *entry;

	if (source_find(planning->root_fd, path, &source) != 0)
		return leave_out(planning, path);
	if (strcmp(source.path, path) != 0 && stale_add(planning, path, false, &source.stat) != 0)
		return -1;
	if (!is_public(&source.stat))
		return 0;
	entry = entries_bind(planning, path, &source, POLICY_FIELD_NONE);
	if (!entry)
		return -1;
	entry->source_fd = fd_take(&source.fd);
	entry->optional = true;
	return 0;
}

static int add_needed(struct planning *planning, const char *path)
{
	owned_source struct source source = SOURCE_NONE;
	struct rootfs_entry *entry;

	if (source_find(planning->root_fd, path, &source) != 0)
		return error_set_errno(planning->err, WARDER_ERROR_UNSUPPORTED_POLICY, view_field, errno,
				       "the host view needs %s; use view \"directory:<path>\"", path);
	entry = entries_bind(planning, path, &source, POLICY_FIELD_NONE);
	if (!entry)
		return -1;
	entry->source_fd = fd_take(&source.fd);
	return 0;
}

/* Whether a link says in plain words that it leads into /usr, where no further link is on the way: then it is seen there. */
static bool leads_straight_into_usr(const struct planning *planning, const char *path, const char *text)
{
	const bool at_top = strrchr(path, '/') == path;
	const char *from_root = text[0] == '/' ? text + 1 : at_top ? text : "";
	owned_fd int fd = -1;

	if (strncmp(from_root, "usr/", 4) != 0 || strstr(from_root, ".."))
		return false;
	fd = path_try(planning->root_fd, from_root, O_PATH, 0, RESOLVE_NO_SYMLINKS);
	return fd >= 0;
}

static int add_replica(struct planning *planning, const char *path)
{
	owned_source struct source source = SOURCE_NONE;
	char text[PATH_MAX];
	struct stat st;
	ssize_t len;

	if (fstatat(planning->root_fd, path_from_root(path), &st, AT_SYMLINK_NOFOLLOW) != 0)
		return leave_out(planning, path);
	if (!S_ISLNK(st.st_mode))
		return add_bind(planning, path);
	if (stale_add(planning, path, true, &st) != 0)
		return -1;
	len = readlinkat(planning->root_fd, path_from_root(path), text, sizeof(text) - 1);
	if (len < 0)
		return errno == EINVAL ? add_bind(planning, path) : leave_out(planning, path);
	text[len] = '\0';
	if (leads_straight_into_usr(planning, path, text))
		return entries_add(planning, ROOTFS_SYMLINK, path, text);
	if (source_find(planning->root_fd, path, &source) != 0)
		return leave_out(planning, path);
	if (!path_within("/usr", source.path))
		return add_bind(planning, path);
	return entries_add(planning, ROOTFS_SYMLINK, path, text);
}

/* "java-17-openjdk-amd64" has its configuration in /etc/java-17-openjdk. (All of /etc would take longer to search.) */
static int add_java(struct planning *planning, const char *path)
{
	owned_directory DIR *dir = NULL;
	const struct dirent *item;
	char config[PATH_MAX];
	struct stat st;

	if (fstatat(planning->root_fd, path_from_root(path), &st, AT_SYMLINK_NOFOLLOW) != 0)
		return leave_out(planning, path);
	if (stale_add(planning, path, true, &st) != 0)
		return -1;
	dir = S_ISDIR(st.st_mode) ? top_open(planning->root_fd, path_from_root(path)) : NULL;
	if (!dir)
		return S_ISDIR(st.st_mode) ? leave_out(planning, path) : 0;
	while ((errno = 0, item = readdir(dir)) != NULL) {
		const char *vendor = strstr(item->d_name, "-openjdk-");

		if (strncmp(item->d_name, "java-", 5) != 0 || !vendor)
			continue;
		snprintf(config, sizeof(config), "/etc/%.*s-openjdk", (int)(vendor - item->d_name),
			 item->d_name);
		if (add_bind(planning, config) != 0)
			return -1;
	}
	return errno == 0 ? 0 : leave_out(planning, path);
}

static int add_passwd(struct planning *planning, const char *path)
{
	char text[320];

	snprintf(text, sizeof(text),
		 "root:x:0:0:root:/root:/usr/sbin/nologin\n"
		 "sandbox:x:%u:%u:sandbox:/tmp:/bin/sh\n"
		 "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
		 planning->policy->processes.uid, planning->policy->processes.gid);
	return entries_add(planning, ROOTFS_FILE, path, text);
}

static int add_group(struct planning *planning, const char *path)
{
	char text[96];

	snprintf(text, sizeof(text), "root:x:0:\nsandbox:x:%u:\nnogroup:x:65534:\n",
		 planning->policy->processes.gid);
	return entries_add(planning, ROOTFS_FILE, path, text);
}

static int add_row(struct planning *planning, const struct row *row)
{
	switch (row->kind) {
	case ROW_DIRECTORY:
		return entries_add(planning, ROOTFS_DIRECTORY, row->path, NULL);
	case ROW_LINK:
		return entries_add(planning, ROOTFS_SYMLINK, row->path, row->text);
	case ROW_TEXT:
		return entries_add(planning, ROOTFS_FILE, row->path, row->text);
	case ROW_PASSWD:
		return add_passwd(planning, row->path);
	case ROW_GROUP:
		return add_group(planning, row->path);
	case ROW_BIND:
		return add_bind(planning, row->path);
	case ROW_NEEDED:
		return add_needed(planning, row->path);
	case ROW_REPLICA:
		return add_replica(planning, row->path);
	case ROW_JAVA:
		return add_java(planning, row->path);
	}
	return 0;
}

/* How names are found with an allow-list, in a view that has a /etc of its own: our files, in the place of those that it has. */
static int plan_names(struct planning *planning)
{
	const unsigned int mode = 1u << planning->policy->network.mode;

	for (size_t i = 0; i < ARRAY_LENGTH(host_rows); i++) {
		const struct row *row = &host_rows[i];

		if (row->kind == ROW_TEXT && (row->when & mode & LISTED) && add_row(planning, row) != 0)
			return -1;
	}
	return 0;
}

static int plan_host(struct planning *planning)
{
	for (size_t i = 0; i < ARRAY_LENGTH(host_rows); i++) {
		if ((host_rows[i].when & (1u << planning->policy->network.mode)) &&
		    add_row(planning, &host_rows[i]) != 0)
			return -1;
	}
	return 0;
}

/* ---- directory ---- */

static int copy_link(struct planning *planning, int dir_fd, const char *name, const char *target)
{
	char text[PATH_MAX];
	ssize_t len = readlinkat(dir_fd, name, text, sizeof(text) - 1);

	if (len < 0)
		return error_set_errno(planning->err, WARDER_ERROR_CONFLICT, view_field, errno,
				       "the directory changed while it was read: %s", target);
	text[len] = '\0';
	return entries_add(planning, ROOTFS_SYMLINK, target, text);
}

/* Device nodes, sockets and FIFOs are not for the jail. */
static int add_item(struct planning *planning, const struct source *directory, int dir_fd, const char *name)
{
	owned_source struct source source = SOURCE_NONE;
	char target[NAME_MAX + 2];

	snprintf(target, sizeof(target), "/%s", name);
	source.fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (source.fd < 0 || fstat(source.fd, &source.stat) != 0)
		return error_set_errno(planning->err, WARDER_ERROR_CONFLICT, view_field, errno,
				       "the directory changed while it was read: %s", target);
	if (S_ISLNK(source.stat.st_mode))
		return copy_link(planning, dir_fd, name, target);
	if (!S_ISDIR(source.stat.st_mode) && !S_ISREG(source.stat.st_mode))
		return 0;
	if (asprintf(&source.path, "%s%s", directory->path, target) < 0) {
		source.path = NULL;
		return error_no_memory(planning->err, view_field);
	}
	if (host_path_check_tree(planning, &source, view_field) != 0)
		return -1;
	return entries_bind(planning, target, &source, POLICY_FIELD_VIEW) ? 0 : -1;
}

static int add_items(struct planning *planning, const struct source *directory)
{
	owned_directory DIR *dir = top_open(planning->root_fd, path_from_root(directory->path));
	const struct dirent *item;
	unsigned int count = 0;
	struct stat st;

	if (!dir || fstat(dirfd(dir), &st) != 0)
		return error_set_errno(planning->err, WARDER_ERROR_INVALID_REQUEST, view_field, errno,
				       "cannot read the directory %s", directory->path);
	if (stale_add(planning, directory->path, true, &st) != 0)
		return -1;
	while ((item = readdir(dir)) != NULL) {
		if (top_leaves_out(item->d_name))
			continue;
		if (++count > TOP_MAX)
			return error_set(planning->err, WARDER_ERROR_INVALID_REQUEST, view_field,
					 "%s has more than %d entries; name a directory that holds a root "
					 "(bin, etc, lib, usr, ...)",
					 directory->path, TOP_MAX);
		if (top_check_name(planning, item->d_name) != 0 ||
		    add_item(planning, directory, dirfd(dir), item->d_name) != 0)
			return -1;
	}
	return 0;
}

static int plan_directory(struct planning *planning)
{
	const char *path = planning->policy->filesystem.view_source;
	owned_source struct source source = SOURCE_NONE;

	if (path && strcmp(path, "/") == 0)
		return error_set(planning->err, WARDER_ERROR_INVALID_REQUEST, view_field,
				 "\"/\" is the whole host; use view \"host\" for its programs and libraries");
	if (host_path_find(planning, path, view_field, &source) != 0)
		return -1;
	if (!S_ISDIR(source.stat.st_mode))
		return error_set(planning->err, WARDER_ERROR_INVALID_REQUEST, view_field,
				 "%s is not a directory; name the directory that holds the root",
				 source.path);
	return add_items(planning, &source);
}

/* ---- a bind that is taken apart ---- */

/* Device nodes, sockets and FIFOs are left out here, too. */
static int add_piece(struct planning *planning, const struct rootfs_entry *whole, int dir_fd,
		     const char *name, const char *field)
{
	owned_source struct source source = SOURCE_NONE;
	struct rootfs_entry *entry;
	char target[PATH_MAX];

	if ((size_t)snprintf(target, sizeof(target), "%s/%s", whole->target, name) >= sizeof(target))
		return error_set(planning->err, WARDER_ERROR_INVALID_REQUEST, field, "%.200s... is too long",
				 target);
	if (entries_at(planning->rootfs, target))
		return 0;
	source.fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (source.fd < 0 || fstat(source.fd, &source.stat) != 0)
		return error_set_errno(planning->err, WARDER_ERROR_CONFLICT, field, errno,
				       "%s changed while it was read", whole->source);
	if (S_ISLNK(source.stat.st_mode))
		return copy_link(planning, dir_fd, name, target);
	if (!S_ISDIR(source.stat.st_mode) && !S_ISREG(source.stat.st_mode))
		return 0;
	if (asprintf(&source.path, "%s/%s", whole->source[1] ? whole->source : "", name) < 0) {
		source.path = NULL;
		return error_no_memory(planning->err, field);
	}
	entry = entries_bind(planning, target, &source, whole->field);
	if (!entry)
		return -1;
	entry->no_exec = whole->no_exec;
	entry->optional = whole->optional;
	entries_hold(entry, whole);
	return 0;
}

int view_take_apart(struct planning *planning, struct rootfs_entry *cover, const char *field)
{
	owned_directory DIR *dir = top_open(planning->root_fd, path_from_root(cover->source));
	struct rootfs_entry whole;
	const struct dirent *item;
	unsigned int count = 0;
	struct stat st;

	if (!dir || fstat(dirfd(dir), &st) != 0)
		return error_set_errno(planning->err, WARDER_ERROR_INVALID_REQUEST, field, errno,
				       "cannot read the directory %s, to show another path in it",
				       cover->source);
	if (st.st_dev != cover->source_dev || st.st_ino != cover->source_ino)
		return error_set(planning->err, WARDER_ERROR_CONFLICT, field,
				 "%s was replaced after it was checked; run it again", cover->source);
	if (stale_add(planning, cover->source, true, &st) != 0)
		return -1;
	fd_done(&cover->source_fd);
	cover->kind = ROOTFS_DIRECTORY;
	whole = *cover; /* adding may move what it points to; its strings stay */
	while ((item = readdir(dir)) != NULL) {
		if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0)
			continue;
		if (++count > TOP_MAX)
			return error_set(planning->err, WARDER_ERROR_INVALID_REQUEST, field,
					 "%s has more than %d entries, so that they cannot be mounted one "
					 "by one; %s",
					 whole.source, TOP_MAX,
					 strcmp(field, view_field) == 0
					     ? "with network.allow the jail needs files of its own there: "
					       "make it smaller, or make an image of the directory"
					     : "a target in it is not there: choose another target, or "
					       "create it there");
		if (top_check_name(planning, item->d_name) != 0 ||
		    add_piece(planning, &whole, dirfd(dir), item->d_name, field) != 0)
			return -1;
	}
	return 0;
}

int view_plan(struct planning *planning)
{
	switch (planning->policy->filesystem.view) {
	case POLICY_VIEW_HOST:
		return plan_host(planning);
	case POLICY_VIEW_DIRECTORY:
		return plan_directory(planning) == 0 ? plan_names(planning) : -1;
	case POLICY_VIEW_IMAGE:
		return image_view_plan(planning) == 0 ? plan_names(planning) : -1;
	}
	return 0;
}

/* ---- what is in it ---- */

static bool is_program(const struct source *source, struct stat *ret_stat)
{
	if (ret_stat)
		*ret_stat = source->stat;
	return S_ISREG(source->stat.st_mode) && (source->stat.st_mode & 0111);
}

/* Whether a row without a target of its own shows that path of the host. */
static bool in_list(const struct policy_strings *paths, const char *path)
{
	for (size_t i = 0; i < paths->count; i++) {
		if (!policy_path_explicit_target(paths->items[i]) && path_within(paths->items[i], path))
			return true;
	}
	return false;
}

/* Whether a row with a target shows a program at that path inside. */
static bool placed_has(const struct policy_strings *paths, int root_fd, const char *path,
		       struct stat *ret_stat)
{
	char source[PATH_MAX], there[PATH_MAX];

	for (size_t i = 0; i < paths->count; i++) {
		const char *target = policy_path_explicit_target(paths->items[i]);
		owned_source struct source found = SOURCE_NONE;

		if (target && path_within(target, path) && policy_path_source(paths->items[i], source) &&
		    snprintf(there, sizeof(there), "%s%s", source, path + strlen(target)) <
			(int)sizeof(there) &&
		    source_find(root_fd, there, &found) == 0 && is_program(&found, ret_stat))
			return true;
	}
	return false;
}

static bool host_has(const struct policy *policy, int root_fd, const char *path, struct stat *ret_stat)
{
	owned_source struct source found = SOURCE_NONE;

	return source_find(root_fd, path, &found) == 0 && is_program(&found, ret_stat) &&
	       ((policy->filesystem.view == POLICY_VIEW_HOST && path_within("/usr", found.path)) ||
		in_list(&policy->filesystem.read_only, found.path) ||
		in_list(&policy->filesystem.read_write, found.path));
}

static bool directory_has(const struct policy *policy, const char *path, struct stat *ret_stat)
{
	owned_fd int view_fd = open(policy->filesystem.view_source, O_PATH | O_DIRECTORY | O_CLOEXEC);
	owned_source struct source found = SOURCE_NONE;

	if (view_fd >= 0)
		found.fd = path_try(view_fd, path_from_root(path), O_PATH, 0,
				    RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	return found.fd >= 0 && fstat(found.fd, &found.stat) == 0 && is_program(&found, ret_stat);
}

bool rootfs_has_program(const struct policy *policy, const char *path, struct stat *ret_stat)
{
	owned_fd int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (path[0] != '/' || root_fd < 0)
		return false;
	if (policy->filesystem.view == POLICY_VIEW_DIRECTORY && directory_has(policy, path, ret_stat))
		return true;
	if (policy->filesystem.view == POLICY_VIEW_IMAGE &&
	    image_view_has(policy->filesystem.view_source, path, ret_stat))
		return true;
	return placed_has(&policy->filesystem.read_only, root_fd, path, ret_stat) ||
	       placed_has(&policy->filesystem.read_write, root_fd, path, ret_stat) ||
	       host_has(policy, root_fd, path, ret_stat);
}

bool rootfs_find_program(const struct policy *policy, const char *name, char *ret, size_t size)
{
	static const char *const directories[] = { "/usr/local/bin/", "/usr/bin/", "/bin/" };

	for (size_t i = 0; i < ARRAY_LENGTH(directories); i++) {
		const bool is_path = strchr(name, '/') != NULL;

		if ((size_t)snprintf(ret, size, "%s%s", is_path ? "" : directories[i], name) < size &&
		    rootfs_has_program(policy, ret, NULL))
			return true;
	}
	return false;
}
