/*
 * payload: what the child does between its fork from init and the exec of the untrusted program: give up everything,
 * filter last, tell the host, wait until the host has read the result back from the kernel, execute.
 *
 * Order: rlimits and identity need privilege, so they precede the drop; the working directory is entered as the
 * jail's user, in a session without a capability; the terminal is made as the jail's user, who then owns it, and before Landlock and
 * seccomp, which refuse what that takes; no_new_privs precedes Landlock and seccomp, which need it; seccomp is last because the steps
 * before it use calls that it denies. After it only read, write, ppoll, execve and exit_group are called; of a parked jail also recvmsg
 * and dup3, which its policy may not deny; of a fork of a zygote also close, because there is no exec that closes.
 */
#include <asm/signal.h>
#include <linux/fcntl.h>
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <linux/poll.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>

#include <stdbool.h>

#include "base/array.h"
#include "jail/inside/inside.h"
#include "jail/inside/message.h"
#include "jail/inside/sys.h"

#define ENOENT_  2
#define EACCES_  13
#define EEXIST_  17
#define ENOTDIR_ 20
#define EINVAL_  22

#define O_NOCTTY_ 0400
/* <asm/ioctls.h>, which declares more than a freestanding program can use. */
#define TIOCSCTTY_   0x540e
#define TIOCSPTLCK_  0x40045431
#define TIOCGPTPEER_ 0x5441

#ifndef O_PATH
#define O_PATH 010000000
#endif

/* Newer than Debian 12's headers; numbers of the Landlock user documentation (ABI 3 to 6). */
#define FS_TRUNCATE         (1ull << 14)
#define FS_IOCTL_DEV        (1ull << 15)
#define SCOPE_ABSTRACT_UNIX (1ull << 0)
#define SCOPE_SIGNAL        (1ull << 1)

struct ruleset_attr {
	uint64_t handled_access_fs, handled_access_net, scoped;
};

static long step_stdio(struct inside *in)
{
	uint64_t none = 0;
	long ret = sys(setsid);

	if (ret < 0)
		return ret;
	/* Only the program's streams stay, and until the exec the gate (in the place of init's socket), the host's socket and the
	 * supervisor's pidfd. */
	ret = sys(dup3, in->gate[0], WIRE_FD_CONTROL, O_CLOEXEC);
	if (ret < 0)
		return ret;
	sys(close, WIRE_FD_BLOCK);
	if (!(in->block->flags & WIRE_RESULT))
		sys(close, WIRE_FD_RESULT);
	if (!(in->block->flags & WIRE_INPUT))
		sys(close, WIRE_FD_INPUT);
	if (!(in->block->flags & WIRE_PROGRESS))
		sys(close, WIRE_FD_PROGRESS);
	ret = sys(fcntl, WIRE_FD_EXEC, F_SETFD, FD_CLOEXEC);
	if (ret == 0)
		ret = sys(fcntl, WIRE_FD_SUPERVISOR, F_SETFD, FD_CLOEXEC);
	if (ret == 0)
		ret = sys(close_range, WIRE_FD_SUPERVISOR + 1, ~0u, 0);
	if (ret == 0)
		ret = sys(rt_sigprocmask, 2 /* SIG_SETMASK */, &none, 0, sizeof(none));
	sys(umask, 022);
	return ret;
}

static long step_rlimits(struct inside *in)
{
	const struct wire_rlimit *rows = WIRE_AT(in->block, in->block->rlimits, const struct wire_rlimit);

	for (uint32_t i = 0; i < in->block->rlimit_count; i++) {
		uint64_t both[2] = { rows[i].value, rows[i].value };
		long ret = sys(prlimit64, 0, rows[i].resource, both, 0);

		if (ret < 0)
			return ret;
	}
	return 0;
}

static long step_identity(struct inside *in)
{
	long ret;

	if (!(in->block->flags & WIRE_PRIVILEGED))
		return 0; /* a single-id user namespace: the ids are the payload's since the clone */
	ret = sys(setresgid, in->block->gid, in->block->gid, in->block->gid);
	if (ret == 0)
		ret = sys(setresuid, in->block->uid, in->block->uid, in->block->uid);
	return ret;
}

/* Below /tmp the directory may not exist yet: it is made, as the jail's user. Where /tmp is the host's, it has to be there. */
static long step_cwd(struct inside *in)
{
	char *path = WIRE_AT(in->block, in->block->working_directory, char);
	long ret = sys(chdir, path);

	in->what = path;
	if (ret != -ENOENT_ || in->block->flags & WIRE_BARE || path[0] != '/' || path[1] != 't' ||
	    path[2] != 'm' || path[3] != 'p' || path[4] != '/')
		return ret;
	for (size_t i = 5;; i++) {
		char c = path[i];

		if (c && c != '/')
			continue;
		path[i] = 0;
		ret = sys(mkdirat, AT_FDCWD, path, 0755);
		path[i] = c;
		if (ret < 0 && ret != -EEXIST_)
			return ret;
		if (!c)
			return sys(chdir, path);
	}
}

