/*
 * wasm: a cursor over bytes; each reader checks that there is as much as it takes, and none goes back.
 *
 * Counts are not trusted: a section that claims four thousand million imports ends with its bytes. An import takes at least four
 * bytes and an export three, so that the loops are linear in the section.
 */
#include "runtime/code/detect/wasm.h"

#include <stdio.h>
#include <string.h>

enum section_id {
	SECTION_IMPORT = 2,
	SECTION_EXPORT = 7,
	SECTION_LAST = 13, /* tag, of the exceptions proposal */
};

enum external_kind {
	KIND_FUNCTION,
	KIND_TABLE,
	KIND_MEMORY,
	KIND_GLOBAL,
	KIND_TAG,
};

struct cursor {
	const unsigned char *at, *end;
};

static const char magic[4] = { '\0', 'a', 's', 'm' };
static const char wasi[] = "wasi_snapshot_preview1";

bool wasm_is_module(const char *bytes, size_t len)
{
	return len >= sizeof(magic) && memcmp(bytes, magic, sizeof(magic)) == 0;
}

static size_t left(const struct cursor *c)
{
	return (size_t)(c->end - c->at);
}

/* An unsigned LEB128 of at most `bits` bits: ceil(bits / 7) bytes, unused bits of the last one zero. */
static bool read_unsigned(struct cursor *c, unsigned bits, uint64_t *ret)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < bits && left(c) > 0; shift += 7) {
		unsigned char byte = *c->at++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		if (bits < 64 && value >> bits != 0)
			return false;
		*ret = value;
		return true;
	}
	return false;
}

static bool read_bytes(struct cursor *c, size_t count, struct cursor *ret)
{
	if (left(c) < count)
		return false;
	*ret = (struct cursor){ c->at, c->at + count };
	c->at += count;
	return true;
}

static bool read_name(struct cursor *c, struct cursor *ret)
{
	uint64_t length;

	return read_unsigned(c, 32, &length) && read_bytes(c, (size_t)length, ret);
}

static bool read_byte(struct cursor *c, unsigned char *ret)
{
	if (left(c) == 0)
		return false;
	*ret = *c->at++;
	return true;
}

/* flags, minimum, and a maximum if the flags say so; memories of 64 bits have longer ones. */
static bool skip_limits(struct cursor *c)
{
	unsigned char flags;
	uint64_t amount;

	return read_byte(c, &flags) && flags <= 7 && read_unsigned(c, 64, &amount) &&
	       (!(flags & 1) || read_unsigned(c, 64, &amount));
}

/* A value type of one byte, or a reference with a heap type. */
static bool skip_value_type(struct cursor *c)
{
	unsigned char type;
	uint64_t heap;

	return read_byte(c, &type) && ((type != 0x63 && type != 0x64) || read_unsigned(c, 33, &heap));
}

static bool skip_import_type(struct cursor *c)
{
	unsigned char kind, byte;
	uint64_t index;

	if (!read_byte(c, &kind))
		return false;
	switch (kind) {
	case KIND_FUNCTION:
		return read_unsigned(c, 32, &index);
	case KIND_TABLE:
		return skip_value_type(c) && skip_limits(c);
	case KIND_MEMORY:
		return skip_limits(c);
	case KIND_GLOBAL:
		return skip_value_type(c) && read_byte(c, &byte);
	case KIND_TAG:
		return read_byte(c, &byte) && read_unsigned(c, 32, &index);
	}
	return false;
}

/* A name as text of its own, for people: what is not printable ASCII becomes '?'. */
static void copy_name(const struct cursor *name, char *ret, size_t size)
{
	size_t length = left(name) < size - 1 ? left(name) : size - 1;

	for (size_t i = 0; i < length; i++)
		ret[i] = name->at[i] >= 0x20 && name->at[i] < 0x7f ? (char)name->at[i] : '?';
	ret[length] = '\0';
}

static bool is_name(const struct cursor *name, const char *text)
{
	return left(name) == strlen(text) && memcmp(name->at, text, strlen(text)) == 0;
}

static void add_import(struct wasm_module *module, const struct cursor *name)
{
	char text[sizeof(module->other_imports[0])];

	if (is_name(name, wasi))
		return;
	copy_name(name, text, sizeof(text));
	for (size_t i = 0; i < module->others; i++) {
		if (strcmp(module->other_imports[i], text) == 0)
			return;
	}
	if (module->others < WASM_MAX_OTHERS)
		memcpy(module->other_imports[module->others++], text, sizeof(text));
}

static bool walk_imports(struct wasm_module *module, struct cursor c)
{
	struct cursor name, field;
	uint64_t count;

	if (!read_unsigned(&c, 32, &count))
		return false;
	for (; count > 0; count--) {
		if (!read_name(&c, &name) || !read_name(&c, &field) || !skip_import_type(&c))
			return false;
		add_import(module, &name);
	}
	return left(&c) == 0;
}

static bool walk_exports(struct wasm_module *module, struct cursor c)
{
	struct cursor name;
	unsigned char kind;
	uint64_t count, index;

	if (!read_unsigned(&c, 32, &count))
		return false;
	for (; count > 0; count--) {
		if (!read_name(&c, &name) || !read_byte(&c, &kind) || kind > KIND_TAG ||
		    !read_unsigned(&c, 32, &index))
			return false;
		if (kind == KIND_FUNCTION && is_name(&name, "_start"))
			module->has_start = true;
	}
	return left(&c) == 0;
}

static bool walk_section(struct wasm_module *module, unsigned char id, struct cursor content)
{
	switch (id) {
	case SECTION_IMPORT:
		return walk_imports(module, content);
	case SECTION_EXPORT:
		return walk_exports(module, content);
	}
	return id <= SECTION_LAST;
}

static void walk(struct wasm_module *module, struct cursor c, const unsigned char *start)
{
	struct cursor content;
	unsigned char id;
	uint64_t size;

	while (left(&c) > 0) {
		size_t at = (size_t)(c.at - start);

		if (!read_byte(&c, &id) || !read_unsigned(&c, 32, &size) ||
		    !read_bytes(&c, (size_t)size, &content)) {
			snprintf(module->broken, sizeof(module->broken),
				 "the section at byte %zu does not end within the module", at);
			return;
		}
		if (!walk_section(module, id, content)) {
			snprintf(module->broken, sizeof(module->broken),
				 "the section at byte %zu (kind %u) is not well-formed", at, id);
			return;
		}
	}
	module->walked = true;
}

void wasm_inspect(const char *bytes, size_t len, struct wasm_module *ret)
{
	const unsigned char *start = (const unsigned char *)bytes;

	*ret = (struct wasm_module){ 0 };
	if (len < WASM_MIN_BYTES) {
		snprintf(ret->reason, sizeof(ret->reason), "the module is too small: %zu bytes (minimum %d)",
			 len, WASM_MIN_BYTES);
		return;
	}
	if (!wasm_is_module(bytes, len)) {
		snprintf(ret->reason, sizeof(ret->reason), "the magic number is missing (\\0asm)");
		return;
	}
	ret->version = (uint32_t)start[4] | (uint32_t)start[5] << 8 | (uint32_t)start[6] << 16 |
		       (uint32_t)start[7] << 24;
	if (ret->version != 1) {
		snprintf(ret->reason, sizeof(ret->reason), "version %u is not a module's (1)%s", ret->version,
			 ret->version == 0x1000d ? "; it is a component" : "");
		return;
	}
	ret->valid = true;
	walk(ret, (struct cursor){ start + WASM_MIN_BYTES, start + len }, start);
}
