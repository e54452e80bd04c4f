/*
 * dns: the answers of the jail's resolver, out of the table of names alone: nothing is looked up, so that a question carries nothing
 * out of the jail. Pure.
 */
#ifndef WARDER_EDGE_DNS_H
#define WARDER_EDGE_DNS_H

#include "edge/rules.h"

#define DNS_ANSWER_MAX 560

/* Answer the question in `query` into `answer` (DNS_ANSWER_MAX bytes). A name that is allowed has one A record of a minute and no other
 * data; another name does not exist, and is written to ret_refused (256 bytes), which else is "". Returns the answer's length; 0: it is
 * no question, and gets none. */
size_t dns_answer(struct rules *rules, const uint8_t *query, size_t len, uint8_t *answer, char *ret_refused);

#endif
