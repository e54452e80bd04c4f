/*
 * verify: the signature is the last member of the answer, and is found from behind: a string of JSON cannot contain its beginning, because
 * the quotes in it would be escaped. What came after it would not be signed, so that nothing may. Nothing else of the answer is parsed before
 * the signature is known to be good.
 */
#include "remote/verify.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"

#define MEMBER_MAX 300 /* bytes of the signature and the closing brace */

/* Where the last member begins, at the comma; NULL: it is not a signature. */
static const char *find(const char *body, size_t len)
{
	const size_t name_len = strlen(REMOTE_SIGNATURE);
	const size_t least = len > MEMBER_MAX ? len - MEMBER_MAX : 0;

	for (size_t at = len; body && at-- > least;)
		if (len - at > name_len && memcmp(body + at, REMOTE_SIGNATURE, name_len) == 0)
			return body + at;
	return NULL;
}

/* `member` is the JSON from the comma on, to the end of the answer. */
static struct json_value *parse(const char *member, size_t len)
{
	struct json_value *document = NULL;
	struct warder_error ignored;
	char text[MEMBER_MAX + 1];

	if (len > MEMBER_MAX)
		return NULL;
	memcpy(text, member, len);
	text[0] = '{';
	return json_parse(text, len, "signature", NULL, &document, &ignored) == 0 ? document : NULL;
}

bool verify_signature(const char *key, const char *value, const char *statement, size_t statement_len)
{
	size_t key_len = 0, value_len = 0;
	unsigned char *public = (unsigned char *)text_unbase64(key + 8, strlen(key + 8), &key_len);
	unsigned char *signature = (unsigned char *)text_unbase64(value, strlen(value), &value_len);
	EVP_PKEY *of = public && key_len == REMOTE_KEY_BYTES
			   ? EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, public, key_len)
			   : NULL;
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	const bool good = of && signature && context &&
			  EVP_DigestVerifyInit(context, NULL, NULL, NULL, of) == 1 &&
			  EVP_DigestVerify(context, signature, value_len, (const unsigned char *)statement,
					   statement_len) == 1;

	EVP_MD_CTX_free(context);
	EVP_PKEY_free(of);
	free(public);
	free(signature);
	return good;
}

static int check(const struct verify_claim *claim, const char *key, const char *value, const char *statement,
		 size_t statement_len, struct warder_error *err)
{
	if (!remote_is_key(key))
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "backend",
				 "the answer of the host is signed with no known kind of key");
	if (claim->key && strcmp(claim->key, key) != 0)
		return error_set(err, WARDER_ERROR_REJECTED, "backend",
				 "the host shows the key %s, and %s is trusted: it may be another host", key,
				 claim->key);
	if (!verify_signature(key, value, statement, statement_len))
		return error_set(
		    err, WARDER_ERROR_UNAVAILABLE, "backend",
		    "the signature of the answer is wrong: the host has not given this answer to this "
		    "request");
	return 0;
}

int verify_answer(const struct verify_claim *claim, const char *body, size_t len, struct warder_error *err)
{
	const char *at = find(body, len);
	struct json_value *document = at ? parse(at, len - (size_t)(at - body)) : NULL;
	const struct json_value *member = document ? json_member(document, "signature") : NULL;
	char statement[REMOTE_STATEMENT_MAX];
	size_t statement_len;
	int status;

	if (!member || member->type != JSON_OBJECT || json_length(document) != 1) {
		json_free(document);
		return error_set(err, WARDER_ERROR_UNAVAILABLE, "backend",
				 "the answer of the host is not signed");
	}
	statement_len = remote_statement(claim->call, claim->request ? claim->request : "",
					 claim->request_len, body, (size_t)(at - body), statement);
	status = check(claim, json_member_text(member, "key", ""), json_member_text(member, "value", ""),
		       statement, statement_len, err);
	json_free(document);
	return status;
}
