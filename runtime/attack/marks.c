#include "runtime/attack/marks.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <mqueue.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/child.h"
#include "base/fd.h"
#include "base/file.h"

#define NAME_PREFIX     "warder-attack-" /* then the driver's id and start */
#define DEPTH_MAX       8                /* of the directory of the marks */
#define SECRET_VARIABLE "WARDER_ATTACK_SECRET"
#define SPARE_GROUP     54321 /* nobody's */
#define START_MS        20000 /* for the neighbour, on a slow machine */

void attack_marks_add(struct attack_marks *marks, const char *format, ...)
{
	va_list args;

	if (marks->text_count == ARRAY_LENGTH(marks->texts))
		return;
	va_start(args, format);
	vsnprintf(marks->texts[marks->text_count++], sizeof(marks->texts[0]), format, args);
	va_end(args);
}

/* ---- the directory, and those that dead drivers left ---- */

/* Nothing is followed, and what is in use stays. */
static void empty_directory(int dir_fd, int depth)
{
	DIR *dir = fdopendir(fcntl(dir_fd, F_DUPFD_CLOEXEC, 3));
	const struct dirent *item;

	while (dir && (item = readdir(dir)) != NULL) {
		owned_fd int below_fd = -1;

		if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0 ||
		    unlinkat(dir_fd, item->d_name, 0) == 0 || depth == 0)
			continue;
		below_fd = openat(dir_fd, item->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (below_fd >= 0)
			empty_directory(below_fd, depth - 1);
		unlinkat(dir_fd, item->d_name, AT_REMOVEDIR);
	}
	if (dir)
		closedir(dir);
}

/* Only a directory, and only one of this user's: in /tmp anybody may make one of that name. */
static void remove_directory(int parent_fd, const char *name)
{
	owned_fd int dir_fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (dir_fd < 0 || fstat(dir_fd, &st) != 0 || st.st_uid != geteuid())
		return;
	empty_directory(dir_fd, DEPTH_MAX);
	unlinkat(parent_fd, name, AT_REMOVEDIR);
}

/* When a process started, in ticks since boot: field 22 of its stat, counted behind its name. 0: it is
 * gone. */
static unsigned long long start_of(long pid)
{
	char path[64], text[1024];
	owned_fd int fd = -1;
	unsigned long long start = 0;
	const char *at;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (at)
		start = strtoull(at, NULL, 10);
	return start;
}

/* Whether the name is that of a driver's directory whose driver is gone, and nothing of it is left to hold
 * it: a driver that counts its processes otherwise, in another pid namespace, is known by its lock. */
static bool is_left_over(int parent_fd, const char *name)
{
	owned_fd int dir_fd = -1;
	unsigned long long start;
	long pid;

	if (sscanf(name, NAME_PREFIX "%ld-%llu.", &pid, &start) != 2 || start_of(pid) == start)
		return false;
	dir_fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return dir_fd >= 0 && flock(dir_fd, LOCK_EX | LOCK_NB) == 0;
}

/* The message queue of the neighbour outside, which nobody removes when it is killed, too. */
static void remove_queue(const char *directory)
{
	char name[80];

	snprintf(name, sizeof(name), "/%.*s-outside", (int)strcspn(directory, "."), directory);
	mq_unlink(name);
}

static void remove_left_over(void)
{
	DIR *dir = opendir("/tmp");
	const struct dirent *item;

	while (dir && (item = readdir(dir)) != NULL) {
		if (!is_left_over(dirfd(dir), item->d_name))
			continue;
		remove_queue(item->d_name);
		remove_directory(dirfd(dir), item->d_name);
	}
	if (dir)
		closedir(dir);
}

/* ---- single marks ---- */

