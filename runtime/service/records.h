/*
 * records: the messages between client and service, except the request. Private to runtime/service/.
 */
#ifndef WARDER_RUNTIME_SERVICE_RECORDS_H
#define WARDER_RUNTIME_SERVICE_RECORDS_H

#include "runtime/service/service.h"

#define SERVICE_MAGIC     0x56535257u
#define SERVICE_FDS_MAX   5
#define SERVICE_WORDS_MAX (UINT64_C(16) << 20) /* bytes of a memory file; a caller with more works alone */

enum service_answer_type {
	SERVICE_ACCEPTED, /* from now on the client waits without a limit */
	SERVICE_NO,       /* why; nothing has run */
	SERVICE_ENDED,    /* with the memory file of its result */
};

struct service_answer {
	uint32_t magic, type;
	char why[SERVICE_WHY];
};

/* The reason for the client that finds the service changed, and why the service ends then. Takes the name of the condition. */
#define SERVICE_CHANGED "the %s of the service was changed after its start"
/* What differs between two texts of /proc/PID, in words for the user; or NULL. */
const char *service_text_difference(enum service_text which, const char *theirs, const char *ours);

/* Client to service, while the program runs. */
struct service_signal {
	uint32_t magic;
	int32_t signal;
	uint64_t grace_us;
};

#endif
