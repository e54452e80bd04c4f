/*
 * signing: the host's key, and what it signs. Private to host/launcher/.
 *
 * The key is an Ed25519 key, made at the first start and kept in the state directory. warder-signer uses it; it is started with the
 * launcher, and again with the same key if it has died.
 *
 * Life: zeroed -> signing_open() -> signing_sign(), any thread -> signing_done().
 */
#ifndef WARDER_HOST_LAUNCHER_SIGNING_H
#define WARDER_HOST_LAUNCHER_SIGNING_H

#include <pthread.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "remote/remote.h"

struct signing {
	pthread_mutex_t lock; /* over the two that follow */
	int fd;               /* to warder-signer; or -1 */
	pid_t pid;
	int keys_fd; /* directory of the key */
	bool open;
	char key[REMOTE_KEY_TEXT]; /* the public one, from signing_open() on */
};

/* state: that of --state, or NULL. Makes the key if there is none. -1 with *err. */
int signing_open(const char *state, struct signing *ret, struct warder_error *err);
/* Add the member "signature" to an answer, a JSON object on the heap with at least one member; *answer is replaced. -1 with *err, and then
 * *answer is as it was. */
int signing_sign(struct signing *signing, const char *call, const char *request, size_t request_len,
		 char **answer, struct warder_error *err);
void signing_done(struct signing *signing);

#endif
