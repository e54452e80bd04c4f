/*
 * OpenSSL is found at the start by its name, so that an edge without credentials has neither its code nor its memory. The functions are
 * called through a table of the same types as the headers declare.
 *
 * The authority and every certificate are for this run: P-256, one key for the authority and one for all hosts. Towards the host the
 * certificate is checked against the host's authorities and the name; TLS 1.2 or later; HTTP/1.1 is the only protocol on both ends.
 */
#include "edge/tls.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/array.h"
#include "edge/edge.h"

#define FUNCTIONS(X)                                                                                         \
	X(ASN1_INTEGER_set_uint64)                                                                           \
	X(BIO_ctrl)                                                                                          \
	X(BIO_free)                                                                                          \
	X(BIO_new)                                                                                           \
	X(BIO_new_mem_buf)                                                                                   \
	X(BIO_read)                                                                                          \
	X(BIO_s_mem)                                                                                         \
	X(BIO_write)                                                                                         \
	X(ERR_clear_error)                                                                                   \
	X(ERR_get_error)                                                                                     \
	X(ERR_reason_error_string)                                                                           \
	X(EVP_PKEY_Q_keygen)                                                                                 \
	X(EVP_sha256)                                                                                        \
	X(OPENSSL_init_ssl)                                                                                  \
	X(OPENSSL_sk_num)                                                                                    \
	X(OPENSSL_sk_value)                                                                                  \
	X(PEM_read_bio_X509)                                                                                 \
	X(PEM_write_bio_X509)                                                                                \
	X(RAND_bytes)                                                                                        \
	X(SSL_CTX_ctrl)                                                                                      \
	X(SSL_CTX_get_cert_store)                                                                            \
	X(SSL_CTX_new)                                                                                       \
	X(SSL_CTX_set_alpn_protos)                                                                           \
	X(SSL_CTX_set_alpn_select_cb)                                                                        \
	X(SSL_CTX_set_cert_verify_callback)                                                                  \
	X(SSL_CTX_set_options)                                                                               \
	X(SSL_CTX_set_verify)                                                                                \
	X(SSL_CTX_use_PrivateKey)                                                                            \
	X(SSL_CTX_use_certificate)                                                                           \
	X(SSL_ctrl)                                                                                          \
	X(SSL_do_handshake)                                                                                  \
	X(SSL_free)                                                                                          \
	X(SSL_get0_alpn_selected)                                                                            \
	X(SSL_get_error)                                                                                     \
	X(SSL_get_verify_result)                                                                             \
	X(SSL_new)                                                                                           \
	X(SSL_read)                                                                                          \
	X(SSL_set0_rbio)                                                                                     \
	X(SSL_set0_wbio)                                                                                     \
	X(SSL_set1_host)                                                                                     \
	X(SSL_set_accept_state)                                                                              \
	X(SSL_set_connect_state)                                                                             \
	X(SSL_set_hostflags)                                                                                 \
	X(SSL_shutdown)                                                                                      \
	X(SSL_write)                                                                                         \
	X(TLS_client_method)                                                                                 \
	X(TLS_server_method)                                                                                 \
	X(X509_EXTENSION_free)                                                                               \
	X(X509_NAME_add_entry_by_txt)                                                                        \
	X(X509_NAME_hash_ex)                                                                                 \
	X(X509_STORE_CTX_get0_untrusted)                                                                     \
	X(X509_STORE_add_cert)                                                                               \
	X(X509_add_ext)                                                                                      \
	X(X509_free)                                                                                         \
	X(X509_get_issuer_name)                                                                              \
	X(X509_getm_notAfter)                                                                                \
	X(X509_getm_notBefore)                                                                               \
	X(X509_get_serialNumber)                                                                             \
	X(X509_get_subject_name)                                                                             \
	X(X509_gmtime_adj)                                                                                   \
	X(X509_new)                                                                                          \
	X(X509_set_issuer_name)                                                                              \
	X(X509_set_pubkey)                                                                                   \
	X(X509_set_version)                                                                                  \
	X(X509_sign)                                                                                         \
	X(X509_verify_cert)                                                                                  \
	X(X509_verify_cert_error_string)                                                                     \
	X(X509V3_EXT_conf_nid)                                                                               \
	X(X509V3_set_ctx)