static long step_own_cwd(struct inside *in)
{
	return in->block->flags & WIRE_JOINS ? 0 : step_cwd(in);
}

/* Without a capability: in a session others may have changed the way there. */
static long step_shared_cwd(struct inside *in)
{
	return in->block->flags & WIRE_JOINS ? step_cwd(in) : 0;
}

static long step_privileges(struct inside *in)
{
	long ret = inside_keep_capabilities(0);

	if (ret == 0)
		ret = sys(prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	/* Until the exec nobody may attach; the exec of an ordinary program sets it again. A fork of a zygote has none, and is alone with its
	 * init. */
	if (ret == 0)
		ret = sys(prctl, PR_SET_DUMPABLE, in->block->flags & WIRE_FORKED ? 1 : 0, 0, 0, 0);
	return ret;
}

/* The host gets the master, in one message, and the payload keeps none. */
static long send_master(int master_fd)
{
	struct wire_message message = { .type = WIRE_TERMINAL };

	return message_send(WIRE_FD_EXEC, &message, sizeof(message), &master_fd, 1);
}

/* A terminal of the jail's own devpts, so that its name means something inside. The payload leads a session since its first step. */
static long step_terminal(struct inside *in)
{
	const int unlocked = 0;
	long master_fd, slave_fd;
	long ret;

	if (!(in->block->flags & WIRE_ON_TERMINAL))
		return 0;
	in->what = "/dev/pts/ptmx";
	master_fd = sys(openat, AT_FDCWD, "/dev/pts/ptmx", O_RDWR | O_CLOEXEC | O_NOCTTY_, 0);
	if (master_fd < 0)
		return master_fd;
	ret = sys(ioctl, master_fd, TIOCSPTLCK_, &unlocked);
	slave_fd = ret < 0 ? ret : sys(ioctl, master_fd, TIOCGPTPEER_, O_RDWR | O_CLOEXEC | O_NOCTTY_);
	if (slave_fd < 0)
		return slave_fd;
	ret = sys(ioctl, slave_fd, TIOCSCTTY_, 0);
	for (int fd = WIRE_FD_STDIN; fd <= WIRE_FD_STDERR && ret >= 0; fd++)
		ret = sys(dup3, slave_fd, fd, 0);
	if (ret >= 0)
		ret = send_master((int)master_fd);
	sys(close, slave_fd);
	sys(close, master_fd);
	return ret < 0 ? ret : 0;
}

/* A hint to programs that count processors; they may set it anew. */
static long step_affinity(struct inside *in)
{
	const uint32_t len = in->block->affinity_len;
	long ret = len ? sys(sched_setaffinity, 0, len, WIRE_AT(in->block, in->block->affinity, char)) : 0;

	return ret < 0 ? ret : 0;
}

/* Where the processor is not affected, or all processes are protected, the kernel refuses: the read-back judges what is in force. */
static long step_speculation(struct inside *in)
{
	if (!(in->block->flags & WIRE_SPECULATION))
		return 0;
	sys(prctl, PR_SET_SPECULATION_CTRL, PR_SPEC_STORE_BYPASS, PR_SPEC_FORCE_DISABLE, 0, 0);
	sys(prctl, PR_SET_SPECULATION_CTRL, PR_SPEC_INDIRECT_BRANCH, PR_SPEC_FORCE_DISABLE, 0, 0);
	return 0;
}

/* In a session somebody else may have put a link on the way, behind the parent of a mount: it would widen what may be written. */
static long add_rule(const struct inside *in, int ruleset, const char *path, uint64_t access)
{
	const struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				      .resolve = in->block->flags & WIRE_JOINS ? RESOLVE_NO_SYMLINKS : 0 };
	struct landlock_path_beneath_attr attr = { .allowed_access = access };
	long fd = in->block->flags & WIRE_JOINS ? sys(openat2, AT_FDCWD, path, &how, sizeof(how))
						: sys(openat, AT_FDCWD, path, O_PATH | O_CLOEXEC, 0);
	long ret;

	if (fd < 0)
		return fd;
	attr.parent_fd = (int)fd;
	ret = sys(landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &attr, 0);
	sys(close, fd);
	return ret;
}

/*
 * The second layer: whatever the mounts say, nothing is written outside the writable trees of the plan, no abstract
 * socket and no process outside is reached. Reading is not handled: the root holds nothing that may not be read. Nor is
 * TCP: the network namespace has no route, and its ENETUNREACH is counted by the kernel, which is how a run that failed for
 * want of a network is told from others; Landlock would answer first, with EACCES, uncounted.
 */
