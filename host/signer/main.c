/*
 * warder-signer: signs texts with the key of an execution host, for the launcher.
 *
 * A program of its own, because the launcher is static and has no library for signatures. The key is in its memory alone from the first
 * message on.
 */
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/signer/signer.h"
#include "remote/remote.h"

static EVP_PKEY *read_key(void)
{
	unsigned char seed[REMOTE_KEY_BYTES + 1];
	EVP_PKEY *key = NULL;

	if (recv(STDIN_FILENO, seed, sizeof(seed), 0) == REMOTE_KEY_BYTES)
		key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, REMOTE_KEY_BYTES);
	explicit_bzero(seed, sizeof(seed));
	return key;
}

static bool show_key(const EVP_PKEY *key)
{
	unsigned char public[REMOTE_KEY_BYTES];
	size_t len = sizeof(public);

	return EVP_PKEY_get_raw_public_key(key, public, &len) == 1 && len == sizeof(public) &&
	       send(STDIN_FILENO, public, len, MSG_NOSIGNAL) == (ssize_t)len;
}

static bool sign(EVP_PKEY *key, const unsigned char *text, size_t text_len)
{
	unsigned char signature[REMOTE_SIGNATURE_BYTES];
	size_t len = sizeof(signature);
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	const bool good = context && EVP_DigestSignInit(context, NULL, NULL, NULL, key) == 1 &&
			  EVP_DigestSign(context, signature, &len, text, text_len) == 1 &&
			  len == sizeof(signature);

	EVP_MD_CTX_free(context);
	return good && send(STDIN_FILENO, signature, len, MSG_NOSIGNAL) == (ssize_t)len;
}

int main(void)
{
	unsigned char text[SIGNER_TEXT_MAX];
	EVP_PKEY *key;
	ssize_t len;

	prctl(PR_SET_DUMPABLE, 0);
	prctl(PR_SET_NAME, SIGNER_PROGRAM);
	key = read_key();
	if (!key || !show_key(key)) {
		fputs("warder-signer: \"warder serve --listen\" starts this program\n", stderr);
		return 125;
	}
	while ((len = recv(STDIN_FILENO, text, sizeof(text), 0)) > 0 && sign(key, text, (size_t)len))
		;
	EVP_PKEY_free(key);
	return len != 0;
}
