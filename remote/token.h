/*
 * token: the secret of a file that only its owner can read. Private to remote/.
 */
#ifndef WARDER_REMOTE_TOKEN_H
#define WARDER_REMOTE_TOKEN_H

#include "base/error.h"
#include "remote/remote.h"

/* Read the token: one line of visible characters, in a regular file (no link) of this user's or root's, with the mode 0600 or 0400.
 * -1 with *err (REJECTED, INVALID_REQUEST), which names the file and never its content. */
int token_read(const char *path, char ret[REMOTE_TOKEN_MAX], struct warder_error *err);
/* The same from a text of the environment. -1 with *err (INVALID_REQUEST). */
int token_take(const char *text, char ret[REMOTE_TOKEN_MAX], struct warder_error *err);

#endif
