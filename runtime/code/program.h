/*
 * program: a piece of code on its way: what was found out about it, what was built, and the template that runs it. Private to
 * code/.
 *
 * Life: warder_build() fills it stage by stage -> warder_call() makes a struct call for each run, which holds the program ->
 * the last of caller and runs frees it.
 */
#ifndef WARDER_RUNTIME_CODE_PROGRAM_H
#define WARDER_RUNTIME_CODE_PROGRAM_H

#include <stdatomic.h>

#include "runtime/code/cache.h"
#include "runtime/code/diagnostics.h"
#include "runtime/code/languages.h"
#include "runtime/result.h"
#include "runtime/warder.h"

#define PROGRAM_BOX     "box" /* below /tmp: the source, the caller's files, and where the program works */
#define PROGRAM_SUPPORT "support" /* below /tmp: files of the language's row */
#define PROGRAM_OUT     "out"     /* below /tmp, during a build */

/* The descriptors of result and input inside, and the environment variables that name them. */
#define PROGRAM_RESULT_FD 3
#define PROGRAM_INPUT_FD  4
#define PROGRAM_RESULT    "WARDER_RESULT"
#define PROGRAM_INPUT     "WARDER_INPUT"

struct warder_program {
	struct languages *languages;
	const struct language *language;
	const char *found_by;
	char *programs[LANGUAGE_STAGES]; /* paths inside */
	char file[256];                  /* what the source is called */
	struct rootfs_file
	    *files; /* staged in every stage: source, caller's, support; owned with their bytes */
	size_t file_count;
	struct policy policy; /* as asked for, with the language's environment: of the run */
	bool function;        /* the source is called by a harness */
	bool in_box;          /* the working directory is where the source is */
	bool single_use;
	uint64_t left_us; /* of the wall time of everything, with single_use */
	struct cache cache;
	struct cache_entry entry;
	struct warder_template *tmpl; /* NULL: it cannot be run */
	struct result_stage stages[RESULT_STAGES_MAX];
	size_t stage_count;
	char *scan;                  /* advice on the source, JSON; NULL: none was asked for */
	struct diagnostics found;    /* by the compilers */
	char *diagnostics;           /* the same as JSON; or of the cached build */
	struct warder_result *built; /* of the last stage of the build; until it is taken */
	bool failed;
	atomic_int users;
};

/* A copy of what is known so far, for a result. NULL without memory. */
struct result_code *program_report(const struct warder_program *program);
/* The arguments of a stage, with everything put in that stands for something. Heap, program_free_list(). NULL without memory.
 * `out`: the directory inside of what was built. */
char **program_argv(const struct warder_program *program, enum language_stage stage, const char *out,
		    char *const *args);
void program_free_list(char **list);
void program_hold(struct warder_program *program);

#endif
