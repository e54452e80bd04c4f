#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "policy/policy.h"

static const char *const statuses[] = {
	[POLICY_RECEIPT_ENFORCED] = "enforced",
	[POLICY_RECEIPT_NOT_ENFORCED] = "notEnforced",
	[POLICY_RECEIPT_UNRESTRICTED] = "unrestricted",
	[POLICY_RECEIPT_HARDENING] = "hardening",
	[POLICY_RECEIPT_ABSENT] = "absent",
};

static const char *const outputs[] = {
	[POLICY_OUTPUTS_SIGNED] = "outputs are signed by this host",
	[POLICY_OUTPUTS_END_SIGNED] = "the end of the outputs is signed by this host, and the rest is not",
	[POLICY_OUTPUTS_NOT_SIGNED] = "outputs are not signed by this host",
	[POLICY_OUTPUTS_NOT_COMPARED] =
	    "the host has signed the outputs, but Warder did not compare them: a part did not arrive",
};

const char *policy_receipt_status_name(enum policy_receipt_status status)
{
	return statuses[status];
}

/* All rows together take 64 KiB, most of which no receipt uses. */
void policy_receipt_init(struct policy_receipt *ret)
{
	memset(ret, 0, offsetof(struct policy_receipt, rows));
}

/* The row that the control got when the jail was parked. */
static struct policy_receipt_row *row_before(struct policy_receipt *receipt, const char *control)
{
	for (size_t i = 0; i < receipt->count; i++)
		if (!receipt->rows[i].at_hand_out &&
		    strncmp(receipt->rows[i].control, control, sizeof(receipt->rows[i].control) - 1) == 0)
			return &receipt->rows[i];
	return NULL;
}

struct policy_receipt_row *policy_receipt_add(struct policy_receipt *receipt, const char *control,
					      enum policy_receipt_status status)
{
	struct policy_receipt_row *row = receipt->again ? row_before(receipt, control) : NULL;
	size_t len;

	if (receipt->unwanted || (!row && receipt->count == ARRAY_LENGTH(receipt->rows)))
		return NULL;
	if (!row)
		row = &receipt->rows[receipt->count++];
	*row = (struct policy_receipt_row){ .status = status, .at_hand_out = receipt->again };
	len = strnlen(control, sizeof(row->control) - 1);
	memcpy(row->control, control, len); /* the rest is 0 */
	return row;
}

void policy_receipt_drop(struct policy_receipt *receipt)
{
	receipt->unwanted = true;
	receipt->count = 0;
}

void policy_receipt_copy(struct policy_receipt *ret, const struct policy_receipt *receipt)
{
	memcpy(ret, receipt,
	       offsetof(struct policy_receipt, rows) + receipt->count * sizeof(receipt->rows[0]));
}

/* ---- packed ---- */

/* A row is stored as its two numbers, then its texts with their NULs. */
enum { ROW_NUMBERS = 2, ROW_TEXTS = 5 };
#define ROW_BYTES  (ROW_NUMBERS + sizeof(struct policy_receipt_row)) /* no row needs more */
#define HEAD_BYTES offsetof(struct policy_receipt, rows)

struct packed_row {
	atomic_uint users; /* receipts that have it */
	size_t len;
	char bytes[];
};

struct policy_receipt_packed {
	char head[HEAD_BYTES]; /* what is in front of the rows */
	size_t count;
	struct packed_row *rows[];
};

struct row_text {
	char *text;
	size_t size;
};

static void row_texts(struct policy_receipt_row *row, struct row_text ret[ROW_TEXTS])
{
	ret[0] = (struct row_text){ row->control, sizeof(row->control) };
	ret[1] = (struct row_text){ row->requested, sizeof(row->requested) };
	ret[2] = (struct row_text){ row->mechanism, sizeof(row->mechanism) };
	ret[3] = (struct row_text){ row->value, sizeof(row->value) };
	ret[4] = (struct row_text){ row->source, sizeof(row->source) };
}

/* Returns the number of bytes. */
static size_t pack_row(const struct policy_receipt_row *row, char ret[ROW_BYTES])
{
	struct policy_receipt_row copy = *row;
	struct row_text texts[ROW_TEXTS];
	size_t len = ROW_NUMBERS;

	ret[0] = (char)row->status;
	ret[1] = (char)row->at_hand_out;
	row_texts(&copy, texts);
	for (size_t i = 0; i < ROW_TEXTS; i++) {
		const size_t size = strlen(texts[i].text) + 1;

		memcpy(ret + len, texts[i].text, size);
		len += size;
	}
	return len;
}

