/*
 * env_file: files of variables, as Docker, systemd and dotenv read them. Private to cli/.
 *
 * One NAME=VALUE a line. Blank lines and lines that begin with "#" are skipped; "export " before a name, blanks around the line and one
 * pair of quotes around the value are taken off. Nothing is expanded: no escape, no variable, no comment behind a value.
 */
#ifndef WARDER_RUNTIME_CLI_ENV_FILE_H
#define WARDER_RUNTIME_CLI_ENV_FILE_H

#include "base/error.h"

/* *ret: "NAME=value" rows, NULL-terminated, for env_file_free(). *ret_skipped: names the first line that is not NAME=VALUE, which is left
 * out; its code is 0 if there is none. -1 with *err: the file cannot be read, is larger than 1 MiB or holds a NUL; no memory. */
int env_file_read(const char *path, char ***ret, struct warder_error *ret_skipped, struct warder_error *err);
void env_file_free(char **rows); /* NULL is fine */

#endif
