/*
 * session_remote_files: the files of a session on another machine. Private to cli/.
 */
#ifndef WARDER_RUNTIME_CLI_SESSION_REMOTE_FILES_H
#define WARDER_RUNTIME_CLI_SESSION_REMOTE_FILES_H

#include "runtime/cli/flags.h"

/* The words read, write and list of such a session. They return the exit status. */
int session_remote_read_word(struct args *outer, const char *name, char **flags);
int session_remote_write_word(struct args *outer, const char *name, char **flags);
int session_remote_list_word(struct args *outer, const char *name, char **flags);

#endif
