/*
 * interpreters: programs that a pool starts before their code is known. Private to runtime/library/.
 */
#ifndef WARDER_RUNTIME_LIBRARY_INTERPRETERS_H
#define WARDER_RUNTIME_LIBRARY_INTERPRETERS_H

#include "base/error.h"

/* The words of "python" or "node", which loads the modules (NULL: none). Heap: interpreters_free(). NULL with *err. */
char **interpreters_words(const char *name, const char *const *imports, struct warder_error *err);
/* A copy of such words. NULL with *err. */
char **interpreters_copy(char *const *from, struct warder_error *err);
/* The first `count` of them, and the list. NULL is fine. */
void interpreters_free(char **words, size_t count);

#endif
