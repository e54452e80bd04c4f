/*
 * The edge reads what strangers send, so a row of its report may be anything: each row passes through policy_set(), which refuses what
 * a document could not say. Nobody could use a policy with too many ports or bytes: rows beyond that are left out.
 */
#include "runtime/library/learned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/library/result_end.h"

static bool is_same_place(const struct edge_use *a, const struct edge_use *b)
{
	return a->by_address == b->by_address && strcmp(a->destination, b->destination) == 0;
}

static bool came_before(const struct learned *learned, uint32_t row)
{
	for (uint32_t i = 0; i < row; i++)
		if (is_same_place(&learned->uses[i], &learned->uses[row]))
			return true;
	return false;
}

static bool is_first(uint8_t seen[8192], uint16_t port)
{
	const uint8_t bit = (uint8_t)(1 << port % 8);
	const bool first = !(seen[port / 8] & bit);

	seen[port / 8] |= bit;
	return first;
}

/* The rows of a policy name only so many different ports. */
static bool has_room_for_ports(const struct learned *learned, uint32_t first)
{
	const struct policy_endpoints *rows = &learned->policy.network.allow;
	uint8_t seen[8192] = { 0 };
	size_t different = 0;

	for (size_t i = 0; i < rows->count; i++)
		for (size_t j = 0; j < rows->items[i].port_count; j++)
			different += is_first(seen, rows->items[i].ports[j]);
	for (uint32_t i = first; i < learned->use_count; i++)
		if (is_same_place(&learned->uses[i], &learned->uses[first]))
			different += is_first(seen, learned->uses[i].port);
	return different <= POLICY_MAX_PORTS;
}

/* One row of the policy for a destination and all its ports. */
static void add_row(struct learned *learned, uint32_t first)
{
	const struct edge_use *use = &learned->uses[first];
	const bool is_v6 = strchr(use->destination, ':') != NULL;
	struct warder_error ignored = { 0 };
	char text[1024];
	uint64_t connections = 0;
	char separator = ':';
	int used = snprintf(text, sizeof(text), is_v6 ? "[%s%s]" : "%s%s", use->destination,
			    !use->by_address ? ""
			    : is_v6          ? "/128"
					     : "/32");

	for (uint32_t i = first; i < learned->use_count; i++) {
		if (!is_same_place(&learned->uses[i], use))
			continue;
		used += snprintf(text + used, sizeof(text) - (size_t)used, "%c%u", separator,
				 learned->uses[i].port);
		separator = ',';
		connections += learned->uses[i].count;
	}
	if (!has_room_for_ports(learned, first) ||
	    policy_set(&learned->policy, "network.allow", text, &ignored) != 0)
		learned->left_out += connections;
}

/* With its rows it can be too long for a document. */
static bool can_be_read(const struct policy *policy)
{
	char *text = policy_encode(policy);
	struct warder_error ignored = { 0 };
	struct policy read = { 0 };
	const bool can = text && policy_decode(text, strlen(text), "learned", &read, &ignored) == 0;

	policy_done(&read);
	free(text);
	return can;
}

static int leave_rows_out(struct learned *learned, uint64_t unlisted, struct warder_error *err)
{
	learned->left_out = unlisted;
	for (uint32_t i = 0; i < learned->use_count; i++)
		learned->left_out += learned->uses[i].count;
	return policy_set(&learned->policy, "network.allow", "", err);
}

/* -1: no memory. */
static int copy_uses(struct learned *learned, const struct edge_report *report, struct warder_error *err)
{
	if (!report || !report->use_count)
		return 0;
	learned->uses = calloc(report->use_count, sizeof(*learned->uses));
	if (!learned->uses)
		return error_no_memory(err, NULL);
	memcpy(learned->uses, report->uses, report->use_count * sizeof(*learned->uses));
	learned->use_count = report->use_count;
	return 0;
}

static int fill(struct learned *learned, const struct policy *ran, const struct edge_report *report,
		struct warder_error *err)
{
	const uint64_t unlisted = report ? report->uses_unlisted : 0;

	if (policy_copy(ran, &learned->policy, err) != 0 ||
	    policy_set(&learned->policy, "network.mode", "allow", err) != 0 ||
	    policy_set(&learned->policy, "network.allow", "", err) != 0)
		return -1;
	if (copy_uses(learned, report, err) != 0)
		return -1;
	learned->left_out = unlisted;
	for (uint32_t i = 0; i < learned->use_count; i++)
		if (!came_before(learned, i))
			add_row(learned, i);
	if (!can_be_read(&learned->policy) && leave_rows_out(learned, unlisted, err) != 0)
		return -1;
	/* An empty list is no policy. The program had its own loopback. */
	return learned->policy.network.allow.count
		   ? 0
		   : policy_set(&learned->policy, "network.mode", "loopback", err);
}

int learned_new(const struct policy *ran, const struct edge_report *report, struct learned **ret,
		struct warder_error *err)
{
	struct learned *learned = calloc(1, sizeof(*learned));

	if (!learned)
		return error_no_memory(err, NULL);
	if (fill(learned, ran, report, err) != 0) {
		learned_free(learned);
		return -1;
	}
	*ret = learned;
	return 0;
}

int learned_read(const char *policy, size_t len, uint64_t left_out, const struct edge_report *report,
		 struct learned **ret, struct warder_error *err)
{
	struct learned *learned = calloc(1, sizeof(*learned));

	if (!learned)
		return error_no_memory(err, NULL);
	learned->left_out = left_out;
	if (policy_decode(policy, len, "learned", &learned->policy, err) != 0 ||
	    copy_uses(learned, report, err) != 0) {
		learned_free(learned);
		return -1;
	}
	*ret = learned;
	return 0;
}

void learned_replayed(struct learned *learned, const struct jail_outcome *outcome)
{
	const struct edge_report *report = outcome->network;

	learned->replayed = true;
	learned->exit_code = outcome->exit_code;
	learned->signal = outcome->signal;
	for (uint32_t i = 0; i < learned->use_count; i++)
		for (uint32_t j = 0; report && j < report->use_count; j++)
			learned->needed[i] |= report->uses[j].port == learned->uses[i].port &&
					      is_same_place(&report->uses[j], &learned->uses[i]);
}

static void write_uses(struct json_writer *w, const struct learned *learned)
{
	json_key(w, "used");
	json_begin_array(w);
	for (uint32_t i = 0; i < learned->use_count; i++) {
		json_begin_object(w);
		json_key_string(w, "destination", learned->uses[i].destination);
		json_key_uint(w, "port", learned->uses[i].port);
		json_key_uint(w, "connections", learned->uses[i].count);
		if (learned->replayed)
			json_key_bool(w, "needed", learned->needed[i]);
		json_end_object(w);
	}
	json_end_array(w);
}

void learned_write(struct json_writer *w, const struct learned *learned)
{
	const struct jail_outcome ended = { .exit_code = learned->exit_code, .signal = learned->signal };

	json_key(w, "learned");
	json_begin_object(w);
	json_key(w, "policy");
	policy_write(&learned->policy, w);
	write_uses(w, learned);
	json_key_uint(w, "notListed", learned->left_out);
	if (learned->replayed || learned->replay_fault[0]) {
		json_key(w, "replay");
		json_begin_object(w);
		if (learned->replayed)
			result_write_end(&ended, w);
		else
			json_key_string(w, "error", learned->replay_fault);
		json_end_object(w);
	}
	json_end_object(w);
}

void learned_free(struct learned *learned)
{
	if (!learned)
		return;
	policy_done(&learned->policy);
	free(learned->uses);
	free(learned);
}
