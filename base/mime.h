/*
 * mime: the media type of a file, from its name and its first bytes. For runtime/ and store/; pure, any thread.
 */
#ifndef WARDER_BASE_MIME_H
#define WARDER_BASE_MIME_H

#include <stddef.h>

/* By the name's extension; else by the bytes of well-known formats; else "text/plain; charset=utf-8" for text and
 * "application/octet-stream" for the rest, and for a file of which no byte is known. Returns a constant. */
const char *mime_type(const char *name, const char *bytes, size_t len);

#endif
