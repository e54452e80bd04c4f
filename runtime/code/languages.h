/*
 * languages: which languages there are, as one table, and what of them a view has. Private to code/.
 *
 * A language is a row: names, the file that the source becomes, up to three command lines (check, build, run), an
 * environment. Rows come from the table in languages.c and from a
 * document of the operator's; a row of the document goes before one of the table. Several rows of one name are
 * alternatives, in order: the first whose programs are there is taken. A language without any is unavailable, with the
 * reason; it is never replaced by another one.
 *
 * In command lines and environments these stand for: {source} the source's path inside, {out} the directory of what the build
 * made, {support} the directory of the row's support files, {name} the source's file name without its extension, {code} the
 * source's text, {memory} the policy's memory limit in bytes, {heap} half of it in MiB, {pages} all of it in pages of 64 KiB, {stack} what of its stack limit
 * an engine may use, in KiB, {optimize} -O (nothing around a function); an element {args} becomes the caller's arguments,
 * {directories} a --dir=PATH for each directory that the policy grants. An element in which {memory}, {heap}, {pages}, {stack} or {optimize}
 * has no value is left out.
 *
 * Life: languages_load() -> language_find(), language_resolve() -> languages_free(). Rows live as long as their list.
 */
#ifndef WARDER_RUNTIME_CODE_LANGUAGES_H
#define WARDER_RUNTIME_CODE_LANGUAGES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "policy/policy.h"
#include "runtime/code/diagnostics/diagnostics.h"
#include "runtime/code/diagnostics/syntax.h"

enum language_stage { LANGUAGE_CHECK, LANGUAGE_BUILD, LANGUAGE_RUN, LANGUAGE_STAGES };
#define LANGUAGE_BIT(stage) (1u << (stage))

/* What the source's file is called: by the row, or by what the source declares. */
enum language_naming { LANGUAGE_NAMING_FIXED, LANGUAGE_NAMING_JAVA };

struct language {
	const char *name;
	const char *aliases; /* separated by blanks; "" for none */
	const char *file;    /* "main.py" */
	enum language_naming naming;
	const char *const
	    *stages[LANGUAGE_STAGES]; /* argv, NULL-terminated; NULL: no such stage. run is always there. */
	unsigned int spawns; /* LANGUAGE_BIT()s of the stages that cannot do without processes.spawn */
	bool check_first;    /* the check belongs to every run, not only to those that ask for it */
	enum diagnostics_format diagnostics; /* how check and build tell what they found, on standard error */
	bool tells_on_stdout;                /* and on standard output */
	enum syntax_form syntax;             /* how its interpreter refuses a source, also at the run */
	const char *const *environment;      /* "NAME=value" of every stage; NULL: none */
	const char *const *build_environment; /* of check and build alone; NULL: none */
	const char *const *defaults; /* policy path, value, ...: over the default preset; NULL: none */
	const char *const *support;  /* file name, text, ...; NULL: none */
	bool is_engine;    /* a guest module is run by the host of wasi.h, which tells how it ended */
	const char *image; /* of the official ones at Docker Hub, by `warder image ensure`; NULL: none */
	const char *descriptors; /* what it opens descriptor 3 by, but for the number; NULL: "/dev/fd/" */
};

struct languages;

/* `path`: a document {"languages": [...]}; NULL: only the table. -1 with *err: file, line, field. */
int languages_load(const char *path, struct languages **ret, struct warder_error *err);
/* The same, of a document of `len` bytes; `origin` names it in errors. */
int languages_parse(const char *text, size_t len, const char *origin, struct languages **ret,
		    struct warder_error *err);
void languages_free(struct languages *languages);
/* Row i, those of the document first; NULL past the end. */
const struct language *languages_at(const struct languages *languages, size_t i);
/* The canonical name of a name or an alias, in any case; NULL: there is no such language. */
const char *languages_canonical(const struct languages *languages, const char *name);
/* -1 with *err: there is no language of that name. */
int languages_refuse(const struct languages *languages, const char *name, struct warder_error *err);
/* Whether a policy's list names but languages of these. -1 with *err. */
int languages_check(const struct languages *languages, const struct policy *policy, struct warder_error *err);
/* The same, of the document at `path` (or NULL), which is read only where a name is not of the table. */
int languages_check_by(const char *path, const struct policy *policy, struct warder_error *err);
/* What the row of that name or alias sets over the default preset; NULL: nothing. */
const char *const *languages_defaults(const struct languages *languages, const char *name);
/* The first row of that name or alias whose programs the policy's view has, and *ret_programs[stage] the absolute path inside
 * of each stage's program (heap, or NULL without the stage). -1 with *err (UNSUPPORTED_LANGUAGE): why each row is not there. */
int language_resolve(const struct languages *languages, const char *name, const struct policy *policy,
		     const struct language **ret, char *ret_programs[LANGUAGE_STAGES],
		     struct warder_error *err);

#endif