static long step_landlock(struct inside *in)
{
	const uint32_t *trees = WIRE_AT(in->block, in->block->writable, const uint32_t);
	const uint32_t abi = in->block->landlock_abi;
	const uint64_t make = LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
			      LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR |
			      LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
			      LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
			      LANDLOCK_ACCESS_FS_MAKE_SYM | (abi >= 2 ? LANDLOCK_ACCESS_FS_REFER : 0);
	const uint64_t on_file =
	    LANDLOCK_ACCESS_FS_WRITE_FILE | (abi >= 3 ? FS_TRUNCATE : 0) | (abi >= 5 ? FS_IOCTL_DEV : 0);
	struct ruleset_attr attr = { .handled_access_fs = make | on_file };
	size_t size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
	long ruleset;
	long ret = 0;

	if (!abi)
		return 0;
	if (abi >= 6)
		attr.scoped = SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL;
	ruleset = sys(landlock_create_ruleset, &attr, size, 0);
	if (ruleset < 0)
		return ruleset;
	in->what = "/dev";
	ret = add_rule(in, (int)ruleset, "/dev", on_file);
	for (uint32_t i = 0; i < in->block->writable_count && ret == 0; i++) {
		in->what = WIRE_AT(in->block, trees[i], char);
		ret = add_rule(in, (int)ruleset, in->what, make | on_file);
		/* A single file takes only the rights that files have. */
		if (ret == -EINVAL_)
			ret = add_rule(in, (int)ruleset, in->what, on_file);
	}
	if (ret == 0)
		ret = sys(landlock_restrict_self, ruleset, 0);
	sys(close, ruleset);
	if (ret == 0)
		in->applied |= 1ull << WIRE_STEP_LANDLOCK;
	return ret;
}

static long step_seccomp(struct inside *in)
{
	/* Empty only where the policy merely prefers a filter and the kernel has none. */
	struct sock_fprog program = { .len = (unsigned short)in->block->filter_count,
				      .filter = WIRE_AT(in->block, in->block->filter, struct sock_filter) };

	return program.len ? sys(seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) : 0;
}

static const struct step {
	enum wire_step id;
	bool bare; /* also where nothing is restricted */
	long (*run)(struct inside *in);
} steps[] = {
	{ WIRE_STEP_STDIO, true, step_stdio },
	{ WIRE_STEP_RLIMITS, false, step_rlimits },
	{ WIRE_STEP_AFFINITY, false, step_affinity },
	{ WIRE_STEP_IDENTITY, false, step_identity },
	{ WIRE_STEP_CWD, true, step_own_cwd },
	{ WIRE_STEP_PRIVILEGES, false, step_privileges },
	{ WIRE_STEP_CWD, true, step_shared_cwd },
	{ WIRE_STEP_TERMINAL, false, step_terminal },
	{ WIRE_STEP_SPECULATION, false, step_speculation },
	{ WIRE_STEP_LANDLOCK, false, step_landlock },
	{ WIRE_STEP_SECCOMP, false, step_seccomp },
};

/* The host would wait in vain for what was not sent. */
static void tell(const struct wire_message *message)
{
	if (sys(write, WIRE_FD_EXEC, message, sizeof(*message)) != sizeof(*message))
		sys(exit_group, 125);
}

/* The word to go of a parked jail, and what comes with it. Its pages are touched only then. */
static char go_message[WIRE_GO_BYTES] __attribute__((aligned(8)));

static const struct wire_go *parked_go(void)
{
	return (const struct wire_go *)(const void *)go_message;
}

/* The descriptors come in ascending order of their numbers-to-be, and the kernel gave them free numbers, so that none is overwritten
 * before its turn. As they came, they do not outlive the exec. */
static bool place_fds(const int *fds, size_t count)
{
	size_t next = 0;

	for (int number = 0; number <= WIRE_FD_PROGRESS; number++) {
		if (!(parked_go()->fds & (1u << number)))
			continue;
		if (next == count || sys(dup3, fds[next++], number, 0) < 0)
			return false;
	}
	return next == count;
}

static bool receive_parked_go(void)
{
	int fds[WIRE_GO_FDS];
	size_t count = 0;
	const long got =
	    message_receive(WIRE_FD_EXEC, go_message, sizeof(go_message), fds, WIRE_GO_FDS, &count);

	return got >= (long)sizeof(struct wire_go) && parked_go()->message.type == WIRE_GO &&
	       parked_go()->size == (uint32_t)got && place_fds(fds, count);
}

