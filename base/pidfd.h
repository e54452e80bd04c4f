/*
 * pidfd: descriptors of processes. Any thread.
 */
#ifndef WARDER_BASE_PIDFD_H
#define WARDER_BASE_PIDFD_H

/* The number that its process has here, by ioctl_pidfd(2) or, before Linux 6.13, from /proc/self/fdinfo; 0 where it has none in this pid namespace. -1: it is dead and reaped, or
 * /proc does not tell. */
int pidfd_number(int pidfd);

#endif
