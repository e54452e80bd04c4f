/*
 * code_record: the memory file that goes with the START of a piece of code. Private to runtime/session/.
 *
 * The client: code_record_make() -> START with RECORD_CODE. The keeper: code_record_take() maps the file, which is
 * sealed, so that its files take no memory of the keeper's -> code_record_done().
 */
#ifndef WARDER_RUNTIME_SESSION_CODE_RECORD_H
#define WARDER_RUNTIME_SESSION_CODE_RECORD_H

#include "runtime/library/order.h"
#include "runtime/library/result.h"

struct code_record_stage {
	char name[16], status[16];
	uint64_t wall_us, cpu_us, memory_peak_bytes;
};

/* The file begins with it. The bytes of the order (order.h) follow, and five texts: where the program works, or "" for
 * where its policy says; how the language was found out; what the compilers said, as JSON, or ""; advice on the source,
 * or ""; the policy as it was asked for, if there is a ceiling, or "". */
struct code_record_head {
	struct order_code code;
	uint32_t collects, has_value; /* has_value: a further descriptor, of the value that the code gets */
	/* The client takes the files itself: the END of the execution comes with the session's /tmp, and the files stay there until the
	 * client has sent a RECORD_TAKEN, or is gone. */
	uint32_t hands_over;
	uint32_t
	    has_spill; /* two further descriptors, behind the value: as spill_fds of struct jail_command */
	uint64_t spill_bytes;
	uint32_t is_engine, last_line;
	uint64_t value_bytes; /* as of struct result_value_rules */
	char box[32];         /* as of struct library_order */
	uint64_t diagnostics_dropped, diagnostics_unreadable;
	uint64_t stage_count;
	struct code_record_stage stages[RESULT_STAGES_MAX];
};

struct code_record {
	struct code_record_head head;
	struct order_words words;
	const char *working_directory, *found_by, *diagnostics, *scan, *asked; /* "": none */
	void *map;                                                             /* owned; or NULL */
	size_t map_len;
};

/* Returns the descriptor, sealed, the caller's. -1 with *err. */
int code_record_make(const struct library_order *order, struct warder_error *err);
/* Take the bytes apart, which must stay until code_record_done(). *ret is zeroed; code_record_done() is due in any
 * case. -1 with *err. */
int code_record_split(char *bytes, size_t len, struct code_record *ret, struct warder_error *err);
/* The same of such a file. */
int code_record_take(int fd, struct code_record *ret, struct warder_error *err);
void code_record_done(struct code_record *record);
/* A report on the code. Its texts belong to the record. Heap. NULL: no memory. */
struct result_code *code_record_report(const struct code_record *record);

#endif
