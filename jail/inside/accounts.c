/*
 * A program can make no namespace inside. Init of a session, and a zygote, get the namespaces that they need.
 *
 * Of what the kernel counts per user, a jail of an ordinary user gets a part of what its user has (128 instances of inotify and of fanotify, by
 * default): the counts inside are also the user's, and the limits of this namespace hold for the jail alone. The namespaces of a zygote's forks
 * lie in the zygote's, where the kernel counts what all of them have: its limits are those of ACCOUNTS_FORKS jails.
 */
#include "jail/inside/accounts.h"

#include <linux/fcntl.h>
#include <stddef.h>

#include "base/array.h"
#include "jail/inside/sys.h"

#define ENOENT_ 2
#define EINVAL_ 22

static const struct account {
	const char *file;
	unsigned int most;
	enum {
		ALWAYS,     /* every kernel has it */
		EXECUTIONS, /* the same; init of an ordinary user's session makes some for each execution */
		SINCE_5_6,  /* a kernel without it has no such namespace */
		IF_COUNTED, /* a kernel without it does not count these per user namespace: the receipt says so */
	} kind;
} accounts[] = {
	{ "max_user_namespaces", 0, ALWAYS },        { "max_mnt_namespaces", 0, EXECUTIONS },
	{ "max_pid_namespaces", 0, EXECUTIONS },     { "max_net_namespaces", 0, ALWAYS },
	{ "max_ipc_namespaces", 0, ALWAYS },         { "max_uts_namespaces", 0, ALWAYS },
	{ "max_cgroup_namespaces", 0, EXECUTIONS },  { "max_time_namespaces", 0, SINCE_5_6 },
	{ "max_inotify_instances", 16, IF_COUNTED }, { "max_inotify_watches", 8192, IF_COUNTED },
	{ "max_fanotify_groups", 16, IF_COUNTED },   { "max_fanotify_marks", 8192, IF_COUNTED },
};

static size_t print(unsigned int number, char text[16])
{
	size_t len = 1;

	for (unsigned int rest = number / 10; rest; rest /= 10)
		len++;
	for (size_t i = len; i > 0; number /= 10)
		text[--i] = (char)('0' + number % 10);
	return len;
}

/* Writes the limit and reads it back. -ENOENT: the kernel has no such account. */
static long limit_account(int directory_fd, const char *file, unsigned int number)
{
	char most[16], back[16];
	const size_t len = print(number, most);
	long fd = sys(openat, directory_fd, file, O_RDWR | O_CLOEXEC, 0);
	long ret;

	if (fd < 0)
		return fd;
	ret = sys(write, fd, most, len);
	if (ret >= 0)
		ret = (size_t)ret == len ? sys(pread64, fd, back, sizeof(back), 0) : -EINVAL_;
	sys(close, fd);
	if (ret < 0)
		return ret;
	if ((size_t)ret != len + 1 || back[len] != '\n')
		return -EINVAL_;
	for (size_t i = 0; i < len; i++)
		if (back[i] != most[i])
			return -EINVAL_;
	return 0;
}

long accounts_limit(int directory_fd, enum accounts_makers makers, bool *ret_counts_all,
		    const char **ret_what)
{
	*ret_counts_all = true;
	for (size_t i = 0; i < ARRAY_LENGTH(accounts); i++) {
		const struct account *account = &accounts[i];
		const bool makes = (makers == ACCOUNTS_INIT && account->kind == EXECUTIONS) ||
				   (makers == ACCOUNTS_ZYGOTE && account->kind != IF_COUNTED);
		const unsigned int jails = makers == ACCOUNTS_ZYGOTE ? ACCOUNTS_FORKS : 1;
		const unsigned int most = makes ? 1024 : account->most * jails;
		long ret;

		*ret_what = account->file;
		ret = limit_account(directory_fd, account->file, most);
		if (ret == -ENOENT_ && account->kind == IF_COUNTED)
			*ret_counts_all = false;
		else if (ret < 0 && !(ret == -ENOENT_ && account->kind == SINCE_5_6))
			return ret;
	}
	return 0;
}
