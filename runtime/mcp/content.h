/*
 * content: the text of a tool's result, as a model reads it. It has at most MCP_TEXT_MAX characters.
 *
 * A program's output is data, and may imitate other text. So it stands between two marks with a number that the program cannot know.
 * Characters that a person would not see are left out: control characters, terminal sequences, characters that change the direction of
 * text or have no width, and tags.
 *
 * Life: a zeroed struct content -> content_add(), content_data() -> content.text, of content.len bytes -> content_done(). After a failed
 * allocation `failed` stays true. Pure; one thread.
 */
#ifndef WARDER_RUNTIME_MCP_CONTENT_H
#define WARDER_RUNTIME_MCP_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MCP_TEXT_MAX ((size_t)25000) /* characters */

struct content {
	char *text; /* UTF-8 without a NUL at the end; owned */
	size_t len, capacity;
	size_t characters;
	bool failed;
};

/* A part of some data that was put in. */
struct content_part {
	size_t bytes;   /* of the data that it stands for */
	size_t removed; /* characters that were left out of it */
};

/* Add words of our own, at most 4 KiB. What they quote is cleaned, too. What exceeds MCP_TEXT_MAX is dropped. */
void content_add(struct content *content, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for a longer text. */
void content_put(struct content *content, const char *bytes, size_t len);
/* Add the beginning of some data between marks, as far as `most` characters go. `mark`: 8 hexadecimal digits or so. */
struct content_part content_data(struct content *content, const char *mark, const char *bytes, size_t len,
				 size_t most);
/* Where the last characters of some data begin, at most `most` of them. */
size_t content_tail(const char *bytes, size_t len, size_t most);
/* The number of characters that still fit. */
size_t content_room(const struct content *content);
void content_done(struct content *content);

#endif
