/*
 * accounts: what a jail's user namespace may use up of what the kernel counts per user and namespace. No libc: compiled for the init of an
 * ordinary user's jail, and for the helper in which root makes a user namespace.
 */
#ifndef WARDER_JAIL_INSIDE_ACCOUNTS_H
#define WARDER_JAIL_INSIDE_ACCOUNTS_H

#include <stdbool.h>

#define ACCOUNTS_PATH  "/proc/sys/user"
#define ACCOUNTS_FORKS 100 /* jails of one zygote that may live at once */

/* Who may make namespaces in there. */
enum accounts_makers {
	ACCOUNTS_NOBODY,
	ACCOUNTS_INIT,   /* of a session, for executions */
	ACCOUNTS_ZYGOTE, /* all that a jail has, ACCOUNTS_FORKS times */
};

/* Write every limit of the caller's user namespace, and read it back. directory_fd: the host's ACCOUNTS_PATH, which shows each process the
 * files of its own namespace. *ret_counts_all becomes false if this kernel
 * counts something only per user of the host; *ret_what is the file in question. 0, or a negative errno. */
long accounts_limit(int directory_fd, enum accounts_makers makers, bool *ret_counts_all,
		    const char **ret_what);

#endif
