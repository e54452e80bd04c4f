#include "tests/bench/report.h"

#include <stdlib.h>
#include <string.h>

const int report_widths[WIDTHS] = { 1, 2, 16 };

static int by_size(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a;
	uint64_t right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

void figures_sort(struct figures *figures)
{
	qsort(figures->ns, (size_t)figures->count, sizeof(*figures->ns), by_size);
	qsort(figures->cpu_ns, (size_t)figures->count, sizeof(*figures->cpu_ns), by_size);
}

static double percentile_of(const uint64_t *ns, int count, int percent)
{
	int at = count * percent / 100;

	if (!count)
		return 0;
	return (double)ns[at < count ? at : count - 1] / 1000;
}

static double percentile_us(const struct figures *figures, int percent)
{
	return percentile_of(figures->ns, figures->count, percent);
}

static double cpu_us(const struct figures *figures, int percent)
{
	return percentile_of(figures->cpu_ns, figures->count, percent);
}

/* Ratio of medians to the named contestant's; 0 when one of them is missing. */
static double ratio(const struct report *report, int i, const char *name)
{
	for (int j = 0; name && j < report->count; j++)
		if (strcmp(report->contestants[j].name, name) == 0 && report->figures[j].count &&
		    report->figures[i].count)
			return percentile_us(&report->figures[i], 50) /
			       percentile_us(&report->figures[j], 50);
	return 0;
}

/* ---- table ---- */

/* Nothing for what was not measured. */
static void print_known(FILE *out, int width, int digits, double value)
{
	if (value > 0)
		fprintf(out, " %*.*f", width, digits, value);
	else
		fprintf(out, " %*s", width, "");
}

static void print_row(const struct report *report, int i, FILE *out)
{
	const struct contestant *contestant = &report->contestants[i];
	const struct figures *figures = &report->figures[i];
	double to_target = ratio(report, i, contestant->target_name);

	fprintf(out, "%-22s", contestant->name);
	if (contestant->failure) {
		fprintf(out, " %s\n", contestant->failure);
		return;
	}
	for (int percent = 50; percent <= 99; percent += percent == 50 ? 40 : 9)
		fprintf(out, " %8.0f", percentile_us(figures, percent));
	print_known(out, 8, 2, ratio(report, i, contestant->floor));
	print_known(out, 8, 2, ratio(report, i, "bwrap"));
	print_known(out, 7, 0, cpu_us(figures, 50));
	for (int w = 0; w < WIDTHS; w++)
		print_known(out, 7, 0, figures->per_second[w]);
	print_known(out, 7, 1, (double)figures->memory_kib / 1024);
	if (to_target > 0)
		fprintf(out, "  %.2f of %s, target %.2f", to_target, contestant->target_name,
			contestant->target);
	fputc('\n', out);
}

void report_table(const struct report *report, FILE *out)
{
	fprintf(out, "\n%s\n%-22s %8s %8s %8s %8s %8s %7s %7s %7s %7s %7s\n", report->title, "", "p50 us",
		"p90 us", "p99 us", "/floor", "/bwrap", "cpu us", "1 /s", "2 /s", "16 /s", "MiB");
	for (int i = 0; i < report->count; i++)
		print_row(report, i, out);
	for (int i = 0; i < report->count; i++)
		if (report->contestants[i].note)
			fprintf(out, "  %s: %s\n", report->contestants[i].name, report->contestants[i].note);
}

/* ---- JSON ---- */

static void json_text(FILE *out, const char *name, const char *text)
{
	fprintf(out, "\"%s\": \"", name);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		fputc((unsigned char)*text < 32 ? ' ' : *text, out);
	}
	fputc('"', out);
}

static void json_ratio(FILE *out, const char *name, double value)
{
	if (value > 0)
		fprintf(out, ", \"%s\": %.3f", name, value);
}

static void json_figures(const struct report *report, int i, FILE *out)
{
	const struct contestant *contestant = &report->contestants[i];
	const struct figures *figures = &report->figures[i];

	fprintf(out,
		", \"iterations\": %d, \"minUs\": %.1f, \"p25Us\": %.1f, \"p50Us\": %.1f, \"p90Us\": %.1f, "
		"\"p99Us\": %.1f",
		figures->count, percentile_us(figures, 0), percentile_us(figures, 25),
		percentile_us(figures, 50), percentile_us(figures, 90), percentile_us(figures, 99));
	json_ratio(out, "cpuP50Us", cpu_us(figures, 50));
	json_ratio(out, "cpuP99Us", cpu_us(figures, 99));
	json_ratio(out, "toFloor", ratio(report, i, contestant->floor));
	json_ratio(out, "toBwrap", ratio(report, i, "bwrap"));
	json_ratio(out, "toTarget", ratio(report, i, contestant->target_name));
	if (contestant->target_name) {
		fputs(", ", out);
		json_text(out, "targetOf", contestant->target_name);
		fprintf(out, ", \"target\": %.2f", contestant->target);
	}
	fputs(", \"perSecond\": {", out);
	for (int w = 0; w < WIDTHS; w++)
		fprintf(out, "%s\"%d\": %.1f", w ? ", " : "", report_widths[w], figures->per_second[w]);
	fputc('}', out);
	if (figures->memory_kib > 0)
		fprintf(out, ", \"launcherPeakKiB\": %ld", figures->memory_kib);
}

void report_json(const struct report *report, FILE *out)
{
	fputs("{", out);
	json_text(out, "program", report->title);
	fputs(", \"contestants\": [", out);
	for (int i = 0; i < report->count; i++) {
		const struct contestant *contestant = &report->contestants[i];

		fputs(i ? ",\n  {" : "\n  {", out);
		json_text(out, "name", contestant->name);
		if (contestant->failure) {
			fputs(", ", out);
			json_text(out, "failure", contestant->failure);
		} else {
			json_figures(report, i, out);
		}
		if (contestant->note) {
			fputs(", ", out);
			json_text(out, "note", contestant->note);
		}
		fputc('}', out);
	}
	fputs("\n]}\n", out);
}
