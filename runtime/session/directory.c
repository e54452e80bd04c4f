#include "base/array.h"
#include "runtime/session/session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"

#define TRIES             32
#define CONNECT_TIMEOUT_S 30   /* where the keeper takes no connection, and as many wait as can */
#define BACKLOG           1024 /* as many */

static const char *const levels[] = { "warder", "sessions" };

int session_check_name(const char *name, struct warder_error *err)
{
	static const char most[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
	const size_t len = name ? strlen(name) : 0;

	if (len == 0 || len > SESSION_NAME_MAX || name[0] == '.' || name[0] == '-' ||
	    strspn(name, most) != len)
		return error_set(
		    err, WARDER_ERROR_INVALID_REQUEST, "name",
		    "\"%.80s\" is not a valid session name: up to %d letters, digits, '.', '_' and "
		    "'-', a letter or digit first%s",
		    name ? name : "", SESSION_NAME_MAX,
		    name && name[0] == '-' ? "; the name comes before the flags" : "");
	return 0;
}

static const char *base_directory(void)
{
	return geteuid() == 0 ? "/run" : getenv("XDG_RUNTIME_DIR");
}

/* Nobody else may have put anything there: not in the base either, where another could be first. */
static int check_base(int fd, const char *base, struct warder_error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, base, errno, "cannot look at %s", base);
	if ((st.st_uid != geteuid() && st.st_uid != 0) || (st.st_mode & 022))
		return error_set(
		    err, WARDER_ERROR_UNAVAILABLE, base,
		    "other users can write to %s, so Warder keeps no sessions there; %s", base,
		    geteuid() == 0 ? "repair it: chown root /run && chmod 755 /run"
				   : "set XDG_RUNTIME_DIR to a directory that only you may write to: "
				     "mkdir -p -m 700 ~/.warder-run && export XDG_RUNTIME_DIR=~/.warder-run");
	return 0;
}

/* One level down. 0; -1 with *err. */
static int descend(int *fd, const char *name, bool make, struct warder_error *err)
{
	owned_fd int next = -1;
	struct stat st;

	if (make && mkdirat(*fd, name, 0700) < 0 && errno != EEXIST)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, name, errno,
				       "cannot make the directory of the sessions");
	next = openat(*fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (next < 0)
		return error_set_errno(err,
				       errno == ENOENT ? WARDER_ERROR_NOT_FOUND : WARDER_ERROR_UNAVAILABLE,
				       name, errno, "there are no sessions");
	if (fstat(next, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 077))
		return error_set(err, WARDER_ERROR_UNAVAILABLE, name,
				 "the directory %s of the sessions is not its owner's alone (mode 0700)",
				 name);
	close(*fd);
	*fd = fd_take(&next);
	return 0;
}

static int open_once(const char *base, bool make, int *ret_dir_fd, struct warder_error *err)
{
	owned_fd int fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, base, errno, "cannot open %s", base);
	if (check_base(fd, base, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LENGTH(levels); i++)
		if (descend(&fd, levels[i], make, err) < 0)
			return -1;
	*ret_dir_fd = fd_take(&fd);
	return 0;
}

int session_directory_open(bool make, int *ret_dir_fd, struct warder_error *err)
{
	const char *base = base_directory();
	int ret = -1;

	if (!base || base[0] != '/')
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "XDG_RUNTIME_DIR",
				 "an ordinary user's sessions are found below $XDG_RUNTIME_DIR, which is not "
				 "set; set it to a "
				 "directory that only you may enter: export XDG_RUNTIME_DIR=$(mktemp -d)");
	/* A keeper that ends may remove the directories between two steps. */
	for (int i = 0; i < TRIES && ret < 0; i++) {
		ret = open_once(base, make, ret_dir_fd, err);
		if (ret < 0 && (!make || err->sys_errno != ENOENT))
			break;
	}
	return ret;
}

void session_directory_tidy(void)
{
	char path[512];
	const char *base = base_directory();

	if (!base)
		return;
	/* The directory above stays: another mount namespace may have a file system of its own mounted there, with sessions in it, and the
	 * kernel takes this mount away when its directory is removed. */
	snprintf(path, sizeof(path), "%.400s/%s/%s", base, levels[0], levels[1]);
	rmdir(path);
}

static void file_name(char ret[SESSION_NAME_MAX + 8], const char *name, const char *kind)
{
	snprintf(ret, SESSION_NAME_MAX + 8, "%.64s%s", name, kind);
}

