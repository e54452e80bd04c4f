/*
 * agent: what the front and the agent of a sandbox say to each other.
 *
 * The front gets one end of a stream socket for each call, through the sandbox's keeper (RECORD_AGENT). It writes one struct agent_request with
 * a path behind it. The agent answers with records, each a struct agent_head and so many bytes:
 *
 *   AGENT_STAT, AGENT_LIST    any number of ENTRY, then END
 *   AGENT_READ                SIZE, any number of BYTES, then END
 *   AGENT_WATCH               BEGUN, then EVENT whenever something happens, until the front hangs up
 *   AGENT_SPACE               SPACE_LEFT, then END
 *   AGENT_WATCHER_NEW         NAME, of a watcher that stays; then END
 *   AGENT_WATCHER_READ        any number of EVENT, those since the last such call; then END
 *   AGENT_WATCHER_END         END
 *   AGENT_PORT                BEGUN, and then no records any more: bytes pass both ways between the front and a server in the sandbox, which
 *                             listens at the port `depth` of 127.0.0.1 or ::1; either side ends its direction with a shutdown
 *
 * FAILED may come in the place of any record, and is the last one. The agent is a program of the sandbox: whatever it says is to be checked, and is
 * the word of the sandbox and nobody else's.
 */
#ifndef WARDER_HOST_AGENT_H
#define WARDER_HOST_AGENT_H

#include <stdint.h>

#define AGENT_MAGIC       0x544e4741u
#define AGENT_PATH_MAX    4096u  /* bytes of the path of a request */
#define AGENT_BODY_MAX    16384u /* bytes of a record behind its head */
#define AGENT_WATCHES_MAX 1024   /* directories that all watchers of a sandbox watch together */
#define AGENT_PORTS_MAX   48     /* connections of AGENT_PORT at a time */

enum agent_call {
	AGENT_STAT = 1,
	AGENT_LIST,
	AGENT_READ,
	AGENT_SPACE,
	AGENT_WATCH,
	AGENT_WATCHER_NEW,
	AGENT_WATCHER_READ,
	AGENT_WATCHER_END,
	AGENT_PORT,
	AGENT_CALLS,
};

enum agent_flag {
	AGENT_RECURSIVE = 1, /* of WATCH, WATCHER_NEW: the directories below, too */
	AGENT_ENTRIES = 2,   /* there: events have entries */
};

struct agent_request {
	uint32_t magic, call;
	uint32_t flags, depth; /* depth: of LIST, at least 1; of PORT, its number */
	uint32_t len;          /* of the path, or of the name of a watcher */
};

enum agent_say {
	AGENT_ENTRY = 1, /* struct agent_entry */
	AGENT_SIZE,      /* uint64_t */
	AGENT_BYTES,
	AGENT_BEGUN,
	AGENT_NAME,       /* text */
	AGENT_EVENT,      /* struct agent_event */
	AGENT_SPACE_LEFT, /* struct agent_space */
	AGENT_END,
	AGENT_FAILED, /* struct agent_failed */
	AGENT_SAYS,
};

struct agent_head {
	uint32_t type, len;
};

/* Bytes of the file system that has the path. */
struct agent_space {
	uint64_t total, used;
};

/* Then four texts, each with its NUL: path, owner, group, target of a link. */
struct agent_entry {
	uint64_t size;
	int64_t modified_s;
	uint32_t modified_ns;
	uint32_t mode;    /* of the link itself, where it is one */
	uint32_t type;    /* enum agent_type, of the link's target */
	uint32_t is_link; /* 1 */
};

enum agent_type { AGENT_TYPE_OTHER, AGENT_TYPE_FILE, AGENT_TYPE_DIRECTORY };

enum agent_change {
	AGENT_CREATED,
	AGENT_WRITTEN,
	AGENT_REMOVED,
	AGENT_RENAMED,
	AGENT_MODE,
	AGENT_CHANGES,
};

/* Then the name, relative to the directory that is watched, with its NUL, and with has_entry a struct agent_entry as above. */
struct agent_event {
	uint32_t change, has_entry;
};

/* Why a call failed: also the exit status of the scripts that write files. */
enum agent_status {
	AGENT_NOT_FOUND = 40,
	AGENT_IS_DIRECTORY,
	AGENT_NOT_REGULAR,
	AGENT_DENIED,
	AGENT_EXISTS,
	AGENT_NOT_DIRECTORY,
	AGENT_NO_WATCHER,
	AGENT_TOO_MANY,  /* watches, watchers, or calls at a time */
	AGENT_LOST,      /* events were lost: the watcher has ended */
	AGENT_NO_SERVER, /* nobody listens at the port */
	AGENT_OTHER,
};

/* Then a text without a NUL, which may be empty. */
struct agent_failed {
	uint32_t status;
};

#endif
