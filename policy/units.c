/*
 * units: sizes, times, CPUs and counts as text.
 *
 * All four are the same thing, a decimal number times a factor that must come out whole, so one exact
 * integer parser reads them: no floating point, no rounding, no locale. "1.5MiB" is fine and "1.5B" is not,
 * "0.0005" CPUs is finer than what is counted. A time may have several parts, "1h30m", from the largest unit to the smallest.
 * All sizes are binary: "64M" and "64m", as other tools write it, are "64MiB". What does not fit in 63 bits is refused; who means more writes
 * "unlimited".
 */
#include "policy/policy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"

#define MAX_SCALE 1000000000000 /* decimals that are read; times the largest factor it fits in 128 bits */

struct unit {
	const char *name;
	uint64_t factor;
};

/* A way of writing numbers. Units are sorted by size; the first row is the smallest. */
struct measure {
	struct unit units[6]; /* these are printed */
	struct unit also[9];  /* these are only read */
	uint64_t bare;        /* factor of a number without a unit */
	bool parts;           /* several numbers, each with its unit */
	const char *what;     /* "a size" */
	const char *example;  /* what may be written */
	const char *zero;     /* how nothing is written */
};

static const struct measure sizes = {
	.units = { { "B", 1 },
		   { "KiB", (uint64_t)1 << 10 },
		   { "MiB", (uint64_t)1 << 20 },
		   { "GiB", (uint64_t)1 << 30 },
		   { "TiB", (uint64_t)1 << 40 } },
	.also = { { "K", (uint64_t)1 << 10 },
		  { "k", (uint64_t)1 << 10 },
		  { "M", (uint64_t)1 << 20 },
		  { "m", (uint64_t)1 << 20 },
		  { "G", (uint64_t)1 << 30 },
		  { "g", (uint64_t)1 << 30 },
		  { "T", (uint64_t)1 << 40 },
		  { "t", (uint64_t)1 << 40 } },
	.bare = 1,
	.what = "a size",
	.example = "bytes, or a number with B, KiB, MiB, GiB or TiB such as \"256MiB\" or \"256M\"",
	.zero = "0B",
};

static const struct measure times = {
	.units = { { "us", 1 }, { "ms", 1000 }, { "s", 1000000 }, { "m", 60000000 }, { "h", 3600000000 } },
	.also = { { "d", 86400000000 } },
	.bare = 1000000,
	.parts = true,
	.what = "a time",
	.example = "seconds, or numbers with us, ms, s, m, h or d such as \"30s\" or \"1m30s\"",
	.zero = "0s",
};

static const struct measure cpus = {
	.bare = 1000,
	.what = "a number of CPUs",
	.example = "a number of at most three decimals such as 0.5",
};