static bool is_linked(int dir_fd, const char *file, int fd)
{
	struct stat by_fd;
	struct stat by_name;

	return fstat(fd, &by_fd) == 0 && fstatat(dir_fd, file, &by_name, AT_SYMLINK_NOFOLLOW) == 0 &&
	       by_fd.st_dev == by_name.st_dev && by_fd.st_ino == by_name.st_ino;
}

int session_lock(int dir_fd, const char *name, int *ret_fd, struct warder_error *err)
{
	char file[SESSION_NAME_MAX + 8];

	file_name(file, name, ".lock");
	for (int i = 0; i < TRIES; i++) {
		owned_fd int fd = openat(dir_fd, file, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

		if (fd < 0)
			return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, file, errno, "cannot open %s",
					       file);
		if (flock(fd, LOCK_EX | LOCK_NB) < 0)
			return errno == EWOULDBLOCK ? 1
						    : error_set_errno(err, WARDER_ERROR_UNAVAILABLE, file,
								      errno, "cannot lock %s", file);
		if (is_linked(dir_fd, file, fd)) {
			*ret_fd = fd_take(&fd);
			return 0;
		}
	}
	return 1;
}

int session_directory_lock(const char *name, int *ret_dir_fd, int *ret_lock_fd, struct warder_error *err)
{
	struct warder_error why = { 0 };
	int locked = -1;

	for (int i = 0; i < TRIES; i++) {
		owned_fd int dir_fd = -1;

		if (session_directory_open(true, &dir_fd, err) < 0)
			return -1;
		locked = session_lock(dir_fd, name, ret_lock_fd, &why);
		if (locked == 0)
			*ret_dir_fd = fd_take(&dir_fd);
		if (locked >= 0)
			return locked;
		if (why.sys_errno != ENOENT)
			break;
	}
	*err = why;
	return -1;
}

char *session_read_note(const char *name)
{
	char file[SESSION_NAME_MAX + 8];
	struct warder_error ignored;
	owned_fd int dir_fd = -1;
	owned_fd int fd = -1;
	char *text = NULL;
	size_t len = 0;

	if (session_check_name(name, &ignored) < 0 || session_directory_open(false, &dir_fd, &ignored) < 0)
		return NULL;
	file_name(file, name, ".lock");
	fd = openat(dir_fd, file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || file_read_open(fd, file, SESSION_BYTES_MAX, &text, &len, &ignored) < 0)
		return NULL;
	if (len)
		return text;
	free(text);
	return NULL;
}

void session_unlink(int dir_fd, const char *name)
{
	char file[SESSION_NAME_MAX + 8];

	file_name(file, name, ".sock");
	unlinkat(dir_fd, file, 0);
	file_name(file, name, ".lock");
	unlinkat(dir_fd, file, 0);
}

/* By way of the descriptor: the path is short, and leads nowhere else. */
static socklen_t fill_address(struct sockaddr_un *to, int dir_fd, const char *name)
{
	char file[SESSION_NAME_MAX + 8];

	file_name(file, name, ".sock");
	memset(to, 0, sizeof(*to));
	to->sun_family = AF_UNIX;
	snprintf(to->sun_path, sizeof(to->sun_path), "/proc/self/fd/%d/%s", dir_fd, file);
	return sizeof(*to);
}

int session_listen(int dir_fd, const char *name, int *ret_fd, struct warder_error *err)
{
	owned_fd int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address;
	socklen_t len = fill_address(&address, dir_fd, name);
	char file[SESSION_NAME_MAX + 8];

	file_name(file, name, ".sock");
	unlinkat(dir_fd, file, 0); /* of a keeper that died: the lock is ours */
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) < 0 || listen(fd, BACKLOG) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, file, errno,
				       "cannot listen on the session's socket");
	*ret_fd = fd_take(&fd);
	return 0;
}

/* Whoever could write to the directory could also have put a socket there. 0; 1: it has ended just now; -1 with *err. */
static int check_keeper(int fd, const char *name, struct warder_error *err)
{
	switch (session_peer(fd)) {
	case SESSION_PEER_OWNER:
		return 0;
	case SESSION_PEER_GONE:
		return 1;
	case SESSION_PEER_ELSEWHERE:
		return error_set(
		    err, WARDER_ERROR_REJECTED, "name",
		    "session %.64s is kept in other namespaces of processes or users, as those of "
		    "a container: ask for it where it was started",
		    name);
	case SESSION_PEER_OTHER_USER:
		break;
	}
	return error_set(err, WARDER_ERROR_UNAVAILABLE, "name", "session %.64s is kept by another user",
			 name);
}

