/*
 * recipe: how an image is built, line by line: the common part of what Dockerfiles are written in. Pure; hostile bytes. Private to
 * store/images/.
 *
 * Life: recipe_parse() -> the steps in their order, their words expanded with recipe_expand() when what stands before them is
 * known -> recipe_done(). What is not known here is refused with its line and a remedy; nothing is left out silently.
 */
#ifndef WARDER_STORE_IMAGES_RECIPE_H
#define WARDER_STORE_IMAGES_RECIPE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define RECIPE_BYTES    ((size_t)1 << 20)
#define RECIPE_STEPS    1000
#define RECIPE_WORDS    1024
#define RECIPE_EXPANDED ((size_t)64 * 1024) /* bytes of a word with what its variables stand for */

enum recipe_kind {
	RECIPE_FROM,
	RECIPE_RUN,
	RECIPE_COPY,
	RECIPE_ADD,
	RECIPE_ENV,
	RECIPE_WORKDIR,
	RECIPE_USER,
	RECIPE_CMD,
	RECIPE_ENTRYPOINT,
	RECIPE_ARG,
	RECIPE_LABEL,
	RECIPE_SHELL,
	RECIPE_NOTE, /* EXPOSE, MAINTAINER: says something to people, and does nothing */
};

struct recipe_step {
	enum recipe_kind kind;
	int line;     /* on which it begins, from 1 */
	char **flags; /* "--chown=0:0", NULL-terminated */
	bool json;    /* words are those of a JSON list, and are not expanded */
	char **words; /* NULL-terminated; of RUN, CMD and ENTRYPOINT without JSON: one, the text */
	char *text;   /* as it was written, on one line, for people */
};

struct recipe {
	struct recipe_step *steps;
	size_t count;
};

/* -1 with *err (INVALID_REQUEST), text "origin:line: what is wrong; remedy". */
int recipe_parse(const char *text, size_t len, const char *origin, struct recipe *ret,
		 struct warder_error *err);
void recipe_done(struct recipe *recipe);

/* "FROM", ... */
const char *recipe_word(enum recipe_kind kind);
/* The value of a step's flag "--name=value", or NULL. */
const char *recipe_flag(const struct recipe_step *step, const char *name);

/* Take quotes and backslashes out of a word, and put the values of $NAME, ${NAME}, ${NAME:-word} and ${NAME:+word} in; what `value` does not
 * know (NULL) is empty. *ret is heap. -1 with *err, without a line. */
int recipe_expand(const char *word, const char *(*value)(void *context, const char *name), void *context,
		  char **ret, struct warder_error *err);

#endif