static struct {
#define X(name) __typeof__(&name) name;
	FUNCTIONS(X)
#undef X
} ssl;

static const char *const names[] = {
#define X(name) #name,
	FUNCTIONS(X)
#undef X
};
_Static_assert(sizeof(ssl) == sizeof(names), "one pointer for each name");

struct tls {
	SSL *ssl;
	BIO *in, *out; /* the SSL's */
};

/* An authority of the host: where its certificate is in the text. */
struct root {
	unsigned long name; /* a hash of its subject */
	size_t at;
	bool added; /* to the store */
};

struct host {
	char name[256];
	SSL_CTX *context;
};

static struct {
	EVP_PKEY *authority_key, *key;
	X509 *authority;
	SSL_CTX *client;
	char *trust; /* heap: the host's authorities */
	ssize_t trust_len;
	struct root *roots; /* heap: of these, from the first connection on */
	size_t root_count;
	struct host hosts[EDGE_INJECTS_MAX];
	size_t host_count;
	char pem[EDGE_AUTHORITY_MAX];
} state;

static int load(void)
{
	void *library = dlopen("libssl.so.3", RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return -1;
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		void *function = dlsym(library, names[i]); /* those of libcrypto too: it depends on that */

		if (!function)
			return -1;
		memcpy((char *)&ssl + i * sizeof(function), &function, sizeof(function));
	}
	return 0;
}

/* ---- certificates ---- */

static bool extend(X509 *certificate, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX context;
	X509_EXTENSION *extension;
	bool good;

	ssl.X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
	context.db = NULL;
	extension = ssl.X509V3_EXT_conf_nid(NULL, &context, nid, value);
	good = extension && ssl.X509_add_ext(certificate, extension, -1) == 1;
	ssl.X509_EXTENSION_free(extension);
	return good;
}

static bool fill(X509 *certificate, EVP_PKEY *key, X509 *issuer, const char *name)
{
	uint64_t serial = 0;

	ssl.RAND_bytes((unsigned char *)&serial, sizeof(serial));
	return ssl.X509_set_version(certificate, 2) == 1 &&
	       ssl.ASN1_INTEGER_set_uint64(ssl.X509_get_serialNumber(certificate), serial >> 1) == 1 &&
	       /* A clock in the jail may be a little behind, and a session may last. */
	       ssl.X509_gmtime_adj(ssl.X509_getm_notBefore(certificate), -86400) &&
	       ssl.X509_gmtime_adj(ssl.X509_getm_notAfter(certificate), 364L * 86400) &&
	       ssl.X509_set_pubkey(certificate, key) == 1 &&
	       ssl.X509_NAME_add_entry_by_txt(ssl.X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
					      (const unsigned char *)name, -1, -1, 0) == 1 &&
	       ssl.X509_set_issuer_name(certificate, ssl.X509_get_subject_name(issuer)) == 1;
}

