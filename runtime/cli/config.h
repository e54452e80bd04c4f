/*
 * config: the user's file of defaults, whose flags come before those of the command line. Private to cli/.
 *
 * Life: config_load() reads the file and keeps the flags that hold for one command -> args_parse() and args_load()
 * take them -> config_free(). Root has no such file.
 */
#ifndef WARDER_RUNTIME_CLI_CONFIG_H
#define WARDER_RUNTIME_CLI_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/json.h"
#include "runtime/cli/given.h"

struct config_flag {
	const struct flag *flag;
	const char *value;                 /* NULL: the flag takes none */
	const struct json_value *document; /* the value in the file */
	char member[96];                   /* "flags.run.prefer[1]" */
	bool overruled;                    /* by a word that is no flag */
};

struct config {
	char *path;
	struct json_value *document; /* owned */
	struct config_flag *flags;   /* in the order in which they apply */
	size_t count;
};

/* Read $XDG_CONFIG_HOME/warder/config.json, or $HOME/.config/warder/config.json, and take the flags for `command` (one bit
 * of enum flag_command) that *given, the command line, does not give. *ret is NULL for root, for a command that has no
 * defaults, and without a file. -1 with *err (INVALID_REQUEST) if the file is unsafe or wrong. */
int config_load(unsigned command, struct given *given, struct config **ret, struct warder_error *err);
/* Put file, member and value before the text of an error about one flag. Returns -1. */
int config_blame(const struct config *config, const struct config_flag *row, struct warder_error *err);
/* The same for the flag of that name ("--preset"), if the file gives it. Returns -1. */
int config_blame_flag(const struct config *config, const char *name, struct warder_error *err);
/* The same for an error about a field of the policy, if a flag of the file sets it. *err may name the file already. */
void config_blame_field(const struct config *config, struct warder_error *err);
/* Whether the file chose the policy to start from; not any more if a word that is no flag does, so that `word` is not NULL. */
bool config_overrule_base(struct config *config, const char *word);
/* Leave out the flags that change fields of the policy: the command line names a document, which holds as it is written. */
void config_leave_policy(struct config *config);
/* {"path": ..., "flags": ["--preset", ...]}, each flag once. */
void config_write(const struct config *config, struct json_writer *w);
/* The same as the member "config" of the object that is open; nothing for NULL. */
void config_write_member(const struct config *config, struct json_writer *w);
/* The names of the flags with spaces between them, cut to fit; "" if there is none. Returns buf. */
char *config_names(const struct config *config, char *buf, size_t size);
void config_free(struct config *config); /* NULL is fine */

#endif
