#include "runtime/mime.h"

#include <string.h>
#include <strings.h>

#include "runtime/text.h"

#define LOOKED_AT 4096

static const struct {
	const char *extension, *type;
} extensions[] = {
	{ "txt", "text/plain" },
	{ "md", "text/markdown" },
	{ "py", "text/x-python" },
	{ "go", "text/x-go" },
	{ "js", "text/javascript" },
	{ "mjs", "text/javascript" },
	{ "ts", "text/x-typescript" },
	{ "rs", "text/x-rust" },
	{ "c", "text/x-c" },
	{ "h", "text/x-c" },
	{ "cpp", "text/x-c++" },
	{ "java", "text/x-java" },
	{ "rb", "text/x-ruby" },
	{ "pl", "text/x-perl" },
	{ "lua", "text/x-lua" },
	{ "php", "text/x-php" },
	{ "r", "text/x-r" },
	{ "sh", "text/x-shellscript" },
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
	{ "wasm", "application/wasm" },
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
	size_t text_len;

	for (size_t i = 0; dot && i < sizeof(extensions) / sizeof(extensions[0]); i++) {
		if (strcasecmp(dot + 1, extensions[i].extension) == 0)
			return extensions[i].type;
	}
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (len >= formats[i].len && memcmp(bytes, formats[i].bytes, formats[i].len) == 0)
			return formats[i].type;
	}
	if (len && text_length(bytes, len < LOOKED_AT ? len : LOOKED_AT, len > LOOKED_AT, &text_len))
		return "text/plain; charset=utf-8";
	return "application/octet-stream";
}
