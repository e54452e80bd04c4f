#include "policy/names.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
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
#define LIMIT(id, path, group, unit, slot, least, most, bound, strict, reason, rule, text)                   \
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

/* Words that other programs use for the same thing. */
static const char *const elsewhere[][2] = {
	{ "network", "net" },       { "workdir", "cwd" },  { "chdir", "cwd" },       { "cd", "cwd" },
	{ "volume", "rw" },         { "bind", "rw" },      { "ro-bind", "ro" },      { "mount", "rw" },
	{ "setenv", "env" },        { "cpu", "cpus" },     { "pids-limit", "pids" }, { "read-only", "ro" },
	{ "wall-time", "timeout" }, { "time", "timeout" }, { "lang", "language" },   { "tmpfs", "tmp" },
	{ "exec", "run" },          { "rm", "remove" },    { "delete", "remove" },   { "ls", "list" },
	{ "remove", "delete" },     { "publish", "port" }, { "tty", "terminal" },    { "info", "status" },
};

static size_t smallest(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* The number of letters added, left out, replaced or swapped with their neighbour between the two folded words. */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t rows[MAX_WORD + 1][MAX_WORD + 1];

	for (size_t j = 0; j <= b_len; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		rows[i][0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			rows[i][j] = smallest(rows[i - 1][j] + 1, rows[i][j - 1] + 1);
			rows[i][j] = smallest(rows[i][j], rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				rows[i][j] = smallest(rows[i][j], rows[i - 2][j - 2] + 1);
		}
	}
	return rows[a_len][b_len];
}

/* How far the text is from a word: SIZE_MAX if it is no misspelling of it. Of words with as many errors, the one with the same first
 * letter is nearer, then the one that the text begins or is the beginning of. */
static size_t remoteness(const char *word, const char *text)
{
	char a[MAX_WORD] = { 0 }, b[MAX_WORD] = { 0 };
	const size_t word_len = fold(word, a);
	const size_t text_len = fold(text, b);
	const size_t errors = distance(a, word_len, b, text_len);
	const size_t shorter = smallest(word_len, text_len);

	/* One error in two letters is still taken for a misspelling, two in five, three in eight. */
	if (errors > (text_len + 1) / 3 || errors >= word_len)
		return SIZE_MAX;
	return 4 * errors + 2 * (shorter && a[0] != b[0]) + (memcmp(a, b, shorter) != 0);
}

static const char *last_part(const char *word)
{
	const char *dot = strrchr(word, '.');

	return dot ? dot + 1 : word; /* "memory" is meant for limits.memory */
}

/* The word that is called `text` elsewhere, or NULL. */
static const char *called_elsewhere(const char *const *words, const char *text)
{
	char name[MAX_WORD], other[MAX_WORD];
	const size_t len = fold(text, name);

	for (; len && *words; words++) {
		for (size_t i = 0; i < ARRAY_LENGTH(elsewhere); i++) {
			if (fold(elsewhere[i][0], other) != len || memcmp(name, other, len) != 0)
				continue;
			if (strcmp(*words + strspn(*words, "-"), elsewhere[i][1]) == 0)
				return *words;
		}
	}
	return NULL;
}

/* The only word that begins with the text, of at least three letters; or NULL. */
static const char *begun(const char *const *words, const char *text)
{
	char name[MAX_WORD], whole[MAX_WORD], part[MAX_WORD];
	const size_t len = fold(text, name);
	const char *found = NULL;

	for (; len > 2 && *words; words++) {
		const bool begins = (fold(*words, whole) >= len && memcmp(whole, name, len) == 0) ||
				    (fold(last_part(*words), part) >= len && memcmp(part, name, len) == 0);

		if (!begins || (found && strcmp(found, *words) == 0))
			continue;
		if (found)
			return NULL;
		found = *words;
	}
	return found;
}

/* The number of letters up to the last dot before which the two are equal: an equal part says nothing about the others. */
static size_t common_parts(const char *word, const char *text)
{
	size_t parts = 0;

	for (size_t i = 0; word[i] && word[i] == text[i]; i++) {
		if (word[i] == '.')
			parts = i + 1;
	}
	return parts;
}

/* The word that is nearest to the text, or NULL. */
static const char *nearest(const char *const *words, const char *text)
{
	const char *found = NULL;
	size_t best = SIZE_MAX;

	for (; *words; words++) {
		const size_t alike = common_parts(*words, text);
		const size_t now =
		    smallest(remoteness(*words + alike, text + alike), remoteness(last_part(*words), text));

		if (now < best) {
			best = now;
			found = *words;
		}
	}
	return found;
}

const char *policy_meant(const char *const *words, const char *text)
{
	const char *found = strlen(text) > MAX_WORD ? NULL : called_elsewhere(words, text);

	if (!found && strlen(text) <= MAX_WORD)
		found = begun(words, text);
	return found || strlen(text) > MAX_WORD ? found : nearest(words, text);
}

/* The parts of a document, such as "limits", that have several fields: NULL at the end. */
static void list_parts(char parts[POLICY_FIELD_COUNT][MAX_WORD],
		       const char *ret_words[POLICY_FIELD_COUNT + 1])
{
	size_t count = 0;

	for (enum policy_field field = 0; field < POLICY_FIELD_COUNT; field++) {
		const char *path = policy_field_path(field);
		const size_t len = strcspn(path, ".");

		if (!path[len] || (count && strncmp(parts[count - 1], path, len) == 0))
			continue;
		snprintf(parts[count], MAX_WORD, "%.*s", (int)len, path);
		ret_words[count] = parts[count];
		count++;
	}
	ret_words[count] = NULL;
}

char *policy_suggest_field(const char *path, char *buf, size_t len)
{
	const char *words[POLICY_FIELD_COUNT + 1] = { NULL };
	char parts[POLICY_FIELD_COUNT][MAX_WORD];
	const char *found = NULL;

	list_parts(parts, words);
	if (!strchr(path, '.'))
		found = policy_meant(words, path);
	for (enum policy_field field = 0; !found && field < POLICY_FIELD_COUNT; field++)
		words[field] = policy_field_path(field);
	if (!found)
		found = policy_meant(words, path);
	if (found)
		snprintf(buf, len, "did you mean \"%s\"?", found);
	else
		snprintf(buf, len, "\"warder explain strict\" lists them");
	return buf;
}

char *policy_suggest(const char *const *words, const char *text, char *buf, size_t len)
{
	const char *found = policy_meant(words, text);
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