int session_peer_pid(int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 ? peer.pid : 0;
}

int session_connect(int dir_fd, const char *name, int *ret_fd, struct warder_error *err)
{
	owned_fd int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sockaddr_un address;
	socklen_t len = fill_address(&address, dir_fd, name);
	int checked;
	const struct timeval patience = { .tv_sec = CONNECT_TIMEOUT_S };

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0)
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "cannot make a socket");
	while (connect(fd, (struct sockaddr *)&address, len) < 0) {
		if (errno == ENOENT || errno == ECONNREFUSED || errno == ECONNRESET)
			return 1;
		if (errno != EINTR)
			return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "name", errno,
					       "cannot reach the keeper of session %s", name);
	}
	checked = check_keeper(fd, name, err);
	if (checked == 0)
		*ret_fd = fd_take(&fd);
	return checked;
}

/* 1 with the name, if the file is a lock that is held (`held`), or is not; 0: it is another; -1 with errno: it cannot be told. */
static int is_lock(int dir_fd, const char *file, bool held, char ret[SESSION_NAME_MAX + 1])
{
	const size_t len = strlen(file);
	struct warder_error ignored;
	bool locked;

	if (len < 6 || len > SESSION_NAME_MAX + 5 || strcmp(file + len - 5, ".lock") != 0)
		return 0;
	snprintf(ret, SESSION_NAME_MAX + 1, "%.*s", (int)(len - 5), file);
	if (session_check_name(ret, &ignored) < 0)
		return 0;
	{
		owned_fd int fd = openat(dir_fd, file, O_RDWR | O_NOFOLLOW | O_CLOEXEC);

		if (fd < 0)
			return errno == ENOENT || errno == ELOOP ? 0 : -1;
		locked = flock(fd, LOCK_EX | LOCK_NB) < 0;
	}
	return locked == held;
}

/* `dir_fd` stays the caller's. NULL with errno. */
static DIR *open_list(int dir_fd)
{
	owned_fd int fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (dir)
		fd_take(&fd);
	return dir;
}

static int unlisted(struct warder_error *err)
{
	return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "cannot list the sessions");
}

int session_each(int (*each)(void *context, const char *name), void *context, struct warder_error *err)
{
	owned_fd int dir_fd = -1;
	const struct dirent *entry;
	DIR *dir;
	int ret = 0;

	if (session_directory_open(false, &dir_fd, err) < 0)
		return err->code == WARDER_ERROR_NOT_FOUND ? 0 : -1;
	dir = open_list(dir_fd);
	if (!dir)
		return unlisted(err);
	while (ret == 0 && (errno = 0, entry = readdir(dir))) {
		char name[SESSION_NAME_MAX + 1];
		const int held = is_lock(dir_fd, entry->d_name, true, name);

		ret = held > 0 ? each(context, name) : held < 0 ? unlisted(err) : 0;
	}
	if (ret == 0 && errno)
		ret = unlisted(err);
	closedir(dir);
	return ret;
}

char *session_list_json(int (*add)(void *list, const char *name), struct warder_error *err)
{
	struct session_list list = { .err = err };
	char *text;

	json_begin_array(&list.w);
	if (session_each(add, &list, err) < 0) {
		json_writer_done(&list.w);
		return NULL;
	}
	json_end_array(&list.w);
	text = json_take(&list.w);
	if (!text)
		error_no_memory(err, NULL);
	return text;
}

/* Remove the files of a keeper that died. False: another has the name, or it has no files. */
static bool remove_dead(int dir_fd, const char *name)
{
	struct warder_error ignored;
	owned_fd int fd = -1;

	if (session_lock(dir_fd, name, &fd, &ignored) != 0)
		return false;
	session_unlink(dir_fd, name);
	return true;
}

int session_clean(bool dry_run)
{
	struct warder_error ignored;
	owned_fd int dir_fd = -1;
	const struct dirent *entry;
	DIR *dir;
	int count = 0;

	if (session_directory_open(false, &dir_fd, &ignored) < 0)
		return 0;
	dir = open_list(dir_fd);
	while (dir && (entry = readdir(dir))) {
		char name[SESSION_NAME_MAX + 1];

		if (is_lock(dir_fd, entry->d_name, false, name) > 0)
			count += dry_run || remove_dead(dir_fd, name);
	}
	if (dir)
		closedir(dir);
	if (!dry_run)
		session_directory_tidy();
	return count;
}
