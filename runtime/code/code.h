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
#include "runtime/library/library.h"
#include "runtime/warder.h"

/* The operator's document of more languages, where none is named. */
#define CODE_LANGUAGES "/etc/warder/languages.json"

/* The canonical name of a piece of code's language, and how it was found out: by the hint (a name or an alias), else by what is
 * certain. Lives as long as the list. -1 with *err (UNSUPPORTED_LANGUAGE). */
int code_language(const struct languages *languages, const struct warder_code *code, const char **ret_name,
		  const char **ret_found_by, struct warder_error *err);
/* A flag of warder_build() besides the public ones: build it and no more, for code_prepare(). */
#define CODE_BUILD_ONLY 0x10000u
/* Another one: do not make it ready to be called yet, unless it had to be compiled. code_prepare() does that, if code_is_prepared() says no. */
#define CODE_PREPARE_LATER 0x20000u
/* Another one, in a session: the keeper is to launch it, see code_order_in_session(). */
#define CODE_FOR_KEEPER 0x40000u
bool code_is_prepared(const struct warder_program *program);
/* Make what was so built ready to be called, under a policy that may have other limits than that of the build; or ready again, under another
 * one. Templates belong to the process that made them: in a process that was forked since, once. -1 with *err: it is not ready. */
int code_prepare(struct warder_program *program, const struct warder_policy *policy,
		 const struct warder_options *options, struct warder_error *err);
/* The same without getting it ready: only what the run asks for, which code_order() tells. */
int code_derive(struct warder_program *program, const struct warder_policy *policy, struct warder_error *err);

/* 0 with *ret, to be given to code_order_done(); 1 with the reason: only this process can run it; -1 with *err. The program is not prepared; what the
 * call borrows is borrowed until the end. */
int code_order(struct warder_program *program, const struct warder_call *call, struct library_order *ret,
	       const char **ret_why, struct warder_error *err);
/* The same of a program that was built with CODE_FOR_KEEPER. -1 with *err. */
int code_order_in_session(struct warder_program *program, const struct warder_call *call,
			  struct library_order *ret, struct warder_error *err);
/* Take the files that such a run has left out of its session's /tmp, if the call saves or holds them; tmp_fd -1: they cannot be had, and the
 * result says so. */
void code_order_collect(const struct library_order *order, int tmp_fd, struct warder_result *result);
/* Add to the result of such a run what the result of warder_call() has. -1 with *err. */
int code_order_finish(const struct library_order *order, struct warder_result *result,
		      struct warder_error *err);
void code_order_done(struct library_order *order);
/* `path`, or that document if there is one, or NULL: for languages_load(). */
const char *code_languages_path(const char *path);

#endif
