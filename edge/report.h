/*
 * report: writes what was refused, and what was used, into the memory that the supervisor reads.
 */
#ifndef WARDER_EDGE_REPORT_H
#define WARDER_EDGE_REPORT_H

#include "edge/edge.h"

/* Count a refusal. A row with the same destination, port, protocol and reason grows; else there is a new one, as long as there is room.
 * What is not printable in the texts becomes '?'. `detail` may be NULL. */
void report_refused(struct edge_report *report, const char *destination, uint16_t port, uint8_t protocol,
		    enum edge_reason reason, const char *detail);

/* Count a connection to a destination; by_address as in struct edge_use. */
void report_used(struct edge_report *report, const char *destination, uint16_t port, bool by_address);

/* The rules were replaced just now. */
void report_replaced(struct edge_report *report);

#endif
