/*
 * objects: what the object store of NATS is made of. The library that Debian has can publish and read messages, and knows nothing of objects.
 *
 * The description is published after the parts, so an object without one is not there. A part is read by its position, directly from the stream: the
 * first one of the subject after the one before. So nothing has to be made in the server for a reader, and nothing is left there.
 */
#include "fleet/objects.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/json.h"
#include "base/text.h"

#define PART_BYTES  ((size_t)128 << 10)
#define ABOUT_MAX   4096
#define SUBJECT_MAX 160
#define RAW_BYTES   32

/* Base64 for URLs: with '-' and '_'. */
static bool encode(const void *bytes, size_t len, char *ret, size_t size)
{
	char *text = text_base64(bytes, len);
	const bool good = text && strlen(text) < size;

	for (char *at = text; at && *at; at++)
		*at = (char)(*at == '+' ? '-' : *at == '/' ? '_' : *at);
	if (good)
		memcpy(ret, text, strlen(text) + 1);
	free(text);
	return good;
}

static bool make_digest(const char *bytes, size_t len, char ret[OBJECT_DIGEST_BYTES])
{
	unsigned char raw[RAW_BYTES];
	unsigned int raw_len = 0;

	memcpy(ret, "SHA-256=", 9);
	return EVP_Digest(bytes, len, raw, &raw_len, EVP_sha256(), NULL) == 1 && raw_len == sizeof(raw) &&
	       encode(raw, sizeof(raw), ret + 8, OBJECT_DIGEST_BYTES - 8);
}

static void write_subject(const struct object *object, bool about, char ret[SUBJECT_MAX])
{
	char name[SUBJECT_MAX / 2] = "";

	if (about)
		encode(object->name, strlen(object->name), name, sizeof(name));
	snprintf(ret, SUBJECT_MAX, "%s%s", about ? OBJECTS_ABOUT : OBJECTS_PARTS,
		 about ? name : object->name);
}

/* ---- writing ---- */

static int make_object(const char *bytes, size_t len, struct object *ret, struct warder_error *err)
{
	unsigned char raw[(sizeof(ret->name) - 1) / 2];

	if (getrandom(raw, sizeof(raw), 0) != sizeof(raw))
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, NULL, errno, "no random number");
	for (size_t i = 0; i < sizeof(raw); i++)
		snprintf(ret->name + 2 * i, 3, "%02x", raw[i]);
	return make_digest(bytes, len, ret->digest) ? 0 : error_no_memory(err, NULL);
}

static char *write_about(const struct object *object, size_t len)
{
	const time_t now = time(NULL);
	struct json_writer w = { 0 };
	char when[32];
	struct tm parts;

	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
	json_begin_object(&w);
	json_key_string(&w, "name", object->name);
	json_key_string(&w, "bucket", OBJECTS_BUCKET);
	json_key_string(&w, "nuid", object->name);
	json_key_uint(&w, "size", len);
	json_key_string(&w, "mtime", when);
	json_key_uint(&w, "chunks", (len + PART_BYTES - 1) / PART_BYTES);
	json_key_string(&w, "digest", object->digest);
	json_end_object(&w);
	return json_take(&w);
}

static int put_message(const struct queue *queue, const char *subject, const char *bytes, size_t len,
		       bool about, struct warder_error *err)
{
	natsMsg *message = NULL;
	natsStatus status = natsMsg_Create(&message, subject, NULL, bytes, (int)len);

	/* The server then has one description for each name. */
	if (status == NATS_OK && about)
		status = natsMsgHeader_Set(message, "Nats-Rollup", "sub");
	if (status != NATS_OK) {
		natsMsg_Destroy(message);
		return error_no_memory(err, NULL);
	}
	return queue_put(queue, message, NULL, err);
}

int objects_put(const struct queue *queue, const struct object_source *source, struct object *ret,
		struct warder_error *err)
{
	const size_t len = source->len;
	char subject[SUBJECT_MAX], *about = NULL;
	int status = make_object(source->bytes, len, ret, err);

	write_subject(ret, false, subject);
	for (size_t at = 0; status == 0 && at < len; at += PART_BYTES) {
		status = put_message(queue, subject, source->bytes + at,
				     len - at < PART_BYTES ? len - at : PART_BYTES, false, err);
		source->beat(source->context);
	}
	if (status == 0) {
		about = write_about(ret, len);
		write_subject(ret, true, subject);
		status = about ? put_message(queue, subject, about, strlen(about), true, err)
			       : error_no_memory(err, NULL);
		free(about);
	}
	if (status != 0)
		objects_remove(queue, ret);
	return status;
}

