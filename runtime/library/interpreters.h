/*
 * interpreters: programs that a pool starts before their code is known. Private to runtime/library/.
 */
#ifndef WARDER_RUNTIME_LIBRARY_INTERPRETERS_H
#define WARDER_RUNTIME_LIBRARY_INTERPRETERS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* The words of "python" or "node", which loads the modules (NULL: none). Heap: interpreters_free(). NULL with *err. */
char **interpreters_words(const char *name, const char *const *imports, struct warder_error *err);
/* Whether a loop for scripts of this language exists: it takes a script, its arguments and variables. */
bool interpreters_run_scripts(const char *language);
/* The words that start such a loop: those of argv before its member `script`, which is the file, and the loop. Heap: interpreters_free(). NULL with
 * *err. */
char **interpreters_script_words(const char *language, char *const *argv, size_t script,
				 struct warder_error *err);
/* The work for it: the script with its arguments, and variables "NAME=value" (NULL: none). Heap; NULL with *err. */
char *interpreters_script_work(char *const *words, char *const *environment, size_t *ret_len,
			       struct warder_error *err);
/* Whether a loop reads this source as Python reads the same file. Python decodes a file line by line, and so runs or reports it in another way if
 * it is not UTF-8, contains a NUL, or names its coding in one of the first two lines. */
bool interpreters_read(const char *source, size_t len);
/* The same of the program that such words start: false only for a loop of Python. */
bool interpreters_take(char *const *words, const char *source, size_t len);
/* Whether such words start a loop that a zygote can have, whose forks do what the loop does; and the words that start that zygote (heap; NULL with
 * *err). */
bool interpreters_fork(char *const *words);
char **interpreters_zygote_words(char *const *words, struct warder_error *err);
/* A copy of such words. NULL with *err. */
char **interpreters_copy(char *const *from, struct warder_error *err);
/* The first `count` of them, and the list. NULL is fine. */
void interpreters_free(char **words, size_t count);

#endif
