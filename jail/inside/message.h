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
/* Receive a message of at most `size` bytes with 1 to `most` descriptors, close-on-exec, into fds[most]; `most` is at most MESSAGE_FDS_MAX. Returns
 * its bytes, with the number of descriptors in *ret_count; 0 at the end of file; or a negative errno. EINVAL: the message has another
 * form, and its descriptors stay open. */
long message_receive(int socket_fd, void *data, size_t size, int *fds, size_t most, size_t *ret_count);
/* The same for a message of one byte. Returns the number of descriptors in fds[MESSAGE_FDS_MAX], or a negative errno. */
long message_receive_fds(int socket_fd, int *fds);

#endif
