/*
 * java_source: which class a Java source declares, because its file has to be called so. Private to code/; pure, any thread.
 */
#ifndef WARDER_RUNTIME_CODE_JAVA_SOURCE_H
#define WARDER_RUNTIME_CODE_JAVA_SOURCE_H

#include <stddef.h>

/* The name of the public type at the top level; else of the first type in which there is a word "main"; else of the first type.
 * Comments and literals are skipped. Names of more than 100 bytes are not taken. Returns buf (of at least 101 bytes), or NULL
 * without any. Linear in the source. */
const char *java_class(const char *source, size_t len, char *buf, size_t size);

#endif