static int make_directory(struct attack_marks *marks)
{
	static const char secret[] = "secret of the host\n";
	char path[sizeof(marks->dir) + 16];
	int fd;
	int status;

	snprintf(marks->dir, sizeof(marks->dir), "/tmp/%s.XXXXXX", marks->token);
	if (!mkdtemp(marks->dir)) {
		marks->dir[0] = '\0';
		return -1;
	}
	marks->lock_fd = open(marks->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (marks->lock_fd < 0 || flock(marks->lock_fd, LOCK_EX) != 0)
		return -1;
	snprintf(path, sizeof(path), "%s/secret", marks->dir);
	fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
	if (fd < 0)
		return -1;
	status = file_write_all(fd, secret, strlen(secret)) | fchmod(fd, 0644) | chmod(marks->dir, 0755);
	close(fd);
	snprintf(path, sizeof(path), "%s/workspace", marks->dir);
	status |= mkdir(path, 0755);
	attack_marks_add(marks, "dir=%s", marks->dir);
	return status;
}

static int make_sleeper(struct attack_marks *marks)
{
	pid_t parent = getpid();

	marks->sleeper = fork();
	if (marks->sleeper == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (getppid() == parent)
			pause();
		_exit(0);
	}
	attack_marks_add(marks, "pid=%d", (int)marks->sleeper);
	attack_marks_add(marks, "supervisor=%d", (int)parent);
	return marks->sleeper < 0 ? -1 : 0;
}

static int make_sockets(struct attack_marks *marks)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_un local = { .sun_family = AF_UNIX };
	socklen_t length = sizeof(at);

	marks->abstract_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(local.sun_path + 1, sizeof(local.sun_path) - 1, "%s", marks->token);
	if (marks->abstract_fd < 0 ||
	    bind(marks->abstract_fd, (struct sockaddr *)&local,
		 (socklen_t)(sizeof(sa_family_t) + 1 + strlen(marks->token))) != 0 ||
	    listen(marks->abstract_fd, 64) != 0)
		return -1;
	attack_marks_add(marks, "abstract=%s", marks->token);
	/* A host without a loopback interface has no such service either. */
	marks->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (marks->listen_fd >= 0 && bind(marks->listen_fd, (struct sockaddr *)&at, sizeof(at)) == 0 &&
	    listen(marks->listen_fd, 64) == 0 &&
	    getsockname(marks->listen_fd, (struct sockaddr *)&at, &length) == 0)
		marks->port = ntohs(at.sin_port);
	if (marks->port)
		attack_marks_add(marks, "port=%u", marks->port);
	return 0;
}

/* Marked for removal at once, so that it goes with us; its id stays good as long as it is attached. */
static void make_segment(struct attack_marks *marks)
{
	marks->shm = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0666);
	if (marks->shm < 0)
		return;
	marks->shm_at = shmat(marks->shm, NULL, 0);
	shmctl(marks->shm, IPC_RMID, NULL);
	if (marks->shm_at == (void *)-1)
		marks->shm_at = NULL;
	else
		attack_marks_add(marks, "shm=%d", marks->shm);
}

