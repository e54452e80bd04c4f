#include "edge/report.h"

#include <string.h>
#include <time.h>

static void copy_text(char *to, size_t size, const char *from)
{
	size_t n = 0;

	for (; from && from[n] && n + 1 < size; n++)
		to[n] = (char)(from[n] > ' ' && from[n] < 0x7f ? from[n] : '?');
	to[n] = '\0';
}

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

void report_refused(struct edge_report *report, const char *destination, uint16_t port, uint8_t protocol,
		    enum edge_reason reason, const char *detail)
{
	const uint32_t count = atomic_load(&report->row_count);
	struct edge_refusal row = {
		.port = port, .protocol = protocol, .reason = (uint8_t)reason, .count = 1
	};

	atomic_fetch_add(&report->refused, 1);
	copy_text(row.destination, sizeof(row.destination), destination);
	copy_text(row.detail, sizeof(row.detail), detail);
	for (uint32_t i = 0; i < count; i++) {
		struct edge_refusal *old = &report->rows[i];

		if (old->port == port && old->protocol == protocol && old->reason == reason &&
		    strcmp(old->destination, row.destination) == 0 && strcmp(old->detail, row.detail) == 0) {
			old->count++;
			return;
		}
	}
	if (count == EDGE_REFUSALS_MAX) {
		atomic_fetch_add(&report->unlisted, 1);
		return;
	}
	row.first_us = now_us();
	report->rows[count] = row;
	atomic_store(&report->row_count, count + 1);
}

void report_used(struct edge_report *report, const char *destination, uint16_t port, bool by_address)
{
	const uint32_t count = atomic_load(&report->use_count);
	struct edge_use row = { .port = port, .by_address = by_address, .count = 1 };

	copy_text(row.destination, sizeof(row.destination), destination);
	for (uint32_t i = 0; i < count; i++) {
		struct edge_use *old = &report->uses[i];

		if (old->port == port && old->by_address == by_address &&
		    strcmp(old->destination, row.destination) == 0) {
			old->count++;
			return;
		}
	}
	if (count == EDGE_USES_MAX) {
		atomic_fetch_add(&report->uses_unlisted, 1);
		return;
	}
	report->uses[count] = row;
	atomic_store(&report->use_count, count + 1);
}

void report_replaced(struct edge_report *report)
{
	const uint64_t count = atomic_load(&report->rules);

	report->rules_us[count % EDGE_TIMES_MAX] = now_us();
	atomic_store(&report->rules, count + 1);
}