static X509 *make_authority(EVP_PKEY *key)
{
	X509 *made = ssl.X509_new();

	if (made && fill(made, key, made, "Warder authority of one run") &&
	    extend(made, made, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
	    extend(made, made, NID_key_usage, "critical,keyCertSign,cRLSign") &&
	    extend(made, made, NID_subject_key_identifier, "hash") &&
	    ssl.X509_sign(made, key, ssl.EVP_sha256()) > 0)
		return made;
	ssl.X509_free(made);
	return NULL;
}

static X509 *make_leaf(const char *name)
{
	X509 *made = ssl.X509_new();
	char alternative[264];
	char common[64]; /* a common name has at most 64 bytes */

	snprintf(alternative, sizeof(alternative), "DNS:%s", name);
	snprintf(common, sizeof(common), "%.63s", name);
	if (made && fill(made, state.key, state.authority, common) &&
	    extend(made, state.authority, NID_basic_constraints, "critical,CA:FALSE") &&
	    extend(made, state.authority, NID_key_usage, "critical,digitalSignature") &&
	    extend(made, state.authority, NID_ext_key_usage, "serverAuth") &&
	    extend(made, state.authority, NID_subject_alt_name, alternative) &&
	    extend(made, state.authority, NID_subject_key_identifier, "hash") &&
	    extend(made, state.authority, NID_authority_key_identifier, "keyid:always") &&
	    ssl.X509_sign(made, state.authority_key, ssl.EVP_sha256()) > 0)
		return made;
	ssl.X509_free(made);
	return NULL;
}

int tls_init(const char **ret_what)
{
	/* Buffers of a connection go back to the system with it. */
	mallopt(M_MMAP_THRESHOLD, 64 << 10);
	mallopt(M_TRIM_THRESHOLD, 64 << 10);
	*ret_what = "OpenSSL (libssl.so.3), which network.allow with inject needs";
	errno = ENOENT;
	if (load() < 0)
		return -1;
	*ret_what = "the authority of this run";
	errno = ENOMEM;
	if (ssl.OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT, NULL) != 1)
		return -1;
	state.authority_key = ssl.EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
	state.key = ssl.EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
	if (!state.authority_key || !state.key)
		return -1;
	state.authority = make_authority(state.authority_key);
	return state.authority ? 0 : -1;
}

const char *tls_authority(size_t *ret_len)
{
	BIO *bio = ssl.BIO_new(ssl.BIO_s_mem());
	int n = 0;

	if (bio && ssl.PEM_write_bio_X509(bio, state.authority) == 1)
		n = ssl.BIO_read(bio, state.pem, sizeof(state.pem) - 1);
	ssl.BIO_free(bio);
	*ret_len = n > 0 ? (size_t)n : 0;
	return n > 0 ? state.pem : NULL;
}

/* ---- the host's authorities ---- */

static unsigned long hash_of(const X509_NAME *name)
{
	return ssl.X509_NAME_hash_ex(name, NULL, NULL, NULL);
}

static X509 *read_root(BIO *text)
{
	return ssl.PEM_read_bio_X509(text, NULL, NULL, NULL);
}

/* At the first connection: to read some 140 certificates takes longer than the rest of a launch. They are not kept, because they would take
 * 1.6 MB of memory. */
static bool find_roots(void)
{
	BIO *text = ssl.BIO_new_mem_buf(state.trust, (int)state.trust_len);
	size_t room = 0;
	bool good = text != NULL;

	while (good) {
		const size_t at =
		    (size_t)state.trust_len - (size_t)ssl.BIO_ctrl(text, BIO_CTRL_PENDING, 0, NULL);
		X509 *certificate = read_root(text);

		if (!certificate)
			break;
		if (state.root_count == room) {
			struct root *more = realloc(
			    state.roots, (room += 256) * sizeof(*more)); /* of more than most hosts have */

			good = more != NULL;
			state.roots = more ? more : state.roots;
		}
		if (good)
			state.roots[state.root_count++] =
			    (struct root){ hash_of(ssl.X509_get_subject_name(certificate)), at, false };
		ssl.X509_free(certificate);
	}
	ssl.BIO_free(text);
	ssl.ERR_clear_error();
	return good;
}

/* Put the authorities with this name into the store, and those that issued them. */
static void add_roots(unsigned long name)
{
	for (size_t i = 0; i < state.root_count; i++) {
		struct root *root = &state.roots[i];
		BIO *text;
		X509 *certificate;

		if (root->added || root->name != name)
			continue;
		root->added = true;
		text = ssl.BIO_new_mem_buf(state.trust + root->at, (int)((size_t)state.trust_len - root->at));
		certificate = text ? read_root(text) : NULL;
		ssl.BIO_free(text);
		if (!certificate)
			continue;
		ssl.X509_STORE_add_cert(ssl.SSL_CTX_get_cert_store(state.client), certificate);
		add_roots(hash_of(ssl.X509_get_issuer_name(certificate)));
		ssl.X509_free(certificate);
	}
}

