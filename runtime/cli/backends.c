/*
 * The same policy goes the way of a run once for each backend, up to the point where kernel objects would be made. What a policy
 * asks for does not depend on who enforces it, so that the rows of all of them are the same rows.
 */
#include "runtime/cli/backends.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "runtime/cli/commands.h"
#include "runtime/cli/term.h"
#include "runtime/code/code.h"
#include "runtime/library/explain.h"

#define COLUMN_WIDTH 20

struct column {
	char name[40];
	struct preparation preparation;
	struct explain_row rows[EXPLAIN_ROWS_MAX];
	size_t row_count;
	bool runs;
	struct warder_error refused; /* unless it runs */
};

struct columns {
	const struct policy *policy;
	struct column *at[BACKEND_COUNT_MAX];
	size_t count;
};

static void columns_done(struct columns *columns)
{
	while (columns->count) {
		preparation_done(&columns->at[--columns->count]->preparation);
		free(columns->at[columns->count]);
	}
}

static int add_column(struct columns *columns, const struct args *args, const char *name, size_t len,
		      struct warder_error *err)
{
	struct column *column = columns->count < BACKEND_COUNT_MAX ? calloc(1, sizeof(*column)) : NULL;
	struct preparation_options options = {
		.ceiling = args->ceiling ? &args->ceiling->policy : NULL,
		.cgroup_parent = args->cgroup_parent,
		.backends = args->backends,
		.any_subject = true,
		.remotes = true,
		.thorough = true,
	};

	if (!column)
		return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--backend",
				 "there are too many backends");
	columns->at[columns->count++] = column;
	snprintf(column->name, sizeof(column->name), "%.*s", (int)len, name);
	options.backend = column->name;
	if (strcmp(column->name, BACKEND_AUTO) != 0 && backend_check_name(column->name, err) != 0)
		return -1;
	column->runs =
	    preparation_build(columns->policy, &options, &column->preparation, &column->refused) == 0;
	if (column->preparation.matched)
		column->row_count = explain_rows(columns->policy, &column->preparation, column->rows);
	if (!column->runs && column->preparation.match.required_count == 0)
		explain_refused(column->rows, column->row_count, &column->refused);
	return 0;
}

static int take_names(struct columns *columns, const struct args *args, struct warder_error *err)
{
	const char *name = args->backend;

	for (;;) {
		size_t len = strcspn(name, ",");

		if (add_column(columns, args, name, len, err) != 0)
			return -1;
		if (!name[len])
			return 0;
		name += len + 1;
	}
}

static const struct explain_row *row_of(const struct column *column, size_t i)
{
	return i < column->row_count ? &column->rows[i] : NULL;
}

static const char *word_of(const struct explain_row *row)
{
	return row ? explain_word(row->state) : "off";
}

/* A row that one of them has, for its names: whoever was not asked, because it is off, has none. */
static const struct explain_row *any_row(const struct columns *columns, size_t i)
{
	for (size_t c = 0; c < columns->count; c++)
		if (row_of(columns->at[c], i))
			return row_of(columns->at[c], i);
	return NULL;
}

static bool differs(const struct columns *columns, size_t i)
{
	const struct explain_row *first = row_of(columns->at[0], i);

	for (size_t c = 1; c < columns->count; c++) {
		const struct explain_row *row = row_of(columns->at[c], i);

		if (!first != !row ||
		    (row && (row->state != first->state || strcmp(row->by, first->by) != 0)))
			return true;
	}
	return false;
}

/* ---- as text ---- */

