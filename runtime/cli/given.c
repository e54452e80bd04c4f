/*
 * given: a subject is what a flag gives: the field of the policy that it sets, or else the flag itself. A flag that is
 * repeatable has none, except --set, which gives the field that its value names unless that field is a list.
 */
#include "runtime/cli/given.h"

#include <stdio.h>
#include <string.h>

#include "policy/policy.h"
#include "runtime/cli/flags.h"

#define SUBJECTS_MAX 2 /* --max-output gives two fields */

struct subject {
	const char *text;
	size_t length;
};

static size_t split_path(const char *path, struct subject ret[SUBJECTS_MAX])
{
	size_t count = 0;

	while (*path && count < SUBJECTS_MAX) {
		ret[count] = (struct subject){ path, strcspn(path, ",") };
		path += ret[count++].length;
		path += strspn(path, ", ");
	}
	return count;
}

static size_t find_subjects(const struct flag *flag, const char *value, struct subject ret[SUBJECTS_MAX])
{
	if (flag->sets_any) {
		*ret = (struct subject){ value, strcspn(value, "=") };
		return policy_is_list(value, ret->length) ? 0 : 1;
	}
	if (flag->many)
		return 0;
	if (flag->path)
		return split_path(flag->path, ret);
	if (strcmp(flag->name, "--policy") == 0) { /* the two are one choice */
		*ret = (struct subject){ "--preset", strlen("--preset") };
		return 1;
	}
	*ret = (struct subject){ flag->name, strlen(flag->name) };
	return 1;
}

static size_t find_row(const struct given *given, const struct subject *subject)
{
	size_t i = 0;

	while (i < given->count && (given->rows[i].repeats || given->rows[i].length != subject->length ||
				    memcmp(given->rows[i].subject, subject->text, subject->length) != 0))
		i++;
	return i;
}

static int refuse(const char *by, const struct subject *subject, const struct flag *flag, const char *name,
		  const char *value, struct warder_error *err)
{
	if (strcmp(by, flag->name) != 0)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, name,
				 "%s %.80s: %s gives %.*s already; give one of the two", name, value, by,
				 (int)subject->length, subject->text);
	if (flag->many)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, name,
				 "%s %.80s: %.*s is given a second time; give it once", name, value,
				 (int)subject->length, subject->text);
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, name,
			 "%s %.80s: the flag is given a second time; give it once", name, value);
}

static void note(struct given *given, const struct given_row *row, const char *name)
{
	if (given->count == GIVEN_MAX)
		return;
	given->rows[given->count] = *row;
	given->rows[given->count++].letter = name[1] == '-' ? '\0' : name[1];
}

int given_add(struct given *given, enum given_layer layer, const struct flag *flag, const char *name,
	      const char *value, struct warder_error *err)
{
	struct subject subjects[SUBJECTS_MAX];
	const size_t count = find_subjects(flag, value, subjects);
	size_t covered = 0;

	for (size_t i = 0; i < count; i++) {
		const size_t row = find_row(given, &subjects[i]);

		if (row < given->count && given->rows[row].layer != layer)
			covered++;
		else if (row < given->count && flag->argument)
			return refuse(given->rows[row].flag, &subjects[i], flag, name, value, err);
		if (row == given->count)
			note(given,
			     &(struct given_row){ .subject = subjects[i].text,
						  .length = subjects[i].length,
						  .flag = flag->name,
						  .value = value,
						  .layer = layer },
			     name);
	}
	return count > 0 && covered == count;
}

void given_add_row(struct given *given, const struct flag *flag, const char *name, const char *value,
		   const char *path, size_t count)
{
	note(given,
	     &(struct given_row){ .subject = path,
				  .length = strcspn(path, "=,"),
				  .repeats = true,
				  .place = count,
				  .flag = flag->name,
				  .value = value,
				  .layer = GIVEN_LINE },
	     name);
}

bool given_has(const struct given *given, const char *field)
{
	const struct subject subject = { field, strlen(field) };
	const size_t row = find_row(given, &subject);

	return row < given->count && given->rows[row].layer == GIVEN_LINE;
}

/* Whether the field is what the row gave: "limits.memory", "network.deny[2]", or for --env NAME=VALUE "environment.set.NAME". */
static bool gave(const struct given_row *row, const char *field)
{
	const char *rest = field + row->length;
	size_t place = 0;

	if (row->layer != GIVEN_LINE || strncmp(field, row->subject, row->length) != 0)
		return false;
	if (!row->repeats || !*rest)
		return !*rest;
	if (*rest == '.')
		return strlen(rest + 1) == strcspn(row->value, "=") &&
		       strncmp(rest + 1, row->value, strlen(rest + 1)) == 0;
	return sscanf(rest, "[%zu]", &place) == 1 && place + 1 == row->place;
}

static const struct given_row *find_typed(const struct given *given, const char *field)
{
	for (size_t i = 0; i < given->count; i++)
		if (gave(&given->rows[i], field))
			return &given->rows[i];
	return NULL;
}

void given_blame(const struct given *given, struct warder_error *err)
{
	const struct given_row *row = find_typed(given, err->field);
	const size_t length = strlen(err->field);
	const char letter[] = { '-', row ? row->letter : '\0', '\0' };

	if (!row || err->field[0] == '-' || err->code == WARDER_ERROR_REJECTED ||
	    (err->code != WARDER_ERROR_INVALID_REQUEST && !row->repeats) ||
	    strncmp(err->text, err->field, length) != 0 || err->text[length] != ':')
		return;
	error_context(err, "%s%s%.80s", letter[1] ? letter : row->flag, row->value ? " " : "",
		      row->value ? row->value : "");
}

/* A row of a list: which one its value tells, since other layers may have given rows as well. */
static bool is_row(const struct flag *flag, const char *value, const char *field, const char *text)
{
	struct subject lists[SUBJECTS_MAX];
	const size_t count = flag->many && flag->path && value && *value && strstr(text, value)
				 ? split_path(flag->path, lists)
				 : 0;

	for (size_t i = 0; i < count; i++)
		if (strncmp(field, lists[i].text, lists[i].length) == 0 && field[lists[i].length] == '[')
			return true;
	return false;
}

bool given_is_about(const struct flag *flag, const char *value, const char *field, const char *text)
{
	struct subject subjects[SUBJECTS_MAX];
	const size_t count = find_subjects(flag, value ? value : "", subjects);

	/* The library names an option without the dashes. */
	if (is_row(flag, value, field, text) || (!flag->path && strcmp(field, flag->name + 2) == 0))
		return true;

	for (size_t i = 0; i < count; i++)
		if (strlen(field) == subjects[i].length &&
		    memcmp(field, subjects[i].text, subjects[i].length) == 0)
			return true;
	return false;
}
