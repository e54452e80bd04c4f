/*
 * build: an image on its way from a recipe. Private to store/images/: build.c walks the steps, build_run.c and build_base.c do what
 * needs programs.
 */
#ifndef WARDER_STORE_IMAGES_BUILD_H
#define WARDER_STORE_IMAGES_BUILD_H

#include "store/images/layer_store.h"
#include "store/images/recipe.h"
#include "store/images/unpack.h"

struct build {
	struct images *images;
	const struct images_build *what;
	const char *origin; /* name of the recipe in messages */
	int context_fd;
	struct image *image;
	struct images_notes *notes;
	char **arguments; /* NAME=value of ARG so far, NULL-terminated; or NULL */
	char **shell;     /* of RUN, CMD and ENTRYPOINT without a list, NULL-terminated; NULL: /bin/sh -c */
	bool *used;       /* which of what->arguments an ARG has asked for */
	bool command_set; /* CMD stood in this recipe */
	struct unpack_limits limits;
	struct warder_error *err;
};

/* ---- lists.c: NULL-terminated lists of strings, or NULL for an empty one ---- */
/* Its strings. */
size_t build_length(char *const *list);
/* The value of a name in a list of NAME=value, or NULL. */
const char *build_get(char *const *list, const char *name);
/* Put NAME=value into a list, in place of an older one. -1 with *err. */
int build_set(char ***list, const char *assignment, struct warder_error *err);
/* A list of strings as a copy, NULL-terminated; NULL: no memory. */
char **build_copy(char *const *list);

/* FROM debootstrap:SUITE: a root out of Debian's packages. -1 with *err, without a line. */
int build_base(struct build *build, const struct recipe_step *step, const char *suite);
/* RUN: in the jail; what it changes becomes a layer. -1 with *err, without a line. */
int build_run(struct build *build, const struct recipe_step *step);

#endif