/* The directory of the marks, and something that can be written to; not closed on exec. */
static void make_leaks(struct attack_marks *marks)
{
	owned_fd int dir_fd = open(marks->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	owned_fd int null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	marks->leaked_fds[0] = fcntl(dir_fd, F_DUPFD, 50);
	marks->leaked_fds[1] = fcntl(null_fd, F_DUPFD, 251);
}

static void make_words(struct attack_marks *marks)
{
	const char *home = getenv("HOME");
	struct utsname names;

	setenv(SECRET_VARIABLE, "secret of the caller", 1);
	snprintf(marks->home, sizeof(marks->home), "%s", home ? home : "");
	attack_marks_add(marks, "home=%s", marks->home);
	uname(&names);
	attack_marks_add(marks, "hostname=%s", names.nodename);
}

/* The start of a text file; -1 if it cannot be read. Attempts are told what is in /proc/cpuinfo and /proc/meminfo,
 * because a jail has its own. */
static ssize_t read_start(const char *path, char *buf, size_t size)
{
	owned_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? -1 : read(fd, buf, size - 1);

	buf[n > 0 ? n : 0] = '\0';
	return n;
}

static void find_kernel(struct attack_marks *marks)
{
	char text[512];

	marks->user_mode_linux =
	    read_start("/proc/cpuinfo", text, sizeof(text)) > 0 && strstr(text, "User Mode Linux");
	attack_marks_add(marks, "user-mode-linux=%d", marks->user_mode_linux);
}

static void measure_memory(struct attack_marks *marks)
{
	static const char name[] = "MemAvailable:";
	char text[1024];
	const char *at;

	at = read_start("/proc/meminfo", text, sizeof(text)) > 0 ? strstr(text, name) : NULL;
	snprintf(marks->available, sizeof(marks->available), "available=%llu",
		 at ? strtoull(at + strlen(name), NULL, 10) * 1024 : 0);
}

int attack_marks_make(struct attack_marks *ret, struct warder_error *err)
{
	memset(ret, 0, sizeof(*ret));
	ret->listen_fd = ret->abstract_fd = ret->leaked_fds[0] = ret->leaked_fds[1] = -1;
	ret->inside.input_fd = ret->outside.input_fd = -1;
	ret->lock_fd = -1;
	remove_left_over();
	/* So that segments and message queues go with the last process of the attack, however it ends. An ordinary user has the host's
	 * namespace, and the next attack to remove what a killed one left. */
	unshare(CLONE_NEWIPC);
	snprintf(ret->token, sizeof(ret->token), NAME_PREFIX "%d-%llu", (int)getpid(), start_of(getpid()));
	if (make_directory(ret) != 0 || make_sleeper(ret) != 0 || make_sockets(ret) != 0) {
		error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "--attack", errno,
				"cannot prepare the targets of the attempts");
		attack_marks_remove(ret, &(struct warder_error){ 0 });
		return -1;
	}
	make_segment(ret);
	make_leaks(ret);
	make_words(ret);
	find_kernel(ret);
	/* What a caller may have, and a jail should not: a group besides his own, an ignored signal, an odd
	 * mask, no address randomisation. */
	if (geteuid() == 0)
		setgroups(1, &(gid_t){ SPARE_GROUP });
	signal(SIGPIPE, SIG_IGN);
	personality(ADDR_NO_RANDOMIZE);
	umask(077);
	return 0;
}

static void add_limit(struct attack_marks *marks, const char *key, uint64_t value, bool holds)
{
	if (value != POLICY_UNLIMITED && holds)
		attack_marks_add(marks, "%s=%llu", key, (unsigned long long)value);
}

void attack_marks_limits(struct attack_marks *marks, const struct jail_plan *plan)
{
	const struct policy *policy = &plan->policy;
	uint64_t disk = policy->limits.disk_bytes;

	add_limit(marks, "pids", policy->limits.pids_max, !plan->not_enforced[POLICY_CONTROL_PIDS]);
	add_limit(marks, "memory", policy->limits.memory_bytes, !plan->not_enforced[POLICY_CONTROL_MEMORY]);
	add_limit(marks, "tmp", disk < policy->filesystem.tmp_bytes ? disk : policy->filesystem.tmp_bytes,
		  true);
	add_limit(marks, "open-files", policy->limits.open_files, true);
	add_limit(marks, "file-size", policy->limits.file_size_bytes, true);
}

/* ---- neighbours ---- */

/* The first line that it prints, as words. */
static int read_facts(struct attack_neighbour *neighbour, int fd)
{
	struct pollfd waiting = { .fd = fd, .events = POLLIN };
	char line[256];
	size_t len = 0;
	char *at = line;
	const char *word;
	size_t count = 0;

	while (len + 1 < sizeof(line) && poll(&waiting, 1, START_MS) > 0 && read(fd, line + len, 1) == 1 &&
	       line[len] != '\n')
		len++;
	line[len] = '\0';
	while ((word = strsep(&at, " ")) != NULL && count < 2)
		snprintf(neighbour->facts[count++], sizeof(neighbour->facts[0]), "%s", word);
	return strncmp(line, "neighbour-port=", 15) == 0 ? 0 : -1;
}

static int start_neighbour(struct attack_neighbour *neighbour, const char *path, char *const *argv)
{
	int in[2], out[2];
	int status;

	if (pipe2(in, O_CLOEXEC) != 0)
		return -1;
	if (pipe2(out, O_CLOEXEC) != 0) {
		close(in[0]);
		close(in[1]);
		return -1;
	}
	neighbour->pid = fork();
	if (neighbour->pid == 0) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		execv(path, argv);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	neighbour->input_fd = in[1];
	status = neighbour->pid > 0 ? read_facts(neighbour, out[0]) : -1;
	close(out[0]);
	return status;
}

