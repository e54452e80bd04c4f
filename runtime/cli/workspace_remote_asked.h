/*
 * workspace_remote_asked: what a command about a workspace on another machine asks for. Private to cli/.
 *
 * Life: zeroed, with the word -> asked_take_words() -> asked_check_backend() -> asked_name_session() -> asked_open_place(). The words must exist until the end.
 */
#ifndef WARDER_RUNTIME_CLI_WORKSPACE_REMOTE_ASKED_H
#define WARDER_RUNTIME_CLI_WORKSPACE_REMOTE_ASKED_H

#include <limits.h>

#include "runtime/cli/remote_place.h"

#define ASKED_WORDS_MAX 4096

enum own_flag {
	OWN_JSON,
	OWN_FLAT,
	OWN_READ_ONLY,
	OWN_MODE,
	OWN_TO,
	OWN_CWD,
	OWN_MAX_FILES,
	OWN_MAX_FILE_SIZE,
	OWN_MAX_SIZE,
	OWN_BACKEND,
	OWN_COUNT,
};

struct asked {
	const char *word, *id;
	const char *values[OWN_COUNT];       /* of a flag without a value: its name */
	char *operands[ASKED_WORDS_MAX + 1]; /* behind the id */
	size_t operand_count;
	char *flags[ASKED_WORDS_MAX + 1]; /* of create and run: those of the session, and of the execution */
	size_t flag_count;
	char *const *program; /* behind "--"; or NULL */
	char session[SESSION_NAME_MAX + 1];
	struct remote_place place;
};

/* The first word that is neither a flag nor the value of a flag. */
char *const *asked_find_word(char *const *words);
/* The words up to `end` (NULL: all). Those that begin with "-" are flags; those of create and run go on to the session, with their values.
 * -1 with *err. */
int asked_take_words(struct asked *asked, char *const *words, char *const *end, struct warder_error *err);
/* Refuse words of which no --backend, or not the last one, names a host on another machine. -1 with *err. */
int asked_check_backend(const struct asked *asked, struct warder_error *err);
/* The name of the session that has the workspace. -1 with *err: the id is missing, or is not valid. */
int asked_name_session(struct asked *asked, struct warder_error *err);
/* The host of a workspace that exists. -1 with *err. */
int asked_open_place(struct asked *asked, struct warder_error *err);
/* Check --mode. -1 with *err. */
int asked_check_mode(const struct asked *asked, struct warder_error *err);
/* The size that a flag gives, if it was given. -1 with *err. */
int asked_take_size(const struct asked *asked, enum own_flag flag, uint64_t *ret, struct warder_error *err);
/* A path in the workspace, without "." and doubled slashes; "" only if `all`. -1 with *err: it leads out. */
int asked_take_path(const char *path, bool all, char ret[PATH_MAX], struct warder_error *err);

#endif
