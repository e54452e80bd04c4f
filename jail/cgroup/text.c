#include "jail/cgroup/text.h"

#include <limits.h>
#include <string.h>

#include "base/compose.h"
#include "base/mountinfo.h"

/*
 * The kernel writes these texts, but parts of them are chosen by others: mount points and roots, the names of
 * cgroups and processes. So nothing here trusts a length, a separator or a terminator. Numbers are whole, unsigned and
 * checked for overflow; a number that does not fit is no number.
 */

static const char *const v1_names[CGROUP_CONTROLLER_COUNT] = {
	[CGROUP_MEMORY] = "memory",
	[CGROUP_PIDS] = "pids",
	[CGROUP_CPU] = "cpu",
	[CGROUP_ACCOUNT] = "cpuacct",
};

/* A piece of the text: [at, end). */
struct span {
	const char *at;
	const char *end;
};

/* Cut the next piece off *text at `separator`; false when nothing is left. Empty pieces count. */
static bool cut(struct span *text, char separator, struct span *ret)
{
	const char *stop;

	if (!text->at || text->at > text->end)
		return false;
	stop = memchr(text->at, separator, (size_t)(text->end - text->at));
	ret->at = text->at;
	ret->end = stop ? stop : text->end;
	text->at = stop ? stop + 1 : text->end + 1;
	return true;
}

static bool equal(struct span piece, const char *word)
{
	size_t len = strlen(word);

	return (size_t)(piece.end - piece.at) == len && memcmp(piece.at, word, len) == 0;
}

