#include "base/mime.h"

#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/language.h"
#include "base/text.h"

#define LOOKED_AT 4096

static const struct {
	const char *extension, *type;
} extensions[] = {
	{ "txt", "text/plain" },
	{ "md", "text/markdown" },
	{ "h", "text/x-c" },
	{ "json", "application/json" },
	{ "jsonl", "application/jsonl" },
	{ "csv", "text/csv" },
	{ "tsv", "text/tab-separated-values" },
	{ "html", "text/html" },
	{ "htm", "text/html" },
	{ "xml", "application/xml" },
	{ "yaml", "application/yaml" },
	{ "yml", "application/yaml" },
	{ "png", "image/png" },
	{ "jpg", "image/jpeg" },
	{ "jpeg", "image/jpeg" },
	{ "gif", "image/gif" },
	{ "svg", "image/svg+xml" },
	{ "webp", "image/webp" },
	{ "pdf", "application/pdf" },
	{ "zip", "application/zip" },
	{ "gz", "application/gzip" },
	{ "tar", "application/x-tar" },
	{ "sqlite", "application/vnd.sqlite3" },
	{ "db", "application/vnd.sqlite3" },
};

static const struct {
	const char *bytes;
	size_t len;
	const char *type;
} formats[] = {
	{ "\x89PNG\r\n\x1a\n", 8, "image/png" },
	{ "\xff\xd8\xff", 3, "image/jpeg" },
	{ "GIF8", 4, "image/gif" },
	{ "%PDF-", 5, "application/pdf" },
	{ "PK\x03\x04", 4, "application/zip" },
	{ "\x1f\x8b", 2, "application/gzip" },
	{ "\0asm", 4, "application/wasm" },
	{ "SQLite format 3", 16, "application/vnd.sqlite3" },
	{ "\x7f"
	  "ELF",
	  4, "application/x-executable" },
	{ "<?xml", 5, "application/xml" },
	{ "<!DOCTYPE html", 14, "text/html" },
};

const char *mime_type(const char *name, const char *bytes, size_t len)
{
	const char *slash = strrchr(name, '/');
	const char *dot = strrchr(slash ? slash : name, '.');
	const struct language_row *language = dot ? language_of_extension(dot + 1, strlen(dot + 1)) : NULL;
	size_t text_len;

	if (language && language->media_type)
		return language->media_type;
	for (size_t i = 0; dot && i < ARRAY_LENGTH(extensions); i++) {
		if (strcasecmp(dot + 1, extensions[i].extension) == 0)
			return extensions[i].type;
	}
	for (size_t i = 0; i < ARRAY_LENGTH(formats); i++) {
		if (len >= formats[i].len && memcmp(bytes, formats[i].bytes, formats[i].len) == 0)
			return formats[i].type;
	}
	if (len && text_length(bytes, len < LOOKED_AT ? len : LOOKED_AT, len > LOOKED_AT, &text_len))
		return "text/plain; charset=utf-8";
	return "application/octet-stream";
}