void objects_remove(const struct queue *queue, const struct object *object)
{
	char subject[SUBJECT_MAX];
	jsOptions options;

	jsOptions_Init(&options);
	options.Stream.Purge.Subject = subject;
	for (int about = 1; about >= 0; about--) {
		write_subject(object, about, subject);
		js_PurgeStream(queue->js, OBJECTS_STREAM, &options, NULL);
	}
}

/* ---- reading ---- */

static int bad(const char *what, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_UNAVAILABLE, "result", "the object with the result %s", what);
}

/* The next message of a subject, from a position on; 0: the last one. As objects_get(). */
static int get_message(const struct queue *queue, const char *subject, uint64_t from, natsMsg **ret,
		       struct warder_error *err)
{
	jsDirectGetMsgOptions options;
	natsStatus status;

	jsDirectGetMsgOptions_Init(&options);
	options.Sequence = from;
	if (from)
		options.NextBySubject = subject;
	else
		options.LastBySubject = subject;
	status = js_DirectGetMsg(ret, queue->js, OBJECTS_STREAM, NULL, &options);
	if (status == NATS_OK)
		return 0;
	if (status == NATS_NOT_FOUND)
		return bad("is not in the server any more", err);
	error_set(err, WARDER_ERROR_UNAVAILABLE, "--nats", "the server does not give an object: %s",
		  natsStatus_GetText(status));
	return 1;
}

/* Read the size. */
static int get_about(const struct queue *queue, const struct object *object, size_t max, size_t *ret_len,
		     struct warder_error *err)
{
	const struct json_limits limits = { .max_bytes = ABOUT_MAX };
	struct json_value *about = NULL;
	const struct json_value *size = NULL;
	struct warder_error ignored;
	natsMsg *message = NULL;
	char subject[SUBJECT_MAX];
	int status;

	write_subject(object, true, subject);
	status = get_message(queue, subject, 0, &message, err);
	if (status != 0)
		return status;
	if (json_parse(natsMsg_GetData(message), (size_t)natsMsg_GetDataLength(message), "object", &limits,
		       &about, &ignored) == 0)
		size = json_member(about, "size");
	if (!size || !size->is_uint || strcmp(json_member_text(about, "nuid", ""), object->name) != 0 ||
	    strcmp(json_member_text(about, "digest", ""), object->digest) != 0)
		status = bad("has another description than its sender wrote", err);
	else if (size->uint > max)
		status = bad("is longer than a result may be", err);
	else
		*ret_len = size->uint;
	json_free(about);
	natsMsg_Destroy(message);
	return status;
}

static int get_parts(const struct queue *queue, const struct object *object, char *bytes, size_t len,
		     struct warder_error *err)
{
	char subject[SUBJECT_MAX];
	uint64_t from = 1;
	int status = 0;

	write_subject(object, false, subject);
	for (size_t at = 0; status == 0 && at < len;) {
		natsMsg *message = NULL;
		size_t part;

		status = get_message(queue, subject, from, &message, err);
		if (status != 0)
			return status;
		part = (size_t)natsMsg_GetDataLength(message);
		if (!part || part > len - at)
			status = bad("has parts of a wrong length", err);
		else
			memcpy(bytes + at, natsMsg_GetData(message), part);
		at += part;
		from = natsMsg_GetSequence(message) + 1;
		natsMsg_Destroy(message);
	}
	return status;
}

int objects_get(const struct queue *queue, const struct object *object, size_t max, char **ret,
		size_t *ret_len, struct warder_error *err)
{
	char digest[OBJECT_DIGEST_BYTES], *bytes;
	size_t len = 0;
	int status = get_about(queue, object, max, &len, err);

	if (status != 0)
		return status;
	bytes = malloc(len + 1);
	if (!bytes)
		return error_no_memory(err, NULL);
	status = get_parts(queue, object, bytes, len, err);
	if (status == 0 && (!make_digest(bytes, len, digest) || strcmp(digest, object->digest) != 0))
		status = bad("is not what its digest says", err);
	if (status != 0) {
		free(bytes);
		return status;
	}
	bytes[len] = '\0';
	*ret = bytes;
	*ret_len = len;
	return 0;
}