/* Before the check of a server, the store gets what may end its chain: authorities are looked for by their names. */
static int verify(X509_STORE_CTX *check, void *context)
{
	const STACK_OF(X509) *chain = ssl.X509_STORE_CTX_get0_untrusted(check); /* with the server's own */

	for (int i = 0; i < ssl.OPENSSL_sk_num((const OPENSSL_STACK *)chain); i++) {
		const X509 *one = ssl.OPENSSL_sk_value((const OPENSSL_STACK *)chain, i);

		add_roots(hash_of(ssl.X509_get_issuer_name(one)));
		add_roots(hash_of(ssl.X509_get_subject_name(one)));
	}
	ssl.ERR_clear_error();
	return ssl.X509_verify_cert(check);
}

/* The protocols of ALPN, each behind its length. */
static const unsigned char http1[] = { 8, 'h', 't', 't', 'p', '/', '1', '.', '1' };

int tls_trust(const char *path, const char **ret_what)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	*ret_what = "the host's authorities, in /etc/ssl/certs/ca-certificates.crt";
	if (fd < 0)
		return -1;
	state.trust = fstat(fd, &st) == 0 && st.st_size < INT_MAX ? malloc((size_t)st.st_size) : NULL;
	state.trust_len = state.trust ? read(fd, state.trust, (size_t)st.st_size) : 0;
	close(fd);
	errno = EINVAL;
	if (state.trust_len <= 0 || !memmem(state.trust, (size_t)state.trust_len, "BEGIN CERTIFICATE", 17))
		return -1;
	state.client = ssl.SSL_CTX_new(ssl.TLS_client_method());
	if (!state.client)
		return -1;
	ssl.SSL_CTX_set_verify(state.client, SSL_VERIFY_PEER, NULL);
	ssl.SSL_CTX_set_cert_verify_callback(state.client, verify, NULL);
	ssl.SSL_CTX_ctrl(state.client, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL);
	ssl.SSL_CTX_ctrl(state.client, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, NULL);
	/* 0 is success. */
	return ssl.SSL_CTX_set_alpn_protos(state.client, http1, sizeof(http1)) == 0 ? 0 : -1;
}

/* ---- hosts with a credential ---- */

