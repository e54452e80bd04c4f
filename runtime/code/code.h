/*
 * code: running a piece of code in a language. The door of this folder.
 *
 * The functions themselves are public: warder_build(), warder_call() and their kin of runtime/warder.h. Here is what the command
 * line shows of the languages.
 */
#ifndef WARDER_RUNTIME_CODE_CODE_H
#define WARDER_RUNTIME_CODE_CODE_H

#include "runtime/code/advice.h"
#include "runtime/code/languages.h"
#include "runtime/warder.h"

/* The operator's document of more languages, where none is named. */
#define CODE_LANGUAGES "/etc/warder/languages.json"

/* The canonical name of a piece of code's language, and how it was found out: by the hint (a name or an alias), else by what is
 * certain. Lives as long as the list. -1 with *err (UNSUPPORTED_LANGUAGE). */
int code_language(const struct languages *languages, const struct warder_code *code, const char **ret_name,
		  const char **ret_found_by, struct warder_error *err);
/* `path`, or that document if there is one, or NULL: for languages_load(). */
const char *code_languages_path(const char *path);

#endif
