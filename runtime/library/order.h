/*
 * order: what a piece of code needs besides its command line, as bytes for another process of the same program. Private to runtime/.
 *
 * The sender: order_write() -> the struct and the bytes go to the other process. The receiver: order_code_valid() -> order_take() ->
 * order_words_done(). Structs are sent as they lie in memory.
 */
#ifndef WARDER_RUNTIME_LIBRARY_ORDER_H
#define WARDER_RUNTIME_LIBRARY_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "rootfs/rootfs.h"
#include "runtime/library/library.h"

struct order_code {
	char language[32]; /* ends with a NUL */
	uint32_t payload;  /* enum policy_payload */
	uint32_t script;   /* which word is the source, 0: none */
	uint32_t environment_count, pattern_count, file_count;
	uint64_t code_bytes, result_bytes;
	uint64_t files_max, file_bytes, total_bytes,
	    inline_bytes; /* of files to collect: as of struct rootfs_collect */
};

/* The bytes hold, each with a final NUL: the variables; if files are collected, their directory and the patterns; then of each file its path
 * with a NUL, a struct order_file, and its bytes with a NUL. */
struct order_file {
	uint64_t len;
	uint32_t mode, is_directory;
};

/* The lists are owned, what they point to is in the bytes. */
struct order_words {
	char **environment;
	const char *directory;
	char **patterns;
	struct rootfs_file *files;
};

#define ORDER_INLINE_BYTES (UINT64_C(64) << 10) /* of a file in a result, unless its caller says otherwise */

/* Whether the sender saves the collected files, or holds them open: then they are not in the result that the receiver makes. */
bool order_hands_over(const struct library_order *order);
/* Append a text with its NUL, or a list of texts, to a file. -1 with errno. */
int order_add_text(int fd, const char *text);
int order_add_list(int fd, char *const *words, uint32_t *ret_count);
/* Append what the order's command has, and fill *ret. -1 with errno. */
int order_write(int fd, const struct library_order *order, struct order_code *ret);
/* collects: whether files are collected. */
bool order_code_valid(const struct order_code *code, bool collects);
/* The next text at *at, which moves behind it. NULL: none ends before `end`. */
char *order_next_text(char **at, const char *end);
/* Take the bytes from *at on apart, and move it behind them. *ret is zeroed, or was given to order_words_done(), which is due in any case. -1
 * with *err: they are not as `code` says. */
int order_take(const struct order_code *code, bool collects, char **at, const char *end,
	       struct order_words *ret, struct warder_error *err);
void order_words_done(struct order_words *words);
/* What is to be collected, by words that stay. */
struct rootfs_collect order_collect(const struct order_code *code, const struct order_words *words);

#endif
