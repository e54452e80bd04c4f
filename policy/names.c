#include "policy/names.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/language.h"

#define MAX_WORD 32

const char *const policy_network_modes[] = {
	[POLICY_NETWORK_NONE] = "none",   [POLICY_NETWORK_LOOPBACK] = "loopback",
	[POLICY_NETWORK_ALLOW] = "allow", [POLICY_NETWORK_LEARN] = "learn",
	[POLICY_NETWORK_HOST] = "host",   NULL,
};

const char *const policy_views[] = {
	[POLICY_VIEW_HOST] = "host",
	[POLICY_VIEW_DIRECTORY] = "directory",
	[POLICY_VIEW_IMAGE] = "image",
	NULL,
};

const char *const policy_workspaces[] = {
	[POLICY_WORKSPACE_NONE] = "none",
	[POLICY_WORKSPACE_READ_ONLY] = "readOnly",
	[POLICY_WORKSPACE_OVERLAY] = "overlay",
	[POLICY_WORKSPACE_READ_WRITE] = "readWrite",
	NULL,
};

const char *const policy_environment_modes[] = {
	[POLICY_ENVIRONMENT_NONE] = "none",
	[POLICY_ENVIRONMENT_ALLOW_LIST] = "allowList",
	[POLICY_ENVIRONMENT_HOST] = "host",
	NULL,
};

const char *const policy_profiles[] = {
	[POLICY_SYSCALLS_STRICT] = "strict",
	[POLICY_SYSCALLS_DEFAULT] = "default",
	[POLICY_SYSCALLS_COMPAT] = "compat",
	NULL,
};

const char *const policy_on_violations[] = {
	[POLICY_VIOLATION_ERRNO] = "errno",
	[POLICY_VIOLATION_KILL] = "kill",
	NULL,
};

const char *const policy_on_output_limits[] = {
	[POLICY_OUTPUT_DRAIN] = "drain",
	[POLICY_OUTPUT_KILL] = "kill",
	NULL,
};

const char *const policy_growths[] = { [false] = "limited", [true] = "unlimited", NULL };
const char *const policy_booleans[] = { [false] = "false", [true] = "true", NULL };

const char *const policy_enforcements[] = { [false] = "required", [true] = "preferred", NULL };

static const char *const isolations[] = {
	[POLICY_ISOLATION_NONE] = "none",
	[POLICY_ISOLATION_NAMESPACE_JAIL] = "namespaceJail",
	[POLICY_ISOLATION_NAMESPACE_JAIL_PERSISTENT] = "namespaceJailPersistent",
	[POLICY_ISOLATION_CONTAINER_EPHEMERAL] = "containerEphemeral",
	[POLICY_ISOLATION_CONTAINER_PERSISTENT] = "containerPersistent",
	[POLICY_ISOLATION_IN_PROCESS] = "inProcess",
	[POLICY_ISOLATION_PROVIDER_HOSTED] = "providerHosted",
};

static const struct {
	const char *path, *group;
} fields[] = {
#define FIELD(id, path, group, ...) [POLICY_FIELD_##id] = { path, group },
	POLICY_TABLE(FIELD, POLICY_NOTHING, POLICY_NOTHING, FIELD, FIELD,
		     POLICY_NOTHING)[POLICY_FIELD_NONE] = { "", "" },
};

static const struct {
	const char *name, *text;
	enum policy_field field;
} controls[] = {
#define CONTROL(id, name, field, text, ...) [POLICY_CONTROL_##id] = { name, text, POLICY_FIELD_##field },
#define LIMIT(id, path, group, unit, place, least, most, bound, strict, reason, rule, text)                  \
	CONTROL(id, path, id, text)
	POLICY_TABLE(POLICY_NOTHING, POLICY_NOTHING, CONTROL, POLICY_NOTHING, LIMIT,
		     POLICY_NOTHING)[POLICY_CONTROL_COUNT] = { "", "", POLICY_FIELD_NONE },
};

const char *policy_field_path(enum policy_field field)
{
	return fields[field].path;
}

const char *policy_field_group(enum policy_field field)
{
	return fields[field].group;
}

int policy_field_from_path(const char *path, enum policy_field *ret_field)
{
	for (enum policy_field field = 0; field < POLICY_FIELD_COUNT; field++) {
		if (strcmp(path, fields[field].path) == 0) {
			*ret_field = field;
			return 0;
		}
	}
	return -1;
}