/* Tell the host, and wait for its word while watching that it lives. */
static void wait_for_go(struct inside *in)
{
	struct wire_message message = { .type = WIRE_READY, .applied = in->applied };
	struct pollfd fds[2] = { { .fd = WIRE_FD_EXEC, .events = POLLIN },
				 { .fd = WIRE_FD_SUPERVISOR, .events = POLLIN } };
	char passed;

	/* End of file: init failed to give up its privileges, and says so. */
	if (sys(read, WIRE_FD_CONTROL, &passed, 1) != 1)
		sys(exit_group, 125);
	tell(&message);
	for (;;) {
		if (sys(ppoll, fds, 2, 0, 0, 0) < 0)
			continue; /* interrupted */
		if (fds[0].revents)
			break;
		if (fds[1].revents)
			sys(exit_group, 125);
	}
	if (in->block->flags & WIRE_PARKED) {
		if (!receive_parked_go())
			sys(exit_group, 125);
		return;
	}
	if (sys(read, WIRE_FD_EXEC, &message, sizeof(message)) != sizeof(message) || message.type != WIRE_GO)
		sys(exit_group, 125);
}

/* A name without '/' is searched in the PATH inside: EACCES is remembered, ENOENT is passed over. Unlike execvp(3), an empty
 * element of PATH is skipped, and a file of no known format is not given to a shell. */
static long execute(const char *dir, char **argv, char **envp)
{
	const char *name = argv[0];
	char path[4096];
	long ret = -ENOENT_;
	size_t len = 0;

	while (name[len] && name[len] != '/')
		len++;
	if (name[len] == '/')
		return sys(execve, name, argv, envp);
	while (*dir && len) {
		size_t n = 0;
		long one;

		while (*dir && *dir != ':' && n < sizeof(path) - 1)
			path[n++] = *dir++;
		while (*dir && *dir != ':')
			dir++;
		if (*dir == ':')
			dir++;
		if (n == 0 || n + len + 2 > sizeof(path))
			continue;
		path[n++] = '/';
		for (size_t i = 0; i <= len; i++)
			path[n + i] = name[i];
		one = sys(execve, path, argv, envp);
		if (one != -ENOENT_ && one != -ENOTDIR_) {
			ret = one;
			if (one != -EACCES_)
				break;
		}
	}
	return ret;
}

/* Offsets become pointers in our private copy. */
static char **pointers(void *block, uint32_t offset)
{
	uint64_t *rows = WIRE_AT(block, offset, uint64_t);

	for (size_t i = 0; rows[i]; i++)
		rows[i] = (uint64_t)(uintptr_t)WIRE_AT(block, rows[i], char);
	return (char **)(void *)rows;
}

/* Until the supervisor's end of the socket is gone, or init, whose death is everybody's. By calls that every filter lets pass. */
static _Noreturn void hold(void)
{
	struct wire_message message;

	while (sys(read, WIRE_FD_EXEC, &message, sizeof(message)) != 0)
		;
	sys(exit_group, 0);
	__builtin_unreachable();
}

void payload_restrict(struct inside *in)
{
	struct wire_message message = { .type = WIRE_BORN };
	long ret;

	tell(&message);
	for (size_t i = 0; i < ARRAY_LENGTH(steps); i++) {
		in->what = "";
		if (!steps[i].bare && (in->block->flags & WIRE_BARE))
			continue;
		ret = inside_made_to_fail(in, steps[i].id, steps[i].run(in));
		if (ret < 0)
			inside_fail(in, WIRE_FD_EXEC, steps[i].id, ret, in->what);
	}
	wait_for_go(in);
	message.type = WIRE_ENTERING;
	tell(&message);
	/* The gate, the host's socket, the supervisor, and the descriptors as they came. */
	for (int fd = WIRE_FD_RESULT; in->block->flags & WIRE_FORKED && fd < WIRE_FD_FIRST + WIRE_GO_FDS;
	     fd++)
		if (fd > WIRE_FD_PROGRESS || !(parked_go()->fds & (1u << fd)))
			sys(close, fd);
}

_Noreturn void payload_main(struct inside *in)
{
	struct wire_message message = { .type = WIRE_NO_EXEC, .step = WIRE_STEP_EXEC };
	const bool parked = in->block->flags & WIRE_PARKED;
	void *words = parked ? (void *)go_message : (void *)in->block;
	uint32_t search_path = in->block->search_path;
	uint32_t argv = in->block->argv;
	uint32_t envp = in->block->envp;
	long ret;

	payload_restrict(in);
	if (parked) {
		search_path = parked_go()->search_path;
		argv = parked_go()->argv;
		envp = parked_go()->envp;
	}
	if (in->block->flags & WIRE_HOLDS)
		hold();
	ret = execute(search_path ? WIRE_AT(words, search_path, char) : "", pointers(words, argv),
		      pointers(words, envp));
	message.error = (int32_t)-ret;
	sys(write, WIRE_FD_EXEC, &message, sizeof(message));
	sys(exit_group, 126);
	__builtin_unreachable();
}
