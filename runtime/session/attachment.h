/*
 * attachment: what a process holds while it runs programs in a session: a connection to the keeper, which counts the session as in use, and
 * the descriptors of the session's namespaces. Private to session/.
 */
#ifndef WARDER_RUNTIME_SESSION_ATTACHMENT_H
#define WARDER_RUNTIME_SESSION_ATTACHMENT_H

#include "runtime/session/session.h"

struct warder_session {
	struct session_spec spec;
	char *description;
	bool for_files;       /* session_use_for_files() */
	struct remote *owner; /* the connection by which a program can be started, or NULL */
};

/* What goes with a template: the connection keeps the session in use, and the keeper's last word comes by it. */
struct attachment {
	int fd;
	struct jail_joint joint;
	char *root; /* what is mounted there */
};

/* Join (SESSION_JOIN), or keep the files as they are (SESSION_COPY). The caller's, for session_detach(). NULL with *err. */
struct attachment *session_attach(const struct session_spec *spec, enum session_request_type how,
				  struct warder_error *err);
/* Leave; of a struct attachment. */
void session_detach(void *owner);

#endif
