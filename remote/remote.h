/*
 * remote: what `warder` and `warder-remote` say to each other. The door of this folder.
 *
 * `warder` starts warder-remote for one request to an execution host. Its standard input is a memory file: a JSON object with `url`,
 * `tokenFile` (or `token`, if it is in the environment), `caFile` (or null), `method`, `path`, `accept` (or null), `timeoutMs` (0: none) and `mostBytes` of the answer, a NUL, and the
 * body: JSON of a POST, bytes of a PUT. Its standard output is a pipe: one struct remote_answer, and then the bytes that this names. Then
 * the process ends. Neither of them contains the token of a file. If the reader is gone, the process dies, and with it the connection to the host.
 *
 * With `terminal`, standard output is a packet socket instead. The request asks for a WebSocket, and if the status of the answer is 101, pieces
 * follow in both directions: each is a packet, whose first byte is REMOTE_PIECE_BYTES or REMOTE_PIECE_TEXT, and whose rest is a part of the binary
 * messages, or one text message. The process ends when either end closes.
 *
 * With `terminal` and either `template` or `follow`, the request follows an execution: its output comes as pieces of REMOTE_PIECE_BYTES and REMOTE_PIECE_ERROR
 * (standard error), and pieces of REMOTE_PIECE_BYTES are its input. The text {"close": true} to the process ends the input. A text from it is one of
 *   {"input": TEXT}      the input is refused, for this reason
 *   {"inputEnded": TEXT} the program takes no more input
 *   {"inputWaits": TEXT} the host takes no input at present, or not its end, for this reason, and is asked again
 *   {"inputLost": TEXT}  a part of the input, or its end, may not have arrived, for this reason
 *   {"result": TEXT}     the execution has ended: TEXT is JSON
 *   {"lost": TEXT}       the connection was lost, for this reason
 *   {"fault": TEXT}      the service broke the protocol; TEXT says how
 * With `follow`, the host is one of Warder's own, the path ends in /output?stdout=N&stderr=N, the output begins at these offsets, and there is no "result", but
 *   {"ended": true}      the execution has ended
 *   {"gap": "stdout" or "stderr", "from": N, "to": N}    the host does not have this part of the stream any more
 *
 * With `template`, `insecure` and perhaps `sandboxUrl` in the object, the host is a service that speaks E2B's protocol, and the request is one
 * of calls.h. If that runs a program or creates a sandbox, SIGTERM ends the program, or deletes the sandbox, before the process ends.
 */
#ifndef WARDER_REMOTE_REMOTE_H
#define WARDER_REMOTE_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define REMOTE_MAGIC       0x544d5257u
#define REMOTE_CONNECT_MS  10000u
#define REMOTE_BUSY_S      10u /* the longest Retry-After of a host that is busy */
#define REMOTE_TOKEN_MAX   4096u
#define REMOTE_HEADERS_MAX (64u * 1024)        /* of all answers to a request */
#define REMOTE_JSON_MAX    (1024u * 1024)      /* of a request, and of an answer to a question */
#define REMOTE_RESULT_MAX  (16u * 1024 * 1024) /* of the answer to a run; of a file */
#define REMOTE_ORDER_MAX   (REMOTE_RESULT_MAX + 65536u)

/* Values of JSON in the list of a directory: ten for each of 200,000 files. */
#define REMOTE_LIST_VALUES_MAX 2000000u

#define REMOTE_PIECE_MAX    16384u /* of a terminal, with its first byte */
#define REMOTE_PIECE_BYTES  'b'
#define REMOTE_PIECE_ERROR  'e'
#define REMOTE_PIECE_TEXT   't'
#define REMOTE_TERMINAL_MAX (1024u * 1024) /* of a message of a terminal */

#define REMOTE_KEY_BYTES       32 /* an Ed25519 key of RFC 8032: the seed, or the public key */
#define REMOTE_SIGNATURE_BYTES 64
#define REMOTE_KEY_TEXT        53 /* "ed25519:" and the public key in base64, with the NUL */
#define REMOTE_STATEMENT_MAX   256
#define REMOTE_SIGNATURE       ",\"signature\":{" /* the last member of a signed answer begins so */

struct remote_answer {
	uint32_t magic, size;
	uint32_t status;  /* the HTTP status; 0: no answer came, and `error` says why */
	uint32_t sent;    /* 1: the host may have got the request, or a part of it */
	uint64_t bytes;   /* of the body behind it, at most REMOTE_RESULT_MAX */
	uint32_t retry_s; /* its Retry-After; 0: it has none */
	uint32_t own;     /* 1: remote_is_refusal() of its body */
	struct warder_error error;
};

/* Whether `len` bytes are a valid answer. Call it before any use of them. */
bool remote_answer_valid(const struct remote_answer *answer, size_t len);
/* Whether the host is busy for some seconds: 429, or 503 with a short Retry-After. Without that, 503 can last, and a lockout is longer. */
bool remote_answer_is_busy(const struct remote_answer *answer);
/* Whether a body is the refusal of a host of Warder that is busy: its `kind` is "unavailable". Such a host has done nothing if it is busy; a gateway that says 503 may have passed
 * the request on. */
bool remote_is_refusal(const char *body, size_t len);
/* Whether the host is busy and has certainly not done what was asked: 429, or its own 503. */
bool remote_answer_did_nothing(const struct remote_answer *answer);

/*
 * What a host signs: the text "warder-signature 1", "call NAME", "request DIGEST", "answer DIGEST", each with a line feed behind it. The
 * digests are SHA-256, of the bytes of the request (its body, or the nonce of a question), and of the answer as it was before the member
 * "signature" was added: `answer` has `len` bytes and lacks the brace that closes it. Returns the length of the text.
 */
size_t remote_statement(const char *call, const char *request, size_t request_len, const char *answer,
			size_t len, char ret[REMOTE_STATEMENT_MAX]);
/* The body of a request with input of an execution, or its end, or both; heap. NULL without memory. */
char *remote_input_body(const char *bytes, size_t len, bool close);
/* Whether it has the form of a key: "ed25519:" and 32 bytes in base64. */
bool remote_is_key(const char *text);

/* Whether it is a name or an address, perhaps with a port; *ret_loopback: it is 127.x.x.x or [::1]. */
bool remote_is_address(const char *address, bool *ret_loopback);
/* Check the address of a host: http:// or https://, a name or an address, perhaps a port, nothing else; http only to an address of
 * loopback, unless `insecure`. 0; -1 with *err (INVALID_REQUEST), which does not repeat a password. */
int remote_check_url(const char *url, bool insecure, struct warder_error *err);

#endif