static void unpack_row(const char *at, struct policy_receipt_row *ret)
{
	struct row_text texts[ROW_TEXTS];

	ret->status = (enum policy_receipt_status)at[0];
	ret->at_hand_out = at[1];
	at += ROW_NUMBERS;
	row_texts(ret, texts);
	for (size_t i = 0; i < ROW_TEXTS; i++) {
		const size_t size = strlen(at) + 1;

		memcpy(texts[i].text, at, size);
		at += size;
	}
}

/* The row of `like`, if that is the same, or a new one; NULL: no memory. */
static struct packed_row *take_row(const struct policy_receipt_row *row, struct packed_row *like)
{
	char bytes[ROW_BYTES];
	const size_t len = pack_row(row, bytes);
	struct packed_row *own;

	if (like && like->len == len && memcmp(like->bytes, bytes, len) == 0) {
		atomic_fetch_add(&like->users, 1);
		return like;
	}
	own = malloc(sizeof(*own) + len);
	if (!own)
		return NULL;
	atomic_init(&own->users, 1);
	own->len = len;
	memcpy(own->bytes, bytes, len);
	return own;
}

struct policy_receipt_packed *policy_receipt_pack(const struct policy_receipt *receipt,
						  const struct policy_receipt_packed *like)
{
	struct policy_receipt_packed *packed =
	    malloc(sizeof(*packed) + receipt->count * sizeof(packed->rows[0]));

	if (!packed)
		return NULL;
	memcpy(packed->head, receipt, HEAD_BYTES);
	for (packed->count = 0; packed->count < receipt->count; packed->count++) {
		const size_t i = packed->count;

		packed->rows[i] = take_row(&receipt->rows[i], like && i < like->count ? like->rows[i] : NULL);
		if (!packed->rows[i]) {
			policy_receipt_packed_free(packed);
			return NULL;
		}
	}
	return packed;
}

void policy_receipt_unpack(const struct policy_receipt_packed *packed, struct policy_receipt *ret)
{
	memcpy(ret, packed->head, HEAD_BYTES);
	for (size_t i = 0; i < packed->count; i++)
		unpack_row(packed->rows[i]->bytes, &ret->rows[i]);
}

void policy_receipt_packed_free(struct policy_receipt_packed *packed)
{
	if (!packed)
		return;
	for (size_t i = 0; i < packed->count; i++)
		if (atomic_fetch_sub(&packed->rows[i]->users, 1) == 1)
			free(packed->rows[i]);
	free(packed);
}

static void write_row(const struct policy_receipt *receipt, const struct policy_receipt_row *row,
		      struct json_writer *writer)
{
	const bool is_reported =
	    receipt->reported && (!receipt->silent || row->status == POLICY_RECEIPT_ENFORCED);
	char reported[48];
	const struct {
		const char *key, *text;
	} members[] = {
		{ "control", row->control },     { "status", is_reported ? reported : statuses[row->status] },
		{ "requested", row->requested }, { "mechanism", row->mechanism },
		{ "value", row->value },         { "source", row->source },
	};

	snprintf(reported, sizeof(reported), "reported by %.32s", receipt->backend);
	json_begin_object(writer);
	for (size_t i = 0; i < ARRAY_LENGTH(members); i++) {
		json_key(writer, members[i].key);
		json_string(writer, members[i].text);
	}
	if (is_reported)
		json_key_string(writer, "reported", statuses[row->status]);
	if (receipt->again)
		json_key_string(writer, "readAt", row->at_hand_out ? "handOut" : "park");
	json_end_object(writer);
}

void policy_receipt_write(const struct policy_receipt *receipt, struct json_writer *writer)
{
	if (receipt->unwanted) {
		json_null(writer);
		return;
	}
	json_begin_object(writer);
	json_key_string(writer, "backend", receipt->backend[0] ? receipt->backend : NULL);
	json_key(writer, "isolation");
	json_string(writer, policy_isolation_name(receipt->isolation));
	json_key(writer, "controls");
	json_begin_array(writer);
	for (size_t i = 0; i < receipt->count; i++)
		write_row(receipt, &receipt->rows[i], writer);
	json_end_array(writer);
	if (receipt->outputs)
		json_key_string(writer, "outputs", outputs[receipt->outputs]);
	if (receipt->again)
		json_key_uint(writer, "parkedUs", receipt->parked_us);
	json_end_object(writer);
}