static int choose_protocol(SSL *connection, const unsigned char **ret, unsigned char *ret_len,
			   const unsigned char *offered, unsigned int len, void *context)
{
	for (unsigned int at = 0; at < len && offered[at] < len - at; at += offered[at] + 1u)
		if (offered[at] == http1[0] && memcmp(offered + at + 1, http1 + 1, http1[0]) == 0) {
			*ret = offered + at + 1;
			*ret_len = http1[0];
			return SSL_TLSEXT_ERR_OK;
		}
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

int tls_add_name(const char *name)
{
	struct host *host = &state.hosts[state.host_count];
	X509 *leaf;
	bool good;

	for (size_t i = 0; i < state.host_count; i++)
		if (strcmp(state.hosts[i].name, name) == 0)
			return 0;
	if (state.host_count == ARRAY_LENGTH(state.hosts))
		return -1;
	leaf = make_leaf(name);
	host->context = ssl.SSL_CTX_new(ssl.TLS_server_method());
	good = leaf && host->context && ssl.SSL_CTX_use_certificate(host->context, leaf) == 1 &&
	       ssl.SSL_CTX_use_PrivateKey(host->context, state.key) == 1;
	ssl.X509_free(leaf);
	if (!good)
		return -1;
	snprintf(host->name, sizeof(host->name), "%s", name);
	ssl.SSL_CTX_ctrl(host->context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL);
	ssl.SSL_CTX_ctrl(host->context, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, NULL);
	ssl.SSL_CTX_set_options(host->context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
	ssl.SSL_CTX_set_alpn_select_cb(host->context, choose_protocol, NULL);
	state.host_count++;
	return 0;
}

/* ---- a connection ---- */

static struct tls *begin(SSL_CTX *context)
{
	struct tls *tls = calloc(1, sizeof(*tls));

	if (!tls)
		return NULL;
	tls->ssl = ssl.SSL_new(context);
	tls->in = ssl.BIO_new(ssl.BIO_s_mem());
	tls->out = ssl.BIO_new(ssl.BIO_s_mem());
	if (!tls->ssl || !tls->in || !tls->out) {
		ssl.BIO_free(tls->in);
		ssl.BIO_free(tls->out);
		ssl.SSL_free(tls->ssl);
		free(tls);
		return NULL;
	}
	/* Empty is "later", not the end. */
	ssl.BIO_ctrl(tls->in, BIO_C_SET_BUF_MEM_EOF_RETURN, -1, NULL);
	ssl.SSL_set0_rbio(tls->ssl, tls->in);
	ssl.SSL_set0_wbio(tls->ssl, tls->out);
	return tls;
}

struct tls *tls_accept(const char *name)
{
	for (size_t i = 0; i < state.host_count; i++)
		if (strcmp(state.hosts[i].name, name) == 0) {
			struct tls *tls = begin(state.hosts[i].context);

			if (tls)
				ssl.SSL_set_accept_state(tls->ssl);
			return tls;
		}
	return NULL;
}

struct tls *tls_connect(const char *name)
{
	struct tls *tls;

	if (!state.roots && !find_roots())
		return NULL;
	tls = begin(state.client);
	if (!tls)
		return NULL;
	ssl.SSL_set_connect_state(tls->ssl);
	ssl.SSL_set_hostflags(tls->ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	if (ssl.SSL_set1_host(tls->ssl, name) == 1 &&
	    ssl.SSL_ctrl(tls->ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
			 (void *)(uintptr_t)name) == 1)
		return tls;
	tls_free(tls);
	return NULL;
}

void tls_free(struct tls *tls)
{
	if (!tls)
		return;
	ssl.SSL_free(tls->ssl); /* and its BIOs */
	free(tls);
}

bool tls_put(struct tls *tls, const uint8_t *bytes, size_t len)
{
	return len == 0 || ssl.BIO_write(tls->in, bytes, (int)len) == (int)len;
}

size_t tls_take(struct tls *tls, uint8_t *bytes, size_t size)
{
	const int n = ssl.BIO_read(tls->out, bytes, (int)size);

	return n > 0 ? (size_t)n : 0;
}

size_t tls_waiting(struct tls *tls)
{
	return (size_t)ssl.BIO_ctrl(tls->out, BIO_CTRL_PENDING, 0, NULL);
}

static enum tls_state judge(struct tls *tls, int ret)
{
	switch (ssl.SSL_get_error(tls->ssl, ret)) {
	case SSL_ERROR_NONE:
		return TLS_READY;
	case SSL_ERROR_WANT_READ:
	case SSL_ERROR_WANT_WRITE:
		return TLS_AGAIN;
	case SSL_ERROR_ZERO_RETURN:
		return TLS_ENDED;
	default:
		return TLS_FAILED;
	}
}

enum tls_state tls_handshake(struct tls *tls)
{
	ssl.ERR_clear_error();
	return judge(tls, ssl.SSL_do_handshake(tls->ssl));
}

enum tls_state tls_read(struct tls *tls, uint8_t *bytes, size_t size, size_t *ret_len)
{
	int n;

	ssl.ERR_clear_error();
	n = ssl.SSL_read(tls->ssl, bytes, (int)size);
	*ret_len = n > 0 ? (size_t)n : 0;
	return n > 0 ? TLS_READY : judge(tls, n);
}

bool tls_write(struct tls *tls, const uint8_t *bytes, size_t len)
{
	ssl.ERR_clear_error();
	return len == 0 || ssl.SSL_write(tls->ssl, bytes, (int)len) == (int)len;
}

void tls_close(struct tls *tls)
{
	ssl.SSL_shutdown(tls->ssl);
}

const char *tls_fault(struct tls *tls, char *buf, size_t size)
{
	const long result = ssl.SSL_get_verify_result(tls->ssl);
	const char *reason = ssl.ERR_reason_error_string(ssl.ERR_get_error());

	snprintf(buf, size, "%s",
		 result != X509_V_OK ? ssl.X509_verify_cert_error_string(result)
		 : reason            ? reason
				     : "");
	/* The report has no blanks. */
	for (char *c = buf; *c; c++)
		if (*c == ' ')
			*c = '-';
	return buf;
}