static void print_table(const struct columns *columns)
{
	const struct explain_row *row;

	term_print(TERM_PLAIN, 24, "");
	for (size_t c = 0; c < columns->count; c++)
		term_print(TERM_TITLE, COLUMN_WIDTH, columns->at[c]->name);
	putchar('\n');
	for (size_t i = 0; (row = any_row(columns, i)); i++) {
		term_print(TERM_PLAIN, 24, row->field);
		for (size_t c = 0; c < columns->count; c++)
			term_print(TERM_PLAIN, COLUMN_WIDTH, word_of(row_of(columns->at[c], i)));
		putchar('\n');
	}
	term_print(TERM_PLAIN, 24, "isolation");
	for (size_t c = 0; c < columns->count; c++) {
		const struct backend *backend = columns->at[c]->preparation.backend;

		term_print(TERM_PLAIN, COLUMN_WIDTH,
			   backend ? policy_isolation_name(backend->isolation) : "-");
		putchar(' ');
	}
	putchar('\n');
}

static void print_differences(const struct columns *columns)
{
	const struct explain_row *row;

	putchar('\n');
	term_title("Differences");
	for (size_t i = 0; (row = any_row(columns, i)); i++) {
		if (!differs(columns, i))
			continue;
		printf("  %s %s\n", row->field, row->requested);
		for (size_t c = 0; c < columns->count; c++) {
			const struct explain_row *own = row_of(columns->at[c], i);

			printf("    ");
			term_print(TERM_PLAIN, 10, columns->at[c]->name);
			printf("%s%s%s\n", word_of(own), own && own->by[0] ? ": " : "", own ? own->by : "");
		}
	}
}

static void print_verdicts(const struct columns *columns)
{
	putchar('\n');
	for (size_t c = 0; c < columns->count; c++) {
		struct column *column = columns->at[c];

		term_print(TERM_PLAIN, 10, column->name);
		if (column->runs)
			puts("would run it");
		else
			printf("would refuse it: %s\n", column->refused.text);
	}
}

/* ---- as JSON ---- */

static void write_column(struct json_writer *w, const struct column *column)
{
	const struct backend *backend = column->preparation.backend;

	json_begin_object(w);
	json_key_string(w, "backend", column->name);
	json_key_string(w, "chosen", backend ? backend->name : NULL);
	json_key_string(w, "isolation", backend ? policy_isolation_name(backend->isolation) : NULL);
	describe_write_abilities(backend, &column->preparation.capabilities, backend && column->runs, w);
	json_key_bool(w, "wouldRun", column->runs);
	json_key_string(w, "message", column->runs ? NULL : column->refused.text);
	json_key_string(w, "passedOver",
			column->preparation.passed_over[0] ? column->preparation.passed_over : NULL);
	json_end_object(w);
}

static void write_rows(struct json_writer *w, const struct columns *columns)
{
	const struct explain_row *row;

	for (size_t i = 0; (row = any_row(columns, i)); i++) {
		json_begin_object(w);
		json_key_string(w, "field", row->field);
		json_key_string(w, "control", row->control);
		json_key_string(w, "requested", row->requested);
		json_key_bool(w, "differs", differs(columns, i));
		json_key(w, "backends");
		json_begin_object(w);
		for (size_t c = 0; c < columns->count; c++) {
			const struct explain_row *own = row_of(columns->at[c], i);

			json_key(w, columns->at[c]->name);
			json_begin_object(w);
			json_key_string(w, "state", word_of(own));
			json_key_string(w, "by", own ? own->by : NULL);
			json_end_object(w);
		}
		json_end_object(w);
		json_end_object(w);
	}
}

static void print_json(const struct columns *columns)
{
	struct json_writer w = { 0 };
	char *text;

	json_begin_object(&w);
	json_key(&w, "backends");
	json_begin_array(&w);
	for (size_t c = 0; c < columns->count; c++)
		write_column(&w, columns->at[c]);
	json_end_array(&w);
	json_key(&w, "fields");
	json_begin_array(&w);
	write_rows(&w, columns);
	json_end_array(&w);
	json_end_object(&w);
	text = json_take(&w);
	puts(text ? text : "null");
	free(text);
}

