/*
 * content: the guess from a text's tokens. Private to detect.
 */
#ifndef WARDER_RUNTIME_CODE_DETECT_CONTENT_H
#define WARDER_RUNTIME_CODE_DETECT_CONTENT_H

#include "runtime/code/detect/detect.h"

/* Sets language, score and runner-up of *ret for `len` bytes of text. -1 with *err (INTERNAL) on want of memory. */
int detect_content(const char *text, size_t len, struct detection *ret, struct warder_error *err);

#endif