static void end_neighbour(struct attack_neighbour *neighbour)
{
	fd_done(&neighbour->input_fd);
	if (neighbour->pid > 0)
		child_wait(neighbour->pid, CHILD_PATIENCE_MS, NULL);
	neighbour->pid = 0;
}

/* A file of a process in /proc, ended by a NUL. Its length; 0: there is nothing. */
static size_t read_file(const char *pid, const char *name, char *buf, size_t len)
{
	char path[96];
	owned_fd int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%.20s/%.60s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, buf, len - 1);
	if (n <= 0)
		return 0;
	buf[n] = '\0';
	return (size_t)n;
}

/* Its arguments as the kernel shows them, each ended by a NUL. Their length; 0: there are none. */
static size_t read_arguments(const char *pid, char *buf, size_t len)
{
	return read_file(pid, "cmdline", buf, len);
}

static bool has_argument(const char *buf, size_t len, const char *wanted)
{
	for (const char *at = buf; at < buf + len; at += strlen(at) + 1)
		if (strcmp(at, wanted) == 0)
			return true;
	return false;
}

/* The program of the second jail, by its arguments: no process of ours is its parent. */
static void find_program(struct attack_neighbour *neighbour, const char *program, const char *name)
{
	DIR *dir = opendir("/proc");
	const struct dirent *item;
	char text[4096], path[64];
	struct stat st;
	size_t len;

	while (dir && (item = readdir(dir)) != NULL) {
		if (atoi(item->d_name) <= 0)
			continue;
		len = read_arguments(item->d_name, text, sizeof(text));
		if (!len || strcmp(text, program) != 0 || !has_argument(text, len, name))
			continue;
		snprintf(path, sizeof(path), "/proc/%.20s", item->d_name);
		if (stat(path, &st) != 0)
			continue;
		snprintf(neighbour->facts[2], sizeof(neighbour->facts[2]), "neighbour-pid=%.20s",
			 item->d_name);
		snprintf(neighbour->facts[3], sizeof(neighbour->facts[3]), "neighbour-uid=%u",
			 (unsigned)st.st_uid);
	}
	if (dir)
		closedir(dir);
}

/* The edge of the second jail, a child of its supervisor; or, without one, the supervisor. */
static void find_edge(struct attack_neighbour *neighbour, pid_t supervisor)
{
	char name[64], own[24], children[1024];
	pid_t found = supervisor;
	char *left = NULL;

	snprintf(own, sizeof(own), "%d", (int)supervisor);
	snprintf(name, sizeof(name), "task/%d/children", (int)supervisor);
	if (!read_file(own, name, children, sizeof(children)))
		children[0] = '\0';
	for (const char *pid = strtok_r(children, " ", &left); pid; pid = strtok_r(NULL, " ", &left))
		if (read_file(pid, "comm", name, sizeof(name)) && strcmp(name, "warder-edge\n") == 0)
			found = (pid_t)atoi(pid);
	snprintf(neighbour->facts[5], sizeof(neighbour->facts[5]), "neighbour-edge=%d", (int)found);
}

static int write_policy(const struct attack_marks *marks, const struct policy *policy, char *path, size_t len,
			struct warder_error *err)
{
	owned_policy struct policy long_lived = { 0 };
	owned_fd int fd = -1;
	char *json;
	int status;

	if (policy_copy(policy, &long_lived, err) != 0 ||
	    policy_set(&long_lived, "limits.wallTime", "1h", err) != 0)
		return -1;
	snprintf(path, len, "%s/policy.json", marks->dir);
	json = policy_encode(&long_lived);
	fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	status = json && fd >= 0 ? file_write_all(fd, json, strlen(json)) : -1;
	free(json);
	return status == 0 ? 0
			   : error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "--attack", errno, "%s", path);
}

