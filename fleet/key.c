#include "fleet/key.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

#define KEY_FILE_MAX 4096

static char *encode(const unsigned char seed[REMOTE_KEY_BYTES])
{
	char *encoded = text_base64((const char *)seed, REMOTE_KEY_BYTES), *text;
	struct json_writer w = { 0 };

	if (!encoded)
		return NULL;
	json_begin_object(&w);
	json_key_uint(&w, "version", 1);
	json_key_string(&w, "ed25519Seed", encoded);
	json_end_object(&w);
	text = json_take(&w);
	explicit_bzero(encoded, strlen(encoded));
	free(encoded);
	return text;
}

/* "ed25519:" and the public half in base64. */
static bool show_public(EVP_PKEY *key, char ret[REMOTE_KEY_TEXT])
{
	unsigned char public[REMOTE_KEY_BYTES];
	size_t len = sizeof(public);
	char *encoded = NULL;

	if (EVP_PKEY_get_raw_public_key(key, public, &len) == 1 && len == sizeof(public))
		encoded = text_base64((const char *)public, len);
	if (encoded)
		snprintf(ret, REMOTE_KEY_TEXT, "ed25519:%s", encoded);
	free(encoded);
	return encoded != NULL;
}

static int write_new(const char *path, const char *text, struct warder_error *err)
{
	owned_fd int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return error_set_errno(err,
				       errno == EEXIST ? WARDER_ERROR_CONFLICT : WARDER_ERROR_INVALID_REQUEST,
				       "--make-key", errno, "--make-key %.200s", path);
	if (file_write_all(fd, text, strlen(text)) == 0 && file_write_all(fd, "\n", 1) == 0 && fsync(fd) == 0)
		return 0;
	error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "--make-key", errno, "--make-key %.200s", path);
	unlink(path);
	return -1;
}

int key_make(const char *path, char ret_public[REMOTE_KEY_TEXT], struct warder_error *err)
{
	unsigned char seed[REMOTE_KEY_BYTES];
	EVP_PKEY *key = NULL;
	char *text = NULL;
	int status = -1;

	if (getrandom(seed, sizeof(seed), 0) != sizeof(seed))
		return error_set_errno(err, WARDER_ERROR_UNAVAILABLE, "--make-key", errno,
				       "no random number");
	key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, sizeof(seed));
	text = encode(seed);
	explicit_bzero(seed, sizeof(seed));
	if (!key || !text || !show_public(key, ret_public))
		error_no_memory(err, "--make-key");
	else
		status = write_new(path, text, err);
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
	EVP_PKEY_free(key);
	return status;
}

static int bad(const char *path, const char *what, struct warder_error *err)
{
	return error_set(err, WARDER_ERROR_INVALID_REQUEST, "--key", "--key %.200s: %s", path, what);
}

static EVP_PKEY *decode(const char *text, size_t len)
{
	struct json_value *document = NULL;
	struct warder_error ignored;
	EVP_PKEY *key = NULL;
	const char *encoded;
	size_t bytes_len = 0;
	char *bytes;

	if (json_parse(text, len, "key", NULL, &document, &ignored) < 0)
		return NULL;
	encoded = json_member_text(document, "ed25519Seed", "");
	bytes = text_unbase64(encoded, strlen(encoded), &bytes_len);
	if (bytes && bytes_len == REMOTE_KEY_BYTES)
		key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, (unsigned char *)bytes, bytes_len);
	if (bytes)
		explicit_bzero(bytes, bytes_len);
	free(bytes);
	json_free(document);
	return key;
}

int key_load(const char *path, EVP_PKEY **ret, struct warder_error *err)
{
	owned_fd int fd = -1;
	struct stat file;
	char *text = NULL;
	size_t len = 0;

	if (file_open_regular(path, &fd, err) < 0 || fstat(fd, &file) < 0)
		return error_context(err, "--key");
	if ((file.st_uid != geteuid() && file.st_uid != 0) || (file.st_mode & 077))
		return bad(path, "the file must belong to you or to root, and its mode must be 0600", err);
	if (file_read_open(fd, path, KEY_FILE_MAX, &text, &len, err) < 0)
		return error_context(err, "--key");
	*ret = decode(text, len);
	explicit_bzero(text, len);
	free(text);
	return *ret ? 0 : bad(path, "it holds no key that \"warder submit --make-key\" has made", err);
}

bool key_sign(EVP_PKEY *key, const char *text, size_t len, char ret[REMOTE_SIGNATURE_BYTES])
{
	size_t signature_len = REMOTE_SIGNATURE_BYTES;
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	const bool good = context && EVP_DigestSignInit(context, NULL, NULL, NULL, key) == 1 &&
			  EVP_DigestSign(context, (unsigned char *)ret, &signature_len,
					 (const unsigned char *)text, len) == 1 &&
			  signature_len == REMOTE_SIGNATURE_BYTES;

	EVP_MD_CTX_free(context);
	return good;
}
