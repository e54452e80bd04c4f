/*
 * key: the private key of a tenant, which signs requests. Private to fleet/.
 */
#ifndef WARDER_FLEET_KEY_H
#define WARDER_FLEET_KEY_H

#include <openssl/types.h>

#include "base/error.h"
#include "remote/remote.h"

/* Make a key in a new file of mode 0600; ret_public is "ed25519:" and the public key in base64. -1 with *err (CONFLICT: the file exists). */
int key_make(const char *path, char ret_public[REMOTE_KEY_TEXT], struct warder_error *err);
/* Read such a file. *ret is the caller's, for EVP_PKEY_free(). -1 with *err. */
int key_load(const char *path, EVP_PKEY **ret, struct warder_error *err);
/* Sign a text. Whether it worked. */
bool key_sign(EVP_PKEY *key, const char *text, size_t len, char ret[REMOTE_SIGNATURE_BYTES]);

#endif
