/*
 * tls: both ends of TLS for hosts with a credential, over memory: it makes no system call for a connection. Only this module loads OpenSSL.
 *
 * Life: tls_init() before the edge is confined makes the run's authority -> tls_trust() reads the host's authorities -> tls_add_name() for each
 * host -> tls_accept() and tls_connect() for each connection -> tls_free(). The authority's key never leaves this process, and ends with it.
 */
#ifndef WARDER_EDGE_TLS_H
#define WARDER_EDGE_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tls;

/* 0; -1 with *ret_what. */
int tls_init(const char **ret_what);
/* The run's authority as PEM. NULL: no memory. */
const char *tls_authority(size_t *ret_len);
/* The file of authorities by which servers are checked. 0; -1 with *ret_what. */
int tls_trust(const char *path, const char **ret_what);
/* Make the certificate of a host. 0; -1. */
int tls_add_name(const char *name);

/* The end towards the program, where the edge acts as the host; the end towards the host. NULL: no memory, or the name was not added. */
struct tls *tls_accept(const char *name);
struct tls *tls_connect(const char *name);
void tls_free(struct tls *tls);

/* Put in bytes from the peer. False: no memory. */
bool tls_put(struct tls *tls, const uint8_t *bytes, size_t len);
/* Take out bytes for the peer, at most `size`. Returns their number. */
size_t tls_take(struct tls *tls, uint8_t *bytes, size_t size);
/* The number of bytes for the peer. */
size_t tls_waiting(struct tls *tls);

enum tls_state {
	TLS_AGAIN, /* the peer has to send first */
	TLS_READY,
	TLS_ENDED, /* the peer has closed */
	TLS_FAILED,
};
enum tls_state tls_handshake(struct tls *tls);
/* Read decrypted bytes from the peer; *ret_len of them with TLS_READY. */
enum tls_state tls_read(struct tls *tls, uint8_t *bytes, size_t size, size_t *ret_len);
/* After the handshake. False: it failed. */
bool tls_write(struct tls *tls, const uint8_t *bytes, size_t len);
/* Send the peer the end of the data. */
void tls_close(struct tls *tls);
/* The reason for a failure, in a few words; buf of `size` bytes. */
const char *tls_fault(struct tls *tls, char *buf, size_t size);

#endif
