/*
 * v1: what the files of Warder's own API share. Private to host/front/.
 */
#ifndef WARDER_HOST_FRONT_V1_H
#define WARDER_HOST_FRONT_V1_H

#include "host/front/exchange.h"

#define V1_TERMINAL_MAX 1000 /* rows, and columns */
#define V1_KEY_MAX      128  /* bytes of an idempotency key */

/* ---- v1_sse.c ---- */

/* Whether a text can be an idempotency key. -1 with *err. */
int v1_check_key(const char *key, struct warder_error *err);

/* One server-sent event of a stream; empties the writer. id: or NULL. Returns whether the stream has room for more. */
bool v1_event(struct exchange *x, const char *name, const char *id, struct json_writer *w);
/* The same of a JSON text of len bytes. */
bool v1_event_text(struct exchange *x, const char *name, const char *id, const char *json, size_t len);
/* The data of an event about output; stream: 0 standard output, 1 standard error. */
void v1_write_output(struct json_writer *w, int stream, uint64_t offset, const char *bytes, size_t len);
void v1_write_gap(struct json_writer *w, int stream, uint64_t from, uint64_t to);
/* How a program ended, as an object into an open place. */
void v1_write_end(struct json_writer *w, const struct record_end *end);

/* ---- handlers: v1_executions.c ---- */

void v1_list_executions(struct exchange *x);
void v1_start_execution(struct exchange *x);
void v1_show_execution(struct exchange *x);
void v1_show_output(struct exchange *x);
void v1_send_signal(struct exchange *x);
void v1_send_input(struct exchange *x);
void v1_resize(struct exchange *x);

/* ---- handlers: v1_contexts.c ---- */

void v1_list_contexts(struct exchange *x);
void v1_create_context(struct exchange *x);
void v1_delete_context(struct exchange *x);
void v1_restart_context(struct exchange *x);
void v1_interrupt_context(struct exchange *x);
void v1_run_piece(struct exchange *x);

/* ---- handlers: v1_judge.c ---- */

void v1_judge_events(struct exchange *x);

/* ---- handlers: v1_artifacts.c ---- */

void v1_read_artifact(struct exchange *x);
void v1_drop_artifact(struct exchange *x);

/* ---- handlers: v1_event_log.c ---- */

void v1_follow_events(struct exchange *x);

/* ---- handlers: v1_terminal.c ---- */

void v1_terminal(struct exchange *x);

/* ---- handlers: e2b.c ---- */

void e2b_forget_snapshot(struct exchange *x);

#endif