static const struct measure counts = {
	.bare = 1,
	.what = "a count",
	.example = "a whole number such as 64",
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static const struct unit *find_unit(const struct unit *rows, const char *name, size_t length)
{
	for (; rows->name; rows++) {
		if (strlen(rows->name) == length && strncmp(rows->name, name, length) == 0)
			return rows;
	}
	return NULL;
}

static bool find_factor(const struct measure *measure, const char *name, size_t length, uint64_t *ret_factor)
{
	const struct unit *unit = find_unit(measure->units, name, length);

	if (!unit)
		unit = find_unit(measure->also, name, length);
	if (unit)
		*ret_factor = unit->factor;
	else if (length == 0)
		*ret_factor = measure->bare;
	return unit || length == 0;
}

/* Reads one kind of text; `unlimited` says whether that word is one of the values. */
struct reader {
	const struct measure *measure;
	const char *text;
	bool unlimited;
	struct warder_error *err;
};

static int refuse(const struct reader *r, const char *why)
{
	char quoted[64];

	return error_set(r->err, WARDER_ERROR_INVALID_REQUEST, NULL, "%s is not %s%s; write %s%s",
			 json_quote(r->text, quoted, sizeof(quoted)), r->measure->what, why,
			 r->measure->example, r->unlimited ? ", or \"unlimited\"" : "");
}

static bool take_digits(const char **at, uint64_t *ret)
{
	for (; is_digit(**at); (*at)++) {
		if (__builtin_mul_overflow(*ret, 10, ret) ||
		    __builtin_add_overflow(*ret, (uint64_t)(**at - '0'), ret))
			return false;
	}
	return true;
}

/* Decimals as fraction / scale; trailing zeros count for nothing. */
static bool take_decimals(const char **at, uint64_t *ret_fraction, uint64_t *ret_scale)
{
	uint64_t fraction = 0, scale = 1, pending = 1;

	for (; is_digit(**at); (*at)++) {
		if (pending > MAX_SCALE / 10)
			return false;
		pending *= 10;
		if (**at == '0')
			continue;
		fraction = fraction * (pending / scale) + (uint64_t)(**at - '0');
		scale = pending;
	}
	*ret_fraction = fraction;
	*ret_scale = scale;
	return true;
}

/* digits [ "." digits ] [ unit ], added to *value. *factor: of the part before, 0 for the first; then of this one. */
static int take_part(const struct reader *r, const char **at, uint64_t *value, uint64_t *factor)
{
	const uint64_t before = *factor;
	uint64_t whole = 0, fraction = 0, scale = 1;
	unsigned __int128 part;
	size_t length;

	if (!is_digit(**at))
		return refuse(r, **at == '-' && !before ? ": it is negative" : "");
	if (!take_digits(at, &whole))
		return refuse(r, " that can be counted: it is too large");
	if ((*at)[0] == '.' && is_digit((*at)[1])) {
		(*at)++;
		if (!take_decimals(at, &fraction, &scale))
			return refuse(r, ": it has too many decimals");
	}
	length = strcspn(*at, "0123456789.");
	if (!find_factor(r->measure, *at, length, factor))
		return refuse(r, "");
	*at += length;
	if ((before || **at) && (!r->measure->parts || length == 0))
		return refuse(r, "");
	if (**at && fraction)
		return refuse(r, ": only its last part may have a fraction");
	if (before && *factor >= before)
		return refuse(r, ": its parts go from the largest unit first, each once");
	part = (unsigned __int128)fraction * *factor;
	if (part % scale != 0)
		return refuse(r, ": it has too many decimals");
	if (__builtin_mul_overflow(whole, *factor, &whole) ||
	    __builtin_add_overflow(whole, (uint64_t)(part / scale), &whole) ||
	    __builtin_add_overflow(*value, whole, value) || *value > INT64_MAX)
		return refuse(r, " that can be counted: it is too large");
	return 0;
}

/* *ret is written only on success. */
static int parse(const struct reader *r, uint64_t *ret)
{
	const char *at = r->text;
	uint64_t value = 0, factor = 0;

	if (r->unlimited && strcmp(r->text, "unlimited") == 0) {
		*ret = POLICY_UNLIMITED;
		return 0;
	}
	do {
		if (take_part(r, &at, &value, &factor) != 0)
			return -1;
	} while (*at);
	*ret = value;
	return 0;
}

int policy_parse_size(const char *text, uint64_t *ret_bytes, struct warder_error *err)
{
	return parse(&(const struct reader){ &sizes, text, false, err }, ret_bytes);
}

int policy_parse_time(const char *text, uint64_t *ret_us, struct warder_error *err)
{
	return parse(&(const struct reader){ &times, text, false, err }, ret_us);
}

static int parse_cpus(const struct reader *r, uint64_t *ret_milli)
{
	uint64_t milli = 0;

	if (parse(r, &milli) != 0)
		return -1;
	if (milli == 0)
		return refuse(r, ": it has to be more than 0");
	*ret_milli = milli;
	return 0;
}

int policy_parse_cpus(const char *text, uint64_t *ret_milli, struct warder_error *err)
{
	return parse_cpus(&(const struct reader){ &cpus, text, false, err }, ret_milli);
}

int policy_parse_size_or_unlimited(const char *text, uint64_t *ret_bytes, struct warder_error *err)
{
	return parse(&(const struct reader){ &sizes, text, true, err }, ret_bytes);
}

int policy_parse_time_or_unlimited(const char *text, uint64_t *ret_us, struct warder_error *err)
{
	return parse(&(const struct reader){ &times, text, true, err }, ret_us);
}

int policy_parse_cpus_or_unlimited(const char *text, uint64_t *ret_milli, struct warder_error *err)
{
	return parse_cpus(&(const struct reader){ &cpus, text, true, err }, ret_milli);
}

int policy_parse_count(const char *text, uint64_t *ret_count, struct warder_error *err)
{
	return parse(&(const struct reader){ &counts, text, false, err }, ret_count);
}

int policy_parse_count_or_unlimited(const char *text, uint64_t *ret_count, struct warder_error *err)
{
	return parse(&(const struct reader){ &counts, text, true, err }, ret_count);
}

/* In the largest unit that leaves a whole number. */
static char *format(const struct measure *measure, uint64_t value, char *buf, size_t len)
{
	const struct unit *best = &measure->units[0];

	if (value == POLICY_UNLIMITED) {
		snprintf(buf, len, "unlimited");
		return buf;
	}
	for (const struct unit *unit = measure->units; unit->name; unit++) {
		if (value != 0 && value % unit->factor == 0)
			best = unit;
	}
	if (value == 0)
		snprintf(buf, len, "%s", measure->zero);
	else
		snprintf(buf, len, "%" PRIu64 "%s", value / best->factor, best->name);
	return buf;
}

char *policy_format_size(uint64_t bytes, char *buf, size_t len)
{
	return format(&sizes, bytes, buf, len);
}

char *policy_format_time(uint64_t us, char *buf, size_t len)
{
	return format(&times, us, buf, len);
}

char *policy_format_cpus(uint64_t milli, char *buf, size_t len)
{
	size_t used;

	if (milli == POLICY_UNLIMITED || milli % 1000 == 0)
		return policy_format_count(milli == POLICY_UNLIMITED ? milli : milli / 1000, buf, len);
	used = (size_t)snprintf(buf, len, "%" PRIu64 ".%03u", milli / 1000, (unsigned)(milli % 1000));
	while (used < len && buf[used - 1] == '0')
		buf[--used] = '\0';
	return buf;
}

char *policy_format_count(uint64_t count, char *buf, size_t len)
{
	if (count == POLICY_UNLIMITED)
		snprintf(buf, len, "unlimited");
	else
		snprintf(buf, len, "%" PRIu64, count);
	return buf;
}
