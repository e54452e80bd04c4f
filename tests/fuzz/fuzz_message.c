/*
 * message: a signed request that a worker finds in its queue, where whoever may write to the server can put anything. It is refused with a reason, or
 * all of its members are valid; no input here is signed by the key. If its request is put into an envelope and signed, the copy is read again
 * as it was, and no longer is after one of its bytes has changed.
 */
#include <openssl/evp.h>

#include "base/text.h"
#include "fleet/fleet.h"
#include "fleet/message.h"
#include "remote/remote.h"
#include "tests/fuzz/fuzz.h"

static EVP_PKEY *make_key(char ret_public[REMOTE_KEY_TEXT])
{
	static const unsigned char seed[REMOTE_KEY_BYTES] = "a key that only this test knows";
	unsigned char public[REMOTE_KEY_BYTES];
	size_t len = sizeof(public);
	EVP_PKEY *key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, sizeof(seed));
	char *encoded;

	must(key && EVP_PKEY_get_raw_public_key(key, public, &len) == 1 && len == sizeof(public));
	encoded = text_base64((const char *)public, len);
	must(encoded);
	snprintf(ret_public, REMOTE_KEY_TEXT, "ed25519:%s", encoded);
	free(encoded);
	return key;
}

static char *show(const struct json_value *value)
{
	struct json_writer w = { 0 };

	json_copy(&w, value);
	return json_take(&w);
}

/* Whether the key has signed it, and it can be read. */
static bool is_good(const char *text, size_t len, const char *key)
{
	struct message message;
	struct warder_error err = { 0 };
	const bool good =
	    message_read(text, len, &message, &err) == 0 && message_check(&message, key, &err) == 0;

	must(good || err.text[0]);
	message_done(&message);
	return good;
}

static void check_copy(EVP_PKEY *key, const char *public, const struct message *from, size_t line)
{
	const struct message_envelope envelope = {
		.tenant = from->tenant, .batch = from->batch, .line = line, .expires_ms = UINT64_MAX
	};
	struct warder_error err = { 0 };
	struct message copy;
	char id[SHA256_HEX], *text = NULL, *was, *is;
	size_t len = 0;

	if (message_make(key, &envelope, from->request, &text, &len, id, &err) < 0) {
		must(strstr(err.text, "at most")); /* numbers and escapes can be longer than they were */
		return;
	}
	must(message_read(text, len, &copy, &err) == 0 && message_check(&copy, public, &err) == 0);
	must(strcmp(copy.id, id) == 0 && strcmp(copy.tenant, from->tenant) == 0);
	must(strcmp(copy.batch, from->batch) == 0 && copy.expires_ms == UINT64_MAX);
	was = show(from->request);
	is = show(copy.request);
	must(was && is && strcmp(was, is) == 0);
	free(was);
	free(is);
	message_done(&copy);
	text[line % len] ^= 1;
	must(!is_good(text, len, public));
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char public[REMOTE_KEY_TEXT];
	char *text = fuzz_text(data, size);
	EVP_PKEY *key = make_key(public);
	struct warder_error err = { 0 };
	struct message message;

	must(!is_good(text, size, public));
	if (message_read(text, size, &message, &err) == 0) {
		must(size <= FLEET_MESSAGE_MAX + 89 && strlen(message.id) == SHA256_HEX - 1);
		must(message_check_tenant(message.tenant, "tenant", &err) == 0);
		must(strlen(message.batch) == MESSAGE_BATCH_BYTES - 1);
		if (message_check_request(message.request, &err) < 0)
			must(err.text[0]);
		check_copy(key, public, &message, size);
	} else {
		must(err.text[0] && strlen(message.id) == SHA256_HEX - 1);
		must(!message.tenant == !message.batch);
	}
	message_done(&message);
	EVP_PKEY_free(key);
	free(text);
	return 0;
}
