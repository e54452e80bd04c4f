/*
 * code: running a piece of code in a language. The door of this folder.
 *
 * The functions themselves are public: warder_build(), warder_call() and their kin of runtime/warder.h. Here is what the command
 * line shows of the languages.
 */
#ifndef WARDER_RUNTIME_CODE_CODE_H
#define WARDER_RUNTIME_CODE_CODE_H

#include "runtime/code/advice.h"
#include "runtime/code/describe.h"
#include "runtime/code/languages.h"
#include "runtime/code/steps.h"
#include "runtime/warder.h"

/* The operator's document of more languages, where none is named. */
#define CODE_LANGUAGES "/etc/warder/languages.json"

/* The canonical name of a piece of code's language, and how it was found out: by the hint (a name or an alias), else by what is
 * certain. Lives as long as the list. -1 with *err (UNSUPPORTED_LANGUAGE). */
int code_language(const struct languages *languages, const struct warder_code *code, const char **ret_name,
		  const char **ret_found_by, struct warder_error *err);
/* A flag of warder_build() besides the public ones: build it and no more, for code_prepare(). */
#define CODE_BUILD_ONLY 0x10000u
/* Make what was so built ready to be called, under a policy that may have other limits than that of the build: once, in this
 * process or in one that was forked from it since, for templates belong to who made them. -1 with *err. */
int code_prepare(struct warder_program *program, const struct warder_policy *policy,
		 const struct warder_options *options, struct warder_error *err);
/* `path`, or that document if there is one, or NULL: for languages_load(). */
const char *code_languages_path(const char *path);

#endif