int policy_prefer(struct policy *policy, const char *path, bool preferred)
{
	const size_t len = strlen(path);
	enum policy_field field;
	int status = -1;

	if (policy_field_from_path(path, &field) == 0) {
		policy->preferred[field] = preferred;
		if (field != POLICY_FIELD_NETWORK)
			return 0;
		status = 0; /* its parts limit connections, which there are none of without it */
	}
	for (field = 0; field < POLICY_FIELD_COUNT && len; field++) {
		if (strncmp(fields[field].path, path, len) != 0 || fields[field].path[len] != '.')
			continue;
		policy->preferred[field] = preferred;
		status = 0;
	}
	return status;
}

const char *policy_control_name(enum policy_control control)
{
	return controls[control].name;
}

const char *policy_control_text(enum policy_control control)
{
	return controls[control].text;
}

enum policy_field policy_control_field(enum policy_control control)
{
	return controls[control].field;
}

const char *policy_network_mode_name(enum policy_network_mode mode)
{
	return policy_network_modes[mode];
}

const char *policy_profile_name(enum policy_syscall_profile profile)
{
	return policy_profiles[profile];
}

const char *policy_isolation_name(enum policy_isolation isolation)
{
	return isolations[isolation];
}

bool policy_is_language(const char *name)
{
	const struct language_row *row = language_named(name);

	return row && !row->no_code;
}

bool policy_is_language_name(const char *name)
{
	const size_t len = strlen(name);

	return len && len < 32 && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789+#._-") == len &&
	       strcmp(name, "any") != 0;
}

int policy_word(const char *const *words, const char *text)
{
	for (int i = 0; words[i]; i++) {
		if (strcmp(words[i], text) == 0)
			return i;
	}
	return -1;
}

/* Lower case, without '_' and '-': "wall_time" and "WallTime" are both wallTime to a reader. */
static size_t fold(const char *text, char *ret)
{
	size_t used = 0;

	for (; *text && used < MAX_WORD; text++) {
		if (*text != '_' && *text != '-')
			ret[used++] = (char)tolower((unsigned char)*text);
	}
	return used;
}

static size_t smallest(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;

	return least < c ? least : c;
}

/* Levenshtein's distance of the two folded words. */
static size_t distance(const char *left, const char *right)
{
	char a[MAX_WORD], b[MAX_WORD];
	size_t a_len = fold(left, a), b_len = fold(right, b);
	size_t row[MAX_WORD + 1];

	for (size_t j = 0; j <= b_len; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t above = row[j];

			row[j] = smallest(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
			diagonal = above;
		}
	}
	return row[b_len];
}

/* The word that text is most likely a misspelling of, or NULL. */
static const char *nearest(const char *const *words, const char *text)
{
	size_t best = strlen(text) / 3 + 1; /* one error in three letters is still taken for a misspelling */
	const char *found = NULL;

	if (strlen(text) > MAX_WORD)
		return NULL;
	for (; *words; words++) {
		const char *dot = strrchr(*words, '.');
		const char *last = dot ? dot + 1 : *words; /* "memory" is meant for limits.memory */
		size_t whole = distance(*words, text), part = distance(last, text);
		size_t now = whole < part ? whole : part;

		if (now < best && now < strlen(last)) {
			best = now;
			found = *words;
		}
	}
	return found;
}

char *policy_suggest(const char *const *words, const char *text, char *buf, size_t len)
{
	const char *found = nearest(words, text);
	struct policy_text list = { buf, len, 0 };

	if (found) {
		policy_text_add(&list, "did you mean \"%s\"?", found);
		return buf;
	}
	policy_text_add(&list, "known:");
	for (size_t i = 0; words[i]; i++) {
		if (list.used + strlen(words[i]) + sizeof(", \"\", ...") > len) {
			policy_text_add(&list, i ? ", ..." : " ...");
			break;
		}
		policy_text_add(&list, "%s \"%s\"", i ? "," : "", words[i]);
	}
	return buf;
}

void policy_text_add(struct policy_text *text, const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(text->buf + text->used, text->len - text->used, format, args);
	va_end(args);
	if (length < 0)
		return;
	text->used += (size_t)length;
	if (text->used >= text->len)
		text->used = text->len - 1;
}

int policy_locate(struct warder_error *err, const char *path)
{
	snprintf(err->field, sizeof(err->field), "%s", path);
	return error_context(err, "%.140s", path);
}

int policy_refuse(struct warder_error *err, const char *path, const char *format, ...)
{
	char text[sizeof(err->text)];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	error_set(err, WARDER_ERROR_INVALID_REQUEST, NULL, "%s", text);
	return policy_locate(err, path);
}