static bool decimal(struct span piece, uint64_t *ret)
{
	uint64_t value = 0;

	if (piece.at >= piece.end)
		return false;
	for (const char *p = piece.at; p < piece.end; p++) {
		unsigned digit = (unsigned char)*p - (unsigned)'0';

		if (digit > 9 || value > (UINT64_MAX - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	*ret = value;
	return true;
}

static bool decimal_or_none(struct span piece, uint64_t *ret)
{
	if (!equal(piece, "max") && !equal(piece, "-1"))
		return decimal(piece, ret);
	*ret = UINT64_MAX;
	return true;
}

static struct span one_line(const char *text, size_t len)
{
	if (len > 0 && text[len - 1] == '\n')
		len--;
	return (struct span){ text, text + len };
}

bool cgroup_text_number(const char *text, size_t len, uint64_t *ret)
{
	return decimal_or_none(one_line(text, len), ret);
}

bool cgroup_text_key(const char *text, size_t len, const char *key, uint64_t *ret)
{
	struct span rest = { text, text + len };
	struct span line;
	struct span name;

	while (cut(&rest, '\n', &line))
		if (cut(&line, ' ', &name) && equal(name, key))
			return decimal(line, ret);
	return false;
}

bool cgroup_text_within(const char *text, size_t len, uint64_t most)
{
	struct span rest = { text, len && text[len - 1] == '\n' ? text + len - 1 : text + len };
	struct span line;
	uint64_t number;

	if (rest.at == rest.end)
		return false;
	while (cut(&rest, '\n', &line)) {
		const char *blank = memrchr(line.at, ' ', (size_t)(line.end - line.at));

		line.at = blank ? blank + 1 : line.at;
		if (!decimal(line, &number) || number > most)
			return false;
	}
	return true;
}

bool cgroup_text_bandwidth(const char *text, size_t len, uint64_t *ret_milli)
{
	struct span rest = one_line(text, len);
	struct span piece;
	uint64_t quota;
	uint64_t period;

	if (!cut(&rest, ' ', &piece) || !decimal_or_none(piece, &quota) || !decimal(rest, &period) ||
	    period == 0)
		return false;
	if (quota == UINT64_MAX)
		*ret_milli = UINT64_MAX;
	else
		*ret_milli = quota / period * 1000 + quota % period * 1000 / period;
	return true;
}

bool cgroup_text_has_word(const char *text, size_t len, const char *word)
{
	struct span rest = one_line(text, len);
	struct span piece;

	while (cut(&rest, ' ', &piece))
		if (equal(piece, word))
			return true;
	return false;
}

bool cgroup_text_mount(const char *line, size_t len, struct cgroup_mount *ret)
{
	const struct span text = one_line(line, len);
	struct mountinfo fields;
	struct cgroup_mount mount = { 0 };

	if (!mountinfo_parse((struct mountinfo_text){ text.at, (size_t)(text.end - text.at) }, &fields))
		return false;
	mount.v2 = mountinfo_is(fields.type, "cgroup2");
	if (!mount.v2 && !mountinfo_is(fields.type, "cgroup"))
		return false;
	if (!mountinfo_path(fields.root, mount.root, sizeof(mount.root)) ||
	    !mountinfo_path(fields.point, mount.point, sizeof(mount.point)))
		return false;
	mount.read_only = mountinfo_has(fields.options, "ro") || mountinfo_has(fields.super, "ro");
	for (int c = 0; c < CGROUP_CONTROLLER_COUNT && !mount.v2; c++)
		if (mountinfo_has(fields.super, v1_names[c]))
			mount.controllers |= 1u << c;
	*ret = mount;
	return true;
}

bool cgroup_text_own(const char *text, size_t len, char *ret, size_t size)
{
	struct span rest = { text, text + len };
	struct span line;

	while (cut(&rest, '\n', &line)) {
		size_t path_len;

		if (line.end - line.at < 4 || memcmp(line.at, "0::/", 4) != 0)
			continue;
		path_len = (size_t)(line.end - line.at) - 3;
		if (path_len >= size || memchr(line.at, '\0', path_len + 3))
			return false;
		memcpy(ret, line.at + 3, path_len);
		ret[path_len] = '\0';
		return true;
	}
	return false;
}

/* Whether the path climbs: the kernel writes "/../x" for a cgroup outside of the reader's cgroup namespace. */
static bool climbs(const char *path)
{
	struct span rest = { path, path + strlen(path) };
	struct span piece;

	while (cut(&rest, '/', &piece))
		if (equal(piece, ".."))
			return true;
	return false;
}

bool cgroup_text_own_dir(const struct cgroup_mount *mount, const char *own, char *ret, size_t size)
{
	const char *root = strcmp(mount->root, "/") == 0 ? "" : mount->root;
	const char *point = strcmp(mount->point, "/") == 0 ? "" : mount->point;
	size_t root_len = strlen(root);
	const char *below = own + root_len;
	char path[2 * CGROUP_BASE_MAX];
	size_t len;

	if (strncmp(own, root, root_len) != 0 || (*below != '\0' && *below != '/') || climbs(own) ||
	    climbs(root))
		return false;
	if (strcmp(below, "/") == 0)
		below = "";
	len = compose(path, sizeof(path), point, below);
	if (len == 0 || len >= size || len >= sizeof(path))
		return false;
	memcpy(ret, path, len + 1);
	return true;
}

bool cgroup_text_process(const char *text, size_t len, struct cgroup_process *ret)
{
	const char *name_end = len > 0 ? memrchr(text, ')', len) : NULL;
	struct span rest;
	struct span piece;
	struct cgroup_process process = { 0 };

	if (!name_end || text + len - name_end < 3)
		return false;
	rest = (struct span){ name_end + 2, text + len }; /* field 3 on */
	for (int field = 3; field <= 22; field++) {
		if (!cut(&rest, ' ', &piece))
			return false;
		if (field == 3 && piece.end - piece.at == 1)
			process.state = *piece.at;
		if (field == 20 && !decimal(piece, &process.threads))
			return false;
		if (field == 22 &&
		    !decimal(one_line(piece.at, (size_t)(piece.end - piece.at)), &process.start_time))
			return false;
	}
	if (!process.state)
		return false;
	*ret = process;
	return true;
}

void cgroup_text_name(const struct cgroup_owner *owner, char ret[CGROUP_NAME_MAX])
{
	char pid[COMPOSE_NUMBER], start_time[COMPOSE_NUMBER], n[COMPOSE_NUMBER], space[COMPOSE_NUMBER];

	compose(ret, CGROUP_NAME_MAX, "warder-", compose_number((uint64_t)owner->pid, pid), "-",
		compose_number(owner->start_time, start_time), "-", compose_number(owner->n, n), "-",
		compose_number(owner->space, space));
}

/* One owner has one name: no leading zeros. */
static bool plain_decimal(struct span piece, uint64_t *ret)
{
	return decimal(piece, ret) && (*piece.at != '0' || piece.end - piece.at == 1);
}

bool cgroup_text_owner(const char *name, struct cgroup_owner *ret)
{
	struct span rest = { name, name + strlen(name) };
	struct span piece;
	struct cgroup_owner owner = { 0 };
	uint64_t pid;

	if (!cut(&rest, '-', &piece) || !equal(piece, "warder"))
		return false;
	if (!cut(&rest, '-', &piece) || !plain_decimal(piece, &pid) || pid < 1 || pid > INT_MAX)
		return false;
	owner.pid = (int)pid;
	if (!cut(&rest, '-', &piece) || !plain_decimal(piece, &owner.start_time))
		return false;
	if (!cut(&rest, '-', &piece) || !plain_decimal(piece, &owner.n) || !plain_decimal(rest, &owner.space))
		return false;
	*ret = owner;
	return true;
}

bool cgroup_text_parent_valid(const char *parent)
{
	struct span rest = { parent, parent + strlen(parent) };
	struct span piece;

	if (rest.end - rest.at > CGROUP_BASE_MAX / 2)
		return false;
	for (const char *p = parent; *p; p++)
		if ((unsigned char)*p <= ' ' || *p == 0x7f)
			return false;
	while (cut(&rest, '/', &piece))
		if (equal(piece, "") || equal(piece, ".") || equal(piece, ".."))
			return false;
	return true;
}

void cgroup_text_quota(uint64_t milli, uint64_t *ret_quota_us, uint64_t *ret_period_us)
{
	uint64_t per_milli = milli < 10 ? 1000 : 100;

	*ret_period_us = per_milli * 1000;
	*ret_quota_us = milli * per_milli;
}