int attack_marks_neighbours(struct attack_marks *marks, const struct policy *policy, const char *program,
			    const char *cgroup_parent, struct warder_error *err)
{
	char path[sizeof(marks->dir) + 16], name[sizeof(marks->inside.facts[0])];
	char *run[] = { (char *)"warder",
			(char *)"run",
			(char *)"--policy",
			path,
			(char *)"--ceiling",
			path,
			(char *)(cgroup_parent ? "--cgroup-parent" : "--"),
			(char *)cgroup_parent,
			(char *)"--",
			(char *)program,
			(char *)"--neighbour",
			name,
			marks->token,
			NULL };
	char *plain[] = { (char *)program,
			  (char *)"--neighbour",
			  name,
			  marks->token,
			  marks->texts[0], /* dir= */
			  (char *)"outside=1",
			  NULL };

	if (write_policy(marks, policy, path, sizeof(path), err) != 0)
		return -1;
	if (!cgroup_parent)
		memmove(&run[7], &run[9], 5 * sizeof(run[0]));
	snprintf(name, sizeof(name), "neighbour=%s-inside", marks->token);
	snprintf(marks->inside.facts[4], sizeof(marks->inside.facts[4]), "%s", name);
	if (start_neighbour(&marks->inside, "/proc/self/exe", run) != 0) {
		end_neighbour(&marks->inside);
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "--attack", "the second jail did not start");
	}
	find_program(&marks->inside, program, name);
	find_edge(&marks->inside, marks->inside.pid);
	snprintf(name, sizeof(name), "neighbour=%s-outside", marks->token);
	snprintf(marks->outside.facts[4], sizeof(marks->outside.facts[4]), "%s", name);
	if (start_neighbour(&marks->outside, program, plain) == 0) {
		find_program(&marks->outside, program, name);
		find_edge(&marks->outside, marks->inside.pid); /* the host sees that of the jail */
	} else {
		end_neighbour(&marks->outside);
	}
	return 0;
}

void attack_marks_arguments(struct attack_marks *marks, bool outside, char **argv, size_t used)
{
	struct attack_neighbour *neighbour = outside ? &marks->outside : &marks->inside;

	argv[used++] = marks->token;
	for (size_t i = 0; i < marks->text_count; i++)
		argv[used++] = marks->texts[i];
	measure_memory(marks);
	argv[used++] = marks->available;
	for (size_t i = 0; neighbour->pid > 0 && i < ARRAY_LENGTH(neighbour->facts); i++)
		if (neighbour->facts[i][0])
			argv[used++] = neighbour->facts[i];
	argv[used] = NULL;
}

/* ---- afterwards ---- */

static bool is_alive(pid_t pid)
{
	return pid <= 0 || waitpid(pid, NULL, WNOHANG) == 0;
}

bool attack_marks_intact(const struct attack_marks *marks)
{
	char path[sizeof(marks->dir) + 16];
	struct stat st;

	snprintf(path, sizeof(path), "%s/secret", marks->dir);
	return is_alive(marks->sleeper) && is_alive(marks->inside.pid) && is_alive(marks->outside.pid) &&
	       stat(path, &st) == 0 && st.st_size == 19 && (st.st_mode & 07777) == 0644;
}

pid_t attack_marks_survivor(const struct attack_marks *marks)
{
	DIR *dir = opendir("/proc");
	const struct dirent *item;
	pid_t found = 0;
	char text[8192];

	while (dir && !found && (item = readdir(dir)) != NULL) {
		size_t len = atoi(item->d_name) > 0 ? read_arguments(item->d_name, text, sizeof(text)) : 0;

		if (has_argument(text, len, marks->token) && !has_argument(text, len, "--neighbour"))
			found = (pid_t)atoi(item->d_name);
	}
	if (dir)
		closedir(dir);
	return found;
}

int attack_marks_remove(struct attack_marks *marks, struct warder_error *err)
{
	bool intact = attack_marks_intact(marks);

	end_neighbour(&marks->inside);
	end_neighbour(&marks->outside);
	if (marks->sleeper > 0) {
		kill(marks->sleeper, SIGKILL);
		child_wait(marks->sleeper, CHILD_PATIENCE_MS, NULL);
	}
	if (marks->shm_at)
		shmdt(marks->shm_at);
	fd_done(&marks->listen_fd);
	fd_done(&marks->abstract_fd);
	fd_done(&marks->lock_fd);
	fd_done(&marks->leaked_fds[0]);
	fd_done(&marks->leaked_fds[1]);
	if (marks->dir[0])
		remove_directory(AT_FDCWD, marks->dir);
	if (intact)
		return 0;
	return error_set(err, WARDER_ERROR_INTERNAL, "--attack", "an attempt changed the host");
}
