/*
 * program: a piece of code on its way: what was found out about it, what was built, and the template that runs it. Private to
 * code/.
 *
 * Life: warder_build() fills it stage by stage -> warder_call() makes a struct call for each run, which holds the program ->
 * the last of caller and runs frees it.
 */
#ifndef WARDER_RUNTIME_CODE_PROGRAM_H
#define WARDER_RUNTIME_CODE_PROGRAM_H

#include <limits.h>
#include <stdatomic.h>

#include "runtime/code/cache.h"
#include "runtime/code/diagnostics/diagnostics.h"
#include "runtime/code/harness.h"
#include "runtime/code/languages.h"
#include "runtime/code/scratch.h"
#include "runtime/library/result.h"
#include "runtime/warder.h"

#define PROGRAM_BOX     "box" /* below /tmp: the source, the caller's files, and where the program works */
#define PROGRAM_SUPPORT "support" /* below /tmp: files of the language's row */
#define PROGRAM_OUT     "out"     /* below /tmp, during a build */

/* The descriptors of result, input and progress inside, and the environment variables that name them. */
#define PROGRAM_RESULT_FD   3
#define PROGRAM_INPUT_FD    4
#define PROGRAM_PROGRESS_FD 5
#define PROGRAM_RESULT      "WARDER_RESULT"
#define PROGRAM_INPUT       "WARDER_INPUT"
#define PROGRAM_PROGRESS    "WARDER_PROGRESS"

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
	uint64_t code_bytes;  /* of the source */
	bool function;        /* the source is called by the harness */
	struct harness harness;
	bool in_box; /* the working directory is where the source is */
	bool bare;   /* the backend has no root: each stage and run has a struct scratch for its /tmp */
	bool
	    in_session; /* its runs join a session: each has a directory of its own below the session's /tmp */
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
/* Where a stage or run finds its files. */
struct program_paths {
	char tmp[SCRATCH_PATH_BYTES]; /* "/tmp", which PROGRAM_BOX and the others lie below */
	char box[SCRATCH_PATH_BYTES + 16];
	char out[PATH_MAX]; /* the directory of what is built, or was */
};
/* tmp: the directory in the place of the jail's /tmp; NULL: /tmp itself. */
void program_find_paths(const struct warder_program *program, enum language_stage stage, const char *tmp,
			struct program_paths *ret);
/* The arguments of a stage, with everything put in that stands for something. Heap, program_free_list(). NULL without memory. */
char **program_argv(const struct warder_program *program, enum language_stage stage,
		    const struct program_paths *paths, char *const *args);
/* Whether the policy itself gives the program this variable. */
bool program_sets(const struct policy *policy, const char *name, size_t len);
/* Variables over those of `policy` (of the stage): what names /tmp there is to name the scratch directory. Nothing where there is
 * none. Heap, program_free_list(). NULL without memory. */
char **program_environment(const struct warder_program *program, const struct policy *policy,
			   const struct program_paths *paths);
void program_free_list(char **list);
/* What the language's run is for a policy. */
struct policy_subject program_subject(const struct language *language);
void program_hold(struct warder_program *program);

#endif
