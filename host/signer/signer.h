/*
 * signer: what the launcher and warder-signer say to each other.
 *
 * The launcher starts one warder-signer, whose standard input is a SOCK_SEQPACKET socket. The first message is the seed of the host's
 * Ed25519 key, of REMOTE_KEY_BYTES; it is answered with the public key. Each further message is a text of at most SIGNER_TEXT_MAX bytes,
 * and is answered with its signature, of REMOTE_SIGNATURE_BYTES. It ends when the socket is closed.
 */
#ifndef WARDER_HOST_SIGNER_SIGNER_H
#define WARDER_HOST_SIGNER_SIGNER_H

#define SIGNER_PROGRAM  "warder-signer"
#define SIGNER_TEXT_MAX 512

#endif