int backends_compare(const struct args *args, struct warder_error *err)
{
	struct columns columns = { .policy = &args->policy->policy };
	int status = 0;

	if (take_names(&columns, args, err) != 0) {
		columns_done(&columns);
		return -1;
	}
	if (args->json) {
		print_json(&columns);
	} else {
		for (size_t c = 0; c < columns.count; c++)
			term_clean(columns.at[c]->refused.text);
		print_table(&columns);
		print_differences(&columns);
		print_verdicts(&columns);
	}
	for (size_t c = 0; c < columns.count; c++)
		status |= columns.at[c]->runs ? 0 : EXIT_REFUSED;
	columns_done(&columns);
	return status;
}

/* ---- the matrix ---- */

static bool has_ability(const struct description *row, enum describe_ability ability)
{
	return row->state == DESCRIBE_AVAILABLE &&
	       describe_has_ability(row->backend, &row->capabilities, ability);
}

static void matrix_json(const struct description *all, size_t count)
{
	struct json_writer w = { 0 };
	char *text;

	json_begin_object(&w);
	for (int control = 0; control < POLICY_CONTROL_COUNT; control++) {
		json_key(&w, policy_control_name((enum policy_control)control));
		json_begin_object(&w);
		for (size_t i = 0; i < count; i++) {
			json_key(&w, all[i].backend->name);
			policy_capability_write(&all[i].capabilities.controls[control], &w);
		}
		json_end_object(&w);
	}
	json_key(&w, "abilities");
	json_begin_object(&w);
	for (int ability = 0; ability < DESCRIBE_ABILITY_COUNT; ability++) {
		json_key(&w, describe_ability_name((enum describe_ability)ability));
		json_begin_object(&w);
		for (size_t i = 0; i < count; i++)
			json_key_bool(&w, all[i].backend->name,
				      has_ability(&all[i], (enum describe_ability)ability));
		json_end_object(&w);
	}
	json_end_object(&w);
	json_end_object(&w);
	text = json_take(&w);
	puts(text ? text : "null");
	free(text);
}

static void matrix_title(const char *title, const struct description *all, size_t count)
{
	term_print(TERM_TITLE, 32, title);
	for (size_t i = 0; i < count; i++)
		term_print(TERM_TITLE, 10, all[i].backend->name);
	putchar('\n');
}

static void matrix_text(const struct description *all, size_t count)
{
	matrix_title("control", all, count);
	for (int control = 0; control < POLICY_CONTROL_COUNT; control++) {
		term_print(TERM_PLAIN, 32, policy_control_name((enum policy_control)control));
		for (size_t i = 0; i < count; i++) {
			const bool enforced = all[i].capabilities.controls[control].enforced;

			term_print(enforced ? TERM_GOOD : TERM_DIM, 10, enforced ? "enforced" : "refused");
		}
		putchar('\n');
	}
	putchar('\n');
	matrix_title("ability", all, count);
	for (int ability = 0; ability < DESCRIBE_ABILITY_COUNT; ability++) {
		term_print(TERM_PLAIN, 32, describe_ability_name((enum describe_ability)ability));
		for (size_t i = 0; i < count; i++) {
			const bool has = has_ability(&all[i], (enum describe_ability)ability);

			term_print(has ? TERM_GOOD : TERM_DIM, 10, has ? "yes" : "no");
		}
		putchar('\n');
	}
}

int backends_matrix(const struct args *args, struct warder_error *err)
{
	struct description *all = calloc(BACKEND_COUNT_MAX, sizeof(*all));
	struct describe describe;
	size_t count = 0;

	if (!all)
		return error_no_memory(err, NULL);
	if (describe_open(&args->policy->policy, args->backends, args->cgroup_parent, &describe, err) != 0) {
		free(all);
		return -1;
	}
	for (; backend_at(count); count++)
		describe_backend(&describe, backend_at(count), &all[count]);
	if (args->json)
		matrix_json(all, count);
	else
		matrix_text(all, count);
	describe_close(&describe);
	free(all);
	return 0;
}
