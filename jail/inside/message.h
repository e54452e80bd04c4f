/*
 * message: bytes and descriptors in one message, without a libc. Private to this folder; for init, the payload, and the child that
 * prepares a template.
 */
#ifndef WARDER_JAIL_INSIDE_MESSAGE_H
#define WARDER_JAIL_INSIDE_MESSAGE_H

#include <stddef.h>

#define MESSAGE_FDS_MAX 253 /* the kernel's SCM_MAX_FD */

/* Send `len` bytes with `count` descriptors (1 to MESSAGE_FDS_MAX), which stay open here. Returns 0, or a negative errno. */
long message_send(int socket_fd, const void *data, size_t len, const int *fds, size_t count);
/* Receive one byte with descriptors, close-on-exec, into fds[MESSAGE_FDS_MAX]. Returns their number, or a negative errno; EINVAL: the
 * message has another form. */
long message_receive(int socket_fd, int *fds);

#endif
